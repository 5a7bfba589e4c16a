// Text tables: alignment, cells of several lines, characters of several bytes.
#include "base/table.h"
#include "support/check.h"

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
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

static void cells_of_several_lines_stay_in_their_column(void **state)
{
    (void)state;
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

static void names_of_users_stay_in_one_line(void **state)
{
    (void)state;
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

static void markdown_has_pipes_and_a_width_that_rules_need(void **state)
{
    (void)state;
    wk_table table = {.columns = 2, .min_width = 3};
    wk_text out = {0};
    for (int i = 0; i < 4; i++)
        wk_table_cell(&table, i == 2 ? "wide" : i == 3 ? "" : "%d", i);
    wk_table_markdown(&table, &out);
    assert_string_equal(wk_text_get(&out), "| 0    | 1   |\n"
                                           "| ---- | --- |\n"
                                           "| wide |     |\n");
    wk_table_free(&table);
    wk_text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(cells_of_several_lines_stay_in_their_column),
        cmocka_unit_test(names_of_users_stay_in_one_line),
        cmocka_unit_test(markdown_has_pipes_and_a_width_that_rules_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
