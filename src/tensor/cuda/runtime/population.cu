// Memory of a population: addresses are reserved for each member, and device memory is mapped
// there. Each range is filled first fit, so that members that make the same buffers in the same
// order have them at the same offsets. Small buffers share pages; a large one has memory of its
// own, of whole pages.
#include "tensor/cuda/runtime/population.cuh"

extern "C" {
#include "base/memory.h"
}

#include <cuda.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_SHIFT = 21, ALIGNMENT = 256, SMALL_PAGES = 2048 };
static const size_t PAGE = (size_t)1 << PAGE_SHIFT;
static const size_t LARGE_BEGIN = (size_t)SMALL_PAGES << PAGE_SHIFT; // small buffers are below it

// The driver's functions, which the library is not linked with.
typedef struct driver {
    decltype(cuMemAddressReserve) *reserve;
    decltype(cuMemAddressFree) *unreserve;
    decltype(cuMemCreate) *create;
    decltype(cuMemRelease) *release;
    decltype(cuMemMap) *map;
    decltype(cuMemUnmap) *unmap;
    decltype(cuMemSetAccess) *allow;
} driver;

// Offsets that a buffer has.
typedef struct range {
    size_t begin, end;
} range;

typedef struct member {
    WK_ARRAY(range) used;
    unsigned buffers[SMALL_PAGES]; // on each page of small buffers
} member;

struct wk_cuda_population {
    int device, count, owners;
    CUdeviceptr base;
    driver call;
    pthread_mutex_t lock;
    member *members;
};

template <class F> static bool find(const char *name, F **out)
{
    void *found = NULL;
    cudaDriverEntryPointQueryResult result;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
    (void)cudaGetLastError();
    *out = (F *)found;
    return !error && result == cudaDriverEntryPointSuccess;
}

static bool find_driver(driver *d)
{
    return find("cuMemAddressReserve", &d->reserve) && find("cuMemAddressFree", &d->unreserve) &&
           find("cuMemCreate", &d->create) && find("cuMemRelease", &d->release) &&
           find("cuMemMap", &d->map) && find("cuMemUnmap", &d->unmap) &&
           find("cuMemSetAccess", &d->allow);
}

static size_t reserved(const wk_cuda_population *p)
{
    return (size_t)p->count << WK_MEMBER_SHIFT;
}

wk_status wk_population_create(int device, int count, wk_cuda_population **out, wk_error *err)
{
    wk_cuda_population *p = (wk_cuda_population *)calloc(1, sizeof *p);
    member *members = (member *)calloc((size_t)count, sizeof *members);
    wk_status status =
        p && members ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory for a population");
    if (status == WK_OK) {
        p->device = device;
        p->count = p->owners = count;
        p->members = members;
        if (!find_driver(&p->call) ||
            p->call.reserve(&p->base, reserved(p), 0, 0, 0) != CUDA_SUCCESS)
            status = wk_fail(err, WK_E_UNSUPPORTED,
                             "the driver reserves no addresses for %d runs on one GPU; update it, "
                             "or train fewer runs at once",
                             count);
    }
    if (status != WK_OK) {
        free(members);
        free(p);
        return status;
    }
    pthread_mutex_init(&p->lock, NULL);
    *out = p;
    return WK_OK;
}

void wk_population_release(wk_cuda_population *p)
{
    pthread_mutex_lock(&p->lock);
    int owners = --p->owners;
    pthread_mutex_unlock(&p->lock);
    if (owners > 0) return;
    (void)p->call.unreserve(p->base, reserved(p));
    for (int i = 0; i < p->count; i++)
        wk_array_free(&p->members[i].used);
    pthread_mutex_destroy(&p->lock);
    free(p->members);
    free(p);
}

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static bool is_small(range r)
{
    return r.begin < LARGE_BEGIN;
}

static CUdeviceptr address_of(const wk_cuda_population *p, int m, size_t offset)
{
    return p->base + ((CUdeviceptr)m << WK_MEMBER_SHIFT) + offset;
}

// Maps new memory. The handle is not kept: unmapping frees the memory.
static CUresult map(const wk_cuda_population *p, CUdeviceptr at, size_t size)
{
    CUmemAllocationProp kind = {};
    kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    kind.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    kind.location.id = p->device;
    CUmemAccessDesc access = {};
    access.location = kind.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle memory;
    CUresult result = p->call.create(&memory, size, &kind, 0);
    if (result) return result;
    result = p->call.map(at, size, 0, memory, 0);
    (void)p->call.release(memory);
    if (result) return result;
    result = p->call.allow(at, size, &access, 1);
    if (result) (void)p->call.unmap(at, size);
    return result;
}

static size_t first_page(range r)
{
    return r.begin >> PAGE_SHIFT;
}

static size_t past_page(range r)
{
    return (r.end + PAGE - 1) >> PAGE_SHIFT;
}

// Takes a buffer off pages first ... past-1, and frees those that are empty.
static void leave_pages(wk_cuda_population *p, int m, size_t first, size_t past)
{
    for (size_t i = first; i < past; i++)
        if (--p->members[m].buffers[i] == 0)
            (void)p->call.unmap(address_of(p, m, i << PAGE_SHIFT), PAGE);
}

static CUresult map_range(wk_cuda_population *p, int m, range r)
{
    if (!is_small(r)) return map(p, address_of(p, m, r.begin), r.end - r.begin);
    for (size_t i = first_page(r); i < past_page(r); i++) {
        unsigned *buffers = &p->members[m].buffers[i];
        CUresult result = *buffers ? CUDA_SUCCESS : map(p, address_of(p, m, i << PAGE_SHIFT), PAGE);
        if (result) {
            leave_pages(p, m, first_page(r), i);
            return result;
        }
        (*buffers)++;
    }
    return CUDA_SUCCESS;
}

static void unmap_range(wk_cuda_population *p, int m, range r)
{
    if (is_small(r))
        leave_pages(p, m, first_page(r), past_page(r));
    else
        (void)p->call.unmap(address_of(p, m, r.begin), r.end - r.begin);
}

// The end of a buffer of a member that overlaps the range, or 0.
static size_t overlap(const member *m, range r)
{
    for (size_t i = 0; i < m->used.count; i++)
        if (m->used.items[i].begin < r.end && m->used.items[i].end > r.begin)
            return m->used.items[i].end;
    return 0;
}

// The first range of a size that is free in all these members, from an offset on.
static range find_free(const wk_cuda_population *p, int first, int count, size_t size, size_t from)
{
    range r = {from, from + size};
    for (int m = first; m < first + count;) {
        size_t end = overlap(&p->members[m], r);
        m = end ? first : m + 1;
        if (end) r = {end, end + size};
    }
    return r;
}

static void forget(member *m, size_t begin)
{
    for (size_t i = 0; i < m->used.count; i++)
        if (m->used.items[i].begin == begin) {
            m->used.items[i] = m->used.items[--m->used.count];
            return;
        }
}

static cudaError_t take(wk_cuda_population *p, int m, range r)
{
    if (!wk_array_push(&p->members[m].used, r)) return cudaErrorMemoryAllocation;
    CUresult result = map_range(p, m, r);
    if (result) forget(&p->members[m], r.begin);
    return (cudaError_t)result;
}

static void drop(wk_cuda_population *p, int m, range r)
{
    unmap_range(p, m, r);
    forget(&p->members[m], r.begin);
}

cudaError_t wk_population_alloc(wk_cuda_population *p, int first, int count, size_t size,
                                void **out)
{
    pthread_mutex_lock(&p->lock);
    bool small = size <= PAGE;
    size_t whole = round_up(size ? size : 1, small ? (size_t)ALIGNMENT : PAGE);
    range r = find_free(p, first, count, whole, small ? 0 : LARGE_BEGIN);
    bool fits = r.end <= (small ? LARGE_BEGIN : WK_MEMBER_STRIDE);
    cudaError_t error = fits ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int m = first; !error && m < first + count; m++) {
        error = take(p, m, r);
        for (int k = first; error && k < m; k++)
            drop(p, k, r);
    }
    *out = error ? NULL : (void *)address_of(p, first, r.begin);
    pthread_mutex_unlock(&p->lock);
    return error;
}

void wk_population_free(wk_cuda_population *p, int m, void *memory)
{
    size_t begin = (CUdeviceptr)memory - address_of(p, m, 0);
    // As cudaFree does: nothing may still use it.
    (void)cudaDeviceSynchronize();
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; i < p->members[m].used.count; i++)
        if (p->members[m].used.items[i].begin == begin) {
            drop(p, m, p->members[m].used.items[i]);
            break;
        }
    pthread_mutex_unlock(&p->lock);
}
