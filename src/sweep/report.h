// The report over all runs of a sweep, made once for each set of runs that are done.
#ifndef WK_SWEEP_REPORT_H
#define WK_SWEEP_REPORT_H

#include "sweep/launcher.h"

/// Makes DIRECTORY/report where the grid asks for it, unless it was made of the same runs already.
/// `end` becomes WK_SWEEP_FINDINGS where it had to leave something out and all was well before.
wk_status wk_sweep_report_make(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err);

/// Whether there is nothing left to do for it.
wk_status wk_sweep_report_done(const wk_sweep_plan *plan, const char *directory, bool *out,
                               wk_error *err);

#endif
