// Plays a policy of a saved run in many environments at once, each with parameters drawn from the
// training distribution, and prints the return: mean, and mean of the worst tenth.
//
//   cc -O2 act_with_policy.c -o act_with_policy $(pkg-config --cflags --libs waker)
//   ./act_with_policy runs/a push 25
#include <stdio.h>
#include <stdlib.h>
#include <waker/policy.h>
#include <waker/stats.h>

enum { SEED = 1, MAX_ENVS = 1024 };

static wk_status plan_resets(wk_vec *vec, const wk_domain *domain, wk_error *err)
{
    wk_space *space;
    wk_status status = wk_space_create(domain, false, &space, err);
    if (status != WK_OK) return status;
    for (int i = 0; i < wk_vec_count(vec) && status == WK_OK; i++) {
        double theta[WK_PARAMS_MAX];
        wk_space_sample(space, SEED, (uint64_t)i, theta);
        status = wk_vec_plan_reset(vec, i, theta, (size_t)domain->n_params, SEED, (uint64_t)i, err);
    }
    wk_space_destroy(space);
    return status;
}

// One episode in every environment; returns is [count].
static wk_status play(wk_policy *policy, wk_vec *vec, int task, double *returns, wk_error *err)
{
    static float actions[MAX_ENVS * WK_ACTION_MAX];
    static bool ended[MAX_ENVS];
    const wk_domain *domain = wk_policy_domain(policy);
    WK_TRY(plan_resets(vec, domain, err));
    // The first step makes the planned resets.
    for (int step = 0; step <= domain->episode_steps; step++) {
        WK_TRY(wk_vec_step(vec, actions, err));
        const wk_batch *batch = wk_vec_batch(vec);
        for (int i = 0; i < wk_vec_count(vec); i++) {
            if (!ended[i]) returns[i] += batch->rewards[i * domain->n_tasks + task];
            ended[i] = batch->flags[i] & WK_IS_LAST; // stays while it is idle
            if (ended[i]) wk_vec_plan_idle(vec, i);
        }
        WK_TRY(wk_policy_act(policy, batch->images, batch->flags, actions, err));
    }
    return WK_OK;
}

static wk_status run(const char *directory, const char *name, int count, wk_error *err)
{
    static double returns[MAX_ENVS];
    double worst;
    int task;
    wk_vec *vec = NULL;
    wk_policy *policy = NULL;
    wk_policy_config config = wk_policy_config_default();
    config.run = directory;
    config.task = name;
    config.count = count;
    wk_status status = wk_policy_create(&config, &policy, err);
    if (status != WK_OK) return status;
    const wk_domain *domain = wk_policy_domain(policy);
    status = wk_domain_task(domain, name, &task, err);
    if (status == WK_OK)
        status = wk_vec_create(domain, wk_policy_options(policy), count, 0, &vec, err);
    if (status == WK_OK) status = play(policy, vec, task, returns, err);
    if (status == WK_OK)
        status = wk_stats_cvar(returns, (size_t)count, 0.1, WK_WORST_LOW, &worst, err);
    if (status == WK_OK)
        printf("%s, %s, step %llu: mean %.2f, worst 10 %% %.2f\n", domain->name, name,
               (unsigned long long)wk_policy_step(policy), wk_stats_mean(returns, (size_t)count),
               worst);
    wk_vec_destroy(vec);
    wk_policy_destroy(policy);
    return status;
}

int main(int argc, char **argv)
{
    wk_error err;
    int count = argc > 3 ? atoi(argv[3]) : 25;
    if (argc < 3 || count < 1 || count > MAX_ENVS) {
        fprintf(stderr, "usage: %s RUN TASK [ENVIRONMENTS, 1 to %d]\n", argv[0], MAX_ENVS);
        return 2;
    }
    if (run(argv[1], argv[2], count, &err) == WK_OK) return 0;
    fprintf(stderr, "%s: %s\n", argv[0], err.message);
    return 1;
}
