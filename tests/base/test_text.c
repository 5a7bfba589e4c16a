// Growing text, JSON output, and finding the name that was meant.
#include "base/json.h"
#include "support/check.h"
#include "support/faults.h"
#include <float.h>

static void text_grows_by_every_means(void **state)
{
    wk_text text = {0};
    assert_string_equal(wk_text_get(&text), "");
    wk_text_puts(&text, "one ");
    wk_text_printf(&text, "%d %s ", 2, "three");
    wk_text_append(&text, "four and more", 4);
    assert_string_equal(wk_text_get(&text), "one 2 three four");
    assert_int_equal(text.length, 16);
    wk_text_free(&text);
    for (int i = 0; i < 1000; i++)
        wk_text_printf(&text, "%04d", i);
    assert_int_equal(text.length, 4000);
    assert_memory_equal(wk_text_get(&text) + 4 * 777, "0777", 4);
    wk_text_free(&text);
    wk_text_free(&text);
}

static void after_short_memory_the_text_so_far_stays(void **state)
{
    wk_text text = {0};
    wk_text_puts(&text, "start");
    fault_arm(FAULT_ALLOC, 0, ENOMEM);
    wk_text_printf(&text, "%200d", 1);
    assert_true(text.failed);
    wk_text_puts(&text, "more");
    assert_string_equal(wk_text_get(&text), "start");
    wk_text_free(&text);
    assert_false(text.failed);
}

static void json_nests_with_commas_and_indentation(void **state)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_object(&json, NULL);
    wk_json_string(&json, "name", "toy");
    wk_json_array(&json, "list");
    wk_json_integer(&json, NULL, -5);
    wk_json_integer(&json, NULL, INT64_MIN);
    wk_json_unsigned(&json, NULL, UINT64_MAX);
    wk_json_object(&json, NULL);
    wk_json_close(&json, '}');
    wk_json_close(&json, ']');
    wk_json_bool(&json, "yes", true);
    wk_json_bool(&json, "no", false);
    wk_json_close(&json, '}');
    assert_string_equal(wk_text_get(&text), "{\n"
                                            "  \"name\": \"toy\",\n"
                                            "  \"list\": [\n"
                                            "    -5,\n"
                                            "    -9223372036854775808,\n    18446744073709551615,\n"
                                            "    {}\n"
                                            "  ],\n"
                                            "  \"yes\": true,\n"
                                            "  \"no\": false\n"
                                            "}\n");
    wk_text_free(&text);
}

static void json_strings_are_escaped(void **state)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_string(&json, NULL, "a\"b\\c\n\t\x01/é");
    assert_string_equal(wk_text_get(&text), "\"a\\\"b\\\\c\\u000a\\u0009\\u0001/é\"");
    wk_text_free(&text);
    wk_json_string(&(wk_json){.text = &text}, NULL, NULL);
    assert_string_equal(wk_text_get(&text), "\"\"");
    wk_text_free(&text);
}

static void a_character_is_repeated(void **state)
{
    wk_text text = {0};
    wk_text_repeat(&text, '-', 0);
    assert_string_equal(wk_text_get(&text), "");
    wk_text_repeat(&text, '-', 3);
    assert_string_equal(wk_text_get(&text), "---");
    wk_text_free(&text);
}

static void json_numbers_read_back_as_the_same_number(void **state)
{
    const double numbers[] = {0,       0.1,          1.0 / 3, 1e300,
                              -1e-300, 123456789,    0.15,    DBL_MAX,
                              DBL_MIN, DBL_TRUE_MIN, 5e-324,  1 + DBL_EPSILON,
                              100000,  -0.0,         3.14159, 9007199254740993.0};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        wk_text text = {0};
        wk_json json = {.text = &text};
        wk_json_number(&json, NULL, numbers[i]);
        double back = strtod(wk_text_get(&text), NULL);
        assert_memory_equal(&back, &numbers[i], sizeof back);
        wk_text_free(&text);
    }
}

static void json_numbers_are_short_and_never_invalid(void **state)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_array(&json, NULL);
    wk_json_number(&json, NULL, 0.1);
    wk_json_number(&json, NULL, NAN);
    wk_json_number(&json, NULL, -INFINITY);
    wk_json_close(&json, ']');
    assert_string_equal(wk_text_get(&text), "[\n  0.1,\n  null,\n  null\n]\n");
    wk_text_free(&text);
}

static void distances_count_edits_and_swaps(void **state)
{
    assert_int_equal(wk_text_distance("walk", "walk"), 0);
    assert_int_equal(wk_text_distance("walk", "wlak"), 1);
    assert_int_equal(wk_text_distance("walk", "walks"), 1);
    assert_int_equal(wk_text_distance("walk", "wal"), 1);
    assert_int_equal(wk_text_distance("walk", "talk"), 1);
    assert_int_equal(wk_text_distance("kitten", "sitting"), 3);
    assert_int_equal(wk_text_distance("", "abc"), 3);
    assert_int_equal(wk_text_distance("Terrain_Walker", "terrain-walker"), 0);
}

static void the_nearest_name_is_found_if_it_is_near(void **state)
{
    const char *const names[] = {"stand", "walk", "run", "walk-backward"};
    assert_string_equal(wk_text_nearest("wakl", names, 4), "walk");
    assert_string_equal(wk_text_nearest("walk-backwards", names, 4), "walk-backward");
    assert_string_equal(wk_text_nearest("rum", names, 4), "run");
    assert_null(wk_text_nearest("somersault", names, 4));
    assert_null(wk_text_nearest("walk", names, 0));
    char endless[200];
    memset(endless, 'x', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_null(wk_text_nearest(endless, names, 4));
}

static void an_unknown_name_gets_the_nearest_or_all_there_are(void **state)
{
    wk_error err = {0};
    const char *const names[] = {"stand", "walk"};
    assert_refused(wk_fail_unknown(&err, "task", "wakl", names, 2), WK_E_NOT_FOUND,
                   "no task is called 'wakl'; did you mean 'walk'?");
    assert_refused(wk_fail_unknown(&err, "task", "somersault", names, 2), WK_E_NOT_FOUND,
                   "no task is called 'somersault'; there is stand, walk");
    assert_refused(wk_fail_unknown(&err, "task", "walk", names, 0), WK_E_NOT_FOUND,
                   "there is none");
    assert_refused(
        wk_fail_nearest(&err, WK_E_INPUT, "flip", names, 2, " (see --list)", "task %d", 3),
        WK_E_INPUT, "task 3 (see --list)");
}

static void a_choice_is_found_by_its_whole_name(void **state)
{
    assert_int_equal(wk_text_choice("auto|f32|bf16", "auto"), 0);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "bf16"), 2);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "f3"), -1);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "auto|f32"), -1);
    assert_int_equal(wk_text_choice("auto|f32|bf16", ""), -1);
    assert_int_equal(wk_text_choices("auto|f32|bf16"), 3);
}

static void numbers_of_users_are_read_alike(void **state)
{
    static const char *const wrong[] = {"", " 5", "5 ", "0x10", "nan", "inf", "1e999", "5,1", "e"};
    double number;
    uint64_t whole;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (wk_text_to_number(wrong[i], &number) || wk_text_to_integer(wrong[i], &number) ||
            wk_text_to_unsigned(wrong[i], &whole))
            fail_msg("'%s' is read as a number", wrong[i]);
    assert_true(wk_text_to_number("-1.5e-1", &number) && number == -0.15);
    assert_true(wk_text_to_integer("-1e2", &number) && number == -100);
    assert_false(wk_text_to_integer("0.5", &number));
    assert_true(wk_text_to_unsigned("1e2", &whole) && whole == 100);
    assert_true(wk_text_to_unsigned("18446744073709551615", &whole) && whole == UINT64_MAX);
    assert_false(wk_text_to_unsigned("18446744073709551616", &whole));
    assert_false(wk_text_to_unsigned("1e17", &whole)); // not exact
    assert_false(wk_text_to_unsigned("-1", &whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_grows_by_every_means),
        cmocka_unit_test(after_short_memory_the_text_so_far_stays),
        cmocka_unit_test(json_nests_with_commas_and_indentation),
        cmocka_unit_test(json_strings_are_escaped),
        cmocka_unit_test(a_character_is_repeated),
        cmocka_unit_test(json_numbers_read_back_as_the_same_number),
        cmocka_unit_test(json_numbers_are_short_and_never_invalid),
        cmocka_unit_test(distances_count_edits_and_swaps),
        cmocka_unit_test(the_nearest_name_is_found_if_it_is_near),
        cmocka_unit_test(an_unknown_name_gets_the_nearest_or_all_there_are),
        cmocka_unit_test(a_choice_is_found_by_its_whole_name),
        cmocka_unit_test(numbers_of_users_are_read_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
