// Figures of runs: estimates against errors, read for every environment and drawn once for each
// policy; losses, a line for each run.
#include "base/json.h"
#include "plot/parts.h"
#include "report/score_fixture.h"

static wk_error err;
static wk_report f;

// A run whose model error was measured in `count` environments: error i / 8, estimate i + offset.
static void make_run(const char *directory, const char *rule, uint64_t seed, uint64_t step,
                     const char *policy, int count, int estimates, double offset)
{
    const made_run run = {"terrain-walker", rule, "plan2explore", seed};
    wk_text text = {0};
    wk_json json = {.text = &text};
    made_config(directory, &run);
    made_head(&run, "waker-model-error-1", step, NULL, &json);
    wk_json_array(&json, "measures");
    wk_json_object(&json, NULL);
    wk_json_string(&json, "policy", policy);
    wk_json_number(&json, "mean", 0.5);
    wk_json_number(&json, "cvar_0.1", 1);
    wk_json_array(&json, "errors");
    for (int i = 0; i < count; i++)
        wk_json_number(&json, NULL, i / 8.0);
    wk_json_close(&json, ']');
    wk_json_array(&json, "estimates");
    for (int i = 0; i < estimates; i++)
        wk_json_number(&json, NULL, i + offset);
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    wk_json_close(&json, ']');
    wk_json_close(&json, '}');
    char path[256];
    snprintf(path, sizeof path, "%s/eval/model-error-%012" PRIu64 ".json", directory, step);
    made_file(path, "%s\n", wk_text_get(&text));
    wk_text_free(&text);
}

// The n-th figure whose name begins so; NULL: there are no more.
static const wk_report_figure *find_named(const char *begins, int n)
{
    for (size_t i = 0; i < f.figures.items.count; i++) {
        const wk_report_figure *figure = &f.figures.items.items[i];
        if (strncmp(figure->name, begins, strlen(begins)) == 0 && n-- == 0) return figure;
    }
    return NULL;
}

static const wk_report_figure *find_figure(int n)
{
    return find_named("estimate-", n);
}

static void draw(const char *path)
{
    open_report(&f, path, usual);
    const wk_figure_data data = {&f.runs, &f.paper, &usual, &f.rows, &f.errors, &f.comparison};
    assert_ok(wk_report_figures_draw(&data, &f.figures, &f.missing, &err));
}

// Points drawn half transparent, which the legend's are not.
static size_t count_points(const wk_figure *figure)
{
    size_t count = 0;
    for (size_t i = 0; i < figure->marks.count; i++) {
        const wk_mark *m = &figure->marks.items[i];
        count += (m->kind == WK_MARK_DISC || m->kind == WK_MARK_POLYGON) && m->paint.opacity == 0.6;
    }
    return count;
}

TEST_CASE(errors_and_estimates_of_every_environment_are_read)
{
    make_run("read", "dr", 0, 100, "random", 3, 3, 0.5);
    open_report(&f, "read", usual);
    assert_int_equal(f.runs.problems.items.count, 0);
    const wk_result *r = &f.runs.items.items[0]->results.items[0];
    assert_int_equal(r->points, 3);
    for (int i = 0; i < 3; i++) {
        assert_near(r->curves[WK_CURVE_ENV_ERRORS][i], i / 8.0, 0);
        assert_near(r->curves[WK_CURVE_ENV_ESTIMATES][i], i + 0.5, 0);
    }
    wk_report_free(&f);
}

TEST_CASE(lists_of_different_lengths_are_named_as_a_problem)
{
    make_run("uneven", "dr", 0, 100, "random", 3, 2, 0);
    open_report(&f, "uneven", usual);
    assert_int_equal(f.runs.problems.items.count, 1);
    expect_sentence(&f.runs.problems, "'estimates' has 2 numbers, but 'errors' has 3");
    assert_int_equal(f.runs.items.items[0]->results.count, 0);
    wk_report_free(&f);
}

TEST_CASE(a_policy_has_one_figure_with_one_run_of_each_curriculum)
{
    make_run("many/dr/0", "dr", 0, 100, "random", 7, 7, 0);
    make_run("many/dr/1", "dr", 1, 100, "random", 9, 9, 0);
    make_run("many/waker-m/0", "waker-m", 0, 100, "random", 5, 5, 0);
    make_run("many/waker-m/1", "waker-m", 1, 100, "walk", 4, 4, 0);
    draw("many");
    assert_string_equal(find_figure(0)->name, "estimate-terrain-walker-p2e-random");
    assert_int_equal(count_points(find_figure(0)->figure), 7 + 5);
    assert_string_equal(find_figure(1)->name, "estimate-terrain-walker-p2e-walk");
    assert_int_equal(count_points(find_figure(1)->figure), 4);
    assert_null(find_figure(2));
    wk_report_free(&f);
}

TEST_CASE(policies_are_in_the_order_of_the_tasks_not_of_the_files)
{
    make_run("order", "dr", 0, 100, "walk", 4, 4, 0);
    make_run("order", "dr", 0, 200, "stand", 4, 4, 0);
    make_run("order", "dr", 0, 300, "random", 4, 4, 0);
    draw("order");
    assert_string_equal(find_figure(0)->name, "estimate-terrain-walker-p2e-random");
    assert_string_equal(find_figure(1)->name, "estimate-terrain-walker-p2e-stand");
    assert_string_equal(find_figure(2)->name, "estimate-terrain-walker-p2e-walk");
    wk_report_free(&f);
}

TEST_CASE(the_newest_measurement_is_drawn_and_at_most_a_hundred_points)
{
    make_run("newest", "dr", 0, 100, "random", 10, 10, 0);
    make_run("newest", "dr", 0, 200, "random", 250, 250, 0);
    draw("newest");
    assert_int_equal(count_points(find_figure(0)->figure), 84); // every third of 250
    assert_null(find_figure(1));
    wk_report_free(&f);
}

// A cloud of one point and a bar alone say what the table says.
TEST_CASE(one_number_is_no_figure)
{
    wk_text text = {0};
    make_run("single", "dr", 0, 100, "random", 1, 1, 0);
    draw("single");
    assert_int_equal(f.figures.items.count, 0);
    wk_report_table_text(&f.tables[WK_TABLE_MODEL_ERRORS], &text);
    assert_non_null(strstr(wk_text_get(&text), "0.5 (1)"));
    assert_null(strstr(wk_text_get(&text), "± 0"));
    wk_text_free(&text);
    wk_report_free(&f);
}

static void make_losses(const char *directory, const char *rule, uint64_t seed, int lines)
{
    const made_run run = {"terrain-walker", rule, "plan2explore", seed};
    wk_text text = {0};
    char path[256];
    made_config(directory, &run);
    for (int i = 0; i < lines; i++)
        wk_text_printf(&text,
                       "{\"agent_step\": %d, \"train/model_loss\": %g, \"train/lossless\": 1, "
                       "\"train/my_loss\": 1, \"train/actor_ent_walk\": %d}\n",
                       100 * i, 1.0 / (i + 1), -i);
    snprintf(path, sizeof path, "%s/metrics.jsonl", directory);
    assert_ok(wk_file_write_text(NULL, path, &text, &err));
}

// A line for each run that has two points or more, thinned to what can be seen.
TEST_CASE(losses_have_a_line_for_each_run_and_methods_a_name_once)
{
    wk_text svg = {0};
    make_losses("losses/dr/0", "dr", 0, 3);
    make_losses("losses/dr/1", "dr", 1, 200);
    make_losses("losses/ge/0", "ge", 0, 4);
    draw("losses");
    const wk_report_figure *model = find_named("loss-", 0), *policy = find_named("loss-", 1);
    assert_string_equal(model->name, "loss-model_loss-terrain-walker-p2e");
    assert_int_equal(model->section, WK_FIGURES_LOSSES_MODEL);
    assert_string_equal(policy->name, "loss-actor_ent_walk-terrain-walker-p2e");
    assert_int_equal(policy->section, WK_FIGURES_LOSSES_POLICIES);
    assert_null(find_named("loss-", 2));
    int lines = 0;
    for (size_t i = 0; i < model->figure->marks.count; i++) {
        const wk_mark *m = &model->figure->marks.items[i];
        bool line = m->kind == WK_MARK_LINE && m->count > 2;
        lines += line;
        if (line) assert_true(m->count == 3 || m->count == 4 || m->count == 100);
    }
    assert_int_equal(lines, 3);
    assert_ok(wk_figure_svg(model->figure, &svg, &err));
    const char *name = strstr(wk_text_get(&svg), ">dr</text>");
    assert_non_null(name);
    assert_null(strstr(name + 1, ">dr</text>"));
    wk_text_free(&svg);
    wk_report_free(&f);
    make_losses("short", "dr", 0, 1);
    draw("short");
    assert_null(find_named("loss-", 0));
    wk_report_free(&f);
}

TEST_MAIN(made_setup, made_teardown)
