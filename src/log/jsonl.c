#include "log/jsonl.h"

#include "base/text.h"
#include "log/append_file.h"
#include <stdlib.h>

// End of the last whole line among the first `limit` bytes.
static wk_status last_line_end(const wk_append_file *file, uint64_t limit, uint64_t *end,
                               wk_error *err)
{
    char chunk[4096];
    while (limit > 0) {
        size_t size = limit < sizeof chunk ? (size_t)limit : sizeof chunk;
        WK_TRY(wk_append_file_read(file, limit - size, chunk, size, err));
        for (size_t i = size; i > 0; i--)
            if (chunk[i - 1] == '\n') {
                *end = limit - size + i;
                return WK_OK;
            }
        limit -= size;
    }
    *end = 0;
    return WK_OK;
}

typedef struct jsonl {
    wk_append_file file;
    bool timing;
} jsonl;

static wk_status write_record(void *self, const wk_metrics_record *record, wk_error *err)
{
    jsonl *sink = self;
    wk_text line = {0};
    wk_text_printf(&line, "{\"step\": %lld, \"agent_step\": %lld", (long long)record->step,
                   (long long)record->agent_step);
    for (size_t i = 0; i < record->n_scalars; i++) {
        if (record->scalars[i].measured && !sink->timing) continue;
        wk_text_puts(&line, ", ");
        wk_text_quote(&line, record->scalars[i].name);
        wk_text_puts(&line, ": ");
        // What was written with 15 digits reads back with as many.
        wk_text_number_digits(&line, record->scalars[i].value, 15);
    }
    wk_text_puts(&line, "}\n");
    wk_status status =
        line.failed ? wk_fail(err, WK_E_MEMORY, "'%s': no memory for a line", sink->file.path)
                    : wk_append_file_append(&sink->file, line.chars, line.length, err);
    wk_text_free(&line);
    return status;
}

static uint64_t mark(void *self)
{
    return ((jsonl *)self)->file.end;
}

static wk_status truncate_file(void *self, uint64_t size, wk_error *err)
{
    return wk_append_file_truncate(&((jsonl *)self)->file, size, err);
}

static wk_status sync_file(void *self, wk_error *err)
{
    return wk_append_file_sync(&((jsonl *)self)->file, err);
}

static void close_file(void *self)
{
    wk_append_file_close(&((jsonl *)self)->file);
    free(self);
}

static wk_status truncate_to(wk_append_file *file, uint64_t max, wk_error *err)
{
    uint64_t end = 0;
    WK_TRY(last_line_end(file, max < file->end ? max : file->end, &end, err));
    return end < file->end ? wk_append_file_truncate(file, end, err) : WK_OK;
}

wk_status wk_jsonl_open(const wk_dir *dir, const char *name, uint64_t max, bool timing,
                        wk_metrics_sink *out, wk_error *err)
{
    jsonl *sink = calloc(1, sizeof *sink);
    if (!sink) return wk_fail(err, WK_E_MEMORY, "'%s': no memory to open it", name);
    sink->timing = timing;
    wk_status status = wk_append_file_open(dir, name, &sink->file, err);
    if (status == WK_OK) status = truncate_to(&sink->file, max, err);
    if (status != WK_OK) {
        close_file(sink);
        return status;
    }
    *out = (wk_metrics_sink){sink, write_record, mark, truncate_file, sync_file, close_file};
    return WK_OK;
}
