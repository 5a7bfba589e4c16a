// The figures of a report, made from its data: learning curves, what the curricula chose, maps of
// the environments they visited, model errors, and comparisons. A gallery owns its figures.
#ifndef WK_REPORT_FIGURES_H
#define WK_REPORT_FIGURES_H

#include "report/data/missing.h"
#include "report/plot/plot.h"
#include "report/tables/improvement.h"
#include "report/tables/model_errors.h"

/// Where on the page a figure belongs.
typedef enum wk_gallery_part {
    WK_PART_IMPROVEMENT,
    WK_PART_CURVES_CVAR,
    WK_PART_CURVES_AVERAGE,
    WK_PART_CURVES_OOD,
    WK_PART_MAPS,
    WK_PART_CHOICES,
    WK_PART_ERRORS,
    WK_PARTS
} wk_gallery_part;

/// A figure with its file's stem and its caption.
typedef struct wk_exhibit {
    wk_gallery_part part;
    char *name, *caption;
    wk_figure *figure;
} wk_exhibit;

/// Zero-initialise; free it also after a failure.
typedef struct wk_gallery {
    WK_ARRAY(wk_exhibit) items;
} wk_gallery;

void wk_gallery_free(wk_gallery *gallery);

/// Takes the figure over, also on failure. The name may have any characters; what is not fit for a
/// file becomes '-'.
wk_status wk_gallery_add(wk_gallery *gallery, wk_gallery_part part, wk_figure *figure,
                         const char *name, const char *caption, wk_error *err);

/// A colour and line style for a curriculum, the same in every figure.
int wk_curriculum_style(const wk_paper *paper, const char *curriculum);

/// Scores over snapshots with the s.d. over seeds shaded, one figure for each metric, domain, case,
/// task and exploration that has more than one step.
wk_status wk_gallery_curves(wk_gallery *gallery, const wk_findings *findings, wk_error *err);
/// Mean of each parameter of the chosen environments over time.
wk_status wk_gallery_choices(wk_gallery *gallery, const wk_runs *runs, const wk_paper *paper,
                             wk_error *err);
/// Maps of the environments visited and of the estimated error, from the newest checkpoints; what
/// cannot be drawn is added to `missing`.
wk_status wk_gallery_maps(wk_gallery *gallery, const wk_runs *runs, const wk_paper *paper,
                          wk_missing *missing, wk_error *err);
/// Bars of the model errors.
wk_status wk_gallery_errors(wk_gallery *gallery, const wk_model_errors *errors,
                            const wk_paper *paper, wk_error *err);
/// The ensemble's estimates against the errors, a point for each environment.
wk_status wk_gallery_estimates(wk_gallery *gallery, const wk_runs *runs, const wk_paper *paper,
                               wk_error *err);
/// Bars of the probabilities of improvement.
wk_status wk_gallery_improvements(wk_gallery *gallery, const wk_comparison *comparison,
                                  const wk_paper *paper, wk_error *err);

#endif
