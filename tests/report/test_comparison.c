// Comparisons between curricula and the list of what is missing, on grids worked out by hand.
#include "report/score_fixture.h"

static wk_report f;

static void add_run(const char *root, const char *rule, uint64_t seed, const made_score *scores,
                    size_t count)
{
    char directory[256];
    snprintf(directory, sizeof directory, "%s/%s/%" PRIu64, root, rule, seed);
    made_whole(directory, (made_run){"terrain-walker", rule, "plan2explore", seed}, scores, count);
}

// Three seeds of two curricula on two tasks; one run of waker-m has not been evaluated on "run".
static void make_pair(const char *root)
{
    static const double walk[2][3] = {{10, 30, 20}, {20, 5, 8}}, run[2][3] = {{4, 2, 0}, {2, 2, 2}};
    static const char *const rules[] = {"waker-m", "dr"};
    for (int r = 0; r < 2; r++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            const made_score scores[] = {{"walk", "dr", NULL, walk[r][seed], 1, false},
                                         {"run", "dr", NULL, run[r][seed], 1, false}};
            add_run(root, rules[r], seed, scores, r == 0 && seed == 2 ? 1 : 2);
        }
}

static const wk_improvement *find_pair(const char *metric, const char *x, const char *y)
{
    for (size_t i = 0; i < f.comparison.improvements.count; i++) {
        const wk_improvement *p = &f.comparison.improvements.items[i];
        if (strcmp(p->group.metric, metric) == 0 && strcmp(p->x, x) == 0 && strcmp(p->y, y) == 0)
            return p;
    }
    fail_msg("no comparison of %s and %s", x, y);
    return NULL;
}

TEST_CASE(the_probability_of_improvement_is_that_of_the_pairs)
{
    make_pair("pair");
    open_report(&f, "pair", usual);
    const wk_improvement *p = find_pair("average", "waker-m", "dr");
    // walk: 10 beats 5, 8; 30 beats all; 20 beats 5, 8 and ties 20: 7.5 of 9. run: 4 beats three,
    // 2 ties three: 4.5 of 6.
    assert_near(p->estimate.value, (7.5 / 9 + 4.5 / 6) / 2, 1e-12);
    assert_int_equal(p->tasks, 2);
    assert_int_equal(p->min_runs, 2);
    assert_true(p->estimate.low <= p->estimate.value && p->estimate.value <= p->estimate.high);
    assert_near(find_pair("cvar0.1", "waker-m", "dr")->estimate.value, 0.5, 0); // all equal
    wk_report_free(&f);
}

TEST_CASE(scores_are_divided_by_the_highest_of_their_task)
{
    open_report(&f, "pair", usual);
    bool found = false;
    for (size_t i = 0; i < f.comparison.ranking.count; i++) {
        const wk_method_score *s = &f.comparison.ranking.items[i];
        if (strcmp(s->group.metric, "average") != 0 || strcmp(s->method, "waker-m") != 0) continue;
        // 1/3, 1, 2/3 and 1, 1/2: without the lowest and the highest.
        assert_near(s->iqm.value, (0.5 + 2.0 / 3 + 1) / 3, 1e-12);
        found = true;
    }
    assert_true(found);
    wk_report_free(&f);
}

TEST_CASE(what_is_missing_is_said)
{
    const made_score both[] = {{"walk", "dr", NULL, 2, 1, false},
                               {"walk", "steep", NULL, 2, 1, false}};
    made_run late = {"terrain-walker", "dr", "plan2explore", 1};
    add_run("gaps", "waker-m", 0, both, 2);
    add_run("gaps", "waker-m", 4, both, 1);
    made_config("gaps/dr/1", &late);
    made_config("gaps/ge/0", &(made_run){"terrain-walker", "ge", "plan2explore", 0});
    made_eval("gaps/dr/1", &late, "adapted", 250000, both, 2);
    open_report(&f, "gaps", usual);
    expect_sentence(&f.missing, "terrain-walker, p2e, dr: no run with seed 0, 4");
    expect_sentence(&f.missing, "terrain-walker, p2e, ge: no run with seed 1, 4");
    expect_sentence(&f.missing, "terrain-walker, p2e, waker-m: no run with seed 1");
    expect_sentence(&f.missing, "gaps/waker-m/4: no result for walk (steep)");
    expect_sentence(&f.missing,
                    "gaps/dr/1: evaluated up to agent step 250000, others up to 500000");
    expect_sentence(&f.missing,
                    "gaps/ge/0: no evaluation of a task policy ('waker adapt' and 'waker eval' "
                    "make one)");
    assert_int_equal(f.missing.items.count, 6);
    wk_report_free(&f);
}

TEST_CASE(with_a_step_what_others_have_of_it_is_missed)
{
    open_report(&f, "gaps", (wk_results_config){.step = 250000}); // of the test before
    expect_sentence(&f.missing, "gaps/waker-m/0: no result for walk (dr), walk (steep)");
    wk_report_free(&f);
}

TEST_CASE(a_whole_grid_misses_nothing)
{
    const made_score walk[] = {{"walk", "dr", NULL, 2, 1, false}};
    add_run("whole", "dr", 0, walk, 1);
    add_run("whole", "dr", 7, walk, 1);
    add_run("whole", "ge", 0, walk, 1);
    add_run("whole", "ge", 7, walk, 1);
    open_report(&f, "whole", usual);
    assert_int_equal(f.missing.items.count, 0);
    wk_report_free(&f);
}

TEST_CASE(runs_without_checkpoints_are_said_to_have_no_maps)
{
    wk_error err = {0};
    open_report(&f, "whole", usual);
    const wk_figure_data data = {.runs = &f.runs, .paper = &f.paper};
    assert_ok(wk_report_figures_maps(&data, &f.figures, &f.missing, &err));
    assert_int_equal(f.figures.items.count, 0);
    assert_int_equal(f.missing.items.count, 1);
    expect_sentence(&f.missing, "4 of 4 runs have no whole checkpoint");
    wk_report_free(&f);
}

// 25 methods have 300 pairs: the figure has the 24 of the best one.
TEST_CASE(of_many_pairs_those_of_the_best_method_are_drawn)
{
    enum { METHODS = 25 };
    const wk_comparison_group group = {"average", "p2e", false};
    wk_error err = {0};
    wk_report_memory *memory = &f.runs.memory;
    wk_text svg = {0};
    const char *names[METHODS];
    wk_paper_read(memory, &f.paper);
    for (int a = 0; a < METHODS; a++) {
        names[a] = wk_report_printf(memory, "rule%d.", a);
        const wk_method_score score = {group, names[a], {a == 7, 0, 1}, 1, 1};
        wk_report_push(memory, &f.comparison.ranking, score);
        for (int b = 0; b < a; b++) {
            const wk_improvement pair = {group, names[b], names[a], {0.5, 0.4, 0.6}, 1, 2};
            wk_report_push(memory, &f.comparison.improvements, pair);
        }
    }
    const wk_figure_data data = {&f.runs, &f.paper, &usual, &f.rows, &f.errors, &f.comparison};
    assert_ok(wk_report_figures_draw(&data, &f.figures, &f.missing, &err));
    assert_int_equal(f.figures.items.count, 1);
    assert_non_null(strstr(f.figures.items.items[0].caption, "Of 300 pairs"));
    assert_ok(wk_figure_svg(f.figures.items.items[0].figure, &svg, &err));
    int bars = 0;
    for (const char *at = wk_text_get(&svg); (at = strstr(at, " over ")); at++)
        bars++;
    assert_int_equal(bars, METHODS - 1);
    assert_non_null(strstr(wk_text_get(&svg), "rule7. over rule24."));
    wk_text_free(&svg);
    wk_report_free(&f);
}

TEST_MAIN(made_setup, made_teardown)
