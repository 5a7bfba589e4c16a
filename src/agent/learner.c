// The learner as a whole: its networks and optimisers, its graphs as programs, and what it saves.
#include "agent/learner.h"

#include "agent/learner_parts.h"
#include "agent/memory_estimate.h"
#include <assert.h>
#include <stdlib.h>

// What each set is, given a config.
typedef struct set_row {
    const char *name;
    int stack;
    bool trained; // slow copies are not
    float rate;
} set_row;

static set_row describe_set(const wk_learner_config *c, wk_set_id id)
{
    switch (id) {
    case WK_SET_MODEL:
        return (set_row){"model", 0, true, c->model_rate};
    case WK_SET_ENSEMBLE:
        return (set_row){"ensemble", c->ensemble, true, c->ensemble_rate};
    case WK_SET_EXPLORE_ACTOR:
        return (set_row){"explore.actor", 1, true, c->policy_rate};
    case WK_SET_EXPLORE_CRITIC:
        return (set_row){"explore.critic", 1, true, c->policy_rate};
    case WK_SET_EXPLORE_SLOW:
        return (set_row){"explore.slow", 1, false, 0};
    case WK_SET_REWARD:
        return (set_row){"reward", c->tasks, true, c->model_rate};
    case WK_SET_TASK_ACTOR:
        return (set_row){"task.actor", c->tasks, true, c->policy_rate};
    case WK_SET_TASK_CRITIC:
        return (set_row){"task.critic", c->tasks, true, c->policy_rate};
    case WK_SET_TASK_SLOW:
        return (set_row){"task.slow", c->tasks, false, 0};
    case WK_SETS:
        break;
    }
    return (set_row){0};
}

const char *wk_set_name(wk_set_id id)
{
    wk_learner_config any = {0};
    return describe_set(&any, id).name;
}

static bool wanted(const wk_learner_config *c, wk_set_id id)
{
    if (id >= WK_SET_REWARD) return c->tasks > 0;
    if (id >= WK_SET_EXPLORE_ACTOR) return c->exploration == WK_EXPLORE_PLAN2EXPLORE;
    return true;
}

static wk_status create_sets(wk_learner *learner, wk_error *err)
{
    for (int id = 0; id < WK_SETS; id++) {
        if (!wanted(&learner->config, id)) continue;
        set_row row = describe_set(&learner->config, id);
        wk_params_config params = {
            .name = row.name, .stack = row.stack, .seed = learner->config.seed};
        WK_TRY(wk_params_create(&params, &learner->params[id], err));
        if (!row.trained) continue;
        wk_optimizer_config optimizer = {.rate = row.rate, .adam = wk_adam_config_default()};
        WK_TRY(wk_optimizer_create(learner->params[id], &optimizer, &learner->optimizers[id], err));
    }
    return WK_OK;
}

wk_status wk_unit_begin(wk_unit *unit, const wk_learner *learner, const wk_set_id *sets,
                        size_t count, wk_error *err)
{
    WK_TRY(wk_graph_create(&unit->graph, err));
    for (size_t i = 0; i < count; i++) {
        wk_params *params = learner->params[sets[i]];
        if (params) WK_TRY(wk_scope_create(params, unit->graph, &unit->scope[sets[i]], err));
    }
    return WK_OK;
}

wk_status wk_unit_bind(wk_unit *unit, const wk_learner *learner, wk_error *err)
{
    for (int id = 0; id < WK_SETS; id++)
        if (unit->scope[id]) WK_TRY(wk_scope_bind(unit->scope[id], learner->backend, err));
    for (int id = 0; id < WK_SETS; id++) {
        // An optimiser is bound with the one graph that makes its steps.
        bool trains = (unit == &learner->learn && id < WK_SET_REWARD) ||
                      (unit == &learner->tasks && id >= WK_SET_REWARD);
        if (trains && learner->optimizers[id])
            WK_TRY(wk_optimizer_bind(learner->optimizers[id], learner->backend, err));
    }
    return WK_OK;
}

wk_status wk_unit_finish(wk_unit *unit, const wk_learner *learner, wk_error *err)
{
    WK_TRY(wk_unit_bind(unit, learner, err));
    return wk_program_create(unit->graph, learner->backend, &unit->program, err);
}

void wk_unit_free(wk_unit *unit)
{
    wk_program_destroy(unit->program);
    for (int id = 0; id < WK_SETS; id++)
        wk_scope_destroy(unit->scope[id]);
    wk_graph_destroy(unit->graph);
}

wk_tensor wk_learner_counter(const wk_learner *learner, wk_graph *g, wk_counter_id which)
{
    return wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", learner->counters,
                               (size_t)which * sizeof(uint64_t));
}

void wk_learner_check(wk_unit *unit, wk_tensor loss, wk_tensor flag)
{
    wk_graph *g = unit->graph;
    wk_graph_store(g, flag, wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "zero", NULL, 0));
    wk_graph_check_finite(g, loss, flag);
    wk_graph_section(g, "optimiser");
}

wk_prepared wk_learner_prepare(const wk_learner *learner, wk_unit *unit, wk_set_id set,
                               wk_tensor loss, wk_tensor objective)
{
    wk_graph *g = unit->graph;
    wk_tensor flag = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "not finite", NULL, 0);
    wk_learner_check(unit, loss, flag);
    wk_tensor norm = wk_optimizer_gradients(learner->optimizers[set], unit->scope[set],
                                            wk_graph_sum_all(g, objective));
    return (wk_prepared){norm, flag};
}

void wk_learner_step(const wk_learner *learner, wk_unit *unit, wk_set_id set, wk_prepared prepared)
{
    wk_graph_section(unit->graph, "optimiser");
    wk_optimizer_step(learner->optimizers[set], prepared.flag);
}

wk_tensor wk_learner_train(const wk_learner *learner, wk_unit *unit, wk_set_id set, wk_tensor loss,
                           wk_tensor objective)
{
    wk_prepared prepared = wk_learner_prepare(learner, unit, set, loss, objective);
    wk_learner_step(learner, unit, set, prepared);
    return prepared.norm;
}

static size_t latent_bytes(const wk_learner_config *c)
{
    return (size_t)wk_config_rows(c) * (size_t)wk_config_features(c) * sizeof(float);
}

// The posterior states at the beginning of a buffer.
static wk_latent latent_in(wk_buffer *buffer, const wk_learner_config *c, wk_graph *g)
{
    int rows = wk_config_rows(c), flat = wk_config_flat(c);
    return (wk_latent){
        wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, flat), "latent.stoch", buffer, 0),
        wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, c->deter), "latent.deter", buffer,
                            (size_t)rows * (size_t)flat * sizeof(float))};
}

wk_latent wk_learner_latent(const wk_learner *learner, wk_graph *g)
{
    return latent_in(learner->latent, &learner->config, g);
}

// Behind the posterior states, at whole 64 bytes: the flag, then the figures.
static size_t handed_flag(const wk_learner_config *c)
{
    return (latent_bytes(c) + 63) / 64 * 64;
}

size_t wk_learner_handed_bytes(const wk_learner_config *c)
{
    return handed_flag(c) + sizeof(uint64_t) + WK_MODEL_FIGURES * sizeof(float);
}

wk_handed wk_learner_handed(const wk_learner *learner, wk_graph *g)
{
    wk_buffer *buffer = learner->handed;
    size_t flag = handed_flag(&learner->config);
    return (wk_handed){
        .latent = latent_in(buffer, &learner->config, g),
        .figures = wk_graph_persistent(g, WK_F32, WK_SHAPE(WK_MODEL_FIGURES), "model figures",
                                       buffer, flag + sizeof(uint64_t)),
        .flag = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "not finite", buffer, flag),
    };
}

const wk_unit *wk_learner_unit(const wk_learner *learner, int i)
{
    const wk_unit *const units[WK_UNITS] = {&learner->model, &learner->learn, &learner->tasks,
                                            &learner->observe};
    return units[i];
}

// Everything that checkpoints and snapshots hold.
static wk_status list_state(wk_learner *learner, wk_error *err)
{
    WK_TRY(wk_state_create(&learner->state, err));
    WK_TRY(wk_state_create(&learner->weights, err));
    for (int id = 0; id < WK_SETS; id++) {
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

static wk_status compile(const wk_unit *unit, wk_buffer *temporary, wk_error *err)
{
    return unit->program ? wk_program_compile(unit->program, temporary, err) : WK_OK;
}

// Programs that run one after the other share the memory of the largest for their temporaries.
static wk_status compile_units(wk_learner *learner, wk_error *err)
{
    wk_backend *backend = learner->backend;
    wk_temporaries need = wk_learner_temporaries(learner);
    if (need.shared > 0) WK_TRY(wk_buffer_create(backend, need.shared, &learner->temporary, err));
    if (need.beside > 0) WK_TRY(wk_buffer_create(backend, need.beside, &learner->beside, err));
    if (need.before > 0) WK_TRY(wk_buffer_create(backend, need.before, &learner->before, err));
    if (learner->ahead) wk_program_set_pace(learner->model.program, WK_PACE_PATIENT);
    WK_TRY(compile(&learner->model, learner->before ? learner->before : learner->temporary, err));
    WK_TRY(compile(&learner->learn, learner->temporary, err));
    WK_TRY(compile(&learner->observe, learner->temporary, err));
    return compile(&learner->tasks, learner->beside ? learner->beside : learner->temporary, err);
}

// Where the device is too small for all at once, world models do not run ahead of their updates;
// where it is still too small, task updates come behind updates.
static wk_status place_units(wk_learner *learner, unsigned uses, wk_error *err)
{
    bool beside = learner->learn.program && wk_backend_works_beside(learner->backend);
    learner->tasks_beside = beside && learner->tasks.program;
    learner->ahead = beside && !(uses & WK_LEARNER_IN_TURN);
    if (learner->ahead) learner->ahead = wk_learner_fits(learner);
    if (learner->tasks_beside) learner->tasks_beside = wk_learner_fits(learner);
    WK_TRY(wk_learner_check_room(learner, err));
    wk_status status = compile_units(learner, err);
    if (status == WK_E_MEMORY)
        wk_fail_context(err, "a learner that needs at least %zu MiB",
                        wk_learner_need_total(wk_learner_get_need(learner)) >> 20);
    return status;
}

static wk_status plan(wk_unit *unit, wk_backend *backend, wk_error *err)
{
    return wk_program_plan(unit->graph, backend, &unit->program, err);
}

// All graphs are recorded, because that is how networks get their weights.
static wk_status record_units(wk_learner *learner, unsigned uses, wk_error *err)
{
    wk_backend *backend = learner->backend;
    bool tasks = learner->config.tasks > 0;
    bool trains = uses & (WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES);
    WK_TRY(wk_learner_record_model(learner, err));
    WK_TRY(wk_learner_record_learn(learner, err));
    WK_TRY(wk_learner_record_observe(learner, err));
    if (tasks) WK_TRY(wk_learner_record_tasks(learner, err));
    if (uses & WK_LEARNER_UPDATES) {
        WK_TRY(plan(&learner->model, backend, err));
        WK_TRY(plan(&learner->learn, backend, err));
    }
    if (uses & WK_LEARNER_OBSERVES) WK_TRY(plan(&learner->observe, backend, err));
    return tasks && trains ? plan(&learner->tasks, backend, err) : WK_OK;
}

static wk_status build(wk_learner *learner, unsigned uses, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    size_t rows = (size_t)wk_config_rows(c);
    WK_TRY(create_sets(learner, err));
    WK_TRY(wk_buffer_create(learner->backend, WK_COUNTERS * sizeof(uint64_t), &learner->counters,
                            err));
    WK_TRY(wk_buffer_create(learner->backend, latent_bytes(c), &learner->latent, err));
    WK_TRY(wk_buffer_create(learner->backend, wk_learner_handed_bytes(c), &learner->handed, err));
    size_t most = rows * (size_t)(c->tasks > 1 ? c->tasks : 1);
    learner->scratch = malloc(most * sizeof(float));
    if (!learner->scratch)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu numbers of a batch", most);
    WK_TRY(wk_learner_make_queues(learner, err));
    WK_TRY(record_units(learner, uses, err));
    WK_TRY(place_units(learner, uses, err));
    if (learner->params[WK_SET_EXPLORE_SLOW])
        WK_TRY(wk_params_copy(learner->params[WK_SET_EXPLORE_SLOW],
                              learner->params[WK_SET_EXPLORE_CRITIC], err));
    if (c->tasks > 0)
        WK_TRY(wk_params_copy(learner->params[WK_SET_TASK_SLOW],
                              learner->params[WK_SET_TASK_CRITIC], err));
    size_t figures = learner->learn_t.figures.total + learner->task_t.figures.total;
    WK_TRY(
        wk_host_create(learner->backend, figures * sizeof(float), (void **)&learner->figures, err));
    return list_state(learner, err);
}

wk_status wk_learner_create(const wk_learner_config *config, wk_backend *backend, wk_learner **out,
                            wk_error *err)
{
    return wk_learner_create_for(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, config, backend, out,
                                 err);
}

wk_status wk_learner_create_for(unsigned uses, const wk_learner_config *config, wk_backend *backend,
                                wk_learner **out, wk_error *err)
{
    WK_TRY(wk_learner_config_check(config, err));
    wk_learner *learner = calloc(1, sizeof *learner);
    if (!learner) return wk_fail(err, WK_E_MEMORY, "no memory for a learner");
    learner->config = *config;
    learner->backend = backend;
    wk_status status = build(learner, uses, err);
    if (status != WK_OK) {
        wk_learner_destroy(learner);
        return status;
    }
    *out = learner;
    return WK_OK;
}

void wk_learner_destroy(wk_learner *learner)
{
    if (!learner) return;
    assert(!learner->mirrors);
    wk_queue_destroy(learner->work);
    wk_queue_destroy(learner->model_work);
    wk_queue_destroy(learner->task_work);
    wk_queue_destroy(learner->transfers);
    wk_state_destroy(learner->state);
    wk_state_destroy(learner->weights);
    wk_unit_free(&learner->model);
    wk_unit_free(&learner->learn);
    wk_unit_free(&learner->tasks);
    wk_unit_free(&learner->observe);
    for (int id = 0; id < WK_SETS; id++) {
        wk_optimizer_destroy(learner->optimizers[id]);
        wk_params_destroy(learner->params[id]);
    }
    wk_buffer_destroy(learner->latent);
    wk_buffer_destroy(learner->handed);
    wk_buffer_destroy(learner->counters);
    wk_buffer_destroy(learner->temporary);
    wk_buffer_destroy(learner->beside);
    wk_buffer_destroy(learner->before);
    wk_event_destroy(learner->done);
    wk_event_destroy(learner->modelled);
    wk_event_destroy(learner->ready);
    wk_event_destroy(learner->tasks_done);
    for (int i = 0; i < 2; i++) {
        wk_buffer_destroy(learner->incoming[i]);
        wk_host_destroy(learner->backend, learner->outgoing[i]);
        wk_event_destroy(learner->staged[i]);
        wk_event_destroy(learner->taken[i]);
    }
    free(learner->scratch);
    wk_host_destroy(learner->backend, learner->figures);
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
    *updates = counters[WK_COUNT_LEARN];
    *skipped = 0;
    for (int id = 0; id < WK_SETS; id++) {
        if (!learner->optimizers[id]) continue;
        int members = wk_params_stack(learner->params[id]);
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
    wk_learner_memory memory = {.state = wk_state_bytes(learner->state),
                                .planned = wk_temporaries_total(wk_learner_temporaries(learner)),
                                .allocated = wk_backend_allocated(learner->backend)};
    memory.planned += wk_learner_owned(learner);
    return memory;
}

wk_program *wk_learner_model_program(wk_learner *learner)
{
    return learner->model.program;
}

wk_program *wk_learner_program(wk_learner *learner)
{
    return learner->learn.program;
}

wk_program *wk_learner_task_program(wk_learner *learner)
{
    return learner->tasks.program;
}

wk_status wk_learner_save(const wk_learner *learner, const char *path, wk_error *err)
{
    return wk_learner_save_labelled(learner, NULL, path, NULL, 0, err);
}

wk_status wk_learner_save_labelled(const wk_learner *learner, const wk_dir *in, const char *path,
                                   const wk_weights_label *labels, size_t count, wk_error *err)
{
    return wk_state_save(learner->state, in, path, labels, count, err);
}

wk_status wk_learner_restore(wk_learner *learner, const char *path, wk_error *err)
{
    return wk_learner_restore_in(learner, NULL, path, err);
}

wk_status wk_learner_restore_in(wk_learner *learner, const wk_dir *in, const char *name,
                                wk_error *err)
{
    wk_safetensors *file;
    WK_TRY(wk_learner_forget(learner, err));
    WK_TRY(wk_safetensors_open_in(in, name, &file, err));
    wk_status status = wk_state_load(learner->state, file, err);
    wk_safetensors_close(file);
    return status;
}
