#include "base/text.h"
#include "plot/parts.h"

#include <stdlib.h>

// A character: how wide its strokes are apart and the way of the pen. Units are 1/20 of the font's
// size; y goes up from the base line, capitals are 13 high, small letters 9.
//   M x y  puts the pen down        L x y  draws a straight line
//   h x y  draws a quarter of an ellipse that starts level and ends upright; v the other way round
//   D x y  makes a dot
typedef struct glyph {
    uint32_t code;
    float width;
    const char *strokes;
} glyph;

static const glyph glyphs[] = {
    // clang-format off
    {' ', 1.6f, ""},
    {'!', 0, "M0 13L0 4D0 .2"},
    {'"', 2.6f, "M0 13L0 9.4M2.6 13L2.6 9.4"},
    {'#', 8, "M2.8 13L1.2 0M6.8 13L5.2 0M.4 8.6L8 8.6M0 4.4L7.6 4.4"},
    {'$', 7, "M6.7 9.8v3.5 12h.3 9.2v3.5 6.4h7 3.5v3.5 .8h0 3M3.5 14L3.5 -1.2"},
    {'%', 12.4f, "M2.8 6.4h5.6 9.7v2.8 13h0 9.7v2.8 6.4M9.6 0h12.4 3.3v9.6 6.6h6.8 3.3v9.6 0M10.4 13L2 0"},
    {'&', 9.2f, "M9.2 0L2 8.6L1.5 10.3v3.8 13h6 10.5L5.3 8.8L1.6 6.1L0 3.6v3.6 0h8.6 5.6"},
    {'\'', 0, "M0 13L0 9.4"},
    {'(', 2.6f, "M2.6 14.6L1.2 12.2L.3 9.4L0 6L.3 2.6L1.2 -.4L2.6 -3"},
    {')', 2.6f, "M0 14.6L1.4 12.2L2.3 9.4L2.6 6L2.3 2.6L1.4 -.4L0 -3"},
    {'*', 5, "M2.5 13L2.5 7.6M.1 11.7L4.9 8.9M4.9 11.7L.1 8.9"},
    {'+', 7.6f, "M3.8 1.8L3.8 9.4M0 5.6L7.6 5.6"},
    {',', .4f, "M.4 .2L-.4 -2.6"},
    {'-', 3.8f, "M0 4.8L3.8 4.8"},
    {'.', 0, "D0 .1"},
    {'/', 4.8f, "M0 -1L4.8 14"},
    {'0', 7, "M3.5 0h7 6.5v3.5 13h0 6.5v3.5 0"},
    {'1', 7, "M.9 10.4L4.2 13L4.2 0"},
    {'2', 7, "M.2 9.8v3.5 13h6.8 9.6L6.5 8L5.6 6.5L0 0L7 0"},
    {'3', 7, "M.3 10.2v3.4 13h6.6 9.9v3.4 6.9L2.4 6.9M3.4 6.9h7 3.5v3.4 0h0 2.9"},
    {'4', 7, "M5.4 0L5.4 13L0 3.8L7.2 3.8"},
    {'5', 7, "M6.4 13L1 13L.5 6.4v3.6 8.4h7 4.2v3.5 0h0 2.7"},
    {'6', 7, "M6.5 10.8v3.8 13h0 6L0 4.2v3.5 0h7 4.2v3.6 8.2h0 4.4"},
    {'7', 7, "M0 13L7 13L2.4 0"},
    {'8', 7, "M3.5 7h.4 10v3.5 13h6.6 10v3.5 7h0 3.5v3.5 0h7 3.5v3.5 7"},
    {'9', 7, "M.5 2.2v3.2 0h7 7L7 8.8v3.5 13h0 8.8v3.4 4.8h7 8.6"},
    {':', 0, "D0 .1D0 8.4"},
    {';', .4f, "D.3 8.4M.4 .2L-.4 -2.6"},
    {'<', 7, "M7 9.8L0 5.6L7 1.4"},
    {'=', 7.6f, "M0 7.5L7.6 7.5M0 3.7L7.6 3.7"},
    {'>', 7, "M0 9.8L7 5.6L0 1.4"},
    {'?', 6.2f, "M0 10v3.1 13h6.2 9.9L5.7 8L4 6.3L3.1 4.5L3.1 3.8D3.1 .2"},
    {'@', 13, "M6.4 2.8h9 5.4v6.4 8h3.8 5.4v6.4 2.8M9.2 8L9.2 4.4v10.8 2.6h13 6v6.6 13h0 5.4v6.6 -2.4L9.8 -1.8"},
    {'A', 9.8f, "M0 0L4.9 13L9.8 0M1.7 4.4L8.1 4.4"},
    {'B', 8.2f, "M0 0L0 13L4.4 13h7.7 9.9v4.4 6.9L0 6.9M4.4 6.9h8.2 3.4v4.4 0L0 0"},
    {'C', 9.2f, "M9.2 9.7v5 13h0 6.5v5 0h9.2 3.3"},
    {'D', 9, "M0 0L0 13L3.8 13h9 6.5v3.8 0L0 0"},
    {'E', 7.2f, "M7 13L0 13L0 0L7.2 0M0 6.8L6.4 6.8"},
    {'F', 6.8f, "M6.8 13L0 13L0 0M0 6.6L6 6.6"},
    {'G', 9.6f, "M9.3 9.9v5 13h0 6.5v5 0h9.6 4.2L9.6 5.8L5.6 5.8"},
    {'H', 8.6f, "M0 0L0 13M8.6 0L8.6 13M0 6.8L8.6 6.8"},
    {'I', 0, "M0 0L0 13"},
    {'J', 5.8f, "M5.8 13L5.8 3.4v2.9 0h0 3.2"},
    {'K', 8.2f, "M0 0L0 13M7.8 13L0 4.8M2.9 7.8L8.2 0"},
    {'L', 6.4f, "M0 13L0 0L6.4 0"},
    {'M', 10.4f, "M0 0L0 13L5.2 2L10.4 13L10.4 0"},
    {'N', 8.8f, "M0 0L0 13L8.8 0L8.8 13"},
    {'O', 10.4f, "M5.2 0h10.4 6.5v5.2 13h0 6.5v5.2 0"},
    {'P', 7.8f, "M0 0L0 13L4.2 13h7.8 9.4v4.2 5.8L0 5.8"},
    {'Q', 10.4f, "M5.2 0h10.4 6.5v5.2 13h0 6.5v5.2 0M6.6 3.2L10.2 -.6"},
    {'R', 8.4f, "M0 0L0 13L4.4 13h8 9.6v4.4 6.2L0 6.2M4.8 6.2L8.4 0"},
    {'S', 8.2f, "M7.8 10v4.1 13h.4 9.8v4.1 6.7h8.2 3.4v4.1 0h0 3"},
    {'T', 8.8f, "M0 13L8.8 13M4.4 13L4.4 0"},
    {'U', 8.6f, "M0 13L0 4.4v4.3 0h8.6 4.4L8.6 13"},
    {'V', 9.4f, "M0 13L4.7 0L9.4 13"},
    {'W', 13.8f, "M0 13L3.4 0L6.9 12L10.4 0L13.8 13"},
    {'X', 8.8f, "M0 0L8.5 13M.3 13L8.8 0"},
    {'Y', 9, "M0 13L4.5 6.2L9 13M4.5 6.2L4.5 0"},
    {'Z', 8, "M.2 13L7.8 13L0 0L8 0"},
    {'[', 2.6f, "M2.6 14.6L0 14.6L0 -3L2.6 -3"},
    {'\\', 4.8f, "M0 14L4.8 -1"},
    {']', 2.6f, "M0 14.6L2.6 14.6L2.6 -3L0 -3"},
    {'^', 6, "M0 8L3 13L6 8"},
    {'_', 7, "M-1.2 -2.4L8.2 -2.4"},
    {'`', 1.6f, "M0 13.4L1.6 11"},
    {'a', 6.8f, "M6.8 0L6.8 6v3.5 9h.5 7M6.8 5.2L2.8 5.2h0 2.6v2.8 0h6.8 3.2"},
    {'b', 7, "M0 0L0 13M0 4.5v3.5 0h7 4.5v3.5 9h0 4.5"},
    {'c', 6.4f, "M6.4 7.2v3.5 9h0 4.5v3.5 0h6.4 1.8"},
    {'d', 7, "M7 0L7 13M7 4.5v3.5 0h0 4.5v3.5 9h7 4.5"},
    {'e', 7, "M0 4.7L7 4.7v3.5 9h0 4.5v3.7 0h6.6 1.9"},
    {'f', 3.8f, "M4.6 13L4.2 13h1.6 10.4L1.6 0M0 9L4 9"},
    {'g', 7, "M7 9L7 -.6v3.6 -4h.5 -2.2M7 4.5v3.5 0h0 4.5v3.5 9h7 4.5"},
    {'h', 6.8f, "M0 0L0 13M0 5.4v3.5 9h6.8 5.6L6.8 0"},
    {'i', 0, "M0 0L0 9D0 12.6"},
    {'j', 1, "M1 9L1 -1.8v-1 -4D1 12.6"},
    {'k', 6.2f, "M0 0L0 13M5.8 9L0 3.4M2.3 5.6L6.2 0"},
    {'l', 0, "M0 0L0 13"},
    {'m', 11.4f, "M0 0L0 9M0 5.6v3 9h5.7 6L5.7 0M5.7 5.6v8.7 9h11.4 6L11.4 0"},
    {'n', 6.8f, "M0 0L0 9M0 5.4v3.5 9h6.8 5.6L6.8 0"},
    {'o', 7.2f, "M3.6 0h7.2 4.5v3.6 9h0 4.5v3.6 0"},
    {'p', 7, "M0 -4L0 9M0 4.5v3.5 0h7 4.5v3.5 9h0 4.5"},
    {'q', 7, "M7 -4L7 9M7 4.5v3.5 0h0 4.5v3.5 9h7 4.5"},
    {'r', 3.6f, "M0 0L0 9M0 5v3.2 9L4 9"},
    {'s', 6, "M5.7 7.3v3 9h.2 6.8v3 4.6h6 2.3v3 0h0 1.9"},
    {'t', 3.8f, "M1.5 12L1.5 2.4v3.4 0L4 0M0 9L3.9 9"},
    {'u', 6.8f, "M0 9L0 3.4v3.3 0h6.8 3.6M6.8 9L6.8 0"},
    {'v', 6.8f, "M0 9L3.4 0L6.8 9"},
    {'w', 10.4f, "M0 9L2.7 0L5.2 8.6L7.7 0L10.4 9"},
    {'x', 6.4f, "M0 0L6.2 9M.2 9L6.4 0"},
    {'y', 6.8f, "M0 9L3.4 .2M6.8 9L3 -1.6L2.3 -3.1L1.4 -3.9L.2 -4"},
    {'z', 6.2f, "M.1 9L6 9L0 0L6.2 0"},
    {'{', 3.4f, "M3.6 14.6h1.7 12.4L1.7 8v0 5.8M0 5.8h1.7 3.6L1.7 -.8v3.6 -3"},
    {'|', 0, "M0 14.6L0 -3"},
    {'}', 3.4f, "M0 14.6h1.9 12.4L1.9 8v3.6 5.8M3.6 5.8h1.9 3.6L1.9 -.8v0 -3"},
    {'~', 7.6f, "M0 4.6v2 6.6L2.8 6.2L4.8 5L5.6 4.6h7.6 6.6"},
    {0xb0, 4, "M2 9h4 11v2 13h0 11v2 9"},
    {0xb1, 7.6f, "M3.8 3.2L3.8 10.8M0 7L7.6 7M0 .6L7.6 .6"},
    {0xb2, 4, "M.1 11.6v2 13.2h3.8 11.5L3.2 10.1L0 7L4 7"},
    {0xb5, 6.8f, "M0 -4L0 9M0 3.4v3.2 0h6.8 3.6M6.8 9L6.8 0"},
    {0xb7, 0, "D0 5.6"},
    {0xd7, 6.4f, "M0 2.4L6.4 8.8M0 8.8L6.4 2.4"},
    {0x394, 9.6f, "M0 0L4.8 13L9.6 0L0 0"},
    {0x3a3, 7.6f, "M7.6 13L0 13L4.4 6.6L0 0L7.8 0"},
    {0x3b1, 7.8f, "M7.8 9L6.6 4.2L5.2 1.2L4.2 .3L3.4 0h0 4.5v3.4 9h6 6.4L6.9 1.4v7.9 0"},
    {0x3b2, 7, "M0 -4L0 9.8v3.2 13h6.2 10v3.2 7.2L2.2 7.2M3.2 7.2h7 3.6v3.5 0h0 2"},
    {0x3b3, 6.8f, "M0 9L3.4 0L3.4 -4M6.8 9L3.4 0"},
    {0x3b4, 7, "M3.5 0h7 4.2v3.5 8.4h0 4.2v3.5 0M3.5 8.4L1.7 10.2L1.5 11.5v3.4 13L5.8 13"},
    {0x3b5, 5.8f, "M5.4 7.6v3 9h.4 6.9v3 4.8L4 4.8M3 4.8h0 2.4v3 0h5.8 1.6"},
    {0x3b7, 6.8f, "M0 0L0 9M0 5.4v3.5 9h6.8 5.6L6.8 -4"},
    {0x3b8, 6.6f, "M3.3 0h6.6 6.5v3.3 13h0 6.5v3.3 0M0 6.6L6.6 6.6"},
    {0x3bb, 6.8f, "M0 0L3.5 7.6M.4 13L1.6 12.4L6.8 0"},
    {0x3bc, 6.8f, "M0 -4L0 9M0 3.4v3.2 0h6.8 3.6M6.8 9L6.8 0"},
    {0x3c0, 8, "M0 9L8 9M1.8 9L1.6 0M6 9L6 2v7.6 0"},
    {0x3c1, 7, "M0 -4L0 4.5M0 4.5v3.5 0h7 4.5v3.5 9h0 4.5"},
    {0x3c3, 8, "M8 9L3.5 9h0 4.5v3.5 0h7 4.5v4.6 9"},
    {0x3c4, 6.2f, "M0 9L6.2 9M3.1 9L3.1 2v5.2 0"},
    {0x3c6, 8.4f, "M4.2 0h8.4 4.5v4.2 9h0 4.5v4.2 0M4.2 12.4L4.2 -4"},
    {0x2013, 7.6f, "M0 4.8L7.6 4.8"},
    {0x2014, 14, "M0 4.8L14 4.8"},
    {0x2019, .6f, "M.6 13L0 9.8"},
    {0x2026, 9.2f, "D0 .1D4.6 .1D9.2 .1"},
    {0x2190, 10, "M10 5.6L0 5.6M3.4 9L0 5.6L3.4 2.2"},
    {0x2192, 10, "M0 5.6L10 5.6M6.6 9L10 5.6L6.6 2.2"},
    {0x2212, 7.6f, "M0 5.6L7.6 5.6"},
    {0x2264, 7, "M7 11.4L0 7.6L7 3.8M0 .6L7 .6"},
    {0x2265, 7, "M0 11.4L7 7.6L0 3.8M0 .6L7 .6"},
    // clang-format on
};

static const glyph box = {0, 6, "M0 0L6 0L6 11L0 11L0 0"};

enum { UNITS = 20 };             // of the font's size
static const double BEARING = 4; // between the strokes of neighbours
static const double PEN = 1.65, BOLD_PEN = 2.6;

// The glyph of the next character; a byte that is not UTF-8 is a '?'.
static const glyph *next_glyph(const char **text)
{
    uint32_t code;
    size_t length = wk_utf8_decode(*text, SIZE_MAX, &code);
    *text += length ? length : 1;
    if (!length) code = '?';
    for (size_t low = 0, high = sizeof glyphs / sizeof *glyphs; low < high;) {
        size_t middle = (low + high) / 2;
        if (glyphs[middle].code == code) return &glyphs[middle];
        if (glyphs[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    return &box;
}

double wk_stroke_text_width(const char *text, double size)
{
    double width = 0;
    while (*text)
        width += next_glyph(&text)->width + BEARING;
    return width * size / UNITS;
}

// The pen on its way over one glyph.
typedef struct pen {
    wk_raster *raster;
    wk_point origin; // of the glyph, in pixels
    double unit;     // in pixels
    double width;    // in units
    bool upwards;
    wk_point at;        // in units
    wk_point line[128]; // in pixels
    size_t count;
} pen;

static wk_point to_pixels(const pen *p, wk_point at)
{
    double x = (at.x + BEARING / 2) * p->unit, y = (at.y + p->width / 2) * p->unit;
    return p->upwards ? (wk_point){p->origin.x - y, p->origin.y - x}
                      : (wk_point){p->origin.x + x, p->origin.y - y};
}

static void lift(pen *p)
{
    if (p->count) wk_raster_line(p->raster, p->line, p->count, p->width * p->unit, true);
    p->count = 0;
}

static void draw_to(pen *p, wk_point at)
{
    p->at = at;
    if (p->count < sizeof p->line / sizeof *p->line) p->line[p->count++] = to_pixels(p, at);
}

// A quarter turn, somewhat fuller than an ellipse, as letters are.
static void draw_quarter(pen *p, wk_point to, bool level_first)
{
    enum { STEPS = 6 };
    static const double FULLNESS = 0.58; // 0.5523 would be an ellipse
    wk_point from = p->at,
             corner = level_first ? (wk_point){to.x, from.y} : (wk_point){from.x, to.y};
    wk_point first = {from.x + FULLNESS * (corner.x - from.x),
                      from.y + FULLNESS * (corner.y - from.y)};
    wk_point second = {to.x + FULLNESS * (corner.x - to.x), to.y + FULLNESS * (corner.y - to.y)};
    for (int i = 1; i <= STEPS; i++) {
        double t = (double)i / STEPS, s = 1 - t;
        double a = s * s * s, b = 3 * s * s * t, c = 3 * s * t * t, d = t * t * t;
        draw_to(p, (wk_point){a * from.x + b * first.x + c * second.x + d * to.x,
                              a * from.y + b * first.y + c * second.y + d * to.y});
    }
}

static void draw_glyph(pen *p, const char *strokes)
{
    while (*strokes) {
        char command = *strokes, *end;
        wk_point to;
        to.x = strtod(strokes + 1, &end);
        to.y = strtod(end, &end);
        strokes = end;
        if (command == 'M' || command == 'D') lift(p);
        if (command == 'D')
            wk_raster_disc(p->raster, to_pixels(p, to), 0.66 * p->width * p->unit);
        else if (command == 'M' || command == 'L')
            draw_to(p, to);
        else
            draw_quarter(p, to, command == 'h');
    }
    lift(p);
}

void wk_stroke_text(wk_raster *raster, wk_point at, const char *text, double size, bool bold,
                    bool upwards)
{
    pen p = {.raster = raster,
             .origin = at,
             .unit = size / UNITS,
             .width = bold ? BOLD_PEN : PEN,
             .upwards = upwards};
    while (*text) {
        const glyph *g = next_glyph(&text);
        draw_glyph(&p, g->strokes);
        double advance = (g->width + BEARING) * p.unit;
        if (upwards)
            p.origin.y -= advance;
        else
            p.origin.x += advance;
    }
}
