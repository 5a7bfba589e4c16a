// The runs of a report with their settings: who is a seed of what, and in what the methods differ.
#ifndef WK_REPORT_TABLES_RUNS_TABLE_H
#define WK_REPORT_TABLES_RUNS_TABLE_H

#include "report/data/runs.h"
#include "report/tables/text_table.h"

/// One row for each run: method, seed, directory, how far it was evaluated, and the settings that
/// differ among runs of one domain and exploration.
void wk_runs_table(const wk_runs *runs, wk_text_table *out);
/// As wk_runs_table, with every setting, as CSV.
void wk_runs_table_csv(const wk_runs *runs, wk_text *out);

#endif
