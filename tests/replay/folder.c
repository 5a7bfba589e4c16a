#include "replay/folder.h"
#include "base/file.h"
#include "support/check.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void visit_fn(const char *path, const char *name, void *context);

static void visit(const char *folder, visit_fn *fn, void *context)
{
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[1024];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        fn(path, entry->d_name, context);
    }
    closedir(entries);
}

static void remove_one(const char *path, const char *name, void *context)
{
    (void)name;
    (void)context;
    unlink(path);
}

void folder_remove(const char *path)
{
    visit(path, remove_one, NULL);
    rmdir(path);
}

typedef struct counting {
    const char *suffix;
    int count;
} counting;

static void count_one(const char *path, const char *name, void *context)
{
    (void)path;
    counting *all = context;
    size_t length = strlen(name), end = strlen(all->suffix);
    all->count += length >= end && strcmp(name + length - end, all->suffix) == 0;
}

int folder_count(const char *path, const char *suffix)
{
    counting all = {suffix, 0};
    visit(path, count_one, &all);
    return all.count;
}

unsigned char *folder_read(const char *path, size_t *size)
{
    wk_error err = {0};
    char *bytes = NULL;
    assert_ok(wk_file_read(path, (size_t)1 << 30, &bytes, size, &err));
    return (unsigned char *)bytes;
}

void folder_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void copy_one(const char *path, const char *name, void *context)
{
    size_t size;
    char to[1024];
    unsigned char *bytes = folder_read(path, &size);
    snprintf(to, sizeof to, "%s/%s", (const char *)context, name);
    folder_write(to, bytes, size);
    free(bytes);
}

void folder_copy(const char *from, const char *to)
{
    folder_remove(to);
    mkdir(to, 0777);
    visit(from, copy_one, (void *)to);
}
