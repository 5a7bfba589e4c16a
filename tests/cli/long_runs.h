// What tests of commands that run for long share: a folder of their own, programs that are started
// without waiting, and signals sent once they are running.
#ifndef WK_TESTS_LONG_RUNS_H
#define WK_TESTS_LONG_RUNS_H

#include "base/machine.h"
#include "support/program.h"
#include "train/runs.h"
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define QUIET_OPTIONS TINY_OPTIONS " --log.tensorboard false --quiet"

// What takes longer than it takes to be interrupted: steps of train, updates of adapt. The address
// sanitizer makes both several times slower.
#ifdef __SANITIZE_ADDRESS__
enum { LONG_STEPS = 400, LONG_UPDATES = 700 };
#else
enum { LONG_STEPS = 800, LONG_UPDATES = 3000 };
#endif

static char home[] = "train-XXXXXX";    // a folder of our own
static char place[400], load_mark[512]; // absolute: where programs run; what loaded code makes

static inline int setup(void **state)
{
    glob_t found;
    if (!mkdtemp(home) || chdir(home) != 0 || program_setup(state) != 0) return -1;
    if (glob("program-*", 0, NULL, &found) != 0) return -1;
    char *path = realpath(found.gl_pathv[0], NULL);
    snprintf(place, sizeof place, "%s", path);
    snprintf(load_mark, sizeof load_mark, "%.400s/LOADED", place);
    free(path);
    globfree(&found);
    return 0;
}

static inline int teardown(void **state)
{
    program_teardown(state);
    if (chdir("..") != 0) return -1;
    remove_tree(home);
    return 0;
}

static inline const char *inside(const char *name, char path[512])
{
    snprintf(path, 512, "%s/%s", place, name);
    return path;
}

__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
    char command[1024];
    int used = snprintf(command, sizeof command, "cd %s && ", place);
    va_list args;
    va_start(args, format);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
}

// Whether code was loaded since the last call.
static inline bool was_loaded(void)
{
    return unlink(load_mark) == 0;
}

static inline void expect_same_end(const char *run, const char *other)
{
    char a[512], b[512];
    same_end(inside(run, a), inside(other, b));
}

// Starts the program without waiting, in the directory of program_run.
static inline pid_t start(const char *options)
{
    char command[2048];
    snprintf(command, sizeof command, "cd %s && exec " WAKER_BINARY_DIR "/waker %s 2>/dev/null",
             place, options);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static inline int exit_code(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static inline void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

// How long a test waits for something that is bound to happen, however loaded the machine is.
enum { PATIENCE_SECONDS = 300 };

// Waits until a command of the shell succeeds in the directory of program_run.
__attribute__((format(printf, 1, 2))) static inline void wait_until(const char *format, ...)
{
    char condition[512], command[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(condition, sizeof condition, format, args);
    va_end(args);
    snprintf(command, sizeof command, "cd %s && %s", place, condition);
    double end = wk_clock_seconds() + PATIENCE_SECONDS;
    while (system(command) != 0) {
        if (wk_clock_seconds() > end) fail_msg("not within %d s: %s", PATIENCE_SECONDS, condition);
        pause_ms(10);
    }
}

// Waits until the run has written measurements, that is, until its loop runs.
static inline void wait_for_metrics(const char *run)
{
    char name[64];
    snprintf(name, sizeof name, "%s/metrics.jsonl", run);
    for (double end = wk_clock_seconds() + PATIENCE_SECONDS; wk_clock_seconds() < end;) {
        unsigned long size = 0;
        unsigned char *bytes = program_read(name, &size);
        free(bytes);
        if (size > 0) return;
        pause_ms(5);
    }
    fail_msg("%s did not begin", run);
}

// Starts a command that works in `run` and sends it the signal in the middle of that. Where the
// machine let it come to its end before the signal, `made` is removed and it is begun again.
// Returns with the process ended, or stopped where the signal is SIGSTOP.
static inline pid_t signal_in_the_middle(const char *command, const char *made, const char *run,
                                         int number, int *status)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = start(command);
        wait_for_metrics(run);
        kill(child, number);
        assert_int_equal(waitpid(child, status, WUNTRACED), child);
        if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) return child;
        shell("rm -r %s", made);
    }
    fail_msg("'%s' was never interrupted", command);
    return 0;
}

// Interrupts a command in the middle; it must have saved.
static inline void interrupt(const char *command, const char *made, const char *run, int number)
{
    int status;
    signal_in_the_middle(command, made, run, number, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 75);
}

// Starts a command and stops it in the middle, until SIGCONT.
static inline pid_t start_and_hold(const char *command, const char *made, const char *run)
{
    int status;
    pid_t child = signal_in_the_middle(command, made, run, SIGSTOP, &status);
    assert_true(WIFSTOPPED(status));
    return child;
}

#endif
