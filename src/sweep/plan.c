// The plan of a sweep: a task for each run of its grid, with its settings, shape and command lines.
#include "sweep/sweep.h"

#include "base/hash.h"
#include "run/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status no_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for the plan");
}

// Settings of a run: its blocks in order, then keys: presets, and axes of keys. Borrowed from the
// grid.
typedef struct settings {
    const char *blocks[WK_SWEEP_AXES_MAX];
    wk_setting keys[WK_SWEEP_TASK_KEYS_MAX];
    int n_blocks, n_keys;
} settings;

static bool satisfies(const wk_sweep_condition *condition, const int *values)
{
    for (int i = 0; i < condition->count; i++)
        if (values[condition->axis[i]] != condition->value[i]) return false;
    return true;
}

static void add_key(settings *out, int field, const char *value)
{
    const char *key = wk_run_keys[field];
    if (out->n_keys < WK_SWEEP_TASK_KEYS_MAX)
        out->keys[out->n_keys++] = (wk_setting){key, strlen(key), value};
}

static settings settings_of(const wk_sweep_grid *grid, const int *values)
{
    settings out = {.n_keys = 0};
    for (size_t i = 0; i < grid->presets.count; i++)
        if (satisfies(&grid->presets.items[i].when, values))
            add_key(&out, grid->presets.items[i].field, grid->presets.items[i].value);
    for (int i = 0; i < grid->n_axes; i++) {
        const char *value = grid->axes[i].values.items[values[i]];
        if (grid->axes[i].field < 0)
            out.blocks[out.n_blocks++] = value;
        else
            add_key(&out, grid->axes[i].field, value);
    }
    return out;
}

// The settings of the grid on top of the blocks; they come from its file.
static wk_status apply_keys(const wk_sweep_grid *grid, const settings *s, wk_merged_config *out,
                            wk_error *err)
{
    for (int i = 0; i < s->n_keys; i++) {
        int field = wk_run_field_find(s->keys[i].key, s->keys[i].key_length);
        WK_TRY(wk_run_config_set(&out->config, field, s->keys[i].value, err));
        out->origins[field] = (wk_origin){.file = grid->name, .block = "keys"};
    }
    return WK_OK;
}

wk_status wk_sweep_task_config(const wk_sweep_plan *plan, int task, wk_merged_config *out,
                               wk_error *err)
{
    const settings s = settings_of(plan->grid, plan->tasks.items[task].values);
    WK_TRY(wk_config_merge(plan->blocks, s.blocks, (size_t)s.n_blocks, NULL, 0, out, err));
    return apply_keys(plan->grid, &s, out, err);
}

// Shapes.

// Whether runs that differ in a field can still be trained as one population at the same cost:
// seeds, rates and what the curriculum does.
static bool shapes(int field)
{
    const wk_run_field *f = &wk_run_fields[field];
    if (field == WK_RUN_steps_INDEX || wk_run_field_shared(field)) return true;
    if (f->role == WK_RUN_FREE || f->kind == WK_RUN_NUMBER) return false;
    return field != WK_RUN_seed_INDEX && field != WK_RUN_prefill_INDEX &&
           strncmp(f->key, "curriculum.", 11) != 0;
}

static uint64_t shape_key(const wk_run_config *config)
{
    wk_text text = {0};
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (!shapes(i)) continue;
        wk_run_config_get(config, i, &text);
        wk_text_puts(&text, "\n");
    }
    uint64_t key = wk_fnv1a(WK_FNV1A_START, wk_text_get(&text), text.length);
    wk_text_free(&text);
    return key;
}

// Finds the shape of a configuration, or adds it: "clean-up", "clean-up-2".
static wk_status find_shape(wk_sweep_plan *plan, const wk_run_config *config, int *out,
                            wk_error *err)
{
    wk_sweep_shape shape = {
        .config = *config, .first = (int)plan->tasks.count, .key = shape_key(config)};
    int same = 0; // shapes of the same domain
    for (*out = 0; *out < (int)plan->shapes.count; ++*out) {
        const wk_sweep_shape *other = &plan->shapes.items[*out];
        if (other->key == shape.key) break;
        same += strcmp(other->config.domain, config->domain) == 0;
    }
    if (*out == WK_SWEEP_SHAPES_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "more than %d shapes (networks, environments and lengths that differ); make "
                       "several sweeps of them",
                       WK_SWEEP_SHAPES_MAX);
    if (*out == (int)plan->shapes.count) {
        wk_text base = {0};
        char name[WK_EACH_NAME_MAX];
        wk_run_name_add(-1, config->domain, &base);
        wk_run_name_finish(&base, name);
        wk_text_free(&base);
        int length = snprintf(shape.name, sizeof shape.name, "%.48s", name);
        if (same > 0)
            snprintf(shape.name + length, sizeof shape.name - (size_t)length, "-%d", same + 1);
        if (!wk_array_push(&plan->shapes, shape)) return no_memory(err);
    }
    plan->shapes.items[*out].count++;
    return WK_OK;
}

// Tasks.

// What only the domain knows. That of a plug-in is checked when the run begins: planning loads no
// code.
static wk_status check_config(const wk_run_config *config, wk_error *err)
{
    wk_run_world world;
    if (*config->plugin || *config->curriculum_plugin) return WK_OK;
    WK_TRY(wk_run_world_open(config, NULL, NULL, &world, err));
    return wk_run_config_check(config, world.domain, err);
}

// The blocks of the last combination, merged: neighbours mostly have the same.
typedef struct merged_blocks {
    const char *blocks[WK_SWEEP_AXES_MAX];
    wk_merged_config merged;
    bool valid;
} merged_blocks;

// The configuration of a combination: the blocks, then the keys.
static wk_status merge(wk_sweep_plan *plan, const int *values, merged_blocks *last,
                       wk_merged_config *out, wk_error *err)
{
    const settings s = settings_of(plan->grid, values);
    size_t size = (size_t)s.n_blocks * sizeof *s.blocks;
    if (s.n_keys == WK_SWEEP_TASK_KEYS_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d settings", WK_SWEEP_TASK_KEYS_MAX - 1);
    if (!last->valid || memcmp(last->blocks, s.blocks, size) != 0) {
        last->valid = false;
        WK_TRY(wk_config_merge(plan->blocks, s.blocks, (size_t)s.n_blocks, NULL, 0, &last->merged,
                               err));
        memcpy(last->blocks, s.blocks, size);
        last->valid = true;
    }
    *out = last->merged;
    return apply_keys(plan->grid, &s, out, err);
}

static wk_status add_task(wk_sweep_plan *plan, const int *values, merged_blocks *last,
                          const char *name, wk_error *err)
{
    static _Thread_local wk_merged_config merged;
    const wk_run_config *config = &merged.config;
    WK_TRY(merge(plan, values, last, &merged, err));
    WK_TRY(check_config(config, err));
    if (strcmp(name, WK_SWEEP_FOLDER) == 0 || strcmp(name, WK_SWEEP_REPORT) == 0)
        return wk_fail(err, WK_E_INPUT, "the sweep itself has a directory called '%s'", name);
    int64_t learning = config->steps > config->prefill ? config->steps - config->prefill : 0;
    wk_sweep_task task = {.name = wk_arena_string(&plan->arena, name),
                          .steps = (uint64_t)config->steps,
                          .updates = (uint64_t)(learning / config->train_every),
                          .evaluates = config->eval_every > 0,
                          .hash = wk_run_config_hash(config)};
    memcpy(task.values, values, sizeof task.values);
    WK_TRY(find_shape(plan, config, &task.shape, err));
    return task.name && wk_array_push(&plan->tasks, task) ? WK_OK : no_memory(err);
}

static wk_status add_combination(wk_sweep_plan *plan, const int *values, merged_blocks *last,
                                 wk_error *err)
{
    const wk_sweep_grid *grid = plan->grid;
    char name[WK_EACH_NAME_MAX];
    wk_text text = {0};
    for (int i = 0; i < grid->n_axes; i++)
        if (grid->axes[i].named)
            wk_run_name_add(grid->axes[i].field, grid->axes[i].values.items[values[i]], &text);
    if (text.length == 0) wk_text_puts(&text, "run");
    wk_run_name_finish(&text, name);
    wk_text_free(&text);
    wk_status status = add_task(plan, values, last, name, err);
    if (status != WK_OK) wk_fail_context(err, "%s: run %s", grid->name, name);
    return status;
}

static bool is_excluded(const wk_sweep_grid *grid, const int *values)
{
    for (size_t i = 0; i < grid->excludes.count; i++)
        if (satisfies(&grid->excludes.items[i], values)) return true;
    return false;
}

// The combination after this one; false after the last.
static bool next_values(const wk_sweep_grid *grid, int *values)
{
    for (int i = grid->n_axes - 1; i >= 0; i--) {
        if (++values[i] < (int)grid->axes[i].values.count) return true;
        values[i] = 0;
    }
    return false;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const wk_sweep_task *const *)a)->name,
                  (*(const wk_sweep_task *const *)b)->name);
}

static wk_status make_tasks(wk_sweep_plan *plan, wk_error *err)
{
    int values[WK_SWEEP_AXES_MAX] = {0};
    wk_status status = WK_OK;
    merged_blocks *last = calloc(1, sizeof *last);
    if (!last) return no_memory(err);
    do
        if (!is_excluded(plan->grid, values)) status = add_combination(plan, values, last, err);
    while (status == WK_OK && next_values(plan->grid, values));
    free(last);
    WK_TRY(status);
    size_t count = plan->selected = plan->tasks.count;
    if (count == 0)
        return wk_fail(err, WK_E_INPUT, "%s: 'exclude' leaves no run", plan->grid->name);
    // No two runs may be given the same directory.
    plan->by_name = wk_arena_alloc(&plan->arena, count * sizeof *plan->by_name);
    if (!plan->by_name) return no_memory(err);
    for (size_t i = 0; i < count; i++)
        plan->by_name[i] = &plan->tasks.items[i];
    qsort(plan->by_name, count, sizeof *plan->by_name, compare_names);
    for (size_t i = 1; i < count; i++)
        if (strcmp(plan->by_name[i - 1]->name, plan->by_name[i]->name) == 0)
            return wk_fail(err, WK_E_INPUT, "%s: two runs would both be called '%s'",
                           plan->grid->name, plan->by_name[i]->name);
    return WK_OK;
}

// Opens the blocks; those that do not exist, or do not fit, are reported with their line.
static wk_status open_blocks(wk_sweep_plan *plan, wk_error *err)
{
    static _Thread_local wk_merged_config scratch;
    const wk_sweep_grid *grid = plan->grid;
    WK_TRY(wk_config_blocks_create(&plan->blocks, err));
    WK_TRY(wk_config_blocks_add_embedded(plan->blocks, err));
    for (int i = 0; i < grid->n_files; i++)
        WK_TRY(wk_config_blocks_add_file(plan->blocks, grid->files[i], err));
    WK_TRY(wk_config_merge_defaults(plan->blocks, &scratch, err));
    for (int i = 0; i < grid->n_axes; i++) {
        const wk_sweep_axis *axis = &grid->axes[i];
        for (size_t k = 0; axis->field < 0 && k < axis->values.count; k++) {
            wk_status status =
                wk_config_merge_block(plan->blocks, axis->values.items[k], &scratch, err);
            if (status != WK_OK) {
                wk_fail_context(err, "%s:%d", grid->name, axis->line);
                return status;
            }
        }
    }
    return WK_OK;
}

wk_status wk_sweep_plan_create(const wk_sweep_grid *grid, const char *directory, wk_sweep_plan *out,
                               wk_error *err)
{
    *out = (wk_sweep_plan){.grid = grid, .directory = directory};
    wk_status status = open_blocks(out, err);
    if (status == WK_OK) status = make_tasks(out, err);
    if (status != WK_OK) wk_sweep_plan_free(out);
    return status;
}

void wk_sweep_plan_free(wk_sweep_plan *plan)
{
    wk_config_blocks_destroy(plan->blocks);
    wk_array_free(&plan->tasks);
    wk_array_free(&plan->shapes);
    wk_arena_reset(&plan->arena);
    *plan = (wk_sweep_plan){0};
}

int wk_sweep_plan_find(const wk_sweep_plan *plan, const char *name)
{
    const wk_sweep_task wanted = {.name = name}, *key = &wanted;
    const wk_sweep_task **found =
        bsearch(&key, plan->by_name, plan->tasks.count, sizeof *plan->by_name, compare_names);
    return found ? (int)(*found - plan->tasks.items) : -1;
}

// Whether a task of `part` is in `whole` with the same settings.
static wk_status check_same(const wk_sweep_plan *whole, const wk_sweep_plan *part, int task,
                            int *resized, wk_error *err)
{
    static _Thread_local wk_merged_config was, is;
    const wk_sweep_task *old = &part->tasks.items[task];
    int found = wk_sweep_plan_find(whole, old->name);
    if (found < 0)
        return wk_fail(err, WK_E_INPUT, "the run '%s' is not in %s", old->name, whole->grid->name);
    *resized += whole->tasks.items[found].steps != old->steps;
    if (whole->tasks.items[found].hash == old->hash) return WK_OK;
    wk_status status = wk_sweep_task_config(part, task, &was, err);
    if (status == WK_OK) status = wk_sweep_task_config(whole, found, &is, err);
    if (status == WK_OK) status = wk_run_config_resumable(&was.config, &is.config, err);
    if (status == WK_OK) status = wk_fail(err, WK_E_INPUT, "its blocks differ");
    wk_fail_context(err, "the run '%s' has other settings in %s", old->name, whole->grid->name);
    return status;
}

wk_status wk_sweep_plan_contains(const wk_sweep_plan *whole, const wk_sweep_plan *part,
                                 int *resized, wk_error *err)
{
    *resized = 0;
    for (size_t i = 0; i < part->tasks.count; i++)
        WK_TRY(check_same(whole, part, (int)i, resized, err));
    return WK_OK;
}

// --only: the part of the tasks that have one of the values named for each axis.

typedef struct selection {
    const wk_sweep_grid *grid;
    int axis;                        // that is being read
    bool *wanted[WK_SWEEP_AXES_MAX]; // [values]; NULL: none is named
} selection;

static wk_status want_value(void *context, const char *value, wk_error *err)
{
    selection *s = context;
    const wk_sweep_axis *axis = &s->grid->axes[s->axis];
    wk_text known = {0};
    for (size_t i = 0; i < axis->values.count; i++) {
        if (strcmp(axis->values.items[i], value) == 0) {
            wk_text_free(&known);
            return s->wanted[s->axis][i] = true, WK_OK;
        }
        if (known.length < 200)
            wk_text_printf(&known, "%s%s", i ? ", " : "", axis->values.items[i]);
    }
    wk_status status =
        wk_fail(err, WK_E_NOT_FOUND, "the axis '%s' has no value '%s', but %s%s", axis->name, value,
                wk_text_get(&known), known.length < 200 ? "" : ", ...");
    wk_text_free(&known);
    return status;
}

// AXIS=VALUE|VALUE.
static wk_status read_axis(selection *s, char *text, wk_error *err)
{
    const char *name = strsep(&text, "=");
    if (!text) return wk_fail(err, WK_E_INPUT, "write AXIS=VALUE, not '%s'", name);
    WK_TRY(wk_sweep_grid_axis(s->grid, name, &s->axis, err));
    const wk_sweep_axis *axis = &s->grid->axes[s->axis];
    if (!s->wanted[s->axis]) s->wanted[s->axis] = calloc(axis->values.count, sizeof(bool));
    if (!s->wanted[s->axis]) return no_memory(err);
    for (char *value; (value = strsep(&text, "|"));)
        WK_TRY(axis->field < 0
                   ? want_value(s, value, err)
                   : wk_run_values_read(axis->field, value, WK_SWEEP_RUNS_MAX, want_value, s, err));
    return WK_OK;
}

// AXIS=VALUE,AXIS=VALUE. A comma without an axis after it belongs to the value before.
static wk_status read_only(selection *s, const char *text, wk_error *err)
{
    char *copy = strdup(text), *next = copy;
    if (!copy) return no_memory(err);
    wk_status status = WK_OK;
    while (status == WK_OK && next) {
        char *part = next;
        next = strchr(part, ',');
        while (next && next[1 + strcspn(next + 1, ",=")] != '=')
            next = strchr(next + 1, ',');
        if (next) *next++ = 0;
        status = read_axis(s, part, err);
    }
    free(copy);
    if (status != WK_OK) wk_fail_context(err, "--only %.80s", text);
    return status;
}

wk_status wk_sweep_plan_select(wk_sweep_plan *plan, const char *const *only, int count,
                               wk_error *err)
{
    selection s = {.grid = plan->grid};
    wk_status status = WK_OK;
    for (int i = 0; i < count && status == WK_OK; i++)
        status = read_only(&s, only[i], err);
    for (size_t i = 0; i < plan->tasks.count && status == WK_OK; i++) {
        wk_sweep_task *task = &plan->tasks.items[i];
        bool wanted = true;
        for (int k = 0; k < plan->grid->n_axes; k++)
            if (s.wanted[k] && !s.wanted[k][task->values[k]]) wanted = false;
        if (task->left_out || wanted) continue;
        task->left_out = true;
        plan->selected--;
        plan->shapes.items[task->shape].count--;
    }
    for (int i = 0; i < WK_SWEEP_AXES_MAX; i++)
        free(s.wanted[i]);
    if (status == WK_OK && plan->selected == 0)
        return wk_fail(err, WK_E_INPUT, "--only leaves no run: the grid excludes all of these");
    return status;
}

// Command lines.

wk_status wk_sweep_task_path(const wk_sweep_plan *plan, int task, char out[WK_PATH_MAX],
                             wk_error *err)
{
    return wk_path_join(plan->directory, plan->tasks.items[task].name, out, err);
}

void wk_sweep_words_add(wk_sweep_words *words, const char *word)
{
    const char *copy = wk_arena_string(&words->arena, word);
    if (!copy || !wk_array_push(&words->items, copy)) words->failed = true;
}

void wk_sweep_words_free(wk_sweep_words *words)
{
    wk_array_free(&words->items);
    wk_arena_reset(&words->arena);
    *words = (wk_sweep_words){0};
}

void wk_sweep_words_print(const wk_sweep_words *words, const char *program, wk_text *out)
{
    if (program) wk_text_shell_quote(out, program);
    for (size_t i = 0; i < words->items.count; i++) {
        if (i > 0 || program) wk_text_puts(out, " ");
        wk_text_shell_quote(out, words->items.items[i]);
    }
    out->failed |= words->failed;
}

static void add_all(wk_sweep_words *out, const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        wk_sweep_words_add(out, words[i]);
}

static void add_path(const wk_sweep_plan *plan, const char *name, wk_sweep_words *out)
{
    char path[WK_PATH_MAX];
    out->failed |= wk_path_join(plan->directory, name, path, NULL) != WK_OK;
    wk_sweep_words_add(out, path);
}

void wk_sweep_train_words(const wk_sweep_plan *plan, int task, wk_sweep_words *out)
{
    const settings s = settings_of(plan->grid, plan->tasks.items[task].values);
    add_all(out, (const char *const[]){"train", "--logdir"}, 2);
    add_path(plan, plan->tasks.items[task].name, out);
    for (int i = 0; i < plan->grid->n_files; i++)
        add_all(out, (const char *const[]){"--config-file", plan->grid->files[i]}, 2);
    wk_sweep_words_add(out, "--configs");
    add_all(out, s.blocks, s.n_blocks);
    for (int i = 0; i < s.n_keys; i++) {
        // One word: a value that looks like an option is a value all the same.
        wk_text word = {0};
        wk_text_printf(&word, "--%.*s=%s", (int)s.keys[i].key_length, s.keys[i].key,
                       s.keys[i].value);
        wk_sweep_words_add(out, wk_text_get(&word));
        out->failed |= word.failed;
        wk_text_free(&word);
    }
}

// Code that the command line names is named again: nothing in the sweep's directory can do it.
static void add_code(const char *option, const char *file, wk_sweep_words *out)
{
    if (file) add_all(out, (const char *const[]){option, file}, 2);
}

void wk_sweep_follow_words(const wk_sweep_plan *plan, int task, wk_sweep_follow_kind follow,
                           wk_sweep_words *out)
{
    const wk_sweep_command *command = &plan->grid->follow[follow];
    wk_sweep_words_add(out, wk_sweep_follow_names[follow]);
    add_path(plan, plan->tasks.items[task].name, out);
    add_all(out, command->options, command->count);
    // Commands refuse it for a run whose domain is built in. Runs of one shape have one domain.
    const wk_sweep_shape *shape = &plan->shapes.items[plan->tasks.items[task].shape];
    if (follow != WK_SWEEP_ADAPT && *shape->config.plugin) add_code("--plugin", plan->plugin, out);
}

void wk_sweep_task_words(const wk_sweep_plan *plan, const int *tasks, int count,
                         wk_sweep_words *out)
{
    add_all(out, (const char *const[]){"sweep", "run", plan->directory}, 3);
    for (int i = 0; i < count; i++)
        wk_sweep_words_add(out, plan->tasks.items[tasks[i]].name);
    add_code("--plugin", plan->plugin, out);
    add_code("--curriculum.plugin", plan->rule, out);
}

void wk_sweep_report_words(const wk_sweep_plan *plan, wk_sweep_words *out)
{
    add_all(out, (const char *const[]){"report", plan->directory, "--out"}, 3);
    add_path(plan, WK_SWEEP_REPORT, out);
    add_all(out, plan->grid->report.options, plan->grid->report.count);
}
