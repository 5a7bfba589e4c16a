// One reader for two purposes: it looks at a log (which segments belong together, whether their
// bytes are undamaged), and it rebuilds a store. A store cannot be begun again in the middle, so
// whoever rebuilds one looks first where the log begins.
#include "replay/log_format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// What the headers of its records say of an episode.
typedef struct seen {
    uint64_t id, rows;
    bool begun, evicted; // begun: the log has its beginning
} seen;

typedef struct reading {
    const wk_dir *dir;
    const wk_replay_mark *mark; // where to end; NULL: at the last whole record
    wk_replay *replay;          // that is rebuilt; NULL: the log is only looked at
    bool payloads;              // are read, and checksums compared
    uint64_t first, last;       // segments
    wk_replay_mark end;         // of what was read
    wk_log_index *index;        // of the rebuilt store
    uint64_t first_episode;     // begun in the first segment at the earliest
    WK_ARRAY(uint64_t) orphans; // episodes that began in a deleted segment and are not yet evicted
    WK_ARRAY(seen) episodes;    // by id, where the log is only looked at
    unsigned char *payload;
    char path[WK_PATH_MAX]; // of the segment
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

// Looking: notes what the record says of its episode.
static wk_status note_record(reading *in, const wk_record *record, wk_error *err)
{
    size_t at = wk_array_lower_bound(&in->episodes, .id, record->episode);
    size_t count = in->episodes.count;
    if (at == count || in->episodes.items[at].id != record->episode) {
        if (!wk_array_push(&in->episodes, (seen){0}))
            return wk_fail(err, WK_E_MEMORY, "no memory to check the replay log");
        for (size_t i = count; i > at; i--)
            in->episodes.items[i] = in->episodes.items[i - 1];
        in->episodes.items[at] = (seen){.id = record->episode};
    }
    seen *episode = &in->episodes.items[at];
    episode->begun |= record->kind == WK_RECORD_BEGIN;
    episode->evicted |= record->kind == WK_RECORD_EVICT;
    if (record->kind == WK_RECORD_ROWS || record->kind == WK_RECORD_OPEN)
        episode->rows = (uint64_t)record->first + record->count;
    return WK_OK;
}

static wk_status apply_begin(reading *in, const wk_record *record, wk_error *err)
{
    if (record->size != wk_begin_payload_bytes(&in->replay->shape))
        return wk_fail(err, WK_E_FORMAT, "the record that begins an episode has a wrong size");
    wk_begin_payload payload;
    memcpy(&payload, in->payload, record->size);
    int slot = payload.slot < INT32_MAX ? (int)payload.slot : -1;
    wk_replay_episode episode = {record->episode, slot, 0, payload.theta_index, payload.theta};
    WK_TRY(wk_replay_restore_begin(in->replay, &episode, err));
    return wk_log_index_begin(in->index, record->episode, in->end.segment, err);
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

// Rebuilding: makes the change that was recorded.
static wk_status apply_record(reading *in, const wk_record *record, wk_error *err)
{
    wk_rows_record rows = {.episode = record->episode,
                           .first = record->first,
                           .count = record->count,
                           .ended = record->ended,
                           .open = record->kind == WK_RECORD_OPEN,
                           .block = in->payload,
                           .size = record->size};
    switch (record->kind) {
    case WK_RECORD_BEGIN:
        return apply_begin(in, record, err);
    case WK_RECORD_ROWS:
    case WK_RECORD_OPEN:
        if (record->ended > 1)
            return wk_fail(err, WK_E_FORMAT, "a record of rows has a bad mark of its end");
        return wk_replay_find(in->replay, record->episode)
                   ? wk_replay_restore_rows(in->replay, &rows, err)
                   : apply_orphan(in, record, err);
    case WK_RECORD_EVICT:
        wk_replay_restore_evict(in->replay, record->episode);
        wk_log_index_evict(in->index, record->episode, record->sequence);
        for (size_t i = 0; i < in->orphans.count; i++)
            if (in->orphans.items[i] == record->episode)
                in->orphans.items[i] = in->orphans.items[--in->orphans.count];
        return WK_OK;
    }
    return wk_fail(err, WK_E_FORMAT, "a record is of unknown kind %u", record->kind);
}

// Reads one record; `*whole` says whether there is one that continues those before it.
static wk_status read_record(reading *in, const wk_file_reader *file, size_t payload_max,
                             uint64_t stop, wk_record *record, bool *whole, wk_error *err)
{
    uint64_t at = in->end.offset;
    *whole = false;
    if (stop - at < sizeof *record) return WK_OK;
    WK_TRY(wk_file_reader_read(file, at, record, sizeof *record, err));
    if (record->size > stop - at - sizeof *record || record->size > payload_max) return WK_OK;
    *whole = record->sequence == in->end.sequence;
    if (!*whole || !in->payloads) return WK_OK;
    WK_TRY(wk_file_reader_read(file, at + sizeof *record, in->payload, record->size, err));
    *whole = record->running_crc == wk_record_crc(in->end.running_crc, record, in->payload);
    return WK_OK;
}

// Records from the end of the header to `stop`; with a torn tail allowed, to the last whole one.
static wk_status read_records(reading *in, const wk_file_reader *file, size_t payload_max,
                              uint64_t stop, bool torn, wk_error *err)
{
    free(in->payload);
    in->payload = in->payloads ? malloc(payload_max) : NULL;
    if (in->payloads && !in->payload)
        return wk_fail(err, WK_E_MEMORY, "no memory to read the replay log");
    while (in->end.offset < stop) {
        wk_record record;
        bool whole;
        WK_TRY(read_record(in, file, payload_max, stop, &record, &whole, err));
        if (!whole && torn) return WK_OK;
        if (!whole)
            return wk_fail(err, WK_E_FORMAT, "'%s' is damaged at byte %llu", in->path,
                           (unsigned long long)in->end.offset);
        wk_status status =
            in->replay ? apply_record(in, &record, err) : note_record(in, &record, err);
        if (status != WK_OK)
            return wk_fail_context(err, "'%s' at byte %llu", in->path,
                                   (unsigned long long)in->end.offset);
        in->end.sequence++;
        in->end.running_crc = record.running_crc;
        in->end.offset += sizeof record + record.size;
    }
    return WK_OK;
}

static wk_status check_shape(const reading *in, const wk_row_shape *its, wk_error *err)
{
    const wk_row_shape *mine = &in->replay->shape;
    if (mine->observation.vector != its->observation.vector ||
        mine->observation.no_image != its->observation.no_image)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' is of another domain: %s and %d numbers observed instead of %s and %d",
                       in->path, its->observation.no_image ? "no image" : "an image",
                       its->observation.vector, mine->observation.no_image ? "none" : "one",
                       mine->observation.vector);
    if (wk_row_shape_equals(mine, its)) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "'%s' is of another domain: %d actions, %d tasks, %d parameters instead of "
                   "%d, %d, %d",
                   in->path, its->action_size, its->n_tasks, its->n_params, mine->action_size,
                   mine->n_tasks, mine->n_params);
}

// Reads the header of a segment and its records.
static wk_status read_opened(reading *in, const wk_file_reader *file, uint64_t number,
                             wk_error *err)
{
    unsigned char bytes[WK_SEGMENT_HEADER];
    wk_segment_header header = {0};
    uint64_t size = wk_file_reader_size(file);
    bool torn = !in->mark && number == in->last;
    const char *fault = "it is too short";
    if (size >= sizeof bytes) {
        WK_TRY(wk_file_reader_read(file, 0, bytes, sizeof bytes, err));
        fault = wk_segment_header_decode(bytes, &header);
    }
    // What a crash leaves of a segment that was just begun is no damage.
    if (fault && torn && (number > in->first || number == 0)) return WK_OK;
    if (fault) return wk_fail(err, WK_E_FORMAT, "'%s' is not a replay log: %s", in->path, fault);

    // The first segment says where the log begins; the others continue.
    if (in->replay) WK_TRY(check_shape(in, &header.shape, err));
    if (number == in->first && number > 0) {
        in->end.sequence = header.sequence;
        in->end.running_crc = header.running_crc;
        if (in->replay) in->replay->next_id = header.next_episode;
    }
    if (number == in->first) in->first_episode = header.next_episode;
    if (header.number != number || header.sequence != in->end.sequence ||
        header.running_crc != in->end.running_crc ||
        (in->replay && header.next_episode != in->replay->next_id))
        return wk_fail(err, WK_E_FORMAT, "'%s' does not continue the segment before it", in->path);

    uint64_t stop = in->mark && number == in->last ? in->mark->offset : size;
    if (stop > size || stop < WK_SEGMENT_HEADER)
        return wk_fail(err, WK_E_FORMAT, "'%s' has %llu bytes and the checkpoint needs %llu of it",
                       in->path, (unsigned long long)size, (unsigned long long)stop);
    in->end.segment = number;
    in->end.offset = WK_SEGMENT_HEADER;
    return read_records(in, file, wk_record_payload_max(&header.shape), stop, torn, err);
}

static wk_status read_segment(reading *in, uint64_t number, wk_error *err)
{
    wk_file_reader *file = NULL;
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    WK_TRY(wk_log_path(in->dir, number, in->path, err));
    WK_TRY(wk_file_reader_open_in(in->dir, name, &file, err));
    wk_status status = read_opened(in, file, number, err);
    wk_file_reader_close(file);
    return status;
}

// Whether what was read up to the mark is all that the checkpoint needs.
static wk_status check_mark(const reading *in, wk_error *err)
{
    const wk_replay_mark *end = &in->end, *mark = in->mark;
    uint64_t rows = in->replay ? in->replay->stats.rows : 0;
    bool begun = true;
    for (size_t i = 0; i < in->episodes.count; i++) {
        const seen *episode = &in->episodes.items[i];
        if (episode->evicted) continue;
        begun = begun && episode->begun;
        rows += episode->rows;
    }
    if (end->sequence != mark->sequence || end->running_crc != mark->running_crc)
        return wk_fail(err, WK_E_FORMAT,
                       "'%s' is not the log that the checkpoint was made with: at byte %llu it has "
                       "other content",
                       in->path, (unsigned long long)mark->offset);
    if (begun && rows == mark->rows) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "the replay log up to '%s' has %llu rows and the checkpoint needs %llu: older "
                   "files of it are missing",
                   in->path, (unsigned long long)rows, (unsigned long long)mark->rows);
}

// Looks at the log up to the mark. Where a segment is damaged or does not lead to the next it
// begins again after it: the end says whether what came before was needed, and then the first fault
// is the error.
static wk_status look(reading *in, wk_error *err)
{
    // The lowest segment from which files go on to the mark without a gap.
    in->last = in->mark->segment;
    for (in->first = in->last; in->first > 0; in->first--) {
        char name[WK_LOG_NAME_MAX];
        wk_entry entry;
        wk_log_name(in->first - 1, name);
        WK_TRY(wk_dir_stat(in->dir, name, &entry, NULL, err));
        if (entry == WK_ENTRY_NONE) break;
    }

    wk_error first_fault = {0};
    for (uint64_t number = in->first; number <= in->last; number++) {
        wk_error fault = {0};
        wk_status status = read_segment(in, number, &fault);
        if (status == WK_OK) continue;
        if (first_fault.status == WK_OK) first_fault = fault;
        // One that is gone was deleted meanwhile, because no checkpoint needs it any more.
        bool skippable = status == WK_E_FORMAT || status == WK_E_NOT_FOUND;
        if (!skippable || (number == in->last && number == in->first))
            return wk_fail(err, status, "%s", first_fault.message);
        // One that does not continue the segment before may itself be sound.
        bool again = number > in->first && status == WK_E_FORMAT;
        in->first = again ? number : number + 1;
        if (again) number--;
        in->episodes.count = 0;
        if (in->first > in->last) return wk_fail(err, status, "%s", first_fault.message);
    }
    wk_status status = check_mark(in, err);
    if (status == WK_OK || first_fault.status == WK_OK) return status;
    return wk_fail(err, status, "%s", first_fault.message);
}

wk_status wk_log_restore(const wk_dir *dir, const wk_replay_mark *mark, wk_replay *replay,
                         wk_log_index *index, wk_error *err)
{
    assert(replay->next_id == 0 && !replay->journal);
    reading in = {.dir = dir, .mark = mark, .replay = replay, .payloads = true, .index = index};
    bool any;
    WK_TRY(wk_log_list(dir, &any, &in.first, &in.last, err));
    if (mark && mark->sequence > 0 && (!any || mark->segment < in.first || mark->segment > in.last))
        return wk_fail(err, WK_E_NOT_FOUND,
                       "the replay log in '%s' lacks segment %llu, which the checkpoint needs",
                       wk_dir_path(dir), (unsigned long long)mark->segment);
    if (!any || (mark && mark->sequence == 0)) return WK_OK;

    // The first segment that the mark needs. Files before it are left over from an older copy of
    // the directory: they lie before a gap, or do not lead to the segment after them. Of a damaged
    // log the lowest will do: reading it says what is wrong.
    wk_status status = WK_OK;
    if (mark) {
        reading first = {.dir = dir, .mark = mark};
        wk_error fault = {0};
        status = look(&first, &fault);
        wk_array_free(&first.episodes);
        if (status != WK_OK && status != WK_E_FORMAT)
            return wk_fail(err, status, "%s", fault.message);
        in.last = mark->segment;
        if (status == WK_OK) in.first = first.first;
        status = WK_OK;
    }
    for (uint64_t number = in.first; status == WK_OK && number <= in.last; number++)
        status = read_segment(&in, number, err);
    if (status == WK_OK && mark) status = check_mark(&in, err);
    if (status == WK_OK && in.orphans.count > 0)
        status =
            wk_fail(err, WK_E_FORMAT, "the replay log in '%s' lacks the beginning of episode %llu",
                    wk_dir_path(dir), (unsigned long long)in.orphans.items[0]);
    index->lowest = in.first;
    index->end = in.end;
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

wk_status wk_replay_log_verify(const char *directory, const wk_replay_mark *mark, wk_error *err)
{
    if (mark->sequence == 0) return WK_OK;
    reading in = {.mark = mark, .payloads = true};
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    in.dir = dir;
    wk_status status = look(&in, err);
    free(in.payload);
    wk_array_free(&in.episodes);
    wk_dir_close(dir);
    return status;
}
