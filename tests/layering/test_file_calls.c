// Every call of libc that works on files and can fail is one that support/faults.h can make fail:
// a new one in the library fails here until it is wrapped, so that the sweeps do not miss it.
#include "support/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What libc has to open, change, list, move and lock files, by name and by descriptor. Variants for
// large files and fortified ones (open64, __read_chk) are told by these names in them.
static const char *const file_calls =
    " open openat openat2 creat fopen fdopen freopen tmpfile tmpfile64 mkstemp mkostemp mkstemps"
    " mkdtemp tempnam opendir fdopendir readdir readdir_r closedir rewinddir seekdir telldir "
    "scandir"
    " scandirat ftw nftw fts_open fts_read glob getdents stat lstat fstat fstatat statx statvfs"
    " fstatvfs statfs fstatfs access faccessat euidaccess realpath canonicalize_file_name readlink"
    " readlinkat link linkat symlink symlinkat mkdir mkdirat mkfifo mkfifoat mknod mknodat rmdir"
    " remove unlink unlinkat rename renameat renameat2 chmod fchmod fchmodat chown fchown lchown"
    " fchownat utime utimes futimens utimensat truncate ftruncate fallocate posix_fallocate fsync"
    " fdatasync sync syncfs sync_file_range msync mmap munmap lseek read pread readv preadv write"
    " pwrite writev pwritev sendfile splice copy_file_range fread fwrite fputs fputc fgets fgetc"
    " getline fprintf vfprintf fscanf fseek ftell fflush fclose close close_range dup dup2 dup3 "
    "flock"
    " lockf fcntl ioctl chdir fchdir setxattr getxattr ";

// What need not be wrapped, and why.
static const struct {
    const char *object, *call, *why;
} allowed[] = {
    {"machine.c.o", "fopen",
     "reads what limits the machine has; a file that cannot be read is none"},
    {"machine.c.o", "fgets", "the same"},
    {"machine.c.o", "fclose", "the same"},
    {"log.c.o", "fprintf", "messages on a stream of the caller's"},
    {"physics.c.o", "fprintf", "what MuJoCo says before it ends the process, on stderr"},
    {"process.c.o", "dup2",
     "in a child that becomes another program, of descriptors that are open"},
    {"python_process.c.o", "fcntl", "moves descriptors of sockets and memory, not of files"},
    {"python_process.c.o", "mmap", "of memory that has no file"},
    {"python_process.c.o", "munmap", "the same"},
    {"status_line.c.o", "ioctl", "asks a terminal for its width"},
};

static char *read_all(const char *command, FILE *from)
{
    size_t size = 0, capacity = 1 << 22;
    char *text = malloc(capacity);
    assert_non_null(text);
    if (!from) fail_msg("%s", command);
    size = fread(text, 1, capacity - 1, from);
    assert_true(size > 0 && size < capacity - 1);
    text[size] = 0;
    return text;
}

static bool listed(const char *list, const char *word)
{
    char padded[160];
    snprintf(padded, sizeof padded, " %.150s ", word);
    return strstr(list, padded) != NULL;
}

// The plain name of a symbol: "__openat64_2" is openat.
static void plain_name(const char *symbol, char name[128])
{
    snprintf(name, 128, "%s", symbol + 2 * (strncmp(symbol, "__", 2) == 0));
    static const char *const endings[] = {"@GLIBC", "_chk", "_2", "64"};
    for (int i = 0; i < 4; i++) {
        char *at = strstr(name, endings[i]);
        if (at && at != name && (i == 0 || !at[strlen(endings[i])])) *at = 0;
    }
}

static bool is_allowed(const char *object, const char *call)
{
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (strcmp(allowed[i].object, object) == 0 && strcmp(allowed[i].call, call) == 0)
            return true;
    return false;
}

// The names between "foreach(call" and ")", with a space around each.
static char *wrapped_calls(void)
{
    const char *path = WAKER_SOURCE_DIR "/tests/support/faults.cmake";
    FILE *file = fopen(path, "r");
    char *text = read_all(path, file), *begin = strstr(text, "foreach(call");
    fclose(file);
    assert_non_null(begin);
    char *end = strchr(begin, ')');
    assert_non_null(end);
    strcpy(end, " ");
    for (char *c = begin; *c; c++)
        if (*c == '\n') *c = ' ';
    memmove(text, begin, strlen(begin) + 1);
    return text;
}

TEST_CASE(every_file_call_of_the_library_can_be_made_to_fail)
{
    const char *command = "nm -u " WAKER_BINARY_DIR "/libwaker.a 2>/dev/null";
    FILE *nm = popen(command, "r");
    char *symbols = read_all(command, nm), *wrapped = wrapped_calls(), object[128] = "";
    assert_int_equal(pclose(nm), 0);
    int faults = 0, calls = 0;
    for (char *line = strtok(symbols, "\n"); line; line = strtok(NULL, "\n")) {
        char symbol[256], plain[128], *colon = strchr(line, ':');
        if (colon && !strstr(line, " U ")) {
            snprintf(object, sizeof object, "%.*s", (int)(colon - line), line);
            continue;
        }
        if (sscanf(line, " U %255s", symbol) != 1) continue;
        plain_name(symbol, plain);
        if (!listed(file_calls, plain)) continue;
        calls++;
        if (listed(wrapped, symbol) || is_allowed(object, plain)) continue;
        print_message("%s calls %s: wrap it in tests/support/faults.h and faults.cmake\n", object,
                      symbol);
        faults++;
    }
    free(symbols);
    free(wrapped);
    if (faults > 0) fail_msg("%d file calls that no sweep makes fail", faults);
    assert_true(calls > 20);
}

// What makes a file makes its name durable too: wk_dir_make_file, or a wk_file_writer.
TEST_CASE(files_are_made_in_base_but_for_locks_and_logs_of_processes)
{
    FILE *grep =
        popen("cd " WAKER_SOURCE_DIR "/src && grep -rlE '\\<O_CREAT\\>|\\<creat\\(' . | sort", "r");
    char *files = read_all("grep", grep);
    assert_int_equal(pclose(grep), 0);
    assert_string_equal(files, "./base/dir.c\n./base/file.c\n./run/lock.c\n./sweep/process.c\n");
    free(files);
}

TEST_MAIN(NULL, NULL)
