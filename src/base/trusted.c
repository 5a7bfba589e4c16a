#include "base/trusted.h"

#include "base/file.h"
#include "base/python_spec.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_LIMIT = 16 << 20 };

bool wk_code_path_valid(const char *path)
{
    if (path[0] != '/' || strlen(path) >= WK_CODE_PATH_MAX) return false;
    for (const char *c = path; *c; c++)
        if (wk_utf8_control(c)) return false;
    return true;
}

static wk_status no_file(const char *name, wk_error *err)
{
    const char *what = wk_python_spec_source_length(name)
                           ? "give FILE.py:FUNCTION with the path of your Python code"
                           : "give the path of the .so your plug-in's build made";
    return wk_fail(err, WK_E_NOT_FOUND, "there is no file '%s'; %s", name, what);
}

// The true path of name[0 ... length-1], and the content there.
static wk_status look(const char *name, size_t length, wk_code_file *out, wk_error *err)
{
    char file[WK_CODE_PATH_MAX];
    if (length >= sizeof file) return wk_fail(err, WK_E_INPUT, "the path '%s' is too long", name);
    snprintf(file, sizeof file, "%.*s", (int)length, name);
    char *path = realpath(file, NULL);
    if (!path && errno == ENOENT) return no_file(name, err);
    if (!path) return wk_fail(err, WK_E_IO, "cannot look at '%s': %s", name, strerror(errno));
    bool valid =
        wk_code_path_valid(path) && strlen(path) + strlen(name + length) < sizeof out->path;
    if (valid) snprintf(out->path, sizeof out->path, "%s", path);
    free(path);
    if (!valid)
        return wk_fail(err, WK_E_INPUT,
                       "the path of '%s' is too long or has control characters; move the file",
                       name);
    struct stat info;
    if (stat(out->path, &info) != 0) return wk_file_error(err, "cannot look at", name);
    if (!S_ISREG(info.st_mode))
        return wk_fail(err, WK_E_FORMAT, "'%s' is not a shared object", name);
    return wk_sha256_file(out->path, out->sha256, err);
}

wk_status wk_code_file_read(const char *name, wk_code_file *out, wk_error *err)
{
    size_t place =
        wk_python_spec_has_file(name) ? wk_python_spec_source_length(name) : strlen(name);
    WK_TRY(look(name, place, out, err));
    strcat(out->path, name + place); // nothing, or the function
    return WK_OK;
}

// Relative values of the variable are to be ignored (XDG Base Directory Specification).
wk_status wk_trusted_path(char path[WK_CODE_PATH_MAX], wk_error *err)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int length = -1;
    if (config && config[0] == '/')
        length = snprintf(path, WK_CODE_PATH_MAX, "%s/waker/trusted", config);
    else if (home && home[0] == '/')
        length = snprintf(path, WK_CODE_PATH_MAX, "%s/.config/waker/trusted", home);
    if (length > 0 && length < WK_CODE_PATH_MAX) return WK_OK;
    return wk_fail(err, WK_E_NOT_FOUND,
                   "there is no place for a list of trusted files; set HOME or XDG_CONFIG_HOME to "
                   "an absolute path");
}

// Anyone who can write the list or its folder can have code loaded with the user's rights.
static wk_status check_owner(const char *path, wk_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return wk_fail(err, WK_E_IO, "cannot look at '%s': %s", path, strerror(errno));
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return wk_fail(err, WK_E_INPUT,
                       "'%s' belongs to another user, who could have any code loaded; no file is "
                       "trusted until it is yours",
                       path);
    if (info.st_mode & (S_IWGRP | S_IWOTH))
        return wk_fail(err, WK_E_INPUT,
                       "'%s' can be written by others, who could have any code loaded; no file is "
                       "trusted until 'chmod go-w %s'",
                       path, path);
    return WK_OK;
}

static wk_status check_place(const char *path, wk_error *err)
{
    char folder[WK_CODE_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    WK_TRY(check_owner(folder, err));
    return check_owner(path, err);
}

// "HASH  PATH", with sha256sum's second blank or '*'.
static wk_status read_line(wk_trusted *out, const char *line, wk_error *err)
{
    wk_code_file file = {{0}, {0}};
    enum { DIGITS = WK_SHA256_CHARS - 1 };
    bool right = strlen(line) > DIGITS + 2 && line[DIGITS] == ' ' &&
                 (line[DIGITS + 1] == ' ' || line[DIGITS + 1] == '*');
    if (right) {
        memcpy(file.sha256, line, DIGITS);
        right = wk_sha256_valid(file.sha256) && wk_code_path_valid(line + DIGITS + 2);
    }
    if (!right)
        return wk_fail(err, WK_E_FORMAT,
                       "not 'HASH  /absolute/path' as 'sha256sum /absolute/path' prints it");
    snprintf(file.path, sizeof file.path, "%s", line + DIGITS + 2);
    return wk_trusted_add(out, &file, err);
}

static wk_status read_lines(wk_trusted *out, char *text, const char *path, wk_error *err)
{
    char *rest = text;
    for (int number = 1; *rest; number++) {
        char *line = rest;
        size_t length = strcspn(rest, "\n");
        rest += length + (rest[length] == '\n');
        line[length] = 0;
        if (line[0] == '#' || line[strspn(line, " \t\r")] == 0) continue;
        wk_status status = read_line(out, line, err);
        if (status != WK_OK) return err ? wk_fail_context(err, "%s:%d", path, number) : status;
    }
    return WK_OK;
}

wk_status wk_trusted_read(wk_trusted *out, wk_error *err)
{
    char path[WK_CODE_PATH_MAX], *text;
    *out = (wk_trusted){0};
    bool there;
    if (wk_trusted_path(path, NULL) != WK_OK) return WK_OK;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there) return WK_OK;
    WK_TRY(check_place(path, err));
    WK_TRY(wk_file_read(path, LIST_LIMIT, &text, NULL, err));
    wk_status status = read_lines(out, text, path, err);
    free(text);
    if (status != WK_OK) wk_trusted_free(out);
    return status;
}

static wk_status write_list(const char *path, const wk_text *text, wk_error *err)
{
    if (text->failed) return wk_fail(err, WK_E_MEMORY, "no memory for the list of trusted files");
    char folder[WK_CODE_PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    WK_TRY(wk_dir_create(folder, err));
    return wk_file_write(path, wk_text_get(text), text->length, err);
}

wk_status wk_trusted_write(const wk_trusted *trusted, wk_error *err)
{
    char path[WK_CODE_PATH_MAX];
    wk_text text = {0};
    WK_TRY(wk_trusted_path(path, err));
    wk_text_puts(&text,
                 "# Files that waker may load code from without being told ('waker trust').\n");
    for (size_t i = 0; i < trusted->files.count; i++)
        wk_text_printf(&text, "%s  %s\n", trusted->files.items[i].sha256,
                       trusted->files.items[i].path);
    mode_t before = umask(S_IRWXG | S_IRWXO);
    wk_status status = write_list(path, &text, err);
    umask(before);
    wk_text_free(&text);
    return status;
}

void wk_trusted_free(wk_trusted *trusted)
{
    wk_array_free(&trusted->files);
}

const wk_code_file *wk_trusted_find(const wk_trusted *trusted, const char *path)
{
    for (size_t i = 0; i < trusted->files.count; i++)
        if (strcmp(trusted->files.items[i].path, path) == 0) return &trusted->files.items[i];
    return NULL;
}

wk_status wk_trusted_add(wk_trusted *trusted, const wk_code_file *file, wk_error *err)
{
    wk_trusted_remove(trusted, file->path);
    if (wk_array_push(&trusted->files, *file)) return WK_OK;
    return wk_fail(err, WK_E_MEMORY, "no memory for the list of trusted files");
}

bool wk_trusted_remove(wk_trusted *trusted, const char *path)
{
    const wk_code_file *found = wk_trusted_find(trusted, path);
    if (!found) return false;
    size_t at = (size_t)(found - trusted->files.items), rest = --trusted->files.count - at;
    memmove(trusted->files.items + at, found + 1, rest * sizeof *found);
    return true;
}
