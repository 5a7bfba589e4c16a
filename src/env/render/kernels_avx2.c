// The kernels with AVX2 instructions, for machines that say they have them.
#include "env/render/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <math.h>
#include <string.h>
#pragma GCC push_options
#pragma GCC target("avx2")
#include "env/render/kernels_body.h"
static const wk_kernels kernels = WK_KERNELS_BODY("avx2");
#pragma GCC pop_options

const wk_kernels *wk_kernels_avx2(void)
{
    return __builtin_cpu_supports("avx2") ? &kernels : NULL;
}
#else
#include <stddef.h>

const wk_kernels *wk_kernels_avx2(void)
{
    return NULL;
}
#endif
