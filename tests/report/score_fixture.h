// Runs read from a directory, what they say, and one table of it.
#ifndef WK_TESTS_REPORT_SCORE_FIXTURE_H
#define WK_TESTS_REPORT_SCORE_FIXTURE_H

#include "report/made_runs.h"
#include "report/tables/score_table.h"

typedef struct fixture {
    wk_paper paper;
    wk_runs runs;
    wk_seed_scores scores;
    wk_score_table table;
} fixture;

static inline fixture open_scores(const char *path, wk_seed_scores_config config,
                                  wk_table_kind kind)
{
    wk_error err = {0};
    fixture f = {0};
    const wk_bootstrap_config bootstrap = {.reps = 200, .size = 0.95};
    assert_ok(wk_paper_read(&f.paper, &err));
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &f.runs, &err));
    assert_ok(wk_seed_scores_collect(&f.runs, &f.paper, &config, &f.scores, &err));
    assert_ok(wk_score_table_make(&f.scores, kind, &bootstrap, &f.table, &err));
    return f;
}

static inline void close_scores(fixture *f)
{
    wk_score_table_free(&f->table);
    wk_seed_scores_free(&f->scores);
    wk_runs_free(&f->runs);
    wk_paper_free(&f->paper);
}

#endif
