#include "agent/prediction.h"

#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "model/world_model.h"
#include "nn/layers.h"
#include <assert.h>
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

static wk_status record(wk_latent_step *s, wk_latent_step_kind kind, wk_error *err)
{
    const wk_learner_config *c = &s->learner->config;
    const int n = s->count;
    s->host_not_first = malloc((size_t)n * sizeof *s->host_not_first);
    if (!s->host_not_first) return wk_fail(err, WK_E_MEMORY, "no memory for %d states", n);
    WK_TRY(wk_compiled_graph_begin(&s->compiled, s->learner,
                                   (const wk_network_id[]){WK_NETWORK_MODEL}, 1, err));
    wk_graph *g = s->compiled.graph;
    s->before.stoch = wk_graph_input(g, WK_F32, WK_SHAPE(n, wk_config_stoch_size(c)), "stoch");
    s->before.deter = wk_graph_input(g, WK_F32, WK_SHAPE(n, c->deter), "deter");
    wk_rssm rssm = wk_rssm_use(s->compiled.scope[WK_NETWORK_MODEL], c);
    if (kind != WK_STEP_DECODE)
        s->action = wk_graph_input(g, WK_F32, WK_SHAPE(n, c->action_size), "action");
    if (kind == WK_STEP_OBSERVE) {
        if (!c->observation.no_image)
            s->image = wk_graph_input(g, WK_U8, WK_SHAPE(n, 64, 64, 3), "image");
        if (c->observation.vector > 0)
            s->vector = wk_graph_input(g, WK_F32, WK_SHAPE(n, c->observation.vector), "vector");
        s->not_first = wk_graph_input(g, WK_F32, WK_SHAPE(n), "not_first");
        s->after = wk_latent_observe(&rssm, s->before, s->action, s->not_first, s->image, s->vector,
                                     source(s, "step/observe"));
    } else if (kind == WK_STEP_IMAGINE) {
        s->after = wk_rssm_imagine(&rssm, s->before, s->action, source(s, "step/imagine"));
    } else {
        s->decoded = wk_observation_decode(rssm.scope, c, wk_rssm_features(&rssm, s->before));
    }
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

enum { STEPS_MAX = 1024 };

struct wk_prediction {
    wk_learner *learner;
    wk_learner_config config; // the learner's, with this batch and length
    int context;
    bool errors_only; // the errors of the open loop, and nothing one step ahead
    wk_compiled_graph compiled;
    wk_batch_tensors batch;
    wk_observation_tensors next, open_loop;
    wk_tensor error, disagreement;
    wk_tensor open_loop_error, open_loop_rewards;
    float *numbers; // one for every row of a batch
};

// Steps first...first+count-1 of x [T,B,D] as rows [count*B,D].
static wk_tensor rows_of(wk_graph *g, wk_tensor x, int first, int count)
{
    wk_shape s = wk_graph_shape(g, x);
    return wk_graph_reshape(g, wk_graph_slice(g, x, 0, first, count),
                            WK_SHAPE(count * s.dim[1], s.dim[2]));
}

// Features at which the stochastic part is the mean of the prior instead of a sample.
static wk_tensor mean_features(const wk_rssm *rssm, wk_tensor deter)
{
    wk_graph *g = rssm->scope->g;
    const wk_learner_config *c = rssm->config;
    int rows = wk_graph_shape(g, deter).dim[0];
    wk_tensor logits = wk_rssm_prior(rssm, deter);
    wk_tensor probs =
        wk_graph_softmax(g, wk_graph_reshape(g, logits, WK_SHAPE(rows, c->stoch, c->classes)));
    wk_latent mean = {wk_graph_reshape(g, probs, WK_SHAPE(rows, wk_config_stoch_size(c))), deter};
    return wk_rssm_features(rssm, mean);
}

// The images, or the vectors where there are none.
static wk_tensor image_or_vector(const wk_learner_config *c, wk_observation_tensors observed)
{
    return c->observation.no_image ? observed.vector : observed.image;
}

// Over each of them.
static wk_tensor mean_squared_error(wk_graph *g, const wk_learner_config *c, wk_tensor predicted,
                                    wk_tensor target)
{
    bool has_images = !c->observation.no_image;
    float numbers = has_images ? (float)WK_PIXELS : (float)c->observation.vector;
    wk_tensor half = wk_graph_half_squared_error(g, predicted, target, has_images ? 3 : 1);
    return wk_graph_affine(g, half, 2.0f / numbers, 0);
}

// One step ahead from every posterior state.
static void record_one_step(wk_prediction *p, const wk_rssm *rssm, wk_latent posterior,
                            wk_observation_tensors target)
{
    const wk_learner_config *c = &p->config;
    wk_graph *g = p->compiled.graph;
    int steps = c->length - 1;
    wk_latent now = {rows_of(g, posterior.stoch, 0, steps), rows_of(g, posterior.deter, 0, steps)};
    wk_tensor action = rows_of(g, p->batch.action, 1, steps);
    wk_tensor deter = wk_rssm_advance(rssm, now, wk_rssm_action(rssm, action));
    p->next = wk_observation_decode(rssm->scope, c, mean_features(rssm, deter));
    wk_tensor next = wk_graph_slice(g, image_or_vector(c, target), 0, c->batch, steps * c->batch);
    p->error = mean_squared_error(g, c, image_or_vector(c, p->next), next);
    wk_tensor seen_action = rows_of(g, p->batch.action, wk_ensemble_first_action(c), steps);
    p->disagreement = wk_ensemble_disagreement(p->compiled.scope[WK_NETWORK_ENSEMBLE], c,
                                               wk_rssm_features(rssm, now), seen_action);
}

// The context as reconstructed, then imagined with the real actions and the mode of the prior.
static void record_open_loop(wk_prediction *p, const wk_rssm *rssm, wk_latent posterior,
                             wk_observation_tensors target)
{
    const wk_learner_config *c = &p->config;
    wk_graph *g = p->compiled.graph;
    wk_tensor features[STEPS_MAX];
    wk_latent latent = {0};
    for (int t = 0; t < c->length; t++) {
        if (t < p->context) {
            latent =
                (wk_latent){rows_of(g, posterior.stoch, t, 1), rows_of(g, posterior.deter, t, 1)};
        } else {
            wk_tensor action = rows_of(g, p->batch.action, t, 1);
            latent = wk_rssm_imagine(rssm, latent, action, (wk_random){0});
        }
        features[t] = wk_rssm_features(rssm, latent);
    }
    wk_tensor all = wk_graph_concat(g, features, (size_t)c->length, 0);
    p->open_loop = wk_observation_decode(rssm->scope, c, all);
    if (!p->errors_only) return;
    p->open_loop_error =
        mean_squared_error(g, c, image_or_vector(c, p->open_loop), image_or_vector(c, target));
    wk_shape s = wk_graph_shape(g, all);
    wk_tensor rows = wk_graph_reshape(g, all, WK_SHAPE(1, s.dim[0], s.dim[1]));
    p->open_loop_rewards = wk_scalar_head(p->compiled.scope[WK_NETWORK_REWARD], c, rows);
}

static wk_status build(wk_prediction *p, wk_error *err)
{
    const wk_learner_config *c = &p->config;
    p->numbers = malloc((size_t)wk_config_rows(c) * sizeof *p->numbers);
    if (!p->numbers) return wk_fail(err, WK_E_MEMORY, "no memory for a prediction batch");
    const wk_network_id networks[] = {WK_NETWORK_MODEL,
                                      p->errors_only ? WK_NETWORK_REWARD : WK_NETWORK_ENSEMBLE};
    WK_TRY(wk_compiled_graph_begin(&p->compiled, p->learner, networks, 2, err));
    wk_graph *g = p->compiled.graph;
    wk_scope *model = p->compiled.scope[WK_NETWORK_MODEL];
    wk_tensor counter = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    p->batch = wk_batch_inputs(g, c);
    wk_observation_tensors target = wk_observation_inputs(g, p->batch.image, p->batch.vector);
    wk_tensor embed = wk_graph_reshape(g, wk_observation_encode(model, c, target),
                                       WK_SHAPE(c->length, c->batch, wk_config_embed(c)));
    wk_rssm rssm = wk_rssm_use(model, c);
    wk_observed posterior = wk_rssm_observe(&rssm, embed, p->batch.action, p->batch.not_first,
                                            counter, "predict/observe");
    if (!p->errors_only) record_one_step(p, &rssm, posterior.latent, target);
    if (p->context > 0) record_open_loop(p, &rssm, posterior.latent, target);
    const wk_tensor all_outputs[] = {p->next.image, p->error, p->disagreement, p->open_loop.image,
                                     p->open_loop.vector};
    const wk_tensor open_loop_outputs[] = {p->open_loop_error, p->open_loop_rewards};
    const wk_tensor *read = p->errors_only ? open_loop_outputs : all_outputs;
    for (int i = 0; i < (p->errors_only ? 2 : 5); i++)
        if (wk_tensor_exists(read[i])) wk_graph_output(g, read[i]);
    return wk_compiled_graph_finish(&p->compiled, p->learner, err);
}

static wk_status create(wk_learner *learner, int count, int steps, int context, bool errors_only,
                        wk_prediction **out, wk_error *err)
{
    if (errors_only && (learner->config.tasks == 0 || context < 1))
        return wk_fail(err, WK_E_INPUT,
                       "an open loop is judged after at least one frame, by a learner with tasks");
    if (count < 1 || steps < 2 || steps > STEPS_MAX || context < 0 || context > steps)
        return wk_fail(err, WK_E_INPUT,
                       "cannot predict %d sequences of %d steps after %d: give at least one "
                       "sequence, 2 to %d steps, and a context within them",
                       count, steps, context, STEPS_MAX);
    wk_prediction *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for a prediction");
    p->learner = learner;
    p->config = learner->config;
    p->config.batch = count;
    p->config.length = steps;
    p->context = context;
    p->errors_only = errors_only;
    wk_status status = build(p, err);
    if (status != WK_OK) {
        wk_prediction_destroy(p);
        return status;
    }
    *out = p;
    return WK_OK;
}

wk_status wk_prediction_create(wk_learner *learner, int count, int steps, int context,
                               wk_prediction **out, wk_error *err)
{
    return create(learner, count, steps, context, false, out, err);
}

wk_status wk_prediction_create_errors(wk_learner *learner, int count, int steps, int context,
                                      wk_prediction **out, wk_error *err)
{
    return create(learner, count, steps, context, true, out, err);
}

void wk_prediction_destroy(wk_prediction *p)
{
    if (!p) return;
    wk_compiled_graph_free(&p->compiled);
    free(p->numbers);
    free(p);
}

static wk_status read_floats(const wk_prediction *p, wk_tensor x, float *to, size_t count,
                             wk_error *err)
{
    if (!to || !wk_tensor_exists(x)) return WK_OK;
    return wk_program_download(p->compiled.program, x, to, count * sizeof *to, err);
}

wk_status wk_prediction_run(wk_prediction *p, const wk_learner_batch *batch,
                            const wk_predicted *out, wk_error *err)
{
    assert((p->context > 0 && !p->errors_only) || (!out->open_loop && !out->open_vectors));
    assert(p->errors_only ? !out->images && !out->error && !out->disagreement
                          : !out->open_loop_error && !out->open_loop_rewards);
    const wk_learner_config *c = &p->config;
    wk_program *program = p->compiled.program;
    size_t rows = (size_t)wk_config_rows(c), ahead = rows - (size_t)c->batch;
    WK_TRY(wk_batch_upload(program, c, &p->batch, batch, p->numbers, err));
    WK_TRY(wk_program_run(program, err));
    WK_TRY(read_floats(p, p->next.image, out->images, ahead * WK_PIXELS, err));
    WK_TRY(read_floats(p, p->error, out->error, ahead, err));
    WK_TRY(read_floats(p, p->disagreement, out->disagreement, ahead, err));
    WK_TRY(read_floats(p, p->open_loop.image, out->open_loop, rows * WK_PIXELS, err));
    WK_TRY(read_floats(p, p->open_loop.vector, out->open_vectors,
                       rows * (size_t)c->observation.vector, err));
    WK_TRY(read_floats(p, p->open_loop_error, out->open_loop_error, rows, err));
    return read_floats(p, p->open_loop_rewards, out->open_loop_rewards, rows * (size_t)c->tasks,
                       err);
}
