#include "agent/latent_step.h"

#include "agent/learner_parts.h"
#include "model/observation.h"
#include "nn/losses.h"
#include <stdlib.h>

struct wk_latent_step {
    wk_learner *learner;
    int count;
    bool sample;
    wk_compiled_graph compiled;
    wk_latent before; // inputs
    // Inputs, absent where the kind or the domain has none.
    wk_tensor action, image, vector, not_first, counter;
    wk_latent after;                // absent for WK_STEP_DECODE
    wk_observation_tensors decoded; // only there
    float *host_not_first;          // [N]
};

// Without sampling there is no source, which stands for the mode.
static wk_random source(wk_latent_step *s, const char *name)
{
    if (!s->sample) return (wk_random){0};
    s->counter = wk_graph_input(s->compiled.graph, WK_U64, WK_SHAPE(1), "counter");
    return wk_nn_random(s->counter, s->learner->config.seed, name, 0);
}

static void record_action(wk_latent_step *s)
{
    s->action = wk_graph_input(s->compiled.graph, WK_F32,
                               WK_SHAPE(s->count, s->learner->config.action_size), "action");
}

static void record_observe(wk_latent_step *s, const wk_rssm *rssm)
{
    const wk_learner_config *c = rssm->config;
    wk_graph *g = s->compiled.graph;
    record_action(s);
    if (!c->observation.no_image)
        s->image = wk_graph_input(g, WK_U8, WK_SHAPE(s->count, 64, 64, 3), "image");
    if (c->observation.vector > 0)
        s->vector = wk_graph_input(g, WK_F32, WK_SHAPE(s->count, c->observation.vector), "vector");
    s->not_first = wk_graph_input(g, WK_F32, WK_SHAPE(s->count), "not_first");
    wk_latent masked = {wk_graph_scale_rows(g, s->before.stoch, s->not_first),
                        wk_graph_scale_rows(g, s->before.deter, s->not_first)};
    wk_tensor action = wk_rssm_action(rssm, wk_graph_scale_rows(g, s->action, s->not_first));
    s->after.deter = wk_rssm_advance(rssm, masked, action);
    wk_tensor embed =
        wk_observation_encode(rssm->scope, c, wk_observation_inputs(g, s->image, s->vector));
    wk_tensor logits = wk_rssm_posterior(rssm, s->after.deter, wk_rssm_embed(rssm, embed));
    s->after.stoch = wk_nn_sample_categorical(g, logits, c->classes, source(s, "step/observe"));
}

static void record_imagine(wk_latent_step *s, const wk_rssm *rssm)
{
    record_action(s);
    s->after = wk_rssm_imagine(rssm, s->before, s->action, source(s, "step/imagine"));
}

static void record_decode(wk_latent_step *s, const wk_rssm *rssm)
{
    s->decoded =
        wk_observation_decode(rssm->scope, rssm->config, wk_rssm_features(rssm, s->before));
}

static wk_status record(wk_latent_step *s, wk_latent_step_kind kind, wk_error *err)
{
    static void (*const parts[WK_STEP_KINDS])(wk_latent_step *, const wk_rssm *) = {
        record_observe, record_imagine, record_decode};
    const wk_learner_config *c = &s->learner->config;
    s->host_not_first = malloc((size_t)s->count * sizeof *s->host_not_first);
    if (!s->host_not_first) return wk_fail(err, WK_E_MEMORY, "no memory for %d states", s->count);
    WK_TRY(wk_compiled_graph_begin(&s->compiled, s->learner,
                                   (const wk_network_id[]){WK_NETWORK_MODEL}, 1, err));
    wk_graph *g = s->compiled.graph;
    s->before.stoch =
        wk_graph_input(g, WK_F32, WK_SHAPE(s->count, wk_config_stoch_size(c)), "stoch");
    s->before.deter = wk_graph_input(g, WK_F32, WK_SHAPE(s->count, c->deter), "deter");
    wk_rssm rssm = wk_rssm_use(s->compiled.scope[WK_NETWORK_MODEL], c);
    parts[kind](s, &rssm);
    const wk_tensor read[] = {s->after.stoch, s->after.deter, s->decoded.image, s->decoded.vector};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (wk_tensor_exists(read[i])) wk_graph_output(g, read[i]);
    return wk_compiled_graph_finish(&s->compiled, s->learner, err);
}

wk_status wk_latent_step_create(wk_learner *learner, wk_latent_step_kind kind, int count,
                                bool sample, wk_latent_step **out, wk_error *err)
{
    wk_latent_step *s = calloc(1, sizeof *s);
    if (!s) return wk_fail(err, WK_E_MEMORY, "no memory for steps of latent states");
    s->learner = learner;
    s->count = count;
    s->sample = sample;
    wk_status status = record(s, kind, err);
    if (status == WK_OK)
        *out = s;
    else
        wk_latent_step_destroy(s);
    return status;
}

void wk_latent_step_destroy(wk_latent_step *s)
{
    if (!s) return;
    wk_compiled_graph_free(&s->compiled);
    free(s->host_not_first);
    free(s);
}

int wk_latent_step_count(const wk_latent_step *s)
{
    return s->count;
}

// `bytes` for every state, where the kind has such an input.
static wk_status upload(const wk_latent_step *s, wk_tensor x, const void *from, size_t bytes,
                        wk_error *err)
{
    if (!wk_tensor_exists(x)) return WK_OK;
    return wk_program_upload(s->compiled.program, x, from, (size_t)s->count * bytes, err);
}

static wk_status download(const wk_latent_step *s, wk_tensor x, float *to, size_t numbers,
                          wk_error *err)
{
    if (!wk_tensor_exists(x)) return WK_OK;
    return wk_program_download(s->compiled.program, x, to, (size_t)s->count * numbers * sizeof *to,
                               err);
}

wk_status wk_latent_step_run(wk_latent_step *s, const wk_latent_step_arrays *a, wk_error *err)
{
    const wk_learner_config *c = &s->learner->config;
    size_t stoch_size = (size_t)wk_config_stoch_size(c), deter = (size_t)c->deter;
    for (int i = 0; i < s->count && wk_tensor_exists(s->not_first); i++)
        s->host_not_first[i] = a->first[i] ? 0.0f : 1.0f;
    WK_TRY(upload(s, s->before.stoch, a->states.stoch, stoch_size * sizeof(float), err));
    WK_TRY(upload(s, s->before.deter, a->states.deter, deter * sizeof(float), err));
    WK_TRY(upload(s, s->image, a->images, WK_PIXELS, err));
    WK_TRY(upload(s, s->vector, a->vectors, (size_t)c->observation.vector * sizeof(float), err));
    WK_TRY(upload(s, s->action, a->actions, (size_t)c->action_size * sizeof(float), err));
    WK_TRY(upload(s, s->not_first, s->host_not_first, sizeof(float), err));
    if (wk_tensor_exists(s->counter))
        WK_TRY(wk_program_upload(s->compiled.program, s->counter, &a->counter, sizeof a->counter,
                                 err));
    WK_TRY(wk_program_run(s->compiled.program, err));
    WK_TRY(download(s, s->after.stoch, a->states.stoch, stoch_size, err));
    WK_TRY(download(s, s->after.deter, a->states.deter, deter, err));
    WK_TRY(download(s, s->decoded.image, a->decoded_images, WK_PIXELS, err));
    return download(s, s->decoded.vector, a->decoded_vectors, (size_t)c->observation.vector, err);
}
