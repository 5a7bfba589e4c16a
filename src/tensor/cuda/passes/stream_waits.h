// Which steps of one stream must wait for which of another. Steps are added in sequential order,
// each with the memory it reads and writes; a step depends on earlier ones that access the same
// memory, unless both only read. Within a stream the order is given.
//
// This alone decides when nodes may overlap. Recording and memory planning cannot make it wrong;
// they only decide how much can overlap.
#ifndef WK_TENSOR_CUDA_PASSES_STREAM_WAITS_H
#define WK_TENSOR_CUDA_PASSES_STREAM_WAITS_H

#include "tensor/plan.h"
#include <stdint.h>

/// Bytes begin ... end-1 that a step reads or writes.
typedef struct wk_access {
    uint64_t begin, end;
    bool write;
} wk_access;

/// Steps of each stream, -1 for none.
typedef struct wk_vector_clock {
    int step[WK_STREAMS_MAX];
} wk_vector_clock;

typedef struct wk_stream_waits wk_stream_waits;

/// No steps yet; NULL when memory ran out.
wk_stream_waits *wk_stream_waits_create(void);
/// NULL is allowed.
void wk_stream_waits_destroy(wk_stream_waits *order);

/// Adds the next step, on stream `stream`. Steps are numbered from 0 in the order of the calls.
/// `waits` receives the steps of other streams that it must wait for, without those that earlier
/// waits imply. False when memory ran out.
bool wk_stream_waits_add(wk_stream_waits *order, int stream, const wk_access *accesses,
                         size_t count, wk_vector_clock *waits);

#endif
