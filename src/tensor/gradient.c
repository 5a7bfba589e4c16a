// Reverse mode. One sweep over the nodes in reverse order: when a node is reached, every use of its
// output has already contributed to the output's gradient; the contributions are combined and the
// node's rule propagates them. Contributions are kept as recorded pieces until then, because pieces
// of one kind combine better than by plain addition: parts of a tensor fit together by
// concatenation, and the products of an unrolled recurrence by one product over all steps.
#include "tensor/node.h"
#include "tensor/shape.h"

#include <assert.h>
#include <stdlib.h>

typedef enum piece_kind { WHOLE, PART, PRODUCT, COLUMN_SUM } piece_kind;

typedef struct piece {
    piece_kind kind;
    wk_tensor a, b;  // the gradient; of a product both factors
    int axis, start; // of a part
    int next;        // in the same tensor's list, or -1
} piece;

// Rows that were joined once may be wanted again: the same dy serves a weight and its bias.
typedef struct joint {
    size_t first, count; // of reverse_pass.joined
    wk_tensor result;
} joint;

typedef WK_ARRAY(wk_tensor) tensor_list;
typedef WK_ARRAY(piece) piece_list;

typedef struct reverse_pass {
    wk_graph *g;
    size_t tensors;     // when the sweep began
    bool *wanted;       // by tensor: leads from a parameter
    int *pieces_of;     // by tensor: its newest piece, or -1
    wk_tensor *results; // by tensor: its whole gradient, once put together
    piece_list pieces;
    tensor_list joined;
    WK_ARRAY(joint) joints;
} reverse_pass;

// Up to this many rows products and column sums are joined; beyond it each is large enough.
enum { JOINED_ROWS = 256 };

// One node in the reverse sweep. Its rule is called after the gradient of its first output is
// complete; it records nodes and adds each wanted input's contribution.
typedef struct backward {
    wk_graph *g;
    reverse_pass *sweep;
    wk_node node;
    wk_tensor dy; // gradient of output 0
} backward;

static wk_tensor input(const backward *b, int i)
{
    return (wk_tensor){i < b->node.input_count ? wk_node_inputs(b->g, &b->node)[i] : 0};
}

static wk_shape input_shape(const backward *b, int i)
{
    return wk_graph_shape(b->g, input(b, i));
}

static wk_tensor output(const backward *b, int i)
{
    return (wk_tensor){b->node.outputs + i};
}

// Whether input i is given and leads to a parameter.
static bool wants(const backward *b, int i)
{
    wk_tensor x = input(b, i);
    return wk_tensor_exists(x) && b->sweep->wanted[x.id];
}

static void add_piece(reverse_pass *s, int tensor, piece p)
{
    p.next = s->pieces_of[tensor];
    if (!wk_array_push(&s->pieces, p)) {
        s->g->failed = true;
        return;
    }
    s->pieces_of[tensor] = (int)s->pieces.count - 1;
}

// Adds a piece of the gradient of input i.
static void add(backward *b, int i, piece p)
{
    if (!b->g->failed && wants(b, i)) add_piece(b->sweep, input(b, i).id, p);
}

// Adds a gradient with as many elements as input i.
static void add_whole(backward *b, int i, wk_tensor gradient)
{
    if (b->g->failed || !wants(b, i)) return;
    add(b, i, (piece){.kind = WHOLE, .a = wk_graph_reshape(b->g, gradient, input_shape(b, i))});
}

static void push(reverse_pass *s, tensor_list *list, wk_tensor x)
{
    if (!wk_array_push(list, x)) s->g->failed = true;
}

static bool same_place(const wk_graph *g, wk_tensor a, wk_tensor b)
{
    const wk_tensor_info *x = wk_info(g, a.id), *y = wk_info(g, b.id);
    return x->root == y->root && x->offset == y->offset &&
           wk_shape_count(x->type.shape) == wk_shape_count(y->type.shape);
}

// An earlier result of join_rows for the same rows, or no tensor.
static wk_tensor find_joint(const reverse_pass *s, const wk_tensor *x, size_t count)
{
    for (size_t i = 0; i < s->joints.count; i++) {
        const joint *j = &s->joints.items[i];
        size_t same = 0;
        while (j->count == count && same < count &&
               same_place(s->g, s->joined.items[j->first + same], x[same]))
            same++;
        if (same == count) return j->result;
    }
    return (wk_tensor){0};
}

// Whether the tensors follow each other in one root, so that joining them is only a view.
static bool in_sequence(const wk_graph *g, const wk_tensor *x, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const wk_tensor_info *a = wk_info(g, x[i - 1].id), *b = wk_info(g, x[i].id);
        if (a->root != b->root || a->offset + wk_shape_count(a->type.shape) != b->offset)
            return false;
    }
    return true;
}

static wk_tensor view_sequence(wk_graph *g, wk_tensor first, wk_shape shape)
{
    const wk_tensor_info *info = wk_info(g, first.id);
    wk_tensor root = {info->root};
    int offset = (int)info->offset;
    wk_shape flat = WK_SHAPE((int)wk_shape_count(wk_graph_shape(g, root)));
    wk_tensor x = wk_graph_reshape(g, root, flat);
    x = wk_graph_slice(g, x, 0, offset, (int)wk_shape_count(shape));
    return wk_graph_reshape(g, x, shape);
}

// Matrices [m,C] one below the other.
static wk_tensor join_rows(reverse_pass *s, const wk_tensor *x, size_t count)
{
    wk_tensor result = find_joint(s, x, count);
    if (count == 1 || wk_tensor_exists(result) || s->g->failed) return count == 1 ? x[0] : result;
    size_t first = s->joined.count;
    for (size_t i = 0; i < count; i++)
        push(s, &s->joined, x[i]);
    if (in_sequence(s->g, x, count)) {
        wk_shape shape = wk_graph_shape(s->g, x[0]);
        shape.dim[0] = 0;
        for (size_t i = 0; i < count; i++)
            shape.dim[0] += wk_graph_shape(s->g, x[i]).dim[0];
        result = view_sequence(s->g, x[0], shape);
    } else {
        result = wk_graph_concat(s->g, x, count, 0);
    }
    if (!wk_array_push(&s->joints, (joint){first, count, result})) s->g->failed = true;
    return result;
}

static bool joinable(const wk_graph *g, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(g, x);
    return shape.rank == 2 && shape.dim[0] <= JOINED_ROWS;
}

// A tensor's pieces of one kind, the last recorded first, which is forward order.
static void collect(const reverse_pass *s, int tensor, piece_kind kind, piece_list *out)
{
    out->count = 0;
    for (int i = s->pieces_of[tensor]; i >= 0; i = s->pieces.items[i].next) {
        if (s->pieces.items[i].kind != kind) continue;
        if (!wk_array_push(out, s->pieces.items[i])) s->g->failed = true;
    }
}

// The sum of all products: those over few rows joined, the others added up one by one.
static void combine_products(reverse_pass *s, const piece_list *pieces, tensor_list *whole)
{
    tensor_list x = {0}, dy = {0};
    wk_tensor sum = {0};
    for (size_t i = 0; i < pieces->count && !s->g->failed; i++) {
        const piece *p = &pieces->items[i];
        if (joinable(s->g, p->a) && joinable(s->g, p->b)) {
            push(s, &x, p->a);
            push(s, &dy, p->b);
        } else {
            sum = wk_graph_matmul_general(s->g, p->a, p->b, true, false, false, sum);
        }
    }
    if (x.count > 0 && !s->g->failed)
        sum = wk_graph_matmul_general(s->g, join_rows(s, x.items, x.count),
                                      join_rows(s, dy.items, dy.count), true, false, false, sum);
    if (pieces->count > 0) push(s, whole, sum);
    wk_array_free(&x);
    wk_array_free(&dy);
}

static wk_tensor column_sum(wk_graph *g, wk_tensor dx, int stack)
{
    return WK_EMIT(g, column_sum, (wk_attrs){.stack = stack}, dx);
}

static void combine_column_sums(reverse_pass *s, const piece_list *pieces, int stack,
                                tensor_list *whole)
{
    tensor_list few = {0};
    for (size_t i = 0; i < pieces->count && !s->g->failed; i++) {
        wk_tensor dx = pieces->items[i].a;
        if (stack == 1 && joinable(s->g, dx))
            push(s, &few, dx);
        else
            push(s, whole, column_sum(s->g, dx, stack));
    }
    if (few.count > 0 && !s->g->failed)
        push(s, whole, column_sum(s->g, join_rows(s, few.items, few.count), 1));
    wk_array_free(&few);
}

static int by_place(const void *a, const void *b)
{
    const piece *x = a, *y = b;
    if (x->axis != y->axis) return x->axis < y->axis ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->a.id > y->a.id) - (x->a.id < y->a.id);
}

// Takes from the sorted pieces those that do not overlap and lays them side by side; the others
// move to the front for another layer. Returns how many are left.
static size_t lay_out(reverse_pass *s, piece *pieces, size_t count, wk_shape shape,
                      tensor_list *whole)
{
    tensor_list layer = {0};
    WK_ARRAY(int) starts = {0};
    size_t left = 0;
    int axis = pieces[0].axis, end = 0, covered = 0;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].axis != axis || pieces[i].start < end) {
            pieces[left++] = pieces[i];
            continue;
        }
        int length = wk_graph_shape(s->g, pieces[i].a).dim[axis];
        end = pieces[i].start + length;
        covered += length;
        push(s, &layer, pieces[i].a);
        if (!wk_array_push(&starts, pieces[i].start)) s->g->failed = true;
    }
    if (!s->g->failed)
        push(s, whole,
             wk_graph_assemble(s->g, layer.items, starts.items, layer.count, axis, shape.dim[axis],
                               covered < shape.dim[axis]));
    wk_array_free(&layer);
    wk_array_free(&starts);
    return left;
}

static void combine_parts(reverse_pass *s, piece_list *pieces, wk_shape shape, tensor_list *whole)
{
    if (pieces->count == 0) return;
    qsort(pieces->items, pieces->count, sizeof *pieces->items, by_place);
    size_t left = pieces->count;
    while (left > 0 && !s->g->failed)
        left = lay_out(s, pieces->items, left, shape, whole);
}

// Puts a tensor's pieces together; no tensor if it has none.
static wk_tensor complete(reverse_pass *s, int tensor)
{
    if (s->pieces_of[tensor] < 0 || s->g->failed) return s->results[tensor];
    wk_shape shape = wk_info(s->g, tensor)->type.shape;
    piece_list pieces = {0};
    tensor_list whole = {0};
    collect(s, tensor, WHOLE, &pieces);
    for (size_t i = 0; i < pieces.count; i++)
        push(s, &whole, pieces.items[i].a);
    collect(s, tensor, PART, &pieces);
    combine_parts(s, &pieces, shape, &whole);
    collect(s, tensor, PRODUCT, &pieces);
    combine_products(s, &pieces, &whole);
    collect(s, tensor, COLUMN_SUM, &pieces);
    combine_column_sums(s, &pieces, wk_row_stack(shape), &whole);
    for (size_t i = 0; i < whole.count && !s->g->failed; i++)
        whole.items[i] = wk_graph_reshape(s->g, whole.items[i], shape);
    if (!s->g->failed) s->results[tensor] = wk_graph_add_n(s->g, whole.items, whole.count);
    s->pieces_of[tensor] = -1;
    wk_array_free(&pieces);
    wk_array_free(&whole);
    return s->results[tensor];
}

// The rule of every differentiable op of ops.def.

static void gradient_reshape(backward *b)
{
    add_whole(b, 0, b->dy);
}

static void gradient_slice(backward *b)
{
    add(b, 0,
        (piece){.kind = PART,
                .a = b->dy,
                .axis = b->node.attrs.slice.axis,
                .start = b->node.attrs.slice.start});
}

static void gradient_concat(backward *b)
{
    int axis = b->node.attrs.concat.axis;
    for (int i = 0; i < b->node.input_count; i++) {
        if (!wants(b, i)) continue;
        int start = b->g->extents.items[b->node.attrs.concat.starts + i];
        add_whole(b, i, wk_graph_slice(b->g, b->dy, axis, start, input_shape(b, i).dim[axis]));
    }
}

static void gradient_repeat(backward *b)
{
    wk_attrs attrs = {.reduce = {.axis = b->node.attrs.repeat.axis,
                                 .axes = 1,
                                 .scale = b->node.attrs.repeat.scale}};
    add_whole(b, 0, WK_EMIT(b->g, reduce, attrs, b->dy));
}

static void gradient_add(backward *b)
{
    add_whole(b, 0, b->dy);
    add_whole(b, 1, b->dy);
}

static void gradient_mul(backward *b)
{
    if (wants(b, 0)) add_whole(b, 0, wk_graph_mul(b->g, b->dy, input(b, 1)));
    if (wants(b, 1)) add_whole(b, 1, wk_graph_mul(b->g, b->dy, input(b, 0)));
}

static void gradient_add_n(backward *b)
{
    for (int i = 0; i < b->node.input_count; i++)
        add_whole(b, i, b->dy);
}

static void gradient_affine(backward *b)
{
    add_whole(b, 0, wk_graph_affine(b->g, b->dy, b->node.attrs.affine.scale, 0));
}

static void gradient_clamp_min(backward *b)
{
    add_whole(b, 0, WK_EMIT(b->g, clamp_min_grad, b->node.attrs, b->dy, input(b, 0)));
}

static void gradient_scale_rows(backward *b)
{
    assert(!wants(b, 1) && "scale_rows: weights have no gradient");
    add_whole(b, 0, wk_graph_scale_rows(b->g, b->dy, input(b, 1)));
}

static void gradient_reduce(backward *b)
{
    wk_split split =
        wk_shape_split(input_shape(b, 0), b->node.attrs.reduce.axis, b->node.attrs.reduce.axes);
    wk_attrs attrs = {
        .repeat = {.axis = 1, .copies = (int)split.length, .scale = b->node.attrs.reduce.scale}};
    wk_tensor dy = wk_graph_reshape(b->g, b->dy, WK_SHAPE((int)split.outer, (int)split.inner));
    add_whole(b, 0, WK_EMIT(b->g, repeat, attrs, dy));
}

// A stack of matrices [S,M,N] as one [S*M,N].
static wk_tensor flat_rows(wk_graph *g, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(g, x);
    if (shape.rank == 2) return x;
    int columns = shape.dim[shape.rank - 1];
    return wk_graph_reshape(g, x,
                            WK_SHAPE((int)(wk_shape_count(shape) / (size_t)columns), columns));
}

static void gradient_matmul(backward *b)
{
    wk_tensor x = input(b, 0), w = input(b, 1);
    assert(!b->node.attrs.matmul.transpose_a && !b->node.attrs.matmul.transpose_b &&
           !b->node.attrs.matmul.reduce && "only the plain product is differentiable");
    if (wants(b, 2)) add_whole(b, 2, b->dy);
    wk_matmul_sizes z = wk_matmul_measure(input_shape(b, 0), input_shape(b, 1), false, false);
    if (wants(b, 0)) {
        bool reduce = z.shared_a && z.stack > 1;
        add_whole(b, 0,
                  wk_graph_matmul_general(b->g, b->dy, w, false, true, reduce, (wk_tensor){0}));
    }
    if (!wants(b, 1)) return;
    if (z.shared_b)
        add(b, 1, (piece){.kind = PRODUCT, .a = flat_rows(b->g, x), .b = flat_rows(b->g, b->dy)});
    else
        add(b, 1, (piece){.kind = PRODUCT, .a = x, .b = b->dy});
}

// Through act(x + bias): adds the gradient of the bias and returns that of x.
static wk_tensor through_bias_act(backward *b, int bias, wk_activation activation)
{
    int stack = wants(b, bias) ? wk_row_stack(input_shape(b, bias)) : 1;
    wk_attrs attrs = {.bias_act = {.activation = activation, .stack = stack}};
    wk_tensor y = output(b, 0), dx = b->dy;
    wk_shape shape = wk_graph_shape(b->g, y);
    size_t rows = wk_shape_count(shape) / (size_t)shape.dim[shape.rank - 1];
    bool fused = activation != WK_IDENTITY && wants(b, bias) && (rows > JOINED_ROWS || stack > 1);
    if (fused) {
        dx = WK_EMIT(b->g, bias_act_grad, attrs, b->dy, y);
        add_whole(b, bias, wk_graph_sibling(b->g, dx, 1));
        return dx;
    }
    if (activation != WK_IDENTITY) dx = WK_EMIT(b->g, act_grad, attrs, b->dy, y);
    if (wants(b, bias))
        add(b, bias, (piece){.kind = COLUMN_SUM, .a = stack == 1 ? flat_rows(b->g, dx) : dx});
    return dx;
}

static void gradient_bias_act(backward *b)
{
    add_whole(b, 0, through_bias_act(b, 1, b->node.attrs.bias_act.activation));
}

// Of both kinds of convolution; `transposed`: x is the small image. The image's gradient comes
// last, next to the layer before, which may multiply it by its slope.
static void add_conv_gradients(backward *b, bool transposed)
{
    wk_tensor x = input(b, 0), w = input(b, 1);
    wk_attrs attrs = {.conv = {.stride = b->node.attrs.conv.stride}};
    wk_tensor dy = through_bias_act(b, 2, b->node.attrs.conv.activation);
    wk_tensor large = transposed ? dy : x, small = transposed ? x : dy;
    attrs.conv.shape = input_shape(b, 1);
    if (wants(b, 1)) add_whole(b, 1, WK_EMIT(b->g, conv_dw, attrs, large, small));
    attrs.conv.shape = input_shape(b, 0);
    if (wants(b, 0))
        add_whole(b, 0,
                  transposed ? WK_EMIT(b->g, deconv_dx, attrs, dy, w)
                             : WK_EMIT(b->g, conv_dx, attrs, dy, w));
}

static void gradient_conv(backward *b)
{
    add_conv_gradients(b, false);
}

static void gradient_deconv(backward *b)
{
    add_conv_gradients(b, true);
}

static void gradient_gru(backward *b)
{
    wk_attrs attrs = b->node.attrs;
    attrs.norm.params = wants(b, 1) || wants(b, 2) || wants(b, 3);
    wk_tensor dpre = WK_EMIT(b->g, gru_grad, attrs, input(b, 0), input(b, 1), input(b, 2),
                             input(b, 3), input(b, 4), output(b, 1), b->dy);
    static const int input_of[] = {0, 4, 1, 2, 3}; // of each output
    for (int i = 0; i < 5; i++)
        add_whole(b, input_of[i], wk_graph_sibling(b->g, dpre, i));
}

static void gradient_softmax(backward *b)
{
    wk_tensor y = output(b, 0);
    add_whole(b, 0, WK_EMIT(b->g, softmax_grad, (wk_attrs){0}, y, b->dy));
}

static void gradient_sample_onehot(backward *b)
{
    wk_tensor probabilities = output(b, 1);
    add_whole(b, 0, WK_EMIT(b->g, softmax_grad, (wk_attrs){0}, probabilities, b->dy));
}

static void gradient_kl(backward *b)
{
    wk_tensor p = input(b, 0), q = input(b, 1);
    if (wants(b, 0)) add_whole(b, 0, WK_EMIT(b->g, kl_dp, (wk_attrs){0}, p, q, b->dy));
    if (wants(b, 1)) add_whole(b, 1, WK_EMIT(b->g, kl_dq, (wk_attrs){0}, p, q, b->dy));
}

static void gradient_truncated_normal_sample(backward *b)
{
    add_whole(b, 0,
              WK_EMIT(b->g, truncated_normal_sample_grad, b->node.attrs, input(b, 0), input(b, 1),
                      b->dy));
}

static void gradient_truncated_normal_entropy(backward *b)
{
    add_whole(b, 0,
              WK_EMIT(b->g, truncated_normal_entropy_grad, (wk_attrs){0}, input(b, 0), b->dy));
}

static void gradient_half_squared_error(backward *b)
{
    if (!wants(b, 0)) return;
    add_whole(
        b, 0,
        WK_EMIT(b->g, half_squared_error_grad, b->node.attrs, input(b, 0), input(b, 1), b->dy));
}

static void gradient_lambda_return(backward *b)
{
    wk_tensor dreward = WK_EMIT(b->g, lambda_return_grad, b->node.attrs, b->dy);
    add_whole(b, 0, dreward);
    add_whole(b, 1, wk_graph_sibling(b->g, dreward, 1));
}

static void gradient_disagreement(backward *b)
{
    add_whole(b, 0, WK_EMIT(b->g, disagreement_grad, b->node.attrs, input(b, 0), b->dy));
}

typedef void rule(backward *b);

static rule *const rules[WK_OP_COUNT] = {
#define DIFFERENTIABLE(name) [WK_OP_##name] = gradient_##name,
#define CONSTANT(name)
#define ONCE(name)
#define OP(name, min_inputs, max_inputs, outputs, gradient, traits) gradient(name)
#include "tensor/ops.def"
#undef OP
#undef DIFFERENTIABLE
#undef CONSTANT
#undef ONCE
};

// Whether reverse mode takes the results of an op for constants.
static bool stops(wk_op op)
{
    return wk_op_table[op].gradient == WK_GRADIENT_CONSTANT;
}

static bool sweep_init(reverse_pass *s, wk_graph *g)
{
    *s = (reverse_pass){.g = g, .tensors = g->tensors.count};
    s->wanted = calloc(s->tensors, sizeof *s->wanted);
    s->pieces_of = malloc(s->tensors * sizeof *s->pieces_of);
    s->results = calloc(s->tensors, sizeof *s->results);
    if (!s->wanted || !s->pieces_of || !s->results) return false;
    for (size_t i = 0; i < s->tensors; i++)
        s->pieces_of[i] = -1;
    return true;
}

static void sweep_free(reverse_pass *s)
{
    free(s->wanted);
    free(s->pieces_of);
    free(s->results);
    wk_array_free(&s->pieces);
    wk_array_free(&s->joined);
    wk_array_free(&s->joints);
}

static bool leads_from_wanted(const reverse_pass *s, const wk_node *node)
{
    const int *inputs = wk_node_inputs(s->g, node);
    for (int i = 0; i < node->input_count; i++)
        if (s->wanted[inputs[i]]) return true;
    return false;
}

static void mark_wanted(reverse_pass *s, const wk_tensor *params, size_t count, int last)
{
    for (size_t i = 0; i < count; i++)
        s->wanted[params[i].id] = true;
    for (int n = 0; n <= last; n++) {
        const wk_node *node = &s->g->nodes.items[n];
        if (stops(node->op) || !leads_from_wanted(s, node)) continue;
        for (int i = 0; i < node->output_count; i++)
            s->wanted[node->outputs + i] = true;
    }
}

// A rule reads the node's inputs again: they must still hold what the node saw.
static void check_unwritten(const wk_graph *g, int index)
{
    const wk_node *node = &g->nodes.items[index];
    for (int i = 0; i < node->input_count; i++) {
        int root = wk_info(g, wk_node_inputs(g, node)[i])->root;
        assert(wk_info(g, root)->writer <= index &&
               "an input of a differentiated node was written after it");
        (void)root;
    }
}

static void visit(reverse_pass *s, int index)
{
    const wk_node node = s->g->nodes.items[index];
    if (node.output_count == 0 || s->pieces_of[node.outputs] < 0) return;
    s->g->section = node.section;
    backward b = {s->g, s, node, complete(s, node.outputs)};
    if (s->g->failed || !leads_from_wanted(s, &node) || stops(node.op)) return;
    assert(rules[node.op] && "this op has no gradient");
    check_unwritten(s->g, index);
    rules[node.op](&b);
}

void wk_graph_gradients(wk_graph *g, wk_tensor loss, const wk_tensor *params, size_t count,
                        wk_tensor *grads)
{
    for (size_t i = 0; i < count; i++)
        grads[i] = (wk_tensor){0};
    if (g->failed) return;
    assert(wk_shape_count(wk_graph_shape(g, loss)) == 1 && "a loss has one element");
    int section = g->section;
    reverse_pass s;
    if (sweep_init(&s, g)) {
        int last = wk_info(g, loss.id)->producer;
        mark_wanted(&s, params, count, last);
        wk_tensor one = wk_graph_fill(g, wk_graph_shape(g, loss), 1);
        add_piece(&s, loss.id, (piece){.kind = WHOLE, .a = one});
        for (int n = last; n >= 0 && !g->failed; n--)
            visit(&s, n);
        for (size_t i = 0; i < count && !g->failed; i++) {
            grads[i] = complete(&s, params[i].id);
            if (!wk_tensor_exists(grads[i]))
                grads[i] = wk_graph_fill(g, wk_graph_shape(g, params[i]), 0);
        }
    } else {
        g->failed = true;
    }
    sweep_free(&s);
    g->section = section;
}
