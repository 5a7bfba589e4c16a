// waker relabel: a reward that is written after a run has collected its data becomes a task of it.
#include "cli/cli.h"
#include "run/rewards.h"
#include <inttypes.h>

typedef struct relabel_values {
    const char *reward, *python, *plugin;
    bool restart, json;
} relabel_values;

static const relabel_values defaults;

#define WK_VALUES relabel_values
static const wk_arg args[] = {
    WK_OPT_PATH("reward", reward, "FILE", "the plug-in with the reward"),
    WK_OPT_TEXT("python", python, "MODULE:FUNCTION",
                "a reward in Python; needs the waker of the Python package"),
    WK_PLUGIN_ARG_ROW(WK_VALUES),
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

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
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
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
