#include "report/report.h"

#include "base/file.h"
#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Making.

static int compare_runs(const void *a, const void *b, void *paper)
{
    const wk_report_run *x = *(wk_report_run *const *)a, *y = *(wk_report_run *const *)b;
    int order = wk_paper_order(paper, WK_FIELD_DOMAIN, x->domain, y->domain);
    if (!order) order = wk_paper_order(paper, WK_FIELD_EXPLORATION, x->exploration, y->exploration);
    if (!order) order = wk_paper_order(paper, WK_FIELD_CURRICULUM, x->method, y->method);
    if (!order) order = (x->seed > y->seed) - (x->seed < y->seed);
    return order ? order : strcmp(x->directory, y->directory);
}

wk_status wk_report_gather(const wk_report_config *config, wk_report *r, wk_error *err)
{
    wk_report_memory *memory = &r->runs.memory;
    wk_progress_line *progress = config->runs.progress;
    r->config = *config;
    // The runs in the paper's order, for figures and tables alike. Methods that the paper does not
    // have stand after the curriculum they are made of.
    WK_TRY(wk_runs_read(&config->runs, &r->runs, err));
    wk_paper_read(memory, &r->paper);
    for (size_t i = 0; i < r->runs.items.count; i++) {
        const wk_report_run *run = r->runs.items.items[i];
        wk_paper_add_name(&r->paper, WK_FIELD_CURRICULUM, run->curriculum, run->method);
    }
    qsort_r(r->runs.items.items, r->runs.items.count, sizeof *r->runs.items.items, compare_runs,
            &r->paper);
    // Their numbers, and which of them count.
    wk_results_scores(&r->runs, &r->paper, &config->results, &r->rows);
    wk_results_errors(&r->runs, &r->paper, &r->errors);
    wk_results_missing(&r->runs, &config->results, &r->missing);
    WK_TRY(wk_report_memory_check(memory, err));
    // Means over seeds, comparisons of methods, and what they say.
    wk_progress_next(progress, "tables", WK_SCORE_TABLES + 1);
    for (int t = 0; t < WK_SCORE_TABLES; t++) {
        WK_TRY(wk_score_table_make(memory, &r->rows, (wk_table_kind)t, &config->bootstrap,
                                   &r->scores[t], err));
        wk_progress_count(progress, 0);
    }
    WK_TRY(wk_comparison_make(memory, &r->rows, &config->bootstrap, &r->comparison, err));
    wk_progress_count(progress, 0);
    wk_comparison_findings(memory, &r->comparison, &r->findings);
    const wk_sentences *all[] = {&r->runs.remarks, &r->rows.remarks, &r->errors.remarks};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        for (size_t i = 0; i < all[k]->items.count; i++)
            wk_sentences_add(memory, &r->remarks, "%s", all[k]->items.items[i]);
    const wk_table_data data = {&r->runs, r->scores, &r->comparison, &r->errors};
    for (int t = 0; t < WK_TABLES; t++)
        wk_report_table_fill(&data, (wk_table_kind)t, &r->tables[t]);
    return wk_report_memory_check(memory, err);
}

wk_status wk_report_make(const wk_report_config *config, wk_report *out, wk_error *err)
{
    WK_TRY(wk_report_gather(config, out, err));
    const wk_figure_data data = {.runs = &out->runs,
                                 .paper = &out->paper,
                                 .config = &out->config.results,
                                 .scores = &out->rows,
                                 .errors = &out->errors,
                                 .comparison = &out->comparison};
    WK_TRY(wk_report_figures_draw(&data, &out->figures, &out->missing, err));
    return wk_report_pictures_make(&out->runs, &out->pictures, &out->missing, err);
}

void wk_report_free(wk_report *report)
{
    wk_report_figures_free(&report->figures);
    wk_runs_free(&report->runs);
    *report = (wk_report){0};
}

// Writing files.

// Writes DIRECTORY/tables/NAME.ENDING. A table that this report does not have must not be taken for
// its own: an earlier one may have left it there.
static wk_status write_table(const wk_dir *in, const char *name, const char *ending, bool there,
                             wk_text *text, wk_error *err)
{
    char file[NAME_MAX];
    snprintf(file, sizeof file, "%.200s.%s", name, ending);
    return there ? wk_file_write_text(in, file, text, err) : wk_dir_remove(in, file, err);
}

static wk_status write_tables(const wk_report *report, const char *directory, wk_error *err)
{
    wk_dir *in;
    wk_status status = wk_dir_open_below(directory, "tables", true, &in, err);
    for (int t = 0; t < WK_TABLES && status == WK_OK; t++) {
        const wk_report_table *table = &report->tables[t];
        bool there = !wk_report_table_is_empty(table);
        wk_text text = {0}, csv = {0};
        if (there) wk_report_table_text(table, &text);
        status = write_table(in, table->name, "txt", there, &text, err);
        there = table->csv.rows.count > 0;
        if (status == WK_OK && there) wk_report_table_csv(table, &csv);
        if (status == WK_OK) status = write_table(in, table->name, "csv", there, &csv, err);
    }
    wk_text scores = {0};
    bool any = report->rows.items.count > 0;
    if (status == WK_OK && any) wk_report_scores_csv(&report->rows, false, &scores);
    if (status == WK_OK) status = write_table(in, "scores", "csv", any, &scores, err);
    wk_dir_close(in);
    return status;
}

// The names of images depend on the runs, so each folder has a list of those that a report wrote
// there: the next one deletes them, and nothing of anyone else.
#define LIST "files.txt"

static wk_status delete_listed(const wk_dir *in, char *names, wk_error *err)
{
    for (char *name; (name = strsep(&names, "\n"));) {
        if (strchr(name, '/'))
            return wk_fail(err, WK_E_FORMAT,
                           "'%s/" LIST "' names '%.80s', which is not in its folder; delete "
                           "the list",
                           wk_dir_path(in), name);
        if (*name) WK_TRY(wk_dir_remove(in, name, err));
    }
    return WK_OK;
}

// Opens DIRECTORY/FOLDER without the images of an earlier report, with the list of those to come.
// The list is written first, so that also a report that ended half way is cleared away.
static wk_status open_images(const char *directory, const char *folder, wk_text *names,
                             wk_error *err)
{
    enum { LIST_BYTES_MAX = 1 << 26 };
    wk_dir *in;
    char *old = NULL;
    wk_status status = wk_dir_open_below(directory, folder, names->length > 0, &in, err);
    if (status == WK_E_NOT_FOUND && names->length == 0) return WK_OK; // none now, none before
    if (status == WK_OK) {
        status = wk_file_read_in(in, LIST, LIST_BYTES_MAX, &old, NULL, err);
        if (status == WK_E_NOT_FOUND) status = WK_OK;
    }
    if (status == WK_OK && old) status = delete_listed(in, old, err);
    if (status == WK_OK) status = wk_file_write_text(in, LIST, names, err);
    wk_text_free(names);
    wk_dir_close(in);
    free(old);
    return status;
}

// Figures are drawn by several threads; each has an error of its own.
typedef struct drawing {
    const wk_report_figures *figures;
    const char *directory, *folder;
    wk_progress_line *progress;
    wk_error *errors; // [figures]
} drawing;

static void write_figure(void *context, size_t piece, int thread)
{
    drawing *d = context;
    const wk_report_figure *item = &d->figures->items.items[piece];
    char path[WK_PATH_MAX];
    wk_error *err = &d->errors[piece];
    if (wk_path_print(path, err, "%s/%s/%s%s", d->directory, d->folder, item->name,
                      item->figure ? "" : ".png") == WK_OK)
        item->figure ? wk_figure_write(item->figure, path, err)
                     : wk_file_write(path, item->png, item->size, err);
    wk_progress_count(d->progress, thread);
}

static wk_status write_figures(const wk_report *report, const wk_report_figures *figures,
                               const char *directory, const char *folder, wk_error *err)
{
    size_t count = figures->items.count;
    wk_text names = {0};
    for (size_t i = 0; i < count; i++) {
        const wk_report_figure *item = &figures->items.items[i];
        if (item->figure) wk_text_printf(&names, "%s.svg\n", item->name);
        wk_text_printf(&names, "%s.png\n", item->name);
    }
    WK_TRY(open_images(directory, folder, &names, err));
    drawing d = {figures, directory, folder, report->config.runs.progress,
                 calloc(count + 1, sizeof *d.errors)};
    if (!d.errors) return wk_fail(err, WK_E_MEMORY, "no memory to write %zu figures", count);
    wk_progress_next(d.progress, folder, (int64_t)count);
    wk_pool_run(report->config.runs.pool, count, write_figure, &d);
    wk_status status = WK_OK;
    for (size_t i = 0; i < count && status == WK_OK; i++)
        if (d.errors[i].status != WK_OK)
            status = wk_fail(err, d.errors[i].status, "%s", d.errors[i].message);
    free(d.errors);
    return status;
}

// The page comes last: it is there only when everything else is.
wk_status wk_report_write(const wk_report *report, const char *directory, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/index.html", directory));
    WK_TRY(write_tables(report, directory, err));
    WK_TRY(write_figures(report, &report->figures, directory, "figures", err));
    WK_TRY(write_figures(report, &report->pictures, directory, "pictures", err));
    wk_text page = {0};
    wk_status status = wk_report_page(report, &page, err);
    if (status == WK_OK) return wk_file_write_text(NULL, path, &page, err);
    wk_text_free(&page);
    return status;
}

// On the terminal.

// Names of users are in it: they must not steer the terminal.
static void put_lines(wk_text *out, const char *before, const wk_sentences *sentences)
{
    for (size_t i = 0; i < sentences->items.count; i++) {
        size_t start = out->length;
        wk_text_printf(out, "  %s%s", before, sentences->items.items[i]);
        if (!out->failed) wk_utf8_sanitise(out->chars + start, false);
        wk_text_puts(out, "\n");
    }
}

void wk_report_text(const wk_report *report, wk_text *out)
{
    put_lines(out, "", &report->findings);
    if (report->findings.items.count) wk_text_puts(out, "\n");
    for (int t = 0; t < WK_TABLES; t++) {
        if (wk_report_table_is_empty(&report->tables[t])) continue;
        wk_report_table_text(&report->tables[t], out);
        wk_text_puts(out, "\n");
    }
    if (report->remarks.items.count) wk_text_puts(out, "Remarks\n");
    put_lines(out, "", &report->remarks);
    if (report->runs.problems.items.count + report->missing.items.count)
        wk_text_puts(out, "Missing\n");
    put_lines(out, "left out: ", &report->runs.problems);
    put_lines(out, "", &report->missing);
}

void wk_report_json(const wk_report *report, wk_text *out)
{
    static const struct {
        const char *key;
        wk_table_kind first, last;
    } tables[] = {{"runs", WK_TABLE_RUNS, WK_TABLE_RUNS},
                  {"scores", WK_TABLE_CVAR, WK_SCORE_TABLES - 1},
                  {"improvements", WK_TABLE_IMPROVEMENT, WK_TABLE_IMPROVEMENT},
                  {"standings", WK_TABLE_RANKING, WK_TABLE_RANKING},
                  {"model_errors", WK_TABLE_MODEL_ERRORS, WK_TABLE_MODEL_ERRORS}};
    const struct {
        const char *key;
        const wk_sentences *sentences;
    } lists[] = {{"findings", &report->findings},
                 {"remarks", &report->remarks},
                 {"problems", &report->runs.problems},
                 {"missing", &report->missing}};
    wk_json json = {.text = out};
    wk_json_object(&json, NULL);
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        wk_json_array(&json, tables[k].key);
        for (int t = (int)tables[k].first; t <= (int)tables[k].last; t++)
            wk_report_table_json(&report->tables[t], &json);
        wk_json_close(&json, ']');
    }
    wk_json_array(&json, "figures");
    for (size_t i = 0; i < report->figures.items.count; i++)
        wk_json_string(&json, NULL, report->figures.items.items[i].name);
    wk_json_close(&json, ']');
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        wk_json_array(&json, lists[k].key);
        for (size_t i = 0; i < lists[k].sentences->items.count; i++)
            wk_json_string(&json, NULL, lists[k].sentences->items.items[i]);
        wk_json_close(&json, ']');
    }
    wk_json_close(&json, '}');
    wk_text_puts(out, "\n");
}
