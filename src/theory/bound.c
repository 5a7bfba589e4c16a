#include "theory/bound.h"

#include <math.h>
#include <stdlib.h>

// E_{d(π,M̂)} f of a value computed with f as the reward: d is normalised to 1.
static double discounted_mean(const wk_mdp *mdp, const double *value)
{
    return (1 - mdp->gamma) * wk_mdp_at_start(mdp, value);
}

static double lemma_factor(const wk_mdp *mdp)
{
    return 2 * mdp->gamma / ((1 - mdp->gamma) * (1 - mdp->gamma));
}

void wk_mdp_pair_compare(const wk_mdp *real, const wk_mdp *model, wk_mdp_pair *out)
{
    int choice[WK_MDP_STATES_MAX] = {0};
    double value[WK_MDP_STATES_MAX];
    out->real = real;
    out->model = model;
    wk_mdp_total_variation(model, real, out->tv);
    wk_mdp_solve(model, out->tv, choice, value);
    out->error = discounted_mean(model, value);
}

double wk_mdp_pair_reward_free_bound(const wk_mdp_pair *pair)
{
    return 2 * lemma_factor(pair->model) * pair->error;
}

static double mean_error(const wk_mdp_pair *pair, const int *choice)
{
    double value[WK_MDP_STATES_MAX];
    wk_mdp_evaluate_choice(pair->model, choice, pair->tv, value);
    return discounted_mean(pair->model, value);
}

void wk_mdp_pair_regret(const wk_mdp_pair *pair, const double *reward, wk_regret *out)
{
    double value[WK_MDP_STATES_MAX];
    wk_mdp_solve(pair->real, reward, out->real_choice, value);
    double best = wk_mdp_at_start(pair->real, value);
    wk_mdp_solve(pair->model, reward, out->model_choice, value);
    wk_mdp_evaluate_choice(pair->real, out->model_choice, reward, value);
    out->regret = best - wk_mdp_at_start(pair->real, value);
    out->bound = lemma_factor(pair->model) *
                 (mean_error(pair, out->real_choice) + mean_error(pair, out->model_choice));
}

wk_simulation_lemma wk_mdp_pair_simulation(const wk_mdp_pair *pair, const double *policy,
                                           const double *reward)
{
    const wk_mdp *real = pair->real, *model = pair->model;
    double value[WK_MDP_STATES_MAX], imagined[WK_MDP_STATES_MAX], step[WK_MDP_PAIRS_MAX];
    wk_mdp_evaluate(real, policy, reward, value);
    wk_mdp_evaluate(model, policy, reward, imagined);
    wk_simulation_lemma lemma = {.difference = wk_mdp_at_start(model, imagined) -
                                               wk_mdp_at_start(real, value)};
    for (int s = 0; s < real->states; s++)
        for (int a = 0; a < real->actions; a++)
            step[s * real->actions + a] =
                wk_mdp_expect(model, s, a, value) - wk_mdp_expect(real, s, a, value);
    wk_mdp_evaluate(model, policy, step, imagined);
    lemma.identity = model->gamma * wk_mdp_at_start(model, imagined);
    wk_mdp_evaluate(model, policy, pair->tv, imagined);
    lemma.bound = lemma_factor(model) * discounted_mean(model, imagined);
    return lemma;
}

// State 0 pays 1 as long as one stays there, state 1 pays nothing and keeps.
static wk_mdp slipping(double gamma, double first_slip, double second_slip)
{
    return (wk_mdp){.states = 2,
                    .actions = 2,
                    .gamma = gamma,
                    .start = {1, 0},
                    .next = {1 - first_slip, first_slip, 1 - second_slip, second_slip, 0, 1, 0, 1}};
}

// The first action never slips, the second does with 2·slip; the model believes that both slip with
// `slip`, the first by a millionth more, and takes the second.
void wk_mdp_tight_pair(double slip, double gamma, wk_mdp *real, wk_mdp *model, double *reward)
{
    *real = slipping(gamma, 0, 2 * slip);
    *model = slipping(gamma, slip * (1 + 1e-6), slip);
    reward[0] = reward[1] = 1;
    reward[2] = reward[3] = 0;
}

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
    wk_arena arena = {0};
    WK_TRY(wk_tabular_model_create(&x->real, 0, 0, 0, NULL, &arena, &table, err));
    for (int e = 0; e < episodes; e++)
        wk_mdp_sample_episode(&x->real, NULL, EPISODE_STEPS, rng, &table);
    x->model = x->real;
    wk_tabular_model_predict(&table, &x->model);
    wk_arena_reset(&arena);
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

wk_status wk_theory_check_run(const wk_theory_check_config *config, wk_pool *pool,
                              wk_theory_check *out, wk_error *err)
{
    wk_space *space;
    WK_TRY(wk_space_create(&config->family->domain, false, &space, err));
    size_t of_trial = wk_space_count(space) * REWARDS;
    size_t count = ((size_t)config->instances + of_trial - 1) / of_trial;
    *out = (wk_theory_check){.count = count, .trials = calloc(count, sizeof *out->trials)};
    check_job job = {config, space, out, calloc(count, sizeof *job.errors)};
    wk_status status = WK_OK;
    if (out->trials && job.errors)
        wk_pool_run(pool, count, run_trial, &job);
    else
        status = wk_fail(err, WK_E_MEMORY, "no memory for %zu trials", count);
    // Maxima over the trials, but means of their worst cases.
    wk_theory_check_numbers *total = &out->total;
    for (size_t i = 0; i < count && status == WK_OK; i++) {
        const wk_theory_check_numbers *f = &out->trials[i];
        if (job.errors[i].status != WK_OK)
            status = wk_fail(err, job.errors[i].status, "%s", job.errors[i].message);
        total->regret += f->regret / (double)count;
        total->bound += f->bound / (double)count;
        total->reward_free += f->reward_free / (double)count;
        raise(&total->regret_ratio, f->regret_ratio);
        raise(&total->bound_ratio, f->bound_ratio);
        raise(&total->lemma_ratio, f->lemma_ratio);
        raise(&total->identity_gap, f->identity_gap);
        total->instances += f->instances;
        total->violations += f->violations;
    }
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
