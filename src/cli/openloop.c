// waker openloop: what a run's world model imagines after a few frames, next to what happens.
#include "cli/cli.h"
#include "eval/open_loop.h"
#include "run/weights.h"
#include <inttypes.h>

typedef struct openloop_values {
    wk_open_loop_question asked; // what options fill as it is
    wk_arg_seed seed;
} openloop_values;

static const openloop_values defaults = {
    .asked = {.step = WK_STEP_LAST, .policy = "random", .context = 5, .steps = 50}};

#define WK_VALUES openloop_values
static const wk_arg args[] = {
    WK_OPT_PATH("out", asked.out, "FILE.gif|FILE.mp4|FILE.csv",
                "file to write; a still is written next to it as FILE.png, vectors as FILE.csv "
                "(default: in RUN/eval, where 'waker report' finds it)"),
    WK_SNAPSHOT_ARG_ROW(asked.step),
    WK_OPT_TEXT("policy", asked.policy, "random|explore|TASK", "who acts (default: random)"),
    WK_OPT_TEXT("name", asked.name, "NAME", "use the task policy of the adaptation with this name"),
    WK_OPT_TEXT("case", asked.eval_case, "dr|train|CASE",
                "environments: dr, train (for a run with curriculum.theta) or an "
                "out-of-distribution case (default: train if there, else dr)"),
    WK_OPT_INT("context", asked.context, "N", "frames that the model observes (default: 5)", 1,
               1024),
    WK_OPT_INT("steps", asked.steps, "N", "total frames, one per agent step (default: 50)", 2,
               1024),
    WK_SEED_ARG_ROW("the episodes", "0"),
    WK_DEVICE_ARG_ROW(asked.device, "the run's"),
    WK_PLUGIN_ARG_ROWS(asked.plugin),
};

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const openloop_values *v = values;
    wk_progress_line progress = {0};
    wk_log log = wk_cli_progress(cli, "frames", &progress);
    wk_open_loop_question asked = v->asked;
    wk_open_loop_files made;
    wk_text text = {0};
    asked.run = cli->words.items[0];
    asked.seed = v->seed.value;
    asked.threads = cli->threads;
    asked.log = &log;
    asked.progress = &progress;
    wk_status status = wk_open_loop_make(&asked, &made, err);
    wk_progress_finish(&progress);
    if (status != WK_OK || cli->quiet) return status;
    bool images = !made.observation.no_image, vectors = made.observation.vector > 0;
    wk_text_printf(&text,
                   "%d sequences of %d frames, of which the model of agent step %" PRIu64
                   " (control step %" PRIu64 ") sees %d: %s%s%s\n",
                   WK_OPEN_LOOP_SEQUENCES, made.steps, made.step,
                   made.step * (uint64_t)made.action_repeat, asked.context, made.path,
                   images ? ", and a still as .png" : "",
                   images && vectors ? ", vectors as .csv" : "");
    return wk_cli_print(&text, err);
}

const wk_command wk_command_openloop = {
    .name = "openloop",
    .summary = "Show open-loop predictions of a run's world model next to the truth",
    .usage = "openloop RUN [--out FILE.gif|FILE.mp4] [--snapshot STEP|last] [--policy "
             "random|explore|TASK]\n"
             "openloop RUN [--out FILE.gif] [--case CASE] [--context N] [--steps N] [--seed N]",
    .details =
        "Plays six new episodes. The model observes the first frames, then only the actions.\n"
        "Columns are episodes, with their parameters; rows are truth, model and error (grey\n"
        "where they agree). The still shows every few frames; the numbers of observed ones are\n"
        "green. Vector observations become a table with truth and model; without images it is\n"
        "the only output.\n",
    .examples = "openloop runs/a --policy explore --out imagined.gif",
    WK_COMMAND_OPTIONS(args, defaults),
    .words = {1, 1},
    .run = run,
};
