#include "train/train.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/limits.h"
#include "log/metrics.h"
#include "log/speed.h"
#include "run/lock.h"
#include "run/repair.h"
#include "run/sweep.h"
#include "run/weights_file.h"
#include "train/divergence.h"
#include "train/evaluation.h"
#include "train/trainer.h"
#include "train/training_images.h"
#include "train/training_metrics.h"
#include "train/update_time.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_CHARS = 4096, FAULTS_IN_A_ROW = 100 };
static const double FIRST_CHECKPOINT_SECONDS = 60, SLOW_SECONDS = 60;

// What a checkpoint keeps of the run around the trainer.
typedef struct note {
    wk_metrics_mark metrics;
    int64_t next_log, next_snapshot, next_images, next_eval; // agent steps
    int64_t last_eval;
} note;
_Static_assert(sizeof(note) <= WK_CHECKPOINT_NOTE_BYTES, "a note must fit into the checkpoint");

typedef struct run {
    const wk_run_config *config;
    const char *path;
    wk_dir *directory; // what `path` led to when the run began
    const wk_run_control *control;
    wk_lock lock;
    wk_trainer *trainer;
    wk_metrics *metrics;
    wk_training_images *images; // NULL: none wanted
    note *note;                 // inside the trainer
    double began, next_checkpoint_time;
    int64_t next_checkpoint_step;
    wk_speed speed;
    wk_update_time update_time; // measured before a prefill that somebody watches; else 0
    double saving_seconds, logging_seconds;
    int faults;      // updates in a row with numbers that are not finite
    int task_faults; // the same for the task policies
    wk_divergence divergence;
    wk_watchdog *watchdog; // of a plug-in; NULL: none
    bool new_directory;    // made by this run, whose lock it holds
    bool complete;         // it was when it was opened
    bool warned;           // that frames are no longer on the device
} run;

static void say(const run *r, wk_log_level level, const char *text)
{
    wk_log_line(&r->control->log, level, "%s", text);
}

static int64_t after(uint64_t steps, int64_t every)
{
    return every > 0 ? ((int64_t)steps / every + 1) * every : INT64_MAX;
}

static void sooner(int64_t *next, int64_t other)
{
    if (other < *next) *next = other;
}

// What a run writes to lies in its directory itself. Said at once and not at the first snapshot.
static wk_status refuse_links(const run *r, wk_error *err)
{
    static const char *const names[] = {"checkpoints", "replay", "snapshots", "eval",
                                        WK_METRICS_JSONL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_entry entry;
        WK_TRY(wk_dir_look(r->directory, names[i], &entry, NULL, err));
        if (entry == WK_ENTRY_LINK)
            return wk_fail(err, WK_E_INPUT,
                           "'%s/%s' is a symbolic link, and what lies behind it is not changed; "
                           "move what it leads to here, or link the whole directory '%s' instead",
                           r->path, names[i], r->path);
    }
    return WK_OK;
}

// A directory with a run in it resumes only with the settings it began with.
static wk_status check_config(const run *r, wk_error *err)
{
    bool there;
    char path[PATH_CHARS];
    WK_TRY(wk_file_exists_in(r->directory, "config.yaml", &there, err));
    if (!there) return WK_OK;
    snprintf(path, sizeof path, "%s/config.yaml", r->path);
    wk_run_config before;
    WK_TRY(wk_run_config_read(path, &before, err));
    wk_status status = wk_run_config_resumable(&before, r->config, err);
    if (status != WK_OK) wk_fail_context(err, "'%s' holds another run", r->path);
    return status;
}

static wk_status write_config(const run *r, wk_error *err)
{
    return wk_run_config_write_in(r->config, r->directory, "config.yaml", err);
}

static wk_speed_point point_of(const run *r, const wk_progress *now)
{
    return (wk_speed_point){wk_clock_seconds(), r->saving_seconds + r->logging_seconds, now->steps,
                            now->updates};
}

static void start_speed(run *r, const wk_progress *now)
{
    const wk_speed_point point = point_of(r, now);
    wk_speed_start(&r->speed, &point, r->config->train_every);
    if (r->update_time.seconds > 0) r->speed.update_seconds = r->update_time.seconds;
    r->speed.beside = r->update_time.beside;
}

// Before the trainer, so that there is never memory for two learners.
static wk_status time_update(run *r, wk_error *err)
{
    bool begun;
    WK_TRY(wk_file_exists_in(r->directory, "config.yaml", &begun, err));
    if (begun || !r->control->line || r->config->prefill == 0) return WK_OK;
    return wk_update_time_measure(r->config, r->control->code, &r->update_time, err);
}

static void say_slow(void *context, double seconds)
{
    char text[200];
    snprintf(text, sizeof text,
             "the plug-in's environments have not come back for %.0f s; if it goes on, end the "
             "program by interrupting it twice: the last checkpoint stays",
             seconds);
    say(context, WK_LOG_WARN, text);
}

// A run that has done all it was to do has nothing to write, not even other settings.
static wk_status find_complete(run *r, wk_error *err)
{
    wk_progress now = wk_trainer_progress(r->trainer);
    bool evaluated = r->config->eval_every == 0 || r->note->last_eval == (int64_t)now.steps;
    if (!now.finished || wk_trainer_resumed_from(r->trainer) < 0 || !evaluated ||
        r->control->finish)
        return WK_OK;
    char name[WK_STEP_NAME_MAX];
    wk_dir *snapshots = NULL;
    wk_step_name("", now.steps, ".safetensors", name);
    wk_status status = wk_dir_open(r->directory, "snapshots", &snapshots, err);
    if (status == WK_OK) status = wk_file_exists_in(snapshots, name, &r->complete, err);
    wk_dir_close(snapshots);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

static wk_status open_parts(run *r, wk_error *err)
{
    bool missing = !wk_path_exists(r->path);
    WK_TRY(wk_dir_create(r->path, err));
    WK_TRY(wk_dir_open(NULL, r->path, &r->directory, err));
    WK_TRY(wk_lock_take(r->directory, &r->lock, err));
    r->new_directory = missing;
    WK_TRY(refuse_links(r, err));
    WK_TRY(check_config(r, err));
    WK_TRY(time_update(r, err));
    WK_TRY(wk_trainer_create_in(r->config, r->control->code, r->directory, &r->trainer, err));
    r->note = wk_trainer_note(r->trainer);
    WK_TRY(find_complete(r, err));
    if (r->complete) return WK_OK;
    WK_TRY(wk_sweep(r->directory, err));
    WK_TRY(wk_run_plugins_record(r->control->code, r->directory, err));
    WK_TRY(write_config(r, err)); // not before: a run that cannot start leaves no directory
    if (r->control->code && r->control->code->plugin)
        WK_TRY(wk_watchdog_create(SLOW_SECONDS, say_slow, r, &r->watchdog, err));
    wk_trainer_watch(r->trainer, r->watchdog);
    wk_progress now = wk_trainer_progress(r->trainer);
    bool fresh = wk_trainer_resumed_from(r->trainer) < 0;
    if (fresh && r->control->prepare)
        WK_TRY(r->control->prepare(r->control->context, r->trainer, err));
    if (fresh)
        r->note->next_log = r->note->next_snapshot = r->note->next_images = r->note->next_eval =
            INT64_MAX;
    // What is overdue stays so; a shorter interval than before begins at once.
    sooner(&r->note->next_log, after(now.steps, r->config->log_every));
    sooner(&r->note->next_snapshot, after(now.steps, r->config->snapshot_every));
    sooner(&r->note->next_images, after(now.steps, r->config->log_images_every));
    sooner(&r->note->next_eval, after(now.steps, r->config->eval_every));
    // Stills and clips have no other place than TensorBoard files.
    if (r->config->log_images_every > 0 && r->config->log_tensorboard)
        WK_TRY(wk_training_images_create(r->trainer, &r->images, err));
    r->next_checkpoint_step = after(now.steps, r->config->checkpoint_every_steps);
    r->began = wk_clock_seconds();
    start_speed(r, &now);
    r->next_checkpoint_time = r->began + FIRST_CHECKPOINT_SECONDS;
    wk_metrics_config metrics = {.in = r->directory,
                                 .logdir = ".",
                                 .tensorboard = r->config->log_tensorboard,
                                 .timing = r->config->log_timing,
                                 .action_repeat = wk_trainer_domain(r->trainer)->action_repeat,
                                 .log = &r->control->log};
    return wk_metrics_open(&metrics, &r->note->metrics, &r->metrics, err);
}

// A run that could not begin leaves nothing behind; what holds more than the lock stays.
static void remove_directory(const run *r)
{
    bool begun;
    if (wk_file_exists_in(r->directory, "config.yaml", &begun, NULL) != WK_OK || begun) return;
    (void)wk_dir_remove(r->directory, "lock", NULL);
    (void)rmdir(r->path);
}

static void close_parts(run *r)
{
    wk_metrics_close(r->metrics);
    wk_training_images_destroy(r->images);
    wk_trainer_destroy(r->trainer);
    wk_watchdog_destroy(r->watchdog);
    wk_lock_release(&r->lock);
    wk_dir_close(r->directory);
}

static void announce(const run *r)
{
    static const double MIB = 1 << 20;
    char text[1024];
    const wk_device *device = wk_trainer_device(r->trainer);
    wk_learner_memory memory = wk_learner_get_memory(wk_trainer_learner(r->trainer));
    wk_replay_stats replay = wk_replay_get_stats(wk_trainer_replay(r->trainer));
    snprintf(text, sizeof text,
             "%s, %s, %s, seed %" PRIu64
             ", on %s: %s; learner %.0f MiB, replay at most %.0f MiB for %" PRIi64
             " steps, its frames for batches %s",
             wk_trainer_domain(r->trainer)->name,
             wk_curriculum_get_rule(wk_trainer_curriculum(r->trainer))->name,
             r->config->exploration, r->config->seed, device->name, device->why,
             ceil((double)(memory.state + memory.planned) / MIB),
             ceil((double)replay.bytes_limit / MIB), r->config->replay_capacity,
             wk_trainer_frame_placement(r->trainer, NULL));
    say(r, WK_LOG_INFO, text);
    uint64_t limit = wk_limits_now().memory, needed = memory.state + memory.planned;
    if (strcmp(device->name, "cpu") != 0) needed = 0; // the learner is on the device
    if (needed + replay.bytes_limit > limit)
        wk_log_line(&r->control->log, WK_LOG_WARN,
                    "learner and replay may need %.0f MiB, and the system lets this process have "
                    "%.0f (control group); ask for more, or lower replay.capacity",
                    ceil((double)(needed + replay.bytes_limit) / MIB), floor((double)limit / MIB));
    const char *trouble = wk_trainer_resume_note(r->trainer);
    if (*trouble) {
        snprintf(text, sizeof text,
                 "an older checkpoint is used, because %.400s; what cannot be used is kept, with "
                 "'damaged' before its name",
                 trouble);
        say(r, WK_LOG_WARN, text);
    }
    if (wk_trainer_resumed_from(r->trainer) >= 0) {
        snprintf(text, sizeof text, "continuing from step %" PRId64,
                 wk_trainer_resumed_from(r->trainer));
        say(r, WK_LOG_INFO, text);
    }
    char repairs[WK_REPAIRS_TEXT_MAX];
    if (wk_run_repairs_text(r->path, repairs, NULL) != WK_OK || *repairs)
        say(r, WK_LOG_WARN, *repairs ? repairs : WK_REPAIRS_FILE " cannot be read");
}

// What a run will take is said before hours are spent on its prefill.
static void announce_time(const run *r)
{
    static const double LONG_SECONDS = 7 * 86400;
    double updates = (double)(r->config->steps - r->config->prefill) / r->config->train_every;
    double seconds = updates * r->update_time.seconds;
    if (r->update_time.seconds == 0 || updates < 1) return;
    wk_text duration = {0};
    wk_duration_text(seconds, &duration);
    wk_log_line(&r->control->log, seconds > LONG_SECONDS ? WK_LOG_WARN : WK_LOG_INFO,
                "an update takes %.3g s here: the run's %.0f updates will take %s%s",
                r->update_time.seconds, updates, wk_text_get(&duration),
                seconds > LONG_SECONDS
                    ? "; smaller presets are 'small' and 'quick' (waker config --list)"
                    : "");
    wk_text_free(&duration);
}

static wk_status save_checkpoint(run *r, wk_error *err)
{
    double began = wk_clock_seconds();
    WK_TRY(wk_lock_check(&r->lock, err));
    WK_TRY(wk_metrics_position(r->metrics, &r->note->metrics, err));
    WK_TRY(wk_trainer_save(r->trainer, err));
    wk_progress now = wk_trainer_progress(r->trainer);
    r->next_checkpoint_step = after(now.steps, r->config->checkpoint_every_steps);
    double seconds = wk_clock_seconds(), minutes = r->config->checkpoint_every_minutes;
    r->next_checkpoint_time = minutes > 0 ? seconds + 60 * minutes : INFINITY;
    r->saving_seconds += seconds - began;
    char text[120];
    snprintf(text, sizeof text, "checkpoint at step %" PRIu64 " in %.2f s", now.steps,
             seconds - began);
    say(r, WK_LOG_DEBUG, text);
    return WK_OK;
}

static wk_status save_snapshot(run *r, uint64_t steps, wk_error *err)
{
    wk_dir *snapshots = NULL;
    char name[WK_STEP_NAME_MAX];
    WK_TRY(wk_lock_check(&r->lock, err));
    WK_TRY(wk_dir_make(r->directory, "snapshots", &snapshots, err));
    wk_step_name("", steps, ".safetensors", name);
    wk_data_cutoff cutoff = wk_data_cutoff_now(wk_trainer_replay(r->trainer));
    wk_weights_origin origin = {r->config, wk_trainer_domain(r->trainer), steps, &cutoff};
    wk_status status =
        wk_weights_save(wk_trainer_learner(r->trainer), &origin, snapshots, name, err);
    wk_dir_close(snapshots);
    return status;
}

// Numbers of the clock: TensorBoard has them always, metrics.jsonl only if asked.
static void record_timing(run *r)
{
    wk_time_split times = wk_trainer_times(r->trainer);
    double passed = wk_clock_seconds() - r->began;
    double repeat = wk_trainer_domain(r->trainer)->action_repeat;
    double steps = wk_speed_steps(&r->speed), updates = wk_speed_updates(&r->speed);
    // Behind the very first update they may not be known.
    if (!isnan(steps)) wk_metrics_timing(r->metrics, "fps", repeat * steps);
    if (!isnan(updates)) wk_metrics_timing(r->metrics, "time/updates_per_second", updates);
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"time/act", times.act},
                 {"time/env", times.env_wait},
                 {"time/render", times.render_wait},
                 {"time/replay", times.sample + times.store},
                 {"time/learn", times.learn},
                 {"time/log", r->logging_seconds},
                 {"time/checkpoint", r->saving_seconds}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        wk_metrics_timing(r->metrics, parts[i].name, parts[i].seconds / passed);
}

static wk_status record_images(run *r, const wk_progress *now, wk_error *err)
{
    if ((int64_t)now->steps < r->note->next_images) return WK_OK;
    r->note->next_images = after(now->steps, r->config->log_images_every);
    if (!r->images || now->prefilling) return WK_OK;
    WK_TRY(wk_training_images_heatmap(r->images, r->metrics, err));
    return wk_training_images_open_loop(r->images, r->metrics, err);
}

static wk_status record(run *r, const wk_iteration *done, const wk_progress *now, wk_error *err)
{
    double began = wk_clock_seconds();
    if (done->n_ended > 0) {
        wk_metrics_add_episodes(r->metrics, wk_trainer_domain(r->trainer), done);
        WK_TRY(wk_metrics_write(r->metrics, (int64_t)now->steps, err));
    }
    // Only iterations with an update have metrics; the first one past the mark is logged.
    if ((int64_t)now->steps >= r->note->next_log && done->updates > 0) {
        wk_metrics_add_learner(r->metrics, r->trainer, done, now);
        record_timing(r);
        r->note->next_log = after(now->steps, r->config->log_every);
        WK_TRY(record_images(r, now, err));
        WK_TRY(wk_metrics_write(r->metrics, (int64_t)now->steps, err));
    }
    if ((int64_t)now->steps >= r->note->next_snapshot) {
        r->note->next_snapshot = after(now->steps, r->config->snapshot_every);
        WK_TRY(save_snapshot(r, now->steps, err));
    }
    r->logging_seconds += wk_clock_seconds() - began;
    return WK_OK;
}

// Task policies are evaluated as they are in a snapshot of the same step.
static wk_status evaluate(run *r, wk_error *err)
{
    double began = wk_clock_seconds();
    bool done;
    uint64_t steps = wk_trainer_progress(r->trainer).steps;
    wk_log_line(&r->control->log, WK_LOG_INFO, "evaluating task policies at step %" PRIu64, steps);
    WK_TRY(save_snapshot(r, steps, err));
    WK_TRY(wk_evaluation_run(r->trainer, r->directory, r->control->stop, &r->control->log,
                             r->metrics, &done, err));
    r->logging_seconds += wk_clock_seconds() - began;
    // One that was given up is still due, and made up for when the run goes on.
    if (!done) return WK_OK;
    r->note->next_eval = after(steps, r->config->eval_every);
    r->note->last_eval = (int64_t)steps;
    return wk_metrics_write(r->metrics, (int64_t)steps, err);
}

static wk_status evaluate_if_due(run *r, wk_error *err)
{
    wk_progress now = wk_trainer_progress(r->trainer);
    bool due = r->config->eval_every > 0 && (int64_t)now.steps >= r->note->next_eval;
    return due && !now.prefilling ? evaluate(r, err) : WK_OK;
}

// The last point of the learning curves, unless the loop has just made it. The same command makes
// up for one that was given up.
static wk_status evaluate_at_end(run *r, wk_run_end *end, wk_error *err)
{
    int64_t steps = (int64_t)wk_trainer_progress(r->trainer).steps;
    if (r->config->eval_every == 0 || steps == r->note->last_eval) return WK_OK;
    WK_TRY(evaluate(r, err));
    if (steps != r->note->last_eval) *end = WK_RUN_INTERRUPTED;
    return WK_OK;
}

static void watch_images(run *r)
{
    bool device_full;
    char text[512];
    const char *place = wk_trainer_frame_placement(r->trainer, &device_full);
    if (!device_full || r->warned) return;
    snprintf(text, sizeof text, "the replay's frames for batches are now %s", place);
    say(r, WK_LOG_WARN, text);
    r->warned = true;
}

// Policies that do not learn do not stop the world model; the count of skipped updates goes into
// the metrics.
static void watch_tasks(run *r, const wk_iteration *done)
{
    int tasks = wk_learner_get_config(wk_trainer_learner(r->trainer))->tasks;
    const char *fault = tasks > 0 ? wk_task_metrics_nonfinite(&done->tasks, tasks) : NULL;
    r->task_faults = fault ? r->task_faults + 1 : 0;
    if (r->task_faults != 1 && r->task_faults != FAULTS_IN_A_ROW) return;
    char text[240];
    if (r->task_faults == 1)
        snprintf(text, sizeof text,
                 "task policies: %s is not finite; their update is skipped and counted", fault);
    else
        snprintf(text, sizeof text,
                 "task policies: %s was not finite in %d updates in a row; they do not learn, see "
                 "whether the domain's rewards are of the order of 1",
                 fault, r->task_faults);
    say(r, WK_LOG_WARN, text);
}

// Non-finite numbers skip their update; a learner that produces nothing else has diverged for good.
static wk_status watch(run *r, const wk_iteration *done, wk_error *err)
{
    WK_TRY(wk_divergence_watch(&r->divergence, r->config->env_count, done, &r->control->log, err));
    if (done->updates == 0) return WK_OK;
    watch_tasks(r, done);
    const char *fault = wk_learner_metrics_nonfinite(&done->learner);
    r->faults = fault ? r->faults + 1 : 0;
    if (r->faults == 1) {
        char text[160];
        snprintf(text, sizeof text, "%s is not finite; the update is skipped and counted", fault);
        say(r, WK_LOG_WARN, text);
    }
    if (r->faults < FAULTS_IN_A_ROW) return WK_OK;
    return wk_fail(err, WK_E_DIVERGED,
                   "%s was not finite in %d updates in a row; the last checkpoint is sound: go on "
                   "from it with a smaller model.rate",
                   fault, r->faults);
}

static void show(run *r, const wk_iteration *done, const wk_progress *now, bool last)
{
    if (!r->control->line) return;
    wk_time_split times = wk_trainer_times(r->trainer);
    wk_status_values p = wk_status_values_empty();
    p.steps = (int64_t)now->steps;
    p.total = r->config->steps;
    p.updates = (int64_t)now->updates;
    p.diverged = (int64_t)now->diverged;
    p.updates_per_second = wk_speed_updates(&r->speed);
    p.seconds[WK_PHASE_ENV] = times.env_wait + times.act;
    p.seconds[WK_PHASE_RENDER] = times.render_wait;
    p.seconds[WK_PHASE_REPLAY] = times.sample + times.store;
    p.seconds[WK_PHASE_LEARN] = times.learn;
    p.seconds[WK_PHASE_LOG] = r->saving_seconds + r->logging_seconds;
    p.seconds_left = wk_speed_left(&r->speed, r->config->prefill, p.total);
    if (done->learner.model_loss != 0) {
        p.model_loss = done->learner.model_loss;
        p.mean_error = done->learner.disagreement;
    }
    p.device = wk_trainer_device(r->trainer)->name;
    p.why = wk_trainer_device(r->trainer)->why;
    if (last)
        wk_status_line_finish(r->control->line, &p);
    else
        wk_status_line_update(r->control->line, &p, wk_clock_seconds());
}

static bool checkpoint_due(const run *r, const wk_progress *now)
{
    return (int64_t)now->steps >= r->next_checkpoint_step ||
           wk_clock_seconds() >= r->next_checkpoint_time;
}

static bool should_end(const run *r, const wk_progress *now, wk_run_end *end)
{
    double minutes = r->config->minutes;
    if (now->finished)
        *end = WK_RUN_FINISHED;
    else if (r->control->stop && *r->control->stop)
        *end = WK_RUN_INTERRUPTED;
    else if (minutes > 0 && wk_clock_seconds() - r->began >= 60 * minutes)
        *end = WK_RUN_OUT_OF_TIME;
    else
        return false;
    return true;
}

static wk_status loop(run *r, wk_run_end *end, wk_error *err)
{
    wk_progress now = wk_trainer_progress(r->trainer);
    static const wk_iteration nothing;
    const wk_iteration *done = &nothing;
    WK_TRY(evaluate_if_due(r, err));
    while (!should_end(r, &now, end)) {
        bool prefilling = now.prefilling;
        WK_TRY(wk_lock_check(&r->lock, err)); // the step goes into the replay log
        WK_TRY(wk_trainer_step(r->trainer, &done, err));
        now = wk_trainer_progress(r->trainer);
        const wk_speed_point point = point_of(r, &now);
        wk_speed_observe(&r->speed, &point, prefilling);
        watch_images(r);
        WK_TRY(watch(r, done, err));
        WK_TRY(record(r, done, &now, err));
        WK_TRY(evaluate_if_due(r, err));
        show(r, done, &now, false);
        if (checkpoint_due(r, &now)) WK_TRY(save_checkpoint(r, err));
    }
    WK_TRY(save_checkpoint(r, err));
    if (*end == WK_RUN_FINISHED) WK_TRY(wk_divergence_finish(&now, err));
    if (*end == WK_RUN_FINISHED) WK_TRY(save_snapshot(r, now.steps, err));
    if (*end == WK_RUN_FINISHED) WK_TRY(evaluate_at_end(r, end, err));
    if (*end == WK_RUN_FINISHED && r->control->finish) WK_TRY(wk_lock_check(&r->lock, err));
    if (*end == WK_RUN_FINISHED && r->control->finish)
        WK_TRY(r->control->finish(r->control->context, r->trainer, err));
    show(r, done, &now, true);
    return WK_OK;
}

wk_status wk_train(const wk_run_config *config, const char *directory,
                   const wk_run_control *control, wk_run_end *end, wk_error *err)
{
    run r = {.config = config, .path = directory, .control = control};
    wk_status status = open_parts(&r, err);
    if (status != WK_OK && r.new_directory) remove_directory(&r);
    if (status == WK_OK && r.complete) {
        say(&r, WK_LOG_INFO, "all steps are done already; nothing is changed");
        *end = WK_RUN_FINISHED;
    } else if (status == WK_OK) {
        announce(&r);
        announce_time(&r);
        status = loop(&r, end, err);
    }
    close_parts(&r);
    return status;
}
