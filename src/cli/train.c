// waker train: trains in a directory, or resumes the run there. Signals end it cleanly: the
// iteration is finished and saved, and the exit code says that the same command continues it.
#include "cli/long_run.h"
#include "cli/train_population.h"

static const wk_train_values defaults = {.run = WK_RUN_ARGS_INIT,
                                         .lock_wait = WK_LOCK_WAIT_SECONDS};

#define WK_VALUES wk_train_values
static const wk_arg args[] = {
    WK_OPT_PATH("logdir", directory, "DIR",
                "directory of the run; a run that is already there is resumed"),
    WK_OPT_TEXTS("each", each, "KEY=VALUES",
                 "train one run for each value (a,b or 0..4), all together, in directories below "
                 "--logdir; repeat it for all combinations of several keys"),
    WK_LOCK_WAIT_ARG_ROW(wk_train_values),
    WK_RUN_ARG_ROWS(wk_train_values, run),
};

static wk_status resolve(const wk_train_values *v, const wk_log *log, wk_run_config *out,
                         wk_run_plugins *code, wk_error *err)
{
    wk_setting keys[WK_RUN_SETTINGS_MAX];
    const wk_run_settings settings = wk_run_args_settings(&v->run, keys);
    return wk_run_settings_resolve(&settings, v->directory, log, out, code, err);
}

static wk_status train(wk_cli *cli, const wk_train_values *v, wk_run_plugins *code, wk_error *err)
{
    static wk_run_config config;
    wk_cli_run around;
    const wk_log log = wk_cli_log(cli);
    WK_TRY(resolve(v, &log, &config, code, err));
    if (cli->threads_given) config.env_threads = cli->threads;

    wk_cli_run_begin(cli, v->lock_wait, &around);
    const wk_train_extras extras = {.code = code};
    WK_TRY(wk_train(&config, v->directory, &extras, &around.control, &around.end, err));
    return wk_cli_run_end(cli, &around, v->directory, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    const wk_train_values *v = values;
    wk_run_plugins code = {0};
    if (!v->directory)
        return wk_fail(
            err, WK_E_INPUT,
            "--logdir DIR is required: the directory of the run, for example --logdir runs/first");
    bool several;
    WK_TRY(wk_cli_is_population(v, &several, err));
    if (several) return wk_cli_train_population(cli, v, err);
    wk_status status = train(cli, v, &code, err);
    wk_run_plugins_close(&code);
    return status;
}

const wk_command wk_command_train = {
    .name = "train",
    .summary = "Train a world model without rewards, or resume a run",
    .usage = "train --logdir DIR --configs BLOCK... [--KEY VALUE]...\n"
             "train --logdir DIR --configs BLOCK... --python MODULE:FUNCTION [--KEY VALUE]...\n"
             "train --logdir DIR --from RUN [--KEY VALUE]...\n"
             "train --logdir DIR --configs BLOCK... --each KEY=VALUES... [--KEY VALUE]...\n"
             "train --logdir DIR",
    .details =
        "Blocks of settings apply from left to right over the defaults ('waker config --list'\n"
        "shows them), then single keys. --from starts from the settings of another run instead\n"
        "of the defaults. The same command on the same directory, or --logdir alone, resumes a\n"
        "run; the results are byte-identical to those of a run that was never interrupted. On\n"
        "SIGINT, SIGTERM, SIGUSR1, SIGUSR2, a lost terminal or a closed pipe, the run finishes\n"
        "the iteration, saves and exits with code 75; run the same command to resume. A second\n"
        "SIGINT quits at once.\n\n"
        "--python trains in Gymnasium environments that your function creates, each in a\n"
        "process of its own (docs/python-environments.md).\n\n"
        "--each trains a population: its runs share one device and give the same results as\n"
        "alone. Each has a directory of its own, such as DIR/waker-m-seed0, that every command\n"
        "accepts. If a run fails, the others continue, and the exit code is that of the first\n"
        "failure.\n",
    .examples = "train --logdir runs/a --configs terrain-walker waker-m plan2explore paper\n"
                "train --logdir runs/b --configs clean-up dr quick --steps 20000 --seed 1\n"
                "train --logdir runs/mine --configs quick --python my_package.envs:make_env\n"
                "train --logdir runs/cu --configs clean-up plan2explore small "
                "--each curriculum.rule=waker-m,dr --each seed=0..4",
    WK_COMMAND_OPTIONS(args, defaults),
    .resumes = true,
    .run = run,
};
