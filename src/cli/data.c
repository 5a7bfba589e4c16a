// The collected data of a run. waker export: its episodes as NumPy archives that dreamer's tools
// read. waker relabel: a reward that is written later becomes a task of it.
#include "base/file.h"
#include "base/json.h"
#include "base/machine.h"
#include "cli/cli.h"
#include "replay/npz.h"
#include "run/rewards.h"
#include "run/saved_run.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct export_values {
    const char *out;
    int episodes;
} export_values;

static const export_values export_defaults;

#define WK_VALUES export_values
static const wk_arg export_args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "out", out, "DIR",
                    "directory for the .npz files; created if missing"),
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

static wk_status run_export(wk_cli *cli, const void *values, wk_error *err)
{
    const export_values *v = values;
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
    WK_COMMAND_OPTIONS(export_args, export_defaults),
    .words = {1, 1},
    .run = run_export,
};

typedef struct relabel_values {
    const char *reward, *python, *plugin;
    bool restart, json;
} relabel_values;

static const relabel_values relabel_defaults;

#undef WK_VALUES
#define WK_VALUES relabel_values
static const wk_arg relabel_args[] = {
    WK_OPT_PATH("reward", reward, "FILE", "the plug-in with the reward"),
    WK_OPT_TEXT("python", python, "MODULE:FUNCTION",
                "a reward in Python; needs the waker of the Python package"),
    WK_PLUGIN_ARG_ROW(plugin, "take the run's domain from this plug-in"),
    WK_OPT_FLAG("restart", restart,
                "replace a reward of the same name that other code has computed"),
    WK_OPT_FLAG("json", json, "print JSON"),
};

static void print_json(const wk_relabel_result *r, wk_text *out)
{
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "task", r->name);
    wk_json_unsigned(&json, "episodes", r->episodes);
    wk_json_unsigned(&json, "rows", r->rows);
    wk_json_unsigned(&json, "simulated", r->simulated);
    wk_json_unsigned(&json, "steps", r->steps);
    wk_json_number(&json, "seconds", r->seconds);
    wk_json_number(&json, "mean_return", r->mean_return);
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}

static void print_text(const wk_relabel_result *r, const char *directory, wk_text *out)
{
    wk_text_printf(out, "task '%s' of %s: %" PRIu64 " episode%s, mean return %.5g\n", r->name,
                   directory, r->episodes, wk_plural(r->episodes), r->mean_return);
    if (r->simulated == 0)
        wk_text_puts(out, "already up to date\n");
    else
        wk_text_printf(out,
                       "%" PRIu64 " episode%s, %" PRIu64 " agent step%s, reproduced bit for bit in "
                       "%.3g s on %d thread%s: %.0f agent steps a second\n",
                       r->simulated, wk_plural(r->simulated), r->steps, wk_plural(r->steps),
                       r->seconds, r->threads, wk_plural((uint64_t)r->threads),
                       (double)r->steps / r->seconds);
}

static wk_status run_relabel(wk_cli *cli, const void *values, wk_error *err)
{
    const relabel_values *v = values;
    wk_progress_line progress = {0};
    wk_relabel_result result;
    if (v->python)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "--python: this program is built without Python; use the waker that 'pip "
                       "install .' installs, or 'python3 -m waker relabel %s --python %s'",
                       cli->words.items[0], v->python);
    if (!v->reward)
        return wk_fail(err, WK_E_INPUT, "--reward FILE is required: the plug-in with the reward");
    wk_cli_warn_older(cli, cli->words.items[0]);
    wk_log log = wk_cli_progress(cli, "episodes", &progress);
    const wk_relabel_config config = {.directory = cli->words.items[0],
                                      .reward = v->reward,
                                      .plugin = v->plugin,
                                      .restart = v->restart,
                                      .threads = cli->threads};
    wk_status status = wk_relabel(&config, &log, &progress, &result, err);
    wk_progress_finish(&progress);
    if (status != WK_OK) return status;
    wk_text text = {0};
    if (v->json)
        print_json(&result, &text);
    else
        print_text(&result, config.directory, &text);
    return wk_cli_print(&text, err);
}

const wk_command wk_command_relabel = {
    .name = "relabel",
    .summary = "Add a reward to a run after the fact, by re-simulating its episodes",
    .usage = "relabel RUN --reward FILE|--python MODULE:FUNCTION [--plugin FILE] [--restart] "
             "[--json]",
    .details =
        "Re-simulates the episodes in the replay of the newest checkpoint, physics alone, on all\n"
        "cores, and computes the reward (include/waker/reward.h) after every control step. The\n"
        "stored rewards of all tasks must be reproduced bit for bit; the first mismatch is an\n"
        "error. The result is RUN/rewards/NAME.safetensors, and NAME becomes a task of the run:\n"
        "adapt to it, then evaluate with 'waker eval --reward FILE'. Nothing else in the run\n"
        "changes. The same command again adds the episodes collected since; no process may be\n"
        "training in RUN.\n",
    .examples = "relabel runs/a --reward ./walk_at.so\n"
                "adapt runs/a --task walk-at",
    WK_COMMAND_OPTIONS(relabel_args, relabel_defaults),
    .words = {1, 1},
    .run = run_relabel,
};
