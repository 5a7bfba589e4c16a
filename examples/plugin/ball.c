// A complete domain in one file, to copy and change: a ball that is pushed about on a round table.
//
// θ = (friction, wind). The agent sees the table from above but neither friction nor wind; it
// pushes the ball with a force in the plane. waker loads this file as a shared object and finds the
// domain through wk_plugin_entry at the end. Nothing of waker is linked: include/waker is all it
// needs.
#include "waker/env.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The description: what θ means, which tasks there are ------------------------------------ */

enum { FRICTION, WIND, N_PARAMS };
enum { CENTRE, CIRCLE, N_TASKS };
enum { START, N_OPTIONS };

// During training θ is drawn from the grid min, min+step, ..., max. Evaluations outside the
// training distribution may use anything from legal_min to legal_max.
static const wk_param params[N_PARAMS] = {
    [FRICTION] = {.name = "friction",
                  .help = "how fast the ball slows down, 1/s",
                  .min = 0.1,
                  .max = 1.0,
                  .step = 0.1,
                  .legal_min = 0,
                  .legal_max = 5,
                  .continuous = true},
    [WIND] = {.name = "wind",
              .help = "acceleration to the right, m/s²",
              .min = 0,
              .max = 0.5,
              .step = 0.1,
              .legal_min = -1,
              .legal_max = 1,
              .continuous = true},
};

static const wk_task tasks[N_TASKS] = {
    [CENTRE] = {.name = "centre", .has_completion = true}, // stay in the middle
    [CIRCLE] = {.name = "circle", .alias = "orbit"},       // run round it, counter-clockwise
};

static const wk_option options[N_OPTIONS] = {
    [START] = {.name = "start", .choices = "anywhere|centre", .help = "where episodes begin"},
};

// Worlds outside the grid on which trained agents are evaluated, [count, n_params] each.
static const double storm[] = {0.1, 0.8, 0.1, 1.0};
static const double ice[] = {0.0, 0.0};
static const wk_case cases[] = {
    {.name = "storm", .help = "more wind", .count = 2, .params = storm, .episodes = 20},
    {.name = "ice", .help = "no friction", .count = 1, .params = ice, .episodes = 20},
};

// What the two oracle curricula use: the hardest world, and a set of hard ones.
static const double hardest[N_PARAMS] = {0.1, 0.5};
static const double most_complex[][N_PARAMS] = {{0.1, 0.4}, {0.1, 0.5}, {0.2, 0.4}, {0.2, 0.5}};

/* ---- The world ------------------------------------------------------------------------------- */

enum { SUBSTEPS = 5 };
#define STEP_SECONDS 0.05
#define PUSH 2.0  // m/s², of a full action
#define TABLE 1.0 // radius of the table, metres
#define BALL 0.12 // radius of the ball

// Everything an episode changes stands in `state`, so that saving it is one copy. It has no
// padding: saved bytes must not contain memory that nobody wrote.
typedef struct state {
    double x, y, vx, vy; // metres from the centre of the table, metres per second
} state;

typedef struct world {
    int start;              // choice of option START
    double theta[N_PARAMS]; // of the running episode
    state now;
} world;

// Says no: writes the message and returns the status.
__attribute__((format(printf, 3, 4))) static wk_status refuse(wk_error *err, wk_status status,
                                                              const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(err->message, sizeof err->message, format, args);
    va_end(args);
    return err->status = status;
}

// A rule on θ beyond the legal ranges. Leave `check` NULL if there is none.
static wk_status check(const double *theta, wk_error *err)
{
    if (theta[FRICTION] == 0 && theta[WIND] != 0)
        return refuse(err, WK_E_INPUT,
                      "wind without friction never lets the ball rest; give one "
                      "of them only");
    return WK_OK;
}

static wk_status create(const wk_domain *domain, const int *choices, void **out, wk_error *err)
{
    (void)domain;
    world *w = calloc(1, sizeof *w);
    if (!w) return refuse(err, WK_E_MEMORY, "no memory for a table");
    w->start = choices[START];
    *out = w;
    return WK_OK;
}

static void destroy(void *env)
{
    free(env);
}

// A random number in [0, 1) that depends on (seed, episode, n) only: the finaliser of splitmix64.
static double unit(uint64_t seed, uint64_t episode, uint64_t n)
{
    uint64_t z = seed * 0x9E3779B97F4A7C15u + episode * 0xD1B54A32D192ED03u + n + 1;
    for (int round = 0; round < 2; round++) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        z ^= z >> 31;
    }
    return (double)(z >> 11) * 0x1p-53;
}

static double distance(const state *s)
{
    return sqrt(s->x * s->x + s->y * s->y);
}

// `out` arrives zeroed. Completion is a share of the task that is done, from 0 to 1.
static void report(const world *w, wk_outcome *out)
{
    const state *s = &w->now;
    double r = distance(s);
    out->rewards[CENTRE] = (float)fmax(0, 1 - 2 * r);
    out->completion[CENTRE] = r < BALL;
    out->rewards[CIRCLE] = (float)fmin(1, fmax(0, s->x * s->vy - s->y * s->vx));
    out->diverged = !isfinite(r + s->vx + s->vy);
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    (void)err;
    world *w = env;
    memcpy(w->theta, theta, sizeof w->theta);
    w->now = (state){0};
    if (w->start == 0) {
        double angle = 6.283185307179586 * unit(seed, episode, 0);
        double r = (TABLE - BALL) * sqrt(unit(seed, episode, 1));
        w->now.x = r * cos(angle);
        w->now.y = r * sin(angle);
    }
    report(w, out);
    return WK_OK;
}

// Keeps the ball on the table: at the rim the outward part of its velocity is reversed and halved.
static void bounce(state *s)
{
    double r = distance(s), limit = TABLE - BALL;
    if (r <= limit) return;
    double nx = s->x / r, ny = s->y / r, outward = s->vx * nx + s->vy * ny;
    s->x = limit * nx;
    s->y = limit * ny;
    if (outward > 0) {
        s->vx -= 1.5 * outward * nx;
        s->vy -= 1.5 * outward * ny;
    }
}

static void step(void *env, const float *action, wk_outcome *out)
{
    world *w = env;
    state *s = &w->now;
    const double dt = STEP_SECONDS / SUBSTEPS;
    for (int i = 0; i < SUBSTEPS; i++) {
        s->vx += dt * (PUSH * (double)action[0] + w->theta[WIND] - w->theta[FRICTION] * s->vx);
        s->vy += dt * (PUSH * (double)action[1] - w->theta[FRICTION] * s->vy);
        s->x += dt * s->vx;
        s->y += dt * s->vy;
        bounce(s);
    }
    report(w, out);
}

/* ---- The image ----------------------------------------------------------------------------- */

// How much of a pixel a disc covers: 1 inside, 0 outside, a soft rim one pixel wide.
static double cover(double x, double y, double radius, double pixel)
{
    double inside = (radius - sqrt(x * x + y * y)) / pixel + 0.5;
    return inside < 0 ? 0 : inside > 1 ? 1 : inside;
}

// Any size may be requested; the agent's observation is 64 x 64. Every byte must be written.
static void render(void *env, int width, int height, uint8_t *rgb)
{
    static const double floor_rgb[3] = {40, 44, 52}, table_rgb[3] = {60, 130, 90},
                        spot_rgb[3] = {80, 160, 115}, ball_rgb[3] = {230, 120, 50};
    const state *s = &((const world *)env)->now;
    double pixel = 2.2 * TABLE / (width < height ? width : height);
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++) {
            double x = (column + 0.5 - 0.5 * width) * pixel;
            double y = (0.5 * height - row - 0.5) * pixel;
            double table = cover(x, y, TABLE, pixel), spot = cover(x, y, 2 * BALL, pixel);
            double ball = cover(x - s->x, y - s->y, BALL, pixel);
            for (int c = 0; c < 3; c++) {
                double colour = floor_rgb[c];
                colour += table * (table_rgb[c] - colour);
                colour += spot * (spot_rgb[c] - colour);
                colour += ball * (ball_rgb[c] - colour);
                *rgb++ = (uint8_t)(colour + 0.5);
            }
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
    if (size != sizeof(state))
        return refuse(err, WK_E_FORMAT, "a saved table has %zu bytes, not %zu", sizeof(state),
                      size);
    memcpy(&((world *)env)->now, bytes, sizeof(state));
    return WK_OK;
}

/* ---- What rewards of users may look at (optional) -------------------------------------------- */

// Rewards that are written later read the state by name (waker/reward.h).
static const double *read_state(void *env, const char *name, int *count)
{
    const state *now = &((const world *)env)->now;
    *count = 2;
    if (strcmp(name, "position") == 0) return &now->x;
    return strcmp(name, "velocity") == 0 ? &now->vx : NULL;
}

/* ---- The domain ------------------------------------------------------------------------------ */

static const wk_domain domain = {
    .abi = WK_ENV_ABI,
    .size = sizeof(wk_domain),
    .name = "ball-on-table",
    .summary = "Push a ball about on a round table with friction and wind.",
    .n_params = N_PARAMS,
    .params = params,
    .n_tasks = N_TASKS,
    .tasks = tasks,
    .n_cases = sizeof cases / sizeof *cases,
    .cases = cases,
    .n_options = N_OPTIONS,
    .options = options,
    .action_size = 2,
    .action_repeat = 1,
    .episode_steps = 200,
    .step_seconds = STEP_SECONDS,
    .hardest = hardest,
    .n_complex = sizeof most_complex / sizeof *most_complex,
    .most_complex = most_complex[0],
    .check = check,
    .create = create,
    .destroy = destroy,
    .reset = reset,
    .step = step,
    .render = render,
    .state_size = state_size,
    .save = save,
    .load = load,
    .read = read_state,
};

const wk_domain *wk_plugin_entry(void)
{
    return &domain;
}
