// The figures of a report: comparisons, learning curves, maps of the environments visited, what the
// curricula chose, losses, model errors, predictions, benchmarks.
#ifndef WK_REPORT_FIGURES_H
#define WK_REPORT_FIGURES_H

#include "plot/plot.h"
#include "report/results.h"

/// Where on the page a figure belongs.
typedef enum wk_figure_section {
    WK_FIGURES_IMPROVEMENT,
    WK_FIGURES_CURVES_CVAR,
    WK_FIGURES_CURVES_AVERAGE,
    WK_FIGURES_CURVES_OOD,
    WK_FIGURES_MAPS,
    WK_FIGURES_CHOICES,
    WK_FIGURES_INDICATORS,
    WK_FIGURES_LOSSES_MODEL,
    WK_FIGURES_LOSSES_POLICIES,
    WK_FIGURES_ERRORS,
    WK_FIGURES_PREDICTIONS,
    WK_FIGURES_ROBUST,
    WK_PICTURES_IMAGINED,
    WK_PICTURES_ENVIRONMENTS,
} wk_figure_section;

/// A figure, or a picture from a PNG file, with the stem of its files and its caption.
typedef struct wk_report_figure {
    wk_figure_section section;
    const char *name, *caption;
    wk_figure *figure; // owned; NULL: the PNG
    const uint8_t *png;
    size_t size;
    uint32_t width, height;
} wk_report_figure;

/// Zero-initialise; free it also after a failure.
typedef struct wk_report_figures {
    WK_ARRAY(wk_report_figure) items;
} wk_report_figures;

void wk_report_figures_free(wk_report_figures *figures);

/// What figures are drawn from.
typedef struct wk_figure_data {
    wk_runs *runs;
    const wk_paper *paper;
    const wk_results_config *config;
    const wk_report_rows *scores, *errors;
    const wk_comparison *comparison;
} wk_figure_data;

/// Draws all that there is data for; what cannot be drawn is added to `missing`.
wk_status wk_report_figures_draw(const wk_figure_data *data, wk_report_figures *figures,
                                 wk_sentences *missing, wk_error *err);

/// Adds a figure, which it takes over, also on failure; strings and the PNG are copied. The name
/// may have any characters; those not fit for a file name become '-'.
wk_status wk_report_figures_add(wk_report_memory *memory, wk_report_figures *figures,
                                wk_report_figure item, wk_error *err);

/// Maps of the environments visited and of the estimated error, from the newest checkpoints.
wk_status wk_report_figures_maps(const wk_figure_data *data, wk_report_figures *figures,
                                 wk_sentences *missing, wk_error *err);

/// Pictures: a contact sheet of every built-in domain, and of each method the newest open-loop
/// strip (RUN/eval/openloop-*.png) of its first run that has one. What cannot be drawn is added to
/// `missing`, what cannot be read to the problems of the runs.
wk_status wk_report_pictures_make(wk_runs *runs, wk_report_figures *pictures, wk_sentences *missing,
                                  wk_error *err);

#endif
