// Clean Up: a robot in a walled arena pushes coloured blocks into the goals along the left and
// right wall, seen from above. θ = (arena, green, blue): the arena's index, which gives its size
// and the maximum number of blocks, and the number of blocks of each colour. The same environment
// comes with two robots: a point that is pushed and turned, and a car with two driven wheels.
//
// Reward of a task per control step, summed over the two control steps of an agent step:
//     r = 100 sum_b (d_b before - d_b after) + 0.5 completion,    d_b = |x_b - goal's centre|
// where completion is the share of blocks whose centre lies strictly inside their goal, 1 without
// blocks. Tasks: sort (green left, blue right), sort-reverse (the other way), push (all right).
#include "env/domains/domains.h"

#include "env/domain.h"
#include "env/domains/cleanup_arena.h"
#include "env/domains/scene.h"
#include "env/mujoco/physics.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTROL_STEPS = 2, // per agent step
    TIME_STEPS = 10,   // of MuJoCo per control step
    TRAINING_ARENAS = 5,
    GRID = 35,     // sum over the training arenas a of (a+1)(a+2)/2
    CELL_SIDE = 8, // cells along each side of an arena
};

// One running environment. Models are compiled when first visited; there is one state, that of the
// running one.
typedef struct cleanup {
    wk_physics_env sim; // first, as the functions of wk_physics_env need it
    wk_cleanup_robot robot;
    mjModel *models[WK_CLEANUP_ARENAS][WK_CLEANUP_BLOCKS_MAX + 1]; // sim.model is one of them
    wk_scene *scene;
    double half_size;
    int green, blue;
    int first_block;              // body of block 0; the others follow
    wk_cleanup_progress progress; // at the current positions
} cleanup;

static const wk_param params[] = {
    {"arena", "index of the arena: size and most blocks it holds", 0, 4, 1, 0, 5, false},
    {"green", "number of green blocks", 0, 4, 1, 0, 5, false},
    {"blue", "number of blue blocks", 0, 4, 1, 0, 5, false},
};

static size_t grid_count(void)
{
    return GRID;
}

// Arena uniform in 0 ... 4, number of blocks uniform in 0 ... arena, green uniform in 0 ... blocks.
static void grid_point(size_t i, double *theta, double *probability)
{
    assert(i < GRID);
    size_t left = i;
    for (int arena = 0; arena < TRAINING_ARENAS; arena++)
        for (int blocks = 0; blocks <= arena; blocks++) {
            size_t colourings = (size_t)blocks + 1;
            if (left < colourings) {
                theta[0] = arena;
                theta[1] = (double)left;
                theta[2] = (double)(blocks - (int)left);
                *probability = 1.0 / (TRAINING_ARENAS * (arena + 1) * (blocks + 1));
                return;
            }
            left -= colourings;
        }
}

static wk_status check(const double *theta, wk_error *err)
{
    for (int i = 0; i < 3; i++)
        if (theta[i] != floor(theta[i]))
            return wk_fail(err, WK_E_INPUT, "%s = %g of a clean-up world must be a whole number",
                           params[i].name, theta[i]);
    if (theta[1] + theta[2] > theta[0])
        return wk_fail(err, WK_E_INPUT,
                       "%g green and %g blue blocks do not fit: arena %g holds at most %g in all",
                       theta[1], theta[2], theta[0], theta[0]);
    return WK_OK;
}

static wk_cleanup_progress measure(const cleanup *world)
{
    return wk_cleanup_measure(world->half_size, world->green, world->blue,
                              world->sim.data->xpos + 3 * world->first_block);
}

enum { CONTACT, DISTANCE, COVERAGE, INDICATORS };
static const wk_indicator indicators[INDICATORS] = {
    [CONTACT] = {"contact",
                 "share of steps in which the robot touches a block; none without blocks",
                 WK_INDICATOR_MEAN, 0},
    [DISTANCE] = {"distance", "metres travelled", WK_INDICATOR_SUM, 0},
    [COVERAGE] = {"coverage", "share of the 8 x 8 cells of the arena visited", WK_INDICATOR_CELLS,
                  CELL_SIDE *CELL_SIDE},
};

// Whether any part of the robot touched a block in the last time step.
static bool touches_block(const cleanup *world)
{
    const mjModel *m = world->sim.model;
    const int robot = wk_physics_id(m, mjOBJ_BODY, "robot");
    const int first = world->first_block, end = first + world->green + world->blue;
    for (int i = 0; i < world->sim.data->ncon; i++) {
        const mjContact *c = &world->sim.data->contact[i];
        int a = m->geom_bodyid[c->geom1], b = m->geom_bodyid[c->geom2];
        if ((m->body_rootid[a] == robot && b >= first && b < end) ||
            (m->body_rootid[b] == robot && a >= first && a < end))
            return true;
    }
    return false;
}

static int cell_along(const cleanup *world, double x)
{
    int cell = (int)floor((x / world->half_size + 1) / 2 * CELL_SIDE);
    return cell < 0 ? 0 : cell < CELL_SIDE ? cell : CELL_SIDE - 1;
}

static void report_completion(const cleanup *world, wk_outcome *out)
{
    for (int task = 0; task < WK_CLEANUP_TASKS; task++)
        out->completion[task] = (float)world->progress.completion[task];
}

static void destroy(void *env)
{
    cleanup *world = env;
    if (!world) return;
    mj_deleteData(world->sim.data);
    for (int arena = 0; arena < WK_CLEANUP_ARENAS; arena++)
        for (int blocks = 0; blocks <= WK_CLEANUP_BLOCKS_MAX; blocks++)
            mj_deleteModel(world->models[arena][blocks]);
    wk_scene_destroy(world->scene);
    free(world);
}

static wk_status create(const wk_domain *domain, const int *options, void **env, wk_error *err)
{
    cleanup *world = calloc(1, sizeof *world);
    if (!world) return wk_fail(err, WK_E_MEMORY, "no memory for a clean-up world");
    bool car = strcmp(domain->name, "car-clean-up") == 0;
    world->robot = car ? WK_CLEANUP_CAR : WK_CLEANUP_POINT;
    wk_render_config config = {.samples = options[0] == 0 ? 4 : 1};
    wk_status status = wk_scene_create(&wk_cleanup_scene, NULL, &config, &world->scene, err);
    if (status == WK_OK)
        *env = world;
    else
        destroy(world);
    return status;
}

// Makes the model of (arena, blocks) the running one, with its data at the initial state. There is
// one state at a time, by far the largest part of an environment, and it goes before a model is
// compiled: models stay, and in front of the state they leave no holes in the heap.
static wk_status enter(cleanup *world, int arena, int blocks, wk_error *err)
{
    mjModel **model = &world->models[arena][blocks];
    if (*model && *model == world->sim.model) {
        mj_resetData(world->sim.model, world->sim.data);
        return WK_OK;
    }
    mj_deleteData(world->sim.data);
    world->sim.data = NULL;
    world->sim.model = NULL;
    if (!*model) WK_TRY(wk_cleanup_model_create(world->robot, arena, blocks, model, err));
    WK_TRY(wk_physics_make_data(*model, &world->sim.data, err));
    world->sim.model = *model;
    world->first_block = blocks ? wk_physics_id(*model, mjOBJ_BODY, "block0") : 0;
    return WK_OK;
}

// Puts a body on its place: in its free joint, or in the body's own frame, so that the slides of
// the point robot run along its heading. The height is the model's.
static void place(mjModel *model, mjData *data, int body, wk_cleanup_pose pose)
{
    int joint = model->body_jntadr[body];
    bool is_free = model->jnt_type[joint] == mjJNT_FREE;
    mjtNum *at = is_free ? data->qpos + model->jnt_qposadr[joint] : model->body_pos + 3 * body;
    mjtNum *turn = is_free ? at + 3 : model->body_quat + 4 * body;
    at[0] = pose.x;
    at[1] = pose.y;
    turn[0] = cos(pose.yaw / 2);
    turn[1] = turn[2] = 0;
    turn[3] = sin(pose.yaw / 2);
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    cleanup *world = env;
    int arena = (int)theta[0], green = (int)theta[1], blue = (int)theta[2];
    wk_rng rng = wk_rng_stream(seed, "layout", episode);
    wk_cleanup_layout layout;
    WK_TRY(wk_cleanup_layout_draw(arena, green, blue, &rng, &layout, err));
    WK_TRY(enter(world, arena, green + blue, err));
    world->half_size = wk_cleanup_half_size(arena);
    world->green = green;
    world->blue = blue;
    mjModel *model = world->sim.model;
    mjData *data = world->sim.data;
    place(model, data, wk_physics_id(model, mjOBJ_BODY, "robot"), layout.robot);
    for (int b = 0; b < green + blue; b++) {
        int body = world->first_block + b;
        place(model, data, body, layout.blocks[b]);
        float *rgba = model->geom_rgba + 4 * model->body_geomadr[body];
        memcpy(rgba, (float[4]){0, b < green, b >= green, 1}, 4 * sizeof *rgba);
    }
    if (!wk_physics_forward(model, data))
        return wk_fail(err, WK_E_DIVERGED,
                       "the start of episode %llu of seed %llu is not simulable",
                       (unsigned long long)episode, (unsigned long long)seed);
    wk_scene_forget(world->scene);
    world->progress = measure(world);
    report_completion(world, out);
    return WK_OK;
}

static void step(void *env, const float *action, wk_outcome *out)
{
    cleanup *world = env;
    const mjModel *model = world->sim.model;
    mjData *data = world->sim.data;
    const double *at = data->xpos + 3 * wk_physics_id(model, mjOBJ_BODY, "robot");
    const double from[2] = {at[0], at[1]};
    double rewards[WK_CLEANUP_TASKS] = {0};
    bool touched = false;
    data->ctrl[0] = action[0];
    data->ctrl[1] = action[1];
    for (int i = 0; i < CONTROL_STEPS; i++) {
        if (!wk_physics_advance_whole(model, data, TIME_STEPS)) {
            out->diverged = true;
            // Leaves something that can be drawn: what diverged may hold numbers that are not
            // finite.
            mj_resetData(model, data);
            mj_kinematics(model, data);
            break;
        }
        wk_cleanup_progress before = world->progress;
        world->progress = measure(world);
        for (int task = 0; task < WK_CLEANUP_TASKS; task++)
            rewards[task] += 100 * (before.distance[task] - world->progress.distance[task]) +
                             0.5 * world->progress.completion[task];
        touched = touched || touches_block(world);
        wk_step_seen(&world->sim.watch);
    }
    for (int task = 0; task < WK_CLEANUP_TASKS; task++)
        out->rewards[task] = (float)rewards[task];
    report_completion(world, out);
    out->indicators[CONTACT] = world->green + world->blue > 0 ? (float)touched : NAN;
    out->indicators[DISTANCE] = (float)hypot(at[0] - from[0], at[1] - from[1]);
    out->indicators[COVERAGE] =
        (float)(CELL_SIDE * cell_along(world, at[1]) + cell_along(world, at[0]));
}

static void render(void *env, int width, int height, uint8_t *rgb)
{
    cleanup *world = env;
    wk_scene_draw(world->scene, world->sim.model, world->sim.data, width, height, rgb);
}

static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    cleanup *world = env;
    WK_TRY(wk_physics_env_load(env, bytes, size, err));
    world->progress = measure(world);
    return WK_OK;
}

static const wk_task tasks[WK_CLEANUP_TASKS] = {
    {"sort", NULL, true},
    {"sort-reverse", "sort-reversed", true},
    {"push", NULL, true},
};

static const double extra_block[][3] = {{5, 0, 5}, {5, 1, 4}, {5, 2, 3},
                                        {5, 3, 2}, {5, 4, 1}, {5, 5, 0}};

static const wk_case cases[] = {
    {"extra-block", "five blocks in an arena of the largest training size", 6, &extra_block[0][0],
     24, false},
};

static const wk_option options[] = {
    {"samples", "4|1", "samples per pixel of the image"},
};

static const double hardest[] = {4, 2, 2};
static const double most_complex[][3] = {{4, 0, 4}, {4, 1, 3}, {4, 2, 2}, {4, 3, 1}, {4, 4, 0}};

// The state of the tasks, and what MuJoCo has.
static const double *read(void *env, const char *name, int *count)
{
    const cleanup *world = env;
    const struct {
        const char *name;
        const double *numbers;
        int count;
    } own[] = {{"half_size", &world->half_size, 1},
               {"distance", world->progress.distance, WK_CLEANUP_TASKS},
               {"completion", world->progress.completion, WK_CLEANUP_TASKS}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (strcmp(own[i].name, name) != 0) continue;
        *count = own[i].count;
        return own[i].numbers;
    }
    return wk_physics_env_read(env, name, count);
}

// What both robots share.
#define CLEAN_UP_COMMON                                                                            \
    .abi = WK_ENV_ABI, .size = sizeof(wk_domain), .n_params = 3, .params = params,                 \
    .n_tasks = WK_CLEANUP_TASKS, .tasks = tasks, .n_cases = 1, .cases = cases, .n_options = 1,     \
    .options = options, .n_indicators = INDICATORS, .indicators = indicators, .action_size = 2,    \
    .action_repeat = CONTROL_STEPS, .episode_steps = 500, .hardest = hardest, .n_complex = 5,      \
    .most_complex = &most_complex[0][0], .grid_count = grid_count, .grid_point = grid_point,       \
    .check = check, .create = create, .destroy = destroy, .reset = reset, .step = step,            \
    .render = render, .state_size = wk_physics_env_state_size, .save = wk_physics_env_save,        \
    .load = load, .read = read, .watch = wk_physics_env_watch

const wk_domain wk_clean_up = {
    .name = "clean-up",
    .summary = "a point robot pushes coloured blocks into the goals of a walled arena",
    .step_seconds = 0.04,
    CLEAN_UP_COMMON,
};

const wk_domain wk_car_clean_up = {
    .name = "car-clean-up",
    .summary =
        "a car with two driven wheels pushes coloured blocks into the goals of a walled arena",
    .step_seconds = 0.08,
    CLEAN_UP_COMMON,
};
