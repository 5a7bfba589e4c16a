#include "env/domains/planar.h"

#include "base/file.h"
#include "base/random.h"
#include "env/domain.h"
#include <stdlib.h>

const wk_indicator wk_planar_indicators[WK_PLANAR_INDICATORS] = {
    [WK_PLANAR_UPRIGHT] = {"upright", "share of steps with the torso within 60 degrees of upright",
                           WK_INDICATOR_MEAN, 0},
    [WK_PLANAR_DISTANCE] = {"distance", "metres travelled, forth and back", WK_INDICATOR_SUM, 0},
    [WK_PLANAR_RANGE] = {"range", "metres between the leftmost and the rightmost place",
                         WK_INDICATOR_RANGE, 0},
};

static wk_status fill(wk_planar_env *env, const wk_render_config *config, wk_error *err)
{
    const char *name = env->robot->model;
    WK_TRY(wk_physics_load(name, wk_asset_find(name)->content, &env->sim.model, err));
    if (env->robot->adjust) {
        env->loaded = mj_copyModel(NULL, env->sim.model);
        if (!env->loaded) return wk_fail(err, WK_E_MEMORY, "no memory for the model %s", name);
    }
    WK_TRY(wk_physics_make_data(env->sim.model, &env->sim.data, err));
    return wk_scene_create(env->robot->scene, env->sim.model, config, &env->scene, err);
}

wk_status wk_planar_create(const wk_planar_robot *robot, const wk_render_config *config, void **out,
                           wk_error *err)
{
    wk_planar_env *env = calloc(1, sizeof *env);
    if (!env) return wk_fail(err, WK_E_MEMORY, "no memory for a planar robot's environment");
    env->robot = robot;
    wk_status status = fill(env, config, err);
    if (status == WK_OK)
        *out = env;
    else
        wk_planar_destroy(env);
    return status;
}

void wk_planar_destroy(void *env)
{
    wk_planar_env *e = env;
    if (!e) return;
    wk_scene_destroy(e->scene);
    if (e->sim.data) mj_deleteData(e->sim.data);
    if (e->sim.model) mj_deleteModel(e->sim.model);
    if (e->loaded) mj_deleteModel(e->loaded);
    free(e);
}

wk_status wk_planar_pose(const wk_planar_env *env, const char *name, uint64_t seed,
                         uint64_t episode, wk_error *err)
{
    const mjModel *model = env->sim.model;
    mjData *data = env->sim.data;
    wk_rng rng = wk_rng_stream(seed, name, episode);
    mj_resetData(model, data);
    for (int j = 0; j < model->njnt; j++) {
        const mjtNum *range = model->jnt_range + 2 * j;
        if (model->jnt_type[j] != mjJNT_HINGE) continue;
        data->qpos[model->jnt_qposadr[j]] = model->jnt_limited[j]
                                                ? wk_rng_uniform(&rng, range[0], range[1])
                                                : wk_rng_uniform(&rng, -M_PI, M_PI);
    }
    if (!wk_physics_forward(model, data))
        return wk_fail(err, WK_E_DIVERGED,
                       "the initial state of episode %llu (seed %llu) cannot be simulated",
                       (unsigned long long)episode, (unsigned long long)seed);
    return WK_OK;
}

void wk_planar_step(void *env, const float *action, wk_outcome *out)
{
    wk_planar_env *e = env;
    const mjModel *model = e->sim.model;
    mjData *data = e->sim.data;
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const double *x = data->xpos + 3 * torso, before = *x;
    for (int u = 0; u < model->nu; u++)
        data->ctrl[u] = (mjtNum)action[u];
    double rewards[WK_TASKS_MAX] = {0};
    for (int i = 0; i < WK_PLANAR_REPEAT; i++) {
        if (!wk_physics_advance(model, data, e->robot->substeps)) {
            out->diverged = true;
            return;
        }
        e->robot->add_rewards(model, data, rewards);
        wk_step_seen(&e->sim.watch);
    }
    for (int k = 0; k < WK_TASKS_MAX; k++)
        out->rewards[k] = (float)rewards[k];
    out->indicators[WK_PLANAR_UPRIGHT] = data->xmat[9 * torso + 8] > 0.5;
    out->indicators[WK_PLANAR_DISTANCE] = (float)fabs(*x - before);
    out->indicators[WK_PLANAR_RANGE] = (float)*x;
}

void wk_planar_render(void *env, int width, int height, uint8_t *rgb)
{
    wk_planar_env *e = env;
    wk_scene_draw(e->scene, e->sim.model, e->sim.data, width, height, rgb);
}

double wk_planar_effortless(const mjModel *model, const mjData *data)
{
    double sum = 0;
    for (int u = 0; u < model->nu; u++)
        sum += fmax(0, 1 - data->ctrl[u] * data->ctrl[u]);
    return sum / (double)model->nu;
}
