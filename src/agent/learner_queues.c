// Updates as work for the device: batches on their way there, and the programs that are put into
// queues for them, each behind what it needs.
#include "agent/learner_parts.h"

#include <assert.h>
#include <string.h>

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

wk_status wk_learner_make_queues(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_backend *backend = learner->backend;
    WK_TRY(wk_queue_create(backend, false, &learner->work, err));
    WK_TRY(wk_queue_create(backend, false, &learner->model_work, err));
    WK_TRY(wk_queue_create(backend, false, &learner->task_work, err));
    WK_TRY(wk_queue_create(backend, false, &learner->transfers, err));
    WK_TRY(wk_event_create(backend, &learner->done, err));
    WK_TRY(wk_event_create(backend, &learner->modelled, err));
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

float *wk_learner_task_figures(const wk_learner *learner)
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

// Copies a part of a batch on the device into an input of a program.
static wk_status feed(wk_queue *queue, const wk_unit *unit, wk_tensor x, const wk_buffer *from,
                      size_t offset, wk_error *err)
{
    wk_location to = wk_program_locate(unit->program, x);
    if (!to.buffer) return WK_OK;
    wk_copy copy = {to.buffer, from, to.offset, offset, to.size};
    return wk_queue_copy(queue, &copy, 1, err);
}

// The world model's graph on the batch of this side: where it runs ahead, beside what the update
// before has still to do when its model's step is made.
static wk_status put_model(wk_learner *learner, wk_error *err)
{
    int side = learner->side;
    wk_queue *queue = learner->ahead ? learner->model_work : learner->work;
    const wk_unit *unit = &learner->model;
    const wk_buffer *batch = learner->incoming[side];
    const wk_batch_tensors *inputs = &learner->model_t.batch;
    incoming at = incoming_of(&learner->config);
    WK_TRY(wk_queue_after(queue, learner->staged[side], err));
    WK_TRY(feed(queue, unit, inputs->image, batch, 0, err));
    WK_TRY(feed(queue, unit, inputs->action, batch, at.actions, err));
    WK_TRY(feed(queue, unit, inputs->keep, batch, at.keep, err));
    WK_TRY(wk_queue_after(queue, learner->ready, err));
    WK_TRY(wk_program_put(unit->program, queue, err));
    WK_TRY(wk_queue_mark(queue, learner->modelled, err));
    learner->begun = true;
    return WK_OK;
}

// Waits, because what reads weights may also be making the copies of them that others use.
wk_status wk_learner_forget(wk_learner *learner, wk_error *err)
{
    learner->begun = false;
    return wk_queue_drain(learner->model_work, err);
}

wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    int side = learner->side;
    incoming at = incoming_of(&learner->config);
    const void **list = learner->outgoing[side];
    float *numbers = (float *)(void *)(list + wk_config_rows(&learner->config));
    // A batch that was staged here and never used may still be on its way. What was begun with it
    // may come to read this one; nobody uses that.
    learner->begun = false;
    WK_TRY(wk_event_wait(learner->staged[side], err));
    WK_TRY(wk_queue_after(learner->transfers, learner->taken[side], err));
    fill_numbers(&learner->config, batch, numbers);
    WK_TRY(put_pictures(learner, batch, list, err));
    WK_TRY(wk_queue_upload(learner->transfers, learner->incoming[side], at.actions, numbers,
                           at.total - at.actions, err));
    WK_TRY(wk_queue_mark(learner->transfers, learner->staged[side], err));
    return learner->ahead ? put_model(learner, err) : WK_OK;
}

static wk_status put_learn(wk_learner *learner, const wk_buffer *batch, wk_error *err)
{
    wk_queue *queue = learner->work;
    const wk_unit *unit = &learner->learn;
    size_t actions = incoming_of(&learner->config).actions;
    WK_TRY(feed(queue, unit, learner->learn_t.action, batch, actions, err));
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
    return put_figures(queue, unit, &learner->task_t.figures, wk_learner_task_figures(learner),
                       err);
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
    if (!learner->begun) WK_TRY(put_model(learner, err));
    learner->begun = false;
    WK_TRY(wk_queue_after(learner->work, learner->modelled, err));
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
    if (metrics) wk_learner_fill_metrics(learner, metrics);
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
    WK_TRY(wk_program_download(program, figures->joined, wk_learner_task_figures(learner),
                               figures->total * sizeof(float), err));
    wk_learner_read_tasks(learner, metrics);
    return WK_OK;
}

wk_queue *wk_learner_transfers(wk_learner *learner)
{
    return learner->transfers;
}
