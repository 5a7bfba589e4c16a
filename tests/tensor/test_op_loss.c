// Losses, returns and disagreement, forward and backward.
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

BUILD(error, wk_graph_half_squared_error(g, x[0], x[1], 1))
BUILD(error_images, wk_graph_half_squared_error(g, x[0], x[1], 3))

// The target repeats over what x has more of; the length of a row follows from the result.
static void half_squares(const op_case *c, const double *const *x, size_t cols, double *y)
{
    for (size_t i = 0; i < op_count(c, 0); i++) {
        double error = x[0][i] - x[1][i % op_count(c, 1)];
        y[i / cols] += 0.5 * error * error;
    }
}

static void error_rows(const op_case *c, const double *const *x, double *y)
{
    half_squares(c, x, (size_t)op_dim(c, 0, c->shapes[0].rank - 1), y);
}

static void error_images(const op_case *c, const double *const *x, double *y)
{
    half_squares(c, x, op_count(c, 0) / (size_t)op_dim(c, 0, 0), y);
}

BUILD(returns, wk_graph_lambda_return(g, x[0], x[1], 0.99f, 0.95f))

static void returns(const op_case *c, const double *const *x, double *y)
{
    wk_shape shape = c->shapes[0];
    int stack = shape.rank == 3 ? shape.dim[0] : 1;
    int steps = shape.dim[shape.rank - 2], n = shape.dim[shape.rank - 1];
    double gamma = 0.99f, lambda = 0.95f;
    for (int s = 0; s < stack; s++)
        for (int i = 0; i < n; i++) {
            const double *reward = x[0] + s * steps * n + i;
            const double *value = x[1] + s * (steps + 1) * n + i;
            double next = value[steps * n];
            for (int t = steps - 1; t >= 0; t--) {
                next = reward[t * n] + gamma * ((1 - lambda) * value[(t + 1) * n] + lambda * next);
                y[s * steps * n + t * n + i] = next;
            }
        }
}

BUILD(std, wk_graph_disagreement(g, x[0], WK_DISAGREEMENT_STD, 50))
BUILD(variance, wk_graph_disagreement(g, x[0], WK_DISAGREEMENT_VARIANCE, 1))

static void spread(const op_case *c, const double *x, bool root, double scale, double *y)
{
    int stack = op_dim(c, 0, 0), cols = op_dim(c, 0, c->shapes[0].rank - 1);
    int rows = (int)op_count(c, 0) / stack / cols;
    for (int i = 0; i < rows * cols; i++) {
        double mean = 0, variance = 0;
        for (int s = 0; s < stack; s++)
            mean += x[s * rows * cols + i] / stack;
        for (int s = 0; s < stack; s++)
            variance += pow(x[s * rows * cols + i] - mean, 2) / stack;
        y[i / cols] += scale * (root ? sqrt(variance) : variance) / cols;
    }
}

static void spread_std(const op_case *c, const double *const *x, double *y)
{
    spread(c, x[0], true, 50, y);
}

static void spread_variance(const op_case *c, const double *const *x, double *y)
{
    spread(c, x[0], false, 1, y);
}

static const op_case cases[] = {
    OP_CASE("half squared error", build_error, error_rows,
            .shapes = {OP_SHAPE(5, 7), OP_SHAPE(5, 7)}, .constants = 2),
    OP_CASE("half squared error, one target for the stack", build_error, error_rows,
            .shapes = {OP_SHAPE(3, 5, 7), OP_SHAPE(5, 7)}, .constants = 2),
    OP_CASE("half squared error, one target as a stack of one", build_error, error_rows,
            .shapes = {OP_SHAPE(3, 5, 7), OP_SHAPE(1, 5, 7)}, .constants = 2),
    OP_CASE("half squared error of images", build_error_images, error_images,
            .shapes = {OP_SHAPE(2, 4, 4, 3), OP_SHAPE(2, 4, 4, 3)}, .constants = 2),
    OP_CASE("lambda return", build_returns, returns, .shapes = {OP_SHAPE(5, 3), OP_SHAPE(6, 3)}),
    OP_CASE("lambda return of one step", build_returns, returns,
            .shapes = {OP_SHAPE(1, 1), OP_SHAPE(2, 1)}),
    OP_CASE("lambda return of a stack", build_returns, returns,
            .shapes = {OP_SHAPE(2, 3, 5), OP_SHAPE(2, 4, 5)}),
    OP_CASE("disagreement by deviation", build_std, spread_std, .shapes = {OP_SHAPE(5, 3, 7)}),
    OP_CASE("disagreement by variance", build_variance, spread_variance,
            .shapes = {OP_SHAPE(10, 2, 3, 11)}),
    OP_CASE("disagreement of two", build_std, spread_std, .shapes = {OP_SHAPE(2, 1, 1)}),
};

TEST_CASE(losses_match_their_references)
{
    static const wk_op ops[] = {FAMILY_LOSS(FAMILY_OP)};
    op_check_all(cases, sizeof cases / sizeof *cases, ops, sizeof ops / sizeof *ops);
}

TEST_MAIN(NULL, NULL)
