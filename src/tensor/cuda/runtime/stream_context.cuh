// What an executable's calls use while they are captured. Each stream has a context: cuBLAS handles
// and scratch memory. The bf16 copies of matrix operands are shared by all streams.
//
// A bf16 copy of a float at byte offset o of a region lies at offset o/2 of the region's shadow.
// Tensors that live at the same time do not overlap, so neither do their copies; a copy is valid
// until a node overwrites its original. A weight is thus rounded once per run, not once per use,
// and a kernel whose result is an operand of a product writes both. A tensor in bf16 alone is
// identified by the address that its floats would have: a name (plan.h), which no kernel can
// dereference.
#ifndef WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH
#define WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH

#include "tensor/cuda/runtime/device.cuh"

extern "C" {
#include "tensor/cuda/passes/stream_waits.h"
}

#include <cublasLt.h>

/// Floats that may have bf16 copies: a buffer that the nodes use, the part of the temporaries in
/// both formats, or the names of tensors in bf16 alone.
typedef struct wk_cuda_region {
    char *base;
    size_t size;
    char *shadow;      // half as large; NULL until it is allocated
    bool wanted;       // some node needs it
    wk_buffer *buffer; // whose shadow it is, NULL for the temporaries
} wk_cuda_region;

/// Bytes whose bf16 copy is up to date.
typedef struct wk_cuda_span {
    const char *begin, *end;
} wk_cuda_span;

/// The bf16 copies of an executable.
typedef struct wk_cuda_copies {
    WK_ARRAY(wk_cuda_region) regions;
    WK_ARRAY(wk_cuda_span) fresh;
    WK_ARRAY(wk_access) touched; // by the call being enqueued
} wk_cuda_copies;

struct wk_cuda_stream_context {
    cudaStream_t stream; // NULL: no call uses it
    cublasHandle_t blas;
    cublasLtHandle_t light;
    void *workspace; // of both
    size_t workspace_size;
    cublasStatus_t status; // the first failure
    char *scratch;         // NULL while its size is being measured
    size_t scratch_size;
    size_t used, peak; // bytes of scratch in this call, and at most in any
    bool failed;       // host memory ran out
    bool unmapped;     // the driver made no tensor map
    unsigned emitted;  // a bit for each output whose bf16 copy this call writes itself
    wk_cuda_copies *copies;
    // The same for all streams.
    const wk_cuda_call **lazy;    // by tensor: the lazy call whose result it would be, or NULL
    const unsigned char *formats; // by root: the plan's
};

/// Where the bf16 copy of floats lies; NULL for floats that have no room for one.
__nv_bfloat16 *wk_cuda_shadow(wk_cuda_stream_context *context, const float *x);
/// The device memory of `size` bytes of floats at an address or under a name. Compare these, not
/// addresses, to see whether tensors overlap.
wk_cuda_span wk_cuda_bytes(wk_cuda_stream_context *context, const void *at, size_t size);
/// Whether the bf16 copies of all these bytes are up to date.
bool wk_cuda_is_fresh(const wk_cuda_stream_context *context, wk_cuda_span span);
/// Marks them so.
void wk_cuda_refreshed(wk_cuda_stream_context *context, wk_cuda_span span);
/// Records that a call reads these bytes or their copies.
void wk_cuda_reads(wk_cuda_stream_context *context, const void *begin, size_t size);
/// Records that a call writes these bytes: existing copies become stale.
void wk_cuda_writes(wk_cuda_stream_context *context, const void *begin, size_t size);

/// Whether input i is stored as bf16 rows, each zero-padded to whole 16 bytes: ragged rows that
/// only matrix products read.
bool wk_cuda_is_padded(const wk_cuda_call *c, int i);
/// Notes the calls of lazy nodes; false when memory ran out.
bool wk_cuda_keep_lazy(wk_cuda_stream_context *context, const wk_cuda_call *calls, size_t count,
                       const wk_plan *plan);

#endif
