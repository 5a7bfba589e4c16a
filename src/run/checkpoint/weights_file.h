// Weights files in the directory of a run, by kind and step:
//
//   snapshots/step-000000500000.safetensors                      along the way, by training
//   checkpoints/step-000000500000/learner.safetensors            the newest, with optimisers
//   adapt/step-000000500000/weights.safetensors                  task policies from a snapshot
//   finetune/step-000000500000-walk/weights.safetensors          the same, trained on for one task
//
// The step is always that of the world model they come from. Further adaptations and fine-tunings
// of a snapshot have names, which follow a dot: adapt/step-000000500000.NAME.
#ifndef WK_RUN_CHECKPOINT_WEIGHTS_FILE_H
#define WK_RUN_CHECKPOINT_WEIGHTS_FILE_H

#include "agent/learner.h"
#include "config/config.h"
#include "run/checkpoint/data_cutoff.h"
#include "run/checkpoint/steps.h"

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

/// "adapted", and "adapted.NAME" where it has a name.
void wk_weights_title(wk_weights_source source, char out[WK_WEIGHTS_TITLE_MAX]);

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
