// The MuJoCo adapter: its steps against plain mj_step, exact saving, and break-downs that stay
// inside.
#include "base/file.h"
#include "base/random.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include <stdlib.h>
#include <unistd.h>

static wk_error err;

typedef wk_physics_env world;

static world make_world(const char *name, const char *xml)
{
    world w;
    assert_ok(wk_physics_load(name, xml, &w.model, &err));
    assert_ok(wk_physics_make_data(w.model, &w.data, &err));
    return w;
}

static world make_walker(void)
{
    return make_world("walker.xml", wk_asset_find("walker.xml")->content);
}

static void free_world(world w)
{
    mj_deleteData(w.data);
    mj_deleteModel(w.model);
}

static void draw_ctrl(world w, wk_rng *rng)
{
    for (int u = 0; u < w.model->nu; u++)
        w.data->ctrl[u] = wk_rng_uniform(rng, -1, 1);
}

static void assert_same_state(world a, world b)
{
    assert_memory_equal(a.data->qpos, b.data->qpos, (size_t)a.model->nq * sizeof(mjtNum));
    assert_memory_equal(a.data->qvel, b.data->qvel, (size_t)a.model->nv * sizeof(mjtNum));
    assert_memory_equal(&a.data->time, &b.data->time, sizeof(mjtNum));
}

static void advancing_equals_plain_steps(void **state)
{
    world ours = make_walker(), plain = make_walker();
    assert_true(wk_physics_forward(ours.model, ours.data));
    mj_forward(plain.model, plain.data);
    wk_rng rng = wk_rng_stream(1, "test", 0);
    int contacts = 0;
    for (int i = 0; i < 50; i++) {
        draw_ctrl(ours, &rng);
        mju_copy(plain.data->ctrl, ours.data->ctrl, (int)ours.model->nu);
        assert_true(wk_physics_advance(ours.model, ours.data, 10));
        for (int k = 0; k < 10; k++)
            mj_step(plain.model, plain.data);
        assert_same_state(ours, plain);
        contacts += ours.data->ncon;
    }
    assert_true(contacts > 0);
    free_world(ours);
    free_world(plain);
}

static void positions_and_sensors_are_current_after_advancing(void **state)
{
    world w = make_walker(), fresh = make_walker();
    assert_true(wk_physics_forward(w.model, w.data));
    wk_rng rng = wk_rng_stream(2, "test", 0);
    for (int i = 0; i < 20; i++) {
        draw_ctrl(w, &rng);
        assert_true(wk_physics_advance(w.model, w.data, 10));
    }
    mju_copy(fresh.data->qpos, w.data->qpos, (int)w.model->nq);
    mju_copy(fresh.data->qvel, w.data->qvel, (int)w.model->nv);
    mj_forward(fresh.model, fresh.data);
    assert_memory_equal(w.data->xpos, fresh.data->xpos,
                        3 * (size_t)w.model->nbody * sizeof(mjtNum));
    assert_memory_equal(w.data->sensordata, fresh.data->sensordata,
                        (size_t)w.model->nsensordata * sizeof(mjtNum));
    free_world(w);
    free_world(fresh);
}

static void a_restored_state_continues_bit_for_bit(void **state)
{
    world a = make_walker(), b = make_walker();
    assert_true(wk_physics_forward(a.model, a.data));
    wk_rng rng = wk_rng_stream(3, "test", 0);
    for (int i = 0; i < 37; i++) {
        draw_ctrl(a, &rng);
        assert_true(wk_physics_advance(a.model, a.data, 10));
    }
    size_t size = wk_physics_env_state_size(&a);
    void *bytes = malloc(size);
    assert_non_null(bytes);
    wk_physics_env_save(&a, bytes);
    // The other world has been elsewhere before.
    draw_ctrl(b, &rng);
    assert_true(wk_physics_forward(b.model, b.data));
    assert_true(wk_physics_advance(b.model, b.data, 100));
    assert_ok(wk_physics_env_load(&b, bytes, size, &err));
    for (int i = 0; i < 50; i++) {
        draw_ctrl(a, &rng);
        mju_copy(b.data->ctrl, a.data->ctrl, (int)a.model->nu);
        assert_true(wk_physics_advance(a.model, a.data, 10));
        assert_true(wk_physics_advance(b.model, b.data, 10));
        assert_same_state(a, b);
    }
    free(bytes);
    free_world(a);
    free_world(b);
}

static void damaged_states_are_refused(void **state)
{
    world w = make_walker();
    size_t size = wk_physics_env_state_size(&w);
    double *numbers = malloc(size);
    assert_non_null(numbers);
    wk_physics_env_save(&w, numbers);
    numbers[5] = NAN;
    assert_refused(wk_physics_env_load(&w, numbers, size, &err), WK_E_FORMAT, "not finite");
    numbers[5] = 1e300;
    assert_refused(wk_physics_env_load(&w, numbers, size, &err), WK_E_FORMAT, "simulated");
    free(numbers);
    free_world(w);
}

static void an_exploding_simulation_is_reported(void **state)
{
    world w = make_walker();
    assert_true(wk_physics_forward(w.model, w.data));
    for (int i = 0; i < w.model->nv; i++)
        w.data->qvel[i] = i % 2 ? 9e9 : -9e9;
    bool sound = true;
    for (int i = 0; i < 10 && sound; i++)
        sound = wk_physics_advance(w.model, w.data, 10);
    assert_false(sound);
    mj_resetData(w.model, w.data);
    assert_true(wk_physics_forward(w.model, w.data));
    assert_true(wk_physics_advance(w.model, w.data, 10));
    assert_int_equal(access("MUJOCO_LOG.TXT", F_OK), -1);
    free_world(w);
}

#if mjVERSION_HEADER < 230
static void a_dropped_contact_is_reported(void **state)
{
    world w = make_world(
        "crowd.xml",
        "<mujoco><size nconmax='1' njmax='100'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<body pos='0 0 .05'><freejoint/><geom size='.1'/></body>"
        "<body pos='.5 0 .05'><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
    assert_false(wk_physics_forward(w.model, w.data));
    free_world(w);
}
#endif

// A model whose states have next to no scratch memory, which MuJoCo treats as fatal.
static world make_cramped(void)
{
    world w;
    assert_ok(wk_physics_load("walker.xml", wk_asset_find("walker.xml")->content, &w.model, &err));
#if mjVERSION_HEADER < 230
    w.model->nstack = 8;
#else
    w.model->narena = 512;
#endif
    assert_ok(wk_physics_make_data(w.model, &w.data, &err));
    return w;
}

static void an_error_inside_mujoco_is_reported(void **state)
{
    world cramped = make_cramped(), sound = make_walker();
    assert_false(wk_physics_forward(cramped.model, cramped.data));
    assert_int_equal(access("MUJOCO_LOG.TXT", F_OK), -1);
    assert_true(wk_physics_forward(sound.model, sound.data));
    free_world(cramped);
    free_world(sound);
}

static void a_bad_model_is_refused_in_mujocos_words(void **state)
{
    mjModel *model;
    assert_refused(wk_physics_load("odd.xml", "<mujoco><woldbody/></mujoco>", &model, &err),
                   WK_E_FORMAT, "woldbody");
    assert_non_null(strstr(err.message, "odd.xml"));
    assert_null(model);
}

static void numbers_are_read_by_name(void **state)
{
    static const char free_body[] =
        "<mujoco><worldbody><body name='b'><joint name='j' type='free'/><geom name='g' size='1'/>"
        "<site name='s'/><body name='c'><joint name='ball' type='ball'/><geom size='1'/></body>"
        "</body></worldbody></mujoco>";
    world walker = make_walker(), loose = make_world("free.xml", free_body);
    const mjModel *m = walker.model;
    const mjData *d = walker.data;
    const int torso = wk_physics_id(m, mjOBJ_BODY, "torso");
    const struct {
        world in;
        const char *name;
        const mjtNum *at; // NULL: there is nothing of that name
        int count;
    } cases[] = {
        {walker, "time", &d->time, 1},
        {walker, "qpos", d->qpos, 9},
        {walker, "qvel/rootx", d->qvel + 1, 1},
        {walker, "ctrl/left_knee", d->ctrl + 4, 1},
        {walker, "xpos/torso", d->xpos + (ptrdiff_t)3 * torso, 3},
        {walker, "xmat/torso", d->xmat + (ptrdiff_t)9 * torso, 9},
        {walker, "subtree_linvel/torso", d->subtree_linvel + (ptrdiff_t)3 * torso, 3},
        {walker, "sensordata/torso_velocity", d->sensordata, 3},
        {loose, "qpos/j", loose.data->qpos, 7},
        {loose, "qvel/j", loose.data->qvel, 6},
        {loose, "qpos/ball", loose.data->qpos + 7, 4},
        {loose, "qvel/ball", loose.data->qvel + 6, 3},
        {loose, "geom_xpos/g", loose.data->geom_xpos, 3},
        {loose, "site_xpos/s", loose.data->site_xpos, 3},
        {walker, "xpos/nobody", NULL, 0},
        {walker, "xpos/", NULL, 0},
        {walker, "time/torso", NULL, 0},
        {walker, "xpo", NULL, 0},
        {walker, "xposs", NULL, 0},
        {walker, "", NULL, 0},
        {loose, "subtree_linvel/b", NULL, 0}, // nothing makes MuJoCo compute it
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int count = -1;
        world in = cases[i].in;
        const double *found = wk_physics_env_read(&in, cases[i].name, &count);
        if (found != cases[i].at) fail_msg("'%s' is not what it should be", cases[i].name);
        if (found) assert_int_equal(count, cases[i].count);
    }
    free_world(walker);
    free_world(loose);
}

int main(void)
{
    unlink("MUJOCO_LOG.TXT");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advancing_equals_plain_steps),
        cmocka_unit_test(positions_and_sensors_are_current_after_advancing),
        cmocka_unit_test(a_restored_state_continues_bit_for_bit),
        cmocka_unit_test(damaged_states_are_refused),
        cmocka_unit_test(an_exploding_simulation_is_reported),
#if mjVERSION_HEADER < 230
        cmocka_unit_test(a_dropped_contact_is_reported),
#endif
        cmocka_unit_test(an_error_inside_mujoco_is_reported),
        cmocka_unit_test(numbers_are_read_by_name),
        cmocka_unit_test(a_bad_model_is_refused_in_mujocos_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
