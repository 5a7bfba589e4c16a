// The template curriculum with one thing wrong, chosen by BREAK when it is compiled.
#include "waker/curriculum.h"

#include <math.h>

#define RULE_MISSING 1
#define RULE_NULL 2
#define RULE_OTHER_ABI 3
#define RULE_NAMELESS 4
#define RULE_NAME_TAKEN 5
#define RULE_NEGATIVE 6
#define RULE_NAN 7
#define RULE_SUM 8
#define RULE_ZERO 9
#define RULE_PREFILL_NEGATIVE 11
#define RULE_BAD_NAME 13
#define RULE_PREFILL 12 // nothing wrong: a prefill of its own

const wk_curriculum_rule *even_rule(void);
#define wk_plugin_curriculum even_rule
#include "../../examples/curriculum/even.c"
#undef wk_plugin_curriculum

// Right numbers, then one thing wrong with them.
static bool wrong(const wk_curriculum_view *view, const wk_curriculum_config *config, double *p)
{
    distribution(view, config, p);
    size_t last = view->count - 1;
#if BREAK == RULE_NEGATIVE
    p[0] += 2 * p[last];
    p[last] = -p[last];
#elif BREAK == RULE_NAN
    p[last] = NAN;
#elif BREAK == RULE_SUM
    p[last] += 0.5;
#elif BREAK == RULE_ZERO
    for (size_t i = 0; i <= last; i++)
        p[i] = 0;
#endif
    (void)last;
    return true;
}

const wk_curriculum_rule *broken_rule(void);
#if BREAK != RULE_MISSING
#define broken_rule wk_plugin_curriculum
#endif
const wk_curriculum_rule *broken_rule(void)
{
    static wk_curriculum_rule broken;
    broken = *even_rule();
    broken.distribution = wrong;
#if BREAK == RULE_NULL
    return NULL;
#elif BREAK == RULE_OTHER_ABI
    broken.abi = 1; // what came before rules saw θ and kept a state
#elif BREAK == RULE_NAMELESS
    broken.name = "";
#elif BREAK == RULE_BAD_NAME
    broken.name = "my rule/../x";
#elif BREAK == RULE_NAME_TAKEN
    broken.name = "waker-m";
#elif BREAK == RULE_PREFILL_NEGATIVE
    broken.prefill = -1;
#elif BREAK == RULE_PREFILL
    broken.prefill = 70;
#endif
    return &broken;
}
