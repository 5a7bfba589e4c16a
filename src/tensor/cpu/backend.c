// The CPU backend: buffers are host memory, an executable is the list of kernel calls with every
// address resolved, and running it walks the list. For a population the lists follow each other.
#include "tensor/backend.h"
#include "base/machine.h"
#include "tensor/cpu/calls.h"
#include "tensor/plan.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct cpu_backend {
    wk_backend base;
    wk_pool *pool;
} cpu_backend;

struct wk_executable {
    wk_pool *pool;
    size_t count;
    size_t steps; // calls of one plan
    wk_cpu_call *calls;
    void **addresses; // of all inputs and outputs, which the calls point into
    void *workspace;
};

// Ops that are views wherever they stand.
#define wk_cpu_call_reshape NULL
#define wk_cpu_call_stop_gradient NULL

wk_cpu_fn *const wk_cpu_table[WK_OP_COUNT] = {
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits)                                \
    [WK_OP_##name] = wk_cpu_call_##name,
#include "tensor/ops.def"
#undef OP
};

// Zeroed memory comes from calloc, which leaves untouched pages to the system, and is aligned here.
typedef struct cpu_buffer {
    wk_buffer base;
    void *memory;
} cpu_buffer;

static wk_status buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    cpu_buffer *buffer = malloc(sizeof *buffer);
    void *memory = size < SIZE_MAX / 2 ? calloc(1, size + ALIGNMENT) : NULL;
    if (!buffer || !memory) {
        free(buffer);
        free(memory);
        return wk_fail(err, WK_E_MEMORY,
                       "no memory for a buffer of %zu MiB; use smaller sizes or a smaller batch",
                       size >> 20);
    }
    size_t past = (uintptr_t)memory % ALIGNMENT;
    void *address = (char *)memory + (past ? ALIGNMENT - past : 0);
    *buffer = (cpu_buffer){{.backend = backend, .size = size, .address = address}, memory};
    *out = &buffer->base;
    return WK_OK;
}

static void buffer_destroy(wk_buffer *buffer)
{
    free(((cpu_buffer *)buffer)->memory);
    free(buffer);
}

static wk_status upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                        wk_error *err)
{
    (void)err;
    memcpy((char *)buffer->address + offset, bytes, size);
    return WK_OK;
}

static wk_status download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                          wk_error *err)
{
    (void)err;
    memcpy(bytes, (const char *)buffer->address + offset, size);
    return WK_OK;
}

static wk_status copy(const wk_copy *c, wk_error *err)
{
    (void)err;
    memcpy((char *)c->to->address + c->to_offset, (const char *)c->from->address + c->from_offset,
           c->size);
    return WK_OK;
}

static void executable_destroy(wk_executable *e)
{
    if (!e) return;
    free(e->calls);
    free(e->addresses);
    free(e->workspace);
    free(e);
}

// Fills in one call; returns the first address that is still free.
static void **resolve(const wk_plan *plan, const wk_node *node, wk_executable *e, wk_cpu_call *call,
                      void **address)
{
    const wk_graph *g = plan->graph;
    assert(wk_cpu_table[node->op]);
    *call = (wk_cpu_call){g, node, address, address + node->input_count, e->pool, e->workspace};
    for (int i = 0; i < node->input_count; i++)
        *address++ = wk_plan_address(plan, wk_node_inputs(g, node)[i]);
    for (int i = 0; i < node->output_count; i++)
        *address++ = wk_plan_address(plan, node->outputs + i);
    return address;
}

static wk_status compile(wk_backend *backend, const wk_plan *const *plans, int population,
                         wk_executable **out, wk_error *err)
{
    wk_pool *pool = ((cpu_backend *)backend)->pool;
    const wk_plan *plan = plans[0];
    size_t addresses = 0, workspace = 0, members = (size_t)population;
    for (size_t i = 0; i < plan->node_count; i++) {
        const wk_node *node = wk_plan_node(plan, i);
        size_t wanted = wk_cpu_workspace(plan->graph, node, wk_pool_threads(pool));
        if (wanted > workspace) workspace = wanted;
        addresses += (size_t)(node->input_count + node->output_count);
    }
    wk_executable *e = calloc(1, sizeof *e);
    if (e) {
        e->pool = pool;
        e->steps = plan->node_count;
        e->count = members * plan->node_count;
        e->calls = calloc(e->count + 1, sizeof *e->calls);
        e->addresses = calloc(members * addresses + 1, sizeof *e->addresses);
        e->workspace = aligned_alloc(ALIGNMENT, (workspace / ALIGNMENT + 1) * ALIGNMENT);
    }
    if (!e || !e->calls || !e->addresses || !e->workspace) {
        executable_destroy(e);
        return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph of %zu nodes",
                       plan->node_count);
    }
    void **address = e->addresses;
    for (size_t i = 0; i < e->count; i++) {
        const wk_plan *of = plans[i / e->steps];
        address = resolve(of, wk_plan_node(of, i % e->steps), e, &e->calls[i], address);
    }
    *out = e;
    return WK_OK;
}

static void run_traced(wk_executable *e, double *trace)
{
    double before = wk_clock_seconds();
    for (size_t i = 0; i < e->count; i++) {
        wk_cpu_table[e->calls[i].node->op](&e->calls[i]);
        double after = wk_clock_seconds();
        trace[i % e->steps] += after - before;
        before = after;
    }
}

static wk_status run(wk_executable *e, double *trace, wk_error *err)
{
    (void)err;
    if (trace) {
        run_traced(e, trace);
        return WK_OK;
    }
    for (size_t i = 0; i < e->count; i++)
        wk_cpu_table[e->calls[i].node->op](&e->calls[i]);
    return WK_OK;
}

static void destroy(wk_backend *backend)
{
    free(backend);
}

static const wk_backend_vtable cpu_vtable = {.name = "cpu",
                                             .destroy = destroy,
                                             .buffer_create = buffer_create,
                                             .buffer_destroy = buffer_destroy,
                                             .upload = upload,
                                             .download = download,
                                             .compile = compile,
                                             .run = run,
                                             .copy = copy,
                                             .executable_destroy = executable_destroy};

wk_status wk_backend_cpu_create(wk_pool *pool, wk_backend **out, wk_error *err)
{
    WK_TRY(wk_blas_prepare(wk_pool_threads(pool), err));
    cpu_backend *backend = malloc(sizeof *backend);
    if (!backend) return wk_fail(err, WK_E_MEMORY, "no memory for the CPU backend");
    *backend = (cpu_backend){.base = {.vtable = &cpu_vtable}, .pool = pool};
    *out = &backend->base;
    return WK_OK;
}
