#include "tensor/cuda/passes/formats.h"
#include "tensor/cuda/passes/conv_sizes.h"
#include "tensor/cuda/passes/op_formats.h"
#include "tensor/cuda/passes/product.h"
#include "tensor/shape.h"

#include <stdlib.h>
#include <string.h>

// Who reads the tensors of a root.
typedef struct readers {
    bool bf16;   // products
    bool either; // kernels that read float32 or bf16
    bool rgb;    // convolutions by planes that pad an RGB image: they read either too
    bool f32;    // kernels that read float32 alone
} readers;

typedef struct finder {
    wk_plan *plan;
    const wk_graph *g;
    const wk_cuda_limits *limits;
    readers *read;        // by root
    const wk_node **from; // by tensor: the node that makes it, NULL for one that is lazy
    bool *grouped;        // by node of the graph: part of a group, which runs as one kernel
    bool *needs_f32;      // by root: a join whose parts do not all exist in bf16
} finder;

static const wk_node *step_node(const finder *f, size_t step)
{
    return &f->g->nodes.items[f->plan->nodes[step]];
}

static size_t index_of(const finder *f, const wk_node *node)
{
    return (size_t)(node - f->g->nodes.items);
}

static int input_root(const finder *f, const wk_node *node, int i)
{
    return wk_info(f->g, wk_node_inputs(f->g, node)[i])->root;
}

// Rows that need no padding in a product.
static bool has_whole_rows(const wk_graph *g, int tensor)
{
    return wk_shape_width(wk_info(g, tensor)->type.shape) % WK_ROW_UNIT == 0;
}

// Pixels that convolutions by planes take.
static bool has_pixels(const wk_graph *g, int tensor)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return shape.rank == 4 && wk_shape_width(shape) % WK_CONV_QUAD == 0;
}

static bool goes_by_planes(const finder *f, const wk_node *node)
{
    return wk_op_is_conv(node->op) && !wk_conv_refuse_planes(f->g, node, f->limits);
}

// Whether a product reads operand i as it is.
static bool reads_matrix(const finder *f, const wk_node *node, int i)
{
    if (!wk_op_is_product(node->op) || i > 1) return false;
    int tensor = wk_node_inputs(f->g, node)[i];
    bool image = i == 0 || node->op == WK_OP_conv_dw;
    return has_whole_rows(f->g, tensor) ||
           (image && has_pixels(f->g, tensor) && goes_by_planes(f, node));
}

static bool is_rgb(const wk_graph *g, int tensor)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return shape.rank == 4 && wk_shape_width(shape) == WK_CONV_RGB;
}

static bool reads_rgb(const finder *f, const wk_node *node, int i)
{
    return i == 0 && goes_by_planes(f, node) && is_rgb(f->g, wk_node_inputs(f->g, node)[0]);
}

// Whether output 0 can be written in bf16 alone, whoever reads it, or where only products do.
static bool stores_either(const finder *f, const wk_node *node)
{
    return wk_op_writes_as(f->g, node, f->limits) == WK_WRITES_EITHER;
}

static bool stores_for_products(const finder *f, const wk_node *node)
{
    return wk_op_writes_as(f->g, node, f->limits) != WK_WRITES_F32;
}

// What is joined in place must exist in the formats of the whole.
static void record_joined(finder *f, const wk_node *node)
{
    unsigned formats = f->plan->formats[node->outputs];
    for (int i = 0; i < node->input_count; i++) {
        readers *r = &f->read[input_root(f, node, i)];
        r->bf16 |= formats & WK_FORMAT_BF16;
        r->f32 |= formats & WK_FORMAT_F32;
    }
}

static void record_reads(finder *f, const wk_node *node)
{
    bool lazy = f->plan->lazy[index_of(f, node)], grouped = f->grouped[index_of(f, node)];
    if (!lazy && wk_plan_joins(f->g, node)) {
        record_joined(f, node);
        return;
    }
    for (int i = 0; i < node->input_count; i++) {
        readers *r = &f->read[input_root(f, node, i)];
        bool matrix = reads_matrix(f, node, i);
        bool rgb = reads_rgb(f, node, i);
        bool either =
            lazy || rgb || (!grouped && wk_op_reads(f->g, node, i, f->limits) & WK_READS_BF16);
        // Other convolutions may read both formats.
        bool alone = matrix && (node->op == WK_OP_matmul || wk_conv_is_bf16(f->g, node, f->limits));
        r->bf16 |= matrix;
        r->either |= either;
        r->rgb |= rgb;
        r->f32 |= !either && !alone;
    }
}

// Pixels that are no whole rows are for convolutions by planes alone.
static bool suits_bf16(const finder *f, const wk_node *node)
{
    int out = node->outputs;
    if (has_whole_rows(f->g, out)) return true;
    if (wk_op_is_conv(node->op)) return has_pixels(f->g, out) && goes_by_planes(f, node);
    return (has_pixels(f->g, out) && f->read[out].bf16) || f->read[out].rgb;
}

static bool is_able(const finder *f, const wk_node *node, int output)
{
    return output == 0 && !f->grouped[index_of(f, node)] && stores_either(f, node) &&
           suits_bf16(f, node);
}

// Whether all of a join is produced in its place.
static bool is_filled(const finder *f, const wk_node *node)
{
    size_t covered = 0;
    for (int i = 0; i < node->input_count; i++) {
        if (!wk_plan_is_joined(f->plan, node, i) || !f->from[input_root(f, node, i)]) return false;
        covered += wk_shape_count(wk_info(f->g, wk_node_inputs(f->g, node)[i])->type.shape);
    }
    return covered == wk_shape_count(wk_info(f->g, node->outputs)->type.shape);
}

// Whether all that is joined in place is produced there, by kernels that write bf16 whatever else
// they write.
static bool joins_bf16(const finder *f, const wk_node *node)
{
    if (!wk_plan_joins(f->g, node) || !is_filled(f, node)) return false;
    for (int i = 0; i < node->input_count; i++) {
        int root = input_root(f, node, i);
        const wk_node *from = f->from[root];
        if (from->outputs != root || wk_op_is_product(from->op) || !is_able(f, from, 0))
            return false;
    }
    return has_whole_rows(f->g, node->outputs);
}

// Whether an output can exist in bf16 alone if no reader needs more.
static bool can_be_bf16(const finder *f, const wk_node *node, int output)
{
    int id = node->outputs + output;
    if (is_able(f, node, output) || (output == 0 && joins_bf16(f, node))) return true;
    if (f->read[id].either || f->grouped[index_of(f, node)] || output > 0) return false;
    return wk_plan_joins(f->g, node) ||
           (!wk_op_is_product(node->op) && stores_for_products(f, node));
}

static void decide(finder *f, const wk_node *node)
{
    for (int i = 0; i < node->output_count; i++) {
        int id = node->outputs + i;
        const readers *r = &f->read[id];
        bool f32 =
            r->f32 || wk_info(f->g, id)->output || f->needs_f32[id] || !can_be_bf16(f, node, i);
        bool bf16 = r->bf16 || (!f32 && r->either);
        // Results without readers are written all the same.
        f->plan->formats[id] = (f32 || !bf16 ? WK_FORMAT_F32 : 0) | (bf16 ? WK_FORMAT_BF16 : 0);
    }
}

// Backwards, so that the readers of a join are known before its inputs.
static void decide_all(finder *f)
{
    memset(f->read, 0, f->g->tensors.count * sizeof *f->read);
    for (size_t step = f->plan->node_count; step-- > 0;) {
        const wk_node *node = step_node(f, step);
        if (!f->plan->lazy[index_of(f, node)]) decide(f, node);
        record_reads(f, node);
    }
}

// Whether a join in bf16 alone gets all its parts in bf16, or all in float32 to be rounded from. A
// product that is needed in both formats writes float32, and its readers round it.
static bool parts_agree(const finder *f, const wk_node *node)
{
    bool bf16 = true, f32 = true;
    if (!is_filled(f, node)) return false;
    for (int i = 0; i < node->input_count; i++) {
        int root = input_root(f, node, i);
        const wk_node *from = f->from[root];
        bool rounded = wk_op_is_product(from->op) || f->grouped[index_of(f, from)];
        unsigned formats = f->plan->formats[root];
        bf16 = bf16 && (formats == WK_FORMAT_BF16 ||
                        (!rounded && root == from->outputs && stores_for_products(f, from)));
        f32 = f32 && (formats & WK_FORMAT_F32);
    }
    return bf16 || f32;
}

// Finds the joins that must exist in float32 after all; false if there are none.
static bool find_mixed_joins(finder *f)
{
    bool found = false;
    for (size_t step = 0; step < f->plan->node_count; step++) {
        const wk_node *node = step_node(f, step);
        if (f->plan->lazy[index_of(f, node)] || !wk_plan_joins(f->g, node)) continue;
        if (f->plan->formats[node->outputs] != WK_FORMAT_BF16 || parts_agree(f, node)) continue;
        found = f->needs_f32[node->outputs] = true;
    }
    return found;
}

// Ragged rows that are longer than what skinny_gemm.cu takes.
static bool has_ragged_rows(const wk_graph *g, int tensor)
{
    enum { SKINNY = 64 };
    return !has_whole_rows(g, tensor) && wk_shape_width(wk_info(g, tensor)->type.shape) > SKINNY;
}

// Whether a node can write its result as padded bf16 rows.
static bool can_pad_rows(const finder *f, const wk_node *node)
{
    size_t index = index_of(f, node);
    const wk_tensor_info *out = wk_info(f->g, node->outputs);
    return node->op == WK_OP_concat && !f->plan->lazy[index] && !f->grouped[index] &&
           !wk_plan_joins(f->g, node) &&
           wk_shape_is_last(out->type.shape, node->attrs.concat.axis) && !out->output &&
           node->input_count <= WK_FORMAT_INPUTS_MAX && has_ragged_rows(f->g, node->outputs);
}

static bool reads_padded_rows(const finder *f, const wk_node *node, int i)
{
    int tensor = wk_node_inputs(f->g, node)[i], root = wk_info(f->g, tensor)->root;
    wk_shape a = wk_info(f->g, tensor)->type.shape, b = wk_info(f->g, root)->type.shape;
    return node->op == WK_OP_matmul && !f->grouped[index_of(f, node)] && i <= 1 &&
           wk_shape_count(a) == wk_shape_count(b) && wk_shape_width(a) == wk_shape_width(b);
}

static void find_padded_rows(finder *f)
{
    for (size_t step = 0; step < f->plan->node_count; step++) {
        const wk_node *node = step_node(f, step);
        unsigned char *made = &f->plan->formats[node->outputs];
        if (can_pad_rows(f, node) && *made == WK_FORMAT_F32) *made = WK_FORMAT_PADDED_BF16;
        for (int i = 0; i < node->input_count; i++) {
            unsigned char *formats = &f->plan->formats[input_root(f, node, i)];
            if (*formats == WK_FORMAT_PADDED_BF16 && !reads_padded_rows(f, node, i))
                *formats = WK_FORMAT_F32;
        }
    }
}

static void find_nodes(finder *f)
{
    for (size_t i = 0; i < f->plan->groups.count; i++) {
        wk_group group = f->plan->groups.items[i];
        for (int step = group.begin; step <= group.end; step++)
            f->grouped[f->plan->nodes[step]] = true;
    }
    for (size_t step = 0; step < f->plan->node_count; step++) {
        const wk_node *node = step_node(f, step);
        for (int i = 0; i < node->output_count; i++)
            f->from[node->outputs + i] = f->plan->lazy[index_of(f, node)] ? NULL : node;
    }
}

bool wk_plan_choose_formats(wk_plan *plan, const wk_cuda_limits *limits)
{
    const wk_graph *g = plan->graph;
    size_t tensors = g->tensors.count, nodes = g->nodes.count + 1;
    finder f = {.plan = plan, .g = g, .limits = limits};
    f.read = malloc(tensors * sizeof *f.read);
    f.from = calloc(tensors, sizeof *f.from);
    f.grouped = calloc(nodes, sizeof *f.grouped);
    f.needs_f32 = calloc(tensors, sizeof *f.needs_f32);
    bool ok = f.read && f.from && f.grouped && f.needs_f32;
    if (ok) {
        find_nodes(&f);
        do
            decide_all(&f);
        while (find_mixed_joins(&f));
        find_padded_rows(&f);
    }
    free(f.read);
    free(f.from);
    free(f.grouped);
    free(f.needs_f32);
    return ok;
}
