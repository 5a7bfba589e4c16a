// The software renderer against MuJoCo's own OpenGL picture of the same state, drawn through
// OSMesa. Skipped where OSMesa is not installed.
#include "env/reference_gl.h"
#include "support/check.h"
#include "support/render_worlds.h"
#include <stdio.h>

enum { SIDE = 64, BYTES = SIDE * SIDE * 3, STATES = 8 };

// Differs by this much at most, on average over a picture, in any state. Measured: up to 0.9.
static const double worst_allowed = 1.5;

static wk_reference_gl *open_reference(const mjModel *model)
{
    wk_error err = {0};
    wk_reference_gl *reference = NULL;
    wk_status status = wk_reference_gl_create(model, &reference, &err);
    if (status == WK_E_UNSUPPORTED) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    if (status != WK_OK) fail_msg("%s", err.message);
    return reference;
}

static double difference_in_state(render_domain domain, int number)
{
    static uint8_t ours[BYTES], theirs[BYTES];
    wk_error err = {0};
    render_world world = render_world_make(domain, number, true, 4, true);
    wk_reference_gl *reference = open_reference(world.model);
    assert_ok(wk_reference_gl_draw(reference, world.model, world.data, SIDE, SIDE, theirs, &err));
    render_world_draw(&world, SIDE, SIDE, false, ours);
    wk_reference_gl_destroy(reference);
    render_world_free(&world);
    return render_difference(ours, theirs, BYTES);
}

static void compare_domain(render_domain domain)
{
    double worst = 0, mean = 0;
    for (int i = 0; i < STATES; i++) {
        double difference = difference_in_state(domain, i);
        if (difference > worst_allowed)
            fail_msg("%s, state %d: mean difference %.3f of 255", render_domain_name(domain), i,
                     difference);
        mean += difference / STATES;
        worst = difference > worst ? difference : worst;
    }
    print_message("%s: mean difference %.3f of 255, worst state %.3f\n", render_domain_name(domain),
                  mean, worst);
}

static void the_walker_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_WALKER);
}

static void the_hopper_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_HOPPER);
}

static void clean_up_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_POINT);
}

static void car_clean_up_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_CAR);
}

static void the_control_suite_walker_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_DMC_WALKER);
}

static void the_control_suite_hopper_looks_as_in_mujoco(void **state)
{
    (void)state;
    compare_domain(RENDER_DMC_HOPPER);
}

static void a_larger_picture_shows_the_same_as_in_mujoco(void **state)
{
    (void)state;
    enum { W = 320, H = 200 };
    static uint8_t ours[W * H * 3], theirs[W * H * 3];
    wk_error err = {0};
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        render_world world = render_world_make(domain, 3, true, 4, true);
        wk_reference_gl *reference = open_reference(world.model);
        assert_ok(wk_reference_gl_draw(reference, world.model, world.data, W, H, theirs, &err));
        render_world_draw(&world, W, H, false, ours);
        wk_reference_gl_destroy(reference);
        render_world_free(&world);
        assert_true(render_difference(ours, theirs, W * H * 3) < worst_allowed);
    }
}

static void a_picture_beyond_the_offscreen_size_is_refused(void **state)
{
    (void)state;
    static uint8_t rgb[3];
    wk_error err = {0};
    render_world world = render_world_make(RENDER_POINT, 0, false, 4, true);
    wk_reference_gl *reference = open_reference(world.model);
    assert_refused(wk_reference_gl_draw(reference, world.model, world.data, 5000, 5000, rgb, &err),
                   WK_E_INPUT, "offscreen size");
    wk_reference_gl_destroy(reference);
    render_world_free(&world);
}

// OSMesa keeps a little memory per context for itself; a leak checker asks here what to pass over.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libOSMesa";
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_walker_looks_as_in_mujoco),
        cmocka_unit_test(the_hopper_looks_as_in_mujoco),
        cmocka_unit_test(clean_up_looks_as_in_mujoco),
        cmocka_unit_test(car_clean_up_looks_as_in_mujoco),
        cmocka_unit_test(the_control_suite_walker_looks_as_in_mujoco),
        cmocka_unit_test(the_control_suite_hopper_looks_as_in_mujoco),
        cmocka_unit_test(a_larger_picture_shows_the_same_as_in_mujoco),
        cmocka_unit_test(a_picture_beyond_the_offscreen_size_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
