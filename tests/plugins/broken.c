// The template plug-in with one thing wrong, chosen by BREAK when it is compiled. What a loader can
// see is broken here; faults of behaviour are in support/toy_domain.c.
#include "waker/env.h"

#define NOTHING 0
#define ENTRY_MISSING 1
#define ENTRY_NULL 2
#define OTHER_ABI 3
#define OTHER_SIZE 4
#define BAD_NAME 5
#define SYMBOL_MISSING 6
#define HARDEST_ILLEGAL 7
#define REWARD_NAN 8
#define NAME_TAKEN 9
#define MESSAGE_ESCAPES 10

const wk_domain *ball_entry(void);
#define wk_plugin_entry ball_entry
#include "../../examples/plugin/ball.c"
#undef wk_plugin_entry

#if BREAK == SYMBOL_MISSING
void defined_nowhere(void);
#endif

#if BREAK == REWARD_NAN
static void step_to_nan(void *env, const float *action, wk_outcome *out)
{
    step(env, action, out);
    out->rewards[CIRCLE] = NAN;
}
#endif

#if BREAK == MESSAGE_ESCAPES
static wk_status create_nothing(const wk_domain *self, const int *chosen, void **env, wk_error *err)
{
    (void)self, (void)chosen, (void)env;
    snprintf(err->message, sizeof err->message, "\033[31mred\nfault: forged");
    return WK_E_INPUT;
}
#endif

#if BREAK != ENTRY_MISSING
const wk_domain *wk_plugin_entry(void)
{
    static wk_domain broken;
    broken = *ball_entry();
#if BREAK == ENTRY_NULL
    return NULL;
#elif BREAK == OTHER_ABI
    broken.abi = 42;
#elif BREAK == OTHER_SIZE
    broken.size -= 8;
#elif BREAK == BAD_NAME
    broken.name = "Ball On Table";
#elif BREAK == NAME_TAKEN
    broken.name = "terrain-walker";
#elif BREAK == SYMBOL_MISSING
    defined_nowhere();
#elif BREAK == HARDEST_ILLEGAL
    static const double impossible[N_PARAMS] = {9, 0};
    broken.hardest = impossible;
#elif BREAK == REWARD_NAN
    broken.step = step_to_nan;
#elif BREAK == MESSAGE_ESCAPES
    broken.create = create_nothing;
#endif
    return &broken;
}
#endif
