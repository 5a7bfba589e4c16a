// The actor's normal distribution truncated to [-1, 1]; the formulas are those of truncated.h.
// Elements (row, dimension) are taken a tile at a time into arrays, so that the compiler vectorises
// over elements although rows have few dimensions; and in short loops, so that the processor
// overlaps them (vmath.h).
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/truncated.h"

enum { TILE = 128, GRAIN = 1024 };

typedef struct job {
    size_t dims;
    const wk_draws *draws;
    wk_sample_gradient gradient;
    const float *raw, *dy;
    float *y, *draw;
} job;

// A tile of distributions.
typedef struct tile {
    size_t first, count;
    float mean[TILE], std[TILE], gate[TILE], low[TILE], high[TILE];
} tile;

// Index in raw of element i's m; its s lies `dims` further.
WK_INLINE size_t raw_at(size_t dims, size_t i)
{
    return i / dims * 2 * dims + i % dims;
}

// Reads the tile's m and s.
WK_INLINE void load_raw(const job *j, size_t first, size_t count, float *m, float *s)
{
    size_t dims = j->dims, column = first % dims, place = raw_at(dims, first);
    for (size_t i = 0; i < count; i++) {
        m[i] = j->raw[place];
        s[i] = j->raw[place + dims];
        place++;
        if (++column == dims) column = 0, place += dims;
    }
}

// mean = tanh(m) in place.
WK_INLINE void tanh_all(size_t n, float *x)
{
    float scale[TILE], limit = wk_opaque(WK_TANH_LIMIT);
    for (size_t i = 0; i < n; i++) {
        wk_reduced_arg reduced = wk_tanh_reduce(wk_clip(x[i], -limit, limit));
        x[i] = reduced.rest;
        scale[i] = reduced.scale;
    }
    for (size_t i = 0; i < n; i++)
        x[i] = wk_tanh_reconstruct((wk_reduced_arg){x[i], scale[i]});
}

WK_INLINE void load_tile(const job *j, size_t first, size_t end, tile *t)
{
    t->first = first;
    t->count = wk_min_size(TILE, end - first);
    load_raw(j, first, t->count, t->mean, t->gate);
    tanh_all(t->count, t->mean);
    for (size_t i = 0; i < t->count; i++) {
        t->gate[i] = wk_sigmoidf(0.5f * t->gate[i]);
        t->std[i] = wk_truncated_std(t->gate[i]);
    }
    for (size_t i = 0; i < t->count; i++) {
        wk_truncated d = wk_truncated_bounds((wk_truncated){.mean = t->mean[i], .std = t->std[i]});
        t->low[i] = d.low;
        t->high[i] = d.high;
    }
}

WK_INLINE wk_truncated at(const tile *t, size_t i)
{
    return (wk_truncated){t->mean[i], t->std[i], t->gate[i], t->low[i], t->high[i]};
}

// Gradients of mean and std, in place, to those of m and s, into draw.
WK_INLINE void store_raw(const job *j, const tile *t, float *dmean, float *dstd)
{
    for (size_t i = 0; i < t->count; i++) {
        wk_truncated_grad d = {dmean[i], dstd[i]};
        d = wk_truncated_to_raw(at(t, i), d);
        dmean[i] = d.mean;
        dstd[i] = d.std;
    }
    size_t dims = j->dims, column = t->first % dims, place = raw_at(dims, t->first);
    for (size_t i = 0; i < t->count; i++) {
        j->draw[place] = dmean[i];
        j->draw[place + dims] = dstd[i];
        place++;
        if (++column == dims) column = 0, place += dims;
    }
}

WK_INLINE void tails(size_t n, const float *x, float *tail)
{
    for (size_t i = 0; i < n; i++)
        tail[i] = wk_gaussianf(x[i]);
    for (size_t i = 0; i < n; i++)
        tail[i] *= wk_normal_tail_factor(x[i]);
}

// The samples of u in standard units, z.
WK_INLINE void standard_samples(const tile *t, const float *u, float *z)
{
    float below[TILE], above[TILE], tail[TILE], sign[TILE];
    tails(t->count, t->low, below);
    tails(t->count, t->high, above);
    for (size_t i = 0; i < t->count; i++) {
        wk_truncated_place place = wk_truncated_place_of(below[i], above[i], u[i]);
        tail[i] = place.tail;
        sign[i] = place.sign;
    }
    for (size_t i = 0; i < t->count; i++)
        z[i] = wk_quantile_root(tail[i]);
    for (size_t i = 0; i < t->count; i++)
        z[i] = sign[i] * wk_quantile_of(tail[i], z[i]);
}

WK_MULTI
static void sample_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float u[TILE], z[TILE];
    for (size_t first = begin; first < end; first += TILE) {
        load_tile(j, first, end, &t);
        wk_draw_units(j->draws, first, t.count, u);
        standard_samples(&t, u, z);
        float *y = j->y + first;
        for (size_t i = 0; i < t.count; i++)
            y[i] = wk_truncated_clip(t.mean[i] + t.std[i] * z[i]);
    }
}

void wk_cpu_truncated_normal_sample(size_t rows, size_t dims, const float *raw,
                                    const wk_draws *draws, float *action, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .draws = draws, .y = action};
    wk_cpu_for(rows * dims, GRAIN, sample_range, &j, pool);
}

WK_MULTI
static void sample_backward_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float u[TILE], z[TILE], dmean[TILE], dstd[TILE];
    for (size_t first = begin; first < end; first += TILE) {
        load_tile(j, first, end, &t);
        wk_draw_units(j->draws, first, t.count, u);
        standard_samples(&t, u, z);
        const float *dy = j->dy + first;
        for (size_t i = 0; i < t.count; i++) {
            wk_truncated_grad d = j->gradient == WK_SAMPLE_EXACT
                                      ? wk_truncated_standard_grad(at(&t, i), z[i], u[i], dy[i])
                                      : wk_truncated_location_scale_grad(z[i], dy[i]);
            dmean[i] = d.mean;
            dstd[i] = d.std;
        }
        store_raw(j, &t, dmean, dstd);
    }
}

void wk_cpu_truncated_normal_sample_backward(size_t rows, size_t dims, const float *raw,
                                             const wk_draws *draws, wk_sample_gradient gradient,
                                             const float *daction, float *draw, wk_pool *pool)
{
    job j = {.dims = dims,
             .draws = draws,
             .gradient = gradient,
             .raw = raw,
             .dy = daction,
             .draw = draw};
    wk_cpu_for(rows * dims, GRAIN, sample_backward_range, &j, pool);
}

WK_MULTI
static void mode_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = begin; i < end; i++)
        j->y[i] = wk_truncated_clip(wk_tanhf(j->raw[raw_at(j->dims, i)]));
}

void wk_cpu_truncated_normal_mode(size_t rows, size_t dims, const float *raw, float *action,
                                  wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .y = action};
    wk_cpu_for(rows * dims, GRAIN, mode_range, &j, pool);
}

// Ranges of the row-wise functions are rows; their sums over dimensions run in order.
static size_t row_grain(size_t dims)
{
    return dims < GRAIN ? GRAIN / (dims ? dims : 1) : 1;
}

WK_INLINE void add_to_rows(const job *j, const tile *t, const float *value)
{
    for (size_t i = 0; i < t->count; i++)
        j->y[(t->first + i) / j->dims] += value[i];
}

WK_MULTI
static void entropy_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float value[TILE];
    for (size_t r = begin; r < end; r++)
        j->y[r] = 0;
    for (size_t first = begin * j->dims; first < end * j->dims; first += TILE) {
        load_tile(j, first, end * j->dims, &t);
        for (size_t i = 0; i < t.count; i++)
            value[i] = wk_truncated_entropy(at(&t, i));
        add_to_rows(j, &t, value);
    }
}

void wk_cpu_truncated_normal_entropy(size_t rows, size_t dims, const float *raw, float *y,
                                     wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .y = y};
    wk_cpu_for(rows, row_grain(dims), entropy_rows, &j, pool);
}

WK_MULTI
static void entropy_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float dy[TILE], dmean[TILE], dstd[TILE];
    for (size_t first = begin * j->dims; first < end * j->dims; first += TILE) {
        load_tile(j, first, end * j->dims, &t);
        for (size_t i = 0; i < t.count; i++)
            dy[i] = j->dy[(first + i) / j->dims];
        for (size_t i = 0; i < t.count; i++) {
            wk_truncated_grad d = wk_truncated_entropy_grad(at(&t, i), dy[i]);
            dmean[i] = d.mean;
            dstd[i] = d.std;
        }
        store_raw(j, &t, dmean, dstd);
    }
}

void wk_cpu_truncated_normal_entropy_backward(size_t rows, size_t dims, const float *raw,
                                              const float *dy, float *draw, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .dy = dy, .draw = draw};
    wk_cpu_for(rows, row_grain(dims), entropy_backward_rows, &j, pool);
}
