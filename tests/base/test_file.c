// Files: reading at any place, limits, and writes that replace a file whole or not at all.
#include "base/file.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH "test_file.tmp"

static void what_was_written_is_read_back(void **state)
{
    (void)state;
    wk_error err = {0};
    const char content[] = "some\0bytes";
    assert_ok(wk_file_write(PATH, content, sizeof content, &err));
    char *bytes;
    size_t size;
    assert_ok(wk_file_read(PATH, 100, &bytes, &size, &err));
    assert_int_equal(size, sizeof content);
    assert_memory_equal(bytes, content, size);
    assert_int_equal(bytes[size], 0);
    free(bytes);
    remove(PATH);
}

static void files_over_the_limit_are_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    char *bytes = NULL;
    assert_ok(wk_file_write(PATH, "12345", 5, &err));
    assert_refused(wk_file_read(PATH, 4, &bytes, NULL, &err), WK_E_FORMAT, "has 5 bytes");
    assert_null(bytes);
    remove(PATH);
}

static void a_reader_reads_at_any_place(void **state)
{
    (void)state;
    wk_error err = {0};
    assert_ok(wk_file_write(PATH, "0123456789", 10, &err));
    wk_file_reader *reader = NULL;
    assert_ok(wk_file_reader_open(PATH, &reader, &err));
    assert_int_equal(wk_file_reader_size(reader), 10);
    char piece[4] = {0};
    assert_ok(wk_file_reader_read(reader, 7, piece, 3, &err));
    assert_string_equal(piece, "789");
    assert_ok(wk_file_reader_read(reader, 0, piece, 2, &err));
    assert_string_equal(piece, "019");
    assert_ok(wk_file_reader_read(reader, 10, piece, 0, &err));
    wk_file_reader_close(reader);
    remove(PATH);
}

static void a_file_that_shrinks_while_it_is_read_is_noticed(void **state)
{
    (void)state;
    wk_error err = {0};
    assert_ok(wk_file_write(PATH, "0123456789", 10, &err));
    wk_file_reader *reader = NULL;
    assert_ok(wk_file_reader_open(PATH, &reader, &err));
    assert_int_equal(truncate(PATH, 4), 0);
    char piece[10];
    assert_refused(wk_file_reader_read(reader, 0, piece, 10, &err), WK_E_IO, "ends at byte 4");
    wk_file_reader_close(reader);
    remove(PATH);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    wk_error err = {0};
    wk_file_reader *reader = NULL;
    assert_refused(wk_file_reader_open("no/such", &reader, &err), WK_E_NOT_FOUND, "check the path");
    assert_refused(wk_file_reader_open(".", &reader, &err), WK_E_INPUT, "not a regular file");
    assert_null(reader);
}

static void a_discarded_write_leaves_the_old_content(void **state)
{
    (void)state;
    wk_error err = {0};
    assert_ok(wk_file_write(PATH, "old", 3, &err));
    wk_file_writer *writer = NULL;
    assert_ok(wk_file_writer_begin(PATH, &writer, &err));
    assert_ok(wk_file_writer_append(writer, "new", 3, &err));
    wk_file_writer_discard(writer);
    char *bytes;
    assert_ok(wk_file_read(PATH, 100, &bytes, NULL, &err));
    assert_string_equal(bytes, "old");
    free(bytes);
    remove(PATH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read_back),
        cmocka_unit_test(files_over_the_limit_are_refused),
        cmocka_unit_test(a_reader_reads_at_any_place),
        cmocka_unit_test(a_file_that_shrinks_while_it_is_read_is_noticed),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(a_discarded_write_leaves_the_old_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
