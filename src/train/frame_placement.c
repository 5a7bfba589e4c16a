// Where a trainer takes the pictures of its batches from: the device's memory, if they fit there,
// or the replay on the host. Batches are the same; what is decided here is told to people.
#include "config/parts.h"
#include "train/trainer_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// Left to what comes later: evaluations, predictions, other users of the device.
static const double MARGIN = 1 << 30;

// Whether there is room, with the reason in t->pictures.
static bool fit(wk_trainer *t)
{
    wk_replay_config config = wk_run_replay_config(&t->config, t->domain);
    double need = (double)wk_resident_plan(&config);
    double room = (double)wk_backend_room(t->backend).free;
    bool fits = need + MARGIN <= room;
    snprintf(t->pictures, sizeof t->pictures,
             "%s (%.1f GB for %" PRIi64 " steps, and the GPU has %.1f GB free)",
             fits ? "in GPU memory" : "on the host", need / 1e9, t->config.replay_capacity,
             room / 1e9);
    return fits;
}

wk_status wk_trainer_place_pictures(wk_trainer *t, bool *hold, wk_error *err)
{
    const char *told = t->config.replay_resident;
    bool off = strcmp(told, "off") == 0, must = strcmp(told, "on") == 0;
    bool device = wk_backend_works_beside(t->backend);
    *hold = false;
    if (must && !device)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "replay.resident is on, but this run is on the CPU; use auto or off");
    snprintf(t->pictures, sizeof t->pictures, "on the host (%s)",
             device ? "replay.resident is off" : "the run is on the CPU");
    if (off || !device) return WK_OK;
    *hold = fit(t);
    if (*hold || !must) return WK_OK;
    return wk_fail(err, WK_E_MEMORY,
                   "replay.resident is on, but the replay's pictures must stay %s; use auto, or a "
                   "smaller replay.capacity",
                   t->pictures);
}

wk_status wk_trainer_hold_pictures(wk_trainer *t, wk_error *err)
{
    wk_queue *transfers = wk_learner_transfers(t->learner);
    wk_status status = wk_resident_create(t->replay, transfers, &t->resident, err);
    if (status != WK_E_MEMORY || strcmp(t->config.replay_resident, "on") == 0) return status;
    // Somebody took the room since it was measured.
    snprintf(t->pictures, sizeof t->pictures, "on the host (%.300s)", err->message);
    return WK_OK;
}

void wk_trainer_check_pictures(wk_trainer *t)
{
    const wk_error *fault = t->resident ? wk_resident_fault(t->resident) : NULL;
    if (!fault) return;
    snprintf(t->pictures, sizeof t->pictures, "on the host (they filled the device: %.300s)",
             fault->message);
    wk_resident_destroy(t->resident);
    t->resident = NULL;
    t->lost = true;
}

const char *wk_trainer_pictures(const wk_trainer *t, bool *lost)
{
    if (lost) *lost = t->lost;
    return t->pictures;
}
