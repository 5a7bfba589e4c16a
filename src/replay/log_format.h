// The log on disk: names of segments, and their bytes (headers and records, little-endian).
// docs/reliability.md has the tables. And rebuilding a store from it, which wk_replay_log_open and
// wk_replay_log_read share.
#ifndef WK_REPLAY_LOG_FORMAT_H
#define WK_REPLAY_LOG_FORMAT_H

#include "base/file.h"
#include "replay/codec.h"
#include "replay/log.h"
#include "replay/store.h"

enum { WK_LOG_NAME_MAX = 64 };

/// The name of segment `number`.
void wk_log_name(uint64_t number, char name[WK_LOG_NAME_MAX]);
/// Its path, for messages; refuses directories with too long a name.
wk_status wk_log_path(const wk_dir *dir, uint64_t number, char path[WK_PATH_MAX], wk_error *err);

/// The lowest and highest segment numbers in the directory; false in `any` when there is none.
wk_status wk_log_list(const wk_dir *dir, bool *any, uint64_t *lowest, uint64_t *highest,
                      wk_error *err);

enum { WK_SEGMENT_HEADER = 64, WK_RECORD_HEADER = 40 };

/// What a segment file begins with.
typedef struct wk_segment_header {
    wk_row_shape shape;
    uint64_t number;       // as in the file's name
    uint64_t sequence;     // of its first record
    uint64_t next_episode; // the id that the next begun episode gets
    uint32_t running_crc;  // running checksum of the records before it
} wk_segment_header;

void wk_segment_header_encode(const wk_segment_header *header, unsigned char *bytes);
/// NULL, or what is wrong with the bytes.
const char *wk_segment_header_decode(const unsigned char *bytes, wk_segment_header *header);

typedef enum wk_record_kind {
    WK_RECORD_BEGIN = 1, // an episode begins
    WK_RECORD_ROWS = 2,  // a block of rows
    WK_RECORD_OPEN = 3,  // rows that a later block repeats
    WK_RECORD_EVICT = 4, // an episode was dropped
} wk_record_kind;

/// A record without its payload, as it lies in the file.
typedef struct wk_record {
    uint32_t size; // bytes of payload
    uint32_t kind;
    uint64_t sequence;
    uint64_t episode;
    uint32_t first, count; // rows
    uint32_t ended;        // 1: the episode ends with these rows
    uint32_t running_crc;  // running checksum, this record included
} wk_record;

/// The running checksum after a record.
uint32_t wk_record_crc(uint32_t running_crc, const wk_record *record, const void *payload);

/// The payload of WK_RECORD_BEGIN; the file has as many θ as the domain has parameters.
typedef struct wk_begin_payload {
    uint32_t slot, zero;
    int64_t theta_index;
    double theta[WK_PARAMS_MAX];
} wk_begin_payload;
size_t wk_begin_payload_bytes(const wk_row_shape *shape);

/// Maximum bytes of a record's payload.
size_t wk_record_payload_max(const wk_row_shape *shape);

/// An episode whose beginning is in the log.
typedef struct wk_log_episode {
    uint64_t id;
    uint64_t segment; // where it begins
    uint64_t evicted; // sequence number of its eviction; UINT64_MAX while it is stored
} wk_log_episode;

/// What is known of a log's content.
typedef struct wk_log_index {
    WK_ARRAY(wk_log_episode) episodes; // by id
    uint64_t lowest;                   // segment number
    wk_replay_mark end;
} wk_log_index;

wk_status wk_log_index_begin(wk_log_index *index, uint64_t id, uint64_t segment, wk_error *err);
void wk_log_index_evict(wk_log_index *index, uint64_t id, uint64_t sequence);

/// Rebuilds `replay` from the log up to `mark` (NULL: to its last complete record). The index must
/// be zero before and freed by the caller, also on failure.
wk_status wk_log_restore(const wk_dir *dir, const wk_replay_mark *mark, wk_replay *replay,
                         wk_log_index *index, wk_error *err);

#endif
