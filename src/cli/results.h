// Where eval and model-error put their results: into the run, or into a directory of their own for
// runs that cannot be written to.
#ifndef WK_CLI_RESULTS_H
#define WK_CLI_RESULTS_H

#include "run/saved_run.h"

/// Chooses `out`, or the run where it is NULL, and checks that results can be written there, before
/// time is spent on them. A directory of results gets the run's config.yaml and plugin.json, so
/// that it is read as that run; one of another run is refused.
wk_status wk_cli_results_directory(const wk_saved_run *run, const char *out, const char **directory,
                                   wk_error *err);

#endif
