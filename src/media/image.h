// Images: PNG stills and animated GIFs, written with no image library but zlib, and byte-identical
// for identical input. Also the few drawing helpers that contact sheets need.
#ifndef WK_MEDIA_IMAGE_H
#define WK_MEDIA_IMAGE_H

#include "waker/error.h"
#include <stddef.h>
#include <stdint.h>

/// An RGB image, 8 bits a channel, rows from the top. Owned memory.
typedef struct wk_image {
    int width, height;
    uint8_t *rgb; // [height,width,3]
} wk_image;

/// An image filled with one colour (0xRRGGBB).
wk_status wk_image_create(int width, int height, uint32_t colour, wk_image *out, wk_error *err);
void wk_image_free(wk_image *image);

/// Copies `source` with its top left corner at (x, y), each pixel `scale` times as large; clipped.
void wk_image_paste(wk_image *image, const wk_image *source, int x, int y, int scale);

/// Fills a rectangle; clipped.
void wk_image_fill(wk_image *image, int x, int y, int width, int height, uint32_t colour);

/// Writes ASCII text in a built-in bitmap font; clipped. Returns its width.
int wk_image_text(wk_image *image, int x, int y, uint32_t colour, const char *text);
int wk_image_text_width(const char *text);

/// The same in lines of `height` that are at most `width` wide, broken at blanks; a word that is
/// wider has a line of its own. Returns their number; a NULL image only counts them.
int wk_image_text_lines(wk_image *image, int x, int y, int width, int height, uint32_t colour,
                        const char *text);

/// The colour (0xRRGGBB) of a level from 0 to 1 in maps: dark blue, teal, green, yellow, a ramp
/// that also reads in grey. Levels outside are taken for the nearer end.
uint32_t wk_image_ramp(double level);

/// Encodes as PNG into malloc'd bytes / writes atomically to a file.
wk_status wk_png_encode(const wk_image *image, uint8_t **bytes, size_t *size, wk_error *err);
wk_status wk_png_write(const char *path, const wk_image *image, wk_error *err);

/// An animated GIF that loops for ever: frames of one size, a palette per frame chosen by median
/// cut. `delay_cs` is hundredths of a second per frame.
wk_status wk_gif_encode(const wk_image *frames, size_t count, int delay_cs, uint8_t **bytes,
                        size_t *size, wk_error *err);

/// The animation of wk_gif_encode frame by frame, holding only the encoded bytes: for clips too
/// long to keep.
typedef struct wk_gif wk_gif;
wk_status wk_gif_create(int width, int height, int delay_cs, wk_gif **out, wk_error *err);
wk_status wk_gif_add(wk_gif *gif, const wk_image *frame, wk_error *err);
/// Hands over the finished file as malloc'd bytes; nothing may be added afterwards.
wk_status wk_gif_finish(wk_gif *gif, uint8_t **bytes, size_t *size, wk_error *err);
void wk_gif_destroy(wk_gif *gif);

#endif
