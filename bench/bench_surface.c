// Models of the error over θ compared, by their number of inducing points. Rank
// correlations with the true error (the model's and the table's) and with the table, on a grid of
// terrain's size and in six dimensions, and the cost of a report of 800 and of a decision (the
// fastest of many), after 100,000 estimates.
//
// Usage: bench_surface [DECAY]
#include "base/machine.h"
#include "base/random.h"
#include "curriculum/surface.h"
#include "waker/stats.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPORT = 16, STARTS = 50, ESTIMATES = 100000 };

#define PARAM(steps)                                                                               \
    {                                                                                              \
        .name = "x", .max = 1, .step = 1.0 / (steps), .legal_max = 1, .continuous = true           \
    }
static const wk_param terrain[] = {PARAM(20), PARAM(36)};
static const wk_param six[] = {PARAM(2), PARAM(2), PARAM(2), PARAM(2), PARAM(2), PARAM(2)};
static const wk_domain two_params = {.name = "two", .n_params = 2, .params = terrain};
static const wk_domain six_params = {.name = "six", .n_params = 6, .params = six};

static void must(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "%s\n", err->message);
    exit(1);
}

// A surface with a slope, a ridge and a corner that is hard, which all fall with time.
static double truth(const double *x, int n, double time)
{
    double slope = 0, corner = 1;
    for (int k = 0; k < n; k++) {
        slope += x[k] * (k % 2 ? -0.5 : 1) / n;
        corner *= exp(-8 * (1 - x[k]) * (1 - x[k]) / n);
    }
    return (1 + slope + 2 * corner + 0.5 * exp(-40 * pow(x[0] - 0.4, 2))) * (0.5 + exp(-2 * time));
}

static double normal(wk_rng *rng)
{
    double radius = sqrt(-2 * log(1 - wk_rng_unit(rng)));
    return radius * cos(2 * M_PI * wk_rng_unit(rng));
}

// An update's estimates: starts of sixteen episodes, each with noise of its own and of the episode.
static void draw(const wk_domain *d, const wk_space *space, uint64_t number, double *thetas,
                 size_t *index, float *delta)
{
    wk_rng rng = wk_rng_stream(1, "bench surface", number);
    double time = (double)number * REPORT * STARTS / ESTIMATES;
    for (int b = 0; b < REPORT; b++) {
        double u[1 + WK_PARAMS_MAX], theta[WK_PARAMS_MAX];
        for (int k = 0; k < 1 + WK_PARAMS_MAX; k++)
            u[k] = wk_rng_unit(&rng);
        size_t i = wk_space_pick(space, u, theta);
        double level = truth(theta, d->n_params, time) * exp(0.2 * normal(&rng));
        for (int t = 0; t < STARTS; t++) {
            int row = t * REPORT + b;
            for (int k = 0; k < d->n_params; k++)
                thetas[row * d->n_params + k] = theta[k];
            index[row] = i;
            delta[row] = (float)(level * exp(0.2 * normal(&rng)));
        }
    }
}

static double rank_with(const double *a, const double *b, size_t count)
{
    wk_error err = {0};
    double out;
    must(wk_stats_rank_correlation(a, b, count, &out, &err), &err);
    return out;
}

static void measure(const wk_domain *d, bool continuous, wk_surface_config config)
{
    static double thetas[REPORT * STARTS * WK_PARAMS_MAX];
    static size_t index[REPORT * STARTS];
    static float delta[REPORT * STARTS];
    wk_error err = {0};
    wk_space *space;
    wk_surface *surface;
    must(wk_space_create(d, continuous, &space, &err), &err);
    size_t count = wk_space_count(space);
    double *table = calloc(count, sizeof *table), *ours = calloc(count, sizeof *ours);
    double *real = calloc(count, sizeof *real), reporting = INFINITY;
    must(wk_surface_create(&config, d, space, &surface, &err), &err);
    for (size_t i = 0; i < count; i++)
        table[i] = NAN;
    uint64_t reports = ESTIMATES / (REPORT * STARTS);
    for (uint64_t r = 0; r < reports; r++) {
        draw(d, space, r, thetas, index, delta);
        for (int i = 0; i < REPORT * STARTS; i++) {
            double *cell = &table[index[i]];
            *cell = isnan(*cell) ? delta[i]
                                 : config.decay * *cell + (1 - config.decay) * (double)delta[i];
        }
        double began = wk_clock_seconds();
        wk_surface_report(surface, thetas, delta, REPORT * STARTS);
        reporting = fmin(reporting, wk_clock_seconds() - began);
    }
    enum { TIMES = 50 };
    double reading = INFINITY;
    for (int k = 0; k < TIMES; k++) {
        wk_surface_report(surface, thetas, delta, 0);
        double began = wk_clock_seconds();
        wk_surface_read(surface, ours);
        reading = fmin(reading, wk_clock_seconds() - began);
    }
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        if (isnan(table[i])) continue;
        table[known] = table[i];
        ours[known] = ours[i];
        real[known++] = truth(wk_space_params(space, i), d->n_params, 1);
    }
    printf("%8d  %4d  %6.2f  %5.3f    %5.3f  %5.3f  %7.3f   %7.3f\n", config.features, d->n_params,
           config.length, rank_with(ours, real, known), rank_with(table, real, known),
           rank_with(ours, table, known), 1e3 * reporting, 1e3 * reading);
    free(table);
    free(ours);
    free(real);
    wk_surface_destroy(surface);
    wk_space_destroy(space);
}

int main(int argc, char **argv)
{
    double decay = argc > 1 ? strtod(argv[1], NULL) : 0.99;
    static const double lengths[] = {0.5, 1, 2};
    printf("                rank correlation           ms\n"
           "features  dims  length   true  table's  table   report  decision\n");
    for (int dims = 2; dims <= 6; dims += 4)
        for (int n = 64; n <= 256; n *= 2)
            for (int l = 0; l < 3; l++) {
                wk_surface_config config = wk_surface_config_default(dims, decay);
                config.features = n;
                config.length *= lengths[l];
                measure(dims == 2 ? &two_params : &six_params, dims > 2, config);
            }
    return 0;
}
