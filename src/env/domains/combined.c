// Terrain Walker and Clean Up as one domain: one agent meets both kinds of environment. θ =
// (domain, p0, p1, p2), where domain 0 is terrain with p0, p1 = amplitude, length (p2 = 0) and
// domain 1 is clean-up with p0, p1, p2 = arena, green, blue. Domain randomisation picks either with
// probability 1/2.
//
// Actions have the walker's six numbers; a clean-up environment uses the first two. Every step
// reports the tasks of both: rewards and completion of tasks that do not belong to the running
// environment are 0. A step takes 0.05 s in a terrain environment and 0.04 s in a clean-up
// environment. The hardest θ is the walker's; the most complex ones are those of both, the clean-up
// ones repeated so that both domains are equally likely. Options are those of both; one that both
// have applies to both.
#include "env/domains/domains.h"

#include "env/domain.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TERRAIN, CLEANUP, WORLDS };
enum { WALK, RUN, SORT, PUSH, TASKS };
enum { PARAMS = 4, OPTIONS = 3, INDICATORS = 5 };

static const wk_domain *const worlds[WORLDS] = {&wk_terrain_walker, &wk_clean_up};

typedef struct combined {
    void *envs[WORLDS];
    int running;                             // index into envs
    int their_index[TASKS];                  // of our tasks in the domain they come from
    int their_indicator[WORLDS][INDICATORS]; // of ours in each domain, -1: it has none
} combined;

static const wk_param params[PARAMS] = {
    {"domain", "0 terrain, 1 clean-up", 0, 1, 1, 0, 1, false},
    {"p0", "amplitude of the terrain, or the arena", 0, 4, 0.05, -1, 5, false},
    {"p1", "length of the terrain, or the number of green blocks", 0, 4, 0.05, 0, 10, false},
    {"p2", "0 for a terrain, or the number of blue blocks", 0, 4, 1, 0, 5, false},
};

static const wk_task tasks[TASKS] = {
    [WALK] = {"walk", NULL, false},
    [RUN] = {"run", NULL, false},
    [SORT] = {"sort", NULL, true},
    [PUSH] = {"push", NULL, true},
};

static const int world_of_task[TASKS] = {
    [WALK] = TERRAIN, [RUN] = TERRAIN, [SORT] = CLEANUP, [PUSH] = CLEANUP};

const wk_domain *wk_combined_part(int task, double *domain)
{
    assert(task >= 0 && task < TASKS);
    *domain = world_of_task[task];
    return worlds[world_of_task[task]];
}

static const wk_option options[OPTIONS] = {
    {"lattice", "fixed|fresh",
     "fixed: one θ is one terrain; fresh: a new terrain of that θ every episode"},
    {"shadows", "on|off", "the walker's shadow in the image"},
    {"samples", "4|1", "samples per pixel"},
};

static const wk_indicator indicators[INDICATORS] = {
    {"contact", "share of steps in which the robot touches a block", WK_INDICATOR_MEAN, 0},
    {"upright", "share of steps with the torso within 60 degrees of upright", WK_INDICATOR_MEAN, 0},
    {"distance", "metres travelled", WK_INDICATOR_SUM, 0},
    {"coverage", "share of the 8 x 8 cells of the arena visited", WK_INDICATOR_CELLS, 64},
    {"range", "metres between the leftmost and the rightmost place", WK_INDICATOR_RANGE, 0},
};

static size_t terrain_count(void)
{
    return wk_param_count(&wk_terrain_walker.params[0]) *
           wk_param_count(&wk_terrain_walker.params[1]);
}

static size_t grid_count(void)
{
    return terrain_count() + wk_clean_up.grid_count();
}

// First the walker's grid, equally likely, then the clean-up grid; each has one half.
static void grid_point(size_t i, double *theta, double *probability)
{
    size_t terrains = terrain_count();
    if (i >= terrains) {
        theta[0] = CLEANUP;
        wk_clean_up.grid_point(i - terrains, theta + 1, probability);
        *probability /= 2;
        return;
    }
    const wk_param *theirs = wk_terrain_walker.params;
    size_t lengths = wk_param_count(&theirs[1]);
    theta[0] = TERRAIN;
    theta[1] = wk_param_value(&theirs[0], i / lengths);
    theta[2] = wk_param_value(&theirs[1], i % lengths);
    theta[3] = 0;
    *probability = 0.5 / (double)terrains;
}

static wk_status check(const double *theta, wk_error *err)
{
    if (theta[0] != TERRAIN && theta[0] != CLEANUP)
        return wk_fail(err, WK_E_INPUT, "domain = %g must be 0 (terrain) or 1 (clean-up)",
                       theta[0]);
    const wk_domain *world = worlds[(int)theta[0]];
    for (int i = 0; i < world->n_params; i++) {
        const wk_param *param = &world->params[i];
        if (theta[1 + i] < param->legal_min || theta[1 + i] > param->legal_max)
            return wk_fail(err, WK_E_INPUT, "%s = %g of a %s world lies outside %g ... %g",
                           param->name, theta[1 + i], world->name, param->legal_min,
                           param->legal_max);
    }
    for (int i = 1 + world->n_params; i < PARAMS; i++)
        if (theta[i] != 0)
            return wk_fail(err, WK_E_INPUT, "%s = %g must be 0 in a %s world", params[i].name,
                           theta[i], world->name);
    return world->check ? world->check(theta + 1, err) : WK_OK;
}

static void destroy(void *env)
{
    combined *both = env;
    if (!both) return;
    for (int w = 0; w < WORLDS; w++)
        if (both->envs[w]) worlds[w]->destroy(both->envs[w]);
    free(both);
}

// Makes the environment of one kind with the choices that concern it.
static wk_status create_world(combined *both, int w, const int *choices, wk_error *err)
{
    int theirs[WK_OPTIONS_MAX] = {0};
    for (int i = 0; i < worlds[w]->n_options; i++) {
        int ours = wk_row_find(options, OPTIONS, sizeof *options, worlds[w]->options[i].name);
        assert(ours >= 0);
        theirs[i] = choices[ours];
    }
    return worlds[w]->create(worlds[w], theirs, &both->envs[w], err);
}

static wk_status create(const wk_domain *domain, const int *choices, void **env, wk_error *err)
{
    (void)domain;
    combined *both = calloc(1, sizeof *both);
    if (!both) return wk_fail(err, WK_E_MEMORY, "no memory for a combined environment");
    for (int task = 0; task < TASKS; task++) {
        const wk_domain *world = worlds[world_of_task[task]];
        both->their_index[task] =
            wk_row_find(world->tasks, world->n_tasks, sizeof *world->tasks, tasks[task].name);
        assert(both->their_index[task] >= 0);
    }
    for (int w = 0; w < WORLDS; w++)
        for (int i = 0; i < INDICATORS; i++)
            both->their_indicator[w][i] =
                wk_row_find(worlds[w]->indicators, worlds[w]->n_indicators, sizeof *indicators,
                            indicators[i].name);
    wk_status status = WK_OK;
    for (int w = 0; w < WORLDS && status == WK_OK; w++)
        status = create_world(both, w, choices, err);
    if (status == WK_OK)
        *env = both;
    else
        destroy(both);
    return status;
}

// Hands on what the running environment reported.
static void translate(const combined *both, const wk_outcome *theirs, wk_outcome *out)
{
    for (int task = 0; task < TASKS; task++) {
        if (world_of_task[task] != both->running) continue;
        out->rewards[task] = theirs->rewards[both->their_index[task]];
        out->completion[task] = theirs->completion[both->their_index[task]];
    }
    for (int i = 0; i < INDICATORS; i++) {
        int their = both->their_indicator[both->running][i];
        out->indicators[i] = their < 0 ? NAN : theirs->indicators[their];
    }
    out->terminal = theirs->terminal;
    out->diverged = theirs->diverged;
    out->truncated = theirs->truncated;
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    combined *both = env;
    both->running = (int)theta[0];
    wk_outcome theirs = {0};
    WK_TRY(worlds[both->running]->reset(both->envs[both->running], theta + 1, seed, episode,
                                        &theirs, err));
    translate(both, &theirs, out);
    return WK_OK;
}

static void step(void *env, const float *action, wk_outcome *out)
{
    combined *both = env;
    wk_outcome theirs = {0};
    worlds[both->running]->step(both->envs[both->running], action, &theirs);
    translate(both, &theirs, out);
}

static void render(void *env, int width, int height, uint8_t *rgb)
{
    combined *both = env;
    worlds[both->running]->render(both->envs[both->running], width, height, rgb);
}

static size_t state_size(const void *env)
{
    const combined *both = env;
    return worlds[both->running]->state_size(both->envs[both->running]);
}

static void save(const void *env, void *bytes)
{
    const combined *both = env;
    worlds[both->running]->save(both->envs[both->running], bytes);
}

static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    combined *both = env;
    return worlds[both->running]->load(both->envs[both->running], bytes, size, err);
}

static const double *read(void *env, const char *name, int *count)
{
    combined *both = env;
    return worlds[both->running]->read(both->envs[both->running], name, count);
}

static void watch(void *env, const wk_step_watch *watcher)
{
    combined *both = env;
    for (int w = 0; w < WORLDS; w++)
        worlds[w]->watch(both->envs[w], watcher);
}

static const double steep[] = {TERRAIN, 0.8, 0.15, 0};
static const double stairs[] = {TERRAIN, -1, 0, 0};
static const double extra_block[][PARAMS] = {{CLEANUP, 5, 0, 5}, {CLEANUP, 5, 1, 4},
                                             {CLEANUP, 5, 2, 3}, {CLEANUP, 5, 3, 2},
                                             {CLEANUP, 5, 4, 1}, {CLEANUP, 5, 5, 0}};

static const wk_case cases[] = {
    {"steep", "steeper ground than in training", 1, steep, 20, false},
    {"stairs", "steps with vertical risers", 1, stairs, 20, false},
    {"extra-block", "five blocks in an arena of the largest training size", 6, &extra_block[0][0],
     24, false},
};

static const double hardest[PARAMS] = {TERRAIN, 1, 0.2, 0};

// 25 terrains, and five times the five clean-up environments.
// clang-format off
#define ROUGH(a)                                                                                   \
    {TERRAIN, a, 0.2, 0}, {TERRAIN, a, 0.25, 0}, {TERRAIN, a, 0.3, 0}, {TERRAIN, a, 0.35, 0},      \
    {TERRAIN, a, 0.4, 0}
#define FULL                                                                                       \
    {CLEANUP, 4, 0, 4}, {CLEANUP, 4, 1, 3}, {CLEANUP, 4, 2, 2}, {CLEANUP, 4, 3, 1},                \
    {CLEANUP, 4, 4, 0}
// clang-format on
static const double most_complex[][PARAMS] = {
    ROUGH(0.8), ROUGH(0.85), ROUGH(0.9), ROUGH(0.95), ROUGH(1), FULL, FULL, FULL, FULL, FULL,
};

const wk_domain wk_combined = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "combined",
    .summary = "terrain-walker and clean-up worlds for one agent",
    .n_params = PARAMS,
    .params = params,
    .n_tasks = TASKS,
    .tasks = tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .n_options = OPTIONS,
    .options = options,
    .n_indicators = INDICATORS,
    .indicators = indicators,
    .action_size = 6,
    .action_repeat = 2,
    .episode_steps = 500,
    .step_seconds = 0.05,
    .hardest = hardest,
    .n_complex = sizeof most_complex / sizeof *most_complex,
    .most_complex = &most_complex[0][0],
    .grid_count = grid_count,
    .grid_point = grid_point,
    .check = check,
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .step = step,
    .render = render,
    .state_size = state_size,
    .save = save,
    .load = load,
    .read = read,
    .watch = watch,
};
