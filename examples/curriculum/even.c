// A curriculum of one's own: visits every θ equally often, whatever its probability under the
// default distribution. Copy the folder and change `distribution`.
//
//   make && waker train --logdir runs/even --configs clean-up quick --curriculum.plugin ./even.so
#include "waker/curriculum.h"

// The fewer visits, the likelier. A rule is a pure function of what it sees: no state of its own,
// no random numbers, so that a resumed run continues as if it had never stopped.
static bool distribution(const wk_curriculum_view *view, const wk_curriculum_config *config,
                         double *probability)
{
    (void)config;
    double sum = 0;
    for (size_t i = 0; i < view->count; i++)
        sum += probability[i] = 1 / (1 + (double)view->visits[i]);
    for (size_t i = 0; i < view->count; i++)
        probability[i] /= sum;
    return true;
}

const wk_curriculum_rule *wk_plugin_curriculum(void)
{
    static const wk_curriculum_rule rule = {
        .abi = WK_CURRICULUM_ABI,
        .name = "even",
        .summary = "every environment as often as every other",
        .distribution = distribution,
    };
    return &rule;
}
