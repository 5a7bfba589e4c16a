// For tests of single kernels: a call to launch them with, noise in device memory, and results with
// guards around them.
#ifndef WK_TESTS_SUPPORT_DEVICE_MEMORY_CUH
#define WK_TESTS_SUPPORT_DEVICE_MEMORY_CUH

#include "tensor/cuda/runtime/device.cuh"

#include <cuda_bf16.h>
#include <stdio.h>
#include <vector>

/// A call of a bf16 program on the first GPU; false, having said so, where that is none for kernels
/// of hopper_*.cu.
static bool hopper_call(wk_cuda_call *call)
{
    int devices = 0;
    cudaDeviceProp about = {};
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 ||
        cudaGetDeviceProperties(&about, 0) != cudaSuccess || about.major != 9 || about.minor != 0) {
        printf("skipped: no GPU of compute capability 9.0\n");
        return false;
    }
    call->precision = WK_CUDA_BF16;
    call->processors = about.multiProcessorCount;
    call->members = 1;
    return true;
}

static __device__ float noise(size_t i, unsigned seed)
{
    unsigned x = (unsigned)i * 2654435761u + seed * 40503u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    x ^= x >> 16;
    return (float)(x & 0xffff) / 32768.0f - 1.0f;
}

__global__ void fill_bf16(__nv_bfloat16 *x, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        x[i] = __float2bfloat16_rn(noise(i, seed));
}

__global__ void fill_float(float *x, size_t n, unsigned seed)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        x[i] = noise(i, seed);
}

static __nv_bfloat16 *new_bf16(size_t n, unsigned seed)
{
    __nv_bfloat16 *x = NULL;
    cudaMalloc(&x, n * sizeof *x);
    fill_bf16<<<256, 256>>>(x, n, seed);
    return x;
}

static float *new_float(size_t n, unsigned seed)
{
    float *x = NULL;
    cudaMalloc(&x, n * sizeof *x);
    fill_float<<<256, 256>>>(x, n, seed);
    return x;
}

enum { GUARD = 1024, PATTERN = 0xa5 };

// A result with guards on both sides.
template <class T> struct guarded {
    size_t n;
    T *memory;
    std::vector<unsigned char> bytes, again;

    explicit guarded(size_t count) : n(count), memory(NULL)
    {
        cudaMalloc(&memory, n * sizeof(T) + 2 * GUARD);
        clear();
    }

    ~guarded()
    {
        cudaFree(memory);
    }

    void clear()
    {
        cudaMemset(memory, PATTERN, n * sizeof(T) + 2 * GUARD);
    }

    T *data()
    {
        return (T *)((char *)memory + GUARD);
    }

    std::vector<unsigned char> read()
    {
        std::vector<unsigned char> all(n * sizeof(T) + 2 * GUARD);
        cudaMemcpy(all.data(), memory, all.size(), cudaMemcpyDeviceToHost);
        return all;
    }

    static bool guards_hold(const std::vector<unsigned char> &all)
    {
        for (size_t i = 0; i < GUARD; i++)
            if (all[i] != PATTERN || all[all.size() - 1 - i] != PATTERN) return false;
        return true;
    }
};

#endif
