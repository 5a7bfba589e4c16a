// Clean-up arenas: placement against the rules written out by hand and a plain reference sampler,
// rewards and completion against their formulas, and the compiled models against the published
// measures (geometry, masses, actuators, looks).
#include "env/domains/cleanup_arena.h"
#include "env/mujoco/physics.h"
#include "support/check.h"

static wk_error err;

/* ---- Where things start ---------------------------------------------------------------------- */

static const double robot_radius = 0.2, block_radius = 0.35;
static const double half_sizes[] = {0.7, 0.875, 1.05, 1.225, 1.4, 1.4}; // of arena 0 ... 5

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

TEST_CASE(every_layout_keeps_the_rectangles_and_distances)
{
    for (int arena = 0; arena < 6; arena++)
        for (int blocks = 0; blocks <= arena; blocks++)
            for (uint64_t seed = 0; seed < 400; seed++) {
                int green = (int)(seed % (uint64_t)(blocks + 1));
                wk_cleanup_layout layout = draw(arena, green, blocks - green, seed, 7);
                assert_rules(&layout, half_sizes[arena], blocks);
            }
}

TEST_CASE(arena_sizes_are_those_of_the_paper)
{
    for (int arena = 0; arena < 6; arena++)
        assert_near(wk_cleanup_half_size(arena), half_sizes[arena], 0);
}

TEST_CASE(the_robot_of_the_smallest_arena_starts_on_the_middle_line)
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

TEST_CASE(positions_are_drawn_in_the_order_robot_blue_green_then_headings)
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

TEST_CASE(headings_and_robot_positions_are_uniform)
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

TEST_CASE(episodes_differ_and_repeat)
{
    wk_cleanup_layout a = draw(3, 1, 2, 5, 0), b = draw(3, 1, 2, 5, 0), c = draw(3, 1, 2, 5, 1);
    assert_near(a.robot.y, b.robot.y, 0);
    assert_near(a.blocks[2].yaw, b.blocks[2].yaw, 0);
    assert_true(a.robot.y != c.robot.y);
}

/* ---- Tasks ----------------------------------------------------------------------------------- */

enum { SORT, REVERSE, PUSH };

// A single block at (x, y) in an arena of half side 1.4: goals at 0.9 ... 1.4 and -1.4 ... -0.9.
static wk_cleanup_progress one(int is_green, double x, double y)
{
    const double xyz[3] = {x, y, 0.2};
    return wk_cleanup_measure(1.4, is_green, !is_green, xyz);
}

TEST_CASE(distances_of_all_blocks_add_up)
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

TEST_CASE(a_block_on_the_border_of_its_goal_is_outside)
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

/* ---- Models ---------------------------------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

static mjModel *compile(wk_cleanup_robot robot, int arena, int blocks)
{
    mjModel *model = NULL;
    assert_ok(wk_cleanup_model_create(robot, arena, blocks, &model, &err));
    return model;
}

static int geom(const mjModel *model, const char *name)
{
    return wk_physics_id(model, mjOBJ_GEOM, name);
}

static void assert_triple(const mjtNum *got, double a, double b, double c)
{
    assert_near(got[0], a, 1e-12);
    assert_near(got[1], b, 1e-12);
    assert_near(got[2], c, 1e-12);
}

static void assert_colour(const mjModel *model, int id, double r, double g, double b, double a)
{
    const double want[4] = {r, g, b, a};
    for (int i = 0; i < 4; i++)
        assert_near(model->geom_rgba[4 * id + i], want[i], 1e-6);
}

static void assert_fixed_at(const mjModel *model, const char *name, double x, double y, double z)
{
    int id = geom(model, name);
    assert_int_equal(model->geom_bodyid[id], 0);
    assert_triple(model->geom_pos + 3 * id, x, y, z);
}

TEST_CASE(walls_enclose_the_arena)
{
    for (int arena = 0; arena < 6; arena++) {
        mjModel *model = compile(WK_CLEANUP_POINT, arena, arena);
        double s = half_sizes[arena];
        bool seen[3][3] = {{0}};
        for (int w = 0; w < 8; w++) {
            char name[] = {'w', 'a', 'l', 'l', (char)('0' + w), 0};
            int id = geom(model, name);
            const mjtNum *at = model->geom_pos + 3 * id;
            int column = (int)lround(at[0] / (2 * s)), row = (int)lround(at[1] / (2 * s));
            assert_triple(at, 2 * s * column, 2 * s * row, 0.1 * s);
            assert_triple(model->geom_size + 3 * id, s, s, 0.15);
            assert_colour(model, id, 0.5, 0.5, 0.5, 1);
            assert_int_equal(model->geom_contype[id] & model->geom_conaffinity[id], 1);
            assert_int_equal(model->geom_group[id], 2);
            seen[column + 1][row + 1] = true;
        }
        for (int i = 0; i < 9; i++)
            assert_int_equal(seen[i / 3][i % 3], i != 4);
        mj_deleteModel(model);
    }
}

TEST_CASE(goals_lie_along_the_left_and_right_wall_and_touch_nothing)
{
    mjModel *model = compile(WK_CLEANUP_CAR, 2, 1);
    assert_fixed_at(model, "goal-left", -(1.05 - 0.25), 0, 0.02);
    assert_fixed_at(model, "goal-right", 1.05 - 0.25, 0, 0.02);
    int left = geom(model, "goal-left"), right = geom(model, "goal-right");
    assert_triple(model->geom_size + 3 * left, 0.25, 2, 0.04);
    assert_colour(model, left, 0, 1, 0, 0.1);
    assert_colour(model, right, 0, 0, 1, 0.1);
    for (int id = left; id <= right; id++) {
        assert_int_equal(model->geom_contype[id], 0);
        assert_int_equal(model->geom_conaffinity[id], 0);
        assert_int_equal(model->geom_group[id], 0);
    }
    mj_deleteModel(model);
}

TEST_CASE(blocks_are_light_boxes_on_free_joints_without_damping)
{
    mjModel *model = compile(WK_CLEANUP_POINT, 4, 4);
    for (int b = 0; b < 4; b++) {
        int body = wk_physics_id(model, mjOBJ_BODY, "block0") + b;
        int id = model->body_geomadr[body], joint = model->body_jntadr[body];
        assert_near(model->body_mass[body], 6.4e-5, 1e-12);
        assert_triple(model->geom_size + 3 * id, 0.2, 0.2, 0.2);
        assert_near(model->qpos0[model->jnt_qposadr[joint] + 2], 0.2 - 4e-5, 1e-12);
        assert_int_equal(model->jnt_type[joint], mjJNT_FREE);
        for (int dof = 0; dof < 6; dof++)
            assert_near(model->dof_damping[model->jnt_dofadr[joint] + dof], 0, 0);
        assert_int_equal(model->geom_condim[id], 6);
        assert_int_equal(model->geom_group[id], 4);
        assert_triple(model->geom_friction + 3 * id, 1, 0.005, 0.0001);
    }
    mj_deleteModel(model);
}

TEST_CASE(simulation_settings_are_the_published_ones)
{
    for (int robot = 0; robot < 2; robot++) {
        mjModel *model = compile((wk_cleanup_robot)robot, 1, 1);
        assert_near(model->opt.timestep, robot == WK_CLEANUP_POINT ? 0.002 : 0.004, 0);
        assert_triple(model->opt.gravity, 0, 0, -9.81);
        assert_int_equal(model->opt.solver, mjSOL_NEWTON);
        assert_int_equal(model->opt.iterations, 100);
        assert_near(model->opt.tolerance, 1e-8, 0);
        assert_int_equal(model->opt.integrator, mjINT_EULER);
        assert_int_equal(model->opt.cone, mjCONE_PYRAMIDAL);
        assert_int_equal(model->nu, 2);
        assert_int_equal(model->nsensor, 0);
        mj_deleteModel(model);
    }
}

TEST_CASE(the_image_is_taken_from_above_under_one_plain_light)
{
    mjModel *model = compile(WK_CLEANUP_POINT, 0, 0);
    assert_string_equal(mj_id2name(model, mjOBJ_CAMERA, 0), "topdownfar");
    assert_triple(model->cam_pos, 0, 0, 3.5);
    assert_near(model->cam_quat[0], 1, 1e-12); // looks along -z, image up is +y
    assert_near(model->cam_fovy[0], 45, 1e-12);
    assert_int_equal(model->nlight, 1);
    assert_triple(model->light_dir, 0, 0, -1);
    assert_int_equal(model->light_castshadow[0], 0);
    for (int i = 0; i < 3; i++) {
        assert_near(model->light_diffuse[i], 1, 0);
        assert_near(model->light_specular[i], 0, 0);
        assert_near(model->light_ambient[i], 0, 0);
        assert_near(model->vis.headlight.ambient[i], 0.1, 1e-6);
        assert_near(model->vis.headlight.diffuse[i], 0.4, 1e-6);
        assert_near(model->vis.headlight.specular[i], 0.5, 1e-6);
    }
    mj_deleteModel(model);
}

TEST_CASE(the_floor_is_checked_in_two_greys)
{
    mjModel *model = compile(WK_CLEANUP_POINT, 0, 0);
    int floor = geom(model, "floor"), material = model->geom_matid[floor];
    assert_triple(model->geom_size + 3 * floor, 3.5, 3.5, 0.1);
    assert_colour(model, floor, 1, 1, 1, 1);
    assert_int_equal(model->geom_condim[floor], 6);
    assert_near(model->mat_reflectance[material], 0.1, 1e-6);
    assert_near(model->mat_shininess[material], 0.1, 1e-6);
    assert_near(model->mat_specular[material], 0.1, 1e-6);
    assert_near(model->mat_texrepeat[2 * material], 10, 0);
    assert_int_equal(model->mat_texuniform[material], 0);
    assert_int_equal(model->tex_width[0], 100);
    assert_int_equal(model->tex_height[0], 100);
    mj_deleteModel(model);
}

TEST_CASE(the_point_robot_has_the_published_mass_and_joints)
{
    mjModel *model = compile(WK_CLEANUP_POINT, 0, 0);
    int body = wk_physics_id(model, mjOBJ_BODY, "robot");
    double mass = 4.0 / 3 * pi * (pow(0.15, 3) + pow(0.12, 3));
    assert_near(model->body_mass[body], mass, 1e-12);
    assert_near(model->body_pos[3 * body + 2], 0.15, 0);
    assert_int_equal(model->nv, 3);
    assert_triple(model->dof_damping, 0.01, 0.01, 0.005);
    assert_triple(model->geom_friction + 3 * geom(model, "robot"), 1, 0.01, 0.01);
    assert_triple(model->geom_pos + 3 * geom(model, "nose"), 0.15, 0, 0);
    assert_colour(model, geom(model, "robot"), 1, 0, 0, 1);
    assert_colour(model, geom(model, "nose"), 1, 1, 0, 1);
    mj_deleteModel(model);
}

TEST_CASE(the_car_has_the_published_mass_and_wheels)
{
    mjModel *model = compile(WK_CLEANUP_CAR, 0, 0);
    const double boxes[5][3] = {
        {.12, .13, .05}, {.16, .05, .05}, {.02, .04, .04}, {.075, .03, .05}, {.075, .03, .01}};
    double volume = 0;
    for (int i = 0; i < 5; i++)
        volume += 8 * boxes[i][0] * boxes[i][1] * boxes[i][2];
    double wheel = pi * 0.05 * 0.05 * 0.06, ball = 4.0 / 3 * pi * pow(0.05, 3);
    int robot = wk_physics_id(model, mjOBJ_BODY, "robot");
    assert_near(model->body_mass[robot], 5 * volume, 1e-12);
    assert_near(model->body_subtreemass[robot], 5 * (volume + 2 * wheel + ball), 1e-12);
    int left = geom(model, "left"), right = geom(model, "right");
    assert_triple(model->geom_pos + 3 * left, -0.035, 0, 0);
    assert_triple(model->geom_pos + 3 * right, 0.035, 0, 0);
    assert_near(model->geom_size[3 * left + 1], 0.03, 1e-12);
    assert_int_equal(model->nv, 6 + 1 + 1 + 3);
    for (int dof = 0; dof < 6; dof++)
        assert_near(model->dof_damping[dof], 0, 0);
    for (int dof = 6; dof < 11; dof++)
        assert_near(model->dof_damping[dof], 0.001, 0);
    mj_deleteModel(model);
}

// Generalised actuator forces of a model at ctrl, with `qpos` and `qvel` of one degree of freedom
// set.
static void actuate(const mjModel *model, mjData *data, double first, double second, int dof,
                    double position, double velocity)
{
    mj_resetData(model, data);
    data->qpos[dof] = position;
    data->qvel[dof] = velocity;
    data->ctrl[0] = first;
    data->ctrl[1] = second;
    mj_forward(model, data);
}

TEST_CASE(the_point_is_pushed_along_its_nose_and_turned_by_a_limited_servo)
{
    mjModel *model = compile(WK_CLEANUP_POINT, 0, 0);
    mjData *data = NULL;
    assert_ok(wk_physics_make_data(model, &data, &err));
    // Full throttle is clipped to 0.05, times the gear of 0.3.
    actuate(model, data, 1, 1, 2, 0, 0);
    assert_triple(data->qfrc_actuator, 0.015, 0, 0.015);
    actuate(model, data, -1, -1, 2, 0, 0);
    assert_triple(data->qfrc_actuator, -0.015, 0, -0.015);
    // A small command stays below the limit, and the push turns with the hinge.
    actuate(model, data, 0.02, 0, 2, 0.5, 0);
    assert_triple(data->qfrc_actuator, 0.006 * cos(0.5), 0.006 * sin(0.5), 0);
    // Servo: ctrl - 0.3 w = 1 - 0.3 * 3.2 = 0.04.
    actuate(model, data, 0, 1, 2, 0, 3.2);
    assert_triple(data->qfrc_actuator, 0, 0, 0.3 * 0.04);
    mj_deleteData(data);
    mj_deleteModel(model);
}

TEST_CASE(each_wheel_of_the_car_has_its_own_limited_motor)
{
    mjModel *model = compile(WK_CLEANUP_CAR, 0, 0);
    mjData *data = NULL;
    assert_ok(wk_physics_make_data(model, &data, &err));
    int left = model->jnt_dofadr[wk_physics_id(model, mjOBJ_JOINT, "left")];
    int right = model->jnt_dofadr[wk_physics_id(model, mjOBJ_JOINT, "right")];
    mj_resetData(model, data);
    data->ctrl[0] = 1;
    data->ctrl[1] = -0.01;
    mj_forward(model, data);
    for (int dof = 0; dof < model->nv; dof++)
        assert_near(data->qfrc_actuator[dof], dof == left ? 0.02 : dof == right ? -0.01 : 0, 1e-12);
    mj_deleteData(data);
    mj_deleteModel(model);
}

TEST_MAIN(NULL, NULL)
