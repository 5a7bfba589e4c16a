#include "train/trainer.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "config/parts.h"
#include "env/host.h"
#include "run/device.h"
#include "run/world.h"
#include "train/trainer_parts.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status make_worlds(wk_trainer *t, wk_error *err)
{
    WK_TRY(wk_run_world_open(&t->config, t->code, NULL, &t->world, err));
    t->domain = t->world.domain;
    WK_TRY(wk_run_space_create(&t->config, &t->world, &t->space, err));
    WK_TRY(
        wk_vec_create(t->domain, t->world.options, t->count, t->config.env_threads, &t->vec, err));
    return wk_run_curriculum_create(&t->config, t->code, NULL, t->domain, t->space, &t->curriculum,
                                    err);
}

static wk_status make_learner(wk_trainer *t, wk_error *err)
{
    int tasks;
    WK_TRY(wk_run_config_tasks(&t->config, t->domain, t->tasks, &tasks, err));
    WK_TRY(wk_pool_create(t->config.env_threads, &t->pool, err));
    WK_TRY(wk_device_open(t->config.device, t->config.precision, t->pool, &t->backend, &t->device,
                          err));
    for (int i = 0; i < 2; i++)
        WK_TRY(wk_samples_create(&t->config, t->domain, t->backend, &t->samples[i], err));
    wk_learner_config config;
    WK_TRY(wk_run_config_learner(&t->config, t->domain, &config, err));
    WK_TRY(wk_learner_create_for(WK_LEARNER_UPDATES, &config, t->backend, &t->learner, err));
    int policy;
    WK_TRY(wk_run_config_acting(&t->config, t->domain, &policy, err));
    if (policy == WK_POLICY_EXPLORE && config.exploration == WK_EXPLORE_RANDOM) return WK_OK;
    WK_TRY(wk_acting_create(t->learner, policy, t->count, &t->acting, err));
    t->acting_state = wk_arena_alloc(&t->arena, wk_acting_state_size(t->acting));
    if (!t->acting_state) return wk_fail(err, WK_E_MEMORY, "no memory for recurrent states");
    return WK_OK;
}

static wk_status allocate(wk_trainer *t, wk_error *err)
{
    size_t n = (size_t)t->count, rows = (size_t)t->config.batch * (size_t)t->config.length;
    size_t width = (size_t)t->domain->action_size;
    t->running = wk_arena_alloc(&t->arena, n * sizeof *t->running);
    t->actions = wk_arena_alloc(&t->arena, n * width * sizeof *t->actions);
    t->images = wk_arena_alloc(&t->arena, n * WK_IMAGE_BYTES);
    t->first = wk_arena_alloc(&t->arena, n);
    t->rows = wk_arena_alloc(&t->arena, n * sizeof *t->rows);
    t->ended = wk_arena_alloc(&t->arena, n * sizeof *t->ended);
    t->delta = wk_arena_alloc(&t->arena, rows * sizeof *t->delta);
    t->delta_space = wk_arena_alloc(&t->arena, rows * sizeof *t->delta_space);
    bool all = t->running && t->actions && t->images && t->first && t->rows && t->ended &&
               t->delta && t->delta_space;
    if (!all) return wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", n);
    return WK_OK;
}

// What a checkpoint holds.
static wk_checkpoint_parts parts_of(wk_trainer *t)
{
    return (wk_checkpoint_parts){
        .config = &t->config,
        .state = {.count = t->count,
                  .domain = t->domain,
                  .counters = &t->counters,
                  .running = t->running,
                  .actions = t->actions,
                  .images = t->images,
                  .first = t->first,
                  .schedule = &t->schedule,
                  .curriculum = t->curriculum,
                  .acting = t->acting_state,
                  .acting_size = t->acting ? wk_acting_state_size(t->acting) : 0,
                  .vec = t->vec},
        .acting = t->acting,
        .learner = t->learner,
        .replay = &t->replay,
        .replay_log = &t->replay_log,
        .pool = t->pool,
        .space = t->space};
}

static wk_status build(wk_trainer *t, wk_error *err)
{
    WK_TRY(make_worlds(t, err));
    WK_TRY(allocate(t, err));
    WK_TRY(make_learner(t, err));
    bool upload; // known before anything is written
    WK_TRY(wk_trainer_choose_frame_placement(t, &upload, err));
    wk_checkpoint_parts parts = parts_of(t);
    WK_TRY(wk_checkpoints_open(t->directory, &parts, &t->checkpoints, err));
    return upload ? wk_trainer_upload_frames(t, err) : WK_OK;
}

wk_status wk_trainer_create(const wk_run_config *config, const char *directory, wk_trainer **out,
                            wk_error *err)
{
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_create(directory, err));
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    wk_status status = wk_trainer_create_in(config, NULL, dir, out, err);
    wk_dir_close(dir);
    return status;
}

wk_status wk_trainer_create_in(const wk_run_config *config, const wk_run_plugins *code,
                               const wk_dir *directory, wk_trainer **out, wk_error *err)
{
    wk_trainer *t = calloc(1, sizeof *t);
    if (!t) return wk_fail(err, WK_E_MEMORY, "no memory for a trainer");
    t->config = *config;
    t->code = code;
    t->count = config->env_count;
    wk_status status = wk_dir_open(directory, ".", &t->directory, err);
    if (status == WK_OK) status = build(t, err);
    if (status != WK_OK) {
        wk_trainer_destroy(t);
        return status;
    }
    *out = t;
    return WK_OK;
}

void wk_trainer_destroy(wk_trainer *t)
{
    if (!t) return;
    wk_device_frames_destroy(t->device_frames);
    wk_acting_destroy(t->acting);
    wk_learner_destroy(t->learner);
    for (int i = 0; i < 2; i++)
        wk_samples_free(&t->samples[i]);
    wk_backend_destroy(t->backend);
    wk_replay_log_close(t->replay_log);
    wk_replay_destroy(t->replay);
    wk_pool_destroy(t->pool);
    wk_curriculum_destroy(t->curriculum);
    wk_vec_destroy(t->vec);
    wk_space_destroy(t->space);
    wk_checkpoints_close(&t->checkpoints);
    wk_dir_close(t->directory);
    wk_arena_reset(&t->arena);
    free(t);
}

static bool prefilling(const wk_trainer *t)
{
    return t->counters.steps < (uint64_t)t->config.prefill;
}

// Gives every environment without an episode its next θ.
static wk_status begin_episodes(wk_trainer *t, wk_error *err)
{
    for (int i = 0; i < t->count; i++) {
        wk_running_episode *running = &t->running[i];
        if (running->active) continue;
        *running = (wk_running_episode){.episode = t->counters.episodes++};
        size_t space;
        WK_TRY(wk_curriculum_next(t->curriculum, running->episode, prefilling(t), running->theta,
                                  &space, err));
        running->space = space;
        WK_TRY(wk_vec_plan_reset(t->vec, i, running->theta, (size_t)t->domain->n_params,
                                 t->config.seed, running->episode, err));
    }
    return WK_OK;
}

static void random_actions(wk_trainer *t)
{
    wk_rng rng = wk_rng_stream(t->config.seed, "random actions", t->counters.iterations);
    size_t numbers = (size_t)t->count * (size_t)t->domain->action_size;
    for (size_t i = 0; i < numbers; i++)
        t->actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
}

// Fills t->actions with what the environments do next, from what they see and did.
static wk_status choose_actions(wk_trainer *t, wk_error *err)
{
    if (prefilling(t) || !t->acting) {
        random_actions(t);
        return WK_OK;
    }
    if (!t->counters.acting) memset(t->first, 1, (size_t)t->count);
    t->counters.acting = 1;
    return wk_acting_step(t->acting, t->images, t->actions, t->first, WK_ACT_SAMPLE, t->actions,
                          err);
}

// Feeds the error estimates of a batch [T,B] back; every sequence has the θ of its episode.
static void report_errors(wk_trainer *t, const wk_samples *b)
{
    size_t count = 0, batch = (size_t)t->config.batch;
    for (size_t i = 0; i < batch * (size_t)t->config.length; i++) {
        int64_t space = b->spaces[i % batch];
        if (space < 0) continue;
        t->delta[count] = t->delta[i];
        t->delta_space[count++] = (size_t)space;
    }
    wk_curriculum_report(t->curriculum, t->delta_space, t->delta, count);
}

// Samples the batch of update `number` from the current store, and stages it.
static wk_status prepare_batch(wk_trainer *t, uint64_t number, wk_error *err)
{
    double began = wk_clock_seconds();
    wk_samples *b = &t->samples[t->next_slot];
    WK_TRY(wk_samples_draw(b, t->replay, t->device_frames, t->config.seed, number, err));
    int tasks = wk_learner_get_config(t->learner)->tasks;
    if (tasks > 0) wk_samples_choose(b, t->tasks, tasks);
    wk_learner_batch batch = wk_samples_view(b);
    WK_TRY(wk_learner_stage(t->learner, &batch, err));
    t->staged = true;
    t->times.sample += wk_clock_seconds() - began;
    return WK_OK;
}

// Begins an update on the batch that is staged, or on one that is drawn now.
static wk_status open_update(wk_trainer *t, wk_error *err)
{
    if (!t->staged) WK_TRY(prepare_batch(t, t->counters.updates, err));
    double began = wk_clock_seconds();
    t->next_slot = !t->next_slot;
    t->staged = false;
    t->open = true;
    WK_TRY(wk_learner_start(t->learner, err));
    t->times.learn += wk_clock_seconds() - began;
    return WK_OK;
}

// Waits for the update that runs, if any, and reports its errors.
static wk_status close_update(wk_trainer *t, wk_error *err)
{
    if (!t->open) return WK_OK;
    double began = wk_clock_seconds();
    t->open = false;
    WK_TRY(wk_learner_finish(t->learner, &t->iteration.learner, t->delta, err));
    wk_learner_read_tasks(t->learner, &t->iteration.tasks);
    report_errors(t, &t->samples[!t->next_slot]);
    t->counters.updates++;
    t->iteration.updates++;
    t->times.learn += wk_clock_seconds() - began;
    return WK_OK;
}

static bool can_learn(const wk_trainer *t)
{
    return !prefilling(t) && wk_replay_sampleable(t->replay, t->config.length) > 0;
}

// How many updates this iteration has: one for each config.train_every steps, once there is
// something to learn from.
static uint64_t count_updates(wk_trainer *t)
{
    if (prefilling(t)) return 0;
    for (int i = 0; i < t->count; i++)
        t->counters.debt += t->running[i].active != 0;
    uint64_t updates = t->counters.debt / (uint64_t)t->config.train_every;
    t->counters.debt %= (uint64_t)t->config.train_every;
    return can_learn(t) ? updates : 0;
}

// Runs the updates; the first may be in flight already. While the device works on one, the host
// prepares the next: the store does not change in between. The last one is left in flight. Task
// updates are enqueued here, after acting: what is on the device by then runs first.
static wk_status learn(wk_trainer *t, uint64_t updates, wk_error *err)
{
    for (uint64_t i = 0; i < updates; i++) {
        if (i > 0) WK_TRY(close_update(t, err));
        if (!t->open) WK_TRY(open_update(t, err));
        WK_TRY(wk_learner_start_tasks(t->learner, err));
        if (i + 1 < updates) WK_TRY(prepare_batch(t, t->counters.updates + 1, err));
    }
    return WK_OK;
}

static void note_end(wk_trainer *t, int i, bool diverged)
{
    wk_running_episode *running = &t->running[i];
    wk_episode_end *end = &t->ended[t->iteration.n_ended++];
    *end = (wk_episode_end){.episode = running->episode,
                            .env = i,
                            .space = running->space,
                            .theta = running->theta,
                            .steps = (int)running->steps,
                            .diverged = diverged};
    memcpy(end->returns, running->returns, sizeof end->returns);
    memcpy(end->completion, running->completion, sizeof end->completion);
    for (int k = 0; k < t->domain->n_indicators; k++)
        end->indicators[k] = wk_env_indicator(wk_vec_env(t->vec, i), k);
    running->active = 0;
}

// Appends what all environments showed to the replay. The last row of a diverged episode is not
// kept: it has no image.
static wk_status append_rows(wk_trainer *t, wk_error *err)
{
    const wk_batch *b = wk_vec_batch(t->vec);
    size_t tasks = (size_t)t->domain->n_tasks, width = (size_t)t->domain->action_size;
    for (size_t i = 0; i < (size_t)t->count; i++) {
        bool first = b->flags[i] & WK_IS_FIRST, diverged = b->flags[i] & WK_IS_DIVERGED;
        t->rows[i] =
            (wk_replay_row){.slot = (int)i,
                            .image = diverged && !first ? NULL : b->images + i * WK_IMAGE_BYTES,
                            .action = first ? NULL : t->actions + i * width,
                            .rewards = b->rewards + i * tasks,
                            .completion = b->completion + i * tasks,
                            .flags = b->flags[i],
                            .theta = t->running[i].theta,
                            .space = (int64_t)t->running[i].space};
    }
    return wk_replay_append(t->replay, t->rows, (size_t)t->count, err);
}

// Takes what environment i showed into its running episode, and as what it acts on next.
static void follow(wk_trainer *t, int i)
{
    const wk_batch *b = wk_vec_batch(t->vec);
    const wk_replay_row *row = &t->rows[i];
    wk_running_episode *running = &t->running[i];
    size_t tasks = (size_t)t->domain->n_tasks, width = (size_t)t->domain->action_size;
    bool first = row->flags & WK_IS_FIRST, diverged = row->flags & WK_IS_DIVERGED;
    if (first) {
        memset(t->actions + (size_t)i * width, 0, width * sizeof *t->actions);
        running->active = 1;
    } else {
        running->steps++;
        t->counters.steps++;
    }
    t->counters.diverged += diverged;
    for (size_t k = 0; k < tasks; k++) {
        running->returns[k] += first ? 0 : row->rewards[k];
        running->completion[k] = row->completion[k];
    }
    size_t image = (size_t)i * WK_IMAGE_BYTES;
    memcpy(t->images + image, b->images + image, WK_IMAGE_BYTES);
    t->first[i] = first;
    if (row->flags & WK_IS_LAST) note_end(t, i, diverged);
}

// Stores what all environments showed, and draws the batch of the next update while the device
// still works: until then the store does not change any more.
static wk_status store_rows(wk_trainer *t, wk_error *err)
{
    double began = wk_clock_seconds();
    t->staged = false;
    WK_TRY(append_rows(t, err));
    for (int i = 0; i < t->count; i++)
        follow(t, i);
    wk_trainer_check_device_frames(t);
    t->times.store += wk_clock_seconds() - began;
    if (!t->open || !can_learn(t)) return WK_OK;
    return prepare_batch(t, t->counters.updates + 1, err);
}

static wk_status send_environments(wk_trainer *t, wk_error *err)
{
    double began = wk_clock_seconds();
    WK_TRY(begin_episodes(t, err));
    WK_TRY(choose_actions(t, err));
    t->times.act += wk_clock_seconds() - began;
    return wk_vec_step_begin(t->vec, t->actions, err);
}

static wk_status await_environments(wk_trainer *t, wk_error *err)
{
    double began = wk_clock_seconds();
    wk_watchdog_begin(t->watchdog);
    wk_status status = wk_vec_step_finish(t->vec, err);
    wk_watchdog_end(t->watchdog);
    t->times.env_wait += wk_clock_seconds() - began;
    return status;
}

// On an async backend the update starts first, and acting overlaps it with the weights from before.
// Otherwise environments start first, so that they step during the update.
static wk_status move(wk_trainer *t, wk_error *err)
{
    uint64_t updates = count_updates(t);
    if (updates > 0 && wk_backend_is_async(t->backend)) WK_TRY(open_update(t, err));
    WK_TRY(send_environments(t, err));
    wk_error step_error = {0};
    wk_status learned = learn(t, updates, err);
    wk_status stepped = await_environments(t, learned == WK_OK ? err : &step_error);
    WK_TRY(learned);
    WK_TRY(stepped);
    return store_rows(t, err);
}

wk_status wk_trainer_step(wk_trainer *t, const wk_iteration **done, wk_error *err)
{
    double began = wk_clock_seconds();
    t->iteration.updates = 0;
    t->iteration.n_ended = 0;
    t->iteration.ended = t->ended;
    wk_status status = move(t, err);
    wk_error close_error = {0};
    wk_status closed = close_update(t, status == WK_OK ? err : &close_error);
    WK_TRY(status);
    WK_TRY(closed);
    wk_curriculum_advance(t->curriculum, t->counters.steps);
    t->counters.iterations++;
    t->times.total += wk_clock_seconds() - began;
    if (done) *done = &t->iteration;
    return WK_OK;
}

void wk_trainer_watch(wk_trainer *t, wk_watchdog *watchdog)
{
    t->watchdog = watchdog;
}

wk_progress wk_trainer_progress(const wk_trainer *t)
{
    uint64_t running = 0;
    for (int i = 0; i < t->count; i++)
        running += t->running[i].active;
    wk_progress p = {.steps = t->counters.steps,
                     .frames = t->counters.steps * (uint64_t)t->domain->action_repeat,
                     .episodes = t->counters.episodes,
                     .updates = t->counters.updates,
                     .ended = t->counters.episodes - running,
                     .diverged = t->counters.diverged,
                     .prefilling = prefilling(t),
                     .finished = t->counters.steps >= (uint64_t)t->config.steps};
    return p;
}

wk_time_split wk_trainer_times(const wk_trainer *t)
{
    wk_time_split times = t->times;
    wk_env_seconds spent = wk_vec_get_seconds(t->vec);
    times.render_wait = spent.all > 0 ? times.env_wait * spent.render / spent.all : 0;
    times.env_wait -= times.render_wait;
    return times;
}

const wk_dir *wk_trainer_directory(const wk_trainer *t)
{
    return t->directory;
}

const wk_domain *wk_trainer_domain(const wk_trainer *t)
{
    return t->domain;
}

const wk_space *wk_trainer_space(const wk_trainer *t)
{
    return t->space;
}

wk_curriculum *wk_trainer_curriculum(wk_trainer *t)
{
    return t->curriculum;
}

wk_learner *wk_trainer_learner(wk_trainer *t)
{
    return t->learner;
}

wk_replay *wk_trainer_replay(wk_trainer *t)
{
    return t->replay;
}

const wk_run_config *wk_trainer_config(const wk_trainer *t)
{
    return &t->config;
}

const wk_device *wk_trainer_device(const wk_trainer *t)
{
    return &t->device;
}

const char *wk_trainer_task_name(const wk_trainer *t, int k)
{
    return t->domain->tasks[t->tasks[k]].name;
}

wk_run_schedule *wk_trainer_schedule(wk_trainer *t)
{
    return &t->schedule;
}

wk_status wk_trainer_save(wk_trainer *t, wk_error *err)
{
    return wk_checkpoints_save(&t->checkpoints, err);
}

int64_t wk_trainer_resumed_from(const wk_trainer *t)
{
    return t->checkpoints.resumed_from;
}

const char *wk_trainer_resume_trouble(const wk_trainer *t)
{
    return t->checkpoints.trouble;
}
