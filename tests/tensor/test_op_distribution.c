// The distributions, forward and backward; random ops against the words they must draw.
#include "base/random.h"
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

// The uniform number of element i in a case.
static double unit(size_t i)
{
    wk_u32x4 words = wk_philox_at(OP_CHECK_KEY, OP_CHECK_COUNTER, i / 4);
    return wk_unit_float(words.v[i % 4]);
}

static size_t last_dim(const op_case *c)
{
    return (size_t)op_dim(c, 0, c->shapes[0].rank - 1);
}

// x takes part so that there is something to differentiate; the draw itself is a constant.
static wk_tensor build_uniform(wk_graph *g, const wk_tensor *x, wk_random r)
{
    wk_tensor draw = wk_graph_uniform(g, wk_graph_shape(g, x[0]), r, -2, 3);
    return wk_graph_mul(g, x[0], draw);
}

EACH(uniform, x[0][i] * (-2 + 5 * unit(i)))

BUILD(softmax, wk_graph_softmax(g, x[0]))

static void log_softmax(const op_case *c, const double *const *x, double *y)
{
    size_t n = last_dim(c);
    for (size_t i = 0; i < op_count(c, 0); i += n) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += exp(x[0][i + j]);
        for (size_t j = 0; j < n; j++)
            y[i + j] = x[0][i + j] - log(sum);
    }
}

static void softmax(const op_case *c, const double *const *x, double *y)
{
    log_softmax(c, x, y);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i] = exp(y[i]);
}

BUILD(sample, wk_graph_sample_onehot(g, x[0], r))

// The class whose share of the unit interval holds the variable's uniform number.
static void sample(const op_case *c, const double *const *x, double *y)
{
    size_t n = last_dim(c), variables = op_count(c, 0) / n;
    for (size_t i = 0; i < variables; i++) {
        double sum = 0, below = 0;
        for (size_t j = 0; j < n; j++)
            sum += exp(x[0][i * n + j]);
        size_t drawn = 0;
        for (size_t j = 0; j < n; j++) {
            below += exp(x[0][i * n + j]);
            if (below <= unit(i) * sum) drawn = j + 1;
        }
        y[i * n + drawn] = 1;
    }
}

BUILD(mode, wk_graph_mode_onehot(g, x[0]))

static void mode(const op_case *c, const double *const *x, double *y)
{
    size_t n = last_dim(c);
    for (size_t i = 0; i < op_count(c, 0); i += n) {
        size_t best = 0;
        for (size_t j = 1; j < n; j++)
            if (x[0][i + j] > x[0][i + best]) best = j;
        y[i + best] = 1;
    }
}

BUILD(entropy, wk_graph_entropy(g, wk_graph_stop_gradient(g, x[0])))
BUILD(kl, wk_graph_kl(g, x[0], x[1]))
BUILD(kl_to_constant, wk_graph_kl(g, x[0], wk_graph_stop_gradient(g, x[1])))
BUILD(kl_from_constant, wk_graph_kl(g, wk_graph_stop_gradient(g, x[0]), x[1]))

enum { LOGITS_MAX = 256 };

// The variables of one row are summed: logits are [..,V,C].
static size_t row_length(const op_case *c)
{
    return last_dim(c) * (size_t)op_dim(c, 0, c->shapes[0].rank - 2);
}

static void entropy(const op_case *c, const double *const *x, double *y)
{
    double log_p[LOGITS_MAX];
    log_softmax(c, x, log_p);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i / row_length(c)] -= exp(log_p[i]) * log_p[i];
}

static void kl(const op_case *c, const double *const *x, double *y)
{
    double log_p[LOGITS_MAX], log_q[LOGITS_MAX];
    log_softmax(c, x, log_p);
    log_softmax(c, x + 1, log_q);
    for (size_t i = 0; i < op_count(c, 0); i++)
        y[i / row_length(c)] += exp(log_p[i]) * (log_p[i] - log_q[i]);
}

// One dimension of the actor's distribution.
typedef struct truncated {
    double mean, std, low, high; // low and high in standard deviations from the mean
} truncated;

static truncated truncated_at(const op_case *c, const double *raw, size_t i)
{
    size_t dims = last_dim(c) / 2, row = i / dims, k = i % dims;
    double mean = tanh(raw[row * 2 * dims + k]);
    double std = 2 / (1 + exp(-raw[row * 2 * dims + dims + k] / 2)) + 0.1;
    return (truncated){mean, std, (-1 - mean) / std, (1 - mean) / std};
}

static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double normal_density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

// Bisection: slow, and independent of every formula for the inverse.
static double normal_inverse(double p, double low, double high)
{
    for (int i = 0; i < 200; i++) {
        double middle = (low + high) / 2;
        if (normal_cdf(middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static size_t action_count(const op_case *c)
{
    return op_count(c, 0) / 2;
}

BUILD(action, wk_graph_truncated_normal_sample(g, x[0], r, WK_SAMPLE_EXACT))

static void action_sample(const op_case *c, const double *const *x, double *y)
{
    for (size_t i = 0; i < action_count(c); i++) {
        truncated t = truncated_at(c, x[0], i);
        double below = normal_cdf(t.low), p = below + unit(i) * (normal_cdf(t.high) - below);
        y[i] = t.mean + t.std * normal_inverse(p, t.low, t.high);
    }
}

BUILD(action_mode, wk_graph_truncated_normal_mode(g, x[0]))

static void action_mode(const op_case *c, const double *const *x, double *y)
{
    for (size_t i = 0; i < action_count(c); i++)
        y[i] = truncated_at(c, x[0], i).mean;
}

BUILD(action_entropy, wk_graph_truncated_normal_entropy(g, x[0]))

// log(sqrt(2 pi e) s Z) + (low phi(low) - high phi(high)) / (2 Z)
static void action_entropy(const op_case *c, const double *const *x, double *y)
{
    for (size_t i = 0; i < action_count(c); i++) {
        truncated t = truncated_at(c, x[0], i);
        double z = normal_cdf(t.high) - normal_cdf(t.low);
        double edges = t.low * normal_density(t.low) - t.high * normal_density(t.high);
        y[i / (last_dim(c) / 2)] +=
            log(t.std * z) + 0.5 * log(2 * acos(-1)) + 0.5 + edges / (2 * z);
    }
}

static const op_case cases[] = {
    OP_CASE("uniform", build_uniform, uniform, .shapes = {OP_SHAPE(5, 7)}),
    OP_CASE("softmax", build_softmax, softmax, .shapes = {OP_SHAPE(3, 5, 7)}, .low = -4, .high = 4),
    OP_CASE("softmax of one class", build_softmax, softmax, .shapes = {OP_SHAPE(3, 1)}),
    OP_CASE("one-hot sample", build_sample, sample, .shapes = {OP_SHAPE(3, 5, 7)}, .low = -2,
            .high = 2, .smooth = softmax),
    OP_CASE("one-hot sample of 32 by 32", build_sample, sample, .shapes = {OP_SHAPE(1, 32, 32)},
            .smooth = softmax),
    OP_CASE("one-hot mode", build_mode, mode, .shapes = {OP_SHAPE(5, 7)}, .constants = 1),
    OP_CASE("entropy", build_entropy, entropy, .shapes = {OP_SHAPE(3, 5, 7)}, .constants = 1,
            .low = -2, .high = 2),
    OP_CASE("entropy of one row", build_entropy, entropy, .shapes = {OP_SHAPE(5, 7)},
            .constants = 1),
    OP_CASE("kl", build_kl, kl, .shapes = {OP_SHAPE(2, 3, 4, 5), OP_SHAPE(2, 3, 4, 5)}, .low = -2,
            .high = 2),
    OP_CASE("kl to a constant", build_kl_to_constant, kl,
            .shapes = {OP_SHAPE(3, 4, 5), OP_SHAPE(3, 4, 5)}, .constants = 2),
    OP_CASE("kl from a constant", build_kl_from_constant, kl,
            .shapes = {OP_SHAPE(3, 4, 5), OP_SHAPE(3, 4, 5)}, .constants = 1),
    OP_CASE("action sample", build_action, action_sample, .shapes = {OP_SHAPE(7, 12)}, .low = -2,
            .high = 2),
    OP_CASE("action sample of one", build_action, action_sample, .shapes = {OP_SHAPE(2)}),
    OP_CASE("action mode", build_action_mode, action_mode, .shapes = {OP_SHAPE(3, 2, 4)},
            .constants = 1),
    OP_CASE("action entropy", build_action_entropy, action_entropy, .shapes = {OP_SHAPE(5, 6)},
            .low = -2, .high = 2, .tolerance = 1e-4),
};

TEST_CASE(distributions_match_their_references)
{
    static const wk_op ops[] = {FAMILY_DISTRIBUTION(FAMILY_OP)};
    op_check_all(cases, sizeof cases / sizeof *cases, ops, sizeof ops / sizeof *ops);
}

TEST_MAIN(NULL, NULL)
