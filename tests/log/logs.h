// Small things the tests of logs share: a folder of their own, bytes of its files, and a pipe that
// stands for the terminal.
#ifndef WK_TESTS_LOGS_H
#define WK_TESTS_LOGS_H

#include "base/file.h"
#include "support/check.h"
#include "support/files.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static int pipe_ends[2];

/// Opens the pipe; returns the end to write to.
static inline int pipe_open(void)
{
    assert_int_equal(pipe(pipe_ends), 0);
    return pipe_ends[1];
}

/// Everything written to the pipe so far.
static inline const char *pipe_drain(void)
{
    static char bytes[8192];
    ssize_t n = read(pipe_ends[0], bytes, sizeof bytes - 1);
    assert_true(n >= 0);
    bytes[n] = 0;
    return bytes;
}

/// Closes the pipe; returns what was written to it.
static inline const char *pipe_close(void)
{
    close(pipe_ends[1]);
    const char *bytes = pipe_drain();
    close(pipe_ends[0]);
    return bytes;
}

#endif
