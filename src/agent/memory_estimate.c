#include "agent/memory_estimate.h"

static size_t buffer_size(const wk_buffer *buffer)
{
    return buffer ? buffer->size : 0;
}

static size_t weight_bytes(const wk_learner *learner)
{
    size_t sum = 0;
    for (int id = 0; id < WK_NETWORKS; id++)
        if (learner->params[id]) sum += buffer_size(learner->params[id]->buffer);
    return sum;
}

static size_t optimizer_bytes(const wk_learner *learner)
{
    size_t sum = 0;
    for (int id = 0; id < WK_NETWORKS; id++)
        if (learner->optimizers[id]) sum += buffer_size(learner->optimizers[id]->buffer);
    return sum;
}

// Of the planned memory, what is there before the programs are compiled.
static size_t early_bytes(const wk_learner *learner)
{
    size_t sum = buffer_size(learner->counters) + buffer_size(learner->starts) +
                 buffer_size(learner->handoff);
    for (int i = 0; i < 2; i++)
        sum += buffer_size(learner->device_batches[i]);
    return sum;
}

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

size_t wk_temporaries_total(wk_temporaries temporaries)
{
    return temporaries.shared + temporaries.tasks + temporaries.prefetch;
}

size_t wk_learner_input_bytes(const wk_learner *learner)
{
    size_t sum = 0;
    for (int i = 0; i < WK_COMPILED_GRAPHS; i++) {
        const wk_program *program = wk_learner_compiled_graph(learner, i)->program;
        if (program) sum += wk_program_get_stats(program).owned;
    }
    return sum;
}

wk_memory_estimate wk_learner_estimate_memory(const wk_learner *learner)
{
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    size_t weights = weight_bytes(learner);
    size_t temporary = wk_temporaries_total(wk_learner_temporaries(learner));
    wk_memory_estimate estimate = {.state = weights + optimizer_bytes(learner),
                                   .planned = temporary + early_bytes(learner) +
                                              wk_learner_input_bytes(learner),
                                   .copies = memory.copies ? weights / 2 : 0};
    for (int i = 0; i < WK_COMPILED_GRAPHS; i++)
        if (wk_learner_compiled_graph(learner, i)->program) estimate.working += memory.program;
    return estimate;
}

size_t wk_memory_estimate_total(wk_memory_estimate estimate)
{
    return estimate.state + estimate.planned + estimate.copies + estimate.working;
}

// In whole MiB, rounded up.
static size_t mebibytes(size_t bytes)
{
    return (bytes + (1 << 20) - 1) >> 20;
}

// What its population needs besides what is there already; workspaces serve all members.
static size_t missing_bytes(const wk_learner *learner, wk_memory_estimate estimate)
{
    size_t there = estimate.state + early_bytes(learner);
    size_t each = wk_memory_estimate_total(estimate) - estimate.working - there;
    return (size_t)learner->population * each + estimate.working;
}

bool wk_learner_fits(const wk_learner *learner)
{
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    wk_memory_estimate estimate = wk_learner_estimate_memory(learner);
    return memory.total == 0 || missing_bytes(learner, estimate) <= memory.free;
}

wk_status wk_learner_check_memory(const wk_learner *learner, wk_error *err)
{
    if (wk_learner_fits(learner)) return WK_OK;
    wk_memory_info memory = wk_backend_memory_info(learner->backend);
    wk_memory_estimate estimate = wk_learner_estimate_memory(learner);
    size_t total = wk_memory_estimate_total(estimate),
           there = estimate.state + early_bytes(learner);
    if (learner->population > 1)
        return wk_fail(err, WK_E_MEMORY,
                       "%d runs at once need %zu MiB more on the device (each %zu MiB of weights "
                       "and optimiser, %zu of temporaries and inputs), and %zu of its %zu MiB are "
                       "free; train fewer at once, or use a smaller batch or smaller networks",
                       learner->population, mebibytes(missing_bytes(learner, estimate)),
                       mebibytes(estimate.state), mebibytes(estimate.planned), memory.free >> 20,
                       memory.total >> 20);
    return wk_fail(
        err, WK_E_MEMORY,
        "the learner needs at least %zu MiB on the device (%zu weights and optimiser, "
        "%zu temporaries and inputs, %zu bf16 copies of weights, %zu working memory), "
        "and %zu of its %zu MiB are free; use a smaller batch, smaller networks or another device",
        mebibytes(total), mebibytes(estimate.state), mebibytes(estimate.planned),
        mebibytes(estimate.copies), mebibytes(estimate.working), (memory.free + there) >> 20,
        memory.total >> 20);
}
