// Which products in a row are the layers of a perceptron that one kernel does (hopper_layers.cuh):
// an actor in a step of imagination, from the features to the action. Its inner results must have
// no other readers, as they are nowhere but in shared memory.
#include "tensor/cuda/calls.cuh"
#include "tensor/cuda/hopper_layers.cuh"

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
           act->node->attrs.bias_act.activation == WK_ELU && wk_call_aligned(product, 1, 32) &&
           wk_call_aligned(act, 1, 16) && wk_call_root(act, 0) == product->node->outputs;
}

// The first product of the layers that end in a head; `layers` of them.
static wk_cuda_call *find_first(wk_cuda_call *calls, wk_cuda_call *head, int *layers)
{
    wk_cuda_call *first = head;
    wk_cuda_product last = wk_cuda_product_of(head);
    *layers = 0;
    while (first - calls >= 2 && *layers < WK_LAYERS_MOST && is_layer(first - 2, first - 1, head) &&
           wk_call_root(first, 0) == first[-1].node->outputs) {
        wk_cuda_product p = wk_cuda_product_of(first - 2);
        if (p.stacks != last.stacks || p.m != last.m || p.n != last.k) break;
        first -= 2;
        ++*layers;
    }
    return first;
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
        if (l.layer[i].bias) l.layer[i].stride_bias = wk_call_bias_stride(act, 1, p.n);
    }
    l.results = h.n;
    l.head = wk_call_in(head, 1);
    l.stride_head = h.stride_b;
    l.head_bias = wk_call_in(head + 1, 1);
    l.stride_head_bias = wk_call_bias_stride(head + 1, 1, h.n);
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
static bool fits(const wk_cuda_call *first, const wk_cuda_call *head)
{
    wk_cuda_product p = wk_cuda_product_of(first), h = wk_cuda_product_of(head);
    size_t blocks = wk_hopper_layers_blocks(p.stacks, p.m, p.n, h.n);
    return blocks > 0 && blocks <= (size_t)first->processors && !h.transpose_b &&
           (h.stacks == 1 || h.stride_b) && wk_call_aligned(first, 0, 32);
}

static bool can_join(const wk_cuda_run *r, const wk_cuda_call *head)
{
    for (const wk_cuda_call *inner = r->first; inner < head; inner++)
        if (wk_run_is_read(r, inner)) return false;
    // The bias takes the place of the sums.
    const wk_cuda_call *written[] = {head + 1, r->last};
    return !wk_run_overlaps(r, written, r->last > head + 1 ? 2 : 1);
}

void wk_cuda_merge_layers(wk_cuda_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wk_cuda_call *head = &calls[i];
        bool candidate = head->hopper && head->node->op == WK_OP_matmul && !head->skipped &&
                         !head->layers && head->merged > 0;
        if (!candidate) continue;
        int layers = 0;
        wk_cuda_run run = {calls, count, find_first(calls, head, &layers), head + head->merged};
        if (layers == 0 || !fits(run.first, head) || !can_join(&run, head)) continue;
        run.first->layers = layers;
        run.first->known = wk_run_is_known(&run);
        wk_run_join(&run);
    }
}
