// Child processes of a sweep: this program with other words, and the programs of Slurm.
#include "sweep/sweep.h"

#include "base/file.h"
#include "base/machine.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

wk_status wk_sweep_program(char out[WK_PATH_MAX], wk_error *err)
{
    char *path = realpath("/proc/self/exe", NULL);
    bool fits = path && snprintf(out, WK_PATH_MAX, "%s", path) < WK_PATH_MAX;
    free(path);
    if (fits) return WK_OK;
    return wk_fail(err, WK_E_IO, "the program itself cannot be found (/proc/self/exe)");
}

int wk_sweep_exit_code(int status, char line[WK_SWEEP_LINE_MAX])
{
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    snprintf(line, WK_SWEEP_LINE_MAX, "ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
    return 128 + WTERMSIG(status);
}

// In the child: only calls that are safe between fork and exec. Signals that are ignored, as by
// nohup, stay so.
static void become(const wk_sweep_process *process, char **argv, pid_t parent, int out,
                   int messages)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1); // it died before the line above
    if (out >= 0) dup2(out, STDOUT_FILENO);
    if (messages >= 0) dup2(messages, STDERR_FILENO);
    if (process->gpus) setenv("CUDA_VISIBLE_DEVICES", process->gpus, 1);
    execvp(process->program, argv);
    _exit(127);
}

// Starts a process; its output goes to `out` and `messages` (-1: those of this process).
static wk_status start(const wk_sweep_process *process, int out, int messages, pid_t *pid,
                       wk_error *err)
{
    size_t count = process->words->items.count;
    char **argv = process->words->failed ? NULL : calloc(count + 2, sizeof *argv);
    if (!argv) return wk_fail(err, WK_E_MEMORY, "no memory to start a process");
    argv[0] = (char *)process->program;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)process->words->items.items[i];
    pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) become(process, argv, parent, out, messages);
    free(argv);
    if (*pid < 0) return wk_file_error(err, "cannot start", process->program);
    setpgid(*pid, *pid);
    return WK_OK;
}

// -1 where there is none.
static wk_status open_log(const wk_sweep_process *process, int *fd, wk_error *err)
{
    *fd = -1;
    if (!process->log) return WK_OK;
    *fd = open(process->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    return *fd >= 0 ? WK_OK : wk_file_error(err, "cannot write", process->log);
}

wk_status wk_sweep_process_start(const wk_sweep_process *process, pid_t *pid, wk_error *err)
{
    int log;
    WK_TRY(open_log(process, &log, err));
    wk_status status = start(process, log, log, pid, err);
    if (log >= 0) close(log);
    return status;
}

// What a process says, cut into lines.
typedef struct listener {
    int fd;
    wk_text *output; // gets it; NULL: standard error does
    char rest[WK_SWEEP_LINE_MAX];
    size_t length;
    char *line; // the last that says something
} listener;

static void end_line(listener *l)
{
    l->rest[l->length] = 0;
    if (l->length > 0 && strncmp(l->rest, "Try 'waker", 10) != 0) {
        memcpy(l->line, l->rest, l->length + 1);
        wk_utf8_sanitise(l->line, false);
    }
    l->length = 0;
}

// Passes on what there is, waiting up to `ms`; false at the end.
static bool listen_once(listener *l, int ms)
{
    char bytes[4096];
    struct pollfd ready = {.fd = l->fd, .events = POLLIN};
    if (poll(&ready, 1, ms) <= 0) return ms > 0;
    ssize_t size = read(l->fd, bytes, sizeof bytes);
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    for (ssize_t i = 0; i < size; i++)
        if (bytes[i] == '\n' || bytes[i] == '\r')
            end_line(l);
        else if (l->length < sizeof l->rest - 1)
            l->rest[l->length++] = bytes[i];
    if (l->output) {
        wk_text_append(l->output, bytes, (size_t)size);
    } else {
        ssize_t written = write(STDERR_FILENO, bytes, (size_t)size);
        (void)written; // a closed terminal must not end a run
    }
    return size > 0;
}

// Waits for the end of a process; its exit code.
static int wait_for(pid_t pid, listener *l, const volatile sig_atomic_t *stop)
{
    // It may miss the signal while it is just being started, so that comes again.
    const double again = 10;
    double next = 0;
    bool open = true;
    int status;
    for (;;) {
        if (stop && *stop && wk_clock_seconds() >= next) {
            kill(pid, SIGTERM);
            next = wk_clock_seconds() + again;
        }
        if (open) open = listen_once(l, 100);
        pid_t ended = waitpid(pid, &status, open ? WNOHANG : 0);
        if (ended == pid) break;
        if (ended < 0 && errno != EINTR) return 127;
    }
    while (open)
        open = listen_once(l, 0);
    end_line(l);
    return wk_sweep_exit_code(status, l->line);
}

wk_status wk_sweep_process_run(const wk_sweep_process *process, int *code,
                               char line[WK_SWEEP_LINE_MAX], wk_error *err)
{
    int ends[2], log;
    pid_t pid;
    *line = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return wk_file_error(err, "cannot start", process->program);
    listener l = {.fd = ends[0], .output = process->output, .line = line};
    wk_status status = open_log(process, &log, err);
    if (status == WK_OK)
        status = start(process, process->output ? ends[1] : log, ends[1], &pid, err);
    if (log >= 0) close(log);
    close(ends[1]);
    if (status == WK_OK) *code = wait_for(pid, &l, process->stop);
    close(ends[0]);
    return status;
}
