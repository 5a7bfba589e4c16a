#include "media/animation.h"

#include "base/file.h"
#include "media/mp4.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Steps of a domain may be microseconds or hours; these are what can be watched and written.
static const double SECONDS_MIN = 0.001, SECONDS_MAX = 1;

struct wk_animation {
    char *path;
    wk_gif *gif; // one of the two
    wk_mp4 *mp4;
};

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

bool wk_animation_is_path(const char *path)
{
    return ends_in(path, ".gif") || ends_in(path, ".mp4");
}

static wk_status open_clip(wk_animation *clip, int width, int height, double seconds, wk_error *err)
{
    seconds = fmin(fmax(seconds, SECONDS_MIN), SECONDS_MAX);
    if (ends_in(clip->path, ".mp4")) return wk_mp4_create(width, height, seconds, &clip->mp4, err);
    if (!ends_in(clip->path, ".gif"))
        return wk_fail(err, WK_E_INPUT, "'%s': a clip is called FILE.gif or FILE.mp4", clip->path);
    int delay = (int)fmax(2, round(100 * seconds));
    return wk_gif_create(width, height, delay, &clip->gif, err);
}

wk_status wk_animation_create(const char *path, int width, int height, double seconds,
                              wk_animation **out, wk_error *err)
{
    wk_animation *clip = calloc(1, sizeof *clip);
    char *copy = strdup(path);
    if (!clip || !copy) {
        free(clip);
        free(copy);
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory", path);
    }
    clip->path = copy;
    wk_status status = open_clip(clip, width, height, seconds, err);
    if (status != WK_OK) {
        wk_animation_destroy(clip);
        return status;
    }
    *out = clip;
    return WK_OK;
}

wk_status wk_animation_add(wk_animation *clip, const wk_image *frame, wk_error *err)
{
    return clip->mp4 ? wk_mp4_add(clip->mp4, frame, err) : wk_gif_add(clip->gif, frame, err);
}

wk_status wk_animation_write(wk_animation *clip, wk_error *err)
{
    uint8_t *bytes;
    size_t size;
    WK_TRY(clip->mp4 ? wk_mp4_finish(clip->mp4, &bytes, &size, err)
                     : wk_gif_finish(clip->gif, &bytes, &size, err));
    wk_status status = wk_file_write(clip->path, bytes, size, err);
    free(bytes);
    return status;
}

void wk_animation_destroy(wk_animation *clip)
{
    if (!clip) return;
    wk_gif_destroy(clip->gif);
    wk_mp4_destroy(clip->mp4);
    free(clip->path);
    free(clip);
}
