// Bias and activation, layer norm and the GRU cell, each in one pass over a row.
#include "tensor/cuda/kernels/column_sums.cuh"

// Where the parameters of a row begin: rows of one stack member share theirs.
typedef struct row_params {
    unsigned rows, cols, stride;
} row_params;

static row_params params_of(wk_rows r)
{
    row_params p = {(unsigned)r.rows, (unsigned)r.cols, r.stacks > 1 ? (unsigned)r.cols : 0};
    return p;
}

static __device__ inline unsigned params_at(row_params p, unsigned row)
{
    return row / p.rows * p.stride;
}

static wk_rows bias_rows(const wk_cuda_call *c)
{
    return wk_rows_of(wk_call_output_shape(c, 0), c->node->attrs.bias_act.stack);
}

static bool aligned4(wk_ptr<const float> x)
{
    return (uintptr_t)x % 16 == 0;
}

// v + bias, activated; `rounded` says that the result is kept in bf16 alone.
static __device__ inline float4 layer4(wk_activation act, bool rounded, float4 v, float4 b)
{
    v = make_float4(v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w);
    if (rounded)
        return make_float4(wk_activate_bf16(act, v.x), wk_activate_bf16(act, v.y),
                           wk_activate_bf16(act, v.z), wk_activate_bf16(act, v.w));
    return make_float4(wk_activate(act, v.x), wk_activate(act, v.y), wk_activate(act, v.z),
                       wk_activate(act, v.w));
}

// Eight elements a thread, or four.
static void bias_act8(const wk_cuda_call *c, row_params p, wk_activation act, wk_in x,
                      wk_ptr<const float> bias, wk_out y)
{
    wk_divisor by_cols = wk_divisor_of(p.cols / 8), by_rows = wk_divisor_of(p.rows);
    wk_cuda_each(c, wk_call_count(c) / 8, [=] __device__(unsigned i) {
        unsigned row = wk_quotient(i, by_cols);
        wk_eight v = x.get8(i), b = {};
        if (bias)
            b = wk_in{bias + wk_quotient(row, by_rows) * p.stride, NULL}.get8(i -
                                                                              row * by_cols.value);
        y.put8(i, {layer4(act, !y.x, v.a, b.a), layer4(act, !y.x, v.b, b.b)});
    });
}

static void bias_act4(const wk_cuda_call *c, row_params p, wk_activation act, wk_in x,
                      wk_ptr<const float> bias, wk_out y)
{
    wk_divisor by_cols = wk_divisor_of(p.cols / 4);
    wk_cuda_each(c, wk_call_count(c) / 4, [=] __device__(unsigned i) {
        unsigned row = wk_quotient(i, by_cols);
        float4 b = make_float4(0, 0, 0, 0);
        if (bias) b = (bias + params_at(p, row)).at<const float4>()[i - row * by_cols.value];
        y.put4(i, layer4(act, !y.x, x.get4(i), b));
    });
}

void wk_cuda_call_bias_act(const wk_cuda_call *c)
{
    enum { MANY = 1 << 20 };
    row_params p = params_of(bias_rows(c));
    wk_activation act = c->node->attrs.bias_act.activation;
    wk_in x = wk_call_load(c, 0);
    wk_ptr<const float> bias = wk_call_in(c, 1);
    wk_out y = wk_call_store(c, 0);
    bool wide = y.aligned8() && x.aligned8() && aligned4(bias);
    if (p.cols % 8 == 0 && wide && wk_call_count(c) >= MANY) {
        bias_act8(c, p, act, x, bias, y);
        return;
    }
    if (p.cols % 4 == 0 && y.aligned4() && x.aligned4() && aligned4(bias)) {
        bias_act4(c, p, act, x, bias, y);
        return;
    }
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        unsigned row = i / p.cols;
        float add = bias ? bias[params_at(p, row) + (i - row * p.cols)] : 0.0f;
        y[i] = wk_activate(act, x[i] + add);
    });
}

static __device__ inline float4 slope4(wk_activation act, float4 d, float4 y)
{
    return make_float4(d.x * wk_activate_slope(act, y.x), d.y * wk_activate_slope(act, y.y),
                       d.z * wk_activate_slope(act, y.z), d.w * wk_activate_slope(act, y.w));
}

void wk_cuda_call_act_grad(const wk_cuda_call *c)
{
    wk_activation act = c->node->attrs.bias_act.activation;
    wk_in dy = wk_call_load(c, 0), y = wk_call_load(c, 1);
    wk_out dx = wk_call_store(c, 0);
    if (wk_call_count(c) % 4 == 0 && dx.aligned4() && dy.aligned4() && y.aligned4()) {
        wk_cuda_each(c, wk_call_count(c) / 4, [=] __device__(unsigned i) {
            dx.put4(i, slope4(act, dy.get4(i), y.get4(i)));
        });
        return;
    }
    wk_cuda_each(c, wk_call_count(c),
                 [=] __device__(unsigned i) { dx[i] = dy[i] * wk_activate_slope(act, y[i]); });
}

void wk_cuda_call_bias_act_grad(const wk_cuda_call *c)
{
    wk_rows r = bias_rows(c);
    wk_activation act = c->node->attrs.bias_act.activation;
    wk_in dy = wk_call_load(c, 0), y = wk_call_load(c, 1);
    wk_out dx = wk_call_store(c, 0);
    unsigned cols = (unsigned)r.cols, quads = cols / 4;
    if (cols % 4 == 0 && dy.aligned4() && y.aligned4() && dx.aligned4()) {
        wk_cuda_quads(
            c, r.stacks, r.rows, r.cols, 1, 1,
            [=] __device__(unsigned row, unsigned quad) {
                size_t i = (size_t)row * quads + quad;
                float4 d = slope4(act, dy.get4(i), y.get4(i));
                dx.put4(i, d);
                return d;
            },
            wk_call_out(c, 1));
        return;
    }
    wk_cuda_columns(
        c, r.stacks, r.rows, r.cols, 1,
        [=] __device__(unsigned row, unsigned col) {
            size_t i = (size_t)row * cols + col;
            float d = dy[i] * wk_activate_slope(act, y[i]);
            dx[i] = d;
            return d;
        },
        wk_call_out(c, 1));
}

// Mean and 1/deviation of the values value(0 ... n-1) of a row, by a block.
template <class F>
static __device__ void statistics(unsigned n, float epsilon, F value, float *mean, float *rstd)
{
    float sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += WK_CUDA_THREADS)
        sum += value(i);
    float center = wk_block_sum(sum) / (float)n;
    sum = 0;
    for (unsigned i = threadIdx.x; i < n; i += WK_CUDA_THREADS) {
        float d = value(i) - center;
        sum += d * d;
    }
    *mean = center;
    *rstd = 1.0f / sqrtf(wk_block_sum(sum) / (float)n + epsilon);
}

// dx[i] = rstd (d - mean(d) - xhat mean(d xhat)), with d = slope(i) the gradient of the normalised
// values and xhat = normal(i) those values; by a block. slope(i) and normal(i) may read dx[i].
template <class Slope, class Normal>
static __device__ void normalise_grad(unsigned n, float rstd, Slope slope, Normal normal, wk_out dx)
{
    float sum = 0, dot = 0;
    for (unsigned i = threadIdx.x; i < n; i += WK_CUDA_THREADS) {
        float d = slope(i);
        sum += d;
        dot += d * normal(i);
    }
    float average = wk_block_sum(sum) / (float)n, along = wk_block_sum(dot) / (float)n;
    for (unsigned i = threadIdx.x; i < n; i += WK_CUDA_THREADS)
        dx[i] = rstd * (slope(i) - average - normal(i) * along);
}

// The cell: stacks of rows of `hidden`, and what a row of it reads.
typedef struct cell {
    row_params p; // of the 3 hidden parts
    unsigned hidden;
    wk_ptr<const float> pre, gate_bias, gain, bias, h;
} cell;

typedef struct cell_row {
    const float *pre, *gate_bias, *gain, *bias, *h;
    unsigned hidden;
    float mean, rstd;
} cell_row;

static const float UPDATE_BIAS = -1;

static wk_rows cell_rows(const wk_cuda_call *c)
{
    return wk_rows_of(wk_call_input_shape(c, 4), wk_row_stack(wk_call_input_shape(c, 1)));
}

static cell cell_of(const wk_cuda_call *c)
{
    wk_rows r = cell_rows(c);
    row_params p = {(unsigned)r.rows, (unsigned)(3 * r.cols),
                    r.stacks > 1 ? (unsigned)(3 * r.cols) : 0};
    cell k = {p,
              (unsigned)r.cols,
              wk_call_in(c, 0),
              wk_call_in(c, 1),
              wk_call_in(c, 2),
              wk_call_in(c, 3),
              wk_call_in(c, 4)};
    return k;
}

static __device__ inline cell_row row_of(const cell &k, unsigned row)
{
    unsigned at = params_at(k.p, row);
    cell_row w = {k.pre + (size_t)row * k.p.cols, k.gate_bias + at, k.gain + at, k.bias + at,
                  k.h + (size_t)row * k.hidden,   k.hidden,         0,           0};
    return w;
}

static __device__ inline float shifted(const cell_row &w, unsigned i)
{
    return w.pre[i] + w.gate_bias[i];
}

// The normalised value before gain and bias, and the part after them.
static __device__ inline float normalised(const cell_row &w, unsigned i)
{
    return (shifted(w, i) - w.mean) * w.rstd;
}

static __device__ inline float part(const cell_row &w, unsigned i)
{
    return normalised(w, i) * w.gain[i] + w.bias[i];
}

void wk_cuda_call_gru(const wk_cuda_call *c)
{
    cell k = cell_of(c);
    wk_rows r = cell_rows(c);
    float epsilon = c->node->attrs.norm.epsilon, update_bias = UPDATE_BIAS;
    wk_out y = wk_call_store(c, 0);
    wk_ptr<float> means = wk_call_out(c, 1), rstds = means + r.stacks * r.rows;
    wk_cuda_blocks(c, r.stacks * r.rows, [=] __device__(unsigned row) {
        cell_row w = row_of(k, row);
        statistics(
            3 * w.hidden, epsilon, [=](unsigned i) { return shifted(w, i); }, &w.mean, &w.rstd);
        for (unsigned i = threadIdx.x; i < w.hidden; i += WK_CUDA_THREADS) {
            float reset = wk_sigmoid(part(w, i));
            float update = wk_sigmoid(part(w, 2 * w.hidden + i) + update_bias);
            float candidate = tanhf(reset * part(w, w.hidden + i));
            y[(size_t)row * w.hidden + i] = update * candidate + (1.0f - update) * w.h[i];
        }
        if (threadIdx.x == 0) {
            means[row] = w.mean;
            rstds[row] = w.rstd;
        }
    });
}

// The gradients of the three parts at column i, and of h by the direct path.
static __device__ inline void gates_grad(const cell_row &w, float d, unsigned i, float *dparts,
                                         float *dh, float update_bias)
{
    unsigned at_candidate = w.hidden + i, at_update = 2 * w.hidden + i;
    float reset = wk_sigmoid(part(w, i)), a = part(w, at_candidate);
    float update = wk_sigmoid(part(w, at_update) + update_bias), candidate = tanhf(reset * a);
    float inner = d * update * (1.0f - candidate * candidate);
    dparts[i] = inner * a * reset * (1.0f - reset);
    dparts[at_candidate] = inner * reset;
    dparts[at_update] = d * (candidate - w.h[i]) * update * (1.0f - update);
    dh[i] = d * (1.0f - update);
}

// The gradients of gain, bias and gate bias for few rows, in one launch: a recurrence asks for them
// at every step.
enum { FEW_ROWS = 32 };

static void few_params_grad(const wk_cuda_call *c, const cell &k, wk_ptr<const float> dparts,
                            wk_ptr<const float> means, wk_ptr<const float> rstds)
{
    wk_rows r = cell_rows(c);
    wk_ptr<const float> pre = k.pre, gate_bias = k.gate_bias, dpre = wk_call_out(c, 0);
    wk_ptr<float> dgate = wk_call_out(c, 2), dgain = wk_call_out(c, 3), dbias = wk_call_out(c, 4);
    unsigned width = k.p.cols, rows = k.p.rows;
    wk_cuda_each(c, r.stacks * width, [=] __device__(unsigned i) {
        unsigned stack = i / width, col = i - stack * width;
        float shift = gate_bias[i], gate = 0, gain = 0, bias = 0;
        for (unsigned row = stack * rows; row < (stack + 1) * rows; row++) {
            size_t at = (size_t)row * width + col;
            gain += dparts[at] * ((pre[at] + shift - means[row]) * rstds[row]);
            bias += dparts[at];
            gate += dpre[at];
        }
        dgate[i] = gate;
        dgain[i] = gain;
        dbias[i] = bias;
    });
}

// The gradients of gain, bias and gate bias, by columns from the gradients of the parts and of pre.
static void cell_params_grad(const wk_cuda_call *c, const cell &k, wk_ptr<const float> dparts,
                             wk_ptr<const float> means, wk_ptr<const float> rstds)
{
    wk_rows r = cell_rows(c);
    if (r.rows <= FEW_ROWS) {
        few_params_grad(c, k, dparts, means, rstds);
        return;
    }
    wk_ptr<const float> pre = k.pre, gate_bias = k.gate_bias;
    row_params p = k.p;
    wk_cuda_columns(
        c, r.stacks, r.rows, 3 * r.cols, 1,
        [=] __device__(unsigned row, unsigned col) {
            size_t i = (size_t)row * p.cols + col;
            float x = pre[i] + gate_bias[params_at(p, row) + col];
            return dparts[i] * ((x - means[row]) * rstds[row]);
        },
        wk_call_out(c, 3));
    wk_cuda_column_sums(c, r.stacks, r.rows, 3 * r.cols, 1, dparts, wk_call_out(c, 4));
    wk_cuda_column_sums(c, r.stacks, r.rows, 3 * r.cols, 1, wk_call_out(c, 0), wk_call_out(c, 2));
}

void wk_cuda_call_gru_grad(const wk_cuda_call *c)
{
    cell k = cell_of(c);
    wk_rows r = cell_rows(c);
    wk_ptr<const float> means = wk_call_in(c, 5), rstds = means + r.stacks * r.rows;
    wk_terms dy = wk_call_terms(c, 6);
    wk_out dpre = wk_call_store(c, 0);
    if (c->node->attrs.norm.params) dpre.x = wk_call_out(c, 0); // summed by columns below
    wk_ptr<float> dh = wk_call_out(c, 1);
    float update_bias = UPDATE_BIAS;
    size_t count = r.stacks * r.rows * 3 * r.cols;
    wk_ptr<float> dparts = wk_cuda_scratch_of<float>(c, count);
    wk_cuda_blocks(c, r.stacks * r.rows, [=] __device__(unsigned row) {
        cell_row w = row_of(k, row);
        w.mean = means[row];
        w.rstd = rstds[row];
        float *d = dparts + (size_t)row * 3 * w.hidden;
        for (unsigned i = threadIdx.x; i < w.hidden; i += WK_CUDA_THREADS)
            gates_grad(w, dy[row * w.hidden + i], i, d, dh + (size_t)row * w.hidden, update_bias);
        __syncthreads();
        normalise_grad(
            3 * w.hidden, w.rstd, [=](unsigned i) { return d[i] * w.gain[i]; },
            [=](unsigned i) { return normalised(w, i); }, dpre + (size_t)row * 3 * w.hidden);
    });
    if (c->node->attrs.norm.params) cell_params_grad(c, k, dparts, means, rstds);
}
