#include "train/episode_error.h"

#include "base/rng.h"
#include <math.h>
#include <stdlib.h>

wk_status wk_episode_error_create(wk_learner *learner, wk_episode_error *e, wk_error *err)
{
    const wk_learner_config *config = wk_learner_get_config(learner);
    size_t rows = (size_t)config->length;
    e->length = config->length;
    e->images = calloc(rows, WK_IMAGE_BYTES);
    e->vectors = calloc(rows * (size_t)config->observation.vector, sizeof *e->vectors);
    e->first = calloc(rows, 1);
    e->actions = calloc(rows * (size_t)config->action_size, sizeof *e->actions);
    e->error = calloc(rows, sizeof *e->error);
    if (!e->images || !e->vectors || !e->first || !e->actions || !e->error)
        return wk_fail(err, WK_E_MEMORY, "no memory to predict %zu observations", rows);
    return wk_prediction_create(learner, 1, e->length, 0, &e->prediction, err);
}

void wk_episode_error_free(wk_episode_error *e)
{
    wk_prediction_destroy(e->prediction);
    free(e->images);
    free(e->vectors);
    free(e->first);
    free(e->actions);
    free(e->error);
    *e = (wk_episode_error){0};
}

// Number of the episode in the store, which has it among its newest; SIZE_MAX: not there.
static size_t find(const wk_replay *replay, uint64_t id)
{
    for (size_t i = wk_replay_count(replay); i-- > 0;)
        if (wk_replay_at(replay, i).id == id) return i;
    return SIZE_MAX;
}

wk_status wk_episode_error_measure(wk_episode_error *e, wk_replay *replay, uint64_t seed,
                                   uint64_t id, double *out, wk_error *err)
{
    size_t at = find(replay, id);
    uint32_t window = (uint32_t)e->length;
    uint32_t rows = at == SIZE_MAX ? 0 : wk_replay_at(replay, at).rows;
    *out = NAN;
    if (rows < window) return WK_OK;
    wk_rng rng = wk_rng_stream(seed, "episode error", id);
    uint32_t start = (uint32_t)wk_rng_below(&rng, rows - window + 1);
    wk_replay_batch read = {
        .images = e->images, .vectors = e->vectors, .actions = e->actions, .first = e->first};
    wk_replay_read(replay, at, start, window, &read);
    wk_learner_batch batch = {
        .images = e->images, .vectors = e->vectors, .actions = e->actions, .first = e->first};
    wk_predicted predicted = {.error = e->error};
    WK_TRY(wk_prediction_run(e->prediction, &batch, &predicted, err));
    double sum = 0;
    for (uint32_t t = 0; t + 1 < window; t++)
        sum += (double)e->error[t];
    *out = sum / (double)(window - 1);
    return WK_OK;
}
