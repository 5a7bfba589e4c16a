#include "sweep/plan.h"

#include "base/sha256.h"
#include "run/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status no_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for the plan");
}

static bool satisfies(const wk_sweep_condition *condition, const int *values)
{
    for (int i = 0; i < condition->count; i++)
        if (values[condition->axis[i]] != condition->value[i]) return false;
    return true;
}

static bool is_excluded(const wk_sweep_grid *grid, const int *values)
{
    for (size_t i = 0; i < grid->excludes.count; i++)
        if (satisfies(&grid->excludes.items[i], values)) return true;
    return false;
}

static const char *value_of(const wk_sweep_grid *grid, const int *values, int axis)
{
    return grid->axes[axis].values.items[values[axis]];
}

static void add_key(wk_sweep_settings *out, int field, const char *value)
{
    const char *key = wk_run_keys[field];
    if (out->n_keys < WK_SWEEP_TASK_KEYS_MAX)
        out->keys[out->n_keys++] = (wk_setting){key, strlen(key), value};
}

static wk_sweep_settings settings_of(const wk_sweep_grid *grid, const int *values)
{
    wk_sweep_settings out = {.n_keys = 0};
    for (size_t i = 0; i < grid->presets.count; i++)
        if (satisfies(&grid->presets.items[i].when, values))
            add_key(&out, grid->presets.items[i].field, grid->presets.items[i].value);
    for (int i = 0; i < grid->n_axes; i++) {
        const char *value = value_of(grid, values, i);
        if (grid->axes[i].field < 0)
            out.blocks[out.n_blocks++] = value;
        else
            add_key(&out, grid->axes[i].field, value);
    }
    return out;
}

wk_sweep_settings wk_sweep_task_settings(const wk_sweep_plan *plan, int task)
{
    return settings_of(plan->grid, plan->tasks.items[task].values);
}

// The settings of the grid on top of the blocks; they come from its file.
static wk_status apply_keys(const wk_sweep_grid *grid, const wk_sweep_settings *settings,
                            wk_merged_config *out, wk_error *err)
{
    for (int i = 0; i < settings->n_keys; i++) {
        const wk_setting *key = &settings->keys[i];
        int field = wk_run_field_find(key->key, key->key_length);
        WK_TRY(wk_run_config_set(&out->config, field, key->value, err));
        out->origins[field] = (wk_origin){.file = grid->name, .block = "keys"};
    }
    return WK_OK;
}

static wk_status merge_blocks(const wk_sweep_plan *plan, const wk_sweep_settings *settings,
                              wk_merged_config *out, wk_error *err)
{
    return wk_config_merge(plan->blocks, settings->blocks, (size_t)settings->n_blocks, NULL, 0, out,
                           err);
}

wk_status wk_sweep_task_config(const wk_sweep_plan *plan, int task, wk_merged_config *out,
                               wk_error *err)
{
    const wk_sweep_settings settings = wk_sweep_task_settings(plan, task);
    WK_TRY(merge_blocks(plan, &settings, out, err));
    return apply_keys(plan->grid, &settings, out, err);
}

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
    char digits[WK_SHA256_CHARS];
    wk_sha256 hash = wk_sha256_start();
    wk_sha256_add(&hash, wk_text_get(&text), text.length);
    wk_sha256_finish(&hash, digits);
    wk_text_free(&text);
    digits[16] = 0;
    return strtoull(digits, NULL, 16);
}

static void name_shape(const wk_sweep_plan *plan, wk_sweep_shape *shape)
{
    wk_text base = {0};
    char name[WK_EACH_NAME_MAX];
    int same = 0;
    wk_run_name_add(-1, shape->config.domain, &base);
    wk_run_name_finish(&base, name);
    wk_text_free(&base);
    for (size_t i = 0; i < plan->shapes.count; i++)
        same += strcmp(plan->shapes.items[i].config.domain, shape->config.domain) == 0;
    if (same == 0)
        snprintf(shape->name, sizeof shape->name, "%.48s", name);
    else
        snprintf(shape->name, sizeof shape->name, "%.48s-%d", name, same + 1);
}

static wk_status find_shape(wk_sweep_plan *plan, const wk_run_config *config, int *out,
                            wk_error *err)
{
    uint64_t key = shape_key(config);
    for (*out = 0; *out < (int)plan->shapes.count; ++*out)
        if (plan->shapes.items[*out].key == key) break;
    if (*out == WK_SWEEP_SHAPES_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "more than %d shapes (networks, environments and lengths that differ); make "
                       "several sweeps of them",
                       WK_SWEEP_SHAPES_MAX);
    if (*out == (int)plan->shapes.count) {
        wk_sweep_shape shape = {.config = *config, .first = (int)plan->tasks.count, .key = key};
        name_shape(plan, &shape);
        if (!wk_array_push(&plan->shapes, shape)) return no_memory(err);
    }
    plan->shapes.items[*out].count++;
    return WK_OK;
}

static void name_task(const wk_sweep_grid *grid, const int *values, char out[WK_EACH_NAME_MAX])
{
    wk_text name = {0};
    for (int i = 0; i < grid->n_axes; i++)
        if (grid->axes[i].named)
            wk_run_name_add(grid->axes[i].field, value_of(grid, values, i), &name);
    if (name.length == 0) wk_text_puts(&name, "run");
    wk_run_name_finish(&name, out);
    wk_text_free(&name);
}

// Names that the sweep's own files have.
static bool is_reserved(const char *name)
{
    return strcmp(name, "sweep") == 0 || strcmp(name, "report") == 0;
}

// What only the domain knows. That of a plug-in is checked when the run begins: planning loads no
// code.
static wk_status check_config(const wk_run_config *config, wk_error *err)
{
    wk_run_world world;
    if (*config->plugin || *config->curriculum_plugin) return WK_OK;
    WK_TRY(wk_run_world_open(config, NULL, NULL, &world, err));
    return wk_run_config_check(config, world.domain, err);
}

static uint64_t updates_of(const wk_run_config *config)
{
    int64_t learning = config->steps > config->prefill ? config->steps - config->prefill : 0;
    return (uint64_t)(learning / config->train_every);
}

static wk_status add_task(wk_sweep_plan *plan, const int *values, const wk_run_config *config,
                          const char *name, wk_error *err)
{
    wk_sweep_task task = {.steps = (uint64_t)config->steps,
                          .updates = updates_of(config),
                          .evaluates = config->eval_every > 0,
                          .hash = wk_run_config_hash(config)};
    memcpy(task.values, values, sizeof task.values);
    WK_TRY(check_config(config, err));
    if (is_reserved(name))
        return wk_fail(err, WK_E_INPUT, "the sweep itself has a directory called '%s'", name);
    WK_TRY(find_shape(plan, config, &task.shape, err));
    task.name = wk_arena_string(&plan->arena, name);
    return task.name && wk_array_push(&plan->tasks, task) ? WK_OK : no_memory(err);
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

// The blocks of the last combination, merged: neighbours mostly have the same.
typedef struct merged_blocks {
    const char *blocks[WK_SWEEP_AXES_MAX];
    wk_merged_config merged;
    bool valid;
} merged_blocks;

static wk_status merge(const wk_sweep_plan *plan, const wk_sweep_settings *settings,
                       merged_blocks *last, wk_merged_config *out, wk_error *err)
{
    size_t size = (size_t)settings->n_blocks * sizeof *settings->blocks;
    if (!last->valid || memcmp(last->blocks, settings->blocks, size) != 0) {
        last->valid = false;
        WK_TRY(merge_blocks(plan, settings, &last->merged, err));
        memcpy(last->blocks, settings->blocks, size);
        last->valid = true;
    }
    *out = last->merged;
    return apply_keys(plan->grid, settings, out, err);
}

static wk_status add_combination(wk_sweep_plan *plan, const int *values, merged_blocks *last,
                                 wk_error *err)
{
    static _Thread_local wk_merged_config merged;
    char name[WK_EACH_NAME_MAX];
    const wk_sweep_settings settings = settings_of(plan->grid, values);
    name_task(plan->grid, values, name);
    wk_status status =
        settings.n_keys == WK_SWEEP_TASK_KEYS_MAX
            ? wk_fail(err, WK_E_INPUT, "more than %d settings", WK_SWEEP_TASK_KEYS_MAX - 1)
            : merge(plan, &settings, last, &merged, err);
    if (status == WK_OK) status = add_task(plan, values, &merged.config, name, err);
    if (status == WK_OK || !err) return status;
    return wk_fail_context(err, "%s: run %s", plan->grid->name, name);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp((*(const wk_sweep_task *const *)a)->name,
                  (*(const wk_sweep_task *const *)b)->name);
}

// The tasks by their names; NULL without memory.
static const wk_sweep_task **sort_tasks(const wk_sweep_plan *plan, wk_error *err)
{
    const wk_sweep_task **sorted = malloc((plan->tasks.count + 1) * sizeof *sorted);
    if (!sorted) (void)no_memory(err);
    for (size_t i = 0; sorted && i < plan->tasks.count; i++)
        sorted[i] = &plan->tasks.items[i];
    if (sorted) qsort(sorted, plan->tasks.count, sizeof *sorted, compare_names);
    return sorted;
}

// No two runs may be given the same directory.
static wk_status check_names(const wk_sweep_plan *plan, wk_error *err)
{
    const wk_sweep_task **sorted = sort_tasks(plan, err);
    wk_status status = sorted ? WK_OK : WK_E_MEMORY;
    for (size_t i = 1; status == WK_OK && i < plan->tasks.count; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status = wk_fail(err, WK_E_INPUT, "%s: two runs would both be called '%s'",
                             plan->grid->name, sorted[i]->name);
    free(sorted);
    return status;
}

// The task of that name among those that are sorted; NULL if there is none.
static const wk_sweep_task *find_sorted(const wk_sweep_task *const *sorted, size_t count,
                                        const wk_sweep_task *task)
{
    const wk_sweep_task *const *found =
        bsearch(&task, sorted, count, sizeof *sorted, compare_names);
    return found ? *found : NULL;
}

// The configurations of a task in two plans.
typedef struct two_configs {
    wk_merged_config was, is;
} two_configs;

static wk_status read_configs(const wk_sweep_plan *before, const wk_sweep_task *was,
                              const wk_sweep_plan *now, const wk_sweep_task *is, two_configs *out,
                              wk_error *err)
{
    WK_TRY(wk_sweep_task_config(before, (int)(was - before->tasks.items), &out->was, err));
    return wk_sweep_task_config(now, (int)(is - now->tasks.items), &out->is, err);
}

static wk_status check_task(const wk_sweep_plan *whole, const wk_sweep_task *const *sorted,
                            const wk_sweep_plan *part, const wk_sweep_task *task, wk_error *err)
{
    static _Thread_local two_configs configs;
    const wk_sweep_task *found = find_sorted(sorted, whole->tasks.count, task);
    if (!found)
        return wk_fail(err, WK_E_INPUT, "the run '%s' is not in %s", task->name, whole->grid->name);
    if (found->hash == task->hash) return WK_OK;
    wk_status status = read_configs(part, task, whole, found, &configs, err);
    if (status == WK_OK)
        status = wk_run_config_resumable(&configs.was.config, &configs.is.config, err);
    if (status == WK_OK) status = wk_fail(err, WK_E_INPUT, "its blocks differ");
    if (err)
        wk_fail_context(err, "the run '%s' has other settings in %s", task->name,
                        whole->grid->name);
    return status;
}

wk_status wk_sweep_plan_contains(const wk_sweep_plan *whole, const wk_sweep_plan *part,
                                 wk_error *err)
{
    const wk_sweep_task **sorted = sort_tasks(whole, err);
    wk_status status = sorted ? WK_OK : WK_E_MEMORY;
    for (size_t i = 0; status == WK_OK && i < part->tasks.count; i++)
        status = check_task(whole, sorted, part, &part->tasks.items[i], err);
    free(sorted);
    return status;
}

// What became of a key that may change: in the first run where it did, and in how many.
typedef struct key_change {
    char was[WK_RUN_TEXT_MAX], is[WK_RUN_TEXT_MAX];
    int runs;
} key_change;

static bool same_settings(const wk_sweep_settings *a, const wk_sweep_settings *b)
{
    if (a->n_blocks != b->n_blocks || a->n_keys != b->n_keys) return false;
    for (int i = 0; i < a->n_blocks; i++)
        if (strcmp(a->blocks[i], b->blocks[i]) != 0) return false;
    for (int i = 0; i < a->n_keys; i++)
        if (strcmp(a->keys[i].key, b->keys[i].key) != 0 ||
            strcmp(a->keys[i].value, b->keys[i].value) != 0)
            return false;
    return true;
}

static void print_value(const wk_run_config *config, int field, char out[WK_RUN_TEXT_MAX])
{
    wk_text text = {0};
    wk_run_config_get(config, field, &text);
    snprintf(out, WK_RUN_TEXT_MAX, "%s", wk_text_get(&text));
    wk_text_free(&text);
}

static wk_status compare_task(const wk_sweep_plan *before, const wk_sweep_task *was,
                              const wk_sweep_plan *now, const wk_sweep_task *is,
                              key_change *changes, wk_error *err)
{
    static _Thread_local two_configs configs;
    const wk_sweep_settings old = settings_of(before->grid, was->values),
                            new = settings_of(now->grid, is->values);
    if (same_settings(&old, &new)) return WK_OK;
    WK_TRY(read_configs(before, was, now, is, &configs, err));
    const wk_run_config *a = &configs.was.config, *b = &configs.is.config;
    for (int i = 0; i < WK_RUN_FIELD_COUNT; i++) {
        if (wk_run_config_same(a, b, i)) continue;
        if (changes[i].runs++ > 0) continue;
        print_value(a, i, changes[i].was);
        print_value(b, i, changes[i].is);
    }
    return WK_OK;
}

wk_status wk_sweep_plan_changes(const wk_sweep_plan *before, const wk_sweep_plan *now, wk_text *out,
                                wk_error *err)
{
    const wk_sweep_task **sorted = sort_tasks(now, err);
    key_change *changes = calloc(WK_RUN_FIELD_COUNT, sizeof *changes);
    wk_status status = sorted && changes ? WK_OK : no_memory(err);
    for (size_t i = 0; status == WK_OK && i < before->tasks.count; i++) {
        const wk_sweep_task *was = &before->tasks.items[i];
        const wk_sweep_task *is = find_sorted(sorted, now->tasks.count, was);
        if (is) status = compare_task(before, was, now, is, changes, err);
    }
    for (int i = 0; status == WK_OK && i < WK_RUN_FIELD_COUNT; i++)
        if (changes[i].runs > 0)
            wk_text_printf(out, "%s is now '%s', not '%s', in %d run%s that the sweep has\n",
                           wk_run_keys[i], changes[i].is, changes[i].was, changes[i].runs,
                           changes[i].runs == 1 ? "" : "s");
    free(changes);
    free(sorted);
    return status;
}

static wk_status open_blocks(wk_sweep_plan *plan, wk_error *err)
{
    WK_TRY(wk_config_blocks_create(&plan->blocks, err));
    WK_TRY(wk_config_blocks_add_embedded(plan->blocks, err));
    for (int i = 0; i < plan->grid->n_files; i++)
        WK_TRY(wk_config_blocks_add_file(plan->blocks, plan->grid->files[i], err));
    return WK_OK;
}

// Blocks that do not exist, or do not fit, are reported with their line.
static wk_status check_blocks(const wk_sweep_plan *plan, wk_error *err)
{
    static _Thread_local wk_merged_config scratch;
    WK_TRY(wk_config_merge_defaults(plan->blocks, &scratch, err));
    for (int i = 0; i < plan->grid->n_axes; i++) {
        const wk_sweep_axis *axis = &plan->grid->axes[i];
        for (size_t k = 0; axis->field < 0 && k < axis->values.count; k++) {
            wk_status status =
                wk_config_merge_block(plan->blocks, axis->values.items[k], &scratch, err);
            if (status != WK_OK)
                return err ? wk_fail_context(err, "%s:%d", plan->grid->name, axis->line) : status;
        }
    }
    return WK_OK;
}

static wk_status make_tasks(wk_sweep_plan *plan, wk_error *err)
{
    int values[WK_SWEEP_AXES_MAX] = {0};
    merged_blocks *last = calloc(1, sizeof *last);
    if (!last) return no_memory(err);
    wk_status status = WK_OK;
    do
        if (!is_excluded(plan->grid, values)) status = add_combination(plan, values, last, err);
    while (status == WK_OK && next_values(plan->grid, values));
    free(last);
    WK_TRY(status);
    plan->selected = plan->tasks.count;
    if (plan->tasks.count == 0)
        return wk_fail(err, WK_E_INPUT, "%s: 'exclude' leaves no run", plan->grid->name);
    return check_names(plan, err);
}

wk_status wk_sweep_plan_create(const wk_sweep_grid *grid, wk_sweep_plan *out, wk_error *err)
{
    *out = (wk_sweep_plan){.grid = grid};
    wk_status status = open_blocks(out, err);
    if (status == WK_OK) status = check_blocks(out, err);
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
    for (size_t i = 0; i < plan->tasks.count; i++)
        if (strcmp(plan->tasks.items[i].name, name) == 0) return (int)i;
    return -1;
}

wk_status wk_sweep_task_path(const wk_sweep_plan *plan, const char *directory, int task,
                             char out[WK_PATH_MAX], wk_error *err)
{
    return wk_path_join(directory, plan->tasks.items[task].name, out, err);
}
