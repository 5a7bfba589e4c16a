// A matrix product as its node asks for it, and the tile of the GEMM of hopper/gemm.cuh that suits
// it. Plain sizes: strides are in elements.
#ifndef WK_TENSOR_CUDA_PASSES_PRODUCT_H
#define WK_TENSOR_CUDA_PASSES_PRODUCT_H

#include "tensor/node.h"

/// Row-major products: out[s] = a[s] b[s] (+ out[s]), s < stacks, a [m,k], b [k,n], or [k,m] and
/// [n,k] when transposed. Stride 0 shares an operand; stride_c 0 sums the products of all stacks.
typedef struct wk_cuda_product {
    size_t stacks, m, n, k;
    bool transpose_a, transpose_b;
    size_t stride_a, stride_b, stride_c;
    bool accumulate;
    bool bf16_a, bf16_b; // the operand is bf16 already
    bool bf16_c;         // the result is bf16
    const void *bias;    // of the result's type, n for each stack; added if it is there
    size_t stride_bias;
} wk_cuda_product;

/// The product that a matmul node asks for.
wk_cuda_product wk_product_of(const wk_graph *g, const wk_node *node);
/// As one product where the stack of operands is contiguous: along the rows when b is shared, along
/// the sum when the products are added up.
wk_cuda_product wk_product_joined(wk_cuda_product p);

/// The form in which cuBLAS gets a product.
typedef enum wk_product_form {
    WK_FORM_PLAIN,        // as it is: a stack is a batch, or is added up one by one
    WK_FORM_PADDED_TERMS, // zeros make the number of terms a multiple of 8
    WK_FORM_JOINED_SUM,   // products that are summed over a stack are one, whose terms go over the
                          // stack: moving the operands costs less than adding large results
    WK_FORM_SIDE_BY_SIDE, // products a' b[s] of a stack are one, their results side by side: cuBLAS
                          // takes three times as long for the stack
} wk_product_form;

/// The form of a joined product in bf16, whose result is bf16 where bf16_c says so. `whole_a` and
/// `whole_b`: the operand's bf16 rows begin at 16 bytes; `whole_c`: so does the result.
wk_product_form wk_product_choose_form(const wk_cuda_product *p, bool whole_a, bool whole_b,
                                       bool whole_c);

/// The tiles of the GEMM: warpgroups times 64 rows, columns; the last keeps its weights resident in
/// shared memory.
typedef enum wk_gemm_tile {
    WK_TILE_NONE,
    WK_TILE_128X208,
    WK_TILE_64X208,
    WK_TILE_64X80,
    WK_TILE_128X256,
    WK_TILE_128X128,
    WK_TILE_64X128,
    WK_TILE_RESIDENT,
    WK_TILE_COUNT
} wk_gemm_tile;

/// What the choice of a tile depends on.
typedef struct wk_gemm_sizes {
    size_t stacks, m, n, k[2]; // k[1] is 0 unless there are two terms
    bool reduce;               // over the stack
    bool simple;               // the result is bf16 alone, and nothing but a bias, ELU or the slope
                               // at a layer's bf16 output with b transposed comes to it
} wk_gemm_sizes;

/// Terms and columns of weights that can be resident.
enum { WK_RESIDENT_TERMS_MAX = 400, WK_RESIDENT_COLUMNS_MAX = 416 };
/// The tile that is estimated to be the fastest on so many multiprocessors: of a population, a
/// member's share of them.
wk_gemm_tile wk_gemm_choose_tile(const wk_gemm_sizes *z, int processors);

#endif
