// One kernel for all steps of an observed sequence. Each block owns eight units of the state, and
// some blocks a group of classes as well; the columns of the weights that belong to them stay in
// the block's shared memory, as operands of the tensor cores. Up to sixteen sequences are the rows
// of one matrix tile.
//
// A step has five phases, each of which needs what all blocks made in the one before. There is no
// barrier: results go through memory that was filled with a value no result can have (UNWRITTEN),
// and a reader loads a word again until it is another one. Every step has its own memory, so
// nothing is ever written twice. All blocks must run at once: the launch is cooperative.
//
// Results are exchanged in the order in which tensor cores want them: for every 16 columns the four
// words of each lane. What a product leaves in the registers of a lane is what the same lane of the
// next product needs.
#include "tensor/cuda/observe.cuh"
#include "tensor/vmath.h"

#include <string.h>

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ROWS = WK_RECURRENCE_ROWS,
    UNITS = 8,            // of a block
    CELLS = ROWS * UNITS, // of one tile of results
    TILES = 4,            // at most, that a block makes at once
    BATCH = 8,            // operand tiles that a warp has under way
};
#define UNWRITTEN 0xffffffffu

// Memory that others poll.

static __device__ inline uint4 peek4(const uint4 *p)
{
    uint4 v;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ inline uint2 peek2(const uint2 *p)
{
    uint2 v;
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0,%1}, [%2];"
                 : "=r"(v.x), "=r"(v.y)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ inline void show(unsigned *p, unsigned word)
{
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(word) : "memory");
}

static __device__ inline void show2(uint2 *p, float a, float b)
{
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(__float_as_uint(a)),
                 "r"(__float_as_uint(b))
                 : "memory");
}

static __device__ inline void show_byte(unsigned char *p, unsigned byte)
{
    asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(p), "r"(byte) : "memory");
}

static __device__ inline bool written(uint4 v)
{
    return v.x != UNWRITTEN && v.y != UNWRITTEN && v.z != UNWRITTEN && v.w != UNWRITTEN;
}

// Sums that others wait for. A NaN of the card's own arithmetic is 0x7fffffff, never UNWRITTEN, but
// one may have come in with the data.
static __device__ inline float shown(float x)
{
    return __float_as_uint(x) == UNWRITTEN ? __uint_as_float(0x7fffffffu) : x;
}

// Products of the tensor cores.

// Tiles of 16 columns in rows of n; the last may be half full.
static __host__ __device__ inline int operand_tiles(int n)
{
    return (n + 15) / 16;
}

// Loads the operand tiles first, first + WARPS, ... of this warp; waits until they are there.
static __device__ inline void fetch(uint4 (&a)[BATCH], const uint4 *from, int first, int tiles)
{
    const uint4 *at = from + threadIdx.x % 32;
    bool missing;
    do {
        missing = false;
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i * WARPS < tiles) a[i] = peek4(at + (first + i * WARPS) * 32);
#pragma unroll
        for (int i = 0; i < BATCH; i++)
            if (first + i * WARPS < tiles) missing |= !written(a[i]);
    } while (missing);
}

static __device__ inline void multiply_tile(float (&c)[4], uint4 a, uint2 b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

// c[j] += rows of `from` times tile j of the weights, this warp's part of the sum. A tile of
// weights is `tiles` times 32 pairs of words.
template <int N>
static __device__ inline void multiply(float (&c)[N][4], const uint4 *from, const uint2 *weights,
                                       int tiles, int columns)
{
    int lane = threadIdx.x % 32;
    for (int first = threadIdx.x / 32; first < tiles; first += BATCH * WARPS) {
        uint4 a[BATCH];
        fetch(a, from, first, tiles);
#pragma unroll
        for (int i = 0; i < BATCH; i++) {
            int tile = first + i * WARPS;
            if (tile >= tiles) break;
#pragma unroll
            for (int j = 0; j < N; j++)
                if (j < columns) multiply_tile(c[j], a[i], weights[(j * tiles + tile) * 32 + lane]);
        }
    }
}

// Every warp's part of the results, in two halves used in turn: a warp that is ahead does not
// disturb those that still read.
typedef float partials[WARPS][TILES][CELLS];

template <int N>
static __device__ inline void put_partials(partials &to, const float (&c)[N][4], int columns)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = lane / 4 * UNITS + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < N; j++) {
        if (j >= columns) continue;
        *(float2 *)&to[warp][j][at] = make_float2(c[j][0], c[j][1]);
        *(float2 *)&to[warp][j][at + 8 * UNITS] = make_float2(c[j][2], c[j][3]);
    }
}

static __device__ inline float total(const partials &from, int column, int cell)
{
    float sum = from[0][column][cell];
    for (int w = 1; w < WARPS; w++)
        sum += from[w][column][cell];
    return sum;
}

// Makes the columns n ... n+7 of a result (`column` counts in eights of `columns`) visible as an
// operand. Called by whole warps with neighbouring units in neighbouring lanes.
static __device__ inline void show_cell(uint4 *to, int column, int columns, int row, int unit,
                                        float value)
{
    float next = __shfl_down_sync(0xffffffffu, value, 1);
    if (unit % 2) return;
    __nv_bfloat162 pair = __floats2bfloat162_rn(value, next);
    unsigned *word = (unsigned *)(to + column / 2 * 32 + row % 8 * 4 + unit / 2);
    show(word + row / 8 + column % 2 * 2, *(unsigned *)&pair);
    // The second half of a last tile that is half full.
    if (column == columns - 1 && column % 2 == 0) show(word + row / 8 + 2, 0);
}

// Weights.

// Columns at ... at+7 of w [k,n] as a tile: lane 4c+q holds rows 2q, 2q+1 and 2q+8, 2q+9 of column
// c of every 16 rows.
static __device__ void load_columns(uint2 *to, const __nv_bfloat16 *w, int k, int n, int at)
{
    unsigned short *half = (unsigned short *)to;
    for (int row = threadIdx.x; row < operand_tiles(k) * 16; row += THREADS) {
        uint4 v = row < k ? *(const uint4 *)(w + (size_t)row * n + at) : make_uint4(0, 0, 0, 0);
        const unsigned short *values = (const unsigned short *)&v;
        int q = row % 8 / 2, word = row % 16 / 8;
#pragma unroll
        for (int c = 0; c < UNITS; c++)
            half[((row / 16 * 32 + c * 4 + q) * 2 + word) * 2 + row % 2] = values[c];
    }
}

// Rows at ... at+7 of w [n,k] as a tile, so that w is used transposed.
static __device__ void load_rows(uint2 *to, const __nv_bfloat16 *w, int k, int at)
{
    unsigned *words = (unsigned *)to;
    int eighths = operand_tiles(k) * 2;
    for (int i = threadIdx.x; i < eighths * UNITS; i += THREADS) {
        int c = i / eighths, part = i - c * eighths;
        uint4 v = part * 8 < k ? *(const uint4 *)(w + (size_t)(at + c) * k + part * 8)
                               : make_uint4(0, 0, 0, 0);
        unsigned *tile = words + (part / 2 * 32 + c * 4) * 2 + part % 2;
        tile[0] = v.x;
        tile[2] = v.y;
        tile[4] = v.z;
        tile[6] = v.w;
    }
}

// Rows of eight columns, for sums of single rows.
static __device__ void load_plain(uint4 *to, const __nv_bfloat16 *w, int k, int n, int at)
{
    for (int row = threadIdx.x; row < k; row += THREADS)
        to[row] = *(const uint4 *)(w + (size_t)row * n + at);
}

// Sizes of tiles in pairs of words.
static __host__ __device__ inline int tile_size(int k)
{
    return operand_tiles(k) * 32;
}

typedef struct sizes {
    int steps, rows, hidden, deter, groups, classes;
} sizes;

static __host__ __device__ inline int flat_of(const sizes &z)
{
    return z.groups * z.classes;
}

static __host__ __device__ inline int largest(int a, int b)
{
    return a > b ? a : b;
}

// The sum over the sixteen lanes of a row.
static __device__ inline float row_sum(float x)
{
    for (int offset = 8; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

// The sum over the eight units of a row.
static __device__ inline float unit_sum(float x)
{
    for (int offset = 4; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

enum { MOST_BLOCKS = 128, SHARES = MOST_BLOCKS / 16 };

// Waits for the pairs of all blocks in this thread's row; sixteen threads share a row.
static __device__ inline void fetch_pairs(float2 (&pairs)[SHARES], const uint2 *from, int blocks)
{
    const uint2 *at = from + threadIdx.x / 16 * blocks;
    bool missing;
    do {
        missing = false;
#pragma unroll
        for (int i = 0; i < SHARES; i++) {
            int block = threadIdx.x % 16 + 16 * i;
            if (block >= blocks) continue;
            uint2 v = peek2(at + block);
            missing |= v.x == UNWRITTEN || v.y == UNWRITTEN;
            pairs[i] = make_float2(__uint_as_float(v.x), __uint_as_float(v.y));
        }
    } while (missing);
}

// Forward.

typedef struct forward_step {
    const float *keep, *action, *image;
    wk_out kept_stoch, kept_deter, x, gates, deter, post_x, logits, stoch;
    float *stats, *probs;
    uint64_t key;
} forward_step;

typedef struct forward_job {
    sizes z;
    float epsilon;
    const __nv_bfloat16 *in_w, *gru_x, *gru_h, *post_w, *out_w;
    const float *in_b, *gate_b, *gain, *offset, *post_b, *out_b;
    const uint64_t *counter;
    uint4 *x, *deter, *post; // exchanged, for all steps
    unsigned char *drawn;    // classes: [step][group][row]
    uint2 *sums;             // of a block's gates, and of their squared differences from the mean
    forward_step step[WK_RECURRENCE_STEPS];
} forward_job;

typedef struct forward_memory {
    uint4 *in;                         // plain
    uint2 *gru_x, *gru_h, *post, *out; // tiles
    partials *part;
    float (*logits)[32];
    float2 *row;                  // mean and 1/deviation
    unsigned char (*drawn)[ROWS]; // of every group
} forward_memory;

static __host__ __device__ inline size_t weights_size(const sizes &z, bool backward)
{
    int tiles = backward ? tile_size(flat_of(z)) + tile_size(z.hidden) + 2 * tile_size(3 * z.deter)
                         : 3 * (tile_size(z.hidden) + tile_size(z.deter)) + tile_size(z.deter);
    size_t plain = backward ? 0 : (size_t)flat_of(z) * sizeof(uint4);
    return plain + (size_t)(tiles + z.classes / 8 * tile_size(z.hidden)) * sizeof(uint2);
}

static __host__ __device__ inline size_t shared_size(const sizes &z, bool backward)
{
    return weights_size(z, backward) + 2 * sizeof(partials) + ROWS * 32 * sizeof(float) +
           ROWS * sizeof(float2) + (size_t)MOST_BLOCKS * ROWS;
}

extern __shared__ uint4 shared_memory[];

static __device__ forward_memory forward_memory_of(const sizes &z)
{
    forward_memory m;
    m.in = shared_memory;
    m.gru_x = (uint2 *)(m.in + flat_of(z));
    m.gru_h = m.gru_x + 3 * tile_size(z.hidden);
    m.post = m.gru_h + 3 * tile_size(z.deter);
    m.out = m.post + tile_size(z.deter);
    m.part = (partials *)(m.out + z.classes / 8 * tile_size(z.hidden));
    m.logits = (float(*)[32])(m.part + 2);
    m.row = (float2 *)(m.logits + ROWS);
    m.drawn = (unsigned char(*)[ROWS])(m.row + ROWS);
    return m;
}

static __device__ void load_forward(const forward_job &job, const forward_memory &m)
{
    const sizes &z = job.z;
    int b = blockIdx.x, at = b * UNITS;
    if (at < z.hidden) {
        load_plain(m.in, job.in_w, flat_of(z), z.hidden, at);
        load_columns(m.post, job.post_w, z.deter, z.hidden, at);
    }
    if (at < z.deter)
        for (int j = 0; j < 3; j++) {
            load_columns(m.gru_x + j * tile_size(z.hidden), job.gru_x, z.hidden, 3 * z.deter,
                         j * z.deter + at);
            load_columns(m.gru_h + j * tile_size(z.deter), job.gru_h, z.deter, 3 * z.deter,
                         j * z.deter + at);
        }
    if (b < z.groups)
        for (int j = 0; j < z.classes / 8; j++)
            load_columns(m.out + j * tile_size(z.hidden), job.out_w, z.hidden, flat_of(z),
                         b * z.classes + j * 8);
}

// Waits for the classes of all groups drawn in the step before.
static __device__ void fetch_drawn(const forward_job &job, const forward_memory &m, int t)
{
    const uint4 *from = (const uint4 *)(job.drawn + (size_t)(t - 1) * job.z.groups * ROWS);
    for (int g = threadIdx.x; g < job.z.groups; g += THREADS) {
        uint4 v;
        unsigned missing;
        do {
            v = peek4(from + g);
            missing = __vcmpeq4(v.x, UNWRITTEN) | __vcmpeq4(v.y, UNWRITTEN) |
                      __vcmpeq4(v.z, UNWRITTEN) | __vcmpeq4(v.w, UNWRITTEN);
        } while (missing);
        *(uint4 *)m.drawn[g] = v;
    }
    __syncthreads();
}

static __device__ inline void add_row(float (&sum)[UNITS], uint4 row)
{
    const __nv_bfloat162 *pairs = (const __nv_bfloat162 *)&row;
#pragma unroll
    for (int i = 0; i < UNITS / 2; i++) {
        float2 v = __bfloat1622float2(pairs[i]);
        sum[2 * i] += v.x;
        sum[2 * i + 1] += v.y;
    }
}

// The rows of the input's weights that the drawn classes pick, summed: the product with one-hot
// vectors. Sixteen threads share a row of the result; thread u of them returns unit u < 8.
static __device__ float drawn_sum(const forward_job &job, const forward_memory &m)
{
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    float sum[UNITS] = {}, mine = 0;
    for (int g = share; g < job.z.groups; g += 16)
        add_row(sum, m.in[g * job.z.classes + m.drawn[g][row]]);
#pragma unroll
    for (int i = 0; i < UNITS; i++) {
        sum[i] = row_sum(sum[i]);
        if (share == i) mine = sum[i];
    }
    return mine;
}

// x = elu(stoch in + action + bias).
static __device__ void make_input(const forward_job &job, const forward_memory &m, int t)
{
    const sizes &z = job.z;
    const forward_step &s = job.step[t];
    int row = threadIdx.x / 16, unit = threadIdx.x % 16, column = blockIdx.x * UNITS + unit;
    bool real = row < z.rows && unit < UNITS;
    float keep = real ? s.keep[row] : 0.0f, add = 0, bias = 0;
    if (real) {
        add = s.action[row * z.hidden + column];
        bias = job.in_b[column];
    }
    float sum = 0;
    if (t > 0) {
        fetch_drawn(job, m, t);
        sum = __bfloat162float(__float2bfloat16_rn(keep)) * drawn_sum(job, m);
    }
    float x = real ? wk_activate(WK_ELU, sum + add + bias) : 0.0f;
    uint4 *to = job.x + (size_t)t * tile_size(z.hidden);
    // Units 8 to 15 do not exist: such lanes only take part in the exchange.
    float next = __shfl_down_sync(0xffffffffu, x, 1);
    if (unit < UNITS && unit % 2 == 0) {
        __nv_bfloat162 pair = __floats2bfloat162_rn(x, next);
        int tile = blockIdx.x, tiles = z.hidden / UNITS;
        unsigned *word = (unsigned *)(to + tile / 2 * 32 + row % 8 * 4 + unit / 2) + row / 8;
        show(word + tile % 2 * 2, *(unsigned *)&pair);
        if (tile == tiles - 1 && tile % 2 == 0) show(word + 2, 0);
    }
    if (real) s.x[row * z.hidden + column] = x;
}

// Mean and 1/deviation of the gates of every row, from the sums of all blocks.
static __device__ void fetch_statistics(const forward_job &job, const forward_memory &m, int t)
{
    int blocks = job.z.deter / UNITS;
    float2 pairs[SHARES];
    fetch_pairs(pairs, job.sums + (size_t)t * ROWS * blocks, blocks);
    float n = (float)(3 * job.z.deter), sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < SHARES; i++)
        if (threadIdx.x % 16 + 16 * i < blocks) sum += pairs[i].x;
    float mean = row_sum(sum) / n;
#pragma unroll
    for (int i = 0; i < SHARES; i++) {
        if (threadIdx.x % 16 + 16 * i >= blocks) continue;
        float away = pairs[i].x / (3.0f * UNITS) - mean;
        squares += pairs[i].y + 3.0f * UNITS * away * away;
    }
    float rstd = 1.0f / sqrtf(row_sum(squares) / n + job.epsilon);
    int row = threadIdx.x / 16;
    if (threadIdx.x % 16 == 0) m.row[row] = make_float2(mean, rstd);
    if (blockIdx.x == 0 && threadIdx.x % 16 == 0 && row < job.z.rows) {
        job.step[t].stats[row] = mean;
        job.step[t].stats[job.z.rows + row] = rstd;
    }
    __syncthreads();
}

// The gates and from them the new state. `from_state` is this warp's part of the product with the
// state before; `before` this thread's cell of that state, which becomes the new one.
static __device__ void make_state(const forward_job &job, const forward_memory &m, int t,
                                  float (&from_state)[3][4], float *before)
{
    const sizes &z = job.z;
    const forward_step &s = job.step[t];
    int lane = threadIdx.x % 32, cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    int column = blockIdx.x * UNITS + unit;
    bool real = cell < CELLS && row < z.rows;
    float keeps[2];
    for (int i = 0; i < 2; i++)
        keeps[i] = lane / 4 + 8 * i < z.rows ? s.keep[lane / 4 + 8 * i] : 0.0f;
    float kept = real ? s.keep[row] * *before : 0.0f;
    float gate[3], gate_b[3], gain[3], offset[3];
    for (int j = 0; j < 3; j++) {
        int at = j * z.deter + column;
        gate_b[j] = real ? job.gate_b[at] : 0.0f;
        gain[j] = real ? job.gain[at] : 0.0f;
        offset[j] = real ? job.offset[at] : 0.0f;
    }
    if (real) s.kept_deter[row * z.deter + column] = kept;

    float c[3][4];
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 4; i++)
            c[j][i] = keeps[i / 2] * from_state[j][i];
    multiply(c, job.x + (size_t)t * tile_size(z.hidden), m.gru_x, operand_tiles(z.hidden), 3);
    put_partials(m.part[0], c, 3);
    __syncthreads();
    if (cell < CELLS) {
        float sum = 0, squares = 0;
        for (int j = 0; j < 3; j++) {
            float pre = total(m.part[0], j, cell);
            if (real) s.gates[row * 3 * z.deter + j * z.deter + column] = pre;
            gate[j] = pre + gate_b[j];
            sum += gate[j];
        }
        sum = unit_sum(sum);
        for (int j = 0; j < 3; j++) {
            float away = gate[j] - sum / (3.0f * UNITS);
            squares += away * away;
        }
        squares = unit_sum(squares);
        int blocks = z.deter / UNITS;
        if (unit == 0)
            show2(job.sums + ((size_t)t * ROWS + row) * blocks + blockIdx.x, shown(sum),
                  shown(squares));
    }
    fetch_statistics(job, m, t);
    if (cell >= CELLS) return;
    float2 of_row = m.row[row];
    float parts[3];
    for (int j = 0; j < 3; j++)
        parts[j] = (gate[j] - of_row.x) * of_row.y * gain[j] + offset[j];
    float reset = wk_sigmoid(parts[0]), update = wk_sigmoid(parts[2] - 1.0f);
    float candidate = tanhf(reset * parts[1]);
    float y = real ? update * candidate + (1.0f - update) * kept : 0.0f;
    show_cell(job.deter + (size_t)t * tile_size(z.deter), blockIdx.x, z.deter / UNITS, row, unit,
              y);
    if (real) s.deter[row * z.deter + column] = y;
    *before = y;
}

// The hidden layer before the logits: elu(deter post + image + bias).
static __device__ void make_post(const forward_job &job, const forward_memory &m, int t)
{
    const sizes &z = job.z;
    const forward_step &s = job.step[t];
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    int column = blockIdx.x * UNITS + unit;
    bool real = cell < CELLS && row < z.rows;
    float add = 0, bias = 0;
    if (real) {
        add = s.image[row * z.hidden + column];
        bias = job.post_b[column];
    }
    float c[1][4] = {};
    multiply(c, job.deter + (size_t)t * tile_size(z.deter), m.post, operand_tiles(z.deter), 1);
    put_partials(m.part[1], c, 1);
    __syncthreads();
    if (cell >= CELLS) return;
    float x = real ? wk_activate(WK_ELU, total(m.part[1], 0, cell) + add + bias) : 0.0f;
    show_cell(job.post + (size_t)t * tile_size(z.hidden), blockIdx.x, z.hidden / UNITS, row, unit,
              x);
    if (real) s.post_x[row * z.hidden + column] = x;
}

// Draws the class of one row of this block's group, by a warp: the rule of wk_cpu_sample_onehot,
// whose sum goes over the classes one by one.
static __device__ void draw(const forward_job &job, const forward_memory &m, int t, int row)
{
    const sizes &z = job.z;
    const forward_step &s = job.step[t];
    int lane = threadIdx.x % 32, group = blockIdx.x;
    bool real = lane < z.classes;
    float x = real ? m.logits[row][lane] : -INFINITY;
    float uniform =
        wk_unit_float(wk_random_word(s.key, *job.counter, (unsigned)(row * z.groups + group)));
    float max = wk_warp_max(x), weight = real ? wk_expf(x - max) : 0.0f, sum = 0, mine = 0;
#pragma unroll
    for (int k = 0; k < 32; k++) {
        sum += __shfl_sync(0xffffffffu, weight, k);
        if (k == lane) mine = sum;
    }
    int below = __popc(__ballot_sync(0xffffffffu, real && mine <= uniform * sum));
    int drawn = below < z.classes ? below : z.classes - 1;
    if (lane == 0) show_byte(job.drawn + ((size_t)t * z.groups + group) * ROWS + row, drawn);
    if (!real || row >= z.rows) return;
    size_t at = (size_t)row * flat_of(z) + group * z.classes + lane;
    float onehot = lane == drawn ? 1.0f : 0.0f;
    s.logits[at] = x;
    s.probs[at] = weight * (1.0f / sum);
    s.stoch[at] = onehot;
    if (t + 1 < z.steps) job.step[t + 1].kept_stoch[at] = onehot * job.step[t + 1].keep[row];
}

// The logits of a group and its sample.
static __device__ void make_sample(const forward_job &job, const forward_memory &m, int t)
{
    const sizes &z = job.z;
    int columns = z.classes / 8;
    float c[TILES][4] = {};
    multiply(c, job.post + (size_t)t * tile_size(z.hidden), m.out, operand_tiles(z.hidden),
             columns);
    put_partials(m.part[0], c, columns);
    __syncthreads();
    for (int i = threadIdx.x; i < columns * CELLS; i += THREADS) {
        int column = i / CELLS, cell = i % CELLS, at = column * 8 + cell % UNITS;
        m.logits[cell / UNITS][at] =
            total(m.part[0], column, cell) + job.out_b[blockIdx.x * z.classes + at];
    }
    __syncthreads();
    for (int row = threadIdx.x / 32; row < ROWS; row += WARPS)
        draw(job, m, t, row);
}

static __device__ void clear_first(const forward_job &job)
{
    const sizes &z = job.z;
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < z.rows * flat_of(z);
         i += gridDim.x * THREADS)
        job.step[0].kept_stoch[i] = 0.0f;
}

__global__ void __launch_bounds__(THREADS, 1)
    forward_kernel(const __grid_constant__ forward_job job)
{
    const sizes &z = job.z;
    forward_memory m = forward_memory_of(z);
    bool makes_hidden = blockIdx.x * UNITS < z.hidden, makes_state = blockIdx.x * UNITS < z.deter;
    wk_begin();
    load_forward(job, m);
    clear_first(job);
    __syncthreads();
    float state = 0, from_state[3][4] = {};
    for (int t = 0; t < z.steps; t++) {
        if (makes_hidden) make_input(job, m, t);
        if (makes_state) make_state(job, m, t, from_state, &state);
        if (makes_hidden) make_post(job, m, t);
        if (blockIdx.x < z.groups) make_sample(job, m, t);
        if (!makes_state) continue;
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 4; i++)
                from_state[j][i] = 0;
        multiply(from_state, job.deter + (size_t)t * tile_size(z.deter), m.gru_h,
                 operand_tiles(z.deter), 3);
    }
}

// Backward. Steps are numbered as they run: step 0 is the last of the sequence.

typedef struct backward_step {
    const float *keep; // of the step after it in the sequence, through which its gradient comes
    const float *dstoch, *dlogits_more, *ddeter;
    const float *probs, *post_x, *gates, *before, *stats, *x;
    wk_out dlogits, dpost, dgates, dx;
    float *dparams[3]; // of gate bias, gain and offset
} backward_step;

typedef struct backward_job {
    sizes z;
    const __nv_bfloat16 *in_w, *gru_x, *gru_h, *post_w, *out_w;
    const float *gate_b, *gain, *offset;
    uint4 *dlogits, *dpost, *dgates, *dx; // exchanged, for all steps
    uint2 *sums; // over a block's gates: d, and d times the normalised gate
    backward_step step[WK_RECURRENCE_STEPS];
} backward_job;

typedef struct backward_memory {
    uint2 *out, *post, *gru_x, *gru_h, *in;
    partials *part;
    float (*dstoch)[32];
    float2 *row;
} backward_memory;

static __device__ backward_memory backward_memory_of(const sizes &z)
{
    backward_memory m;
    m.out = (uint2 *)shared_memory;
    m.post = m.out + tile_size(flat_of(z));
    m.gru_x = m.post + tile_size(z.hidden);
    m.gru_h = m.gru_x + tile_size(3 * z.deter);
    m.in = m.gru_h + tile_size(3 * z.deter);
    m.part = (partials *)(m.in + z.classes / 8 * tile_size(z.hidden));
    m.dstoch = (float(*)[32])(m.part + 2);
    m.row = (float2 *)(m.dstoch + ROWS);
    return m;
}

static __device__ void load_backward(const backward_job &job, const backward_memory &m)
{
    const sizes &z = job.z;
    int b = blockIdx.x, at = b * UNITS;
    if (at < z.hidden) {
        load_rows(m.out, job.out_w, flat_of(z), at);
        load_rows(m.gru_x, job.gru_x, 3 * z.deter, at);
    }
    if (at < z.deter) {
        load_rows(m.post, job.post_w, z.hidden, at);
        load_rows(m.gru_h, job.gru_h, 3 * z.deter, at);
    }
    if (b < z.groups)
        for (int j = 0; j < z.classes / 8; j++)
            load_rows(m.in + j * tile_size(z.hidden), job.in_w, z.hidden, b * z.classes + j * 8);
}

// The gradient of one row of this block's group of logits, by a warp.
static __device__ void through_sample(const backward_job &job, const backward_memory &m, int t,
                                      int row, float probability, float more)
{
    const sizes &z = job.z;
    int lane = threadIdx.x % 32;
    bool real = lane < z.classes && row < z.rows;
    float d = real ? m.dstoch[row][lane] : 0.0f;
    float dot = wk_warp_sum(probability * d);
    float dlogit = probability * (d - dot) + more;
    int column = (blockIdx.x * z.classes + lane) / 8;
    // Lanes beyond the last class take part, but show nothing.
    float next = __shfl_down_sync(0xffffffffu, dlogit, 1);
    if (lane < z.classes && lane % 2 == 0) {
        __nv_bfloat162 pair = __floats2bfloat162_rn(dlogit, next);
        uint4 *to = job.dlogits + (size_t)t * tile_size(flat_of(z));
        unsigned *word = (unsigned *)(to + column / 2 * 32 + row % 8 * 4 + lane % 8 / 2) + row / 8;
        show(word + column % 2 * 2, *(unsigned *)&pair);
        if (column == flat_of(z) / 8 - 1 && column % 2 == 0) show(word + 2, 0);
    }
    if (real)
        job.step[t].dlogits[(size_t)row * flat_of(z) + blockIdx.x * z.classes + lane] = dlogit;
}

static __device__ void back_to_logits(const backward_job &job, const backward_memory &m, int t)
{
    const sizes &z = job.z;
    const backward_step &s = job.step[t];
    int columns = z.classes / 8, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float outer[TILES * CELLS / THREADS], probability[ROWS / WARPS], more[ROWS / WARPS];
    for (int k = 0, i = threadIdx.x; k < TILES * CELLS / THREADS; k++, i += THREADS) {
        int row = i % CELLS / UNITS, at = i / CELLS * 8 + i % UNITS;
        bool real = at < z.classes && row < z.rows;
        outer[k] = real ? s.dstoch[(size_t)row * flat_of(z) + blockIdx.x * z.classes + at] : 0.0f;
    }
    for (int k = 0; k < ROWS / WARPS; k++) {
        int row = warp + k * WARPS;
        size_t at = (size_t)row * flat_of(z) + blockIdx.x * z.classes + lane;
        bool real = lane < z.classes && row < z.rows;
        probability[k] = real ? s.probs[at] : 0.0f;
        more[k] = real ? s.dlogits_more[at] : 0.0f;
    }
    if (t > 0) {
        float c[TILES][4] = {};
        multiply(c, job.dx + (size_t)(t - 1) * tile_size(z.hidden), m.in, operand_tiles(z.hidden),
                 columns);
        put_partials(m.part[0], c, columns);
    }
    __syncthreads();
    for (int k = 0, i = threadIdx.x; i < columns * CELLS; k++, i += THREADS) {
        int column = i / CELLS, cell = i % CELLS, row = cell / UNITS;
        float d = t > 0 && row < z.rows ? s.keep[row] * total(m.part[0], column, cell) : 0.0f;
        m.dstoch[row][column * 8 + cell % UNITS] = d + outer[k];
    }
    __syncthreads();
    for (int k = 0; k < ROWS / WARPS; k++)
        through_sample(job, m, t, warp + k * WARPS, probability[k], more[k]);
}

static __device__ void back_to_post(const backward_job &job, const backward_memory &m, int t)
{
    const sizes &z = job.z;
    const backward_step &s = job.step[t];
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    int at = row * z.hidden + blockIdx.x * UNITS + unit;
    bool real = cell < CELLS && row < z.rows;
    float y = real ? s.post_x[at] : 0.0f;
    float c[1][4] = {};
    multiply(c, job.dlogits + (size_t)t * tile_size(flat_of(z)), m.out, operand_tiles(flat_of(z)),
             1);
    put_partials(m.part[1], c, 1);
    __syncthreads();
    if (cell >= CELLS) return;
    float d = real ? total(m.part[1], 0, cell) * wk_activate_slope(WK_ELU, y) : 0.0f;
    show_cell(job.dpost + (size_t)t * tile_size(z.hidden), blockIdx.x, z.hidden / UNITS, row, unit,
              d);
    if (real) s.dpost[at] = d;
}

// Means over each row's gates of d and of d times the normalised gate.
static __device__ void fetch_means(const backward_job &job, const backward_memory &m, int t)
{
    int blocks = job.z.deter / UNITS;
    float2 pairs[SHARES];
    fetch_pairs(pairs, job.sums + (size_t)t * ROWS * blocks, blocks);
    float n = (float)(3 * job.z.deter), sum = 0, dot = 0;
#pragma unroll
    for (int i = 0; i < SHARES; i++) {
        if (threadIdx.x % 16 + 16 * i >= blocks) continue;
        sum += pairs[i].x;
        dot += pairs[i].y;
    }
    sum = row_sum(sum);
    dot = row_sum(dot);
    if (threadIdx.x % 16 == 0) m.row[threadIdx.x / 16] = make_float2(sum / n, dot / n);
    __syncthreads();
}

// What a thread keeps of its cell from step to step.
typedef struct cell_state {
    float carried;      // gradient of the state before, through the step that ran last
    float params[3][3]; // of gate bias, gain and offset, for each gate
} cell_state;

static __device__ void back_to_gates(const backward_job &job, const backward_memory &m, int t,
                                     cell_state *mine)
{
    const sizes &z = job.z;
    const backward_step &s = job.step[t];
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    int column = blockIdx.x * UNITS + unit, width = 3 * z.deter;
    bool real = cell < CELLS && row < z.rows;
    float normal[3] = {}, gain[3] = {}, parts[3] = {}, before = 0, rstd = 0, outer = 0;
    if (real) {
        float mean = s.stats[row];
        rstd = s.stats[z.rows + row];
        before = s.before[row * z.deter + column];
        outer = s.ddeter[row * z.deter + column];
        for (int j = 0; j < 3; j++) {
            int at = j * z.deter + column;
            gain[j] = job.gain[at];
            normal[j] = (s.gates[row * width + at] + job.gate_b[at] - mean) * rstd;
            parts[j] = normal[j] * gain[j] + job.offset[at];
        }
    }
    float c[1][4] = {};
    multiply(c, job.dpost + (size_t)t * tile_size(z.hidden), m.post, operand_tiles(z.hidden), 1);
    put_partials(m.part[0], c, 1);
    __syncthreads();
    float dparts[3] = {}, direct = 0;
    if (cell < CELLS) {
        float d = real ? total(m.part[0], 0, cell) + mine->carried + outer : 0.0f;
        float reset = wk_sigmoid(parts[0]), update = wk_sigmoid(parts[2] - 1.0f);
        float candidate = tanhf(reset * parts[1]);
        float inner = d * update * (1.0f - candidate * candidate);
        dparts[0] = inner * parts[1] * reset * (1.0f - reset);
        dparts[1] = inner * reset;
        dparts[2] = d * (candidate - before) * update * (1.0f - update);
        direct = d * (1.0f - update);
        float sum = 0, dot = 0;
        for (int j = 0; j < 3; j++) {
            sum += dparts[j] * gain[j];
            dot += dparts[j] * gain[j] * normal[j];
        }
        sum = unit_sum(sum);
        dot = unit_sum(dot);
        int blocks = z.deter / UNITS;
        if (unit == 0)
            show2(job.sums + ((size_t)t * ROWS + row) * blocks + blockIdx.x, shown(sum),
                  shown(dot));
    }
    fetch_means(job, m, t);
    if (cell >= CELLS) return;
    float2 means = m.row[row];
    uint4 *to = job.dgates + (size_t)t * tile_size(width);
    for (int j = 0; j < 3; j++) {
        float d = rstd * (dparts[j] * gain[j] - means.x - normal[j] * means.y);
        show_cell(to, j * z.deter / UNITS + blockIdx.x, width / UNITS, row, unit, d);
        if (real) s.dgates[row * width + j * z.deter + column] = d;
        mine->params[0][j] += d;
        mine->params[1][j] += dparts[j] * normal[j];
        mine->params[2][j] += dparts[j];
    }
    mine->carried = direct;
}

static __device__ void back_to_input(const backward_job &job, const backward_memory &m, int t)
{
    const sizes &z = job.z;
    const backward_step &s = job.step[t];
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    int at = row * z.hidden + blockIdx.x * UNITS + unit;
    bool real = cell < CELLS && row < z.rows;
    float y = real ? s.x[at] : 0.0f;
    float c[1][4] = {};
    multiply(c, job.dgates + (size_t)t * tile_size(3 * z.deter), m.gru_x,
             operand_tiles(3 * z.deter), 1);
    put_partials(m.part[1], c, 1);
    __syncthreads();
    if (cell >= CELLS) return;
    float d = real ? total(m.part[1], 0, cell) * wk_activate_slope(WK_ELU, y) : 0.0f;
    show_cell(job.dx + (size_t)t * tile_size(z.hidden), blockIdx.x, z.hidden / UNITS, row, unit, d);
    if (real) s.dx[at] = d;
}

// The gradient of the state before, for the step that runs next.
static __device__ void back_to_state(const backward_job &job, const backward_memory &m, int t,
                                     cell_state *mine)
{
    const sizes &z = job.z;
    int cell = threadIdx.x, row = cell / UNITS;
    float keep = cell < CELLS && row < z.rows ? job.step[t + 1].keep[row] : 0.0f;
    float c[1][4] = {};
    multiply(c, job.dgates + (size_t)t * tile_size(3 * z.deter), m.gru_h,
             operand_tiles(3 * z.deter), 1);
    put_partials(m.part[0], c, 1);
    __syncthreads();
    if (cell < CELLS) mine->carried = keep * (total(m.part[0], 0, cell) + mine->carried);
}

// The parameters' gradients over all rows and steps go to the step that ran last; the others' are
// zero.
static __device__ void put_params(const backward_job &job, const backward_memory &m,
                                  const cell_state &mine)
{
    const sizes &z = job.z;
    float *room = (float *)m.part;
    __syncthreads();
    if (threadIdx.x < CELLS)
        for (int p = 0; p < 9; p++)
            room[p * CELLS + threadIdx.x] = mine.params[p / 3][p % 3];
    __syncthreads();
    for (int i = threadIdx.x; i < 9 * UNITS; i += THREADS) {
        int p = i / UNITS, unit = i % UNITS;
        int at = p % 3 * z.deter + blockIdx.x * UNITS + unit;
        float sum = 0;
        for (int row = 0; row < ROWS; row++)
            sum += room[p * CELLS + row * UNITS + unit];
        for (int t = 0; t < z.steps; t++)
            job.step[t].dparams[p / 3][at] = t == z.steps - 1 ? sum : 0.0f;
    }
}

__global__ void __launch_bounds__(THREADS, 1)
    backward_kernel(const __grid_constant__ backward_job job)
{
    const sizes &z = job.z;
    backward_memory m = backward_memory_of(z);
    bool makes_hidden = blockIdx.x * UNITS < z.hidden, makes_state = blockIdx.x * UNITS < z.deter;
    wk_begin();
    load_backward(job, m);
    __syncthreads();
    cell_state mine = {};
    for (int t = 0; t < z.steps; t++) {
        if (blockIdx.x < z.groups) back_to_logits(job, m, t);
        // Not before the logits, for which all blocks wait.
        if (makes_state && t > 0) back_to_state(job, m, t - 1, &mine);
        if (makes_hidden) back_to_post(job, m, t);
        if (makes_state) back_to_gates(job, m, t, &mine);
        if (makes_hidden) back_to_input(job, m, t);
    }
    if (makes_state) put_params(job, m, mine);
}

// Launching.

static sizes sizes_of(const wk_recurrence *r)
{
    sizes z = {r->count, r->rows, r->hidden, r->deter, r->groups, r->classes};
    return z;
}

static int blocks_of(const sizes &z)
{
    return largest(largest(z.hidden, z.deter) / UNITS, z.groups);
}

bool wk_cuda_observe_fits(const wk_recurrence *r, size_t shared, int processors)
{
    sizes z = sizes_of(r);
    return shared_size(z, r->backward) <= shared && blocks_of(z) <= processors;
}

typedef struct binding {
    const wk_cuda_call *calls;
    const wk_recurrence *r;
} binding;

// The address of a tensor that a node of the chain reads: looked up where it is read.
static const float *read_by(const binding *b, int step, wk_role role)
{
    int tensor = b->r->step[step].tensor[role];
    for (int at = b->r->begin; tensor && at <= b->r->end; at++) {
        const wk_cuda_call *c = &b->calls[at];
        const int *inputs = wk_node_inputs(c->g, c->node);
        for (int i = 0; i < c->node->input_count; i++)
            if (inputs[i] == tensor) return (const float *)c->in[i];
    }
    return NULL;
}

// Where a result goes, and that its bf16 copy will be up to date.
static wk_out made_by(const binding *b, int step, wk_role role)
{
    const wk_recurrence_step *s = &b->r->step[step];
    const wk_cuda_call *c = &b->calls[s->node_of[role]];
    int tensor = s->tensor[role];
    wk_out out = wk_call_store(c, tensor - c->node->outputs);
    const char *begin = (const char *)c->out[tensor - c->node->outputs];
    if (out.half)
        wk_cuda_refreshed(c->lane, {begin, begin + wk_type_size(wk_info(c->g, tensor)->type)});
    return out;
}

// The same, in float32 whoever reads it.
static float *numbers_of(const binding *b, int step, wk_role role)
{
    const wk_recurrence_step *s = &b->r->step[step];
    const wk_cuda_call *c = &b->calls[s->node_of[role]];
    return (float *)c->out[s->tensor[role] - c->node->outputs];
}

static const __nv_bfloat16 *weights_of(const binding *b, wk_role role)
{
    const wk_cuda_call *c = &b->calls[b->r->begin];
    wk_shape shape = wk_info(c->g, b->r->step[0].tensor[role])->type.shape;
    const __nv_bfloat16 *w = wk_cuda_half(c, read_by(b, 0, role), wk_shape_count(shape));
    assert((uintptr_t)w % sizeof(uint4) == 0);
    return w;
}

template <class Job>
static void launch(const wk_cuda_call *c, void (*kernel)(Job), const Job &job, bool backward)
{
    const sizes &z = job.z;
    size_t shared = shared_size(z, backward);
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = (unsigned)blocks_of(z);
    config.blockDim = THREADS;
    config.dynamicSmemBytes = shared;
    config.stream = c->stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    (void)cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               (int)shared);
    (void)cudaLaunchKernelEx(&config, kernel, job); // an error stays for cudaGetLastError
}

// Memory for the exchange, filled with UNWRITTEN. Sizes of the parts are given, pointers received.
enum { MOST_PARTS = 5 };
static void make_room(const wk_cuda_call *c, const size_t *bytes, uint4 **parts)
{
    size_t sum = 0;
    for (int i = 0; i < MOST_PARTS; i++)
        sum += (bytes[i] + 255) / 256 * 256;
    char *memory = (char *)wk_cuda_scratch(c, sum);
    (void)cudaMemsetAsync(memory, 0xff, sum, c->stream);
    for (int i = 0; i < MOST_PARTS; i++) {
        parts[i] = (uint4 *)memory;
        memory += (bytes[i] + 255) / 256 * 256;
    }
}

static void bind_forward(const binding *b, int t, forward_step *s)
{
    s->keep = read_by(b, t, WK_ROLE_KEEP);
    s->action = read_by(b, t, WK_ROLE_ACTION);
    s->image = read_by(b, t, WK_ROLE_IMAGE);
    s->kept_stoch = made_by(b, t, WK_ROLE_KEPT_STOCH);
    s->kept_deter = made_by(b, t, WK_ROLE_KEPT_DETER);
    s->x = made_by(b, t, WK_ROLE_X);
    s->gates = made_by(b, t, WK_ROLE_GATES);
    s->deter = made_by(b, t, WK_ROLE_DETER);
    s->post_x = made_by(b, t, WK_ROLE_POST_X);
    s->logits = made_by(b, t, WK_ROLE_LOGITS);
    s->stoch = made_by(b, t, WK_ROLE_STOCH);
    s->stats = numbers_of(b, t, WK_ROLE_STATS);
    s->probs = numbers_of(b, t, WK_ROLE_PROBS);
    s->key = b->r->step[t].key;
}

static void launch_forward(const binding *b)
{
    const wk_cuda_call *c = &b->calls[b->r->begin];
    forward_job job = {};
    sizes z = job.z = sizes_of(b->r);
    size_t steps = (size_t)z.steps, tile = sizeof(uint4);
    const size_t bytes[MOST_PARTS] = {
        steps * tile_size(z.hidden) * tile, steps * tile_size(z.deter) * tile,
        steps * tile_size(z.hidden) * tile, steps * (size_t)z.groups * ROWS,
        steps * ROWS * (size_t)(z.deter / UNITS) * sizeof(uint2)};
    uint4 *parts[MOST_PARTS];
    make_room(c, bytes, parts);
    job.x = parts[0];
    job.deter = parts[1];
    job.post = parts[2];
    job.drawn = (unsigned char *)parts[3];
    job.sums = (uint2 *)parts[4];
    job.epsilon = b->r->epsilon;
    job.in_w = weights_of(b, WK_ROLE_IN_W);
    job.gru_x = weights_of(b, WK_ROLE_GRU_X);
    job.gru_h = weights_of(b, WK_ROLE_GRU_H);
    job.post_w = weights_of(b, WK_ROLE_POST_W);
    job.out_w = weights_of(b, WK_ROLE_OUT_W);
    job.in_b = read_by(b, 0, WK_ROLE_IN_B);
    job.gate_b = read_by(b, 0, WK_ROLE_GATE_B);
    job.gain = read_by(b, 0, WK_ROLE_GAIN);
    job.offset = read_by(b, 0, WK_ROLE_OFFSET);
    job.post_b = read_by(b, 0, WK_ROLE_POST_B);
    job.out_b = read_by(b, 0, WK_ROLE_OUT_B);
    job.counter = (const uint64_t *)read_by(b, 0, WK_ROLE_COUNTER);
    for (int t = 0; t < z.steps; t++)
        bind_forward(b, t, &job.step[t]);
    launch(c, forward_kernel, job, false);
}

static void bind_backward(const binding *b, int t, backward_step *s)
{
    s->keep = t > 0 ? read_by(b, t - 1, WK_ROLE_KEEP) : NULL;
    s->dstoch = t > 0 ? read_by(b, t - 1, WK_ROLE_DSTOCH_MORE) : read_by(b, t, WK_ROLE_DSTOCH);
    s->dlogits_more = read_by(b, t, WK_ROLE_DLOGITS_MORE);
    s->ddeter = read_by(b, t, WK_ROLE_DDETER_MORE);
    s->probs = read_by(b, t, WK_ROLE_PROBS);
    s->post_x = read_by(b, t, WK_ROLE_POST_X);
    s->gates = read_by(b, t, WK_ROLE_GATES);
    s->before = read_by(b, t, WK_ROLE_KEPT_DETER);
    s->stats = read_by(b, t, WK_ROLE_STATS);
    s->x = read_by(b, t, WK_ROLE_X);
    s->dlogits = made_by(b, t, WK_ROLE_DLOGITS);
    s->dpost = made_by(b, t, WK_ROLE_DPOST);
    s->dgates = made_by(b, t, WK_ROLE_DGATES);
    s->dx = made_by(b, t, WK_ROLE_DX);
    s->dparams[0] = numbers_of(b, t, WK_ROLE_DGATE_B);
    s->dparams[1] = numbers_of(b, t, WK_ROLE_DGAIN);
    s->dparams[2] = numbers_of(b, t, WK_ROLE_DOFFSET);
}

static void launch_backward(const binding *b)
{
    const wk_cuda_call *c = &b->calls[b->r->begin];
    backward_job job = {};
    sizes z = job.z = sizes_of(b->r);
    size_t steps = (size_t)z.steps, tile = sizeof(uint4);
    const size_t bytes[MOST_PARTS] = {
        steps * tile_size(flat_of(z)) * tile, steps * tile_size(z.hidden) * tile,
        steps * tile_size(3 * z.deter) * tile, steps * tile_size(z.hidden) * tile,
        steps * ROWS * (size_t)(z.deter / UNITS) * sizeof(uint2)};
    uint4 *parts[MOST_PARTS];
    make_room(c, bytes, parts);
    job.dlogits = parts[0];
    job.dpost = parts[1];
    job.dgates = parts[2];
    job.dx = parts[3];
    job.sums = (uint2 *)parts[4];
    job.in_w = weights_of(b, WK_ROLE_IN_W);
    job.gru_x = weights_of(b, WK_ROLE_GRU_X);
    job.gru_h = weights_of(b, WK_ROLE_GRU_H);
    job.post_w = weights_of(b, WK_ROLE_POST_W);
    job.out_w = weights_of(b, WK_ROLE_OUT_W);
    job.gate_b = read_by(b, 0, WK_ROLE_GATE_B);
    job.gain = read_by(b, 0, WK_ROLE_GAIN);
    job.offset = read_by(b, 0, WK_ROLE_OFFSET);
    for (int t = 0; t < z.steps; t++)
        bind_backward(b, t, &job.step[t]);
    launch(c, backward_kernel, job, true);
}

void wk_cuda_observe(const wk_cuda_call *calls, const wk_recurrence *r)
{
    binding b = {calls, r};
    if (r->backward)
        launch_backward(&b);
    else
        launch_forward(&b);
}
