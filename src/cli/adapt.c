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
    WK_OPT_TEXT("task", config.tasks, "TASK,...|all", "tasks, separated by commas, or all"),
    WK_OPT_TEXT("name", config.name, "NAME",
                "name of this adaptation, to keep several of one snapshot"),
    WK_OPT_INT("updates", updates, "N",
               "updates of reward heads and policies (default: one per train_every agent steps, 8 "
               "in the paper, collected by the snapshot)",
               1, 1000000000),
    WK_SEED_ARG_ROW(WK_VALUES, "the policies", "the run's"),
    WK_OPT_FLAG(
        "all-data", config.all_data,
        "train on all episodes the run has now, not only on those collected by the snapshot"),
    WK_OPT_FLAG("restart", config.restart, "start over and replace an existing adaptation"),
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
                       "--task is required: a task, several separated by commas, or all");
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
    .summary = "Train task policies in imagination, from a world model trained without rewards",
    .usage = "adapt RUN --task TASK,...|all [--snapshot STEP|all] [--name NAME] [--updates N]",
    .details =
        "Trains reward heads and task policies in the world model of a snapshot, on the episodes\n"
        "that the run had collected by then; no environment is stepped and the world model does\n"
        "not change. The result is RUN/adapt/step-.../weights.safetensors; with --name it is in\n"
        "RUN/adapt/step-....NAME, and 'waker eval --name NAME' evaluates it. The same command\n"
        "resumes an interrupted adaptation, with byte-identical results; signals and exit codes\n"
        "are those of 'waker train'. The run may be training at the same time. --snapshot all\n"
        "gives the points of a learning curve.\n",
    .examples = "adapt runs/a --task all\n"
                "adapt runs/a --snapshot 500000 --task walk,run --updates 50000\n"
                "adapt runs/a --snapshot all --task all",
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .resumes = true,
    .run = run,
};
