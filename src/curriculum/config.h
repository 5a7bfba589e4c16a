// The curriculum's keys: a segment of the run's list (config/config.h, which says what the columns
// are). The fields themselves are public (waker/curriculum.h); a row without its field does not
// compile.
#ifndef WK_CURRICULUM_CONFIG_H
#define WK_CURRICULUM_CONFIG_H

#define WK_CURRICULUM_FIELDS(X)                                                                    \
    X(NUMBER, dr_probability, "curriculum.dr_probability", 0.2, 0, 1, FIXED, "=", "=",             \
      "share of episodes from the default distribution")                                           \
    X(NUMBER, temperature, "curriculum.temperature", 0, 0, 1e6, FIXED, "=", "=",                   \
      "temperature of the Boltzmann choice; 0: the rule's own (waker-m 1, waker-r 0.5)")           \
    X(NUMBER, error_decay, "curriculum.error_decay", 0.9999, 0, 1, FIXED, "=", "=",                \
      "decay of the moving average of each environment's error")                                   \
    X(NUMBER, reduction_decay, "curriculum.reduction_decay", 0.95, 0, 1, FIXED, "=", "=",          \
      "decay of the moving average of its error reduction (waker-r)")                              \
    X(COUNT, reduction_start, "curriculum.reduction_start", 50000, 0, 1e15, FIXED, "=", "=",       \
      "agent steps before error reductions are measured")                                          \
    X(COUNT, reduction_every, "curriculum.reduction_every", 10000, 1, 1e15, FIXED, "=", "=",       \
      "agent steps between measurements of error reductions")

#endif
