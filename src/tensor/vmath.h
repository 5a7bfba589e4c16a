// Elementary functions in float32 for loops the compiler vectorises: no branches, no tables, no
// library calls, only + - * /, comparisons and integer operations. That makes the result the same
// bits on every instruction set, and on a GPU when compiled without contraction. The largest errors
// against exact values, checked by the tests, stand with each function. NaN gives NaN.
#ifndef WK_TENSOR_VMATH_H
#define WK_TENSOR_VMATH_H

#include "base/random.h"
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define WK_VMATH WK_HOST_DEVICE static inline
#else
#define WK_VMATH static inline __attribute__((always_inline))
#endif

WK_VMATH float wk_float_of_bits(int32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

WK_VMATH int32_t wk_bits_of_float(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/// 2^n for -127 < n < 128; anything else (from a NaN) gives some number.
WK_VMATH float wk_power_of_two(int32_t n)
{
    return wk_float_of_bits((int32_t)(((uint32_t)n + 127u) << 23));
}

/// x = n ln 2 + r with |r| <= ln 2 / 2; returns exp(r) - 1, exact to the last bit or so, and n.
/// Adding 1.5 * 2^23 rounds to an integer that stands in the low bits.
WK_VMATH float wk_exp_reduced(float x, int32_t *n)
{
    const float round = 12582912.0f, log2_e = 0x1.715476p+0f;
    const float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f; // high: 9 bits, n * high exact
    float rounded = x * log2_e + round;
    *n = (int32_t)((uint32_t)wk_bits_of_float(rounded) - 0x4b400000u); // less the bits of `round`
    float whole = rounded - round;
    float r = (x - whole * ln2_high) - whole * ln2_low;
    // Minimax of (exp(r) - 1 - r) / r^2, in pairs: a short chain of dependent operations is what
    // makes the vectorised loop fast.
    float square = r * r;
    float tail = 0x1.6d7b3ap-10f + 0x1.a1a906p-13f * r;
    tail = (0x1.5554a8p-5f + 0x1.11108ap-7f * r) + square * tail;
    tail = (0.5f + 0x1.555556p-3f * r) + square * tail;
    return square * tail + r;
}

/// exp(x), 1 ulp; 0 below -86.6 (no denormals), infinity above 88.72.
WK_VMATH float wk_expf(float x)
{
    float high = 88.73f, clipped = high < x ? high : x; // this way round a NaN stays
    int32_t n;
    float q = wk_exp_reduced(clipped, &n);
    // 2^n in two factors, since n reaches 128 just below the overflow; n - 1 stays above -127.
    float half = wk_power_of_two(n - 1);
    float y = (half + half * q) * 2.0f;
    return x < -86.6f ? 0.0f : y;
}

/// x clipped to low and high; a NaN stays a NaN. The compiler makes one instruction of each bound
/// when it does not know its value, and a chain of selections when it does: loops hide constants
/// (wk_opaque).
WK_VMATH float wk_clip(float x, float low, float high)
{
    x = low > x ? low : x; // this way round a NaN stays
    return high < x ? high : x;
}

/// A reduced argument of an exponential: exp(x) is that of `rest` times `scale`, a power of two.
/// Fast loops reduce in one loop and reconstruct in the next, a tile at a time: a processor
/// overlaps the iterations of two loops with short dependency chains, not those of one with a long
/// chain.
typedef struct wk_reduced_arg {
    float rest, scale;
} wk_reduced_arg;

/// t = n + rest with |rest| <= 1/2 and scale = 2^n (0 for n = -127), for -127 <= t <= 127. Adding
/// 1.5 * 2^23 + 127 rounds to an integer and leaves n + 127 in the low bits.
WK_VMATH wk_reduced_arg wk_reduce_base2(float t)
{
    const float round = 12583039.0f;
    float rounded = t + round;
    wk_reduced_arg reduced = {
        t - (rounded - round),
        wk_float_of_bits((int32_t)((uint32_t)wk_bits_of_float(rounded) << 23))};
    return reduced;
}

/// x = n ln 2 + rest with |rest| <= ln 2 / 2, for |x| <= 88. The error of rest, 2^-24 |x|, does not
/// show in exp(x) - 1: it is 0 for n = 0 and small beside 1 for x < 0.
WK_VMATH wk_reduced_arg wk_reduce_natural(float x)
{
    const float round = 12583039.0f, log2_e = 0x1.715476p+0f, ln2 = 0x1.62e430p-1f;
    float rounded = x * log2_e + round;
    wk_reduced_arg reduced = {
        x - (rounded - round) * ln2,
        wk_float_of_bits((int32_t)((uint32_t)wk_bits_of_float(rounded) << 23))};
    return reduced;
}

/// 2^(n + rest), relative error 1.3e-7 and 1 at 0. Minimax in pairs: a short chain.
WK_VMATH float wk_exp2_reconstruct(wk_reduced_arg c)
{
    float r = c.rest, square = r * r;
    float tail = 0x1.3ceab4p-7f + 0x1.5bb9e4p-10f * r;
    tail = (0x1.ebf9bcp-3f + 0x1.c6b754p-5f * r) + square * tail;
    return c.scale * ((1.0f + 0x1.62e42ap-1f * r) + square * tail);
}

/// exp(r) - 1 for |r| <= ln 2 / 2. Minimax of (exp(r) - 1 - r) / r^2.
WK_VMATH float wk_expm1_rest(float r)
{
    float square = r * r;
    float tail = 0x1.1228a0p-7f + 0x1.6d99ecp-10f * r;
    tail = (0x1.5554aep-3f + 0x1.555486p-5f * r) + square * tail;
    return square * (0.5f + r * tail) + r;
}

/// exp(n ln 2 + rest) - 1.
WK_VMATH float wk_expm1_reconstruct(wk_reduced_arg c)
{
    return c.scale * wk_expm1_rest(c.rest) + (c.scale - 1.0f);
}

enum { WK_WEIGHT_LIMIT = -127, WK_TANH_LIMIT = 20, WK_SIGMOID_LIMIT = 125 };

/// What the weight of x reduces: t with exp(x) = 2^t, not to be below WK_WEIGHT_LIMIT.
WK_VMATH float wk_weight_exponent(float x)
{
    return x * 0x1.715476p+0f;
}

/// exp(x) for x <= 0, relative error 2^-24 (4 + 1.5 |x|), 0 below -87.7: the weight of a class.
WK_VMATH float wk_weightf(float x)
{
    float t = wk_weight_exponent(x), low = WK_WEIGHT_LIMIT;
    return wk_exp2_reconstruct(wk_reduce_base2(low > t ? low : t));
}

/// tanh of x inside +-WK_TANH_LIMIT, reduced and reconstructed.
WK_VMATH wk_reduced_arg wk_tanh_reduce(float x)
{
    return wk_reduce_natural(x + x);
}

WK_VMATH float wk_tanh_reconstruct(wk_reduced_arg c)
{
    float t = wk_expm1_reconstruct(c); // exp(2x) - 1
    return t / (t + 2.0f);
}

/// tanh(x), 3 ulp, never beyond 1.
WK_VMATH float wk_tanhf(float x)
{
    return wk_tanh_reconstruct(wk_tanh_reduce(wk_clip(x, -WK_TANH_LIMIT, WK_TANH_LIMIT)));
}

/// What the sigmoid of x reduces: t with exp(-x) = 2^t, to be clipped to +-WK_SIGMOID_LIMIT.
WK_VMATH float wk_sigmoid_exponent(float x)
{
    return x * -0x1.715476p+0f;
}

WK_VMATH float wk_sigmoid_reconstruct(wk_reduced_arg c)
{
    return 1.0f / (1.0f + wk_exp2_reconstruct(c));
}

/// 1 / (1 + exp(-x)), absolute error 1e-7, relative error 2^-24 (6 + 1.5 |x|); not below 2^-125.
WK_VMATH float wk_sigmoidf(float x)
{
    float t = wk_clip(wk_sigmoid_exponent(x), -WK_SIGMOID_LIMIT, WK_SIGMOID_LIMIT);
    return wk_sigmoid_reconstruct(wk_reduce_base2(t));
}

/// Natural logarithm of a positive, finite x that is not denormal, times 2^less; 1 ulp.
WK_VMATH float wk_log_scaled(float x, int32_t less)
{
    int32_t bits = wk_bits_of_float(x);
    // The mantissa in [sqrt 1/2, sqrt 2): shift the exponent's step from 1 to sqrt 1/2.
    int32_t shifted = (int32_t)((uint32_t)bits - 0x3f3504f3u);
    int32_t exponent = (shifted >> 23) + less;
    float f =
        wk_float_of_bits((int32_t)((uint32_t)bits - ((uint32_t)(shifted >> 23) << 23))) - 1.0f;
    float square = f * f; // minimax of (log(1 + f) - f + f^2 / 2) / f^3
    float tail = 0x1.1b5182p-4f;
    tail = (0x1.e6b780p-4f + -0x1.e3bfa4p-4f * f) + square * tail;
    tail = (0x1.232ab2p-3f + -0x1.fb27d6p-4f * f) + square * tail;
    tail = (0x1.99a5a6p-3f + -0x1.55635ep-3f * f) + square * tail;
    tail = (0x1.555546p-2f + -0x1.ffffecp-3f * f) + square * tail;
    const float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f;
    float e = (float)exponent;
    return e * ln2_high + (f + (e * ln2_low - 0.5f * square + square * f * tail));
}

/// Natural logarithm, 1 ulp; -infinity at 0, NaN below.
WK_VMATH float wk_logf(float x)
{
    // Denormals are scaled up first.
    int small = x < 0x1p-126f;
    float y = wk_log_scaled(small ? x * 0x1p23f : x, small ? -23 : 0);
    float infinity = wk_float_of_bits(0x7f800000);
    y = x < infinity ? y : x; // infinity and NaN stay
    y = x == 0.0f ? -infinity : y;
    return x < 0.0f ? wk_float_of_bits(0x7fc00000) : y;
}

/// exp(-x^2 / 2), relative error 3e-7, 0 beyond 13.2: the square's rounding error is put back.
WK_VMATH float wk_gaussianf(float x)
{
    const float round = 12583039.0f, log2_e = 0x1.715476p+0f;
    const float ln2_high = 0x1.63p-1f, ln2_low = -0x1.bd0106p-13f; // high: 9 bits, n * high exact
    float high = wk_float_of_bits(wk_bits_of_float(x) & ~0xfff), low = x - high;
    float square = -0.5f * (high * high), least = -88.0f;
    square = least > square ? least : square;
    float rounded = square * log2_e + round, whole = rounded - round;
    wk_reduced_arg reduced = {
        (square - whole * ln2_high) - (whole * ln2_low + 0.5f * (low * (x + high))),
        wk_float_of_bits((int32_t)((uint32_t)wk_bits_of_float(rounded) << 23))};
    return reduced.scale + reduced.scale * wk_expm1_rest(reduced.rest);
}

/// Standard normal density.
WK_VMATH float wk_normal_density(float x)
{
    return 0x1.988454p-2f * wk_gaussianf(x);
}

/// wk_normal_tail over wk_gaussianf: what is left of the tail's mass without that factor.
WK_VMATH float wk_normal_tail_factor(float x)
{
    // With z = |x| / sqrt 2: (1 + 2z) exp(z^2) erfc(z) is a polynomial in (z - 2.5) / (z + 2.5).
    float z = wk_float_of_bits(wk_bits_of_float(x) & 0x7fffffff) * 0x1.6a09e6p-1f;
    float t = (z - 2.5f) / (z + 2.5f), square = t * t, fourth = square * square;
    float y01 = 0x1.43cc70p+0f + -0x1.f52c80p-4f * t, y23 = -0x1.959918p-4f + 0x1.42d548p-3f * t;
    float y45 = -0x1.a5d4f0p-4f + 0x1.0c250ap-5f * t, y67 = 0x1.098242p-10f + -0x1.188decp-8f * t;
    float y89 = 0x1.713918p-12f + 0x1.e87bc6p-12f * t;
    float y = (y01 + square * y23) + fourth * ((y45 + square * y67) + fourth * y89);
    return 0.5f * y / (1.0f + 2.0f * z);
}

/// Mass of the standard normal below -|x|, relative error 1e-6 down to the underflow at |x| = 13.
WK_VMATH float wk_normal_tail(float x)
{
    return wk_gaussianf(x) * wk_normal_tail_factor(x);
}

/// What wk_normal_quantile takes of a tail far from the middle.
WK_VMATH float wk_quantile_root(float tail)
{
    return __builtin_sqrtf(-wk_log_scaled(tail, 0)) - 1.6f;
}

/// wk_normal_quantile, given the root: the rational approximations of AS 241 (Wichura 1988, single
/// precision).
WK_VMATH float wk_quantile_of(float tail, float s)
{
    float q = tail - 0.5f, r = 0.180625f - q * q;
    float central =
        q * (((59.109374720f * r + 159.29113202f) * r + 50.434271938f) * r + 3.3871327179f);
    float below_central = ((67.187563600f * r + 78.757757664f) * r + 17.895169469f) * r + 1.0f;
    float outer = ((-0.17023821103f * s - 1.3067284816f) * s - 2.7568153900f) * s - 1.4234372777f;
    float below_outer = (0.12021132975f * s + 0.73700164250f) * s + 1.0f;
    float above = tail >= 0.075f ? central : outer;
    float below = tail >= 0.075f ? below_central : below_outer;
    return above / below;
}

/// The x <= 0 with `tail` mass below it, 1e-10 <= tail <= 0.5; relative error 2e-6, absolute 2e-7
/// near 0.
WK_VMATH float wk_normal_quantile(float tail)
{
    return wk_quantile_of(tail, wk_quantile_root(tail));
}

#endif
