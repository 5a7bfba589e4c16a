// Lines with shading, and points: the plots of named series.
#include "plot/plot_frame.h"

#include <math.h>
#include <stdlib.h>

// The shaded range around a value; on a logarithmic axis it does not reach to zero.
static double low_end(const wk_plot_axis *y, const wk_plot_series *s, size_t i)
{
    double spread = s->spread && isfinite(s->spread[i]) ? fabs(s->spread[i]) : 0;
    double low = s->y[i] - spread;
    return y->log ? fmax(low, s->y[i] / 4) : low;
}

static double high_end(const wk_plot_series *s, size_t i)
{
    const double *above = s->above ? s->above : s->spread;
    return s->y[i] + (above && isfinite(above[i]) ? fabs(above[i]) : 0);
}

static bool is_shown(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *s,
                     size_t i)
{
    return wk_axis_shows(x, s->x[i]) && wk_axis_shows(y, s->y[i]);
}

static bool has_level(const wk_plot_axis *y, const wk_plot_series *s)
{
    return s->level && wk_axis_shows(y, *s->level);
}

// The ranges of all that is shown; returns whether there is anything.
static bool find_extents(const wk_plot_axis *x, const wk_plot_axis *y, const wk_plot_series *series,
                         size_t count, wk_range *xs, wk_range *ys)
{
    *xs = *ys = WK_RANGE_EMPTY;
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < series[k].count; i++) {
            if (!is_shown(x, y, &series[k], i)) continue;
            wk_range_add(xs, x, series[k].x[i]);
            wk_range_add(ys, y, low_end(y, &series[k], i));
            wk_range_add(ys, y, high_end(&series[k], i));
        }
        if (has_level(y, &series[k])) wk_range_add(ys, y, *series[k].level);
    }
    return xs->min <= xs->max;
}

// Titles, legend and axes of a plot of series; `lines` is how the legend shows them.
static wk_status begin(const char *title, const char *note, const wk_plot_axis *x,
                       const wk_plot_axis *y, const wk_plot_series *series, size_t count,
                       bool lines, wk_plot_frame *frame, wk_error *err)
{
    wk_range xs, ys;
    bool any = find_extents(x, y, series, count, &xs, &ys);
    wk_scale x_scale = wk_scale_make(x, xs, 5, lines), y_scale = wk_scale_make(y, ys, 5, false);
    wk_plot_legend *legend = calloc(count + 1, sizeof *legend);
    if (!legend) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    size_t named = 0;
    for (size_t k = 0; k < count; k++)
        if (series[k].name && *series[k].name)
            legend[named++] = (wk_plot_legend){series[k].name, series[k].style, lines};
    wk_status status = wk_plot_frame_begin(
        &(wk_plot_frame_spec){title, note, x, y, &x_scale, &y_scale, legend, named}, frame, err);
    free(legend);
    if (status == WK_OK && !any) wk_plot_frame_no_data(frame);
    return status;
}

// The points from `from` to before `to` follow each other without a gap.
static void shade(const wk_plot_frame *f, const wk_plot_axis *y, const wk_plot_series *s,
                  size_t from, size_t to, wk_point *scratch)
{
    size_t count = to - from;
    for (size_t i = 0; i < count; i++) {
        scratch[i] = wk_plot_frame_point(f, s->x[from + i], high_end(s, from + i));
        scratch[2 * count - 1 - i] =
            wk_plot_frame_point(f, s->x[from + i], low_end(y, s, from + i));
    }
    wk_figure_polygon(f->figure, scratch, 2 * count,
                      (wk_paint){.colour = wk_plot_colour(s->style), .opacity = 0.16});
}

enum { DENSE = 150 }; // lines of more points are thinner, or they would run together

// Points so near to the last one that no eye tells them apart are left out.
static void draw_run(const wk_plot_frame *f, const wk_plot_series *s, size_t from, size_t to,
                     wk_point *scratch)
{
    static const double near = 0.1;
    size_t count = 0;
    for (size_t i = from; i < to; i++) {
        wk_point p = wk_plot_frame_point(f, s->x[i], s->y[i]);
        bool skip = count > 0 && i + 1 < to && fabs(p.x - scratch[count - 1].x) < near &&
                    fabs(p.y - scratch[count - 1].y) < near;
        if (!skip) scratch[count++] = p;
    }
    double width = s->count > DENSE ? 1.2 : 1.8;
    if (count > 1)
        wk_figure_line(f->figure, scratch, count,
                       (wk_paint){.colour = wk_plot_colour(s->style), .width = width});
}

typedef void run_fn(const wk_plot_frame *f, const wk_plot_lines *plot, const wk_plot_series *s,
                    size_t from, size_t to, wk_point *scratch);

static void shade_run(const wk_plot_frame *f, const wk_plot_lines *plot, const wk_plot_series *s,
                      size_t from, size_t to, wk_point *scratch)
{
    if (s->spread && to - from > 1) shade(f, &plot->y, s, from, to, scratch);
}

// A point alone between gaps always has its marker; others have one here and there.
static void line_run(const wk_plot_frame *f, const wk_plot_lines *plot, const wk_plot_series *s,
                     size_t from, size_t to, wk_point *scratch)
{
    enum { MARKERS = 8 };
    (void)plot;
    draw_run(f, s, from, to, scratch);
    size_t every = (s->count + MARKERS - 1) / MARKERS;
    for (size_t i = from; i < to; i++)
        if (i % every == every / 2 || to - from == 1)
            wk_plot_marker(f->figure, wk_plot_frame_point(f, s->x[i], s->y[i]), s->style, 3, 0);
}

static void for_each_run(const wk_plot_frame *f, const wk_plot_lines *plot, const wk_plot_series *s,
                         wk_point *scratch, run_fn *draw)
{
    for (size_t from = 0; from < s->count;) {
        size_t to = from;
        while (to < s->count && is_shown(&plot->x, &plot->y, s, to))
            to++;
        if (to > from) draw(f, plot, s, from, to, scratch);
        from = to + 1;
    }
}

// A lone point shows its spread as a bar.
static void draw_lone_spread(const wk_plot_frame *f, const wk_plot_lines *plot,
                             const wk_plot_series *s, size_t from, size_t to, wk_point *scratch)
{
    (void)scratch;
    if (!s->spread || to - from > 1) return;
    wk_point low = wk_plot_frame_point(f, s->x[from], low_end(&plot->y, s, from));
    wk_point high = wk_plot_frame_point(f, s->x[from], high_end(s, from));
    wk_plot_line(f->figure, low.x, low.y, high.x, high.y,
                 (wk_paint){.colour = wk_plot_colour(s->style), .width = 1.2});
}

static void draw_level(const wk_plot_frame *f, const wk_plot_lines *plot, const wk_plot_series *s)
{
    if (!has_level(&plot->y, s)) return;
    double y = wk_plot_frame_point(f, f->x.min, *s->level).y;
    wk_plot_line(f->figure, f->left, y, f->right, y,
                 (wk_paint){.colour = wk_plot_colour(s->style), .width = 1.2, .dash = 4});
}

wk_status wk_plot_lines_draw(const wk_plot_lines *plot, wk_figure **out, wk_error *err)
{
    size_t max = 0;
    for (size_t k = 0; k < plot->count; k++)
        max = plot->series[k].count > max ? plot->series[k].count : max;
    wk_point *scratch = malloc((2 * max + 1) * sizeof *scratch);
    if (!scratch) return wk_fail(err, WK_E_MEMORY, "no memory for a figure");
    wk_plot_frame f;
    wk_status status =
        begin(plot->title, NULL, &plot->x, &plot->y, plot->series, plot->count, true, &f, err);
    if (status == WK_OK) {
        run_fn *const layers[] = {shade_run, draw_lone_spread, line_run};
        for (size_t k = 0; k < plot->count; k++)
            draw_level(&f, plot, &plot->series[k]);
        for (size_t layer = 0; layer < sizeof layers / sizeof *layers; layer++)
            for (size_t k = 0; k < plot->count; k++)
                for_each_run(&f, plot, &plot->series[k], scratch, layers[layer]);
        *out = f.figure;
    }
    free(scratch);
    return status;
}

// One range for both axes, so that the diagonal is where both are equal.
static void equal_axes(const wk_plot_scatter *plot, wk_plot_axis *x, wk_plot_axis *y)
{
    wk_range xs, ys;
    if (!find_extents(x, y, plot->series, plot->count, &xs, &ys)) return;
    x->fixed = y->fixed = true;
    double low = fmin(xs.min, ys.min), high = fmax(xs.max, ys.max), margin = 0.04 * (high - low);
    x->min = y->min = low - margin;
    x->max = y->max = high + margin;
}

static void draw_diagonal(const wk_plot_frame *f)
{
    double low = fmax(f->x.min, f->y.min), high = fmin(f->x.max, f->y.max);
    wk_point a = wk_plot_frame_point(f, low, low), b = wk_plot_frame_point(f, high, high);
    wk_plot_line(f->figure, a.x, a.y, b.x, b.y,
                 (wk_paint){.colour = WK_MUTED, .width = 1.2, .dash = 4});
}

wk_status wk_plot_scatter_draw(const wk_plot_scatter *plot, wk_figure **out, wk_error *err)
{
    wk_plot_frame f;
    wk_plot_axis x = plot->x, y = plot->y;
    if (plot->diagonal) equal_axes(plot, &x, &y);
    WK_TRY(begin(plot->title, plot->note, &x, &y, plot->series, plot->count, false, &f, err));
    if (plot->diagonal) draw_diagonal(&f);
    for (size_t k = 0; k < plot->count; k++) {
        const wk_plot_series *s = &plot->series[k];
        for (size_t i = 0; i < s->count; i++)
            if (is_shown(&plot->x, &plot->y, s, i))
                wk_plot_marker(f.figure, wk_plot_frame_point(&f, s->x[i], s->y[i]), s->style, 3,
                               0.6);
    }
    *out = f.figure;
    return WK_OK;
}
