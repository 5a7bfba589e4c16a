// Users' domains and rewards: shared objects, and domains that are functions of Python.
#ifndef WK_ENV_PLUGINS_PLUGIN_H
#define WK_ENV_PLUGINS_PLUGIN_H

#include "base/code_file.h"
#include "env/plugins/python_domain.h"
#include "waker/reward.h"

/// Looks at the file of a plug-in that the caller names: a path, FILE.py:FUNCTION, or
/// MODULE:FUNCTION, for which Python is asked and code of the module's packages may run.
wk_status wk_plugin_file(const char *name, wk_code_file *out, wk_error *err);

/// wk_plugin_load with a log for what concerns environments of Python, as wk_python_domain_open.
wk_status wk_plugin_open(const char *path, const wk_log *log, wk_plugin **out, wk_error *err);

/// Why an environment of it failed, the last time; empty if none ever did, or it is not of Python.
void wk_plugin_last_failure(wk_plugin *plugin, char why[WK_PYTHON_WHY_MAX]);

/// Appends what went wrong in its environments since the last call, a line for each event.
void wk_plugin_take_events(wk_plugin *plugin, wk_text *out);

/// A loaded reward; zero-initialise. The reward lives until it is closed.
typedef struct wk_reward_plugin {
    void *handle;
    const wk_reward *reward;
} wk_reward_plugin;

/// Whether `name` can be that of a reward: it is a task's, and a file's.
bool wk_reward_name_valid(const char *name);

/// Whether a reward can be one; the message says what is wrong with "its" parts.
wk_status wk_reward_check(const wk_reward *reward, wk_error *err);

/// Loads `path`. Every way a file can fail to be a reward gets its own message.
wk_status wk_reward_plugin_open(const char *path, wk_reward_plugin *out, wk_error *err);
/// A zeroed one is fine.
void wk_reward_plugin_close(wk_reward_plugin *plugin);

#endif
