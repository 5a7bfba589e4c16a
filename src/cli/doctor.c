// waker doctor: what this machine and this build have, what is missing, and what to do about it.
// Optional libraries are looked up at run time, so that the program starts without them.
#include "base/machine.h"
#include "base/pool.h"
#include "base/table.h"
#include "cli/cli.h"
#include "env/domain.h"
#include "run/world.h"
#include "tensor/cuda/cuda.h"
#include "waker/env.h"

#include <dlfcn.h>
#include <mujoco/mujoco.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

// State of a part.
typedef enum health {
    OK,
    ABSENT, // optional and not there
    BROKEN, // required, and missing or wrong
} health;

enum { TEXT_MAX = 512 };

// What is known of a part.
typedef struct finding {
    health health;
    char found[TEXT_MAX];  // what is there, in words
    char advice[TEXT_MAX]; // what to do about it, or ""
} finding;

// Appends to a finding's text, cutting what does not fit.
static void __attribute__((format(printf, 2, 3))) say(char text[TEXT_MAX], const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, TEXT_MAX - used, format, args);
    va_end(args);
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

static void examine_cpu(finding *e)
{
    char model[200];
    read_cpu_model(model, sizeof model);
    say(e->found, "%s, %d core%s usable", model, wk_cpu_count(),
        wk_plural((uint64_t)wk_cpu_count()));
#if defined(__x86_64__)
    say(e->found, __builtin_cpu_supports("avx2") ? ", AVX2" : ", no AVX2");
    say(e->found, __builtin_cpu_supports("fma") ? ", FMA" : "");
    say(e->found, __builtin_cpu_supports("avx512f") ? ", AVX-512" : ", no AVX-512");
    if (!__builtin_cpu_supports("avx2"))
        say(e->advice, "the portable code is used; results are equal, images take longer");
#endif
}

static void examine_memory(finding *e)
{
    double page = (double)sysconf(_SC_PAGESIZE), gib = 1 << 30;
    say(e->found, "%.1f GiB, %.1f GiB free", (double)sysconf(_SC_PHYS_PAGES) * page / gib,
        (double)sysconf(_SC_AVPHYS_PAGES) * page / gib);
    uint64_t limit = wk_limits_now().memory;
    if (limit != UINT64_MAX)
        say(e->found, ", at most %.1f GiB for this process (control group)", (double)limit / gib);
}

static void examine_zlib(finding *e)
{
    say(e->found, "%s", zlibVersion());
    // zlib promises that programs run with any library of the same first number.
    if (zlibVersion()[0] == ZLIB_VERSION[0]) return;
    e->health = BROKEN;
    say(e->advice, "build waker again: it was built for zlib %s", ZLIB_VERSION);
}

static void examine_blas(finding *e)
{
    char *(*openblas_config)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "openblas_get_config");
    if (symbol) {
        memcpy(&openblas_config, &symbol, sizeof openblas_config);
        say(e->found, "%s", openblas_config());
    } else if (dlsym(RTLD_DEFAULT, "cblas_sgemm")) {
        say(e->found, "linked, vendor unknown");
    } else {
        e->health = ABSENT;
        say(e->found, "not linked into this build");
    }
}

static void examine_osmesa(finding *e)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"};
    void *handle = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    e->health = handle ? OK : ABSENT;
    say(e->found, handle ? "found; comparisons with MuJoCo's own images work" : "not found");
    if (!handle)
        say(e->advice,
            "only 'waker bench env' uses it, to compare; on Debian: apt install libosmesa6");
    else
        dlclose(handle);
}

// Makes the domain's hardest world, takes a step in it and draws it.
static wk_status try_domain(const wk_domain *domain, wk_error *err)
{
    static const float still[WK_ACTION_MAX];
    uint8_t image[WK_IMAGE_BYTES], flags = 0;
    wk_env *env;
    WK_TRY(wk_env_create(domain, NULL, &env, err));
    wk_status status =
        wk_env_reset(env, domain->hardest, (size_t)domain->n_params, 0, 0, &(wk_frame){0}, err);
    if (status == WK_OK)
        status = wk_env_step(env, still, &(wk_frame){.image = image, .flags = &flags}, err);
    if (status == WK_OK && (flags & WK_IS_DIVERGED))
        status = wk_fail(err, WK_E_DIVERGED, "the first step diverged");
    wk_env_destroy(env);
    return status;
}

static void examine_domains(finding *e)
{
    for (size_t i = 0; i < wk_domain_count(); i++) {
        const wk_domain *domain = wk_domain_at(i);
        wk_error err = {0};
        say(e->found, "%s%s", i ? ", " : "", domain->name);
        if (try_domain(domain, &err) == WK_OK) continue;
        e->health = BROKEN;
        say(e->found, " (broken)");
        say(e->advice, "%s: %.400s", domain->name, err.message);
    }
}

// Whether `version` is one of the items of `list`, which ", " separates.
static bool is_listed(const char *version, const char *list)
{
    size_t length = strlen(version);
    for (const char *item = list; *item; item += strspn(item, ", ")) {
        size_t end = strcspn(item, ", ");
        if (end == length && strncmp(item, version, length) == 0) return true;
        item += end;
    }
    return false;
}

static void judge_mujoco(int built_for, int loaded, const char *tested, finding *e)
{
    char built_text[WK_ENGINE_CHARS], loaded_text[WK_ENGINE_CHARS];
    wk_engine_print((uint64_t)built_for, built_text);
    wk_engine_print((uint64_t)loaded, loaded_text);
    if (loaded != built_for) {
        e->health = BROKEN;
        say(e->found, "%s at run time, but built for %s", loaded_text, built_text);
        say(e->advice,
            "build waker again, or set LD_LIBRARY_PATH to the MuJoCo %s it was built for",
            built_text);
    } else if (is_listed(loaded_text, tested)) {
        say(e->found, "%s", loaded_text);
    } else {
        say(e->found, "%s, a version that waker is not tested with", loaded_text);
        say(e->advice,
            "waker is tested with %s; run `make test` against this one, or build with one of "
            "those (MUJOCO_DIR)",
            tested);
    }
}

static void examine_mujoco(finding *e)
{
    judge_mujoco(mjVERSION_HEADER, mj_version(), WAKER_MUJOCO_TESTED, e);
}

// CUDA is asked of the driver's own library, so that a build without CUDA sees it too; the few
// entry points and numbers used here are fixed by the driver's ABI.
enum { CC_MAJOR = 75, CC_MINOR = 76 };

typedef struct driver {
    int (*init)(unsigned);
    int (*version)(int *);
    int (*count)(int *);
    int (*get)(int *, int);
    int (*name)(char *, int, int);
    int (*memory)(size_t *, int);
    int (*attribute)(int *, int, int);
} driver;

static bool built_with_cuda(void)
{
#ifdef WAKER_CUDA
    return true;
#else
    return false;
#endif
}

static bool load_driver(void *library, driver *d)
{
    const struct {
        const char *name;
        void *place;
    } symbols[] = {
        {"cuInit", &d->init},
        {"cuDriverGetVersion", &d->version},
        {"cuDeviceGetCount", &d->count},
        {"cuDeviceGet", &d->get},
        {"cuDeviceGetName", &d->name},
        {"cuDeviceTotalMem_v2", &d->memory},
        {"cuDeviceGetAttribute", &d->attribute},
    };
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol) return false;
        memcpy(symbols[i].place, &symbol, sizeof symbol);
    }
    return true;
}

// "; 0: NVIDIA H200, 139.8 GiB, compute capability 9.0"
static void describe_device(const driver *d, int i, finding *e)
{
    char name[128] = "?";
    size_t bytes = 0;
    int device = 0, major = 0, minor = 0;
    if (d->get(&device, i) != 0) return;
    d->name(name, sizeof name, device);
    d->memory(&bytes, device);
    d->attribute(&major, CC_MAJOR, device);
    d->attribute(&minor, CC_MINOR, device);
    say(e->found, "; %d: %s, %.1f GiB, compute capability %d.%d", i, name,
        (double)bytes / (1 << 30), major, minor);
}

static void describe_devices(const driver *d, finding *e)
{
    int version = 0, count = 0;
    d->version(&version);
    int code = d->init(0);
    if (code != 0 || d->count(&count) != 0 || count == 0) {
        e->health = ABSENT;
        say(e->found, "driver for CUDA %d.%d, but no usable device (code %d)", version / 1000,
            version % 1000 / 10, code);
        say(e->advice,
            "check nvidia-smi and CUDA_VISIBLE_DEVICES; waker runs on the CPU meanwhile");
        return;
    }
    say(e->found, "driver for CUDA %d.%d, %d device%s", version / 1000, version % 1000 / 10, count,
        wk_plural((uint64_t)count));
    for (int i = 0; i < count; i++)
        describe_device(d, i, e);
    if (!built_with_cuda())
        say(e->advice,
            "this build is without CUDA and runs on the CPU; to use the device: cmake --preset "
            "cuda && cmake --build build-cuda");
}

static void examine_cuda(finding *e)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    driver d;
    if (library && load_driver(library, &d)) {
        describe_devices(&d, e);
    } else {
        e->health = ABSENT;
        say(e->found, "no NVIDIA driver; waker was built %s CUDA",
            built_with_cuda() ? "with" : "without");
        say(e->advice,
            "not needed: everything runs on the CPU; install the NVIDIA driver to use a GPU");
    }
    if (library) dlclose(library);
}

static void examine_device(finding *e)
{
    wk_device device = {0};
    wk_cuda_device about = {0};
    wk_error err = {0};
    if (wk_device_choose("auto", "auto", &device, &err) != WK_OK) {
        e->health = BROKEN;
        say(e->found, "none");
        say(e->advice, "%.500s", err.message);
        return;
    }
    say(e->found, "%s: %s", device.name, device.why);
    if (device.number < 0 || wk_cuda_device_describe(device.number, &about, &err) != WK_OK) return;
    say(e->found, "; %.1f GiB free", (double)about.memory_free / (1 << 30));
}

typedef struct doctor_values {
    bool json;
} doctor_values;

static const doctor_values defaults;

#define WK_VALUES doctor_values
static const wk_arg args[] = {
    WK_OPT_FLAG("json", json, "print JSON"),
};

static const struct {
    const char *part;
    void (*examine)(finding *);
} parts[] = {
    {"processor", examine_cpu},   {"memory", examine_memory}, {"MuJoCo", examine_mujoco},
    {"domains", examine_domains}, {"zlib", examine_zlib},     {"BLAS", examine_blas},
    {"CUDA", examine_cuda},       {"device", examine_device}, {"OSMesa", examine_osmesa},
};
static wk_status run(wk_cli *cli, const void *given, wk_error *err)
{
    static const wk_column columns[] = {{WK_COLUMN_TEXT, "part", "part", NULL, 0},
                                        {WK_COLUMN_TEXT, "state", "state", NULL, 0},
                                        {WK_COLUMN_TEXT, "found", "found", NULL, 0},
                                        {WK_COLUMN_TEXT, "advice", NULL, NULL, 0}};
    static const char *const states[] = {"ok", "absent", "broken"};
    const doctor_values *values = given;
    int broken = 0;
    wk_table table;
    wk_text advice = {0}, out = {0};
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        finding e = {0};
        parts[i].examine(&e);
        broken += e.health == BROKEN;
        wk_table_text(&table, parts[i].part);
        wk_table_text(&table, states[e.health]);
        if (e.health == BROKEN) wk_table_shown(&table, "BROKEN");
        wk_table_text(&table, e.found);
        if (*e.advice)
            wk_table_text(&table, e.advice);
        else
            wk_table_absent(&table);
        if (*e.advice) wk_text_printf(&advice, "%s: %s.\n", parts[i].part, e.advice);
    }
    cli->findings = broken > 0;
    if (values->json) {
        wk_json json = {.text = &out};
        wk_json_object(&json, NULL);
        wk_json_string(&json, "version", WAKER_VERSION);
        wk_json_integer(&json, "broken", broken);
        wk_table_json(&table, "parts", &json);
        wk_json_close(&json, '}');
    } else {
        wk_text_puts(&out, "waker " WAKER_VERSION "\n\n");
        wk_table_print(&table, 0, &out);
        wk_text_printf(&out, "%s%s\n%s\n", advice.length ? "\n" : "", wk_text_get(&advice),
                       broken ? "Something required is broken." : "Everything required works.");
    }
    out.failed |= advice.failed;
    wk_text_free(&advice);
    wk_table_free(&table);
    return wk_cli_print(&out, err);
}

const wk_command wk_command_doctor = {
    .name = "doctor",
    .summary = "Show what this machine and this build support, and how to get what is missing",
    .usage = "doctor [--json]",
    .details = "Absent parts are optional. The exit code is 3 if a required part is broken.\n",
    .examples = "doctor",
    WK_COMMAND_OPTIONS(args, defaults),
    .run = run,
};
