// Maps over θ: which cell a θ falls into, sums and means, what has no figure, and the words.
#include "plot/heatmap.h"
#include "support/check.h"

// θ = (size, red, blue) on a grid of 2 x 2 x 2: rows are sizes, columns the number of blocks.
static const wk_param params[] = {
    {.name = "size", .min = 1, .max = 2, .step = 1, .legal_min = 1, .legal_max = 2},
    {.name = "red", .max = 1, .step = 1, .legal_max = 1},
    {.name = "blue", .max = 1, .step = 1, .legal_max = 1}};
static const wk_domain domain = {.name = "blocks", .n_params = 3, .params = params};

typedef struct fixture {
    wk_space *space;
    double counts[8], shares[8], means[8];
    wk_heat_layer layers[WK_HEATS];
} fixture;

static void begin(fixture *f)
{
    wk_error err = {0};
    assert_ok(wk_space_create(&domain, false, &f->space, &err));
    assert_int_equal(wk_space_count(f->space), 8);
    for (int i = 0; i < 8; i++) {
        f->counts[i] = i;
        f->shares[i] = 0.125;
        f->means[i] = i < 4 ? 10 * i : NAN;
    }
    f->means[0] = NAN;
    f->layers[0] = (wk_heat_layer){"counts", WK_HEAT_IS_COUNT, f->counts};
    f->layers[1] = (wk_heat_layer){"shares", WK_HEAT_IS_SHARE, f->shares};
    f->layers[2] = (wk_heat_layer){"means", WK_HEAT_IS_MEAN, f->means};
}

static void counts_are_summed_and_values_averaged_over_a_cell(void **state)
{
    (void)state;
    wk_error err = {0};
    fixture f;
    begin(&f);
    wk_heatmap map = {0};
    assert_ok(wk_heatmap_add(&map, "now: ", &domain, f.space, f.layers, &err));
    assert_int_equal(map.count, 1);
    const wk_heat_panel *p = &map.panels[0];
    assert_string_equal(p->title, "now: blocks");
    assert_string_equal(p->row_name, "size");
    assert_string_equal(p->column_name, "red + blue");
    assert_int_equal(p->rows, 2);
    assert_int_equal(p->columns, 3);
    // θ in order: (1,0,0) (1,0,1) (1,1,0) (1,1,1) (2,0,0) ...; the second and third share a cell.
    const double counts[] = {0, 3, 3, 4, 11, 7}, shares[] = {0.125, 0.25, 0.125};
    for (int c = 0; c < 6; c++) {
        assert_near(p->cells[0][c], counts[c], 0);
        assert_near(p->cells[1][c], shares[c % 3], 1e-15);
    }
    assert_true(isnan(p->cells[2][0]));
    assert_near(p->cells[2][1], 15, 0);
    assert_near(p->cells[2][2], 30, 0);
    for (int c = 3; c < 6; c++)
        assert_true(isnan(p->cells[2][c]));
    assert_near(p->min[2], 15, 0);
    assert_near(p->max[2], 30, 0);
    wk_heatmap_free(&map);
    wk_space_destroy(f.space);
}

// Sixteen bins of the first two parameters; the third is averaged over.
static void a_continuous_space_is_shown_in_bins(void **state)
{
    (void)state;
    wk_error err = {0};
    static const wk_param ranges[] = {
        {.name = "a", .max = 1, .step = 1, .legal_max = 1, .continuous = true},
        {.name = "b", .max = 2, .step = 1, .legal_max = 2, .continuous = true},
        {.name = "c", .max = 1, .step = 1, .legal_max = 1, .continuous = true}};
    const wk_domain smooth = {.name = "smooth", .n_params = 3, .params = ranges};
    wk_space *space;
    assert_ok(wk_space_create(&smooth, true, &space, &err));
    static double ones[1024], first[1024];
    for (size_t i = 0; i < 1024; i++) {
        ones[i] = 1;
        first[i] = wk_space_params(space, i)[0];
    }
    const wk_heat_layer layers[WK_HEATS] = {{"ones", WK_HEAT_IS_COUNT, ones},
                                            {"ones", WK_HEAT_IS_COUNT, ones},
                                            {"first", WK_HEAT_IS_MEAN, first}};
    wk_heatmap map = {0};
    assert_ok(wk_heatmap_add(&map, "", &smooth, space, layers, &err));
    const wk_heat_panel *p = &map.panels[0];
    assert_int_equal(p->rows, 16);
    assert_int_equal(p->columns, 16);
    assert_string_equal(p->column_name, "b");
    assert_near(p->column_values[15], 2 - 1.0 / 16, 1e-12);
    for (int c = 0; c < 256; c++) {
        assert_near(p->cells[0][c], 4, 0); // a Sobol set
        assert_near(p->cells[2][c], p->row_values[c / 16], 1.0 / 32);
    }
    wk_heatmap_free(&map);
    wk_space_destroy(space);
}

static void a_domain_of_one_world_has_one_cell(void **state)
{
    (void)state;
    static const wk_param only[] = {{.name = "variant"}};
    static const wk_domain one = {.name = "one", .n_params = 1, .params = only};
    wk_error err = {0};
    wk_space *space;
    assert_ok(wk_space_create(&one, false, &space, &err));
    double values[] = {3};
    const wk_heat_layer layers[WK_HEATS] = {{"counts", WK_HEAT_IS_COUNT, values},
                                            {"shares", WK_HEAT_IS_SHARE, values},
                                            {"means", WK_HEAT_IS_MEAN, values}};
    wk_heatmap map = {0};
    assert_ok(wk_heatmap_add(&map, "", &one, space, layers, &err));
    assert_string_equal(map.panels[0].column_name, "variant");
    assert_int_equal(map.panels[0].rows * map.panels[0].columns, 1);
    assert_near(map.panels[0].cells[2][0], 3, 0);
    wk_heatmap_free(&map);
    wk_space_destroy(space);
}

static void maps_are_written_and_drawn_one_below_the_other(void **state)
{
    (void)state;
    wk_error err = {0};
    fixture f;
    begin(&f);
    wk_heatmap map = {0};
    wk_image one = {0}, two = {0};
    assert_ok(wk_heatmap_add(&map, "first ", &domain, f.space, f.layers, &err));
    assert_ok(wk_heatmap_draw(&map, &one, &err));
    assert_ok(wk_heatmap_add(&map, "second ", &domain, f.space, f.layers, &err));
    assert_ok(wk_heatmap_draw(&map, &two, &err));
    assert_int_equal(two.width, one.width);
    assert_int_equal(two.height, 2 * one.height);
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
    wk_heatmap_free(&map);
    wk_space_destroy(f.space);
}

static void more_maps_than_fit_are_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    fixture f;
    begin(&f);
    wk_heatmap map = {0};
    for (int i = 0; i < WK_HEAT_PANELS_MAX; i++)
        assert_ok(wk_heatmap_add(&map, "", &domain, f.space, f.layers, &err));
    assert_refused(wk_heatmap_add(&map, "", &domain, f.space, f.layers, &err), WK_E_INPUT,
                   "fewer at once");
    wk_heatmap_free(&map);
    wk_space_destroy(f.space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_summed_and_values_averaged_over_a_cell),
        cmocka_unit_test(a_continuous_space_is_shown_in_bins),
        cmocka_unit_test(a_domain_of_one_world_has_one_cell),
        cmocka_unit_test(maps_are_written_and_drawn_one_below_the_other),
        cmocka_unit_test(more_maps_than_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
