#include "replay/episodes.h"
#include "base/hash.h"
#include "base/random.h"
#include "replay/store.h"
#include "support/check.h"
#include <float.h>
#include <stdlib.h>

wk_replay_config episode_config(uint64_t capacity, int slots)
{
    return (wk_replay_config){.capacity = capacity,
                              .frame_bytes = 1800,
                              .slots = slots,
                              .action_size = EPISODE_A,
                              .n_tasks = EPISODE_K,
                              .n_params = EPISODE_P};
}

wk_replay *episode_store(wk_replay_config config)
{
    wk_error err = {0};
    wk_replay *replay = NULL;
    assert_ok(wk_replay_create(&config, &replay, &err));
    return replay;
}

static void noise_image(uint64_t episode, uint32_t row, uint8_t *image)
{
    wk_rng rng = wk_rng_stream(episode, "test-image", row);
    for (int i = 0; i < WK_IMAGE_BYTES; i += 4) {
        uint32_t word = wk_rng_u32(&rng);
        memcpy(image + i, &word, sizeof word);
    }
}

static void bar_image(uint64_t episode, uint32_t row, uint8_t *image)
{
    for (int y = 0; y < WK_IMAGE_SIDE; y++)
        for (int x = 0; x < WK_IMAGE_SIDE; x++)
            for (int c = 0; c < 3; c++) {
                bool bar = (uint32_t)x == row % WK_IMAGE_SIDE;
                uint64_t ground = episode * 7 + (uint64_t)y * 2 + (uint64_t)c * 50;
                *image++ = bar ? 255 : (uint8_t)ground;
            }
}

void episode_image(uint64_t episode, uint32_t row, bool noise, uint8_t *image)
{
    (noise ? noise_image : bar_image)(episode, row, image);
}

float episode_action(uint64_t episode, uint32_t row, int i)
{
    return row == 0 ? 0 : (float)(row % 100) / 100.0f - (float)i * 0.1f - (float)(episode % 10);
}

float episode_reward(uint64_t episode, uint32_t row, int k)
{
    return (float)episode + (float)row * 0.25f + (float)k;
}

float episode_completion(uint64_t episode, uint32_t row, int k)
{
    return (float)((episode + row + (uint64_t)k) % 5) / 4;
}

float episode_vector(uint64_t episode, uint32_t row, int i)
{
    static const float rare[] = {-0.0f, FLT_MAX, -FLT_MIN, 1e-45f};
    if (i == 0 && row % 5 == 0) return rare[(row / 5 + episode) % 4];
    return (float)((double)episode / 3 + row * 0.7 - i);
}

double episode_theta(uint64_t episode, int i)
{
    return (double)episode / 3 + i;
}

uint8_t episode_flags(uint32_t row, bool last)
{
    return (uint8_t)((row == 0 ? WK_IS_FIRST : 0) | (last ? WK_IS_LAST : 0));
}

wk_status episode_begin(wk_replay *replay, int slot, uint64_t episode, wk_error *err)
{
    double theta[EPISODE_P];
    for (int i = 0; i < EPISODE_P; i++)
        theta[i] = episode_theta(episode, i);
    return wk_replay_begin(replay, slot, theta, (int64_t)episode % 11, err);
}

static wk_status append(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last,
                        bool noise, wk_error *err)
{
    uint8_t image[WK_IMAGE_BYTES];
    float action[EPISODE_A], rewards[EPISODE_K], completion[EPISODE_K], vector[EPISODE_V];
    wk_observation_spec shown = wk_replay_settings(replay)->observation;
    episode_image(episode, row, noise, image);
    for (int i = 0; i < EPISODE_V; i++)
        vector[i] = episode_vector(episode, row, i);
    for (int i = 0; i < EPISODE_A; i++)
        action[i] = episode_action(episode, row, i);
    for (int k = 0; k < EPISODE_K; k++) {
        rewards[k] = episode_reward(episode, row, k);
        completion[k] = episode_completion(episode, row, k);
    }
    wk_replay_row values = {.slot = slot,
                            .image = shown.no_image ? NULL : image,
                            .vector = shown.vector ? vector : NULL,
                            .action = row == 0 ? NULL : action,
                            .rewards = rewards,
                            .completion = completion,
                            .flags = episode_flags(row, last)};
    return wk_replay_append(replay, &values, 1, err);
}

wk_status episode_row(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last,
                      wk_error *err)
{
    return append(replay, slot, episode, row, last, false, err);
}

wk_status episode_noise_row(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last,
                            wk_error *err)
{
    return append(replay, slot, episode, row, last, true, err);
}

wk_status episode_write(wk_replay *replay, int slot, uint64_t episode, uint32_t rows, wk_error *err)
{
    WK_TRY(episode_begin(replay, slot, episode, err));
    for (uint32_t row = 0; row < rows; row++)
        WK_TRY(episode_row(replay, slot, episode, row, row + 1 == rows, err));
    return WK_OK;
}

void assert_episode_row(const wk_replay_batch *batch, size_t at, uint64_t episode, uint32_t row,
                        bool last)
{
    uint8_t image[WK_IMAGE_BYTES];
    episode_image(episode, row, false, image);
    if (batch->images)
        assert_memory_equal(batch->images + at * WK_IMAGE_BYTES, image, WK_IMAGE_BYTES);
    for (int i = 0; batch->vectors && i < EPISODE_V; i++) {
        float expected = episode_vector(episode, row, i);
        assert_memory_equal(&batch->vectors[at * EPISODE_V + (size_t)i], &expected,
                            sizeof expected);
    }
    for (int i = 0; i < EPISODE_A; i++)
        assert_true(batch->actions[at * EPISODE_A + i] == episode_action(episode, row, i));
    for (int k = 0; k < EPISODE_K; k++) {
        assert_true(batch->rewards[at * EPISODE_K + k] == episode_reward(episode, row, k));
        assert_true(batch->completion[at * EPISODE_K + k] == episode_completion(episode, row, k));
    }
    assert_int_equal(batch->flags[at], episode_flags(row, last));
}

// A row of the store as one piece of memory.
typedef struct whole_row {
    uint8_t image[WK_IMAGE_BYTES];
    float numbers[EPISODE_A + 2 * EPISODE_K], vector[EPISODE_V];
    uint8_t flags;
} whole_row;

static void read_row(wk_replay *replay, size_t i, uint32_t row, whole_row *out)
{
    memset(out, 0, sizeof *out);
    wk_replay_batch batch = {.images = out->image,
                             .actions = out->numbers,
                             .rewards = out->numbers + EPISODE_A,
                             .completion = out->numbers + EPISODE_A + EPISODE_K,
                             .vectors = out->vector,
                             .flags = &out->flags};
    wk_replay_read(replay, i, row, 1, &batch);
}

void assert_same_content(wk_replay *a, wk_replay *b)
{
    assert_int_equal(wk_replay_count(a), wk_replay_count(b));
    for (size_t i = 0; i < wk_replay_count(a); i++) {
        wk_replay_episode x = wk_replay_at(a, i), y = wk_replay_at(b, i);
        assert_int_equal(x.id, y.id);
        assert_int_equal(x.rows, y.rows);
        assert_int_equal(x.slot, y.slot);
        assert_int_equal(x.theta_index, y.theta_index);
        assert_memory_equal(x.theta, y.theta, EPISODE_P * sizeof(double));
        for (uint32_t row = 0; row < x.rows; row++) {
            whole_row one, other;
            read_row(a, i, row, &one);
            read_row(b, i, row, &other);
            assert_memory_equal(&one, &other, sizeof one);
        }
    }
}

wk_replay *script_store_of(uint64_t capacity, wk_observation_spec observation)
{
    wk_replay_config config = episode_config(capacity, SCRIPT_SLOTS);
    config.observation = observation;
    return episode_store(config);
}

wk_replay *script_store(uint64_t capacity)
{
    return script_store_of(capacity, (wk_observation_spec){0});
}

static bool running_episode(const wk_replay *replay, int slot, wk_replay_episode *out)
{
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        *out = wk_replay_at(replay, i);
        if (out->slot == slot) return true;
    }
    return false;
}

// The slot's episode has 1 to 45 rows, some of them whole blocks, and every eighth is ended by
// hand.
wk_status script_run_slot(wk_replay *replay, int slot, wk_error *err)
{
    wk_replay_episode episode;
    if (!running_episode(replay, slot, &episode)) {
        uint64_t id = wk_replay_count(replay) + wk_replay_get_stats(replay).evicted;
        return episode_begin(replay, slot, id, err);
    }
    uint32_t length = episode.id % 5 == 0 ? 32 : 1 + (uint32_t)(episode.id * 17 % 45);
    bool by_hand = episode.id % 8 == 7;
    if (by_hand && episode.rows == length) return wk_replay_end(replay, slot, err);
    bool last = !by_hand && episode.rows + 1 == length;
    return episode_row(replay, slot, episode.id, episode.rows, last, err);
}

static wk_status script_step(wk_replay *replay, wk_error *err)
{
    for (int slot = 0; slot < SCRIPT_SLOTS; slot++)
        WK_TRY(script_run_slot(replay, slot, err));
    return WK_OK;
}

wk_status script_run(wk_replay *replay, int steps, wk_error *err)
{
    for (int i = 0; i < steps; i++)
        WK_TRY(script_step(replay, err));
    return WK_OK;
}

uint32_t script_fingerprint(wk_replay *replay)
{
    static uint8_t image[WK_IMAGE_BYTES];
    uint32_t sum = 0;
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode episode = wk_replay_at(replay, i);
        sum = wk_crc32c(sum, &episode.id, sizeof episode.id);
        sum = wk_crc32c(sum, &episode.rows, sizeof episode.rows);
        sum = wk_crc32c(sum, &episode.slot, sizeof episode.slot);
        sum = wk_crc32c(sum, &episode.theta_index, sizeof episode.theta_index);
        sum = wk_crc32c(sum, episode.theta, EPISODE_P * sizeof(double));
        for (uint32_t row = 0; row < episode.rows; row++) {
            float numbers[EPISODE_A + 2 * EPISODE_K];
            uint8_t flags;
            wk_replay_batch out = {.images = image,
                                   .actions = numbers,
                                   .rewards = numbers + EPISODE_A,
                                   .completion = numbers + EPISODE_A + EPISODE_K,
                                   .flags = &flags};
            wk_replay_read(replay, i, row, 1, &out);
            sum = wk_crc32c(sum, image, sizeof image);
            sum = wk_crc32c(sum, numbers, sizeof numbers);
            sum = wk_crc32c(sum, &flags, 1);
        }
    }
    wk_error err = {0};
    uint64_t ids[8] = {0};
    wk_replay_batch labels = {.episodes = ids};
    if (wk_replay_sampleable(replay, 10) > 0)
        assert_ok(wk_replay_sample(replay, 5, 6, 8, 10, &labels, &err));
    return wk_crc32c(sum, ids, sizeof ids);
}
