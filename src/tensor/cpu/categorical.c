// Categorical variables: softmax, sampling, entropy and KL divergence, one group of logits at a
// time. Groups are short (16 to 32 classes), so a group's numbers stay in registers and the
// first-level cache; sums over classes use the fixed lanes of sums.h.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/random.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include "tensor/cpu/vmath.h"
#include <assert.h>

enum { CLASS_LIMIT = 1024, TILE_GROUPS = 64 };

typedef struct job {
    size_t groups, classes; // groups: of one row, where rows matter
    const wk_draws *draws;
    const float *x, *prior, *dy;
    float *y, *probs, *dpost, *dprior;
    float post_scale, prior_scale;
} job;

// Exponentials cost several times their bytes.
static size_t group_grain(size_t classes)
{
    size_t grain = wk_row_grain(4 * classes);
    return grain < TILE_GROUPS ? TILE_GROUPS : grain / TILE_GROUPS * TILE_GROUPS;
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

// e = exp(x - max), their sum by lanes is returned.
WK_INLINE float exponentials(size_t n, const float *x, float max, float *e)
{
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        e[c] = wk_expf(x[c] - max);
    return wk_sum_lanes(WK_TERM_VALUE, n, e, e);
}

WK_MULTI
static void softmax_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    for (size_t g = begin; g < end; g++) {
        const float *x = j->x + g * n;
        float *y = j->y + g * n;
        float scale = 1.0f / exponentials(n, x, largest(n, x), y);
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            y[c] *= scale;
    }
}

void wk_cpu_softmax(size_t groups, size_t classes, const float *x, float *y, wk_pool *pool)
{
    if (classes == 0) return;
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
    if (classes == 0) return;
    job j = {.classes = classes, .x = y, .dy = dy, .y = dx};
    wk_cpu_for(groups, group_grain(classes), softmax_backward_groups, &j, pool);
}

WK_MULTI
static void log_softmax_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    for (size_t g = begin; g < end; g++) {
        const float *x = j->x + g * n;
        float *y = j->y + g * n, max = largest(n, x);
        float shift = wk_logf(exponentials(n, x, max, y));
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            y[c] = (x[c] - max) - shift;
    }
}

void wk_cpu_log_softmax(size_t groups, size_t classes, const float *x, float *y, wk_pool *pool)
{
    if (classes == 0) return;
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
    if (classes == 0) return;
    job j = {.classes = classes, .x = y, .dy = dy, .y = dx};
    wk_cpu_for(groups, group_grain(classes), log_softmax_backward_groups, &j, pool);
}

// The class of one group by the rule of kernels.h; leaves the weights in e and their running sums
// in sums.
WK_INLINE size_t draw_class(size_t n, const float *x, float u, float *e, float *sums)
{
    float max = largest(n, x), sum = 0;
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        e[c] = wk_expf(x[c] - max);
    for (size_t c = 0; c < n; c++)
        sums[c] = sum += e[c];
    float threshold = u * sum;
    int32_t below = 0;
    for (size_t c = 0; c < n; c++)
        below += sums[c] <= threshold;
    return (size_t)below < n ? (size_t)below : n - 1; // n - 1: only for logits that are NaN
}

WK_INLINE void write_onehot(size_t n, size_t class, float *y)
{
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        y[c] = c == class ? 1.0f : 0.0f;
}

WK_MULTI
static void sample_groups(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    float u[TILE_GROUPS];
    for (size_t g = begin; g < end; g++) {
        size_t k = (g - begin) % TILE_GROUPS;
        if (k == 0) wk_draw_units(j->draws, g, wk_min_size(TILE_GROUPS, end - g), u);
        float *onehot = j->y + g * n, *probs = j->probs + g * n;
        size_t class = draw_class(n, j->x + g * n, u[k], onehot, probs);
        float scale = 1.0f / probs[n - 1];
#pragma GCC ivdep
        for (size_t c = 0; c < n; c++)
            probs[c] = onehot[c] * scale;
        write_onehot(n, class, onehot);
    }
}

void wk_cpu_sample_onehot(size_t groups, size_t classes, const float *logits, const wk_draws *draws,
                          float *onehot, float *probs, wk_pool *pool)
{
    if (classes == 0) return;
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
    if (classes == 0) return;
    job j = {.classes = classes, .x = logits, .y = onehot};
    wk_cpu_for(groups, group_grain(classes), mode_groups, &j, pool);
}

// Probabilities of a group into p; returns the logarithm of the normaliser, so that log p_c = x_c -
// it.
WK_INLINE float normalise(size_t n, const float *x, float *p)
{
    float max = largest(n, x), sum = exponentials(n, x, max, p), scale = 1.0f / sum;
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        p[c] *= scale;
    return max + wk_logf(sum);
}

// Log-probabilities of x into `logs`, probabilities into p; returns the group's entropy.
WK_INLINE float group_entropy(size_t n, const float *x, float *p, float *logs)
{
    float shift = normalise(n, x, p);
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        logs[c] = x[c] - shift;
    return -wk_sum_lanes(WK_TERM_PRODUCT, n, p, logs);
}

WK_MULTI
static void entropy_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    float p[CLASS_LIMIT], logs[CLASS_LIMIT];
    for (size_t r = begin; r < end; r++) {
        double total = 0;
        for (size_t g = r * j->groups; g < (r + 1) * j->groups; g++)
            total += group_entropy(j->classes, j->x + g * j->classes, p, logs);
        j->y[r] = (float)total;
    }
}

static size_t row_grain(size_t groups, size_t classes)
{
    return wk_row_grain(4 * groups * classes);
}

void wk_cpu_entropy(size_t rows, size_t groups, size_t classes, const float *x, float *y,
                    wk_pool *pool)
{
    assert(classes >= 1 && classes <= CLASS_LIMIT);
    job j = {.groups = groups, .classes = classes, .x = x, .y = y};
    wk_cpu_for(rows, row_grain(groups, classes), entropy_rows, &j, pool);
}

WK_MULTI
static void entropy_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    float p[CLASS_LIMIT], logs[CLASS_LIMIT];
    for (size_t r = begin; r < end; r++)
        for (size_t g = r * j->groups; g < (r + 1) * j->groups; g++) {
            float entropy = group_entropy(n, j->x + g * n, p, logs);
            float dy = j->dy[r], *dx = j->y + g * n;
#pragma GCC ivdep
            for (size_t c = 0; c < n; c++)
                dx[c] = -dy * p[c] * (logs[c] + entropy);
        }
}

void wk_cpu_entropy_backward(size_t rows, size_t groups, size_t classes, const float *x,
                             const float *dy, float *dx, wk_pool *pool)
{
    assert(classes >= 1 && classes <= CLASS_LIMIT);
    job j = {.groups = groups, .classes = classes, .x = x, .dy = dy, .y = dx};
    wk_cpu_for(rows, row_grain(groups, classes), entropy_backward_rows, &j, pool);
}

// p and q: the probabilities of both sides; logs: log p - log q. Returns the group's KL.
WK_INLINE float group_kl(size_t n, const float *post, const float *prior, float *p, float *q,
                         float *logs)
{
    float shift_p = normalise(n, post, p), shift_q = normalise(n, prior, q);
    float shift = shift_p - shift_q;
#pragma GCC ivdep
    for (size_t c = 0; c < n; c++)
        logs[c] = (post[c] - prior[c]) - shift;
    return wk_sum_lanes(WK_TERM_PRODUCT, n, p, logs);
}

WK_MULTI
static void kl_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    float p[CLASS_LIMIT], q[CLASS_LIMIT], logs[CLASS_LIMIT];
    for (size_t r = begin; r < end; r++) {
        double total = 0;
        for (size_t g = r * j->groups; g < (r + 1) * j->groups; g++)
            total += group_kl(n, j->x + g * n, j->prior + g * n, p, q, logs);
        j->y[r] = (float)total;
    }
}

void wk_cpu_kl(size_t rows, size_t groups, size_t classes, const float *post, const float *prior,
               float *y, wk_pool *pool)
{
    assert(classes >= 1 && classes <= CLASS_LIMIT);
    job j = {.groups = groups, .classes = classes, .x = post, .prior = prior, .y = y};
    wk_cpu_for(rows, row_grain(groups, 2 * classes), kl_rows, &j, pool);
}

WK_MULTI
static void kl_backward_rows(const void *context, size_t begin, size_t end)
{
    const job *j = context;
    size_t n = j->classes;
    float p[CLASS_LIMIT], q[CLASS_LIMIT], logs[CLASS_LIMIT];
    for (size_t r = begin; r < end; r++)
        for (size_t g = r * j->groups; g < (r + 1) * j->groups; g++) {
            float kl = group_kl(n, j->x + g * n, j->prior + g * n, p, q, logs);
            float to_post = j->dy[r] * j->post_scale, to_prior = j->dy[r] * j->prior_scale;
            if (j->dpost) {
                float *d = j->dpost + g * n;
#pragma GCC ivdep
                for (size_t c = 0; c < n; c++)
                    d[c] = to_post * p[c] * (logs[c] - kl);
            }
            if (j->dprior) {
                float *d = j->dprior + g * n;
#pragma GCC ivdep
                for (size_t c = 0; c < n; c++)
                    d[c] = to_prior * (q[c] - p[c]);
            }
        }
}

void wk_cpu_kl_backward(size_t rows, size_t groups, size_t classes, const float *post,
                        const float *prior, const float *dy, float post_scale, float prior_scale,
                        float *dpost, float *dprior, wk_pool *pool)
{
    assert(classes >= 1 && classes <= CLASS_LIMIT);
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
