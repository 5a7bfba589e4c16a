#include "eval/image_error.h"

#include "agent/prediction.h"
#include "base/rng.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOGETHER = 8 }; // episodes predicted at once

typedef struct probe {
    const wk_domain *domain;
    const wk_image_error_config *config;
    wk_space *space;
    wk_env *env;
    wk_prediction *prediction;
    int rows;                // of an episode: steps + 1
    int length[TOGETHER];    // rows that each lane has; less than `rows` where the world broke down
    uint8_t *images, *first; // [T,TOGETHER,...]
    float *actions, *error;
} probe;

static wk_status allocate(probe *p, wk_error *err)
{
    size_t rows = (size_t)p->rows * TOGETHER, width = (size_t)p->domain->action_size;
    p->images = calloc(rows, WK_IMAGE_BYTES);
    p->first = calloc(rows, 1);
    p->actions = calloc(rows * width, sizeof *p->actions);
    p->error = calloc(rows, sizeof *p->error);
    return p->images && p->first && p->actions && p->error
               ? WK_OK
               : wk_fail(err, WK_E_MEMORY, "no memory for %zu frames", rows);
}

static void store(probe *p, int t, int lane, const uint8_t *image, const float *action)
{
    size_t row = (size_t)t * TOGETHER + (size_t)lane, width = (size_t)p->domain->action_size;
    memcpy(p->images + row * WK_IMAGE_BYTES, image, WK_IMAGE_BYTES);
    p->first[row] = t == 0;
    for (size_t i = 0; i < width; i++)
        p->actions[row * width + i] = action ? action[i] : 0;
}

// Plays episode number `episode` into a lane of the batch.
static wk_status play(probe *p, int episode, int lane, wk_error *err)
{
    double theta[WK_PARAMS_MAX];
    uint64_t seed = wk_rng_key(p->config->seed, "image error");
    wk_space_sample(p->space, seed, (uint64_t)episode, theta);
    uint8_t image[WK_IMAGE_BYTES], flags = 0;
    wk_frame frame = {.image = image, .flags = &flags};
    WK_TRY(wk_env_reset(p->env, theta, (size_t)p->domain->n_params, seed, (uint64_t)episode, &frame,
                        err));
    store(p, 0, lane, image, NULL);
    wk_rng rng = wk_rng_stream(seed, "actions", (uint64_t)episode);
    p->length[lane] = 1;
    for (int t = 1; t < p->rows && !(flags & WK_IS_LAST); t++) {
        float action[WK_ACTION_MAX];
        for (int i = 0; i < p->domain->action_size; i++)
            action[i] = (float)wk_rng_uniform(&rng, -1, 1);
        WK_TRY(wk_env_step(p->env, action, &frame, err));
        if (flags & WK_IS_DIVERGED) break;
        store(p, t, lane, image, action);
        p->length[lane]++;
    }
    return WK_OK;
}

// Episodes first ... first + TOGETHER - 1, as far as there are so many.
static wk_status measure_some(probe *p, int first, double *errors, wk_error *err)
{
    int count = p->config->episodes - first;
    if (count > TOGETHER) count = TOGETHER;
    for (int lane = 0; lane < count; lane++)
        WK_TRY(play(p, first + lane, lane, err));
    wk_learner_batch batch = {.images = p->images, .actions = p->actions, .first = p->first};
    WK_TRY(wk_prediction_run(p->prediction, &batch, &(wk_predicted){.error = p->error}, err));
    for (int lane = 0; lane < count; lane++) {
        double sum = 0;
        for (int t = 0; t + 1 < p->length[lane]; t++)
            sum += (double)p->error[t * TOGETHER + lane];
        errors[first + lane] = sum / (p->length[lane] - 1);
    }
    return WK_OK;
}

static wk_status measure(probe *p, wk_learner *learner, double *errors, wk_error *err)
{
    WK_TRY(allocate(p, err));
    WK_TRY(wk_space_create(p->domain, false, &p->space, err));
    WK_TRY(wk_env_create(p->domain, p->config->options, &p->env, err));
    WK_TRY(wk_prediction_create(learner, TOGETHER, p->rows, 1, &p->prediction, err));
    for (int first = 0; first < p->config->episodes; first += TOGETHER)
        WK_TRY(measure_some(p, first, errors, err));
    return WK_OK;
}

wk_status wk_image_error_measure(wk_learner *learner, const wk_domain *domain,
                                 const wk_image_error_config *config, double *errors, wk_error *err)
{
    int steps = config->steps < domain->episode_steps ? config->steps : domain->episode_steps;
    probe p = {.domain = domain, .config = config, .rows = steps + 1};
    wk_status status = measure(&p, learner, errors, err);
    wk_prediction_destroy(p.prediction);
    wk_env_destroy(p.env);
    wk_space_destroy(p.space);
    free(p.images);
    free(p.first);
    free(p.actions);
    free(p.error);
    return status;
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

void wk_mean_and_worst(double *values, size_t count, double *mean, double *worst)
{
    size_t tail = (count + 9) / 10;
    qsort(values, count, sizeof *values, falling);
    *mean = *worst = count ? 0 : NAN;
    for (size_t i = 0; i < count; i++) {
        *mean += values[i] / (double)count;
        if (i < tail) *worst += values[i] / (double)tail;
    }
}
