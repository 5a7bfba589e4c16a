#include "config/blocks.h"

#include "base/file.h"
#include "config/yaml.h"
#include "waker/curriculum.h"
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20, PATTERN_MAX = 128, REPETITIONS_MAX = 8, NAMES_MAX = 256 };

struct wk_config_blocks {
    WK_ARRAY(wk_yaml) files;
};

wk_status wk_config_blocks_create(wk_config_blocks **out, wk_error *err)
{
    *out = calloc(1, sizeof **out);
    return *out ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the configurations");
}

void wk_config_blocks_destroy(wk_config_blocks *blocks)
{
    if (!blocks) return;
    for (size_t i = 0; i < blocks->files.count; i++)
        wk_yaml_free(&blocks->files.items[i]);
    wk_array_free(&blocks->files);
    free(blocks);
}

// The file that has block `name`, and the block's index in it; NULL if none has.
static const wk_yaml *find_block(const wk_config_blocks *blocks, const char *name, int *index)
{
    for (size_t f = 0; f < blocks->files.count; f++) {
        const wk_yaml *file = &blocks->files.items[f];
        for (size_t b = 0; b < file->blocks.count; b++) {
            if (strcmp(file->blocks.items[b].name, name) != 0) continue;
            *index = (int)b;
            return file;
        }
    }
    return NULL;
}

static wk_status check_new(const wk_config_blocks *blocks, const wk_yaml *file, wk_error *err)
{
    for (size_t b = 0; b < file->blocks.count; b++) {
        int index;
        const wk_yaml_block *block = &file->blocks.items[b];
        const wk_yaml *other = find_block(blocks, block->name, &index);
        if (other)
            return wk_fail(
                err, WK_E_INPUT,
                "%s:%d: block '%.80s' is already defined in %s:%d; give this one another name",
                file->name, block->line, block->name, other->name, other->blocks.items[index].line);
    }
    return WK_OK;
}

// Whether the text is the config.yaml of a run, of whatever format, or like one: all its keys are
// keys of runs.
static bool is_run(const char *name, const char *bytes, size_t size)
{
    wk_yaml file;
    if (wk_yaml_parse(name, bytes, size, false, &file, NULL) != WK_OK) return false;
    bool has_format = false, all = file.values.count > 0;
    for (size_t i = 0; i < file.values.count; i++) {
        const char *key = file.values.items[i].key;
        has_format |= wk_yaml_is_format(&file.values.items[i]);
        all &= wk_run_field_find(key, strlen(key)) >= 0;
    }
    wk_yaml_free(&file);
    return has_format || all;
}

wk_status wk_config_blocks_add(wk_config_blocks *blocks, const char *name, const char *bytes,
                               size_t size, wk_error *err)
{
    wk_yaml file;
    WK_TRY(wk_yaml_parse(name, bytes, size, !is_run(name, bytes, size), &file, err));
    // A run that was cut short must not pass for another; keys that a user wrote may be few.
    bool saved =
        file.blocks.count == 0 && file.values.count > 0 && wk_yaml_is_format(&file.values.items[0]);
    wk_status status = saved ? wk_yaml_check_run(&file, err) : WK_OK;
    if (status == WK_OK) status = check_new(blocks, &file, err);
    if (status == WK_OK && !wk_array_push(&blocks->files, file))
        status = wk_fail(err, WK_E_MEMORY, "%s: no memory to read it", name);
    if (status != WK_OK) wk_yaml_free(&file);
    return status;
}

wk_status wk_config_blocks_add_file(wk_config_blocks *blocks, const char *path, wk_error *err)
{
    char *bytes;
    size_t size;
    WK_TRY(wk_file_read(path, FILE_LIMIT, &bytes, &size, err));
    wk_status status = wk_config_blocks_add(blocks, path, bytes, size, err);
    free(bytes);
    return status;
}

// A rule chooses itself, and sets its prefill where it has one.
static void print_rules(wk_text *out)
{
    for (size_t i = 0; i < wk_curriculum_rule_count(); i++) {
        const wk_curriculum_rule *rule = wk_curriculum_rule_at(i);
        wk_text_printf(out, "%s:\n  curriculum.rule: %s\n", rule->name, rule->name);
        if (rule->prefill > 0) wk_text_printf(out, "  prefill: %d\n", rule->prefill);
    }
}

// Adds the blocks that `print` makes of a table of the program.
static wk_status add_printed(wk_config_blocks *blocks, const char *name, void (*print)(wk_text *),
                             wk_error *err)
{
    wk_text text = {0};
    print(&text);
    wk_status status =
        text.failed ? wk_fail(err, WK_E_MEMORY, "no memory for the configurations")
                    : wk_config_blocks_add(blocks, name, wk_text_get(&text), text.length, err);
    wk_text_free(&text);
    return status;
}

wk_status wk_config_blocks_add_embedded(wk_config_blocks *blocks, wk_error *err)
{
    WK_TRY(add_printed(blocks, WK_ORIGIN_DEFAULTS, wk_run_defaults_print, err));
    WK_TRY(add_printed(blocks, WK_ORIGIN_RULES, print_rules, err));
    for (const wk_asset *asset = wk_assets; asset->name; asset++) {
        const char *ending = strrchr(asset->name, '.');
        if (!ending || strcmp(ending, ".yaml") != 0 || strchr(asset->name, '/')) continue;
        WK_TRY(wk_config_blocks_add(blocks, asset->name, asset->content, asset->size, err));
    }
    return WK_OK;
}

size_t wk_config_blocks_count(const wk_config_blocks *blocks)
{
    size_t count = 0;
    for (size_t f = 0; f < blocks->files.count; f++)
        count += blocks->files.items[f].blocks.count;
    return count;
}

// The file of the i-th block; makes *i the block's index in it.
static const wk_yaml *file_of(const wk_config_blocks *blocks, size_t *i)
{
    for (size_t f = 0; f < blocks->files.count; f++) {
        const wk_yaml *file = &blocks->files.items[f];
        if (*i < file->blocks.count) return file;
        *i -= file->blocks.count;
    }
    return NULL;
}

const char *wk_config_blocks_name(const wk_config_blocks *blocks, size_t i)
{
    const wk_yaml *file = file_of(blocks, &i);
    return file ? file->blocks.items[i].name : NULL;
}

const char *wk_config_blocks_file(const wk_config_blocks *blocks, size_t i)
{
    const wk_yaml *file = file_of(blocks, &i);
    return file ? file->name : NULL;
}

// Sets a field to the text of a value.
static wk_status assign(wk_merged_config *merged, int field, const wk_yaml_value *value,
                        const wk_origin *origin, wk_error *err)
{
    if (value->is_list && wk_run_fields[field].kind != WK_RUN_LIST)
        return wk_fail(err, WK_E_INPUT, "%s: expected one value, not a list", wk_run_keys[field]);
    WK_TRY(wk_run_config_set(&merged->config, field, value->text, err));
    merged->origins[field] = *origin;
    return WK_OK;
}

// Counted repetitions, repeated groups and references back take the C library time and memory out
// of all proportion, minutes for a line of text; keys need none of them.
static bool is_expensive(const char *pattern)
{
    int repetitions = 0;
    for (const char *c = pattern; *c; c++) {
        if (*c == '{') return true;
        bool repeats = strchr("*+?", *c) != NULL;
        if (repeats && (++repetitions > REPETITIONS_MAX || (c > pattern && c[-1] == ')')))
            return true;
        if (*c != '\\') continue;
        if (!c[1]) break;
        if (*++c >= '1' && *c <= '9') return true;
    }
    return false;
}

// Compiles a key's pattern so that it matches from the beginning, as Python's re.match does.
static wk_status compile_pattern(const char *pattern, regex_t *out, wk_error *err)
{
    if (strlen(pattern) > PATTERN_MAX)
        return wk_fail(err, WK_E_INPUT, "the pattern '%.40s...' is too long", pattern);
    if (is_expensive(pattern))
        return wk_fail(err, WK_E_INPUT,
                       "the pattern '%s' has repetitions or references that are not supported",
                       pattern);
    char anchored[PATTERN_MAX + 4];
    snprintf(anchored, sizeof anchored, "^(%s)", pattern);
    int code = regcomp(out, anchored, REG_EXTENDED | REG_NOSUB);
    if (code == 0) return WK_OK;
    char why[120];
    regerror(code, out, why, sizeof why);
    return wk_fail(err, WK_E_INPUT, "'%s' is not a regular expression: %s", pattern, why);
}

// Sets the field, or all that the pattern matches, which a value is for.
static wk_status apply(wk_merged_config *merged, const wk_yaml_value *value,
                       const wk_origin *origin, wk_error *err)
{
    regex_t pattern;
    int field = wk_run_field_find(value->key, strlen(value->key)), matches = 0;
    if (!wk_yaml_is_pattern(value->key))
        return field < 0 ? wk_run_field_unknown(value->key, err)
                         : assign(merged, field, value, origin, err);
    WK_TRY(compile_pattern(value->key, &pattern, err));
    wk_status status = WK_OK;
    for (int i = 0; i < WK_RUN_FIELD_COUNT && status == WK_OK; i++) {
        if (regexec(&pattern, wk_run_keys[i], 0, NULL, 0) != 0) continue;
        status = assign(merged, i, value, origin, err);
        matches++;
    }
    regfree(&pattern);
    if (matches > 0) return status;
    return wk_fail(err, WK_E_INPUT, "the pattern '%s' matches no key", value->key);
}

static wk_status unknown_block(const wk_config_blocks *blocks, const char *name, wk_error *err)
{
    const char *names[NAMES_MAX];
    size_t count = wk_config_blocks_count(blocks);
    if (strchr(name, ','))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "no configuration is called '%.80s': names are separated by blanks, not by "
                       "commas",
                       name);
    if (count > NAMES_MAX) count = NAMES_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = wk_config_blocks_name(blocks, i);
    return wk_fail_nearest(err, WK_E_NOT_FOUND, name, names, count,
                           " ('waker config --list' shows all)",
                           "no configuration is called '%.80s'", name);
}

// Applies a block of the file; number -1 is all of a file without blocks.
static wk_status merge_values(const wk_yaml *file, int block, const char *name,
                              wk_merged_config *merged, wk_error *err)
{
    for (size_t i = 0; i < file->values.count; i++) {
        const wk_yaml_value *value = &file->values.items[i];
        if (value->block != block || (block < 0 && wk_yaml_is_format(value))) continue;
        const wk_origin origin = {file->name, name, value->line};
        wk_status status = apply(merged, value, &origin, err);
        if (status != WK_OK) wk_fail_context(err, "%s:%d", file->name, value->line);
        WK_TRY(status);
    }
    return WK_OK;
}

wk_status wk_config_merge_block(const wk_config_blocks *blocks, const char *name,
                                wk_merged_config *merged, wk_error *err)
{
    int block;
    const wk_yaml *file = find_block(blocks, name, &block);
    if (!file) return unknown_block(blocks, name, err);
    return merge_values(file, block, file->blocks.items[block].name, merged, err);
}

wk_status wk_config_merge_defaults(const wk_config_blocks *blocks, wk_merged_config *out,
                                   wk_error *err)
{
    *out = (wk_merged_config){.config = wk_run_config_default()};
    return wk_config_merge_block(blocks, WK_ORIGIN_DEFAULTS, out, err);
}

wk_status wk_config_merge_setting(const wk_setting *setting, wk_merged_config *merged,
                                  wk_error *err)
{
    char key[PATTERN_MAX + 2] = "";
    strncat(key, setting->key,
            setting->key_length < sizeof key ? setting->key_length : sizeof key - 1);
    const wk_yaml_value value = {.key = key, .text = setting->value};
    wk_status status = apply(merged, &value, &(wk_origin){0}, err);
    if (status != WK_OK) wk_fail_context(err, "command line");
    return status;
}

wk_status wk_config_merge_own_keys(const wk_config_blocks *blocks, const char *file,
                                   wk_merged_config *merged, wk_error *err)
{
    for (size_t i = 0; i < blocks->files.count; i++) {
        const wk_yaml *yaml = &blocks->files.items[i];
        bool flat = yaml->blocks.count == 0 && strcmp(yaml->name, file) == 0;
        if (flat && wk_yaml_check_run(yaml, NULL) != WK_OK)
            WK_TRY(merge_values(yaml, -1, WK_ORIGIN_RUN, merged, err));
    }
    return WK_OK;
}

wk_status wk_config_merge(const wk_config_blocks *blocks, const char *const *names, size_t n_names,
                          const wk_setting *settings, size_t n_settings, wk_merged_config *out,
                          wk_error *err)
{
    WK_TRY(wk_config_merge_defaults(blocks, out, err));
    // Runs in files have all their values.
    bool has_run = false;
    for (size_t i = 0; i < blocks->files.count; i++)
        has_run |= blocks->files.items[i].blocks.count == 0;
    int block;
    if (!has_run && find_block(blocks, WK_IMPLIED_BLOCK, &block))
        WK_TRY(wk_config_merge_block(blocks, WK_IMPLIED_BLOCK, out, err));
    for (size_t i = 0; i < blocks->files.count; i++)
        if (blocks->files.items[i].blocks.count == 0)
            WK_TRY(merge_values(&blocks->files.items[i], -1, WK_ORIGIN_RUN, out, err));
    for (size_t i = 0; i < n_names; i++)
        WK_TRY(wk_config_merge_block(blocks, names[i], out, err));
    for (size_t i = 0; i < n_settings; i++)
        WK_TRY(wk_config_merge_setting(&settings[i], out, err));
    return WK_OK;
}

wk_status wk_config_reference(const wk_config_blocks *blocks, const wk_run_config *config,
                              const char *extra, wk_run_config *out, wk_error *err)
{
    wk_merged_config merged;
    WK_TRY(wk_config_merge_defaults(blocks, &merged, err));
    const char *const names[] = {config->domain, config->curriculum_rule, config->exploration};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int block;
        if (find_block(blocks, names[i], &block))
            WK_TRY(wk_config_merge_block(blocks, names[i], &merged, err));
    }
    if (extra) WK_TRY(wk_config_merge_block(blocks, extra, &merged, err));
    *out = merged.config;
    return WK_OK;
}

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

// Appends the keys that both set, to different values; with a `result` those alone that
// the command line does not set, with the line and the value that `earlier` has. Returns how many.
static int put_keys(const wk_merged_config *earlier, const wk_merged_config *later,
                    const wk_merged_config *result, wk_text *out)
{
    int count = 0;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        const wk_origin *own = &earlier->origins[i];
        bool both = own->file && later->origins[i].file && (!result || result->origins[i].file);
        if (!both || wk_run_config_same(&earlier->config, &later->config, i)) continue;
        wk_text_printf(out, "%s%s ", count++ ? ", " : "", wk_run_keys[i]);
        wk_run_config_get(&later->config, i, out);
        if (!result) continue;
        wk_text_printf(out, " (%s:%d: ", own->file, own->line);
        wk_run_config_get(&earlier->config, i, out);
        wk_text_puts(out, ")");
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
    if (put_keys(&earlier, &later, NULL, &keys) > 0)
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
    if (put_keys(&own, &later, result, &keys) > 0)
        wk_text_printf(out,
                       "the blocks of --configs apply after the file's keys and override them "
                       "with %s; make a named block of the file's keys and name it last, or set "
                       "them with --KEY\n",
                       wk_text_get(&keys));
    wk_text_free(&keys);
    return WK_OK;
}
