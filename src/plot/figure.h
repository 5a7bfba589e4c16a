// Figures: a list of marks (lines, polygons, rectangles, discs, text) on a white background,
// described once and rendered both as SVG and as an anti-aliased image. Lengths are in points of
// the figure's own size, x to the right, y down. A figure is made by a plot (plot/plot.h) or
// by hand.
#ifndef WK_PLOT_FIGURE_H
#define WK_PLOT_FIGURE_H

#include "base/text.h"
#include "media/image.h"

/// A position in a figure.
typedef struct wk_point {
    double x, y;
} wk_point;

/// Colours that mean a role instead of 0xRRGGBB: a page on a dark screen shows them inverted.
enum {
    WK_INK = 0x01000000, // text, axes
    WK_MUTED,            // text of less weight
    WK_FAINT,            // grid lines, cells without a value
    WK_PAPER,            // background
};

/// How a mark is painted.
typedef struct wk_paint {
    uint32_t colour; // 0xRRGGBB or a role
    double opacity;  // 0 means 1
    double width;    // of the line; 0 fills the inside (polygons, rectangles, discs)
    double dash;     // length of the dashes, as long as the gaps; 0: a solid line
} wk_paint;

/// Which part of a text lies at the position it is given.
typedef enum wk_anchor { WK_ANCHOR_START, WK_ANCHOR_MIDDLE, WK_ANCHOR_END } wk_anchor;

/// How a text is set.
typedef struct wk_text_style {
    double size;     // of the font; 0 means 12
    uint32_t colour; // 0xRRGGBB or a role
    wk_anchor anchor;
    bool bold;
    bool upwards; // turned by a quarter to read from bottom to top
} wk_text_style;

typedef struct wk_figure wk_figure;

/// An empty figure; `label` says what it shows to those who cannot see it. A failed allocation is
/// remembered and reported when the figure is rendered.
wk_status wk_figure_create(double width, double height, const char *label, wk_figure **out,
                           wk_error *err);
void wk_figure_destroy(wk_figure *figure);

/// A line through the points with round joins; `paint.width` must be positive.
void wk_figure_line(wk_figure *figure, const wk_point *points, size_t count, wk_paint paint);
/// A closed polygon; where it crosses itself the inside is what it winds around.
void wk_figure_polygon(wk_figure *figure, const wk_point *points, size_t count, wk_paint paint);
void wk_figure_rectangle(wk_figure *figure, double x, double y, double width, double height,
                         wk_paint paint);
void wk_figure_disc(wk_figure *figure, double x, double y, double radius, wk_paint paint);
/// UTF-8 text on a base line; bytes that are not UTF-8 are shown as '?'.
void wk_figure_text(wk_figure *figure, double x, double y, const char *text, wk_text_style style);
/// About how wide a text is; fonts of SVG viewers differ by some percent.
double wk_figure_text_width(const char *text, double size);

/// Appends an <svg> element: well-formed XML without identifiers, so that many fit in one page.
/// Roles are also classes: "ink", "muted", "faint", "paper".
wk_status wk_figure_svg(const wk_figure *figure, wk_text *out, wk_error *err);
/// Draws `scale` pixels a point.
wk_status wk_figure_draw(const wk_figure *figure, double scale, wk_image *out, wk_error *err);

/// Appends text with the characters that mean something in HTML and XML escaped, also inside quoted
/// attributes. Bytes that are not UTF-8 and characters XML does not allow become U+FFFD.
void wk_xml_escape(const char *text, wk_text *out);

/// Writes STEM.svg and STEM.png (2 pixels a point), atomically.
wk_status wk_figure_write(const wk_figure *figure, const char *stem, wk_error *err);

/// As wk_figure_write, with the stem FOLDER/NAME; destroys the figure, also after a failure.
wk_status wk_figure_save(wk_figure *figure, const char *folder, const char *name, wk_error *err);

#endif
