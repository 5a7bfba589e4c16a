// Every allocation on the way to a figure and a page fails once: nothing leaks, and the caller gets
// an error.
#include "plot/plot.h"
#include "report/page.h"
#include "support/check.h"
#include "support/faults.h"

static wk_error err;

// A plot that ran out of memory half way says so when it is rendered.
static wk_status render(wk_figure *figure)
{
    wk_image image;
    wk_status status = wk_figure_draw(figure, 0.5, &image, &err);
    if (status == WK_OK) wk_image_free(&image);
    wk_figure_destroy(figure);
    return status;
}

static const double x[] = {0, 1, 2, 3}, y[] = {1, 2, NAN, 4}, cells[] = {1, 2, 3, 4};
static const wk_plot_series series = {"a", 4, x, y, x, 0, NULL, NULL};

static wk_status draw_lines(void)
{
    wk_figure *figure = NULL;
    WK_TRY(wk_plot_lines_draw(&(wk_plot_lines){.title = "t", .series = &series, .count = 1},
                              &figure, &err));
    return render(figure);
}

static wk_status draw_scatter(void)
{
    wk_figure *figure = NULL;
    WK_TRY(wk_plot_scatter_draw(&(wk_plot_scatter){.title = "t", .series = &series, .count = 1},
                                &figure, &err));
    return render(figure);
}

static wk_status draw_bars(void)
{
    const wk_plot_bar bar = {"b", 0.5, 0.4, 0.6, 0};
    wk_figure *figure = NULL;
    WK_TRY(
        wk_plot_bars_draw(&(wk_plot_bars){.title = "t", .bars = &bar, .count = 1}, &figure, &err));
    return render(figure);
}

static wk_status draw_map(void)
{
    wk_figure *figure = NULL;
    WK_TRY(wk_plot_heat_draw(&(wk_plot_heat){.title = "t", .rows = 2, .columns = 2, .cells = cells},
                             &figure, &err));
    return render(figure);
}

static wk_status build_page(void)
{
    wk_page *page = NULL;
    wk_figure *figure = NULL;
    wk_text text = {0};
    WK_TRY(wk_page_create("t", "s", &page, &err));
    wk_status status = wk_figure_create(10, 10, "f", &figure, &err);
    if (status == WK_OK) {
        wk_report_cell cell = {.head = "h", .text = "c"};
        wk_report_view view = {0};
        view.cells.items = &cell;
        view.rows.count = view.cells.count = 1;
        wk_figure_text(figure, 1, 1, "text", (wk_text_style){0});
        wk_page_section(page, "one");
        wk_page_section(page, "two");
        wk_page_table(page, &view);
        wk_page_figure(page, figure, "c");
        status = wk_page_finish(page, &text, &err);
    }
    wk_text_free(&text);
    wk_figure_destroy(figure);
    wk_page_destroy(page);
    return status;
}

static void fail_each(wk_status (*attempt)(void), int at_least)
{
    assert_ok(attempt());
    int failures = 0;
    for (;; failures++) {
        fault_sweep_arm((fault_plan){.call = failures + 1});
        err = (wk_error){0};
        wk_status status = attempt();
        bool fired = fault_sweep_disarm();
        assert_int_equal(fault_sweep.blocks, 0);
        if (!fired) break;
        if (status != WK_E_MEMORY)
            fail_msg("call %d: status '%s' (%s)", failures, wk_status_name(status), err.message);
        assert_true(strlen(err.message) > 0);
    }
    assert_true(failures >= at_least);
}

static void plots_survive_each_failing_allocation(void **state)
{
    fail_each(draw_lines, 10);
    fail_each(draw_scatter, 10);
    fail_each(draw_bars, 10);
    fail_each(draw_map, 10);
}

static void a_page_survives_each_failing_allocation(void **state)
{
    fail_each(build_page, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plots_survive_each_failing_allocation),
        cmocka_unit_test(a_page_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
