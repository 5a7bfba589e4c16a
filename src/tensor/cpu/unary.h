// Bias and activation on rows that lie in cache, for kernels that end with them.
#ifndef WK_TENSOR_CPU_UNARY_H
#define WK_TENSOR_CPU_UNARY_H

#include "tensor/activation.h"
#include <stddef.h>

/// y = act(x + bias) for `rows` rows, in the calling thread; in place allowed, `bias` may be NULL.
void wk_bias_act_rows(wk_activation act, size_t rows, size_t cols, const float *x,
                      const float *bias, float *y);

#endif
