// repairs.jsonl: that a run was repaired, and what it lost.
#include "base/document.h"
#include "base/file.h"
#include "base/text.h"
#include "run/repair.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 };

static wk_status read_line(const char *path, const char *line, size_t size, wk_run_repairs *out,
                           wk_error *err)
{
    wk_document d;
    wk_document_start(path, line, size, &d, NULL);
    while (wk_document_member(&d)) {
        if (wk_document_is(&d, "step"))
            out->step = wk_document_integer(&d);
        else if (wk_document_is(&d, "episodes_lost"))
            out->lost = wk_document_integer(&d);
    }
    out->count++;
    return wk_document_close(&d, err);
}

static wk_status read_lines(const char *path, const char *bytes, wk_run_repairs *out, wk_error *err)
{
    for (const char *line = bytes; *line;) {
        size_t size = strcspn(line, "\n");
        WK_TRY(read_line(path, line, size, out, err));
        line += size + (line[size] != 0);
    }
    return WK_OK;
}

wk_status wk_run_repairs_read(const char *directory, wk_run_repairs *out, wk_error *err)
{
    char path[WK_PATH_MAX], *bytes;
    size_t size;
    *out = (wk_run_repairs){0};
    WK_TRY(wk_path_join(directory, WK_REPAIRS_FILE, path, err));
    wk_status status = wk_file_read(path, FILE_MAX, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    status = read_lines(path, bytes, out, err);
    free(bytes);
    return status;
}

wk_status wk_run_repairs_text(const char *directory, char out[WK_REPAIRS_TEXT_MAX], wk_error *err)
{
    wk_run_repairs repairs;
    *out = 0;
    WK_TRY(wk_run_repairs_read(directory, &repairs, err));
    if (repairs.count > 0)
        snprintf(out, WK_REPAIRS_TEXT_MAX,
                 "this run was repaired at agent step %" PRIu64 " (episodes lost: %" PRIu64
                 ") and is no longer exact",
                 repairs.step, repairs.lost);
    return WK_OK;
}

wk_status wk_run_repairs_add(const wk_dir *dir, const wk_run_repair *repair, wk_error *err)
{
    wk_text text = {0};
    char *before;
    size_t size;
    wk_status status = wk_file_read_in(dir, WK_REPAIRS_FILE, FILE_MAX, &before, &size, err);
    if (status == WK_OK) {
        wk_text_append(&text, before, size);
        free(before);
    } else if (status != WK_E_NOT_FOUND) {
        return status;
    }
    wk_text_printf(&text,
                   "{\"step\": %" PRIu64 ", \"episodes_kept\": %" PRIu64
                   ", \"episodes_lost\": %" PRIu64 ", \"rows_lost\": %" PRIu64
                   ", \"environments_stopped\": %" PRIu64 "}\n",
                   repair->step, repair->kept, repair->lost, repair->rows_lost, repair->stopped);
    return wk_file_write_text(dir, WK_REPAIRS_FILE, &text, err);
}
