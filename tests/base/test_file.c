// Files: whole reads, and writes that either happen or leave everything as it was.
#include "base/file.h"
#include "support/check.h"
#include "support/faults.h"
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static wk_error err;
static char folder[] = "file-test-XXXXXX"; // made anew for every test, and the working directory

static int enter_new_folder(void **state)
{
    strcpy(folder, "file-test-XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("..") == 0 && system(command) == 0 ? 0 : -1;
}

// Number of names in a folder, without . and ..
static int names_in(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    int count = 0;
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

static void assert_content(const char *path, const char *expected)
{
    char *bytes;
    size_t size;
    assert_ok(wk_file_read(path, 1000, &bytes, &size, &err));
    assert_string_equal(bytes, expected);
    assert_int_equal(size, strlen(expected));
    free(bytes);
}

static wk_status write_text(const char *path, const char *text)
{
    return wk_file_write(path, text, strlen(text), &err);
}

TEST_CASE(what_is_written_is_read)
{
    assert_ok(write_text("a", "one"));
    assert_content("a", "one");
    assert_ok(write_text("a", "another one"));
    assert_content("a", "another one");
    assert_ok(wk_file_write("empty", NULL, 0, &err));
    assert_content("empty", "");
    assert_int_equal(names_in("."), 2);
}

TEST_CASE(bytes_with_zeros_survive_and_get_a_terminator)
{
    const char bytes[] = {1, 0, 2, 0};
    assert_ok(wk_file_write("a", bytes, sizeof bytes, &err));
    char *back;
    size_t size;
    assert_ok(wk_file_read("a", sizeof bytes, &back, &size, &err));
    assert_int_equal(size, sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_int_equal(back[size], 0);
    free(back);
}

TEST_CASE(a_write_in_pieces_appears_only_with_the_commit)
{
    assert_ok(write_text("a", "old"));
    wk_file_writer *writer;
    assert_ok(wk_file_writer_begin("a", &writer, &err));
    assert_ok(wk_file_writer_append(writer, "new ", 4, &err));
    assert_content("a", "old");
    assert_ok(wk_file_writer_append(writer, "text", 4, &err));
    assert_ok(wk_file_writer_commit(writer, &err));
    assert_content("a", "new text");
    assert_int_equal(names_in("."), 1);
}

TEST_CASE(a_discarded_write_leaves_no_trace)
{
    assert_ok(write_text("a", "old"));
    wk_file_writer *writer;
    assert_ok(wk_file_writer_begin("a", &writer, &err));
    assert_ok(wk_file_writer_append(writer, "new", 3, &err));
    wk_file_writer_discard(writer);
    wk_file_writer_discard(NULL);
    assert_content("a", "old");
    assert_int_equal(names_in("."), 1);
}

TEST_CASE(two_writers_of_one_file_do_not_meet)
{
    wk_file_writer *first, *second;
    assert_ok(wk_file_writer_begin("a", &first, &err));
    assert_ok(wk_file_writer_begin("a", &second, &err));
    assert_ok(wk_file_writer_append(first, "first", 5, &err));
    assert_ok(wk_file_writer_append(second, "second", 6, &err));
    assert_ok(wk_file_writer_commit(second, &err));
    assert_content("a", "second");
    assert_ok(wk_file_writer_commit(first, &err));
    assert_content("a", "first");
}

TEST_CASE(a_full_disk_leaves_the_old_content_and_nothing_else)
{
    assert_ok(write_text("a", "old"));
    const fault_call calls[] = {FAULT_WRITE, FAULT_SYNC};
    for (int i = 0; i < 2; i++) {
        fault_arm(calls[i], 0, ENOSPC);
        assert_refused(write_text("a", "new"), WK_E_IO, "free some space");
        assert_true(fault_disarm(calls[i]));
        assert_content("a", "old");
        assert_int_equal(names_in("."), 1);
    }
}

TEST_CASE(a_rename_that_fails_leaves_the_old_content)
{
    assert_ok(write_text("a", "old"));
    fault_arm(FAULT_RENAME, 0, EIO);
    assert_refused(write_text("a", "new"), WK_E_IO, "cannot replace 'a'");
    assert_content("a", "old");
    assert_int_equal(names_in("."), 1);
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_refused(write_text("folder", "new"), WK_E_IO, "cannot replace 'folder'");
    assert_int_equal(names_in("."), 2);
}

TEST_CASE(a_folder_that_cannot_be_synced_is_reported_unless_it_never_can)
{
    fault_arm(FAULT_SYNC, 1, EIO);
    assert_refused(write_text("a", "new"), WK_E_IO, "cannot make durable");
    fault_arm(FAULT_SYNC, 1, EINVAL);
    assert_ok(write_text("a", "new"));
}

TEST_CASE(every_allocation_that_fails_is_reported)
{
    assert_ok(write_text("a", "old"));
    int failures = 0;
    for (int n = 0;; n++) {
        fault_arm(FAULT_ALLOC, n, ENOMEM);
        wk_status status = write_text("a", "new");
        if (!fault_disarm(FAULT_ALLOC)) break;
        assert_int_equal(status, WK_E_MEMORY);
        assert_int_equal(names_in("."), 1);
        failures++;
    }
    assert_int_equal(failures, 1);
    assert_content("a", "new");

    char *bytes;
    fault_arm(FAULT_ALLOC, 0, ENOMEM);
    assert_refused(wk_file_read("a", 100, &bytes, NULL, &err), WK_E_MEMORY, "'a': no memory");
}

TEST_CASE(interrupted_calls_are_repeated)
{
    fault_arm(FAULT_WRITE, 0, EINTR);
    assert_ok(write_text("a", "text"));
    assert_true(fault_disarm(FAULT_WRITE));
    fault_arm(FAULT_READ, 0, EINTR);
    assert_content("a", "text");
    assert_true(fault_disarm(FAULT_READ));
}

// The limit on file sizes makes the kernel write a part, then refuse: a real short write.
TEST_CASE(a_short_write_is_completed_or_fails_whole)
{
    assert_ok(write_text("a", "old"));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    static const char long_text[5000];
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    wk_status status = wk_file_write("a", long_text, sizeof long_text, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, WK_E_IO);
    assert_non_null(strstr(err.message, "cannot write 'a'"));
    assert_content("a", "old");
    assert_int_equal(names_in("."), 1);
}

TEST_CASE(reads_that_cannot_work_say_why)
{
    char *bytes;
    assert_refused(wk_file_read("none", 100, &bytes, NULL, &err), WK_E_NOT_FOUND,
                   "cannot open 'none'");
    assert_refused(wk_file_read(".", 100, &bytes, NULL, &err), WK_E_INPUT, "not a regular file");
    assert_ok(write_text("a", "0123456789"));
    assert_refused(wk_file_read("a", 9, &bytes, NULL, &err), WK_E_FORMAT, "10 bytes, more than");
    assert_ok(wk_file_read("a", 10, &bytes, NULL, &err));
    free(bytes);
    fault_arm(FAULT_READ, 0, EIO);
    assert_refused(wk_file_read("a", 10, &bytes, NULL, &err), WK_E_IO, "cannot read 'a'");
}

// Files of /proc claim to be empty files of some size; one of /sys says 4096 and holds less.
TEST_CASE(a_file_shorter_than_it_claims_is_noticed)
{
    const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
    struct stat info;
    if (stat(path, &info) != 0 || info.st_size == 0) skip();
    char *bytes;
    assert_refused(wk_file_read(path, 1 << 20, &bytes, NULL, &err), WK_E_IO, "it ends at byte");
}

TEST_CASE(a_reader_reads_at_any_place)
{
    assert_ok(write_text("a", "0123456789"));
    wk_file_reader *reader = NULL;
    assert_ok(wk_file_reader_open_in(NULL, "a", &reader, &err));
    assert_int_equal(wk_file_reader_size(reader), 10);
    char piece[4] = {0};
    assert_ok(wk_file_reader_read(reader, 7, piece, 3, &err));
    assert_string_equal(piece, "789");
    assert_ok(wk_file_reader_read(reader, 0, piece, 2, &err));
    assert_string_equal(piece, "019");
    assert_ok(wk_file_reader_read(reader, 10, piece, 0, &err));
    wk_file_reader_close(reader);
    wk_file_reader_close(NULL);
}

TEST_CASE(a_file_that_shrinks_while_it_is_read_is_noticed)
{
    assert_ok(write_text("a", "0123456789"));
    wk_file_reader *reader = NULL;
    assert_ok(wk_file_reader_open_in(NULL, "a", &reader, &err));
    assert_int_equal(truncate("a", 4), 0);
    char piece[10];
    assert_refused(wk_file_reader_read(reader, 0, piece, 10, &err), WK_E_IO, "it ends at byte 4");
    wk_file_reader_close(reader);
}

TEST_CASE(a_reader_of_what_is_no_file_is_refused)
{
    wk_file_reader *reader = NULL;
    assert_refused(wk_file_reader_open_in(NULL, "none", &reader, &err), WK_E_NOT_FOUND,
                   "check the path");
    assert_refused(wk_file_reader_open_in(NULL, ".", &reader, &err), WK_E_INPUT,
                   "not a regular file");
    assert_null(reader);
}

TEST_CASE(places_that_cannot_be_written_are_named)
{
    assert_refused(write_text("none/a", "x"), WK_E_NOT_FOUND, "cannot create 'none/a'");
    assert_ok(write_text("file", "x"));
    assert_refused(write_text("file/a", "x"), WK_E_IO, "cannot create 'file/a'");
    if (geteuid() == 0) return; // root may write anywhere
    assert_int_equal(mkdir("locked", 0555), 0);
    assert_refused(write_text("locked/a", "x"), WK_E_IO, "check the permissions");
}

TEST_CASE(a_full_path_works_as_well)
{
    char path[4200], here[4096];
    assert_non_null(getcwd(here, sizeof here));
    snprintf(path, sizeof path, "%s/a", here);
    assert_ok(write_text(path, "x"));
    assert_content("a", "x");
}

TEST_CASE(folders_are_made_with_their_parents)
{
    assert_ok(wk_dir_create("a/b//c/", &err));
    assert_true(wk_path_exists("a/b/c"));
    assert_ok(wk_dir_create("a/b/c", &err));
    assert_ok(wk_dir_create(".", &err));
    assert_false(wk_path_exists("a/b/d"));
    assert_ok(write_text("a/file", "x"));
    assert_refused(wk_dir_create("a/file/b", &err), WK_E_IO, "cannot create directory 'a/file'");
}

TEST_CASE(pipes_are_refused_and_not_waited_for)
{
    char *bytes;
    wk_file_reader *reader = NULL;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    assert_refused(wk_file_read("pipe", 100, &bytes, NULL, &err), WK_E_INPUT, "not a regular file");
    assert_refused(wk_file_reader_open_in(NULL, "pipe", &reader, &err), WK_E_INPUT,
                   "not a regular file");
}

// One sync for each directory that is made, of the one that holds its name.
TEST_CASE(new_folders_are_durable)
{
    for (int n = 0; n < 3; n++) {
        char path[32];
        snprintf(path, sizeof path, "%d/b/c", n);
        fault_arm(FAULT_SYNC, n, EIO);
        assert_refused(wk_dir_create(path, &err), WK_E_IO, "cannot make durable");
        assert_ok(wk_dir_create(path, &err));
    }
}

// Those of a process that was killed before its sync too.
TEST_CASE(new_files_are_durable)
{
    int fd;
    wk_dir *dir;
    assert_ok(wk_dir_open(NULL, ".", &dir, &err));
    for (int there = 0; there < 2; there++) {
        fault_arm(FAULT_SYNC, 0, EIO);
        assert_refused(wk_dir_make_file(dir, "a", 0, &fd, &err), WK_E_IO, "cannot make durable");
        assert_int_equal(fd, -1);
    }
    assert_ok(wk_dir_make_file(dir, "a", 0, &fd, &err));
    close(fd);
    wk_dir_close(dir);
}

int main(void)
{
    return run_each_test(enter_new_folder, leave_folder);
}
