#include "replay/replay.h"
#include "base/observation.h"
#include "replay/store.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double MIB = 1 << 20;

static uint64_t align64(uint64_t size)
{
    return (size + 63) / 64 * 64;
}

// Arrays double as they grow, so an entry counts twice.
uint64_t wk_replay_table_bytes(uint64_t episodes, uint64_t blocks)
{
    uint64_t episode = sizeof(wk_stored_episode) + 32 + 2 * sizeof(void *) + 16 * sizeof(size_t);
    return episodes * episode + blocks * 2 * sizeof(size_t);
}

static wk_row_shape shape_of(const wk_replay_config *config)
{
    return (wk_row_shape){config->action_size, config->n_tasks, config->n_params,
                          config->observation};
}

// Bytes of a wk_prepacked with its block and scratch.
static size_t prepacked_bytes(const wk_row_shape *shape)
{
    return 64 + align64(wk_block_bytes_max(shape)) + align64(wk_block_scratch_bytes());
}

// Offsets of the fixed memory inside its region.
typedef struct layout {
    uint64_t slots, rows, packed, pack_scratch, unpacked, prepacked, ring, end;
} layout;

static layout lay_out(const wk_replay_config *config, uint64_t ring_bytes, uint64_t threads)
{
    wk_row_shape shape = shape_of(config);
    uint64_t slots = (uint64_t)config->slots;
    layout at = {0};
    at.rows = at.slots + align64(slots * sizeof(wk_slot));
    at.packed = at.rows + slots * align64(wk_rows_bytes(&shape));
    at.pack_scratch = at.packed + align64(wk_block_bytes_max(&shape));
    at.unpacked = at.pack_scratch + align64(wk_block_scratch_bytes());
    at.prepacked = at.unpacked + threads * align64(WK_BLOCK_ROWS * WK_IMAGE_BYTES);
    at.ring = at.prepacked + threads * prepacked_bytes(&shape);
    at.end = at.ring + align64(ring_bytes);
    return at;
}

// Episodes of 64 steps on average are provided for; shorter ones make the store drop some early.
static uint64_t table_budget(const wk_replay_config *config)
{
    uint64_t episodes = config->capacity / 64 + 2 * (uint64_t)config->slots + 16;
    return wk_replay_table_bytes(episodes, config->capacity / WK_BLOCK_ROWS + episodes);
}

static uint64_t fixed_bytes(const wk_replay_config *config, uint64_t block_budget, uint64_t threads)
{
    wk_row_shape shape = shape_of(config);
    uint64_t ring = wk_ring_size(block_budget, wk_block_bytes_max(&shape));
    return sizeof(wk_replay) + lay_out(config, ring, threads).end;
}

uint64_t wk_replay_plan(const wk_replay_config *config)
{
    wk_row_shape shape = shape_of(config);
    uint64_t frame = config->observation.no_image ? 0 : config->frame_bytes;
    uint64_t row = frame + wk_row_numbers_bytes(&shape, 1);
    uint64_t block = wk_ring_span(row * WK_BLOCK_ROWS);
    uint64_t blocks = config->capacity / WK_BLOCK_ROWS + 2 * (uint64_t)config->slots + 1;
    return fixed_bytes(config, blocks * block, 0) + table_budget(config);
}

static wk_status check_config(const wk_replay_config *config, wk_error *err)
{
    if (config->capacity < 1 || config->capacity > 1000000000)
        return wk_fail(err, WK_E_INPUT, "replay: a capacity of %llu steps is not within 1...1e9",
                       (unsigned long long)config->capacity);
    if (config->slots < 1 || config->slots > 65536)
        return wk_fail(err, WK_E_INPUT, "replay: %d slots are not within 1...65536", config->slots);
    if (config->frame_bytes < 1 || config->frame_bytes > WK_IMAGE_BYTES)
        return wk_fail(err, WK_E_INPUT, "replay: %zu expected bytes a frame are not within 1...%d",
                       config->frame_bytes, WK_IMAGE_BYTES);
    assert(config->action_size >= 0 && config->action_size <= WK_ACTION_MAX);
    assert(config->n_tasks >= 0 && config->n_tasks <= WK_TASKS_MAX);
    assert(config->n_params >= 0 && config->n_params <= WK_PARAMS_MAX);
    assert(config->observation.vector >= 0 && config->observation.vector <= WK_VECTOR_MAX);
    uint64_t plan = wk_replay_plan(config);
    if (config->memory == 0 || plan <= config->memory) return WK_OK;
    wk_replay_config empty = *config;
    empty.capacity = 0;
    uint64_t base = wk_replay_plan(&empty);
    double step = (double)(plan - base) / (double)config->capacity;
    double fits = config->memory > base ? (double)(config->memory - base) / step : 0;
    return wk_fail(err, WK_E_MEMORY,
                   "replay: %llu steps need about %.0f MiB (%zu bytes a frame expected), more than "
                   "the memory limit of %.0f MiB; raise the limit, or lower the capacity to %.0f",
                   (unsigned long long)config->capacity, ceil((double)plan / MIB),
                   config->frame_bytes, floor((double)config->memory / MIB), floor(fits));
}

static void block_moved(void *context, uint64_t owner, size_t from, size_t to)
{
    wk_stored_episode *episode = wk_replay_find(context, owner);
    for (size_t i = 0; i < episode->blocks.count; i++)
        if (episode->blocks.items[i] == from) episode->blocks.items[i] = to;
}

static void divide_region(wk_replay *replay)
{
    const wk_replay_config *config = &replay->config;
    size_t longest = wk_block_bytes_max(&replay->shape);
    uint64_t threads = (uint64_t)wk_pool_threads(config->pool);
    layout at = lay_out(config, wk_ring_size(replay->block_budget, longest), threads);
    replay->slots = (wk_slot *)(void *)(replay->region + at.slots);
    memset(replay->slots, 0, (size_t)config->slots * sizeof(wk_slot));
    for (int i = 0; i < config->slots; i++)
        replay->slots[i].rows =
            wk_rows_place(&replay->shape, replay->region + at.rows +
                                              (uint64_t)i * align64(wk_rows_bytes(&replay->shape)));
    replay->packed = replay->region + at.packed;
    replay->pack_scratch = replay->region + at.pack_scratch;
    replay->unpacked = replay->region + at.unpacked;
    replay->prepacked = replay->region + at.prepacked;
    for (uint64_t i = 0; i < threads; i++)
        *(wk_prepacked *)(void *)(replay->prepacked + i * prepacked_bytes(&replay->shape)) =
            (wk_prepacked){0};
    wk_ring_init(&replay->ring, replay->region + at.ring, replay->block_budget, longest,
                 block_moved, replay);
}

wk_status wk_replay_create(const wk_replay_config *config, wk_replay **out, wk_error *err)
{
    WK_TRY(check_config(config, err));
    uint64_t total = config->memory ? config->memory : wk_replay_plan(config);
    uint64_t tables = table_budget(config);
    uint64_t threads = (uint64_t)wk_pool_threads(config->pool);
    // What is kept must not depend on the number of threads, so their part is not in the limit.
    // Twice 64: the budget is rounded down to whole units, its place in the region up.
    uint64_t budget = (total - tables - fixed_bytes(config, 0, 0) - 128) / 64 * 64;
    wk_replay *replay = calloc(1, sizeof *replay);
    uint64_t region = fixed_bytes(config, budget, threads) - sizeof *replay;
    if (replay) replay->region = aligned_alloc(64, region);
    if (!replay || !replay->region) {
        free(replay);
        return wk_fail(err, WK_E_MEMORY,
                       "replay: the system has no %.0f MiB for %llu steps; lower the capacity or "
                       "the memory limit",
                       ceil((double)region / MIB), (unsigned long long)config->capacity);
    }
    replay->config = *config;
    replay->config.memory = total;
    replay->shape = shape_of(config);
    replay->block_budget = budget;
    replay->table_budget = tables;
    replay->fixed_bytes = sizeof *replay + region;
    divide_region(replay);
    *out = replay;
    return WK_OK;
}

static void free_episode(wk_stored_episode *episode)
{
    wk_array_free(&episode->blocks);
    free(episode);
}

void wk_replay_destroy(wk_replay *replay)
{
    if (!replay) return;
    for (size_t i = 0; i < replay->episodes.count; i++)
        free_episode(replay->episodes.items[i]);
    wk_array_free(&replay->episodes);
    wk_array_free(&replay->picks);
    free(replay->region);
    free(replay);
}

const wk_replay_config *wk_replay_settings(const wk_replay *replay)
{
    return &replay->config;
}

wk_stored_episode *wk_replay_find(const wk_replay *replay, uint64_t id)
{
    size_t i = wk_array_lower_bound(&replay->episodes, ->info.id, id);
    bool found = i < replay->episodes.count && replay->episodes.items[i]->info.id == id;
    return found ? replay->episodes.items[i] : NULL;
}

size_t wk_replay_count(const wk_replay *replay)
{
    return replay->episodes.count;
}

wk_replay_episode wk_replay_at(const wk_replay *replay, size_t i)
{
    assert(i < replay->episodes.count);
    return replay->episodes.items[i]->info;
}

bool wk_replay_running(const wk_replay *replay, int slot)
{
    assert(slot >= 0 && slot < replay->config.slots);
    return replay->slots[slot].episode != NULL;
}

static uint64_t steps_of(const wk_stored_episode *episode)
{
    return episode->info.rows > 0 ? episode->info.rows - 1 : 0;
}

void wk_replay_watch(wk_replay *replay, const wk_replay_watcher *watcher)
{
    replay->watcher = watcher;
}

void wk_replay_drop_episode(wk_replay *replay, wk_stored_episode *episode)
{
    if (replay->watcher) replay->watcher->dropped(replay->watcher->context, episode->info.id);
    for (size_t i = 0; i < episode->blocks.count; i++) {
        size_t place = episode->blocks.items[i], size;
        wk_block_view view;
        const void *block = wk_ring_get(&replay->ring, place, &size);
        uint32_t count = episode->info.rows - (uint32_t)i * WK_BLOCK_ROWS;
        if (count > WK_BLOCK_ROWS) count = WK_BLOCK_ROWS;
        bool whole = wk_block_split(&replay->shape, block, size, count, &view);
        assert(whole);
        replay->stats.packed_rows -= count;
        replay->stats.frame_bytes -= (uint64_t)view.frames_size;
        replay->block_bytes -= wk_ring_span(size);
        wk_ring_free(&replay->ring, place);
    }
    replay->n_blocks -= episode->blocks.count;
    replay->stats.steps -= steps_of(episode);
    replay->stats.rows -= episode->info.rows;
    if (episode->info.slot >= 0) {
        replay->slots[episode->info.slot].episode = NULL;
        replay->stats.running--;
    }
    size_t at = wk_array_lower_bound(&replay->episodes, ->info.id, episode->info.id),
           after = replay->episodes.count - at - 1;
    wk_stored_episode **items = replay->episodes.items;
    memmove(items + at, items + at + 1, after * sizeof *items);
    replay->episodes.count--;
    free_episode(episode);
}

void wk_replay_remove(wk_replay *replay, size_t i)
{
    assert(i < replay->episodes.count && !replay->journal);
    wk_replay_drop_episode(replay, replay->episodes.items[i]);
}

static wk_status evict(wk_replay *replay, wk_stored_episode *episode, wk_error *err)
{
    if (replay->journal)
        WK_TRY(replay->journal->evict(replay->journal->context, episode->info.id, err));
    wk_replay_drop_episode(replay, episode);
    return WK_OK;
}

static wk_status evict_oldest(wk_replay *replay, bool early, wk_error *err)
{
    for (size_t i = 0; i < replay->episodes.count; i++) {
        wk_stored_episode *episode = replay->episodes.items[i];
        if (episode->info.slot >= 0) continue;
        WK_TRY(evict(replay, episode, err));
        replay->stats.evicted_early += early;
        return WK_OK;
    }
    return wk_fail(err, WK_E_MEMORY,
                   "replay: the %llu running episodes alone hold %llu steps, which is all that the "
                   "%s allows; raise it or use fewer environments",
                   (unsigned long long)replay->stats.running,
                   (unsigned long long)replay->stats.steps,
                   early ? "memory limit" : "capacity in steps");
}

// Makes room for one more episode or block.
static wk_status fit_memory(wk_replay *replay, int more_episodes, size_t more_block_bytes,
                            wk_error *err)
{
    for (;;) {
        uint64_t tables = wk_replay_table_bytes(replay->episodes.count + (uint64_t)more_episodes,
                                                replay->n_blocks + 1);
        if (tables <= replay->table_budget &&
            replay->block_bytes + more_block_bytes <= replay->block_budget)
            return WK_OK;
        WK_TRY(evict_oldest(replay, true, err));
    }
}

wk_status wk_replay_add_episode(wk_replay *replay, const wk_replay_episode *episode, wk_error *err)
{
    wk_stored_episode *stored = calloc(1, sizeof *stored);
    if (!stored || !wk_array_push(&replay->episodes, stored)) {
        free(stored);
        return wk_fail(err, WK_E_MEMORY, "replay: no memory for another episode");
    }
    stored->info = *episode;
    stored->info.theta = stored->theta;
    size_t bytes = (size_t)replay->shape.n_params * sizeof(double);
    if (bytes > 0) memcpy(stored->theta, episode->theta, bytes);
    replay->slots[episode->slot].episode = stored;
    replay->slots[episode->slot].count = 0;
    replay->stats.running++;
    return WK_OK;
}

wk_status wk_replay_begin(wk_replay *replay, int slot, const double *theta, int64_t theta_index,
                          wk_error *err)
{
    assert(slot >= 0 && slot < replay->config.slots);
    if (replay->slots[slot].episode)
        return wk_fail(err, WK_E_INPUT, "replay: slot %d has a running episode; end it first",
                       slot);
    for (int i = 0; i < replay->shape.n_params; i++)
        if (!isfinite(theta[i]))
            return wk_fail(err, WK_E_INPUT, "replay: parameter %d of slot %d is not finite", i,
                           slot);
    wk_replay_episode episode = {replay->next_id, slot, 0, theta_index, theta};
    WK_TRY(fit_memory(replay, 1, 0, err));
    WK_TRY(wk_replay_add_episode(replay, &episode, err));
    wk_status status = WK_OK;
    if (replay->journal) status = replay->journal->begin(replay->journal->context, &episode, err);
    if (status == WK_OK)
        replay->next_id++;
    else
        wk_replay_drop_episode(replay, replay->slots[slot].episode);
    return status;
}

static bool all_finite(const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i])) return false;
    return true;
}

static bool all_zero(const float *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != 0) return false;
    return true;
}

static const char *fault_of_flags(uint8_t flags, bool first)
{
    if (flags & ~(WK_IS_FIRST | WK_IS_LAST | WK_IS_TERMINAL | WK_IS_DIVERGED))
        return "has unknown flags";
    if (first != ((flags & WK_IS_FIRST) != 0))
        return first ? "lacks the flag of a first row" : "has the flag of a first row";
    if ((flags & (WK_IS_TERMINAL | WK_IS_DIVERGED)) && !(flags & WK_IS_LAST))
        return "is terminal or diverged but not last";
    return NULL;
}

wk_status wk_replay_check_rows(const wk_replay *replay, const wk_block_view *rows, uint32_t first,
                               uint32_t count, wk_error *err)
{
    size_t actions = (size_t)replay->shape.action_size, tasks = (size_t)replay->shape.n_tasks;
    size_t vector = (size_t)replay->shape.observation.vector;
    for (uint32_t i = 0; i < count; i++) {
        const char *fault = fault_of_flags(rows->flags[i], first + i == 0);
        if (!fault && !all_finite(rows->actions + i * actions, actions))
            fault = "has an action that is not finite";
        if (!fault && !all_finite(rows->rewards + i * tasks, tasks))
            fault = "has a reward that is not finite";
        if (!fault && !all_finite(rows->completion + i * tasks, tasks))
            fault = "has a completion that is not finite";
        if (!fault && !all_finite(rows->vectors + i * vector, vector))
            fault = "has a vector that is not finite";
        if (!fault && first + i == 0 && !all_zero(rows->actions, actions))
            fault = "is the first and has an action that is not zero";
        if (fault) return wk_fail(err, WK_E_INPUT, "row %u %s", first + i, fault);
    }
    return WK_OK;
}

static void copy_or_zero(float *to, const float *from, size_t count)
{
    if (from)
        memcpy(to, from, count * sizeof *to);
    else
        memset(to, 0, count * sizeof *to);
}

// Writes a row after those of the slot without counting it, so that a failure leaves no trace.
static void stage_row(const wk_replay *replay, wk_slot *slot, const wk_replay_row *row)
{
    size_t i = slot->count, A = (size_t)replay->shape.action_size;
    size_t K = (size_t)replay->shape.n_tasks, V = (size_t)replay->shape.observation.vector;
    size_t pixels = wk_observation_image_bytes(replay->shape.observation);
    wk_block_rows *rows = &slot->rows;
    copy_or_zero(rows->actions + i * A, row->action, A);
    copy_or_zero(rows->rewards + i * K, row->rewards, K);
    copy_or_zero(rows->completion + i * K, row->completion, K);
    rows->flags[i] = row->flags;
    if (V > 0) memcpy(rows->vectors + i * V, row->vector, V * sizeof *rows->vectors);
    if (pixels > 0) memcpy(rows->images + i * pixels, row->image, pixels);
}

// Prepacking: before rows are appended, the blocks that they fill are packed on all threads of the
// pool, because those of several slots usually fill up at the same time. Packing is a pure function
// of the rows, so a prepacked block is the one that appending would have made.
static wk_prepacked *prepacked_at(const wk_replay *replay, size_t i)
{
    return (wk_prepacked *)(void *)(replay->prepacked + i * prepacked_bytes(&replay->shape));
}

static unsigned char *block_of(wk_prepacked *prepacked)
{
    return (unsigned char *)prepacked + 64;
}

static const void *take_prepacked(wk_replay *replay, const wk_slot *slot, size_t count,
                                  size_t *size)
{
    int entries = wk_pool_threads(replay->config.pool);
    for (int i = 0; i < entries; i++) {
        wk_prepacked *prepacked = prepacked_at(replay, (size_t)i);
        if (prepacked->slot != slot) continue;
        prepacked->slot = NULL;
        *size = prepacked->size;
        return prepacked->count == count ? block_of(prepacked) : NULL;
    }
    return NULL;
}

static void prepack_one(void *context, size_t i, int thread)
{
    (void)thread;
    const wk_replay *replay = context;
    wk_prepacked *prepacked = prepacked_at(replay, i);
    unsigned char *block = block_of(prepacked);
    unsigned char *scratch = block + align64(wk_block_bytes_max(&replay->shape));
    prepacked->size =
        wk_block_pack(&replay->shape, &prepacked->slot->rows, prepacked->count, scratch, block);
}

static void prepack(wk_replay *replay, const wk_replay_row *rows, size_t n_rows)
{
    size_t count = 0, max = (size_t)wk_pool_threads(replay->config.pool);
    if (max < 2) return;
    for (size_t i = 0; i < max; i++)
        prepacked_at(replay, i)->slot = NULL;
    for (size_t i = 0; i < n_rows && count < max; i++) {
        wk_slot *slot = &replay->slots[rows[i].slot];
        bool fills = slot->count + 1 == WK_BLOCK_ROWS || (rows[i].flags & WK_IS_LAST);
        if (!slot->episode || wk_replay_is_end(&rows[i]) || !fills) continue;
        stage_row(replay, slot, &rows[i]);
        *prepacked_at(replay, count++) = (wk_prepacked){slot, slot->count + 1, 0};
    }
    wk_pool_run(replay->config.pool, count, prepack_one, replay);
}

wk_status wk_replay_reserve_block(wk_stored_episode *episode, wk_error *err)
{
    if (wk_array_reserve(&episode->blocks, 1)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "replay: no memory for the table of episode %llu",
                   (unsigned long long)episode->info.id);
}

void wk_replay_put_block(wk_replay *replay, wk_stored_episode *episode, const void *block,
                         size_t size, size_t count)
{
    size_t place = wk_ring_put(&replay->ring, episode->info.id, block, size);
    bool room = wk_array_push(&episode->blocks, place);
    assert(room);
    replay->n_blocks++;
    replay->block_bytes += wk_ring_span(size);
    replay->stats.packed_rows += count;
    replay->stats.frame_bytes += size - wk_row_numbers_bytes(&replay->shape, count);
}

static wk_status record_rows(wk_replay *replay, const wk_slot *slot, size_t count, bool ended,
                             bool open, const void *block, size_t size, wk_error *err)
{
    if (!replay->journal) return WK_OK;
    const wk_stored_episode *episode = slot->episode;
    wk_rows_record record = {.episode = episode->info.id,
                             .first = (uint32_t)(episode->blocks.count * WK_BLOCK_ROWS),
                             .count = (uint32_t)count,
                             .ended = ended,
                             .open = open,
                             .block = block,
                             .size = size};
    return replay->journal->rows(replay->journal->context, &record, err);
}

// Moves the slot's first `count` rows into the ring.
static wk_status store_block(wk_replay *replay, wk_slot *slot, size_t count, bool ended,
                             wk_error *err)
{
    size_t size;
    const void *block = take_prepacked(replay, slot, count, &size);
    if (!block) {
        block = replay->packed;
        size =
            wk_block_pack(&replay->shape, &slot->rows, count, replay->pack_scratch, replay->packed);
    }
    WK_TRY(fit_memory(replay, 0, wk_ring_span(size), err));
    WK_TRY(wk_replay_reserve_block(slot->episode, err));
    WK_TRY(record_rows(replay, slot, count, ended, false, block, size, err));
    wk_replay_put_block(replay, slot->episode, block, size, count);
    slot->count = 0;
    return WK_OK;
}

void wk_replay_finish_episode(wk_replay *replay, wk_stored_episode *episode)
{
    replay->slots[episode->info.slot].episode = NULL;
    episode->info.slot = -1;
    replay->stats.running--;
}

static wk_status require_episode(const wk_replay *replay, int slot, wk_error *err)
{
    assert(slot >= 0 && slot < replay->config.slots);
    if (replay->slots[slot].episode) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "replay: slot %d has no running episode; begin one first",
                   slot);
}

static wk_status append_row(wk_replay *replay, const wk_replay_row *row, wk_error *err)
{
    WK_TRY(require_episode(replay, row->slot, err));
    wk_slot *slot = &replay->slots[row->slot];
    wk_stored_episode *episode = slot->episode;
    bool ended = (row->flags & WK_IS_LAST) != 0;
    uint64_t more_steps = episode->info.rows > 0;
    if (episode->info.rows == UINT32_MAX)
        return wk_fail(err, WK_E_INPUT, "replay: the episode of slot %d is too long", row->slot);
    stage_row(replay, slot, row);
    wk_block_view view = wk_block_rows_view(&replay->shape, &slot->rows, slot->count);
    WK_TRY(wk_replay_check_rows(replay, &view, episode->info.rows, 1, err));
    while (replay->stats.steps + more_steps > replay->config.capacity)
        WK_TRY(evict_oldest(replay, false, err));
    if (slot->count + 1 == WK_BLOCK_ROWS || ended)
        WK_TRY(store_block(replay, slot, slot->count + 1, ended, err));
    else
        slot->count++;
    episode->info.rows++;
    replay->stats.rows++;
    replay->stats.steps += more_steps;
    if (replay->watcher)
        replay->watcher->added(replay->watcher->context, episode->info.id, episode->info.rows - 1,
                               row->image);
    if (ended) wk_replay_finish_episode(replay, episode);
    return WK_OK;
}

wk_status wk_replay_end(wk_replay *replay, int slot_index, wk_error *err)
{
    WK_TRY(require_episode(replay, slot_index, err));
    wk_slot *slot = &replay->slots[slot_index];
    wk_stored_episode *episode = slot->episode;
    if (episode->info.rows == 0) return evict(replay, episode, err);
    if (slot->count > 0)
        WK_TRY(store_block(replay, slot, slot->count, true, err));
    else
        WK_TRY(record_rows(replay, slot, 0, true, false, NULL, 0, err));
    wk_replay_finish_episode(replay, episode);
    return WK_OK;
}

static wk_status add_row(wk_replay *replay, const wk_replay_row *row, wk_error *err)
{
    assert(row->slot >= 0 && row->slot < replay->config.slots);
    if (wk_replay_is_end(row)) return wk_replay_end(replay, row->slot, err);
    if ((row->flags & WK_IS_FIRST) && !replay->slots[row->slot].episode)
        WK_TRY(wk_replay_begin(replay, row->slot, row->theta, row->theta_index, err));
    return append_row(replay, row, err);
}

wk_status wk_replay_append(wk_replay *replay, const wk_replay_row *rows, size_t count,
                           wk_error *err)
{
    prepack(replay, rows, count);
    for (size_t i = 0; i < count; i++)
        WK_TRY(add_row(replay, &rows[i], err));
    return WK_OK;
}

wk_status wk_replay_record_open(wk_replay *replay, wk_error *err)
{
    for (int i = 0; i < replay->config.slots; i++) {
        const wk_slot *slot = &replay->slots[i];
        if (!slot->episode || slot->count == 0) continue;
        size_t size = wk_block_pack(&replay->shape, &slot->rows, slot->count, replay->pack_scratch,
                                    replay->packed);
        WK_TRY(record_rows(replay, slot, slot->count, false, true, replay->packed, size, err));
    }
    return WK_OK;
}

wk_replay_stats wk_replay_get_stats(const wk_replay *replay)
{
    wk_replay_stats stats = replay->stats;
    uint64_t threads = (uint64_t)wk_pool_threads(replay->config.pool);
    uint64_t tables = wk_replay_table_bytes(replay->episodes.count, replay->n_blocks);
    stats.episodes = replay->episodes.count;
    stats.evicted = replay->next_id - replay->episodes.count;
    stats.bytes_used = replay->block_bytes + tables;
    stats.bytes_reserved = replay->fixed_bytes + tables;
    stats.bytes_limit = replay->config.memory + fixed_bytes(&replay->config, 0, threads) -
                        fixed_bytes(&replay->config, 0, 0);
    return stats;
}
