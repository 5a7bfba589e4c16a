// Domains from shared objects. Every way a file can fail to be a plug-in gets its own message,
// because the reader is usually the one who just compiled it.
#include "base/file.h"
#include "waker/env.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct wk_plugin {
    void *handle;
    const wk_domain *domain;
};

// The loader's own words for a file that is no shared object are obscure; look at the file first.
static wk_status check_file(const char *path, wk_error *err)
{
    if (!wk_path_exists(path))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "there is no file '%s'; give the path of the .so your plug-in's build made",
                       path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wk_fail(err, WK_E_IO, "cannot open '%s': %s; check the permissions", path,
                       strerror(errno));
    char magic[4] = {0};
    ssize_t got = read(fd, magic, sizeof magic);
    close(fd);
    if (got != sizeof magic || memcmp(magic, "\177ELF", sizeof magic) != 0)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' is not a shared object; build the plug-in with cc -shared -fPIC",
                       path);
    return WK_OK;
}

// dlopen searches the system's folders for names without a slash; a user means the file here.
static void *open_object(const char *path)
{
    if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *here = malloc(strlen(path) + 3);
    if (!here) return NULL;
    strcat(strcpy(here, "./"), path);
    void *handle = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    free(here);
    return handle;
}

static wk_status find_domain(wk_plugin *plugin, wk_error *err)
{
    wk_plugin_entry_fn *entry;
    // ISO C has no cast from object to function pointers; POSIX promises that the copy works.
    void *symbol = dlsym(plugin->handle, WK_PLUGIN_SYMBOL);
    if (!symbol)
        return wk_fail(err, WK_E_FORMAT,
                       "it does not define '%s'; add a function `const wk_domain *%s(void)` that "
                       "returns your domain, not static and with C linkage",
                       WK_PLUGIN_SYMBOL, WK_PLUGIN_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry);
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
    WK_TRY(check_file(path, err));
    plugin->handle = open_object(path);
    if (!plugin->handle) {
        const char *reason = dlerror();
        return wk_fail(err, WK_E_FORMAT,
                       "cannot load plug-in '%s': %s; build it for this machine and link it with "
                       "all it uses",
                       path, reason ? reason : "no memory");
    }
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
    if (plugin->handle) dlclose(plugin->handle);
    free(plugin);
}
