#include "report/report.h"

#include <stdlib.h>
#include <string.h>

static int compare_runs(const void *a, const void *b, void *paper)
{
    const wk_report_run *x = *(wk_report_run *const *)a, *y = *(wk_report_run *const *)b;
    int order = wk_paper_order(paper, WK_FIELD_DOMAIN, x->domain, y->domain);
    if (!order) order = wk_paper_order(paper, WK_FIELD_EXPLORATION, x->exploration, y->exploration);
    if (!order) order = wk_paper_order(paper, WK_FIELD_CURRICULUM, x->method, y->method);
    if (!order) order = (x->seed > y->seed) - (x->seed < y->seed);
    return order ? order : strcmp(x->directory, y->directory);
}

// Methods that the paper does not have stand after the curriculum they are made of.
static wk_status place_methods(wk_report *r, wk_error *err)
{
    for (size_t i = 0; i < r->runs.items.count; i++) {
        const wk_report_run *run = r->runs.items.items[i];
        if (!wk_paper_add_name(&r->paper, WK_FIELD_CURRICULUM, run->curriculum, run->method))
            return wk_fail(err, WK_E_MEMORY, "no memory for the names of methods");
    }
    return WK_OK;
}

static wk_status gather(wk_report *r, wk_error *err)
{
    const wk_report_config *c = &r->config;
    WK_TRY(wk_paper_read(&r->paper, err));
    WK_TRY(wk_runs_read(&c->runs, &r->runs, err));
    WK_TRY(place_methods(r, err));
    // Figures come in the order of the runs, tables in the paper's: one order for both.
    qsort_r(r->runs.items.items, r->runs.items.count, sizeof *r->runs.items.items, compare_runs,
            &r->paper);
    WK_TRY(wk_seed_scores_collect(&r->runs, &r->paper, &c->scores, &r->scores, err));
    wk_progress_next(c->runs.progress, "tables", WK_TABLES + 1);
    for (int t = 0; t < WK_TABLES; t++) {
        WK_TRY(
            wk_score_table_make(&r->scores, (wk_table_kind)t, &c->bootstrap, &r->tables[t], err));
        wk_progress_count(c->runs.progress, 0);
    }
    WK_TRY(wk_comparison_make(&r->scores, &c->bootstrap, &r->comparison, err));
    wk_progress_count(c->runs.progress, 0);
    WK_TRY(wk_findings_make(&r->comparison, &r->findings, err));
    WK_TRY(wk_model_errors_make(&r->runs, &r->paper, &r->errors, err));
    const wk_sentences *all[] = {&r->runs.remarks, &r->scores.remarks, &r->errors.remarks};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (size_t i = 0; i < all[k]->items.count; i++)
            WK_TRY(wk_sentences_add(&r->remarks, err, "%s", all[k]->items.items[i]));
    return wk_missing_find(&r->runs, &c->scores, &r->missing, err);
}

static wk_status draw(wk_report *r, wk_error *err)
{
    wk_report_figures *g = &r->figures;
    WK_TRY(wk_report_figures_improvements(g, &r->comparison, &r->paper, err));
    WK_TRY(wk_report_figures_curves(g, &r->scores, err));
    WK_TRY(wk_report_figures_maps(g, &r->runs, &r->paper, &r->missing, err));
    WK_TRY(wk_report_figures_choices(g, &r->runs, &r->paper, err));
    WK_TRY(wk_report_figures_errors(g, &r->errors, &r->paper, err));
    WK_TRY(wk_report_figures_estimates(g, &r->runs, &r->paper, err));
    WK_TRY(wk_report_figures_calibration(g, &r->scores, err));
    WK_TRY(wk_report_figures_open_loop(g, &r->runs, &r->config.scores, &r->paper, err));
    WK_TRY(wk_report_figures_robust(g, &r->runs, &r->paper, err));
    return wk_report_images_make(&r->runs, &r->images, &r->missing, err);
}

wk_status wk_report_make(const wk_report_config *config, wk_report *out, wk_error *err)
{
    out->config = *config;
    WK_TRY(gather(out, err));
    return draw(out, err);
}

void wk_report_free(wk_report *report)
{
    wk_report_images_free(&report->images);
    wk_report_figures_free(&report->figures);
    wk_sentences_free(&report->missing);
    wk_sentences_free(&report->remarks);
    wk_sentences_free(&report->findings);
    wk_model_errors_free(&report->errors);
    wk_comparison_free(&report->comparison);
    for (int t = 0; t < WK_TABLES; t++)
        wk_score_table_free(&report->tables[t]);
    wk_seed_scores_free(&report->scores);
    wk_runs_free(&report->runs);
    wk_paper_free(&report->paper);
}
