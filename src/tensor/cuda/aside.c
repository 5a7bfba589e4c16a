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

int wk_plan_put_aside(wk_plan *plan, int branch)
{
    const wk_graph *g = plan->graph;
    bool *read = calloc(g->tensors.count, sizeof *read);
    if (!read) return -1;
    mark_read(plan, read);
    int count = 0;
    size_t group = 0;
    for (int step = 0; step < (int)plan->node_count; step++) {
        while (group < plan->groups.count && plan->groups.items[group].end < step)
            group++;
        bool grouped = group < plan->groups.count && plan->groups.items[group].begin <= step;
        const wk_node *node = &g->nodes.items[plan->nodes[step]];
        if (grouped || plan->branches[step] != 0 || !is_aside(g, node, read)) continue;
        plan->branches[step] = branch;
        count++;
    }
    free(read);
    return count;
}
