// The files of a checkpoint, for those who write them (train/trainer_checkpoint.c).
#ifndef WK_RUN_CHECKPOINT_FILES_H
#define WK_RUN_CHECKPOINT_FILES_H

#include "run/checkpoint.h"
#include "run/run_file.h"

#define WK_CHECKPOINT_FOLDER "checkpoints"
#define WK_CHECKPOINT_NONE_YET "none-yet"
#define WK_CHECKPOINT_RUN_FILE "run.bin"
#define WK_CHECKPOINT_LEARNER_FILE "learner.safetensors"
#define WK_CHECKPOINT_UNFINISHED "unfinished-"

/// Reads and checks run.bin of a step; `bytes` is malloc'd.
wk_status wk_checkpoint_read(const wk_dir *folder, char **bytes, wk_run_header *head,
                             wk_error *err);

#endif
