// waker train: trains in a directory, or goes on there. Signals end it cleanly: the iteration is
// finished and saved, and the exit code says that the same command continues it.
#include "cli/cli.h"
#include "cli/long_run.h"
#include "cli/run_config.h"
#include <stdio.h>

typedef struct train_values {
    wk_run_args run;
    const char *directory;
} train_values;

static const train_values defaults = {.run = WK_RUN_ARGS_INIT};

static const wk_arg args[] = {
    {"logdir", "DIR", "directory of the run; one with a run in it is continued", WK_ARG_PATH,
     offsetof(train_values, directory), 0, 0},
    WK_RUN_ARG_ROWS(train_values, run),
};

static wk_status resolve(const train_values *v, const wk_log *log, wk_run_config *out,
                         wk_run_plugins *code, wk_error *err)
{
    if (!v->directory)
        return wk_fail(err, WK_E_INPUT,
                       "no directory: say where the run goes with --logdir, for example "
                       "--logdir runs/first");
    wk_setting keys[WK_ARG_SETTINGS_MAX];
    const wk_run_settings settings = wk_run_args_settings(&v->run, keys);
    return wk_run_settings_resolve(&settings, v->directory, log, out, code, err);
}

static wk_status train(wk_cli *cli, const train_values *v, wk_run_plugins *code, wk_error *err)
{
    static wk_run_config config;
    wk_cli_run around;
    const wk_log log = wk_cli_log(cli);
    WK_TRY(resolve(v, &log, &config, code, err));
    if (cli->threads > 0) config.env_threads = cli->threads;

    wk_cli_run_begin(cli, &around);
    const wk_train_extras extras = {.code = code};
    wk_run_end end = WK_RUN_FINISHED;
    WK_TRY(wk_train(&config, v->directory, &extras, &around.control, &end, err));
    return wk_cli_run_end(cli, end, v->directory, err);
}

static wk_status run(wk_cli *cli, const void *values, wk_error *err)
{
    wk_run_plugins code = {0};
    wk_status status = train(cli, values, &code, err);
    wk_run_plugins_close(&code);
    return status;
}

const wk_command wk_command_train = {
    .name = "train",
    .summary = "Train a world model without rewards, or go on where a run stopped",
    .usage = "train --logdir DIR --configs BLOCK... [--KEY VALUE]...\n"
             "train --logdir DIR --from RUN [--KEY VALUE]...\n"
             "train --logdir DIR",
    .details =
        "Blocks of settings apply from left to right over the defaults ('waker config --list'),\n"
        "then single keys; --from takes the settings of another run instead of the defaults. The\n"
        "same command on the same directory, or --logdir alone, continues a run, to the same\n"
        "bytes as if it had never stopped. SIGINT, SIGTERM, SIGUSR1, SIGUSR2, a lost terminal and\n"
        "a closed pipe finish the iteration, save and exit with code 75: run me again; a second\n"
        "SIGINT quits at once.",
    .examples = "train --logdir runs/a --configs terrain-walker waker-m plan2explore paper\n"
                "train --logdir runs/b --configs clean-up dr quick --steps 20000 --seed 1",
    .args = args,
    .n_args = sizeof args / sizeof *args,
    .values_size = sizeof(train_values),
    .defaults = &defaults,
    .run = run,
};
