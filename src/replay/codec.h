// Blocks of consecutive rows of one episode as bytes: the numbers as they are, then the frames
// compressed without loss by LZ4. LZ4's window of 64 KiB sees the five frames before, so what
// stands still or scrolls becomes a few long copies; no filter does better (docs/reliability.md).
// A block is decoded from its beginning, so random access costs half a block on average.
#ifndef WK_REPLAY_CODEC_H
#define WK_REPLAY_CODEC_H

#include "waker/env.h"

enum { WK_BLOCK_ROWS = 16 };

/// The sizes all rows of a store share.
typedef struct wk_row_shape {
    int action_size, n_tasks, n_params;
    wk_observation_spec observation;
} wk_row_shape;

bool wk_row_shape_equals(const wk_row_shape *a, const wk_row_shape *b);

/// Rows of one block, unpacked; each array has WK_BLOCK_ROWS rows.
typedef struct wk_block_rows {
    uint8_t *images;   // [rows,64,64,3], or nothing without images
    float *actions;    // [rows,A]
    float *rewards;    // [rows,K]
    float *completion; // [rows,K]
    float *vectors;    // [rows,V]
    uint8_t *flags;    // [rows]
} wk_block_rows;

/// Where the numbers of a packed block lie; they are 4-byte aligned when the block is.
typedef struct wk_block_view {
    const float *actions, *rewards, *completion; // [rows,A], [rows,K], [rows,K]
    const float *vectors;                        // [rows,V]
    const uint8_t *flags;                        // [rows]
    const char *frames;                          // compressed; none without images
    int frames_size;
} wk_block_view;

/// Bytes of one unpacked block, and the arrays in memory of that size.
size_t wk_rows_bytes(const wk_row_shape *shape);
wk_block_rows wk_rows_place(const wk_row_shape *shape, void *memory);

/// Bytes of the numbers of `rows` rows.
size_t wk_row_numbers_bytes(const wk_row_shape *shape, size_t rows);

/// Maximum bytes of a packed block.
size_t wk_block_bytes_max(const wk_row_shape *shape);

/// Bytes of scratch memory wk_block_pack needs, 8-byte aligned.
size_t wk_block_scratch_bytes(void);

/// Packs `count` rows into `block` (wk_block_bytes_max bytes); returns the bytes used.
size_t wk_block_pack(const wk_row_shape *shape, const wk_block_rows *rows, size_t count,
                     void *scratch, void *block);

/// Splits a packed block of `count` rows; false when it is too short to be one.
bool wk_block_split(const wk_row_shape *shape, const void *block, size_t size, size_t count,
                    wk_block_view *view);

/// The rows from row `first` on, without their frames.
wk_block_view wk_block_rows_view(const wk_row_shape *shape, const wk_block_rows *rows,
                                 size_t first);

/// Unpacks the first `wanted` of `count` frames; false when the bytes are not a block.
bool wk_block_frames(const wk_row_shape *shape, const wk_block_view *view, size_t count,
                     size_t wanted, uint8_t *images);

#endif
