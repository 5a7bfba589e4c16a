// Finding and reading runs: trees of them, results of every kind, and files that are torn, foreign
// or not what they should be.
#include "base/file.h"
#include "report/made_runs.h"
#include "report/runs.h"

static const made_run walker = {"terrain-walker", "waker-m", "plan2explore", 3};
static const made_score walk[] = {{"walk", "dr", NULL, 700, 400, false},
                                  {"walk", "steep", NULL, 500, 200, false}};

static wk_runs read_one(const char *path)
{
    wk_error err = {0};
    wk_runs runs = {0};
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &runs, &err));
    return runs;
}

static void expect_refused(const char *path, wk_status status, const char *part)
{
    wk_error err = {0};
    wk_runs runs = {0};
    assert_refused(wk_runs_read(&(wk_runs_config){.paths = &path, .n_paths = 1}, &runs, &err),
                   status, part);
    wk_runs_free(&runs);
}

// Fails unless the run at `path` has exactly one problem, with all three parts.
static void expect_problem(const char *path, const char *file, const char *what)
{
    wk_runs runs = read_one(path);
    assert_int_equal(runs.problems.items.count, 1);
    const char *problem = runs.problems.items.items[0];
    if (!strstr(problem, file) || !strstr(problem, what))
        fail_msg("the problem '%s' lacks '%s' or '%s'", problem, file, what);
    wk_runs_free(&runs);
}

TEST_CASE(runs_are_found_in_a_tree_and_sorted)
{
    made_run other = walker;
    made_whole("tree/terrain-walker/waker-m/3", walker, walk, 2);
    other.rule = "dr", other.seed = 1;
    made_whole("tree/terrain-walker/dr/1", other, walk, 2);
    other.domain = "clean-up";
    made_config("tree/clean-up/dr/1", &other);
    made_file("tree/notes/readme.txt", "not a run\n");
    wk_runs runs = read_one("tree");
    assert_int_equal(runs.items.count, 3);
    assert_int_equal(runs.problems.items.count, 0);
    assert_string_equal(runs.items.items[0]->domain, "clean-up");
    assert_string_equal(runs.items.items[1]->curriculum, "dr");
    assert_string_equal(runs.items.items[2]->curriculum, "waker-m");
    assert_string_equal(runs.items.items[2]->exploration, "p2e");
    assert_int_equal(runs.items.items[2]->seed, 3);
    wk_runs_free(&runs);
}

TEST_CASE(an_evaluation_gives_the_score_that_counts)
{
    const made_score scores[] = {{"walk", "dr", NULL, 700.25, 400.125, false},
                                 {"sort", "extra-block", NULL, 0.75, 0.5, true}};
    made_whole("counts", walker, scores, 2);
    wk_runs runs = read_one("counts");
    const wk_report_run *run = runs.items.items[0];
    assert_int_equal(run->results.count, 2);
    const wk_result *walked = &run->results.items[0], *sorted = &run->results.items[1];
    assert_string_equal(walked->set, "dr");
    assert_near(walked->mean, 700.25, 0);
    assert_near(walked->worst_tenth, 400.125, 0);
    assert_string_equal(walked->policy, "adapted");
    assert_int_equal(walked->step, 500000);
    assert_string_equal(sorted->set, "extra-block");
    assert_near(sorted->mean, 0.75, 0);
    wk_runs_free(&runs);
}

TEST_CASE(parts_of_a_combined_run_are_named)
{
    made_run combined = {"combined", "dr", "plan2explore", 0};
    const made_score scores[] = {{"sort", "dr", "clean-up", 0.5, 0.25, true}};
    made_whole("combined", combined, scores, 1);
    wk_runs runs = read_one("combined");
    assert_string_equal(runs.items.items[0]->results.items[0].domain, "combined/clean-up");
    wk_runs_free(&runs);
}

TEST_CASE(model_errors_are_read_with_what_is_not_known)
{
    made_config("errors", &walker);
    made_file("errors/eval/model-error-000000500000.json",
              "{\"format\":\"waker-model-error-1\",\"domain\":\"terrain-walker\",\"curriculum\":"
              "\"waker-m\",\"exploration\":\"plan2explore\",\"seed\":3,\"step\":500000,"
              "\"measures\":[{\"policy\":\"random\",\"episodes\":2,\"mean\":0.25,\"cvar_0.1\":0.5,"
              "\"estimate_mean\":1.5,\"rank_correlation\":null,\"errors\":[0.25,0.25],"
              "\"theta\":[[0,1],[1,2]]}]}");
    wk_runs runs = read_one("errors");
    assert_int_equal(runs.problems.items.count, 0);
    assert_int_equal(runs.items.items[0]->results.count, 1);
    const wk_result *error = &runs.items.items[0]->results.items[0];
    assert_near(error->mean, 0.25, 0);
    assert_near(error->worst_tenth, 0.5, 0);
    assert_true(isnan(error->correlation));
    wk_runs_free(&runs);
}

TEST_CASE(the_log_gives_parameters_and_indicators_and_its_torn_last_line_is_skipped)
{
    made_config("log", &walker);
    made_file("log/metrics.jsonl",
              "{\"step\": 20, \"agent_step\": 10, \"train/model_loss\": 2}\n"
              "{\"step\": 40, \"agent_step\": 20, \"train_env/env_param_0\": 0.5, "
              "\"train_env/env_param_1\": null, \"train_env/env_param_-7\": 3, "
              "\"train_indicator_contact\": 0.25, "
              "\"train_env/episodes\": 3}\n"
              "{\"step\": 44, \"agent_step\": 22, \"train_indicator_distance\": 7, "
              "\"train_indicator_contact\": 0.5, \"train_env/env_param_0\": 0.5}\n"
              "{\"step\": 60, \"agent_step\": 30, \"train_env/env_par");
    wk_runs runs = read_one("log");
    const wk_report_run *run = runs.items.items[0];
    assert_int_equal(runs.problems.items.count, 0);
    static const struct {
        wk_signal_kind kind;
        const char *name;
        size_t count;
        double step, value; // of the first
    } wanted[] = {{WK_SIGNAL_PARAM, "0", 2, 20, 0.5},
                  {WK_SIGNAL_INDICATOR, "contact", 2, 20, 0.25},
                  {WK_SIGNAL_INDICATOR, "distance", 1, 22, 7}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const wk_run_signal *s =
            wk_run_find_signal(run, wanted[i].kind, wanted[i].name, strlen(wanted[i].name));
        assert_non_null(s);
        assert_int_equal(s->points.count, wanted[i].count);
        assert_near(s->points.items[0].step, wanted[i].step, 0);
        assert_near(s->points.items[0].value, wanted[i].value, 0);
    }
    assert_int_equal(wk_run_find_signal(run, WK_SIGNAL_PARAM, "1", 1)->points.count, 0); // null
    assert_int_equal(run->signals.count, 5); // none of -7
    assert_int_equal(run->last_step, 22);
    wk_runs_free(&runs);
}

// One of its three updates that are logged is as it should be.
TEST_CASE(a_run_whose_exploration_stood_still_is_remarked_on)
{
#define EXPLORING(step, norm)                                                                      \
    "{\"agent_step\": " step ", \"train/actor_grad_norm_expl\": " norm                             \
    ", \"train/value_expl\": 60}\n"
    static const char idle[] = EXPLORING("8", "0.5") EXPLORING("16", "3e-7") EXPLORING("24", "0");
    made_config("idle", &walker);
    made_file("idle/metrics.jsonl", idle);
    wk_runs runs = read_one("idle");
    assert_int_equal(runs.remarks.items.count, 1);
    assert_non_null(strstr(runs.remarks.items.items[0],
                           "the exploration policy learned nothing in 2 of 3 lines"));
    wk_runs_free(&runs);
    made_file("idle/metrics.jsonl", EXPLORING("8", "0.5") EXPLORING("16", "0.001"));
    runs = read_one("idle");
    assert_int_equal(runs.remarks.items.count, 0);
    wk_runs_free(&runs);
}

TEST_CASE(a_broken_line_of_the_log_is_named)
{
    made_config("bad-log", &walker);
    made_file("bad-log/metrics.jsonl", "{\"agent_step\": 10}\n{\"agent_step\": oops}\n{}\n");
    expect_problem("bad-log", "bad-log/metrics.jsonl", "line 2");
}

TEST_CASE(a_torn_evaluation_is_left_out_and_named)
{
    made_whole("torn", walker, walk, 2);
    made_file("torn/eval/adapted-000001000000.json", "{\"format\":\"waker-eval-1\",\"tasks\":[{");
    expect_problem("torn", "torn/eval/adapted-000001000000.json", "not JSON at byte");
    wk_runs runs = read_one("torn");
    assert_int_equal(runs.items.items[0]->results.count, 2); // those of the whole file
    wk_runs_free(&runs);
}

TEST_CASE(results_of_another_run_are_left_out)
{
    static const struct {
        made_run run;
        const char *what;
    } foreign[] = {
        {{"clean-up", "waker-m", "plan2explore", 3}, "domain 'clean-up' is not the run's"},
        {{"terrain-walker", "dr", "plan2explore", 3}, "curriculum 'dr' is not the run's"},
        {{"terrain-walker", "waker-m", "random", 3}, "exploration 'random' is not the run's"},
        {{"terrain-walker", "waker-m", "plan2explore", 4}, "seed is not the run's"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        char directory[64];
        snprintf(directory, sizeof directory, "foreign-%zu", i);
        made_config(directory, &walker);
        made_eval(directory, &foreign[i].run, "adapted", 500000, walk, 2);
        expect_problem(directory, "adapted-000000500000.json", foreign[i].what);
    }
}

TEST_CASE(files_that_are_not_evaluations_are_named)
{
    static const struct {
        const char *text, *what;
    } odd[] = {
        {"[1, 2]", "not a JSON object"},
        {"{\"format\": \"other-1\"}", "format is 'other-1'"},
        {"{\"format\": \"waker-eval-1\", }", "not JSON"},
        {"{\"format\": \"waker-eval-1\", \"tasks\": 3}", "'tasks' is not a list"},
        {"{\"format\": \"waker-eval-1\", \"step\": -3}", "no whole number"},
        {"{\"format\": \"waker-eval-1\", \"tasks\": [{\"task\": \"walk\", \"cases\": [{\"case\": "
         "\"dr\"}]}]}",
         "task 'walk', case 'dr' has no return"},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char path[64], directory[32];
        snprintf(directory, sizeof directory, "odd-%zu", i);
        snprintf(path, sizeof path, "%s/eval/adapted-000000000001.json", directory);
        made_config(directory, &walker);
        made_file(path, "%s", odd[i].text);
        expect_problem(directory, path, odd[i].what);
    }
}

TEST_CASE(directories_without_runs_are_refused)
{
    wk_error err = {0};
    assert_ok(wk_dir_create("empty/folder", &err));
    made_file("file/text", "x");
    expect_refused("empty", WK_E_NOT_FOUND, "'empty' holds no run");
    expect_refused("nowhere", WK_E_NOT_FOUND, "'nowhere' does not exist");
    expect_refused("file/text", WK_E_INPUT, "is not a directory");
}

TEST_CASE(a_configuration_of_something_else_is_left_out)
{
    made_file("hydra/a/config.yaml", "model: {layers: 3}\n");
    expect_refused("hydra", WK_E_FORMAT, "hydra/a");
    made_config("hydra/b", &walker);
    expect_problem("hydra", "hydra/a", "config.yaml");
}

TEST_CASE(a_copy_of_a_run_counts_once)
{
    made_whole("twice/one", walker, walk, 2);
    made_whole("twice/two", walker, walk, 2);
    expect_problem("twice", "'twice/two': all its settings", "twice/one");
    const char *same[] = {"twice/one", "twice/one"};
    wk_error err = {0};
    wk_runs runs = {0};
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = same, .n_paths = 2}, &runs,
                           &err)); // given twice is no problem
    assert_int_equal(runs.items.count, 1);
    assert_int_equal(runs.problems.items.count, 0);
    wk_runs_free(&runs);
}

// As a shell's * gives them.
TEST_CASE(the_list_of_a_population_is_no_run)
{
    wk_error err = {0};
    wk_runs runs = {0};
    made_whole("several/one", walker, walk, 2);
    assert_ok(wk_file_write("several/population.yaml", "runs: [one]\n", 12, &err));
    const char *all[] = {"several/one", "several/population.yaml"};
    assert_ok(wk_runs_read(&(wk_runs_config){.paths = all, .n_paths = 2}, &runs, &err));
    assert_int_equal(runs.items.count, 1);
    assert_int_equal(runs.problems.items.count, 0);
    wk_runs_free(&runs);
}

TEST_MAIN(made_setup, made_teardown)
