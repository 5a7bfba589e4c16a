// What the sequence forward and backward have in common on the host: where their tensors lie.
#include "tensor/cuda/kernels/observe_tiles.cuh"

// A tensor that a node of the recurrence reads: looked up where it is read.
static wk_in find_operand(const wk_binding *b, int step, wk_role role)
{
    int tensor = b->r->step[step].tensor[role];
    for (int at = 0; tensor && at < b->r->nodes; at++) {
        const wk_cuda_call *c = &b->calls[at];
        const int *inputs = wk_node_inputs(c->g, c->node);
        for (int i = 0; i < c->node->input_count; i++)
            if (inputs[i] == tensor) return wk_call_operand(c, i);
    }
    return {NULL, NULL};
}

wk_ptr<const float> wk_binding_read(const wk_binding *b, int step, wk_role role)
{
    return find_operand(b, step, role).x;
}

// Where a result goes, and that its bf16 copy will be up to date.
wk_out wk_binding_store(const wk_binding *b, int step, wk_role role)
{
    const wk_recurrence_step *s = &b->r->step[step];
    const wk_cuda_call *c = &b->calls[s->node_of[role]];
    int tensor = s->tensor[role];
    wk_out out = wk_call_store(c, tensor - c->node->outputs);
    size_t count = wk_shape_count(wk_info(c->g, tensor)->type.shape);
    if (out.bf16) wk_cuda_refreshed(c->context, {out.bf16.base, out.bf16.base + count});
    return out;
}

// The same, in float32 whoever reads it.
wk_ptr<float> wk_binding_store_f32(const wk_binding *b, int step, wk_role role)
{
    const wk_recurrence_step *s = &b->r->step[step];
    const wk_cuda_call *c = &b->calls[s->node_of[role]];
    return wk_call_out(c, s->tensor[role] - c->node->outputs);
}

wk_ptr<const __nv_bfloat16> wk_binding_weights(const wk_binding *b, wk_role role)
{
    const wk_cuda_call *c = b->calls;
    wk_shape shape = wk_info(c->g, b->r->step[0].tensor[role])->type.shape;
    wk_ptr<const __nv_bfloat16> w =
        wk_cuda_bf16_copy(c, find_operand(b, 0, role), wk_shape_count(shape));
    assert((uintptr_t)w % sizeof(uint4) == 0);
    return w;
}

void wk_binding_exchange(const wk_binding *b, const size_t *bytes, wk_ptr<uint4> *parts)
{
    const wk_cuda_call *c = b->calls;
    size_t sum = 0;
    for (int i = 0; i < WK_EXCHANGES; i++)
        sum += (bytes[i] + 255) / 256 * 256;
    wk_ptr<uint4> memory = wk_cuda_scratch_of<uint4>(c, sum / sizeof(uint4));
    wk_cuda_each(c, sum / sizeof(uint4), [=] __device__(unsigned i) {
        memory[i] = make_uint4(UNWRITTEN, UNWRITTEN, UNWRITTEN, UNWRITTEN);
    });
    for (int i = 0; i < WK_EXCHANGES; i++) {
        parts[i] = memory;
        memory = memory + (bytes[i] + 255) / 256 * (256 / sizeof(uint4));
    }
}

void wk_cuda_observe(const wk_cuda_call *calls)
{
    wk_binding b = {calls, calls->recurrence};
    if (b.r->backward)
        wk_cuda_observe_backward(&b);
    else
        wk_cuda_observe_forward(&b);
}
