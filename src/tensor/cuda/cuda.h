// The CUDA backend as the rest of the library sees it. A build without CUDA has the same functions;
// they report that there is no device.
#ifndef WK_TENSOR_CUDA_CUDA_H
#define WK_TENSOR_CUDA_CUDA_H

#include "tensor/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Precision of the inputs of matrix products; everything else is float32.
typedef enum wk_cuda_precision {
    WK_CUDA_F32,  // nothing: for parity with the CPU
    WK_CUDA_BF16, // bfloat16, summed in float32
} wk_cuda_precision;

/// A device.
typedef struct wk_cuda_device {
    char name[256];
    int capability;             // 90 for compute capability 9.0
    int processors;             // streaming multiprocessors
    size_t memory, memory_free; // bytes
} wk_cuda_device;

/// Number of usable devices; 0 where the library was built without CUDA, or there is no driver.
int wk_cuda_device_count(void);
/// Why there is none: "built without CUDA", "no CUDA driver", or what the driver says.
const char *wk_cuda_why_unavailable(void);
/// Describes device `device`, 0 ... count-1.
wk_status wk_cuda_device_describe(int device, wk_cuda_device *out, wk_error *err);

/// The backend on one device. WK_E_UNSUPPORTED without such a device or without CUDA in the build.
wk_status wk_backend_cuda_create(int device, wk_cuda_precision precision, wk_backend **out,
                                 wk_error *err);
/// The backends of a population of `count` members, which share one device: each has memory of its
/// own, and programs of all members can be compiled into one (wk_program_compile_population): those
/// of out[0], out[1], ... in this order, or of several neighbours. For that, members create and
/// destroy their buffers and programs in the same order. Copies and queues of one may access
/// buffers of another. Each is destroyed on its own.
wk_status wk_backend_cuda_create_population(int device, wk_cuda_precision precision, int count,
                                            wk_backend **out, wk_error *err);
/// How programs made from now on run the streams of their plans. The results are the same.
typedef enum wk_cuda_streams {
    WK_CUDA_STREAM_EACH,    // each on a CUDA stream of its own
    WK_CUDA_STREAM_ONE,     // all on one: for comparing
    WK_CUDA_STREAMS_UNEVEN, // each on its own, delayed at random: for finding missing waits
} wk_cuda_streams;
void wk_backend_cuda_streams(wk_backend *backend, wk_cuda_streams streams);
/// Programs made from now on do without these kernels and passes (wk_cuda_switch_off in
/// passes/fusion.h has their names): for measuring what each is worth.
wk_status wk_backend_cuda_switch_off(wk_backend *backend, const char *names, wk_error *err);

#ifdef __cplusplus
}
#endif
#endif
