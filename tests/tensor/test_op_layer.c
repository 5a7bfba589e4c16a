// The layers, forward and backward, with and without a stack axis.
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

BUILD(matmul, wk_graph_matmul(g, x[0], x[1]))

// Either operand may be one matrix for the whole stack.
static void matmul(const op_case *c, const double *const *x, double *y)
{
    wk_shape a = c->shapes[0], b = c->shapes[1];
    int stack_a = a.rank == 3 ? a.dim[0] : 1, stack_b = b.rank == 3 ? b.dim[0] : 1;
    int stack = stack_a > stack_b ? stack_a : stack_b;
    int m = a.dim[a.rank - 2], k = a.dim[a.rank - 1], n = b.dim[b.rank - 1];
    for (int s = 0; s < stack; s++)
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++)
                for (int l = 0; l < k; l++)
                    y[(s * m + i) * n + j] += x[0][((stack_a > 1 ? s : 0) * m + i) * k + l] *
                                              x[1][((stack_b > 1 ? s : 0) * k + l) * n + j];
}

// One weight used three times over few rows: its gradient is one joined product.
static wk_tensor build_recurrence(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor h = x[0];
    for (int t = 0; t < 3; t++)
        h = wk_graph_bias_act(g, wk_graph_matmul(g, h, x[1]), x[2], WK_TANH);
    return h;
}

static void recurrence(const op_case *c, const double *const *x, double *y)
{
    int rows = op_dim(c, 0, 0), n = op_dim(c, 0, 1);
    double h[64], next[64];
    memcpy(h, x[0], (size_t)(rows * n) * sizeof *h);
    for (int t = 0; t < 3; t++) {
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < n; j++) {
                double sum = x[2][j];
                for (int k = 0; k < n; k++)
                    sum += h[i * n + k] * x[1][k * n + j];
                next[i * n + j] = tanh(sum);
            }
        memcpy(h, next, sizeof h);
    }
    memcpy(y, h, (size_t)(rows * n) * sizeof *h);
}

// The same weight over many rows twice: products are added up.
static wk_tensor build_shared_weight(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor a = wk_graph_bias_act(g, wk_graph_matmul(g, x[0], x[2]), x[3], WK_ELU);
    wk_tensor b = wk_graph_bias_act(g, wk_graph_matmul(g, x[1], x[2]), x[3], WK_IDENTITY);
    return wk_graph_add(g, a, b);
}

static void shared_weight(const op_case *c, const double *const *x, double *y)
{
    wk_shape w = c->shapes[2];
    int stack = w.rank == 3 ? w.dim[0] : 1, k = w.dim[w.rank - 2], n = w.dim[w.rank - 1];
    int rows = (int)op_count(c, 0) / k / stack;
    for (int s = 0; s < stack; s++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < n; j++) {
                double a = x[3][s * n + j], b = a;
                for (int l = 0; l < k; l++) {
                    a += x[0][(s * rows + i) * k + l] * x[2][(s * k + l) * n + j];
                    b += x[1][(s * rows + i) * k + l] * x[2][(s * k + l) * n + j];
                }
                y[(s * rows + i) * n + j] = (a > 0 ? a : expm1(a)) + b;
            }
}

BUILD(elu, wk_graph_bias_act(g, x[0], x[1], WK_ELU))
BUILD(sigmoid, wk_graph_bias_act(g, x[0], x[1], WK_SIGMOID))
BUILD(tanh, wk_graph_activate(g, x[0], WK_TANH))

static void bias(const op_case *c, const double *const *x, double *y)
{
    wk_shape b = c->shapes[1];
    size_t n = (size_t)b.dim[b.rank - 1], stack = op_count(c, 1) / n, count = op_count(c, 0);
    for (size_t i = 0; i < count; i++)
        y[i] = x[0][i] + x[1][i / (count / stack) * n + i % n];
}

static void elu(const op_case *c, const double *const *x, double *y)
{
    bias(c, x, y);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i] = y[i] > 0 ? y[i] : expm1(y[i]);
}

static void sigmoid(const op_case *c, const double *const *x, double *y)
{
    bias(c, x, y);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i] = 1 / (1 + exp(-y[i]));
}

EACH(hyperbolic_tangent, tanh(x[0][i]))

BUILD(conv, wk_graph_conv(g, x[0], x[1], x[2], 2, WK_ELU))
BUILD(conv_plain, wk_graph_conv(g, x[0], x[1], (wk_tensor){0}, 2, WK_IDENTITY))
BUILD(deconv, wk_graph_deconv(g, x[0], x[1], x[2], 2, WK_ELU))
BUILD(deconv_plain, wk_graph_deconv(g, x[0], x[1], (wk_tensor){0}, 2, WK_IDENTITY))

enum { STRIDE = 2 };

// One stack member; x [B,H,H,C], w [K,K,C,D].
static void conv_one(const int *image, const int *weights, const double *x, const double *w,
                     double *y)
{
    int h = image[1], channels = image[3], k = weights[0], d = weights[3];
    int out = (h - k) / STRIDE + 1;
    for (int b = 0; b < image[0]; b++)
        for (int i = 0; i < out * out; i++)
            for (int o = 0; o < d; o++)
                for (int p = 0; p < k * k; p++)
                    for (int ch = 0; ch < channels; ch++) {
                        int row = i / out * STRIDE + p / k, col = i % out * STRIDE + p % k;
                        y[(b * out * out + i) * d + o] +=
                            x[((b * h + row) * h + col) * channels + ch] *
                            w[(p * channels + ch) * d + o];
                    }
}

// One stack member; x [B,H,H,C], w [K,K,D,C].
static void deconv_one(const int *image, const int *weights, const double *x, const double *w,
                       double *y)
{
    int h = image[1], channels = image[3], k = weights[0], d = weights[2];
    int out = (h - 1) * STRIDE + k;
    for (int b = 0; b < image[0]; b++)
        for (int i = 0; i < h * h; i++)
            for (int o = 0; o < d; o++)
                for (int p = 0; p < k * k; p++)
                    for (int ch = 0; ch < channels; ch++) {
                        int row = i / h * STRIDE + p / k, col = i % h * STRIDE + p % k;
                        y[((b * out + row) * out + col) * d + o] +=
                            x[(b * h * h + i) * channels + ch] * w[(p * d + o) * channels + ch];
                    }
}

typedef void one_conv(const int *image, const int *weights, const double *x, const double *w,
                      double *y);

static void conv_stack(const op_case *c, const double *const *x, double *y, one_conv *one, int out,
                       int d)
{
    wk_shape image = c->shapes[0], w = c->shapes[1];
    size_t stack = image.rank == 5 ? (size_t)image.dim[0] : 1;
    size_t batch = (size_t)image.dim[image.rank - 4];
    size_t size = batch * (size_t)(out * out * d);
    for (size_t s = 0; s < stack; s++)
        one(image.dim + image.rank - 4, w.dim + w.rank - 4, x[0] + s * op_count(c, 0) / stack,
            x[1] + s * op_count(c, 1) / stack, y + s * size);
    if (!c->shapes[2].rank) return;
    for (size_t i = 0; i < stack * size; i++) {
        double v = y[i] + x[2][i / size * (size_t)d + i % (size_t)d];
        y[i] = v > 0 ? v : expm1(v);
    }
}

static void conv(const op_case *c, const double *const *x, double *y)
{
    wk_shape image = c->shapes[0], w = c->shapes[1];
    int out = (image.dim[image.rank - 2] - w.dim[w.rank - 4]) / STRIDE + 1;
    conv_stack(c, x, y, conv_one, out, w.dim[w.rank - 1]);
}

static void deconv(const op_case *c, const double *const *x, double *y)
{
    wk_shape image = c->shapes[0], w = c->shapes[1];
    int out = (image.dim[image.rank - 2] - 1) * STRIDE + w.dim[w.rank - 4];
    conv_stack(c, x, y, deconv_one, out, w.dim[w.rank - 2]);
}

static void normalise(const double *x, size_t n, const double *gain, const double *offset,
                      double *y)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        y[i] = gain[i] * (x[i] - mean) / sqrt(variance + (double)1e-3f) + offset[i];
}

BUILD(gru, wk_graph_gru(g, x[0], x[1], x[2], x[3], x[4], 1e-3f))

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

static void gru(const op_case *c, const double *const *x, double *y)
{
    wk_shape h = c->shapes[4];
    size_t d = (size_t)h.dim[h.rank - 1], rows = op_count(c, 4) / d, n = 3 * d;
    size_t stack = op_count(c, 1) / n;
    double pre[64], parts[64];
    for (size_t i = 0; i < rows; i++) {
        size_t at = i / (rows / stack) * n;
        for (size_t j = 0; j < n; j++)
            pre[j] = x[0][i * n + j] + x[1][at + j];
        normalise(pre, n, x[2] + at, x[3] + at, parts);
        for (size_t j = 0; j < d; j++) {
            double reset = logistic(parts[j]), candidate = tanh(reset * parts[d + j]);
            double update = logistic(parts[2 * d + j] - 1);
            y[i * d + j] = update * candidate + (1 - update) * x[4][i * d + j];
        }
    }
}

static const op_case cases[] = {
    OP_CASE("matmul", build_matmul, matmul, .shapes = {OP_SHAPE(5, 7), OP_SHAPE(7, 3)}),
    OP_CASE("matmul of one", build_matmul, matmul, .shapes = {OP_SHAPE(1, 1), OP_SHAPE(1, 1)}),
    OP_CASE("matmul of stacks", build_matmul, matmul,
            .shapes = {OP_SHAPE(3, 5, 7), OP_SHAPE(3, 7, 2)}),
    OP_CASE("matmul, left shared", build_matmul, matmul,
            .shapes = {OP_SHAPE(5, 7), OP_SHAPE(3, 7, 2)}),
    OP_CASE("matmul, left shared as a stack of one", build_matmul, matmul,
            .shapes = {OP_SHAPE(1, 5, 7), OP_SHAPE(3, 7, 2)}),
    OP_CASE("matmul, right shared", build_matmul, matmul,
            .shapes = {OP_SHAPE(3, 5, 7), OP_SHAPE(7, 2)}),
    OP_CASE("matmul, right shared as a stack of one", build_matmul, matmul,
            .shapes = {OP_SHAPE(3, 5, 7), OP_SHAPE(1, 7, 2)}),
    OP_CASE("recurrence", build_recurrence, recurrence,
            .shapes = {OP_SHAPE(2, 5), OP_SHAPE(5, 5), OP_SHAPE(5)}),
    OP_CASE("one weight over many rows", build_shared_weight, shared_weight,
            .shapes = {OP_SHAPE(300, 2), OP_SHAPE(300, 2), OP_SHAPE(2, 3), OP_SHAPE(3)}),
    OP_CASE("one stack of weights twice", build_shared_weight, shared_weight,
            .shapes = {OP_SHAPE(3, 5, 2), OP_SHAPE(3, 5, 2), OP_SHAPE(3, 2, 7), OP_SHAPE(3, 7)}),
    OP_CASE("bias and elu", build_elu, elu, .shapes = {OP_SHAPE(5, 7), OP_SHAPE(7)}),
    OP_CASE("bias and elu, bias [1,N]", build_elu, elu, .shapes = {OP_SHAPE(1, 7), OP_SHAPE(1, 7)}),
    OP_CASE("bias and elu of a stack", build_elu, elu,
            .shapes = {OP_SHAPE(3, 5, 2), OP_SHAPE(3, 2)}),
    OP_CASE("bias and sigmoid over many rows", build_sigmoid, sigmoid,
            .shapes = {OP_SHAPE(311, 3), OP_SHAPE(3)}),
    OP_CASE("tanh", build_tanh, hyperbolic_tangent, .shapes = {OP_SHAPE(3, 11)}),
    OP_CASE("conv", build_conv, conv,
            .shapes = {OP_SHAPE(2, 8, 8, 3), OP_SHAPE(4, 4, 3, 5), OP_SHAPE(5)}),
    OP_CASE("conv with a remainder", build_conv, conv,
            .shapes = {OP_SHAPE(3, 7, 7, 1), OP_SHAPE(4, 4, 1, 2), OP_SHAPE(2)}),
    OP_CASE("conv without bias", build_conv_plain, conv,
            .shapes = {OP_SHAPE(1, 5, 5, 2), OP_SHAPE(5, 5, 2, 3)}),
    OP_CASE("conv of a stack", build_conv, conv,
            .shapes = {OP_SHAPE(2, 3, 6, 6, 2), OP_SHAPE(2, 4, 4, 2, 3), OP_SHAPE(2, 3)}),
    OP_CASE("deconv", build_deconv, deconv,
            .shapes = {OP_SHAPE(2, 2, 2, 3), OP_SHAPE(5, 5, 4, 3), OP_SHAPE(4)}),
    OP_CASE("deconv, kernel 6", build_deconv_plain, deconv,
            .shapes = {OP_SHAPE(3, 3, 3, 2), OP_SHAPE(6, 6, 1, 2)}),
    OP_CASE("deconv of a stack", build_deconv, deconv,
            .shapes = {OP_SHAPE(2, 2, 1, 1, 3), OP_SHAPE(2, 5, 5, 2, 3), OP_SHAPE(2, 2)}),
    OP_CASE("gru", build_gru, gru,
            .shapes = {OP_SHAPE(4, 15), OP_SHAPE(15), OP_SHAPE(15), OP_SHAPE(15), OP_SHAPE(4, 5)}),
    OP_CASE("gru of a stack", build_gru, gru,
            .shapes = {OP_SHAPE(2, 3, 6), OP_SHAPE(2, 6), OP_SHAPE(2, 6), OP_SHAPE(2, 6),
                       OP_SHAPE(2, 3, 2)}),
};

TEST_CASE(layers_match_their_references)
{
    static const wk_op ops[] = {FAMILY_LAYER(FAMILY_OP)};
    op_check_all(cases, sizeof cases / sizeof *cases, ops, sizeof ops / sizeof *ops);
}

TEST_MAIN(NULL, NULL)
