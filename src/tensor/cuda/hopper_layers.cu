// The kernel of hopper_layers.cuh. A cluster of blocks has 64 rows, each block COLS columns of
// every layer. What a layer gives goes from each block to the shared memory of all, where the next
// layer reads all of it; only weights, which a thread has the copy engine bring ahead, come from
// memory. For the head every block has all sums, and finishes some of the rows.
#include "tensor/cuda/hopper_cluster.cuh"
#include "tensor/cuda/hopper_layers.cuh"
#include "tensor/truncated.h"

enum {
    COLS = 64,
    STAGES_A = 6,
    STAGES_B = 12,
    FETCHERS = 96, // they fetch the head's weights
    THREADS = MULTIPLIERS + 32 + FETCHERS,
    RESULTS = WK_LAYERS_RESULTS,
    PITCH_RESULTS = RESULTS + 1,
    HEAD_READY = MULTIPLIERS_ONLY + 1, // a barrier of threads
};

typedef cluster_rings<STAGES_A, STAGES_B, 1> layers_rings;

struct layers_job {
    CUtensorMap x, w[WK_LAYERS_MOST];
    const float *bias[WK_LAYERS_MOST];
    unsigned stride_bias[WK_LAYERS_MOST];
    unsigned m, units, count, results;
    unsigned tiles;          // of rows, in each member of the stack
    unsigned move_x, move_w; // 0 where the stack shares them
    term_blocks first, others;
    const float *head, *head_bias;
    unsigned stride_head, stride_head_bias;
    float *choice, *action;
    uint64_t key;
    const void *counter;
    bool known;
};

// Shared memory, by address: the ring of weights; the rows of a layer and of the next, the first of
// which are also the ring of x; the head's weights; barriers.
struct layers_memory {
    unsigned hidden[2], head, arrived;
    float *results;
    layers_rings rings;

    static __host__ __device__ unsigned hidden_bytes(unsigned units, int which)
    {
        unsigned bytes = units / 8 * CHUNK_BYTES;
        return which == 0 && bytes < STAGES_A * BYTES_A ? STAGES_A * BYTES_A : bytes;
    }

    static __host__ __device__ unsigned barriers_at(unsigned units)
    {
        return STAGES_B * layers_rings::BYTES_B + hidden_bytes(units, 0) + hidden_bytes(units, 1) +
               units * RESULTS * 2;
    }

    __device__ layers_memory(char *memory, unsigned units)
        : rings(shared_address(memory) + STAGES_B * layers_rings::BYTES_B, shared_address(memory),
                shared_address(memory) + barriers_at(units))
    {
        hidden[0] = rings.a;
        hidden[1] = hidden[0] + hidden_bytes(units, 0);
        head = hidden[1] + hidden_bytes(units, 1);
        arrived = shared_address(memory) + barriers_at(units) + layers_rings::BARRIERS;
        results = (float *)(memory + barriers_at(units) + layers_rings::BARRIERS + 16);
    }

    static size_t size(unsigned units)
    {
        return 1024 + barriers_at(units) + layers_rings::BARRIERS + 16 +
               ROWS * PITCH_RESULTS * sizeof(float);
    }
};

// Where a block's part lies.
struct layers_place {
    unsigned blocks, rank, stack, row, col, columns;

    __device__ layers_place(const layers_job &j) : blocks((j.units + COLS - 1) / COLS)
    {
        unsigned cluster = blockIdx.x / blocks;
        rank = blockIdx.x - cluster * blocks;
        stack = cluster / j.tiles;
        row = (cluster - stack * j.tiles) * ROWS;
        col = rank * COLS;
        columns = min(j.units - col, (unsigned)COLS);
    }
};

// The copying thread. The first weights come before the wait for what makes the rows.
static __device__ void bring(const layers_job &j, const layers_place &at, const layers_rings &rings)
{
    ring_place<STAGES_A> a;
    ring_place<STAGES_B> b;
    unsigned ahead = min(j.first.count, (unsigned)STAGES_B), stack = at.stack * j.move_w;
    if (!j.known) wk_begin();
    for (unsigned block = 0; block < ahead; block++, b.move())
        rings.fetch_weights(&j.w[0], b.stage, at.col, block * K_BLOCK, stack);
    if (j.known) wk_begin();
    for (unsigned block = 0; block < j.first.count; block++, a.move()) {
        rings.wait_empty_a(a);
        rings.fetch_rows(&j.x, a.stage, block * K_BLOCK, at.row, at.stack * j.move_x, at.rank,
                         at.blocks);
        if (block < ahead) continue;
        rings.wait_empty_b(b);
        rings.fetch_weights(&j.w[0], b.stage, at.col, block * K_BLOCK, stack);
        b.move();
    }
    for (unsigned layer = 1; layer < j.count; layer++)
        for (unsigned block = 0; block < j.others.count; block++, b.move()) {
            rings.wait_empty_b(b);
            rings.fetch_weights(&j.w[layer], b.stage, at.col, block * K_BLOCK, stack);
        }
}

// The head's weights in chunks of eight terms of a column, zeros beyond the last result.
static __device__ void fetch_head(const layers_job &j, unsigned stack, unsigned to)
{
    enum { AHEAD = 16 };
    const float *w = j.head + (size_t)stack * j.stride_head;
    unsigned count = j.units * RESULTS;
    for (unsigned first = threadIdx.x - (MULTIPLIERS + 32); first < count;
         first += AHEAD * FETCHERS) {
        float v[AHEAD];
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            unsigned at = first + i * FETCHERS, term = at / RESULTS, result = at % RESULTS;
            v[i] = at < count && result < j.results ? w[term * j.results + result] : 0.0f;
        }
#pragma unroll
        for (unsigned i = 0; i < AHEAD; i++) {
            unsigned at = first + i * FETCHERS, term = at / RESULTS, result = at % RESULTS;
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

// What the head needs beside the last layer's rows, loaded long before.
struct head_values {
    float bias[4]; // of a lane's columns
    uint64_t counter;

    __device__ head_values(const layers_job &j, const layers_place &at) : counter(0)
    {
        const float *from = j.head_bias + at.stack * j.stride_head_bias;
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            unsigned col = i / 2 * 8 + threadIdx.x % 4 * 2 + i % 2;
            bias[i] = j.head_bias && col < j.results ? __ldg(from + col) : 0.0f;
        }
        if (j.action) counter = *(const uint64_t *)j.counter;
    }
};

// The head's sums. Every block has them all, and goes on with some of the rows.
static __device__ inline void multiply_head(const layers_job &j, unsigned hidden,
                                            const layers_memory &memory, const head_values &values)
{
    float d[8] = {};
    wk_wgmma_begin();
    for (unsigned i = 0; i < j.units / K_STEP; i++)
        wk_wgmma<0, 0>(d, wk_operand(hidden + i * (K_STEP / 8 * CHUNK_BYTES), CHUNK_BYTES, 128),
                       wk_operand(memory.head + i * (K_STEP * RESULTS * 2), RESULTS * 16, 128));
    wk_wgmma_commit();
    wk_wgmma_wait<0>();
    wk_wgmma_hold(d);
    unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (unsigned i = 0; i < 8; i++)
        memory.results[(row + i / 2 % 2 * 8) * PITCH_RESULTS + i / 4 * 8 + lane % 4 * 2 + i % 2] =
            d[i] + values.bias[i / 4 * 2 + i % 2];
}

static __device__ inline void finish_rows(const layers_job &j, const layers_place &at,
                                          const layers_memory &memory, const head_values &values)
{
    unsigned each = (ROWS + at.blocks - 1) / at.blocks, begin = at.rank * each;
    unsigned end = min(min(begin + each, (unsigned)ROWS), j.m - at.row);
    unsigned count = end > begin ? end - begin : 0, dims = j.results / 2;
    unsigned first = at.stack * j.m + at.row + begin;
    const float *from = memory.results + begin * PITCH_RESULTS;
    for (unsigned i = threadIdx.x; j.action && i < count * dims; i += MULTIPLIERS) {
        unsigned row = i / dims, dim = i - row * dims, to = first * dims + i;
        const float *of = from + row * PITCH_RESULTS + dim;
        uint32_t word = wk_random_word(j.key, values.counter, to);
        j.action[to] = wk_truncated_sample(wk_truncated_of(of[0], of[dims]), wk_unit_float(word));
    }
    for (unsigned i = threadIdx.x; i < count * j.results; i += MULTIPLIERS) {
        unsigned row = i / j.results, col = i - row * j.results;
        j.choice[(size_t)first * j.results + i] = from[row * PITCH_RESULTS + col];
    }
}

// The multiplying warpgroup.
static __device__ void multiply_rows(const layers_job &j, const layers_place &at,
                                     const layers_memory &memory)
{
    cluster_reader<STAGES_A, STAGES_B, 1> reader(memory.rings, at.blocks);
    wk_begin();
    head_values values(j, at);
    for (unsigned layer = 0; layer < j.count; layer++) {
        float d[COLS / 2];
        float2 bias[COLS / 8];
        unsigned next = (layer + 1) % 2, mine = memory.hidden[next] + at.col / 8 * CHUNK_BYTES;
        const float *biases = j.bias[layer];
        if (biases) biases += at.stack * j.stride_bias[layer] + at.col;
        load_biases<COLS>(biases, at.columns, bias);
        if (layer == 0) {
            reader.multiply<COLS, true>(j.first, 0, d);
        } else {
            wk_barrier_wait(memory.arrived + 8 * (layer % 2), (layer - 1) / 2 & 1);
            reader.multiply<COLS, false>(j.others, memory.hidden[layer % 2], d);
        }
        store_activated<COLS>(d, bias, at.columns, mine);
        exchange(at.rank, at.blocks, mine, at.columns, j.units - at.columns,
                 memory.arrived + 8 * next);
    }
    meet<MULTIPLIERS + FETCHERS>(HEAD_READY);
    wk_barrier_wait(memory.arrived + 8 * (j.count % 2), (j.count - 1) / 2 & 1);
    multiply_head(j, memory.hidden[j.count % 2], memory, values);
    meet<MULTIPLIERS>(MULTIPLIERS_ONLY);
    finish_rows(j, at, memory, values);
}

__global__ void __launch_bounds__(THREADS, 1) layers_kernel(const __grid_constant__ layers_job j)
{
    extern __shared__ char raw[];
    layers_memory memory(whole_memory(raw), j.units);
    layers_place at(j);
    if (threadIdx.x == 0) {
        memory.rings.init(at.blocks);
        wk_barrier_init(memory.arrived, 1);
        wk_barrier_init(memory.arrived + 8, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster_sync();
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp < MULTIPLIERS / 32) {
        multiply_rows(j, at, memory);
    } else if (warp == MULTIPLIERS / 32) {
        if (threadIdx.x % 32 == 0) bring(j, at, memory.rings);
    } else {
        if (!j.known) wk_begin();
        fetch_head(j, at.stack, memory.head);
        meet<MULTIPLIERS + FETCHERS>(HEAD_READY);
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
        BOX};
    j->bias[i] = l->bias;
    j->stride_bias[i] = (unsigned)l->stride_bias;
    return encode(call, &w, &j->w[i]);
}

static bool describe(const wk_hopper_layers *p, layers_job *j)
{
    encode_fn *call = find_encode();
    operand_map x = {p->x,   p->stride_x ? p->stacks : 1, p->m, p->k, p->row_x, p->stride_x, PIECE,
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
    j->first = blocks_of_terms(p->k);
    j->others = blocks_of_terms(p->units);
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

static bool layer_fits(const wk_hopper_layers *p, const wk_layer *l)
{
    return aligned(l->w) && aligned(l->bias) && l->row % 8 == 0 && l->stride % 8 == 0 &&
           l->stride_bias % 4 == 0 &&
           (p->stacks == 1 || (l->stride > 0) == (p->layer[0].stride > 0));
}

size_t wk_hopper_layers_blocks(size_t stacks, size_t m, size_t units, size_t results)
{
    bool known = units > 0 && units % K_STEP == 0 && units <= WK_LAYERS_UNITS && results > 0 &&
                 results <= WK_LAYERS_RESULTS && stacks * m * results < (size_t)1 << 31 &&
                 stacks * units * results < (size_t)1 << 31;
    return known ? stacks * ((m + ROWS - 1) / ROWS) * ((units + COLS - 1) / COLS) : 0;
}

static bool fits(const wk_cuda_call *c, const wk_hopper_layers *p)
{
    if (!c->hopper || c->precision != WK_CUDA_BF16 || p->k == 0) return false;
    if (p->count < 1 || p->count > WK_LAYERS_MOST) return false;
    for (int i = 0; i < p->count; i++)
        if (!layer_fits(p, &p->layer[i])) return false;
    return aligned(p->x) && p->row_x % 8 == 0 && p->stride_x % 8 == 0 &&
           (!p->action || p->results % 2 == 0) &&
           wk_hopper_layers_blocks(p->stacks, p->m, p->units, p->results) > 0;
}

bool wk_hopper_run_layers(const wk_cuda_call *c, const wk_hopper_layers *p)
{
    layers_job j = {};
    if (!fits(c, p) || !describe(p, &j)) return false;
    size_t blocks = wk_hopper_layers_blocks(p->stacks, p->m, p->units, p->results);
    wk_launch_cluster(c, layers_kernel, (unsigned)blocks, (j.units + COLS - 1) / COLS, THREADS,
                      layers_memory::size(j.units), j);
    return true;
}
