// The state of a task, read from its directories, never remembered: it is right when files were
// moved or deleted and when a process died.
//
//   DIRECTORY/NAME/                   the run
//   DIRECTORY/NAME/adapt/adapt.done, eval/eval.done, eval/model-error.done
//                                     a command that followed is done: of how many steps, with
//                                     which options
//   DIRECTORY/sweep/tasks/NAME/lock   held by the process that works on the task
//   DIRECTORY/sweep/tasks/NAME/attempt.json
//                                     attempts in a row that made no progress, and the last error
//   DIRECTORY/sweep/tasks/NAME/log    output of its processes
#ifndef WK_SWEEP_STATE_H
#define WK_SWEEP_STATE_H

#include "run/disk.h"
#include "sweep/plan.h"

typedef enum wk_sweep_task_phase {
    WK_SWEEP_WAITING, // never begun
    WK_SWEEP_STOPPED, // begun; nobody works on it, the same command continues
    WK_SWEEP_RUNNING, // a process works on it
    WK_SWEEP_TRAINED, // trained; something that follows is missing and nobody works on it
    WK_SWEEP_FAILED,  // attempts are used up ('waker sweep retry' allows new ones), or another run
                      // is in its place
    WK_SWEEP_DONE,    // trained, and everything that follows is done
    WK_SWEEP_PHASES,
} wk_sweep_task_phase;
/// "waiting", "stopped", ...: in tables and in the manifest.
extern const char *const wk_sweep_phase_names[WK_SWEEP_PHASES];

/// What an attempt's file says. Zero: there was none.
typedef struct wk_sweep_attempt {
    int count;         // attempts in a row that began at `progress`
    uint64_t progress; // wk_sweep_progress when the last one began
    bool open;         // the last one has not ended, or its process died
    int code;          // exit code of the last one that ended
    char error[512];   // its last line, "" where it was none
} wk_sweep_attempt;

/// A task's state.
typedef struct wk_sweep_state {
    wk_sweep_task_phase phase;
    uint64_t steps;                // done, at the newest checkpoint or line of metrics
    bool trained;                  // all steps are done
    bool foreign;                  // the directory holds a run with other settings, or is a link
    bool follow[WK_SWEEP_FOLLOWS]; // done, or not asked for
    double seconds_left;           // of the training; NaN: not known
    wk_sweep_attempt attempt;
} wk_sweep_state;

/// Attempts in a row without progress after which a task has failed, unless configured otherwise.
enum { WK_SWEEP_ATTEMPTS = 3 };

/// Reads the state of a task; `attempts` are allowed. A run whose directory cannot be read is not
/// trained, and its attempt has the error.
wk_status wk_sweep_state_read(const wk_sweep_plan *plan, const char *directory, int task,
                              int attempts, wk_sweep_state *out, wk_error *err);

/// Reads those of all tasks, out[plan->tasks.count].
wk_status wk_sweep_states_read(const wk_sweep_plan *plan, const char *directory, int attempts,
                               wk_sweep_state *out, wk_error *err);

/// A number that grows when a task gets further: steps, then what follows.
uint64_t wk_sweep_progress(const wk_sweep_state *state);

/// Notes that a command which follows the run is done.
wk_status wk_sweep_follow_done(const wk_sweep_plan *plan, const char *directory, int task,
                               wk_sweep_follow_kind follow, wk_error *err);

/// Opens DIRECTORY/sweep/tasks/NAME; `make` makes it where it is missing.
wk_status wk_sweep_task_folder(const wk_sweep_plan *plan, const char *directory, int task,
                               bool make, wk_dir **out, wk_error *err);
/// Reads what is known of the attempts of a task, and whether a process has it now.
wk_status wk_sweep_attempt_read(const wk_sweep_plan *plan, const char *directory, int task,
                                wk_sweep_attempt *out, bool *held, wk_error *err);

/// A task that this process works on: its folder below DIRECTORY/sweep/tasks, whose lock it holds.
typedef struct wk_sweep_claim {
    wk_dir *dir;
    wk_lock lock;
} wk_sweep_claim;

/// Takes the task and counts an attempt; WK_E_INPUT when another process has it. An attempt that
/// begins further than the one before is the first again.
wk_status wk_sweep_claim_take(const wk_sweep_plan *plan, const char *directory, int task,
                              wk_sweep_claim *out, wk_error *err);
/// Exit code of a process that saved and is to be started again.
enum { WK_SWEEP_EXIT_SAVED = 75 };
/// Notes how the attempt ended: exit code 0 or WK_SWEEP_EXIT_SAVED forgets all attempts, else
/// `error` is kept. Gives the task back.
wk_status wk_sweep_claim_end(wk_sweep_claim *claim, int code, const char *error, wk_error *err);
/// Gives it back as if the process had died.
void wk_sweep_claim_drop(wk_sweep_claim *claim);

/// For launchers, about a process that died before it could say so: ends an open attempt that
/// nobody holds with this error.
wk_status wk_sweep_attempt_close(const wk_sweep_plan *plan, const char *directory, int task,
                                 int code, const char *error, wk_error *err);
/// Forgets the attempts of a task, so that it may begin again.
wk_status wk_sweep_attempt_forget(const wk_sweep_plan *plan, const char *directory, int task,
                                  wk_error *err);

#endif
