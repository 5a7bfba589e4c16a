// Convolutions against their definition in double. The three functions are one bilinear form
// L = sum over (pixel, kernel place, channels) of large * w * small, so each is checked as the
// derivative of L to one of its arguments.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

typedef struct conv_call {
    wk_conv p;
    const float *large, *small, *w, *bias;
    wk_activation act;
    float *y;
    void *workspace;
} conv_call;

RUN(run_conv, conv_call *c,
    wk_cpu_conv(&c->p, c->large, c->w, c->bias, c->act, c->y, c->workspace, pool))
RUN(run_transposed, conv_call *c,
    wk_cpu_conv_transposed(&c->p, c->small, c->w, c->bias, c->act, c->y, c->workspace, pool))
RUN(run_weights, conv_call *c,
    wk_cpu_conv_weights(&c->p, c->large, c->small, c->y, c->workspace, pool))

typedef struct sizes {
    size_t small, large_n, small_n, weights;
} sizes;

static sizes sizes_of(const wk_conv *p)
{
    size_t s = wk_conv_small(p);
    return (sizes){s, p->batch * p->large * p->large * p->large_c, p->batch * s * s * p->small_c,
                   p->kernel * p->kernel * p->large_c * p->small_c};
}

// Adds the derivatives of L to whichever output is given.
static void form(const wk_conv *p, const float *large, const float *small, const float *w,
                 double *dlarge, double *dsmall, double *dw)
{
    size_t s = wk_conv_small(p);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t y = 0; y < s * s; y++)
            for (size_t k = 0; k < p->kernel * p->kernel; k++)
                for (size_t i = 0; i < p->large_c; i++)
                    for (size_t o = 0; o < p->small_c; o++) {
                        size_t row = y / s * p->stride + k / p->kernel;
                        size_t col = y % s * p->stride + k % p->kernel;
                        size_t at_l = ((b * p->large + row) * p->large + col) * p->large_c + i;
                        size_t at_s = (b * s * s + y) * p->small_c + o;
                        size_t at_w = (k * p->large_c + i) * p->small_c + o;
                        if (dlarge) dlarge[at_l] += (double)w[at_w] * small[at_s];
                        if (dsmall) dsmall[at_s] += (double)w[at_w] * large[at_l];
                        if (dw) dw[at_w] += (double)large[at_l] * small[at_s];
                    }
}

static double activate(wk_activation act, double x)
{
    return act == WK_ELU ? (x > 0 ? x : expm1(x)) : x;
}

static void finish(double *y, size_t n, size_t channels, const float *bias, wk_activation act)
{
    for (size_t i = 0; i < n; i++)
        y[i] = activate(act, y[i] + (bias ? bias[i % channels] : 0));
}

static void check_conv(wk_conv p, uint64_t seed)
{
    arrays a = arrays_new(seed);
    sizes n = sizes_of(&p);
    float *large = new_input(&a, n.large_n, -1, 1), *small = new_input(&a, n.small_n, -1, 1);
    float *w = new_input(&a, n.weights, -0.5, 0.5);
    float *bias_small = new_input(&a, p.small_c, -1, 1),
          *bias_large = new_input(&a, p.large_c, -1, 1);
    float *y_small = new_output(&a, n.small_n), *y_large = new_output(&a, n.large_n);
    float *dw = new_input(&a, n.weights, -1, 1);
    float *workspace = new_output(&a, wk_cpu_conv_workspace(&p, 3) / sizeof(float));
    double *zeros_small = exact_of(&a, small, n.small_n),
           *zeros_large = exact_of(&a, large, n.large_n);
    double *expected_dw = exact_of(&a, dw, n.weights);
    memset(expected_dw, 0, n.weights * sizeof(double));
    memset(zeros_small, 0, n.small_n * sizeof(double));
    memset(zeros_large, 0, n.large_n * sizeof(double));
    form(&p, large, small, w, zeros_large, zeros_small, expected_dw);
    finish(zeros_small, n.small_n, p.small_c, bias_small, WK_ELU);
    finish(zeros_large, n.large_n, p.large_c, bias_large, WK_IDENTITY);

    conv_call c = {p, large, small, w, bias_small, WK_ELU, y_small, workspace};
    kernel_call call = {run_conv, &c, {{y_small, n.small_n}}};
    run_on_all_threads(&call);
    check_close("conv", n.small_n, y_small, zeros_small, 2e-5, 1e-6);

    c.bias = bias_large, c.act = WK_IDENTITY, c.y = y_large;
    call = (kernel_call){run_transposed, &c, {{y_large, n.large_n}}};
    run_on_all_threads(&call);
    check_close("transposed", n.large_n, y_large, zeros_large, 2e-5, 1e-6);

    c.y = dw;
    call = (kernel_call){run_weights, &c, {{dw, n.weights}}};
    run_on_all_threads(&call);
    check_close("weights", n.weights, dw, expected_dw, 1e-4, 1e-6);
    arrays_release(&a);
}

TEST_CASE(every_layer_shape_of_the_models_matches_its_definition)
{
    wk_conv shapes[] = {{2, 64, 3, 5, 4, 2}, {3, 31, 5, 7, 4, 2}, {5, 14, 7, 6, 4, 2},
                        {9, 6, 6, 11, 4, 2}, {4, 5, 6, 13, 5, 2}, {3, 13, 4, 6, 5, 2},
                        {2, 30, 3, 4, 6, 2}, {2, 64, 3, 2, 6, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_conv(shapes[i], 1 + i);
}

TEST_CASE(odd_shapes_match_too)
{
    wk_conv shapes[] = {{1, 1, 1, 1, 1, 1},  {1, 7, 1, 1, 2, 3},  {2, 9, 3, 2, 4, 2},
                        {3, 8, 2, 3, 3, 1},  {0, 6, 3, 4, 4, 2},  {1, 6, 17, 19, 4, 2},
                        {40, 6, 2, 3, 4, 2}, {1, 10, 40, 3, 4, 2}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        check_conv(shapes[i], 20 + i);
}

// Above half a million weights the gradient is cut by kernel rows instead of by images.
TEST_CASE(large_weights_take_the_other_path_and_match)
{
    check_conv((wk_conv){3, 6, 190, 180, 4, 2}, 40);
}

TEST_MAIN(NULL, NULL)
