// A stand-in for ffmpeg, so that tests of video need none.
#ifndef WK_TESTS_FFMPEG_H
#define WK_TESTS_FFMPEG_H

#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/// Takes its frames and writes what looks like an MP4 file.
#define FFMPEG_WORKS "cat >/dev/null; printf '\\0\\0\\0\\040ftypisom'"

/// Puts a shell script first on PATH as `ffmpeg`; NULL takes it away.
static inline void ffmpeg_stub(const char *script)
{
    static char usual[4096];
    char here[1024], folder[1100], file[1200], path[6000];
    if (!*usual) snprintf(usual, sizeof usual, "%s", getenv("PATH"));
    assert_non_null(getcwd(here, sizeof here));
    snprintf(folder, sizeof folder, "%s/ffmpeg-%d", here, (int)getpid());
    snprintf(file, sizeof file, "%s/ffmpeg", folder);
    if (!script) {
        unlink(file);
        rmdir(folder);
        setenv("PATH", usual, 1);
        return;
    }
    mkdir(folder, 0755);
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fprintf(out, "#!/bin/sh\n%s\n", script);
    fclose(out);
    assert_int_equal(chmod(file, 0755), 0);
    snprintf(path, sizeof path, "%s:%s", folder, usual);
    setenv("PATH", path, 1);
}

#endif
