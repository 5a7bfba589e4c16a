// The image of a MuJoCo world, drawn tile by tile. What changes rarely (sky, walls, the front of a
// terrain) is the backdrop: one or two layers of finished pixels, over which everything else is
// drawn. It is kept for images up to the size of an observation and drawn anew for each larger one,
// so that the memory of an environment does not depend on the size of its images.
//
// The three kinds of scene read poses, colours, lights and camera 0 from MuJoCo's model and data at
// every draw.
#ifndef WK_ENV_DOMAINS_SCENE_H
#define WK_ENV_DOMAINS_SCENE_H

#include "env/render/kernels.h"

typedef struct wk_scene wk_scene;

/// What distinguishes a kind of scene. Its struct begins with a wk_scene.
typedef struct wk_scene_kind {
    const char *name; // for messages
    size_t size;      // of its struct
    int layers;       // of the backdrop, 1 or 2

    /// Reads what is constant from the model; destroyed also after a failure. NULL: nothing is.
    wk_status (*init)(wk_scene *scene, const mjModel *model, wk_error *err);
    void (*free)(wk_scene *scene);

    /// Fills scene->lit for an image. The number must change when a kept backdrop of the same size
    /// is no longer right.
    float (*look)(wk_scene *scene, const wk_view *view, const mjModel *model, const mjData *data);

    /// Called before a backdrop is made; NULL: it needs nothing beyond `look`.
    void (*look_behind)(wk_scene *scene, const wk_view *view, const mjModel *model,
                        const mjData *data);
    /// The colours of the backdrop's layers in the current tile; its bytes follow from them.
    void (*make_backdrop)(wk_scene *scene, wk_backdrop *layers);

    /// Called for each column of tiles; may be NULL.
    void (*begin_column)(wk_scene *scene);
    /// Draws the tile; returns the blocks that show nothing but the second layer.
    uint64_t (*draw_tile)(wk_scene *scene, const wk_backdrop *layers);
} wk_scene_kind;

struct wk_scene {
    const wk_scene_kind *kind;
    wk_render_config config;
    const wk_kernels *kernels;
    wk_lit_scene lit;
    wk_tile tile;
    uint8_t pixels[WK_TILE_HEIGHT][3 * WK_TILE_WIDTH];
    int kept_width, kept_height; // image the backdrop is kept for; 0: none
    float kept_look;             // what `look` returned for it
    wk_backdrop *backdrop;       // [WK_SMALL_TILES + 1, layers]; the last is that of large images
};

/// Sky, extruded height profile and capsules, seen from a camera that only translates.
extern const wk_scene_kind wk_terrain_scene;
/// Sky, a floor at z = 0 with its texture and its reflection of the robot, and capsules.
extern const wk_scene_kind wk_dmc_scene;
/// Floor, walls, translucent goals, blocks and robot from above.
extern const wk_scene_kind wk_cleanup_scene;

/// Fails for a model that the kind cannot draw.
wk_status wk_scene_create(const wk_scene_kind *kind, const mjModel *model,
                          const wk_render_config *config, wk_scene **out, wk_error *err);
/// NULL is allowed.
void wk_scene_destroy(wk_scene *scene);

/// Draws the state in `data` (positions, camera and light must be current).
void wk_scene_draw(wk_scene *scene, const mjModel *model, const mjData *data, int width, int height,
                   uint8_t *rgb);

/// Drops the kept backdrop; call it when something in it changes.
void wk_scene_forget(wk_scene *scene);

/// Reads the height profile of a terrain scene; call it after writing model->hfield_data.
void wk_terrain_scene_read(wk_scene *scene, const mjModel *model);

/// MuJoCo's gradient skybox without its random stars, a function of the elevation of the ray: its
/// colours straight up and straight down are the model's custom numbers "sky_up" and "sky_down"
/// (three each), black where they are missing.
typedef struct wk_sky {
    double up[3], down[3];
} wk_sky;
wk_sky wk_sky_make(const mjModel *model);
void wk_sky_shade(const wk_sky *sky, const wk_view *view, const wk_tile *tile, wk_backdrop *out);

#endif
