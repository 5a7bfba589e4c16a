#include "base/code_file.h"

#include "base/file.h"
#include "base/python_spec.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

bool wk_code_path_valid(const char *path)
{
    if (path[0] != '/' || strlen(path) >= WK_CODE_PATH_MAX) return false;
    for (const char *c = path; *c; c++)
        if (wk_utf8_control(c)) return false;
    return true;
}

wk_status wk_code_file_read(const char *name, wk_code_file *out, wk_error *err)
{
    char file[WK_CODE_PATH_MAX];
    size_t source = wk_python_spec_source_length(name), length = strlen(name);
    if (wk_python_spec_has_file(name)) length = source;
    if (length >= sizeof file) return wk_fail(err, WK_E_INPUT, "the path '%s' is too long", name);
    snprintf(file, sizeof file, "%.*s", (int)length, name);

    // Its true path, and for Python the function.
    char *path = realpath(file, NULL);
    if (!path && errno == ENOENT)
        return wk_fail(err, WK_E_NOT_FOUND, "there is no file '%s'; %s", name,
                       source ? "give FILE.py:FUNCTION with the path of your Python code"
                              : "give the path of the .so your plug-in's build made");
    if (!path) return wk_fail(err, WK_E_IO, "cannot look at '%s': %s", name, strerror(errno));
    int whole = snprintf(out->path, sizeof out->path, "%s%s", path, name + length);
    int found = snprintf(file, sizeof file, "%s", path);
    bool valid =
        wk_code_path_valid(path) && whole < (int)sizeof out->path && found < (int)sizeof file;
    free(path);
    if (!valid)
        return wk_fail(err, WK_E_INPUT,
                       "the path of '%s' is too long or has control characters; move the file",
                       name);

    // Its content.
    struct stat info;
    if (stat(file, &info) != 0) return wk_file_error(err, "cannot look at", name);
    if (!S_ISREG(info.st_mode))
        return wk_fail(err, WK_E_FORMAT, "'%s' is not a shared object", name);
    return wk_sha256_file(file, out->sha256, err);
}
