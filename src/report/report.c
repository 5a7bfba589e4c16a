#include "report/report.h"

#include "base/file.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status gather(wk_report *r, wk_error *err)
{
    const wk_report_config *c = &r->config;
    WK_TRY(wk_paper_read(&r->paper, err));
    WK_TRY(wk_runs_read(c->paths, c->n_paths, c->pool, &r->runs, err));
    WK_TRY(wk_findings_gather(&r->runs, &r->paper, &c->findings, &r->findings, err));
    for (int t = 0; t < WK_TABLES; t++)
        WK_TRY(wk_score_table_make(&r->findings, (wk_table_kind)t, &r->tables[t], err));
    WK_TRY(wk_comparison_make(&r->findings, &c->bootstrap, &r->comparison, err));
    WK_TRY(wk_model_errors_make(&r->runs, &r->paper, &r->errors, err));
    return wk_missing_find(&r->runs, &c->findings, &r->missing, err);
}

static wk_status draw(wk_report *r, wk_error *err)
{
    wk_gallery *g = &r->gallery;
    WK_TRY(wk_gallery_improvements(g, &r->comparison, &r->paper, err));
    WK_TRY(wk_gallery_curves(g, &r->findings, err));
    WK_TRY(wk_gallery_maps(g, &r->runs, &r->paper, &r->missing, err));
    WK_TRY(wk_gallery_choices(g, &r->runs, &r->paper, err));
    WK_TRY(wk_gallery_errors(g, &r->errors, &r->paper, err));
    return wk_gallery_estimates(g, &r->runs, &r->paper, err);
}

wk_status wk_report_make(const wk_report_config *config, wk_report *out, wk_error *err)
{
    out->config = *config;
    WK_TRY(gather(out, err));
    return draw(out, err);
}

void wk_report_free(wk_report *report)
{
    wk_gallery_free(&report->gallery);
    wk_missing_free(&report->missing);
    wk_model_errors_free(&report->errors);
    wk_comparison_free(&report->comparison);
    for (int t = 0; t < WK_TABLES; t++)
        wk_score_table_free(&report->tables[t]);
    wk_findings_free(&report->findings);
    wk_runs_free(&report->runs);
    wk_paper_free(&report->paper);
}
