// The report: the results of many runs, collected once, then written as one HTML page with its
// tables and figures, and as text or JSON for the terminal.
//
//   DIR/index.html            the page; needs nothing else
//   DIR/tables/NAME.EXT       txt, csv
//   DIR/figures/NAME.EXT      svg, png
//   DIR/pictures/NAME.png     environments, and what was imagined
#ifndef WK_REPORT_REPORT_H
#define WK_REPORT_REPORT_H

#include "report/figures.h"
#include "report/tables.h"

/// How to make a report.
typedef struct wk_report_config {
    wk_runs_config runs;
    wk_results_config results;
    wk_bootstrap_config bootstrap;
} wk_report_config;

/// All of it, in the memory of the runs. Zero-initialise; free it also after a failure.
typedef struct wk_report {
    wk_report_config config;
    wk_runs runs;
    wk_paper paper;
    wk_report_rows rows, errors; // scores and model errors
    wk_score_table scores[WK_SCORE_TABLES];
    wk_comparison comparison;
    wk_report_table tables[WK_TABLES];
    wk_sentences findings;
    wk_sentences remarks; // of runs, scores and errors
    wk_sentences missing;
    wk_report_figures figures, pictures;
} wk_report;

/// Reads the runs and computes everything; `config` is copied, what it points to is borrowed.
wk_status wk_report_make(const wk_report_config *config, wk_report *out, wk_error *err);
/// The first half of wk_report_make: all but figures and pictures.
wk_status wk_report_gather(const wk_report_config *config, wk_report *out, wk_error *err);
void wk_report_free(wk_report *report);

/// Writes page, tables and figures into `directory`, which is made if need be.
wk_status wk_report_write(const wk_report *report, const char *directory, wk_error *err);

/// The page alone.
wk_status wk_report_page(const wk_report *report, wk_text *out, wk_error *err);

/// Tables, comparisons, problems and what is missing, for people.
void wk_report_text(const wk_report *report, wk_text *out);
/// What wk_report_text prints, as JSON.
void wk_report_json(const wk_report *report, wk_text *out);

#endif
