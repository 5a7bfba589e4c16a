// The GEMM of gemm.cuh for small weights: those of a stack member are resident in shared memory,
// and only rows are streamed.
//
// Two blocks of a cluster have half of the columns each, for all terms. Tiles of 64 rows come
// through a ring, each block fetching half of them for both. A cluster has a contiguous part of the
// list of all tiles, member by member, and loads new weights where the member changes. Two
// warpgroups alternate (ping-pong): while one runs its epilogue, the other has the tensor cores.
// Results are stored from registers and slopes loaded to registers, so shared memory is left for
// weights and ring.
#include "tensor/cuda/hopper/gemm_resident_epilogue.cuh"
#include "tensor/cuda/hopper/gemm_resident_weights.cuh"
#include "tensor/cuda/hopper/tensor_map.cuh"

enum {
    TILE = 64,      // rows
    STEPS_MAX = 25, // of terms
    BLOCKS_MAX = (STEPS_MAX + STEPS - 1) / STEPS,
    RING_STAGE = TILE * K_BLOCK * 2,
    WARPGROUPS = 2, // that multiply
    THREADS = 128 * (WARPGROUPS + 1),
};

static_assert(STEPS_MAX * K_STEP == WK_RESIDENT_TERMS_MAX, "as the choice of a tile has it");
static_assert(CLUSTER * COLS == WK_RESIDENT_COLUMNS_MAX, "as the choice of a tile has it");

struct resident_job {
    CUtensorMap a, y;
    CUtensorMap block[2], step[2]; // of b: boxes of a block of terms or of a step; the last box
    unsigned tiles_m, tiles;       // of a member, and of all
    term_blocks terms;
    unsigned move_a, move_b; // 0 where the stack shares the operand
    resident_result result;
};

// Bytes in shared memory, and where things lie there. A last block of terms that is not whole lies
// step by step.
template <bool K_MAJOR> struct resident_layout {
    enum {
        BOXES = (COLS + N_BOX - 1) / N_BOX,
        STEP = (K_MAJOR ? COLS : BOXES * N_BOX) * K_STEP * 2,
        BLOCK = STEPS * STEP,
        WEIGHTS = STEPS_MAX * STEP,
        STAGES = (SHARED - 1024 - WEIGHTS - 512) / RING_STAGE,
        TOTAL = 1024 + STAGES * RING_STAGE + WEIGHTS + 16 * (STAGES + BLOCKS_MAX),
    };
    unsigned ring, weights;
    unsigned full, empty;                 // barriers of stages
    unsigned weights_full, weights_empty; // barriers of blocks of weights

    __device__ explicit resident_layout(const char *memory)
        : ring(shared_address(memory)), weights(ring + STAGES * RING_STAGE),
          full(weights + WEIGHTS), empty(full + 8 * STAGES), weights_full(empty + 8 * STAGES),
          weights_empty(weights_full + 8 * BLOCKS_MAX)
    {
    }

    // By one thread, before the cluster's first barrier.
    __device__ void init() const
    {
        for (unsigned i = 0; i < STAGES; i++) {
            wk_barrier_init(full + 8 * i, 1);
            wk_barrier_init(empty + 8 * i, CLUSTER);
        }
        for (unsigned i = 0; i < BLOCKS_MAX; i++) {
            wk_barrier_init(weights_full + 8 * i, 1);
            wk_barrier_init(weights_empty + 8 * i, WARPGROUPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
};

// The tiles of a cluster.
struct tile_range {
    unsigned begin, end;

    __device__ explicit tile_range(const resident_job &j)
    {
        unsigned clusters = gridDim.x / CLUSTER, mine = blockIdx.x / CLUSTER;
        unsigned each = j.tiles / clusters, more = j.tiles % clusters;
        begin = mine * each + (mine < more ? mine : more);
        end = begin + each + (mine < more);
    }
};

// A tile, and the tiles of its member in the range.
struct tile_position {
    unsigned row, stack, first, end;

    __device__ tile_position(const resident_job &j, const tile_range &p, unsigned t)
    {
        stack = t / j.tiles_m;
        unsigned start = stack * j.tiles_m, limit = start + j.tiles_m;
        row = (t - start) * TILE;
        first = start > p.begin ? start : p.begin;
        end = limit < p.end ? limit : p.end;
    }
};

static __device__ inline bool is_whole(const resident_job &j, unsigned block)
{
    return block + 1 < j.terms.count || j.terms.tail == STEPS;
}

// The producer thread.

// Columns `box` and some terms of b, of whose transpose each matrix has n rows.
template <bool K_MAJOR>
static __device__ inline void load_box(const CUtensorMap (&map)[2], unsigned to, unsigned ready,
                                       unsigned box, int k, int matrix, int n)
{
    int col = (int)(cluster_rank() * COLS + box * N_BOX);
    if (!K_MAJOR)
        fetch(to, &map[0], ready, col, k, matrix);
    else if (box + 1 < resident_layout<K_MAJOR>::BOXES)
        fetch5(to, &map[0], ready, k, 0, (matrix * n + col) / 8, 0);
    else
        fetch5(to, &map[1], ready, k, 0, (matrix * n + col) / 4, 0);
}

template <bool K_MAJOR>
static __device__ inline void load_weights(const resident_job &j,
                                           const resident_layout<K_MAJOR> &layout, unsigned block,
                                           unsigned stack)
{
    typedef resident_layout<K_MAJOR> R;
    bool whole = is_whole(j, block);
    unsigned parts = whole ? 1 : j.terms.tail, terms = whole ? K_BLOCK : K_STEP;
    unsigned ready = layout.weights_full + 8 * block, to = layout.weights + block * R::BLOCK;
    barrier_expect(ready, parts * (whole ? R::BLOCK : R::STEP));
    for (unsigned part = 0; part < parts; part++, to += R::STEP)
        for (unsigned box = 0; box < R::BOXES; box++)
            load_box<K_MAJOR>(whole ? j.block : j.step, to + box * N_BOX * terms * 2, ready, box,
                              (int)(block * K_BLOCK + part * K_STEP), (int)(stack * j.move_b),
                              (int)j.result.n);
}

template <bool K_MAJOR>
static __device__ void produce(const resident_job &j, const resident_layout<K_MAJOR> &layout)
{
    enum { HALF = TILE / CLUSTER, PREFETCH = 1 };
    unsigned rank = cluster_rank(), loads = 0;
    tile_range mine(j);
    ring_place<resident_layout<K_MAJOR>::STAGES> at;
    for (unsigned t = mine.begin; t < mine.end; t++) {
        tile_position s(j, mine, t);
        bool fresh = t == s.first;
        if (j.result.y && t + PREFETCH < s.end)
            prefetch(&j.y, (int)(rank * COLS), (int)(s.row + PREFETCH * TILE), (int)s.stack);
        for (unsigned block = 0; block < j.terms.count; block++, at.move()) {
            if (fresh) {
                wk_barrier_wait(layout.weights_empty + 8 * block, (loads & 1) ^ 1);
                load_weights(j, layout, block, s.stack);
            }
            unsigned ready = layout.full + 8 * at.stage;
            wk_barrier_wait(layout.empty + 8 * at.stage, (at.round & 1) ^ 1);
            barrier_expect(ready, RING_STAGE);
            fetch_for_all(layout.ring + at.stage * RING_STAGE + rank * (RING_STAGE / CLUSTER), &j.a,
                          ready, (int)(block * K_BLOCK), (int)(s.row + rank * HALF),
                          (int)(s.stack * j.move_a));
        }
        loads += fresh;
    }
}

// Waits until the other warpgroup has issued all its products.
static __device__ inline void wait_turn(unsigned warpgroup)
{
    asm volatile("bar.sync %0, %1;" ::"r"(1 + warpgroup), "n"(128 * WARPGROUPS) : "memory");
}

static __device__ inline void pass_turn(unsigned warpgroup)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(1 + (warpgroup ^ 1)), "n"(128 * WARPGROUPS) : "memory");
}

template <bool K_MAJOR, int COUNT>
static __device__ inline void multiply_last(float (&d)[COLS / 2], uint64_t a, unsigned weights,
                                            bool add)
{
    typedef resident_layout<K_MAJOR> R;
    uint64_t b = K_MAJOR ? describe_k_step(weights) : describe_n_major<K_STEP>(weights);
    multiply_steps<COUNT, K_MAJOR>(d, a, b, K_STEP * 2 >> 4, R::STEP >> 4, add);
}

// The products of a block of terms.
template <bool K_MAJOR>
static __device__ inline void multiply_block(const resident_job &j, unsigned block,
                                             float (&d)[COLS / 2], unsigned rows, unsigned weights)
{
    const unsigned step_a = K_STEP * 2 >> 4;
    const unsigned step_b = (K_MAJOR ? K_STEP * 2 : K_STEP * N_BOX * 2) >> 4;
    uint64_t a = describe_k_major(rows);
    uint64_t b = K_MAJOR ? describe_k_major(weights) : describe_n_major<K_BLOCK>(weights);
    if (is_whole(j, block))
        multiply_steps<STEPS, K_MAJOR>(d, a, b, step_a, step_b, block > 0);
    else if (j.terms.tail == 1)
        multiply_last<K_MAJOR, 1>(d, a, weights, block > 0);
    else if (j.terms.tail == 2)
        multiply_last<K_MAJOR, 2>(d, a, weights, block > 0);
    else
        multiply_last<K_MAJOR, 3>(d, a, weights, block > 0);
}

// Releases a stage, and `times` a block of weights: never before the warpgroup's last tile of a
// member, and for the other one too where that has none.
static __device__ inline void release_stage(unsigned stage, unsigned weights, unsigned times)
{
    release(stage);
    if (threadIdx.x % 128 != 0) return;
    for (unsigned i = 0; i < times; i++)
        wk_barrier_arrive(weights);
}

// A consumer warpgroup.
template <bool K_MAJOR, epilogue_kind KIND>
static __device__ void multiply(const resident_job &j, const resident_layout<K_MAJOR> &layout)
{
    typedef resident_layout<K_MAJOR> R;
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0), warpgroup = warp / 4;
    unsigned count = j.terms.count;
    tile_range mine(j);
    unsigned first_stack = mine.begin / j.tiles_m;
    epilogue_inputs<KIND> with;
    for (unsigned t = mine.begin + warpgroup; t < mine.end; t += WARPGROUPS) {
        tile_position s(j, mine, t);
        warp_tile at = {s.row + warp % 4 * 16, cluster_rank() * COLS, s.stack};
        bool fresh = t < s.first + WARPGROUPS, last = t + WARPGROUPS >= s.end;
        unsigned times = last ? (s.end - s.first == 1 ? WARPGROUPS : 1) : 0, held = 0;
        ring_place<R::STAGES> place((t - mine.begin) * count);
        float d[COLS / 2];
        if constexpr (KIND == EPILOGUE_SLOPE)
            load_slopes(j.result, at, with.y);
        else if (fresh)
            load_biases<K_MAJOR>(j.result, at, with.bias);
        // Every stage before this tile's has been filled then, so that phases cannot be mistaken.
        if (t > mine.begin) wait_turn(warpgroup);
        for (unsigned block = 0; block < count; block++, place.move()) {
            if (fresh)
                wk_barrier_wait(layout.weights_full + 8 * block, (s.stack - first_stack) & 1);
            wk_barrier_wait(layout.full + 8 * place.stage, place.round & 1);
            multiply_block<K_MAJOR>(j, block, d, layout.ring + place.stage * RING_STAGE,
                                    layout.weights + block * R::BLOCK);
            wk_wgmma_wait<1>();
            if (block > 0)
                release_stage(layout.empty + 8 * held, layout.weights_empty + 8 * (block - 1),
                              times);
            held = place.stage;
        }
        if (t + 1 < mine.end) pass_turn(warpgroup);
        wk_wgmma_wait<0>();
        wk_wgmma_hold(d);
        release_stage(layout.empty + 8 * held, layout.weights_empty + 8 * (count - 1), times);
        finish<K_MAJOR>(j.result, d, with, at);
    }
}

template <bool K_MAJOR, epilogue_kind KIND>
__global__ void __launch_bounds__(THREADS, 1)
    resident_kernel(const __grid_constant__ resident_job j)
{
    extern __shared__ char raw[];
    resident_layout<K_MAJOR> layout(whole_memory(raw));
    if (threadIdx.x == 0) layout.init();
    cluster_sync();
    wk_begin();
    // The shuffle tells the compiler that the value is warp-uniform.
    if (__shfl_sync(~0u, threadIdx.x / 32, 0) >= 4 * WARPGROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 128 * WARPGROUPS) produce<K_MAJOR>(j, layout);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        multiply<K_MAJOR, KIND>(j, layout);
    }
    __syncwarp();
    cluster_sync(); // no block exits while the other may still write to its shared memory
}

// The host's side.

static bool map_operands(map_maker make, const wk_hopper_product *p, resident_job *j)
{
    if (!make.call) return false;
    const wk_hopper_term *t = &p->term[0];
    size_t count_a = t->stride_a ? p->stacks : 1, count_b = t->stride_b ? p->stacks : 1;
    operand_map a = {t->a, count_a, p->m, t->k, t->row_a, t->stride_a, TILE / CLUSTER, K_BLOCK};
    operand_map block = {t->b, count_b, t->k, p->n, t->row_b, t->stride_b, K_BLOCK, N_BOX}, step;
    if (p->transpose_b) {
        block.rows = p->n;
        block.cols = t->k;
        block.box_cols = K_BLOCK;
    }
    step = block;
    (p->transpose_b ? step.box_cols : step.box_rows) = K_STEP;
    j->move_a = t->stride_a ? 1 : 0;
    j->move_b = t->stride_b ? 1 : 0;
    operand_map y = {p->y.bf16, p->stacks, p->m, p->n, p->n, p->m * p->n, TILE, COLS};
    if (!encode(make, &a, &j->a) || (y.x && !encode(make, &y, &j->y))) return false;
    if (!p->transpose_b)
        return encode(make, &block, &j->block[0]) && encode(make, &step, &j->step[0]);
    for (unsigned i = 0; i < 2; i++)
        if (!encode_transposed(make, &block, 8 >> i, &j->block[i]) ||
            !encode_transposed(make, &step, 8 >> i, &j->step[i]))
            return false;
    return true;
}

template <bool K_MAJOR, epilogue_kind KIND>
static void launch(const wk_cuda_call *c, const resident_job &j)
{
    launch_clusters(c, resident_kernel<K_MAJOR, KIND>, j.tiles, THREADS,
                    resident_layout<K_MAJOR>::TOTAL, j);
}

bool wk_hopper_multiply_resident(const wk_cuda_call *c, const wk_hopper_product *p)
{
    resident_job j = {};
    if (!map_operands(map_maker_of(c), p, &j)) return false;
    j.tiles_m = (unsigned)((p->m + TILE - 1) / TILE);
    j.tiles = j.tiles_m * (unsigned)p->stacks;
    j.terms = blocks_of_terms(p->term[0].k);
    j.result = {(unsigned)p->m, (unsigned)p->n, (unsigned)p->stride_bias,
                p->bias,        p->y.bf16,      p->out.bf16};
    epilogue_kind kind = kind_of(p);
    if (kind == EPILOGUE_SLOPE)
        launch<true, EPILOGUE_SLOPE>(c, j);
    else if (kind == EPILOGUE_ELU && p->transpose_b)
        launch<true, EPILOGUE_ELU>(c, j);
    else if (kind == EPILOGUE_ELU)
        launch<false, EPILOGUE_ELU>(c, j);
    else if (p->transpose_b)
        launch<true, EPILOGUE_BIAS>(c, j);
    else
        launch<false, EPILOGUE_BIAS>(c, j);
    return true;
}
