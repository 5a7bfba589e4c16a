// The layer-norm GRU cell after its matrix product, in one pass over each row. The backward pass
// computes the gates again from the product and the two statistics: that reads less than keeping
// them would. Gates are computed one after the other over a tile of the row: a loop with one
// exponential leaves the processor room to overlap iterations, one with three does not.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/norm.h"
#include "tensor/cpu/parallel.h"
#include "tensor/vmath.h"
#include <string.h>

enum { TILE = 512 };

typedef struct job {
    const wk_gru *p;
    wk_gru_params params;
    const float *pre, *h, *dout, *mean_in, *rstd_in;
    float *out, *mean, *rstd, *dpre, *dh, *partial;
    wk_norm_cut cut;
} job;

// A row of the cell with the parameters of its copy.
typedef struct row {
    size_t hidden;
    const float *pre, *gate_bias, *gain, *bias, *h;
    float mean, rstd, update_bias;
} row;

static row row_of(const job *j, size_t r)
{
    size_t hidden = j->p->hidden, set = r / j->p->rows * j->p->param_stride;
    return (row){.hidden = hidden,
                 .pre = j->pre + r * 3 * hidden,
                 .gate_bias = j->params.gate_bias ? j->params.gate_bias + set : NULL,
                 .gain = j->params.gain + set,
                 .bias = j->params.bias + set,
                 .h = j->h + r * hidden,
                 .update_bias = j->p->update_bias};
}

// The normalised value at `at` of the row, before gain and bias.
WK_INLINE float normalised(const row *w, const float *shift, size_t at)
{
    return (shift ? w->pre[at] + shift[at] - w->mean : w->pre[at] - w->mean) * w->rstd;
}

// Part `at` ... of the row: LN's output.
WK_INLINE float part(const row *w, const float *shift, size_t at)
{
    return normalised(w, shift, at) * w->gain[at] + w->bias[at];
}

// gate[i] = sigmoid(part + add) for n <= TILE parts from `at` on.
WK_INLINE void compute_gate(const row *w, const float *shift, size_t at, size_t n, float add,
                            float *gate)
{
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        gate[i] = wk_sigmoidf(part(w, shift, at + i) + add);
}

WK_INLINE void forward_gates(const row *w, const float *shift, float *out)
{
    float r[TILE], u[TILE];
    for (size_t at = 0; at < w->hidden; at += TILE) {
        size_t n = wk_min_size(TILE, w->hidden - at), cand = w->hidden + at;
        compute_gate(w, shift, at, n, 0.0f, r);
        compute_gate(w, shift, cand + w->hidden, n, w->update_bias, u);
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++) {
            float c = wk_tanhf(r[i] * part(w, shift, cand + i));
            out[at + i] = u[i] * c + (1.0f - u[i]) * w->h[at + i];
        }
    }
}

WK_MULTI
static void forward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        row w = row_of(j, r);
        wk_norm_statistics(3 * w.hidden, w.pre, w.gate_bias, j->p->eps, &w.mean, &w.rstd);
        if (w.gate_bias)
            forward_gates(&w, w.gate_bias, j->out + r * w.hidden);
        else
            forward_gates(&w, NULL, j->out + r * w.hidden);
        j->mean[r] = w.mean;
        j->rstd[r] = w.rstd;
    }
}

void wk_cpu_gru(const wk_gru *p, const float *pre, const wk_gru_params *params, const float *h,
                float *out, float *mean, float *rstd, wk_pool *pool)
{
    job j = {.p = p, .params = *params, .pre = pre, .h = h, .out = out, .mean = mean, .rstd = rstd};
    // A row costs about ten times what its bytes do: cut finer than plain copies.
    size_t grain = wk_row_grain(12 * p->hidden);
    wk_cpu_for(p->stacks * p->rows, grain, forward_rows, &j, pool);
}

static wk_norm_cut cut_of(const wk_gru *p)
{
    // Three exponentials an element: eight times finer than the layer norm.
    return wk_norm_cut_of(p->stacks, p->rows, 24 * p->hidden, p->param_stride == 0);
}

size_t wk_cpu_gru_backward_workspace(const wk_gru *p)
{
    wk_norm_cut cut = cut_of(p);
    return cut.sets * cut.chunks * 9 * p->hidden * sizeof(float);
}

// Gradients of the three parts into dparts, and of h by the direct path.
WK_INLINE void backward_gates(const row *w, const float *shift, const float *dout, float *dparts,
                              float *dh)
{
    float r[TILE], u[TILE];
    for (size_t at = 0; at < w->hidden; at += TILE) {
        size_t n = wk_min_size(TILE, w->hidden - at), cand = w->hidden + at;
        size_t update = cand + w->hidden;
        compute_gate(w, shift, at, n, 0.0f, r);
        compute_gate(w, shift, update, n, w->update_bias, u);
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++) {
            float a = part(w, shift, cand + i), c = wk_tanhf(r[i] * a), d = dout[at + i];
            float inner = d * u[i] * (1.0f - c * c);
            dparts[at + i] = inner * a * r[i] * (1.0f - r[i]);
            dparts[cand + i] = inner * r[i];
            dparts[update + i] = d * (c - w->h[at + i]) * u[i] * (1.0f - u[i]);
            dh[at + i] = d * (1.0f - u[i]);
        }
    }
}

// Adds one row to the sums of gain and bias, and scales dparts by the gain.
WK_INLINE void backward_params(const row *w, const float *shift, float *dparts, float *sums)
{
    size_t n = 3 * w->hidden;
    if (sums)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++) {
            sums[i] += dparts[i] * normalised(w, shift, i);
            sums[n + i] += dparts[i];
            dparts[i] *= w->gain[i];
        }
    else
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            dparts[i] *= w->gain[i];
}

WK_MULTI
static void backward_row(const job *j, size_t r, float *sums)
{
    row w = row_of(j, r);
    w.mean = j->mean_in[r];
    w.rstd = j->rstd_in[r];
    size_t n = 3 * w.hidden;
    float *dpre = j->dpre + r * n, *dh = j->dh + r * w.hidden;
    const float *dout = j->dout + r * w.hidden;
    if (w.gate_bias) {
        backward_gates(&w, w.gate_bias, dout, dpre, dh);
        backward_params(&w, w.gate_bias, dpre, sums);
    } else {
        backward_gates(&w, NULL, dout, dpre, dh);
        backward_params(&w, NULL, dpre, sums);
    }
    wk_norm_row_backward(n, w.pre, w.gate_bias, w.mean, w.rstd, dpre);
    if (sums && w.gate_bias)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            sums[2 * n + i] += dpre[i];
}

static void backward_chunk(void *context, size_t piece, int thread)
{
    (void)thread;
    const job *j = context;
    size_t set = piece / j->cut.chunks, chunk = piece % j->cut.chunks, n = 3 * j->p->hidden;
    size_t begin = chunk * j->cut.rows / j->cut.chunks;
    size_t end = (chunk + 1) * j->cut.rows / j->cut.chunks;
    float *sums = j->partial ? j->partial + piece * 3 * n : NULL;
    if (sums) memset(sums, 0, 3 * n * sizeof *sums);
    for (size_t r = begin; r < end; r++)
        backward_row(j, set * j->cut.rows + r, sums);
}

void wk_cpu_gru_backward(const wk_gru *p, const float *pre, const wk_gru_params *params,
                         const float *h, const float *mean, const float *rstd, const float *dout,
                         float *dpre, float *dh, const wk_gru_grads *grads, bool accumulate_params,
                         void *workspace, wk_pool *pool)
{
    bool wanted = grads && grads->gain;
    job j = {.p = p,
             .params = *params,
             .pre = pre,
             .h = h,
             .mean_in = mean,
             .rstd_in = rstd,
             .dout = dout,
             .dpre = dpre,
             .dh = dh,
             .partial = wanted ? workspace : NULL,
             .cut = cut_of(p)};
    wk_pool_run(pool, j.cut.sets * j.cut.chunks, backward_chunk, &j);
    size_t n = 3 * p->hidden;
    for (size_t s = 0; wanted && s < j.cut.sets; s++) {
        const float *partial = j.partial + s * j.cut.chunks * 3 * n;
        size_t at = s * p->param_stride;
        wk_norm_collect(j.cut.chunks, n, 3 * n, partial, grads->gain + at, accumulate_params);
        wk_norm_collect(j.cut.chunks, n, 3 * n, partial + n, grads->bias + at, accumulate_params);
        if (grads->gate_bias)
            wk_norm_collect(j.cut.chunks, n, 3 * n, partial + 2 * n, grads->gate_bias + at,
                            accumulate_params);
    }
}
