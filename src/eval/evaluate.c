#include "eval/evaluate.h"

#include "base/rng.h"
#include "env/domain.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVE = WK_EVAL_WAVE_SIZE, GROUPS = 2 };

// Episodes first ... first + count - 1 of a case, played side by side.
typedef struct wave {
    int set, first, count;
    uint64_t key;              // of (seed, case)
    wk_eval_episode *episodes; // [count]
    float *actions;            // [count,steps,A], or NULL
} wave;

// One wave in flight with its environments and policy.
typedef struct group {
    wk_vec *vec;
    wk_acting *acting; // NULL: random actions
    wave wave;
    int running;         // members whose episode has not ended; 0: nothing to do
    bool active[WAVE];   // an episode runs here
    double weight[WAVE]; // discount of the next reward
    int judged[WAVE];    // rewards that the reward head has been compared at
    uint8_t first[WAVE]; // nonzero: the policy forgets what was before
    wk_rng random[WAVE]; // of the actions
    float *actions;      // [WAVE,A]
} group;

typedef struct player {
    const wk_eval_config *config;
    wk_space *space;
    group groups[GROUPS];
    wk_eval_episode *next; // of the episodes not begun
    float *next_actions;   // theirs, or NULL
    int set, first;        // where the next wave begins
} player;

int wk_eval_steps(const wk_eval_config *config)
{
    int whole = config->domain->episode_steps;
    return config->steps > 0 && config->steps < whole ? config->steps : whole;
}

// Numbers of all actions of an episode.
static size_t action_numbers(const wk_eval_config *config)
{
    return (size_t)wk_eval_steps(config) * (size_t)config->domain->action_size;
}

// Whether the learner can say what the task of the evaluation will bring.
static bool foresees(const wk_eval_config *config)
{
    return config->learner && config->policy >= 0 && config->task >= 0;
}

static uint64_t case_key(uint64_t seed, const char *name)
{
    char stream[128];
    snprintf(stream, sizeof stream, "evaluation/%.100s", name);
    return wk_rng_key(seed, stream);
}

// Whether there are episodes that no wave has yet.
static bool any_left(player *p)
{
    const wk_eval_config *c = p->config;
    while (p->set < c->n_cases && p->first >= c->cases[p->set].episodes) {
        p->set++;
        p->first = 0;
    }
    return p->set < c->n_cases;
}

// Cuts the next wave off what is left.
static bool next_wave(player *p, wave *out)
{
    const wk_eval_config *c = p->config;
    if (!any_left(p)) return false;
    int left = c->cases[p->set].episodes - p->first;
    *out = (wave){.set = p->set,
                  .first = p->first,
                  .count = left < WAVE ? left : WAVE,
                  .key = case_key(c->seed, c->cases[p->set].name),
                  .episodes = p->next,
                  .actions = p->next_actions};
    p->first += out->count;
    p->next += out->count;
    if (p->next_actions) p->next_actions += (size_t)out->count * action_numbers(c);
    return true;
}

static void idle_finished(group *g)
{
    for (int i = 0; i < WAVE; i++)
        if (!g->active[i]) wk_vec_plan_idle(g->vec, i);
}

// The number that an episode's randomness comes from.
static uint64_t episode_key(const wk_eval_config *c, int number)
{
    return (uint64_t)c->trajectory << 32 | (uint64_t)number;
}

static wk_status begin_episode(player *p, group *g, int i, wk_error *err)
{
    const wk_eval_config *c = p->config;
    const wave *w = &g->wave;
    int number = w->first + i;
    double *theta = w->episodes[i].theta;
    w->episodes[i] = (wk_eval_episode){.calibration = {NAN, NAN, NAN}};
    g->weight[i] = 1;
    g->judged[i] = 0;
    wk_eval_theta(c->domain, p->space, c->task, &c->cases[w->set], w->key, number, theta);
    g->random[i] = wk_rng_stream(w->key, "evaluation actions", episode_key(c, number));
    g->active[i] = true;
    return wk_vec_plan_reset(g->vec, i, theta, (size_t)c->domain->n_params, w->key,
                             episode_key(c, number), err);
}

// Sends the environments of the next wave, if there is one, to their starts.
static wk_status begin_wave(player *p, group *g, wk_error *err)
{
    g->running = 0;
    if (!next_wave(p, &g->wave)) return WK_OK;
    g->running = g->wave.count;
    size_t numbers = WAVE * (size_t)p->config->domain->action_size;
    memset(g->actions, 0, numbers * sizeof *g->actions);
    memset(g->first, 1, sizeof g->first);
    memset(g->active, 0, sizeof g->active);
    for (int i = 0; i < g->wave.count; i++)
        WK_TRY(begin_episode(p, g, i, err));
    idle_finished(g);
    // Waves draw from places of the streams that are far apart.
    uint64_t counter = g->wave.key + ((uint64_t)(g->wave.first / WAVE) << 32);
    if (g->acting) WK_TRY(wk_acting_begin(g->acting, counter, err));
    return wk_vec_step_begin(g->vec, g->actions, err);
}

// Adds a reward to the discounted return of lane i.
static void discount_reward(const player *p, group *g, int i, float reward)
{
    if (!foresees(p->config)) return;
    wk_calibration *f = &g->wave.episodes[i].calibration;
    f->discounted = (isnan(f->discounted) ? 0 : f->discounted) + g->weight[i] * (double)reward;
    g->weight[i] *= (double)wk_learner_get_config(p->config->learner)->discount;
}

// Compares what the learner thinks of the states it acted in with what came.
static void note_estimates(const player *p, group *g)
{
    const wk_eval_config *c = p->config;
    wk_estimates e = wk_acting_estimates(g->acting);
    const float *rewards = wk_vec_batch(g->vec)->rewards + c->task;
    for (int i = 0; i < g->wave.count; i++) {
        if (!g->active[i]) continue;
        wk_calibration *f = &g->wave.episodes[i].calibration;
        if (g->wave.episodes[i].steps == 0) {
            f->value = (double)e.value[i];
            continue;
        }
        double error = fabs((double)e.reward[i] - (double)rewards[i * c->domain->n_tasks]);
        double before = g->judged[i] ? f->reward_error : 0;
        f->reward_error = before + (error - before) / ++g->judged[i];
    }
}

// Takes down what environment i showed; a member idles after its episode's last row.
static wk_status take_row(player *p, group *g, int i, wk_error *err)
{
    const wk_eval_config *c = p->config;
    const wk_batch *b = wk_vec_batch(g->vec);
    wk_eval_episode *e = &g->wave.episodes[i];
    size_t tasks = (size_t)c->domain->n_tasks, width = (size_t)c->domain->action_size;
    size_t numbers = (size_t)c->domain->observation.vector;
    const float *rewards = b->rewards + (size_t)i * tasks;
    const float *completion = b->completion + (size_t)i * tasks;
    uint8_t flags = b->flags[i];
    const float *action = g->actions + (size_t)i * width;
    if (!(flags & WK_IS_FIRST)) {
        if (g->wave.actions)
            memcpy(g->wave.actions + (size_t)i * action_numbers(c) + (size_t)e->steps * width,
                   action, width * sizeof *action);
        e->steps++;
        for (size_t k = 0; k < tasks; k++)
            e->returns[k] += (double)rewards[k];
        if (c->task >= 0) discount_reward(p, g, i, rewards[c->task]);
    }
    if (c->steps > 0 && e->steps >= c->steps) flags |= WK_IS_LAST;
    e->diverged = flags & WK_IS_DIVERGED;
    memcpy(e->completion, completion, tasks * sizeof *completion);
    if (flags & WK_IS_LAST) {
        for (int k = 0; k < c->domain->n_indicators; k++)
            e->indicators[k] = wk_env_indicator(wk_vec_env(g->vec, i), k);
        g->active[i] = false;
        g->running--;
    }
    wk_eval_row row = {.set = g->wave.set,
                       .episode = g->wave.first + i,
                       .step = e->steps,
                       .theta = e->theta,
                       .image = b->images ? b->images + (size_t)i * WK_IMAGE_BYTES : NULL,
                       .vector = b->vectors ? b->vectors + (size_t)i * numbers : NULL,
                       .action = action,
                       .rewards = rewards,
                       .completion = completion,
                       .flags = flags};
    return c->watch ? c->watch(c->context, &row, err) : WK_OK;
}

static void act_randomly(group *g, const wk_domain *domain)
{
    for (size_t i = 0; i < WAVE; i++)
        if (g->active[i])
            wk_domain_random_action(domain, &g->random[i],
                                    g->actions + i * (size_t)domain->action_size);
}

// Actions from what the environments show; meanwhile those of the other group move.
static wk_status act(const player *p, group *g, wk_error *err)
{
    if (!g->acting) {
        act_randomly(g, p->config->domain);
        return WK_OK;
    }
    const wk_batch *b = wk_vec_batch(g->vec);
    wk_acting_rows rows = {b->images, b->vectors, g->actions, g->first, g->actions};
    WK_TRY(wk_acting_step(g->acting, &rows, p->config->mode, err));
    if (foresees(p->config)) note_estimates(p, g);
    for (int i = 0; i < WAVE; i++)
        g->first[i] = !g->active[i];
    return WK_OK;
}

// One step of a group from the moment its environments have been sent off to the next such moment.
static wk_status turn(player *p, group *g, wk_error *err)
{
    WK_TRY(wk_vec_step_finish(g->vec, err));
    for (int i = 0; i < g->wave.count; i++)
        if (g->active[i]) WK_TRY(take_row(p, g, i, err));
    if (g->running == 0) return begin_wave(p, g, err);
    idle_finished(g);
    WK_TRY(act(p, g, err));
    return wk_vec_step_begin(g->vec, g->actions, err);
}

static wk_status prepare(player *p, group *g, wk_error *err)
{
    const wk_eval_config *c = p->config;
    g->actions = calloc(WAVE * (size_t)c->domain->action_size, sizeof *g->actions);
    if (!g->actions) return wk_fail(err, WK_E_MEMORY, "no memory for an evaluation");
    WK_TRY(wk_vec_create(c->domain, c->options, WAVE, c->threads, &g->vec, err));
    if (foresees(c))
        WK_TRY(wk_acting_create_estimating(c->learner, c->policy, WAVE, &g->acting, err));
    else if (c->learner)
        WK_TRY(wk_acting_create(c->learner, c->policy, WAVE, &g->acting, err));
    return begin_wave(p, g, err);
}

static wk_status play(player *p, wk_error *err)
{
    WK_TRY(wk_space_create(p->config->domain, false, &p->space, err));
    for (int i = 0; i < GROUPS && any_left(p); i++)
        WK_TRY(prepare(p, &p->groups[i], err));
    for (bool going = true; going;) {
        going = false;
        for (int i = 0; i < GROUPS; i++) {
            if (p->groups[i].running) WK_TRY(turn(p, &p->groups[i], err));
            going |= p->groups[i].running > 0;
        }
    }
    return WK_OK;
}

wk_status wk_evaluate(const wk_eval_config *config, wk_eval_episode *episodes, wk_error *err)
{
    for (int i = 0; i < config->n_cases; i++)
        assert(wk_eval_case_fits(config->domain, config->task, &config->cases[i]));
    player p = {.config = config, .next = episodes, .next_actions = config->actions};
    wk_status status = play(&p, err);
    for (int i = 0; i < GROUPS; i++) {
        wk_vec_destroy(p.groups[i].vec);
        wk_acting_destroy(p.groups[i].acting);
        free(p.groups[i].actions);
    }
    wk_space_destroy(p.space);
    return status;
}

// What an environment that is alone shows; points at the parts of a row.
typedef struct view {
    uint8_t image[WK_IMAGE_BYTES], flags;
    float vector[WK_VECTOR_MAX];
    float rewards[WK_TASKS_MAX], completion[WK_TASKS_MAX];
} view;

static wk_status show(const wk_eval_config *c, wk_env *env, view *v, wk_eval_row *row,
                      const float *actions, int steps, wk_error *err)
{
    const float still[WK_ACTION_MAX] = {0};
    size_t width = (size_t)c->domain->action_size;
    wk_frame frame = {.image = row->image ? v->image : NULL,
                      .vector = v->vector,
                      .rewards = v->rewards,
                      .completion = v->completion,
                      .flags = &v->flags};
    WK_TRY(wk_env_reset(env, row->theta, (size_t)c->domain->n_params,
                        case_key(c->seed, c->cases[row->set].name), episode_key(c, row->episode),
                        &frame, err));
    row->action = still;
    for (;; row->step++) {
        row->flags = (uint8_t)(v->flags | (row->step == steps ? WK_IS_LAST : 0));
        WK_TRY(c->watch(c->context, row, err));
        if (row->step == steps) return WK_OK;
        row->action = actions + (size_t)row->step * width;
        WK_TRY(wk_env_step(env, row->action, &frame, err));
    }
}

wk_status wk_eval_replay(const wk_eval_config *c, int set, int episode,
                         const wk_eval_episode *played, const float *actions, wk_error *err)
{
    wk_env *env = NULL;
    view v = {0};
    wk_eval_row row = {.set = set,
                       .episode = episode,
                       .theta = played->theta,
                       .image = c->domain->observation.no_image ? NULL : v.image,
                       .vector = v.vector,
                       .rewards = v.rewards,
                       .completion = v.completion};
    WK_TRY(wk_env_create(c->domain, c->options, &env, err));
    wk_status status = show(c, env, &v, &row, actions, played->steps, err);
    wk_env_destroy(env);
    return status;
}
