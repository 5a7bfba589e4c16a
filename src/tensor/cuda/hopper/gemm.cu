// The GEMM of gemm.cuh: persistent, warp-specialised. One or two warpgroups of a block multiply a
// tile of 64 or 128 rows; a producer thread prefetches operand tiles by TMA into a ring buffer. Two
// blocks of a cluster have the same columns of neighbouring rows: each multicasts half of b's tile.
// Blocks are persistent and take tile after tile, so the ring fills while results are written
// (gemm_epilogue.cuh).
#include "tensor/cuda/hopper/gemm_epilogue.cuh"
#include "tensor/cuda/hopper/gemm_resident_weights.cuh"
#include "tensor/cuda/hopper/tensor_map.cuh"

// The producer thread.
template <int WARPGROUPS, int N, bool K_MAJOR, bool SLOPES>
static __device__ void produce(const hopper_job &j, unsigned memory, unsigned full, unsigned empty)
{
    typedef tile<WARPGROUPS, N, K_MAJOR, SLOPES> T;
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

// A consumer warpgroup.
template <int WARPGROUPS, int N, bool K_MAJOR, bool SLOPES>
static __device__ void multiply(const hopper_job &j, unsigned memory, unsigned full, unsigned empty,
                                float *pieces)
{
    typedef tile<WARPGROUPS, N, K_MAJOR, SLOPES> T;
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0), warpgroup = warp / 4, stage = 0,
             round = 0;
    float *piece = pieces + warp * 16 * T::PITCH;
    unsigned buffer = shared_address(pieces) + warp * T::BUFFERS * T::BUFFER;
    unsigned ready = empty + 8 * (T::STAGES + warp), parity = 0;
    for (unsigned t = blockIdx.x / CLUSTER; t < j.tiles; t += gridDim.x / CLUSTER) {
        place at = place_of<T>(j, t, N);
        warp_tile mine = {at.row + warp * 16, at.col, at.stack};
        float d[N / 2];
        int add = 0;
        unsigned held = 0; // the stage that products in flight still read, if add
        for (unsigned segment = 0; segment <= j.segments; segment++) {
            unsigned term = segment == j.segments, blocks = j.blocks[term];
            for (unsigned block = 0; block < blocks; block++) {
                unsigned from = memory + stage * T::STAGE;
                uint64_t a = describe_k_major(from + warpgroup * 64 * K_BLOCK * 2);
                uint64_t b = K_MAJOR ? describe_k_major(from + T::BYTES_A)
                                     : describe_n_major<K_BLOCK>(from + T::BYTES_A);
                const int step_a = K_STEP * 2 >> 4;
                const int step_b = (K_MAJOR ? K_STEP * 2 : K_STEP * N_BOX * 2) >> 4;
                wk_barrier_wait(full + 8 * stage, round & 1);
                // What lies beyond the terms is zero in both.
                multiply_steps<STEPS, K_MAJOR>(d, a, b, step_a, step_b, add);
                // Alone, a warpgroup issues the next products before it waits for the last; two
                // fill each other's gaps, and the ring refills sooner.
                if (WARPGROUPS > 1) {
                    wk_wgmma_wait<0>();
                    release(empty + 8 * stage);
                } else if (add) {
                    wk_wgmma_wait<1>();
                    release(empty + 8 * held);
                }
                // Once per tile, when the last one's results have surely left the buffer.
                if (has_slopes(j.kind) && segment == 0 && block == (blocks > 1 ? 1 : 0))
                    request_slopes<T>(j, buffer, ready, mine);
                add = 1;
                held = stage;
                if (++stage == T::STAGES) {
                    stage = 0;
                    round++;
                }
            }
        }
        if (WARPGROUPS == 1) {
            wk_wgmma_wait<0>();
            release(empty + 8 * held);
        }
        switch (j.kind) {
        case EPILOGUE_ELU:
            write_parts<T, EPILOGUE_ELU, N>(j, d, buffer, mine);
            break;
        case EPILOGUE_BIAS:
            write_parts<T, EPILOGUE_BIAS, N>(j, d, buffer, mine);
            break;
        case EPILOGUE_SLOPE:
        case EPILOGUE_SLOPE_SUMS:
            if constexpr (SLOPES) {
                wk_barrier_wait(ready, parity);
                parity ^= 1;
                if (j.sums)
                    write_parts<T, EPILOGUE_SLOPE_SUMS, N>(j, d, buffer, mine);
                else
                    write_parts<T, EPILOGUE_SLOPE, N>(j, d, buffer, mine);
            }
            break;
        case EPILOGUE_SUM:
            write<T, EPILOGUE_SUM, 0, N>(j, d, piece, mine);
            break;
        case EPILOGUE_PAIRS:
            write<T, EPILOGUE_PAIRS, 0, N>(j, d, piece, mine);
            break;
        default:
            write<T, EPILOGUE_ANY, 0, N>(j, d, piece, mine);
        }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

template <int WARPGROUPS, int N, bool K_MAJOR, bool SLOPES>
__global__ void __launch_bounds__(tile<WARPGROUPS, N, K_MAJOR, SLOPES>::THREADS, 1)
    hopper_kernel(const __grid_constant__ hopper_job j)
{
    typedef tile<WARPGROUPS, N, K_MAJOR, SLOPES> T;
    extern __shared__ char raw[];
    char *memory = whole_memory(raw);
    float *pieces = (float *)(memory + T::STAGES * T::STAGE);
    unsigned full = shared_address(pieces) + T::STAGING, empty = full + 8 * T::STAGES;
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < T::STAGES; i++) {
            wk_barrier_init(full + 8 * i, 1);
            wk_barrier_init(empty + 8 * i, CLUSTER * WARPGROUPS);
        }
        for (unsigned i = 0; i < T::WARPS; i++)
            wk_barrier_init(empty + 8 * (T::STAGES + i), 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    wk_begin();
    // The shuffle tells the compiler that the value is warp-uniform. The producer warpgroup gives
    // its registers to two consumers; one has enough.
    if (__shfl_sync(~0u, threadIdx.x / 32, 0) >= 4 * WARPGROUPS) {
        if (WARPGROUPS > 1) asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128 * WARPGROUPS)
            produce<WARPGROUPS, N, K_MAJOR, SLOPES>(j, shared_address(memory), full, empty);
    } else {
        if (WARPGROUPS > 1) asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        multiply<WARPGROUPS, N, K_MAJOR, SLOPES>(j, shared_address(memory), full, empty, pieces);
    }
    __syncwarp();
    cluster_sync(); // no block exits while the other may still write to its shared memory
}

// The host's side.

static bool map_term(map_maker make, const wk_hopper_product *p, int i, unsigned rows, unsigned n,
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
    j->blocks[i] = (unsigned)((t->k + K_BLOCK - 1) / K_BLOCK);
    return encode(make, &a, &j->a[i]) && encode(make, &b, &j->b[i]);
}

// The maps of what the epilogue loads and stores by TMA.
static bool map_results(map_maker make, const wk_hopper_product *p, unsigned cols, hopper_job *j)
{
    enum { ROWS = 16 };
    operand_map o = {p->out.bf16, j->stacks, p->m, p->n, p->n, p->m * p->n, ROWS, cols};
    if (j->kind <= EPILOGUE_SLOPE_SUMS && !encode(make, &o, &j->out_map)) return false;
    o.x = p->y.bf16;
    return !has_slopes(j->kind) || encode(make, &o, &j->y_map);
}

template <int WARPGROUPS, int N, bool K_MAJOR, bool SLOPES = K_MAJOR>
static bool launch(const wk_cuda_call *c, const wk_hopper_product *p, map_maker make)
{
    typedef tile<WARPGROUPS, N, K_MAJOR, SLOPES> T;
    hopper_job j = {};
    for (int i = 0; i < p->terms; i++)
        if (!map_term(make, p, i, T::ROWS, N, &j)) return false;
    j.m = (unsigned)p->m;
    j.n = (unsigned)p->n;
    j.stacks = p->reduce ? 1 : (unsigned)p->stacks;
    j.segments = p->reduce ? (unsigned)p->stacks : 1;
    j.tiles_n = (j.n + N - 1) / N;
    j.tiles = (j.m + CLUSTER * T::ROWS - 1) / (CLUSTER * T::ROWS) * j.stacks * j.tiles_n;
    j.elu = p->activation == WK_ELU;
    j.slope = (p->y.x || p->y.bf16) && p->slope == WK_ELU;
    j.stride_bias = (unsigned)p->stride_bias;
    j.bias = p->bias;
    j.add = p->add;
    j.y = p->y;
    j.out = p->out;
    j.sums = p->sums;
    j.kind = kind_of(p);
    if (!map_results(make, p, T::PART, &j)) return false;
    launch_clusters(c, hopper_kernel<WARPGROUPS, N, K_MAJOR, SLOPES>, j.tiles, T::THREADS, T::TOTAL,
                    j);
    return true;
}

template <bool K_MAJOR>
static bool launch_tile(const wk_cuda_call *c, const wk_hopper_product *p, map_maker make)
{
    switch (p->tile) {
    case WK_TILE_128X208:
        return launch<2, 208, K_MAJOR>(c, p, make);
    case WK_TILE_64X208:
        return launch<1, 208, K_MAJOR>(c, p, make);
    case WK_TILE_128X256: // without slopes, a stage more
        if (!has_slopes(kind_of(p))) return launch<2, 256, K_MAJOR, false>(c, p, make);
        return launch<2, 256, K_MAJOR>(c, p, make);
    case WK_TILE_128X128:
        return launch<2, 128, K_MAJOR>(c, p, make);
    case WK_TILE_64X128:
        return launch<1, 128, K_MAJOR>(c, p, make);
    default:
        return launch<1, 80, K_MAJOR>(c, p, make);
    }
}

bool wk_hopper_multiply(const wk_cuda_call *c, const wk_hopper_product *p)
{
    if (p->tile == WK_TILE_RESIDENT) return wk_hopper_multiply_resident(c, p);
    map_maker make = map_maker_of(c);
    if (!make.call) return false;
    return p->transpose_b ? launch_tile<true>(c, p, make) : launch_tile<false>(c, p, make);
}
