// The actor's normal distribution truncated to [-1, 1]. With mean in [-1, 1] the bounds in standard
// units, low = (-1 - mean) / std <= 0 <= high = (1 - mean) / std, lie on both sides of the mode: at
// least a third of the mass is inside, and both cut-off tails are computed as tails, without
// subtracting from 1. The sample is the quantile at mass u, reached from whichever end is nearer.
//
// Elements (row, dimension) are taken a tile at a time into arrays, so that the compiler vectorises
// over elements although rows have few dimensions.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/random.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/vmath.h"

enum { TILE = 128, GRAIN = 1024 };
static const float CLIP = 0.999999f, LOG_SQRT_2PI = 0.918938533f;

typedef struct job {
    size_t dims;
    const wk_draws *draws;
    const float *raw, *action, *dy;
    float *y, *draw, *daction;
} job;

// A tile of distributions.
typedef struct tile {
    size_t first, count;
    float mean[TILE], std[TILE], gate[TILE]; // gate = sigmoid(s / 2)
    float low[TILE], high[TILE];
} tile;

// Index in raw of element i's m; its s lies `dims` further.
WK_INLINE size_t raw_at(size_t dims, size_t i)
{
    return i / dims * 2 * dims + i % dims;
}

WK_INLINE void load_tile(const job *j, size_t first, size_t end, tile *t)
{
    t->first = first;
    t->count = wk_min_size(TILE, end - first);
    for (size_t i = 0; i < t->count; i++) {
        size_t at = raw_at(j->dims, first + i);
        t->mean[i] = j->raw[at];
        t->gate[i] = j->raw[at + j->dims];
    }
    for (size_t i = 0; i < t->count; i++) {
        t->mean[i] = wk_tanhf(t->mean[i]);
        t->gate[i] = wk_sigmoidf(0.5f * t->gate[i]);
        t->std[i] = 2.0f * t->gate[i] + 0.1f;
        t->low[i] = (-1.0f - t->mean[i]) / t->std[i];
        t->high[i] = (1.0f - t->mean[i]) / t->std[i];
    }
}

// Gradients of mean and std, in place, to those of m and s, into draw.
WK_INLINE void store_raw(const job *j, const tile *t, float *dmean, float *dstd)
{
    for (size_t i = 0; i < t->count; i++) {
        dmean[i] *= 1.0f - t->mean[i] * t->mean[i];
        dstd[i] *= t->gate[i] * (1.0f - t->gate[i]);
    }
    for (size_t i = 0; i < t->count; i++) {
        size_t at = raw_at(j->dims, t->first + i);
        j->draw[at] = dmean[i];
        j->draw[at + j->dims] = dstd[i];
    }
}

// The sample in standard units: the x with mass u of [low, high] below it.
WK_INLINE float standard_sample(float low, float high, float u)
{
    float below_low = wk_normal_tail(low), above_high = wk_normal_tail(high);
    float below = below_low * (1.0f - u) + u * (1.0f - above_high);
    float above = (1.0f - below_low) * (1.0f - u) + u * above_high;
    float tail = below < above ? below : above;
    float x = wk_normal_quantile(tail < 0.5f ? tail : 0.5f);
    return below < above ? x : -x;
}

WK_MULTI
static void sample_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float u[TILE];
    for (size_t first = begin; first < end; first += TILE) {
        load_tile(j, first, end, &t);
        wk_draw_units(j->draws, first, t.count, u);
        float *y = j->y + first;
        for (size_t i = 0; i < t.count; i++) {
            float x = t.mean[i] + t.std[i] * standard_sample(t.low[i], t.high[i], u[i]);
            x = x > CLIP ? CLIP : x;
            y[i] = x < -CLIP ? -CLIP : x;
        }
    }
}

void wk_cpu_truncnorm_sample(size_t rows, size_t dims, const float *raw, const wk_draws *draws,
                             float *action, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .draws = draws, .y = action};
    wk_cpu_for(rows * dims, GRAIN, sample_range, &j, pool);
}

// With x = mean + std z and z the quantile at mass u, differentiating the mass below z gives
// dz/dlow = (1 - u) density(low) / density(z) and dz/dhigh = u density(high) / density(z).
WK_INLINE void sample_gradient(const tile *t, size_t i, float u, float dy, float *dmean,
                               float *dstd)
{
    float low = t->low[i], high = t->high[i], z = standard_sample(low, high, u);
    float by_low = (1.0f - u) * wk_expf(0.5f * ((z - low) * (z + low)));
    float by_high = u * wk_expf(0.5f * ((z - high) * (z + high)));
    *dmean = dy * (1.0f - by_low - by_high);
    *dstd = dy * (z - low * by_low - high * by_high);
}

WK_MULTI
static void sample_backward_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float u[TILE], dmean[TILE], dstd[TILE];
    for (size_t first = begin; first < end; first += TILE) {
        load_tile(j, first, end, &t);
        wk_draw_units(j->draws, first, t.count, u);
        for (size_t i = 0; i < t.count; i++)
            sample_gradient(&t, i, u[i], j->dy[first + i], dmean + i, dstd + i);
        store_raw(j, &t, dmean, dstd);
    }
}

void wk_cpu_truncnorm_sample_backward(size_t rows, size_t dims, const float *raw,
                                      const wk_draws *draws, const float *daction, float *draw,
                                      wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .draws = draws, .dy = daction, .draw = draw};
    wk_cpu_for(rows * dims, GRAIN, sample_backward_range, &j, pool);
}

WK_MULTI
static void mode_range(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    for (size_t i = begin; i < end; i++) {
        float x = wk_tanhf(j->raw[raw_at(j->dims, i)]);
        x = x > CLIP ? CLIP : x;
        j->y[i] = x < -CLIP ? -CLIP : x;
    }
}

void wk_cpu_truncnorm_mode(size_t rows, size_t dims, const float *raw, float *action, wk_pool *pool)
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

// H = log(std mass sqrt(2 pi e)) + (low density(low) - high density(high)) / (2 mass)
WK_INLINE float entropy_of(float std, float low, float high)
{
    float mass = 1.0f - wk_normal_tail(low) - wk_normal_tail(high);
    float edges = low * wk_normal_density(low) - high * wk_normal_density(high);
    return wk_logf(std * mass) + (LOG_SQRT_2PI + 0.5f) + 0.5f * edges / mass;
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
            value[i] = entropy_of(t.std[i], t.low[i], t.high[i]);
        add_to_rows(j, &t, value);
    }
}

void wk_cpu_truncnorm_entropy(size_t rows, size_t dims, const float *raw, float *y, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .y = y};
    wk_cpu_for(rows, row_grain(dims), entropy_rows, &j, pool);
}

// With E = low density(low) - high density(high): dH/dlow = density(low) / mass * (-1 + (1 - low^2)
// / 2 + E / (2 mass)), the same with the opposite sign at high; low and high depend on mean and
// std.
WK_INLINE void entropy_gradient(const tile *t, size_t i, float dy, float *dmean, float *dstd)
{
    float low = t->low[i], high = t->high[i], std = t->std[i];
    float at_low = wk_normal_density(low), at_high = wk_normal_density(high);
    float mass = 1.0f - wk_normal_tail(low) - wk_normal_tail(high);
    float edges = 0.5f * (low * at_low - high * at_high) / mass;
    float by_low = at_low / mass * (edges - 0.5f - 0.5f * (low * low));
    float by_high = -at_high / mass * (edges - 0.5f - 0.5f * (high * high));
    *dmean = -dy * (by_low + by_high) / std;
    *dstd = dy * (1.0f - low * by_low - high * by_high) / std;
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
        for (size_t i = 0; i < t.count; i++)
            entropy_gradient(&t, i, dy[i], dmean + i, dstd + i);
        store_raw(j, &t, dmean, dstd);
    }
}

void wk_cpu_truncnorm_entropy_backward(size_t rows, size_t dims, const float *raw, const float *dy,
                                       float *draw, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .dy = dy, .draw = draw};
    wk_cpu_for(rows, row_grain(dims), entropy_backward_rows, &j, pool);
}

// log p(x) = -z^2 / 2 - log(std mass sqrt(2 pi)), z = (x - mean) / std
WK_INLINE float log_density(const tile *t, size_t i, float x)
{
    float z = (x - t->mean[i]) / t->std[i];
    float mass = 1.0f - wk_normal_tail(t->low[i]) - wk_normal_tail(t->high[i]);
    return -0.5f * (z * z) - wk_logf(t->std[i] * mass) - LOG_SQRT_2PI;
}

WK_MULTI
static void log_prob_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float value[TILE];
    for (size_t r = begin; r < end; r++)
        j->y[r] = 0;
    for (size_t first = begin * j->dims; first < end * j->dims; first += TILE) {
        load_tile(j, first, end * j->dims, &t);
        for (size_t i = 0; i < t.count; i++)
            value[i] = log_density(&t, i, j->action[first + i]);
        add_to_rows(j, &t, value);
    }
}

void wk_cpu_truncnorm_log_prob(size_t rows, size_t dims, const float *raw, const float *action,
                               float *y, wk_pool *pool)
{
    job j = {.dims = dims, .raw = raw, .action = action, .y = y};
    wk_cpu_for(rows, row_grain(dims), log_prob_rows, &j, pool);
}

WK_INLINE void log_prob_gradient(const tile *t, size_t i, float x, float dy, float *dmean,
                                 float *dstd, float *dx)
{
    float low = t->low[i], high = t->high[i], std = t->std[i], z = (x - t->mean[i]) / std;
    float at_low = wk_normal_density(low), at_high = wk_normal_density(high);
    float mass = 1.0f - wk_normal_tail(low) - wk_normal_tail(high);
    *dmean = dy * (z - (at_low - at_high) / mass) / std;
    *dstd = dy * (z * z - 1.0f - (low * at_low - high * at_high) / mass) / std;
    *dx = -dy * z / std;
}

WK_MULTI
static void log_prob_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    tile t;
    float dy[TILE], dmean[TILE], dstd[TILE], dx[TILE];
    for (size_t first = begin * j->dims; first < end * j->dims; first += TILE) {
        load_tile(j, first, end * j->dims, &t);
        for (size_t i = 0; i < t.count; i++)
            dy[i] = j->dy[(first + i) / j->dims];
        for (size_t i = 0; i < t.count; i++)
            log_prob_gradient(&t, i, j->action[first + i], dy[i], dmean + i, dstd + i, dx + i);
        if (j->draw) store_raw(j, &t, dmean, dstd);
        for (size_t i = 0; j->daction && i < t.count; i++)
            j->daction[first + i] = dx[i];
    }
}

void wk_cpu_truncnorm_log_prob_backward(size_t rows, size_t dims, const float *raw,
                                        const float *action, const float *dy, float *draw,
                                        float *daction, wk_pool *pool)
{
    job j = {
        .dims = dims, .raw = raw, .action = action, .dy = dy, .draw = draw, .daction = daction};
    wk_cpu_for(rows, row_grain(dims), log_prob_backward_rows, &j, pool);
}
