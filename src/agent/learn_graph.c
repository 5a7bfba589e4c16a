// The reward-free graph: world model, exploration in imagination, ensemble; and the graph that only
// observes.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "agent/networks.h"
#include <assert.h>

wk_figures wk_figures_record(wk_graph *g, const wk_tensor *tensors, size_t count)
{
    wk_figures f = {0};
    wk_tensor parts[WK_FIGURES];
    assert(count <= WK_FIGURES);
    for (size_t i = 0; i < count; i++) {
        if (!wk_tensor_exists(tensors[i])) continue;
        size_t numbers = wk_shape_count(wk_graph_shape(g, tensors[i]));
        f.item[f.count].x = tensors[i];
        f.item[f.count].offset = f.total;
        f.item[f.count].count = numbers;
        parts[f.count++] = wk_graph_reshape(g, tensors[i], WK_SHAPE((int)numbers));
        f.total += numbers;
    }
    f.joined = wk_graph_concat(g, parts, f.count, 0);
    wk_graph_output(g, f.joined);
    return f;
}

const float *wk_figures_at(const wk_figures *figures, const float *numbers, wk_tensor x)
{
    for (size_t i = 0; i < figures->count; i++)
        if (figures->item[i].x.id == x.id) return numbers + figures->item[i].offset;
    return NULL;
}

// [T,B,D] as [T*B,D].
static wk_tensor as_rows(wk_graph *g, wk_tensor x)
{
    wk_shape s = wk_graph_shape(g, x);
    return wk_graph_reshape(g, x, WK_SHAPE(s.dim[0] * s.dim[1], s.dim[2]));
}

// Posterior states as constant rows.
static wk_latent latent_rows(wk_graph *g, wk_latent latent)
{
    return (wk_latent){as_rows(g, wk_graph_stop_gradient(g, latent.stoch)),
                       as_rows(g, wk_graph_stop_gradient(g, latent.deter))};
}

// Stores them for the task graph.
static void keep_latent(wk_graph *g, wk_latent place, wk_latent rows)
{
    wk_graph_store(g, place.stoch, rows.stoch);
    wk_graph_store(g, place.deter, rows.deter);
}

static wk_status mark_ready(const wk_learner *learner, wk_latent kept, wk_error *err)
{
    const wk_scope *model = learner->learn.scope[WK_SET_MODEL];
    WK_ARRAY(wk_tensor) read = {0};
    bool room = wk_array_push(&read, kept.stoch) && wk_array_push(&read, kept.deter);
    for (size_t i = 0; room && i < wk_scope_count(model); i++)
        room = wk_array_push(&read, wk_scope_tensors(model)[i]);
    if (room) wk_graph_mark(learner->learn.graph, read.items, read.count, learner->ready);
    wk_array_free(&read);
    return room ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to list weights");
}

// The model's step, and the posterior states. The task graph reads both, and the rest of the update
// changes neither: from here on that may run.
static wk_status hand_over(wk_learner *learner, wk_prepared step, wk_latent rows, wk_error *err)
{
    wk_graph *g = learner->learn.graph;
    wk_latent place = wk_learner_latent(learner, g);
    wk_learner_step(learner, &learner->learn, WK_SET_MODEL, step);
    wk_graph_branch(g, WK_BRANCH_CRITIC);
    keep_latent(g, place, rows);
    wk_status status = learner->config.tasks > 0 ? mark_ready(learner, place, err) : WK_OK;
    wk_graph_branch(g, WK_BRANCH_MAIN);
    return status;
}

// Disagreement along imagined trajectories: [1,H,N].
static wk_tensor exploration_reward(wk_scope *ensemble, const wk_learner_config *c,
                                    const wk_imagined *run)
{
    wk_graph *g = wk_scope_graph(ensemble);
    int rows = c->horizon * run->starts;
    wk_tensor before =
        wk_graph_reshape(g, wk_imagined_before(g, c, run), WK_SHAPE(rows, wk_config_features(c)));
    wk_tensor actions = wk_graph_reshape(g, run->actions, WK_SHAPE(rows, c->action_size));
    wk_tensor spread = wk_ensemble_disagreement(ensemble, c, before, actions);
    return wk_graph_reshape(g, spread, WK_SHAPE(1, c->horizon, run->starts));
}

static void record_exploration(wk_learner *learner, wk_latent start, wk_tensor counter)
{
    const wk_learner_config *c = &learner->config;
    wk_unit *unit = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    wk_graph *g = unit->graph;
    wk_scope *actor = unit->scope[WK_SET_EXPLORE_ACTOR];

    wk_graph_section(g, "imagination");
    wk_rssm rssm = wk_rssm_use(unit->scope[WK_SET_MODEL], c);
    rssm.beside_action = WK_BRANCH_CRITIC;
    rssm.beside_deter = WK_BRANCH_DETER;
    wk_imagined run = wk_imagine(&rssm, actor, start, "explore", counter);
    wk_graph_meet(g);
    wk_graph_section(g, "ensemble reward");
    wk_tensor reward = exploration_reward(unit->scope[WK_SET_ENSEMBLE], c, &run);
    wk_tensor by_start = wk_graph_reshape(g, reward, WK_SHAPE(c->horizon, run.starts));
    t->delta = wk_graph_mean(g, by_start, 0);
    t->reward = wk_graph_mean_all(g, reward);
    if (!actor) return;

    wk_graph_section(g, "policy");
    wk_policy_scopes policy = {actor, unit->scope[WK_SET_EXPLORE_CRITIC],
                               unit->scope[WK_SET_EXPLORE_SLOW]};
    wk_behaviour b = wk_behaviour_record(&policy, c, &run, reward);
    t->actor_loss = b.actor_loss;
    t->entropy = b.entropy;

    wk_graph_branch(g, WK_BRANCH_CRITIC);
    t->critic_loss = wk_critic_loss(policy.critic, c, &run, b.returns, &t->value);
    t->critic_norm =
        wk_learner_train(learner, unit, WK_SET_EXPLORE_CRITIC, t->critic_loss, t->critic_loss);
    wk_graph_branch(g, WK_BRANCH_MAIN);

    wk_graph_section(g, "policy");
    wk_tensor objective = wk_actor_objective(g, c, &run, &b);
    t->actor_norm = wk_learner_train(learner, unit, WK_SET_EXPLORE_ACTOR, b.actor_loss, objective);
}

// The ensemble's loss and gradients. Exploration is rewarded by the ensemble as it is before the
// step.
static wk_prepared record_ensemble(wk_learner *learner)
{
    wk_unit *unit = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    wk_scope *ensemble = unit->scope[WK_SET_ENSEMBLE];
    wk_graph_section(unit->graph, "ensemble");
    t->ensemble_loss =
        wk_ensemble_loss(ensemble, &learner->config, t->model.features, t->batch.action);
    wk_prepared prepared =
        wk_learner_prepare(learner, unit, WK_SET_ENSEMBLE, t->ensemble_loss, t->ensemble_loss);
    t->ensemble_norm = prepared.norm;
    return prepared;
}

wk_status wk_learner_record_learn(wk_learner *learner, wk_error *err)
{
    static const wk_set_id sets[] = {WK_SET_MODEL, WK_SET_ENSEMBLE, WK_SET_EXPLORE_ACTOR,
                                     WK_SET_EXPLORE_CRITIC, WK_SET_EXPLORE_SLOW};
    wk_unit *unit = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    WK_TRY(wk_unit_begin(unit, learner, sets, sizeof sets / sizeof *sets, err));
    wk_graph *g = unit->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_LEARN);

    t->batch = wk_batch_inputs(g, &learner->config);
    t->model = wk_model_record(unit->scope[WK_SET_MODEL], &learner->config, &t->batch, counter);
    wk_latent start = latent_rows(g, t->model.latent);
    wk_prepared step =
        wk_learner_prepare(learner, unit, WK_SET_MODEL, t->model.total, t->model.total);
    t->model_norm = step.norm;
    WK_TRY(hand_over(learner, step, start, err));
    wk_graph_branch(g, WK_BRANCH_HEADS);
    wk_prepared ensemble = record_ensemble(learner);
    wk_graph_branch(g, WK_BRANCH_MAIN);
    record_exploration(learner, start, counter);
    wk_graph_branch(g, WK_BRANCH_HEADS);
    wk_learner_step(learner, unit, WK_SET_ENSEMBLE, ensemble);
    wk_graph_branch(g, WK_BRANCH_MAIN);

    wk_graph_count(g, counter, 1);
    if (unit->scope[WK_SET_EXPLORE_SLOW])
        wk_scope_follow(unit->scope[WK_SET_EXPLORE_SLOW], unit->scope[WK_SET_EXPLORE_CRITIC],
                        counter, (uint64_t)learner->config.slow_period);
    const wk_tensor read[] = {t->model.total,
                              t->model.image,
                              t->model.kl,
                              t->model.prior_entropy,
                              t->model.post_entropy,
                              t->model_norm,
                              t->ensemble_loss,
                              t->ensemble_norm,
                              t->reward,
                              t->delta,
                              t->actor_loss,
                              t->critic_loss,
                              t->actor_norm,
                              t->critic_norm,
                              t->value,
                              t->entropy};
    t->figures = wk_figures_record(g, read, sizeof read / sizeof *read);
    return wk_unit_bind(unit, learner, err);
}

wk_status wk_learner_record_observe(wk_learner *learner, wk_error *err)
{
    wk_unit *unit = &learner->observe;
    WK_TRY(wk_unit_begin(unit, learner, (const wk_set_id[]){WK_SET_MODEL}, 1, err));
    wk_graph *g = unit->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_OBSERVE);
    learner->observe_t = wk_batch_inputs(g, &learner->config);
    wk_model_losses seen =
        wk_model_record(unit->scope[WK_SET_MODEL], &learner->config, &learner->observe_t, counter);
    keep_latent(g, wk_learner_latent(learner, g), latent_rows(g, seen.latent));
    wk_graph_count(g, counter, 1);
    return wk_unit_bind(unit, learner, err);
}
