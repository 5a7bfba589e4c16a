// One source, several instruction sets. Kernels are plain loops that the compiler vectorises; a
// function marked WK_MULTI is compiled for the baseline, AVX2 and AVX-512 and the loader picks one.
// All versions give the same bits: no contraction to FMA, no reordering of sums, only operations
// that IEEE 754 defines exactly. Sums that should use vectors say so with explicit lanes (below).
#ifndef WK_TENSOR_CPU_SIMD_H
#define WK_TENSOR_CPU_SIMD_H

#include <stddef.h>
#include <string.h>

// The sanitizers' start-up code and the loader's choice of versions do not mix. clang 14 gives the
// choice of a static function a global name, of which there can be only one: it compiles for the
// baseline, or for what -march says.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&      \
    !defined(__clang__) && !defined(WK_NO_MULTI)
#define WK_MULTI __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WK_MULTI
#endif

#define WK_INLINE static inline __attribute__((always_inline))

/// x, hidden from the compiler: what it does not know it does not fold into selections (wk_clip).
/// For use before a loop.
WK_INLINE float wk_opaque(float x)
{
    __asm__("" : "+m"(x));
    return x;
}

/// Prefetches n floats at x into the cache.
WK_INLINE void wk_prefetch(const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch(x + i);
}

/// Eight floats; what a sum keeps apart and adds up at the end in a fixed order. Lanes never cross
/// a call that is not inlined: their calling convention does not matter (-Wno-psabi).
typedef float wk_lanes __attribute__((vector_size(32)));

enum { WK_LANES = 8 };

WK_INLINE wk_lanes wk_lanes_load(const float *x)
{
    wk_lanes v;
    memcpy(&v, x, sizeof v);
    return v;
}

WK_INLINE void wk_lanes_store(float *x, wk_lanes v)
{
    memcpy(x, &v, sizeof v);
}

/// The first `count` < 8 floats at x, zeros after them.
WK_INLINE wk_lanes wk_lanes_load_part(const float *x, size_t count)
{
    wk_lanes v = {0};
    memcpy(&v, x, count * sizeof *x);
    return v;
}

WK_INLINE float wk_lanes_sum(wk_lanes v)
{
    return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

#endif
