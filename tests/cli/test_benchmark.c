// A frozen set of environments from a user's side: made, played, read by the report and by the
// lines of Python that docs/evaluation.md shows.
#include "cli/long_runs.h"
#include "support/python.h"

#define OPTIONS TINY_OPTIONS " --log.tensorboard false --quiet --tasks all"
#define RESULT "benchmark/own-v1-alongside-000000000402-west.json"

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --logdir runs/a " OPTIONS));
    program_expect_success(program_run("train --logdir runs/b " OPTIONS " --curriculum.rule ge"));
    program_expect_success(program_run("envs set toy --count 30 --seed 3 --out own.set"));
    return 0;
}

static void a_set_is_the_same_whenever_it_is_made(void **state)
{
    program_result r = program_run("envs set toy --count 30 --seed 3 --out again.set");
    program_expect_success(r);
    assert_non_null(
        strstr(r.out, "30 environments of toy in distribution, 30 out of it, SHA-256 "));
    shell("cmp own.set again.set && tail -1 own.set | grep -q '^sha256 '");
    shell("test $(head -n -1 own.set | sha256sum | cut -d' ' -f1) = "
          "$(tail -1 own.set | cut -d' ' -f2)");
    program_expect_error(program_run("envs set --out x.set"), 2, "a domain is required");
    program_expect_error(program_run("envs set toy"), 2, "--out FILE");
    program_expect_error(program_run("envs set toy --name A --out x.set"), 2,
                         "is not a valid name of a set");
    program_expect_error(program_run("envs set dmc-walker --out x.set"), 2, "has no worlds beyond");
}

static void the_file_says_everything(void **state)
{
    program_result r = program_run("eval runs/a --set own.set");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "own-v1/out"));
    assert_non_null(strstr(r.out, "written to runs/a/" RESULT));
    char *text = (char *)program_read("runs/a/" RESULT, NULL);
    assert_non_null(text);
    program_expect_json(text);
    static const char *const members[] = {"\"format\": \"waker-benchmark-1\"",
                                          "\"program\": \"waker ",
                                          "\"weights_sha256\": \"",
                                          "\"name\": \"own-v1\"",
                                          "\"seed\": 3",
                                          "\"task\": \"west\"",
                                          "\"score\": \"return\"",
                                          "\"part\": \"out\"",
                                          "\"options\": {",
                                          "\"alpha\": ["};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (!strstr(text, members[i])) fail_msg("the file lacks %s", members[i]);
    free(text);
    shell("grep -q $(sha256sum runs/a/snapshots/step-000000000402.safetensors | cut -d' ' -f1) "
          "runs/a/" RESULT);
    shell("grep -q $(sha256sum own.set | cut -d' ' -f1) runs/a/" RESULT);
    // The same bytes on other threads; elsewhere with --out; nothing in RUN/eval.
    program_expect_success(
        program_run("eval runs/a --set own.set --task west --threads 1 --out else --quiet"));
    shell("cmp runs/a/" RESULT " else/" RESULT " && ! test -e runs/a/eval/alongside*");
    program_expect_success(program_run("eval runs/b --set own.set --quiet"));
    program_expect_success(program_run("eval runs/b --set own.set --policy random --quiet"));
    shell("! grep -q weights_sha256 runs/b/benchmark/own-v1-random-000000000000-west.json");
}

static void what_does_not_fit_is_refused(void **state)
{
    program_expect_error(program_run("eval runs/a --set own.set --envs 5"), 2, "leave out --cases");
    program_expect_error(program_run("eval runs/a --set own.set --seed 5"), 2, "leave out --cases");
    program_expect_error(program_run("eval runs/a --set none"), 2, "there is robust-v1");
    shell("sed 's/^in 30/in 29/' own.set > bad.set");
    program_expect_error(program_run("eval runs/a --set bad.set"), 2, "was changed");
}

static void the_report_has_the_curves(void **state)
{
    program_expect_success(program_run("report runs/a runs/b --out page --reps 50"));
    shell("test -s page/figures/robust-own-v1-in-toy-west-p2e.svg && "
          "test -s page/figures/robust-own-v1-out-toy-east-p2e.svg && "
          "grep -q 'The worst cases of frozen sets' page/index.html");
    // What the models imagine along the policies' episodes, from evaluations by cases.
    program_result r = program_run("eval runs/a --envs 3 --cases dr --quiet");
    program_expect_success(r);
    assert_non_null(strstr(r.out, "open-loop reward"));
    program_expect_success(program_run("report runs/a --out page3 --reps 50"));
    shell("test -s page3/figures/imagined-image-toy-west-p2e.svg && "
          "test -s page3/figures/imagined-reward-toy-east-p2e.svg");
    // A damaged file is left out and named.
    shell("cp -r runs/a broken && sed -i 's/\"low\"/\"lower\"/' broken/" RESULT);
    r = program_run("report broken --out page2 --reps 50");
    assert_int_equal(r.code, 3);
    assert_non_null(strstr(r.out, "numbers, but '"));
}

// The lines of the page, as they stand there.
static void python_reads_it_in_five_lines(void **state)
{
    shell("sed -n '/^    import glob/,/print(/p' " WAKER_SOURCE_DIR "/docs/evaluation.md | "
          "cut -c5- | sed 's/robust-v1/own-v1/' > read.py && test $(wc -l < read.py) = 5");
    char command[1024];
    snprintf(command, sizeof command, "cd %s && %s read.py > read.out", place, python_with("json"));
    assert_int_equal(system(command), 0);
    // Two runs, two tasks and two parts of each, and random actions for both tasks in one.
    shell("test $(wc -l < read.out) = 12 && grep -q 'west.json out [0-9.]* [0-9.]*$' read.out");
}

// Folders for results may be no links: what they lead to belongs to others.
static void results_do_not_go_through_links(void **state)
{
    static const struct {
        const char *before, *command;
    } cases[] = {
        {"rm -rf c/benchmark && ln -s ../thesis c/benchmark", "eval c --set own.set"},
        {"rm -rf c/eval && ln -s ../thesis c/eval", "eval c --envs 1 --cases dr"},
        {"mkdir page && ln -s ../thesis page/tables", "report c --out page"},
        {"mkdir page && ln -s ../thesis page/figures", "report c --out page"},
        {"mkdir page && ln -s ../thesis page/pictures", "report c --out page"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shell("rm -rf c thesis page && cp -r runs/a c && mkdir thesis && %s", cases[i].before);
        program_expect_error(program_run("%s", cases[i].command), 2, "is a symbolic link");
        shell("test -z \"$(ls -A thesis)\"");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_the_same_whenever_it_is_made),
        cmocka_unit_test(the_file_says_everything),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(the_report_has_the_curves),
        cmocka_unit_test(python_reads_it_in_five_lines),
        cmocka_unit_test(results_do_not_go_through_links),
    };
    return cmocka_run_group_tests(tests, setup_runs, teardown);
}
