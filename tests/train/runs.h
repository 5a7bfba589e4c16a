// What tests of whole runs share: the smallest configuration that does everything, directories, and
// comparing what two runs left behind.
#ifndef WK_TESTS_RUNS_H
#define WK_TESTS_RUNS_H

#include "base/file.h"
#include "config/config.h"
#include "run/checkpoint.h"
#include "run/weights.h"
#include "support/check.h"
#include "support/files.h"
#include "train/train.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/// A run of about 60 updates in a fraction of a second, as options of the program.
#define TINY_OPTIONS "--configs toy " TINY_KEYS
#define TINY_KEYS                                                                                  \
    "--seed 5 --steps 400 --prefill 60 --env.count 3 --env.threads 1 --train_every 6 "             \
    "--replay.capacity 2000 --encoder.depth 1 --rssm.deter 6 --rssm.hidden 6 --rssm.stoch 3 "      \
    "--rssm.classes 3 --units 6 --layers 1 --ensemble.size 2 --batch 2 --length 6 --horizon 3 "    \
    "--checkpoint.every_steps 50 --snapshot.every 200 --log.every 30 --log.images_every 90"

/// The same for a run inside the test.
static inline wk_run_config tiny_run(void)
{
    wk_run_config c = wk_run_config_default();
    snprintf(c.domain, sizeof c.domain, "toy");
    c.seed = 5, c.steps = 400, c.prefill = 60, c.env_count = 3, c.env_threads = 1;
    c.train_every = 6, c.replay_capacity = 2000;
    c.depth = 1, c.deter = 6, c.hidden = 6, c.stoch = 3, c.classes = 3;
    c.units = 6, c.layers = 1, c.ensemble = 2, c.batch = 2, c.length = 6, c.horizon = 3;
    c.checkpoint_every_steps = 50, c.snapshot_every = 200, c.log_every = 30;
    c.log_images_every = 90;
    return c;
}

/// The same without TensorBoard files.
static inline wk_run_config quiet_run(void)
{
    wk_run_config config = tiny_run();
    config.log_tensorboard = false;
    return config;
}

/// Asks a run to stop once so many checkpoints were reported; count_checkpoints is its log's sink.
typedef struct stopper {
    volatile sig_atomic_t stop;
    int checkpoints;
} stopper;

static inline void count_checkpoints(void *context, wk_log_level level, const char *message)
{
    stopper *s = context;
    (void)level;
    if (strstr(message, "checkpoint at ") && --s->checkpoints == 0) s->stop = 1;
}

/// Trains in `directory` to the end.
static inline void run_to_end(const wk_run_config *config, const char *directory)
{
    wk_error err = {0};
    wk_run_control control = {0};
    wk_run_end end;
    assert_ok(wk_train(config, directory, NULL, &control, &end, &err));
    assert_int_equal(end, WK_RUN_FINISHED);
}

/// Flips a bit of a file.
static inline void damage(const char *path, uint64_t at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, (long)at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, (long)at, SEEK_SET);
    fputc(byte ^ 0x40, file);
    fclose(file);
}

/// Fails unless DIRECTORY_A/NAME and DIRECTORY_B/NAME exist and agree, `head` bytes at their
/// beginning and `tail` at their end left out.
static inline void same_file(const char *a, const char *b, const char *name, size_t head,
                             size_t tail)
{
    wk_error err = {0};
    char path[1024], *bytes[2];
    size_t size[2];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", i ? b : a, name);
        assert_ok(wk_file_read(path, 1 << 26, &bytes[i], &size[i], &err));
    }
    if (size[0] != size[1])
        fail_msg("%s: %zu bytes in %s, %zu in %s", name, size[0], a, size[1], b);
    assert_true(size[0] > head + tail);
    for (size_t i = head; i < size[0] - tail; i++)
        if (bytes[0][i] != bytes[1][i]) fail_msg("%s differs at byte %zu", name, i);
    free(bytes[0]);
    free(bytes[1]);
}

/// The first `most` steps of a kind that is not by task; returns how many there are.
static inline size_t weights_steps(const char *run, wk_weights_kind kind, uint64_t *steps,
                                   size_t most)
{
    wk_error err = {0};
    wk_steps all = {0};
    assert_ok(wk_weights_steps(run, (wk_weights_source){.kind = kind}, &all, &err));
    size_t count = all.count;
    for (size_t i = 0; i < count && i < most; i++)
        steps[i] = all.items[i];
    wk_array_free(&all);
    return count;
}

/// The step of the newest checkpoint.
static inline uint64_t newest_step(const char *directory)
{
    wk_error err = {0};
    uint64_t step = 0;
    assert_ok(wk_checkpoint_newest(directory, &step, &err));
    return step;
}

/// Fails unless the two files exist and differ.
static inline void other_file(const char *a, const char *b, const char *name)
{
    char path[1024];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", i ? b : a, name);
        assert_int_equal(access(path, F_OK), 0);
    }
    char command[2200];
    snprintf(command, sizeof command, "cmp -s %s/%s %s/%s", a, name, b, name);
    if (system(command) == 0) fail_msg("%s is the same in %s and %s", name, a, b);
}

/// Does a work until it has ended, asked to stop after so many checkpoints again and again.
typedef wk_status work_of(const void *config, const wk_run_control *control, wk_run_end *end,
                          wk_error *err);
static inline void in_pieces(work_of *work, const void *config, int checkpoints, int stops_min)
{
    wk_error err = {0};
    wk_run_end end = WK_RUN_INTERRUPTED;
    int stops = 0;
    for (; end != WK_RUN_FINISHED; stops++) {
        stopper s = {.checkpoints = checkpoints};
        wk_run_control control = {.stop = &s.stop, .log = {count_checkpoints, &s, WK_LOG_DEBUG}};
        assert_ok(work(config, &control, &end, &err));
        assert_true(stops < 30);
    }
    assert_true(stops > stops_min);
}

/// Fails unless both runs ended in the same weights and optimisers.
static inline void same_weights(const char *a, const char *b)
{
    char name[128];
    uint64_t step = newest_step(a);
    assert_int_equal(step, newest_step(b));
    snprintf(name, sizeof name, "checkpoints/step-%012" PRIu64 "/learner.safetensors", step);
    same_file(a, b, name, 0, 0);
    snprintf(name, sizeof name, "snapshots/step-%012" PRIu64 ".safetensors", step);
    same_file(a, b, name, 0, 0);
}

/// The same, and in the same measurements.
static inline void same_learning(const char *a, const char *b)
{
    same_file(a, b, "metrics.jsonl", 0, 0);
    same_weights(a, b);
}

/// The same, and environments, curriculum, recurrent states and counters too. For runs without
/// TensorBoard files, whose names a checkpoint holds. Left out is where the replay log ends: how
/// its blocks are cut depends on when it was made durable; and the checksum over that.
static inline void same_end(const char *a, const char *b)
{
    char name[128];
    enum { HEADER = sizeof(wk_run_header), CHECKSUM = 4 };
    same_learning(a, b);
    snprintf(name, sizeof name, "checkpoints/step-%012" PRIu64 "/run.bin", newest_step(a));
    same_file(a, b, name, HEADER, CHECKSUM);
}

/// What a command of the program makes in a directory.
typedef struct made_things {
    const char *folders[2];      // each with metrics.jsonl
    bool are_runs, have_weights; // the folders
    const char *same;            // a file or folder that has to be the same in every byte
} made_things;

/// Fails unless two commands have made the same.
static inline void same_made(const made_things *m, const char *a, const char *b)
{
    char one[512], other[512];
    for (int i = 0; i < 2 && m->folders[i]; i++) {
        snprintf(one, sizeof one, "%s/%s", a, m->folders[i]);
        snprintf(other, sizeof other, "%s/%s", b, m->folders[i]);
        if (m->are_runs) same_end(one, other);
        same_file(one, other, "metrics.jsonl", 0, 0);
        if (m->have_weights) same_file(one, other, "weights.safetensors", 0, 0);
    }
    if (m->same)
        run_command("diff -r -x .unfinished-card -x .moving-card %s/%s %s/%s", a, m->same, b,
                    m->same);
}

/// How many θ have a score in the state of a rule that keeps one for each (true-error, plr-robust).
static inline size_t scored_thetas(const wk_curriculum *curriculum)
{
    wk_curriculum_view view = wk_curriculum_get_view(curriculum);
    const double *score = view.state;
    size_t known = 0;
    for (size_t i = 0; i < view.count; i++)
        known += !isnan(score[i]);
    return known;
}

#endif
