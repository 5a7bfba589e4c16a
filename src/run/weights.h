// The one answer to "which policy of this run": a query says what a user asked for, the answer has
// the weights, their agent steps and the words that results are named by.
#ifndef WK_RUN_WEIGHTS_H
#define WK_RUN_WEIGHTS_H

#include "run/checkpoint/weights_file.h"

enum { WK_STEP_ALL = -2 }; // beside WK_STEP_LAST

/// What is asked for. Texts are borrowed.
typedef struct wk_weights_query {
    const char *policy; // WK_POLICY_*. NULL: adapted policies if there are any at the step, else
                        // those trained alongside; with a name adapted ones. RANDOM: no policy, the
                        // world model of a snapshot
    const char *name;   // of the adaptation or fine-tuning; NULL: that without one
    const char *const *tasks; // [n_tasks] names; fine-tuned policies have a file for each
    int n_tasks;
    int64_t step; // agent step, WK_STEP_LAST or WK_STEP_ALL
} wk_weights_query;

/// What there is. Zero-initialise; free it with wk_weights_answer_free, also after a failure.
typedef struct wk_weights_answer {
    const char *policy;               // WK_POLICY_*
    wk_weights_source source;         // its task is NULL: wk_weights_of gives that of a task
    char title[WK_WEIGHTS_TITLE_MAX]; // "adapted", "adapted.NAME"
    wk_steps steps; // rising; of fine-tuned policies those of any of the tasks. One unless all were
                    // asked for, never none
} wk_weights_answer;

/// Resolves a query about the run in a directory with this configuration. WK_E_NOT_FOUND, with what
/// there is and how to make what is missing, if there are no such weights.
wk_status wk_weights_resolve(const char *run, const wk_run_config *config,
                             const wk_weights_query *query, wk_weights_answer *out, wk_error *err);
void wk_weights_answer_free(wk_weights_answer *answer);

/// The weights for a task: fine-tuned ones have a file for each task, all others one file.
wk_weights_source wk_weights_of(const wk_weights_answer *answer, const char *task);

#endif
