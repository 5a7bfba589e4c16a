// In what the methods of a report differ, where that are more settings than their names spell out.
#ifndef WK_REPORT_TABLES_SETTINGS_TABLE_H
#define WK_REPORT_TABLES_SETTINGS_TABLE_H

#include "report/data/runs.h"
#include "report/tables/text_table.h"

/// One row for each setting that differs among runs of one domain and exploration, one column for
/// each method. Without rows where no more settings differ than remarks spell out
/// (WK_SETTINGS_SPELLED_MAX).
void wk_settings_table(const wk_runs *runs, wk_text_table *out);
/// The same with one line for each setting and method, as CSV.
void wk_settings_table_csv(const wk_runs *runs, wk_text *out);

#endif
