#include "train/adapt.h"

#include "base/clock.h"
#include "base/file.h"
#include "config/parts.h"
#include "log/speed.h"
#include "run/lock.h"
#include "run/saved_learner.h"
#include "run/sweep.h"
#include "train/adapt_settings.h"
#include "train/samples.h"
#include "train/training_metrics.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_IN_A_ROW = 100 };
static const double FIRST_CHECKPOINT_SECONDS = 60;

typedef struct adapt {
    const wk_adapt_config *config;
    const wk_run_control *control;
    wk_saved_learner saved;
    char folder[WK_WEIGHTS_PATH_MAX]; // RUN/adapt/step-...
    wk_dir *dir;                      // what that led to when it was locked
    wk_lock lock;
    wk_adapt_settings settings;
    wk_replay *replay;
    wk_samples samples;
    wk_metrics *metrics;
    wk_metrics_mark mark; // of the checkpoint
    wk_task_metrics last;
    uint64_t done;            // updates
    uint64_t done_in_weights; // those that weights.safetensors has
    wk_speed speed;
    double next_checkpoint, sampling, learning, saving;
    int faults;      // updates in a row with numbers that are not finite
    bool unfinished; // there is something left to do
} adapt;

static const char TOLD[] = "adapt.yaml", WEIGHTS[] = "weights.safetensors",
                  CHECKPOINT[] = "checkpoint.safetensors";

// An interval in agent steps as one in updates.
static uint64_t in_updates(const adapt *a, int64_t steps)
{
    int64_t updates = steps / a->saved.config.train_every;
    return updates > 0 ? (uint64_t)updates : 1;
}

static uint64_t default_updates(const adapt *a)
{
    const wk_run_config *c = &a->saved.config;
    int64_t steps = (int64_t)a->saved.step - c->prefill;
    uint64_t alongside = in_updates(a, steps > 0 ? steps : 0);
    return alongside < WK_ADAPT_UPDATES_MAX ? alongside : WK_ADAPT_UPDATES_MAX;
}

static wk_speed_point point_of(const adapt *a)
{
    return (wk_speed_point){wk_clock_seconds(), a->saving, a->done, a->done};
}

static wk_status open_run(adapt *a, wk_error *err)
{
    const wk_adapt_config *c = a->config;
    if (strcmp(c->tasks, "none") == 0)
        return wk_fail(err, WK_E_INPUT, "name the tasks to adapt to, or all");
    wk_saved_learner_config which = {.directory = c->directory,
                                     .kind = WK_WEIGHTS_SNAPSHOT,
                                     .step = c->snapshot,
                                     .tasks = c->tasks,
                                     .adapt = true,
                                     .seed = c->seed,
                                     .device = c->device,
                                     .threads = c->threads};
    WK_TRY(wk_saved_learner_open(&which, &a->saved, err));
    wk_saved_learner *s = &a->saved;
    a->settings.snapshot = s->step;
    a->settings.seed = s->config.seed;
    a->settings.all_data = c->all_data;
    a->settings.updates = c->updates > 0 ? (uint64_t)c->updates : default_updates(a);
    return wk_run_config_task_names(&s->config, s->world.domain, a->settings.tasks, err);
}

static wk_status take_folder(adapt *a, wk_error *err)
{
    wk_weights_path(a->config->directory, WK_WEIGHTS_ADAPTED, a->saved.step, NULL, a->folder);
    *strrchr(a->folder, '/') = 0;
    WK_TRY(wk_dir_create(a->folder, err));
    WK_TRY(wk_dir_open(NULL, a->folder, &a->dir, err));
    return wk_lock_take(a->dir, &a->lock, err);
}

// Progress of the checkpoint, from its labels.
static wk_status read_place(adapt *a, wk_error *err)
{
    enum { LABELS = 5 };
    static const char *const names[LABELS] = {"updates", "weights", "metrics", "events",
                                              "events_file"};
    const char *labels[LABELS];
    bool whole = true;
    wk_safetensors *file;
    WK_TRY(wk_safetensors_open_in(a->dir, CHECKPOINT, &file, err));
    for (int i = 0; i < LABELS; i++)
        whole = (labels[i] = wk_safetensors_metadata(file, names[i])) && whole;
    if (whole) {
        a->done = strtoull(labels[0], NULL, 10);
        a->done_in_weights = strtoull(labels[1], NULL, 10);
        a->mark.jsonl = strtoull(labels[2], NULL, 10);
        a->mark.events = strtoull(labels[3], NULL, 10);
        snprintf(a->mark.events_file, sizeof a->mark.events_file, "%s", labels[4]);
    }
    wk_safetensors_close(file);
    return whole ? WK_OK
                 : wk_fail(err, WK_E_FORMAT,
                           "'%s/%s' is no checkpoint of an adaptation; begin anew with --restart",
                           a->folder, CHECKPOINT);
}

// Continues from the checkpoint, if there is one.
static wk_status resume(adapt *a, wk_error *err)
{
    bool there;
    WK_TRY(wk_file_exists_in(a->dir, CHECKPOINT, &there, err));
    if (!there) return WK_OK;
    WK_TRY(read_place(a, err));
    WK_TRY(wk_learner_restore_in(a->saved.learner, a->dir, CHECKPOINT, err));
    wk_log_line(&a->control->log, WK_LOG_INFO, "continuing from update %" PRIu64, a->done);
    if (a->done <= a->settings.updates) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' has %" PRIu64 " updates already, more than the %" PRIu64
                   " asked for; ask for more with --updates, or begin anew with --restart",
                   a->folder, a->done, a->settings.updates);
}

// What an adaptation writes comes after adapt.yaml: without that, it is not one's own.
static wk_status refuse_strangers(const adapt *a, wk_error *err)
{
    const char *const names[] = {CHECKPOINT, WEIGHTS, WK_METRICS_JSONL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_entry entry;
        uint64_t size;
        WK_TRY(wk_dir_look(a->dir, names[i], &entry, &size, err));
        if (entry != WK_ENTRY_NONE && size > 0)
            return wk_fail(err, WK_E_INPUT,
                           "'%s' has '%s' but no %s, and a new adaptation would overwrite it; put "
                           "the file back, or begin anew with --restart",
                           a->folder, names[i], TOLD);
    }
    return WK_OK;
}

// An existing adaptation resumes only with the same settings. With `known`, its data cutoff is
// reused.
static wk_status recall(adapt *a, bool *known, wk_error *err)
{
    WK_TRY(wk_file_exists_in(a->dir, TOLD, known, err));
    if (!*known) return refuse_strangers(a, err);
    wk_adapt_settings before;
    WK_TRY(wk_adapt_settings_read(a->dir, TOLD, &before, err));
    wk_status status = wk_adapt_settings_resumable(&before, &a->settings, err);
    if (status != WK_OK) {
        wk_fail_context(err, "'%s' holds another adaptation (--restart begins anew)", a->folder);
        return status;
    }
    if (a->config->updates == 0) a->settings.updates = before.updates;
    a->settings.cutoff = before.cutoff;
    a->settings.rows = before.rows;
    return WK_OK;
}

static wk_status check_data(const adapt *a, bool known, wk_error *err)
{
    wk_replay_stats stats = wk_replay_get_stats(a->replay);
    int length = a->saved.config.length;
    if (known && stats.rows != a->settings.rows)
        return wk_fail(
            err, WK_E_INPUT,
            "the run in '%s' has dropped episodes that this adaptation began with; begin "
            "anew with --restart",
            a->config->directory);
    if (wk_replay_sampleable(a->replay, length) > 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' keeps none of the episodes it had collected at step %" PRIu64
                   " that are %d steps long; take a later snapshot, or --all-data for what the run "
                   "has now",
                   a->config->directory, a->saved.step, length);
}

static wk_status open_data(adapt *a, bool known, wk_error *err)
{
    wk_saved_learner *s = &a->saved;
    WK_TRY(wk_run_data_open(a->config->directory, &s->config, s->world.domain, s->pool, &a->replay,
                            err));
    wk_data_cutoff now = wk_data_cutoff_now(a->replay), *wanted = &a->settings.cutoff;
    if (!known && a->config->all_data) *wanted = now;
    if (!known && !a->config->all_data) WK_TRY(wk_weights_data_cutoff(s->path, wanted, err));
    if (now.begun < wanted->begun)
        return wk_fail(err, WK_E_INPUT,
                       "the newest checkpoint of '%s' is older than its snapshot of step %" PRIu64
                       ": wait for the next one",
                       a->config->directory, s->step);
    wk_run_data_limit(a->replay, wanted);
    WK_TRY(check_data(a, known, err));
    a->settings.rows = wk_replay_get_stats(a->replay).rows;
    return wk_samples_create(&s->config, s->world.domain, s->backend, &a->samples, err);
}

static wk_status open_metrics(adapt *a, wk_error *err)
{
    // Steps of the logs are updates.
    wk_metrics_config metrics = {.in = a->dir,
                                 .logdir = ".",
                                 .tensorboard = a->saved.config.log_tensorboard,
                                 .timing = a->saved.config.log_timing,
                                 .action_repeat = 1,
                                 .log = &a->control->log};
    return wk_metrics_open(&metrics, &a->mark, &a->metrics, err);
}

// Whether there is something left to do. The data is not needed to find out that there is not.
static wk_status find_work(adapt *a, wk_error *err)
{
    bool weights;
    WK_TRY(wk_file_exists_in(a->dir, WEIGHTS, &weights, err));
    a->unfinished = a->done < a->settings.updates || a->done_in_weights != a->done || !weights;
    return WK_OK;
}

static wk_status open_parts(adapt *a, wk_error *err)
{
    bool known = false;
    WK_TRY(open_run(a, err));
    WK_TRY(take_folder(a, err));
    if (!a->config->restart) {
        WK_TRY(recall(a, &known, err));
        WK_TRY(resume(a, err));
    }
    WK_TRY(find_work(a, err));
    if (!a->unfinished) return WK_OK;
    WK_TRY(open_data(a, known, err));
    const wk_speed_point now = point_of(a);
    wk_speed_start(&a->speed, &now, 1);
    a->next_checkpoint = now.time + FIRST_CHECKPOINT_SECONDS;
    return WK_OK;
}

// Makes the folder that of this adaptation. What a restart replaces is there until then; metrics
// are emptied when they are opened without a mark.
static wk_status open_files(adapt *a, wk_error *err)
{
    if (a->config->restart) {
        WK_TRY(wk_dir_remove(a->dir, CHECKPOINT, err));
        WK_TRY(wk_dir_remove(a->dir, WEIGHTS, err));
    }
    WK_TRY(wk_sweep(a->dir, err));
    WK_TRY(wk_adapt_settings_write(&a->settings, a->dir, TOLD, err));
    return open_metrics(a, err);
}

static void close_parts(adapt *a)
{
    wk_metrics_close(a->metrics);
    wk_samples_free(&a->samples);
    wk_replay_destroy(a->replay);
    wk_lock_release(&a->lock);
    wk_dir_close(a->dir);
    wk_saved_learner_close(&a->saved);
}

static void announce(const adapt *a)
{
    const wk_log *log = &a->control->log;
    wk_replay_stats stats = wk_replay_get_stats(a->replay);
    wk_log_line(log, WK_LOG_INFO,
                "%s, snapshot of step %" PRIu64 ", tasks %s, %" PRIu64
                " updates, on %s: %s; %" PRIu64 " episodes, %" PRIu64 " steps of data",
                a->saved.world.domain->name, a->saved.step, a->settings.tasks, a->settings.updates,
                a->saved.device.name, a->saved.device.why, stats.episodes, stats.steps);
    uint64_t ended = a->settings.cutoff.begun - a->settings.cutoff.n_running;
    if (stats.episodes < ended)
        wk_log_line(log, WK_LOG_WARN,
                    "%" PRIu64 " of the %" PRIu64
                    " episodes collected by then have left the run's replay since",
                    ended - stats.episodes, ended);
}

static wk_status save_checkpoint(adapt *a, wk_error *err)
{
    double began = wk_clock_seconds(), minutes = a->saved.config.checkpoint_every_minutes;
    char updates[24], weights[24], metrics[24], events[24];
    WK_TRY(wk_lock_check(&a->lock, err));
    WK_TRY(wk_metrics_position(a->metrics, &a->mark, err));
    snprintf(updates, sizeof updates, "%" PRIu64, a->done);
    snprintf(weights, sizeof weights, "%" PRIu64, a->done_in_weights);
    snprintf(metrics, sizeof metrics, "%" PRIu64, a->mark.jsonl);
    snprintf(events, sizeof events, "%" PRIu64, a->mark.events);
    const wk_weights_label labels[] = {{"updates", updates},
                                       {"weights", weights},
                                       {"metrics", metrics},
                                       {"events", events},
                                       {"events_file", a->mark.events_file}};
    WK_TRY(wk_learner_save_labelled(a->saved.learner, a->dir, CHECKPOINT, labels,
                                    sizeof labels / sizeof *labels, err));
    double seconds = wk_clock_seconds();
    a->next_checkpoint = minutes > 0 ? seconds + 60 * minutes : INFINITY;
    a->saving += seconds - began;
    wk_log_line(&a->control->log, WK_LOG_DEBUG, "checkpoint at update %" PRIu64, a->done);
    return WK_OK;
}

static wk_status update(adapt *a, wk_error *err)
{
    wk_saved_learner *s = &a->saved;
    double began = wk_clock_seconds();
    WK_TRY(wk_samples_draw(&a->samples, a->replay, NULL, a->settings.seed, a->done, err));
    wk_samples_choose(&a->samples, s->tasks, s->n_tasks);
    a->sampling += wk_clock_seconds() - began;
    began = wk_clock_seconds();
    wk_learner_batch batch = wk_samples_view(&a->samples);
    WK_TRY(wk_learner_observe(s->learner, &batch, err));
    WK_TRY(wk_learner_update_tasks(s->learner, &batch, &a->last, err));
    a->done++;
    a->learning += wk_clock_seconds() - began;
    return WK_OK;
}

// Non-finite numbers skip their step; policies that produce nothing else have diverged for good.
static wk_status watch(adapt *a, wk_error *err)
{
    const char *fault = wk_task_metrics_nonfinite(&a->last, a->saved.n_tasks);
    a->faults = fault ? a->faults + 1 : 0;
    if (a->faults == 1)
        wk_log_line(&a->control->log, WK_LOG_WARN, "%s is not finite; the step is skipped", fault);
    if (a->faults < FAULTS_IN_A_ROW) return WK_OK;
    return wk_fail(err, WK_E_DIVERGED,
                   "%s was not finite in %d updates in a row; the last checkpoint is sound", fault,
                   a->faults);
}

static wk_status record(adapt *a, wk_error *err)
{
    if (a->done % in_updates(a, a->saved.config.log_every) != 0) return WK_OK;
    wk_metrics_scalar(a->metrics, "train_updates", (double)a->done);
    for (int k = 0; k < a->saved.n_tasks; k++)
        wk_metrics_add_task(a->metrics, a->saved.world.domain->tasks[a->saved.tasks[k]].name,
                            &a->last, k);
    double updates = wk_speed_updates(&a->speed); // unknown behind the very first
    if (!isnan(updates)) wk_metrics_timing(a->metrics, "time/updates_per_second", updates);
    return wk_metrics_write(a->metrics, (int64_t)a->done, err);
}

static void show(const adapt *a, bool last)
{
    if (!a->control->line) return;
    wk_status_values p = wk_status_values_empty();
    p.steps = p.updates = (int64_t)a->done;
    p.total = (int64_t)a->settings.updates;
    p.unit = "updates";
    p.updates_per_second = wk_speed_updates(&a->speed);
    p.seconds_left = wk_speed_left(&a->speed, 0, p.total);
    p.seconds[WK_PHASE_REPLAY] = a->sampling;
    p.seconds[WK_PHASE_LEARN] = a->learning;
    p.seconds[WK_PHASE_LOG] = a->saving;
    p.device = a->saved.device.name;
    p.why = a->saved.device.why;
    if (last)
        wk_status_line_finish(a->control->line, &p);
    else
        wk_status_line_update(a->control->line, &p, wk_clock_seconds());
}

static bool checkpoint_due(const adapt *a)
{
    int64_t steps = a->saved.config.checkpoint_every_steps;
    bool by_updates = steps > 0 && a->done % in_updates(a, steps) == 0;
    return by_updates || wk_clock_seconds() >= a->next_checkpoint;
}

static wk_status save_weights(adapt *a, wk_error *err)
{
    const wk_saved_learner *s = &a->saved;
    wk_weights_origin origin = {&s->config, s->world.domain, s->step, &a->settings.cutoff};
    WK_TRY(wk_lock_check(&a->lock, err));
    WK_TRY(wk_weights_save(s->learner, &origin, a->dir, WEIGHTS, err));
    a->done_in_weights = a->done;
    return WK_OK;
}

// Updates until all are done or a stop is requested. Files are opened after the first: what cannot
// be computed replaces nothing.
static wk_status make_updates(adapt *a, wk_run_end *end, wk_error *err)
{
    while (a->done < a->settings.updates) {
        if (a->control->stop && *a->control->stop) {
            *end = WK_RUN_INTERRUPTED;
            return WK_OK;
        }
        WK_TRY(update(a, err));
        const wk_speed_point now = point_of(a);
        wk_speed_observe(&a->speed, &now, false);
        WK_TRY(wk_lock_check(&a->lock, err));
        if (!a->metrics) WK_TRY(open_files(a, err));
        WK_TRY(watch(a, err));
        WK_TRY(record(a, err));
        show(a, false);
        if (checkpoint_due(a)) WK_TRY(save_checkpoint(a, err));
    }
    return WK_OK;
}

static wk_status loop(adapt *a, wk_run_end *end, wk_error *err)
{
    WK_TRY(make_updates(a, end, err));
    if (!a->metrics && *end == WK_RUN_FINISHED) WK_TRY(open_files(a, err));
    // The last checkpoint says that the weights are there, so it comes after them.
    if (*end == WK_RUN_FINISHED) WK_TRY(save_weights(a, err));
    if (a->metrics) WK_TRY(save_checkpoint(a, err));
    show(a, true);
    wk_log_line(&a->control->log, WK_LOG_INFO, "%s in %s",
                *end == WK_RUN_FINISHED ? "policies" : "unfinished policies", a->folder);
    return WK_OK;
}

wk_status wk_adapt(const wk_adapt_config *config, const wk_run_control *control, wk_run_end *end,
                   wk_error *err)
{
    adapt *a = calloc(1, sizeof *a);
    if (!a) return wk_fail(err, WK_E_MEMORY, "no memory to adapt");
    a->config = config;
    a->control = control;
    *end = WK_RUN_FINISHED;
    wk_status status = open_parts(a, err);
    if (status == WK_OK && a->unfinished) {
        announce(a);
        status = loop(a, end, err);
    }
    close_parts(a);
    free(a);
    return status;
}
