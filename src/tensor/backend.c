#include "tensor/backend.h"

#include <assert.h>

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
