// Fuzz target: a replay log of several segments, edited anywhere. It is read as it was, or refused
// with a message; what verifies is read; and what is left of it can be salvaged into a log that is
// read, whatever was done to it. Built by tools/fuzz/run.
#include "fuzz/directory.h"
#include "replay/episodes.h"
#include "replay/salvage.h"
#include "replay/script.h"
#include "support/check.h"
#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { CAPACITY = 60 };
static wk_replay_mark mark;
static wk_salvage_slot slots[SCRIPT_SLOTS];
static uint64_t next_episode;

static void make_true_log(void)
{
    wk_error err = {0};
    wk_replay_log *log = NULL;
    wk_replay_log_config config = {.directory = "true", .segment_bytes = 7000};
    wk_replay *replay = script_store(CAPACITY);
    if (wk_replay_log_open(&config, NULL, replay, &log, &err) != WK_OK) abort();
    if (script_run(replay, 30, &err) != WK_OK) abort();
    if (wk_replay_log_sync(log, &mark, &err) != WK_OK) abort();
    for (size_t i = 0; i < wk_replay_count(replay); i++) {
        wk_replay_episode e = wk_replay_at(replay, i);
        if (e.slot >= 0) slots[e.slot] = (wk_salvage_slot){true, e.id, e.rows};
    }
    next_episode = wk_replay_count(replay) + wk_replay_get_stats(replay).evicted;
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
    fuzz_load("true");
    assert(fuzz_count >= 3);
}

static wk_status read_log(const wk_replay_mark *at, wk_error *err)
{
    wk_replay *replay = script_store(CAPACITY);
    wk_status status = wk_replay_log_read("log", at, replay, err);
    wk_replay_destroy(replay);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (fuzz_count == 0) {
        fuzz_enter();
        make_true_log();
    }
    wk_error err = {0};
    bool edited = fuzz_make("log", bytes, size) > 0;
    wk_status verified = wk_replay_log_verify("log", &mark, &err);
    assert(verified == WK_OK || (edited && err.message[0]));
    wk_status status = read_log(&mark, &err);
    assert((status == WK_OK) == (verified == WK_OK));
    wk_dir *dir = NULL;
    wk_salvaged made = {0};
    wk_salvage_slot own[SCRIPT_SLOTS];
    memcpy(own, slots, sizeof own);
    wk_salvage_config config = {.shape = {EPISODE_A, EPISODE_K, EPISODE_P},
                                .capacity = CAPACITY,
                                .mark = mark,
                                .next_episode = next_episode,
                                .slots = own,
                                .n_slots = SCRIPT_SLOTS,
                                .segment_bytes = 7000};
    if (wk_dir_open(NULL, "log", &dir, &err) != WK_OK) abort();
    if (wk_replay_log_salvage(dir, &config, &made, &err) != WK_OK) abort();
    wk_dir_close(dir);
    if (read_log(&made.mark, &err) != WK_OK) abort();
    return 0;
}
