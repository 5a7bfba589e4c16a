// The report's page: what was run, the tables, comparisons, figures, and what is missing.
#include "report/report_tables.h"


#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Number of different values of a field among the runs.
static size_t count_different(const wk_runs *runs, const char *(*value_of)(const wk_report_run *))
{
    size_t different = 0;
    for (size_t i = 0; i < runs->items.count; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(value_of(runs->items.items[i]), value_of(runs->items.items[k])) == 0;
        different += !seen;
    }
    return different;
}

static const char *domain_of(const wk_report_run *run)
{
    return run->domain;
}

static const char *curriculum_of(const wk_report_run *run)
{
    return run->curriculum;
}

// The domains are part of the title, by which tabs and bookmarks are told apart.
static void write_title(const wk_runs *runs, char *out, size_t size)
{
    size_t used = (size_t)snprintf(out, size, "WAKER: results");
    for (size_t i = 0; i < runs->items.count && used < size; i++) {
        const char *domain = runs->items.items[i]->domain;
        if (i > 0 && strcmp(domain, runs->items.items[i - 1]->domain) == 0) continue; // sorted
        used += (size_t)snprintf(out + used, size - used, ", %s", domain);
    }
}

static wk_status begin_page(const wk_report *r, wk_page **out, wk_error *err)
{
    char title[200], subtitle[160];
    write_title(&r->runs, title, sizeof title);
    size_t runs = r->runs.items.count, domains = count_different(&r->runs, domain_of);
    size_t curricula = count_different(&r->runs, curriculum_of);
    snprintf(subtitle, sizeof subtitle, "%zu run%s, %zu domain%s, %zu curricul%s", runs,
             wk_plural(runs), domains, wk_plural(domains), curricula, curricula == 1 ? "um" : "a");
    return wk_page_create(title, subtitle, out, err);
}

// A file to download, made by `print`.
static wk_status put_file(const wk_report *r, const char *name, int table,
                          void (*print)(const wk_report *, int, wk_text *), wk_page *page,
                          wk_error *err)
{
    wk_text csv = {0};
    print(r, table, &csv);
    wk_page_file file = {name, NULL, "text/csv", wk_text_get(&csv), csv.length};
    wk_page_files(page, &file, 1);
    wk_status status =
        csv.failed ? wk_fail(err, WK_E_MEMORY, "no memory for '%s' inside the page", name) : WK_OK;
    wk_text_free(&csv);
    return status;
}

static void print_scores(const wk_report *r, int table, wk_text *out)
{
    (void)table;
    wk_report_scores_csv(r, true, out);
}

static wk_status put_table(const wk_report *r, int i, wk_page *page, wk_error *err)
{
    wk_text_table table = {0};
    char name[64];
    wk_report_table(r, i, true, &table);
    wk_status status = WK_OK;
    if (!wk_text_table_is_empty(&table)) {
        status = wk_text_table_page(&table, page, err);
        snprintf(name, sizeof name, "%s.csv", wk_report_table_name(r, i));
        if (status == WK_OK) status = put_file(r, name, i, wk_report_table_csv, page, err);
    }
    wk_text_table_free(&table);
    return status;
}

static bool has_figures(const wk_report *r, wk_figure_section section)
{
    for (size_t i = 0; i < r->figures.items.count; i++)
        if (r->figures.items.items[i].section == section) return true;
    return false;
}

static void put_figures(const wk_report *r, wk_figure_section section, wk_page *page)
{
    for (size_t i = 0; i < r->figures.items.count; i++) {
        const wk_report_figure *e = &r->figures.items.items[i];
        if (e->section == section) wk_page_figure(page, e->figure, e->caption, NULL, 0);
    }
}

static wk_status put_scores(const wk_report *r, wk_page *page, wk_error *err)
{
    for (int t = 0; t < WK_TABLES; t++) {
        if (r->tables[t].rows.count == 0) continue;
        wk_page_section(page, r->tables[t].title);
        WK_TRY(put_table(r, t, page, err));
    }
    return WK_OK;
}

static wk_status put_comparison(const wk_report *r, wk_page *page, wk_error *err)
{
    const wk_bootstrap_config *b = &r->config.bootstrap;
    if (r->comparison.ranking.count == 0) return WK_OK;
    wk_page_section(page, "Which curriculum is better");
    wk_page_paragraph(page,
                      "Scores of a task are divided by the highest that any run has on it. "
                      "Intervals are percentiles of %d stratified bootstrap resamples (seed "
                      "%" PRIu64 "): for every task its runs are resampled with replacement.",
                      b->reps, b->seed);
    put_figures(r, WK_FIGURES_IMPROVEMENT, page);
    WK_TRY(put_table(r, WK_TABLE_IMPROVEMENT, page, err));
    return put_table(r, WK_TABLE_RANKING, page, err);
}

static void put_curves(const wk_report *r, wk_page *page)
{
    static const struct {
        wk_figure_section section;
        const char *title;
    } kinds[] = {{WK_FIGURES_CURVES_CVAR, "CVaR 0.1"},
                 {WK_FIGURES_CURVES_AVERAGE, "Average"},
                 {WK_FIGURES_CURVES_OOD, "Out of distribution"}};
    bool begun = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!has_figures(r, kinds[i].section)) continue;
        if (!begun) wk_page_section(page, "Learning curves");
        begun = true;
        wk_page_subsection(page, kinds[i].title);
        put_figures(r, kinds[i].section, page);
    }
}

static void put_curricula(const wk_report *r, wk_page *page)
{
    if (!has_figures(r, WK_FIGURES_MAPS) && !has_figures(r, WK_FIGURES_CHOICES)) return;
    wk_page_section(page, "What the curricula chose");
    put_figures(r, WK_FIGURES_MAPS, page);
    if (has_figures(r, WK_FIGURES_CHOICES)) wk_page_subsection(page, "Over time");
    put_figures(r, WK_FIGURES_CHOICES, page);
}

static wk_status put_errors(const wk_report *r, wk_page *page, wk_error *err)
{
    if (r->errors.items.count == 0) return WK_OK;
    wk_page_section(page, "Model errors");
    put_figures(r, WK_FIGURES_ERRORS, page);
    return put_table(r, WK_TABLE_MODEL_ERRORS, page, err);
}

// What to take away, and what has to be known before it is believed.
static void put_findings(const wk_report *r, wk_page *page)
{
    wk_page_section(page, "Findings");
    for (size_t i = 0; i < r->findings.items.count; i++)
        (i == 0 ? wk_page_lead : wk_page_paragraph)(page, "%s.", r->findings.items.items[i]);
    if (r->comparison.improvements.count)
        wk_page_paragraph(
            page,
            "A method is said to score higher when the 95 %% interval of its "
            "probability of improvement lies above 0.5 and there are at least %d runs "
            "of each. Intervals are not corrected for the number of comparisons "
            "(%zu).",
            WK_CLAIM_RUNS_MIN, r->comparison.improvements.count);
    for (size_t i = 0; i < r->remarks.items.count; i++)
        wk_page_note(page, "%s.", r->remarks.items.items[i]);
}

static void put_images(const wk_report *r, wk_report_image_kind kind, const char *title,
                       const char *explanation, wk_page *page)
{
    bool begun = false;
    for (size_t i = 0; i < r->images.items.count; i++) {
        const wk_report_image *p = &r->images.items.items[i];
        if (p->kind != kind) continue;
        if (!begun) {
            wk_page_section(page, title);
            if (explanation) wk_page_paragraph(page, "%s", explanation);
        }
        begun = true;
        wk_page_image(page, p->png, p->size, p->width, p->height, p->caption);
    }
}

static wk_status put_runs(const wk_report *r, wk_page *page, wk_error *err)
{
    wk_page_section(page, "Runs");
    WK_TRY(put_table(r, WK_TABLE_SETTINGS, page, err));
    WK_TRY(put_table(r, WK_TABLE_RUNS, page, err));
    if (r->scores.items.count == 0) return WK_OK;
    wk_page_paragraph(page,
                      "The scores of every run that the tables are made of; tables/scores.csv has "
                      "those of all agent steps and samples too:");
    return put_file(r, "scores.csv", 0, print_scores, page, err);
}

static void put_missing(const wk_report *r, wk_page *page)
{
    wk_page_section(page, "Missing");
    for (size_t i = 0; i < r->runs.problems.count; i++)
        wk_page_note(page, "Left out: %s", r->runs.problems.items[i]);
    for (size_t i = 0; i < r->missing.items.count; i++)
        wk_page_paragraph(page, "%s.", r->missing.items.items[i]);
    if (r->runs.problems.count + r->missing.items.count == 0)
        wk_page_paragraph(page, "Nothing: every run of the grid is there and evaluated.");
}

static bool has_scores(const wk_report *r)
{
    for (int t = 0; t < WK_TABLES; t++)
        if (r->tables[t].rows.count > 0) return true;
    return false;
}

static wk_status fill_page(const wk_report *r, wk_page *page, wk_error *err)
{
    size_t missing = r->missing.items.count, problems = r->runs.problems.count;
    put_findings(r, page);
    if (!has_scores(r))
        wk_page_note(page, "No run has results of %s; 'waker adapt' and 'waker eval' make them.",
                     r->config.scores.step < 0 ? "a task policy yet"
                                               : "that agent step and policy");
    if (missing + problems > 0)
        wk_page_note(page,
                     "Not complete: %zu file%s or run%s left out, %zu gap%s. The last section "
                     "says which.",
                     problems, wk_plural(problems), wk_plural(problems), missing,
                     wk_plural(missing));
    WK_TRY(put_scores(r, page, err));
    WK_TRY(put_comparison(r, page, err));
    if (has_figures(r, WK_FIGURES_ROBUST)) {
        wk_page_section(page, "The worst cases of frozen sets");
        put_figures(r, WK_FIGURES_ROBUST, page);
    }
    put_curves(r, page);
    put_curricula(r, page);
    if (has_figures(r, WK_FIGURES_INDICATORS)) {
        wk_page_section(page, "What exploration did");
        put_figures(r, WK_FIGURES_INDICATORS, page);
    }
    WK_TRY(put_errors(r, page, err));
    if (has_figures(r, WK_FIGURES_PREDICTIONS)) {
        wk_page_section(page, "What was promised and what was obtained");
        put_figures(r, WK_FIGURES_PREDICTIONS, page);
    }
    put_images(r, WK_REPORT_IMAGE_IMAGINED, "What was imagined",
               "What happened, what the world model imagines from the first frames and the "
               "actions alone, and the difference, grey where they agree.",
               page);
    put_images(r, WK_REPORT_IMAGE_ENVIRONMENTS, "The environments", NULL, page);
    WK_TRY(put_runs(r, page, err));
    put_missing(r, page);
    return WK_OK;
}

wk_status wk_report_page(const wk_report *report, wk_text *out, wk_error *err)
{
    wk_page *page = NULL;
    WK_TRY(begin_page(report, &page, err));
    wk_status status = fill_page(report, page, err);
    if (status == WK_OK) status = wk_page_finish(page, out, err);
    wk_page_destroy(page);
    return status;
}
