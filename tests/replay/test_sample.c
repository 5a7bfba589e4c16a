// Sampling: uniform over episodes and starts, the right rows in the right places, and a pure
// function of (seed, counter) whatever the number of threads. Reading many frames at once, and
// hearing of what changes.
#include "replay/episodes.h"
#include "support/check.h"
#include <stdlib.h>

static wk_error err;

enum { B = 16, T = 20 };

typedef struct batch {
    wk_replay_batch out;
    uint8_t first[T * B], flags[T * B];
    uint64_t episodes[B];
    uint32_t starts[B];
    int64_t theta_indices[B];
    double theta[B * EPISODE_P];
    float actions[T * B * EPISODE_A], rewards[T * B * EPISODE_K], completion[T * B * EPISODE_K];
    uint8_t images[T * B * WK_IMAGE_BYTES];
} batch;

static batch *make_batch(void)
{
    batch *all = calloc(1, sizeof *all);
    assert_non_null(all);
    all->out = (wk_replay_batch){.images = all->images,
                                 .actions = all->actions,
                                 .rewards = all->rewards,
                                 .completion = all->completion,
                                 .flags = all->flags,
                                 .first = all->first,
                                 .episodes = all->episodes,
                                 .starts = all->starts,
                                 .theta_indices = all->theta_indices,
                                 .theta = all->theta};
    return all;
}

static wk_pool *make_pool(int threads)
{
    wk_pool *pool = NULL;
    assert_ok(wk_pool_create(threads, &pool, &err));
    return pool;
}

// Finished episodes of many lengths, and one that runs.
static wk_replay *make(wk_pool *pool)
{
    wk_replay_config config = episode_config(5000, 2);
    config.pool = pool;
    wk_replay *replay = episode_store(config);
    for (uint64_t i = 0; i < 30; i++)
        assert_ok(episode_write(replay, 0, i, (uint32_t)(T + i * 3), &err));
    assert_ok(episode_begin(replay, 1, 30, &err));
    for (uint32_t row = 0; row < 41; row++)
        assert_ok(episode_row(replay, 1, 30, row, false, &err));
    return replay;
}

TEST_CASE(sequences_are_consecutive_rows_of_one_episode)
{
    wk_replay *replay = make(NULL);
    batch *all = make_batch();
    for (uint64_t counter = 0; counter < 20; counter++) {
        assert_ok(wk_replay_sample(replay, 1, counter, B, T, &all->out, &err));
        for (size_t b = 0; b < B; b++) {
            uint64_t episode = all->episodes[b];
            uint32_t rows = episode == 30 ? UINT32_MAX : (uint32_t)(T + episode * 3);
            assert_int_equal(all->theta_indices[b], episode % 11);
            for (int i = 0; i < EPISODE_P; i++)
                assert_true(all->theta[b * EPISODE_P + (size_t)i] == episode_theta(episode, i));
            for (uint32_t t = 0; t < T; t++) {
                assert_episode_row(&all->out, t * B + b, episode, all->starts[b] + t,
                                   all->starts[b] + t + 1 == rows);
                assert_int_equal(all->first[t * B + b], t == 0);
            }
        }
    }
    free(all);
    wk_replay_destroy(replay);
}

TEST_CASE(the_same_seed_and_counter_give_the_same_bytes_on_any_number_of_threads)
{
    batch *one = make_batch(), *many = make_batch();
    wk_pool *pool = make_pool(3);
    wk_replay *alone = make(NULL), *pooled = make(pool);
    for (uint64_t counter = 0; counter < 5; counter++) {
        assert_ok(wk_replay_sample(alone, 7, counter, B, T, &one->out, &err));
        assert_ok(wk_replay_sample(pooled, 7, counter, B, T, &many->out, &err));
        size_t skip = offsetof(batch, first);
        assert_memory_equal((char *)one + skip, (char *)many + skip, sizeof *one - skip);
    }
    uint64_t before[B];
    memcpy(before, one->episodes, sizeof before);
    assert_ok(wk_replay_sample(alone, 8, 4, B, T, &one->out, &err));
    assert_memory_not_equal(before, one->episodes, sizeof before);
    wk_replay_destroy(alone);
    wk_replay_destroy(pooled);
    wk_pool_destroy(pool);
    free(one);
    free(many);
}

// Chi-square of counts against equal expectation; degrees of freedom are cells - 1.
static double chi_square(const int *counts, int cells, int total)
{
    double expected = (double)total / cells, sum = 0;
    for (int i = 0; i < cells; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    return sum;
}

TEST_CASE(episodes_and_starts_are_uniform)
{
    wk_replay *replay = make(NULL);
    uint64_t episodes[B];
    uint32_t starts[B];
    wk_replay_batch out = {.episodes = episodes, .starts = starts};
    int by_episode[31] = {0}, by_start[22] = {0}, draws = 0, running = 0;
    for (uint64_t counter = 0; counter < 5000; counter++) {
        assert_ok(wk_replay_sample(replay, 3, counter, B, T, &out, &err));
        for (int b = 0; b < B; b++, draws++) {
            by_episode[episodes[b]]++;
            if (episodes[b] != 30) continue;
            assert_in_range(starts[b], 0, 41 - T);
            by_start[starts[b]]++;
            running++;
        }
    }
    // 99.9 % points of chi-square with 30 and 21 degrees of freedom.
    assert_true(chi_square(by_episode, 31, draws) < 59.7);
    assert_true(chi_square(by_start, 22, running) < 46.8);
    wk_replay_destroy(replay);
}

TEST_CASE(episodes_shorter_than_a_sequence_are_never_chosen)
{
    wk_replay *replay = episode_store(episode_config(5000, 1));
    wk_replay_batch out = {0};
    assert_refused(wk_replay_sample(replay, 1, 0, B, T, &out, &err), WK_E_INPUT, "0 episodes");
    for (uint64_t i = 0; i < 200; i++)
        assert_ok(episode_write(replay, 0, i, T - 1, &err));
    assert_refused(wk_replay_sample(replay, 1, 0, B, T, &out, &err), WK_E_INPUT, "collect more");
    assert_ok(episode_write(replay, 0, 200, T, &err));
    assert_ok(episode_write(replay, 0, 201, T, &err));
    assert_int_equal(wk_replay_sampleable(replay, T), 2);
    uint64_t episodes[B];
    out.episodes = episodes;
    int counts[2] = {0};
    for (uint64_t counter = 0; counter < 200; counter++) {
        assert_ok(wk_replay_sample(replay, 1, counter, B, T, &out, &err));
        for (int b = 0; b < B; b++) {
            assert_in_range(episodes[b], 200, 201);
            counts[episodes[b] - 200]++;
        }
    }
    assert_true(chi_square(counts, 2, 200 * B) < 10.83);
    wk_replay_destroy(replay);
}

static bool is_drawn(wk_replay *replay, uint64_t episode)
{
    bool drawn = false;
    uint64_t episodes[B];
    const wk_replay_batch out = {.episodes = episodes};
    for (uint64_t counter = 0; counter < 100; counter++) {
        assert_ok(wk_replay_sample(replay, 1, counter, B, T, &out, &err));
        for (int b = 0; b < B; b++)
            drawn |= episodes[b] == episode;
    }
    return drawn;
}

TEST_CASE(running_episodes_are_left_out_where_complete_ones_are_wanted)
{
    wk_replay_config config = episode_config(5000, 2);
    config.complete = true;
    wk_replay *replay = episode_store(config);
    assert_ok(episode_begin(replay, 1, 0, &err));
    for (uint32_t row = 0; row < 41; row++)
        assert_ok(episode_row(replay, 1, 0, row, false, &err));
    assert_int_equal(wk_replay_sampleable(replay, T), 0);
    uint64_t drawn[B];
    assert_refused(
        wk_replay_sample(replay, 1, 0, B, T, &(wk_replay_batch){.episodes = drawn}, &err),
        WK_E_INPUT, "is finished and has the 20 rows");
    for (uint64_t i = 1; i < 4; i++)
        assert_ok(episode_write(replay, 0, i, T + 5, &err));
    assert_int_equal(wk_replay_sampleable(replay, T), 3);
    assert_false(is_drawn(replay, 0));
    assert_ok(episode_row(replay, 1, 0, 41, true, &err));
    assert_int_equal(wk_replay_sampleable(replay, T), 4);
    assert_true(is_drawn(replay, 0));
    wk_replay_destroy(replay);
}

TEST_CASE(what_is_kept_under_a_memory_limit_does_not_depend_on_threads)
{
    wk_pool *pool = make_pool(3);
    wk_replay *stores[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        wk_replay_config config = episode_config(500, 1);
        config.memory = wk_replay_plan(&config) + 100000;
        config.pool = i ? pool : NULL;
        stores[i] = episode_store(config);
        for (uint64_t k = 0; k < 20; k++) {
            assert_ok(episode_begin(stores[i], 0, k, &err));
            for (uint32_t row = 0; row < 25; row++)
                assert_ok(episode_noise_row(stores[i], 0, k, row, row == 24, &err));
        }
        wk_replay_stats stats = wk_replay_get_stats(stores[i]);
        assert_true(stats.evicted_early > 0 && stats.bytes_reserved <= stats.bytes_limit);
    }
    assert_same_content(stores[0], stores[1]);
    wk_replay_destroy(stores[0]);
    wk_replay_destroy(stores[1]);
    wk_pool_destroy(pool);
}

TEST_CASE(images_of_many_ranges_are_read_by_all_threads)
{
    enum { MOST = 30 };
    wk_pool *pool = make_pool(3);
    wk_replay *replay = make(pool);
    size_t count = wk_replay_count(replay);
    uint8_t *images = malloc(count * MOST * WK_IMAGE_BYTES), expected[WK_IMAGE_BYTES];
    wk_replay_range ranges[31];
    assert_non_null(images);
    assert_in_range(count, 1, 31);
    for (size_t i = 0; i < count; i++) {
        uint32_t rows = wk_replay_at(replay, i).rows, start = (uint32_t)i % 7;
        ranges[i] = (wk_replay_range){i, start, rows - start > MOST ? MOST : rows - start,
                                      images + i * MOST * WK_IMAGE_BYTES};
    }
    wk_replay_read_images(replay, ranges, count);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < ranges[i].count; k++) {
            episode_image(i, ranges[i].start + k, false, expected);
            assert_memory_equal(ranges[i].images + k * WK_IMAGE_BYTES, expected, sizeof expected);
        }
    free(images);
    wk_replay_destroy(replay);
    wk_pool_destroy(pool);
}

// Rows of three slots as they come, at once or one by one.
static void append_all(wk_replay *replay, uint32_t step, bool at_once)
{
    enum { SLOTS = 3 };
    static uint8_t images[SLOTS][WK_IMAGE_BYTES];
    static const float zeros[EPISODE_A + EPISODE_K];
    double theta[SLOTS][EPISODE_P];
    wk_replay_row rows[SLOTS] = {0};
    for (int i = 0; i < SLOTS; i++) {
        uint32_t row = step % (uint32_t)(20 + 13 * i);
        bool last = row + 1 == (uint32_t)(20 + 13 * i);
        for (int p = 0; p < EPISODE_P; p++)
            theta[i][p] = episode_theta(step, p);
        episode_image(step, row, false, images[i]);
        rows[i] = (wk_replay_row){.slot = i,
                                  .image = images[i],
                                  .action = row == 0 ? NULL : zeros,
                                  .rewards = zeros,
                                  .flags = episode_flags(row, last),
                                  .theta = theta[i],
                                  .theta_index = i};
    }
    size_t together = at_once ? SLOTS : 1;
    for (size_t i = 0; i < SLOTS; i += together)
        assert_ok(wk_replay_append(replay, &rows[i], together, &err));
}

TEST_CASE(rows_appended_at_once_are_those_appended_one_by_one)
{
    wk_pool *pool = make_pool(2); // fewer threads than blocks
    wk_replay *replay[2];
    wk_replay_config config = episode_config(150, 3);
    for (int k = 0; k < 2; k++) {
        config.pool = k ? pool : NULL;
        replay[k] = episode_store(config);
    }
    for (uint32_t step = 0; step < 300; step++) {
        append_all(replay[0], step, false);
        append_all(replay[1], step, true);
    }
    assert_same_content(replay[0], replay[1]);
    assert_int_equal(wk_replay_get_stats(replay[0]).bytes_used,
                     wk_replay_get_stats(replay[1]).bytes_used);
    wk_replay_destroy(replay[0]);
    wk_replay_destroy(replay[1]);
    wk_pool_destroy(pool);
}

typedef struct heard {
    uint64_t rows, dropped, last_row, last_dropped;
    bool image_fits;
} heard;

static void hear_row(void *context, uint64_t episode, uint32_t row, const uint8_t *image)
{
    heard *h = context;
    uint8_t expected[WK_IMAGE_BYTES];
    episode_image(episode, row, false, expected);
    h->image_fits = memcmp(image, expected, sizeof expected) == 0;
    h->rows++;
    h->last_row = row;
}

static void hear_drop(void *context, uint64_t episode)
{
    heard *h = context;
    h->dropped++;
    h->last_dropped = episode;
}

TEST_CASE(a_watcher_hears_of_rows_and_of_episodes_that_leave)
{
    wk_replay *replay = episode_store(episode_config(100, 2));
    heard h = {0};
    wk_replay_watcher watcher = {&h, hear_row, hear_drop};
    wk_replay_watch(replay, &watcher);
    for (uint64_t i = 0; i < 3; i++) // 40 steps each: the third pushes the first out
        assert_ok(episode_write(replay, 0, i, 41, &err));
    assert_int_equal(h.rows, 3 * 41);
    assert_int_equal(h.last_row, 40);
    assert_true(h.image_fits);
    assert_int_equal(h.dropped, 1);
    assert_int_equal(h.last_dropped, 0);
    wk_replay_watch(replay, NULL);
    assert_ok(episode_write(replay, 0, 3, 41, &err));
    assert_int_equal(h.rows, 3 * 41);
    assert_int_equal(h.dropped, 1);
    wk_replay_destroy(replay);
}

TEST_MAIN(NULL, NULL)
