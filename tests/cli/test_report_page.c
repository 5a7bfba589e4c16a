// The page that waker report writes, opened in a browser, and its tables read back to the numbers.
// Skipped where there is no Chromium.
#include "base/file.h"
#include "report/browser.h"
#include "report/python.h"
#include <glob.h>

#define FOLDER "report-real.tmp"
#define HOME WAKER_BINARY_DIR "/tests/" FOLDER

static int setup(void **state)
{
    wk_error err = {0};
    char *page;
    size_t size;
    assert_int_equal(
        system("rm -rf '" HOME "' && mkdir -p '" HOME "' && cd '" HOME "' && "
               "python3 '" WAKER_SOURCE_DIR
               "/tools/synthetic_runs.py' runs --seeds 2 --domains toy "
               "clean-up --curricula waker-m dr --steps 3 --lines 20 --waker '" WAKER_BINARY_DIR
               "/waker' && '" WAKER_BINARY_DIR "/waker' report runs --out . --reps 50 >told.txt"),
        0);
    assert_ok(wk_file_read(HOME "/index.html", 1 << 28, &page, &size, &err));
    browser_open(FOLDER, page);
    free(page);
    return 0;
}

static int teardown(void **state)
{
    browser_close();
    return system("rm -rf '" HOME "/runs'");
}

TEST_CASE(the_page_fits_a_phone_and_a_desktop)
{
    browser_expect("overflow", 0);
    browser_expect("beyond", 0);
    browser_expect("spilled", 0);
    browser_expect("unseen", 0);
    assert_true(browser_measure(BROWSER_PHONE, "smallest") >= 8);
}

TEST_CASE(it_needs_nothing_else_and_its_links_lead_somewhere)
{
    browser_expect("fetched", 0);
    browser_expect("foreign", 0);
    browser_expect("links", browser_measure(BROWSER_PHONE, "sections"));
}

TEST_CASE(it_shows_every_figure_that_was_written)
{
    glob_t found;
    assert_int_equal(glob(HOME "/figures/*.svg", 0, NULL, &found), 0);
    browser_expect("figures", (double)found.gl_pathc);
    globfree(&found);
}

// Every number of a table of scores is the one of the CSV file, rounded to the digits shown.
static const char reader[] =
    "import csv, sys\n"
    "from html.parser import HTMLParser\n"
    "class Tables(HTMLParser):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.tables, self.cell, self.aside = [], None, False\n"
    "    def handle_starttag(self, tag, attrs):\n"
    "        if tag == 'table': self.tables.append([])\n"
    "        if tag == 'tr': self.tables[-1].append([])\n"
    "        if tag in ('th', 'td'): self.tables[-1][-1].append(''); self.cell = True\n"
    "        if tag == 'small': self.aside = True\n"
    "    def handle_endtag(self, tag):\n"
    "        if tag in ('th', 'td'): self.cell = None\n"
    "        if tag == 'small': self.aside = False\n"
    "    def handle_data(self, data):\n"
    "        if self.cell and not self.aside: self.tables[-1][-1][-1] += data\n"
    "p = Tables()\n"
    "p.feed(open(sys.argv[1] + '/index.html', encoding='utf-8').read())\n"
    "scores = [t for t in p.tables if 'task' in t[0] and 'waker-m' in t[0]]\n"
    "compared = 0\n"
    "for name, table in zip(('cvar', 'average', 'ood'), scores):\n"
    "    head = table[0]\n"
    "    shown = {}\n"
    "    for row in table[1:]:\n"
    "        line = dict(zip(head, row))\n"
    "        for c in ('waker-m', 'dr'):\n"
    "            key = (line['domain'], line.get('case', ''), line['task'], line['exploration'], "
    "c)\n"
    "            shown[key] = line[c]\n"
    "    for r in csv.DictReader(open(sys.argv[1] + '/tables/' + name + '.csv')):\n"
    "        text = shown[r['domain'], r['variant'], r['task'], r['exploration'], "
    "r['curriculum']]\n"
    "        mean, sd = text.split(' (')[0].split(' ± ')\n"
    "        for number, true in ((mean, r['mean']), (sd, r['sd'])):\n"
    "            digits = len(number.partition('.')[2])\n"
    "            assert abs(float(number) - float(true)) <= 0.5001 * 10 ** -digits, (text, r)\n"
    "            compared += 1\n"
    "assert compared == 2 * 2 * 15, compared\n";

TEST_CASE(tables_read_back_to_the_numbers)
{
    need_python();
    assert_int_equal(run_python(reader, HOME), 0);
}

int main(void)
{
    if (!browser_find()) {
        print_message("skipped: no Chromium; install it or set WAKER_CHROMIUM\n");
        return BROWSER_SKIPPED;
    }
    return run_all_tests(setup, teardown);
}
