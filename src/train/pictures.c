#include "train/pictures.h"

#include "agent/prediction.h"
#include "base/rng.h"
#include "train/heatmap.h"
#include <math.h>
#include <stdlib.h>

enum { SEQUENCES = 6, CONTEXT = 5, SIDE = WK_IMAGE_SIDE, ROWS = 3, GAP = 1 };

struct wk_pictures {
    wk_trainer *trainer;
    wk_prediction *prediction; // from the first clip on
    int steps;
    uint8_t *images, *first; // [T,B,...], the batch
    float *actions, *imagined;
    wk_image *frames; // [T]
};

wk_status wk_pictures_create(wk_trainer *trainer, wk_pictures **out, wk_error *err)
{
    wk_pictures *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for pictures");
    p->trainer = trainer;
    p->steps = wk_trainer_config(trainer)->length;
    *out = p;
    return WK_OK;
}

void wk_pictures_destroy(wk_pictures *p)
{
    if (!p) return;
    wk_prediction_destroy(p->prediction);
    free(p->images);
    free(p->first);
    free(p->actions);
    free(p->imagined);
    for (int t = 0; t < p->steps && p->frames; t++)
        wk_image_free(&p->frames[t]);
    free(p->frames);
    free(p);
}

wk_status wk_pictures_heatmap(wk_pictures *p, wk_metrics *metrics, wk_error *err)
{
    wk_heatmap map;
    wk_image image = {0};
    WK_TRY(wk_heatmap_create(wk_trainer_domain(p->trainer), wk_trainer_space(p->trainer),
                             wk_trainer_curriculum(p->trainer), &map, err));
    wk_status status = wk_heatmap_draw(&map, &image, err);
    if (status == WK_OK) status = wk_metrics_image(metrics, "env_sampler/heatmap", &image, err);
    wk_image_free(&image);
    wk_heatmap_free(&map);
    return status;
}

// Everything a clip needs, made once.
static wk_status prepare(wk_pictures *p, wk_error *err)
{
    if (p->prediction) return WK_OK;
    size_t rows = (size_t)p->steps * SEQUENCES;
    size_t width = (size_t)wk_trainer_domain(p->trainer)->action_size;
    if (!p->images) p->images = malloc(rows * WK_IMAGE_BYTES);
    if (!p->first) p->first = malloc(rows);
    if (!p->actions) p->actions = malloc(rows * width * sizeof *p->actions);
    if (!p->imagined) p->imagined = malloc(rows * WK_IMAGE_BYTES * sizeof *p->imagined);
    if (!p->frames) p->frames = calloc((size_t)p->steps, sizeof *p->frames);
    if (!p->images || !p->first || !p->actions || !p->imagined || !p->frames)
        return wk_fail(err, WK_E_MEMORY, "no memory for a clip of %zu frames", rows);
    for (int t = 0; t < p->steps; t++)
        if (!p->frames[t].rgb)
            WK_TRY(wk_image_create(SEQUENCES * (SIDE + GAP) - GAP, ROWS * (SIDE + GAP) - GAP,
                                   0xFFFFFF, &p->frames[t], err));
    int context = CONTEXT < p->steps ? CONTEXT : p->steps - 1;
    return wk_prediction_create(wk_trainer_learner(p->trainer), SEQUENCES, p->steps, context,
                                &p->prediction, err);
}

static uint8_t pixel(float value)
{
    float scaled = roundf(value * 255);
    return (uint8_t)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
}

// Truth, model and (model - truth + 1) / 2 of one sequence at one step, one below the other.
static void draw_column(const wk_pictures *p, int t, int b)
{
    size_t at = ((size_t)t * SEQUENCES + (size_t)b) * WK_IMAGE_BYTES;
    uint8_t rows[ROWS][WK_IMAGE_BYTES];
    for (size_t i = 0; i < WK_IMAGE_BYTES; i++) {
        float model = fminf(fmaxf(p->imagined[at + i] + 0.5f, 0), 1);
        rows[0][i] = p->images[at + i];
        rows[1][i] = pixel(model);
        rows[2][i] = pixel((model - (float)p->images[at + i] / 255 + 1) / 2);
    }
    for (int r = 0; r < ROWS; r++) {
        wk_image part = {SIDE, SIDE, rows[r]};
        wk_image_paste(&p->frames[t], &part, b * (SIDE + GAP), r * (SIDE + GAP), 1);
    }
}

wk_status wk_pictures_open_loop(wk_pictures *p, wk_metrics *metrics, wk_error *err)
{
    wk_replay *replay = wk_trainer_replay(p->trainer);
    if (wk_replay_sampleable(replay, p->steps) == 0) return WK_OK;
    WK_TRY(prepare(p, err));
    uint64_t seed = wk_rng_key(wk_trainer_config(p->trainer)->seed, "pictures");
    wk_replay_batch rows = {.images = p->images, .actions = p->actions, .first = p->first};
    WK_TRY(wk_replay_sample(replay, seed, wk_trainer_standing(p->trainer).steps, SEQUENCES,
                            p->steps, &rows, err));
    wk_learner_batch batch = {.images = p->images, .actions = p->actions, .first = p->first};
    wk_predicted out = {.open_loop = p->imagined};
    WK_TRY(wk_prediction_run(p->prediction, &batch, &out, err));
    for (int t = 0; t < p->steps; t++)
        for (int b = 0; b < SEQUENCES; b++)
            draw_column(p, t, b);
    return wk_metrics_clip(metrics, "train_openl_image", p->frames, (size_t)p->steps, err);
}
