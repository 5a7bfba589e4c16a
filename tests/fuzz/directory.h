// What fuzz targets of whole directories share: a true directory kept in memory, and inputs as
// edits of its files. Each edit is six bytes: which file, what to do, where (two bytes, scaled to
// the file's size, or from one of its ends), and a value.
#ifndef WK_TESTS_FUZZ_DIRECTORY_H
#define WK_TESTS_FUZZ_DIRECTORY_H

#include "base/crc32c.h"
#include "fuzz/large_blocks.h"
#include <dirent.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FUZZ_FILES = 64, FUZZ_PATH = 512 };

typedef struct fuzz_file {
    char path[FUZZ_PATH]; // inside the directory
    unsigned char *bytes;
    size_t size;
} fuzz_file;

// Whole directories allocate much, and the stack of every allocation takes time. A finding is
// looked at again with ASAN_OPTIONS=malloc_context_size=30.
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "malloc_context_size=1:quarantine_size_mb=16";
}

static char fuzz_root[64]; // a folder of our own, in memory where the system has such a place
static fuzz_file fuzz_files[FUZZ_FILES];
static int fuzz_count;
static char fuzz_from[FUZZ_PATH];

static int fuzz_remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)info, (void)kind, (void)walk;
    return remove(path);
}

static void fuzz_remove(const char *path)
{
    nftw(path, fuzz_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void fuzz_leave(void)
{
    if (chdir("/") == 0) fuzz_remove(fuzz_root);
}

// Makes the folder and enters it.
static void fuzz_enter(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fuzz_root, sizeof fuzz_root, "%s/waker-fuzz.%d", base, (int)getpid());
    if (mkdir(fuzz_root, 0777) != 0 || chdir(fuzz_root) != 0) abort();
    atexit(fuzz_leave);
}

static int fuzz_load_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
    (void)walk;
    if (kind != FTW_F) return 0;
    if (fuzz_count == FUZZ_FILES) abort();
    fuzz_file *file = &fuzz_files[fuzz_count++];
    snprintf(file->path, sizeof file->path, "%s", path + strlen(fuzz_from) + 1);
    file->size = (size_t)info->st_size;
    file->bytes = malloc(file->size + 1);
    FILE *stream = fopen(path, "rb");
    if (!stream || fread(file->bytes, 1, file->size, stream) != file->size) abort();
    fclose(stream);
    return 0;
}

static int fuzz_by_path(const void *a, const void *b)
{
    return strcmp(((const fuzz_file *)a)->path, ((const fuzz_file *)b)->path);
}

// Takes the files of a directory as the true ones.
static inline void fuzz_load(const char *directory)
{
    snprintf(fuzz_from, sizeof fuzz_from, "%s", directory);
    nftw(directory, fuzz_load_entry, 16, FTW_PHYS);
    qsort(fuzz_files, (size_t)fuzz_count, sizeof *fuzz_files, fuzz_by_path);
}

static void fuzz_write(const char *directory, const char *name, const void *bytes, size_t size)
{
    char path[2 * FUZZ_PATH];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = 0;
            mkdir(path, 0777);
            *c = '/';
        }
    FILE *stream = fopen(path, "wb");
    if (!stream || fwrite(bytes, 1, size, stream) != size) abort();
    fclose(stream);
}

// One edit of a file in memory; false deletes it.
static bool fuzz_edit(fuzz_file *file, const uint8_t *edit)
{
    size_t room = edit[2] | (size_t)edit[3] << 8, at;
    at = edit[1] & 16   ? room
         : edit[1] & 32 ? file->size - room % (file->size + 1)
                        : file->size * room / 65536;
    if (at >= file->size) at = file->size ? file->size - 1 : 0;
    uint64_t wide = edit[5] & 1 ? UINT64_MAX >> (edit[4] % 64) : (uint64_t)1 << edit[4] % 64;
    switch (edit[1] % 8) {
    case 0:
        if (file->size) file->bytes[at] ^= edit[4] ? edit[4] : 1;
        return true;
    case 1:
        if (file->size) file->bytes[at] = edit[4];
        return true;
    case 2: // a number
        if (file->size - at >= sizeof wide) memcpy(file->bytes + at, &wide, sizeof wide);
        return true;
    case 3: // a hole
        for (size_t i = at; i < file->size && i < at + edit[4]; i++)
            file->bytes[i] = 0;
        return true;
    case 4:
        file->size = at;
        return true;
    case 5: // bytes repeated further on
        if (file->size > at + 64 + edit[4])
            memmove(file->bytes + at, file->bytes + at + edit[4], 64);
        return true;
    case 6: // a right checksum at its end, as run.bin has it
        if (file->size > 8) {
            uint32_t sum = wk_crc32c(0, file->bytes, file->size - 4);
            memcpy(file->bytes + file->size - 4, &sum, sizeof sum);
        }
        return true;
    }
    return false;
}

// Writes the true files, edited as the input says, into `directory`; gives how many edits there
// were.
static inline int fuzz_make(const char *directory, const uint8_t *bytes, size_t size)
{
    enum { EDIT = 6 };
    int edits = 0;
    fuzz_remove(directory);
    mkdir(directory, 0777);
    for (int i = 0; i < fuzz_count; i++) {
        fuzz_file file = fuzz_files[i];
        bool there = true;
        file.bytes = malloc(file.size + 1);
        memcpy(file.bytes, fuzz_files[i].bytes, file.size);
        for (size_t k = 0; k + EDIT <= size; k += EDIT) {
            if (bytes[k] % fuzz_count != i) continue;
            there &= fuzz_edit(&file, bytes + k);
            edits++;
        }
        if (there) fuzz_write(directory, file.path, file.bytes, file.size);
        free(file.bytes);
    }
    return edits;
}

#endif
