// Internals of the CUDA backend: a backend owns memory and transfers (memory.cu); an executable is
// a plan's list of nodes, resolved to addresses (executable.cu), each with its kernel
// (passes/fusion.h), and captured into one CUDA graph (capture.cu), a CUDA stream for each stream
// of the plan.
#ifndef WK_TENSOR_CUDA_RUNTIME_BACKEND_CUH
#define WK_TENSOR_CUDA_RUNTIME_BACKEND_CUH

extern "C" {
#include "tensor/backend.h"
#include "tensor/cuda/passes/plan_passes.h"
}
#include "tensor/cuda/kernels/observe.cuh"
#include "tensor/cuda/runtime/population.cuh"

#include <pthread.h>

// Pieces of half a mebibyte stay in the CPU's cache.
enum { WK_CUDA_STAGING = 1 << 20, WK_CUDA_ALIGNMENT = 256 };
// Workspace of cuBLAS, for each stream of an executable.
enum { WK_CUDA_WORKSPACE = 32 << 20 };

typedef struct wk_cuda_backend {
    wk_backend base;
    int device;
    wk_cuda_limits limits;
    wk_cuda_precision precision;
    pthread_mutex_t transfer; // one upload or download at a time
    cudaStream_t stream;      // of transfers
    cudaEvent_t sent[2];      // that half of the staging memory can be reused
    char *staging;            // pinned, two halves
    size_t allocated;         // bytes of device memory in use
    wk_cuda_streams streams;
    wk_cuda_population *population; // NULL: it is alone
    int member;                     // of it
} wk_cuda_backend;

// A buffer gets memory for bf16 copies with the first program that multiplies what is in it; all
// programs share it.
typedef struct wk_cuda_buffer {
    wk_buffer base;
    char *shadow;
} wk_cuda_buffer;

struct wk_executable {
    wk_cuda_backend *backend; // of the first member
    int members;
    size_t count;
    wk_cuda_call *calls;
    wk_ptr<void> *addresses;
    wk_ptr<__nv_bfloat16> *bf16_addresses;
    void *keys; // of random nodes, by step; in each member's memory
    wk_cuda_stream_context contexts[WK_STREAMS_MAX];
    wk_cuda_copies copies;
    cudaGraphExec_t graph;
    cudaEvent_t *events; // count + 1, made by the first traced run
};

/// WK_OK for cudaSuccess, or an error that says what was being done.
wk_status wk_cuda_fail(cudaError_t error, const char *what, wk_error *err);

#define TRY_CUDA(call, what) WK_TRY(wk_cuda_fail((call), (what), err))

/// The name of a library of cuBLAS that cannot be loaded, or NULL.
const char *wk_cublas_missing(void);

/// Device memory, not initialised, that one executable uses for all members.
wk_status wk_cuda_alloc(wk_cuda_backend *backend, size_t size, void **out, wk_error *err);
/// NULL is allowed.
void wk_cuda_free(wk_cuda_backend *backend, size_t size, void *memory);
/// As wk_cuda_alloc and wk_cuda_free, in the memory of each of `members` members, from this one on.
wk_status wk_cuda_alloc_members(wk_cuda_backend *backend, int members, size_t size, void **out,
                                wk_error *err);
void wk_cuda_free_members(wk_cuda_backend *backend, int members, size_t size, void *memory);
/// Bytes of the bf16 copies of a buffer.
size_t wk_cuda_shadow_size(const wk_buffer *buffer);
/// Enqueues a copy between buffers.
cudaError_t wk_cuda_enqueue_copy(const wk_copy *c, cudaStream_t stream);

/// Which stream is scheduled first.
typedef enum wk_cuda_priority {
    WK_CUDA_PRIORITY_SIDE,   // side streams of a graph: fill idle multiprocessors
    WK_CUDA_PRIORITY_URGENT, // the one that others wait for soon (tensor/schedule.h)
    WK_CUDA_PRIORITY_NORMAL,
    WK_CUDA_PRIORITY_HIGH,
} wk_cuda_priority;
/// A stream of the chosen device.
wk_status wk_cuda_make_stream(wk_cuda_priority priority, cudaStream_t *out, wk_error *err);

/// Enqueues node i on its stream, and lists in e->copies.touched the memory it accesses.
void wk_cuda_enqueue(wk_executable *e, size_t i);
/// The first error of what was enqueued.
wk_status wk_cuda_check(const wk_executable *e, wk_error *err);
/// Captures all nodes, and allocates what they need.
wk_status wk_cuda_make_graph(wk_executable *e, wk_error *err);

// The vtable.
wk_status wk_cuda_buffer_create(wk_backend *base, size_t size, wk_buffer **out, wk_error *err);
void wk_cuda_buffer_destroy(wk_buffer *buffer);
wk_status wk_cuda_upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                         wk_error *err);
wk_status wk_cuda_download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                           wk_error *err);
wk_status wk_cuda_compile(wk_backend *base, const wk_plan *const *plans, int count,
                          wk_executable **out, wk_error *err);
wk_status wk_cuda_run(wk_executable *e, double *trace, wk_error *err);
wk_status wk_cuda_copy(const wk_copy *c, wk_error *err);
void wk_cuda_executable_destroy(wk_executable *e);
size_t wk_cuda_allocated(const wk_backend *base);
wk_memory_info wk_cuda_memory_info(const wk_backend *base);
extern const wk_queue_vtable wk_cuda_queues; // queue.cu

#endif
