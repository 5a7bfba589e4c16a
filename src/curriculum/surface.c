#include "curriculum/surface.h"

#include "base/machine.h"
#include "base/memory.h"
#include "base/random.h"
#include <assert.h>
#include <cblas.h>
#include <f77blas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 }; // different θ that are added at once
static const double JITTER = 1e-8, SPREAD_MIN = 1e-12;

// Bayesian linear regression on features φ of θ. What is kept of the reports: for each cell of the
// box, the running means of its estimates and of their features; in one block of memory, so that
// saving is copying.
struct wk_surface {
    wk_arena arena; // has all arrays
    wk_surface_config config;
    const wk_domain *domain;
    size_t count, width, cells, dims; // θ of the space, features, cells, parameters
    double *centres;                  // [cells,dims]; the first `width` are the inducing points
    double *factor;                   // [width,width] of the kernel at the inducing points
    double *table;                    // [count,width]: features of the space's θ
    double *block;                    // the three that follow
    double *spread;                   // [cells]: variance of the mean of a cell over that of one
                                      // estimate; 0: it has no estimates
    double *mean, *mean_feature;      // [cells], [cells,width]
    double *scaled;                   // [cells,width + 1]: in units of their noise
    double *work;                     // [width,width + 1]
    double *rows;                     // [CHUNK,width]
    double *error;                    // [count], as read last
    bool changed;                     // since then
};

wk_surface_config wk_surface_config_default(int n_params, double error_decay)
{
    enum { FEATURES = 128, CELLS = 512 };
    double half =
        n_params > 2 ? n_params / 2.0 : 1; // fewer points for each parameter reach further
    return (wk_surface_config){.features = FEATURES,
                               .cells = CELLS,
                               .length = 0.1 * half * half,
                               .ridge = 20,
                               .decay = error_decay};
}

static size_t block_count(const wk_surface *s)
{
    return s->cells * (s->width + 2);
}

static double *allocate(wk_surface *s, size_t count, bool *ok)
{
    double *numbers = wk_arena_alloc(&s->arena, count * sizeof *numbers);
    *ok &= numbers != NULL;
    return numbers;
}

static bool allocate_all(wk_surface *s)
{
    bool ok = true;
    size_t w = s->width;
    s->centres = allocate(s, s->cells * s->dims, &ok);
    s->factor = allocate(s, w * w, &ok);
    s->table = allocate(s, s->count * w, &ok);
    s->block = allocate(s, block_count(s), &ok);
    s->scaled = allocate(s, s->cells * (w + 1), &ok);
    s->work = allocate(s, w * (w + 1), &ok);
    s->rows = allocate(s, CHUNK * w, &ok);
    s->error = allocate(s, s->count, &ok);
    if (!ok) return false;
    s->spread = s->block;
    s->mean = s->spread + s->cells;
    s->mean_feature = s->mean + s->cells;
    return true;
}

// θ with every parameter from 0 to 1.
static void normalise(const wk_surface *s, const double *theta, double *out)
{
    for (size_t k = 0; k < s->dims; k++) {
        const wk_param *p = &s->domain->params[k];
        out[k] = p->max > p->min ? (theta[k] - p->min) / (p->max - p->min) : 0;
    }
}

static double kernel(const wk_surface *s, const double *a, const double *b)
{
    double sum = 0;
    for (size_t k = 0; k < s->dims; k++) {
        double d = (a[k] - b[k]) / s->config.length;
        sum += d * d;
    }
    return exp(-sum / 2);
}

// Features of `count` θ, [count,width]; their products are the kernel, nearly.
static void features(const wk_surface *s, const double *thetas, size_t count, double *out)
{
    double x[WK_PARAMS_MAX];
    for (size_t i = 0; i < count; i++) {
        normalise(s, thetas + i * s->dims, x);
        for (size_t j = 0; j < s->width; j++)
            out[i * s->width + j] = kernel(s, s->centres + j * s->dims, x);
    }
    // φ = L⁻¹ k: each row is solved for.
    cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)count,
                (int)s->width, 1, s->factor, (int)s->width, out, (int)s->width);
}

// Cholesky factor of the lower half of a row-major matrix; false where there is none.
static bool factorise(double *matrix, size_t width)
{
    blasint n = (blasint)width, info = 0;
    dpotrf_((char[]){'U'}, &n, matrix, &n, &info); // LAPACK reads it by columns
    return info == 0;
}

wk_status wk_surface_create(const wk_surface_config *config, const wk_domain *domain,
                            const wk_space *space, wk_surface **out, wk_error *err)
{
    WK_TRY(wk_blas_prepare(1, err));
    wk_surface *s = calloc(1, sizeof *s);
    if (!s) return wk_fail(err, WK_E_MEMORY, "no memory for a model of the error over θ");
    *s = (wk_surface){.config = *config,
                      .domain = domain,
                      .count = wk_space_count(space),
                      .width = (size_t)config->features,
                      .cells = (size_t)config->cells,
                      .dims = (size_t)domain->n_params};
    assert(config->cells >= config->features);
    openblas_set_num_threads(1); // the same bits for any number of threads, as in the learner
    bool made = allocate_all(s);
    for (size_t j = 0; made && j < s->cells; j++)
        wk_sobol_point((uint32_t)j, (int)s->dims, s->centres + j * s->dims);
    for (size_t i = 0; made && i < s->width; i++)
        for (size_t j = 0; j <= i; j++)
            s->factor[i * s->width + j] =
                kernel(s, s->centres + i * s->dims, s->centres + j * s->dims) + (i == j) * JITTER;
    if (!made || !factorise(s->factor, s->width)) {
        wk_surface_destroy(s);
        return wk_fail(err, WK_E_MEMORY, "no memory for a model of the error over %zu θ",
                       wk_space_count(space));
    }
    features(s, wk_space_params(space, 0), s->count, s->table);
    s->changed = true;
    *out = s;
    return WK_OK;
}

void wk_surface_destroy(wk_surface *s)
{
    if (!s) return;
    wk_arena_reset(&s->arena);
    free(s);
}

// Estimates of one θ, summed up.
typedef struct chunk {
    double theta[CHUNK * WK_PARAMS_MAX], count[CHUNK], sum[CHUNK];
    size_t size;
} chunk;

// The cell of a θ: that of the nearest centre.
static size_t cell_of(const wk_surface *s, const double *theta)
{
    double x[WK_PARAMS_MAX], min = INFINITY;
    size_t nearest = 0;
    normalise(s, theta, x);
    for (size_t j = 0; j < s->cells; j++) {
        double sum = 0;
        for (size_t k = 0; k < s->dims; k++)
            sum += pow(s->centres[j * s->dims + k] - x[k], 2);
        if (sum < min) nearest = j;
        min = fmin(min, sum);
    }
    return nearest;
}

// Older estimates are forgotten in the cell of the new ones alone, as in a table; and as there, the
// first ones count in full. The spread is the sum of the squared weights in such an average.
static void add_chunk(wk_surface *s, const chunk *g)
{
    int w = (int)s->width;
    double decay = s->config.decay, limit = (1 - decay) / (1 + decay);
    features(s, g->theta, g->size, s->rows);
    for (size_t i = 0; i < g->size; i++) {
        size_t cell = cell_of(s, g->theta + i * s->dims);
        bool first = s->spread[cell] == 0;
        double keep = first ? 0 : pow(decay, g->count[i]);
        double *feature = s->mean_feature + cell * s->width;
        cblas_dscal(w, keep, feature, 1);
        cblas_daxpy(w, 1 - keep, s->rows + i * s->width, 1, feature, 1);
        s->mean[cell] = keep * s->mean[cell] + (1 - keep) * g->sum[i] / g->count[i];
        s->spread[cell] =
            first ? 1 / g->count[i] : keep * keep * s->spread[cell] + (1 - keep * keep) * limit;
    }
}

// The place of a θ in the chunk; a new one at its end. The estimates of an update come from a few
// episodes, so that there are few.
static size_t find(const wk_surface *s, const chunk *g, const double *theta)
{
    size_t i = 0;
    while (i < g->size && memcmp(g->theta + i * s->dims, theta, s->dims * sizeof *theta) != 0)
        i++;
    return i;
}

void wk_surface_report(wk_surface *s, const double *thetas, const float *delta, size_t count)
{
    chunk g = {.size = 0};
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(delta[i])) continue;
        const double *theta = thetas + i * s->dims;
        size_t at = find(s, &g, theta);
        if (at == CHUNK) {
            add_chunk(s, &g);
            at = g.size = 0;
        }
        if (at == g.size) {
            memcpy(g.theta + at * s->dims, theta, s->dims * sizeof *theta);
            g.count[at] = g.sum[at] = 0;
            g.size++;
        }
        g.count[at]++;
        g.sum[at] += (double)delta[i];
    }
    add_chunk(s, &g);
    s->changed = true;
}

// The mean over all cells with estimates, which is expected where there are none; NaN: no cell has.
static double mean_of_all(const wk_surface *s)
{
    double sum = 0, count = 0;
    for (size_t j = 0; j < s->cells; j++) {
        sum += s->spread[j] > 0 ? s->mean[j] : 0;
        count += s->spread[j] > 0;
    }
    return sum / count;
}

// Features and means of all cells, divided by the standard deviation of the mean.
static void scale_cells(wk_surface *s, double mean)
{
    size_t w = s->width;
    double *rest = s->scaled + s->cells * w;
    memcpy(s->scaled, s->mean_feature, s->cells * w * sizeof *s->scaled);
    for (size_t j = 0; j < s->cells; j++) {
        double scale = s->spread[j] > 0 ? 1 / sqrt(s->config.ridge * s->spread[j]) : 0;
        cblas_dscal((int)w, scale, s->scaled + j * w, 1);
        rest[j] = scale * (s->mean[j] - mean);
    }
}

// Weights x of the features, by (ΦᵀΦ + 1) x = Φᵀ(δ - mean) of the scaled cells.
static bool solve(wk_surface *s, double mean, double *x)
{
    int w = (int)s->width, cells = (int)s->cells;
    const double *rest = s->scaled + s->cells * s->width;
    blasint n = w, one = 1, info = 0;
    scale_cells(s, mean);
    cblas_dgemv(CblasRowMajor, CblasTrans, cells, w, 1, s->scaled, w, rest, 1, 0, x, 1);
    cblas_dsyrk(CblasRowMajor, CblasLower, CblasTrans, w, cells, 1, s->scaled, w, 0, s->work, w);
    for (int j = 0; j < w; j++)
        s->work[j * w + j] += 1;
    if (!factorise(s->work, s->width)) return false;
    dpotrs_((char[]){'U'}, &n, &one, s->work, &n, x, &n, &info);
    return info == 0;
}

static bool refresh(wk_surface *s)
{
    double mean = mean_of_all(s), *x = s->work + s->width * s->width;
    for (size_t i = 0; i < s->count; i++)
        s->error[i] = mean;
    if (!isnan(mean)) {
        if (!solve(s, mean, x)) return false;
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)s->count, (int)s->width, 1, s->table,
                    (int)s->width, x, 1, 1, s->error, 1);
    }
    s->changed = false;
    return true;
}

// Reports keep the matrix positive definite. After a crafted state of a file it may not be, to
// rounding: then no error is known.
void wk_surface_read(wk_surface *s, double *error)
{
    bool known = !s->changed || refresh(s);
    for (size_t i = 0; i < s->count; i++)
        error[i] = known ? s->error[i] : NAN;
}

size_t wk_surface_state_size(const wk_surface *s)
{
    return block_count(s) * sizeof *s->block;
}

void wk_surface_save(const wk_surface *s, void *bytes)
{
    memcpy(bytes, s->block, wk_surface_state_size(s));
}

// Accepts only what can be computed with; all comparisons say no to NaN.
wk_status wk_surface_load(wk_surface *s, const void *bytes, wk_error *err)
{
    int w = (int)s->width;
    memcpy(s->block, bytes, wk_surface_state_size(s));
    bool sound = true;
    for (size_t i = 0; i < s->cells; i++) {
        const double *feature = s->mean_feature + i * s->width;
        double spread = s->spread[i];
        sound &= spread == 0 || (spread >= SPREAD_MIN && spread <= 1);
        sound &= fabs(s->mean[i]) < 1e100 && cblas_ddot(w, feature, 1, feature, 1) <= 2;
    }
    if (sound && refresh(s)) return WK_OK;
    memset(s->block, 0, wk_surface_state_size(s)); // an older checkpoint may be tried next
    s->changed = true;
    return wk_fail(err, WK_E_FORMAT, "a curriculum state whose error over θ cannot be computed");
}
