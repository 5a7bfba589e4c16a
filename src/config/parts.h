// A run's configuration translated to those of its parts: learner, curriculum, replay, domain.
#ifndef WK_CONFIG_PARTS_H
#define WK_CONFIG_PARTS_H

#include "config/config.h"
#include "model/config.h"
#include "replay/replay.h"
#include "waker/curriculum.h"
#include "waker/env.h"

/// Name of the case that has the environments of a run trained in a list of them.
#define WK_EVAL_TRAIN "train"

/// The choices of env.options as the domain's indices, [WK_OPTIONS_MAX].
wk_status wk_run_config_options(const wk_run_config *config, const wk_domain *domain, int *options,
                                wk_error *err);

/// Which tasks of the domain get policies: their indices, [WK_TASKS_MAX], and their number.
wk_status wk_run_config_tasks(const wk_run_config *config, const wk_domain *domain, int *tasks,
                              int *count, wk_error *err);

/// Which policy of the learner acts: WK_POLICY_EXPLORE or the place of config.acting among the
/// tasks.
wk_status wk_run_config_acting(const wk_run_config *config, const wk_domain *domain, int *policy,
                               wk_error *err);

/// Their names with commas between, or "none".
wk_status wk_run_config_task_names(const wk_run_config *config, const wk_domain *domain,
                                   char names[WK_RUN_TEXT_MAX], wk_error *err);

/// The curriculum's part.
wk_curriculum_config wk_run_config_curriculum(const wk_run_config *config);

/// What the learner takes from the blocks `names` of the configurations in the program ("clean-up",
/// "quick"), applied over the defaults; action_size and tasks are 0.
wk_status wk_learner_config_of_blocks(const char *const *names, size_t count,
                                      wk_learner_config *out, wk_error *err);

/// The learner's part, for the domain's actions and observations; checked.
wk_status wk_run_config_learner(const wk_run_config *config, const wk_domain *domain,
                                wk_learner_config *out, wk_error *err);

/// Expected size of a compressed frame, for planning memory before there are any.
enum { WK_RUN_FRAME_BYTES = 1800 };

/// The replay buffer's part; reading a run's log needs the same.
wk_replay_config wk_run_config_replay(const wk_run_config *config, const wk_domain *domain);

#endif
