// MP4 files: one track of H.264 video, with the index in front, so that a browser shows the first
// frame before it has the last.
#ifndef WK_MEDIA_MP4_H
#define WK_MEDIA_MP4_H

#include "media/image.h"

typedef struct wk_mp4 wk_mp4;

/// `seconds` is how long a frame is shown. Only the encoded bytes are held.
wk_status wk_mp4_create(int width, int height, double seconds, wk_mp4 **out, wk_error *err);
wk_status wk_mp4_add(wk_mp4 *mp4, const wk_image *frame, wk_error *err);
/// Hands over the finished file as malloc'd bytes; nothing may be added afterwards.
wk_status wk_mp4_finish(wk_mp4 *mp4, uint8_t **bytes, size_t *size, wk_error *err);
/// NULL is allowed.
void wk_mp4_destroy(wk_mp4 *mp4);

#endif
