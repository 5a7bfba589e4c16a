// What waker doctor looks at, one function per part of the machine. Optional libraries are looked
// up at run time, so that the program starts without them.
#include "base/limits.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/doctor.h"
#include "waker/env.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { CPUINFO_MAX = 1 << 16 };

// Appends to a fixed text, cutting what does not fit.
static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

// The value after "name : " in /proc/cpuinfo; the file has no size, so it is read as a stream.
static void read_cpu_model(char *model, size_t size)
{
    snprintf(model, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    if (!file) return;
    char line[512];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        snprintf(model, size, "%s", colon + 2);
        model[strcspn(model, "\n")] = 0;
        break;
    }
    fclose(file);
}

void wk_doctor_cpu(wk_doctor_finding *e)
{
    char model[200];
    read_cpu_model(model, sizeof model);
    snprintf(e->found, sizeof e->found, "%s, %d core%s usable", model, wk_cpu_count(),
             wk_plural((uint64_t)wk_cpu_count()));
#if defined(__x86_64__)
    append(e->found, sizeof e->found, __builtin_cpu_supports("avx2") ? ", AVX2" : ", no AVX2");
    append(e->found, sizeof e->found, __builtin_cpu_supports("fma") ? ", FMA" : "");
    append(e->found, sizeof e->found,
           __builtin_cpu_supports("avx512f") ? ", AVX-512" : ", no AVX-512");
    if (!__builtin_cpu_supports("avx2"))
        snprintf(e->advice, sizeof e->advice,
                 "the portable code is used; results are equal, images take longer");
#endif
}

void wk_doctor_memory(wk_doctor_finding *e)
{
    double page = (double)sysconf(_SC_PAGESIZE), gib = 1 << 30;
    snprintf(e->found, sizeof e->found, "%.1f GiB, %.1f GiB free",
             (double)sysconf(_SC_PHYS_PAGES) * page / gib,
             (double)sysconf(_SC_AVPHYS_PAGES) * page / gib);
    uint64_t limit = wk_limits_now().memory;
    char text[64];
    snprintf(text, sizeof text, ", at most %.1f GiB for this process (control group)",
             (double)limit / gib);
    if (limit != UINT64_MAX) append(e->found, sizeof e->found, text);
}

void wk_doctor_zlib(wk_doctor_finding *e)
{
    snprintf(e->found, sizeof e->found, "%s", zlibVersion());
    // zlib promises that programs run with any library of the same first number.
    if (zlibVersion()[0] == ZLIB_VERSION[0]) return;
    e->health = WK_HEALTH_BROKEN;
    snprintf(e->advice, sizeof e->advice, "build waker again: it was built for zlib %s",
             ZLIB_VERSION);
}

void wk_doctor_blas(wk_doctor_finding *e)
{
    char *(*openblas_config)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_config");
    if (symbol) {
        memcpy(&openblas_config, &symbol, sizeof openblas_config);
        snprintf(e->found, sizeof e->found, "%s", openblas_config());
    } else if (dlsym(RTLD_DEFAULT, "cblas_sgemm")) {
        snprintf(e->found, sizeof e->found, "linked, vendor unknown");
    } else {
        e->health = WK_HEALTH_ABSENT;
        snprintf(e->found, sizeof e->found, "not linked into this build");
    }
}

static void *open_first(const char *const *names, size_t count)
{
    void *handle = NULL;
    for (size_t i = 0; i < count && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    return handle;
}

void wk_doctor_osmesa(wk_doctor_finding *e)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"};
    void *handle = open_first(names, sizeof names / sizeof *names);
    if (handle) {
        snprintf(e->found, sizeof e->found, "found; comparisons with MuJoCo's own images work");
        dlclose(handle);
        return;
    }
    e->health = WK_HEALTH_ABSENT;
    snprintf(e->found, sizeof e->found, "not found");
    snprintf(e->advice, sizeof e->advice,
             "only 'waker bench env' uses it, to compare; on Debian: apt install libosmesa6");
}

static wk_status try_episode(const wk_domain *domain, wk_env *env, wk_error *err)
{
    static const float still[WK_ACTION_MAX];
    uint8_t image[WK_IMAGE_BYTES], flags = 0;
    wk_frame frame = {.image = image, .flags = &flags};
    WK_TRY(wk_env_reset(env, domain->hardest, (size_t)domain->n_params, 0, 0, &(wk_frame){0}, err));
    WK_TRY(wk_env_step(env, still, &frame, err));
    if (flags & WK_IS_DIVERGED) return wk_fail(err, WK_E_DIVERGED, "the first step diverged");
    return WK_OK;
}

static wk_status try_domain(const wk_domain *domain, wk_error *err)
{
    wk_env *env;
    WK_TRY(wk_env_create(domain, NULL, &env, err));
    wk_status status = try_episode(domain, env, err);
    wk_env_destroy(env);
    return status;
}

void wk_doctor_domains(wk_doctor_finding *e)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        wk_error err = {0};
        append(e->found, sizeof e->found, i ? ", " : "");
        append(e->found, sizeof e->found, domain->name);
        if (try_domain(domain, &err) == WK_OK) continue;
        e->health = WK_HEALTH_BROKEN;
        append(e->found, sizeof e->found, " (broken)");
        snprintf(e->advice, sizeof e->advice, "%s: %.400s", domain->name, err.message);
    }
}
