#include "report/raster.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 16 }; // rows of samples in a row of pixels

static void add_edge(wk_raster *raster, wk_point a, wk_point b)
{
    if (a.y == b.y) return;
    wk_point upper = a.y < b.y ? a : b, lower = a.y < b.y ? b : a;
    wk_raster_edge edge = {upper.x, upper.y, lower.y, (lower.x - upper.x) / (lower.y - upper.y),
                           a.y < b.y ? 1 : -1};
    if (!wk_array_push(&raster->edges, edge)) raster->failed = true;
}

void wk_raster_polygon(wk_raster *raster, const wk_point *points, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_edge(raster, points[i], points[i + 1 < count ? i + 1 : 0]);
}

// A polygon that stays within a hundredth of a pixel of the circle.
void wk_raster_disc(wk_raster *raster, wk_point centre, double radius)
{
    enum { MOST = 128 };
    int sides = (int)fmin(MOST, ceil(8 + 24 * sqrt(fmax(radius, 0))));
    wk_point points[MOST];
    for (int i = 0; i < sides; i++) {
        double turn = 2 * M_PI * i / sides;
        points[i] = (wk_point){centre.x + radius * cos(turn), centre.y + radius * sin(turn)};
    }
    wk_raster_polygon(raster, points, (size_t)sides);
}

// The rectangle around a piece of a line; false for a piece without length. Its corners turn the
// way a disc's do.
static bool add_piece(wk_raster *raster, wk_point a, wk_point b, double width)
{
    double length = hypot(b.x - a.x, b.y - a.y);
    if (length == 0) return false;
    double nx = -(b.y - a.y) / length * width / 2, ny = (b.x - a.x) / length * width / 2;
    wk_point corners[4] = {
        {a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}, {a.x + nx, a.y + ny}};
    wk_raster_polygon(raster, corners, 4);
    return true;
}

void wk_raster_line(wk_raster *raster, const wk_point *points, size_t count, double width,
                    bool round_ends)
{
    if (count > 0 && round_ends) wk_raster_disc(raster, points[0], width / 2);
    for (size_t i = 0; i + 1 < count; i++) {
        bool last = i + 2 == count;
        if (!add_piece(raster, points[i], points[i + 1], width)) continue;
        if (!last || round_ends) wk_raster_disc(raster, points[i + 1], width / 2);
    }
}

// Where an edge meets a row of samples.
typedef struct crossing {
    float x;
    int winding;
} crossing;

// The crossings of one fill, row by row of samples.
typedef struct scan {
    int first;     // row of pixels
    int rows;      // of samples, from there on
    size_t *begin; // [rows + 1] into crossings
    crossing *crossings;
    float *coverage; // [width + 2], change of the coverage from pixel to pixel
} scan;

// The first row of samples at or below y. An edge meets those from that of its upper end to before
// that of its lower end.
static int row_at(const scan *s, double y)
{
    double row = ceil((y - s->first) * SAMPLES - 0.5);
    return row <= 0 ? 0 : row >= s->rows ? s->rows : (int)row;
}

// Only the rows of pixels that the outlines reach are looked at.
static void find_rows(const wk_raster *raster, int height, scan *s)
{
    double top = height, bottom = 0;
    for (size_t i = 0; i < raster->edges.count; i++) {
        top = fmin(top, raster->edges.items[i].y);
        bottom = fmax(bottom, raster->edges.items[i].y_end);
    }
    s->first = (int)fmax(0, floor(top));
    int end = (int)fmin(height, ceil(bottom));
    s->rows = end > s->first ? (end - s->first) * SAMPLES : 0;
}

static void count_crossings(const wk_raster *raster, scan *s)
{
    for (size_t i = 0; i < raster->edges.count; i++) {
        const wk_raster_edge *e = &raster->edges.items[i];
        for (int r = row_at(s, e->y), end = row_at(s, e->y_end); r < end; r++)
            s->begin[r + 1]++;
    }
    for (int r = 0; r < s->rows; r++)
        s->begin[r + 1] += s->begin[r];
}

// Puts each crossing into its row. begin[r] moves to the row's end meanwhile, and is moved back.
static void place_crossings(const wk_raster *raster, scan *s, int width)
{
    for (size_t i = 0; i < raster->edges.count; i++) {
        const wk_raster_edge *e = &raster->edges.items[i];
        for (int r = row_at(s, e->y), end = row_at(s, e->y_end); r < end; r++) {
            double y = s->first + (r + 0.5) / SAMPLES, x = e->x + (y - e->y) * e->slope;
            s->crossings[s->begin[r]++] = (crossing){(float)fmin(fmax(x, 0), width), e->winding};
        }
    }
    memmove(s->begin + 1, s->begin, (size_t)s->rows * sizeof *s->begin);
    s->begin[0] = 0;
}

// Few crossings share a row, and neighbouring edges come in order: insertion is fast here.
static void sort_row(crossing *row, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        crossing one = row[i];
        size_t at = i;
        for (; at > 0 && row[at - 1].x > one.x; at--)
            row[at] = row[at - 1];
        row[at] = one;
    }
}

// From x on to the right everything is covered (sign 1) or no longer covered (sign -1).
static void change_at(float *coverage, float x, float sign)
{
    int pixel = (int)x;
    float part = x - (float)pixel;
    coverage[pixel] += sign * (1 - part);
    coverage[pixel + 1] += sign * part;
}

static void cover_row(float *coverage, const crossing *row, size_t count)
{
    int winding = 0;
    for (size_t i = 0; i < count; i++) {
        int next = winding + row[i].winding;
        if (winding == 0 && next != 0) change_at(coverage, row[i].x, 1);
        if (winding != 0 && next == 0) change_at(coverage, row[i].x, -1);
        winding = next;
    }
}

static void blend_row(uint8_t *rgb, int width, const float *coverage, uint32_t colour,
                      double opacity)
{
    const float paint[3] = {(float)(colour >> 16 & 0xff), (float)(colour >> 8 & 0xff),
                            (float)(colour & 0xff)};
    float covered = 0;
    for (int x = 0; x < width; x++, rgb += 3) {
        covered += coverage[x];
        float share = covered * (float)opacity / SAMPLES;
        if (share < 1e-4f) continue; // nothing, but for rounding
        share = share > 1 ? 1 : share;
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)((float)rgb[c] + share * (paint[c] - (float)rgb[c]) + 0.5f);
    }
}

static void fill_rows(scan *s, uint32_t colour, double opacity, wk_image *image)
{
    for (int y = 0; y < s->rows / SAMPLES; y++) {
        const size_t *begin = s->begin + y * SAMPLES;
        if (begin[0] == begin[SAMPLES]) continue;
        memset(s->coverage, 0, ((size_t)image->width + 2) * sizeof *s->coverage);
        for (int r = 0; r < SAMPLES; r++) {
            sort_row(s->crossings + begin[r], begin[r + 1] - begin[r]);
            cover_row(s->coverage, s->crossings + begin[r], begin[r + 1] - begin[r]);
        }
        blend_row(image->rgb + (size_t)(s->first + y) * (size_t)image->width * 3, image->width,
                  s->coverage, colour, opacity);
    }
}

static wk_status scan_and_fill(wk_raster *raster, scan *s, uint32_t colour, double opacity,
                               wk_image *image, wk_error *err)
{
    find_rows(raster, image->height, s);
    s->begin = calloc((size_t)s->rows + 1, sizeof *s->begin);
    s->coverage = malloc(((size_t)image->width + 2) * sizeof *s->coverage);
    bool memory = !raster->failed && s->begin && s->coverage;
    if (memory) {
        count_crossings(raster, s);
        s->crossings = malloc((s->begin[s->rows] + 1) * sizeof *s->crossings);
        memory = s->crossings != NULL;
    }
    if (!memory) return wk_fail(err, WK_E_MEMORY, "no memory to draw a figure");
    place_crossings(raster, s, image->width);
    fill_rows(s, colour, opacity, image);
    return WK_OK;
}

wk_status wk_raster_fill(wk_raster *raster, uint32_t colour, double opacity, wk_image *image,
                         wk_error *err)
{
    scan s = {0};
    wk_status status = scan_and_fill(raster, &s, colour, opacity, image, err);
    free(s.begin);
    free(s.coverage);
    free(s.crossings);
    raster->edges.count = 0;
    return status;
}

void wk_raster_free(wk_raster *raster)
{
    wk_array_free(&raster->edges);
    *raster = (wk_raster){0};
}
