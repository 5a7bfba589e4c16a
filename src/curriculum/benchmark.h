// Rules compared without training anything: environments whose learning curves are known. Each θ of
// a grid has an error that falls with the episodes spent there and nearby; a rule sees noisy
// estimates of it, as in a run, and is judged by the error that could still be learned away in the
// worst tenth of the grid.
#ifndef WK_CURRICULUM_BENCHMARK_H
#define WK_CURRICULUM_BENCHMARK_H

#include "base/pool.h"
#include "waker/curriculum.h"

enum { WK_BENCHMARK_POINTS = 50 }; // of a curve, evenly over the episodes

/// The scenarios: what the learning curves look like.
size_t wk_rule_benchmark_scenario_count(void);
const char *wk_rule_benchmark_scenario_name(size_t scenario);
const char *wk_rule_benchmark_scenario_summary(size_t scenario);

/// What is compared; pointers are borrowed.
typedef struct wk_rule_benchmark_config {
    const wk_curriculum_rule *const *rules; // the first is what the others are compared with
    size_t count;
    int episodes, seeds;
    uint64_t seed;
} wk_rule_benchmark_config;

/// Learnable error of the worst tenth of the θ after the episodes of each point.
typedef struct wk_rule_benchmark {
    wk_rule_benchmark_config config;
    double *curves; // [scenarios,rules,seeds,points]
} wk_rule_benchmark;

/// Runs every rule in every scenario; results do not depend on the number of threads. Free it.
wk_status wk_rule_benchmark_run(const wk_rule_benchmark_config *config, wk_pool *pool,
                                wk_rule_benchmark *out, wk_error *err);
void wk_rule_benchmark_free(wk_rule_benchmark *benchmark);

/// A curve: [points].
const double *wk_rule_benchmark_curve(const wk_rule_benchmark *b, size_t scenario, size_t rule,
                                      int seed);
/// Episodes at a point.
int wk_rule_benchmark_episodes(const wk_rule_benchmark *b, int point);
/// Mean of a rule's curve over that of the first rule, for one seed: below 1 is better.
double wk_rule_benchmark_ratio(const wk_rule_benchmark *b, size_t scenario, size_t rule, int seed);

#endif
