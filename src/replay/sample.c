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

static void copy_floats(float *out, const sequences *job, target to, const float *rows,
                        size_t width)
{
    if (!out || width == 0) return;
    for (size_t i = 0; i < to.rows; i++)
        memcpy(out + ((to.t + i) * job->B + to.b) * width, rows + (to.from + i) * width,
               width * sizeof *out);
}

static void copy_values(const sequences *job, target to, const wk_block_view *rows)
{
    const wk_replay_batch *out = job->out;
    size_t A = (size_t)job->replay->shape.action_size, K = (size_t)job->replay->shape.n_tasks;
    copy_floats(out->actions, job, to, rows->actions, A);
    copy_floats(out->rewards, job, to, rows->rewards, K);
    copy_floats(out->completion, job, to, rows->completion, K);
    copy_floats(out->vectors, job, to, rows->vectors,
                (size_t)job->replay->shape.observation.vector);
    for (size_t i = 0; i < to.rows; i++) {
        size_t at = (to.t + i) * job->B + to.b;
        if (out->flags) out->flags[at] = rows->flags[to.from + i];
        if (out->first) out->first[at] = to.t + i == 0;
    }
}

static bool wants_images(const sequences *job)
{
    return job->out->images && !job->replay->shape.observation.no_image;
}

static void copy_images(const sequences *job, target to, const uint8_t *images)
{
    for (size_t i = 0; i < to.rows; i++)
        memcpy(job->out->images + ((to.t + i) * job->B + to.b) * WK_IMAGE_BYTES,
               images + (to.from + i) * WK_IMAGE_BYTES, WK_IMAGE_BYTES);
}

static void copy_packed(const sequences *job, target to, size_t place, size_t count,
                        uint8_t *images)
{
    size_t size;
    wk_block_view view;
    const void *block = wk_ring_get(&job->replay->ring, place, &size);
    bool whole = wk_block_split(&job->replay->shape, block, size, count, &view);
    assert(whole);
    copy_values(job, to, &view);
    if (!wants_images(job)) return;
    whole = wk_block_frames(&job->replay->shape, &view, count, to.from + to.rows, images);
    assert(whole);
    copy_images(job, to, images);
}

static void copy_staged(const sequences *job, target to, const wk_block_rows *rows)
{
    wk_block_view view = wk_block_rows_view(&job->replay->shape, rows, 0);
    copy_values(job, to, &view);
    if (wants_images(job)) copy_images(job, to, rows->images);
}

static void copy_labels(const sequences *job, size_t b)
{
    const wk_replay_batch *out = job->out;
    const wk_pick *pick = &job->picks[b];
    const wk_replay_episode *info = &pick->episode->info;
    size_t P = (size_t)job->replay->shape.n_params;
    if (out->episodes) out->episodes[b] = info->id;
    if (out->starts) out->starts[b] = pick->start;
    if (out->theta_indices) out->theta_indices[b] = info->theta_index;
    if (out->theta && P > 0) memcpy(out->theta + b * P, info->theta, P * sizeof(double));
}

static void unpack_sequence(void *context, size_t b, int thread)
{
    const sequences *job = context;
    const wk_stored_episode *episode = job->picks[b].episode;
    uint8_t *images =
        job->replay->unpacked + (size_t)thread * WK_BLOCK_ROWS * (size_t)WK_IMAGE_BYTES;
    size_t start = job->picks[b].start, end = start + job->T;
    for (size_t row = start; row < end;) {
        size_t block = row / WK_BLOCK_ROWS, first = block * WK_BLOCK_ROWS;
        size_t count = episode->info.rows - first;
        if (count > WK_BLOCK_ROWS) count = WK_BLOCK_ROWS;
        size_t stop = first + count < end ? first + count : end;
        target to = {row - first, stop - row, row - start, b};
        if (block < episode->blocks.count)
            copy_packed(job, to, episode->blocks.items[block], count, images);
        else
            copy_staged(job, to, &job->replay->slots[episode->info.slot].rows);
        row = stop;
    }
    copy_labels(job, b);
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

static const wk_stored_episode *nth_sampleable(const wk_replay *replay, uint32_t T, uint64_t n)
{
    size_t i = 0;
    for (;; i++)
        if (is_sampleable(replay, &replay->episodes.items[i]->info, T) && n-- == 0) break;
    return replay->episodes.items[i];
}

// Nearly always most episodes are long enough, and a few tries find one without counting them; both
// ways are uniform over the long ones.
static const wk_stored_episode *draw_episode(const wk_replay *replay, uint32_t T, wk_rng *rng)
{
    enum { TRIES = 32 };
    if (replay->episodes.count == 0) return NULL;
    for (int i = 0; i < TRIES; i++) {
        const wk_stored_episode *episode =
            replay->episodes.items[wk_rng_below(rng, replay->episodes.count)];
        if (is_sampleable(replay, &episode->info, T)) return episode;
    }
    uint64_t long_ones = wk_replay_sampleable(replay, (int)T);
    return long_ones ? nth_sampleable(replay, T, wk_rng_below(rng, long_ones)) : NULL;
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
