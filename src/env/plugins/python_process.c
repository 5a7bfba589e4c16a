#include "env/plugins/python_process.h"

#include "base/file.h"
#include "base/machine.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

_Static_assert(offsetof(wk_python_shared, seed) == 32 && offsetof(wk_python_shared, theta) == 40 &&
                   offsetof(wk_python_shared, action) == 104 &&
                   offsetof(wk_python_shared, rewards) == 232 &&
                   offsetof(wk_python_shared, message) == 296 &&
                   offsetof(wk_python_shared, pid) == 4392 && sizeof(wk_python_shared) == 4400,
               "the worker has the same offsets");

// Descriptors as the worker has them, and the lowest that the parent's own ones get, so that none
// is overwritten on the way.
enum { CONTROL = 3, LIFE, MEMORY, SCRIPT, OWN_MIN = 10, LOCATE_SECONDS = 60 };
static const double CLOSE_SECONDS = 2, GUARD_SECONDS = 10;

// What one start needs, in the order of the worker's descriptors, and the parent's ends.
typedef struct ends {
    int worker[SCRIPT + 1]; // [CONTROL ... SCRIPT]; -1: not open
    int control, life;      // of the parent
} ends;

static void close_one(int *descriptor)
{
    if (*descriptor >= 0) close(*descriptor);
    *descriptor = -1;
}

static void close_workers(ends *e)
{
    for (int i = CONTROL; i <= SCRIPT; i++)
        close_one(&e->worker[i]);
}

// Moves a descriptor out of the worker's range.
static bool raise_descriptor(int *descriptor)
{
    int higher = fcntl(*descriptor, F_DUPFD_CLOEXEC, OWN_MIN);
    close(*descriptor);
    *descriptor = higher;
    return higher >= 0;
}

static bool open_memory(const char *name, size_t size, int *out)
{
    *out = memfd_create(name, MFD_CLOEXEC);
    return *out >= 0 && raise_descriptor(out) && ftruncate(*out, (off_t)size) == 0;
}

static bool open_pair(int type, int *worker, int *own)
{
    int pair[2];
    bool made = type ? socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0
                     : pipe2(pair, O_CLOEXEC) == 0; // a pipe's first end is the one to read from
    if (!made) return false;
    *worker = pair[0];
    *own = pair[1];
    return raise_descriptor(worker) && raise_descriptor(own);
}

// The worker's text from its beginning: each process reads it by an offset of its own.
static bool open_script(int *out)
{
    const wk_asset *script = wk_asset_find("worker.py");
    return open_memory("waker-worker", script->size, out) &&
           pwrite(*out, script->content, script->size, 0) == (ssize_t)script->size;
}

static bool open_ends(ends *e, size_t size)
{
    for (int i = 0; i <= SCRIPT; i++)
        e->worker[i] = -1;
    e->control = e->life = -1;
    return open_pair(SOCK_STREAM, &e->worker[CONTROL], &e->control) &&
           open_pair(0, &e->worker[LIFE], &e->life) &&
           open_memory("waker-python", size, &e->worker[MEMORY]) && open_script(&e->worker[SCRIPT]);
}

// A group of its own: Ctrl-C reaches the parent alone, and all of the group can be ended at once.
static int spawn(const ends *e, const char *mode, const char *spec, pid_t *pid)
{
    static char code[] = "exec(compile(open(6, 'rb').read(), '<waker worker>', 'exec'))";
    const char *named = getenv("WAKER_PYTHON"), *python = named && *named ? named : "python3";
    char *const arguments[] = {(char *)python, "-c", code, (char *)mode, (char *)spec, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigfillset(&usual);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO); // results stay alone
    for (int i = CONTROL; i <= SCRIPT; i++)
        posix_spawn_file_actions_adddup2(&files, e->worker[i], i);
    int fault = posix_spawnp(pid, python, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return fault;
}

static wk_status cannot_start(int fault, wk_error *err)
{
    const char *named = getenv("WAKER_PYTHON");
    return wk_fail(err, fault == ENOENT ? WK_E_NOT_FOUND : WK_E_IO,
                   "cannot start '%s' for a Python environment: %s; install Python 3, or set "
                   "WAKER_PYTHON to its program",
                   named && *named ? named : "python3", strerror(fault));
}

static wk_status start(wk_python_process *p, ends *e, const char *mode, const char *spec,
                       wk_error *err)
{
    const struct timeval tick = {.tv_usec = 100000}; // how often a wait looks at the clock
    if (!open_ends(e, p->size)) return cannot_start(errno, err);
    setsockopt(e->control, SOL_SOCKET, SO_RCVTIMEO, &tick, sizeof tick);
    void *memory = mmap(NULL, p->size, PROT_READ | PROT_WRITE, MAP_SHARED, e->worker[MEMORY], 0);
    if (memory == MAP_FAILED) return cannot_start(errno, err);
    p->shared = memory;
    int fault = spawn(e, mode, spec, &p->pid);
    return fault ? cannot_start(fault, err) : WK_OK;
}

wk_status wk_python_start(wk_python_process *p, const char *mode, const char *spec, size_t size,
                          wk_error *err)
{
    ends e;
    *p = (wk_python_process){.size = sizeof *p->shared + size};
    wk_status status = start(p, &e, mode, spec, err);
    close_workers(&e);
    if (status == WK_OK) {
        p->control = e.control;
        p->life = e.life;
        return WK_OK;
    }
    close_one(&e.control);
    close_one(&e.life);
    if (p->shared) munmap(p->shared, p->size);
    *p = (wk_python_process){0};
    return status;
}

int wk_python_pid(const wk_python_process *p)
{
    return p->shared->pid ? (int)p->shared->pid : (int)p->pid;
}

void wk_python_send(const wk_python_process *p)
{
    // One that is gone is noticed by the wait that follows.
    while (send(p->control, "!", 1, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}

// Waits until the process has ended, without forgetting how: until then its number is not
// another's.
static bool has_ended(pid_t pid, double seconds)
{
    double until = wk_clock_seconds() + seconds;
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        int fault = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        if (fault != 0 || info.si_pid == pid) return true;
        if (wk_clock_seconds() >= until) return false;
        usleep(1000);
    }
}

// Has the guard end the process and all that it started; returns how the process ended.
static int end_guard(wk_python_process *p)
{
    int status = 0;
    kill(p->pid, SIGTERM);
    if (!has_ended(p->pid, GUARD_SECONDS)) kill(-p->pid, SIGKILL);
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
        ;
    p->pid = 0;
    return status;
}

// It may have closed its end and live on.
static void explain_end(wk_python_process *p, char why[WK_PYTHON_MESSAGE_MAX])
{
    int pid = wk_python_pid(p);
    if (!has_ended(p->pid, CLOSE_SECONDS)) {
        snprintf(why, WK_PYTHON_MESSAGE_MAX, "process %d no longer listens", pid);
        return;
    }
    int status = end_guard(p);
    if (WIFSIGNALED(status))
        snprintf(why, WK_PYTHON_MESSAGE_MAX, "process %d was ended by signal %d (%s)", pid,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(why, WK_PYTHON_MESSAGE_MAX, "process %d exited with code %d", pid,
                 WEXITSTATUS(status));
}

// 1: a byte came; 0: the other end is closed; -1: neither in time.
static int receive(const wk_python_process *p, double seconds)
{
    char byte;
    double until = wk_clock_seconds() + seconds;
    for (;;) {
        ssize_t got = recv(p->control, &byte, 1, 0);
        if (got >= 0) return got == 1;
        if (errno != EINTR && errno != EAGAIN) return 0;
        if (wk_clock_seconds() >= until) return -1;
    }
}

wk_python_answer wk_python_wait(wk_python_process *p, double seconds,
                                char why[WK_PYTHON_MESSAGE_MAX])
{
    *why = 0;
    int got = receive(p, seconds);
    if (got == 0) {
        explain_end(p, why);
        return WK_PYTHON_DIED;
    }
    if (got < 0) {
        snprintf(why, WK_PYTHON_MESSAGE_MAX, "process %d did not answer for %g s", wk_python_pid(p),
                 seconds);
        return WK_PYTHON_HUNG;
    }
    uint32_t status = p->shared->status, length = p->shared->length;
    if (status == WK_PYTHON_DONE) return WK_PYTHON_DONE;
    if (length > WK_PYTHON_MESSAGE_MAX - 1) length = WK_PYTHON_MESSAGE_MAX - 1;
    memcpy(why, p->shared->message, length);
    why[length] = 0;
    return status == WK_PYTHON_FAILED ? WK_PYTHON_FAILED : WK_PYTHON_REFUSED;
}

void wk_python_dismiss(const wk_python_process *p)
{
    shutdown(p->control, SHUT_RDWR);
}

bool wk_python_stop(wk_python_process *p, bool gently, char why[WK_PYTHON_MESSAGE_MAX])
{
    if (!p->shared) return false;
    close(p->control); // by which it ends itself
    if (p->pid && gently) has_ended(p->pid, CLOSE_SECONDS);
    if (p->pid) end_guard(p);
    bool failed = gently && p->shared->close_failed;
    if (failed) snprintf(why, WK_PYTHON_MESSAGE_MAX, "%.4000s", p->shared->message);
    close(p->life);
    munmap(p->shared, p->size);
    *p = (wk_python_process){0};
    return failed;
}

wk_status wk_python_locate(const char *spec, char *out, size_t size, wk_error *err)
{
    wk_python_process p = {0};
    char why[WK_PYTHON_MESSAGE_MAX];
    WK_TRY(wk_python_start(&p, "locate", spec, 0, err));
    wk_python_answer answer = wk_python_wait(&p, LOCATE_SECONDS, why);
    size_t length = p.shared->length;
    wk_status status = WK_OK;
    if (answer != WK_PYTHON_DONE)
        status = wk_fail(err, WK_E_NOT_FOUND, "'%s': %.800s", spec, why);
    else if (length >= size || length >= sizeof p.shared->message)
        status = wk_fail(err, WK_E_INPUT, "'%s': its file's path is too long", spec);
    else
        snprintf(out, size, "%.*s", (int)length, p.shared->message);
    wk_python_stop(&p, true, why);
    return status;
}
