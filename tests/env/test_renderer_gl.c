// The software renderer against MuJoCo's own OpenGL image of the same state, drawn through OSMesa.
// Skipped where OSMesa is not installed.
#include "env/domains/reference_env.h"
#include "env/render/lit_scene.h"
#include "support/check.h"
#include "support/render_worlds.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static wk_error err;

enum { SIDE = 64, BYTES = SIDE * SIDE * 3, STATES = 8 };

// Differs by this much at most, on average over an image, in any state. Measured: up to 0.9.
static const double worst_allowed = 1.5;

// Until 3.12 MuJoCo drew a floor's texture from the floor's middle, where waker draws it with every
// version; since then from a corner.
static const bool texture_from_corner = mjVERSION_HEADER >= 3012000;

// Texels by which the texture lies further along side k when it begins in the corner.
static int corner_offset(const mjModel *model, int floor_geom, int k, int texels)
{
    int material = model->geom_matid[floor_geom];
    double half = model->geom_size[3 * floor_geom + k];
    double repeats = (double)model->mat_texrepeat[2 * material + k];
    if (model->mat_texuniform[material]) repeats *= half;
    double turns = 0.5 + 0.5 * repeats;
    return (int)lround((turns - floor(turns)) * texels) % texels;
}

// Shifts the texture in the model, so that MuJoCo shows it where it was before 3.12. For after the
// scene, which has copied it.
static void shift_texture(mjModel *model, int floor_geom, int texture)
{
    int channels, width = model->tex_width[texture], height = model->tex_height[texture];
    mjtByte *texels = (mjtByte *)wk_texture_bytes(model, texture, &channels);
    size_t size = (size_t)width * (size_t)height * (size_t)channels;
    int right = corner_offset(model, floor_geom, 0, width);
    int down = corner_offset(model, floor_geom, 1, height);
    mjtByte *old = malloc(size);
    assert_non_null(old);
    memcpy(old, texels, size);
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            int to = (y + down) % height * width + (x + right) % width;
            memcpy(texels + to * channels, old + (y * width + x) * channels, (size_t)channels);
        }
    free(old);
}

static wk_reference_gl *open_reference(mjModel *model)
{
    for (int i = 0; texture_from_corner && i < (int)model->ngeom; i++) {
        int texture = wk_material_texture(model, i);
        if (model->geom_type[i] == mjGEOM_PLANE && texture >= 0) shift_texture(model, i, texture);
    }
    wk_reference_gl *reference = NULL;
    wk_status status = wk_reference_gl_create(model, &reference, &err);
    if (status == WK_E_UNSUPPORTED) {
        print_message("skipped: %s\n", err.message);
        skip();
    }
    if (status != WK_OK) fail_msg("%s", err.message);
    return reference;
}

TEST_CASE(every_domain_looks_as_in_mujoco)
{
    static uint8_t ours[BYTES], theirs[BYTES];
    for (render_domain domain = 0; domain < RENDER_DOMAINS; domain++) {
        double worst = 0, mean = 0;
        for (int i = 0; i < STATES; i++) {
            render_world world = render_world_make(domain, i, true, 4, true);
            wk_reference_gl *reference = open_reference(world.model);
            assert_ok(
                wk_reference_gl_draw(reference, world.model, world.data, SIDE, SIDE, theirs, &err));
            render_world_draw(&world, SIDE, SIDE, false, ours);
            wk_reference_gl_destroy(reference);
            render_world_free(&world);
            double difference = render_difference(ours, theirs, BYTES);
            if (difference > worst_allowed)
                fail_msg("%s, state %d: mean difference %.3f of 255", render_domain_name(domain), i,
                         difference);
            mean += difference / STATES;
            worst = difference > worst ? difference : worst;
        }
        print_message("%s: mean difference %.3f of 255, worst state %.3f\n",
                      render_domain_name(domain), mean, worst);
    }
}

TEST_CASE(a_larger_picture_shows_the_same_as_in_mujoco)
{
    enum { W = 320, H = 200 };
    static uint8_t ours[W * H * 3], theirs[W * H * 3];
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

TEST_CASE(an_image_beyond_the_offscreen_size_is_refused)
{
    static uint8_t rgb[3];
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

TEST_MAIN(NULL, NULL)
