// What the tests of the terrain domains share: environments made straight from a domain, and a twin
// world of plain MuJoCo that starts in an environment's saved state.
#ifndef WK_TESTS_TERRAIN_H
#define WK_TESTS_TERRAIN_H

#include "base/file.h"
#include "base/random.h"
#include "env/domains/terrain_profile.h"
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

static inline void reset_env(const wk_domain *domain, void *env, double amplitude, double length,
                             uint64_t seed, uint64_t episode)
{
    wk_error err = {0};
    wk_outcome out = {0};
    assert_ok(domain->reset(env, (const double[]){amplitude, length}, seed, episode, &out, &err));
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

/// A world of plain MuJoCo to compare with an environment.
typedef struct twin {
    mjModel *model;
    mjData *data;
} twin;

/// The twin of an environment that was just reset to (amplitude, length) on the fixed lattice.
static inline twin make_twin(const char *file, const wk_domain *domain, const void *env,
                             double amplitude, double length)
{
    wk_error err = {0};
    twin t;
    assert_ok(wk_physics_load(file, wk_asset_find(file)->content, &t.model, &err));
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(length));
    wk_terrain_noise(lattice, amplitude, length, heights);
    for (int row = 0; row < 5; row++)
        memcpy(t.model->hfield_data + row * WK_TERRAIN_COLUMNS, heights, sizeof heights);
    t.data = mj_makeData(t.model);
    double *numbers = saved_numbers(domain, env);
    mju_copy(t.data->qpos, numbers + 1, (int)t.model->nq);
    free(numbers);
    mj_forward(t.model, t.data);
    return t;
}

static inline void free_twin(twin t)
{
    mj_deleteData(t.data);
    mj_deleteModel(t.model);
}

/// One control step of the twin by plain mj_step; then velocities of the whole body are current.
static inline void step_twin(twin t, const float *action, int substeps)
{
    for (int u = 0; u < t.model->nu; u++)
        t.data->ctrl[u] = (double)action[u];
    for (int i = 0; i < substeps; i++)
        mj_step(t.model, t.data);
    mj_forward(t.model, t.data);
    mj_subtreeVel(t.model, t.data);
}

/// Height gained by the vector (x, z) of a link pitched by `angle` about +y.
static inline double rise(double x, double z, double angle)
{
    return z * cos(angle) - x * sin(angle);
}

#endif
