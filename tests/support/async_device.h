// A device that works beside the host, made of the CPU backend, for tests of what is put into
// queues in which order. It does its work at the worst moment that the order allows: as late as
// possible, only what somebody waits for; then too, but all that other queues may do comes before
// it; or at once, before anything else can happen. All must give the bytes of the CPU backend.
#ifndef WK_TESTS_ASYNC_DEVICE_H
#define WK_TESTS_ASYNC_DEVICE_H

#include "tensor/queue.h"

typedef enum beside_mode { BESIDE_LATE, BESIDE_OTHERS_FIRST, BESIDE_AT_ONCE } beside_mode;

/// Gives a CPU backend queues, for the rest of its life.
void beside_make(wk_backend *backend, beside_mode mode);

/// Device memory that all such backends say is there, and how many more buffers they give.
void beside_set_memory(size_t available, int buffers);

#endif
