#include "curriculum/plugin.h"

#include "base/code_file.h"
#include <string.h>

enum { NAME_CHARS_MAX = 63 }; // as of domains

typedef const wk_curriculum_rule *entry_function(void);

static wk_status check_rule(const wk_curriculum_rule *rule, wk_error *err)
{
    if (!rule)
        return wk_fail(err, WK_E_INPUT, "its %s returns NULL; return the address of your rule",
                       WK_CURRICULUM_PLUGIN_SYMBOL);
    if (rule->abi != WK_CURRICULUM_ABI)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "it was built for version %u of the curriculum interface, this program has "
                       "version %u; build it again with the headers of this waker",
                       rule->abi, WK_CURRICULUM_ABI);
    if (!rule->name || !*rule->name || !rule->distribution)
        return wk_fail(err, WK_E_INPUT, "its rule lacks a name or a distribution");
    // As for domains: the name becomes part of titles, files and command lines.
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
    size_t length = strlen(rule->name);
    if (length > NAME_CHARS_MAX || strspn(rule->name, allowed) != length)
        return wk_fail(err, WK_E_INPUT,
                       "its rule's name '%.80s' is not a name; use 1 to %d characters of a-z 0-9 -",
                       rule->name, NAME_CHARS_MAX);
    const wk_curriculum_rule *builtin;
    if (wk_curriculum_rule_find(rule->name, &builtin, NULL) == WK_OK)
        return wk_fail(err, WK_E_INPUT, "its rule '%s' has the name of a built-in one; rename it",
                       rule->name);
    return WK_OK;
}

static wk_status find_rule(wk_rule_plugin *plugin, wk_error *err)
{
    wk_shared_object_function *entry;
    WK_TRY(wk_shared_object_find(plugin->handle, WK_CURRICULUM_PLUGIN_SYMBOL, "wk_curriculum_rule",
                                 "rule", &entry, err));
    plugin->rule = ((entry_function *)entry)();
    return check_rule(plugin->rule, err);
}

wk_status wk_rule_plugin_open(const char *path, wk_rule_plugin *out, wk_error *err)
{
    WK_TRY(wk_shared_object_open(path, &out->handle, err));
    wk_status status = find_rule(out, err);
    if (status == WK_OK) return WK_OK;
    wk_fail_context(err, "plug-in '%s'", path);
    wk_rule_plugin_close(out);
    return status;
}

void wk_rule_plugin_close(wk_rule_plugin *plugin)
{
    wk_shared_object_close(plugin->handle);
    *plugin = (wk_rule_plugin){0};
}
