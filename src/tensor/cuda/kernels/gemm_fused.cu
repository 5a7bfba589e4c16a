// A matmul call as one product of hopper/gemm.cuh: with the product whose result it adds to, and
// with its epilogue (bias, activation or slope, with the gradient of the bias).
#include "tensor/cuda/hopper/gemm.cuh"
#include "tensor/cuda/kernels/column_sums.cuh"
#include "tensor/cuda/runtime/stream_context.cuh"

static wk_hopper_term term_of(const wk_cuda_call *c, const wk_cuda_product *p)
{
    wk_hopper_term t = {};
    size_t rows_b = p->transpose_b ? p->n : p->k, cols_b = p->transpose_b ? p->k : p->n;
    size_t count_a = p->stride_a ? p->stacks : 1, count_b = p->stride_b ? p->stacks : 1;
    t.k = p->k;
    t.a = wk_cuda_bf16_rows(c, wk_call_operand(c, 0), count_a * p->m, p->k, &t.row_a);
    t.b = wk_cuda_bf16_rows(c, wk_call_operand(c, 1), count_b * rows_b, cols_b, &t.row_b);
    t.stride_a = count_a > 1 ? p->m * t.row_a : 0;
    t.stride_b = count_b > 1 ? rows_b * t.row_b : 0;
    return t;
}

// What the epilogue does with the product's result.
static void add_epilogue(const wk_cuda_call *epilogue, wk_hopper_product *p)
{
    wk_activation activation = epilogue->node->attrs.bias_act.activation;
    if (epilogue->node->op != WK_OP_bias_act) {
        p->y = wk_call_load(epilogue, 1);
        p->slope = activation;
        return;
    }
    p->activation = activation;
    p->bias = wk_call_in(epilogue, 1);
    if (p->bias && wk_shape_count(wk_call_input_shape(epilogue, 1)) > p->n) p->stride_bias = p->n;
}

void wk_cuda_gemm_fused(const wk_cuda_call *c)
{
    wk_cuda_product p = wk_product_joined(wk_product_of(c->g, c->node));
    wk_hopper_product h = {};
    h.stacks = p.stacks;
    h.m = p.m;
    h.n = p.n;
    h.transpose_b = p.transpose_b;
    h.reduce = p.stacks > 1 && p.stride_c == 0;
    h.tile = c->tile;
    h.term[h.terms++] = term_of(c, &p);
    if (c->addend) {
        wk_cuda_product first = wk_product_joined(wk_product_of(c->g, c->addend->node));
        h.term[h.terms++] = term_of(c->addend, &first);
    } else if (p.accumulate) {
        h.add = wk_call_in(c, 2);
    }
    const wk_cuda_call *last = c->fused_next ? c + 1 : c->epilogue ? c->epilogue : c;
    if (last != c) add_epilogue(last, &h);
    h.out = wk_call_store(last, 0);
    unsigned chunks = (unsigned)((h.m + WK_HOPPER_SUMMED - 1) / WK_HOPPER_SUMMED);
    if (c->fused_next) h.sums = wk_cuda_scratch_of<float>(c, h.stacks * chunks * h.n);
    if (!wk_hopper_multiply(c, &h)) c->context->no_tensor_map = true;
    if (c->fused_next)
        wk_cuda_collect(c, h.stacks, chunks, (unsigned)h.n, h.sums, wk_call_out(last, 1));
}
