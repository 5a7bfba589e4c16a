// Writing a report: tables, figures, and last the page, so that a page is there only when
// everything else is.
#include "base/file.h"
#include "report/report_tables.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status write_text(wk_text *text, const wk_dir *in, const char *name, const char *ending,
                            wk_error *err)
{
    char file[NAME_MAX];
    snprintf(file, sizeof file, "%.200s.%s", name, ending);
    return wk_file_write_text(in, file, text, err);
}

// A table that this report does not have must not be taken for its own: an earlier one may have
// left it here.
static wk_status remove_table(const wk_dir *in, const char *name, wk_error *err)
{
    static const char *const endings[] = {"txt", "csv"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char file[NAME_MAX];
        snprintf(file, sizeof file, "%.200s.%s", name, endings[i]);
        WK_TRY(wk_dir_remove(in, file, err));
    }
    return WK_OK;
}

static wk_status write_table(const wk_report *report, int i, const wk_dir *in, wk_error *err)
{
    const char *name = wk_report_table_name(report, i);
    wk_text_table table = {0};
    wk_report_table(report, i, false, &table);
    wk_status status = WK_OK;
    bool any = !wk_text_table_is_empty(&table);
    if (any) {
        wk_text text = {0};
        wk_text_table_plain(&table, &text);
        status = write_text(&text, in, name, "txt", err);
    }
    wk_text_table_free(&table);
    if (status != WK_OK) return status;
    if (!any) return remove_table(in, name, err);
    wk_text csv = {0};
    wk_report_table_csv(report, i, &csv);
    return write_text(&csv, in, name, "csv", err);
}

static wk_status write_tables(const wk_report *report, const char *directory, wk_error *err)
{
    wk_dir *in;
    wk_status status = wk_dir_open_below(directory, "tables", true, &in, err);
    for (int i = 0; i < WK_REPORT_TABLES && status == WK_OK; i++)
        status = write_table(report, i, in, err);
    if (status == WK_OK && report->scores.items.count) {
        wk_text scores = {0};
        wk_report_scores_csv(report, false, &scores);
        status = write_text(&scores, in, "scores", "csv", err);
    } else if (status == WK_OK) {
        status = remove_table(in, "scores", err);
    }
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
    const wk_report *report;
    const char *directory;
    wk_error *errors; // [figures]
} drawing;

static void write_figure(void *context, size_t piece, int thread)
{
    drawing *d = context;
    const wk_report_figure *item = &d->report->figures.items.items[piece];
    char stem[WK_PATH_MAX];
    wk_error *err = &d->errors[piece];
    if (wk_path_print(stem, err, "%s/figures/%s", d->directory, item->name) == WK_OK)
        wk_figure_write(item->figure, stem, err);
    wk_progress_count(d->report->config.runs.progress, thread);
}

static wk_status write_figures(const wk_report *report, const char *directory, wk_error *err)
{
    size_t count = report->figures.items.count;
    wk_text names = {0};
    for (size_t i = 0; i < count; i++) {
        const char *name = report->figures.items.items[i].name;
        wk_text_printf(&names, "%s.svg\n%s.png\n", name, name);
    }
    WK_TRY(open_images(directory, "figures", &names, err));
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

static wk_status write_images(const wk_report *report, const char *directory, wk_error *err)
{
    wk_text names = {0};
    for (size_t i = 0; i < report->images.items.count; i++)
        wk_text_printf(&names, "%.200s.png\n", report->images.items.items[i].name);
    WK_TRY(open_images(directory, "pictures", &names, err));
    for (size_t i = 0; i < report->images.items.count; i++) {
        const wk_report_image *p = &report->images.items.items[i];
        char path[WK_PATH_MAX];
        WK_TRY(wk_path_print(path, err, "%s/pictures/%.200s.png", directory, p->name));
        WK_TRY(wk_file_write(path, p->png, p->size, err));
    }
    return WK_OK;
}

wk_status wk_report_write(const wk_report *report, const char *directory, wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, "%s/index.html", directory));
    WK_TRY(write_tables(report, directory, err));
    WK_TRY(write_figures(report, directory, err));
    WK_TRY(write_images(report, directory, err));
    wk_text page = {0};
    wk_status status = wk_report_page(report, &page, err);
    if (status == WK_OK) return wk_file_write_text(NULL, path, &page, err);
    wk_text_free(&page);
    return status;
}
