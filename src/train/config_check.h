// What no single value shows: names that only a domain or a curriculum knows, and combinations that
// cannot work.
#ifndef WK_TRAIN_CONFIG_CHECK_H
#define WK_TRAIN_CONFIG_CHECK_H

#include "train/config.h"
#include "waker/curriculum.h"
#include "waker/env.h"

/// Checks a configuration against its domain (built-in or from the plug-in it names).
wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err);

/// The choices of env.options as the domain's indices, [WK_OPTIONS_MAX].
wk_status wk_run_config_options(const wk_run_config *config, const wk_domain *domain, int *options,
                                wk_error *err);

/// Which tasks of the domain get policies: their indices, [WK_TASKS_MAX], and their number.
wk_status wk_run_config_tasks(const wk_run_config *config, const wk_domain *domain, int *tasks,
                              int *count, wk_error *err);

/// The curriculum's part.
wk_curriculum_config wk_run_config_curriculum(const wk_run_config *config);

#endif
