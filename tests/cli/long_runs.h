// What tests of commands that run for long share: a folder of their own, programs that are started
// without waiting, and signals sent once they are running.
#ifndef WK_TESTS_LONG_RUNS_H
#define WK_TESTS_LONG_RUNS_H

#include "support/program.h"
#include "train/runs.h"
#include <glob.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

// What takes longer than it takes to be interrupted: steps of train, updates of adapt. The address
// sanitizer makes both several times slower.
#ifdef __SANITIZE_ADDRESS__
enum { LONG_STEPS = 400, LONG_UPDATES = 700 };
#else
enum { LONG_STEPS = 800, LONG_UPDATES = 3000 };
#endif

static char home[] = "train-XXXXXX", place[400]; // a folder of our own; where programs run in it

static inline int setup(void **state)
{
    glob_t found;
    if (!mkdtemp(home) || chdir(home) != 0 || program_setup(state) != 0) return -1;
    if (glob("program-*", 0, NULL, &found) != 0) return -1;
    snprintf(place, sizeof place, "%s", found.gl_pathv[0]);
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

static inline void shell(const char *format, ...)
{
    char command[1024];
    int used = snprintf(command, sizeof command, "cd %s && ", place);
    va_list args;
    va_start(args, format);
    vsnprintf(command + used, sizeof command - (size_t)used, format, args);
    va_end(args);
    assert_int_equal(system(command), 0);
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

// Waits until the run has written measurements, that is, until its loop runs.
static inline void wait_for_metrics(const char *run)
{
    char name[64];
    snprintf(name, sizeof name, "%s/metrics.jsonl", run);
    for (int i = 0; i < 6000; i++) {
        unsigned long size = 0;
        unsigned char *bytes = program_read(name, &size);
        free(bytes);
        if (size > 0) return;
        pause_ms(5);
    }
    fail_msg("%s did not begin", run);
}

#endif
