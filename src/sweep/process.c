#include "sweep/process.h"

#include "base/clock.h"
#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLL_MS = 100, LOG_END = 16384 };

bool wk_sweep_program(char out[WK_PATH_MAX])
{
    char *path = realpath("/proc/self/exe", NULL);
    bool fits = path && snprintf(out, WK_PATH_MAX, "%s", path) < WK_PATH_MAX;
    free(path);
    return fits;
}

// The words as execv takes them: the program first, NULL last.
static char **make_argv(const wk_sweep_process *process)
{
    size_t count = process->words->items.count;
    char **argv = calloc(count + 2, sizeof *argv);
    if (!argv) return NULL;
    argv[0] = (char *)process->program;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)process->words->items.items[i];
    return argv;
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
    execv(process->program, argv);
    _exit(127);
}

static wk_status start(const wk_sweep_process *process, int out, int messages, pid_t *pid,
                       wk_error *err)
{
    char **argv = process->words->failed ? NULL : make_argv(process);
    if (!argv) return wk_fail(err, WK_E_MEMORY, "no memory to start a process");
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

int wk_sweep_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Keeps the last line that says something.
static void keep_line(char line[WK_SWEEP_LINE_MAX], const char *text, size_t length)
{
    if (length == 0 || strncmp(text, "Try 'waker", 10) == 0) return;
    snprintf(line, WK_SWEEP_LINE_MAX, "%.*s", (int)length, text);
    wk_utf8_sanitise(line, false);
}

// Lines of the program itself. Others, as those of progress, say nothing about why it ended.
static bool is_message(const char *text)
{
    return text && strncmp(text, "waker ", 6) == 0;
}

void wk_sweep_signal_line(int status, const char *said, char line[WK_SWEEP_LINE_MAX])
{
    int used = snprintf(line, WK_SWEEP_LINE_MAX, "ended by signal %d (%s)", WTERMSIG(status),
                        strsignal(WTERMSIG(status)));
    if (is_message(said) && used < WK_SWEEP_LINE_MAX)
        snprintf(line + used, WK_SWEEP_LINE_MAX - (size_t)used, ": %s", said);
    wk_utf8_sanitise(line, false); // it may have been cut within a character
}

off_t wk_sweep_log_size(const char *log)
{
    struct stat file;
    bool there = fstatat(AT_FDCWD, log, &file, AT_SYMLINK_NOFOLLOW) == 0;
    return there && S_ISREG(file.st_mode) ? file.st_size : 0;
}

void wk_sweep_log_message(const char *log, off_t begin, char line[WK_SWEEP_LINE_MAX])
{
    char bytes[LOG_END + 1];
    off_t size = wk_sweep_log_size(log);
    if (size - begin > LOG_END) begin = size - LOG_END;
    *line = 0;
    int fd = open(log, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return;
    ssize_t length = pread(fd, bytes, LOG_END, begin);
    close(fd);
    bytes[length > 0 ? length : 0] = 0;
    char *rest = bytes;
    for (char *item; (item = strsep(&rest, "\r\n"));)
        if (is_message(item)) keep_line(line, item, strlen(item));
}

// What a process says, cut into lines.
typedef struct listener {
    int fd;
    char rest[WK_SWEEP_LINE_MAX];
    size_t length;
    char *line;
} listener;

static void hear(listener *l, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bool end = bytes[i] == '\n' || bytes[i] == '\r';
        if (end) keep_line(l->line, l->rest, l->length);
        if (end)
            l->length = 0;
        else if (l->length < sizeof l->rest - 1)
            l->rest[l->length++] = bytes[i];
    }
}

// Passes on what there is; false at the end.
static bool listen_once(listener *l)
{
    char bytes[4096];
    struct pollfd ready = {.fd = l->fd, .events = POLLIN};
    if (poll(&ready, 1, POLL_MS) <= 0) return true;
    ssize_t size = read(l->fd, bytes, sizeof bytes);
    if (size < 0) return errno == EINTR || errno == EAGAIN;
    if (size == 0) return false;
    hear(l, bytes, (size_t)size);
    ssize_t written = write(STDERR_FILENO, bytes, (size_t)size);
    (void)written; // a closed terminal must not end a run
    return true;
}

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
        if (open) open = listen_once(l);
        pid_t ended = waitpid(pid, &status, open ? WNOHANG : 0);
        if (ended == pid) break;
        if (ended < 0 && errno != EINTR) return 127;
    }
    while (open && poll(&(struct pollfd){.fd = l->fd, .events = POLLIN}, 1, 0) > 0)
        open = listen_once(l);
    keep_line(l->line, l->rest, l->length);
    if (WIFSIGNALED(status)) {
        char said[WK_SWEEP_LINE_MAX];
        snprintf(said, sizeof said, "%s", l->line);
        wk_sweep_signal_line(status, said, l->line);
    }
    return wk_sweep_exit_code(status);
}

wk_status wk_sweep_process_run(const wk_sweep_process *process, const volatile sig_atomic_t *stop,
                               int *code, char line[WK_SWEEP_LINE_MAX], wk_error *err)
{
    int ends[2], log;
    pid_t pid;
    *line = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return wk_file_error(err, "cannot start", process->program);
    listener l = {.fd = ends[0], .line = line};
    wk_status status = open_log(process, &log, err);
    if (status == WK_OK) status = start(process, log, ends[1], &pid, err);
    if (log >= 0) close(log);
    close(ends[1]);
    if (status == WK_OK) *code = wait_for(pid, &l, stop);
    close(ends[0]);
    return status;
}
