// Eight floats at a time. Everything here is an IEEE operation of single precision (+ - * / sqrt
// and comparisons), so the portable form and the one with AVX2 instructions give the same bits. All
// functions are inlined into kernels that are compiled once per instruction set.
#ifndef WK_ENV_RENDER_LANES_H
#define WK_ENV_RENDER_LANES_H

#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include <immintrin.h>
#endif

#define WK_LANES_INLINE static inline __attribute__((always_inline, unused))

typedef float wk_f8 __attribute__((vector_size(32)));
typedef int32_t wk_i8 __attribute__((vector_size(32)));

/// A point or direction per lane.
typedef struct wk_v8 {
    wk_f8 x, y, z;
} wk_v8;

WK_LANES_INLINE wk_f8 f8_all(float value)
{
    return (wk_f8){value, value, value, value, value, value, value, value};
}

WK_LANES_INLINE wk_i8 i8_all(int32_t value)
{
    return (wk_i8){value, value, value, value, value, value, value, value};
}

WK_LANES_INLINE wk_f8 f8_load(const float *from)
{
    wk_f8 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

WK_LANES_INLINE void f8_store(float *to, wk_f8 lanes)
{
    memcpy(to, &lanes, sizeof lanes);
}

WK_LANES_INLINE wk_i8 i8_load(const int32_t *from)
{
    wk_i8 lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

WK_LANES_INLINE void i8_store(int32_t *to, wk_i8 lanes)
{
    memcpy(to, &lanes, sizeof lanes);
}

/// Masks are all ones (true) or zero per lane, as comparisons give them.
WK_LANES_INLINE wk_f8 f8_select(wk_i8 mask, wk_f8 yes, wk_f8 no)
{
#ifdef __AVX2__
    return (wk_f8)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
#else
    return (wk_f8)(((wk_i8)yes & mask) | ((wk_i8)no & ~mask));
#endif
}

WK_LANES_INLINE wk_i8 i8_select(wk_i8 mask, wk_i8 yes, wk_i8 no)
{
    return (wk_i8)f8_select(mask, (wk_f8)yes, (wk_f8)no);
}

/// a > b ? a : b in each lane (b where one is not a number).
WK_LANES_INLINE wk_f8 f8_max(wk_f8 a, wk_f8 b)
{
#ifdef __AVX2__
    return (wk_f8)_mm256_max_ps((__m256)a, (__m256)b);
#else
    return f8_select(a > b, a, b);
#endif
}

/// a < b ? a : b in each lane (b where one is not a number).
WK_LANES_INLINE wk_f8 f8_min(wk_f8 a, wk_f8 b)
{
#ifdef __AVX2__
    return (wk_f8)_mm256_min_ps((__m256)a, (__m256)b);
#else
    return f8_select(a < b, a, b);
#endif
}

WK_LANES_INLINE wk_f8 f8_clamp(wk_f8 value, wk_f8 low, wk_f8 high)
{
    return f8_min(f8_max(value, low), high);
}

WK_LANES_INLINE wk_f8 f8_sqrt(wk_f8 value)
{
#ifdef __AVX2__
    return (wk_f8)_mm256_sqrt_ps((__m256)value);
#else
    for (int i = 0; i < 8; i++)
        value[i] = __builtin_sqrtf(value[i]);
    return value;
#endif
}

/// One bit per true lane, lane 0 lowest.
WK_LANES_INLINE unsigned i8_bits(wk_i8 mask)
{
#ifdef __AVX2__
    return (unsigned)_mm256_movemask_ps((__m256)mask);
#else
    unsigned bits = 0;
    for (int i = 0; i < 8; i++)
        bits |= (unsigned)(mask[i] < 0) << i;
    return bits;
#endif
}

WK_LANES_INLINE wk_i8 f8_to_i8(wk_f8 value)
{
    return __builtin_convertvector(value, wk_i8);
}

WK_LANES_INLINE wk_f8 i8_to_f8(wk_i8 value)
{
    return __builtin_convertvector(value, wk_f8);
}

/// from[index] per lane; every index must be inside.
WK_LANES_INLINE wk_i8 i8_gather(const int32_t *from, wk_i8 index)
{
#ifdef __AVX2__
    return (wk_i8)_mm256_i32gather_epi32(from, (__m256i)index, 4);
#else
    wk_i8 lanes = {0};
    for (int i = 0; i < 8; i++)
        lanes[i] = from[index[i]];
    return lanes;
#endif
}

WK_LANES_INLINE wk_f8 f8_gather(const float *from, wk_i8 index)
{
#ifdef __AVX2__
    return (wk_f8)_mm256_i32gather_ps(from, (__m256i)index, 4);
#else
    wk_f8 lanes = {0};
    for (int i = 0; i < 8; i++)
        lanes[i] = from[index[i]];
    return lanes;
#endif
}

WK_LANES_INLINE wk_v8 v8_all(const float value[3])
{
    return (wk_v8){f8_all(value[0]), f8_all(value[1]), f8_all(value[2])};
}

WK_LANES_INLINE wk_v8 v8_add(wk_v8 a, wk_v8 b)
{
    return (wk_v8){a.x + b.x, a.y + b.y, a.z + b.z};
}

WK_LANES_INLINE wk_v8 v8_sub(wk_v8 a, wk_v8 b)
{
    return (wk_v8){a.x - b.x, a.y - b.y, a.z - b.z};
}

WK_LANES_INLINE wk_v8 v8_scale(wk_v8 a, wk_f8 s)
{
    return (wk_v8){a.x * s, a.y * s, a.z * s};
}

WK_LANES_INLINE wk_f8 v8_dot(wk_v8 a, wk_v8 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

WK_LANES_INLINE wk_v8 v8_unit(wk_v8 a)
{
    return v8_scale(a, f8_all(1) / f8_sqrt(v8_dot(a, a)));
}

/// Base-2 logarithm of normal positive numbers, relative error below 1e-6: exponent from the bits,
/// mantissa in [sqrt(1/2), sqrt(2)) by the series of artanh.
WK_LANES_INLINE wk_f8 f8_log2(wk_f8 value)
{
    wk_i8 bits = (wk_i8)value;
    wk_i8 exponent = ((bits - i8_all(0x3f3504f3)) >> 23);
    wk_f8 m = (wk_f8)(bits - (exponent << 23));
    wk_f8 q = (m - 1.0f) / (m + 1.0f), q2 = q * q;
    // 2/ln 2 * (1 + q²/3 + q⁴/5 + q⁶/7 + q⁸/9)
    wk_f8 series = q2 * 0.32059890f + 0.41219858f;
    series = series * q2 + 0.57707802f;
    series = series * q2 + 0.96179669f;
    series = series * q2 + 2.88539008f;
    return i8_to_f8(exponent) + q * series;
}

/// 2 to the power of numbers in [-126, 126], relative error below 1e-6.
WK_LANES_INLINE wk_f8 f8_exp2(wk_f8 value)
{
    // Round to nearest without a mode-dependent instruction.
    wk_f8 magic = f8_all(12582912.0f), whole = (value + magic) - magic, f = value - whole;
    wk_f8 p = f * 1.5403530e-4f + 1.3333558e-3f;
    p = p * f + 9.6181291e-3f;
    p = p * f + 5.5504109e-2f;
    p = p * f + 2.4022651e-1f;
    p = p * f + 6.9314718e-1f;
    p = p * f + 1.0f;
    return (wk_f8)((wk_i8)p + (f8_to_i8(whole) << 23));
}

/// base in [0,1] to a power that is the same for all lanes: by squaring for whole powers up to 128.
WK_LANES_INLINE wk_f8 f8_pow(wk_f8 base, float power)
{
    int whole = (int)power;
    if (power != (float)whole || whole > 128) {
        wk_f8 raised = f8_max(f8_log2(f8_max(base, f8_all(1e-30f))) * power, f8_all(-126));
        return f8_select(base > 0, f8_exp2(raised), f8_all(0));
    }
    wk_f8 result = f8_all(1);
    for (; whole; whole >>= 1) {
        if (whole & 1) result *= base;
        base *= base;
    }
    return result;
}

#endif
