#include "agent/behaviour.h"

#include "agent/networks.h"
#include "nn/losses.h"
#include <assert.h>
#include <stdio.h>

enum { MOST_STEPS = 256 };

// [N,D] as [S,N,D], the same for every policy.
static wk_tensor spread(wk_graph *g, wk_tensor x, int stack)
{
    wk_shape shape = wk_graph_shape(g, x);
    if (stack == 1) return wk_graph_reshape(g, x, WK_SHAPE(1, shape.dim[0], shape.dim[1]));
    return wk_graph_repeat(g, x, 0, stack);
}

typedef struct choice {
    wk_tensor action, entropy; // [S,N,A], [S,1,N]
} choice;

// What the policies do at features [S,N,F]; the actor gets no gradient through its input.
static choice choose(const wk_learner_config *c, wk_scope *actor, wk_graph *g, wk_tensor features,
                     wk_random random)
{
    wk_shape shape = wk_graph_shape(g, features);
    int stack = shape.dim[0], rows = shape.dim[1];
    if (!actor)
        return (choice){
            .action = wk_graph_uniform(g, WK_SHAPE(stack, rows, c->action_size), random, -1, 1)};
    wk_tensor raw = wk_actor_head(actor, c, wk_graph_stop_gradient(g, features));
    wk_tensor entropy = wk_graph_truncated_normal_entropy(g, raw);
    return (choice){.action = wk_graph_truncated_normal_sample(g, raw, random),
                    .entropy = wk_graph_reshape(g, entropy, WK_SHAPE(stack, 1, rows))};
}

wk_imagined wk_imagine(const wk_rssm *rssm, wk_scope *actor, wk_latent start, const char *name,
                       wk_tensor counter)
{
    const wk_learner_config *c = rssm->config;
    wk_graph *g = wk_scope_graph(rssm->scope);
    assert(c->horizon < MOST_STEPS);
    wk_imagined run = {.stack = actor ? wk_scope_stack(actor) : 1,
                       .starts = wk_graph_shape(g, start.deter).dim[0]};
    char action_stream[64], sample_stream[64];
    snprintf(action_stream, sizeof action_stream, "%s/action", name);
    snprintf(sample_stream, sizeof sample_stream, "%s/imagine", name);

    wk_latent latent = {spread(g, start.stoch, run.stack), spread(g, start.deter, run.stack)};
    wk_tensor features[MOST_STEPS + 1], actions[MOST_STEPS], entropies[MOST_STEPS];
    features[0] = wk_rssm_features(rssm, latent);
    for (int t = 0; t < c->horizon; t++) {
        choice chosen =
            choose(c, actor, g, features[t], wk_nn_random(counter, c->seed, action_stream, t));
        actions[t] = chosen.action;
        entropies[t] = chosen.entropy;
        latent = wk_rssm_imagine(rssm, latent, chosen.action,
                                 wk_nn_random(counter, c->seed, sample_stream, t));
        features[t + 1] = wk_rssm_features(rssm, latent);
    }
    size_t steps = (size_t)c->horizon;
    run.features = wk_graph_concat(g, features, steps + 1, 1);
    run.actions = wk_graph_concat(g, actions, steps, 1);
    if (actor) run.entropy = wk_graph_concat(g, entropies, steps, 1);
    return run;
}

wk_tensor wk_imagined_before(wk_graph *g, const wk_learner_config *c, const wk_imagined *run)
{
    return wk_graph_slice(g, run->features, 1, 0, c->horizon * run->starts);
}

wk_tensor wk_imagined_after(wk_graph *g, const wk_learner_config *c, const wk_imagined *run)
{
    return wk_graph_slice(g, run->features, 1, run->starts, c->horizon * run->starts);
}

// w_t = discount^t for every policy: [S,H].
static wk_tensor discounts(wk_graph *g, const wk_learner_config *c, int stack)
{
    float weights[16 * MOST_STEPS];
    assert(stack * c->horizon <= 16 * MOST_STEPS);
    for (int s = 0; s < stack; s++) {
        double weight = 1;
        for (int t = 0; t < c->horizon; t++, weight *= c->discount)
            weights[s * c->horizon + t] = (float)weight;
    }
    return wk_graph_constant(g, WK_SHAPE(stack, c->horizon), weights);
}

// Mean over steps and starts of x [S,H,N]: [S].
static wk_tensor mean_of_policy(wk_graph *g, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(g, x);
    return wk_graph_mean(
        g, wk_graph_reshape(g, x, WK_SHAPE(shape.dim[0], shape.dim[1] * shape.dim[2])), 1);
}

wk_behaviour wk_behaviour_record(const wk_policy_scopes *policy, const wk_learner_config *c,
                                 const wk_imagined *run, wk_tensor reward)
{
    wk_graph *g = wk_scope_graph(policy->actor);
    int stack = run->stack, steps = c->horizon, starts = run->starts;
    wk_tensor weight = discounts(g, c, stack);
    wk_behaviour out = {0};

    wk_tensor value = wk_graph_reshape(g, wk_scalar_head(policy->slow, c, run->features),
                                       WK_SHAPE(stack, steps + 1, starts));
    out.returns = wk_graph_lambda_return(g, reward, value, c->discount, c->lambda);
    wk_tensor goal =
        wk_graph_add(g, out.returns, wk_graph_affine(g, run->entropy, c->entropy_scale, 0));
    out.actor_loss =
        wk_graph_affine(g, mean_of_policy(g, wk_graph_scale_rows(g, goal, weight)), -1, 0);

    wk_tensor seen = wk_graph_stop_gradient(g, wk_imagined_before(g, c, run));
    wk_shape single = WK_SHAPE(stack, steps, starts, 1);
    wk_tensor estimate = wk_graph_reshape(g, wk_scalar_head(policy->critic, c, seen), single);
    wk_tensor target = wk_graph_reshape(g, wk_graph_stop_gradient(g, out.returns), single);
    wk_tensor error = wk_graph_half_squared_error(g, estimate, target, 1);
    out.critic_loss = mean_of_policy(g, wk_graph_scale_rows(g, error, weight));

    out.value = mean_of_policy(g, wk_graph_reshape(g, estimate, WK_SHAPE(stack, steps, starts)));
    out.entropy = mean_of_policy(g, run->entropy);
    return out;
}
