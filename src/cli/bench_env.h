// How fast environments run, compared with MuJoCo's stock way in the same run.
#ifndef WK_CLI_BENCH_ENV_H
#define WK_CLI_BENCH_ENV_H

#include "cli/chosen_domain.h"

/// Mean seconds of parts of an agent step, over the same environments and actions: processor time
/// for what runs on one thread, time of the wall clock for the vector.
typedef struct wk_env_speed {
    double physics, image;          // one environment on one thread
    double vector_physics;          // per step, all environments on all threads
    double vector_both;             // the same with images
    double reset;                   // one environment
    double stock_physics, gl_image; // MuJoCo's own collisions, and its OpenGL image by OSMesa
    bool compared;                  // the two above were measured
    char why_not[256];              // otherwise the reason
    double bytes_per_env;           // growth of the process's resident memory
    int worlds;                     // parameter settings visited
    int envs, threads;
} wk_env_speed;

/// Measures a domain for about `seconds`. Parameters come from its default distribution and are the
/// same for every part; the parts take turns environment by environment, so that a busy machine
/// slows all alike.
wk_status wk_env_speed_measure(const wk_chosen_domain *chosen, int envs, int threads,
                               double seconds, wk_env_speed *out, wk_error *err);

#endif
