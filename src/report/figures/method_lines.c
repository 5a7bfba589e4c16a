#include "report/figures/method_lines.h"

#include <math.h>
#include <string.h>

// The line of a method, made where there is none yet; NULL: there are too many.
static wk_method_line *line_of(wk_method_lines *lines, const char *method)
{
    for (size_t k = 0; k < lines->count; k++)
        if (strcmp(lines->items[k].method, method) == 0) return &lines->items[k];
    if (lines->count == WK_METHOD_LINES_MAX) return NULL;
    wk_method_line *line = &lines->items[lines->count++];
    *line = (wk_method_line){.method = method};
    return line;
}

void wk_method_lines_add(wk_method_lines *lines, const char *method, const wk_method_curve *c)
{
    wk_method_line *l = line_of(lines, method);
    if (!l || (l->runs > 0 && l->count != c->count)) return;
    l->count = c->count;
    l->runs++;
    for (size_t i = 0; i < c->count; i++) {
        l->x[i] = c->x[i];
        l->sum[i] += c->y[i];
        l->squares[i] += c->y[i] * c->y[i];
        l->below[i] = c->low ? c->y[i] - c->low[i] : 0;
        l->above[i] = c->high ? c->high[i] - c->y[i] : 0;
    }
}

static void take_mean(wk_method_line *l)
{
    double n = (double)l->runs;
    for (size_t i = 0; i < l->count; i++) {
        l->sum[i] /= n;
        if (l->runs == 1) continue;
        l->below[i] = l->above[i] = sqrt(fmax(0, l->squares[i] / n - l->sum[i] * l->sum[i]));
    }
}

void wk_method_lines_finish(wk_method_lines *lines, const wk_paper *paper,
                            wk_plot_series series[WK_METHOD_LINES_MAX])
{
    for (size_t k = 0; k < lines->count; k++) {
        wk_method_line *l = &lines->items[k];
        take_mean(l);
        lines->several = lines->several || l->runs > 1;
        series[k] = (wk_plot_series){.name = l->method,
                                     .count = l->count,
                                     .x = l->x,
                                     .y = l->sum,
                                     .spread = l->below,
                                     .above = l->above,
                                     .style = wk_curriculum_style(paper, l->method)};
    }
}
