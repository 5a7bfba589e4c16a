#include "agent/learner.h"

#include "agent/learner_parts.h"
#include "agent/need.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        // An optimiser is recorded in the one graph that trains its set.
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

wk_prepared wk_learner_prepare(const wk_learner *learner, wk_unit *unit, wk_set_id set,
                               wk_tensor loss, wk_tensor objective)
{
    wk_graph *g = unit->graph;
    wk_shape single = WK_SHAPE(1);
    wk_tensor flag = wk_graph_persistent(g, WK_U64, single, "not finite", NULL, 0);
    wk_graph_store(g, flag, wk_graph_persistent(g, WK_U64, single, "zero", NULL, 0));
    wk_graph_check_finite(g, loss, flag);
    wk_graph_section(g, "optimiser");
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

wk_latent wk_learner_latent(const wk_learner *learner, wk_graph *g)
{
    const wk_learner_config *c = &learner->config;
    int rows = wk_config_rows(c), flat = wk_config_flat(c);
    return (wk_latent){
        wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, flat), "latent.stoch", learner->latent, 0),
        wk_graph_persistent(g, WK_F32, WK_SHAPE(rows, c->deter), "latent.deter", learner->latent,
                            (size_t)rows * (size_t)flat * sizeof(float))};
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
    WK_TRY(compile(&learner->learn, learner->temporary, err));
    WK_TRY(compile(&learner->observe, learner->temporary, err));
    return compile(&learner->tasks, learner->beside ? learner->beside : learner->temporary, err);
}

// Where the device is too small for both at once, task updates come behind updates.
static wk_status place_units(wk_learner *learner, wk_error *err)
{
    learner->tasks_beside = learner->learn.program && learner->tasks.program &&
                            wk_backend_works_beside(learner->backend);
    if (learner->tasks_beside) learner->tasks_beside = wk_learner_fits(learner);
    WK_TRY(wk_learner_check_room(learner, err));
    wk_status status = compile_units(learner, err);
    if (status == WK_E_MEMORY)
        wk_fail_context(err, "a learner that needs at least %zu MiB",
                        wk_learner_need_total(wk_learner_get_need(learner)) >> 20);
    return status;
}

// Where the parts of a batch lie in the memory for the next one, in bytes.
typedef struct incoming {
    size_t actions, keep, rewards, total; // images come first
} incoming;

static incoming incoming_of(const wk_learner_config *c)
{
    size_t rows = (size_t)wk_config_rows(c), number = rows * sizeof(float);
    incoming at = {.actions = rows * WK_PIXELS};
    at.keep = at.actions + number * (size_t)c->action_size;
    at.rewards = at.keep + number;
    at.total = at.rewards + number * (size_t)c->tasks;
    return at;
}

// Of a batch's small parts on the host: where each picture is on the device, then the numbers as
// they will lie there.
static size_t outgoing_bytes(const wk_learner_config *c)
{
    incoming at = incoming_of(c);
    return (size_t)wk_config_rows(c) * sizeof(void *) + at.total - at.actions;
}

static wk_status make_queues(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_backend *backend = learner->backend;
    WK_TRY(wk_queue_create(backend, false, &learner->work, err));
    WK_TRY(wk_queue_create(backend, false, &learner->task_work, err));
    WK_TRY(wk_queue_create(backend, false, &learner->transfers, err));
    WK_TRY(wk_event_create(backend, &learner->done, err));
    WK_TRY(wk_event_create(backend, &learner->ready, err));
    WK_TRY(wk_event_create(backend, &learner->tasks_done, err));
    for (int i = 0; i < 2; i++) {
        WK_TRY(wk_event_create(backend, &learner->staged[i], err));
        WK_TRY(wk_event_create(backend, &learner->taken[i], err));
        WK_TRY(wk_host_create(backend, outgoing_bytes(c), &learner->outgoing[i], err));
        WK_TRY(wk_buffer_create(backend, incoming_of(c).total, &learner->incoming[i], err));
    }
    return WK_OK;
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
    WK_TRY(wk_learner_record_learn(learner, err));
    WK_TRY(wk_learner_record_observe(learner, err));
    if (tasks) WK_TRY(wk_learner_record_tasks(learner, err));
    if (uses & WK_LEARNER_UPDATES) WK_TRY(plan(&learner->learn, backend, err));
    if (uses & WK_LEARNER_OBSERVES) WK_TRY(plan(&learner->observe, backend, err));
    return tasks && uses ? plan(&learner->tasks, backend, err) : WK_OK;
}

static wk_status build(wk_learner *learner, unsigned uses, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    size_t rows = (size_t)wk_config_rows(c);
    WK_TRY(create_sets(learner, err));
    WK_TRY(wk_buffer_create(learner->backend, WK_COUNTERS * sizeof(uint64_t), &learner->counters,
                            err));
    WK_TRY(wk_buffer_create(learner->backend, rows * (size_t)wk_config_features(c) * sizeof(float),
                            &learner->latent, err));
    size_t most = rows * (size_t)(c->tasks > 1 ? c->tasks : 1);
    learner->scratch = malloc(most * sizeof(float));
    if (!learner->scratch)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu numbers of a batch", most);
    WK_TRY(make_queues(learner, err));
    WK_TRY(record_units(learner, uses, err));
    WK_TRY(place_units(learner, err));
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
    wk_queue_destroy(learner->task_work);
    wk_queue_destroy(learner->transfers);
    wk_state_destroy(learner->state);
    wk_state_destroy(learner->weights);
    wk_unit_free(&learner->learn);
    wk_unit_free(&learner->tasks);
    wk_unit_free(&learner->observe);
    for (int id = 0; id < WK_SETS; id++) {
        wk_optimizer_destroy(learner->optimizers[id]);
        wk_params_destroy(learner->params[id]);
    }
    wk_buffer_destroy(learner->latent);
    wk_buffer_destroy(learner->counters);
    wk_buffer_destroy(learner->temporary);
    wk_buffer_destroy(learner->beside);
    wk_event_destroy(learner->done);
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

static wk_status upload_batch(wk_learner *learner, wk_program *program,
                              const wk_batch_tensors *inputs, const wk_learner_batch *batch,
                              wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(&learner->config);
    for (size_t i = 0; i < rows; i++)
        learner->scratch[i] = batch->first[i] ? 0.0f : 1.0f;
    WK_TRY(wk_program_upload(program, inputs->image, batch->images, rows * WK_PIXELS, err));
    WK_TRY(wk_program_upload(program, inputs->action, batch->actions,
                             rows * (size_t)learner->config.action_size * sizeof(float), err));
    return wk_program_upload(program, inputs->keep, learner->scratch, rows * sizeof(float), err);
}

// Those of the task program lie behind those of the other.
static float *task_figures(const wk_learner *learner)
{
    return learner->figures + learner->learn_t.figures.total;
}

// Brings all figures of a program into the host's memory, once it has run.
static wk_status put_figures(wk_queue *queue, const wk_unit *unit, const wk_figures *figures,
                             float *to, wk_error *err)
{
    wk_location at = wk_program_locate(unit->program, figures->joined);
    return wk_queue_download(queue, at.buffer, at.offset, to, at.size, err);
}

static float mean_of(const float *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    return (float)(sum / count);
}

static void fill_metrics(const wk_learner *learner, wk_learner_metrics *m)
{
    const wk_learn_tensors *t = &learner->learn_t;
    const struct {
        wk_tensor x;
        int count; // more than one: the mean
        float *to;
    } figures[] = {
        {t->model.total, 1, &m->model_loss},
        {t->model.image, 1, &m->image_loss},
        {t->model.kl, 1, &m->kl},
        {t->model.prior_entropy, 1, &m->prior_entropy},
        {t->model.post_entropy, 1, &m->post_entropy},
        {t->model_norm, 1, &m->model_norm},
        {t->reward, 1, &m->disagreement},
        {t->actor_loss, 1, &m->explore.actor_loss},
        {t->critic_loss, 1, &m->explore.critic_loss},
        {t->actor_norm, 1, &m->explore.actor_norm},
        {t->critic_norm, 1, &m->explore.critic_norm},
        {t->value, 1, &m->explore.value},
        {t->entropy, 1, &m->explore.entropy},
        {t->ensemble_loss, learner->config.ensemble, &m->ensemble_loss},
        {t->ensemble_norm, learner->config.ensemble, &m->ensemble_norm},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const float *at = wk_figures_at(&t->figures, learner->figures, figures[i].x);
        *figures[i].to = at ? mean_of(at, figures[i].count) : 0;
    }
}

// The rewards of each task one behind the other.
static void turn_rewards(const wk_learner_config *c, const float *rewards, float *out)
{
    size_t tasks = (size_t)c->tasks, rows = (size_t)wk_config_rows(c);
    for (size_t k = 0; k < tasks; k++)
        for (size_t i = 0; i < rows; i++)
            out[k * rows + i] = rewards[i * tasks + k];
}

static void fill_numbers(const wk_learner_config *c, const wk_learner_batch *batch, float *out)
{
    size_t rows = (size_t)wk_config_rows(c), actions = rows * (size_t)c->action_size;
    memcpy(out, batch->actions, actions * sizeof *out);
    for (size_t i = 0; i < rows; i++)
        out[actions + i] = batch->first[i] ? 0.0f : 1.0f;
    if (c->tasks > 0 && batch->rewards) turn_rewards(c, batch->rewards, out + actions + rows);
}

static wk_status put_pictures(wk_learner *learner, const wk_learner_batch *batch, const void **list,
                              wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(&learner->config);
    wk_buffer *to = learner->incoming[learner->side];
    if (!batch->frames)
        return wk_queue_upload(learner->transfers, to, 0, batch->images, rows * WK_PIXELS, err);
    memcpy(list, batch->frames, rows * sizeof *list);
    wk_gather gather = {to, 0, WK_PIXELS, list, rows};
    return wk_queue_gather(learner->transfers, &gather, err);
}

wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    int side = learner->side;
    incoming at = incoming_of(&learner->config);
    const void **list = learner->outgoing[side];
    float *numbers = (float *)(void *)(list + wk_config_rows(&learner->config));
    // A batch that was staged here and never used may still be on its way.
    WK_TRY(wk_event_wait(learner->staged[side], err));
    WK_TRY(wk_queue_after(learner->transfers, learner->taken[side], err));
    fill_numbers(&learner->config, batch, numbers);
    WK_TRY(put_pictures(learner, batch, list, err));
    WK_TRY(wk_queue_upload(learner->transfers, learner->incoming[side], at.actions, numbers,
                           at.total - at.actions, err));
    return wk_queue_mark(learner->transfers, learner->staged[side], err);
}

// Copies a part of a batch on the device into an input of a program.
static wk_status feed(wk_queue *queue, const wk_unit *unit, wk_tensor x, const wk_buffer *from,
                      size_t offset, wk_error *err)
{
    wk_location to = wk_program_locate(unit->program, x);
    if (!to.buffer) return WK_OK;
    wk_copy copy = {to.buffer, from, to.offset, offset, to.size};
    return wk_queue_copy(queue, &copy, 1, err);
}

static wk_status put_learn(wk_learner *learner, const wk_buffer *batch, wk_error *err)
{
    wk_queue *queue = learner->work;
    const wk_unit *unit = &learner->learn;
    const wk_batch_tensors *inputs = &learner->learn_t.batch;
    incoming at = incoming_of(&learner->config);
    WK_TRY(feed(queue, unit, inputs->image, batch, 0, err));
    WK_TRY(feed(queue, unit, inputs->action, batch, at.actions, err));
    WK_TRY(feed(queue, unit, inputs->keep, batch, at.keep, err));
    WK_TRY(wk_program_put(unit->program, queue, err));
    return put_figures(queue, unit, &learner->learn_t.figures, learner->figures, err);
}

static wk_status put_tasks(wk_learner *learner, wk_queue *queue, const wk_buffer *batch,
                           wk_error *err)
{
    const wk_unit *unit = &learner->tasks;
    size_t rewards = incoming_of(&learner->config).rewards;
    WK_TRY(feed(queue, unit, learner->task_t.reward, batch, rewards, err));
    WK_TRY(wk_program_put(unit->program, queue, err));
    return put_figures(queue, unit, &learner->task_t.figures, task_figures(learner), err);
}

// Beside the part of the update that explores.
static wk_status put_tasks_beside(wk_learner *learner, const wk_buffer *batch, wk_error *err)
{
    WK_TRY(wk_queue_after(learner->task_work, learner->ready, err));
    WK_TRY(put_tasks(learner, learner->task_work, batch, err));
    WK_TRY(wk_queue_mark(learner->task_work, learner->tasks_done, err));
    return wk_queue_after(learner->work, learner->tasks_done, err);
}

// What was put so far is the update with the batch of this side.
static wk_status mark_done(wk_learner *learner, int side, wk_error *err)
{
    WK_TRY(wk_queue_mark(learner->work, learner->taken[side], err));
    return wk_queue_mark(learner->work, learner->done, err);
}

wk_status wk_learner_start(wk_learner *learner, wk_error *err)
{
    int side = learner->side;
    assert(!learner->running && learner->learn.program);
    WK_TRY(wk_mirrors_keep(learner, err));
    WK_TRY(wk_queue_after(learner->work, learner->staged[side], err));
    learner->running = true;
    WK_TRY(put_learn(learner, learner->incoming[side], err));
    learner->side = !side;
    return mark_done(learner, side, err);
}

wk_status wk_learner_start_tasks(wk_learner *learner, wk_error *err)
{
    int side = !learner->side;
    const wk_buffer *batch = learner->incoming[side];
    assert(learner->running);
    if (learner->config.tasks == 0) return WK_OK;
    WK_TRY(learner->tasks_beside ? put_tasks_beside(learner, batch, err)
                                 : put_tasks(learner, learner->work, batch, err));
    return mark_done(learner, side, err);
}

wk_status wk_learner_finish(wk_learner *learner, wk_learner_metrics *metrics, float *delta,
                            wk_error *err)
{
    const wk_learn_tensors *t = &learner->learn_t;
    learner->running = false;
    WK_TRY(wk_event_wait(learner->done, err));
    if (metrics) fill_metrics(learner, metrics);
    if (delta)
        memcpy(delta, wk_figures_at(&t->figures, learner->figures, t->delta),
               (size_t)wk_config_rows(&learner->config) * sizeof *delta);
    return WK_OK;
}

wk_status wk_learner_update(wk_learner *learner, const wk_learner_batch *batch,
                            wk_learner_metrics *metrics, float *delta, wk_error *err)
{
    WK_TRY(wk_learner_stage(learner, batch, err));
    WK_TRY(wk_learner_start(learner, err));
    return wk_learner_finish(learner, metrics, delta, err);
}

wk_status wk_learner_observe(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    wk_program *program = learner->observe.program;
    assert(program);
    WK_TRY(upload_batch(learner, program, &learner->observe_t, batch, err));
    return wk_program_run(program, err);
}

void wk_learner_read_tasks(const wk_learner *learner, wk_task_metrics *m)
{
    const wk_task_tensors *t = &learner->task_t;
    for (int k = 0; k < learner->config.tasks; k++) {
        wk_policy_metrics *p = &m->policy[k];
        const struct {
            wk_tensor x;
            float *to;
        } figures[] = {
            {t->reward_loss, &m->reward_loss[k]},
            {t->reward_norm, &m->reward_norm[k]},
            {t->actor_loss, &p->actor_loss},
            {t->critic_loss, &p->critic_loss},
            {t->actor_norm, &p->actor_norm},
            {t->critic_norm, &p->critic_norm},
            {t->value, &p->value},
            {t->entropy, &p->entropy},
        };
        for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
            *figures[i].to = wk_figures_at(&t->figures, task_figures(learner), figures[i].x)[k];
    }
}

wk_status wk_learner_update_tasks(wk_learner *learner, const wk_learner_batch *batch,
                                  wk_task_metrics *metrics, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_program *program = learner->tasks.program;
    if (c->tasks == 0)
        return wk_fail(err, WK_E_INPUT, "this learner was made without tasks; set tasks above 0");
    assert(program);
    turn_rewards(c, batch->rewards, learner->scratch);
    size_t numbers = (size_t)c->tasks * (size_t)wk_config_rows(c);
    WK_TRY(wk_program_upload(program, learner->task_t.reward, learner->scratch,
                             numbers * sizeof(float), err));
    WK_TRY(wk_program_run(program, err));
    if (!metrics) return WK_OK;
    const wk_figures *figures = &learner->task_t.figures;
    WK_TRY(wk_program_download(program, figures->joined, task_figures(learner),
                               figures->total * sizeof(float), err));
    wk_learner_read_tasks(learner, metrics);
    return WK_OK;
}

const char *wk_learner_metrics_fault(const wk_learner_metrics *m)
{
    const struct {
        const char *name;
        float value;
    } figures[] = {
        {"model_loss", m->model_loss},
        {"image_loss", m->image_loss},
        {"kl", m->kl},
        {"model_norm", m->model_norm},
        {"ensemble_loss", m->ensemble_loss},
        {"ensemble_norm", m->ensemble_norm},
        {"disagreement", m->disagreement},
        {"actor_loss", m->explore.actor_loss},
        {"actor_norm", m->explore.actor_norm},
        {"critic_loss", m->explore.critic_loss},
        {"critic_norm", m->explore.critic_norm},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!isfinite(figures[i].value)) return figures[i].name;
    return NULL;
}

const char *wk_task_metrics_fault(const wk_task_metrics *m, int tasks)
{
    for (int k = 0; k < tasks; k++) {
        const wk_policy_metrics *p = &m->policy[k];
        if (!isfinite(m->reward_loss[k]) || !isfinite(m->reward_norm[k])) return "reward_loss";
        if (!isfinite(p->actor_loss) || !isfinite(p->actor_norm)) return "actor_loss";
        if (!isfinite(p->critic_loss) || !isfinite(p->critic_norm)) return "critic_loss";
    }
    return NULL;
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
    const wk_unit *units[] = {&learner->learn, &learner->tasks, &learner->observe};
    for (int i = 0; i < 3; i++)
        if (units[i]->program) memory.planned += wk_program_get_stats(units[i]->program).owned;
    return memory;
}

wk_queue *wk_learner_transfers(wk_learner *learner)
{
    return learner->transfers;
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
    return wk_learner_save_labelled(learner, path, NULL, 0, err);
}

wk_status wk_learner_save_labelled(const wk_learner *learner, const char *path,
                                   const wk_weights_label *labels, size_t count, wk_error *err)
{
    return wk_state_save(learner->state, path, labels, count, err);
}

wk_status wk_learner_restore(wk_learner *learner, const char *path, wk_error *err)
{
    wk_safetensors *file;
    WK_TRY(wk_safetensors_open(path, &file, err));
    wk_status status = wk_state_load(learner->state, file, err);
    wk_safetensors_close(file);
    return status;
}
