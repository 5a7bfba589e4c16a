// What all fuzz targets share; the linker redirects the calls of __wrap_ functions
// (tools/fuzz/build).
//
//   memory       large blocks are kept from one input to the next: asking the system for them anew,
//                with the address sanitizer's shadow of them, would be most of the time of an
//                input. One that is freed is poisoned until it is given out again, for the same
//                number of bytes, so that nothing the sanitizer would find is missed. Blocks of
//                more than 1 GiB fail, as on a machine without that much memory: a run may ask for
//                them by its settings.
//   waves        rough ones instead of the C library's: drawing water with true ones would be half
//                the time of an input, and nothing that is fuzzed reads the picture's values
//   directories  a true one is kept in memory, and inputs are edits of its files. Each edit is six
//                bytes: which file, what to do, where (two bytes, scaled to the file's size, or
//                from one of its ends), and a value
#ifndef WK_TESTS_FUZZ_FUZZ_H
#define WK_TESTS_FUZZ_FUZZ_H

#include "base/hash.h"
#include "waker/error.h"
#include <assert.h>
#include <dirent.h>
#include <ftw.h>
#include <malloc.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

// What is refused says why.
static inline void fuzz_expect_message(wk_status status, const wk_error *err)
{
    assert(status == WK_OK || err->message[0]);
}

// Takes the next byte of the input; 0 behind its end.
static inline uint8_t fuzz_next(const uint8_t **bytes, size_t *size)
{
    if (*size == 0) return 0;
    (*size)--;
    return *(*bytes)++;
}

enum { LARGE_BLOCKS = 64, LARGE_ALIGNMENT = 64 };
static const size_t LARGE_LEAST = 1 << 16, LARGE_MAX = 1 << 30;

static struct {
    void *block;
    size_t size;
    bool used;
} large_blocks[LARGE_BLOCKS];
static uintptr_t large_first = UINTPTR_MAX, large_last; // where they lie; most frees are elsewhere
static pthread_mutex_t large_mutex = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void __wrap_free(void *block);

// A block of this size; NULL if it is small, or there are too many sizes.
static void *large_take(size_t alignment, size_t size)
{
    void *block = NULL;
    if (size < LARGE_LEAST || alignment > LARGE_ALIGNMENT) return NULL;
    pthread_mutex_lock(&large_mutex);
    for (int i = 0; i < LARGE_BLOCKS && !block; i++) {
        if (large_blocks[i].used || (large_blocks[i].block && large_blocks[i].size != size))
            continue;
        if (!large_blocks[i].block) large_blocks[i].block = memalign(LARGE_ALIGNMENT, size);
        block = large_blocks[i].block;
        large_blocks[i].size = size;
        large_blocks[i].used = block != NULL;
        if (!block) break;
        if ((uintptr_t)block < large_first) large_first = (uintptr_t)block;
        if ((uintptr_t)block > large_last) large_last = (uintptr_t)block;
        __asan_unpoison_memory_region(block, size);
    }
    pthread_mutex_unlock(&large_mutex);
    return block;
}

// The size of a block that was taken, which is given back if need be; 0 if it is none.
static size_t large_find(void *block, bool give_back)
{
    size_t size = 0;
    if ((uintptr_t)block < large_first || (uintptr_t)block > large_last) return 0;
    pthread_mutex_lock(&large_mutex);
    for (int i = 0; i < LARGE_BLOCKS && size == 0; i++) {
        if (large_blocks[i].block != block) continue;
        size = large_blocks[i].size;
        if (!large_blocks[i].used) abort(); // freed twice
        if (!give_back) continue;
        large_blocks[i].used = false;
        __asan_poison_memory_region(block, size);
    }
    pthread_mutex_unlock(&large_mutex);
    return size;
}

void *__wrap_malloc(size_t size)
{
    if (size > LARGE_MAX) return NULL;
    void *block = large_take(1, size);
    return block ? block : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (size && count > LARGE_MAX / size) return NULL;
    void *block = large_take(1, count * size);
    return block ? memset(block, 0, count * size) : __real_calloc(count, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    if (size > LARGE_MAX) return NULL;
    void *block = large_take(alignment, size);
    return block ? block : __real_aligned_alloc(alignment, size);
}

void *__wrap_realloc(void *block, size_t size)
{
    if (size > LARGE_MAX) return NULL;
    size_t before = large_find(block, false);
    if (before == 0) return __real_realloc(block, size);
    void *moved = __wrap_malloc(size);
    if (!moved) return NULL;
    memcpy(moved, block, before < size ? before : size);
    large_find(block, true);
    return moved;
}

void __wrap_free(void *block)
{
    if (large_find(block, true) == 0) __real_free(block);
}

double __wrap_sin(double x);
double __wrap_cos(double x);

double __wrap_sin(double x)
{
    return x > 1 ? 1 : x < -1 ? -1 : x;
}

double __wrap_cos(double x)
{
    return __wrap_sin(1 - x);
}

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

static inline void fuzz_remove(const char *path)
{
    nftw(path, fuzz_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fuzz_leave(void)
{
    if (chdir("/") == 0) fuzz_remove(fuzz_root);
}

// Makes the folder and enters it.
static inline void fuzz_enter(void)
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

static inline void fuzz_write(const char *directory, const char *name, const void *bytes,
                              size_t size)
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
static inline bool fuzz_edit(fuzz_file *file, const uint8_t *edit)
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
