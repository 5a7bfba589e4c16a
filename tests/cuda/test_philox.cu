// The promise of base/random.h: the same function compiled for the GPU draws the same bits as on
// the CPU. Exit code 77 (skipped) where there is no GPU.
#include "base/random.h"

#include <cstdio>
#include <cstring>

enum { BLOCKS = 10007 };
static const uint64_t KEY = 0x0123456789ABCDEFu, SUBSTREAM = 0xFEDCBA9876543210u;

__global__ void draw(wk_u32x4 *words, float *units)
{
    uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    if (i >= BLOCKS) return;
    words[i] = wk_philox_at(KEY, SUBSTREAM, i);
    units[i] = wk_unit_float(words[i].v[0]);
}

static int count_differences(const wk_u32x4 *words, const float *units)
{
    int different = 0;
    for (uint64_t i = 0; i < BLOCKS; i++) {
        wk_u32x4 expected = wk_philox_at(KEY, SUBSTREAM, i);
        different += memcmp(&expected, &words[i], sizeof expected) != 0;
        different += wk_unit_float(expected.v[0]) != units[i];
    }
    return different;
}

int main(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("skipped: no GPU\n");
        return 77;
    }
    static wk_u32x4 words[BLOCKS];
    static float units[BLOCKS];
    wk_u32x4 *device_words = NULL;
    float *device_units = NULL;
    cudaMalloc(&device_words, sizeof words);
    cudaMalloc(&device_units, sizeof units);
    draw<<<(BLOCKS + 255) / 256, 256>>>(device_words, device_units);
    cudaMemcpy(words, device_words, sizeof words, cudaMemcpyDeviceToHost);
    cudaMemcpy(units, device_units, sizeof units, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) {
        printf("FAILED: the kernel did not run\n");
        return 1;
    }
    int different = count_differences(words, units);
    printf("%d blocks drawn on the GPU, %d differ from the CPU\n", BLOCKS, different);
    return different ? 1 : 0;
}
