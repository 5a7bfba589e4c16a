// Reducing the colours of a frame to a palette: median cut over the colours of a frame (Heckbert,
// 1982). A frame that has no more colours than the palette keeps every one of them exactly.
#ifndef WK_MEDIA_PALETTE_H
#define WK_MEDIA_PALETTE_H

#include "waker/error.h"
#include <stddef.h>
#include <stdint.h>

enum { WK_PALETTE_MAX = 256 };

/// The chosen colours, 0xRRGGBB.
typedef struct wk_palette {
    int count;
    uint32_t colours[WK_PALETTE_MAX];
} wk_palette;

/// Chooses up to `max` colours for `count` pixels (0xRRGGBB) and writes the index of each pixel's
/// colour to `indices`. Pixels equal to WK_PALETTE_SKIP are left out, and so are their indices.
wk_status wk_palette_choose(const uint32_t *pixels, size_t count, int max, wk_palette *palette,
                            uint8_t *indices, wk_error *err);

/// A pixel that needs no colour.
#define WK_PALETTE_SKIP UINT32_MAX

#endif
