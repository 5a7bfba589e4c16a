#include "theory/curricula.h"

#include "theory/bound.h"
#include "waker/curriculum.h"
#include "waker/stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The θ with the largest error, of those known; ties share.
static bool largest_error(const wk_curriculum_view *view, const wk_curriculum_config *config,
                          double *probability)
{
    (void)config;
    double max = -INFINITY;
    size_t ties = 0;
    for (size_t i = 0; i < view->count; i++) {
        if (isnan(view->error[i]) || view->error[i] < max) continue;
        ties = view->error[i] > max ? 1 : ties + 1;
        max = view->error[i];
    }
    for (size_t i = 0; i < view->count; i++)
        probability[i] = view->error[i] == max ? 1.0 / (double)ties : 0;
    return ties > 0;
}

static const wk_curriculum_rule oracle_rule = {.abi = WK_CURRICULUM_ABI,
                                               .name = "oracle",
                                               .summary = "where the true error is largest",
                                               .distribution = largest_error,
                                               .always = true};

static const struct {
    const char *name, *rule; // rule NULL: the oracle's
    bool true_error;         // it is given the true error, else the ensemble's estimate,
    bool everywhere;         // of all θ, else of those visited
} compared[WK_COMPARED] = {
    [WK_COMPARE_DR] = {"dr", "dr", false, false},
    [WK_COMPARE_WAKER_M] = {"waker-m", "waker-m", false, false},
    [WK_COMPARE_WAKER_R] = {"waker-r", "waker-r", false, false},
    [WK_COMPARE_WAKER_M_TRUE] = {"waker-m-true", "waker-m", true, false},
    [WK_COMPARE_WAKER_M_KNOWN] = {"waker-m-known", "waker-m", true, true},
    [WK_COMPARE_ORACLE] = {"oracle", NULL, true, true},
};

const char *wk_compared_name(int curriculum)
{
    return compared[curriculum].name;
}

// A θ in a run: the world, the model of it, how it is explored, and how wrong it is.
typedef struct theta_state {
    wk_mdp real, model;
    wk_tabular_model table;
    wk_tabular_model shared; // the parent of all models of this size, at the first of them
    int explore[WK_MDP_STATES_MAX];
    int *choice;    // [rewards,states], the model's policies at the last point
    double *reward; // [rewards,states,actions]
    double *best;   // [rewards], V(π*, M)
} theta_state;

typedef struct run {
    const wk_curricula_config *config;
    const wk_space *space;
    int curriculum;
    uint64_t seed;
    size_t count;
    theta_state *thetas; // [count]
    wk_arena arena;      // of all that is here
} run;

typedef struct curricula_job {
    wk_curricula *comparison;
    wk_error *errors; // [curricula,seeds]
    uint64_t *visits; // [curricula,seeds,θ]
} curricula_job;

// The ensemble's estimate of the error under the exploration policy in the model, as an imagined
// trajectory would have it but exact; and that policy, made anew.
static double estimate_error(const run *r, theta_state *x)
{
    double disagreement[WK_MDP_PAIRS_MAX], value[WK_MDP_STATES_MAX], uniform[WK_MDP_PAIRS_MAX];
    wk_tabular_model_disagreement(&x->table, disagreement);
    if (r->config->random) {
        for (int i = 0; i < x->real.states * x->real.actions; i++)
            uniform[i] = 1.0 / x->real.actions;
        wk_mdp_evaluate(&x->model, uniform, disagreement, value);
    } else {
        wk_mdp_solve(&x->model, disagreement, x->explore, value);
    }
    return (1 - x->model.gamma) * wk_mdp_at_start(&x->model, value);
}

// The world of a θ, the model of it and the rewards. With shared models the first θ of each size
// keeps the parent.
static wk_status make_theta(run *r, size_t index, theta_state *x, wk_error *err)
{
    const wk_curricula_config *c = r->config;
    const double *theta = wk_space_params(r->space, index);
    wk_family_make(c->family, theta, c->gamma, r->seed, &x->real);
    x->model = x->real;
    wk_tabular_model *parent = NULL;
    if (c->shared) {
        size_t first = 0;
        while (wk_space_params(r->space, first)[WK_FAMILY_SIZE] != theta[WK_FAMILY_SIZE])
            first++;
        parent = &r->thetas[first].shared;
        if (first == index)
            WK_TRY(wk_tabular_model_create(&x->real, c->members, r->seed, index, NULL, &r->arena,
                                           parent, err));
    }
    WK_TRY(wk_tabular_model_create(&x->real, c->members, r->seed, index, parent, &r->arena,
                                   &x->table, err));
    wk_tabular_model_predict(&x->table, &x->model);
    size_t rewards = (size_t)c->rewards, states = (size_t)x->real.states;
    size_t pairs = states * (size_t)x->real.actions;
    x->choice = wk_arena_alloc(&r->arena, rewards * states * sizeof *x->choice);
    x->reward = wk_arena_alloc(&r->arena, rewards * pairs * sizeof *x->reward);
    x->best = wk_arena_alloc(&r->arena, rewards * sizeof *x->best);
    if (r->arena.failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the rewards of a finite MDP");
    int choice[WK_MDP_STATES_MAX] = {0};
    double value[WK_MDP_STATES_MAX];
    wk_rng rng = wk_rng_stream(r->seed, "theory-rewards", index);
    for (int k = 0; k < c->rewards; k++) {
        double *reward = x->reward + (size_t)k * pairs;
        wk_mdp_draw_reward(&x->real, (uint64_t)k, &rng, reward);
        wk_mdp_solve(&x->real, reward, choice, value);
        x->best[k] = wk_mdp_at_start(&x->real, value);
    }
    return WK_OK;
}

// Models a θ anew and reports what the curriculum gets to know of the error there.
static void update_site(run *r, size_t index, wk_curriculum *curriculum)
{
    theta_state *x = &r->thetas[index];
    wk_tabular_model_predict(&x->table, &x->model);
    float delta = (float)estimate_error(r, x);
    if (compared[r->curriculum].true_error) {
        wk_mdp_pair pair;
        wk_mdp_pair_compare(&x->real, &x->model, &pair);
        delta = (float)pair.error;
    }
    bool visited = wk_curriculum_get_view(curriculum).visits[index] > 0;
    if (visited || compared[r->curriculum].everywhere)
        wk_curriculum_report_at(curriculum, NULL, &index, &delta, 1);
}

// Plays an episode in a θ, and updates all θ whose models it changes.
static void collect(run *r, size_t index, int episode, wk_curriculum *curriculum)
{
    theta_state *x = &r->thetas[index];
    wk_rng rng = wk_rng_stream(r->seed, "theory-episode", (uint64_t)episode);
    wk_mdp_sample_episode(&x->real, r->config->random ? NULL : x->explore, r->config->steps, &rng,
                          &x->table);
    for (size_t i = 0; i < r->count; i++)
        if (i == index || (x->table.parent && r->thetas[i].table.parent == x->table.parent))
            update_site(r, i, curriculum);
}

static wk_curricula_point measure(const run *r)
{
    wk_curricula_point p = {0};
    int rewards = r->config->rewards;
    for (size_t i = 0; i < r->count; i++) {
        theta_state *x = &r->thetas[i];
        double value[WK_MDP_STATES_MAX];
        wk_mdp_pair pair;
        wk_mdp_pair_compare(&x->real, &x->model, &pair);
        p.max_bound = fmax(p.max_bound, wk_mdp_pair_reward_free_bound(&pair));
        for (int k = 0; k < rewards; k++) {
            const double *reward = x->reward + k * x->real.states * x->real.actions;
            int *choice = x->choice + k * x->real.states;
            wk_mdp_solve(&x->model, reward, choice, value);
            wk_mdp_evaluate_choice(&x->real, choice, reward, value);
            double regret = fmax(0, x->best[k] - wk_mdp_at_start(&x->real, value));
            p.max_regret = fmax(p.max_regret, regret);
            p.mean_regret += regret / ((double)r->count * rewards);
        }
    }
    return p;
}

// The paper's terrain runs: 3.7e6 steps, of which 1e5 prefill; reductions every 1e4 from 5e4 on.
static const double run_steps = 3.7e6, prefill_steps = 1e5, look_start = 5e4, look_every = 1e4;

static uint64_t scaled(double steps, const wk_curricula_config *c)
{
    double whole = (double)c->episodes * c->steps;
    return (uint64_t)fmax(1, round(steps / run_steps * whole));
}

static wk_status make_curriculum(const run *r, wk_curriculum **out, wk_error *err)
{
    const wk_curriculum_rule *rule = &oracle_rule;
    const char *name = compared[r->curriculum].rule;
    if (name) WK_TRY(wk_curriculum_rule_find(name, &rule, err));
    wk_curriculum_config config = wk_curriculum_config_default();
    config.error_decay = 0; // estimates are expectations: there is no noise to average out
    config.reduction_start = scaled(look_start, r->config);
    config.reduction_every = scaled(look_every, r->config);
    config.seed = r->seed;
    return wk_curriculum_create(rule, &r->config->family->domain, r->space, &config, out, err);
}

static wk_status run_one(curricula_job *job, run *r, size_t piece, wk_error *err)
{
    const wk_curricula *c = job->comparison;
    const wk_curricula_config *config = r->config;
    wk_curricula_point *out = c->points + piece * WK_CURRICULA_POINTS;
    wk_curriculum *curriculum = NULL;
    r->thetas = wk_arena_alloc(&r->arena, r->count * sizeof *r->thetas);
    if (!r->thetas) return wk_fail(err, WK_E_MEMORY, "no memory for %zu finite MDPs", r->count);
    for (size_t i = 0; i < r->count; i++)
        WK_TRY(make_theta(r, i, &r->thetas[i], err));
    WK_TRY(make_curriculum(r, &curriculum, err));
    for (size_t i = 0; i < r->count; i++)
        update_site(r, i, curriculum);

    uint64_t steps = (uint64_t)config->steps, prefill = scaled(prefill_steps, config);
    wk_status status = WK_OK;
    for (int e = 0, point = 0; status == WK_OK && e < config->episodes; e++) {
        double theta[WK_PARAMS_MAX];
        size_t index;
        status = wk_curriculum_next(curriculum, (uint64_t)e, (uint64_t)e * steps < prefill, theta,
                                    &index, err);
        if (status == WK_OK) collect(r, index, e, curriculum);
        wk_curriculum_advance(curriculum, (uint64_t)(e + 1) * steps);
        while (point < WK_CURRICULA_POINTS && c->episodes[point] == e + 1)
            out[point++] = measure(r);
    }
    memcpy(job->visits + piece * r->count, wk_curriculum_get_view(curriculum).visits,
           r->count * sizeof *job->visits);
    wk_curriculum_destroy(curriculum);
    return status;
}

static void run_piece(void *context, size_t piece, int thread)
{
    curricula_job *job = context;
    const wk_curricula *c = job->comparison;
    size_t seeds = (size_t)c->config.seeds;
    run r = {.config = &c->config,
             .space = c->space,
             .count = wk_space_count(c->space),
             .curriculum = (int)(piece / seeds),
             .seed = wk_rng_key(c->config.seed + piece % seeds, c->config.family->domain.name)};
    run_one(job, &r, piece, &job->errors[piece]);
    wk_arena_reset(&r.arena);
    if (c->config.progress) c->config.progress(c->config.context, WK_COMPARED * seeds, thread);
}

wk_status wk_curricula_run(const wk_curricula_config *config, wk_pool *pool, wk_curricula *out,
                           wk_error *err)
{
    *out = (wk_curricula){.config = *config};
    WK_TRY(wk_space_create(&config->family->domain, false, &out->space, err));
    // Where the curves have points: the last episode, and backwards by factors of √2.
    for (int i = 0; i < WK_CURRICULA_POINTS; i++)
        out->episodes[i] =
            (int)fmax(1, round(config->episodes * exp2(-(WK_CURRICULA_POINTS - 1 - i) / 2.0)));
    size_t seeds = (size_t)config->seeds, pieces = WK_COMPARED * seeds;
    size_t count = wk_space_count(out->space);
    curricula_job job = {out, calloc(pieces, sizeof *job.errors),
                         calloc(pieces * count, sizeof *job.visits)};
    out->points = calloc(pieces * WK_CURRICULA_POINTS, sizeof *out->points);
    out->visits = calloc(WK_COMPARED * count, sizeof *out->visits);
    wk_status status = WK_OK;
    if (out->points && out->visits && job.errors && job.visits)
        wk_pool_run(pool, pieces, run_piece, &job);
    else
        status = wk_fail(err, WK_E_MEMORY, "no memory for %zu runs on finite MDPs", pieces);
    for (size_t i = 0; i < pieces && status == WK_OK; i++) {
        if (job.errors[i].status != WK_OK)
            status = wk_fail(err, job.errors[i].status, "%s", job.errors[i].message);
        for (size_t k = 0; k < count; k++)
            out->visits[i / seeds * count + k] += job.visits[i * count + k];
    }
    free(job.errors);
    free(job.visits);
    if (status != WK_OK) wk_curricula_free(out);
    return status;
}

void wk_curricula_free(wk_curricula *c)
{
    wk_space_destroy(c->space);
    free(c->points);
    free(c->visits);
    *c = (wk_curricula){0};
}

// What a comparison says: curves over seeds, and how much of the oracle's gain each curriculum has.

enum { RESAMPLES = 2000 };

const char *const wk_curricula_measures[WK_MEASURES] = {"max_regret", "mean_regret", "max_bound"};

const wk_curricula_point *wk_curricula_at(const wk_curricula *c, int curriculum, int seed,
                                          int point)
{
    return c->points + (curriculum * c->config.seeds + seed) * WK_CURRICULA_POINTS + point;
}

static double value_at(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                       int seed, int point)
{
    const wk_curricula_point *p = wk_curricula_at(c, curriculum, seed, point);
    const double values[WK_MEASURES] = {p->max_regret, p->mean_regret, p->max_bound};
    return values[measure];
}

void wk_curricula_curve(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                        int point, double *mean, double *sd)
{
    double sum = 0, squares = 0, seeds = c->config.seeds;
    for (int s = 0; s < c->config.seeds; s++)
        sum += value_at(c, curriculum, measure, s, point);
    *mean = sum / seeds;
    for (int s = 0; s < c->config.seeds; s++)
        squares += pow(value_at(c, curriculum, measure, s, point) - *mean, 2);
    *sd = sqrt(squares / seeds);
}

// Mean over the points of a seed's run: since they lie evenly on a logarithmic axis, every doubling
// of the data counts the same.
static double mean_of_run(const wk_curricula *c, int curriculum, wk_curricula_measure measure,
                          int seed)
{
    double sum = 0;
    for (int i = 0; i < WK_CURRICULA_POINTS; i++)
        sum += value_at(c, curriculum, measure, seed, i);
    return sum / WK_CURRICULA_POINTS;
}

// (DR - this) / (DR - oracle) over the chosen seeds; the same ones for all three. NaN where the
// oracle is not better.
static double share_of_gain(const double *runs, const int *chosen, int seeds, int curriculum)
{
    double own = 0, oracle = 0;
    for (int i = 0; i < seeds; i++) {
        double dr = runs[WK_COMPARE_DR * seeds + chosen[i]];
        own += dr - runs[curriculum * seeds + chosen[i]];
        oracle += dr - runs[WK_COMPARE_ORACLE * seeds + chosen[i]];
    }
    return oracle > 0 ? own / oracle : NAN;
}

wk_status wk_curricula_summarise(const wk_curricula *c, wk_curricula_measure measure,
                                 wk_curricula_summary out[WK_COMPARED], wk_error *err)
{
    int seeds = c->config.seeds;
    size_t n = (size_t)seeds;
    wk_arena arena = {0};
    double *runs = wk_arena_alloc(&arena, WK_COMPARED * n * sizeof *runs);
    double *shares = wk_arena_alloc(&arena, RESAMPLES * sizeof *shares);
    int *chosen = wk_arena_alloc(&arena, n * sizeof *chosen);
    if (arena.failed) {
        wk_arena_reset(&arena);
        return wk_fail(err, WK_E_MEMORY, "no memory to compare curricula");
    }
    wk_status status = WK_OK;
    for (int k = 0; k < WK_COMPARED && status == WK_OK; k++)
        for (int s = 0; s < seeds; s++)
            runs[k * seeds + s] = mean_of_run(c, k, measure, s);
    for (int k = 0; k < WK_COMPARED && status == WK_OK; k++) {
        double sd;
        size_t gains = 0;
        wk_curricula_curve(c, k, measure, WK_CURRICULA_POINTS - 1, &out[k].end, &sd);
        out[k].run = wk_stats_mean(runs + k * seeds, n);
        for (uint64_t r = 0; r < RESAMPLES; r++) {
            wk_rng rng = wk_rng_stream(c->config.seed, "theory-bootstrap", r);
            for (int i = 0; i < seeds; i++)
                chosen[i] = (int)wk_rng_below(&rng, n);
            double share = share_of_gain(runs, chosen, seeds, k);
            if (!isnan(share)) shares[gains++] = share;
        }
        out[k].share = out[k].share_low = out[k].share_high = NAN;
        if ((double)gains < 0.975 * RESAMPLES) continue;
        for (int i = 0; i < seeds; i++)
            chosen[i] = i;
        out[k].share = share_of_gain(runs, chosen, seeds, k);
        status = wk_stats_percentile(shares, gains, 2.5, &out[k].share_low, err);
        if (status == WK_OK)
            status = wk_stats_percentile(shares, gains, 97.5, &out[k].share_high, err);
    }
    wk_arena_reset(&arena);
    return status;
}
