// The learner as a whole: its networks and optimisers, its graphs as programs, and what it saves.
#include "agent/learner.h"

#include "agent/learner_parts.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

// What each network is, given a config.
typedef struct network_row {
    const char *name;
    int stack;
    bool trained; // slow copies are not
    float rate;
} network_row;

static network_row describe_network(const wk_learner_config *c, wk_network_id id)
{
    const network_row rows[WK_NETWORKS] = {
        [WK_NETWORK_MODEL] = {"model", 0, true, c->model_rate},
        [WK_NETWORK_ENSEMBLE] = {"ensemble", c->ensemble, true, c->ensemble_rate},
        [WK_NETWORK_EXPLORE_ACTOR] = {"explore.actor", 1, true, wk_config_exploration_rate(c)},
        [WK_NETWORK_EXPLORE_CRITIC] = {"explore.critic", 1, true, wk_config_exploration_rate(c)},
        [WK_NETWORK_EXPLORE_SLOW] = {"explore.slow", 1, false, 0},
        [WK_NETWORK_REWARD] = {"reward", c->tasks, true, c->model_rate},
        [WK_NETWORK_TASK_ACTOR] = {"task.actor", c->tasks, true, c->policy_rate},
        [WK_NETWORK_TASK_CRITIC] = {"task.critic", c->tasks, true, c->policy_rate},
        [WK_NETWORK_TASK_SLOW] = {"task.slow", c->tasks, false, 0},
    };
    return rows[id];
}

const char *wk_network_name(wk_network_id id)
{
    return describe_network(&(wk_learner_config){0}, id).name;
}

static bool has_network(const wk_learner_config *c, wk_network_id id)
{
    if (id >= WK_NETWORK_REWARD) return c->tasks > 0;
    if (id >= WK_NETWORK_EXPLORE_ACTOR) return c->exploration == WK_EXPLORE_PLAN2EXPLORE;
    return true;
}

static wk_status create_networks(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    for (int id = 0; id < WK_NETWORKS; id++) {
        if (!has_network(c, id)) continue;
        network_row row = describe_network(c, id);
        wk_params_config params = {.name = row.name, .stack = row.stack, .seed = c->seed};
        WK_TRY(wk_params_create(&params, &learner->params[id], err));
        if (!row.trained) continue;
        wk_optimizer_config optimizer = {.rate = row.rate, .adam = wk_adam_config_default()};
        optimizer.adam.keras_epsilon = c->adam_epsilon == WK_EPSILON_KERAS;
        optimizer.adam.joint_clip =
            (id == WK_NETWORK_ENSEMBLE && c->ensemble_clip == WK_CLIP_JOINT) ||
            (id == WK_NETWORK_REWARD && c->reward_clip == WK_CLIP_JOINT);
        WK_TRY(wk_optimizer_create(learner->params[id], &optimizer, &learner->optimizers[id], err));
    }
    return WK_OK;
}

wk_status wk_compiled_graph_begin(wk_compiled_graph *compiled, const wk_learner *learner,
                                  const wk_network_id *networks, size_t count, wk_error *err)
{
    WK_TRY(wk_graph_create(&compiled->graph, err));
    for (size_t i = 0; i < count; i++) {
        wk_params *params = learner->params[networks[i]];
        if (params)
            WK_TRY(wk_scope_create(params, compiled->graph, &compiled->scope[networks[i]], err));
    }
    return WK_OK;
}

wk_status wk_compiled_graph_bind(wk_compiled_graph *compiled, const wk_learner *learner,
                                 wk_error *err)
{
    for (int id = 0; id < WK_NETWORKS; id++)
        if (compiled->scope[id]) WK_TRY(wk_scope_bind(compiled->scope[id], learner->backend, err));
    for (int id = 0; id < WK_NETWORKS; id++) {
        // An optimiser is bound with the one graph that makes its steps.
        bool trains = (compiled == &learner->update && id < WK_NETWORK_REWARD) ||
                      (compiled == &learner->tasks && id >= WK_NETWORK_REWARD);
        if (trains && learner->optimizers[id])
            WK_TRY(wk_optimizer_bind(learner->optimizers[id], learner->backend, err));
    }
    return WK_OK;
}

wk_status wk_compiled_graph_finish(wk_compiled_graph *compiled, const wk_learner *learner,
                                   wk_error *err)
{
    WK_TRY(wk_compiled_graph_bind(compiled, learner, err));
    return wk_program_create(compiled->graph, learner->backend, &compiled->program, err);
}

void wk_compiled_graph_free(wk_compiled_graph *compiled)
{
    wk_program_destroy(compiled->program);
    for (int id = 0; id < WK_NETWORKS; id++)
        wk_scope_destroy(compiled->scope[id]);
    wk_graph_destroy(compiled->graph);
}

const wk_compiled_graph *wk_learner_compiled_graph(const wk_learner *learner, int i)
{
    const wk_compiled_graph *const graphs[WK_COMPILED_GRAPHS] = {
        &learner->model, &learner->update, &learner->tasks, &learner->observe};
    return graphs[i];
}

// Everything that checkpoints and snapshots hold.
static wk_status list_state(wk_learner *learner, wk_error *err)
{
    WK_TRY(wk_state_create(&learner->state, err));
    WK_TRY(wk_state_create(&learner->weights, err));
    for (int id = 0; id < WK_NETWORKS; id++) {
        if (learner->params[id]) {
            WK_TRY(wk_state_add_params(learner->state, learner->params[id], err));
            WK_TRY(wk_state_add_params(learner->weights, learner->params[id], err));
        }
        if (learner->optimizers[id])
            WK_TRY(wk_state_add_optimizer(learner->state, learner->optimizers[id], err));
    }
    return wk_state_add(learner->state, "counters", WK_U64, WK_SHAPE(WK_COUNTERS),
                        learner->counters, 0, err);
}

// Programs that run in sequence share one buffer for their temporaries, as large as the largest
// needs.
static wk_status create_scratch(wk_learner *learner, wk_error *err)
{
    wk_backend *backend = learner->backend;
    wk_temporaries bytes = wk_learner_temporaries(learner);
    if (bytes.shared > 0)
        WK_TRY(wk_buffer_create(backend, bytes.shared, &learner->shared_scratch, err));
    if (bytes.tasks > 0)
        WK_TRY(wk_buffer_create(backend, bytes.tasks, &learner->task_scratch, err));
    if (bytes.prefetch > 0)
        WK_TRY(wk_buffer_create(backend, bytes.prefetch, &learner->prefetch_scratch, err));
    if (learner->prefetches) wk_program_set_priority(learner->model.program, WK_PRIORITY_LOW);
    return WK_OK;
}

// Where the temporaries of a learner's graph number i lie.
static wk_buffer *scratch_of(const wk_learner *learner, int i)
{
    const wk_compiled_graph *compiled = wk_learner_compiled_graph(learner, i);
    wk_buffer *own = NULL;
    if (compiled == &learner->model) own = learner->prefetch_scratch;
    if (compiled == &learner->tasks) own = learner->task_scratch;
    return own ? own : learner->shared_scratch;
}

// Each graph of all members as one program.
static wk_status compile_programs(wk_learner *leader, wk_error *err)
{
    wk_program *programs[WK_POPULATION_MAX];
    wk_buffer *scratch[WK_POPULATION_MAX];
    for (int r = 0; r < leader->population; r++)
        WK_TRY(create_scratch(leader->members[r], err));
    for (int i = 0; i < WK_COMPILED_GRAPHS; i++) {
        if (!wk_learner_compiled_graph(leader, i)->program) continue;
        for (int r = 0; r < leader->population; r++) {
            programs[r] = wk_learner_compiled_graph(leader->members[r], i)->program;
            scratch[r] = scratch_of(leader->members[r], i);
        }
        WK_TRY(wk_program_compile_population(programs, scratch, leader->population, err));
    }
    return WK_OK;
}

// Where the device has too little memory for everything at once, world models are not prefetched;
// where it still has too little, task updates follow updates instead of overlapping them.
static wk_status place_programs(wk_learner *leader, unsigned uses, wk_error *err)
{
    bool async = leader->update.program && wk_backend_is_async(leader->backend);
    leader->tasks_async = async && leader->tasks.program;
    leader->prefetches = async && !(uses & WK_LEARNER_NO_PREFETCH);
    if (leader->prefetches) leader->prefetches = wk_learner_fits(leader);
    if (leader->tasks_async) leader->tasks_async = wk_learner_fits(leader);
    WK_TRY(wk_learner_check_memory(leader, err));
    for (int r = 1; r < leader->population; r++) {
        leader->members[r]->tasks_async = leader->tasks_async;
        leader->members[r]->prefetches = leader->prefetches;
    }
    wk_status status = compile_programs(leader, err);
    if (status == WK_E_MEMORY)
        wk_fail_context(err, "a learner that needs at least %zu MiB",
                        wk_memory_estimate_total(wk_learner_estimate_memory(leader)) >> 20);
    return status;
}

static wk_status plan(wk_compiled_graph *compiled, wk_backend *backend, wk_error *err)
{
    return wk_program_plan(compiled->graph, backend, &compiled->program, err);
}

// A member up to its planned programs. All graphs are recorded, because that is how networks get
// their weights.
static wk_status prepare(wk_learner *learner, unsigned uses, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_backend *backend = learner->backend;
    WK_TRY(create_networks(learner, err));
    size_t max_numbers = (size_t)wk_config_rows(c) * (size_t)(c->tasks > 1 ? c->tasks : 1);
    learner->host_numbers = malloc(max_numbers * sizeof(float));
    if (!learner->host_numbers)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu numbers of a batch", max_numbers);
    WK_TRY(wk_learner_create_buffers(learner, err));
    if (learner == learner->leader) WK_TRY(wk_learner_create_queues(learner, err));
    WK_TRY(wk_learner_create_batches(learner, err));
    WK_TRY(wk_learner_record(learner, err));
    if (uses & WK_LEARNER_UPDATES) {
        WK_TRY(plan(&learner->model, backend, err));
        WK_TRY(plan(&learner->update, backend, err));
    }
    if (uses & WK_LEARNER_OBSERVES) WK_TRY(plan(&learner->observe, backend, err));
    bool trains = uses & (WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES);
    return c->tasks > 0 && trains ? plan(&learner->tasks, backend, err) : WK_OK;
}

// What needs memory with programs in it.
static wk_status complete(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    if (learner->params[WK_NETWORK_EXPLORE_SLOW])
        WK_TRY(wk_params_copy(learner->params[WK_NETWORK_EXPLORE_SLOW],
                              learner->params[WK_NETWORK_EXPLORE_CRITIC], err));
    if (c->tasks > 0)
        WK_TRY(wk_params_copy(learner->params[WK_NETWORK_TASK_SLOW],
                              learner->params[WK_NETWORK_TASK_CRITIC], err));
    size_t scalars = learner->update_t.scalars.total + learner->task_t.scalars.total;
    WK_TRY(wk_pinned_create(learner->backend, scalars * sizeof(float), (void **)&learner->scalars,
                            err));
    return list_state(learner, err);
}

wk_status wk_learner_create(unsigned uses, const wk_learner_config *config, wk_backend *backend,
                            wk_learner **out, wk_error *err)
{
    return wk_learner_create_population(uses, config, &backend, 1, out, err);
}

static wk_status check_configs(const wk_learner_config *configs, int count, wk_error *err)
{
    if (count < 1 || count > WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "a population has 1 to %d members, not %d",
                       WK_POPULATION_MAX, count);
    for (int r = 0; r < count; r++) {
        WK_TRY(wk_learner_config_check(&configs[r], err));
        if (!wk_learner_config_is_alike(&configs[0], &configs[r]))
            return wk_fail(err, WK_E_INPUT,
                           "learners 0 and %d of a population differ in more than seed and "
                           "learning rates",
                           r);
    }
    return WK_OK;
}

// Members that know each other, and nothing else.
static wk_status create_members(const wk_learner_config *configs, wk_backend *const *backends,
                                int count, wk_learner **out, wk_error *err)
{
    for (int r = 0; r < count; r++) {
        out[r] = calloc(1, sizeof **out);
        if (!out[r]) return wk_fail(err, WK_E_MEMORY, "no memory for a learner");
        out[r]->config = configs[r];
        out[r]->backend = backends[r];
        out[r]->leader = out[0];
        out[r]->population = count;
    }
    out[0]->members = malloc((size_t)count * sizeof *out);
    if (!out[0]->members) return wk_fail(err, WK_E_MEMORY, "no memory for a learner");
    memcpy(out[0]->members, out, (size_t)count * sizeof *out);
    return WK_OK;
}

static wk_status build(wk_learner *leader, unsigned uses, wk_error *err)
{
    for (int r = 0; r < leader->population; r++)
        WK_TRY(prepare(leader->members[r], uses, err));
    WK_TRY(place_programs(leader, uses, err));
    for (int r = 0; r < leader->population; r++)
        WK_TRY(complete(leader->members[r], err));
    return WK_OK;
}

wk_status wk_learner_create_population(unsigned uses, const wk_learner_config *configs,
                                       wk_backend *const *backends, int count, wk_learner **out,
                                       wk_error *err)
{
    wk_learner *learners[WK_POPULATION_MAX] = {0};
    WK_TRY(check_configs(configs, count, err));
    wk_status status = create_members(configs, backends, count, learners, err);
    if (status == WK_OK) status = build(learners[0], uses, err);
    for (int r = 0; r < count; r++) {
        if (status == WK_OK)
            out[r] = learners[r];
        else
            wk_learner_destroy(learners[r]);
    }
    return status;
}

void wk_learner_destroy(wk_learner *learner)
{
    if (!learner) return;
    assert(!learner->snapshots);
    wk_queue_destroy(learner->update_queue);
    wk_queue_destroy(learner->model_queue);
    wk_queue_destroy(learner->task_queue);
    wk_queue_destroy(learner->transfer_queue);
    wk_state_destroy(learner->state);
    wk_state_destroy(learner->weights);
    wk_compiled_graph_free(&learner->model);
    wk_compiled_graph_free(&learner->update);
    wk_compiled_graph_free(&learner->tasks);
    wk_compiled_graph_free(&learner->observe);
    for (int id = 0; id < WK_NETWORKS; id++) {
        wk_optimizer_destroy(learner->optimizers[id]);
        wk_params_destroy(learner->params[id]);
    }
    wk_buffer_destroy(learner->starts);
    wk_buffer_destroy(learner->handoff);
    wk_buffer_destroy(learner->counters);
    wk_buffer_destroy(learner->shared_scratch);
    wk_buffer_destroy(learner->task_scratch);
    wk_buffer_destroy(learner->prefetch_scratch);
    wk_event_destroy(learner->update_done);
    wk_event_destroy(learner->model_done);
    wk_event_destroy(learner->weights_ready);
    wk_event_destroy(learner->tasks_done);
    for (int i = 0; i < 2; i++) {
        wk_buffer_destroy(learner->device_batches[i]);
        wk_pinned_destroy(learner->backend, learner->pinned_batches[i]);
        wk_event_destroy(learner->batch_ready[i]);
        wk_event_destroy(learner->batch_consumed[i]);
    }
    free(learner->host_numbers);
    free(learner->members);
    wk_pinned_destroy(learner->backend, learner->scalars);
    free(learner);
}

const wk_learner_config *wk_learner_get_config(const wk_learner *learner)
{
    return &learner->config;
}

wk_status wk_learner_counts(const wk_learner *learner, uint64_t *updates, uint64_t *skipped,
                            wk_error *err)
{
    uint64_t counters[WK_COUNTERS];
    WK_TRY(wk_buffer_download(learner->counters, 0, counters, sizeof counters, err));
    *updates = counters[WK_COUNT_UPDATES];
    *skipped = 0;
    for (int id = 0; id < WK_NETWORKS; id++) {
        if (!learner->optimizers[id]) continue;
        int members = learner->params[id]->stack;
        for (int s = 0; s < (members ? members : 1); s++) {
            wk_optimizer_counts counts;
            WK_TRY(wk_optimizer_get_counts(learner->optimizers[id], s, &counts, err));
            *skipped += counts.skipped;
        }
    }
    return WK_OK;
}

wk_learner_memory wk_learner_get_memory(const wk_learner *learner)
{
    wk_memory_estimate estimate = wk_learner_estimate_memory(learner);
    return (wk_learner_memory){.state = wk_state_bytes(learner->state),
                               .planned = estimate.planned - estimate.early,
                               .allocated = wk_backend_allocated(learner->backend)};
}

wk_program *wk_learner_model_program(wk_learner *learner)
{
    return learner->model.program;
}

wk_program *wk_learner_update_program(wk_learner *learner)
{
    return learner->update.program;
}

wk_program *wk_learner_task_program(wk_learner *learner)
{
    return learner->tasks.program;
}

wk_status wk_learner_save(const wk_learner *learner, const wk_dir *in, const char *path,
                          const wk_weights_label *labels, size_t count, wk_error *err)
{
    return wk_state_save(learner->state, in, path, labels, count, err);
}

wk_status wk_learner_restore(wk_learner *learner, const wk_dir *in, const char *name, wk_error *err)
{
    wk_safetensors *file;
    WK_TRY(wk_learner_discard_prefetch(learner, err));
    WK_TRY(wk_safetensors_open_in(in, name, &file, err));
    wk_status status = wk_state_load(learner->state, file, NULL, err);
    wk_safetensors_close(file);
    return status;
}
