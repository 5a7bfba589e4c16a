// What the renderer promises of itself: the same bytes for the same state whatever the instruction
// set, the size or the tiling, the right way round, and nothing written outside the image.
#include "env/domains/scene.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include "support/render_worlds.h"
#include <stdio.h>
#include <stdlib.h>

static wk_error err;

enum { SIDE = 64, BYTES = SIDE * SIDE * 3, STATES = 8 };

TEST_CASE(drawing_twice_gives_the_same_bytes)
{
    static uint8_t first[BYTES], again[BYTES], other[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world world = render_world_make(domain, 4, false, 4, true);
        render_world_draw(&world, SIDE, SIDE, false, first);
        render_world_draw(&world, 31, 17, false, other);
        render_world_draw(&world, SIDE, SIDE, false, again);
        assert_memory_equal(first, again, BYTES);
        render_world_free(&world);
    }
}

TEST_CASE(every_instruction_set_gives_the_same_bytes)
{
    static uint8_t best[200 * 41 * 3], portable[200 * 41 * 3];
    const int sizes[][2] = {{64, 64}, {63, 41}, {200, 41}, {1, 1}};
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++)
        for (int i = 0; i < STATES; i++) {
            render_world world = render_world_make(domain, i, false, i % 2 ? 4 : 1, i % 3);
            for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
                render_world_draw(&world, sizes[k][0], sizes[k][1], false, best);
                render_world_draw(&world, sizes[k][0], sizes[k][1], true, portable);
                assert_memory_equal(best, portable, (size_t)sizes[k][0] * sizes[k][1] * 3);
            }
            render_world_free(&world);
        }
}

// An image twice as wide shows the narrow one in its middle, through other tiles and without the
// kept backdrop.
TEST_CASE(a_wider_picture_contains_the_narrow_one)
{
    static uint8_t narrow[BYTES], wide[2 * BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++)
        for (int i = 0; i < STATES; i++) {
            render_world world = render_world_make(domain, i, false, 4, true);
            render_world_draw(&world, SIDE, SIDE, false, narrow);
            render_world_draw(&world, 2 * SIDE, SIDE, false, wide);
            for (int y = 0; y < SIDE; y++)
                assert_memory_equal(wide + (2 * y * SIDE + SIDE / 2) * 3, narrow + y * SIDE * 3,
                                    SIDE * 3);
            render_world_free(&world);
        }
}

TEST_CASE(a_larger_picture_shrinks_to_the_small_one)
{
    enum { FACTOR = 4, LARGE = SIDE * FACTOR };
    static uint8_t small[BYTES], large[LARGE * LARGE * 3], shrunk[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world world = render_world_make(domain, 5, false, 4, true);
        render_world_draw(&world, SIDE, SIDE, false, small);
        render_world_draw(&world, LARGE, LARGE, false, large);
        for (int i = 0; i < BYTES; i++) {
            int x = i / 3 % SIDE * FACTOR, y = i / 3 / SIDE * FACTOR, sum = 0;
            for (int k = 0; k < FACTOR * FACTOR; k++)
                sum += large[((y + k / FACTOR) * LARGE + x + k % FACTOR) * 3 + i % 3];
            shrunk[i] = (uint8_t)(sum / (FACTOR * FACTOR));
        }
        assert_true(render_difference(small, shrunk, BYTES) < 3);
        render_world_free(&world);
    }
}

TEST_CASE(nothing_is_written_outside_the_image)
{
    const int sizes[][2] = {{63, 41}, {1, 70}, {130, 9}, {65, 64}};
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world world = render_world_make(domain, 4, false, 4, true);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            size_t bytes = (size_t)sizes[k][0] * sizes[k][1] * 3;
            uint8_t *guarded = malloc(bytes + 64), guard[32];
            assert_non_null(guarded);
            memset(guard, 0xa5, sizeof guard);
            memset(guarded, 0xa5, bytes + 64);
            render_world_draw(&world, sizes[k][0], sizes[k][1], false, guarded + 32);
            assert_memory_equal(guarded, guard, 32);
            assert_memory_equal(guarded + 32 + bytes, guard, 32);
            free(guarded);
        }
        render_world_free(&world);
    }
}

TEST_CASE(the_largest_picture_can_be_drawn)
{
    enum { LARGEST = 4096 };
    uint8_t *strip = malloc((size_t)LARGEST * 8 * 3), *column = malloc((size_t)LARGEST * 8 * 3);
    assert_non_null(strip);
    assert_non_null(column);
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world world = render_world_make(domain, 1, false, 4, true);
        render_world_draw(&world, LARGEST, 8, false, strip);
        render_world_draw(&world, 8, LARGEST, false, column);
        render_world_free(&world);
    }
    free(strip);
    free(column);
}

// Middle of the pixels that are mostly red.
static void find_red(const uint8_t *rgb, double *x, double *y)
{
    double count = 0;
    *x = *y = 0;
    for (int i = 0; i < SIDE * SIDE; i++)
        if (rgb[3 * i] > 150 && rgb[3 * i + 1] < 80 && rgb[3 * i + 2] < 80) {
            *x += i % SIDE + 0.5;
            *y += i / SIDE + 0.5;
            count++;
        }
    assert_true(count > 3);
    *x /= count;
    *y /= count;
}

// The camera stands 3.5 m above the floor and sees 2 * 3.5 tan(22.5 degrees) of it.
TEST_CASE(clean_up_is_seen_from_above_with_x_right_and_y_up)
{
    static uint8_t rgb[BYTES];
    render_world world = render_world_make(RENDER_POINT, 4, false, 4, true);
    int robot = wk_physics_id(world.model, mjOBJ_GEOM, "robot");
    int nose = wk_physics_id(world.model, mjOBJ_GEOM, "nose");
    for (int i = 0; i < 4; i++) {
        double x = i % 2 ? 0.9 : -0.9, y = i / 2 ? 0.8 : -0.8, column, row;
        mjtNum *at = world.data->geom_xpos + 3 * robot;
        at[0] = x;
        at[1] = y;
        memcpy(world.data->geom_xpos + 3 * nose, at, 3 * sizeof *at);
        world.data->geom_xpos[3 * nose + 2] = 0.1;
        render_world_draw(&world, SIDE, SIDE, false, rgb);
        find_red(rgb, &column, &row);
        double pixels_per_metre = SIDE / (2 * (3.5 - 0.15) * tan(3.14159265358979 / 8));
        assert_near(column, SIDE / 2 + x * pixels_per_metre, 0.7);
        assert_near(row, SIDE / 2 - y * pixels_per_metre, 0.7);
    }
    render_world_free(&world);
}

TEST_CASE(block_colours_are_read_at_every_draw)
{
    static uint8_t green[BYTES], blue[BYTES];
    render_world world = render_world_make(RENDER_POINT, 1, false, 4, true);
    int block = wk_physics_id(world.model, mjOBJ_GEOM, "block0");
    render_world_draw(&world, SIDE, SIDE, false, green);
    world.model->geom_rgba[4 * block + 1] = 0;
    world.model->geom_rgba[4 * block + 2] = 1;
    render_world_draw(&world, SIDE, SIDE, false, blue);
    assert_true(render_difference(green, blue, BYTES) > 1);
    render_world_free(&world);
}

TEST_CASE(shadows_only_darken)
{
    static uint8_t with[BYTES], without[BYTES];
    double darker = 0;
    for (int i = 0; i < STATES; i++) {
        render_world lit = render_world_make(RENDER_WALKER, i, false, 4, true);
        render_world plain = render_world_make(RENDER_WALKER, i, false, 4, false);
        render_world_draw(&lit, SIDE, SIDE, false, with);
        render_world_draw(&plain, SIDE, SIDE, false, without);
        for (int k = 0; k < BYTES; k++) {
            assert_true(with[k] <= without[k]);
            darker += without[k] - with[k];
        }
        render_world_free(&lit);
        render_world_free(&plain);
    }
    assert_true(darker > 0);
}

TEST_CASE(a_profile_shows_once_it_is_set)
{
    static uint8_t before[BYTES], after[BYTES];
    render_world world = render_world_make(RENDER_HOPPER, 2, false, 4, true);
    render_world_draw(&world, SIDE, SIDE, false, before);
    for (int i = 0; i < (int)world.model->nhfielddata; i++)
        world.model->hfield_data[i] = 0.9f;
    wk_terrain_scene_read(world.scene, world.model);
    render_world_draw(&world, SIDE, SIDE, false, after);
    assert_true(render_difference(before, after, BYTES) > 1);
    render_world_free(&world);
}

// A simulation that has broken down is still requested its last image.
TEST_CASE(states_that_are_no_numbers_can_be_drawn)
{
    static uint8_t rgb[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++)
        for (int k = 0; k < 4; k++) {
            render_world world = render_world_make(domain, 4, false, 4, true);
            double poison = k % 2 ? NAN : 1e300;
            int geoms = (int)world.model->ngeom;
            for (int i = 0; i < 3 * geoms; i++)
                if (i / 3 > 0 || k < 2) world.data->geom_xpos[i] = poison;
            if (k < 2)
                for (int i = 0; i < 3; i++)
                    world.data->cam_xpos[i] = world.data->light_xpos[i] = poison;
            render_world_draw(&world, SIDE, SIDE, false, rgb);
            render_world_free(&world);
        }
}

TEST_CASE(a_broken_state_leaves_no_trace_in_later_images)
{
    static uint8_t expected[BYTES], later[BYTES];
    wk_render_config config = {.samples = 4, .shadows = true};
    render_world world = render_world_make(RENDER_WALKER, 4, false, 4, true);
    render_world_draw(&world, SIDE, SIDE, false, expected);
    wk_scene *scene = NULL;
    assert_ok(wk_scene_create(&wk_terrain_scene, world.model, &config, &scene, &err));
    double height = world.data->light_xpos[2];
    world.data->light_xpos[2] = NAN;
    wk_scene_draw(scene, world.model, world.data, SIDE, SIDE, later);
    world.data->light_xpos[2] = height;
    wk_scene_draw(scene, world.model, world.data, SIDE, SIDE, later);
    assert_memory_equal(later, expected, BYTES);
    wk_scene_destroy(scene);
    render_world_free(&world);
}

TEST_CASE(one_sample_per_pixel_is_near_four)
{
    static uint8_t four[BYTES], one[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world fine = render_world_make(domain, 3, false, 4, true);
        render_world coarse = render_world_make(domain, 3, false, 1, true);
        render_world_draw(&fine, SIDE, SIDE, false, four);
        render_world_draw(&coarse, SIDE, SIDE, false, one);
        double difference = render_difference(four, one, BYTES);
        assert_true(difference > 0 && difference < 8);
        render_world_free(&fine);
        render_world_free(&coarse);
    }
}

static uint64_t hash(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t i = 0; i < count; i++)
        value = (value ^ bytes[i]) * 0x100000001b3u;
    return value;
}

// A change here is a change of what agents see: recorded images and trained models no longer fit.
// Compare with MuJoCo's image (renderer_gl), look at the images, then write the new numbers down.
TEST_CASE(known_states_have_known_images)
{
    static const uint64_t known[RENDER_DOMAINS][2] = {
        {0x92f177e2c6f9b89b, 0xe93d843d8d440726}, {0x81e868465ba8808d, 0x5709c4fe9b37207a},
        {0xc80f095fbbec3784, 0xa79353036d1e3e82}, {0xe37cd0664f6bd66f, 0x8bee35fa608c5e38},
        {0x12a4dfa8afd00148, 0x752dc06c0c6bb989}, {0xf20f07d9fde3515e, 0x1943b323ee3c56a5},
    };
    static uint8_t rgb[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++)
        for (int i = 0; i < 2; i++) {
            render_world world = render_world_make(domain, 3 + i, false, 4, true);
            render_world_draw(&world, SIDE, SIDE, false, rgb);
            uint64_t got = hash(rgb, BYTES);
            if (got != known[domain][i])
                fail_msg("%s, state %d: 0x%016llx", render_domain_name(domain), 3 + i,
                         (unsigned long long)got);
            render_world_free(&world);
        }
}

TEST_MAIN(NULL, NULL)
