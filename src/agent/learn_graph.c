// The reward-free graph: the world model's step, then exploration in imagination and ensemble. It
// begins with what the world model's graph (model_graph.c) left.
#include "agent/behaviour.h"
#include "agent/learner_parts.h"
#include "agent/networks.h"
#include <assert.h>

wk_figures wk_figures_join(wk_graph *g, const wk_tensor *tensors, size_t count)
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
    return f;
}

const float *wk_figures_at(const wk_figures *figures, const float *numbers, wk_tensor x)
{
    for (size_t i = 0; i < figures->count; i++)
        if (figures->item[i].x.id == x.id) return numbers + figures->item[i].offset;
    return NULL;
}

static wk_status mark_ready(const wk_learner *learner, const wk_tensor *kept, size_t count,
                            wk_error *err)
{
    const wk_scope *model = learner->learn.scope[WK_SET_MODEL];
    WK_ARRAY(wk_tensor) read = {0};
    bool room = true;
    for (size_t i = 0; room && i < count; i++)
        room = wk_array_push(&read, kept[i]);
    for (size_t i = 0; room && i < wk_scope_count(model); i++)
        room = wk_array_push(&read, wk_scope_tensors(model)[i]);
    if (room) wk_graph_mark(learner->learn.graph, read.items, read.count, learner->ready);
    wk_array_free(&read);
    return room ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to list weights");
}

// What the update begins with.
typedef struct beginning {
    wk_latent latent; // posterior states of the batch
    wk_tensor number; // of updates before this one
    wk_tensor count;  // and with it
} beginning;

// Takes over what the world model's graph left: posterior states, figures, and the gradients for
// the model's step; and counts the update. From here on nothing of that is touched any more, so
// that the world model's graph may run on the next batch; and the task graph, which reads the
// posterior states and the model.
static wk_status take_over(wk_learner *learner, beginning *out, wk_error *err)
{
    wk_unit *unit = &learner->learn;
    wk_graph *g = unit->graph;
    wk_optimizer *optimizer = learner->optimizers[WK_SET_MODEL];
    wk_handed handed = wk_learner_handed(learner, g);
    wk_latent latent = wk_learner_latent(learner, g);
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_LEARN);
    wk_tensor number = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "update", NULL, 0);
    wk_tensor figures =
        wk_graph_persistent(g, WK_F32, WK_SHAPE(WK_MODEL_FIGURES), "model figures", NULL, 0);
    wk_graph_section(g, "optimiser");
    wk_graph_branch(g, WK_BRANCH_CRITIC);
    wk_graph_store(g, latent.stoch, handed.latent.stoch);
    wk_graph_store(g, latent.deter, handed.latent.deter);
    wk_graph_store(g, figures, handed.figures);
    wk_graph_store(g, number, counter);
    wk_graph_count(g, counter, 1);
    wk_graph_branch(g, WK_BRANCH_MAIN);
    wk_optimizer_take(optimizer, unit->scope[WK_SET_MODEL]);
    wk_optimizer_step(optimizer, handed.flag);
    wk_graph_branch(g, WK_BRANCH_CRITIC);
    const wk_tensor kept[] = {latent.stoch, latent.deter, figures, counter};
    wk_status status = mark_ready(learner, kept, sizeof kept / sizeof *kept, err);
    wk_graph_branch(g, WK_BRANCH_MAIN);
    learner->learn_t.model_figures = figures;
    *out = (beginning){latent, number, counter};
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

static void record_exploration(wk_learner *learner, beginning at)
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
    wk_imagined run = wk_imagine(&rssm, actor, at.latent, "explore", at.number);
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
static wk_prepared record_ensemble(wk_learner *learner, wk_latent latent)
{
    const wk_learner_config *c = &learner->config;
    wk_unit *unit = &learner->learn;
    wk_learn_tensors *t = &learner->learn_t;
    wk_scope *ensemble = unit->scope[WK_SET_ENSEMBLE];
    wk_graph *g = unit->graph;
    wk_graph_section(g, "ensemble");
    wk_tensor features = wk_graph_concat(g, (wk_tensor[]){latent.stoch, latent.deter}, 2, 1);
    features = wk_graph_reshape(g, features, WK_SHAPE(c->length, c->batch, wk_config_features(c)));
    t->ensemble_loss = wk_ensemble_loss(ensemble, c, features, t->action);
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
    const wk_learner_config *c = &learner->config;
    t->action = wk_graph_input(g, WK_F32, WK_SHAPE(c->length, c->batch, c->action_size), "action");
    beginning at;
    WK_TRY(take_over(learner, &at, err));
    wk_graph_branch(g, WK_BRANCH_HEADS);
    wk_prepared ensemble = record_ensemble(learner, at.latent);
    wk_graph_branch(g, WK_BRANCH_MAIN);
    record_exploration(learner, at);
    wk_graph_branch(g, WK_BRANCH_HEADS);
    wk_learner_step(learner, unit, WK_SET_ENSEMBLE, ensemble);
    wk_graph_branch(g, WK_BRANCH_MAIN);

    if (unit->scope[WK_SET_EXPLORE_SLOW])
        wk_scope_follow(unit->scope[WK_SET_EXPLORE_SLOW], unit->scope[WK_SET_EXPLORE_CRITIC],
                        at.count, (uint64_t)c->slow_period);
    const wk_tensor read[] = {t->model_figures, t->ensemble_loss, t->ensemble_norm, t->reward,
                              t->delta,         t->actor_loss,    t->critic_loss,   t->actor_norm,
                              t->critic_norm,   t->value,         t->entropy};
    t->figures = wk_figures_join(g, read, sizeof read / sizeof *read);
    wk_graph_output(g, t->figures.joined);
    return wk_unit_bind(unit, learner, err);
}
