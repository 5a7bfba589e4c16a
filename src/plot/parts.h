// What figures and plots are made of, for the files of this folder: marks, outlines that are
// filled, letters, scales, and the frame around the data.
#ifndef WK_PLOT_PARTS_H
#define WK_PLOT_PARTS_H

#include "base/memory.h"
#include "plot/plot.h"

typedef enum wk_mark_kind {
    WK_MARK_LINE,
    WK_MARK_POLYGON,
    WK_MARK_DISC,
    WK_MARK_TEXT
} wk_mark_kind;

/// One mark. A disc and a text have one point.
typedef struct wk_mark {
    wk_mark_kind kind;
    wk_paint paint;
    size_t first, count; // of the figure's points
    double radius;
    const char *text;
    wk_text_style style;
} wk_mark;

struct wk_figure {
    double width, height;
    wk_arena strings;
    const char *label;
    WK_ARRAY(wk_mark) marks;
    WK_ARRAY(wk_point) points;
    bool failed; // a mark found no memory
};

/// What a role looks like on white paper; other colours are themselves.
uint32_t wk_colour_on_paper(uint32_t colour);

// Anti-aliased filling of outlines: polygons collected edge by edge, then filled by the
// non-zero winding rule. Coverage is exact along x and sampled 16 times a pixel along y.
// Lines become outlines too; all their pieces turn the same way, so that overlaps count once.

/// An edge that is not horizontal, from its upper to its lower end.
typedef struct wk_raster_edge {
    double x, y, y_end, slope; // slope: x per y
    int winding;               // 1 where the outline goes down, -1 where it goes up
} wk_raster_edge;

/// Where an edge meets a row of samples.
typedef struct wk_raster_crossing {
    float x;
    int winding;
} wk_raster_crossing;

/// Zero-initialise, add outlines, fill, and use again or free.
typedef struct wk_raster {
    WK_ARRAY(wk_raster_edge) edges;
    // Room for filling, kept from one to the next.
    WK_ARRAY(wk_raster_crossing) crossings; // row by row of samples
    WK_ARRAY(size_t) begins;                // of the rows' crossings
    WK_ARRAY(float) coverage;               // its change from pixel to pixel
    bool failed;                            // memory ran out; filling reports it
} wk_raster;

/// Adds a closed polygon; coordinates are in pixels.
void wk_raster_polygon(wk_raster *raster, const wk_point *points, size_t count);
void wk_raster_disc(wk_raster *raster, wk_point centre, double radius);
/// Adds the outline of a line with round joins; its ends are cut off or round.
void wk_raster_line(wk_raster *raster, const wk_point *points, size_t count, double width,
                    bool round_ends);

/// Paints what the outlines enclose, blended over the image, and forgets them.
wk_status wk_raster_fill(wk_raster *raster, uint32_t colour, double opacity, wk_image *image,
                         wk_error *err);
void wk_raster_free(wk_raster *raster);

// A sans-serif font drawn with a round pen, for figures as images: it needs no font files and comes
// out the same everywhere. Printable ASCII, Greek letters and signs of formulas; anything else is a
// box. Its widths are close to those of the fonts SVG viewers choose.

/// How wide a text is in the font's size.
double wk_stroke_text_width(const char *text, double size);

/// Adds the outlines of UTF-8 text that begins at `at` on the base line, upwards or to the right.
void wk_stroke_text(wk_raster *raster, wk_point at, const char *text, double size, bool bold,
                    bool upwards);

// From values to positions: the range of an axis, its ticks at round numbers and their labels.

/// Minimum and maximum of some values; empty while min > max.
typedef struct wk_range {
    double min, max;
} wk_range;

#define WK_RANGE_EMPTY ((wk_range){INFINITY, -INFINITY})

/// Whether an axis can show a value: finite, and above 0 on a logarithmic one.
bool wk_axis_shows(const wk_plot_axis *axis, double value);
/// Extends the range to a value the axis can show; others are ignored.
void wk_range_add(wk_range *range, const wk_plot_axis *axis, double value);

enum { WK_TICKS_MAX = 24, WK_TICK_LABEL = 32 };

typedef struct wk_scale {
    double min, max; // min < max
    bool log;
    int count;
    double ticks[WK_TICKS_MAX]; // ascending, within min to max
    char labels[WK_TICKS_MAX][WK_TICK_LABEL];
} wk_scale;

/// The scale of an axis for values of `range`, with about `wanted` ticks. `tight` lets the
/// outermost values touch the ends, else there is a margin, and 0 is shown when it is near.
wk_scale wk_scale_make(const wk_plot_axis *axis, wk_range range, int wanted, bool tight);

/// The position of a value on the axis, 0 at its beginning and 1 at its end; clamped.
double wk_scale_position(const wk_scale *scale, double value);

/// Writes a value in few characters: 0.25, 50k, 2e-7.
void wk_scale_format(double value, char out[WK_TICK_LABEL]);

/// Writes a value with the digits that tell hundredths of a linear scale apart.
void wk_scale_format_on(const wk_scale *scale, double value, char out[WK_TICK_LABEL]);

// What all plots with two axes share: background, title, legend, axes with ticks and grid, and the
// mapping from values to positions. Data is drawn after wk_plot_frame_begin.

/// Sizes of letters, margins and the plot, in points. A figure is as wide as a phone is, so that it
/// stays readable there; wide screens show several side by side.
enum {
    WK_PLOT_WIDTH = 440,
    WK_PLOT_BODY = 230, // height between the axes
    WK_PLOT_MARGIN = 12,
    WK_PLOT_TITLE = 13,
    WK_PLOT_LABEL = 12,
    WK_PLOT_TICK = 11,
};

/// Where the data goes.
typedef struct wk_plot_frame {
    wk_figure *figure;
    double left, right, top, bottom;
    wk_scale x, y;
} wk_plot_frame;

/// The ends of the shaded range around point `i`; on a logarithmic axis it does not reach to zero.
double wk_plot_low(const wk_plot_axis *y, const wk_plot_series *s, size_t i);
double wk_plot_high(const wk_plot_series *s, size_t i);
/// Whether both axes can show the point.
bool wk_plot_shows(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *s, size_t i);
/// The ranges of all that is shown; returns whether there is anything.
bool wk_plot_extents(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *series,
                     size_t count, wk_range *xs, wk_range *ys);

/// Title, note (both may be NULL), legend and axes around the series; with `lines` the legend shows
/// lines with a marker, else the marker alone.
wk_status wk_plot_frame_begin(const char *title, const char *note, const wk_plot_axis *x,
                              const wk_plot_axis *y, const wk_plot_series *series, size_t count,
                              bool lines, wk_plot_frame *out, wk_error *err);

/// The position in the figure of values that both axes can show.
wk_point wk_plot_frame_point(const wk_plot_frame *frame, double x, double y);

/// Writes in the middle of the plot that there is no data.
void wk_plot_frame_no_data(const wk_plot_frame *frame);

/// Draws the marker of a style.
void wk_plot_marker(wk_figure *figure, wk_point at, int style, double radius, double opacity);

/// How wide a text may come out; fonts of SVG viewers may be wider than ours.
double wk_plot_text_width(const char *text, double size);
/// The width of the widest label of a scale's ticks.
double wk_plot_ticks_width(const wk_scale *scale);
/// Writes in ink.
void wk_plot_text(wk_figure *figure, double x, double y, const char *text, double size,
                  wk_anchor anchor);
void wk_plot_line(wk_figure *figure, double x0, double y0, double x1, double y1, wk_paint paint);

/// Writes the label of a tick around `x`, moved if it would leave the figure and omitted if it
/// would touch the previous one, whose end is kept in `taken` (-INFINITY at first).
void wk_plot_tick_label(wk_figure *figure, double x, double y, const char *label, double *taken);

enum { WK_WRAP_LINES = 6, WK_WRAP_LENGTH = 256 };

/// Breaks a text into lines that fit a width; what does not fit the last line ends in an ellipsis.
/// Returns the number of lines.
int wk_plot_wrap(const char *text, double size, double width, int max,
                 char lines[WK_WRAP_LINES][WK_WRAP_LENGTH]);

/// The i-th of the names of a figure.
typedef const char *wk_plot_name_of(const void *items, size_t i);
/// As wk_plot_wrap, for the i-th of `count` names: those that are cut and would look like another
/// one end in their number among these.
int wk_plot_wrap_name(const void *items, size_t count, wk_plot_name_of *name, size_t i, double size,
                      double width, int max, char lines[WK_WRAP_LINES][WK_WRAP_LENGTH]);

/// Draws the title of a figure, which may be NULL; and how high it is.
void wk_plot_title(wk_figure *figure, const char *title);
double wk_plot_title_height(const char *title);

#endif
