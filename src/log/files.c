#include "log/files.h"

#include "base/file.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

wk_status wk_append_file_open(const wk_dir *dir, const char *name, wk_append_file *out,
                              wk_error *err)
{
    struct stat info;
    wk_append_file file = {.fd = -1, .path = wk_path_joined(wk_dir_path(dir), name)};
    if (!file.path) return wk_fail(err, WK_E_MEMORY, "'%s': no memory to open it", name);
    wk_status status = wk_dir_make_file(dir, name, 0, &file.fd, err);
    if (status == WK_OK && fstat(file.fd, &info) != 0)
        status = wk_file_error(err, "cannot open", file.path);
    if (status != WK_OK) {
        wk_append_file_close(&file);
        return status;
    }
    file.end = (uint64_t)info.st_size;
    *out = file;
    return WK_OK;
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

wk_status wk_append_file_sync(wk_append_file *file, wk_error *err)
{
    return fsync(file->fd) == 0 ? WK_OK : wk_file_error(err, "cannot make durable", file->path);
}

// Cuts the file after the last whole line among its first `max` bytes.
static wk_status cut_lines(wk_append_file *file, uint64_t max, wk_error *err)
{
    char chunk[4096];
    uint64_t end = max < file->end ? max : file->end;
    for (bool found = false; end > 0 && !found;) {
        size_t size = end < sizeof chunk ? (size_t)end : sizeof chunk;
        WK_TRY(wk_fd_read(file->fd, file->path, end - size, chunk, size, err));
        const char *last = memrchr(chunk, '\n', size);
        end -= size;
        if (last) end += (uint64_t)(last - chunk) + 1;
        found = last != NULL;
    }
    return end < file->end ? wk_append_file_truncate(file, end, err) : WK_OK;
}

wk_status wk_jsonl_open(const wk_dir *dir, const char *name, uint64_t max, wk_append_file *out,
                        wk_error *err)
{
    WK_TRY(wk_append_file_open(dir, name, out, err));
    wk_status status = cut_lines(out, max, err);
    if (status != WK_OK) wk_append_file_close(out);
    return status;
}

wk_status wk_jsonl_write(wk_append_file *file, const wk_metrics_record *record, bool timing,
                         wk_error *err)
{
    wk_text line = {0};
    wk_text_printf(&line, "{\"step\": %lld, \"agent_step\": %lld", (long long)record->step,
                   (long long)record->agent_step);
    for (size_t i = 0; i < record->n_scalars; i++) {
        if (record->scalars[i].kind == WK_SCALAR_TIMING && !timing) continue;
        wk_text_puts(&line, ", ");
        wk_text_quote(&line, record->scalars[i].name);
        wk_text_puts(&line, ": ");
        // What was written with 15 digits reads back with as many.
        wk_text_number_digits(&line, record->scalars[i].value, 15);
    }
    wk_text_puts(&line, "}\n");
    wk_status status = line.failed
                           ? wk_fail(err, WK_E_MEMORY, "'%s': no memory for a line", file->path)
                           : wk_append_file_append(file, line.chars, line.length, err);
    wk_text_free(&line);
    return status;
}
