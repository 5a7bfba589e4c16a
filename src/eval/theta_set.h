// Frozen sets of environments to compare policies on, across runs, programs and papers: θ in the
// training distribution and θ outside of it, with the seed that everything random in their episodes
// comes from. A set is a text file that ends with the SHA-256 of what is before; those of the
// program lie in assets/sets, and the program knows their hashes.
#ifndef WK_EVAL_THETA_SET_H
#define WK_EVAL_THETA_SET_H

#include "base/sha256.h"
#include "base/text.h"
#include "eval/cases.h"

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
