#include "base/machine.h"
#include "env/domain.h"
#include "env/plugins/plugin.h"
#include "env/plugins/relabelled.h"
#include "run/disk.h"
#include "run/rewards.h"
#include "run/saved_run.h"
#include "waker/reward.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Records the states that a reward function of the caller (wk_recorded_reward) reads: a wk_reward
// that is always 0 and copies the states into the recording of the thread that plays the episode.
typedef struct recording {
    const wk_recorded_reward *reward;
    wk_arena *memory;
    size_t capacity, count; // control steps
    uint32_t agent_step;    // that is being played: set by whoever plays
    uint32_t *step;         // [count]
    double *states[WK_RECORDED_READS_MAX];
    int widths[WK_RECORDED_READS_MAX];
    bool uneven; // a read changed its width, or was no longer there
} recording;

// A wk_reward has no context: an episode is played by one thread from its start to its end.
static _Thread_local recording *current;

// A name that ends with '?' may be missing.
static const double *read_named(const wk_reward_view *view, const char *name, int *width)
{
    char plain[WK_RECORDED_NAME_MAX];
    size_t length = strlen(name);
    memcpy(plain, name, length + 1);
    if (length > 0 && name[length - 1] == '?') plain[length - 1] = 0;
    const double *numbers = view->read(view->simulation, plain, width);
    if (!numbers) *width = 0;
    return numbers;
}

static bool copy_states(const wk_reward_view *view, size_t row)
{
    bool whole = true;
    for (int i = 0; i < current->reward->n_reads; i++) {
        int width, expected = current->widths[i];
        const double *numbers = read_named(view, current->reward->reads[i], &width);
        size_t size = (size_t)expected;
        whole &= width == expected;
        if (numbers && width == expected)
            memcpy(current->states[i] + row * size, numbers, size * sizeof *numbers);
    }
    return whole;
}

static wk_status begin(const wk_reward_view *view, void *memory, wk_error *err)
{
    (void)memory;
    recording *c = current;
    for (int i = 0; i < c->reward->n_reads; i++) {
        const char *name = c->reward->reads[i];
        if (!read_named(view, name, &c->widths[i]) && !strchr(name, '?'))
            return wk_fail(err, WK_E_NOT_FOUND,
                           "its state has no '%s' (docs/plugins.md lists the names)", name);
        size_t numbers = (c->capacity + 1) * (size_t)c->widths[i];
        c->states[i] = wk_arena_alloc(c->memory, numbers * sizeof *c->states[i]);
        if (!c->states[i]) return wk_fail(err, WK_E_MEMORY, "no memory to record '%s'", name);
    }
    copy_states(view, 0);
    return WK_OK;
}

static double record(const wk_reward_view *view, void *memory)
{
    (void)memory;
    if (current->count == current->capacity || !copy_states(view, 1 + current->count))
        current->uneven = true;
    else
        current->step[current->count++] = current->agent_step;
    return 0;
}

// The reward that records what the caller's reads, and the label of its code.
static wk_status recording_reward(const wk_recorded_reward *reward, wk_reward *out,
                                  wk_reward_label *label, wk_error *err)
{
    if (reward->n_reads < 0 || reward->n_reads > WK_RECORDED_READS_MAX)
        return wk_fail(err, WK_E_INPUT, "a reward that reads %d names; at most %d are recorded",
                       reward->n_reads, WK_RECORDED_READS_MAX);
    for (int i = 0; i < reward->n_reads; i++)
        if (strlen(reward->reads[i]) >= WK_RECORDED_NAME_MAX)
            return wk_fail(err, WK_E_INPUT, "a reward that reads '%.40s...': the name is too long",
                           reward->reads[i]);
    if (!reward->reward) return wk_fail(err, WK_E_INPUT, "a reward without a function");
    *out = (wk_reward){.abi = WK_REWARD_ABI,
                       .size = sizeof *out,
                       .name = reward->name,
                       .begin = begin,
                       .reward = record};
    WK_TRY(wk_reward_check(out, err));
    bool named = reward->path && reward->sha256;
    if (!named || !wk_code_path_valid(reward->path) || !wk_sha256_valid(reward->sha256))
        return wk_fail(err, WK_E_INPUT,
                       "the reward '%s' needs the absolute path and the SHA-256 of its code",
                       reward->name);
    snprintf(label->file.path, sizeof label->file.path, "%s", reward->path);
    snprintf(label->file.sha256, sizeof label->file.sha256, "%s", reward->sha256);
    label->recorded = true;
    return WK_OK;
}

enum { EPISODES_PER_THREAD = 4 }; // read ahead of the threads

// One episode on its way through the simulator.
typedef struct piece {
    wk_arena memory; // of its arrays
    wk_replay_episode episode;
    float *actions, *rewards, *completion; // [rows, ...] as stored
    uint8_t *flags;
    recording recording; // for a reward of the caller's
    float *out;          // [rows]
    wk_status status;
    wk_error err;
} piece;

typedef struct relabel {
    const wk_relabel_config *config;
    const wk_log *log;
    wk_progress_line *progress;
    wk_saved_run run;
    wk_dir *dir;
    wk_lock lock;
    const wk_reward *reward;
    wk_reward recorder;      // that is the reward when it is the caller's
    wk_relabelled *extended; // the domain with the reward as its last task
    wk_replay *replay;
    wk_pool *pool;
    wk_env **envs; // one for each thread
    int n_envs;
    piece *pieces;
    int n_pieces;
    wk_reward_table old, now;
} relabel;

// Fails: number `what` of the task, or of the episode's flags, is not the one that was collected.
static wk_status mismatch(const relabel *r, const piece *p, uint32_t row, const char *what,
                          double now, double then, wk_error *err)
{
    char made[WK_ENGINE_CHARS], here[WK_ENGINE_CHARS];
    uint64_t engine = wk_domain_engine(r->run.replay_domain);
    wk_engine_print(r->run.summary.head.engine, made);
    wk_engine_print(engine, here);
    if (r->run.summary.head.engine != engine)
        return wk_fail(err, WK_E_INPUT,
                       "episode %" PRIu64 " cannot be reproduced: the run was made with MuJoCo %s "
                       "and this is %s. Build waker with MuJoCo %s (MUJOCO_DIR)",
                       p->episode.id, made, here, made);
    return wk_fail(err, WK_E_INPUT,
                   "episode %" PRIu64 " cannot be reproduced: at step %" PRIu32
                   " the %s is %.9g and was %.9g when it was collected. A MuJoCo, "
                   "processor or program other than the run's computes other numbers, and episodes "
                   "that were copied into '%s' have another seed",
                   p->episode.id, row, what, now, then, r->config->directory);
}

static wk_status not_finite(const relabel *r, const piece *p, uint32_t row, wk_error *err)
{
    return wk_fail(err, WK_E_INPUT,
                   "the reward '%s' is not a finite number at step %" PRIu32 " of episode %" PRIu64
                   " (as a float: at most 3.4e38 in size)",
                   r->reward->name, row, p->episode.id);
}

static wk_status compare(const relabel *r, const piece *p, uint32_t row, const wk_frame *frame,
                         wk_error *err)
{
    const wk_domain *domain = r->run.replay_domain;
    size_t tasks = (size_t)domain->n_tasks;
    uint8_t flags = *frame->flags, stored = p->flags[row];
    for (size_t i = 0; i < 2 * tasks; i++) {
        bool completion = i >= tasks;
        size_t k = i % tasks;
        const float *now = completion ? frame->completion : frame->rewards;
        const float *then = (completion ? p->completion : p->rewards) + row * tasks;
        char what[128];
        if (memcmp(&now[k], &then[k], sizeof *now) == 0) continue;
        snprintf(what, sizeof what, "%s of task '%s'", completion ? "completion" : "reward",
                 domain->tasks[k].name);
        return mismatch(r, p, row, what, (double)now[k], (double)then[k], err);
    }
    if ((flags & WK_IS_DIVERGED) && !(stored & WK_IS_DIVERGED)) return not_finite(r, p, row, err);
    return flags == stored ? WK_OK : mismatch(r, p, row, "set of flags", flags, stored, err);
}

static wk_status simulate(const relabel *r, piece *p, wk_env *env, wk_error *err)
{
    const wk_domain *stored = r->run.replay_domain;
    float rewards[WK_TASKS_MAX], completion[WK_TASKS_MAX];
    uint8_t flags;
    const wk_frame frame = {.rewards = rewards, .completion = completion, .flags = &flags};
    current = &p->recording;
    // An episode that ended at its reset has no rewards, and its reset may fail again.
    if (p->episode.rows == 1 && (p->flags[0] & WK_IS_DIVERGED)) return WK_OK;
    WK_TRY(wk_env_reset(env, p->episode.theta, (size_t)stored->n_params, r->run.config.seed,
                        p->episode.id, &frame, err));
    WK_TRY(compare(r, p, 0, &frame, err));
    for (uint32_t row = 1; row < p->episode.rows; row++) {
        p->recording.agent_step = row - 1;
        WK_TRY(
            wk_env_step(env, p->actions + (size_t)row * (size_t)stored->action_size, &frame, err));
        WK_TRY(compare(r, p, row, &frame, err));
        p->out[row] = rewards[stored->n_tasks];
    }
    if (!p->recording.uneven) return WK_OK;
    return wk_fail(err, WK_E_UNSUPPORTED,
                   "the states that the reward '%s' reads change their sizes within an episode; "
                   "only a plug-in can read those",
                   r->reward->name);
}

// The rewards of the caller's function, summed up by agent steps.
static wk_status ask_caller(const relabel *r, piece *p, wk_error *err)
{
    const wk_recorded_reward *recorded = r->config->recorded;
    const recording *seen = &p->recording;
    const wk_domain *stored = r->run.replay_domain;
    const wk_recorded_episode episode = {
        .domain = stored,
        .number = p->episode.id,
        .theta = p->episode.theta,
        .steps = p->episode.rows - 1,
        .control_steps = seen->count,
        .actions = p->actions + stored->action_size,
        .rewards = p->rewards + stored->n_tasks,
        .step = seen->step,
        .states = (const double *const *)seen->states,
        .widths = seen->widths,
    };
    double *rewards = wk_arena_alloc(&p->memory, seen->count * sizeof *rewards);
    double *sums = wk_arena_alloc(&p->memory, p->episode.rows * sizeof *sums);
    if (!rewards || !sums)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu rewards", seen->count);
    if (!recorded->reward(recorded->context, &episode, rewards))
        return wk_fail(err, WK_E_INPUT, "the reward '%s' failed at episode %" PRIu64,
                       recorded->name, p->episode.id);
    for (size_t i = 0; i < seen->count; i++)
        sums[1 + seen->step[i]] += rewards[i];
    for (uint32_t row = 0; row < p->episode.rows; row++) {
        p->out[row] = (float)sums[row];
        if (!isfinite(p->out[row])) return not_finite(r, p, row, err);
    }
    return WK_OK;
}

static void run_piece(void *context, size_t number, int thread)
{
    relabel *r = context;
    piece *p = &r->pieces[number];
    p->status = simulate(r, p, r->envs[thread], &p->err);
    wk_progress_count(r->progress, thread);
}

static wk_status fill_piece(relabel *r, size_t index, piece *p, wk_error *err)
{
    const wk_domain *stored = r->run.replay_domain;
    p->episode = wk_replay_at(r->replay, index);
    p->out = r->now.rewards + r->now.starts[index];
    size_t rows = p->episode.rows, tasks = (size_t)stored->n_tasks;
    size_t control_steps = (rows - 1) * (size_t)stored->action_repeat;
    p->actions = wk_arena_alloc(&p->memory, rows * (size_t)stored->action_size * sizeof(float));
    p->rewards = wk_arena_alloc(&p->memory, rows * tasks * sizeof *p->rewards);
    p->completion = wk_arena_alloc(&p->memory, rows * tasks * sizeof *p->completion);
    p->flags = wk_arena_alloc(&p->memory, rows);
    p->recording =
        (recording){.reward = r->config->recorded,
                    .memory = &p->memory,
                    .capacity = control_steps,
                    .step = wk_arena_alloc(&p->memory, control_steps * sizeof(uint32_t))};
    if (!p->actions || !p->rewards || !p->completion || !p->flags || !p->recording.step)
        return wk_fail(err, WK_E_MEMORY, "no memory for an episode of %zu rows", rows);
    const wk_replay_batch out = {.actions = p->actions,
                                 .rewards = p->rewards,
                                 .completion = p->completion,
                                 .flags = p->flags};
    wk_replay_read(r->replay, index, 0, (uint32_t)rows, &out);
    return WK_OK;
}

// Simulates the pieces that are filled. The first failure in the order of the episodes is reported,
// whichever thread met it.
static wk_status run_pieces(relabel *r, wk_error *err)
{
    wk_pool_run(r->pool, (size_t)r->n_pieces, run_piece, r);
    wk_status status = WK_OK;
    for (int i = 0; i < r->n_pieces; i++) {
        piece *p = &r->pieces[i];
        if (status == WK_OK && p->status != WK_OK)
            status = wk_fail(err, p->status, "%s", p->err.message);
        else if (status == WK_OK && r->config->recorded)
            status = ask_caller(r, p, err);
        wk_arena_reset(&p->memory);
        *p = (piece){0};
    }
    r->n_pieces = 0;
    return status;
}

static wk_status simulate_all(relabel *r, wk_relabel_result *out, wk_error *err)
{
    size_t count = wk_replay_count(r->replay);
    double began = wk_clock_seconds();
    wk_progress_next(r->progress, "episodes", (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        // What the table of before has of an episode, all of its rows, is not computed again.
        uint64_t rows = 0;
        const float *old = wk_reward_table_find(&r->old, r->now.episodes[i], &rows);
        if (old && rows == r->now.rows[i]) {
            memcpy(r->now.rewards + r->now.starts[i], old, rows * sizeof *old);
            wk_progress_count(r->progress, 0);
            continue;
        }
        out->simulated++;
        out->steps += r->now.rows[i] - 1;
        WK_TRY(fill_piece(r, i, &r->pieces[r->n_pieces++], err));
        if (r->n_pieces == EPISODES_PER_THREAD * r->n_envs) WK_TRY(run_pieces(r, err));
    }
    WK_TRY(run_pieces(r, err));
    out->seconds = wk_clock_seconds() - began;
    return WK_OK;
}

// The table with the episodes of the replay and no rewards yet.
static wk_status plan(relabel *r, wk_error *err)
{
    size_t count = wk_replay_count(r->replay);
    uint64_t *rows = calloc(count + 1, sizeof *rows);
    if (!rows) return wk_fail(err, WK_E_MEMORY, "no memory for a list of %zu episodes", count);
    for (size_t i = 0; i < count; i++)
        rows[i] = wk_replay_at(r->replay, i).rows;
    wk_reward_label label = r->now.label;
    wk_status status = wk_reward_table_create(rows, count, &r->now, err);
    free(rows);
    WK_TRY(status);
    r->now.label = label;
    for (size_t i = 0; i < count; i++)
        r->now.episodes[i] = wk_replay_at(r->replay, i).id;
    return WK_OK;
}

// What an earlier call has left under the name.
static wk_status open_old(relabel *r, wk_error *err)
{
    wk_error said = {0};
    wk_status status = wk_reward_table_read(r->config->directory, r->reward->name, &r->old, &said);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (r->config->restart && (status == WK_OK || status == WK_E_FORMAT)) {
        wk_reward_table_free(&r->old);
        return WK_OK;
    }
    if (status != WK_OK) return wk_fail(err, status, "%s", said.message);
    const char *was = r->old.label.file.sha256, *is = r->now.label.file.sha256;
    if (strcmp(was, is) == 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "'%s' has a reward '%s' that was computed by other code (SHA-256 %.12s..., now "
                   "%.12s...); give the new one another name, or replace it with --restart and "
                   "adapt again",
                   r->config->directory, r->reward->name, was, is);
}

// Writes the table, unless what is there already says the same.
static wk_status keep(relabel *r, wk_error *err)
{
    const wk_reward_table *a = &r->old, *b = &r->now;
    if (a->count == b->count && strcmp(a->label.file.path, b->label.file.path) == 0 &&
        memcmp(a->episodes, b->episodes, a->count * sizeof *a->episodes) == 0 &&
        memcmp(a->rows, b->rows, a->count * sizeof *a->rows) == 0)
        return WK_OK;
    wk_dir *folder = NULL;
    WK_TRY(wk_lock_check(&r->lock, err));
    WK_TRY(wk_dir_make(r->dir, WK_REWARD_FOLDER, &folder, err));
    wk_status status = wk_reward_table_write(b, folder, err);
    wk_dir_close(folder);
    return status;
}

static wk_status relabel_run(relabel *r, wk_relabel_result *out, wk_error *err)
{
    // The run, the reward and the domain that has it; its lock.
    const wk_relabel_config *c = r->config;
    const wk_named_plugins named = {.domain = c->plugin};
    const wk_saved_run_options options = {
        .depth = WK_SAVED_CHECKPOINT, .plugins = &named, .log = r->log, .own_tasks = true};
    wk_reward_label *label = &r->now.label;
    WK_TRY(wk_saved_run_open(c->directory, &options, &r->run, err));
    if (c->recorded) {
        WK_TRY(recording_reward(c->recorded, &r->recorder, label, err));
        r->reward = &r->recorder;
    } else {
        WK_TRY(wk_run_plugins_open_reward(c->reward, &r->run.code, &label->file, err));
        r->reward = r->run.code.rewards[0].reward;
    }
    const wk_domain *stored = r->run.replay_domain;
    const wk_added_task added = {r->reward->name, r->reward};
    WK_TRY(wk_relabelled_create(stored, &added, 1, &r->extended, err));
    snprintf(label->name, sizeof label->name, "%s", r->reward->name);
    snprintf(label->domain, sizeof label->domain, "%s", stored->name);
    WK_TRY(wk_dir_open(NULL, c->directory, &r->dir, err));
    WK_TRY(wk_lock_take(r->dir, &r->lock, err));
    WK_TRY(wk_leftovers_remove(r->dir, err));
    WK_TRY(open_old(r, err));

    // An environment for each thread.
    WK_TRY(wk_pool_create(c->threads, &r->pool, err));
    int threads = wk_pool_threads(r->pool);
    r->envs = calloc((size_t)threads, sizeof(wk_env *));
    r->pieces = calloc((size_t)threads * EPISODES_PER_THREAD, sizeof *r->pieces);
    if (!r->envs || !r->pieces)
        return wk_fail(err, WK_E_MEMORY, "no memory for %d environments", threads);
    for (; r->n_envs < threads; r->n_envs++)
        WK_TRY(wk_env_create(wk_relabelled_domain(r->extended), r->run.world.options,
                             &r->envs[r->n_envs], err));

    // The episodes of its data.
    WK_TRY(wk_saved_run_open_replay(&r->run, NULL, &r->replay, err));
    WK_TRY(plan(r, err));
    WK_TRY(simulate_all(r, out, err));
    WK_TRY(keep(r, err));

    // The mean return over finished episodes.
    uint64_t finished = 0;
    for (size_t i = 0; i < r->now.count; i++) {
        if (wk_replay_at(r->replay, i).slot >= 0) continue;
        finished++;
        for (uint64_t k = r->now.starts[i]; k < r->now.starts[i + 1]; k++)
            out->mean_return += (double)r->now.rewards[k];
    }
    if (finished > 0) out->mean_return /= (double)finished;
    snprintf(out->name, sizeof out->name, "%s", r->reward->name);
    out->episodes = r->now.count;
    out->rows = r->now.starts[r->now.count];
    out->threads = r->n_envs;
    return WK_OK;
}

wk_status wk_relabel(const wk_relabel_config *config, const wk_log *log, wk_progress_line *progress,
                     wk_relabel_result *out, wk_error *err)
{
    relabel *r = calloc(1, sizeof *r);
    if (!r) return wk_fail(err, WK_E_MEMORY, "no memory to relabel");
    r->config = config;
    r->log = log;
    r->progress = progress;
    *out = (wk_relabel_result){0};
    wk_status status = relabel_run(r, out, err);
    for (int i = 0; i < r->n_pieces; i++)
        wk_arena_reset(&r->pieces[i].memory);
    for (int i = 0; i < r->n_envs; i++)
        wk_env_destroy(r->envs[i]);
    free(r->envs);
    free(r->pieces);
    wk_pool_destroy(r->pool);
    wk_replay_destroy(r->replay);
    wk_reward_table_free(&r->old);
    wk_reward_table_free(&r->now);
    wk_lock_release(&r->lock);
    wk_dir_close(r->dir);
    wk_relabelled_destroy(r->extended);
    wk_saved_run_close(&r->run);
    free(r);
    return status;
}
