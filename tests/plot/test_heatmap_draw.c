// Maps as pictures: one colour scale for panels that are compared.
#include "plot/heatmap.h"
#include "support/check.h"
#include <stdio.h>

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

static void panels_that_are_compared_share_a_scale(void **state)
{
    (void)state;
    wk_error err = {0};
    double columns[] = {0, 1}, low[] = {0, 1}, high[] = {5, 10};
    wk_heatmap map = {.count = 2,
                      .panels = {panel_of("a", low, columns), panel_of("b", high, columns)}};
    wk_image image = {0}, alone = {0};
    assert_ok(wk_heatmap_draw(&map, &image, &err));
    map.count = 1;
    assert_ok(wk_heatmap_draw(&map, &alone, &err));
    assert_int_equal(image.width, alone.width);
    assert_int_equal(image.height, 2 * alone.height);
    // 1 is the most of its own panel, but a tenth of what both have.
    uint32_t tenth = wk_image_ramp(0.1);
    assert_true(has_colour(&image, tenth, 0, alone.height));
    wk_image_free(&image);
    wk_image_free(&alone);
}

// Cells that are too narrow to be set apart touch: no lines between them.
static void cells_of_one_value_make_one_area(void **state)
{
    (void)state;
    enum { COLUMNS = 41 };
    wk_error err = {0};
    double columns[COLUMNS], cells[COLUMNS] = {0};
    for (int c = 0; c < COLUMNS; c++)
        columns[c] = c;
    wk_heatmap map = {.count = 1, .panels = {panel_of("even", cells, columns)}};
    map.panels[0].columns = COLUMNS;
    wk_image image = {0};
    assert_ok(wk_heatmap_draw(&map, &image, &err));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(panels_that_are_compared_share_a_scale),
        cmocka_unit_test(cells_of_one_value_make_one_area),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
