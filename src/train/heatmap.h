// What a curriculum does, as maps over θ: episodes begun, error estimate and probability of the
// next episode, in cells of the first parameter (rows) and the rest (columns). Parameters behind
// the second are counts of one kind in all our domains; their sum makes the column. A combined
// space has a panel for each of its domains. Drawn as text and as a picture.
#ifndef WK_TRAIN_HEATMAP_H
#define WK_TRAIN_HEATMAP_H

#include "base/text.h"
#include "media/image.h"
#include "waker/curriculum.h"

/// What is mapped.
typedef enum wk_heat { WK_HEAT_VISITS, WK_HEAT_ERROR, WK_HEAT_PROBABILITY, WK_HEATS } wk_heat;

/// "episodes", "error", "probability".
const char *wk_heat_name(wk_heat heat);

/// One map for each of them. Visits and probabilities are sums over the θ of a cell, errors means.
typedef struct wk_heat_panel {
    char title[160];
    char row_name[64], column_name[64]; // row_name is "" when there is a single row
    int rows, columns;
    double *row_values, *column_values; // rising
    double *cells[WK_HEATS];            // [rows,columns]; NaN: no such θ, or no error yet
    double least[WK_HEATS], largest[WK_HEATS];
} wk_heat_panel;

enum { WK_HEAT_PANELS_MAX = 8 };

typedef struct wk_heatmap {
    int count;
    wk_heat_panel panels[WK_HEAT_PANELS_MAX];
} wk_heatmap;

/// Maps the curriculum as it stands.
wk_status wk_heatmap_create(const wk_domain *domain, const wk_space *space,
                            const wk_curriculum *curriculum, wk_heatmap *out, wk_error *err);
void wk_heatmap_free(wk_heatmap *map);

/// Appends the maps: numbers where they fit a line, else shades from '.' (least) to '@' (most).
void wk_heatmap_text(const wk_heatmap *map, wk_text *out);

/// Draws them, from dark blue (least) to yellow (most); grey has no value.
wk_status wk_heatmap_draw(const wk_heatmap *map, wk_image *out, wk_error *err);

#endif
