// Layer norm over rows.
#include "tensor/cpu/norm.h"

#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include <string.h>

typedef struct job {
    const wk_layer_norm *p;
    const float *x, *gain, *bias, *dy, *mean_in, *rstd_in;
    float *y, *mean, *rstd, *partial;
    wk_norm_cut cut;
} job;

WK_MULTI
static void forward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t cols = j->p->cols;
    for (size_t r = begin; r < end; r++) {
        const float *x = j->x + r * cols;
        size_t set = r / j->p->rows * j->p->param_stride;
        const float *gain = j->gain + set, *bias = j->bias + set;
        float mean, rstd, *y = j->y + r * cols;
        wk_norm_statistics(cols, x, NULL, j->p->eps, &mean, &rstd);
#pragma GCC ivdep
        for (size_t i = 0; i < cols; i++)
            y[i] = (x[i] - mean) * rstd * gain[i] + bias[i];
        j->mean[r] = mean;
        j->rstd[r] = rstd;
    }
}

void wk_cpu_layer_norm(const wk_layer_norm *p, const float *x, const float *gain, const float *bias,
                       float *y, float *mean, float *rstd, wk_pool *pool)
{
    job j = {.p = p, .x = x, .gain = gain, .bias = bias, .y = y, .mean = mean, .rstd = rstd};
    wk_cpu_for(p->stacks * p->rows, wk_row_grain(p->cols), forward_rows, &j, pool);
}

static wk_norm_cut cut_of(const wk_layer_norm *p)
{
    return wk_norm_cut_of(p->stacks, p->rows, p->cols, p->param_stride == 0);
}

size_t wk_cpu_layer_norm_backward_workspace(const wk_layer_norm *p)
{
    wk_norm_cut cut = cut_of(p);
    return cut.sets * cut.chunks * 2 * p->cols * sizeof(float);
}

WK_MULTI
void wk_norm_collect(size_t chunks, size_t n, size_t row, float *partial, float *y, bool accumulate)
{
    for (size_t k = 1; k < chunks; k++)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            partial[i] += partial[k * row + i];
    if (accumulate)
#pragma GCC ivdep
        for (size_t i = 0; i < n; i++)
            y[i] += partial[i];
    else
        memcpy(y, partial, n * sizeof *y);
}

// The gradient of x's row r, and the row's share of the parameters' when `sums` (gain, then bias)
// is given.
WK_MULTI
static void backward_row(const job *j, size_t r, const float *gain, float *sums)
{
    size_t cols = j->p->cols;
    wk_norm_row w = {.n = cols,
                     .x = j->x + r * cols,
                     .gain = gain,
                     .mean = j->mean_in[r],
                     .rstd = j->rstd_in[r],
                     .gain_sums = sums,
                     .bias_sums = sums ? sums + cols : NULL};
    wk_norm_row_backward(&w, j->dy + r * cols, j->y + r * cols);
}

static void backward_chunk(void *context, size_t piece, int thread)
{
    (void)thread;
    const job *j = context;
    size_t set = piece / j->cut.chunks, chunk = piece % j->cut.chunks, cols = j->p->cols;
    size_t begin = chunk * j->cut.rows / j->cut.chunks;
    size_t end = (chunk + 1) * j->cut.rows / j->cut.chunks;
    float *sums = j->partial ? j->partial + piece * 2 * cols : NULL;
    if (sums) memset(sums, 0, 2 * cols * sizeof *sums);
    size_t first = set * j->cut.rows;
    for (size_t r = first + begin; r < first + end; r++)
        backward_row(j, r, j->gain + set * j->p->param_stride, sums);
}

void wk_cpu_layer_norm_backward(const wk_layer_norm *p, const float *x, const float *gain,
                                const float *mean, const float *rstd, const float *dy, float *dx,
                                float *dgain, float *dbias, bool accumulate_params, void *workspace,
                                wk_pool *pool)
{
    job j = {.p = p,
             .x = x,
             .gain = gain,
             .mean_in = mean,
             .rstd_in = rstd,
             .dy = dy,
             .y = dx,
             .partial = dgain ? workspace : NULL,
             .cut = cut_of(p)};
    wk_pool_run(pool, j.cut.sets * j.cut.chunks, backward_chunk, &j);
    if (!dgain) return;
    for (size_t s = 0; s < j.cut.sets; s++) {
        float *partial = j.partial + s * j.cut.chunks * 2 * p->cols;
        wk_norm_collect(j.cut.chunks, p->cols, 2 * p->cols, partial, dgain + s * p->param_stride,
                        accumulate_params);
        wk_norm_collect(j.cut.chunks, p->cols, 2 * p->cols, partial + p->cols,
                        dbias + s * p->param_stride, accumulate_params);
    }
}
