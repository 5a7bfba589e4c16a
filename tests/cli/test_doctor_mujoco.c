// What waker doctor says of a MuJoCo: tested, not tested, or not the one waker was built for.
#include "cli/doctor.c"
#include "support/check.h"

// Nothing is printed here.
wk_status wk_cli_print(wk_text *text, wk_error *err)
{
    (void)err;
    wk_text_free(text);
    return WK_OK;
}

static const char tested[] = "2.2.2, 3.17.0, 4.0.1";

static finding judge(int built_for, int loaded)
{
    finding e = {0};
    judge_mujoco(built_for, loaded, tested, &e);
    return e;
}

TEST_CASE(a_tested_version_is_named_and_needs_no_advice)
{
    static const struct {
        int number;
        const char *text;
    } all[] = {{222, "2.2.2"}, {3017000, "3.17.0"}, {4000001, "4.0.1"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        finding e = judge(all[i].number, all[i].number);
        assert_int_equal(e.health, OK);
        assert_string_equal(e.found, all[i].text);
        assert_string_equal(e.advice, "");
    }
}

TEST_CASE(another_version_is_said_not_to_be_tested)
{
    static const struct {
        int number;
        const char *found;
    } all[] = {
        {337, "3.3.7, a version that waker is not tested with"},
        {4000000, "4.0.0, a version that waker is not tested with"},
        {3017001, "3.17.1, a version that waker is not tested with"},
        // parts of tested ones
        {22, "0.2.2, a version that waker is not tested with"},
        {3001007, "3.1.7, a version that waker is not tested with"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        finding e = judge(all[i].number, all[i].number);
        assert_int_equal(e.health, OK);
        assert_string_equal(e.found, all[i].found);
        assert_non_null(strstr(e.advice, tested));
    }
}

TEST_CASE(another_library_than_waker_was_built_for_is_broken)
{
    finding e = judge(3017000, 4000001);
    assert_int_equal(e.health, BROKEN);
    assert_string_equal(e.found, "4.0.1 at run time, but built for 3.17.0");
}

static bool is_in_table(const char *version)
{
    bool found = false;
    FILE *table = fopen(WAKER_SOURCE_DIR "/tools/mujoco-versions", "r");
    assert_non_null(table);
    for (char line[256], first[256]; fgets(line, sizeof line, table);)
        found = found || (sscanf(line, "%255s", first) == 1 && strcmp(first, version) == 0);
    fclose(table);
    return found;
}

// CMake and the program count alike, and take the same table.
TEST_CASE(the_version_is_the_one_that_cmake_found)
{
    finding e = {0};
    examine_mujoco(&e);
    assert_int_equal(e.health, OK);
    assert_memory_equal(e.found, MUJOCO_VERSION, strlen(MUJOCO_VERSION));
    assert_int_equal(e.advice[0] == 0, is_in_table(MUJOCO_VERSION));
}

TEST_MAIN(NULL, NULL)
