// A report without figures, made of runs in a directory, and what its tables hold.
#ifndef WK_TESTS_REPORT_SCORE_FIXTURE_H
#define WK_TESTS_REPORT_SCORE_FIXTURE_H

#include "report/made_runs.h"
#include "report/report.h"

static const wk_results_config usual = {.step = -1};

static inline void open_report(wk_report *report, const char *path, wk_results_config results)
{
    wk_error err = {0};
    *report = (wk_report){0};
    const wk_report_config config = {.runs = {.paths = &path, .n_paths = 1},
                                     .results = results,
                                     .bootstrap = {.reps = 200, .size = 0.95, .seed = 1}};
    assert_ok(wk_report_gather(&config, report, &err));
}

static inline const wk_table_entry *entry_of(const wk_report *report, wk_table_kind kind,
                                             size_t row, size_t column)
{
    const wk_score_table *table = &report->scores[kind];
    assert_true(row < table->rows && column < table->columns);
    return &table->entries.items[row * table->columns + column];
}

static inline void expect_sentence(const wk_sentences *sentences, const char *part)
{
    for (size_t i = 0; i < sentences->items.count; i++)
        if (strstr(sentences->items.items[i], part)) return;
    fail_msg("nothing says '%s'; the first of %zu is '%s'", part, sentences->items.count,
             sentences->items.count ? sentences->items.items[0] : "");
}

#endif
