// Maps over θ as one picture, drawn as the report draws them: a row for each panel, its layers side
// by side. A layer has one colour scale in all panels that have the same cells.
#ifndef WK_REPORT_MAPS_H
#define WK_REPORT_MAPS_H

#include "log/heatmap.h"

/// Zero-initialise and free the picture.
wk_status wk_maps_draw(const wk_heatmap *map, wk_image *out, wk_error *err);

/// The same as a PNG file.
wk_status wk_maps_write(const wk_heatmap *map, const char *path, wk_error *err);

#endif
