// Domains from shared objects and from functions of Python, and rewards from shared objects. Every
// way a file can fail to be a plug-in gets its own message.
#include "env/plugins/plugin.h"

#include "env/domain.h"
#include "env/plugins/python_process.h"
#include <stdlib.h>
#include <string.h>

struct wk_plugin {
    void *handle;
    wk_python_domain *python; // NULL: a shared object
    const wk_domain *domain;
};

static wk_status check_name(const wk_domain *domain, wk_error *err)
{
    const wk_domain *builtin;
    if (wk_domain_find(domain->name, &builtin, NULL) != WK_OK) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "its domain '%s' has the name of a built-in one; rename it",
                   domain->name);
}

static wk_status find_domain(wk_plugin *plugin, wk_error *err)
{
    wk_shared_object_function *entry;
    WK_TRY(wk_shared_object_find(plugin->handle, WK_PLUGIN_SYMBOL, "wk_domain", "domain", &entry,
                                 err));
    plugin->domain = ((wk_plugin_entry_fn *)entry)();
    if (!plugin->domain)
        return wk_fail(err, WK_E_INPUT, "its %s returns NULL; return the address of your wk_domain",
                       WK_PLUGIN_SYMBOL);
    WK_TRY(wk_domain_check(plugin->domain, err));
    return check_name(plugin->domain, err);
}

static wk_status load_python(wk_plugin *plugin, const char *path, const wk_log *log, wk_error *err)
{
    wk_code_file file;
    WK_TRY(wk_plugin_file(path, &file, err));
    wk_status status = wk_python_domain_open(file.path, log, &plugin->python, err);
    if (status == WK_OK) {
        plugin->domain = wk_python_domain_get(plugin->python);
        status = check_name(plugin->domain, err);
    }
    if (status != WK_OK) wk_fail_context(err, "'%s'", path);
    return status;
}

static wk_status load(wk_plugin *plugin, const char *path, const wk_log *log, wk_error *err)
{
    if (wk_python_spec_source_length(path)) return load_python(plugin, path, log, err);
    WK_TRY(wk_shared_object_open(path, &plugin->handle, err));
    wk_status status = find_domain(plugin, err);
    if (status != WK_OK) wk_fail_context(err, "plug-in '%s'", path);
    return status;
}

wk_status wk_plugin_open(const char *path, const wk_log *log, wk_plugin **out, wk_error *err)
{
    wk_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin) return wk_fail(err, WK_E_MEMORY, "no memory for plug-in '%s'", path);
    wk_status status = load(plugin, path, log, err);
    if (status == WK_OK)
        *out = plugin;
    else
        wk_plugin_unload(plugin);
    return status;
}

wk_status wk_plugin_load(const char *path, wk_plugin **out, wk_error *err)
{
    return wk_plugin_open(path, NULL, out, err);
}

const wk_domain *wk_plugin_domain(const wk_plugin *plugin)
{
    return plugin->domain;
}

void wk_plugin_unload(wk_plugin *plugin)
{
    if (!plugin) return;
    wk_shared_object_close(plugin->handle);
    wk_python_domain_close(plugin->python);
    free(plugin);
}

wk_status wk_plugin_file(const char *name, wk_code_file *out, wk_error *err)
{
    char located[WK_CODE_PATH_MAX];
    bool module = wk_python_spec_source_length(name) && !wk_python_spec_has_file(name);
    if (module) WK_TRY(wk_python_locate(name, located, sizeof located, err));
    return wk_code_file_read(module ? located : name, out, err);
}

void wk_plugin_last_failure(wk_plugin *plugin, char why[WK_PYTHON_WHY_MAX])
{
    *why = 0;
    if (plugin->python) wk_python_domain_last_failure(plugin->python, why);
}

void wk_plugin_take_events(wk_plugin *plugin, wk_text *out)
{
    if (plugin->python) wk_python_domain_take_events(plugin->python, out);
}

/* ---- Rewards --------------------------------------------------------------------------------- */

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
