// The 4x4 integer transform of H.264 with its quantiser, both ways (ITU-T H.264, 8.5), for one
// fixed quantiser of luma and chroma.
#ifndef WK_MEDIA_H264_TRANSFORM_H
#define WK_MEDIA_H264_TRANSFORM_H

#include <stdbool.h>

/// The quantisation parameter: 6 less halves the step. Below 30 chroma has the same one.
enum { WK_H264_QP = 22 };

/// Transforms a block of differences [4,4] in place.
void wk_h264_forward(int block[16]);
/// Coefficients to levels, from `first` (0, or 1 where the DC goes its own way); coarser rounding
/// to zero where the prediction comes from another frame.
void wk_h264_quantise(const int coefficients[16], int first, bool inter, int levels[16]);
/// Levels to coefficients, except for the DC with `first` 1.
void wk_h264_scale(const int levels[16], int first, int coefficients[16]);
/// Back to differences, in place.
void wk_h264_inverse(int block[16]);

/// The DC of 16 luma blocks (`count` 16) or of 4 chroma blocks, row by row, to levels.
void wk_h264_dc_forward(const int *dc, int count, bool inter, int *levels);
/// And back to the scaled DC of each block.
void wk_h264_dc_inverse(const int *levels, int count, int *dc);

#endif
