// When other graphs may overlap the rest of a run: wk_graph_signal.
#include "tensor/node.h"

#include <assert.h>
#include <string.h>

void wk_graph_mark(wk_graph *g, int at, const wk_tensor *x, size_t count, wk_event *event)
{
    wk_graph_emit(g, WK_OP_mark, (wk_attrs){.event = event}, x, count);
    if (g->failed) return;
    int last = (int)g->nodes.count - 1;
    wk_node *nodes = g->nodes.items, mark = nodes[last];
    memmove(nodes + at + 1, nodes + at, (size_t)(last - at) * sizeof *nodes);
    nodes[at] = mark;
    for (size_t i = 1; i < g->tensors.count; i++) {
        wk_tensor_info *info = &g->tensors.items[i];
        info->producer += info->producer >= at;
        info->writer += info->writer >= at;
    }
}

// A persistent tensor of another graph.
typedef struct range {
    const wk_buffer *buffer;
    size_t begin, end; // bytes
    bool written;
} range;

typedef WK_ARRAY(range) range_list;

static bool list_ranges(const wk_graph *g, range_list *out)
{
    for (size_t i = 1; i < g->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(g, (int)i);
        if (!info->buffer || info->root != (int)i) continue;
        range r = {info->buffer, info->place, info->place + wk_type_size(info->type),
                   info->writer >= 0};
        if (!wk_array_push(out, r)) return false;
    }
    return true;
}

// Whether a node touches what another graph writes, or writes what it touches.
static bool conflicts(const wk_graph *g, const wk_node *node, const range_list *others)
{
    if (wk_node_is_view(g, node)) return false;
    for (int i = 0; i < node->input_count; i++) {
        const wk_tensor_info *info = wk_info(g, wk_info(g, wk_node_inputs(g, node)[i])->root);
        size_t end = info->place + wk_type_size(info->type);
        bool writes = wk_op_writes_input(node->op, i);
        for (size_t k = 0; info->buffer && k < others->count; k++) {
            const range *r = &others->items[k];
            if (r->buffer == info->buffer && r->begin < end && info->place < r->end &&
                (writes || r->written))
                return true;
        }
    }
    return false;
}

// What the nodes that conflict with others write: when that is done, they are.
typedef struct last_conflicts {
    WK_ARRAY(wk_tensor) written;
    int node;
} last_conflicts;

static bool add_conflict(const wk_graph *g, int index, last_conflicts *found)
{
    const wk_node *node = &g->nodes.items[index];
    assert(wk_op_writes(node->op) && "only nodes that write may read what another graph writes");
    found->node = index;
    for (int i = 0; i < node->input_count; i++)
        if (wk_op_writes_input(node->op, i) &&
            !wk_array_push(&found->written, (wk_tensor){wk_node_inputs(g, node)[i]}))
            return false;
    return true;
}

void wk_graph_signal(wk_graph *g, const wk_graph *const *others, size_t count, wk_event *event)
{
    range_list ranges = {0};
    last_conflicts found = {.node = -1};
    bool ok = !g->failed;
    for (size_t i = 0; ok && i < count; i++)
        ok = list_ranges(others[i], &ranges);
    for (int i = 0; ok && i < (int)g->nodes.count; i++)
        if (conflicts(g, &g->nodes.items[i], &ranges)) ok = add_conflict(g, i, &found);
    assert((!ok || found.node >= 0) && "nothing that the other graphs have to wait for");
    if (ok) wk_graph_mark(g, found.node + 1, found.written.items, found.written.count, event);
    g->failed |= !ok;
    wk_array_free(&ranges);
    wk_array_free(&found.written);
}
