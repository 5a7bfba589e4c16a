#include "curriculum/benchmark.h"

#include "base/rng.h"
#include "waker/stats.h"
#include <math.h>
#include <stdlib.h>

enum {
    SIDE = 9,
    COUNT = SIDE * SIDE,
    STEPS = 100,     // of an episode
    PREFILL = 50,    // episodes
    BATCH = 16,      // error estimates after each episode, of episodes in the replay
    LOOK_EVERY = 20, // episodes between WAKER-R's measurements
};
static const double ESTIMATE_NOISE = 0.3, ERROR_NOISE = 0.15; // of the logarithms

// x is the difficulty, y tells kinds of environments apart.
static const wk_param params[] = {
    {.name = "x", .max = 1, .step = 1.0 / (SIDE - 1), .legal_max = 1, .continuous = true},
    {.name = "y", .max = 1, .step = 1.0 / (SIDE - 1), .legal_max = 1, .continuous = true}};
static const wk_task task = {.name = "task", .has_completion = true};
static const double hardest[] = {1, 1}, complex_ones[] = {1, 1, 1, 0.875, 0.875, 1, 0.875, 0.875};
static const wk_domain domain = {.name = "benchmark",
                                 .n_params = 2,
                                 .params = params,
                                 .n_tasks = 1,
                                 .tasks = &task,
                                 .hardest = hardest,
                                 .n_complex = 4,
                                 .most_complex = complex_ones};

// How a θ is learned: error(n) = 1/(1 + n/needed) + floor, n: episodes there and, by distance,
// nearby.
typedef struct curve {
    double needed; // episodes that halve it
    double floor;  // error that no data removes
    double shown;  // share of the floor that the ensemble's estimate has too
} curve;

typedef struct scenario {
    const char *name, *summary;
    curve (*at)(double x, double y);
    double reach;      // how far an episode helps, in units of the grid's side
    double downwards;  // what an episode is worth to harder θ, as a share
    double forgetting; // of what was learned, after each episode
} scenario;

static curve graded(double x, double y)
{
    (void)y;
    return (curve){.needed = 0.5 + 40 * x * x};
}

static curve rare(double x, double y)
{
    return (curve){.needed = x > 0.8 && y > 0.7 ? 60 : 2};
}

static curve noisy(double x, double y)
{
    return (curve){.needed = 1 + 20 * x, .floor = y > 0.7 ? 1 : 0};
}

static curve unlearnable(double x, double y)
{
    return (curve){.needed = 1 + 20 * x, .floor = y > 0.7 ? 1 : 0, .shown = 1};
}

static const scenario scenarios[] = {
    {"graded", "harder environments need more episodes", graded, 0.1, 1, 0},
    {"rare", "six environments of 81 are hard, the rest easy", rare, 0.1, 1, 0},
    {"noise", "images of some are partly random: a true error that no data removes", noisy, 0.1, 1,
     0},
    {"unlearnable", "the same, and the ensemble never agrees there", unlearnable, 0.1, 1, 0},
    {"transfer", "hard environments teach the easy ones, not the reverse", graded, 0.3, 0.1, 0},
    {"forgetting", "what is not visited is forgotten", graded, 0.1, 1, 0.003},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

size_t wk_rule_benchmark_scenario_count(void)
{
    return SCENARIOS;
}

const char *wk_rule_benchmark_scenario_name(size_t i)
{
    return scenarios[i].name;
}

const char *wk_rule_benchmark_scenario_summary(size_t i)
{
    return scenarios[i].summary;
}

// One run of a rule.
typedef struct run {
    const scenario *scenario;
    const wk_space *space;
    wk_curriculum *curriculum;
    uint64_t seed;
    curve curves[COUNT];
    double learned[COUNT]; // n
    size_t *replay, held;  // θ of the episodes that are learned from
} run;

// The standard normal's number k of an episode.
static double normal(wk_rng *rng)
{
    double radius = sqrt(-2 * log(1 - wk_rng_unit(rng)));
    return radius * cos(2 * M_PI * wk_rng_unit(rng));
}

static double learnable(const run *r, size_t i)
{
    return 1 / (1 + r->learned[i] / r->curves[i].needed);
}

// An episode at θ number `at` teaches its neighbours.
static void learn(run *r, size_t at)
{
    const double *from = wk_space_params(r->space, at);
    for (size_t i = 0; i < COUNT; i++) {
        const double *to = wk_space_params(r->space, i);
        double dx = (to[0] - from[0]) / r->scenario->reach;
        double dy = (to[1] - from[1]) / r->scenario->reach;
        double worth = exp(-(dx * dx + dy * dy) / 2);
        if (to[0] > from[0]) worth *= r->scenario->downwards;
        r->learned[i] = r->learned[i] * (1 - r->scenario->forgetting) + worth;
    }
    r->replay[r->held++] = at;
}

static void report_estimates(run *r, wk_rng *rng)
{
    size_t index[BATCH];
    float delta[BATCH];
    for (int k = 0; k < BATCH; k++) {
        size_t i = r->replay[wk_rng_below(rng, r->held)];
        double shown = learnable(r, i) + r->curves[i].shown * r->curves[i].floor;
        index[k] = i;
        delta[k] = (float)(shown * exp(ESTIMATE_NOISE * normal(rng)));
    }
    wk_curriculum_report_at(r->curriculum, NULL, index, delta, BATCH);
}

// Success grows with what was learned; where nothing can be, it stays at 0.
static void report_episode(run *r, size_t index, const double *theta, bool prefill, wk_rng *rng)
{
    const curve *c = &r->curves[index];
    double error = (learnable(r, index) + c->floor) * exp(ERROR_NOISE * normal(rng));
    bool hopeless = c->shown * c->floor > 0;
    float completion = hopeless ? 0 : (float)(1 - learnable(r, index)), gained = completion * STEPS;
    wk_curriculum_episode episode = {.index = index,
                                     .theta = theta,
                                     .steps = STEPS,
                                     .returns = &gained,
                                     .completion = &completion,
                                     .model_error = prefill ? NAN : error};
    wk_curriculum_end_episode(r->curriculum, &episode);
}

static wk_status measure(const run *r, double *out, wk_error *err)
{
    double errors[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        errors[i] = learnable(r, i);
    return wk_stats_cvar(errors, COUNT, 0.1, WK_WORST_HIGH, out, err);
}

static wk_status play(run *r, int episodes, double *curve_out, wk_error *err)
{
    for (int e = 0, point = 0; e < episodes; e++) {
        wk_rng rng = wk_rng_stream(r->seed, "curriculum benchmark", (uint64_t)e);
        double theta[WK_PARAMS_MAX];
        size_t index;
        bool prefill = e < PREFILL;
        WK_TRY(wk_curriculum_next(r->curriculum, (uint64_t)e, prefill, theta, &index, err));
        if (wk_curriculum_learns(r->curriculum)) learn(r, index);
        if (r->held > 0 && !prefill) report_estimates(r, &rng);
        report_episode(r, index, theta, prefill, &rng);
        wk_curriculum_advance(r->curriculum, (uint64_t)(e + 1) * STEPS);
        for (; (point + 1) * episodes / WK_BENCHMARK_POINTS == e + 1; point++)
            WK_TRY(measure(r, &curve_out[point], err));
    }
    return WK_OK;
}

static wk_status run_rule(const wk_curriculum_rule *rule, const scenario *s, uint64_t seed,
                          int episodes, double *curve_out, wk_error *err)
{
    wk_space *space = NULL;
    run r = {.scenario = s, .seed = seed};
    wk_curriculum_config config = wk_curriculum_config_default();
    config.seed = seed;
    config.error_decay = 0.9; // an estimate here stands for the thousands of an episode
    config.reduction_start = PREFILL * STEPS;
    config.reduction_every = LOOK_EVERY * STEPS;
    wk_status status = wk_space_create(&domain, false, &space, err);
    if (status == WK_OK)
        status = wk_curriculum_create(rule, &domain, space, &config, &r.curriculum, err);
    r.replay = malloc((size_t)episodes * sizeof *r.replay);
    if (status == WK_OK && !r.replay) status = wk_fail(err, WK_E_MEMORY, "no memory for a run");
    r.space = space;
    for (size_t i = 0; status == WK_OK && i < COUNT; i++) {
        const double *theta = wk_space_params(space, i);
        r.curves[i] = s->at(theta[0], theta[1]);
    }
    if (status == WK_OK) status = play(&r, episodes, curve_out, err);
    wk_curriculum_destroy(r.curriculum);
    wk_space_destroy(space);
    free(r.replay);
    return status;
}

typedef struct job {
    wk_rule_benchmark *benchmark;
    wk_error *errors; // of each piece
} job;

// A piece is one seed of one rule in one scenario, in the order of the curves.
static void run_piece(void *context, size_t piece, int thread)
{
    (void)thread;
    const job *j = context;
    const wk_rule_benchmark_config *c = &j->benchmark->config;
    size_t seeds = (size_t)c->seeds, seed = piece % seeds, rule = piece / seeds % c->count;
    const scenario *s = &scenarios[piece / seeds / c->count];
    run_rule(c->rules[rule], s, c->seed + seed, c->episodes,
             j->benchmark->curves + piece * WK_BENCHMARK_POINTS, &j->errors[piece]);
}

wk_status wk_rule_benchmark_run(const wk_rule_benchmark_config *config, wk_pool *pool,
                                wk_rule_benchmark *out, wk_error *err)
{
    size_t pieces = SCENARIOS * config->count * (size_t)config->seeds;
    *out = (wk_rule_benchmark){.config = *config};
    job j = {.benchmark = out, .errors = calloc(pieces, sizeof *j.errors)};
    out->curves = calloc(pieces * WK_BENCHMARK_POINTS, sizeof *out->curves);
    wk_status status = WK_OK;
    if (!out->curves || !j.errors)
        status = wk_fail(err, WK_E_MEMORY, "no memory for %zu runs of rules", pieces);
    else
        wk_pool_run(pool, pieces, run_piece, &j);
    for (size_t i = 0; i < pieces && status == WK_OK; i++)
        if (j.errors[i].status != WK_OK)
            status = wk_fail(err, j.errors[i].status, "%s", j.errors[i].message);
    free(j.errors);
    if (status != WK_OK) wk_rule_benchmark_free(out);
    return status;
}

void wk_rule_benchmark_free(wk_rule_benchmark *b)
{
    free(b->curves);
    *b = (wk_rule_benchmark){0};
}

const double *wk_rule_benchmark_curve(const wk_rule_benchmark *b, size_t k, size_t rule, int seed)
{
    size_t seeds = (size_t)b->config.seeds;
    return b->curves + ((k * b->config.count + rule) * seeds + (size_t)seed) * WK_BENCHMARK_POINTS;
}

int wk_rule_benchmark_episodes(const wk_rule_benchmark *b, int point)
{
    return (point + 1) * b->config.episodes / WK_BENCHMARK_POINTS;
}

double wk_rule_benchmark_ratio(const wk_rule_benchmark *b, size_t k, size_t rule, int seed)
{
    return wk_stats_mean(wk_rule_benchmark_curve(b, k, rule, seed), WK_BENCHMARK_POINTS) /
           wk_stats_mean(wk_rule_benchmark_curve(b, k, 0, seed), WK_BENCHMARK_POINTS);
}
