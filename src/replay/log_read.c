#include "replay/log_read.h"
#include "base/file.h"
#include "replay/log_file.h"
#include "replay/log_format.h"

#include <assert.h>
#include <stdlib.h>

typedef struct reading {
    wk_replay *replay;
    wk_log_index *index;
    const wk_replay_mark *mark; // NULL: to the last whole record
    uint64_t lowest, last;      // segments to read
    uint64_t first_episode;     // begun in the lowest segment at the earliest
    WK_ARRAY(uint64_t) orphans; // episodes that began in a deleted segment and are not yet evicted
    unsigned char *payload;
    char path[WK_PATH_MAX];
} reading;

wk_status wk_log_index_begin(wk_log_index *index, uint64_t id, uint64_t segment, wk_error *err)
{
    if (wk_array_push(&index->episodes, (wk_log_episode){id, segment, UINT64_MAX})) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the index of the replay log");
}

void wk_log_index_evict(wk_log_index *index, uint64_t id, uint64_t sequence)
{
    size_t i = wk_array_lower_bound(&index->episodes, .id, id);
    if (i < index->episodes.count && index->episodes.items[i].id == id)
        index->episodes.items[i].evicted = sequence;
}

static wk_status apply_begin(reading *in, const wk_record *record, wk_error *err)
{
    if (record->size != wk_begin_payload_bytes(&in->replay->shape))
        return wk_fail(err, WK_E_FORMAT, "the record that begins an episode has a wrong size");
    wk_begin_payload payload;
    wk_begin_payload_decode(&in->replay->shape, in->payload, &payload);
    int slot = payload.slot < INT32_MAX ? (int)payload.slot : -1;
    wk_replay_episode episode = {record->episode, slot, 0, payload.theta_index, payload.theta};
    WK_TRY(wk_replay_restore_begin(in->replay, &episode, err));
    return wk_log_index_begin(in->index, record->episode, in->index->end.segment, err);
}

// Rows of an episode whose beginning is not in the log. That is right when it began in a segment
// that was deleted since, and then its eviction follows.
static wk_status apply_orphan(reading *in, const wk_record *record, wk_error *err)
{
    if (record->episode >= in->first_episode)
        return wk_fail(err, WK_E_FORMAT, "episode %llu has rows but no beginning",
                       (unsigned long long)record->episode);
    for (size_t i = 0; i < in->orphans.count; i++)
        if (in->orphans.items[i] == record->episode) return WK_OK;
    if (in->orphans.count == (size_t)in->replay->config.slots)
        return wk_fail(err, WK_E_FORMAT, "too many episodes have rows but no beginning");
    if (!wk_array_push(&in->orphans, record->episode))
        return wk_fail(err, WK_E_MEMORY, "no memory to read the replay log");
    return WK_OK;
}

static wk_status apply_rows(reading *in, const wk_record *record, wk_error *err)
{
    if (record->ended > 1)
        return wk_fail(err, WK_E_FORMAT, "a record of rows has a bad mark of its end");
    if (!wk_replay_find(in->replay, record->episode)) return apply_orphan(in, record, err);
    wk_rows_record rows = {.episode = record->episode,
                           .first = record->first,
                           .count = record->count,
                           .ended = record->ended,
                           .open = record->kind == WK_RECORD_OPEN,
                           .block = in->payload,
                           .size = record->size};
    return wk_replay_restore_rows(in->replay, &rows, err);
}

static wk_status apply_evict(reading *in, const wk_record *record)
{
    wk_replay_restore_evict(in->replay, record->episode);
    wk_log_index_evict(in->index, record->episode, record->sequence);
    for (size_t i = 0; i < in->orphans.count; i++)
        if (in->orphans.items[i] == record->episode)
            in->orphans.items[i] = in->orphans.items[--in->orphans.count];
    return WK_OK;
}

static wk_status apply(reading *in, const wk_record *record, wk_error *err)
{
    if (record->sequence != in->index->end.sequence)
        return wk_fail(err, WK_E_FORMAT, "record %llu stands where %llu should",
                       (unsigned long long)record->sequence,
                       (unsigned long long)in->index->end.sequence);
    switch (record->kind) {
    case WK_RECORD_BEGIN:
        return apply_begin(in, record, err);
    case WK_RECORD_ROWS:
    case WK_RECORD_OPEN:
        return apply_rows(in, record, err);
    case WK_RECORD_EVICT:
        return apply_evict(in, record);
    }
    return wk_fail(err, WK_E_FORMAT, "a record is of unknown kind %u", record->kind);
}

// Reads one record; `*whole` says whether there is one with a right checksum.
static wk_status read_record(reading *in, const wk_file_reader *file, uint64_t stop,
                             wk_record *record, bool *whole, wk_error *err)
{
    wk_replay_mark *end = &in->index->end;
    unsigned char header[WK_RECORD_HEADER];
    *whole = false;
    if (stop - end->offset < sizeof header) return WK_OK;
    WK_TRY(wk_file_reader_read(file, end->offset, header, sizeof header, err));
    wk_record_decode(header, record);
    uint64_t left = stop - end->offset - sizeof header;
    if (record->size > left || record->size > wk_record_payload_max(&in->replay->shape))
        return WK_OK;
    WK_TRY(wk_file_reader_read(file, end->offset + sizeof header, in->payload, record->size, err));
    *whole =
        record->running_crc == wk_record_crc(end->running_crc, header, in->payload, record->size);
    return WK_OK;
}

static wk_status damaged(const reading *in, wk_error *err)
{
    return wk_fail(err, WK_E_FORMAT, "'%s' is damaged at byte %llu", in->path,
                   (unsigned long long)in->index->end.offset);
}

// Records from the end of the header to `stop`; with a torn tail allowed, to the last whole one.
static wk_status read_records(reading *in, const wk_file_reader *file, uint64_t stop, bool torn,
                              wk_error *err)
{
    wk_replay_mark *end = &in->index->end;
    while (end->offset < stop) {
        wk_record record;
        bool whole;
        WK_TRY(read_record(in, file, stop, &record, &whole, err));
        if (!whole) return torn ? WK_OK : damaged(in, err);
        if (apply(in, &record, err) != WK_OK)
            return wk_fail_context(err, "'%s' at byte %llu", in->path,
                                   (unsigned long long)end->offset);
        end->sequence++;
        end->running_crc = record.running_crc;
        end->offset += WK_RECORD_HEADER + record.size;
    }
    return WK_OK;
}

static wk_status check_header(reading *in, const wk_segment_header *header, uint64_t number,
                              wk_error *err)
{
    const wk_row_shape *mine = &in->replay->shape, *its = &header->shape;
    if (mine->observation.vector != its->observation.vector ||
        mine->observation.no_image != its->observation.no_image)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' is of another domain: %s and %d numbers observed instead of %s and %d",
                       in->path, its->observation.no_image ? "no image" : "an image",
                       its->observation.vector, mine->observation.no_image ? "none" : "one",
                       mine->observation.vector);
    if (!wk_row_shape_equals(mine, its))
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' is of another domain: %d actions, %d tasks, %d parameters instead of "
                       "%d, %d, %d",
                       in->path, its->action_size, its->n_tasks, its->n_params, mine->action_size,
                       mine->n_tasks, mine->n_params);
    wk_replay_mark *end = &in->index->end;
    if (number == in->lowest && number > 0) {
        end->sequence = header->sequence;
        end->running_crc = header->running_crc;
        in->replay->next_id = header->next_episode;
    }
    in->first_episode = number == in->lowest ? header->next_episode : in->first_episode;
    if (header->number != number || header->sequence != end->sequence ||
        header->running_crc != end->running_crc || header->next_episode != in->replay->next_id)
        return wk_fail(err, WK_E_FORMAT, "'%s' does not continue the segment before it", in->path);
    return WK_OK;
}

// Reads the header; `*torn` says that the file is what a crash leaves of a segment just begun.
static wk_status read_header(reading *in, const wk_file_reader *file, uint64_t number, bool *torn,
                             wk_error *err)
{
    unsigned char bytes[WK_SEGMENT_HEADER];
    wk_segment_header header;
    bool may_be_torn = *torn;
    *torn = false;
    const char *fault = "it is too short";
    if (wk_file_reader_size(file) >= sizeof bytes) {
        WK_TRY(wk_file_reader_read(file, 0, bytes, sizeof bytes, err));
        fault = wk_segment_header_decode(bytes, &header);
    }
    if (!fault) return check_header(in, &header, number, err);
    if (!may_be_torn)
        return wk_fail(err, WK_E_FORMAT, "'%s' is not a replay log: %s", in->path, fault);
    *torn = true;
    return WK_OK;
}

static wk_status check_mark(const reading *in, wk_error *err)
{
    const wk_replay_mark *end = &in->index->end, *mark = in->mark;
    bool same = end->sequence == mark->sequence && end->running_crc == mark->running_crc;
    if (same && in->replay->stats.rows == mark->rows) return WK_OK;
    if (same)
        return wk_fail(
            err, WK_E_FORMAT,
            "the replay log up to '%s' has %llu rows and the checkpoint needs %llu: older "
            "files of it are missing",
            in->path, (unsigned long long)in->replay->stats.rows, (unsigned long long)mark->rows);
    return wk_fail(err, WK_E_FORMAT,
                   "'%s' is not the log that the checkpoint was made with: at byte %llu it has "
                   "other content",
                   in->path, (unsigned long long)mark->offset);
}

static wk_status read_open_segment(reading *in, const wk_file_reader *file, uint64_t number,
                                   wk_error *err)
{
    bool torn_allowed = !in->mark && number == in->last;
    bool torn = torn_allowed && (number > in->lowest || number == 0);
    WK_TRY(read_header(in, file, number, &torn, err));
    if (torn) return WK_OK;
    bool to_mark = in->mark && number == in->last;
    uint64_t size = wk_file_reader_size(file), stop = to_mark ? in->mark->offset : size;
    if (stop > size || stop < WK_SEGMENT_HEADER)
        return wk_fail(err, WK_E_FORMAT, "'%s' has %llu bytes and the checkpoint needs %llu of it",
                       in->path, (unsigned long long)size, (unsigned long long)stop);
    in->index->end.segment = number;
    in->index->end.offset = WK_SEGMENT_HEADER;
    WK_TRY(read_records(in, file, stop, torn_allowed, err));
    return to_mark ? check_mark(in, err) : WK_OK;
}

static wk_status read_segment(reading *in, const wk_dir *dir, uint64_t number, wk_error *err)
{
    wk_file_reader *file = NULL;
    WK_TRY(wk_log_open_reader(dir, number, in->path, &file, err));
    wk_status status = read_open_segment(in, file, number, err);
    wk_file_reader_close(file);
    return status;
}

static wk_status read_segments(reading *in, const wk_dir *dir, wk_error *err)
{
    for (uint64_t number = in->lowest; number <= in->last; number++)
        WK_TRY(read_segment(in, dir, number, err));
    if (in->orphans.count > 0)
        return wk_fail(err, WK_E_FORMAT,
                       "the replay log in '%s' lacks the beginning of episode %llu",
                       wk_dir_path(dir), (unsigned long long)in->orphans.items[0]);
    return WK_OK;
}

// Which segments to read; `*none` when there is nothing.
static wk_status choose_segments(reading *in, const wk_dir *dir, bool *none, wk_error *err)
{
    bool any;
    uint64_t highest;
    WK_TRY(wk_log_list(dir, &any, &in->lowest, &highest, err));
    *none = !any || (in->mark && in->mark->sequence == 0);
    if (in->mark && in->mark->sequence > 0 &&
        (!any || in->mark->segment < in->lowest || in->mark->segment > highest))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the replay log in '%s' lacks segment %llu, which the checkpoint needs",
                       wk_dir_path(dir), (unsigned long long)in->mark->segment);
    if (*none) return WK_OK;
    in->last = in->mark ? in->mark->segment : highest;
    if (in->mark) WK_TRY(wk_log_first(dir, in->mark, &in->lowest, err));
    in->index->lowest = in->lowest;
    return WK_OK;
}

wk_status wk_log_restore(const wk_dir *dir, const wk_replay_mark *mark, wk_replay *replay,
                         wk_log_index *index, wk_error *err)
{
    assert(replay->next_id == 0 && !replay->journal);
    reading in = {.replay = replay, .index = index, .mark = mark};
    bool none;
    WK_TRY(choose_segments(&in, dir, &none, err));
    if (none) return WK_OK;
    in.payload = malloc(wk_record_payload_max(&replay->shape));
    if (!in.payload) return wk_fail(err, WK_E_MEMORY, "no memory to read the replay log");
    wk_status status = read_segments(&in, dir, err);
    free(in.payload);
    wk_array_free(&in.orphans);
    return status;
}

wk_status wk_replay_log_read(const char *directory, const wk_replay_mark *mark, wk_replay *replay,
                             wk_error *err)
{
    wk_log_index index = {0};
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    wk_status status = wk_log_restore(dir, mark, replay, &index, err);
    wk_array_free(&index.episodes);
    wk_dir_close(dir);
    return status;
}
