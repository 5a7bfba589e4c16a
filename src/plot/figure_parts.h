// What a figure is made of, for the files that make and render it.
#ifndef WK_PLOT_FIGURE_PARTS_H
#define WK_PLOT_FIGURE_PARTS_H

#include "base/arena.h"
#include "base/array.h"
#include "plot/figure.h"

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

#endif
