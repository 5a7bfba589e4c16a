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

static wk_status io_error(wk_error *err, const char *what, const char *path)
{
    int code = errno;
    wk_status status = code == ENOENT ? WK_E_NOT_FOUND : code == ENOMEM ? WK_E_MEMORY : WK_E_IO;
    const char *advice = code == ENOSPC   ? "; free some space and try again"
                         : code == ENOENT ? "; check the path"
                         : code == EACCES ? "; check the permissions"
                         : code == EROFS  ? "; choose a writable place"
                                          : "";
    return wk_fail(err, status, "%s '%s': %s%s", what, path, strerror(code), advice);
}

static wk_status out_of_memory(wk_error *err, const char *path, size_t size)
{
    return wk_fail(err, WK_E_MEMORY, "'%s': no memory for %zu bytes", path, size);
}

// Reads until `size` bytes are there; fewer means the file shrank or the disk failed.
static wk_status read_fully(int fd, uint64_t offset, char *bytes, size_t size, const char *path,
                            wk_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, bytes + done, size - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(err, "cannot read", path);
        if (n == 0)
            return wk_fail(
                err, WK_E_IO,
                "cannot read '%s': it ends at byte %llu, earlier than when it was opened", path,
                (unsigned long long)(offset + done));
        done += (size_t)n;
    }
    return WK_OK;
}

// The size of an open file, which must be a regular one: pipes and devices have none.
static wk_status regular_size(int fd, const char *path, uint64_t *size, wk_error *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0) return io_error(err, "cannot read", path);
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
    wk_status status = read_fully(fd, 0, content, length, path, err);
    if (status != WK_OK) {
        free(content);
        return status;
    }
    content[length] = 0;
    *bytes = content;
    if (size) *size = length;
    return WK_OK;
}

wk_status wk_file_read(const char *path, size_t limit, char **bytes, size_t *size, wk_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return io_error(err, "cannot open", path);
    wk_status status = read_open_file(fd, path, limit, bytes, size, err);
    close(fd);
    return status;
}

struct wk_file_reader {
    int fd;
    uint64_t size;
    char *path;
};

wk_status wk_file_reader_open(const char *path, wk_file_reader **out, wk_error *err)
{
    wk_file_reader *reader = calloc(1, sizeof *reader);
    if (reader) reader->path = strdup(path);
    if (!reader || !reader->path) {
        free(reader);
        return out_of_memory(err, path, strlen(path));
    }
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    wk_status status = reader->fd < 0 ? io_error(err, "cannot open", path)
                                      : regular_size(reader->fd, path, &reader->size, err);
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
    return read_fully(reader->fd, offset, bytes, size, reader->path, err);
}

void wk_file_reader_close(wk_file_reader *reader)
{
    if (!reader) return;
    if (reader->fd >= 0) close(reader->fd);
    free(reader->path);
    free(reader);
}

struct wk_file_writer {
    int fd;
    char *path, *temporary;
};

static void writer_free(wk_file_writer *writer)
{
    free(writer->path);
    free(writer->temporary);
    free(writer);
}

wk_status wk_file_writer_begin(const char *path, wk_file_writer **out, wk_error *err)
{
    wk_file_writer *writer = calloc(1, sizeof *writer);
    size_t length = strlen(path) + 40;
    if (writer) writer->path = strdup(path);
    if (writer) writer->temporary = malloc(length);
    if (!writer || !writer->path || !writer->temporary) {
        if (writer) writer_free(writer);
        return out_of_memory(err, path, length);
    }
    // Beside the target, so that the rename stays inside one file system; a name nobody has yet.
    for (int attempt = 0; attempt < 1000; attempt++) {
        snprintf(writer->temporary, length, "%s.tmp.%d.%d", path, (int)getpid(), attempt);
        writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (writer->fd >= 0 || errno != EEXIST) break;
    }
    if (writer->fd < 0) {
        wk_status status = io_error(err, "cannot create", path);
        writer_free(writer);
        return status;
    }
    *out = writer;
    return WK_OK;
}

wk_status wk_file_writer_append(wk_file_writer *writer, const void *bytes, size_t size,
                                wk_error *err)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t n = write(writer->fd, next, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(err, "cannot write", writer->path);
        next += n;
        size -= (size_t)n;
    }
    return WK_OK;
}

// A rename is durable only once the directory that holds the name is.
static int sync_directory_of(const char *path)
{
    char *directory = strdup(path);
    if (!directory) return -1;
    char *slash = strrchr(directory, '/');
    if (slash == directory)
        slash[1] = 0;
    else if (slash)
        *slash = 0;
    int fd = open(slash ? directory : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(directory);
    if (fd < 0) return -1;
    int result = fsync(fd);
    // Some file systems cannot sync directories and say EINVAL; there is nothing more to do there.
    if (result != 0 && errno == EINVAL) result = 0;
    int code = errno;
    close(fd);
    errno = code;
    return result;
}

wk_status wk_file_writer_commit(wk_file_writer *writer, wk_error *err)
{
    wk_status status = WK_OK;
    if (fsync(writer->fd) != 0) status = io_error(err, "cannot write", writer->path);
    if (close(writer->fd) != 0 && status == WK_OK)
        status = io_error(err, "cannot write", writer->path);
    if (status == WK_OK && rename(writer->temporary, writer->path) != 0)
        status = io_error(err, "cannot replace", writer->path);
    if (status != WK_OK)
        unlink(writer->temporary);
    else if (sync_directory_of(writer->path) != 0)
        status = io_error(err, "cannot make durable", writer->path);
    writer_free(writer);
    return status;
}

void wk_file_writer_discard(wk_file_writer *writer)
{
    if (!writer) return;
    close(writer->fd);
    unlink(writer->temporary);
    writer_free(writer);
}

wk_status wk_file_write(const char *path, const void *bytes, size_t size, wk_error *err)
{
    wk_file_writer *writer = NULL;
    WK_TRY(wk_file_writer_begin(path, &writer, err));
    wk_status status = wk_file_writer_append(writer, bytes, size, err);
    if (status != WK_OK) {
        wk_file_writer_discard(writer);
        return status;
    }
    return wk_file_writer_commit(writer, err);
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

wk_status wk_dir_create(const char *path, wk_error *err)
{
    char *partial = strdup(path);
    if (!partial) return out_of_memory(err, path, strlen(path));
    for (char *c = partial + 1; *partial; c++) {
        bool end = *c == 0;
        if (!end && *c != '/') continue;
        *c = 0;
        if (mkdir(partial, 0777) != 0 && !(errno == EEXIST && is_directory(partial))) {
            wk_status status = io_error(err, "cannot create directory", partial);
            free(partial);
            return status;
        }
        if (end) break;
        *c = '/';
    }
    free(partial);
    return WK_OK;
}

bool wk_path_exists(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0;
}
