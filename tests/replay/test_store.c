// The episode store: what goes in comes out, whole episodes leave oldest first, and the limits
// hold.
#include "replay/episodes.h"
#include "replay/store.h"
#include "support/check.h"
#include <stdlib.h>

static wk_error err;

static wk_replay *make_with(uint64_t capacity, int slots, size_t frame_bytes)
{
    wk_replay_config config = episode_config(capacity, slots);
    config.frame_bytes = frame_bytes;
    return episode_store(config);
}

static wk_replay *make(uint64_t capacity, int slots)
{
    return make_with(capacity, slots, 1800);
}

// Reads row by row and in one piece.
static void assert_episode(wk_replay *replay, size_t i, uint64_t episode, uint32_t rows, bool ended)
{
    wk_replay_batch all = {.images = malloc((size_t)rows * WK_IMAGE_BYTES),
                           .actions = malloc(rows * EPISODE_A * sizeof(float)),
                           .rewards = malloc(rows * EPISODE_K * sizeof(float)),
                           .completion = malloc(rows * EPISODE_K * sizeof(float)),
                           .flags = malloc(rows)};
    wk_replay_read(replay, i, 0, rows, &all);
    for (uint32_t row = 0; row < rows; row++)
        assert_episode_row(&all, row, episode, row, ended && row + 1 == rows);
    for (uint32_t row = 0; row < rows; row++) {
        wk_replay_read(replay, i, row, 1, &all);
        assert_episode_row(&all, 0, episode, row, ended && row + 1 == rows);
    }
    free(all.images);
    free(all.actions);
    free(all.rewards);
    free(all.completion);
    free(all.flags);
}

TEST_CASE(rows_come_back_as_they_went_in_for_every_length)
{
    wk_replay *replay = make(10000, 2);
    for (uint32_t rows = 1; rows <= 50; rows++) {
        assert_ok(episode_write(replay, (int)(rows % 2), rows, rows, &err));
        wk_replay_episode episode = wk_replay_at(replay, rows - 1);
        assert_int_equal(episode.rows, rows);
        assert_int_equal(episode.slot, -1);
        assert_int_equal(episode.theta_index, rows % 11);
        assert_true(episode.theta[1] == episode_theta(rows, 1));
        assert_episode(replay, rows - 1, rows, rows, true);
    }
    wk_replay_stats stats = wk_replay_get_stats(replay);
    assert_int_equal(stats.rows, 50 * 51 / 2);
    assert_int_equal(stats.steps, 50 * 51 / 2 - 50);
    assert_int_equal(stats.packed_rows, stats.rows);
    wk_replay_destroy(replay);
}

// A finished one from the middle and a running one; the others stay whole.
TEST_CASE(removed_episodes_are_gone_and_the_others_stay)
{
    wk_replay *replay = make(10000, 2);
    for (uint64_t id = 0; id < 5; id++)
        assert_ok(episode_write(replay, 0, id, 20 + (uint32_t)id, &err));
    assert_ok(episode_begin(replay, 1, 5, &err));
    for (uint32_t row = 0; row < 18; row++)
        assert_ok(episode_row(replay, 1, 5, row, false, &err));
    wk_replay_remove(replay, 5);
    wk_replay_remove(replay, 2);
    static const uint64_t left[] = {0, 1, 3, 4};
    assert_int_equal(wk_replay_count(replay), 4);
    assert_false(wk_replay_running(replay, 1));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(wk_replay_at(replay, i).id, left[i]);
        assert_episode(replay, i, left[i], 20 + (uint32_t)left[i], true);
    }
    wk_replay_stats stats = wk_replay_get_stats(replay);
    assert_int_equal(stats.rows, 20 + 21 + 23 + 24);
    assert_int_equal(stats.steps, stats.rows - 4);
    assert_int_equal(stats.packed_rows, stats.rows);
    assert_int_equal(stats.running, 0);
    wk_replay_destroy(replay);
}

TEST_CASE(running_episodes_of_several_slots_can_be_read)
{
    wk_replay *replay = make(1000, 3);
    for (int slot = 0; slot < 3; slot++)
        assert_ok(episode_begin(replay, slot, (uint64_t)slot, &err));
    for (uint32_t row = 0; row < 40; row++)
        for (int slot = 0; slot < 3; slot++) {
            assert_ok(episode_row(replay, slot, (uint64_t)slot, row, false, &err));
            assert_true(wk_replay_running(replay, slot));
        }
    for (int slot = 0; slot < 3; slot++)
        assert_episode(replay, (size_t)slot, (uint64_t)slot, 40, false);
    assert_ok(wk_replay_end(replay, 1, &err));
    assert_false(wk_replay_running(replay, 1));
    assert_episode(replay, 1, 1, 40, false);
    assert_int_equal(wk_replay_get_stats(replay).running, 2);
    wk_replay_destroy(replay);
}

TEST_CASE(frames_that_do_not_compress_come_back_too)
{
    wk_replay *replay = make_with(100, 1, WK_IMAGE_BYTES);
    assert_ok(episode_begin(replay, 0, 5, &err));
    for (uint32_t row = 0; row < 33; row++)
        assert_ok(episode_noise_row(replay, 0, 5, row, row == 32, &err));
    uint8_t image[WK_IMAGE_BYTES], expected[WK_IMAGE_BYTES];
    for (uint32_t row = 0; row < 33; row++) {
        wk_replay_read(replay, 0, row, 1, &(wk_replay_batch){.images = image});
        episode_image(5, row, true, expected);
        assert_memory_equal(image, expected, sizeof image);
    }
    wk_replay_destroy(replay);
}

TEST_CASE(the_oldest_whole_episodes_leave_when_the_capacity_is_exceeded)
{
    wk_replay *replay = make(100, 1);
    for (uint64_t i = 0; i < 20; i++) {
        assert_ok(episode_write(replay, 0, i, 31, &err)); // 30 steps: three fit
        wk_replay_stats stats = wk_replay_get_stats(replay);
        assert_true(stats.steps <= 100);
        uint64_t kept = i < 3 ? i + 1 : 3;
        assert_int_equal(stats.episodes, kept);
        for (uint64_t k = 0; k < kept; k++)
            assert_int_equal(wk_replay_at(replay, k).id, i + 1 - kept + k);
    }
    for (size_t k = 0; k < 3; k++)
        assert_episode(replay, k, 17 + k, 31, true);
    assert_int_equal(wk_replay_get_stats(replay).evicted, 17);
    assert_int_equal(wk_replay_get_stats(replay).evicted_early, 0);
    wk_replay_destroy(replay);
}

TEST_CASE(a_running_episode_outlives_younger_finished_ones)
{
    wk_replay *replay = make(200, 2);
    assert_ok(episode_begin(replay, 0, 0, &err));
    uint32_t rows = 0;
    for (uint64_t i = 1; i < 60; i++) {
        assert_ok(episode_row(replay, 0, 0, rows++, false, &err));
        assert_ok(episode_write(replay, 1, i, 41, &err));
        assert_int_equal(wk_replay_at(replay, 0).id, 0);
    }
    assert_episode(replay, 0, 0, 59, false);
    assert_int_equal(wk_replay_at(replay, 1).id, 57);
    wk_replay_destroy(replay);
}

// The ring goes round many times with blocks of very different sizes, and blocks that stay behind.
TEST_CASE(blocks_survive_many_rounds_of_the_memory)
{
    wk_replay *replay = make_with(400, 3, 6000);
    assert_ok(episode_begin(replay, 2, 0, &err));
    uint32_t rows = 0;
    for (uint64_t i = 1; i < 400; i++) {
        if (i % 4 == 0) assert_ok(episode_row(replay, 2, 0, rows++, false, &err));
        assert_ok(episode_begin(replay, (int)(i % 2), i, &err));
        uint32_t length = (uint32_t)(1 + i * 7 % 45);
        for (uint32_t row = 0; row < length; row++)
            assert_ok((i % 3 ? episode_row : episode_noise_row)(replay, (int)(i % 2), i, row,
                                                                row + 1 == length, &err));
    }
    assert_episode(replay, 0, 0, rows, false);
    for (size_t k = 1; k < wk_replay_count(replay); k++) {
        wk_replay_episode episode = wk_replay_at(replay, k);
        if (episode.id % 3) assert_episode(replay, k, episode.id, episode.rows, true);
    }
    wk_replay_destroy(replay);
}

TEST_CASE(episodes_leave_early_when_frames_compress_worse_than_planned)
{
    wk_replay *replay = make(2000, 1);
    wk_replay_stats stats;
    for (uint64_t i = 0; i < 60; i++) {
        assert_ok(episode_begin(replay, 0, i, &err));
        for (uint32_t row = 0; row < 50; row++)
            assert_ok(episode_noise_row(replay, 0, i, row, row == 49, &err));
        stats = wk_replay_get_stats(replay);
        assert_true(stats.bytes_reserved <= stats.bytes_limit);
        assert_true(stats.bytes_used <= stats.bytes_limit);
    }
    assert_true(stats.evicted_early > 0);
    assert_true(stats.episodes > 0 && stats.steps < 1000);
    wk_replay_destroy(replay);
}

TEST_CASE(a_plan_over_the_memory_limit_is_refused_with_advice)
{
    wk_replay *replay = NULL;
    wk_replay_config config = episode_config(3000000, 8);
    config.memory = 2000000000;
    assert_refused(wk_replay_create(&config, &replay, &err), WK_E_MEMORY, "lower the capacity to ");
    assert_null(replay);
    // The advice holds.
    config.capacity = strtoull(strstr(err.message, "capacity to ") + 12, NULL, 10);
    assert_true(config.capacity > 900000 && config.capacity < 1200000);
    assert_true(wk_replay_plan(&config) <= config.memory);
}

TEST_CASE(the_papers_buffer_of_a_walker_is_planned_within_six_gigabytes)
{
    const wk_replay_config config = {.capacity = 3000000,
                                     .frame_bytes = 1800,
                                     .slots = 8,
                                     .action_size = 6,
                                     .n_tasks = 5,
                                     .n_params = 2};
    assert_true(wk_replay_plan(&config) <= 6000000000);
}

TEST_CASE(what_the_store_cannot_hold_is_refused)
{
    wk_replay *replay = NULL;
    wk_replay_config config = episode_config(0, 1);
    assert_refused(wk_replay_create(&config, &replay, &err), WK_E_INPUT, "capacity");
    config = episode_config(10, 0);
    assert_refused(wk_replay_create(&config, &replay, &err), WK_E_INPUT, "slots");
    config = episode_config(10, 1);
    config.frame_bytes = 0;
    assert_refused(wk_replay_create(&config, &replay, &err), WK_E_INPUT, "frame");

    replay = make(10, 1);
    assert_refused(episode_row(replay, 0, 0, 1, false, &err), WK_E_INPUT, "begin one first");
    assert_refused(wk_replay_end(replay, 0, &err), WK_E_INPUT, "begin one first");
    double bad[EPISODE_P] = {1, NAN};
    assert_refused(wk_replay_begin(replay, 0, bad, 0, &err), WK_E_INPUT, "not finite");
    assert_ok(episode_begin(replay, 0, 0, &err));
    assert_refused(episode_begin(replay, 0, 0, &err), WK_E_INPUT, "end it first");
    // Eleven steps do not fit ten, and nothing can be dropped.
    for (uint32_t row = 0; row < 11; row++)
        assert_ok(episode_row(replay, 0, 0, row, false, &err));
    assert_refused(episode_row(replay, 0, 0, 11, false, &err), WK_E_MEMORY, "running episodes");
    assert_int_equal(wk_replay_at(replay, 0).rows, 11);
    wk_replay_destroy(replay);
}

TEST_CASE(rows_that_make_no_sense_are_refused_and_leave_no_trace)
{
    wk_replay *replay = make(100, 1);
    static uint8_t image[WK_IMAGE_BYTES];
    float numbers[EPISODE_A] = {0}, odd[EPISODE_A] = {0, INFINITY, 0};
    assert_ok(episode_begin(replay, 0, 0, &err));
    wk_replay_row row = {.image = image, .rewards = numbers};
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "lacks the flag");
    row.flags = WK_IS_FIRST | 32;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "unknown flags");
    row.flags = WK_IS_FIRST | WK_IS_DIVERGED;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "but not last");
    row.flags = WK_IS_FIRST;
    row.rewards = odd;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "reward");
    row.rewards = numbers;
    row.completion = odd;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "completion");
    row.completion = NULL;
    float action[EPISODE_A] = {0.5f, 0, 0};
    row.action = action;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "not zero");
    row.action = NULL;
    assert_ok(wk_replay_append(replay, &row, 1, &err));
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "flag of a first row");
    row.flags = 0;
    row.action = odd;
    assert_refused(wk_replay_append(replay, &row, 1, &err), WK_E_INPUT, "action");
    assert_int_equal(wk_replay_at(replay, 0).rows, 1);
    row.action = action;
    row.flags = WK_IS_LAST | WK_IS_TERMINAL;
    assert_ok(wk_replay_append(replay, &row, 1, &err));
    assert_int_equal(wk_replay_at(replay, 0).rows, 2);
    wk_replay_destroy(replay);
}

// Rows of a vector of environments: one begins an episode, one goes on, one breaks down.
TEST_CASE(a_row_begins_continues_or_ends_the_episode_of_its_slot)
{
    wk_replay *replay = make(100, 3);
    static uint8_t image[WK_IMAGE_BYTES];
    const float numbers[EPISODE_A] = {0};
    const double theta[EPISODE_P] = {0.5, 2};
    for (int slot = 1; slot < 3; slot++)
        assert_ok(episode_begin(replay, slot, (uint64_t)slot, &err));
    for (int slot = 1; slot < 3; slot++)
        assert_ok(episode_row(replay, slot, (uint64_t)slot, 0, false, &err));
    wk_replay_row rows[] = {{.slot = 2},
                            {.slot = 1, .image = image, .rewards = numbers},
                            {.slot = 0,
                             .image = image,
                             .rewards = numbers,
                             .flags = WK_IS_FIRST,
                             .theta = theta,
                             .theta_index = 7}};
    assert_ok(wk_replay_append(replay, rows, 3, &err));
    assert_true(wk_replay_running(replay, 0));
    assert_true(wk_replay_running(replay, 1));
    assert_false(wk_replay_running(replay, 2));
    assert_int_equal(wk_replay_at(replay, 0).rows, 2);
    assert_int_equal(wk_replay_at(replay, 1).rows, 1);
    wk_replay_episode begun = wk_replay_at(replay, 2);
    assert_int_equal(begun.rows, 1);
    assert_int_equal(begun.theta_index, 7);
    assert_memory_equal(begun.theta, theta, sizeof theta);
    // What comes before a row at fault is stored.
    rows[0] = rows[1];
    rows[1] = (wk_replay_row){.slot = 2, .image = image, .rewards = numbers};
    assert_refused(wk_replay_append(replay, rows, 2, &err), WK_E_INPUT, "begin one first");
    assert_int_equal(wk_replay_at(replay, 0).rows, 3);
    wk_replay_destroy(replay);
}

TEST_CASE(an_episode_ended_before_its_first_row_is_dropped)
{
    wk_replay *replay = make(100, 1);
    assert_ok(episode_begin(replay, 0, 0, &err));
    assert_ok(wk_replay_end(replay, 0, &err));
    assert_int_equal(wk_replay_count(replay), 0);
    assert_ok(episode_write(replay, 0, 1, 5, &err));
    assert_int_equal(wk_replay_at(replay, 0).id, 1);
    wk_replay_destroy(replay);
}

TEST_CASE(many_short_episodes_keep_the_tables_within_the_limit)
{
    wk_replay *replay = make(2000, 1);
    for (uint64_t i = 0; i < 3000; i++) {
        assert_ok(episode_write(replay, 0, i, 2, &err));
        wk_replay_stats stats = wk_replay_get_stats(replay);
        assert_true(stats.bytes_reserved <= stats.bytes_limit);
    }
    assert_true(wk_replay_get_stats(replay).evicted_early > 0);
    wk_replay_destroy(replay);
}

TEST_MAIN(NULL, NULL)
