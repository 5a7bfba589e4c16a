// Runs the built program the way a user does, through a shell, in a directory of its own.
#ifndef WK_TESTS_PROGRAM_H
#define WK_TESTS_PROGRAM_H

#include <stdbool.h>

/// What a run left behind; valid until the next run.
typedef struct program_result {
    int code;
    const char *out, *err;
} program_result;

/// Makes an empty directory and works in it; the group set-up of a test program.
int program_setup(void **state);
/// Removes it with everything in it.
int program_teardown(void **state);

/// Runs `waker ARGUMENTS` in the directory; the arguments are a printf format and may redirect.
program_result program_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// The same; fails unless the run ends with 0.
program_result program_succeed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// As program_run, with shell commands before it ("ulimit -f 1;").
program_result program_run_after(const char *before, const char *arguments);

/// Fails unless the run ended with `code` and its standard error contains `part`.
void program_expect_error(program_result result, int code, const char *part);

/// Runs a command, which is taken as it is; fails unless it is refused as program_expect_error
/// says, with code 2.
void program_refuses(const char *command, const char *part);

/// Fails unless the run ended with 0; shows what it said otherwise.
void program_expect_success(program_result result);

/// Fails unless `text` has all of the texts after it.
#define expect_parts(text, ...) expect_all_parts(text, (const char *const[]){__VA_ARGS__, NULL})
/// Runs a command, which is taken as it is; fails unless it ends with 0 and prints all of the texts
/// after it.
#define program_prints(command, ...) expect_parts(program_succeed("%s", command).out, __VA_ARGS__)
/// The same of a file of the directory.
#define expect_file_parts(name, ...)                                                               \
    expect_all_parts_of_file(name, (const char *const[]){__VA_ARGS__, NULL})
void expect_all_parts_of_file(const char *name, const char *const *parts);
void expect_all_parts(const char *text, const char *const *parts);

/// Fails unless `json` is a JSON document (asks Python).
void program_expect_json(const char *json);

/// Number of files in the directory; hidden ones (the captured output) do not count.
int program_count_files(void);

/// Whole content of a file of the directory, malloc'd; NULL if there is none.
unsigned char *program_read(const char *name, unsigned long *size);

#endif
