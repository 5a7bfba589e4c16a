// The replay buffer: whole episodes in compressed memory, and uniform sampling of sequences.
//
// Environments write into slots. A slot holds one running episode: it begins with a row that has
// WK_IS_FIRST (the reset's observation) and ends with one that has WK_IS_LAST. Whole episodes, the
// oldest finished one first, are dropped when the capacity in agent steps or the memory would be
// exceeded. What is stored depends only on the calls made, never on threads, time or addresses. One
// thread at a time may use a store; sampling spreads over the pool by itself.
#ifndef WK_REPLAY_REPLAY_H
#define WK_REPLAY_REPLAY_H

#include "base/pool.h"
#include "waker/env.h"

/// Sizes and limits, fixed at creation.
typedef struct wk_replay_config {
    uint64_t capacity;  // agent steps kept at most; an episode of n rows has n - 1
    uint64_t memory;    // bytes the store may take, counted as wk_replay_plan does; 0: its result
    size_t frame_bytes; // expected bytes of a compressed frame, for the plan
    int slots;          // episodes that grow at the same time
    int action_size, n_tasks, n_params;
    wk_observation_spec observation;
    bool complete; // batches are drawn from finished episodes alone
    wk_pool *pool; // borrowed; NULL samples on the calling thread
} wk_replay_config;

/// Bytes that a full store takes when frames compress as expected, without the 650 KiB that each
/// thread of the pool needs to pack and unpack.
uint64_t wk_replay_plan(const wk_replay_config *config);

typedef struct wk_replay wk_replay;

/// Refuses, with advice, a plan over `memory`. The memory is reserved at once and touched as it
/// fills.
wk_status wk_replay_create(const wk_replay_config *config, wk_replay **out, wk_error *err);
/// NULL is allowed.
void wk_replay_destroy(wk_replay *replay);
const wk_replay_config *wk_replay_settings(const wk_replay *replay);

/// From this theta_index downwards an episode is held out: stored and never sampled.
enum { WK_REPLAY_HELD_OUT = -2 };

/// One observation with what led to it.
typedef struct wk_replay_row {
    int slot;
    const uint8_t *image;    // [64,64,3]; NULL where there are none
    const float *vector;     // [V]; NULL where there are no vectors. Without either there is no
                             // row: the slot's episode ends with the one before
    const float *action;     // [A], the action that led here; NULL: zeros, as the first row must be
    const float *rewards;    // [K], received on arriving
    const float *completion; // [K]; NULL: zeros
    uint8_t flags;           // WK_IS_* bits; WK_IS_FIRST on the first row and on no other
    // Of the first row: θ [P] of the episode and its index in its wk_space, or -1. At most
    // WK_REPLAY_HELD_OUT: the episode is held out.
    const double *theta;
    int64_t theta_index;
} wk_replay_row;

/// Adds rows in their order, at most one for each slot: what a vector of environments shows after a
/// step. The blocks they fill are packed on all threads of the pool. After a failure the rows
/// before the one at fault are stored and nothing of it is: the call may be made again from there.
wk_status wk_replay_append(wk_replay *replay, const wk_replay_row *rows, size_t count,
                           wk_error *err);
/// Whether the slot has a running episode.
bool wk_replay_running(const wk_replay *replay, int slot);

/// An episode; valid until the next change of the store.
typedef struct wk_replay_episode {
    uint64_t id;         // counts from 0 in the order in which they begin
    int slot;            // where it runs; -1 when finished
    uint32_t rows;       // steps + 1
    int64_t theta_index; // of θ in its wk_space, or -1
    const double *theta; // [P]
} wk_replay_episode;

/// Number of episodes in the store, running ones included, and the i-th in the order of their ids.
size_t wk_replay_count(const wk_replay *replay);
wk_replay_episode wk_replay_at(const wk_replay *replay, size_t i);

/// Removes episode number i, running or not, from a store that has no log: to look at a part of it.
void wk_replay_remove(wk_replay *replay, size_t i);

/// Where sampling writes: time-major arrays of T steps of B sequences. NULL arrays are left out.
typedef struct wk_replay_batch {
    uint8_t *images;        // [T,B,64,64,3]
    float *vectors;         // [T,B,V]
    float *actions;         // [T,B,A], the action that led to the image
    float *rewards;         // [T,B,K]
    float *completion;      // [T,B,K]
    uint8_t *flags;         // [T,B], WK_IS_* bits as stored
    uint8_t *first;         // [T,B], 1 at t = 0, else 0: where the recurrent state starts from zero
    uint64_t *episodes;     // [B], id of the episode
    uint32_t *starts;       // [B], row of the episode at t = 0
    int64_t *theta_indices; // [B], of θ in its wk_space, or -1
    double *theta;          // [B,P]
} wk_replay_batch;

/// Draws B sequences of T consecutive rows: for each an episode, uniformly among those with at
/// least T rows (running ones too, unless `complete` was set; shorter ones are never chosen), then
/// its start, uniformly. The result is a pure function of the store's content, seed and counter.
wk_status wk_replay_sample(wk_replay *replay, uint64_t seed, uint64_t counter, int B, int T,
                           const wk_replay_batch *out, wk_error *err);

/// Episodes that sequences of T rows can be drawn from.
size_t wk_replay_sampleable(const wk_replay *replay, int T);

/// Copies `count` rows of episode number i from row `start` on, as a batch with B = 1.
void wk_replay_read(wk_replay *replay, size_t i, uint32_t start, uint32_t count,
                    const wk_replay_batch *out);

/// Rows start ... start + count - 1 of episode number `episode`, and where their images go.
typedef struct wk_replay_range {
    size_t episode;
    uint32_t start, count;
    uint8_t *images; // [count,64,64,3]
} wk_replay_range;
/// Copies the images of several ranges, spread over the pool.
void wk_replay_read_images(wk_replay *replay, const wk_replay_range *ranges, size_t count);

/// Called for every row that was added, and for every episode that leaves the store.
typedef struct wk_replay_watcher {
    void *context;
    void (*added)(void *context, uint64_t episode, uint32_t row, const uint8_t *image);
    void (*dropped)(void *context, uint64_t episode);
} wk_replay_watcher;
/// Sets the watcher (borrowed; NULL: none) of later changes.
void wk_replay_watch(wk_replay *replay, const wk_replay_watcher *watcher);

/// Exact current numbers.
typedef struct wk_replay_stats {
    uint64_t episodes, running; // in the store; running is part of episodes
    uint64_t steps, rows;       // of all of them
    uint64_t bytes_reserved;    // memory the store holds now, tables included
    uint64_t bytes_used;        // of it, what the stored blocks and their tables take
    uint64_t bytes_limit;       // what bytes_reserved never exceeds
    uint64_t packed_rows;   // rows in compressed blocks (the newest of running ones are not yet)
    uint64_t frame_bytes;   // their frames, compressed
    uint64_t evicted;       // episodes dropped since creation
    uint64_t evicted_early; // of them, for want of memory and not of capacity
} wk_replay_stats;

wk_replay_stats wk_replay_get_stats(const wk_replay *replay);

#endif
