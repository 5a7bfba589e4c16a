#include "curriculum/surface.h"

#include "base/blas.h"
#include "base/rng.h"
#include "base/sobol.h"
#include <cblas.h>
#include <f77blas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 }; // different θ that are added at once
static const double JITTER = 1e-8, FLOOR = 1e-3;

// Bayesian linear regression on features φ of θ. What is kept of the reports: the information
// matrix A = Σ wφφᵀ with the prior's ridge, Σ wφδ, Σ wφ, and the weighted mean that is expected
// where nothing was reported; in one block of memory, so that saving is copying.
struct wk_surface {
    wk_surface_config config;
    const wk_domain *domain;
    size_t count, width, dims;           // θ of the space, features, parameters
    double *points;                      // [width,dims]: inducing points, or frequencies
    double *phases;                      // [width] of Fourier features
    double *factor;                      // [width,width] of the kernel at the inducing points
    double *table;                       // [count,width]: features of the space's θ
    double *sums;                        // the block
    double *information, *product, *sum; // A (lower half), Σ wφδ, Σ wφ
    double *weight, *total;              // Σ w, Σ wδ
    double *work;                        // [width,width + 1]
    double *rows;                        // [GROUP,width]
    double *error;                       // [count], as read last
    bool changed;                        // since then
};

wk_surface_config wk_surface_config_default(int n_params, double error_decay)
{
    enum { FEATURES = 128 };
    double half =
        n_params > 2 ? n_params / 2.0 : 1; // fewer points for each parameter reach further
    return (wk_surface_config){.kind = WK_SURFACE_INDUCING,
                               .features = FEATURES,
                               .length = 0.1 * half * half,
                               .ridge = 50,
                               .decay = error_decay};
}

static size_t sums_count(const wk_surface *s)
{
    return s->width * (s->width + 2) + 2;
}

static double *allocate(size_t count, bool *ok)
{
    double *numbers = calloc(count, sizeof *numbers);
    *ok &= numbers != NULL;
    return numbers;
}

static bool allocate_all(wk_surface *s)
{
    bool ok = true;
    size_t w = s->width;
    s->points = allocate(w * s->dims, &ok);
    s->phases = allocate(w, &ok);
    s->factor = allocate(w * w, &ok);
    s->table = allocate(s->count * w, &ok);
    s->sums = allocate(sums_count(s), &ok);
    s->work = allocate(w * (w + 1), &ok);
    s->rows = allocate(GROUP * w, &ok);
    s->error = allocate(s->count, &ok);
    if (!ok) return false;
    s->information = s->sums;
    s->product = s->information + w * w;
    s->sum = s->product + w;
    s->weight = s->sum + w;
    s->total = s->weight + 1;
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
        for (size_t j = 0; j < s->width; j++) {
            const double *point = s->points + j * s->dims;
            double sum = s->phases[j];
            for (size_t k = 0; k < s->dims; k++)
                sum += point[k] * x[k];
            out[i * s->width + j] = s->config.kind == WK_SURFACE_INDUCING
                                        ? kernel(s, point, x)
                                        : sqrt(2.0 / (double)s->width) * cos(sum);
        }
    }
    if (s->config.kind == WK_SURFACE_INDUCING) // φ = L⁻¹ k: each row is solved for
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

static bool place_inducing_points(wk_surface *s)
{
    for (size_t j = 0; j < s->width; j++)
        wk_sobol_point((uint32_t)j, (int)s->dims, s->points + j * s->dims);
    for (size_t i = 0; i < s->width; i++)
        for (size_t j = 0; j <= i; j++)
            s->factor[i * s->width + j] =
                kernel(s, s->points + i * s->dims, s->points + j * s->dims) + (i == j) * JITTER;
    return factorise(s->factor, s->width);
}

// Frequencies are normal: the kernel's spectrum.
static void draw_frequencies(wk_surface *s)
{
    wk_rng rng = wk_rng_stream(0, "surface", 0);
    for (size_t i = 0; i < s->width * s->dims; i++) {
        double radius = sqrt(-2 * log(1 - wk_rng_unit(&rng)));
        s->points[i] = radius * cos(2 * M_PI * wk_rng_unit(&rng)) / s->config.length;
    }
    for (size_t i = 0; i < s->width; i++)
        s->phases[i] = 2 * M_PI * wk_rng_unit(&rng);
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
                      .dims = (size_t)domain->n_params};
    openblas_set_num_threads(1); // the same bits for any number of threads, as in the learner
    bool placed = allocate_all(s);
    if (placed && config->kind == WK_SURFACE_INDUCING) placed = place_inducing_points(s);
    if (!placed) {
        wk_surface_destroy(s);
        return wk_fail(err, WK_E_MEMORY, "no memory for a model of the error over %zu θ",
                       wk_space_count(space));
    }
    if (config->kind == WK_SURFACE_FOURIER) draw_frequencies(s);
    features(s, wk_space_params(space, 0), s->count, s->table);
    for (size_t i = 0; i < s->width; i++)
        s->information[i * s->width + i] = config->ridge;
    s->changed = true;
    *out = s;
    return WK_OK;
}

void wk_surface_destroy(wk_surface *s)
{
    if (!s) return;
    free(s->points);
    free(s->phases);
    free(s->factor);
    free(s->table);
    free(s->sums);
    free(s->work);
    free(s->rows);
    free(s->error);
    free(s);
}

// Estimates of one θ, summed up.
typedef struct group {
    double theta[GROUP * WK_PARAMS_MAX], count[GROUP], sum[GROUP];
    size_t size;
} group;

// Older reports are forgotten in the direction of the new one alone, as a table forgets in the cell
// that is reported: of A, the part A φφᵀA / φᵀAφ is scaled by `keep`, and what belongs to it.
// Returns the weight of the new one: it fills up what is known there to 1 / (1 - decay), which is
// where reports of weight 1 lead to in time. So the first one there counts in full, as in a table.
static double forget(wk_surface *s, const double *row, double keep)
{
    int w = (int)s->width;
    double *along = s->work; // Aφ
    cblas_dsymv(CblasRowMajor, CblasLower, w, 1, s->information, w, row, 1, 0, along, 1);
    double known = cblas_ddot(w, row, 1, along, 1), length = cblas_ddot(w, row, 1, row, 1);
    double full = 1 / (1 - s->config.decay);
    if (!(known > 0)) return full;
    double share = (1 - keep) / known;
    cblas_daxpy(w, -share * cblas_ddot(w, row, 1, s->product, 1), along, 1, s->product, 1);
    cblas_daxpy(w, -share * cblas_ddot(w, row, 1, s->sum, 1), along, 1, s->sum, 1);
    cblas_dsyr(CblasRowMajor, CblasLower, w, -share, along, 1, s->information, w);
    double left = (keep * known - s->config.ridge * length) / (length * length);
    return fmax(full - fmax(left, 0), full * (1 - keep));
}

static void add_group(wk_surface *s, const group *g)
{
    int w = (int)s->width;
    features(s, g->theta, g->size, s->rows);
    for (size_t i = 0; i < g->size; i++) {
        const double *row = s->rows + i * s->width;
        double mean = g->sum[i] / g->count[i];
        double weight = forget(s, row, pow(s->config.decay, g->count[i]));
        cblas_dsyr(CblasRowMajor, CblasLower, w, weight, row, 1, s->information, w);
        cblas_daxpy(w, weight * mean, row, 1, s->product, 1);
        cblas_daxpy(w, weight, row, 1, s->sum, 1);
        double keep = pow(1 - (1 - s->config.decay) / (double)s->width, g->count[i]);
        *s->weight = keep * *s->weight + g->count[i];
        *s->total = keep * *s->total + g->sum[i];
    }
}

// The place of a θ in the group; a new one at its end. The estimates of an update come from a few
// episodes, so that there are few.
static size_t find(const wk_surface *s, const group *g, const double *theta)
{
    size_t i = 0;
    while (i < g->size && memcmp(g->theta + i * s->dims, theta, s->dims * sizeof *theta) != 0)
        i++;
    return i;
}

void wk_surface_report(wk_surface *s, const double *thetas, const float *delta, size_t count)
{
    group g = {.size = 0};
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(delta[i])) continue;
        const double *theta = thetas + i * s->dims;
        size_t at = find(s, &g, theta);
        if (at == GROUP) {
            add_group(s, &g);
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
    add_group(s, &g);
    s->changed = true;
}

// Solves (A + floor) x = Σ wφ(δ - mean); false where the matrix is not positive definite.
static bool solve(wk_surface *s, double mean, double floor, double *x)
{
    size_t w = s->width;
    blasint n = (blasint)w, one = 1, info = 0;
    memcpy(s->work, s->information, w * w * sizeof *s->work);
    for (size_t j = 0; j < w; j++) {
        s->work[j * w + j] += floor; // against rounding
        x[j] = s->product[j] - mean * s->sum[j];
    }
    if (!factorise(s->work, w)) return false;
    dpotrs_((char[]){'U'}, &n, &one, s->work, &n, x, &n, &info);
    return info == 0;
}

static bool refresh(wk_surface *s, double floor)
{
    double mean = *s->total / *s->weight, *x = s->work + s->width * s->width;
    bool known = *s->weight > 0;
    if (known && !solve(s, mean, floor, x)) return false;
    for (size_t i = 0; i < s->count; i++)
        s->error[i] = known ? mean : NAN;
    if (known)
        cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)s->count, (int)s->width, 1, s->table,
                    (int)s->width, x, 1, 1, s->error, 1);
    s->changed = false;
    return true;
}

// The first floor is enough for sums of reports. Those of a file that no reports led to can turn
// indefinite by the next one: they need more, or are not known any longer.
void wk_surface_read(wk_surface *s, double *error)
{
    const double most = 1e100;
    double floor = FLOOR * s->config.ridge;
    while (s->changed && !refresh(s, floor) && floor < most)
        floor *= 1e3;
    for (size_t i = 0; i < s->count; i++)
        error[i] = s->changed ? NAN : s->error[i];
}

size_t wk_surface_state_size(const wk_surface *s)
{
    return sums_count(s) * sizeof *s->sums;
}

void wk_surface_save(const wk_surface *s, void *bytes)
{
    memcpy(bytes, s->sums, wk_surface_state_size(s));
}

wk_status wk_surface_load(wk_surface *s, const void *bytes, wk_error *err)
{
    memcpy(s->sums, bytes, wk_surface_state_size(s));
    bool sound = *s->weight >= 0;
    for (size_t i = 0; i < sums_count(s); i++)
        sound &= fabs(s->sums[i]) < 1e100; // says no to NaN; products of two are finite
    if (sound && refresh(s, FLOOR * s->config.ridge)) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "a curriculum state whose error over θ cannot be computed");
}
