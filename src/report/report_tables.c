#include "report/report_tables.h"

const char *wk_report_sheet_name(const wk_report *report, int i)
{
    if (i == WK_SHEET_IMPROVEMENT) return "improvement";
    if (i == WK_SHEET_STANDINGS) return "iqm";
    if (i == WK_SHEET_ERRORS) return "model-error";
    return report->tables[i].name;
}

void wk_report_sheet(const wk_report *report, int i, bool for_page, wk_sheet *out)
{
    if (i < WK_TABLES)
        wk_score_table_sheet(&report->tables[i], !for_page, out);
    else if (i == WK_SHEET_IMPROVEMENT)
        wk_improvement_sheet(&report->comparison, out);
    else if (i == WK_SHEET_STANDINGS)
        wk_standing_sheet(&report->comparison, out);
    else
        wk_model_errors_sheet(&report->errors, out);
}

void wk_report_sheet_csv(const wk_report *report, int i, wk_text *out)
{
    if (i < WK_TABLES)
        wk_score_table_csv(&report->tables[i], out);
    else if (i == WK_SHEET_IMPROVEMENT)
        wk_improvement_csv(&report->comparison, out);
    else if (i == WK_SHEET_STANDINGS)
        wk_standing_csv(&report->comparison, out);
    else
        wk_model_errors_csv(&report->errors, out);
}
