// The graphs of the world model on a batch: the one that it learns from, and the one that only
// observes.
//
// The first changes nothing that others read: it exports gradients, posterior states and scalars to
// a handoff buffer, from which the update graph (update_graph.c) makes the step. learner.h shows
// why.
#include "agent/learner_parts.h"

// [T,B,D] as [T*B,D].
static wk_tensor as_rows(wk_graph *g, wk_tensor x)
{
    wk_shape s = wk_graph_shape(g, x);
    return wk_graph_reshape(g, x, WK_SHAPE(s.dim[0] * s.dim[1], s.dim[2]));
}

// Stores the posterior states of a batch as rows, for imagination to start from.
static void keep_starts(wk_graph *g, wk_starts place, wk_latent latent,
                        const wk_batch_tensors *batch)
{
    latent.stoch = as_rows(g, wk_graph_stop_gradient(g, latent.stoch));
    latent.deter = as_rows(g, wk_graph_stop_gradient(g, latent.deter));
    wk_starts_store(g, place, (wk_starts){latent, batch->continues});
}

wk_status wk_learner_record_model(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->model;
    wk_model_tensors *t = &learner->model_t;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_UPDATES);
    wk_handoff handoff = wk_learner_handoff(learner, g);
    t->batch = wk_batch_inputs(g, &learner->config);
    t->losses =
        wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config, &t->batch, counter);
    wk_learner_record_finite_check(compiled, t->losses.total, handoff.nonfinite);
    t->norm = wk_optimizer_export_gradients(learner->optimizers[WK_NETWORK_MODEL],
                                            compiled->scope[WK_NETWORK_MODEL], t->losses.total);
    keep_starts(g, handoff.starts, t->losses.latent, &t->batch);
    const wk_tensor metrics[] = {
#define WK_MODEL_METRIC(field, tensor, name, condition, checked) t->tensor,
#include "agent/update_metrics.def"
    };
    t->scalars = wk_scalars_join(g, metrics, sizeof metrics / sizeof *metrics);
    wk_graph_store(g, handoff.scalars, t->scalars.joined);
    return wk_compiled_graph_bind(compiled, learner, err);
}

wk_status wk_learner_record_observe(wk_learner *learner, wk_error *err)
{
    wk_compiled_graph *compiled = &learner->observe;
    WK_TRY(wk_compiled_graph_begin(compiled, learner, (const wk_network_id[]){WK_NETWORK_MODEL}, 1,
                                   err));
    wk_graph *g = compiled->graph;
    wk_tensor counter = wk_learner_counter(learner, g, WK_COUNT_OBSERVE);
    learner->observe_t = wk_batch_inputs(g, &learner->config);
    wk_model_losses seen = wk_model_record(compiled->scope[WK_NETWORK_MODEL], &learner->config,
                                           &learner->observe_t, counter);
    keep_starts(g, wk_learner_starts(learner, g), seen.latent, &learner->observe_t);
    wk_graph_count(g, counter, 1);
    return wk_compiled_graph_bind(compiled, learner, err);
}
