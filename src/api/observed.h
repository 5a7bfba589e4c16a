// Checks of what callers give: threads, and numbers in place of a domain's own observations.
#ifndef WK_API_OBSERVED_H
#define WK_API_OBSERVED_H

#include "waker/env.h"
#include "waker/error.h"
#include <math.h>

/// The range of wk_vec_create; 0 means as the run was configured.
static inline wk_status wk_check_threads(int threads, wk_error *err)
{
    if (threads >= 0 && threads <= 1024) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "threads: cannot use %d; give 1 to 1024, or 0 for the run's",
                   threads);
}

/// Whether both parts are there, as far as the domain is observed by them.
static inline wk_status wk_check_parts(const wk_domain *domain, const void *images,
                                       const void *vectors, wk_error *err)
{
    wk_observation_spec spec = domain->observation;
    if ((spec.no_image || images) && (spec.vector == 0 || vectors)) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "domain '%s' is observed by %s: give %s", domain->name,
                   spec.no_image     ? "a vector"
                   : spec.vector > 0 ? "an image and a vector"
                                     : "an image",
                   images || spec.no_image ? "vectors" : "images");
}

/// Whether numbers [count,width] are finite; `what` is one row of them.
static inline wk_status wk_check_finite(const char *what, const float *numbers, int count,
                                        int width, wk_error *err)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < width; k++)
            if (!isfinite(numbers[(size_t)i * (size_t)width + (size_t)k]))
                return wk_fail(err, WK_E_INPUT, "number %d of %s %d is not finite", k, what, i);
    return WK_OK;
}

/// Whether `count` observations are all there and their vectors finite.
static inline wk_status wk_check_observed(const wk_domain *domain, int count, const void *images,
                                          const float *vectors, wk_error *err)
{
    WK_TRY(wk_check_parts(domain, images, vectors, err));
    return wk_check_finite("vector", vectors, count, domain->observation.vector, err);
}

#endif
