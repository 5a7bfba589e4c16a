#include "log/metrics.h"

#include "base/array.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "log/jsonl.h"
#include "log/tensorboard.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { CLIP_DELAY_CS = 5, NO_SINK = -1 }; // dreamer's 20 frames a second

// A name seen before, and where its number stands in the record that is being gathered.
typedef struct known_name {
    char *name;
    size_t noted; // 1 + index into `scalars`; 0: not added since the last write
} known_name;

struct wk_metrics {
    int action_repeat;
    wk_metrics_sink sinks[WK_METRICS_SINKS_MAX];
    int n_sinks;
    int jsonl, events; // which sinks these are, or NO_SINK
    char events_file[WK_METRICS_FILE_MAX];
    known_name *names; // open-addressed by hash, at most half full
    size_t n_names, names_capacity;
    WK_ARRAY(wk_scalar) scalars;
    WK_ARRAY(wk_metric_image) images;
    bool short_of_memory; // something could not be added; the next write reports it
};

// Metrics without sinks.
static wk_status create(int action_repeat, wk_metrics **out, wk_error *err)
{
    assert(action_repeat >= 1);
    wk_metrics *metrics = calloc(1, sizeof *metrics);
    if (!metrics) return wk_fail(err, WK_E_MEMORY, "no memory for metrics");
    metrics->action_repeat = action_repeat;
    metrics->jsonl = metrics->events = NO_SINK;
    *out = metrics;
    return WK_OK;
}

static void forget_record(wk_metrics *metrics)
{
    for (size_t i = 0; i < metrics->names_capacity; i++)
        metrics->names[i].noted = 0;
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
    for (int i = 0; i < metrics->n_sinks; i++)
        metrics->sinks[i].close(metrics->sinks[i].self);
    forget_record(metrics);
    for (size_t i = 0; i < metrics->names_capacity; i++)
        free(metrics->names[i].name);
    free(metrics->names);
    wk_array_free(&metrics->scalars);
    wk_array_free(&metrics->images);
    free(metrics);
}

wk_status wk_metrics_add_sink(wk_metrics *metrics, const wk_metrics_sink *sink, wk_error *err)
{
    if (metrics->n_sinks == WK_METRICS_SINKS_MAX)
        return wk_fail(err, WK_E_INPUT, "metrics have %d sinks already", WK_METRICS_SINKS_MAX);
    metrics->sinks[metrics->n_sinks++] = *sink;
    return WK_OK;
}

// The place of `name` in the table, or the free place where it belongs.
static known_name *find_place(known_name *names, size_t capacity, const char *name)
{
    size_t at = (size_t)wk_fnv1a(WK_FNV1A_START, name, strlen(name)) & (capacity - 1);
    while (names[at].name && strcmp(names[at].name, name) != 0)
        at = (at + 1) & (capacity - 1);
    return &names[at];
}

static bool grow_names(wk_metrics *metrics)
{
    size_t capacity = metrics->names_capacity ? 2 * metrics->names_capacity : 64;
    known_name *names = calloc(capacity, sizeof *names);
    if (!names) return false;
    for (size_t i = 0; i < metrics->names_capacity; i++)
        if (metrics->names[i].name)
            *find_place(names, capacity, metrics->names[i].name) = metrics->names[i];
    free(metrics->names);
    metrics->names = names;
    metrics->names_capacity = capacity;
    return true;
}

// The entry of `name`, made if need be; NULL when memory is short.
static known_name *intern(wk_metrics *metrics, const char *name)
{
    if (2 * (metrics->n_names + 1) > metrics->names_capacity && !grow_names(metrics)) return NULL;
    known_name *place = find_place(metrics->names, metrics->names_capacity, name);
    if (place->name) return place;
    place->name = strdup(name);
    if (!place->name) return NULL;
    metrics->n_names++;
    return place;
}

static void add_scalar(wk_metrics *metrics, const char *name, double value, bool measured)
{
    known_name *known = intern(metrics, name);
    const wk_scalar scalar = {known ? known->name : NULL, value, measured};
    if (known && known->noted)
        metrics->scalars.items[known->noted - 1] = scalar;
    else if (known && wk_array_push(&metrics->scalars, scalar))
        known->noted = metrics->scalars.count;
    else
        metrics->short_of_memory = true;
}

void wk_metrics_scalar(wk_metrics *metrics, const char *name, double value)
{
    add_scalar(metrics, name, value, false);
}

void wk_metrics_timing(wk_metrics *metrics, const char *name, double value)
{
    add_scalar(metrics, name, value, true);
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

// Takes back what the sinks before the one that failed have written.
static void take_back(wk_metrics *metrics, const uint64_t *marks, int count)
{
    for (int i = 0; i < count; i++)
        if (metrics->sinks[i].truncate)
            metrics->sinks[i].truncate(metrics->sinks[i].self, marks[i], NULL);
}

static wk_status write_sinks(wk_metrics *metrics, const wk_metrics_record *record, wk_error *err)
{
    uint64_t marks[WK_METRICS_SINKS_MAX] = {0};
    for (int i = 0; i < metrics->n_sinks; i++) {
        const wk_metrics_sink *sink = &metrics->sinks[i];
        if (sink->mark) marks[i] = sink->mark(sink->self);
        wk_status status = sink->write(sink->self, record, err);
        if (status == WK_OK) continue;
        take_back(metrics, marks, i);
        return status;
    }
    return WK_OK;
}

wk_status wk_metrics_write(wk_metrics *metrics, int64_t agent_step, wk_error *err)
{
    if (metrics->short_of_memory) {
        // What is lacking cannot be had again; what is there goes out next time.
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
    WK_TRY(write_sinks(metrics, &record, err));
    forget_record(metrics);
    return WK_OK;
}

static uint64_t mark_of(const wk_metrics *metrics, int sink)
{
    if (sink == NO_SINK) return 0;
    return metrics->sinks[sink].mark(metrics->sinks[sink].self);
}

wk_status wk_metrics_position(wk_metrics *metrics, wk_metrics_mark *out, wk_error *err)
{
    for (int i = 0; i < metrics->n_sinks; i++)
        if (metrics->sinks[i].sync) WK_TRY(metrics->sinks[i].sync(metrics->sinks[i].self, err));
    *out = (wk_metrics_mark){.jsonl = mark_of(metrics, metrics->jsonl),
                             .events = mark_of(metrics, metrics->events)};
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

static wk_status open_jsonl(wk_metrics *metrics, const wk_dir *dir, const wk_metrics_config *config,
                            const wk_metrics_mark *mark, wk_error *err)
{
    wk_metrics_sink sink;
    WK_TRY(wk_jsonl_open(dir, WK_METRICS_JSONL, mark ? mark->jsonl : UINT64_MAX, config->timing,
                         &sink, err));
    metrics->jsonl = metrics->n_sinks;
    WK_TRY(wk_metrics_add_sink(metrics, &sink, err));
    if (mark)
        warn_if_short(config->log, WK_METRICS_JSONL, mark_of(metrics, metrics->jsonl), mark->jsonl);
    return WK_OK;
}

static wk_status open_events(wk_metrics *metrics, const wk_dir *dir,
                             const wk_metrics_config *config, const wk_metrics_mark *mark,
                             wk_error *err)
{
    char name[WK_METRICS_FILE_MAX] = "";
    if (!mark)
        WK_TRY(wk_tensorboard_newest(dir, name, err));
    else if (memchr(mark->events_file, 0, sizeof mark->events_file))
        memcpy(name, mark->events_file, sizeof name);
    wk_metrics_sink sink;
    WK_TRY(wk_tensorboard_open(dir, name, mark ? mark->events : UINT64_MAX, config,
                               metrics->events_file, &sink, err));
    metrics->events = metrics->n_sinks;
    WK_TRY(wk_metrics_add_sink(metrics, &sink, err));
    bool same = strcmp(name, metrics->events_file) == 0;
    if (mark && *name)
        warn_if_short(config->log, name, same ? mark_of(metrics, metrics->events) : 0,
                      mark->events);
    return WK_OK;
}

static wk_status open_logdir(const wk_metrics_config *config, wk_dir **out, wk_error *err)
{
    if (!config->in) WK_TRY(wk_dir_create(config->logdir, err));
    return wk_dir_open(config->in, config->logdir, out, err);
}

static wk_status open_sinks(wk_metrics *metrics, const wk_dir *dir, const wk_metrics_config *config,
                            const wk_metrics_mark *mark, wk_error *err)
{
    WK_TRY(open_jsonl(metrics, dir, config, mark, err));
    bool afresh = mark && mark->jsonl == 0 && !*mark->events_file;
    if (afresh) WK_TRY(wk_tensorboard_remove(dir, err));
    return config->tensorboard ? open_events(metrics, dir, config, mark, err) : WK_OK;
}

wk_status wk_metrics_open(const wk_metrics_config *config, const wk_metrics_mark *mark,
                          wk_metrics **out, wk_error *err)
{
    wk_metrics *metrics = NULL;
    wk_dir *dir = NULL;
    WK_TRY(open_logdir(config, &dir, err));
    wk_status status = create(config->action_repeat, &metrics, err);
    if (status == WK_OK) status = open_sinks(metrics, dir, config, mark, err);
    wk_dir_close(dir);
    if (status == WK_OK)
        *out = metrics;
    else
        wk_metrics_close(metrics);
    return status;
}
