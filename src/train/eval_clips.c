#include "train/eval_clips.h"

#include "eval/open_loop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 6, CONTEXT = 5, FRAMES = 128 };

struct wk_eval_clips {
    wk_open_loop *loop;
    int steps; // of a prediction
    bool imagined;
    int every, count;        // frames between those kept, and how many those are
    wk_image frames[FRAMES]; // of the first episode
};

static wk_status build(wk_eval_clips *p, wk_learner *learner, wk_error *err)
{
    int context = CONTEXT < p->steps ? CONTEXT : p->steps - 1;
    for (int i = 0; i < FRAMES; i++)
        WK_TRY(wk_image_create(WK_IMAGE_SIDE, WK_IMAGE_SIDE, 0, &p->frames[i], err));
    return wk_open_loop_create(learner, SEQUENCES, p->steps, context, &p->loop, err);
}

wk_status wk_eval_clips_create(wk_learner *learner, const wk_domain *domain, int steps,
                               wk_eval_clips **out, wk_error *err)
{
    wk_eval_clips *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for images");
    p->steps = steps;
    p->every = domain->episode_steps / FRAMES + 1;
    wk_status status = build(p, learner, err);
    if (status != WK_OK) {
        wk_eval_clips_destroy(p);
        return status;
    }
    *out = p;
    return WK_OK;
}

void wk_eval_clips_destroy(wk_eval_clips *p)
{
    if (!p) return;
    wk_open_loop_destroy(p->loop);
    for (int i = 0; i < FRAMES; i++)
        wk_image_free(&p->frames[i]);
    free(p);
}

wk_status wk_eval_clips_add_row(wk_eval_clips *p, const wk_eval_row *row, wk_error *err)
{
    (void)err;
    bool broken = (row->flags & WK_IS_DIVERGED) && row->step > 0; // has no image
    if (row->case_index > 0 || broken) return WK_OK;
    if (row->episode == 0 && row->step % p->every == 0 && p->count < FRAMES)
        memcpy(p->frames[p->count++].rgb, row->image, WK_IMAGE_BYTES);
    if (!p->imagined && row->episode < SEQUENCES && row->step < p->steps)
        wk_open_loop_set_frame(p->loop, row->step, row->episode, row, row->step == 0);
    return WK_OK;
}

static wk_status imagine(wk_eval_clips *p, wk_metrics *metrics, wk_error *err)
{
    const wk_image *frames;
    p->imagined = true;
    WK_TRY(wk_open_loop_run(p->loop, err));
    WK_TRY(wk_open_loop_clip(p->loop, &frames, err));
    return wk_metrics_clip(metrics, "eval_openl_image", frames, (size_t)p->steps, err);
}

wk_status wk_eval_clips_log(wk_eval_clips *p, const char *task, wk_metrics *metrics, wk_error *err)
{
    char name[160];
    snprintf(name, sizeof name, "eval_%.100s_uniform_policy_image", task);
    size_t count = (size_t)p->count;
    p->count = 0;
    WK_TRY(wk_metrics_clip(metrics, name, p->frames, count, err));
    return p->imagined ? WK_OK : imagine(p, metrics, err);
}
