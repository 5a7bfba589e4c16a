// What the built-in rules use where the configuration leaves it to them.
#ifndef WK_CURRICULUM_RULES_H
#define WK_CURRICULUM_RULES_H

/// η of the Boltzmann choice that a rule uses: `configured`, or for 0 the rule's own; 0 for rules
/// without one.
double wk_rule_temperature(const char *rule, double configured);

#endif
