#include "env/resample.h"

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

static double share(const span *s, int i)
{
    return fmin(s->end, i + 1) - fmax(s->begin, i);
}

static void mean(const wk_picture *from, const span *x, const span *y, uint8_t rgb[3])
{
    double sums[3] = {0}, area = (x->end - x->begin) * (y->end - y->begin);
    for (int row = y->first; row <= y->last; row++) {
        const uint8_t *pixels =
            from->pixels + (size_t)row * (size_t)from->width * (size_t)from->channels;
        double height = share(y, row);
        for (int column = x->first; column <= x->last; column++) {
            double weight = height * share(x, column);
            for (int k = 0; k < from->channels; k++)
                sums[k] += weight * pixels[column * from->channels + k];
        }
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = (uint8_t)fmin(255, sums[from->channels == 3 ? k : 0] / area + 0.5);
}

void wk_picture_resample(const wk_picture *from, int width, int height, uint8_t *rgb)
{
    if (from->width == width && from->height == height && from->channels == 3) {
        memcpy(rgb, from->pixels, (size_t)width * (size_t)height * 3);
        return;
    }
    for (int row = 0; row < height; row++) {
        span y = cover(row, from->height, height);
        for (int column = 0; column < width; column++, rgb += 3) {
            span x = cover(column, from->width, width);
            mean(from, &x, &y, rgb);
        }
    }
}
