#include "report/page/page.h"
#include "plot/figure.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct wk_page {
    wk_text head, contents, body;
    int sections;
    bool in_figures; // a row of figures is open
    bool finished;
    wk_error error; // the first thing that went wrong
};

static void put_escaped(wk_text *out, const char *before, const char *text, const char *after)
{
    wk_text_puts(out, before);
    wk_xml_escape(text, out);
    wk_text_puts(out, after);
}

wk_status wk_page_create(const char *title, const char *subtitle, wk_page **out, wk_error *err)
{
    wk_page *page = calloc(1, sizeof *page);
    if (!page) return wk_fail(err, WK_E_MEMORY, "no memory for a page");
    wk_text_puts(&page->head,
                 "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                 "<meta name=\"color-scheme\" content=\"light dark\">\n"
                 "<link rel=\"icon\" href=\"data:,\">\n");
    put_escaped(&page->head, "<title>", title, "</title>\n<style>\n");
    wk_text_puts(&page->head, wk_page_style);
    put_escaped(&page->head, "</style>\n</head>\n<body>\n<header>\n<h1>", title, "</h1>\n");
    if (subtitle) put_escaped(&page->head, "<p class=\"subtitle\">", subtitle, "</p>\n");
    wk_text_puts(&page->head, "</header>\n");
    *out = page;
    return WK_OK;
}

void wk_page_destroy(wk_page *page)
{
    if (!page) return;
    wk_text_free(&page->head);
    wk_text_free(&page->contents);
    wk_text_free(&page->body);
    free(page);
}

// Everything but a figure ends a row of figures.
static wk_text *body_of(wk_page *page)
{
    assert(!page->finished);
    if (page->in_figures) wk_text_puts(&page->body, "</div>\n");
    page->in_figures = false;
    return &page->body;
}

void wk_page_section(wk_page *page, const char *title)
{
    wk_text *body = body_of(page);
    if (page->sections) wk_text_puts(body, "</section>\n");
    int number = ++page->sections;
    wk_text_printf(body, "<section id=\"s%d\">\n", number);
    put_escaped(body, "<h2>", title, "</h2>\n");
    wk_text_printf(&page->contents, "<li><a href=\"#s%d\">", number);
    put_escaped(&page->contents, "", title, "</a></li>\n");
}

void wk_page_subsection(wk_page *page, const char *title)
{
    put_escaped(body_of(page), "<h3>", title, "</h3>\n");
}

static void put_format(wk_text *out, const char *before, const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0) {
        out->failed = true;
        return;
    }
    put_escaped(out, before, text, "</p>\n");
    free(text);
}

#define PARAGRAPH(name, begin)                                                                     \
    void wk_page_##name(wk_page *page, const char *format, ...)                                    \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        put_format(body_of(page), begin, format, args);                                            \
        va_end(args);                                                                              \
    }

PARAGRAPH(paragraph, "<p>")
PARAGRAPH(lead, "<p class=\"lead\">")
PARAGRAPH(note, "<p class=\"note\">")

static char align_of(const wk_page_table_data *table, size_t column)
{
    if (table->align) return table->align[column];
    return column < table->row_heads ? 'l' : 'r';
}

// On a phone only the last of the columns that name the rows is shown; the style sheet puts the
// names before it, which it carries along, into the same cell.
static void put_class(wk_text *out, const wk_page_table_data *table, size_t column,
                      const char *text, bool best)
{
    enum { LONG = 32 }; // names of users are broken into lines from here on
    const char *place = column + 1 < table->row_heads    ? " outer"
                        : column + 1 == table->row_heads ? " last"
                                                         : "";
    wk_text_printf(out, " class=\"%c%s%s%s\"", align_of(table, column), place, best ? " best" : "",
                   strlen(text) > LONG ? " long" : "");
}

// The names before the last one, as an attribute of that.
static void put_names(wk_text *out, const wk_page_table_data *table, size_t column,
                      const char *(*name)(const wk_page_table_data *, size_t, size_t), size_t row)
{
    if (column == 0 || column + 1 != table->row_heads) return;
    for (size_t c = 0; c < column; c++)
        put_escaped(out, c ? "&#10;" : " data-names=\"", name(table, row, c), "");
    wk_text_puts(out, "\"");
}

static const char *header_name(const wk_page_table_data *table, size_t row, size_t column)
{
    (void)row;
    return table->header[column] ? table->header[column] : "";
}

static const char *cell_name(const wk_page_table_data *table, size_t row, size_t column)
{
    const char *text = table->cells[row * table->columns + column].text;
    return text ? text : "";
}

static void put_head(wk_text *out, const wk_page_table_data *table)
{
    wk_text_puts(out, "<thead>\n<tr>");
    for (size_t c = 0; c < table->columns; c++) {
        wk_text_puts(out, "<th scope=\"col\"");
        put_class(out, table, c, header_name(table, 0, c), false);
        put_names(out, table, c, header_name, 0);
        put_escaped(out, ">", header_name(table, 0, c), "</th>");
    }
    wk_text_puts(out, "</tr>\n</thead>\n");
}

static void put_cell(wk_text *out, const wk_page_table_data *table, size_t row, size_t column)
{
    const wk_page_cell *cell = &table->cells[row * table->columns + column];
    bool head = column < table->row_heads;
    wk_text_puts(out, head ? "<th scope=\"row\"" : "<td");
    put_class(out, table, column, cell_name(table, row, column), cell->best);
    put_names(out, table, column, cell_name, row);
    put_escaped(out, cell->best ? "><strong>" : ">", cell->text ? cell->text : "",
                cell->best ? "</strong>" : "");
    if (cell->subtext) put_escaped(out, "<small>", cell->subtext, "</small>");
    wk_text_puts(out, head ? "</th>" : "</td>");
}

// More columns than these are set in smaller letters and with broken lines in print.
enum { WIDE = 6, WIDER = 11 };

void wk_page_table(wk_page *page, const wk_page_table_data *table)
{
    wk_text *out = body_of(page);
    put_escaped(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                table->caption ? table->caption : "Table", "\">\n");
    wk_text_puts(out, table->columns > WIDER  ? "<table class=\"wide wider\">\n"
                      : table->columns > WIDE ? "<table class=\"wide\">\n"
                                              : "<table>\n");
    if (table->caption) put_escaped(out, "<caption><span>", table->caption, "</span></caption>\n");
    put_head(out, table);
    wk_text_puts(out, "<tbody>\n");
    for (size_t r = 0; r < table->rows; r++) {
        wk_text_puts(out, "<tr>");
        for (size_t c = 0; c < table->columns; c++)
            put_cell(out, table, r, c);
        wk_text_puts(out, "</tr>\n");
    }
    wk_text_puts(out, "</tbody>\n</table>\n</div>\n");
}

static void put_base64(wk_text *out, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three = (uint32_t)bytes[i] << 16;
        if (left > 1) three |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2) three |= bytes[i + 2];
        char four[4] = {digits[three >> 18], digits[three >> 12 & 63],
                        left > 1 ? digits[three >> 6 & 63] : '=',
                        left > 2 ? digits[three & 63] : '='};
        wk_text_append(out, four, 4);
    }
}

static void put_link(wk_text *out, const wk_page_file *file)
{
    put_escaped(out, "<a download=\"", file->name, "\" href=\"data:");
    put_escaped(out, "", file->type, ";base64,");
    put_base64(out, file->bytes, file->size);
    put_escaped(out, "\">", file->label ? file->label : file->name, "</a>");
}

void wk_page_figure(wk_page *page, const wk_figure *figure, const char *caption,
                    const wk_page_file *files, size_t file_count)
{
    assert(!page->finished);
    wk_text *out = &page->body;
    if (!page->in_figures) wk_text_puts(out, "<div class=\"figures\">\n");
    page->in_figures = true;
    wk_text_puts(out, "<figure>\n");
    if (page->error.status == WK_OK) wk_figure_svg(figure, out, &page->error);
    put_escaped(out, "<figcaption>", caption ? caption : "", "");
    if (file_count) wk_text_puts(out, " <span class=\"files\">");
    for (size_t i = 0; i < file_count; i++)
        put_link(out, &files[i]);
    wk_text_puts(out,
                 file_count ? "</span></figcaption>\n</figure>\n" : "</figcaption>\n</figure>\n");
}

void wk_page_image(wk_page *page, const void *png, size_t size, uint32_t width, uint32_t height,
                   const char *caption)
{
    wk_text *out = body_of(page);
    wk_text_printf(out,
                   "<figure class=\"picture\">\n<img width=\"%u\" height=\"%u\" loading=\"lazy\"",
                   width, height);
    put_escaped(out, " alt=\"", caption, "\" src=\"data:image/png;base64,");
    put_base64(out, png, size);
    put_escaped(out, "\">\n<figcaption>", caption, "</figcaption>\n</figure>\n");
}

void wk_page_files(wk_page *page, const wk_page_file *files, size_t count)
{
    wk_text *out = body_of(page);
    wk_text_puts(out, "<ul class=\"downloads\">\n");
    for (size_t i = 0; i < count; i++) {
        wk_text_puts(out, "<li>");
        put_link(out, &files[i]);
        wk_text_puts(out, "</li>\n");
    }
    wk_text_puts(out, "</ul>\n");
}

wk_status wk_page_finish(wk_page *page, wk_text *out, wk_error *err)
{
    wk_text *body = body_of(page);
    if (page->sections) wk_text_puts(body, "</section>\n");
    page->finished = true;
    wk_text_append(out, wk_text_get(&page->head), page->head.length);
    if (page->sections > 1) {
        wk_text_puts(out, "<nav aria-label=\"Contents\">\n<ol>\n");
        wk_text_append(out, wk_text_get(&page->contents), page->contents.length);
        wk_text_puts(out, "</ol>\n</nav>\n");
    }
    wk_text_puts(out, "<main>\n");
    wk_text_append(out, wk_text_get(body), body->length);
    wk_text_puts(out, "</main>\n</body>\n</html>\n");
    if (page->error.status != WK_OK) {
        if (err) *err = page->error;
        return page->error.status;
    }
    if (page->head.failed || page->contents.failed || body->failed || out->failed)
        return wk_fail(err, WK_E_MEMORY, "no memory for the page");
    return WK_OK;
}
