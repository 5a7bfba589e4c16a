// What the commands about sweeps share.
#ifndef WK_CLI_SWEEP_H
#define WK_CLI_SWEEP_H

#include "cli/cli.h"
#include "sweep/sweep.h"

/// A sweep with its plan. Zero-initialise; close it also after a failure.
typedef struct wk_cli_sweep {
    wk_sweep_grid grid;
    wk_sweep_plan plan;
} wk_cli_sweep;

/// Opens the sweep that is in a directory.
wk_status wk_cli_sweep_open(const char *directory, wk_cli_sweep *out, wk_error *err);
void wk_cli_sweep_close(wk_cli_sweep *sweep);

/// Checks the tasks, cases and sets that the grid gives to the commands that follow a run against
/// the domains of its runs: a wrong name must not be found only after all of them were trained.
/// Errors name the grid's line and a run.
wk_status wk_cli_sweep_check_follow(const wk_sweep_plan *plan, wk_error *err);

#endif
