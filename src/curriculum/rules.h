// What the built-in rules share, and what they use where the configuration leaves it to them.
#ifndef WK_CURRICULUM_RULES_H
#define WK_CURRICULUM_RULES_H

#include "waker/curriculum.h"

/// η of the Boltzmann choice that a rule uses: `configured`, or for 0 the rule's own; 0 for rules
/// without one.
double wk_rule_temperature(const char *rule, double configured);

/// (value - mean) / (deviation + 1e-6) over the known θ of each group; NaN where `values` is.
void wk_rule_normalise(const wk_curriculum_view *view, const double *values, double *out);

/// The Boltzmann choice over normalised values; false when none is known.
bool wk_rule_by_magnitude(const wk_curriculum_view *view, const double *values, double temperature,
                          double *probability);

/// What every row of the tables of rules begins with.
#define RULE(rule_name) .abi = WK_CURRICULUM_ABI, .name = rule_name

/// Curricula that other papers proposed, and baselines.
extern const wk_curriculum_rule wk_published_rules[];
extern const size_t wk_published_rule_count;

#endif
