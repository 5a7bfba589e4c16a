#include "train/training_images.h"

#include "base/rng.h"
#include "eval/open_loop.h"
#include "log/heatmap.h"
#include <stdlib.h>

enum { SEQUENCES = 6, CONTEXT = 5 };

struct wk_training_images {
    wk_trainer *trainer;
    wk_open_loop *loop; // from the first clip on
    int steps;
};

wk_status wk_training_images_create(wk_trainer *trainer, wk_training_images **out, wk_error *err)
{
    wk_training_images *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for pictures");
    p->trainer = trainer;
    p->steps = wk_trainer_config(trainer)->length;
    *out = p;
    return WK_OK;
}

void wk_training_images_destroy(wk_training_images *p)
{
    if (!p) return;
    wk_open_loop_destroy(p->loop);
    free(p);
}

wk_status wk_training_images_heatmap(wk_training_images *p, wk_metrics *metrics, wk_error *err)
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

wk_status wk_training_images_open_loop(wk_training_images *p, wk_metrics *metrics, wk_error *err)
{
    wk_replay *replay = wk_trainer_replay(p->trainer);
    if (wk_replay_sampleable(replay, p->steps) == 0) return WK_OK;
    int context = CONTEXT < p->steps ? CONTEXT : p->steps - 1;
    if (!p->loop)
        WK_TRY(wk_open_loop_create(wk_trainer_learner(p->trainer), SEQUENCES, p->steps, context,
                                   &p->loop, err));
    wk_open_loop_input input = wk_open_loop_get_input(p->loop);
    wk_replay_batch rows = {.images = input.images, .actions = input.actions, .first = input.first};
    uint64_t seed = wk_rng_key(wk_trainer_config(p->trainer)->seed, "pictures");
    WK_TRY(wk_replay_sample(replay, seed, wk_trainer_progress(p->trainer).steps, SEQUENCES,
                            p->steps, &rows, err));
    WK_TRY(wk_open_loop_run(p->loop, err));
    const wk_image *frames;
    WK_TRY(wk_open_loop_clip(p->loop, &frames, err));
    return wk_metrics_clip(metrics, "train_openl_image", frames, (size_t)p->steps, err);
}
