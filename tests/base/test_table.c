// Tables: alignment, cells of several lines, characters of several bytes, and one filling for
// people and programs.
#include "base/table.h"
#include "support/check.h"

TEST_CASE(columns_are_as_wide_as_their_widest_cell)
{
    wk_table table;
    wk_text out = {0};
    wk_table_begin(&table, "lr", "name", "n");
    wk_table_cell(&table, "%s", "a");
    wk_table_cell(&table, "%d", 1);
    wk_table_cell(&table, "%s", "longer");
    wk_table_cell(&table, "%d", 1000);
    wk_table_print(&table, 1, &out);
    assert_string_equal(wk_text_get(&out), " name       n\n"
                                           " ------  ----\n"
                                           " a          1\n"
                                           " longer  1000\n");
    wk_table_free(&table);
    wk_text_free(&out);
}

TEST_CASE(cells_of_several_lines_stay_in_their_column)
{
    wk_table table;
    wk_text out = {0};
    wk_table_begin(&table, "lll", "a", "b", "c");
    wk_table_cell(&table, "1\n2");
    wk_table_cell(&table, "θθ");
    wk_table_cell(&table, "x\ny\nz");
    wk_table_print(&table, 0, &out);
    assert_string_equal(wk_text_get(&out), "a  b   c\n"
                                           "-  --  -\n"
                                           "1  θθ  x\n"
                                           "2      y\n"
                                           "       z\n");
    wk_table_free(&table);
    wk_text_free(&out);
}

TEST_CASE(names_of_users_stay_in_one_line)
{
    wk_table table;
    wk_text out = {0};
    wk_table_begin(&table, "ll", "run", "n");
    wk_table_name(&table, "a\nb\x1b[31m");
    wk_table_cell(&table, "1");
    wk_table_texts(&table, "c\td", "2");
    wk_table_finish(&table, 0, &out);
    assert_string_equal(wk_text_get(&out), "run       n\n"
                                           "--------  -\n"
                                           "a?b?[31m  1\n"
                                           "c?d       2\n");
    wk_text_free(&out);
}

// Numbers as values and as people read them, columns for one of the two, cells without a value.
TEST_CASE(one_filling_is_written_for_people_and_for_programs)
{
    static const wk_column columns[] = {{WK_COLUMN_TEXT, "name", "name", NULL, 0},
                                        {WK_COLUMN_TEXT, NULL, "note", NULL, 0},
                                        {WK_COLUMN_NUMBER, "runs", "runs", NULL, 0},
                                        {WK_COLUMN_NUMBER, "share", "share", "%.0f %%", 100},
                                        {WK_COLUMN_NUMBER, "exact", NULL, NULL, 0},
                                        {WK_COLUMN_TEXT, "good", "good", NULL, 0}};
    wk_table table;
    wk_text text = {0}, json = {0}, csv = {0};
    wk_table_start(&table, columns, sizeof columns / sizeof *columns);
    wk_table_text(&table, "a,\"b\"");
    wk_table_cell(&table, "%d\nlines", 2);
    wk_table_integer(&table, 12);
    wk_table_number(&table, 0.25);
    wk_table_number(&table, 1.0 / 3);
    wk_table_bool(&table, true);
    wk_table_text(&table, "=\n");
    wk_table_absent(&table);
    wk_table_unsigned(&table, UINT64_MAX);
    wk_table_number(&table, NAN);
    wk_table_absent(&table);
    wk_table_bool(&table, false);
    wk_table_shown(&table, "not %s", "yet");
    assert_int_equal(wk_table_count(&table), 2);
    wk_table_print(&table, 0, &text);
    assert_string_equal(wk_text_get(&text), "name   note                   runs  share  good\n"
                                            "-----  -----  --------------------  -----  -------\n"
                                            "a,\"b\"  2                        12   25 %  yes\n"
                                            "       lines\n"
                                            "=?            18446744073709551615      -  not yet\n");
    wk_table_json(&table, NULL, &(wk_json){.text = &json});
    assert_string_equal(wk_text_get(&json), "[\n"
                                            "  {\n"
                                            "    \"name\": \"a,\\\"b\\\"\",\n"
                                            "    \"runs\": 12,\n"
                                            "    \"share\": 0.25,\n"
                                            "    \"exact\": 0.3333333333333333,\n"
                                            "    \"good\": true\n"
                                            "  },\n"
                                            "  {\n"
                                            "    \"name\": \"=\\u000a\",\n"
                                            "    \"runs\": 18446744073709551615,\n"
                                            "    \"share\": null,\n"
                                            "    \"good\": false\n"
                                            "  }\n"
                                            "]\n");
    wk_table_csv(&table, &csv);
    assert_string_equal(wk_text_get(&csv), "name,runs,share,exact,good\n"
                                           "\"a,\"\"b\"\"\",12,0.25,0.3333333333333333,true\n"
                                           "\"'=\n\",18446744073709551615,null,,false\n");
    wk_table_free(&table);
    wk_text_free(&text);
    wk_text_free(&json);
    wk_text_free(&csv);
}

TEST_MAIN(NULL, NULL)
