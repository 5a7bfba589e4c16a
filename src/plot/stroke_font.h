// A sans-serif font drawn with a round pen, for figures as images: it needs no font files and comes
// out the same everywhere. Printable ASCII, Greek letters and signs of formulas; anything else is a
// box. Its widths are close to those of the fonts SVG viewers choose.
#ifndef WK_PLOT_STROKE_FONT_H
#define WK_PLOT_STROKE_FONT_H

#include "plot/raster.h"

/// How wide a text is in the font's size.
double wk_stroke_text_width(const char *text, double size);

/// Adds the outlines of UTF-8 text that begins at `at` on the base line, upwards or to the right.
void wk_stroke_text(wk_raster *raster, wk_point at, const char *text, double size, bool bold,
                    bool upwards);

#endif
