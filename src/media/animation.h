// A clip of frames in the format that its file's ending names: .gif or .mp4.
#ifndef WK_MEDIA_ANIMATION_H
#define WK_MEDIA_ANIMATION_H

#include "media/image.h"
#include <stdbool.h>

typedef struct wk_animation wk_animation;

/// Whether the path ends in .gif or .mp4.
bool wk_animation_is_path(const char *path);

/// `seconds` is how long a frame is shown, at most 1 and at least 0.001; viewers of GIFs show none
/// for less than 0.02.
wk_status wk_animation_create(const char *path, int width, int height, double seconds,
                              wk_animation **out, wk_error *err);
wk_status wk_animation_add(wk_animation *clip, const wk_image *frame, wk_error *err);
/// Writes the file atomically; nothing may be added afterwards.
wk_status wk_animation_write(wk_animation *clip, wk_error *err);
/// NULL is allowed.
void wk_animation_destroy(wk_animation *clip);

#endif
