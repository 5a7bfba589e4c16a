// The list of trusted files: what can stand in it, that it reads back, and words for the shell.
#include "base/file.h"
#include "base/trusted.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static wk_error err;

static void paths_and_hashes_are_checked(void **state)
{
    (void)state;
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

static void a_file_is_looked_at_without_links(void **state)
{
    (void)state;
    wk_code_file a, b;
    assert_ok(wk_file_write("trusted-file.tmp", "abc", 3, &err));
    assert_int_equal(symlink("trusted-file.tmp", "trusted-link.tmp"), 0);
    assert_ok(wk_code_file_read("trusted-file.tmp", &a, &err));
    assert_ok(wk_code_file_read("./trusted-link.tmp", &b, &err));
    assert_string_equal(a.path, b.path);
    assert_true(wk_code_path_valid(a.path));
    assert_string_equal(a.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    unlink("trusted-link.tmp");
    unlink("trusted-file.tmp");
    assert_refused(wk_code_file_read("trusted-file.tmp", &a, &err), WK_E_NOT_FOUND, "no file");
    assert_refused(wk_code_file_read(".", &a, &err), WK_E_FORMAT, "not a shared object");
    assert_refused(wk_code_file_read("/dev/zero", &a, &err), WK_E_FORMAT, "not a shared object");
}

static void the_list_reads_back(void **state)
{
    (void)state;
    char home[] = "trusted-XXXXXX";
    assert_non_null(mkdtemp(home));
    char *path = realpath(home, NULL), place[WK_CODE_PATH_MAX];
    assert_non_null(path);
    setenv("XDG_CONFIG_HOME", path, 1);
    wk_trusted list = {0}, back;
    assert_ok(wk_trusted_read(&back, &err));
    assert_int_equal(back.files.count, 0);
    wk_code_file file = {.path = "/a b/caf\xc3\xa9.so"};
    for (int i = 0; i < 3; i++) {
        memset(file.sha256, '0' + i, WK_SHA256_CHARS - 1);
        file.path[1] = (char)('a' + i);
        assert_ok(wk_trusted_add(&list, &file, &err));
    }
    memset(file.sha256, 'f', WK_SHA256_CHARS - 1);
    assert_ok(wk_trusted_add(&list, &file, &err)); // in place of the third
    assert_int_equal(list.files.count, 3);
    assert_true(wk_trusted_remove(&list, "/a b/caf\xc3\xa9.so"));
    assert_false(wk_trusted_remove(&list, "/a b/caf\xc3\xa9.so"));
    assert_ok(wk_trusted_write(&list, &err));
    assert_ok(wk_trusted_read(&back, &err));
    assert_int_equal(back.files.count, 2);
    const wk_code_file *found = wk_trusted_find(&back, file.path);
    assert_non_null(found);
    assert_string_equal(found->sha256, file.sha256);
    assert_null(wk_trusted_find(&back, "/nothing"));
    assert_ok(wk_trusted_path(place, &err));
    unlink(place);
    *strrchr(place, '/') = 0;
    rmdir(place);
    rmdir(home);
    free(path);
    wk_trusted_free(&list);
    wk_trusted_free(&back);
}

static void words_are_quoted_for_the_shell(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_hashes_are_checked),
        cmocka_unit_test(a_file_is_looked_at_without_links),
        cmocka_unit_test(the_list_reads_back),
        cmocka_unit_test(words_are_quoted_for_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
