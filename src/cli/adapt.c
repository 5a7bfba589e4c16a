// waker adapt: task policies from a finished or running reward-free run, without new environment
// steps.
#include "train/adapt.h"
#include "cli/args.h"
#include "cli/long_run.h"
#include <string.h>

typedef struct adapt_values {
    wk_adapt_config config; // what options fill as it is
    const char *snapshot;
    wk_arg_seed seed;
    int updates;
    double lock_wait;
} adapt_values;

static const adapt_values defaults = {.lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES adapt_values
static const wk_arg args[] = {
    WK_SNAPSHOTS_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("task", config.tasks, "TASK,...|all", "tasks, with commas between, or all"),
    WK_OPT_TEXT("name", config.name, "NAME",
                "make an adaptation of this name, beside others of that snapshot"),
    WK_OPT_INT("updates", updates, "N",
               "of heads and policies (default: one for each train_every agent steps collected by "
               "then, which in the paper is 8)",
               1, 1000000000),
    WK_SEED_ARG_ROW(WK_VALUES, "the policies", "the run's"),
    WK_OPT_FLAG("all-data", config.all_data,
                "learn from all episodes the run has now, not only those of that step"),
    WK_OPT_FLAG("restart", config.restart, "begin anew, whatever is there"),
    WK_DEVICE_ARG_ROW(WK_VALUES, config.device, "the run's"),
    WK_LOCK_WAIT_ARG_ROW(adapt_values),
};

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const adapt_values *v = values;
    wk_adapt_config config = v->config;
    config.directory = cli->words.items[0];
    config.updates = v->updates;
    config.seed = v->seed.given ? &v->seed.value : NULL;
    config.threads = cli->threads;
    if (!config.tasks)
        return wk_fail(err, WK_E_INPUT,
                       "which task? give --task NAME, several with commas, or "
                       "--task all");
    if (v->snapshot && strcmp(v->snapshot, "all") == 0)
        config.snapshot = WK_ADAPT_ALL;
    else
        WK_TRY(wk_snapshot_arg(v->snapshot, &config.snapshot, err));
    wk_cli_warn_older(cli, config.directory);
    wk_cli_run around;
    wk_cli_run_begin(cli, v->lock_wait, &around);
    WK_TRY(wk_adapt(&config, &around.control, &around.end, err));
    return wk_cli_run_end(cli, &around, config.directory, err);
}

const wk_command wk_command_adapt = {
    .name = "adapt",
    .summary = "Derive task policies from a run without rewards, in imagination",
    .usage = "adapt RUN --task TASK,...|all [--snapshot STEP|all] [--name NAME] [--updates N]",
    .details =
        "Trains reward heads and task policies in the world model of a snapshot, on the\n"
        "episodes the run had collected by then; no environment is stepped and the world model\n"
        "stays as it is. The result is RUN/adapt/step-.../weights.safetensors, with --name in\n"
        "RUN/adapt/step-....NAME; 'waker eval --name NAME' looks at that one. The same command\n"
        "continues what was interrupted, to the same bytes; signals and exit codes are those of\n"
        "'waker train'. The run may be training meanwhile. --snapshot all gives the points of a\n"
        "learning curve.\n",
    .examples = "adapt runs/a --task all\n"
                "adapt runs/a --snapshot 500000 --task walk,run --updates 50000\n"
                "adapt runs/a --snapshot all --task all",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .run = run,
};
