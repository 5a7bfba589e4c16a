// Which results exist in float32, which in bf16, and which in both. A matrix product reads bf16;
// what only products and kernels that can read bf16 read is never written in float32, which halves
// the bytes of every pass over it.
#include "tensor/cuda/lane.cuh"

#include <stdlib.h>

bool wk_cuda_joined_in_place(const wk_graph *g, const wk_node *node)
{
    if (node->op != WK_OP_concat) return false;
    wk_shape shape = wk_info(g, node->outputs)->type.shape;
    return wk_shape_split(shape, node->attrs.concat.axis, 1).outer == 1;
}

// Rows that need no padding in a product.
static bool has_whole_rows(const wk_graph *g, int tensor)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return shape.dim[shape.rank - 1] % 8 == 0;
}

static bool is_conv(const wk_node *node)
{
    return node->op == WK_OP_conv || node->op == WK_OP_conv_dx || node->op == WK_OP_deconv ||
           node->op == WK_OP_deconv_dx || node->op == WK_OP_conv_dw;
}

// Whether a product reads operand i as it is.
static bool reads_matrix(const wk_graph *g, const wk_node *node, int i)
{
    return (node->op == WK_OP_matmul || is_conv(node)) && i <= 1 &&
           has_whole_rows(g, wk_node_inputs(g, node)[i]);
}

// Of wk_cuda_call.halves.
enum { MOST_HALVES = 32 };

// Whether a kernel reads input i through wk_call_load or wk_call_terms.
static bool reads_either(const wk_node *node, int i)
{
    switch (node->op) {
    case WK_OP_bias_act:
    case WK_OP_column_sum:
    case WK_OP_disagreement:
    case WK_OP_disagreement_grad:
    case WK_OP_half_squared_error:
    case WK_OP_half_squared_error_grad:
        return i == 0;
    case WK_OP_act_grad:
    case WK_OP_bias_act_grad:
        return i <= 1;
    case WK_OP_slice:
        return true;
    case WK_OP_concat: // note_reads has those in place
        return node->input_count <= MOST_HALVES;
    case WK_OP_softmax_grad:
        return i == 1;
    case WK_OP_gru_grad:
        return i == 6 && !node->attrs.norm.params;
    default:
        return false;
    }
}

// Whether output 0 can be written in bf16 alone: everything through wk_call_store can, except where
// the kernel reads its float32 result again.
static bool stores_either(const wk_graph *g, const wk_node *node)
{
    if (is_conv(node)) return node->op != WK_OP_conv_dw && wk_cuda_conv_is_half(g, node);
    switch (node->op) {
    case WK_OP_matmul: // what adds to a sum, or sums over a stack, goes on in float32
        return node->input_count <= 2 && !node->attrs.matmul.reduce;
    case WK_OP_bias_act:
    case WK_OP_act_grad:
    case WK_OP_bias_act_grad:
    case WK_OP_disagreement_grad:
    case WK_OP_half_squared_error_grad:
    case WK_OP_slice:
    case WK_OP_repeat:
    case WK_OP_sample_onehot:
        return true;
    case WK_OP_concat:
        return !wk_cuda_joined_in_place(g, node);
    default:
        return false;
    }
}

// Who reads the tensors of a root.
typedef struct readers {
    bool matrices; // products
    bool either;   // kernels that read float32 or bf16
    bool numbers;  // kernels that read float32
    bool half;     // the answer: it may exist in bf16 alone
} readers;

// What is joined in place must exist as the whole does.
static void note_joined(const wk_cuda_call *call, readers *read)
{
    for (int i = 0; i < call->node->input_count; i++) {
        readers *r = &read[wk_info(call->g, wk_node_inputs(call->g, call->node)[i])->root];
        r->matrices |= call->matrices & 1;
        r->numbers |= call->numbers & 1;
    }
}

static void note_reads(const wk_cuda_call *call, readers *read)
{
    const wk_graph *g = call->g;
    const int *inputs = wk_node_inputs(g, call->node);
    if (wk_cuda_joined_in_place(g, call->node) && !call->lazy) {
        note_joined(call, read);
        return;
    }
    for (int i = 0; i < call->node->input_count; i++) {
        readers *r = &read[wk_info(g, inputs[i])->root];
        bool matrix = reads_matrix(g, call->node, i);
        bool either = call->lazy || (!call->chained && reads_either(call->node, i));
        r->matrices |= matrix;
        r->either |= either;
        // A convolution in another way may read both.
        bool alone =
            matrix && (call->node->op == WK_OP_matmul || wk_cuda_conv_is_half(g, call->node));
        r->numbers |= !either && !alone;
    }
}

static bool is_able(const wk_cuda_call *call, int output)
{
    return output == 0 && !call->chained && stores_either(call->g, call->node) &&
           has_whole_rows(call->g, call->node->outputs);
}

// Whether all that is joined in place is produced there, by kernels that write bf16 whatever else
// they write.
static bool joins_halves(const wk_cuda_call *call, const wk_cuda_call *const *producers)
{
    const wk_graph *g = call->g;
    if (!wk_cuda_joined_in_place(g, call->node)) return false;
    const int *starts = g->extents.items + call->node->attrs.concat.starts;
    size_t inner =
        wk_shape_split(wk_call_output_shape(call, 0), call->node->attrs.concat.axis, 1).inner;
    size_t covered = 0;
    for (int i = 0; i < call->node->input_count; i++) {
        int root = wk_info(g, wk_node_inputs(g, call->node)[i])->root;
        const wk_cuda_call *from = producers[root];
        bool able = from && from->node->outputs == root && from->node->op != WK_OP_matmul &&
                    !is_conv(from->node) && is_able(from, 0);
        if (!able || call->in[i] != wk_call_out(call, 0) + (size_t)starts[i] * inner) return false;
        covered += wk_shape_count(wk_call_input_shape(call, i));
    }
    return covered == wk_call_count(call) && has_whole_rows(g, call->node->outputs);
}

static void decide(wk_cuda_call *call, readers *read, const wk_cuda_call *const *producers)
{
    const wk_graph *g = call->g;
    for (int i = 0; i < call->node->output_count; i++) {
        int id = call->node->outputs + i;
        readers *r = &read[id];
        bool able = is_able(call, i) || joins_halves(call, producers);
        // Of those that are not able, some write float32 always.
        bool stuck =
            r->either || call->node->op == WK_OP_matmul || is_conv(call->node) || call->chained;
        bool numbers = r->numbers || wk_info(g, id)->output || (stuck && !able);
        bool matrices = r->matrices || (able && !numbers && r->either);
        r->half = matrices && !numbers;
        call->matrices |= (unsigned)matrices << i;
        call->numbers |= (unsigned)numbers << i;
    }
}

// Ragged rows that are longer than what few.cu takes.
static bool has_ragged_rows(const wk_graph *g, int tensor)
{
    wk_shape shape = wk_info(g, tensor)->type.shape;
    return !has_whole_rows(g, tensor) && shape.dim[shape.rank - 1] > 64;
}

static bool reads_padded(const wk_cuda_call *call, int i)
{
    const wk_graph *g = call->g;
    int tensor = wk_node_inputs(g, call->node)[i], root = wk_info(g, tensor)->root;
    wk_shape a = wk_info(g, tensor)->type.shape, b = wk_info(g, root)->type.shape;
    return call->node->op == WK_OP_matmul && !call->chained && i <= 1 &&
           wk_shape_count(a) == wk_shape_count(b) && a.dim[a.rank - 1] == b.dim[b.rank - 1];
}

static void find_padded(const wk_cuda_call *calls, size_t count, bool *padded)
{
    const wk_graph *g = calls[0].g;
    for (size_t step = 0; step < count; step++) {
        const wk_node *node = calls[step].node;
        if (node->op == WK_OP_concat)
            padded[node->outputs] =
                !calls[step].lazy && !calls[step].chained && !wk_cuda_joined_in_place(g, node) &&
                node->attrs.concat.axis == wk_info(g, node->outputs)->type.shape.rank - 1 &&
                !wk_info(g, node->outputs)->output && node->input_count <= MOST_HALVES &&
                has_ragged_rows(g, node->outputs);
        for (int i = 0; i < node->input_count; i++)
            if (!reads_padded(&calls[step], i))
                padded[wk_info(g, wk_node_inputs(g, node)[i])->root] = false;
    }
}

bool wk_cuda_is_padded(const wk_cuda_call *c, int i)
{
    return c->lane->padded &&
           c->lane->padded[wk_info(c->g, wk_node_inputs(c->g, c->node)[i])->root];
}

static void find_halves(wk_cuda_call *calls, size_t count, const readers *read)
{
    for (size_t step = 0; step < count; step++) {
        const wk_graph *g = calls[step].g;
        const wk_node *node = calls[step].node;
        for (int i = 0; i < node->input_count && i < MOST_HALVES; i++)
            if (read[wk_info(g, wk_node_inputs(g, node)[i])->root].half)
                calls[step].halves |= 1u << i;
    }
}

// Backwards, so that the readers of a concatenation in place are known before its inputs.
bool wk_cuda_find_storage(wk_cuda_lane *lane, wk_cuda_call *calls, size_t count)
{
    if (count == 0 || calls[0].precision != WK_CUDA_BF16) return true;
    size_t tensors = calls[0].g->tensors.count;
    readers *read = (readers *)calloc(tensors, sizeof *read); // by root
    const wk_cuda_call **producers = (const wk_cuda_call **)calloc(tensors, sizeof *producers);
    bool *padded = lane->padded = (bool *)calloc(tensors, sizeof *padded);
    bool ok = read && producers && padded;
    if (ok) find_padded(calls, count, padded);
    for (size_t step = 0; ok && step < count; step++)
        for (int i = 0; i < calls[step].node->output_count; i++)
            producers[calls[step].node->outputs + i] = &calls[step];
    for (size_t step = count; ok && step-- > 0;) {
        if (!calls[step].lazy) decide(&calls[step], read, producers);
        note_reads(&calls[step], read);
    }
    if (ok) find_halves(calls, count, read);
    free(read);
    free(producers);
    return ok;
}
