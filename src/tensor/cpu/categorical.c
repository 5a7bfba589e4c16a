// Categorical variables: softmax, sampling, entropy and KL divergence. Variables are short (16 to
// 32 classes), too short to keep a processor busy one by one: a tile of variables is transposed so
// that a class is a row and a variable a column. Then every step (maximum, exponentials, sums,
// running sums) runs down the columns, eight variables at a time, and sums are taken class by class
// from class 0.
#include "tensor/cpu/kernels.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/simd.h"
#include "tensor/cpu/sums.h"
#include "tensor/cpu/transpose.h"
#include "tensor/vmath.h"
#include <assert.h>

// A tile has WIDE variables, or NARROW ones when they have many classes; both widths are known to
// the compiler, which then needs no loop over a class's row. Tiles lie on the stack, which may be
// small: those of the sizes that models have (rssm.classes) hold TILE numbers, others LARGE_TILE.
enum {
    CLASSES_MAX = 1024,
    WIDE = 32,
    NARROW = WK_LANES,
    TILE = 256 * NARROW,
    LARGE_TILE = CLASSES_MAX * NARROW,
    SIDE_TILES = 3, // a side's logits and weights, and what exponentials() needs
    PAIR_TILES = 5  // two sides, one after the other, need the last only once
};

typedef struct job {
    size_t variables, classes; // variables: of one row, where rows matter
    size_t total;              // variables of all rows
    const wk_draws *draws;
    const float *x, *prior, *dy;
    float *y, *probs, *dpost, *dprior;
} job;

static size_t tile_width(size_t classes)
{
    return classes * WIDE <= TILE ? WIDE : NARROW;
}

// The function over ranges of variables or rows that calls name_of with the width and with memory
// for `tiles` tiles. Large tiles have a function of their own, which others do not pay for.
#define BY_WIDTH(name, tiles)                                                                      \
    WK_MULTI                                                                                       \
    __attribute__((noinline)) static void name##_large(const job *j, size_t begin, size_t end)     \
    {                                                                                              \
        _Alignas(64) float room[(tiles)*LARGE_TILE];                                               \
        name##_of(j, NARROW, room, LARGE_TILE, begin, end);                                        \
    }                                                                                              \
    WK_MULTI static void name##_small(const job *j, size_t begin, size_t end)                      \
    {                                                                                              \
        _Alignas(64) float room[(tiles)*TILE];                                                     \
        if (tile_width(j->classes) == WIDE)                                                        \
            name##_of(j, WIDE, room, TILE, begin, end);                                            \
        else                                                                                       \
            name##_of(j, NARROW, room, TILE, begin, end);                                          \
    }                                                                                              \
    static void name(const void *context, size_t begin, size_t end)                                \
    {                                                                                              \
        const job *j = context;                                                                    \
        (j->classes * NARROW > TILE ? name##_large : name##_small)(j, begin, end);                 \
    }

// Exponentials cost several times their bytes: ranges are a quarter of the usual length.
static size_t variable_grain(size_t classes)
{
    size_t width = tile_width(classes), tiles = WK_GRAIN / 4 / (width * classes);
    return width * (tiles ? tiles : 1);
}

// The shape of a tile: classes (rows) times width (columns), of which `variables` are in use; and
// how many variables the next one has.
typedef struct tile {
    size_t classes, width, variables, next;
} tile;

// The tile of variables from `at` up to `end`.
WK_INLINE tile tile_of(const job *j, size_t width, size_t at, size_t end)
{
    size_t used = wk_min_size(width, end - at);
    return (tile){j->classes, width, used, wk_min_size(width, j->total - at - used)};
}

// A tile's steps run in the cache and leave memory idle: the next tile is prefetched meanwhile.
WK_INLINE void prefetch_next(const tile *t, const float *x, size_t half)
{
    size_t n = t->next * t->classes / 2;
    wk_prefetch(x + t->variables * t->classes + half * n, n);
}

WK_INLINE void prefetch_output(const tile *t, const float *y)
{
    wk_prefetch(y, t->variables * t->classes);
}

// Columns that are not in use hold zeros.
WK_INLINE void load_tile(const tile *t, const float *x, float *transposed)
{
    for (size_t c = 0; t->variables < t->width && c < t->classes; c++)
        for (size_t k = t->variables; k < t->width; k++)
            transposed[c * t->width + k] = 0;
    wk_transpose(t->variables, t->classes, x, t->classes, transposed, t->width);
}

WK_INLINE void store_tile(const tile *t, const float *transposed, float *x)
{
    wk_transpose_by_columns(t->classes, t->variables, transposed, t->width, x, t->classes);
}

// The maximum logit of each variable.
WK_INLINE void find_max(const tile *t, const float *x, float *max)
{
    for (size_t k = 0; k < t->width; k++)
        max[k] = x[k];
    for (size_t c = 1; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++) {
            float here = x[c * t->width + k];
            max[k] = here > max[k] ? here : max[k];
        }
}

// weight = exp(x - max), total = its sum over classes; `scale` is a tile of scratch.
WK_INLINE void exponentials(const tile *t, const float *x, const float *max, float *weight,
                            float *scale, float *total)
{
    float low = wk_opaque(WK_WEIGHT_LIMIT);
    for (size_t c = 0; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++) {
            size_t i = c * t->width + k;
            float exponent = wk_weight_exponent(x[i] - max[k]);
            wk_reduced_arg cut = wk_reduce_base2(low > exponent ? low : exponent);
            weight[i] = cut.rest;
            scale[i] = cut.scale;
        }
    for (size_t k = 0; k < t->width; k++)
        total[k] = 0;
    for (size_t c = 0; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++) {
            size_t i = c * t->width + k;
            weight[i] = wk_exp2_reconstruct((wk_reduced_arg){weight[i], scale[i]});
            total[k] += weight[i];
        }
}

// dot = sum over classes of a b
WK_INLINE void dots(const tile *t, const float *a, const float *b, float *dot)
{
    for (size_t k = 0; k < t->width; k += WK_LANES) {
        wk_lanes sum = {0};
        for (size_t i = k; i < t->classes * t->width; i += t->width)
            sum += wk_lanes_load(a + i) * wk_lanes_load(b + i);
        wk_lanes_store(dot + k, sum);
    }
}

// Every class's row times a number for each variable.
WK_INLINE void scale_variables(const tile *t, const float *factor, float *x)
{
    for (size_t i = 0; i < t->classes * t->width; i += t->width)
        for (size_t k = 0; k < t->width; k += WK_LANES)
            wk_lanes_store(x + i + k, wk_lanes_load(x + i + k) * wk_lanes_load(factor + k));
}

WK_INLINE void invert(size_t n, const float *x, float *y)
{
#pragma GCC ivdep
    for (size_t k = 0; k < n; k++)
        y[k] = 1.0f / x[k];
}

// One side of a comparison, or all there is: logits, weights, and for each variable the maximum
// logit, the sum of weights and its inverse. The tiles lie in memory of the caller's.
typedef struct side {
    float *x, *weight, *scratch;
    float max[WIDE], total[WIDE], inverse[WIDE];
} side;

// Tiles of `numbers` numbers, in this order: scratch, logits, weights.
WK_INLINE void place_side(side *s, float *room, size_t numbers)
{
    s->scratch = room;
    s->x = room + numbers;
    s->weight = room + 2 * numbers;
}

WK_INLINE void load_side(const tile *t, const float *x, side *s)
{
    load_tile(t, x, s->x);
    prefetch_next(t, x, 0);
    find_max(t, s->x, s->max);
    prefetch_next(t, x, 1);
    exponentials(t, s->x, s->max, s->weight, s->scratch, s->total);
    invert(t->width, s->total, s->inverse);
}

// Every function's first line: variables of no class have nothing to do.
static bool has_classes(size_t classes)
{
    assert(classes <= CLASSES_MAX);
    return classes > 0;
}

WK_INLINE void softmax_variables_of(const job *j, size_t width, float *room, size_t numbers,
                                    size_t begin, size_t end)
{
    size_t n = j->classes;
    side s;
    place_side(&s, room, numbers);
    for (size_t at = begin; at < end; at += width) {
        tile t = tile_of(j, width, at, end);
        load_side(&t, j->x + at * n, &s);
        scale_variables(&t, s.inverse, s.weight);
        store_tile(&t, s.weight, j->y + at * n);
    }
}

BY_WIDTH(softmax_variables, SIDE_TILES)

void wk_cpu_softmax(size_t variables, size_t classes, const float *x, float *y, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.total = variables, .classes = classes, .x = x, .y = y};
    wk_cpu_for(variables, variable_grain(classes), softmax_variables, &j, pool);
}

WK_MULTI
static void softmax_backward_variables(const void *context, size_t begin, size_t end)
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

void wk_cpu_softmax_backward(size_t variables, size_t classes, const float *y, const float *dy,
                             float *dx, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.total = variables, .classes = classes, .x = y, .dy = dy, .y = dx};
    wk_cpu_for(variables, variable_grain(classes), softmax_backward_variables, &j, pool);
}

// below = how many running sums do not pass u total: the class drawn. The weights become
// probabilities.
WK_INLINE void draw_variables(const tile *t, const float *u, side *s, int32_t *below)
{
    typedef int mask __attribute__((vector_size(32)));
    for (size_t k = 0; k < t->width; k += WK_LANES) {
        wk_lanes sum = {0}, inverse = wk_lanes_load(s->inverse + k);
        wk_lanes threshold = wk_lanes_load(u + k) * wk_lanes_load(s->total + k);
        mask count = {0};
        for (size_t i = k; i < t->classes * t->width; i += t->width) {
            wk_lanes weight = wk_lanes_load(s->weight + i);
            sum += weight;
            count -= sum <= threshold; // true is -1
            wk_lanes_store(s->weight + i, weight * inverse);
        }
        memcpy(below + k, &count, sizeof count);
    }
}

WK_INLINE void write_onehot(size_t n, size_t class, float *y)
{
    for (size_t c = 0; c < n; c++)
        y[c] = 0.0f;
    y[class] = 1.0f;
}

WK_INLINE void sample_variables_of(const job *j, size_t width, float *room, size_t numbers,
                                   size_t begin, size_t end)
{
    size_t n = j->classes;
    side s;
    place_side(&s, room, numbers);
    float u[WIDE] = {0};
    int32_t class[WIDE];
    for (size_t at = begin; at < end; at += width) {
        tile t = tile_of(j, width, at, end);
        prefetch_output(&t, j->probs + at * n);
        load_side(&t, j->x + at * n, &s);
        prefetch_output(&t, j->y + at * n);
        wk_draw_units(j->draws, at, t.variables, u);
        draw_variables(&t, u, &s, class);
        store_tile(&t, s.weight, j->probs + at * n);
        float *y = j->y + at * n;
        memset(y, 0, t.variables * n * sizeof *y);
        for (size_t k = 0; k < t.variables; k++) // n - 1: only for logits that are NaN
            y[k * n + wk_min_size((size_t) class[k], n - 1)] = 1.0f;
    }
}

BY_WIDTH(sample_variables, SIDE_TILES)

void wk_cpu_sample_onehot(size_t variables, size_t classes, const float *logits,
                          const wk_draws *draws, float *onehot, float *probs, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.total = variables,
             .classes = classes,
             .x = logits,
             .draws = draws,
             .y = onehot,
             .probs = probs};
    wk_cpu_for(variables, variable_grain(classes), sample_variables, &j, pool);
}

static void mode_variables(const void *context, size_t begin, size_t end)
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

void wk_cpu_mode_onehot(size_t variables, size_t classes, const float *logits, float *onehot,
                        wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.total = variables, .classes = classes, .x = logits, .y = onehot};
    wk_cpu_for(variables, variable_grain(classes), mode_variables, &j, pool);
}

// The sum of a row's variables is taken in order, and so are the rows.
typedef struct row_counter {
    size_t row, left; // the row, and how many of its variables are still to come
} row_counter;

WK_INLINE size_t next_row(row_counter *r, size_t variables)
{
    size_t row = r->row;
    if (--r->left == 0) r->row++, r->left = variables;
    return row;
}

WK_INLINE void clear_rows(const job *j, size_t begin, size_t end)
{
    for (size_t r = begin; r < end; r++)
        j->y[r] = 0;
}

// entropy = log total - sum of weight x / total, x being the logits, from here on less their
// largest.
WK_INLINE void entropies(const tile *t, side *s, float *entropy)
{
    for (size_t c = 0; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++)
            s->x[c * t->width + k] -= s->max[k];
    dots(t, s->weight, s->x, entropy);
#pragma GCC ivdep
    for (size_t k = 0; k < t->width; k++)
        entropy[k] = wk_logf(s->total[k]) - entropy[k] * s->inverse[k];
}

WK_INLINE void entropy_rows_of(const job *j, size_t width, float *room, size_t numbers,
                               size_t begin, size_t end)
{
    size_t n = j->classes;
    side s;
    place_side(&s, room, numbers);
    float entropy[WIDE];
    row_counter row = {begin, j->variables};
    clear_rows(j, begin, end);
    for (size_t at = begin * j->variables; at < end * j->variables; at += width) {
        tile t = tile_of(j, width, at, end * j->variables);
        load_side(&t, j->x + at * n, &s);
        entropies(&t, &s, entropy);
        for (size_t k = 0; k < t.variables; k++)
            j->y[next_row(&row, j->variables)] += entropy[k];
    }
}

BY_WIDTH(entropy_rows, SIDE_TILES)

static size_t row_grain(size_t variables, size_t classes)
{
    return wk_row_grain(4 * variables * classes);
}

void wk_cpu_entropy(size_t rows, size_t variables, size_t classes, const float *x, float *y,
                    wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.variables = variables, .total = rows * variables, .classes = classes, .x = x, .y = y};
    wk_cpu_for(rows, row_grain(variables, classes), entropy_rows, &j, pool);
}

// A tile of both sides, post's x being the difference of both, and for each variable the shift that
// makes it log p - log q = x - shift, and the KL.
typedef struct pair {
    side post, prior;
    float shift[WIDE], kl[WIDE];
} pair;

WK_INLINE void place_pair(pair *p, float *room, size_t numbers)
{
    place_side(&p->post, room, numbers);
    place_side(&p->prior, room + 2 * numbers, numbers);
    p->prior.scratch = p->post.scratch;
}

WK_INLINE void compare(const tile *t, const float *post, const float *prior, pair *p)
{
    load_side(t, post, &p->post);
    load_side(t, prior, &p->prior);
    for (size_t c = 0; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++) {
            size_t i = c * t->width + k;
            p->post.x[i] = (p->post.x[i] - p->post.max[k]) - (p->prior.x[i] - p->prior.max[k]);
        }
    dots(t, p->post.weight, p->post.x, p->kl);
#pragma GCC ivdep
    for (size_t k = 0; k < t->width; k++) {
        p->shift[k] = wk_logf(p->post.total[k]) - wk_logf(p->prior.total[k]);
        p->kl[k] = p->kl[k] * p->post.inverse[k] - p->shift[k];
    }
}

WK_INLINE void kl_rows_of(const job *j, size_t width, float *room, size_t numbers, size_t begin,
                          size_t end)
{
    size_t n = j->classes;
    pair p;
    place_pair(&p, room, numbers);
    row_counter row = {begin, j->variables};
    clear_rows(j, begin, end);
    for (size_t at = begin * j->variables; at < end * j->variables; at += width) {
        tile t = tile_of(j, width, at, end * j->variables);
        compare(&t, j->x + at * n, j->prior + at * n, &p);
        for (size_t k = 0; k < t.variables; k++)
            j->y[next_row(&row, j->variables)] += p.kl[k];
    }
}

BY_WIDTH(kl_rows, PAIR_TILES)

void wk_cpu_kl(size_t rows, size_t variables, size_t classes, const float *post, const float *prior,
               float *y, wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.variables = variables,
             .total = rows * variables,
             .classes = classes,
             .x = post,
             .prior = prior,
             .y = y};
    wk_cpu_for(rows, row_grain(variables, 2 * classes), kl_rows, &j, pool);
}

// dKL/dpost = p (log p - log q - KL), dKL/dprior = q - p, times dy of the variable; they
// take the place of the tile's x.
WK_INLINE void kl_gradients(const tile *t, const float *dy, pair *p)
{
    for (size_t c = 0; c < t->classes; c++)
#pragma GCC ivdep
        for (size_t k = 0; k < t->width; k++) {
            size_t i = c * t->width + k;
            float post = p->post.weight[i] * p->post.inverse[k];
            float prior = p->prior.weight[i] * p->prior.inverse[k];
            float logs = p->post.x[i] - p->shift[k];
            p->post.x[i] = dy[k] * post * (logs - p->kl[k]);
            p->prior.x[i] = dy[k] * (prior - post);
        }
}

WK_INLINE void kl_backward_rows_of(const job *j, size_t width, float *room, size_t numbers,
                                   size_t begin, size_t end)
{
    size_t n = j->classes;
    pair p;
    place_pair(&p, room, numbers);
    float dy[WIDE] = {0};
    row_counter row = {begin, j->variables};
    for (size_t at = begin * j->variables; at < end * j->variables; at += width) {
        tile t = tile_of(j, width, at, end * j->variables);
        if (j->dpost) prefetch_output(&t, j->dpost + at * n);
        compare(&t, j->x + at * n, j->prior + at * n, &p);
        if (j->dprior) prefetch_output(&t, j->dprior + at * n);
        for (size_t k = 0; k < t.variables; k++)
            dy[k] = j->dy[next_row(&row, j->variables)];
        kl_gradients(&t, dy, &p);
        if (j->dpost) store_tile(&t, p.post.x, j->dpost + at * n);
        if (j->dprior) store_tile(&t, p.prior.x, j->dprior + at * n);
    }
}

BY_WIDTH(kl_backward_rows, PAIR_TILES)

void wk_cpu_kl_backward(size_t rows, size_t variables, size_t classes, const float *post,
                        const float *prior, const float *dy, float *dpost, float *dprior,
                        wk_pool *pool)
{
    if (!has_classes(classes)) return;
    job j = {.variables = variables,
             .total = rows * variables,
             .classes = classes,
             .x = post,
             .prior = prior,
             .dy = dy,
             .dpost = dpost,
             .dprior = dprior};
    wk_cpu_for(rows, row_grain(variables, 2 * classes), kl_backward_rows, &j, pool);
}
