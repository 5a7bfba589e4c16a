// The kernels with the instructions every machine of the architecture has.
#include "env/render/kernels.h"

// Functions that take eight lanes by value are all inlined: no calling convention is involved.
#pragma GCC diagnostic ignored "-Wpsabi"
#include "env/render/kernels_body.h"

const wk_kernels *wk_kernels_portable(void)
{
    static const wk_kernels kernels = WK_KERNELS_BODY("portable");
    return &kernels;
}
