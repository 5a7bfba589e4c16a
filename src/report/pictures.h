// Pictures of a report: the environments of its domains, and what the world models imagine next to
// the truth (RUN/eval/openloop-*.png, made by `waker openloop`).
#ifndef WK_REPORT_PICTURES_H
#define WK_REPORT_PICTURES_H

#include "report/data/runs.h"

typedef enum wk_picture_kind { WK_PICTURE_ENVIRONMENTS, WK_PICTURE_IMAGINED } wk_picture_kind;

/// A PNG file with its stem and what it shows. Owned.
typedef struct wk_picture {
    wk_picture_kind kind;
    char *name, *caption;
    uint8_t *png;
    size_t size;
    uint32_t width, height;
} wk_picture;

/// Zero-initialise; free it also after a failure.
typedef struct wk_pictures {
    WK_ARRAY(wk_picture) items;
} wk_pictures;

/// Draws a contact sheet of every built-in domain, and of each method takes the newest open-loop
/// strip of its first run that has one. What cannot be drawn is said in `missing`, what cannot be
/// read among the problems of the runs.
wk_status wk_pictures_make(wk_runs *runs, wk_pictures *out, wk_sentences *missing, wk_error *err);
void wk_pictures_free(wk_pictures *pictures);

#endif
