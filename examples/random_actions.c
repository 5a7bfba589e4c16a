// Plays random actions in many environments of a domain at once, each with parameters drawn from
// the training distribution, and prints the return of every task: mean, and mean of the worst
// tenth.
//
//   cc -O2 random_actions.c -o random_actions $(pkg-config --cflags --libs waker)
//   ./random_actions terrain-walker 16
#include <stdio.h>
#include <stdlib.h>
#include <waker/env.h>
#include <waker/stats.h>

enum { SEED = 1, MAX_ENVS = 4096 };

// One episode in every environment; returns is [n_tasks, count].
static wk_status play(wk_vec *vec, const wk_space *space, const wk_domain *domain, double *returns,
                      wk_error *err)
{
    int count = wk_vec_count(vec);
    static float actions[MAX_ENVS * WK_ACTION_MAX];
    for (int i = 0; i < count; i++) {
        double theta[WK_PARAMS_MAX];
        wk_space_sample(space, SEED, (uint64_t)i, theta);
        WK_TRY(wk_vec_plan_reset(vec, i, theta, (size_t)domain->n_params, SEED, (uint64_t)i, err));
    }
    // The first step makes the planned resets.
    for (int step = 0; step <= domain->episode_steps; step++) {
        for (int i = 0; i < count * domain->action_size; i++)
            actions[i] = 2 * (float)rand() / (float)RAND_MAX - 1;
        WK_TRY(wk_vec_step(vec, actions, err));
        const wk_batch *batch = wk_vec_batch(vec);
        for (int i = 0; i < count; i++) {
            for (int task = 0; task < domain->n_tasks; task++)
                returns[task * count + i] += batch->rewards[i * domain->n_tasks + task];
            if (batch->flags[i] & WK_IS_LAST) wk_vec_plan_idle(vec, i);
        }
    }
    return WK_OK;
}

static wk_status print_returns(const wk_domain *domain, const double *returns, int count,
                               wk_error *err)
{
    printf("%-16s %10s %10s\n", domain->name, "mean", "worst 10 %");
    for (int task = 0; task < domain->n_tasks; task++) {
        const double *values = returns + (size_t)task * (size_t)count;
        double worst;
        WK_TRY(wk_stats_cvar(values, (size_t)count, 0.1, WK_WORST_LOW, &worst, err));
        printf("%-16s %10.2f %10.2f\n", domain->tasks[task].name,
               wk_stats_mean(values, (size_t)count), worst);
    }
    return WK_OK;
}

static wk_status run(const char *name, int count, wk_error *err)
{
    const wk_domain *domain;
    wk_space *space = NULL;
    wk_vec *vec = NULL;
    WK_TRY(wk_domain_find(name, &domain, err));
    double *returns = calloc((size_t)domain->n_tasks * (size_t)count, sizeof *returns);
    wk_status status = returns ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory");
    if (status == WK_OK) status = wk_space_create(domain, false, &space, err);
    if (status == WK_OK) status = wk_vec_create(domain, NULL, count, 0, &vec, err);
    if (status == WK_OK) status = play(vec, space, domain, returns, err);
    if (status == WK_OK) status = print_returns(domain, returns, count, err);
    wk_vec_destroy(vec);
    wk_space_destroy(space);
    free(returns);
    return status;
}

int main(int argc, char **argv)
{
    wk_error err;
    int count = argc > 2 ? atoi(argv[2]) : 16;
    if (argc < 2 || count < 1 || count > MAX_ENVS) {
        fprintf(stderr, "usage: %s DOMAIN [ENVIRONMENTS, 1 to %d]\n", argv[0], MAX_ENVS);
        return 2;
    }
    if (run(argv[1], count, &err) == WK_OK) return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.message);
    return 1;
}
