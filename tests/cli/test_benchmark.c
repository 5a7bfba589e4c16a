// A frozen set of environments from a user's side: made, played, read by the report and by the
// lines of Python that docs/evaluation.md shows.
#include "cli/long_runs.h"
#include "support/python.h"

#define OPTIONS QUIET_OPTIONS " --tasks all"
#define RESULT "benchmark/own-v1-alongside-000000000402-west.json"

static int setup_runs(void **state)
{
    if (setup(state) != 0) return -1;
    program_succeed("train --logdir runs/a " OPTIONS);
    program_succeed("train --logdir runs/b " OPTIONS " --curriculum.rule ge");
    program_succeed("envs set toy --count 30 --seed 3 --out own.set");
    return 0;
}

TEST_CASE(a_set_is_the_same_whenever_it_is_made)
{
    program_prints("envs set toy --count 30 --seed 3 --out again.set",
                   "30 environments of toy in distribution, 30 out of it, SHA-256 ");
    shell("cmp own.set again.set && tail -1 own.set | grep -q '^sha256 '");
    shell("test $(head -n -1 own.set | sha256sum | cut -d' ' -f1) = "
          "$(tail -1 own.set | cut -d' ' -f2)");
    program_refuses("envs set --out x.set", "a domain is required");
    program_refuses("envs set toy", "--out FILE");
    program_refuses("envs set toy --name A --out x.set", "is not a valid name of a set");
    program_refuses("envs set dmc-walker --out x.set", "has no worlds beyond");
}

TEST_CASE(the_file_says_everything)
{
    program_prints("eval runs/a --set own.set", "own-v1/out", "written to runs/a/" RESULT);
    char *text = (char *)program_read("runs/a/" RESULT, NULL);
    assert_non_null(text);
    program_expect_json(text);
    expect_parts(text, "\"format\": \"waker-benchmark-1\"", "\"program\": \"waker ",
                 "\"weights_sha256\": \"", "\"name\": \"own-v1\"", "\"seed\": 3",
                 "\"task\": \"west\"", "\"score\": \"return\"", "\"part\": \"out\"",
                 "\"options\": {", "\"alpha\": [");
    free(text);
    shell("grep -q $(sha256sum runs/a/snapshots/step-000000000402.safetensors | cut -d' ' -f1) "
          "runs/a/" RESULT);
    shell("grep -q $(sha256sum own.set | cut -d' ' -f1) runs/a/" RESULT);
    // The same bytes on other threads; elsewhere with --out; nothing in RUN/eval.
    program_succeed("eval runs/a --set own.set --task west --threads 1 --out else --quiet");
    shell("cmp runs/a/" RESULT " else/" RESULT " && ! test -e runs/a/eval/alongside*");
    program_succeed("eval runs/b --set own.set --quiet");
    program_succeed("eval runs/b --set own.set --policy random --quiet");
    shell("! grep -q weights_sha256 runs/b/benchmark/own-v1-random-000000000000-west.json");
}

TEST_CASE(what_does_not_fit_is_refused)
{
    program_refuses("eval runs/a --set own.set --envs 5", "leave out --cases");
    program_refuses("eval runs/a --set own.set --seed 5", "leave out --cases");
    program_refuses("eval runs/a --set none", "there is robust-v1");
    shell("sed 's/^in 30/in 29/' own.set > bad.set");
    program_refuses("eval runs/a --set bad.set", "was changed");
}

TEST_CASE(the_report_has_the_curves)
{
    program_succeed("report runs/a runs/b --out page --reps 50");
    shell("test -s page/figures/robust-own-v1-in-toy-west-p2e.svg && "
          "test -s page/figures/robust-own-v1-out-toy-east-p2e.svg && "
          "grep -q 'The worst cases of frozen sets' page/index.html");
    // What the models imagine along the policies' episodes, from evaluations by cases.
    program_result r = program_succeed("eval runs/a --envs 3 --cases dr --quiet");
    expect_parts(r.out, "open-loop reward");
    program_succeed("report runs/a --out page3 --reps 50");
    shell("test -s page3/figures/imagined-image-toy-west-p2e.svg && "
          "test -s page3/figures/imagined-reward-toy-east-p2e.svg");
    // A damaged file is left out and named.
    shell("cp -r runs/a broken && sed -i 's/\"low\"/\"lower\"/' broken/" RESULT);
    r = program_run("report broken --out page2 --reps 50");
    assert_int_equal(r.code, 3);
    expect_parts(r.out, "numbers, but '");
}

// The lines of the page, as they stand there.
TEST_CASE(python_reads_it_in_five_lines)
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
TEST_CASE(results_do_not_go_through_links)
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
        program_refuses(cases[i].command, "is a symbolic link");
        shell("test -z \"$(ls -A thesis)\"");
    }
}

TEST_MAIN(setup_runs, teardown)
