// Enqueues updates: copies of batches to the device, and the programs that use them, each after the
// events it depends on. Copies are made for each member of a population, programs run for all.
//
// Before them, snapshots of weights for graphs that run while an update is in flight. An update
// first copies, on the device, the weights those graphs read, and then changes the originals; the
// host never waits for that. Nobody reads the snapshot meanwhile: readers finish before the next
// update.
#include "agent/learner_parts.h"
#include "base/observation.h"
#include <assert.h>
#include <string.h>

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool uses(const wk_scope *scope, const wk_weight *weight)
{
    for (size_t i = 0; i < scope->tensors.count; i++)
        if (wk_scope_param(scope, i) == weight) return true;
    return false;
}

// Adds the used weights of a network, contiguous; neighbours are one copy.
static bool list_copies(wk_weight_snapshot *m, const wk_scope *scope, size_t *total)
{
    const wk_params *params = scope->params;
    wk_buffer *from = params->buffer;
    for (size_t i = 0; i < params->weights.count; i++) {
        const wk_weight *weight = &params->weights.items[i];
        if (!uses(scope, weight)) continue;
        size_t size = padded(weight->count * sizeof(float));
        wk_copy *last = m->copies.count ? &m->copies.items[m->copies.count - 1] : NULL;
        if (last && last->from == from && last->from_offset + last->size == weight->offset) {
            last->size += size;
        } else {
            wk_copy copy = {NULL, from, *total, weight->offset, size};
            if (!wk_array_push(&m->copies, copy)) return false;
        }
        *total += size;
    }
    return true;
}

static size_t place_of(const wk_weight_snapshot *m, const wk_buffer *from, size_t offset)
{
    for (size_t i = 0;; i++) {
        const wk_copy *c = &m->copies.items[i];
        if (c->from != from || offset < c->from_offset || offset >= c->from_offset + c->size)
            continue;
        return c->to_offset + (offset - c->from_offset);
    }
}

static void bind(const wk_weight_snapshot *m, const wk_compiled_graph *compiled,
                 const wk_scope *scope)
{
    const wk_buffer *from = scope->params->buffer;
    for (size_t i = 0; i < scope->tensors.count; i++)
        wk_graph_bind(compiled->graph, scope->tensors.items[i], m->buffer,
                      place_of(m, from, wk_scope_param(scope, i)->offset));
}

wk_status wk_weight_snapshot_open(wk_weight_snapshot *m, wk_learner *learner,
                                  wk_compiled_graph *compiled, wk_error *err)
{
    assert(!wk_learner_is_in_flight(learner));
    *m = (wk_weight_snapshot){.learner = learner};
    if (!wk_backend_is_async(learner->backend)) return WK_OK;
    size_t total = 0;
    for (int id = 0; id < WK_NETWORKS; id++)
        if (compiled->scope[id] && !list_copies(m, compiled->scope[id], &total))
            return wk_fail(err, WK_E_MEMORY, "no memory to copy weights");
    WK_TRY(wk_event_create(learner->backend, &m->ready, err));
    WK_TRY(wk_buffer_create(learner->backend, total, &m->buffer, err));
    for (size_t i = 0; i < m->copies.count; i++)
        m->copies.items[i].to = m->buffer;
    for (int id = 0; id < WK_NETWORKS; id++)
        if (compiled->scope[id]) bind(m, compiled, compiled->scope[id]);
    m->next = learner->snapshots;
    learner->snapshots = m;
    return WK_OK;
}

void wk_weight_snapshot_close(wk_weight_snapshot *m)
{
    for (wk_weight_snapshot **at = m->buffer ? &m->learner->snapshots : NULL; at && *at;
         at = &(*at)->next) {
        if (*at != m) continue;
        *at = m->next;
        break;
    }
    wk_buffer_destroy(m->buffer);
    wk_event_destroy(m->ready);
    wk_array_free(&m->copies);
    *m = (wk_weight_snapshot){0};
}

wk_status wk_weight_snapshot_read(const wk_weight_snapshot *m, wk_queue *queue, wk_error *err)
{
    if (!m->buffer) return WK_OK;
    if (wk_learner_is_in_flight(m->learner)) return wk_queue_wait_event(queue, m->ready, err);
    return wk_queue_copy(queue, m->copies.items, m->copies.count, err);
}

wk_status wk_weight_snapshots_take(const wk_learner *learner, wk_error *err)
{
    for (int r = 0; r < learner->population; r++) {
        for (wk_weight_snapshot *m = learner->members[r]->snapshots; m; m = m->next) {
            WK_TRY(wk_queue_copy(learner->update_queue, m->copies.items, m->copies.count, err));
            WK_TRY(wk_queue_record_event(learner->update_queue, m->ready, err));
        }
    }
    return WK_OK;
}

// Offsets of a batch's parts in its device buffer, in bytes.
typedef struct batch_layout {
    size_t actions, not_first, continues, rewards, vectors, idle, total; // images come first
} batch_layout;

static batch_layout batch_layout_of(const wk_learner_config *c)
{
    size_t rows = (size_t)wk_config_rows(c), number = rows * sizeof(float);
    batch_layout at = {.actions = rows * wk_observation_image_bytes(c->observation)};
    at.not_first = at.actions + number * (size_t)c->action_size;
    at.continues = at.not_first + number;
    at.rewards = at.continues + (c->discount_head ? number : 0);
    at.vectors = at.rewards + number * (size_t)c->tasks;
    at.idle = (at.vectors + number * (size_t)c->observation.vector + 7) / 8 * 8;
    at.total = at.idle + sizeof(uint64_t);
    return at;
}

wk_status wk_learner_create_queues(wk_learner *learner, wk_error *err)
{
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
    }
    return WK_OK;
}

wk_status wk_learner_create_batches(wk_learner *learner, wk_error *err)
{
    batch_layout at = batch_layout_of(&learner->config);
    // The device address of each frame, then the numbers as on the device.
    size_t pinned =
        (size_t)wk_config_rows(&learner->config) * sizeof(void *) + at.total - at.actions;
    for (int i = 0; i < 2; i++) {
        WK_TRY(wk_pinned_create(learner->backend, pinned, &learner->pinned_batches[i], err));
        WK_TRY(wk_buffer_create(learner->backend, at.total, &learner->device_batches[i], err));
    }
    return WK_OK;
}

// 1 where a row may be followed by another (where `flags` is NULL everywhere), else 0.
static void fill_unless(const uint8_t *flags, size_t rows, float *out)
{
    for (size_t i = 0; i < rows; i++)
        out[i] = flags && flags[i] ? 0.0f : 1.0f;
}

wk_status wk_batch_upload(wk_program *program, const wk_learner_config *c,
                          const wk_batch_tensors *inputs, const wk_learner_batch *batch,
                          float *scratch, wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(c), row = rows * sizeof(float);
    if (wk_tensor_exists(inputs->image))
        WK_TRY(wk_program_upload(program, inputs->image, batch->images, rows * WK_PIXELS, err));
    if (wk_tensor_exists(inputs->vector))
        WK_TRY(wk_program_upload(program, inputs->vector, batch->vectors,
                                 row * (size_t)c->observation.vector, err));
    WK_TRY(wk_program_upload(program, inputs->action, batch->actions, row * (size_t)c->action_size,
                             err));
    fill_unless(batch->first, rows, scratch);
    WK_TRY(wk_program_upload(program, inputs->not_first, scratch, row, err));
    if (!wk_tensor_exists(inputs->continues)) return WK_OK;
    fill_unless(batch->ends, rows, scratch);
    return wk_program_upload(program, inputs->continues, scratch, row, err);
}

float *wk_learner_task_scalars(const wk_learner *learner)
{
    return learner->scalars + learner->update_t.scalars.total;
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
    size_t numbers = rows * (size_t)c->observation.vector;
    if (numbers > 0) memcpy(out + rows * (size_t)c->tasks, batch->vectors, numbers * sizeof *out);
}

// What is enqueued for the batches of all members.
typedef struct staged {
    size_t gather_count, upload_count;
    wk_gather gathers[WK_POPULATION_MAX];
    wk_upload uploads[WK_POPULATION_MAX];
} staged;

// What a program reads of a batch on the device: for each input, where it begins in the batch.
enum { FEEDS_MAX = 5 };
typedef struct feeds {
    int count;
    struct {
        wk_tensor x;
        size_t offset;
    } item[FEEDS_MAX];
} feeds;

static void add_feed(feeds *f, wk_tensor x, size_t offset)
{
    if (!wk_tensor_exists(x)) return;
    assert(f->count < FEEDS_MAX);
    f->item[f->count].x = x;
    f->item[f->count++].offset = offset;
}

// Enqueues the copies of all members' batches into the inputs of graph `graph` (by
// wk_learner_compiled_graph). Members have the same tensors.
static wk_status feed(wk_queue *queue, const wk_learner *leader, int graph, int slot,
                      const feeds *f, wk_error *err)
{
    wk_copy copies[FEEDS_MAX * WK_POPULATION_MAX];
    size_t count = 0;
    for (int r = 0; r < leader->population; r++) {
        const wk_learner *member = leader->members[r];
        const wk_program *program = wk_learner_compiled_graph(member, graph)->program;
        for (int i = 0; i < f->count; i++) {
            wk_location to = wk_program_locate(program, f->item[i].x);
            if (to.buffer)
                copies[count++] = (wk_copy){to.buffer, member->device_batches[slot], to.offset,
                                            f->item[i].offset, to.size};
        }
    }
    return wk_queue_copy(queue, copies, count, err);
}

// Enqueues the world model's graph on the batches of this slot. Prefetched, it overlaps what the
// previous update still has to do after its model's step.
static wk_status enqueue_model(wk_learner *learner, wk_error *err)
{
    int slot = learner->next_slot;
    wk_queue *queue = learner->prefetches ? learner->model_queue : learner->update_queue;
    const wk_batch_tensors *inputs = &learner->model_t.batch;
    batch_layout at = batch_layout_of(&learner->config);
    feeds f = {0};
    add_feed(&f, inputs->image, 0);
    add_feed(&f, inputs->vector, at.vectors);
    add_feed(&f, inputs->action, at.actions);
    add_feed(&f, inputs->not_first, at.not_first);
    add_feed(&f, inputs->continues, at.continues);
    WK_TRY(wk_queue_wait_event(queue, learner->batch_ready[slot], err));
    WK_TRY(feed(queue, learner, WK_GRAPH_MODEL, slot, &f, err));
    WK_TRY(wk_queue_wait_event(queue, learner->weights_ready, err));
    WK_TRY(wk_program_enqueue(learner->model.program, queue, err));
    WK_TRY(wk_queue_record_event(queue, learner->model_done, err));
    learner->prefetched = true;
    return WK_OK;
}

// Waits, because a program that reads weights may also be writing the bf16 copies that others use.
wk_status wk_learner_discard_prefetch(wk_learner *learner, wk_error *err)
{
    learner->leader->prefetched = false;
    return wk_queue_drain(learner->leader->model_queue, err);
}

// Prepares the transfer of a member's batch to the device.
static wk_status stage_member(wk_queue *queue, const wk_learner *learner, int slot,
                              const wk_learner_batch *batch, staged *s, wk_error *err)
{
    batch_layout at = batch_layout_of(&learner->config);
    wk_buffer *to = learner->device_batches[slot];
    const void **list = learner->pinned_batches[slot];
    char *numbers = (char *)(list + wk_config_rows(&learner->config));
    uint64_t idle = !batch->actions;
    assert(!idle || learner->population > 1);
    memcpy(numbers + (at.idle - at.actions), &idle, sizeof idle);
    if (!idle) {
        size_t rows = (size_t)wk_config_rows(&learner->config);
        fill_numbers(&learner->config, batch, (float *)(void *)numbers);
        if (batch->frames && !learner->config.observation.no_image) {
            memcpy(list, batch->frames, rows * sizeof *list);
            s->gathers[s->gather_count++] = (wk_gather){to, 0, WK_PIXELS, list, rows};
        } else if (!learner->config.observation.no_image) {
            WK_TRY(wk_queue_upload(queue, to, 0, batch->images, rows * WK_PIXELS, err));
        }
    }
    s->uploads[s->upload_count++] = (wk_upload){to, at.actions, at.total - at.actions, numbers};
    return WK_OK;
}

wk_status wk_learner_stage(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    int slot = learner->next_slot;
    wk_queue *queue = learner->transfer_queue;
    // A batch that was staged here and never used may still be in flight. Its prefetched world
    // model may end up reading this batch; the result is discarded.
    learner->prefetched = false;
    WK_TRY(wk_event_wait(learner->batch_ready[slot], err));
    WK_TRY(wk_queue_wait_event(queue, learner->batch_consumed[slot], err));
    staged s = {0};
    for (int r = 0; r < learner->population; r++)
        WK_TRY(stage_member(queue, learner->members[r], slot, &batch[r], &s, err));
    WK_TRY(wk_queue_gather(queue, s.gathers, s.gather_count, err));
    WK_TRY(wk_queue_upload_pinned(queue, s.uploads, s.upload_count, err));
    WK_TRY(wk_queue_record_event(queue, learner->batch_ready[slot], err));
    return learner->prefetches ? enqueue_model(learner, err) : WK_OK;
}

// Feeds a graph the batches of this slot, runs it, and brings every member's scalars to the host.
static wk_status enqueue_graph(wk_learner *learner, wk_queue *queue, int graph, int slot,
                               const feeds *f, wk_error *err)
{
    WK_TRY(feed(queue, learner, graph, slot, f, err));
    WK_TRY(wk_program_enqueue(wk_learner_compiled_graph(learner, graph)->program, queue, err));
    for (int r = 0; r < learner->population; r++) {
        wk_learner *member = learner->members[r];
        bool tasks = graph == WK_GRAPH_TASKS;
        wk_tensor joined = tasks ? member->task_t.scalars.joined : member->update_t.scalars.joined;
        wk_location at =
            wk_program_locate(wk_learner_compiled_graph(member, graph)->program, joined);
        WK_TRY(wk_queue_download(queue, at.buffer, at.offset,
                                 tasks ? wk_learner_task_scalars(member) : member->scalars, at.size,
                                 err));
    }
    return WK_OK;
}

static wk_status enqueue_tasks(wk_learner *learner, wk_queue *queue, int slot, wk_error *err)
{
    batch_layout at = batch_layout_of(&learner->config);
    feeds f = {0};
    add_feed(&f, learner->task_t.reward, at.rewards);
    add_feed(&f, learner->tasks_idle, at.idle);
    return enqueue_graph(learner, queue, WK_GRAPH_TASKS, slot, &f, err);
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
    assert(!learner->in_flight && learner->update.program);
    WK_TRY(wk_weight_snapshots_take(learner, err));
    if (!learner->prefetched) WK_TRY(enqueue_model(learner, err));
    learner->prefetched = false;
    WK_TRY(wk_queue_wait_event(learner->update_queue, learner->model_done, err));
    learner->in_flight = true;
    batch_layout at = batch_layout_of(&learner->config);
    feeds f = {0};
    add_feed(&f, learner->update_t.action, at.actions);
    add_feed(&f, learner->update_idle, at.idle);
    WK_TRY(enqueue_graph(learner, learner->update_queue, WK_GRAPH_UPDATE, slot, &f, err));
    learner->next_slot = !slot;
    return record_done(learner, slot, err);
}

wk_status wk_learner_start_tasks(wk_learner *learner, wk_error *err)
{
    int slot = !learner->next_slot;
    assert(learner->in_flight);
    if (learner->config.tasks == 0) return WK_OK;
    if (learner->tasks_async) {
        // Overlaps the exploration part of the update.
        WK_TRY(wk_queue_wait_event(learner->task_queue, learner->weights_ready, err));
        WK_TRY(enqueue_tasks(learner, learner->task_queue, slot, err));
        WK_TRY(wk_queue_record_event(learner->task_queue, learner->tasks_done, err));
        WK_TRY(wk_queue_wait_event(learner->update_queue, learner->tasks_done, err));
    } else {
        WK_TRY(enqueue_tasks(learner, learner->update_queue, slot, err));
    }
    return record_done(learner, slot, err);
}

wk_status wk_learner_finish(wk_learner *learner, wk_learner_metrics *metrics, float *delta,
                            wk_error *err)
{
    const wk_update_tensors *t = &learner->update_t;
    size_t rows = (size_t)wk_config_rows(&learner->config);
    learner->in_flight = false;
    WK_TRY(wk_event_wait(learner->update_done, err));
    for (size_t r = 0; r < (size_t)learner->population; r++) {
        const wk_learner *member = learner->members[r];
        if (metrics) wk_learner_fill_metrics(member, &metrics[r]);
        if (delta)
            memcpy(delta + r * rows, wk_scalars_at(&t->scalars, member->scalars, t->delta),
                   rows * sizeof *delta);
    }
    return WK_OK;
}

wk_status wk_learner_observe(wk_learner *learner, const wk_learner_batch *batch, wk_error *err)
{
    wk_program *program = learner->observe.program;
    assert(program && learner->population == 1);
    WK_TRY(wk_batch_upload(program, &learner->config, &learner->observe_t, batch,
                           learner->host_numbers, err));
    return wk_program_run(program, err);
}

wk_status wk_learner_update_tasks(wk_learner *learner, const wk_learner_batch *batch,
                                  wk_task_metrics *metrics, wk_error *err)
{
    const wk_learner_config *c = &learner->config;
    wk_program *program = learner->tasks.program;
    if (c->tasks == 0)
        return wk_fail(err, WK_E_INPUT, "this learner was made without tasks; set tasks above 0");
    assert(program && learner->population == 1);
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
    return learner->leader->transfer_queue;
}
