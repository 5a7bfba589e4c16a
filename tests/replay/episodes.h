// Made-up episodes for the tests of this folder: every byte and number of a row can be computed
// from (episode, row), so that what comes back can be checked without keeping what went in.
#ifndef WK_TESTS_REPLAY_EPISODES_H
#define WK_TESTS_REPLAY_EPISODES_H

#include "replay/log.h"

enum { EPISODE_A = 3, EPISODE_K = 2, EPISODE_P = 2, EPISODE_V = 5 };

/// A small store's settings: `slots` slots, `capacity` steps.
wk_replay_config episode_config(uint64_t capacity, int slots);
/// A store of such or other settings.
wk_replay *episode_store(wk_replay_config config);

/// The image of a row: a bar that moves over a background of the episode's own colour; `noise`
/// makes it incompressible.
void episode_image(uint64_t episode, uint32_t row, bool noise, uint8_t *image);

/// The numbers of a row; those of the vector, where the store has one, reach the ends of the range.
float episode_vector(uint64_t episode, uint32_t row, int i);
float episode_action(uint64_t episode, uint32_t row, int i);
float episode_reward(uint64_t episode, uint32_t row, int k);
float episode_completion(uint64_t episode, uint32_t row, int k);
double episode_theta(uint64_t episode, int i);
uint8_t episode_flags(uint32_t row, bool last);

/// Begins an episode in a slot and appends its next row; `last` ends it.
wk_status episode_begin(wk_replay *replay, int slot, uint64_t episode, wk_error *err);
wk_status episode_row(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last,
                      wk_error *err);
wk_status episode_noise_row(wk_replay *replay, int slot, uint64_t episode, uint32_t row, bool last,
                            wk_error *err);

/// Writes a whole episode of `rows` rows.
wk_status episode_write(wk_replay *replay, int slot, uint64_t episode, uint32_t rows,
                        wk_error *err);

/// Fails the test unless row `row` at index `at` of the batch is that of the episode.
void assert_episode_row(const wk_replay_batch *batch, size_t at, uint64_t episode, uint32_t row,
                        bool last);

/// Fails the test unless both stores hold the same episodes with the same content.
void assert_same_content(wk_replay *a, wk_replay *b);

// The script: a made-up run. Steps of three environments whose episodes end at odd times, so that
// any moment has finished, running and just begun episodes, full and partial blocks, and evictions.
enum { SCRIPT_SLOTS = 3 };

/// A store for the script that holds `capacity` steps.
wk_replay *script_store(uint64_t capacity);
wk_replay *script_store_of(uint64_t capacity, wk_observation_spec observation);

/// Makes `steps` more steps, each one row, beginning or end in every slot; what is done depends on
/// the store's content only. Stops at the first failure.
wk_status script_run(wk_replay *replay, int steps, wk_error *err);

/// The same in one slot.
wk_status script_run_slot(wk_replay *replay, int slot, wk_error *err);

/// A number that stands for the whole content of a store and for a batch sampled from it.
uint32_t script_fingerprint(wk_replay *replay);

#endif
