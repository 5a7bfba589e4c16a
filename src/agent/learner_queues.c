// Enqueues updates: copies of batches to the device, and the programs that use them, each after the
// events it depends on.
#include "agent/learner_parts.h"

#include <assert.h>
#include <string.h>

// Offsets of a batch's parts in its device buffer, in bytes.
typedef struct batch_layout {
    size_t actions, keep, continues, rewards, total; // images come first
} batch_layout;

static batch_layout batch_layout_of(const wk_learner_config *c)
{
    size_t rows = (size_t)wk_config_rows(c), number = rows * sizeof(float);
    batch_layout at = {.actions = rows * WK_PIXELS};
    at.keep = at.actions + number * (size_t)c->action_size;
    at.continues = at.keep + number;
    at.rewards = at.continues + (c->discount_head ? number : 0);
    at.total = at.rewards + number * (size_t)c->tasks;
    return at;
}

// Size of a batch's pinned memory: the device address of each frame, then the numbers as on the
// device.
static size_t pinned_batch_bytes(const wk_learner_config *c)
{
    batch_layout at = batch_layout_of(c);
    return (size_t)wk_config_rows(c) * sizeof(void *) + at.total - at.actions;
}

wk_status wk_learner_create_queues(wk_learner *learner, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_backend *backend = learner->backend;
    WK_TRY(wk_queue_create(backend, false, &learner->update_queue, err));
    WK_TRY(wk_queue_create(backend, false, &learner->model_queue, err));
    WK_TRY(wk_queue_create(backend, false, &learner->task_queue, err));
    WK_TRY(wk_queue_create(backend, false, &learner->transfer_queue, err));
    WK_TRY(wk_event_create(backend, &learner->update_done, err));
    WK_TRY(wk_event_create(backend, &learner->model_done, err));
    WK_TRY(wk_event_create(backend, &learner->weights_ready, err));
    WK_TRY(wk_event_create(backend, &learner->tasks_done, err));
    for (int i = 0; i < 2; i++) {
        WK_TRY(wk_event_create(backend, &learner->batch_ready[i], err));
        WK_TRY(wk_event_create(backend, &learner->batch_consumed[i], err));
        WK_TRY(wk_pinned_create(backend, pinned_batch_bytes(c), &learner->pinned_batches[i], err));
        WK_TRY(
            wk_buffer_create(backend, batch_layout_of(c).total, &learner->device_batches[i], err));
    }
    return WK_OK;
}

// 1 where a row may be followed by another (where `flags` is NULL everywhere), else 0.
static void fill_unless(const uint8_t *flags, size_t rows, float *out)
{
    for (size_t i = 0; i < rows; i++)
        out[i] = flags && flags[i] ? 0.0f : 1.0f;
}

static wk_status upload_batch(wk_learner *learner, wk_program *program,
                              const wk_batch_tensors *inputs, const wk_learner_batch *batch,
                              wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(&learner->config);
    WK_TRY(wk_program_upload(program, inputs->image, batch->images, rows * WK_PIXELS, err));
    WK_TRY(wk_program_upload(program, inputs->action, batch->actions,
                             rows * (size_t)learner->config.action_size * sizeof(float), err));
    fill_unless(batch->first, rows, learner->host_numbers);
    WK_TRY(
        wk_program_upload(program, inputs->keep, learner->host_numbers, rows * sizeof(float), err));
    if (!learner->config.discount_head) return WK_OK;
    fill_unless(batch->ends, rows, learner->host_numbers);
    return wk_program_upload(program, inputs->continues, learner->host_numbers,
                             rows * sizeof(float), err);
}

float *wk_learner_task_scalars(const wk_learner *learner)
{
    return learner->scalars + learner->learn_t.scalars.total;
}

// Enqueues the download of a program's scalars.
static wk_status download_scalars(wk_queue *queue, const wk_compiled_graph *compiled,
                                  const wk_scalars *scalars, float *to, wk_error *err)
{
    wk_location at = wk_program_locate(compiled->program, scalars->joined);
    return wk_queue_download(queue, at.buffer, at.offset, to, at.size, err);
}

// Rewards [rows,tasks] as [tasks,rows].
static void transpose_rewards(const wk_learner_config *c, const float *rewards, float *out)
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
    out += actions;
    fill_unless(batch->first, rows, out);
    out += rows;
    if (c->discount_head) {
        fill_unless(batch->ends, rows, out);
        out += rows;
    }
    if (c->tasks > 0 && batch->rewards) transpose_rewards(c, batch->rewards, out);
}

static wk_status enqueue_frames(wk_learner *learner, const wk_learner_batch *batch,
                                const void **list, wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(&learner->config);
    wk_buffer *to = learner->device_batches[learner->next_slot];
    if (!batch->frames)
        return wk_queue_upload(learner->transfer_queue, to, 0, batch->images, rows * WK_PIXELS,
                               err);
    memcpy(list, batch->frames, rows * sizeof *list);
    wk_gather gather = {to, 0, WK_PIXELS, list, rows};
    return wk_queue_gather(learner->transfer_queue, &gather, err);
}

// Copies a part of a batch on the device into an input of a program.
static wk_status feed(wk_queue *queue, const wk_compiled_graph *compiled, wk_tensor x,
                      const wk_buffer *from, size_t offset, wk_error *err)
{
    wk_location to = wk_program_locate(compiled->program, x);
    if (!to.buffer) return WK_OK;
    wk_copy copy = {to.buffer, from, to.offset, offset, to.size};
    return wk_queue_copy(queue, &copy, 1, err);
}

// Enqueues the world model's graph on the batch of this slot. Prefetched, it overlaps what the
// previous update still has to do after its model's step.
static wk_status enqueue_model(wk_learner *learner, wk_error *err)
{
    int slot = learner->next_slot;
    wk_queue *queue = learner->prefetches ? learner->model_queue : learner->update_queue;
    const wk_compiled_graph *compiled = &learner->model;
    const wk_buffer *batch = learner->device_batches[slot];
    const wk_batch_tensors *inputs = &learner->model_t.batch;
    batch_layout at = batch_layout_of(&learner->config);
    WK_TRY(wk_queue_wait_event(queue, learner->batch_ready[slot], err));
    WK_TRY(feed(queue, compiled, inputs->image, batch, 0, err));
    WK_TRY(feed(queue, compiled, inputs->action, batch, at.actions, err));
    WK_TRY(feed(queue, compiled, inputs->keep, batch, at.keep, err));
    if (learner->config.discount_head)
        WK_TRY(feed(queue, compiled, inputs->continues, batch, at.continues, err));
    WK_TRY(wk_queue_wait_event(queue, learner->weights_ready, err));
    WK_TRY(wk_program_enqueue(compiled->program, queue, err));
    WK_TRY(wk_queue_record_event(queue, learner->model_done, err));
    learner->prefetched = true;
    return WK_OK;
}

// Waits, because a program that reads weights may also be writing the bf16 copies that others use.
wk_status wk_learner_discard_prefetch(wk_learner *learner, wk_error *err)
{
    learner->prefetched = false;
    return wk_queue_drain(learner->model_queue, err);
}

wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    int slot = learner->next_slot;
    batch_layout at = batch_layout_of(&learner->config);
    const void **list = learner->pinned_batches[slot];
    float *numbers = (float *)(void *)(list + wk_config_rows(&learner->config));
    // A batch that was staged here and never used may still be in flight. Its prefetched world
    // model may end up reading this batch; the result is discarded.
    learner->prefetched = false;
    WK_TRY(wk_event_wait(learner->batch_ready[slot], err));
    WK_TRY(wk_queue_wait_event(learner->transfer_queue, learner->batch_consumed[slot], err));
    fill_numbers(&learner->config, batch, numbers);
    WK_TRY(enqueue_frames(learner, batch, list, err));
    WK_TRY(wk_queue_upload(learner->transfer_queue, learner->device_batches[slot], at.actions,
                           numbers, at.total - at.actions, err));
    WK_TRY(wk_queue_record_event(learner->transfer_queue, learner->batch_ready[slot], err));
    return learner->prefetches ? enqueue_model(learner, err) : WK_OK;
}

static wk_status enqueue_learn(wk_learner *learner, const wk_buffer *batch, wk_error *err)
{
    wk_queue *queue = learner->update_queue;
    const wk_compiled_graph *compiled = &learner->learn;
    size_t actions = batch_layout_of(&learner->config).actions;
    WK_TRY(feed(queue, compiled, learner->learn_t.action, batch, actions, err));
    WK_TRY(wk_program_enqueue(compiled->program, queue, err));
    return download_scalars(queue, compiled, &learner->learn_t.scalars, learner->scalars, err);
}

static wk_status enqueue_tasks(wk_learner *learner, wk_queue *queue, const wk_buffer *batch,
                               wk_error *err)
{
    const wk_compiled_graph *compiled = &learner->tasks;
    size_t rewards = batch_layout_of(&learner->config).rewards;
    WK_TRY(feed(queue, compiled, learner->task_t.reward, batch, rewards, err));
    WK_TRY(wk_program_enqueue(compiled->program, queue, err));
    return download_scalars(queue, compiled, &learner->task_t.scalars,
                            wk_learner_task_scalars(learner), err);
}

// Overlaps the exploration part of the update.
static wk_status enqueue_tasks_async(wk_learner *learner, const wk_buffer *batch, wk_error *err)
{
    WK_TRY(wk_queue_wait_event(learner->task_queue, learner->weights_ready, err));
    WK_TRY(enqueue_tasks(learner, learner->task_queue, batch, err));
    WK_TRY(wk_queue_record_event(learner->task_queue, learner->tasks_done, err));
    return wk_queue_wait_event(learner->update_queue, learner->tasks_done, err);
}

// Everything enqueued so far is the update with the batch of this slot.
static wk_status record_done(wk_learner *learner, int slot, wk_error *err)
{
    WK_TRY(wk_queue_record_event(learner->update_queue, learner->batch_consumed[slot], err));
    return wk_queue_record_event(learner->update_queue, learner->update_done, err);
}

wk_status wk_learner_start(wk_learner *learner, wk_error *err)
{
    int slot = learner->next_slot;
    assert(!learner->in_flight && learner->learn.program);
    WK_TRY(wk_weight_snapshots_take(learner, err));
    if (!learner->prefetched) WK_TRY(enqueue_model(learner, err));
    learner->prefetched = false;
    WK_TRY(wk_queue_wait_event(learner->update_queue, learner->model_done, err));
    learner->in_flight = true;
    WK_TRY(enqueue_learn(learner, learner->device_batches[slot], err));
    learner->next_slot = !slot;
    return record_done(learner, slot, err);
}

wk_status wk_learner_start_tasks(wk_learner *learner, wk_error *err)
{
    int slot = !learner->next_slot;
    const wk_buffer *batch = learner->device_batches[slot];
    assert(learner->in_flight);
    if (learner->config.tasks == 0) return WK_OK;
    WK_TRY(learner->tasks_async ? enqueue_tasks_async(learner, batch, err)
                                : enqueue_tasks(learner, learner->update_queue, batch, err));
    return record_done(learner, slot, err);
}

wk_status wk_learner_finish(wk_learner *learner, wk_learner_metrics *metrics, float *delta,
                            wk_error *err)
{
    const wk_learn_tensors *t = &learner->learn_t;
    learner->in_flight = false;
    WK_TRY(wk_event_wait(learner->update_done, err));
    if (metrics) wk_learner_fill_metrics(learner, metrics);
    if (delta)
        memcpy(delta, wk_scalars_at(&t->scalars, learner->scalars, t->delta),
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
    transpose_rewards(c, batch->rewards, learner->host_numbers);
    size_t numbers = (size_t)c->tasks * (size_t)wk_config_rows(c);
    WK_TRY(wk_program_upload(program, learner->task_t.reward, learner->host_numbers,
                             numbers * sizeof(float), err));
    WK_TRY(wk_program_run(program, err));
    if (!metrics) return WK_OK;
    const wk_scalars *scalars = &learner->task_t.scalars;
    WK_TRY(wk_program_download(program, scalars->joined, wk_learner_task_scalars(learner),
                               scalars->total * sizeof(float), err));
    wk_learner_read_tasks(learner, metrics);
    return WK_OK;
}

wk_queue *wk_learner_transfer_queue(wk_learner *learner)
{
    return learner->transfer_queue;
}
