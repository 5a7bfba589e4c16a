// Random words by position, for kernels that draw.
#ifndef WK_TENSOR_CPU_RANDOM_H
#define WK_TENSOR_CPU_RANDOM_H

#include "tensor/cpu/kernels.h"

/// u[i] = wk_unit_float of the word of element begin + i.
void wk_draw_units(const wk_draws *draws, size_t begin, size_t count, float *u);

#endif
