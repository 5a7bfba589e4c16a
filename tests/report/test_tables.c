// Tables: means and marks by hand, the paper's values, what stands for missing cells, which results
// count, and every format parsed back to the numbers.
#include "base/machine.h"
#include "report/score_fixture.h"

static wk_report f;

static void add_run(const char *root, made_run run, const made_score *scores, size_t count)
{
    char directory[256];
    snprintf(directory, sizeof directory, "%s/%s/%s-%s/%" PRIu64, root, run.domain, run.exploration,
             run.rule, run.seed);
    made_whole(directory, run, scores, count);
}

// Two seeds of waker-m, dr and a rule of a user's; walk and run; waker-m lacks "run".
static void make_grid(const char *root)
{
    static const char *const rules[] = {"dr", "waker-m", "my-rule"};
    static const double walk[] = {600, 700, 690}, run[] = {300, NAN, 100};
    for (int r = 0; r < 3; r++)
        for (uint64_t seed = 0; seed < 2; seed++) {
            double off = seed ? 10 : -10;
            const made_score scores[] = {
                {"walk", "dr", NULL, walk[r] + off + 100, walk[r] + off, false},
                {"walk", "steep", NULL, 50, 40, false},
                {"run", "dr", NULL, run[r] + off + 100, run[r] + off, false}};
            add_run(root, (made_run){"terrain-walker", rules[r], "plan2explore", seed}, scores,
                    r == 1 ? 2 : 3);
        }
}

static void expect_method(wk_table_kind kind, size_t column, const char *method)
{
    assert_string_equal(entry_of(&f, kind, 0, column)->key.names[WK_FIELD_CURRICULUM], method);
}

TEST_CASE(entries_are_means_and_deviations_over_seeds)
{
    make_grid("grid");
    open_report(&f, "grid", usual);
    assert_int_equal(f.scores[WK_TABLE_CVAR].rows, 2);
    assert_int_equal(f.scores[WK_TABLE_CVAR].columns, 3);
    // The paper's order, the user's rule last.
    expect_method(WK_TABLE_CVAR, 0, "waker-m");
    expect_method(WK_TABLE_CVAR, 1, "dr");
    expect_method(WK_TABLE_CVAR, 2, "my-rule");
    const wk_table_entry *walk = entry_of(&f, WK_TABLE_CVAR, 0, 0),
                         *run = entry_of(&f, WK_TABLE_CVAR, 1, 0);
    assert_string_equal(walk->key.names[WK_FIELD_TASK], "walk");
    assert_string_equal(run->key.names[WK_FIELD_TASK], "run");
    assert_near(walk->mean, 700, 1e-12);
    assert_near(walk->sd, 10, 1e-12);
    assert_int_equal(walk->seeds, 2);
    assert_int_equal(run->seeds, 0);
    wk_report_free(&f);
}

// `seeds` runs of waker-m around 700 and as many of dr around `other`, ten apart.
static void make_pair(const char *root, uint64_t seeds, double other)
{
    for (uint64_t seed = 0; seed < seeds; seed++) {
        double off = 10 * (double)seed;
        const made_score a[] = {{"walk", "dr", NULL, 900, 700 + off, false}};
        const made_score b[] = {{"walk", "dr", NULL, 900, other + off, false}};
        add_run(root, (made_run){"terrain-walker", "waker-m", "plan2explore", seed}, a, 1);
        add_run(root, (made_run){"terrain-walker", "dr", "plan2explore", seed}, b, 1);
    }
}

TEST_CASE(only_what_is_certainly_the_highest_is_marked)
{
    static const struct {
        const char *root;
        uint64_t seeds;
        double other;
        bool marked;
    } cases[] = {{"apart", 5, 600, true}, {"noise", 5, 695, false}, {"few", 3, 600, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_pair(cases[i].root, cases[i].seeds, cases[i].other);
        open_report(&f, cases[i].root, usual);
        assert_int_equal(entry_of(&f, WK_TABLE_CVAR, 0, 0)->best, cases[i].marked);
        assert_false(entry_of(&f, WK_TABLE_CVAR, 0, 1)->best);
        wk_report_free(&f);
    }
}

TEST_CASE(nothing_is_marked_where_nobody_scores)
{
    const made_score none[] = {{"walk", "dr", NULL, 0, 0, false}};
    add_run("none", (made_run){"terrain-walker", "dr", "plan2explore", 0}, none, 1);
    open_report(&f, "none", usual);
    assert_false(entry_of(&f, WK_TABLE_CVAR, 0, 0)->best);
    wk_report_free(&f);
}

TEST_CASE(the_papers_values_are_shown_below_ours)
{
    const made_score push[] = {{"push", "dr", NULL, 0.9, 0.8, true},
                               {"push", "extra-block", NULL, 0.5, 0.4, true}};
    add_run("push", (made_run){"clean-up", "ge", "plan2explore", 0}, push, 2);
    add_run("push", (made_run){"clean-up", "dr", "random", 0}, push, 2);
    open_report(&f, "push", usual);
    assert_int_equal(f.scores[WK_TABLE_CVAR].rows, 2);
    const wk_table_entry *p2e = entry_of(&f, WK_TABLE_CVAR, 0, 1),
                         *random = entry_of(&f, WK_TABLE_CVAR, 1, 0);
    assert_string_equal(p2e->key.names[WK_FIELD_EXPLORATION], "p2e");
    expect_method(WK_TABLE_CVAR, 1, "ge");
    assert_near(p2e->paper->mean, 0.628, 0); // cvar0.1,clean-up,,push,p2e,ge
    assert_near(p2e->paper->sd, 0.12, 0);
    assert_near(random->paper->mean, 0.023, 0);            // ...,push,random,dr
    assert_null(entry_of(&f, WK_TABLE_CVAR, 1, 1)->paper); // the paper has no random, ge
    // One task: the table that is averaged over tasks has the same numbers, for programs alone.
    assert_int_equal(f.scores[WK_TABLE_OOD_TASKS].rows, f.scores[WK_TABLE_OOD].rows);
    assert_true(wk_report_table_is_empty(&f.tables[WK_TABLE_OOD_TASKS]));
    assert_int_equal(f.tables[WK_TABLE_OOD_TASKS].csv.rows.count,
                     f.scores[WK_TABLE_OOD_TASKS].entries.count);
    const wk_table_entry *block = entry_of(&f, WK_TABLE_OOD, 0, 1);
    assert_string_equal(block->key.names[WK_FIELD_VARIANT], "extra-block");
    assert_near(block->mean, 0.5, 0);
    assert_non_null(block->paper);
    wk_report_free(&f);
}

// Table 2 of the paper: 0.5 and 0.25 are 0.375; a run without push is not compared with them.
TEST_CASE(cases_are_averaged_over_tasks_that_all_runs_have)
{
    const made_score both[] = {{"push", "extra-block", NULL, 0.5, 0.4, true},
                               {"sort", "extra-block", NULL, 0.25, 0.1, true}};
    add_run("tasks", (made_run){"clean-up", "ge", "plan2explore", 0}, both, 2);
    add_run("tasks", (made_run){"clean-up", "ge", "plan2explore", 1}, both + 1, 1);
    open_report(&f, "tasks", usual);
    assert_int_equal(f.scores[WK_TABLE_OOD_TASKS].rows, 1);
    const wk_table_entry *entry = entry_of(&f, WK_TABLE_OOD_TASKS, 0, 0);
    assert_int_equal(entry->seeds, 1);
    assert_near(entry->mean, 0.375, 1e-15);
    assert_null(entry->paper);                                    // which has sort-reverse too
    assert_int_equal(f.tables[WK_TABLE_OOD_TASKS].page.heads, 3); // no task
    assert_int_equal(f.rows.remarks.items.count, 1);
    expect_sentence(&f.rows.remarks, "1 of 2 tasks in case extra-block");
    wk_report_free(&f);
}

TEST_CASE(the_papers_mean_over_tasks_is_shown_for_its_own_tasks)
{
    const made_score tasks[] = {{"push", "extra-block", NULL, 0.5, 0.4, true},
                                {"sort", "extra-block", NULL, 0.25, 0.1, true},
                                {"sort-reverse", "extra-block", NULL, 0.3, 0.1, true}};
    add_run("same", (made_run){"clean-up", "ge", "plan2explore", 0}, tasks, 3);
    open_report(&f, "same", usual);
    assert_near(entry_of(&f, WK_TABLE_OOD_TASKS, 0, 0)->mean, 0.35, 1e-15);
    assert_near(entry_of(&f, WK_TABLE_OOD_TASKS, 0, 0)->paper->mean, 0.348, 0);
    assert_near(entry_of(&f, WK_TABLE_OOD_TASKS, 0, 0)->paper->sd, 0.04, 0);
    wk_report_free(&f);
}

// 1,000 runs of 20 out-of-distribution scores each.
TEST_CASE(many_runs_are_collected_in_time)
{
    enum { RUNS = 1000, TASKS = 5, CASES = 4 };
    static const char *const tasks[TASKS] = {"stand", "walk", "run", "flip", "walk-backward"};
    static const char *const cases[CASES] = {"steep", "stairs", "ice", "mud"};
    static wk_report_run all[RUNS];
    static wk_result results[RUNS][TASKS * CASES];
    wk_paper paper;
    wk_runs runs = {0};
    wk_report_rows rows;
    wk_paper_read(&runs.memory, &paper);
    for (int i = 0; i < RUNS; i++) {
        wk_report_run *run = &all[i];
        *run = (wk_report_run){.directory = wk_report_printf(&runs.memory, "r%d", i),
                               .domain = "terrain-walker",
                               .exploration = "p2e",
                               .method = i % 2 ? "dr" : "waker-m",
                               .seed = (uint64_t)i / 2};
        for (int k = 0; k < TASKS * CASES; k++)
            results[i][k] = (wk_result){.domain = run->domain,
                                        .task = tasks[k / CASES],
                                        .set = cases[k % CASES],
                                        .policy = "adapted",
                                        .mean = k / CASES};
        run->results.items = results[i];
        run->results.count = TASKS * CASES;
        wk_report_push(&runs.memory, &runs.items, run);
    }
    double began = wk_clock_thread_seconds();
    wk_results_scores(&runs, &paper, &usual, &rows);
    double seconds = wk_clock_thread_seconds() - began;
    if (seconds > 8) fail_msg("%d runs took %g s", RUNS, seconds);
    assert_int_equal(rows.items.count, RUNS * CASES * (TASKS + 1));
    size_t means = 0;
    for (size_t i = 0; i < rows.items.count; i++)
        if (strcmp(rows.items.items[i].key.names[WK_FIELD_TASK], "all") == 0) {
            assert_near(rows.items.items[i].value, 2, 0);
            means++;
        }
    assert_int_equal(means, RUNS * CASES);
    wk_arena_reset(&runs.memory.arena);
}

TEST_CASE(parts_of_the_combined_domain_have_a_table_of_their_own)
{
    const made_score scores[] = {{"walk", "dr", "terrain-walker", 600, 500, false},
                                 {"walk", "steep", "terrain-walker", 400, 300, false}};
    add_run("both", (made_run){"combined", "waker-m", "plan2explore", 0}, scores, 2);
    open_report(&f, "both", usual);
    assert_int_equal(f.scores[WK_TABLE_CVAR].rows, 0);
    assert_int_equal(f.scores[WK_TABLE_COMBINED].rows, 3); // CVaR, average, out of distribution
    assert_near(entry_of(&f, WK_TABLE_COMBINED, 0, 0)->paper->mean, 538.5, 0);
    assert_near(entry_of(&f, WK_TABLE_COMBINED, 0, 0)->mean, 500, 0);
    wk_report_free(&f);
}

TEST_CASE(the_last_step_of_the_preferred_policy_counts)
{
    made_run run = {"terrain-walker", "dr", "plan2explore", 0};
    const made_score first[] = {{"walk", "dr", NULL, 1, 1, false}},
                     last[] = {{"walk", "dr", NULL, 2, 2, false}},
                     beside[] = {{"walk", "dr", NULL, 3, 3, false}};
    made_config("steps/run", &run);
    made_eval("steps/run", &run, "adapted", 500000, first, 1);
    made_eval("steps/run", &run, "adapted", 1000000, last, 1);
    made_eval("steps/run", &run, "alongside", 1500000, beside, 1);
    static const struct {
        wk_results_config config;
        double mean;
    } wanted[] = {{{NULL, -1}, 2}, {{NULL, 500000}, 1}, {{"alongside", -1}, 3}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        open_report(&f, "steps", wanted[i].config);
        assert_int_equal(f.scores[WK_TABLE_AVERAGE].rows, 1);
        assert_near(entry_of(&f, WK_TABLE_AVERAGE, 0, 0)->mean, wanted[i].mean, 0);
        wk_report_free(&f);
    }
}

// Parsing back.

// The numbers of a cell: "700.0 ± 10.0 (2) *".
static bool read_cell(const char *cell, double *mean, double *sd, int *seeds)
{
    char plain[256];
    size_t used = 0;
    for (const char *c = cell; *c && used + 1 < sizeof plain; c++) {
        bool number = strchr("0123456789.+-()", *c) != NULL;
        plain[used++] = number ? *c : ' ';
    }
    plain[used] = 0;
    *seeds = 0;
    return sscanf(plain, "%lf %lf (%d)", mean, sd, seeds) >= 2;
}

// Compares the cells of a line, which stand two blanks apart, with a row of the table.
static void check_line(size_t row, bool papers, char *line)
{
    int column = -4, seeds; // domain, task, exploration, of
    double mean, sd;
    for (char *cell = line, *next; cell && column < 3; cell = next, column++) {
        next = strstr(cell, "  ");
        if (next) {
            *next = 0;
            next += 1 + strspn(next + 1, " ");
        }
        if (column < 0) continue;
        const wk_table_entry *e = entry_of(&f, WK_TABLE_CVAR, row, (size_t)column);
        bool there = papers ? e->paper != NULL : e->seeds > 0;
        assert_int_equal(read_cell(cell, &mean, &sd, &seeds), there);
        if (!there) continue;
        assert_near(mean, papers ? e->paper->mean : e->mean, 0.05 + 1e-9);
        assert_near(sd, papers ? e->paper->sd : e->sd, 0.05 + 1e-9);
        if (!papers) assert_int_equal(seeds, e->seeds);
    }
    assert_int_equal(column, 3);
}

// Every line that names a row of the table is compared with it.
TEST_CASE(text_parses_back_to_the_numbers)
{
    wk_text text = {0};
    int lines[2] = {0}; // ours, the paper's
    open_report(&f, "grid", usual);
    wk_report_table_text(&f.tables[WK_TABLE_CVAR], &text);
    assert_false(text.failed);
    for (char *line = strtok(text.chars, "\n"); line; line = strtok(NULL, "\n")) {
        bool paper = strstr(line, " paper ") != NULL;
        if (!strstr(line, "terrain-walker")) continue;
        lines[paper]++;
        check_line(strstr(line, " walk ") ? 0 : 1, paper, line);
    }
    assert_int_equal(lines[0], 2);
    assert_int_equal(lines[1], 2);
    wk_text_free(&text);
    wk_report_free(&f);
}

// Cuts the next field off a line without quotes.
static char *field(char **line)
{
    char *begin = *line, *end = begin + strcspn(begin, ",");
    *line = *end ? end + 1 : end;
    *end = 0;
    return begin;
}

TEST_CASE(csv_parses_back_to_the_same_bits)
{
    open_report(&f, "grid", usual);
    wk_text csv = {0};
    wk_report_table_csv(&f.tables[WK_TABLE_CVAR], &csv);
    char *rest = csv.chars, *line = strsep(&rest, "\n");
    assert_string_equal(line,
                        "metric,domain,variant,task,exploration,curriculum,mean,sd,seeds,best,"
                        "paper_mean,paper_sd");
    for (size_t i = 0; i < f.scores[WK_TABLE_CVAR].entries.count; i++) {
        const wk_table_entry *e = entry_of(&f, WK_TABLE_CVAR, i / 3, i % 3);
        line = strsep(&rest, "\n");
        for (int k = 0; k < WK_FIELDS; k++)
            assert_string_equal(field(&line), e->key.names[k]);
        char *mean = field(&line), *sd = field(&line);
        assert_int_equal(*mean != 0, e->seeds > 0);
        assert_near(strtod(mean, NULL), e->mean, 0);
        assert_near(strtod(sd, NULL), e->sd, 0);
        assert_int_equal(strtol(field(&line), NULL, 10), e->seeds);
        assert_int_equal(strtol(field(&line), NULL, 10), e->best);
        char *paper = field(&line);
        assert_int_equal(*paper != 0, e->paper != NULL);
        if (e->paper) assert_near(strtod(paper, NULL), e->paper->mean, 0);
    }
    assert_string_equal(rest, "");
    wk_text_free(&csv);
    wk_report_free(&f);
}

TEST_CASE(names_are_escaped_in_csv)
{
    static const char *const cases[][2] = {
        {"say \"a,b\"", "\"say \"\"a,b\"\"\""},
        {"=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""},
        {"\x1b[2Ja\xc2\x9b\u202e", "?[2Ja?????"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_text csv = {0};
        wk_csv_field(&csv, cases[i][0]);
        assert_string_equal(csv.chars, cases[i][1]);
        wk_text_free(&csv);
    }
}

TEST_CASE(names_do_not_steer_terminals)
{
    wk_report_memory memory = {0};
    wk_report_table table = {.memory = &memory, .title = "t", .text.caption = "c"};
    wk_text text = {0};
    wk_cells_row(&table, WK_SEE_ALL);
    wk_cells_text(&table, WK_SEE_ALL, "\x1b[2Jhead", "\x1b[2J<b>[a](b)\nnext");
    wk_report_table_text(&table, &text);
    assert_non_null(strstr(text.chars, "?[2J<b>[a](b)?next"));
    assert_non_null(strstr(text.chars, "?[2Jhead"));
    wk_text_free(&text);
    wk_arena_reset(&memory.arena);
}

TEST_CASE(the_papers_file_is_read_whole)
{
    wk_report_memory memory = {0};
    wk_paper paper;
    wk_paper_read(&memory, &paper);
    assert_int_equal(paper.rows.count, 524);
    for (size_t i = 0; i < paper.rows.count; i++) {
        const wk_paper_row *row = &paper.rows.items[i];
        assert_ptr_equal(wk_paper_find(&paper, &row->key), row); // no key twice
        assert_true(row->mean >= 0 && row->sd >= 0);
    }
    wk_arena_reset(&memory.arena);
}

TEST_MAIN(made_setup, made_teardown)
