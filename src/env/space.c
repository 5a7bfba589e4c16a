// The θ of a domain's default distribution as one table, with a running sum of probabilities for
// drawing and a sorted index for finding. The table is checked while it is made, so that whatever a
// space hands out is an environment that can be made.
#include "env/domain.h"

#include "base/memory.h"
#include "base/random.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 1000000, SOBOL_POINTS = 1024 };

struct wk_space {
    const wk_domain *domain;
    bool continuous;
    size_t n_params;
    WK_ARRAY(double) params; // [count, n_params]
    WK_ARRAY(double) probability;
    double *below_or_at; // [count], sum of the probabilities up to and including each point
    size_t *sorted;      // [count], points in rising order of θ
};

static const double *params_of(const wk_space *space, size_t i)
{
    return space->params.items + i * space->n_params;
}

static wk_status no_memory(const wk_space *space, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory for the θ of domain '%s'", space->domain->name);
}

static wk_status add_point(wk_space *space, const double *theta, double probability, wk_error *err)
{
    if (space->probability.count == POINTS_MAX)
        return wk_fail(err, WK_E_INPUT, "the grid has more than %d points; make its steps larger",
                       POINTS_MAX);
    if (!wk_array_reserve(&space->params, space->n_params) ||
        !wk_array_push(&space->probability, probability))
        return no_memory(space, err);
    memcpy(space->params.items + space->params.count, theta, space->n_params * sizeof *theta);
    space->params.count += space->n_params;
    return WK_OK;
}

size_t wk_param_count(const wk_param *p)
{
    return p->max > p->min ? (size_t)llround((p->max - p->min) / p->step) + 1 : 1;
}

// min + i*step as the 0.15 a user writes and not 0.05 * 3. Beyond 2^53 billionths there is no such
// noise to remove, and steps that are not far above a billionth would be lost in the rounding.
double wk_param_value(const wk_param *p, size_t i)
{
    if (i == 0) return p->min;
    if (i == wk_param_count(p) - 1) return p->max;
    double value = p->min + (double)i * p->step, billionths = round(value * 1e9);
    return fabs(billionths) < 0x1p53 && p->step >= 1e-6 ? billionths / 1e9 : value;
}

// Every combination of the params' grids that the domain accepts; the last param varies fastest.
static wk_status add_product(wk_space *space, wk_error *err)
{
    const wk_domain *domain = space->domain;
    double combinations = 1;
    for (int k = 0; k < domain->n_params; k++)
        combinations *= (double)wk_param_count(&domain->params[k]);
    if (combinations > POINTS_MAX)
        return wk_fail(err, WK_E_INPUT,
                       "the grid has %.0f combinations, more than %d; make its steps larger, or "
                       "give grid_count and grid_point",
                       combinations, POINTS_MAX);
    for (size_t i = 0; i < (size_t)combinations; i++) {
        double theta[WK_PARAMS_MAX];
        size_t rest = i;
        for (int k = domain->n_params - 1; k >= 0; k--) {
            size_t length = wk_param_count(&domain->params[k]);
            theta[k] = wk_param_value(&domain->params[k], rest % length);
            rest /= length;
        }
        if (wk_domain_check_params(domain, theta, space->n_params, NULL) != WK_OK) continue;
        WK_TRY(add_point(space, theta, 0, err));
    }
    return WK_OK;
}

// A number in [0,1) as a value of a param: anywhere in its range, or one of the grid.
static double value_at(const wk_param *p, double u)
{
    return p->continuous ? p->min + u * (p->max - p->min)
                         : wk_param_value(p, (size_t)(u * (double)wk_param_count(p)));
}

// The points of a Sobol set that the domain accepts, each in the middle of what it stands for.
static wk_status add_sobol(wk_space *space, wk_error *err)
{
    const wk_domain *domain = space->domain;
    bool possible = false;
    for (int k = 0; k < domain->n_params; k++)
        possible |= domain->params[k].continuous && domain->params[k].max > domain->params[k].min;
    if (!possible)
        return wk_fail(err, WK_E_INPUT,
                       "domain '%s' has no continuous parameter: its space is the grid",
                       domain->name);
    for (uint32_t i = 0; i < SOBOL_POINTS; i++) {
        double theta[WK_PARAMS_MAX];
        wk_sobol_point(i, domain->n_params, theta);
        for (int k = 0; k < domain->n_params; k++)
            theta[k] = value_at(&domain->params[k], theta[k] + 0.5 / SOBOL_POINTS);
        if (wk_domain_check_params(domain, theta, space->n_params, NULL) != WK_OK) continue;
        WK_TRY(add_point(space, theta, 0, err));
    }
    return WK_OK;
}

// The points of a list; without `thetas` those that the domain lists itself. Without
// `probabilities` those of a caller are equally likely.
static wk_status add_list(wk_space *space, const double *thetas, const double *probabilities,
                          size_t count, wk_error *err)
{
    const wk_domain *domain = space->domain;
    double sum = 0;
    if (!thetas && (count < 1 || count > POINTS_MAX))
        return wk_fail(err, WK_E_INPUT, "grid_count gives %zu; it must lie in 1 to %d", count,
                       POINTS_MAX);
    if (count == 0) return wk_fail(err, WK_E_INPUT, "the list of θ is empty");
    for (size_t i = 0; i < count; i++) {
        double own[WK_PARAMS_MAX] = {0}, probability = NAN;
        const double *theta = thetas ? thetas + i * space->n_params : own;
        if (thetas)
            probability = probabilities ? probabilities[i] : 1.0 / (double)count;
        else
            domain->grid_point(i, own, &probability);
        wk_status status = wk_domain_check_params(domain, theta, space->n_params, err);
        if (status == WK_OK && !(probability >= 0 && probability <= 1))
            status = wk_fail(err, WK_E_INPUT, "its probability is %g; give 0 to 1", probability);
        if (status != WK_OK) {
            wk_fail_context(err, thetas ? "θ number %zu" : "grid_point(%zu)", thetas ? i + 1 : i);
            return status;
        }
        WK_TRY(add_point(space, theta, probability, err));
        sum += probability;
    }
    if (fabs(sum - 1) > 1e-6)
        return wk_fail(err, WK_E_INPUT,
                       "the probabilities of the %zu θ sum to %.9g; they must sum to 1", count,
                       sum);
    return WK_OK;
}

static int compare_theta(const double *a, const double *b, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (a[k] != b[k]) return a[k] < b[k] ? -1 : 1;
    return 0;
}

static int compare_points(const void *a, const void *b, void *context)
{
    const wk_space *space = context;
    return compare_theta(params_of(space, *(const size_t *)a), params_of(space, *(const size_t *)b),
                         space->n_params);
}

// Running sums of the probabilities and the sorted index. With `listed` the points are a caller's
// list of θ, else a domain's grid.
static wk_status index_points(wk_space *space, bool listed, wk_error *err)
{
    size_t count = space->probability.count;
    space->below_or_at = malloc(count * sizeof *space->below_or_at);
    space->sorted = malloc(count * sizeof *space->sorted);
    if (!space->below_or_at || !space->sorted) return no_memory(space, err);

    // Exactly 1 from the last possible point on, so that every draw below 1 finds a point whose
    // probability is not 0.
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        space->below_or_at[i] = sum += space->probability.items[i];
    for (size_t i = count; i-- > 0;) {
        space->below_or_at[i] = 1;
        if (space->probability.items[i] > 0) break;
    }

    for (size_t i = 0; i < count; i++)
        space->sorted[i] = i;
    qsort_r(space->sorted, count, sizeof *space->sorted, compare_points, space);
    for (size_t i = 1; i < count; i++) {
        size_t a = space->sorted[i - 1], b = space->sorted[i];
        if (compare_points(&a, &b, space) != 0) continue;
        return listed ? wk_fail(err, WK_E_INPUT,
                                "θ number %zu and %zu are the same θ; list it once", a + 1, b + 1)
                      : wk_fail(err, WK_E_INPUT,
                                "grid points %zu and %zu are the same θ; list it once with the "
                                "sum of their probabilities",
                                a, b);
    }
    return WK_OK;
}

// The domain's default distribution.
static wk_status fill(wk_space *space, wk_error *err)
{
    const wk_domain *domain = space->domain;
    if (domain->grid_count && space->continuous)
        return wk_fail(err, WK_E_INPUT,
                       "domain '%s' lists its θ itself: a continuous distribution is not possible",
                       domain->name);
    if (domain->grid_count) return add_list(space, NULL, NULL, domain->grid_count(), err);
    WK_TRY(space->continuous ? add_sobol(space, err) : add_product(space, err));
    if (space->probability.count == 0)
        return wk_fail(err, WK_E_INPUT, "check refuses every θ of the grid");
    for (size_t i = 0; i < space->probability.count; i++)
        space->probability.items[i] = 1.0 / (double)space->probability.count;
    return WK_OK;
}

// Without `thetas` the space is the default distribution.
static wk_status create(const wk_domain *domain, bool continuous, const double *thetas,
                        const double *probabilities, size_t count, wk_space **out, wk_error *err)
{
    wk_space *space = calloc(1, sizeof *space);
    if (!space) return wk_fail(err, WK_E_MEMORY, "no memory for the θ of '%s'", domain->name);
    space->domain = domain;
    space->continuous = continuous;
    space->n_params = (size_t)domain->n_params;
    wk_status status =
        thetas ? add_list(space, thetas, probabilities, count, err) : fill(space, err);
    if (status == WK_OK) status = index_points(space, thetas, err);
    if (status == WK_OK)
        *out = space;
    else
        wk_space_destroy(space);
    return status;
}

wk_status wk_space_create(const wk_domain *domain, bool continuous, wk_space **out, wk_error *err)
{
    return create(domain, continuous, NULL, NULL, 0, out, err);
}

wk_status wk_space_create_list(const wk_domain *domain, const double *thetas, size_t count,
                               wk_space **out, wk_error *err)
{
    return wk_space_create_weighted(domain, thetas, NULL, count, out, err);
}

wk_status wk_space_create_weighted(const wk_domain *domain, const double *thetas,
                                   const double *probabilities, size_t count, wk_space **out,
                                   wk_error *err)
{
    static const double none[WK_PARAMS_MAX]; // for a list that is NULL because it is empty
    return create(domain, false, thetas ? thetas : none, probabilities, count, out, err);
}

void wk_space_destroy(wk_space *space)
{
    if (!space) return;
    wk_array_free(&space->params);
    wk_array_free(&space->probability);
    free(space->below_or_at);
    free(space->sorted);
    free(space);
}

const wk_domain *wk_space_domain(const wk_space *space)
{
    return space->domain;
}

size_t wk_space_count(const wk_space *space)
{
    return space->probability.count;
}

const double *wk_space_params(const wk_space *space, size_t i)
{
    assert(i < space->probability.count);
    return params_of(space, i);
}

double wk_space_probability(const wk_space *space, size_t i)
{
    assert(i < space->probability.count);
    return space->probability.items[i];
}

bool wk_space_is_continuous(const wk_space *space)
{
    return space->continuous;
}

// The point nearest to θ, each param in units of its range.
static size_t nearest(const wk_space *space, const double *theta)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t i = 0; i < space->probability.count; i++) {
        double distance = wk_theta_distance(space->domain, params_of(space, i), theta);
        if (distance >= least) continue;
        least = distance;
        best = i;
    }
    return best;
}

static bool is_possible(const wk_space *space, const double *theta)
{
    return wk_domain_check_params(space->domain, theta, space->n_params, NULL) == WK_OK;
}

size_t wk_space_pick(const wk_space *space, const double *u, double *theta)
{
    assert(u[0] >= 0 && u[0] < 1);
    if (space->continuous) {
        for (size_t k = 0; k < space->n_params; k++)
            theta[k] = value_at(&space->domain->params[k], u[1 + k]);
        if (is_possible(space, theta)) return nearest(space, theta);
    }
    // The first point whose running sum exceeds u.
    size_t low = 0, high = space->probability.count - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->below_or_at[middle] > u[0])
            high = middle;
        else
            low = middle + 1;
    }
    memcpy(theta, params_of(space, low), space->n_params * sizeof *theta);
    return low;
}

void wk_space_place(const wk_space *space, size_t i, const double *u, double *theta)
{
    const double *point = wk_space_params(space, i);
    int dims = 0;
    for (size_t k = 0; k < space->n_params; k++)
        dims += space->domain->params[k].continuous;
    double side = dims > 0 ? pow((double)space->probability.count, -1.0 / dims) : 0;
    for (size_t k = 0; k < space->n_params; k++) {
        const wk_param *p = &space->domain->params[k];
        theta[k] = point[k];
        if (!space->continuous || !p->continuous) continue;
        theta[k] += (u[k] - 0.5) * side * (p->max - p->min);
        // Beyond an end it is turned back.
        if (theta[k] < p->min) theta[k] = 2 * p->min - theta[k];
        if (theta[k] > p->max) theta[k] = 2 * p->max - theta[k];
    }
    if (space->continuous && !is_possible(space, theta))
        memcpy(theta, point, space->n_params * sizeof *theta);
}

size_t wk_space_sample(const wk_space *space, uint64_t seed, uint64_t episode, double *theta)
{
    wk_rng rng = wk_rng_stream(seed, "domain-randomisation", episode);
    double u[1 + WK_PARAMS_MAX];
    for (size_t k = 0; k <= space->n_params; k++)
        u[k] = wk_rng_unit(&rng);
    return wk_space_pick(space, u, theta);
}

size_t wk_space_find(const wk_space *space, const double *theta)
{
    size_t low = 0, high = space->probability.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2, point = space->sorted[middle];
        int order = compare_theta(params_of(space, point), theta, space->n_params);
        if (order == 0) return point;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SIZE_MAX;
}
