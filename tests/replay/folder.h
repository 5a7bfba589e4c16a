// A directory of a test's own.
#ifndef WK_TESTS_REPLAY_FOLDER_H
#define WK_TESTS_REPLAY_FOLDER_H

#include <stddef.h>

/// Deletes the directory and the files in it; it need not exist.
void folder_remove(const char *path);

/// Files in it whose names end in `suffix`.
int folder_count(const char *path, const char *suffix);

/// Copies all files of `from` into `to`, which is made anew.
void folder_copy(const char *from, const char *to);

/// A whole file in malloc'd memory, and writing one.
unsigned char *folder_read(const char *path, size_t *size);
void folder_write(const char *path, const void *bytes, size_t size);

#endif
