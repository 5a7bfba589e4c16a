// Where a run computes: the configuration's words for a device and a precision as a backend. What
// cannot be had is an error; nothing falls back on its own but "auto", which says what it chose.
#ifndef WK_TRAIN_DEVICE_H
#define WK_TRAIN_DEVICE_H

#include "base/pool.h"
#include "tensor/backend.h"

enum { WK_DEVICE_NAME_MAX = 300 };

/// Opens "cpu", "cuda", "cuda:N", or for "auto" the first GPU where there is one and else the CPU.
/// `precision` is "f32", "bf16" (GPUs only) or "auto": bf16 on a GPU, f32 on the CPU. `name` tells
/// people which it is.
wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         char name[WK_DEVICE_NAME_MAX], wk_error *err);

#endif
