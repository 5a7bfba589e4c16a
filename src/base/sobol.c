#include "base/sobol.h"

#include <assert.h>

enum { BITS = 32, DEGREE_MAX = 5 };

// A primitive polynomial (degree, inner coefficients) and the first direction numbers, of the
// dimensions after the first.
static const struct {
    int degree;
    uint32_t inner, first[DEGREE_MAX];
} rows[WK_SOBOL_DIMS - 1] = {
    {1, 0, {1}},          {2, 1, {1, 3}},        {3, 1, {1, 3, 1}},        {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}}, {4, 4, {1, 3, 5, 13}}, {5, 2, {1, 1, 5, 5, 17}},
};

// Direction numbers as fractions of 2^32.
static void directions(int dim, uint32_t v[BITS])
{
    for (int k = 0; k < BITS; k++) {
        int degree = dim == 0 ? 0 : rows[dim - 1].degree;
        if (dim == 0 || k < degree) {
            v[k] = (dim == 0 ? 1 : rows[dim - 1].first[k]) << (BITS - 1 - k);
            continue;
        }
        v[k] = v[k - degree] ^ (v[k - degree] >> degree);
        for (int i = 1; i < degree; i++)
            if (rows[dim - 1].inner >> (degree - 1 - i) & 1) v[k] ^= v[k - i];
    }
}

void wk_sobol_point(uint32_t index, int dims, double *out)
{
    assert(dims >= 1 && dims <= WK_SOBOL_DIMS);
    for (int d = 0; d < dims; d++) {
        uint32_t v[BITS], x = 0;
        directions(d, v);
        for (int k = 0; k < BITS; k++)
            if (index >> k & 1) x ^= v[k];
        out[d] = x * 0x1p-32;
    }
}
