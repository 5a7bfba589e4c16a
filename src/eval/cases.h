// Where policies are evaluated: in the cases of a domain, which are "dr" (its default distribution)
// and the out-of-distribution ones, or in a frozen set of environments. A task of the combined
// domain is evaluated in the environments it belongs to, and only there.
//
// Frozen sets compare policies across runs, programs and papers: θ in the training distribution and
// θ outside of it, with the seed that everything random in their episodes comes from. A set is a
// text file that ends with the SHA-256 of what is before. Those of the program are in assets/sets;
// a set never changes: another one has another name.
#ifndef WK_EVAL_CASES_H
#define WK_EVAL_CASES_H

#include "base/hash.h"
#include "base/text.h"
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

enum { WK_THETA_SET_NAME_MAX = 48, WK_THETA_SET_COUNT_MAX = 100000 };

typedef enum wk_theta_set_part {
    WK_THETA_SET_IN,
    WK_THETA_SET_OUT,
    WK_THETA_SET_PARTS
} wk_theta_set_part;

/// "in", "out".
const char *wk_theta_set_part_name(wk_theta_set_part part);

/// Zero-initialise; do not copy it: the parts point into it.
typedef struct wk_theta_set {
    char name[WK_THETA_SET_NAME_MAX];
    char domain[64];
    uint64_t seed;
    int n_params;
    wk_case parts[WK_THETA_SET_PARTS]; // an episode for each θ; a part may be empty
    char part_names[WK_THETA_SET_PARTS][WK_THETA_SET_NAME_MAX + 8]; // "robust-v1/in"
    double *params;                                                 // owned, [in + out, n_params]
    char sha256[WK_SHA256_CHARS];                                   // of the whole file
} wk_theta_set;

/// Draws a set of `count` θ of each part: inside, from the default distribution; outside, one half
/// from the paper's out-of-distribution cases of the domain in turn, the other from beyond the
/// training ranges by up to half of their length, as far as the domain makes such environments.
wk_status wk_theta_set_draw(const wk_domain *domain, const char *name, int count, uint64_t seed,
                            wk_theta_set *out, wk_error *err);

/// The set as a file.
void wk_theta_set_print(const wk_theta_set *set, const wk_domain *domain, wk_text *out);

/// Opens the set of the program called `name`, or the file of that path where there is none; it
/// must be undamaged and of that domain, and each θ an environment that can be made.
wk_status wk_theta_set_open(const char *name, const wk_domain *domain, wk_theta_set *out,
                            wk_error *err);
void wk_theta_set_free(wk_theta_set *set);

/// The parts that have θ, as cases to play.
int wk_theta_set_cases(const wk_theta_set *set, wk_eval_case cases[WK_THETA_SET_PARTS]);

#endif
