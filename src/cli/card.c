// waker card: a folder for a model hub.
#include "report/card.h"
#include "cli/chosen_domain.h"
#include "cli/cli.h"
#include "run/weights.h"

typedef struct card_values {
    wk_card_config config; // what options fill as it is
    wk_named_plugins named;
    wk_arg_texts rewards;
} card_values;

static const card_values defaults = {.config.step = WK_STEP_LAST};

#define WK_VALUES card_values
static const wk_arg args[] = {
    WK_OPT_REQUIRED(WK_ARG_PATH, "out", config.out, "DIR", "directory to create"),
    WK_SNAPSHOT_ARG_ROW(config.step),
    WK_OPT_TEXT("policy", config.policy, "adapted|alongside|finetuned",
                "which policies (default: adapted if any, else alongside)"),
    WK_OPT_TEXT("name", config.name, "NAME", "use the adaptation or fine-tuning with this name"),
    WK_OPT_FLAG("compact", config.compact,
                "write the weights in 16 and 8 bits, without what only training needs"),
    WK_OPT_FLAG("no-video", config.no_video,
                "no replays: no episode is played, so a plug-in's code is not needed"),
    WK_OPT_PATH("license", config.licence, "FILE",
                "licence of the weights (default: MIT, that of waker)"),
    WK_DEVICE_ARG_ROW(config.device, "the run's"),
    WK_PLUGIN_ARG_ROWS(named.domain),
    WK_REWARDS_ARG_ROW,
};

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const card_values *v = values;
    wk_progress_line progress = {0};
    wk_log log = wk_cli_progress(cli, "frames", &progress);
    wk_named_plugins named = v->named;
    wk_card_config config = v->config;
    config.run = cli->words.items[0];
    named.rewards = v->rewards.items;
    named.n_rewards = v->rewards.count;
    config.named = &named;
    config.threads = cli->threads;
    config.log = &log;
    config.progress = &progress;
    wk_card_summary made;
    wk_status status = wk_card_make(&config, &made, err);
    wk_progress_finish(&progress);
    if (status != WK_OK || cli->quiet) return status;
    wk_text text = {0};
    char steps[WK_STEPS_TEXT_MAX];
    wk_steps_text(made.step, made.action_repeat, steps);
    wk_text_printf(&text,
                   "%s policies after %s: %zu task%s, %zu result%s, %zu files, written to "
                   "%s/README.md\n",
                   made.policy, steps, made.tasks, wk_plural(made.tasks), made.results,
                   wk_plural(made.results), made.files, config.out);
    return wk_cli_print(&text, err);
}

const wk_command wk_command_card = {
    .name = "card",
    .summary = "Create a directory for a model hub: card, weights, results, replays, licence",
    .usage = "card RUN --out DIR [--policy KIND] [--snapshot STEP|last] [--name NAME]\n"
             "card RUN --out DIR [--compact] [--no-video] [--license FILE]",
    .details =
        "README.md contains the front matter that hubs read, the results of 'waker eval', five\n"
        "lines of code that load a policy, the settings, and the hashes of all files. Weights\n"
        "are safetensors files; one episode of every task is recorded as GIF and, where ffmpeg\n"
        "is installed, as MP4. DIR has the layout of a run: 'waker eval DIR' and Python's\n"
        "waker.Policy(DIR, ...) read it.\n\n"
        "With --compact the weights have world model, reward heads and actors alone: in 16 bits,\n"
        "those of decoder and reward heads in 8. They act and imagine; 'waker adapt',\n"
        "'finetune' and 'model-error' refuse them.\n",
    .examples = "card runs/a --out hub/a\n"
                "card runs/a --out hub/a-compact --compact",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
