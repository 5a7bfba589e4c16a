#include "sweep/folder.h"

#include "base/file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char GRID[] = "grid.yaml", HOLDER[] = "holder";

static wk_status path_of(const char *directory, const char *name, char out[WK_PATH_MAX],
                         wk_error *err)
{
    return wk_path_print(out, err, "%s/" WK_SWEEP_FOLDER "/%s", directory, name);
}

// Who has the lock, for messages of others.
static wk_status write_holder(const wk_sweep_folder *folder, wk_error *err)
{
    wk_sweep_holder holder = {.pid = (long)getpid()};
    char text[320];
    if (gethostname(holder.host, sizeof holder.host - 1) != 0) strcpy(holder.host, "?");
    int length = snprintf(text, sizeof text, "%ld %s\n", holder.pid, holder.host);
    return wk_file_write_in(folder->dir, HOLDER, text, (size_t)length, err);
}

wk_status wk_sweep_folder_holder(const char *directory, wk_sweep_holder *out, wk_error *err)
{
    char *text = NULL;
    size_t size;
    bool held = false;
    wk_dir *dir;
    *out = (wk_sweep_holder){0};
    wk_status status = wk_dir_open_below(directory, WK_SWEEP_FOLDER, false, &dir, err);
    if (status == WK_E_NOT_FOUND) return WK_OK;
    if (status == WK_OK) status = wk_lock_held(dir, &held, err);
    if (status == WK_OK && held) status = wk_file_read_in(dir, HOLDER, 4096, &text, &size, err);
    if (text && sscanf(text, "%ld %255s", &out->pid, out->host) < 1) out->pid = 0;
    out->certain = wk_lock_is_open_in(dir, out->pid);
    wk_dir_close(dir);
    free(text);
    return status == WK_E_NOT_FOUND ? WK_OK : status;
}

static wk_status refuse(const char *directory, wk_error *err)
{
    wk_sweep_holder holder;
    WK_TRY(wk_sweep_folder_holder(directory, &holder, err));
    if (holder.pid == 0)
        return wk_fail(err, WK_E_INPUT, "another sweep is running in '%s'; stop it first",
                       directory);
    return wk_fail(
        err, WK_E_INPUT,
        "another sweep is running in '%s' (process %ld on %s); 'waker sweep cancel %s' stops it",
        directory, holder.pid, holder.host, directory);
}

wk_status wk_sweep_folder_open(const char *directory, wk_sweep_folder *out, wk_error *err)
{
    *out = (wk_sweep_folder){0};
    WK_TRY(wk_dir_open_below(directory, WK_SWEEP_FOLDER, true, &out->dir, err));
    wk_status status = wk_lock_take(out->dir, &out->lock, err);
    if (status == WK_E_INPUT) return refuse(directory, err);
    return status == WK_OK ? write_holder(out, err) : status;
}

void wk_sweep_folder_close(wk_sweep_folder *folder)
{
    wk_lock_release(&folder->lock);
    wk_dir_close(folder->dir);
    *folder = (wk_sweep_folder){0};
}

wk_status wk_sweep_folder_check(const wk_sweep_folder *folder, wk_error *err)
{
    struct stat held, there;
    const char *path = wk_dir_path(folder->dir);
    if (fstat(wk_dir_fd(folder->dir), &held) != 0)
        return wk_file_error(err, "cannot look at", path);
    bool found = fstatat(AT_FDCWD, path, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!found && errno != ENOENT) return wk_file_error(err, "cannot look at", path);
    if (found && held.st_ino == there.st_ino && held.st_dev == there.st_dev)
        return wk_lock_check(&folder->lock, err);
    return wk_fail(
        err, WK_E_IO,
        "'%s' was deleted, moved or replaced while the sweep was running; its processes were "
        "stopped. If it was moved, resume with 'waker sweep --logdir' and the new path",
        path);
}

wk_status wk_sweep_folder_exists(const char *directory, bool *exists, wk_error *err)
{
    char path[WK_PATH_MAX];
    *exists = false;
    WK_TRY(path_of(directory, GRID, path, err));
    return wk_file_exists_in(NULL, path, exists, err);
}

wk_status wk_sweep_folder_grid(const char *directory, wk_sweep_grid *out, wk_error *err)
{
    char path[WK_PATH_MAX];
    bool exists;
    *out = (wk_sweep_grid){0};
    WK_TRY(wk_sweep_folder_exists(directory, &exists, err));
    if (!exists)
        return wk_fail(err, WK_E_NOT_FOUND,
                       "'%s' holds no sweep (no " WK_SWEEP_FOLDER
                       "/%s); start one with 'waker sweep GRID.yaml --logdir %s'",
                       directory, GRID, directory);
    WK_TRY(path_of(directory, GRID, path, err));
    return wk_sweep_grid_open(path, out, err);
}

wk_status wk_sweep_folder_write(const wk_sweep_folder *folder, const wk_sweep_grid *grid,
                                wk_error *err)
{
    wk_text text = {0};
    wk_text_puts(&text, "# The grid of this directory's sweep; 'waker sweep add' adds to it.\n");
    wk_sweep_grid_print(grid, &text);
    return wk_file_write_text(folder->dir, GRID, &text, err);
}
