#include "log/append_file.h"

#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static wk_status find_end(wk_append_file *file, wk_error *err)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0) return wk_file_error(err, "cannot open", file->path);
    file->end = (uint64_t)info.st_size;
    return WK_OK;
}

wk_status wk_append_file_open(const wk_dir *dir, const char *name, wk_append_file *out,
                              wk_error *err)
{
    wk_append_file file = {.fd = -1, .path = wk_path_joined(wk_dir_path(dir), name)};
    if (!file.path) return wk_fail(err, WK_E_MEMORY, "'%s': no memory to open it", name);
    wk_status status = wk_dir_make_file(dir, name, 0, &file.fd, err);
    if (status == WK_OK) status = find_end(&file, err);
    if (status == WK_OK)
        *out = file;
    else
        wk_append_file_close(&file);
    return status;
}

void wk_append_file_close(wk_append_file *file)
{
    if (!file->path) return;
    if (file->fd >= 0) close(file->fd);
    free(file->path);
    *file = (wk_append_file){.fd = -1};
}

wk_status wk_append_file_append(wk_append_file *file, const void *bytes, size_t size, wk_error *err)
{
    wk_status status = wk_fd_write(file->fd, file->path, file->end, bytes, size, err);
    if (status == WK_OK) {
        file->end += size;
        return WK_OK;
    }
    // Readers skip a torn record, and the next append begins at the same place, so nothing more can
    // or must be done if this fails too.
    wk_append_file_truncate(file, file->end, NULL);
    return status;
}

wk_status wk_append_file_truncate(wk_append_file *file, uint64_t size, wk_error *err)
{
    assert(size <= file->end);
    while (ftruncate(file->fd, (off_t)size) != 0)
        if (errno != EINTR) return wk_file_error(err, "cannot shorten", file->path);
    file->end = size;
    return WK_OK;
}

wk_status wk_append_file_read(const wk_append_file *file, uint64_t offset, void *bytes, size_t size,
                              wk_error *err)
{
    return wk_fd_read(file->fd, file->path, offset, bytes, size, err);
}

wk_status wk_append_file_sync(wk_append_file *file, wk_error *err)
{
    return fsync(file->fd) == 0 ? WK_OK : wk_file_error(err, "cannot make durable", file->path);
}
