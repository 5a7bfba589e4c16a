// A backend: a device that owns buffers and runs planned graphs. Each is one vtable; the CPU's is
// made by wk_backend_cpu_create. A backend sees a finished plan (tensor/plan.h) once, turns it into
// an executable, and runs that many times; nothing in a node calls back to the host, so that a
// device may capture the whole list into one launch.
//
// A queue is asynchronous work for a device, in the order it was enqueued, overlapping the host and
// other queues. Enqueueing returns at once on an async backend; an event tells the host or another
// queue when everything enqueued so far is done. A backend that is not async (the CPU) has no
// queues of its own: work is done before the call returns, and the same calls give the same bytes.
#ifndef WK_TENSOR_BACKEND_H
#define WK_TENSOR_BACKEND_H

#include "base/pool.h"
#include "tensor/graph.h"

typedef struct wk_backend wk_backend;
typedef struct wk_plan wk_plan;
typedef struct wk_executable wk_executable;
typedef struct wk_queue_vtable wk_queue_vtable; // tensor/queue.h

/// Priority of a program against others in flight: wk_program_set_priority.
typedef enum wk_priority { WK_PRIORITY_NORMAL, WK_PRIORITY_HIGH, WK_PRIORITY_LOW } wk_priority;

/// Device memory. A backend may embed it in a larger struct.
struct wk_buffer {
    wk_backend *backend;
    size_t size;   // bytes
    void *address; // on the device; 64-byte aligned; usable by the host on the CPU backend
};

/// A copy from one buffer of a backend to another of it.
typedef struct wk_copy {
    wk_buffer *to;
    const wk_buffer *from;
    size_t to_offset, from_offset, size; // bytes
} wk_copy;

/// A device's memory, before a program is compiled.
typedef struct wk_memory_info {
    size_t free, total; // bytes; total is 0 where the backend does not count
    size_t program;     // workspace of each program, at least
    bool copies;        // weights that products read have a bf16 copy
} wk_memory_info;

/// What a backend can do. `trace` in run may be NULL; else it receives the seconds of every node of
/// the plan, in order, added to what is there.
typedef struct wk_backend_vtable {
    const char *name;
    void (*destroy)(wk_backend *backend);
    wk_status (*buffer_create)(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err);
    void (*buffer_destroy)(wk_buffer *buffer);
    wk_status (*upload)(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                        wk_error *err);
    wk_status (*download)(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                          wk_error *err);
    /// Chooses plan->groups, plan->streams and plan->lazy, and may reorder independent nodes;
    /// called when only the plan's graph and nodes are set. NULL: there are none.
    wk_status (*choose_schedule)(const wk_backend *backend, wk_plan *plan, wk_error *err);
    /// Chooses plan->formats; called when the joins are set too. NULL: everything is in float32.
    wk_status (*choose_formats)(const wk_backend *backend, wk_plan *plan, wk_error *err);
    /// One executable for the plans of a population; plans[r] was made for backends[r] of it.
    wk_status (*compile)(wk_backend *backend, const wk_plan *const *plans, int count,
                         wk_executable **out, wk_error *err);
    wk_status (*run)(wk_executable *executable, double *trace, wk_error *err);
    wk_status (*copy)(const wk_copy *copy, wk_error *err);
    void (*executable_destroy)(wk_executable *executable);
    size_t (*allocated)(const wk_backend *backend); // bytes; NULL where the backend does not count
    wk_memory_info (*memory_info)(
        const wk_backend *backend); // NULL where the backend does not count
    const wk_queue_vtable *queue;   // NULL for a backend that is not async
} wk_backend_vtable;

/// The head of every backend.
struct wk_backend {
    const wk_backend_vtable *vtable;
};

/// The CPU backend. `pool` is borrowed, may be NULL (one thread), and runs nothing else while a
/// program runs.
wk_status wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err);
/// NULL is allowed; buffers and programs of the backend must be gone.
void wk_backend_destroy(wk_backend *backend);
/// "cpu", "cuda".
const char *wk_backend_name(const wk_backend *backend);

/// Bytes of device memory in use, including what programs need besides their buffers; 0 if unknown.
size_t wk_backend_allocated(const wk_backend *backend);
/// Free and total memory of the device; zero if unknown.
wk_memory_info wk_backend_memory_info(const wk_backend *backend);

/// Zeroed device memory.
wk_status wk_buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err);
/// NULL is allowed.
void wk_buffer_destroy(wk_buffer *buffer);
/// Copies host bytes into the buffer; done when it returns.
wk_status wk_buffer_upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                           wk_error *err);
/// Copies buffer bytes to the host; done when it returns.
wk_status wk_buffer_download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                             wk_error *err);

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
