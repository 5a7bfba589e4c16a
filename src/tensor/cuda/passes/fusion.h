// The kernel of every step of a plan. One pass over the finished plan, on the host: a table of
// {pattern of ops, guard, kernel} (fusion.c), the first row whose pattern is there and whose guard
// has nothing against it. Enqueueing then only looks the kernel up.
//
// Nothing here needs a GPU: sizes, formats and places are the plan's, and a device is a few numbers
// (limits.h).
#ifndef WK_TENSOR_CUDA_PASSES_FUSION_H
#define WK_TENSOR_CUDA_PASSES_FUSION_H

#include "tensor/cuda/passes/limits.h"
#include "tensor/cuda/passes/product.h"
#include "tensor/plan.h"

typedef enum wk_kernel {
    WK_KERNEL_OP,              // the function of the step's op
    WK_KERNEL_NONE,            // nothing: fused into another step, lazy, or made in its place
    WK_KERNEL_OBSERVE,         // all steps of a recurrence
    WK_KERNEL_ADAM,            // neighbouring adam steps
    WK_KERNEL_SKINNY_ACTION,   // few results a row, their bias, and the action drawn from them
    WK_KERNEL_SKINNY_HEAD,     // few results a row, and their bias
    WK_KERNEL_SKINNY_RESULTS,  // few results a row
    WK_KERNEL_SKINNY_TERMS,    // few terms
    WK_KERNEL_SKINNY_GRADIENT, // few columns of a weight gradient
    WK_KERNEL_WGMMA,           // hopper/gemm.cuh, with what is added before and the epilogue
    WK_KERNEL_CUBLASLT_BIAS,   // a library's product with its bias
    WK_KERNEL_CUBLAS,          // a library's product
    WK_KERNEL_CONV_PLANES,     // hopper/conv.cuh; an image's gradient with the slope of its layer
    WK_KERNEL_CONV_WEIGHTS,    // hopper/conv.cuh, the weights' gradient
    WK_KERNEL_CONV_DIRECT,     // kernels/conv_direct.cu, in every direction
    WK_KERNEL_COUNT
} wk_kernel;
extern const char *const wk_kernel_names[WK_KERNEL_COUNT];

/// How a step runs; steps are those of the plan, -1 for none.
typedef struct wk_fused {
    wk_kernel kernel;
    wk_gemm_tile tile; // of WK_KERNEL_WGMMA
    int into;          // of WK_KERNEL_NONE: the step whose kernel does this one too
    int before;        // the step just before, to whose product this one is added
    int tail;          // the step that is the epilogue of this one's product
    int following;     // so many of the steps just after it are done with it
} wk_fused;

/// What skinny_gemm.cu can take: up to `MAX` columns, terms or results; rows of so many numbers.
enum { WK_SKINNY_MAX = 16, WK_SKINNY_ROW_MAX = 640 };

/// Fills `out`, one for each step.
void wk_fusion_choose(const wk_plan *plan, const wk_cuda_limits *limits, wk_fused *out);

/// For tests: the rows of the table, in order of preference, and why a row does not take a step:
/// NULL where it does, "" where its ops are not there. `fused` holds what was chosen for the steps
/// before.
int wk_fusion_rows(void);
wk_kernel wk_fusion_row_kernel(int row);
const char *wk_fusion_why_not(const wk_plan *plan, const wk_cuda_limits *limits,
                              const wk_fused *fused, int row, int step);

#endif
