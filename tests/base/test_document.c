// Reading the members of a JSON object by name.
#include "base/json.h"
#include "support/check.h"

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

static void members_go_to_their_variables_in_any_order(void **state)
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

static void a_count_must_fit_an_int(void **state)
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

static void a_value_of_another_kind_is_an_error(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_go_to_their_variables_in_any_order),
        cmocka_unit_test(a_count_must_fit_an_int),
        cmocka_unit_test(a_value_of_another_kind_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
