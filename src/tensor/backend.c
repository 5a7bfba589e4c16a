#include "tensor/backend.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void wk_backend_destroy(wk_backend *backend)
{
    if (backend) backend->vtable->destroy(backend);
}

const char *wk_backend_name(const wk_backend *backend)
{
    return backend->vtable->name;
}

size_t wk_backend_allocated(const wk_backend *backend)
{
    return backend->vtable->allocated ? backend->vtable->allocated(backend) : 0;
}

wk_memory_info wk_backend_memory_info(const wk_backend *backend)
{
    return backend->vtable->memory_info ? backend->vtable->memory_info(backend)
                                        : (wk_memory_info){0};
}

wk_status wk_buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    return backend->vtable->buffer_create(backend, size, out, err);
}

void wk_buffer_destroy(wk_buffer *buffer)
{
    if (buffer) buffer->backend->vtable->buffer_destroy(buffer);
}

wk_status wk_buffer_upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                           wk_error *err)
{
    assert(offset <= buffer->size && size <= buffer->size - offset);
    return buffer->backend->vtable->upload(buffer, offset, bytes, size, err);
}

wk_status wk_buffer_download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                             wk_error *err)
{
    assert(offset <= buffer->size && size <= buffer->size - offset);
    return buffer->backend->vtable->download(buffer, offset, bytes, size, err);
}

bool wk_backend_is_async(const wk_backend *backend)
{
    return backend->vtable->queue != NULL;
}

wk_status wk_queue_create(wk_backend *backend, bool high_priority, wk_queue **out, wk_error *err)
{
    if (backend->vtable->queue)
        return backend->vtable->queue->create(backend, high_priority, out, err);
    wk_queue *queue = malloc(sizeof *queue);
    if (!queue) return wk_fail(err, WK_E_MEMORY, "no memory for a queue");
    *queue = (wk_queue){backend};
    *out = queue;
    return WK_OK;
}

void wk_queue_destroy(wk_queue *queue)
{
    if (!queue) return;
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    if (vtable)
        vtable->destroy(queue);
    else
        free(queue);
}

wk_status wk_queue_upload(wk_queue *queue, wk_buffer *buffer, size_t offset, const void *bytes,
                          size_t size, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    assert(offset <= buffer->size && size <= buffer->size - offset);
    if (!vtable) return wk_buffer_upload(buffer, offset, bytes, size, err);
    return vtable->upload(queue, buffer, offset, bytes, size, err);
}

wk_status wk_queue_download(wk_queue *queue, const wk_buffer *buffer, size_t offset, void *bytes,
                            size_t size, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    assert(offset <= buffer->size && size <= buffer->size - offset);
    if (!vtable) return wk_buffer_download(buffer, offset, bytes, size, err);
    return vtable->download(queue, buffer, offset, bytes, size, err);
}

wk_status wk_queue_copy(wk_queue *queue, const wk_copy *copies, size_t count, wk_error *err)
{
    const wk_backend_vtable *backend = queue->backend->vtable;
    for (size_t i = 0; i < count; i++) {
        const wk_copy *c = &copies[i];
        assert(c->to_offset + c->size <= c->to->size && c->from_offset + c->size <= c->from->size);
    }
    if (backend->queue) return backend->queue->copy(queue, copies, count, err);
    for (size_t i = 0; i < count; i++)
        WK_TRY(backend->copy(&copies[i], err));
    return WK_OK;
}

wk_status wk_queue_upload_pinned(wk_queue *queue, const wk_upload *uploads, size_t count,
                                 wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    for (size_t i = 0; i < count; i++)
        assert(uploads[i].offset + uploads[i].size <= uploads[i].to->size);
    if (vtable) return vtable->upload_pinned(queue, uploads, count, err);
    for (size_t i = 0; i < count; i++) {
        const wk_upload *u = &uploads[i];
        WK_TRY(wk_buffer_upload(u->to, u->offset, u->bytes, u->size, err));
    }
    return WK_OK;
}

static void gather_here(const wk_gather *gather)
{
    char *to = (char *)gather->to->address + gather->offset;
    for (size_t i = 0; i < gather->count; i++)
        memcpy(to + i * gather->row, gather->rows[i], gather->row);
}

wk_status wk_queue_gather(wk_queue *queue, const wk_gather *gathers, size_t count, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    for (size_t i = 0; i < count; i++) {
        const wk_gather *g = &gathers[i];
        assert(g->row % 16 == 0 && g->offset % 16 == 0);
        assert(g->offset + g->count * g->row <= g->to->size);
    }
    if (vtable) return vtable->gather(queue, gathers, count, err);
    for (size_t i = 0; i < count; i++)
        gather_here(&gathers[i]);
    return WK_OK;
}

wk_status wk_event_create(wk_backend *backend, wk_event **out, wk_error *err)
{
    if (backend->vtable->queue) return backend->vtable->queue->event_create(backend, out, err);
    wk_event *event = malloc(sizeof *event);
    if (!event) return wk_fail(err, WK_E_MEMORY, "no memory for an event");
    *event = (wk_event){backend};
    *out = event;
    return WK_OK;
}

void wk_event_destroy(wk_event *event)
{
    if (!event) return;
    const wk_queue_vtable *vtable = event->backend->vtable->queue;
    if (vtable)
        vtable->event_destroy(event);
    else
        free(event);
}

wk_status wk_queue_record_event(wk_queue *queue, wk_event *event, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    return vtable ? vtable->record_event(queue, event, err) : WK_OK;
}

wk_status wk_queue_wait_event(wk_queue *queue, const wk_event *event, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    return vtable ? vtable->wait_event(queue, event, err) : WK_OK;
}

wk_status wk_event_wait(const wk_event *event, wk_error *err)
{
    const wk_queue_vtable *vtable = event->backend->vtable->queue;
    return vtable ? vtable->wait(event, err) : WK_OK;
}

wk_status wk_queue_drain(wk_queue *queue, wk_error *err)
{
    const wk_queue_vtable *vtable = queue->backend->vtable->queue;
    return vtable ? vtable->drain(queue, err) : WK_OK;
}

wk_status wk_pinned_create(wk_backend *backend, size_t size, void **out, wk_error *err)
{
    const wk_queue_vtable *vtable = backend->vtable->queue;
    if (vtable) return vtable->pinned_create(backend, size, out, err);
    *out = calloc(1, size ? size : 1);
    return *out ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for %zu KiB", size >> 10);
}

void wk_pinned_destroy(wk_backend *backend, void *memory)
{
    if (!memory) return;
    const wk_queue_vtable *vtable = backend->vtable->queue;
    if (vtable)
        vtable->pinned_destroy(backend, memory);
    else
        free(memory);
}
