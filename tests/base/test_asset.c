// Embedded files are the files of assets/ and configs/, byte for byte.
#include "base/file.h"
#include "support/check.h"
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    const char *folder, *ending;
} sources[] = {{WAKER_SOURCE_DIR "/assets/mjcf", ".xml"},
               {WAKER_SOURCE_DIR "/assets/paper", ".csv"},
               {WAKER_SOURCE_DIR "/assets/python", ".py"},
               {WAKER_SOURCE_DIR "/assets/sets", ".set"},
               {WAKER_SOURCE_DIR "/configs", ".yaml"}};
enum { SOURCES = sizeof sources / sizeof *sources };

static bool ends_in(const char *name, const char *ending)
{
    const char *point = strrchr(name, '.');
    return point && strcmp(point, ending) == 0;
}

static const char *folder_of(const char *name)
{
    for (size_t i = 0; i < SOURCES; i++)
        if (ends_in(name, sources[i].ending)) return sources[i].folder;
    if (strcmp(name, "LICENSE") == 0) return WAKER_SOURCE_DIR;
    fail_msg("'%s' comes from nowhere", name);
    return NULL;
}

static void every_embedded_file_is_its_source(void **state)
{
    for (const wk_asset *asset = wk_assets; asset->name; asset++) {
        wk_error err = {0};
        char path[4096], *bytes;
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder_of(asset->name), asset->name);
        assert_ok(wk_file_read(path, 1 << 24, &bytes, &size, &err));
        assert_int_equal(asset->size, size);
        assert_memory_equal(asset->content, bytes, size + 1); // with the zero after the end
        assert_ptr_equal(wk_asset_find(asset->name), asset);
        free(bytes);
    }
}

static void every_source_is_embedded(void **state)
{
    for (size_t i = 0; i < SOURCES; i++) {
        DIR *directory = opendir(sources[i].folder);
        assert_non_null(directory);
        for (struct dirent *entry; (entry = readdir(directory));)
            if (ends_in(entry->d_name, sources[i].ending))
                assert_string_equal(wk_asset_find(entry->d_name)->name, entry->d_name);
        closedir(directory);
    }
}

static void asking_for_an_unknown_file_is_a_bug_that_stops_the_program(void **state)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        signal(SIGABRT, SIG_DFL);
        wk_asset_find("no-such-file.xml");
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_embedded_file_is_its_source),
        cmocka_unit_test(every_source_is_embedded),
        cmocka_unit_test(asking_for_an_unknown_file_is_a_bug_that_stops_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
