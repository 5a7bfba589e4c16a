// An async device made of the CPU backend, for tests of what is enqueued in which order. It runs
// work at the worst moment that the order allows: as late as possible, only when something waits
// for it; the same with all other queues first; or eagerly, before anything else can happen. All
// must give the bytes of the CPU backend.
#ifndef WK_TESTS_ASYNC_DEVICE_H
#define WK_TESTS_ASYNC_DEVICE_H

#include "tensor/backend.h"

typedef enum async_mode { ASYNC_LATE, ASYNC_OTHERS_FIRST, ASYNC_EAGER } async_mode;

/// Gives a CPU backend queues, for the rest of its life.
void async_device_make(wk_backend *backend, async_mode mode);

/// Device memory that all such backends say is there, and how many more buffers they give.
void async_device_set_memory(size_t available, int buffers);

#endif
