// Each record's checksum continues that of the record before, whose header stores it: a record can
// be verified alone, given the header before it. Where a header itself is damaged, the next place
// is searched from which a following record verifies.
#include "replay/salvage.h"

#include "base/array.h"
#include "base/file.h"
#include "replay/log_file.h"
#include "replay/log_format.h"
#include <stdlib.h>
#include <unistd.h>

enum {
    SEARCH_MAX = 1 << 16,   // checksums computed to find the next record of one segment
    SEGMENTS_MAX = 1 << 20, // files of a log: far beyond any run
    DROPPED_MAX = 1 << 16,  // episodes without a step, which take no room in the store
    LOST_MAX = 1 << 24      // episodes
};

// Segments and records of a run have lower numbers.
static const uint64_t NUMBER_MAX = (uint64_t)1 << 53;

// A verified record and where its bytes are.
typedef struct found {
    wk_record record;
    uint64_t segment, offset;
} found;

// Records of one episode, in order; what the new log needs of it.
typedef struct episode {
    uint64_t id;
    size_t begin, end; // its records
    uint64_t rows;
    bool kept, running, evicted;
} episode;

typedef struct salvage {
    const wk_dir *dir;
    wk_salvage_config *config;
    WK_ARRAY(found) records;
    WK_ARRAY(episode) episodes; // by id
    bool seeded;                // `running_crc` is that of the record before the next one
    uint32_t running_crc;
    // the new log
    wk_replay_mark end;
    uint64_t next_id;
    int fd;
    char path[WK_PATH_MAX];
    wk_file_reader *source;
    uint64_t source_segment;
    unsigned char *buffer; // a record on its way to the file
} salvage;

static wk_status no_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory to repair the replay log");
}

static wk_status beyond_repair(const salvage *s, const char *what, wk_error *err)
{
    return wk_fail(err, WK_E_FORMAT, "the replay log in '%s' lacks too many %s to be repaired",
                   wk_dir_path(s->dir), what);
}

static void show(const salvage *s, const char *unit, uint64_t done, uint64_t total)
{
    if (s->config->progress) s->config->progress(s->config->context, unit, done, total);
}

// A segment in memory.
typedef struct segment {
    uint64_t number;
    const unsigned char *bytes;
    uint64_t stop;
    uint64_t last_sequence; // of the newest record accepted
    int searched;
} segment;

static bool plausible(const salvage *s, const segment *in, uint64_t at, wk_record *record)
{
    if (at > in->stop || in->stop - at < WK_RECORD_HEADER) return false;
    wk_record_decode(in->bytes + at, record);
    return record->kind >= WK_RECORD_BEGIN && record->kind <= WK_RECORD_EVICT &&
           record->size <= wk_record_payload_max(&s->config->shape) &&
           record->size <= in->stop - at - WK_RECORD_HEADER &&
           record->sequence < s->config->mark.sequence && record->sequence >= in->last_sequence &&
           record->episode < s->config->next_episode;
}

static uint32_t crc_at(const segment *in, uint64_t at, const wk_record *record,
                       uint32_t running_crc)
{
    const unsigned char *header = in->bytes + at;
    return wk_record_crc(running_crc, header, header + WK_RECORD_HEADER, record->size);
}

// Whether what follows a record continues `running_crc`: a verified record, or the end of the
// segment.
static bool continues(const salvage *s, const segment *in, uint64_t at, uint32_t running_crc)
{
    wk_record next;
    if (at == in->stop) return true;
    return plausible(s, in, at, &next) && crc_at(in, at, &next, running_crc) == next.running_crc;
}

static wk_status accept(salvage *s, segment *in, uint64_t at, const wk_record *record,
                        wk_error *err)
{
    in->last_sequence = record->sequence;
    return wk_array_push(&s->records, (found){*record, in->number, at}) ? WK_OK : no_memory(err);
}

// The next place from which a record leads to a verified one; the segment's end if there is none.
static uint64_t search(const salvage *s, segment *in, uint64_t at)
{
    for (wk_record record; at < in->stop; at++) {
        if (!plausible(s, in, at, &record)) continue;
        if (++in->searched > SEARCH_MAX) break;
        if (continues(s, in, at + WK_RECORD_HEADER + record.size, record.running_crc)) return at;
    }
    return in->stop;
}

// Reads the record at *at, or skips what is damaged there.
static wk_status take_record(salvage *s, segment *in, uint64_t *at, wk_error *err)
{
    wk_record record;
    if (plausible(s, in, *at, &record)) {
        uint64_t after = *at + WK_RECORD_HEADER + record.size;
        uint32_t running_crc = crc_at(in, *at, &record, s->running_crc);
        bool whole = s->seeded && running_crc == record.running_crc;
        // Damage of the stored checksum alone shows in the next record.
        bool sum_damaged =
            s->seeded && !whole && after < in->stop && continues(s, in, after, running_crc);
        if (whole || sum_damaged) WK_TRY(accept(s, in, *at, &record, err));
        if (whole || sum_damaged || continues(s, in, after, record.running_crc)) {
            s->running_crc = sum_damaged ? running_crc : record.running_crc;
            s->seeded = true;
            *at = after;
            return WK_OK;
        }
    }
    s->seeded = false;
    *at = search(s, in, *at + 1);
    return WK_OK;
}

static bool right_header(const salvage *s, const segment *in, wk_segment_header *header)
{
    const wk_row_shape *mine = &s->config->shape;
    return in->stop >= WK_SEGMENT_HEADER && !wk_segment_header_decode(in->bytes, header) &&
           header->number == in->number && wk_row_shape_equals(&header->shape, mine);
}

static wk_status scan_bytes(salvage *s, segment *in, wk_error *err)
{
    wk_segment_header header = {0}; // of segment 0, whatever is left of it, nothing lies before
    if (right_header(s, in, &header) || in->number == 0) {
        s->running_crc = header.running_crc;
        s->seeded = true;
    }
    for (uint64_t at = WK_SEGMENT_HEADER; at < in->stop;)
        WK_TRY(take_record(s, in, &at, err));
    return WK_OK;
}

static wk_status scan_segment(salvage *s, uint64_t number, wk_error *err)
{
    char name[WK_LOG_NAME_MAX], *bytes;
    size_t size;
    wk_log_name(number, name);
    wk_status status = wk_file_read_in(s->dir, name, (size_t)1 << 32, &bytes, &size, err);
    if (status == WK_E_NOT_FOUND) { // lost
        s->seeded = false;
        return WK_OK;
    }
    WK_TRY(status);
    const wk_replay_mark *mark = &s->config->mark;
    uint64_t stop = number == mark->segment && mark->offset < size ? mark->offset : size;
    size_t known = s->records.count;
    uint64_t last = known > 0 ? s->records.items[known - 1].record.sequence : 0;
    segment in = {.number = number,
                  .bytes = (const unsigned char *)bytes,
                  .stop = stop,
                  .last_sequence = last};
    status = scan_bytes(s, &in, err);
    free(bytes);
    return status;
}

static int compare_records(const void *a, const void *b)
{
    const wk_record *x = &((const found *)a)->record, *y = &((const found *)b)->record;
    if (x->episode != y->episode) return x->episode < y->episode ? -1 : 1;
    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static const wk_salvage_slot *slot_of(const salvage *s, uint64_t id)
{
    for (int i = 0; i < s->config->n_slots; i++)
        if (s->config->slots[i].running && s->config->slots[i].episode == id)
            return &s->config->slots[i];
    return NULL;
}

// Whether an episode's records are all there. `rows` counts those of its last state.
static void check_episode(salvage *s, episode *e)
{
    const found *records = s->records.items;
    uint64_t blocks = 0, open = 0;
    bool whole = true, ended = false;
    for (size_t i = e->begin; i < e->end; i++) {
        const wk_record *r = &records[i].record;
        bool first = i == e->begin;
        e->evicted |= r->kind == WK_RECORD_EVICT;
        if (r->kind == WK_RECORD_BEGIN) whole &= first;
        if (r->kind != WK_RECORD_ROWS && r->kind != WK_RECORD_OPEN) continue;
        whole &= !first && !ended && r->first == blocks;
        open = r->kind == WK_RECORD_OPEN ? r->count : 0;
        if (r->kind == WK_RECORD_ROWS) blocks += r->count;
        ended |= r->kind == WK_RECORD_ROWS && r->ended;
    }
    const wk_salvage_slot *slot = slot_of(s, e->id);
    whole &= e->begin < e->end && records[e->begin].record.kind == WK_RECORD_BEGIN &&
             records[e->begin].record.size == wk_begin_payload_bytes(&s->config->shape);
    e->rows = blocks + open;
    e->running = slot != NULL;
    e->kept = whole && !e->evicted && (slot ? !ended && e->rows == slot->rows : ended);
}

static wk_status group_records(salvage *s, wk_error *err)
{
    size_t count = s->records.count;
    const found *items = s->records.items;
    if (count > 0) qsort(s->records.items, count, sizeof *s->records.items, compare_records);
    for (size_t i = 0; i < count;) {
        episode e = {.id = items[i].record.episode, .begin = i};
        while (i < count && items[i].record.episode == e.id)
            i++;
        e.end = i;
        check_episode(s, &e);
        if (!wk_array_push(&s->episodes, e)) return no_memory(err);
    }
    return WK_OK;
}

// Evictions may be among what was lost: the oldest finished episodes go until the rest is no more
// than the store held.
static void evict_beyond(salvage *s)
{
    uint64_t rows = 0, steps = 0;
    for (size_t i = 0; i < s->episodes.count; i++) {
        const episode *e = &s->episodes.items[i];
        rows += e->kept ? e->rows : 0;
        steps += e->kept && e->rows > 0 ? e->rows - 1 : 0;
    }
    for (size_t i = 0; i < s->episodes.count; i++) {
        episode *e = &s->episodes.items[i];
        if (rows <= s->config->mark.rows && steps <= s->config->capacity) return;
        if (!e->kept || e->running) continue;
        e->kept = false;
        e->evicted = true;
        rows -= e->rows;
        steps -= e->rows - 1;
    }
}

static wk_status finish_segment(salvage *s, wk_error *err)
{
    if (s->fd < 0) return WK_OK;
    wk_status status = wk_log_sync_file(s->fd, s->path, err);
    close(s->fd);
    s->fd = -1;
    return status;
}

static wk_status begin_segment(salvage *s, uint64_t number, wk_error *err)
{
    unsigned char bytes[WK_SEGMENT_HEADER];
    wk_segment_header header = {s->config->shape, number, s->end.sequence, s->next_id,
                                s->end.running_crc};
    WK_TRY(finish_segment(s, err));
    WK_TRY(wk_log_path(s->dir, number, s->path, err));
    WK_TRY(wk_log_open_file(s->dir, number, true, &s->fd, err));
    wk_segment_header_encode(&header, bytes);
    s->end.segment = number;
    s->end.offset = sizeof bytes;
    return wk_fd_write(s->fd, s->path, 0, bytes, sizeof bytes, err);
}

// Writes a record whose payload lies in s->buffer after its header.
static wk_status write_record(salvage *s, wk_record record, wk_error *err)
{
    if (s->end.offset >= s->config->segment_bytes)
        WK_TRY(begin_segment(s, s->end.segment + 1, err));
    record.sequence = s->end.sequence;
    wk_record_encode(&record, s->end.running_crc, s->buffer + WK_RECORD_HEADER, s->buffer);
    size_t size = WK_RECORD_HEADER + record.size;
    WK_TRY(wk_fd_write(s->fd, s->path, s->end.offset, s->buffer, size, err));
    s->end.offset += size;
    s->end.sequence++;
    s->end.running_crc = record.running_crc;
    return WK_OK;
}

static wk_status copy_record(salvage *s, const found *from, wk_error *err)
{
    if (!s->source || s->source_segment != from->segment) {
        char name[WK_LOG_NAME_MAX];
        wk_file_reader_close(s->source);
        s->source = NULL;
        wk_log_name(from->segment, name);
        WK_TRY(wk_file_reader_open_in(s->dir, name, &s->source, err));
        s->source_segment = from->segment;
    }
    uint64_t payload = from->offset + WK_RECORD_HEADER;
    WK_TRY(wk_file_reader_read(s->source, payload, s->buffer + WK_RECORD_HEADER, from->record.size,
                               err));
    return write_record(s, from->record, err);
}

// A slot in which no kept episode with a lower id still runs. There is one: the episode `id` began
// in a slot, whose present episode is not older.
static uint32_t free_slot(const salvage *s, uint64_t id)
{
    for (int i = 0; i < s->config->n_slots; i++)
        if (!s->config->slots[i].running || s->config->slots[i].episode >= id) return (uint32_t)i;
    return 0;
}

// Ids count up without gaps: a lost episode begins and is dropped.
static wk_status write_lost(salvage *s, uint64_t up_to, wk_error *err)
{
    for (; s->next_id < up_to; s->next_id++) {
        const wk_row_shape *shape = &s->config->shape;
        wk_begin_payload payload = {.slot = free_slot(s, s->next_id)};
        wk_begin_payload_encode(shape, &payload, s->buffer + WK_RECORD_HEADER);
        wk_record begin = {.size = (uint32_t)wk_begin_payload_bytes(shape),
                           .kind = WK_RECORD_BEGIN,
                           .episode = s->next_id};
        wk_record evict = {.kind = WK_RECORD_EVICT, .episode = s->next_id};
        WK_TRY(write_record(s, begin, err));
        WK_TRY(write_record(s, evict, err));
    }
    return WK_OK;
}

static wk_status write_episode(salvage *s, const episode *e, wk_error *err)
{
    const found *records = s->records.items;
    WK_TRY(write_lost(s, e->id, err));
    for (size_t i = e->begin; i < e->end; i++) {
        // Open rows count only where nothing repeats them.
        if (records[i].record.kind == WK_RECORD_OPEN && i + 1 < e->end) continue;
        WK_TRY(copy_record(s, &records[i], err));
        if (i == e->begin) s->next_id++;
    }
    s->end.rows += e->rows;
    return WK_OK;
}

static uint64_t first_kept(const salvage *s)
{
    for (size_t i = 0; i < s->episodes.count; i++)
        if (s->episodes.items[i].kept) return s->episodes.items[i].id;
    return s->config->next_episode;
}

static wk_status write_log(salvage *s, uint64_t first, wk_error *err)
{
    s->next_id = first_kept(s);
    // A sequence number that continues no segment, so that none before it counts as this log's.
    s->end = (wk_replay_mark){.sequence = s->config->mark.sequence + 1};
    WK_TRY(begin_segment(s, first, err));
    show(s, "episodes", 0, s->episodes.count);
    for (size_t i = 0; i < s->episodes.count; i++) {
        if (s->episodes.items[i].kept) WK_TRY(write_episode(s, &s->episodes.items[i], err));
        show(s, "episodes", i + 1, s->episodes.count);
    }
    WK_TRY(write_lost(s, s->config->next_episode, err));
    WK_TRY(finish_segment(s, err));
    return wk_dir_sync(s->dir, err);
}

// Slots without their episode are no longer running.
static uint64_t stop_slots(salvage *s)
{
    uint64_t stopped = 0;
    for (int i = 0; i < s->config->n_slots; i++) {
        wk_salvage_slot *slot = &s->config->slots[i];
        bool kept = false;
        for (size_t k = 0; k < s->episodes.count; k++)
            kept |= s->episodes.items[k].id == slot->episode && s->episodes.items[k].kept;
        stopped += slot->running && !kept;
        slot->running &= kept;
    }
    return stopped;
}

// Ids that are neither kept nor known to have been evicted. Those before the last eviction of which
// nothing is left had most likely been evicted too.
static uint64_t count_lost(const salvage *s, uint64_t *kept)
{
    uint64_t known = 0, after_evicted = 0, before = 0;
    for (size_t i = 0; i < s->episodes.count; i++) {
        const episode *e = &s->episodes.items[i];
        if (e->evicted) after_evicted = e->id + 1;
    }
    *kept = 0;
    for (size_t i = 0; i < s->episodes.count; i++) {
        const episode *e = &s->episodes.items[i];
        *kept += e->kept;
        if (e->id >= after_evicted)
            known += e->kept;
        else
            before += !e->kept && !e->evicted;
    }
    return before + s->config->next_episode - after_evicted - known;
}

// How many episodes a true log can lack after the first that is kept: while that one made the steps
// the store holds of it, each of the other slots made no more. A checkpoint that counts further
// would have records of all of them written, until the disk is full.
static uint64_t lost_max(const salvage *s)
{
    uint64_t slots = (uint64_t)s->config->n_slots + 1;
    if (s->config->capacity > LOST_MAX / slots) return LOST_MAX;
    return slots * s->config->capacity + DROPPED_MAX;
}

static wk_status run(salvage *s, wk_salvaged *out, wk_error *err)
{
    bool any;
    uint64_t lowest = 0, highest = 0, last = s->config->mark.segment;
    WK_TRY(wk_log_list(s->dir, &any, &lowest, &highest, err));
    if (any && highest - lowest > SEGMENTS_MAX) return beyond_repair(s, "segments", err);
    if (last > NUMBER_MAX || highest > NUMBER_MAX || s->config->mark.sequence > NUMBER_MAX)
        return beyond_repair(s, "records", err);
    uint64_t end = !any ? lowest : (highest < last ? highest : last) + 1;
    show(s, "segments", 0, end - lowest);
    for (uint64_t number = lowest; number < end; number++) {
        WK_TRY(scan_segment(s, number, err));
        show(s, "segments", number - lowest + 1, end - lowest);
    }
    WK_TRY(group_records(s, err));
    evict_beyond(s);
    if (s->config->next_episode - first_kept(s) > lost_max(s) + s->episodes.count)
        return beyond_repair(s, "episodes", err);
    out->stopped = stop_slots(s);
    out->lost = count_lost(s, &out->kept);
    out->old_last = any ? highest : 0;
    out->first = (any && highest > last ? highest : last) + 1;
    s->buffer = malloc(WK_RECORD_HEADER + wk_record_payload_max(&s->config->shape));
    if (!s->buffer) return no_memory(err);
    WK_TRY(write_log(s, out->first, err));
    out->mark = s->end;
    return WK_OK;
}

wk_status wk_replay_log_salvage(const wk_dir *dir, wk_salvage_config *config, wk_salvaged *out,
                                wk_error *err)
{
    salvage s = {.dir = dir, .config = config, .fd = -1};
    if (config->segment_bytes == 0) config->segment_bytes = (uint64_t)64 << 20;
    wk_status status = run(&s, out, err);
    if (s.fd >= 0) close(s.fd);
    wk_file_reader_close(s.source);
    wk_array_free(&s.records);
    wk_array_free(&s.episodes);
    free(s.buffer);
    return status;
}
