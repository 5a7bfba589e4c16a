// Hand-made log files with right checksums around any content, to reach the checks behind them.
#ifndef WK_TESTS_REPLAY_LOG_CRAFT_H
#define WK_TESTS_REPLAY_LOG_CRAFT_H

#include "replay/log_format.h"

enum { CRAFT_BYTES = 1 << 20 };

/// The shape of the rows: one action, one task, one parameter.
extern const wk_row_shape craft_shape;

/// A segment file under construction.
typedef struct craft {
    unsigned char bytes[CRAFT_BYTES];
    size_t size;
    uint64_t sequence;
    uint32_t running_crc;
} craft;

/// Begins a segment that is the first of its run.
void craft_start(craft *log);

/// Appends a record; sequence number and checksum are filled in. False when there is no room.
bool craft_record(craft *log, wk_record record, const void *payload);

/// The beginning of an episode in a slot.
bool craft_begin(craft *log, uint64_t episode, uint32_t slot, double theta);

/// A right block of `count` black frames with these flags in all rows but the first of an episode,
/// which has WK_IS_FIRST besides; returns its size.
size_t craft_block(uint32_t first, uint32_t count, uint8_t flags, float reward, void *block);

/// Bytes that a block can have.
enum { CRAFT_BLOCK_BYTES = 1 << 18 };

#endif
