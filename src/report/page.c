#include "report/page.h"
#include "plot/figure.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Colours are variables, turned around on dark screens only, never in print. Wide tables scroll in
// boxes of their own, so that the page itself never does. Figures follow through the classes of
// their roles. No character of it would need escaping in <style>.
static const char style[] =
    // Colours and letters.
    ":root{color-scheme:light dark;--ink:#1b1f24;--muted:#59626d;--faint:#dde1e6;--paper:#fff;"
    "--shade:#f5f6f8;--accent:#0060a0;--best:#dff1e9}\n"
    "@media screen and (prefers-color-scheme:dark){"
    ":root{--ink:#e4e7eb;--muted:#a3acb8;--faint:#3a424d;--paper:#14171b;--shade:#1e2329;"
    "--accent:#79b8ee;--best:#143d30}"
    "svg .ink{fill:var(--ink)}svg .muted{fill:var(--muted)}svg .faint{fill:var(--faint)}"
    "svg .paper{fill:var(--paper)}svg .line{fill:none}"
    "svg .line.ink{stroke:var(--ink)}svg .line.muted{stroke:var(--muted)}"
    "svg .line.faint{stroke:var(--faint)}}\n"
    "*{box-sizing:border-box}\n"
    "html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "body{margin:0 auto;max-width:72rem;padding:1rem 1rem 4rem;background:var(--paper);"
    "color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,"
    "sans-serif;overflow-wrap:break-word}\n"
    "h1{font-size:1.75rem;line-height:1.2;margin:1rem 0 .25rem}\n"
    "h2{font-size:1.3rem;line-height:1.3;margin:3rem 0 .75rem;padding-bottom:.3rem;"
    "border-bottom:2px solid var(--faint)}\n"
    "h3{font-size:1.05rem;margin:2rem 0 .5rem}\n"
    "p{margin:.6rem 0}\n"
    "a{color:var(--accent)}\n"
    ".subtitle{color:var(--muted);margin-top:0}\n"
    "nav{margin:1.5rem 0;padding:.8rem 1rem;background:var(--shade);border-radius:.5rem}\n"
    "nav ol{margin:0;padding-left:1.4rem;columns:18rem 3;column-gap:2rem}\n"
    "nav li{padding:.15rem 0;break-inside:avoid}\n"
    "nav a{text-decoration:none}nav a:hover{text-decoration:underline}\n"
    ".lead{font-size:1.2rem;line-height:1.45;font-weight:500}\n"
    ".note{padding:.6rem .9rem;border-left:4px solid #e69f00;background:var(--shade);"
    "border-radius:0 .3rem .3rem 0}\n"
    // Tables.
    // Shades at the sides tell that there is more; they scroll under a cover at the ends.
    ".scroll{overflow-x:auto;margin:1rem 0 1.5rem;max-width:100%;background:"
    "linear-gradient(to right,var(--paper) 30%,transparent) 0 0/2.5rem 100% no-repeat local,"
    "linear-gradient(to left,var(--paper) 30%,transparent) 100% 0/2.5rem 100% no-repeat local,"
    "linear-gradient(to right,#8886,transparent) 0 0/.8rem 100% no-repeat scroll,"
    "linear-gradient(to left,#8886,transparent) 100% 0/.8rem 100% no-repeat scroll}\n"
    ".scroll:focus-visible{outline:2px solid var(--accent);outline-offset:2px}\n"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    ".caption{color:var(--muted);font-size:.9rem;margin:1rem 0 -.4rem}\n"
    "th,td{padding:.32rem .6rem;text-align:right;vertical-align:top;white-space:nowrap}\n"
    "th.long,td.long{white-space:normal;overflow-wrap:anywhere;min-width:12rem;max-width:18rem}\n"
    "th{font-weight:600}tbody th{font-weight:500}\n"
    "th.l,td.l{text-align:left}th.c,td.c{text-align:center}\n"
    "thead th{vertical-align:bottom}thead tr:last-child th{border-bottom:1.5px solid var(--ink)}\n"
    "tbody tr+tr>*{border-top:1px solid var(--faint)}\n"
    "tbody tr:hover>*{background:var(--shade)}\n"
    "th.last{position:sticky;left:0;background:var(--paper)}\n"
    "td.best{background:var(--best);font-weight:700}\n"
    "small{display:block;font-size:.87em;font-weight:400;color:var(--muted)}\n"
    // Figures: as many side by side as fit.
    ".figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));"
    "gap:1.5rem;margin:1.25rem 0 2rem;align-items:start}\n"
    "figure{margin:0;min-width:0}\n"
    "figure svg{display:block;width:100%;height:auto}\n"
    "figure.picture{max-width:100%;margin:1.25rem 0}\n"
    "img{display:block;max-width:100%;height:auto;background:#fff;border-radius:.3rem}\n"
    "figcaption{color:var(--muted);font-size:.88rem;line-height:1.45;padding:.3rem 2.7% 0}\n"
    ".files{font-size:.85rem;white-space:nowrap}.files a{margin-right:.8rem}\n"
    "ul.downloads{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.5rem}\n"
    "ul.downloads a{display:block;padding:.4rem .8rem;border:1px solid var(--faint);"
    "border-radius:.4rem;text-decoration:none}\n"
    // Phones.
    "@media screen and (max-width:40rem){body{padding:.5rem .9rem 3rem}h1{font-size:1.4rem}"
    "h2{font-size:1.15rem;margin-top:2.2rem}th,td{padding:.3rem .5rem}"
    ".outer{display:none}th.last{max-width:50vw;overflow:hidden;text-overflow:ellipsis}"
    "th.last[data-names]{font-size:.87em}tbody th.last[data-names]{color:var(--muted)}"
    "th.last[data-names]::before{content:attr(data-names);display:block;white-space:pre;"
    "font-size:1.15em;color:var(--ink)}"
    "nav ol{columns:1}nav li{padding:.3rem 0}.figures{margin-left:-.5rem;margin-right:-.5rem}}\n"
    // Paper: nothing is cut off or torn apart, links that lead nowhere are left out.
    "@page{margin:15mm}\n"
    "@media print{body{max-width:none;padding:0;font-size:10pt}"
    "h1{font-size:18pt}h2{font-size:13pt;margin-top:8mm}h3{font-size:11pt}"
    "h2,h3,.caption{break-after:avoid}p{orphans:3;widows:3}"
    ".files,ul.downloads,.screen{display:none}a{color:inherit;text-decoration:none}"
    ".scroll{overflow:visible;background:none}table{font-size:7.5pt}"
    "th,td{padding:.8mm 1.2mm}table.wide{font-size:6.2pt}table.wide th,table.wide td"
    "{padding:.8mm .9mm}table.wide th,table.wider td{white-space:normal}"
    "thead{display:table-header-group}tr,figure,.note{break-inside:avoid}"
    "th.last{position:static}td.best{background:none}"
    ".figures{grid-template-columns:1fr 1fr;gap:5mm}"
    "figcaption{font-size:8pt}}\n";

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
    wk_text_puts(&page->head, style);
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
    wk_text text = {0};
    wk_text_vprintf(&text, format, args);
    put_escaped(out, before, wk_text_get(&text), "</p>\n");
    out->failed |= text.failed;
    wk_text_free(&text);
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

// The names before column `c`, the last one that names rows, are carried along as an attribute: on
// a phone only that column is shown, and the style sheet puts the names into the same cell.
static void begin_cell(wk_text *out, const wk_report_view *view, const wk_report_cell *row,
                       size_t c, bool heading)
{
    enum { LONG = 32 }; // names of users are broken into lines from here on
    const char *text = heading ? row[c].head : row[c].text;
    wk_text_puts(out, heading           ? "<th scope=\"col\""
                      : c < view->heads ? "<th scope=\"row\""
                                        : "<td");
    wk_text_printf(out, " class=\"%c%s%s%s\"", c < view->heads ? 'l' : 'r',
                   c + 1 < view->heads    ? " outer"
                   : c + 1 == view->heads ? " last"
                                          : "",
                   row[c].best && !heading ? " best" : "", strlen(text) > LONG ? " long" : "");
    if (c == 0 || c + 1 != view->heads) return;
    for (size_t k = 0; k < c; k++)
        put_escaped(out, k ? "&#10;" : " data-names=\"", heading ? row[k].head : row[k].text, "");
    wk_text_puts(out, "\"");
}

void wk_page_table(wk_page *page, const wk_report_view *view)
{
    // More columns than these are set in smaller letters and with broken lines in print.
    enum { WIDE = 6, WIDER = 11 };
    wk_text *out = body_of(page);
    const wk_report_cell *row = view->cells.items;
    size_t columns = view->cells.count / view->rows.count;
    if (view->caption) put_escaped(out, "<p class=\"caption\">", view->caption, "</p>\n");
    put_escaped(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"",
                view->caption ? view->caption : "Table", "\">\n");
    wk_text_puts(out, columns > WIDER  ? "<table class=\"wide wider\">\n"
                      : columns > WIDE ? "<table class=\"wide\">\n"
                                       : "<table>\n");
    wk_text_puts(out, "<thead>\n<tr>");
    for (size_t c = 0; c < columns; c++) {
        begin_cell(out, view, row, c, true);
        put_escaped(out, ">", row[c].head, "</th>");
    }
    wk_text_puts(out, "</tr>\n</thead>\n<tbody>\n");
    for (size_t r = 0; r < view->rows.count; r++, row += columns) {
        wk_text_puts(out, "<tr>");
        for (size_t c = 0; c < columns; c++) {
            begin_cell(out, view, row, c, false);
            put_escaped(out, row[c].best ? "><strong>" : ">", row[c].text,
                        row[c].best ? "</strong>" : "");
            if (row[c].subtext) put_escaped(out, "<small>", row[c].subtext, "</small>");
            wk_text_puts(out, c < view->heads ? "</th>" : "</td>");
        }
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

void wk_page_figure(wk_page *page, const wk_figure *figure, const char *caption)
{
    assert(!page->finished);
    wk_text *out = &page->body;
    if (!page->in_figures) wk_text_puts(out, "<div class=\"figures\">\n");
    page->in_figures = true;
    wk_text_puts(out, "<figure>\n");
    if (page->error.status == WK_OK) wk_figure_svg(figure, out, &page->error);
    put_escaped(out, "<figcaption>", caption, "</figcaption>\n</figure>\n");
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

void wk_page_csv(wk_page *page, const char *name, wk_text *csv)
{
    wk_text *out = body_of(page);
    put_escaped(out, "<ul class=\"downloads\">\n<li><a download=\"", name,
                "\" href=\"data:text/csv;base64,");
    put_base64(out, (const uint8_t *)wk_text_get(csv), csv->length);
    put_escaped(out, "\">", name, "</a></li>\n</ul>\n");
    out->failed |= csv->failed;
    wk_text_free(csv);
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
