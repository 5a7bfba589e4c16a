// The JAX program that waker's update is compared with makes the same update: five of its updates
// on the draws of the golden ones, and whole runs at a tiny size. Skipped where no Python has JAX.
#include "support/check.h"
#include "support/python.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Compiling takes most of the time and what it makes runs for milliseconds.
#define QUICKLY                                                                                    \
    "JAX_PLATFORMS=cpu XLA_FLAGS='--xla_backend_optimization_level=0 "                             \
    "--xla_llvm_disable_expensive_passes=true' "

// Runs a script of the source tree and gives what it prints.
static void expect_output(const char *script, const char *arguments, int status, char *out,
                          size_t size)
{
    char command[2048];
    snprintf(command, sizeof command, QUICKLY "%s %s/%s %s", python_if_any("jax"), WAKER_SOURCE_DIR,
             script, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    out[fread(out, 1, size - 1, pipe)] = '\0';
    int ended = pclose(pipe);
    if (WEXITSTATUS(ended) != status) fail_msg("%s: status %d, '%s'", command, ended, out);
}

TEST_CASE(five_updates_of_the_peer_match_the_golden_ones)
{
    int count, updates;
    char out[4096];
    expect_output("tests/bench/peer_golden.py",
                  WAKER_SOURCE_DIR "/tests/agent/golden/learner.safetensors", 0, out, sizeof out);
    assert_int_equal(sscanf(out, "%d tensors of %d updates", &count, &updates), 2);
    assert_int_equal(updates, 5);
    assert_true(count > 200);
}

// The number behind `name` in the line that begins with `line`.
static double figure(const char *text, const char *line, const char *name)
{
    const char *from = strstr(text, line), *at = from ? strstr(from, name) : NULL;
    assert_non_null(at);
    char *end;
    double value = strtod(at + strlen(name), &end);
    assert_true(end > at + strlen(name) && isfinite(value));
    return value;
}

TEST_CASE(the_peer_prints_times_and_losses_that_fall)
{
    char out[4096];
    expect_output("bench/peer/jax_update.py",
                  "--preset quick --precision f32 --updates 8 --set depth=2 --set batch=2 "
                  "--set length=4 --set horizon=3 --set ensemble_rate=3e-3",
                  0, out, sizeof out);
    assert_true(figure(out, "reward-free update:", ":") > 0);
    assert_true(figure(out, "first:", "model ") > 0);
    // The images are noise; what an ensemble says of the next features can be learned.
    assert_true(figure(out, "last:", "ensemble ") < 0.95 * figure(out, "first:", "ensemble "));
}

#define TINY                                                                                       \
    "--preset quick --precision f32 --updates 3 --set depth=2 --set batch=2 --set length=4 "       \
    "--set horizon=3 --set units=16 --set deter=16 --set hidden=16"

// Under vmap over runs the update stays the same: the first run's losses are those it has alone.
TEST_CASE(a_run_of_a_population_learns_as_it_does_alone)
{
    static const char *const lines[] = {"first:", "last:"};
    static const char *const names[] = {"model ", "ensemble ", "reward "};
    char alone[4096], together[4096];
    expect_output("bench/peer/jax_update.py", TINY " --tasks 2", 0, alone, sizeof alone);
    expect_output("bench/peer/jax_update.py", TINY " --tasks 2 --population 3", 0, together,
                  sizeof together);
    assert_non_null(strstr(together, "task update of all 3 runs: "));
    assert_non_null(strstr(together, " ms a run\n"));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            double expected = figure(alone, lines[i], names[k]);
            assert_near(figure(together, lines[i], names[k]), expected, 1e-3 * fabs(expected));
        }
}

TEST_CASE(a_preset_that_does_not_exist_is_refused)
{
    char out[4096];
    expect_output("bench/peer/jax_update.py", "--preset papper 2>&1", 2, out, sizeof out);
    assert_non_null(strstr(out, "no preset 'papper'; there are paper, small, quick"));
}

TEST_MAIN(NULL, NULL)
