#include "run/checkpoint/data_cutoff.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

wk_data_cutoff wk_data_cutoff_now(const wk_replay *replay)
{
    wk_replay_stats stats = wk_replay_get_stats(replay);
    wk_data_cutoff cutoff = {.begun = stats.evicted + stats.episodes};
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (episode.slot >= 0) cutoff.running[cutoff.n_running++] = episode.id;
    }
    return cutoff;
}

void wk_data_cutoff_print(const wk_data_cutoff *cutoff, wk_text *out)
{
    wk_text_printf(out, "%" PRIu64, cutoff->begun);
    for (size_t i = 0; i < cutoff->n_running; i++)
        wk_text_printf(out, "%s%" PRIu64, i ? "," : " less ", cutoff->running[i]);
}

// The number at *text, which is moved after it.
static bool take_number(const char **text, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

static bool parse(const char *text, wk_data_cutoff *out)
{
    *out = (wk_data_cutoff){0};
    if (!take_number(&text, &out->begun)) return false;
    for (const char *gap = " less "; *text; gap = ",") {
        size_t length = strlen(gap);
        if (strncmp(text, gap, length) != 0 || out->n_running == WK_DATA_CUTOFF_RUNNING_MAX)
            return false;
        text += length;
        if (!take_number(&text, &out->running[out->n_running++])) return false;
    }
    return true;
}

wk_status wk_data_cutoff_parse(const char *text, wk_data_cutoff *out, wk_error *err)
{
    if (parse(text, out)) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%.40s' does not say which episodes had been collected",
                   text);
}

static bool within(const wk_data_cutoff *cutoff, uint64_t episode)
{
    for (size_t i = 0; i < cutoff->n_running; i++)
        if (cutoff->running[i] == episode) return false;
    return episode < cutoff->begun;
}

void wk_data_cutoff_apply(wk_replay *replay, const wk_data_cutoff *cutoff)
{
    for (size_t i = wk_replay_count(replay); i-- > 0;)
        if (!within(cutoff, wk_replay_at(replay, i).id)) wk_replay_remove(replay, i);
}
