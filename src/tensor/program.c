#include "tensor/program.h"
#include "tensor/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static wk_status upload_constants(wk_program *p, wk_error *err)
{
    const wk_graph *g = p->plan->graph;
    for (size_t i = 1; i < g->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(g, (int)i);
        wk_place place = p->plan->places[i];
        if (!info->value || place.region == WK_REGION_NONE) continue;
        WK_TRY(wk_buffer_upload(p->plan->owned, place.offset, info->value, wk_type_size(info->type),
                                err));
    }
    return WK_OK;
}

static void check_bindings(const wk_graph *g, const wk_backend *backend)
{
    for (size_t i = 1; i < g->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(g, (int)i);
        if (!info->buffer) continue;
        assert(info->buffer->backend == backend && "a tensor is bound to another backend's buffer");
        assert(info->place + wk_type_size(info->type) <= info->buffer->size &&
               "a tensor does not fit its buffer");
    }
    (void)backend;
}

wk_status wk_program_plan(const wk_graph *g, wk_backend *backend, wk_program **out, wk_error *err)
{
    wk_program *p = calloc(1, sizeof *p);
    if (!p) return wk_fail(err, WK_E_MEMORY, "no memory for a program");
    p->backend = backend;
    wk_status status = wk_plan_create(g, backend, &p->plan, err);
    if (status != WK_OK) {
        wk_program_destroy(p);
        return status;
    }
    *out = p;
    return WK_OK;
}

// Its memory, and what is in it from the beginning.
static wk_status prepare_memory(wk_program *p, wk_buffer *temporary, wk_error *err)
{
    wk_plan *plan = p->plan;
    check_bindings(plan->graph, p->backend);
    if (!temporary) WK_TRY(wk_buffer_create(p->backend, plan->temporary_size, &p->temporary, err));
    plan->temporary = temporary ? temporary : p->temporary;
    assert(plan->temporary->size >= plan->temporary_size);
    WK_TRY(wk_buffer_create(p->backend, plan->owned_size, &plan->owned, err));
    return upload_constants(p, err);
}

wk_status wk_program_compile(wk_program *p, wk_buffer *temporary, wk_error *err)
{
    return wk_program_compile_population(&p, &temporary, 1, err);
}

wk_status wk_program_compile_population(wk_program *const *programs, wk_buffer *const *temporaries,
                                        int count, wk_error *err)
{
    wk_program *leader = programs[0];
    const wk_plan **plans = malloc((size_t)count * sizeof *plans);
    wk_status status =
        plans ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to compile %d programs", count);
    for (int r = 0; status == WK_OK && r < count; r++) {
        plans[r] = programs[r]->plan;
        assert(wk_plan_is_congruent(plans[0], plans[r]) && "programs of a population differ");
        status = prepare_memory(programs[r], temporaries[r], err);
    }
    if (status == WK_OK)
        status = leader->backend->vtable->compile(leader->backend, plans, count,
                                                  &leader->executable, err);
    free(plans);
    return status;
}

wk_status wk_program_create(const wk_graph *g, wk_backend *backend, wk_program **out, wk_error *err)
{
    wk_program *p;
    WK_TRY(wk_program_plan(g, backend, &p, err));
    wk_status status = wk_program_compile(p, NULL, err);
    if (status != WK_OK) {
        wk_program_destroy(p);
        return status;
    }
    *out = p;
    return WK_OK;
}

void wk_program_destroy(wk_program *p)
{
    if (!p) return;
    if (p->executable) p->backend->vtable->executable_destroy(p->executable);
    wk_buffer_destroy(p->temporary);
    if (p->plan) wk_buffer_destroy(p->plan->owned);
    wk_plan_destroy(p->plan);
    free(p->seconds);
    free(p);
}

wk_status wk_program_run(wk_program *p, wk_error *err)
{
    if (p->seconds) p->traced_runs++;
    return p->backend->vtable->run(p->executable, p->seconds, err);
}

wk_status wk_program_enqueue(wk_program *p, wk_queue *queue, wk_error *err)
{
    const wk_queue_vtable *queues = p->backend->vtable->queue;
    if (queues && !p->seconds) return queues->run(queue, p->executable, err);
    WK_TRY(wk_queue_drain(queue, err));
    return wk_program_run(p, err);
}

void wk_program_set_priority(wk_program *p, wk_priority priority)
{
    assert(!p->executable);
    p->plan->priority = priority;
}

wk_location wk_program_locate(const wk_program *p, wk_tensor x)
{
    const wk_tensor_info *info = wk_info(p->plan->graph, x.id);
    assert(info->kind != WK_TEMPORARY || wk_info(p->plan->graph, info->root)->output);
    return (wk_location){wk_plan_buffer(p->plan, x.id), p->plan->places[x.id].offset,
                         wk_type_size(info->type)};
}

wk_status wk_program_upload(wk_program *p, wk_tensor x, const void *bytes, size_t size,
                            wk_error *err)
{
    const wk_tensor_info *info = wk_info(p->plan->graph, x.id);
    assert(info->kind == WK_INPUT || info->kind == WK_PERSISTENT);
    assert(size == wk_type_size(info->type));
    (void)info;
    return wk_buffer_upload(wk_plan_buffer(p->plan, x.id), p->plan->places[x.id].offset, bytes,
                            size, err);
}

wk_status wk_program_download(const wk_program *p, wk_tensor x, void *bytes, size_t size,
                              wk_error *err)
{
    const wk_graph *g = p->plan->graph;
    const wk_tensor_info *info = wk_info(g, x.id);
    assert(size == wk_type_size(info->type));
    assert((info->kind != WK_TEMPORARY || wk_info(g, info->root)->output) &&
           "only outputs can be downloaded; mark the tensor with wk_graph_output");
    if (info->kind == WK_CONSTANT) {
        memcpy(bytes, wk_info(g, info->root)->value + info->offset, size);
        return WK_OK;
    }
    return wk_buffer_download(wk_plan_buffer(p->plan, x.id), p->plan->places[x.id].offset, bytes,
                              size, err);
}

const char *wk_program_slow_path(const wk_program *p)
{
    return p->plan->slow_path;
}

wk_program_stats wk_program_get_stats(const wk_program *p)
{
    return (wk_program_stats){.nodes = p->plan->node_count,
                              .recorded = p->plan->graph->nodes.count,
                              .planned = p->plan->temporary_size,
                              .live_peak = p->plan->live_peak,
                              .owned = p->plan->owned_size,
                              .temporaries = p->plan->block_count};
}
