// The curriculum a configuration asks for: a built-in rule or one from a plug-in, with its numbers.
#ifndef WK_TRAIN_RUN_CURRICULUM_H
#define WK_TRAIN_RUN_CURRICULUM_H

#include "curriculum/plugin.h"
#include "train/config.h"

/// A curriculum with the plug-in its rule may come from. Zero-initialise.
typedef struct wk_run_curriculum {
    wk_rule_plugin plugin;
    wk_curriculum *curriculum;
} wk_run_curriculum;

/// Makes it over the θ of `space` (borrowed, like the domain).
wk_status wk_run_curriculum_open(const wk_run_config *config, const wk_domain *domain,
                                 const wk_space *space, wk_run_curriculum *out, wk_error *err);
/// A zeroed one is fine.
void wk_run_curriculum_close(wk_run_curriculum *curriculum);

#endif
