#include "support/render_worlds.h"
#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "env/domains/cleanup_arena.h"
#include "env/domains/scene.h"
#include "env/domains/terrain_profile.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static const char skybox[] = "<texture type=\"skybox\" builtin=\"gradient\" rgb1=\".4 .6 .8\" "
                             "rgb2=\"0 0 0\" width=\"800\" height=\"800\"/>";

static const struct {
    const char *name;
    const char *file; // of a planar robot
    const wk_scene_kind *scene;
} domains[RENDER_DOMAINS] = {
    [RENDER_WALKER] = {"terrain-walker", "walker.xml", &wk_terrain_scene},
    [RENDER_HOPPER] = {"terrain-hopper", "hopper.xml", &wk_terrain_scene},
    [RENDER_POINT] = {"clean-up", NULL, &wk_cleanup_scene},
    [RENDER_CAR] = {"car-clean-up", NULL, &wk_cleanup_scene},
    [RENDER_DMC_WALKER] = {"dmc-walker", "dmc-walker.xml", &wk_dmc_scene},
    [RENDER_DMC_HOPPER] = {"dmc-hopper", "dmc-hopper.xml", &wk_dmc_scene},
};

const char *render_domain_name(render_domain domain)
{
    return domains[domain].name;
}

static mjModel *load_planar(render_domain domain, bool sky)
{
    wk_error err = {0};
    const char *name = domains[domain].file;
    const char *content = wk_asset_find(name)->content, *end = strstr(content, "</asset>");
    wk_text text = {0};
    wk_text_append(&text, content, (size_t)(end - content));
    if (sky) wk_text_puts(&text, skybox);
    wk_text_puts(&text, end);
    mjModel *model = NULL;
    assert_ok(wk_physics_load(name, wk_text_get(&text), &model, &err));
    wk_text_free(&text);
    return model;
}

static void write_profile(mjModel *model, int number, wk_rng *rng)
{
    static double lattice[WK_TERRAIN_LATTICE];
    static float heights[WK_TERRAIN_COLUMNS];
    double amplitude = wk_rng_unit(rng), length = 0.2 + 1.8 * wk_rng_unit(rng);
    wk_terrain_lattice_fixed(lattice, WK_TERRAIN_LATTICE);
    wk_terrain_noise(lattice, amplitude, length, heights);
    if (number % 4 == 3) wk_terrain_stairs(heights);
    for (int row = 0; row < model->hfield_nrow[0]; row++)
        memcpy(model->hfield_data + row * WK_TERRAIN_COLUMNS, heights, sizeof heights);
}

// Limited joints anywhere in their range; the trunk turned at will, up to a metre below its start,
// from `left` metres behind it to twenty metres further on.
static void pose_robot(const mjModel *model, mjData *data, double left, wk_rng *rng)
{
    for (int j = 0; j < (int)model->njnt; j++) {
        const mjtNum *range = model->jnt_range + 2 * j, *axis = model->jnt_axis + 3 * j;
        mjtNum *q = data->qpos + model->jnt_qposadr[j];
        double unit = wk_rng_unit(rng);
        if (model->jnt_limited[j])
            *q = range[0] + (range[1] - range[0]) * unit;
        else if (model->jnt_type[j] == mjJNT_HINGE)
            *q = 6.28 * unit - 3.14;
        else
            *q = axis[2] > 0.5 ? -0.6 * unit : 20 * unit - left;
    }
}

static void place(mjModel *model, mjData *data, const char *name, wk_cleanup_pose pose)
{
    int body = wk_physics_id(model, mjOBJ_BODY, name), joint = model->body_jntadr[body];
    bool is_free = model->jnt_type[joint] == mjJNT_FREE;
    mjtNum *position =
        is_free ? data->qpos + model->jnt_qposadr[joint] : model->body_pos + 3 * body;
    mjtNum *quat = is_free ? position + 3 : model->body_quat + 4 * body;
    position[0] = pose.x;
    position[1] = pose.y;
    quat[0] = cos(pose.yaw / 2);
    quat[1] = quat[2] = 0;
    quat[3] = sin(pose.yaw / 2);
}

static mjModel *make_cleanup(render_domain domain, int number, wk_rng *rng, mjData **data)
{
    wk_error err = {0};
    int arena = number % WK_CLEANUP_ARENAS, green = (arena + 1) / 2, blue = arena - green;
    mjModel *model = NULL;
    wk_cleanup_layout layout;
    assert_ok(wk_cleanup_model_create(domain == RENDER_CAR ? WK_CLEANUP_CAR : WK_CLEANUP_POINT,
                                      arena, arena, &model, &err));
    assert_ok(wk_physics_make_data(model, data, &err));
    assert_ok(wk_cleanup_layout_draw(arena, green, blue, rng, &layout, &err));
    place(model, *data, "robot", layout.robot);
    for (int b = 0; b < arena; b++) {
        char name[16];
        snprintf(name, sizeof name, "block%d", b);
        place(model, *data, name, layout.blocks[b]);
        float *rgba = model->geom_rgba + 4 * wk_physics_id(model, mjOBJ_GEOM, name);
        rgba[1] = b < green;
        rgba[2] = b >= green;
    }
    return model;
}

static void make_planar(render_world *world, int number, bool sky, wk_rng *rng)
{
    wk_error err = {0};
    bool terrain = domains[world->domain].scene == &wk_terrain_scene;
    world->model = load_planar(world->domain, sky);
    assert_ok(wk_physics_make_data(world->model, &world->data, &err));
    if (terrain) write_profile(world->model, number, rng);
    // The control suite's floor begins two metres left of the start.
    pose_robot(world->model, world->data, terrain ? 10 : 3, rng);
}

render_world render_world_make(render_domain domain, int number, bool sky, int samples,
                               bool shadows)
{
    wk_error err = {0};
    wk_render_config config = {.samples = samples, .shadows = shadows};
    wk_rng rng = wk_rng_stream((uint64_t)number, "render-world", (uint64_t)domain);
    render_world world = {.domain = domain};
    if (domains[domain].file)
        make_planar(&world, number, sky, &rng);
    else
        world.model = make_cleanup(domain, number, &rng, &world.data);
    assert_ok(wk_scene_create(domains[domain].scene, world.model, &config, &world.scene, &err));
    mj_kinematics(world.model, world.data);
    mj_comPos(world.model, world.data);
    mj_camlight(world.model, world.data);
    return world;
}

void render_world_free(render_world *world)
{
    wk_scene_destroy(world->scene);
    mj_deleteData(world->data);
    mj_deleteModel(world->model);
}

void render_world_draw(render_world *world, int width, int height, bool portable, uint8_t *rgb)
{
    world->scene->kernels = portable ? wk_kernels_portable() : wk_kernels_best();
    wk_scene_forget(world->scene);
    wk_scene_draw(world->scene, world->model, world->data, width, height, rgb);
}

double render_difference(const uint8_t *a, const uint8_t *b, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += abs(a[i] - b[i]);
    return sum / count;
}
