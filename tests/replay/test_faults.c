// The store and its log when memory and disks fail: every allocation and file call fails once in
// turn, then all from some call on, then the process dies at each call. Errors are clear, nothing
// leaks, a failed call may be made again, and the last mark can always be opened.
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/log.h"
#include "support/check.h"
#include "support/faults.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER "replay_faults.tmp"
#define SAVED "replay_faults_saved.tmp"

enum { CAPACITY = 150, BEFORE = 90, AFTER = 24 };

static const wk_replay_log_config config = {.directory = FOLDER, .segment_bytes = 6000};

typedef struct run {
    wk_replay *replay;
    wk_replay_log *log;
    wk_replay_mark mark;
} run;

static void destroy(run *all)
{
    wk_replay_log_close(all->log);
    wk_replay_destroy(all->replay);
    all->log = NULL;
    all->replay = NULL;
}

static wk_status create(wk_replay **out, wk_error *err)
{
    wk_replay_config settings = episode_config(CAPACITY, SCRIPT_SLOTS);
    return wk_replay_create(&settings, out, err);
}

// Opens at a mark, runs on, syncs, and deletes what the new mark does not need.
static wk_status resume(const wk_replay_mark *from, run *all, wk_error *err)
{
    WK_TRY(create(&all->replay, err));
    WK_TRY(wk_replay_log_open(&config, from, all->replay, &all->log, err));
    WK_TRY(script_run(all->replay, AFTER, err));
    WK_TRY(wk_replay_log_sync(all->log, &all->mark, err));
    return wk_replay_log_prune(all->log, from, err);
}

// A log with a mark, kept in SAVED.
static wk_replay_mark prepare(void)
{
    wk_error err = {0};
    run all = {0};
    remove_tree(FOLDER);
    assert_ok(create(&all.replay, &err));
    assert_ok(wk_replay_log_open(&config, NULL, all.replay, &all.log, &err));
    assert_ok(script_run(all.replay, BEFORE, &err));
    assert_ok(wk_replay_log_sync(all.log, &all.mark, &err));
    destroy(&all);
    folder_copy(FOLDER, SAVED);
    return all.mark;
}

static uint32_t fingerprint_at(const wk_replay_mark *mark)
{
    wk_error err = {0};
    wk_replay *replay = script_store(CAPACITY);
    assert_ok(wk_replay_log_read(FOLDER, mark, replay, &err));
    uint32_t sum = script_fingerprint(replay);
    wk_replay_destroy(replay);
    return sum;
}

static int tear_down(void **state)
{
    remove_tree(FOLDER);
    remove_tree(SAVED);
    return 0;
}

static void sweep(bool persistent, int error)
{
    wk_replay_mark mark = prepare();
    uint32_t before = fingerprint_at(&mark);
    long call = 1;
    for (;; call += fault_stride(1)) {
        wk_error err = {0};
        run all = {0};
        folder_copy(SAVED, FOLDER);
        fault_sweep_arm((fault_plan){.call = call, .persistent = persistent, .error = error});
        wk_status status = resume(&mark, &all, &err);
        bool fired = fault_sweep_disarm();
        uint32_t now = status == WK_OK ? script_fingerprint(all.replay) : 0;
        destroy(&all);
        if (status != WK_OK && err.message[0] == 0) fail_msg("call %ld: no message", call);
        assert_int_equal(fingerprint_at(&mark), before);
        if (status == WK_OK) assert_int_equal(fingerprint_at(&all.mark), now);
        if (!fired) {
            assert_ok(status);
            break;
        }
    }
    assert_true(call > 40);
}

TEST_CASE(the_last_mark_can_be_opened_after_any_failed_call)
{
    sweep(false, EIO);
}

TEST_CASE(the_last_mark_can_be_opened_after_a_disk_fills_up)
{
    sweep(true, ENOSPC);
}

TEST_CASE(no_failure_leaks_memory_or_files)
{
    wk_replay_mark mark = prepare();
    for (long call = 1;; call += fault_stride(1)) {
        wk_error err = {0};
        run all = {0};
        folder_copy(SAVED, FOLDER);
        fault_sweep_arm((fault_plan){.call = call});
        resume(&mark, &all, &err);
        destroy(&all);
        bool fired = fault_sweep_disarm();
        if (fault_sweep.blocks != 0 || fault_sweep.files != 0)
            fail_msg("call %ld: %ld blocks and %ld files leak (%s)", call, fault_sweep.blocks,
                     fault_sweep.files, err.message);
        if (!fired) break;
    }
}

// A step that failed is tried again, and in the end all is as if nothing had happened.
TEST_CASE(a_failed_step_may_be_made_again)
{
    wk_error err = {0};
    run all = {0};
    assert_ok(create(&all.replay, &err));
    assert_ok(wk_replay_log_open(&config, NULL, all.replay, &all.log, &err));
    int failures = 0;
    for (int i = 0; i < BEFORE; i++) {
        for (long call = 1;; call++) {
            wk_replay_stats stats = wk_replay_get_stats(all.replay);
            fault_sweep_arm((fault_plan){.call = call, .error = ENOSPC});
            wk_status status = script_run_slot(all.replay, i % SCRIPT_SLOTS, &err);
            fault_sweep_disarm();
            if (status == WK_OK) break;
            failures++;
            assert_int_equal(wk_replay_get_stats(all.replay).running, stats.running);
        }
    }
    assert_true(failures > 20);
    wk_replay *twin = script_store(CAPACITY);
    for (int i = 0; i < BEFORE; i++)
        assert_ok(script_run_slot(twin, i % SCRIPT_SLOTS, &err));
    assert_same_content(twin, all.replay);
    assert_ok(wk_replay_log_sync(all.log, &all.mark, &err));
    assert_int_equal(fingerprint_at(&all.mark), script_fingerprint(twin));
    destroy(&all);
    wk_replay_destroy(twin);
}

TEST_CASE(a_full_disk_is_called_one)
{
    wk_replay_mark mark = prepare();
    bool said = false;
    for (long call = 1; !said; call++) {
        wk_error err = {0};
        run all = {0};
        folder_copy(SAVED, FOLDER);
        fault_sweep_arm((fault_plan){.call = call, .error = ENOSPC});
        resume(&mark, &all, &err);
        bool fired = fault_sweep_disarm();
        destroy(&all);
        assert_true(fired);
        said = strstr(err.message, "free some space") && strstr(err.message, "replay-0000");
    }
}

TEST_CASE(reads_and_writes_of_one_byte_give_the_same_content)
{
    wk_error err = {0};
    wk_replay_mark mark = prepare();
    run usual = {0}, slow = {0};
    assert_ok(resume(&mark, &usual, &err));
    uint32_t wanted = script_fingerprint(usual.replay);
    destroy(&usual);
    folder_copy(SAVED, FOLDER);
    fault_sweep_arm((fault_plan){.short_io = true});
    assert_ok(resume(&mark, &slow, &err));
    fault_sweep_disarm();
    assert_int_equal(script_fingerprint(slow.replay), wanted);
    destroy(&slow);
    assert_int_equal(fingerprint_at(&slow.mark), wanted);
}

// The process dies at call k; the mark of before opens, and the log without a mark opens too.
TEST_CASE(a_crash_at_any_call_leaves_a_log_that_opens)
{
    wk_error err = {0};
    wk_replay_mark mark = prepare();
    uint32_t before = fingerprint_at(&mark);
    for (long call = 1;; call += fault_stride(2)) {
        folder_copy(SAVED, FOLDER);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            run all = {0};
            fault_sweep_arm((fault_plan){.call = call, .crash = true});
            resume(&mark, &all, &err);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(fingerprint_at(&mark), before);
        wk_replay *replay = script_store(CAPACITY);
        assert_ok(wk_replay_log_read(FOLDER, NULL, replay, &err));
        wk_replay_destroy(replay);
        if (WEXITSTATUS(status) == 0) break;
        assert_int_equal(WEXITSTATUS(status), FAULT_CRASH_CODE);
    }
}

TEST_MAIN_EACH(NULL, tear_down)
