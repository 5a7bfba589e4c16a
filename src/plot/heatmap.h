// Heat maps over θ, for example of a curriculum: episodes begun, error estimate and probability of
// the next episode, in cells of the first parameter (rows) and the rest (columns). Parameters after
// the second are counts of one kind in all our domains; their sum makes the column. A continuous
// space is shown in bins of its first two parameters. A combined space has a panel for each of its
// domains. Drawn as text and as an image.
#ifndef WK_PLOT_HEATMAP_H
#define WK_PLOT_HEATMAP_H

#include "base/text.h"
#include "media/image.h"
#include "waker/curriculum.h"

/// How the values of a cell's θ are combined, and how the result is written.
typedef enum wk_heat_kind { WK_HEAT_IS_COUNT, WK_HEAT_IS_SHARE, WK_HEAT_IS_MEAN } wk_heat_kind;

/// One value of every θ: counts and shares are summed over a cell, others averaged.
typedef struct wk_heat_layer {
    const char *name; // a literal
    wk_heat_kind kind;
    const double *values; // [θ]; NaN: none
} wk_heat_layer;

/// The layers of a map, named after those of a curriculum.
typedef enum wk_heat { WK_HEAT_VISITS, WK_HEAT_ERROR, WK_HEAT_PROBABILITY, WK_HEATS } wk_heat;

/// One map for each layer.
typedef struct wk_heat_panel {
    char title[160];
    char row_name[64], column_name[64]; // row_name is "" when there is a single row
    int rows, columns;
    double *row_values, *column_values; // ascending
    const char *names[WK_HEATS];
    wk_heat_kind kinds[WK_HEATS];
    double *cells[WK_HEATS]; // [rows,columns]; NaN: no such θ, or no value
    double min[WK_HEATS], max[WK_HEATS];
} wk_heat_panel;

enum { WK_HEAT_PANELS_MAX = 32 };

/// Zero-initialise.
typedef struct wk_heatmap {
    int count;
    wk_heat_panel panels[WK_HEAT_PANELS_MAX];
} wk_heatmap;

/// Adds panels with the layers of a space's θ; `title` is put before the domain's name. Free the
/// map also after a failure; there is room for WK_HEAT_PANELS_MAX.
wk_status wk_heatmap_add(wk_heatmap *map, const char *title, const wk_domain *domain,
                         const wk_space *space, const wk_heat_layer layers[WK_HEATS],
                         wk_error *err);

/// Maps the curriculum's current state.
wk_status wk_heatmap_create(const wk_domain *domain, const wk_space *space,
                            const wk_curriculum *curriculum, wk_heatmap *out, wk_error *err);
void wk_heatmap_free(wk_heatmap *map);

/// Appends the maps: numbers where they fit a line, else shades from '.' (minimum) to '@'
/// (maximum).
void wk_heatmap_text(const wk_heatmap *map, wk_text *out);

/// Draws them as one image, as the report does: a row for each panel, its layers side by side. A
/// layer has one colour scale in all panels that have the same cells; cells without a value are
/// grey. Zero-initialise and free the image.
wk_status wk_heatmap_draw(const wk_heatmap *map, wk_image *out, wk_error *err);
/// As wk_heatmap_draw, of one layer.
wk_status wk_heatmap_draw_layer(const wk_heatmap *map, wk_heat heat, wk_image *out, wk_error *err);

/// Writes what wk_heatmap_draw draws as a PNG file.
wk_status wk_heatmap_write(const wk_heatmap *map, const char *path, wk_error *err);

#endif
