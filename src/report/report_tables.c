#include "report/report_tables.h"

const char *wk_report_table_name(const wk_report *report, int i)
{
    if (i == WK_TABLE_IMPROVEMENT) return "improvement";
    if (i == WK_TABLE_RANKING) return "iqm";
    if (i == WK_TABLE_MODEL_ERRORS) return "model-error";
    return report->tables[i].name;
}

void wk_report_table(const wk_report *report, int i, bool for_page, wk_text_table *out)
{
    if (i < WK_TABLES)
        wk_score_table_format(&report->tables[i], !for_page, out);
    else if (i == WK_TABLE_IMPROVEMENT)
        wk_improvement_table(&report->comparison, out);
    else if (i == WK_TABLE_RANKING)
        wk_ranking_table(&report->comparison, out);
    else
        wk_model_errors_table(&report->errors, out);
}

void wk_report_table_csv(const wk_report *report, int i, wk_text *out)
{
    if (i < WK_TABLES)
        wk_score_table_csv(&report->tables[i], out);
    else if (i == WK_TABLE_IMPROVEMENT)
        wk_improvement_csv(&report->comparison, out);
    else if (i == WK_TABLE_RANKING)
        wk_ranking_csv(&report->comparison, out);
    else
        wk_model_errors_csv(&report->errors, out);
}
