// Evaluates the policies of a saved run, as `waker eval` does: decides which tasks, steps and
// weights it is about and where they are played, plays, and writes results and clips. Training
// evaluates its own policies by the parts (eval/result.h), with the origin and the seed from here.
#ifndef WK_EVAL_EVALUATION_H
#define WK_EVAL_EVALUATION_H

#include "eval/result.h"
#include "log/status_line.h"
#include "run/saved_run.h"
#include "run/weights.h"

/// What results of a run are labelled with; borrows the configuration's texts and `thetas` (NULL:
/// results of the default distribution alone).
wk_eval_origin wk_evaluation_origin(const wk_run_config *config, const wk_domain *domain,
                                    const wk_run_thetas *thetas, uint64_t step, const char *policy);

/// Seed of the environments and episodes of an evaluation: 0, the same for all, or with eval.fresh
/// one of the run's seed and the step.
uint64_t wk_evaluation_seed(const wk_run_config *config, uint64_t step);

/// Chooses where results go, `out` or the run where it is NULL, and checks that they can be written
/// there, before time is spent on them. A directory of results gets the run's config.yaml and
/// plugin.json, so that it is read as that run; one of another run is refused.
wk_status wk_eval_directory(const wk_saved_run *run, const char *out, const char **directory,
                            wk_error *err);

/// The results of one step and where they were written.
typedef struct wk_eval_answer {
    const wk_eval_result *result;
    const wk_theta_set *set; // that was played in; NULL: cases
    const char *directory;
} wk_eval_answer;

/// A question about a run. Everything is borrowed; what is NULL or 0 is as without the option of
/// `waker eval`.
typedef struct wk_eval_question {
    const char *run;            // its directory
    const char *tasks;          // "all", or names with commas between
    const char *policy, *name;  // WK_POLICY_*; the name of an adaptation or fine-tuning
    const char *cases;          // as wk_eval_cases reads them
    const char *set;            // a frozen set instead: its name or file
    const char *out;            // directory for the results instead of the run
    int64_t step;               // of the weights; or WK_STEP_LAST or WK_STEP_ALL
    int envs;                   // episodes of the default distribution
    const uint64_t *seed;       // of environments and episodes
    unsigned clips;             // formats of the clips (WK_VIDEO_*)
    wk_named_plugins plugins;   // whose code is loaded
    const char *device;         // as wk_weights_choice
    int threads;                // the same
    const char *program;        // "waker 0.1.0", named in the files of sets
    const wk_log *log;          // NULL: silent
    wk_progress_line *progress; // of agent steps; NULL: none
    wk_status (*on_answer)(void *context, const wk_eval_answer *end, wk_error *err);
    void *context;
} wk_eval_question;

/// Evaluates step after step and calls on_answer with the results of each. Everything that can be
/// wrong with the question is refused before the first episode.
wk_status wk_eval_run(const wk_eval_question *question, wk_error *err);

#endif
