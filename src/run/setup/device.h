// The backend for a configuration's device and precision. An unavailable device is an error; only
// "auto" falls back, and it says what it chose.
#ifndef WK_RUN_SETUP_DEVICE_H
#define WK_RUN_SETUP_DEVICE_H

#include "base/pool.h"
#include "tensor/backend.h"

enum { WK_DEVICE_NAME_MAX = 300, WK_DEVICE_WHY_MAX = 160 };

/// The chosen device, and why.
typedef struct wk_device {
    int number; // of the GPU; -1 for the CPU
    bool bf16;
    char name[WK_DEVICE_NAME_MAX]; // for people: "cpu", "cuda:0 (NVIDIA H200, bf16)"
    char why[WK_DEVICE_WHY_MAX];   // "device auto, first of 2 GPUs"
} wk_device;

/// Chooses "cpu", "cuda", "cuda:N", or for "auto" the first GPU where there is one and else the
/// CPU. `precision` is "f32", "bf16" (GPUs only) or "auto": bf16 on a GPU, f32 on the CPU.
wk_status wk_device_choose(const char *device, const char *precision, wk_device *out,
                           wk_error *err);

/// Chooses and opens it.
wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         wk_device *chosen, wk_error *err);

/// As wk_device_open, for a population: backends [count], one for each run, which on the CPU are
/// one.
wk_status wk_device_open_population(const char *device, const char *precision, int count,
                                    wk_pool *pool, wk_backend **out, wk_device *chosen,
                                    wk_error *err);
void wk_device_close_population(wk_backend *const *backends, int count);

#endif
