#include "replay/log_craft.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

const wk_row_shape craft_shape = {.action_size = 1, .n_tasks = 1, .n_params = 1};

void craft_start(craft *log)
{
    wk_segment_header header = {.shape = craft_shape};
    wk_segment_header_encode(&header, log->bytes);
    log->size = WK_SEGMENT_HEADER;
    log->sequence = 0;
    log->running_crc = 0;
}

bool craft_record(craft *log, wk_record record, const void *payload)
{
    size_t size = sizeof record + record.size;
    if (size > sizeof log->bytes - log->size) return false;
    record.sequence = log->sequence++;
    log->running_crc = record.running_crc = wk_record_crc(log->running_crc, &record, payload);
    memcpy(log->bytes + log->size, &record, sizeof record);
    if (record.size > 0) memcpy(log->bytes + log->size + sizeof record, payload, record.size);
    log->size += size;
    return true;
}

bool craft_begin(craft *log, uint64_t episode, uint32_t slot, double theta)
{
    wk_begin_payload payload = {.slot = slot, .theta = {theta}};
    wk_record record = {.size = (uint32_t)wk_begin_payload_bytes(&craft_shape),
                        .kind = WK_RECORD_BEGIN,
                        .episode = episode};
    return craft_record(log, record, &payload);
}

// Black frames, packed once for each number of rows.
typedef struct packed_frames {
    unsigned char *bytes;
    size_t size;
} packed_frames;

static packed_frames black_frames(uint32_t count)
{
    static packed_frames made[WK_BLOCK_ROWS + 1];
    static const wk_row_shape no_numbers = {0};
    packed_frames *frames = &made[count];
    if (frames->bytes) return *frames;
    void *memory = calloc(1, wk_rows_bytes(&no_numbers)),
         *scratch = malloc(wk_block_scratch_bytes());
    frames->bytes = malloc(wk_block_bytes_max(&no_numbers));
    assert(memory && scratch && frames->bytes);
    wk_block_rows rows = wk_rows_place(&no_numbers, memory);
    frames->size = wk_block_pack(&no_numbers, &rows, count, scratch, frames->bytes);
    free(memory);
    free(scratch);
    return *frames;
}

size_t craft_block(uint32_t first, uint32_t count, uint8_t flags, float reward, void *block)
{
    // Without numbers a block is its flags and its frames.
    packed_frames frames = black_frames(count);
    size_t floats = count * sizeof(float), size = wk_row_numbers_bytes(&craft_shape, count);
    unsigned char *bytes = block;
    memset(bytes, 0, size);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(bytes + floats + i * sizeof reward, &reward, sizeof reward);
        bytes[3 * floats + i] = (uint8_t)(flags | (first + i == 0 ? WK_IS_FIRST : 0));
    }
    memcpy(bytes + size, frames.bytes + count, frames.size - count);
    return size + frames.size - count;
}
