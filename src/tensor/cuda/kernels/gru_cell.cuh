// The GRU cell for rows that share their parameters and need no parameter gradients, as in
// imagination: faster than the general one in layer.cu.
#ifndef WK_TENSOR_CUDA_KERNELS_GRU_CELL_CUH
#define WK_TENSOR_CUDA_KERNELS_GRU_CELL_CUH

#include "tensor/cuda/runtime/device.cuh"

/// What the cell reads: pre [rows,3 hidden], parameters [3 hidden] (the gate bias may be NULL), h
/// [rows,hidden].
typedef struct wk_cuda_gru_cell {
    unsigned rows, hidden;
    wk_ptr<const float> pre, gate_bias, gain, offset, h;
} wk_cuda_gru_cell;

/// y and, for the backward pass, the rows' means and then 1/deviations. False, having done nothing,
/// if precision, sizes or alignment do not allow it.
bool wk_cuda_gru_cell_forward(const wk_cuda_call *c, const wk_cuda_gru_cell *k, float epsilon,
                              wk_out y, wk_ptr<float> means);
/// The gradients of pre and, by the direct path, of h. False as above.
bool wk_cuda_gru_cell_backward(const wk_cuda_call *c, const wk_cuda_gru_cell *k,
                               wk_ptr<const float> means, const wk_terms &dy, wk_out dpre,
                               wk_ptr<float> dh);

#endif
