// The epilogue of gemm.cu: bias, activation, slope and sums on a tile's results in registers, and
// the stores.
//
// Results in float32, and in both formats, go through a small piece of shared memory of their warp,
// so that global memory is accessed by whole chunks. Results in bf16 alone are stored by TMA.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_EPILOGUE_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_EPILOGUE_CUH

#include "tensor/cuda/hopper/gemm_tile.cuh"

static inline epilogue_kind kind_of(const wk_hopper_product *p)
{
    bool elu = p->activation == WK_ELU, slope = p->slope == WK_ELU;
    if (p->n % 8 != 0) return EPILOGUE_PAIRS;
    if (!p->out.x && !p->add && !slope) return elu ? EPILOGUE_ELU : EPILOGUE_BIAS;
    if (!p->out.x && !p->add && !p->bias && !elu && p->y.bf16 && p->transpose_b)
        return p->sums ? EPILOGUE_SLOPE_SUMS : EPILOGUE_SLOPE;
    return elu || slope ? EPILOGUE_ANY : EPILOGUE_SUM;
}

static __device__ inline float4 plus4(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static __device__ inline float4 elu4(float4 v)
{
    return make_float4(wk_activate(WK_ELU, v.x), wk_activate(WK_ELU, v.y), wk_activate(WK_ELU, v.z),
                       wk_activate(WK_ELU, v.w));
}

static __device__ inline float4 slope4(float4 v, float4 y)
{
    return make_float4(v.x * wk_activate_slope(WK_ELU, y.x), v.y * wk_activate_slope(WK_ELU, y.y),
                       v.z * wk_activate_slope(WK_ELU, y.z), v.w * wk_activate_slope(WK_ELU, y.w));
}

// Results of a warp: sixteen rows from `row` on, of columns from `col` on, in matrix `stack`.
struct warp_tile {
    unsigned row, col, stack;
};

// Eight neighbouring results of a lane, and of the rows STEP and more below: sixteen rows of COLS
// results are a warp's, in rows of PITCH in its piece of shared memory.
template <int COLS, int PITCH> struct eights {
    enum { EIGHTS = COLS / 8, STEP = 32 / EIGHTS, COUNT = 16 / STEP };
    unsigned row, col, stack; // of the first
    unsigned in_row, in_col;  // in the warp's sixteen rows

    __device__ eights(const warp_tile &p)
        : row(p.row + threadIdx.x % 32 / EIGHTS), col(p.col + threadIdx.x % EIGHTS * 8),
          stack(p.stack), in_row(threadIdx.x % 32 / EIGHTS), in_col(threadIdx.x % EIGHTS * 8)
    {
    }

    __device__ bool inside(const hopper_job &j, int i) const
    {
        return col < j.n && row + i * STEP < j.m;
    }

    // In eights from the begin of the output, where rows are whole.
    __device__ unsigned at(const hopper_job &j, int i) const
    {
        return (stack * j.m + row + i * STEP) * (j.n / 8) + col / 8;
    }

    __device__ const float4 *in(const float *piece, int i) const
    {
        return (const float4 *)(piece + (in_row + i * STEP) * PITCH + in_col);
    }
};

static __device__ inline wk_eight plus8(wk_eight v, wk_eight w)
{
    return {plus4(v.a, w.a), plus4(v.b, w.b)};
}

static __device__ inline wk_eight bias_at(const hopper_job &j, unsigned stack, unsigned col)
{
    if (!j.bias || col >= j.n) return {};
    const float4 *bias = (j.bias + (stack * j.stride_bias + col)).at<const float4>();
    return {__ldg(bias), __ldg(bias + 1)};
}

static __device__ inline wk_eight eight_at(const float *x, unsigned at)
{
    const float4 *from = (const float4 *)x + 2 * (size_t)at;
    return {from[0], from[1]};
}

// Plain sums of an even number of columns, whose rows begin at 8 bytes: neighbouring lanes have
// neighbouring pairs.
template <int COLS, int PITCH>
static __device__ inline void finish_pairs(const hopper_job &j, const float *piece,
                                           const warp_tile &p)
{
    enum { PAIRS = COLS / 2, STEP = 32 / PAIRS, COUNT = 16 / STEP };
    unsigned pair = threadIdx.x % PAIRS, in_row = threadIdx.x % 32 / PAIRS;
    unsigned row = p.row + in_row, col = p.col + 2 * pair;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        if (col >= j.n || row + i * STEP >= j.m) continue;
        float2 v = *(const float2 *)(piece + (in_row + i * STEP) * PITCH + 2 * pair);
        size_t at = (size_t)(p.stack * j.m + row + i * STEP) * j.n + col;
        if (j.add) {
            float2 add = *(j.add + at).at<const float2>();
            v = make_float2(v.x + add.x, v.y + add.y);
        }
        *(j.out.x + at).at<float2>() = v;
    }
}

// Whatever there is, in little code.
template <int COLS, int PITCH>
static __device__ inline void finish_any(const hopper_job &j, const float *piece,
                                         const warp_tile &p)
{
    eights<COLS, PITCH> e(p);
    wk_eight bias = bias_at(j, e.stack, e.col);
#pragma unroll 1
    for (int i = 0; i < e.COUNT; i++) {
        if (!e.inside(j, i)) continue;
        const float4 *from = e.in(piece, i);
        unsigned at = e.at(j, i);
        wk_eight v = plus8({from[0], from[1]}, bias);
        if (j.add) v = plus8(v, eight_at(j.add, at));
        if (j.elu) v = {elu4(v.a), elu4(v.b)};
        if (j.slope) {
            wk_eight y = j.y.get8(at);
            v = {slope4(v.a, y.a), slope4(v.b, y.b)};
        }
        j.out.put8(at, v);
    }
}

template <int COLS, int PITCH>
static __device__ inline void finish_sums(const hopper_job &j, const float *piece,
                                          const warp_tile &p)
{
    eights<COLS, PITCH> e(p);
    wk_eight bias = bias_at(j, e.stack, e.col);
#pragma unroll
    for (int i = 0; i < e.COUNT; i++) {
        const float4 *from = e.in(piece, i);
        unsigned at = e.at(j, i);
        wk_eight v = plus8({from[0], from[1]}, bias);
        if (!e.inside(j, i)) continue;
        if (j.add) v = plus8(v, eight_at(j.add, at));
        j.out.put8(at, v);
    }
}

// All columns from FIRST on, chunk after chunk through the warp's piece of shared memory.
template <class T, epilogue_kind KIND, int FIRST, int N>
static __device__ inline void write(const hopper_job &j, float (&d)[N / 2], float *piece,
                                    const warp_tile &p)
{
    if constexpr (FIRST < N) {
        constexpr int COLS = N - FIRST < T::CHUNK ? N - FIRST : T::CHUNK;
        unsigned lane = threadIdx.x % 32;
        float *to = piece + lane / 4 * T::PITCH + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < COLS / 8; i++) {
            const int from = (FIRST / 8 + i) * 4;
            *(float2 *)(to + 8 * i) = make_float2(d[from], d[from + 1]);
            *(float2 *)(to + 8 * T::PITCH + 8 * i) = make_float2(d[from + 2], d[from + 3]);
        }
        __syncwarp();
        if (KIND == EPILOGUE_SUM)
            finish_sums<COLS, T::PITCH>(j, piece, p);
        else if (KIND == EPILOGUE_PAIRS)
            finish_pairs<COLS, T::PITCH>(j, piece, p);
        else
            finish_any<COLS, T::PITCH>(j, piece, p);
        __syncwarp();
        write<T, KIND, FIRST + COLS, N>(j, d, piece, {p.row, p.col + COLS, p.stack});
    }
}

// Results in bf16 alone are finished in registers and stored by TMA from a buffer of the warp:
// parts of its columns, one after the other. The layer outputs that slopes are computed from are
// loaded into the same buffers first.

template <int LEFT> static __device__ inline void wait_stores_read(void)
{
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

template <class T>
static __device__ inline void request_slopes(const hopper_job &j, unsigned buffer, unsigned ready,
                                             const warp_tile &p)
{
    if (threadIdx.x % 32 != 0) return;
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    barrier_expect(ready, T::PARTS * T::BUFFER);
    for (int i = 0; i < T::PARTS; i++)
        fetch(buffer + i * T::BUFFER, &j.y_map, ready, (int)(p.col + i * T::PART), (int)p.row,
              (int)p.stack);
}

// The biases of a lane's columns in eights from `col` on; zeros beyond the last column.
struct biases {
    const float2 *at; // NULL: none
    unsigned eights;

    __device__ biases(const hopper_job &j, unsigned stack, unsigned col)
        : at(NULL), eights(col < j.n ? (j.n - col) / 8 : 0)
    {
        if (j.bias)
            at = (j.bias + (stack * j.stride_bias + col)).at<const float2>() + threadIdx.x % 4;
    }

    __device__ float2 operator[](unsigned i) const
    {
        return at && i < eights ? __ldg(at + 4 * i) : make_float2(0, 0);
    }
};

// Two neighbouring results times wk_activate_slope of ELU, the smaller of y and 0 for two at once.
static __device__ inline float2 slope_pair(float a, float b, unsigned y)
{
    __nv_bfloat162 low = __hmin2_nan(*(__nv_bfloat162 *)&y, __float2bfloat162_rn(0.0f));
    float2 of = wk_unpack_bf16(*(unsigned *)&low);
    return make_float2(a * (of.x + 1.0f), b * (of.y + 1.0f));
}

// Two neighbouring results; y is the word of the buffer where they will lie.
template <epilogue_kind KIND>
static __device__ inline float2 finish_two(float a, float b, float2 bias, unsigned y)
{
    if (has_slopes(KIND)) return slope_pair(a, b, y);
    a += bias.x;
    b += bias.y;
    if (KIND == EPILOGUE_ELU)
        return make_float2(wk_activate_bf16(WK_ELU, a), wk_activate_bf16(WK_ELU, b));
    return make_float2(a, b);
}

template <epilogue_kind KIND>
static __device__ inline unsigned finish_pair(float a, float b, float2 bias, unsigned y)
{
    float2 two = finish_two<KIND>(a, b, bias, y);
    return wk_pack_bf16(two.x, two.y);
}

// Sums over the warp's sixteen rows of eight times eight columns, of which a lane has a pair of
// each eight: halves are exchanged until every lane has one pair, the pairs in the order of lanes.
static __device__ inline float2 sum_rows(const float2 (&v)[8])
{
    unsigned lane = threadIdx.x % 32;
    float2 four[4], two[2], one;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float2 mine = lane & 16 ? v[4 + i] : v[i], other = lane & 16 ? v[i] : v[4 + i];
        four[i] = make_float2(mine.x + __shfl_xor_sync(~0u, other.x, 16),
                              mine.y + __shfl_xor_sync(~0u, other.y, 16));
    }
#pragma unroll
    for (int i = 0; i < 2; i++) {
        float2 mine = lane & 8 ? four[2 + i] : four[i], other = lane & 8 ? four[i] : four[2 + i];
        two[i] = make_float2(mine.x + __shfl_xor_sync(~0u, other.x, 8),
                             mine.y + __shfl_xor_sync(~0u, other.y, 8));
    }
    float2 mine = lane & 4 ? two[1] : two[0], other = lane & 4 ? two[0] : two[1];
    one = make_float2(mine.x + __shfl_xor_sync(~0u, other.x, 4),
                      mine.y + __shfl_xor_sync(~0u, other.y, 4));
    return one;
}

// The sums of BLOCKS times eight columns from p on, of which a lane has `rows`.
template <int BLOCKS>
static __device__ inline void put_sums(const hopper_job &j, const float2 (&rows)[BLOCKS],
                                       const warp_tile &p)
{
    unsigned lane = threadIdx.x % 32, chunks = (j.m + WK_HOPPER_SUMMED - 1) / WK_HOPPER_SUMMED;
    size_t at = (size_t)(p.stack * chunks + p.row / WK_HOPPER_SUMMED) * j.n;
#pragma unroll
    for (int first = 0; first < BLOCKS; first += 8) {
        float2 v[8];
#pragma unroll
        for (int i = 0; i < 8; i++)
            v[i] = first + i < BLOCKS ? rows[(first + i) % BLOCKS] : make_float2(0, 0);
        float2 sum = sum_rows(v);
        unsigned col = p.col + first * 8 + lane * 2;
        bool inside = first + lane / 4 < BLOCKS && col < j.n && p.row < j.m;
        if (inside) *(j.sums + (at + col)).template at<float2>() = sum;
    }
}

static __device__ inline unsigned load_word(unsigned address)
{
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
    return word;
}

static __device__ inline void send(const CUtensorMap *map, unsigned from, const warp_tile &p)
{
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], "
                 "[%1];\n"
                 "cp.async.bulk.commit_group;" ::"l"(map),
                 "r"(from), "r"(p.col), "r"(p.row), "r"(p.stack), "r"(blockIdx.z)
                 : "memory");
}

template <class T, epilogue_kind KIND, int N>
static __device__ inline void write_parts(const hopper_job &j, float (&d)[N / 2], unsigned buffer,
                                          const warp_tile &p)
{
    enum { BLOCKS = T::PART / 8, ROW = T::PART * 2 };
    unsigned lane = threadIdx.x % 32, at = lane / 4 * ROW + lane % 4 * 4;
    unsigned swizzle = T::SWIZZLED ? lane / 4 * 16 : 0;
#pragma unroll
    for (int part = 0; part < T::PARTS; part++) {
        unsigned from = buffer + part % T::BUFFERS * T::BUFFER, word[2 * BLOCKS];
        warp_tile mine = {p.row, p.col + part * T::PART, p.stack};
        biases columns(j, p.stack, mine.col);
        float2 rows[BLOCKS];
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const float *of = d + (part * BLOCKS + i) * 4;
            float2 bias = has_slopes(KIND) ? make_float2(0, 0) : columns[i];
            unsigned y[2] = {};
            if (has_slopes(KIND)) {
                y[0] = load_word(from + at + (16 * i ^ swizzle));
                y[1] = load_word(from + at + (16 * i ^ swizzle) + 8 * ROW);
            }
            float2 upper = finish_two<KIND>(of[0], of[1], bias, y[0]);
            float2 lower = finish_two<KIND>(of[2], of[3], bias, y[1]);
            word[2 * i] = wk_pack_bf16(upper.x, upper.y);
            word[2 * i + 1] = wk_pack_bf16(lower.x, lower.y);
            rows[i] = make_float2(upper.x + lower.x, upper.y + lower.y);
        }
        if (KIND == EPILOGUE_SLOPE_SUMS) put_sums<BLOCKS>(j, rows, mine);
        if (!has_slopes(KIND)) wait_stores_read<T::BUFFERS - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            store_word(from + at + (16 * i ^ swizzle), word[2 * i]);
            store_word(from + at + (16 * i ^ swizzle) + 8 * ROW, word[2 * i + 1]);
        }
        wk_publish_shared();
        __syncwarp();
        if (lane == 0) send(&j.out_map, from, mine);
    }
}

#endif
