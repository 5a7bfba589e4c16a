#include "tensor/cuda/passes/product.h"
#include "tensor/cuda/passes/thresholds.h"
#include "tensor/plan.h"
#include "tensor/shape.h"

wk_cuda_product wk_product_of(const wk_graph *g, const wk_node *node)
{
    const int *inputs = wk_node_inputs(g, node);
    bool transpose_a = node->attrs.matmul.transpose_a, transpose_b = node->attrs.matmul.transpose_b;
    wk_matmul_sizes z =
        wk_matmul_measure(wk_info(g, inputs[0])->type.shape, wk_info(g, inputs[1])->type.shape,
                          transpose_a, transpose_b);
    wk_cuda_product p = {.stacks = (size_t)z.stack,
                         .m = (size_t)z.m,
                         .n = (size_t)z.n,
                         .k = (size_t)z.k,
                         .transpose_a = transpose_a,
                         .transpose_b = transpose_b,
                         .accumulate = node->input_count > 2};
    p.stride_a = z.shared_a ? 0 : p.m * p.k;
    p.stride_b = z.shared_b ? 0 : p.k * p.n;
    p.stride_c = node->attrs.matmul.reduce ? 0 : p.m * p.n;
    return p;
}

wk_cuda_product wk_product_joined(wk_cuda_product p)
{
    if (p.stacks <= 1) return p;
    if (p.stride_b == 0 && p.stride_a == p.m * p.k && !p.transpose_a && p.stride_c == p.m * p.n) {
        p.m *= p.stacks;
        p.stacks = 1;
    } else if (p.stride_c == 0 && p.transpose_a && !p.transpose_b && p.stride_a == p.m * p.k &&
               p.stride_b == p.k * p.n) {
        p.k *= p.stacks;
        p.stacks = 1;
    }
    return p;
}

wk_product_form wk_product_choose_form(const wk_cuda_product *p, bool whole_a, bool whole_b,
                                       bool whole_c)
{
    bool stack = p->stacks > 1 && p->stride_b && whole_b;
    if (p->k % WK_ROW_UNIT && !p->transpose_a && !p->transpose_b && whole_b)
        return WK_FORM_PADDED_TERMS;
    if (stack && !p->stride_c && p->stride_a && whole_a && !p->transpose_a && p->transpose_b &&
        p->k % WK_ROW_UNIT == 0)
        return WK_FORM_JOINED_SUM;
    if (stack && p->stride_c && !p->stride_a && whole_c && p->transpose_a && !p->transpose_b &&
        p->n % WK_ROW_UNIT == 0 && !p->accumulate && !p->bf16_c)
        return WK_FORM_SIDE_BY_SIDE;
    return WK_FORM_PLAIN;
}

enum { CLUSTER = 2, K_BLOCK = 64 };

// Warpgroups and columns of the tiles whose weights pass by.
static const int shapes[WK_TILE_RESIDENT][2] = {
    [WK_TILE_128X208] = {2, 208}, [WK_TILE_64X208] = {1, 208},  [WK_TILE_64X80] = {1, 80},
    [WK_TILE_128X256] = {2, 256}, [WK_TILE_128X128] = {2, 128}, [WK_TILE_64X128] = {1, 128}};

// Pairs of multiprocessors, at least one.
static size_t clusters_of(int processors)
{
    return processors < CLUSTER ? 1 : (size_t)(processors / CLUSTER);
}

static size_t blocks_of(size_t terms)
{
    return (terms + K_BLOCK - 1) / K_BLOCK;
}

// The time of a tile in cycles, about: rounds over the processors, each limited by the tensor cores
// or by the copying, and the writing of a tile.
static double cost(const wk_gemm_sizes *z, wk_gemm_tile tile, int processors)
{
    int warpgroups = shapes[tile][0], n = shapes[tile][1];
    size_t rows = (size_t)(CLUSTER * 64 * warpgroups);
    size_t blocks = (blocks_of(z->k[0]) + blocks_of(z->k[1])) * (z->reduce ? z->stacks : 1);
    size_t tiles = (z->m + rows - 1) / rows * ((z->n + (size_t)n - 1) / (size_t)n) *
                   (z->reduce ? 1 : z->stacks);
    size_t clusters = clusters_of(processors), rounds = (tiles + clusters - 1) / clusters;
    double multiplying = 2.0 * warpgroups * n,
           copying = (64.0 * warpgroups + n) * 128 / WK_TILE_BYTES_PER_CYCLE;
    double block = multiplying > copying ? multiplying : copying;
    return (double)rounds * ((double)blocks * block + WK_TILE_ROUND_CYCLES +
                             WK_TILE_RESULT_CYCLES * 64 * warpgroups * n);
}

// Resident weights pay where there is a tile of rows for every other pair of multiprocessors, and
// few columns are padding.
static bool is_resident(const wk_gemm_sizes *z, int processors)
{
    enum { ROWS = 64 };
    size_t tiles = (z->m + ROWS - 1) / ROWS * z->stacks;
    return z->simple && !z->k[1] && !z->reduce && z->k[0] <= WK_RESIDENT_TERMS_MAX &&
           z->n >= WK_RESIDENT_COLUMNS_MIN && z->n <= WK_RESIDENT_COLUMNS_MAX &&
           2 * tiles >= clusters_of(processors);
}

wk_gemm_tile wk_gemm_choose_tile(const wk_gemm_sizes *z, int processors)
{
    if (is_resident(z, processors)) return WK_TILE_RESIDENT;
    wk_gemm_tile best = WK_TILE_128X208;
    for (wk_gemm_tile tile = WK_TILE_64X208; tile < WK_TILE_RESIDENT; tile++) {
        double factor = tile >= WK_TILE_128X256 ? WK_TILE_MARGIN : 1;
        if (factor * cost(z, tile, processors) < cost(z, best, processors)) best = tile;
    }
    return best;
}
