#include "replay/log.h"
#include "replay/log_format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wk_replay_log {
    wk_replay *replay;
    wk_journal journal;
    wk_log_index index; // its end is where the next record goes
    int fd;             // of the last segment; -1: none
    uint64_t segment_bytes;
    bool keep_after_mark; // see wk_replay_log_config
    bool lost_names;      // segments were deleted or renamed since the directory was synced
    wk_dir *dir;
    char path[WK_PATH_MAX];
    unsigned char record[]; // one on its way to the file
};

static wk_status sync_file(const wk_replay_log *log, wk_error *err)
{
    return fsync(log->fd) != 0 ? wk_file_error(err, "cannot make durable", log->path) : WK_OK;
}

static wk_status remove_segment(const wk_dir *dir, uint64_t number, wk_error *err)
{
    char name[WK_LOG_NAME_MAX];
    wk_log_name(number, name);
    return wk_dir_remove(dir, name, err);
}

// Keeps a segment as damaged-replay-*.log, where the log does not see it: renamed, or copied while
// the original stays.
static wk_status keep_damaged(const wk_dir *dir, uint64_t number, bool copy, wk_error *err)
{
    char from[WK_LOG_NAME_MAX], to[WK_LOG_NAME_MAX];
    wk_entry there = WK_ENTRY_OTHER;
    wk_log_name(number, from);
    for (int again = 0; there != WK_ENTRY_NONE; again++) {
        char ending[16] = "";
        if (again > 0) snprintf(ending, sizeof ending, "-%d", again);
        snprintf(to, WK_LOG_NAME_MAX, "damaged-replay-%08llu%s.log", (unsigned long long)number,
                 ending);
        WK_TRY(wk_dir_stat(dir, to, &there, NULL, err));
    }
    return copy ? wk_file_copy_in(dir, from, to, err) : wk_dir_rename(dir, from, to, err);
}

// Begins segment `number` at the index's end. The segment before it is durable first, so that a
// sync needs only the last one. After a failure the log is as it was.
static wk_status begin_segment(wk_replay_log *log, uint64_t number, wk_error *err)
{
    char name[WK_LOG_NAME_MAX], path[WK_PATH_MAX];
    unsigned char bytes[WK_SEGMENT_HEADER];
    wk_replay_mark *end = &log->index.end;
    wk_segment_header header = {log->replay->shape, number, end->sequence, log->replay->next_id,
                                end->running_crc};
    int fd = -1;
    if (log->fd >= 0) WK_TRY(sync_file(log, err));
    WK_TRY(wk_log_path(log->dir, number, path, err));
    wk_log_name(number, name);
    WK_TRY(wk_dir_make_file(log->dir, name, O_TRUNC, &fd, err)); // durable, and through no link
    wk_segment_header_encode(&header, bytes);
    wk_status status = wk_fd_write(fd, path, 0, bytes, sizeof bytes, err);
    if (status != WK_OK) {
        close(fd);
        wk_dir_remove(log->dir, name, NULL);
        return status;
    }
    if (log->fd >= 0) close(log->fd);
    log->fd = fd;
    memcpy(log->path, path, sizeof path);
    end->segment = number;
    end->offset = sizeof bytes;
    return WK_OK;
}

// Header and payload go to the file in one piece.
static wk_status write_record(wk_replay_log *log, wk_record *record, const void *payload,
                              wk_error *err)
{
    wk_replay_mark *end = &log->index.end;
    if (end->offset >= log->segment_bytes) WK_TRY(begin_segment(log, end->segment + 1, err));
    record->sequence = end->sequence;
    record->running_crc = wk_record_crc(end->running_crc, record, payload);
    size_t size = sizeof *record + record->size;
    memcpy(log->record, record, sizeof *record);
    if (record->size > 0) memcpy(log->record + sizeof *record, payload, record->size);
    WK_TRY(wk_fd_write(log->fd, log->path, end->offset, log->record, size, err));
    end->offset += size;
    end->sequence++;
    end->running_crc = record->running_crc;
    return WK_OK;
}

static wk_status record_begin(void *context, const wk_replay_episode *episode, wk_error *err)
{
    wk_replay_log *log = context;
    const wk_row_shape *shape = &log->replay->shape;
    wk_begin_payload payload = {.slot = (uint32_t)episode->slot,
                                .theta_index = episode->theta_index};
    if (shape->n_params > 0)
        memcpy(payload.theta, episode->theta, (size_t)shape->n_params * sizeof(double));
    wk_record record = {.size = (uint32_t)wk_begin_payload_bytes(shape),
                        .kind = WK_RECORD_BEGIN,
                        .episode = episode->id};
    if (!wk_array_reserve(&log->index.episodes, 1))
        return wk_fail(err, WK_E_MEMORY, "no memory for the index of the replay log");
    WK_TRY(write_record(log, &record, &payload, err));
    return wk_log_index_begin(&log->index, episode->id, log->index.end.segment, err);
}

static wk_status record_rows(void *context, const wk_rows_record *rows, wk_error *err)
{
    wk_record record = {.size = (uint32_t)rows->size,
                        .kind = rows->open ? WK_RECORD_OPEN : WK_RECORD_ROWS,
                        .episode = rows->episode,
                        .first = rows->first,
                        .count = rows->count,
                        .ended = rows->ended};
    return write_record(context, &record, rows->block, err);
}

static wk_status record_evict(void *context, uint64_t episode, wk_error *err)
{
    wk_replay_log *log = context;
    wk_record record = {.kind = WK_RECORD_EVICT, .episode = episode};
    WK_TRY(write_record(log, &record, "", err));
    wk_log_index_evict(&log->index, episode, record.sequence);
    return WK_OK;
}

// Deletes (or keeps under another name) the segments after the index's end, the last one first, so
// that those left have no gap.
static wk_status remove_after(wk_replay_log *log, bool everything, wk_error *err)
{
    bool any;
    uint64_t lowest, highest, end = log->index.end.segment;
    WK_TRY(wk_log_list(log->dir, &any, &lowest, &highest, err));
    while (any && (everything || highest > end)) {
        WK_TRY(log->keep_after_mark ? keep_damaged(log->dir, highest, false, err)
                                    : remove_segment(log->dir, highest, err));
        WK_TRY(wk_log_list(log->dir, &any, &lowest, &highest, err));
    }
    log->lost_names = true;
    return WK_OK;
}

// Cuts the files at the index's end and makes ready to write there.
static wk_status cut(wk_replay_log *log, wk_error *err)
{
    uint64_t last = log->index.end.segment, size = log->index.end.offset;
    char name[WK_LOG_NAME_MAX];
    WK_TRY(remove_after(log, size == 0, err));
    if (size == 0) return begin_segment(log, 0, err);
    if (log->keep_after_mark) WK_TRY(keep_damaged(log->dir, last, true, err));
    WK_TRY(wk_log_path(log->dir, last, log->path, err));
    wk_log_name(last, name);
    WK_TRY(wk_dir_open_file(log->dir, name, O_RDWR, &log->fd, err));
    struct stat info;
    if (fstat(log->fd, &info) != 0) return wk_file_error(err, "cannot read", log->path);
    if (info.st_size == (off_t)size) return WK_OK; // not even its time changes
    return ftruncate(log->fd, (off_t)size) != 0 ? wk_file_error(err, "cannot shorten", log->path)
                                                : WK_OK;
}

static wk_status open_log(wk_replay_log *log, const wk_replay_log_config *config,
                          const wk_replay_mark *mark, wk_error *err)
{
    if (config->in) {
        WK_TRY(wk_dir_make(config->in, config->directory, &log->dir, err));
    } else {
        WK_TRY(wk_dir_create(config->directory, err));
        WK_TRY(wk_dir_open(NULL, config->directory, &log->dir, err));
    }
    WK_TRY(wk_log_restore(log->dir, mark, log->replay, &log->index, err));
    if (config->accept) WK_TRY(config->accept(config->context, err));
    return cut(log, err);
}

wk_status wk_replay_log_open(const wk_replay_log_config *config, const wk_replay_mark *mark,
                             wk_replay *replay, wk_replay_log **out, wk_error *err)
{
    wk_replay_log *log =
        calloc(1, sizeof *log + WK_RECORD_HEADER + wk_record_payload_max(&replay->shape));
    if (!log)
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory for the replay log", config->directory);
    log->replay = replay;
    log->fd = -1;
    log->segment_bytes = config->segment_bytes ? config->segment_bytes : (uint64_t)64 << 20;
    log->keep_after_mark = config->keep_after_mark;
    wk_status status = open_log(log, config, mark, err);
    if (status != WK_OK) {
        wk_replay_log_close(log);
        return status;
    }
    log->journal = (wk_journal){log, record_begin, record_rows, record_evict};
    replay->journal = &log->journal;
    *out = log;
    return WK_OK;
}

void wk_replay_log_close(wk_replay_log *log)
{
    if (!log) return;
    if (log->replay->journal == &log->journal) log->replay->journal = NULL;
    if (log->fd >= 0) close(log->fd);
    wk_array_free(&log->index.episodes);
    wk_dir_close(log->dir);
    free(log);
}

wk_status wk_replay_log_sync(wk_replay_log *log, wk_replay_mark *mark, wk_error *err)
{
    WK_TRY(wk_replay_record_open(log->replay, err));
    WK_TRY(sync_file(log, err));
    if (log->lost_names) WK_TRY(wk_dir_sync(log->dir, err));
    log->lost_names = false;
    *mark = log->index.end;
    mark->rows = log->replay->stats.rows;
    return WK_OK;
}

wk_status wk_replay_log_prune(wk_replay_log *log, const wk_replay_mark *oldest, wk_error *err)
{
    // The first segment that an episode stored at the mark begins in. Episodes evicted before it
    // are forgotten.
    wk_log_index *index = &log->index;
    uint64_t first = oldest->segment;
    size_t kept = 0;
    for (size_t i = 0; i < index->episodes.count; i++) {
        wk_log_episode episode = index->episodes.items[i];
        if (episode.evicted < oldest->sequence) continue;
        if (episode.segment < first) first = episode.segment;
        index->episodes.items[kept++] = episode;
    }
    index->episodes.count = kept;
    while (index->lowest < first) {
        WK_TRY(remove_segment(log->dir, index->lowest, err));
        log->lost_names = true;
        index->lowest++;
    }
    return WK_OK;
}
