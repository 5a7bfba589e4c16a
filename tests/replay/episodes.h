// Made-up episodes for the tests of this folder: every byte and number of a row can be computed
// from (episode, row), so that what comes back can be checked without keeping what went in.
#ifndef WK_TESTS_REPLAY_EPISODES_H
#define WK_TESTS_REPLAY_EPISODES_H

#include "replay/replay.h"

enum { EPISODE_A = 3, EPISODE_K = 2, EPISODE_P = 2, EPISODE_V = 5 };

/// A small store's settings: `slots` slots, `capacity` steps.
wk_replay_config episode_config(uint64_t capacity, int slots);

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

#endif
