// CUDA as waker doctor sees it: through the driver's own library, loaded if it is there, so that a
// build without CUDA sees it too; the few entry points and numbers used here are fixed by the
// driver's ABI. Which device a run takes is asked of what opens it.
#include "cli/doctor.h"
#include "run/world.h"
#include "tensor/cuda/cuda.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

// Appends "; 0: NVIDIA H200, 139.8 GiB, compute capability 9.0".
static void append_device(const driver *d, int i, char *text, size_t size)
{
    char name[128] = "?";
    size_t bytes = 0;
    int device = 0, major = 0, minor = 0;
    if (d->get(&device, i) != 0) return;
    d->name(name, sizeof name, device);
    d->memory(&bytes, device);
    d->attribute(&major, CC_MAJOR, device);
    d->attribute(&minor, CC_MINOR, device);
    size_t used = strlen(text);
    snprintf(text + used, size - used, "; %d: %s, %.1f GiB, compute capability %d.%d", i, name,
             (double)bytes / (1 << 30), major, minor);
}

static void describe_devices(const driver *d, wk_doctor_finding *e)
{
    int version = 0, count = 0;
    d->version(&version);
    int code = d->init(0);
    if (code != 0 || d->count(&count) != 0 || count == 0) {
        e->health = WK_HEALTH_ABSENT;
        snprintf(e->found, sizeof e->found, "driver for CUDA %d.%d, but no usable device (code %d)",
                 version / 1000, version % 1000 / 10, code);
        snprintf(e->advice, sizeof e->advice,
                 "check nvidia-smi and CUDA_VISIBLE_DEVICES; waker runs on the CPU meanwhile");
        return;
    }
    snprintf(e->found, sizeof e->found, "driver for CUDA %d.%d, %d device%s", version / 1000,
             version % 1000 / 10, count, wk_plural((uint64_t)count));
    for (int i = 0; i < count; i++)
        append_device(d, i, e->found, sizeof e->found);
    if (!built_with_cuda())
        snprintf(
            e->advice, sizeof e->advice,
            "this build is without CUDA and runs on the CPU; to use the device: cmake --preset "
            "cuda && cmake --build build-cuda");
}

void wk_doctor_cuda(wk_doctor_finding *e)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    driver d;
    if (library && load_driver(library, &d)) {
        describe_devices(&d, e);
    } else {
        e->health = WK_HEALTH_ABSENT;
        snprintf(e->found, sizeof e->found, "no NVIDIA driver; waker was built %s CUDA",
                 built_with_cuda() ? "with" : "without");
        snprintf(e->advice, sizeof e->advice,
                 "not needed: everything runs on the CPU; install the NVIDIA driver to use a GPU");
    }
    if (library) dlclose(library);
}

void wk_doctor_device(wk_doctor_finding *e)
{
    wk_device device = {0};
    wk_cuda_device about = {0};
    wk_error err = {0};
    if (wk_device_choose("auto", "auto", &device, &err) != WK_OK) {
        e->health = WK_HEALTH_BROKEN;
        snprintf(e->found, sizeof e->found, "none");
        snprintf(e->advice, sizeof e->advice, "%.500s", err.message);
        return;
    }
    snprintf(e->found, sizeof e->found, "%s: %s", device.name, device.why);
    if (device.number < 0 || wk_cuda_device_describe(device.number, &about, &err) != WK_OK) return;
    size_t used = strlen(e->found);
    snprintf(e->found + used, sizeof e->found - used, "; %.1f GiB free",
             (double)about.memory_free / (1 << 30));
}
