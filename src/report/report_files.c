// Writing a report: tables, figures, and last the page, so that a page is there only when
// everything else is.
#include "base/file.h"
#include "report/report_tables.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATH_CHARS = 4096 };

static wk_status write_text(wk_text *text, const char *directory, const char *name,
                            const char *ending, wk_error *err)
{
    char path[PATH_CHARS + 256];
    snprintf(path, sizeof path, "%s/%.200s.%s", directory, name, ending);
    return wk_file_write_text(NULL, path, text, err);
}

// A table that this report does not have must not be taken for its own: an earlier one may have
// left it here.
static wk_status remove_table(const char *directory, const char *name, wk_error *err)
{
    static const char *const endings[] = {"txt", "md", "tex", "csv"};
    wk_dir *dir;
    wk_status status = wk_dir_open(NULL, directory, &dir, err);
    for (size_t i = 0; i < sizeof endings / sizeof *endings && status == WK_OK; i++) {
        char file[256];
        snprintf(file, sizeof file, "%.200s.%s", name, endings[i]);
        status = wk_dir_remove(dir, file, err);
    }
    wk_dir_close(dir);
    return status;
}

static wk_status write_table(const wk_report *report, int i, const char *directory, wk_error *err)
{
    static const struct {
        const char *ending;
        void (*write)(const wk_text_table *table, wk_text *out);
    } styles[] = {
        {"txt", wk_text_table_plain}, {"md", wk_text_table_markdown}, {"tex", wk_text_table_latex}};
    const char *name = wk_report_table_name(report, i);
    wk_text_table table = {0};
    wk_report_table(report, i, false, &table);
    wk_status status = WK_OK;
    bool any = !wk_text_table_is_empty(&table);
    for (size_t k = 0; k < sizeof styles / sizeof *styles && any && status == WK_OK; k++) {
        wk_text text = {0};
        styles[k].write(&table, &text);
        status = write_text(&text, directory, name, styles[k].ending, err);
    }
    wk_text_table_free(&table);
    if (status != WK_OK) return status;
    if (!any) return remove_table(directory, name, err);
    wk_text csv = {0};
    wk_report_table_csv(report, i, &csv);
    return write_text(&csv, directory, name, "csv", err);
}

// Figures are drawn by several threads; each has an error of its own.
typedef struct drawing {
    const wk_report *report;
    const char *directory;
    wk_error *errors; // [figures]
} drawing;

static void write_figure(void *context, size_t piece, int thread)
{
    drawing *d = context;
    const wk_report_figure *item = &d->report->figures.items.items[piece];
    char stem[PATH_CHARS + 512];
    snprintf(stem, sizeof stem, "%s/%s", d->directory, item->name);
    wk_figure_write(item->figure, stem, &d->errors[piece]);
    wk_progress_count(d->report->config.runs.progress, thread);
}

static wk_status write_figures(const wk_report *report, const char *directory, wk_error *err)
{
    size_t count = report->figures.items.count;
    drawing d = {report, directory, calloc(count + 1, sizeof *d.errors)};
    if (!d.errors) return wk_fail(err, WK_E_MEMORY, "no memory to write %zu figures", count);
    wk_progress_next(report->config.runs.progress, "figures", (int64_t)count);
    wk_pool_run(report->config.runs.pool, count, write_figure, &d);
    wk_status status = WK_OK;
    for (size_t i = 0; i < count && status == WK_OK; i++)
        if (d.errors[i].status != WK_OK)
            status = wk_fail(err, d.errors[i].status, "%s", d.errors[i].message);
    free(d.errors);
    return status;
}

static wk_status write_pictures(const wk_report *report, const char *outer, wk_error *err)
{
    char directory[WK_PATH_MAX];
    if (report->images.items.count == 0) return WK_OK;
    WK_TRY(wk_dir_make_below(outer, "pictures", err));
    WK_TRY(wk_path_print(directory, err, "%s/pictures", outer));
    for (size_t i = 0; i < report->images.items.count; i++) {
        const wk_report_image *p = &report->images.items.items[i];
        char path[WK_PATH_MAX];
        WK_TRY(wk_path_print(path, err, "%s/%.200s.png", directory, p->name));
        WK_TRY(wk_file_write(path, p->png, p->size, err));
    }
    return WK_OK;
}

wk_status wk_report_write(const wk_report *report, const char *directory, wk_error *err)
{
    char inner[PATH_CHARS];
    int length = snprintf(inner, sizeof inner, "%s/tables", directory);
    if (length < 0 || length > PATH_CHARS / 2)
        return wk_fail(err, WK_E_INPUT, "the path '%.200s...' is too long", directory);
    WK_TRY(wk_dir_make_below(directory, "tables", err));
    for (int i = 0; i < WK_REPORT_TABLES; i++)
        WK_TRY(write_table(report, i, inner, err));
    if (report->scores.items.count) {
        wk_text scores = {0};
        wk_report_scores_csv(report, false, &scores);
        WK_TRY(write_text(&scores, inner, "scores", "csv", err));
    } else {
        WK_TRY(remove_table(inner, "scores", err));
    }
    snprintf(inner, sizeof inner, "%s/figures", directory);
    WK_TRY(wk_dir_make_below(directory, "figures", err));
    WK_TRY(write_figures(report, inner, err));
    WK_TRY(write_pictures(report, directory, err));
    wk_text page = {0};
    wk_status status = wk_report_page(report, &page, err);
    if (status == WK_OK) return write_text(&page, directory, "index", "html", err);
    wk_text_free(&page);
    return status;
}
