#include "tensor/cuda/aside.h"

#include <stdlib.h>

static bool is_optimiser(const wk_node *node)
{
    return node->op == WK_OP_global_norm || node->op == WK_OP_adam;
}

// Marks the roots that others than the optimiser read.
static void mark_read(const wk_plan *plan, bool *read)
{
    const wk_graph *g = plan->graph;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        for (int i = 0; i < node->input_count && !is_optimiser(node); i++)
            read[wk_info(g, wk_node_inputs(g, node)[i])->root] = true;
    }
}

static bool is_aside(const wk_graph *g, const wk_node *node, const bool *read)
{
    for (int i = 0; i < node->output_count; i++)
        if (read[node->outputs + i] || wk_info(g, node->outputs + i)->output) return false;
    return node->output_count > 0 && !is_optimiser(node) && !wk_op_writes(node->op);
}

static void find_aside(wk_plan *plan, int branch, const bool *read)
{
    const wk_graph *g = plan->graph;
    size_t group = 0;
    for (int step = 0; step < (int)plan->node_count; step++) {
        while (group < plan->groups.count && plan->groups.items[group].end < step)
            group++;
        bool grouped = group < plan->groups.count && plan->groups.items[group].begin <= step;
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        if (!grouped && plan->branches[step] == 0 && is_aside(g, node, read))
            plan->branches[step] = branch;
    }
}

// Whether a step cannot change places with one that is put aside.
static bool is_fixed(const wk_plan *plan, int step)
{
    const wk_node *node = &plan->graph->nodes.items[plan->nodes[step]];
    return is_optimiser(node) || wk_op_writes(node->op);
}

// Moves steps of the branch behind the group, as far back as nothing forbids it; keeps the order of
// all others.
static void move_behind(wk_plan *plan, wk_group *group, int branch, int *moved)
{
    int first = group->begin, to, count = 0;
    while (first > 0 && !is_fixed(plan, first - 1))
        first--;
    to = first;
    for (int step = first; step <= group->end; step++) {
        if (plan->branches[step] == branch) {
            moved[count++] = plan->nodes[step];
            continue;
        }
        plan->branches[to] = plan->branches[step];
        plan->nodes[to++] = plan->nodes[step];
    }
    for (int i = 0; i < count; i++, to++) {
        plan->branches[to] = branch;
        plan->nodes[to] = moved[i];
    }
    group->begin -= count;
    group->end -= count;
}

int wk_plan_put_aside(wk_plan *plan, int branch)
{
    bool *read = calloc(plan->graph->tensors.count, sizeof *read);
    int *moved = malloc((plan->node_count + 1) * sizeof *moved);
    int count = read && moved ? 0 : -1;
    if (count == 0) {
        mark_read(plan, read);
        find_aside(plan, branch, read);
        for (size_t i = 0; i < plan->groups.count; i++)
            move_behind(plan, &plan->groups.items[i], branch, moved);
        for (size_t step = 0; step < plan->node_count; step++)
            count += plan->branches[step] == branch;
    }
    free(read);
    free(moved);
    return count;
}
