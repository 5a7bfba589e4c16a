// Prepacking: blocks are packed before their last row is appended, several in parallel. Packing is
// a pure function of the rows, so a prepacked block is the one that appending would have made.
#include "replay/replay.h"
#include "replay/store.h"

#include <assert.h>

static size_t align64(size_t size)
{
    return (size + 63) / 64 * 64;
}

size_t wk_prepacked_bytes(const wk_row_shape *shape)
{
    return 64 + align64(wk_block_bytes_max(shape)) + align64(wk_block_scratch_bytes());
}

static wk_prepacked *entry(const wk_replay *replay, size_t i)
{
    return (wk_prepacked *)(void *)(replay->prepacked + i * wk_prepacked_bytes(&replay->shape));
}

static unsigned char *block_of(wk_prepacked *prepacked)
{
    return (unsigned char *)prepacked + 64;
}

static wk_prepacked *find(const wk_replay *replay, const wk_slot *slot)
{
    int entries = wk_pool_threads(replay->config.pool);
    for (int i = 0; i < entries; i++)
        if (entry(replay, (size_t)i)->slot == slot) return entry(replay, (size_t)i);
    return NULL;
}

const void *wk_replay_take_prepacked(wk_replay *replay, const wk_slot *slot, size_t count,
                                     size_t *size)
{
    wk_prepacked *prepacked = find(replay, slot);
    if (!prepacked) return NULL;
    prepacked->slot = NULL;
    *size = prepacked->size;
    return prepacked->count == count ? block_of(prepacked) : NULL;
}

static void pack(void *context, size_t i, int thread)
{
    (void)thread;
    const wk_replay *replay = context;
    wk_prepacked *prepacked = entry(replay, i);
    unsigned char *block = block_of(prepacked);
    unsigned char *scratch = block + align64(wk_block_bytes_max(&replay->shape));
    prepacked->size =
        wk_block_pack(&replay->shape, &prepacked->slot->rows, prepacked->count, scratch, block);
}

static bool fills_block(const wk_slot *slot, const wk_replay_row *row)
{
    if (!slot->episode || wk_replay_is_end(row)) return false;
    return slot->count + 1 == WK_BLOCK_ROWS || (row->flags & WK_IS_LAST);
}

void wk_replay_prepack(wk_replay *replay, const wk_replay_row *rows, size_t n_rows)
{
    size_t count = 0, max = (size_t)wk_pool_threads(replay->config.pool);
    if (max < 2) return;
    for (size_t i = 0; i < max; i++)
        entry(replay, i)->slot = NULL;
    for (size_t i = 0; i < n_rows && count < max; i++) {
        wk_slot *slot = &replay->slots[rows[i].slot];
        if (!fills_block(slot, &rows[i])) continue;
        assert(!find(replay, slot)); // one row for each slot
        wk_replay_stage_row(replay, slot, &rows[i]);
        *entry(replay, count++) = (wk_prepacked){slot, slot->count + 1, 0};
    }
    wk_pool_run(replay->config.pool, count, pack, replay);
}
