// The lock of a directory: one process at a time writes there, because two would destroy each
// other's files. It is gone with the process, however that ends.
#ifndef WK_TRAIN_LOCK_H
#define WK_TRAIN_LOCK_H

#include "waker/error.h"

/// A file descriptor; WK_LOCK_NONE while nothing is held.
typedef int wk_lock;
enum { WK_LOCK_NONE = -1 };

/// Takes DIRECTORY/lock; WK_E_INPUT when another process has it.
wk_status wk_lock_take(const char *directory, wk_lock *lock, wk_error *err);
/// WK_LOCK_NONE is allowed.
void wk_lock_release(wk_lock *lock);

#endif
