// How an image is made; shared by all scenes.
#ifndef WK_ENV_RENDER_CONFIG_H
#define WK_ENV_RENDER_CONFIG_H

#include <stdbool.h>

/// Defaults: 4 samples per pixel, shadows on.
typedef struct wk_render_config {
    int samples;  // 1 or 4 per pixel
    bool shadows; // the robot's shadow on the terrain
} wk_render_config;

#endif
