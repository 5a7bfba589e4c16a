#include "base/code_file.h"

#include "base/file.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

// Names with dots between them, [0 ... length-1].
static bool is_dotted(const char *text, size_t length)
{
    bool begins = true;
    for (size_t i = 0; i < length; i++) {
        bool letter = text[i] && strchr(LETTERS, text[i]);
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (!(letter || (!begins && (digit || text[i] == '.')))) return false;
        begins = text[i] == '.';
    }
    return !begins;
}

static bool is_file(const char *text, size_t length)
{
    return length > 3 && memcmp(text + length - 3, ".py", 3) == 0;
}

size_t wk_python_spec_source_length(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (!colon || !is_dotted(colon + 1, strlen(colon + 1))) return 0;
    size_t length = (size_t)(colon - text);
    return is_file(text, length) || is_dotted(text, length) ? length : 0;
}

bool wk_python_spec_has_file(const char *text)
{
    return is_file(text, wk_python_spec_source_length(text));
}

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

static wk_status cut_off(const char *path, wk_error *err)
{
    return wk_fail(
        err, WK_E_FORMAT,
        "the shared object '%s' is cut off: it is shorter than its header says; build or "
        "copy it again",
        path);
}

// The loader maps the parts that the header lists, whatever the file's length, and dies of the
// first page that is not there. What else may be wrong it says itself.
static wk_status check_length(int fd, const char *path, wk_error *err)
{
    Elf64_Ehdr head;
    struct stat info;
    if (fstat(fd, &info) != 0) return wk_file_error(err, "cannot read", path);
    uint64_t size = (uint64_t)info.st_size;
    if (size < sizeof head) return WK_OK;
    WK_TRY(wk_fd_read(fd, path, 0, &head, sizeof head, err));
    if (head.e_ident[EI_CLASS] != ELFCLASS64) return WK_OK;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        uint64_t at = head.e_phoff + (uint64_t)i * head.e_phentsize;
        if (at > size || sizeof part > size - at) return cut_off(path, err);
        WK_TRY(wk_fd_read(fd, path, at, &part, sizeof part, err));
        if (part.p_type != PT_LOAD) continue;
        if (part.p_offset > size || part.p_filesz > size - part.p_offset) return cut_off(path, err);
    }
    return WK_OK;
}

static wk_status check_file(int fd, const char *path, wk_error *err)
{
    char magic[4] = {0};
    size_t length = strlen(path);
    bool python = length > 3 && strcmp(path + length - 3, ".py") == 0;
    ssize_t got = read(fd, magic, sizeof magic);
    if (got < 0) return wk_file_error(err, "cannot read", path);
    if (got != sizeof magic || memcmp(magic, "\177ELF", sizeof magic) != 0)
        return wk_fail(err, WK_E_FORMAT, "'%s' is not a shared object; %s", path,
                       python ? "environments of Python are named FILE.py:FUNCTION"
                              : "build the plug-in with cc -shared -fPIC");
    return check_length(fd, path, err);
}

// The loader's message for a file that is no shared object is obscure; check the file first.
static wk_status check_shared_object(const char *path, wk_error *err)
{
    bool there;
    WK_TRY(wk_file_exists_in(NULL, path, &there, err));
    if (!there)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "there is no file '%s'; give the path of the .so your plug-in's build made",
                       path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wk_fail(err, WK_E_IO, "cannot open '%s': %s; check the permissions", path,
                       strerror(errno));
    wk_status status = check_file(fd, path, err);
    close(fd);
    return status;
}

// dlopen searches the system's folders for names without a slash; a user means the file here.
static void *open_here(const char *path)
{
    if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
    char *here = malloc(strlen(path) + 3);
    if (!here) return NULL;
    strcat(strcpy(here, "./"), path);
    void *handle = dlopen(here, RTLD_NOW | RTLD_LOCAL);
    free(here);
    return handle;
}

wk_status wk_shared_object_open(const char *path, void **handle, wk_error *err)
{
    WK_TRY(check_shared_object(path, err));
    *handle = open_here(path);
    if (*handle) return WK_OK;
    const char *reason = dlerror();
    return wk_fail(err, WK_E_FORMAT,
                   "cannot load plug-in '%s': %s; build it for this machine and link it with all "
                   "it uses",
                   path, reason ? reason : "no memory");
}

void wk_shared_object_close(void *handle)
{
    if (handle) dlclose(handle);
}

wk_status wk_shared_object_find(void *handle, const char *name, const char *type, const char *what,
                                wk_shared_object_function **out, wk_error *err)
{
    // ISO C has no cast from object to function pointers; POSIX promises that the copy works.
    void *symbol = dlsym(handle, name);
    memcpy(out, &symbol, sizeof *out);
    if (*out) return WK_OK;
    return wk_fail(err, WK_E_FORMAT,
                   "it does not define '%s'; add a function `const %s *%s(void)` that returns your "
                   "%s, not static and with C linkage",
                   name, type, name, what);
}
