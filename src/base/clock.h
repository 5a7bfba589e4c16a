// Time for measuring and for status lines; never an input to results.
#ifndef WK_BASE_CLOCK_H
#define WK_BASE_CLOCK_H

#include <time.h>

static inline double wk_clock_read(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/// Seconds of a clock that never goes back; only differences mean anything.
static inline double wk_clock_seconds(void)
{
    return wk_clock_read(CLOCK_MONOTONIC);
}

/// CPU seconds the calling thread has used.
static inline double wk_clock_thread_seconds(void)
{
    return wk_clock_read(CLOCK_THREAD_CPUTIME_ID);
}

#endif
