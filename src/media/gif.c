// Animated GIF. Each frame after the first covers only the rectangle that changed, with unchanged
// pixels transparent, so that its palette is spent on what moves and still parts do not flicker.
#include "base/text.h"
#include "media/image.h"
#include "media/lzw.h"
#include "media/palette.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 65535, TRANSPARENT = 0, COLOURS_MAX = 255 };

struct wk_gif {
    int width, height, delay_cs;
    bool begun;       // has a frame
    wk_text out;      // the file so far
    uint32_t *shown;  // source colours of the last frame; WK_PALETTE_SKIP before the first
    uint32_t *pixels; // colours of the changed rectangle
    uint8_t *indices; // palette indices of the changed rectangle
};

typedef struct rectangle {
    int x, y, width, height;
} rectangle;

static void put_u8(wk_text *out, int value)
{
    char byte = (char)value;
    wk_text_append(out, &byte, 1);
}

static void put_u16(wk_text *out, int value)
{
    put_u8(out, value & 255);
    put_u8(out, value >> 8);
}

static wk_status out_of_memory(const wk_gif *gif, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "GIF of %d x %d pixels: no memory", gif->width, gif->height);
}

static wk_status no_frames(wk_error *err)
{
    return wk_fail(err, WK_E_INPUT, "a GIF needs at least one frame");
}

static void write_header(wk_gif *gif)
{
    wk_text_puts(&gif->out, "GIF89a");
    put_u16(&gif->out, gif->width);
    put_u16(&gif->out, gif->height);
    wk_text_append(&gif->out, "\x70\0\0", 3); // no global palette, 8 bits a channel
    wk_text_append(&gif->out, "\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0", 19); // repeat for ever
}

wk_status wk_gif_create(int width, int height, int delay_cs, wk_gif **out, wk_error *err)
{
    if (width < 1 || height < 1 || width > SIDE_MAX || height > SIDE_MAX)
        return wk_fail(err, WK_E_INPUT, "a GIF of %d x %d pixels: each side must be 1 to %d", width,
                       height, SIDE_MAX);
    if (delay_cs < 0 || delay_cs > 65535)
        return wk_fail(err, WK_E_INPUT,
                       "a GIF delay of %d hundredths of a second: it must be 0 to 65535", delay_cs);
    size_t count = (size_t)width * (size_t)height;
    wk_gif *gif = calloc(1, sizeof *gif);
    if (!gif) return wk_fail(err, WK_E_MEMORY, "GIF: no memory");
    *gif = (wk_gif){.width = width, .height = height, .delay_cs = delay_cs};
    gif->shown = malloc(count * sizeof *gif->shown);
    gif->pixels = malloc(count * sizeof *gif->pixels);
    gif->indices = malloc(count);
    if (!gif->shown || !gif->pixels || !gif->indices) {
        wk_status status = out_of_memory(gif, err);
        wk_gif_destroy(gif);
        return status;
    }
    memset(gif->shown, 0xFF, count * sizeof *gif->shown);
    write_header(gif);
    *out = gif;
    return WK_OK;
}

void wk_gif_destroy(wk_gif *gif)
{
    if (!gif) return;
    wk_text_free(&gif->out);
    free(gif->shown);
    free(gif->pixels);
    free(gif->indices);
    free(gif);
}

static uint32_t colour_at(const wk_image *image, size_t i)
{
    const uint8_t *p = image->rgb + 3 * i;
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

// The smallest rectangle that holds every changed pixel; one pixel when none changed.
static rectangle changed_part(const wk_gif *gif, const wk_image *frame)
{
    int x0 = gif->width, x1 = -1, y0 = gif->height, y1 = -1;
    for (int y = 0; y < gif->height; y++)
        for (int x = 0; x < gif->width; x++) {
            size_t i = (size_t)y * (size_t)gif->width + (size_t)x;
            if (gif->shown[i] == colour_at(frame, i)) continue;
            if (x < x0) x0 = x;
            if (x > x1) x1 = x;
            if (y < y0) y0 = y;
            y1 = y;
        }
    if (x1 < 0) return (rectangle){.width = 1, .height = 1};
    return (rectangle){x0, y0, x1 - x0 + 1, y1 - y0 + 1};
}

// Collects the changed colours of the part and remembers them as shown.
static void take_part(wk_gif *gif, const wk_image *frame, rectangle part)
{
    uint32_t *out = gif->pixels;
    for (int y = part.y; y < part.y + part.height; y++)
        for (int x = part.x; x < part.x + part.width; x++) {
            size_t i = (size_t)y * (size_t)gif->width + (size_t)x;
            uint32_t colour = colour_at(frame, i);
            *out++ = colour == gif->shown[i] ? WK_PALETTE_SKIP : colour;
            gif->shown[i] = colour;
        }
}

static int palette_bits(int colours)
{
    int bits = 2;
    while (1 << bits < colours)
        bits++;
    return bits;
}

static void write_palette(wk_text *out, const wk_palette *palette, int bits)
{
    for (int i = 0; i < 1 << bits; i++) {
        // Entry 0 stands for "transparent"; the palette follows.
        uint32_t colour = i > 0 && i <= palette->count ? palette->colours[i - 1] : 0;
        put_u8(out, (int)(colour >> 16));
        put_u8(out, (int)(colour >> 8 & 255));
        put_u8(out, (int)(colour & 255));
    }
}

static void write_frame_header(wk_gif *gif, rectangle part, int bits)
{
    wk_text_append(&gif->out, "\x21\xF9\x04\x05", 4); // keep the old image; has transparency
    put_u16(&gif->out, gif->delay_cs);
    put_u8(&gif->out, TRANSPARENT);
    put_u8(&gif->out, 0);
    put_u8(&gif->out, 0x2C);
    put_u16(&gif->out, part.x);
    put_u16(&gif->out, part.y);
    put_u16(&gif->out, part.width);
    put_u16(&gif->out, part.height);
    put_u8(&gif->out, 0x80 | (bits - 1));
}

wk_status wk_gif_add(wk_gif *gif, const wk_image *frame, wk_error *err)
{
    if (frame->width != gif->width || frame->height != gif->height)
        return wk_fail(err, WK_E_INPUT, "a GIF frame of %d x %d pixels in an animation of %d x %d",
                       frame->width, frame->height, gif->width, gif->height);
    rectangle part = changed_part(gif, frame);
    size_t count = (size_t)part.width * (size_t)part.height;
    take_part(gif, frame, part);
    wk_palette palette;
    WK_TRY(wk_palette_choose(gif->pixels, count, COLOURS_MAX, &palette, gif->indices, err));
    for (size_t i = 0; i < count; i++)
        gif->indices[i] =
            gif->pixels[i] == WK_PALETTE_SKIP ? TRANSPARENT : (uint8_t)(gif->indices[i] + 1);
    int bits = palette_bits(palette.count + 1);
    write_frame_header(gif, part, bits);
    write_palette(&gif->out, &palette, bits);
    wk_lzw_encode(gif->indices, count, bits, &gif->out);
    gif->begun = true;
    return gif->out.failed ? out_of_memory(gif, err) : WK_OK;
}

wk_status wk_gif_finish(wk_gif *gif, uint8_t **bytes, size_t *size, wk_error *err)
{
    if (!gif->begun) return no_frames(err);
    put_u8(&gif->out, 0x3B);
    if (gif->out.failed) return out_of_memory(gif, err);
    *bytes = (uint8_t *)gif->out.chars;
    *size = gif->out.length;
    gif->out = (wk_text){0};
    return WK_OK;
}

static wk_status add_all(wk_gif *gif, const wk_image *frames, size_t count, wk_error *err)
{
    for (size_t i = 0; i < count; i++)
        WK_TRY(wk_gif_add(gif, &frames[i], err));
    return WK_OK;
}

wk_status wk_gif_encode(const wk_image *frames, size_t count, int delay_cs, uint8_t **bytes,
                        size_t *size, wk_error *err)
{
    if (count == 0) return no_frames(err);
    wk_gif *gif;
    WK_TRY(wk_gif_create(frames[0].width, frames[0].height, delay_cs, &gif, err));
    wk_status status = add_all(gif, frames, count, err);
    if (status == WK_OK) status = wk_gif_finish(gif, bytes, size, err);
    wk_gif_destroy(gif);
    return status;
}
