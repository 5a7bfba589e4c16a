// What functions of the public API begin with: the C locale, and checks of what callers give.
#ifndef WK_API_ENTRY_H
#define WK_API_ENTRY_H

#include "base/text.h"
#include "waker/env.h"
#include <locale.h>
#include <math.h>

/// Files and settings use a decimal point, whatever the caller's locale: functions that read or
/// write them enter the C locale and restore the caller's when they leave.
static inline locale_t wk_c_locale_enter(void)
{
    locale_t callers = uselocale((locale_t)0);
    wk_locale_use_c();
    return callers;
}

static inline void wk_c_locale_leave(locale_t callers)
{
    uselocale(callers);
}

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
