// The curriculum a configuration asks for: a built-in rule or one from a plug-in, with its numbers.
#ifndef WK_RUN_CURRICULUM_H
#define WK_RUN_CURRICULUM_H

#include "run/plugins.h"

/// Makes it over the θ of `space` (borrowed, like the domain), with the rule of `code` or, for
/// reading a saved run, the one described in its `record`. Both may be NULL, and nothing is ever
/// loaded here.
wk_status wk_run_curriculum_create(const wk_run_config *config, const wk_run_plugins *code,
                                   const wk_plugin_record *record, const wk_domain *domain,
                                   const wk_space *space, wk_curriculum **out, wk_error *err);

#endif
