// How far the tasks of a sweep are, read from their directories; who works on them, and the
// manifest.
#include "sweep/sweep.h"

#include "base/file.h"
#include "base/json.h"
#include "run/checkpoint.h"
#include "run/disk.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ATTEMPT[] = "attempt.json", GRID[] = "grid.yaml", HOLDER[] = "holder";

const char *const wk_sweep_phase_names[WK_SWEEP_PHASES] = {
    [WK_SWEEP_WAITING] = "waiting", [WK_SWEEP_STOPPED] = "stopped", [WK_SWEEP_RUNNING] = "running",
    [WK_SWEEP_TRAINED] = "trained", [WK_SWEEP_FAILED] = "failed",   [WK_SWEEP_DONE] = "done",
};

// Marks of commands that followed a run. They lie with the results they stand for, so that they go
// where these go.
static const struct {
    const char *folder, *name;
} marks[WK_SWEEP_FOLLOWS] = {
    [WK_SWEEP_ADAPT] = {"adapt", "adapt.done"},
    [WK_SWEEP_EVAL] = {"eval", "eval.done"},
    [WK_SWEEP_MODEL_ERROR] = {"eval", "model-error.done"},
};

static void print_mark(const wk_sweep_plan *plan, int task, wk_sweep_follow_kind follow,
                       wk_text *out)
{
    const wk_sweep_command *command = &plan->grid->follow[follow];
    wk_text_printf(out, "%" PRIu64, plan->tasks.items[task].steps);
    for (int i = 0; i < command->count; i++) {
        wk_text_puts(out, " ");
        wk_text_shell_quote(out, command->options[i]);
    }
    wk_text_puts(out, "\n");
}

static wk_status read_mark(const wk_sweep_plan *plan, const wk_dir *run, int task,
                           wk_sweep_follow_kind follow, bool *done, wk_error *err)
{
    enum { LIMIT = 1 << 16 };
    char path[64], *there = NULL;
    size_t size;
    wk_text wanted = {0};
    if (*done) return WK_OK;
    snprintf(path, sizeof path, "%s/%s", marks[follow].folder, marks[follow].name);
    wk_status status = wk_file_read_in(run, path, LIMIT, &there, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    print_mark(plan, task, follow, &wanted);
    *done = !wanted.failed && strcmp(there, wk_text_get(&wanted)) == 0;
    wk_text_free(&wanted);
    free(there);
    return WK_OK;
}

wk_status wk_sweep_follow_done(const wk_sweep_plan *plan, int task, wk_sweep_follow_kind follow,
                               wk_error *err)
{
    wk_dir *run, *folder;
    wk_text text = {0};
    // A run that was moved away is not begun anew by its mark.
    WK_TRY(wk_dir_open_below(plan->directory, plan->tasks.items[task].name, false, &run, err));
    wk_status status = wk_dir_make(run, marks[follow].folder, &folder, err);
    wk_dir_close(run);
    WK_TRY(status);
    print_mark(plan, task, follow, &text);
    status = wk_file_write_text(folder, marks[follow].name, &text, err);
    wk_dir_close(folder);
    return status;
}

// Attempts.

static wk_status open_task(const wk_sweep_plan *plan, int task, bool make, wk_dir **out,
                           wk_error *err)
{
    char path[WK_PATH_MAX];
    WK_TRY(wk_path_print(path, err, WK_SWEEP_FOLDER "/tasks/%s", plan->tasks.items[task].name));
    return wk_dir_open_below(plan->directory, path, make, out, err);
}

wk_status wk_sweep_task_log(const wk_sweep_plan *plan, int task, char out[WK_PATH_MAX],
                            wk_error *err)
{
    wk_dir *folder;
    WK_TRY(open_task(plan, task, true, &folder, err));
    wk_dir_close(folder);
    return wk_path_print(out, err, "%s/" WK_SWEEP_FOLDER "/tasks/%s/log", plan->directory,
                         plan->tasks.items[task].name);
}

// What a damaged file said does not count: the task may be tried again.
static wk_status read_attempt(const wk_dir *dir, wk_sweep_attempt *out, wk_error *err)
{
    enum { LIMIT = 1 << 16, ATTEMPTS_MAX = 1000000 };
    char *bytes;
    const char *error = "";
    size_t size;
    wk_document d;
    wk_arena arena = {0};
    *out = (wk_sweep_attempt){0};
    wk_status status = wk_file_read_in(dir, ATTEMPT, LIMIT, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    WK_TRY(status);
    status = wk_document_start(ATTEMPT, bytes, size, &d, NULL);
    while (status == WK_OK && wk_document_member(&d))
        if (wk_document_take_count(&d, "attempts", &out->count) ||
            wk_document_take_integer(&d, "progress", &out->progress) ||
            wk_document_take_bool(&d, "open", &out->open) ||
            wk_document_take_count(&d, "code", &out->code) ||
            wk_document_take_string(&d, "error", &arena, &error))
            continue;
    snprintf(out->error, sizeof out->error, "%s", error);
    wk_utf8_sanitise(out->error, false);
    if (wk_document_close(&d, NULL) != WK_OK || status != WK_OK || out->count > ATTEMPTS_MAX)
        *out = (wk_sweep_attempt){0};
    wk_arena_reset(&arena);
    free(bytes);
    return WK_OK;
}

static wk_status write_attempt(const wk_dir *dir, const wk_sweep_attempt *attempt, wk_error *err)
{
    wk_text text = {0};
    wk_json json = {.text = &text};
    wk_json_object(&json, NULL);
    wk_json_integer(&json, "attempts", attempt->count);
    wk_json_unsigned(&json, "progress", attempt->progress);
    wk_json_bool(&json, "open", attempt->open);
    wk_json_integer(&json, "code", attempt->code);
    wk_json_string(&json, "error", attempt->error);
    wk_json_close(&json, '}');
    wk_text_puts(&text, "\n");
    return wk_file_write_text(dir, ATTEMPT, &text, err);
}

wk_status wk_sweep_claim_take(const wk_sweep_plan *plan, int task, wk_sweep_claim *out,
                              wk_error *err)
{
    wk_sweep_state state;
    *out = (wk_sweep_claim){0};
    WK_TRY(open_task(plan, task, true, &out->dir, err));
    wk_status status = wk_lock_take(out->dir, &out->lock, err);
    if (status == WK_E_INPUT)
        status = wk_fail(err, status, "another process is already working on the task '%s'",
                         plan->tasks.items[task].name);
    if (status == WK_OK) status = wk_sweep_state_read(plan, task, 0, &state, err);
    if (status == WK_OK && state.foreign)
        status = wk_fail(err, WK_E_INPUT, "%s", state.attempt.error);
    if (status == WK_OK) {
        wk_sweep_attempt *attempt = &state.attempt;
        uint64_t progress = wk_sweep_progress(&state);
        attempt->count = progress == attempt->progress ? attempt->count + 1 : 1;
        attempt->progress = progress;
        attempt->open = true;
        status = write_attempt(out->dir, attempt, err);
    }
    if (status != WK_OK) wk_sweep_claim_drop(out);
    return status;
}

void wk_sweep_claim_drop(wk_sweep_claim *claim)
{
    wk_lock_release(&claim->lock);
    wk_dir_close(claim->dir);
    *claim = (wk_sweep_claim){0};
}

// Only failures are kept.
static wk_status end_attempt(const wk_dir *dir, int code, const char *error, wk_error *err)
{
    wk_sweep_attempt attempt;
    if (code == 0 || code == WK_SWEEP_EXIT_SAVED) return wk_dir_remove(dir, ATTEMPT, err);
    WK_TRY(read_attempt(dir, &attempt, err));
    attempt.open = false;
    attempt.code = code;
    snprintf(attempt.error, sizeof attempt.error, "%s", error);
    wk_utf8_sanitise(attempt.error, false);
    return write_attempt(dir, &attempt, err);
}

wk_status wk_sweep_claim_end(wk_sweep_claim *claim, int code, const char *error, wk_error *err)
{
    wk_status status = end_attempt(claim->dir, code, error, err);
    wk_sweep_claim_drop(claim);
    return status;
}

wk_status wk_sweep_attempt_close(const wk_sweep_plan *plan, int task, int code, const char *error,
                                 wk_error *err)
{
    wk_sweep_claim claim = {0};
    wk_sweep_attempt attempt;
    WK_TRY(open_task(plan, task, true, &claim.dir, err));
    wk_status status = wk_lock_take(claim.dir, &claim.lock, err);
    bool claimed = status == WK_E_INPUT; // by another process, whose attempt it is now
    if (status == WK_OK) status = read_attempt(claim.dir, &attempt, err);
    if (status == WK_OK && attempt.open) status = end_attempt(claim.dir, code, error, err);
    wk_sweep_claim_drop(&claim);
    return claimed ? WK_OK : status;
}

wk_status wk_sweep_attempt_forget(const wk_sweep_plan *plan, int task, wk_error *err)
{
    wk_dir *dir = NULL;
    WK_TRY(open_task(plan, task, true, &dir, err));
    wk_status status = wk_dir_remove(dir, ATTEMPT, err);
    wk_dir_close(dir);
    return status;
}

// The state of a task.

// Whether all is there that a run leaves at its end: the checkpoint of the last step, its weights
// and, where the run evaluates, its results.
static bool is_trained(const wk_dir *run, const wk_sweep_task *task, uint64_t last)
{
    char name[WK_STEP_NAME_MAX], path[WK_STEP_NAME_MAX * 2];
    struct stat info;
    wk_step_name("", last, ".safetensors", name);
    snprintf(path, sizeof path, "snapshots/%s", name);
    if (last < task->steps || fstatat(wk_dir_fd(run), path, &info, 0) != 0) return false;
    snprintf(path, sizeof path, "eval/alongside-%012" PRIu64 ".json", last);
    return !task->evaluates || fstatat(wk_dir_fd(run), path, &info, 0) == 0;
}

// Whether the checkpoint is of a run with other settings than the task's. One that cannot be read,
// and plug-ins, which are known only once they are loaded, are left to the training.
static bool is_foreign(const wk_sweep_plan *plan, const wk_dir *run, int task, uint64_t step)
{
    static _Thread_local wk_merged_config merged;
    char name[WK_STEP_NAME_MAX], path[WK_STEP_NAME_MAX * 2];
    wk_run_header head;
    wk_step_name("", step, "", name);
    snprintf(path, sizeof path, WK_CHECKPOINT_FOLDER "/%s/" WK_CHECKPOINT_RUN_FILE, name);
    int fd = openat(wk_dir_fd(run), path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool read = pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head;
    close(fd);
    if (!read || head.config == plan->tasks.items[task].hash) return false;
    if (wk_sweep_task_config(plan, task, &merged, NULL) != WK_OK) return false;
    if (*merged.config.plugin || *merged.config.curriculum_plugin) return false;
    return wk_run_config_hash(&merged.config) != head.config;
}

// What lies in the run's directory.
static wk_status read_run(const wk_sweep_plan *plan, const wk_dir *run, int task,
                          wk_sweep_state *out, bool *begun, bool *held, wk_error *err)
{
    const wk_sweep_task *t = &plan->tasks.items[task];
    wk_steps checkpoints = {0};
    wk_dir *folder;
    WK_TRY(wk_file_exists_in(run, "config.yaml", begun, err));
    WK_TRY(wk_lock_held(run, held, err));
    wk_status status = wk_dir_open(run, WK_CHECKPOINT_FOLDER, &folder, err);
    if (status == WK_OK) {
        status = wk_steps_list(folder, "", "", &checkpoints, err);
        wk_dir_close(folder);
    } else if (status == WK_E_NOT_FOUND)
        status = WK_OK;
    if (checkpoints.count > 0) out->steps = checkpoints.items[checkpoints.count - 1];
    wk_array_free(&checkpoints);
    WK_TRY(status);
    out->foreign = out->steps > 0 && is_foreign(plan, run, task, out->steps);
    out->trained = !out->foreign && is_trained(run, t, out->steps);
    // While somebody trains it, the log is newer than the last checkpoint.
    if (*held) {
        const wk_run_config *config = &plan->shapes.items[t->shape].config;
        wk_run_progress now = {.total = t->steps, .prefill = (uint64_t)config->prefill};
        WK_TRY(wk_run_progress_read_in(run, &now, err));
        out->steps = now.now.steps;
        out->seconds_left = wk_run_seconds_left(&now, wk_run_rate_by_files(&now));
    }
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        WK_TRY(read_mark(plan, run, task, (wk_sweep_follow_kind)i, &out->follow[i], err));
    return WK_OK;
}

static wk_sweep_task_phase phase_of(const wk_sweep_state *state, bool begun, bool held,
                                    int attempts)
{
    enum { USAGE = 2 }; // bad input, which does not get better by trying again
    const wk_sweep_attempt *last = &state->attempt;
    bool complete = state->trained;
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        complete &= state->follow[i];
    if (held) return WK_SWEEP_RUNNING;
    if (state->foreign) return WK_SWEEP_FAILED;
    if (complete) return WK_SWEEP_DONE;
    bool hopeless = last->count >= attempts || (!last->open && last->code == USAGE);
    if (last->count > 0 && hopeless && last->progress == wk_sweep_progress(state))
        return WK_SWEEP_FAILED;
    if (state->trained) return WK_SWEEP_TRAINED;
    return begun ? WK_SWEEP_STOPPED : WK_SWEEP_WAITING;
}

wk_status wk_sweep_state_read(const wk_sweep_plan *plan, int task, int attempts,
                              wk_sweep_state *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_dir *run = NULL, *folder = NULL;
    wk_error wrong = {0};
    bool begun = false, training = false, claimed = false;
    *out = (wk_sweep_state){.seconds_left = NAN};
    WK_TRY(wk_sweep_task_path(plan, task, path, err));
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        out->follow[i] = !plan->grid->follow[i].present;
    // The run. What is wrong with one concerns no other: it is said when that run is started.
    wk_status found =
        wk_dir_open_below(plan->directory, plan->tasks.items[task].name, false, &run, &wrong);
    bool linked = found == WK_E_INPUT;
    if (found == WK_E_NOT_FOUND) found = WK_OK;
    if (run) found = read_run(plan, run, task, out, &begun, &training, &wrong);
    wk_dir_close(run);
    out->foreign |= linked;
    // Who works on the task, and how earlier attempts ended.
    wk_status status = open_task(plan, task, false, &folder, err);
    if (status == WK_OK) status = wk_lock_held(folder, &claimed, err);
    if (status == WK_OK) status = read_attempt(folder, &out->attempt, err);
    wk_dir_close(folder);
    if (status == WK_E_NOT_FOUND) status = WK_OK;
    if (out->foreign && !linked)
        snprintf(out->attempt.error, sizeof out->attempt.error,
                 "'%.400s' holds a run with other settings; move it away", path);
    else if (found != WK_OK && (linked || !*out->attempt.error))
        snprintf(out->attempt.error, sizeof out->attempt.error, "%.500s", wrong.message);
    if (attempts <= 0) attempts = WK_SWEEP_ATTEMPTS;
    out->phase = phase_of(out, begun, training || claimed, attempts);
    return status;
}

uint64_t wk_sweep_progress(const wk_sweep_state *state)
{
    uint64_t progress = state->steps + state->trained;
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        progress += state->follow[i];
    return progress;
}

// The directory of the sweep.

wk_status wk_sweep_folder_holder(const char *directory, wk_sweep_holder *out, wk_error *err)
{
    char *text = NULL;
    size_t size;
    bool held = false;
    wk_dir *dir;
    *out = (wk_sweep_holder){0};
    wk_status status = wk_dir_open_below(directory, WK_SWEEP_FOLDER, false, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_lock_held(dir, &held, err);
    if (status == WK_OK && held) status = wk_file_read_in(dir, HOLDER, 4096, &text, &size, err);
    if (text && sscanf(text, "%ld %255s", &out->pid, out->host) < 1) out->pid = 0;
    out->certain = wk_lock_is_open_in(dir, out->pid);
    wk_dir_close(dir);
    free(text);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

wk_status wk_sweep_folder_open(const char *directory, wk_sweep_folder *out, wk_error *err)
{
    wk_sweep_holder holder = {0};
    char text[320];
    *out = (wk_sweep_folder){0};
    WK_TRY(wk_dir_open_below(directory, WK_SWEEP_FOLDER, true, &out->dir, err));
    wk_status status = wk_lock_take(out->dir, &out->lock, err);
    if (status == WK_OK) { // who has it, for messages of others
        if (gethostname(holder.host, sizeof holder.host - 1) != 0) strcpy(holder.host, "?");
        int length = snprintf(text, sizeof text, "%ld %s\n", (long)getpid(), holder.host);
        return wk_file_write_in(out->dir, HOLDER, text, (size_t)length, err);
    }
    if (status != WK_E_INPUT) return status;
    WK_TRY(wk_sweep_folder_holder(directory, &holder, err));
    if (holder.pid == 0)
        return wk_fail(err, WK_E_INPUT, "another sweep is running in '%s'; stop it first",
                       directory);
    return wk_fail(
        err, WK_E_INPUT,
        "another sweep is running in '%s' (process %ld on %s); 'waker sweep cancel %s' stops it",
        directory, holder.pid, holder.host, directory);
}

void wk_sweep_folder_close(wk_sweep_folder *folder)
{
    wk_lock_release(&folder->lock);
    wk_dir_close(folder->dir);
    *folder = (wk_sweep_folder){0};
}

wk_status wk_sweep_folder_check(const wk_sweep_folder *folder, wk_error *err)
{
    struct stat held, there;
    const char *path = wk_dir_path(folder->dir);
    if (fstat(wk_dir_fd(folder->dir), &held) != 0)
        return wk_file_error(err, "cannot look at", path);
    bool found = fstatat(AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!found && errno != ENOENT) return wk_file_error(err, "cannot look at", path);
    if (found && held.st_ino == there.st_ino && held.st_dev == there.st_dev)
        return wk_lock_check(&folder->lock, err);
    return wk_fail(
        err, WK_E_IO,
        "'%s' was deleted, moved or replaced while the sweep was running; its processes were "
        "stopped. If it was moved, resume with 'waker sweep --logdir' and the new path",
        path);
}

static wk_status grid_path(const char *directory, char out[WK_PATH_MAX], wk_error *err)
{
    return wk_path_print(out, err, "%s/" WK_SWEEP_FOLDER "/%s", directory, GRID);
}

wk_status wk_sweep_folder_exists(const char *directory, bool *exists, wk_error *err)
{
    char path[WK_PATH_MAX];
    *exists = false;
    WK_TRY(grid_path(directory, path, err));
    return wk_file_exists_in(NULL, path, exists, err);
}

wk_status wk_sweep_folder_grid(const char *directory, wk_sweep_grid *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    bool exists;
    *out = (wk_sweep_grid){0};
    WK_TRY(wk_sweep_folder_exists(directory, &exists, err));
    if (!exists)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' holds no sweep (no " WK_SWEEP_FOLDER
                       "/%s); start one with 'waker sweep GRID.yaml --logdir %s'",
                       directory, GRID, directory);
    WK_TRY(grid_path(directory, path, err));
    return wk_sweep_grid_open(path, out, err);
}

wk_status wk_sweep_folder_write(const wk_sweep_folder *folder, const wk_sweep_grid *grid,
                                wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "# The grid of this directory's sweep; 'waker sweep add' adds to it.\n");
    wk_sweep_grid_print(grid, &text);
    return wk_file_write_text(folder->dir, GRID, &text, err);
}

wk_status wk_sweep_manifest_write(const wk_sweep_plan *plan, int attempts, wk_error *err)
{
    char manifest[WK_PATH_MAX], run[WK_PATH_MAX];
    wk_sweep_plan without_code = *plan; // a file cannot name code
    without_code.plugin = without_code.rule = NULL;
    wk_text text = {0};
    wk_status status =
        wk_path_print(manifest, err, "%s/" WK_SWEEP_FOLDER "/manifest.jsonl", plan->directory);
    for (int i = 0; status == WK_OK && i < (int)plan->tasks.count; i++) {
        const wk_sweep_task *task = &plan->tasks.items[i];
        wk_sweep_state state;
        wk_text command = {0};
        wk_sweep_words words = {0};
        status = wk_sweep_state_read(plan, i, attempts, &state, err);
        if (status == WK_OK) status = wk_sweep_task_path(plan, i, run, err);
        if (status != WK_OK) break;
        wk_sweep_task_words(&without_code, &i, 1, &words);
        wk_sweep_words_print(&words, "waker", &command);
        wk_text_printf(&text, "{\"task\": %d, \"name\": ", i);
        wk_text_quote(&text, task->name);
        wk_text_puts(&text, ", \"shape\": ");
        wk_text_quote(&text, plan->shapes.items[task->shape].name);
        wk_text_puts(&text, ", \"command\": ");
        wk_text_quote(&text, wk_text_get(&command));
        wk_text_puts(&text, ", \"directory\": ");
        wk_text_quote(&text, run);
        wk_text_printf(&text, ", \"state\": \"%s\"}\n", wk_sweep_phase_names[state.phase]);
        text.failed |= command.failed;
        wk_sweep_words_free(&words);
        wk_text_free(&command);
    }
    if (status == WK_OK) return wk_file_write_text(NULL, manifest, &text, err);
    wk_text_free(&text);
    return status;
}
