#include "run/run_list.h"

#include "base/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 8 };

wk_status wk_path_stat(const char *path, bool *there, bool *directory, wk_error *err)
{
    struct stat info;
    *there = stat(path, &info) == 0;
    *directory = *there && S_ISDIR(info.st_mode);
    // Links may lead nowhere, or round in circles.
    bool nothing = !*there && (errno == ENOENT || errno == ELOOP);
    return *there || nothing ? WK_OK : wk_file_error(err, "cannot look at", path);
}

static wk_status add(const char *path, wk_names *out, wk_error *err)
{
    char *copy = wk_array_reserve(out, 1) ? strdup(path) : NULL;
    if (!copy) return wk_fail(err, WK_E_MEMORY, "no memory for the run '%s'", path);
    out->items[out->count++] = copy;
    return WK_OK;
}

// Whether a run makes directories of this name in its own. Fine-tunings in them have a config.yaml,
// but are no runs of their own.
static bool is_part_of_run(const char *name)
{
    static const char *const names[] = {"checkpoints", "replay",   "snapshots", "eval",
                                        "adapt",       "finetune", "rewards",   "benchmark"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static wk_status find(const char *path, int depth, wk_names *out, wk_error *err)
{
    char inner[WK_PATH_MAX];
    WK_TRY(wk_path_print(inner, err, "%s/config.yaml", path));
    bool is_run, there, directory;
    WK_TRY(wk_path_stat(inner, &is_run, &directory, err));
    if (is_run) WK_TRY(add(path, out, err));
    if (depth == DEPTH_MAX) return WK_OK;
    wk_names names = {0};
    wk_status status = wk_path_list(path, &names, err);
    if (is_run && status == WK_E_NOT_FOUND) status = WK_OK; // deleted just now
    for (size_t i = 0; i < names.count && status == WK_OK; i++) {
        if (names.items[i][0] == '.') continue; // hidden
        if (is_run && is_part_of_run(names.items[i])) continue;
        if (wk_path_join(path, names.items[i], inner, NULL) != WK_OK) continue;
        status = wk_path_stat(inner, &there, &directory, err);
        if (status == WK_OK && directory) status = find(inner, depth + 1, out, err);
    }
    wk_names_free(&names);
    return status;
}

wk_status wk_run_list(const char *path, wk_names *out, wk_error *err)
{
    return find(path, 0, out, err);
}
