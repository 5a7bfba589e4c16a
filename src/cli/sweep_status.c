// waker sweep status, add, retry and cancel: how far a sweep is, from its run directories, and
// changes to it.
#include "base/table.h"
#include "cli/sweep.h"
#include "log/status_line.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHART_ROWS = 64, CHART_COLUMNS = 100, CHART_SIGNS = 2000, TABLE_ROWS = 40 };

typedef struct status_values {
    bool all, json;
    int attempts;
} status_values;

static const status_values defaults = {.attempts = WK_SWEEP_ATTEMPTS};

#define WK_VALUES status_values
static const wk_arg args[] = {
    WK_OPT_FLAG("all", all, "list all runs, not only those that are running or failed"),
    WK_OPT_INT("attempts", attempts, "N",
               "attempts in a row without progress before a run counts as failed (default: 3)", 1,
               1000),
    WK_OPT_FLAG("json", json, "print JSON"),
};

// A sweep and the state of each task.
typedef struct overview {
    const wk_sweep_plan *plan;
    wk_sweep_entry *entries;
    wk_sweep_counts counts;
    bool reported;
    int queued; // by Slurm; -1: not known
} overview;

static const char signs[WK_SWEEP_PHASES] = {
    [WK_SWEEP_WAITING] = '.', [WK_SWEEP_STOPPED] = '-', [WK_SWEEP_RUNNING] = '>',
    [WK_SWEEP_TRAINED] = '+', [WK_SWEEP_FAILED] = 'X',  [WK_SWEEP_DONE] = '#',
};

// The axis whose values are the columns: the last that is in the names; -1: none is.
static int column_axis(const wk_sweep_grid *grid)
{
    for (int i = grid->n_axes - 1; i >= 0; i--)
        if (grid->axes[i].named) return i;
    return -1;
}

// Whether two tasks stand in one row: they differ in the columns' axis alone.
static bool same_row(const wk_sweep_plan *plan, int a, int b, int column)
{
    for (int i = 0; i < plan->grid->n_axes; i++)
        if (i != column && plan->tasks.items[a].values[i] != plan->tasks.items[b].values[i])
            return false;
    return true;
}

static void print_label(const wk_sweep_plan *plan, int task, int column, wk_text *out)
{
    for (int i = 0; i < plan->grid->n_axes; i++) {
        const wk_sweep_axis *axis = &plan->grid->axes[i];
        if (i == column || !axis->named) continue;
        if (out->length > 0) wk_text_puts(out, " ");
        const char *value = axis->values.items[plan->tasks.items[task].values[i]];
        wk_text_printf(out, axis->field < 0 ? "%.0s%s" : "%s=%s", axis->name, value);
    }
}

// The signs of the tasks from `first` on that are in its row; returns the first after them.
static int print_signs(const overview *o, int first, int column, wk_text *out)
{
    const wk_sweep_plan *plan = o->plan;
    int count = (int)plan->tasks.count, at = first;
    int width = column < 0 ? 1 : (int)plan->grid->axes[column].values.count;
    for (int k = 0; k < width; k++) {
        bool there = at < count && same_row(plan, first, at, column) &&
                     (column < 0 || plan->tasks.items[at].values[column] == k);
        char sign = there ? signs[o->entries[at].state.phase] : ' ';
        if (k > 0 && k % CHART_COLUMNS == 0 && k < CHART_SIGNS) wk_text_puts(out, "\n");
        if (k < CHART_SIGNS) wk_text_append(out, &sign, 1);
        if (k == CHART_SIGNS) wk_text_puts(out, "...");
        at += there;
    }
    return at > first ? at : first + 1;
}

static void print_chart(const overview *o, wk_text *out)
{
    int column = column_axis(o->plan->grid), rows = 0;
    int count = (int)o->plan->tasks.count;
    wk_table table;
    wk_table_begin(&table, "ll", "runs", column < 0 ? "" : o->plan->grid->axes[column].name);
    int at = 0;
    for (; at < count && rows < CHART_ROWS; rows++) {
        wk_text label = {0}, cells = {0};
        print_label(o->plan, at, column, &label);
        at = print_signs(o, at, column, &cells);
        wk_table_cell(&table, "%s", wk_text_get(&label));
        wk_table_cell(&table, "%s", wk_text_get(&cells));
        wk_text_free(&label);
        wk_text_free(&cells);
    }
    wk_table_finish(&table, 0, out);
    if (at < count)
        wk_text_printf(out, "and %d more run%s\n", count - at, wk_plural((uint64_t)(count - at)));
    wk_text_puts(out, "# done  > running  + trained, follow-up pending  - stopped  . waiting  "
                      "X failed\n\n");
}

static bool is_shown(const overview *o, size_t task, bool all)
{
    wk_sweep_task_phase phase = o->entries[task].state.phase;
    return all || (phase != WK_SWEEP_WAITING && phase != WK_SWEEP_DONE);
}

static void print_row(const overview *o, size_t task, wk_table *table)
{
    const wk_sweep_state *state = &o->entries[task].state;
    const wk_sweep_task *t = &o->plan->tasks.items[task];
    char left[WK_DURATION_TEXT_MAX];
    wk_table_cell(table, "%s", t->name);
    wk_table_cell(table, "%s", wk_sweep_phase_names[state->phase]);
    wk_table_cell(table, "%.0f %%", 100 * fmin(1, (double)state->steps / (double)t->steps));
    wk_table_cell(table, "%s", wk_duration_text(state->seconds_left, left));
    wk_table_cell(table, "%s", state->attempt.error);
}

static void print_rows(const overview *o, bool all, wk_text *out)
{
    wk_table table;
    int shown = 0, hidden = 0;
    wk_table_begin(&table, "llrrl", "run", "state", "trained", "left", "last error");
    for (size_t i = 0; i < o->plan->tasks.count; i++) {
        if (!is_shown(o, i, all)) continue;
        if (all || shown < TABLE_ROWS)
            print_row(o, i, &table);
        else
            hidden++;
        shown++;
    }
    if (shown > 0)
        wk_table_finish(&table, 0, out);
    else
        wk_table_free(&table);
    if (hidden > 0) wk_text_printf(out, "and %d more (--all)\n", hidden);
    if (shown > 0) wk_text_puts(out, "\n");
}

static void print_counts(const overview *o, wk_text *out)
{
    wk_text_printf(out, "%s: %zu run%s", o->plan->directory, o->plan->tasks.count,
                   wk_plural(o->plan->tasks.count));
    for (int i = WK_SWEEP_PHASES - 1; i >= 0; i--)
        if (o->counts.phases[i] > 0)
            wk_text_printf(out, ", %d %s", o->counts.phases[i], wk_sweep_phase_names[i]);
    wk_text_printf(out, "; %.1f %% of the agent steps",
                   100 * (double)o->counts.steps / (double)o->counts.total);
    if (o->queued > 0) wk_text_printf(out, "; %d in the queue", o->queued);
    int done = o->counts.phases[WK_SWEEP_DONE];
    if (o->plan->grid->report.present && o->reported && (size_t)done < o->plan->tasks.count)
        wk_text_printf(out, "; the report has %d of %zu run%s", done, o->plan->tasks.count,
                       wk_plural(o->plan->tasks.count));
    else if (o->plan->grid->report.present)
        wk_text_puts(out,
                     o->reported ? "; the report is written" : "; the report is not written yet");
    wk_text_puts(out, "\n");
}

static void print_json(const overview *o, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "directory", o->plan->directory);
    wk_json_object(&json, "counts");
    for (int i = 0; i < WK_SWEEP_PHASES; i++)
        wk_json_integer(&json, wk_sweep_phase_names[i], o->counts.phases[i]);
    wk_json_close(&json, '}');
    if (o->queued >= 0) wk_json_integer(&json, "queued", o->queued);
    wk_json_bool(&json, "reported", o->reported);
    wk_json_array(&json, "runs");
    for (size_t i = 0; i < o->plan->tasks.count; i++) {
        const wk_sweep_state *state = &o->entries[i].state;
        const wk_sweep_task *task = &o->plan->tasks.items[i];
        wk_json_object(&json, NULL);
        wk_json_string(&json, "name", task->name);
        wk_json_string(&json, "shape", o->plan->shapes.items[task->shape].name);
        wk_json_string(&json, "state", wk_sweep_phase_names[state->phase]);
        wk_json_unsigned(&json, "steps", state->steps);
        wk_json_unsigned(&json, "total", task->steps);
        wk_json_number(&json, "seconds_left", state->seconds_left);
        for (int k = 0; k < WK_SWEEP_FOLLOWS; k++)
            if (o->plan->grid->follow[k].present)
                wk_json_bool(&json, wk_sweep_follow_names[k], state->follow[k]);
        wk_json_integer(&json, "attempts", state->attempt.count);
        wk_json_string(&json, "error", state->attempt.error);
        wk_json_close(&json, '}');
    }
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}

// Calls `act` with the sweep in the directory that the first word names.
typedef wk_status action(wk_cli *cli, const void *values, wk_cli_sweep *sweep, wk_error *err);
static wk_status with_sweep(wk_cli *cli, const void *values, action *act, wk_error *err)
{
    wk_cli_sweep sweep = {0};
    wk_status status = wk_cli_sweep_open(cli->words.items[0], &sweep, err);
    if (status == WK_OK) status = act(cli, values, &sweep, err);
    wk_cli_sweep_close(&sweep);
    return status;
}

static wk_status print_status(wk_cli *cli, const void *values, wk_cli_sweep *sweep, wk_error *err)
{
    const status_values *v = values;
    const wk_log log = wk_cli_log(cli);
    wk_sweep_queue queue = {0};
    wk_text text = {0};
    wk_error unknown = {0};
    wk_status status = wk_sweep_queue_open(&sweep->plan, v->attempts, &queue, err);
    overview o = {&sweep->plan, queue.entries, {{0}, 0, 0}, false, 0};
    if (status == WK_OK) status = wk_sweep_report_done(&sweep->plan, &o.reported, err);
    if (status == WK_OK) {
        // That the queue cannot be asked changes nothing of the rest.
        if (wk_sweep_slurm_queued(&sweep->plan, &o.queued, &unknown) != WK_OK) {
            wk_log_line(&log, WK_LOG_WARN, "cannot read the queue: %s", unknown.message);
            o.queued = -1;
        }
        o.counts = wk_sweep_count(&sweep->plan, queue.entries);
        if (v->json) {
            print_json(&o, &text);
        } else {
            print_chart(&o, &text);
            print_rows(&o, v->all, &text);
            print_counts(&o, &text);
        }
    }
    wk_sweep_queue_close(&queue);
    return wk_cli_print_if(status, &text, err);
}

static wk_status run_status(wk_cli *cli, const void *values, wk_error *err)
{
    return with_sweep(cli, values, print_status, err);
}

// Adds values to axes.
static wk_status add(wk_cli *cli, const void *values, wk_cli_sweep *sweep, wk_error *err)
{
    (void)values;
    wk_sweep_folder folder = {0};
    wk_text text = {0};
    size_t before = sweep->plan.tasks.count;
    wk_status status = WK_OK;
    for (int i = 1; status == WK_OK && i < cli->words.count; i++)
        status = wk_sweep_grid_add(&sweep->grid, cli->words.items[i], err);
    WK_TRY(status);
    wk_sweep_plan_free(&sweep->plan);
    WK_TRY(wk_sweep_plan_create(&sweep->grid, cli->words.items[0], &sweep->plan, err));
    WK_TRY(wk_cli_sweep_check_follow(&sweep->plan, err));
    status = wk_sweep_folder_open(cli->words.items[0], &folder, err);
    if (status == WK_OK) status = wk_sweep_folder_write(&folder, &sweep->grid, err);
    wk_sweep_folder_close(&folder);
    WK_TRY(status);
    wk_text_printf(
        &text, "%zu run%s added, %zu in total; 'waker sweep --logdir %s' runs what is not done\n",
        sweep->plan.tasks.count - before, wk_plural(sweep->plan.tasks.count - before),
        sweep->plan.tasks.count, cli->words.items[0]);
    return wk_cli_print(&text, err);
}

static wk_status run_add(wk_cli *cli, const void *values, wk_error *err)
{
    return with_sweep(cli, values, add, err);
}

// The attempts of runs that nobody works on are forgotten.
static wk_status retry(wk_cli *cli, const void *values, wk_cli_sweep *sweep, wk_error *err)
{
    (void)values;
    int count = 0;
    wk_text text = {0};
    for (int i = 1; i < cli->words.count; i++)
        if (wk_sweep_plan_find(&sweep->plan, cli->words.items[i]) < 0)
            return wk_fail(err, WK_E_NOT_FOUND, "the sweep has no run '%.80s'",
                           cli->words.items[i]);
    for (size_t i = 0; i < sweep->plan.tasks.count; i++) {
        wk_sweep_state state;
        bool named = cli->words.count == 1;
        for (int k = 1; k < cli->words.count; k++)
            named |= strcmp(cli->words.items[k], sweep->plan.tasks.items[i].name) == 0;
        if (!named) continue;
        WK_TRY(wk_sweep_state_read(&sweep->plan, (int)i, 0, &state, err));
        if (state.phase == WK_SWEEP_RUNNING || state.attempt.count == 0) continue;
        WK_TRY(wk_sweep_attempt_forget(&sweep->plan, (int)i, err));
        count++;
    }
    wk_text_printf(&text, "%d run%s can be tried again: 'waker sweep --logdir %s'\n", count,
                   wk_plural((uint64_t)count), cli->words.items[0]);
    return wk_cli_print(&text, err);
}

static wk_status run_retry(wk_cli *cli, const void *values, wk_error *err)
{
    return with_sweep(cli, values, retry, err);
}

static wk_status cancel(wk_cli *cli, const void *values, wk_cli_sweep *sweep, wk_error *err)
{
    const wk_log log = wk_cli_log(cli);
    bool found = false;
    (void)values;
    WK_TRY(wk_sweep_local_cancel(cli->words.items[0], &log, &found, err));
    WK_TRY(wk_sweep_slurm_cancel(&sweep->plan, &log, &found, err));
    if (!found)
        wk_log_line(&log, WK_LOG_INFO, "nothing to cancel: no sweep is at work on '%s'",
                    cli->words.items[0]);
    return WK_OK;
}

static wk_status run_cancel(wk_cli *cli, const void *values, wk_error *err)
{
    return with_sweep(cli, values, cancel, err);
}

const wk_command wk_command_sweep_status = {
    .name = "sweep status",
    .summary = "Show the progress of a sweep's runs",
    .usage = "sweep status DIR [--all] [--json]",
    .details =
        "Reads the run directories, so it stays correct when runs were moved, deleted or\n"
        "started by hand, or when a process died. The overview has one character for each run.\n",
    .examples = "sweep status runs/paper\n"
                "sweep status runs/paper --json",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run_status,
};

const wk_command wk_command_sweep_add = {
    .name = "sweep add",
    .summary = "Add seeds or other axis values to a sweep",
    .usage = "sweep add DIR AXIS=VALUES...",
    .details =
        "Adds values to axes that are lists or ranges in the sweep's grid. Existing runs keep\n"
        "their names and are not changed.\n",
    .examples = "sweep add runs/paper seed=5..9\n"
                "sweep add runs/paper curriculum=ge,rw-oracle",
    .words = {2, 1 + WK_SWEEP_AXES_MAX},
    .run = run_add,
};

const wk_command wk_command_sweep_retry = {
    .name = "sweep retry",
    .summary = "Retry the failed runs of a sweep",
    .usage = "sweep retry DIR [NAME...]",
    .details =
        "Clears the failed attempts of the named runs, or of all runs. They resume from their\n"
        "last checkpoint: at once if the sweep is running, else when it is started again.\n",
    .examples = "sweep retry runs/paper\n"
                "sweep retry runs/paper clean-up-waker-m-seed3",
    .words = {1, WK_ARG_WORDS_MAX},
    .run = run_retry,
};

const wk_command wk_command_sweep_cancel = {
    .name = "sweep cancel",
    .summary = "Stop a sweep: every run saves, and the sweep can be resumed later",
    .usage = "sweep cancel DIR",
    .details = "Asks all processes or jobs of the sweep to save and stop, as an interrupt would.\n",
    .examples = "sweep cancel runs/paper",
    .words = {1, 1},
    .run = run_cancel,
};
