// A run that trains alone, in calls for one trainer.
#ifndef WK_TESTS_SUPPORT_TRAINER_H
#define WK_TESTS_SUPPORT_TRAINER_H

#include "base/file.h"
#include "train/trainer.h"

static inline wk_status trainer_create(const wk_run_config *config, const char *directory,
                                       wk_trainer **out, wk_error *err)
{
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_create(directory, err));
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    const wk_dir *in = dir;
    wk_status status = wk_trainer_create_population(&config, NULL, &in, 1, out, err);
    wk_dir_close(dir);
    return status;
}

static inline void trainer_destroy(wk_trainer *trainer)
{
    wk_trainer_destroy_population(&trainer, 1);
}

static inline wk_status trainer_step(wk_trainer *trainer, const wk_iteration **done, wk_error *err)
{
    if (done) *done = &trainer->iteration;
    WK_TRY(wk_trainer_step_population(trainer, err));
    if (trainer->status != WK_OK) *err = trainer->error;
    return trainer->status;
}

#endif
