// Images in memory: creation, and the clipped filling and pasting that contact sheets are made of.
#include "media/image.h"
#include <math.h>

#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 1 << 20 };

static void put_colour(uint8_t *pixel, uint32_t colour)
{
    pixel[0] = (uint8_t)(colour >> 16);
    pixel[1] = (uint8_t)(colour >> 8);
    pixel[2] = (uint8_t)colour;
}

wk_status wk_image_create(int width, int height, uint32_t colour, wk_image *out, wk_error *err)
{
    if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX)
        return wk_fail(err, WK_E_INPUT, "an image of %d x %d pixels: each side must be 1 to %d",
                       width, height, SIDE_MAX);
    size_t size = (size_t)width * (size_t)height * 3;
    uint8_t *rgb = malloc(size);
    if (!rgb)
        return wk_fail(err, WK_E_MEMORY, "an image of %d x %d pixels: no memory for %zu bytes",
                       width, height, size);
    *out = (wk_image){.width = width, .height = height, .rgb = rgb};
    wk_image_fill(out, 0, 0, width, height, colour);
    return WK_OK;
}

void wk_image_free(wk_image *image)
{
    free(image->rgb);
    *image = (wk_image){0};
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

void wk_image_fill(wk_image *image, int x, int y, int width, int height, uint32_t colour)
{
    int64_t x0 = clamp(x, 0, image->width), x1 = clamp((int64_t)x + width, x0, image->width);
    int64_t y0 = clamp(y, 0, image->height), y1 = clamp((int64_t)y + height, y0, image->height);
    for (int64_t row = y0; row < y1; row++)
        for (int64_t column = x0; column < x1; column++)
            put_colour(image->rgb + 3 * (row * image->width + column), colour);
}

void wk_image_paste(wk_image *image, const wk_image *source, int x, int y, int scale)
{
    int64_t x0 = clamp(x, 0, image->width), y0 = clamp(y, 0, image->height);
    int64_t x1 = clamp(x + (int64_t)source->width * scale, x0, image->width);
    int64_t y1 = clamp(y + (int64_t)source->height * scale, y0, image->height);
    for (int64_t row = y0; row < y1; row++) {
        const uint8_t *from = source->rgb + 3 * ((row - y) / scale * source->width);
        uint8_t *to = image->rgb + 3 * row * image->width;
        for (int64_t column = x0; column < x1; column++)
            memcpy(to + 3 * column, from + 3 * ((column - x) / scale), 3);
    }
}

// Interpolates between fixed colours.
uint32_t wk_image_ramp(double level)
{
    static const double stops[5][3] = {
        {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    double place = fmin(fmax(level, 0), 1) * 4;
    int at = place >= 4 ? 3 : (int)place;
    uint32_t colour = 0;
    for (int c = 0; c < 3; c++) {
        double part = place - at, value = stops[at][c] * (1 - part) + stops[at + 1][c] * part;
        colour = colour << 8 | (uint32_t)lround(value);
    }
    return colour;
}
