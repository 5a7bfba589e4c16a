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
    WK_KERNEL_OP,            // the function of the step's op
    WK_KERNEL_NONE,          // nothing: fused into another step, lazy, or made in its place
    WK_KERNEL_OBSERVE,       // all steps of a recurrence
    WK_KERNEL_ADAM,          // neighbouring adam steps
    WK_KERNEL_SKINNY_ACTION, // GEMM of small N, its bias, and the action drawn from the result
    WK_KERNEL_SKINNY_HEAD,   // GEMM of small N, and its bias
    WK_KERNEL_SKINNY_N,      // GEMM of small N
    WK_KERNEL_SKINNY_K,      // GEMM of small K
    WK_KERNEL_SKINNY_DW,     // weight gradient of small N: a transposed, and large K
    WK_KERNEL_WGMMA,         // hopper/gemm.cuh, with the product it is added to and its epilogue
    WK_KERNEL_CUBLASLT_BIAS, // a product by cublasLt with its bias
    WK_KERNEL_CUBLAS,        // a product by cuBLAS
    WK_KERNEL_CONV_RGB,      // hopper/conv_rgb.cu, as conv_planes
    WK_KERNEL_CONV_PLANES,   // hopper/conv.cu; an image's gradient with the slope of its layer
    WK_KERNEL_RGB_WEIGHTS,   // hopper/conv_rgb.cu, the weights' gradient
    WK_KERNEL_CONV_WEIGHTS,  // hopper/conv_weights.cu
    WK_KERNEL_CONV_DIRECT,   // kernels/conv_direct.cu, in every direction
    WK_KERNEL_CONV_PRODUCT,  // kernels/conv.cu without patches: the small image is one pixel
    WK_KERNEL_GRU_CELL,      // kernels/gru_cell.cu, forward and backward
    WK_KERNEL_CLASS_QUADS,   // categorical variables, four classes a thread
    WK_KERNEL_SAMPLE_MANY,   // drawn from categorical variables, one a thread
    WK_KERNEL_COUNT
} wk_kernel;
extern const char *const wk_kernel_names[WK_KERNEL_COUNT];

/// What a benchmark can switch off to measure its price: each kernel of the table, and these.
typedef enum wk_part {
    WK_PART_RESIDENT = WK_KERNEL_COUNT, // GEMM with resident weights, a tile of WK_KERNEL_WGMMA
    WK_PART_SCHEDULE,                   // several streams, and the order that suits them
    WK_PART_LAZY_TERMS,                 // sums and slices that are not materialised (lazy.h)
    WK_PART_COUNT
} wk_part;

/// Switches off the parts of these names, separated by commas: wk_kernel_names, "resident",
/// "schedule", "lazy_terms". Another kernel takes over what one that is off did; the results are
/// the same but for rounding. WK_E_INPUT for another name.
wk_status wk_cuda_switch_off(const char *names, wk_cuda_limits *limits, wk_error *err);

static inline bool wk_is_off(const wk_cuda_limits *limits, int part)
{
    return limits->off >> part & 1;
}

/// How a step runs; steps are those of the plan, -1 for none.
typedef struct wk_fused {
    wk_kernel kernel;
    wk_gemm_tile tile;    // of WK_KERNEL_WGMMA
    wk_product_form form; // of a product by cuBLAS
    int fused_into;       // of WK_KERNEL_NONE: the step whose kernel does this one too
    int addend;           // the step just before, whose product this one's is added to
    int epilogue;         // the step that this one's kernel does as the epilogue of its product
    int fused_next;       // how many of the steps just after are fused into this one
} wk_fused;

/// What skinny_gemm.cu can take: the small dimension, and the row of the matrix that is not skinny.
enum { WK_SKINNY_MAX = 16, WK_SKINNY_ROW_MAX = 640 };
/// Maximum units of gru_cell.cu, and maximum threads of a row of categorical variables, each with
/// four classes.
enum { WK_GRU_CELL_MAX = 1024, WK_CLASS_QUADS_MAX = 256 };

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
