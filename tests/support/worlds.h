// What the tests of the built-in domains share: environments made straight from a domain.
#ifndef WK_TESTS_WORLDS_H
#define WK_TESTS_WORLDS_H

#include "base/random.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include "waker/env.h"
#include <mujoco/mujoco.h>
#include <stdlib.h>

static const int default_options[WK_OPTIONS_MAX];

static inline void *make_env(const wk_domain *domain, const int *options)
{
    wk_error err = {0};
    void *env = NULL;
    assert_ok(domain->create(domain, options, &env, &err));
    return env;
}

static inline wk_outcome start_env(const wk_domain *domain, void *env, const double *theta,
                                   uint64_t seed, uint64_t episode)
{
    wk_error err = {0};
    wk_outcome out = {0};
    assert_ok(domain->reset(env, theta, seed, episode, &out, &err));
    return out;
}

static inline wk_outcome step_env(const wk_domain *domain, void *env, const float *action)
{
    wk_outcome out = {0};
    domain->step(env, action, &out);
    return out;
}

static inline void reset_env(const wk_domain *domain, void *env, double amplitude, double length,
                             uint64_t seed, uint64_t episode)
{
    start_env(domain, env, (const double[]){amplitude, length}, seed, episode);
}

static inline void draw_action(const wk_domain *domain, wk_rng *rng, float *action)
{
    for (int u = 0; u < domain->action_size; u++)
        action[u] = (float)wk_rng_uniform(rng, -1, 1);
}

/// The saved state of an environment as numbers: time, qpos, qvel, ctrl, qacc_warmstart. Free it.
static inline double *saved_numbers(const wk_domain *domain, const void *env)
{
    double *numbers = malloc(domain->state_size(env));
    assert_non_null(numbers);
    domain->save(env, numbers);
    return numbers;
}

#endif
