#include "env/domains/planar.h"

#include "base/rng.h"
#include "env/domain.h"
#include "env/mujoco/physics.h"

const wk_indicator wk_planar_indicators[WK_PLANAR_INDICATORS] = {
    [WK_PLANAR_UPRIGHT] = {"upright", "share of steps with the torso within 60 degrees of upright",
                           WK_INDICATOR_MEAN, 0},
    [WK_PLANAR_DISTANCE] = {"distance", "metres travelled, forth and back", WK_INDICATOR_SUM, 0},
    [WK_PLANAR_RANGE] = {"range", "metres between the leftmost and the rightmost place",
                         WK_INDICATOR_RANGE, 0},
};

static void draw_pose(const mjModel *model, mjtNum *qpos, wk_rng *rng)
{
    for (int j = 0; j < model->njnt; j++) {
        mjtNum *angle = qpos + model->jnt_qposadr[j];
        const mjtNum *range = model->jnt_range + 2 * j;
        if (model->jnt_type[j] != mjJNT_HINGE) continue;
        *angle = model->jnt_limited[j] ? wk_rng_uniform(rng, range[0], range[1])
                                       : wk_rng_uniform(rng, -M_PI, M_PI);
    }
}

wk_status wk_planar_reset(const mjModel *model, mjData *data, const char *name, uint64_t seed,
                          uint64_t episode, wk_error *err)
{
    mj_resetData(model, data);
    wk_rng rng = wk_rng_stream(seed, name, episode);
    draw_pose(model, data->qpos, &rng);
    if (!wk_physics_forward(model, data))
        return wk_fail(err, WK_E_DIVERGED,
                       "the initial state of episode %llu (seed %llu) cannot be simulated",
                       (unsigned long long)episode, (unsigned long long)seed);
    return WK_OK;
}

void wk_planar_step(const wk_planar_robot *robot, const mjModel *model, mjData *data,
                    const float *action, const wk_step_watch *watch, wk_outcome *out)
{
    const int torso = wk_physics_id(model, mjOBJ_BODY, "torso");
    const double *x = data->xpos + 3 * torso, before = *x;
    for (int u = 0; u < model->nu; u++)
        data->ctrl[u] = (mjtNum)action[u];
    double rewards[WK_TASKS_MAX] = {0};
    for (int i = 0; i < WK_PLANAR_REPEAT; i++) {
        if (!wk_physics_advance(model, data, robot->substeps)) {
            out->diverged = true;
            return;
        }
        robot->add_rewards(model, data, rewards);
        wk_step_seen(watch);
    }
    for (int k = 0; k < WK_TASKS_MAX; k++)
        out->rewards[k] = (float)rewards[k];
    out->indicators[WK_PLANAR_UPRIGHT] = data->xmat[9 * torso + 8] > 0.5;
    out->indicators[WK_PLANAR_DISTANCE] = (float)fabs(*x - before);
    out->indicators[WK_PLANAR_RANGE] = (float)*x;
}

double wk_planar_effortless(const mjModel *model, const mjData *data)
{
    double sum = 0;
    for (int u = 0; u < model->nu; u++)
        sum += fmax(0, 1 - data->ctrl[u] * data->ctrl[u]);
    return sum / (double)model->nu;
}
