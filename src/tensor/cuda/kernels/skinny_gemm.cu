// Skinny GEMM: small N, small K, or a weight gradient of small N, as in the head of an actor or a
// critic, an action, and their gradients. cuBLAS, made for large products, pads them or leaves most
// of the device idle; here each is one pass over its long operand.
#include "tensor/cuda/kernels/column_sums.cuh"
#include "tensor/cuda/kernels/mma.cuh"
#include "tensor/cuda/runtime/stream_context.cuh"
#include "tensor/truncated.h"

enum { SKINNY = WK_SKINNY_MAX };

// Small N: out[s] = a[s] b[s], sums of k terms by the tensor cores.

enum { TILE_ROWS = 16, WARPS = 8, CHUNK = 32, TERMS_MAX = WK_SKINNY_ROW_MAX };
enum { WARP_CHUNKS = (TERMS_MAX / CHUNK + WARPS - 1) / WARPS };

typedef struct results_job {
    wk_ptr<const __nv_bfloat16> a;
    wk_ptr<const float> b;
    wk_ptr<float> out;
    unsigned m, n, k;
    size_t stride_a, stride_b;
    wk_divisor by_row; // of b
    bool b_is_wide;    // [n,k] instead of [k,n]
    bool accumulate;
    // The epilogue, where there is one: a bias is added, and an action of half as many numbers is
    // drawn from them.
    wk_ptr<const float> bias;
    size_t stride_bias;
    wk_ptr<float> action;
    wk_ptr<const uint64_t> key, counter;
} results_job;

// Eight terms of two rows of a, a lane's part of a chunk.
struct row_pair {
    uint4 upper, lower;
};

static __device__ inline uint4 load_terms(const results_job &j, const __nv_bfloat16 *a,
                                          unsigned row, unsigned term)
{
    if (row >= j.m || term >= j.k) return make_uint4(0, 0, 0, 0);
    return *(const uint4 *)(a + (size_t)row * j.k + term);
}

// A lane's terms of all chunks of its warp. Which lane has which terms does not matter as long as
// both operands agree.
static __device__ inline void load_rows(const results_job &j, unsigned tile,
                                        row_pair (&part)[WARP_CHUNKS])
{
    const __nv_bfloat16 *a = j.a + blockIdx.y * j.stride_a;
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = tile * TILE_ROWS + lane / 4;
#pragma unroll
    for (unsigned i = 0; i < WARP_CHUNKS; i++) {
        unsigned term = (warp + i * WARPS) * CHUNK + lane % 4 * 8;
        part[i].upper = load_terms(j, a, row, term);
        part[i].lower = load_terms(j, a, row + 8, term);
    }
}

// Rows in shared memory begin in different banks.
struct alignas(16) skinny_matrix {
    __nv_bfloat16 row[SKINNY][TERMS_MAX + 8];

    __device__ __nv_bfloat16 *operator[](unsigned i)
    {
        return row[i];
    }
};

// b as [result][term], filled up with zeros. Many loads are in flight at once: one after the other
// they would take longer than everything else.
static __device__ inline void load_skinny(const results_job &j, skinny_matrix &skinny)
{
    enum { PREFETCH = 20, THREADS = WARPS * 32 };
    const float *b = j.b + blockIdx.y * j.stride_b;
    unsigned count = j.k * j.n;
    for (unsigned i = threadIdx.x; i < sizeof skinny / sizeof(uint4); i += THREADS)
        ((uint4 *)skinny.row)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    for (unsigned first = threadIdx.x; first < count; first += PREFETCH * THREADS) {
        float v[PREFETCH];
#pragma unroll
        for (unsigned i = 0; i < PREFETCH; i++)
            v[i] = first + i * THREADS < count ? b[first + i * THREADS] : 0.0f;
#pragma unroll
        for (unsigned i = 0; i < PREFETCH; i++) {
            unsigned at = first + i * THREADS;
            if (at >= count) break;
            unsigned major = wk_quotient(at, j.by_row), minor = at - major * j.by_row.value;
            skinny[j.b_is_wide ? major : minor][j.b_is_wide ? minor : major] =
                __float2bfloat16_rn(v[i]);
        }
    }
}

// This warp's share of the tile's sums, [row][result].
template <int TILES>
static __device__ inline void sum_terms(const results_job &j, const row_pair (&part)[WARP_CHUNKS],
                                        skinny_matrix &skinny, float (&sum)[TILE_ROWS][SKINNY])
{
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float c[TILES][4] = {};
#pragma unroll
    for (unsigned i = 0; i < WARP_CHUNKS; i++) {
        unsigned first = (warp + i * WARPS) * CHUNK;
        if (first >= j.k) break;
        const row_pair &p = part[i];
#pragma unroll
        for (int t = 0; t < TILES; t++) {
            uint4 b = *(const uint4 *)&skinny[8 * t + lane / 4][first + lane % 4 * 8];
            wk_mma(c[t], make_uint4(p.upper.x, p.lower.x, p.upper.y, p.lower.y),
                   make_uint2(b.x, b.y));
            wk_mma(c[t], make_uint4(p.upper.z, p.lower.z, p.upper.w, p.lower.w),
                   make_uint2(b.z, b.w));
        }
    }
    unsigned row = lane / 4, col = lane % 4 * 2;
#pragma unroll
    for (int t = 0; t < TILES; t++) {
        *(float2 *)&sum[row][8 * t + col] = make_float2(c[t][0], c[t][1]);
        *(float2 *)&sum[row + 8][8 * t + col] = make_float2(c[t][2], c[t][3]);
    }
}

// The sum of all warps, and what becomes of it; a thread for each result of the tile.
static __device__ inline void finish_results(const results_job &j, unsigned tile,
                                             float (&sum)[WARPS][TILE_ROWS][SKINNY])
{
    unsigned row = threadIdx.x / SKINNY, col = threadIdx.x % SKINNY, at = tile * TILE_ROWS + row;
    bool real = at < j.m && col < j.n;
    size_t index = (size_t)blockIdx.y * j.m + at;
    if (real) {
        float all = sum[0][row][col];
        for (int w = 1; w < WARPS; w++)
            all += sum[w][row][col];
        float *to = j.out + index * j.n + col;
        if (j.accumulate) all += *to;
        if (j.bias) all += j.bias[blockIdx.y * j.stride_bias + col];
        *to = sum[0][row][col] = all;
    }
    if (!j.action) return;
    __syncthreads();
    unsigned dims = j.n / 2;
    if (!real || col >= dims) return;
    wk_truncated choice = wk_truncated_of(sum[0][row][col], sum[0][row][col + dims]);
    unsigned i = (unsigned)index * dims + col;
    uint32_t word = wk_random_word(*j.key, *j.counter, i);
    j.action[i] = wk_truncated_sample(choice, wk_unit_float(word));
}

template <int TILES> static __global__ void skinny_n_kernel(results_job j)
{
    static_assert(TILE_ROWS * SKINNY == WARPS * 32, "a thread for each result");
    __shared__ skinny_matrix skinny;
    __shared__ float sum[WARPS][TILE_ROWS][SKINNY];
    wk_begin();
    row_pair part[WARP_CHUNKS];
    unsigned tiles = (j.m + TILE_ROWS - 1) / TILE_ROWS;
    load_rows(j, blockIdx.x, part);
    load_skinny(j, skinny);
    __syncthreads();
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        sum_terms<TILES>(j, part, skinny, sum[threadIdx.x / 32]);
        if (tile + gridDim.x < tiles) load_rows(j, tile + gridDim.x, part);
        __syncthreads();
        finish_results(j, tile, sum);
        __syncthreads();
    }
}

static results_job results_of(const wk_cuda_call *c, const wk_cuda_product *p)
{
    results_job j = {};
    j.a = wk_cuda_bf16_copy(c, wk_call_operand(c, 0), wk_shape_count(wk_call_input_shape(c, 0)));
    j.b = wk_call_in(c, 1);
    j.out = wk_call_out(c, 0);
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.k = (unsigned)p->k;
    j.stride_a = p->stride_a;
    j.stride_b = p->stride_b;
    j.by_row = wk_divisor_of(p->transpose_b ? j.k : j.n);
    j.b_is_wide = p->transpose_b;
    j.accumulate = p->accumulate;
    return j;
}

// The calls after the product that are fused into it.
static void add_fused(const wk_cuda_call *c, results_job *j)
{
    if (c->fused_next < 1) return;
    j->bias = wk_call_in(c + 1, 1);
    j->stride_bias = wk_shape_count(wk_call_input_shape(c + 1, 1)) > j->n ? j->n : 0;
    if (c->fused_next < 2) return;
    j->action = wk_call_out(c + 2, 0);
    j->key = c[2].key;
    j->counter = wk_call_at<const uint64_t>(c + 2, 1);
}

// A block for each tile of rows, about `each` for every multiprocessor at most.
static dim3 row_grid(const wk_cuda_call *c, const wk_cuda_product *p, size_t each)
{
    size_t tiles = (p->m + TILE_ROWS - 1) / TILE_ROWS;
    size_t matrices = p->stacks * (size_t)c->members;
    size_t max = (each * (size_t)c->processors + matrices - 1) / matrices;
    return dim3((unsigned)(tiles < max ? tiles : max), (unsigned)p->stacks);
}

void wk_cuda_skinny_n(const wk_cuda_call *c)
{
    wk_cuda_product p = wk_product_of(c->g, c->node);
    wk_cuda_begin_sum(c);
    results_job j = results_of(c, &p);
    add_fused(c, &j);
    dim3 grid = row_grid(c, &p, 6);
    wk_launch(c, p.n <= 8 ? skinny_n_kernel<1> : skinny_n_kernel<2>, grid, WARPS * 32, j);
}

// Small K: out[s] = a[s] b[s]. A warp keeps its columns of b in registers while it goes down
// the rows, 16 at a time.

enum { PAIR = 16, WARP_PAIRS = 5, RESULTS_MAX = WARPS * WARP_PAIRS * PAIR };
static_assert((int)RESULTS_MAX == (int)WK_SKINNY_ROW_MAX, "as the guard has it");

typedef struct terms_job {
    wk_ptr<const float> a, b;
    wk_out out;
    unsigned m, n, k;
    size_t stride_a, stride_b;
    unsigned b_term, b_result; // from one to the next in b
    bool accumulate;           // to out.x
} terms_job;

static __device__ inline unsigned two_terms(const float *x, unsigned term, unsigned step,
                                            unsigned terms)
{
    return wk_pack_bf16(term < terms ? x[(size_t)term * step] : 0.0f,
                        term + 1 < terms ? x[(size_t)(term + 1) * step] : 0.0f);
}

// The columns of a pair of tiles are dealt out so that a lane's four results are neighbours.
static __device__ inline uint2 load_column(const terms_job &j, unsigned first, unsigned which)
{
    unsigned lane = threadIdx.x % 32, tile_col = lane / 4;
    unsigned col = first + tile_col / 2 * 4 + tile_col % 2 + 2 * which;
    if (col >= j.n) return make_uint2(0, 0);
    const float *b = j.b + blockIdx.y * j.stride_b + (size_t)col * j.b_result;
    return make_uint2(two_terms(b, lane % 4 * 2, j.b_term, j.k),
                      two_terms(b, lane % 4 * 2 + 8, j.b_term, j.k));
}

static __device__ inline void put_results(const terms_job &j, unsigned row, unsigned col, float4 v)
{
    if (row >= j.m || col >= j.n) return;
    size_t at = (((size_t)blockIdx.y * j.m + row) * j.n + col) / 4;
    if (j.accumulate) {
        float4 old = j.out.x.at<const float4>()[at];
        v = make_float4(old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w);
    }
    j.out.put4(at, v);
}

static __global__ void skinny_k_kernel(terms_job j)
{
    wk_begin();
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    uint2 b[WARP_PAIRS][2];
#pragma unroll
    for (unsigned i = 0; i < WARP_PAIRS; i++)
#pragma unroll
        for (unsigned which = 0; which < 2; which++)
            b[i][which] = load_column(j, (warp + i * WARPS) * PAIR, which);
    const float *a = j.a + blockIdx.y * j.stride_a;
    for (unsigned first = blockIdx.x * TILE_ROWS; first < j.m; first += gridDim.x * TILE_ROWS) {
        unsigned row = first + lane / 4, term = lane % 4 * 2;
        const float *upper = a + (size_t)row * j.k, *lower = upper + (size_t)8 * j.k;
        unsigned above = row < j.m ? j.k : 0, below = row + 8 < j.m ? j.k : 0;
        uint4 tile = {two_terms(upper, term, 1, above), two_terms(lower, term, 1, below),
                      two_terms(upper, term + 8, 1, above), two_terms(lower, term + 8, 1, below)};
#pragma unroll
        for (unsigned i = 0; i < WARP_PAIRS; i++) {
            unsigned col = (warp + i * WARPS) * PAIR + lane % 4 * 4;
            if (col - lane % 4 * 4 >= j.n) break;
            float c[2][4] = {};
#pragma unroll
            for (unsigned which = 0; which < 2; which++)
                wk_mma(c[which], tile, b[i][which]);
            put_results(j, row, col, make_float4(c[0][0], c[0][1], c[1][0], c[1][1]));
            put_results(j, row + 8, col, make_float4(c[0][2], c[0][3], c[1][2], c[1][3]));
        }
    }
}

void wk_cuda_skinny_k(const wk_cuda_call *c)
{
    wk_cuda_product p = wk_product_of(c->g, c->node);
    wk_cuda_begin_sum(c);
    terms_job j = {};
    j.a = wk_call_in(c, 0);
    j.b = wk_call_in(c, 1);
    j.out = wk_call_store(c, 0);
    j.m = (unsigned)p.m;
    j.n = (unsigned)p.n;
    j.k = (unsigned)p.k;
    j.stride_a = p.stride_a;
    j.stride_b = p.stride_b;
    j.b_term = p.transpose_b ? 1 : j.n;
    j.b_result = p.transpose_b ? j.k : 1;
    j.accumulate = p.accumulate;
    dim3 grid = row_grid(c, &p, 4);
    wk_launch(c, skinny_k_kernel, grid, WARPS * 32, j);
}

// Small N, transposed: out[s] = a[s]' b[s], the gradient of a head's weights, sums over many rows.
// Blocks take rows in turn, 16 at a time through shared memory, and their sums are added in order.

enum { WIDTH_MAX = WK_SKINNY_ROW_MAX, WARP_TILES = WIDTH_MAX / 16 / WARPS };

typedef struct gradient_job {
    wk_ptr<const __nv_bfloat16> a;
    wk_ptr<const float> b;
    wk_ptr<float> partial; // [stack][chunk][m][n]
    unsigned rows, chunk_rows, m, n;
    size_t stride_a, stride_b;
} gradient_job;

// 16 rows of both operands.
struct alignas(16) gradient_tile {
    __nv_bfloat16 a[TILE_ROWS][WIDTH_MAX + 8];
    __nv_bfloat16 b[SKINNY][TILE_ROWS + 8]; // transposed
};

static __device__ inline void start_tile(const gradient_job &j, unsigned first, unsigned end,
                                         gradient_tile &tile)
{
    unsigned units = j.m / 8;
    const __nv_bfloat16 *a = j.a + blockIdx.y * j.stride_a;
    for (unsigned i = threadIdx.x; i < TILE_ROWS * units; i += WARPS * 32) {
        unsigned row = i / units, unit = i - row * units, bytes = first + row < end ? 16 : 0;
        const void *from = a + (size_t)(bytes ? first + row : 0) * j.m + unit * 8;
        unsigned to = (unsigned)__cvta_generic_to_shared(&tile.a[row][unit * 8]);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(bytes));
    }
    asm volatile("cp.async.commit_group;");
    unsigned row = threadIdx.x / SKINNY, col = threadIdx.x % SKINNY;
    bool real = first + row < end && col < j.n;
    const float *b = j.b + blockIdx.y * j.stride_b;
    tile.b[col][row] = __float2bfloat16_rn(real ? b[(size_t)(first + row) * j.n + col] : 0.0f);
}

// The tile's columns first ... first+15 as rows of the left operand.
static __device__ inline uint4 load_transposed(const gradient_tile &tile, unsigned first)
{
    unsigned lane = threadIdx.x % 32, row = lane % 8 + lane / 16 * 8,
             col = first + lane / 8 % 2 * 8;
    unsigned from = (unsigned)__cvta_generic_to_shared(&tile.a[row][col]);
    uint4 v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "r"(from));
    return v;
}

template <int TILES>
static __device__ inline void add_tile(const gradient_job &j, const gradient_tile &tile,
                                       float (&c)[WARP_TILES][TILES][4])
{
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    unsigned b[TILES][2];
#pragma unroll
    for (int t = 0; t < TILES; t++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            b[t][half] = *(const unsigned *)&tile.b[8 * t + lane / 4][lane % 4 * 2 + 8 * half];
#pragma unroll
    for (unsigned i = 0; i < WARP_TILES; i++) {
        unsigned first = (warp + i * WARPS) * 16;
        if (first >= j.m) break;
        uint4 a = load_transposed(tile, first);
#pragma unroll
        for (int t = 0; t < TILES; t++)
            wk_mma(c[i][t], a, make_uint2(b[t][0], b[t][1]));
    }
}

template <int TILES> static __global__ void skinny_dw_kernel(gradient_job j)
{
    __shared__ gradient_tile tile[2];
    wk_begin();
    unsigned begin = blockIdx.x * j.chunk_rows, end = min(begin + j.chunk_rows, j.rows);
    float c[WARP_TILES][TILES][4] = {};
    start_tile(j, begin, end, tile[0]);
    for (unsigned first = begin, now = 0; first < end; first += TILE_ROWS, now ^= 1) {
        start_tile(j, first + TILE_ROWS, end, tile[now ^ 1]);
        asm volatile("cp.async.wait_group 1;");
        __syncthreads();
        add_tile<TILES>(j, tile[now], c);
        __syncthreads();
    }
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float *to = j.partial + ((size_t)blockIdx.y * gridDim.x + blockIdx.x) * j.m * j.n;
#pragma unroll
    for (unsigned i = 0; i < WARP_TILES; i++)
#pragma unroll
        for (unsigned t = 0; t < TILES; t++)
#pragma unroll
            for (unsigned k = 0; k < 4; k++) {
                unsigned row = (warp + i * WARPS) * 16 + lane / 4 + k / 2 * 8;
                unsigned col = 8 * t + lane % 4 * 2 + k % 2;
                if (row < j.m && col < j.n) to[(size_t)row * j.n + col] = c[i][t][k];
            }
}

void wk_cuda_skinny_dw(const wk_cuda_call *c)
{
    enum { BLOCKS = 4 }; // for each multiprocessor
    wk_cuda_product p = wk_product_of(c->g, c->node);
    size_t tiles = (p.k + TILE_ROWS - 1) / TILE_ROWS,
           wanted = (BLOCKS * (size_t)c->processors + p.stacks - 1) / p.stacks;
    size_t chunk_tiles = (tiles + wanted - 1) / wanted;
    if (chunk_tiles < 2) chunk_tiles = 2;
    size_t chunks = (tiles + chunk_tiles - 1) / chunk_tiles, results = p.m * p.n;
    gradient_job j = {};
    j.a = wk_cuda_bf16_copy(c, wk_call_operand(c, 0), wk_shape_count(wk_call_input_shape(c, 0)));
    j.b = wk_call_in(c, 1);
    j.partial = wk_call_out(c, 0);
    if (chunks > 1) j.partial = wk_cuda_scratch_of<float>(c, p.stacks * chunks * results);
    j.rows = (unsigned)p.k;
    j.chunk_rows = (unsigned)(chunk_tiles * TILE_ROWS);
    j.m = (unsigned)p.m;
    j.n = (unsigned)p.n;
    j.stride_a = p.stride_a;
    j.stride_b = p.stride_b;
    dim3 grid((unsigned)chunks, (unsigned)p.stacks);
    wk_launch(c, p.n <= 8 ? skinny_dw_kernel<1> : skinny_dw_kernel<2>, grid, WARPS * 32, j);
    if (chunks == 1) return;
    wk_cuda_collect(c, p.stacks, (unsigned)chunks, (unsigned)results, j.partial, wk_call_out(c, 0));
}
