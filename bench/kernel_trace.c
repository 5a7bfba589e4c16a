// Every kernel, copy and fill that a CUDA program runs, with the time at which the device began and
// ended it, those inside CUDA graphs too: a library that the driver loads into any program.
// bench/kernel_timeline makes tables of what it writes.
//
//     WAKER_KERNEL_TRACE=FILE CUDA_INJECTION64_PATH=libkernel_trace.so PROGRAM ...
//
// A line is: kind (kernel, copy, fill), begin and end in ns, stream, grid as X,Y,Z (0 where there
// is none), threads of a block or bytes, name.
#include <cupti.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// CUPTI's callbacks carry no pointer of ours, so the file has to be reachable without one.
static FILE *file;
static size_t dropped;

/// The name that the driver looks for; anything but 0 means that the library is ready.
int InitializeInjection(void);

static void say(const char *what, const char *why)
{
    fprintf(stderr, "kernel_trace: %s: %s\n", what, why);
}

static const char *reason(CUptiResult result)
{
    const char *text = NULL;
    return cuptiGetResultString(result, &text) == CUPTI_SUCCESS ? text : "unknown error";
}

// CUPTI asks for memory to put records into; none given means that it drops them and counts.
static void give_buffer(uint8_t **buffer, size_t *size, size_t *max_records)
{
    enum { SIZE = 8 << 20, ALIGNMENT = 8 };
    *buffer = aligned_alloc(ALIGNMENT, SIZE);
    *size = *buffer ? SIZE : 0;
    *max_records = 0; // as many as fit
}

static void write_kernel(const CUpti_ActivityKernel9 *k)
{
    fprintf(file, "kernel %" PRIu64 " %" PRIu64 " %u %d,%d,%d %d %s\n", k->start, k->end,
            k->streamId, k->gridX, k->gridY, k->gridZ, k->blockX * k->blockY * k->blockZ, k->name);
}

static void write_copy(const CUpti_ActivityMemcpy5 *c)
{
    fprintf(file, "copy %" PRIu64 " %" PRIu64 " %u 0 %" PRIu64 " memcpy\n", c->start, c->end,
            c->streamId, c->bytes);
}

static void write_fill(const CUpti_ActivityMemset4 *f)
{
    fprintf(file, "fill %" PRIu64 " %" PRIu64 " %u 0 %" PRIu64 " memset\n", f->start, f->end,
            f->streamId, f->bytes);
}

static void write_record(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        write_kernel((const CUpti_ActivityKernel9 *)record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        write_copy((const CUpti_ActivityMemcpy5 *)record);
        break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
        write_fill((const CUpti_ActivityMemset4 *)record);
        break;
    default:
        break;
    }
}

static void take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    (void)size;
    CUpti_Activity *record = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
        write_record(record);
    size_t lost = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &lost) == CUPTI_SUCCESS) dropped += lost;
    free(buffer);
}

static void finish(void)
{
    CUptiResult result = cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (result != CUPTI_SUCCESS) say("the last records are missing", reason(result));
    if (dropped > 0) fprintf(stderr, "kernel_trace: CUPTI dropped %zu records\n", dropped);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) say("the trace is not complete", strerror(errno));
}

static CUptiResult enable(void)
{
    static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                               CUPTI_ACTIVITY_KIND_MEMCPY,
                                               CUPTI_ACTIVITY_KIND_MEMSET};
    CUptiResult result = cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && result == CUPTI_SUCCESS; i++)
        result = cuptiActivityEnable(kinds[i]);
    return result;
}

int InitializeInjection(void)
{
    const char *path = getenv("WAKER_KERNEL_TRACE");
    if (!path || !*path) {
        say("nothing is traced", "set WAKER_KERNEL_TRACE to the file to write");
        return 1;
    }
    file = fopen(path, "w");
    if (!file) {
        say(path, strerror(errno));
        return 1;
    }
    CUptiResult result = enable();
    if (result != CUPTI_SUCCESS) say("CUPTI does not trace", reason(result));
    if (atexit(finish) != 0) say("the trace will not be complete", "no room for an exit handler");
    return 1;
}
