// Checks that involve several values: names that only a domain or a curriculum knows, and
// combinations that cannot work.
#ifndef WK_RUN_SETUP_CONFIG_CHECK_H
#define WK_RUN_SETUP_CONFIG_CHECK_H

#include "config/parts.h"

/// Checks a configuration against its domain (built-in or from the plug-in it names).
wk_status wk_run_config_check(const wk_run_config *config, const wk_domain *domain, wk_error *err);

#endif
