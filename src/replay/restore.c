// Rebuilding a store from records. The records may come from a damaged or hostile file, so each is
// checked in full before it changes anything: what is accepted could have been recorded by a store.
#include "replay/replay.h"
#include "replay/store.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static wk_status refuse(wk_error *err, uint64_t episode, const char *what)
{
    return wk_fail(err, WK_E_FORMAT, "episode %llu: %s", (unsigned long long)episode, what);
}

static wk_status over_limit(const wk_replay *replay, wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY,
                   "the log holds more than this replay of %llu steps and %.0f MiB may; use the "
                   "capacity and memory limit that it was written with",
                   (unsigned long long)replay->config.capacity,
                   (double)replay->config.memory / (1 << 20));
}

static wk_status check_tables(const wk_replay *replay, uint64_t more_episodes, wk_error *err)
{
    uint64_t episodes = replay->episodes.count + more_episodes;
    uint64_t tables = wk_replay_table_bytes(episodes, replay->n_blocks + 1);
    return tables <= replay->table_budget ? WK_OK : over_limit(replay, err);
}

wk_status wk_replay_restore_begin(wk_replay *replay, const wk_replay_episode *episode,
                                  wk_error *err)
{
    if (episode->id != replay->next_id || episode->id == UINT64_MAX)
        return refuse(err, episode->id, "it begins out of order");
    if (episode->slot < 0 || episode->slot >= replay->config.slots)
        return refuse(err, episode->id, "it is of a slot that this replay does not have");
    if (replay->slots[episode->slot].episode)
        return refuse(err, episode->id, "it begins in a slot whose episode has not ended");
    for (int i = 0; i < replay->shape.n_params; i++)
        if (!isfinite(episode->theta[i]))
            return refuse(err, episode->id, "a parameter is not finite");
    WK_TRY(check_tables(replay, 1, err));
    WK_TRY(wk_replay_add_episode(replay, episode, err));
    replay->next_id++;
    return WK_OK;
}

// Which rows the record has, against what the episode has already.
static const char *fault_of_place(const wk_stored_episode *episode, const wk_rows_record *record)
{
    if (record->first != episode->blocks.count * WK_BLOCK_ROWS) return "rows are out of order";
    if (record->first > UINT32_MAX - WK_BLOCK_ROWS) return "it is too long";
    if (record->count > WK_BLOCK_ROWS) return "a block has too many rows";
    if (record->open && (record->ended || record->count == 0 || record->count == WK_BLOCK_ROWS))
        return "its open rows are impossible";
    if (!record->open && !record->ended && record->count != WK_BLOCK_ROWS)
        return "a block has too few rows";
    if (record->count == 0 && (record->size > 0 || record->first == 0))
        return "its end is impossible";
    return NULL;
}

static const char *fault_of_last(const wk_rows_record *record, const wk_block_view *view)
{
    for (uint32_t i = 0; i < record->count; i++)
        if ((view->flags[i] & WK_IS_LAST) && (!record->ended || i + 1 < record->count))
            return "it continues after its last row";
    return NULL;
}

// Rows that were open are replaced by the record's.
static void forget_open_rows(wk_replay *replay, wk_stored_episode *episode)
{
    wk_slot *slot = &replay->slots[episode->info.slot];
    uint32_t rows = episode->info.rows, kept = rows - (uint32_t)slot->count;
    replay->stats.rows -= slot->count;
    replay->stats.steps -= (rows ? rows - 1 : 0) - (kept ? kept - 1 : 0);
    episode->info.rows = kept;
    slot->count = 0;
}

// They go to the slot as they lie in the block; their frames are there already.
static void keep_open_rows(wk_replay *replay, wk_slot *slot, size_t count,
                           const wk_block_view *view)
{
    const wk_row_shape *shape = &replay->shape;
    size_t floats = count * sizeof(float), K = (size_t)shape->n_tasks;
    memcpy(slot->rows.actions, view->actions, floats * (size_t)shape->action_size);
    memcpy(slot->rows.rewards, view->rewards, floats * K);
    memcpy(slot->rows.completion, view->completion, floats * K);
    memcpy(slot->rows.vectors, view->vectors, floats * (size_t)shape->observation.vector);
    memcpy(slot->rows.flags, view->flags, count);
    slot->count = count;
}

static wk_status restore_block(wk_replay *replay, wk_stored_episode *episode,
                               const wk_rows_record *record, wk_error *err)
{
    wk_slot *slot = &replay->slots[episode->info.slot];
    wk_block_view view;
    if (!wk_block_split(&replay->shape, record->block, record->size, record->count, &view) ||
        !wk_block_frames(&replay->shape, &view, record->count, record->count, slot->rows.images))
        return refuse(err, record->episode, "frames cannot be unpacked");
    wk_error fault_of_rows = {0};
    if (wk_replay_check_rows(replay, &view, record->first, record->count, &fault_of_rows) != WK_OK)
        return refuse(err, record->episode, fault_of_rows.message);
    const char *fault = fault_of_last(record, &view);
    if (fault) return refuse(err, record->episode, fault);
    uint64_t steps = replay->stats.steps + record->count - (episode->info.rows == 0);
    if (steps > replay->config.capacity) return over_limit(replay, err);
    if (record->open) {
        keep_open_rows(replay, slot, record->count, &view);
    } else {
        if (replay->block_bytes + wk_ring_span(record->size) > replay->block_budget)
            return over_limit(replay, err);
        WK_TRY(check_tables(replay, 0, err));
        WK_TRY(wk_replay_reserve_block(episode, err));
        wk_replay_put_block(replay, episode, record->block, record->size, record->count);
    }
    replay->stats.steps = steps;
    replay->stats.rows += record->count;
    episode->info.rows += record->count;
    return WK_OK;
}

wk_status wk_replay_restore_rows(wk_replay *replay, const wk_rows_record *record, wk_error *err)
{
    wk_stored_episode *episode = wk_replay_find(replay, record->episode);
    assert(episode);
    if (episode->info.slot < 0) return refuse(err, record->episode, "it continues after its end");
    const char *fault = fault_of_place(episode, record);
    if (fault) return refuse(err, record->episode, fault);
    forget_open_rows(replay, episode);
    if (record->count > 0) WK_TRY(restore_block(replay, episode, record, err));
    if (record->ended) wk_replay_finish_episode(replay, episode);
    return WK_OK;
}

void wk_replay_restore_evict(wk_replay *replay, uint64_t id)
{
    wk_stored_episode *episode = wk_replay_find(replay, id);
    if (episode) wk_replay_drop_episode(replay, episode);
}
