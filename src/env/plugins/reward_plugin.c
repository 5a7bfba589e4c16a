#include "env/plugins/reward_plugin.h"

#include "base/code_file.h"
#include "env/domain.h"
#include <string.h>

enum { NAME_CHARS_MAX = 63 }; // as of domains and tasks

typedef const wk_reward *entry_function(void);

bool wk_reward_name_valid(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = strlen(name);
    return length > 0 && length <= NAME_CHARS_MAX && strspn(name, allowed) == length;
}

wk_status wk_reward_check(const wk_reward *reward, wk_error *err)
{
    if (!reward)
        return wk_fail(err, WK_E_INPUT, "its %s returns NULL; return the address of your reward",
                       WK_REWARD_PLUGIN_SYMBOL);
    if (reward->abi != WK_REWARD_ABI || reward->size != sizeof *reward)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "it was built for version %u of the reward interface (%u bytes), this "
                       "program has version %u (%zu bytes); set abi = WK_REWARD_ABI and size = "
                       "sizeof(wk_reward), and build it again with the headers of this waker",
                       reward->abi, reward->size, WK_REWARD_ABI, sizeof *reward);
    if (!reward->name || !wk_reward_name_valid(reward->name))
        return wk_fail(err, WK_E_INPUT,
                       "its reward has no name that a task can have: 1 to %d characters of "
                       "a-z 0-9 - _",
                       NAME_CHARS_MAX);
    const char *meaning = wk_task_name_reserved(reward->name);
    if (meaning)
        return wk_fail(err, WK_E_INPUT, "its reward is called '%s', which stands for %s; rename it",
                       reward->name, meaning);
    if (!reward->reward)
        return wk_fail(err, WK_E_INPUT, "its reward '%s' has no function `reward`", reward->name);
    if (reward->memory > WK_REWARD_MEMORY_MAX)
        return wk_fail(err, WK_E_INPUT, "its reward '%s' asks for %zu bytes; at most %d are kept",
                       reward->name, reward->memory, WK_REWARD_MEMORY_MAX);
    return WK_OK;
}

static wk_status find_reward(wk_reward_plugin *plugin, wk_error *err)
{
    wk_shared_object_function *entry;
    WK_TRY(wk_shared_object_find(plugin->handle, WK_REWARD_PLUGIN_SYMBOL, "wk_reward", "reward",
                                 &entry, err));
    plugin->reward = ((entry_function *)entry)();
    return wk_reward_check(plugin->reward, err);
}

wk_status wk_reward_plugin_open(const char *path, wk_reward_plugin *out, wk_error *err)
{
    WK_TRY(wk_shared_object_open(path, &out->handle, err));
    wk_status status = find_reward(out, err);
    if (status == WK_OK) return WK_OK;
    wk_fail_context(err, "plug-in '%s'", path);
    wk_reward_plugin_close(out);
    return status;
}

void wk_reward_plugin_close(wk_reward_plugin *plugin)
{
    wk_shared_object_close(plugin->handle);
    *plugin = (wk_reward_plugin){0};
}
