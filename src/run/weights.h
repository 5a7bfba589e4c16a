// Weights files in the directory of a run, by kind and step, and the one answer to "which policy".
//
//   snapshots/step-000000500000.safetensors                      along the way, by training
//   checkpoints/step-000000500000/learner.safetensors            the newest, with optimisers
//   adapt/step-000000500000/weights.safetensors                  task policies from a snapshot
//   finetune/step-000000500000-walk/weights.safetensors          the same, trained on for one task
//
// The step is always that of the world model they come from. Further adaptations and fine-tunings
// of a snapshot have names, which follow a dot: adapt/step-000000500000.NAME.
//
// Labels of a file say what it is, and which episodes of the run had ended by then, so that a
// policy adapted later is trained on no more than what had been collected when its world model was
// saved.
#ifndef WK_RUN_WEIGHTS_H
#define WK_RUN_WEIGHTS_H

#include "agent/learner.h"
#include "config/config.h"
#include "replay/replay.h"
#include "run/disk.h"

enum { WK_WEIGHTS_NAME_MAX = 48, WK_WEIGHTS_TITLE_MAX = 64 };

/// Where weights come from.
typedef enum wk_weights_kind {
    WK_WEIGHTS_SNAPSHOT,
    WK_WEIGHTS_CHECKPOINT,
    WK_WEIGHTS_ADAPTED,
    WK_WEIGHTS_FINETUNED,
} wk_weights_kind;

/// Names of policies in results and on the command line.
#define WK_POLICY_ADAPTED "adapted"
#define WK_POLICY_ALONGSIDE "alongside"
#define WK_POLICY_FINETUNED "finetuned"
#define WK_POLICY_RANDOM "random"

/// "snapshot", "checkpoint", "adapted", "finetuned".
const char *wk_weights_kind_name(wk_weights_kind kind);

/// Which weights of a run, at any step. Texts are borrowed.
typedef struct wk_weights_source {
    wk_weights_kind kind;
    const char *task; // of fine-tuned weights, else NULL
    const char *name; // of an adaptation or fine-tuning that has one; NULL: none
} wk_weights_source;

/// Refuses names that folders cannot have: a-z, 0-9 and '-' are allowed. NULL is fine.
wk_status wk_weights_check_name(const char *name, wk_error *err);

/// The file of a step.
void wk_weights_path(const char *run, wk_weights_source source, uint64_t step,
                     char out[WK_PATH_MAX]);

/// Adds the steps there are weights of, the oldest first; a run without any is fine.
wk_status wk_weights_steps(const char *run, wk_weights_source source, wk_steps *out, wk_error *err);

/// Task and name as a folder of adapted or fine-tuned weights has them; empty where it has none.
typedef struct wk_weights_folder {
    char task[64], name[WK_WEIGHTS_NAME_MAX];
} wk_weights_folder;
typedef WK_ARRAY(wk_weights_folder) wk_weights_folders;

/// The weights in such a folder, which is borrowed.
wk_weights_source wk_weights_folder_source(wk_weights_kind kind, const wk_weights_folder *folder);

/// Adds those that a run has of a kind, by its folders, sorted; free the list also on failure.
wk_status wk_weights_list(const char *run, wk_weights_kind kind, wk_weights_folders *out,
                          wk_error *err);

/// The newest step of a kind, or the one requested; what exists is in the message when there is
/// none.
enum { WK_STEP_LAST = -1 };
wk_status wk_weights_find(const char *run, wk_weights_source source, int64_t wanted, uint64_t *step,
                          wk_error *err);

enum { WK_STEP_ALL = -2 }; // beside WK_STEP_LAST

/// What is asked for. Texts are borrowed.
typedef struct wk_weights_query {
    const char *policy; // WK_POLICY_*, or with the name in it, "adapted.NAME". NULL: adapted
                        // policies if there are any at the step, else those trained alongside; with
                        // a name adapted ones. RANDOM: no policy, the world model of a snapshot
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

enum { WK_DATA_CUTOFF_RUNNING_MAX = 1024 };

/// Episodes 0 ... begun - 1, without those that were still running.
typedef struct wk_data_cutoff {
    uint64_t begun;
    size_t n_running;
    uint64_t running[WK_DATA_CUTOFF_RUNNING_MAX]; // ascending
} wk_data_cutoff;

/// The cutoff of a store now; nothing may have been removed from it by wk_replay_remove.
wk_data_cutoff wk_data_cutoff_now(const wk_replay *replay);

/// As text, "40 less 37,38,39", and back.
void wk_data_cutoff_print(const wk_data_cutoff *cutoff, wk_text *out);
wk_status wk_data_cutoff_parse(const char *text, wk_data_cutoff *out, wk_error *err);

/// Removes episodes beyond the cutoff.
void wk_data_cutoff_apply(wk_replay *replay, const wk_data_cutoff *cutoff);

/// What weights are labelled with.
typedef struct wk_weights_origin {
    const wk_run_config *config; // the run's, with the learner's tasks
    const wk_domain *domain;
    uint64_t step;
    const wk_data_cutoff *cutoff; // of the data they were trained on
} wk_weights_origin;

/// Writes a learner's weights with labels to `name` in `dir`.
wk_status wk_weights_save(const wk_learner *learner, const wk_weights_origin *origin,
                          const wk_dir *dir, const char *name, wk_error *err);

/// Whether two files hold the same weights, by their checksums; labels may differ. A file that is
/// missing or damaged is the same as none.
wk_status wk_weights_same(const char *a, const char *b, bool *same, wk_error *err);

/// The tasks a file of weights is labelled with, as the configuration's key "tasks" has them.
wk_status wk_weights_tasks(const char *path, char tasks[WK_RUN_TEXT_MAX], wk_error *err);
/// The data cutoff it is labelled with.
wk_status wk_weights_data_cutoff(const char *path, wk_data_cutoff *out, wk_error *err);

#endif
