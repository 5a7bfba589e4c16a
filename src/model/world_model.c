#include "model/world_model.h"

#include "nn/layers.h"
#include <math.h>
#include <stdio.h>

wk_observation_tensors wk_observation_inputs(wk_graph *g, wk_tensor image, wk_tensor vector)
{
    return (wk_observation_tensors){wk_tensor_exists(image) ? wk_graph_image(g, image) : image,
                                    vector};
}

// Dense layers that all have an activation: the last one is the embedding.
static wk_tensor encode_vector(wk_scope *scope, const wk_learner_config *c, wk_tensor x)
{
    for (int i = 0; i < c->layers; i++) {
        char name[48];
        snprintf(name, sizeof name, "encoder/vector/%d", i);
        x = wk_nn_dense(scope, name, x, c->units, WK_ELU);
    }
    return x;
}

wk_tensor wk_observation_encode(wk_scope *scope, const wk_learner_config *c,
                                wk_observation_tensors observed)
{
    wk_tensor parts[2];
    size_t count = 0;
    if (!c->observation.no_image) parts[count++] = wk_vision_encode(scope, c, observed.image);
    if (c->observation.vector > 0) parts[count++] = encode_vector(scope, c, observed.vector);
    return count == 1 ? parts[0] : wk_graph_concat(scope->g, parts, count, 1);
}

wk_observation_tensors wk_observation_decode(wk_scope *scope, const wk_learner_config *c,
                                             wk_tensor features)
{
    wk_observation_tensors out = {{0}, {0}};
    wk_mlp_config shape = {.layers = c->layers,
                           .units = c->units,
                           .activation = WK_ELU,
                           .outputs = c->observation.vector};
    if (!c->observation.no_image) out.image = wk_vision_decode(scope, c, features);
    if (c->observation.vector > 0)
        out.vector = wk_nn_mlp(scope, "decoder/vector", features, &shape);
    return out;
}

wk_latent wk_latent_observe(const wk_rssm *rssm, wk_latent before, wk_tensor action,
                            wk_tensor not_first, wk_tensor image, wk_tensor vector,
                            wk_random random)
{
    wk_graph *g = rssm->scope->g;
    wk_latent kept = {wk_graph_scale_rows(g, before.stoch, not_first),
                      wk_graph_scale_rows(g, before.deter, not_first)};
    wk_tensor moved = wk_rssm_action(rssm, wk_graph_scale_rows(g, action, not_first));
    wk_tensor deter = wk_rssm_advance(rssm, kept, moved);
    wk_observation_tensors seen = wk_observation_inputs(g, image, vector);
    wk_tensor embed = wk_observation_encode(rssm->scope, rssm->config, seen);
    wk_tensor logits = wk_rssm_posterior(rssm, deter, wk_rssm_embed(rssm, embed));
    return (wk_latent){wk_nn_sample_categorical(g, logits, rssm->config->classes, random), deter};
}

static wk_tensor loss(wk_graph *g, wk_tensor predicted, wk_tensor target, int axes)
{
    if (!wk_tensor_exists(predicted)) return predicted;
    return wk_graph_mean_all(g, wk_graph_half_squared_error(g, predicted, target, axes));
}

wk_observation_tensors wk_observation_losses(wk_graph *g, wk_observation_tensors predicted,
                                             wk_observation_tensors target)
{
    return (wk_observation_tensors){loss(g, predicted.image, target.image, 3),
                                    loss(g, predicted.vector, target.vector, 1)};
}

enum { LAYERS = 4, NAME = 32 };

wk_tensor wk_vision_encode(wk_scope *scope, const wk_learner_config *config, wk_tensor images)
{
    wk_graph *g = scope->g;
    wk_tensor x = images;
    for (int i = 0; i < LAYERS; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "encoder/%d", i);
        wk_conv_config conv = {
            .channels = config->depth << i, .kernel = 4, .stride = 2, .activation = WK_ELU};
        x = wk_nn_conv(scope, name, x, &conv);
    }
    int rows = wk_graph_shape(g, images).dim[0];
    return wk_graph_reshape(g, x, WK_SHAPE(rows, 32 * config->depth));
}

wk_tensor wk_vision_decode(wk_scope *scope, const wk_learner_config *config, wk_tensor features)
{
    static const int kernels[LAYERS] = {5, 5, 6, 6};
    const int channels[LAYERS] = {4 * config->depth, 2 * config->depth, config->depth, 3};
    wk_graph *g = scope->g;
    int rows = wk_graph_shape(g, features).dim[0];
    wk_tensor x = wk_nn_dense(scope, "decoder/in", features, 32 * config->depth, WK_IDENTITY);
    x = wk_graph_reshape(g, x, WK_SHAPE(rows, 1, 1, 32 * config->depth));
    for (int i = 0; i < LAYERS; i++) {
        char name[NAME];
        snprintf(name, sizeof name, "decoder/%d", i);
        wk_conv_config deconv = {.channels = channels[i],
                                 .kernel = kernels[i],
                                 .stride = 2,
                                 .activation = i < LAYERS - 1 ? WK_ELU : WK_IDENTITY};
        x = wk_nn_deconv(scope, name, x, &deconv);
    }
    return x;
}

wk_batch_tensors wk_batch_inputs(wk_graph *g, const wk_learner_config *c)
{
    int rows = wk_config_rows(c);
    wk_batch_tensors out = {0};
    if (!c->observation.no_image)
        out.image = wk_graph_input(g, WK_U8, WK_SHAPE(rows, 64, 64, 3), "image");
    if (c->observation.vector > 0)
        out.vector = wk_graph_input(g, WK_F32, WK_SHAPE(rows, c->observation.vector), "vector");
    out.action = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch, c->action_size), "action");
    out.not_first = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch), "not_first");
    if (c->discount_head) out.continues = wk_graph_input(g, WK_F32, WK_SHAPE(rows), "continues");
    return out;
}

// Logits [N,2] of ending and going on: a Bernoulli distribution as two classes.
static wk_tensor discount_logits(wk_scope *scope, const wk_learner_config *c, wk_tensor features)
{
    wk_mlp_config shape = {
        .layers = c->layers, .units = c->units, .activation = WK_ELU, .outputs = 2};
    return wk_nn_mlp(scope, "discount", features, &shape);
}

wk_tensor wk_model_discount(wk_scope *scope, const wk_learner_config *c, wk_tensor features)
{
    wk_graph *g = scope->g;
    wk_tensor both = wk_graph_softmax(g, discount_logits(scope, c, features));
    int rows = wk_graph_shape(g, features).dim[0];
    return wk_graph_reshape(g, wk_graph_slice(g, both, 1, 1, 1), WK_SHAPE(rows));
}

// Cross entropy of the head with the distribution (1 - gamma, gamma) at rows that go on and (1, 0)
// at those that end, less the entropy of those, which has no gradient.
static wk_tensor discount_loss(wk_scope *scope, const wk_learner_config *c, wk_tensor features,
                               wk_tensor continues)
{
    static const float NEVER = -30; // logit of what does not happen
    wk_graph *g = scope->g;
    int rows = wk_config_rows(c);
    float ends = fmaxf(NEVER, logf(1 - c->discount)), goes_on = fmaxf(NEVER, logf(c->discount));
    wk_tensor row = wk_graph_reshape(g, continues, WK_SHAPE(rows, 1));
    wk_tensor logits[] = {wk_graph_affine(g, row, ends, 0),
                          wk_graph_affine(g, row, goes_on - NEVER, NEVER)};
    wk_tensor target = wk_graph_stop_gradient(g, wk_graph_concat(g, logits, 2, 1));
    wk_tensor predicted = discount_logits(scope, c, features);
    wk_shape variables = WK_SHAPE(rows, 1, 2);
    return wk_graph_mean_all(g, wk_graph_kl(g, wk_graph_reshape(g, target, variables),
                                            wk_graph_reshape(g, predicted, variables)));
}

// Mean entropy of the categorical variables behind logits [T,B,V*C].
static wk_tensor mean_entropy(wk_graph *g, const wk_learner_config *c, wk_tensor logits)
{
    wk_tensor grouped =
        wk_graph_reshape(g, logits, WK_SHAPE(wk_config_rows(c), c->stoch, c->classes));
    return wk_graph_mean_all(g, wk_graph_entropy(g, grouped));
}

wk_model_losses wk_model_record(wk_scope *scope, const wk_learner_config *c,
                                const wk_batch_tensors *batch, wk_tensor counter)
{
    wk_graph *g = scope->g;
    wk_graph_section(g, "encoder");
    wk_observation_tensors target = wk_observation_inputs(g, batch->image, batch->vector);
    wk_tensor embed = wk_graph_reshape(g, wk_observation_encode(scope, c, target),
                                       WK_SHAPE(c->length, c->batch, wk_config_embed(c)));

    wk_graph_section(g, "recurrence");
    wk_rssm rssm = wk_rssm_use(scope, c);
    wk_observed posterior =
        wk_rssm_observe(&rssm, embed, batch->action, batch->not_first, counter, "model/observe");
    wk_tensor prior = wk_rssm_prior(&rssm, posterior.latent.deter);
    wk_model_losses out = {.latent = posterior.latent};
    wk_tensor features = wk_rssm_features(&rssm, posterior.latent);
    wk_kl_config kl = {.classes = c->classes, .balance = c->kl_balance, .free_nats = c->free_nats};
    wk_tensor kl_loss = wk_nn_balanced_kl(g, posterior.post_logits, prior, &kl, &out.kl);
    out.prior_entropy = mean_entropy(g, c, prior);
    out.post_entropy = mean_entropy(g, c, posterior.post_logits);

    wk_graph_section(g, "decoder");
    features = wk_graph_reshape(g, features, WK_SHAPE(wk_config_rows(c), wk_config_features(c)));
    out.observed = wk_observation_losses(g, wk_observation_decode(scope, c, features), target);
    out.total = wk_graph_affine(g, kl_loss, c->kl_scale, 0);
    if (wk_tensor_exists(out.observed.image))
        out.total = wk_graph_add(g, out.observed.image, out.total);
    if (wk_tensor_exists(out.observed.vector))
        out.total = wk_graph_add(g, out.observed.vector, out.total);
    if (!c->discount_head) return out;
    wk_graph_section(g, "discount head");
    out.discount = discount_loss(scope, c, features, batch->continues);
    out.total = wk_graph_add(g, out.total, out.discount);
    return out;
}
