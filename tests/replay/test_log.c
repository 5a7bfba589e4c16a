// The log: a store rebuilt from it goes on as the old one would have, torn tails are cut, damage
// and foreign files are refused, and files that nobody needs are deleted.
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/log.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "replay_log.tmp"
#define COPY "replay_log_copy.tmp"

static wk_error err;

static const wk_replay_log_config config = {.directory = FOLDER, .segment_bytes = 100000};
static const wk_replay_log_config small = {.directory = FOLDER, .segment_bytes = 4000};
static const wk_replay_log_config copied = {.directory = COPY, .segment_bytes = 100000};

static int tear_down(void **state)
{
    remove_tree(FOLDER);
    remove_tree(COPY);
    return 0;
}

// A store of the script and its log.
typedef struct logged {
    wk_replay *replay;
    wk_replay_log *log;
} logged;

static logged open_at(const wk_replay_log_config *where, const wk_replay_mark *mark,
                      uint64_t capacity)
{
    logged l = {.replay = script_store(capacity)};
    assert_ok(wk_replay_log_open(where, mark, l.replay, &l.log, &err));
    return l;
}

static void run_and_sync(logged *l, int steps, wk_replay_mark *mark)
{
    assert_ok(script_run(l->replay, steps, &err));
    assert_ok(wk_replay_log_sync(l->log, mark, &err));
}

static void close_logged(logged *l)
{
    wk_replay_log_close(l->log);
    wk_replay_destroy(l->replay);
}

// Fails unless the log at `directory` has the content of a store.
static void assert_holds(const char *directory, const wk_replay_mark *mark, uint64_t capacity,
                         wk_replay *content)
{
    wk_replay *again = script_store(capacity);
    assert_ok(wk_replay_log_read(directory, mark, again, &err));
    assert_same_content(content, again);
    wk_replay_destroy(again);
}

// Fails unless it is refused, and nothing was opened.
static void assert_unreadable(const wk_replay_log_config *where, const wk_replay_mark *mark,
                              uint64_t capacity, wk_status status, const char *part)
{
    wk_replay *replay = script_store(capacity);
    wk_replay_log *log = NULL;
    assert_refused(wk_replay_log_open(where, mark, replay, &log, &err), status, part);
    assert_null(log);
    wk_replay_destroy(replay);
}

// Runs, syncs, runs on without syncing, and stops without a word, as a killed process does.
static wk_replay_mark write_log(uint64_t capacity, int before, int after)
{
    wk_replay_mark mark;
    remove_tree(FOLDER);
    logged l = open_at(&config, NULL, capacity);
    run_and_sync(&l, before, &mark);
    assert_ok(script_run(l.replay, after, &err));
    close_logged(&l);
    return mark;
}

static uint32_t fingerprint_after(uint64_t capacity, int steps)
{
    wk_replay *replay = script_store(capacity);
    assert_ok(script_run(replay, steps, &err));
    uint32_t sum = script_fingerprint(replay);
    wk_replay_destroy(replay);
    return sum;
}

// Whatever the moment of the checkpoint, and however far the run went on after it.
TEST_CASE(a_resumed_store_is_and_goes_on_like_one_that_was_not_interrupted)
{
    uint32_t whole = fingerprint_after(300, 400);
    for (int at = 1; at < 400; at += 47) {
        wk_replay_mark mark = write_log(300, at, at % 90);
        logged l = open_at(&config, &mark, 300);
        assert_int_equal(script_fingerprint(l.replay), fingerprint_after(300, at));
        assert_ok(script_run(l.replay, 400 - at, &err));
        assert_int_equal(script_fingerprint(l.replay), whole);
        close_logged(&l);
    }
}

TEST_CASE(a_run_resumed_again_and_again_ends_in_the_same_content)
{
    wk_replay_mark mark = {0}, older = {0};
    for (int at = 0; at < 400; at += 25) {
        logged l = open_at(&config, &mark, 300);
        older = mark;
        run_and_sync(&l, 25, &mark);
        assert_ok(wk_replay_log_prune(l.log, &older, &err));
        assert_ok(script_run(l.replay, at % 60, &err));
        close_logged(&l);
    }
    wk_replay *last = script_store(300), *one_before = script_store(300);
    assert_ok(wk_replay_log_read(FOLDER, &mark, last, &err));
    assert_int_equal(script_fingerprint(last), fingerprint_after(300, 400));
    // The checkpoint before it can still be opened.
    assert_ok(wk_replay_log_read(FOLDER, &older, one_before, &err));
    assert_int_equal(script_fingerprint(one_before), fingerprint_after(300, 375));
    wk_replay_destroy(last);
    wk_replay_destroy(one_before);
}

TEST_CASE(segments_of_evicted_episodes_are_deleted_and_no_others)
{
    logged l = open_at(&small, NULL, 300);
    int most = 0;
    for (int i = 0; i < 45; i++) {
        wk_replay_mark mark;
        run_and_sync(&l, 20, &mark);
        assert_ok(wk_replay_log_prune(l.log, &mark, &err));
        int files = folder_count(FOLDER, ".log");
        if (i == 20) most = files;
        if (i > 20) assert_true(files < 2 * most);
        assert_holds(FOLDER, &mark, 300, l.replay);
    }
    assert_true(most > 3);
    assert_false(wk_path_exists(FOLDER "/replay-00000000.log"));
    close_logged(&l);
}

// A backup that copies what is new and deletes nothing keeps segments that the run has deleted
// since, some of them as they were before they were full.
TEST_CASE(stale_segments_of_an_incremental_copy_are_ignored)
{
    logged l = open_at(&small, NULL, 300);
    int stale = 0;
    for (int i = 0; i < 40; i++) {
        wk_replay_mark mark;
        run_and_sync(&l, i % 3 ? 7 : 150, &mark);
        assert_ok(wk_replay_log_prune(l.log, &mark, &err));
        run_command("mkdir -p " COPY " && cp " FOLDER "/* " COPY);
        stale += folder_count(COPY, ".log") > folder_count(FOLDER, ".log");
        assert_holds(COPY, &mark, 300, l.replay);
        assert_ok(wk_replay_log_verify(COPY, &mark, &err));
    }
    assert_true(stale > 20);
    close_logged(&l);
}

TEST_CASE(every_flipped_byte_is_found_without_a_store)
{
    size_t size;
    wk_replay_mark mark;
    logged l = open_at(&small, NULL, 1000);
    run_and_sync(&l, 60, &mark);
    close_logged(&l);
    assert_true(mark.segment >= 2);
    assert_ok(wk_replay_log_verify(FOLDER, &mark, &err));
    for (int segment = 0; segment < 2; segment++) {
        char path[80];
        snprintf(path, sizeof path, FOLDER "/replay-%08d.log", segment);
        unsigned char *bytes = folder_read(path, &size);
        for (size_t at = 0; at < size; at += at < 200 ? 1 : 97) {
            bytes[at] ^= 4;
            folder_write(path, bytes, size);
            wk_error said = {0};
            if (wk_replay_log_verify(FOLDER, &mark, &said) != WK_E_FORMAT)
                fail_msg("byte %zu of segment %d", at, segment);
            bytes[at] ^= 4;
        }
        folder_write(path, bytes, size);
        free(bytes);
    }
    assert_ok(wk_replay_log_verify(FOLDER, &mark, &err));
}

TEST_CASE(a_mark_of_nothing_begins_anew)
{
    write_log(300, 100, 10);
    wk_replay_mark nothing = {0};
    logged l = open_at(&config, &nothing, 300);
    assert_int_equal(wk_replay_count(l.replay), 0);
    assert_int_equal(folder_count(FOLDER, ".log"), 1);
    close_logged(&l);
}

TEST_CASE(reading_changes_no_file)
{
    wk_replay_mark mark = write_log(300, 60, 31);
    size_t before, after;
    free(folder_read(FOLDER "/replay-00000000.log", &before));
    wk_replay *replay = script_store(300), *all = script_store(300);
    assert_ok(wk_replay_log_read(FOLDER, &mark, replay, &err));
    assert_ok(wk_replay_log_read(FOLDER, NULL, all, &err));
    assert_true(wk_replay_get_stats(all).rows > wk_replay_get_stats(replay).rows);
    free(folder_read(FOLDER "/replay-00000000.log", &after));
    assert_int_equal(before, after);
    wk_replay_destroy(replay);
    wk_replay_destroy(all);
}

// The file is cut at many places; what is whole is kept, and writing goes on from there.
TEST_CASE(a_torn_tail_is_cut_off_wherever_the_tear_is)
{
    write_log(1000, 40, 0);
    size_t size;
    unsigned char *bytes = folder_read(FOLDER "/replay-00000000.log", &size);
    uint64_t rows = UINT64_MAX;
    for (size_t cut = size; cut > 0; cut -= cut > 397 ? 397 : cut) {
        folder_write(FOLDER "/replay-00000000.log", bytes, cut);
        wk_replay_mark mark;
        logged l = open_at(&config, NULL, 1000);
        uint64_t now = wk_replay_get_stats(l.replay).rows;
        assert_true(now <= rows);
        rows = now;
        run_and_sync(&l, 20, &mark);
        assert_holds(FOLDER, NULL, 1000, l.replay);
        close_logged(&l);
    }
    assert_int_equal(rows, 0);
    free(bytes);
}

TEST_CASE(damage_before_the_mark_is_refused_and_nothing_is_cut)
{
    wk_replay_mark mark = write_log(1000, 40, 0);
    size_t size;
    unsigned char *bytes = folder_read(FOLDER "/replay-00000000.log", &size);
    assert_int_equal(mark.offset, size);
    for (size_t at = 0; at < size; at += at < 150 ? 3 : 331) {
        bytes[at] ^= 16;
        folder_write(FOLDER "/replay-00000000.log", bytes, size);
        assert_unreadable(&config, &mark, 1000, WK_E_FORMAT, "replay-00000000.log");
        bytes[at] ^= 16;
    }
    size_t after;
    free(folder_read(FOLDER "/replay-00000000.log", &after));
    assert_int_equal(after, size);
    free(bytes);
}

TEST_CASE(files_of_another_run_or_domain_are_refused)
{
    const wk_replay_mark mark = write_log(1000, 40, 0);
    wk_replay_mark forged = mark;
    forged.running_crc ^= 1;
    assert_unreadable(&config, &forged, 1000, WK_E_FORMAT,
                      "not the log that the checkpoint was made with");
    assert_unreadable(&config, &mark, 20, WK_E_MEMORY, "20 steps");
    for (int slots = 0; slots < 2; slots++) {
        wk_replay *replay;
        wk_replay_config other = episode_config(1000, slots ? 1 : SCRIPT_SLOTS);
        other.n_tasks += !slots;
        assert_ok(wk_replay_create(&other, &replay, &err));
        assert_refused(wk_replay_log_read(FOLDER, &mark, replay, &err), WK_E_FORMAT,
                       slots ? "slot" : "another domain");
        wk_replay_destroy(replay);
    }
}

TEST_CASE(missing_files_are_named)
{
    wk_replay_mark mark;
    logged l = open_at(&small, NULL, 3000);
    run_and_sync(&l, 200, &mark);
    close_logged(&l);
    assert_true(mark.segment > 3);
    folder_copy(FOLDER, COPY);
    unlink(COPY "/replay-00000002.log");
    assert_unreadable(&copied, &mark, 3000, WK_E_NOT_FOUND, "replay-00000002.log");
    folder_copy(FOLDER, COPY);
    unlink(COPY "/replay-00000000.log");
    assert_unreadable(&copied, &mark, 3000, WK_E_FORMAT, "older files of it are missing");
    remove_tree(COPY);
    assert_unreadable(&copied, &mark, 3000, WK_E_NOT_FOUND, "which the checkpoint needs");
}

TEST_CASE(a_segment_whose_beginning_was_torn_is_dropped)
{
    write_log(1000, 40, 0);
    folder_write(FOLDER "/replay-00000001.log", "WKREP", 5);
    logged l = open_at(&config, NULL, 1000);
    assert_false(wk_path_exists(FOLDER "/replay-00000001.log"));
    assert_true(wk_replay_count(l.replay) > 0);
    assert_ok(script_run(l.replay, 10, &err));
    close_logged(&l);
}

// Short episodes fill the tables, incompressible frames the memory; what is left is rebuilt
// equally.
TEST_CASE(a_store_at_its_memory_limit_is_rebuilt)
{
    for (int noisy = 0; noisy < 2; noisy++) {
        wk_replay_mark nothing = {0}, mark;
        logged l = open_at(&config, &nothing, 1000);
        for (uint64_t i = 0; i < 150; i++) {
            assert_ok(episode_begin(l.replay, 0, i, &err));
            for (uint32_t row = 0; row < 3; row++)
                assert_ok(
                    (noisy ? episode_noise_row : episode_row)(l.replay, 0, i, row, row == 2, &err));
        }
        assert_true(wk_replay_get_stats(l.replay).evicted_early > 0);
        assert_ok(wk_replay_log_sync(l.log, &mark, &err));
        assert_holds(FOLDER, &mark, 1000, l.replay);
        close_logged(&l);
    }
}

static wk_status refuse(void *context, wk_error *why)
{
    (void)context;
    return wk_fail(why, WK_E_FORMAT, "not what was expected");
}

TEST_CASE(a_store_that_is_not_accepted_leaves_the_log_as_it_is)
{
    wk_replay_mark mark = write_log(1000, 40, 300); // the mark is not at the end
    wk_replay_log_config asking = config;
    asking.accept = refuse;
    folder_copy(FOLDER, COPY);
    assert_unreadable(&asking, &mark, 1000, WK_E_FORMAT, "not what was expected");
    run_command("diff -r " FOLDER " " COPY);
}

TEST_MAIN_EACH(NULL, tear_down)
