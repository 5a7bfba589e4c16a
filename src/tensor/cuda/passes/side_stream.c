#include "tensor/cuda/passes/side_stream.h"

#include <stdlib.h>

static bool is_optimiser(const wk_node *node)
{
    return node->op == WK_OP_global_norm || node->op == WK_OP_adam;
}

// A gradient that is left for the optimiser of another graph is stored.
static bool nobody_waits_for(const wk_node *node)
{
    return is_optimiser(node) || node->op == WK_OP_store;
}

static const wk_node *step_node(const wk_plan *plan, int step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

// Of a root: whether others than the optimiser and stores read it, and the last step that touches
// it.
typedef struct use {
    bool read;
    int last;
} use;

static void find_uses(const wk_plan *plan, use *uses)
{
    const wk_graph *g = plan->graph;
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        if (node->op == WK_OP_mark) continue; // nothing waits for it
        for (int i = 0; i < node->input_count; i++) {
            use *u = &uses[wk_info(g, wk_node_inputs(g, node)[i])->root];
            u->read |= !nobody_waits_for(node);
            u->last = step;
        }
    }
}

// Whether a step makes what only the optimiser reads or what is only stored, or writes, as one of
// these, what nothing touches after it.
static bool is_deferrable(const wk_plan *plan, int step, const use *uses)
{
    const wk_graph *g = plan->graph;
    const wk_node *node = step_node(plan, step);
    if (node->op == WK_OP_adam || node->op == WK_OP_store)
        return uses[wk_info(g, wk_node_inputs(g, node)[0])->root].last == step;
    for (int i = 0; i < node->output_count; i++)
        if (uses[node->outputs + i].read || wk_info(g, node->outputs + i)->output) return false;
    return node->output_count > 0 && !is_optimiser(node) && !wk_op_writes(node->op);
}

static void find_deferrable(wk_plan *plan, int branch, const use *uses)
{
    size_t group = 0;
    for (int step = 0; step < (int)plan->node_count; step++) {
        while (group < plan->groups.count && plan->groups.items[group].end < step)
            group++;
        bool grouped = group < plan->groups.count && plan->groups.items[group].begin <= step;
        if (!grouped && plan->branches[step] == 0 && is_deferrable(plan, step, uses))
            plan->branches[step] = branch;
    }
}

// Whether a step reads something that another makes or writes.
static bool needs(const wk_plan *plan, int step, int other)
{
    const wk_graph *g = plan->graph;
    const wk_node *node = step_node(plan, step), *maker = step_node(plan, other);
    unsigned writes = wk_op_writes(maker->op);
    for (int i = 0; i < node->input_count; i++) {
        int root = wk_info(g, wk_node_inputs(g, node)[i])->root;
        if (root >= maker->outputs && root < maker->outputs + maker->output_count) return true;
        for (int k = 0; root && writes >> k; k++)
            if (writes >> k & 1 && wk_info(g, wk_node_inputs(g, maker)[k])->root == root)
                return true;
    }
    return false;
}

static bool is_product(const wk_node *node)
{
    switch (node->op) {
    case WK_OP_matmul:
    case WK_OP_conv:
    case WK_OP_conv_dx:
    case WK_OP_conv_dw:
    case WK_OP_deconv:
    case WK_OP_deconv_dx:
        return true;
    default:
        return false;
    }
}

static bool share_inputs(const wk_plan *plan, int a, int b)
{
    const wk_graph *g = plan->graph;
    const wk_node *x = step_node(plan, a), *y = step_node(plan, b);
    for (int i = 0; i < x->input_count; i++)
        for (int k = 0; k < y->input_count; k++) {
            int root = wk_info(g, wk_node_inputs(g, x)[i])->root;
            if (root && root == wk_info(g, wk_node_inputs(g, y)[k])->root) return true;
        }
    return false;
}

// The first place at which a step can run: when its inputs are there, and what does not wait has
// read them too, because the first reader may have to round them for all. Not inside a group, nor
// between a product and what takes its result further, which may be done as one.
static int earliest(const wk_plan *plan, int step)
{
    int at = step, deferred = plan->branches[step];
    while (at > 0 && !needs(plan, step, at - 1) &&
           (plan->branches[at - 1] == deferred || !share_inputs(plan, step, at - 1)))
        at--;
    for (size_t i = 0; i < plan->groups.count; i++) {
        wk_group group = plan->groups.items[i];
        if (group.begin < at && at <= group.end) at = group.end + 1;
    }
    while (at > 0 && at < step && !is_product(step_node(plan, at)) && needs(plan, at, at - 1))
        at++;
    return at;
}

// Moves a step to an earlier place.
static void move_up(wk_plan *plan, int step, int at)
{
    int node = plan->nodes[step], branch = plan->branches[step];
    for (int i = step; i > at; i--) {
        plan->nodes[i] = plan->nodes[i - 1];
        plan->branches[i] = plan->branches[i - 1];
    }
    plan->nodes[at] = node;
    plan->branches[at] = branch;
    for (size_t i = 0; i < plan->groups.count; i++) {
        wk_group *group = &plan->groups.items[i];
        if (group->begin < at || group->begin > step) continue;
        group->begin++;
        group->end++;
    }
}

// Whether a step cannot be swapped with a deferred one.
static bool is_fixed(const wk_plan *plan, int step)
{
    const wk_node *node = step_node(plan, step);
    return is_optimiser(node) || wk_op_writes(node->op);
}

// Of neighbouring steps of the optimiser, first those that something waits for: then neighbours are
// on the same branch and can be done as one. They do not need each other.
static void part_optimisers(wk_plan *plan, int branch)
{
    int first = 0; // of the neighbours that are deferred
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (step_node(plan, step)->op != WK_OP_adam) {
            first = step + 1;
        } else if (plan->branches[step] != branch) {
            move_up(plan, step, first);
            first++;
        }
    }
}

int wk_plan_defer_weight_grads(wk_plan *plan, int branch)
{
    use *uses = calloc(plan->graph->tensors.count, sizeof *uses);
    int count = uses ? 0 : -1;
    if (count == 0) {
        find_uses(plan, uses);
        find_deferrable(plan, branch, uses);
        for (int step = 0; step < (int)plan->node_count; step++) {
            if (plan->branches[step] != branch) continue;
            if (!is_fixed(plan, step)) move_up(plan, step, earliest(plan, step));
            count++;
        }
        part_optimisers(plan, branch);
    }
    free(uses);
    return count;
}
