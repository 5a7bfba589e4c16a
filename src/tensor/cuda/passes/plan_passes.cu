// The passes over a plan: its groups, unrolled recurrences (recurrence.h) that run as one kernel
// each; its lazy nodes; the formats of its results; and its streams (tensor/schedule.h).
#include "tensor/cuda/runtime/backend.cuh"

extern "C" {
#include "tensor/cuda/passes/formats.h"
#include "tensor/schedule.h"
}

#include <stdlib.h>

static wk_status find_chains(const wk_cuda_backend *backend, wk_plan *plan, int *last_use,
                             wk_recurrence *chain, wk_error *err)
{
    wk_recurrence_last_use(plan, last_use);
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (!wk_recurrence_find(plan, last_use, step, chain)) continue;
        if (!wk_cuda_observe_fits(chain, backend->shared_memory, backend->processors)) continue;
        wk_group group = {step, chain->end};
        if (!wk_array_push(&plan->groups, group))
            return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
        step = chain->end;
    }
    return WK_OK;
}

static wk_status find_groups(const wk_cuda_backend *backend, wk_plan *plan, wk_error *err)
{
    if (backend->precision != WK_CUDA_BF16 || backend->capability < 80) return WK_OK;
    int *last_use = (int *)malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *chain = (wk_recurrence *)malloc(sizeof *chain);
    wk_status status = last_use && chain
                           ? find_chains(backend, plan, last_use, chain, err)
                           : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
    free(last_use);
    free(chain);
    WK_TRY(status);
    return wk_plan_find_lazy(plan) ? WK_OK
                                   : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

wk_status wk_cuda_choose_groups(const wk_backend *base, wk_plan *plan, wk_error *err)
{
    WK_TRY(find_groups((const wk_cuda_backend *)base, plan, err));
    return wk_plan_schedule(plan, ((const wk_cuda_backend *)base)->processors)
               ? WK_OK
               : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

wk_status wk_cuda_choose_formats(const wk_backend *base, wk_plan *plan, wk_error *err)
{
    if (((const wk_cuda_backend *)base)->precision != WK_CUDA_BF16) return WK_OK;
    return wk_plan_choose_formats(plan) ? WK_OK
                                        : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

// Finds the plan's groups once more, to keep what they are.
wk_status wk_cuda_keep_chains(wk_executable *e, const wk_plan *plan, wk_error *err)
{
    int *last_use = (int *)malloc(plan->graph->tensors.count * sizeof *last_use);
    bool ok = last_use;
    if (ok) wk_recurrence_last_use(plan, last_use);
    for (size_t i = 0; ok && i < plan->groups.count; i++) {
        wk_recurrence *chain = (wk_recurrence *)malloc(sizeof *chain);
        ok = chain && wk_array_push(&e->chains, chain);
        if (!ok) free(chain);
        if (ok) wk_recurrence_find(plan, last_use, plan->groups.items[i].begin, chain);
    }
    free(last_use);
    return ok ? WK_OK : wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

const wk_recurrence *wk_cuda_chain_at(const wk_executable *e, size_t i)
{
    for (size_t k = 0; k < e->chains.count; k++) {
        const wk_recurrence *chain = e->chains.items[k];
        if ((int)i >= chain->begin && (int)i <= chain->end) return chain;
    }
    return NULL;
}
