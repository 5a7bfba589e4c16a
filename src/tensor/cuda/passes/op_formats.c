#include "tensor/cuda/passes/op_formats.h"
#include "tensor/cuda/passes/conv_sizes.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/plan.h"

// Conditions of a row.
typedef bool condition(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits);

static bool is_rgb_conv(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    const wk_conv_sizes z = wk_conv_measure(g, node);
    int kernel = node->op == WK_OP_conv_dw ? WK_KERNEL_RGB_WEIGHTS : WK_KERNEL_CONV_RGB;
    return !wk_is_off(limits, kernel) && !wk_conv_refuse_planes(g, node, limits) &&
           wk_conv_suits_rgb(&z, false);
}

// What adds to a sum, or sums over a stack, goes on in float32.
static bool adds_nothing(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    (void)g, (void)limits;
    return node->input_count <= 2 && !node->attrs.matmul.reduce;
}

static bool wants_no_params(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    (void)g, (void)limits;
    return !node->attrs.norm.params;
}

static bool adds_at_once(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    enum { TERMS = 64 };
    (void)g, (void)limits;
    return node->input_count <= TERMS;
}

static bool has_few_inputs(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    (void)g, (void)limits;
    return node->input_count <= WK_FORMAT_INPUTS_MAX;
}

// What is produced in place has the formats of its parts.
static bool is_copied(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    (void)limits;
    return !wk_plan_joins(g, node);
}

// Inputs are bits: those read in bf16, as terms (and then in bf16 too), as bytes.
typedef struct row {
    unsigned bf16, terms, bytes;
    condition *reads_if;
    wk_writes writes;
    condition *writes_if;
} row;

#define OP(name) [WK_OP_##name]
#define IN(i) (1u << (i))
#define ALL (~0u)
#define PRODUCTS WK_WRITES_FOR_PRODUCTS
#define EITHER WK_WRITES_EITHER
#define F32 WK_WRITES_F32
// clang-format off
static const row table[WK_OP_COUNT] = {
    //                            bf16           terms  bytes  if               writes    if
    OP(matmul)                  = {0,             0,     0,     NULL,            EITHER,   adds_nothing},
    OP(conv)                    = {0,             0,     IN(0), is_rgb_conv,     EITHER,   wk_conv_is_bf16},
    OP(conv_dx)                 = {0,             0,     0,     NULL,            EITHER,   wk_conv_is_bf16},
    OP(conv_dw)                 = {0,             0,     IN(0), is_rgb_conv,     F32,      NULL},
    OP(deconv)                  = {0,             0,     0,     NULL,            EITHER,   wk_conv_is_bf16},
    OP(deconv_dx)               = {0,             0,     0,     NULL,            EITHER,   wk_conv_is_bf16},
    OP(bias_act)                = {IN(0),         0,     0,     NULL,            EITHER,   NULL},
    OP(act_grad)                = {IN(0) | IN(1), 0,     0,     NULL,            EITHER,   NULL},
    OP(bias_act_grad)           = {IN(0) | IN(1), 0,     0,     NULL,            EITHER,   NULL},
    OP(column_sum)              = {IN(0),         0,     0,     NULL,            F32,      NULL},
    OP(disagreement)            = {IN(0),         0,     0,     NULL,            F32,      NULL},
    OP(disagreement_grad)       = {IN(0),         0,     0,     NULL,            EITHER,   NULL},
    OP(half_squared_error)      = {IN(0),         0,     IN(1), NULL,            F32,      NULL},
    OP(half_squared_error_grad) = {IN(0),         0,     IN(1), NULL,            EITHER,   NULL},
    OP(slice)                   = {ALL,           0,     0,     NULL,            EITHER,   NULL},
    OP(concat)                  = {ALL,           0,     0,     has_few_inputs,  EITHER,   is_copied},
    OP(repeat)                  = {0,             0,     0,     NULL,            EITHER,   NULL},
    OP(sample_onehot)           = {0,             0,     0,     NULL,            EITHER,   NULL},
    OP(softmax_grad)            = {0,             IN(1), 0,     NULL,            PRODUCTS, NULL},
    OP(gru)                     = {0,             0,     0,     NULL,            PRODUCTS, NULL},
    OP(gru_grad)                = {0,             IN(6), 0,     wants_no_params, PRODUCTS, wants_no_params},
    OP(add)                     = {0,             0,     0,     NULL,            PRODUCTS, NULL},
    OP(add_n)                   = {0,             0,     0,     NULL,            PRODUCTS, adds_at_once},
    OP(mul)                     = {0,             0,     0,     NULL,            PRODUCTS, NULL},
    OP(affine)                  = {0,             0,     0,     NULL,            PRODUCTS, NULL},
    OP(scale_rows)              = {0,             0,     0,     NULL,            PRODUCTS, NULL},
};
// clang-format on

unsigned wk_op_reads(const wk_graph *g, const wk_node *node, int input,
                     const wk_cuda_limits *limits)
{
    const row *r = &table[node->op];
    unsigned bit = input < WK_FORMAT_INPUTS_MAX ? IN(input) : 0, reads = 0;
    if ((r->bf16 | r->terms) & bit) reads |= WK_READS_BF16;
    if (r->terms & bit) reads |= WK_READS_TERMS;
    if (r->bytes & bit) reads |= WK_READS_BYTES;
    return reads && (!r->reads_if || r->reads_if(g, node, limits)) ? reads : 0;
}

wk_writes wk_op_writes_as(const wk_graph *g, const wk_node *node, const wk_cuda_limits *limits)
{
    const row *r = &table[node->op];
    return !r->writes_if || r->writes_if(g, node, limits) ? r->writes : WK_WRITES_F32;
}
