// waker adapt: task policies from a finished or running reward-free run, without new environment
// steps. waker finetune: an adapted policy continues with environment steps and its task's reward.
#include "train/adapt.h"
#include "cli/args.h"
#include "cli/long_run.h"
#include "run/weights.h"
#include "train/finetune.h"

typedef struct adapt_values {
    wk_adapt_config config; // what options fill as it is
    wk_arg_seed seed;
    int updates;
    double lock_wait;
} adapt_values;

static const adapt_values adapt_defaults = {.config.snapshot = WK_STEP_LAST,
                                            .lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES adapt_values
static const wk_arg adapt_args[] = {
    WK_SNAPSHOTS_ARG_ROW(config.snapshot),
    WK_OPT_REQUIRED(WK_ARG_TEXT, "task", config.tasks, "TASK,...|all",
                    "tasks, separated by commas, or all"),
    WK_OPT_TEXT("name", config.name, "NAME",
                "name of this adaptation, to keep several of one snapshot"),
    WK_OPT_INT("updates", updates, "N",
               "updates of reward heads and policies (default: one per train_every agent steps, 8 "
               "in the paper, collected by the snapshot)",
               1, 1000000000),
    WK_SEED_ARG_ROW("the policies", "the run's"),
    WK_OPT_FLAG(
        "all-data", config.all_data,
        "train on all episodes the run has now, not only on those collected by the snapshot"),
    WK_OPT_FLAG("restart", config.restart, "start over and replace an existing adaptation"),
    WK_DEVICE_ARG_ROW(config.device, "the run's"),
    WK_LOCK_WAIT_ARG_ROW,
};

static wk_status adapt(wk_cli *cli, const void *values, wk_error *err)
{
    const adapt_values *v = values;
    wk_adapt_config config = v->config;
    wk_cli_run around;
    config.directory = cli->words.items[0];
    config.updates = v->updates;
    config.seed = v->seed.given ? &v->seed.value : NULL;
    config.threads = cli->threads;
    wk_cli_warn_older(cli, config.directory);
    wk_cli_run_begin(cli, v->lock_wait, false, &around);
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
    WK_COMMAND_OPTIONS(adapt_args, adapt_defaults),
    .words = {1, 1},
    .resumes = true,
    .run = adapt,
};

#undef WK_VALUES
typedef struct finetune_values {
    wk_finetune_config config; // what options fill as it is
    wk_arg_seed seed;
    wk_arg_texts rewards;
    double steps, lock_wait;
} finetune_values;

static const finetune_values finetune_defaults = {.config.snapshot = WK_STEP_LAST,
                                                  .lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES finetune_values
static const wk_arg finetune_args[] = {
    WK_OPT_REQUIRED(WK_ARG_TEXT, "task", config.task, "TASK", "the task to fine-tune for"),
    WK_OPT_NUMBER("steps", steps, "N", "agent steps to collect", 1, 1e15),
    WK_SNAPSHOT_ARG_ROW(config.snapshot),
    WK_OPT_TEXT("name", config.name, "NAME",
                "name of this fine-tuning, to keep several of one snapshot and task; it starts "
                "from the adaptation with this name if there is one"),
    WK_OPT_TEXT(
        "curriculum", config.curriculum, "run|RULE",
        "curriculum of the new episodes: dr, run for the run's own, or another rule (default: dr)"),
    WK_SEED_ARG_ROW("everything random", "derived from the run's"),
    WK_DEVICE_ARG_ROW(config.device, "the run's"),
    WK_REWARDS_ARG_ROW,
    WK_PLUGIN_ARG_ROWS(config.named.domain),
    WK_OPT_PATH("curriculum.plugin", config.named.rule, "FILE",
                "take the rule of --curriculum run from this plug-in"),
    WK_LOCK_WAIT_ARG_ROW,
};

static wk_status finetune(wk_cli *cli, const void *values, wk_error *err)
{
    const finetune_values *v = values;
    wk_finetune_config config = v->config;
    wk_cli_run around;
    if (v->steps < 1)
        return wk_fail(err, WK_E_INPUT, "--steps N is required: the agent steps to collect");
    config.directory = cli->words.items[0];
    config.steps = (int64_t)v->steps;
    config.seed = v->seed.given ? &v->seed.value : NULL;
    config.threads = cli->threads;
    config.named.rewards = v->rewards.items;
    config.named.n_rewards = v->rewards.count;
    wk_cli_warn_older(cli, config.directory);
    wk_cli_run_begin(cli, v->lock_wait, false, &around);
    WK_TRY(wk_finetune(&config, &around.control, &around.end, err));
    return wk_cli_run_end(cli, &around, config.directory, err);
}

const wk_command wk_command_finetune = {
    .name = "finetune",
    .summary = "Continue training an adapted policy on new agent steps, with the task's reward",
    .usage =
        "finetune RUN --task TASK --steps N [--snapshot STEP] [--name NAME] [--curriculum RULE]",
    .details =
        "The policy from 'waker adapt' (or one trained alongside) acts; world model, reward\n"
        "head and policy keep training on the run's episodes and the new ones. The result is a\n"
        "run like any other, in RUN/finetune/step-...-TASK[.NAME], with its weights in\n"
        "weights.safetensors. The same command resumes it, with byte-identical results; signals\n"
        "and exit codes are those of 'waker train'.\n",
    .examples = "finetune runs/a --task walk --steps 100000",
    WK_COMMAND_OPTIONS(finetune_args, finetune_defaults),
    .words = {1, 1},
    .resumes = true,
    .run = finetune,
};
