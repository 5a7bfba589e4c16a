#include "theory/curricula.h"

#include "theory/bound.h"
#include "theory/sampling.h"
#include "waker/curriculum.h"
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
} run;

typedef struct curricula_job {
    wk_curricula *comparison;
    wk_error *errors; // [curricula,seeds]
    uint64_t *visits; // [curricula,seeds,θ]
} curricula_job;

static void free_run(run *r)
{
    for (size_t i = 0; r->thetas && i < r->count; i++) {
        wk_tabular_model_free(&r->thetas[i].table);
        wk_tabular_model_free(&r->thetas[i].shared);
        free(r->thetas[i].choice);
        free(r->thetas[i].reward);
        free(r->thetas[i].best);
    }
    free(r->thetas);
}

static void draw_rewards(const run *r, theta_state *x, size_t index)
{
    int choice[WK_MDP_STATES_MAX] = {0};
    double value[WK_MDP_STATES_MAX];
    size_t pairs = (size_t)(x->real.states * x->real.actions);
    wk_rng rng = wk_rng_stream(r->seed, "theory-rewards", index);
    for (int k = 0; k < r->config->rewards; k++) {
        double *reward = x->reward + (size_t)k * pairs;
        wk_mdp_draw_reward(&x->real, (uint64_t)k, &rng, reward);
        wk_mdp_solve(&x->real, reward, choice, value);
        x->best[k] = wk_mdp_at_start(&x->real, value);
    }
}

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

// The first θ of the same size.
static size_t first_of_size(const run *r, size_t index)
{
    double size = wk_space_params(r->space, index)[WK_FAMILY_SIZE];
    size_t first = 0;
    while (wk_space_params(r->space, first)[WK_FAMILY_SIZE] != size)
        first++;
    return first;
}

static wk_status make_model(const run *r, size_t index, theta_state *x, wk_error *err)
{
    int members = r->config->members;
    size_t first = first_of_size(r, index);
    wk_tabular_model *parent = r->config->shared ? &r->thetas[first].shared : NULL;
    if (parent && first == index)
        WK_TRY(wk_tabular_model_create(&x->real, members, r->seed, index, NULL, parent, err));
    return wk_tabular_model_create(&x->real, members, r->seed, index, parent, &x->table, err);
}

static wk_status make_theta_state(const run *r, size_t index, theta_state *x, wk_error *err)
{
    const wk_curricula_config *c = r->config;
    wk_family_make(c->family, wk_space_params(r->space, index), c->gamma, r->seed, &x->real);
    x->model = x->real;
    WK_TRY(make_model(r, index, x, err));
    wk_tabular_model_predict(&x->table, &x->model);
    size_t rewards = (size_t)c->rewards, states = (size_t)x->real.states;
    x->choice = calloc(rewards * states, sizeof *x->choice);
    x->reward = calloc(rewards * states * (size_t)x->real.actions, sizeof *x->reward);
    x->best = calloc(rewards, sizeof *x->best);
    if (!x->choice || !x->reward || !x->best)
        return wk_fail(err, WK_E_MEMORY, "no memory for the rewards of a finite MDP");
    draw_rewards(r, x, index);
    return WK_OK;
}

static wk_status make_run(run *r, wk_error *err)
{
    r->count = wk_space_count(r->space);
    r->thetas = calloc(r->count, sizeof *r->thetas);
    if (!r->thetas) return wk_fail(err, WK_E_MEMORY, "no memory for %zu finite MDPs", r->count);
    for (size_t i = 0; i < r->count; i++)
        WK_TRY(make_theta_state(r, i, &r->thetas[i], err));
    return WK_OK;
}

static double true_error(const theta_state *x)
{
    wk_mdp_pair pair;
    wk_mdp_pair_compare(&x->real, &x->model, &pair);
    return pair.error;
}

// Models a θ anew and reports what the curriculum gets to know of the error there.
static void update_site(run *r, size_t index, wk_curriculum *curriculum)
{
    theta_state *x = &r->thetas[index];
    wk_tabular_model_predict(&x->table, &x->model);
    float delta = (float)estimate_error(r, x);
    if (compared[r->curriculum].true_error) delta = (float)true_error(x);
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

static wk_status run_curriculum(run *r, wk_curriculum *curriculum, const int *points,
                                wk_curricula_point *out, wk_error *err)
{
    uint64_t steps = (uint64_t)r->config->steps, prefill = scaled(prefill_steps, r->config);
    for (size_t i = 0; i < r->count; i++)
        update_site(r, i, curriculum);
    for (int e = 0, point = 0; e < r->config->episodes; e++) {
        double theta[WK_PARAMS_MAX];
        size_t index;
        bool is_prefill = (uint64_t)e * steps < prefill;
        WK_TRY(wk_curriculum_next(curriculum, (uint64_t)e, is_prefill, theta, &index, err));
        collect(r, index, e, curriculum);
        wk_curriculum_advance(curriculum, (uint64_t)(e + 1) * steps);
        while (point < WK_CURRICULA_POINTS && points[point] == e + 1)
            out[point++] = measure(r);
    }
    return WK_OK;
}

static wk_status run_one(curricula_job *job, run *r, size_t piece, wk_error *err)
{
    wk_curricula *c = job->comparison;
    wk_curriculum *curriculum = NULL;
    WK_TRY(make_run(r, err));
    WK_TRY(make_curriculum(r, &curriculum, err));
    wk_status status =
        run_curriculum(r, curriculum, c->episodes, c->points + piece * WK_CURRICULA_POINTS, err);
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
             .curriculum = (int)(piece / seeds),
             .seed = wk_rng_key(c->config.seed + piece % seeds, c->config.family->domain.name)};
    run_one(job, &r, piece, &job->errors[piece]);
    free_run(&r);
    if (c->config.progress) c->config.progress(c->config.context, WK_COMPARED * seeds, thread);
}

// Where the curves have points: the last episode, and backwards by factors of √2.
static void place_points(wk_curricula *c)
{
    for (int i = 0; i < WK_CURRICULA_POINTS; i++) {
        double back = (WK_CURRICULA_POINTS - 1 - i) / 2.0;
        c->episodes[i] = (int)fmax(1, round(c->config.episodes * exp2(-back)));
    }
}

static wk_status run_all(curricula_job *job, wk_pool *pool, wk_error *err)
{
    wk_curricula *c = job->comparison;
    size_t pieces = (size_t)(WK_COMPARED * c->config.seeds), count = wk_space_count(c->space);
    c->points = calloc(pieces * WK_CURRICULA_POINTS, sizeof *c->points);
    c->visits = calloc(WK_COMPARED * count, sizeof *c->visits);
    job->errors = calloc(pieces, sizeof *job->errors);
    job->visits = calloc(pieces * count, sizeof *job->visits);
    if (!c->points || !c->visits || !job->errors || !job->visits)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu runs on finite MDPs", pieces);
    wk_pool_run(pool, pieces, run_piece, job);
    for (size_t i = 0; i < pieces; i++) {
        if (job->errors[i].status != WK_OK)
            return wk_fail(err, job->errors[i].status, "%s", job->errors[i].message);
        uint64_t *sum = c->visits + i / (size_t)c->config.seeds * count;
        for (size_t k = 0; k < count; k++)
            sum[k] += job->visits[i * count + k];
    }
    return WK_OK;
}

wk_status wk_curricula_run(const wk_curricula_config *config, wk_pool *pool, wk_curricula *out,
                           wk_error *err)
{
    *out = (wk_curricula){.config = *config};
    WK_TRY(wk_space_create(&config->family->domain, false, &out->space, err));
    place_points(out);
    curricula_job job = {.comparison = out};
    wk_status status = run_all(&job, pool, err);
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
