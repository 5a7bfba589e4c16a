#include "waker/model.h"

#include "agent/prediction.h"
#include "api/entry.h"
#include "run/saved_run.h"
#include <stdlib.h>

enum { COUNT_MAX = 65536 };

struct wk_model {
    wk_saved_run run;
    bool sample;
    uint64_t counter;                     // of the next draw
    wk_latent_step *steps[WK_STEP_KINDS]; // made anew when another number of states comes
};

wk_model_config wk_model_config_default(void)
{
    return (wk_model_config){.step = WK_STEP_LAST};
}

static wk_status load(wk_model *m, const wk_model_config *config, wk_error *err)
{
    if (!config->run || !*config->run)
        return wk_fail(err, WK_E_INPUT, "run: say which directory holds the run");
    WK_TRY(wk_check_threads(config->threads, err));
    const wk_weights_choice choice = {.kind = WK_WEIGHTS_SNAPSHOT,
                                      .step = config->step,
                                      .compact = true,
                                      .device = config->device,
                                      .threads = config->threads};
    m->sample = config->sample;
    m->counter = config->seed;
    return wk_saved_run_open(config->run, &(wk_saved_run_options){.weights = &choice}, &m->run,
                             err);
}

wk_status wk_model_create(const wk_model_config *config, wk_model **out, wk_error *err)
{
    wk_model *m = calloc(1, sizeof *m);
    if (!m) return wk_fail(err, WK_E_MEMORY, "no memory for a world model");
    locale_t callers = wk_c_locale_enter();
    wk_status status = load(m, config, err);
    wk_c_locale_leave(callers);
    if (status == WK_OK)
        *out = m;
    else
        wk_model_destroy(m);
    return status;
}

void wk_model_destroy(wk_model *m)
{
    if (!m) return;
    for (int i = 0; i < WK_STEP_KINDS; i++)
        wk_latent_step_destroy(m->steps[i]);
    wk_saved_run_close(&m->run);
    free(m);
}

wk_model_sizes wk_model_get_sizes(const wk_model *m)
{
    const wk_learner_config *c = wk_learner_get_config(m->run.weights.learner);
    return (wk_model_sizes){
        .stoch = c->stoch, .classes = c->classes, .deter = c->deter, .action = c->action_size};
}

const wk_domain *wk_model_domain(const wk_model *m)
{
    return m->run.world.domain;
}

uint64_t wk_model_step(const wk_model *m)
{
    return m->run.weights.step;
}

static wk_status check_count(int count, wk_error *err)
{
    if (count >= 1 && count <= COUNT_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "cannot follow %d sequences; give 1 to %d", count, COUNT_MAX);
}

// One number that is not finite would spread through a state and all that follow it.
static wk_status check_actions(const wk_model *m, int count, const float *actions, wk_error *err)
{
    return wk_check_finite("action", actions, count, m->run.world.domain->action_size, err);
}

static wk_status check_states(const wk_model *m, int count, wk_model_latents states, wk_error *err)
{
    wk_model_sizes sizes = wk_model_get_sizes(m);
    WK_TRY(wk_check_finite("stoch", states.stoch, count, sizes.stoch * sizes.classes, err));
    return wk_check_finite("deter", states.deter, count, sizes.deter, err);
}

static wk_status run(wk_model *m, wk_latent_step_kind kind, int count,
                     wk_latent_step_arrays *arrays, wk_error *err)
{
    wk_latent_step **step = &m->steps[kind];
    if (!*step || wk_latent_step_count(*step) != count) {
        wk_latent_step_destroy(*step);
        *step = NULL;
        WK_TRY(wk_latent_step_create(m->run.weights.learner, kind, count, m->sample, step, err));
    }
    arrays->counter = m->counter++;
    return wk_latent_step_run(*step, arrays, err);
}

// `first` [N]: nonzero where an episode begins.
static wk_status observe(wk_model *m, int count, wk_model_latents states, const wk_batch *seen,
                         const float *actions, const uint8_t *first, wk_error *err)
{
    WK_TRY(check_count(count, err));
    WK_TRY(wk_check_observed(m->run.world.domain, count, seen->images, seen->vectors, err));
    WK_TRY(check_actions(m, count, actions, err));
    wk_latent_step_arrays arrays = {.states = states,
                                    .images = seen->images,
                                    .vectors = seen->vectors,
                                    .actions = actions,
                                    .first = first};
    return run(m, WK_STEP_OBSERVE, count, &arrays, err);
}

wk_status wk_model_observe_batch(wk_model *m, int count, wk_model_latents states,
                                 const wk_batch *seen, const float *actions, wk_error *err)
{
    WK_TRY(check_count(count, err));
    uint8_t *first = malloc((size_t)count);
    if (!first) return wk_fail(err, WK_E_MEMORY, "no memory for %d sequences", count);
    for (int i = 0; i < count; i++)
        first[i] = seen->flags[i] & WK_IS_FIRST;
    wk_status status = observe(m, count, states, seen, actions, first, err);
    free(first);
    return status;
}

wk_status wk_model_observe(wk_model *m, int count, wk_model_latents states, const uint8_t *images,
                           const float *actions, const uint8_t *first, wk_error *err)
{
    const wk_batch seen = {.images = (uint8_t *)images};
    return observe(m, count, states, &seen, actions, first, err);
}

wk_status wk_model_imagine(wk_model *m, int count, wk_model_latents states, const float *actions,
                           wk_error *err)
{
    wk_latent_step_arrays arrays = {.states = states, .actions = actions};
    WK_TRY(check_count(count, err));
    WK_TRY(check_actions(m, count, actions, err));
    WK_TRY(check_states(m, count, states, err));
    return run(m, WK_STEP_IMAGINE, count, &arrays, err);
}

wk_status wk_model_decode_observations(wk_model *m, int count, wk_model_latents states,
                                       float *images, float *vectors, wk_error *err)
{
    wk_latent_step_arrays arrays = {
        .states = states, .decoded_images = images, .decoded_vectors = vectors};
    WK_TRY(check_count(count, err));
    WK_TRY(wk_check_parts(m->run.world.domain, images, vectors, err));
    WK_TRY(check_states(m, count, states, err));
    return run(m, WK_STEP_DECODE, count, &arrays, err);
}

wk_status wk_model_decode(wk_model *m, int count, wk_model_latents states, float *images,
                          wk_error *err)
{
    return wk_model_decode_observations(m, count, states, images, NULL, err);
}
