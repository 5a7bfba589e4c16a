// One iteration of all runs that train together; a run alone is a population of one. What a run
// does by itself is done for each run in turn, updates are made for each subpopulation, and the
// environments of all runs step as one job.
//
// One iteration, in order (run_phases):
//   count_updates       each run counts the updates that its environments have earned
//   start_update        the first update starts, on the batches staged before (async devices only)
//   send_environments   episodes begin, policies act, environments start to step
//   learn               further updates; task policies; the last update stays in flight
//   await_environments  the environments have stepped
//   store_rows          what they showed goes to the replay
//   prepare_next        the batches of the next update are drawn and staged
//   finish_update       the last update is waited for; error estimates go to the curricula
//
// A run that fails is stopped and leaves the others as they are: its learner is idle from then on.
#include "base/machine.h"
#include "base/observation.h"
#include "base/random.h"
#include "env/domain.h"
#include "env/host.h"
#include "train/trainer.h"
#include <math.h>
#include <string.h>

// Calls a function of one run; its failure is the run's own and stops it.
#define TRY_RUN(t, call)                                                                           \
    do {                                                                                           \
        wk_status wk_run_status = (call);                                                          \
        if (wk_run_status != WK_OK) (t)->status = wk_run_status, (t)->stopped = true;              \
    } while (0)

// Every run of a population or subpopulation that has not stopped.
#define FOR_RUNNING(t, group)                                                                      \
    for (int wk_run = 0; wk_run < (group)->count; wk_run++)                                        \
        for (wk_trainer *t = (group)->members[wk_run]; t && !t->stopped; t = NULL)

// Gives every environment without an episode its next θ.
static wk_status begin_episodes(wk_trainer *t, wk_error *err)
{
    for (int i = 0; i < t->count; i++) {
        wk_running_episode *running = &t->running[i];
        if (running->active) continue;
        *running = (wk_running_episode){.episode = t->counters.episodes++};
        size_t theta_index;
        WK_TRY(wk_curriculum_next(t->curriculum, running->episode, wk_trainer_is_prefilling(t),
                                  running->theta, &theta_index, err));
        running->theta_index = theta_index;
        // Until the replay has a sequence to learn from, no episode is held out for scoring.
        bool learns = wk_curriculum_learns(t->curriculum) ||
                      wk_replay_sampleable(t->replay, t->config.length) == 0;
        if (!learns) running->active = WK_EPISODE_SCORED;
        WK_TRY(wk_vec_plan_reset(t->vec, i, running->theta, (size_t)t->domain->n_params,
                                 t->config.seed, running->episode, err));
    }
    return WK_OK;
}

// Fills the actions with what the environments of a subpopulation do next, from what they see and
// did.
static wk_status choose_actions(wk_subpopulation *sub, wk_error *err)
{
    wk_acting_rows rows[WK_POPULATION_MAX] = {0};
    bool any = false;
    for (int r = 0; r < sub->count; r++) {
        wk_trainer *t = sub->members[r];
        if (t->stopped) continue;
        if (!t->acting || wk_trainer_is_prefilling(t)) {
            wk_rng rng = wk_rng_stream(t->config.seed, "random actions", t->counters.iterations);
            for (int i = 0; i < t->count; i++)
                wk_domain_random_action(t->domain, &rng,
                                        t->actions + (size_t)i * (size_t)t->domain->action_size);
            continue;
        }
        if (!t->counters.acting) memset(t->first, 1, (size_t)t->count);
        t->counters.acting = 1;
        rows[r] = (wk_acting_rows){t->images, t->vectors, t->actions, t->first, t->actions};
        any = true;
    }
    return any ? wk_acting_step_population(sub->acting, rows, WK_ACT_SAMPLE, err) : WK_OK;
}

static bool can_learn(const wk_trainer *t)
{
    return !wk_trainer_is_prefilling(t) && wk_replay_sampleable(t->replay, t->config.length) > 0;
}

// Samples the batch of update `number` of a run from its current store.
static wk_status draw_batch(wk_trainer *t, uint64_t number, wk_error *err)
{
    wk_batch_buffer *b = &t->batch_buffers[t->subpopulation->next_slot];
    WK_TRY(wk_batch_buffer_draw(b, t->replay, t->device_frames, t->config.seed, number, err));
    int tasks = wk_learner_get_config(t->learner)->tasks;
    if (tasks > 0) wk_batch_buffer_choose_tasks(b, t->tasks, tasks);
    t->staged = true;
    return WK_OK;
}

// Adds the time since `began` to a part of every member's times: members wait for each other.
#define COUNT_TIME(sub, part, began)                                                               \
    for (int wk_member = 0; wk_member < (sub)->count; wk_member++)                                 \
    (sub)->members[wk_member]->times.part += wk_clock_seconds() - (began)

// Whether what is staged is for exactly the members that have more than `done` updates due.
static bool is_staged_for(const wk_subpopulation *sub, uint64_t done)
{
    for (int r = 0; r < sub->count; r++) {
        const wk_trainer *t = sub->members[r];
        bool due = !t->stopped && t->updates_due > done;
        if (due != (t->staged && !t->stopped)) return false;
    }
    return sub->staged;
}

// Draws and stages the batches of the members that have more than `done` updates due; `ahead`
// updates are in flight before them.
static wk_status prepare_batches(wk_subpopulation *sub, uint64_t done, uint64_t ahead,
                                 wk_error *err)
{
    double began = wk_clock_seconds();
    FOR_RUNNING (t, sub) {
        t->staged = false;
        if (t->updates_due > done)
            TRY_RUN(t, draw_batch(t, t->counters.updates + ahead, &t->error));
    }

    // Stages what they have drawn; nothing when all of them failed.
    wk_learner_batch batches[WK_POPULATION_MAX] = {0};
    sub->staged = false;
    for (int r = 0; r < sub->count; r++) {
        const wk_trainer *t = sub->members[r];
        if (!t->staged || t->stopped) continue;
        batches[r] = wk_batch_buffer_view(&t->batch_buffers[sub->next_slot]);
        sub->staged = true;
    }
    if (sub->staged) WK_TRY(wk_learner_stage(sub->leader, batches, err));
    COUNT_TIME(sub, sample, began);
    return WK_OK;
}

// Starts update `done` of this iteration on the staged batches, drawing them first if none fit.
// Does nothing if no run has a batch.
static wk_status start_update(wk_subpopulation *sub, uint64_t done, wk_error *err)
{
    if (!is_staged_for(sub, done)) WK_TRY(prepare_batches(sub, done, 0, err));
    if (!sub->staged) return WK_OK;
    double began = wk_clock_seconds();
    for (int r = 0; r < sub->count; r++) {
        sub->members[r]->updating = sub->members[r]->staged;
        sub->members[r]->staged = false;
    }
    sub->next_slot = !sub->next_slot;
    sub->staged = false;
    sub->in_flight = true;
    WK_TRY(wk_learner_start(sub->leader, err));
    COUNT_TIME(sub, learn, began);
    return WK_OK;
}

// What the finished update brought to a run.
static void take_results(wk_trainer *t, const wk_learner_metrics *metrics, const float *delta)
{
    size_t rows = (size_t)t->config.batch * (size_t)t->config.length;
    t->updating = false;
    t->iteration.learner = *metrics;
    wk_nonfinite_updates_add(&t->iteration.nonfinite, wk_learner_metrics_nonfinite(metrics));
    wk_learner_read_tasks(t->learner, &t->iteration.tasks);
    int tasks = wk_learner_get_config(t->learner)->tasks;
    wk_nonfinite_updates_add(&t->iteration.task_nonfinite,
                             tasks > 0 ? wk_task_metrics_nonfinite(&t->iteration.tasks, tasks)
                                       : NULL);
    t->counters.updates++;
    t->iteration.updates++;

    // The error estimates [T,B] go to the curriculum; every sequence has the θ of its episode.
    const wk_batch_buffer *b = &t->batch_buffers[!t->subpopulation->next_slot];
    size_t count = 0, batch = (size_t)t->config.batch, params = (size_t)t->domain->n_params;
    for (size_t i = 0; i < rows; i++) {
        int64_t theta_index = b->theta_indices[i % batch];
        if (theta_index < 0) continue;
        t->delta[count] = delta[i];
        memcpy(t->delta_theta + count * params, b->theta + i % batch * params,
               params * sizeof *t->delta_theta);
        t->delta_theta_index[count++] = (size_t)theta_index;
    }
    wk_curriculum_report_at(t->curriculum, t->delta_theta, t->delta_theta_index, t->delta, count);
}

// Waits for the update that runs, if any, and reports its errors.
static wk_status finish_update(wk_subpopulation *sub, wk_error *err)
{
    if (!sub->in_flight) return WK_OK;
    double began = wk_clock_seconds();
    sub->in_flight = false;
    WK_TRY(wk_learner_finish(sub->leader, sub->metrics, sub->delta, err));
    for (int r = 0; r < sub->count; r++) {
        wk_trainer *t = sub->members[r];
        size_t rows = (size_t)t->config.batch * (size_t)t->config.length;
        if (t->updating && !t->stopped)
            take_results(t, &sub->metrics[r], sub->delta + (size_t)r * rows);
    }
    COUNT_TIME(sub, learn, began);
    return WK_OK;
}

// How many updates this iteration has: one for each config.train_every steps, once there is
// something to learn from.
static uint64_t count_updates(wk_trainer *t)
{
    if (wk_trainer_is_prefilling(t)) return 0;
    for (int i = 0; i < t->count; i++)
        t->counters.steps_since_update += t->running[i].active != 0;
    uint64_t updates = t->counters.steps_since_update / (uint64_t)t->config.train_every;
    t->counters.steps_since_update %= (uint64_t)t->config.train_every;
    return can_learn(t) ? updates : 0;
}

static uint64_t max_updates(const wk_subpopulation *sub)
{
    uint64_t max = 0;
    FOR_RUNNING (t, sub)
        if (t->updates_due > max) max = t->updates_due;
    return max;
}

// Runs the updates; the first may be in flight already. While the device works on one, the host
// prepares the next: the store does not change in between. The last one is left in flight. Task
// updates are enqueued here, after acting: what is on the device by then runs first.
static wk_status learn(wk_subpopulation *sub, wk_error *err)
{
    uint64_t updates = max_updates(sub);
    for (uint64_t i = 0; i < updates; i++) {
        if (i > 0) WK_TRY(finish_update(sub, err));
        if (!sub->in_flight) WK_TRY(start_update(sub, i, err));
        if (!sub->in_flight) return WK_OK;
        WK_TRY(wk_learner_start_tasks(sub->leader, err));
        if (i + 1 < updates) WK_TRY(prepare_batches(sub, i + 1, 1, err));
    }
    return WK_OK;
}

// Appends what all environments showed to the replay. The last row of a diverged episode is not
// kept: it has no observation.
static wk_status append_rows(wk_trainer *t, wk_error *err)
{
    const wk_batch *b = wk_vec_batch(t->vec);
    size_t tasks = (size_t)t->domain->n_tasks, width = (size_t)t->domain->action_size;
    size_t numbers = (size_t)t->domain->observation.vector;
    for (size_t i = 0; i < (size_t)t->count; i++) {
        bool first = b->flags[i] & WK_IS_FIRST, diverged = b->flags[i] & WK_IS_DIVERGED;
        bool seen = first || !diverged;
        int64_t theta_index = (int64_t)t->running[i].theta_index;
        bool scored = t->running[i].active == WK_EPISODE_SCORED;
        t->rows[i] =
            (wk_replay_row){.slot = (int)i,
                            .image = seen && b->images ? b->images + i * WK_IMAGE_BYTES : NULL,
                            .vector = seen && b->vectors ? b->vectors + i * numbers : NULL,
                            .action = first ? NULL : t->actions + i * width,
                            .rewards = b->rewards + i * tasks,
                            .completion = b->completion + i * tasks,
                            .flags = b->flags[i],
                            .theta = t->running[i].theta,
                            .theta_index = scored ? WK_REPLAY_HELD_OUT - theta_index : theta_index};
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
        if (!running->active) running->active = WK_EPISODE_RUNS;
    } else {
        running->steps++;
        t->counters.steps++;
    }
    t->counters.diverged += diverged;
    for (size_t k = 0; k < tasks; k++) {
        running->returns[k] += first ? 0 : row->rewards[k];
        running->completion[k] = row->completion[k];
    }
    size_t pixels = wk_observation_image_bytes(t->domain->observation), image = (size_t)i * pixels;
    size_t numbers = (size_t)t->domain->observation.vector, vector = (size_t)i * numbers;
    if (pixels > 0) memcpy(t->images + image, b->images + image, pixels);
    if (numbers > 0) memcpy(t->vectors + vector, b->vectors + vector, numbers * sizeof *b->vectors);
    t->first[i] = first;
    if (!(row->flags & WK_IS_LAST)) return;
    wk_episode_end *end = &t->ended[t->iteration.n_ended++];
    *end = (wk_episode_end){.episode = running->episode,
                            .env = i,
                            .theta_index = running->theta_index,
                            .theta = running->theta,
                            .steps = (int)running->steps,
                            .diverged = diverged};
    memcpy(end->returns, running->returns, sizeof end->returns);
    memcpy(end->completion, running->completion, sizeof end->completion);
    for (int k = 0; k < t->domain->n_indicators; k++)
        end->indicators[k] = wk_env_indicator(wk_vec_env(t->vec, i), k);
    running->active = WK_EPISODE_NONE;
}

static wk_status store_rows(wk_trainer *t, wk_error *err)
{
    double began = wk_clock_seconds();
    t->staged = false;
    WK_TRY(append_rows(t, err));
    for (int i = 0; i < t->count; i++)
        follow(t, i);
    wk_trainer_check_device_frames(t);
    t->times.store += wk_clock_seconds() - began;
    return WK_OK;
}

// Draws and stages the batches of the next update while the device still works: the replay does not
// change again before that update. They are for the members that have an update in flight now.
static wk_status prepare_next(wk_subpopulation *sub, wk_error *err)
{
    sub->staged = false;
    bool any = false;
    FOR_RUNNING (t, sub) {
        t->updates_due = t->updating && can_learn(t);
        any |= t->updates_due;
    }
    return any ? prepare_batches(sub, 0, 1, err) : WK_OK;
}

static wk_status send_environments(wk_trainer_population *p, wk_error *err)
{
    double began = wk_clock_seconds();
    wk_vec *ready[WK_POPULATION_MAX];
    size_t count = 0;
    FOR_RUNNING (t, p)
        TRY_RUN(t, begin_episodes(t, &t->error));
    for (int k = 0; k < p->n_subpopulations; k++)
        WK_TRY(choose_actions(p->subpopulations[k], err));
    FOR_RUNNING (t, p) {
        TRY_RUN(t, wk_vec_step_prepare(t->vec, t->actions, &t->error));
        if (!t->stopped) ready[count++] = t->vec;
        t->times.act += wk_clock_seconds() - began;
    }
    wk_vec_step_start(ready, count);
    return WK_OK;
}

static void await_environments(wk_trainer_population *p)
{
    double began = wk_clock_seconds();
    FOR_RUNNING (t, p) {
        TRY_RUN(t, wk_vec_step_finish(t->vec, &t->error));
        // After the first agent step a run completes the iteration, so that it can be saved. Its
        // status still says that it failed.
        t->resets_failed = t->stopped && t->counters.steps > 0 && wk_vec_only_resets_failed(t->vec);
        if (t->resets_failed) t->stopped = false;
        t->times.env_wait += wk_clock_seconds() - began;
    }
}

// On an async backend the update starts first, and acting overlaps it with the weights from before.
// Otherwise environments start first, so that they step during the update.
static wk_status run_phases(wk_trainer_population *p, wk_error *err)
{
    for (int r = 0; r < p->count; r++) {
        wk_trainer *t = p->members[r];
        t->updates_due = t->stopped ? 0 : count_updates(t);
    }
    bool async = wk_backend_is_async(p->backends[0]);
    for (int k = 0; k < p->n_subpopulations; k++)
        if (async && max_updates(p->subpopulations[k]) > 0)
            WK_TRY(start_update(p->subpopulations[k], 0, err));
    WK_TRY(send_environments(p, err));
    wk_status learned = WK_OK;
    for (int k = 0; learned == WK_OK && k < p->n_subpopulations; k++)
        learned = learn(p->subpopulations[k], err);
    await_environments(p);
    WK_TRY(learned);
    FOR_RUNNING (t, p)
        TRY_RUN(t, store_rows(t, &t->error));
    for (int k = 0; k < p->n_subpopulations; k++)
        WK_TRY(prepare_next(p->subpopulations[k], err));
    return WK_OK;
}

// Tells the curriculum how the episodes went. The model's error is NaN before the first update.
static wk_status report_episodes(wk_trainer *t, wk_error *err)
{
    for (int i = 0; i < t->iteration.n_ended; i++) {
        const wk_episode_end *end = &t->ended[i];
        wk_curriculum_episode episode = {.episode = end->episode,
                                         .index = end->theta_index,
                                         .theta = end->theta,
                                         .steps = end->steps,
                                         .returns = end->returns,
                                         .completion = end->completion,
                                         .model_error = NAN,
                                         .diverged = end->diverged};
        if (t->episode_error.prediction && t->counters.updates > 0)
            WK_TRY(wk_episode_error_measure(&t->episode_error, t->replay, t->config.seed,
                                            t->schedule.copied_episodes + end->episode,
                                            &episode.model_error, err));
        wk_curriculum_end_episode(t->curriculum, &episode);
    }
    return WK_OK;
}

wk_status wk_trainer_step_population(wk_trainer *member, wk_error *err)
{
    double began = wk_clock_seconds();
    wk_trainer_population *p = member->population;
    FOR_RUNNING (t, p) {
        t->status = WK_OK;
        t->resets_failed = false;
        t->iteration.updates = 0;
        wk_nonfinite_updates_clear(&t->iteration.nonfinite);
        wk_nonfinite_updates_clear(&t->iteration.task_nonfinite);
        t->iteration.n_ended = 0;
        t->iteration.ended = t->ended;
    }
    wk_status status = run_phases(p, err);
    for (int k = 0; k < p->n_subpopulations; k++) {
        wk_error second = {0};
        wk_status finished = finish_update(p->subpopulations[k], status == WK_OK ? err : &second);
        if (status == WK_OK) status = finished;
    }
    WK_TRY(status);
    FOR_RUNNING (t, p) {
        TRY_RUN(t, report_episodes(t, &t->error));
        wk_curriculum_advance(t->curriculum, t->counters.steps);
        t->counters.iterations++;
        t->times.total += wk_clock_seconds() - began;
    }
    return WK_OK;
}
