// Storage of the graph: growing arrays of nodes and tensors that refer to each other by number.
#include "tensor/graph.h"
#include "tensor/node.h"
#include "tensor/shape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MANY WK_MANY_INPUTS
const wk_op_info wk_op_table[WK_OP_COUNT] = {
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits)                                \
    [WK_OP_##name] = {#name, min_inputs, max_inputs, outputs, WK_GRADIENT_##gradient, traits},
#include "tensor/ops.def"
#undef OP
};
#undef MANY

wk_status wk_graph_create(wk_graph **out, wk_error *err)
{
    wk_graph *g = calloc(1, sizeof *g);
    // What stands for no tensor has a shape, so that callers may go on after memory ran out.
    const wk_tensor_info none = {.type = {WK_F32, WK_SHAPE(1)}, .producer = -1, .writer = -1};
    if (!g || !wk_array_push(&g->tensors, none) || !wk_array_push(&g->sections, "")) {
        wk_graph_destroy(g);
        return wk_fail(err, WK_E_MEMORY, "no memory for a graph");
    }
    *out = g;
    return WK_OK;
}

void wk_graph_destroy(wk_graph *g)
{
    if (!g) return;
    wk_array_free(&g->nodes);
    wk_array_free(&g->tensors);
    wk_array_free(&g->links);
    wk_array_free(&g->extents);
    wk_array_free(&g->sections);
    wk_arena_reset(&g->names);
    free(g);
}

wk_shape wk_graph_shape(const wk_graph *g, wk_tensor x)
{
    return wk_info(g, x.id)->type.shape;
}

wk_dtype wk_graph_dtype(const wk_graph *g, wk_tensor x)
{
    return wk_info(g, x.id)->type.dtype;
}

size_t wk_graph_node_count(const wk_graph *g)
{
    return g->nodes.count;
}

static const char *copy_name(wk_graph *g, const char *name)
{
    const char *copy = wk_arena_string(&g->names, name);
    if (!copy) g->failed = true;
    return copy;
}

void wk_graph_section(wk_graph *g, const char *name)
{
    for (size_t i = 0; i < g->sections.count; i++) {
        if (strcmp(g->sections.items[i], name) == 0) {
            g->section = (int)i;
            return;
        }
    }
    const char *copy = copy_name(g, name);
    if (!copy || !wk_array_push(&g->sections, copy)) {
        g->failed = true;
        return;
    }
    g->section = (int)g->sections.count - 1;
}

static wk_tensor add_tensor(wk_graph *g, wk_tensor_info info)
{
    info.root = (int)g->tensors.count;
    info.producer = info.writer = -1;
    if (g->failed || !wk_array_push(&g->tensors, info)) {
        g->failed = true;
        return (wk_tensor){0};
    }
    return (wk_tensor){info.root};
}

// Shapes made from those of tensors that there was no memory for mean nothing and are let through.
static void check_shape(const wk_graph *g, wk_shape shape)
{
    if (g->failed) return;
    assert(shape.rank >= 1 && shape.rank <= WK_RANK_MAX);
    for (int i = 0; i < shape.rank; i++)
        assert(shape.dim[i] >= 1 && "every axis has length 1 or more");
    (void)shape;
}

wk_tensor wk_graph_input(wk_graph *g, wk_dtype dtype, wk_shape shape, const char *name)
{
    check_shape(g, shape);
    return add_tensor(
        g, (wk_tensor_info){.type = {dtype, shape}, .kind = WK_INPUT, .name = copy_name(g, name)});
}

wk_tensor wk_graph_persistent(wk_graph *g, wk_dtype dtype, wk_shape shape, const char *name,
                              wk_buffer *buffer, size_t offset)
{
    check_shape(g, shape);
    wk_tensor x = add_tensor(g, (wk_tensor_info){.type = {dtype, shape},
                                                 .kind = WK_PERSISTENT,
                                                 .name = copy_name(g, name)});
    wk_graph_bind(g, x, buffer, offset);
    return x;
}

void wk_graph_bind(wk_graph *g, wk_tensor x, wk_buffer *buffer, size_t offset)
{
    if (g->failed || !wk_tensor_exists(x)) return;
    wk_tensor_info *info = &g->tensors.items[x.id];
    assert(info->kind == WK_PERSISTENT && info->root == x.id);
    assert(offset % (info->type.dtype == WK_U64 ? 8 : 4) == 0 && "misaligned place in the buffer");
    info->buffer = buffer;
    info->place = offset;
}

// Room for the elements of a constant, in the graph's arena.
static float *constant_values(wk_graph *g, wk_shape shape)
{
    check_shape(g, shape);
    float *values =
        g->failed ? NULL : wk_arena_alloc(&g->names, wk_shape_count(shape) * sizeof *values);
    if (!values) g->failed = true;
    return values;
}

static wk_tensor add_constant(wk_graph *g, wk_shape shape, const float *values)
{
    return add_tensor(
        g, (wk_tensor_info){.type = {WK_F32, shape}, .kind = WK_CONSTANT, .value = values});
}

wk_tensor wk_graph_constant(wk_graph *g, wk_shape shape, const float *values)
{
    float *copy = constant_values(g, shape);
    if (copy) memcpy(copy, values, wk_shape_count(shape) * sizeof *copy);
    return add_constant(g, shape, copy);
}

wk_tensor wk_graph_fill(wk_graph *g, wk_shape shape, float value)
{
    float *values = constant_values(g, shape);
    for (size_t i = 0; values && i < wk_shape_count(shape); i++)
        values[i] = value;
    return add_constant(g, shape, values);
}

void wk_graph_output(wk_graph *g, wk_tensor x)
{
    g->tensors.items[wk_info(g, x.id)->root].output = true;
}

static bool reserve_node(wk_graph *g, size_t inputs)
{
    return !g->failed && wk_array_reserve(&g->nodes, 1) && wk_array_reserve(&g->links, inputs) &&
           wk_array_reserve(&g->tensors, WK_OUTPUTS_MAX);
}

// Records for every tensor that this node writes that its content changes here.
static void note_writes(wk_graph *g, int node, wk_op op, const wk_tensor *inputs)
{
    unsigned writes = wk_op_writes(op);
    for (int i = 0; writes >> i; i++) {
        if (!(writes >> i & 1)) continue;
        wk_tensor_info *root = &g->tensors.items[wk_info(g, inputs[i].id)->root];
        assert(root->kind == WK_PERSISTENT && "only persistent tensors can be written");
        root->writer = node;
    }
}

static wk_node *push_node(wk_graph *g, wk_op op, wk_attrs attrs, const wk_tensor *inputs,
                          size_t count)
{
    const wk_op_info *info = &wk_op_table[op];
    assert((int)count >= info->min_inputs && (int)count <= info->max_inputs);
    wk_node *node = &g->nodes.items[g->nodes.count++];
    *node = (wk_node){.op = op,
                      .section = g->section,
                      .inputs = (int)g->links.count,
                      .input_count = (int)count,
                      .outputs = (int)g->tensors.count,
                      .output_count = info->outputs,
                      .attrs = attrs};
    for (size_t i = 0; i < count; i++) {
        assert((inputs[i].id != 0 || (int)i >= info->min_inputs) && "an input is no tensor");
        assert(inputs[i].id >= 0 && inputs[i].id < (int)g->tensors.count);
        g->links.items[g->links.count++] = inputs[i].id;
    }
    return node;
}

wk_tensor wk_graph_emit(wk_graph *g, wk_op op, wk_attrs attrs, const wk_tensor *inputs,
                        size_t count)
{
    if (!reserve_node(g, count)) {
        g->failed = true;
        return (wk_tensor){0};
    }
    wk_type types[WK_OUTPUTS_MAX];
    wk_shape_infer(g, op, &attrs, inputs, count, types);
    wk_node *node = push_node(g, op, attrs, inputs, count);
    int index = (int)g->nodes.count - 1;
    for (int i = 0; i < node->output_count; i++) {
        wk_tensor out = add_tensor(g, (wk_tensor_info){.type = types[i]});
        g->tensors.items[out.id].producer = index;
    }
    note_writes(g, index, op, inputs);
    return (wk_tensor){node->output_count ? node->outputs : 0};
}

wk_tensor wk_graph_emit_view(wk_graph *g, wk_op op, wk_attrs attrs, wk_tensor x, wk_shape shape,
                             size_t offset)
{
    wk_tensor view = wk_graph_emit(g, op, attrs, &x, 1);
    if (!wk_tensor_exists(view)) return view;
    const wk_tensor_info *source = wk_info(g, x.id);
    wk_tensor_info *info = &g->tensors.items[view.id];
    assert(wk_shape_equal(info->type.shape, shape));
    info->kind = source->kind;
    info->root = source->root;
    info->offset = source->offset + offset;
    return view;
}

wk_tensor wk_graph_sibling(const wk_graph *g, wk_tensor first, int index)
{
    if (!wk_tensor_exists(first)) return first;
    assert(index < g->nodes.items[wk_info(g, first.id)->producer].output_count);
    return (wk_tensor){first.id + index};
}

// When other graphs may overlap the rest of a run: wk_graph_signal.

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
