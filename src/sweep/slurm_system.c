#include "sweep/slurm_system.h"

#include "base/file.h"
#include "sweep/folder.h"
#include "sweep/process.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static wk_status call_error(wk_error *err, const char *program, int code)
{
    const char *advice =
        code == ENOENT ? "; is this a machine from which jobs are submitted to Slurm?" : "";
    return wk_fail(err, code == ENOENT ? WK_E_NOT_FOUND : WK_E_IO, "cannot run '%s': %s%s", program,
                   strerror(code), advice);
}

// Both outputs go into the pipe; nothing is read from the terminal.
static int spawn(const char *const *words, const int pipe_ends[2], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0) return code;
    if (code == 0)
        code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
    if (code == 0) code = posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
    if (code == 0)
        code =
            posix_spawnp(pid, words[0], &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

static void read_all(int fd, wk_text *out)
{
    char bytes[4096];
    ssize_t length;
    while ((length = read(fd, bytes, sizeof bytes)) > 0 || (length < 0 && errno == EINTR))
        if (length > 0) wk_text_append(out, bytes, (size_t)length);
}

static wk_status call(void *context, const char *const *words, wk_text *output, int *code,
                      wk_error *err)
{
    int ends[2], status = 0;
    pid_t pid;
    (void)context;
    if (pipe2(ends, O_CLOEXEC) != 0) return call_error(err, words[0], errno);
    int failed = spawn(words, ends, &pid);
    close(ends[1]);
    if (failed == 0) read_all(ends[0], output);
    close(ends[0]);
    if (failed != 0) return call_error(err, words[0], failed);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return call_error(err, words[0], errno);
    *code = wk_sweep_exit_code(status);
    return WK_OK;
}

static wk_status read_file(void *context, const char *name, wk_text *out, wk_error *err)
{
    enum { LIMIT = 1 << 24 };
    const wk_slurm_folder *folder = context;
    char *bytes;
    size_t size;
    WK_TRY(wk_file_read_in(folder->dir, name, LIMIT, &bytes, &size, err));
    wk_text_append(out, bytes, size);
    free(bytes);
    return WK_OK;
}

static wk_status write_file(void *context, const char *name, const char *text, wk_error *err)
{
    const wk_slurm_folder *folder = context;
    return wk_file_write_in(folder->dir, name, text, strlen(text), err);
}

static wk_status remove_file(void *context, const char *name, wk_error *err)
{
    const wk_slurm_folder *folder = context;
    return wk_dir_remove(folder->dir, name, err);
}

static wk_status list_files(void *context, wk_names *out, wk_error *err)
{
    const wk_slurm_folder *folder = context;
    return wk_dir_list(folder->dir, out, err);
}

static wk_status phase_of(void *context, int task, wk_sweep_task_phase *out, wk_error *err)
{
    const wk_slurm_folder *folder = context;
    wk_sweep_state state;
    WK_TRY(wk_sweep_state_read(folder->plan, folder->directory, task, 0, &state, err));
    *out = state.phase;
    return WK_OK;
}

static wk_status check_path(const char *path, wk_error *err)
{
    for (const char *c = path; *c; c++)
        if (iscntrl((unsigned char)*c) || *c == '"' || *c == '\\')
            return wk_fail(err, WK_E_INPUT,
                           "the path '%s' has a character that Slurm's scripts cannot name; give "
                           "the directory another name",
                           path);
    return WK_OK;
}

// Jobs run elsewhere and later: their paths are absolute.
static wk_status set_paths(wk_slurm_folder *folder, const char *directory, wk_error *err)
{
    char *path = realpath(directory, NULL);
    if (!path) return wk_file_error(err, "cannot find", directory);
    int length = snprintf(folder->directory, sizeof folder->directory, "%s", path);
    free(path);
    if (length >= (int)sizeof folder->directory - 64)
        return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", folder->directory);
    if (!wk_sweep_program(folder->program))
        return wk_fail(err, WK_E_IO, "the program itself cannot be found (/proc/self/exe)");
    return WK_OK;
}

static wk_status open_folder(const char *directory, const wk_sweep_plan *plan, const wk_log *log,
                             bool make, wk_slurm_folder *out, wk_error *err)
{
    WK_TRY(set_paths(out, directory, err));
    out->plan = plan;
    out->system = (wk_slurm_system){.context = out,
                                    .call = call,
                                    .read = read_file,
                                    .write = write_file,
                                    .remove = remove_file,
                                    .list = list_files,
                                    .phase = phase_of,
                                    .program = out->program,
                                    .directory = out->directory,
                                    .plan = plan,
                                    .log = *log};
    if (make) {
        WK_TRY(check_path(out->directory, err));
        WK_TRY(wk_dir_make_below(out->directory, WK_SWEEP_FOLDER "/slurm/logs", err));
    }
    return wk_dir_open_below(out->directory, WK_SWEEP_FOLDER "/slurm", false, &out->dir, err);
}

wk_status wk_slurm_folder_open(const char *directory, const wk_sweep_plan *plan, const wk_log *log,
                               wk_slurm_folder *out, wk_error *err)
{
    return open_folder(directory, plan, log, true, out, err);
}

wk_status wk_slurm_folder_open_existing(const char *directory, const wk_sweep_plan *plan,
                                        const wk_log *log, wk_slurm_folder *out, wk_error *err)
{
    wk_status status = open_folder(directory, plan, log, false, out, err);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

void wk_slurm_folder_close(wk_slurm_folder *folder)
{
    wk_dir_close(folder->dir);
    *folder = (wk_slurm_folder){0};
}
