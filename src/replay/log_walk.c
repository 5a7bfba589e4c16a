#include "replay/log_read.h"

#include "base/array.h"
#include "base/file.h"
#include "replay/log_file.h"
#include "replay/log_format.h"
#include <stdlib.h>

// What is known of an episode from the headers of its records.
typedef struct walked {
    uint64_t id, rows;
    bool begun, evicted; // begun: the log has its beginning
} walked;

typedef struct walk {
    const wk_replay_mark *mark;
    bool payloads; // verify them too
    uint64_t first;
    wk_segment_header header;
    uint64_t offset, sequence; // of the next record
    uint32_t running_crc;
    WK_ARRAY(walked) episodes; // by id
    unsigned char *payload;
    char path[WK_PATH_MAX];
} walk;

// The lowest segment from which files go on to segment `last` without a gap.
static wk_status find_lowest(const wk_dir *dir, uint64_t last, uint64_t *lowest, wk_error *err)
{
    for (*lowest = last; *lowest > 0; --*lowest) {
        char name[WK_LOG_NAME_MAX];
        wk_entry entry;
        wk_log_name(*lowest - 1, name);
        WK_TRY(wk_dir_stat(dir, name, &entry, NULL, err));
        if (entry == WK_ENTRY_NONE) return WK_OK;
    }
    return WK_OK;
}

static wk_status note_record(walk *w, const wk_record *record, wk_error *err)
{
    size_t at = wk_array_lower_bound(&w->episodes, .id, record->episode);
    size_t count = w->episodes.count;
    if (at == count || w->episodes.items[at].id != record->episode) {
        if (!wk_array_push(&w->episodes, (walked){0}))
            return wk_fail(err, WK_E_MEMORY, "no memory to check the replay log");
        for (size_t i = count; i > at; i--)
            w->episodes.items[i] = w->episodes.items[i - 1];
        w->episodes.items[at] = (walked){.id = record->episode};
    }
    walked *episode = &w->episodes.items[at];
    episode->begun |= record->kind == WK_RECORD_BEGIN;
    episode->evicted |= record->kind == WK_RECORD_EVICT;
    if (record->kind == WK_RECORD_ROWS || record->kind == WK_RECORD_OPEN)
        episode->rows = (uint64_t)record->first + record->count;
    return WK_OK;
}

static wk_status damaged(const walk *w, wk_error *err)
{
    return wk_fail(err, WK_E_FORMAT, "'%s' is damaged at byte %llu", w->path,
                   (unsigned long long)w->offset);
}

static wk_status walk_record(walk *w, const wk_file_reader *file, uint64_t stop, wk_error *err)
{
    wk_record record;
    unsigned char bytes[WK_RECORD_HEADER];
    if (stop - w->offset < sizeof bytes) return damaged(w, err);
    WK_TRY(wk_file_reader_read(file, w->offset, bytes, sizeof bytes, err));
    wk_record_decode(bytes, &record);
    if (record.size > stop - w->offset - sizeof bytes || record.sequence != w->sequence ||
        record.size > wk_record_payload_max(&w->header.shape))
        return damaged(w, err);
    if (w->payloads) {
        uint64_t at = w->offset + sizeof bytes;
        WK_TRY(wk_file_reader_read(file, at, w->payload, record.size, err));
        if (record.running_crc != wk_record_crc(w->running_crc, bytes, w->payload, record.size))
            return damaged(w, err);
    }
    WK_TRY(note_record(w, &record, err));
    w->offset += sizeof bytes + record.size;
    w->sequence++;
    w->running_crc = record.running_crc;
    return WK_OK;
}

static wk_status walk_header(walk *w, const wk_file_reader *file, uint64_t number, wk_error *err)
{
    unsigned char bytes[WK_SEGMENT_HEADER];
    const char *fault = "it is too short";
    if (wk_file_reader_size(file) >= sizeof bytes) {
        WK_TRY(wk_file_reader_read(file, 0, bytes, sizeof bytes, err));
        fault = wk_segment_header_decode(bytes, &w->header);
    }
    if (!fault && w->header.number != number) fault = "its number is not that of its name";
    if (fault) return wk_fail(err, WK_E_FORMAT, "'%s' is not a replay log: %s", w->path, fault);
    if (number == w->first) {
        w->sequence = w->header.sequence;
        w->running_crc = w->header.running_crc;
    }
    if (w->header.sequence == w->sequence && w->header.running_crc == w->running_crc) return WK_OK;
    return wk_fail(err, WK_E_FORMAT, "'%s' does not continue the segment before it", w->path);
}

static wk_status walk_open_segment(walk *w, const wk_file_reader *file, uint64_t number,
                                   wk_error *err)
{
    WK_TRY(walk_header(w, file, number, err));
    uint64_t size = wk_file_reader_size(file);
    uint64_t stop = number == w->mark->segment ? w->mark->offset : size;
    if (stop > size || stop < WK_SEGMENT_HEADER)
        return wk_fail(err, WK_E_FORMAT, "'%s' has %llu bytes and the checkpoint needs %llu of it",
                       w->path, (unsigned long long)size, (unsigned long long)stop);
    if (w->payloads) {
        free(w->payload);
        w->payload = malloc(wk_record_payload_max(&w->header.shape));
        if (!w->payload) return wk_fail(err, WK_E_MEMORY, "no memory to check the replay log");
    }
    w->offset = WK_SEGMENT_HEADER;
    while (w->offset < stop)
        WK_TRY(walk_record(w, file, stop, err));
    return WK_OK;
}

static wk_status walk_segment(walk *w, const wk_dir *dir, uint64_t number, wk_error *err)
{
    wk_file_reader *file = NULL;
    WK_TRY(wk_log_open_reader(dir, number, w->path, &file, err));
    wk_status status = walk_open_segment(w, file, number, err);
    wk_file_reader_close(file);
    return status;
}

// Whether what was walked is all that the checkpoint needs.
static wk_status check_end(const walk *w, wk_error *err)
{
    uint64_t rows = 0;
    bool begun = true;
    for (size_t i = 0; i < w->episodes.count; i++) {
        const walked *episode = &w->episodes.items[i];
        if (episode->evicted) continue;
        begun = begun && episode->begun;
        rows += episode->rows;
    }
    if (w->sequence != w->mark->sequence || w->running_crc != w->mark->running_crc)
        return wk_fail(err, WK_E_FORMAT, "'%s' is not the log that the checkpoint was made with",
                       w->path);
    if (begun && rows == w->mark->rows) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "the replay log up to '%s' has %llu rows and the checkpoint needs %llu", w->path,
                   (unsigned long long)rows, (unsigned long long)w->mark->rows);
}

// Walks to the mark. Where a segment is damaged or does not lead to the next it begins again after
// it: the end says whether what came before was needed, and then the first fault is the error.
static wk_status walk_log(walk *w, const wk_dir *dir, wk_error *err)
{
    wk_error first_fault = {0};
    WK_TRY(find_lowest(dir, w->mark->segment, &w->first, err));
    for (uint64_t number = w->first; number <= w->mark->segment; number++) {
        wk_error fault = {0};
        wk_status status = walk_segment(w, dir, number, &fault);
        if (status == WK_OK) continue;
        if (first_fault.status == WK_OK) first_fault = fault;
        // One that is gone was deleted meanwhile, because no checkpoint needs it any more.
        bool skippable = status == WK_E_FORMAT || status == WK_E_NOT_FOUND;
        if (!skippable || (number == w->mark->segment && number == w->first))
            return wk_fail(err, status, "%s", first_fault.message);
        // One that does not continue the segment before may itself be sound.
        bool again = number > w->first && status == WK_E_FORMAT;
        w->first = again ? number : number + 1;
        if (again) number--;
        w->episodes.count = 0;
        if (w->first > w->mark->segment) return wk_fail(err, status, "%s", first_fault.message);
    }
    wk_status status = check_end(w, err);
    if (status == WK_OK || first_fault.status == WK_OK) return status;
    return wk_fail(err, status, "%s", first_fault.message);
}

static void free_walk(walk *w)
{
    wk_array_free(&w->episodes);
    free(w->payload);
}

wk_status wk_log_first(const wk_dir *dir, const wk_replay_mark *mark, uint64_t *first,
                       wk_error *err)
{
    walk w = {.mark = mark};
    wk_error fault = {0};
    wk_status status = walk_log(&w, dir, &fault);
    if (status == WK_OK) *first = w.first;
    free_walk(&w);
    // Of what is damaged the reader that follows says more.
    if (status == WK_OK || status == WK_E_FORMAT) return WK_OK;
    return wk_fail(err, status, "%s", fault.message);
}

wk_status wk_replay_log_verify(const char *directory, const wk_replay_mark *mark, wk_error *err)
{
    if (mark->sequence == 0) return WK_OK;
    walk w = {.mark = mark, .payloads = true};
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_open(NULL, directory, &dir, err));
    wk_status status = walk_log(&w, dir, err);
    free_walk(&w);
    wk_dir_close(dir);
    return status;
}
