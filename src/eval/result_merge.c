#include "eval/result_merge.h"

#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t FILE_LIMIT = (size_t)256 << 20;

void wk_earlier_result_add(wk_earlier_result *earlier, wk_document *document, const char *of,
                           const char *name, const char *json, size_t length)
{
    if (!of || !name || !json) {
        wk_document_fail(document, "a part without a name");
        return;
    }
    wk_earlier_result_part part = {of, name, json, length};
    if (!wk_array_push(&earlier->parts, part))
        wk_fail(&document->error, WK_E_MEMORY, "no memory for earlier results");
}

void wk_earlier_result_csv(const wk_earlier_result *earlier, const char *of, const char *name,
                           wk_text *out)
{
    char begin[512];
    int length = snprintf(begin, sizeof begin, "%s,%s,", of, name);
    for (const char *line = earlier->csv, *end; line && *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (strncmp(line, begin, (size_t)length) == 0)
            wk_text_append(out, line, (size_t)(end - line));
    }
}

void wk_earlier_result_free(wk_earlier_result *earlier)
{
    wk_array_free(&earlier->parts);
    free(earlier->json);
    free(earlier->csv);
    wk_arena_reset(&earlier->arena);
    *earlier = (wk_earlier_result){0};
}

const char *wk_raw_member(const char *json, size_t length, const char *key, wk_arena *arena)
{
    wk_document d;
    const char *found = NULL;
    if (wk_document_start("a part", json, length, &d, NULL) != WK_OK) return NULL;
    while (!found && wk_document_member(&d))
        if (wk_document_is(&d, key)) found = wk_document_string(&d, arena);
    return d.error.status == WK_OK ? found : NULL;
}

static wk_status read_named(const wk_dir *folder, const char *name, const char *ending,
                            char **bytes, size_t *size, wk_error *err)
{
    char file[WK_RESULT_NAME_MAX + 8];
    wk_entry entry;
    *bytes = NULL;
    snprintf(file, sizeof file, "%s%s", name, ending);
    WK_TRY(wk_dir_stat(folder, file, &entry, NULL, err));
    return entry == WK_ENTRY_NONE ? WK_OK
                                  : wk_file_read_in(folder, file, FILE_LIMIT, bytes, size, err);
}

static wk_status read_parts(const wk_result_files *files, wk_earlier_result *earlier, size_t size,
                            wk_error *err)
{
    wk_document d;
    WK_TRY(wk_document_start(files->stem, earlier->json, size, &d, err));
    while (wk_document_member(&d))
        if (wk_document_is(&d, files->list)) files->read(&d, earlier);
    return wk_document_close(&d, err);
}

static bool begins_with(const char *text, const char *begin)
{
    return text && strncmp(text, begin, strlen(begin)) == 0;
}

// Whether the files called `name` can be written: there are none, or they are of this protocol.
// A damaged file counts as one of another protocol.
static wk_status read_earlier(const wk_result_files *files, const wk_dir *folder, const char *name,
                              bool *usable, wk_earlier_result *earlier, wk_error *err)
{
    size_t size = 0;
    WK_TRY(read_named(folder, name, ".json", &earlier->json, &size, err));
    if (files->csv_head) WK_TRY(read_named(folder, name, ".csv", &earlier->csv, NULL, err));
    *usable = !earlier->json;
    if (!earlier->json || !begins_with(earlier->json, wk_text_get(files->head))) return WK_OK;
    if (earlier->csv && !begins_with(earlier->csv, files->csv_head)) return WK_OK;
    wk_error problem = {0};
    *usable = read_parts(files, earlier, size, &problem) == WK_OK;
    return problem.status == WK_E_MEMORY ? wk_fail(err, WK_E_MEMORY, "%s", problem.message) : WK_OK;
}

wk_status wk_result_files_choose(const wk_result_files *files, const wk_dir *folder,
                                 char name[WK_RESULT_NAME_MAX], wk_earlier_result *earlier,
                                 wk_error *err)
{
    bool usable;
    if (files->head->failed) return wk_fail(err, WK_E_MEMORY, "no memory for '%s'", files->stem);
    snprintf(name, WK_RESULT_NAME_MAX, "%s", files->stem);
    WK_TRY(read_earlier(files, folder, name, &usable, earlier, err));
    if (usable) return WK_OK;
    wk_earlier_result_free(earlier);
    snprintf(name, WK_RESULT_NAME_MAX, "%s-%s", files->stem, files->protocol);
    WK_TRY(read_earlier(files, folder, name, &usable, earlier, err));
    if (!usable) wk_earlier_result_free(earlier); // damaged, and named for this protocol: replaced
    return WK_OK;
}

wk_status wk_result_file_write(wk_text *text, const wk_dir *folder, const char *name,
                               const char *ending, wk_error *err)
{
    char file[WK_RESULT_NAME_MAX + 8];
    snprintf(file, sizeof file, "%s%s", name, ending);
    return wk_file_write_text(folder, file, text, err);
}
