// Logs whose checksums are right and whose content is not: each is refused with a message that says
// what is wrong, and none does harm.
#include "replay/folder.h"
#include "replay/log.h"
#include "replay/log_craft.h"
#include "support/check.h"
#include <stdlib.h>
#include <sys/stat.h>

#define FOLDER "replay_hostile.tmp"

static wk_error err;

static unsigned char block[CRAFT_BLOCK_BYTES];
static craft file;

static int set_up(void **state)
{
    mkdir(FOLDER, 0777);
    craft_start(&file);
    craft_begin(&file, 0, 0, 0.5);
    return 0;
}

static int tear_down(void **state)
{
    remove_tree(FOLDER);
    return 0;
}

static wk_status read_crafted(uint64_t capacity, uint64_t *rows)
{
    folder_write(FOLDER "/replay-00000000.log", file.bytes, file.size);
    const wk_replay_config config = {.capacity = capacity,
                                     .frame_bytes = 1800,
                                     .slots = 2,
                                     .action_size = 1,
                                     .n_tasks = 1,
                                     .n_params = 1};
    wk_replay *replay = NULL;
    WK_TRY(wk_replay_create(&config, &replay, &err));
    wk_status status = wk_replay_log_read(FOLDER, NULL, replay, &err);
    *rows = wk_replay_get_stats(replay).rows;
    wk_replay_destroy(replay);
    return status;
}

static void add_rows(wk_record_kind kind, uint64_t episode, uint32_t first, uint32_t count,
                     uint32_t ended, uint8_t flags)
{
    size_t size = count ? craft_block(first, count, flags, 0, block) : 0;
    wk_record record = {(uint32_t)size, kind, 0, episode, first, count, ended, 0};
    assert_true(craft_record(&file, record, block));
}

TEST_CASE(a_right_log_is_read)
{
    uint64_t rows;
    add_rows(WK_RECORD_ROWS, 0, 0, 16, 0, 0);
    add_rows(WK_RECORD_OPEN, 0, 16, 3, 0, 0);
    craft_begin(&file, 1, 1, 0.25);
    add_rows(WK_RECORD_OPEN, 0, 16, 9, 0, 0);
    assert_ok(read_crafted(100, &rows));
    assert_int_equal(rows, 25);
    add_rows(WK_RECORD_ROWS, 0, 16, 16, 0, 0);
    add_rows(WK_RECORD_ROWS, 0, 32, 0, 1, 0);
    assert_ok(read_crafted(100, &rows));
    assert_int_equal(rows, 32);
}

// A record of rows that must be refused, with a part of the message.
typedef struct bad_rows {
    wk_record_kind kind;
    uint64_t episode;
    uint32_t first, count, ended;
    uint8_t flags;
    const char *message;
} bad_rows;

TEST_CASE(rows_that_no_store_could_have_logged_are_refused)
{
    static const bad_rows cases[] = {
        {WK_RECORD_ROWS, 7, 16, 16, 0, 0, "has rows but no beginning"},
        {WK_RECORD_ROWS, 0, 0, 16, 0, 0, "out of order"},
        {WK_RECORD_ROWS, 0, 32, 16, 0, 0, "out of order"},
        {WK_RECORD_ROWS, 0, 16, 15, 0, 0, "too few rows"},
        {WK_RECORD_OPEN, 0, 16, 16, 0, 0, "open rows"},
        {WK_RECORD_OPEN, 0, 16, 0, 0, 0, "open rows"},
        {WK_RECORD_OPEN, 0, 16, 2, 1, 0, "open rows"},
        {WK_RECORD_ROWS, 0, 16, 16, 2, 0, "bad mark"},
        {WK_RECORD_ROWS, 0, 16, 16, 0, WK_IS_LAST, "after its last row"},
        {WK_RECORD_ROWS, 0, 16, 3, 1, WK_IS_LAST, "after its last row"},
        {WK_RECORD_ROWS, 0, 16, 16, 0, WK_IS_FIRST, "first row"},
        {WK_RECORD_ROWS, 0, 16, 16, 0, 64, "unknown flags"},
        {WK_RECORD_ROWS, 0, 16, 16, 0, WK_IS_TERMINAL, "terminal"},
        {(wk_record_kind)9, 0, 16, 16, 0, 0, "unknown kind 9"},
    };
    uint64_t rows;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bad_rows *bad = &cases[i];
        craft_start(&file);
        craft_begin(&file, 0, 0, 0.5);
        add_rows(WK_RECORD_ROWS, 0, 0, 16, 0, 0);
        add_rows(bad->kind, bad->episode, bad->first, bad->count, bad->ended, bad->flags);
        assert_refused(read_crafted(100, &rows), WK_E_FORMAT, bad->message);
        assert_non_null(strstr(err.message, "replay-00000000.log"));
    }
}

TEST_CASE(an_episode_that_ends_before_it_has_rows_is_refused)
{
    uint64_t rows;
    add_rows(WK_RECORD_ROWS, 0, 0, 0, 1, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "its end is impossible");
}

TEST_CASE(rows_after_the_end_are_refused)
{
    uint64_t rows;
    add_rows(WK_RECORD_ROWS, 0, 0, 16, 1, 0);
    add_rows(WK_RECORD_ROWS, 0, 16, 16, 1, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "after its end");
}

TEST_CASE(beginnings_out_of_order_or_place_are_refused)
{
    uint64_t rows;
    craft saved = file;
    craft_begin(&file, 2, 1, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "out of order");
    file = saved;
    craft_begin(&file, 1, 0, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "has not ended");
    file = saved;
    craft_begin(&file, 1, 2, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "does not have");
    file = saved;
    craft_begin(&file, 1, UINT32_MAX, 0);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "does not have");
    file = saved;
    craft_begin(&file, 1, 1, NAN);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "not finite");
    file = saved;
    craft_record(&file, (wk_record){.size = 3, .kind = WK_RECORD_BEGIN, .episode = 1}, "abc");
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "wrong size");
}

TEST_CASE(blocks_that_are_none_are_refused)
{
    uint64_t rows;
    craft saved = file;
    size_t size = craft_block(0, 16, 0, 0, block);
    for (size_t cut = 0; cut < size; cut += cut < 300 ? 7 : 101) {
        file = saved;
        wk_record record = {(uint32_t)cut, WK_RECORD_ROWS, 0, 0, 0, 16, 0, 0};
        craft_record(&file, record, block);
        assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "cannot be unpacked");
        assert_int_equal(rows, 0);
    }
    file = saved;
    size = craft_block(0, 16, 0, INFINITY, block);
    craft_record(&file, (wk_record){(uint32_t)size, WK_RECORD_ROWS, 0, 0, 0, 16, 0, 0}, block);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "reward that is not finite");
    file = saved;
    craft_record(&file, (wk_record){(uint32_t)size, WK_RECORD_ROWS, 0, 0, 0, 17, 0, 0}, block);
    assert_refused(read_crafted(100, &rows), WK_E_FORMAT, "too many rows");
}

TEST_CASE(more_than_the_store_may_hold_is_refused)
{
    uint64_t rows;
    for (uint32_t i = 0; i < 4; i++)
        add_rows(WK_RECORD_ROWS, 0, i * 16, 16, 0, 0);
    assert_ok(read_crafted(63, &rows));
    assert_refused(read_crafted(62, &rows), WK_E_MEMORY, "62 steps");
}

TEST_CASE(a_record_longer_than_any_is_a_torn_tail)
{
    uint64_t rows;
    add_rows(WK_RECORD_ROWS, 0, 0, 16, 0, 0);
    unsigned char *header = file.bytes + file.size;
    memset(header, 0xff, WK_RECORD_HEADER);
    file.size += WK_RECORD_HEADER;
    assert_ok(read_crafted(100, &rows));
    assert_int_equal(rows, 16);
}

TEST_CASE(evictions_of_unknown_episodes_do_nothing)
{
    uint64_t rows;
    add_rows(WK_RECORD_ROWS, 0, 0, 16, 0, 0);
    craft_record(&file, (wk_record){.kind = WK_RECORD_EVICT, .episode = 99}, NULL);
    assert_ok(read_crafted(100, &rows));
    assert_int_equal(rows, 16);
    craft_record(&file, (wk_record){.kind = WK_RECORD_EVICT, .episode = 0}, NULL);
    assert_ok(read_crafted(100, &rows));
    assert_int_equal(rows, 0);
}

TEST_MAIN_EACH(set_up, tear_down)
