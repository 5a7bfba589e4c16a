// Which products in a row are the layers of a perceptron that one kernel does (hopper_layers.cuh):
// an actor in a step of imagination, from the features to the action. Its inner results must have
// no other readers, as they are nowhere but in shared memory.
#include "tensor/cuda/hopper_layers.cuh"
#include "tensor/cuda/lane.cuh"

static int root_of(const wk_cuda_call *c, int input)
{
    return wk_info(c->g, wk_node_inputs(c->g, c->node)[input])->root;
}

static bool is_aligned(const wk_cuda_call *c, int input, uintptr_t bytes)
{
    return (uintptr_t)wk_call_in(c, input) % bytes == 0;
}

// Whether two calls in a row are a product and the bias and ELU that make it a layer.
static bool is_layer(const wk_cuda_call *product, const wk_cuda_call *act, const wk_cuda_call *head)
{
    if (product->node->op != WK_OP_matmul || act->node->op != WK_OP_bias_act) return false;
    wk_cuda_product p = wk_cuda_product_of(product);
    bool own = !product->chained && !product->merged && !product->before && !product->skipped &&
               !act->chained && (product->tail == act || (!product->tail && !act->skipped));
    return own && product->lane == head->lane && act->lane == head->lane &&
           product->node->input_count == 2 && !p.transpose_a && !p.transpose_b &&
           (p.stacks == 1 || (p.stride_b && p.stride_c)) &&
           act->node->attrs.bias_act.activation == WK_ELU && is_aligned(product, 1, 32) &&
           is_aligned(act, 1, 16) && root_of(act, 0) == product->node->outputs;
}

// The first product of the layers that end in a head; `layers` of them.
static wk_cuda_call *find_first(wk_cuda_call *calls, wk_cuda_call *head, int *layers)
{
    wk_cuda_call *first = head;
    wk_cuda_product last = wk_cuda_product_of(head);
    *layers = 0;
    while (first - calls >= 2 && *layers < WK_LAYERS_MOST && is_layer(first - 2, first - 1, head) &&
           root_of(first, 0) == first[-1].node->outputs) {
        wk_cuda_product p = wk_cuda_product_of(first - 2);
        if (p.stacks != last.stacks || p.m != last.m || p.n != last.k) break;
        if (*layers > 0 && wk_cuda_product_of(first).k != p.n) break;
        first -= 2;
        ++*layers;
    }
    return first;
}

// Whether somebody outside the calls reads what they keep to themselves: all but the choice and the
// action of the head.
static bool is_read_outside(const wk_cuda_call *calls, size_t count, const wk_cuda_call *first,
                            const wk_cuda_call *head)
{
    for (const wk_cuda_call *inner = first; inner < head; inner++)
        if (wk_info(inner->g, inner->node->outputs)->output) return true;
    for (const wk_cuda_call *c = calls; c < calls + count; c++) {
        if (c >= first && c <= head) continue;
        for (int i = 0; i < c->node->input_count; i++)
            for (const wk_cuda_call *inner = first; inner < head; inner++)
                if (root_of(c, i) == inner->node->outputs) return true;
    }
    return false;
}

static bool overlap(const void *a, size_t size_a, const void *b, size_t size_b)
{
    return (const char *)a < (const char *)b + size_b && (const char *)b < (const char *)a + size_a;
}

// Whether a result of the head lies where a layer still reads.
static bool writes_inputs(const wk_cuda_call *first, const wk_cuda_call *head)
{
    for (const wk_cuda_call *to = head; to <= head + head->merged; to++)
        for (const wk_cuda_call *from = first; from <= head + head->merged; from++)
            for (int i = 0; i < from->node->input_count; i++) {
                int tensor = wk_node_inputs(from->g, from->node)[i];
                bool inner = false;
                for (const wk_cuda_call *c = first; c <= head + head->merged; c++)
                    inner |= wk_info(c->g, tensor)->root == c->node->outputs;
                if (!inner && from->in[i] &&
                    overlap(from->in[i], wk_type_size(wk_info(from->g, tensor)->type), to->out[0],
                            wk_call_count(to) * sizeof(float)))
                    return true;
            }
    return false;
}

static size_t bias_stride(const wk_cuda_call *c, int input, size_t n)
{
    return wk_shape_count(wk_call_input_shape(c, input)) > n ? n : 0;
}

// Sizes and places of everything but bf16 operands.
static wk_hopper_layers layers_of(const wk_cuda_call *c)
{
    const wk_cuda_call *head = c + 2 * c->layers;
    wk_cuda_product p = wk_cuda_product_of(c), h = wk_cuda_product_of(head);
    wk_hopper_layers l = {};
    l.stacks = p.stacks;
    l.m = p.m;
    l.k = p.k;
    l.units = p.n;
    l.count = c->layers;
    for (int i = 0; i < c->layers; i++) {
        const wk_cuda_call *act = c + 2 * i + 1;
        l.layer[i].bias = wk_call_in(act, 1);
        if (l.layer[i].bias) l.layer[i].stride_bias = bias_stride(act, 1, p.n);
    }
    l.results = h.n;
    l.head = wk_call_in(head, 1);
    l.stride_head = h.stride_b;
    l.head_bias = wk_call_in(head + 1, 1);
    l.stride_head_bias = bias_stride(head + 1, 1, h.n);
    l.choice = wk_call_out(head + 1, 0);
    l.known = c->known;
    if (c->merged < 2 * (unsigned)c->layers + 2) return l;
    l.action = wk_call_out(head + 2, 0);
    l.key = head[2].node->attrs.random.key;
    l.counter = head[2].in[1];
    return l;
}

static void add_operands(const wk_cuda_call *c, wk_hopper_layers *l)
{
    for (int i = 0; i < c->layers; i++) {
        const wk_cuda_call *product = c + 2 * i;
        wk_cuda_product p = wk_cuda_product_of(product);
        const char *w = (const char *)product->in[1];
        size_t count = p.stride_b ? p.stacks : 1;
        l->known &= wk_cuda_is_fresh(c->lane, {w, w + count * p.k * p.n * sizeof(float)});
        l->layer[i].w =
            wk_cuda_half_rows(product, wk_call_in(product, 1), count * p.k, p.n, &l->layer[i].row);
        l->layer[i].stride = p.stride_b && p.stacks > 1 ? p.k * l->layer[i].row : 0;
    }
    wk_cuda_product p = wk_cuda_product_of(c);
    size_t count = p.stride_a ? p.stacks : 1;

    l->x = wk_cuda_half_rows(c, wk_call_in(c, 0), count * p.m, p.k, &l->row_x);
    l->stride_x = p.stride_a && p.stacks > 1 ? p.m * l->row_x : 0;
}

void wk_cuda_run_layers(const wk_cuda_call *c)
{
    wk_hopper_layers l = layers_of(c);
    add_operands(c, &l);
    bool done = wk_hopper_run_layers(c, &l);
    if (!done && !c->lane->status) c->lane->status = CUBLAS_STATUS_NOT_SUPPORTED;
}

// Clusters beyond what the device holds at once run one after the other, which takes longer than
// products of many rows.
static bool is_small(const wk_cuda_call *c, const wk_cuda_product *p)
{
    enum { ROWS = 64, COLS = 80 };
    size_t clusters = p->stacks * ((p->m + ROWS - 1) / ROWS);
    return clusters * ((p->n + COLS - 1) / COLS) <= (size_t)c->processors;
}

// Whether a call before has the same layers and nobody writes weights in between.
static bool is_known(const wk_cuda_call *calls, const wk_cuda_call *first)
{
    for (const wk_cuda_call *c = first; c-- > calls;) {
        if (wk_op_writes(c->node->op)) return false;
        if (c->layers == first->layers && c->in[1] == first->in[1] && c->lane == first->lane)
            return true;
    }
    return false;
}

static bool fits(const wk_cuda_call *first, const wk_cuda_call *head)
{
    wk_cuda_product p = wk_cuda_product_of(first), h = wk_cuda_product_of(head);
    return is_small(first, &p) && h.k == p.n && !h.transpose_b && (h.stacks == 1 || h.stride_b) &&
           p.n % 16 == 0 && p.n <= WK_LAYERS_UNITS && h.n <= WK_LAYERS_RESULTS &&
           is_aligned(first, 0, 32);
}

static void join(wk_cuda_call *first, wk_cuda_call *head, int layers)
{
    first->layers = layers;
    first->merged = (unsigned)(head - first) + head->merged;
    for (wk_cuda_call *c = first; c <= head + head->merged; c++) {
        c->skipped = c != first;
        c->tail = NULL;
    }
}

void wk_cuda_merge_layers(wk_cuda_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wk_cuda_call *head = &calls[i];
        bool candidate = head->hopper && head->node->op == WK_OP_matmul && !head->skipped &&
                         !head->layers && head->merged > 0;
        if (!candidate) continue;
        int layers = 0;
        wk_cuda_call *first = find_first(calls, head, &layers);
        if (layers == 0 || !fits(first, head) || is_read_outside(calls, count, first, head) ||
            writes_inputs(first, head))
            continue;
        join(first, head, layers);
        first->known = is_known(calls, first);
    }
}
