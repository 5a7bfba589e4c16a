// The kernels with the instructions every machine of the architecture has.
#include "env/render/kernels.h"

#include "env/render/kernels_body.h"

const wk_kernels *wk_kernels_portable(void)
{
    static const wk_kernels kernels = WK_KERNELS_BODY("portable");
    return &kernels;
}

const wk_kernels *wk_kernels_best(void)
{
    const wk_kernels *fast = wk_kernels_avx2();
    return fast ? fast : wk_kernels_portable();
}
