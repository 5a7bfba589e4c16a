// Sweeps: all runs of a grid, to a finished report.
//
//   grid.c     reads the grid file: axes, exclusions, what follows a run
//   plan.c     makes a task of each run: its name, settings, shape and command lines
//   state.c    reads how far a task is from its directories; locks, attempts, the manifest
//   launch.c   what launchers share: the queue, the cost, the printed commands, the report
//   local.c    --launch local: processes on this machine
//   slurm.c    --launch slurm: job arrays
//   process.c  child processes
//
// The directory of a sweep:
//
//   NAME/                     a run; NAME/adapt/adapt.done, NAME/eval/eval.done and
//                             NAME/eval/model-error.done mark what followed it as done: of how many
//                             steps, with which options
//   report/                   the report; report/sweep.done lists the runs it was made from
//   sweep/grid.yaml           the grid, values added later included
//   sweep/manifest.jsonl      a line for each task
//   sweep/lock, holder        held while a launcher works here, and by which process
//   sweep/report.log          output of 'waker report'
//   sweep/tasks/NAME/         lock: held by the process that works on the task; log: output of its
//                             processes; attempt.json: attempts in a row that made no progress,
//                             and the last error
//   sweep/slurm/              scripts, options and logs of jobs (slurm.c)
#ifndef WK_SWEEP_SWEEP_H
#define WK_SWEEP_SWEEP_H

#include "base/log.h"
#include "base/memory.h"
#include "base/text.h"
#include "config/axes.h"
#include "config/blocks.h"
#include "run/disk.h"
#include <signal.h>
#include <sys/types.h>

// Directories of the sweep itself; no run has these names.
#define WK_SWEEP_FOLDER "sweep"
#define WK_SWEEP_REPORT "report"
#define WK_SWEEP_REPORT_MARK WK_SWEEP_REPORT "/sweep.done"

// The grid.

enum {
    WK_SWEEP_AXES_MAX = 64, // with those of one value
    WK_SWEEP_FILES_MAX = 8,
    WK_SWEEP_WORDS_MAX = 32,    // of a condition, or of the options of a command
    WK_SWEEP_RUNS_MAX = 100000, // before exclusions
    WK_SWEEP_SHAPES_MAX = 1000, // of a plan
    WK_SWEEP_TASK_KEYS_MAX = 128,
    WK_SWEEP_LINE_MAX = 512,
    WK_SLURM_LINES_MAX = 32,
    WK_SWEEP_ATTEMPTS = 3,    // without progress, after which a task has failed, unless configured
    WK_SWEEP_EXIT_SAVED = 75, // of a process that saved and is to be started again
};

/// One axis.
typedef struct wk_sweep_axis {
    const char *name; // "domain", "seed", "curriculum.temperature"
    int field;        // of the configuration; -1: the values are blocks
    bool named;       // its value is part of a run's name
    WK_ARRAY(const char *) values;
    int line;
} wk_sweep_axis;

/// Words of which a run must have all: a value of an axis of blocks, or KEY=VALUE.
typedef struct wk_sweep_condition {
    int axis[WK_SWEEP_WORDS_MAX], value[WK_SWEEP_WORDS_MAX], count;
    const char *text;
} wk_sweep_condition;

/// A setting of runs that satisfy the condition.
typedef struct wk_sweep_preset {
    wk_sweep_condition when;
    int field;
    const char *value;
} wk_sweep_preset;

/// What follows a run, in this order.
typedef enum wk_sweep_follow_kind {
    WK_SWEEP_ADAPT,
    WK_SWEEP_EVAL,
    WK_SWEEP_MODEL_ERROR,
    WK_SWEEP_FOLLOWS,
} wk_sweep_follow_kind;
/// The names of their commands.
extern const char *const wk_sweep_follow_names[WK_SWEEP_FOLLOWS];

/// A command with the options that the grid gives it, which are words without blanks.
typedef struct wk_sweep_command {
    bool present;
    const char *options[WK_SWEEP_WORDS_MAX];
    int count;
    int line;
} wk_sweep_command;

/// A grid. All texts are in the arena. Free it with wk_sweep_grid_free.
typedef struct wk_sweep_grid {
    wk_arena arena;
    const char *name; // of the file, as messages give it
    wk_sweep_axis axes[WK_SWEEP_AXES_MAX];
    int n_axes; // those of blocks come first
    WK_ARRAY(wk_sweep_preset) presets;
    WK_ARRAY(wk_sweep_condition) excludes;
    const char *files[WK_SWEEP_FILES_MAX]; // paths
    int n_files;
    wk_sweep_command follow[WK_SWEEP_FOLLOWS];
    wk_sweep_command report;
    bool failed; // memory ran out
} wk_sweep_grid;

/// Reads a grid: a file, or one of the program's own by its name ("paper-main").
wk_status wk_sweep_grid_open(const char *path, wk_sweep_grid *out, wk_error *err);
/// As wk_sweep_grid_open, from text; paths of `files` begin in the folder of `name`.
wk_status wk_sweep_grid_parse(const char *name, const char *bytes, size_t size, wk_sweep_grid *out,
                              wk_error *err);
void wk_sweep_grid_free(wk_sweep_grid *grid);

/// The index of the axis called `name`; the error lists them.
wk_status wk_sweep_grid_axis(const wk_sweep_grid *grid, const char *name, int *out, wk_error *err);

/// Adds values to an axis that the grid has: "seed=5..9", "curriculum=ge". Values that it has
/// already are refused.
wk_status wk_sweep_grid_add(wk_sweep_grid *grid, const char *text, wk_error *err);

/// Appends the grid as YAML that reads back as the same.
void wk_sweep_grid_print(const wk_sweep_grid *grid, wk_text *out);

/// Number of combinations before exclusions.
uint64_t wk_sweep_grid_combinations(const wk_sweep_grid *grid);

/// The grids of the program: the i-th name, NULL after the last.
const char *wk_sweep_grid_embedded(size_t i);

// The plan.

/// A task: one run and what follows it. Its name says its values and stays the same when values are
/// added to the grid.
typedef struct wk_sweep_task {
    const char *name;              // of its directory below the sweep's: [A-Za-z0-9._+-] alone
    int values[WK_SWEEP_AXES_MAX]; // which of each axis
    int shape;                     // index into the plan's shapes
    uint64_t steps, updates;       // agent steps and updates of the whole run
    bool evaluates;                // the run ends with an evaluation of its own
    uint64_t hash;                 // of the configuration, wk_run_config_hash
    bool left_out;                 // by wk_sweep_plan_select
} wk_sweep_task;

/// What runs of equal cost have in common; they can be trained as one population.
typedef struct wk_sweep_shape {
    char name[64];        // for files and messages: "clean-up", "clean-up-2"
    wk_run_config config; // of its first task
    int first, count;     // its first task, and how many are selected
    uint64_t key;         // made of the settings that shape networks, environments and length
} wk_sweep_shape;

/// All tasks, in the order of the grid: the last axis changes fastest. Borrows the grid and
/// the path of the directory.
typedef struct wk_sweep_plan {
    const wk_sweep_grid *grid;
    const char *directory;    // of the sweep
    wk_config_blocks *blocks; // those of the program and of the grid's files
    wk_arena arena;
    WK_ARRAY(wk_sweep_task) tasks;
    const wk_sweep_task **by_name; // sorted
    size_t selected;               // of the tasks: those that a launcher starts
    WK_ARRAY(wk_sweep_shape) shapes;
    const char *plugin, *rule; // files of code that the command line names; a grid cannot
} wk_sweep_plan;

/// Makes the plan and checks every run's configuration. Nothing is written and no plug-in is
/// loaded. Errors name the grid and the run.
wk_status wk_sweep_plan_create(const wk_sweep_grid *grid, const char *directory, wk_sweep_plan *out,
                               wk_error *err);
void wk_sweep_plan_free(wk_sweep_plan *plan);

/// Leaves out the tasks that have, on an axis that `only` names, none of the values it names there.
/// Each text is AXIS=VALUE,AXIS=VALUE|VALUE. Tasks that are left out stay in the plan: a launcher
/// starts the others. The error says which axes or values there are.
wk_status wk_sweep_plan_select(wk_sweep_plan *plan, const char *const *only, int count,
                               wk_error *err);

/// The index of a task; -1 if there is none.
int wk_sweep_plan_find(const wk_sweep_plan *plan, const char *name);
/// Whether every task of `part` is in `whole` with the same settings; the error names the first
/// that is not. `resized`: how many have another number of steps, which a run may change.
wk_status wk_sweep_plan_contains(const wk_sweep_plan *whole, const wk_sweep_plan *part,
                                 int *resized, wk_error *err);

/// The configuration of a task, as `waker train` with its arguments has it. Keys come from the
/// grid: a plug-in that it names is not named by the caller.
wk_status wk_sweep_task_config(const wk_sweep_plan *plan, int task, wk_merged_config *out,
                               wk_error *err);

/// DIRECTORY/NAME.
wk_status wk_sweep_task_path(const wk_sweep_plan *plan, int task, char out[WK_PATH_MAX],
                             wk_error *err);

/// Words of a command line.
typedef struct wk_sweep_words {
    wk_arena arena;
    WK_ARRAY(const char *) items;
    bool failed; // memory ran out
} wk_sweep_words;
void wk_sweep_words_add(wk_sweep_words *words, const char *word);
void wk_sweep_words_free(wk_sweep_words *words);
/// Appends them as one line for a shell, after `program` (NULL: none).
void wk_sweep_words_print(const wk_sweep_words *words, const char *program, wk_text *out);

/// Each adds the words of a command after `waker`: of the training, of one that follows it, of all
/// of it, which launchers start (several tasks are trained as a population), and of the report.
void wk_sweep_train_words(const wk_sweep_plan *plan, int task, wk_sweep_words *out);
void wk_sweep_follow_words(const wk_sweep_plan *plan, int task, wk_sweep_follow_kind follow,
                           wk_sweep_words *out);
void wk_sweep_task_words(const wk_sweep_plan *plan, const int *tasks, int count,
                         wk_sweep_words *out);
void wk_sweep_report_words(const wk_sweep_plan *plan, wk_sweep_words *out);

// The state of a task is read from its directories, never remembered, so that it is right when
// files were moved or deleted and when a process died.

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

/// What attempt.json says. Zero: there was none.
typedef struct wk_sweep_attempt {
    int count;         // attempts in a row that began at `progress`
    uint64_t progress; // wk_sweep_progress when the last one began
    bool open;         // the last one has not ended, or its process died
    int code;          // exit code of the last one that ended
    char error[512];   // its last line, "" where it was none
} wk_sweep_attempt;

typedef struct wk_sweep_state {
    wk_sweep_task_phase phase;
    uint64_t steps;                // done, at the newest checkpoint or line of metrics
    bool trained;                  // all steps are done
    bool foreign;                  // the directory holds a run with other settings, or is a link
    bool follow[WK_SWEEP_FOLLOWS]; // done, or not asked for
    double seconds_left;           // of the training; NaN: not known
    wk_sweep_attempt attempt;
} wk_sweep_state;

/// Reads the state of a task; `attempts` are allowed (0: WK_SWEEP_ATTEMPTS). A run whose directory
/// cannot be read is not trained, and its attempt has the error.
wk_status wk_sweep_state_read(const wk_sweep_plan *plan, int task, int attempts,
                              wk_sweep_state *out, wk_error *err);

/// A number that grows when a task gets further: steps, then what follows.
uint64_t wk_sweep_progress(const wk_sweep_state *state);

/// Notes that a command that follows the run is done.
wk_status wk_sweep_follow_done(const wk_sweep_plan *plan, int task, wk_sweep_follow_kind follow,
                               wk_error *err);

/// A task that this process works on: its folder below DIRECTORY/sweep/tasks, whose lock it holds.
typedef struct wk_sweep_claim {
    wk_dir *dir;
    wk_lock lock;
} wk_sweep_claim;

/// Takes the task and counts an attempt, from 1 again when it begins further than the one before;
/// WK_E_INPUT when another process has it.
wk_status wk_sweep_claim_take(const wk_sweep_plan *plan, int task, wk_sweep_claim *out,
                              wk_error *err);
/// Notes how the attempt ended: exit code 0 or WK_SWEEP_EXIT_SAVED forgets all attempts, else
/// `error` is kept. Releases the task.
wk_status wk_sweep_claim_end(wk_sweep_claim *claim, int code, const char *error, wk_error *err);
/// Releases the task as if the process had died.
void wk_sweep_claim_drop(wk_sweep_claim *claim);

/// For launchers, when a process died before it could note that itself: ends the open attempt of
/// its task, unless another process has the task now.
wk_status wk_sweep_attempt_close(const wk_sweep_plan *plan, int task, int code, const char *error,
                                 wk_error *err);
/// Forgets the attempts of a task, so that it may begin again.
wk_status wk_sweep_attempt_forget(const wk_sweep_plan *plan, int task, wk_error *err);

/// DIRECTORY/sweep/tasks/NAME/log; makes its folder.
wk_status wk_sweep_task_log(const wk_sweep_plan *plan, int task, char out[WK_PATH_MAX],
                            wk_error *err);

/// A sweep's directory, held by this process. Zero-initialise; close it also after a failure.
typedef struct wk_sweep_folder {
    wk_dir *dir; // DIRECTORY/sweep
    wk_lock lock;
} wk_sweep_folder;

/// Makes DIRECTORY/sweep where there is none and takes its lock; WK_E_INPUT when another sweep has
/// it, with its process id and host.
wk_status wk_sweep_folder_open(const char *directory, wk_sweep_folder *out, wk_error *err);
void wk_sweep_folder_close(wk_sweep_folder *folder);

/// Fails if DIRECTORY/sweep is no longer what was opened. Call it before anything is started there:
/// tasks are found by path, and a sweep that was deleted or moved would begin anew.
wk_status wk_sweep_folder_check(const wk_sweep_folder *folder, wk_error *err);

/// Whether a sweep was planned there, and its grid.
wk_status wk_sweep_folder_exists(const char *directory, bool *exists, wk_error *err);
wk_status wk_sweep_folder_grid(const char *directory, wk_sweep_grid *out, wk_error *err);
wk_status wk_sweep_folder_write(const wk_sweep_folder *folder, const wk_sweep_grid *grid,
                                wk_error *err);

/// Who holds the sweep's lock now, as a file there says. pid 0: nobody.
typedef struct wk_sweep_holder {
    long pid;
    char host[256];
    bool certain; // a process of this machine with that number has the lock open
} wk_sweep_holder;
wk_status wk_sweep_folder_holder(const char *directory, wk_sweep_holder *out, wk_error *err);

/// Replaces DIRECTORY/sweep/manifest.jsonl: a line for each task, in the order of the plan, with
/// its number, name, shape, command, directory and state at this moment.
wk_status wk_sweep_manifest_write(const wk_sweep_plan *plan, int attempts, wk_error *err);

// Launching. All launchers start `waker sweep run DIRECTORY NAME...`, which trains and does what
// follows, holds the task's lock, and ends with the exit codes of every command; 75 means: start me
// again.

/// Options of jobs on Slurm; zeros are the defaults, NULL leaves the choice to the cluster.
typedef struct wk_slurm_options {
    const char *partition, *time, *account, *mail, *memory;
    int gpus;                              // of each task
    int cpus;                              // of each task
    int parallel;                          // tasks of an array that run at a time; 0: no limit
    int restarts;                          // of an array task; 0: 100
    int signal;                            // seconds from the signal to the limit; 0: 120
    const char *lines[WK_SLURM_LINES_MAX]; // more options of sbatch: "--constraint=a100"
    int n_lines;
} wk_slurm_options;
/// The options as lines of a script, which is how they are kept.
void wk_slurm_options_print(const wk_slurm_options *options, wk_text *out);
/// Refuses lines that are no options, and options of sbatch that name files, programs or the jobs
/// themselves: what is kept may come from anywhere.
wk_status wk_slurm_options_check(const char *lines, wk_error *err);

/// A job of a sweep in Slurm's queue.
typedef struct wk_slurm_job {
    uint64_t job;   // id, of the array where it is one
    int submission; // N
    int index;      // of the array task; -1: the job of the report
    int task;       // of the plan; -1: none
    bool pending;
} wk_slurm_job;
/// Reads a line of squeue but for `task`; false where it is no job of the sweep `id`.
bool wk_slurm_job_parse(const char *line, const char *id, wk_slurm_job *out);

/// Options of the launchers, as the command line gives them; all zero: the defaults.
typedef struct wk_sweep_launch_options {
    int jobs;        // processes at a time; 0: as many as the machine takes
    int per_gpu;     // of them on each GPU; 0: one
    int populations; // runs that are trained in one process at most; 0: one
    int attempts;    // in a row without progress; 0: WK_SWEEP_ATTEMPTS
    int threads;     // of each process; 0: the cores shared out
    bool quiet;
    const wk_slurm_options *slurm; // NULL: those of the submission before
} wk_sweep_launch_options;

/// A sweep that is to be started. The sweep's lock is held.
typedef struct wk_sweep_launch {
    const wk_sweep_folder *folder; // with the lock
    const char *program;           // path of the program itself
    const wk_sweep_plan *plan;
    const wk_sweep_launch_options *options;
    const volatile sig_atomic_t *stop; // a signal asked to save and stop; NULL: never
    wk_log log;
    wk_text *output; // gets what is for standard output
    double memory;   // bytes that a process of one run takes, an estimate; 0: not known
} wk_sweep_launch;

/// How it ended.
typedef enum wk_sweep_end {
    WK_SWEEP_FINISHED,  // all tasks and the report are done
    WK_SWEEP_SUBMITTED, // others do the rest: a queue, or who reads what was printed
    WK_SWEEP_SAVED,     // stopped early; the same command continues
    WK_SWEEP_FAILURES,  // some tasks failed, all others are done
    WK_SWEEP_FINDINGS,  // all is done, but the report had to leave something out
} wk_sweep_end;

/// Each starts what is not done and returns when all is done, or handed over; print: writes the
/// commands into `output`.
typedef wk_status wk_sweep_start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err);
wk_sweep_start wk_sweep_local_start, wk_sweep_slurm_start, wk_sweep_print_start;

/// Asks the process, or the jobs, of a sweep that is running to save and stop; `found` becomes true
/// where there are any.
wk_status wk_sweep_local_cancel(const char *directory, const wk_log *log, bool *found,
                                wk_error *err);
wk_status wk_sweep_slurm_cancel(const wk_sweep_plan *plan, const wk_log *log, bool *found,
                                wk_error *err);
/// How many tasks are in Slurm's queue.
wk_status wk_sweep_slurm_queued(const wk_sweep_plan *plan, int *out, wk_error *err);

/// A task as the queue sees it.
typedef struct wk_sweep_entry {
    wk_sweep_state state;
    bool started;      // by this queue, and not ended
    int stalls;        // times in a row that it ended without progress
    uint64_t progress; // when it was last started
} wk_sweep_entry;

/// Which tasks are started next, and what becomes of those that ended. It has no processes.
typedef struct wk_sweep_queue {
    const wk_sweep_plan *plan;
    int attempts;
    wk_sweep_entry *entries; // [plan->tasks.count]
} wk_sweep_queue;

/// Reads all states. Free it also after a failure.
wk_status wk_sweep_queue_open(const wk_sweep_plan *plan, int attempts, wk_sweep_queue *out,
                              wk_error *err);
void wk_sweep_queue_close(wk_sweep_queue *queue);

/// Whether a task is selected, not started and to be trained or followed up.
bool wk_sweep_queue_has(const wk_sweep_queue *queue, int task);
/// Chooses up to `max` tasks of one shape that are to be trained, or one whose training is done,
/// and notes that they are started; returns how many, 0: none is left.
int wk_sweep_queue_next(wk_sweep_queue *queue, int max, int *tasks);

/// Notes that a started task has ended; reads its state.
wk_status wk_sweep_queue_ended(wk_sweep_queue *queue, int task, wk_error *err);

/// Reads the tasks again that other processes work on or that have failed ('waker sweep retry' may
/// have freed them). `others`: how many other processes still work on.
wk_status wk_sweep_queue_refresh(wk_sweep_queue *queue, int *others, wk_error *err);

/// How many selected tasks are in each phase; those that are started count as running.
typedef struct wk_sweep_counts {
    int phases[WK_SWEEP_PHASES];
    uint64_t steps, total; // done and to do, in all
} wk_sweep_counts;
wk_sweep_counts wk_sweep_count(const wk_sweep_plan *plan, const wk_sweep_entry *entries);

/// Makes DIRECTORY/report where the grid asks for it, unless it was made of the same runs already.
/// `end` becomes WK_SWEEP_FINDINGS where it had to leave something out and all was well before.
wk_status wk_sweep_report_make(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err);
/// Whether there is nothing left to do for it.
wk_status wk_sweep_report_done(const wk_sweep_plan *plan, bool *out, wk_error *err);

// Child processes: a program with other words. Each has a process group of its own, so that an
// interrupt from the terminal reaches its parent alone, which passes it on once; when the parent
// dies, they are asked to save and stop.

/// The path of this program.
wk_status wk_sweep_program(char out[WK_PATH_MAX], wk_error *err);

/// What a process is started with.
typedef struct wk_sweep_process {
    const char *program; // a path, or found by PATH
    const wk_sweep_words *words;
    const char *log;  // file that its output is appended to; NULL: that of this process
    const char *gpus; // its CUDA_VISIBLE_DEVICES; NULL: as for this process
    wk_text *output;  // of wk_sweep_process_run: gets what it prints, messages included
    const volatile sig_atomic_t *stop; // as there: a signal to pass on as SIGTERM; NULL: never
} wk_sweep_process;

/// Starts it without waiting.
wk_status wk_sweep_process_start(const wk_sweep_process *process, pid_t *pid, wk_error *err);

/// Runs it to its end; its messages go to standard error too, unless there is an `output`. `line`
/// gets the last one, or that a signal ended it.
wk_status wk_sweep_process_run(const wk_sweep_process *process, int *code,
                               char line[WK_SWEEP_LINE_MAX], wk_error *err);

/// How a process ended, from waitpid's status: its exit code, or 128 and the number of the signal
/// that ended it, as `line` then says.
int wk_sweep_exit_code(int status, char line[WK_SWEEP_LINE_MAX]);

// The cost.

/// Of one update of a shape's learner.
typedef struct wk_sweep_rate {
    double seconds;         // NaN: not known
    uint64_t learner_bytes; // weights, optimiser and temporaries; 0: not known
} wk_sweep_rate;

/// What is left to do of a shape, or of all.
typedef struct wk_sweep_cost {
    int runs, left;          // in all; not trained yet
    uint64_t steps, updates; // left
    double hours;            // of a device that trains one run; NaN: not known
    double memory;           // bytes of a process that trains one
} wk_sweep_cost;

/// Of the i-th shape.
wk_sweep_cost wk_sweep_cost_of(const wk_sweep_plan *plan, const wk_sweep_entry *entries, int shape,
                               const wk_sweep_rate *rate);
/// Adds one to a sum; of memory the sum has the largest.
void wk_sweep_cost_add(wk_sweep_cost *sum, const wk_sweep_cost *cost);

/// Whether two shapes have the same learner but for the numbers in an action, and so the same rate.
bool wk_sweep_same_rate(const wk_run_config *a, const wk_run_config *b);

#endif
