// Sobol's low-discrepancy sequence in up to 8 dimensions, with the direction numbers of Joe and Kuo
// (2008): the first 2^m points fill the unit cube evenly.
#ifndef WK_BASE_SOBOL_H
#define WK_BASE_SOBOL_H

#include <stdint.h>

enum { WK_SOBOL_DIMS = 8 };

/// Point number `index` in [0, 1), `dims` numbers.
void wk_sobol_point(uint32_t index, int dims, double *out);

#endif
