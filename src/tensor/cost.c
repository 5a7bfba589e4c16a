#include "tensor/cost.h"

#include <stdlib.h>

// Of one processor; from an H200 with 132 of them, whose kernels reach about 500 TFLOP/s in bf16
// and 3.5 TB/s (bench_gemm).
static const double FLOPS_PER_US = 3.8e6, BYTES_PER_US = 27e3;
// Of a kernel: until its results can be read.
static const double LATENCY_US = 2.5;
// What keeps one processor busy: a tile of results, terms of a sum, bytes.
enum { TILE = 128, TERMS = 1024, BYTES = 16384 };

static wk_type type_of(const wk_plan *plan, int tensor)
{
    return wk_info(plan->graph, tensor)->type;
}

static double bytes_of(const wk_plan *plan, const wk_node *node)
{
    double bytes = 0;
    if (node->op == WK_OP_slice) return 2 * (double)wk_type_size(type_of(plan, node->outputs));
    for (int i = 0; i < node->input_count; i++) {
        int tensor = wk_node_inputs(plan->graph, node)[i];
        if (tensor) bytes += (double)wk_type_size(type_of(plan, tensor));
    }
    for (int i = 0; i < node->output_count; i++)
        bytes += (double)wk_type_size(type_of(plan, node->outputs + i));
    return bytes;
}

// A matrix product: `stack` matrices of rows x cols results, each a sum of `terms`.
typedef struct product {
    double stack, rows, cols, terms;
} product;

static product matmul_product(const wk_plan *plan, const wk_node *node)
{
    wk_shape out = type_of(plan, node->outputs).shape;
    wk_shape a = type_of(plan, wk_node_inputs(plan->graph, node)[0]).shape;
    product p = {.rows = out.dim[out.rank - 2], .cols = out.dim[out.rank - 1]};
    p.stack = (double)wk_shape_count(out) / (p.rows * p.cols);
    p.terms = a.dim[a.rank - (node->attrs.matmul.transpose_a ? 2 : 1)];
    if (node->attrs.matmul.reduce && a.rank > 2) p.terms *= a.dim[0];
    return p;
}

static double places(wk_shape image)
{
    return (double)wk_shape_count(image) / image.dim[image.rank - 1];
}

// A convolution in any direction: every weight is used at each place of the smaller image.
static product conv_product(const wk_plan *plan, const wk_node *node)
{
    bool dw = node->op == WK_OP_conv_dw;
    const int *inputs = wk_node_inputs(plan->graph, node);
    int weights = dw ? node->outputs : inputs[1], other = dw ? inputs[1] : node->outputs;
    wk_shape w = type_of(plan, weights).shape, out = type_of(plan, node->outputs).shape;
    double a = places(type_of(plan, inputs[0]).shape), b = places(type_of(plan, other).shape);
    double uses = (a < b ? a : b) * (double)wk_shape_count(w);
    product p = {.stack = 1, .rows = places(out), .cols = out.dim[out.rank - 1]};
    p.terms = uses / (p.rows * p.cols);
    return p;
}

static double ceil_div(double a, double b)
{
    return (double)(long)((a + b - 1) / b);
}

static product product_of(const wk_plan *plan, const wk_node *node)
{
    return node->op == WK_OP_matmul ? matmul_product(plan, node) : conv_product(plan, node);
}

static double flops_of(product p)
{
    return 2 * p.stack * p.rows * p.cols * p.terms;
}

static wk_cost product_cost(product p, int processors)
{
    double tiles = p.stack * ceil_div(p.rows, TILE) * ceil_div(p.cols, TILE);
    if (p.terms > TERMS) tiles *= p.terms / TERMS;
    double busy = tiles < processors ? tiles : processors;
    return (wk_cost){LATENCY_US, flops_of(p) / (FLOPS_PER_US * busy), busy / processors};
}

static wk_cost memory_cost(double bytes, int processors)
{
    double busy = bytes / BYTES < processors ? bytes / BYTES : processors;
    if (busy < 1) busy = 1;
    return (wk_cost){LATENCY_US, bytes / (BYTES_PER_US * busy), busy / processors};
}

static wk_cost step_cost(const wk_plan *plan, int step, int processors)
{
    const wk_node *node = wk_plan_node(plan, step);
    if (plan->lazy[plan->nodes[step]] || wk_plan_joins(plan->graph, node) || node->op == WK_OP_mark)
        return (wk_cost){0, 0, 1};
    return wk_op_is_product(node->op) ? product_cost(product_of(plan, node), processors)
                                      : memory_cost(bytes_of(plan, node), processors);
}

double wk_plan_flops(const wk_plan *plan)
{
    double flops = 0;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = wk_plan_node(plan, step);
        if (wk_op_is_product(node->op)) flops += flops_of(product_of(plan, node));
    }
    return flops;
}

void wk_plan_costs(const wk_plan *plan, int processors, wk_cost *costs)
{
    for (int step = 0; step < (int)plan->node_count; step++)
        costs[step] = step_cost(plan, step, processors);
    for (size_t i = 0; i < plan->groups.count; i++)
        for (int step = plan->groups.items[i].begin; step <= plan->groups.items[i].end; step++)
            costs[step] = (wk_cost){0, costs[step].work, 1};
}

// Who touched a root last: steps that read it since, and the step that wrote it.
typedef struct touches {
    WK_ARRAY(int) readers;
    int writer;
} touches;

typedef struct finder {
    const wk_plan *plan;
    wk_dependencies *out;
    int *same; // by root: the first tensor that shares its memory
    touches *touched;
    int *seen; // by step: the last step that depends on it
} finder;

static void find_same(finder *f)
{
    const wk_graph *g = f->plan->graph;
    for (int i = 0; i < (int)g->tensors.count; i++) {
        f->same[i] = i;
        if (!wk_info(g, i)->buffer || wk_info(g, i)->root != i) continue;
        for (int k = 1; k < i && f->same[i] == i; k++)
            if (wk_info(g, k)->root == k && wk_tensors_overlap(wk_info(g, k), wk_info(g, i)))
                f->same[i] = f->same[k];
    }
}

static bool depend(finder *f, int step, int on)
{
    if (on < 0 || on == step || f->seen[on] == step) return true;
    f->seen[on] = step;
    return wk_array_push(&f->out->steps, on);
}

static bool read_tensor(finder *f, int step, int tensor)
{
    touches *t = &f->touched[f->same[wk_info(f->plan->graph, tensor)->root]];
    return depend(f, step, t->writer) && wk_array_push(&t->readers, step);
}

static bool write_tensor(finder *f, int step, int tensor)
{
    touches *t = &f->touched[f->same[wk_info(f->plan->graph, tensor)->root]];
    bool ok = depend(f, step, t->writer);
    for (size_t i = 0; ok && i < t->readers.count; i++)
        ok = depend(f, step, t->readers.items[i]);
    t->readers.count = 0;
    t->writer = step;
    return ok;
}

static bool add_step(finder *f, int step)
{
    const wk_node *node = wk_plan_node(f->plan, step);
    const int *inputs = wk_node_inputs(f->plan->graph, node);
    bool ok = true;
    f->out->begin[step] = (int)f->out->steps.count;
    for (int i = 0; ok && i < node->input_count; i++)
        if (inputs[i]) ok = read_tensor(f, step, inputs[i]);
    for (int i = 0; ok && i < node->input_count; i++)
        if (inputs[i] && wk_op_writes_input(node->op, i)) ok = write_tensor(f, step, inputs[i]);
    for (int i = 0; ok && i < node->output_count; i++)
        ok = write_tensor(f, step, node->outputs + i);
    return ok;
}

bool wk_dependencies_find(const wk_plan *plan, wk_dependencies *out)
{
    size_t tensors = plan->graph->tensors.count, count = plan->node_count;
    *out = (wk_dependencies){.begin = malloc((count + 1) * sizeof *out->begin)};
    finder f = {plan, out, malloc(tensors * sizeof *f.same), calloc(tensors, sizeof *f.touched),
                malloc((count + 1) * sizeof *f.seen)};
    bool ok = out->begin && f.same && f.touched && f.seen;
    if (ok) find_same(&f);
    for (size_t i = 0; ok && i < tensors; i++)
        f.touched[i].writer = -1;
    for (size_t i = 0; ok && i < count; i++)
        f.seen[i] = -1;
    for (int step = 0; ok && step < (int)count; step++)
        ok = add_step(&f, step);
    if (ok) out->begin[count] = (int)out->steps.count;
    for (size_t i = 0; f.touched && i < tensors; i++)
        wk_array_free(&f.touched[i].readers);
    free(f.same);
    free(f.touched);
    free(f.seen);
    return ok;
}

void wk_dependencies_free(wk_dependencies *dependencies)
{
    free(dependencies->begin);
    wk_array_free(&dependencies->steps);
}
