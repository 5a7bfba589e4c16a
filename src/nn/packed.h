// Weights in 16 or 8 bits, as small files of weights have them: IEEE half precision, or 8-bit
// integers with a scale for each block of neighbours. Read back as float32.
#ifndef WK_NN_PACKED_H
#define WK_NN_PACKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Numbers that share a scale.
enum { WK_PACKED_BLOCK = 64 };

/// Scales of `count` numbers.
static inline size_t wk_packed_scales(size_t count)
{
    return (count + WK_PACKED_BLOCK - 1) / WK_PACKED_BLOCK;
}

/// Rounds to the nearest half; false where a number is not finite or too large for one.
bool wk_pack_halves(const float *numbers, size_t count, uint16_t *out);
void wk_unpack_halves(const uint16_t *halves, size_t count, float *out);

/// Rounds the numbers of a block to multiples of its scale, a half, the largest being 127 of them;
/// false where a number is not finite or too large.
bool wk_pack_bytes(const float *numbers, size_t count, int8_t *out, uint16_t *scales);
void wk_unpack_bytes(const int8_t *bytes, const uint16_t *scales, size_t count, float *out);

#endif
