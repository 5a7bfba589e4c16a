// Elementwise arithmetic and reductions, forward and backward.
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

BUILD(add, wk_graph_add(g, x[0], x[1]))
BUILD(mul, wk_graph_mul(g, x[0], x[1]))

// A tensor used as both operands and once more: its three contributions are added.
BUILD(square, wk_graph_add(g, wk_graph_mul(g, x[0], x[0]), x[0]))

EACH(add, x[0][i] + x[1][i])
EACH(mul, x[0][i] * x[1][i])
EACH(square, x[0][i] * x[0][i] + x[0][i])

static wk_tensor build_add_n(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor terms[] = {x[0], x[1], x[0], x[2]};
    return wk_graph_add_n(g, terms, 4);
}

EACH(add_n, 2 * x[0][i] + x[1][i] + x[2][i])

BUILD(affine, wk_graph_affine(g, x[0], -3, 0.5f))

EACH(affine, -3 * x[0][i] + 0.5)

BUILD(clamp_min, wk_graph_clamp_min(g, x[0], 0.25f))

EACH(clamp_min, fmax(x[0][i], 0.25))

BUILD(scale_rows, wk_graph_scale_rows(g, x[0], wk_graph_stop_gradient(g, x[1])))

static void scale_rows(const op_case *c, const double *const *x, double *y)
{
    size_t cols = op_count(c, 0) / op_count(c, 1);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i] = x[0][i] * x[1][i / cols];
}

BUILD(mean_first, wk_graph_mean(g, x[0], 0))
BUILD(mean_middle, wk_graph_mean(g, x[0], 1))
BUILD(mean_last, wk_graph_mean(g, x[0], 2))
BUILD(mean_all, wk_graph_mean_all(g, x[0]))
BUILD(sum_all, wk_graph_sum_all(g, x[0]))

// The mean over one axis of [A,B,C].
static void mean_axis(const op_case *c, const double *x, int axis, double *y)
{
    const int *n = c->shapes[0].dim;
    for (int i = 0; i < n[0]; i++)
        for (int j = 0; j < n[1]; j++)
            for (int k = 0; k < n[2]; k++) {
                int at = axis == 0 ? j * n[2] + k : axis == 1 ? i * n[2] + k : i * n[1] + j;
                y[at] += x[(i * n[1] + j) * n[2] + k] / n[axis];
            }
}

static void mean_first(const op_case *c, const double *const *x, double *y)
{
    mean_axis(c, x[0], 0, y);
}

static void mean_middle(const op_case *c, const double *const *x, double *y)
{
    mean_axis(c, x[0], 1, y);
}

static void mean_last(const op_case *c, const double *const *x, double *y)
{
    mean_axis(c, x[0], 2, y);
}

static void sum_all(const op_case *c, const double *const *x, double *y)
{
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[0] += x[0][i];
}

static void mean_all(const op_case *c, const double *const *x, double *y)
{
    sum_all(c, x, y);
    y[0] /= (double)op_count(c, 0);
}

static const op_case cases[] = {
    OP_CASE("add", build_add, add, .shapes = {OP_SHAPE(3, 7), OP_SHAPE(3, 7)}),
    OP_CASE("mul", build_mul, mul, .shapes = {OP_SHAPE(1), OP_SHAPE(1)}),
    OP_CASE("mul in five axes", build_mul, mul,
            .shapes = {OP_SHAPE(2, 1, 3, 1, 5), OP_SHAPE(2, 1, 3, 1, 5)}),
    OP_CASE("a tensor used three times", build_square, square, .shapes = {OP_SHAPE(17)}),
    OP_CASE("add_n", build_add_n, add_n,
            .shapes = {OP_SHAPE(5, 3), OP_SHAPE(5, 3), OP_SHAPE(5, 3)}),
    OP_CASE("affine", build_affine, affine, .shapes = {OP_SHAPE(5, 3)}),
    OP_CASE("at least", build_clamp_min, clamp_min, .shapes = {OP_SHAPE(41)}),
    OP_CASE("scale rows", build_scale_rows, scale_rows, .shapes = {OP_SHAPE(5, 3), OP_SHAPE(5)},
            .constants = 2),
    OP_CASE("scale rows by a column", build_scale_rows, scale_rows,
            .shapes = {OP_SHAPE(5, 7), OP_SHAPE(5, 1)}, .constants = 2),
    OP_CASE("scale rows of a stack", build_scale_rows, scale_rows,
            .shapes = {OP_SHAPE(2, 3, 7), OP_SHAPE(2, 3)}, .constants = 2),
    OP_CASE("mean over the first axis", build_mean_first, mean_first,
            .shapes = {OP_SHAPE(3, 5, 7)}),
    OP_CASE("mean over the middle axis", build_mean_middle, mean_middle,
            .shapes = {OP_SHAPE(3, 5, 7)}),
    OP_CASE("mean over the last axis", build_mean_last, mean_last, .shapes = {OP_SHAPE(3, 5, 7)}),
    OP_CASE("mean over an axis of one", build_mean_middle, mean_middle,
            .shapes = {OP_SHAPE(3, 1, 2)}),
    OP_CASE("sum of all", build_sum_all, sum_all, .shapes = {OP_SHAPE(53)}),
    OP_CASE("mean of all", build_mean_all, mean_all, .shapes = {OP_SHAPE(11, 13)}),
};

TEST_CASE(arithmetic_matches_its_references)
{
    static const wk_op ops[] = {FAMILY_ARITHMETIC(FAMILY_OP)};
    op_check_all(cases, sizeof cases / sizeof *cases, ops, sizeof ops / sizeof *ops);
}

TEST_MAIN(NULL, NULL)
