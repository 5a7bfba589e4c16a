#include "replay/folder.h"
#include "base/file.h"
#include "support/files.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

void folder_remove(const char *path)
{
    remove_tree(path);
}

int folder_count(const char *path, const char *suffix)
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

void folder_copy(const char *from, const char *to)
{
    wk_error err = {0};
    wk_names names = {0};
    folder_remove(to);
    mkdir(to, 0777);
    assert_ok(wk_path_list(from, &names, &err));
    for (size_t i = 0; i < names.count; i++) {
        char source[1024], copy[1024];
        size_t size;
        snprintf(source, sizeof source, "%s/%s", from, names.items[i]);
        snprintf(copy, sizeof copy, "%s/%s", to, names.items[i]);
        unsigned char *bytes = folder_read(source, &size);
        folder_write(copy, bytes, size);
        free(bytes);
    }
    wk_names_free(&names);
}
