#include "log/metrics.h"

#include "base/file.h"
#include "base/hash.h"
#include "log/files.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CLIP_DELAY_CS = 5 }; // dreamer's 20 frames a second

struct wk_metrics {
    int action_repeat;
    bool timing;                  // measured numbers go to metrics.jsonl too
    wk_append_file jsonl, events; // `events` is not open without TensorBoard
    char events_file[WK_METRICS_FILE_MAX];
    WK_ARRAY(wk_scalar) scalars;
    WK_ARRAY(wk_metric_image) images;
    bool short_of_memory; // something could not be added; the next write reports it
};

static void forget_record(wk_metrics *metrics)
{
    for (size_t i = 0; i < metrics->scalars.count; i++)
        free((void *)metrics->scalars.items[i].name);
    for (size_t i = 0; i < metrics->images.count; i++) {
        free((void *)metrics->images.items[i].bytes);
        free((void *)metrics->images.items[i].name);
    }
    metrics->scalars.count = metrics->images.count = 0;
    metrics->short_of_memory = false;
}

void wk_metrics_close(wk_metrics *metrics)
{
    if (!metrics) return;
    wk_append_file_close(&metrics->jsonl);
    wk_append_file_close(&metrics->events);
    forget_record(metrics);
    wk_array_free(&metrics->scalars);
    wk_array_free(&metrics->images);
    free(metrics);
}

// Records have some hundred scalars, so that going through them takes less than writing them.
static void add_scalar(wk_metrics *metrics, const char *name, double value, wk_scalar_kind kind)
{
    for (size_t i = 0; i < metrics->scalars.count; i++) {
        wk_scalar *there = &metrics->scalars.items[i];
        if (strcmp(there->name, name) != 0) continue;
        there->value = value;
        there->kind = kind;
        return;
    }
    char *copy = strdup(name);
    if (copy && wk_array_push(&metrics->scalars, (wk_scalar){copy, value, kind})) return;
    free(copy);
    metrics->short_of_memory = true;
}

void wk_metrics_scalar(wk_metrics *metrics, const char *name, double value)
{
    add_scalar(metrics, name, value, WK_SCALAR_PLAIN);
}

void wk_metrics_timing(wk_metrics *metrics, const char *name, double value)
{
    add_scalar(metrics, name, value, WK_SCALAR_TIMING);
}

void wk_metrics_detail(wk_metrics *metrics, const char *name, double value)
{
    add_scalar(metrics, name, value, WK_SCALAR_DETAIL);
}

// Takes the encoded bytes over, also when it fails.
static wk_status add_image(wk_metrics *metrics, const char *name, const wk_image *shape,
                           uint8_t *bytes, size_t size, wk_error *err)
{
    char *copy = strdup(name);
    if (!copy || !wk_array_reserve(&metrics->images, 1)) {
        free(copy);
        free(bytes);
        return wk_fail(err, WK_E_MEMORY, "no memory for the image '%s'", name);
    }
    wk_metric_image *encoded = &metrics->images.items[metrics->images.count++];
    encoded->name = copy;
    encoded->width = shape->width;
    encoded->height = shape->height;
    encoded->bytes = bytes;
    encoded->size = size;
    return WK_OK;
}

wk_status wk_metrics_image(wk_metrics *metrics, const char *name, const wk_image *image,
                           wk_error *err)
{
    uint8_t *bytes;
    size_t size;
    WK_TRY(wk_png_encode(image, &bytes, &size, err));
    return add_image(metrics, name, image, bytes, size, err);
}

wk_status wk_metrics_clip(wk_metrics *metrics, const char *name, const wk_image *frames,
                          size_t count, wk_error *err)
{
    uint8_t *bytes;
    size_t size;
    WK_TRY(wk_gif_encode(frames, count, CLIP_DELAY_CS, &bytes, &size, err));
    return add_image(metrics, name, frames, bytes, size, err);
}

wk_status wk_metrics_write(wk_metrics *metrics, int64_t agent_step, wk_error *err)
{
    if (metrics->short_of_memory) {
        // What could not be added is lost; the next write has the rest.
        metrics->short_of_memory = false;
        return wk_fail(err, WK_E_MEMORY, "no memory to note all metrics of agent step %lld",
                       (long long)agent_step);
    }
    if (metrics->scalars.count == 0 && metrics->images.count == 0) return WK_OK;
    const wk_metrics_record record = {
        .step = agent_step * metrics->action_repeat,
        .agent_step = agent_step,
        .scalars = metrics->scalars.items,
        .n_scalars = metrics->scalars.count,
        .images = metrics->images.items,
        .n_images = metrics->images.count,
    };
    uint64_t before = metrics->jsonl.end;
    WK_TRY(wk_jsonl_write(&metrics->jsonl, &record, metrics->timing, err));
    wk_status status =
        metrics->events.path ? wk_tensorboard_write(&metrics->events, &record, err) : WK_OK;
    if (status == WK_OK)
        forget_record(metrics);
    else // a repeated write must not give the line twice
        (void)wk_append_file_truncate(&metrics->jsonl, before, NULL);
    return status;
}

wk_status wk_metrics_position(wk_metrics *metrics, wk_metrics_mark *out, wk_error *err)
{
    WK_TRY(wk_append_file_sync(&metrics->jsonl, err));
    if (metrics->events.path) WK_TRY(wk_append_file_sync(&metrics->events, err));
    *out = (wk_metrics_mark){.jsonl = metrics->jsonl.end, .events = metrics->events.end};
    memcpy(out->events_file, metrics->events_file, sizeof out->events_file);
    return WK_OK;
}

static void warn_if_short(const wk_log *log, const char *what, uint64_t have, uint64_t expected)
{
    if (have < expected)
        wk_log_line(log, WK_LOG_WARN,
                    "%s has %llu bytes, but had %llu at the checkpoint: metrics are missing", what,
                    (unsigned long long)have, (unsigned long long)expected);
}

static wk_status open_files(wk_metrics *metrics, const wk_dir *dir, const wk_metrics_config *config,
                            const wk_metrics_mark *mark, wk_error *err)
{
    WK_TRY(wk_jsonl_open(dir, WK_METRICS_JSONL, mark ? mark->jsonl : UINT64_MAX, &metrics->jsonl,
                         err));
    if (mark) warn_if_short(config->log, WK_METRICS_JSONL, metrics->jsonl.end, mark->jsonl);
    bool afresh = mark && mark->jsonl == 0 && !*mark->events_file;
    if (afresh) WK_TRY(wk_tensorboard_remove(dir, err));
    if (!config->tensorboard) return WK_OK;
    char name[WK_METRICS_FILE_MAX] = "";
    if (!mark)
        WK_TRY(wk_tensorboard_newest(dir, name, err));
    else if (memchr(mark->events_file, 0, sizeof mark->events_file))
        memcpy(name, mark->events_file, sizeof name);
    WK_TRY(wk_tensorboard_open(dir, name, mark ? mark->events : UINT64_MAX, config,
                               metrics->events_file, &metrics->events, err));
    bool same = strcmp(name, metrics->events_file) == 0;
    if (mark && *name)
        warn_if_short(config->log, name, same ? metrics->events.end : 0, mark->events);
    return WK_OK;
}

wk_status wk_metrics_open(const wk_metrics_config *config, const wk_metrics_mark *mark,
                          wk_metrics **out, wk_error *err)
{
    assert(config->action_repeat >= 1);
    wk_dir *dir = NULL;
    if (!config->in) WK_TRY(wk_dir_create(config->logdir, err));
    WK_TRY(wk_dir_open(config->in, config->logdir, &dir, err));
    wk_metrics *metrics = calloc(1, sizeof *metrics);
    wk_status status = WK_OK;
    if (metrics) {
        metrics->action_repeat = config->action_repeat;
        metrics->timing = config->timing;
        status = open_files(metrics, dir, config, mark, err);
    } else
        status = wk_fail(err, WK_E_MEMORY, "no memory for metrics");
    wk_dir_close(dir);
    if (status == WK_OK)
        *out = metrics;
    else
        wk_metrics_close(metrics);
    return status;
}
