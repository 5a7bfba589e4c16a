#include "cli/saved_run.h"

#include "train/run_space.h"
#include "train/subject.h"

wk_status wk_saved_run_open(const char *directory, wk_saved_run *run, wk_error *err)
{
    uint64_t step;
    run->directory = directory;
    WK_TRY(wk_subject_read_config(directory, &run->config, err));
    WK_TRY(wk_checkpoint_newest(directory, &step, err));
    WK_TRY(wk_checkpoint_look(directory, step, &run->at, err));
    WK_TRY(wk_run_config_open_world(&run->config, &run->world, err));
    WK_TRY(wk_run_space_create(&run->config, run->world.domain, &run->space, err));
    WK_TRY(
        wk_run_curriculum_open(&run->config, run->world.domain, run->space, &run->curriculum, err));
    return wk_checkpoint_curriculum(directory, step, run->world.domain, run->curriculum.curriculum,
                                    err);
}

void wk_saved_run_close(wk_saved_run *run)
{
    wk_run_curriculum_close(&run->curriculum);
    wk_space_destroy(run->space);
    wk_run_world_close(&run->world);
}
