// --only: the part of a plan's tasks that have one of the values named for each axis.
#include "sweep/plan.h"

#include <stdlib.h>
#include <string.h>

// What is named of each axis.
typedef struct selection {
    const wk_sweep_grid *grid;
    int axis;                        // that is being read
    bool named[WK_SWEEP_AXES_MAX];   // whether any value is
    bool *wanted[WK_SWEEP_AXES_MAX]; // [values]
} selection;

static wk_status want_value(void *context, const char *value, wk_error *err)
{
    selection *s = context;
    const wk_sweep_axis *axis = &s->grid->axes[s->axis];
    for (size_t i = 0; i < axis->values.count; i++) {
        if (strcmp(axis->values.items[i], value) != 0) continue;
        s->named[s->axis] = s->wanted[s->axis][i] = true;
        return WK_OK;
    }
    wk_text known = {0};
    for (size_t i = 0; i < axis->values.count && known.length < 200; i++)
        wk_text_printf(&known, "%s%s", i ? ", " : "", axis->values.items[i]);
    wk_status status =
        wk_fail(err, WK_E_NOT_FOUND, "the axis '%s' has no value '%s', but %s%s", axis->name, value,
                wk_text_get(&known), known.length < 200 ? "" : ", ...");
    wk_text_free(&known);
    return status;
}

// AXIS=VALUE|VALUE.
static wk_status read_axis(selection *s, char *text, wk_error *err)
{
    const wk_sweep_grid *grid = s->grid;
    const char *names[WK_SWEEP_AXES_MAX], *name = strsep(&text, "=");
    if (!text) return wk_fail(err, WK_E_INPUT, "write AXIS=VALUE, not '%s'", name);
    for (s->axis = 0; s->axis < grid->n_axes; s->axis++) {
        names[s->axis] = grid->axes[s->axis].name;
        if (strcmp(names[s->axis], name) == 0) break;
    }
    if (s->axis == grid->n_axes)
        return wk_fail_unknown(err, "axis of the grid", name, names, (size_t)grid->n_axes);
    const wk_sweep_axis *axis = &grid->axes[s->axis];
    if (!s->wanted[s->axis]) s->wanted[s->axis] = calloc(axis->values.count, sizeof(bool));
    if (!s->wanted[s->axis]) return wk_fail(err, WK_E_MEMORY, "no memory for the values");
    for (char *value; (value = strsep(&text, "|"));)
        WK_TRY(axis->field < 0
                   ? want_value(s, value, err)
                   : wk_run_values_read(axis->field, value, WK_SWEEP_RUNS_MAX, want_value, s, err));
    return WK_OK;
}

// AXIS=VALUE,AXIS=VALUE. A comma without an axis after it belongs to the value before.
static wk_status read_text(selection *s, const char *text, wk_error *err)
{
    char *copy = strdup(text), *next = copy;
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for '%s'", text);
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
    return status == WK_OK || !err ? status : wk_fail_context(err, "--only %.80s", text);
}

static bool is_wanted(const selection *s, const wk_sweep_task *task)
{
    for (int i = 0; i < s->grid->n_axes; i++)
        if (s->named[i] && !s->wanted[i][task->values[i]]) return false;
    return true;
}

wk_status wk_sweep_plan_select(wk_sweep_plan *plan, const char *const *only, int count,
                               wk_error *err)
{
    selection s = {.grid = plan->grid};
    wk_status status = WK_OK;
    for (int i = 0; i < count && status == WK_OK; i++)
        status = read_text(&s, only[i], err);
    for (size_t i = 0; i < plan->tasks.count && status == WK_OK; i++) {
        wk_sweep_task *task = &plan->tasks.items[i];
        if (task->left_out || is_wanted(&s, task)) continue;
        task->left_out = true;
        plan->selected--;
        plan->shapes.items[task->shape].count--;
    }
    for (int i = 0; i < s.grid->n_axes; i++)
        free(s.wanted[i]);
    if (status == WK_OK && plan->selected == 0)
        return wk_fail(err, WK_E_INPUT, "--only leaves no run: the grid excludes all of these");
    return status;
}
