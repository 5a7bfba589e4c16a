// run.bin with a right checksum and wrong content: everything that the loop takes for granted is
// checked when a checkpoint is read.
#include "base/hash.h"
#include "run/checkpoint.h"
#include "support/trainer.h"
#include "train/runs.h"
#include <math.h>
#include <stddef.h>

#define FOLDER "run-file.tmp"

static wk_run_config config;
static char path[128], *bytes; // run.bin and its content
static size_t size;

// A run saved in the middle of its first episodes.
static int begin(void **state)
{
    wk_error err = {0};
    wk_trainer *t;
    remove_tree(FOLDER);
    config = tiny_run();
    assert_ok(trainer_create(&config, FOLDER, &t, &err));
    for (int i = 0; i < 10; i++)
        assert_ok(trainer_step(t, NULL, &err));
    assert_ok(wk_checkpoints_save(&t->checkpoints, &err));
    snprintf(path, sizeof path, FOLDER "/checkpoints/step-%012" PRIu64 "/run.bin",
             wk_trainer_progress(t).steps);
    trainer_destroy(t);
    assert_ok(wk_file_read(path, 1 << 24, &bytes, &size, &err));
    return 0;
}

static int end(void **state)
{
    free(bytes);
    remove_tree(FOLDER);
    return 0;
}

// Writes the first `length` bytes of `content` as a whole file, and resumes from it.
static wk_status resume(char *content, size_t length, wk_error *said)
{
    uint64_t total = length;
    uint32_t sum;
    memcpy(content + offsetof(wk_run_header, size), &total, sizeof total);
    sum = wk_crc32c(0, content, length - sizeof sum);
    memcpy(content + length - sizeof sum, &sum, sizeof sum);
    wk_error err = {0};
    assert_ok(wk_file_write(path, content, length, &err));
    wk_trainer *t = NULL;
    wk_status status = trainer_create(&config, FOLDER, &t, said);
    trainer_destroy(t);
    return status;
}

// Resumes with `count` bytes at `at` replaced.
static void expect_refusal(size_t at, const void *with, size_t count, const char *message)
{
    wk_error err = {0};
    char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    memcpy(copy + at, with, count);
    assert_refused(resume(copy, size, &err), WK_E_FORMAT, message);
    free(copy);
}

static const size_t running = sizeof(wk_run_header) + sizeof(wk_trainer_counters);

TEST_CASE(what_was_saved_is_accepted)
{
    wk_error err = {0};
    assert_ok(resume(bytes, size, &err));
}

#define COUNTER(member) sizeof(wk_run_header) + offsetof(wk_trainer_counters, member)
#define EPISODE(member) running + offsetof(wk_running_episode, member)

TEST_CASE(counters_and_episodes_that_cannot_be_are_refused)
{
    const uint64_t every = (uint64_t)config.train_every, huge = UINT64_MAX;
    const struct {
        size_t at;
        uint64_t value;
        const char *message;
    } cases[] = {
        {EPISODE(active), 2, "neither running nor waiting"},
        {EPISODE(theta_index), huge, "beyond the grid"},
        {EPISODE(episode), huge, "never begun"},
        {EPISODE(steps), huge, "beyond the end"},
        {EPISODE(steps), 11, "at another step"},
        {EPISODE(active), 0, "a state without an episode"},
        {COUNTER(steps), huge, "beyond any run"},
        {COUNTER(iterations), huge, "beyond any run"},
        {COUNTER(episodes), huge, "beyond any run"},
        {COUNTER(updates), huge, "beyond any run"},
        {COUNTER(diverged), huge, "an impossible value"},
        {COUNTER(steps_since_update), huge, "an impossible value"},
        // Many more, and a run never ends.
        {COUNTER(steps_since_update), every, "more steps were collected than an update waits for"},
        {COUNTER(acting), 2, "an impossible value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(cases[i].at, &cases[i].value, sizeof cases[i].value, cases[i].message);
}

TEST_CASE(numbers_that_are_none_are_refused)
{
    size_t actions = running + (size_t)config.env_count * sizeof(wk_running_episode);
    expect_refusal(actions, &(float){NAN}, sizeof(float), "an action is not a finite number");
}

TEST_CASE(blocks_that_do_not_fit_are_refused)
{
    wk_error err = {0};
    // Anything cut off or added at the end leaves a block short or bytes over.
    char *copy = calloc(1, size + 64);
    assert_non_null(copy);
    for (int change = -16; change <= 16; change += 8) {
        memcpy(copy, bytes, size);
        if (change == 0) continue;
        assert_refused(resume(copy, (size_t)((long)size + change), &err), WK_E_FORMAT,
                       "do not match this configuration");
    }
    free(copy);
}

// Its place has a fixed size, so that files of older and newer programs have the same layout.
TEST_CASE(the_schedule_is_saved_in_512_bytes)
{
    wk_error err = {0};
    wk_trainer *t;
    wk_run_schedule saved;
    static const char zeros[WK_RUN_SCHEDULE_BYTES];
    assert_ok(trainer_create(&config, FOLDER, &t, &err));
    wk_run_schedule *schedule = &t->schedule;
    assert_memory_equal(schedule, zeros, sizeof *schedule);
    *schedule = (wk_run_schedule){.metrics = {.jsonl = 7, .events_file = "events"}, .last_eval = 9};
    saved = *schedule;
    assert_ok(trainer_step(t, NULL, &err));
    assert_ok(wk_checkpoints_save(&t->checkpoints, &err));
    trainer_destroy(t);
    free(bytes);
    snprintf(path, sizeof path, FOLDER "/checkpoints/step-%012" PRIu64 "/run.bin",
             newest_step(FOLDER));
    assert_ok(wk_file_read(path, 1 << 24, &bytes, &size, &err));
    const wk_domain *toy;
    assert_ok(wk_domain_find("toy", &toy, &err));
    size_t count = (size_t)config.env_count;
    size_t at = running + count * (sizeof(wk_running_episode) + WK_IMAGE_BYTES + 1 +
                                   (size_t)toy->action_size * sizeof(float));
    assert_memory_equal(bytes + at, &saved, sizeof saved);
    assert_memory_equal(bytes + at + sizeof saved, zeros, 512 - sizeof saved);
    assert_ok(trainer_create(&config, FOLDER, &t, &err));
    assert_memory_equal(&t->schedule, &saved, sizeof saved);
    trainer_destroy(t);
}

TEST_MAIN_EACH(begin, end)
