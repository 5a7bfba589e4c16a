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

void wk_long_run_start(wk_long_run *r)
{
    wk_run_position now = r->job->position(r->context);
    const wk_speed_point point = speed_point(r, &now);
    wk_speed_start(&r->speed, &point);
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

static wk_run_row row_of(const wk_long_run *r)
{
    const char *state = !r->over                    ? "running"
                        : r->status != WK_OK        ? "failed"
                        : r->end == WK_RUN_FINISHED ? "finished"
                                                    : "stopped";
    wk_run_row row = wk_run_row_empty(r->name, state);
    wk_run_position now = r->job->position(r->context);
    row.values.steps = (int64_t)now.steps;
    row.values.total = r->total;
    row.values.updates = (int64_t)now.updates;
    row.values.updates_per_second = wk_speed_updates(&r->speed);
    row.values.seconds[WK_PHASE_LOG] = r->saving_seconds + r->logging_seconds;
    row.values.seconds_left = wk_speed_left(&r->speed, r->prefill, r->total);
    r->job->show(r->context, &row);
    return row;
}

static void show(const wk_long_run *r)
{
    wk_status_line *line = r->control->line;
    const wk_progress_sink *progress = &r->control->progress;
    if (!line && !progress->show) return;
    wk_run_row row = row_of(r);
    if (progress->show) progress->show(progress->context, &row.values);
    if (line && r->over)
        wk_status_line_finish(line, &row.values);
    else if (line)
        wk_status_line_update(line, &row.values, wk_clock_seconds());
}

static void show_table(wk_long_run *const *runs, int count, bool last)
{
    wk_run_table *table = runs[0]->control->table;
    wk_run_row rows[WK_POPULATION_MAX];
    if (!table) return;
    for (int r = 0; r < count; r++)
        rows[r] = row_of(runs[r]);
    if (last)
        wk_run_table_finish(table, rows, count);
    else
        wk_run_table_update(table, rows, count, wk_clock_seconds());
}

static bool should_end(const wk_long_run *r, wk_run_end *end)
{
    if ((int64_t)r->job->position(r->context).steps >= r->total)
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

// What follows a run's part of a step: speed, logs, and a checkpoint where one is due. It was
// prefilling before.
static wk_status finish_iteration(wk_long_run *r, bool prefilling, wk_error *err)
{
    WK_TRY(r->job->step(r->context, err));
    wk_run_position now = r->job->position(r->context);
    const wk_speed_point point = speed_point(r, &now);
    wk_speed_observe(&r->speed, &point, prefilling);
    WK_TRY(log_by(r, r->job->record, err));
    show(r);
    bool due = (int64_t)now.steps >= r->next_save || wk_clock_seconds() >= r->next_save_time;
    return due ? wk_long_run_save(r, err) : WK_OK;
}

// Records how a call of one run of several went; a failure ends that run.
static void record_status(wk_long_run *r, wk_status status, int count)
{
    if (status == WK_OK) return;
    r->status = status;
    r->over = true;
    if (count > 1)
        wk_log_line(&r->control->log, WK_LOG_ERROR, "%s: %s; the other runs continue", r->name,
                    r->error.message);
}

// Ends the runs that have come to their end; says whether any is left.
static bool end_some(wk_long_run *const *runs, int count)
{
    bool left = false;
    for (int i = 0; i < count; i++) {
        wk_long_run *r = runs[i];
        if (r->over) continue;
        if (!should_end(r, &r->end)) {
            left = true;
            continue;
        }
        record_status(r, r->job->end(r->context, &r->end, &r->error), count);
        if (r->over) continue;
        r->over = true;
        show(r);
    }
    return left;
}

wk_status wk_long_run_loop(wk_long_run *const *runs, int count,
                           wk_status (*step)(void *context, wk_error *err), void *context,
                           wk_error *err)
{
    for (int i = 0; i < count; i++)
        if (!runs[i]->over)
            record_status(runs[i], log_by(runs[i], runs[i]->job->begin, &runs[i]->error), count);
    wk_status status = WK_OK;
    while (status == WK_OK && end_some(runs, count)) {
        bool prefilling[WK_POPULATION_MAX];
        for (int i = 0; i < count; i++) {
            wk_long_run *r = runs[i];
            prefilling[i] = r->job->position(r->context).prefilling;
            if (!r->over) record_status(r, wk_lock_check(&r->lock, &r->error), count);
        }
        if (step) status = step(context, err);
        if (status != WK_OK) break;
        for (int i = 0; i < count; i++) {
            wk_long_run *r = runs[i];
            if (!r->over) record_status(r, finish_iteration(r, prefilling[i], &r->error), count);
        }
        show_table(runs, count, false);
    }
    if (status == WK_OK) show_table(runs, count, true);
    // The message of a failure begins on a line of its own.
    const wk_run_control *control = runs[0]->control;
    if (control->line) wk_status_line_end(control->line);
    if (control->table) wk_status_line_end(&control->table->line);
    return status;
}
