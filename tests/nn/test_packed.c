// Numbers in 16 and 8 bits: the nearest there is comes back, and what does not fit is refused.
#include "base/random.h"
#include "nn/packed.h"
#include "support/check.h"
#include <math.h>
#include <stdlib.h>

static float value_of(uint16_t half)
{
    float value;
    wk_unpack_halves(&half, 1, &value);
    return value;
}

// By the definition of the format.
TEST_CASE(every_half_is_the_number_that_its_bits_say_and_comes_back)
{
    for (int bits = 0; bits < 0x10000; bits++) {
        int exponent = bits >> 10 & 31, fraction = bits & 1023;
        if (exponent == 31) {
            assert_false(isfinite(value_of((uint16_t)bits)));
            continue;
        }
        double size = exponent ? (1 + fraction / 1024.0) * pow(2, exponent - 15)
                               : fraction / 1024.0 * pow(2, -14);
        float value = value_of((uint16_t)bits);
        assert_true((double)value == (bits & 0x8000 ? -size : size));
        uint16_t again;
        assert_true(wk_pack_halves(&value, 1, &again));
        assert_int_equal(again, bits);
    }
}

TEST_CASE(a_number_becomes_the_nearest_half)
{
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t bits = i * 21467u + 7;
        float x;
        uint16_t half;
        memcpy(&x, &bits, sizeof x);
        if (!(fabsf(x) < 65504)) continue;
        assert_true(wk_pack_halves(&x, 1, &half));
        float away = fabsf(value_of(half) - x);
        if ((half & 0x7fff) < 0x7bff) assert_true(away <= fabsf(value_of(half + 1) - x));
        if (half & 0x7fff) assert_true(away <= fabsf(value_of(half - 1) - x));
    }
    // In the middle the even one.
    uint16_t half;
    assert_true(wk_pack_halves(&(float){1 + 1.0f / 2048}, 1, &half));
    assert_int_equal(half, 0x3c00);
    assert_true(wk_pack_halves(&(float){1 + 3.0f / 2048}, 1, &half));
    assert_int_equal(half, 0x3c02);
}

TEST_CASE(bytes_are_within_half_of_their_blocks_scale)
{
    enum { COUNT = 10 * WK_PACKED_BLOCK + 7 };
    float x[COUNT], y[COUNT];
    int8_t bytes[COUNT];
    uint16_t scales[11];
    wk_rng rng = wk_rng_stream(5, "packed", 0);
    assert_int_equal(wk_packed_scales(COUNT), 11);
    for (int i = 0; i < COUNT; i++) // one block of zeros, others of very different sizes
        x[i] = i / WK_PACKED_BLOCK == 3
                   ? 0
                   : (float)wk_rng_uniform(&rng, -1, 1) * powf(8, (float)(i / WK_PACKED_BLOCK) - 4);
    assert_true(wk_pack_bytes(x, COUNT, bytes, scales));
    wk_unpack_bytes(bytes, scales, COUNT, y);
    for (int i = 0; i < COUNT; i++) {
        float largest = 0;
        for (int k = i / WK_PACKED_BLOCK * WK_PACKED_BLOCK;
             k < COUNT && k / WK_PACKED_BLOCK == i / WK_PACKED_BLOCK; k++)
            largest = fmaxf(largest, fabsf(x[k]));
        if (fabsf(x[i] - y[i]) > 0.51f * largest / 127)
            fail_msg("%d: %g became %g, largest %g", i, (double)x[i], (double)y[i],
                     (double)largest);
    }
}

TEST_CASE(what_does_not_fit_is_refused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY, 65520, -1e9f};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        float x[3] = {1, bad[i], 2};
        uint16_t halves[3], scale;
        int8_t bytes[3];
        assert_false(wk_pack_halves(x, 3, halves));
        x[1] *= 127; // a scale has to fit
        assert_false(wk_pack_bytes(x, 3, bytes, &scale));
    }
    assert_true(wk_pack_halves(&(float){65519}, 1, &(uint16_t){0}));
}

TEST_MAIN(NULL, NULL)
