// Plots: marks lie where the values say, gaps stay gaps, and no data however odd draws outside the
// figure.
#include "plot/parts.h"
#include "plot/plot.h"
#include "plot/xml_check.h"
#include "report/sample.h"
#include <float.h>
#include <stdlib.h>

static wk_error err;
static wk_figure *f; // of the test; freed after it

static int clean(void **state)
{
    wk_figure_destroy(f);
    f = NULL;
    return 0;
}

// Draws a plot of any kind: DRAW(lines, .series = ...).
#define DRAW(kind, ...)                                                                            \
    do {                                                                                           \
        clean(NULL);                                                                               \
        assert_ok(wk_plot_##kind##_draw(&(wk_plot_##kind){__VA_ARGS__}, &f, &err));                \
    } while (0)

// Every mark is inside the paper, and the SVG is well-formed.
static void check_inside(void)
{
    for (size_t i = 0; i < f->marks.count; i++) {
        const wk_mark *mark = &f->marks.items[i];
        for (size_t p = 0; p < mark->count; p++) {
            wk_point at = f->points.items[mark->first + p];
            if (!(at.x >= 0 && at.x <= f->width && at.y >= 0 && at.y <= f->height))
                fail_msg("'%s': a mark at %g, %g on paper of %g x %g", f->label, at.x, at.y,
                         f->width, f->height);
        }
        if (mark->kind != WK_MARK_TEXT || mark->style.upwards) continue;
        double width = wk_figure_text_width(mark->text, mark->style.size);
        double start = f->points.items[mark->first].x - width * (int)mark->style.anchor / 2;
        if (start < -1 || start + width > f->width + 1)
            fail_msg("'%s': the text '%s' leaves the paper", f->label, mark->text);
    }
    wk_text svg = {0};
    assert_ok(wk_figure_svg(f, &svg, &err));
    assert_int_equal(xml_check(svg.chars, "svg"), 1);
    assert_null(strstr(svg.chars, "nan"));
    assert_null(strstr(svg.chars, "inf"));
    wk_text_free(&svg);
}

static bool has_text(const char *text)
{
    for (size_t i = 0; i < f->marks.count; i++)
        if (f->marks.items[i].kind == WK_MARK_TEXT && strcmp(f->marks.items[i].text, text) == 0)
            return true;
    return false;
}

// Marks of a kind and colour with at least `points` points, drawn with `width`.
static int find_marks(wk_mark_kind kind, uint32_t colour, double width, size_t points,
                      const wk_mark **last)
{
    int count = 0;
    for (size_t i = 0; i < f->marks.count; i++) {
        const wk_mark *m = &f->marks.items[i];
        if (m->kind != kind || m->paint.colour != colour || m->paint.width != width ||
            m->count < points)
            continue;
        count++;
        if (last) *last = m;
    }
    return count;
}

// The points of the only such mark in the colour of a style.
static const wk_point *points_of(wk_mark_kind kind, int style, double width, size_t points)
{
    const wk_mark *mark = NULL;
    assert_int_equal(find_marks(kind, wk_plot_colour(style), width, points, &mark), 1);
    return f->points.items + mark->first;
}

TEST_CASE(samples_of_every_kind_are_inside_their_paper)
{
    for (int i = 0; i < SAMPLE_FIGURES; i++) {
        clean(NULL);
        f = sample_figure(i);
        check_inside();
    }
}

TEST_CASE(a_line_goes_through_its_points_in_proportion)
{
    const double x[] = {0, 2, 8}, y[] = {0, 1, 0.25};
    const wk_plot_series series = {"a", 3, x, y, NULL, 0, NULL, NULL};
    DRAW(lines, .title = "t", .series = &series, .count = 1);
    const wk_point *p = points_of(WK_MARK_LINE, 0, 1.8, 3);
    assert_near((p[1].x - p[0].x) / (p[2].x - p[0].x), 0.25, 1e-9);
    assert_near((p[0].y - p[2].y) / (p[0].y - p[1].y), 0.25, 1e-9);
    assert_true(p[1].y < p[0].y);
}

TEST_CASE(a_logarithmic_axis_puts_equal_ratios_at_equal_distances)
{
    const double x[] = {1, 10, 100}, y[] = {1e-4, 1e-2, 1};
    const wk_plot_series series = {"a", 3, x, y, NULL, 0, NULL, NULL};
    DRAW(lines, .x = {.log = true}, .y = {.log = true}, .series = &series, .count = 1);
    const wk_point *p = points_of(WK_MARK_LINE, 0, 1.8, 3);
    assert_near(p[1].x - p[0].x, p[2].x - p[1].x, 1e-9);
    assert_near(p[0].y - p[1].y, p[1].y - p[2].y, 1e-9);
}

TEST_CASE(the_shading_reaches_from_below_to_above_by_the_spread)
{
    const double x[] = {0, 1, 2}, y[] = {0, 10, 10}, sd[] = {0, 1, 2};
    const wk_plot_series series = {"a", 3, x, y, sd, 1, NULL, NULL};
    DRAW(lines, .series = &series, .count = 1);
    const wk_point *p = points_of(WK_MARK_LINE, 1, 1.8, 3);
    const wk_point *b = points_of(WK_MARK_POLYGON, 1, 0, 6);
    double unit = (p[0].y - p[1].y) / 10;
    for (int i = 0; i < 3; i++) {
        assert_near(b[i].x, p[i].x, 1e-9);
        assert_near(b[i].y, p[i].y - sd[i] * unit, 1e-9);
        assert_near(b[5 - i].y, p[i].y + sd[i] * unit, 1e-9);
    }
}

// A level above all points is within the plot, from side to side; one that the axis cannot show is
// left out.
TEST_CASE(a_level_is_a_dashed_line_that_the_axis_reaches)
{
    const double x[] = {0, 1}, y[] = {0, 1}, level = 4, none = NAN;
    wk_plot_series series = {"a", 2, x, y, NULL, 0, NULL, &level};
    DRAW(lines, .series = &series, .count = 1);
    const wk_mark *dashed = NULL;
    find_marks(WK_MARK_LINE, wk_plot_colour(0), 1.2, 2, &dashed);
    assert_true(dashed && dashed->paint.dash > 0);
    const wk_point *p = points_of(WK_MARK_LINE, 0, 1.8, 2), *d = points_of(WK_MARK_LINE, 0, 1.2, 2);
    assert_near(d[0].y, d[1].y, 1e-9);
    assert_near(p[0].y - d[0].y, 4 * (p[0].y - p[1].y), 1e-9);
    assert_true(d[0].x <= p[0].x && d[1].x >= p[1].x);
    check_inside();
    series.level = &none;
    DRAW(lines, .series = &series, .count = 1);
    assert_int_equal(find_marks(WK_MARK_LINE, wk_plot_colour(0), 1.2, 2, NULL), 0);
}

TEST_CASE(a_value_that_is_missing_leaves_a_gap)
{
    const double x[] = {0, 1, 2, 3, 4, 5, 6, 7}, y[] = {1, 2, NAN, 3, INFINITY, 1, 2, 3};
    const wk_plot_series series = {"a", 8, x, y, NULL, 0, NULL, NULL};
    DRAW(lines, .series = &series, .count = 1);
    assert_int_equal(find_marks(WK_MARK_LINE, wk_plot_colour(0), 1.8, 2, NULL), 2);
    assert_true(find_marks(WK_MARK_DISC, wk_plot_colour(0), 0, 1, NULL) >= 2); // legend, lone
    check_inside();
}

TEST_CASE(a_single_point_has_a_marker_and_its_spread)
{
    const double x[] = {5}, y[] = {3}, sd[] = {1};
    const wk_plot_series series = {NULL, 1, x, y, sd, 0, NULL, NULL};
    DRAW(lines, .series = &series, .count = 1);
    assert_int_equal(find_marks(WK_MARK_DISC, wk_plot_colour(0), 0, 1, NULL), 1);
    assert_int_equal(find_marks(WK_MARK_LINE, wk_plot_colour(0), 1.2, 2, NULL), 1);
    check_inside();
}

TEST_CASE(odd_values_stay_inside)
{
    static const double odd[][4] = {{0, 0, 0, 0},
                                    {-5, -5, -5, -5},
                                    {1e308, -1e308, 0, 1},
                                    {DBL_MAX, DBL_MAX, DBL_MAX, -DBL_MAX},
                                    {5e-324, 0, 1e-310, 2e-300},
                                    {NAN, NAN, NAN, NAN},
                                    {INFINITY, -INFINITY, NAN, 7},
                                    {1, 1 + 1e-15, 1 - 1e-15, 1},
                                    {1e6, 1e6 + 1e-3, 1e6, 1e6},
                                    {-1, 0, 1e-9, 1e9}};
    size_t count = sizeof odd / sizeof *odd;
    const double x[] = {0, 1, 2, 3};
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            for (int log = 0; log < 4; log++) {
                const wk_plot_series series[] = {
                    {"a", 4, j ? odd[j] : x, odd[i], odd[j], 0, NULL, NULL}};
                const wk_plot_axis xs = {.label = "x", .log = log & 1};
                const wk_plot_axis ys = {.label = "y", .log = log & 2};
                DRAW(lines, "odd", xs, ys, series, 1);
                check_inside();
                DRAW(scatter, "odd", xs, ys, series, 1, NULL, log == 0);
                check_inside();
            }
}

TEST_CASE(nothing_to_show_is_said)
{
    const double x[] = {1}, y[] = {NAN};
    const wk_plot_series series = {"a", 1, x, y, NULL, 0, NULL, NULL};
    DRAW(lines, .title = "none");
    assert_true(has_text("no data yet"));
    DRAW(lines, .series = &series, .count = 1);
    assert_true(has_text("no data yet"));
    DRAW(bars, .title = "none");
    assert_true(has_text("no data yet"));
    check_inside();
    DRAW(heat, .title = "none");
    assert_true(has_text("no data yet"));
    check_inside();
}

// How often the SVG has this.
static int count_text(const char *text)
{
    wk_text svg = {0};
    int count = 0;
    assert_ok(wk_figure_svg(f, &svg, &err));
    for (const char *at = svg.chars; (at = strstr(at, text)); at++)
        count++;
    wk_text_free(&svg);
    return count;
}

TEST_CASE(long_names_are_cut_with_an_ellipsis)
{
    char name[600];
    for (size_t i = 0; i + 1 < sizeof name; i += 2)
        memcpy(name + i, "\xc3\xa9", 2); // cut inside a character it would be malformed
    name[sizeof name - 2] = 0;
    const double x[] = {0, 1}, y[] = {0, 1};
    const wk_plot_series series = {name, 2, x, y, NULL, 0, NULL, NULL};
    DRAW(lines, name, {.label = name}, {.label = name}, &series, 1);
    check_inside();
    assert_true(count_text("\xe2\x80\xa6</text>") > 0);
    const wk_plot_bar bar = {name, 0.5, 0.4, 0.6, 0};
    DRAW(bars, .title = name, .bars = &bar, .count = 1);
    check_inside();
}

TEST_CASE(names_that_are_cut_alike_are_numbered)
{
    char names[3][400];
    for (int i = 0; i < 3; i++) {
        memset(names[i], 0, sizeof names[i]);
        for (size_t k = 0; k < 38; k++)
            memcpy(names[i] + 10 * k, "long name ", 10);
        names[i][380] = (char)('a' + i);
    }
    snprintf(names[2], sizeof names[2], "short");
    const double x[] = {0, 1}, y[] = {0, 1};
    const wk_plot_series series[] = {{names[0], 0, x, y, NULL, 2, NULL, NULL},
                                     {names[1], 1, x, y, NULL, 2, NULL, NULL},
                                     {names[2], 2, x, y, NULL, 2, NULL, NULL}};
    DRAW(lines, .series = series, .count = 3);
    check_inside();
    assert_int_equal(count_text("\xe2\x80\xa6 (1)</text>"), 1);
    assert_int_equal(count_text("\xe2\x80\xa6 (2)</text>"), 1);
    assert_int_equal(count_text(">short</text>"), 1);
    const wk_plot_bar bars[] = {{names[0], 0.5, 0.4, 0.6, 0},
                                {names[1], 0.5, 0.4, 0.6, 0},
                                {"two lines of a name that is not cut", 0.5, 0.4, 0.6, 0}};
    DRAW(bars, .bars = bars, .count = 3);
    check_inside();
    assert_int_equal(count_text("\xe2\x80\xa6 (1)</text>"), 1);
    assert_int_equal(count_text("\xe2\x80\xa6 (2)</text>"), 1);
    assert_int_equal(count_text("\xe2\x80\xa6"), 2);
}

TEST_CASE(bars_grow_from_the_reference_in_proportion)
{
    const wk_plot_bar bars[] = {
        {"a", 0.7, 0.6, 0.8, 0}, {"b", 0.4, NAN, NAN, 1}, {"c", NAN, 0, 1, 2}};
    DRAW(bars, .title = "t", .axis = {.fixed = true, .min = 0, .max = 1}, .bars = bars, .count = 3,
         .has_reference = true, .reference = 0.5);
    const wk_point *pa = points_of(WK_MARK_POLYGON, 0, 0, 4);
    const wk_point *pb = points_of(WK_MARK_POLYGON, 1, 0, 4);
    assert_int_equal(find_marks(WK_MARK_POLYGON, wk_plot_colour(2), 0, 4, NULL), 0);
    assert_near(pa[1].x - pa[0].x, 2 * (pb[1].x - pb[0].x), 1e-9);       // 0.2 and 0.1
    assert_near(pa[0].x, pb[1].x, 1e-9);                                 // both meet at 0.5
    assert_int_equal(find_marks(WK_MARK_LINE, WK_INK, 1.4, 2, NULL), 3); // one interval
    assert_true(has_text("0.70 [0.60, 0.80]"));
    assert_true(has_text("0.40"));
    check_inside();
}

// Rectangles of the cells, in order; the colour scale comes after them.
static const wk_mark *cell_mark(int number)
{
    for (size_t i = 0; i < f->marks.count; i++)
        if (f->marks.items[i].kind == WK_MARK_POLYGON && number-- == 0) return &f->marks.items[i];
    return NULL;
}

TEST_CASE(a_map_has_its_first_row_on_top_and_colours_by_value)
{
    double rows[] = {0.5, 1.5}, columns[] = {0, 1, 2}, cells[] = {1, 2, NAN, 4, 5, 3};
    wk_heat_panel panel = {.title = "domain",
                           .row_name = "size",
                           .column_name = "blocks",
                           .rows = 2,
                           .columns = 3,
                           .row_values = rows,
                           .column_values = columns,
                           .kinds = {[WK_HEAT_PROBABILITY] = WK_HEAT_IS_SHARE},
                           .cells = {cells, cells, cells}};
    wk_plot_heat plot = wk_plot_heat_of_panel(&panel, WK_HEAT_ERROR, NULL);
    clean(NULL);
    assert_ok(wk_plot_heat_draw(&plot, &f, &err));
    assert_int_equal(cell_mark(0)->paint.colour, wk_image_ramp(0));
    assert_int_equal(cell_mark(1)->paint.colour, wk_image_ramp(0.25));
    assert_int_equal(cell_mark(2)->paint.colour, WK_FAINT);
    assert_int_equal(cell_mark(4)->paint.colour, wk_image_ramp(1));
    assert_true(f->points.items[cell_mark(3)->first].y > f->points.items[cell_mark(0)->first].y);
    assert_true(f->points.items[cell_mark(1)->first].x > f->points.items[cell_mark(0)->first].x);
    assert_true(has_text("domain") && has_text("size") && has_text("blocks"));
    assert_true(has_text("1.5") && has_text("error"));
    check_inside();
    plot = wk_plot_heat_of_panel(&panel, WK_HEAT_PROBABILITY, "other");
    clean(NULL);
    assert_ok(wk_plot_heat_draw(&plot, &f, &err));
    assert_true(has_text("other") && has_text("200%") && !has_text("domain"));
}

TEST_CASE(maps_of_odd_values_stay_inside)
{
    static const double odd[][4] = {
        {0, 0, 0, 0},      {NAN, NAN, NAN, NAN},        {1e308, -1e308, 0, 1},
        {1e-300, 0, 0, 0}, {INFINITY, 1, 2, -INFINITY}, {7, 7, 7, 7}};
    static const double sides[] = {-1e-9, 0, 1e9, 1e100};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        for (int log = 0; log < 2; log++)
            for (int wide = 0; wide < 2; wide++) {
                DRAW(heat, .title = "odd", .rows = wide ? 1 : 4, .columns = wide ? 4 : 1,
                     .row_values = sides, .column_values = sides, .cells = odd[i], .log = log);
                check_inside();
            }
}

// Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
static const double deficiencies[][3][3] = {
    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
    {{0.152286, 1.052583, -0.204868},
     {0.114503, 0.786281, 0.099216},
     {-0.003882, -0.048116, 1.051998}},
    {{0.367322, 0.860646, -0.227968},
     {0.280085, 0.672501, 0.047413},
     {-0.011820, 0.042940, 0.968881}},
};

static double lab_part(double t)
{
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static void to_lab(uint32_t colour, const double seen_as[3][3], double lab[3])
{
    double rgb[3], seen[3];
    for (int c = 0; c < 3; c++) {
        double v = (colour >> (16 - 8 * c) & 0xff) / 255.0;
        rgb[c] = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
    }
    for (int c = 0; c < 3; c++)
        seen[c] = fmax(0, seen_as[c][0] * rgb[0] + seen_as[c][1] * rgb[1] + seen_as[c][2] * rgb[2]);
    double x = lab_part((0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505);
    double y = lab_part(0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2]);
    double z = lab_part((0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089);
    lab[0] = 116 * y - 16;
    lab[1] = 500 * (x - y);
    lab[2] = 200 * (y - z);
}

TEST_CASE(colours_are_told_apart_with_the_common_colour_vision_deficiencies)
{
    for (size_t d = 0; d < sizeof deficiencies / sizeof *deficiencies; d++)
        for (int a = 0; a < WK_PLOT_STYLES; a++)
            for (int b = 0; b < a; b++) {
                double one[3], two[3], distance = 0;
                to_lab(wk_colour_on_paper(wk_plot_colour(a)), deficiencies[d], one);
                to_lab(wk_colour_on_paper(wk_plot_colour(b)), deficiencies[d], two);
                for (int c = 0; c < 3; c++)
                    distance += (one[c] - two[c]) * (one[c] - two[c]);
                if (sqrt(distance) < 12)
                    fail_msg("styles %d and %d are %.1f apart, vision %zu", a, b, sqrt(distance),
                             d);
            }
}

int main(void)
{
    return run_each_test(NULL, clean);
}
