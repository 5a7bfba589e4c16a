// The configuration of a run. A key is one row of WK_RUN_FIELDS, or of the part's list that it
// contains (model/config.h, curriculum/config.h): the struct, the part's own struct, the keys of
// files and of the command line, the block `defaults`, ranges, help, completion, printing, the
// hash and the table in docs/configuration.md all come from it. Values
// are parsed from text by one cast rule (dreamer's): a value takes the type of the field it
// replaces.
#ifndef WK_CONFIG_CONFIG_H
#define WK_CONFIG_CONFIG_H

#include "base/file.h"
#include "base/text.h"
#include "curriculum/config.h"
#include "model/config.h"
#include "waker/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WK_RUN_TEXT_MAX = 256 }; // bytes of a text, its final zero included

/// The number of saved runs: their configurations have exactly the keys below, and no other number
/// is read.
enum { WK_RUN_FORMAT = 12 };

/// Kinds of values. A list is names with commas between them.
typedef enum wk_run_kind {
    WK_RUN_BOOL,
    WK_RUN_INT,
    WK_RUN_COUNT, // int64_t
    WK_RUN_SEED,  // uint64_t
    WK_RUN_NUMBER,
    WK_RUN_TEXT,
    WK_RUN_LIST,
} wk_run_kind;

typedef bool wk_run_BOOL;
typedef int wk_run_INT;
typedef int64_t wk_run_COUNT;
typedef uint64_t wk_run_SEED;
typedef double wk_run_NUMBER;
typedef char wk_run_TEXT[WK_RUN_TEXT_MAX];
typedef char wk_run_LIST[WK_RUN_TEXT_MAX];

/// Whether a value shapes what a run computes (FIXED: a run cannot be resumed with another) or only
/// how long it runs and what it logs (FREE).
enum { WK_RUN_FREE, WK_RUN_FIXED };

/// X(kind, field, key, default, min, max, role, paper, authors, meaning) For texts, `min` is 0 and
/// `max` the choices ("a|b") or 0 for any. Whoever adds or removes a key counts WK_RUN_FORMAT up.
/// `paper` and `authors` say what the paper and its authors' code use: "=" where it is the default,
/// "" where they have no such thing. Counts are agent steps (one action, repeated by the domain)
/// unless they say so. The order is that of config.yaml and of the hash.
#define WK_RUN_FIELDS(X)                                                                           \
    X(SEED, seed, "seed", 0, 0, 0, FIXED, "", "", "seed of everything random in the run")          \
    X(COUNT, steps, "steps", 3700000, 1, 1e15, FREE, "=", "=",                                     \
      "agent steps to collect, prefill included; the paper counts control steps, twice as many")   \
    X(NUMBER, minutes, "minutes", 0, 0, 1e9, FREE, "", "",                                         \
      "save and stop after this many minutes; 0: no limit")                                        \
    X(TEXT, domain, "domain", "terrain-walker", 0, 0, FIXED, "=", "=",                             \
      "built-in domain ('waker envs' lists them)")                                                 \
    X(TEXT, plugin, "plugin", "", 0, 0, FIXED, "", "",                                             \
      "plug-in (FILE) or Python function (FILE.py:FUNCTION) that provides the domain")             \
    X(INT, env_count, "env.count", 8, 1, 1024, FIXED, "", "",                                      \
      "environments that step in parallel")                                                        \
    X(INT, env_threads, "env.threads", 0, 0, 1024, FREE, "", "",                                   \
      "threads that step the environments; 0: one per core")                                       \
    X(LIST, env_options, "env.options", "", 0, 0, FIXED, "", "",                                   \
      "options of the domain: name=choice, ...")                                                   \
    X(TEXT, curriculum_rule, "curriculum.rule", "waker-m", 0, 0, FIXED, "=", "=",                  \
      "how the parameters of the next episode are chosen")                                         \
    X(TEXT, curriculum_plugin, "curriculum.plugin", "", 0, 0, FIXED, "", "",                       \
      "plug-in (FILE) that provides the rule instead")                                             \
    X(TEXT, curriculum_theta, "curriculum.theta", "", 0, 0, FIXED, "", "",                         \
      "environments to choose from, as 'a,b; c,d'; empty: the domain's grid")                      \
    X(TEXT, curriculum_space, "curriculum.space", "grid", 0, "grid|continuous", FIXED, "=", "=",   \
      "where θ lie: on the domain's grid, or anywhere in the parameters' ranges")                  \
    WK_CURRICULUM_FIELDS(X)                                                                        \
    X(COUNT, prefill, "prefill", 100000, 0, 1e15, FIXED, "=", "=",                                 \
      "agent steps of random actions before training begins")                                      \
    X(INT, train_every, "train_every", 8, 1, 1000000, FIXED, "=", "=", "agent steps per update")   \
    X(TEXT, exploration, "exploration", "plan2explore", 0, "plan2explore|random", FIXED, "=", "=", \
      "policy that collects the data")                                                             \
    X(LIST, tasks, "tasks", "none", 0, 0, FIXED, "=", "all",                                       \
      "task policies trained alongside: none, all, or names")                                      \
    X(TEXT, acting, "acting", "exploration", 0, 0, FIXED, "=", "=",                                \
      "policy that acts after the prefill: exploration, or one of tasks")                          \
    X(COUNT, replay_capacity, "replay.capacity", 3000000, 2, 1e12, FIXED, "=", "=",                \
      "agent steps the replay buffer keeps")                                                       \
    X(NUMBER, replay_memory_limit, "replay.memory_limit", 0, 0, 1e6, FREE, "", "",                 \
      "GiB the replay buffer may take; 0: the machine's free memory")                              \
    X(TEXT, replay_resident, "replay.resident", "auto", 0, "auto|on|off", FREE, "", "",            \
      "keep frames in GPU memory too, to gather batches there; auto: if they fit")                 \
    X(TEXT, replay_episodes, "replay.episodes", "all", 0, "all|complete", FIXED, "", "complete",   \
      "episodes that batches are sampled from: all, also running ones, or only complete ones")     \
    WK_LEARNER_FIELDS(X)                                                                           \
    X(COUNT, checkpoint_every_steps, "checkpoint.every_steps", 100000, 0, 1e15, FREE, "", "",      \
      "agent steps between checkpoints; 0: by time only")                                          \
    X(NUMBER, checkpoint_every_minutes, "checkpoint.every_minutes", 10, 0, 1e6, FREE, "", "",      \
      "minutes between checkpoints; 0: by steps only")                                             \
    X(INT, checkpoint_keep, "checkpoint.keep", 2, 1, 1000, FREE, "", "",                           \
      "number of checkpoints to keep, the newest")                                                 \
    X(COUNT, snapshot_every, "snapshot.every", 500000, 0, 1e15, FREE, "", "",                      \
      "agent steps between snapshots of the weights for evaluation; 0: only the last one")         \
    X(COUNT, eval_every, "eval.every", 0, 0, 1e15, FREE, "", "",                                   \
      "agent steps between evaluations of the task policies trained alongside; 0: none")           \
    X(INT, eval_envs, "eval.envs", 100, 1, 100000, FREE, "=", "",                                  \
      "environments of the default distribution per evaluation, one episode each")                 \
    X(BOOL, eval_fresh, "eval.fresh", false, 0, 1, FREE, "", "true",                               \
      "evaluate in new environments for every run and agent step; false: always in the same")      \
    X(COUNT, log_every, "log.every", 5000, 1, 1e15, FREE, "", "10000",                             \
      "agent steps between lines of metrics.jsonl")                                                \
    X(COUNT, log_images_every, "log.images_every", 100000, 0, 1e15, FREE, "", "",                  \
      "agent steps between images and clips; 0: none")                                             \
    X(BOOL, log_tensorboard, "log.tensorboard", true, 0, 1, FREE, "", "=",                         \
      "write TensorBoard event files")                                                             \
    X(BOOL, log_timing, "log.timing", false, 0, 1, FREE, "", "",                                   \
      "write speeds into metrics.jsonl too; its bytes then differ from run to run")                \
    X(TEXT, device, "device", "auto", 0, 0, FREE, "", "",                                          \
      "where to compute: auto, cpu, cuda or cuda:N")                                               \
    X(TEXT, precision, "precision", "auto", 0, "auto|f32|bf16", FIXED, "", "",                     \
      "precision of matrix products; auto: f32 on a CPU, bf16 on a GPU")

typedef struct wk_run_config {
#define FIELD(kind, field, ...) wk_run_##kind field;
    WK_RUN_FIELDS(FIELD)
#undef FIELD
} wk_run_config;

/// One row of the list, for code that treats all fields alike.
typedef struct wk_run_field {
    const char *key;
    wk_run_kind kind;
    size_t offset;
    double min, max;     // of numbers
    const char *choices; // of texts; NULL for any
    int role;
    const char *paper, *authors, *meaning;
} wk_run_field;

enum {
#define FIELD(kind, field, ...) WK_RUN_##field##_INDEX,
    WK_RUN_FIELDS(FIELD)
#undef FIELD
        WK_RUN_FIELD_COUNT
};

extern const wk_run_field wk_run_fields[WK_RUN_FIELD_COUNT];
/// The keys, in the same order; for look-ups of the nearest.
extern const char *const wk_run_keys[WK_RUN_FIELD_COUNT];

/// The values of the list, which are those of the block `defaults`.
wk_run_config wk_run_config_default(void);

/// Number of the field called key[0 ... length-1], or -1.
int wk_run_field_find(const char *key, size_t length);

/// Whether a key is about `word`: it or its meaning has the word, in capitals or not, with '-', '_'
/// or a blank between parts; "lr" is "learning rate".
bool wk_run_field_is_about(int field, const char *word);

/// WK_E_INPUT for a key that does not exist, naming the nearest, or the keys of a group.
wk_status wk_run_field_unknown(const char *key, wk_error *err);

/// Casts `text` to the field's type and stores it: "3e6" is a whole number, "0.5" is not one.
/// Refuses what is out of range or no choice, naming the key.
wk_status wk_run_config_set(wk_run_config *config, int field, const char *text, wk_error *err);

/// Appends the value as text that wk_run_config_set reads back as the same value.
void wk_run_config_get(const wk_run_config *config, int field, wk_text *out);

/// Whether two configurations have the same value there.
bool wk_run_config_same(const wk_run_config *a, const wk_run_config *b, int field);

/// A number made of everything that shapes the results (role FIXED).
uint64_t wk_run_config_hash(const wk_run_config *config);

/// Whether a run saved with `old` may go on with `now`; the error names the first value that
/// differs and must not.
wk_status wk_run_config_resumable(const wk_run_config *old, const wk_run_config *now,
                                  wk_error *err);

/// The block `defaults`: every key with its default, as YAML.
void wk_run_defaults_print(wk_text *out);

/// The configuration as YAML with nested keys, complete, with its format.
void wk_run_config_print(const wk_run_config *config, wk_text *out);

/// Writes it atomically (a name in a directory, base/file.h) / reads it. A file of another
/// format, or that lacks a key, is refused. Errors name file and line.
wk_status wk_run_config_write_in(const wk_run_config *config, const wk_dir *in, const char *name,
                                 wk_error *err);
wk_status wk_run_config_read(const char *path, wk_run_config *out, wk_error *err);

#endif
