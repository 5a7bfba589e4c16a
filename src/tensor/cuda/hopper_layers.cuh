// The layers of a small perceptron and the few results of its head as one kernel for compute
// capability 9.0: what an actor does in every step of imagination, where a kernel for each layer is
// mostly its own begin and end.
#ifndef WK_TENSOR_CUDA_HOPPER_LAYERS_CUH
#define WK_TENSOR_CUDA_HOPPER_LAYERS_CUH

#include "tensor/cuda/device.cuh"

enum { WK_LAYERS_MOST = 4, WK_LAYERS_RESULTS = 16, WK_LAYERS_UNITS = 400 };

/// A layer's bf16 weights [terms,units], row-major, and its biases. Strides are from member to
/// member of the stack, 0 where it shares them.
typedef struct wk_layer {
    const __nv_bfloat16 *w;
    size_t row, stride;
    const float *bias; // may be NULL
    size_t stride_bias;
} wk_layer;

/// choice[s] = head(ELU(.. ELU(x[s] w + bias) ..)), s < stacks, with all units in all layers; and,
/// where `action` is there, actions drawn from the choices.
typedef struct wk_hopper_layers {
    size_t stacks, m, k, units;
    const __nv_bfloat16 *x; // [m,k]
    size_t row_x, stride_x;
    int count;
    wk_layer layer[WK_LAYERS_MOST];
    size_t results;
    const float *head, *head_bias; // [units,results], [results]; the bias may be NULL
    size_t stride_head, stride_head_bias;
    float *choice, *action; // [m,results], [m,results/2]
    uint64_t key;           // of the action's draw, and its counter
    const void *counter;
    bool known; // the kernel before it in the stream writes nothing of layers and head
} wk_hopper_layers;

/// Puts it on the stream; false, having done nothing, where device, sizes or addresses do not allow
/// it.
bool wk_hopper_run_layers(const wk_cuda_call *c, const wk_hopper_layers *p);

/// Blocks of its launch, 0 where there is no kernel for so many units or results.
size_t wk_hopper_layers_blocks(size_t stacks, size_t m, size_t units, size_t results);

#endif
