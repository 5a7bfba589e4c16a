#include "nn/packed.h"

#include <math.h>

// A half has 10 bits of fraction and an exponent from -14 on; below that the fraction alone.
bool wk_pack_halves(const float *numbers, size_t count, uint16_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const float beyond = 65520; // rounds to more than the largest half
        float size = fabsf(numbers[i]);
        if (!(size < beyond)) return false;
        int exponent = 0;
        (void)frexpf(size, &exponent);
        if (size == 0 || exponent < -13) exponent = -13;
        long fraction = lrintf(ldexpf(size, 11 - exponent)); // 1024 to 2048, or less below 2^-14
        out[i] = (uint16_t)((signbit(numbers[i]) ? 0x8000 : 0) + ((exponent + 14) << 10) +
                            (int)fraction - 1024);
    }
    return true;
}

static float half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                 : exponent > 0 ? ldexpf((float)(1024 + fraction), exponent - 25)
                                : ldexpf((float)fraction, -24);
    return half & 0x8000 ? -size : size;
}

void wk_unpack_halves(const uint16_t *halves, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = half_value(halves[i]);
}

bool wk_pack_bytes(const float *numbers, size_t count, int8_t *out, uint16_t *scales)
{
    for (size_t first = 0; first < count; first += WK_PACKED_BLOCK, scales++) {
        size_t end = first + WK_PACKED_BLOCK < count ? first + WK_PACKED_BLOCK : count;
        float largest = 0;
        for (size_t i = first; i < end; i++) {
            if (!isfinite(numbers[i])) return false;
            largest = fmaxf(largest, fabsf(numbers[i]));
        }
        largest /= 127;
        if (!wk_pack_halves(&largest, 1, scales)) return false;
        // The scale as it will be read; the largest number may be a little more than 127 of it.
        float scale = half_value(*scales);
        for (size_t i = first; i < end; i++)
            out[i] = scale > 0 ? (int8_t)fmaxf(-127, fminf(127, rintf(numbers[i] / scale))) : 0;
    }
    return true;
}

void wk_unpack_bytes(const int8_t *bytes, const uint16_t *scales, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)bytes[i] * half_value(scales[i / WK_PACKED_BLOCK]);
}
