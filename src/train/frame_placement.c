// Where a trainer takes the frames of its batches from: device memory, if they fit there, or the
// replay on the host. Batches are the same; the decision is logged.
#include "config/parts.h"
#include "train/trainer_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Reserved for evaluations, predictions and other users of the device.
static const double MARGIN = 1 << 30;

// Whether they fit, with the reason in t->frame_placement.
static bool fit(wk_trainer *t)
{
    wk_replay_config config = wk_run_config_replay(&t->config, t->domain);
    double need = (double)wk_device_frames_plan(&config);
    // Runs of a population share the memory equally.
    double room = (double)wk_backend_memory_info(t->backend).free / t->population->count;
    bool fits = need + MARGIN / t->population->count <= room;
    snprintf(t->frame_placement, sizeof t->frame_placement,
             "%s (%.0f MiB for %" PRIi64 " agent steps, and the GPU has %.0f MiB free%s)",
             fits ? "in GPU memory" : "on the host", need / (1 << 20), t->config.replay_capacity,
             room / (1 << 20), t->population->count > 1 ? " for each run" : "");
    return fits;
}

wk_status wk_trainer_choose_frame_placement(wk_trainer *t, bool *upload, wk_error *err)
{
    const char *wanted = t->config.replay_resident;
    bool off = strcmp(wanted, "off") == 0, must = strcmp(wanted, "on") == 0;
    bool device = wk_backend_is_async(t->backend);
    *upload = false;
    if (t->domain->observation.no_image) {
        snprintf(t->frame_placement, sizeof t->frame_placement,
                 "on the host (vectors: the domain has no images)");
        return WK_OK;
    }
    if (must && !device)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "replay.resident is on, but this run is on the CPU; use auto or off");
    snprintf(t->frame_placement, sizeof t->frame_placement, "on the host (%s)",
             device ? "replay.resident is off" : "the run is on the CPU");
    if (off || !device) return WK_OK;
    *upload = fit(t);
    if (*upload || !must) return WK_OK;
    return wk_fail(err, WK_E_MEMORY,
                   "replay.resident is on, but the replay's frames must stay %s; use auto, or a "
                   "smaller replay.capacity",
                   t->frame_placement);
}

wk_status wk_trainer_upload_frames(wk_trainer *t, wk_error *err)
{
    wk_queue *transfers = wk_learner_transfer_queue(t->learner);
    wk_status status =
        wk_device_frames_create(t->replay, t->backend, transfers, &t->device_frames, err);
    if (status != WK_E_MEMORY || strcmp(t->config.replay_resident, "on") == 0) return status;
    // Another process took the memory since it was measured.
    snprintf(t->frame_placement, sizeof t->frame_placement, "on the host (%.300s)", err->message);
    return WK_OK;
}

void wk_trainer_check_device_frames(wk_trainer *t)
{
    const wk_error *fault = t->device_frames ? wk_device_frames_fault(t->device_frames) : NULL;
    if (!fault) return;
    snprintf(t->frame_placement, sizeof t->frame_placement,
             "on the host (they filled the device: %.300s)", fault->message);
    wk_device_frames_destroy(t->device_frames);
    t->device_frames = NULL;
    t->device_full = true;
}

const char *wk_trainer_frame_placement(const wk_trainer *t, bool *device_full)
{
    if (device_full) *device_full = t->device_full;
    return t->frame_placement;
}
