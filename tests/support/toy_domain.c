#include "support/toy_domain.h"

#include "base/random.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
    double x, v;
    int64_t steps;
} state;

typedef struct world {
    toy_fault fault;
    double gain, drift;
    state now;
    unsigned drawn;
} world;

// What faulty worlds share; a sound one touches only the count of worlds.
static atomic_int worlds;
static unsigned draws;
static double shared_speed;
static void *lost;

static const wk_param params[] = {
    {"gain", "strength of the push", 0.1, 0.5, 0.05, 0, 2, true},
    {"drift", "constant push", 0, 2, 1, -3, 3, false},
};
static const wk_task tasks[] = {{"right", NULL, true}, {"left", "port", false}};
static const double far_params[] = {1, 3, 2, -3};
static const wk_case cases[] = {
    {.name = "far", .help = "", .count = 2, .params = far_params, .episodes = 4}};
static const wk_option options[] = {{"colour", "grey|inverted", "of the picture"},
                                    {"unused", "a|b|c", ""}};
static const wk_indicator cells[] = {
    {.name = "cells", .help = "", .kind = WK_INDICATOR_CELLS, .cells = 8}};
static const double hardest[] = {0.5, 2};
static const double most_complex[] = {0.5, 2, 0.45, 2};

static wk_status check(const double *theta, wk_error *err)
{
    if (theta[0] + theta[1] > 4.5)
        return wk_fail(err, WK_E_INPUT, "gain and drift together are at most 4.5");
    return WK_OK;
}

static wk_status create(const wk_domain *domain, const int *choices, void **out, wk_error *err)
{
    (void)choices;
    toy_fault fault = ((const toy *)domain)->fault;
    if (fault == TOY_CREATE_SILENT) return WK_E_MEMORY;
    if (fault == TOY_CREATE_NOTHING) return WK_OK;
    if (fault == TOY_CREATE_FAILS) return wk_fail(err, WK_E_UNSUPPORTED, "the toy is broken");
    world *w = calloc(1, sizeof *w);
    if (!w) return wk_fail(err, WK_E_MEMORY, "no memory for a toy");
    w->fault = fault;
    *out = w;
    worlds++;
    return WK_OK;
}

static void destroy(void *env)
{
    world *w = env;
    if (w->fault == TOY_LOSES_MEMORY || w->fault == TOY_LOSES_MEGABYTES) {
        // Chained, so that leak checkers see it as still in use.
        void **block = malloc(w->fault == TOY_LOSES_MEMORY ? 1000 : 1 << 20);
        if (block) *block = lost;
        lost = block;
    }
    free(w);
    worlds--;
}

int toy_worlds(void)
{
    return worlds;
}

double toy_start(uint64_t seed, uint64_t episode)
{
    wk_rng rng = wk_rng_stream(seed, "toy", episode);
    return wk_rng_uniform(&rng, -0.1, 0.1);
}

static void report(const world *w, wk_outcome *out)
{
    bool event = w->now.steps >= TOY_EVENT_STEP;
    out->rewards[0] = (float)w->now.x;
    out->rewards[1] = (float)-w->now.x;
    out->completion[0] = (float)fmin(1, fabs(w->now.x));
    bool ends = w->fault == TOY_TERMINAL || w->fault == TOY_TERMINAL_UNDECLARED;
    if (ends && event) out->terminal = true;
    if (w->fault == TOY_TERMINAL_AT_RESET) out->terminal = true;
    if (w->fault == TOY_DIVERGES && event) out->diverged = true;
    if (w->fault == TOY_DIVERGES_LATE && w->now.steps > 50) out->diverged = true;
    if (w->fault == TOY_DIVERGES_AT_RESET) out->diverged = true;
    if (w->fault == TOY_NAN_REWARD && event) out->rewards[1] = NAN;
    if (w->fault == TOY_NAN_COMPLETION && event) out->completion[0] = INFINITY;
    if (w->fault == TOY_BIG_COMPLETION) out->completion[0] = 1.5f;
    if (w->fault == TOY_BAD_CELL) out->indicators[0] = event ? 8 : NAN;
    if (w->fault == TOY_BIG_REWARD) out->rewards[0] = 1e6f;
    if (w->fault == TOY_EXTRA_REWARD) out->rewards[2] = 1;
    if (w->fault == TOY_UNDECLARED_COMPLETION) out->completion[1] = 0.5f;
}

static wk_status reset(void *env, const double *theta, uint64_t seed, uint64_t episode,
                       wk_outcome *out, wk_error *err)
{
    world *w = env;
    if (w->fault == TOY_RESET_FAILS)
        return wk_fail(err, WK_E_UNSUPPORTED, "the toy has no such place");
    w->gain = theta[0];
    w->drift = theta[1];
    double x = toy_start(seed, episode), v = w->fault == TOY_REMEMBERS ? w->now.v : 0;
    if (w->fault == TOY_RANDOM) x += 0.01 * (double)++draws;
    w->now = (state){.x = x, .v = v};
    report(w, out);
    return WK_OK;
}

static void step(void *env, const float *action, wk_outcome *out)
{
    world *w = env;
    if (w->fault == TOY_SHARES) {
        if (w->now.steps == 0) shared_speed = 0;
        w->now.v = shared_speed;
    }
    w->now.v = 0.5 * w->now.v + w->gain * (double)action[0] + w->drift;
    w->now.x += 0.1 * w->now.v;
    w->now.steps++;
    if (w->fault == TOY_SHARES) shared_speed = w->now.v;
    report(w, out);
}

static void render(void *env, int width, int height, uint8_t *rgb)
{
    world *w = env;
    size_t size = (size_t)width * (size_t)height * 3;
    double position = w->fault == TOY_PAINTS_STILL ? 0 : w->now.x;
    unsigned value = (unsigned)(int)floor(position * 1e4);
    if (w->fault == TOY_PAINTS_NOISE) value += w->drawn++;
    if (w->fault == TOY_DRAWING_MOVES) w->now.x += 1e-3;
    for (size_t i = 0; i < size; i++)
        if (w->fault != TOY_PAINTS_HOLES || i % 100 != 99) rgb[i] = (uint8_t)(value + i);
    if (w->fault == TOY_PAINTS_OUTSIDE) rgb[size] = 1;
}

static size_t state_size(const void *env)
{
    const world *w = env;
    return sizeof(state) + (w->fault == TOY_STATE_GROWS ? (size_t)w->now.steps : 0);
}

static void save(const void *env, void *bytes)
{
    const world *w = env;
    state s = w->now;
    if (w->fault == TOY_FORGETS_SPEED) s.v = 0;
    size_t hole = w->fault == TOY_SAVES_HOLES ? 1 : 0;
    memcpy(bytes, &s, sizeof s - hole);
    if (w->fault == TOY_SAVES_OUTSIDE) ((char *)bytes)[sizeof s] = 1;
}

static wk_status load(void *env, const void *bytes, size_t size, wk_error *err)
{
    world *w = env;
    if (w->fault == TOY_LOAD_REFUSES) return wk_fail(err, WK_E_FORMAT, "the toy forgot");
    if (size != sizeof(state) && w->fault == TOY_LOADS_ANY_SIZE) return WK_OK;
    if (size != sizeof(state) && w->fault == TOY_LOAD_SILENT) return WK_E_FORMAT;
    if (size != sizeof(state))
        return wk_fail(err, WK_E_FORMAT, "a toy's state has %zu bytes, not %zu", sizeof(state),
                       size);
    memcpy(&w->now, bytes, sizeof(state));
    return WK_OK;
}

toy toy_make(toy_fault fault)
{
    return (toy){.fault = fault,
                 .domain = {.abi = WK_ENV_ABI,
                            .size = sizeof(wk_domain),
                            .name = "toy",
                            .summary = "A point on a line.",
                            .n_params = 2,
                            .params = params,
                            .n_tasks = 2,
                            .tasks = tasks,
                            .n_cases = 1,
                            .cases = cases,
                            .n_options = 2,
                            .options = options,
                            .action_size = TOY_ACTIONS,
                            .action_repeat = 1,
                            .episode_steps = TOY_STEPS,
                            .ends_early = fault == TOY_TERMINAL || fault == TOY_TERMINAL_AT_RESET,
                            .step_seconds = 0.1,
                            .hardest = hardest,
                            .n_complex = 2,
                            .most_complex = most_complex,
                            .check = check,
                            .n_indicators = fault == TOY_BAD_CELL,
                            .indicators = cells,
                            .create = create,
                            .destroy = destroy,
                            .reset = reset,
                            .step = step,
                            .render = render,
                            .state_size = state_size,
                            .save = save,
                            .load = load}};
}
