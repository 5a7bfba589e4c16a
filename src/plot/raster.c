#include "plot/parts.h"

#include <math.h>
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

// A polygon close to the circle, of exactly its area.
void wk_raster_disc(wk_raster *raster, wk_point centre, double radius)
{
    enum { MIN_SIDES = 8, SIDES_MAX = 128 };
    static const double off = 0.04; // pixels between a side and the circle
    if (radius <= 0) return;
    int sides = (int)ceil(M_PI / acos(1 - fmin(1, off / radius)));
    sides = sides < MIN_SIDES ? MIN_SIDES : sides > SIDES_MAX ? SIDES_MAX : sides;
    double step = 2 * M_PI / sides, reach = radius * sqrt(step / sin(step));
    wk_point points[SIDES_MAX];
    for (int i = 0; i < sides; i++)
        points[i] = (wk_point){centre.x + reach * cos(i * step), centre.y + reach * sin(i * step)};
    wk_raster_polygon(raster, points, (size_t)sides);
}

static wk_point plus(wk_point a, wk_point b)
{
    return (wk_point){a.x + b.x, a.y + b.y};
}

static wk_point minus(wk_point a, wk_point b)
{
    return (wk_point){a.x - b.x, a.y - b.y};
}

// Half the width across a piece of a line.
static wk_point across(wk_point a, wk_point b, double width)
{
    double half = width / 2 / hypot(b.x - a.x, b.y - a.y);
    return (wk_point){-(b.y - a.y) * half, (b.x - a.x) * half};
}

// The outline goes along one side of the line and back along the other, turning the way a disc
// does. At a bend `p` it takes the short way on the outer side, and passes through the bend itself
// on the inner one: so it winds once around every piece and the wedge between them. Sharp bends get
// a disc.
static void add_join(wk_raster *raster, wk_point p, wk_point before, wk_point after, double width)
{
    double along = before.x * after.x + before.y * after.y;
    if (before.x * after.y > before.y * after.x) {
        add_edge(raster, minus(p, before), minus(p, after));
        add_edge(raster, plus(p, after), p);
        add_edge(raster, p, plus(p, before));
    } else {
        add_edge(raster, plus(p, after), plus(p, before));
        add_edge(raster, minus(p, before), p);
        add_edge(raster, p, minus(p, after));
    }
    if (along < 0.7 * width * width / 4) wk_raster_disc(raster, p, width / 2);
}

void wk_raster_line(wk_raster *raster, const wk_point *points, size_t count, double width,
                    bool round_ends)
{
    wk_point last = {0}; // half the width across the piece before
    bool begun = false;
    for (size_t i = 0; i + 1 < count; i++) {
        wk_point a = points[i], b = points[i + 1];
        if (a.x == b.x && a.y == b.y) continue;
        wk_point n = across(a, b, width);
        if (begun)
            add_join(raster, a, last, n, width);
        else
            add_edge(raster, plus(a, n), minus(a, n));
        add_edge(raster, minus(a, n), minus(b, n));
        add_edge(raster, plus(b, n), plus(a, n));
        last = n;
        begun = true;
    }
    if (count == 0) return;
    wk_point end = points[count - 1];
    if (begun) add_edge(raster, minus(end, last), plus(end, last));
    if (!round_ends) return;
    wk_raster_disc(raster, points[0], width / 2);
    wk_raster_disc(raster, end, width / 2);
}

// What one fill works on: the rows that the outlines reach, in the raster's memory.
typedef struct scan {
    int first;     // row of pixels
    int rows;      // of samples, from there on
    size_t *begin; // [rows + 1] into crossings
    wk_raster_crossing *crossings;
    float *coverage; // [width + 3]
} scan;

// The first row of samples at or below y. An edge meets the rows from row_at(its upper end) to
// before row_at(its lower end).
static int row_at(const scan *s, double y)
{
    double row = ceil((y - s->first) * SAMPLES - 0.5);
    return row <= 0 ? 0 : row >= s->rows ? s->rows : (int)row;
}

// Puts each crossing into its row. begin[r] counts up to the row's end and is reset afterwards.
static void place_crossings(const wk_raster *raster, scan *s, int width)
{
    s->crossings = raster->crossings.items;
    for (size_t i = 0; i < raster->edges.count; i++) {
        const wk_raster_edge *e = &raster->edges.items[i];
        for (int r = row_at(s, e->y), end = row_at(s, e->y_end); r < end; r++) {
            double y = s->first + (r + 0.5) / SAMPLES, x = e->x + (y - e->y) * e->slope;
            x = x < 0 ? 0 : x > width ? width : x;
            s->crossings[s->begin[r]++] = (wk_raster_crossing){(float)x, e->winding};
        }
    }
    memmove(s->begin + 1, s->begin, (size_t)s->rows * sizeof *s->begin);
    s->begin[0] = 0;
}

// Few crossings share a row, and neighbouring edges come in order: insertion is fast here.
static void sort_row(wk_raster_crossing *row, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        wk_raster_crossing one = row[i];
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

// Paints the pixels from `from` to before `to`.
static void blend_row(uint8_t *row, int from, int to, const float *coverage, uint32_t colour,
                      double opacity)
{
    const float paint[3] = {(float)(colour >> 16 & 0xff), (float)(colour >> 8 & 0xff),
                            (float)(colour & 0xff)};
    float covered = 0;
    for (int x = from; x < to; x++) {
        covered += coverage[x];
        float share = covered * (float)opacity / SAMPLES;
        if (share < 1e-4f) continue; // nothing, but for rounding
        share = share > 1 ? 1 : share;
        uint8_t *rgb = row + 3 * (size_t)x;
        for (int c = 0; c < 3; c++)
            rgb[c] = (uint8_t)((float)rgb[c] + share * (paint[c] - (float)rgb[c]) + 0.5f);
    }
}

// One row of pixels: `begin` has the ends of its rows of samples.
static void fill_row(scan *s, const size_t *begin, uint32_t colour, double opacity, uint8_t *row,
                     int width)
{
    float min = (float)width, max = 0;
    for (size_t i = begin[0]; i < begin[SAMPLES]; i++) {
        float x = s->crossings[i].x;
        min = x < min ? x : min;
        max = x > max ? x : max;
    }
    int from = (int)min, to = (int)max + 1;
    memset(s->coverage + from, 0, (size_t)(to - from + 2) * sizeof *s->coverage);
    for (int r = 0; r < SAMPLES; r++) {
        wk_raster_crossing *crossings = s->crossings + begin[r];
        size_t count = begin[r + 1] - begin[r];
        int winding = 0;
        sort_row(crossings, count);
        for (size_t i = 0; i < count; i++) {
            int next = winding + crossings[i].winding;
            if (winding == 0 && next != 0) change_at(s->coverage, crossings[i].x, 1);
            if (winding != 0 && next == 0) change_at(s->coverage, crossings[i].x, -1);
            winding = next;
        }
    }
    blend_row(row, from, to < width ? to : width, s->coverage, colour, opacity);
}

wk_status wk_raster_fill(wk_raster *raster, uint32_t colour, double opacity, wk_image *image,
                         wk_error *err)
{
    // Only the rows of pixels that the outlines reach are looked at.
    double top = image->height, bottom = 0;
    for (size_t i = 0; i < raster->edges.count; i++) {
        top = fmin(top, raster->edges.items[i].y);
        bottom = fmax(bottom, raster->edges.items[i].y_end);
    }
    scan s = {.first = (int)fmax(0, floor(top))};
    int end = (int)fmin(image->height, ceil(bottom)), width = image->width;
    s.rows = end > s.first ? (end - s.first) * SAMPLES : 0;
    raster->begins.count = raster->crossings.count = raster->coverage.count = 0;
    bool ready = !raster->failed && wk_array_reserve(&raster->begins, (size_t)s.rows + 1) &&
                 wk_array_reserve(&raster->coverage, (size_t)width + 3);
    s.begin = raster->begins.items;
    s.coverage = raster->coverage.items;
    if (ready) {
        // Counts what meets each row of samples, then finds room for what was counted.
        memset(s.begin, 0, ((size_t)s.rows + 1) * sizeof *s.begin);
        for (size_t i = 0; i < raster->edges.count; i++) {
            const wk_raster_edge *e = &raster->edges.items[i];
            for (int r = row_at(&s, e->y), last = row_at(&s, e->y_end); r < last; r++)
                s.begin[r + 1]++;
        }
        for (int r = 0; r < s.rows; r++)
            s.begin[r + 1] += s.begin[r];
        ready = wk_array_reserve(&raster->crossings, s.begin[s.rows] + 1);
    }
    if (ready) {
        place_crossings(raster, &s, width);
        for (int y = 0; y < s.rows / SAMPLES; y++) {
            const size_t *begin = s.begin + y * SAMPLES;
            size_t row = (size_t)(s.first + y) * (size_t)width;
            if (begin[0] != begin[SAMPLES])
                fill_row(&s, begin, colour, opacity, image->rgb + 3 * row, width);
        }
    }
    raster->edges.count = 0;
    return ready ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to draw a figure");
}

void wk_raster_free(wk_raster *raster)
{
    wk_array_free(&raster->edges);
    wk_array_free(&raster->crossings);
    wk_array_free(&raster->begins);
    wk_array_free(&raster->coverage);
    *raster = (wk_raster){0};
}
