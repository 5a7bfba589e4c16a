// The compiled clean-up models against the published measures: geometry, masses, actuators, looks.
#include "env/domains/cleanup_arena.h"
#include "env/mujoco/physics.h"
#include "support/check.h"

static wk_error err;

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

static void assert_near_static(const mjModel *model, const char *name, double x, double y, double z)
{
    int id = geom(model, name);
    assert_int_equal(model->geom_bodyid[id], 0);
    assert_triple(model->geom_pos + 3 * id, x, y, z);
}

static void walls_enclose_the_arena(void **state)
{
    for (int arena = 0; arena < 6; arena++) {
        mjModel *model = compile(WK_CLEANUP_POINT, arena, arena);
        double s = arena < 5 ? 0.7 + 0.175 * arena : 1.4;
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

static void goals_lie_along_the_left_and_right_wall_and_touch_nothing(void **state)
{
    mjModel *model = compile(WK_CLEANUP_CAR, 2, 1);
    assert_near_static(model, "goal-left", -(1.05 - 0.25), 0, 0.02);
    assert_near_static(model, "goal-right", 1.05 - 0.25, 0, 0.02);
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

static void blocks_are_light_boxes_on_free_joints_without_damping(void **state)
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

static void simulation_settings_are_the_published_ones(void **state)
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

static void the_image_is_taken_from_above_under_one_plain_light(void **state)
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

static void the_floor_is_checked_in_two_greys(void **state)
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

static void the_point_robot_has_the_published_mass_and_joints(void **state)
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

static void the_car_has_the_published_mass_and_wheels(void **state)
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

static void the_point_is_pushed_along_its_nose_and_turned_by_a_limited_servo(void **state)
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

static void each_wheel_of_the_car_has_its_own_limited_motor(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walls_enclose_the_arena),
        cmocka_unit_test(goals_lie_along_the_left_and_right_wall_and_touch_nothing),
        cmocka_unit_test(blocks_are_light_boxes_on_free_joints_without_damping),
        cmocka_unit_test(simulation_settings_are_the_published_ones),
        cmocka_unit_test(the_image_is_taken_from_above_under_one_plain_light),
        cmocka_unit_test(the_floor_is_checked_in_two_greys),
        cmocka_unit_test(the_point_robot_has_the_published_mass_and_joints),
        cmocka_unit_test(the_car_has_the_published_mass_and_wheels),
        cmocka_unit_test(the_point_is_pushed_along_its_nose_and_turned_by_a_limited_servo),
        cmocka_unit_test(each_wheel_of_the_car_has_its_own_limited_motor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
