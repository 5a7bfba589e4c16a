#include "train/divergence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { IN_A_ROW_MIN = 100, REASON_MAX = WK_PYTHON_WHY_MAX + 200 };

static const char ADVICE[] =
    "rewards, completions or observations were not finite numbers, or the simulation broke down; "
    "check the domain with 'waker envs check', or narrow the range of its parameters";

// Why episodes diverged: the plug-in's own reason, where it has one, says more than advice for all.
static const char *reason(const wk_divergence *divergence, char out[REASON_MAX])
{
    if (!*divergence->why) return ADVICE;
    snprintf(out, REASON_MAX,
             "an environment failed, the last time because %s; see what 'waker envs check' says "
             "about the domain",
             divergence->why);
    return out;
}

// All environments several times over, so that a few bad θ are not taken for all.
static int limit(int environments)
{
    int several = 4 * environments;
    return several > IN_A_ROW_MIN ? several : IN_A_ROW_MIN;
}

static void count_diverged(wk_divergence *divergence, const wk_episode_end *end, const wk_log *log)
{
    divergence->diverged_in_a_row = end->diverged ? divergence->diverged_in_a_row + 1 : 0;
    divergence->empty_in_a_row = end->steps == 0 ? divergence->empty_in_a_row + 1 : 0;
    if (!end->diverged || divergence->warned) return;
    divergence->warned = true;
    wk_log_line(log, WK_LOG_WARN,
                "episode %" PRIu64
                " diverged after %d agent step%s and ends there; further ones are "
                "counted in the status line and in metrics.jsonl",
                end->episode, end->steps, wk_plural((uint64_t)end->steps));
}

static void count_short(wk_divergence *divergence, const wk_episode_end *end, int length,
                        const wk_log *log)
{
    int rows = end->steps + 1;
    bool too_short = rows < length && !end->diverged;
    divergence->short_in_a_row = too_short ? divergence->short_in_a_row + 1 : 0;
    if (!too_short) return;
    if (rows > divergence->longest) divergence->longest = rows;
    if (divergence->warned_short) return;
    divergence->warned_short = true;
    wk_log_line(log, WK_LOG_WARN,
                "episode %" PRIu64 " has %d row%s, fewer than a sequence of %d, and is not trained "
                "on; set a smaller length to use it",
                end->episode, rows, wk_plural((uint64_t)rows), length);
}

wk_status wk_divergence_check(wk_divergence *divergence, const wk_run_config *config,
                              const wk_iteration *done, const wk_log *log, wk_error *err)
{
    for (int i = 0; i < done->n_ended; i++) {
        count_diverged(divergence, &done->ended[i], log);
        count_short(divergence, &done->ended[i], config->length, log);
    }
    int many = limit(config->env_count);
    char why[REASON_MAX];
    if (divergence->diverged_in_a_row >= many)
        return wk_fail(err, WK_E_DIVERGED, "the last %d episodes all diverged: %s",
                       divergence->diverged_in_a_row, reason(divergence, why));
    if (divergence->empty_in_a_row >= many)
        return wk_fail(err, WK_E_DIVERGED,
                       "the last %d episodes all ended at their reset, so no step is made; check "
                       "the domain with 'waker envs check'",
                       divergence->empty_in_a_row);
    if (divergence->short_in_a_row >= many)
        return wk_fail(err, WK_E_INPUT,
                       "the last %d episodes were all shorter than a sequence of %d rows, so "
                       "nothing is learned from them; set length to %d or less",
                       divergence->short_in_a_row, config->length, divergence->longest);
    return WK_OK;
}

wk_status wk_divergence_finish(const wk_divergence *divergence, const wk_run_config *config,
                               const wk_progress *now, wk_error *err)
{
    char why[REASON_MAX];
    if (now->ended > 0 && now->diverged == now->ended)
        return wk_fail(err, WK_E_DIVERGED, "all %" PRIu64 " episodes of the run diverged: %s",
                       now->ended, reason(divergence, why));
    bool complete = strcmp(config->replay_episodes, "complete") == 0;
    // By then every environment could have filled a sequence and an update was due.
    int64_t due = config->prefill + (int64_t)config->length * config->env_count;
    if (now->updates == 0 && (int64_t)now->steps > due + config->train_every)
        return wk_fail(err, WK_E_INPUT,
                       "no update was made in %" PRIu64
                       " agent steps: no %sepisode has the %d rows of a "
                       "sequence; set a smaller length%s",
                       now->steps, complete ? "finished " : "", config->length,
                       complete ? ", or more agent steps, or replay.episodes all" : "");
    return WK_OK;
}
