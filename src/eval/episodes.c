#include "eval/episodes.h"

#include "base/random.h"
#include "env/domain.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVE = WK_EVAL_WAVE_SIZE, SLOTS = 2 };

// Episodes first ... first + count - 1 of a case, played side by side.
typedef struct wave {
    int case_index, first, count;
    uint64_t key;              // of (seed, case)
    wk_eval_episode *episodes; // [count]
    float *actions;            // [count,steps,A], or NULL
} wave;

// One wave in flight with its environments and policy: two of them are a double buffer.
typedef struct slot {
    wk_vec *vec;
    wk_acting *acting; // NULL: random actions
    wave wave;
    int running;            // episodes that have not ended; 0: nothing to do
    bool active[WAVE];      // an episode runs here
    double weight[WAVE];    // discount of the next reward
    int reward_count[WAVE]; // rewards that the reward head was compared with
    uint8_t first[WAVE];    // nonzero: the policy forgets what was before
    wk_rng random[WAVE];    // of the actions
    float *actions;         // [WAVE,A]
} slot;

typedef struct evaluation {
    const wk_eval_config *config;
    wk_space *space;
    slot slots[SLOTS];
    wk_eval_episode *next; // of the episodes not begun
    float *next_actions;   // theirs, or NULL
    int case_index, first; // where the next wave begins
} evaluation;

int wk_eval_steps(const wk_eval_config *config)
{
    int whole = config->domain->episode_steps;
    return config->steps > 0 && config->steps < whole ? config->steps : whole;
}

// Numbers of all actions of an episode.
static size_t action_floats(const wk_eval_config *config)
{
    return (size_t)wk_eval_steps(config) * (size_t)config->domain->action_size;
}

// Whether the learner has a critic and a reward head for the task of the evaluation.
static bool has_estimates(const wk_eval_config *config)
{
    return config->learner && config->policy >= 0 && config->task >= 0 &&
           !wk_learner_is_compact(config->learner);
}

static uint64_t case_key(uint64_t seed, const char *name)
{
    char stream[128];
    snprintf(stream, sizeof stream, "evaluation/%.100s", name);
    return wk_rng_key(seed, stream);
}

// The number that an episode's randomness comes from.
static uint64_t episode_key(const wk_eval_config *c, int number)
{
    return (uint64_t)c->trajectory << 32 | (uint64_t)number;
}

// Whether there are episodes that no wave has yet.
static bool any_left(evaluation *p)
{
    const wk_eval_config *c = p->config;
    while (p->case_index < c->n_cases && p->first >= c->cases[p->case_index].episodes) {
        p->case_index++;
        p->first = 0;
    }
    return p->case_index < c->n_cases;
}

static void idle_ended(slot *s)
{
    for (int i = 0; i < WAVE; i++)
        if (!s->active[i]) wk_vec_plan_idle(s->vec, i);
}

// Sends the environments of the next wave, if there is one, to their starts.
static wk_status begin_wave(evaluation *p, slot *s, wk_error *err)
{
    const wk_eval_config *c = p->config;
    wave *w = &s->wave;
    s->running = 0;
    if (!any_left(p)) return WK_OK;
    // Cut the wave off what is left.
    const wk_eval_case *eval_case = &c->cases[p->case_index];
    int left = eval_case->episodes - p->first;
    *w = (wave){.case_index = p->case_index,
                .first = p->first,
                .count = left < WAVE ? left : WAVE,
                .key = case_key(c->seed, eval_case->name),
                .episodes = p->next,
                .actions = p->next_actions};
    s->running = w->count;
    p->first += w->count;
    p->next += w->count;
    if (p->next_actions) p->next_actions += (size_t)w->count * action_floats(c);
    // Every episode begins in its θ, with nothing remembered.
    memset(s->actions, 0, WAVE * (size_t)c->domain->action_size * sizeof *s->actions);
    memset(s->first, 1, sizeof s->first);
    memset(s->active, 0, sizeof s->active);
    for (int i = 0; i < w->count; i++) {
        int number = w->first + i;
        double *theta = w->episodes[i].theta;
        w->episodes[i] = (wk_eval_episode){.calibration = {NAN, NAN, NAN}};
        s->weight[i] = 1;
        s->reward_count[i] = 0;
        wk_eval_theta(c->domain, p->space, c->task, eval_case, w->key, number, theta);
        s->random[i] = wk_rng_stream(w->key, "evaluation actions", episode_key(c, number));
        s->active[i] = true;
        WK_TRY(wk_vec_plan_reset(s->vec, i, theta, (size_t)c->domain->n_params, w->key,
                                 episode_key(c, number), err));
    }
    idle_ended(s);
    // Waves draw from places of the streams that are far apart.
    uint64_t counter = w->key + ((uint64_t)(w->first / WAVE) << 32);
    if (s->acting) WK_TRY(wk_acting_begin(s->acting, counter, err));
    return wk_vec_step_begin(s->vec, s->actions, err);
}

// Records what environment i showed; it idles after its episode's last row.
static wk_status record_row(evaluation *p, slot *s, int i, wk_error *err)
{
    const wk_eval_config *c = p->config;
    const wk_batch *b = wk_vec_batch(s->vec);
    wk_eval_episode *e = &s->wave.episodes[i];
    size_t tasks = (size_t)c->domain->n_tasks, width = (size_t)c->domain->action_size;
    size_t numbers = (size_t)c->domain->observation.vector;
    const float *rewards = b->rewards + (size_t)i * tasks;
    const float *completion = b->completion + (size_t)i * tasks;
    uint8_t flags = b->flags[i];
    const float *action = s->actions + (size_t)i * width;
    if (!(flags & WK_IS_FIRST)) {
        if (s->wave.actions)
            memcpy(s->wave.actions + (size_t)i * action_floats(c) + (size_t)e->steps * width,
                   action, width * sizeof *action);
        e->steps++;
        for (size_t k = 0; k < tasks; k++)
            e->returns[k] += (double)rewards[k];
        if (has_estimates(c)) {
            double *sum = &e->calibration.discounted;
            *sum = (isnan(*sum) ? 0 : *sum) + s->weight[i] * (double)rewards[c->task];
            s->weight[i] *= (double)wk_learner_get_config(c->learner)->discount;
        }
    }
    if (c->steps > 0 && e->steps >= c->steps) flags |= WK_IS_LAST;
    e->diverged = flags & WK_IS_DIVERGED;
    memcpy(e->completion, completion, tasks * sizeof *completion);
    if (flags & WK_IS_LAST) {
        for (int k = 0; k < c->domain->n_indicators; k++)
            e->indicators[k] = wk_env_indicator(wk_vec_env(s->vec, i), k);
        s->active[i] = false;
        s->running--;
    }
    wk_eval_row row = {.case_index = s->wave.case_index,
                       .episode = s->wave.first + i,
                       .step = e->steps,
                       .theta = e->theta,
                       .image = b->images ? b->images + (size_t)i * WK_IMAGE_BYTES : NULL,
                       .vector = b->vectors ? b->vectors + (size_t)i * numbers : NULL,
                       .action = action,
                       .rewards = rewards,
                       .completion = completion,
                       .flags = flags};
    return c->on_row ? c->on_row(c->context, &row, err) : WK_OK;
}

// Compares what the learner predicts in the states it acted in with what came.
static void compare_estimates(const evaluation *p, slot *s)
{
    const wk_eval_config *c = p->config;
    wk_estimates e = wk_acting_estimates(s->acting);
    const float *rewards = wk_vec_batch(s->vec)->rewards + c->task;
    for (int i = 0; i < s->wave.count; i++) {
        if (!s->active[i]) continue;
        wk_calibration *f = &s->wave.episodes[i].calibration;
        if (s->wave.episodes[i].steps == 0) {
            f->value = (double)e.value[i];
            continue;
        }
        double error = fabs((double)e.reward[i] - (double)rewards[i * c->domain->n_tasks]);
        double before = s->reward_count[i] ? f->reward_error : 0;
        f->reward_error = before + (error - before) / ++s->reward_count[i];
    }
}

// Finishes the step that the environments of a slot are in and begins their next one: the policy
// acts while those of the other slot step.
static wk_status step_slot(evaluation *p, slot *s, wk_error *err)
{
    const wk_eval_config *c = p->config;
    size_t width = (size_t)c->domain->action_size;
    WK_TRY(wk_vec_step_finish(s->vec, err));
    for (int i = 0; i < s->wave.count; i++)
        if (s->active[i]) WK_TRY(record_row(p, s, i, err));
    if (s->running == 0) return begin_wave(p, s, err);
    idle_ended(s);
    if (s->acting) {
        const wk_batch *b = wk_vec_batch(s->vec);
        wk_acting_rows rows = {b->images, b->vectors, s->actions, s->first, s->actions};
        WK_TRY(wk_acting_step(s->acting, &rows, c->mode, err));
        if (has_estimates(c)) compare_estimates(p, s);
        for (int i = 0; i < WAVE; i++)
            s->first[i] = !s->active[i];
    } else {
        for (size_t i = 0; i < WAVE; i++)
            if (s->active[i])
                wk_domain_random_action(c->domain, &s->random[i], s->actions + i * width);
    }
    return wk_vec_step_begin(s->vec, s->actions, err);
}

static wk_status play(evaluation *p, wk_error *err)
{
    const wk_eval_config *c = p->config;
    WK_TRY(wk_space_create(c->domain, false, &p->space, err));
    for (slot *s = p->slots; s < p->slots + SLOTS && any_left(p); s++) {
        s->actions = calloc(WAVE * (size_t)c->domain->action_size, sizeof *s->actions);
        if (!s->actions) return wk_fail(err, WK_E_MEMORY, "no memory for an evaluation");
        WK_TRY(wk_vec_create(c->domain, c->options, WAVE, c->threads, &s->vec, err));
        if (has_estimates(c))
            WK_TRY(wk_acting_create_estimating(c->learner, c->policy, WAVE, &s->acting, err));
        else if (c->learner)
            WK_TRY(wk_acting_create(c->learner, c->policy, WAVE, &s->acting, err));
        WK_TRY(begin_wave(p, s, err));
    }
    while (p->slots[0].running || p->slots[1].running)
        for (int i = 0; i < SLOTS; i++)
            if (p->slots[i].running) WK_TRY(step_slot(p, &p->slots[i], err));
    return WK_OK;
}

wk_status wk_evaluate(const wk_eval_config *config, wk_eval_episode *episodes, wk_error *err)
{
    for (int i = 0; i < config->n_cases; i++)
        assert(wk_eval_case_fits(config->domain, config->task, &config->cases[i]));
    evaluation p = {.config = config, .next = episodes, .next_actions = config->actions};
    wk_status status = play(&p, err);
    for (int i = 0; i < SLOTS; i++) {
        wk_vec_destroy(p.slots[i].vec);
        wk_acting_destroy(p.slots[i].acting);
        free(p.slots[i].actions);
    }
    wk_space_destroy(p.space);
    return status;
}

wk_status wk_eval_replay(const wk_eval_config *c, int case_index, int episode,
                         const wk_eval_episode *played, const float *actions, wk_error *err)
{
    const float still[WK_ACTION_MAX] = {0};
    uint8_t image[WK_IMAGE_BYTES] = {0}, flags = 0;
    float vector[WK_VECTOR_MAX] = {0}, rewards[WK_TASKS_MAX], completion[WK_TASKS_MAX];
    bool has_image = !c->domain->observation.no_image;
    wk_frame frame = {.image = has_image ? image : NULL,
                      .vector = vector,
                      .rewards = rewards,
                      .completion = completion,
                      .flags = &flags};
    wk_eval_row row = {.case_index = case_index,
                       .episode = episode,
                       .theta = played->theta,
                       .image = frame.image,
                       .vector = vector,
                       .action = still,
                       .rewards = rewards,
                       .completion = completion};
    wk_env *env = NULL;
    WK_TRY(wk_env_create(c->domain, c->options, &env, err));
    wk_status status = wk_env_reset(env, played->theta, (size_t)c->domain->n_params,
                                    case_key(c->seed, c->cases[case_index].name),
                                    episode_key(c, episode), &frame, err);
    for (; status == WK_OK; row.step++) {
        row.flags = (uint8_t)(flags | (row.step == played->steps ? WK_IS_LAST : 0));
        status = c->on_row(c->context, &row, err);
        if (status != WK_OK || row.step == played->steps) break;
        row.action = actions + (size_t)row.step * (size_t)c->domain->action_size;
        status = wk_env_step(env, row.action, &frame, err);
    }
    wk_env_destroy(env);
    return status;
}
