// Families of small finite MDPs over θ = (size, noise), the environments of the theory checks. A
// family is a wk_domain as far as spaces and curricula look at one, and a function that makes the
// MDP of a θ. The layout (which cells are ice, where the wind blows, what is random) depends on
// (seed, size) alone: θ that differ in noise are the same world with other noise.
#ifndef WK_THEORY_FAMILY_H
#define WK_THEORY_FAMILY_H

#include "theory/mdp.h"
#include "waker/env.h"

/// The numbers of a θ, in this order.
enum { WK_FAMILY_SIZE, WK_FAMILY_NOISE, WK_FAMILY_PARAMS };

/// A family; its θ, name and summary are those of the domain, which cannot be run.
typedef struct wk_family {
    wk_domain domain;
    /// Fills states, actions and transitions.
    void (*make)(int size, double noise, uint64_t seed, wk_mdp *out);
} wk_family;

/// random, slippery, windy, chain.
enum { WK_FAMILIES = 4 };
extern const wk_family wk_families[WK_FAMILIES];
/// The family called `name`; the error names them all.
wk_status wk_family_find(const char *name, const wk_family **out, wk_error *err);

/// The MDP of θ; its first state is state 0.
void wk_family_make(const wk_family *family, const double *theta, double gamma, uint64_t seed,
                    wk_mdp *out);

#endif
