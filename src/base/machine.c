#include "base/machine.h"

#include "base/file.h"
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PATH_CHARS = 4096, TEXT_CHARS = 64 };

// Version 1 says "none" by a number near 2^63.
static const double MEMORY_NONE = 1e18;

// The numbers a file begins with, at most two; how many there are: "max" is none.
static int read_numbers(const char *folder, const char *name, double out[2])
{
    char path[WK_PATH_MAX], text[TEXT_CHARS] = "";
    if (wk_path_join(folder, name, path, NULL) != WK_OK) return 0;
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    if (!fgets(text, sizeof text, file)) *text = 0;
    fclose(file);
    return sscanf(text, "%lf %lf", &out[0], &out[1]);
}

// The files of one group; those that are not of its version are not there.
static void read_group(const char *folder, wk_limits *limits)
{
    static const char *const memory[] = {"memory.max", "memory.limit_in_bytes"};
    double cpu[2] = {0}, period[2] = {0}, bytes[2] = {0};
    if (read_numbers(folder, "cpu.max", cpu) < 2 &&
        read_numbers(folder, "cpu.cfs_quota_us", cpu) == 1 &&
        read_numbers(folder, "cpu.cfs_period_us", period) == 1)
        cpu[1] = period[0];
    if (cpu[0] > 0 && cpu[1] > 0) limits->cpus = fmin(limits->cpus, cpu[0] / cpu[1]);
    for (int i = 0; i < 2; i++)
        if (read_numbers(folder, memory[i], bytes) >= 1 && bytes[0] >= 0 &&
            bytes[0] < MEMORY_NONE && bytes[0] < (double)limits->memory)
            limits->memory = (uint64_t)bytes[0];
}

// A line "4:memory:/a/b": the group and all around it, up to its hierarchy's root, which is what a
// container sees of its own.
static void read_line(char *line, const char *root, wk_limits *limits)
{
    line[strcspn(line, "\n")] = 0;
    char *controllers = strchr(line, ':'), *group;
    if (!controllers || !(group = strchr(++controllers, ':'))) return;
    *group++ = 0;
    char folder[PATH_CHARS];
    int top = snprintf(folder, sizeof folder, "%s%s%s", root, *controllers ? "/" : "", controllers);
    if (top + (int)strlen(group) >= (int)sizeof folder) return;
    strcpy(folder + top, strcmp(group, "/") == 0 ? "" : group);
    read_group(folder, limits);
    for (char *slash; (slash = strrchr(folder, '/')) && slash >= folder + top;) {
        *slash = 0;
        read_group(folder, limits);
    }
}

wk_limits wk_limits_read(const char *membership, const char *root)
{
    wk_limits limits = {.cpus = INFINITY, .memory = UINT64_MAX};
    FILE *file = fopen(membership, "re");
    if (!file) return limits;
    for (char line[PATH_CHARS]; fgets(line, sizeof line, file);)
        read_line(line, root, &limits);
    fclose(file);
    return limits;
}

wk_limits wk_limits_now(void)
{
    return wk_limits_read("/proc/self/cgroup", "/sys/fs/cgroup");
}

// Of OpenBLAS's own, which its header leaves out; another library has none and needs none.
void *blas_memory_alloc(int use) __attribute__((weak));
void blas_memory_free(void *block) __attribute__((weak));

enum { THREADS_MAX = 64 }; // it has fewer than twice as many blocks in all
static const size_t BLOCK = ((size_t)128 << 20) + 4096;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int taken;

// Asks for it and gives it back; volatile, or the compiler would know what becomes of that.
static bool is_there(size_t size)
{
    void *volatile block = malloc(size);
    bool there = block != NULL;
    free(block);
    return there;
}

// Blocks that are given back are kept for the next who ask.
static void take(int count)
{
    void *blocks[THREADS_MAX];
    for (int i = 0; i < count; i++)
        blocks[i] = blas_memory_alloc(0);
    for (int i = 0; i < count; i++)
        blas_memory_free(blocks[i]);
}

wk_status wk_blas_prepare(int threads, wk_error *err)
{
    if (!blas_memory_alloc || !blas_memory_free) return WK_OK;
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    pthread_mutex_lock(&mutex);
    bool enough = threads <= taken || is_there((size_t)(threads - taken) * BLOCK);
    if (enough && threads > taken) take(taken = threads);
    pthread_mutex_unlock(&mutex);
    if (enough) return WK_OK;
    return wk_fail(err, WK_E_MEMORY,
                   "no memory for OpenBLAS, which takes 128 MiB of address space for each of %d "
                   "threads; raise the limit (ulimit -v), or use fewer --threads",
                   threads);
}

static bool is_limited(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void wk_blas_without_threads(char **argv)
{
    static const char name[] = "OPENBLAS_NUM_THREADS";
    const char *now = getenv(name);
    if (!blas_memory_alloc || (now && strcmp(now, "1") == 0)) return;
    if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA)) return;
    if (setenv(name, "1", 1) == 0) execv("/proc/self/exe", argv);
}
