// Notices waits that last too long: a thread of its own that reports each of them once.
#ifndef WK_BASE_WATCHDOG_H
#define WK_BASE_WATCHDOG_H

#include "waker/error.h"

typedef struct wk_watchdog wk_watchdog;

/// `report` is called in the watchdog's thread, with the seconds waited so far, while the thread
/// that waits is still between begin and end.
wk_status wk_watchdog_create(double seconds, void (*report)(void *context, double seconds),
                             void *context, wk_watchdog **out, wk_error *err);
/// NULL is allowed, here and below.
void wk_watchdog_destroy(wk_watchdog *dog);

/// A wait begins / is over. One thread at a time.
void wk_watchdog_begin(wk_watchdog *dog);
void wk_watchdog_end(wk_watchdog *dog);

#endif
