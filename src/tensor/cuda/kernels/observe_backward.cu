// The observed sequence backward. Steps are numbered as they run: step 0 is the last of the
// sequence.
#include "tensor/cuda/kernels/observe_tiles.cuh"

typedef struct backward_step {
    wk_ptr<const float> keep; // of the step after it, through which its gradient comes
    wk_ptr<const float> dstoch, dlogits_more, ddeter;
    wk_ptr<const float> probs, gates, before, stats;
    wk_in post_x, x;
    wk_out dlogits, dpost, dgates, dx;
    wk_ptr<float> dparams[3]; // of gate bias, gain and offset
} backward_step;

typedef struct backward_job {
    int steps, rows;
    wk_ptr<const __nv_bfloat16> in_w, gru_x, gru_h, post_w, out_w;
    wk_ptr<const float> gate_b, gain, offset;
    wk_ptr<uint4> dlogits, dpost, dgates, dx; // exchanged, for all steps
    wk_ptr<uint2> sums; // over a block's gates: d, and d times the normalised gate
    backward_step step[WK_RECURRENCE_STEPS_MAX];
} backward_job;

template <class Z> struct backward_memory {
    uint2 out[tile_size(Z::flat)], post[tile_size(Z::hidden)];
    uint2 gru_x[tile_size(Z::gates)], gru_h[tile_size(Z::gates)];
    uint2 in[Z::classes / 8 * tile_size(Z::hidden)];
    partials<Z::classes / 8> part;
    partials<1> single_part;
    float dstoch[ROWS][32];
    float2 row[ROWS];
    backward_step step[WK_RECURRENCE_STEPS_MAX];
};

// What a thread keeps from step to step: the parameters of its column, what the coming step reads,
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
    if (b < Z::variables)
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
    bool real[WARP_ROWS];
    float outer[WARP_ROWS], probability[WARP_ROWS], more[WARP_ROWS], keep[WARP_ROWS];
    size_t at[WARP_ROWS];
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++) {
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
        put_partials(m.part, c);
#pragma unroll
        for (int i = threadIdx.x; i < columns * CELLS; i += THREADS) {
            int column = i / CELLS, cell = i % CELLS;
            m.dstoch[cell / UNITS][column * 8 + cell % UNITS] = total(m.part, column, cell);
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < WARP_ROWS; k++)
            if (real[k]) outer[k] += keep[k] * m.dstoch[warp + k * WARPS][lane];
    }
    uint4 *to = job.dlogits + (size_t)t * tile_size(Z::flat);
    int column = (blockIdx.x * Z::classes + lane) / 8;
    float dlogit[WARP_ROWS];
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++) {
        float dot = wk_warp_sum(probability[k] * outer[k]);
        dlogit[k] = probability[k] * (outer[k] - dot) + more[k];
        publish_cell<Z::flat / 8>(to, column, warp + k * WARPS, lane % 8, dlogit[k],
                                  lane < Z::classes);
    }
#pragma unroll
    for (int k = 0; k < WARP_ROWS; k++)
        if (real[k]) s.dlogits[at[k]] = dlogit[k];
}

template <class Z>
static __device__ inline void back_to_post(const backward_job &job, backward_memory<Z> &m, int t,
                                           const backward_cell &mine)
{
    const place &at = mine.at;
    float slope = wk_activate_slope(WK_ELU, mine.post_x), c[1][4] = {};
    multiply<Z::flat, 1>(c, job.dlogits + (size_t)t * tile_size(Z::flat), m.out);
    put_partials(m.single_part, c);
    if (!at.whole) return;
    float d = at.real ? total(m.single_part, 0, threadIdx.x) * slope : 0.0f;
    publish_cell<Z::hidden_blocks>(job.dpost + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
                                   at.unit, d);
    if (at.real) m.step[t].dpost[at.row * Z::hidden + at.column] = d;
}

// Means over each row's gates of d and of d times the normalised gate.
template <class Z>
static __device__ inline void fetch_means(const backward_job &job, backward_memory<Z> &m, int t)
{
    constexpr int limit = (Z::state_blocks + 15) / 16;
    float2 pairs[limit];
    fetch_pairs<Z::state_blocks>(pairs, job.sums + (size_t)t * ROWS * Z::state_blocks);
    float sum = 0, dot = 0;
#pragma unroll
    for (int i = 0; i < limit; i++) {
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
    put_partials(m.part, c);
    float d = 0;
    if (at.whole) {
        if (at.real) d = total(m.part, 0, threadIdx.x) + mine.carried + mine.ddeter;
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
            publish2(job.sums + ((size_t)t * ROWS + at.row) * Z::state_blocks + blockIdx.x, sum,
                     dot);
    }
    fetch_means<Z>(job, m, t);
    if (!at.whole) return;
    float2 means = m.row[at.row];
    float dgates[3];
    uint4 *to = job.dgates + (size_t)t * tile_size(Z::gates);
#pragma unroll
    for (int j = 0; j < 3; j++) {
        dgates[j] = mine.rstd * (d * slope[j] * mine.gain[j] - means.x - normal[j] * means.y);
        publish_cell<Z::gates / 8>(to, j * Z::state_blocks + blockIdx.x, at.row, at.unit,
                                   dgates[j]);
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
    put_partials(m.single_part, c);
    if (!at.whole) return;
    float d = at.real ? total(m.single_part, 0, threadIdx.x) * slope : 0.0f;
    publish_cell<Z::hidden_blocks>(job.dx + (size_t)t * tile_size(Z::hidden), blockIdx.x, at.row,
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
    put_partials(m.part, c);
    if (mine.at.whole) mine.carried = mine.keep * (total(m.part, 0, threadIdx.x) + mine.carried);
}

// The parameters' gradients over all rows and steps go to the step that ran last; the others' are
// zero.
template <class Z>
static __device__ void put_params(const backward_job &job, backward_memory<Z> &m,
                                  const backward_cell &mine)
{
    float *room = (float *)m.part;
    static_assert(sizeof m.part >= 9 * CELLS * sizeof(float), "the sums fit");
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

template <class Z, int BLOCKS>
__global__ void __launch_bounds__(THREADS, BLOCKS)
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
        if (blockIdx.x < Z::variables) back_to_logits<Z>(job, m, t);
        // Not before the logits, for which all blocks wait.
        if (blockIdx.x < Z::state_blocks && t > 0) back_to_state<Z>(job, m, t - 1, mine);
        if (blockIdx.x < Z::hidden_blocks) back_to_post<Z>(job, m, t, mine);
        if (blockIdx.x < Z::state_blocks) back_to_gates<Z>(job, m, t, mine);
        if (blockIdx.x < Z::hidden_blocks) back_to_input<Z>(job, m, t, mine);
    }
    if (blockIdx.x < Z::state_blocks) put_params<Z>(job, m, mine);
}

// A version for each model of the list.
template <class Z, size_t SHARED, int BLOCKS>
static wk_observe_version<backward_job> version_of(void)
{
    static_assert(sizeof(backward_memory<Z>) == SHARED, "model_sizes.def says so");
    return {Z::hidden,
            Z::deter,
            Z::variables,
            Z::classes,
            Z::blocks,
            backward_kernel<Z, 1>,
            backward_kernel<Z, BLOCKS>,
            SHARED};
}

static const wk_observe_version<backward_job> versions[] = {
#define MODEL(name, hidden, deter, variables, classes, forward, backward, together)                \
    version_of<shape<hidden, deter, variables, classes>, backward, together>(),
#include "tensor/cuda/passes/model_sizes.def"
#undef MODEL
};

static void bind_backward(const wk_binding *b, int t, backward_step *s)
{
    s->keep = t > 0 ? wk_binding_read(b, t - 1, WK_ROLE_KEEP) : NULL;
    s->dstoch = t > 0 ? wk_binding_read(b, t - 1, WK_ROLE_DSTOCH_MORE)
                      : wk_binding_read(b, t, WK_ROLE_DSTOCH);
    s->dlogits_more = wk_binding_read(b, t, WK_ROLE_DLOGITS_MORE);
    s->ddeter = wk_binding_read(b, t, WK_ROLE_DDETER_MORE);
    s->probs = wk_binding_read(b, t, WK_ROLE_PROBS);
    // act_grad reads the layer's result as its second input, in either format.
    s->post_x = wk_call_load(&b->calls[b->r->step[t].node_of[WK_ROLE_DPOST]], 1);
    s->gates = wk_binding_read(b, t, WK_ROLE_GATES);
    s->before = wk_binding_read(b, t, WK_ROLE_KEPT_DETER);
    s->stats = wk_binding_read(b, t, WK_ROLE_STATS);
    s->x = wk_call_load(&b->calls[b->r->step[t].node_of[WK_ROLE_DX]], 1);
    s->dlogits = wk_binding_store(b, t, WK_ROLE_DLOGITS);
    s->dpost = wk_binding_store(b, t, WK_ROLE_DPOST);
    s->dgates = wk_binding_store(b, t, WK_ROLE_DGATES);
    s->dx = wk_binding_store(b, t, WK_ROLE_DX);
    s->dparams[0] = wk_binding_store_f32(b, t, WK_ROLE_DGATE_B);
    s->dparams[1] = wk_binding_store_f32(b, t, WK_ROLE_DGAIN);
    s->dparams[2] = wk_binding_store_f32(b, t, WK_ROLE_DOFFSET);
}

void wk_cuda_observe_backward(const wk_binding *b)
{
    const wk_cuda_call *c = b->calls;
    backward_job job = {};
    const wk_recurrence *r = b->r;
    job.steps = r->count;
    job.rows = r->rows;
    size_t steps = (size_t)r->count, tile = sizeof(uint4);
    int flat = r->variables * r->classes;
    const size_t bytes[WK_EXCHANGES] = {
        steps * tile_size(flat) * tile, steps * tile_size(r->hidden) * tile,
        steps * tile_size(3 * r->deter) * tile, steps * tile_size(r->hidden) * tile,
        steps * ROWS * (size_t)(r->deter / UNITS) * sizeof(uint2)};
    wk_ptr<uint4> parts[WK_EXCHANGES];
    wk_binding_exchange(b, bytes, parts);
    job.dlogits = parts[0];
    job.dpost = parts[1];
    job.dgates = parts[2];
    job.dx = parts[3];
    job.sums = parts[4].as<uint2>();
    job.in_w = wk_binding_weights(b, WK_ROLE_IN_W);
    job.gru_x = wk_binding_weights(b, WK_ROLE_GRU_X);
    job.gru_h = wk_binding_weights(b, WK_ROLE_GRU_H);
    job.post_w = wk_binding_weights(b, WK_ROLE_POST_W);
    job.out_w = wk_binding_weights(b, WK_ROLE_OUT_W);
    job.gate_b = wk_binding_read(b, 0, WK_ROLE_GATE_B);
    job.gain = wk_binding_read(b, 0, WK_ROLE_GAIN);
    job.offset = wk_binding_read(b, 0, WK_ROLE_OFFSET);
    for (int t = 0; t < r->count; t++)
        bind_backward(b, t, &job.step[t]);
    const wk_observe_version<backward_job> *v = wk_observe_choose(versions, r);
    assert(v && "wk_recurrence_why_not found a version");
    wk_observe_launch(c, *v, job);
}
