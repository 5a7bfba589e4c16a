// The log: a store rebuilt from it goes on as the old one would have, torn tails are cut, damage
// and foreign files are refused, and files that nobody needs are deleted.
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/log.h"
#include "replay/script.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "replay_log.tmp"
#define COPY "replay_log_copy.tmp"

static const wk_replay_log_config config = {.directory = FOLDER, .segment_bytes = 100000};
static const wk_replay_log_config copied = {.directory = COPY, .segment_bytes = 100000};

static int tear_down(void **state)
{
    folder_remove(FOLDER);
    folder_remove(COPY);
    return 0;
}

static wk_replay_log *open_log(const wk_replay_log_config *where, const wk_replay_mark *mark,
                               wk_replay *replay)
{
    wk_error err = {0};
    wk_replay_log *log = NULL;
    assert_ok(wk_replay_log_open(where, mark, replay, &log, &err));
    return log;
}

// Runs, syncs, runs on without syncing, and stops without a word, as a killed process does.
static wk_replay_mark write_log(uint64_t capacity, int before, int after)
{
    wk_error err = {0};
    wk_replay_mark mark;
    folder_remove(FOLDER);
    wk_replay *replay = script_store(capacity);
    wk_replay_log *log = open_log(&config, NULL, replay);
    assert_ok(script_run(replay, before, &err));
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    assert_ok(script_run(replay, after, &err));
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
    return mark;
}

static uint32_t fingerprint_after(uint64_t capacity, int steps)
{
    wk_error err = {0};
    wk_replay *replay = script_store(capacity);
    assert_ok(script_run(replay, steps, &err));
    uint32_t sum = script_fingerprint(replay);
    wk_replay_destroy(replay);
    return sum;
}

// Whatever the moment of the checkpoint, and however far the run went on after it.
static void a_resumed_store_is_and_goes_on_like_one_that_was_not_interrupted(void **state)
{
    wk_error err = {0};
    uint32_t whole = fingerprint_after(300, 400);
    for (int at = 1; at < 400; at += 47) {
        wk_replay_mark mark = write_log(300, at, at % 90);
        wk_replay *replay = script_store(300);
        wk_replay_log *log = open_log(&config, &mark, replay);
        assert_int_equal(script_fingerprint(replay), fingerprint_after(300, at));
        assert_ok(script_run(replay, 400 - at, &err));
        assert_int_equal(script_fingerprint(replay), whole);
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
    }
}

static void a_run_resumed_again_and_again_ends_in_the_same_content(void **state)
{
    wk_error err = {0};
    wk_replay_mark mark = {0}, older = {0};
    for (int at = 0; at < 400; at += 25) {
        wk_replay *replay = script_store(300);
        wk_replay_log *log = open_log(&config, &mark, replay);
        assert_ok(script_run(replay, 25, &err));
        older = mark;
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        assert_ok(wk_replay_log_prune(log, &older, &err));
        assert_ok(script_run(replay, at % 60, &err));
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
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

static void segments_of_evicted_episodes_are_deleted_and_no_others(void **state)
{
    wk_error err = {0};
    wk_replay *replay = script_store(300);
    wk_replay_log_config small = {.directory = FOLDER, .segment_bytes = 4000};
    wk_replay_log *log = open_log(&small, NULL, replay);
    int most = 0;
    for (int i = 0; i < 45; i++) {
        wk_replay_mark mark;
        assert_ok(script_run(replay, 20, &err));
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        assert_ok(wk_replay_log_prune(log, &mark, &err));
        int files = folder_count(FOLDER, ".log");
        if (i == 20) most = files;
        if (i > 20) assert_true(files < 2 * most);
        wk_replay *again = script_store(300);
        assert_ok(wk_replay_log_read(FOLDER, &mark, again, &err));
        assert_same_content(replay, again);
        wk_replay_destroy(again);
    }
    assert_true(most > 3);
    assert_false(access(FOLDER "/replay-00000000.log", F_OK) == 0);
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
}

// A backup that copies what is new and deletes nothing keeps segments that the run has deleted
// since, some of them as they were before they were full.
static void stale_segments_of_an_incremental_copy_are_ignored(void **state)
{
    wk_error err = {0};
    wk_replay *replay = script_store(300);
    wk_replay_log_config small = {.directory = FOLDER, .segment_bytes = 4000};
    wk_replay_log *log = open_log(&small, NULL, replay);
    int stale = 0;
    for (int i = 0; i < 40; i++) {
        wk_replay_mark mark;
        assert_ok(script_run(replay, i % 3 ? 7 : 150, &err));
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        assert_ok(wk_replay_log_prune(log, &mark, &err));
        assert_int_equal(system("mkdir -p " COPY " && cp " FOLDER "/* " COPY), 0);
        stale += folder_count(COPY, ".log") > folder_count(FOLDER, ".log");
        wk_replay *again = script_store(300);
        assert_ok(wk_replay_log_read(COPY, &mark, again, &err));
        assert_same_content(replay, again);
        wk_replay_destroy(again);
        assert_ok(wk_replay_log_verify(COPY, &mark, &err));
    }
    assert_true(stale > 20);
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
}

static void every_flipped_byte_is_found_without_a_store(void **state)
{
    wk_error err = {0};
    size_t size;
    folder_remove(FOLDER);
    wk_replay *replay = script_store(1000);
    wk_replay_log_config small = {.directory = FOLDER, .segment_bytes = 4000};
    wk_replay_log *log = open_log(&small, NULL, replay);
    wk_replay_mark mark;
    assert_ok(script_run(replay, 60, &err));
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
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

static void a_mark_of_nothing_begins_anew(void **state)
{
    write_log(300, 100, 10);
    wk_replay_mark nothing = {0};
    wk_replay *replay = script_store(300);
    wk_replay_log *log = open_log(&config, &nothing, replay);
    assert_int_equal(wk_replay_count(replay), 0);
    assert_int_equal(folder_count(FOLDER, ".log"), 1);
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
}

static void reading_changes_no_file(void **state)
{
    wk_error err = {0};
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
static void a_torn_tail_is_cut_off_wherever_the_tear_is(void **state)
{
    wk_error err = {0};
    write_log(1000, 40, 0);
    size_t size;
    unsigned char *bytes = folder_read(FOLDER "/replay-00000000.log", &size);
    uint64_t rows = UINT64_MAX;
    for (size_t cut = size; cut > 0; cut -= cut > 397 ? 397 : cut) {
        folder_write(FOLDER "/replay-00000000.log", bytes, cut);
        wk_replay *replay = script_store(1000), *again = script_store(1000);
        wk_replay_log *log = open_log(&config, NULL, replay);
        uint64_t now = wk_replay_get_stats(replay).rows;
        assert_true(now <= rows);
        rows = now;
        assert_ok(script_run(replay, 20, &err));
        wk_replay_mark mark;
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        assert_ok(wk_replay_log_read(FOLDER, NULL, again, &err));
        assert_same_content(replay, again);
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
        wk_replay_destroy(again);
    }
    assert_int_equal(rows, 0);
    free(bytes);
}

static void damage_before_the_mark_is_refused_and_nothing_is_cut(void **state)
{
    wk_error err = {0};
    wk_replay_mark mark = write_log(1000, 40, 0);
    size_t size;
    unsigned char *bytes = folder_read(FOLDER "/replay-00000000.log", &size);
    assert_int_equal(mark.offset, size);
    for (size_t at = 0; at < size; at += at < 150 ? 3 : 331) {
        bytes[at] ^= 16;
        folder_write(FOLDER "/replay-00000000.log", bytes, size);
        wk_replay *replay = script_store(1000);
        wk_replay_log *log = NULL;
        assert_refused(wk_replay_log_open(&config, &mark, replay, &log, &err), WK_E_FORMAT,
                       "replay-00000000.log");
        assert_null(log);
        wk_replay_destroy(replay);
        bytes[at] ^= 16;
    }
    size_t after;
    free(folder_read(FOLDER "/replay-00000000.log", &after));
    assert_int_equal(after, size);
    free(bytes);
}

static void files_of_another_run_or_domain_are_refused(void **state)
{
    wk_error err = {0};
    wk_replay_mark mark = write_log(1000, 40, 0);
    wk_replay *replay = script_store(1000);
    mark.running_crc ^= 1;
    assert_refused(wk_replay_log_read(FOLDER, &mark, replay, &err), WK_E_FORMAT,
                   "not the log that the checkpoint was made with");
    wk_replay_destroy(replay);
    mark.running_crc ^= 1;

    wk_replay_config other = episode_config(1000, SCRIPT_SLOTS);
    other.n_tasks++;
    assert_ok(wk_replay_create(&other, &replay, &err));
    assert_refused(wk_replay_log_read(FOLDER, &mark, replay, &err), WK_E_FORMAT, "another domain");
    wk_replay_destroy(replay);

    other = episode_config(1000, 1);
    assert_ok(wk_replay_create(&other, &replay, &err));
    assert_refused(wk_replay_log_read(FOLDER, &mark, replay, &err), WK_E_FORMAT, "slot");
    wk_replay_destroy(replay);

    replay = script_store(20);
    assert_refused(wk_replay_log_read(FOLDER, &mark, replay, &err), WK_E_MEMORY, "20 steps");
    wk_replay_destroy(replay);
}

static void missing_files_are_named(void **state)
{
    wk_error err = {0};
    wk_replay *replay = script_store(3000);
    wk_replay_log_config small = {.directory = FOLDER, .segment_bytes = 4000};
    wk_replay_log *log = open_log(&small, NULL, replay);
    wk_replay_mark mark;
    assert_ok(script_run(replay, 200, &err));
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
    assert_true(mark.segment > 3);

    folder_copy(FOLDER, COPY);
    unlink(COPY "/replay-00000002.log");
    replay = script_store(3000);
    assert_refused(wk_replay_log_open(&copied, &mark, replay, &log, &err), WK_E_NOT_FOUND,
                   "replay-00000002.log");
    wk_replay_destroy(replay);

    folder_copy(FOLDER, COPY);
    unlink(COPY "/replay-00000000.log");
    replay = script_store(3000);
    assert_refused(wk_replay_log_open(&copied, &mark, replay, &log, &err), WK_E_FORMAT,
                   "older files of it are missing");
    wk_replay_destroy(replay);

    folder_remove(COPY);
    replay = script_store(3000);
    assert_refused(wk_replay_log_open(&copied, &mark, replay, &log, &err), WK_E_NOT_FOUND,
                   "which the checkpoint needs");
    wk_replay_destroy(replay);
}

static void a_segment_whose_beginning_was_torn_is_dropped(void **state)
{
    wk_error err = {0};
    write_log(1000, 40, 0);
    folder_write(FOLDER "/replay-00000001.log", "WKREP", 5);
    wk_replay *replay = script_store(1000);
    wk_replay_log *log = open_log(&config, NULL, replay);
    assert_false(access(FOLDER "/replay-00000001.log", F_OK) == 0);
    assert_true(wk_replay_count(replay) > 0);
    assert_ok(script_run(replay, 10, &err));
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
}

// Short episodes fill the tables, incompressible frames the memory; what is left is rebuilt
// equally.
static void a_store_at_its_memory_limit_is_rebuilt(void **state)
{
    wk_error err = {0};
    for (int noisy = 0; noisy < 2; noisy++) {
        wk_replay *replay = script_store(1000), *again = script_store(1000);
        wk_replay_mark nothing = {0}, mark;
        wk_replay_log *log = open_log(&config, &nothing, replay);
        for (uint64_t i = 0; i < 150; i++) {
            assert_ok(episode_begin(replay, 0, i, &err));
            for (uint32_t row = 0; row < 3; row++)
                assert_ok(
                    (noisy ? episode_noise_row : episode_row)(replay, 0, i, row, row == 2, &err));
        }
        assert_true(wk_replay_get_stats(replay).evicted_early > 0);
        assert_ok(wk_replay_log_sync(log, &mark, &err));
        assert_ok(wk_replay_log_read(FOLDER, &mark, again, &err));
        assert_same_content(replay, again);
        wk_replay_log_close(log);
        wk_replay_destroy(replay);
        wk_replay_destroy(again);
    }
}

static wk_status refuse(void *context, wk_error *err)
{
    (void)context;
    return wk_fail(err, WK_E_FORMAT, "not what was expected");
}

static void a_store_that_is_not_accepted_leaves_the_log_as_it_is(void **state)
{
    wk_error err = {0};
    wk_replay_mark mark = write_log(1000, 40, 300); // the mark is not at the end
    wk_replay_log_config asking = config;
    asking.accept = refuse;
    folder_copy(FOLDER, COPY);
    wk_replay *replay = script_store(1000);
    wk_replay_log *log = NULL;
    assert_refused(wk_replay_log_open(&asking, &mark, replay, &log, &err), WK_E_FORMAT,
                   "not what was expected");
    assert_int_equal(system("diff -r " FOLDER " " COPY), 0);
    wk_replay_destroy(replay);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_resumed_store_is_and_goes_on_like_one_that_was_not_interrupted,
                                  tear_down),
        cmocka_unit_test_teardown(a_run_resumed_again_and_again_ends_in_the_same_content,
                                  tear_down),
        cmocka_unit_test_teardown(segments_of_evicted_episodes_are_deleted_and_no_others,
                                  tear_down),
        cmocka_unit_test_teardown(stale_segments_of_an_incremental_copy_are_ignored, tear_down),
        cmocka_unit_test_teardown(every_flipped_byte_is_found_without_a_store, tear_down),
        cmocka_unit_test_teardown(a_mark_of_nothing_begins_anew, tear_down),
        cmocka_unit_test_teardown(a_store_that_is_not_accepted_leaves_the_log_as_it_is, tear_down),
        cmocka_unit_test_teardown(reading_changes_no_file, tear_down),
        cmocka_unit_test_teardown(a_torn_tail_is_cut_off_wherever_the_tear_is, tear_down),
        cmocka_unit_test_teardown(damage_before_the_mark_is_refused_and_nothing_is_cut, tear_down),
        cmocka_unit_test_teardown(files_of_another_run_or_domain_are_refused, tear_down),
        cmocka_unit_test_teardown(missing_files_are_named, tear_down),
        cmocka_unit_test_teardown(a_store_at_its_memory_limit_is_rebuilt, tear_down),
        cmocka_unit_test_teardown(a_segment_whose_beginning_was_torn_is_dropped, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
