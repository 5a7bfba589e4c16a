#include "replay/log_file.h"

#include "base/file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static wk_status io_error(wk_error *err, const char *what, const char *path)
{
    int code = errno;
    const char *advice = code == ENOSPC || code == EDQUOT
                             ? "; free some space and resume from the last checkpoint"
                         : code == EACCES ? "; check the permissions"
                         : code == EROFS  ? "; choose a writable place"
                                          : "";
    wk_status status = code == ENOENT ? WK_E_NOT_FOUND : code == ENOMEM ? WK_E_MEMORY : WK_E_IO;
    return wk_fail(err, status, "cannot %s '%s': %s%s", what, path, strerror(code), advice);
}

wk_status wk_log_path(const char *directory, uint64_t number, char path[WK_LOG_PATH_MAX],
                      wk_error *err)
{
    int length = snprintf(path, WK_LOG_PATH_MAX, "%s/replay-%08llu.log", directory,
                          (unsigned long long)number);
    if (length < WK_LOG_PATH_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "the directory of the replay log has too long a name: '%.80s...'", directory);
}

// Whether `name` is that of a segment, written the way wk_log_path does.
static bool segment_number(const char *name, uint64_t *number)
{
    unsigned long long value;
    char again[64];
    if (sscanf(name, "replay-%20llu.log", &value) != 1) return false;
    snprintf(again, sizeof again, "replay-%08llu.log", value);
    *number = value;
    return strcmp(again, name) == 0;
}

wk_status wk_log_list(const char *directory, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err)
{
    *any = false;
    DIR *entries = opendir(directory);
    if (!entries) return io_error(err, "open", directory);
    errno = 0;
    for (struct dirent *entry; (entry = readdir(entries)); errno = 0) {
        uint64_t number;
        if (!segment_number(entry->d_name, &number)) continue;
        if (!*any || number < *lowest) *lowest = number;
        if (!*any || number > *highest) *highest = number;
        *any = true;
    }
    wk_status status = errno ? io_error(err, "list", directory) : WK_OK;
    closedir(entries);
    return status;
}

wk_status wk_log_open_file(const char *path, bool fresh, int *fd, wk_error *err)
{
    *fd = open(path, O_RDWR | O_CLOEXEC | (fresh ? O_CREAT | O_TRUNC : 0), 0666);
    return *fd < 0 ? io_error(err, fresh ? "create" : "open", path) : WK_OK;
}

wk_status wk_log_write(int fd, const char *path, uint64_t offset, const void *bytes, size_t size,
                       wk_error *err)
{
    const char *next = bytes;
    while (size > 0) {
        ssize_t n = pwrite(fd, next, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return io_error(err, "write", path);
        next += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return WK_OK;
}

wk_status wk_log_cut(int fd, const char *path, uint64_t size, wk_error *err)
{
    return ftruncate(fd, (off_t)size) != 0 ? io_error(err, "shorten", path) : WK_OK;
}

wk_status wk_log_sync_file(int fd, const char *path, wk_error *err)
{
    return fsync(fd) != 0 ? io_error(err, "make durable", path) : WK_OK;
}

wk_status wk_log_sync_directory(const char *directory, wk_error *err)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return io_error(err, "open", directory);
    // Some file systems cannot sync directories and say EINVAL; there is nothing more to do there.
    bool failed = fsync(fd) != 0 && errno != EINVAL;
    wk_status status = failed ? io_error(err, "make durable", directory) : WK_OK;
    close(fd);
    return status;
}

static wk_status copy_open(const wk_file_reader *from, wk_file_writer *to, wk_error *err)
{
    char bytes[65536];
    uint64_t size = wk_file_reader_size(from);
    for (uint64_t at = 0; at < size;) {
        size_t some = size - at < sizeof bytes ? (size_t)(size - at) : sizeof bytes;
        WK_TRY(wk_file_reader_read(from, at, bytes, some, err));
        WK_TRY(wk_file_writer_append(to, bytes, some, err));
        at += some;
    }
    return WK_OK;
}

static wk_status copy_file(const char *from, const char *to, wk_error *err)
{
    wk_file_reader *reader = NULL;
    wk_file_writer *writer = NULL;
    WK_TRY(wk_file_reader_open(from, &reader, err));
    wk_status status = wk_file_writer_begin(to, &writer, err);
    if (status == WK_OK) {
        status = copy_open(reader, writer, err);
        if (status == WK_OK)
            status = wk_file_writer_commit(writer, err);
        else
            wk_file_writer_discard(writer);
    }
    wk_file_reader_close(reader);
    return status;
}

wk_status wk_log_keep(const char *directory, uint64_t number, bool copy, wk_error *err)
{
    char from[WK_LOG_PATH_MAX], to[WK_LOG_PATH_MAX + 32];
    WK_TRY(wk_log_path(directory, number, from, err));
    snprintf(to, sizeof to, "%s/damaged-replay-%08llu.log", directory, (unsigned long long)number);
    for (int again = 1; wk_path_exists(to); again++)
        snprintf(to, sizeof to, "%s/damaged-replay-%08llu-%d.log", directory,
                 (unsigned long long)number, again);
    if (copy) return copy_file(from, to, err);
    return rename(from, to) == 0 ? WK_OK : io_error(err, "set aside", from);
}

wk_status wk_log_remove(const char *path, wk_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT) return WK_OK;
    return io_error(err, "delete", path);
}
