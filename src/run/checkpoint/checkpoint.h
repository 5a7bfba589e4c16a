// Reading checkpoints: which there are, whether they are complete, and what can be read without
// building the learner they belong to. Safe while another process trains: names step-* are complete
// ones only, and nothing is written.
#ifndef WK_RUN_CHECKPOINT_CHECKPOINT_H
#define WK_RUN_CHECKPOINT_CHECKPOINT_H

#include "run/checkpoint/run_file.h"
#include "run/checkpoint/steps.h"

/// In the directory of a run, and in that of a checkpoint.
#define WK_CHECKPOINT_FOLDER "checkpoints"
#define WK_CHECKPOINT_NONE_YET "none-yet" // a run that has not saved yet
#define WK_CHECKPOINT_RUN_FILE "run.bin"
#define WK_CHECKPOINT_LEARNER_FILE "learner.safetensors"

/// Adds the agent steps of the checkpoints of a run, the oldest first; a run without any is fine.
wk_status wk_checkpoint_list(const char *directory, wk_steps *out, wk_error *err);

/// The newest one whose run.bin is complete. WK_E_NOT_FOUND when the run has none yet.
wk_status wk_checkpoint_newest(const char *directory, uint64_t *step, wk_error *err);

/// Contents of a checkpoint in numbers.
typedef struct wk_checkpoint_summary {
    uint64_t steps, episodes, updates, diverged;
    uint64_t environments;
    uint64_t engine;                   // MuJoCo's version (wk_domain_engine)
    uint64_t run_bytes, learner_bytes; // of its two files
    uint64_t config;                   // hash of the configuration it belongs to
    wk_replay_mark replay;             // where the replay log ends for it
} wk_checkpoint_summary;
wk_status wk_checkpoint_summarise(const char *directory, uint64_t step, wk_checkpoint_summary *out,
                                  wk_error *err);

/// Reads and checks run.bin of the checkpoint in `folder`; `bytes` is malloc'd.
wk_status wk_checkpoint_read(const wk_dir *folder, char **bytes, wk_run_header *head,
                             wk_error *err);

/// Verifies every checksum of it, and of the replay log up to its mark.
wk_status wk_checkpoint_verify(const char *directory, uint64_t step, wk_error *err);

/// Loads its curriculum into one made for the run's rule and domain, and nothing else.
wk_status wk_checkpoint_curriculum(const char *directory, uint64_t step, const wk_domain *domain,
                                   wk_curriculum *curriculum, wk_error *err);

#endif
