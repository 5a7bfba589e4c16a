// The tables of a report one after the other, for those who write them.
#ifndef WK_REPORT_REPORT_TABLES_H
#define WK_REPORT_REPORT_TABLES_H

#include "report/report.h"

enum {
    WK_TABLE_IMPROVEMENT = WK_TABLES, // before it: the tables of scores
    WK_TABLE_RANKING,
    WK_TABLE_MODEL_ERRORS,
    WK_TABLE_SETTINGS,
    WK_TABLE_RUNS,
    WK_REPORT_TABLES
};

/// Stem of the files of table number `i`.
const char *wk_report_table_name(const wk_report *report, int i);
/// Table number `i`, without rows where the report has no data for it; `for_page` puts the paper's
/// values below ours instead of into rows. Zero-initialise and free it.
void wk_report_table(const wk_report *report, int i, bool for_page, wk_text_table *out);
/// Every score of every run, one line each, with the sample it is of and whether tables use it; or
/// those of the tables only.
void wk_report_scores_csv(const wk_report *report, bool tables_only, wk_text *out);
/// Its numbers as CSV.
void wk_report_table_csv(const wk_report *report, int i, wk_text *out);

#endif
