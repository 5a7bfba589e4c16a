// Sweeps on Slurm without one: the program and its batch scripts run with stubs in place of sbatch,
// squeue, scontrol, scancel and srun, which write down how they were called.
#include "cli/long_runs.h"

// Stubs: `queue` is what squeue prints, `codes` what the next runs end with (all others with 0),
// one line each; `calls` gets scontrol's and scancel's words. srun starts no run: it notes the
// attempt that a failing run would have noted.
static const char stubs[] =
    "mkdir -p bin && cd bin\n"
    "cat >sbatch <<'END'\n#!/bin/bash\n[ ! -e fail ] || { echo 'no controller' >&2; exit 1; }\n"
    "cp \"$2\" \"script.$(basename \"$2\")\"\n"
    "[ $# -lt 3 ] || echo \"sbatch ${*:3}\" >>calls\n"
    "expr $(cat jobs 2>/dev/null || echo 99) + 1 >jobs && echo \"$(cat jobs);cluster\"\nEND\n"
    "cat >squeue <<'END'\n#!/bin/sh\ncat queue 2>/dev/null || true\nEND\n"
    "cat >scontrol <<'END'\n#!/bin/sh\necho \"scontrol $*\" >>calls\nEND\n"
    "cat >scancel <<'END'\n#!/bin/sh\necho \"scancel $*\" >>calls\nEND\n"
    "cat >srun <<'END'\n#!/bin/bash\n"
    "echo \"srun $1 ${*:3}\" >>calls\n"
    "code=$(head -1 codes) && sed -i 1d codes\n"
    "task=$5/sweep/tasks/$6\n"
    "[ ! -e attempt ] || { mkdir -p $task && cp attempt $task/attempt.json; }\n"
    "[ \"$code\" != cancel ] || { touch $5/sweep/slurm/cancelled; code=75; }\n"
    "[ \"$code\" != kill ] || { kill -TERM $PPID; code=1; }\n"
    "exit ${code:-0}\nEND\n"
    "cat >sweep-id <<'END'\nsed -n 's/.*--job-name=waker-//p' script.1.sbatch | cut -d- -f1\nEND\n"
    "chmod +x sbatch squeue scontrol scancel srun\n";

static int set_up(void **state)
{
    char path[4096];
    FILE *file;
    if (setup(state) != 0) return -1;
    file = fopen(inside("stubs", path), "w");
    if (!file || fputs(stubs, file) < 0 || fclose(file) != 0) return -1;
    shell("sh stubs && cat >grid.yaml <<'END'\n"
          "blocks: {domain: toy, curriculum: [waker-m, dr]}\n"
          "keys: {seed: 0..2, units: [4, 8], steps: 900}\nreport: ''\nEND");
    char *here = realpath(place, NULL);
    snprintf(path, sizeof path, "%s/bin:%s", here, getenv("PATH"));
    free(here);
    return setenv("PATH", path, 1);
}

// Begins anew, with nothing queued.
static int clean(void **state)
{
    shell("rm -rf runs queue calls codes attempt jobs fail script.* && touch codes calls");
    return 0;
}

static program_result submit(const char *options)
{
    program_result r =
        program_run("sweep grid.yaml --logdir runs --launch slurm --rate 9 %s", options);
    program_expect_success(r);
    return r;
}

#define expect_in(name, part) shell("grep -qF -e %s %s || { cat %s; false; }", part, name, name)

// Runs array task `index` of the first submission as Slurm does; its exit code.
static int run_task(int index, const char *variables)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && : >calls && SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=%d %s "
             "bash script.1.sbatch >said 2>&1",
             place, index, variables);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_calls(const char *expected)
{
    char *calls = (char *)program_read("calls", NULL), *said = (char *)program_read("said", NULL);
    if (strcmp(calls, expected) != 0) fail_msg("%s instead of %s; %s", calls, expected, said);
    free(calls);
    free(said);
}

static void a_shape_is_an_array_and_options_pass_through(void **state)
{
    static const char *const lines[] = {"'#SBATCH --array=0-5%7'",
                                        "'#SBATCH --partition=gpu'",
                                        "'#SBATCH --time=4:00:00'",
                                        "'#SBATCH --account=lab'",
                                        "'#SBATCH --mail-type=FAIL'",
                                        "'#SBATCH --mail-user=me@example.org'",
                                        "'#SBATCH --mem=16G'",
                                        "'#SBATCH --gres=gpu:2'",
                                        "'#SBATCH --cpus-per-task=8'",
                                        "'#SBATCH --signal=USR1@90'",
                                        "'#SBATCH --requeue'",
                                        "'#SBATCH --open-mode=append'",
                                        "\"$PWD/runs/sweep/slurm/logs/2-%a.log\\\"\"",
                                        "'#SBATCH --constraint=a100 --nice'"};
    program_result r =
        submit("--partition gpu --time 4:00:00 --account lab --mail me@example.org --mem 16G "
               "--gpus 2 --cpus 8 --parallel 7 --signal 90 '--sbatch=--constraint=a100 --nice'");
    assert_non_null(strstr(r.err, "job array 101: 6 tasks"));
    assert_non_null(strstr(r.err, "job 102: the report, after them"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        expect_in("script.2.sbatch", lines[i]);
    expect_in("script.2-report.sbatch", "'#SBATCH --dependency=afterany:100:101'");
    expect_in("script.2-report.sbatch", "'#SBATCH --partition=gpu'");
    shell("! grep -q 'gres\\|mem=' script.2-report.sbatch");
    // They are remembered.
    program_expect_success(program_run("sweep --logdir runs --launch slurm --rate 9"));
    shell("for n in 2 4; do sed '/^#SBATCH --job-name\\|^#SBATCH --output\\|^number/d' "
          "script.$n.sbatch >same.$n; done; cmp same.2 same.4");
}

static void nothing_is_submitted_twice(void **state)
{
    submit("--gpus 0");
    shell(
        "id=$(sh bin/sweep-id); for k in 0 1 2 3 4; do echo "
        "\"waker-$id-1|100|$k|RUNNING\"; "
        "done >queue; for k in 0 1 2 3 4 5; do echo \"waker-$id-2|101|$k|PENDING\"; done >>queue; "
        "echo \"waker-$id-2-report|102|N/A|PENDING\" >>queue; echo 'other|7|1|RUNNING' >>queue");
    assert_non_null(strstr(program_run("sweep status runs").out, "; 11 in the queue"));
    program_result r = submit("--gpus 0");
    assert_non_null(strstr(r.err, "job array 103: 1 task\n"));
    // The report that is queued does not wait for the new array.
    assert_non_null(strstr(r.err, "job 104: the report, after them"));
    expect_in("script.3-report.sbatch", "'#SBATCH --dependency=afterany:100:101:102:103'");
    shell("echo dr-seed2-units4 | cmp - runs/sweep/slurm/3.tasks");
    shell("id=$(sh bin/sweep-id); echo \"waker-$id-3|103|0|PENDING\" >>queue");
    r = submit("");
    assert_non_null(strstr(r.err, "nothing to submit"));
    assert_null(strstr(r.err, "the report, after them"));
    // A part: the others wait.
    clean(NULL);
    submit("--only seed=1,units=8");
    shell("printf 'waker-m-seed1-units8\\ndr-seed1-units8\\n' | cmp - runs/sweep/slurm/1.tasks");
}

static void options_that_would_be_lines_of_a_script_are_refused(void **state)
{
    static const char *const wrong[] = {"--partition 'gpu\nrm -rf /'",
                                        "--account 'a b'",
                                        "--sbatch='rm -rf /'",
                                        "--sbatch='--nice\nrm'",
                                        "--sbatch=--output=/home/me/.profile",
                                        "'--sbatch=--nice --outp /home/me/x'",
                                        "--sbatch=-o/home/me/x",
                                        "--sbatch=-Qo/home/me/x",
                                        "'--sbatch=-Q\"o/home/me/x\"'",
                                        "'--sbatch=--nice \"--wrap=rm\"'"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        program_expect_error(
            program_run("sweep grid.yaml --logdir runs --launch slurm --rate 9 %s", wrong[i]), 2,
            "--");
    // Nor are they taken from a directory that remembers them.
    submit("");
    shell("rm script.*; printf '#SBATCH --nice\\n#SBATCH --error=/home/me/.profile\\n' "
          ">runs/sweep/slurm/options");
    program_expect_error(program_run("sweep --logdir runs --launch slurm --rate 9"), 2,
                         "the sweep itself sets the files");
    shell("printf 'partition gpu\\n' >runs/sweep/slurm/options");
    program_expect_error(program_run("sweep --logdir runs --launch slurm --rate 9"), 2,
                         "sweep/slurm/options, which options given again replace: 'partition gpu'");
    shell("! ls script.* 2>/dev/null");
}

static void what_sbatch_options_say_comes_last(void **state)
{
    submit("--mail me@example.org --sbatch=--mail-type=ALL");
    shell("grep -h mail-type script.1.sbatch | tail -1 | grep -q ALL");
    shell("grep -h mail-type script.2-report.sbatch | tail -1 | grep -q ALL");
    // A file that was edited by hand may leave out the restarts.
    shell("sed -i /restarts/d runs/sweep/slurm/options");
    program_expect_success(program_run("sweep --logdir runs --launch slurm --rate 9"));
    expect_in("script.3.sbatch", "restarts_max=100");
}

// What the script does when its run ends. `attempt` is what attempt.json says then.
static void a_script_requeues_its_own_task_and_no_other_when_that_helps(void **state)
{
    static const char bad[] = "{\"attempts\": 1, \"open\": false, \"code\": 2}",
                      once[] = "{\n  \"attempts\": 1,\n  \"open\": false,\n  \"code\": 1,\n  "
                               "\"error\": \"\\\"attempts\\\": 9\"\n}",
                      thrice[] = "{\"attempts\": 3, \"progress\": 3, \"open\": false, \"code\": 1}",
                      further[] =
                          "{\"attempts\": 3, \"progress\": 2, \"open\": false, \"code\": 1}",
                      open[] = "{\"attempts\": 1, \"open\": true, \"code\": 0}",
                      killed[] = "{\"attempts\": 3, \"progress\": 3, \"open\": true, \"code\": 0}";
    static const struct {
        const char *code, *attempt, *variables, *said;
        bool requeued;
        int exit_code;
    } cases[] = {
        {"0", NULL, "", "", false, 0},
        {"75", NULL, "", "saved; task 100_4 is requeued", true, 0},
        {"138", open, "", "saved; task", true, 0},  // USR1 before it is caught
        {"kill", NULL, "", "saved; task", true, 0}, // the script is signalled too
        {"1", once, "", "failed with exit code 1; task", true, 0},
        {"1", thrice, "", "", false, 1},
        {"1", further, "", "failed with exit code 1; task", true, 0}, // the run got further since
        {"137", open, "", "failed with exit code 137", true, 0},      // out of memory
        {"137", killed, "", "", false, 137},
        {"127", NULL, "", "failed with exit code 127", true, 0}, // it never began
        {"2", bad, "", "", false, 2},
        {"2", NULL, "", "", false, 2},
        {"2", open, "", "failed with exit code 2; task", true, 0}, // another process has it
        {"75", NULL, "SLURM_RESTART_COUNT=4", "saved; task", true, 0},
        {"75", NULL, "SLURM_RESTART_COUNT=5", "saved, but restarted 5 times", false, 75},
    };
    submit("--restarts 5");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512], expected[256];
        shell("rm -rf attempt runs/sweep/tasks; echo %s >codes", cases[i].code);
        if (cases[i].attempt) {
            FILE *file = fopen(inside("attempt", path), "w");
            assert_true(file && fputs(cases[i].attempt, file) >= 0 && fclose(file) == 0);
        }
        int code = run_task(4, cases[i].variables);
        char *here = realpath(place, NULL);
        snprintf(expected, sizeof expected, "srun --ntasks=1 sweep run %s/runs dr-seed1-units4\n%s",
                 here, cases[i].requeued ? "scontrol requeue 100_4\n" : "");
        free(here);
        expect_calls(expected);
        if (code != cases[i].exit_code) fail_msg("case %zu ends with %d", i, code);
        if (*cases[i].said) shell("grep -q '%s' said", cases[i].said);
    }
    // Slurm's own restarts, after failures of nodes, have the same end.
    assert_int_equal(run_task(4, "SLURM_RESTART_COUNT=6"), 1);
    expect_calls("");
    // A task that the file does not have.
    shell("echo 75 >codes");
    assert_int_equal(run_task(6, ""), 2);
    expect_calls("");
}

static void cancel_empties_the_queue_and_nothing_is_requeued(void **state)
{
    submit("");
    shell("id=$(sh bin/sweep-id); printf \"waker-$id-1|100|0|RUNNING\\n"
          "waker-$id-1|100|1|PENDING\\nwaker-$id-2-report|102|N/A|PENDING\\n\" >queue");
    program_expect_success(program_run("sweep cancel runs"));
    expect_calls("scancel --quiet --state=PENDING 100\n"
                 "scancel --quiet --signal=USR1 --state=RUNNING 100\nscancel --quiet 102\n");
    // A task that went back into the queue meanwhile does not begin, one that ran stays out.
    shell("echo 75 >codes");
    assert_int_equal(run_task(0, ""), 0);
    expect_calls("");
    shell("rm runs/sweep/slurm/cancelled; echo cancel >codes");
    assert_int_equal(run_task(0, ""), 75);
    shell("! grep scontrol calls && rm queue");
    submit("");
    shell("echo 75 >codes");
    assert_int_equal(run_task(0, ""), 0);
    expect_in("calls", "'scontrol requeue 100_0'");
}

// The last job, run by its script: the report, or what continues the sweep.
static void the_last_job_says_what_is_not_done(void **state)
{
    submit("");
    shell("bash script.2-report.sbatch >said 2>&1; test $? = 1");
    expect_in("said",
              "\"12 of 12 runs are not done; 'waker sweep --logdir $PWD/runs --launch slurm' "
              "continues\"");
}

static void names_of_directories_cannot_become_commands(void **state)
{
    program_expect_success(program_run("sweep grid.yaml --logdir \"it's %%a \\$(touch PWNED)\" "
                                       "--launch slurm --rate 9"));
    shell("echo 75 >codes && SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=0 bash script.1.sbatch "
          ">said && ! test -e PWNED && grep -qF \"it's %%a \\$(touch PWNED) waker-m\" calls && "
          "grep -qF \"it's %%%%a \" script.1.sbatch");
    program_expect_error(program_run("sweep grid.yaml --logdir 'a\"b' --launch slurm --rate 9"), 2,
                         "cannot name");
}

static void what_slurm_did_not_take_is_submitted_by_the_same_command(void **state)
{
    shell("touch fail");
    program_expect_error(program_run("sweep grid.yaml --logdir runs --launch slurm --rate 9"), 1,
                         "sbatch failed with exit code 1: no controller");
    shell("rm fail");
    program_result r = submit("");
    assert_non_null(strstr(r.err, "job array 100: 6 tasks"));
    assert_non_null(strstr(r.err, "job array 101: 6 tasks"));
}

static void code_that_is_named_goes_on_the_command_line_and_into_no_file(void **state)
{
    shell("touch 'my ball.so'");
    submit("--curriculum.plugin 'my ball.so'");
    expect_in("calls", "'sbatch --curriculum.plugin my ball.so'");
    shell("! grep -rl 'ball.so' runs");
    shell("cd . && : >calls && SLURM_ARRAY_JOB_ID=100 SLURM_ARRAY_TASK_ID=0 bash script.1.sbatch "
          "--curriculum.plugin 'my ball.so' >said");
    shell("grep -q 'sweep run .* --curriculum.plugin my ball.so$' calls || { cat calls; false; }");
}

static void without_slurm_it_says_so(void **state)
{
    program_result r = program_run_after("PATH=/usr/bin:/bin; rm bin/sbatch; hash -r; "
                                         "PATH=$PWD/bin;",
                                         "sweep grid.yaml --logdir runs --launch slurm --rate 9");
    program_expect_error(r, 2, "cannot run 'sbatch'; is this a machine from which jobs");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, clean)
    const struct CMUnitTest tests[] = {
        TEST(a_shape_is_an_array_and_options_pass_through),
        TEST(nothing_is_submitted_twice),
        TEST(options_that_would_be_lines_of_a_script_are_refused),
        TEST(what_sbatch_options_say_comes_last),
        TEST(a_script_requeues_its_own_task_and_no_other_when_that_helps),
        TEST(cancel_empties_the_queue_and_nothing_is_requeued),
        TEST(the_last_job_says_what_is_not_done),
        TEST(names_of_directories_cannot_become_commands),
        TEST(what_slurm_did_not_take_is_submitted_by_the_same_command),
        TEST(code_that_is_named_goes_on_the_command_line_and_into_no_file),
        TEST(without_slurm_it_says_so),
    };
    return cmocka_run_group_tests(tests, set_up, teardown);
}
