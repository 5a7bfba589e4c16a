// One HTML page that needs nothing else: style, figures and files to download are inside it, there
// are no scripts, and all text is escaped. It is readable on a phone, on a dark screen and in
// print.
//
//     wk_page *page;
//     WK_TRY(wk_page_create("Results", "12 runs", &page, err));
//     wk_page_section(page, "Robustness");
//     wk_page_paragraph(page, "CVaR of the worst %g %%.", 10.0);
//     wk_page_table(page, &table.page);
//     wk_page_figure(page, figure, "Learning curves.");
//     wk_status status = wk_page_finish(page, &text, err);
//     wk_page_destroy(page);
//
// Calls between create and finish cannot fail; finish reports errors.
#ifndef WK_REPORT_PAGE_H
#define WK_REPORT_PAGE_H

#include "plot/figure.h"
#include "report/tables.h"

typedef struct wk_page wk_page;

/// A page; `subtitle` is a line below the title, or NULL.
wk_status wk_page_create(const char *title, const char *subtitle, wk_page **out, wk_error *err);
void wk_page_destroy(wk_page *page);

/// Begins a section, listed in the table of contents.
void wk_page_section(wk_page *page, const char *title);
/// A smaller heading inside a section.
void wk_page_subsection(wk_page *page, const char *title);
void wk_page_paragraph(wk_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// A paragraph in larger letters: the one sentence to take away.
void wk_page_lead(wk_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// A paragraph set apart, for what the reader must not miss (what is missing, what failed).
void wk_page_note(wk_page *page, const char *format, ...) __attribute__((format(printf, 2, 3)));
/// A table, which must have rows.
void wk_page_table(wk_page *page, const wk_report_view *view);
/// A figure with a caption. Figures that follow each other stand side by side where there is room.
void wk_page_figure(wk_page *page, const wk_figure *figure, const char *caption);
/// A PNG image of that size, never shown larger, with its caption.
void wk_page_image(wk_page *page, const void *png, size_t size, uint32_t width, uint32_t height,
                   const char *caption);
/// A CSV file to download, which is inside the page. Frees the text.
void wk_page_csv(wk_page *page, const char *name, wk_text *csv);

/// Appends the whole page; nothing may be added afterwards.
wk_status wk_page_finish(wk_page *page, wk_text *out, wk_error *err);

#endif
