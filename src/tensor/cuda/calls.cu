#include "tensor/cuda/calls.cuh"

bool wk_run_is_read(const wk_cuda_run *r, const wk_cuda_call *of)
{
    if (wk_info(of->g, of->node->outputs)->output) return true;
    for (const wk_cuda_call *c = r->calls; c < r->calls + r->count; c++) {
        if (c >= r->first && c <= r->last) continue;
        for (int i = 0; i < c->node->input_count; i++)
            if (wk_call_root(c, i) == of->node->outputs) return true;
    }
    return false;
}

static wk_cuda_span bytes_of(const wk_cuda_call *c, int tensor, const void *at)
{
    return wk_cuda_bytes(c->lane, at, at ? wk_type_size(wk_info(c->g, tensor)->type) : 0);
}

static bool meets(wk_cuda_span a, wk_cuda_span b)
{
    return a.begin < b.end && b.begin < a.end;
}

static bool makes(const wk_cuda_run *r, int root)
{
    for (const wk_cuda_call *c = r->first; c <= r->last; c++)
        if (root >= c->node->outputs && root < c->node->outputs + c->node->output_count)
            return true;
    return false;
}

// Whether memory meets what the calls read from outside.
static bool meets_inputs(const wk_cuda_run *r, wk_cuda_span to)
{
    for (const wk_cuda_call *c = r->first; c <= r->last; c++) {
        const int *inputs = wk_node_inputs(c->g, c->node);
        for (int i = 0; i < c->node->input_count; i++)
            if (!makes(r, wk_call_root(c, i)) && meets(to, bytes_of(c, inputs[i], c->in[i])))
                return true;
    }
    return false;
}

static bool meets_outputs(wk_cuda_span to, const wk_cuda_call *c)
{
    for (int i = 0; i < c->node->output_count; i++)
        if (meets(to, bytes_of(c, c->node->outputs + i, c->out[i]))) return true;
    return false;
}

bool wk_run_overlaps(const wk_cuda_run *r, const wk_cuda_call *const *written, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const wk_cuda_call *c = written[k];
        for (int i = 0; i < c->node->output_count; i++) {
            wk_cuda_span to = bytes_of(c, c->node->outputs + i, c->out[i]);
            if (meets_inputs(r, to)) return true;
            for (size_t other = k + 1; other < count; other++)
                if (meets_outputs(to, written[other])) return true;
        }
    }
    return false;
}

bool wk_run_is_known(const wk_cuda_run *r)
{
    for (const wk_cuda_call *c = r->first; c-- > r->calls;) {
        if (wk_op_writes(c->node->op)) return false;
        if (c->node->op == WK_OP_matmul && c->in[1] == r->first->in[1] && c->lane == r->first->lane)
            return true;
    }
    return false;
}

void wk_run_join(const wk_cuda_run *r)
{
    r->first->merged = (unsigned)(r->last - r->first);
    for (wk_cuda_call *c = r->first; c <= r->last; c++) {
        c->skipped = c != r->first;
        c->tail = NULL;
    }
}
