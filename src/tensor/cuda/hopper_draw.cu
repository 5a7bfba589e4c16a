// The kernel of hopper_draw.cuh, in clusters as in hopper_layers.cu: each block has HIDDEN columns
// of the layer and four variables. A row's classes of a variable lie in four neighbouring lanes,
// which draw from them without leaving their registers.
#include "tensor/cuda/hopper_cluster.cuh"
#include "tensor/cuda/hopper_draw.cuh"
#include "tensor/vmath.h"

enum {
    HIDDEN = 80,
    CLASSES = WK_DRAW_CLASSES,
    VARIABLES = 4, // of a block
    LOGITS = VARIABLES * CLASSES,
    MOST_BLOCKS = 8,
    STAGES_A = 6,
    STAGES_B = 6,
    COPIERS = 96, // they copy x to the features
    THREADS = MULTIPLIERS + 32 + COPIERS,
};

typedef cluster_rings<STAGES_A, STAGES_B, LOGITS / BOX> draw_rings;

struct draw_job {
    CUtensorMap x, hidden, out, y;
    const float *hidden_bias, *out_bias;
    unsigned m, k, units, groups, blocks;
    term_blocks first, second;
    bool keep; // y
    const __nv_bfloat16 *rows;
    size_t row_x;
    __nv_bfloat16 *onehot, *features;
    float *probs;
    uint64_t key;
    const void *counter;
    bool known;
};

struct draw_memory {
    unsigned hidden, arrived;
    draw_rings rings;

    static __host__ __device__ unsigned barriers_at(unsigned units)
    {
        unsigned chunks = (units + K_STEP - 1) / K_STEP * (K_STEP / 8);
        return STAGES_B * draw_rings::BYTES_B + STAGES_A * BYTES_A + chunks * CHUNK_BYTES;
    }

    __device__ draw_memory(char *memory, unsigned units)
        : rings(shared_address(memory) + STAGES_B * draw_rings::BYTES_B, shared_address(memory),
                shared_address(memory) + barriers_at(units))
    {
        hidden = rings.a + STAGES_A * BYTES_A;
        arrived = shared_address(memory) + barriers_at(units) + draw_rings::BARRIERS;
    }

    static size_t size(unsigned units)
    {
        return 1024 + barriers_at(units) + draw_rings::BARRIERS + 8;
    }
};

struct draw_place {
    unsigned rank, row, col, columns;

    __device__ draw_place(const draw_job &j)
    {
        unsigned cluster = blockIdx.x / j.blocks;
        rank = blockIdx.x - cluster * j.blocks;
        row = cluster * ROWS;
        col = min(rank * HIDDEN, j.units);
        columns = min(j.units - col, (unsigned)HIDDEN);
    }
};

static __device__ void bring(const draw_job &j, const draw_place &at, const draw_rings &rings)
{
    ring_place<STAGES_A> a;
    ring_place<STAGES_B> b;
    unsigned ahead = min(j.first.count, (unsigned)STAGES_B);
    if (!j.known) wk_begin();
    for (unsigned block = 0; block < ahead; block++, b.move())
        rings.fetch_weights(&j.hidden, b.stage, at.col, block * K_BLOCK, 0);
    if (j.known) wk_begin();
    for (unsigned block = 0; block < j.first.count; block++, a.move()) {
        rings.wait_empty_a(a);
        rings.fetch_rows(&j.x, a.stage, block * K_BLOCK, at.row, 0, at.rank, j.blocks);
        if (block < ahead) continue;
        rings.wait_empty_b(b);
        rings.fetch_weights(&j.hidden, b.stage, at.col, block * K_BLOCK, 0);
        b.move();
    }
    for (unsigned block = 0; block < j.second.count; block++, b.move()) {
        rings.wait_empty_b(b);
        rings.fetch_weights(&j.out, b.stage, at.rank * LOGITS, block * K_BLOCK, 0);
    }
}

// This block's columns of y from shared memory, chunk by chunk.
static __device__ inline void keep_columns(const draw_job &j, const draw_place &at, unsigned from)
{
    for (unsigned i = 0; i < at.columns / 8; i++)
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group "
                     "[%0, {%2, %3, %4}], [%1];" ::"l"(&j.y),
                     "r"(from + i * CHUNK_BYTES), "r"(at.col + 8 * i), "r"(at.row), "r"(0)
                     : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// The sum over the four lanes before this one, and over all four.
static __device__ inline float sum_before(float x, float *all)
{
    unsigned lane = threadIdx.x % 4;
    float up = __shfl_up_sync(~0u, x, 1, 4);
    float sum = lane >= 1 ? x + up : x;
    up = __shfl_up_sync(~0u, sum, 2, 4);
    sum = lane >= 2 ? sum + up : sum;
    *all = __shfl_sync(~0u, sum, 3, 4);
    up = __shfl_up_sync(~0u, sum, 1, 4);
    return lane >= 1 ? up : 0.0f;
}

static __device__ inline float max_of_four(float x)
{
    x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
    return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

// A lane's eight classes of a variable: classes 8i + 2 (lane % 4) and the next, i < 4. Takes
// logits, leaves probabilities, and gives the class that is drawn: the rule of
// wk_cpu_sample_onehot.
static __device__ inline unsigned draw(float (&v)[8], float u)
{
    float max = -INFINITY, total = 0, below[8];
#pragma unroll
    for (int i = 0; i < 8; i++)
        max = fmaxf(max, v[i]);
    max = max_of_four(max);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float all, low = v[2 * i] = wk_expf(v[2 * i] - max);
        float high = v[2 * i + 1] = wk_expf(v[2 * i + 1] - max);
        below[2 * i] = total + sum_before(low + high, &all) + low;
        below[2 * i + 1] = below[2 * i] + high;
        total += all;
    }
    unsigned count = 0;
    float threshold = u * total, scale = 1.0f / total;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        count += below[i] <= threshold;
        v[i] *= scale;
    }
    count += __shfl_xor_sync(~0u, count, 1);
    count += __shfl_xor_sync(~0u, count, 2);
    return min(count, (unsigned)CLASSES - 1); // the last: only for logits that are NaN
}

// Stores a lane's classes of one variable, `at` being the first class's place.
static __device__ inline void store_variable(const draw_job &j, unsigned row, unsigned at,
                                             const float (&v)[8], unsigned drawn)
{
    unsigned flat = j.groups * CLASSES, mine = threadIdx.x % 4 * 2;
    size_t from = (size_t)row * flat + at + mine;
    size_t wide = (size_t)row * (flat + j.k) + at + mine;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        const unsigned one = 0x3f80; // in bf16
        unsigned off = drawn - 8 * i - mine, word = off == 0 ? one : off == 1 ? one << 16 : 0;
        *(float2 *)(j.probs + from + 8 * i) = make_float2(v[2 * i], v[2 * i + 1]);
        *(unsigned *)(j.onehot + from + 8 * i) = word;
        if (j.features) *(unsigned *)(j.features + wide + 8 * i) = word;
    }
}

// Draws the block's variables of the thread's two rows.
static __device__ inline void draw_rows(const draw_job &j, const draw_place &at,
                                        const float (&d)[LOGITS / 2],
                                        const float2 (&bias)[LOGITS / 8], uint64_t counter)
{
    unsigned lane = threadIdx.x % 32, first = at.row + threadIdx.x / 32 * 16 + lane / 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        unsigned row = first + 8 * half, variable = at.rank * VARIABLES;
        // Four words of the block of random numbers that these four variables share.
        auto random = wk_philox_at(j.key, counter, (row * j.groups + variable) / 4);
#pragma unroll
        for (int g = 0; g < VARIABLES; g++) {
            float v[8];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[2 * i] = d[(4 * g + i) * 4 + 2 * half] + bias[4 * g + i].x;
                v[2 * i + 1] = d[(4 * g + i) * 4 + 2 * half + 1] + bias[4 * g + i].y;
            }
            unsigned drawn = draw(v, wk_unit_float(random.v[g]));
            if (row < j.m && variable + g < j.groups)
                store_variable(j, row, (variable + g) * CLASSES, v, drawn);
        }
    }
}

// The multiplying warpgroup.
static __device__ void multiply_rows(const draw_job &j, const draw_place &at,
                                     const draw_memory &memory)
{
    enum { KEEPER = 64 };
    cluster_reader<STAGES_A, STAGES_B, LOGITS / BOX> reader(memory.rings, j.blocks);
    unsigned mine = memory.hidden + at.col / 8 * CHUNK_BYTES;
    wk_begin();
    uint64_t counter = *(const uint64_t *)j.counter;
    {
        float d[HIDDEN / 2];
        float2 bias[HIDDEN / 8];
        load_biases<HIDDEN>(j.hidden_bias ? j.hidden_bias + at.col : NULL, at.columns, bias);
        reader.multiply<HIDDEN, true>(j.first, 0, d);
        store_activated<HIDDEN>(d, bias, at.columns, mine);
    }
    exchange(at.rank, j.blocks, mine, at.columns, j.units - at.columns, memory.arrived);
    if (j.keep && threadIdx.x == KEEPER) keep_columns(j, at, mine);
    float d[LOGITS / 2];
    float2 bias[LOGITS / 8];
    unsigned logits = j.groups * CLASSES, first = min(at.rank * LOGITS, logits);
    load_biases<LOGITS>(j.out_bias ? j.out_bias + first : NULL, logits - first, bias);
    wk_barrier_wait(memory.arrived, 0);
    reader.multiply<LOGITS, false>(j.second, memory.hidden, d);
    draw_rows(j, at, d, bias, counter);
    if (j.keep && threadIdx.x == KEEPER) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Some of the rows of x behind their samples.
static __device__ void copy_rows(const draw_job &j, const draw_place &at)
{
    if (!j.features) return;
    unsigned units = j.k / 8, count = ROWS / MOST_BLOCKS * units;
    unsigned flat = j.groups * CLASSES;
    for (unsigned piece = at.rank; piece < MOST_BLOCKS; piece += j.blocks)
        for (unsigned i = threadIdx.x - (MULTIPLIERS + 32); i < count; i += COPIERS) {
            unsigned in = i / units, col = (i - in * units) * 8;
            unsigned row = at.row + piece * (ROWS / MOST_BLOCKS) + in;
            if (row < j.m)
                *(uint4 *)(j.features + (size_t)row * (flat + j.k) + flat + col) =
                    *(const uint4 *)(j.rows + (size_t)row * j.row_x + col);
        }
}

// The last step of the second sum may go a chunk beyond the layer's results.
static __device__ inline void clear_chunk(const draw_job &j, const draw_memory &memory)
{
    if (j.units % K_STEP == 0 || threadIdx.x >= ROWS) return;
    unsigned to = memory.hidden + j.units / 8 * CHUNK_BYTES + threadIdx.x * 16;
    for (unsigned i = 0; i < 4; i++)
        store_word(to + 4 * i, 0);
    wk_publish_shared();
}

__global__ void __launch_bounds__(THREADS, 1) draw_kernel(const __grid_constant__ draw_job j)
{
    extern __shared__ char raw[];
    draw_memory memory(whole_memory(raw), j.units);
    draw_place at(j);
    if (threadIdx.x == 0) {
        memory.rings.init(j.blocks);
        wk_barrier_init(memory.arrived, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    clear_chunk(j, memory);
    cluster_sync();
    unsigned warp = __shfl_sync(~0u, threadIdx.x / 32, 0);
    if (warp < MULTIPLIERS / 32) {
        multiply_rows(j, at, memory);
    } else if (warp == MULTIPLIERS / 32) {
        if (threadIdx.x % 32 == 0) bring(j, at, memory.rings);
    } else {
        wk_begin();
        copy_rows(j, at);
    }
    __syncwarp();
    cluster_sync(); // nobody leaves while another may still write to it or read from it
}

// The host's side.

static size_t cluster_blocks(size_t units, size_t groups)
{
    size_t a = (units + HIDDEN - 1) / HIDDEN, b = (groups + VARIABLES - 1) / VARIABLES;
    return a > b ? a : b;
}

size_t wk_hopper_draw_blocks(size_t m, size_t k, size_t units, size_t groups)
{
    bool fits = m > 0 && k > 0 && k % 8 == 0 && units % 8 == 0 && units > 0 &&
                units <= WK_DRAW_UNITS && groups > 0 && groups <= WK_DRAW_GROUPS &&
                groups % VARIABLES == 0 && m * groups * CLASSES < (size_t)1 << 31;
    return fits ? (m + ROWS - 1) / ROWS * cluster_blocks(units, groups) : 0;
}

static bool describe(const wk_hopper_draw *p, draw_job *j)
{
    encode_fn *call = find_encode();
    size_t flat = p->groups * CLASSES;
    operand_map x = {p->x, 1, p->m, p->k, p->row_x, 0, PIECE, K_BLOCK};
    operand_map hidden = {p->hidden.w, 1, p->k, p->units, p->hidden.row, 0, K_BLOCK, BOX};
    operand_map out = {p->out.w, 1, p->units, flat, p->out.row, 0, K_BLOCK, BOX};
    operand_map y = {p->y, 1, p->m, p->units, p->units, 0, ROWS, 8};
    if (!call || !encode(call, &x, &j->x) || !encode(call, &hidden, &j->hidden) ||
        !encode(call, &out, &j->out) || (p->y && !encode(call, &y, &j->y)))
        return false;
    j->hidden_bias = p->hidden.bias;
    j->out_bias = p->out.bias;
    j->m = (unsigned)p->m;
    j->k = (unsigned)p->k;
    j->units = (unsigned)p->units;
    j->groups = (unsigned)p->groups;
    j->blocks = (unsigned)cluster_blocks(p->units, p->groups);
    j->first = blocks_of_terms(p->k);
    j->second = blocks_of_terms(p->units);
    j->keep = p->y;
    j->rows = p->x;
    j->row_x = p->row_x;
    j->onehot = p->onehot;
    j->features = p->features;
    j->probs = p->probs;
    j->key = p->key;
    j->counter = p->counter;
    j->known = p->known;
    return true;
}

static bool fits(const wk_cuda_call *c, const wk_hopper_draw *p)
{
    return c->hopper && c->precision == WK_CUDA_BF16 &&
           wk_hopper_draw_blocks(p->m, p->k, p->units, p->groups) > 0 && aligned(p->x) &&
           aligned(p->hidden.w) && aligned(p->hidden.bias) && aligned(p->out.w) &&
           aligned(p->out.bias) && aligned(p->y) && aligned(p->onehot) && aligned(p->probs) &&
           aligned(p->features) && p->row_x % 8 == 0 && p->hidden.row % 8 == 0 &&
           p->out.row % 8 == 0;
}

bool wk_hopper_run_draw(const wk_cuda_call *c, const wk_hopper_draw *p)
{
    draw_job j = {};
    if (!fits(c, p) || !describe(p, &j)) return false;
    size_t blocks = wk_hopper_draw_blocks(p->m, p->k, p->units, p->groups);
    wk_launch_cluster(c, draw_kernel, (unsigned)blocks, j.blocks, THREADS,
                      draw_memory::size((unsigned)p->units), j);
    return true;
}
