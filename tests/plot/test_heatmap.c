// Maps over θ: which cell a θ falls into, sums and means, what has no figure, the words, and one
// colour scale for panels that are compared.
#include "plot/heatmap.h"
#include "support/check.h"
#include <stdio.h>

// θ = (size, red, blue) on a grid of 2 x 2 x 2: rows are sizes, columns the number of blocks.
static const wk_param params[] = {
    {.name = "size", .min = 1, .max = 2, .step = 1, .legal_min = 1, .legal_max = 2},
    {.name = "red", .max = 1, .step = 1, .legal_max = 1},
    {.name = "blue", .max = 1, .step = 1, .legal_max = 1}};
static const wk_domain domain = {.name = "blocks", .n_params = 3, .params = params};

static const double counts[] = {0, 1, 2, 3, 4, 5, 6, 7},
                    shares[] = {.125, .125, .125, .125, .125, .125, .125, .125},
                    means[] = {NAN, 10, 20, 30, NAN, NAN, NAN, NAN};
static const wk_heat_layer layers[WK_HEATS] = {{"counts", WK_HEAT_IS_COUNT, counts},
                                               {"shares", WK_HEAT_IS_SHARE, shares},
                                               {"means", WK_HEAT_IS_MEAN, means}};

static wk_error err;
static wk_space *space; // of the test, as is its map
static wk_heatmap map;

static void create_space(const wk_domain *of, bool continuous)
{
    wk_space_destroy(space);
    assert_ok(wk_space_create(of, continuous, &space, &err));
}

static int begin(void **state)
{
    create_space(&domain, false);
    return wk_space_count(space) == 8 ? 0 : -1;
}

static int end(void **state)
{
    wk_heatmap_free(&map);
    wk_space_destroy(space);
    space = NULL;
    return 0;
}

TEST_CASE(counts_are_summed_and_values_averaged_over_a_cell)
{
    assert_ok(wk_heatmap_add(&map, "now: ", &domain, space, layers, &err));
    assert_int_equal(map.count, 1);
    const wk_heat_panel *p = &map.panels[0];
    assert_string_equal(p->title, "now: blocks");
    assert_string_equal(p->row_name, "size");
    assert_string_equal(p->column_name, "red + blue");
    assert_int_equal(p->rows, 2);
    assert_int_equal(p->columns, 3);
    // θ in order: (1,0,0) (1,0,1) (1,1,0) (1,1,1) (2,0,0) ...; the second and third share a cell.
    const double sums[] = {0, 3, 3, 4, 11, 7}, parts[] = {0.125, 0.25, 0.125};
    for (int c = 0; c < 6; c++) {
        assert_near(p->cells[0][c], sums[c], 0);
        assert_near(p->cells[1][c], parts[c % 3], 1e-15);
    }
    assert_true(isnan(p->cells[2][0]));
    assert_near(p->cells[2][1], 15, 0);
    assert_near(p->cells[2][2], 30, 0);
    for (int c = 3; c < 6; c++)
        assert_true(isnan(p->cells[2][c]));
    assert_near(p->min[2], 15, 0);
    assert_near(p->max[2], 30, 0);
}

// Sixteen bins of the first two parameters; the third is averaged over.
TEST_CASE(a_continuous_space_is_shown_in_bins)
{
    static const wk_param ranges[] = {
        {.name = "a", .max = 1, .step = 1, .legal_max = 1, .continuous = true},
        {.name = "b", .max = 2, .step = 1, .legal_max = 2, .continuous = true},
        {.name = "c", .max = 1, .step = 1, .legal_max = 1, .continuous = true}};
    const wk_domain smooth = {.name = "smooth", .n_params = 3, .params = ranges};
    create_space(&smooth, true);
    static double ones[1024], first[1024];
    for (size_t i = 0; i < 1024; i++) {
        ones[i] = 1;
        first[i] = wk_space_params(space, i)[0];
    }
    const wk_heat_layer own[WK_HEATS] = {{"ones", WK_HEAT_IS_COUNT, ones},
                                         {"ones", WK_HEAT_IS_COUNT, ones},
                                         {"first", WK_HEAT_IS_MEAN, first}};
    assert_ok(wk_heatmap_add(&map, "", &smooth, space, own, &err));
    const wk_heat_panel *p = &map.panels[0];
    assert_int_equal(p->rows, 16);
    assert_int_equal(p->columns, 16);
    assert_string_equal(p->column_name, "b");
    assert_near(p->column_values[15], 2 - 1.0 / 16, 1e-12);
    for (int c = 0; c < 256; c++) {
        assert_near(p->cells[0][c], 4, 0); // a Sobol set
        assert_near(p->cells[2][c], p->row_values[c / 16], 1.0 / 32);
    }
}

TEST_CASE(a_domain_of_one_world_has_one_cell)
{
    static const wk_param only[] = {{.name = "variant"}};
    static const wk_domain one = {.name = "one", .n_params = 1, .params = only};
    create_space(&one, false);
    double values[] = {3};
    const wk_heat_layer own[WK_HEATS] = {{"counts", WK_HEAT_IS_COUNT, values},
                                         {"shares", WK_HEAT_IS_SHARE, values},
                                         {"means", WK_HEAT_IS_MEAN, values}};
    assert_ok(wk_heatmap_add(&map, "", &one, space, own, &err));
    assert_string_equal(map.panels[0].column_name, "variant");
    assert_int_equal(map.panels[0].rows * map.panels[0].columns, 1);
    assert_near(map.panels[0].cells[2][0], 3, 0);
}

TEST_CASE(maps_are_written_and_drawn_one_below_the_other)
{
    wk_image one = {0}, two = {0};
    assert_ok(wk_heatmap_add(&map, "first ", &domain, space, layers, &err));
    assert_ok(wk_heatmap_draw(&map, &one, &err));
    assert_ok(wk_heatmap_add(&map, "second ", &domain, space, layers, &err));
    assert_ok(wk_heatmap_draw(&map, &two, &err));
    assert_int_equal(two.width, one.width);
    assert_int_equal(two.height, 2 * one.height);
    for (int h = 0, width = 0; h < WK_HEATS; h++) { // the layers alone are its columns
        wk_image layer = {0};
        assert_ok(wk_heatmap_draw_layer(&map, (wk_heat)h, &layer, &err));
        width += layer.width;
        assert_int_equal(layer.height, two.height);
        if (h == WK_HEATS - 1) assert_int_equal(width, two.width);
        wk_image_free(&layer);
    }
    wk_text text = {0};
    wk_heatmap_text(&map, &text);
    const char *first = strstr(wk_text_get(&text), "first blocks");
    const char *second = strstr(wk_text_get(&text), "second blocks");
    assert_true(first && second && second > first);
    assert_non_null(strstr(first, "means, 15 .. to 30 @@; rows size, columns red + blue"));
    assert_non_null(strstr(first, "12.5%"));
    wk_text_free(&text);
    wk_image_free(&one);
    wk_image_free(&two);
}

TEST_CASE(more_maps_than_fit_are_refused)
{
    for (int i = 0; i < WK_HEAT_PANELS_MAX; i++)
        assert_ok(wk_heatmap_add(&map, "", &domain, space, layers, &err));
    assert_refused(wk_heatmap_add(&map, "", &domain, space, layers, &err), WK_E_INPUT,
                   "fewer at once");
}

// A panel of two cells.
static wk_heat_panel panel_of(const char *title, double cells[2], double columns[2])
{
    wk_heat_panel p = {.rows = 1,
                       .columns = 2,
                       .column_name = "wind",
                       .column_values = columns,
                       .names = {"episodes", "error", "probability"},
                       .cells = {cells, cells, cells}};
    snprintf(p.title, sizeof p.title, "%s", title);
    return p;
}

static bool has_colour(const wk_image *image, uint32_t colour, int from, int to)
{
    for (int y = from; y < to; y++)
        for (int x = 0; x < image->width; x++) {
            const uint8_t *rgb = image->rgb + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
            if (((uint32_t)rgb[0] << 16 | (uint32_t)rgb[1] << 8 | rgb[2]) == colour) return true;
        }
    return false;
}

TEST_CASE(panels_that_are_compared_share_a_scale)
{
    double columns[] = {0, 1}, low[] = {0, 1}, high[] = {5, 10};
    wk_heatmap two = {.count = 2,
                      .panels = {panel_of("a", low, columns), panel_of("b", high, columns)}};
    wk_image image = {0}, alone = {0};
    assert_ok(wk_heatmap_draw(&two, &image, &err));
    two.count = 1;
    assert_ok(wk_heatmap_draw(&two, &alone, &err));
    assert_int_equal(image.width, alone.width);
    assert_int_equal(image.height, 2 * alone.height);
    // 1 is the most of its own panel, but a tenth of what both have.
    uint32_t tenth = wk_image_ramp(0.1);
    assert_true(has_colour(&image, tenth, 0, alone.height));
    wk_image_free(&image);
    wk_image_free(&alone);
}

// Cells that are too narrow to be set apart touch: no lines between them.
TEST_CASE(cells_of_one_value_make_one_area)
{
    enum { COLUMNS = 41 };
    double columns[COLUMNS], cells[COLUMNS] = {0};
    for (int c = 0; c < COLUMNS; c++)
        columns[c] = c;
    wk_heatmap even = {.count = 1, .panels = {panel_of("even", cells, columns)}};
    even.panels[0].columns = COLUMNS;
    wk_image image = {0};
    assert_ok(wk_heatmap_draw(&even, &image, &err));
    const uint8_t *row = image.rgb + (size_t)3 * (size_t)image.width * 60; // through the cells
    size_t first = 0;
    while (row[3 * first] == 255)
        first++;
    for (size_t x = first + 2; x < first + 200; x++)
        if (memcmp(row + 3 * x, row + 3 * (first + 1), 3) != 0) fail_msg("a seam at %zu", x);
    wk_image_free(&image);
}

int main(void)
{
    return run_each_test(begin, end);
}
