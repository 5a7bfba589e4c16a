// Bits of an H.264 stream: fixed and Exp-Golomb codes, and the transform levels of a block in CAVLC
// (ITU-T H.264, 9.1 and 9.2).
#ifndef WK_MEDIA_H264_CAVLC_H
#define WK_MEDIA_H264_CAVLC_H

#include "base/text.h"

/// Collects bits, the most significant first; whole bytes go to `out`.
typedef struct wk_bits {
    wk_text *out;
    uint32_t held;
    int count; // of bits held, less than 8
} wk_bits;

/// The lowest `length` bits of `value`; at most 24.
void wk_bits_put(wk_bits *bits, uint32_t value, int length);
/// ue(v) and se(v).
void wk_bits_put_ue(wk_bits *bits, uint32_t value);
void wk_bits_put_se(wk_bits *bits, int value);
/// A one and zeros up to the next whole byte.
void wk_bits_end(wk_bits *bits);

enum { WK_H264_CHROMA_DC = -1 }; // in place of the number of neighbouring levels

/// Writes `count` (4, 15 or 16) levels in scan order. `nearby` is how many the neighbouring blocks
/// have on average. Returns how many are not zero.
int wk_h264_levels_put(wk_bits *bits, const int *levels, int count, int nearby);

#endif
