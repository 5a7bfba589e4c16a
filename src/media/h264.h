// Video as an H.264 stream that every browser plays: Constrained Baseline, 4:2:0, one slice a
// frame, a fixed quantiser. Macroblocks of 16x16 pixels are skipped, moved by whole pixels, or
// predicted from their neighbours in the frame; there is no deblocking, so that drawn edges and
// letters stay sharp. The same frames give the same bytes.
#ifndef WK_MEDIA_H264_H
#define WK_MEDIA_H264_H

#include "base/text.h"
#include "media/image.h"

typedef struct wk_h264 wk_h264;

enum { WK_H264_SIDE_MAX = 4096 };

/// For frames of one size; odd sides get one more row or column. `rate` is frames a second, for the
/// level that the stream says it needs.
wk_status wk_h264_create(int width, int height, double rate, wk_h264 **out, wk_error *err);
/// NULL is allowed.
void wk_h264_destroy(wk_h264 *encoder);

/// The size that is shown: both sides even.
int wk_h264_width(const wk_h264 *encoder);
int wk_h264_height(const wk_h264 *encoder);

/// Appends the sequence and the picture parameter set, as NAL units without start codes.
void wk_h264_parameters(const wk_h264 *encoder, wk_text *sequence, wk_text *picture);

/// Encodes the next frame and appends its NAL unit; `key`: decoding can begin with it.
wk_status wk_h264_add(wk_h264 *encoder, const wk_image *frame, wk_text *out, bool *key,
                      wk_error *err);

/// What a decoder shows for the last frame: a plane of Y (0), Cb (1) or Cr (2), and its stride.
const uint8_t *wk_h264_shown(const wk_h264 *encoder, int plane, int *stride);

#endif
