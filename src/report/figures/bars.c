// Figures of bars: model errors and probabilities of improvement.
#include "report/figures/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_block(const wk_error_entry *a, const wk_error_entry *b)
{
    return strcmp(a->domain, b->domain) == 0 && strcmp(a->exploration, b->exploration) == 0 &&
           strcmp(a->policy, b->policy) == 0;
}

// The curricula [first, end) of one domain, exploration and policy in one figure.
static wk_status draw_errors(wk_report_figures *figures, const wk_error_entry *items, size_t count,
                             wk_error_statistic figure, const wk_paper *paper, wk_plot_bar *bars,
                             wk_error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        double mean = items[i].mean[figure], sd = items[i].sd[figure];
        if (isnan(mean)) continue;
        bool spread = items[i].seeds > 1;
        bars[n++] = (wk_plot_bar){items[i].curriculum, mean, spread ? mean - sd : NAN,
                                  spread ? mean + sd : NAN,
                                  wk_curriculum_style(paper, items[i].curriculum)};
    }
    if (n == 0) return WK_OK;
    const char *what = wk_error_statistic_name(figure);
    char title[256], name[256], caption[512], label[64];
    snprintf(label, sizeof label, "%s%s", what,
             figure == WK_ERROR_CORRELATION ? " of estimate and error" : " of the squared error");
    snprintf(title, sizeof title, "%s%s: %s, %s, policy %s",
             figure == WK_ERROR_CORRELATION ? "Estimate and error, " : "Image error, ", what,
             items->domain, items->exploration, items->policy);
    snprintf(name, sizeof name, "model-error-%s-%s-%s-%s", what, items->domain, items->exploration,
             items->policy);
    snprintf(caption, sizeof caption,
             figure == WK_ERROR_CORRELATION
                 ? "How well the ensemble's estimate ranks the environments by their error (%s); "
                   "intervals are the s.d. over seeds."
                 : "Image prediction error, %s; intervals are the s.d. over seeds.",
             what);
    wk_plot_bars plot = {
        .title = title, .axis = {.label = label}, .bars = bars, .count = n, .has_reference = false};
    wk_figure *drawn;
    WK_TRY(wk_plot_bars_draw(&plot, &drawn, err));
    return wk_report_figures_add(figures, WK_FIGURES_ERRORS, drawn, name, caption, err);
}

wk_status wk_report_figures_errors(wk_report_figures *figures, const wk_model_errors *errors,
                                   const wk_paper *paper, wk_error *err)
{
    static const wk_error_statistic shown[] = {WK_ERROR_MEAN, WK_ERROR_CVAR, WK_ERROR_CORRELATION};
    size_t count = errors->items.count;
    wk_plot_bar *bars = calloc(count + 1, sizeof *bars);
    if (!bars) return wk_fail(err, WK_E_MEMORY, "no memory for the figures of model errors");
    wk_status status = WK_OK;
    const wk_error_entry *items = errors->items.items;
    for (size_t first = 0, end; first < count && status == WK_OK; first = end) {
        for (end = first + 1; end < count && same_block(&items[first], &items[end]);)
            end++;
        for (size_t k = 0; k < sizeof shown / sizeof *shown && status == WK_OK; k++)
            status = draw_errors(figures, items + first, end - first, shown[k], paper, bars, err);
    }
    free(bars);
    return status;
}

// Bars and their labels for one comparison group.
typedef struct labelled {
    wk_plot_bar *bars;
    char **labels; // owned
} labelled;

// The pairs grow with the square of the methods; a figure of more is read by nobody.
enum { PAIRS_MAX = 200 };

// The method with the highest interquartile mean.
static const char *best_of(const wk_comparison *comparison, const wk_comparison_group *group)
{
    const wk_curriculum_score *best = NULL;
    for (size_t i = 0; i < comparison->ranking.count; i++) {
        const wk_curriculum_score *s = &comparison->ranking.items[i];
        if (!wk_comparison_group_same(&s->group, group)) continue;
        if (!best || s->iqm.value > best->iqm.value) best = s;
    }
    return best ? best->curriculum : "";
}

// Bars of the pairs; with `only` of those that this method is part of. False without memory.
static bool put_bars(const wk_improvement *items, size_t count, const char *only,
                     const wk_paper *paper, const labelled *room, size_t *n_bars)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const wk_estimate *e = &items[i].estimate;
        if (only && strcmp(items[i].x, only) != 0 && strcmp(items[i].y, only) != 0) continue;
        size_t size = strlen(items[i].x) + strlen(items[i].y) + sizeof " over ";
        free(room->labels[n]);
        room->labels[n] = malloc(size);
        if (!room->labels[n]) return false;
        snprintf(room->labels[n], size, "%s over %s", items[i].x, items[i].y);
        room->bars[n] = (wk_plot_bar){room->labels[n], e->value, e->low, e->high,
                                      wk_curriculum_style(paper, items[i].x)};
        n++;
    }
    *n_bars = n;
    return true;
}

static wk_status draw_group(wk_report_figures *figures, const wk_comparison *comparison,
                            const wk_improvement *items, size_t count, const wk_paper *paper,
                            const labelled *room, wk_error *err)
{
    const char *only = count > PAIRS_MAX ? best_of(comparison, &items->group) : NULL;
    size_t n_bars;
    if (!put_bars(items, count, only, paper, room, &n_bars))
        return wk_fail(err, WK_E_MEMORY, "no memory for the figures of comparisons");
    wk_text title = {0};
    char name[256], caption[512];
    int used = snprintf(caption, sizeof caption,
                        "Probability that X scores higher than Y, with its 95 %% stratified "
                        "bootstrap interval. An interval above 0.5 is an improvement.");
    if (only)
        snprintf(caption + used, sizeof caption - (size_t)used,
                 " Of %zu pairs, those with the method that has the highest interquartile mean; "
                 "tables/improvement.csv has all.",
                 count);
    wk_text_puts(&title, "Improvement: ");
    wk_comparison_group_title(&items->group, &title);
    snprintf(name, sizeof name, "improvement-%s-%s%s", items->group.metric,
             items->group.exploration, items->group.combined ? "-combined" : "");
    wk_plot_bars plot = {
        .title = wk_text_get(&title),
        .axis = {.label = "probability of improvement", .fixed = true, .min = 0, .max = 1},
        .bars = room->bars,
        .count = n_bars,
        .has_reference = true,
        .reference = 0.5};
    wk_figure *figure;
    wk_status status = wk_plot_bars_draw(&plot, &figure, err);
    if (status == WK_OK)
        status = wk_report_figures_add(figures, WK_FIGURES_IMPROVEMENT, figure, name, caption, err);
    wk_text_free(&title);
    return status;
}

wk_status wk_report_figures_improvements(wk_report_figures *figures,
                                         const wk_comparison *comparison, const wk_paper *paper,
                                         wk_error *err)
{
    size_t count = comparison->improvements.count;
    const wk_improvement *items = comparison->improvements.items;
    labelled room = {calloc(count + 1, sizeof *room.bars), calloc(count + 1, sizeof *room.labels)};
    wk_status status = room.bars && room.labels
                           ? WK_OK
                           : wk_fail(err, WK_E_MEMORY, "no memory for the figures of comparisons");
    for (size_t first = 0, end; first < count && status == WK_OK; first = end) {
        for (end = first + 1;
             end < count && wk_comparison_group_same(&items[first].group, &items[end].group);)
            end++;
        status = draw_group(figures, comparison, items + first, end - first, paper, &room, err);
    }
    for (size_t i = 0; room.labels && i < count; i++)
        free(room.labels[i]);
    free(room.bars);
    free(room.labels);
    return status;
}
