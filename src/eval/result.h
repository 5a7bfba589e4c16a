// The results of an evaluation: the episodes of every task in every case, their scores, and the
// files that hold them (docs/evaluation.md and docs/evaluation.md have the formats):
//
//   RUN/eval/POLICY-%012u.json   scores, with the numbers of every episode
//   RUN/eval/POLICY-%012u.csv    one line for every episode
//   RUN/eval/POLICY-%012u-NAME.gif                clips of episodes
//   RUN/benchmark/SET-POLICY-%012u-TASK.json      scores in a frozen set of environments
//
// A file holds what one command measured. Where its name is taken by the answer to another
// question (other tasks, cases, number of environments or seed), a hash of the question follows the
// step. The same evaluation gives the same bytes.
#ifndef WK_EVAL_RESULT_H
#define WK_EVAL_RESULT_H

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "eval/open_loop.h"

enum { WK_SCORE_FRACTIONS = 7, WK_SCORE_TENTH = 2, WK_RESULT_NAME_MAX = 256 };

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

/// The run and the policy that were measured. Texts are borrowed.
typedef struct wk_eval_origin {
    const wk_domain *domain;
    const wk_case *train; // as wk_eval_cases takes it; borrowed
    const char *curriculum, *exploration;
    uint64_t run_seed, step;
    const char *policy; // "adapted", "alongside", "finetuned", "random"; "adapted.NAME"
} wk_eval_origin;

/// All results of one policy at one step. Zero-initialise, set the first three, free at the end.
typedef struct wk_eval_result {
    wk_eval_origin origin;
    int envs; // episodes of the default distribution
    uint64_t seed;
    wk_task_result *tasks;
    int n_tasks;
    char name[WK_RESULT_NAME_MAX]; // of its files in the folder, without ending; "": not chosen yet
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

/// Adds a task of the domain with the cases it will be played in. Cases without environments of the
/// task are left out; having none is an error.
wk_status wk_eval_result_add(wk_eval_result *result, const wk_eval_setup *setup, int task,
                             wk_error *err);
/// Plays task number `i` of the result with the learner's policy number `policy` and scores it.
wk_status wk_eval_result_play(wk_eval_result *result, const wk_eval_setup *setup, int i, int policy,
                              wk_error *err);
void wk_eval_result_free(wk_eval_result *result);

/// Replays episode number `episode` of a task's case to the setup's on_row; needs the actions to
/// have been kept.
wk_status wk_eval_result_replay(const wk_eval_result *result, const wk_eval_setup *setup,
                                const wk_task_result *task, int case_index, int episode,
                                wk_error *err);

/// What a task is scored by in the paper: "completion" where it has one, else "return".
const char *wk_eval_score_name(const wk_domain *domain, int task);

/// Writes what every result file begins with, into the object that is open: its format, the run and
/// the step.
void wk_eval_origin_json(const wk_eval_origin *origin, const char *format, wk_json *json);
/// Adds the document to a list or prints it alone.
void wk_eval_result_json(const wk_eval_result *result, wk_json *json);

/// Makes the folder of the files and sees whether files can be written there.
wk_status wk_eval_result_folder(const char *run, wk_error *err);

/// As wk_result_name, once all tasks were added.
wk_status wk_eval_result_choose(wk_eval_result *result, const char *run, wk_error *err);

/// Chooses the name and writes both files under `run`/eval, each atomically.
wk_status wk_eval_result_write(wk_eval_result *result, const char *run, wk_error *err);
wk_status wk_eval_result_write_in(wk_eval_result *result, const wk_dir *run, wk_error *err);

/// What a result file answers: its head, which every answer to the same question begins with, and
/// in every part of it the texts under two keys, each followed by a line break.
typedef struct wk_result_question {
    const char *stem; // of the name: "adapted-000000500000"
    wk_text head, parts;
    const char *keys[2];
} wk_result_question;
void wk_result_question_free(wk_result_question *question);

/// The name that the answer would have in `run`/eval now: the stem, if there is no other answer
/// under it, else the stem with a hash of the question. Nothing is filled in where there is no
/// folder. An earlier answer that cannot be read is an error, better found before episodes are
/// played.
wk_status wk_result_name(const wk_result_question *question, const char *run,
                         char name[WK_RESULT_NAME_MAX], wk_error *err);

/// Chooses the name and writes the answer under it: NAME.csv (NULL: none), then NAME.json, each
/// atomically; frees both texts. Other processes that write answers there wait meanwhile.
wk_status wk_result_write(const wk_result_question *question, const wk_dir *folder, wk_text *csv,
                          wk_text *json, char name[WK_RESULT_NAME_MAX], wk_error *err);

/// What scores in a frozen set of environments come from. Texts are borrowed.
typedef struct wk_benchmark_origin {
    const char *program; // "waker 0.1.0"
    const wk_theta_set *set;
    const int *options;  // of the domain, [n_options]
    const char *weights; // SHA-256 of the file; NULL: random actions
} wk_benchmark_origin;

/// Writes the file of each task under `run`/benchmark, atomically; it has everything needed to
/// compare the policy with others: program, set and weights by their hashes, θ, seeds and scores of
/// every episode, CVaR over the fraction α with confidence bands.
wk_status wk_benchmark_write(const wk_benchmark_origin *origin, const wk_eval_result *result,
                             const char *run, wk_error *err);

/// The path of a task's file under the run: "benchmark/SET-POLICY-STEP-TASK.json".
void wk_benchmark_path(const wk_theta_set *set, const wk_eval_result *result, int task,
                       char out[WK_PATH_MAX]);

/// Which episodes of a case are shown in clips.
typedef enum wk_video_rank {
    WK_VIDEO_BEST,
    WK_VIDEO_MEDIAN,
    WK_VIDEO_WORST,
    WK_VIDEO_RANKS
} wk_video_rank;

/// Number of the episode by the task's score, equal ones by their return, then by number. Of an
/// even number of episodes the median is the worse of the two in the middle.
int wk_video_episode(const wk_domain *domain, const wk_task_result *task, int case_index,
                     wk_video_rank rank);

/// File formats of a clip; a set of them is their sum.
enum { WK_VIDEO_GIF = 1, WK_VIDEO_MP4 = 2 };

/// Writes the clips of every case of a task next to the results, each in all of the formats, as
/// NAME-TASK-CASE-RANK.gif: truth, what the world model imagines, and the error. The model sees 5
/// frames, imagines 45 from the actions alone, then is shown 5 again, and so on. The setup must
/// have a learner, the result a name, the task its actions.
wk_status wk_video_write(const wk_eval_result *result, const wk_eval_setup *setup,
                         const wk_task_result *task, const char *run, unsigned formats,
                         wk_error *err);

#endif
