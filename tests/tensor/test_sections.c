// Times by section: what waker bench update reports.
#include "support/check.h"
#include "support/engine.h"

enum { SIDE = 64 };

// A product in section "one", a sum in section "two", and something nobody needs in "three".
static engine record(void)
{
    engine e = engine_open(1);
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(SIDE, SIDE), "x");
    wk_graph_section(e.g, "one");
    wk_tensor y = wk_graph_matmul(e.g, x, x);
    wk_graph_section(e.g, "two");
    wk_graph_output(e.g, wk_graph_sum_all(e.g, y));
    wk_graph_section(e.g, "three");
    wk_graph_add(e.g, x, x);
    engine_compile(&e);
    return e;
}

static wk_section_time section(const engine *e, const char *name)
{
    for (size_t i = 0; i < wk_program_section_count(e->program); i++) {
        wk_section_time time = wk_program_section_time(e->program, i);
        if (strcmp(time.name, name) == 0) return time;
    }
    fail_msg("no section '%s'", name);
    return (wk_section_time){0};
}

TEST_CASE(sections_count_the_nodes_that_run)
{
    engine e = record();
    assert_int_equal(section(&e, "one").nodes, 1);
    assert_true(section(&e, "two").nodes >= 1);
    assert_int_equal(section(&e, "three").nodes, 0);
    engine_close(&e);
}

TEST_CASE(sections_have_a_time_only_while_tracing)
{
    wk_error err = {0};
    engine e = record();
    engine_run(&e);
    assert_true(section(&e, "one").seconds == 0);
    assert_ok(wk_program_trace(e.program, true, &err));
    assert_true(section(&e, "one").seconds == 0);
    engine_run(&e);
    engine_run(&e);
    assert_true(section(&e, "one").seconds > 0);
    assert_true(section(&e, "three").seconds == 0);
    assert_ok(wk_program_trace(e.program, false, &err));
    assert_true(section(&e, "one").seconds == 0);
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
