#include "support/planning.h"
#include "support/check.h"
#include "tensor/cuda/aside.h"
#include "tensor/cuda/lazy.h"
#include "tensor/cuda/recurrence.h"
#include "tensor/cuda/storage.h"

#include <stdlib.h>
#include <string.h>

static void find_recurrences(wk_plan *plan)
{
    int *last_use = malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *r = malloc(sizeof *r);
    assert_true(last_use && r);
    wk_recurrence_last_use(plan, last_use);
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (!wk_recurrence_find(plan, last_use, step, r)) continue;
        assert_true(wk_array_push(&plan->groups, (wk_group){step, r->end}));
        step = r->end;
    }
    free(r);
    free(last_use);
}

static wk_status group(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    find_recurrences(plan);
    assert_true(wk_plan_find_lazy(plan));
    for (size_t step = 0; step < plan->node_count; step++)
        plan->branches[step] = plan->graph->nodes.items[plan->nodes[step]].branch;
    assert_true(wk_plan_put_aside(plan, WK_BRANCHES - 1) >= 0);
    return WK_OK;
}

static wk_status store(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    assert_true(wk_plan_find_storage(plan));
    return WK_OK;
}

static wk_status buffer_create(wk_backend *backend, size_t size, wk_buffer **out, wk_error *err)
{
    static uintptr_t next = 1 << 20;
    (void)err;
    *out = malloc(sizeof **out);
    assert_non_null(*out);
    **out = (wk_buffer){backend, size, (void *)next};
    next += (size + 4095) / 4096 * 4096;
    return WK_OK;
}

static void buffer_destroy(wk_buffer *buffer)
{
    free(buffer);
}

static wk_status upload(wk_buffer *buffer, size_t offset, const void *bytes, size_t size,
                        wk_error *err)
{
    (void)buffer, (void)offset, (void)bytes, (void)size, (void)err;
    return WK_OK;
}

static wk_status download(const wk_buffer *buffer, size_t offset, void *bytes, size_t size,
                          wk_error *err)
{
    (void)buffer, (void)offset, (void)err;
    memset(bytes, 0, size);
    return WK_OK;
}

static wk_status copy(const wk_copy *copy, wk_error *err)
{
    (void)copy, (void)err;
    return WK_OK;
}

static wk_status compile(wk_backend *backend, const wk_plan *plan, wk_executable **out,
                         wk_error *err)
{
    (void)backend, (void)plan, (void)err;
    *out = NULL;
    return WK_OK;
}

static const wk_backend_vtable vtable = {.name = "planning",
                                         .buffer_create = buffer_create,
                                         .buffer_destroy = buffer_destroy,
                                         .upload = upload,
                                         .download = download,
                                         .group = group,
                                         .store = store,
                                         .compile = compile,
                                         .copy = copy};

wk_backend planning_backend = {.vtable = &vtable};
