#include "theory/family.h"

#include "base/random.h"
#include <assert.h>
#include <math.h>
#include <string.h>

// Random: every action leads to one state, and with probability `noise` anywhere, by a random
// distribution of its own.
static void make_random(int size, double noise, uint64_t seed, wk_mdp *out)
{
    wk_rng rng = wk_rng_stream(seed, "theory-random", (uint64_t)size);
    out->states = size;
    out->actions = 3;
    for (int pair = 0; pair < out->states * out->actions; pair++) {
        double *next = out->next + pair * out->states, sum = 0;
        int usual = (int)wk_rng_below(&rng, (uint64_t)size);
        for (int s = 0; s < size; s++)
            sum += next[s] = -log1p(-wk_rng_unit(&rng));
        for (int s = 0; s < size; s++)
            next[s] = noise * next[s] / sum + (s == usual ? 1 - noise : 0);
    }
}

// Grid worlds: square, the first state in a corner; the actions are the four directions, and the
// border stops.
enum { EAST, NORTH, WEST, SOUTH, DIRECTIONS };

static int clamp(int value, int max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

static int move(int size, int cell, int direction, int by)
{
    static const int dx[DIRECTIONS] = {1, 0, -1, 0}, dy[DIRECTIONS] = {0, 1, 0, -1};
    int x = clamp(cell % size + by * dx[direction], size - 1);
    int y = clamp(cell / size + by * dy[direction], size - 1);
    return y * size + x;
}

static void begin_grid(int size, wk_mdp *out)
{
    out->states = size * size;
    out->actions = DIRECTIONS;
    memset(out->next, 0, sizeof out->next);
}

// Slippery: half of the cells are ice, where a move goes to its left or right with probability
// `noise`.
static void make_slippery(int size, double noise, uint64_t seed, wk_mdp *out)
{
    wk_rng rng = wk_rng_stream(seed, "theory-slippery", (uint64_t)size);
    begin_grid(size, out);
    for (int s = 0; s < out->states; s++) {
        double slip = wk_rng_unit(&rng) < 0.5 ? noise : 0;
        for (int a = 0; a < DIRECTIONS; a++) {
            double *next = wk_mdp_next(out, s, a);
            next[move(size, s, a, 1)] += 1 - slip;
            next[move(size, s, (a + 1) % DIRECTIONS, 1)] += slip / 2;
            next[move(size, s, (a + 3) % DIRECTIONS, 1)] += slip / 2;
        }
    }
}

// Windy: columns have a wind of strength 0, 1 or 2, which with probability `noise` carries that far
// north after the move.
static void make_windy(int size, double noise, uint64_t seed, wk_mdp *out)
{
    wk_rng rng = wk_rng_stream(seed, "theory-windy", (uint64_t)size);
    int wind[WK_MDP_STATES_MAX];
    begin_grid(size, out);
    for (int x = 0; x < size; x++)
        wind[x] = (int)wk_rng_below(&rng, 3);
    for (int s = 0; s < out->states; s++)
        for (int a = 0; a < DIRECTIONS; a++) {
            double *next = wk_mdp_next(out, s, a);
            int to = move(size, s, a, 1);
            next[to] += 1 - noise;
            next[move(size, to, NORTH, wind[s % size])] += noise;
        }
}

// Chain: left always works; right fails with probability `noise` and then slides back by one.
static void make_chain(int size, double noise, uint64_t seed, wk_mdp *out)
{
    (void)seed;
    out->states = size;
    out->actions = 2;
    memset(out->next, 0, sizeof out->next);
    for (int s = 0; s < size; s++) {
        int left = clamp(s - 1, size - 1), right = clamp(s + 1, size - 1);
        wk_mdp_next(out, s, 0)[left] = 1;
        wk_mdp_next(out, s, 1)[right] += 1 - noise;
        wk_mdp_next(out, s, 1)[left] += noise;
    }
}

#define NOISE                                                                                      \
    {                                                                                              \
        .name = "noise", .help = "how often something else happens than was wanted", .min = 0,     \
        .max = 0.5, .step = 0.1, .legal_min = 0, .legal_max = 1, .continuous = true                \
    }

static const wk_param state_params[] = {{.name = "states",
                                         .help = "number of states",
                                         .min = 4,
                                         .max = 16,
                                         .step = 4,
                                         .legal_min = 1,
                                         .legal_max = WK_MDP_STATES_MAX},
                                        NOISE};
static const wk_param side_params[] = {{.name = "side",
                                        .help = "cells along each side",
                                        .min = 2,
                                        .max = 5,
                                        .step = 1,
                                        .legal_min = 1,
                                        .legal_max = 5},
                                       NOISE};
static const double most_states[] = {16, 0.5}, largest_side[] = {5, 0.5};

// What spaces and curricula read of a domain.
#define DOMAIN(name_, summary_, params_, hardest_)                                                 \
    {                                                                                              \
        .abi = WK_ENV_ABI, .size = sizeof(wk_domain), .name = (name_), .summary = (summary_),      \
        .n_params = WK_FAMILY_PARAMS, .params = (params_), .hardest = (hardest_), .n_complex = 1,  \
        .most_complex = (hardest_)                                                                 \
    }

const wk_family wk_families[WK_FAMILIES] = {
    {DOMAIN("random", "random transitions, with noise that leads anywhere", state_params,
            most_states),
     make_random},
    {DOMAIN("slippery", "grid worlds, half of the cells ice", side_params, largest_side),
     make_slippery},
    {DOMAIN("windy", "grid worlds with wind in some columns", side_params, largest_side),
     make_windy},
    {DOMAIN("chain", "chains in which the way forward may fail", state_params, most_states),
     make_chain},
};

wk_status wk_family_find(const char *name, const wk_family **out, wk_error *err)
{
    for (size_t i = 0; i < WK_FAMILIES; i++) {
        if (strcmp(wk_families[i].domain.name, name) != 0) continue;
        *out = &wk_families[i];
        return WK_OK;
    }
    return wk_fail(err, WK_E_NOT_FOUND, "no family '%s' (random, slippery, windy, chain)", name);
}

void wk_family_make(const wk_family *family, const double *theta, double gamma, uint64_t seed,
                    wk_mdp *out)
{
    family->make((int)theta[WK_FAMILY_SIZE], theta[WK_FAMILY_NOISE], seed, out);
    assert(out->states <= WK_MDP_STATES_MAX && out->actions <= WK_MDP_ACTIONS_MAX);
    out->gamma = gamma;
    memset(out->start, 0, sizeof out->start);
    out->start[0] = 1;
}
