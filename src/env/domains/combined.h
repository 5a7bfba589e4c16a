// Terrain Walker and Clean Up as one domain: one agent meets both kinds of environment. θ =
// (domain, p0, p1, p2), where domain 0 is terrain with p0, p1 = amplitude, length (p2 = 0) and
// domain 1 is clean-up with p0, p1, p2 = arena, green, blue. Domain randomisation picks either with
// probability 1/2.
//
// Actions have the walker's six numbers; a clean-up environment uses the first two. Every step
// reports the tasks of both: rewards and completion of tasks that do not belong to the running
// environment are 0. A step takes 0.05 s in a terrain environment and 0.04 s in a clean-up
// environment. The hardest θ is the walker's; the most complex ones are those of both, the clean-up
// ones repeated so that both domains are equally likely. Options are those of both; one that both
// have applies to both.
#ifndef WK_ENV_DOMAINS_COMBINED_H
#define WK_ENV_DOMAINS_COMBINED_H

#include "waker/env.h"

extern const wk_domain wk_combined;

/// The domain that a task of it comes from, and the value of θ's first number for its environments.
const wk_domain *wk_combined_part(int task, double *domain);

#endif
