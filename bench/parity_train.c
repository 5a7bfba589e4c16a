#include "agent/learner.h"
#include "agent/prediction.h"
#include "base/file.h"
#include "base/machine.h"
#include "base/text.h"
#include "config/parts.h"
#include "parity.h"
#include "run/world.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Sequences in the layout of a batch; images by copy, or by their place on the device.
typedef struct sequences {
    uint32_t count, length;
    uint8_t *images, *first;
    float *actions;
    const void **frames;
} sequences;

// What is measured on the held-out sequences. Errors are of step t of a sequence, t < frames.
typedef struct measured {
    double one_step;        // mean over sequences and steps
    double *open_loop;      // [frames] from the context on
    double *reconstruction; // [frames] with all frames seen
    double *copy;           // [frames] of the last frame of the context
} measured;

typedef struct trainee {
    const parity_training *how;
    const parity_data *data;
    parity_header plan;
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    wk_buffer *pictures; // all of the data, on a device that works next to the host; or NULL
    sequences batch, held;
    wk_prediction *imagine, *reconstruct;
    float *imagined, *one_step;
    measured now;
    wk_learner_metrics sums; // since the last measurement
    uint32_t summed;
    double seconds; // of training
    FILE *metrics, *losses;
} trainee;

static wk_status make_sequences(const trainee *t, uint32_t count, uint32_t length, bool on_device,
                                sequences *out, wk_error *err)
{
    size_t rows = (size_t)count * length;
    *out = (sequences){.count = count, .length = length, .first = calloc(rows, 1)};
    out->actions = malloc(rows * (size_t)t->data->action_size * sizeof *out->actions);
    if (on_device)
        out->frames = malloc(rows * sizeof *out->frames);
    else
        out->images = malloc(rows * WK_IMAGE_BYTES);
    if (!out->first || !out->actions || (!out->frames && !out->images))
        return wk_fail(err, WK_E_MEMORY, "no memory for %u sequences of %u frames", count, length);
    memset(out->first, 1, count);
    return WK_OK;
}

static void free_sequences(sequences *s)
{
    free(s->images);
    free(s->first);
    free(s->actions);
    free(s->frames);
}

// The sequences that begin at rows `starts` of the data.
static wk_learner_batch fill(const trainee *t, sequences *s, const uint32_t *starts)
{
    size_t width = (size_t)t->data->action_size;
    for (size_t step = 0, at = 0; step < s->length; step++)
        for (size_t b = 0; b < s->count; b++, at++) {
            size_t row = starts[b] + step;
            memcpy(s->actions + at * width, t->data->actions + row * width,
                   width * sizeof *s->actions);
            if (s->frames)
                s->frames[at] = (const char *)t->pictures->address + row * WK_IMAGE_BYTES;
            else
                memcpy(s->images + at * WK_IMAGE_BYTES, t->data->frames + row * WK_IMAGE_BYTES,
                       WK_IMAGE_BYTES);
        }
    return (wk_learner_batch){
        .images = s->images, .actions = s->actions, .first = s->first, .frames = s->frames};
}

static wk_status open_device(trainee *t, wk_error *err)
{
    wk_device chosen;
    WK_TRY(wk_pool_create(0, &t->pool, err));
    WK_TRY(wk_device_open(t->how->device, t->how->precision, t->pool, &t->backend, &chosen, err));
    if (!wk_backend_is_async(t->backend)) return WK_OK;
    size_t bytes = t->data->rows * WK_IMAGE_BYTES;
    WK_TRY(wk_buffer_create(t->backend, bytes, &t->pictures, err));
    return wk_buffer_upload(t->pictures, 0, t->data->frames, bytes, err);
}

static wk_status make_learner(trainee *t, wk_error *err)
{
    const wk_run_config *config = &t->how->plan->config;
    wk_run_world world = {0};
    wk_learner_config learner;
    char path[WK_PATH_MAX];
    WK_TRY(wk_run_world_open(config, NULL, NULL, &world, err));
    WK_TRY(wk_run_config_learner(config, world.domain, &learner, err));
    WK_TRY(wk_learner_create(WK_LEARNER_UPDATES, &learner, t->backend, &t->learner, err));
    wk_path_join(t->how->plan_directory, "weights.safetensors", path, NULL);
    return wk_learner_restore_weights(t->learner, path, WK_WEIGHTS_WORLD, err);
}

static wk_status make_measurement(trainee *t, wk_error *err)
{
    const parity_header *h = &t->plan;
    size_t rows = (size_t)h->together * h->frames;
    int count = (int)h->together, frames = (int)h->frames;
    WK_TRY(make_sequences(t, h->together, h->frames, false, &t->held, err));
    t->imagined = malloc(rows * WK_IMAGE_BYTES * sizeof *t->imagined);
    t->one_step = malloc(rows * sizeof *t->one_step);
    t->now.open_loop = calloc(3 * (size_t)h->frames, sizeof *t->now.open_loop);
    if (!t->imagined || !t->one_step || !t->now.open_loop)
        return wk_fail(err, WK_E_MEMORY, "no memory for %zu imagined frames", rows);
    t->now.reconstruction = t->now.open_loop + h->frames;
    t->now.copy = t->now.reconstruction + h->frames;
    WK_TRY(wk_prediction_create(t->learner, count, frames, (int)h->context, &t->imagine, err));
    return wk_prediction_create(t->learner, count, frames, frames, &t->reconstruct, err);
}

static wk_status open_log(const trainee *t, const char *name, FILE **out, wk_error *err)
{
    char path[WK_PATH_MAX];
    wk_path_join(t->how->directory, name, path, NULL);
    *out = fopen(path, "w");
    if (*out) return WK_OK;
    return wk_fail(err, WK_E_IO, "%s: %s", path, strerror(errno));
}

static wk_status prepare(trainee *t, wk_error *err)
{
    WK_TRY(wk_dir_create(t->how->directory, err));
    WK_TRY(open_log(t, "metrics.jsonl", &t->metrics, err));
    WK_TRY(open_log(t, "losses.jsonl", &t->losses, err));
    WK_TRY(open_device(t, err));
    bool on_device = t->pictures != NULL;
    WK_TRY(make_sequences(t, t->plan.batch, t->plan.length, on_device, &t->batch, err));
    WK_TRY(make_learner(t, err));
    return make_measurement(t, err);
}

// Mean squared difference of an imagined image around zero from a frame of the data.
static double picture_error(const float *imagined, const uint8_t *truth)
{
    double sum = 0;
    for (size_t i = 0; i < WK_IMAGE_BYTES; i++) {
        double off = (double)imagined[i] - ((double)truth[i] / 255 - 0.5);
        sum += off * off;
    }
    return sum / WK_IMAGE_BYTES;
}

static double frame_difference(const uint8_t *a, const uint8_t *b)
{
    double sum = 0;
    for (size_t i = 0; i < WK_IMAGE_BYTES; i++)
        sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
    return sum / (255.0 * 255.0 * WK_IMAGE_BYTES);
}

// Adds the errors of what was imagined of the held sequences, a share of all, from a step on.
static void add_errors(const trainee *t, uint32_t from, double *errors)
{
    size_t count = t->plan.together;
    for (size_t step = from; step < t->plan.frames; step++)
        for (size_t b = 0; b < count; b++) {
            size_t at = (step * count + b) * WK_IMAGE_BYTES;
            errors[step] +=
                picture_error(t->imagined + at, t->held.images + at) / (double)t->plan.sequences;
        }
}

static void add_copy_errors(const trainee *t, double *errors)
{
    size_t count = t->plan.together, seen = (t->plan.context - 1) * count;
    for (size_t step = t->plan.context; step < t->plan.frames; step++)
        for (size_t b = 0; b < count; b++)
            errors[step] += frame_difference(t->held.images + (seen + b) * WK_IMAGE_BYTES,
                                             t->held.images + (step * count + b) * WK_IMAGE_BYTES) /
                            (double)t->plan.sequences;
}

static wk_status measure_group(trainee *t, const uint32_t *starts, wk_error *err)
{
    const parity_header *h = &t->plan;
    size_t predicted = (size_t)(h->frames - 1) * h->together;
    wk_learner_batch batch = fill(t, &t->held, starts);
    wk_predicted out = {.error = t->one_step, .open_loop = t->imagined};
    WK_TRY(wk_prediction_run(t->imagine, &batch, &out, err));
    for (size_t i = 0; i < predicted; i++)
        t->now.one_step += (double)t->one_step[i] / (double)predicted * h->together / h->sequences;
    add_errors(t, h->context, t->now.open_loop);
    add_copy_errors(t, t->now.copy);
    out = (wk_predicted){.open_loop = t->imagined};
    WK_TRY(wk_prediction_run(t->reconstruct, &batch, &out, err));
    add_errors(t, 0, t->now.reconstruction);
    return WK_OK;
}

static wk_status measure(trainee *t, wk_error *err)
{
    const parity_header *h = &t->plan;
    t->now.one_step = 0;
    memset(t->now.open_loop, 0, 3 * (size_t)h->frames * sizeof *t->now.open_loop);
    for (uint32_t i = 0; i < h->sequences; i += h->together)
        WK_TRY(measure_group(t, t->how->plan->held + i, err));
    return WK_OK;
}

static void put(wk_text *line, const char *key, double value)
{
    wk_text_printf(line, ", \"%s\": ", key);
    wk_text_number(line, value);
}

static double mean_from(const double *errors, uint32_t from, uint32_t end)
{
    double sum = 0;
    for (uint32_t i = from; i < end; i++)
        sum += errors[i];
    return sum / (end - from);
}

// Ends the line, writes it and lets it go.
static wk_status write_line(FILE *file, wk_text *line, wk_error *err)
{
    wk_text_puts(line, "}\n");
    bool written = !line->failed && fputs(wk_text_get(line), file) >= 0 && fflush(file) == 0;
    wk_text_free(line);
    return written ? WK_OK : wk_fail(err, WK_E_IO, "a line of figures cannot be written");
}

static bool exploring(const trainee *t)
{
    return strcmp(t->how->plan->config.exploration, "random") != 0;
}

static void put_losses(const trainee *t, wk_text *line, const wk_learner_metrics *m, double share)
{
    put(line, "model_loss", share * (double)m->model_loss);
    put(line, "image_loss", share * (double)m->image_loss);
    put(line, "kl", share * (double)m->kl);
    put(line, "model_norm", share * (double)m->model_norm);
    if (!exploring(t)) return;
    put(line, "actor_entropy", share * (double)m->explore.entropy);
    put(line, "disagreement", share * (double)m->disagreement);
}

// The errors of every imagined step, as of the last measurement.
static wk_status write_horizon(const trainee *t, uint32_t update, wk_error *err)
{
    const parity_header *h = &t->plan;
    wk_text lines = {0};
    char path[WK_PATH_MAX];
    for (uint32_t step = h->context; step < h->frames; step++) {
        wk_text_printf(&lines, "{\"step\": %u, \"update\": %u", step - h->context + 1, update);
        put(&lines, "open_loop", t->now.open_loop[step]);
        put(&lines, "reconstruction", t->now.reconstruction[step]);
        put(&lines, "copy", t->now.copy[step]);
        wk_text_puts(&lines, "}\n");
    }
    wk_path_join(t->how->directory, "horizon.jsonl", path, NULL);
    wk_status status = lines.failed ? wk_fail(err, WK_E_MEMORY, "no memory for %s", path)
                                    : wk_file_write(path, wk_text_get(&lines), lines.length, err);
    wk_text_free(&lines);
    return status;
}

static wk_status report(trainee *t, uint32_t update, wk_error *err)
{
    const parity_header *h = &t->plan;
    wk_text line = {0};
    WK_TRY(measure(t, err));
    wk_text_printf(&line, "{\"update\": %u", update);
    if (t->summed > 0) put_losses(t, &line, &t->sums, 1.0 / t->summed);
    put(&line, "one_step", t->now.one_step);
    put(&line, "open_loop", mean_from(t->now.open_loop, h->context, h->frames));
    put(&line, "reconstruction", mean_from(t->now.reconstruction, h->context, h->frames));
    put(&line, "copy", mean_from(t->now.copy, h->context, h->frames));
    put(&line, "seconds", t->seconds);
    t->sums = (wk_learner_metrics){0};
    t->summed = 0;
    WK_TRY(write_line(t->metrics, &line, err));
    return write_horizon(t, update, err);
}

static wk_status stage(trainee *t, uint32_t update, wk_error *err)
{
    const uint32_t *starts = t->how->plan->sequences + (size_t)update * t->plan.batch;
    wk_learner_batch batch = fill(t, &t->batch, starts);
    return wk_learner_stage(t->learner, &batch, err);
}

// One update, on the batch that was staged; with `ahead`, the next is staged meanwhile.
static wk_status update(trainee *t, uint32_t n, bool ahead, wk_error *err)
{
    wk_learner_metrics m;
    wk_text line = {0};
    double start = wk_clock_seconds();
    WK_TRY(wk_learner_start(t->learner, err));
    if (ahead) WK_TRY(stage(t, n + 1, err));
    WK_TRY(wk_learner_finish(t->learner, &m, NULL, err));
    t->seconds += wk_clock_seconds() - start;
    t->sums.model_loss += m.model_loss;
    t->sums.image_loss += m.image_loss;
    t->sums.kl += m.kl;
    t->sums.model_norm += m.model_norm;
    t->sums.explore.entropy += m.explore.entropy;
    t->sums.disagreement += m.disagreement;
    t->summed++;
    wk_text_printf(&line, "{\"update\": %u", n + 1);
    put_losses(t, &line, &m, 1);
    return write_line(t->losses, &line, err);
}

// Set by SIGTERM. A process that is killed while its kernels run can take others down with it where
// they share a GPU through MPS, so training ends between two updates.
static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

// Nothing is staged while errors are measured: a world model would already run next to that.
static wk_status train(trainee *t, wk_error *err)
{
    uint32_t end = t->plan.updates < t->how->updates ? t->plan.updates : t->how->updates;
    bool measures = true;
    signal(SIGTERM, stop);
    WK_TRY(prepare(t, err));
    WK_TRY(report(t, 0, err));
    for (uint32_t n = 0; n < end && !stopped; n++) {
        if (measures) WK_TRY(stage(t, n, err));
        measures = (n + 1) % t->how->every == 0 || n + 1 == end;
        WK_TRY(update(t, n, !measures, err));
        if (measures) WK_TRY(report(t, n + 1, err));
    }
    return WK_OK;
}

wk_status parity_train(const parity_training *how, wk_error *err)
{
    trainee t = {.how = how, .data = how->data, .plan = how->plan->header};
    wk_status status = train(&t, err);
    if (t.metrics) fclose(t.metrics);
    if (t.losses) fclose(t.losses);
    wk_prediction_destroy(t.imagine);
    wk_prediction_destroy(t.reconstruct);
    wk_learner_destroy(t.learner);
    wk_buffer_destroy(t.pictures);
    wk_backend_destroy(t.backend);
    wk_pool_destroy(t.pool);
    free_sequences(&t.batch);
    free_sequences(&t.held);
    free(t.imagined);
    free(t.one_step);
    free(t.now.open_loop);
    return status;
}
