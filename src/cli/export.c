// waker export: the episodes of a run as NumPy archives that dreamer's tools read.
#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "replay/npz.h"
#include "run/saved_run.h"
#include <stdio.h>

typedef struct export_values {
    const char *out;
    int episodes;
} export_values;

static const export_values defaults;

#define WK_VALUES export_values
static const wk_arg args[] = {
    WK_OPT_PATH("out", out, "DIR", "directory for the .npz files; created if missing"),
    WK_OPT_INT("episodes", episodes, "N",
               "export the newest N episodes (default: all in the replay buffer)", 1, 1000000000),
};

// File names begin with a time, by which dreamer sorts. Ours counts the episodes from a fixed day,
// so that exporting again gives the same names.
static const int64_t FIRST_NAME_TIME = 1577836800; // 2020-01-01T00:00:00Z

static wk_status write_episodes(const wk_saved_run *run, wk_replay *replay, const export_values *v,
                                wk_progress_line *progress, size_t *written, wk_error *err)
{
    size_t count = wk_replay_count(replay), finished = 0, skip = 0;
    for (size_t i = 0; i < count; i++)
        finished += wk_replay_at(replay, i).slot < 0;
    if (v->episodes > 0 && finished > (size_t)v->episodes) skip = finished - (size_t)v->episodes;
    int64_t wanted = (int64_t)(finished - skip);
    WK_TRY(wk_dir_create(v->out, err));
    for (size_t i = 0; i < count; i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        if (episode.slot >= 0) continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        char name[WK_NPZ_NAME_MAX], path[WK_PATH_MAX];
        wk_npz_name(replay, i, run->config.seed, FIRST_NAME_TIME + (int64_t)episode.id, name);
        WK_TRY(wk_path_join(v->out, name, path, err));
        WK_TRY(wk_npz_write(replay, i, path, err));
        ++*written;
        wk_progress_show(progress, (int64_t)*written, wanted, wk_clock_seconds());
    }
    return WK_OK;
}

static wk_status export_run(const wk_saved_run *run, const wk_cli *cli, const export_values *v,
                            wk_error *err)
{
    wk_replay *replay = NULL;
    size_t written = 0;
    WK_TRY(wk_saved_run_open_replay(run, NULL, &replay, err));
    wk_progress_line progress = {0};
    wk_cli_progress(cli, "episodes", &progress);
    wk_status status = write_episodes(run, replay, v, &progress, &written, err);
    wk_progress_finish(&progress);
    wk_replay_destroy(replay);
    if (status != WK_OK) return status;
    wk_text text = {0};
    wk_text_printf(&text, "%zu episode%s of %s written to %s\n", written, wk_plural(written),
                   run->directory, v->out);
    return wk_cli_print(&text, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const export_values *v = values;
    if (!v->out)
        return wk_fail(err, WK_E_INPUT, "--out DIR is required: the directory for the .npz files");
    wk_saved_run saved = {0};
    const wk_saved_run_options options = {.depth = WK_SAVED_CHECKPOINT, .own_tasks = true};
    wk_cli_warn_older(cli, cli->words.items[0]);
    wk_status status = wk_saved_run_open(cli->words.items[0], &options, &saved, err);
    if (status == WK_OK) status = export_run(&saved, cli, v, err);
    wk_saved_run_close(&saved);
    return status;
}

const wk_command wk_command_export = {
    .name = "export",
    .summary = "Write a run's episodes as NumPy archives, in dreamer's layout",
    .usage = "export RUN --out DIR [--episodes N]",
    .details =
        "One .npz file per finished episode of the newest checkpoint: image, action, reward\n"
        "and task_completion of every task, env_params, is_first, is_last, is_terminal. The\n"
        "same run gives the same bytes.\n",
    .examples = "export runs/a --out episodes --episodes 100",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
