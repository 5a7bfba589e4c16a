// waker report as a user runs it: a grid of made-up runs with checkpoints, what is written, exit
// codes, the same bytes for any number of threads, and refusals.
#include "cli/long_runs.h"

// Two domains, two curricula, two seeds, three snapshots, with checkpoints of a little training.
static int make_runs(void **state)
{
    if (setup(state) != 0) return -1;
    shell("python3 " WAKER_SOURCE_DIR
          "/tools/synthetic_runs.py runs --seeds 2 --domains toy clean-up "
          "--curricula waker-m dr --steps 3 --lines 20 --waker " WAKER_BINARY_DIR "/waker");
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

TEST_CASE(a_report_has_a_page_tables_and_figures)
{
    program_prints("report runs --out all", "8 runs, 53 figures, written to all/index.html",
                   "Probability of improvement");
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

TEST_CASE(the_page_is_whole)
{
    unsigned long size;
    program_succeed("report runs --out whole --quiet");
    char *page = (char *)program_read("whole/index.html", &size);
    assert_non_null(page);
    expect_parts(page, "Robustness: CVaR 0.1", "Which curriculum is better", "Learning curves",
                 "What the curricula chose", "Model errors", "Missing",
                 "Nothing: every run of the grid",
                 "[0.711 ± 0.090]", // of clean-up, sort, waker-m
                 "Dashed: the paper");
    assert_null(strstr(page, "src=\"http"));
    free(page);
}

TEST_CASE(threads_and_repetition_do_not_change_a_byte)
{
    program_succeed("report runs/toy --out one --reps 3 --threads 1 > one.txt");
    program_succeed("report runs/toy --out three --reps 3 --threads 3 > three.txt");
    shell("diff -r one three");
    program_succeed("report runs/toy --out other --reps 3 --seed 5 > other.txt");
    shell("! cmp -s one/tables/iqm.csv other/tables/iqm.csv");
    shell("cmp one/tables/cvar.csv other/tables/cvar.csv");
}

TEST_CASE(json_has_the_numbers_of_the_tables)
{
    program_succeed("report runs/toy --out json --json > json.txt");
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

TEST_CASE(a_damaged_file_is_left_out_named_and_reported_by_the_exit_code)
{
    shell("cp -r runs/toy damaged && "
          "truncate -s 300 damaged/p2e-dr/1/eval/adapted-000001500000.json");
    program_result result = program_run("report damaged --out damage");
    assert_int_equal(result.code, 3);
    expect_parts(result.err, "damaged/p2e-dr/1/eval/adapted-000001500000.json");
    expect_parts(result.out, "p2e-dr/1: evaluated up to agent step 1000000, others up to 1500000");
    expect_file_parts("damage/index.html", "adapted-000001500000.json");
}

TEST_CASE(a_damaged_checkpoint_costs_its_map_only)
{
    shell("cp -r runs/toy torn && for f in torn/p2e-dr/*/checkpoints/*/run.bin; do truncate -s 100 "
          "$f; "
          "done");
    program_succeed("report torn --out maps");
    expect_files("maps/figures/map-*.svg", 2);
}

TEST_CASE(an_incomplete_grid_is_reported)
{
    shell("cp -r runs/toy gaps && rm -r gaps/p2e-dr/1 gaps/p2e-waker-m/0/eval");
    program_prints("report gaps --out gap", "toy, p2e, dr: no run with seed 1",
                   "gaps/p2e-waker-m/0: no evaluation of a task policy");
}

TEST_CASE(a_run_of_an_unknown_domain_is_reported_without_a_map)
{
    shell("cp -r runs/toy mars && sed -i 's/domain: toy/domain: mars/' mars/*/*/config.yaml && "
          "sed -i 's/\"domain\": \"toy\"/\"domain\": \"mars\"/' mars/*/*/eval/*.json");
    program_prints("report mars --out red", "mars    west  p2e",
                   "p2e-dr/0: no map of its curriculum: ");
}

TEST_CASE(runs_that_were_never_evaluated_make_a_report_too)
{
    shell("cp -r runs/toy bare && rm -r bare/*/*/eval");
    // Tables of an earlier report in the same place are not taken for those of this one.
    program_succeed("report runs/toy --out nothing --reps 20 --quiet");
    expect_files("nothing/tables/scores.csv", 1);
    program_succeed("report bare --out nothing");
    expect_file_parts("nothing/index.html", "No run has results of a task policy yet");
    expect_files("nothing/tables/*", 2); // the list of runs
}

TEST_CASE(images_of_an_earlier_report_are_deleted_and_no_others)
{
    program_succeed("report runs --out again --reps 2 --quiet");
    shell("test -e again/pictures/environments-clean-up.png && touch again/figures/mine.svg");
    program_succeed("report runs/toy --out again --reps 2 --quiet");
    program_succeed("report runs/toy --out once --reps 2 --quiet");
    shell("rm again/figures/mine.svg && diff -r again once");
    // A list of someone else's making deletes nothing outside of its folder.
    shell("touch spare && echo ../../spare >> again/figures/files.txt");
    program_refuses("report runs/toy --out again", "../../spare");
    shell("test -e spare");
}

// A path nearly as long as the system takes, with room for the names below it.
TEST_CASE(a_long_path_is_a_place_for_a_report)
{
    shell("long=$(printf '%%0100d/' $(seq 35)) && " WAKER_BINARY_DIR
          "/waker report runs/toy --out $long --reps 2 > /dev/null && test -e $long/index.html");
    program_expect_error(program_run("report runs/toy --out $(printf '%%0100d/' $(seq 50))"), 2,
                         "is too long");
}

// An ablation: one run of each seed with another horizon.
TEST_CASE(other_settings_are_other_columns_and_are_told)
{
    shell("cp -r runs/toy ablation && cp -r runs/toy/p2e-dr ablation/long && "
          "sed -i 's/^horizon: .*/horizon: 3/' ablation/long/*/config.yaml");
    program_result result = program_succeed("report ablation --out columns");
    expect_parts(result.out, "dr, horizon 2", "dr, horizon 3",
                 "Remarks\n  toy, p2e: horizon differs: ");
    shell("grep -q 'horizon differs' columns/index.html");
    shell("grep -q '^[^,]*,\"dr, horizon 3\",' columns/tables/runs.csv");
    result =
        program_succeed("report \"$(printf '=1+1\\033[31m')\"=ablation/long runs/toy --out labels");
    assert_null(strchr(result.out, '\x1b'));
    shell("grep -q \"'=1+1\" labels/tables/cvar.csv"); // no formula
    result =
        program_succeed("report \"$(printf 'dr\\342\\200\\256x')\"=ablation/long --out turned");
    expect_parts(result.out, "dr???x");
    shell("grep -q 'dr\ufffdx' turned/index.html && "
          "! grep -r \"$(printf '\\342\\200\\256')\" turned --include='*.[hcjmst]*'");
    result =
        program_run("report \"$(printf 'dr\\342\\200\\256x')\"=ablation/long --out turned --json");
    program_expect_json(result.out);
    expect_parts(result.out, "dr\\u202ex");
    result = program_succeed("report $(printf 'long%%0120d' 0)=ablation/long runs/toy --out named");
}

TEST_CASE(open_loop_strips_are_shown_and_broken_ones_named)
{
    shell("cp -r runs/toy strips && cp all/pictures/environments-toy.png "
          "strips/p2e-dr/0/eval/openloop-000000000300-random.png && "
          "echo no image > strips/p2e-waker-m/0/eval/openloop-000000000300-random.png");
    program_result result = program_succeed("report strips --out imagined");
    expect_files("imagined/pictures/imagined-toy-p2e-dr.png", 1);
    expect_files("imagined/pictures/imagined-*", 1);
    shell("grep -q 'What was imagined' imagined/index.html");
    expect_parts(result.out, "openloop-000000000300-random.png' is not a PNG image");
}

TEST_CASE(long_reports_have_a_live_line)
{
    shell("TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' " //
          WAKER_BINARY_DIR "/waker report runs/toy --out live --reps 2000000 > line.txt");
    shell("grep -q ' tables .* tables/s .* left' line.txt");
    shell("grep -q ' figures .* figures/s .* left' line.txt");
    program_result r = program_run("report runs/toy --out live --reps 2"); // short, to a pipe
    program_expect_success(r);
    assert_string_equal(r.err, "");
}

TEST_CASE(what_is_not_there_is_refused)
{
    shell("mkdir empty");
    program_refuses("report runs", "--out DIR is required");
    program_refuses("report empty --out x", "'empty' holds no run");
    program_refuses("report nowhere --out x", "'nowhere' does not exist");
    program_refuses("report --out x", "missing argument");
    program_refuses("report runs --out x --policy adaptd", "adapted");
    program_refuses("report runs --out x --reps 1", "reps");
    shell("touch file");
    program_expect_error(program_run("report runs --out file"), 1, "file");
}

TEST_MAIN(make_runs, teardown)
