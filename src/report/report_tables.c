#include "report/report_tables.h"

#include "report/tables/runs_table.h"
#include "report/tables/settings_table.h"
#include <inttypes.h>
#include <string.h>

const char *wk_report_table_name(const wk_report *report, int i)
{
    static const char *const names[] = {[WK_TABLE_RUNS] = "runs",
                                        [WK_TABLE_SETTINGS] = "settings",
                                        [WK_TABLE_IMPROVEMENT] = "improvement",
                                        [WK_TABLE_RANKING] = "iqm",
                                        [WK_TABLE_MODEL_ERRORS] = "model-error"};
    return i < WK_TABLES ? report->tables[i].name : names[i];
}

void wk_report_table(const wk_report *report, int i, bool for_page, wk_text_table *out)
{
    if (i < WK_TABLES)
        wk_score_table_format(&report->tables[i], !for_page, out);
    else if (i == WK_TABLE_RUNS)
        wk_runs_table(&report->runs, out);
    else if (i == WK_TABLE_SETTINGS)
        wk_settings_table(&report->runs, out);
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
    else if (i == WK_TABLE_RUNS)
        wk_runs_table_csv(&report->runs, out);
    else if (i == WK_TABLE_SETTINGS)
        wk_settings_table_csv(&report->runs, out);
    else if (i == WK_TABLE_IMPROVEMENT)
        wk_improvement_csv(&report->comparison, out);
    else if (i == WK_TABLE_RANKING)
        wk_ranking_csv(&report->comparison, out);
    else
        wk_model_errors_csv(&report->errors, out);
}

void wk_report_scores_csv(const wk_report *report, bool tables_only, wk_text *out)
{
    wk_text_puts(out, "metric,domain,variant,task,exploration,curriculum,seed,step,policy,episodes,"
                      "eval_seed,value,in_tables,run\n");
    for (size_t i = 0; i < report->scores.items.count; i++) {
        const wk_seed_score *s = &report->scores.items.items[i];
        if (strcmp(s->key.names[WK_FIELD_METRIC], WK_METRIC_OOD_TASKS) == 0 ||
            (tables_only && !s->final))
            continue;
        for (int f = 0; f < WK_FIELDS; f++) {
            wk_csv_field(out, s->key.names[f]);
            wk_text_puts(out, ",");
        }
        wk_text_printf(out, "%" PRIu64 ",%" PRIu64 ",", s->seed, s->step);
        wk_csv_field(out, s->policy);
        wk_text_printf(out, ",%" PRIu64 ",%" PRIu64 ",%.17g,%d,", s->episodes, s->eval_seed,
                       s->value, s->final);
        wk_csv_field(out, s->run->directory);
        wk_text_puts(out, "\n");
    }
}
