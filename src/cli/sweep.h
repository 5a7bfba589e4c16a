// What the commands about sweeps share.
#ifndef WK_CLI_SWEEP_H
#define WK_CLI_SWEEP_H

#include "cli/cli.h"
#include "sweep/cost.h"
#include "sweep/folder.h"
#include "sweep/launcher.h"

/// The launchers of --launch; the last is NULL.
extern const wk_sweep_launcher *const wk_cli_launchers[];

/// A sweep with its plan. Zero-initialise; close it also after a failure.
typedef struct wk_cli_sweep {
    wk_sweep_grid grid;
    wk_sweep_plan plan;
} wk_cli_sweep;

/// Opens the sweep that is in a directory.
wk_status wk_cli_sweep_open(const char *directory, wk_cli_sweep *out, wk_error *err);
void wk_cli_sweep_close(wk_cli_sweep *sweep);

/// Checks the tasks, cases and sets that the grid gives to the commands that follow a run against
/// the domains of its runs. Errors name the grid's line and a run.
wk_status wk_cli_sweep_check_follow(const wk_sweep_plan *plan, wk_error *err);

/// The rate of a shape: `updates` a second, or measured where that is 0 and `measure`.
wk_status wk_cli_sweep_cost(const wk_cli *cli, const wk_sweep_plan *plan,
                            const wk_sweep_entry *entries, double updates, bool measure,
                            wk_sweep_cost *total, wk_text *out, wk_error *err);

#endif
