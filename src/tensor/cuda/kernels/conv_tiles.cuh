// The kernel of conv_direct.cu: tiles are prefetched to shared memory, multiplied by tensor cores,
// and the epilogue applied.
#ifndef WK_TENSOR_CUDA_KERNELS_CONV_TILES_CUH
#define WK_TENSOR_CUDA_KERNELS_CONV_TILES_CUH

#include "tensor/cuda/kernels/conv_source.cuh"
#include "tensor/cuda/kernels/mma.cuh"

static __device__ void load_matrix4(unsigned (&r)[4], unsigned place, bool transposed)
{
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
}

static __device__ void load_matrix2(unsigned (&r)[4], unsigned place, bool transposed)
{
    if (transposed)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(place));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(place));
}

static __device__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned *b)
{
    wk_mma(c, make_uint4(a[0], a[1], a[2], a[3]), make_uint2(b[0], b[1]));
}

// The eight warps stand four high and two wide; each has 32 rows and half of the columns.
template <int COLS> struct sums {
    float v[2][COLS / 16][4];
};

// Where a lane begins to read in the tiles, in bytes. A quarter of the lanes gives the rows of one
// of the four 8x8 matrices that a load brings: for the left two below one another and the same at
// the next depth, for the right two depths of eight columns and of the next eight.
template <int MODE, int COLS> static __device__ void lane_places(unsigned *left, unsigned *right)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, in = lane % 8, quarter = lane / 8;
    unsigned m = warp / 2 * 32 + quarter % 2 * 8, k = quarter / 2 * 8;
    *left = MODE == WEIGHTS ? (k + in) * ROW_LEFT_TRANSPOSED + m : (m + in) * ROW_LEFT + k;
    unsigned n = warp % 2 * (COLS / 2) + quarter / 2 * 8;
    k = quarter % 2 * 8;
    *right = MODE == TRANSPOSED ? (n + in) * ROW_LEFT + k : (k + in) * (COLS + 8) + n;
    *left *= sizeof(__nv_bfloat16);
    *right *= sizeof(__nv_bfloat16);
}

template <int MODE, int COLS>
static __device__ void multiply_tiles(unsigned left, unsigned right, sums<COLS> &sum)
{
    const unsigned size = sizeof(__nv_bfloat16);
    const unsigned left_m = MODE == WEIGHTS ? size : ROW_LEFT * size;
    const unsigned left_k = MODE == WEIGHTS ? ROW_LEFT_TRANSPOSED * size : size;
    const unsigned right_n = MODE == TRANSPOSED ? ROW_LEFT * size : size;
    const unsigned right_k = MODE == TRANSPOSED ? size : (COLS + 8) * size;
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 16) {
        unsigned a[2][4];
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            load_matrix4(a[i], left + i * 16 * left_m + k * left_k, MODE == WEIGHTS);
#pragma unroll
        for (unsigned n = 0; n < COLS / 16; n += 2) {
            unsigned b[4], place = right + n * 8 * right_n + k * right_k;
            if (n + 1 == COLS / 16) // the lanes of the next eight columns are not needed
                load_matrix2(b, place, MODE != TRANSPOSED);
            else
                load_matrix4(b, place, MODE != TRANSPOSED);
#pragma unroll
            for (unsigned half = 0; half < 2 && n + half < COLS / 16; half++) {
                multiply(sum.v[0][n + half], a[0], b + 2 * half);
                multiply(sum.v[1][n + half], a[1], b + 2 * half);
            }
        }
    }
}

// A row of the result: FORWARD and WEIGHTS have its first number, TRANSPOSED a pixel of a class.
typedef struct result_row {
    size_t base;
    unsigned row, column;
} result_row;

template <int MODE>
static __device__ result_row result_row_of(const conv_job &j, const block_work &b, unsigned m)
{
    result_row r = {(size_t)m * j.columns, 0, 0};
    if (MODE == WEIGHTS) r.base += slice_of<MODE>(j) * j.z.weights;
    if (MODE != TRANSPOSED) return r;
    unsigned image;
    locate(m, j.by_class[b.h.first], b.v.length, j.by_class[b.v.first], &image, &r.row, &r.column);
    r.base = image * j.z.large_count;
    return r;
}

// The place of a result in y; false where a class has no such pixel. `channel` receives its own.
template <int MODE>
static __device__ bool place_of(const conv_job &j, const block_work &b, const result_row &r,
                                unsigned column, size_t *place, unsigned *channel)
{
    *place = r.base + column;
    *channel = column;
    if (MODE != TRANSPOSED) return true;
    class_column q = class_column_of(j, b, column);
    unsigned y = r.row * j.z.stride + q.down, x = r.column * j.z.stride + q.right;
    *place = r.base + ((size_t)y * j.z.large + x) * j.z.large_c + q.channel;
    *channel = q.channel;
    return y < j.z.large && x < j.z.large;
}

static __device__ void put_one(const conv_job &j, size_t place, unsigned channel, float v)
{
    if (j.bias) v += j.bias[channel];
    v = j.y ? wk_activate(j.act, v) : wk_activate_bf16(j.act, v);
    if (j.y) j.y[place] = v;
    if (j.y_bf16) j.y_bf16[place] = __float2bfloat16_rn(v);
}

// Eight channels; the activation is none, or ELU for a result in bf16 alone.
static __device__ void put_eight(const conv_job &j, size_t place, unsigned channel, const float *x)
{
    float v[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        v[i] = x[i] + (j.bias ? j.bias[channel + i] : 0.0f);
        if (j.act == WK_ELU) v[i] = wk_activate_bf16(WK_ELU, v[i]);
    }
    wk_eight eight = {make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
    wk_out{j.y, j.y_bf16}.put8(place / CHUNK, eight);
}

// Results are collected in shared memory and leave it in chunks: memory takes parts of its 32-byte
// sectors slowly, and the code that finishes a number stands here once and not for each of a
// thread's, which the instruction cache would not hold.
template <int MODE, int COLS>
static __device__ void store(const conv_job &j, const block_work &b, const sums<COLS> &sum,
                             float *tile)
{
    const unsigned line = COLS + 4;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned m0 = warp / 2 * 32 + lane / 4, n0 = warp % 2 * (COLS / 2) + lane % 4 * 2;
    __syncthreads(); // no thread reads the last tiles any more
#pragma unroll
    for (unsigned n = 0; n < COLS / 16; n++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            *(float2 *)(tile + (m0 + i * 8) * line + n0 + n * 8) =
                make_float2(sum.v[i / 2][n][i % 2 * 2], sum.v[i / 2][n][i % 2 * 2 + 1]);
    __syncthreads();
#pragma unroll 1
    for (unsigned id = threadIdx.x; id < ROWS * COLS / CHUNK; id += THREADS) {
        unsigned row = id / (COLS / CHUNK), at = id % (COLS / CHUNK) * CHUNK, channel;
        unsigned m = blockIdx.x * ROWS + row, column = first_column<MODE, COLS>(j) + at;
        const float *from = tile + row * line + at;
        size_t place;
        if (m >= b.rows || column >= j.columns) continue;
        result_row r = result_row_of<MODE>(j, b, m);
        if (j.chunks) {
            if (place_of<MODE>(j, b, r, column, &place, &channel))
                put_eight(j, place, channel, from);
            continue;
        }
#pragma unroll 1
        for (unsigned k = 0; k < CHUNK && column + k < j.columns; k++)
            if (place_of<MODE>(j, b, r, column + k, &place, &channel))
                put_one(j, place, channel, from[k]);
    }
}

template <int MODE, int COLS> struct tile_sizes {
    static const int left = MODE == WEIGHTS ? DEPTH * ROW_LEFT_TRANSPOSED : ROWS * ROW_LEFT;
    static const int right = MODE == TRANSPOSED ? COLS * ROW_LEFT : DEPTH * (COLS + 8);
    static const int stage = left + right;
    static const int bytes = STAGES * stage * (int)sizeof(__nv_bfloat16);
};

template <int MODE, int COLS>
static __global__ void __launch_bounds__(THREADS, 3) conv_kernel(const conv_job j)
{
    extern __shared__ __align__(16) __nv_bfloat16 memory[];
    typedef tile_sizes<MODE, COLS> tiles;
    const block_work b = work_of<MODE>(j);
    if (blockIdx.x * ROWS >= b.rows) return; // the classes of TRANSPOSED differ in size
    source from = source_of<MODE, COLS>(j, b);
    unsigned steps = (b.depth + DEPTH - 1) / DEPTH;
    unsigned base = (unsigned)__cvta_generic_to_shared(memory), left, right;
    const unsigned stage = tiles::stage * sizeof(__nv_bfloat16);
    const unsigned behind = tiles::left * sizeof(__nv_bfloat16);
    lane_places<MODE, COLS>(&left, &right);
    unsigned filled = base; // the stage that is loaded next
    auto load = [&](unsigned step) {
        if (step < steps) {
            load_left<MODE>(j, b, from, filled);
            load_right<MODE, COLS>(j, b, from, step, filled + behind);
            advance<MODE>(j, b, &from);
            filled = filled == base + (STAGES - 1) * stage ? base : filled + stage;
        }
        asm volatile("cp.async.commit_group;");
    };
    sums<COLS> sum = {};
    for (unsigned step = 0; step < STAGES - 1; step++)
        load(step);
    unsigned used = base;
    for (unsigned step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads(); // the tiles are loaded, and no thread reads those that are overwritten
                         // next
        load(step + STAGES - 1);
        multiply_tiles<MODE, COLS>(used + left, used + behind + right, sum);
        used = used == base + (STAGES - 1) * stage ? base : used + stage;
    }
    store<MODE, COLS>(j, b, sum, (float *)memory);
}

#endif
