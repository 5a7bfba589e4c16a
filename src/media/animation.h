// A clip of frames in the format that its file's ending names: .gif, or .mp4 (H.264), which the
// program ffmpeg encodes.
#ifndef WK_MEDIA_ANIMATION_H
#define WK_MEDIA_ANIMATION_H

#include "media/image.h"
#include <stdbool.h>

typedef struct wk_animation wk_animation;

/// Whether the path ends in .gif or .mp4.
bool wk_animation_is_path(const char *path);

/// Fails with WK_E_UNSUPPORTED where ffmpeg, which MP4 files need, does not run.
wk_status wk_animation_find_ffmpeg(wk_error *err);

/// `seconds` is how long a frame is shown, at most 1 and at least 0.001; viewers of GIFs show none
/// for less than 0.02.
wk_status wk_animation_create(const char *path, int width, int height, double seconds,
                              wk_animation **out, wk_error *err);
wk_status wk_animation_add(wk_animation *clip, const wk_image *frame, wk_error *err);
/// Writes the file atomically; nothing may be added afterwards.
wk_status wk_animation_write(wk_animation *clip, wk_error *err);
/// Without wk_animation_write no file appears. NULL is allowed.
void wk_animation_destroy(wk_animation *clip);

#endif
