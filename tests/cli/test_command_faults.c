// Commands that write results when disks fail: every kind of file call, one call after another in
// strides, fails once. The command ends with a message and exit code 1, or has written what an
// undisturbed one writes; the same command afterwards writes that in any case.
#include "support/check.h"
#include "support/faults.h"
#include "train/runs.h"
#include <limits.h>
#include <sys/mman.h>
#include <sys/wait.h>

// The program's main, compiled into this test so that its calls can fail.
int waker_main(int argc, char **argv);

#define WORK "command-faults.tmp"
#define TRAIN                                                                                      \
    "train --quiet --logdir base --configs toy --seed 5 --steps 120 --prefill 60 --env.count 2 "   \
    "--env.threads 1 --train_every 20 --replay.capacity 2000 --encoder.depth 1 --rssm.deter 6 "    \
    "--rssm.hidden 6 --rssm.stoch 3 --rssm.classes 3 --units 6 --layers 1 --ensemble.size 2 "      \
    "--batch 2 --length 6 --horizon 3 --checkpoint.every_steps 60 --snapshot.every 0 "             \
    "--tasks all --log.every 60 --log.tensorboard false"

enum { WORDS = 64, LINE = 1024 };
static const char *const usual_codes = "01";

// In the child: nothing on standard output, messages in a file.
static void redirect(void)
{
    if (!freopen("/dev/null", "w", stdout) || !freopen("said", "w", stderr)) abort();
}

static void call_program(const char *line, fault_call call, int n, int code)
{
    char words[LINE], *argv[WORDS] = {"waker"};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *rest = words, *word; (word = strtok_r(rest, " ", &rest)) && argc < WORDS - 1;)
        argv[argc++] = word;
    redirect();
    if (code) fault_arm(call, n, code);
    exit(waker_main(argc, argv));
}

static bool *reached; // shared with the child: whether the call that was to fail was made

static void note_reached(void)
{
    for (int i = 0; i < FAULT_CALLS; i++)
        if (fault_countdown[i]) return;
    *reached = true;
}

// Runs the program in a process of its own; returns its exit code.
static int run(const char *line, fault_call call, int n, int code)
{
    int status;
    *reached = false;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        atexit(note_reached);
        call_program(line, call, n, code);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("%s: call %d of kind %d: ended by signal %d", line, n, call, WTERMSIG(status));
    return WEXITSTATUS(status);
}

static const char *said(void)
{
    static char text[4096];
    FILE *file = fopen("said", "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = 0;
    if (file) fclose(file);
    return text;
}

static void expect_success(const char *line)
{
    int code = run(line, FAULT_OPEN, 0, 0);
    if (code != 0) fail_msg("%s: exit code %d: %s", line, code, said());
}

static void restore(void)
{
    assert_int_equal(system("rm -rf run out && cp -r base run && mkdir out"), 0);
}

static bool is_as_calm(void)
{
    return system("diff -r -x '*.tmp.*' calm-run run >diff && diff -r -x '*.tmp.*' calm-out out "
                  ">diff") == 0;
}

// One fault; false once there is no such call any more.
static bool try_fault(const char *line, fault_call call, int n, int error, const char *codes)
{
    restore();
    int code = run(line, call, n, error);
    bool happened = *reached;
    if (!strchr(codes, '0' + code) || code > 9)
        fail_msg("%s: call %d of kind %d, %s: exit code %d: %s", line, n, call, strerror(error),
                 code, said());
    if (code != 0 && !strstr(said(), code == 1 ? "waker " : ""))
        fail_msg("%s: call %d of kind %d, %s: no message", line, n, call, strerror(error));
    if (code == 0 && !is_as_calm())
        fail_msg("%s: call %d of kind %d, %s: success, and another result", line, n, call,
                 strerror(error));
    if (!happened && code != 0) fail_msg("%s: exit code %d: %s", line, code, said());
    return happened;
}

static void sweep_with(const char *line, int stride, const char *codes, bool repeatable)
{
    int faults = 0;
    restore();
    expect_success(line);
    assert_int_equal(system("rm -rf calm-run calm-out && cp -r run calm-run && cp -r out calm-out"),
                     0);
    for (int k = 0; k < N_FAULT_FILES; k++) {
        fault_call call = fault_files[k].call;
        for (int n = 0; try_fault(line, call, n, fault_files[k].error, codes);
             n += fault_stride(stride), faults++) {
            if (!repeatable) continue;
            expect_success(line);
            if (!is_as_calm())
                fail_msg("%s: call %d of kind %d: another result afterwards", line, n, call);
        }
    }
    assert_true(faults > 5);
    print_message("%d file calls failed\n", faults);
}

static void sweep(const char *line, int stride, const char *codes)
{
    sweep_with(line, stride, codes, true);
}

TEST_CASE(eval_writes_all_or_says_so)
{
    sweep("eval run --envs 2 --cases dr --quiet", 9, usual_codes);
}

TEST_CASE(model_error_writes_all_or_says_so)
{
    sweep("model-error run --envs 2 --steps 9 --map --quiet", 9, usual_codes);
}

TEST_CASE(openloop_writes_all_or_says_so)
{
    sweep("openloop run --out out/loop.gif --steps 8 --quiet", 9, usual_codes);
}

TEST_CASE(export_writes_all_or_says_so)
{
    sweep("export run --out out --quiet", 9, usual_codes);
}

// A card is never written over what is there, so it cannot be repeated.
TEST_CASE(card_writes_all_or_says_so)
{
    sweep_with("card run --out out/card --no-video --quiet", 9, usual_codes, false);
}

TEST_CASE(curriculum_writes_all_or_says_so)
{
    sweep("curriculum run --out out/map.png --quiet", 9, usual_codes);
}

// What cannot be read is left out of a report, and its exit code says so.
TEST_CASE(report_writes_all_or_says_so)
{
    sweep("report run --out out --reps 50 --quiet", 29, "013");
}

TEST_CASE(render_writes_all_or_says_so)
{
    sweep("render --domain toy --out out/world.png --quiet", 3, usual_codes);
}

TEST_CASE(theory_writes_all_or_says_so)
{
    sweep("theory --part check --family chain --instances 20 --out out --quiet", 3, usual_codes);
}

TEST_CASE(finetune_can_be_repeated)
{
    sweep("finetune run --task east --steps 24 --quiet", 29, usual_codes);
}

TEST_CASE(relabel_adds_all_of_a_reward_or_nothing)
{
    sweep("relabel run --reward " WAKER_BINARY_DIR "/tests/plugins/again_west.so --quiet", 19,
          usual_codes);
}

TEST_CASE(a_set_of_environments_is_written_and_played)
{
    sweep("envs set toy --count 3 --out out/own.set --quiet", 3, usual_codes);
    sweep("eval run --set own.set --task west --quiet", 29, usual_codes);
}

static int begin(void **state)
{
    remove_tree(WORK);
    reached =
        mmap(NULL, sizeof *reached, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(reached != MAP_FAILED);
    assert_int_equal(mkdir(WORK, 0777), 0);
    assert_int_equal(chdir(WORK), 0);
    expect_success(TRAIN);
    expect_success("eval base --envs 2 --cases dr --quiet");
    expect_success("envs set toy --count 2 --out own.set --quiet");
    return 0;
}

static int end_all(void **state)
{
    assert_int_equal(chdir(".."), 0);
    remove_tree(WORK);
    return 0;
}

// With an argument, the tests whose names match it: "relabel*".
int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return run_all_tests(begin, end_all);
}
