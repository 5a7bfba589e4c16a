// Trains a small world model on frames of a domain collected with random actions, then draws what
// it foresees: for episodes it never saw, a strip of the truth, of the model (which sees the first
// frames and imagines the rest from the actions alone), and of the difference.
//
// usage: bench_reconstruct DOMAIN OUT.png [UPDATES]
#include "agent/prediction.h"
#include "base/machine.h"
#include "base/random.h"
#include "config/parts.h"
#include "media/image.h"
#include "waker/env.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EPISODES = 48,
    ROWS = 101,  // of an episode
    SHOWN = 4,   // episodes kept apart to be drawn
    STEPS = 16,  // of a drawn sequence
    CONTEXT = 5, // of them, seen by the model
    START = 40,  // where in its episode a drawn sequence begins
    LENGTH = 16, // of the sequences in a training batch
    BATCH = 8,
    DEFAULT_UPDATES = 1200,
    SEED = 0,
    GAP = 2,
    LABEL = 74, // pixels
};

// Episodes of a domain: images [EPISODES,ROWS,64,64,3], actions [EPISODES,ROWS,A].
typedef struct footage {
    int actions_size;
    uint8_t *images;
    float *actions;
} footage;

static const uint8_t *image_at(const footage *f, int episode, int row)
{
    return f->images + ((size_t)episode * ROWS + (size_t)row) * WK_IMAGE_BYTES;
}

static const float *action_at(const footage *f, int episode, int row)
{
    return f->actions + ((size_t)episode * ROWS + (size_t)row) * (size_t)f->actions_size;
}

static wk_status film_episode(wk_env *env, const wk_space *space, int episode, footage *f,
                              wk_error *err)
{
    double theta[WK_PARAMS_MAX];
    const wk_domain *domain = wk_env_domain(env);
    wk_space_sample(space, SEED, (uint64_t)episode, theta);
    wk_rng rng = wk_rng_stream(SEED, "reconstruct actions", (uint64_t)episode);
    float *action = (float *)action_at(f, episode, 0);
    memset(action, 0, (size_t)f->actions_size * sizeof *action);
    wk_frame frame = {.image = (uint8_t *)image_at(f, episode, 0)};
    WK_TRY(
        wk_env_reset(env, theta, (size_t)domain->n_params, SEED, (uint64_t)episode, &frame, err));
    for (int row = 1; row < ROWS; row++) {
        action = (float *)action_at(f, episode, row);
        for (int k = 0; k < f->actions_size; k++)
            action[k] = (float)wk_rng_uniform(&rng, -1, 1);
        frame.image = (uint8_t *)image_at(f, episode, row);
        WK_TRY(wk_env_step(env, action, &frame, err));
    }
    return WK_OK;
}

static wk_status film(const wk_domain *domain, footage *f, wk_error *err)
{
    size_t rows = (size_t)EPISODES * ROWS;
    *f = (footage){.actions_size = domain->action_size,
                   .images = malloc(rows * WK_IMAGE_BYTES),
                   .actions = malloc(rows * (size_t)domain->action_size * sizeof(float))};
    if (!f->images || !f->actions) return wk_fail(err, WK_E_MEMORY, "no memory for the episodes");
    wk_env *env = NULL;
    wk_space *space = NULL;
    wk_status status = wk_env_create(domain, NULL, &env, err);
    if (status == WK_OK) status = wk_space_create(domain, false, &space, err);
    for (int i = 0; status == WK_OK && i < EPISODES; i++)
        status = film_episode(env, space, i, f, err);
    wk_space_destroy(space);
    wk_env_destroy(env);
    return status;
}

// A batch [T,B] in memory of its own.
typedef struct reel {
    int steps, count;
    uint8_t *images, *first;
    float *actions;
} reel;

static wk_status reel_create(int steps, int count, int actions, reel *out, wk_error *err)
{
    size_t rows = (size_t)steps * (size_t)count;
    *out = (reel){steps, count, malloc(rows * WK_IMAGE_BYTES), calloc(rows, 1),
                  malloc(rows * (size_t)actions * sizeof(float))};
    if (out->images && out->first && out->actions) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu images", rows);
}

static void reel_free(reel *r)
{
    free(r->images);
    free(r->first);
    free(r->actions);
}

static wk_learner_batch reel_view(const reel *r)
{
    return (wk_learner_batch){.images = r->images, .actions = r->actions, .first = r->first};
}

static void reel_put(reel *r, int column, const footage *f, int episode, int start)
{
    size_t width = (size_t)f->actions_size;
    for (int t = 0; t < r->steps; t++) {
        size_t at = (size_t)(t * r->count + column);
        memcpy(r->images + at * WK_IMAGE_BYTES, image_at(f, episode, start + t), WK_IMAGE_BYTES);
        memcpy(r->actions + at * width, action_at(f, episode, start + t), width * sizeof(float));
        r->first[at] = t == 0;
    }
}

static int pick(wk_rng *rng, int count)
{
    return (int)floor(wk_rng_uniform(rng, 0, count));
}

static wk_status train(wk_learner *learner, const footage *f, int updates, wk_error *err)
{
    reel r;
    wk_rng rng = wk_rng_stream(SEED, "reconstruct batches", 0);
    double start = wk_clock_seconds();
    wk_status status = reel_create(LENGTH, BATCH, f->actions_size, &r, err);
    for (int i = 0; status == WK_OK && i < updates; i++) {
        for (int k = 0; k < BATCH; k++)
            reel_put(&r, k, f, SHOWN + pick(&rng, EPISODES - SHOWN), pick(&rng, ROWS - LENGTH + 1));
        wk_learner_batch batch = reel_view(&r);
        wk_learner_metrics metrics;
        status = wk_learner_stage(learner, &batch, err);
        if (status == WK_OK) status = wk_learner_start(learner, err);
        if (status == WK_OK) status = wk_learner_finish(learner, &metrics, NULL, err);
        if (status == WK_OK && (i % 50 == 0 || i == updates - 1))
            fprintf(stderr, "update %d, %.0f s: image loss %.2f, KL %.2f\n", i,
                    wk_clock_seconds() - start, metrics.image_loss, metrics.kl);
    }
    reel_free(&r);
    return status;
}

static uint8_t byte_of(double value)
{
    return (uint8_t)lrint(255 * fmin(1, fmax(0, value)));
}

typedef struct strip {
    uint8_t truth[WK_IMAGE_BYTES], model[WK_IMAGE_BYTES], error[WK_IMAGE_BYTES];
} strip;

static void compare(const uint8_t *truth, const float *predicted, strip *out)
{
    memcpy(out->truth, truth, WK_IMAGE_BYTES);
    for (int i = 0; i < WK_IMAGE_BYTES; i++) {
        double value = predicted[i] + 0.5;
        out->model[i] = byte_of(value);
        out->error[i] = byte_of(2 * fabs(value - truth[i] / 255.0));
    }
}

static void draw_strips(wk_image *sheet, const reel *r, const float *open_loop)
{
    static const char *const rows[] = {"truth", "model", "error x2"};
    for (int k = 0; k < r->count; k++) {
        int top = GAP + k * (3 * (WK_IMAGE_SIDE + GAP) + 3 * GAP);
        for (int i = 0; i < 3; i++)
            wk_image_text(sheet, GAP, top + i * (WK_IMAGE_SIDE + GAP) + 28, 0x202020, rows[i]);
        for (int t = 0; t < STEPS; t++) {
            size_t at = (size_t)(t * r->count + k);
            strip s;
            compare(r->images + at * WK_IMAGE_BYTES, open_loop + at * WK_IMAGE_BYTES, &s);
            uint8_t *tiles[] = {s.truth, s.model, s.error};
            int left = LABEL + t * (WK_IMAGE_SIDE + GAP) + (t >= CONTEXT ? 4 * GAP : 0);
            for (int i = 0; i < 3; i++)
                wk_image_paste(sheet, &(wk_image){WK_IMAGE_SIDE, WK_IMAGE_SIDE, tiles[i]}, left,
                               top + i * (WK_IMAGE_SIDE + GAP), 1);
        }
    }
}

static wk_status draw(const reel *r, const float *open_loop, const char *path, wk_error *err)
{
    wk_image sheet;
    int width = LABEL + STEPS * (WK_IMAGE_SIDE + GAP) + 4 * GAP;
    int height = GAP + r->count * (3 * (WK_IMAGE_SIDE + GAP) + 3 * GAP);
    WK_TRY(wk_image_create(width, height, 0xFFFFFF, &sheet, err));
    draw_strips(&sheet, r, open_loop);
    wk_status status = wk_png_write(path, &sheet, err);
    wk_image_free(&sheet);
    return status;
}

// The mean over the imagined frames, and what showing the last seen frame for ever would give.
static void report(const reel *r, const float *open_loop)
{
    double model = 0, still = 0;
    size_t frame = (size_t)r->count * WK_IMAGE_BYTES, last = (CONTEXT - 1) * frame;
    for (size_t i = 0; i < (STEPS - CONTEXT) * frame; i++) {
        double truth = r->images[last + frame + i] / 255.0;
        model += pow(open_loop[last + frame + i] + 0.5 - truth, 2);
        still += pow(r->images[last + i % frame] / 255.0 - truth, 2);
    }
    double count = (double)((STEPS - CONTEXT) * frame);
    printf("open loop, mean squared error of %d frames: %.5f; the last seen frame kept: %.5f\n",
           STEPS - CONTEXT, model / count, still / count);
}

static wk_status show(wk_learner *learner, const footage *f, const char *path, wk_error *err)
{
    reel r = {0};
    wk_prediction *prediction = NULL;
    float *open_loop = malloc((size_t)STEPS * SHOWN * WK_IMAGE_BYTES * sizeof *open_loop);
    wk_status status = open_loop ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for the strips");
    if (status == WK_OK) status = reel_create(STEPS, SHOWN, f->actions_size, &r, err);
    if (status == WK_OK)
        status = wk_prediction_create(learner, SHOWN, STEPS, CONTEXT, &prediction, err);
    if (status == WK_OK) {
        for (int k = 0; k < SHOWN; k++)
            reel_put(&r, k, f, k, START);
        wk_learner_batch batch = reel_view(&r);
        status =
            wk_prediction_run(prediction, &batch, &(wk_predicted){.open_loop = open_loop}, err);
    }
    if (status == WK_OK) {
        report(&r, open_loop);
        status = draw(&r, open_loop, path, err);
    }
    wk_prediction_destroy(prediction);
    reel_free(&r);
    free(open_loop);
    return status;
}

// Sizes of preset quick; policies play no part here, so imagination is as short as it can be.
static wk_learner_config config_of(const wk_domain *domain)
{
    wk_learner_config c;
    if (wk_learner_config_of_blocks(&(const char *){"quick"}, 1, &c, NULL) != WK_OK) abort();
    c.batch = BATCH, c.length = LENGTH, c.horizon = 1, c.ensemble = 2;
    c.exploration = WK_EXPLORE_RANDOM, c.model_rate = 2e-3f, c.seed = SEED;
    c.action_size = domain->action_size;
    return c;
}

static wk_status run(const char *name, const char *path, int updates, wk_error *err)
{
    const wk_domain *domain;
    WK_TRY(wk_domain_find(name, &domain, err));
    footage f = {0};
    wk_pool *pool = NULL;
    wk_backend *backend = NULL;
    wk_learner *learner = NULL;
    wk_learner_config config = config_of(domain);
    wk_status status = film(domain, &f, err);
    if (status == WK_OK) status = wk_pool_create(0, &pool, err);
    if (status == WK_OK) status = wk_backend_cpu_create(pool, &backend, err);
    if (status == WK_OK)
        status = wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config, backend,
                                   &learner, err);
    if (status == WK_OK) status = train(learner, &f, updates, err);
    if (status == WK_OK) status = show(learner, &f, path, err);
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
    wk_pool_destroy(pool);
    free(f.images);
    free(f.actions);
    return status;
}

int main(int argc, char **argv)
{
    wk_error err = {0};
    if (argc < 3 || argc > 4) {
        fprintf(stderr, "usage: bench_reconstruct DOMAIN OUT.png [UPDATES]\n");
        return 2;
    }
    int updates = argc == 4 ? atoi(argv[3]) : DEFAULT_UPDATES;
    if (run(argv[1], argv[2], updates, &err) == WK_OK) return 0;
    fprintf(stderr, "reconstruct: %s\n", err.message);
    return 1;
}
