#include "sweep/grid.h"

#include "base/asset.h"
#include "base/file.h"
#include "config/each.h"
#include "config/yaml.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_LIMIT = 1 << 20, CONDITIONS_MAX = 4000, EMBEDDED_MAX = 32 };

const char *const wk_sweep_follow_names[WK_SWEEP_FOLLOWS] = {
    [WK_SWEEP_ADAPT] = "adapt",
    [WK_SWEEP_EVAL] = "eval",
    [WK_SWEEP_MODEL_ERROR] = "model-error",
};

static const char *keep(wk_sweep_grid *grid, const char *text, wk_status *status, wk_error *err)
{
    const char *copy = wk_arena_string(&grid->arena, text);
    if (!copy) *status = wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    return copy;
}

static wk_status push_value(wk_sweep_grid *grid, wk_sweep_axis *axis, const char *text,
                            wk_error *err)
{
    wk_status status = WK_OK;
    if (axis->values.count == WK_SWEEP_RUNS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d values", WK_SWEEP_RUNS_MAX);
    const char *copy = keep(grid, text, &status, err);
    if (copy && !wk_array_push(&axis->values, copy))
        return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    return status;
}

// Where wk_run_values_read puts values.
typedef struct axis_sink {
    wk_sweep_grid *grid;
    wk_sweep_axis *axis;
} axis_sink;

static wk_status sink_value(void *context, const char *value, wk_error *err)
{
    const axis_sink *sink = context;
    return push_value(sink->grid, sink->axis, value, err);
}

// Names of axes and blocks stand in command lines, where none may look like an option.
static wk_status check_name(const char *what, const char *name, wk_error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t length = strspn(name, plain);
    if (length > 0 && length <= 63 && !name[length] && *name != '-') return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%.60s' is not a valid name of %s: use letters, digits, '_' and '-', and do "
                   "not begin with '-'",
                   name, what);
}

// One item of an axis: a value, a range, or the name of a block.
static wk_status add_item(wk_sweep_grid *grid, wk_sweep_axis *axis, const char *text, wk_error *err)
{
    if (axis->field < 0) WK_TRY(check_name("a block", text, err));
    if (strlen(text) >= WK_RUN_TEXT_MAX)
        return wk_fail(err, WK_E_INPUT, "'%.40s...' is longer than %d bytes", text,
                       WK_RUN_TEXT_MAX - 1);
    if (axis->field < 0) return push_value(grid, axis, text, err);
    axis_sink sink = {grid, axis};
    return wk_run_values_read(axis->field, text, WK_SWEEP_RUNS_MAX, sink_value, &sink, err);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static wk_status check_values(const wk_sweep_axis *axis, wk_error *err)
{
    size_t count = axis->values.count;
    if (count == 0) return wk_fail(err, WK_E_INPUT, "%s has no values", axis->name);
    const char **sorted = malloc(count * sizeof *sorted);
    if (!sorted) return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    memcpy(sorted, axis->values.items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_texts);
    wk_status status = WK_OK;
    for (size_t i = 1; status == WK_OK && i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = wk_fail(err, WK_E_INPUT, "%s has the value '%s' twice", axis->name, sorted[i]);
    free(sorted);
    return status;
}

static wk_sweep_axis *find_axis(wk_sweep_grid *grid, const char *name)
{
    for (int i = 0; i < grid->n_axes; i++)
        if (strcmp(grid->axes[i].name, name) == 0) return &grid->axes[i];
    return NULL;
}

static wk_status check_size(const wk_sweep_grid *grid, wk_error *err)
{
    uint64_t runs = wk_sweep_grid_combinations(grid);
    if (runs <= WK_SWEEP_RUNS_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "makes %s%llu runs, and a grid has at most %d",
                   runs == UINT64_MAX ? "more than " : "", (unsigned long long)runs,
                   WK_SWEEP_RUNS_MAX);
}

// An axis of blocks or, with a field, of a key.
static wk_status read_axis(wk_sweep_grid *grid, const char *name, int field,
                           const wk_yaml_value *value, wk_error *err)
{
    if (grid->n_axes == WK_SWEEP_AXES_MAX)
        return wk_fail(
            err, WK_E_INPUT,
            "more than %d blocks and keys; put settings that all runs share into a block "
            "of your own, in a file that 'files' names",
            WK_SWEEP_AXES_MAX);
    if (find_axis(grid, name)) return wk_fail(err, WK_E_INPUT, "the axis '%s' occurs twice", name);
    wk_status status = WK_OK;
    wk_sweep_axis *axis = &grid->axes[grid->n_axes++];
    *axis = (wk_sweep_axis){.field = field, .line = value->line};
    axis->name = keep(grid, name, &status, err);
    WK_TRY(status);
    if (value->is_list)
        for (size_t i = 0; i < value->n_items; i++)
            WK_TRY(add_item(grid, axis, value->items[i], err));
    else
        WK_TRY(add_item(grid, axis, value->text, err));
    // Seeds are added later; that must not change the names of the runs that are there.
    axis->named = value->is_list || axis->values.count > 1 || field == WK_RUN_seed_INDEX;
    WK_TRY(check_values(axis, err));
    return check_size(grid, err);
}

static wk_status read_blocks(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                             wk_error *err)
{
    WK_TRY(check_name("an axis", rest, err));
    return read_axis(grid, rest, -1, value, err);
}

static wk_status read_keys(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                           wk_error *err)
{
    int field = wk_run_field_find(rest, strlen(rest));
    if (field < 0) return wk_run_field_unknown(rest, err);
    return read_axis(grid, rest, field, value, err);
}

static int find_value(const wk_sweep_axis *axis, const char *text)
{
    for (size_t i = 0; i < axis->values.count; i++)
        if (strcmp(axis->values.items[i], text) == 0) return (int)i;
    return -1;
}

static wk_status take_canonical(void *context, const char *value, wk_error *err)
{
    (void)err;
    snprintf(context, WK_RUN_TEXT_MAX, "%s", value);
    return WK_OK;
}

// KEY=VALUE: the value in the form that the axis has it.
static wk_status find_setting(wk_sweep_grid *grid, char *word, char *equals, int *axis, int *value,
                              wk_error *err)
{
    *equals = 0;
    char text[WK_RUN_TEXT_MAX];
    const wk_sweep_axis *found = find_axis(grid, word);
    if (!found) return wk_fail(err, WK_E_INPUT, "no axis is called '%s'", word);
    snprintf(text, sizeof text, "%s", equals + 1);
    if (found->field >= 0)
        WK_TRY(wk_run_values_read(found->field, equals + 1, 1, take_canonical, text, err));
    *axis = (int)(found - grid->axes);
    *value = find_value(found, text);
    if (*value >= 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "the axis '%s' has no value '%s'", word, text);
}

// A word of a condition: a value of an axis of blocks, or KEY=VALUE.
static wk_status find_word(wk_sweep_grid *grid, char *word, int *axis, int *value, wk_error *err)
{
    char *equals = strchr(word, '=');
    if (equals) return find_setting(grid, word, equals, axis, value, err);
    for (*axis = 0; *axis < grid->n_axes && grid->axes[*axis].field < 0; ++*axis) {
        *value = find_value(&grid->axes[*axis], word);
        if (*value >= 0) return WK_OK;
    }
    return wk_fail(
        err, WK_E_INPUT,
        "'%s' is not a value of an axis of blocks; for a key write KEY=VALUE, as in seed=3", word);
}

static wk_status read_condition(wk_sweep_grid *grid, const char *text, int line,
                                wk_sweep_condition *out, wk_error *err)
{
    wk_status status = WK_OK;
    *out = (wk_sweep_condition){.line = line, .text = keep(grid, text, &status, err)};
    WK_TRY(status);
    char *copy = strdup(text), *rest = copy;
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    for (char *word; status == WK_OK && (word = strtok_r(rest, " \t", &rest));) {
        if (out->count == WK_SWEEP_WORDS_MAX)
            status = wk_fail(err, WK_E_INPUT, "more than %d words", WK_SWEEP_WORDS_MAX);
        else
            status = find_word(grid, word, &out->axis[out->count], &out->value[out->count], err);
        out->count++;
    }
    free(copy);
    if (status == WK_OK && out->count == 0)
        return wk_fail(err, WK_E_INPUT, "it does not say which runs it applies to");
    return status;
}

// The key after the condition: wk_yaml escapes the point where a part has characters that no key
// has.
static char *split_condition(char *text)
{
    char *escaped = strstr(text, "\\."), *point = strchr(text, '.');
    if (escaped) {
        *escaped = 0;
        return escaped + 2;
    }
    if (!point) return NULL;
    *point = 0;
    return point + 1;
}

static wk_status read_preset(wk_sweep_grid *grid, char *condition, const wk_yaml_value *value,
                             wk_error *err)
{
    wk_sweep_preset preset;
    wk_status status = WK_OK;
    wk_run_config scratch = wk_run_config_default();
    const char *key = split_condition(condition);
    if (!key) return wk_fail(err, WK_E_INPUT, "'%s' needs keys under it", condition);
    preset.field = wk_run_field_find(key, strlen(key));
    if (preset.field < 0) return wk_run_field_unknown(key, err);
    if (value->is_list && wk_run_fields[preset.field].kind != WK_RUN_LIST)
        return wk_fail(err, WK_E_INPUT, "%s: expected one value, not a list", key);
    if (find_axis(grid, key))
        return wk_fail(err, WK_E_INPUT, "%s is an axis; its values are set after all others", key);
    WK_TRY(wk_run_config_set(&scratch, preset.field, value->text, err));
    WK_TRY(read_condition(grid, condition, value->line, &preset.when, err));
    preset.value = keep(grid, value->text, &status, err);
    if (grid->presets.count == CONDITIONS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d settings", CONDITIONS_MAX);
    if (status == WK_OK && !wk_array_push(&grid->presets, preset))
        return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    return status;
}

static wk_status read_with(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                           wk_error *err)
{
    char *copy = strdup(rest);
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    wk_status status = read_preset(grid, copy, value, err);
    free(copy);
    return status;
}

static wk_status add_exclude(wk_sweep_grid *grid, const char *text, int line, wk_error *err)
{
    wk_sweep_condition condition;
    if (grid->excludes.count == CONDITIONS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d exclusions", CONDITIONS_MAX);
    WK_TRY(read_condition(grid, text, line, &condition, err));
    return wk_array_push(&grid->excludes, condition)
               ? WK_OK
               : wk_fail(err, WK_E_MEMORY, "no memory for the grid");
}

static wk_status read_exclude(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                              wk_error *err)
{
    (void)rest;
    if (!value->is_list) return add_exclude(grid, value->text, value->line, err);
    for (size_t i = 0; i < value->n_items; i++)
        WK_TRY(add_exclude(grid, value->items[i], value->line, err));
    return WK_OK;
}

static wk_status add_option(wk_sweep_grid *grid, wk_sweep_command *command, const char *word,
                            wk_error *err)
{
    wk_status status = WK_OK;
    if (command->count == WK_SWEEP_WORDS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d words", WK_SWEEP_WORDS_MAX);
    command->options[command->count++] = keep(grid, word, &status, err);
    return status;
}

// Options as one text with blanks between them, or as a list.
static wk_status read_command(wk_sweep_grid *grid, wk_sweep_command *command,
                              const wk_yaml_value *value, wk_error *err)
{
    *command = (wk_sweep_command){.present = true, .line = value->line};
    if (value->is_list) {
        for (size_t i = 0; i < value->n_items; i++)
            WK_TRY(add_option(grid, command, value->items[i], err));
        return WK_OK;
    }
    char *copy = strdup(value->text), *rest = copy;
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    wk_status status = WK_OK;
    for (char *word; status == WK_OK && (word = strtok_r(rest, " \t\n", &rest));)
        status = add_option(grid, command, word, err);
    free(copy);
    return status;
}

static wk_status read_then(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                           wk_error *err)
{
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        if (strcmp(rest, wk_sweep_follow_names[i]) == 0)
            return read_command(grid, &grid->follow[i], value, err);
    return wk_fail_unknown(err, "command that follows a run", rest, wk_sweep_follow_names,
                           WK_SWEEP_FOLLOWS);
}

static wk_status read_report(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                             wk_error *err)
{
    (void)rest;
    return read_command(grid, &grid->report, value, err);
}

// A path that is not absolute begins where the grid lies.
static wk_status add_file(wk_sweep_grid *grid, const char *path, wk_error *err)
{
    char full[WK_PATH_MAX];
    wk_status status = WK_OK;
    const char *slash = strrchr(grid->name, '/');
    int folder = slash && *path != '/' ? (int)(slash + 1 - grid->name) : 0;
    if (grid->n_files == WK_SWEEP_FILES_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d files", WK_SWEEP_FILES_MAX);
    if (snprintf(full, sizeof full, "%.*s%s", folder, grid->name, path) >= (int)sizeof full)
        return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", path);
    // The sweep's copy of the grid lies elsewhere.
    char *real = realpath(full, NULL);
    if (!real) return wk_file_error(err, "cannot read", full);
    grid->files[grid->n_files++] = keep(grid, real, &status, err);
    free(real);
    return status;
}

static wk_status read_files(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                            wk_error *err)
{
    (void)rest;
    if (!value->is_list) return add_file(grid, value->text, err);
    for (size_t i = 0; i < value->n_items; i++)
        WK_TRY(add_file(grid, value->items[i], err));
    return WK_OK;
}

// The parts of a grid, in the order in which they are read: conditions name values of axes.
static const struct {
    const char *name;
    bool nested; // has keys under it
    wk_status (*read)(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                      wk_error *err);
} parts[] = {
    {"files", false, read_files},   {"blocks", true, read_blocks},    {"keys", true, read_keys},
    {"with", true, read_with},      {"exclude", false, read_exclude}, {"then", true, read_then},
    {"report", false, read_report},
};
enum { PARTS = sizeof parts / sizeof *parts };

// The part that a flat key belongs to, and what comes after it.
static wk_status find_part(const char *key, int *part, const char **rest, wk_error *err)
{
    size_t length = strcspn(key, ".\\"); // a pattern has "\." for the dot
    const char *names[PARTS];
    *rest = key + length;
    if (strncmp(*rest, "\\.", 2) == 0) ++*rest;
    if (**rest == '.') ++*rest;
    for (*part = 0; *part < PARTS; ++*part) {
        names[*part] = parts[*part].name;
        if (strlen(names[*part]) != length || memcmp(names[*part], key, length) != 0) continue;
        if (parts[*part].nested == (**rest != 0)) return WK_OK;
        return wk_fail(err, WK_E_INPUT,
                       parts[*part].nested ? "'%s' needs keys under it"
                                           : "'%s' has no keys under it",
                       parts[*part].name);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, key);
    return wk_fail_unknown(err, "part of a grid", name, names, PARTS);
}

static wk_status read_part(wk_sweep_grid *grid, const wk_yaml *yaml, int part, wk_error *err)
{
    for (size_t i = 0; i < yaml->values.count; i++) {
        const wk_yaml_value *value = &yaml->values.items[i];
        const char *rest;
        int found;
        wk_status status = find_part(value->key, &found, &rest, err);
        if (status == WK_OK && found == part) status = parts[part].read(grid, rest, value, err);
        if (status != WK_OK)
            return err ? wk_fail_context(err, "%s:%d", grid->name, value->line) : status;
    }
    return WK_OK;
}

static wk_status read_grid(wk_sweep_grid *grid, const wk_yaml *yaml, wk_error *err)
{
    for (int i = 0; i < PARTS; i++)
        WK_TRY(read_part(grid, yaml, i, err));
    if (grid->n_axes > 0 && grid->axes[0].field < 0) return WK_OK;
    return wk_fail(
        err, WK_E_INPUT,
        "%s: no 'blocks': say what is trained, for example 'blocks: {domain: [clean-up], "
        "curriculum: [waker-m, dr], size: quick}'",
        grid->name);
}

wk_status wk_sweep_grid_parse(const char *name, const char *bytes, size_t size, wk_sweep_grid *out,
                              wk_error *err)
{
    wk_yaml yaml;
    wk_status status = WK_OK;
    *out = (wk_sweep_grid){0};
    WK_TRY(wk_yaml_parse(name, bytes, size, false, &yaml, err));
    out->name = keep(out, name, &status, err);
    if (status == WK_OK) status = read_grid(out, &yaml, err);
    wk_yaml_free(&yaml);
    if (status != WK_OK) wk_sweep_grid_free(out);
    return status;
}

const char *wk_sweep_grid_embedded(size_t i)
{
    static char names[EMBEDDED_MAX][64];
    size_t count = 0;
    for (const wk_asset *asset = wk_assets; asset->name && i < EMBEDDED_MAX; asset++) {
        if (strncmp(asset->name, "sweeps/", 7) != 0 || count++ != i) continue;
        snprintf(names[i], sizeof *names, "%.*s", (int)strcspn(asset->name + 7, "."),
                 asset->name + 7);
        return names[i];
    }
    return NULL;
}

static const wk_asset *find_embedded(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "sweeps/%.100s.yaml", name);
    for (const wk_asset *asset = wk_assets; asset->name; asset++)
        if (strcmp(asset->name, path) == 0) return asset;
    return NULL;
}

wk_status wk_sweep_grid_open(const char *path, wk_sweep_grid *out, wk_error *err)
{
    char *bytes;
    size_t size;
    const wk_asset *asset = find_embedded(path);
    *out = (wk_sweep_grid){0};
    if (asset) return wk_sweep_grid_parse(asset->name, asset->content, asset->size, out, err);
    wk_status status = wk_file_read(path, FILE_LIMIT, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND && !strchr(path, '/') && !strchr(path, '.')) {
        const char *names[EMBEDDED_MAX];
        size_t count = 0;
        for (const char *name; (name = wk_sweep_grid_embedded(count)); count++)
            names[count] = name;
        return wk_fail_unknown(err, "built-in grid or file", path, names, count);
    }
    WK_TRY(status);
    status = wk_sweep_grid_parse(path, bytes, size, out, err);
    free(bytes);
    return status;
}

void wk_sweep_grid_free(wk_sweep_grid *grid)
{
    for (int i = 0; i < grid->n_axes; i++)
        wk_array_free(&grid->axes[i].values);
    wk_array_free(&grid->presets);
    wk_array_free(&grid->excludes);
    wk_arena_reset(&grid->arena);
    *grid = (wk_sweep_grid){0};
}

uint64_t wk_sweep_grid_combinations(const wk_sweep_grid *grid)
{
    uint64_t runs = 1;
    for (int i = 0; i < grid->n_axes; i++)
        if (__builtin_mul_overflow(runs, (uint64_t)grid->axes[i].values.count, &runs))
            return UINT64_MAX;
    return runs;
}

static wk_status add_values(wk_sweep_grid *grid, wk_sweep_axis *axis, char *values, wk_error *err)
{
    if (!axis->named)
        return wk_fail(
            err, WK_E_INPUT,
            "%s is the same in all runs, so it is not in their names; write it as a list "
            "in a new grid for another directory",
            axis->name);
    for (char *item; (item = strsep(&values, ","));)
        WK_TRY(add_item(grid, axis, item, err));
    WK_TRY(check_values(axis, err));
    return check_size(grid, err);
}

static wk_status add_text(wk_sweep_grid *grid, char *text, wk_error *err)
{
    char *equals = strchr(text, '=');
    if (!equals) return wk_fail(err, WK_E_INPUT, "write AXIS=VALUE,VALUE or AXIS=5..9");
    *equals = 0;
    wk_sweep_axis *axis = find_axis(grid, text);
    if (axis) return add_values(grid, axis, equals + 1, err);
    const char *names[WK_SWEEP_AXES_MAX];
    for (int i = 0; i < grid->n_axes; i++)
        names[i] = grid->axes[i].name;
    return wk_fail_unknown(err, "axis", text, names, (size_t)grid->n_axes);
}

wk_status wk_sweep_grid_add(wk_sweep_grid *grid, const char *text, wk_error *err)
{
    char *copy = strdup(text);
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
    wk_status status = add_text(grid, copy, err);
    free(copy);
    return status == WK_OK || !err ? status : wk_fail_context(err, "%.80s", text);
}

// Whether an axis has the value; mostly both have the same values at the same places.
static bool has_value(const wk_sweep_axis *axis, const char *value, size_t place)
{
    return (place < axis->values.count && strcmp(axis->values.items[place], value) == 0) ||
           find_value(axis, value) >= 0;
}

// The first value that the other axis has not; NULL where it has all.
static const char *value_not_in(const wk_sweep_axis *axis, const wk_sweep_axis *other)
{
    for (size_t i = 0; i < axis->values.count; i++)
        if (!has_value(other, axis->values.items[i], i)) return axis->values.items[i];
    return NULL;
}

// A value that only one of the grids has.
typedef struct single_value {
    const char *axis, *value;
} single_value;

// Remembers the first such value of each grid.
static void find_single_values(wk_sweep_grid *grid, const wk_sweep_grid *other, single_value *here,
                               single_value *there)
{
    for (int i = 0; i < other->n_axes; i++) {
        const wk_sweep_axis *theirs = &other->axes[i];
        const wk_sweep_axis *ours = find_axis(grid, theirs->name);
        if (!ours || !ours->named || !theirs->named) continue;
        const char *only_here = value_not_in(ours, theirs);
        const char *only_there = value_not_in(theirs, ours);
        if (only_here && !here->value) *here = (single_value){ours->name, only_here};
        if (only_there && !there->value) *there = (single_value){theirs->name, only_there};
    }
}

wk_status wk_sweep_grid_join(wk_sweep_grid *grid, const wk_sweep_grid *other, wk_error *err)
{
    single_value here = {0}, there = {0};
    find_single_values(grid, other, &here, &there);
    if (here.value && there.value)
        return wk_fail(err, WK_E_INPUT,
                       "%s has no %s '%s', which the sweep has, but %s '%s', which the sweep has "
                       "not; values are added to a sweep with 'waker sweep add DIR %s=%s'",
                       grid->name, there.axis, there.value, here.axis, here.value, here.axis,
                       here.value);
    for (int i = 0; i < other->n_axes; i++) {
        const wk_sweep_axis *from = &other->axes[i];
        wk_sweep_axis *axis = find_axis(grid, from->name);
        if (!axis || !axis->named) continue;
        for (size_t k = 0; k < from->values.count; k++) {
            const char *value = from->values.items[k];
            if (!has_value(axis, value, k)) WK_TRY(push_value(grid, axis, value, err));
        }
    }
    return check_size(grid, err);
}
