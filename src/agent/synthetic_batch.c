#include "agent/synthetic_batch.h"

#include "base/observation.h"
#include "base/random.h"
#include <stdlib.h>
#include <string.h>

static void fill(float *numbers, size_t count, double low, wk_rng *rng)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)wk_rng_uniform(rng, low, 1);
}

// Copies the frames to device memory, where batches of a run take them from.
static wk_status place_frames(wk_synthetic_batch *n, size_t rows, wk_backend *backend,
                              wk_error *err)
{
    if (!wk_backend_is_async(backend) || !n->batch.images) return WK_OK;
    n->frames = malloc(rows * sizeof *n->frames);
    if (!n->frames) return wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu images", rows);
    WK_TRY(wk_buffer_create(backend, rows * WK_PIXELS, &n->device_frames, err));
    WK_TRY(wk_buffer_upload(n->device_frames, 0, n->images, rows * WK_PIXELS, err));
    for (size_t i = 0; i < rows; i++)
        n->frames[i] = (const char *)n->device_frames->address + i * WK_PIXELS;
    n->batch.frames = n->frames;
    return WK_OK;
}

wk_status wk_synthetic_batch_create(const wk_learner_config *config, wk_backend *backend,
                                    wk_synthetic_batch *out, wk_error *err)
{
    size_t rows = (size_t)wk_config_rows(config), actions = rows * (size_t)config->action_size;
    size_t rewards = rows * (size_t)config->tasks;
    size_t vectors = rows * (size_t)config->observation.vector;
    size_t pixels = rows * wk_observation_image_bytes(config->observation);
    *out = (wk_synthetic_batch){.images = malloc(pixels + 1),
                                .vectors = malloc((vectors + 1) * sizeof *out->vectors),
                                .first = calloc(rows, 1),
                                .actions = malloc(actions * sizeof *out->actions),
                                .rewards = malloc((rewards + 1) * sizeof *out->rewards)};
    if (!out->images || !out->first || !out->actions || !out->rewards || !out->vectors)
        return wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu images", rows);
    wk_rng rng = wk_rng_stream(0, "bench-batch", 0);
    for (size_t i = 0; i < pixels; i++)
        out->images[i] = (uint8_t)wk_rng_uniform(&rng, 0, 256);
    memset(out->first, 1, (size_t)config->batch);
    fill(out->actions, actions, -1, &rng);
    fill(out->rewards, rewards, 0, &rng);
    fill(out->vectors, vectors, -1, &rng);
    out->batch = (wk_learner_batch){.images = pixels > 0 ? out->images : NULL,
                                    .vectors = out->vectors,
                                    .actions = out->actions,
                                    .first = out->first,
                                    .rewards = out->rewards};
    return place_frames(out, rows, backend, err);
}

void wk_synthetic_batch_free(wk_synthetic_batch *synthetic)
{
    wk_buffer_destroy(synthetic->device_frames);
    free(synthetic->frames);
    free(synthetic->images);
    free(synthetic->first);
    free(synthetic->actions);
    free(synthetic->rewards);
    free(synthetic->vectors);
    *synthetic = (wk_synthetic_batch){0};
}
