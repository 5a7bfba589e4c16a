// Rules from shared objects (waker/curriculum.h says what one exports).
#ifndef WK_CURRICULUM_PLUGIN_H
#define WK_CURRICULUM_PLUGIN_H

#include "waker/curriculum.h"

/// A loaded rule; zero-initialise. The rule lives until it is closed.
typedef struct wk_rule_plugin {
    void *handle;
    const wk_curriculum_rule *rule;
} wk_rule_plugin;

/// Loads `path`. Every way a file can fail to be a rule gets its own message.
wk_status wk_rule_plugin_open(const char *path, wk_rule_plugin *out, wk_error *err);
/// A zeroed one is fine.
void wk_rule_plugin_close(wk_rule_plugin *plugin);

#endif
