// Where policies are evaluated: the cases of a domain, which are "dr" (its default distribution)
// and the out-of-distribution ones, and the θ of each of their episodes. A task of the combined
// domain is evaluated in the environments it belongs to, and only there.
#ifndef WK_EVAL_CASES_H
#define WK_EVAL_CASES_H

#include "waker/env.h"

enum { WK_EVAL_CASES_MAX = 32 };

/// Name of the default distribution among the cases.
#define WK_EVAL_DR "dr"

/// In place of a task: environments of every part.
enum { WK_EVAL_ANY_TASK = -1 };

/// A case with the number of its episodes.
typedef struct wk_eval_case {
    const char *name;
    const wk_case *thetas; // its θ; NULL: those of the default distribution
    int episodes;
} wk_eval_case;

/// Cases by name, separated by commas, [WK_EVAL_CASES_MAX]. "" is the default distribution with the
/// paper's out-of-distribution cases; "all" has the others too. `train` is the list of θ that a run
/// was trained in where that is not the default distribution, else NULL: "" then is that list
/// alone. `envs` is the number of episodes of "dr" and of `train`; the other cases have their own.
/// Errors name the nearest case.
wk_status wk_eval_cases(const wk_domain *domain, const wk_case *train, const char *names, int envs,
                        wk_eval_case *cases, int *count, wk_error *err);

/// The domain that a task belongs to if that is a part of `domain`, else NULL.
const wk_domain *wk_eval_part(const wk_domain *domain, int task);

/// Whether the case has environments of the task.
bool wk_eval_case_fits(const wk_domain *domain, int task, const wk_eval_case *eval_case);

/// θ of episode number `episode`; everything random in it comes from `key`, a number of (seed,
/// case).
void wk_eval_theta(const wk_domain *domain, const wk_space *space, int task,
                   const wk_eval_case *eval_case, uint64_t key, int episode, double *theta);

#endif
