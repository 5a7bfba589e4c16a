// bench/on-gpu without a GPU: its steps with programs that stand in for the real ones, the programs
// themselves on the CPU at tiny sizes, and the pages that take its figures.
#include "support/check.h"
#include "support/python.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char said[1 << 16], text[1 << 16];

static void write_file(const char *path, const char *format, const char *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fprintf(file, format, content) > 0);
    assert_int_equal(fclose(file), 0);
}

// A shell script of this name, which stands in for a program.
static void write_program(const char *path, const char *script)
{
    write_file(path, "#!/bin/sh\n%s\n", script);
    assert_int_equal(chmod(path, 0755), 0);
}

static const char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("there is no %s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return text;
}

// What bench/on-gpu says; stand-ins are found before the real programs.
static const char *expect(int status, const char *arguments)
{
    char command[4096];
    snprintf(command, sizeof command, "PATH=$PWD:$PATH %s %s/bench/on-gpu %s 2>&1",
             python_with("argparse"), WAKER_SOURCE_DIR, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    said[fread(said, 1, sizeof said - 1, pipe)] = '\0';
    int ended = WEXITSTATUS(pclose(pipe));
    if (ended != status) fail_msg("%s: status %d, '%s'", command, ended, said);
    return said;
}

static void expect_text(const char *where, const char *what)
{
    if (!strstr(where, what)) fail_msg("no '%s' in '%s'", what, where);
}

// bench_update and bench_population of a build; an update takes `ms`.
static void write_build(const char *build, const char *ms)
{
    char path[256], script[1024];
    snprintf(path, sizeof path, "%s/bench", build);
    assert_true(mkdir(build, 0777) == 0 && mkdir(path, 0777) == 0);
    snprintf(script, sizeof script,
             "echo x >> calls\n"
             "echo '96.0 MiB state, 100.0 MiB in use'; echo 'first: model loss 500.5 norm 1'\n"
             "case $5 in *gru*) ms=10;; *) ms=%s;; esac\n"
             "echo \"update as in a run: $ms ms (median), 1.0 ms (min)\"",
             ms);
    snprintf(path, sizeof path, "%s/bench/bench_update", build);
    write_program(path, script);
    snprintf(path, sizeof path, "%s/bench/bench_population", build);
    write_program(path,
                  "echo '64.0 MiB in use'; echo '300.0 MiB in use'\n"
                  "echo \"$1 on $2, $3 tasks: one 8.0 ms; $4 together 30.0 ms, 6.0 ms each\"");
}

static int set_up(void **state)
{
    assert_int_equal(system("rm -rf on-gpu-test && mkdir on-gpu-test"), 0);
    assert_int_equal(chdir("on-gpu-test"), 0);
    write_build("fake", "8.0");
    write_program("nvidia-smi", "echo 'a card, 1.2'");
    return 0;
}

static int tear_down(void **state)
{
    return chdir("..");
}

TEST_CASE(every_step_is_listed_with_a_line)
{
    static const char *const steps[] = {"build",       "tests-gpu",    "tests-racecheck",
                                        "updates",     "jax-10-small", "against-paper",
                                        "rates-paper", "prices-quick", "timeline"};
    const char *list = expect(0, "--list");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *line = strstr(list, steps[i]);
        if (!line || strcspn(line, "\n") < 30) fail_msg("no line about %s in '%s'", steps[i], list);
    }
}

TEST_CASE(a_step_that_does_not_exist_is_refused)
{
    expect_text(expect(1, "updates update --out out --build fake"), "there is no step 'update'");
    assert_int_not_equal(access("out", F_OK), 0);
    expect_text(expect(2, "updates"), "--out DIR");
    expect_text(expect(1, "updates --out out --cases paper:1"), "'paper:1' is no case");
}

TEST_CASE(a_step_leaves_figures_log_and_circumstances)
{
    expect_text(
        expect(0, "updates --out out --build fake --commit abc --cases paper:0:1 small:1:5"),
        "updates: done");
    assert_string_equal(read_text("out/updates/figures.csv"),
                        "preset,tasks,runs,ms,per_run_ms,mib\n"
                        "paper,0,1,8.0000,8.0000,100.0000\n"
                        "small,1,5,30.0000,6.0000,300.0000\n");
    const char *about = read_text("out/updates/step.json");
    expect_text(about, "\"status\": \"done\"");
    expect_text(about, "\"commit\": \"abc\"");
    expect_text(about, "\"device\": \"a card, 1.2\"");
    expect_text(about, "\"date\": \"20");
    expect_text(about, "\"command\": \"bench/on-gpu updates --out out");
    expect_text(read_text("out/updates/log.txt"), "bench_update paper cuda 0 20\n96.0 MiB state");
}

TEST_CASE(a_step_that_fails_does_not_stop_the_next)
{
    const char *arguments =
        "updates prices-quick --out out --build fake --cases small:0:1 quick:0:1 "
        "--rounds 1";
    assert_int_equal(system("mv fake/bench/bench_update fake/bench/whole"), 0);
    write_program("fake/bench/bench_update",
                  "[ $1 = quick ] && exec fake/bench/whole \"$@\"; echo 'no memory' >&2; exit 1");
    expect(1, arguments);
    expect_text(said, "updates: FAILED: ");
    expect_text(said, "bench_update: no memory (");
    expect_text(said, "prices-quick: done");
    expect_text(said, "1 of 2 steps failed");
    expect_text(read_text("out/updates/step.json"), "\"status\": \"failed\"");
    // Only the one that failed is repeated.
    assert_int_equal(system("mv fake/bench/whole fake/bench/bench_update"), 0);
    expect(0, arguments);
    expect_text(said, "updates: done (");
    expect_text(said, "prices-quick: done before (commit ");
    assert_int_equal(system("rm calls"), 0);
    expect(0, "updates --again --out out --build fake --cases small:0:1");
    assert_string_equal(read_text("calls"), "x\n");
}

// Whether a process is there, and more than a number that nobody has asked for yet.
static bool is_alive(long pid)
{
    char path[64], letter = 'Z';
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    int fields = fscanf(file, "%*d %*[^)]) %c", &letter);
    fclose(file);
    return fields == 1 && letter != 'Z' && letter != 'X';
}

TEST_CASE(a_step_beyond_its_limit_is_stopped)
{
    write_program("fake/bench/bench_update", "sleep 600");
    expect_text(expect(1, "updates prices-quick --limit 1 --out out --build fake"),
                "updates: FAILED: did not end within 1 s, and was stopped");
    expect_text(said, "prices-quick: FAILED: did not end");
    expect_text(read_text("out/updates/step.json"), "\"why\": \"did not end within 1 s");
}

// A number that another process writes into a file.
static long wait_for_number(const char *path)
{
    for (int i = 0; i < 1200; i++) {
        if (access(path, F_OK) == 0 && strchr(read_text(path), '\n')) return strtol(text, NULL, 10);
        usleep(50000);
    }
    fail_msg("nobody writes %s", path);
    return -1;
}

// timeout(1) makes a process group of its own.
TEST_CASE(what_a_step_started_ends_with_it)
{
    char command[4096];
    write_program("fake/bench/bench_update", "timeout 600 sleep 600 & echo $! > pid; sleep 600");
    snprintf(command, sizeof command,
             "%s %s/bench/on-gpu updates --out out --build fake > said 2>&1 & echo $! > driver",
             python_with("argparse"), WAKER_SOURCE_DIR);
    assert_int_equal(system(command), 0);
    long pid = wait_for_number("pid"), driver = wait_for_number("driver");
    assert_true(is_alive(pid));
    assert_int_equal(kill((pid_t)driver, SIGTERM), 0);
    for (int i = 0; i < 1200 && (is_alive(driver) || is_alive(pid)); i++)
        usleep(50000);
    assert_false(is_alive(driver));
    assert_false(is_alive(pid));
    assert_int_not_equal(access("out/updates/step.json", F_OK), 0); // the next call repeats it
}

TEST_CASE(two_do_not_work_in_one_folder)
{
    assert_int_equal(mkdir("out", 0777), 0);
    write_file("out/lock", "%s", "\n");
    FILE *held = popen("exec flock out/lock sh -c 'touch held; read line'", "w");
    assert_non_null(held);
    for (int i = 0; i < 1200 && access("held", F_OK) != 0; i++)
        usleep(50000);
    expect_text(expect(1, "updates --out out --build fake"), "another bench/on-gpu is at work in");
    pclose(held);
}

TEST_CASE(a_build_that_is_not_there_is_made_first)
{
    write_program("nvcc", "true");
    write_program("cmake", "[ $1 != --build ] || cp -r fake new");
    expect(0, "updates --out out --build new --cases quick:0:1");
    expect_text(said, "build: done");
    expect_text(said, "updates: done");
    expect_text(read_text("out/build/log.txt"), "--build");
}

TEST_CASE(programs_that_are_not_there_are_named)
{
    assert_int_equal(mkdir("empty", 0777), 0);
    expect_text(expect(1, "updates --out out --build empty"), "there is no bench_update in ");
}

// ctest takes skipped tests for passed ones.
TEST_CASE(tests_that_are_all_skipped_have_failed)
{
    const char *script = "for last; do :; done\n"
                         "echo '<testsuite><testcase name=\"a\" status=\"notrun\" time=\"1\"/>"
                         "<testcase name=\"b\" status=\"%s\" time=\"2\"/></testsuite>' > $last";
    char whole[512];
    snprintf(whole, sizeof whole, script, "notrun");
    write_program("ctest", whole);
    expect_text(expect(1, "tests-gpu --out out --build fake"), "all 2 tests were skipped");
    snprintf(whole, sizeof whole, script, "run");
    write_program("ctest", whole);
    expect(0, "tests-gpu --out out --build fake");
    expect_text(read_text("out/tests-gpu/figures.csv"), "a,notrun,1\nb,run,2\n");
    expect_text(read_text("out/tests-gpu/log.txt"), "1 tests passed, 1 were skipped");
    write_program("ctest", "echo '1 tests failed'; exit 8");
    expect_text(expect(1, "tests-gpu --again --out out --build fake"),
                "FAILED: ctest: exit status 8");
}

// JAX sees `platform`.
static void write_jax(const char *platform)
{
    char script[512];
    snprintf(script, sizeof script,
             "[ \"$1\" = -c ] && echo 0.1.2 %s && exit\n"
             "case \"$*\" in *'--tasks 5 --population 5'*'--set depth=2'*) ;; *) exit 1;; esac\n"
             "echo '{\"update\": {\"median_ms\": 75}, \"device_bytes\": 52428800}'",
             platform);
    write_program("fake-python", script);
}

TEST_CASE(jax_is_timed_at_the_same_sizes)
{
    const char *arguments = "jax-5-paper --rounds 2 --out out --build fake --python ./fake-python "
                            "--cases paper,depth=2:5:5 quick:0:1";
    write_jax("gpu");
    expect(0, arguments);
    assert_string_equal(read_text("out/jax-5-paper/figures.csv"),
                        "preset,tasks,runs,ms,jax_ms,ratio,mib,jax_mib,jax\n"
                        "\"paper,depth=2\",5,5,30.0000,75.0000,2.5000,300.0000,50.0000,0.1.2\n");
    expect_text(
        expect(1, "jax-small --out out --build fake --python ./fake-python --cases quick:0:1"),
        "none of --cases is one of jax-small");
}

TEST_CASE(a_python_without_jax_on_the_gpu_is_refused)
{
    const char *arguments = "jax-quick --out out --build fake --python ./fake-python";
    write_jax("cpu");
    expect_text(expect(1, arguments), "JAX 0.1.2 of ./fake-python sees no GPU, only cpu");
    write_program("fake-python", "echo \"No module named 'jax'\" >&2; exit 1");
    expect_text(expect(1, arguments), "./fake-python: No module named 'jax'");
}

TEST_CASE(an_update_that_got_slower_is_a_failure)
{
    write_build("old", "7.8");
    expect_text(expect(0, "against-paper --out out --build fake --old old --cases paper:0:1"),
                "done");
    assert_string_equal(read_text("out/against-paper/figures.csv"),
                        "preset,tasks,runs,old_ms,ms,ratio\npaper,0,1,7.8000,8.0000,1.0256\n");
    write_build("older", "7.5");
    expect_text(expect(1, "against-paper --again --out out --build fake --old older "
                          "--cases paper:0:1"),
                "more than 1.03 times as long as before: paper:0:1 1.067");
    expect_text(expect(1, "against-paper --again --out out --build fake"), "--old BUILD");
}

TEST_CASE(a_price_is_what_an_update_takes_longer_without)
{
    expect(0, "prices-paper --rounds 1 --out out --build fake --cases paper:0:1 paper:5:1");
    expect_text(read_text("out/prices-paper/figures.csv"),
                "paper,gru_cell,8.0000,10.0000,25.0000\n");
    expect_text(text, "paper,conv_rgb+rgb_weights,8.0000,8.0000,0.0000\n");
    // What is computed without a part must be the same.
    write_program("fake/bench/bench_update",
                  "case $5 in schedule) loss=600;; *) loss=500;; esac\n"
                  "echo \"first: model loss $loss norm 1\"; echo '1.0 MiB in use'\n"
                  "echo 'update as in a run: 8.0 ms'");
    expect_text(expect(1, "prices-paper --again --rounds 1 --out out --build fake"),
                "the first loss of paper is another without schedule");
}

TEST_CASE(rates_are_read_from_the_runs_logs)
{
    write_program(
        "fake/waker",
        "case \"$*\" in *seed=0..1*) runs='run/seed0 run/seed1';; *) runs=run;; esac\n"
        "cd \"$(dirname \"$3\")\"\n"
        "for run in $runs; do mkdir -p $run; echo '{\"train_updates\": 3}' > $run/metrics.jsonl\n"
        "for speed in 10 80 90; do echo '{\"train_updates\": 7, \"fps\": 16, \"time/act\": 0.1, "
        "\"time/env\": 0.2, \"time/render\": 0, \"time/replay\": 0, \"time/learn\": 0.5, "
        "\"time/log\": 0, \"time/checkpoint\": 0, \"time/updates_per_second\": '$speed'}' "
        ">> $run/metrics.jsonl; done; done; exit 75");
    expect(0, "rates --out out --build fake");
    assert_string_equal(
        read_text("out/rates-small/figures.csv"),
        "preset,runs,run,updates_per_second,fps,act,env,render,replay,learn,log,checkpoint,"
        "updates\n"
        "small,1,0,85.0000,16.0000,0.1000,0.2000,0.0000,0.0000,0.5000,0.0000,0.0000,7\n"
        "small,2,0,85.0000,16.0000,0.1000,0.2000,0.0000,0.0000,0.5000,0.0000,0.0000,7\n"
        "small,2,1,85.0000,16.0000,0.1000,0.2000,0.0000,0.0000,0.5000,0.0000,0.0000,7\n");
    expect_text(said, "rates-paper: done");
    write_program("fake/waker", "exit 1");
    expect_text(expect(1, "rates-small --again --out out --build fake"),
                "FAILED: waker: exit status 1");
}

TEST_CASE(other_sizes_and_a_timeline_come_from_their_scripts)
{
    write_program("cmake", "true");
    write_program("fake/bench/bench_update",
                  "echo 'arithmetic: 10.0 GFLOP'; echo 'update as in a run: 8.000 ms (median)'\n"
                  "[ -z \"$WAKER_KERNEL_TRACE\" ] || echo kernel 1000 2000 7 4,1,1 256 first > "
                  "\"$WAKER_KERNEL_TRACE\"; echo '1.0 MiB in use'");
    expect(0, "offsize timeline --out out --build fake");
    expect_text(read_text("out/offsize/figures.csv"),
                "\"paper,deter=512\",10.0,8.00,8.00,1.00,none\n");
    expect_text(read_text("out/timeline/timeline.txt"), "4,1,1       256  first\n");
    expect_text(read_text("out/timeline/kernels.txt"), "1 kernels");
}

#define TINY                                                                                       \
    "quick,depth=2,deter=8,hidden=8,stoch=2,classes=4,units=8,layers=1,ensemble=2,batch=2,"        \
    "length=4,horizon=2"

// The real programs, on the CPU.
TEST_CASE(the_programs_print_what_steps_read)
{
    expect(0, "updates prices-quick --device cpu --updates 1 --rounds 1 --out out "
              "--build " WAKER_BINARY_DIR " --cases " TINY ":0:1 " TINY ":1:1 " TINY ":1:2");
    int lines = 0;
    for (const char *at = read_text("out/updates/figures.csv"); *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 4);
    expect_text(read_text("out/updates/step.json"), "\"device\": \"CPU: ");
    expect_text(read_text("out/prices-quick/figures.csv"), "\",lazy_terms,");
    expect_text(read_text("out/prices-quick/log.txt"), "without conv_rgb,rgb_weights\n");
}

// A folder of results as a GPU machine would leave it. These figures were made up.
static void make_up(const char *step, const char *kind, const char *figures)
{
    char path[256];
    mkdir("made-up", 0777);
    snprintf(path, sizeof path, "made-up/%s", step);
    assert_int_equal(mkdir(path, 0777), 0);
    snprintf(path, sizeof path, "made-up/%s/step.json", step);
    write_file(path, "{\"status\": \"done\", \"device\": \"a made-up card\", \"kind\": \"%s\"}",
               kind);
    snprintf(path, sizeof path, "made-up/%s/figures.csv", step);
    write_file(path, "%s", figures);
}

TEST_CASE(a_page_takes_its_figures_from_the_results)
{
    make_up("updates", "cuda",
            "preset,tasks,runs,ms,mib\npaper,0,1,7.1234,4321\npaper,5,1,14.5,5\n");
    make_up("jax-paper", "cuda", "preset,tasks,runs,ratio\npaper,0,1,2.345\n");
    write_file(
        "page.md", "%s",
        "On <!-- on-gpu: updates.device -->a card<!-- --> it takes\n"
        "| <!-- on-gpu: updates.paper.0.1.ms -->9.99<!-- --> ms | "
        "<!-- on-gpu: updates.paper.0.1.mib -->3,146<!-- --> MiB |\n"
        "JAX <!-- on-gpu: jax.paper.0.1.ratio -->2.0<!-- --> times as long, without mark 2.0;\n"
        "<!-- on-gpu: rates.small.1.0.fps -->441<!-- --> is not known.\n");
    expect(0, "--page made-up page.md");
    assert_string_equal(
        read_text("page.md"),
        "On <!-- on-gpu: updates.device -->a made-up card<!-- --> it takes\n"
        "| <!-- on-gpu: updates.paper.0.1.ms -->7.12<!-- --> ms | "
        "<!-- on-gpu: updates.paper.0.1.mib -->4,321<!-- --> MiB |\n"
        "JAX <!-- on-gpu: jax.paper.0.1.ratio -->2.3<!-- --> times as long, without mark 2.0;\n"
        "<!-- on-gpu: rates.small.1.0.fps -->441<!-- --> is not known.\n");
    expect_text(said, "page.md: updates.paper.0.1.ms: 9.99 -> 7.12\n");
    expect_text(said, "page.md: rates.small.1.0.fps: stays 441\n");
}

TEST_CASE(a_mark_of_no_figure_leaves_all_pages_alone)
{
    make_up("updates", "cuda", "preset,tasks,runs,ms\npaper,0,1,7.1\npaper,5,1,14.5\n");
    const char *good = "<!-- on-gpu: updates.paper.0.1.ms -->9.99<!-- -->\n";
    write_file("good.md", "%s", good);
    write_file("page.md", "%s", "<!-- on-gpu: updates.paper.0.1.weeks -->1<!-- -->\n");
    expect_text(expect(1, "--page made-up good.md page.md"), "updates.paper.0.1.weeks");
    write_file("page.md", "%s", "<!-- on-gpu: updates.paper.ms -->1<!-- -->\n");
    expect_text(expect(1, "--page made-up good.md page.md"),
                "2 figures for the mark updates.paper.ms");
    assert_string_equal(read_text("good.md"), good);
}

TEST_CASE(figures_of_a_cpu_are_put_into_no_page)
{
    make_up("updates", "cpu", "preset,tasks,runs,ms\npaper,0,1,7.1\n");
    write_file("page.md", "%s", "<!-- on-gpu: updates.paper.0.1.ms -->9.99<!-- -->\n");
    expect_text(expect(1, "--page made-up page.md"), "was measured on a CPU");
    expect_text(read_text("page.md"), "9.99");
}

// With figures of every update each mark of the published pages finds one.
TEST_CASE(the_published_pages_have_marks_of_figures)
{
    static const char *const presets[] = {"paper", "small", "quick"};
    static const int runs[] = {1, 5, 1, 10, 1, 32};
    static char rows[4096];
    int length =
        snprintf(rows, sizeof rows, "preset,tasks,runs,ms,per_run_ms,mib,jax_ms,ratio,jax_mib\n");
    for (int i = 0; i < 6; i++)
        for (int tasks = 0; tasks <= 5; tasks += tasks ? 4 : 1)
            length += snprintf(rows + length, sizeof rows - (size_t)length,
                               "%s,%d,%d,1,2,3,4,5,6\n", presets[i / 2], tasks, runs[i]);
    make_up("updates", "cuda", rows);
    make_up("jax-all", "cuda", rows);
    assert_int_equal(
        system("cp " WAKER_SOURCE_DIR "/README.md " WAKER_SOURCE_DIR "/docs/performance.md ."), 0);
    expect(0, "--page made-up README.md performance.md");
    expect_text(said, "README.md: updates.paper.0.1.ms: ");
    expect_text(said, "performance.md: jax.paper.5.1.ratio: ");
    if (strstr(said, "stays")) fail_msg("a mark has no figure: '%s'", said);
    // A line that begins with a comment would be a block of HTML, and end the paragraph.
    assert_null(strstr(read_text("README.md"), "\n<!--"));
    assert_null(strstr(read_text("performance.md"), "\n<!--"));
}

TEST_MAIN_EACH(set_up, tear_down)
