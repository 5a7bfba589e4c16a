// run.bin: what a checkpoint holds besides the weights, as bytes and back.
//
//   header        magic, size of the file, hash of the configuration, environments, MuJoCo, replay
//   mark plain memory  counters, running episodes, actions, images, vectors, first flags, the
//   schedule blocks        curriculum; recurrent states (where a policy acts); one for each
//   environment,
//                 empty where none runs. Each is a length of 8 bytes and that many bytes
//   checksum      CRC-32C of all before it
//
// Reading validates everything that the loop relies on, so that a file with a correct checksum and
// wrong content is refused like a damaged one.
#ifndef WK_RUN_CHECKPOINT_RUN_FILE_H
#define WK_RUN_CHECKPOINT_RUN_FILE_H

#include "base/text.h"
#include "log/metrics.h"
#include "replay/log.h"
#include "waker/curriculum.h"

/// Everything that changes and is small: one struct, saved as it is.
typedef struct wk_trainer_counters {
    uint64_t iterations, steps, episodes, updates, diverged;
    uint64_t steps_since_update; // collected
    uint64_t acting;             // whether the policy has begun to act
} wk_trainer_counters;

/// What an environment does: waits for the next θ, runs an episode, or runs one that is scored for
/// the curriculum and never learned from.
enum { WK_EPISODE_NONE, WK_EPISODE_RUNS, WK_EPISODE_SCORED };

/// One environment's running episode, saved as it is.
typedef struct wk_running_episode {
    uint64_t episode, theta_index;
    uint64_t steps;
    uint64_t active; // WK_EPISODE_...
    double theta[WK_PARAMS_MAX];
    float returns[WK_TASKS_MAX];
    float completion[WK_TASKS_MAX];
} wk_running_episode;

/// Where the logs of a run end, and the agent steps at which something is due next.
typedef struct wk_run_schedule {
    wk_metrics_mark metrics;
    int64_t next_log, next_snapshot, next_images, next_eval;
    int64_t last_eval;        // that was finished
    uint64_t copied_episodes; // in the replay; the ids of the run's own follow theirs there
} wk_run_schedule;

/// Bytes of a schedule in the file; the rest is zero.
enum { WK_RUN_SCHEDULE_BYTES = 512 };

/// What no counter exceeds: far beyond any run, and exact as a double.
#define WK_RUN_COUNT_MAX ((uint64_t)1 << 53)

/// What the file begins with.
typedef struct wk_run_header {
    char magic[8];
    uint64_t size;    // of the whole file, checksum included
    uint64_t config;  // hash of the configuration
    uint64_t running; // environments
    uint64_t engine;  // MuJoCo's version that they ran with (wk_domain_engine)
    wk_replay_mark replay;
} wk_run_header;

/// Where the state of a run lies while it is written or read. For reading the curriculum alone,
/// only count, domain, and curriculum are needed.
typedef struct wk_run_state {
    int count;            // environments
    uint64_t train_every; // steps for an update
    const wk_domain *domain;
    wk_trainer_counters *counters;
    wk_running_episode *running; // [count]
    float *actions;              // [count,A]
    uint8_t *images;             // [count,64,64,3]; unused without images
    float *vectors;              // [count,V]; unused without vectors
    uint8_t *first;              // [count]
    wk_run_schedule *schedule;
    wk_curriculum *curriculum;
    void *acting; // recurrent states; their size is 0 where no policy acts
    size_t acting_size;
    wk_vec *vec;
} wk_run_state;

/// Bytes of the vectors that `count` environments of a domain show.
static inline size_t wk_run_vector_bytes(const wk_domain *domain, int count)
{
    return (size_t)count * (size_t)domain->observation.vector * sizeof(float);
}

/// Appends the file's bytes; the caller checks `out` for lack of memory.
wk_status wk_run_file_write(const wk_run_state *state, uint64_t config, const wk_replay_mark *mark,
                            wk_text *out, wk_error *err);

/// Whether the bytes are a complete, undamaged file; gives its header. `path` is for the message.
wk_status wk_run_file_check(const void *bytes, size_t size, const char *path, wk_run_header *out,
                            wk_error *err);

/// Reads a file that was checked. After a failure the state is partly overwritten.
wk_status wk_run_file_read(const void *bytes, size_t size, const wk_run_state *state,
                           wk_error *err);

/// Reads its counters and nothing else; zeros where it is too short for them.
wk_trainer_counters wk_run_file_counters(const void *bytes, size_t size);

/// Reads its curriculum and nothing else.
wk_status wk_run_file_read_curriculum(const void *bytes, size_t size, const wk_run_state *state,
                                      wk_error *err);

#endif
