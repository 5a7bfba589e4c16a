// Files with code and files compiled into the program.
#include "base/code_file.h"
#include "base/file.h"
#include "support/check.h"
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static wk_error err;

TEST_CASE(paths_and_hashes_are_checked)
{
    assert_true(wk_code_path_valid("/a b/c.so"));
    assert_false(wk_code_path_valid("a.so"));
    assert_false(wk_code_path_valid("./a.so"));
    assert_false(wk_code_path_valid(""));
    assert_false(wk_code_path_valid("/a\nb.so"));
    assert_false(wk_code_path_valid("/\x1b[2J"));
    char longest[WK_CODE_PATH_MAX + 1];
    memset(longest, '/', sizeof longest);
    longest[WK_CODE_PATH_MAX] = 0;
    assert_false(wk_code_path_valid(longest));
    longest[WK_CODE_PATH_MAX - 1] = 0;
    assert_true(wk_code_path_valid(longest));
    char hash[WK_SHA256_CHARS] = "";
    memset(hash, 'a', WK_SHA256_CHARS - 1);
    assert_true(wk_sha256_valid(hash));
    hash[3] = 'G';
    assert_false(wk_sha256_valid(hash));
    assert_false(wk_sha256_valid("abc"));
}

TEST_CASE(a_file_is_looked_at_without_links)
{
    wk_code_file a, b;
    assert_ok(wk_file_write("code-file.tmp", "abc", 3, &err));
    assert_int_equal(symlink("code-file.tmp", "code-link.tmp"), 0);
    assert_ok(wk_code_file_read("code-file.tmp", &a, &err));
    assert_ok(wk_code_file_read("./code-link.tmp", &b, &err));
    assert_string_equal(a.path, b.path);
    assert_true(wk_code_path_valid(a.path));
    assert_string_equal(a.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unlink("code-link.tmp");
    unlink("code-file.tmp");
    assert_refused(wk_code_file_read("code-file.tmp", &a, &err), WK_E_NOT_FOUND, "no file");
    assert_refused(wk_code_file_read(".", &a, &err), WK_E_FORMAT, "not a shared object");
    assert_refused(wk_code_file_read("/dev/zero", &a, &err), WK_E_FORMAT, "not a shared object");
}

TEST_CASE(words_are_quoted_for_the_shell)
{
    static const char *const words[][2] = {{"/a/b-1.so", "/a/b-1.so"},
                                           {"", "''"},
                                           {"a b", "'a b'"},
                                           {"$(x)", "'$(x)'"},
                                           {"a'; rm b", "'a'\\''; rm b'"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        wk_text out = {0};
        wk_text_shell_quote(&out, words[i][0]);
        assert_string_equal(wk_text_get(&out), words[i][1]);
        wk_text_free(&out);
    }
}

static const struct {
    const char *folder, *ending;
} sources[] = {
    {WAKER_SOURCE_DIR "/assets/mjcf", ".xml"},  {WAKER_SOURCE_DIR "/assets/paper", ".csv"},
    {WAKER_SOURCE_DIR "/assets/python", ".py"}, {WAKER_SOURCE_DIR "/assets/sets", ".set"},
    {WAKER_SOURCE_DIR "/assets/sweep", ".sh"},  {WAKER_SOURCE_DIR "/configs", ".yaml"}};
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

TEST_CASE(every_embedded_file_is_its_source)
{
    for (const wk_asset *asset = wk_assets; asset->name; asset++) {
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

TEST_CASE(every_source_is_embedded)
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

TEST_CASE(asking_for_an_unknown_file_is_a_bug_that_stops_the_program)
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

TEST_MAIN(NULL, NULL)
