// The walker with parameters of its body: the usual body is the walker's, each parameter does what
// it says, limbs weigh what MuJoCo's compiler says, and nothing stays from the episode before.
#include "base/file.h"
#include "env/domains/domains.h"
#include "env/mujoco/physics.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

static wk_error err;

enum { PARAMS = 6, STEPS = 40 };

typedef struct trace {
    uint8_t image[WK_IMAGE_BYTES];
    float rewards[STEPS][5];
} trace;

static wk_env *make(const wk_domain *domain)
{
    wk_env *env;
    assert_ok(wk_env_create(domain, NULL, &env, &err));
    return env;
}

static void play(wk_env *env, const double *theta, int params, trace *out)
{
    assert_ok(wk_env_reset(env, theta, (size_t)params, 3, 1, &(wk_frame){0}, &err));
    for (int t = 0; t < STEPS; t++) {
        float action[6];
        for (int k = 0; k < 6; k++)
            action[k] = (float)sin(0.3 * t + k);
        wk_frame frame = {.image = out->image, .rewards = out->rewards[t]};
        assert_ok(wk_env_step(env, action, &frame, &err));
    }
}

static double distance(const trace *a, const trace *b)
{
    double sum = 0;
    for (int t = 0; t < STEPS; t++)
        for (int k = 0; k < 5; k++)
            sum += fabs((double)a->rewards[t][k] - (double)b->rewards[t][k]);
    return sum;
}

TEST_CASE(the_usual_body_is_the_walkers)
{
    wk_env *walker = make(&wk_terrain_walker), *body = make(&wk_terrain_body);
    const double theta[PARAMS] = {0.7, 0.5, 1, 1, 1, 1};
    static trace a, b;
    play(walker, theta, 2, &a);
    play(body, theta, PARAMS, &b);
    assert_memory_equal(&a, &b, sizeof a);
    wk_env_destroy(walker);
    wk_env_destroy(body);
}

TEST_CASE(every_parameter_matters_and_leaves_nothing_behind)
{
    wk_env *env = make(&wk_terrain_body);
    const double usual[PARAMS] = {0.7, 0.5, 1, 1, 1, 1};
    static trace first, other, again;
    play(env, usual, PARAMS, &first);
    for (int k = 0; k < PARAMS; k++)
        for (int high = 0; high < 2; high++) {
            const wk_param *p = &wk_terrain_body.params[k];
            double theta[PARAMS];
            memcpy(theta, usual, sizeof theta);
            theta[k] = high ? p->max : p->min;
            play(env, theta, PARAMS, &other);
            if (distance(&first, &other) < 0.01) fail_msg("%s does nothing", p->name);
        }
    play(env, usual, PARAMS, &again);
    assert_memory_equal(&first, &again, sizeof first);
    wk_env_destroy(env);
}

// Replaces every `from` in the text.
static char *replace(char *text, const char *from, const char *to)
{
    size_t room = strlen(text) + 4096;
    char *out = calloc(room, 1);
    assert_non_null(out);
    for (const char *at = text;;) {
        const char *next = strstr(at, from);
        size_t used = strlen(out);
        if (!next) {
            snprintf(out + used, room - used, "%s", at);
            break;
        }
        snprintf(out + used, room - used, "%.*s%s", (int)(next - at), at, to);
        at = next + strlen(from);
    }
    free(text);
    return out;
}

static void expect_same(const char *what, const mjtNum *a, const mjtNum *b, int count)
{
    for (int i = 0; i < count; i++)
        if (fabs(a[i] - b[i]) > 1e-6 * (1e-3 + fabs(a[i])))
            fail_msg("%s, number %d: %.9g instead of %.9g", what, i, b[i], a[i]);
}

TEST_CASE(stretched_limbs_are_those_of_a_stretched_file)
{
    static const char *const changes[][2] = {
        {"pos=\"0 0 -.225\" size=\".05 .225\"", "pos=\"0 0 -.27\" size=\".05 .27\""},
        {"pos=\"0 0 -.7\"", "pos=\"0 0 -.84\""},
        {"pos=\"0 0 .25\"", "pos=\"0 0 .3\""},
        {"size=\".04 .25\"", "size=\".04 .3\""},
        {"pos=\".06 0 -.25\"", "pos=\".06 0 -.3\""},
        {"<body name=\"torso\" pos=\"0 0 1.3\"", "<body name=\"torso\" pos=\"0 0 1.49\""}};
    char *xml = strdup(wk_asset_find("walker.xml")->content);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        xml = replace(xml, changes[i][0], changes[i][1]);
    mjModel *expected;
    assert_ok(wk_physics_load("stretched.xml", xml, &expected, &err));
    const wk_domain *d = &wk_terrain_body;
    void *world;
    const int options[WK_OPTIONS_MAX] = {0};
    assert_ok(d->create(d, options, &world, &err));
    const double theta[PARAMS] = {0.5, 1, 1, 1, 1, 1.2};
    assert_ok(d->reset(world, theta, 1, 1, &(wk_outcome){0}, &err));
    const wk_physics_env *sim = world;
    const mjModel *ours = sim->model;
    mjData *data = sim->data;
    int bodies = (int)expected->nbody, geoms = (int)expected->ngeom, dofs = (int)expected->nv;
    expect_same("mass", expected->body_mass, ours->body_mass, bodies);
    expect_same("inertia", expected->body_inertia, ours->body_inertia, 3 * bodies);
    expect_same("centre", expected->body_ipos, ours->body_ipos, 3 * bodies);
    expect_same("place", expected->body_pos, ours->body_pos, 3 * bodies);
    expect_same("subtree", expected->body_subtreemass, ours->body_subtreemass, bodies);
    expect_same("weight", expected->body_invweight0, ours->body_invweight0, 2 * bodies);
    expect_same("dof", expected->dof_invweight0, ours->dof_invweight0, dofs);
    expect_same("joint", expected->jnt_pos, ours->jnt_pos, 3 * (int)expected->njnt);
    expect_same("size", expected->geom_size, ours->geom_size, 3 * geoms);
    expect_same("bound", expected->geom_rbound, ours->geom_rbound, geoms);
    expect_same("geom", expected->geom_pos, ours->geom_pos, 3 * geoms);
    expect_same("extent", &expected->stat.extent, &ours->stat.extent, 1);
    int count;
    const double *torso = d->read(world, "xpos/torso", &count); // what rewards of users read
    assert_non_null(torso);
    assert_int_equal(count, 3);
    assert_near(torso[2], data->xpos[3 * 1 + 2], 0);
    d->destroy(world);
    mj_deleteModel(expected);
    free(xml);
}

TEST_MAIN(NULL, NULL)
