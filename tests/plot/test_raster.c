// Coverage against areas known from geometry: black is drawn on white, and what is dark is counted.
#include "plot/parts.h"
#include "support/check.h"

enum { SIDE = 64 };

static wk_error err;
static wk_image image;
static wk_raster raster;

static int setup(void **state)
{
    raster = (wk_raster){0};
    return wk_image_create(SIDE, SIDE, 0xffffff, &image, &err) == WK_OK ? 0 : -1;
}

static int teardown(void **state)
{
    wk_raster_free(&raster);
    wk_image_free(&image);
    return 0;
}

static void fill(double opacity)
{
    assert_ok(wk_raster_fill(&raster, 0x000000, opacity, &image, &err));
}

static double coverage(int x, int y)
{
    return (255 - image.rgb[3 * (y * SIDE + x)]) / 255.0;
}

static double total(void)
{
    double sum = 0;
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++)
            sum += coverage(x, y);
    return sum;
}

static void square(double x, double y, double side)
{
    wk_point corners[] = {{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}};
    wk_raster_polygon(&raster, corners, 4);
}

TEST_CASE(a_square_on_whole_pixels_covers_exactly_them)
{
    square(10, 20, 7);
    fill(1);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            bool inside = x >= 10 && x < 17 && y >= 20 && y < 27;
            if (coverage(x, y) != inside) fail_msg("pixel %d, %d: %g", x, y, coverage(x, y));
        }
}

TEST_CASE(a_square_between_pixels_covers_their_shares)
{
    square(10.25, 20.5, 4);
    fill(1);
    assert_near(coverage(10, 22), 0.75, 0.003);
    assert_near(coverage(14, 22), 0.25, 0.003);
    assert_near(coverage(12, 20), 0.5, 0.003);
    assert_near(coverage(10, 20), 0.375, 0.003);
    assert_near(coverage(12, 22), 1, 0);
    assert_near(total(), 16, 0.05);
}

TEST_CASE(a_lines_coverage_adds_up_to_its_area)
{
    for (int i = 0; i < 24; i++) {
        double turn = i * M_PI / 12 + 0.03, width = 0.7 + 0.2 * i, length = 40;
        wk_point ends[] = {{32 - length / 2 * cos(turn), 32 - length / 2 * sin(turn)},
                           {32 + length / 2 * cos(turn), 32 + length / 2 * sin(turn)}};
        wk_image_fill(&image, 0, 0, SIDE, SIDE, 0xffffff);
        wk_raster_line(&raster, ends, 2, width, false);
        fill(1);
        assert_near(total(), length * width, 0.01 * length * width);
    }
}

TEST_CASE(round_ends_add_a_disc)
{
    wk_point ends[] = {{20, 20}, {40, 35}};
    wk_raster_line(&raster, ends, 2, 6, true);
    fill(1);
    assert_near(total(), 25 * 6 + M_PI * 9, 1.0);
}

TEST_CASE(a_discs_coverage_is_its_area)
{
    for (double radius = 0.4; radius < 30; radius *= 1.7) {
        wk_image_fill(&image, 0, 0, SIDE, SIDE, 0xffffff);
        wk_raster_disc(&raster, (wk_point){32.3, 31.6}, radius);
        fill(1);
        double area = M_PI * radius * radius;
        assert_near(total(), area, 0.02 * area + 0.02);
    }
}

TEST_CASE(pieces_of_a_line_that_overlap_count_once)
{
    wk_point there_and_back[] = {{5, 10}, {60, 40}, {5, 40}, {60, 10}, {5, 10}};
    wk_raster_line(&raster, there_and_back, 5, 9, true);
    fill(0.5);
    double most = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        most = fmax(most, coverage(i % SIDE, i / SIDE));
    assert_near(most, 0.5, 0.003);
}

TEST_CASE(what_is_wound_around_twice_is_inside_and_a_counter_turn_is_a_hole)
{
    square(10, 10, 20);
    square(15, 15, 10);
    fill(1);
    assert_near(total(), 400, 0.01);
    wk_image_fill(&image, 0, 0, SIDE, SIDE, 0xffffff);
    square(10, 10, 20);
    wk_point back[] = {{15, 15}, {15, 25}, {25, 25}, {25, 15}};
    wk_raster_polygon(&raster, back, 4);
    fill(1);
    assert_near(total(), 300, 0.01);
}

TEST_CASE(what_lies_outside_is_cut_off)
{
    square(-1e9, -1e9, 1e9 + 8);
    square(60, 60, 1e9);
    square(-50, 30, 20);
    fill(1);
    assert_near(total(), 8 * 8 + 4 * 4, 0.01);
}

TEST_CASE(shapes_that_share_an_edge_leave_no_seam)
{
    wk_point left[] = {{8, 8}, {30.37, 8}, {41.81, 50}, {8, 50}};
    wk_point right[] = {{30.37, 8}, {56, 8}, {56, 50}, {41.81, 50}};
    wk_raster_polygon(&raster, left, 4);
    wk_raster_polygon(&raster, right, 4);
    fill(1);
    for (int y = 8; y < 50; y++)
        for (int x = 8; x < 56; x++)
            if (coverage(x, y) < 1) fail_msg("a seam at %d, %d", x, y);
}

TEST_CASE(colours_are_blended_by_opacity)
{
    square(0, 0, 10);
    assert_ok(wk_raster_fill(&raster, 0xff8000, 0.25, &image, &err));
    assert_int_equal(image.rgb[0], 255);
    assert_int_equal(image.rgb[1], 223); // 255 - (255 - 128) / 4
    assert_int_equal(image.rgb[2], 191);
}

TEST_CASE(filling_forgets_the_outlines)
{
    square(10, 10, 5);
    fill(1);
    wk_image_fill(&image, 0, 0, SIDE, SIDE, 0xffffff);
    fill(1);
    assert_near(total(), 0, 0);
}

int main(void)
{
    return run_each_test(setup, teardown);
}
