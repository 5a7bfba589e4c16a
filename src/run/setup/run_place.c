#include "run/setup/run_place.h"

#include "base/file.h"
#include "config/config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has(const char *directory, const char *name)
{
    char path[WK_PATH_MAX];
    bool there = false;
    return wk_path_join(directory, name, path, NULL) == WK_OK &&
           wk_file_exists_in(NULL, path, &there, NULL) == WK_OK && there;
}

// Whether a directory has a run's config.yaml: other programs have files of this name too.
static bool is_run(const char *directory)
{
    char path[WK_PATH_MAX];
    wk_run_config config;
    if (!has(directory, "config.yaml")) return false;
    if (has(directory, "checkpoints")) return true;
    return wk_path_join(directory, "config.yaml", path, NULL) == WK_OK &&
           wk_run_config_read(path, &config, NULL) == WK_OK;
}

// What a directory holds besides a run of its own.
typedef struct holding {
    bool sweep, population;
    char run[WK_PATH_MAX]; // the first run directly below it; "" where there is none
} holding;

static holding look(const char *directory)
{
    holding found = {.sweep = has(directory, "sweep/grid.yaml"),
                     .population = has(directory, "population.yaml")};
    wk_names names = {0};
    (void)wk_path_list(directory, &names, NULL);
    for (size_t i = 0; i < names.count && !*found.run; i++) {
        if (names.items[i][0] == '.') continue; // hidden
        if (wk_path_join(directory, names.items[i], found.run, NULL) != WK_OK || !is_run(found.run))
            *found.run = 0;
    }
    wk_names_free(&names);
    return found;
}

// "a sweep", "a population", "runs in directories of their own", or NULL.
static const char *name_of(const holding *found)
{
    return found->sweep        ? "a sweep"
           : found->population ? "a population"
           : *found->run       ? "runs in directories of their own"
                               : NULL;
}

wk_status wk_run_missing(const char *directory, wk_status status, wk_error *err)
{
    holding found = look(directory);
    const char *name = name_of(&found);
    if (!name)
        return wk_fail(err, status,
                       "'%s' holds no run (no config.yaml); give the --logdir of 'waker train'",
                       directory);
    if (!*found.run)
        return wk_fail(err, status, "'%s' holds no run but %s, none of whose runs has begun",
                       directory, name);
    return wk_fail(err, status, "'%s' holds no run but %s; give one of its runs, for example '%s'",
                   directory, name, found.run);
}

// The deepest directory of a path that exists, without links; malloc'd, NULL where there is none.
static char *existing_part(const char *path)
{
    char *part = strdup(path), *real = NULL;
    while (part && !(real = realpath(part, NULL)) && *part) {
        char *slash = strrchr(part, '/');
        if (slash && slash > part)
            *slash = 0;
        else
            strcpy(part, slash ? "/" : strcmp(part, ".") == 0 ? "" : ".");
    }
    free(part);
    return real;
}

static wk_status refuse_within(const char *directory, wk_error *err)
{
    wk_status status = WK_OK;
    char *above = existing_part(directory);
    while (above && *above && !is_run(above))
        *strrchr(above, '/') = 0;
    if (above && *above)
        status = wk_fail(err, WK_E_INPUT,
                         "'%s' lies within the directory of the run '%s'; give the new run a "
                         "directory outside of it",
                         directory, above);
    free(above);
    return status;
}

static wk_status refuse_holding(const char *directory, wk_error *err)
{
    holding found = look(directory);
    const char *name = name_of(&found);
    if (!name) return WK_OK;
    char advice[WK_PATH_MAX + 64] = "";
    if (found.sweep)
        snprintf(advice, sizeof advice, "resume it with 'waker sweep --logdir %.4000s', or ",
                 directory);
    else if (*found.run)
        snprintf(advice, sizeof advice, "resume one of them (--logdir %.4000s), or ", found.run);
    return wk_fail(err, WK_E_INPUT,
                   "'%s' holds %s; %sgive the new run a directory of its own (--logdir %s/NAME)",
                   directory, name, advice, directory);
}

wk_status wk_run_place_check(const char *directory, wk_error *err)
{
    bool there;
    char *real = realpath(directory, NULL);
    bool root = real && strcmp(real, "/") == 0;
    free(real);
    if (root)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' is the root of the file system; give the run a directory of its own",
                       directory);
    WK_TRY(wk_file_exists_in(NULL, directory, &there, err));
    if (there && !has(directory, "."))
        return wk_fail(err, WK_E_INPUT, "'%s' is a file; give the run a directory", directory);
    WK_TRY(refuse_holding(directory, err));
    return refuse_within(directory, err);
}
