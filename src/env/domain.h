// What the files that host domains share with each other: naming errors and reading options.
#ifndef WK_ENV_DOMAIN_H
#define WK_ENV_DOMAIN_H

#include "base/random.h"
#include "waker/env.h"

/// Calls the callback after a control step.
static inline void wk_step_seen(const wk_step_watch *watch)
{
    if (watch->seen) watch->seen(watch->context);
}

/// Passes on what a domain's function returned and wrote into `reported`. Functions of a domain
/// always get an error to write into, and their callers always get a message.
wk_status wk_domain_result(const wk_domain *domain, const char *function, wk_status status,
                           const wk_error *reported, wk_error *err);

/// The name of a row in a table whose rows, of `size` bytes, begin with their names; and the row of
/// that name, -1: there is none.
static inline const char *wk_row_name(const void *rows, int row, size_t size)
{
    return *(const char *const *)(const void *)((const char *)rows + (size_t)row * size);
}
int wk_row_find(const void *rows, int count, size_t size, const char *name);

/// The n-th choice: its first character, and its length through `length` (it is not terminated).
const char *wk_option_choice(const wk_option *option, int n, size_t *length);

/// Checks choice indices, [n_options].
wk_status wk_domain_check_options(const wk_domain *domain, const int *options, wk_error *err);

/// Checks what of a domain is data: all that wk_domain_check does but its functions and its grid.
/// With `own_grid` the params need no step.
wk_status wk_domain_check_data(const wk_domain *domain, bool own_grid, wk_error *err);

/// What a word stands for that commands and the API accept in place of a task's (or a reward's)
/// name, by which none may be called; NULL: the word is free.
const char *wk_task_name_reserved(const char *name);

/// An action of the domain drawn uniformly: [action_size].
void wk_domain_random_action(const wk_domain *domain, wk_rng *rng, float *action);

/// The version of MuJoCo that simulates a built-in domain here, as mj_version counts; 0 if none
/// does. Episodes differ between versions.
uint64_t wk_domain_engine(const wk_domain *domain);
enum { WK_ENGINE_CHARS = 24 };
/// Writes "4.0.1".
void wk_engine_print(uint64_t version, char out[WK_ENGINE_CHARS]);

/// Room for a θ in messages, its end included.
enum { WK_THETA_CHARS = 160 };
/// Writes "(0.5, 1)".
void wk_theta_print(const wk_domain *domain, const double *theta, char out[WK_THETA_CHARS]);

/// How many values the training grid of a param has, and value number i without the rounding noise
/// of binary fractions.
size_t wk_param_count(const wk_param *param);
double wk_param_value(const wk_param *param, size_t i);

/// How far two θ lie apart: the sum of squared differences, each in units of its training range.
double wk_theta_distance(const wk_domain *domain, const double *a, const double *b);

/// wk_space_create_list with the probabilities of the θ, [count].
wk_status wk_space_create_weighted(const wk_domain *domain, const double *thetas,
                                   const double *probabilities, size_t count, wk_space **out,
                                   wk_error *err);

#endif
