// The tiles of gemm.cu and gemm_resident_weights.cu: parameters of a launch, the layout of a tile
// in shared memory, and the instructions that load and multiply tiles.
#ifndef WK_TENSOR_CUDA_HOPPER_GEMM_TILE_CUH
#define WK_TENSOR_CUDA_HOPPER_GEMM_TILE_CUH

#include "tensor/cuda/hopper/gemm.cuh"
#include "tensor/cuda/hopper/wgmma.cuh"

#include <cuda.h>

enum {
    K_BLOCK = 64, // terms of a tile: 128 bytes of bf16
    K_STEP = 16,  // terms of one instruction
    STEPS = K_BLOCK / K_STEP,
    N_BOX = 32,  // columns of b in one TMA box when they are contiguous
    CLUSTER = 2, // blocks
    SHARED = 227 * 1024,
};

// Kinds of epilogue: bf16 alone after bias and ELU, bias, or slopes, of which columns may be summed
// too; sums in float32, in rows of whole eights or of pairs; or any other mixture.
enum epilogue_kind {
    EPILOGUE_ELU,
    EPILOGUE_BIAS,
    EPILOGUE_SLOPE,
    EPILOGUE_SLOPE_SUMS,
    EPILOGUE_SUM,
    EPILOGUE_PAIRS,
    EPILOGUE_ANY
};

struct hopper_job {
    CUtensorMap a[2], b[2], y_map, out_map;
    unsigned m, n, stacks;         // of the result
    unsigned tiles, tiles_n;       // tiles of a cluster, and columns of them
    unsigned segments;             // matrices of term 0 that are summed
    unsigned blocks[2];            // of terms
    unsigned move_a[2], move_b[2]; // 0 where the stack shares the operand
    epilogue_kind kind;
    bool elu, slope;
    unsigned stride_bias;
    wk_ptr<const float> bias, add;
    wk_in y;
    wk_out out;
    wk_ptr<float> sums; // [stacks][rows / 16][n]
};

static __host__ __device__ constexpr bool has_slopes(epilogue_kind kind)
{
    return kind == EPILOGUE_SLOPE || kind == EPILOGUE_SLOPE_SUMS;
}

// How a tile lies in shared memory; SLOPES: there is room for what slopes are computed from.
template <int WARPGROUPS, int N, bool K_MAJOR, bool SLOPES = K_MAJOR> struct tile {
    enum {
        ROWS = 64 * WARPGROUPS,
        BOXES = (N + N_BOX - 1) / N_BOX,
        BYTES_A = ROWS * K_BLOCK * 2,
        BYTES_B = (K_MAJOR ? N : BOXES * N_BOX) * K_BLOCK * 2,
        STAGE = BYTES_A + BYTES_B,
        WARPS = 4 * WARPGROUPS,
        // A warp's bf16 results are stored in parts: of 128 bytes a row, swizzled, where that
        // divides the row; else halves, whose rows begin in different banks. Slopes need a buffer
        // for each part.
        SWIZZLED = N % K_BLOCK == 0,
        PART = SWIZZLED ? K_BLOCK : N / 2,
        PARTS = N / PART,
        BUFFERS = SLOPES ? PARTS : 1 + SWIZZLED,
        BUFFER = 16 * PART * 2,
        CHUNK = N < 256 ? 64 : 32, // float32 columns that a warp finishes at once
        PITCH = CHUNK + 8,         // of a row of them in shared memory, so that banks differ
        PIECES = WARPS * 16 * PITCH * 4,
        STAGING = WARPS * BUFFERS * BUFFER > PIECES ? WARPS *BUFFERS *BUFFER : PIECES,
        FIT = (SHARED - 2048 - STAGING) / STAGE,
        STAGES = FIT < 8 ? FIT : 8,
        TOTAL = 1024 + STAGES * STAGE + STAGING + (2 * STAGES + WARPS) * 8,
        THREADS = 128 * WARPGROUPS + 128,
    };
    static_assert(STAGES >= 3 && (int)TOTAL <= (int)SHARED, "no room for the ring");
};

// Instructions.

static __device__ inline unsigned shared_address(const void *x)
{
    return (unsigned)__cvta_generic_to_shared(x);
}

static __device__ inline void barrier_expect(unsigned barrier, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

// Arrives at the same barrier of block `rank` of the cluster. The stage was only read, by finished
// products, so no writes need to become visible: a cluster-scope release would cost a microsecond.
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

// Boxes of this block's member: the last coordinate of every map.
static __device__ inline void fetch(unsigned to, const CUtensorMap *map, unsigned barrier, int x,
                                    int y, int z)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(blockIdx.z)
                 : "memory");
}

// To L2 only.
static __device__ inline void prefetch(const CUtensorMap *map, int x, int y, int z)
{
    asm volatile(
        "cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(map),
        "r"(x), "r"(y), "r"(z), "r"(blockIdx.z)
        : "memory");
}

static __device__ inline void fetch5(unsigned to, const CUtensorMap *map, unsigned barrier, int x,
                                     int y, int z, int u)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(u), "r"(blockIdx.z)
                 : "memory");
}

// `fetch`, multicast to all blocks of the cluster.
static __device__ inline void fetch_for_all(unsigned to, const CUtensorMap *map, unsigned barrier,
                                            int x, int y, int z)
{
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(blockIdx.z),
                 "h"((unsigned short)((1 << CLUSTER) - 1))
                 : "memory");
}

// Rows of 128 bytes along the sum, rows of 32 (one step), or rows of 64 bytes across it in boxes of
// so many terms; all swizzled.
static __device__ inline uint64_t describe_k_major(unsigned address)
{
    return wk_operand(address, 16, 1024, WK_SWIZZLE_128);
}

static __device__ inline uint64_t describe_k_step(unsigned address)
{
    return wk_operand(address, 16, 256, WK_SWIZZLE_32);
}

template <int TERMS> static __device__ inline uint64_t describe_n_major(unsigned address)
{
    return wk_operand(address, N_BOX * TERMS * 2, 512, WK_SWIZZLE_64);
}

// A wgmma group. The commit is here and not after a branch: where control flow joins, it would
// become an empty group of its own, and waiting for all but one would wait for everything.
template <int COUNT, bool K_MAJOR, int REGISTERS>
static __device__ inline void multiply_steps(float (&d)[REGISTERS], uint64_t a, uint64_t b,
                                             unsigned step_a, unsigned step_b, bool add)
{
    wk_wgmma_begin();
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        wk_wgmma<0, !K_MAJOR>(d, a + i * step_a, b + i * step_b, (int)add | i);
    wk_wgmma_commit();
}

// A sum in blocks of terms; steps of the last one.
struct term_blocks {
    unsigned count, tail;
};

static inline term_blocks blocks_of_terms(size_t terms)
{
    size_t steps = (terms + K_STEP - 1) / K_STEP, count = (steps + STEPS - 1) / STEPS;
    return {(unsigned)count, (unsigned)(steps - (count - 1) * STEPS)};
}

// A place in a ring.
template <int STAGES> struct ring_place {
    unsigned stage, round;

    __device__ explicit ring_place(unsigned fills = 0)
        : stage(fills % STAGES), round(fills / STAGES)
    {
    }

    __device__ void move()
    {
        if (++stage < STAGES) return;
        stage = 0;
        round++;
    }
};

// Releases a stage to both blocks of the cluster.
static __device__ inline void release(unsigned empty)
{
    unsigned thread = threadIdx.x % 128;
    if (thread % 32 == 0 && thread / 32 < CLUSTER) barrier_arrive(empty, thread / 32);
}

static __device__ inline void store_word(unsigned address, unsigned word)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

// The kernel's shared memory, aligned for swizzled boxes.
static __device__ inline char *whole_memory(char *raw)
{
    return raw + (1024 - shared_address(raw) % 1024) % 1024;
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

#endif
