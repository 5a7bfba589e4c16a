// The model's error as a function of θ, for spaces without a grid: Gaussian-process regression on
// reported estimates (θ, δ), by a fixed number of inducing points. The estimates are averaged in a
// fixed number of cells, where older ones are forgotten as in a table's; the regression is on these
// averages, so that its cost does not depend on how many estimates were reported.
#ifndef WK_CURRICULUM_SURFACE_H
#define WK_CURRICULUM_SURFACE_H

#include "waker/env.h"

typedef struct wk_surface_config {
    int features;  // inducing points
    int cells;     // at least as many as features
    double length; // of the kernel, in units of a parameter's range
    double ridge;  // variance of an estimate over that of the error between θ
    double decay;  // of a cell's average for each estimate, as in a table
} wk_surface_config;

/// 128 inducing points, 512 cells, a length of 0.1 for up to two parameters and (parameters / 2)²
/// times that for more, a ridge of 20, as measured by bench/bench_surface.c, and the decay of a
/// table (wk_curriculum_config).
wk_surface_config wk_surface_config_default(int n_params, double error_decay);

typedef struct wk_surface wk_surface;

/// Over the parameters' ranges, to be read at the θ of `space` (borrowed).
wk_status wk_surface_create(const wk_surface_config *config, const wk_domain *domain,
                            const wk_space *space, wk_surface **out, wk_error *err);
void wk_surface_destroy(wk_surface *surface);

/// Adds estimates: delta[i] at thetas[i], [count, n_params]. Numbers that are not finite are left
/// out.
void wk_surface_report(wk_surface *surface, const double *thetas, const float *delta, size_t count);

/// The error at every θ of the space; NaN while nothing was reported.
void wk_surface_read(wk_surface *surface, double *error);

/// What is kept of all reports, as bytes of this size.
size_t wk_surface_state_size(const wk_surface *surface);
void wk_surface_save(const wk_surface *surface, void *bytes);
wk_status wk_surface_load(wk_surface *surface, const void *bytes, wk_error *err);

#endif
