#include "train/long_run.h"

#include "base/file.h"
#include "base/machine.h"
#include "train/metrics.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double FIRST_SAVE_SECONDS = 60;

int64_t wk_next_multiple(uint64_t steps, int64_t every)
{
    return every > 0 ? ((int64_t)steps / every + 1) * every : INT64_MAX;
}

wk_status wk_long_run_open(wk_long_run *r, const char *within, const char *path, wk_error *err)
{
    bool there;
    r->path = path;
    r->part = within != NULL;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (within) {
        WK_TRY(wk_dir_open_below(within, path + strlen(within) + 1, true, &r->dir, err));
    } else {
        WK_TRY(wk_dir_create(path, err));
        WK_TRY(wk_dir_open(NULL, path, &r->dir, err));
    }
    const wk_run_control *control = r->control;
    WK_TRY(wk_lock_take_within(r->dir, control->lock_wait, control->stop, &control->log, &r->lock,
                               err));
    r->is_new = !there;
    return WK_OK;
}

wk_status wk_long_run_metrics(wk_long_run *r, wk_metrics_mark *mark, int action_repeat,
                              wk_error *err)
{
    wk_metrics_config metrics = {.in = r->dir,
                                 .logdir = ".",
                                 .tensorboard = r->config->log_tensorboard,
                                 .timing = r->config->log_timing,
                                 .action_repeat = action_repeat,
                                 .part = r->part,
                                 .log = &r->control->log};
    r->mark = mark;
    return wk_training_metrics_open(r->config, &metrics, mark, &r->metrics, err);
}

void wk_long_run_close(wk_long_run *r)
{
    wk_metrics_close(r->metrics);
    wk_lock_release(&r->lock);
    wk_dir_close(r->dir);
}

static wk_speed_point speed_point(const wk_long_run *r, const wk_run_position *now)
{
    return (wk_speed_point){wk_clock_seconds(), r->saving_seconds + r->logging_seconds, now->steps,
                            now->updates};
}

void wk_long_run_start(wk_long_run *r, double steps_per_update)
{
    wk_run_position now = r->job->position(r->context);
    const wk_speed_point point = speed_point(r, &now);
    wk_speed_start(&r->speed, &point, steps_per_update);
    r->began = point.time;
    r->next_save = wk_next_multiple(now.steps, r->save_every);
    r->next_save_time = r->began + FIRST_SAVE_SECONDS;
}

wk_status wk_long_run_save(wk_long_run *r, wk_error *err)
{
    double began = wk_clock_seconds(), minutes = r->config->checkpoint_every_minutes;
    WK_TRY(wk_lock_check(&r->lock, err));
    WK_TRY(wk_metrics_position(r->metrics, r->mark, err));
    WK_TRY(r->job->save(r->context, err));
    uint64_t steps = r->job->position(r->context).steps;
    double seconds = wk_clock_seconds();
    r->next_save = wk_next_multiple(steps, r->save_every);
    r->next_save_time = minutes > 0 ? seconds + 60 * minutes : INFINITY;
    r->saving_seconds += seconds - began;
    wk_log_line(&r->control->log, WK_LOG_DEBUG, "checkpoint at %s %" PRIu64 " in %.2f s", r->unit,
                steps, seconds - began);
    return WK_OK;
}

wk_status wk_long_run_check_updates(const wk_long_run *r, const wk_nonfinite_updates *updates,
                                    const char *skipped, const char *advice, wk_error *err)
{
    if (updates->first)
        wk_log_line(&r->control->log, WK_LOG_WARN, "%s is not finite; %s", updates->metric,
                    skipped);
    if (!updates->too_many) return WK_OK;
    return wk_fail(err, WK_E_DIVERGED,
                   "%s was not finite in %d updates in a row; the last checkpoint is sound%s",
                   updates->metric, WK_NONFINITE_MAX, advice);
}

static wk_status_values values_of(const wk_long_run *r)
{
    wk_run_position now = r->job->position(r->context);
    wk_status_values values = wk_status_values_empty();
    values.steps = (int64_t)now.steps;
    values.total = r->total;
    values.updates = (int64_t)now.updates;
    values.updates_per_second = wk_speed_updates(&r->speed);
    values.seconds[WK_PHASE_LOG] = r->saving_seconds + r->logging_seconds;
    values.seconds_left = wk_speed_left(&r->speed, r->prefill, r->total);
    r->job->show(r->context, &values);
    return values;
}

static void show(const wk_long_run *r, bool last)
{
    wk_status_line *line = r->control->line;
    const wk_progress_sink *progress = &r->control->progress;
    if (!line && !progress->show) return;
    wk_status_values values = values_of(r);
    if (progress->show) progress->show(progress->context, &values);
    if (line && last)
        wk_status_line_finish(line, &values);
    else if (line)
        wk_status_line_update(line, &values, wk_clock_seconds());
}

static bool should_end(const wk_long_run *r, const wk_run_position *now, wk_run_end *end)
{
    if ((int64_t)now->steps >= r->total)
        *end = WK_RUN_FINISHED;
    else if (r->control->stop && *r->control->stop)
        *end = WK_RUN_INTERRUPTED;
    else if (r->minutes > 0 && wk_clock_seconds() - r->began >= 60 * r->minutes)
        *end = WK_RUN_OUT_OF_TIME;
    else
        return false;
    return true;
}

// Calls a hook of the job whose time counts as logging.
static wk_status log_by(wk_long_run *r, wk_status (*hook)(void *, wk_error *), wk_error *err)
{
    double began = wk_clock_seconds();
    wk_status status = hook ? hook(r->context, err) : WK_OK;
    r->logging_seconds += wk_clock_seconds() - began;
    return status;
}

// Runs that go together.
typedef struct together {
    wk_long_run *const *runs;
    wk_long_run_result *results;
    int count;
} together;

static const char *state_of(const wk_long_run_result *result)
{
    if (!result->over) return "running";
    if (result->status != WK_OK) return "failed";
    return result->end == WK_RUN_FINISHED ? "finished" : "stopped";
}

static void show_table(const together *all, bool last)
{
    wk_run_table *table = all->runs[0]->control->table;
    wk_run_row rows[WK_POPULATION_MAX];
    if (!table) return;
    for (int r = 0; r < all->count; r++) {
        const wk_long_run *run = all->runs[r];
        rows[r] = wk_run_row_empty(run->name, state_of(&all->results[r]));
        rows[r].values = values_of(run);
        if (run->job->show_row) run->job->show_row(run->context, &rows[r]);
    }
    if (last)
        wk_run_table_finish(table, rows, all->count);
    else
        wk_run_table_update(table, rows, all->count, wk_clock_seconds());
}

// Records how a call of one run went; a failure ends that run.
static void record_status(const together *all, int r, wk_status status)
{
    wk_long_run_result *result = &all->results[r];
    const wk_long_run *run = all->runs[r];
    if (status == WK_OK) return;
    result->status = status;
    result->over = true;
    if (run->job->leave) run->job->leave(run->context);
    if (all->count > 1)
        wk_log_line(&run->control->log, WK_LOG_ERROR, "%s: %s; the other runs continue", run->name,
                    result->error.message);
}

// Ends the runs that have come to their end; says whether any is left.
static bool end_some(const together *all)
{
    bool left = false;
    for (int r = 0; r < all->count; r++) {
        wk_long_run_result *result = &all->results[r];
        wk_long_run *run = all->runs[r];
        if (result->over) continue;
        wk_run_position now = run->job->position(run->context);
        if (!should_end(run, &now, &result->end)) {
            left = true;
            continue;
        }
        record_status(all, r, run->job->end(run->context, &result->end, &result->error));
        if (result->over) continue;
        show(run, true);
        if (run->job->leave) run->job->leave(run->context);
        result->over = true;
    }
    return left;
}

// What follows a run's part of a step: speed, logs, and a checkpoint where one is due. It was
// prefilling before.
static wk_status finish_iteration(wk_long_run *r, bool prefilling, wk_error *err)
{
    WK_TRY(r->job->step(r->context, err));
    wk_run_position now = r->job->position(r->context);
    const wk_speed_point point = speed_point(r, &now);
    wk_speed_observe(&r->speed, &point, prefilling);
    WK_TRY(log_by(r, r->job->record, err));
    show(r, false);
    bool due = (int64_t)now.steps >= r->next_save || wk_clock_seconds() >= r->next_save_time;
    return due ? wk_long_run_save(r, err) : WK_OK;
}

static wk_status step_together(const together *all, wk_status (*step)(void *, wk_error *),
                               void *context, wk_error *err)
{
    bool prefilling[WK_POPULATION_MAX];
    for (int r = 0; r < all->count; r++) {
        const wk_long_run *run = all->runs[r];
        wk_long_run_result *result = &all->results[r];
        prefilling[r] = run->job->position(run->context).prefilling;
        if (!result->over) record_status(all, r, wk_lock_check(&run->lock, &result->error));
    }
    if (step) WK_TRY(step(context, err));
    for (int r = 0; r < all->count; r++) {
        wk_long_run_result *result = &all->results[r];
        if (!result->over)
            record_status(all, r, finish_iteration(all->runs[r], prefilling[r], &result->error));
    }
    return WK_OK;
}

wk_status wk_long_run_loop_together(wk_long_run *const *runs, wk_long_run_result *results,
                                    int count, wk_status (*step)(void *context, wk_error *err),
                                    void *context, wk_error *err)
{
    const together all = {runs, results, count};
    for (int r = 0; r < count; r++)
        if (!results[r].over)
            record_status(&all, r, log_by(runs[r], runs[r]->job->begin, &results[r].error));
    wk_status status = WK_OK;
    while (status == WK_OK && end_some(&all)) {
        status = step_together(&all, step, context, err);
        if (status == WK_OK) show_table(&all, false);
    }
    if (status == WK_OK) show_table(&all, true);
    // The message of a failure begins on a line of its own.
    const wk_run_control *control = runs[0]->control;
    if (control->line) wk_status_line_end(control->line);
    if (control->table) wk_status_line_end(&control->table->line);
    return status;
}

wk_status wk_long_run_loop(wk_long_run *r, wk_run_end *end, wk_error *err)
{
    wk_long_run_result result = {0};
    WK_TRY(wk_long_run_loop_together(&r, &result, 1, NULL, NULL, err));
    *end = result.end;
    if (result.status != WK_OK && err) *err = result.error;
    return result.status;
}
