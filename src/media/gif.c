// Animated GIF. Each frame after the first covers only the rectangle that changed, with unchanged
// pixels transparent, so that its palette is spent on what moves and still parts do not flicker.
// A frame is made in three steps: its colours are reduced to a palette (median cut, Heckbert 1982),
// its pixels become indices, and these are packed by LZW.
#include "base/text.h"
#include "media/image.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 65535, TRANSPARENT = 0, COLOURS_MAX = 255 };

#define SKIP UINT32_MAX // a pixel that needs no colour

struct wk_gif {
    int width, height, delay_cs;
    bool begun;       // has a frame
    wk_text out;      // the file so far
    uint32_t *shown;  // source colours of the last frame; SKIP before the first
    uint32_t *pixels; // colours of the changed rectangle
    uint8_t *indices; // palette indices of the changed rectangle
};

typedef struct rectangle {
    int x, y, width, height;
} rectangle;

// One colour of the frame and how many pixels have it.
typedef struct shade {
    uint32_t colour;
    uint32_t pixels;
} shade;

// A slot of the table from colours to shades, later to palette indices.
typedef struct slot {
    uint32_t colour; // SKIP when free
    uint32_t value;
} slot;

typedef struct histogram {
    slot *slots; // 1 << bits of them, open addressing
    int bits;
    shade *shades;
    size_t count;
} histogram;

// A range of shades that will share one palette colour.
typedef struct box {
    size_t begin, end;
    uint64_t pixels;
    int shift; // of the channel with the widest range
    int range;
} box;

static slot *find_slot(const histogram *h, uint32_t colour)
{
    size_t mask = ((size_t)1 << h->bits) - 1;
    size_t i = (colour * 0x9E3779B1u) >> (32 - h->bits);
    while (h->slots[i].colour != SKIP && h->slots[i].colour != colour)
        i = (i + 1) & mask;
    return &h->slots[i];
}

static bool histogram_create(const uint32_t *pixels, size_t count, histogram *h)
{
    *h = (histogram){.bits = 8};
    while (((size_t)1 << h->bits) < 2 * count && h->bits < 26)
        h->bits++;
    size_t bytes = sizeof(slot) << h->bits;
    h->slots = malloc(bytes);
    h->shades = malloc((count + 1) * sizeof *h->shades);
    if (!h->slots || !h->shades) return false;
    memset(h->slots, 0xFF, bytes);
    for (size_t i = 0; i < count; i++) {
        if (pixels[i] == SKIP) continue;
        slot *s = find_slot(h, pixels[i]);
        if (s->colour == SKIP) {
            *s = (slot){.colour = pixels[i], .value = (uint32_t)h->count};
            h->shades[h->count++] = (shade){.colour = pixels[i]};
        }
        h->shades[s->value].pixels++;
    }
    return true;
}

static box box_of(const shade *shades, size_t begin, size_t end)
{
    box b = {.begin = begin, .end = end};
    int low[3] = {255, 255, 255}, high[3] = {0, 0, 0};
    for (size_t i = begin; i < end; i++) {
        b.pixels += shades[i].pixels;
        for (int c = 0; c < 3; c++) {
            int v = shades[i].colour >> (16 - 8 * c) & 255;
            if (v < low[c]) low[c] = v;
            if (v > high[c]) high[c] = v;
        }
    }
    for (int c = 0; c < 3; c++) {
        if (high[c] - low[c] <= b.range) continue;
        b.range = high[c] - low[c];
        b.shift = 16 - 8 * c;
    }
    return b;
}

// One total order per channel: the channel first, then the whole colour.
static int compare_shades(const void *a, const void *b, void *channel_shift)
{
    int shift = *(const int *)channel_shift;
    uint32_t x = ((const shade *)a)->colour, y = ((const shade *)b)->colour;
    uint32_t cx = x >> shift & 255, cy = y >> shift & 255;
    return cx != cy ? (cx > cy) - (cx < cy) : (x > y) - (x < y);
}

// Cuts a box of several shades where half of its pixels lie on each side.
static void split(shade *shades, box *b, box *rest)
{
    qsort_r(shades + b->begin, b->end - b->begin, sizeof *shades, compare_shades, &b->shift);
    uint64_t left = shades[b->begin].pixels;
    size_t middle = b->begin + 1;
    while (middle + 1 < b->end && left + shades[middle].pixels <= b->pixels / 2)
        left += shades[middle++].pixels;
    *rest = box_of(shades, middle, b->end);
    *b = box_of(shades, b->begin, middle);
}

// Chooses up to COLOURS_MAX colours (0xRRGGBB) for `count` pixels and writes the place of each
// pixel's colour among them to `indices`; both are left out for pixels that are SKIP. A frame with
// no more colours than that keeps every one of them exactly. Returns their number, or -1 without
// memory.
static int choose_palette(const uint32_t *pixels, size_t count, uint32_t colours[COLOURS_MAX],
                          uint8_t *indices)
{
    histogram h;
    if (!histogram_create(pixels, count, &h)) {
        free(h.slots);
        free(h.shades);
        return -1;
    }
    // Cuts the box where a cut takes most error away, until every box is a single colour.
    box boxes[COLOURS_MAX];
    int n = 0;
    if (h.count > 0) boxes[n++] = box_of(h.shades, 0, h.count);
    for (int worst = 0; n > 0 && n < COLOURS_MAX; n++) {
        uint64_t max = 0;
        for (int i = 0; i < n; i++) {
            uint64_t error = boxes[i].pixels * (uint64_t)boxes[i].range * (uint64_t)boxes[i].range;
            if (error <= max) continue;
            max = error;
            worst = i;
        }
        if (max == 0) break;
        split(h.shades, &boxes[worst], &boxes[n]);
    }
    // A box becomes the mean of its pixels, and the table says which box a colour is in.
    for (int i = 0; i < n; i++) {
        const box *b = &boxes[i];
        colours[i] = 0;
        for (int shift = 16; shift >= 0; shift -= 8) {
            uint64_t sum = b->pixels / 2;
            for (size_t k = b->begin; k < b->end; k++)
                sum += (uint64_t)h.shades[k].pixels * (h.shades[k].colour >> shift & 255);
            colours[i] |= (uint32_t)(sum / b->pixels) << shift;
        }
        for (size_t k = b->begin; k < b->end; k++)
            find_slot(&h, h.shades[k].colour)->value = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++)
        if (pixels[i] != SKIP) indices[i] = (uint8_t)find_slot(&h, pixels[i])->value;
    free(h.slots);
    free(h.shades);
    return n;
}

// The variable-width LZW of GIF: codes of growing width, packed from the low bit, in sub-blocks of
// at most 255 bytes.
enum { CODES_MAX = 4096, TABLE_BITS = 13, TABLE_SIZE = 1 << TABLE_BITS, BLOCK_MAX = 255 };

// Strings seen so far, as (code of all but the last index, last index) -> code.
typedef struct lzw {
    wk_text *out;
    uint8_t block[BLOCK_MAX + 1]; // its size, then its bytes
    uint32_t pending;             // bits not yet in the block
    int n_pending;
    int bits, width, next;
    uint32_t keys[TABLE_SIZE]; // prefix << 8 | index, plus 1; 0 when free
    uint16_t codes[TABLE_SIZE];
} lzw;

static void flush_block(lzw *e)
{
    if (e->block[0] == 0) return;
    wk_text_append(e->out, (const char *)e->block, (size_t)e->block[0] + 1);
    e->block[0] = 0;
}

static void put_byte(lzw *e, uint8_t byte)
{
    e->block[++e->block[0]] = byte;
    if (e->block[0] == BLOCK_MAX) flush_block(e);
}

static void put_code(lzw *e, int code)
{
    e->pending |= (uint32_t)code << e->n_pending;
    e->n_pending += e->width;
    for (; e->n_pending >= 8; e->n_pending -= 8, e->pending >>= 8)
        put_byte(e, (uint8_t)e->pending);
}

// Tells the decoder to forget every string, and does so here.
static void clear(lzw *e)
{
    put_code(e, 1 << e->bits);
    memset(e->keys, 0, sizeof e->keys);
    e->width = e->bits + 1;
    e->next = (1 << e->bits) + 2;
}

// The decoder learns each string one code later, so the width grows after the code that fills it.
static void widen(lzw *e)
{
    if (e->next == 1 << e->width && e->next < CODES_MAX) e->width++;
}

// Appends the code width, the sub-blocks and their end mark for `count` indices below 1 << `bits`;
// `bits` is 2 to 8. A failed append shows in `out`.
static void lzw_encode(const uint8_t *indices, size_t count, int bits, wk_text *out)
{
    assert(bits >= 2 && bits <= 8 && count > 0);
    lzw e = {.out = out, .bits = bits, .width = bits + 1};
    wk_text_append(out, &(char){(char)bits}, 1);
    clear(&e);
    int prefix = indices[0];
    for (size_t i = 1; i < count; i++) {
        // The place of (prefix, index) in the table, or the free one where it belongs.
        uint32_t key = ((uint32_t)prefix << 8 | indices[i]) + 1;
        uint32_t place = (key * 0x9E3779B1u) >> (32 - TABLE_BITS);
        while (e.keys[place] != 0 && e.keys[place] != key)
            place = (place + 1) & (TABLE_SIZE - 1);
        if (e.keys[place] == key) {
            prefix = e.codes[place];
            continue;
        }
        put_code(&e, prefix);
        if (e.next == CODES_MAX)
            clear(&e);
        else {
            e.keys[place] = key;
            e.codes[place] = (uint16_t)e.next;
            widen(&e);
            e.next++;
        }
        prefix = indices[i];
    }
    put_code(&e, prefix);
    widen(&e);
    put_code(&e, (1 << bits) + 1);
    if (e.n_pending > 0) put_byte(&e, (uint8_t)e.pending);
    flush_block(&e);
    wk_text_append(out, "", 1);
}

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
    wk_text_puts(&gif->out, "GIF89a");
    put_u16(&gif->out, width);
    put_u16(&gif->out, height);
    wk_text_append(&gif->out, "\x70\0\0", 3); // no global palette, 8 bits a channel
    wk_text_append(&gif->out, "\x21\xFF\x0BNETSCAPE2.0\x03\x01\0\0\0", 19); // repeat for ever
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
            *out++ = colour == gif->shown[i] ? SKIP : colour;
            gif->shown[i] = colour;
        }
}

wk_status wk_gif_add(wk_gif *gif, const wk_image *frame, wk_error *err)
{
    if (frame->width != gif->width || frame->height != gif->height)
        return wk_fail(err, WK_E_INPUT, "a GIF frame of %d x %d pixels in an animation of %d x %d",
                       frame->width, frame->height, gif->width, gif->height);
    // Indices into the palette, whose entry 0 is "transparent".
    rectangle part = changed_part(gif, frame);
    size_t count = (size_t)part.width * (size_t)part.height;
    take_part(gif, frame, part);
    uint32_t colours[COLOURS_MAX];
    int n = choose_palette(gif->pixels, count, colours, gif->indices), bits = 2;
    if (n < 0)
        return wk_fail(err, WK_E_MEMORY, "no memory to choose colours for %zu pixels", count);
    for (size_t i = 0; i < count; i++)
        gif->indices[i] = gif->pixels[i] == SKIP ? TRANSPARENT : (uint8_t)(gif->indices[i] + 1);
    while (1 << bits < n + 1)
        bits++;
    // Control block, descriptor, palette, data.
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
    for (int i = 0; i < 1 << bits; i++)
        for (int shift = 16; shift >= 0; shift -= 8)
            put_u8(&gif->out, i > 0 && i <= n ? (int)(colours[i - 1] >> shift & 255) : 0);
    lzw_encode(gif->indices, count, bits, &gif->out);
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

wk_status wk_gif_encode(const wk_image *frames, size_t count, int delay_cs, uint8_t **bytes,
                        size_t *size, wk_error *err)
{
    if (count == 0) return no_frames(err);
    wk_gif *gif;
    WK_TRY(wk_gif_create(frames[0].width, frames[0].height, delay_cs, &gif, err));
    wk_status status = WK_OK;
    for (size_t i = 0; i < count && status == WK_OK; i++)
        status = wk_gif_add(gif, &frames[i], err);
    if (status == WK_OK) status = wk_gif_finish(gif, bytes, size, err);
    wk_gif_destroy(gif);
    return status;
}
