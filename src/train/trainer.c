#include "train/trainer.h"

#include "base/file.h"
#include "base/observation.h"
#include "config/parts.h"
#include "env/host.h"
#include <stdlib.h>

// Its environments work on the threads of the first trainer's.
static wk_status make_worlds(wk_trainer *t, wk_error *err)
{
    const wk_trainer *first = t->population->members[0];
    WK_TRY(wk_run_world_open(&t->config, t->code, NULL, &t->world, err));
    t->domain = t->world.domain;
    WK_TRY(wk_run_space_create(&t->config, &t->world, &t->space, err));
    WK_TRY(t == first ? wk_vec_create(t->domain, t->world.options, t->count, t->config.env_threads,
                                      &t->vec, err)
                      : wk_vec_create_sharing(t->domain, t->world.options, t->count, first->vec,
                                              &t->vec, err));
    return wk_run_curriculum_create(&t->config, t->code, NULL, t->domain, t->space, &t->curriculum,
                                    err);
}

static wk_status allocate(wk_trainer *t, wk_error *err)
{
    size_t n = (size_t)t->count, rows = (size_t)t->config.batch * (size_t)t->config.length;
    size_t width = (size_t)t->domain->action_size;
    t->running = wk_arena_alloc(&t->arena, n * sizeof *t->running);
    t->actions = wk_arena_alloc(&t->arena, n * width * sizeof *t->actions);
    t->images = wk_arena_alloc(&t->arena, n * wk_observation_image_bytes(t->domain->observation));
    t->vectors = wk_arena_alloc(&t->arena, wk_run_vector_bytes(t->domain, t->count));
    t->first = wk_arena_alloc(&t->arena, n);
    t->rows = wk_arena_alloc(&t->arena, n * sizeof *t->rows);
    t->ended = wk_arena_alloc(&t->arena, n * sizeof *t->ended);
    t->delta = wk_arena_alloc(&t->arena, rows * sizeof *t->delta);
    t->delta_theta_index = wk_arena_alloc(&t->arena, rows * sizeof *t->delta_theta_index);
    t->delta_theta =
        wk_arena_alloc(&t->arena, rows * (size_t)t->domain->n_params * sizeof *t->delta_theta);
    if (t->arena.failed) return wk_fail(err, WK_E_MEMORY, "no memory for %zu environments", n);
    return WK_OK;
}

// What a checkpoint holds.
static wk_checkpoint_parts parts_of(wk_trainer *t)
{
    return (wk_checkpoint_parts){
        .config = &t->config,
        .state = {.count = t->count,
                  .train_every = (uint64_t)t->config.train_every,
                  .domain = t->domain,
                  .counters = &t->counters,
                  .running = t->running,
                  .actions = t->actions,
                  .images = t->images,
                  .vectors = t->vectors,
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
        .pool = t->population->pool,
        .space = t->space};
}

// Whether their learners are updated, and their policies act, together.
static bool are_alike(const wk_trainer *a, const wk_trainer *b)
{
    return a->policy == b->policy && a->count == b->count &&
           wk_learner_config_is_alike(&a->learner_config, &b->learner_config);
}

// Gathers the trainers that are like `first` in a subpopulation, and makes their learners and what
// acts for it. Their backends follow each other from *used on.
static wk_status make_subpopulation(wk_trainer_population *p, wk_trainer *first, int *used,
                                    wk_error *err)
{
    wk_learner_config configs[WK_POPULATION_MAX];
    wk_learner *learners[WK_POPULATION_MAX];
    wk_acting *acting[WK_POPULATION_MAX] = {0};
    wk_subpopulation *sub = wk_arena_alloc(&first->arena, sizeof *sub);
    if (!sub) return wk_fail(err, WK_E_MEMORY, "no memory for a population of runs");
    for (int r = 0; r < p->count; r++) {
        wk_trainer *t = p->members[r];
        if (t->subpopulation || !are_alike(first, t)) continue;
        t->subpopulation = sub;
        configs[sub->count] = t->learner_config;
        sub->members[sub->count++] = t;
    }
    p->subpopulations[p->n_subpopulations++] = sub;
    wk_backend *const *backends = p->backends + *used;
    *used += sub->count;

    size_t rows = (size_t)sub->count * (size_t)wk_config_rows(configs);
    sub->delta = wk_arena_alloc(&first->arena, rows * sizeof *sub->delta);
    if (!sub->delta) return wk_fail(err, WK_E_MEMORY, "no memory for error estimates");
    WK_TRY(wk_learner_create_population(WK_LEARNER_UPDATES, configs, backends, sub->count, learners,
                                        err));
    sub->leader = learners[0];
    for (int i = 0; i < sub->count; i++) {
        sub->members[i]->learner = learners[i];
        sub->members[i]->backend = backends[i];
    }
    bool random = configs[0].exploration == WK_EXPLORE_RANDOM;
    if (first->policy == WK_POLICY_EXPLORE && random) return WK_OK;
    WK_TRY(wk_acting_create_population(learners, sub->count, first->policy, first->count, acting,
                                       err));
    sub->acting = acting[0];
    for (int i = 0; i < sub->count; i++)
        sub->members[i]->acting = acting[i];
    return WK_OK;
}

static wk_status make_learners(wk_trainer_population *p, wk_error *err)
{
    int used = 0, tasks;
    for (int r = 0; r < p->count; r++) {
        wk_trainer *t = p->members[r];
        WK_TRY(wk_run_config_tasks(&t->config, t->domain, t->tasks, &tasks, err));
        WK_TRY(wk_run_config_learner(&t->config, t->domain, &t->learner_config, err));
        WK_TRY(wk_run_config_acting(&t->config, t->domain, &t->policy, err));
    }
    for (int r = 0; r < p->count; r++)
        if (!p->members[r]->subpopulation) WK_TRY(make_subpopulation(p, p->members[r], &used, err));
    return WK_OK;
}

static wk_status build(wk_trainer_population *p, wk_error *err)
{
    const wk_run_config *config = &p->members[0]->config;
    bool upload[WK_POPULATION_MAX]; // known before anything is written
    for (int r = 0; r < p->count; r++) {
        WK_TRY(make_worlds(p->members[r], err));
        WK_TRY(allocate(p->members[r], err));
    }
    WK_TRY(wk_pool_create(config->env_threads, &p->pool, err));
    WK_TRY(wk_device_open_population(config->device, config->precision, p->count, p->pool,
                                     p->backends, &p->device, err));
    WK_TRY(make_learners(p, err));
    for (int r = 0; r < p->count; r++) {
        wk_trainer *t = p->members[r];
        for (int i = 0; i < 2; i++)
            WK_TRY(wk_batch_buffer_create(&t->config, t->domain, t->backend, &t->batch_buffers[i],
                                          err));
        if (wk_curriculum_get_rule(t->curriculum)->needs & WK_NEEDS_MODEL_ERROR)
            WK_TRY(wk_episode_error_create(t->learner, &t->episode_error, err));
        if (t->acting) {
            t->acting_state = wk_arena_alloc(&t->arena, wk_acting_state_size(t->acting));
            if (!t->acting_state)
                return wk_fail(err, WK_E_MEMORY, "no memory for recurrent states");
        }
        WK_TRY(wk_trainer_choose_frame_placement(t, &upload[r], err));
    }

    // The state of each: from a checkpoint, or a beginning.
    for (int r = 0; r < p->count; r++) {
        wk_trainer *t = p->members[r];
        wk_checkpoint_parts parts = parts_of(t);
        WK_TRY(wk_checkpoints_open(t->directory, &parts, &t->checkpoints, err));
        if (upload[r]) WK_TRY(wk_trainer_upload_frames(t, err));
    }
    return WK_OK;
}

// Leaders come before the others of their subpopulation, and vectors before the first one's, which
// has the threads.
static void destroy_population(wk_trainer_population *p)
{
    for (int r = 0; r < p->count; r++)
        wk_device_frames_destroy(p->members[r]->device_frames);
    for (int r = 0; r < p->count; r++)
        wk_acting_destroy(p->members[r]->acting);
    for (int r = 0; r < p->count; r++)
        wk_episode_error_free(&p->members[r]->episode_error);
    for (int r = 0; r < p->count; r++)
        wk_learner_destroy(p->members[r]->learner);
    for (int r = p->count - 1; r >= 0; r--)
        wk_vec_destroy(p->members[r]->vec);
    for (int r = p->count - 1; r >= 0; r--) {
        wk_trainer *t = p->members[r];
        for (int i = 0; i < 2; i++)
            wk_batch_buffer_free(&t->batch_buffers[i]);
        wk_replay_log_close(t->replay_log);
        wk_replay_destroy(t->replay);
        wk_curriculum_destroy(t->curriculum);
        wk_space_destroy(t->space);
        wk_checkpoints_close(&t->checkpoints);
        wk_dir_close(t->directory);
        wk_arena_reset(&t->arena);
        free(t);
    }
    wk_device_close_population(p->backends, p->count);
    wk_pool_destroy(p->pool);
    free(p);
}

wk_status wk_trainer_create_population(const wk_run_config *const *configs,
                                       const wk_run_plugins *const *code,
                                       const wk_dir *const *directories, int count,
                                       wk_trainer **out, wk_error *err)
{
    if (count < 1 || count > WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "at most %d runs train together, not %d", WK_POPULATION_MAX,
                       count);
    wk_trainer_population *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for a trainer");
    wk_status status = WK_OK;
    for (int r = 0; status == WK_OK && r < count; r++) {
        wk_trainer *t = p->members[r] = calloc(1, sizeof *t);
        if (!t) {
            status = wk_fail(err, WK_E_MEMORY, "no memory for a trainer");
            break;
        }
        p->count++;
        t->population = p;
        t->config = *configs[r];
        t->code = code ? code[r] : NULL;
        t->count = configs[r]->env_count;
        status = wk_dir_open(directories[r], ".", &t->directory, err);
    }
    if (status == WK_OK) status = build(p, err);
    for (int r = 0; status == WK_OK && r < count; r++)
        out[r] = p->members[r];
    if (status != WK_OK) destroy_population(p);
    return status;
}

void wk_trainer_destroy_population(wk_trainer *const *trainers, int count)
{
    if (count > 0 && trainers[0]) destroy_population(trainers[0]->population);
}

wk_progress wk_trainer_progress(const wk_trainer *t)
{
    uint64_t running = 0;
    for (int i = 0; i < t->count; i++)
        running += t->running[i].active != 0;
    wk_progress p = {.steps = t->counters.steps,
                     .episodes = t->counters.episodes,
                     .updates = t->counters.updates,
                     .ended = t->counters.episodes - running,
                     .diverged = t->counters.diverged,
                     .prefilling = wk_trainer_is_prefilling(t),
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

wk_status wk_trainer_end_episodes(wk_trainer *t, int *ended, wk_error *err)
{
    *ended = 0;
    for (int i = 0; i < t->count; i++) {
        if (!t->running[i].active || wk_env_has_episode(wk_vec_env(t->vec, i))) continue;
        const wk_replay_row end = {.slot = i, .flags = WK_IS_LAST};
        WK_TRY(wk_replay_append(t->replay, &end, 1, err));
        t->running[i].active = WK_EPISODE_NONE;
        ++*ended;
    }
    return WK_OK;
}
