// The figures of a report, made from its data: learning curves, what the curricula chose, maps of
// the environments they visited, model errors, and comparisons. The list owns its figures.
#ifndef WK_REPORT_FIGURES_FIGURES_H
#define WK_REPORT_FIGURES_FIGURES_H

#include "plot/plot.h"
#include "report/data/seed_scores.h"
#include "report/tables/improvement.h"
#include "report/tables/model_errors.h"

/// Where on the page a figure belongs.
typedef enum wk_figure_section {
    WK_FIGURES_IMPROVEMENT,
    WK_FIGURES_CURVES_CVAR,
    WK_FIGURES_CURVES_AVERAGE,
    WK_FIGURES_CURVES_OOD,
    WK_FIGURES_MAPS,
    WK_FIGURES_CHOICES,
    WK_FIGURES_INDICATORS,
    WK_FIGURES_ERRORS,
    WK_FIGURES_PREDICTIONS,
    WK_FIGURES_ROBUST,
    WK_FIGURE_SECTIONS
} wk_figure_section;

/// A figure with its file's stem and its caption.
typedef struct wk_report_figure {
    wk_figure_section section;
    char *name, *caption;
    wk_figure *figure;
} wk_report_figure;

/// Zero-initialise; free it also after a failure.
typedef struct wk_report_figures {
    WK_ARRAY(wk_report_figure) items;
} wk_report_figures;

void wk_report_figures_free(wk_report_figures *figures);

/// Takes ownership of the figure, also on failure. The name may have any characters; those not fit
/// for a file name become '-'.
wk_status wk_report_figures_add(wk_report_figures *figures, wk_figure_section section,
                                wk_figure *figure, const char *name, const char *caption,
                                wk_error *err);

/// A colour and line style for a curriculum, the same in every figure.
int wk_curriculum_style(const wk_paper *paper, const char *curriculum);

/// Scores over snapshots with the s.d. over seeds shaded, one figure for each metric, domain, case,
/// task and exploration that has more than one step.
wk_status wk_report_figures_curves(wk_report_figures *figures, const wk_seed_scores *scores,
                                   wk_error *err);
/// Mean of each parameter of the chosen environments over time, and of each indicator of what was
/// done in them.
wk_status wk_report_figures_choices(wk_report_figures *figures, const wk_runs *runs,
                                    const wk_paper *paper, wk_error *err);
/// Maps of the environments visited and of the estimated error, from the newest checkpoints; what
/// cannot be drawn is added to `missing`.
wk_status wk_report_figures_maps(wk_report_figures *figures, wk_runs *runs, const wk_paper *paper,
                                 wk_sentences *missing, wk_error *err);
/// Bars of the model errors.
wk_status wk_report_figures_errors(wk_report_figures *figures, const wk_model_errors *errors,
                                   const wk_paper *paper, wk_error *err);
/// The ensemble's estimates against the errors, a point for each environment.
wk_status wk_report_figures_estimates(wk_report_figures *figures, const wk_runs *runs,
                                      const wk_paper *paper, wk_error *err);
/// Promised values against discounted returns, one figure for each domain, task and exploration.
wk_status wk_report_figures_calibration(wk_report_figures *figures, const wk_seed_scores *scores,
                                        wk_error *err);
/// Errors of what the models imagine along the policies' episodes, two figures for each domain,
/// task and exploration.
wk_status wk_report_figures_open_loop(wk_report_figures *figures, const wk_runs *runs,
                                      const wk_seed_scores_config *config, const wk_paper *paper,
                                      wk_error *err);
/// CVaR over its fraction in frozen sets of environments, one figure for each domain, exploration,
/// task, set and part.
wk_status wk_report_figures_robust(wk_report_figures *figures, const wk_runs *runs,
                                   const wk_paper *paper, wk_error *err);
/// Bars of the probabilities of improvement; of more than 200 pairs those with the best method.
wk_status wk_report_figures_improvements(wk_report_figures *figures,
                                         const wk_comparison *comparison, const wk_paper *paper,
                                         wk_error *err);

#endif
