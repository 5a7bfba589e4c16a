// What an executable's calls use while they are captured. Each stream has a context: cuBLAS handles
// and scratch memory. The bf16 copies of matrix operands are shared by all streams.
//
// A bf16 copy of a float at byte offset o of a buffer lies at offset o/2 of the buffer's shadow;
// those of temporaries have places in the plan. Tensors that live at the same time do not overlap,
// so neither do their copies; a copy is valid until a node overwrites its original. A weight is
// thus rounded once per run, not once per use, and a kernel whose result is an operand of a product
// writes both.
#ifndef WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH
#define WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH

#include "tensor/cuda/runtime/device.cuh"

extern "C" {
#include "tensor/cuda/passes/stream_waits.h"
}

#include <cublasLt.h>

/// bf16 numbers that are up to date.
typedef struct wk_cuda_span {
    const __nv_bfloat16 *begin, *end;
} wk_cuda_span;

/// Memory of a tensor, or of a part of it: numbers of its own type, and bf16 numbers or room for
/// them. Either may be absent.
typedef struct wk_cuda_memory {
    const void *x;
    size_t size;
    wk_cuda_span bf16;
} wk_cuda_memory;

/// The bf16 copies of an executable.
typedef struct wk_cuda_copies {
    WK_ARRAY(wk_cuda_span) fresh;
    WK_ARRAY(wk_access) touched; // by the call being enqueued
} wk_cuda_copies;

struct wk_cuda_stream_context {
    cudaStream_t stream; // NULL: no call uses it
    cublasHandle_t cublas;
    cublasLtHandle_t cublas_lt;
    void *workspace; // of both
    size_t workspace_size;
    cublasStatus_t status; // the first failure
    char *scratch;         // NULL while its size is being measured
    size_t scratch_size;
    size_t used, peak;  // bytes of scratch in this call, and at most in any
    bool failed;        // host memory ran out
    bool no_tensor_map; // the driver made no tensor map
    unsigned emitted;   // a bit for each output whose bf16 copy this call writes itself
    wk_cuda_copies *copies;
    // Shared by all streams.
    const wk_cuda_call **lazy;    // by tensor: the lazy call whose result it would be, or NULL
    const unsigned char *formats; // by root: the plan's
};

/// Whether all these bf16 numbers are up to date.
bool wk_cuda_is_fresh(const wk_cuda_stream_context *context, wk_cuda_span span);
/// Marks them so.
void wk_cuda_refreshed(wk_cuda_stream_context *context, wk_cuda_span span);
/// Records that a call reads this memory.
void wk_cuda_reads(wk_cuda_stream_context *context, const wk_cuda_memory *memory);
/// Records that a call writes it: existing copies become stale.
void wk_cuda_writes(wk_cuda_stream_context *context, const wk_cuda_memory *memory);

/// Notes the calls of lazy nodes; false when memory ran out.
bool wk_cuda_keep_lazy(wk_cuda_stream_context *context, const wk_cuda_call *calls, size_t count,
                       const wk_plan *plan);

#endif
