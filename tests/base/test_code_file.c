// Files of code: which paths can be recorded, and what is found there.
#include "base/code_file.h"
#include "base/file.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static wk_error err;

static void paths_and_hashes_are_checked(void **state)
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

static void a_file_is_looked_at_without_links(void **state)
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

static void words_are_quoted_for_the_shell(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_and_hashes_are_checked),
        cmocka_unit_test(a_file_is_looked_at_without_links),
        cmocka_unit_test(words_are_quoted_for_the_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
