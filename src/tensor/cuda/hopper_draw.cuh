// A layer, the logits of categorical variables, and their sample as one kernel for compute
// capability 9.0: what the model's prior does in every step of imagination.
#ifndef WK_TENSOR_CUDA_HOPPER_DRAW_CUH
#define WK_TENSOR_CUDA_HOPPER_DRAW_CUH

#include "tensor/cuda/hopper_layers.cuh"

enum { WK_DRAW_CLASSES = 32, WK_DRAW_UNITS = 600, WK_DRAW_GROUPS = 32 };

/// y = ELU(x w + bias), and from the logits y w + bias of `groups` variables of 32 classes their
/// probabilities and a sample. Where `features` is there, its rows get the sample and x behind it.
typedef struct wk_hopper_draw {
    size_t m, k, units, groups;
    const __nv_bfloat16 *x; // [m,k]
    size_t row_x;
    wk_layer hidden, out;
    __nv_bfloat16 *y; // [m,units]
    __nv_bfloat16 *onehot;
    float *probs; // both [m,groups,32]
    __nv_bfloat16 *features;
    uint64_t key;
    const void *counter;
    bool known; // as of wk_hopper_layers
} wk_hopper_draw;

/// Puts it on the stream; false, having done nothing, where device, sizes or addresses do not allow
/// it.
bool wk_hopper_run_draw(const wk_cuda_call *c, const wk_hopper_draw *p);

/// Blocks of its launch, 0 where sizes do not allow it.
size_t wk_hopper_draw_blocks(size_t m, size_t k, size_t units, size_t groups);

#endif
