// Calls of the distributions, the losses and the returns.
#include "tensor/cpu/calls.h"
#include "tensor/cpu/kernels.h"

// The words of a random node: its key, and the substream that the counter stands at.
static wk_draws draws(const wk_cpu_call *c, int counter)
{
    return (wk_draws){.key = c->node->attrs.random.key,
                      .substream = *(const uint64_t *)c->in[counter]};
}

void wk_cpu_call_uniform(const wk_cpu_call *c)
{
    const wk_draws d = draws(c, 0);
    wk_cpu_uniform(wk_call_count(c), &d, c->node->attrs.random.low, c->node->attrs.random.high,
                   c->out[0], c->pool);
}

// Variables and classes of logits [..,C].
static wk_rows variables(const wk_cpu_call *c)
{
    return wk_rows_of(wk_call_input_shape(c, 0), 1);
}

void wk_cpu_call_softmax(const wk_cpu_call *c)
{
    wk_rows r = variables(c);
    wk_cpu_softmax(r.rows, r.cols, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_softmax_grad(const wk_cpu_call *c)
{
    wk_rows r = variables(c);
    wk_cpu_softmax_backward(r.rows, r.cols, c->in[0], c->in[1], c->out[0], c->pool);
}

void wk_cpu_call_sample_onehot(const wk_cpu_call *c)
{
    wk_rows r = variables(c);
    const wk_draws d = draws(c, 1);
    wk_cpu_sample_onehot(r.rows, r.cols, c->in[0], &d, c->out[0], c->out[1], c->pool);
}

void wk_cpu_call_mode_onehot(const wk_cpu_call *c)
{
    wk_rows r = variables(c);
    wk_cpu_mode_onehot(r.rows, r.cols, c->in[0], c->out[0], c->pool);
}

// Logits [..,V,C] as rows of V variables of C classes.
typedef struct categorical {
    size_t rows, variables, classes;
} categorical;

static categorical categorical_of(const wk_cpu_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    size_t variables = (size_t)x.dim[x.rank - 2], classes = (size_t)x.dim[x.rank - 1];
    return (categorical){wk_shape_count(x) / variables / classes, variables, classes};
}

void wk_cpu_call_entropy(const wk_cpu_call *c)
{
    categorical k = categorical_of(c);
    wk_cpu_entropy(k.rows, k.variables, k.classes, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_kl(const wk_cpu_call *c)
{
    categorical k = categorical_of(c);
    wk_cpu_kl(k.rows, k.variables, k.classes, c->in[0], c->in[1], c->out[0], c->pool);
}

void wk_cpu_call_kl_dp(const wk_cpu_call *c)
{
    categorical k = categorical_of(c);
    wk_cpu_kl_backward(k.rows, k.variables, k.classes, c->in[0], c->in[1], c->in[2], c->out[0],
                       NULL, c->pool);
}

void wk_cpu_call_kl_dq(const wk_cpu_call *c)
{
    categorical k = categorical_of(c);
    wk_cpu_kl_backward(k.rows, k.variables, k.classes, c->in[0], c->in[1], c->in[2], NULL,
                       c->out[0], c->pool);
}

// Rows and action dimensions of raw [..,2A].
static wk_rows actions(const wk_cpu_call *c)
{
    wk_rows r = wk_rows_of(wk_call_input_shape(c, 0), 1);
    r.cols /= 2;
    return r;
}

void wk_cpu_call_truncated_normal_sample(const wk_cpu_call *c)
{
    wk_rows r = actions(c);
    const wk_draws d = draws(c, 1);
    wk_cpu_truncated_normal_sample(r.rows, r.cols, c->in[0], &d, c->out[0], c->pool);
}

void wk_cpu_call_truncated_normal_sample_grad(const wk_cpu_call *c)
{
    wk_rows r = actions(c);
    const wk_draws d = draws(c, 1);
    wk_cpu_truncated_normal_sample_backward(
        r.rows, r.cols, c->in[0], &d, c->node->attrs.random.gradient, c->in[2], c->out[0], c->pool);
}

void wk_cpu_call_truncated_normal_mode(const wk_cpu_call *c)
{
    wk_rows r = actions(c);
    wk_cpu_truncated_normal_mode(r.rows, r.cols, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_truncated_normal_entropy(const wk_cpu_call *c)
{
    wk_rows r = actions(c);
    wk_cpu_truncated_normal_entropy(r.rows, r.cols, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_truncated_normal_entropy_grad(const wk_cpu_call *c)
{
    wk_rows r = actions(c);
    wk_cpu_truncated_normal_entropy_backward(r.rows, r.cols, c->in[0], c->in[1], c->out[0],
                                             c->pool);
}

// x as stacks of rows; a target without the stack is shared by it.
typedef struct error_sizes {
    size_t stacks, rows, cols, target_stride;
} error_sizes;

static error_sizes error_of(const wk_cpu_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    size_t count = wk_shape_count(x), target = wk_shape_count(wk_call_input_shape(c, 1));
    int axes = c->node->attrs.axes;
    size_t cols = wk_shape_split(x, x.rank - axes, axes).length, stacks = count / target;
    return (error_sizes){stacks, target / cols, cols, stacks > 1 ? 0 : target};
}

void wk_cpu_call_half_squared_error(const wk_cpu_call *c)
{
    error_sizes e = error_of(c);
    wk_cpu_half_squared_error(e.stacks, e.rows, e.cols, c->in[0], c->in[1], e.target_stride,
                              c->out[0], c->pool);
}

void wk_cpu_call_half_squared_error_grad(const wk_cpu_call *c)
{
    error_sizes e = error_of(c);
    wk_cpu_half_squared_error_backward(e.stacks, e.rows, e.cols, c->in[0], c->in[1],
                                       e.target_stride, c->in[2], c->out[0], c->pool);
}

static wk_lambda_return lambda_return(const wk_cpu_call *c)
{
    wk_shape reward = wk_call_input_shape(c, 0);
    return (wk_lambda_return){.stacks = reward.rank == 3 ? (size_t)reward.dim[0] : 1,
                              .steps = (size_t)reward.dim[reward.rank - 2],
                              .rows = (size_t)reward.dim[reward.rank - 1],
                              .discount = c->node->attrs.lambda_return.discount,
                              .lambda = c->node->attrs.lambda_return.lambda};
}

void wk_cpu_call_lambda_return(const wk_cpu_call *c)
{
    const wk_lambda_return p = lambda_return(c);
    wk_cpu_lambda_return(&p, c->in[0], c->in[1], c->out[0], c->pool);
}

void wk_cpu_call_lambda_return_grad(const wk_cpu_call *c)
{
    const wk_lambda_return p = lambda_return(c);
    wk_cpu_lambda_return_backward(&p, c->in[0], c->out[0], c->out[1], c->pool);
}

void wk_cpu_call_disagreement(const wk_cpu_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    wk_rows r = wk_rows_of(x, x.dim[0]);
    wk_cpu_disagreement(c->node->attrs.disagreement.kind, r.stacks, r.rows, r.cols,
                        c->node->attrs.disagreement.scale, c->in[0], c->out[0], c->pool);
}

void wk_cpu_call_disagreement_grad(const wk_cpu_call *c)
{
    wk_shape x = wk_call_input_shape(c, 0);
    wk_rows r = wk_rows_of(x, x.dim[0]);
    wk_cpu_disagreement_backward(c->node->attrs.disagreement.kind, r.stacks, r.rows, r.cols,
                                 c->node->attrs.disagreement.scale, c->in[0], c->in[1], c->out[0],
                                 c->pool);
}
