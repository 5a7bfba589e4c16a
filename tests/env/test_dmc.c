// The control suite's worlds against dm_control on random states
// (tools/reference/control_suite.py), and what they promise as domains: timing, starts, exact
// continuation, options, break-downs.
#include "env/domains/domains.h"
#include "env/domains/planar.h"
#include "nn/safetensors.h"
#include "support/worlds.h"
#include <stdio.h>

static wk_error err;

// One tensor [states, width] of the golden file.
typedef struct table {
    double *values;
    size_t rows, width;
} table;

static table read_table(const wk_domain *domain, const char *name)
{
    wk_safetensors *file;
    char full[64];
    snprintf(full, sizeof full, "%s/%s", strchr(domain->name, '-') + 1, name);
    assert_ok(wk_safetensors_open(WAKER_SOURCE_DIR "/tests/env/golden/control_suite.safetensors",
                                  &file, &err));
    const wk_safetensors_spec *spec = wk_safetensors_find(file, full);
    if (!spec) fail_msg("no golden '%s'", full);
    table t = {.values = malloc(wk_safetensors_spec_bytes(spec)),
               .rows = spec->shape[0],
               .width = spec->shape[1]};
    assert_non_null(t.values);
    assert_ok(wk_safetensors_read(file, spec, t.values, &err));
    wk_safetensors_close(file);
    return t;
}

static const double *row_of(const table *t, size_t i)
{
    return t->values + i * t->width;
}

// The states of the golden file.
typedef struct states {
    table qpos, qvel, ctrl;
} states;

static states read_states(const wk_domain *domain)
{
    states s = {read_table(domain, "qpos"), read_table(domain, "qvel"), read_table(domain, "ctrl")};
    assert_true(s.qpos.rows == 64);
    return s;
}

static void free_states(states *s)
{
    free(s->qpos.values);
    free(s->qvel.values);
    free(s->ctrl.values);
}

static void put_state(void *env, const states *s, size_t i)
{
    const wk_physics_env *sim = env;
    const mjModel *model = sim->model;
    mjData *data = sim->data;
    assert_true((size_t)model->nq == s->qpos.width && (size_t)model->nu == s->ctrl.width);
    mj_resetData(model, data);
    mju_copy(data->qpos, row_of(&s->qpos, i), (int)model->nq);
    mju_copy(data->qvel, row_of(&s->qvel, i), (int)model->nv);
    mju_copy(data->ctrl, row_of(&s->ctrl, i), (int)model->nu);
    mj_forward(model, data);
}

static void assert_rows_near(const char *what, size_t row, const double *got, const table *expected,
                             double tolerance)
{
    for (size_t k = 0; k < expected->width; k++) {
        double want = row_of(expected, row)[k];
        if (!(fabs(got[k] - want) <= tolerance * fmax(1, fabs(want))))
            fail_msg("%s of state %zu, number %zu: %.12g, dm_control has %.12g", what, row, k,
                     got[k], want);
    }
}

static void rewards_are_those_of_dm_control(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    states s = read_states(domain);
    table rewards = read_table(domain, "rewards");
    assert_int_equal(rewards.width, domain->n_tasks);
    double low[3] = {9, 9, 9}, high[3] = {0};
    for (size_t i = 0; i < rewards.rows; i++) {
        double got[WK_TASKS_MAX] = {0};
        put_state(env, &s, i);
        const wk_planar_env *planar = env;
        planar->robot->add_rewards(planar->sim.model, planar->sim.data, got);
        assert_rows_near("reward", i, got, &rewards, 1e-9);
        for (int k = 0; k < domain->n_tasks; k++) {
            low[k] = fmin(low[k], got[k]);
            high[k] = fmax(high[k], got[k]);
        }
    }
    for (int k = 0; k < domain->n_tasks; k++)
        assert_true(high[k] - low[k] > 0.5);
    free(rewards.values);
    free_states(&s);
    domain->destroy(env);
}

static void bodies_camera_and_light_are_those_of_dm_control(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    const wk_physics_env *sim = env;
    mjData *data = sim->data;
    states s = read_states(domain);
    table camera = read_table(domain, "camera"), light = read_table(domain, "light");
    table acceleration = read_table(domain, "acceleration");
    for (size_t i = 0; i < camera.rows; i++) {
        put_state(env, &s, i);
        assert_rows_near("camera", i, data->cam_xpos, &camera, 1e-9);
        assert_rows_near("light", i, data->light_xpos, &light, 1e-9);
        assert_rows_near("acceleration", i, data->qacc_smooth, &acceleration, 1e-8);
    }
    free(camera.values);
    free(light.values);
    free(acceleration.values);
    free_states(&s);
    domain->destroy(env);
}

static double row_distance(const double *got, const table *expected, size_t row)
{
    double most = 0;
    for (size_t k = 0; k < expected->width; k++)
        most = fmax(most, fabs(got[k] - row_of(expected, row)[k]));
    return most;
}

// One agent step of the domain against two control steps of dm_control, which runs MuJoCo 3.17:
// equal with that version; with others but for one hopper that collides with itself.
static void a_step_leads_to_dm_controls_state_and_rewards(void **state)
{
    const wk_domain *domain = *state;
    void *env = make_env(domain, default_options);
    const wk_physics_env *sim = env;
    mjData *data = sim->data;
    states s = read_states(domain);
    table qpos = read_table(domain, "later_qpos"), rewards = read_table(domain, "later_rewards");
    int differs = 0;
    for (size_t i = 0; i < qpos.rows; i++) {
        float action[WK_ACTION_MAX];
        double got[WK_TASKS_MAX];
        wk_outcome out = {0};
        put_state(env, &s, i);
        for (int u = 0; u < domain->action_size; u++)
            action[u] = (float)row_of(&s.ctrl, i)[u];
        domain->step(env, action, &out);
        for (int k = 0; k < domain->n_tasks; k++)
            got[k] = (double)out.rewards[k];
        if (row_distance(data->qpos, &qpos, i) > 1e-6) {
            differs++;
            continue;
        }
        assert_rows_near("reward", i, got, &rewards, 1e-4);
    }
    assert_true(differs <= (mj_version() != 3017000));
    free(qpos.values);
    free(rewards.values);
    free_states(&s);
    domain->destroy(env);
}

static void there_is_one_world(void **state)
{
    const wk_domain *domain = *state;
    wk_space *space;
    assert_ok(wk_space_create(domain, false, &space, &err));
    assert_int_equal(wk_space_count(space), 1);
    assert_true(wk_space_params(space, 0)[0] == 0);
    wk_space_destroy(space);
    assert_refused(wk_domain_check_params(domain, (const double[]){1}, 1, &err), WK_E_INPUT,
                   "variant");
}

// The floor's checks go by when the robot moves along, and nothing else changes.
static void the_floor_shows_how_far_the_robot_went(void **state)
{
    const wk_domain *domain = *state;
    static uint8_t here[WK_IMAGE_BYTES], there[WK_IMAGE_BYTES], two_metres[WK_IMAGE_BYTES];
    void *env = make_env(domain, default_options);
    const wk_physics_env *sim = env;
    const mjModel *model = sim->model;
    mjData *data = sim->data;
    reset_env(domain, env, 0, 0, 1, 0);
    mjtNum *x = data->qpos + model->jnt_qposadr[wk_physics_id(model, mjOBJ_JOINT, "rootx")];
    uint8_t *pictures[] = {here, there, two_metres};
    const double places[] = {10, 10.25, 12};
    for (int i = 0; i < 3; i++) {
        *x = places[i];
        mj_forward(model, data);
        domain->render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, pictures[i]);
    }
    int changed = 0, differs = 0;
    for (int i = 0; i < WK_IMAGE_BYTES; i++) {
        changed += abs(here[i] - there[i]) > 4;
        differs += abs(here[i] - two_metres[i]) > 30;
    }
    assert_true(changed > 100);
    assert_true(differs == 0); // a period of the texture; only the mesh of the light is elsewhere
    domain->destroy(env);
}

#define BOTH(test)                                                                                 \
    cmocka_unit_test_prestate(test, (void *)&wk_dmc_walker),                                       \
        cmocka_unit_test_prestate(test, (void *)&wk_dmc_hopper)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(rewards_are_those_of_dm_control),
        BOTH(bodies_camera_and_light_are_those_of_dm_control),
        BOTH(a_step_leads_to_dm_controls_state_and_rewards),
        BOTH(there_is_one_world),
        BOTH(the_floor_shows_how_far_the_robot_went),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
