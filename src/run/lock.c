// The lock is one of the directory that was opened, not of its path: a directory that is moved
// takes it along, and the process goes on writing where it is now. A `lock` that was deleted or
// replaced protects nothing any more, which wk_lock_check finds out.
#include "base/file.h"
#include "base/machine.h"
#include "run/disk.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char NAME[] = "lock";

static wk_status lock_error(const wk_dir *dir, const char *what, wk_error *err)
{
    char path[WK_PATH_MAX];
    int code = errno;
    wk_path_join(wk_dir_path(dir), NAME, path, NULL);
    errno = code;
    return wk_file_error(err, what, path);
}

// Waits `seconds` for one who holds it, longer for those who look: on a loaded machine they may be
// kept from running in the middle of it. Ends as soon as a stop is requested. 0, or errno:
// EWOULDBLOCK where it is held.
static int lock_within(int fd, double seconds, const volatile sig_atomic_t *stop)
{
    const double patience = 10; // with those who look, and with calls that are interrupted
    const struct timespec pause = {.tv_nsec = 5 * 1000 * 1000};
    double began = wk_clock_seconds();
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        int code = errno;
        double waited = wk_clock_seconds() - began;
        if ((code != EWOULDBLOCK && code != EINTR) || (stop && *stop)) return code;
        if (code == EINTR && waited >= patience) return code;
        if (code == EWOULDBLOCK && waited >= seconds) {
            // Processes in wk_lock_held share their locks.
            if (waited >= patience || flock(fd, LOCK_SH | LOCK_NB) != 0) return code;
            flock(fd, LOCK_UN);
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

wk_status wk_lock_take(const wk_dir *dir, wk_lock *lock, wk_error *err)
{
    return wk_lock_take_within(dir, 0, NULL, NULL, lock, err);
}

wk_status wk_lock_take_within(const wk_dir *dir, double seconds, const volatile sig_atomic_t *stop,
                              const wk_log *log, wk_lock *lock, wk_error *err)
{
    const double ending = 0.02; // a process that has just been killed
    const char *path = wk_dir_path(dir);
    int fd;
    WK_TRY(wk_dir_open_file(dir, NAME, O_RDWR | O_CREAT, &fd, err));
    wk_lock taken = {dir, fd};
    int code = lock_within(fd, ending, stop);
    if (code == EWOULDBLOCK && seconds > 0 && !(stop && *stop)) {
        wk_log_line(log, WK_LOG_INFO,
                    "another process is training in '%s'; waiting up to %g s for it to end", path,
                    seconds);
        code = lock_within(fd, seconds, stop);
    }
    wk_status status = WK_OK;
    errno = code;
    if (stop && *stop && (code == EWOULDBLOCK || code == EINTR))
        status = wk_fail(err, WK_E_STOPPED,
                         "stopped before '%s' could be locked; run the same command again", path);
    else if (code == EWOULDBLOCK)
        status = wk_fail(err, WK_E_INPUT,
                         "another process is training in '%s'; stop it or choose another directory",
                         path);
    else if (code != 0)
        status = lock_error(dir, "cannot lock", err);
    // The one who had it may have deleted it between the two calls.
    if (status == WK_OK) status = wk_lock_check(&taken, err);
    // Its time says since when it is held.
    if (status == WK_OK && ftruncate(fd, 0) != 0) status = lock_error(dir, "cannot write", err);
    if (status == WK_OK)
        *lock = taken;
    else
        close(fd);
    return status;
}

wk_status wk_lock_held(const wk_dir *dir, bool *held, wk_error *err)
{
    *held = false;
    int fd = openat(wk_dir_fd(dir), NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return errno == ENOENT ? WK_OK : lock_error(dir, "cannot look at", err);
    if (flock(fd, LOCK_SH | LOCK_NB) != 0) *held = errno == EWOULDBLOCK;
    close(fd);
    return WK_OK;
}

void wk_folder_lock(const wk_dir *folder, bool lock)
{
    (void)flock(wk_dir_fd(folder), lock ? LOCK_EX : LOCK_UN);
}

bool wk_lock_is_open_in(const wk_dir *dir, long pid)
{
    char path[64];
    wk_dir *open_files = NULL;
    wk_names names = {0};
    struct stat lock, file;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    if (pid <= 0 || fstatat(wk_dir_fd(dir), NAME, &lock, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (wk_dir_open(NULL, path, &open_files, NULL) == WK_OK &&
        wk_dir_list(open_files, &names, NULL) == WK_OK)
        for (size_t i = 0; i < names.count && !found; i++)
            found = fstatat(wk_dir_fd(open_files), names.items[i], &file, 0) == 0 &&
                    file.st_ino == lock.st_ino && file.st_dev == lock.st_dev;
    wk_names_free(&names);
    wk_dir_close(open_files);
    return found;
}

wk_status wk_lock_check(const wk_lock *lock, wk_error *err)
{
    struct stat held = {0}, there = {0};
    if (fstat(lock->fd, &held) != 0) return lock_error(lock->dir, "cannot look at", err);
    bool found = fstatat(wk_dir_fd(lock->dir), NAME, &there, AT_SYMLINK_NOFOLLOW) == 0;
    if (!found && errno != ENOENT) return lock_error(lock->dir, "cannot look at", err);
    if (found && held.st_ino == there.st_ino && held.st_dev == there.st_dev) return WK_OK;
    return wk_fail(err, WK_E_IO,
                   "'%s/%s' was deleted or replaced while it was held, so another process may be "
                   "writing there; nothing more is saved: make sure that none is, then run the "
                   "same command to resume from the last checkpoint",
                   wk_dir_path(lock->dir), NAME);
}

void wk_lock_release(wk_lock *lock)
{
    if (lock->dir) close(lock->fd);
    *lock = (wk_lock){0};
}
