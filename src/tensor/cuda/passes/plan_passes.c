#include "tensor/cuda/passes/plan_passes.h"
#include "tensor/cuda/passes/conv_sizes.h"
#include "tensor/cuda/passes/formats.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/lazy.h"
#include "tensor/cuda/passes/recurrence.h"
#include "tensor/schedule.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static wk_status no_memory(wk_error *err)
{
    return wk_fail(err, WK_E_MEMORY, "no memory to compile a graph");
}

static void note_truncated(const wk_recurrence *r, wk_plan *plan)
{
    if (r->truncated)
        snprintf(plan->slow_path, sizeof plan->slow_path,
                 "the kernel of the recurrence takes %d steps of a sequence: the others, and its "
                 "gradient, run node by node",
                 r->count);
}

// Keeps a recurrence that a kernel runs; false when memory ran out.
static bool keep_recurrence(const wk_recurrence *found, int begin, wk_plan *plan)
{
    wk_group group = {begin, begin + found->nodes - 1, malloc(sizeof *found)};
    if (group.what) *(wk_recurrence *)group.what = *found;
    bool ok = group.what && wk_array_push(&plan->groups, group);
    if (!ok) free(group.what);
    return ok;
}

static bool find_recurrences(const wk_cuda_limits *limits, wk_plan *plan, int *last_use,
                             wk_recurrence *recurrence)
{
    wk_recurrence_last_use(plan, last_use);
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (!wk_recurrence_find(plan, last_use, step, recurrence)) continue;
        note_truncated(recurrence, plan);
        if (!wk_recurrence_why_not(recurrence, limits, plan->slow_path, sizeof plan->slow_path) &&
            !keep_recurrence(recurrence, step, plan))
            return false;
        step += recurrence->nodes - 1;
    }
    return true;
}

static wk_status find_groups(const wk_cuda_limits *limits, wk_plan *plan, wk_error *err)
{
    if (!limits->bf16 || limits->capability < 80) return WK_OK;
    int *last_use = malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *recurrence = malloc(sizeof *recurrence);
    bool ok = last_use && recurrence && find_recurrences(limits, plan, last_use, recurrence);
    free(last_use);
    free(recurrence);
    return ok && wk_plan_find_lazy(plan, limits) ? WK_OK : no_memory(err);
}

wk_status wk_cuda_choose_schedule(const wk_cuda_limits *limits, wk_plan *plan, wk_error *err)
{
    WK_TRY(find_groups(limits, plan, err));
    if (wk_is_off(limits, WK_PART_SCHEDULE)) return WK_OK; // one stream, as recorded
    return wk_plan_schedule(plan, limits->processors) ? WK_OK : no_memory(err);
}

// Layers whose rows are no whole 16 bytes: their results exist in float32, and are padded for every
// product that reads them.
static void note_ragged_layers(wk_plan *plan)
{
    enum { SHORT = 64 };
    const wk_graph *g = plan->graph;
    for (size_t step = 0; step < plan->node_count && !*plan->slow_path; step++) {
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        if (node->op != WK_OP_bias_act) continue;
        size_t width = wk_shape_width(wk_info(g, node->outputs)->type.shape);
        if (width > SHORT && width % WK_ROW_UNIT)
            snprintf(plan->slow_path, sizeof plan->slow_path,
                     "layers of %zu units, no multiple of 8, are padded for every product", width);
    }
}

// Convolutions that neither kernel in bf16 takes: their images exist in float32, and their patches
// are collected.
static void note_patches(const wk_cuda_limits *limits, wk_plan *plan)
{
    enum { FEW = 8 }; // channels
    const wk_graph *g = plan->graph;
    const unsigned unit = limits->capability == 90 ? WK_CONV_QUAD : WK_CONV_CHUNK;
    for (size_t step = 0; step < plan->node_count && !*plan->slow_path; step++) {
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        if (!wk_op_is_conv(node->op) || node->op == WK_OP_conv_dw) continue;
        const wk_conv_sizes z = wk_conv_measure(g, node);
        unsigned channels = z.small_c % unit ? z.small_c : z.large_c;
        bool plain = z.large == z.kernel, suits = channels <= FEW || channels % unit == 0;
        if (plain || suits || wk_conv_is_bf16(g, node, limits)) continue;
        snprintf(plan->slow_path, sizeof plan->slow_path,
                 "convolutions of %u channels, no multiple of %u, collect their patches", channels,
                 unit);
    }
}

// hopper/ is compiled for capability 9.0 alone: older devices lack its instructions, and so do
// newer ones.
static void note_device(const wk_cuda_limits *limits, wk_plan *plan)
{
    size_t used = strlen(plan->slow_path);
    if (limits->capability == 90) return;
    snprintf(plan->slow_path + used, sizeof plan->slow_path - used,
             "%sthe fastest kernels are those for compute capability 9.0, and this GPU has %d.%d",
             used ? "; " : "", limits->capability / 10, limits->capability % 10);
}

wk_status wk_cuda_choose_formats(const wk_cuda_limits *limits, wk_plan *plan, wk_error *err)
{
    if (!limits->bf16) return WK_OK;
    note_ragged_layers(plan);
    note_patches(limits, plan);
    note_device(limits, plan);
    return wk_plan_choose_formats(plan, limits) ? WK_OK : no_memory(err);
}
