// A grid file: which runs a sweep has. YAML, read by the reader of configurations:
//
//   blocks:                  # axes whose values are blocks of settings, applied in this order
//     domain: [terrain-walker, clean-up]
//     curriculum: [waker-m, dr]
//     size: paper            # one value without brackets is the same in all runs
//   keys:                    # axes whose values are those of a key, set after the blocks
//     seed: 0..4
//     curriculum.temperature: [0.5, 1]
//   with:                    # settings of runs that have all of these values
//     clean-up waker-m: {steps: 2.5e6}
//   exclude: [terrain-walker dr, clean-up seed=3]
//   files: [my-blocks.yaml]  # with more blocks, beside the grid
//   then:                    # commands that follow a run, with their options
//     adapt: --task all
//     eval: ""
//   report: --by curriculum.temperature
//
// The file may come from anywhere: its size, the number of runs and all texts are bounded, and
// errors name file and line.
#include "sweep/sweep.h"

#include "base/file.h"
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

static wk_status no_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for the grid");
}

// A copy that lives as long as the grid. After a failure `failed` is set and the copy is empty.
static char *keep(wk_sweep_grid *grid, const char *text)
{
    static char empty[1];
    char *copy = wk_arena_string(&grid->arena, text);
    if (!copy) grid->failed = true;
    return copy ? copy : empty;
}

// Axes.

static int find_axis(const wk_sweep_grid *grid, const char *name)
{
    for (int i = 0; i < grid->n_axes; i++)
        if (strcmp(grid->axes[i].name, name) == 0) return i;
    return -1;
}

wk_status wk_sweep_grid_axis(const wk_sweep_grid *grid, const char *name, int *out, wk_error *err)
{
    const char *names[WK_SWEEP_AXES_MAX];
    *out = find_axis(grid, name);
    if (*out >= 0) return WK_OK;
    for (int i = 0; i < grid->n_axes; i++)
        names[i] = grid->axes[i].name;
    return wk_fail_unknown(err, "axis of the grid", name, names, (size_t)grid->n_axes);
}

static int find_value(const wk_sweep_axis *axis, const char *text)
{
    for (size_t i = 0; i < axis->values.count; i++)
        if (strcmp(axis->values.items[i], text) == 0) return (int)i;
    return -1;
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

// Where wk_run_values_read puts values.
typedef struct axis_sink {
    wk_sweep_grid *grid;
    wk_sweep_axis *axis;
} axis_sink;

static wk_status push_value(void *context, const char *value, wk_error *err)
{
    const axis_sink *sink = context;
    if (sink->axis->values.count == WK_SWEEP_RUNS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d values", WK_SWEEP_RUNS_MAX);
    const char *copy = keep(sink->grid, value);
    return !sink->grid->failed && wk_array_push(&sink->axis->values, copy) ? WK_OK : no_memory(err);
}

// Adds one item of an axis: the name of a block, or a value or range of values of a key.
static wk_status add_item(wk_sweep_grid *grid, wk_sweep_axis *axis, const char *text, wk_error *err)
{
    axis_sink sink = {grid, axis};
    if (axis->field < 0) WK_TRY(check_name("a block", text, err));
    if (strlen(text) >= WK_RUN_TEXT_MAX)
        return wk_fail(err, WK_E_INPUT, "'%.40s...' is longer than %d bytes", text,
                       WK_RUN_TEXT_MAX - 1);
    if (axis->field < 0) return push_value(&sink, text, err);
    return wk_run_values_read(axis->field, text, WK_SWEEP_RUNS_MAX, push_value, &sink, err);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// An axis that is complete: it has values, each once, and the grid has not too many runs.
static wk_status check_axis(const wk_sweep_grid *grid, const wk_sweep_axis *axis, wk_error *err)
{
    size_t count = axis->values.count;
    uint64_t runs = wk_sweep_grid_combinations(grid);
    if (count == 0) return wk_fail(err, WK_E_INPUT, "%s has no values", axis->name);
    const char **sorted = malloc(count * sizeof *sorted);
    if (!sorted) return no_memory(err);
    memcpy(sorted, axis->values.items, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_texts);
    wk_status status = WK_OK;
    for (size_t i = 1; status == WK_OK && i < count; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            status = wk_fail(err, WK_E_INPUT, "%s has the value '%s' twice", axis->name, sorted[i]);
    free(sorted);
    if (status != WK_OK || runs <= WK_SWEEP_RUNS_MAX) return status;
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
    if (find_axis(grid, name) >= 0)
        return wk_fail(err, WK_E_INPUT, "the axis '%s' occurs twice", name);
    wk_sweep_axis *axis = &grid->axes[grid->n_axes++];
    *axis = (wk_sweep_axis){.name = keep(grid, name), .field = field, .line = value->line};
    for (size_t i = 0; i < value->n_items; i++)
        WK_TRY(add_item(grid, axis, value->items[i], err));
    // Seeds are added later; that must not change the names of the runs that are there.
    axis->named = value->is_list || axis->values.count > 1 || field == WK_RUN_seed_INDEX;
    return check_axis(grid, axis, err);
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

// Conditions.

static wk_status take_canonical(void *context, const char *value, wk_error *err)
{
    (void)err;
    snprintf(context, WK_RUN_TEXT_MAX, "%s", value);
    return WK_OK;
}

// A word of a condition: a value of an axis of blocks, or KEY=VALUE in the form that the axis has.
static wk_status find_word(wk_sweep_grid *grid, char *word, int *axis, int *value, wk_error *err)
{
    char text[WK_RUN_TEXT_MAX];
    char *setting = strchr(word, '=');
    if (!setting) {
        for (*axis = 0; *axis < grid->n_axes && grid->axes[*axis].field < 0; ++*axis)
            if ((*value = find_value(&grid->axes[*axis], word)) >= 0) return WK_OK;
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is not a value of an axis of blocks; for a key write KEY=VALUE, as in "
                       "seed=3",
                       word);
    }
    *setting++ = 0;
    *axis = find_axis(grid, word);
    if (*axis < 0) return wk_fail(err, WK_E_INPUT, "no axis is called '%s'", word);
    const wk_sweep_axis *found = &grid->axes[*axis];
    snprintf(text, sizeof text, "%s", setting);
    if (found->field >= 0)
        WK_TRY(wk_run_values_read(found->field, setting, 1, take_canonical, text, err));
    *value = find_value(found, text);
    if (*value >= 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "the axis '%s' has no value '%s'", word, text);
}

static wk_status read_condition(wk_sweep_grid *grid, const char *text, wk_sweep_condition *out,
                                wk_error *err)
{
    *out = (wk_sweep_condition){.text = keep(grid, text)};
    char *rest = keep(grid, text);
    for (char *word; (word = strtok_r(rest, " \t", &rest)); out->count++) {
        if (out->count == WK_SWEEP_WORDS_MAX)
            return wk_fail(err, WK_E_INPUT, "more than %d words", WK_SWEEP_WORDS_MAX);
        WK_TRY(find_word(grid, word, &out->axis[out->count], &out->value[out->count], err));
    }
    if (grid->failed) return no_memory(err);
    if (out->count > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "it does not say which runs it applies to");
}

static wk_status read_with(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                           wk_error *err)
{
    wk_sweep_preset preset;
    wk_run_config scratch = wk_run_config_default();
    // The key follows the condition: wk_yaml escapes the point where a part has characters that no
    // key has.
    char *condition = keep(grid, rest), *escaped = strstr(condition, "\\.");
    char *key = escaped ? escaped : strchr(condition, '.');
    if (!key) return wk_fail(err, WK_E_INPUT, "'%s' needs keys under it", condition);
    *key = 0;
    key += escaped ? 2 : 1;
    preset.field = wk_run_field_find(key, strlen(key));
    if (preset.field < 0) return wk_run_field_unknown(key, err);
    if (value->is_list && wk_run_fields[preset.field].kind != WK_RUN_LIST)
        return wk_fail(err, WK_E_INPUT, "%s: expected one value, not a list", key);
    if (find_axis(grid, key) >= 0)
        return wk_fail(err, WK_E_INPUT, "%s is an axis; its values are set after all others", key);
    WK_TRY(wk_run_config_set(&scratch, preset.field, value->text, err));
    WK_TRY(read_condition(grid, condition, &preset.when, err));
    preset.value = keep(grid, value->text);
    if (grid->presets.count == CONDITIONS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d settings", CONDITIONS_MAX);
    return wk_array_push(&grid->presets, preset) ? WK_OK : no_memory(err);
}

static wk_status read_exclude(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                              wk_error *err)
{
    wk_sweep_condition condition;
    (void)rest;
    for (size_t i = 0; i < value->n_items; i++) {
        if (grid->excludes.count == CONDITIONS_MAX)
            return wk_fail(err, WK_E_INPUT, "more than %d exclusions", CONDITIONS_MAX);
        WK_TRY(read_condition(grid, value->items[i], &condition, err));
        if (!wk_array_push(&grid->excludes, condition)) return no_memory(err);
    }
    return WK_OK;
}

// Commands and files.

// Options as one text with blanks between them, or as a list.
static wk_status read_command(wk_sweep_grid *grid, wk_sweep_command *command,
                              const wk_yaml_value *value, wk_error *err)
{
    *command = (wk_sweep_command){.present = true, .line = value->line};
    char *rest = value->is_list ? NULL : keep(grid, value->text);
    for (size_t i = 0;; i++) {
        const char *word = !value->is_list      ? strtok_r(rest, " \t\n", &rest)
                           : i < value->n_items ? keep(grid, value->items[i])
                                                : NULL;
        if (!word) return WK_OK;
        if (i == WK_SWEEP_WORDS_MAX)
            return wk_fail(err, WK_E_INPUT, "more than %d words", WK_SWEEP_WORDS_MAX);
        command->options[command->count++] = word;
    }
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

// Paths that are not absolute begin where the grid lies; they are kept absolute, because the
// sweep's copy of the grid lies elsewhere.
static wk_status read_files(wk_sweep_grid *grid, const char *rest, const wk_yaml_value *value,
                            wk_error *err)
{
    const char *slash = strrchr(grid->name, '/');
    (void)rest;
    for (size_t i = 0; i < value->n_items; i++) {
        const char *path = value->items[i];
        char full[WK_PATH_MAX];
        int folder = slash && *path != '/' ? (int)(slash + 1 - grid->name) : 0;
        if (grid->n_files == WK_SWEEP_FILES_MAX)
            return wk_fail(err, WK_E_INPUT, "more than %d files", WK_SWEEP_FILES_MAX);
        if (snprintf(full, sizeof full, "%.*s%s", folder, grid->name, path) >= (int)sizeof full)
            return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", path);
        char *real = realpath(full, NULL);
        if (!real) return wk_file_error(err, "cannot read", full);
        grid->files[grid->n_files++] = keep(grid, real);
        free(real);
    }
    return WK_OK;
}

// The file.

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

static wk_status read_grid(wk_sweep_grid *grid, const wk_yaml *yaml, wk_error *err)
{
    for (int part = 0; part < PARTS; part++)
        for (size_t i = 0; i < yaml->values.count; i++) {
            const wk_yaml_value *value = &yaml->values.items[i];
            const char *rest;
            int found;
            wk_status status = find_part(value->key, &found, &rest, err);
            if (status == WK_OK && found == part) status = parts[part].read(grid, rest, value, err);
            if (status == WK_OK && grid->failed) status = no_memory(err);
            if (status != WK_OK) wk_fail_context(err, "%s:%d", grid->name, value->line);
            WK_TRY(status);
        }
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
    *out = (wk_sweep_grid){0};
    WK_TRY(wk_yaml_parse(name, bytes, size, false, &yaml, err));
    out->name = keep(out, name);
    wk_status status = out->failed ? no_memory(err) : read_grid(out, &yaml, err);
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

wk_status wk_sweep_grid_open(const char *path, wk_sweep_grid *out, wk_error *err)
{
    char *bytes, built_in[128];
    size_t size, count = 0;
    *out = (wk_sweep_grid){0};
    snprintf(built_in, sizeof built_in, "sweeps/%.100s.yaml", path);
    for (const wk_asset *asset = wk_assets; asset->name; asset++)
        if (strcmp(asset->name, built_in) == 0)
            return wk_sweep_grid_parse(asset->name, asset->content, asset->size, out, err);
    wk_status status = wk_file_read(path, FILE_LIMIT, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND && !strchr(path, '/') && !strchr(path, '.')) {
        const char *names[EMBEDDED_MAX];
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

wk_status wk_sweep_grid_add(wk_sweep_grid *grid, const char *text, wk_error *err)
{
    char *name = keep(grid, text), *values = strchr(name, '=');
    int found = 0;
    wk_status status = WK_OK;
    if (grid->failed)
        status = no_memory(err);
    else if (!values)
        status = wk_fail(err, WK_E_INPUT, "write AXIS=VALUE,VALUE or AXIS=5..9");
    else {
        *values++ = 0;
        status = wk_sweep_grid_axis(grid, name, &found, err);
    }
    wk_sweep_axis *axis = status == WK_OK ? &grid->axes[found] : NULL;
    if (axis && !axis->named)
        status =
            wk_fail(err, WK_E_INPUT,
                    "%s is the same in all runs, so it is not in their names; write it as a list "
                    "in a new grid for another directory",
                    axis->name);
    for (char *item; status == WK_OK && (item = strsep(&values, ","));)
        status = add_item(grid, axis, item, err);
    if (status == WK_OK) status = check_axis(grid, axis, err);
    if (status != WK_OK) wk_fail_context(err, "%.80s", text);
    return status;
}

// Printing.

// A list in brackets, or its only value without.
static void print_list(const char *const *items, size_t count, bool brackets, wk_text *out)
{
    if (brackets) wk_text_puts(out, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) wk_text_puts(out, ", ");
        wk_text_quote(out, items[i]);
    }
    wk_text_puts(out, brackets ? "]\n" : "\n");
}

static void print_item(const char *item, wk_text *out)
{
    wk_text_puts(out, "  - ");
    wk_text_quote(out, item);
    wk_text_puts(out, "\n");
}

void wk_sweep_grid_print(const wk_sweep_grid *grid, wk_text *out)
{
    const char *part = "blocks:\n"; // still to be printed; NULL: it was
    if (grid->n_files > 0) wk_text_puts(out, "files:\n");
    for (int i = 0; i < grid->n_files; i++)
        print_item(grid->files[i], out);
    for (int i = 0; i < grid->n_axes; i++) {
        const wk_sweep_axis *axis = &grid->axes[i];
        if (i > 0 && axis->field >= 0 && axis[-1].field < 0) part = "keys:\n";
        if (part) wk_text_puts(out, part);
        part = NULL;
        wk_text_puts(out, "  ");
        wk_text_quote(out, axis->name);
        wk_text_puts(out, ": ");
        print_list(axis->values.items, axis->values.count, axis->named, out);
    }
    if (grid->presets.count > 0) wk_text_puts(out, "with:\n");
    for (size_t i = 0; i < grid->presets.count; i++) {
        const wk_sweep_preset *preset = &grid->presets.items[i];
        wk_text_puts(out, "  ");
        wk_text_quote(out, preset->when.text);
        wk_text_puts(out, ": {");
        wk_text_quote(out, wk_run_keys[preset->field]);
        wk_text_puts(out, ": ");
        wk_text_quote(out, preset->value);
        wk_text_puts(out, "}\n");
    }
    if (grid->excludes.count > 0) wk_text_puts(out, "exclude:\n");
    for (size_t i = 0; i < grid->excludes.count; i++)
        print_item(grid->excludes.items[i].text, out);
    part = "then:\n";
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++) {
        if (!grid->follow[i].present) continue;
        wk_text_printf(out, "%s  %s: ", part, wk_sweep_follow_names[i]);
        part = "";
        print_list(grid->follow[i].options, (size_t)grid->follow[i].count, true, out);
    }
    if (!grid->report.present) return;
    wk_text_puts(out, "report: ");
    print_list(grid->report.options, (size_t)grid->report.count, true, out);
}
