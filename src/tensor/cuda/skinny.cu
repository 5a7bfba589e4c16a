// Products of at most 16 rows, as a recurrence has them: the matrix b is read once, so the time is
// that of getting it out of the cache, and every block gets 16 of its columns. The warps of a block
// share the sum among them and add up their parts in a fixed order.
#include "tensor/cuda/skinny.cuh"

enum { WARPS = 8, TILE = 16, STEP = 16 };

// Two neighbouring numbers of a row; zeros outside.
static __device__ inline unsigned pair(const __nv_bfloat16 *x, size_t at, bool inside)
{
    return inside ? *(const unsigned *)(x + at) : 0u;
}

// acc [16,8] += a [16,16] b [16,8].
static __device__ inline void multiply_add(float acc[4], const unsigned a[4], const unsigned b[2])
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// The fragments of b for the two halves of the tile. With b stored [n,k], half j has the columns
// 8j ... 8j+7. With b stored [k,n], a thread loads neighbouring columns together, and half j has
// every second one.
template <bool TRANSPOSED>
static __device__ inline void load_b(const wk_cuda_skinny &p, const __nv_bfloat16 *b, unsigned n0,
                                     unsigned k0, unsigned g, unsigned t, unsigned out[2][2])
{
    for (unsigned high = 0; high < 2; high++) {
        unsigned k = k0 + 8 * high + 2 * t;
        bool inside = k < p.k;
        if (TRANSPOSED) {
            for (unsigned j = 0; j < 2; j++) {
                unsigned n = n0 + 8 * j + g;
                out[j][high] = pair(b, (size_t)n * p.row_b + k, inside && n < p.n);
            }
        } else {
            unsigned n = n0 + 2 * g;
            unsigned first = pair(b, (size_t)k * p.row_b + n, inside && n < p.n);
            unsigned second = pair(b, (size_t)(k + 1) * p.row_b + n, inside && n < p.n);
            out[0][high] = __byte_perm(first, second, 0x5410);
            out[1][high] = __byte_perm(first, second, 0x7632);
        }
    }
}

template <bool TRANSPOSED> static __global__ void skinny_kernel(wk_cuda_skinny p)
{
    __shared__ float part[WARPS][TILE][TILE + 1];
    wk_begin();
    const __nv_bfloat16 *a = p.a + blockIdx.y * p.stride_a, *b = p.b + blockIdx.y * p.stride_b;
    unsigned warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    unsigned n0 = blockIdx.x * TILE;
    float acc[2][4] = {};
#pragma unroll 4
    for (unsigned k0 = warp * STEP; k0 < p.k; k0 += WARPS * STEP) {
        unsigned fa[4], fb[2][2], k = k0 + 2 * t;
        fa[0] = pair(a, (size_t)g * p.row_a + k, g < p.m);
        fa[1] = pair(a, (size_t)(g + 8) * p.row_a + k, g + 8 < p.m);
        fa[2] = pair(a, (size_t)g * p.row_a + k + 8, g < p.m && k + 8 < p.k);
        fa[3] = pair(a, (size_t)(g + 8) * p.row_a + k + 8, g + 8 < p.m && k + 8 < p.k);
        load_b<TRANSPOSED>(p, b, n0, k0, g, t, fb);
        multiply_add(acc[0], fa, fb[0]);
        multiply_add(acc[1], fa, fb[1]);
    }
    for (unsigned j = 0; j < 2; j++)
        for (unsigned i = 0; i < 4; i++) {
            unsigned n = 2 * t + i % 2;
            part[warp][g + i / 2 * 8][TRANSPOSED ? 8 * j + n : 2 * n + j] = acc[j][i];
        }
    __syncthreads();
    unsigned row = threadIdx.x / TILE, col = threadIdx.x % TILE;
    if (row >= p.m || n0 + col >= p.n) return;
    float sum = part[0][row][col];
    for (unsigned w = 1; w < WARPS; w++)
        sum += part[w][row][col];
    float *out = p.out + blockIdx.y * p.stride_out + (size_t)row * p.n + n0 + col;
    *out = p.accumulate ? *out + sum : sum;
}

void wk_cuda_skinny_gemm(const wk_cuda_call *c, const wk_cuda_skinny *p, bool transpose_b,
                         unsigned stacks)
{
    dim3 grid((p->n + TILE - 1) / TILE, stacks);
    if (transpose_b)
        wk_launch(c, skinny_kernel<true>, grid, WARPS * 32, *p);
    else
        wk_launch(c, skinny_kernel<false>, grid, WARPS * 32, *p);
}
