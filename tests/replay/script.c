#include "replay/script.h"
#include "base/hash.h"
#include "replay/episodes.h"
#include "replay/store.h"
#include "support/check.h"

wk_replay *script_store_of(uint64_t capacity, wk_observation_spec observation)
{
    wk_error err = {0};
    wk_replay *replay = NULL;
    wk_replay_config config = episode_config(capacity, SCRIPT_SLOTS);
    config.observation = observation;
    assert_ok(wk_replay_create(&config, &replay, &err));
    return replay;
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
