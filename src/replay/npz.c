#include "replay/npz.h"
#include "base/file.h"
#include "base/observation.h"
#include "base/random.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
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

// A file in the archive, for the directory at its end.
typedef struct member {
    char name[64];
    uint32_t crc, packed, size, offset;
} member;

// A zip archive of deflated files, all sizes in the local headers, as numpy's and every other
// reader likes them.
typedef struct archive {
    wk_file_writer *file;
    uint64_t offset;
    member members[16];
    size_t count;
} archive;

// Bytes of a header under construction.
typedef struct zip_header {
    unsigned char data[256];
    size_t size;
} zip_header;

static void put16(zip_header *to, uint32_t value)
{
    to->data[to->size++] = (unsigned char)value;
    to->data[to->size++] = (unsigned char)(value >> 8);
}

static void put32(zip_header *to, uint32_t value)
{
    put16(to, value & 0xffff);
    put16(to, value >> 16);
}

static void put_name(zip_header *to, const char *name)
{
    size_t length = strlen(name);
    memcpy(to->data + to->size, name, length);
    to->size += length;
}

// The fields that a file's own header and its entry in the directory share. The time is the
// earliest that zip knows, 1980-01-01, so that equal content gives equal bytes.
static void put_common(zip_header *to, const member *file)
{
    enum { VERSION = 20, DEFLATED = 8, DATE = 0x21 };
    put16(to, VERSION);
    put16(to, 0);
    put16(to, DEFLATED);
    put16(to, 0);
    put16(to, DATE);
    put32(to, file->crc);
    put32(to, file->packed);
    put32(to, file->size);
    put16(to, (uint32_t)strlen(file->name));
    put16(to, 0);
}

static wk_status append(archive *zip, const void *data, size_t size, wk_error *err)
{
    WK_TRY(wk_file_writer_append(zip->file, data, size, err));
    zip->offset += size;
    return WK_OK;
}

// Deflates two pieces as one stream; returns its size, or 0 when zlib has no memory.
static size_t deflate_pieces(const void *head, size_t head_size, const void *body, size_t body_size,
                             unsigned char *packed, size_t room)
{
    enum { RAW = -15, MEMORY = 8, LEVEL = 6 };
    z_stream stream = {0};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) return 0;
    stream.next_out = packed;
    stream.avail_out = (uInt)room;
    stream.next_in = (Bytef *)head;
    stream.avail_in = (uInt)head_size;
    int result = deflate(&stream, Z_NO_FLUSH);
    assert(result == Z_OK && stream.avail_in == 0);
    stream.next_in = (Bytef *)body;
    stream.avail_in = (uInt)body_size;
    result = deflate(&stream, Z_FINISH);
    assert(result == Z_STREAM_END);
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

// Adds a file whose content is `head` followed by `body`.
static wk_status add_file(archive *zip, const char *name, const void *head, size_t head_size,
                          const void *body, size_t body_size, wk_error *err)
{
    // zlib's own bound counts in its header's frame; both pieces together stay below this one.
    const uint64_t max = 0xf0000000;
    uint64_t size = (uint64_t)head_size + body_size, room = size + size / 1000 + 4096;
    if (zip->offset + room > max)
        return wk_fail(err, WK_E_UNSUPPORTED, "'%s' is too large for a zip archive of 4 GB", name);
    unsigned char *packed = malloc(room);
    size_t packed_size =
        packed ? deflate_pieces(head, head_size, body, body_size, packed, room) : 0;
    if (packed_size == 0) {
        free(packed);
        return wk_fail(err, WK_E_MEMORY, "no memory to compress '%s' of %llu bytes", name,
                       (unsigned long long)size);
    }
    assert(zip->count < sizeof zip->members / sizeof *zip->members);
    member *file = &zip->members[zip->count++];
    snprintf(file->name, sizeof file->name, "%s", name);
    file->crc = (uint32_t)crc32(crc32(0, head, (uInt)head_size), body, (uInt)body_size);
    file->packed = (uint32_t)packed_size;
    file->size = (uint32_t)size;
    file->offset = (uint32_t)zip->offset;
    zip_header header = {.size = 0};
    put32(&header, 0x04034b50);
    put_common(&header, file);
    put_name(&header, file->name);
    wk_status status = append(zip, header.data, header.size, err);
    if (status == WK_OK) status = append(zip, packed, packed_size, err);
    free(packed);
    return status;
}

static wk_status write_directory(archive *zip, wk_error *err)
{
    uint32_t start = (uint32_t)zip->offset, count = (uint32_t)zip->count;
    for (size_t i = 0; i < zip->count; i++) {
        const member *file = &zip->members[i];
        zip_header entry = {.size = 0};
        put32(&entry, 0x02014b50);
        put16(&entry, 20);
        put_common(&entry, file);
        put16(&entry, 0); // no comment, first disk, nothing known of attributes
        put16(&entry, 0);
        put16(&entry, 0);
        put32(&entry, 0);
        put32(&entry, file->offset);
        put_name(&entry, file->name);
        WK_TRY(append(zip, entry.data, entry.size, err));
    }
    zip_header end = {.size = 0};
    put32(&end, 0x06054b50);
    put32(&end, 0);
    put16(&end, count);
    put16(&end, count);
    put32(&end, (uint32_t)(zip->offset - start));
    put32(&end, start);
    put16(&end, 0);
    return append(zip, end.data, end.size, err);
}

// An array on its way into the archive.
typedef struct column {
    const char *name;
    const char *type;  // as NumPy writes it: "|u1", "<f4", "|b1"
    const char *shape; // after the number of rows: "64, 64, 3"
    const void *data;
    size_t row_bytes;
} column;

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

// An episode with every array in one piece of memory.
typedef struct columns {
    wk_replay_batch rows;
    float *params;
    uint8_t *bits[4]; // is_first, is_last, is_terminal, log_diverged
    void *memory;
} columns;

static bool allocate(columns *all, const wk_replay_config *config, size_t rows)
{
    size_t A = (size_t)config->action_size, K = (size_t)config->n_tasks;
    size_t P = (size_t)config->n_params;
    size_t V = (size_t)config->observation.vector;
    size_t pixels = wk_observation_image_bytes(config->observation);
    size_t floats = rows * (A + 2 * K + P + V), bytes = rows * (pixels + 5);
    float *memory = malloc(floats * sizeof(float) + bytes);
    if (!memory) return false;
    all->memory = memory;
    all->rows.actions = memory;
    all->rows.rewards = all->rows.actions + rows * A;
    all->rows.completion = all->rows.rewards + rows * K;
    all->params = all->rows.completion + rows * K;
    float *vectors = all->params + rows * P;
    uint8_t *images = (uint8_t *)(vectors + rows * V);
    if (V > 0) all->rows.vectors = vectors;
    if (pixels > 0) all->rows.images = images;
    all->rows.flags = images + rows * pixels;
    for (int bit = 0; bit < 4; bit++)
        all->bits[bit] = all->rows.flags + (size_t)(bit + 1) * rows;
    return true;
}

static void fill(columns *all, wk_replay *replay, size_t i, const wk_replay_episode *episode)
{
    static const uint8_t masks[4] = {WK_IS_FIRST, WK_IS_LAST, WK_IS_TERMINAL, WK_IS_DIVERGED};
    int P = wk_replay_settings(replay)->n_params;
    wk_replay_read(replay, i, 0, episode->rows, &all->rows);
    for (uint32_t row = 0; row < episode->rows; row++) {
        for (int p = 0; p < P; p++)
            all->params[row * (size_t)P + (size_t)p] = (float)episode->theta[p];
        for (int bit = 0; bit < 4; bit++)
            all->bits[bit][row] = (all->rows.flags[row] & masks[bit]) != 0;
    }
}

static wk_status add_arrays(archive *zip, const columns *all, const wk_replay_config *config,
                            uint32_t rows, wk_error *err)
{
    char A[16], K[16], P[16], V[16];
    snprintf(A, sizeof A, "%d", config->action_size);
    snprintf(K, sizeof K, "%d", config->n_tasks);
    snprintf(P, sizeof P, "%d", config->n_params);
    snprintf(V, sizeof V, "%d", config->observation.vector);
    size_t a = (size_t)config->action_size * 4, k = (size_t)config->n_tasks * 4;
    size_t p = (size_t)config->n_params * 4, v = (size_t)config->observation.vector * 4;
    const column arrays[] = {
        {"image", "|u1", "64, 64, 3", all->rows.images, WK_IMAGE_BYTES},
        {"vector", "<f4", V, all->rows.vectors, v},
        {"action", "<f4", A, all->rows.actions, a},
        {"reward", "<f4", K, all->rows.rewards, k},
        {"task_completion", "<f4", K, all->rows.completion, k},
        {"env_params", "<f4", P, all->params, p},
        {"is_first", "|b1", "", all->bits[0], 1},
        {"is_last", "|b1", "", all->bits[1], 1},
        {"is_terminal", "|b1", "", all->bits[2], 1},
        {"log_diverged", "|b1", "", all->bits[3], 1},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].data) {
            char header[256], name[48];
            size_t size = npy_header(&arrays[i], rows, header);
            snprintf(name, sizeof name, "%s.npy", arrays[i].name);
            WK_TRY(
                add_file(zip, name, header, size, arrays[i].data, rows * arrays[i].row_bytes, err));
        }
    return write_directory(zip, err);
}

wk_status wk_npz_write(wk_replay *replay, size_t i, const char *path, wk_error *err)
{
    const wk_replay_config *config = wk_replay_settings(replay);
    wk_replay_episode episode = wk_replay_at(replay, i);
    columns all = {.memory = NULL};
    if (!allocate(&all, config, episode.rows))
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory for an episode of %u rows", path,
                       episode.rows);
    fill(&all, replay, i, &episode);
    archive zip = {0};
    wk_status status = wk_file_writer_begin(path, &zip.file, err);
    if (status == WK_OK && add_arrays(&zip, &all, config, episode.rows, err) != WK_OK) {
        wk_file_writer_discard(zip.file);
        status = wk_fail_context(err, "cannot write '%s'", path);
    } else if (status == WK_OK) {
        status = wk_file_writer_commit(zip.file, err);
    }
    free(all.memory);
    return status;
}
