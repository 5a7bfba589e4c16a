// Directories of a test's own, and commands of the shell.
#ifndef WK_TESTS_FILES_H
#define WK_TESTS_FILES_H

#include "support/check.h"
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static inline int remove_tree_entry(const char *path, const struct stat *info, int kind,
                                    struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

/// Removes a directory with everything in it, if it is there.
static inline void remove_tree(const char *path)
{
    nftw(path, remove_tree_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/// Runs a command of the shell, a printf format, which has to succeed.
__attribute__((format(printf, 1, 2))) static inline void run_command(const char *format, ...)
{
    char command[4096];
    va_list words;
    va_start(words, format);
    vsnprintf(command, sizeof command, format, words);
    va_end(words);
    if (system(command) != 0) fail_msg("failed: %s", command);
}

#endif
