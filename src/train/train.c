#include "train/train.h"

#include "base/file.h"
#include "base/machine.h"
#include "env/domain.h"
#include "env/plugins/plugin.h"
#include "run/disk.h"
#include "run/weights.h"
#include "train/evaluation.h"
#include "train/metrics.h"
#include "train/trainer.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct run {
    wk_long_run loop;
    const wk_run_config *config;
    const wk_train_extras *extras;
    wk_trainer *trainer;
    wk_open_loop *images; // predictions, from the first clip on
    bool time_is_unsaid;  // what its updates will take is to be said
    int idle_exploration; // updates in a row in which the exploration policy learned nothing
    bool said_idle;       // that there were many
    wk_divergence divergence;
    bool warned;       // that frames are no longer on the device
    int unsaved;       // episodes that ended because their state was not saved
    double last_score; // mean of the last evaluation; NaN before the first
} run;

static const wk_log *log_of(const run *r)
{
    return &r->loop.control->log;
}

static void steps_text(const run *r, uint64_t steps, char out[WK_STEPS_TEXT_MAX])
{
    wk_steps_text(steps, r->trainer->domain->action_repeat, out);
}

// Takes the directory, and checks that the run may go on there.
static wk_status enter(run *r, const char *directory, wk_error *err)
{
    static const char *const names[] = {"checkpoints", "replay", "snapshots", "eval",
                                        WK_METRICS_JSONL};
    WK_TRY(wk_long_run_open(&r->loop, r->extras->within, directory, err));

    // What a run writes to lies in its directory itself. Refused at once and not at the first
    // snapshot.
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_entry entry;
        WK_TRY(wk_dir_stat(r->loop.dir, names[i], &entry, NULL, err));
        if (entry == WK_ENTRY_LINK)
            return wk_fail(err, WK_E_INPUT,
                           "'%s/%s' is a symbolic link, and nothing is written through it; move "
                           "its target here, or link the whole directory '%s' instead",
                           r->loop.path, names[i], r->loop.path);
    }

    // A directory with a run in it resumes only with the settings it began with.
    bool there;
    char path[WK_PATH_MAX];
    WK_TRY(wk_file_exists_in(r->loop.dir, "config.yaml", &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_path_print(path, err, "%s/config.yaml", r->loop.path));
    wk_run_config before;
    WK_TRY(wk_run_config_read(path, &before, err));
    wk_status status = wk_run_config_resumable(&before, r->config, err);
    if (status != WK_OK) wk_fail_context(err, "'%s' holds another run", r->loop.path);
    return status;
}

// Everything between a resumed trainer and its first iteration.
static wk_status prepare(run *r, wk_error *err)
{
    wk_trainer *t = r->trainer;
    wk_run_schedule *schedule = &t->schedule;
    const wk_run_config *config = r->config;
    const wk_train_extras *extras = r->extras;
    wk_progress now = wk_trainer_progress(t);
    bool fresh = t->checkpoints.resumed_from < 0;

    // A run that has done all it was to do has nothing to write, not even other settings.
    bool evaluated = config->eval_every == 0 || schedule->last_eval == (int64_t)now.steps;
    if (now.finished && !fresh && evaluated) {
        char name[WK_STEP_NAME_MAX];
        wk_step_name("snapshots/", now.steps, ".safetensors", name);
        WK_TRY(wk_file_exists_in(r->loop.dir, name, &r->loop.over, err));
        if (r->loop.over && extras->is_finished)
            WK_TRY(extras->is_finished(extras->context, t, &r->loop.over, err));
        if (r->loop.over) return WK_OK;
    }

    WK_TRY(wk_leftovers_remove(r->loop.dir, err));
    WK_TRY(wk_run_plugins_record(extras->code, r->loop.dir, err));
    // Not before: a run that cannot start leaves no directory.
    WK_TRY(wk_run_config_write_in(config, r->loop.dir, "config.yaml", err));
    if (!fresh) WK_TRY(wk_trainer_end_episodes(t, &r->unsaved, err));
    if (fresh && extras->prepare) WK_TRY(extras->prepare(extras->context, t, err));

    // What is overdue stays so; a shorter interval than before begins at once.
    const struct {
        int64_t *next, every;
    } due[] = {{&schedule->next_log, config->log_every},
               {&schedule->next_snapshot, config->snapshot_every},
               {&schedule->next_images, config->log_images_every},
               {&schedule->next_eval, config->eval_every}};
    for (size_t i = 0; i < sizeof due / sizeof *due; i++) {
        int64_t next = wk_next_multiple(wk_trainer_progress(t).steps, due[i].every);
        if (fresh || next < *due[i].next) *due[i].next = next;
    }
    wk_long_run_start(&r->loop);
    return wk_long_run_metrics(&r->loop, &schedule->metrics, t->domain->action_repeat, err);
}

// From where a run goes on, and what was wrong there.
static void announce_resumption(const run *r)
{
    const wk_checkpoints *from = &r->trainer->checkpoints;
    const wk_domain *domain = r->trainer->domain;
    if (*from->trouble)
        wk_log_line(log_of(r), WK_LOG_WARN,
                    "using an older checkpoint, because %.400s; files that cannot be used are "
                    "kept, with 'damaged' before their names",
                    from->trouble);
    char steps[WK_STEPS_TEXT_MAX];
    if (from->resumed_from < 0) return;
    steps_text(r, (uint64_t)from->resumed_from, steps);
    wk_log_line(log_of(r), WK_LOG_INFO, "resuming after %s", steps);
    if (from->engine != wk_domain_engine(domain)) {
        char made[WK_ENGINE_CHARS], here[WK_ENGINE_CHARS];
        wk_engine_print(from->engine, made);
        wk_engine_print(wk_domain_engine(domain), here);
        wk_log_line(log_of(r), WK_LOG_WARN,
                    "this run was made with MuJoCo %s and continues with %s: from here on its "
                    "episodes are not those of a run that was never interrupted",
                    made, here);
    }
    if (r->unsaved > 0)
        wk_log_line(log_of(r), WK_LOG_WARN,
                    "the environments of %s cannot save their state: the %d episodes that were "
                    "running end where the run stopped, and new ones begin; the results differ "
                    "from those of a run that was never interrupted",
                    domain->name, r->unsaved);
}

// What is said of runs before they go on: what each is, and what they need together.
static void announce(const run *runs, int count)
{
    static const double MIB = 1 << 20;
    const wk_log *log = log_of(runs);
    const wk_trainer *first = runs->trainer;
    const wk_device *device = &first->population->device;
    double learners = 0, replays = 0, limit = (double)wk_limits_now().memory / MIB; // MiB
    for (int i = 0; i < count; i++) {
        wk_learner_memory memory = wk_learner_get_memory(runs[i].trainer->learner);
        learners += ceil((double)(memory.state + memory.planned) / MIB);
        replays += ceil((double)wk_replay_get_stats(runs[i].trainer->replay).bytes_limit / MIB);
    }

    // One among several shares its device with the others.
    for (int i = 0; i < count; i++) {
        const run *r = &runs[i];
        const wk_run_config *config = r->config;
        const char *rule = wk_curriculum_get_rule(r->trainer->curriculum)->name;
        char steps[WK_STEPS_TEXT_MAX];
        steps_text(r, (uint64_t)config->steps, steps);
        if (count > 1)
            wk_log_line(log, WK_LOG_INFO, "%s: %s, %s, seed %" PRIu64 ", to %s", r->loop.name, rule,
                        config->exploration, config->seed, steps);
        else if (!r->loop.over)
            wk_log_line(log, WK_LOG_INFO,
                        "%s, %s, %s, seed %" PRIu64
                        ", to %s, on %s: %s; learner %.0f MiB, replay at most %.0f MiB for %" PRIi64
                        " agent steps, its frames for batches %s",
                        first->domain->name, rule, config->exploration, config->seed, steps,
                        device->name, device->why, learners, replays, config->replay_capacity,
                        first->frame_placement);
        if (r->loop.over)
            wk_log_line(log, WK_LOG_INFO, "all agent steps are already done; nothing is changed");
        else
            announce_resumption(r);
    }

    double host = replays + (device->number < 0 ? learners : 0);
    const char *several = count > 1 ? "s" : "";
    if (host > limit)
        wk_log_line(log, WK_LOG_WARN,
                    "learner%s and replay%s may need %.0f MiB, but this process may use only %.0f "
                    "(control group); request more, or lower replay.capacity",
                    several, several, host, floor(limit));
    if (count > 1)
        wk_log_line(log, WK_LOG_INFO,
                    "%d runs of %s together on %s: %s; learners %.0f MiB, replays at most %.0f "
                    "MiB, their frames for batches %s",
                    count, first->domain->name, device->name, device->why, learners, replays,
                    first->frame_placement);
    const char *slow[] = {wk_program_slow_path(wk_learner_model_program(first->learner)),
                          wk_program_slow_path(wk_learner_update_program(first->learner))};
    for (int i = 0; i < 2; i++)
        if (*slow[i] && (i == 0 || strcmp(slow[0], slow[1]) != 0))
            wk_log_line(log, WK_LOG_WARN,
                        "updates take longer on the GPU than these sizes would suggest: %s",
                        slow[i]);
}

// What the updates of a run will take is said when a second of them, or twenty, have been measured.
static void announce_time(run *r, const wk_progress *now)
{
    static const double LONG_SECONDS = 7 * 86400;
    const double updates = (double)(r->config->steps - r->config->prefill) / r->config->train_every;
    const double each = 1 / wk_speed_updates(&r->loop.speed);
    bool measured = r->loop.speed.learned_seconds >= 1 || now->updates >= 20;
    if (!r->time_is_unsaid || isnan(each) || !measured) return;
    r->time_is_unsaid = false;
    char duration[WK_DURATION_TEXT_MAX];
    bool is_long = updates * each > LONG_SECONDS;
    wk_log_line(log_of(r), is_long ? WK_LOG_WARN : WK_LOG_INFO,
                "an update takes %.3g s here: the run's %.0f updates will take %s%s", each, updates,
                wk_duration_text(updates * each, duration),
                is_long ? "; smaller presets are 'small' and 'quick' (waker config --list)" : "");
}

static wk_status save(void *context, wk_error *err)
{
    return wk_checkpoints_save(&((run *)context)->trainer->checkpoints, err);
}

static wk_status save_snapshot(run *r, uint64_t steps, wk_error *err)
{
    wk_dir *snapshots = NULL;
    char name[WK_STEP_NAME_MAX];
    WK_TRY(wk_lock_check(&r->loop.lock, err));
    WK_TRY(wk_dir_make(r->loop.dir, "snapshots", &snapshots, err));
    wk_step_name("", steps, ".safetensors", name);
    wk_data_cutoff cutoff = wk_data_cutoff_now(r->trainer->replay);
    wk_weights_origin origin = {r->config, r->trainer->domain, steps, &cutoff};
    wk_status status = wk_weights_save(r->trainer->learner, &origin, snapshots, name, err);
    wk_dir_close(snapshots);
    return status;
}

// Numbers of the clock: TensorBoard has them always, metrics.jsonl only if asked.
static void record_timing(run *r)
{
    wk_time_split times = wk_trainer_times(r->trainer);
    double passed = wk_clock_seconds() - r->loop.began;
    double repeat = r->trainer->domain->action_repeat;
    double steps = wk_speed_steps(&r->loop.speed), updates = wk_speed_updates(&r->loop.speed);
    // Behind the very first update they may not be known.
    if (!isnan(steps)) wk_metrics_timing(r->loop.metrics, "fps", repeat * steps);
    if (!isnan(updates)) wk_metrics_timing(r->loop.metrics, "time/updates_per_second", updates);
    const struct {
        const char *name;
        double seconds;
    } parts[] = {{"time/act", times.act},
                 {"time/env", times.env_wait},
                 {"time/render", times.render_wait},
                 {"time/replay", times.sample + times.store},
                 {"time/learn", times.learn},
                 {"time/log", r->loop.logging_seconds},
                 {"time/checkpoint", r->loop.saving_seconds}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        wk_metrics_timing(r->loop.metrics, parts[i].name, parts[i].seconds / passed);
}

static wk_status record_iteration(run *r, const wk_progress *now, wk_error *err)
{
    const wk_iteration *done = &r->trainer->iteration;
    const wk_run_config *config = r->config;
    wk_run_schedule *schedule = &r->trainer->schedule;
    wk_metrics *metrics = r->loop.metrics;
    int64_t steps = (int64_t)now->steps;
    announce_time(r, now);
    if (done->n_ended > 0) {
        wk_metrics_add_episodes(metrics, r->trainer->domain, done);
        WK_TRY(wk_metrics_write(metrics, steps, err));
    }
    // Only iterations with an update have metrics; the first one past the mark is logged. Stills
    // and clips have no other place than TensorBoard files.
    if (steps >= schedule->next_log && done->updates > 0) {
        wk_metrics_add_learner(metrics, r->trainer, done, now);
        record_timing(r);
        schedule->next_log = wk_next_multiple(now->steps, config->log_every);
        if (steps >= schedule->next_images) {
            schedule->next_images = wk_next_multiple(now->steps, config->log_images_every);
            if (config->log_images_every > 0 && config->log_tensorboard && !now->prefilling)
                WK_TRY(wk_metrics_add_images(metrics, r->trainer, &r->images, err));
        }
        WK_TRY(wk_metrics_write(metrics, steps, err));
    }
    if (steps < schedule->next_snapshot) return WK_OK;
    schedule->next_snapshot = wk_next_multiple(now->steps, config->snapshot_every);
    return save_snapshot(r, now->steps, err);
}

// Task policies are evaluated as they are in a snapshot of the same step.
static wk_status evaluate(run *r, wk_error *err)
{
    wk_evaluation_end end;
    uint64_t steps = wk_trainer_progress(r->trainer).steps;
    char text[WK_STEPS_TEXT_MAX];
    steps_text(r, steps, text);
    wk_log_line(log_of(r), WK_LOG_INFO, "evaluating task policies after %s", text);
    WK_TRY(save_snapshot(r, steps, err));
    WK_TRY(wk_evaluation_run(r->trainer, r->loop.dir, r->loop.control->stop, log_of(r),
                             r->loop.metrics, &end, err));
    // One that was given up is still due, and made up for when the run goes on.
    if (!end.done) return WK_OK;
    r->last_score = end.mean;
    r->trainer->schedule.next_eval = wk_next_multiple(steps, r->config->eval_every);
    r->trainer->schedule.last_eval = (int64_t)steps;
    return wk_metrics_write(r->loop.metrics, (int64_t)steps, err);
}

static wk_status evaluate_if_due(void *context, wk_error *err)
{
    run *r = context;
    wk_progress now = wk_trainer_progress(r->trainer);
    bool due = r->config->eval_every > 0 && (int64_t)now.steps >= r->trainer->schedule.next_eval;
    return due && !now.prefilling ? evaluate(r, err) : WK_OK;
}

static wk_status record(void *context, wk_error *err)
{
    run *r = context;
    wk_progress now = wk_trainer_progress(r->trainer);
    WK_TRY(record_iteration(r, &now, err));
    return evaluate_if_due(r, err);
}

// An actor whose outputs are all saturated has no gradient and acts alike in every state. It may
// stay so for the rest of the run, and the losses do not show it.
static void watch_exploration(run *r)
{
    enum { IDLE_UPDATES = 1000 };
    const wk_policy_metrics *m = &r->trainer->iteration.learner.explore;
    bool acts = strcmp(r->config->exploration, "plan2explore") == 0 &&
                strcmp(r->config->acting, "exploration") == 0;
    bool idle = acts && wk_actor_gradient_vanished((double)m->actor_norm, (double)m->value);
    r->idle_exploration = idle ? r->idle_exploration + r->trainer->iteration.updates : 0;
    if (r->idle_exploration < IDLE_UPDATES || r->said_idle) return;
    r->said_idle = true;
    const wk_learner_config *c = wk_learner_get_config(r->trainer->learner);
    wk_log_line(log_of(r), WK_LOG_WARN,
                "the exploration policy has learned nothing in %d updates: it is saturated, its "
                "gradient is %.1g, and it acts alike in every state; start a new run with a larger "
                "policy.saturation_scale (now %g) or a lower policy.exploration_rate (now %g), see "
                "docs/training.md",
                r->idle_exploration, (double)m->actor_norm, (double)c->saturation_scale,
                (double)wk_config_exploration_rate(c));
}

// What was collected and learned before an environment failed at its reset is kept. It is no error
// of usage: the run went well until then.
static wk_status end_at_reset(run *r, wk_error *err)
{
    wk_error second = {0};
    wk_progress now = wk_trainer_progress(r->trainer);
    wk_status status = record_iteration(r, &now, &second);
    if (status == WK_OK) status = wk_long_run_save(&r->loop, &second);
    if (status == WK_OK)
        wk_log_line(log_of(r), WK_LOG_INFO,
                    "a checkpoint was saved; the same command continues with the next episode");
    else
        wk_log_line(log_of(r), WK_LOG_WARN, "no checkpoint was saved: %s", second.message);
    if (*r->config->plugin) wk_fail_context(err, "plug-in '%s'", r->config->plugin);
    return err->status = WK_E_DIVERGED;
}

// What the trainers' common step brought to this run.
static wk_status step(void *context, wk_error *err)
{
    run *r = context;
    wk_trainer *t = r->trainer;
    const wk_iteration *done = &t->iteration;
    const wk_run_plugins *code = r->extras->code;
    const wk_log *log = log_of(r);

    // What happened in processes of the plug-in.
    if (code && code->plugin) {
        wk_text lines = {0};
        wk_plugin_take_events(code->plugin, &lines);
        wk_plugin_last_failure(code->plugin, r->divergence.why);
        for (const char *line = wk_text_get(&lines); *line; line += strcspn(line, "\n") + 1)
            wk_log_line(log, WK_LOG_WARN, "%.*s", (int)strcspn(line, "\n"), line);
        wk_text_free(&lines);
    }
    if (t->status != WK_OK && err) *err = t->error;
    if (t->status != WK_OK)
        return t->resets_failed && !t->stopped ? end_at_reset(r, err) : t->status;

    if (t->device_full && !r->warned)
        wk_log_line(log, WK_LOG_WARN, "the replay's frames for batches are now %s",
                    t->frame_placement);
    r->warned |= t->device_full;
    WK_TRY(wk_divergence_check(&r->divergence, r->config, done, log, err));
    if (done->updates == 0) return WK_OK;

    // Policies that do not learn do not stop the world model; the count of skipped updates goes
    // into the metrics.
    const wk_nonfinite_updates *tasks = &done->task_nonfinite;
    if (tasks->first)
        wk_log_line(log, WK_LOG_WARN,
                    "task policies: %s is not finite; their update is skipped and counted",
                    tasks->metric);
    if (tasks->too_many)
        wk_log_line(log, WK_LOG_WARN,
                    "task policies: %s was not finite in %d updates in a row; they do not learn; "
                    "check that the domain's rewards are of the order of 1",
                    tasks->metric, WK_NONFINITE_MAX);
    watch_exploration(r);
    return wk_long_run_check_updates(&r->loop, &done->nonfinite,
                                     "the update is skipped and counted",
                                     ". Start a new run with a smaller model.rate", err);
}

static wk_run_position position(const void *context)
{
    wk_progress now = wk_trainer_progress(((const run *)context)->trainer);
    return (wk_run_position){now.steps, now.updates, now.prefilling};
}

static void show(const void *context, wk_run_row *row)
{
    const run *r = context;
    const wk_trainer *t = r->trainer;
    const wk_device *device = &t->population->device;
    wk_status_values *values = &row->values;
    wk_time_split times = wk_trainer_times(t);
    int repeat = t->domain->action_repeat;
    values->control = repeat > 1 ? values->steps * repeat : 0;
    values->diverged = (int64_t)t->counters.diverged;
    values->seconds[WK_PHASE_ENV] = times.env_wait + times.act;
    values->seconds[WK_PHASE_RENDER] = times.render_wait;
    values->seconds[WK_PHASE_REPLAY] = times.sample + times.store;
    values->seconds[WK_PHASE_LEARN] = times.learn;
    if (t->iteration.learner.model_loss != 0) {
        values->model_loss = t->iteration.learner.model_loss;
        values->mean_error = t->iteration.learner.disagreement;
    }
    values->device = device->name;
    values->why = device->why;
    wk_curriculum_view view = wk_curriculum_get_view(t->curriculum);
    row->visited = 0;
    for (size_t i = 0; i < view.count; i++)
        row->visited += view.visits[i] > 0;
    row->last_eval = r->last_score;
}

static wk_status end_run(void *context, wk_run_end *end, wk_error *err)
{
    run *r = context;
    const wk_train_extras *extras = r->extras;
    WK_TRY(wk_long_run_save(&r->loop, err));
    if (*end != WK_RUN_FINISHED) return WK_OK;
    wk_progress now = wk_trainer_progress(r->trainer);
    WK_TRY(wk_divergence_finish(&r->divergence, r->config, &now, err));
    WK_TRY(save_snapshot(r, now.steps, err));

    // The last point of the learning curves, unless the loop has just made it; saved as done, so
    // that the same command changes nothing. It makes up for one that was given up.
    int64_t steps = (int64_t)now.steps;
    if (r->config->eval_every > 0 && steps != r->trainer->schedule.last_eval) {
        double began = wk_clock_seconds();
        WK_TRY(evaluate(r, err));
        r->loop.logging_seconds += wk_clock_seconds() - began;
        if (steps != r->trainer->schedule.last_eval) {
            *end = WK_RUN_INTERRUPTED;
            return WK_OK;
        }
        WK_TRY(wk_long_run_save(&r->loop, err));
    }
    if (!extras->finish) return WK_OK;
    WK_TRY(wk_lock_check(&r->loop.lock, err));
    return extras->finish(extras->context, r->trainer, err);
}

// Runs that train together; one alone is such a population.
typedef struct population {
    int count;
    run *runs; // [count], and the rest alike
    wk_long_run *loops[WK_POPULATION_MAX];
    wk_trainer *trainers[WK_POPULATION_MAX];
} population;

// Says which run of several an error is about.
static wk_status add_run_name(const population *p, int i, wk_status status, wk_error *err)
{
    if (status != WK_OK && p->count > 1) wk_fail_context(err, "%s", p->runs[i].loop.name);
    return status;
}

static wk_status open_all(population *p, const wk_train_member *members,
                          const wk_run_control *control, wk_error *err)
{
    static const wk_long_run_job job = {.position = position,
                                        .begin = evaluate_if_due,
                                        .step = step,
                                        .record = record,
                                        .save = save,
                                        .end = end_run,
                                        .show = show};
    static const wk_train_extras none;
    const wk_run_config *configs[WK_POPULATION_MAX];
    const wk_run_plugins *code[WK_POPULATION_MAX];
    const wk_dir *directories[WK_POPULATION_MAX];
    for (int i = 0; i < p->count; i++) {
        const wk_train_member *member = &members[i];
        const wk_run_config *config = configs[i] = member->config;
        run *r = &p->runs[i];
        *r = (run){.loop = {.control = control,
                            .job = &job,
                            .context = r,
                            .config = config,
                            .unit = "agent step",
                            .total = config->steps,
                            .prefill = config->prefill,
                            .save_every = config->checkpoint_every_steps,
                            .minutes = config->minutes,
                            .name = member->name},
                   .config = config,
                   .extras = member->extras ? member->extras : &none,
                   .last_score = NAN};
        WK_TRY(add_run_name(p, i, enter(r, member->directory, err), err));
        code[i] = r->extras->code;
        directories[i] = r->loop.dir;
        p->loops[i] = &r->loop;
    }
    WK_TRY(wk_trainer_create_population(configs, code, directories, p->count, p->trainers, err));
    for (int i = 0; i < p->count; i++)
        p->runs[i].trainer = p->trainers[i];
    for (int i = 0; i < p->count; i++)
        WK_TRY(add_run_name(p, i, prepare(&p->runs[i], err), err));
    bool watched = control->line || control->progress.show;
    p->runs[0].time_is_unsaid = p->count == 1 && watched && p->trainers[0]->counters.updates == 0;
    return WK_OK;
}

static void close_all(population *p, bool begun)
{
    for (int i = 0; i < p->count; i++) {
        const wk_long_run *loop = &p->runs[i].loop;
        bool kept = true;
        wk_open_loop_destroy(p->runs[i].images);
        if (begun || !loop->is_new) continue;
        // A run that could not begin leaves nothing behind; what holds more than the lock stays.
        if (wk_file_exists_in(loop->dir, "config.yaml", &kept, NULL) != WK_OK || kept) continue;
        wk_checkpoints_retract(loop->dir);
        (void)wk_dir_remove(loop->dir, "lock", NULL);
        (void)rmdir(loop->path);
    }
    wk_trainer_destroy_population(p->trainers, p->count);
    for (int i = 0; i < p->count; i++)
        wk_long_run_close(&p->runs[i].loop);
    free(p->runs);
}

static wk_status step_all(void *context, wk_error *err)
{
    const population *p = context;
    for (int i = 0; i < p->count; i++)
        p->trainers[i]->stopped |= p->loops[i]->over;
    return wk_trainer_step_population(p->trainers[0], err);
}

wk_status wk_train_population(wk_train_member *members, int count, const wk_run_control *control,
                              wk_error *err)
{
    if (count < 1 || count > WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "at most %d runs train together, not %d", WK_POPULATION_MAX,
                       count);
    population p = {.count = count, .runs = calloc((size_t)count, sizeof *p.runs)};
    if (!p.runs) return wk_fail(err, WK_E_MEMORY, "no memory for %d runs", count);
    wk_status status = open_all(&p, members, control, err);
    bool begun = status == WK_OK;
    if (begun) {
        announce(p.runs, count);
        status = wk_long_run_loop(p.loops, count, step_all, &p, err);
    }
    for (int i = 0; status == WK_OK && i < count; i++) {
        members[i].end = p.loops[i]->end;
        members[i].status = p.loops[i]->status;
        members[i].error = p.loops[i]->error;
    }
    close_all(&p, begun);
    return status;
}

wk_status wk_train(const wk_run_config *config, const char *directory,
                   const wk_train_extras *extras, const wk_run_control *control, wk_run_end *end,
                   wk_error *err)
{
    wk_train_member member = {.config = config, .directory = directory, .extras = extras};
    WK_TRY(wk_train_population(&member, 1, control, err));
    *end = member.end;
    if (member.status != WK_OK && err) *err = member.error;
    return member.status;
}
