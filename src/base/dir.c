#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct wk_dir {
    int fd;
    char *path;
};

enum { OPEN_DIRECTORY = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

wk_status wk_path_join(const char *directory, const char *name, char out[WK_PATH_MAX],
                       wk_error *err)
{
    return wk_path_print(out, err, "%s/%s", directory, name);
}

char *wk_path_joined(const char *directory, const char *name)
{
    size_t length = strlen(directory) + strlen(name) + 2;
    char *path = malloc(length);
    if (path) snprintf(path, length, "%s/%s", directory, name);
    return path;
}

wk_status wk_path_print(char out[WK_PATH_MAX], wk_error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, WK_PATH_MAX, format, args);
    va_end(args);
    if (length >= 0 && length < WK_PATH_MAX) return WK_OK;
    return wk_fail(err, WK_E_INPUT, "the path '%.80s...' is too long", out);
}

// The path of an entry, for messages.
static void join(const wk_dir *dir, const char *name, char out[WK_PATH_MAX])
{
    if (dir && strcmp(name, ".") != 0)
        wk_path_join(dir->path, name, out, NULL);
    else
        snprintf(out, WK_PATH_MAX, "%s", dir ? dir->path : name);
}

static wk_status entry_error(wk_error *err, const char *what, const wk_dir *dir, const char *name)
{
    int code = errno;
    char path[WK_PATH_MAX];
    join(dir, name, path);
    errno = code;
    return wk_file_error(err, what, path);
}

static wk_status refuse_link(const wk_dir *dir, const char *name, wk_error *err)
{
    char path[WK_PATH_MAX];
    join(dir, name, path);
    return wk_fail(err, WK_E_INPUT,
                   "'%s' is a symbolic link, and what lies behind it is not changed; move what it "
                   "leads to here, or link the whole directory '%s' instead",
                   path, wk_dir_path(dir));
}

// After a failed open: a link is what O_NOFOLLOW refuses, with an errno that depends on the flags.
static wk_status open_error(const wk_dir *dir, const char *name, wk_error *err)
{
    int code = errno;
    wk_entry entry;
    if ((code == ELOOP || code == ENOTDIR) && wk_dir_stat(dir, name, &entry, NULL, NULL) == WK_OK &&
        entry == WK_ENTRY_LINK)
        return refuse_link(dir, name, err);
    errno = code;
    return entry_error(err, "cannot open", dir, name);
}

// Takes the descriptor over, also when it fails.
static wk_status create(int fd, const wk_dir *in, const char *name, wk_dir **out, wk_error *err)
{
    char path[WK_PATH_MAX];
    join(in, name, path);
    wk_dir *dir = calloc(1, sizeof *dir);
    if (dir) dir->path = strdup(path);
    if (!dir || !dir->path) {
        free(dir);
        close(fd);
        return wk_fail(err, WK_E_MEMORY, "'%s': no memory to open it", path);
    }
    dir->fd = fd;
    *out = dir;
    return WK_OK;
}

wk_status wk_dir_open(const wk_dir *in, const char *path, wk_dir **out, wk_error *err)
{
    int fd = openat(wk_dir_fd(in), path, OPEN_DIRECTORY);
    return fd < 0 ? entry_error(err, "cannot open", in, path) : create(fd, in, path, out, err);
}

wk_status wk_dir_open_nofollow(const wk_dir *in, const char *name, wk_dir **out, wk_error *err)
{
    int fd = openat(in->fd, name, OPEN_DIRECTORY | O_NOFOLLOW);
    return fd < 0 ? open_error(in, name, err) : create(fd, in, name, out, err);
}

wk_status wk_dir_make(const wk_dir *in, const char *name, wk_dir **out, wk_error *err)
{
    if (mkdirat(in->fd, name, 0777) == 0)
        WK_TRY(wk_dir_sync(in, err));
    else if (errno != EEXIST)
        return entry_error(err, "cannot create directory", in, name);
    return wk_dir_open_nofollow(in, name, out, err);
}

wk_status wk_dir_open_below(const char *directory, const char *path, bool make, wk_dir **out,
                            wk_error *err)
{
    char names[WK_PATH_MAX], *rest = names;
    wk_dir *dir = NULL;
    *out = NULL;
    WK_TRY(wk_path_print(names, err, "%s", path));
    if (make) WK_TRY(wk_dir_create(directory, err));
    wk_status status = wk_dir_open(NULL, directory, &dir, err);
    for (char *name; status == WK_OK && (name = strsep(&rest, "/"));) {
        wk_dir *next = NULL;
        status =
            make ? wk_dir_make(dir, name, &next, err) : wk_dir_open_nofollow(dir, name, &next, err);
        wk_dir_close(dir);
        dir = next;
    }
    if (status == WK_OK)
        *out = dir;
    else
        wk_dir_close(dir);
    return status;
}

wk_status wk_dir_make_below(const char *directory, const char *path, wk_error *err)
{
    wk_dir *dir;
    wk_status status = wk_dir_open_below(directory, path, true, &dir, err);
    wk_dir_close(dir);
    return status;
}

void wk_dir_close(wk_dir *dir)
{
    if (!dir) return;
    close(dir->fd);
    free(dir->path);
    free(dir);
}

const char *wk_dir_path(const wk_dir *dir)
{
    return dir->path;
}

int wk_dir_fd(const wk_dir *dir)
{
    return dir ? dir->fd : AT_FDCWD;
}

wk_status wk_dir_stat(const wk_dir *dir, const char *name, wk_entry *entry, uint64_t *size,
                      wk_error *err)
{
    struct stat info = {0};
    *entry = WK_ENTRY_NONE;
    if (size) *size = 0;
    if (fstatat(dir->fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? WK_OK : entry_error(err, "cannot look at", dir, name);
    *entry = S_ISREG(info.st_mode)   ? WK_ENTRY_FILE
             : S_ISDIR(info.st_mode) ? WK_ENTRY_DIR
             : S_ISLNK(info.st_mode) ? WK_ENTRY_LINK
                                     : WK_ENTRY_OTHER;
    if (size) *size = (uint64_t)info.st_size;
    return WK_OK;
}

wk_status wk_path_list(const char *path, wk_names *out, wk_error *err)
{
    wk_dir *dir = NULL;
    WK_TRY(wk_dir_open(NULL, path, &dir, err));
    wk_status status = wk_dir_list(dir, out, err);
    wk_dir_close(dir);
    return status;
}

void wk_names_free(wk_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    wk_array_free(names);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static wk_status read_names(const wk_dir *dir, DIR *stream, wk_names *out, wk_error *err)
{
    for (;;) {
        errno = 0; // the end and an error look alike otherwise
        struct dirent *entry = readdir(stream);
        if (!entry) return errno ? entry_error(err, "cannot list", dir, ".") : WK_OK;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        char *name = strdup(entry->d_name);
        if (name && wk_array_push(out, name)) continue;
        free(name);
        return wk_fail(err, WK_E_MEMORY, "no memory for the names in '%s'", dir->path);
    }
}

wk_status wk_dir_list(const wk_dir *dir, wk_names *out, wk_error *err)
{
    // A description of its own: a duplicate would share the place of reading.
    int fd = openat(dir->fd, ".", OPEN_DIRECTORY);
    if (fd < 0) return entry_error(err, "cannot list", dir, ".");
    DIR *stream = fdopendir(fd);
    if (!stream) {
        wk_status status = entry_error(err, "cannot list", dir, ".");
        close(fd);
        return status;
    }
    wk_status status = read_names(dir, stream, out, err);
    closedir(stream);
    if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, compare_names);
    return status;
}

wk_status wk_dir_open_file(const wk_dir *dir, const char *name, int flags, int *fd, wk_error *err)
{
    *fd = openat(dir->fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0666);
    if (*fd < 0) return open_error(dir, name, err);
    struct stat info = {0};
    wk_status status = WK_OK;
    if (fstat(*fd, &info) != 0)
        status = entry_error(err, "cannot open", dir, name);
    else if (!S_ISREG(info.st_mode))
        status = wk_fail(err, WK_E_INPUT, "'%s/%s' is not a regular file; move it away", dir->path,
                         name);
    if (status == WK_OK) return WK_OK;
    close(*fd);
    *fd = -1;
    return status;
}

wk_status wk_dir_make_file(const wk_dir *dir, const char *name, int flags, int *fd, wk_error *err)
{
    WK_TRY(wk_dir_open_file(dir, name, flags | O_RDWR | O_CREAT, fd, err));
    wk_status status = wk_dir_sync(dir, err);
    if (status == WK_OK) return WK_OK;
    close(*fd);
    *fd = -1;
    return status;
}

wk_status wk_dir_remove(const wk_dir *dir, const char *name, wk_error *err)
{
    wk_entry entry;
    WK_TRY(wk_dir_stat(dir, name, &entry, NULL, err));
    if (entry == WK_ENTRY_NONE) return WK_OK;
    if (entry == WK_ENTRY_LINK) return refuse_link(dir, name, err);
    if (entry != WK_ENTRY_FILE)
        return wk_fail(err, WK_E_INPUT, "'%s/%s' is not a regular file; move it away", dir->path,
                       name);
    if (unlinkat(dir->fd, name, 0) == 0 || errno == ENOENT) return WK_OK;
    return entry_error(err, "cannot delete", dir, name);
}

wk_status wk_dir_remove_dir(const wk_dir *dir, const char *name, wk_error *err)
{
    if (unlinkat(dir->fd, name, AT_REMOVEDIR) == 0) return WK_OK;
    return entry_error(err, "cannot delete", dir, name);
}

wk_status wk_dir_rename(const wk_dir *dir, const char *from, const char *to, wk_error *err)
{
    if (renameat(dir->fd, from, dir->fd, to) == 0) return WK_OK;
    return entry_error(err, "cannot rename", dir, from);
}

wk_status wk_dir_sync(const wk_dir *dir, wk_error *err)
{
    // Some file systems cannot sync directories and say EINVAL; there is nothing more to do there.
    if (fsync(dir->fd) == 0 || errno == EINVAL) return WK_OK;
    return entry_error(err, "cannot make durable", dir, ".");
}
