#include "replay/log_format.h"
#include "base/hash.h"
#include "base/observation.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "rows are logged as they lie in memory, which must be little-endian");

static const char magic[8] = "WKREPLAY";
// Rows of images without a vector are written as they always were.
enum { VERSION_IMAGES = 1, VERSION_VECTORS = 2, RECORD_CHECKED = 36, SEGMENT_CHECKED = 60 };

// Writes or reads fields one after the other.
typedef struct cursor {
    unsigned char *at;
} cursor;

static void put(cursor *to, const void *field, size_t size)
{
    memcpy(to->at, field, size);
    to->at += size;
}

static void put_u32(cursor *to, uint32_t value)
{
    put(to, &value, sizeof value);
}

static void put_u64(cursor *to, uint64_t value)
{
    put(to, &value, sizeof value);
}

static uint32_t get_u32(const unsigned char *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t get_u64(const unsigned char *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

void wk_segment_header_encode(const wk_segment_header *header, unsigned char *bytes)
{
    cursor to = {bytes};
    wk_observation_spec observation = header->shape.observation;
    bool plain = observation.vector == 0 && !observation.no_image;
    put(&to, magic, sizeof magic);
    put_u32(&to, plain ? VERSION_IMAGES : VERSION_VECTORS);
    put_u32(&to, (uint32_t)wk_observation_image_bytes(observation));
    put_u32(&to, (uint32_t)header->shape.action_size);
    put_u32(&to, (uint32_t)header->shape.n_tasks);
    put_u32(&to, (uint32_t)header->shape.n_params);
    put_u64(&to, header->number);
    put_u64(&to, header->sequence);
    put_u64(&to, header->next_episode);
    put_u32(&to, header->running_crc);
    put_u32(&to, (uint32_t)observation.vector);
    put_u32(&to, wk_crc32c(0, bytes, SEGMENT_CHECKED));
}

const char *wk_segment_header_decode(const unsigned char *bytes, wk_segment_header *header)
{
    if (memcmp(bytes, magic, sizeof magic) != 0) return "it does not begin like one";
    if (get_u32(bytes + SEGMENT_CHECKED) != wk_crc32c(0, bytes, SEGMENT_CHECKED))
        return "the checksum of its header does not match";
    uint32_t version = get_u32(bytes + 8), frame = get_u32(bytes + 12);
    if (version != VERSION_IMAGES && version != VERSION_VECTORS) return "it is of another version";
    if (frame != WK_IMAGE_BYTES && (frame != 0 || version == VERSION_IMAGES))
        return "its frames have another size";
    uint32_t A = get_u32(bytes + 16), K = get_u32(bytes + 20), P = get_u32(bytes + 24);
    uint32_t V = version == VERSION_VECTORS ? get_u32(bytes + 56) : 0;
    if (A > WK_ACTION_MAX || K > WK_TASKS_MAX || P > WK_PARAMS_MAX || V > WK_VECTOR_MAX ||
        (V == 0 && version == VERSION_VECTORS))
        return "its rows have impossible sizes";
    *header = (wk_segment_header){.shape = {(int)A, (int)K, (int)P, {(int)V, frame == 0}},
                                  .number = get_u64(bytes + 28),
                                  .sequence = get_u64(bytes + 36),
                                  .next_episode = get_u64(bytes + 44),
                                  .running_crc = get_u32(bytes + 52)};
    return NULL;
}

uint32_t wk_record_crc(uint32_t running_crc, const unsigned char *header, const void *payload,
                       size_t size)
{
    return wk_crc32c(wk_crc32c(running_crc, header, RECORD_CHECKED), payload, size);
}

void wk_record_encode(wk_record *record, uint32_t running_crc, const void *payload,
                      unsigned char *bytes)
{
    cursor to = {bytes};
    put_u32(&to, record->size);
    put_u32(&to, record->kind);
    put_u64(&to, record->sequence);
    put_u64(&to, record->episode);
    put_u32(&to, record->first);
    put_u32(&to, record->count);
    put_u32(&to, record->ended);
    record->running_crc = wk_record_crc(running_crc, bytes, payload, record->size);
    put_u32(&to, record->running_crc);
}

void wk_record_decode(const unsigned char *bytes, wk_record *record)
{
    *record = (wk_record){.size = get_u32(bytes),
                          .kind = get_u32(bytes + 4),
                          .sequence = get_u64(bytes + 8),
                          .episode = get_u64(bytes + 16),
                          .first = get_u32(bytes + 24),
                          .count = get_u32(bytes + 28),
                          .ended = get_u32(bytes + 32),
                          .running_crc = get_u32(bytes + 36)};
}

size_t wk_begin_payload_bytes(const wk_row_shape *shape)
{
    return 16 + (size_t)shape->n_params * sizeof(double);
}

void wk_begin_payload_encode(const wk_row_shape *shape, const wk_begin_payload *payload,
                             unsigned char *bytes)
{
    cursor to = {bytes};
    put_u32(&to, payload->slot);
    put_u32(&to, 0);
    put(&to, &payload->theta_index, sizeof payload->theta_index);
    put(&to, payload->theta, (size_t)shape->n_params * sizeof(double));
}

void wk_begin_payload_decode(const wk_row_shape *shape, const unsigned char *bytes,
                             wk_begin_payload *payload)
{
    payload->slot = get_u32(bytes);
    payload->theta_index = (int64_t)get_u64(bytes + 8);
    memcpy(payload->theta, bytes + 16, (size_t)shape->n_params * sizeof(double));
}

size_t wk_record_payload_max(const wk_row_shape *shape)
{
    size_t begin = wk_begin_payload_bytes(shape), rows = wk_block_bytes_max(shape);
    return begin > rows ? begin : rows;
}

void wk_log_name(uint64_t number, char name[WK_LOG_NAME_MAX])
{
    snprintf(name, WK_LOG_NAME_MAX, "replay-%08llu.log", (unsigned long long)number);
}

wk_status wk_log_path(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX], wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    if (wk_path_join(wk_dir_path(dir), name, path, NULL) == WK_OK) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "the directory of the replay log has too long a name: '%.80s...'",
                   wk_dir_path(dir));
}

wk_status wk_log_open_reader(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX],
                             wk_file_reader **out, wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    WK_TRY(wk_log_path(dir, number, path, err));
    return wk_file_reader_open_in(dir, name, out, err);
}

// Whether `name` is that of a segment, written the way wk_log_name does.
static bool segment_number(const char *name, uint64_t *number)
{
    unsigned long long value;
    char again[WK_LOG_NAME_MAX];
    if (sscanf(name, "replay-%20llu.log", &value) != 1) return false;
    wk_log_name(value, again);
    *number = value;
    return strcmp(again, name) == 0;
}

wk_status wk_log_list(const wk_dir *dir, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err)
{
    wk_names names = {0};
    *any = false;
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        uint64_t number;
        if (!segment_number(names.items[i], &number)) continue;
        if (!*any || number < *lowest) *lowest = number;
        if (!*any || number > *highest) *highest = number;
        *any = true;
    }
    wk_names_free(&names);
    return status;
}
