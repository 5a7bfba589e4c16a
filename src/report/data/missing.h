// What a complete report would have and these runs do not: runs of the grid that are not there,
// runs without results, results that only other runs have, evaluations that stopped earlier.
#ifndef WK_REPORT_DATA_MISSING_H
#define WK_REPORT_DATA_MISSING_H

#include "report/data/seed_scores.h"

/// Compares the runs with each other: the methods and seeds of a domain and exploration are those
/// that any of its runs has. Zero-initialise and free it also on failure.
wk_status wk_missing_find(const wk_runs *runs, const wk_seed_scores_config *config,
                          wk_sentences *out, wk_error *err);

#endif
