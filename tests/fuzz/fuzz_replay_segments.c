// Fuzz target: a replay log of several segments, edited anywhere. It is read as it was, or refused
// with a message, and exactly what verifies is read. Built by tools/fuzz/run.
#include "fuzz/fuzz.h"
#include "replay/episodes.h"
#include "support/check.h"

enum { CAPACITY = 60 };
static wk_replay_mark mark;

static void make_true_log(void)
{
    wk_error err = {0};
    wk_replay_log *log = NULL;
    wk_replay_log_config config = {.directory = "true", .segment_bytes = 7000};
    wk_replay *replay = script_store(CAPACITY);
    if (wk_replay_log_open(&config, NULL, replay, &log, &err) != WK_OK) abort();
    if (script_run(replay, 30, &err) != WK_OK) abort();
    if (wk_replay_log_sync(log, &mark, &err) != WK_OK) abort();
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
    return 0;
}
