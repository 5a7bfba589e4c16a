// Images of a report: the environments of its domains, and what the world models imagine next to
// the truth (RUN/eval/openloop-*.png, made by `waker openloop`).
#ifndef WK_REPORT_IMAGES_H
#define WK_REPORT_IMAGES_H

#include "report/runs.h"

typedef enum wk_report_image_kind {
    WK_REPORT_IMAGE_IMAGINED,
    WK_REPORT_IMAGE_ENVIRONMENTS,
} wk_report_image_kind;

/// A PNG file with its stem and what it shows.
typedef struct wk_report_image {
    wk_report_image_kind kind;
    const char *name, *caption;
    const uint8_t *png;
    size_t size;
    uint32_t width, height;
} wk_report_image;

typedef struct wk_report_images {
    WK_ARRAY(wk_report_image) items;
} wk_report_images;

/// Draws a contact sheet of every built-in domain, and of each method takes the newest open-loop
/// strip of its first run that has one. What cannot be drawn is listed in `missing`, what cannot be
/// read among the problems of the runs.
wk_status wk_report_images_make(wk_runs *runs, wk_report_images *out, wk_sentences *missing,
                                wk_error *err);

#endif
