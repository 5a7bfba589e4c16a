// Fuzz target: any bytes as a segment of the replay log. An input that begins with an even byte is
// the file itself; from others a file with right checksums is made, and for some a checkpoint's
// mark near its end, so that mutations reach the checks behind them. The reader must refuse or read
// it without touching memory it does not own; what it accepts must be usable. Built by
// tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "replay/log.h"
#include "replay/log_craft.h"

static craft file;

// Rows: a right block, perhaps shortened, or the input's own bytes.
static size_t make_block(const uint8_t **bytes, size_t *size, uint32_t first, uint32_t count,
                         unsigned char *block)
{
    uint8_t how = fuzz_next(bytes, size), amount = fuzz_next(bytes, size);
    if (how & 1) {
        size_t taken = amount < *size ? amount : *size;
        memcpy(block, *bytes, taken);
        *bytes += taken;
        *size -= taken;
        return taken;
    }
    uint32_t rows = count >= 1 && count <= WK_BLOCK_ROWS ? count : 1;
    size_t length = craft_block(first, rows, (uint8_t)(how & 16 ? amount : 0), 0, block);
    return how & 2 ? length - amount % length : length;
}

static void make_record(const uint8_t **bytes, size_t *size)
{
    static unsigned char block[CRAFT_BLOCK_BYTES];
    wk_record record = {.kind = fuzz_next(bytes, size) % 6, .episode = fuzz_next(bytes, size) % 8};
    if (record.kind == WK_RECORD_BEGIN) {
        craft_begin(&file, record.episode, fuzz_next(bytes, size) % 4, fuzz_next(bytes, size));
        return;
    }
    record.first = fuzz_next(bytes, size);
    record.count = fuzz_next(bytes, size) % 20;
    record.ended = fuzz_next(bytes, size) % 3;
    if (record.kind != WK_RECORD_EVICT)
        record.size = (uint32_t)make_block(bytes, size, record.first, record.count, block);
    craft_record(&file, record, block);
}

static void make_file(const uint8_t *bytes, size_t size)
{
    craft_start(&file);
    for (int i = 0; i < 40 && size > 0; i++)
        make_record(&bytes, &size);
}

// What was accepted can be read and sampled.
static void use(wk_replay *replay)
{
    static uint8_t images[128 * WK_IMAGE_BYTES];
    wk_error err = {0};
    wk_replay_batch out = {.images = images};
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        uint32_t rows = wk_replay_at(replay, i).rows;
        assert(rows <= 101);
        wk_replay_read(replay, i, 0, rows, &out);
    }
    bool any = wk_replay_sampleable(replay, 2) > 0;
    wk_status status = wk_replay_sample(replay, 1, 2, 2, 2, &out, &err);
    assert((status == WK_OK) == any);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!*fuzz_root) fuzz_enter();
    if (size == 0) return 0;
    wk_replay_mark mark = {0};
    bool marked = (bytes[0] & 3) == 3;
    if (bytes[0] & 1) {
        make_file(bytes + 1, size - 1);
        fuzz_write("log", "replay-00000000.log", file.bytes, file.size);
        // Half of the marks are right but for the rows, which the input guesses.
        mark = (wk_replay_mark){.sequence = file.sequence,
                                .segment = bytes[0] >> 7,
                                .offset = file.size - (bytes[0] & 4 ? bytes[size - 1] : 0),
                                .rows = bytes[0] >> 3 & 15,
                                .running_crc = file.running_crc};
    } else {
        fuzz_write("log", "replay-00000000.log", bytes + 1, size - 1);
    }
    wk_error err = {0};
    wk_replay *replay = NULL;
    const wk_replay_config config = {.capacity = 100,
                                     .frame_bytes = 1800,
                                     .slots = 2,
                                     .action_size = 1,
                                     .n_tasks = 1,
                                     .n_params = 1};
    if (wk_replay_create(&config, &replay, &err) != WK_OK) abort();
    if (wk_replay_log_read("log", marked ? &mark : NULL, replay, &err) == WK_OK)
        use(replay);
    else
        assert(err.message[0] != 0);
    wk_replay_destroy(replay);
    return 0;
}
