// The page: its parts in order, text that stays text, and tables, links and files that Python's
// HTML parser reads back.
#include "base/file.h"
#include "report/page.h"
#include "report/python.h"
#include "report/sample.h"
#include <stdbool.h>
#include <unistd.h>

#define PATH "page_test.tmp.html"

static wk_error err;

static wk_page *create(void)
{
    wk_page *page = NULL;
    assert_ok(wk_page_create("Title", NULL, &page, &err));
    return page;
}

static char *finish(wk_page *page)
{
    wk_text text = {0};
    assert_ok(wk_page_finish(page, &text, &err));
    wk_page_destroy(page);
    return text.chars;
}

TEST_CASE(contents_list_the_sections)
{
    wk_page *page = create();
    wk_page_section(page, "One & only");
    wk_page_section(page, "Two");
    char *html = finish(page);
    assert_non_null(strstr(html, "<li><a href=\"#s1\">One &amp; only</a></li>\n"
                                 "<li><a href=\"#s2\">Two</a></li>"));
    assert_non_null(strstr(html, "<section id=\"s1\">\n<h2>One &amp; only</h2>\n</section>\n"
                                 "<section id=\"s2\">"));
    free(html);
}

TEST_CASE(figures_in_a_row_share_a_grid)
{
    wk_page *page = create();
    wk_figure *figure = sample_figure(7);
    wk_page_figure(page, figure, "a");
    wk_page_figure(page, figure, "b");
    wk_page_paragraph(page, "between");
    wk_page_figure(page, figure, "c");
    wk_figure_destroy(figure);
    char *html = finish(page);
    int grids = 0, figures = 0;
    for (const char *at = html; (at = strstr(at, "<div class=\"figures\">")); at++)
        grids++;
    for (const char *at = html; (at = strstr(at, "<figure>")); at++)
        figures++;
    assert_int_equal(grids, 2);
    assert_int_equal(figures, 3);
    free(html);
}

TEST_CASE(all_text_is_escaped)
{
    static const char evil[] = "</title><script>alert(\"1\")</script><a href='x'>&";
    wk_page *page = NULL;
    wk_figure *figure = NULL;
    assert_ok(wk_page_create(evil, evil, &page, &err));
    assert_ok(wk_figure_create(10, 10, evil, &figure, &err));
    wk_figure_text(figure, 1, 5, evil, (wk_text_style){0});
    wk_report_cell cell = {.head = evil, .text = evil, .subtext = evil, .best = true};
    wk_report_view view = {.caption = evil};
    view.cells.items = &cell;
    view.rows.count = view.cells.count = 1;
    wk_text csv = {0};
    wk_text_puts(&csv, evil);
    wk_page_section(page, evil);
    wk_page_subsection(page, evil);
    wk_page_paragraph(page, "%s", evil);
    wk_page_note(page, "%s", evil);
    wk_page_table(page, &view);
    wk_page_figure(page, figure, evil);
    wk_page_csv(page, evil, &csv);
    wk_page_section(page, evil);
    wk_figure_destroy(figure);
    char *html = finish(page);
    assert_null(strstr(html, "<script"));
    assert_null(strstr(html, "<a href='x'"));
    assert_null(strstr(html, "alert(\""));
    int escaped = 0;
    for (const char *at = html; (at = strstr(at, "&lt;script&gt;alert(&quot;1&quot;)")); at++)
        escaped++;
    assert_int_equal(escaped, 20); // every place above, some twice
    free(html);
}

TEST_CASE(a_page_without_sections_has_no_contents)
{
    wk_page *page = create();
    wk_page_paragraph(page, "%d%%", 5);
    char *html = finish(page);
    assert_null(strstr(html, "<nav"));
    assert_non_null(strstr(html, "<main>\n<p>5%</p>\n</main>"));
    free(html);
}

TEST_CASE(equal_pages_give_equal_bytes)
{
    wk_text one = {0}, two = {0};
    sample_page(&one);
    sample_page(&two);
    assert_string_equal(one.chars, two.chars);
    wk_text_free(&one);
    wk_text_free(&two);
}

static const char reader[] =
    "import base64, sys\n"
    "from html.parser import HTMLParser\n"
    "VOID = {'meta', 'link', 'path', 'rect', 'circle', 'br', 'img'}\n"
    "class Page(HTMLParser):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.open, self.tables, self.links, self.ids, self.tags = [], [], [], set(), []\n"
    "        self.cell = None\n"
    "    def handle_startendtag(self, tag, attrs):\n"
    "        assert tag in VOID, tag\n"
    "        self.tags.append(tag)\n"
    "    def handle_starttag(self, tag, attrs):\n"
    "        names = [a for a, _ in attrs]\n"
    "        assert len(set(names)) == len(names), names\n"
    "        assert not any(a.startswith('on') or a == 'src' for a in names), names\n"
    "        a = dict(attrs)\n"
    "        self.tags.append(tag)\n"
    "        if tag not in VOID: self.open.append(tag)\n"
    "        if 'id' in a: assert a['id'] not in self.ids; self.ids.add(a['id'])\n"
    "        if tag == 'a': self.links.append(a)\n"
    "        if tag == 'table': self.tables.append([])\n"
    "        if tag == 'tr': self.tables[-1].append([])\n"
    "        if tag in ('th', 'td'):\n"
    "            assert tag == 'td' or a['scope'] in ('row', 'col'), a\n"
    "            self.cell = [tag, '', 'best' in a.get('class', '')]\n"
    "            self.tables[-1][-1] += [self.cell]\n"
    "        if tag == 'small': self.cell[1] += '|'\n"
    "    def handle_endtag(self, tag):\n"
    "        assert self.open.pop() == tag, tag\n"
    "        if tag in ('th', 'td'): self.cell = None\n"
    "    def handle_data(self, data):\n"
    "        if self.cell is not None: self.cell[1] += data\n"
    "text = open(sys.argv[1], encoding='utf-8').read()\n"
    "p = Page()\n"
    "p.feed(text)\n"
    "p.close()\n"
    "assert not p.open, p.open\n"
    "assert text.startswith('<!doctype html>')\n"
    "assert 'script' not in p.tags and 'img' not in p.tags and 'iframe' not in p.tags\n"
    "assert text.count('http') == text.count('xmlns=\"http://www.w3.org/2000/svg\"')\n"
    "assert 'url(' not in text and '@import' not in text\n"
    "assert p.tags.count('svg') == p.tags.count('figure') == 9\n"
    "small, main = p.tables\n"
    "assert [[c[1] for c in row] for row in small] == [['what', 'number'], ['runs', '12'], "
    "['seeds', '2'], ['missing', '3']], small\n"
    "assert small[3][1][2] and not small[2][1][2]\n"
    "assert all(len(row) == 9 for row in main) and len(main) == 10\n"
    "assert main[9][1][:2] == ['th', '<script>alert(1)</script>'], main[9]\n"
    "for row in main[1:]:\n"
    "    assert [c[0] for c in row] == ['th'] * 2 + ['td'] * 7\n"
    "    for cell in row[2:]:\n"
    "        ours, paper = cell[1].split('|')\n"
    "        mean, sd = map(float, ours.split(' ± '))\n"
    "        assert abs(sd - mean / 20) < 0.06 and paper.startswith('paper '), cell\n"
    "for link in p.links:\n"
    "    href = link['href']\n"
    "    assert (href[0] == '#' and href[1:] in p.ids) or href.startswith('data:'), href\n"
    "files = {l['download']: base64.b64decode(l['href'].split(',', 1)[1], validate=True) "
    "for l in p.links if 'download' in l}\n"
    "assert files == {'results.csv': b'a,b\\n1,2\\n'}, files\n";

TEST_CASE(pythons_parser_reads_the_page_back)
{
    need_python();
    wk_text text = {0};
    sample_page(&text);
    assert_ok(wk_file_write(PATH, text.chars, text.length, &err));
    wk_text_free(&text);
    assert_int_equal(run_python(reader, PATH), 0);
    unlink(PATH);
}

TEST_CASE(long_names_are_broken_into_lines)
{
    wk_page *page;
    wk_text text = {0};
    wk_report_cell cells[] = {{.head = "task", .text = "walk"},
                              {.head = "a label that somebody made of all the settings there are",
                               .text = "1",
                               .best = true}};
    wk_report_view view = {.heads = 1};
    view.cells.items = cells;
    view.cells.count = 2;
    view.rows.count = 1;
    assert_ok(wk_page_create("t", NULL, &page, &err));
    wk_page_table(page, &view);
    assert_ok(wk_page_finish(page, &text, &err));
    assert_non_null(strstr(text.chars, "<th scope=\"col\" class=\"r long\">a label"));
    assert_non_null(strstr(text.chars, "<td class=\"r best\">"));
    wk_page_destroy(page);
    wk_text_free(&text);
}

TEST_MAIN(NULL, NULL)
