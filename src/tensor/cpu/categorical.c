// Categorical variables: softmax, sampling, entropy and KL divergence. Groups are short (16 to 32
// classes), too short to keep a processor busy one by one: they are taken a tile at a time, each
// step (largest, exponentials, sums, logarithms) over the whole tile. Sums over classes use the
// fixed lanes of sums.h.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/random.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include "tensor/vmath.h"
#include <assert.h>

enum { TILE = 1024 }; // logits of a tile; also the most classes of a group

typedef struct job {
    size_t groups, classes; // groups: of one row, where rows matter
    const wk_draws *draws;
    const float *x, *prior, *dy;
    float *y, *probs, *dpost, *dprior;
    float post_scale, prior_scale;
} job;

// Groups in a tile, a multiple of 4 where random words are concerned: a block of words serves four.
static size_t tile_groups(size_t classes)
{
    size_t groups = TILE / classes;
    return groups > 4 ? groups / 4 * 4 : groups;
}

// Exponentials cost several times their bytes: ranges are a quarter of the usual length.
static size_t group_grain(size_t classes)
{
    size_t tile = 4 * tile_groups(classes);
    return tile * (WK_GRAIN / 4 / TILE);
}

WK_INLINE wk_lanes lanes_max(wk_lanes a, wk_lanes b)
{
    typedef int mask __attribute__((vector_size(32)));
    mask larger = b > a;
    return (wk_lanes)(((mask)b & larger) | ((mask)a & ~larger));
}

WK_INLINE float largest(size_t n, const float *x)
{
    float best = x[0];
    size_t i = 0;
    if (n >= WK_LANES) {
        wk_lanes top = wk_lanes_load(x);
        for (i = WK_LANES; i + WK_LANES <= n; i += WK_LANES)
            top = lanes_max(top, wk_lanes_load(x + i));
        best = top[0];
        for (size_t k = 1; k < WK_LANES; k++)
            best = top[k] > best ? top[k] : best;
    }
    for (; i < n; i++)
        best = x[i] > best ? x[i] : best;
    return best;
}

// e = exp(x - largest of its group) for g groups of n; `max` keeps the largest.
WK_INLINE void exponentials(size_t g, size_t n, const float *x, float *max, float *e)
{
    for (size_t k = 0; k < g; k++) {
        float top = largest(n, x + k * n);
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            e[k * n + c] = x[k * n + c] - top;
        max[k] = top;
    }
#pragma GCC ivdep
    for (size_t i = 0; i < g * n; i++)
        e[i] = wk_expf(e[i]);
}

WK_INLINE void sums_of_groups(size_t g, size_t n, const float *e, float *sum)
{
    for (size_t k = 0; k < g; k++)
        sum[k] = wk_sum_lanes(WK_TERM_VALUE, n, e + k * n, e + k * n);
}

// Divides every group by its sum.
WK_INLINE void divide_groups(size_t g, size_t n, const float *sum, float *e)
{
    for (size_t k = 0; k < g; k++) {
        float scale = 1.0f / sum[k];
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            e[k * n + c] *= scale;
    }
}

// Probabilities of g groups into p, and the logarithms of their normalisers: log p = x - shift.
WK_INLINE void normalise(size_t g, size_t n, const float *x, float *p, float *shift)
{
    float sum[TILE];
    exponentials(g, n, x, shift, p);
    sums_of_groups(g, n, p, sum);
    divide_groups(g, n, sum, p);
#pragma GCC ivdep
    for (size_t k = 0; k < g; k++)
        shift[k] += wk_logf(sum[k]);
}

WK_MULTI
static void softmax_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    float max[TILE], sum[TILE];
    for (size_t at = begin; at < end; at += tile) {
        size_t g = wk_min_size(tile, end - at);
        exponentials(g, n, j->x + at * n, max, j->y + at * n);
        sums_of_groups(g, n, j->y + at * n, sum);
        divide_groups(g, n, sum, j->y + at * n);
    }
}

// Every function's first line: groups of no class have nothing to do, and a tile holds at least one
// group.
static bool has_classes(size_t classes)
{
    assert(classes <= TILE);
    return classes > 0;
}

void wk_cpu_softmax(size_t groups, size_t classes, const float *x, float *y, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = x, .y = y};
    wk_cpu_for(groups, group_grain(classes), softmax_groups, &j, pool);
}

WK_MULTI
static void softmax_backward_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    for (size_t g = begin; g < end; g++) {
        const float *p = j->x + g * n, *dy = j->dy + g * n;
        float dot = wk_sum_lanes(WK_TERM_PRODUCT, n, p, dy), *dx = j->y + g * n;
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            dx[c] = p[c] * (dy[c] - dot);
    }
}

void wk_cpu_softmax_backward(size_t groups, size_t classes, const float *y, const float *dy,
                             float *dx, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = y, .dy = dy, .y = dx};
    wk_cpu_for(groups, group_grain(classes), softmax_backward_groups, &j, pool);
}

WK_MULTI
static void log_softmax_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    float p[TILE], shift[TILE];
    for (size_t at = begin; at < end; at += tile) {
        size_t g = wk_min_size(tile, end - at);
        const float *x = j->x + at * n;
        float *y = j->y + at * n;
        normalise(g, n, x, p, shift);
        for (size_t k = 0; k < g; k++)
#pragma GCC ivdep
            for (size_t c = 0; c < n; c++)
                y[k * n + c] = x[k * n + c] - shift[k];
    }
}

void wk_cpu_log_softmax(size_t groups, size_t classes, const float *x, float *y, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = x, .y = y};
    wk_cpu_for(groups, group_grain(classes), log_softmax_groups, &j, pool);
}

WK_MULTI
static void log_softmax_backward_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    for (size_t g = begin; g < end; g++) {
        const float *y = j->x + g * n, *dy = j->dy + g * n;
        float sum = wk_sum_lanes(WK_TERM_VALUE, n, dy, dy), *dx = j->y + g * n;
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            dx[c] = dy[c] - wk_expf(y[c]) * sum;
    }
}

void wk_cpu_log_softmax_backward(size_t groups, size_t classes, const float *y, const float *dy,
                                 float *dx, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = y, .dy = dy, .y = dx};
    wk_cpu_for(groups, group_grain(classes), log_softmax_backward_groups, &j, pool);
}

// Running sums of four groups at a time: one group's sums wait for each other, four groups' do not.
WK_INLINE void running_sums(size_t g, size_t n, const float *e, float *sums)
{
    size_t k = 0;
    for (; k + 4 <= g; k += 4) {
        const float *from = e + k * n;
        float *to = sums + k * n, a = 0, b = 0, c = 0, d = 0;
        for (size_t i = 0; i < n; i++) {
            to[i] = a += from[i];
            to[n + i] = b += from[n + i];
            to[2 * n + i] = c += from[2 * n + i];
            to[3 * n + i] = d += from[3 * n + i];
        }
    }
    for (; k < g; k++) {
        float sum = 0;
        for (size_t i = 0; i < n; i++)
            sums[k * n + i] = sum += e[k * n + i];
    }
}

// The class where the running sums pass `threshold`.
WK_INLINE size_t class_at(size_t n, const float *sums, float threshold)
{
    int32_t below = 0;
    for (size_t c = 0; c < n; c++)
        below += sums[c] <= threshold;
    return (size_t)below < n ? (size_t)below : n - 1; // n - 1: only for logits that are NaN
}

WK_INLINE void write_onehot(size_t n, size_t class, float *y)
{
    for (size_t c = 0; c < n; c++)
        y[c] = 0.0f;
    y[class] = 1.0f;
}

// Draws g groups from the weights in `onehot`, which become probabilities in `probs`.
WK_INLINE void draw_groups(size_t g, size_t n, const float *u, float *onehot, float *probs)
{
    running_sums(g, n, onehot, probs);
    for (size_t k = 0; k < g; k++) {
        float *y = onehot + k * n, *p = probs + k * n, total = p[n - 1], scale = 1.0f / total;
        size_t class = class_at(n, p, u[k] * total);
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            p[c] = y[c] * scale;
        write_onehot(n, class, y);
    }
}

WK_MULTI
static void sample_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    float max[TILE], u[TILE];
    for (size_t at = begin; at < end; at += tile) {
        size_t g = wk_min_size(tile, end - at);
        wk_draw_units(j->draws, at, g, u);
        exponentials(g, n, j->x + at * n, max, j->y + at * n);
        draw_groups(g, n, u, j->y + at * n, j->probs + at * n);
    }
}

void wk_cpu_sample_onehot(size_t groups, size_t classes, const float *logits, const wk_draws *draws,
                          float *onehot, float *probs, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = logits, .draws = draws, .y = onehot, .probs = probs};
    wk_cpu_for(groups, group_grain(classes), sample_groups, &j, pool);
}

static void mode_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    for (size_t g = begin; g < end; g++) {
        const float *x = j->x + g * n;
        size_t best = 0;
        for (size_t c = 1; c < n; c++)
            if (x[c] > x[best]) best = c;
        write_onehot(n, best, j->y + g * n);
    }
}

void wk_cpu_mode_onehot(size_t groups, size_t classes, const float *logits, float *onehot,
                        wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.classes = classes, .x = logits, .y = onehot};
    wk_cpu_for(groups, group_grain(classes), mode_groups, &j, pool);
}

// Entropies of g groups, with their probabilities and log-probabilities.
WK_INLINE void entropies(size_t g, size_t n, const float *x, float *p, float *logs, float *entropy)
{
    float shift[TILE];
    normalise(g, n, x, p, shift);
    for (size_t k = 0; k < g; k++) {
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            logs[k * n + c] = x[k * n + c] - shift[k];
        entropy[k] = -wk_sum_lanes(WK_TERM_PRODUCT, n, p + k * n, logs + k * n);
    }
}

// Adds the groups' values to their rows; a row's groups come in order.
WK_INLINE void add_to_rows(const job *j, size_t first, size_t g, const float *value)
{
    for (size_t k = 0; k < g; k++)
        j->y[(first + k) / j->groups] += value[k];
}

WK_INLINE void clear_rows(const job *j, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++)
        j->y[r] = 0;
}

WK_MULTI
static void entropy_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    float p[TILE], logs[TILE], entropy[TILE];
    clear_rows(j, begin, end);
    for (size_t at = begin * j->groups; at < end * j->groups; at += tile) {
        size_t g = wk_min_size(tile, end * j->groups - at);
        entropies(g, n, j->x + at * n, p, logs, entropy);
        add_to_rows(j, at, g, entropy);
    }
}

static size_t row_grain(size_t groups, size_t classes)
{
    return wk_row_grain(4 * groups * classes);
}

void wk_cpu_entropy(size_t rows, size_t groups, size_t classes, const float *x, float *y,
                    wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.groups = groups, .classes = classes, .x = x, .y = y};
    wk_cpu_for(rows, row_grain(groups, classes), entropy_rows, &j, pool);
}

WK_MULTI
static void entropy_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    float p[TILE], logs[TILE], entropy[TILE];
    for (size_t at = begin * j->groups; at < end * j->groups; at += tile) {
        size_t g = wk_min_size(tile, end * j->groups - at);
        entropies(g, n, j->x + at * n, p, logs, entropy);
        for (size_t k = 0; k < g; k++) {
            float dy = j->dy[(at + k) / j->groups], *dx = j->y + (at + k) * n;
#pragma GCC ivdep
            for (size_t c = 0; c < n; c++)
                dx[c] = -dy * p[k * n + c] * (logs[k * n + c] + entropy[k]);
        }
    }
}

void wk_cpu_entropy_backward(size_t rows, size_t groups, size_t classes, const float *x,
                             const float *dy, float *dx, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.groups = groups, .classes = classes, .x = x, .dy = dy, .y = dx};
    wk_cpu_for(rows, row_grain(groups, classes), entropy_backward_rows, &j, pool);
}

// A tile of both sides: probabilities, log p - log q, and the groups' KL.
typedef struct kl_tile {
    float p[TILE], q[TILE], logs[TILE], kl[TILE];
} kl_tile;

WK_INLINE void compare(size_t g, size_t n, const float *post, const float *prior, kl_tile *t)
{
    float shift_p[TILE], shift_q[TILE];
    normalise(g, n, post, t->p, shift_p);
    normalise(g, n, prior, t->q, shift_q);
    for (size_t k = 0; k < g; k++) {
        float shift = shift_p[k] - shift_q[k];
#pragma GCC ivdep
        for (size_t i = k * n; i < (k + 1) * n; i++)
            t->logs[i] = (post[i] - prior[i]) - shift;
        t->kl[k] = wk_sum_lanes(WK_TERM_PRODUCT, n, t->p + k * n, t->logs + k * n);
    }
}

WK_MULTI
static void kl_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    kl_tile t;
    clear_rows(j, begin, end);
    for (size_t at = begin * j->groups; at < end * j->groups; at += tile) {
        size_t g = wk_min_size(tile, end * j->groups - at);
        compare(g, n, j->x + at * n, j->prior + at * n, &t);
        add_to_rows(j, at, g, t.kl);
    }
}

void wk_cpu_kl(size_t rows, size_t groups, size_t classes, const float *post, const float *prior,
               float *y, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.groups = groups, .classes = classes, .x = post, .prior = prior, .y = y};
    wk_cpu_for(rows, row_grain(groups, 2 * classes), kl_rows, &j, pool);
}

// One group's gradients from its place k in the tile.
WK_INLINE void kl_gradients(const job *j, const kl_tile *t, size_t group, size_t k)
{
    size_t n = j->classes;
    const float *p = t->p + k * n, *q = t->q + k * n, *logs = t->logs + k * n;
    float dy = j->dy[group / j->groups], kl = t->kl[k];
    float to_post = dy * j->post_scale, to_prior = dy * j->prior_scale;
    if (j->dpost) {
        float *d = j->dpost + group * n;
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            d[c] = to_post * p[c] * (logs[c] - kl);
    }
    if (j->dprior) {
        float *d = j->dprior + group * n;
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            d[c] = to_prior * (q[c] - p[c]);
    }
}

WK_MULTI
static void kl_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes, tile = tile_groups(n);
    kl_tile t;
    for (size_t at = begin * j->groups; at < end * j->groups; at += tile) {
        size_t g = wk_min_size(tile, end * j->groups - at);
        compare(g, n, j->x + at * n, j->prior + at * n, &t);
        for (size_t k = 0; k < g; k++)
            kl_gradients(j, &t, at + k, k);
    }
}

void wk_cpu_kl_backward(size_t rows, size_t groups, size_t classes, const float *post,
                        const float *prior, const float *dy, float post_scale, float prior_scale,
                        float *dpost, float *dprior, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.groups = groups,
             .classes = classes,
             .x = post,
             .prior = prior,
             .dy = dy,
             .dpost = dpost,
             .dprior = dprior,
             .post_scale = post_scale,
             .prior_scale = prior_scale};
    wk_cpu_for(rows, row_grain(groups, 2 * classes), kl_backward_rows, &j, pool);
}
