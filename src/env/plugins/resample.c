#include "env/plugins/resample.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

// The part of the old pixels that a new one covers along one side.
typedef struct span {
    int first, last; // pixels, both included
    double begin, end;
} span;

static span cover(int i, int from, int to)
{
    double scale = (double)from / to;
    span s = {.begin = i * scale, .end = (i + 1) * scale};
    s.first = (int)s.begin;
    s.last = (int)ceil(s.end) - 1;
    if (s.last > from - 1) s.last = from - 1;
    return s;
}

// How much of the span pixel i is.
static float share(const span *s, int i)
{
    double begin = i < s->begin ? s->begin : i, end = i + 1 > s->end ? s->end : i + 1;
    return (float)((end - begin) / (s->end - s->begin));
}

// The mean of the rows of a span, [width, channels].
static void mean_of_rows(const wk_source_image *from, const span *y, float *row)
{
    size_t count = (size_t)from->width * (size_t)from->channels;
    memset(row, 0, count * sizeof *row);
    for (int i = y->first; i <= y->last; i++) {
        const uint8_t *pixels = from->pixels + (size_t)i * count;
        float weight = share(y, i);
        for (size_t k = 0; k < count; k++)
            row[k] += weight * pixels[k];
    }
}

static void mean_of_columns(const float *row, int channels, const span *x, uint8_t rgb[3])
{
    float sums[3] = {0};
    for (int i = x->first; i <= x->last; i++) {
        float weight = share(x, i);
        for (int k = 0; k < channels; k++)
            sums[k] += weight * row[i * channels + k];
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = (uint8_t)(sums[channels == 3 ? k : 0] + 0.5f);
}

void wk_image_resample(const wk_source_image *from, int width, int height, uint8_t *rgb)
{
    float row[WK_SOURCE_SIDE_MAX * 3];
    assert(from->width <= WK_SOURCE_SIDE_MAX);
    if (from->width == width && from->height == height && from->channels == 3) {
        memcpy(rgb, from->pixels, (size_t)width * (size_t)height * 3);
        return;
    }
    for (int i = 0; i < height; i++) {
        span y = cover(i, from->height, height);
        mean_of_rows(from, &y, row);
        for (int k = 0; k < width; k++, rgb += 3) {
            span x = cover(k, from->width, width);
            mean_of_columns(row, from->channels, &x, rgb);
        }
    }
}
