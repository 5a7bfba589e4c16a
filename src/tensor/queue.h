// Queues: asynchronous work for a device, in the order it was enqueued, overlapping the host and
// other queues.
//
// Enqueueing returns at once on an async backend; an event tells the host or another queue when
// everything enqueued so far is done. A backend that is not async (the CPU) has no queues of its
// own: work is done before the call returns, and the same calls give the same bytes.
#ifndef WK_TENSOR_QUEUE_H
#define WK_TENSOR_QUEUE_H

#include "tensor/backend.h"

/// Both may be embedded in larger structs by a backend.
typedef struct wk_queue {
    wk_backend *backend;
} wk_queue;
struct wk_event {
    wk_backend *backend;
};

/// Rows of equal size from anywhere in device memory, gathered into one buffer.
typedef struct wk_gather {
    wk_buffer *to;
    size_t offset;           // of the first row
    size_t row;              // bytes of one, a multiple of 16
    const void *const *rows; // [count], device addresses, in pinned memory
    size_t count;
} wk_gather;

/// Bytes of pinned memory for a buffer.
typedef struct wk_upload {
    wk_buffer *to;
    size_t offset, size;
    const void *bytes;
} wk_upload;

/// What a backend with queues can do; wk_backend_vtable.queue. The calls are those below.
struct wk_queue_vtable {
    wk_status (*create)(wk_backend *backend, bool high_priority, wk_queue **out, wk_error *err);
    void (*destroy)(wk_queue *queue);
    wk_status (*upload)(wk_queue *queue, wk_buffer *buffer, size_t offset, const void *bytes,
                        size_t size, wk_error *err);
    wk_status (*download)(wk_queue *queue, const wk_buffer *buffer, size_t offset, void *bytes,
                          size_t size, wk_error *err);
    wk_status (*copy)(wk_queue *queue, const wk_copy *copies, size_t count, wk_error *err);
    wk_status (*upload_pinned)(wk_queue *queue, const wk_upload *uploads, size_t count,
                               wk_error *err);
    wk_status (*gather)(wk_queue *queue, const wk_gather *gathers, size_t count, wk_error *err);
    wk_status (*run)(wk_queue *queue, wk_executable *executable, wk_error *err);
    wk_status (*event_create)(wk_backend *backend, wk_event **out, wk_error *err);
    void (*event_destroy)(wk_event *event);
    wk_status (*record_event)(wk_queue *queue, wk_event *event, wk_error *err);
    wk_status (*wait_event)(wk_queue *queue, const wk_event *event, wk_error *err);
    wk_status (*wait)(const wk_event *event, wk_error *err);
    wk_status (*drain)(wk_queue *queue, wk_error *err);
    wk_status (*pinned_create)(wk_backend *backend, size_t size, void **out, wk_error *err);
    void (*pinned_destroy)(wk_backend *backend, void *memory);
};

/// Whether enqueued work overlaps the host.
bool wk_backend_is_async(const wk_backend *backend);

/// A queue of the backend. High-priority queues are scheduled before others.
wk_status wk_queue_create(wk_backend *backend, bool high_priority, wk_queue **out, wk_error *err);
/// Waits for what was enqueued. NULL is allowed.
void wk_queue_destroy(wk_queue *queue);

/// Copies host bytes into a buffer, and back. The bytes must stay valid and unchanged until it is
/// done; from pinned memory the host does not wait.
wk_status wk_queue_upload(wk_queue *queue, wk_buffer *buffer, size_t offset, const void *bytes,
                          size_t size, wk_error *err);
wk_status wk_queue_download(wk_queue *queue, const wk_buffer *buffer, size_t offset, void *bytes,
                            size_t size, wk_error *err);
/// Copies between buffers of the backend, none of which reads or writes what another writes.
wk_status wk_queue_copy(wk_queue *queue, const wk_copy *copies, size_t count, wk_error *err);
/// Uploads into different places from pinned memory, small ones: all at once.
wk_status wk_queue_upload_pinned(wk_queue *queue, const wk_upload *uploads, size_t count,
                                 wk_error *err);
/// Gathers rows for different places; the rows' lists must stay valid until it is done.
wk_status wk_queue_gather(wk_queue *queue, const wk_gather *gathers, size_t count, wk_error *err);

/// A new event, already reached.
wk_status wk_event_create(wk_backend *backend, wk_event **out, wk_error *err);
/// NULL is allowed.
void wk_event_destroy(wk_event *event);
/// Records the event after everything enqueued so far.
wk_status wk_queue_record_event(wk_queue *queue, wk_event *event, wk_error *err);
/// Work enqueued from now on waits for the event as last recorded.
wk_status wk_queue_wait_event(wk_queue *queue, const wk_event *event, wk_error *err);
/// Blocks until the event is reached, or until the queue is empty.
wk_status wk_event_wait(const wk_event *event, wk_error *err);
wk_status wk_queue_drain(wk_queue *queue, wk_error *err);

/// Zeroed host memory that the device copies from asynchronously: page-locked on a GPU.
wk_status wk_pinned_create(wk_backend *backend, size_t size, void **out, wk_error *err);
/// NULL memory is allowed.
void wk_pinned_destroy(wk_backend *backend, void *memory);

#endif
