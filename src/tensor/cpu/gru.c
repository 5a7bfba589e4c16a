// The layer-norm GRU cell after its matrix product, in one pass over each row. The backward pass
// computes the gates again from the product and the two statistics: that reads less than keeping
// them would. A tile of the row goes through short loops, each reducing or reconstructing one
// exponential (vmath.h): the processor overlaps their iterations, and not those of one loop that
// does it all.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/norm.h"
#include "tensor/cpu/parallel.h"
#include "tensor/vmath.h"
#include <assert.h>
#include <string.h>

// A row's working copy lies on the stack, which may be small: 12 KB, and only for more than 1024
// units up to 100 KB.
enum { TILE = 128, PARTS_SMALL = 3 * 1024, PARTS_MAX = 3 * WK_GRU_HIDDEN_MAX };

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
    const float *centred;           // pre + gate_bias - mean
    const float *next_pre, *next_h; // of the row that follows
    float rstd, update_bias;
    float gate_limit, tanh_limit; // bounds of the arguments, hidden from the compiler
} row;

// Row r, and the one that follows it unless that is `end`.
WK_INLINE row row_of(const job *j, size_t r, size_t end)
{
    size_t hidden = j->p->hidden, set = r / j->p->rows * j->p->param_stride;
    size_t next = r + 1 < end ? r + 1 : r;
    return (row){.hidden = hidden,
                 .pre = j->pre + r * 3 * hidden,
                 .gate_bias = j->params.gate_bias + set,
                 .gain = j->params.gain + set,
                 .bias = j->params.bias + set,
                 .h = j->h + r * hidden,
                 .next_pre = j->pre + next * 3 * hidden,
                 .next_h = j->h + next * hidden,
                 .update_bias = j->p->update_bias,
                 .gate_limit = wk_opaque(WK_SIGMOID_LIMIT),
                 .tanh_limit = wk_opaque(WK_TANH_LIMIT)};
}

// Part `at` of the row: LN's output.
WK_INLINE float part(const row *w, size_t at)
{
    return w->centred[at] * w->rstd * w->gain[at] + w->bias[at];
}

typedef enum gate_kind { RESET, UPDATE } gate_kind;

// gate[i] = sigmoid(part), for the update gate with its bias, of n <= TILE parts from `at` on.
WK_INLINE void compute_gate(gate_kind kind, const row *w, size_t at, size_t n, float *gate)
{
    float scale[TILE], limit = w->gate_limit;
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        float x = kind == UPDATE ? part(w, at + i) + w->update_bias : part(w, at + i);
        wk_reduced_arg reduced = wk_reduce_base2(wk_clip(wk_sigmoid_exponent(x), -limit, limit));
        gate[i] = reduced.rest;
        scale[i] = reduced.scale;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++)
        gate[i] = wk_sigmoid_reconstruct((wk_reduced_arg){gate[i], scale[i]});
}

// A tile of gates, and the candidates' reduced arguments.
typedef struct tile {
    float reset[TILE], update[TILE], rest[TILE], scale[TILE];
} tile;

// The tile of n <= TILE outputs from `at` on. Meanwhile the next row comes into the cache.
WK_INLINE void compute_tile(const row *w, size_t at, size_t n, tile *t)
{
    size_t cand = w->hidden + at, update = cand + w->hidden;
    float limit = w->tanh_limit;
    wk_prefetch(w->next_pre + at, n);
    compute_gate(RESET, w, at, n, t->reset);
    wk_prefetch(w->next_pre + cand, n);
    compute_gate(UPDATE, w, update, n, t->update);
    wk_prefetch(w->next_pre + update, n);
    wk_prefetch(w->next_h + at, n);
#pragma GCC ivdep
    for (size_t i = 0; i < n; i++) {
        wk_reduced_arg reduced =
            wk_tanh_reduce(wk_clip(t->reset[i] * part(w, cand + i), -limit, limit));
        t->rest[i] = reduced.rest;
        t->scale[i] = reduced.scale;
    }
}

WK_INLINE void forward_gates(const row *w, float *out)
{
    tile t;
    for (size_t at = 0; at < w->hidden; at += TILE) {
        size_t n = wk_min_size(TILE, w->hidden - at);
        compute_tile(w, at, n, &t);
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++) {
            float c = wk_tanh_reconstruct((wk_reduced_arg){t.rest[i], t.scale[i]}), u = t.update[i];
            out[at + i] = u * c + (1.0f - u) * w->h[at + i];
        }
    }
}

WK_INLINE void forward_rows_in(const job *j, float *centred, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++) {
        row w = row_of(j, r, end);
        wk_norm_centre(3 * w.hidden, w.pre, w.gate_bias, j->p->eps, centred, &j->mean[r], &w.rstd);
        j->rstd[r] = w.rstd;
        w.centred = centred;
        forward_gates(&w, j->out + r * w.hidden);
    }
}

WK_MULTI __attribute__((noinline)) static void forward_rows_large(const job *j, size_t begin,
                                                                  size_t end)
{
    float centred[PARTS_MAX];
    forward_rows_in(j, centred, begin, end);
}

WK_MULTI
static void forward_rows_small(const job *j, size_t begin, size_t end)
{
    float centred[PARTS_SMALL];
    forward_rows_in(j, centred, begin, end);
}

static void forward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    (3 * j->p->hidden > PARTS_SMALL ? forward_rows_large : forward_rows_small)(j, begin, end);
}

void wk_cpu_gru(const wk_gru *p, const float *pre, const wk_gru_params *params, const float *h,
                float *out, float *mean, float *rstd, wk_pool *pool)
{
    assert(p->hidden <= WK_GRU_HIDDEN_MAX);
    job j = {.p = p, .params = *params, .pre = pre, .h = h, .out = out, .mean = mean, .rstd = rstd};
    // A row costs several times what its bytes do: cut finer than plain copies.
    size_t grain = wk_row_grain(6 * p->hidden);
    wk_cpu_for(p->stacks * p->rows, grain, forward_rows, &j, pool);
}

// y = the sum of `chunks` arrays [n], `apart` from each other; the first of them is overwritten.
WK_MULTI
static void collect(size_t chunks, size_t n, size_t apart, float *partial, float *y)
{
    for (size_t k = 1; k < chunks; k++)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            partial[i] += partial[k * apart + i];
    memcpy(y, partial, n * sizeof *y);
}

static wk_norm_cut cut_of(const wk_gru *p)
{
    // Three exponentials an element: eight times finer than by bytes.
    return wk_norm_cut_of(p->stacks, p->rows, 24 * p->hidden, p->param_stride == 0);
}

size_t wk_cpu_gru_backward_workspace(const wk_gru *p)
{
    wk_norm_cut cut = cut_of(p);
    return cut.sets * cut.chunks * 9 * p->hidden * sizeof(float);
}

// Gradients of the three parts into dparts, and of h by the direct path.
WK_INLINE void backward_gates(const row *w, const float *dout, float *dparts, float *dh)
{
    tile t;
    for (size_t at = 0; at < w->hidden; at += TILE) {
        size_t n = wk_min_size(TILE, w->hidden - at), cand = w->hidden + at;
        size_t update = cand + w->hidden;
        compute_tile(w, at, n, &t);
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++) {
            float c = wk_tanh_reconstruct((wk_reduced_arg){t.rest[i], t.scale[i]}), u = t.update[i];
            float d = dout[at + i], kept = 1.0f - u, through = d * u;
            dparts[update + i] = through * (c - w->h[at + i]) * kept;
            dparts[cand + i] = through * (1.0f - c * c) * t.reset[i];
            dh[at + i] = d * kept;
        }
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            dparts[at + i] = dparts[cand + i] * part(w, cand + i) * (1.0f - t.reset[i]);
    }
}

// Row r of the chunk that ends before `end`.
WK_INLINE void backward_row_in(const job *j, float *centred, size_t r, size_t end, float *sums)
{
    row w = row_of(j, r, end);
    size_t n = 3 * w.hidden;
    float *dpre = j->dpre + r * n;
    wk_norm_subtract(n, w.pre, w.gate_bias, j->mean_in[r], centred);
    w.centred = centred;
    w.rstd = j->rstd_in[r];
    backward_gates(&w, j->dout + r * w.hidden, dpre, j->dh + r * w.hidden);
    wk_norm_row norm = {.n = n, .centred = centred, .gain = w.gain, .rstd = w.rstd};
    if (sums) {
        norm.gain_sums = sums;
        norm.bias_sums = sums + n;
        norm.shift_sums = sums + 2 * n;
    }
    wk_norm_row_backward(&norm, dpre, dpre);
}

WK_MULTI __attribute__((noinline)) static void backward_row_large(const job *j, size_t r,
                                                                  size_t end, float *sums)
{
    float centred[PARTS_MAX];
    backward_row_in(j, centred, r, end, sums);
}

WK_MULTI
static void backward_row_small(const job *j, size_t r, size_t end, float *sums)
{
    float centred[PARTS_SMALL];
    backward_row_in(j, centred, r, end, sums);
}

static void backward_row(const job *j, size_t r, size_t end, float *sums)
{
    (3 * j->p->hidden > PARTS_SMALL ? backward_row_large : backward_row_small)(j, r, end, sums);
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
    size_t first = set * j->cut.rows;
    for (size_t r = first + begin; r < first + end; r++)
        backward_row(j, r, first + end, sums);
}

void wk_cpu_gru_backward(const wk_gru *p, const float *pre, const wk_gru_params *params,
                         const float *h, const float *mean, const float *rstd, const float *dout,
                         float *dpre, float *dh, const wk_gru_grads *grads, void *workspace,
                         wk_pool *pool)
{
    assert(p->hidden <= WK_GRU_HIDDEN_MAX);
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
        float *partial = j.partial + s * j.cut.chunks * 3 * n;
        size_t at = s * p->param_stride;
        collect(j.cut.chunks, n, 3 * n, partial, grads->gain + at);
        collect(j.cut.chunks, n, 3 * n, partial + n, grads->bias + at);
        collect(j.cut.chunks, n, 3 * n, partial + 2 * n, grads->gate_bias + at);
    }
}
