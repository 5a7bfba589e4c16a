// Fuses products with their epilogue (bias, activation or slope) and with the product whose result
// is added, for the kernels of gemm.cuh.
#include "tensor/cuda/hopper/gemm.cuh"
#include "tensor/cuda/runtime/stream_context.cuh"

enum {
    ROW_UNIT = 8,     // bf16 numbers in 16 bytes
    TERMS_MAX = 1024, // beyond, a library's product and a pass over its result take less time
    FEW_TERMS = 16,   // a product of so few terms is fused with another
};

static wk_hopper_term term_of(const wk_cuda_call *c, const wk_cuda_product *p)
{
    wk_hopper_term t = {};
    size_t rows_b = p->transpose_b ? p->n : p->k, cols_b = p->transpose_b ? p->k : p->n;
    size_t count_a = p->stride_a ? p->stacks : 1, count_b = p->stride_b ? p->stacks : 1;
    t.k = p->k;
    t.a = wk_cuda_half_rows(c, wk_call_in(c, 0), count_a * p->m, p->k, &t.row_a);
    t.b = wk_cuda_half_rows(c, wk_call_in(c, 1), count_b * rows_b, cols_b, &t.row_b);
    t.stride_a = count_a > 1 ? p->m * t.row_a : 0;
    t.stride_b = count_b > 1 ? rows_b * t.row_b : 0;
    return t;
}

// What the tail does with the product's result.
static void add_tail(const wk_cuda_call *tail, wk_hopper_product *p)
{
    wk_activation activation = tail->node->attrs.bias_act.activation;
    if (tail->node->op == WK_OP_act_grad) {
        p->y = wk_call_load(tail, 1);
        p->slope = activation;
        return;
    }
    p->activation = activation;
    p->bias = wk_call_in(tail, 1);
    if (p->bias && wk_shape_count(wk_call_input_shape(tail, 1)) > p->n) p->stride_bias = p->n;
}

bool wk_cuda_multiply_fused(const wk_cuda_call *c, const wk_cuda_product *given)
{
    wk_cuda_product p = wk_cuda_joined(*given);
    bool summed = p.stacks > 1 && p.stride_c == 0;
    bool active = c->tail && c->tail->node->attrs.bias_act.activation != WK_IDENTITY;
    if (!c->hopper || p.transpose_a || !(active || c->before || summed)) return false;
    if (c->precision != WK_CUDA_BF16 || (summed && !(p.stride_a && p.stride_b))) return false;
    wk_hopper_product h = {};
    h.stacks = p.stacks;
    h.m = p.m;
    h.n = p.n;
    h.transpose_b = p.transpose_b;
    h.reduce = summed;
    h.term[h.terms++] = term_of(c, &p);
    if (c->before) {
        wk_cuda_product first = wk_cuda_joined(wk_cuda_product_of(c->before));
        h.term[h.terms++] = term_of(c->before, &first);
    } else if (p.accumulate) {
        h.add = wk_call_in(c, 2);
    }
    if (c->tail) add_tail(c->tail, &h);
    h.out = wk_call_store(c->tail ? c->tail : c, 0);
    if (wk_hopper_multiply(c, &h)) return true;
    c->context->emitted = 0;
    return false;
}

static bool reads(const wk_cuda_call *c, int tensor)
{
    for (int i = 0; i < c->node->input_count; i++)
        if (wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->root == tensor) return true;
    return false;
}

// Whether input i is a product's result, whose place the call's own result takes: nobody else reads
// the product then.
static bool replaces(const wk_cuda_call *c, int i, const wk_cuda_call *product)
{
    return c->in[i] == product->out[0] && c->out[0] == product->out[0] &&
           wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->root == product->node->outputs;
}

static bool bias_fits(const wk_cuda_call *c, const wk_cuda_product *p)
{
    if (c->node->input_count < 2) return true;
    size_t stacks = wk_shape_count(wk_call_input_shape(c, 1)) / p->n;
    return stacks == 1 || (stacks == p->stacks && p->stride_b && p->stride_c);
}

// Whether a call only adds a bias, and gives one of the two forms: cublasLt can do that.
static bool adds_only_bias(const wk_cuda_call *c, const wk_cuda_call *product)
{
    bool both = (c->matrices & 1) && (c->numbers & 1);
    return c->node->op == WK_OP_bias_act && c->node->attrs.bias_act.activation == WK_IDENTITY &&
           wk_call_in(c, 1) && !both && product->node->input_count <= 2 &&
           !product->node->attrs.matmul.reduce && c == product + 1;
}

static bool can_finish(const wk_cuda_call *c, const wk_cuda_call *product)
{
    bool layer = c->node->op == WK_OP_bias_act, slope = c->node->op == WK_OP_act_grad;
    if ((!layer && !slope) || c->chained || !replaces(c, 0, product)) return false;
    wk_cuda_product p = wk_cuda_product_of(product);
    wk_shape to = wk_call_output_shape(c, 0);
    wk_activation activation = c->node->attrs.bias_act.activation;
    if ((size_t)to.dim[to.rank - 1] != p.n || p.n % ROW_UNIT != 0 || p.transpose_a) return false;
    if (layer && !bias_fits(c, &p)) return false;
    if (adds_only_bias(c, product)) return true;
    return product->hopper && activation == WK_ELU && p.k <= TERMS_MAX;
}

// Whether what a call reads besides the product is ready before the product runs.
static bool is_ready(const wk_cuda_call *c, const wk_cuda_call *product)
{
    for (const wk_cuda_call *between = product + 1; between < c; between++) {
        if (wk_op_writes(between->node->op)) return false;
        for (int i = 0; i < between->node->output_count; i++)
            if (reads(c, between->node->outputs + i)) return false;
    }
    return true;
}

// The call that finishes the product's result, if it comes soon and can be done with it.
static wk_cuda_call *find_tail(wk_cuda_call *product, const wk_cuda_call *end)
{
    enum { SOON = 4 };
    for (wk_cuda_call *c = product + 1; c < end && c <= product + SOON; c++)
        if (reads(c, product->node->outputs))
            return can_finish(c, product) && is_ready(c, product) ? c : NULL;
    return NULL;
}

// Whether a call adds its product to that of the call before it.
static bool adds_to(const wk_cuda_call *c, const wk_cuda_call *before)
{
    if (before->node->op != WK_OP_matmul || before->chained || before->fused || before->tail)
        return false;
    if (c->node->input_count < 3 || before->node->input_count > 2 || !replaces(c, 2, before))
        return false;
    wk_cuda_product p = wk_cuda_product_of(c), q = wk_cuda_product_of(before);
    bool plain = !p.transpose_a && !q.transpose_a && p.transpose_b == q.transpose_b;
    return plain && p.stacks == 1 && q.stacks == 1 && p.m == q.m && p.n == q.n &&
           p.n % ROW_UNIT == 0 && p.k <= TERMS_MAX && q.k <= FEW_TERMS;
}

void wk_cuda_fuse_epilogues(wk_cuda_call *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        wk_cuda_call *c = &calls[i];
        bool product = c->node->op == WK_OP_matmul && c->precision == WK_CUDA_BF16 && !c->chained;
        if (!product || c->skipped || c->fused) continue;
        if (c->hopper && i > 0 && adds_to(c, c - 1)) {
            c->before = c - 1;
            calls[i - 1].skipped = true;
        }
        wk_cuda_call *tail = find_tail(c, calls + count);
        if (!tail) continue;
        c->tail = tail;
        tail->skipped = true;
    }
}
