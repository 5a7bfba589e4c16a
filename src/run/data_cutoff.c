#include "run/data_cutoff.h"

#include "config/parts.h"
#include "run/checkpoint.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

wk_extent wk_extent_now(const wk_replay *replay)
{
    wk_replay_stats stats = wk_replay_get_stats(replay);
    wk_extent extent = {.begun = stats.evicted + stats.episodes};
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (episode.slot >= 0) extent.running[extent.n_running++] = episode.id;
    }
    return extent;
}

void wk_extent_print(const wk_extent *extent, wk_text *out)
{
    wk_text_printf(out, "%" PRIu64, extent->begun);
    for (size_t i = 0; i < extent->n_running; i++)
        wk_text_printf(out, "%s%" PRIu64, i ? "," : " less ", extent->running[i]);
}

// The number at *text, which is moved behind it.
static bool take_number(const char **text, uint64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)**text)) return false;
    *out = strtoull(*text, &end, 10);
    *text = end;
    return true;
}

static bool parse(const char *text, wk_extent *out)
{
    *out = (wk_extent){0};
    if (!take_number(&text, &out->begun)) return false;
    for (const char *gap = " less "; *text; gap = ",") {
        size_t length = strlen(gap);
        if (strncmp(text, gap, length) != 0 || out->n_running == WK_EXTENT_RUNNING_MAX)
            return false;
        text += length;
        if (!take_number(&text, &out->running[out->n_running++])) return false;
    }
    return true;
}

wk_status wk_extent_parse(const char *text, wk_extent *out, wk_error *err)
{
    if (parse(text, out)) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%.40s' does not say which episodes had been collected",
                   text);
}

wk_status wk_run_data_open(const char *directory, const wk_run_config *config,
                           const wk_domain *domain, wk_pool *pool, wk_replay **out, wk_error *err)
{
    uint64_t step;
    wk_checkpoint_summary newest;
    WK_TRY(wk_checkpoint_newest(directory, &step, err));
    WK_TRY(wk_checkpoint_look(directory, step, &newest, err));
    wk_replay_config sizes = wk_run_replay_config(config, domain);
    sizes.pool = pool;
    WK_TRY(wk_replay_create(&sizes, out, err));
    char path[4096];
    snprintf(path, sizeof path, "%s/replay", directory);
    wk_status status = wk_replay_log_read(path, &newest.replay, *out, err);
    if (status == WK_OK) return WK_OK;
    wk_replay_destroy(*out);
    *out = NULL;
    wk_fail_context(err, "the data of the run in '%s'", directory);
    return status;
}

static bool within(const wk_extent *extent, uint64_t episode)
{
    for (size_t i = 0; i < extent->n_running; i++)
        if (extent->running[i] == episode) return false;
    return episode < extent->begun;
}

void wk_run_data_limit(wk_replay *replay, const wk_extent *extent)
{
    for (size_t i = wk_replay_count(replay); i-- > 0;)
        if (!within(extent, wk_replay_at(replay, i).id)) wk_replay_remove(replay, i);
}
