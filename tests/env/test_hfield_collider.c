// The fast height-field collider against MuJoCo's own: equal to the last bit, whatever the terrain.
#include "base/asset.h"
#include "base/rng.h"
#include "env/domains/terrain_profile.h"
#include "env/mujoco/hfield_collider.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include <pthread.h>

typedef struct world {
    mjModel *model;
    mjData *data;
} world;

static world make_world(const char *file, bool fast)
{
    wk_error err = {0};
    world w;
    assert_ok(wk_physics_load(file, wk_asset_find(file)->content, &w.model, &err));
    wk_hfield_collider_choose(w.model, fast);
    assert_ok(wk_physics_make_data(w.model, &w.data, &err));
    return w;
}

static void free_world(world w)
{
    mj_deleteData(w.data);
    mj_deleteModel(w.model);
}

static void set_rows(mjModel *model, const float *heights)
{
    for (int row = 0; row < model->hfield_nrow[0]; row++)
        memcpy(model->hfield_data + row * WK_TERRAIN_COLUMNS, heights,
               WK_TERRAIN_COLUMNS * sizeof *heights);
}

static void noise_terrain(mjModel *model, double amplitude, double length)
{
    double lattice[WK_TERRAIN_LATTICE];
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_lattice_fixed(lattice, wk_terrain_lattice_count(length));
    wk_terrain_noise(lattice, amplitude, length, heights);
    set_rows(model, heights);
}

static void random_terrain(mjModel *model, wk_rng *rng)
{
    for (int i = 0; i < 5 * WK_TERRAIN_COLUMNS; i++)
        model->hfield_data[i] = (float)wk_rng_unit(rng);
}

static void random_pose(const mjModel *model, mjData *data, wk_rng *rng)
{
    mj_resetData(model, data);
    for (int j = 0; j < model->njnt; j++)
        if (model->jnt_type[j] == mjJNT_HINGE)
            data->qpos[j] = model->jnt_limited[j] ? wk_rng_uniform(rng, model->jnt_range[2 * j],
                                                                   model->jnt_range[2 * j + 1])
                                                  : wk_rng_uniform(rng, -M_PI, M_PI);
}

// Runs both worlds from one pose under the same random actions; every state must be the same.
static void assert_equal_runs(world fast, world stock, int steps, wk_rng *rng)
{
    random_pose(fast.model, fast.data, rng);
    mj_resetData(stock.model, stock.data);
    mju_copy(stock.data->qpos, fast.data->qpos, (int)fast.model->nq);
    assert_true(wk_physics_forward(fast.model, fast.data));
    assert_true(wk_physics_forward(stock.model, stock.data));
    int contacts = 0;
    for (int i = 0; i < steps; i++) {
        for (int u = 0; u < fast.model->nu; u++)
            fast.data->ctrl[u] = stock.data->ctrl[u] = wk_rng_uniform(rng, -1, 1);
        assert_true(wk_physics_advance(fast.model, fast.data, 10));
        assert_true(wk_physics_advance(stock.model, stock.data, 10));
        assert_int_equal(fast.data->ncon, stock.data->ncon);
        assert_memory_equal(fast.data->qpos, stock.data->qpos, fast.model->nq * sizeof(mjtNum));
        assert_memory_equal(fast.data->qvel, stock.data->qvel, fast.model->nv * sizeof(mjtNum));
        contacts += fast.data->ncon;
    }
    assert_true(contacts > 0);
}

static void require_collider(void)
{
    if (!wk_hfield_collider_available(NULL)) skip();
}

static void trajectories_equal_stock_on_noise_terrains(void **state)
{
    const char *file = *state;
    static const double thetas[][2] = {{0, 1},    {0.3, 2},    {0.5, 0.6},    {1, 0.2},
                                       {1, 0.45}, {0.8, 0.15}, {0.8, 0.1125}, {1, 0.15}};
    require_collider();
    world fast = make_world(file, true), stock = make_world(file, false);
    wk_rng rng = wk_rng_stream(1, "test", 0);
    for (size_t k = 0; k < sizeof thetas / sizeof *thetas; k++) {
        noise_terrain(fast.model, thetas[k][0], thetas[k][1]);
        noise_terrain(stock.model, thetas[k][0], thetas[k][1]);
        assert_equal_runs(fast, stock, 80, &rng);
    }
    free_world(fast);
    free_world(stock);
}

static void trajectories_equal_stock_on_stairs(void **state)
{
    const char *file = *state;
    require_collider();
    world fast = make_world(file, true), stock = make_world(file, false);
    float heights[WK_TERRAIN_COLUMNS];
    wk_terrain_stairs(heights);
    set_rows(fast.model, heights);
    set_rows(stock.model, heights);
    wk_rng rng = wk_rng_stream(2, "test", 0);
    for (int k = 0; k < 3; k++)
        assert_equal_runs(fast, stock, 80, &rng);
    free_world(fast);
    free_world(stock);
}

static void trajectories_equal_stock_where_rows_differ(void **state)
{
    const char *file = *state;
    require_collider();
    world fast = make_world(file, true), stock = make_world(file, false);
    wk_rng rng = wk_rng_stream(3, "test", 0);
    for (int k = 0; k < 3; k++) {
        random_terrain(fast.model, &rng);
        memcpy(stock.model->hfield_data, fast.model->hfield_data,
               5 * WK_TERRAIN_COLUMNS * sizeof(float));
        assert_equal_runs(fast, stock, 60, &rng);
    }
    free_world(fast);
    free_world(stock);
}

// Capsules of any size and direction over a tilted, shifted field with a contact margin: single
// calls, so that rare poses are met that a walking robot does not take.
static const char capsules[] =
    "<mujoco><size nuser_geom='1' nconmax='200' njmax='800'/>"
    "<asset><hfield name='h' nrow='5' ncol='2000' size='100 .5 .9 1'/></asset>"
    "<worldbody><geom type='hfield' hfield='h' pos='.3 -.1 .2' euler='10 -7 25' margin='.01' "
    "user='0'/>"
    "<body><freejoint/><geom type='capsule' size='.07 .3'/></body>"
    "<body><freejoint/><geom type='capsule' size='.02 .6'/></body>"
    "<body><freejoint/><geom type='capsule' size='.15 .01'/></body></worldbody></mujoco>";

static void place_capsules(const mjModel *model, mjData *data, wk_rng *rng)
{
    for (int b = 0; b < 3; b++) {
        mjtNum *qpos = data->qpos + 7 * b;
        qpos[0] = wk_rng_uniform(rng, -1, 1);
        qpos[1] = wk_rng_uniform(rng, -0.6, 0.6);
        qpos[2] = wk_rng_uniform(rng, 0, 1.4);
        for (int k = 3; k < 7; k++)
            qpos[k] = wk_rng_uniform(rng, -1, 1);
        // Also the directions that make divisions by zero likely.
        if (wk_rng_below(rng, 4) == 0)
            for (int k = 3; k < 7; k++)
                qpos[k] = (double)wk_rng_below(rng, 2);
        if (mju_norm(qpos + 3, 4) == 0) qpos[3] = 1;
    }
    mju_normalize4(data->qpos + 3);
    mju_normalize4(data->qpos + 10);
    mju_normalize4(data->qpos + 17);
    mj_kinematics(model, data);
    mj_comPos(model, data);
}

static void contacts_equal_stock_for_any_pose(void **state)
{
    (void)state;
    require_collider();
    wk_error err = {0};
    mjModel *model;
    mjData *data;
    assert_ok(wk_physics_load("capsules.xml", capsules, &model, &err));
    assert_ok(wk_physics_make_data(model, &data, &err));
    wk_rng rng = wk_rng_stream(4, "test", 0);
    int touching = 0;
    for (int i = 0; i < 3000; i++) {
        if (i % 100 == 0) random_terrain(model, &rng);
        place_capsules(model, data, &rng);
        wk_hfield_collider_choose(model, false);
        mj_collision(model, data);
        int count = data->ncon;
        assert_true(count <= 200);
        mjContact expected[200];
        memcpy(expected, data->contact, (size_t)count * sizeof *expected);
        wk_hfield_collider_choose(model, true);
        mj_collision(model, data);
        assert_int_equal(data->ncon, count);
        for (int k = 0; k < count; k++) {
            assert_memory_equal(&data->contact[k].dist, &expected[k].dist, sizeof(mjtNum));
            assert_memory_equal(data->contact[k].pos, expected[k].pos, sizeof expected[k].pos);
            assert_memory_equal(data->contact[k].frame, expected[k].frame,
                                sizeof expected[k].frame);
        }
        touching += count > 0;
    }
    assert_true(touching > 1000);
    mj_deleteData(data);
    mj_deleteModel(model);
}

static void *run_world(void *context)
{
    world *w = context;
    for (int i = 0; i < 20; i++)
        wk_physics_advance(w->model, w->data, 10);
    return NULL;
}

static void fast_and_stock_worlds_live_together_in_threads(void **state)
{
    (void)state;
    world worlds[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        worlds[i] = make_world("walker.xml", i % 2 == 0);
        noise_terrain(worlds[i].model, 1, 0.2);
        assert_true(wk_physics_forward(worlds[i].model, worlds[i].data));
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_world, &worlds[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 1; i < 4; i++)
        assert_memory_equal(worlds[i].data->qpos, worlds[0].data->qpos,
                            worlds[0].model->nq * sizeof(mjtNum));
    for (int i = 0; i < 4; i++)
        free_world(worlds[i]);
}

static void an_unavailable_collider_says_why(void **state)
{
    (void)state;
    const char *why = NULL;
    if (!wk_hfield_collider_available(&why)) assert_non_null(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(trajectories_equal_stock_on_noise_terrains, "walker.xml"),
        cmocka_unit_test_prestate(trajectories_equal_stock_on_noise_terrains, "hopper.xml"),
        cmocka_unit_test_prestate(trajectories_equal_stock_on_stairs, "walker.xml"),
        cmocka_unit_test_prestate(trajectories_equal_stock_on_stairs, "hopper.xml"),
        cmocka_unit_test_prestate(trajectories_equal_stock_where_rows_differ, "walker.xml"),
        cmocka_unit_test_prestate(trajectories_equal_stock_where_rows_differ, "hopper.xml"),
        cmocka_unit_test(contacts_equal_stock_for_any_pose),
        cmocka_unit_test(fast_and_stock_worlds_live_together_in_threads),
        cmocka_unit_test(an_unavailable_collider_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
