// The device holds frames in blocks of 16 rows of one episode, as the store does. Blocks are
// numbered; the free list is last in, first out. Nothing here decides what is kept: blocks are
// allocated when the store adds rows and freed when it drops an episode. A reused block is
// overwritten in the queue after the batches that read it.
#include "train/frames.h"

#include "base/memory.h"
#include "base/observation.h"
#include "config/parts.h"
#include "train/trainer.h"
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 16,              // of a block
    SLAB_MAX = 1024,        // blocks: 200 MB
    SLABS = 64,             // that a full store has at least, so that a small one grows finely
    HALF = 32,              // rows uploaded from one half of the pinned staging buffer
    CHUNK = 64,             // blocks that are unpacked in parallel
    SPARE = 32,             // one extra row in so many for the unused ends of blocks
    FRAME = WK_IMAGE_BYTES, // bytes
    BLOCK = ROWS * WK_IMAGE_BYTES,
};

typedef struct stored_frames {
    uint64_t id;
    WK_ARRAY(uint32_t) blocks;
} stored_frames;

struct wk_device_frames {
    wk_replay *replay;
    wk_backend *backend;
    wk_queue *transfers;
    wk_replay_watcher watcher;
    size_t slab_blocks;
    WK_ARRAY(wk_buffer *) slabs;
    WK_ARRAY(uint32_t) free;          // numbers given back
    uint32_t used;                    // numbers given out so far
    WK_ARRAY(stored_frames) episodes; // by id
    uint8_t *waiting;                 // rows on their way, two halves
    wk_event *sent[2];
    size_t next; // row of the staging buffer
    bool failed;
    wk_error fault;
};

static uint64_t planned_blocks(const wk_replay_config *config)
{
    uint64_t rows = config->capacity + config->capacity / SPARE;
    return (rows + ROWS - 1) / ROWS + 2 * (uint64_t)config->slots;
}

uint64_t wk_device_frames_plan(const wk_replay_config *config)
{
    return planned_blocks(config) * BLOCK;
}

uint64_t wk_device_frames_bytes(const wk_device_frames *r)
{
    return (uint64_t)r->slabs.count * r->slab_blocks * BLOCK;
}

const wk_error *wk_device_frames_fault(const wk_device_frames *r)
{
    return r->failed ? &r->fault : NULL;
}

static stored_frames *find(const wk_device_frames *r, uint64_t id)
{
    size_t i = wk_array_lower_bound(&r->episodes, .id, id);
    return i < r->episodes.count && r->episodes.items[i].id == id ? &r->episodes.items[i] : NULL;
}

typedef struct place {
    wk_buffer *slab;
    size_t offset;
} place;

static place place_of(const wk_device_frames *r, const stored_frames *episode, uint32_t row)
{
    uint32_t block = episode->blocks.items[row / ROWS];
    size_t offset = block % r->slab_blocks * BLOCK + row % ROWS * (size_t)FRAME;
    return (place){r->slabs.items[block / r->slab_blocks], offset};
}

// The free list's entry for a number is allocated together with the number.
static wk_status take_block(wk_device_frames *r, stored_frames *episode, wk_error *err)
{
    if (!wk_array_reserve(&episode->blocks, 1) || !wk_array_reserve(&r->slabs, 1) ||
        !wk_array_reserve(&r->free, r->used + 1 - r->free.count))
        return wk_fail(err, WK_E_MEMORY, "no memory for a table of frames");
    if (r->free.count == 0 && r->used == r->slabs.count * r->slab_blocks) {
        wk_buffer *slab;
        WK_TRY(wk_buffer_create(r->backend, r->slab_blocks * BLOCK, &slab, err));
        r->slabs.items[r->slabs.count++] = slab;
    }
    episode->blocks.items[episode->blocks.count++] =
        r->free.count ? r->free.items[--r->free.count] : r->used++;
    return WK_OK;
}

// Episodes begin in the order of their ids, but their first rows may come in another.
static wk_status add_episode(wk_device_frames *r, uint64_t id, stored_frames **out, wk_error *err)
{
    if (!wk_array_reserve(&r->episodes, 1))
        return wk_fail(err, WK_E_MEMORY, "no memory for a table of frames");
    size_t at = wk_array_lower_bound(&r->episodes, .id, id), after = r->episodes.count++ - at;
    *out = &r->episodes.items[at];
    memmove(*out + 1, *out, after * sizeof **out);
    **out = (stored_frames){.id = id};
    return WK_OK;
}

static wk_status add_row(wk_device_frames *r, uint64_t id, uint32_t row, const uint8_t *image,
                         wk_error *err)
{
    stored_frames *episode = find(r, id);
    if (!episode) WK_TRY(add_episode(r, id, &episode, err));
    if (row / ROWS == episode->blocks.count) WK_TRY(take_block(r, episode, err));
    place to = place_of(r, episode, row);

    // By way of the staging buffer: a half of it is written again when its last upload is done.
    size_t half = r->next / HALF;
    uint8_t *room = r->waiting + r->next * FRAME;
    if (r->next % HALF == 0) WK_TRY(wk_event_wait(r->sent[half], err));
    memcpy(room, image, FRAME);
    WK_TRY(wk_queue_upload(r->transfers, to.slab, to.offset, room, FRAME, err));
    r->next = (r->next + 1) % (2 * HALF);
    return r->next % HALF == 0 ? wk_queue_record_event(r->transfers, r->sent[half], err) : WK_OK;
}

static void added(void *context, uint64_t id, uint32_t row, const uint8_t *image)
{
    wk_device_frames *r = context;
    if (!r->failed) r->failed = add_row(r, id, row, image, &r->fault) != WK_OK;
}

static void dropped(void *context, uint64_t id)
{
    wk_device_frames *r = context;
    stored_frames *episode = find(r, id);
    if (!episode) return; // it had no rows yet
    for (size_t i = 0; i < episode->blocks.count; i++)
        r->free.items[r->free.count++] = episode->blocks.items[i];
    wk_array_free(&episode->blocks);
    size_t at = (size_t)(episode - r->episodes.items), after = r->episodes.count - at - 1;
    memmove(episode, episode + 1, after * sizeof *episode);
    r->episodes.count--;
}

void wk_device_frames_locate(const wk_device_frames *r, const uint64_t *episodes,
                             const uint32_t *starts, int B, int T, const void **frames)
{
    for (int b = 0; b < B; b++) {
        const stored_frames *episode = find(r, episodes[b]);
        assert(episode && !r->failed);
        for (int t = 0; t < T; t++) {
            place at = place_of(r, episode, starts[b] + (uint32_t)t);
            frames[(size_t)t * (size_t)B + (size_t)b] = (char *)at.slab->address + at.offset;
        }
    }
}

// Blocks of the store on their way to the device, which are unpacked in parallel.
typedef struct chunk {
    wk_replay_range ranges[CHUNK];
    place places[CHUNK];
    size_t count;
    uint8_t *images; // of CHUNK blocks, on the host
} chunk;

static wk_status send_chunk(wk_device_frames *r, chunk *w, wk_error *err)
{
    wk_replay_read_images(r->replay, w->ranges, w->count);
    for (size_t i = 0; i < w->count; i++)
        WK_TRY(wk_queue_upload(r->transfers, w->places[i].slab, w->places[i].offset,
                               w->ranges[i].images, w->ranges[i].count * (size_t)FRAME, err));
    w->count = 0;
    return wk_queue_drain(r->transfers, err);
}

static wk_status upload_episodes(wk_device_frames *r, chunk *w, wk_error *err)
{
    for (size_t i = 0; i < wk_replay_count(r->replay); i++) {
        wk_replay_episode info = wk_replay_at(r->replay, i);
        stored_frames *episode;
        if (info.rows == 0) continue;
        WK_TRY(add_episode(r, info.id, &episode, err));
        for (uint32_t row = 0; row < info.rows; row += ROWS) {
            uint32_t rows = info.rows - row < ROWS ? info.rows - row : ROWS;
            WK_TRY(take_block(r, episode, err));
            w->ranges[w->count] = (wk_replay_range){i, row, rows, w->images + w->count * BLOCK};
            w->places[w->count++] = place_of(r, episode, row);
            if (w->count == CHUNK) WK_TRY(send_chunk(r, w, err));
        }
    }
    return send_chunk(r, w, err);
}

static wk_status upload_store(wk_device_frames *r, wk_error *err)
{
    chunk w = {.count = 0};
    if (wk_replay_count(r->replay) == 0) return WK_OK;
    WK_TRY(wk_pinned_create(r->backend, (size_t)CHUNK * BLOCK, (void **)&w.images, err));
    wk_status status = upload_episodes(r, &w, err);
    wk_error ignored = {0};
    if (status != WK_OK) (void)wk_queue_drain(r->transfers, &ignored);
    wk_pinned_destroy(r->backend, w.images);
    return status;
}

static wk_status build(wk_device_frames *r, wk_error *err)
{
    wk_backend *backend = r->backend;
    for (int i = 0; i < 2; i++)
        WK_TRY(wk_event_create(backend, &r->sent[i], err));
    WK_TRY(wk_pinned_create(backend, (size_t)2 * HALF * FRAME, (void **)&r->waiting, err));
    WK_TRY(upload_store(r, err));
    r->watcher = (wk_replay_watcher){r, added, dropped};
    wk_replay_watch(r->replay, &r->watcher);
    return WK_OK;
}

wk_status wk_device_frames_create(wk_replay *replay, wk_backend *backend, wk_queue *transfers,
                                  wk_device_frames **out, wk_error *err)
{
    wk_device_frames *r = calloc(1, sizeof *r);
    if (!r) return wk_fail(err, WK_E_MEMORY, "no memory for a table of frames");
    uint64_t slab = planned_blocks(wk_replay_settings(replay)) / SLABS;
    r->replay = replay;
    r->backend = backend;
    r->transfers = transfers;
    r->slab_blocks = slab < 1 ? 1 : slab > SLAB_MAX ? SLAB_MAX : (size_t)slab;
    wk_status status = build(r, err);
    if (status != WK_OK) {
        wk_device_frames_destroy(r);
        return status;
    }
    *out = r;
    return WK_OK;
}

void wk_device_frames_destroy(wk_device_frames *r)
{
    if (!r) return;
    wk_error ignored = {0};
    (void)wk_queue_drain(r->transfers, &ignored);
    if (r->watcher.context) wk_replay_watch(r->replay, NULL);
    for (size_t i = 0; i < r->episodes.count; i++)
        wk_array_free(&r->episodes.items[i].blocks);
    wk_array_free(&r->episodes);
    wk_array_free(&r->free);
    for (size_t i = 0; i < r->slabs.count; i++)
        wk_buffer_destroy(r->slabs.items[i]);
    wk_array_free(&r->slabs);
    wk_pinned_destroy(r->backend, r->waiting);
    for (int i = 0; i < 2; i++)
        wk_event_destroy(r->sent[i]);
    free(r);
}

wk_status wk_batch_buffer_create(const wk_run_config *config, const wk_domain *domain,
                                 wk_backend *backend, wk_batch_buffer *s, wk_error *err)
{
    size_t rows = (size_t)config->batch * (size_t)config->length;
    s->batch = config->batch;
    s->length = config->length;
    s->n_tasks = (size_t)domain->n_tasks;
    s->backend = backend;
    size_t pixels = wk_observation_image_bytes(domain->observation);
    if (pixels > 0) WK_TRY(wk_pinned_create(backend, rows * pixels, (void **)&s->images, err));
    s->first = wk_arena_alloc(&s->arena, rows);
    s->ends = wk_arena_alloc(&s->arena, rows);
    s->actions = wk_arena_alloc(&s->arena, rows * (size_t)domain->action_size * sizeof *s->actions);
    s->vectors =
        wk_arena_alloc(&s->arena, rows * (size_t)domain->observation.vector * sizeof *s->vectors);
    s->rewards = wk_arena_alloc(&s->arena, rows * s->n_tasks * sizeof *s->rewards);
    s->theta_indices = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->theta_indices);
    s->theta =
        wk_arena_alloc(&s->arena, (size_t)s->batch * (size_t)domain->n_params * sizeof *s->theta);
    s->episodes = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->episodes);
    s->starts = wk_arena_alloc(&s->arena, (size_t)s->batch * sizeof *s->starts);
    s->frames = wk_arena_alloc(&s->arena, rows * sizeof *s->frames);
    return s->arena.failed ? wk_fail(err, WK_E_MEMORY, "no memory for a batch of %zu frames", rows)
                           : WK_OK;
}

void wk_batch_buffer_free(wk_batch_buffer *s)
{
    wk_pinned_destroy(s->backend, s->images);
    wk_arena_reset(&s->arena);
    *s = (wk_batch_buffer){0};
}

// Widens rows of the replay's own tasks to those of the domain, with the rewards that were added
// later. From the last row on: rows move back.
static void add_rewards(wk_batch_buffer *s, size_t stored)
{
    for (size_t i = (size_t)s->batch * (size_t)s->length; i-- > 0;) {
        size_t t = i / (size_t)s->batch, b = i % (size_t)s->batch;
        float *row = s->rewards + i * s->n_tasks;
        memmove(row, s->rewards + i * stored, stored * sizeof *row);
        for (size_t k = stored; k < s->n_tasks; k++) {
            uint64_t rows;
            const wk_reward_table *table = s->added[k - stored];
            const float *found = table ? wk_reward_table_find(table, s->episodes[b], &rows) : NULL;
            row[k] = found ? found[s->starts[b] + t] : 0;
        }
    }
}

wk_status wk_batch_buffer_draw(wk_batch_buffer *s, wk_replay *replay,
                               const wk_device_frames *device_frames, uint64_t seed,
                               uint64_t counter, wk_error *err)
{
    wk_replay_batch out = {.images = device_frames ? NULL : s->images,
                           .vectors = s->vectors,
                           .actions = s->actions,
                           .rewards = s->rewards,
                           .first = s->first,
                           .flags = s->ends,
                           .episodes = s->episodes,
                           .starts = s->starts,
                           .theta_indices = s->theta_indices,
                           .theta = s->theta};
    WK_TRY(wk_replay_sample(replay, seed, counter, s->batch, s->length, &out, err));
    for (size_t i = 0; i < (size_t)s->batch * (size_t)s->length; i++)
        s->ends[i] &= WK_IS_TERMINAL;
    size_t stored = (size_t)wk_replay_settings(replay)->n_tasks;
    if (stored < s->n_tasks) add_rewards(s, stored);
    s->on_device = device_frames != NULL;
    if (s->on_device)
        wk_device_frames_locate(device_frames, s->episodes, s->starts, s->batch, s->length,
                                s->frames);
    return WK_OK;
}

void wk_batch_buffer_choose_tasks(wk_batch_buffer *s, const int *tasks, int count)
{
    size_t rows = (size_t)s->batch * (size_t)s->length, chosen = (size_t)count;
    for (size_t i = 0; i < rows; i++) {
        float row[WK_TASKS_MAX];
        memcpy(row, s->rewards + i * s->n_tasks, s->n_tasks * sizeof *row);
        for (size_t k = 0; k < chosen; k++)
            s->rewards[i * chosen + k] = row[tasks[k]];
    }
}

wk_learner_batch wk_batch_buffer_view(const wk_batch_buffer *s)
{
    return (wk_learner_batch){.images = s->images,
                              .vectors = s->vectors,
                              .actions = s->actions,
                              .first = s->first,
                              .rewards = s->rewards,
                              .frames = s->on_device ? s->frames : NULL,
                              .ends = s->ends};
}

// Reserved for evaluations, predictions and other users of the device.
static const double MARGIN = 1 << 30;

wk_status wk_trainer_choose_frame_placement(wk_trainer *t, bool *upload, wk_error *err)
{
    const char *wanted = t->config.replay_resident;
    bool must = strcmp(wanted, "on") == 0, device = wk_backend_is_async(t->backend);
    const char *host = t->domain->observation.no_image ? "vectors: the domain has no images"
                       : !device                       ? "the run is on the CPU"
                       : strcmp(wanted, "off") == 0    ? "replay.resident is off"
                                                       : NULL;
    *upload = false;
    if (must && !device && !t->domain->observation.no_image)
        return wk_fail(err, WK_E_UNSUPPORTED,
                       "replay.resident is on, but this run is on the CPU; use auto or off");
    if (host) {
        snprintf(t->frame_placement, sizeof t->frame_placement, "on the host (%s)", host);
        return WK_OK;
    }
    // Runs of a population share the memory equally.
    wk_replay_config config = wk_run_config_replay(&t->config, t->domain);
    int count = t->population->count;
    double need = (double)wk_device_frames_plan(&config);
    double room = (double)wk_backend_memory_info(t->backend).free / count;
    *upload = need + MARGIN / count <= room;
    snprintf(t->frame_placement, sizeof t->frame_placement,
             "%s (%.0f MiB for %" PRIi64 " agent steps, and the GPU has %.0f MiB free%s)",
             *upload ? "in GPU memory" : "on the host", need / (1 << 20), t->config.replay_capacity,
             room / (1 << 20), count > 1 ? " for each run" : "");
    if (*upload || !must) return WK_OK;
    return wk_fail(err, WK_E_MEMORY,
                   "replay.resident is on, but the replay's frames must stay %s; use auto, or a "
                   "smaller replay.capacity",
                   t->frame_placement);
}

wk_status wk_trainer_upload_frames(wk_trainer *t, wk_error *err)
{
    wk_queue *transfers = wk_learner_transfer_queue(t->learner);
    wk_status status =
        wk_device_frames_create(t->replay, t->backend, transfers, &t->device_frames, err);
    if (status != WK_E_MEMORY || strcmp(t->config.replay_resident, "on") == 0) return status;
    // Another process took the memory since it was measured.
    snprintf(t->frame_placement, sizeof t->frame_placement, "on the host (%.300s)", err->message);
    return WK_OK;
}

void wk_trainer_check_device_frames(wk_trainer *t)
{
    const wk_error *fault = t->device_frames ? wk_device_frames_fault(t->device_frames) : NULL;
    if (!fault) return;
    snprintf(t->frame_placement, sizeof t->frame_placement,
             "on the host (they filled the device: %.300s)", fault->message);
    wk_device_frames_destroy(t->device_frames);
    t->device_frames = NULL;
    t->device_full = true;
}
