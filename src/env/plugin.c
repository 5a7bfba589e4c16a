// Domains from shared objects. Every way a file can fail to be a plug-in gets its own message.
#include "base/shared_object.h"
#include "waker/env.h"

#include <stdlib.h>

struct wk_plugin {
    void *handle;
    const wk_domain *domain;
};

static wk_status find_domain(wk_plugin *plugin, wk_error *err)
{
    wk_plugin_entry_fn *entry =
        (wk_plugin_entry_fn *)wk_shared_object_find(plugin->handle, WK_PLUGIN_SYMBOL);
    if (!entry)
        return wk_fail(err, WK_E_FORMAT,
                       "it does not define '%s'; add a function `const wk_domain *%s(void)` that "
                       "returns your domain, not static and with C linkage",
                       WK_PLUGIN_SYMBOL, WK_PLUGIN_SYMBOL);
    plugin->domain = entry();
    if (!plugin->domain)
        return wk_fail(err, WK_E_INPUT, "its %s returns NULL; return the address of your wk_domain",
                       WK_PLUGIN_SYMBOL);
    WK_TRY(wk_domain_check(plugin->domain, err));
    const wk_domain *builtin;
    if (wk_domain_find(plugin->domain->name, &builtin, NULL) == WK_OK)
        return wk_fail(err, WK_E_INPUT, "its domain '%s' has the name of a built-in one; rename it",
                       plugin->domain->name);
    return WK_OK;
}

static wk_status load(wk_plugin *plugin, const char *path, wk_error *err)
{
    WK_TRY(wk_shared_object_open(path, &plugin->handle, err));
    wk_status status = find_domain(plugin, err);
    if (status != WK_OK) wk_fail_context(err, "plug-in '%s'", path);
    return status;
}

wk_status wk_plugin_load(const char *path, wk_plugin **out, wk_error *err)
{
    wk_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin) return wk_fail(err, WK_E_MEMORY, "no memory for plug-in '%s'", path);
    wk_status status = load(plugin, path, err);
    if (status != WK_OK) {
        wk_plugin_unload(plugin);
        return status;
    }
    *out = plugin;
    return WK_OK;
}

const wk_domain *wk_plugin_domain(const wk_plugin *plugin)
{
    return plugin->domain;
}

void wk_plugin_unload(wk_plugin *plugin)
{
    if (!plugin) return;
    wk_shared_object_close(plugin->handle);
    free(plugin);
}
