#include "base/file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *advice(int code)
{
    switch (code) {
    case ENOSPC:
    case EDQUOT:
        return "; free some space and try again";
    case ENOENT:
        return "; check the path";
    case EACCES:
    case EPERM:
        return "; check the permissions";
    case EROFS:
        return "; choose a writable place";
    case EMFILE:
    case ENFILE:
        return "; raise the limit of open files ('ulimit -n') and try again";
    case EIO:
    case ESTALE:
    case ENOTCONN:
    case ETIMEDOUT:
        return "; see that the disk is well and mounted, and try again";
    case ELOOP:
    case ENOTDIR:
    case EISDIR:
        return "; see what is in its place";
    default:
        return "";
    }
}

wk_status wk_file_error(wk_error *err, const char *what, const char *path)
{
    int code = errno;
    wk_status status = code == ENOENT ? WK_E_NOT_FOUND : code == ENOMEM ? WK_E_MEMORY : WK_E_IO;
    return wk_fail(err, status, "%s '%s': %s%s", what, path, strerror(code), advice(code));
}

static wk_status out_of_memory(wk_error *err, const char *path, size_t size)
{
    return wk_fail(err, WK_E_MEMORY, "'%s': no memory for %zu bytes", path, size);
}

// Reads until `size` bytes are there; fewer means the file shrank or the disk failed.
wk_status wk_fd_read(int fd, const char *path, uint64_t offset, void *bytes, size_t size,
                     wk_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return wk_file_error(err, "cannot read", path);
        if (n == 0)
            return wk_fail(
                err, WK_E_IO,
                "cannot read '%s': it ends at byte %llu, earlier than when it was opened", path,
                (unsigned long long)(offset + done));
        done += (size_t)n;
    }
    return WK_OK;
}

wk_status wk_fd_write(int fd, const char *path, uint64_t offset, const void *bytes, size_t size,
                      wk_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pwrite(fd, (const char *)bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return wk_file_error(err, "cannot write", path);
        done += (size_t)n;
    }
    return WK_OK;
}

// A pipe that nobody writes to is refused, not waited for.
enum { OPEN_READ = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY };

// The size of an open file, which must be a regular one: pipes and devices have none.
static wk_status regular_size(int fd, const char *path, uint64_t *size, wk_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return wk_file_error(err, "cannot read", path);
    if (!S_ISREG(info.st_mode))
        return wk_fail(err, WK_E_INPUT, "cannot read '%s': not a regular file", path);
    *size = (uint64_t)info.st_size;
    return WK_OK;
}

static wk_status read_open_file(int fd, const char *path, size_t limit, char **bytes, size_t *size,
                                wk_error *err)
{
    uint64_t have = 0;
    WK_TRY(regular_size(fd, path, &have, err));
    if (have > limit)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' has %" PRIu64 " bytes, more than the %zu expected at most", path, have,
                       limit);
    size_t length = (size_t)have;
    char *content = malloc(length + 1);
    if (!content) return out_of_memory(err, path, length);
    wk_status status = wk_fd_read(fd, path, 0, content, length, err);
    if (status != WK_OK) {
        free(content);
        return status;
    }
    content[length] = 0;
    *bytes = content;
    if (size) *size = length;
    return WK_OK;
}

// The whole path of a name, for messages.
static wk_status full_path(const wk_dir *in, const char *name, char out[WK_PATH_MAX], wk_error *err)
{
    return in ? wk_path_join(wk_dir_path(in), name, out, err) : wk_path_print(out, err, "%s", name);
}

wk_status wk_file_read_in(const wk_dir *in, const char *name, size_t limit, char **bytes,
                          size_t *size, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(full_path(in, name, path, err));
    int fd = openat(wk_dir_fd(in), name, OPEN_READ);
    if (fd < 0) return wk_file_error(err, "cannot open", path);
    wk_status status = read_open_file(fd, path, limit, bytes, size, err);
    close(fd);
    return status;
}

wk_status wk_file_read(const char *path, size_t limit, char **bytes, size_t *size, wk_error *err)
{
    return wk_file_read_in(NULL, path, limit, bytes, size, err);
}

struct wk_file_reader {
    int fd;
    uint64_t size;
    char path[WK_PATH_MAX];
};

wk_status wk_file_reader_open_in(const wk_dir *in, const char *name, wk_file_reader **out,
                                 wk_error *err)
{
    wk_file_reader *reader = malloc(sizeof *reader);
    if (!reader) return out_of_memory(err, name, sizeof *reader);
    reader->fd = -1;
    wk_status status = full_path(in, name, reader->path, err);
    if (status == WK_OK) {
        reader->fd = openat(wk_dir_fd(in), name, OPEN_READ);
        status = reader->fd < 0 ? wk_file_error(err, "cannot open", reader->path)
                                : regular_size(reader->fd, reader->path, &reader->size, err);
    }
    if (status == WK_OK)
        *out = reader;
    else
        wk_file_reader_close(reader);
    return status;
}

uint64_t wk_file_reader_size(const wk_file_reader *reader)
{
    return reader->size;
}

wk_status wk_file_reader_read(const wk_file_reader *reader, uint64_t offset, void *bytes,
                              size_t size, wk_error *err)
{
    assert(offset <= reader->size && size <= reader->size - offset);
    return wk_fd_read(reader->fd, reader->path, offset, bytes, size, err);
}

void wk_file_reader_close(wk_file_reader *reader)
{
    if (!reader) return;
    if (reader->fd >= 0) close(reader->fd);
    free(reader);
}

struct wk_file_writer {
    int fd;
    const wk_dir *in;
    char name[WK_PATH_MAX], temporary[WK_PATH_MAX]; // in `in`
    char path[WK_PATH_MAX];                         // for messages
};

wk_status wk_file_writer_begin_in(const wk_dir *in, const char *name, wk_file_writer **out,
                                  wk_error *err)
{
    wk_file_writer *writer = malloc(sizeof *writer);
    if (!writer) return out_of_memory(err, name, sizeof *writer);
    writer->in = in;
    wk_status status = full_path(in, name, writer->path, err);
    if (status == WK_OK) status = wk_path_print(writer->name, err, "%s", name);
    // In the target's folder, so that the rename stays inside one file system; an unused name.
    for (int attempt = 0; status == WK_OK; attempt++) {
        status =
            wk_path_print(writer->temporary, err, "%s.tmp.%d.%d", name, (int)getpid(), attempt);
        if (status != WK_OK) break;
        writer->fd =
            openat(wk_dir_fd(in), writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0) break;
        if (errno != EEXIST || attempt == 1000)
            status = wk_file_error(err, "cannot create", writer->path);
    }
    if (status == WK_OK)
        *out = writer;
    else
        free(writer);
    return status;
}

wk_status wk_file_writer_begin(const char *path, wk_file_writer **out, wk_error *err)
{
    return wk_file_writer_begin_in(NULL, path, out, err);
}

wk_status wk_file_writer_append(wk_file_writer *writer, const void *bytes, size_t size,
                                wk_error *err)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t n = write(writer->fd, next, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return wk_file_error(err, "cannot write", writer->path);
        next += n;
        size -= (size_t)n;
    }
    return WK_OK;
}

// A new name is durable only once the directory that holds it is: `in`, or that of the path.
static wk_status sync_parent(const wk_dir *in, const char *path, wk_error *err)
{
    char directory[WK_PATH_MAX];
    WK_TRY(wk_path_print(directory, err, "%s", path));
    char *slash = strrchr(directory, '/');
    if (slash) slash[slash == directory] = 0;
    int fd = in ? wk_dir_fd(in) : open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Some file systems cannot sync directories and say EINVAL; there is nothing more to do there.
    bool failed = fd < 0 || (fsync(fd) != 0 && errno != EINVAL);
    wk_status status = failed ? wk_file_error(err, "cannot make durable", path) : WK_OK;
    if (!in && fd >= 0) close(fd);
    return status;
}

wk_status wk_file_writer_commit(wk_file_writer *writer, wk_error *err)
{
    wk_status status = WK_OK;
    if (fsync(writer->fd) != 0) status = wk_file_error(err, "cannot write", writer->path);
    if (close(writer->fd) != 0 && status == WK_OK)
        status = wk_file_error(err, "cannot write", writer->path);
    int in = wk_dir_fd(writer->in);
    if (status == WK_OK && renameat(in, writer->temporary, in, writer->name) != 0)
        status = wk_file_error(err, "cannot replace", writer->path);
    if (status != WK_OK)
        unlinkat(in, writer->temporary, 0);
    else
        status = sync_parent(writer->in, writer->path, err);
    free(writer);
    return status;
}

void wk_file_writer_discard(wk_file_writer *writer)
{
    if (!writer) return;
    close(writer->fd);
    unlinkat(wk_dir_fd(writer->in), writer->temporary, 0);
    free(writer);
}

// Commits what was written, or gives it up after a failure.
static wk_status finish(wk_file_writer *writer, wk_status status, wk_error *err)
{
    if (status == WK_OK) return wk_file_writer_commit(writer, err);
    wk_file_writer_discard(writer);
    return status;
}

wk_status wk_file_copy_in(const wk_dir *in, const char *from, const char *to, wk_error *err)
{
    char bytes[65536];
    wk_file_reader *reader = NULL;
    wk_file_writer *writer = NULL;
    WK_TRY(wk_file_reader_open_in(in, from, &reader, err));
    wk_status status = wk_file_writer_begin_in(in, to, &writer, err);
    for (uint64_t at = 0; status == WK_OK && at < reader->size;) {
        size_t some = reader->size - at < sizeof bytes ? (size_t)(reader->size - at) : sizeof bytes;
        status = wk_file_reader_read(reader, at, bytes, some, err);
        if (status == WK_OK) status = wk_file_writer_append(writer, bytes, some, err);
        at += some;
    }
    wk_file_reader_close(reader);
    return finish(writer, status, err);
}

wk_status wk_file_write_in(const wk_dir *in, const char *name, const void *bytes, size_t size,
                           wk_error *err)
{
    wk_file_writer *writer = NULL;
    WK_TRY(wk_file_writer_begin_in(in, name, &writer, err));
    return finish(writer, wk_file_writer_append(writer, bytes, size, err), err);
}

wk_status wk_file_write(const char *path, const void *bytes, size_t size, wk_error *err)
{
    return wk_file_write_in(NULL, path, bytes, size, err);
}

wk_status wk_file_write_text(const wk_dir *in, const char *name, wk_text *text, wk_error *err)
{
    wk_status status = text->failed
                           ? wk_fail(err, WK_E_MEMORY, "no memory to write '%s'", name)
                           : wk_file_write_in(in, name, wk_text_get(text), text->length, err);
    wk_text_free(text);
    return status;
}

wk_status wk_dir_create(const char *path, wk_error *err)
{
    char partial[WK_PATH_MAX];
    struct stat info;
    WK_TRY(wk_path_print(partial, err, "%s", path));
    for (size_t end = 0; path[end];) {
        end += 1 + strcspn(path + end + 1, "/");
        partial[end] = 0;
        if (mkdir(partial, 0777) == 0)
            WK_TRY(sync_parent(NULL, partial, err));
        else if (errno != EEXIST || stat(partial, &info) != 0 || !S_ISDIR(info.st_mode))
            return wk_file_error(err, "cannot create directory", partial);
        partial[end] = path[end];
    }
    return WK_OK;
}

wk_status wk_file_exists_in(const wk_dir *in, const char *name, bool *exists, wk_error *err)
{
    struct stat info;
    *exists = fstatat(wk_dir_fd(in), name, &info, 0) == 0;
    if (*exists || errno == ENOENT || errno == ENOTDIR) return WK_OK;
    wk_status status = wk_file_error(err, "cannot look at", name);
    return in && err ? wk_fail_context(err, "in '%s'", wk_dir_path(in)) : status;
}

const wk_asset *wk_asset_find(const char *name)
{
    for (const wk_asset *asset = wk_assets; asset->name; asset++)
        if (strcmp(asset->name, name) == 0) return asset;
    assert(!"no such embedded file");
    return NULL;
}
