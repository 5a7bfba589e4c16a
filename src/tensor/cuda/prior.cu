// Which calls in a row are a layer, the logits of categorical variables and their sample, which one
// kernel does (hopper_draw.cuh): the model's prior in a step of imagination; and the features that
// join the sample and the state, if they come next.
#include "tensor/cuda/calls.cuh"
#include "tensor/cuda/hopper_draw.cuh"

// The calls from the first product on.
enum { HIDDEN, HIDDEN_ACT, LOGITS, LOGITS_BIAS, SAMPLE, FEATURES };

static bool is_product(const wk_cuda_call *c, const wk_cuda_call *tail)
{
    if (c->node->op != WK_OP_matmul) return false;
    wk_cuda_product p = wk_cuda_product_of(c);
    return !c->chained && !c->merged && !c->before && !c->skipped &&
           (c->tail == tail || !c->tail) && c->node->input_count == 2 && !p.transpose_a &&
           !p.transpose_b && wk_cuda_joined(p).stacks == 1 && !c->node->attrs.matmul.reduce &&
           wk_call_aligned(c, 1, 32);
}

static bool adds_bias(const wk_cuda_call *c, const wk_cuda_call *product, wk_activation activation)
{
    return c->node->op == WK_OP_bias_act && !c->chained &&
           c->node->attrs.bias_act.activation == activation &&
           wk_call_root(c, 0) == product->node->outputs && c->node->input_count == 2 && c->in[1] &&
           wk_call_aligned(c, 1, 16) &&
           wk_shape_count(wk_call_input_shape(c, 1)) == wk_cuda_product_of(product).n;
}

static bool is_half_alone(const wk_cuda_call *c)
{
    return (c->matrices & 1) && !(c->numbers & 1);
}

static bool is_sample(const wk_cuda_call *c, const wk_cuda_call *logits)
{
    wk_shape shape = wk_call_output_shape(c, 0);
    return c->node->op == WK_OP_sample_onehot && !c->chained &&
           wk_call_root(c, 0) == logits->node->outputs && is_half_alone(c) &&
           shape.dim[shape.rank - 1] == WK_DRAW_CLASSES;
}

// Whether a call joins sample and state, row by row.
static bool joins(const wk_cuda_call *c, const wk_cuda_call *first)
{
    if (c->node->op != WK_OP_concat || c->chained || c->lazy || c->node->input_count != 2)
        return false;
    wk_shape shape = wk_call_output_shape(c, 0);
    return c->node->attrs.concat.axis == shape.rank - 1 &&
           wk_call_root(c, 0) == first[SAMPLE].node->outputs && c->in[1] == first->in[0] &&
           wk_call_root(c, 1) == wk_call_root(first, 0) && is_half_alone(c) &&
           !wk_cuda_is_padded(first, 0);
}

static wk_hopper_draw draw_of(const wk_cuda_call *c)
{
    wk_cuda_product p = wk_cuda_joined(wk_cuda_product_of(c));
    wk_cuda_product q = wk_cuda_joined(wk_cuda_product_of(c + LOGITS));
    wk_hopper_draw d = {};
    d.m = p.m;
    d.k = p.k;
    d.units = p.n;
    d.groups = q.n / WK_DRAW_CLASSES;
    return d;
}

// Whether the calls from here on are such; `last` of them.
static bool is_prior(const wk_cuda_call *c, const wk_cuda_call *end, int *last)
{
    if (end - c <= SAMPLE || !is_product(c, c + HIDDEN_ACT) ||
        !adds_bias(c + HIDDEN_ACT, c, WK_ELU) || !is_product(c + LOGITS, c + LOGITS_BIAS) ||
        wk_call_root(c + LOGITS, 0) != c[HIDDEN_ACT].node->outputs ||
        !adds_bias(c + LOGITS_BIAS, c + LOGITS, WK_IDENTITY) ||
        !is_sample(c + SAMPLE, c + LOGITS_BIAS))
        return false;
    for (int i = 1; i <= SAMPLE; i++)
        if (c[i].lane != c->lane) return false;
    bool joined = end - c > FEATURES && joins(c + FEATURES, c) && c[FEATURES].lane == c->lane;
    *last = joined ? FEATURES : SAMPLE;
    return is_half_alone(c + HIDDEN_ACT) && wk_call_aligned(c, 0, 32);
}

static bool can_join(const wk_cuda_run *r)
{
    const wk_cuda_call *c = r->first;
    if (wk_run_is_read(r, c) || wk_run_is_read(r, c + LOGITS) || wk_run_is_read(r, c + LOGITS_BIAS))
        return false;
    const wk_cuda_call *written[] = {c + HIDDEN_ACT, c + SAMPLE, r->last};
    return !wk_run_overlaps(r, written, r->last == c + SAMPLE ? 2 : 3);
}

void wk_cuda_merge_priors(wk_cuda_call *calls, size_t count)
{
    for (wk_cuda_call *c = calls; c < calls + count; c++) {
        int last = 0;
        if (!c->hopper || c->precision != WK_CUDA_BF16 || c->node->op != WK_OP_matmul ||
            !is_prior(c, calls + count, &last))
            continue;
        wk_hopper_draw d = draw_of(c);
        size_t blocks = wk_hopper_draw_blocks(d.m, d.k, d.units, d.groups);
        wk_cuda_run run = {calls, count, c, c + last};
        if (blocks == 0 || blocks > (size_t)c->processors || !can_join(&run)) continue;
        c->draws = true;
        c->known = wk_run_is_known(&run);
        wk_run_join(&run);
    }
}

static wk_layer layer_of(const wk_cuda_call *product, bool *known)
{
    wk_cuda_product p = wk_cuda_joined(wk_cuda_product_of(product));
    const char *w = (const char *)product->in[1];
    wk_layer l = {};
    *known &= wk_cuda_is_fresh(product->lane, {w, w + p.k * p.n * sizeof(float)});
    l.w = wk_cuda_half_rows(product, wk_call_in(product, 1), p.k, p.n, &l.row);
    l.bias = wk_call_in(product + 1, 1);
    return l;
}

void wk_cuda_run_prior(const wk_cuda_call *c)
{
    wk_hopper_draw d = draw_of(c);
    d.known = c->known;
    d.hidden = layer_of(c, &d.known);
    d.out = layer_of(c + LOGITS, &d.known);
    d.x = wk_cuda_half_rows(c, wk_call_in(c, 0), d.m, d.k, &d.row_x);
    d.y = wk_cuda_shadow(c->lane, wk_call_out(c + HIDDEN_ACT, 0));
    d.onehot = wk_cuda_shadow(c->lane, wk_call_out(c + SAMPLE, 0));
    d.probs = wk_call_out(c + SAMPLE, 1);
    if (c->merged == FEATURES) d.features = wk_cuda_shadow(c->lane, wk_call_out(c + FEATURES, 0));
    d.key = c[SAMPLE].node->attrs.random.key;
    d.counter = c[SAMPLE].in[1];
    bool done = wk_hopper_run_draw(c, &d);
    if (!done && !c->lane->status) c->lane->status = CUBLAS_STATUS_NOT_SUPPORTED;
}

static void refresh(const wk_cuda_call *c)
{
    const char *out = (const char *)c->out[0];
    wk_cuda_refreshed(c->lane, {out, out + wk_type_size(wk_info(c->g, c->node->outputs)->type)});
}

void wk_cuda_refresh_prior(const wk_cuda_call *c)
{
    refresh(c + HIDDEN_ACT);
    refresh(c + SAMPLE);
    if (c->merged == FEATURES) refresh(c + FEATURES);
}
