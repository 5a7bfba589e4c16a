// The lock of a run directory: one process at a time writes there. The operating system releases it
// when the process ends, however that happens.
//
// The lock is one of the directory that was opened, not of its path: a directory that is moved
// takes it along, and the process goes on writing where it is now. A `lock` that was deleted or
// replaced protects nothing any more, which wk_lock_check finds out.
#ifndef WK_RUN_LOCK_H
#define WK_RUN_LOCK_H

#include "base/dir.h"
#include "base/log.h"
#include <signal.h>
#include <stdbool.h>

/// All zero while nothing is held.
typedef struct wk_lock {
    const wk_dir *dir; // borrowed
    int fd;
} wk_lock;

/// Takes DIR/lock; WK_E_INPUT when another process has it. The file's time of modification is then
/// when it was taken.
wk_status wk_lock_take(const wk_dir *dir, wk_lock *lock, wk_error *err);
/// As wk_lock_take, after waiting up to `seconds` for a process that holds it: one that was asked
/// to stop is still saving, and a file system of several machines frees the lock of a dead one
/// late. WK_E_STOPPED as soon as *stop (NULL: never) is set while it waits. The log (NULL: silent)
/// says that it waits.
wk_status wk_lock_take_within(const wk_dir *dir, double seconds, const volatile sig_atomic_t *stop,
                              const wk_log *log, wk_lock *lock, wk_error *err);
enum { WK_LOCK_WAIT_SECONDS = 10 }; // unless the caller asks for another time
/// Whether a process holds DIR/lock now. For a moment this process appears to hold it.
wk_status wk_lock_held(const wk_dir *dir, bool *held, wk_error *err);
/// Whether process `pid` of this machine has DIR/lock open, as every holder of the lock has. Check
/// it before a signal is sent to a pid that was read from a file.
bool wk_lock_is_open_in(const wk_dir *dir, long pid);
/// Whether the file that is locked is still DIR/lock. Check it before every save.
wk_status wk_lock_check(const wk_lock *lock, wk_error *err);
/// One that holds nothing is fine.
void wk_lock_release(wk_lock *lock);

#endif
