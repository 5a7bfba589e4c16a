// Every allocation on the way to a figure, and every allocation and file operation on the way from
// runs to a report, fails once: nothing leaks, and the caller is told, by an error or by a file
// that is said to be left out. (A failing close of a file that was read needs no telling: the
// report is whole all the same.)
#include "plot/plot.h"
#include "report/made_runs.h"
#include "report/report.h"
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

TEST_CASE(plots_survive_each_failing_allocation)
{
    fail_each(draw_lines, 10);
    fail_each(draw_scatter, 10);
    fail_each(draw_bars, 10);
    fail_each(draw_map, 10);
}

static void make_runs(void)
{
    for (uint64_t seed = 0; seed < 2; seed++) {
        char directory[64], path[128];
        made_run run = {"toy", seed ? "dr" : "waker-m", "plan2explore", 0};
        const made_score scores[] = {{"west", "dr", NULL, 3, 2, false},
                                     {"west", "storm", NULL, 2, 1, false}};
        snprintf(directory, sizeof directory, "runs/%s", run.rule);
        made_config(directory, &run);
        made_eval(directory, &run, "adapted", 100, scores, 2);
        made_eval(directory, &run, "adapted", 200, scores, 2);
        snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
        made_file(path, "{\"agent_step\": 100, \"train_env/env_param_0\": 0.5}\n");
    }
}

static wk_status make_report(size_t *problems, wk_text *text)
{
    static const char *const paths[] = {"runs"};
    err = (wk_error){0};
    wk_report report = {0};
    wk_report_config config = {.runs = {.paths = paths, .n_paths = 1},
                               .results = {.step = -1},
                               .bootstrap = {.reps = 5, .size = 0.95}};
    wk_status status = wk_report_make(&config, &report, &err);
    if (status == WK_OK) status = wk_report_page(&report, text, &err);
    if (status == WK_OK) wk_report_text(&report, text);
    if (text->failed) status = WK_E_MEMORY;
    *problems = report.runs.problems.items.count;
    wk_report_free(&report);
    return status;
}

TEST_CASE(a_report_survives_every_failing_call)
{
    size_t problems, fired = 0;
    wk_text whole = {0};
    make_runs();
    assert_int_equal(make_report(&problems, &whole), WK_OK);
    assert_int_equal(problems, 0);
    for (long call = 1;; call += fault_stride(1)) {
        wk_text text = {0};
        fault_sweep_arm((fault_plan){.call = call});
        wk_status status = make_report(&problems, &text);
        // What a figure lacks is said in the report itself.
        bool told = status != WK_OK || problems > 0 || strstr(wk_text_get(&text), strerror(EIO));
        bool same = strcmp(wk_text_get(&whole), wk_text_get(&text)) == 0;
        wk_text_free(&text);
        bool reached = fault_sweep_disarm();
        if (fault_sweep.blocks != 0 || fault_sweep.files != 0)
            fail_msg("call %ld: %ld blocks and %ld files left", call, fault_sweep.blocks,
                     fault_sweep.files);
        if (!reached) break;
        fired++;
        if (!told && !same) fail_msg("call %ld failed and nobody was told", call);
    }
    wk_text_free(&whole);
    assert_true(fired > 100);
}

TEST_MAIN(made_setup, made_teardown)
