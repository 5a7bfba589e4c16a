#include "media/palette.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

// One colour of the frame and how many pixels have it.
typedef struct shade {
    uint32_t colour;
    uint32_t pixels;
} shade;

// A slot of the table from colours to shades, later to palette indices.
typedef struct slot {
    uint32_t colour; // WK_PALETTE_SKIP when free
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
    while (h->slots[i].colour != WK_PALETTE_SKIP && h->slots[i].colour != colour)
        i = (i + 1) & mask;
    return &h->slots[i];
}

static void count_pixel(histogram *h, uint32_t colour)
{
    slot *s = find_slot(h, colour);
    if (s->colour == WK_PALETTE_SKIP) {
        *s = (slot){.colour = colour, .value = (uint32_t)h->count};
        h->shades[h->count++] = (shade){.colour = colour};
    }
    h->shades[s->value].pixels++;
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
    for (size_t i = 0; i < count; i++)
        if (pixels[i] != WK_PALETTE_SKIP) count_pixel(h, pixels[i]);
    return true;
}

static void histogram_free(histogram *h)
{
    free(h->slots);
    free(h->shades);
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

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

// One total order per channel: the channel first, then the whole colour.
static int compare_shades(const void *a, const void *b, void *channel_shift)
{
    int shift = *(const int *)channel_shift;
    uint32_t x = ((const shade *)a)->colour, y = ((const shade *)b)->colour;
    int by_channel = compare_u32(x >> shift & 255, y >> shift & 255);
    return by_channel ? by_channel : compare_u32(x, y);
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

// The box where a cut takes most error away, or -1 when every box is a single colour.
static int worst_box(const box *boxes, int count)
{
    int worst = -1;
    uint64_t max = 0;
    for (int i = 0; i < count; i++) {
        uint64_t error = boxes[i].pixels * (uint64_t)boxes[i].range * (uint64_t)boxes[i].range;
        if (error <= max) continue;
        max = error;
        worst = i;
    }
    return worst;
}

static uint32_t mean_colour(const shade *shades, const box *b)
{
    uint32_t colour = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        uint64_t sum = b->pixels / 2;
        for (size_t i = b->begin; i < b->end; i++)
            sum += (uint64_t)shades[i].pixels * (shades[i].colour >> shift & 255);
        colour |= (uint32_t)(sum / b->pixels) << shift;
    }
    return colour;
}

static void cut(histogram *h, int max, wk_palette *palette)
{
    box boxes[WK_PALETTE_MAX];
    int count = 0;
    if (h->count > 0) boxes[count++] = box_of(h->shades, 0, h->count);
    for (int worst; count > 0 && count < max && (worst = worst_box(boxes, count)) >= 0; count++)
        split(h->shades, &boxes[worst], &boxes[count]);
    palette->count = count;
    for (int i = 0; i < count; i++) {
        palette->colours[i] = mean_colour(h->shades, &boxes[i]);
        for (size_t k = boxes[i].begin; k < boxes[i].end; k++)
            find_slot(h, h->shades[k].colour)->value = (uint32_t)i;
    }
}

wk_status wk_palette_choose(const uint32_t *pixels, size_t count, int max, wk_palette *palette,
                            uint8_t *indices, wk_error *err)
{
    assert(max >= 1 && max <= WK_PALETTE_MAX && count < UINT32_MAX);
    histogram h;
    if (!histogram_create(pixels, count, &h)) {
        histogram_free(&h);
        return wk_fail(err, WK_E_MEMORY, "no memory to choose colours for %zu pixels", count);
    }
    cut(&h, max, palette);
    for (size_t i = 0; i < count; i++)
        if (pixels[i] != WK_PALETTE_SKIP) indices[i] = (uint8_t)find_slot(&h, pixels[i])->value;
    histogram_free(&h);
    return WK_OK;
}
