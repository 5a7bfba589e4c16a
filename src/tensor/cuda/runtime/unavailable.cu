// Why no GPU can be used, as a message.
#include "tensor/cuda/cuda.h"

#include <cuda_runtime.h>

extern "C" const char *wk_cuda_why_unavailable(void)
{
    int driver = 0, count = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "no CUDA driver";
    cudaError_t error = cudaGetDeviceCount(&count);
    (void)cudaGetLastError();
    return error == cudaSuccess || error == cudaErrorNoDevice ? "no GPU found"
                                                              : cudaGetErrorString(error);
}
