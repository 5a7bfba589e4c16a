// Small things the tests of logs share: a folder of their own, and bytes of its files.
#ifndef WK_TESTS_LOGS_H
#define WK_TESTS_LOGS_H

#include "base/file.h"
#include "support/check.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/// Removes the folder with the files in it.
static inline void remove_folder(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    closedir(d);
    rmdir(folder);
}

/// The content of folder/name, malloc'd.
static inline char *content(const char *folder, const char *name, size_t *size)
{
    wk_error err = {0};
    char path[600], *bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_ok(wk_file_read(path, 1 << 26, &bytes, size, &err));
    return bytes;
}

/// Number of files in the folder whose name begins so, and the name of one of them.
static inline int count_files(const char *folder, const char *prefix, char *name)
{
    int count = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        if (strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
        if (name) strcpy(name, e->d_name);
        count++;
    }
    closedir(d);
    return count;
}

#endif
