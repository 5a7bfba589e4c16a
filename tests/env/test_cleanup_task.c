// Rewards and completion of the clean-up tasks against the formulas worked out by hand.
#include "env/domains/cleanup_arena.h"
#include "support/check.h"

enum { SORT, REVERSE, PUSH };

// A single block at (x, y) in an arena of half side 1.4: goals at 0.9 ... 1.4 and -1.4 ... -0.9.
static wk_cleanup_progress one(int is_green, double x, double y)
{
    const double xyz[3] = {x, y, 0.2};
    return wk_cleanup_measure(1.4, is_green, !is_green, xyz);
}

static void distances_are_measured_to_the_centre_of_the_blocks_own_goal(void **state)
{
    wk_cleanup_progress green = one(1, 0.3, 0.5), blue = one(0, 0.3, 0.5);
    assert_near(green.distance[SORT], 1.45, 1e-15);
    assert_near(green.distance[REVERSE], 0.85, 1e-15);
    assert_near(green.distance[PUSH], 0.85, 1e-15);
    assert_near(blue.distance[SORT], 0.85, 1e-15);
    assert_near(blue.distance[REVERSE], 1.45, 1e-15);
    assert_near(blue.distance[PUSH], 0.85, 1e-15);
}

static void distances_of_all_blocks_add_up(void **state)
{
    // Green at -1, blue at 0 and 1.3; centres at -1.15 and 1.15.
    const double xyz[9] = {-1, 0, 0.2, 0, 1, 0.2, 1.3, -1, 0.2};
    wk_cleanup_progress progress = wk_cleanup_measure(1.4, 1, 2, xyz);
    assert_near(progress.distance[SORT], 0.15 + 1.15 + 0.15, 1e-14);
    assert_near(progress.distance[REVERSE], 2.15 + 1.15 + 2.45, 1e-14);
    assert_near(progress.distance[PUSH], 2.15 + 1.15 + 0.15, 1e-14);
    assert_near(progress.completion[SORT], 2.0 / 3, 1e-15);
    assert_near(progress.completion[REVERSE], 0, 0);
    assert_near(progress.completion[PUSH], 1.0 / 3, 1e-15);
}

static void a_block_on_the_border_of_its_goal_is_outside(void **state)
{
    const double s = 1.4, left = s - 0.5, y = 0.1;
    assert_near(one(0, left, y).completion[SORT], 0, 0);
    assert_near(one(0, nextafter(left, 2), y).completion[SORT], 1, 0);
    assert_near(one(0, nextafter(s, 0), y).completion[SORT], 1, 0);
    assert_near(one(0, s, y).completion[SORT], 0, 0);
    assert_near(one(1, -left, y).completion[SORT], 0, 0);
    assert_near(one(1, nextafter(-left, -2), y).completion[SORT], 1, 0);
    assert_near(one(1, -s, y).completion[SORT], 0, 0);
    assert_near(one(0, 1.1, 2).completion[SORT], 0, 0);
    assert_near(one(0, 1.1, nextafter(2, 0)).completion[SORT], 1, 0);
}

static void a_world_without_blocks_is_complete_and_earns_half_a_step(void **state)
{
    wk_cleanup_progress none = wk_cleanup_measure(0.7, 0, 0, NULL);
    for (int task = 0; task < 3; task++) {
        assert_near(none.completion[task], 1, 0);
        assert_near(wk_cleanup_reward(&none, &none, task), 0.5, 0);
    }
}

static void a_step_earns_a_hundred_per_metre_and_half_the_completion(void **state)
{
    wk_cleanup_progress before = one(0, 0.8, 0), after = one(0, 0.95, 0);
    assert_near(wk_cleanup_reward(&before, &after, SORT), 100 * 0.15 + 0.5, 1e-12);
    assert_near(wk_cleanup_reward(&before, &after, REVERSE), -100 * 0.15, 1e-12);
    assert_near(wk_cleanup_reward(&after, &before, PUSH), -100 * 0.15, 1e-12);
    // Past the centre of the goal the distance grows again.
    wk_cleanup_progress past = one(0, 1.25, 0);
    assert_near(wk_cleanup_reward(&after, &past, PUSH), 100 * (0.2 - 0.1) + 0.5, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_are_measured_to_the_centre_of_the_blocks_own_goal),
        cmocka_unit_test(distances_of_all_blocks_add_up),
        cmocka_unit_test(a_block_on_the_border_of_its_goal_is_outside),
        cmocka_unit_test(a_world_without_blocks_is_complete_and_earns_half_a_step),
        cmocka_unit_test(a_step_earns_a_hundred_per_metre_and_half_the_completion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
