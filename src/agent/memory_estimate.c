#include "agent/learner_parts.h"

static size_t planned_bytes(const wk_compiled_graph *compiled)
{
    return compiled->program ? wk_program_get_stats(compiled->program).planned : 0;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

wk_temporaries wk_learner_temporaries(const wk_learner *learner)
{
    size_t update = planned_bytes(&learner->update), tasks = planned_bytes(&learner->tasks);
    size_t observe = planned_bytes(&learner->observe), model = planned_bytes(&learner->model);
    wk_temporaries out = {.shared = larger(update, observe)};
    if (learner->tasks_async)
        out.tasks = tasks;
    else
        out.shared = larger(out.shared, tasks);
    if (learner->prefetches)
        out.prefetch = model;
    else
        out.shared = larger(out.shared, model);
    return out;
}

wk_memory_estimate wk_learner_estimate_memory(const wk_learner *learner)
{
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    wk_temporaries temporaries = wk_learner_temporaries(learner);
    wk_memory_estimate e = {.early = learner->counters->size + learner->starts->size +
                                     learner->handoff->size + learner->device_batches[0]->size +
                                     learner->device_batches[1]->size};
    size_t weights = 0;
    for (int id = 0; id < WK_NETWORKS; id++) {
        if (learner->params[id]) weights += learner->params[id]->buffer->size;
        if (learner->optimizers[id]) e.state += learner->optimizers[id]->buffer->size;
    }
    e.state += weights;
    e.copies = memory.copies ? weights / 2 : 0;
    e.planned = e.early + temporaries.shared + temporaries.tasks + temporaries.prefetch;
    for (int i = 0; i < WK_COMPILED_GRAPHS; i++) {
        const wk_program *program = wk_learner_compiled_graph(learner, i)->program;
        if (!program) continue;
        e.planned += wk_program_get_stats(program).owned;
        e.working += memory.program;
    }
    return e;
}

// What its population needs besides what is there already; workspaces serve all members.
static size_t missing_bytes(const wk_learner *learner, wk_memory_estimate e)
{
    return (size_t)learner->population * (e.planned - e.early + e.copies) + e.working;
}

bool wk_learner_fits(const wk_learner *learner)
{
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    return memory.total == 0 ||
           missing_bytes(learner, wk_learner_estimate_memory(learner)) <= memory.free;
}

// In whole MiB, rounded up.
static size_t mebibytes(size_t bytes)
{
    return (bytes + (1 << 20) - 1) >> 20;
}

wk_status wk_learner_check_memory(const wk_learner *learner, wk_error *err)
{
    if (wk_learner_fits(learner)) return WK_OK;
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    wk_memory_estimate e = wk_learner_estimate_memory(learner);
    if (learner->population > 1)
        return wk_fail(err, WK_E_MEMORY,
                       "%d runs at once need %zu MiB more on the device (each %zu MiB of weights "
                       "and optimiser, %zu of temporaries and inputs), and %zu of its %zu MiB are "
                       "free; train fewer at once, or use a smaller batch or smaller networks",
                       learner->population, mebibytes(missing_bytes(learner, e)),
                       mebibytes(e.state), mebibytes(e.planned), memory.free >> 20,
                       memory.total >> 20);
    return wk_fail(
        err, WK_E_MEMORY,
        "the learner needs at least %zu MiB on the device (%zu weights and optimiser, "
        "%zu temporaries and inputs, %zu bf16 copies of weights, %zu working memory), "
        "and %zu of its %zu MiB are free; use a smaller batch, smaller networks or another device",
        mebibytes(wk_memory_estimate_total(e)), mebibytes(e.state), mebibytes(e.planned),
        mebibytes(e.copies), mebibytes(e.working), (memory.free + e.state + e.early) >> 20,
        memory.total >> 20);
}
