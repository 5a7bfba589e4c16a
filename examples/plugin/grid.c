// A domain with discrete actions and a vector observation, to copy and change: a walker in a room
// of 7 x 7 cells that a wall divides. ball.c is the same for continuous actions and images, and
// says more about what all domains have in common.
//
// θ = (gap, wind): the row where the wall has its gap, and how often a gust blows the walker one
// cell to the south. The walker chooses to stay or to go east, north, west or south. It observes
// where it is and which of the four cells around it are closed, but neither gap nor wind.
#include "waker/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Built with -DGRID_PICTURE=1 the agent sees the image besides the vector.
#ifndef GRID_PICTURE
#define GRID_PICTURE 0
#endif

/* ---- The description ------------------------------------------------------------------------- */

enum { SIDE = 7, MIDDLE = SIDE / 2 };
enum { GAP, WIND, N_PARAMS };
enum { NORTH_EAST, SOUTH_WEST, N_TASKS };
enum { STAY, EAST, NORTH, WEST, SOUTH, N_ACTIONS };
enum { POSITION = 2, DIRECTIONS = 4, N_VECTOR = POSITION + DIRECTIONS };

static const wk_param params[N_PARAMS] = {
    [GAP] = {.name = "gap",
             .help = "row of the gap in the wall, 0 in the south",
             .min = 0,
             .max = SIDE - 1,
             .step = 1,
             .legal_min = 0,
             .legal_max = SIDE - 1},
    [WIND] = {.name = "wind",
              .help = "share of steps with a gust to the south",
              .min = 0,
              .max = 0.4,
              .step = 0.1,
              .legal_min = 0,
              .legal_max = 1,
              .continuous = true},
};

// Each task is to be in a corner of the room.
static const wk_task tasks[N_TASKS] = {
    [NORTH_EAST] = {.name = "north-east", .has_completion = true},
    [SOUTH_WEST] = {.name = "south-west", .has_completion = true},
};
static const int corners[N_TASKS][2] = {{SIDE - 1, SIDE - 1}, {0, 0}};

static const double storm[] = {MIDDLE, 0.5, MIDDLE, 0.6};
static const wk_case cases[] = {
    {.name = "storm", .help = "more wind", .count = 2, .params = storm, .episodes = 20},
};

static const double hardest[N_PARAMS] = {SIDE - 1, 0.4};
static const double most_complex[][N_PARAMS] = {{SIDE - 1, 0.3}, {SIDE - 1, 0.4}, {0, 0.4}};

/* ---- The world ------------------------------------------------------------------------------- */

typedef struct state {
    int32_t x, y; // cell, from the south-west corner
    int32_t step; // of the episode
} state;

typedef struct world {
    double theta[N_PARAMS];
    uint64_t seed, episode;
    state now;
} world;

__attribute__((format(printf, 3, 4))) static wk_status refuse(wk_error *err, wk_status status,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return err->status = status;
}

// The wall has its gap in a whole row.
static wk_status check(const double *theta, wk_error *err)
{
    if (theta[GAP] == (int)theta[GAP]) return WK_OK;
    return refuse(err, WK_E_INPUT, "gap = %g is not a row; give a whole number", theta[GAP]);
}

static wk_status create(const wk_domain *domain, const int *choices, void **out, wk_error *err)
{
    (void)domain, (void)choices;
    *out = calloc(1, sizeof(world));
    return *out ? WK_OK : refuse(err, WK_E_MEMORY, "no memory for a room");
}

static void destroy(void *env)
{
    free(env);
}

// A random number in [0, 1) that depends on (seed, episode, n) only: the finaliser of splitmix64.
static double unit(const world *w, uint64_t n)
{
    uint64_t z = w->seed * 0x9E3779B97F4A7C15u + w->episode * 0xD1B54A32D192ED03u + n + 1;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
    }
    return (double)(z >> 11) * 0x1p-53;
}

static bool is_closed(const world *w, int x, int y)
{
    if (x < 0 || x >= SIDE || y < 0 || y >= SIDE) return true;
    return x == MIDDLE && y != (int)w->theta[GAP];
}

static const int moves[N_ACTIONS][2] = {
    [STAY] = {0, 0}, [EAST] = {1, 0}, [NORTH] = {0, 1}, [WEST] = {-1, 0}, [SOUTH] = {0, -1}};

static void go(world *w, int action)
{
    int x = w->now.x + moves[action][0], y = w->now.y + moves[action][1];
    if (is_closed(w, x, y)) return;
    w->now.x = x;
    w->now.y = y;
}

static void report(const world *w, wk_outcome *out)
{
    for (int k = 0; k < N_TASKS; k++) {
        int away = abs(w->now.x - corners[k][0]) + abs(w->now.y - corners[k][1]);
        out->rewards[k] = 1 - (float)away / (2 * (SIDE - 1));
        out->completion[k] = away == 0;
    }
}

// Begins in a cell that is open in every world, on either side of the wall.
static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    (void)err;
    world *w = env;
    memcpy(w->theta, theta, sizeof w->theta);
    w->seed = seed;
    w->episode = episode;
    int column = (int)(unit(w, 0) * (SIDE - 1));
    w->now = (state){.x = column < MIDDLE ? column : column + 1, .y = (int)(unit(w, 1) * SIDE)};
    report(w, out);
    return WK_OK;
}

// `action` is one-hot: 1 at the place of the action that was chosen, 0 at the others.
static void step(void *env, const float *action, wk_outcome *out)
{
    world *w = env;
    int chosen = 0;
    while (action[chosen] == 0)
        chosen++;
    go(w, chosen);
    w->now.step++;
    if (unit(w, 1 + (uint64_t)w->now.step) < w->theta[WIND]) go(w, SOUTH);
    report(w, out);
}

/* ---- What is observed ------------------------------------------------------------------------ */

// The world model counts an error of 1 in any number alike, and much smaller ones hardly: choose
// units in which differences that matter are of the order of 1.
static void observe(void *env, float *vector)
{
    const world *w = env;
    *vector++ = (float)(w->now.x - MIDDLE);
    *vector++ = (float)(w->now.y - MIDDLE);
    for (int i = EAST; i <= SOUTH; i++)
        *vector++ = (float)is_closed(w, w->now.x + moves[i][0], w->now.y + moves[i][1]);
}

// For people, and for the agent where it sees images. A domain that is never drawn leaves it out.
static void render(void *env, int width, int height, uint8_t *rgb)
{
    static const uint8_t floor_rgb[3] = {60, 130, 90}, wall_rgb[3] = {40, 44, 52},
                         walker_rgb[3] = {230, 120, 50};
    const world *w = env;
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++) {
            int x = column * SIDE / width, y = SIDE - 1 - row * SIDE / height;
            const uint8_t *colour = x == w->now.x && y == w->now.y ? walker_rgb
                                    : is_closed(w, x, y)           ? wall_rgb
                                                                   : floor_rgb;
            for (int c = 0; c < 3; c++)
                *rgb++ = colour[c];
        }
}

/* ---- Saving and restoring -------------------------------------------------------------------- */

static size_t state_size(const void *env)
{
    (void)env;
    return sizeof(state);
}

static void save(const void *env, void *bytes)
{
    memcpy(bytes, &((const world *)env)->now, sizeof(state));
}

// Called after reset with the saved θ, seed and episode.
static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    world *w = env;
    state s;
    if (size != sizeof s)
        return refuse(err, WK_E_FORMAT, "a saved room has %zu bytes, not %zu", sizeof s, size);
    memcpy(&s, bytes, sizeof s);
    if (s.step < 0 || is_closed(w, s.x, s.y))
        return refuse(err, WK_E_FORMAT, "the saved walker stands in a wall, at (%d, %d)", s.x, s.y);
    w->now = s;
    return WK_OK;
}

/* ---- The domain ------------------------------------------------------------------------------ */

static const wk_domain domain = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "grid",
    .summary = "Walk through the gap of a wall, in the wind.",
    .n_params = N_PARAMS,
    .params = params,
    .n_tasks = N_TASKS,
    .tasks = tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .action_size = N_ACTIONS,
    .discrete = true,
    .observation = {.vector = N_VECTOR, .no_image = !GRID_PICTURE},
    .action_repeat = 1,
    .episode_steps = 40,
    .step_seconds = 0.1,
    .hardest = hardest,
    .n_complex = sizeof most_complex / sizeof *most_complex,
    .most_complex = most_complex[0],
    .check = check,
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .step = step,
    .render = render,
    .observe = observe,
    .state_size = state_size,
    .save = save,
    .load = load,
};

const wk_domain *wk_plugin_entry(void)
{
    return &domain;
}
