// The world of a run, as its configuration names it: the domain, built in or from a plug-in, with
// its options; the environments to choose from, which are the domain's default distribution or the
// list of θ in curriculum.theta; the curriculum that chooses; and the device. What only these know
// of a configuration is checked here. No code is loaded.
#ifndef WK_RUN_WORLD_H
#define WK_RUN_WORLD_H

#include "base/pool.h"
#include "config/parts.h"
#include "run/code.h"
#include "tensor/backend.h"

/// Plain data; what it points to belongs to the code or the record it was opened with.
typedef struct wk_run_world {
    const wk_domain *domain;
    const wk_description *description; // where only a description is known; else NULL
    int options[WK_OPTIONS_MAX];
} wk_run_world;

/// Finds the domain: built in, that of the plug-in, or, for reading a saved run, the description in
/// its `record`. Both may be NULL.
wk_status wk_run_world_open(const wk_run_config *config, const wk_run_plugins *code,
                            const wk_plugin_record *record, wk_run_world *out, wk_error *err);

enum { WK_RUN_THETAS_MAX = WK_RUN_TEXT_MAX / 2 };

/// The θ of curriculum.theta as a case to evaluate in; its count is 0 where the key is empty.
typedef struct wk_run_thetas {
    wk_case train_case;
    double params[WK_RUN_THETAS_MAX * WK_PARAMS_MAX]; // [count, n_params]
} wk_run_thetas;

/// Reads the key; errors name it. `out` points into itself: do not copy it.
wk_status wk_run_config_thetas(const wk_run_config *config, const wk_domain *domain,
                               wk_run_thetas *out, wk_error *err);

/// The case, or NULL where the run has the default distribution; `thetas` may be NULL.
const wk_case *wk_run_thetas_case(const wk_run_thetas *thetas);

/// The θ that the run's curriculum chooses from.
wk_status wk_run_space_create(const wk_run_config *config, const wk_run_world *world,
                              wk_space **out, wk_error *err);

/// The curriculum over the θ of `space` (borrowed, like the domain), with the rule of `code` or,
/// for reading a saved run, the one described in its `record`. Both may be NULL.
wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err);

/// Checks a configuration against its domain (built-in or from the plug-in it names).
wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err);

enum { WK_DEVICE_NAME_MAX = 300, WK_DEVICE_WHY_MAX = 160 };

/// The chosen device, and why.
typedef struct wk_device {
    int number; // of the GPU; -1 for the CPU
    bool bf16;
    char name[WK_DEVICE_NAME_MAX]; // for people: "cpu", "cuda:0 (NVIDIA H200, bf16)"
    char why[WK_DEVICE_WHY_MAX];   // "device auto, first of 2 GPUs"
} wk_device;

/// Chooses "cpu", "cuda", "cuda:N", or for "auto" the first GPU where there is one and else the
/// CPU. `precision` is "f32", "bf16" (GPUs only) or "auto": bf16 on a GPU, f32 on the CPU.
wk_status wk_device_choose(const char *device, const char *precision, wk_device *out,
                           wk_error *err);

/// Chooses and opens it.
wk_status wk_device_open(const char *device, const char *precision, wk_pool *pool, wk_backend **out,
                         wk_device *chosen, wk_error *err);

/// As wk_device_open, for a population: backends [count], one for each run, which on the CPU are
/// one.
wk_status wk_device_open_population(const char *device, const char *precision, int count,
                                    wk_pool *pool, wk_backend **out, wk_device *chosen,
                                    wk_error *err);
void wk_device_close_population(wk_backend *const *backends, int count);

#endif
