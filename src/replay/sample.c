// Drawing sequences and unpacking them. The draws are made first, on the calling thread; the
// sequences are then unpacked as independent pieces, so the number of threads changes nothing.
#include "base/random.h"
#include "replay/replay.h"
#include "replay/store.h"

#include <assert.h>
#include <string.h>

typedef struct sequences {
    wk_replay *replay;
    const wk_pick *picks;
    const wk_replay_batch *out;
    size_t B, T;
} sequences;

// Where the rows of a block go: row `from` of the block is step `t` of sequence `b`.
typedef struct target {
    size_t from, rows, t, b;
} target;

static void copy_rows(void *out, const sequences *job, target to, const void *rows, size_t bytes)
{
    if (!out || bytes == 0) return;
    for (size_t i = 0; i < to.rows; i++)
        memcpy((char *)out + ((to.t + i) * job->B + to.b) * bytes,
               (const char *)rows + (to.from + i) * bytes, bytes);
}

static void unpack_sequence(void *context, size_t b, int thread)
{
    const sequences *job = context;
    const wk_replay_batch *out = job->out;
    const wk_replay *replay = job->replay;
    const wk_row_shape *shape = &replay->shape;
    const wk_pick *pick = &job->picks[b];
    const wk_stored_episode *episode = pick->episode;
    const wk_replay_episode *info = &episode->info;
    size_t K = (size_t)shape->n_tasks * sizeof(float), P = (size_t)shape->n_params;
    bool wants_images = out->images && !shape->observation.no_image;
    uint8_t *unpacked = replay->unpacked + (size_t)thread * WK_BLOCK_ROWS * (size_t)WK_IMAGE_BYTES;
    size_t start = pick->start, end = start + job->T;
    for (size_t row = start; row < end;) {
        size_t block = row / WK_BLOCK_ROWS, first = block * WK_BLOCK_ROWS;
        size_t count = info->rows - first;
        if (count > WK_BLOCK_ROWS) count = WK_BLOCK_ROWS;
        size_t stop = first + count < end ? first + count : end;
        target to = {row - first, stop - row, row - start, b};

        // The block is packed, or its rows still lie in the slot.
        wk_block_view view;
        const uint8_t *images = unpacked;
        if (block < episode->blocks.count) {
            size_t size;
            const void *bytes = wk_ring_get(&replay->ring, episode->blocks.items[block], &size);
            bool whole = wk_block_split(shape, bytes, size, count, &view);
            if (whole && wants_images)
                whole = wk_block_frames(shape, &view, count, to.from + to.rows, unpacked);
            assert(whole);
        } else {
            const wk_block_rows *rows = &replay->slots[info->slot].rows;
            view = wk_block_rows_view(shape, rows, 0);
            images = rows->images;
        }
        if (wants_images) copy_rows(out->images, job, to, images, WK_IMAGE_BYTES);
        copy_rows(out->actions, job, to, view.actions, (size_t)shape->action_size * sizeof(float));
        copy_rows(out->rewards, job, to, view.rewards, K);
        copy_rows(out->completion, job, to, view.completion, K);
        copy_rows(out->vectors, job, to, view.vectors,
                  (size_t)shape->observation.vector * sizeof(float));
        copy_rows(out->flags, job, to, view.flags, 1);
        for (size_t i = 0; out->first && i < to.rows; i++)
            out->first[(to.t + i) * job->B + b] = to.t + i == 0;
        row = stop;
    }
    if (out->episodes) out->episodes[b] = info->id;
    if (out->starts) out->starts[b] = pick->start;
    if (out->theta_indices) out->theta_indices[b] = info->theta_index;
    if (out->theta && P > 0) memcpy(out->theta + b * P, info->theta, P * sizeof(double));
}

static bool is_sampleable(const wk_replay *replay, const wk_replay_episode *episode, uint32_t T)
{
    return episode->rows >= T && episode->theta_index > WK_REPLAY_HELD_OUT &&
           (episode->slot < 0 || !replay->config.complete);
}

size_t wk_replay_sampleable(const wk_replay *replay, int T)
{
    assert(T > 0);
    size_t count = 0;
    for (size_t i = 0; i < replay->episodes.count; i++)
        count += is_sampleable(replay, &replay->episodes.items[i]->info, (uint32_t)T);
    return count;
}

// Nearly always most episodes are long enough, and a few tries find one without counting them; both
// ways are uniform over the long ones. NULL where there is none.
static const wk_stored_episode *draw_episode(const wk_replay *replay, uint32_t T, wk_rng *rng)
{
    enum { TRIES = 32 };
    size_t count = replay->episodes.count;
    for (int i = 0; i < TRIES && count > 0; i++) {
        const wk_stored_episode *episode = replay->episodes.items[wk_rng_below(rng, count)];
        if (is_sampleable(replay, &episode->info, T)) return episode;
    }
    uint64_t long_ones = wk_replay_sampleable(replay, (int)T);
    uint64_t n = long_ones ? wk_rng_below(rng, long_ones) : 0;
    for (size_t i = 0; long_ones && i < count; i++)
        if (is_sampleable(replay, &replay->episodes.items[i]->info, T) && n-- == 0)
            return replay->episodes.items[i];
    return NULL;
}

static wk_status draw(wk_replay *replay, wk_rng *rng, size_t B, uint32_t T, wk_error *err)
{
    replay->picks.count = 0;
    if (!wk_array_reserve(&replay->picks, B))
        return wk_fail(err, WK_E_MEMORY, "replay: no memory for a batch of %zu", B);
    for (size_t b = 0; b < B; b++) {
        const wk_stored_episode *episode = draw_episode(replay, T, rng);
        if (!episode)
            return wk_fail(err, WK_E_INPUT,
                           "replay: none of the %zu episodes %shas the %u rows of a sequence; "
                           "collect more first or sample shorter sequences",
                           replay->episodes.count,
                           replay->config.complete ? "is finished and " : "", T);
        uint32_t start = (uint32_t)wk_rng_below(rng, (uint64_t)episode->info.rows - T + 1);
        replay->picks.items[replay->picks.count++] = (wk_pick){episode, start};
    }
    return WK_OK;
}

wk_status wk_replay_sample(wk_replay *replay, uint64_t seed, uint64_t counter, int B, int T,
                           const wk_replay_batch *out, wk_error *err)
{
    assert(B > 0 && T > 0);
    wk_rng rng = wk_rng_stream(seed, "replay", counter);
    WK_TRY(draw(replay, &rng, (size_t)B, (uint32_t)T, err));
    sequences job = {replay, replay->picks.items, out, (size_t)B, (size_t)T};
    wk_pool_run(replay->config.pool, (size_t)B, unpack_sequence, &job);
    return WK_OK;
}

void wk_replay_read(wk_replay *replay, size_t i, uint32_t start, uint32_t count,
                    const wk_replay_batch *out)
{
    assert(i < replay->episodes.count);
    const wk_stored_episode *episode = replay->episodes.items[i];
    assert(start <= episode->info.rows && count <= episode->info.rows - start);
    wk_pick pick = {episode, start};
    sequences job = {replay, &pick, out, 1, count};
    unpack_sequence(&job, 0, 0);
}

typedef struct ranges {
    wk_replay *replay;
    const wk_replay_range *items;
} ranges;

static void unpack_range(void *context, size_t i, int thread)
{
    const ranges *job = context;
    const wk_replay_range *s = &job->items[i];
    wk_replay_batch out = {.images = s->images};
    wk_pick pick = {job->replay->episodes.items[s->episode], s->start};
    assert(s->start + s->count <= pick.episode->info.rows);
    sequences one = {job->replay, &pick, &out, 1, s->count};
    unpack_sequence(&one, 0, thread);
}

void wk_replay_read_images(wk_replay *replay, const wk_replay_range *items, size_t count)
{
    ranges job = {replay, items};
    wk_pool_run(replay->config.pool, count, unpack_range, &job);
}
