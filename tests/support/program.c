#include "support/program.h"
#include "base/file.h"
#include "support/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64], *last_out, *last_err;

int program_setup(void **state)
{
    strcpy(directory, "program-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

int program_teardown(void **state)
{
    free(last_out);
    free(last_err);
    last_out = last_err = NULL;
    remove_tree(directory);
    return 0;
}

int program_count_files(void)
{
    DIR *d = opendir(directory);
    assert_non_null(d);
    int count = 0;
    for (struct dirent *e; (e = readdir(d));)
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

unsigned char *program_read(const char *name, unsigned long *size)
{
    char path[400], *content = NULL;
    size_t length = 0;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    if (wk_file_read(path, 1 << 28, &content, &length, NULL) != WK_OK) return NULL;
    if (size) *size = length;
    return (unsigned char *)content;
}

static char *take_output(const char *name)
{
    char *text = (char *)program_read(name, NULL);
    return text ? text : strdup("");
}

program_result program_run_after(const char *before, const char *arguments)
{
    char command[4096];
    // The arguments stand last, so that a redirection in them wins.
    snprintf(command, sizeof command, "cd %s && %s %s >.out 2>.err %s", directory, before,
             WAKER_BINARY_DIR "/waker", arguments);
    int status = system(command);
    assert_true(WIFEXITED(status));
    free(last_out);
    free(last_err);
    last_out = take_output(".out");
    last_err = take_output(".err");
    return (program_result){WEXITSTATUS(status), last_out, last_err};
}

program_result program_run(const char *format, ...)
{
    char arguments[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    return program_run_after("", arguments);
}

program_result program_succeed(const char *format, ...)
{
    char arguments[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(arguments, sizeof arguments, format, args);
    va_end(args);
    program_result result = program_run_after("", arguments);
    program_expect_success(result);
    return result;
}

void expect_all_parts(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (!strstr(text, *parts)) fail_msg("no '%s' in: %s", *parts, text);
}

void program_expect_error(program_result result, int code, const char *part)
{
    if (result.code != code || !strstr(result.err, part))
        fail_msg("exit code %d (not %d) or no '%s' in: %s%s", result.code, code, part, result.err,
                 result.out);
}

void program_refuses(const char *command, const char *part)
{
    program_expect_error(program_run_after("", command), 2, part);
}

void program_expect_success(program_result result)
{
    if (result.code != 0) fail_msg("exit code %d: %s", result.code, result.err);
}

void program_expect_json(const char *json)
{
    FILE *python = popen("python3 -m json.tool >/dev/null", "w");
    assert_non_null(python);
    fputs(json, python);
    if (pclose(python) != 0) fail_msg("not JSON: %s", json);
}

void expect_all_parts_of_file(const char *name, const char *const *parts)
{
    char *text = (char *)program_read(name, NULL);
    if (!text) fail_msg("there is no %s", name);
    expect_all_parts(text, parts);
    free(text);
}
