// How wrong a world model is, and how well its ensemble estimates that: the one-step image
// prediction error in fresh episodes (as in the paper), next to the ensemble's own estimate on the
// same steps. Episodes are those of an evaluation (eval/episodes.h): under a task policy or under
// uniformly random actions, in environments from the default distribution, the same for every model
// of a domain.
#ifndef WK_EVAL_MODEL_ERROR_H
#define WK_EVAL_MODEL_ERROR_H

#include "eval/evaluation.h"

#include "base/json.h"

/// In which episodes models are measured.
typedef struct wk_model_error_plan {
    int environments; // from the default distribution
    int trajectories; // episodes in each of them; 0: 1
    int steps;        // of an episode at most; 0: to its end
    uint64_t seed;
} wk_model_error_plan;

/// What is measured. All pointers are borrowed.
typedef struct wk_model_error_config {
    const wk_domain *domain;
    const int *options;  // of the domain; NULL: the defaults
    wk_learner *learner; // whose world model it is
    bool random;         // uniformly random actions; else those of
    int task, policy;    // the learner's policy for a task of the domain
    wk_model_error_plan plan;
    int threads; // of the environments; 0: one per core
    // Called when an episode was played, and again when it was predicted; NULL: not.
    void (*progress)(void *context);
    void *context;
} wk_model_error_config;

/// One environment.
typedef struct wk_model_error {
    double theta[WK_PARAMS_MAX];
    // Mean squared error of the pixels (0 to 1), or without images of the vector's numbers; mean
    // over each episode, then over them.
    double error;
    double estimate; // disagreement of the ensemble, in the same way
    int steps;       // images predicted; 0: the simulation broke down at once, there are no values
} wk_model_error;

/// Plays and predicts; `out` has room for every environment.
wk_status wk_model_error_measure(const wk_model_error_config *config, wk_model_error *out,
                                 wk_error *err);

/// The environments in a few numbers.
typedef struct wk_model_error_summary {
    int environments; // with values
    double mean;
    double cvar; // mean of the worst tenth
    double estimate_mean;
    double correlation;       // Spearman's, of error and estimate over environments; NaN: none
    double theta_correlation; // the same over different θ, each with its means
    int thetas;
} wk_model_error_summary;
wk_status wk_model_error_summarise(const wk_model_error *environments, int count,
                                   wk_model_error_summary *out, wk_error *err);

/// What was measured under one policy. Texts are borrowed.
typedef struct wk_model_error_measured {
    int task;                     // of the domain; -1: random actions
    const char *policy;           // "random", or the task's name
    const char *weights;          // "snapshot", "checkpoint", "adapted", "adapted.NAME"
    wk_model_error *environments; // [plan.environments]; owned
    wk_model_error_summary summary;
} wk_model_error_measured;

/// All that was measured of a model at one step; the origin's policy is not used.
typedef struct wk_model_error_result {
    wk_eval_origin origin;
    wk_model_error_plan plan;
    wk_model_error_measured measures[1 + WK_TASKS_MAX];
    int n_measures;
} wk_model_error_result;

/// Adds the document to a list or prints it alone.
void wk_model_error_json(const wk_model_error_result *result, wk_json *json);

/// A question about runs. Everything is borrowed; what is NULL or 0 is as without the option of
/// `waker model-error`.
typedef struct wk_model_error_question {
    const char *const *runs; // [n_runs] directories
    int n_runs;
    const char *policies; // "random", "all", or names of tasks with commas between
    const char *weights;  // WK_POLICY_ADAPTED or WK_POLICY_ALONGSIDE
    const char *name;     // of an adaptation
    const char *out;      // directory for the results instead of the run; of one run
    int64_t step;         // of the weights; or WK_STEP_LAST or WK_STEP_ALL
    wk_model_error_plan plan;
    const char *plugin; // whose code is loaded
    const char *device;
    int threads;
    const wk_log *log;          // NULL: silent
    wk_progress_line *progress; // of episodes; NULL: none
    // Called with the results of every step, once they are written.
    wk_status (*on_result)(void *context, const char *run, const wk_model_error_result *result,
                           wk_error *err);
    void *context;
} wk_model_error_question;

/// Measures step after step, run after run, under every policy, and writes
/// RUN/eval/model-error-STEP.json, atomically, under names as those of other results.
wk_status wk_model_error_run(const wk_model_error_question *question, wk_error *err);

#endif
