#include "replay/npz.h"
#include "base/file.h"
#include "base/observation.h"
#include "base/random.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

void wk_npz_name(const wk_replay *replay, size_t i, uint64_t seed, int64_t unix_time,
                 char name[WK_NPZ_NAME_MAX])
{
    wk_replay_episode episode = wk_replay_at(replay, i);
    wk_rng rng = wk_rng_stream(seed, "episode-uuid", episode.id);
    uint64_t high = wk_rng_u64(&rng), low = wk_rng_u64(&rng);
    high = (high & ~UINT64_C(0xf000)) | 0x4000;               // version 4
    low = (low & ~(UINT64_C(3) << 62)) | (UINT64_C(2) << 62); // variant of RFC 4122
    time_t seconds = (time_t)unix_time;
    struct tm utc = {0};
    gmtime_r(&seconds, &utc);
    char stamp[32];
    size_t length = strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%S", &utc);
    assert(length > 0);
    uint32_t steps = episode.rows > 0 ? episode.rows - 1 : 0;
    snprintf(name, WK_NPZ_NAME_MAX, "%s-%016llx%016llx-%u.npz", stamp, (unsigned long long)high,
             (unsigned long long)low, steps);
}

// An array of the episode, with a value for every row, and the file in the archive that it becomes.
typedef struct column {
    const char *name;  // of the file: "image.npy"
    const char *type;  // as NumPy writes it: "|u1", "<f4", "|b1"
    const char *shape; // after the number of rows: "64, 64, 3"
    size_t row_bytes;
    void *data; // NULL: the domain has no such array
} column;

enum { IMAGE, VECTOR, ACTION, REWARD, COMPLETION, PARAMS, BITS, COLUMNS = BITS + 4 };

// A zip archive of deflated files, all sizes in the local headers, as numpy's and every other
// reader likes them. The time is the earliest that zip knows, 1980-01-01, so that equal content
// gives equal bytes.
#define PACKED __attribute__((packed))
typedef struct PACKED zip_file {
    uint16_t version, flags, method, time, date;
    uint32_t crc, packed, size;
    uint16_t name_length, extra_length;
} zip_file;
typedef struct PACKED zip_local {
    uint32_t magic;
    zip_file file;
} zip_local;
typedef struct PACKED zip_entry { // of the directory at the archive's end
    uint32_t magic;
    uint16_t made_by;
    zip_file file;
    uint16_t comment_length, disk, internal;
    uint32_t external, offset;
} zip_entry;
typedef struct PACKED zip_end {
    uint32_t magic, disks;
    uint16_t entries_here, entries;
    uint32_t size, offset;
    uint16_t comment_length;
} zip_end;

typedef struct archive {
    wk_file_writer *file;
    uint64_t offset;
    zip_entry entries[COLUMNS];
    const char *names[COLUMNS];
    uint16_t count;
} archive;

static wk_status append(archive *zip, const void *data, size_t size, wk_error *err)
{
    zip->offset += size;
    return wk_file_writer_append(zip->file, data, size, err);
}

// The header of a .npy file: magic, version 1.0, length, a Python dictionary padded with spaces to
// a multiple of 64 bytes.
static size_t npy_header(const column *array, uint32_t rows, char header[256])
{
    enum { ALIGN = 64, PREFIX = 10 };
    static const unsigned char magic[8] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    int length = snprintf(header + PREFIX, 256 - PREFIX,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%u,%s%s), }",
                          array->type, rows, *array->shape ? " " : "", array->shape);
    size_t total = ((size_t)PREFIX + (size_t)length + 1 + ALIGN - 1) / ALIGN * ALIGN;
    assert(length > 0 && total <= 256);
    memset(header + PREFIX + length, ' ', total - PREFIX - (size_t)length - 1);
    header[total - 1] = '\n';
    memcpy(header, magic, sizeof magic);
    header[8] = (char)((total - PREFIX) & 0xff);
    header[9] = (char)((total - PREFIX) >> 8);
    return total;
}

// Deflates the array, after its header, and adds it. `memory` holds what is deflated.
static wk_status add_file(archive *zip, const column *array, uint32_t rows, wk_arena *memory,
                          wk_error *err)
{
    enum { RAW = -15, LEVEL = 6, MEMORY = 8, VERSION = 20, DATE = 0x21 };
    char header[256];
    size_t head = npy_header(array, rows, header), body = rows * array->row_bytes;
    // zlib's own bound counts in its header's frame; both pieces together stay below this one.
    uint64_t size = (uint64_t)head + body, room = size + size / 1000 + 4096;
    if (zip->offset + room > 0xf0000000)
        return wk_fail(err, WK_E_UNSUPPORTED, "'%s' is too large for a zip archive of 4 GB",
                       array->name);
    unsigned char *packed = wk_arena_alloc(memory, room);
    z_stream stream = {.next_out = packed, .avail_out = (uInt)room};
    if (!packed ||
        deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return wk_fail(err, WK_E_MEMORY, "no memory to compress '%s' of %llu bytes", array->name,
                       (unsigned long long)size);
    stream.next_in = (Bytef *)header;
    stream.avail_in = (uInt)head;
    int result = deflate(&stream, Z_NO_FLUSH);
    assert(result == Z_OK && stream.avail_in == 0);
    stream.next_in = array->data;
    stream.avail_in = (uInt)body;
    result = deflate(&stream, Z_FINISH);
    assert(result == Z_STREAM_END);
    deflateEnd(&stream);

    zip_entry *entry = &zip->entries[zip->count];
    *entry = (zip_entry){.magic = 0x02014b50, .made_by = VERSION, .offset = (uint32_t)zip->offset};
    entry->file = (zip_file){
        .version = VERSION,
        .method = Z_DEFLATED,
        .date = DATE,
        .crc = (uint32_t)crc32(crc32(0, (Bytef *)header, (uInt)head), array->data, (uInt)body),
        .packed = (uint32_t)stream.total_out,
        .size = (uint32_t)size,
        .name_length = (uint16_t)strlen(array->name)};
    zip->names[zip->count++] = array->name;
    const zip_local local = {0x04034b50, entry->file};
    WK_TRY(append(zip, &local, sizeof local, err));
    WK_TRY(append(zip, array->name, entry->file.name_length, err));
    return append(zip, packed, stream.total_out, err);
}

static wk_status write_archive(archive *zip, const column *columns, uint32_t rows, wk_arena *memory,
                               wk_error *err)
{
    for (int i = 0; i < COLUMNS; i++)
        if (columns[i].data) WK_TRY(add_file(zip, &columns[i], rows, memory, err));
    zip_end end = {.magic = 0x06054b50,
                   .entries_here = zip->count,
                   .entries = zip->count,
                   .offset = (uint32_t)zip->offset};
    for (int i = 0; i < zip->count; i++) {
        WK_TRY(append(zip, &zip->entries[i], sizeof zip->entries[i], err));
        WK_TRY(append(zip, zip->names[i], zip->entries[i].file.name_length, err));
    }
    end.size = (uint32_t)zip->offset - end.offset;
    return append(zip, &end, sizeof end, err);
}

// Fills the columns with the episode; false when memory is short.
static bool read_columns(wk_replay *replay, size_t i, column columns[COLUMNS], wk_arena *memory)
{
    static const uint8_t masks[] = {WK_IS_FIRST, WK_IS_LAST, WK_IS_TERMINAL, WK_IS_DIVERGED};
    wk_replay_episode episode = wk_replay_at(replay, i);
    size_t rows = episode.rows, params = columns[PARAMS].row_bytes / sizeof(float);
    uint8_t *flags = wk_arena_alloc(memory, rows);
    for (int c = 0; c < COLUMNS; c++)
        if (c > VECTOR || columns[c].row_bytes > 0)
            columns[c].data = wk_arena_alloc(memory, rows * columns[c].row_bytes);
    if (memory->failed) return false;
    wk_replay_read(replay, i, 0, episode.rows,
                   &(wk_replay_batch){.images = columns[IMAGE].data,
                                      .vectors = columns[VECTOR].data,
                                      .actions = columns[ACTION].data,
                                      .rewards = columns[REWARD].data,
                                      .completion = columns[COMPLETION].data,
                                      .flags = flags});
    for (size_t row = 0; row < rows; row++) {
        for (size_t p = 0; p < params; p++)
            ((float *)columns[PARAMS].data)[row * params + p] = (float)episode.theta[p];
        for (int bit = 0; bit < 4; bit++)
            ((uint8_t *)columns[BITS + bit].data)[row] = (flags[row] & masks[bit]) != 0;
    }
    return true;
}

wk_status wk_npz_write(wk_replay *replay, size_t i, const char *path, wk_error *err)
{
    const wk_replay_config *config = wk_replay_settings(replay);
    uint32_t rows = wk_replay_at(replay, i).rows;
    const int sizes[] = {config->observation.vector, config->action_size, config->n_tasks,
                         config->n_params};
    char texts[4][16];
    for (int k = 0; k < 4; k++)
        snprintf(texts[k], sizeof texts[k], "%d", sizes[k]);
    size_t V = (size_t)sizes[0] * 4, A = (size_t)sizes[1] * 4, K = (size_t)sizes[2] * 4,
           P = (size_t)sizes[3] * 4;
    column columns[COLUMNS] = {
        {"image.npy", "|u1", "64, 64, 3", wk_observation_image_bytes(config->observation), NULL},
        {"vector.npy", "<f4", texts[0], V, NULL},
        {"action.npy", "<f4", texts[1], A, NULL},
        {"reward.npy", "<f4", texts[2], K, NULL},
        {"task_completion.npy", "<f4", texts[2], K, NULL},
        {"env_params.npy", "<f4", texts[3], P, NULL},
        {"is_first.npy", "|b1", "", 1, NULL},
        {"is_last.npy", "|b1", "", 1, NULL},
        {"is_terminal.npy", "|b1", "", 1, NULL},
        {"log_diverged.npy", "|b1", "", 1, NULL},
    };
    wk_arena memory = {0};
    archive zip = {0};
    wk_status status =
        read_columns(replay, i, columns, &memory)
            ? wk_file_writer_begin(path, &zip.file, err)
            : wk_fail(err, WK_E_MEMORY, "'%s': no memory for an episode of %u rows", path, rows);
    if (status == WK_OK && write_archive(&zip, columns, rows, &memory, err) != WK_OK) {
        wk_file_writer_discard(zip.file);
        status = wk_fail_context(err, "cannot write '%s'", path);
    } else if (status == WK_OK) {
        status = wk_file_writer_commit(zip.file, err);
    }
    wk_arena_reset(&memory);
    return status;
}
