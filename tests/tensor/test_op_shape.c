// The ops that move and combine elements, forward and backward.
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

BUILD(reshape, wk_graph_reshape(g, x[0], WK_SHAPE(3, 1, 10)))

EACH(copy_all, x[0][i])

BUILD(stop, wk_graph_stop_gradient(g, x[0]))

// Two overlapping slices along the last axis, added: every element with its own number of uses.
static wk_tensor build_slices(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor a = wk_graph_slice(g, x[0], 1, 1, 3), b = wk_graph_slice(g, x[0], 1, 2, 3);
    return wk_graph_add(g, a, b);
}

static void slices(const op_case *c, const double *const *x, double *y)
{
    int rows = op_dim(c, 0, 0), cols = op_dim(c, 0, 1);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < 3; j++)
            y[i * 3 + j] = x[0][i * cols + 1 + j] + x[0][i * cols + 2 + j];
}

// Slices of the leading axis are views; the rows 0 and 4 are never used.
static wk_tensor build_leading_slices(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor a = wk_graph_slice(g, x[0], 0, 1, 1), b = wk_graph_slice(g, x[0], 0, 3, 1);
    return wk_graph_mul(g, a, b);
}

static void leading_slices(const op_case *c, const double *const *x, double *y)
{
    int cols = op_dim(c, 0, 1);
    for (int j = 0; j < cols; j++)
        y[j] = x[0][cols + j] * x[0][3 * cols + j];
}

BUILD(concat_last, wk_graph_concat(g, x, 3, 1))

static void concat_last(const op_case *c, const double *const *x, double *y)
{
    for (int i = 0; i < op_dim(c, 0, 0); i++)
        for (int part = 0; part < 3; part++)
            for (int j = 0; j < op_dim(c, part, 1); j++)
                *y++ = x[part][i * op_dim(c, part, 1) + j];
}

// The middle input is a temporary that is produced in its place.
static wk_tensor build_concat_first(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor parts[] = {x[0], wk_graph_affine(g, x[1], 2, 1), x[0]};
    return wk_graph_concat(g, parts, 3, 0);
}

static void concat_first(const op_case *c, const double *const *x, double *y)
{
    for (size_t i = 0; i < op_count(c, 0); i++)
        *y++ = x[0][i];
    for (size_t i = 0; i < op_count(c, 1); i++)
        *y++ = 2 * x[1][i] + 1;
    for (size_t i = 0; i < op_count(c, 0); i++)
        *y++ = x[0][i];
}

BUILD(stack, wk_graph_stack(g, x, 2))

static void stack(const op_case *c, const double *const *x, double *y)
{
    for (int part = 0; part < 2; part++)
        for (size_t i = 0; i < op_count(c, part); i++)
            *y++ = x[part][i];
}

BUILD(repeat_first, wk_graph_repeat(g, x[0], 0, 3))
BUILD(repeat_middle, wk_graph_repeat(g, x[0], 1, 3))
BUILD(repeat_last, wk_graph_repeat(g, x[0], 2, 3))

static void repeat(const op_case *c, const double *const *x, double *y, size_t outer)
{
    size_t inner = op_count(c, 0) / outer;
    for (size_t i = 0; i < outer; i++)
        for (int copy = 0; copy < 3; copy++)
            for (size_t j = 0; j < inner; j++)
                *y++ = x[0][i * inner + j];
}

static void repeat_first(const op_case *c, const double *const *x, double *y)
{
    repeat(c, x, y, 1);
}

static void repeat_middle(const op_case *c, const double *const *x, double *y)
{
    repeat(c, x, y, (size_t)op_dim(c, 0, 0));
}

static void repeat_last(const op_case *c, const double *const *x, double *y)
{
    repeat(c, x, y, op_count(c, 0));
}

static const op_case cases[] = {
    OP_CASE("reshape", build_reshape, copy_all, .shapes = {OP_SHAPE(6, 5)}),
    OP_CASE("stop gradient", build_stop, copy_all, .shapes = {OP_SHAPE(7)}, .constants = 1),
    OP_CASE("slices of columns", build_slices, slices, .shapes = {OP_SHAPE(4, 5)}),
    OP_CASE("slices of rows", build_leading_slices, leading_slices, .shapes = {OP_SHAPE(5, 3)}),
    OP_CASE("concat of columns", build_concat_last, concat_last,
            .shapes = {OP_SHAPE(3, 2), OP_SHAPE(3, 1), OP_SHAPE(3, 7)}),
    OP_CASE("concat of columns, one row", build_concat_last, concat_last,
            .shapes = {OP_SHAPE(1, 2), OP_SHAPE(1, 5), OP_SHAPE(1, 1)}),
    OP_CASE("concat of rows", build_concat_first, concat_first,
            .shapes = {OP_SHAPE(3, 5), OP_SHAPE(2, 5)}),
    OP_CASE("stack", build_stack, stack, .shapes = {OP_SHAPE(3, 5), OP_SHAPE(3, 5)}),
    OP_CASE("repeat first", build_repeat_first, repeat_first, .shapes = {OP_SHAPE(2, 5)}),
    OP_CASE("repeat middle", build_repeat_middle, repeat_middle, .shapes = {OP_SHAPE(2, 5)}),
    OP_CASE("repeat last", build_repeat_last, repeat_last, .shapes = {OP_SHAPE(2, 5)}),
};

TEST_CASE(shape_ops_match_their_references)
{
    static const wk_op ops[] = {FAMILY_SHAPE(FAMILY_OP)};
    op_check_all(cases, sizeof cases / sizeof *cases, ops, sizeof ops / sizeof *ops);
}

TEST_MAIN(NULL, NULL)
