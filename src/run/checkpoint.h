// What a run continues from: checkpoints of the process that trains there. Reading them is safe
// while it trains: names step-* are complete ones only, and readers write nothing.
//
// run.bin is what a checkpoint holds besides the weights, as bytes:
//
//   header        magic, size of the file, hash of the configuration, environments, MuJoCo, replay
//                 mark
//   plain memory  counters, running episodes, actions, images, vectors, first flags, the schedule
//   blocks        curriculum; recurrent states (where a policy acts); one for each environment,
//                 empty where none runs. Each is a length of 8 bytes and that many bytes
//   checksum      CRC-32C of all before it
//
// Reading validates everything that the loop relies on, so that a file with a correct checksum and
// wrong content is refused like a damaged one.
//
// Resuming deletes nothing: a checkpoint that cannot be resumed, because it or the replay log is
// damaged, is renamed damaged-step-*, and what the log has beyond the checkpoint that is used is
// kept under another name. A damaged checkpoint is distinguished from one that cannot be read at
// the moment: the latter stops the run and changes nothing.
//
// A run that has no checkpoint yet has the file checkpoints/none-yet. Only there may metrics and
// replay be begun anew; without it they belong to checkpoints that are missing.
#ifndef WK_RUN_CHECKPOINT_H
#define WK_RUN_CHECKPOINT_H

#include "agent/acting.h"
#include "base/text.h"
#include "config/config.h"
#include "log/metrics.h"
#include "replay/log.h"
#include "run/disk.h"
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

/// Bytes of a schedule in run.bin; the rest is zero.
enum { WK_RUN_SCHEDULE_BYTES = 512 };

/// What no counter exceeds: far beyond any run, and exact as a double.
#define WK_RUN_COUNT_MAX ((uint64_t)1 << 53)

/// What run.bin begins with.
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

/// Appends the bytes of run.bin; the caller checks `out` for lack of memory.
wk_status wk_run_file_write(const wk_run_state *state, uint64_t config, const wk_replay_mark *mark,
                            wk_text *out, wk_error *err);

/// Whether the bytes are a complete, undamaged run.bin; gives its header. `path` is for the
/// message.
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

/// In the directory of a run, and in that of a checkpoint.
#define WK_CHECKPOINT_FOLDER "checkpoints"
#define WK_CHECKPOINT_NONE_YET "none-yet" // a run that has not saved yet
#define WK_CHECKPOINT_RUN_FILE "run.bin"
#define WK_CHECKPOINT_LEARNER_FILE "learner.safetensors"

/// Adds the agent steps of the checkpoints of a run, the oldest first; a run without any is fine.
wk_status wk_checkpoint_list(const char *directory, wk_steps *out, wk_error *err);

/// The newest one whose run.bin is complete. WK_E_NOT_FOUND when the run has none yet.
wk_status wk_checkpoint_newest(const char *directory, uint64_t *step, wk_error *err);

/// Contents of a checkpoint in numbers.
typedef struct wk_checkpoint_summary {
    wk_run_header head;
    wk_trainer_counters counters;
    uint64_t learner_bytes; // of its weights
} wk_checkpoint_summary;
wk_status wk_checkpoint_summarise(const char *directory, uint64_t step, wk_checkpoint_summary *out,
                                  wk_error *err);

/// Opens a checkpoint that was listed in a run's folder of them. That it cannot be opened says
/// nothing about what is in it: WK_E_IO.
wk_status wk_checkpoint_open(const wk_dir *checkpoints, uint64_t step, wk_dir **out, wk_error *err);

/// Reads and checks run.bin of the checkpoint in `folder`; `bytes` is malloc'd.
wk_status wk_checkpoint_read(const wk_dir *folder, char **bytes, wk_run_header *head,
                             wk_error *err);

/// Verifies every checksum of it, and of the replay log up to its mark.
wk_status wk_checkpoint_verify(const char *directory, uint64_t step, wk_error *err);

/// Loads its curriculum into one made for the run's rule and domain, and nothing else.
wk_status wk_checkpoint_curriculum(const char *directory, uint64_t step, const wk_domain *domain,
                                   wk_curriculum *curriculum, wk_error *err);

/// Everything a run continues from, by the file that holds it. All belong to the caller.
typedef struct wk_checkpoint_parts {
    const wk_run_config *config; // its hash is in run.bin
    wk_run_state state;          // run.bin: counters, episodes, logs, curriculum, environments
    wk_acting *acting;           // run.bin: recurrent states, by way of state.acting; NULL: none
    wk_learner *learner;         // learner.safetensors: weights, optimisers and their counters
    wk_replay **replay;          // its mark is in run.bin; made here, from replay/
    wk_replay_log **replay_log;  // opened here
    wk_pool *pool;               // of the replay; borrowed
    const wk_space *space;       // that the replay's episodes have their θ from
} wk_checkpoint_parts;

/// Zero-initialise; close it also after a failed open.
typedef struct wk_checkpoints {
    const wk_dir *run; // borrowed
    wk_dir *dir;       // run/checkpoints
    wk_checkpoint_parts parts;
    int64_t resumed_from;  // step of the checkpoint that was resumed, or -1 for a new run
    uint64_t engine;       // MuJoCo's version in that checkpoint, 0 without
    char trouble[1024];    // why a newer one was not usable; "" when it was
    wk_run_schedule saved; // as the newest checkpoint has it
} wk_checkpoints;

/// Resumes from the newest checkpoint that is undamaged, its replay data included; in a directory
/// where a run may begin it makes an empty replay with its log and leaves the other parts alone.
/// Nothing is cut or deleted before the checkpoint is loaded.
wk_status wk_checkpoints_open(const wk_dir *run, const wk_checkpoint_parts *parts,
                              wk_checkpoints *out, wk_error *err);

/// Writes a checkpoint of the parts as they are now, durably, and removes those beyond
/// config.checkpoint_keep. One of the same step is brought up to date if more was logged since.
wk_status wk_checkpoints_save(wk_checkpoints *checkpoints, wk_error *err);

void wk_checkpoints_close(wk_checkpoints *checkpoints);

/// Deletes what saves that were killed have left; opening does it.
wk_status wk_checkpoints_remove_unfinished(const wk_dir *checkpoints, wk_error *err);

/// Removes what opening made in the directory of a run that did not begin after all.
void wk_checkpoints_retract(const wk_dir *run);

#endif
