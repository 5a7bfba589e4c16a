#include "config/blocks.h"

#include <string.h>

// The kinds of blocks, in the order in which they are to be named.
static const struct {
    const char *file, *name;
} kinds[] = {{"domains.yaml", "a domain"},
             {WK_ORIGIN_RULES, "a curriculum"},
             {"exploration.yaml", "an exploration"},
             {"presets.yaml", "a preset"},
             {"protocols.yaml", "a protocol"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

// What a block sets, and its kind; -1 for a block of one's own.
static wk_status read_block(const wk_config_blocks *blocks, const char *name, wk_merged_config *out,
                            int *kind, wk_error *err)
{
    *out = (wk_merged_config){.config = wk_run_config_default()};
    *kind = -1;
    WK_TRY(wk_config_merge_block(blocks, name, out, err));
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++)
        for (int k = 0; k < N_KINDS; k++)
            if (out->origins[i].file && strcmp(out->origins[i].file, kinds[k].file) == 0) *kind = k;
    return WK_OK;
}

// The keys that both set, to different values.
static int put_keys(const wk_merged_config *earlier, const wk_merged_config *later, wk_text *out)
{
    int count = 0;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        bool both = earlier->origins[i].file && later->origins[i].file;
        if (!both || wk_run_config_same(&earlier->config, &later->config, i)) continue;
        wk_text_printf(out, "%s%s ", count++ ? ", " : "", wk_run_keys[i]);
        wk_run_config_get(&later->config, i, out);
    }
    return count;
}

static wk_status compare(const wk_config_blocks *blocks, const char *first, const char *second,
                         wk_text *out, wk_error *err)
{
    wk_merged_config earlier, later;
    int kind, other;
    WK_TRY(read_block(blocks, first, &earlier, &kind, err));
    WK_TRY(read_block(blocks, second, &later, &other, err));
    if (kind < 0 || other < 0 || other > kind) return WK_OK;
    wk_text keys = {0};
    if (put_keys(&earlier, &later, &keys) > 0)
        wk_text_printf(out, "'%s' (%s) comes after '%s' (%s) and overrides it with %s; %s\n",
                       second, kinds[other].name, first, kinds[kind].name, wk_text_get(&keys),
                       other == kind ? "name one of the two"
                                     : "name domains first and presets last");
    wk_text_free(&keys);
    return WK_OK;
}

wk_status wk_config_conflicts(const wk_config_blocks *blocks, const char *const *names,
                              size_t count, wk_text *out, wk_error *err)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            WK_TRY(compare(blocks, names[i], names[j], out, err));
    return WK_OK;
}

// The keys of a file that blocks give other values, with the lines that set them.
static int put_overridden(const wk_merged_config *own, const wk_merged_config *blocks,
                          const wk_merged_config *result, wk_text *out)
{
    int count = 0;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        bool both = own->origins[i].file && blocks->origins[i].file && result->origins[i].file;
        if (!both || wk_run_config_same(&own->config, &blocks->config, i)) continue;
        wk_text_printf(out, "%s%s ", count++ ? ", " : "", wk_run_keys[i]);
        wk_run_config_get(&blocks->config, i, out);
        wk_text_printf(out, " (%s:%d: ", own->origins[i].file, own->origins[i].line);
        wk_run_config_get(&own->config, i, out);
        wk_text_puts(out, ")");
    }
    return count;
}

wk_status wk_config_overridden(const wk_config_blocks *blocks, const char *const *files,
                               size_t n_files, const char *const *names, size_t n_names,
                               const wk_merged_config *result, wk_text *out, wk_error *err)
{
    wk_merged_config own = {.config = wk_run_config_default()}, later = own;
    for (size_t i = 0; i < n_files; i++)
        WK_TRY(wk_config_merge_own_keys(blocks, files[i], &own, err));
    for (size_t i = 0; i < n_names; i++)
        WK_TRY(wk_config_merge_block(blocks, names[i], &later, err));
    wk_text keys = {0};
    if (put_overridden(&own, &later, result, &keys) > 0)
        wk_text_printf(out,
                       "the blocks of --configs apply after the file's keys and override them "
                       "with %s; make a named block of the file's keys and name it last, or set "
                       "them with --KEY\n",
                       wk_text_get(&keys));
    wk_text_free(&keys);
    return WK_OK;
}
