// What an executable gives its calls while they are captured. Each of its streams has a lane:
// cuBLAS and scratch memory. The bf16 copies of matrix operands are those of all lanes.
//
// A bf16 copy of a float at byte offset o of a region lies at offset o/2 of the region's shadow.
// Tensors that live at the same time do not overlap, so neither do their copies; a copy holds until
// a node writes over its original. A weight is thus rounded once a run, not once a use,
// and a kernel whose result goes into a product writes both. What exists in bf16 alone is known by
// the address that its floats would have: a name (plan.h), which no kernel can read.
#ifndef WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH
#define WK_TENSOR_CUDA_RUNTIME_STREAM_CONTEXT_CUH

#include "tensor/cuda/runtime/device.cuh"

extern "C" {
#include "tensor/cuda/passes/stream_waits.h"
}

#include <cublasLt.h>

/// Floats that may have bf16 copies: a buffer that the nodes use, the part of the temporaries that
/// exists in both forms, or the names of what exists in bf16 alone.
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
    WK_ARRAY(wk_access) touched; // by the call that is being put on its stream
} wk_cuda_copies;

struct wk_cuda_stream_context {
    cudaStream_t stream; // NULL: no call uses this lane
    cublasHandle_t blas;
    cublasLtHandle_t light;
    void *workspace; // of both
    size_t workspace_size;
    cublasStatus_t status; // the first failure
    char *scratch;         // NULL while the need is being measured
    size_t scratch_size;
    size_t used, peak; // bytes of scratch in this call, and at most in any
    bool failed;       // memory of the host ran out
    unsigned emitted;  // a bit for each output whose bf16 copy this call writes itself
    wk_cuda_copies *copies;
    // The same for all lanes.
    const wk_cuda_call **lazy;    // by tensor: the lazy call whose result it would be, or NULL
    const unsigned char *formats; // by root: the plan's
};

/// Where the bf16 copy of floats lies; NULL for floats that have no room for one.
__nv_bfloat16 *wk_cuda_shadow(wk_cuda_stream_context *context, const float *x);
/// The device memory of `size` bytes of floats at an address or under a name. Addresses of
/// different tensors tell only through this whether their memory meets.
wk_cuda_span wk_cuda_bytes(wk_cuda_stream_context *context, const void *at, size_t size);
/// Whether the bf16 copies of all these bytes are up to date.
bool wk_cuda_is_fresh(const wk_cuda_stream_context *context, wk_cuda_span span);
/// Notes that they are.
void wk_cuda_refreshed(wk_cuda_stream_context *context, wk_cuda_span span);
/// Notes that a call reads these bytes or their copies.
void wk_cuda_reads(wk_cuda_stream_context *context, const void *begin, size_t size);
/// Notes that a call writes these bytes: the copies that there were are out of date.
void wk_cuda_writes(wk_cuda_stream_context *context, const void *begin, size_t size);

/// A product of few results, terms or columns by a kernel of its own; false if it is none.
bool wk_cuda_skinny_gemm(const wk_cuda_call *c, const wk_cuda_product *p);

/// Whether input i lies in its place as bf16 rows, each filled up with zeros to whole 16 bytes:
/// ragged rows that only matrix products read.
bool wk_cuda_is_padded(const wk_cuda_call *c, int i);
/// Tells calls and lane which nodes are lazy; false when memory ran out.
bool wk_cuda_keep_lazy(wk_cuda_stream_context *context, wk_cuda_call *calls, size_t count,
                       const wk_plan *plan);
/// Lets runs of adam nodes be done by the first of each.
void wk_cuda_fuse_adam(wk_cuda_call *calls, size_t count);
/// Lets products of few results add their bias and draw an actor's actions.
void wk_cuda_fuse_heads(wk_cuda_call *calls, size_t count);
/// Lets products do the work of the nodes around them: the product they add to, and the bias,
/// activation or slope that follows.
void wk_cuda_fuse_epilogues(wk_cuda_call *calls, size_t count);
/// Lets the gradient of an image be multiplied by the slope of the layer before it.
void wk_cuda_fuse_slope(wk_cuda_call *calls, size_t count);

#endif
