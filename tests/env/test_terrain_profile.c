// Terrain profiles against the published lattice values and the formula they interpolate by.
#include "env/domains/terrain_profile.h"
#include "support/check.h"

static void the_fixed_lattice_has_the_published_values(void **state)
{
    double v[52];
    wk_terrain_lattice_fixed(v, 52);
    assert_near(v[0], 0.6888437, 5e-8);
    assert_near(v[1], -0.7312715, 5e-8);
    assert_near(v[2], 0.9120685, 5e-8);
    assert_near(v[50], -0.0049269, 5e-8);
    assert_near(v[51], -0.5129645, 5e-8);
}

// With a length of 10 columns' spacing, every tenth column lies on a lattice point.
static void heights_meet_the_lattice_at_its_points_and_their_mean_halfway(void **state)
{
    double lattice[WK_TERRAIN_LATTICE], length = 1000.0 / 1999;
    float heights[WK_TERRAIN_COLUMNS];
    int count = wk_terrain_lattice_count(length);
    assert_int_equal(count, 201);
    wk_terrain_lattice_fixed(lattice, count);
    wk_terrain_noise(lattice, 0.7, length, heights);
    for (int k = 0; k < 198; k++) {
        assert_near(heights[10 * k], 0.5 + 0.35 * lattice[k], 1e-6);
        assert_near(heights[10 * k + 5], 0.5 + 0.35 * (lattice[k] + lattice[k + 1]) / 2, 1e-6);
    }
}

static void heights_follow_the_cosine_between_lattice_points(void **state)
{
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(2));
    wk_terrain_noise(lattice, 1, 2, heights);
    for (int i = 0; i < 2000; i += 7) {
        double q = 100.0 * i / 1999 / 2, part = q - (int)q;
        double blend = sin(M_PI / 2 * part) * sin(M_PI / 2 * part); // = (1 - cos(pi part)) / 2
        double n = lattice[(int)q] + (lattice[(int)q + 1] - lattice[(int)q]) * blend;
        assert_near(heights[i], 0.5 + 0.5 * n, 1e-6);
    }
}

static void amplitude_zero_is_flat_and_no_height_leaves_the_unit_interval(void **state)
{
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(0.1));
    wk_terrain_noise(lattice, 0, 0.2, heights);
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++)
        assert_true(heights[i] == 0.5f);
    wk_terrain_noise(lattice, 1, 0.1, heights);
    for (int i = 0; i < WK_TERRAIN_COLUMNS; i++)
        assert_true(heights[i] >= 0 && heights[i] <= 1);
}

static void fresh_lattices_are_uniform_and_follow_their_stream(void **state)
{
    double a[1000], b[1000], sum = 0, squares = 0;
    wk_rng rng = wk_rng_stream(1, "test", 5), same = rng, other = wk_rng_stream(1, "test", 6);
    wk_terrain_lattice_fresh(&rng, a, 1000);
    wk_terrain_lattice_fresh(&same, b, 1000);
    assert_memory_equal(a, b, sizeof a);
    wk_terrain_lattice_fresh(&other, b, 1000);
    assert_memory_not_equal(a, b, sizeof a);
    for (int k = 0; k < 1000; k++) {
        assert_true(a[k] >= -1 && a[k] < 1);
        sum += a[k] / 1000;
        squares += a[k] * a[k] / 1000;
    }
    assert_near(sum, 0, 0.06);
    assert_near(squares, 1.0 / 3, 0.04);
}

static void stairs_change_where_the_published_ones_do(void **state)
{
    static const int changes[] = {23, 31, 56, 64, 88, 96, 120, 128};
    static const float levels[] = {0.5f, 0, 0.5f, 1};
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_stairs(heights);
    assert_true(heights[0] == 1);
    int found = 0;
    for (int i = 1; i < 130; i++) {
        if (heights[i] == heights[i - 1]) continue;
        assert_true(found < 8);
        assert_int_equal(i, changes[found]);
        assert_true(heights[i] == levels[found % 4]);
        found++;
    }
    assert_int_equal(found, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fixed_lattice_has_the_published_values),
        cmocka_unit_test(heights_meet_the_lattice_at_its_points_and_their_mean_halfway),
        cmocka_unit_test(heights_follow_the_cosine_between_lattice_points),
        cmocka_unit_test(amplitude_zero_is_flat_and_no_height_leaves_the_unit_interval),
        cmocka_unit_test(fresh_lattices_are_uniform_and_follow_their_stream),
        cmocka_unit_test(stairs_change_where_the_published_ones_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
