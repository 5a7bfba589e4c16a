// What a container or batch system lets this process use: the limits of its control groups
// (cgroups, version 1 and 2) and of those around it. What cannot be read is no limit.
#ifndef WK_BASE_LIMITS_H
#define WK_BASE_LIMITS_H

#include <stdint.h>

typedef struct wk_limits {
    double cpus;     // processor seconds per second; infinite: no limit
    uint64_t memory; // bytes; UINT64_MAX: no limit
} wk_limits;

/// Those of this process.
wk_limits wk_limits_now(void);

/// As wk_limits_now, with `membership` for /proc/self/cgroup and `root` for /sys/fs/cgroup.
wk_limits wk_limits_read(const char *membership, const char *root);

#endif
