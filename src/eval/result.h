// The results of an evaluation: the episodes of every task in every case, their scores, and the
// result files (docs/evaluation.md has the format):
//
//   RUN/eval/POLICY-%012u.json   scores, with the numbers of every episode
//   RUN/eval/POLICY-%012u.csv    one line for every episode
//
// POLICY-%012u-envsN-seedS where that name has results of another protocol (eval/result_merge.h).
// The same evaluation gives the same bytes.
#ifndef WK_EVAL_RESULT_H
#define WK_EVAL_RESULT_H

#include "base/dir.h"
#include "base/log.h"
#include "base/text.h"
#include "eval/evaluate.h"
#include "eval/open_loop_errors.h"
#include "eval/result_merge.h"

enum { WK_SCORE_FRACTIONS = 7, WK_SCORE_TENTH = 2 };

/// 0.01, 0.05, 0.1 (WK_SCORE_TENTH), 0.2, 0.3, 0.4, 0.5: the worst fractions whose mean is a score.
extern const double wk_score_fractions[WK_SCORE_FRACTIONS];

/// Values of many episodes in a few numbers; the standard deviation is the population's.
typedef struct wk_score {
    double mean, sd, min, max;
    double cvar[WK_SCORE_FRACTIONS];
} wk_score;

/// Low values are the bad ones; `count` is at least 1.
wk_status wk_score_compute(const double *values, int count, wk_score *out, wk_error *err);

/// One task in one case.
typedef struct wk_case_result {
    wk_eval_case eval_case;
    wk_eval_episode *episodes;                             // [eval_case.episodes]
    double *returns, *completions, *lengths;               // [eval_case.episodes] of the task
    wk_score return_score, length_score, completion_score; // the last: where the task has one
    wk_calibration calibration;           // means over the episodes; NaN where there is none
    wk_open_loop_error_curve open_loop;   // of the model that the policy is of, if any
    double indicators[WK_INDICATORS_MAX]; // means over the episodes that have them, or NaN
    int diverged;
} wk_case_result;

/// A metric of a case besides its scores. The result files, the training log and the table of
/// `waker eval` walk the list of them.
typedef struct wk_case_metric {
    const char *name;     // in the files, and in the log after "eval_TASK_CASE_"
    const char *heading;  // in the table
    size_t mean;          // offset of a double in wk_case_result
    size_t episode;       // offset in wk_eval_episode of those that it is the mean of; 0: none
    const char *episodes; // key of the list of these in JSON; NULL: it has none
} wk_case_metric;

enum { WK_CASE_METRICS = 5 };
extern const wk_case_metric wk_case_metrics[WK_CASE_METRICS];

/// Its value in a case, and in an episode; NaN where there is none.
double wk_case_metric_mean(const wk_case_result *result, const wk_case_metric *metric);
double wk_episode_metric(const wk_eval_episode *episode, const wk_case_metric *metric);

/// One task in all its cases.
typedef struct wk_task_result {
    int task; // of the domain
    int n_cases;
    wk_case_result cases[WK_EVAL_CASES_MAX];
    wk_eval_episode *episodes; // owned, of all cases
    double *numbers;           // owned
    float *actions;            // owned, [episodes,episode_steps,A]; NULL unless they were kept
} wk_task_result;

/// Whose results they are. Texts are borrowed.
typedef struct wk_eval_origin {
    const wk_domain *domain;
    const wk_case *train; // as wk_eval_cases takes it; borrowed
    const char *curriculum, *exploration;
    uint64_t run_seed, step;
    const char *policy; // "adapted", "alongside", "finetuned", "random"; "adapted.NAME"
} wk_eval_origin;

/// Writes what every result file begins with, into the object that is open: its format, the run and
/// the step.
void wk_eval_origin_json(const wk_eval_origin *origin, const char *format, wk_json *json);

/// All results of one policy at one step. Zero-initialise, set the first three, free at the end.
typedef struct wk_eval_result {
    wk_eval_origin origin;
    int envs; // episodes of the default distribution
    uint64_t seed;
    wk_task_result *tasks;
    int n_tasks;
    char name[WK_RESULT_NAME_MAX]; // of its files in the folder, without ending, once chosen
} wk_eval_result;

/// How tasks are evaluated: policies, cases, threads, callbacks. All pointers are borrowed.
typedef struct wk_eval_setup {
    const int *options;        // of the domain; NULL: the defaults
    wk_learner *learner;       // NULL: uniformly random actions
    const char *case_names;    // as wk_eval_cases reads them; used where n_cases is 0
    const wk_eval_case *cases; // [n_cases]
    int n_cases;
    int threads;
    const wk_log *log;      // gets a line for every finished case; NULL: silent
    wk_eval_on_row *on_row; // called with every row; NULL: none
    void *context;
    bool keep_actions; // for wk_eval_result_replay
} wk_eval_setup;

/// Plays a task of the domain with the learner's policy number `policy` and adds its results. Cases
/// without environments of the task are left out; having none is an error.
wk_status wk_eval_result_add(wk_eval_result *result, const wk_eval_setup *setup, int task,
                             int policy, wk_error *err);
void wk_eval_result_free(wk_eval_result *result);

/// Replays episode number `episode` of a task's case to the setup's on_row; needs the actions to
/// have been kept.
wk_status wk_eval_result_replay(const wk_eval_result *result, const wk_eval_setup *setup,
                                const wk_task_result *task, int case_index, int episode,
                                wk_error *err);

/// What a task is scored by in the paper: "completion" where it has one, else "return".
const char *wk_eval_score_name(const wk_domain *domain, int task);

/// Adds the document to a list or prints it alone.
void wk_eval_result_json(const wk_eval_result *result, wk_json *json);

/// Path of an image of these results: `run`/eval/NAME`ending`, with `name` as it is chosen.
void wk_eval_result_path(const wk_eval_result *result, const char *run, const char *ending,
                         char out[WK_PATH_MAX]);

/// Makes the folder of the files and sees whether files can be written there.
wk_status wk_eval_result_folder(const char *run, wk_error *err);

/// Chooses the name that the files under `run`/eval will have, for images that come before them.
wk_status wk_eval_result_choose(wk_eval_result *result, const char *run, wk_error *err);

/// Writes both files under `run`/eval, each atomically, together with what earlier files of the
/// same protocol have of other tasks and cases; sets `name`.
wk_status wk_eval_result_write(wk_eval_result *result, const char *run, wk_error *err);
wk_status wk_eval_result_write_in(wk_eval_result *result, const wk_dir *run, wk_error *err);

#endif
