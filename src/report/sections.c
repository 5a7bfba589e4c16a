// The sections of the report's page, one after the other: what to take away, the tables,
// comparisons, figures, what was run, and what is missing.
#include "report/page.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// What to take away, and what has to be known before it is believed.
static void put_findings(const wk_report *r, wk_page *page)
{
    size_t missing = r->missing.items.count, problems = r->runs.problems.items.count;
    bool scores = false;
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
    for (int t = 0; t < WK_SCORE_TABLES; t++)
        scores |= r->scores[t].rows > 0;
    if (!scores)
        wk_page_note(page, "No run has results of %s; 'waker adapt' and 'waker eval' make them.",
                     r->config.results.step < 0 ? "a task policy yet"
                                                : "that agent step and policy");
    if (problems > 0)
        wk_page_note(page, "Left out: %zu file%s or run%s. The last section says which.", problems,
                     wk_plural(problems), wk_plural(problems));
    if (missing > 0)
        wk_page_note(page, "Not complete: %zu gap%s, which the last section lists.", missing,
                     wk_plural(missing));
}

static void put_bootstrap(const wk_report *r, wk_page *page)
{
    wk_page_paragraph(page,
                      "Scores of a task are divided by the highest that any run has on it. "
                      "Intervals are percentiles of %d stratified bootstrap resamples (seed "
                      "%" PRIu64 "): for every task its runs are resampled with replacement.",
                      r->config.bootstrap.reps, r->config.bootstrap.seed);
}

static void put_imagined(const wk_report *r, wk_page *page)
{
    (void)r;
    wk_page_paragraph(page, "What happened, what the world model imagines from the first frames "
                            "and the actions alone, and the difference, grey where they agree.");
}

static void put_losses(const wk_report *r, wk_page *page)
{
    (void)r;
    wk_page_paragraph(page, "What each run logged while it trained: a line for each run, in the "
                            "colour of its method. Losses of different domains, settings or "
                            "curricula are of different data: compare how they move, not how low "
                            "they are.");
}

static void put_scores(const wk_report *r, wk_page *page)
{
    wk_text csv = {0};
    if (r->rows.items.count == 0) return;
    wk_page_paragraph(page,
                      "The scores of every run that the tables are made of; tables/scores.csv has "
                      "those of all agent steps and samples too:");
    wk_report_scores_csv(&r->rows, true, &csv);
    wk_page_csv(page, "scores.csv", &csv);
}

static void put_missing(const wk_report *r, wk_page *page)
{
    for (size_t i = 0; i < r->runs.problems.items.count; i++)
        wk_page_note(page, "Left out: %s", r->runs.problems.items.items[i]);
    for (size_t i = 0; i < r->missing.items.count; i++)
        wk_page_paragraph(page, "%s.", r->missing.items.items[i]);
    if (r->runs.problems.items.count + r->missing.items.count == 0)
        wk_page_paragraph(page, "Nothing: every run of the grid is there and evaluated.");
}

// The comparison's title where the methods are curricula.
#define COMPARISON "Which curriculum is better"

// A part of the page: text, a table, or figures of one kind. A section begins with its
// first part that has anything in it; `intro` is put there.
static const struct part {
    const char *section; // NULL: the title of the table
    void (*intro)(const wk_report *r, wk_page *page);
    const char *subsection;
    enum { INTRO, TABLE, FIGURES } what;
    int which;
} parts[] = {
    {"Findings", put_findings, NULL, INTRO, 0},
    {NULL, NULL, NULL, TABLE, WK_TABLE_CVAR},
    {NULL, NULL, NULL, TABLE, WK_TABLE_AVERAGE},
    {NULL, NULL, NULL, TABLE, WK_TABLE_OOD_TASKS},
    {NULL, NULL, NULL, TABLE, WK_TABLE_OOD},
    {NULL, NULL, NULL, TABLE, WK_TABLE_COMBINED},
    {COMPARISON, put_bootstrap, NULL, FIGURES, WK_FIGURES_IMPROVEMENT},
    {COMPARISON, put_bootstrap, NULL, TABLE, WK_TABLE_IMPROVEMENT},
    {COMPARISON, put_bootstrap, NULL, TABLE, WK_TABLE_RANKING},
    {"The worst cases of frozen sets", NULL, NULL, FIGURES, WK_FIGURES_ROBUST},
    {"Learning curves", NULL, "CVaR 0.1", FIGURES, WK_FIGURES_CURVES_CVAR},
    {"Learning curves", NULL, "Average", FIGURES, WK_FIGURES_CURVES_AVERAGE},
    {"Learning curves", NULL, "Out of distribution", FIGURES, WK_FIGURES_CURVES_OOD},
    {"What the curricula chose", NULL, NULL, FIGURES, WK_FIGURES_MAPS},
    {"What the curricula chose", NULL, "Over time", FIGURES, WK_FIGURES_CHOICES},
    {"What exploration did", NULL, NULL, FIGURES, WK_FIGURES_INDICATORS},
    {"Losses", put_losses, "World model", FIGURES, WK_FIGURES_LOSSES_MODEL},
    {"Losses", put_losses, "Policies", FIGURES, WK_FIGURES_LOSSES_POLICIES},
    {"Model errors", NULL, NULL, FIGURES, WK_FIGURES_ERRORS},
    {"Model errors", NULL, NULL, TABLE, WK_TABLE_MODEL_ERRORS},
    {"What was promised and what was obtained", NULL, NULL, FIGURES, WK_FIGURES_PREDICTIONS},
    {"What was imagined", put_imagined, NULL, FIGURES, WK_PICTURES_IMAGINED},
    {"The environments", NULL, NULL, FIGURES, WK_PICTURES_ENVIRONMENTS},
    {"Runs", NULL, NULL, TABLE, WK_TABLE_SETTINGS},
    {"Runs", NULL, NULL, TABLE, WK_TABLE_RUNS},
    {"Runs", put_scores, NULL, INTRO, 0},
    {"Missing", put_missing, NULL, INTRO, 0},
};

static bool is_there(const wk_report *r, const struct part *part)
{
    const wk_report_figures *const lists[] = {&r->figures, &r->pictures};
    bool found = part->what == INTRO;
    for (size_t k = 0; k < 2 && part->what == FIGURES; k++)
        for (size_t i = 0; i < lists[k]->items.count; i++)
            found |= (int)lists[k]->items.items[i].section == part->which;
    return found || (part->what == TABLE && !wk_report_table_is_empty(&r->tables[part->which]));
}

// Whether the figures of the part's section are more than a reader finds without headings.
static bool is_crowded(const wk_report *r, const struct part *part)
{
    enum { FEW = 6 };
    size_t count = 0;
    for (size_t i = 0; i < r->figures.items.count; i++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            count += parts[k].what == FIGURES && parts[k].section &&
                     strcmp(parts[k].section, part->section) == 0 &&
                     (int)r->figures.items.items[i].section == parts[k].which;
    return count > FEW;
}

static void put_part(const wk_report *r, const struct part *part, wk_page *page)
{
    const wk_report_figures *const lists[] = {&r->figures, &r->pictures};
    char name[64];
    wk_text csv = {0};
    for (size_t k = 0; k < 2 && part->what == FIGURES; k++)
        for (size_t i = 0; i < lists[k]->items.count; i++) {
            const wk_report_figure *f = &lists[k]->items.items[i];
            if ((int)f->section != part->which) continue;
            if (f->figure)
                wk_page_figure(page, f->figure, f->caption);
            else
                wk_page_image(page, f->png, f->size, f->width, f->height, f->caption);
        }
    if (part->what != TABLE) return;
    const wk_report_table *table = &r->tables[part->which];
    wk_page_table(page, &table->page);
    wk_report_table_csv(table, &csv);
    snprintf(name, sizeof name, "%s.csv", table->name);
    wk_page_csv(page, name, &csv);
}

wk_status wk_report_page(const wk_report *report, wk_text *out, wk_error *err)
{
    char title[200], subtitle[160];
    wk_report_run *const *runs = report->runs.items.items;
    size_t n_runs = report->runs.items.count, domains = 0, curricula = 0, methods = 0;
    size_t used = (size_t)snprintf(title, sizeof title, "WAKER: results");
    // The domains are part of the title, by which tabs and bookmarks are told apart.
    for (size_t i = 0; i < n_runs; i++) {
        bool domain_known = false, curriculum_known = false, method_known = false;
        for (size_t k = 0; k < i; k++) {
            domain_known |= strcmp(runs[k]->domain, runs[i]->domain) == 0;
            curriculum_known |= strcmp(runs[k]->curriculum, runs[i]->curriculum) == 0;
            method_known |= strcmp(runs[k]->method, runs[i]->method) == 0;
        }
        domains += !domain_known;
        curricula += !curriculum_known;
        methods += !method_known;
        if (!domain_known && used < sizeof title)
            used += (size_t)snprintf(title + used, sizeof title - used, ", %s", runs[i]->domain);
    }
    bool plain = true; // the methods differ in their curriculum alone
    for (size_t i = 0; i < n_runs; i++)
        plain &= strcmp(runs[i]->method, runs[i]->curriculum) == 0;
    size_t compared = plain ? curricula : methods;
    snprintf(subtitle, sizeof subtitle, "%zu run%s, %zu domain%s, %zu %s%s", n_runs,
             wk_plural(n_runs), domains, wk_plural(domains), compared,
             plain ? "curricul" : "method",
             !plain          ? wk_plural(compared)
             : compared == 1 ? "um"
                             : "a");
    wk_page *page;
    WK_TRY(wk_page_create(title, subtitle, &page, err));
    const char *section = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct part *part = &parts[i];
        if (!is_there(report, part)) continue;
        const char *own = part->section ? part->section : report->tables[part->which].title;
        if (!plain && strcmp(own, COMPARISON) == 0) own = "Which method is better";
        bool begins = strcmp(section, own) != 0;
        if (begins) wk_page_section(page, own);
        section = own;
        if (part->intro && (begins || part->what == INTRO)) part->intro(report, page);
        if (part->subsection && is_crowded(report, part))
            wk_page_subsection(page, part->subsection);
        put_part(report, part, page);
    }
    wk_status status = wk_page_finish(page, out, err);
    wk_page_destroy(page);
    return status;
}
