// What waker train is given, and the part of it that trains a population: --each, or a directory
// that holds one.
#ifndef WK_CLI_TRAIN_POPULATION_H
#define WK_CLI_TRAIN_POPULATION_H

#include "cli/cli.h"
#include "cli/run_config.h"

/// Values of the command's options.
typedef struct wk_train_values {
    wk_run_args run;
    const char *directory;
    wk_arg_texts each;
    double lock_wait;
} wk_train_values;

/// Whether they mean a population. The directory is set.
wk_status wk_cli_is_population(const wk_train_values *values, bool *out, wk_error *err);

/// Trains all of its runs together, or resumes them.
wk_status wk_cli_train_population(wk_cli *cli, const wk_train_values *values, wk_error *err);

#endif
