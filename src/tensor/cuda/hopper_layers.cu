// The kernel of hopper_layers.cuh. A cluster of blocks has 64 rows, each block COLS columns of
// every layer. What a layer gives goes from each block to the shared memory of all, where the next
// layer reads all of it; only weights, which a thread has the copy engine bring ahead, come from
// memory. The block of rank 0 does the head.
#include "tensor/cuda/hopper_layers.cuh"
#include "tensor/cuda/hopper_map.cuh"
#include "tensor/truncated.h"

enum {
    ROWS = 64,
    COLS = 80,
    BOXES = (COLS + N_BOX - 1) / N_BOX,
    CHUNK_BYTES = ROWS * 16, // eight columns of the rows
    BYTES_A = ROWS * K_BLOCK * 2,
    BYTES_B = BOXES * N_BOX * K_BLOCK * 2,
    STAGE = BYTES_A + BYTES_B,
    STAGES = 5,
    STEPS = K_BLOCK / K_STEP,
    MULTIPLIERS = 128,
    HELPERS = 96, // they fetch the head's weights
    THREADS = MULTIPLIERS + 32 + HELPERS,
    RESULTS = WK_LAYERS_RESULTS,
    PITCH_RESULTS = RESULTS + 1,
};

// Barriers of threads; 0 is __syncthreads.
enum { MULTIPLIERS_ONLY = 1, HEAD_READY };

struct layers_job {
    CUtensorMap x, w[WK_LAYERS_MOST];
    const float *bias[WK_LAYERS_MOST];
    unsigned stride_bias[WK_LAYERS_MOST];
    unsigned m, units, count, results;
    unsigned tiles;              // of rows, in each member of the stack
    unsigned move_x, move_w;     // 0 where the stack shares them
    unsigned blocks[2], tail[2]; // blocks of terms and steps of the last: first layer, others
    const float *head, *head_bias;
    unsigned stride_head, stride_head_bias;
    float *choice, *action;
    uint64_t key;
    const void *counter;
    bool known;
};

// Shared memory, by address.
struct layers_memory {
    unsigned ring, hidden[2], head, full, empty, arrived;
    float *results;

    __device__ layers_memory(char *raw, unsigned units)
    {
        char *memory = raw + (1024 - shared_address(raw) % 1024) % 1024;
        ring = shared_address(memory);
        hidden[0] = ring + STAGES * STAGE;
        hidden[1] = hidden[0] + units / 8 * CHUNK_BYTES;
        head = hidden[1] + units / 8 * CHUNK_BYTES;
        full = head + units * RESULTS * 2;
        empty = full + 8 * STAGES;
        arrived = empty + 8 * STAGES;
        results = (float *)(memory + (arrived + 16 - ring));
    }

    static size_t size(size_t units)
    {
        return 1024 + STAGES * STAGE + 2 * (units / 8 * CHUNK_BYTES) + units * RESULTS * 2 +
               8 * (2 * STAGES + 2) + ROWS * PITCH_RESULTS * sizeof(float);
    }
};

// Where a block's part lies.
struct layers_place {
    unsigned rank, stack, row, col;

    __device__ layers_place(const layers_job &j, unsigned blocks)
    {
        unsigned cluster = blockIdx.x / blocks;
        rank = blockIdx.x - cluster * blocks;
        stack = cluster / j.tiles;
        row = (cluster - stack * j.tiles) * ROWS;
        col = rank * COLS;
    }
};

// The columns of a block that are there.
static __device__ inline unsigned columns_of(const layers_job &j, unsigned rank)
{
    return min(j.units - rank * COLS, (unsigned)COLS);
}

static __device__ inline unsigned blocks_of(const layers_job &j)
{
    return (j.units + COLS - 1) / COLS;
}

static __device__ inline void fetch_weights(const layers_job &j, const layers_place &at,
                                            unsigned layer, unsigned block, unsigned stage,
                                            const layers_memory &memory)
{
    for (unsigned box = 0; box < BOXES; box++)
        fetch(memory.ring + stage * STAGE + BYTES_A + box * N_BOX * K_BLOCK * 2, &j.w[layer],
              memory.full + 8 * stage, (int)(at.col + box * N_BOX), (int)(block * K_BLOCK),
              (int)(at.stack * j.move_w));
}

static __device__ inline void fetch_rows(const layers_job &j, const layers_place &at,
                                         unsigned block, unsigned stage,
                                         const layers_memory &memory)
{
    fetch(memory.ring + stage * STAGE, &j.x, memory.full + 8 * stage, (int)(block * K_BLOCK),
          (int)at.row, (int)(at.stack * j.move_x));
}

// The copying thread. The first weights come before the wait for what the rows are made by.
static __device__ void bring(const layers_job &j, const layers_place &at,
                             const layers_memory &memory)
{
    unsigned ahead = min(j.blocks[0], (unsigned)STAGES);
    if (!j.known) wk_begin();
    for (unsigned i = 0; i < ahead; i++) {
        barrier_expect(memory.full + 8 * i, STAGE);
        fetch_weights(j, at, 0, i, i, memory);
    }
    if (j.known) wk_begin();
    for (unsigned i = 0; i < ahead; i++)
        fetch_rows(j, at, i, i, memory);
    unsigned stage = ahead % STAGES, round = ahead / STAGES;
    for (unsigned layer = 0; layer < j.count; layer++) {
        for (unsigned block = layer ? 0 : ahead; block < j.blocks[layer > 0]; block++) {
            wk_barrier_wait(memory.empty + 8 * stage, (round & 1) ^ 1);
            barrier_expect(memory.full + 8 * stage, layer ? BYTES_B : STAGE);
            if (layer == 0) fetch_rows(j, at, block, stage, memory);
            fetch_weights(j, at, layer, block, stage, memory);
            if (++stage == STAGES) {
                stage = 0;
                round++;
            }
        }
    }
}

template <int THREADS_OF> static __device__ inline void meet(int barrier)
{
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(THREADS_OF) : "memory");
}

// The head's weights in chunks of eight terms of a column, zeros beyond the last result.
static __device__ void fetch_head(const layers_job &j, unsigned stack, unsigned to)
{
    enum { AHEAD = 16 };
    const float *w = j.head + (size_t)stack * j.stride_head;
    unsigned count = j.units * RESULTS;
    for (unsigned first = threadIdx.x - (MULTIPLIERS + 32); first < count;
         first += AHEAD * HELPERS) {
        float v[AHEAD];
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            unsigned at = first + i * HELPERS, term = at / RESULTS, result = at % RESULTS;
            v[i] = at < count && result < j.results ? w[term * j.results + result] : 0.0f;
        }
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            unsigned at = first + i * HELPERS, term = at / RESULTS, result = at % RESULTS;
            if (at >= count) break;
            __nv_bfloat16 half = __float2bfloat16_rn(v[i]);
            asm volatile("st.shared.u16 [%0], %1;" ::"r"(to + term / 8 * (RESULTS * 16) +
                                                         result * 16 + term % 8 * 2),
                         "h"(*(unsigned short *)&half)
                         : "memory");
        }
    }
    wk_publish_shared();
}

// A ring's place.
struct ring_place {
    unsigned stage, round;
};

// The sums of a layer's columns.
static __device__ inline void multiply_layer(const layers_job &j, unsigned layer,
                                             const layers_memory &memory, ring_place &ring,
                                             float (&d)[COLS / 2])
{
    unsigned blocks = j.blocks[layer > 0], held = 0;
    for (unsigned block = 0; block < blocks; block++) {
        unsigned from = memory.ring + ring.stage * STAGE;
        // The first layer's rows lie in the ring; the results of a layer before in chunks.
        uint64_t a =
            layer ? wk_operand(memory.hidden[layer % 2] + block * (K_BLOCK / 8) * CHUNK_BYTES,
                               CHUNK_BYTES, 128)
                  : describe_k_major(from);
        uint64_t b = describe_n_major(from + BYTES_A);
        const unsigned step_a = layer ? (K_STEP / 8 * CHUNK_BYTES) >> 4 : (K_STEP * 2) >> 4;
        const unsigned step_b = (K_STEP * N_BOX * 2) >> 4;
        unsigned steps = block + 1 == blocks ? j.tail[layer > 0] : STEPS;
        wk_barrier_wait(memory.full + 8 * ring.stage, ring.round & 1);
        if (steps == STEPS) {
            wk_wgmma_begin();
#pragma unroll
            for (int i = 0; i < STEPS; i++)
                wgmma<COLS, false>::run(d, a + i * step_a, b + i * step_b, (int)block | i);
        } else {
            for (unsigned i = 0; i < steps; i++) {
                wk_wgmma_begin();
                wgmma<COLS, false>::run(d, a + i * step_a, b + i * step_b, (int)(block | i));
            }
        }
        wk_wgmma_commit();
        if (block > 0) {
            wk_wgmma_wait<1>();
            if (threadIdx.x == 0) wk_barrier_arrive(memory.empty + 8 * held);
        }
        held = ring.stage;
        if (++ring.stage == STAGES) {
            ring.stage = 0;
            ring.round++;
        }
    }
    wk_wgmma_wait<0>();
    if (threadIdx.x == 0) wk_barrier_arrive(memory.empty + 8 * held);
}

// A lane's biases.
static __device__ inline void load_biases(const layers_job &j, const layers_place &at,
                                          unsigned layer, float2 (&bias)[COLS / 8])
{
    const float *from = j.bias[layer] + at.stack * j.stride_bias[layer] + at.col;
    unsigned columns = columns_of(j, at.rank);
#pragma unroll
    for (unsigned i = 0; i < COLS / 8; i++)
        bias[i] = j.bias[layer] && 8 * i < columns
                      ? __ldg((const float2 *)(from + 8 * i) + threadIdx.x % 4)
                      : make_float2(0, 0);
}

static __device__ inline void store_word(unsigned address, unsigned word)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

// Activated results to this block's part of the next layer's rows.
static __device__ inline void store_columns(const layers_job &j, const layers_place &at,
                                            const float (&d)[COLS / 2],
                                            const float2 (&bias)[COLS / 8], unsigned to)
{
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32, columns = columns_of(j, at.rank);
    to += (warp * 16 + lane / 4) * 16 + lane % 4 * 4;
#pragma unroll
    for (unsigned i = 0; i < COLS / 8; i++) {
        if (8 * i >= columns) break;
        float2 b = bias[i];
        unsigned above = wk_two_halves(wk_activate_half(WK_ELU, d[4 * i] + b.x),
                                       wk_activate_half(WK_ELU, d[4 * i + 1] + b.y));
        unsigned below = wk_two_halves(wk_activate_half(WK_ELU, d[4 * i + 2] + b.x),
                                       wk_activate_half(WK_ELU, d[4 * i + 3] + b.y));
        store_word(to + i * CHUNK_BYTES, above);
        store_word(to + i * CHUNK_BYTES + 8 * 16, below);
    }
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

// This block's columns to those that will read them, and what it expects itself.
static __device__ inline void exchange(const layers_job &j, const layers_place &at, bool last,
                                       unsigned from, unsigned barrier)
{
    unsigned blocks = blocks_of(j), mine = columns_of(j, at.rank);
    for (unsigned k = 1; k < blocks; k++) {
        unsigned to = at.rank + k < blocks ? at.rank + k : at.rank + k - blocks;
        if (!last || to == 0) send_to(to, from, mine / 8 * CHUNK_BYTES, barrier);
    }
    if (!last || at.rank == 0) barrier_expect(barrier, (j.units - mine) / 8 * CHUNK_BYTES);
}

// The head's sums, biases and actions.
static __device__ void finish_rows(const layers_job &j, const layers_place &at, unsigned hidden,
                                   const layers_memory &memory)
{
    float d[8] = {};
    wk_wgmma_begin();
    for (unsigned i = 0; i < j.units / K_STEP; i++) {
        wk_wgmma<0, 0>(d, wk_operand(hidden + i * (K_STEP / 8 * CHUNK_BYTES), CHUNK_BYTES, 128),
                       wk_operand(memory.head + i * (K_STEP * RESULTS * 2), RESULTS * 16, 128));
    }
    wk_wgmma_commit();
    wk_wgmma_wait<0>();
    wk_wgmma_hold(d);
    unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const float *bias = j.head_bias ? j.head_bias + at.stack * j.stride_head_bias : NULL;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        unsigned row = warp * 16 + lane / 4 + i / 2 % 2 * 8, col = i / 4 * 8 + lane % 4 * 2 + i % 2;
        if (col >= j.results) continue;
        float v = d[i] + (bias ? __ldg(bias + col) : 0.0f);
        memory.results[row * PITCH_RESULTS + col] = v;
        if (at.row + row < j.m)
            j.choice[((size_t)at.stack * j.m + at.row + row) * j.results + col] = v;
    }
    if (!j.action) return;
    meet<MULTIPLIERS>(MULTIPLIERS_ONLY);
    unsigned dims = j.results / 2, rows = min(j.m - at.row, (unsigned)ROWS);
    unsigned first = (at.stack * j.m + at.row) * dims;
    uint64_t counter = *(const uint64_t *)j.counter;
    for (unsigned i = threadIdx.x; i < rows * dims; i += MULTIPLIERS) {
        unsigned row = i / dims, dim = i - row * dims;
        const float *of = memory.results + row * PITCH_RESULTS + dim;
        uint32_t word = wk_random_word(j.key, counter, first + i);
        j.action[first + i] =
            wk_truncated_sample(wk_truncated_of(of[0], of[dims]), wk_unit_float(word));
    }
}

// The multiplying warpgroup.
static __device__ void multiply_rows(const layers_job &j, const layers_place &at,
                                     const layers_memory &memory)
{
    ring_place ring = {0, 0};
    unsigned hidden = 0;
    wk_begin();
    for (unsigned layer = 0; layer < j.count; layer++) {
        float d[COLS / 2];
        float2 bias[COLS / 8];
        load_biases(j, at, layer, bias);
        if (layer > 0) wk_barrier_wait(memory.arrived + 8 * (layer % 2), (layer - 1) / 2 & 1);
        multiply_layer(j, layer, memory, ring, d);
        bool last = layer + 1 == j.count;
        hidden = memory.hidden[(layer + 1) % 2];
        unsigned mine = hidden + at.col / 8 * CHUNK_BYTES;
        store_columns(j, at, d, bias, mine);
        wk_publish_shared();
        meet<MULTIPLIERS>(MULTIPLIERS_ONLY);
        if (threadIdx.x == 0) exchange(j, at, last, mine, memory.arrived + 8 * ((layer + 1) % 2));
    }
    if (at.rank != 0) return;
    meet<MULTIPLIERS + HELPERS>(HEAD_READY);
    wk_barrier_wait(memory.arrived + 8 * (j.count % 2), (j.count - 1) / 2 & 1);
    finish_rows(j, at, hidden, memory);
}

__global__ void __launch_bounds__(THREADS, 1) layers_kernel(const __grid_constant__ layers_job j)
{
    extern __shared__ char raw[];
    layers_memory memory(raw, j.units);
    layers_place at(j, blocks_of(j));
    if (threadIdx.x == 0) {
        for (unsigned i = 0; i < 2 * STAGES + 2; i++)
            wk_barrier_init(memory.full + 8 * i, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp < MULTIPLIERS / 32) {
        multiply_rows(j, at, memory);
    } else if (warp == MULTIPLIERS / 32) {
        if (threadIdx.x % 32 == 0) bring(j, at, memory);
    } else {
        if (!j.known) wk_begin();
        if (at.rank == 0) {
            fetch_head(j, at.stack, memory.head);
            meet<MULTIPLIERS + HELPERS>(HEAD_READY);
        }
        if (j.known) wk_begin();
    }
    __syncwarp();
    cluster_sync(); // nobody leaves while another may still write to it or read from it
}

// The host's side.

static bool map_layer(encode_fn *call, const wk_hopper_layers *p, int i, layers_job *j)
{
    const wk_layer *l = &p->layer[i];
    operand_map w = {
        l->w, l->stride ? p->stacks : 1, i ? p->units : p->k, p->units, l->row, l->stride, K_BLOCK,
        N_BOX};
    j->bias[i] = l->bias;
    j->stride_bias[i] = (unsigned)l->stride_bias;
    return encode(call, &w, &j->w[i]);
}

static void count_blocks(size_t terms, unsigned *blocks, unsigned *tail)
{
    size_t steps = (terms + K_STEP - 1) / K_STEP;
    *blocks = (unsigned)((steps + STEPS - 1) / STEPS);
    *tail = (unsigned)(steps - (*blocks - 1) * STEPS);
}

static bool describe(const wk_hopper_layers *p, layers_job *j)
{
    encode_fn *call = find_encode();
    operand_map x = {p->x,   p->stride_x ? p->stacks : 1, p->m, p->k, p->row_x, p->stride_x, ROWS,
                     K_BLOCK};
    if (!call || !encode(call, &x, &j->x)) return false;
    for (int i = 0; i < p->count; i++)
        if (!map_layer(call, p, i, j)) return false;
    j->m = (unsigned)p->m;
    j->units = (unsigned)p->units;
    j->count = (unsigned)p->count;
    j->results = (unsigned)p->results;
    j->tiles = (unsigned)((p->m + ROWS - 1) / ROWS);
    j->move_x = p->stride_x ? 1 : 0;
    j->move_w = p->layer[0].stride ? 1 : 0;
    count_blocks(p->k, &j->blocks[0], &j->tail[0]);
    count_blocks(p->units, &j->blocks[1], &j->tail[1]);
    j->head = p->head;
    j->head_bias = p->head_bias;
    j->stride_head = (unsigned)p->stride_head;
    j->stride_head_bias = (unsigned)p->stride_head_bias;
    j->choice = p->choice;
    j->action = p->action;
    j->key = p->key;
    j->counter = p->counter;
    j->known = p->known;
    return true;
}

static bool aligned(const void *x)
{
    return (uintptr_t)x % 16 == 0;
}

static bool layer_fits(const wk_hopper_layers *p, const wk_layer *l)
{
    return aligned(l->w) && aligned(l->bias) && l->row % 8 == 0 && l->stride % 8 == 0 &&
           l->stride_bias % 4 == 0 &&
           (p->stacks == 1 || (l->stride > 0) == (p->layer[0].stride > 0));
}

bool wk_hopper_layers_fit(const wk_cuda_call *c, const wk_hopper_layers *p)
{
    if (!c->hopper || c->precision != WK_CUDA_BF16) return false;
    if (p->count < 1 || p->count > WK_LAYERS_MOST || p->m == 0 || p->k == 0) return false;
    for (int i = 0; i < p->count; i++)
        if (!layer_fits(p, &p->layer[i])) return false;
    return aligned(p->x) && p->row_x % 8 == 0 && p->stride_x % 8 == 0 && p->units % K_STEP == 0 &&
           p->units > 0 && p->units <= WK_LAYERS_UNITS && p->results > 0 &&
           p->results <= WK_LAYERS_RESULTS && (!p->action || p->results % 2 == 0) &&
           p->stacks * p->m * p->results < (size_t)1 << 31 &&
           p->stacks * p->units * p->results < (size_t)1 << 31;
}

bool wk_hopper_run_layers(const wk_cuda_call *c, const wk_hopper_layers *p)
{
    layers_job j = {};
    if (!wk_hopper_layers_fit(c, p) || !describe(p, &j)) return false;
    unsigned blocks = (unsigned)((p->units + COLS - 1) / COLS);
    cudaLaunchAttribute attribute[2] = {};
    attribute[0].id = cudaLaunchAttributeClusterDimension;
    attribute[0].val.clusterDim = {blocks, 1, 1};
    attribute[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute[1].val.programmaticStreamSerializationAllowed = 1;
    size_t bytes = layers_memory::size(p->units);
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks * j.tiles * (unsigned)p->stacks;
    config.blockDim = THREADS;
    config.dynamicSmemBytes = bytes;
    config.stream = c->stream;
    config.attrs = attribute;
    config.numAttrs = c->programmatic ? 2 : 1;
    (void)cudaFuncSetAttribute(layers_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)bytes);
    (void)cudaLaunchKernelEx(&config, layers_kernel, j); // an error stays for cudaGetLastError
    return true;
}
