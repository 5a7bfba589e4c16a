// A page with one of every figure and table, from made-up numbers that look like those of a report:
// for tests of the page, and to look at.
#ifndef WK_TESTS_REPORT_SAMPLE_H
#define WK_TESTS_REPORT_SAMPLE_H

#include "plot/plot.h"
#include "report/page.h"

enum { SAMPLE_FIGURES = 9, SAMPLE_TABLES = 2, SAMPLE_SECTIONS = 5 };

/// Figure number `i`; the caller owns it.
wk_figure *sample_figure(int i);

/// The whole page.
void sample_page(wk_text *out);

#endif
