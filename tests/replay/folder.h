// The files of a directory of a test's own.
#ifndef WK_TESTS_REPLAY_FOLDER_H
#define WK_TESTS_REPLAY_FOLDER_H

#include "base/file.h"
#include "support/files.h"

/// Files in it whose names end in `suffix`.
static inline int folder_count(const char *path, const char *suffix)
{
    wk_error err = {0};
    wk_names names = {0};
    int count = 0;
    assert_ok(wk_path_list(path, &names, &err));
    for (size_t i = 0; i < names.count; i++) {
        size_t length = strlen(names.items[i]), end = strlen(suffix);
        count += length >= end && strcmp(names.items[i] + length - end, suffix) == 0;
    }
    wk_names_free(&names);
    return count;
}

/// A whole file in malloc'd memory, and writing one.
static inline unsigned char *folder_read(const char *path, size_t *size)
{
    wk_error err = {0};
    char *bytes = NULL;
    assert_ok(wk_file_read(path, (size_t)1 << 30, &bytes, size, &err));
    return (unsigned char *)bytes;
}
static inline void folder_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/// Copies all files of `from` into `to`, which is made anew.
static inline void folder_copy(const char *from, const char *to)
{
    run_command("rm -rf %s && cp -r %s %s", to, from, to);
}

#endif
