#include "env/render/kernels.h"

const wk_kernels *wk_kernels_best(void)
{
    const wk_kernels *fast = wk_kernels_avx2();
    return fast ? fast : wk_kernels_portable();
}
