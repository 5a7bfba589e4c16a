// waker report as a user runs it: a grid of made-up runs with checkpoints, what is written, exit
// codes, the same bytes for any number of threads, and refusals.
#include "report/made_runs.h"
#include "support/program.h"
#include <glob.h>

static char home[] = "report-XXXXXX", place[400]; // a folder of our own; where programs run in it

static void shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void shell(const char *format, ...)
{
    char command[1024];
    int used = snprintf(command, sizeof command, "cd %s && ", place);
    va_list args;
    va_start(args, format);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

// Two domains, two curricula, two seeds, three snapshots, with checkpoints of a little training.
static int setup(void **state)
{
    glob_t found;
    if (!mkdtemp(home) || chdir(home) != 0 || program_setup(state) != 0) return -1;
    if (glob("program-*", 0, NULL, &found) != 0) return -1;
    snprintf(place, sizeof place, "%s", found.gl_pathv[0]);
    globfree(&found);
    shell("python3 " WAKER_SOURCE_DIR
          "/tools/synthetic_runs.py runs --seeds 2 --domains toy clean-up "
          "--curricula waker-m dr --steps 3 --lines 20 --waker " WAKER_BINARY_DIR "/waker");
    return 0;
}

static int teardown(void **state)
{
    program_teardown(state);
    if (chdir("..") != 0) return -1;
    remove_tree(home);
    return 0;
}

static void expect_files(const char *pattern, size_t count)
{
    char path[1024];
    glob_t found;
    snprintf(path, sizeof path, "%s/%s", place, pattern);
    size_t n = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    if (n != count) fail_msg("%zu files %s, not %zu", n, pattern, count);
    if (n) globfree(&found);
}

static void a_report_has_a_page_tables_and_figures(void **state)
{
    program_result result = program_run("report runs --out all");
    program_expect_success(result);
    assert_non_null(strstr(result.out, "8 runs, 53 figures, written to all/index.html"));
    assert_non_null(strstr(result.out, "Probability of improvement"));
    expect_files("all/index.html", 1);
    expect_files("all/tables/*.csv", 9); // no combined runs, so no such table
    expect_files("all/tables/*.txt", 8);
    expect_files("all/figures/*.svg", 53);
    expect_files("all/figures/*.png", 53);
    expect_files("all/figures/improvement-*.svg", 3);
    expect_files("all/figures/curve-*.svg", 15); // (3 + 2 tasks) x (CVaR, average, one case)
    shell("grep -q dasharray all/figures/curve-average-clean-up-sort-p2e.svg"); // the paper's
    shell("! grep -q dasharray all/figures/curve-average-toy-*.svg");           // which has no toy
    expect_files("all/figures/map-*.svg", 8);    // 2 domains x 2 curricula x (episodes, error)
    expect_files("all/figures/chosen-*.svg", 4); // 3 parameters of clean-up, 1 of toy
    expect_files("all/figures/collected-*-distance.svg", 2); // an indicator of both
    expect_files("all/figures/model-error-*.svg", 12); // 2 domains x 2 policies x 3 statistics
    expect_files("all/figures/estimate-*.svg", 4);
    expect_files("all/figures/promised-*.svg", 5); // 3 + 2 tasks
    expect_files("all/pictures/environments-*.png", 2);
    shell("test -z \"$(grep -ho '<title>[^<]*' all/figures/*.svg | sort | uniq -d)\""); // titles
    shell("grep -q '<title>WAKER: results, clean-up, toy</title>' all/index.html");
    // One line for every run's score: 8 runs x 3 steps x (2.5 tasks) x (CVaR, average, one case).
    shell("test $(wc -l < all/tables/scores.csv) = 181");
    shell("test $(grep -c ',1,runs' all/tables/scores.csv) = 60");
}

static void the_page_is_whole(void **state)
{
    unsigned long size;
    program_expect_success(program_run("report runs --out whole --quiet"));
    char *page = (char *)program_read("whole/index.html", &size);
    assert_non_null(page);
    static const char *const parts[] = {
        "Robustness: CVaR 0.1",
        "Which curriculum is better",
        "Learning curves",
        "What the curricula chose",
        "Model errors",
        "Missing",
        "Nothing: every run of the grid",
        "[0.711 ± 0.090]", // of clean-up, sort, waker-m
        "Dashed: the paper",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(page, parts[i])) fail_msg("the page lacks '%s'", parts[i]);
    assert_null(strstr(page, "src=\"http"));
    free(page);
}

static void threads_and_repetition_do_not_change_a_byte(void **state)
{
    program_expect_success(program_run("report runs/toy --out one --reps 3 --threads 1 > one.txt"));
    program_expect_success(
        program_run("report runs/toy --out three --reps 3 --threads 3 > three.txt"));
    shell("diff -r one three");
    program_expect_success(
        program_run("report runs/toy --out other --reps 3 --seed 5 > other.txt"));
    shell("! cmp -s one/tables/iqm.csv other/tables/iqm.csv");
    shell("cmp one/tables/cvar.csv other/tables/cvar.csv");
}

static void json_has_the_numbers_of_the_tables(void **state)
{
    program_result result = program_run("report runs/toy --out json --json > json.txt");
    program_expect_success(result);
    // Every row of the CSV is in the JSON with the same number.
    shell("python3 -c 'import csv, json\n"
          "scores = json.load(open(\"json.txt\"))[\"scores\"]\n"
          "found = {(s[\"metric\"], s[\"variant\"], s[\"task\"], s[\"curriculum\"]): s[\"mean\"] "
          "for s in "
          "scores}\n"
          "rows = [r for t in (\"cvar\", \"average\", \"ood\", \"ood-tasks\") for r in "
          "csv.DictReader(open(f\"json/tables/{t}.csv\"))]\n"
          "assert len(rows) == len(found) == 14\n"
          "for r in rows: assert found[r[\"metric\"], r[\"variant\"], r[\"task\"], "
          "r[\"curriculum\"]] == "
          "float(r[\"mean\"])'");
}

static void a_damaged_file_is_left_out_named_and_reported_by_the_exit_code(void **state)
{
    shell("cp -r runs/toy damaged && "
          "truncate -s 300 damaged/p2e-dr/1/eval/adapted-000001500000.json");
    program_result result = program_run("report damaged --out damage");
    assert_int_equal(result.code, 3);
    assert_non_null(strstr(result.err, "damaged/p2e-dr/1/eval/adapted-000001500000.json"));
    assert_non_null(
        strstr(result.out, "p2e-dr/1: evaluated up to agent step 1000000, others up to 1500000"));
    unsigned long size;
    char *page = (char *)program_read("damage/index.html", &size);
    assert_non_null(strstr(page, "adapted-000001500000.json"));
    free(page);
}

static void a_damaged_checkpoint_costs_its_map_only(void **state)
{
    shell("cp -r runs/toy torn && for f in torn/p2e-dr/*/checkpoints/*/run.bin; do truncate -s 100 "
          "$f; "
          "done");
    program_result result = program_run("report torn --out maps");
    program_expect_success(result);
    expect_files("maps/figures/map-*.svg", 2);
}

static void an_incomplete_grid_is_reported(void **state)
{
    shell("cp -r runs/toy gaps && rm -r gaps/p2e-dr/1 gaps/p2e-waker-m/0/eval");
    program_result result = program_run("report gaps --out gap");
    program_expect_success(result);
    assert_non_null(strstr(result.out, "toy, p2e, dr: no run with seed 1"));
    assert_non_null(strstr(result.out, "gaps/p2e-waker-m/0: no evaluation of a task policy"));
}

static void a_run_of_an_unknown_domain_is_reported_without_a_map(void **state)
{
    shell("cp -r runs/toy mars && sed -i 's/domain: toy/domain: mars/' mars/*/*/config.yaml && "
          "sed -i 's/\"domain\": \"toy\"/\"domain\": \"mars\"/' mars/*/*/eval/*.json");
    program_result result = program_run("report mars --out red");
    program_expect_success(result);
    assert_non_null(strstr(result.out, "mars    west  p2e"));
    assert_non_null(strstr(result.out, "p2e-dr/0: no map of its curriculum: "));
}

static void runs_that_were_never_evaluated_make_a_report_too(void **state)
{
    shell("cp -r runs/toy bare && rm -r bare/*/*/eval");
    // Tables of an earlier report in the same place are not taken for those of this one.
    program_expect_success(program_run("report runs/toy --out nothing --reps 20 --quiet"));
    expect_files("nothing/tables/scores.csv", 1);
    program_result result = program_run("report bare --out nothing");
    program_expect_success(result);
    unsigned long size;
    char *page = (char *)program_read("nothing/index.html", &size);
    assert_non_null(strstr(page, "No run has results of a task policy yet"));
    free(page);
    expect_files("nothing/tables/*", 2); // the list of runs
}

static void images_of_an_earlier_report_are_deleted_and_no_others(void **state)
{
    program_expect_success(program_run("report runs --out again --reps 2 --quiet"));
    shell("test -e again/pictures/environments-clean-up.png && touch again/figures/mine.svg");
    program_expect_success(program_run("report runs/toy --out again --reps 2 --quiet"));
    program_expect_success(program_run("report runs/toy --out once --reps 2 --quiet"));
    shell("rm again/figures/mine.svg && diff -r again once");
    // A list of someone else's making deletes nothing outside of its folder.
    shell("touch spare && echo ../../spare >> again/figures/files.txt");
    program_expect_error(program_run("report runs/toy --out again"), 2, "../../spare");
    shell("test -e spare");
}

// A path nearly as long as the system takes, with room for the names below it.
static void a_long_path_is_a_place_for_a_report(void **state)
{
    shell("long=$(printf '%%0100d/' $(seq 35)) && " WAKER_BINARY_DIR
          "/waker report runs/toy --out $long --reps 2 > /dev/null && test -e $long/index.html");
    program_expect_error(program_run("report runs/toy --out $(printf '%%0100d/' $(seq 50))"), 2,
                         "is too long");
}

// An ablation: one run of each seed with another horizon.
static void other_settings_are_other_columns_and_are_told(void **state)
{
    shell("cp -r runs/toy ablation && cp -r runs/toy/p2e-dr ablation/long && "
          "sed -i 's/^horizon: .*/horizon: 3/' ablation/long/*/config.yaml");
    program_result result = program_run("report ablation --out columns");
    program_expect_success(result);
    assert_non_null(strstr(result.out, "dr, horizon 2"));
    assert_non_null(strstr(result.out, "dr, horizon 3"));
    assert_non_null(strstr(result.out, "Remarks\n  toy, p2e: horizon differs: "));
    shell("grep -q 'horizon differs' columns/index.html");
    shell("grep -q '^[^,]*,\"dr, horizon 3\",' columns/tables/runs.csv");
    result =
        program_run("report \"$(printf '=1+1\\033[31m')\"=ablation/long runs/toy --out labels");
    program_expect_success(result);
    assert_null(strchr(result.out, '\x1b'));
    shell("grep -q \"'=1+1\" labels/tables/cvar.csv"); // no formula
    result = program_run("report \"$(printf 'dr\\342\\200\\256x')\"=ablation/long --out turned");
    program_expect_success(result);
    assert_non_null(strstr(result.out, "dr???x"));
    shell("grep -q 'dr\ufffdx' turned/index.html && "
          "! grep -r \"$(printf '\\342\\200\\256')\" turned --include='*.[hcjmst]*'");
    result =
        program_run("report \"$(printf 'dr\\342\\200\\256x')\"=ablation/long --out turned --json");
    program_expect_json(result.out);
    assert_non_null(strstr(result.out, "dr\\u202ex"));
    result = program_run("report $(printf 'long%%0120d' 0)=ablation/long runs/toy --out named");
    program_expect_success(result);
}

static void open_loop_strips_are_shown_and_broken_ones_named(void **state)
{
    shell("cp -r runs/toy strips && cp all/pictures/environments-toy.png "
          "strips/p2e-dr/0/eval/openloop-000000000300-random.png && "
          "echo no image > strips/p2e-waker-m/0/eval/openloop-000000000300-random.png");
    program_result result = program_run("report strips --out imagined");
    program_expect_success(result);
    expect_files("imagined/pictures/imagined-toy-p2e-dr.png", 1);
    expect_files("imagined/pictures/imagined-*", 1);
    shell("grep -q 'What was imagined' imagined/index.html");
    assert_non_null(strstr(result.out, "openloop-000000000300-random.png' is not a PNG image"));
}

static void long_reports_have_a_live_line(void **state)
{
    shell("TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' " //
          WAKER_BINARY_DIR "/waker report runs/toy --out live --reps 2000000 > line.txt");
    shell("grep -q ' tables .* tables/s .* left' line.txt");
    shell("grep -q ' figures .* figures/s .* left' line.txt");
    program_result r = program_run("report runs/toy --out live --reps 2"); // short, to a pipe
    program_expect_success(r);
    assert_string_equal(r.err, "");
}

static void what_is_not_there_is_refused(void **state)
{
    shell("mkdir empty");
    program_expect_error(program_run("report runs"), 2, "--out DIR is required");
    program_expect_error(program_run("report empty --out x"), 2, "'empty' holds no run");
    program_expect_error(program_run("report nowhere --out x"), 2, "'nowhere' does not exist");
    program_expect_error(program_run("report --out x"), 2, "missing argument");
    program_expect_error(program_run("report runs --out x --policy adaptd"), 2, "adapted");
    program_expect_error(program_run("report runs --out x --reps 1"), 2, "reps");
    shell("touch file");
    program_expect_error(program_run("report runs --out file"), 1, "file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_has_a_page_tables_and_figures),
        cmocka_unit_test(the_page_is_whole),
        cmocka_unit_test(threads_and_repetition_do_not_change_a_byte),
        cmocka_unit_test(json_has_the_numbers_of_the_tables),
        cmocka_unit_test(a_damaged_file_is_left_out_named_and_reported_by_the_exit_code),
        cmocka_unit_test(a_damaged_checkpoint_costs_its_map_only),
        cmocka_unit_test(an_incomplete_grid_is_reported),
        cmocka_unit_test(a_run_of_an_unknown_domain_is_reported_without_a_map),
        cmocka_unit_test(runs_that_were_never_evaluated_make_a_report_too),
        cmocka_unit_test(images_of_an_earlier_report_are_deleted_and_no_others),
        cmocka_unit_test(a_long_path_is_a_place_for_a_report),
        cmocka_unit_test(other_settings_are_other_columns_and_are_told),
        cmocka_unit_test(open_loop_strips_are_shown_and_broken_ones_named),
        cmocka_unit_test(long_reports_have_a_live_line),
        cmocka_unit_test(what_is_not_there_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
