#include "replay/log_format.h"
#include "base/hash.h"
#include "base/observation.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "rows are logged as they lie in memory, which must be little-endian");
_Static_assert(sizeof(wk_record) == WK_RECORD_HEADER, "a record's header lies in the file as here");

// Rows of images without a vector are written as they always were.
enum { VERSION_IMAGES = 1, VERSION_VECTORS = 2 };

// A segment header as it lies in the file.
typedef struct __attribute__((packed)) segment_bytes {
    char magic[8];
    uint32_t version, frame, actions, tasks, params;
    uint64_t number, sequence, next_episode;
    uint32_t running_crc, vector;
    uint32_t checksum; // of all before it
} segment_bytes;
_Static_assert(sizeof(segment_bytes) == WK_SEGMENT_HEADER, "a segment's header has no gaps");

static const char magic[8] = "WKREPLAY";

void wk_segment_header_encode(const wk_segment_header *header, unsigned char *bytes)
{
    wk_observation_spec observation = header->shape.observation;
    bool plain = observation.vector == 0 && !observation.no_image;
    segment_bytes s = {.version = plain ? VERSION_IMAGES : VERSION_VECTORS,
                       .frame = (uint32_t)wk_observation_image_bytes(observation),
                       .actions = (uint32_t)header->shape.action_size,
                       .tasks = (uint32_t)header->shape.n_tasks,
                       .params = (uint32_t)header->shape.n_params,
                       .number = header->number,
                       .sequence = header->sequence,
                       .next_episode = header->next_episode,
                       .running_crc = header->running_crc,
                       .vector = (uint32_t)observation.vector};
    memcpy(s.magic, magic, sizeof magic);
    s.checksum = wk_crc32c(0, &s, offsetof(segment_bytes, checksum));
    memcpy(bytes, &s, sizeof s);
}

const char *wk_segment_header_decode(const unsigned char *bytes, wk_segment_header *header)
{
    segment_bytes s;
    memcpy(&s, bytes, sizeof s);
    if (memcmp(s.magic, magic, sizeof magic) != 0) return "it does not begin like one";
    if (s.checksum != wk_crc32c(0, &s, offsetof(segment_bytes, checksum)))
        return "the checksum of its header does not match";
    bool vectors = s.version == VERSION_VECTORS;
    if (s.version != VERSION_IMAGES && !vectors) return "it is of another version";
    if (s.frame != WK_IMAGE_BYTES && (s.frame != 0 || !vectors))
        return "its frames have another size";
    uint32_t vector = vectors ? s.vector : 0;
    if (s.actions > WK_ACTION_MAX || s.tasks > WK_TASKS_MAX || s.params > WK_PARAMS_MAX ||
        vector > WK_VECTOR_MAX || (vectors && vector == 0))
        return "its rows have impossible sizes";
    *header = (wk_segment_header){
        .shape = {(int)s.actions, (int)s.tasks, (int)s.params, {(int)vector, s.frame == 0}},
        .number = s.number,
        .sequence = s.sequence,
        .next_episode = s.next_episode,
        .running_crc = s.running_crc};
    return NULL;
}

uint32_t wk_record_crc(uint32_t running_crc, const wk_record *record, const void *payload)
{
    running_crc = wk_crc32c(running_crc, record, offsetof(wk_record, running_crc));
    return wk_crc32c(running_crc, payload, record->size);
}

size_t wk_begin_payload_bytes(const wk_row_shape *shape)
{
    return offsetof(wk_begin_payload, theta) + (size_t)shape->n_params * sizeof(double);
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

wk_status wk_log_list(const wk_dir *dir, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err)
{
    wk_names names = {0};
    *any = false;
    wk_status status = wk_dir_list(dir, &names, err);
    for (size_t i = 0; status == WK_OK && i < names.count; i++) {
        // A segment's name is written exactly as wk_log_name does.
        unsigned long long number;
        char again[WK_LOG_NAME_MAX];
        if (sscanf(names.items[i], "replay-%20llu.log", &number) != 1) continue;
        wk_log_name(number, again);
        if (strcmp(again, names.items[i]) != 0) continue;
        if (!*any || number < *lowest) *lowest = number;
        if (!*any || number > *highest) *highest = number;
        *any = true;
    }
    wk_names_free(&names);
    return status;
}
