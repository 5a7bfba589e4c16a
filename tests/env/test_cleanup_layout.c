// Placement in clean-up arenas against the rules written out by hand, and against a plain reference
// sampler that reads the same stream.
#include "env/domains/cleanup_arena.h"
#include "support/check.h"

static wk_error err;

static const double robot_radius = 0.2, block_radius = 0.35;

static wk_cleanup_layout draw(int arena, int green, int blue, uint64_t seed, uint64_t episode)
{
    wk_cleanup_layout layout;
    wk_rng rng = wk_rng_stream(seed, "layout", episode);
    assert_ok(wk_cleanup_layout_draw(arena, green, blue, &rng, &layout, &err));
    return layout;
}

static double distance(wk_cleanup_pose a, wk_cleanup_pose b)
{
    return hypot(a.x - b.x, a.y - b.y);
}

static void assert_inside(wk_cleanup_pose pose, double s, double radius)
{
    if (!(fabs(pose.x) <= s - 0.5 - radius + 1e-12 && fabs(pose.y) <= s - radius + 1e-12))
        fail_msg("(%g, %g) lies outside the start rectangle of s = %g", pose.x, pose.y, s);
    if (!(pose.yaw >= 0 && pose.yaw < 6.2831853071795865)) fail_msg("yaw %g", pose.yaw);
}

static void assert_rules(const wk_cleanup_layout *layout, double s, int blocks)
{
    assert_inside(layout->robot, s, robot_radius);
    for (int i = 0; i < blocks; i++) {
        assert_inside(layout->blocks[i], s, block_radius);
        assert_true(distance(layout->robot, layout->blocks[i]) >= 0.55 - 1e-12);
        for (int j = 0; j < i; j++)
            assert_true(distance(layout->blocks[i], layout->blocks[j]) >= 0.7 - 1e-12);
    }
}

static void every_layout_keeps_the_rectangles_and_distances(void **state)
{
    static const double half_sizes[] = {0.7, 0.875, 1.05, 1.225, 1.4, 1.4};
    for (int arena = 0; arena < 6; arena++)
        for (int blocks = 0; blocks <= arena; blocks++)
            for (uint64_t seed = 0; seed < 400; seed++) {
                int green = (int)(seed % (uint64_t)(blocks + 1));
                wk_cleanup_layout layout = draw(arena, green, blocks - green, seed, 7);
                assert_rules(&layout, half_sizes[arena], blocks);
            }
}

static void arena_sizes_are_those_of_the_paper(void **state)
{
    static const double half_sizes[] = {0.7, 0.875, 1.05, 1.225, 1.4, 1.4};
    for (int arena = 0; arena < 6; arena++)
        assert_near(wk_cleanup_half_size(arena), half_sizes[arena], 0);
}

static void the_robot_of_the_smallest_arena_starts_on_the_middle_line(void **state)
{
    for (uint64_t seed = 0; seed < 50; seed++)
        assert_near(draw(0, 0, 0, seed, 0).robot.x, 0, 1e-15);
}

// The reference: candidates in order, written as plainly as possible.
typedef struct candidate {
    double x, y;
} candidate;

static int reference(double s, int blocks, wk_rng *rng, candidate *kept)
{
    int restarts = -1;
    for (int placed = 0; placed <= blocks;) {
        if (placed == 0) restarts++;
        double radius = placed == 0 ? robot_radius : block_radius;
        int draws = 0, ok = 0;
        while (draws++ < 100 && !ok) {
            kept[placed].x = (2 * wk_rng_unit(rng) - 1) * (s - 0.5 - radius);
            kept[placed].y = (2 * wk_rng_unit(rng) - 1) * (s - radius);
            ok = 1;
            for (int i = 0; i < placed; i++)
                ok &= hypot(kept[placed].x - kept[i].x, kept[placed].y - kept[i].y) >=
                      radius + (i == 0 ? robot_radius : block_radius);
        }
        placed = ok ? placed + 1 : 0;
    }
    return restarts;
}

static void positions_are_drawn_in_the_order_robot_blue_green_then_headings(void **state)
{
    int restarts = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const int green = 2, blue = 3;
        wk_cleanup_layout layout = draw(5, green, blue, seed, 1);
        wk_rng rng = wk_rng_stream(seed, "layout", 1);
        candidate kept[6];
        restarts += reference(1.4, green + blue, &rng, kept);
        assert_near(layout.robot.x, kept[0].x, 1e-12);
        assert_near(layout.robot.y, kept[0].y, 1e-12);
        for (int b = 0; b < blue; b++)
            assert_near(layout.blocks[green + b].x, kept[1 + b].x, 1e-12);
        for (int g = 0; g < green; g++)
            assert_near(layout.blocks[g].y, kept[1 + blue + g].y, 1e-12);
        assert_near(layout.robot.yaw, 2 * 3.14159265358979 * wk_rng_unit(&rng), 1e-12);
        for (int i = 0; i < green + blue; i++)
            assert_near(layout.blocks[i].yaw, 2 * 3.14159265358979 * wk_rng_unit(&rng), 1e-12);
    }
    // The comparison must have gone through the restart rule as well.
    assert_true(restarts > 0);
}

// Pearson's statistic of `count` equally likely bins.
static double chi_square(const int *bins, int count, int total)
{
    double expected = (double)total / count, sum = 0;
    for (int i = 0; i < count; i++)
        sum += (bins[i] - expected) * (bins[i] - expected) / expected;
    return sum;
}

static void headings_and_robot_positions_are_uniform(void **state)
{
    enum { BINS = 16, TOTAL = 8000 };
    int yaw[BINS] = {0}, block_yaw[BINS] = {0}, x[BINS] = {0}, y[BINS] = {0};
    for (uint64_t seed = 0; seed < TOTAL; seed++) {
        wk_cleanup_layout layout = draw(4, 1, 1, seed, 0);
        yaw[(int)(layout.robot.yaw / 6.2831853071795865 * BINS)]++;
        block_yaw[(int)(layout.blocks[0].yaw / 6.2831853071795865 * BINS)]++;
        x[(int)((layout.robot.x + 0.7) / 1.4 * BINS)]++;
        y[(int)((layout.robot.y + 1.2) / 2.4 * BINS)]++;
    }
    // 15 degrees of freedom: 37.7 is exceeded once in a thousand times.
    assert_true(chi_square(yaw, BINS, TOTAL) < 37.7);
    assert_true(chi_square(block_yaw, BINS, TOTAL) < 37.7);
    assert_true(chi_square(x, BINS, TOTAL) < 37.7);
    assert_true(chi_square(y, BINS, TOTAL) < 37.7);
}

static void episodes_differ_and_repeat(void **state)
{
    wk_cleanup_layout a = draw(3, 1, 2, 5, 0), b = draw(3, 1, 2, 5, 0), c = draw(3, 1, 2, 5, 1);
    assert_near(a.robot.y, b.robot.y, 0);
    assert_near(a.blocks[2].yaw, b.blocks[2].yaw, 0);
    assert_true(a.robot.y != c.robot.y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_sizes_are_those_of_the_paper),
        cmocka_unit_test(every_layout_keeps_the_rectangles_and_distances),
        cmocka_unit_test(the_robot_of_the_smallest_arena_starts_on_the_middle_line),
        cmocka_unit_test(positions_are_drawn_in_the_order_robot_blue_green_then_headings),
        cmocka_unit_test(headings_and_robot_positions_are_uniform),
        cmocka_unit_test(episodes_differ_and_repeat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
