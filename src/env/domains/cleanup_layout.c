// Rejection sampling of where an episode starts.
#include "env/domains/cleanup_layout.h"

#include <assert.h>
#include <stdbool.h>

enum {
    DRAWS_PER_OBJECT = 100, // then the whole layout starts again
    RESTARTS_MAX = 50000,
    OBJECTS_MAX = 1 + WK_CLEANUP_BLOCKS_MAX,
};

static const double robot_keepout = 0.2;
static const double block_keepout = 0.35;
static const double goal_width = 0.5;

// What has been placed so far: centres and the radii kept free around them.
typedef struct placed {
    int count;
    double x[OBJECTS_MAX], y[OBJECTS_MAX], keepout[OBJECTS_MAX];
} placed;

double wk_cleanup_half_size(int arena)
{
    static const double half_sizes[WK_CLEANUP_ARENAS] = {0.7, 0.875, 1.05, 1.225, 1.4, 1.4};
    assert(arena >= 0 && arena < WK_CLEANUP_ARENAS);
    return half_sizes[arena];
}

// Whether (x, y) keeps its distance from everything placed before.
static bool is_free(const placed *objects, double x, double y, double keepout)
{
    for (int i = 0; i < objects->count; i++) {
        double dx = x - objects->x[i], dy = y - objects->y[i];
        double distance = keepout + objects->keepout[i];
        if (dx * dx + dy * dy < distance * distance) return false;
    }
    return true;
}

// Tries to place one object in the rectangle between the goals, shrunk by its keep-out radius.
static bool place(placed *objects, double half_size, double keepout, wk_rng *rng)
{
    double x_max = half_size - goal_width - keepout, y_max = half_size - keepout;
    for (int draw = 0; draw < DRAWS_PER_OBJECT; draw++) {
        double x = wk_rng_uniform(rng, -x_max, x_max);
        double y = wk_rng_uniform(rng, -y_max, y_max);
        if (!is_free(objects, x, y, keepout)) continue;
        objects->x[objects->count] = x;
        objects->y[objects->count] = y;
        objects->keepout[objects->count++] = keepout;
        return true;
    }
    return false;
}

// One attempt at the robot and then all blocks.
static bool place_all(placed *objects, double half_size, int blocks, wk_rng *rng)
{
    objects->count = 0;
    if (!place(objects, half_size, robot_keepout, rng)) return false;
    for (int b = 0; b < blocks; b++)
        if (!place(objects, half_size, block_keepout, rng)) return false;
    return true;
}

static wk_cleanup_pose pose_of(const placed *objects, int i, wk_rng *rng)
{
    const double full_turn = 6.283185307179586;
    return (wk_cleanup_pose){objects->x[i], objects->y[i], wk_rng_uniform(rng, 0, full_turn)};
}

wk_status wk_cleanup_layout_draw(int arena, int green, int blue, wk_rng *rng,
                                 wk_cleanup_layout *out, wk_error *err)
{
    assert(green >= 0 && blue >= 0 && green + blue <= WK_CLEANUP_BLOCKS_MAX);
    double half_size = wk_cleanup_half_size(arena);
    placed objects;
    int restarts = 0;
    while (!place_all(&objects, half_size, green + blue, rng))
        if (++restarts > RESTARTS_MAX)
            return wk_fail(err, WK_E_INPUT,
                           "no room for %d blocks in arena %d after %d attempts: use fewer blocks "
                           "or a larger arena",
                           green + blue, arena, restarts);
    // Placed in the order robot, blue, green; listed in the order robot, green, blue.
    out->robot = pose_of(&objects, 0, rng);
    for (int g = 0; g < green; g++)
        out->blocks[g] = pose_of(&objects, 1 + blue + g, rng);
    for (int b = 0; b < blue; b++)
        out->blocks[green + b] = pose_of(&objects, 1 + b, rng);
    return WK_OK;
}
