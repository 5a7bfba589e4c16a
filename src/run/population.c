#include "base/file.h"
#include "config/yaml.h"
#include "run/disk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char FILE_NAME[] = WK_POPULATION_FILE, KEY[] = "runs";
enum { FILE_LIMIT = 1 << 16 };

// Whether a directory has a file; one whose path is too long it has not.
static wk_status has_file(const char *directory, const char *name, bool *exists, wk_error *err)
{
    char path[WK_PATH_MAX];
    *exists = false;
    if (wk_path_join(directory, name, path, NULL) != WK_OK) return WK_OK;
    return wk_file_exists_in(NULL, path, exists, err);
}

wk_status wk_population_exists(const char *directory, bool *exists, wk_error *err)
{
    return has_file(directory, FILE_NAME, exists, err);
}

static bool has_name(const wk_population *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->names[i], name) == 0) return true;
    return false;
}

static wk_status add_name(wk_population *p, const char *name, wk_error *err)
{
    if (p->count == WK_POPULATION_MAX)
        return wk_fail(err, WK_E_INPUT, "more than %d runs; choose another logdir for some",
                       WK_POPULATION_MAX);
    snprintf(p->names[p->count++], WK_EACH_NAME_MAX, "%s", name);
    return WK_OK;
}

// Only names that wk_each_name could have made.
static wk_status read_names(const wk_yaml *yaml, wk_population *out, wk_error *err)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
    const wk_yaml_value *list = yaml->values.items;
    if (yaml->values.count != 1 || strcmp(list->key, KEY) != 0 || !list->is_list)
        return wk_fail(err, WK_E_FORMAT, "expected one key, '%s', with a list of names", KEY);
    const char *at = list->text;
    for (size_t length;; at += length + 1) {
        char name[WK_EACH_NAME_MAX];
        length = strcspn(at, ",");
        if (length == 0 || length >= sizeof name || strspn(at, plain) < length || *at == '.' ||
            *at == '-')
            return wk_fail(err, WK_E_FORMAT, "'%.*s' is not a valid name of a run", (int)length,
                           at);
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        if (has_name(out, name)) return wk_fail(err, WK_E_FORMAT, "'%s' occurs twice", name);
        WK_TRY(add_name(out, name, err));
        if (!at[length]) return WK_OK;
    }
}

wk_status wk_population_read(const char *directory, wk_population *out, wk_error *err)
{
    char path[WK_PATH_MAX], *bytes;
    size_t size;
    WK_TRY(wk_path_join(directory, FILE_NAME, path, err));
    out->count = 0;
    WK_TRY(wk_file_read(path, FILE_LIMIT, &bytes, &size, err));
    wk_yaml yaml = {0};
    wk_status status = wk_yaml_parse(path, bytes, size, false, &yaml, err);
    if (status == WK_OK && read_names(&yaml, out, err) != WK_OK)
        status = err ? wk_fail_context(err, "%s", path) : WK_E_FORMAT;
    wk_yaml_free(&yaml);
    free(bytes);
    return status;
}

wk_status wk_population_path(const char *directory, const char *name, char path[WK_PATH_MAX],
                             bool *begun, wk_error *err)
{
    wk_dir *dir = NULL;
    wk_entry entry = WK_ENTRY_NONE;
    *begun = false;
    WK_TRY(wk_path_join(directory, name, path, err));
    bool there;
    WK_TRY(wk_file_exists_in(NULL, directory, &there, err));
    if (!there) return WK_OK;
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    wk_status status = wk_dir_stat(dir, name, &entry, NULL, err);
    wk_dir_close(dir);
    if (status != WK_OK || entry == WK_ENTRY_NONE) return status;
    if (entry != WK_ENTRY_DIR)
        return wk_fail(err, WK_E_INPUT, "'%s' is %s, not a run's directory", path,
                       entry == WK_ENTRY_LINK ? "a symbolic link" : "a file");
    return has_file(path, "config.yaml", begun, err);
}

// The runs that are there already.
static wk_status keep_begun(const char *directory, wk_population *all, wk_error *err)
{
    wk_population before;
    char path[WK_PATH_MAX];
    bool exists;
    WK_TRY(wk_population_exists(directory, &exists, err));
    if (!exists) return WK_OK;
    WK_TRY(wk_population_read(directory, &before, err));
    for (int i = 0; i < before.count; i++) {
        bool begun;
        WK_TRY(wk_population_path(directory, before.names[i], path, &begun, err));
        if (begun) WK_TRY(add_name(all, before.names[i], err));
    }
    return WK_OK;
}

static wk_status write_names(const char *directory, const wk_population *all, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_text text = {0};
    WK_TRY(wk_path_join(directory, FILE_NAME, path, err));
    wk_text_printf(&text,
                   "# The runs in this directory that 'waker train --logdir' goes on with "
                   "together.\n%s:\n",
                   KEY);
    for (int i = 0; i < all->count; i++)
        wk_text_printf(&text, "  - \"%s\"\n", all->names[i]);
    return wk_file_write_text(NULL, path, &text, err);
}

wk_status wk_population_record(const char *directory, const wk_population *added, wk_error *err)
{
    wk_population all = {0};
    WK_TRY(keep_begun(directory, &all, err));
    for (int i = 0; i < added->count; i++)
        if (!has_name(&all, added->names[i])) WK_TRY(add_name(&all, added->names[i], err));
    WK_TRY(wk_dir_create(directory, err));
    return write_names(directory, &all, err);
}

void wk_population_retract(const char *directory, bool is_new)
{
    wk_population begun = {0};
    char path[WK_PATH_MAX];
    if (keep_begun(directory, &begun, NULL) != WK_OK) return;
    if (begun.count > 0) {
        write_names(directory, &begun, NULL);
        return;
    }
    if (wk_path_join(directory, FILE_NAME, path, NULL) == WK_OK) unlink(path);
    if (is_new) rmdir(directory); // fails where something else is in it
}
