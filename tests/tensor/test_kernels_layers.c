// Bias and activation, layer norm and the GRU cell: forward against formulas in double, backward
// against central differences of those formulas.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double activate(wk_activation act, double x)
{
    switch (act) {
    case WK_ELU:
        return x > 0 ? x : expm1(x);
    case WK_TANH:
        return tanh(x);
    case WK_SIGMOID:
        return sigmoid(x);
    default:
        return x;
    }
}

// Bias and activation.
typedef struct dense {
    wk_bias_act p;
    const float *x, *bias, *dy;
    float *y, *dx, *dbias;
    double *exact_x, *exact_bias;
} dense;

RUN(run_dense, dense *d, wk_cpu_bias_act(&d->p, d->x, d->bias, d->y, pool))
RUN(run_dense_backward, dense *d,
    wk_cpu_bias_act_backward(&d->p, d->y, d->dy, d->dx, d->dbias, pool))

static double dense_value(const dense *d, size_t i)
{
    size_t stack = i / d->p.cols / d->p.rows;
    double bias = d->bias ? d->exact_bias[stack * d->p.bias_stride + i % d->p.cols] : 0;
    return activate(d->p.act, d->exact_x[i] + bias);
}

static double dense_loss(void *context)
{
    dense *d = context;
    double loss = 0;
    for (size_t i = 0; i < d->p.stacks * d->p.rows * d->p.cols; i++)
        loss += d->dy[i] * dense_value(d, i);
    return loss;
}

static void check_dense(wk_bias_act p, bool with_bias, uint64_t seed)
{
    arrays a = arrays_new(seed);
    size_t n = p.stacks * p.rows * p.cols, biases = p.bias_stride ? p.stacks * p.cols : p.cols;
    dense d = {.p = p};
    d.x = new_input(&a, n, -3, 3);
    d.bias = with_bias ? new_input(&a, biases, -1, 1) : NULL;
    d.dy = new_input(&a, n, -1, 1);
    d.y = new_output(&a, n), d.dx = new_output(&a, n);
    d.dbias = with_bias ? new_output(&a, biases) : NULL;
    d.exact_x = exact_of(&a, d.x, n);
    if (with_bias) d.exact_bias = exact_of(&a, d.bias, biases);
    kernel_call call = {run_dense, &d, {{d.y, n}}};
    run_on_all_threads(&call);
    double *expected = exact_of(&a, d.x, n);
    for (size_t i = 0; i < n; i++)
        expected[i] = dense_value(&d, i);
    check_close("y", n, d.y, expected, 1e-7, 4e-7);
    call = (kernel_call){run_dense_backward, &d, {{d.dx, n}, {d.dbias, with_bias ? biases : 0}}};
    run_on_all_threads(&call);
    check_gradient("x", dense_loss, &d, d.exact_x, n, d.dx, 2e-6, 1e-6);
    if (with_bias)
        check_gradient("bias", dense_loss, &d, d.exact_bias, biases, d.dbias,
                       1e-5 * (1 + sqrt((double)(p.stacks * p.rows))), 1e-6);
    arrays_release(&a);
}

TEST_CASE(bias_and_activation_match_their_formulas_and_gradients)
{
    uint64_t seed = 1;
    for (wk_activation act = WK_IDENTITY; act <= WK_SIGMOID; act++) {
        check_dense((wk_bias_act){1, 1, 1, 0, act}, true, seed++);
        check_dense((wk_bias_act){1, 37, 3, 0, act}, true, seed++);
        check_dense((wk_bias_act){3, 5, 7, 7, act}, true, seed++);
        check_dense((wk_bias_act){3, 5, 7, 0, act}, true, seed++);
        check_dense((wk_bias_act){2, 3, 67, 67, act}, false, seed++);
        check_dense((wk_bias_act){1, 2, 521, 0, act}, true, seed++);
        check_dense((wk_bias_act){1, 0, 5, 0, act}, true, seed++);
    }
}

// Enough rows for several ranges and for chunks of the bias gradient.
TEST_CASE(tall_arrays_keep_their_bits_on_any_number_of_threads)
{
    size_t shapes[][2] = {{70001, 3}, {3001, 48}, {401, 700}};
    for (size_t i = 0; i < 3; i++) {
        arrays a = arrays_new(50 + i);
        size_t n = shapes[i][0] * shapes[i][1], cols = shapes[i][1];
        dense d = {.p = {1, shapes[i][0], cols, 0, WK_ELU}};
        d.x = new_input(&a, n, -3, 3), d.bias = new_input(&a, cols, -1, 1);
        d.dy = new_input(&a, n, -1, 1), d.y = new_output(&a, n), d.dx = new_output(&a, n);
        d.dbias = new_output(&a, cols);
        kernel_call call = {run_dense, &d, {{d.y, n}}};
        run_on_all_threads(&call);
        call = (kernel_call){run_dense_backward, &d, {{d.dx, n}, {d.dbias, cols}}};
        run_on_all_threads(&call);
        double *sums = exact_of(&a, d.bias, cols);
        memset(sums, 0, cols * sizeof *sums);
        for (size_t k = 0; k < n; k++)
            sums[k % cols] += d.dx[k];
        check_close("dbias", cols, d.dbias, sums, 1e-4, 1e-6);
        arrays_release(&a);
    }
}

TEST_CASE(activation_keeps_infinities_and_not_a_number)
{
    float x[] = {INFINITY, -INFINITY, NAN, -0.0f}, y[4];
    wk_bias_act p = {1, 1, 4, 0, WK_ELU};
    wk_cpu_bias_act(&p, x, NULL, y, NULL);
    assert_true(isinf(y[0]) && y[1] == -1.0f && isnan(y[2]) && y[3] == 0.0f);
}

// Normalises x + shift over n numbers into y, without gain and bias.
static void normalise(size_t n, const double *x, const double *shift, double eps, double *y)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += (x[i] + shift[i]) / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow(x[i] + shift[i] - mean, 2) / (double)n;
    for (size_t i = 0; i < n; i++)
        y[i] = (x[i] + shift[i] - mean) / sqrt(variance + eps);
}

// The GRU cell.
typedef struct gru {
    wk_gru p;
    const float *pre, *h, *dout;
    wk_gru_params params;
    wk_gru_grads grads;
    float *out, *mean, *rstd, *dpre, *dh;
    void *workspace;
    double *exact_pre, *exact_h, *exact_gate_bias, *exact_gain, *exact_bias;
} gru;

RUN(run_gru, gru *g, wk_cpu_gru(&g->p, g->pre, &g->params, g->h, g->out, g->mean, g->rstd, pool))
RUN(run_gru_backward, gru *g,
    wk_cpu_gru_backward(&g->p, g->pre, &g->params, g->h, g->mean, g->rstd, g->dout, g->dpre, g->dh,
                        &g->grads, g->workspace, pool))

static void gru_row(const gru *g, size_t row, double *out)
{
    size_t n = g->p.hidden, set = row / g->p.rows * g->p.param_stride;
    double parts[3 * 701];
    normalise(3 * n, g->exact_pre + row * 3 * n, g->exact_gate_bias + set, g->p.eps, parts);
    for (size_t i = 0; i < 3 * n; i++)
        parts[i] = parts[i] * g->exact_gain[set + i] + g->exact_bias[set + i];
    for (size_t i = 0; i < n; i++) {
        double c = tanh(sigmoid(parts[i]) * parts[n + i]);
        double u = sigmoid(parts[2 * n + i] + g->p.update_bias);
        out[i] = u * c + (1 - u) * g->exact_h[row * n + i];
    }
}

static double gru_loss(void *context)
{
    gru *g = context;
    double loss = 0, out[701];
    for (size_t r = 0; r < g->p.stacks * g->p.rows; r++) {
        gru_row(g, r, out);
        for (size_t i = 0; i < g->p.hidden; i++)
            loss += out[i] * g->dout[r * g->p.hidden + i];
    }
    return loss;
}

static void check_gru_gradients(gru *g, size_t rows, size_t params)
{
    size_t n = g->p.hidden;
    check_gradient("pre", gru_loss, g, g->exact_pre, rows * 3 * n, g->dpre, 2e-5, 1e-5);
    check_gradient("h", gru_loss, g, g->exact_h, rows * n, g->dh, 2e-6, 1e-5);
    check_gradient("gain", gru_loss, g, g->exact_gain, params, g->grads.gain, 2e-5, 1e-5);
    check_gradient("bias", gru_loss, g, g->exact_bias, params, g->grads.bias, 2e-5, 1e-5);
    check_gradient("gate bias", gru_loss, g, g->exact_gate_bias, params, g->grads.gate_bias, 2e-5,
                   1e-5);
}

static void check_gru(wk_gru p, uint64_t seed)
{
    arrays a = arrays_new(seed);
    size_t n = p.hidden, rows = p.stacks * p.rows;
    size_t params = p.param_stride ? p.stacks * 3 * n : 3 * n;
    gru g = {.p = p};
    g.pre = new_input(&a, rows * 3 * n, -2, 2), g.h = new_input(&a, rows * n, -1, 1);
    float *gate_bias = new_input(&a, params, -1, 1), *gain = new_input(&a, params, 0.5, 1.5);
    float *bias = new_input(&a, params, -1, 1);
    g.params = (wk_gru_params){gate_bias, gain, bias};
    g.grads =
        (wk_gru_grads){new_output(&a, params), new_output(&a, params), new_output(&a, params)};
    g.dout = new_input(&a, rows * n, -1, 1), g.out = new_output(&a, rows * n);
    g.mean = new_output(&a, rows), g.rstd = new_output(&a, rows);
    g.dpre = new_output(&a, rows * 3 * n), g.dh = new_output(&a, rows * n);
    g.workspace = new_output(&a, wk_cpu_gru_backward_workspace(&p) / sizeof(float));
    g.exact_pre = exact_of(&a, g.pre, rows * 3 * n), g.exact_h = exact_of(&a, g.h, rows * n);
    g.exact_gate_bias = exact_of(&a, gate_bias, params);
    g.exact_gain = exact_of(&a, gain, params), g.exact_bias = exact_of(&a, bias, params);
    kernel_call call = {run_gru, &g, {{g.out, rows * n}, {g.mean, rows}, {g.rstd, rows}}};
    run_on_all_threads(&call);
    double out[701];
    for (size_t r = 0; r < rows; r++) {
        gru_row(&g, r, out);
        check_close("out", n, g.out + r * n, out, 2e-6, 1e-6);
    }
    call = (kernel_call){run_gru_backward,
                         &g,
                         {{g.dpre, rows * 3 * n},
                          {g.dh, rows * n},
                          {g.grads.gain, params},
                          {g.grads.bias, params},
                          {g.grads.gate_bias, params}}};
    run_on_all_threads(&call);
    if (rows * n < 1000) check_gru_gradients(&g, rows, params);
    arrays_release(&a);
}

TEST_CASE(gru_cell_matches_its_formula_and_gradients)
{
    check_gru((wk_gru){1, 1, 1, 0, 1e-3f, -1}, 1);
    check_gru((wk_gru){1, 3, 5, 0, 1e-3f, -1}, 2);
    check_gru((wk_gru){2, 3, 13, 39, 1e-3f, -1}, 4);
    check_gru((wk_gru){2, 3, 13, 0, 1e-3f, 0}, 5);
    check_gru((wk_gru){1, 97, 600, 0, 1e-3f, -1}, 6);
    check_gru((wk_gru){1, 0, 7, 0, 1e-3f, -1}, 7);
}

TEST_MAIN(NULL, NULL)
