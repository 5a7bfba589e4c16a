// JSON: what the reader accepts, what it refuses, what its tokens stand for, and files read member
// by member.
#include "base/json.h"
#include "support/check.h"
#include <stdio.h>

// One letter for each token kind, in the order of the enum.
static const char letters[] = "!$o)a]kSNTF0";

// The kinds of all tokens up to the end or the first error, as letters.
static void trace(const char *json, size_t size, char *out, size_t room)
{
    wk_json_reader reader = wk_json_reader_start(json, size);
    wk_json_token token;
    size_t count = 0;
    do {
        token = wk_json_reader_next(&reader);
        out[count++] = letters[token.kind];
    } while (token.kind != WK_JSON_ERROR && token.kind != WK_JSON_END && count < room - 1);
    out[count] = 0;
}

static void assert_trace(const char *json, const char *expected)
{
    char kinds[400];
    trace(json, strlen(json), kinds, sizeof kinds);
    if (strcmp(kinds, expected) != 0) fail_msg("%s gives %s, not %s", json, kinds, expected);
}

TEST_CASE(values_of_every_kind_come_in_order)
{
    assert_trace("{}", "o)$");
    assert_trace(" [ ] ", "a]$");
    assert_trace("{\"a\":1,\"b\":[true,false,null,\"x\"]}", "okNkaTF0S])$");
    assert_trace("[[],{},[{}]]", "aa]o)ao)]]$");
    assert_trace("-0.5e+3", "N$");
    assert_trace("\"only a string\"", "S$");
    assert_trace("[0,-1,10,1e5,1E-5,0.25]", "aNNNNNN]$");
}

TEST_CASE(text_that_is_not_json_is_refused)
{
    static const char *const bad[] = {
        "",
        " ",
        "{",
        "[",
        "[1,]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "[1 2]",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "NaN",
        "Infinity",
        "tru",
        "nul",
        "\"open",
        "\"\t\"",
        "\"\\x\"",
        "\"\\u12\"",
        "[1]]",
        "{}{}",
        "// c\n1",
        "'a'",
        "[1}",
        "{\"a\":1]",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "-a",
        "\"\\",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char kinds[100];
        trace(bad[i], strlen(bad[i]), kinds, sizeof kinds);
        if (kinds[strlen(kinds) - 1] != '!') fail_msg("'%s' was accepted: %s", bad[i], kinds);
    }
}

TEST_CASE(strings_must_be_utf8)
{
    assert_trace("\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"", "S$");
    static const char *const bad[] = {"\xff",
                                      "\xc3",
                                      "\xc0\x80",
                                      "\xe0\x80\x80",
                                      "\xed\xa0\x80",
                                      "\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xe2\x82",
                                      "\xc3(",
                                      "\xf0\x80\x80\x80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char json[20];
        snprintf(json, sizeof json, "\"%s\"", bad[i]);
        assert_trace(json, "!");
    }
}

TEST_CASE(nesting_is_bounded)
{
    char deep[2 * WK_JSON_DEPTH_MAX + 2], kinds[400];
    memset(deep, '[', WK_JSON_DEPTH_MAX);
    memset(deep + WK_JSON_DEPTH_MAX, ']', WK_JSON_DEPTH_MAX);
    trace(deep, 2 * WK_JSON_DEPTH_MAX, kinds, sizeof kinds);
    assert_int_equal(kinds[2 * WK_JSON_DEPTH_MAX], '$');
    memset(deep, '[', WK_JSON_DEPTH_MAX + 1);
    wk_json_reader reader = wk_json_reader_start(deep, WK_JSON_DEPTH_MAX + 1);
    while (wk_json_reader_next(&reader).kind != WK_JSON_ERROR)
        ;
    assert_string_equal(reader.problem, "nested too deeply");
    assert_int_equal(reader.at, WK_JSON_DEPTH_MAX);
}

TEST_CASE(every_prefix_of_a_document_is_refused)
{
    const char json[] = "{\"a\\u00e9\":[1.5e3,true,null,{\"b\":\"c\\\\\"}],\"d\":false}";
    for (size_t size = 0; size < sizeof json - 1; size++) {
        char exact[sizeof json], kinds[100];
        memcpy(exact, json, size);
        trace(exact, size, kinds, sizeof kinds);
        assert_int_equal(kinds[strlen(kinds) - 1], '!');
    }
}

TEST_CASE(escapes_stand_for_characters)
{
    const char json[] =
        "\"q\\\" b\\\\ s\\/ \\b\\f\\n\\r\\t \\u0041 \\u00e9 \\u20ac \\ud83d\\ude00\"";
    const char expected[] = "q\" b\\ s/ \b\f\n\r\t A \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80";
    wk_json_reader reader = wk_json_reader_start(json, sizeof json - 1);
    wk_json_token token = wk_json_reader_next(&reader);
    assert_true(wk_json_equals(token, expected));
    assert_false(wk_json_equals(token, "q\" b"));
    char text[sizeof json];
    size_t length = wk_json_unescape(token, text);
    assert_int_equal(length, sizeof expected - 1);
    assert_memory_equal(text, expected, length);
}

static wk_json_token only_token(const char *json)
{
    wk_json_reader reader = wk_json_reader_start(json, strlen(json));
    return wk_json_reader_next(&reader);
}

TEST_CASE(integers_are_exact_or_refused)
{
    uint64_t value;
    assert_true(wk_json_to_u64(only_token("18446744073709551615"), &value));
    assert_true(value == UINT64_MAX);
    assert_true(wk_json_to_u64(only_token("0"), &value) && value == 0);
    static const char *const bad[] = {"18446744073709551616", "-1", "1.0", "1e3", "\"1\"", "true"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(wk_json_to_u64(only_token(bad[i]), &value));
}

TEST_CASE(numbers_become_doubles)
{
    double value;
    assert_true(wk_json_to_double(only_token("-1.25e2"), &value));
    assert_true(value == -125);
    assert_true(wk_json_to_double(only_token("0.1"), &value) && value == 0.1);
    assert_false(wk_json_to_double(only_token("1e999"), &value));
    assert_false(wk_json_to_double(only_token("null"), &value));
}

TEST_CASE(skipping_a_value_lands_after_it)
{
    const char json[] = "{\"a\":{\"x\":[1,{}]},\"b\":7}";
    wk_json_reader reader = wk_json_reader_start(json, sizeof json - 1);
    wk_json_reader_next(&reader);
    wk_json_reader_next(&reader);
    assert_true(wk_json_reader_skip(&reader, wk_json_reader_next(&reader)));
    assert_true(wk_json_equals(wk_json_reader_next(&reader), "b"));
}

typedef struct values {
    double number;
    uint64_t integer;
    int count;
    bool flag;
    const char *string;
} values;

static bool take(wk_document *d, wk_arena *arena, values *v)
{
    return wk_document_take_number(d, "number", &v->number) ||
           wk_document_take_integer(d, "integer", &v->integer) ||
           wk_document_take_count(d, "count", &v->count) ||
           wk_document_take_bool(d, "flag", &v->flag) ||
           wk_document_take_string(d, "string", arena, &v->string);
}

static wk_status read_text(const char *text, wk_arena *arena, values *v, int *others, wk_error *err)
{
    wk_document d;
    WK_TRY(wk_document_start("x.json", text, strlen(text), &d, err));
    while (wk_document_member(&d))
        if (!take(&d, arena, v)) ++*others;
    return wk_document_close(&d, err);
}

TEST_CASE(members_go_to_their_variables_in_any_order)
{
    wk_arena arena = {0};
    wk_error err = {0};
    values v = {0};
    int others = 0;
    assert_ok(read_text("{\"flag\": true, \"other\": [1, {\"count\": 5}], \"string\": \"a\\nb\", "
                        "\"count\": 7, \"integer\": 18446744073709551615, \"number\": -0.5}",
                        &arena, &v, &others, &err));
    assert_true(v.number == -0.5 && v.integer == UINT64_MAX && v.count == 7 && v.flag);
    assert_string_equal(v.string, "a\nb");
    assert_int_equal(others, 1);
    wk_arena_reset(&arena);
}

TEST_CASE(a_count_must_fit_an_int)
{
    wk_error err = {0};
    values v = {0};
    int others = 0;
    assert_ok(read_text("{\"count\": 2147483647}", NULL, &v, &others, &err));
    assert_int_equal(v.count, 2147483647);
    assert_int_equal(read_text("{\"count\": 2147483648}", NULL, &v, &others, &err), WK_E_FORMAT);
    assert_string_equal(err.message, "'x.json': a count of 2147483648 is too large");
    assert_int_equal(v.count, 0);
}

TEST_CASE(a_value_of_another_kind_is_an_error)
{
    static const char *const wrong[] = {"{\"number\": \"1\"}", "{\"integer\": -1}",
                                        "{\"count\": 1.5}", "{\"flag\": 1}", "{\"string\": 1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wk_error err = {0};
        values v = {0};
        int others = 0;
        assert_int_equal(read_text(wrong[i], NULL, &v, &others, &err), WK_E_FORMAT);
    }
}

TEST_MAIN(NULL, NULL)
