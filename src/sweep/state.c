#include "sweep/state.h"

#include "base/file.h"
#include "run/checkpoint.h"
#include "run/disk.h"
#include "sweep/folder.h"
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const wk_sweep_phase_names[WK_SWEEP_PHASES] = {
    [WK_SWEEP_WAITING] = "waiting", [WK_SWEEP_STOPPED] = "stopped", [WK_SWEEP_RUNNING] = "running",
    [WK_SWEEP_TRAINED] = "trained", [WK_SWEEP_FAILED] = "failed",   [WK_SWEEP_DONE] = "done",
};

// Where the mark of a command that followed lies: with the results it stands for, so that it goes
// where they go.
static const struct {
    const char *folder, *name;
} marks[WK_SWEEP_FOLLOWS] = {
    [WK_SWEEP_ADAPT] = {"adapt", "adapt.done"},
    [WK_SWEEP_EVAL] = {"eval", "eval.done"},
    [WK_SWEEP_MODEL_ERROR] = {"eval", "model-error.done"},
};
enum { MARK_LIMIT = 1 << 16 };

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

// Opens a directory; NULL where there is none.
static wk_status open_if_there(const wk_dir *in, const char *name, wk_dir **out, wk_error *err)
{
    *out = NULL;
    wk_status status = wk_dir_open(in, name, out, err);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

static wk_status read_mark(const wk_dir *run, wk_sweep_follow_kind follow, char **text,
                           wk_error *err)
{
    wk_dir *folder;
    size_t size;
    *text = NULL;
    WK_TRY(open_if_there(run, marks[follow].folder, &folder, err));
    if (!folder) return WK_OK;
    wk_status status = wk_file_read_in(folder, marks[follow].name, MARK_LIMIT, text, &size, err);
    wk_dir_close(folder);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

static wk_status is_followed(const wk_sweep_plan *plan, const wk_dir *run, int task,
                             wk_sweep_follow_kind follow, bool *out, wk_error *err)
{
    char *there;
    wk_text wanted = {0};
    *out = !plan->grid->follow[follow].present;
    if (*out) return WK_OK;
    WK_TRY(read_mark(run, follow, &there, err));
    print_mark(plan, task, follow, &wanted);
    *out = there && !wanted.failed && strcmp(there, wk_text_get(&wanted)) == 0;
    wk_text_free(&wanted);
    free(there);
    return WK_OK;
}

wk_status wk_sweep_follow_done(const wk_sweep_plan *plan, const char *directory, int task,
                               wk_sweep_follow_kind follow, wk_error *err)
{
    const char *name = plan->tasks.items[task].name;
    wk_dir *run = NULL, *folder = NULL;
    wk_text text = {0};
    wk_status status = wk_dir_open_below(directory, name, false, &run, err);
    if (status == WK_OK) status = wk_dir_make(run, marks[follow].folder, &folder, err);
    if (status == WK_OK) {
        print_mark(plan, task, follow, &text);
        status = wk_file_write_text(folder, marks[follow].name, &text, err);
    }
    wk_dir_close(folder);
    wk_dir_close(run);
    return status;
}

// Steps of what lies in a folder of the run under names of steps; a folder that is not there has
// none.
static wk_status list_steps(const wk_dir *run, const char *folder, const char *after, wk_steps *out,
                            wk_error *err)
{
    wk_dir *dir;
    WK_TRY(open_if_there(run, folder, &dir, err));
    wk_status status = dir ? wk_steps_list(dir, "", after, out, err) : WK_OK;
    wk_dir_close(dir);
    return status;
}

static bool file_in(const wk_dir *run, const char *folder, const char *name)
{
    char path[WK_PATH_MAX];
    struct stat info;
    return wk_path_join(folder, name, path, NULL) == WK_OK &&
           fstatat(wk_dir_fd(run), path, &info, 0) == 0;
}

// Whether all is there that a run leaves at its end: the last checkpoint, the weights of its step
// and, where it evaluates, its results.
static bool is_trained(const wk_dir *run, const wk_sweep_task *task, const wk_steps *checkpoints)
{
    char name[WK_STEP_NAME_MAX];
    uint64_t last = checkpoints->count ? checkpoints->items[checkpoints->count - 1] : 0;
    if (last < task->steps) return false;
    wk_step_name("", last, ".safetensors", name);
    if (!file_in(run, "snapshots", name)) return false;
    snprintf(name, sizeof name, "alongside-%012" PRIu64 ".json", last);
    return !task->evaluates || file_in(run, "eval", name);
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

// How far a run is that somebody trains: the log is newer than the last checkpoint.
static wk_status look_at_running(const wk_sweep_plan *plan, const wk_dir *run,
                                 const wk_sweep_task *task, wk_sweep_state *out, wk_error *err)
{
    const wk_run_config *config = &plan->shapes.items[task->shape].config;
    wk_run_progress now = {.total = task->steps, .prefill = (uint64_t)config->prefill};
    WK_TRY(wk_run_progress_read_in(run, &now, err));
    out->steps = now.now.steps;
    out->seconds_left = wk_run_seconds_left(&now, wk_run_rate_by_files(&now));
    return WK_OK;
}

// What lies in the run's directory.
static wk_status read_run(const wk_sweep_plan *plan, const wk_dir *run, int task,
                          wk_sweep_state *out, bool *begun, bool *held, wk_error *err)
{
    wk_steps checkpoints = {0};
    const wk_sweep_task *t = &plan->tasks.items[task];
    wk_status status = wk_file_exists_in(run, "config.yaml", begun, err);
    if (status == WK_OK) status = wk_lock_held(run, held, err);
    if (status == WK_OK) status = list_steps(run, WK_CHECKPOINT_FOLDER, "", &checkpoints, err);
    if (status == WK_OK) {
        out->steps = checkpoints.count ? checkpoints.items[checkpoints.count - 1] : 0;
        out->foreign = out->steps > 0 && is_foreign(plan, run, task, out->steps);
        out->trained = !out->foreign && is_trained(run, t, &checkpoints);
    }
    if (status == WK_OK && *held) status = look_at_running(plan, run, t, out, err);
    wk_array_free(&checkpoints);
    for (int i = 0; status == WK_OK && i < WK_SWEEP_FOLLOWS; i++)
        status = is_followed(plan, run, task, (wk_sweep_follow_kind)i, &out->follow[i], err);
    return status;
}

static bool is_complete(const wk_sweep_state *state)
{
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        if (!state->follow[i]) return false;
    return state->trained;
}

static wk_sweep_task_phase phase_of(const wk_sweep_state *state, bool begun, bool held,
                                    int attempts)
{
    if (held) return WK_SWEEP_RUNNING;
    if (state->foreign) return WK_SWEEP_FAILED;
    if (is_complete(state)) return WK_SWEEP_DONE;
    // What is wrong with the input does not get better by trying again.
    enum { USAGE = 2 };
    const wk_sweep_attempt *last = &state->attempt;
    bool hopeless = last->count >= attempts || (!last->open && last->code == USAGE);
    if (last->count > 0 && hopeless && last->progress == wk_sweep_progress(state))
        return WK_SWEEP_FAILED;
    if (state->trained) return WK_SWEEP_TRAINED;
    return begun ? WK_SWEEP_STOPPED : WK_SWEEP_WAITING;
}

wk_status wk_sweep_state_read(const wk_sweep_plan *plan, const char *directory, int task,
                              int attempts, wk_sweep_state *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_dir *run = NULL;
    bool begun = false, training = false, claimed = false;
    *out = (wk_sweep_state){.seconds_left = NAN};
    WK_TRY(wk_sweep_task_path(plan, directory, task, path, err));
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        out->follow[i] = !plan->grid->follow[i].present;
    // What is wrong with one run is its own affair: it is said when that is started.
    wk_error wrong = {0};
    wk_status found =
        wk_dir_open_below(directory, plan->tasks.items[task].name, false, &run, &wrong);
    bool linked = found == WK_E_INPUT;
    if (found == WK_E_NOT_FOUND) found = WK_OK;
    if (run) found = read_run(plan, run, task, out, &begun, &training, &wrong);
    wk_dir_close(run);
    out->foreign |= linked;
    wk_status status = wk_sweep_attempt_read(plan, directory, task, &out->attempt, &claimed, err);
    if (out->foreign && !linked)
        snprintf(out->attempt.error, sizeof out->attempt.error,
                 "'%.400s' holds a run with other settings; move it away", path);
    else if (found != WK_OK && (linked || !*out->attempt.error))
        snprintf(out->attempt.error, sizeof out->attempt.error, "%.500s", wrong.message);
    if (attempts <= 0) attempts = WK_SWEEP_ATTEMPTS;
    out->phase = phase_of(out, begun, training || claimed, attempts);
    return status;
}

wk_status wk_sweep_states_read(const wk_sweep_plan *plan, const char *directory, int attempts,
                               wk_sweep_state *out, wk_error *err)
{
    for (size_t i = 0; i < plan->tasks.count; i++)
        WK_TRY(wk_sweep_state_read(plan, directory, (int)i, attempts, &out[i], err));
    return WK_OK;
}

uint64_t wk_sweep_progress(const wk_sweep_state *state)
{
    uint64_t progress = state->steps + state->trained;
    for (int i = 0; i < WK_SWEEP_FOLLOWS; i++)
        progress += state->follow[i];
    return progress;
}
