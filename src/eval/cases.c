#include "eval/cases.h"

#include "base/random.h"
#include "base/text.h"
#include "env/domains/domains.h"
#include <stdio.h>
#include <string.h>

static wk_status add(wk_eval_case *cases, int *count, wk_eval_case one, wk_error *err)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(cases[i].name, one.name) == 0)
            return wk_fail(err, WK_E_INPUT, "case '%s' occurs twice", one.name);
    if (*count == WK_EVAL_CASES_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d cases; evaluate some of them at a time",
                       WK_EVAL_CASES_MAX);
    cases[(*count)++] = one;
    return WK_OK;
}

wk_status wk_eval_cases(const wk_domain *domain, const wk_case *train, const char *names, int envs,
                        wk_eval_case *cases, int *count, wk_error *err)
{
    const wk_eval_case dr = {WK_EVAL_DR, NULL, envs};
    const wk_eval_case list = {train ? train->name : NULL, train, envs};
    bool all = strcmp(names, "all") == 0, usual = !*names;
    *count = 0;
    if (train && (all || usual)) WK_TRY(add(cases, count, list, err));
    if (all || (!train && usual)) WK_TRY(add(cases, count, dr, err));
    for (int i = 0; (all || (!train && usual)) && i < domain->n_cases; i++) {
        const wk_case *c = &domain->cases[i];
        if (all || !c->extra)
            WK_TRY(add(cases, count, (wk_eval_case){c->name, c, c->episodes}, err));
    }
    for (const char *at = all ? "" : names; *at;) {
        char name[64];
        const wk_case *c = NULL;
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        if (strcmp(name, WK_EVAL_DR) == 0) {
            WK_TRY(add(cases, count, dr, err));
        } else if (train && strcmp(name, train->name) == 0) {
            WK_TRY(add(cases, count, list, err));
        } else if (wk_domain_case(domain, name, &c, NULL) == WK_OK) {
            WK_TRY(add(cases, count, (wk_eval_case){c->name, c, c->episodes}, err));
        } else {
            const char *known[WK_EVAL_CASES_MAX + 2] = {WK_EVAL_DR};
            size_t n = 1;
            if (train) known[n++] = train->name;
            for (int i = 0; i < domain->n_cases && i < WK_EVAL_CASES_MAX; i++)
                known[n++] = domain->cases[i].name;
            return wk_fail_unknown(err, "case of this domain", name, known, n);
        }
    }
    return WK_OK;
}

// Whether the task is one of the combined domain's own: rewards that were added to it later are at
// home in all of its environments.
static bool is_part(const wk_domain *domain, int task)
{
    return strcmp(domain->name, wk_combined.name) == 0 && task != WK_EVAL_ANY_TASK &&
           task < wk_combined.n_tasks;
}

const wk_domain *wk_eval_part(const wk_domain *domain, int task)
{
    double ignored;
    return is_part(domain, task) ? wk_combined_part(task, &ignored) : NULL;
}

// Whether θ is an environment of the task.
static bool belongs(const wk_domain *domain, int task, const double *theta)
{
    double part;
    if (!is_part(domain, task)) return true;
    wk_combined_part(task, &part);
    return theta[0] == part;
}

// How many of the θ belong to the task; `chosen` gets number k of them, if there are as many.
static int members(const wk_domain *domain, int task, const wk_case *thetas, int k,
                   const double **chosen)
{
    int count = 0;
    for (int i = 0; i < thetas->count; i++) {
        const double *theta = thetas->params + (ptrdiff_t)i * domain->n_params;
        if (!belongs(domain, task, theta)) continue;
        if (count++ == k) *chosen = theta;
    }
    return count;
}

bool wk_eval_case_fits(const wk_domain *domain, int task, const wk_eval_case *eval_case)
{
    const double *ignored;
    return !eval_case->thetas || members(domain, task, eval_case->thetas, -1, &ignored) > 0;
}

void wk_eval_theta(const wk_domain *domain, const wk_space *space, int task,
                   const wk_eval_case *eval_case, uint64_t key, int episode, double *theta)
{
    if (!eval_case->thetas) {
        wk_rng rng = wk_rng_stream(key, "evaluation theta", (uint64_t)episode);
        do {
            double u[1 + WK_PARAMS_MAX];
            for (int i = 0; i < 1 + WK_PARAMS_MAX; i++)
                u[i] = wk_rng_unit(&rng);
            wk_space_pick(space, u, theta);
        } while (!belongs(domain, task, theta));
        return;
    }
    const double *chosen = NULL;
    int count = members(domain, task, eval_case->thetas, -1, &chosen);
    members(domain, task, eval_case->thetas, episode % count, &chosen);
    memcpy(theta, chosen, (size_t)domain->n_params * sizeof *theta);
}
