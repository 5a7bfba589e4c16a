#include "train/update_time.h"

#include "agent/synthetic_batch.h"
#include "base/machine.h"
#include "config/parts.h"
#include "run/world.h"

enum { UPDATES_MAX = 20 };

// What is measured with.
typedef struct rig {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    wk_synthetic_batch noise;
} rig;

static wk_status measure(rig *r, const wk_run_config *config, const wk_run_plugins *code,
                         double *seconds, wk_error *err)
{
    wk_run_world world;
    wk_learner_config learner;
    wk_device device;
    WK_TRY(wk_run_world_open(config, code, NULL, &world, err));
    WK_TRY(wk_run_config_learner(config, world.domain, &learner, err));
    WK_TRY(wk_pool_create(config->env_threads, &r->pool, err));
    WK_TRY(wk_device_open(config->device, config->precision, r->pool, &r->backend, &device, err));
    WK_TRY(wk_learner_create(WK_LEARNER_UPDATES, &learner, r->backend, &r->learner, err));
    WK_TRY(wk_synthetic_batch_create(&learner, r->backend, &r->noise, err));

    // As the loop does it: the next batch is staged while an update runs. The first update says
    // little unless it is long: it also makes what all need.
    double first = 0, all = 0;
    int count = -1;
    WK_TRY(wk_learner_stage(r->learner, &r->noise.batch, err));
    while (count < 0 || (first + all < 1 && count < UPDATES_MAX)) {
        double began = wk_clock_seconds();
        WK_TRY(wk_learner_start(r->learner, err));
        if (wk_learner_task_program(r->learner)) WK_TRY(wk_learner_start_tasks(r->learner, err));
        WK_TRY(wk_learner_stage(r->learner, &r->noise.batch, err));
        WK_TRY(wk_learner_finish(r->learner, NULL, NULL, err));
        *(count < 0 ? &first : &all) += wk_clock_seconds() - began;
        count++;
    }
    *seconds = count > 0 ? all / count : first;
    return WK_OK;
}

wk_status wk_update_time_measure(const wk_run_config *config, const wk_run_plugins *code,
                                 wk_update_time *out, wk_error *err)
{
    rig r = {0};
    wk_status status = measure(&r, config, code, &out->seconds, err);
    if (status == WK_OK) {
        wk_learner_memory memory = wk_learner_get_memory(r.learner);
        out->learner_bytes = memory.state + memory.planned;
    }
    wk_learner_destroy(r.learner);
    wk_synthetic_batch_free(&r.noise);
    wk_backend_destroy(r.backend);
    wk_pool_destroy(r.pool);
    return status;
}
