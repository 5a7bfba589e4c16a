#include "train/adapt_settings.h"

#include "base/file.h"
#include "config/yaml.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_status wk_adapt_settings_write(const wk_adapt_settings *settings, const wk_dir *dir,
                                  const char *name, wk_error *err)
{
    wk_text text = {0};
    wk_text_printf(&text,
                   "snapshot: %" PRIu64 "\ntasks: %s\nseed: %" PRIu64 "\ndata: %s\n"
                   "updates: %" PRIu64 "\nrows: %" PRIu64 "\nepisodes: ",
                   settings->snapshot, settings->tasks, settings->seed,
                   settings->all_data ? "all" : "snapshot", settings->updates, settings->rows);
    wk_data_cutoff_print(&settings->cutoff, &text);
    wk_text_puts(&text, "\n");
    wk_status status = text.failed ? wk_fail(err, WK_E_MEMORY, "no memory to write '%s'", name)
                                   : wk_file_write_in(dir, name, text.chars, text.length, err);
    wk_text_free(&text);
    return status;
}

static const char *find(const wk_yaml *yaml, const char *key)
{
    for (size_t i = 0; i < yaml->values.count; i++)
        if (strcmp(yaml->values.items[i].key, key) == 0) return yaml->values.items[i].text;
    return NULL;
}

static wk_status fill(const wk_yaml *yaml, wk_adapt_settings *out, wk_error *err)
{
    const struct {
        const char *key;
        uint64_t *to;
    } numbers[] = {{"snapshot", &out->snapshot},
                   {"seed", &out->seed},
                   {"updates", &out->updates},
                   {"rows", &out->rows}};
    const char *tasks = find(yaml, "tasks"), *data = find(yaml, "data"),
               *episodes = find(yaml, "episodes");
    bool whole = tasks && data && episodes;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const char *text = find(yaml, numbers[i].key);
        whole = whole && text;
        *numbers[i].to = text ? strtoull(text, NULL, 10) : 0;
    }
    if (!whole)
        return wk_fail(err, WK_E_FORMAT, "'%s' is incomplete; begin anew with --restart",
                       yaml->name);
    snprintf(out->tasks, sizeof out->tasks, "%s", tasks);
    out->all_data = strcmp(data, "all") == 0;
    return wk_data_cutoff_parse(episodes, &out->cutoff, err);
}

wk_status wk_adapt_settings_read(const wk_dir *dir, const char *name, wk_adapt_settings *out,
                                 wk_error *err)
{
    char *bytes;
    size_t size;
    WK_TRY(wk_file_read_in(dir, name, 1 << 20, &bytes, &size, err));
    wk_yaml yaml = {0};
    wk_status status = wk_yaml_parse(name, bytes, size, false, &yaml, err);
    if (status == WK_OK) status = fill(&yaml, out, err);
    wk_yaml_free(&yaml);
    free(bytes);
    return status;
}

wk_status wk_adapt_settings_resumable(const wk_adapt_settings *old, const wk_adapt_settings *now,
                                      wk_error *err)
{
    if (strcmp(old->tasks, now->tasks) != 0)
        return wk_fail(err, WK_E_INPUT, "tasks is %s there and %s now", old->tasks, now->tasks);
    if (old->seed != now->seed)
        return wk_fail(err, WK_E_INPUT, "seed is %" PRIu64 " there and %" PRIu64 " now", old->seed,
                       now->seed);
    if (old->all_data != now->all_data)
        return wk_fail(err, WK_E_INPUT, "it was begun %s --all-data",
                       old->all_data ? "with" : "without");
    return WK_OK;
}
