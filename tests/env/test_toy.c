// The toy domain against its formulas: where the boat goes, what the buoys pay, what the image
// shows. The constants are written here a second time on purpose.
#include "env/domains/domains.h"
#include "support/check.h"

static wk_error err;

// The state as the domain saves it.
typedef struct boat {
    double turbulence, x, y, vx, vy;
} boat;

// A world of the domain itself, put at a place.
static void *place(boat b)
{
    void *world;
    wk_outcome out = {0};
    assert_ok(wk_toy.create(&wk_toy, NULL, &world, &err));
    assert_ok(wk_toy.reset(world, &b.turbulence, 0, 0, &out, &err));
    assert_ok(wk_toy.load(world, &b, sizeof b, &err));
    return world;
}

static boat step(void *world, float ax, float ay, wk_outcome *out)
{
    boat b;
    *out = (wk_outcome){0};
    wk_toy.step(world, (const float[]){ax, ay}, out);
    assert_int_equal(wk_toy.state_size(world), sizeof b);
    wk_toy.save(world, &b);
    return b;
}

TEST_CASE(still_water_leaves_the_boat_to_its_oars)
{
    wk_outcome out;
    void *world = place((boat){0, 0.1, -0.2, 0.05, 0});
    boat b = step(world, 1, -0.5f, &out);
    assert_near(b.vx, 0.3 * 0.05 + 0.1, 1e-12);
    assert_near(b.vy, -0.05, 1e-12);
    assert_near(b.x, 0.1 + b.vx, 1e-12);
    assert_near(b.y, -0.2 + b.vy, 1e-12);
    wk_toy.destroy(world);
}

TEST_CASE(whirls_carry_the_boat_in_proportion_to_turbulence)
{
    wk_outcome out;
    for (int i = 0; i <= 4; i++) {
        double turbulence = 0.5 * i, x = 0.15, y = -0.4, k = 1.5 * M_PI;
        void *world = place((boat){turbulence, x, y, 0, 0});
        boat b = step(world, 0, 0, &out);
        assert_near(b.x - x, 0.07 * turbulence * sin(k * (x + 1)) * cos(k * (y + 1)), 1e-12);
        assert_near(b.y - y, -0.07 * turbulence * cos(k * (x + 1)) * sin(k * (y + 1)), 1e-12);
        wk_toy.destroy(world);
    }
}

TEST_CASE(the_shore_stops_the_boat)
{
    wk_outcome out;
    void *world = place((boat){0, 0.75, 0, 0.1, 0});
    boat b = step(world, 1, 0, &out);
    assert_near(b.x, 0.8, 1e-12);
    assert_true(b.vx == 0);
    wk_toy.destroy(world);
}

TEST_CASE(a_buoy_pays_one_less_its_distance)
{
    wk_outcome out;
    void *world = place((boat){0, 0.3, 0.3, 0, 0});
    boat b = step(world, 0.2f, 0.1f, &out);
    assert_near(out.rewards[0], fmax(0, 1 - hypot(b.x + 0.7, b.y)), 1e-6);
    assert_near(out.rewards[1], 1 - hypot(b.x - 0.7, b.y), 1e-6);
    assert_true(out.rewards[0] == 0); // farther than 1
    wk_toy.destroy(world);
}

TEST_CASE(episodes_begin_at_the_southern_shore_at_different_places)
{
    double least = 1, most = -1;
    for (uint64_t episode = 0; episode < 20; episode++) {
        boat b;
        void *world = place((boat){0});
        double still = 0;
        wk_outcome out = {0};
        assert_ok(wk_toy.reset(world, &still, 5, episode, &out, &err));
        wk_toy.save(world, &b);
        assert_true(b.y == -0.8 && b.vx == 0 && b.vy == 0);
        least = fmin(least, b.x);
        most = fmax(most, b.x);
        wk_toy.destroy(world);
    }
    assert_true(least >= -0.3 && least < -0.1);
    assert_true(most <= 0.3 && most > 0.1);
}

static const uint8_t *pixel(const uint8_t *image, double x, double y)
{
    int column = (int)((x + 1) * 32), row = (int)((1 - y) * 32);
    return image + 3 * (row * 64 + column);
}

TEST_CASE(the_image_shows_boat_and_buoys_where_they_are)
{
    uint8_t image[WK_IMAGE_BYTES];
    void *world = place((boat){0, 0.1, 0.4, 0, 0});
    wk_toy.render(world, 64, 64, image);
    const uint8_t boat_colour[] = {250, 190, 40}, red[] = {220, 40, 40}, white[] = {240, 240, 240};
    assert_memory_equal(pixel(image, 0.1, 0.4), boat_colour, 3);
    assert_memory_equal(pixel(image, -0.7, 0), red, 3);
    assert_memory_equal(pixel(image, 0.7, 0), white, 3);
    wk_toy.destroy(world);
}

static double water_red(double turbulence, double x, double y)
{
    double k = 1.5 * M_PI, stream = sin(k * (x + 1)) * sin(k * (y + 1));
    return 20 + 150 * fmin(1, turbulence) * (0.7 - 0.3 * cos(4 * M_PI * stream));
}

TEST_CASE(foam_shows_how_turbulent_the_water_is)
{
    for (int i = 0; i <= 4; i++) {
        uint8_t image[WK_IMAGE_BYTES];
        void *world = place((boat){0.25 * i, 0, -0.8, 0, 0});
        wk_toy.render(world, 64, 64, image);
        for (int column = 0; column < 64; column++) { // above boat and buoys
            double x = (column + 0.5) / 32 - 1, y = 1 - 8.5 / 32;
            assert_near(image[3 * (8 * 64 + column)], water_red(0.25 * i, x, y), 0.5 + 1e-9);
        }
        wk_toy.destroy(world);
    }
}

TEST_MAIN(NULL, NULL)
