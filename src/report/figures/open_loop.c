// How far imagination strays from what happens along the policies' own episodes: the error of
// images and of rewards by the steps that the model is ahead, a line for each method.
#include "report/figures/method_lines.h"

#include <stdio.h>
#include <string.h>

// The newest score of a task in the default distribution that has errors; NULL: there is none.
static const wk_run_score *score_of(const wk_report_run *run, const char *policy, const char *task,
                                    const char *domain)
{
    const wk_run_score *best = NULL;
    for (size_t i = 0; i < run->scores.count && policy; i++) {
        const wk_run_score *s = &run->scores.items[i];
        bool fits = s->open_steps > 0 && !*s->variant && strcmp(s->policy, policy) == 0 &&
                    strcmp(s->task, task) == 0 && strcmp(s->domain, domain) == 0;
        if (fits && (!best || s->step > best->step)) best = s;
    }
    return best;
}

// What the two figures differ in.
typedef struct kind {
    const char *title, *name, *label;
    bool image;
} kind;

static const kind kinds[] = {
    {"Imagined images", "imagined-image", "mean squared error of the image", true},
    {"Imagined rewards", "imagined-reward", "mean absolute error of the reward", false},
};

static void gather(const wk_runs *runs, const wk_seed_scores_config *config, size_t first,
                   const wk_run_score *like, const kind *k, wk_method_lines *lines)
{
    double ahead[WK_CURVE_POINTS_MAX];
    for (int i = 0; i < WK_CURVE_POINTS_MAX; i++)
        ahead[i] = i + 1;
    for (size_t i = first; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        if (!wk_runs_same_group(runs->items.items[first], run)) continue;
        const wk_run_score *s = score_of(run, wk_run_policy(run, config), like->task, like->domain);
        if (!s) continue;
        const wk_method_curve curve = {
            .x = ahead,
            .y = k->image ? s->open_image : s->open_reward,
            .count = s->open_steps < WK_CURVE_POINTS_MAX ? s->open_steps : WK_CURVE_POINTS_MAX};
        wk_method_lines_add(lines, run->method, &curve);
    }
}

static wk_status draw(wk_report_figures *figures, const wk_report_run *run,
                      const wk_run_score *like, const kind *k, wk_method_lines *lines,
                      const wk_paper *paper, wk_error *err)
{
    wk_plot_series series[WK_METHOD_LINES_MAX];
    char title[256], name[256];
    wk_method_lines_finish(lines, paper, series);
    snprintf(title, sizeof title, "%s: %s, %s, %s", k->title, like->domain, like->task,
             run->exploration);
    snprintf(name, sizeof name, "%s-%s-%s-%s", k->name, like->domain, like->task, run->exploration);
    const wk_plot_lines plot = {.title = title,
                                .x = {.label = "agent steps ahead"},
                                .y = {.label = k->label},
                                .series = series,
                                .count = lines->count};
    wk_figure *figure;
    WK_TRY(wk_plot_lines_draw(&plot, &figure, err));
    return wk_report_figures_add(
        figures, WK_FIGURES_PREDICTIONS, figure, name,
        "Along episodes of the policy in the default distribution the world model sees 5 frames "
        "and "
        "imagines the rest from the actions alone, again and again; means over 8 episodes, of "
        "several runs with their s.d.",
        err);
}

// Whether an earlier run of the group, or an earlier score of this one, has the figures already.
static bool is_drawn(const wk_runs *runs, const wk_seed_scores_config *config, size_t run,
                     size_t score)
{
    const wk_report_run *own = runs->items.items[run];
    const wk_run_score *like = &own->scores.items[score];
    for (size_t i = 0; i < run; i++) {
        const wk_report_run *other = runs->items.items[i];
        if (wk_runs_same_group(other, own) &&
            score_of(other, wk_run_policy(other, config), like->task, like->domain))
            return true;
    }
    return score_of(own, wk_run_policy(own, config), like->task, like->domain) != like;
}

wk_status wk_report_figures_open_loop(wk_report_figures *figures, const wk_runs *runs,
                                      const wk_seed_scores_config *config, const wk_paper *paper,
                                      wk_error *err)
{
    for (size_t i = 0; i < runs->items.count; i++) {
        const wk_report_run *run = runs->items.items[i];
        for (size_t s = 0; s < run->scores.count; s++) {
            if (is_drawn(runs, config, i, s)) continue;
            const wk_run_score *like = &run->scores.items[s];
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                wk_method_lines lines = {0};
                gather(runs, config, i, like, &kinds[k], &lines);
                WK_TRY(draw(figures, run, like, &kinds[k], &lines, paper, err));
            }
        }
    }
    return WK_OK;
}
