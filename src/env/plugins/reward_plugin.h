// Rewards from shared objects (waker/reward.h says what one exports).
#ifndef WK_ENV_PLUGINS_REWARD_PLUGIN_H
#define WK_ENV_PLUGINS_REWARD_PLUGIN_H

#include "waker/reward.h"

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
