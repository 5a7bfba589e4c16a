#include "theory/check.h"

#include "theory/bound.h"
#include "theory/sampling.h"
#include <math.h>
#include <stdlib.h>

enum { REWARDS = 6, EPISODE_STEPS = 20 };

// Rounding of the values, as a share of the bounds' factors.
static const double tolerance = 1e-10;

typedef struct check_job {
    const wk_theory_check_config *config;
    const wk_space *space;
    wk_theory_check *check;
    wk_error *errors; // [trials]
} check_job;

// One θ of a trial: its MDP, what a model has learned of it, and the two together.
typedef struct instance {
    wk_mdp real, model;
    wk_mdp_pair pair;
} instance;

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

static void raise(double *max, double value)
{
    *max = fmax(*max, value);
}

static wk_status learn(instance *x, int episodes, wk_rng *rng, wk_error *err)
{
    wk_tabular_model table;
    WK_TRY(wk_tabular_model_create(&x->real, 0, 0, 0, NULL, &table, err));
    for (int e = 0; e < episodes; e++)
        wk_mdp_sample_episode(&x->real, NULL, EPISODE_STEPS, rng, &table);
    x->model = x->real;
    wk_tabular_model_predict(&table, &x->model);
    wk_tabular_model_free(&table);
    wk_mdp_pair_compare(&x->real, &x->model, &x->pair);
    return WK_OK;
}

static void check_reward(const instance *x, int kind, wk_rng *rng, wk_theory_check_numbers *f)
{
    double reward[WK_MDP_PAIRS_MAX], policy[WK_MDP_PAIRS_MAX], gamma = x->real.gamma;
    wk_mdp_draw_reward(&x->real, (uint64_t)kind, rng, reward);
    wk_mdp_draw_policy(&x->real, rng, policy);
    wk_regret r = {0};
    wk_mdp_pair_regret(&x->pair, reward, &r);
    wk_simulation_lemma lemma = wk_mdp_pair_simulation(&x->pair, policy, reward);
    double reward_free = wk_mdp_pair_reward_free_bound(&x->pair);
    double gap = fabs(lemma.difference - lemma.identity) * (1 - gamma);
    double slack = tolerance / ((1 - gamma) * (1 - gamma));
    f->instances++;
    f->violations += r.regret > r.bound + slack || r.bound > reward_free + slack ||
                     fabs(lemma.difference) > lemma.bound + slack || gap > tolerance;
    raise(&f->regret, r.regret);
    raise(&f->bound, r.bound);
    raise(&f->reward_free, reward_free);
    raise(&f->regret_ratio, ratio(r.regret, r.bound));
    raise(&f->bound_ratio, ratio(r.bound, reward_free));
    raise(&f->lemma_ratio, ratio(fabs(lemma.difference), lemma.bound));
    raise(&f->identity_gap, gap);
}

static void run_trial(void *context, size_t piece, int thread)
{
    static const double gammas[] = {0.5, 0.8, 0.9, 0.95, 0.99};
    check_job *job = context;
    const wk_theory_check_config *config = job->config;
    wk_error *err = &job->errors[piece];
    wk_rng rng = wk_rng_stream(config->seed, "theory-check", piece);
    double gamma = gammas[wk_rng_below(&rng, sizeof gammas / sizeof *gammas)];
    if (config->gamma > 0) gamma = config->gamma;
    uint64_t layout = wk_rng_u64(&rng);
    // 0 to 255 episodes, small numbers as likely as large ones.
    int episodes = (int)exp2(wk_rng_uniform(&rng, 0, 8)) - 1;
    instance *x = malloc(sizeof *x);
    if (!x) wk_fail(err, WK_E_MEMORY, "no memory for a finite MDP");
    for (size_t i = 0; i < wk_space_count(job->space) && err->status == WK_OK; i++) {
        wk_family_make(config->family, wk_space_params(job->space, i), gamma, layout, &x->real);
        if (learn(x, episodes, &rng, err) != WK_OK) break;
        for (int r = 0; r < REWARDS; r++)
            check_reward(x, r, &rng, &job->check->trials[piece]);
    }
    free(x);
    if (config->progress) config->progress(config->context, job->check->count, thread);
}

// Maxima over the trials, but means of their worst cases.
static void sum_up(wk_theory_check *check)
{
    wk_theory_check_numbers *total = &check->total;
    for (size_t i = 0; i < check->count; i++) {
        const wk_theory_check_numbers *f = &check->trials[i];
        total->regret += f->regret / (double)check->count;
        total->bound += f->bound / (double)check->count;
        total->reward_free += f->reward_free / (double)check->count;
        raise(&total->regret_ratio, f->regret_ratio);
        raise(&total->bound_ratio, f->bound_ratio);
        raise(&total->lemma_ratio, f->lemma_ratio);
        raise(&total->identity_gap, f->identity_gap);
        total->instances += f->instances;
        total->violations += f->violations;
    }
}

static wk_status run_trials(check_job *job, wk_pool *pool, wk_error *err)
{
    wk_theory_check *check = job->check;
    check->trials = calloc(check->count, sizeof *check->trials);
    job->errors = calloc(check->count, sizeof *job->errors);
    if (!check->trials || !job->errors)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu trials", check->count);
    wk_pool_run(pool, check->count, run_trial, job);
    for (size_t i = 0; i < check->count; i++)
        if (job->errors[i].status != WK_OK)
            return wk_fail(err, job->errors[i].status, "%s", job->errors[i].message);
    sum_up(check);
    return WK_OK;
}

wk_status wk_theory_check_run(const wk_theory_check_config *config, wk_pool *pool,
                              wk_theory_check *out, wk_error *err)
{
    wk_space *space;
    WK_TRY(wk_space_create(&config->family->domain, false, &space, err));
    size_t of_trial = wk_space_count(space) * REWARDS;
    *out = (wk_theory_check){.count = ((size_t)config->instances + of_trial - 1) / of_trial};
    check_job job = {.config = config, .space = space, .check = out};
    wk_status status = run_trials(&job, pool, err);
    free(job.errors);
    wk_space_destroy(space);
    if (status != WK_OK) wk_theory_check_free(out);
    return status;
}

void wk_theory_check_free(wk_theory_check *check)
{
    free(check->trials);
    *check = (wk_theory_check){0};
}
