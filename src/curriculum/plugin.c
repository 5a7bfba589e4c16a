#include "curriculum/plugin.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef const wk_curriculum_rule *entry_function(void);

// dlopen searches the system's folders for names without a slash; a user means the file here.
static void *open_object(const char *path)
{
    char here[4096];
    snprintf(here, sizeof here, "%s%s", strchr(path, '/') ? "" : "./", path);
    return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

static wk_status check_rule(const wk_curriculum_rule *rule, const char *path, wk_error *err)
{
    if (!rule)
        return wk_fail(err, WK_E_INPUT, "'%s': %s returns NULL; return the address of your rule",
                       path, WK_CURRICULUM_PLUGIN_SYMBOL);
    if (rule->abi != WK_CURRICULUM_ABI)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "'%s' was built for interface %u, this program has %u; rebuild it", path,
                       rule->abi, WK_CURRICULUM_ABI);
    if (!rule->name || !*rule->name || !rule->distribution)
        return wk_fail(err, WK_E_INPUT, "'%s': the rule lacks a name or a distribution", path);
    return WK_OK;
}

wk_status wk_rule_plugin_open(const char *path, wk_rule_plugin *out, wk_error *err)
{
    out->handle = open_object(path);
    if (!out->handle) {
        const char *reason = dlerror();
        return wk_fail(err, WK_E_FORMAT, "cannot load '%s': %s; build it with cc -shared -fPIC",
                       path, reason ? reason : "no memory");
    }
    void *symbol = dlsym(out->handle, WK_CURRICULUM_PLUGIN_SYMBOL);
    wk_status status = WK_OK;
    if (symbol) {
        // ISO C has no cast from object to function pointers; POSIX promises that the copy works.
        entry_function *entry;
        memcpy(&entry, &symbol, sizeof entry);
        out->rule = entry();
        status = check_rule(out->rule, path, err);
    } else {
        status =
            wk_fail(err, WK_E_FORMAT, "'%s' does not define `const wk_curriculum_rule *%s(void)`",
                    path, WK_CURRICULUM_PLUGIN_SYMBOL);
    }
    if (status != WK_OK) wk_rule_plugin_close(out);
    return status;
}

void wk_rule_plugin_close(wk_rule_plugin *plugin)
{
    if (plugin->handle) dlclose(plugin->handle);
    *plugin = (wk_rule_plugin){0};
}
