// What the built-in rules share, and what they use where the configuration leaves it to them.
#ifndef WK_CURRICULUM_RULES_H
#define WK_CURRICULUM_RULES_H

#include "waker/curriculum.h"

/// A row of the tables of built-in rules.
typedef struct wk_builtin_rule {
    wk_curriculum_rule rule;
    double temperature; // η where the configuration leaves it to the rule; 0: the rule has none
} wk_builtin_rule;

/// What every row of the tables begins with.
#define RULE(rule_name) .abi = WK_CURRICULUM_ABI, .name = rule_name

/// Curricula that other papers proposed, and baselines.
extern const wk_builtin_rule wk_published_rules[];
extern const size_t wk_published_rule_count;

/// η of the built-in rule called `rule`: `configured`, or for 0 that of its row; 0 for other rules
/// and for those without one.
double wk_rule_temperature(const char *rule, double configured);

/// (value - mean) / (deviation + 1e-6) over the known θ of each group; NaN where `values` is.
void wk_rule_normalise(const wk_curriculum_view *view, const double *values, double *out);

/// The Boltzmann choice over normalised values, η > 0; false when none is known.
bool wk_rule_by_magnitude(const wk_curriculum_view *view, const double *values, double temperature,
                          double *probability);

#endif
