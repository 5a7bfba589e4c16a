// The observed sequence forward: input, state, hidden layer, logits and sample of each step.
#include "tensor/cuda/kernels/observe_tiles.cuh"
#include "tensor/vmath.h"

// Where the key of a step's sample lies; in shared memory the key itself, for it is on the critical
// path.
union random_key {
    wk_ptr<const uint64_t> at;
    uint64_t value;
};

typedef struct forward_step {
    wk_ptr<const float> keep, action, image;
    wk_out kept_stoch, kept_deter, x, gates, deter, post_x, logits, stoch;
    wk_ptr<float> stats, probs;
    random_key key;
} forward_step;

typedef struct forward_job {
    int steps, rows;
    float epsilon;
    wk_ptr<const __nv_bfloat16> in_w, gru_x, gru_h, post_w, out_w;
    wk_ptr<const float> in_b, gate_b, gain, offset, post_b, out_b;
    wk_ptr<const uint64_t> counter;
    wk_ptr<uint4> x, deter, post; // exchanged, for all steps
    wk_ptr<unsigned char> drawn;  // classes: [step][variable][row]
    wk_ptr<uint2> sums; // of a block's gates, and of their squared differences from the mean
    forward_step step[WK_RECURRENCE_STEPS_MAX];
} forward_job;

template <class Z> struct forward_memory {
    uint4 in[Z::flat]; // rows of eight columns: sums of single rows
    uint2 gru_x[3 * tile_size(Z::hidden)], gru_h[3 * tile_size(Z::deter)];
    uint2 post[tile_size(Z::deter)], out[Z::classes / 8 * tile_size(Z::hidden)];
    partials<(Z::classes / 8 > 3 ? Z::classes / 8 : 3)> part;
    partials<1> post_part;
    float logits[ROWS][32];
    float2 row[ROWS]; // mean and 1/deviation
    unsigned char drawn[Z::variables][ROWS];
    forward_step step[WK_RECURRENCE_STEPS_MAX];
};

// What a thread keeps from step to step.
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
            m.in[row] = *(job.in_w + ((size_t)row * Z::hidden + at)).template at<const uint4>();
        load_columns<Z::deter>(m.post, job.post_w, Z::hidden, at);
    }
    if (b < Z::state_blocks)
        for (int j = 0; j < 3; j++) {
            load_columns<Z::hidden>(m.gru_x + j * tile_size(Z::hidden), job.gru_x, Z::gates,
                                    j * Z::deter + at);
            load_columns<Z::deter>(m.gru_h + j * tile_size(Z::deter), job.gru_h, Z::gates,
                                   j * Z::deter + at);
        }
    if (b < Z::variables)
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
    if (threadIdx.x < Z::variables) {
        const uint4 *from =
            job.drawn.at<const uint4>() + (size_t)(t - 1) * Z::variables + threadIdx.x;
        uint4 v;
        unsigned missing;
        do {
            v = load_relaxed4(from);
            missing = __vcmpeq4(v.x, UNWRITTEN) | __vcmpeq4(v.y, UNWRITTEN) |
                      __vcmpeq4(v.z, UNWRITTEN) | __vcmpeq4(v.w, UNWRITTEN);
        } while (missing);
        *(uint4 *)m.drawn[threadIdx.x] = v;
    }
    __syncthreads();
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    float sum[UNITS] = {};
#pragma unroll
    for (int i = 0; i < (Z::variables + 15) / 16; i++) {
        int g = share + 16 * i;
        if (g < Z::variables) add_row(sum, m.in[g * Z::classes + m.drawn[g][row]]);
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
    publish_cell<Z::hidden_blocks>(job.x + (size_t)t * tile_size(Z::hidden), blockIdx.x, row, unit,
                                   x, unit < UNITS);
    if (real) m.step[t].x[row * Z::hidden + blockIdx.x * UNITS + unit] = x;
}

// Mean and 1/deviation of the gates of every row, from the sums of all blocks.
template <class Z>
static __device__ inline void fetch_statistics(const forward_job &job, forward_memory<Z> &m, int t)
{
    constexpr int limit = (Z::state_blocks + 15) / 16;
    constexpr float n = Z::gates, own = 3 * UNITS;
    int row = threadIdx.x / 16, share = threadIdx.x % 16;
    float2 pairs[limit];
    fetch_pairs<Z::state_blocks>(pairs, job.sums + (size_t)t * ROWS * Z::state_blocks);
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < limit; i++)
        sum += pairs[i].x;
    float mean = lane_sum(sum, 16) * (1.0f / n);
#pragma unroll
    for (int i = 0; i < limit; i++) {
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
    put_partials(m.part, c);
    float pre[3] = {}, sum = 0, squares = 0;
    if (at.whole) {
#pragma unroll
        for (int j = 0; j < 3; j++) {
            pre[j] = total(m.part, j, threadIdx.x);
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
            publish2(job.sums + ((size_t)t * ROWS + at.row) * Z::state_blocks + blockIdx.x, sum,
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
    publish_cell<Z::state_blocks>(job.deter + (size_t)t * tile_size(Z::deter), blockIdx.x, at.row,
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
    put_partials(m.post_part, c);
    if (!at.whole) return;
    float x = total(m.post_part, 0, threadIdx.x) + (mine.image + mine.post_b);
    x = at.real ? wk_activate(WK_ELU, x) : 0.0f;
    publish_cell<Z::hidden_blocks>(job.post + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
                                   at.unit, x);
    if (at.real) m.step[t].post_x[at.row * Z::hidden + at.column] = x;
}

// The logits of a variable and its sample, by the rule of wk_cpu_sample_onehot, whose sum goes over
// the classes one by one. A warp draws for two rows at once.
template <class Z>
static __device__ inline void make_sample(const forward_job &job, forward_memory<Z> &m, int t)
{
    constexpr int columns = Z::classes / 8;
    const forward_step &s = m.step[t];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, variable = blockIdx.x;
    bool real = lane < Z::classes;
    float uniform[WARP_ROWS], bias = real ? job.out_b[variable * Z::classes + lane] : 0.0f;
    uint64_t substream = *job.counter;
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++)
        uniform[k] = wk_unit_float(wk_random_word(
            s.key.value, substream, (unsigned)((warp + k * WARPS) * Z::variables + variable)));
    float c[columns][4] = {};
    multiply<Z::hidden, columns>(c, job.post + (size_t)t * tile_size(Z::hidden), m.out);
    put_partials(m.part, c);
#pragma unroll
    for (int i = threadIdx.x; i < columns * CELLS; i += THREADS) {
        int column = i / CELLS, cell = i % CELLS;
        m.logits[cell / UNITS][column * 8 + cell % UNITS] = total(m.part, column, cell);
    }
    __syncthreads();
    float x[WARP_ROWS], weight[WARP_ROWS], sum[WARP_ROWS] = {}, mine[WARP_ROWS] = {};
    int drawn[WARP_ROWS];
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++) {
        x[k] = real ? m.logits[warp + k * WARPS][lane] + bias : -INFINITY;
        float max = wk_warp_max(x[k]);
        weight[k] = real ? wk_expf(x[k] - max) : 0.0f;
    }
#pragma unroll
    for (int i = 0; i < Z::classes; i++)
#pragma unroll
        for (int k = 0; k < WARP_ROWS; k++) {
            sum[k] += __shfl_sync(0xffffffffu, weight[k], i);
            if (i == lane) mine[k] = sum[k];
        }
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++) {
        bool under = real && mine[k] <= uniform[k] * sum[k];
        int below = __popc(__ballot_sync(0xffffffffu, under));
        drawn[k] = below < Z::classes ? below : Z::classes - 1;
        if (lane == 0)
            publish_byte(job.drawn + ((size_t)t * Z::variables + variable) * ROWS + warp +
                             k * WARPS,
                         drawn[k]);
    }
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++) {
        int row = warp + k * WARPS;
        if (!real || row >= job.rows) continue;
        size_t at = (size_t)row * Z::flat + variable * Z::classes + lane;
        float onehot = lane == drawn[k] ? 1.0f : 0.0f;
        s.logits[at] = x[k];
        s.probs[at] = weight[k] * (1.0f / sum[k]);
        s.stoch[at] = onehot;
        if (t + 1 < job.steps) m.step[t + 1].kept_stoch[at] = onehot * m.step[t + 1].keep[row];
    }
}

template <class Z, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
    forward_kernel(const __grid_constant__ forward_job job)
{
    forward_memory<Z> &m = *(forward_memory<Z> *)shared_memory;
    wk_begin();
    uint64_t key = 0;
    if (threadIdx.x < job.steps) key = *job.step[threadIdx.x].key.at;
    load_forward<Z>(job, m);
    __syncthreads();
    if (threadIdx.x < job.steps) m.step[threadIdx.x].key.value = key;
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
        if (blockIdx.x < Z::variables) make_sample<Z>(job, m, t);
        if (blockIdx.x >= Z::state_blocks) continue;
#pragma unroll
        for (int i = 0; i < 12; i++)
            from_state[i / 4][i % 4] = 0;
        multiply<Z::deter, 3>(from_state, job.deter + (size_t)t * tile_size(Z::deter), m.gru_h);
    }
}

// A version for each model of the list.
template <class Z, size_t SHARED, int BLOCKS>
static wk_observe_version<forward_job> version_of(void)
{
    static_assert((int)WK_RECURRENCE_STEPS_MAX <= (int)THREADS, "a thread for each key");
    static_assert(sizeof(forward_memory<Z>) == SHARED, "model_sizes.def says so");
    return {Z::hidden,
            Z::deter,
            Z::variables,
            Z::classes,
            Z::blocks,
            forward_kernel<Z, 1>,
            forward_kernel<Z, BLOCKS>,
            SHARED};
}

static const wk_observe_version<forward_job> versions[] = {
#define MODEL(name, hidden, deter, variables, classes, forward, backward, together)                \
    version_of<shape<hidden, deter, variables, classes>, forward, together>(),
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
};

static void bind_forward(const wk_binding *b, int t, forward_step *s)
{
    s->keep = wk_binding_read(b, t, WK_ROLE_KEEP);
    s->action = wk_binding_read(b, t, WK_ROLE_ACTION);
    s->image = wk_binding_read(b, t, WK_ROLE_IMAGE);
    s->kept_stoch = wk_binding_store(b, t, WK_ROLE_KEPT_STOCH);
    s->kept_deter = wk_binding_store(b, t, WK_ROLE_KEPT_DETER);
    s->x = wk_binding_store(b, t, WK_ROLE_X);
    s->gates = wk_binding_store(b, t, WK_ROLE_GATES);
    s->deter = wk_binding_store(b, t, WK_ROLE_DETER);
    s->post_x = wk_binding_store(b, t, WK_ROLE_POST_X);
    s->logits = wk_binding_store(b, t, WK_ROLE_LOGITS);
    s->stoch = wk_binding_store(b, t, WK_ROLE_STOCH);
    s->stats = wk_binding_store_f32(b, t, WK_ROLE_STATS);
    s->probs = wk_binding_store_f32(b, t, WK_ROLE_PROBS);
    s->key.at = b->calls[b->r->step[t].node_of[WK_ROLE_STOCH]].key;
}

void wk_cuda_observe_forward(const wk_binding *b)
{
    const wk_cuda_call *c = b->calls;
    forward_job job = {};
    const wk_recurrence *r = b->r;
    job.steps = r->count;
    job.rows = r->rows;
    size_t steps = (size_t)r->count, tile = sizeof(uint4);
    const size_t bytes[WK_EXCHANGES] = {
        steps * tile_size(r->hidden) * tile, steps * tile_size(r->deter) * tile,
        steps * tile_size(r->hidden) * tile, steps * (size_t)r->variables * ROWS,
        steps * ROWS * (size_t)(r->deter / UNITS) * sizeof(uint2)};
    wk_ptr<uint4> parts[WK_EXCHANGES];
    wk_binding_exchange(b, bytes, parts);
    job.x = parts[0];
    job.deter = parts[1];
    job.post = parts[2];
    job.drawn = parts[3].as<unsigned char>();
    job.sums = parts[4].as<uint2>();
    job.epsilon = r->epsilon;
    job.in_w = wk_binding_weights(b, WK_ROLE_IN_W);
    job.gru_x = wk_binding_weights(b, WK_ROLE_GRU_X);
    job.gru_h = wk_binding_weights(b, WK_ROLE_GRU_H);
    job.post_w = wk_binding_weights(b, WK_ROLE_POST_W);
    job.out_w = wk_binding_weights(b, WK_ROLE_OUT_W);
    job.in_b = wk_binding_read(b, 0, WK_ROLE_IN_B);
    job.gate_b = wk_binding_read(b, 0, WK_ROLE_GATE_B);
    job.gain = wk_binding_read(b, 0, WK_ROLE_GAIN);
    job.offset = wk_binding_read(b, 0, WK_ROLE_OFFSET);
    job.post_b = wk_binding_read(b, 0, WK_ROLE_POST_B);
    job.out_b = wk_binding_read(b, 0, WK_ROLE_OUT_B);
    job.counter = wk_binding_read(b, 0, WK_ROLE_COUNTER).as<const uint64_t>();
    for (int t = 0; t < r->count; t++)
        bind_forward(b, t, &job.step[t]);
    const wk_observe_version<forward_job> *v = wk_observe_choose(versions, r);
    assert(v && "wk_recurrence_why_not found a version");
    wk_observe_launch(c, *v, job);
}
