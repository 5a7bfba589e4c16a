// Where things stand in a clean-up arena: its measures, and the random start of an episode by
// rejection sampling. An arena is a square |x|, |y| <= s walled in on all sides; the goals are the
// strips of width 0.5 along its left and right wall, and everything starts between them.
#ifndef WK_ENV_DOMAINS_CLEANUP_LAYOUT_H
#define WK_ENV_DOMAINS_CLEANUP_LAYOUT_H

#include "base/rng.h"
#include "waker/error.h"

enum {
    WK_CLEANUP_ARENAS = 6,     // 0 ... 4 for training, 5 for the extra block
    WK_CLEANUP_BLOCKS_MAX = 5, // in arena 5; arena i holds up to i blocks
};

/// A position on the floor and a heading in [0, 2 pi).
typedef struct wk_cleanup_pose {
    double x, y, yaw;
} wk_cleanup_pose;

/// The start of an episode; `blocks` holds the green ones first, then the blue ones.
typedef struct wk_cleanup_layout {
    wk_cleanup_pose robot;
    wk_cleanup_pose blocks[WK_CLEANUP_BLOCKS_MAX];
} wk_cleanup_layout;

/// Half the side of arena 0 ... 5 in metres: 0.7 growing by 0.175; arena 5 is as large as arena 4.
double wk_cleanup_half_size(int arena);

/// Draws a layout: positions of robot, blue and green blocks in this order, then the headings of
/// robot, green and blue ones. Fails only if 50000 attempts find no room.
wk_status wk_cleanup_layout_draw(int arena, int green, int blue, wk_rng *rng,
                                 wk_cleanup_layout *out, wk_error *err);

#endif
