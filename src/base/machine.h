// The machine: clocks, the limits a container or batch system sets, and OpenBLAS under them.
#ifndef WK_BASE_MACHINE_H
#define WK_BASE_MACHINE_H

#include "waker/error.h"
#include <stdint.h>
#include <time.h>

// Time for measuring and for status lines; never an input to results.

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

/// What a container or batch system lets this process use: the limits of its control groups
/// (cgroups, version 1 and 2) and of those around it. What cannot be read is no limit.
typedef struct wk_limits {
    double cpus;     // processor seconds per second; infinite: no limit
    uint64_t memory; // bytes; UINT64_MAX: no limit
} wk_limits;

/// Those of this process.
wk_limits wk_limits_now(void);

/// As wk_limits_now, with `membership` for /proc/self/cgroup and `root` for /sys/fs/cgroup.
wk_limits wk_limits_read(const char *membership, const char *root);

// OpenBLAS allocates 128 MiB of address space for every thread that calls it, at the first call,
// and retries forever when that fails (ulimit -v, as batch systems set it). So the memory is
// allocated up front, where failure can be reported.

/// Has OpenBLAS allocate its memory for `threads` threads that call it at the same time, and keep
/// it.
wk_status wk_blas_prepare(int threads, wk_error *err);

/// For main, before anything else: OpenBLAS also starts a thread for each further core as it is
/// loaded. waker never uses them, and where they find no memory they never end, so that the program
/// hangs at its exit. Under a limit the program starts itself again without them.
void wk_blas_without_threads(char **argv);

#endif
