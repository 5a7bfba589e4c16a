// What kernels share in which a cluster of blocks has 64 rows and each block some columns of every
// layer: rings of rows and weights that the copy engine fills, products from them, and the exchange
// of results through the shared memory of the cluster, where the next layer reads them.
#ifndef WK_TENSOR_CUDA_HOPPER_CLUSTER_CUH
#define WK_TENSOR_CUDA_HOPPER_CLUSTER_CUH

#include "tensor/cuda/hopper_map.cuh"

enum {
    ROWS = 64,
    CHUNK_BYTES = ROWS * 16,       // eight columns of the rows
    PIECE = 8,                     // rows that a block brings for all
    BYTES_A = ROWS * K_BLOCK * 2,  // a stage of rows
    BOX = 64,                      // columns of weights that come at once
    BOX_BYTES = BOX * K_BLOCK * 2, // and their bytes
    MULTIPLIERS = 128,
    MULTIPLIERS_ONLY = 1, // a barrier of threads
};

// The rings of a block: stages of rows, STAGES_A of them, which its cluster has in common, and of
// BOXES boxes of weights.
template <int STAGES_A, int STAGES_B, int BOXES> struct cluster_rings {
    enum { BYTES_B = BOXES * BOX_BYTES, BARRIERS = 16 * (STAGES_A + STAGES_B) };
    unsigned a, b, full_a, empty_a, full_b, empty_b;

    __device__ cluster_rings(unsigned rows, unsigned weights, unsigned barriers)
        : a(rows), b(weights), full_a(barriers), empty_a(full_a + 8 * STAGES_A),
          full_b(empty_a + 8 * STAGES_A), empty_b(full_b + 8 * STAGES_B)
    {
    }

    // By one thread, before the blocks of the cluster meet.
    __device__ void init(unsigned blocks) const
    {
        for (unsigned i = 0; i < STAGES_A; i++) {
            wk_barrier_init(full_a + 8 * i, 1);
            wk_barrier_init(empty_a + 8 * i, blocks);
        }
        for (unsigned i = 0; i < 2 * STAGES_B; i++)
            wk_barrier_init(full_b + 8 * i, 1);
    }

    __device__ void fetch_weights(const CUtensorMap *map, unsigned stage, unsigned col, unsigned k,
                                  unsigned stack) const
    {
        barrier_expect(full_b + 8 * stage, BYTES_B);
        for (unsigned i = 0; i < BOXES; i++)
            fetch(b + stage * BYTES_B + i * BOX_BYTES, map, full_b + 8 * stage,
                  (int)(col + i * BOX), (int)k, (int)stack);
    }

    // Every block brings some of the rows, for all.
    __device__ void fetch_rows(const CUtensorMap *map, unsigned stage, unsigned k, unsigned row,
                               unsigned stack, unsigned rank, unsigned blocks) const
    {
        barrier_expect(full_a + 8 * stage, BYTES_A);
        for (unsigned piece = rank; piece < ROWS / PIECE; piece += blocks)
            asm volatile(
                "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
                ".multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(
                    a + stage * BYTES_A + piece * PIECE * K_BLOCK * 2),
                "l"(map), "r"(full_a + 8 * stage), "r"(k), "r"(row + piece * PIECE), "r"(stack),
                "h"((unsigned short)((1u << blocks) - 1))
                : "memory");
    }

    __device__ void wait_empty_a(const ring_place<STAGES_A> &at) const
    {
        wk_barrier_wait(empty_a + 8 * at.stage, (at.round & 1) ^ 1);
    }

    __device__ void wait_empty_b(const ring_place<STAGES_B> &at) const
    {
        wk_barrier_wait(empty_b + 8 * at.stage, (at.round & 1) ^ 1);
    }
};

// 64 columns side by side, rows of 128 bytes across the sum, swizzled.
static __device__ inline uint64_t describe_boxes(unsigned address)
{
    return (uint64_t)((address & 0x3ffff) >> 4) | (uint64_t)(BOX_BYTES >> 4) << 16 |
           (uint64_t)(8 * BOX * 2 >> 4) << 32 | (uint64_t)1 << 62;
}

// Where the multiplying warpgroup is in both rings, and what its products under way still read.
template <int STAGES_A, int STAGES_B, int BOXES> struct cluster_reader {
    cluster_rings<STAGES_A, STAGES_B, BOXES> rings;
    unsigned blocks; // of the cluster
    ring_place<STAGES_A> a;
    ring_place<STAGES_B> b;
    unsigned held_a, held_b;

    __device__ cluster_reader(const cluster_rings<STAGES_A, STAGES_B, BOXES> &of, unsigned count)
        : rings(of), blocks(count), held_a(0), held_b(0)
    {
    }

    // Says that products are done: of weights to this block, of rows to all.
    __device__ void release(bool rows) const
    {
        if (threadIdx.x == 0) wk_barrier_arrive(rings.empty_b + 8 * held_b);
        if (rows && threadIdx.x < blocks) barrier_arrive(rings.empty_a + 8 * held_a, threadIdx.x);
    }

    // The sums of N columns; the rows come from the ring, or lie in chunks.
    template <int N, bool FROM_RING>
    __device__ void multiply(term_blocks terms, unsigned chunks, float (&d)[N / 2])
    {
        const unsigned step_a = (FROM_RING ? K_STEP * 2 : K_STEP / 8 * CHUNK_BYTES) >> 4;
        const unsigned step_b = K_STEP * BOX * 2 >> 4;
        for (unsigned block = 0; block < terms.count; block++) {
            uint64_t x = FROM_RING ? describe_k_major(rings.a + a.stage * BYTES_A)
                                   : wk_operand(chunks + block * (K_BLOCK / 8) * CHUNK_BYTES,
                                                CHUNK_BYTES, 128);
            uint64_t w = describe_boxes(rings.b + b.stage * rings.BYTES_B);
            unsigned steps = block + 1 == terms.count ? terms.tail : STEPS;
            wk_barrier_wait(rings.full_b + 8 * b.stage, b.round & 1);
            if (FROM_RING) wk_barrier_wait(rings.full_a + 8 * a.stage, a.round & 1);
            // What lies beyond the terms is zero in the ring, but not in chunks.
            if (FROM_RING || steps == STEPS)
                multiply_steps<N, STEPS>(d, x, w, step_a, step_b, block > 0);
            else if (steps == 1)
                multiply_steps<N, 1>(d, x, w, step_a, step_b, block > 0);
            else if (steps == 2)
                multiply_steps<N, 2>(d, x, w, step_a, step_b, block > 0);
            else
                multiply_steps<N, 3>(d, x, w, step_a, step_b, block > 0);
            if (block > 0) {
                wk_wgmma_wait<1>();
                release(FROM_RING);
            }
            held_b = b.stage;
            b.move();
            if (!FROM_RING) continue;
            held_a = a.stage;
            a.move();
        }
        wk_wgmma_wait<0>();
        wk_wgmma_hold(d);
        release(FROM_RING);
    }
};

template <int THREADS> static __device__ inline void meet(int barrier)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS) : "memory");
}

// A lane's biases of the first `columns` of N.
template <int N>
static __device__ inline void load_biases(const float *from, unsigned columns,
                                          float2 (&bias)[N / 8])
{
#pragma unroll
    for (unsigned i = 0; i < N / 8; i++)
        bias[i] = from && 8 * i < columns ? __ldg((const float2 *)(from + 8 * i) + threadIdx.x % 4)
                                          : make_float2(0, 0);
}

// The first `columns` of N results with bias and ELU as chunks, for products and copies to read.
template <int N>
static __device__ inline void store_activated(const float (&d)[N / 2], const float2 (&bias)[N / 8],
                                              unsigned columns, unsigned to)
{
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    to += (warp * 16 + lane / 4) * 16 + lane % 4 * 4;
#pragma unroll
    for (unsigned i = 0; i < N / 8; i++) {
        if (8 * i >= columns) break;
        float2 b = bias[i];
        unsigned above = wk_two_halves(wk_activate_half(WK_ELU, d[4 * i] + b.x),
                                       wk_activate_half(WK_ELU, d[4 * i + 1] + b.y));
        unsigned below = wk_two_halves(wk_activate_half(WK_ELU, d[4 * i + 2] + b.x),
                                       wk_activate_half(WK_ELU, d[4 * i + 3] + b.y));
        store_word(to + i * CHUNK_BYTES, above);
        store_word(to + i * CHUNK_BYTES + 8 * 16, below);
    }
    wk_publish_shared();
    meet<MULTIPLIERS>(MULTIPLIERS_ONLY);
}

// Copies bytes to the same place of another block, where they count at the same barrier.
static __device__ inline void send_to(unsigned rank, unsigned from, unsigned bytes,
                                      unsigned barrier)
{
    asm volatile("{ .reg .b32 there, bell; mapa.shared::cluster.u32 there, %0, %3;"
                 "mapa.shared::cluster.u32 bell, %2, %3;"
                 "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                 "[there], [%0], %1, [bell]; }" ::"r"(from),
                 "r"(bytes), "r"(barrier), "r"(rank)
                 : "memory");
}

// A block's columns, in chunks, to the others of its cluster, by a thread of every warp; and how
// many columns it expects of them.
static __device__ inline void exchange(unsigned rank, unsigned blocks, unsigned from,
                                       unsigned columns, unsigned others, unsigned barrier)
{
    if (threadIdx.x % 32 != 0) return;
    for (unsigned k = 1 + threadIdx.x / 32; k < blocks; k += MULTIPLIERS / 32)
        send_to(rank + k < blocks ? rank + k : rank + k - blocks, from, columns / 8 * CHUNK_BYTES,
                barrier);
    if (threadIdx.x == 0) barrier_expect(barrier, others / 8 * CHUNK_BYTES);
}

#endif
