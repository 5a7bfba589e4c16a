// Matrix products with few results, few terms, or few columns of a weight's gradient: the head of
// an actor or a critic, an action, and their gradients. A library made for large products pads
// them, or leaves most of the device idle; here each is one pass over its long operand.
#include "tensor/cuda/columns.cuh"
#include "tensor/cuda/lane.cuh"
#include "tensor/truncated.h"

// At most this many columns, terms or results are few.
enum { FEW = 16 };

static __device__ inline float rounded(float x)
{
    return __bfloat162float(__float2bfloat16_rn(x));
}

// out[s] = a[s] b[s] with few results a row: sums of k terms by the tensor cores.

enum { TILE_ROWS = 16, WARPS = 8, CHUNK = 32, MOST_TERMS = 640 };
enum { WARP_CHUNKS = (MOST_TERMS / CHUNK + WARPS - 1) / WARPS };

typedef struct results_job {
    const __nv_bfloat16 *a;
    const float *b;
    float *out;
    unsigned m, n, k;
    size_t stride_a, stride_b;
    unsigned b_term, b_result; // from one to the next in b
    bool accumulate;
    // What is done with the results on the way, where it is there: a bias is added, and an action
    // of half as many numbers is drawn from them.
    const float *bias;
    size_t stride_bias;
    float *action;
    uint64_t key;
    const void *counter;
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

static __device__ inline void multiply_tile(float (&c)[4], unsigned a0, unsigned a1, unsigned a2,
                                            unsigned a3, unsigned b0, unsigned b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Rows in shared memory begin in different banks.
typedef __nv_bfloat16 few_matrix[FEW][MOST_TERMS + 8];

// b as [result][term], filled up with zeros to whole chunks.
static __device__ inline void load_few(const results_job &j, few_matrix &few)
{
    const float *b = j.b + blockIdx.y * j.stride_b;
    unsigned terms = (j.k + CHUNK - 1) / CHUNK * CHUNK;
    bool by_terms = j.b_term == 1; // neighbouring threads read neighbours
    for (unsigned i = threadIdx.x; i < FEW * terms; i += blockDim.x) {
        unsigned result = by_terms ? i / terms : i % FEW, term = by_terms ? i % terms : i / FEW;
        bool real = result < j.n && term < j.k;
        few[result][term] =
            __float2bfloat16_rn(real ? b[(size_t)term * j.b_term + result * j.b_result] : 0.0f);
    }
}

// This warp's share of the tile's sums, [row][result].
template <int TILES>
static __device__ inline void sum_terms(const results_job &j, const row_pair (&part)[WARP_CHUNKS],
                                        const few_matrix &few, float (&sum)[TILE_ROWS][FEW])
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
            uint4 b = *(const uint4 *)&few[8 * t + lane / 4][first + lane % 4 * 8];
            multiply_tile(c[t], p.upper.x, p.lower.x, p.upper.y, p.lower.y, b.x, b.y);
            multiply_tile(c[t], p.upper.z, p.lower.z, p.upper.w, p.lower.w, b.z, b.w);
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
                                             float (&sum)[WARPS][TILE_ROWS][FEW])
{
    unsigned row = threadIdx.x / FEW, col = threadIdx.x % FEW, at = tile * TILE_ROWS + row;
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
    uint32_t word = wk_random_word(j.key, *(const uint64_t *)j.counter, i);
    j.action[i] = wk_truncated_sample(choice, wk_unit_float(word));
}

template <int TILES> static __global__ void few_results_kernel(results_job j)
{
    static_assert(TILE_ROWS * FEW == WARPS * 32, "a thread for each result");
    __shared__ few_matrix few;
    __shared__ float sum[WARPS][TILE_ROWS][FEW];
    wk_begin();
    row_pair part[WARP_CHUNKS];
    unsigned tiles = (j.m + TILE_ROWS - 1) / TILE_ROWS;
    load_rows(j, blockIdx.x, part);
    load_few(j, few);
    __syncthreads();
    for (unsigned tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        sum_terms<TILES>(j, part, few, sum[threadIdx.x / 32]);
        if (tile + gridDim.x < tiles) load_rows(j, tile + gridDim.x, part);
        __syncthreads();
        finish_results(j, tile, sum);
        __syncthreads();
    }
}

static bool has_few_results(const wk_cuda_call *c, const wk_cuda_product *p)
{
    return p->n <= FEW && p->k % 8 == 0 && p->k <= MOST_TERMS && !p->transpose_a &&
           (p->stacks == 1 || p->stride_c) && !(c->halves & 2) && (c->numbers & 1) &&
           (uintptr_t)c->in[0] % 32 == 0;
}

static results_job results_of(const wk_cuda_call *c, const wk_cuda_product *p)
{
    results_job j = {};
    j.a = wk_cuda_half(c, wk_call_in(c, 0), wk_shape_count(wk_call_input_shape(c, 0)));
    j.b = wk_call_in(c, 1);
    j.out = wk_call_out(c, 0);
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.k = (unsigned)p->k;
    j.stride_a = p->stride_a;
    j.stride_b = p->stride_b;
    j.b_term = p->transpose_b ? 1 : j.n;
    j.b_result = p->transpose_b ? j.k : 1;
    j.accumulate = p->accumulate;
    return j;
}

// What is done with the calls after the product.
static void add_merged(const wk_cuda_call *c, results_job *j)
{
    if (c->merged < 1) return;
    j->bias = wk_call_in(c + 1, 1);
    j->stride_bias = wk_shape_count(wk_call_input_shape(c + 1, 1)) > j->n ? j->n : 0;
    if (c->merged < 2) return;
    j->action = wk_call_out(c + 2, 0);
    j->key = c[2].node->attrs.random.key;
    j->counter = c[2].in[1];
}

static bool multiply_few_results(const wk_cuda_call *c, const wk_cuda_product *p)
{
    if (!has_few_results(c, p)) return false;
    results_job j = results_of(c, p);
    add_merged(c, &j);
    size_t tiles = (p->m + TILE_ROWS - 1) / TILE_ROWS, most = (132 * 6 + p->stacks - 1) / p->stacks;
    dim3 grid((unsigned)(tiles < most ? tiles : most), (unsigned)p->stacks);
    wk_launch(c, p->n <= 8 ? few_results_kernel<1> : few_results_kernel<2>, grid, WARPS * 32, j);
    return true;
}

// Whether a call adds a bias and nothing else to the product before it, in its place.
static bool adds_bias(const wk_cuda_call *c, const wk_cuda_call *product, const wk_cuda_product *p)
{
    if (c->node->op != WK_OP_bias_act || c->chained || c->node->input_count < 2 || !c->in[1])
        return false;
    wk_shape to = wk_call_output_shape(c, 0);
    size_t stacks = wk_shape_count(wk_call_input_shape(c, 1)) / p->n;
    return c->node->attrs.bias_act.activation == WK_IDENTITY && c->in[0] == product->out[0] &&
           c->out[0] == product->out[0] && (c->numbers & 1) &&
           wk_info(c->g, wk_node_inputs(c->g, c->node)[0])->root == product->node->outputs &&
           (size_t)to.dim[to.rank - 1] == p->n && (stacks == 1 || stacks == p->stacks);
}

static bool meets(const wk_cuda_call *c, int input, const void *out, size_t size)
{
    const char *x = (const char *)c->in[input], *y = (const char *)out;
    return x < y + size &&
           y < x + wk_type_size(wk_info(c->g, wk_node_inputs(c->g, c->node)[input])->type);
}

// Whether a call draws actions from the choices of the call before it, and may write them while the
// weights of that are still read.
static bool draws_action(const wk_cuda_call *c, const wk_cuda_call *choice,
                         const wk_cuda_call *product)
{
    if (c->node->op != WK_OP_truncated_normal_sample || c->in[0] != choice->out[0]) return false;
    if (wk_info(c->g, wk_node_inputs(c->g, c->node)[0])->root !=
        wk_info(c->g, choice->node->outputs)->root)
        return false;
    size_t size = wk_call_count(c) * sizeof(float);
    return !meets(product, 1, c->out[0], size) && !meets(choice, 1, c->out[0], size);
}

void wk_cuda_merge_heads(wk_cuda_call *calls, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        wk_cuda_call *c = &calls[i];
        if (c->precision != WK_CUDA_BF16 || c->node->op != WK_OP_matmul || c->chained) continue;
        wk_cuda_product p = wk_cuda_product_of(c);
        if (!has_few_results(c, &p) || p.accumulate || !adds_bias(c + 1, c, &p)) continue;
        c->merged = i + 2 < count && draws_action(c + 2, c + 1, c) ? 2 : 1;
        for (unsigned k = 1; k <= c->merged; k++)
            c[k].skipped = true;
    }
}

// out[s] = a[s] b[s] with few terms: four neighbouring results a thread, whose columns of b stay in
// registers while it goes down the rows.

typedef struct terms_job {
    const float *a, *b;
    wk_out out;
    unsigned m, n, k;
    size_t stride_a, stride_b;
    unsigned b_term, b_result;
    bool accumulate; // to out.x
} terms_job;

template <int TERMS> static __global__ void few_terms_kernel(terms_job j)
{
    wk_begin();
    unsigned quads = j.n / 4, high = blockDim.x / quads;
    unsigned quad = threadIdx.x % quads, row = threadIdx.x / quads;
    if (row >= high) return;
    const float *a = j.a + blockIdx.y * j.stride_a, *b = j.b + blockIdx.y * j.stride_b;
    float w[TERMS][4];
#pragma unroll
    for (unsigned t = 0; t < TERMS; t++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            w[t][i] = t < j.k ? rounded(b[(size_t)t * j.b_term + (4 * quad + i) * j.b_result]) : 0;
    for (row += blockIdx.x * high; row < j.m; row += gridDim.x * high) {
        size_t at = ((size_t)blockIdx.y * j.m + row) * quads + quad;
        float4 sum = j.accumulate ? ((const float4 *)j.out.x)[at] : make_float4(0, 0, 0, 0);
#pragma unroll
        for (unsigned t = 0; t < TERMS; t++) {
            float x = t < j.k ? rounded(a[(size_t)row * j.k + t]) : 0.0f;
            sum = make_float4(fmaf(x, w[t][0], sum.x), fmaf(x, w[t][1], sum.y),
                              fmaf(x, w[t][2], sum.z), fmaf(x, w[t][3], sum.w));
        }
        j.out.put4(at, sum);
    }
}

static bool multiply_few_terms(const wk_cuda_call *c, const wk_cuda_product *p)
{
    bool fits = p->k <= FEW && p->n % 4 == 0 && p->n <= 4 * WK_CUDA_THREADS && !p->transpose_a &&
                (p->stacks == 1 || p->stride_c) && !(c->halves & 3) &&
                (uintptr_t)c->out[0] % 16 == 0;
    if (!fits) return false;
    terms_job j = {};
    j.a = wk_call_in(c, 0);
    j.b = wk_call_in(c, 1);
    j.out = wk_call_store(c, 0);
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.k = (unsigned)p->k;
    j.stride_a = p->stride_a;
    j.stride_b = p->stride_b;
    j.b_term = p->transpose_b ? 1 : j.n;
    j.b_result = p->transpose_b ? j.k : 1;
    j.accumulate = p->accumulate;
    size_t high = WK_CUDA_THREADS / (p->n / 4), blocks = (p->m + 2 * high - 1) / (2 * high);
    size_t most = (132 * 8 + p->stacks - 1) / p->stacks;
    dim3 grid((unsigned)(blocks < most ? blocks : most), (unsigned)p->stacks);
    wk_launch(c,
              p->k == 1    ? few_terms_kernel<1>
              : p->k <= 6  ? few_terms_kernel<6>
              : p->k <= 12 ? few_terms_kernel<12>
                           : few_terms_kernel<FEW>,
              grid, WK_CUDA_THREADS, j);
    return true;
}

// out[s] = a[s]' b[s] with few columns, sums over many rows: two neighbouring columns of a a
// thread, with all their results in registers. Blocks take rows in turn and their sums are added in
// order.

enum { GRADIENT_ROWS = 64 };

typedef struct gradient_job {
    const __nv_bfloat16 *a;
    const float *b;
    float *partial; // [stack][chunk][m][n]
    unsigned rows, chunk_rows, m, n;
    size_t stride_a, stride_b;
} gradient_job;

// Some rows of b, filled up with zeros.
template <int RESULTS>
static __device__ inline void load_results(const gradient_job &j, unsigned first, unsigned end,
                                           float (&few)[GRADIENT_ROWS][RESULTS])
{
    const float *b = j.b + blockIdx.z * j.stride_b;
    for (unsigned i = threadIdx.x; i < GRADIENT_ROWS * RESULTS; i += blockDim.x) {
        unsigned row = first + i / RESULTS, col = i % RESULTS;
        bool real = row < end && col < j.n;
        few[i / RESULTS][col] = real ? rounded(b[(size_t)row * j.n + col]) : 0.0f;
    }
}

template <int RESULTS> static __global__ void few_gradient_kernel(gradient_job j)
{
    __shared__ __align__(16) float few[GRADIENT_ROWS][RESULTS];
    wk_begin();
    unsigned pair = blockIdx.x * blockDim.x + threadIdx.x, pairs = j.m / 2;
    unsigned begin = blockIdx.y * j.chunk_rows, end = min(begin + j.chunk_rows, j.rows);
    const unsigned *a = (const unsigned *)(j.a + blockIdx.z * j.stride_a) + pair;
    float low[RESULTS] = {}, high[RESULTS] = {};
    for (unsigned first = begin; first < end; first += GRADIENT_ROWS) {
        __syncthreads();
        load_results<RESULTS>(j, first, end, few);
        __syncthreads();
        unsigned count = min(end - first, (unsigned)GRADIENT_ROWS);
        if (pair >= pairs) continue;
#pragma unroll 8
        for (unsigned row = 0; row < count; row++) {
            float2 x = wk_two_floats(a[(size_t)(first + row) * pairs]);
#pragma unroll
            for (unsigned i = 0; i < RESULTS; i++) {
                low[i] = fmaf(x.x, few[row][i], low[i]);
                high[i] = fmaf(x.y, few[row][i], high[i]);
            }
        }
    }
    if (pair >= pairs) return;
    float *to =
        j.partial + (((size_t)blockIdx.z * gridDim.y + blockIdx.y) * pairs + pair) * 2 * j.n;
#pragma unroll
    for (unsigned i = 0; i < RESULTS; i++) {
        if (i >= j.n) break;
        to[i] = low[i];
        to[j.n + i] = high[i];
    }
}

static bool multiply_few_gradient(const wk_cuda_call *c, const wk_cuda_product *p)
{
    enum { BLOCKS = 132 * 4, SHORTEST = 32 };
    bool fits = p->transpose_a && !p->transpose_b && p->n <= FEW && p->m % 8 == 0 &&
                p->k >= GRADIENT_ROWS && (c->numbers & 1) && (p->stacks == 1 || p->stride_c) &&
                !p->accumulate && !(c->halves & 2) && (uintptr_t)c->in[0] % 32 == 0;
    if (!fits) return false;
    size_t wide = (p->m / 2 + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    size_t wanted = BLOCKS / (wide * p->stacks), most = p->k / SHORTEST;
    size_t chunks = wanted < 1 ? 1 : wanted < most ? wanted : most;
    size_t chunk_rows = (p->k + chunks - 1) / chunks;
    chunks = (p->k + chunk_rows - 1) / chunk_rows;
    size_t results = p->m * p->n;
    gradient_job j = {};
    j.a = wk_cuda_half(c, wk_call_in(c, 0), wk_shape_count(wk_call_input_shape(c, 0)));
    j.b = wk_call_in(c, 1);
    j.partial = wk_call_out(c, 0);
    if (chunks > 1)
        j.partial = (float *)wk_cuda_scratch(c, p->stacks * chunks * results * sizeof(float));
    j.rows = (unsigned)p->k;
    j.chunk_rows = (unsigned)chunk_rows;
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.stride_a = p->stride_a;
    j.stride_b = p->stride_b;
    dim3 grid((unsigned)wide, (unsigned)chunks, (unsigned)p->stacks);
    wk_launch(c,
              p->n == 1    ? few_gradient_kernel<1>
              : p->n <= 8  ? few_gradient_kernel<8>
              : p->n <= 12 ? few_gradient_kernel<12>
                           : few_gradient_kernel<FEW>,
              grid, WK_CUDA_THREADS, j);
    if (chunks == 1) return true;
    dim3 tiles((unsigned)((results + WK_TILE_COLS - 1) / WK_TILE_COLS), (unsigned)p->stacks);
    wk_launch(c, wk_collect_kernel, tiles, dim3(WK_TILE_COLS, WK_COLLECT_ROWS), (unsigned)chunks,
              (unsigned)results, (const float *)j.partial, wk_call_out(c, 0));
    return true;
}

bool wk_cuda_multiply_few(const wk_cuda_call *c, const wk_cuda_product *p)
{
    if (c->precision != WK_CUDA_BF16) return false;
    if (multiply_few_results(c, p)) return true;
    return !c->merged && (multiply_few_terms(c, p) || multiply_few_gradient(c, p));
}
