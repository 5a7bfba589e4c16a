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
//
// What counts is the time from the arrival of the last word of a phase to the first word of the
// next: everything else is loaded, prepared or stored while a block would otherwise wait. The sizes
// are compiled in (those of the presets), which halves the instructions on that way.
#include "tensor/cuda/observe.cuh"
#include "tensor/vmath.h"

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ROWS = WK_RECURRENCE_ROWS,
    UNITS = 8,            // of a block
    CELLS = ROWS * UNITS, // of one tile of results
    TILES = 4,            // at most, that a block makes at once
    HALVES = ROWS / WARPS,
};
#define UNWRITTEN 0xffffffffu

// Sizes of the model. State and hidden layers have as many blocks as eights of units.
template <int HIDDEN, int DETER, int GROUPS, int CLASSES> struct shape {
    static constexpr int hidden = HIDDEN, deter = DETER, groups = GROUPS, classes = CLASSES;
    static constexpr int flat = GROUPS * CLASSES, gates = 3 * DETER;
    static constexpr int state_blocks = DETER / UNITS, hidden_blocks = HIDDEN / UNITS;
    static constexpr int most = state_blocks > hidden_blocks ? state_blocks : hidden_blocks;
    static constexpr int blocks = most > GROUPS ? most : GROUPS;
};

// Tiles of 16 columns in rows of n (the last may be half full), how many of them a warp has at
// most, and their words, in units of the four or two that a lane has of each.
static __host__ __device__ constexpr int operand_tiles(int n)
{
    return (n + 15) / 16;
}
static __host__ __device__ constexpr int warp_tiles(int n)
{
    return (operand_tiles(n) + WARPS - 1) / WARPS;
}
static __host__ __device__ constexpr int tile_size(int n)
{
    return operand_tiles(n) * 32;
}

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

// A NaN of the card's own arithmetic is 0x7fffffff, never UNWRITTEN, but one may have come in with
// the data.
static __device__ inline unsigned shown(float x)
{
    unsigned word = __float_as_uint(x);
    return word == UNWRITTEN ? 0x7fffffffu : word;
}

static __device__ inline void show2(uint2 *p, float a, float b)
{
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1,%2};" ::"l"(p), "r"(shown(a)),
                 "r"(shown(b))
                 : "memory");
}

static __device__ inline void show_byte(unsigned char *p, unsigned byte)
{
    asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(p), "r"(byte) : "memory");
}

static __device__ inline unsigned largest_word(uint4 v)
{
    return max(max(v.x, v.y), max(v.z, v.w));
}

// Makes eight columns of a result visible as an operand; `column` counts in eights of `columns`. A
// thread brings the cell of its row and unit, its neighbour the next unit's; all lanes of a warp
// take part, `active` are those that have a cell.
template <int COLUMNS>
static __device__ inline void show_cell(uint4 *to, int column, int row, int unit, float value,
                                        bool active = true)
{
    float next = __shfl_down_sync(0xffffffffu, value, 1);
    if (unit % 2 || !active) return;
    __nv_bfloat162 pair = __floats2bfloat162_rn(value, next);
    unsigned *word =
        (unsigned *)(to + column / 2 * 32 + row % 8 * 4 + unit / 2) + row / 8 + column % 2 * 2;
    show(word, *(unsigned *)&pair);
    // The second half of a last tile that is half full.
    if (COLUMNS % 2 == 1 && column == COLUMNS - 1) show(word + 2, 0);
}

// Products of the tensor cores. Warp w has the operand tiles w, w + WARPS, ... of every sum.

template <int K> static __device__ inline bool has_tile(int i)
{
    constexpr int full = operand_tiles(K) / WARPS;
    return i < full || (int)(threadIdx.x / 32) < operand_tiles(K) - full * WARPS;
}

static __device__ inline void multiply_tile(float (&c)[4], uint4 a, uint2 b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

// Waits until this warp's operand tiles are there.
template <int K> static __device__ inline void fetch(uint4 (&a)[warp_tiles(K)], const uint4 *from)
{
    const uint4 *at = from + threadIdx.x;
    unsigned newest;
    do {
        newest = 0;
#pragma unroll
        for (int i = 0; i < warp_tiles(K); i++)
            if (has_tile<K>(i)) a[i] = peek4(at + i * THREADS);
#pragma unroll
        for (int i = 0; i < warp_tiles(K); i++)
            if (has_tile<K>(i)) newest = max(newest, largest_word(a[i]));
    } while (newest == UNWRITTEN);
}

// c[j] += rows of `from` times column tile j of the weights: this warp's part of the sum. The
// weights are read before the wait.
template <int K, int N>
static __device__ inline void multiply(float (&c)[N][4], const uint4 *from, const uint2 *weights)
{
    constexpr int most = warp_tiles(K);
    uint2 b[N][most];
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
        for (int i = 0; i < most; i++)
            if (has_tile<K>(i)) b[j][i] = weights[j * tile_size(K) + i * THREADS + threadIdx.x];
    uint4 a[most];
    fetch<K>(a, from);
#pragma unroll
    for (int i = 0; i < most; i++)
        if (has_tile<K>(i))
#pragma unroll
            for (int j = 0; j < N; j++)
                multiply_tile(c[j], a[i], b[j][i]);
}

// Every warp's part of the results; two of them are used in turn, so that a warp that is ahead does
// not disturb those that still read.
typedef float partials[WARPS][TILES][CELLS];

template <int N> static __device__ inline void put_partials(partials &to, const float (&c)[N][4])
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int at = lane / 4 * UNITS + lane % 4 * 2;
#pragma unroll
    for (int j = 0; j < N; j++) {
        *(float2 *)&to[warp][j][at] = make_float2(c[j][0], c[j][1]);
        *(float2 *)&to[warp][j][at + 8 * UNITS] = make_float2(c[j][2], c[j][3]);
    }
    __syncthreads();
}

static __device__ inline float total(const partials &from, int column, int cell)
{
    float part[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++)
        part[w] = from[w][column][cell];
#pragma unroll
    for (int step = 1; step < WARPS; step *= 2)
#pragma unroll
        for (int w = 0; w < WARPS; w += 2 * step)
            part[w] += part[w + step];
    return part[0];
}

// Weights, once.

// Columns at ... at+7 of w [K,n] as a tile: lane 4c+q holds rows 2q, 2q+1 and 2q+8, 2q+9 of column
// c of every 16 rows.
template <int K>
static __device__ void load_columns(uint2 *to, const __nv_bfloat16 *w, int n, int at)
{
    unsigned short *half = (unsigned short *)to;
    for (int row = threadIdx.x; row < operand_tiles(K) * 16; row += THREADS) {
        uint4 v = row < K ? *(const uint4 *)(w + (size_t)row * n + at) : make_uint4(0, 0, 0, 0);
        const unsigned short *values = (const unsigned short *)&v;
        int q = row % 8 / 2, word = row % 16 / 8;
#pragma unroll
        for (int c = 0; c < UNITS; c++)
            half[((row / 16 * 32 + c * 4 + q) * 2 + word) * 2 + row % 2] = values[c];
    }
}

// Rows at ... at+7 of w [n,K] as a tile, so that w is used transposed.
template <int K> static __device__ void load_rows(uint2 *to, const __nv_bfloat16 *w, int at)
{
    unsigned *words = (unsigned *)to;
    constexpr int eighths = operand_tiles(K) * 2;
    for (int i = threadIdx.x; i < eighths * UNITS; i += THREADS) {
        int c = i / eighths, part = i - c * eighths;
        uint4 v = part * 8 < K ? *(const uint4 *)(w + (size_t)(at + c) * K + part * 8)
                               : make_uint4(0, 0, 0, 0);
        unsigned *tile = words + (part / 2 * 32 + c * 4) * 2 + part % 2;
        tile[0] = v.x;
        tile[2] = v.y;
        tile[4] = v.z;
        tile[6] = v.w;
    }
}

// The steps' addresses from the parameters to shared memory.
static __device__ void copy_words(void *to, const void *from, size_t bytes)
{
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint64_t); i += THREADS)
        ((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

// The sum over neighbouring lanes, `lanes` a power of two.
static __device__ inline float lane_sum(float x, int lanes)
{
#pragma unroll
    for (int offset = lanes / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    return x;
}

// Waits for the pairs that all blocks have for this thread's row; sixteen threads share a row.
template <int BLOCKS>
static __device__ inline void fetch_pairs(float2 (&pairs)[(BLOCKS + 15) / 16], const uint2 *from)
{
    constexpr int most = (BLOCKS + 15) / 16;
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    const uint2 *at = from + row * BLOCKS + share;
    unsigned newest;
    uint2 v[most];
    do {
        newest = 0;
#pragma unroll
        for (int i = 0; i < most; i++) {
            v[i] = make_uint2(0, 0);
            if (share + 16 * i < BLOCKS) v[i] = peek2(at + 16 * i);
        }
#pragma unroll
        for (int i = 0; i < most; i++)
            newest = max(newest, max(v[i].x, v[i].y));
    } while (newest == UNWRITTEN);
#pragma unroll
    for (int i = 0; i < most; i++)
        pairs[i] = make_float2(__uint_as_float(v[i].x), __uint_as_float(v[i].y));
}

// The cell of a tile of results that a thread works on.
typedef struct place {
    int row, unit, column; // column of the block's eight in the whole
    bool whole, real;      // one of the tile's cells; and of a sequence that exists
} place;

static __device__ inline place place_of(int rows)
{
    int cell = threadIdx.x, row = cell / UNITS, unit = cell % UNITS;
    place p = {row, unit, (int)blockIdx.x * UNITS + unit, cell < CELLS, cell < CELLS && row < rows};
    return p;
}

extern __shared__ uint4 shared_memory[];

// Forward.

typedef struct forward_step {
    const float *keep, *action, *image;
    wk_out kept_stoch, kept_deter, x, gates, deter, post_x, logits, stoch;
    float *stats, *probs;
    uint64_t key;
} forward_step;

typedef struct forward_job {
    int steps, rows;
    float epsilon;
    const __nv_bfloat16 *in_w, *gru_x, *gru_h, *post_w, *out_w;
    const float *in_b, *gate_b, *gain, *offset, *post_b, *out_b;
    const uint64_t *counter;
    uint4 *x, *deter, *post; // exchanged, for all steps
    unsigned char *drawn;    // classes: [step][group][row]
    uint2 *sums;             // of a block's gates, and of their squared differences from the mean
    forward_step step[WK_RECURRENCE_STEPS];
} forward_job;

template <class Z> struct forward_memory {
    uint4 in[Z::flat]; // rows of eight columns: sums of single rows
    uint2 gru_x[3 * tile_size(Z::hidden)], gru_h[3 * tile_size(Z::deter)];
    uint2 post[tile_size(Z::deter)], out[Z::classes / 8 * tile_size(Z::hidden)];
    partials part[2];
    float logits[ROWS][32];
    float2 row[ROWS]; // mean and 1/deviation
    unsigned char drawn[Z::groups][ROWS];
    forward_step step[WK_RECURRENCE_STEPS];
};

// What a thread knows from step to step.
typedef struct forward_cell {
    place at;
    float in_b, post_b, gate_b[3], gain[3], offset[3]; // parameters of its column
    float state;
    float keep, keeps[2], action, image; // of the coming step; keeps: the rows of its lane
    float input_keep;                    // and of the row it has of the input
} forward_cell;

template <class Z> static __device__ void load_forward(const forward_job &job, forward_memory<Z> &m)
{
    int b = blockIdx.x, at = b * UNITS;
    if (b < Z::hidden_blocks) {
        for (int row = threadIdx.x; row < Z::flat; row += THREADS)
            m.in[row] = *(const uint4 *)(job.in_w + (size_t)row * Z::hidden + at);
        load_columns<Z::deter>(m.post, job.post_w, Z::hidden, at);
    }
    if (b < Z::state_blocks)
        for (int j = 0; j < 3; j++) {
            load_columns<Z::hidden>(m.gru_x + j * tile_size(Z::hidden), job.gru_x, Z::gates,
                                    j * Z::deter + at);
            load_columns<Z::deter>(m.gru_h + j * tile_size(Z::deter), job.gru_h, Z::gates,
                                   j * Z::deter + at);
        }
    if (b < Z::groups)
        for (int j = 0; j < Z::classes / 8; j++)
            load_columns<Z::hidden>(m.out + j * tile_size(Z::hidden), job.out_w, Z::flat,
                                    b * Z::classes + j * 8);
    copy_words(m.step, job.step, (size_t)job.steps * sizeof *m.step);
    for (int i = b * THREADS + threadIdx.x; i < job.rows * Z::flat; i += Z::blocks * THREADS)
        job.step[0].kept_stoch[i] = 0.0f;
}

template <class Z>
static __device__ void load_parameters(const forward_job &job, forward_cell &mine)
{
    int input = threadIdx.x % 16;
    if (input < UNITS && blockIdx.x < Z::hidden_blocks)
        mine.in_b = job.in_b[blockIdx.x * UNITS + input];
    if (blockIdx.x < Z::hidden_blocks) mine.post_b = job.post_b[mine.at.column];
    if (blockIdx.x < Z::state_blocks)
        for (int j = 0; j < 3; j++) {
            mine.gate_b[j] = job.gate_b[j * Z::deter + mine.at.column];
            mine.gain[j] = job.gain[j * Z::deter + mine.at.column];
            mine.offset[j] = job.offset[j * Z::deter + mine.at.column];
        }
}

// Loads what the coming step reads.
template <class Z>
static __device__ inline void prepare(const forward_job &job, const forward_step &s,
                                      forward_cell &mine)
{
    int lane = threadIdx.x % 32, row = threadIdx.x / 16, unit = threadIdx.x % 16;
    bool hidden = blockIdx.x < Z::hidden_blocks;
    for (int i = 0; i < 2; i++)
        mine.keeps[i] = lane / 4 + 8 * i < job.rows ? s.keep[lane / 4 + 8 * i] : 0.0f;
    mine.keep = mine.at.real ? s.keep[mine.at.row] : 0.0f;
    mine.input_keep = row < job.rows ? s.keep[row] : 0.0f;
    mine.action = hidden && row < job.rows && unit < UNITS
                      ? s.action[row * Z::hidden + blockIdx.x * UNITS + unit]
                      : 0.0f;
    mine.image = hidden && mine.at.real ? s.image[mine.at.row * Z::hidden + mine.at.column] : 0.0f;
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

// The rows of the input's weights that the classes drawn in the step before pick, summed: the
// product with one-hot vectors. Sixteen threads share a row of the result; thread u of them returns
// unit u < 8.
template <class Z>
static __device__ inline float drawn_sum(const forward_job &job, forward_memory<Z> &m, int t)
{
    if (threadIdx.x < Z::groups) {
        const uint4 *from = (const uint4 *)job.drawn + (size_t)(t - 1) * Z::groups + threadIdx.x;
        uint4 v;
        unsigned missing;
        do {
            v = peek4(from);
            missing = __vcmpeq4(v.x, UNWRITTEN) | __vcmpeq4(v.y, UNWRITTEN) |
                      __vcmpeq4(v.z, UNWRITTEN) | __vcmpeq4(v.w, UNWRITTEN);
        } while (missing);
        *(uint4 *)m.drawn[threadIdx.x] = v;
    }
    __syncthreads();
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    float sum[UNITS] = {};
#pragma unroll
    for (int i = 0; i < (Z::groups + 15) / 16; i++) {
        int g = share + 16 * i;
        if (g < Z::groups) add_row(sum, m.in[g * Z::classes + m.drawn[g][row]]);
    }
    // Halves are exchanged until every thread has one unit, then the two that have the same add up.
    float four[4], two[2];
    bool upper = share & 4;
#pragma unroll
    for (int i = 0; i < 4; i++)
        four[i] = (upper ? sum[4 + i] : sum[i]) +
                  __shfl_xor_sync(0xffffffffu, upper ? sum[i] : sum[4 + i], 4);
    upper = share & 2;
#pragma unroll
    for (int i = 0; i < 2; i++)
        two[i] = (upper ? four[2 + i] : four[i]) +
                 __shfl_xor_sync(0xffffffffu, upper ? four[i] : four[2 + i], 2);
    upper = share & 1;
    float one =
        (upper ? two[1] : two[0]) + __shfl_xor_sync(0xffffffffu, upper ? two[0] : two[1], 1);
    return one + __shfl_xor_sync(0xffffffffu, one, 8);
}

// x = elu(stoch in + action + bias).
template <class Z>
static __device__ inline void make_input(const forward_job &job, forward_memory<Z> &m, int t,
                                         const forward_cell &mine)
{
    int row = threadIdx.x / 16, unit = threadIdx.x % 16;
    bool real = row < job.rows && unit < UNITS;
    float sum = 0, add = mine.action + mine.in_b;
    float keep = __bfloat162float(__float2bfloat16_rn(mine.input_keep));
    if (t > 0) sum = keep * drawn_sum(job, m, t);
    float x = real ? wk_activate(WK_ELU, sum + add) : 0.0f;
    show_cell<Z::hidden_blocks>(job.x + (size_t)t * tile_size(Z::hidden), blockIdx.x, row, unit, x,
                                unit < UNITS);
    if (real) m.step[t].x[row * Z::hidden + blockIdx.x * UNITS + unit] = x;
}

// Mean and 1/deviation of the gates of every row, from the sums of all blocks.
template <class Z>
static __device__ inline void fetch_statistics(const forward_job &job, forward_memory<Z> &m, int t)
{
    constexpr int most = (Z::state_blocks + 15) / 16;
    constexpr float n = Z::gates, own = 3 * UNITS;
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    float2 pairs[most];
    fetch_pairs<Z::state_blocks>(pairs, job.sums + (size_t)t * ROWS * Z::state_blocks);
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < most; i++)
        sum += pairs[i].x;
    float mean = lane_sum(sum, 16) * (1.0f / n);
#pragma unroll
    for (int i = 0; i < most; i++) {
        float away = pairs[i].x * (1.0f / own) - mean;
        if (share + 16 * i < Z::state_blocks) squares += pairs[i].y + own * away * away;
    }
    float rstd = 1.0f / sqrtf(lane_sum(squares, 16) * (1.0f / n) + job.epsilon);
    if (share == 0) m.row[row] = make_float2(mean, rstd);
    __syncthreads();
    if (blockIdx.x == 0 && share == 0 && row < job.rows) {
        m.step[t].stats[row] = mean;
        m.step[t].stats[job.rows + row] = rstd;
    }
}

// The gates and from them the new state. `from_state` is this warp's part of the product with the
// state before.
template <class Z>
static __device__ inline void make_state(const forward_job &job, forward_memory<Z> &m, int t,
                                         float (&from_state)[3][4], forward_cell &mine)
{
    const forward_step &s = m.step[t];
    const place &at = mine.at;
    float kept = mine.keep * mine.state, c[3][4];
#pragma unroll
    for (int j = 0; j < 3; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            c[j][i] = mine.keeps[i / 2] * from_state[j][i];
    multiply<Z::hidden, 3>(c, job.x + (size_t)t * tile_size(Z::hidden), m.gru_x);
    put_partials(m.part[0], c);
    float pre[3] = {}, sum = 0, squares = 0;
    if (at.whole) {
#pragma unroll
        for (int j = 0; j < 3; j++) {
            pre[j] = total(m.part[0], j, threadIdx.x);
            sum += pre[j] + mine.gate_b[j];
        }
        sum = lane_sum(sum, UNITS);
#pragma unroll
        for (int j = 0; j < 3; j++) {
            float away = pre[j] + mine.gate_b[j] - sum * (1.0f / (3 * UNITS));
            squares += away * away;
        }
        squares = lane_sum(squares, UNITS);
        if (at.unit == 0)
            show2(job.sums + ((size_t)t * ROWS + at.row) * Z::state_blocks + blockIdx.x, sum,
                  squares);
        if (at.real) {
#pragma unroll
            for (int j = 0; j < 3; j++)
                s.gates[at.row * Z::gates + j * Z::deter + at.column] = pre[j];
            s.kept_deter[at.row * Z::deter + at.column] = kept;
        }
    }
    fetch_statistics<Z>(job, m, t);
    if (!at.whole) return;
    float2 of_row = m.row[at.row];
    float parts[3];
#pragma unroll
    for (int j = 0; j < 3; j++)
        parts[j] = (pre[j] + mine.gate_b[j] - of_row.x) * of_row.y * mine.gain[j] + mine.offset[j];
    float reset = wk_sigmoid(parts[0]), update = wk_sigmoid(parts[2] - 1.0f);
    float candidate = tanhf(reset * parts[1]);
    mine.state = at.real ? update * candidate + (1.0f - update) * kept : 0.0f;
    show_cell<Z::state_blocks>(job.deter + (size_t)t * tile_size(Z::deter), blockIdx.x, at.row,
                               at.unit, mine.state);
    if (at.real) s.deter[at.row * Z::deter + at.column] = mine.state;
}

// The hidden layer before the logits: elu(deter post + image + bias).
template <class Z>
static __device__ inline void make_post(const forward_job &job, forward_memory<Z> &m, int t,
                                        const forward_cell &mine)
{
    const place &at = mine.at;
    float c[1][4] = {};
    multiply<Z::deter, 1>(c, job.deter + (size_t)t * tile_size(Z::deter), m.post);
    put_partials(m.part[1], c);
    if (!at.whole) return;
    float x = total(m.part[1], 0, threadIdx.x) + (mine.image + mine.post_b);
    x = at.real ? wk_activate(WK_ELU, x) : 0.0f;
    show_cell<Z::hidden_blocks>(job.post + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
                                at.unit, x);
    if (at.real) m.step[t].post_x[at.row * Z::hidden + at.column] = x;
}

// The logits of a group and its sample, by the rule of wk_cpu_sample_onehot, whose sum goes over
// the classes one by one. A warp draws for two rows at once.
template <class Z>
static __device__ inline void make_sample(const forward_job &job, forward_memory<Z> &m, int t)
{
    constexpr int columns = Z::classes / 8;
    const forward_step &s = m.step[t];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = blockIdx.x;
    bool real = lane < Z::classes;
    float uniform[HALVES], bias = real ? job.out_b[group * Z::classes + lane] : 0.0f;
    uint64_t substream = *job.counter;
#pragma unroll
    for (int k = 0; k < HALVES; k++)
        uniform[k] = wk_unit_float(
            wk_random_word(s.key, substream, (unsigned)((warp + k * WARPS) * Z::groups + group)));
    float c[columns][4] = {};
    multiply<Z::hidden, columns>(c, job.post + (size_t)t * tile_size(Z::hidden), m.out);
    put_partials(m.part[0], c);
#pragma unroll
    for (int i = threadIdx.x; i < columns * CELLS; i += THREADS) {
        int column = i / CELLS, cell = i % CELLS;
        m.logits[cell / UNITS][column * 8 + cell % UNITS] = total(m.part[0], column, cell);
    }
    __syncthreads();
    float x[HALVES], weight[HALVES], sum[HALVES] = {}, mine[HALVES] = {};
    int drawn[HALVES];
#pragma unroll
    for (int k = 0; k < HALVES; k++) {
        x[k] = real ? m.logits[warp + k * WARPS][lane] + bias : -INFINITY;
        float max = wk_warp_max(x[k]);
        weight[k] = real ? wk_expf(x[k] - max) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < Z::classes; i++)
#pragma unroll
        for (int k = 0; k < HALVES; k++) {
            sum[k] += __shfl_sync(0xffffffffu, weight[k], i);
            if (i == lane) mine[k] = sum[k];
        }
#pragma unroll
    for (int k = 0; k < HALVES; k++) {
        bool under = real && mine[k] <= uniform[k] * sum[k];
        int below = __popc(__ballot_sync(0xffffffffu, under));
        drawn[k] = below < Z::classes ? below : Z::classes - 1;
        if (lane == 0)
            show_byte(job.drawn + ((size_t)t * Z::groups + group) * ROWS + warp + k * WARPS,
                      drawn[k]);
    }
#pragma unroll
    for (int k = 0; k < HALVES; k++) {
        int row = warp + k * WARPS;
        if (!real || row >= job.rows) continue;
        size_t at = (size_t)row * Z::flat + group * Z::classes + lane;
        float onehot = lane == drawn[k] ? 1.0f : 0.0f;
        s.logits[at] = x[k];
        s.probs[at] = weight[k] * (1.0f / sum[k]);
        s.stoch[at] = onehot;
        if (t + 1 < job.steps) m.step[t + 1].kept_stoch[at] = onehot * m.step[t + 1].keep[row];
    }
}

template <class Z>
__global__ void __launch_bounds__(THREADS, 1)
    forward_kernel(const __grid_constant__ forward_job job)
{
    forward_memory<Z> &m = *(forward_memory<Z> *)shared_memory;
    wk_begin();
    load_forward<Z>(job, m);
    __syncthreads();
    forward_cell mine = {};
    mine.at = place_of(job.rows);
    load_parameters<Z>(job, mine);
    prepare<Z>(job, m.step[0], mine);
    float from_state[3][4] = {};
    for (int t = 0; t < job.steps; t++) {
        if (blockIdx.x < Z::hidden_blocks) make_input<Z>(job, m, t, mine);
        if (blockIdx.x < Z::state_blocks) make_state<Z>(job, m, t, from_state, mine);
        if (blockIdx.x < Z::hidden_blocks) make_post<Z>(job, m, t, mine);
        if (t + 1 < job.steps) prepare<Z>(job, m.step[t + 1], mine);
        if (blockIdx.x < Z::groups) make_sample<Z>(job, m, t);
        if (blockIdx.x >= Z::state_blocks) continue;
#pragma unroll
        for (int i = 0; i < 12; i++)
            from_state[i / 4][i % 4] = 0;
        multiply<Z::deter, 3>(from_state, job.deter + (size_t)t * tile_size(Z::deter), m.gru_h);
    }
}

// Backward. Steps are numbered as they run: step 0 is the last of the sequence.

typedef struct backward_step {
    const float *keep; // of the step after it in the sequence, through which its gradient comes
    const float *dstoch, *dlogits_more, *ddeter;
    const float *probs, *gates, *before, *stats;
    wk_in post_x, x;
    wk_out dlogits, dpost, dgates, dx;
    float *dparams[3]; // of gate bias, gain and offset
} backward_step;

typedef struct backward_job {
    int steps, rows;
    const __nv_bfloat16 *in_w, *gru_x, *gru_h, *post_w, *out_w;
    const float *gate_b, *gain, *offset;
    uint4 *dlogits, *dpost, *dgates, *dx; // exchanged, for all steps
    uint2 *sums; // over a block's gates: d, and d times the normalised gate
    backward_step step[WK_RECURRENCE_STEPS];
} backward_job;

template <class Z> struct backward_memory {
    uint2 out[tile_size(Z::flat)], post[tile_size(Z::hidden)];
    uint2 gru_x[tile_size(Z::gates)], gru_h[tile_size(Z::gates)];
    uint2 in[Z::classes / 8 * tile_size(Z::hidden)];
    partials part[2];
    float dstoch[ROWS][32];
    float2 row[ROWS];
    backward_step step[WK_RECURRENCE_STEPS];
};

// What a thread knows from step to step: the parameters of its column, what the coming step reads,
// the gradient of its cell through the step that ran last, and the parameters' so far.
typedef struct backward_cell {
    place at;
    float gate_b[3], gain[3], offset[3];
    float post_x, x, ddeter, before, gates[3], mean, rstd, keep;
    float carried, params[3][3];
} backward_cell;

template <class Z>
static __device__ void load_backward(const backward_job &job, backward_memory<Z> &m)
{
    int b = blockIdx.x, at = b * UNITS;
    if (b < Z::hidden_blocks) {
        load_rows<Z::flat>(m.out, job.out_w, at);
        load_rows<Z::gates>(m.gru_x, job.gru_x, at);
    }
    if (b < Z::state_blocks) {
        load_rows<Z::hidden>(m.post, job.post_w, at);
        load_rows<Z::gates>(m.gru_h, job.gru_h, at);
    }
    if (b < Z::groups)
        for (int j = 0; j < Z::classes / 8; j++)
            load_rows<Z::hidden>(m.in + j * tile_size(Z::hidden), job.in_w, b * Z::classes + j * 8);
    copy_words(m.step, job.step, (size_t)job.steps * sizeof *m.step);
}

template <class Z>
static __device__ inline void prepare(const backward_job &job, const backward_step &s, int t,
                                      backward_cell &mine)
{
    const place &at = mine.at;
    if (!at.real) return;
    if (blockIdx.x < Z::hidden_blocks) {
        mine.post_x = s.post_x[at.row * Z::hidden + at.column];
        mine.x = s.x[at.row * Z::hidden + at.column];
    }
    if (t > 0) mine.keep = s.keep[at.row];
    if (blockIdx.x >= Z::state_blocks) return;
    mine.mean = s.stats[at.row];
    mine.rstd = s.stats[job.rows + at.row];
    mine.before = s.before[at.row * Z::deter + at.column];
    mine.ddeter = s.ddeter[at.row * Z::deter + at.column];
#pragma unroll
    for (int j = 0; j < 3; j++)
        mine.gates[j] = s.gates[at.row * Z::gates + j * Z::deter + at.column];
}

template <class Z>
static __device__ inline void back_to_logits(const backward_job &job, backward_memory<Z> &m, int t)
{
    constexpr int columns = Z::classes / 8;
    const backward_step &s = m.step[t];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool real[HALVES];
    float outer[HALVES], probability[HALVES], more[HALVES], keep[HALVES];
    size_t at[HALVES];
#pragma unroll
    for (int k = 0; k < HALVES; k++) {
        int row = warp + k * WARPS;
        at[k] = (size_t)row * Z::flat + blockIdx.x * Z::classes + lane;
        real[k] = lane < Z::classes && row < job.rows;
        outer[k] = real[k] ? s.dstoch[at[k]] : 0.0f;
        probability[k] = real[k] ? s.probs[at[k]] : 0.0f;
        more[k] = real[k] ? s.dlogits_more[at[k]] : 0.0f;
        keep[k] = t > 0 && real[k] ? s.keep[row] : 0.0f;
    }
    if (t > 0) {
        float c[columns][4] = {};
        multiply<Z::hidden, columns>(c, job.dx + (size_t)(t - 1) * tile_size(Z::hidden), m.in);
        put_partials(m.part[0], c);
#pragma unroll
        for (int i = threadIdx.x; i < columns * CELLS; i += THREADS) {
            int column = i / CELLS, cell = i % CELLS;
            m.dstoch[cell / UNITS][column * 8 + cell % UNITS] = total(m.part[0], column, cell);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < HALVES; k++)
            if (real[k]) outer[k] += keep[k] * m.dstoch[warp + k * WARPS][lane];
    }
    uint4 *to = job.dlogits + (size_t)t * tile_size(Z::flat);
    int column = (blockIdx.x * Z::classes + lane) / 8;
    float dlogit[HALVES];
#pragma unroll
    for (int k = 0; k < HALVES; k++) {
        float dot = wk_warp_sum(probability[k] * outer[k]);
        dlogit[k] = probability[k] * (outer[k] - dot) + more[k];
        show_cell<Z::flat / 8>(to, column, warp + k * WARPS, lane % 8, dlogit[k],
                               lane < Z::classes);
    }
#pragma unroll
    for (int k = 0; k < HALVES; k++)
        if (real[k]) s.dlogits[at[k]] = dlogit[k];
}

template <class Z>
static __device__ inline void back_to_post(const backward_job &job, backward_memory<Z> &m, int t,
                                           const backward_cell &mine)
{
    const place &at = mine.at;
    float slope = wk_activate_slope(WK_ELU, mine.post_x), c[1][4] = {};
    multiply<Z::flat, 1>(c, job.dlogits + (size_t)t * tile_size(Z::flat), m.out);
    put_partials(m.part[1], c);
    if (!at.whole) return;
    float d = at.real ? total(m.part[1], 0, threadIdx.x) * slope : 0.0f;
    show_cell<Z::hidden_blocks>(job.dpost + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
                                at.unit, d);
    if (at.real) m.step[t].dpost[at.row * Z::hidden + at.column] = d;
}

// Means over each row's gates of d and of d times the normalised gate.
template <class Z>
static __device__ inline void fetch_means(const backward_job &job, backward_memory<Z> &m, int t)
{
    constexpr int most = (Z::state_blocks + 15) / 16;
    float2 pairs[most];
    fetch_pairs<Z::state_blocks>(pairs, job.sums + (size_t)t * ROWS * Z::state_blocks);
    float sum = 0, dot = 0;
#pragma unroll
    for (int i = 0; i < most; i++) {
        sum += pairs[i].x;
        dot += pairs[i].y;
    }
    sum = lane_sum(sum, 16) * (1.0f / Z::gates);
    dot = lane_sum(dot, 16) * (1.0f / Z::gates);
    if (threadIdx.x % 16 == 0) m.row[threadIdx.x / 16] = make_float2(sum, dot);
    __syncthreads();
}

template <class Z>
static __device__ inline void back_to_gates(const backward_job &job, backward_memory<Z> &m, int t,
                                            backward_cell &mine)
{
    const place &at = mine.at;
    float normal[3], parts[3];
#pragma unroll
    for (int j = 0; j < 3; j++) {
        normal[j] = (mine.gates[j] + mine.gate_b[j] - mine.mean) * mine.rstd;
        parts[j] = normal[j] * mine.gain[j] + mine.offset[j];
    }
    // The gradients of the three parts, and of the state before by the direct path, are multiples
    // of the state's.
    float reset = wk_sigmoid(parts[0]), update = wk_sigmoid(parts[2] - 1.0f);
    float candidate = tanhf(reset * parts[1]);
    float inner = update * (1.0f - candidate * candidate);
    float slope[3] = {inner * parts[1] * reset * (1.0f - reset), inner * reset,
                      (candidate - mine.before) * update * (1.0f - update)};
    float c[1][4] = {};
    multiply<Z::hidden, 1>(c, job.dpost + (size_t)t * tile_size(Z::hidden), m.post);
    put_partials(m.part[0], c);
    float d = 0;
    if (at.whole) {
        if (at.real) d = total(m.part[0], 0, threadIdx.x) + mine.carried + mine.ddeter;
        float sum = 0, dot = 0;
#pragma unroll
        for (int j = 0; j < 3; j++) {
            float part = d * slope[j] * mine.gain[j];
            sum += part;
            dot += part * normal[j];
        }
        sum = lane_sum(sum, UNITS);
        dot = lane_sum(dot, UNITS);
        if (at.unit == 0)
            show2(job.sums + ((size_t)t * ROWS + at.row) * Z::state_blocks + blockIdx.x, sum, dot);
    }
    fetch_means<Z>(job, m, t);
    if (!at.whole) return;
    float2 means = m.row[at.row];
    float dgates[3];
    uint4 *to = job.dgates + (size_t)t * tile_size(Z::gates);
#pragma unroll
    for (int j = 0; j < 3; j++) {
        dgates[j] = mine.rstd * (d * slope[j] * mine.gain[j] - means.x - normal[j] * means.y);
        show_cell<Z::gates / 8>(to, j * Z::state_blocks + blockIdx.x, at.row, at.unit, dgates[j]);
    }
#pragma unroll
    for (int j = 0; j < 3; j++) {
        if (at.real) m.step[t].dgates[at.row * Z::gates + j * Z::deter + at.column] = dgates[j];
        mine.params[0][j] += dgates[j];
        mine.params[1][j] += d * slope[j] * normal[j];
        mine.params[2][j] += d * slope[j];
    }
    mine.carried = d * (1.0f - update);
}

template <class Z>
static __device__ inline void back_to_input(const backward_job &job, backward_memory<Z> &m, int t,
                                            const backward_cell &mine)
{
    const place &at = mine.at;
    float slope = wk_activate_slope(WK_ELU, mine.x), c[1][4] = {};
    multiply<Z::gates, 1>(c, job.dgates + (size_t)t * tile_size(Z::gates), m.gru_x);
    put_partials(m.part[1], c);
    if (!at.whole) return;
    float d = at.real ? total(m.part[1], 0, threadIdx.x) * slope : 0.0f;
    show_cell<Z::hidden_blocks>(job.dx + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
                                at.unit, d);
    if (at.real) m.step[t].dx[at.row * Z::hidden + at.column] = d;
}

// The gradient of the state through step t, for the step that runs after it.
template <class Z>
static __device__ inline void back_to_state(const backward_job &job, backward_memory<Z> &m, int t,
                                            backward_cell &mine)
{
    float c[1][4] = {};
    multiply<Z::gates, 1>(c, job.dgates + (size_t)t * tile_size(Z::gates), m.gru_h);
    put_partials(m.part[0], c);
    if (mine.at.whole) mine.carried = mine.keep * (total(m.part[0], 0, threadIdx.x) + mine.carried);
}

// The parameters' gradients over all rows and steps go to the step that ran last; the others' are
// zero.
template <class Z>
static __device__ void put_params(const backward_job &job, backward_memory<Z> &m,
                                  const backward_cell &mine)
{
    float *room = (float *)m.part;
    __syncthreads();
    if (mine.at.whole)
        for (int p = 0; p < 9; p++)
            room[p * CELLS + threadIdx.x] = mine.params[p / 3][p % 3];
    __syncthreads();
    for (int i = threadIdx.x; i < 9 * UNITS; i += THREADS) {
        int p = i / UNITS, unit = i % UNITS;
        int at = p % 3 * Z::deter + blockIdx.x * UNITS + unit;
        float sum = 0;
        for (int row = 0; row < ROWS; row++)
            sum += room[p * CELLS + row * UNITS + unit];
        for (int t = 0; t < job.steps; t++)
            m.step[t].dparams[p / 3][at] = t == job.steps - 1 ? sum : 0.0f;
    }
}

template <class Z>
__global__ void __launch_bounds__(THREADS, 1)
    backward_kernel(const __grid_constant__ backward_job job)
{
    backward_memory<Z> &m = *(backward_memory<Z> *)shared_memory;
    wk_begin();
    load_backward<Z>(job, m);
    __syncthreads();
    backward_cell mine = {};
    mine.at = place_of(job.rows);
    if (blockIdx.x < Z::state_blocks && mine.at.whole)
        for (int j = 0; j < 3; j++) {
            mine.gate_b[j] = job.gate_b[j * Z::deter + mine.at.column];
            mine.gain[j] = job.gain[j * Z::deter + mine.at.column];
            mine.offset[j] = job.offset[j * Z::deter + mine.at.column];
        }
    for (int t = 0; t < job.steps; t++) {
        prepare<Z>(job, m.step[t], t, mine);
        if (blockIdx.x < Z::groups) back_to_logits<Z>(job, m, t);
        // Not before the logits, for which all blocks wait.
        if (blockIdx.x < Z::state_blocks && t > 0) back_to_state<Z>(job, m, t - 1, mine);
        if (blockIdx.x < Z::hidden_blocks) back_to_post<Z>(job, m, t, mine);
        if (blockIdx.x < Z::state_blocks) back_to_gates<Z>(job, m, t, mine);
        if (blockIdx.x < Z::hidden_blocks) back_to_input<Z>(job, m, t, mine);
    }
    if (blockIdx.x < Z::state_blocks) put_params<Z>(job, m, mine);
}

// Launching.

typedef shape<600, 600, 32, 32> paper;
typedef shape<256, 256, 24, 24> small;
typedef shape<128, 128, 16, 16> quick;

// The kernels for one model.
typedef struct version {
    int hidden, deter, groups, classes, blocks;
    void (*forward)(forward_job);
    void (*backward)(backward_job);
    size_t forward_shared, backward_shared;
} version;

template <class Z> static version version_of(void)
{
    version v = {Z::hidden,
                 Z::deter,
                 Z::groups,
                 Z::classes,
                 Z::blocks,
                 forward_kernel<Z>,
                 backward_kernel<Z>,
                 sizeof(forward_memory<Z>),
                 sizeof(backward_memory<Z>)};
    return v;
}

static bool find_version(const wk_recurrence *r, version *out)
{
    const version versions[] = {version_of<paper>(), version_of<small>(), version_of<quick>()};
    for (const version &v : versions) {
        if (v.hidden != r->hidden || v.deter != r->deter || v.groups != r->groups ||
            v.classes != r->classes)
            continue;
        *out = v;
        return true;
    }
    return false;
}

bool wk_cuda_observe_fits(const wk_recurrence *r, size_t shared, int processors)
{
    version v;
    return find_version(r, &v) && v.blocks <= processors &&
           (r->backward ? v.backward_shared : v.forward_shared) <= shared;
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
static void launch(const wk_cuda_call *c, void (*kernel)(Job), const Job &job, int blocks,
                   size_t shared)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = (unsigned)blocks;
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

static void launch_forward(const binding *b, const version *v)
{
    const wk_cuda_call *c = &b->calls[b->r->begin];
    forward_job job = {};
    const wk_recurrence *r = b->r;
    job.steps = r->count;
    job.rows = r->rows;
    size_t steps = (size_t)r->count, tile = sizeof(uint4);
    const size_t bytes[MOST_PARTS] = {
        steps * tile_size(r->hidden) * tile, steps * tile_size(r->deter) * tile,
        steps * tile_size(r->hidden) * tile, steps * (size_t)r->groups * ROWS,
        steps * ROWS * (size_t)(r->deter / UNITS) * sizeof(uint2)};
    uint4 *parts[MOST_PARTS];
    make_room(c, bytes, parts);
    job.x = parts[0];
    job.deter = parts[1];
    job.post = parts[2];
    job.drawn = (unsigned char *)parts[3];
    job.sums = (uint2 *)parts[4];
    job.epsilon = r->epsilon;
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
    for (int t = 0; t < r->count; t++)
        bind_forward(b, t, &job.step[t]);
    launch(c, v->forward, job, v->blocks, v->forward_shared);
}

static void bind_backward(const binding *b, int t, backward_step *s)
{
    s->keep = t > 0 ? read_by(b, t - 1, WK_ROLE_KEEP) : NULL;
    s->dstoch = t > 0 ? read_by(b, t - 1, WK_ROLE_DSTOCH_MORE) : read_by(b, t, WK_ROLE_DSTOCH);
    s->dlogits_more = read_by(b, t, WK_ROLE_DLOGITS_MORE);
    s->ddeter = read_by(b, t, WK_ROLE_DDETER_MORE);
    s->probs = read_by(b, t, WK_ROLE_PROBS);
    // act_grad reads the layer's result as its second input, in either form.
    s->post_x = wk_call_load(&b->calls[b->r->step[t].node_of[WK_ROLE_DPOST]], 1);
    s->gates = read_by(b, t, WK_ROLE_GATES);
    s->before = read_by(b, t, WK_ROLE_KEPT_DETER);
    s->stats = read_by(b, t, WK_ROLE_STATS);
    s->x = wk_call_load(&b->calls[b->r->step[t].node_of[WK_ROLE_DX]], 1);
    s->dlogits = made_by(b, t, WK_ROLE_DLOGITS);
    s->dpost = made_by(b, t, WK_ROLE_DPOST);
    s->dgates = made_by(b, t, WK_ROLE_DGATES);
    s->dx = made_by(b, t, WK_ROLE_DX);
    s->dparams[0] = numbers_of(b, t, WK_ROLE_DGATE_B);
    s->dparams[1] = numbers_of(b, t, WK_ROLE_DGAIN);
    s->dparams[2] = numbers_of(b, t, WK_ROLE_DOFFSET);
}

static void launch_backward(const binding *b, const version *v)
{
    const wk_cuda_call *c = &b->calls[b->r->begin];
    backward_job job = {};
    const wk_recurrence *r = b->r;
    job.steps = r->count;
    job.rows = r->rows;
    size_t steps = (size_t)r->count, tile = sizeof(uint4);
    int flat = r->groups * r->classes;
    const size_t bytes[MOST_PARTS] = {
        steps * tile_size(flat) * tile, steps * tile_size(r->hidden) * tile,
        steps * tile_size(3 * r->deter) * tile, steps * tile_size(r->hidden) * tile,
        steps * ROWS * (size_t)(r->deter / UNITS) * sizeof(uint2)};
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
    for (int t = 0; t < r->count; t++)
        bind_backward(b, t, &job.step[t]);
    launch(c, v->backward, job, v->blocks, v->backward_shared);
}

void wk_cuda_observe(const wk_cuda_call *calls, const wk_recurrence *r)
{
    binding b = {calls, r};
    version v;
    bool found = find_version(r, &v);
    assert(found && "the group was checked");
    (void)found;
    if (r->backward)
        launch_backward(&b, &v);
    else
        launch_forward(&b, &v);
}
