// What the passes know of a device: numbers, so that they run, and are tested, without one.
#ifndef WK_TENSOR_CUDA_PASSES_LIMITS_H
#define WK_TENSOR_CUDA_PASSES_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct wk_cuda_limits {
    int capability;       // 90 for compute capability 9.0
    int processors;       // streaming multiprocessors: of a population, a member's share
    int members;          // runs that share the device
    size_t shared_memory; // maximum of a block, in bytes
    size_t cache;         // of the second level, in bytes
    bool bf16;            // products in bf16; without, nothing is fused
    unsigned off;         // parts that a benchmark switched off: bits of wk_part (fusion.h)
} wk_cuda_limits;

#endif
