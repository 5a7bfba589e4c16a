// --launch slurm: submits what is not done and returns; the jobs do the rest.
#include "sweep/report.h"
#include "sweep/slurm_system.h"

static wk_status is_all_done(const wk_slurm_system *system, bool *out, wk_error *err)
{
    *out = true;
    for (size_t i = 0; *out && i < system->plan->tasks.count; i++) {
        wk_sweep_task_phase phase;
        WK_TRY(system->phase(system->context, (int)i, &phase, err));
        *out = phase == WK_SWEEP_DONE;
    }
    if (!*out) return WK_OK;
    return wk_sweep_report_done(system->plan, system->directory, out, err);
}

static wk_status submit(const wk_sweep_launch *launch, const wk_slurm_system *system,
                        wk_sweep_end *end, wk_error *err)
{
    bool done;
    int submitted;
    WK_TRY(is_all_done(system, &done, err));
    *end = done ? WK_SWEEP_FINISHED : WK_SWEEP_SUBMITTED;
    if (done) return WK_OK;
    WK_TRY(wk_slurm_submit(system, launch->options->slurm, 0, &submitted, err));
    if (submitted == 0)
        wk_log_line(&launch->log, WK_LOG_INFO,
                    "nothing to submit: every run is queued, worked on, done or failed");
    return WK_OK;
}

static wk_status start(const wk_sweep_launch *launch, wk_sweep_end *end, wk_error *err)
{
    wk_slurm_folder folder = {0};
    wk_status status =
        wk_slurm_folder_open(launch->directory, launch->plan, &launch->log, &folder, err);
    if (status == WK_OK) status = submit(launch, &folder.system, end, err);
    wk_slurm_folder_close(&folder);
    return status;
}

static wk_status cancel(const wk_sweep_launch *launch, wk_error *err)
{
    wk_slurm_folder folder = {0};
    wk_status status =
        wk_slurm_folder_open_existing(launch->directory, launch->plan, &launch->log, &folder, err);
    if (status == WK_OK && folder.dir) status = wk_slurm_cancel(&folder.system, err);
    wk_slurm_folder_close(&folder);
    return status;
}

static wk_status queued(const char *directory, const wk_sweep_plan *plan, bool *out, wk_error *err)
{
    wk_slurm_folder folder = {0};
    wk_slurm_jobs jobs = {0};
    const wk_log silent = {0};
    wk_status status = wk_slurm_folder_open_existing(directory, plan, &silent, &folder, err);
    if (status == WK_OK && folder.dir) status = wk_slurm_queue(&folder.system, &jobs, err);
    for (size_t i = 0; status == WK_OK && i < jobs.count; i++)
        if (jobs.items[i].task >= 0) out[jobs.items[i].task] = true;
    wk_array_free(&jobs);
    wk_slurm_folder_close(&folder);
    return status;
}

const wk_sweep_launcher wk_sweep_slurm = {
    .name = "slurm", .start = start, .cancel = cancel, .queued = queued};
