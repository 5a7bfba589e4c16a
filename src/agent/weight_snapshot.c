// Snapshots of weights for graphs that run while an update is in flight. An update first copies, on
// the device, the weights those graphs read, and then changes the originals; the host never waits
// for that. Nobody reads the snapshot meanwhile: readers finish before the next update starts.
#include "agent/learner_parts.h"

#include <assert.h>

static size_t padded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool uses(const wk_scope *scope, const wk_weight *weight)
{
    for (size_t i = 0; i < wk_scope_count(scope); i++)
        if (wk_scope_param(scope, i) == weight) return true;
    return false;
}

// Adds the used weights of a network, contiguous; neighbours are one copy.
static bool list_copies(wk_weight_snapshot *m, const wk_scope *scope, size_t *total)
{
    const wk_params *params = wk_scope_params(scope);
    wk_buffer *from = wk_params_buffer(params);
    for (size_t i = 0; i < wk_params_count(params); i++) {
        const wk_weight *weight = wk_params_at(params, i);
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
    const wk_buffer *from = wk_params_buffer(wk_scope_params(scope));
    for (size_t i = 0; i < wk_scope_count(scope); i++)
        wk_graph_bind(compiled->graph, wk_scope_tensors(scope)[i], m->buffer,
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
