// Images in another size, by the mean over the area of each pixel.
#ifndef WK_ENV_PLUGINS_RESAMPLE_H
#define WK_ENV_PLUGINS_RESAMPLE_H

#include <stdint.h>

enum { WK_SOURCE_SIDE_MAX = 4096 }; // pixels along a side

/// An image: uint8, row by row from the top, 1 or 3 values for each pixel.
typedef struct wk_source_image {
    int width, height, channels;
    const uint8_t *pixels;
} wk_source_image;

/// Writes it as width x height RGB pixels; one of that size is copied.
void wk_image_resample(const wk_source_image *from, int width, int height, uint8_t *rgb);

#endif
