// The product of hopper.cuh. One or two warpgroups of a block multiply a tile of 64 or 128 rows; a
// thread of another has the copy engine fill a ring of operand tiles ahead of them. Two blocks of a
// cluster have the same columns of neighbouring rows: each fetches half of b's tile for both.
// Blocks stay and take tile after tile, so the ring fills while results are written.
//
// Results go through a small piece of shared memory of their own warp, so that bias, activation and
// slope stand once in the code and global memory is accessed by whole chunks.
#include "tensor/cuda/hopper.cuh"
#include "tensor/cuda/hopper_wgmma.cuh"

#include <cuda.h>

enum {
    K_BLOCK = 64, // terms of a tile: 128 bytes of bf16
    K_STEP = 16,  // terms of one instruction
    N_BOX = 32,   // columns of b that the copy engine brings at once when they are contiguous
    CLUSTER = 2,  // blocks
    SHARED = 227 * 1024,
    CHUNK = 64,        // columns that a warp finishes at once
    PITCH = CHUNK + 8, // of a row of them in shared memory, so that banks differ
};

// What happens to results: bf16 alone after bias and ELU, bias, or slopes; sums in float32; or any
// other mixture.
enum finish_kind { FINISH_ELU, FINISH_BIAS, FINISH_SLOPE, FINISH_SUM, FINISH_ANY };

struct hopper_job {
    CUtensorMap a[2], b[2], y_map, out_map;
    unsigned m, n, stacks;         // of the result
    unsigned tiles, tiles_n;       // tiles of a cluster, and columns of them
    unsigned segments;             // matrices of term 0 that are summed
    unsigned blocks[2], tail[2];   // blocks of terms, and steps of the last
    unsigned move_a[2], move_b[2]; // 0 where the stack shares the operand
    finish_kind kind;
    bool elu, slope;
    unsigned stride_bias;
    const float *bias, *add;
    wk_in y;
    wk_out out;
};

// How a tile lies in shared memory.
template <int GROUPS, int N, bool K_MAJOR> struct tile {
    enum {
        ROWS = 64 * GROUPS,
        BOXES = (N + N_BOX - 1) / N_BOX,
        BYTES_A = ROWS * K_BLOCK * 2,
        BYTES_B = (K_MAJOR ? N : BOXES * N_BOX) * K_BLOCK * 2,
        STAGE = BYTES_A + BYTES_B,
        WARPS = 4 * GROUPS,
        BUFFERS = K_MAJOR ? 2 : 1, // halves of a warp's bf16 results that have a place of their own
        BUFFER = 16 * (N / 2) * 2,
        PIECES = WARPS * 16 * PITCH * 4,
        STAGING = WARPS * BUFFERS * BUFFER > PIECES ? WARPS *BUFFERS *BUFFER : PIECES,
        FIT = (SHARED - 2048 - STAGING) / STAGE,
        STAGES = FIT < 8 ? FIT : 8,
        TOTAL = 1024 + STAGES * STAGE + STAGING + (2 * STAGES + WARPS) * 8,
        THREADS = 128 * GROUPS + 128,
    };
};

// Instructions.

template <int N, bool K_MAJOR> struct wgmma;
#define F8(i)                                                                                      \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]),    \
        "+f"(d[i + 6]), "+f"(d[i + 7])
template <bool K_MAJOR> struct wgmma<208, K_MAJOR> {
    static __device__ void run(float (&d)[104], uint64_t a, uint64_t b, int add)
    {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %106, 0;"
            "wgmma.mma_async.sync.aligned.m64n208k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
            "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
            "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
            "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
            "%96, %97, %98, %99, %100, %101, %102, %103}, "
            "%104, %105, p, 1, 1, 0, %107; }"
            : F8(0), F8(8), F8(16), F8(24), F8(32), F8(40), F8(48), F8(56), F8(64), F8(72), F8(80),
              F8(88), F8(96)
            : "l"(a), "l"(b), "r"(add), "n"(K_MAJOR ? 0 : 1));
    }
};

template <bool K_MAJOR> struct wgmma<80, K_MAJOR> {
    static __device__ void run(float (&d)[40], uint64_t a, uint64_t b, int add)
    {
        asm volatile(
            "{ .reg .pred p; setp.ne.b32 p, %42, 0;"
            "wgmma.mma_async.sync.aligned.m64n80k16.f32.bf16.bf16 {"
            "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
            "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
            "%32, %33, %34, %35, %36, %37, %38, %39}, "
            "%40, %41, p, 1, 1, 0, %43; }"
            : F8(0), F8(8), F8(16), F8(24), F8(32)
            : "l"(a), "l"(b), "r"(add), "n"(K_MAJOR ? 0 : 1));
    }
};
#undef F8

static __device__ inline unsigned shared_address(const void *x)
{
    return (unsigned)__cvta_generic_to_shared(x);
}

static __device__ inline void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Arrives at the same barrier of block `rank` of the cluster. What is released was read by finished
// products only, so no writes need to become visible: a release for the cluster costs a
// microsecond.
static __device__ inline void barrier_arrive(unsigned barrier, unsigned rank)
{
    asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;"
                 "mbarrier.arrive.shared::cluster.b64 _, [there]; }" ::"r"(barrier),
                 "r"(rank)
                 : "memory");
}

static __device__ inline void cluster_sync(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

static __device__ inline unsigned cluster_rank(void)
{
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

static __device__ inline void fetch(unsigned to, const CUtensorMap *map, unsigned barrier, int x,
                                    int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z)
                 : "memory");
}

// The same for all blocks of the cluster.
static __device__ inline void fetch_for_all(unsigned to, const CUtensorMap *map, unsigned barrier,
                                            int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z),
                 "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

// Rows of 128 bytes along the sum, or rows of 64 bytes across it; both swizzled.
static __device__ inline uint64_t describe_k_major(unsigned address)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)(1024 >> 4) << 32 |
           (uint64_t)1 << 62;
}

static __device__ inline uint64_t describe_n_major(unsigned address)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(N_BOX * K_BLOCK * 2 >> 4) << 16 |
           (uint64_t)(512 >> 4) << 32 | (uint64_t)2 << 62;
}

// Where a cluster's tile lies.
struct place {
    unsigned row, col, stack;
};

template <class T> static __device__ inline place place_of(const hopper_job &j, unsigned t, int n)
{
    unsigned rest = t / j.tiles_n, pair = rest / j.stacks;
    return {(pair * CLUSTER + cluster_rank()) * T::ROWS, (t - rest * j.tiles_n) * n,
            rest - pair * j.stacks};
}

// The copying thread.
template <int GROUPS, int N, bool K_MAJOR>
static __device__ void bring(const hopper_job &j, unsigned memory, unsigned full, unsigned empty)
{
    typedef tile<GROUPS, N, K_MAJOR> T;
    unsigned rank = cluster_rank(), stage = 0, round = 0;
    for (unsigned t = blockIdx.x / CLUSTER; t < j.tiles; t += gridDim.x / CLUSTER) {
        place at = place_of<T>(j, t, N);
        for (unsigned segment = 0; segment <= j.segments; segment++) {
            unsigned term = segment == j.segments;
            unsigned matrix = term == 0 && j.segments > 1 ? segment : at.stack;
            for (unsigned block = 0; block < j.blocks[term]; block++) {
                unsigned a = memory + stage * T::STAGE, b = a + T::BYTES_A,
                         ready = full + 8 * stage;
                int k = (int)(block * K_BLOCK);
                wk_barrier_wait(empty + 8 * stage, (round & 1) ^ 1);
                barrier_expect(ready, T::STAGE);
                fetch(a, &j.a[term], ready, k, (int)at.row, (int)(matrix * j.move_a[term]));
                if (K_MAJOR) {
                    unsigned first = rank * (N / CLUSTER);
                    fetch_for_all(b + first * K_BLOCK * 2, &j.b[term], ready, k,
                                  (int)(at.col + first), (int)(matrix * j.move_b[term]));
                } else {
                    for (unsigned box = rank; box < T::BOXES; box += CLUSTER)
                        fetch_for_all(b + box * N_BOX * K_BLOCK * 2, &j.b[term], ready,
                                      (int)(at.col + box * N_BOX), k,
                                      (int)(matrix * j.move_b[term]));
                }
                if (++stage == T::STAGES) {
                    stage = 0;
                    round++;
                }
            }
        }
    }
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
struct patch {
    unsigned row, col, stack;
};

// Eight neighbouring results of a lane, and of the rows STEP and more below: sixteen rows of COLS
// results are a warp's.
template <int COLS> struct eights {
    enum { GROUPS = COLS / 8, STEP = 32 / GROUPS, COUNT = 16 / STEP };
    unsigned row, col, stack; // of the first
    unsigned in_row, in_col;  // in the warp's sixteen rows

    __device__ eights(const patch &p)
        : row(p.row + threadIdx.x % 32 / GROUPS), col(p.col + threadIdx.x % GROUPS * 8),
          stack(p.stack), in_row(threadIdx.x % 32 / GROUPS), in_col(threadIdx.x % GROUPS * 8)
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
    const float4 *bias = (const float4 *)(j.bias + stack * j.stride_bias + col);
    return {__ldg(bias), __ldg(bias + 1)};
}

static __device__ inline wk_eight eight_at(const float *x, unsigned at)
{
    const float4 *from = (const float4 *)x + 2 * (size_t)at;
    return {from[0], from[1]};
}

// Rows that end inside the eight: plain sums of an even number of columns.
static __device__ inline void finish_ragged(const hopper_job &j, const float *v, unsigned row,
                                            unsigned col)
{
    size_t at = (size_t)row * j.n + col;
    for (unsigned i = 0; i < 8 && col + i < j.n; i += 2) {
        float2 pair = *(const float2 *)(v + i);
        if (j.add) {
            float2 add = *(const float2 *)(j.add + at + i);
            pair = make_float2(pair.x + add.x, pair.y + add.y);
        }
        *(float2 *)(j.out.x + at + i) = pair;
    }
}

// Whatever there is, in little code.
template <int COLS>
static __device__ inline void finish_any(const hopper_job &j, const float *piece, const patch &p)
{
    eights<COLS> e(p);
    wk_eight bias = bias_at(j, e.stack, e.col);
#pragma unroll 1
    for (int i = 0; i < e.COUNT; i++) {
        if (!e.inside(j, i)) continue;
        const float4 *from = e.in(piece, i);
        if (j.n % 8 != 0) {
            finish_ragged(j, (const float *)from, e.stack * j.m + e.row + i * e.STEP, e.col);
            continue;
        }
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

template <int COLS>
static __device__ inline void finish_sums(const hopper_job &j, const float *piece, const patch &p)
{
    eights<COLS> e(p);
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
template <finish_kind KIND, int FIRST, int N>
static __device__ inline void write(const hopper_job &j, float (&d)[N / 2], float *piece,
                                    const patch &p)
{
    if constexpr (FIRST < N) {
        constexpr int COLS = N - FIRST < CHUNK ? N - FIRST : CHUNK;
        unsigned lane = threadIdx.x % 32;
        float *to = piece + lane / 4 * PITCH + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < COLS / 8; i++) {
            const int from = (FIRST / 8 + i) * 4;
            *(float2 *)(to + 8 * i) = make_float2(d[from], d[from + 1]);
            *(float2 *)(to + 8 * PITCH + 8 * i) = make_float2(d[from + 2], d[from + 3]);
        }
        __syncwarp();
        if (KIND == FINISH_SUM)
            finish_sums<COLS>(j, piece, p);
        else
            finish_any<COLS>(j, piece, p);
        __syncwarp();
        write<KIND, FIRST + COLS, N>(j, d, piece, {p.row, p.col + COLS, p.stack});
    }
}

// Results in bf16 alone are finished where they are, in registers, and stored by the copy engine
// from a buffer of the warp: two halves of its columns, one after the other. The numbers that
// slopes are taken from come to the same buffers first.

template <int LEFT> static __device__ inline void wait_stores_read(void)
{
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory");
}

template <class T, int N>
static __device__ inline void request_slopes(const hopper_job &j, unsigned buffer, unsigned ready,
                                             const patch &p)
{
    if (threadIdx.x % 32 != 0) return;
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    barrier_expect(ready, 2 * T::BUFFER);
    for (int i = 0; i < 2; i++)
        fetch(buffer + i * T::BUFFER, &j.y_map, ready, (int)(p.col + i * (N / 2)), (int)p.row,
              (int)p.stack);
}

// The biases of a lane's columns in eights from `col` on; zeros beyond the last column.
struct biases {
    const float2 *at; // NULL: none
    unsigned eights;

    __device__ biases(const hopper_job &j, unsigned stack, unsigned col)
        : at(NULL), eights(col < j.n ? (j.n - col) / 8 : 0)
    {
        if (j.bias) at = (const float2 *)(j.bias + stack * j.stride_bias + col) + threadIdx.x % 4;
    }

    __device__ float2 operator[](unsigned i) const
    {
        return at && i < eights ? __ldg(at + 4 * i) : make_float2(0, 0);
    }
};

// Two neighbouring results; y is the word of the buffer where they will lie.
template <finish_kind KIND>
static __device__ inline unsigned finish_pair(float a, float b, float2 bias, unsigned y)
{
    if (KIND == FINISH_SLOPE) {
        float2 of = wk_two_floats(y);
        return wk_two_halves(a * wk_activate_slope(WK_ELU, of.x),
                             b * wk_activate_slope(WK_ELU, of.y));
    }
    a += bias.x;
    b += bias.y;
    if (KIND == FINISH_ELU)
        return wk_two_halves(wk_activate_half(WK_ELU, a), wk_activate_half(WK_ELU, b));
    return wk_two_halves(a, b);
}

static __device__ inline unsigned load_word(unsigned address)
{
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address));
    return word;
}

static __device__ inline void store_word(unsigned address, unsigned word)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

static __device__ inline void send(const CUtensorMap *map, unsigned from, const patch &p)
{
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
                 "cp.async.bulk.commit_group;" ::"l"(map),
                 "r"(from), "r"(p.col), "r"(p.row), "r"(p.stack)
                 : "memory");
}

template <class T, finish_kind KIND, int N>
static __device__ inline void write_halves(const hopper_job &j, float (&d)[N / 2], unsigned buffer,
                                           const patch &p)
{
    enum { HALF = N / 2, BLOCKS = HALF / 8, ROW = HALF * 2 };
    unsigned lane = threadIdx.x % 32, at = lane / 4 * ROW + lane % 4 * 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        unsigned from = buffer + half % T::BUFFERS * T::BUFFER, word[2 * BLOCKS];
        patch mine = {p.row, p.col + half * HALF, p.stack};
        biases columns(j, p.stack, mine.col);
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            const float *of = d + (half * BLOCKS + i) * 4;
            float2 bias = KIND == FINISH_SLOPE ? make_float2(0, 0) : columns[i];
            unsigned y[2] = {};
            if (KIND == FINISH_SLOPE) {
                y[0] = load_word(from + at + 16 * i);
                y[1] = load_word(from + at + 16 * i + 8 * ROW);
            }
            word[2 * i] = finish_pair<KIND>(of[0], of[1], bias, y[0]);
            word[2 * i + 1] = finish_pair<KIND>(of[2], of[3], bias, y[1]);
        }
        if (KIND != FINISH_SLOPE) wait_stores_read<T::BUFFERS - 1>();
        __syncwarp();
#pragma unroll
        for (int i = 0; i < BLOCKS; i++) {
            store_word(from + at + 16 * i, word[2 * i]);
            store_word(from + at + 16 * i + 8 * ROW, word[2 * i + 1]);
        }
        wk_publish_shared();
        __syncwarp();
        if (lane == 0) send(&j.out_map, from, mine);
    }
}

// Says to both blocks that this warpgroup has read a stage.
static __device__ inline void release(unsigned empty)
{
    unsigned thread = threadIdx.x % 128;
    if (thread % 32 == 0 && thread / 32 < CLUSTER) barrier_arrive(empty, thread / 32);
}

// A multiplying warpgroup.
template <int GROUPS, int N, bool K_MAJOR>
static __device__ void multiply(const hopper_job &j, unsigned memory, unsigned full, unsigned empty,
                                float *pieces)
{
    typedef tile<GROUPS, N, K_MAJOR> T;
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0), group = warp / 4, stage = 0, round = 0;
    float *piece = pieces + warp * 16 * PITCH;
    unsigned buffer = shared_address(pieces) + warp * T::BUFFERS * T::BUFFER;
    unsigned ready = empty + 8 * (T::STAGES + warp), parity = 0;
    for (unsigned t = blockIdx.x / CLUSTER; t < j.tiles; t += gridDim.x / CLUSTER) {
        place at = place_of<T>(j, t, N);
        patch mine = {at.row + warp * 16, at.col, at.stack};
        float d[N / 2];
        int add = 0;
        unsigned held = 0; // the stage that products under way still read, if add
        for (unsigned segment = 0; segment <= j.segments; segment++) {
            unsigned term = segment == j.segments, blocks = j.blocks[term];
            for (unsigned block = 0; block < blocks; block++) {
                unsigned from = memory + stage * T::STAGE;
                uint64_t a = describe_k_major(from + group * 64 * K_BLOCK * 2);
                uint64_t b = K_MAJOR ? describe_k_major(from + T::BYTES_A)
                                     : describe_n_major(from + T::BYTES_A);
                const int step_a = K_STEP * 2 >> 4;
                const int step_b = (K_MAJOR ? K_STEP * 2 : K_STEP * N_BOX * 2) >> 4;
                unsigned steps = block + 1 == blocks ? j.tail[term] : K_BLOCK / K_STEP;
                wk_barrier_wait(full + 8 * stage, round & 1);
                if (steps == K_BLOCK / K_STEP) {
                    wk_wgmma_begin();
#pragma unroll
                    for (int i = 0; i < K_BLOCK / K_STEP; i++)
                        wgmma<N, K_MAJOR>::run(d, a + i * step_a, b + i * step_b, add | i);
                } else {
                    for (unsigned i = 0; i < steps; i++) {
                        wk_wgmma_begin();
                        wgmma<N, K_MAJOR>::run(d, a + i * step_a, b + i * step_b, add | (int)i);
                    }
                }
                wk_wgmma_commit();
                // Alone, a warpgroup has the next products under way before it waits for the last;
                // two fill each other's gaps, and the ring refills sooner.
                if (GROUPS > 1) {
                    wk_wgmma_wait<0>();
                    release(empty + 8 * stage);
                } else if (add) {
                    wk_wgmma_wait<1>();
                    release(empty + 8 * held);
                }
                // Once per tile, when the last one's results have surely left the buffer.
                if (j.kind == FINISH_SLOPE && segment == 0 && block == (blocks > 1 ? 1 : 0))
                    request_slopes<T, N>(j, buffer, ready, mine);
                add = 1;
                held = stage;
                if (++stage == T::STAGES) {
                    stage = 0;
                    round++;
                }
            }
        }
        if (GROUPS == 1) {
            wk_wgmma_wait<0>();
            release(empty + 8 * held);
        }
        switch (j.kind) {
        case FINISH_ELU:
            write_halves<T, FINISH_ELU, N>(j, d, buffer, mine);
            break;
        case FINISH_BIAS:
            write_halves<T, FINISH_BIAS, N>(j, d, buffer, mine);
            break;
        case FINISH_SLOPE:
            wk_barrier_wait(ready, parity);
            parity ^= 1;
            write_halves<T, FINISH_SLOPE, N>(j, d, buffer, mine);
            break;
        case FINISH_SUM:
            write<FINISH_SUM, 0, N>(j, d, piece, mine);
            break;
        default:
            write<FINISH_ANY, 0, N>(j, d, piece, mine);
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int GROUPS, int N, bool K_MAJOR>
__global__ void __launch_bounds__(tile<GROUPS, N, K_MAJOR>::THREADS, 1)
    hopper_kernel(const __grid_constant__ hopper_job j)
{
    typedef tile<GROUPS, N, K_MAJOR> T;
    extern __shared__ char raw[];
    char *memory = raw + (1024 - shared_address(raw) % 1024) % 1024;
    float *pieces = (float *)(memory + T::STAGES * T::STAGE);
    unsigned full = shared_address(pieces) + T::STAGING, empty = full + 8 * T::STAGES;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < T::STAGES; i++) {
            wk_barrier_init(full + 8 * i, 1);
            wk_barrier_init(empty + 8 * i, CLUSTER * GROUPS);
        }
        for (unsigned i = 0; i < T::WARPS; i++)
            wk_barrier_init(empty + 8 * (T::STAGES + i), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    wk_begin();
    // The shuffle tells the compiler that a warp is of one mind. The copying warpgroup gives its
    // registers to two multiplying ones; one has enough.
    if (__shfl_sync(~0u, threadIdx.x / 32, 0) >= 4 * GROUPS) {
        if (GROUPS > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128 * GROUPS)
            bring<GROUPS, N, K_MAJOR>(j, shared_address(memory), full, empty);
    } else {
        if (GROUPS > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        multiply<GROUPS, N, K_MAJOR>(j, shared_address(memory), full, empty, pieces);
    }
    __syncwarp();
    cluster_sync(); // nobody leaves while the other may still write to it
}

// The host's side.

typedef CUresult encode_fn(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *,
                           const cuuint64_t *, const cuuint64_t *, const cuuint32_t *,
                           const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static encode_fn *find_encode(void)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                                         cudaEnableDefault, &result);
    if (!error && result == cudaDriverEntryPointSuccess) return (encode_fn *)found;
    (void)cudaGetLastError();
    return NULL;
}

// Matrices [count][rows][cols] for the copy engine; what lies outside reads as zero.
typedef struct operand_map {
    const __nv_bfloat16 *x;
    size_t count, rows, cols, row, stride;
    unsigned box_rows, box_cols;
} operand_map;

static bool encode(encode_fn *call, const operand_map *o, CUtensorMap *map)
{
    cuuint64_t dims[3] = {o->cols, o->rows, o->count};
    size_t stride = o->count > 1 ? o->stride : o->rows * o->row;
    cuuint64_t strides[2] = {o->row * sizeof *o->x, stride * sizeof *o->x};
    cuuint32_t box[3] = {o->box_cols, o->box_rows, 1}, steps[3] = {1, 1, 1};
    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;
    if (o->box_cols == K_BLOCK) swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    if (o->box_cols == N_BOX) swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
    return call(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, (void *)o->x, dims, strides, box, steps,
                CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

static bool map_term(encode_fn *call, const wk_hopper_product *p, int i, unsigned rows, unsigned n,
                     hopper_job *j)
{
    const wk_hopper_term *t = &p->term[i];
    size_t count_a = t->stride_a ? p->stacks : 1, count_b = t->stride_b ? p->stacks : 1;
    operand_map a = {t->a, count_a, p->m, t->k, t->row_a, t->stride_a, rows, K_BLOCK};
    operand_map b = {t->b, count_b, t->k, p->n, t->row_b, t->stride_b, K_BLOCK, N_BOX};
    if (p->transpose_b) {
        b.rows = p->n;
        b.cols = t->k;
        b.box_rows = n / CLUSTER;
        b.box_cols = K_BLOCK;
    }
    j->move_a[i] = t->stride_a ? 1 : 0;
    j->move_b[i] = t->stride_b ? 1 : 0;
    size_t steps = (t->k + K_STEP - 1) / K_STEP, each = K_BLOCK / K_STEP;
    j->blocks[i] = (unsigned)((steps + each - 1) / each);
    j->tail[i] = (unsigned)(steps - (j->blocks[i] - 1) * each);
    return encode(call, &a, &j->a[i]) && encode(call, &b, &j->b[i]);
}

static finish_kind kind_of(const wk_hopper_product *p)
{
    bool elu = p->activation == WK_ELU, slope = p->slope == WK_ELU;
    if (p->n % 8 != 0) return FINISH_ANY;
    if (!p->out.x && !p->add && !slope) return elu ? FINISH_ELU : FINISH_BIAS;
    if (!p->out.x && !p->add && !p->bias && !elu && p->y.half && p->transpose_b)
        return FINISH_SLOPE;
    return elu || slope ? FINISH_ANY : FINISH_SUM;
}

// The maps of what is read and written by the copy engine at the end of a tile.
static bool map_results(encode_fn *call, const wk_hopper_product *p, unsigned cols, hopper_job *j)
{
    enum { ROWS = 16 };
    operand_map o = {p->out.half, j->stacks, p->m, p->n, p->n, p->m * p->n, ROWS, cols};
    if (j->kind <= FINISH_SLOPE && !encode(call, &o, &j->out_map)) return false;
    o.x = p->y.half;
    return j->kind != FINISH_SLOPE || encode(call, &o, &j->y_map);
}

template <int GROUPS, int N, bool K_MAJOR>
static bool launch(const wk_cuda_call *c, const wk_hopper_product *p, encode_fn *call,
                   int processors)
{
    typedef tile<GROUPS, N, K_MAJOR> T;
    hopper_job j = {};
    for (int i = 0; i < p->terms; i++)
        if (!map_term(call, p, i, T::ROWS, N, &j)) return false;
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.stacks = p->reduce ? 1 : (unsigned)p->stacks;
    j.segments = p->reduce ? (unsigned)p->stacks : 1;
    j.tiles_n = (j.n + N - 1) / N;
    j.tiles = (j.m + CLUSTER * T::ROWS - 1) / (CLUSTER * T::ROWS) * j.stacks * j.tiles_n;
    j.elu = p->activation == WK_ELU;
    j.slope = (p->y.x || p->y.half) && p->slope == WK_ELU;
    j.stride_bias = (unsigned)p->stride_bias;
    j.bias = p->bias;
    j.add = p->add;
    j.y = p->y;
    j.out = p->out;
    j.kind = kind_of(p);
    if (!map_results(call, p, N / 2, &j)) return false;
    cudaLaunchAttribute attribute[2] = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = {CLUSTER, 1, 1};
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    unsigned clusters = (unsigned)processors / CLUSTER;
    cudaLaunchConfig_t config = {};
    config.gridDim = CLUSTER * (j.tiles < clusters ? j.tiles : clusters);
    config.blockDim = T::THREADS;
    config.dynamicSmemBytes = T::TOTAL;
    config.stream = c->stream;
    config.attrs = attribute;
    config.numAttrs = c->programmatic ? 2 : 1;
    auto kernel = hopper_kernel<GROUPS, N, K_MAJOR>;
    (void)cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, T::TOTAL);
    (void)cudaLaunchKernelEx(&config, kernel, j); // an error stays for cudaGetLastError
    return true;
}

static bool aligned(const void *x)
{
    return (uintptr_t)x % 16 == 0;
}

static bool term_fits(const wk_hopper_term *t)
{
    return aligned(t->a) && aligned(t->b) && t->row_a % 8 == 0 && t->row_b % 8 == 0 &&
           t->stride_a % 8 == 0 && t->stride_b % 8 == 0 && t->k > 0;
}

static bool fits(const wk_cuda_call *c, const wk_hopper_product *p)
{
    if (!c->hopper || c->precision != WK_CUDA_BF16) return false;
    for (int i = 0; i < p->terms; i++)
        if (!term_fits(&p->term[i])) return false;
    bool plain = !p->bias && p->activation == WK_IDENTITY && !p->y.x && !p->y.half && !p->out.half;
    bool whole = p->n % 8 == 0 && p->stride_bias % 4 == 0 && aligned(p->bias) && aligned(p->add) &&
                 p->out.aligned8() && p->y.aligned8();
    bool known = (p->activation == WK_IDENTITY || p->activation == WK_ELU) &&
                 (p->slope == WK_IDENTITY || p->slope == WK_ELU);
    bool even =
        plain && p->n % 2 == 0 && (uintptr_t)p->out.x % 8 == 0 && (uintptr_t)p->add % 8 == 0;
    size_t stacks = p->reduce ? 1 : p->stacks;
    return known && (whole || even) && p->m > 0 && !(p->reduce && p->terms > 1) &&
           stacks * p->m * p->n < (size_t)1 << 34;
}

// The time of a shape in cycles, about: rounds over the processors, each limited by the tensor
// cores or by the copying, and the writing of a tile.
static double cost(const wk_hopper_product *p, int groups, int n, int processors)
{
    size_t blocks = 0, rows = (size_t)(CLUSTER * 64 * groups);
    for (int i = 0; i < p->terms; i++)
        blocks += (p->term[i].k + K_BLOCK - 1) / K_BLOCK;
    if (p->reduce) blocks *= p->stacks;
    size_t tiles = (p->m + rows - 1) / rows * ((p->n + (size_t)n - 1) / (size_t)n) *
                   (p->reduce ? 1 : p->stacks);
    size_t clusters = (size_t)processors / CLUSTER, rounds = (tiles + clusters - 1) / clusters;
    double multiplying = 2.0 * groups * n, copying = (64.0 * groups + n) * 128 / 45;
    double block = multiplying > copying ? multiplying : copying;
    return (double)rounds * ((double)blocks * block + 600 + 0.06 * 64 * groups * n);
}

// The shapes of tiles: warpgroups and columns.
static const int TILES[WK_HOPPER_TILES][2] = {{2, 208}, {1, 208}, {1, 80}};

static int best_tile(const wk_hopper_product *p, int processors)
{
    int best = 1;
    for (int i = 2; i <= WK_HOPPER_TILES; i++)
        if (cost(p, TILES[i - 1][0], TILES[i - 1][1], processors) <
            cost(p, TILES[best - 1][0], TILES[best - 1][1], processors))
            best = i;
    return best;
}

template <bool K_MAJOR>
static bool launch_tile(const wk_cuda_call *c, const wk_hopper_product *p, encode_fn *call,
                        int processors)
{
    switch (p->tile ? p->tile : best_tile(p, processors)) {
    case 1:
        return launch<2, 208, K_MAJOR>(c, p, call, processors);
    case 2:
        return launch<1, 208, K_MAJOR>(c, p, call, processors);
    default:
        return launch<1, 80, K_MAJOR>(c, p, call, processors);
    }
}

bool wk_hopper_multiply(const wk_cuda_call *c, const wk_hopper_product *p)
{
    int device = 0, processors = 0;
    if (!fits(c, p) || cudaGetDevice(&device) ||
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device))
        return false;
    encode_fn *call = find_encode();
    if (!call) return false;
    return p->transpose_b ? launch_tile<true>(c, p, call, processors)
                          : launch_tile<false>(c, p, call, processors);
}
