// Calls in a row that one kernel does, without the results between them: whether that is allowed.
#ifndef WK_TENSOR_CUDA_CALLS_CUH
#define WK_TENSOR_CUDA_CALLS_CUH

#include "tensor/cuda/lane.cuh"

/// The root of an input.
static inline int wk_call_root(const wk_cuda_call *c, int input)
{
    return wk_info(c->g, wk_node_inputs(c->g, c->node)[input])->root;
}

static inline bool wk_call_aligned(const wk_cuda_call *c, int input, uintptr_t bytes)
{
    return (uintptr_t)wk_call_in(c, input) % bytes == 0;
}

/// From member to member of a stack of biases of n numbers; 0 for one.
static inline size_t wk_call_bias_stride(const wk_cuda_call *c, int input, size_t n)
{
    return wk_shape_count(wk_call_input_shape(c, input)) > n ? n : 0;
}

/// Calls first ... last of all.
typedef struct wk_cuda_run {
    wk_cuda_call *calls;
    size_t count;
    wk_cuda_call *first, *last;
} wk_cuda_run;

/// Whether a call outside reads output 0 of one of them, or it is kept.
bool wk_run_is_read(const wk_cuda_run *r, const wk_cuda_call *of);
/// Whether an output of one of them lies where one of them reads what comes from outside, or where
/// another that is written lies. `written`: those whose outputs the kernel writes.
bool wk_run_overlaps(const wk_cuda_run *r, const wk_cuda_call *const *written, size_t count);
/// Whether a call before on the same lane has the same second input, a weight, and nobody writes
/// weights in between.
bool wk_run_is_known(const wk_cuda_run *r);
/// Lets the first do all of them.
void wk_run_join(const wk_cuda_run *r);

#endif
