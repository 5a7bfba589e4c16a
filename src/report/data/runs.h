// Runs as the report sees them: found below given directories, each with who it is (config.yaml)
// and what was measured (eval/*.json, benchmark/*.json, metrics.jsonl). A file that cannot be used
// is skipped with a problem that names it; the rest of the report is unaffected.
#ifndef WK_REPORT_DATA_RUNS_H
#define WK_REPORT_DATA_RUNS_H

#include "base/arena.h"
#include "base/array.h"
#include "base/pool.h"
#include "config/config.h"
#include "log/status_line.h"
#include "report/data/sentences.h"
#include "waker/env.h"

/// What a policy scored on one task in one case, in one evaluation of one run.
typedef struct wk_run_score {
    const char *domain; // "clean-up"; a part of a combined run is "combined/clean-up"
    const char *task;
    const char *variant; // out-of-distribution case, "" for the default distribution
    const char *policy;  // "adapted", "alongside", ...
    uint64_t step;
    uint64_t episodes, eval_seed;
    double average;              // over episodes
    double cvar;                 // CVaR 0.1
    double promised, discounted; // value at the start and the return that followed; NaN: not known
    // Errors of what the model imagines along the episodes, by the steps that it is ahead;
    // open_steps 0: not known.
    const double *open_image, *open_reward;
    size_t open_steps;
} wk_run_score;

/// How wrong the world model is, measured under one policy.
typedef struct wk_run_error {
    const char *policy; // "random", a task's name, or TASK.NAME of a named adaptation
    uint64_t step;
    double mean, cvar, estimate, correlation; // cvar is that of 0.1; correlation may be NaN
    // How it was measured; steps: the limit on an episode, 0: none.
    uint64_t envs, trajectories, steps, eval_seed;
    size_t environments;
    const double *errors, *estimates; // [environments]; NULL when the file does not list both
} wk_run_error;

enum { WK_CURVE_POINTS_MAX = 64 };

/// CVaR over its fraction α in a part of a frozen set of environments (eval/result.h).
typedef struct wk_run_cvar_curve {
    const char *set, *part; // "robust-v1", "in"
    const char *task, *score, *policy;
    uint64_t step;
    size_t count;
    double alpha[WK_CURVE_POINTS_MAX], value[WK_CURVE_POINTS_MAX];
    double low[WK_CURVE_POINTS_MAX], high[WK_CURVE_POINTS_MAX]; // ends of the confidence band
} wk_run_cvar_curve;

/// What the curriculum chose over time, and what the agent did there: means over the episodes of a
/// log line.
typedef struct wk_run_choice {
    uint64_t step;
    double params[WK_PARAMS_MAX];         // NaN beyond n_params
    double indicators[WK_INDICATORS_MAX]; // by the run's list of names; NaN: not in the line
} wk_run_choice;

/// Bytes of the name of a method that users give, with its end.
enum { WK_METHOD_NAME_MAX = 128 };

/// One run. Strings live in the arena.
typedef struct wk_report_run {
    wk_arena arena;
    const char *directory;
    wk_run_config config;
    const char *domain, *curriculum,
        *exploration; // exploration as the paper writes it: p2e, random
    uint64_t seed;
    const char *label;  // the user's name for it, or NULL
    const char *method; // what it is a seed of: a column of the tables (report/data/methods.h)
    WK_ARRAY(wk_run_score) scores;
    WK_ARRAY(wk_run_error) errors;
    WK_ARRAY(wk_run_cvar_curve) cvar_curves;
    WK_ARRAY(wk_run_choice) choices;
    const char *indicators[WK_INDICATORS_MAX]; // names, as they come in the lines; NULL: no more
    size_t exploring_lines, idle_lines;        // of an exploration policy; that learned nothing
    WK_ARRAY(const char *) problems;           // one for each file that was left out
    wk_error error;                            // the run as a whole cannot be used
} wk_report_run;

/// All runs of a report, sorted by domain, exploration, method, seed.
typedef struct wk_runs {
    wk_arena arena;
    WK_ARRAY(wk_report_run *) items;
    WK_ARRAY(const char *) problems; // of all runs, and runs left out
    wk_status first_fault;           // why the first was left out
    wk_sentences remarks;            // what a reader has to know about those that are there
    wk_progress_line *progress;      // of reading and drawing; NULL: none
} wk_runs;

/// Which runs.
typedef struct wk_runs_config {
    const char *const *paths; // PATH or LABEL=PATH: a run, or a directory of runs
    size_t n_paths;
    const char *const *by; // keys whose values are part of the names of methods
    size_t n_by;
    wk_pool *pool;              // NULL: one thread
    wk_progress_line *progress; // NULL: none
} wk_runs_config;

/// Finds and reads the runs in or below the paths. A path without any run is an error;
/// zero-initialise `out` and free it also then.
wk_status wk_runs_read(const wk_runs_config *config, wk_runs *out, wk_error *err);

/// Notes something that is left out, because it cannot be read, among the problems.
wk_status wk_runs_leave_out(wk_runs *runs, wk_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void wk_runs_free(wk_runs *runs);

/// Whether two runs are of the same domain and exploration: what a report compares.
bool wk_runs_same_group(const wk_report_run *a, const wk_report_run *b);
/// End of the runs from `first` on that are of its domain and exploration; runs are sorted by both.
size_t wk_runs_group_end(const wk_runs *runs, size_t first);

/// Reads one file of results into the run; for wk_runs_read and tests.
wk_status wk_run_read_scores(wk_report_run *run, const char *path, wk_error *err);
wk_status wk_run_read_errors(wk_report_run *run, const char *path, wk_error *err);
wk_status wk_run_read_benchmark(wk_report_run *run, const char *path, wk_error *err);
/// Reads metrics.jsonl; its last line may be torn.
wk_status wk_run_read_choices(wk_report_run *run, const char *path, wk_error *err);

#endif
