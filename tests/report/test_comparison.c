// Comparisons between curricula and the list of what is missing, on grids worked out by hand.
#include "report/figures/figures.h"
#include "report/made_runs.h"

typedef struct fixture {
    wk_paper paper;
    wk_runs runs;
    wk_seed_scores scores;
    wk_comparison comparison;
    wk_sentences missing;
} fixture;

static const wk_seed_scores_config usual = {.step = -1};

static fixture make(const char *path)
{
    wk_error err = {0};
    fixture f = {0};
    wk_bootstrap_config bootstrap = {.reps = 100, .size = 0.95, .seed = 1};
    assert_ok(wk_paper_read(&f.paper, &err));
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &f.runs, &err));
    assert_ok(wk_seed_scores_collect(&f.runs, &f.paper, &usual, &f.scores, &err));
    assert_ok(wk_comparison_make(&f.scores, &bootstrap, &f.comparison, &err));
    assert_ok(wk_missing_find(&f.runs, &usual, &f.missing, &err));
    return f;
}

static void drop(fixture *f)
{
    wk_sentences_free(&f->missing);
    wk_comparison_free(&f->comparison);
    wk_seed_scores_free(&f->scores);
    wk_runs_free(&f->runs);
    wk_paper_free(&f->paper);
}

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

static const wk_improvement *find_pair(const fixture *f, const char *metric, const char *x,
                                       const char *y)
{
    for (size_t i = 0; i < f->comparison.improvements.count; i++) {
        const wk_improvement *p = &f->comparison.improvements.items[i];
        if (strcmp(p->group.metric, metric) == 0 && strcmp(p->x, x) == 0 && strcmp(p->y, y) == 0)
            return p;
    }
    fail_msg("no comparison of %s and %s", x, y);
    return NULL;
}

static void the_probability_of_improvement_is_that_of_the_pairs(void **state)
{
    (void)state;
    make_pair("pair");
    fixture f = make("pair");
    const wk_improvement *p = find_pair(&f, "average", "waker-m", "dr");
    // walk: 10 beats 5, 8; 30 beats all; 20 beats 5, 8 and ties 20: 7.5 of 9. run: 4 beats three,
    // 2 ties three: 4.5 of 6.
    assert_near(p->estimate.value, (7.5 / 9 + 4.5 / 6) / 2, 1e-12);
    assert_int_equal(p->tasks, 2);
    assert_int_equal(p->min_runs, 2);
    assert_true(p->estimate.low <= p->estimate.value && p->estimate.value <= p->estimate.high);
    assert_near(find_pair(&f, "cvar0.1", "waker-m", "dr")->estimate.value, 0.5, 0); // all equal
    drop(&f);
}

static void scores_are_divided_by_the_highest_of_their_task(void **state)
{
    (void)state;
    fixture f = make("pair");
    bool found = false;
    for (size_t i = 0; i < f.comparison.ranking.count; i++) {
        const wk_curriculum_score *s = &f.comparison.ranking.items[i];
        if (strcmp(s->group.metric, "average") != 0 || strcmp(s->curriculum, "waker-m") != 0)
            continue;
        // 1/3, 1, 2/3 and 1, 1/2: without the lowest and the highest.
        assert_near(s->iqm.value, (0.5 + 2.0 / 3 + 1) / 3, 1e-12);
        found = true;
    }
    assert_true(found);
    drop(&f);
}

static void expect_missing(const fixture *f, const char *sentence)
{
    for (size_t i = 0; i < f->missing.items.count; i++)
        if (strcmp(f->missing.items.items[i], sentence) == 0) return;
    for (size_t i = 0; i < f->missing.items.count; i++)
        print_error("missing: %s\n", f->missing.items.items[i]);
    fail_msg("not said: %s", sentence);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    const made_score both[] = {{"walk", "dr", NULL, 2, 1, false},
                               {"walk", "steep", NULL, 2, 1, false}};
    made_run late = {"terrain-walker", "dr", "plan2explore", 1};
    add_run("gaps", "waker-m", 0, both, 2);
    add_run("gaps", "waker-m", 4, both, 1);
    made_config("gaps/dr/1", &late);
    made_config("gaps/ge/0", &(made_run){"terrain-walker", "ge", "plan2explore", 0});
    made_eval("gaps/dr/1", &late, "adapted", 250000, both, 2);
    fixture f = make("gaps");
    expect_missing(&f, "terrain-walker, p2e, dr: no run with seed 0, 4");
    expect_missing(&f, "terrain-walker, p2e, ge: no run with seed 1, 4");
    expect_missing(&f, "terrain-walker, p2e, waker-m: no run with seed 1");
    expect_missing(&f, "gaps/waker-m/4: no result for walk (steep)");
    expect_missing(&f, "gaps/dr/1: evaluated up to agent step 250000, others up to 500000");
    expect_missing(&f, "gaps/ge/0: no evaluation of a task policy ('waker adapt' and 'waker eval' "
                       "make one)");
    assert_int_equal(f.missing.items.count, 6);
    drop(&f);
}

static void with_a_step_what_others_have_of_it_is_missed(void **state)
{
    (void)state;
    wk_error err = {0};
    const char *path = "gaps"; // of the test before
    wk_seed_scores_config config = {.step = 250000};
    fixture f = {0};
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &f.runs, &err));
    assert_ok(wk_missing_find(&f.runs, &config, &f.missing, &err));
    expect_missing(&f, "gaps/waker-m/0: no result for walk (dr), walk (steep)");
    drop(&f);
}

static void a_whole_grid_misses_nothing(void **state)
{
    (void)state;
    const made_score walk[] = {{"walk", "dr", NULL, 2, 1, false}};
    add_run("whole", "dr", 0, walk, 1);
    add_run("whole", "dr", 7, walk, 1);
    add_run("whole", "ge", 0, walk, 1);
    add_run("whole", "ge", 7, walk, 1);
    fixture f = make("whole");
    assert_int_equal(f.missing.items.count, 0);
    drop(&f);
}

static void runs_without_checkpoints_are_said_to_have_no_maps(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_report_figures figures = {0};
    fixture f = make("whole");
    assert_ok(wk_report_figures_maps(&figures, &f.runs, &f.paper, &f.missing, &err));
    assert_int_equal(figures.items.count, 0);
    assert_int_equal(f.missing.items.count, 1);
    assert_non_null(strstr(f.missing.items.items[0], "4 of 4 runs have no whole checkpoint"));
    wk_report_figures_free(&figures);
    drop(&f);
}

// 25 methods have 300 pairs: the figure has the 24 of the best one.
static void of_many_pairs_those_of_the_best_method_are_drawn(void **state)
{
    (void)state;
    enum { METHODS = 25 };
    const wk_comparison_group group = {"average", "p2e", false};
    char names[METHODS][16];
    wk_error err = {0};
    wk_paper paper = {0};
    wk_comparison comparison = {0};
    wk_report_figures figures = {0};
    wk_text svg = {0};
    assert_ok(wk_paper_read(&paper, &err));
    for (int a = 0; a < METHODS; a++) {
        snprintf(names[a], sizeof names[a], "rule%d.", a);
        const wk_curriculum_score score = {group, names[a], {a == 7, 0, 1}, 1, 1};
        assert_true(wk_array_push(&comparison.ranking, score));
        for (int b = 0; b < a; b++) {
            const wk_improvement pair = {group, names[b], names[a], {0.5, 0.4, 0.6}, 1, 1};
            assert_true(wk_array_push(&comparison.improvements, pair));
        }
    }
    assert_ok(wk_report_figures_improvements(&figures, &comparison, &paper, &err));
    assert_int_equal(figures.items.count, 1);
    assert_non_null(strstr(figures.items.items[0].caption, "Of 300 pairs"));
    assert_ok(wk_figure_svg(figures.items.items[0].figure, &svg, &err));
    int bars = 0;
    for (const char *at = wk_text_get(&svg); (at = strstr(at, " over ")); at++)
        bars++;
    assert_int_equal(bars, METHODS - 1);
    assert_non_null(strstr(wk_text_get(&svg), "rule7. over rule24."));
    wk_text_free(&svg);
    wk_report_figures_free(&figures);
    wk_comparison_free(&comparison);
    wk_paper_free(&paper);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_probability_of_improvement_is_that_of_the_pairs),
        cmocka_unit_test(scores_are_divided_by_the_highest_of_their_task),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(with_a_step_what_others_have_of_it_is_missed),
        cmocka_unit_test(a_whole_grid_misses_nothing),
        cmocka_unit_test(of_many_pairs_those_of_the_best_method_are_drawn),
        cmocka_unit_test(runs_without_checkpoints_are_said_to_have_no_maps),
    };
    return cmocka_run_group_tests(tests, made_setup, made_teardown);
}
