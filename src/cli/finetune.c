// waker finetune: an adapted policy continues with environment steps and its task's reward.
#include "train/finetune.h"
#include "cli/args.h"
#include "cli/long_run.h"

typedef struct finetune_values {
    wk_finetune_config config; // what options fill as it is
    const char *snapshot;
    wk_arg_seed seed;
    wk_arg_texts rewards;
    double steps, lock_wait;
} finetune_values;

static const finetune_values defaults = {.lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES finetune_values
static const wk_arg args[] = {
    WK_OPT_TEXT("task", config.task, "TASK", "the task to fine-tune for"),
    WK_OPT_NUMBER("steps", steps, "N", "agent steps to collect", 1, 1e15),
    WK_SNAPSHOT_ARG_ROW(WK_VALUES),
    WK_OPT_TEXT("name", config.name, "NAME",
                "name of this fine-tuning, to keep several of one snapshot and task; it starts "
                "from the adaptation with this name if there is one"),
    WK_OPT_TEXT(
        "curriculum", config.curriculum, "run|RULE",
        "curriculum of the new episodes: dr, run for the run's own, or another rule (default: dr)"),
    WK_SEED_ARG_ROW(WK_VALUES, "everything random", "derived from the run's"),
    WK_DEVICE_ARG_ROW(WK_VALUES, config.device, "the run's"),
    WK_OPT_PATHS("reward", rewards, "FILE",
                 "plug-in of a reward that 'waker relabel' added; may be repeated"),
    WK_OPT_PATH("plugin", config.named.domain, "FILE", "take the run's domain from this plug-in"),
    WK_PYTHON_ARG_ROW(WK_VALUES, config.named.domain,
                      "take the run's environments from this Python function"),
    WK_OPT_PATH("curriculum.plugin", config.named.rule, "FILE",
                "take the rule of --curriculum run from this plug-in"),
    WK_LOCK_WAIT_ARG_ROW(finetune_values),
};

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const finetune_values *v = values;
    wk_finetune_config config = v->config;
    if (!config.task)
        return wk_fail(err, WK_E_INPUT, "--task is required: the task to fine-tune for");
    if (v->steps < 1)
        return wk_fail(err, WK_E_INPUT, "--steps N is required: the agent steps to collect");
    config.directory = cli->words.items[0];
    config.steps = (int64_t)v->steps;
    config.seed = v->seed.given ? &v->seed.value : NULL;
    config.threads = cli->threads;
    config.named.rewards = v->rewards.items;
    config.named.n_rewards = v->rewards.count;
    WK_TRY(wk_snapshot_arg(v->snapshot, &config.snapshot, err));
    wk_cli_warn_older(cli, config.directory);
    wk_cli_run around;
    wk_cli_run_begin(cli, v->lock_wait, &around);
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
    WK_COMMAND_OPTIONS(args, defaults),
    .min_words = 1,
    .max_words = 1,
    .resumes = true,
    .run = run,
};
