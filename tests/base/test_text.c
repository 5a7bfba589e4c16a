// Growing text, JSON output, finding the name that was meant, and UTF-8.
#include "base/json.h"
#include "support/check.h"
#include "support/faults.h"
#include <float.h>
#include <stdbool.h>
#include <stdio.h>

TEST_CASE(text_grows_by_every_means)
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

TEST_CASE(after_short_memory_the_text_so_far_stays)
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

TEST_CASE(json_nests_with_commas_and_indentation)
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

TEST_CASE(json_strings_are_escaped)
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

TEST_CASE(a_character_is_repeated)
{
    wk_text text = {0};
    wk_text_repeat(&text, '-', 0);
    assert_string_equal(wk_text_get(&text), "");
    wk_text_repeat(&text, '-', 3);
    assert_string_equal(wk_text_get(&text), "---");
    wk_text_free(&text);
}

TEST_CASE(json_numbers_read_back_as_the_same_number)
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

TEST_CASE(json_numbers_are_short_and_never_invalid)
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

TEST_CASE(distances_count_edits_and_swaps)
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

TEST_CASE(the_nearest_name_is_found_if_it_is_near)
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

TEST_CASE(an_unknown_name_gets_the_nearest_or_all_there_are)
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

TEST_CASE(a_choice_is_found_by_its_whole_name)
{
    assert_int_equal(wk_text_choice("auto|f32|bf16", "auto"), 0);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "bf16"), 2);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "f3"), -1);
    assert_int_equal(wk_text_choice("auto|f32|bf16", "auto|f32"), -1);
    assert_int_equal(wk_text_choice("auto|f32|bf16", ""), -1);
    assert_int_equal(wk_text_choices("auto|f32|bf16"), 3);
}

TEST_CASE(numbers_of_users_are_read_alike)
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

// RFC 3629, section 3.
static size_t encode(uint32_t code, char *out)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(0xf00 >> length | code);
    return length;
}

TEST_CASE(every_character_is_read_back)
{
    for (uint32_t code = 1; code <= 0x10ffff; code++) {
        char bytes[8] = {0};
        uint32_t got = 0;
        size_t length = encode(code, bytes);
        bool surrogate = code >= 0xd800 && code < 0xe000;
        if (wk_utf8_decode(bytes, SIZE_MAX, &got) != (surrogate ? 0 : length))
            fail_msg("U+%04X is taken wrongly", (unsigned)code);
        if (!surrogate && got != code)
            fail_msg("U+%04X is read as U+%04X", (unsigned)code, (unsigned)got);
        if (wk_utf8_decode(bytes, length - 1, &got) != 0)
            fail_msg("U+%04X is accepted when cut off", (unsigned)code);
    }
}

TEST_CASE(malformed_bytes_are_refused)
{
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc3",
                                      "\xc3(",
                                      "\xe0\x9f\xbf",
                                      "\xe2\x82",
                                      "\xe2(\xa1",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "\xfe"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint32_t code;
        if (wk_utf8_decode(bad[i], SIZE_MAX, &code) != 0) fail_msg("case %zu is accepted", i);
    }
}

TEST_CASE(control_characters_and_malformed_bytes_are_replaced)
{
    char line[] = "a\x1b[2Jb\nc\x7f \xc2\x9b caf\xc3\xa9\t", text[] = "x\ny\r";
    wk_utf8_sanitise(line, true);
    assert_string_equal(line, "a?[2Jb\nc? ?? caf\xc3\xa9?");
    wk_utf8_sanitise(text, false);
    assert_string_equal(text, "x?y?");
    char other[] = "caf\xe9s \xf0\x9f\x98", cut[] = "\xe2\x82"; // Latin-1, cut off
    wk_utf8_sanitise(other, false);
    assert_string_equal(other, "caf?s ???");
    wk_utf8_sanitise(cut, false);
    assert_string_equal(cut, "??");
}

// A name with one of these is shown as another: "x\u202egnp.exe" looks like "xexe.png".
TEST_CASE(characters_that_turn_text_around_are_replaced)
{
    static const char *const turning[] = {"\u061c", "\u200e", "\u200f", "\u202a",
                                          "\u202b", "\u202c", "\u202d", "\u202e",
                                          "\u2066", "\u2067", "\u2068", "\u2069"};
    for (size_t i = 0; i < sizeof turning / sizeof *turning; i++) {
        char name[16], shown[16];
        size_t length = strlen(turning[i]);
        snprintf(name, sizeof name, "a%sb", turning[i]);
        snprintf(shown, sizeof shown, "a%.*sb", (int)length, "???");
        assert_int_equal(wk_utf8_control(turning[i]), length);
        wk_utf8_sanitise(name, false);
        assert_string_equal(name, shown);
    }
    // Their neighbours, right-to-left letters and the joiners of scripts and emoji are text.
    char text[] = "\u200d\u2028\u202f\u2065\u206a \u05d0\u0627 \u061b\u061d", same[sizeof text];
    memcpy(same, text, sizeof text);
    wk_utf8_sanitise(text, false);
    assert_string_equal(text, same);
}

TEST_MAIN(NULL, NULL)
