#include "train/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

wk_status wk_lock_take(const char *directory, wk_lock *lock, wk_error *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/lock", directory);
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*lock < 0) return wk_fail(err, WK_E_IO, "cannot create '%s': %s", path, strerror(errno));
    if (flock(*lock, LOCK_EX | LOCK_NB) == 0) return WK_OK;
    return wk_fail(err, WK_E_INPUT,
                   "another process is training in '%s'; stop it or choose another directory",
                   directory);
}

void wk_lock_release(wk_lock *lock)
{
    if (*lock >= 0) close(*lock);
    *lock = WK_LOCK_NONE;
}
