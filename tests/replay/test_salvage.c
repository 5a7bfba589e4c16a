// A damaged log made usable again: whole episodes are kept as they were, nothing else is, and the
// new log is one like any other.
#include "replay/episodes.h"
#include "replay/folder.h"
#include "replay/salvage.h"
#include "replay/script.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER "replay_salvage.tmp"
#define COPY "replay_salvage_copy.tmp"

enum { CAPACITY = 500, SEGMENTS_MAX = 64 };

static wk_error err;
static wk_replay *original; // the store at the mark
static wk_replay_mark mark;
static wk_salvage_slot slots[SCRIPT_SLOTS];
static uint64_t first_segment;

static int setup(void **state)
{
    (void)state;
    folder_remove(FOLDER);
    wk_replay_log *log = NULL;
    wk_replay_log_config config = {.directory = FOLDER, .segment_bytes = 60000};
    original = script_store(CAPACITY);
    assert_ok(wk_replay_log_open(&config, NULL, original, &log, &err));
    assert_ok(script_run(original, 150, &err));
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    assert_ok(script_run(original, 250, &err));
    assert_ok(wk_replay_log_prune(log, &mark, &err));
    assert_ok(wk_replay_log_sync(log, &mark, &err));
    wk_replay_log_close(log);
    assert_true(folder_count(FOLDER, ".log") >= 4);
    for (first_segment = 0;; first_segment++) {
        char path[100];
        snprintf(path, sizeof path, FOLDER "/replay-%08llu.log", (unsigned long long)first_segment);
        if (access(path, F_OK) == 0) break;
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    wk_replay_destroy(original);
    folder_remove(FOLDER);
    folder_remove(COPY);
    return 0;
}

// Removes what is not in `kept`, of a store that holds it.
static void keep_only(wk_replay *all, const wk_replay *kept)
{
    for (size_t i = wk_replay_count(all); i-- > 0;) {
        bool there = false;
        for (size_t k = 0; k < wk_replay_count(kept); k++)
            there |= wk_replay_at(kept, k).id == wk_replay_at(all, i).id;
        if (!there) wk_replay_remove(all, i);
    }
}

static uint64_t next_id(const wk_replay *replay)
{
    return wk_replay_count(replay) + wk_replay_get_stats(replay).evicted;
}

static void find_slots(void)
{
    memset(slots, 0, sizeof slots);
    for (size_t i = 0; i < wk_replay_count(original); i++) {
        wk_replay_episode e = wk_replay_at(original, i);
        if (e.slot >= 0) slots[e.slot] = (wk_salvage_slot){true, e.id, e.rows};
    }
}

// Salvages COPY and compares what is in the new log with the store that the old one was of.
static wk_salvaged salvage(void)
{
    wk_dir *dir = NULL;
    wk_salvaged made = {0};
    wk_salvage_config config = {
        .shape = {.action_size = EPISODE_A, .n_tasks = EPISODE_K, .n_params = EPISODE_P},
        .capacity = CAPACITY,
        .mark = mark,
        .next_episode = next_id(original),
        .slots = slots,
        .n_slots = SCRIPT_SLOTS,
        .segment_bytes = 60000};
    find_slots();
    assert_ok(wk_dir_open(NULL, COPY, &dir, &err));
    assert_ok(wk_replay_log_salvage(dir, &config, &made, &err));
    wk_dir_close(dir);
    assert_ok(wk_replay_log_verify(COPY, &made.mark, &err));
    wk_replay *kept = script_store(CAPACITY), *expected = script_store(CAPACITY);
    assert_ok(wk_replay_log_read(COPY, &made.mark, kept, &err));
    assert_ok(wk_replay_log_read(FOLDER, &mark, expected, &err));
    assert_int_equal(next_id(kept), next_id(original));
    assert_int_equal(wk_replay_count(kept), made.kept);
    // Evictions that were lost with their episodes make it more.
    assert_true(made.kept + made.lost >= wk_replay_count(original));
    for (int i = 0; i < SCRIPT_SLOTS; i++)
        assert_int_equal(slots[i].running, wk_replay_running(kept, i));
    keep_only(expected, kept);
    keep_only(kept, expected); // an episode whose eviction was lost may be there again
    assert_same_content(expected, kept);
    wk_replay_destroy(expected);
    wk_replay_destroy(kept);
    return made;
}

static void segment_path(uint64_t number, char path[100])
{
    snprintf(path, 100, COPY "/replay-%08llu.log", (unsigned long long)number);
}

static size_t segment_size(uint64_t number)
{
    char path[100];
    size_t size;
    segment_path(number, path);
    free(folder_read(path, &size));
    return size;
}

static void change(uint64_t number, size_t from, size_t count, unsigned char bits)
{
    char path[100];
    size_t size;
    segment_path(number, path);
    unsigned char *bytes = folder_read(path, &size);
    for (size_t i = from; i < from + count && i < size; i++)
        bytes[i] ^= bits;
    folder_write(path, bytes, size);
    free(bytes);
}

static void a_flipped_bit_costs_two_episodes_at_most(void **state)
{
    (void)state;
    unsigned flips = 0, lost = 0;
    for (uint64_t number = first_segment; number <= mark.segment; number++) {
        folder_copy(FOLDER, COPY);
        size_t size = segment_size(number);
        for (size_t at = 3; at < size; at += at < 300 ? 17 : 9001, flips++) {
            folder_copy(FOLDER, COPY);
            change(number, at, 1, (unsigned char)(1 << at % 8));
            wk_salvaged made = salvage();
            if (made.lost > 2)
                fail_msg("byte %zu of segment %llu: %llu episodes lost", at,
                         (unsigned long long)number, (unsigned long long)made.lost);
            lost += (unsigned)made.lost;
        }
    }
    print_message("%u flips, %u episodes lost\n", flips, lost);
    assert_true(flips > 60 && lost > 10);
}

static void what_lies_outside_of_the_damage_is_kept(void **state)
{
    (void)state;
    int lost = 0;
    for (uint64_t number = first_segment; number <= mark.segment; number++) {
        char path[100];
        segment_path(number, path);
        folder_copy(FOLDER, COPY);
        change(number, 1000, 9000, 0xff);
        uint64_t changed = salvage().kept;
        folder_copy(FOLDER, COPY);
        assert_int_equal(truncate(path, (off_t)segment_size(number) / 2), 0);
        uint64_t cut = salvage().kept;
        folder_copy(FOLDER, COPY);
        assert_int_equal(unlink(path), 0);
        uint64_t missing = salvage().kept;
        assert_true(changed > 0 && missing > 0 && cut > 0);
        lost += changed < wk_replay_count(original);
    }
    assert_true(lost >= 3);
}

static void a_log_of_which_nothing_is_left_becomes_an_empty_one(void **state)
{
    (void)state;
    folder_copy(FOLDER, COPY);
    for (uint64_t number = first_segment; number <= mark.segment; number++) {
        char path[100];
        segment_path(number, path);
        unlink(path);
    }
    wk_salvaged made = salvage();
    assert_int_equal(made.kept, 0);
    assert_int_equal(made.stopped, SCRIPT_SLOTS);
}

static void a_store_made_of_it_goes_on(void **state)
{
    (void)state;
    folder_copy(FOLDER, COPY);
    change(mark.segment, 200, 2000, 0x10);
    wk_salvaged made = salvage();
    assert_true(made.lost > 0);
    wk_replay_log_config config = {.directory = COPY, .segment_bytes = 60000};
    wk_replay *replay = script_store(CAPACITY);
    wk_replay_log *log = NULL;
    wk_replay_mark later;
    assert_ok(wk_replay_log_open(&config, &made.mark, replay, &log, &err));
    assert_ok(script_run(replay, 100, &err));
    assert_ok(wk_replay_log_sync(log, &later, &err));
    assert_ok(wk_replay_log_prune(log, &later, &err));
    wk_replay_log_close(log);
    wk_replay_destroy(replay);
    assert_ok(wk_replay_log_verify(COPY, &later, &err));
}

// Beginnings, ends and evictions may be lost too: never more than the store held is kept.
static void lost_evictions_do_not_fill_the_store(void **state)
{
    (void)state;
    for (size_t at = 500; at < 55000; at += 5000) {
        folder_copy(FOLDER, COPY);
        for (uint64_t number = first_segment; number <= mark.segment; number++)
            change(number, at, 3000, 0x81);
        wk_salvaged made = salvage();
        assert_true(made.mark.rows <= mark.rows);
    }
}

// A checkpoint that counts more episodes than the store could hold would have all of them written.
static void a_count_of_episodes_that_cannot_be_is_refused(void **state)
{
    (void)state;
    wk_dir *dir = NULL;
    wk_salvaged made = {0};
    wk_salvage_config config = {
        .shape = {.action_size = EPISODE_A, .n_tasks = EPISODE_K, .n_params = EPISODE_P},
        .capacity = CAPACITY,
        .mark = mark,
        .next_episode = next_id(original) + (1 << 20),
        .slots = slots,
        .n_slots = SCRIPT_SLOTS,
        .segment_bytes = 60000};
    char path[100];
    folder_copy(FOLDER, COPY);
    find_slots();
    assert_ok(wk_dir_open(NULL, COPY, &dir, &err));
    assert_refused(wk_replay_log_salvage(dir, &config, &made, &err), WK_E_FORMAT,
                   "too many episodes");
    wk_dir_close(dir);
    segment_path(mark.segment + 1, path);
    assert_false(wk_path_exists(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_costs_two_episodes_at_most),
        cmocka_unit_test(what_lies_outside_of_the_damage_is_kept),
        cmocka_unit_test(a_log_of_which_nothing_is_left_becomes_an_empty_one),
        cmocka_unit_test(a_store_made_of_it_goes_on),
        cmocka_unit_test(lost_evictions_do_not_fill_the_store),
        cmocka_unit_test(a_count_of_episodes_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
