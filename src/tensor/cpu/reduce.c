// Reductions and their gradients. Long sums are cut into chunks by length alone; the chunks' sums
// are collected in order, in double.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include <string.h>

enum { CHUNKS_MAX = 128 };

typedef struct job {
    size_t n, rows, cols, chunk;
    float scale;
    wk_term term;
    const float *a;
    float *y;
    double *partial;
    uint64_t *counts;
} job;

static size_t chunk_of(size_t n)
{
    size_t even = wk_ceil_div(wk_ceil_div(n, CHUNKS_MAX), WK_FOLD) * WK_FOLD;
    return even > WK_GRAIN ? even : WK_GRAIN;
}

WK_MULTI
static void sum_chunk(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    j->partial[begin / j->chunk] =
        j->term == WK_TERM_SQUARE
            ? wk_sum_run(WK_TERM_SQUARE, end - begin, j->a + begin, j->a + begin)
            : wk_sum_run(WK_TERM_VALUE, end - begin, j->a + begin, j->a + begin);
}

static double sum_all(wk_term term, size_t n, const float *x, wk_pool *pool)
{
    double partial[CHUNKS_MAX], total = 0;
    job j = {.n = n, .a = x, .term = term, .partial = partial, .chunk = chunk_of(n)};
    wk_cpu_for(n, j.chunk, sum_chunk, &j, pool);
    for (size_t i = 0; i < wk_ceil_div(n, j.chunk); i++)
        total += partial[i];
    return total;
}

void wk_cpu_sum(size_t n, float scale, const float *x, float *y, wk_pool *pool)
{
    *y = (float)(scale * sum_all(WK_TERM_VALUE, n, x, pool));
}

void wk_cpu_global_norm(size_t spans, const wk_span *span, float *norm, wk_pool *pool)
{
    double total = 0;
    for (size_t i = 0; i < spans; i++)
        total += sum_all(WK_TERM_SQUARE, span[i].count, span[i].data, pool);
    *norm = (float)__builtin_sqrt(total);
}

WK_MULTI
static void sum_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        const float *a = j->a + r * j->cols;
        j->y[r] = (float)(j->scale * wk_sum_run(WK_TERM_VALUE, j->cols, a, a));
    }
}

void wk_cpu_row_sums(size_t rows, size_t cols, float scale, const float *x, float *y, wk_pool *pool)
{
    job j = {.cols = cols, .scale = scale, .a = x, .y = y};
    wk_cpu_for(rows, wk_row_grain(cols), sum_rows, &j, pool);
}

// Column sums. A strip is at most STRIP columns wide so that its sums stay in the first-level
// cache; rows are added in float32 and folded into double every FOLD_ROWS. Narrow arrays are cut by
// rows too, into at most PARTIAL / cols chunks.
enum { STRIP = 512, FOLD_ROWS = 128, PARTIAL = 8192, CHUNK_ELEMENTS = 1 << 16 };

WK_MULTI
static void add_rows(size_t rows, size_t cols, size_t row, const float *x, float *sums)
{
    for (size_t r = 0; r < rows; r++)
#pragma GCC ivdep
        for (size_t c = 0; c < cols; c++)
            sums[c] += x[r * row + c];
}

static void fold_rows(size_t rows, size_t cols, size_t row, const float *x, double *total)
{
    float sums[STRIP];
    for (size_t c = 0; c < cols; c++)
        total[c] = 0;
    for (size_t r = 0; r < rows; r += FOLD_ROWS) {
        memset(sums, 0, cols * sizeof *sums);
        add_rows(wk_min_size(FOLD_ROWS, rows - r), cols, row, x + r * row, sums);
        for (size_t c = 0; c < cols; c++)
            total[c] += sums[c];
    }
}

static void sum_strip(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    double total[STRIP];
    fold_rows(j->rows, end - begin, j->cols, j->a + begin, total);
    for (size_t c = begin; c < end; c++)
        j->y[c] = (float)(j->scale * total[c - begin]);
}

static void sum_row_chunk(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    fold_rows(end - begin, j->cols, j->cols, j->a + begin * j->cols,
              j->partial + begin / j->chunk * j->cols);
}

// Very few columns: `times` rows lie side by side as one wide row, their sums are added at the end.
static void fold_columns(size_t times, size_t cols, double *wide)
{
    for (size_t t = 1; t < times; t++)
        for (size_t c = 0; c < cols; c++)
            wide[c] += wide[t * cols + c];
}

static void sum_narrow(size_t rows, size_t cols, const float *x, double *total, wk_pool *pool)
{
    size_t times = cols < 32 ? 128 / cols : 1, wide = times * cols, full = rows / times;
    double partial[PARTIAL];
    size_t limit = PARTIAL / wide, wanted = wk_ceil_div(full * wide, CHUNK_ELEMENTS);
    job j = {.cols = wide, .a = x, .partial = partial};
    j.chunk = wk_ceil_div(full, wk_min_size(limit, wanted ? wanted : 1));
    if (!j.chunk) j.chunk = 1;
    wk_cpu_for(full, j.chunk, sum_row_chunk, &j, pool);
    fold_rows(rows - full * times, cols, cols, x + full * wide, total);
    for (size_t i = 0; i < wk_ceil_div(full, j.chunk); i++) {
        fold_columns(times, cols, partial + i * wide);
        for (size_t c = 0; c < cols; c++)
            total[c] += partial[i * wide + c];
    }
}

void wk_cpu_column_sums(size_t rows, size_t cols, float scale, const float *x, float *y,
                        wk_pool *pool)
{
    if (cols == 0) return;
    if (cols > STRIP) {
        job j = {.rows = rows, .cols = cols, .scale = scale, .a = x, .y = y};
        wk_cpu_for(cols, STRIP / 2, sum_strip, &j, rows * cols < WK_GRAIN ? NULL : pool);
        return;
    }
    double total[STRIP];
    sum_narrow(rows, cols, x, total, pool);
    for (size_t c = 0; c < cols; c++)
        y[c] = (float)(scale * total[c]);
}

WK_MULTI
static void spread_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = begin; i < end;) { // a range may begin and end inside a row
        size_t r = i / j->cols, stop = wk_min_size(end, (r + 1) * j->cols);
        float value = j->scale * j->a[r];
        for (float *y = j->y; i < stop; i++)
            y[i] = value;
    }
}

void wk_cpu_broadcast_rows(size_t rows, size_t cols, float scale, const float *v, float *y,
                           wk_pool *pool)
{
    job j = {.cols = cols, .scale = scale, .a = v, .y = y};
    wk_cpu_for(rows * cols, WK_GRAIN, spread_rows, &j, pool);
}

WK_MULTI
static void spread_columns(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t r = begin; r < end; r++) {
        float *y = j->y + r * j->cols;
        const float *v = j->a;
#pragma GCC ivdep
        for (size_t c = 0; c < j->cols; c++)
            y[c] = j->scale * v[c];
    }
}

void wk_cpu_broadcast_columns(size_t rows, size_t cols, float scale, const float *v, float *y,
                              wk_pool *pool)
{
    job j = {.cols = cols, .scale = scale, .a = v, .y = y};
    wk_cpu_for(rows, wk_row_grain(cols), spread_columns, &j, pool);
}

WK_MULTI
static void count_chunk(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    uint64_t count = 0;
    for (size_t i = begin; i < end; i++)
        count += !(__builtin_fabsf(j->a[i]) <= __FLT_MAX__);
    j->counts[begin / j->chunk] = count;
}

uint64_t wk_cpu_count_nonfinite(size_t n, const float *x, wk_pool *pool)
{
    uint64_t counts[CHUNKS_MAX], total = 0;
    job j = {.a = x, .counts = counts, .chunk = chunk_of(n)};
    wk_cpu_for(n, j.chunk, count_chunk, &j, pool);
    for (size_t i = 0; i < wk_ceil_div(n, j.chunk); i++)
        total += counts[i];
    return total;
}
