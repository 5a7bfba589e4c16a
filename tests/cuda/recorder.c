// A stand-in for the CUDA runtime, its driver's entry points and cuBLAS: no device, no results, but
// every graph that the backend captures is noted step by step. Linked before the library, it takes
// the place of all three. The functions have the parameters that are looked at, which is enough for
// a call in C.
#include "cuda/recorder.h"

#include <driver_types.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NOTHING(name)                                                                              \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }
#define HANDLE(name)                                                                               \
    int name(void **out)                                                                           \
    {                                                                                              \
        *out = new_handle();                                                                       \
        return 0;                                                                                  \
    }

// Streams and events have the number that they are mentioned as in their graph.
enum { HANDLES_MAX = 1 << 16, KERNELS_MAX = 4096 };
static size_t handles, graphs, steps, kernel_count, text_size;
static int numbers[HANDLES_MAX], priorities[HANDLES_MAX], mentioned;
static FILE *lines; // while a graph is captured, and after
static char *text;
static bool capturing;

static void *new_handle(void)
{
    if (++handles == HANDLES_MAX) abort();
    return (void *)handles;
}

static int number_of(const void *handle)
{
    int *number = &numbers[(size_t)handle];
    if (!*number) *number = ++mentioned;
    return *number;
}

__attribute__((format(printf, 1, 2))) static int note(const char *format, ...)
{
    va_list args;
    if (!capturing) return 0;
    va_start(args, format);
    vfprintf(lines, format, args);
    va_end(args);
    steps++;
    return 0;
}

void cuda_recorder_begin(void)
{
    graphs = 0;
}

int cudaStreamBeginCapture(void *stream)
{
    if (lines) fclose(lines);
    free(text);
    lines = open_memstream(&text, &text_size);
    memset(numbers, 0, sizeof numbers);
    mentioned = 0;
    steps = 0;
    capturing = true;
    return note("begin on %d\n", number_of(stream));
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    capturing = false;
    *graph = new_handle();
    return 0;
}

int cudaGraphInstantiate(void **out)
{
    uint64_t hash = 0xcbf29ce484222325; // FNV-1a
    fflush(lines);
    for (size_t i = 0; i < text_size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3;
    printf("  graph %zu: %zu steps, %016llx\n", graphs++, steps, (unsigned long long)hash);
    if (getenv("LAUNCHES")) printf("%s", text);
    *out = new_handle();
    return 0;
}

// Kernels.

static struct {
    const void *host;
    const char *name;
} kernels[KERNELS_MAX];

void *__cudaRegisterFatBinary(void *binary)
{
    return binary;
}

void __cudaRegisterFunction(void **binary, const void *host, const char *device, const char *name)
{
    if (kernel_count == KERNELS_MAX) abort();
    kernels[kernel_count].host = host;
    kernels[kernel_count++].name = name;
}

char *__cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

// The kernel's name with its numbers. One that runs a lambda is called by the function that the
// lambda is in, and which of its lambdas it is.
static int launch(const void *kernel, dim3 grid, dim3 block, size_t shared, const void *stream)
{
    size_t i = 0;
    if (!capturing) return 0;
    while (i < kernel_count && kernels[i].host != kernel)
        i++;
    if (i == kernel_count) abort();
    char *full = __cxa_demangle(kernels[i].name, NULL, NULL, NULL), *function = strstr(full, "&(");
    const char *rest = function ? strstr(function, ")), ") : NULL;
    note("%.*s %.*s %c, grid %u %u %u, block %u %u %u, shared %zu, on %d at %d\n",
         (int)strcspn(full, function ? "<" : "("), full,
         function ? (int)strcspn(function + 2, "(<") : 0, function ? function + 2 : "",
         rest ? rest[4] : '0', grid.x, grid.y, grid.z, block.x, block.y, block.z, shared,
         number_of(stream), priorities[(size_t)stream]);
    free(full);
    return 0;
}

int cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *kernel)
{
    launch(kernel, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream);
    for (unsigned i = 0; i < c->numAttrs; i++)
        note("  attribute %d: %d\n", c->attrs[i].id,
             c->attrs[i].val.programmaticStreamSerializationAllowed);
    return 0;
}

static dim3 pushed_grid, pushed_block;
static size_t pushed_shared;
static void *pushed_stream;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    pushed_grid = grid, pushed_block = block, pushed_shared = shared, pushed_stream = stream;
    return 0;
}

int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void **stream)
{
    *grid = pushed_grid, *block = pushed_block, *shared = pushed_shared, *stream = pushed_stream;
    return 0;
}

int __cudaGetKernel(const void **kernel, const void *host)
{
    *kernel = host;
    return 0;
}

int __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **args, size_t shared,
                       void *stream)
{
    return launch(kernel, grid, block, shared, stream);
}

// Streams, events, memory.

int cudaStreamCreateWithPriority(void **out, unsigned flags, int level)
{
    *out = new_handle();
    priorities[(size_t)*out] = level;
    return 0;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0, *greatest = -5;
    return 0;
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags)
{
    return note("event %d on %d: %u\n", number_of(event), number_of(stream), flags);
}

int cudaEventRecord(void *event, void *stream)
{
    return cudaEventRecordWithFlags(event, stream, 0);
}

int cudaStreamWaitEvent(void *stream, void *event)
{
    return note("%d waits for event %d\n", number_of(stream), number_of(event));
}

int cudaStreamIsCapturing(void *stream, int *status)
{
    *status = capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
    return 0;
}

int cudaMalloc(void **out, size_t size)
{
    static uintptr_t next = (uintptr_t)1 << 40; // nothing is there
    *out = (void *)next;
    next += (size + 511) / 512 * 512;
    return 0;
}

int cudaMallocHost(void **out, size_t size)
{
    *out = calloc(1, size);
    return 0;
}

void cudaFreeHost(void *memory)
{
    free(memory);
}

int cudaMemGetInfo(size_t *available, size_t *total)
{
    *available = *total = (size_t)140 << 30;
    return 0;
}

int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, void *stream)
{
    if (kind == cudaMemcpyDeviceToHost) memset(to, 0, size);
    return note("copy of %zu bytes on %d\n", size, number_of(stream));
}

int cudaMemsetAsync(void *to, int value, size_t size, void *stream)
{
    return note("%zu bytes of %d on %d\n", size, value, number_of(stream));
}

// An H200.

int cudaGetDeviceCount(int *count)
{
    *count = 1;
    return 0;
}

int cudaGetDeviceProperties(struct cudaDeviceProp *out)
{
    memset(out, 0, sizeof *out);
    out->major = 9, out->multiProcessorCount = 132;
    return 0;
}

int cudaDeviceGetAttribute(int *out, int which)
{
    *out = which == cudaDevAttrL2CacheSize ? 50 << 20 : 227 << 10;
    return 0;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks)
{
    *blocks = 1;
    return 0;
}

const char *cudaGetErrorString(int error)
{
    return "";
}

NOTHING(cudaSetDevice)
NOTHING(cudaDeviceSynchronize)
NOTHING(cudaDriverGetVersion)
NOTHING(cudaEventElapsedTime)
NOTHING(cudaEventDestroy)
NOTHING(cudaEventSynchronize)
NOTHING(cudaFree)
NOTHING(cudaFuncSetAttribute)
NOTHING(cudaGetErrorName)
NOTHING(cudaGetLastError)
NOTHING(cudaGraphAddEmptyNode)
NOTHING(cudaGraphDestroy)
NOTHING(cudaGraphExecDestroy)
NOTHING(cudaGraphLaunch)
NOTHING(cudaGraphUpload)
NOTHING(cudaMemcpy)
NOTHING(cudaStreamDestroy)
NOTHING(cudaStreamGetCaptureInfo)
NOTHING(cudaStreamSynchronize)
NOTHING(cudaStreamUpdateCaptureDependencies)
NOTHING(__cudaRegisterFatBinaryEnd)
NOTHING(__cudaUnregisterFatBinary)
HANDLE(cudaEventCreate)
HANDLE(cudaEventCreateWithFlags)
HANDLE(cudaStreamCreateWithFlags)

// The driver.

static int encode(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                  const uint64_t *strides, const unsigned *box)
{
    for (unsigned i = 0; i < rank; i++)
        note("  map: %llu by %llu, box of %u\n", (unsigned long long)dims[i],
             (unsigned long long)(i ? strides[i - 1] : 0), box[i]);
    return 0;
}

static int reserve(uint64_t *out)
{
    *out = (uint64_t)1 << 44;
    return 0;
}

static NOTHING(nothing)

    int cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned version,
                                         unsigned long long flags, int *result)
{
    *out = strcmp(name, "cuTensorMapEncodeTiled") == 0 ? (void *)encode
           : strcmp(name, "cuMemAddressReserve") == 0  ? (void *)reserve
                                                       : (void *)nothing;
    *result = cudaDriverEntryPointSuccess;
    return 0;
}

// cuBLAS: a handle is its stream, a layout its numbers.

NOTHING(wk_cublas_missing) // in C++
__asm__(".globl _Z17wk_cublas_missingv\n.set _Z17wk_cublas_missingv, wk_cublas_missing");

typedef struct layout {
    uint64_t rows, columns;
    int64_t row;
} layout;

int cublasCreate_v2(void **out)
{
    *out = calloc(1, sizeof *out);
    return 0;
}

int cublasSetStream_v2(void **handle, void *stream)
{
    *handle = stream;
    return 0;
}

int cublasGemmStridedBatchedEx(void **handle, int ta, int tb, int m, int n, int k,
                               const float *alpha, const void *a, int a_type, int lda, long long sa,
                               const void *b, int b_type, int ldb, long long sb, const float *beta,
                               void *c, int c_type, int ldc, long long sc, int count)
{
    return note("cublas %d %d: %d x %d x %d (%d %d %d), %d of them (%lld %lld %lld), types %d %d, "
                "scales %g %g, on %d\n",
                ta, tb, m, n, k, lda, ldb, ldc, count, sa, sb, sc, a_type, b_type, (double)*alpha,
                (double)*beta, number_of(*handle));
}

int cublasLtMatrixLayoutCreate(layout **out, int type, uint64_t rows, uint64_t columns, int64_t row)
{
    *out = malloc(sizeof **out);
    **out = (layout){rows, columns, row};
    return 0;
}

void cublasLtMatrixLayoutDestroy(layout *l)
{
    free(l);
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                   void *preference, int asked, void *results, int *found)
{
    *found = 1;
    return 0;
}

int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, const layout *x,
                   const void *b, const layout *y, const void *beta, const void *c, const layout *z,
                   void *d, const layout *w, const void *algo, void *workspace, size_t size,
                   void *stream)
{
    return note("cublasLt: %llu x %llu (%lld), %llu x %llu (%lld), on %d\n",
                (unsigned long long)x->rows, (unsigned long long)x->columns, (long long)x->row,
                (unsigned long long)y->rows, (unsigned long long)y->columns, (long long)y->row,
                number_of(stream));
}

void cublasDestroy_v2(void *handle)
{
    free(handle);
}

NOTHING(cublasGetStatusString)
NOTHING(cublasSetWorkspace_v2)
NOTHING(cublasLtDestroy)
NOTHING(cublasLtMatmulDescDestroy)
NOTHING(cublasLtMatmulDescSetAttribute)
NOTHING(cublasLtMatmulPreferenceDestroy)
NOTHING(cublasLtMatmulPreferenceSetAttribute)
NOTHING(cublasLtMatrixLayoutSetAttribute)
HANDLE(cublasLtCreate)
HANDLE(cublasLtMatmulDescCreate)
HANDLE(cublasLtMatmulPreferenceCreate)
