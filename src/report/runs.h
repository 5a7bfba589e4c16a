// Runs as the report sees them: found below given directories, each with who it is (config.yaml)
// and what was measured (eval/*.json, benchmark/*.json, metrics.jsonl). A file that cannot be used
// is left out with a problem that names it; the rest of the report is unaffected.
#ifndef WK_REPORT_RUNS_H
#define WK_REPORT_RUNS_H

#include "base/pool.h"
#include "config/config.h"
#include "log/status_line.h"
#include "report/memory.h"
#include "waker/env.h"
#include "waker/results.h"

/// What a number of the log is about.
typedef enum wk_signal_kind {
    WK_SIGNAL_PARAM,     // parameter 0, 1, ... of θ that the curriculum chose: means over episodes
    WK_SIGNAL_INDICATOR, // what the agent did there
    WK_SIGNAL_LOSS,      // of the world model's parts and of policies; the policies' entropy
} wk_signal_kind;

typedef struct wk_run_point {
    double step, value;
} wk_run_point;

/// One number of the log over the agent steps; only lines that have it.
typedef struct wk_run_signal {
    wk_signal_kind kind;
    const char *name; // its key without what all of the kind begin with
    WK_ARRAY(wk_run_point) points;
} wk_run_signal;

/// Bytes of the name of a method that users give, with its end.
enum { WK_METHOD_NAME_MAX = 128 };

/// One run. Strings and lists live in its memory.
typedef struct wk_report_run {
    wk_report_memory memory;
    const char *directory;
    wk_run_config config;
    const char *domain, *curriculum;
    const char *exploration; // as the paper writes it: p2e, random
    uint64_t seed;
    const char *label;                  // the user's name for it, or NULL
    const char *method;                 // what it is a seed of: a column of the tables
    WK_ARRAY(wk_result) results;        // file after file
    WK_ARRAY(wk_run_signal) signals;    // as they come in the lines
    uint64_t last_step;                 // of the last line
    size_t exploring_lines, idle_lines; // of an exploration policy; that learned nothing
    wk_sentences problems;              // one for each file that was left out
    wk_error error;                     // the run as a whole cannot be used
} wk_report_run;

/// All runs of a report, sorted by domain, exploration, method, seed. The memory is for what is
/// made of them, too.
typedef struct wk_runs {
    wk_report_memory memory;
    WK_ARRAY(wk_report_run *) items;
    wk_sentences problems;      // of all runs, and runs left out
    wk_status first_fault;      // why the first was left out
    wk_sentences remarks;       // what a reader has to know about those that are there
    wk_progress_line *progress; // of reading and drawing; NULL: none
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
void wk_runs_free(wk_runs *runs);

/// Whether two runs are of the same domain and exploration: what a report compares.
bool wk_runs_same_group(const wk_report_run *a, const wk_report_run *b);
/// End of the runs from `first` on that are of its domain and exploration; runs are sorted by both.
size_t wk_runs_group_end(const wk_runs *runs, size_t first);

// Files of a run (run_files.c).

/// Whether a file's name has the ending, and something before it.
bool wk_name_ends_in(const char *name, const char *ending);

/// Reads one file of results into the run: "waker-eval-1", "waker-model-error-1" or
/// "waker-benchmark-1". Of a file with an error nothing is kept.
wk_status wk_run_read_results(wk_report_run *run, const char *path, wk_result_kind kind,
                              wk_error *err);
/// Reads metrics.jsonl; its last line may be torn.
wk_status wk_run_read_log(wk_report_run *run, const char *path, wk_error *err);
/// The run's signal of that kind and name, or NULL.
wk_run_signal *wk_run_find_signal(const wk_report_run *run, wk_signal_kind kind, const char *name,
                                  size_t length);

// Methods (methods.c): runs are seeds of one method when everything agrees that shapes what is
// learned, except the seed. Those that differ in a setting are different methods, unless the user
// gave them one label.

/// Whether the field is a setting that has to agree: it shapes the results and is none of seed,
/// domain, curriculum and exploration, which reports show anyway.
bool wk_setting_counts(int field);
/// The settings that differ among the runs of one domain and exploration, here and in any of them.
int wk_runs_differing(const wk_runs *runs, const wk_report_run *like,
                      bool differs[WK_RUN_FIELD_COUNT]);
/// Whether runs of some domain and exploration differ in more settings than names and remarks spell
/// out: then the table of settings has the values.
bool wk_runs_differ_in_many(const wk_runs *runs);
/// Gives every run its method: its label; else its curriculum with the settings `by` and those in
/// which runs of that curriculum differ, or a number where those are many.
wk_status wk_runs_name_methods(wk_runs *runs, const char *const *by, size_t n_by, wk_error *err);
/// Adds a remark for each setting that differs within a domain and exploration, or one for all of
/// them where they are many.
void wk_runs_remark_on_settings(wk_runs *runs);
/// The value as people read it: what an empty or automatic one stands for.
const char *wk_run_setting(wk_report_memory *memory, const wk_report_run *run, int field);

#endif
