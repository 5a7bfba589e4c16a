// Packing blocks before their last row is appended, several at once. Packing is a pure function of
// the rows, so a block that was packed ahead is the one that appending would have made.
#include "replay/replay.h"
#include "replay/store.h"

#include <string.h>

static size_t align64(size_t size)
{
    return (size + 63) / 64 * 64;
}

size_t wk_ahead_bytes(const wk_row_shape *shape)
{
    return 64 + align64(wk_block_bytes_most(shape)) + align64(wk_block_scratch_bytes());
}

static wk_ahead *entry(const wk_replay *replay, size_t i)
{
    return (wk_ahead *)(void *)(replay->ahead + i * wk_ahead_bytes(&replay->shape));
}

static unsigned char *block_of(wk_ahead *ahead)
{
    return (unsigned char *)ahead + 64;
}

static wk_ahead *find(const wk_replay *replay, const wk_slot *slot)
{
    int entries = wk_pool_threads(replay->config.pool);
    for (int i = 0; i < entries; i++)
        if (entry(replay, (size_t)i)->slot == slot) return entry(replay, (size_t)i);
    return NULL;
}

const void *wk_replay_take_ahead(wk_replay *replay, const wk_slot *slot, size_t count, size_t *size)
{
    wk_ahead *ahead = find(replay, slot);
    if (!ahead) return NULL;
    ahead->slot = NULL;
    *size = ahead->size;
    return ahead->count == count ? block_of(ahead) : NULL;
}

static bool same_numbers(const float *stored, const float *given, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (memcmp(&stored[i], given ? &given[i] : &(float){0}, sizeof *stored) != 0) return false;
    return true;
}

void wk_replay_check_ahead(wk_replay *replay, const wk_slot *slot, const wk_replay_row *row)
{
    wk_ahead *ahead = find(replay, slot);
    if (!ahead) return;
    size_t i = slot->count, A = (size_t)replay->shape.action_size;
    size_t K = (size_t)replay->shape.n_tasks;
    const wk_block_rows *rows = &slot->rows;
    bool same = ahead->count == i + 1 && rows->flags[i] == row->flags &&
                same_numbers(rows->actions + i * A, row->action, A) &&
                same_numbers(rows->rewards + i * K, row->rewards, K) &&
                same_numbers(rows->completion + i * K, row->completion, K) &&
                memcmp(rows->images + i * WK_IMAGE_BYTES, row->image, WK_IMAGE_BYTES) == 0;
    if (!same) ahead->slot = NULL;
}

static void pack(void *context, size_t i, int thread)
{
    (void)thread;
    const wk_replay *replay = context;
    wk_ahead *ahead = entry(replay, i);
    unsigned char *block = block_of(ahead);
    unsigned char *scratch = block + align64(wk_block_bytes_most(&replay->shape));
    ahead->size = wk_block_pack(&replay->shape, &ahead->slot->rows, ahead->count, scratch, block);
}

static bool fills_block(const wk_slot *slot, const wk_replay_row *row)
{
    if (!slot->episode || !row->image) return false;
    return slot->count + 1 == WK_BLOCK_ROWS || (row->flags & WK_IS_LAST);
}

void wk_replay_pack_ahead(wk_replay *replay, const wk_replay_row *rows)
{
    size_t count = 0, most = (size_t)wk_pool_threads(replay->config.pool);
    if (most < 2) return;
    for (size_t i = 0; i < most; i++)
        entry(replay, i)->slot = NULL;
    for (int i = 0; i < replay->config.slots && count < most; i++) {
        wk_slot *slot = &replay->slots[i];
        if (!fills_block(slot, &rows[i])) continue;
        wk_replay_stage_row(replay, slot, &rows[i]);
        *entry(replay, count++) = (wk_ahead){slot, slot->count + 1, 0};
    }
    wk_pool_run(replay->config.pool, count, pack, replay);
}
