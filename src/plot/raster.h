// Anti-aliased filling of outlines: polygons collected edge by edge, then filled by the
// non-zero winding rule. Coverage is exact along x and sampled 16 times a pixel along y.
// Lines become outlines too; all their pieces turn the same way, so that overlaps count once.
#ifndef WK_PLOT_RASTER_H
#define WK_PLOT_RASTER_H

#include "base/array.h"
#include "media/image.h"
#include "plot/figure.h"

/// An edge that is not horizontal, from its upper to its lower end.
typedef struct wk_raster_edge {
    double x, y, y_end, slope; // slope: x per y
    int winding;               // 1 where the outline goes down, -1 where it goes up
} wk_raster_edge;

/// Where an edge meets a row of samples.
typedef struct wk_raster_crossing {
    float x;
    int winding;
} wk_raster_crossing;

/// Zero-initialise, add outlines, fill, and use again or free.
typedef struct wk_raster {
    WK_ARRAY(wk_raster_edge) edges;
    // Room for filling, kept from one to the next.
    WK_ARRAY(wk_raster_crossing) crossings; // row by row of samples
    WK_ARRAY(size_t) begins;                // of the rows' crossings
    WK_ARRAY(float) coverage;               // its change from pixel to pixel
    bool failed;                            // memory ran out; filling reports it
} wk_raster;

/// Adds a closed polygon; coordinates are in pixels.
void wk_raster_polygon(wk_raster *raster, const wk_point *points, size_t count);
void wk_raster_disc(wk_raster *raster, wk_point centre, double radius);
/// Adds the outline of a line with round joins; its ends are cut off or round.
void wk_raster_line(wk_raster *raster, const wk_point *points, size_t count, double width,
                    bool round_ends);

/// Paints what the outlines enclose, blended over the image, and forgets them.
wk_status wk_raster_fill(wk_raster *raster, uint32_t colour, double opacity, wk_image *image,
                         wk_error *err);
void wk_raster_free(wk_raster *raster);

#endif
