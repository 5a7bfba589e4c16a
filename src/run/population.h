// A population on disk: a directory with one ordinary run in each of its sub-directories, and
// population.yaml, which lists them, so that the directory alone says what to go on with. The file
// is data of others: names in it lead nowhere but into the directory itself.
#ifndef WK_RUN_POPULATION_H
#define WK_RUN_POPULATION_H

#include "config/each.h"

#define WK_POPULATION_FILE "population.yaml"

/// The runs' names, in order. Zero-initialise.
typedef struct wk_population {
    char names[WK_POPULATION_MAX][WK_EACH_NAME_MAX];
    int count;
} wk_population;

/// Whether the directory has a population.yaml.
wk_status wk_population_exists(const char *directory, bool *exists, wk_error *err);

/// Reads the names from the directory's population.yaml.
wk_status wk_population_read(const char *directory, wk_population *out, wk_error *err);

/// Adds the names to those that are in the directory already (runs that were never begun are
/// dropped) and writes the file; makes the directory where there is none.
wk_status wk_population_record(const char *directory, const wk_population *added, wk_error *err);

/// Takes back what wk_population_record did for runs that could not be begun: their names, and with
/// the last of them the file and, where it `is_new` and empty, the directory.
void wk_population_retract(const char *directory, bool is_new);

/// The path of a run, and whether it has been begun. A symbolic link there is refused: it would
/// lead to a run of others.
wk_status wk_population_path(const char *directory, const char *name, char path[WK_PATH_MAX],
                             bool *begun, wk_error *err);

#endif
