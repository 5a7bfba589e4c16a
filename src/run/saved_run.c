#include "run/saved_run.h"

#include "run/curriculum.h"
#include "run/saved_learner.h"
#include "run/space.h"
#include <inttypes.h>

static wk_status check_config(const wk_saved_run *run, wk_error *err)
{
    if (wk_run_config_has_hash(&run->config, run->at.config)) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "the checkpoint at step %" PRIu64 " of '%s' was made with another "
                   "config.yaml than the one beside it; put back the run's own",
                   run->step, run->directory);
}

wk_status wk_saved_run_open(const char *directory, wk_saved_run *run, wk_error *err)
{
    run->directory = directory;
    WK_TRY(wk_saved_run_read_config(directory, &run->config, err));
    WK_TRY(wk_checkpoint_newest(directory, &run->step, err));
    WK_TRY(wk_checkpoint_summarize(directory, run->step, &run->at, err));
    WK_TRY(wk_plugin_record_read(directory, &run->record, err));
    WK_TRY(wk_run_world_open(&run->config, NULL, &run->record, &run->world, err));
    WK_TRY(check_config(run, err));
    return wk_run_space_create(&run->config, &run->world, &run->space, err);
}

wk_status wk_saved_run_curriculum(wk_saved_run *run, wk_error *err)
{
    const wk_domain *domain = run->world.domain;
    WK_TRY(wk_run_curriculum_create(&run->config, NULL, &run->record, domain, run->space,
                                    &run->curriculum, err));
    return wk_checkpoint_curriculum(run->directory, run->step, domain, run->curriculum, err);
}

void wk_saved_run_close(wk_saved_run *run)
{
    wk_curriculum_destroy(run->curriculum);
    wk_space_destroy(run->space);
    wk_plugin_record_free(&run->record);
}
