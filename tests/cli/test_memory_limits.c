// Commands under limits on address space, as batch systems set them: each ends by itself, soon,
// with success or with a message that says what is missing.
#include "cli/long_runs.h"

static const char *const commands[] = {
    "--version",
    "train --logdir new " TINY_OPTIONS " --steps 100 --log.tensorboard false --quiet",
    "adapt made --task all --updates 5 --restart --quiet",
    "eval made --policy random --envs 1 --cases dr",
    "model-error made --policy random --envs 1 --steps 4",
    "bench env --domain toy --seconds 0.1",
    "bench update --iters 1 --batch 2",
    "ckpt made --check",
    "curriculum made",
    "report made --out page",
};
enum { N_COMMANDS = sizeof commands / sizeof *commands, SECONDS = 300 };

// Kilobytes that the program needs to begin at all: its libraries, of which CUDA's are some. Limits
// are given beyond them.
static long least;
enum { LEAST_MAX = 160000, LEAST_STEP = 1000 };

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    setenv("OPENBLAS_NUM_THREADS", "2", 1); // as it starts by itself on two cores
    program_succeed("train --logdir made " TINY_OPTIONS " --log.tensorboard false --quiet");
    for (least = LEAST_STEP; least < LEAST_MAX; least += LEAST_STEP) {
        char before[64];
        snprintf(before, sizeof before, "ulimit -v %ld;", least);
        if (program_run_after(before, commands[0]).code == 0) return 0;
    }
    return -1;
}

// Exit codes above 123 are those of `timeout` and of signals.
static program_result run_limited(long beyond, const char *command)
{
    char before[64], line[512];
    long kilobytes = least + beyond;
    snprintf(before, sizeof before, "ulimit -v %ld; timeout -k 1 %d", kilobytes, SECONDS);
    shell("rm -rf new page");
    snprintf(line, sizeof line, "--threads 2 %s", command);
    program_result r = program_run_after(before, line);
    if (r.code > 2 || (r.code != 0 && !*r.err))
        fail_msg("%s\nwith %ld kB ended with %d: %s", command, kilobytes, r.code, r.err);
    return r;
}

TEST_CASE(every_command_ends_under_every_limit)
{
    static const long limits[] = {2000, 40000, 140000, 240000, 340000};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        for (int k = 0; k < N_COMMANDS; k++)
            run_limited(limits[i], commands[k]);
}

TEST_CASE(the_message_says_what_is_missing)
{
    program_expect_error(run_limited(40000, commands[2]), 1, "no memory for OpenBLAS");
    program_expect_error(run_limited(240000, commands[1]), 1, "raise the limit (ulimit -v)");
}

TEST_CASE(enough_memory_is_enough)
{
    program_expect_success(run_limited(1900000, commands[1]));
    program_expect_success(run_limited(1900000, commands[2]));
}

TEST_MAIN(setup_run, teardown)
