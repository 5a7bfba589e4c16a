#include "train/divergence.h"

#include <inttypes.h>

enum { IN_A_ROW_MIN = 100 };

static const char ADVICE[] =
    "rewards or completions were not finite numbers, or the simulation broke down; see what "
    "'waker envs check' says about the domain, or narrow the range of its parameters";

// All environments several times over, so that a few bad θ are not taken for all.
static int limit(int environments)
{
    int several = 4 * environments;
    return several > IN_A_ROW_MIN ? several : IN_A_ROW_MIN;
}

wk_status wk_divergence_watch(wk_divergence *watch, int environments, const wk_iteration *done,
                              const wk_log *log, wk_error *err)
{
    for (int i = 0; i < done->n_ended; i++) {
        const wk_episode_end *end = &done->ended[i];
        watch->diverged_in_a_row = end->diverged ? watch->diverged_in_a_row + 1 : 0;
        watch->empty_in_a_row = end->steps == 0 ? watch->empty_in_a_row + 1 : 0;
        if (!end->diverged || watch->warned) continue;
        watch->warned = true;
        wk_log_line(log, WK_LOG_WARN,
                    "episode %" PRIu64 " diverged after %d steps and ends there; further ones are "
                    "counted in the status line and in metrics.jsonl",
                    end->episode, end->steps);
    }
    if (watch->diverged_in_a_row >= limit(environments))
        return wk_fail(err, WK_E_DIVERGED, "the last %d episodes all diverged: %s",
                       watch->diverged_in_a_row, ADVICE);
    if (watch->empty_in_a_row >= limit(environments))
        return wk_fail(err, WK_E_DIVERGED,
                       "the last %d episodes all ended at their reset, so no step is made; see "
                       "what 'waker envs check' says about the domain",
                       watch->empty_in_a_row);
    return WK_OK;
}

wk_status wk_divergence_finish(const wk_progress *now, wk_error *err)
{
    if (now->ended == 0 || now->diverged < now->ended) return WK_OK;
    return wk_fail(err, WK_E_DIVERGED, "all %" PRIu64 " episodes of the run diverged: %s",
                   now->ended, ADVICE);
}
