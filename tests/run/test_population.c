// population.yaml: what is written reads back, runs are added, and nothing in it leads elsewhere.
#include "base/file.h"
#include "run/disk.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PLACE "population.tmp"

static wk_error err;

static int clean(void **state)
{
    return system("rm -rf " PLACE);
}

static wk_population names(const char *first, const char *second)
{
    wk_population p = {.count = second ? 2 : 1};
    snprintf(p.names[0], sizeof p.names[0], "%s", first);
    if (second) snprintf(p.names[1], sizeof p.names[1], "%s", second);
    return p;
}

static void write_file(const char *text)
{
    assert_ok(wk_dir_create(PLACE, &err));
    assert_ok(wk_file_write(PLACE "/population.yaml", text, strlen(text), &err));
}

TEST_CASE(names_read_back_in_order)
{
    wk_population p = names("waker-m-seed0", "dr-seed0"), back;
    bool exists;
    assert_ok(wk_population_exists(PLACE, &exists, &err));
    assert_false(exists);
    assert_ok(wk_population_record(PLACE, &p, &err));
    assert_ok(wk_population_exists(PLACE, &exists, &err));
    assert_true(exists);
    assert_ok(wk_population_read(PLACE, &back, &err));
    assert_int_equal(back.count, 2);
    assert_string_equal(back.names[0], "waker-m-seed0");
    assert_string_equal(back.names[1], "dr-seed0");
}

TEST_CASE(runs_are_added_and_those_never_begun_dropped)
{
    wk_population p = names("begun", "never"), back;
    assert_ok(wk_population_record(PLACE, &p, &err));
    assert_ok(wk_dir_create(PLACE "/begun", &err));
    assert_ok(wk_file_write(PLACE "/begun/config.yaml", "", 0, &err));
    p = names("more", "begun");
    assert_ok(wk_population_record(PLACE, &p, &err));
    assert_ok(wk_population_read(PLACE, &back, &err));
    assert_int_equal(back.count, 2);
    assert_string_equal(back.names[0], "begun");
    assert_string_equal(back.names[1], "more");
}

TEST_CASE(files_of_others_are_refused)
{
    static const char *const texts[] = {
        "",
        "runs: a\n",
        "runs: []\n",
        "runs: [a]\nmore: b\n",
        "other: [a]\n",
        "runs: [a, a]\n",
        "runs: [../elsewhere]\n",
        "runs: [/etc]\n",
        "runs: [..]\n",
        "runs: [.hidden]\n",
        "runs: [-rf]\n",
        "runs: [\"a\\x1b[2J\"]\n",
        "runs: [\"a,b\", \"\"]\n",
        "runs: [[a]]\n",
        "runs: [a\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        wk_population p;
        write_file(texts[i]);
        wk_status status = wk_population_read(PLACE, &p, &err);
        if (status != WK_E_FORMAT) fail_msg("'%s': %s", texts[i], wk_status_name(status));
        assert_non_null(strstr(err.message, PLACE "/population.yaml"));
    }
}

TEST_CASE(more_runs_than_a_population_has_are_refused)
{
    wk_population p;
    wk_text text = {0};
    wk_text_puts(&text, "runs:\n");
    for (int i = 0; i <= WK_POPULATION_MAX; i++)
        wk_text_printf(&text, "- run%d\n", i);
    write_file(wk_text_get(&text));
    wk_text_free(&text);
    assert_refused(wk_population_read(PLACE, &p, &err), WK_E_INPUT, "more than 64 runs");
}

TEST_CASE(a_link_leads_to_no_run)
{
    char path[WK_PATH_MAX];
    bool begun = true;
    assert_ok(wk_population_path(PLACE, "a", path, &begun, &err)); // nothing there yet
    assert_string_equal(path, PLACE "/a");
    assert_false(begun);
    assert_ok(wk_dir_create(PLACE "/a", &err));
    assert_int_equal(symlink("a", PLACE "/b"), 0);
    assert_ok(wk_population_path(PLACE, "a", path, &begun, &err));
    assert_false(begun);
    assert_ok(wk_file_write(PLACE "/a/config.yaml", "", 0, &err));
    assert_ok(wk_population_path(PLACE, "a", path, &begun, &err));
    assert_true(begun);
    assert_refused(wk_population_path(PLACE, "b", path, &begun, &err), WK_E_INPUT, "symbolic link");
}

TEST_MAIN_EACH(clean, clean)
