// The truncated normal against formulas in double with the C library's erfc, and bisection for its
// quantile; gradients against central differences.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

typedef struct call_data {
    size_t rows, dims;
    const float *raw, *dy;
    float *y, *draw;
    wk_draws draws;
    double *exact_raw, *u;
} call_data;

typedef struct truncated {
    double mean, std, low, high, below_low, above_high;
} truncated;

// Mass of the standard normal below x.
static double mass_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2.0));
}

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

static truncated distribution(const call_data *d, size_t i)
{
    size_t r = i / d->dims, k = i % d->dims;
    double m = d->exact_raw[r * 2 * d->dims + k], s = d->exact_raw[r * 2 * d->dims + d->dims + k];
    truncated t = {.mean = tanh(m), .std = 2 / (1 + exp(-s / 2)) + 0.1};
    t.low = (-1 - t.mean) / t.std, t.high = (1 - t.mean) / t.std;
    t.below_low = mass_below(t.low), t.above_high = mass_below(-t.high);
    return t;
}

// By bisection on mass(z) = u, from the nearer end so that tails keep their digits.
static double sample(const truncated *t, double u)
{
    double below = t->below_low * (1 - u) + u * (1 - t->above_high);
    double above = (1 - t->below_low) * (1 - u) + u * t->above_high;
    double from = t->low, to = t->high;
    for (int i = 0; i < 200; i++) {
        double z = 0.5 * (from + to);
        bool left = below < 0.5 ? mass_below(z) > below : mass_below(-z) < above;
        *(left ? &to : &from) = z;
    }
    return t->mean + t->std * 0.5 * (from + to);
}

static double entropy(const truncated *t)
{
    double mass = 1 - t->below_low - t->above_high;
    return log(sqrt(2 * M_PI * M_E) * t->std * mass) +
           (t->low * density(t->low) - t->high * density(t->high)) / (2 * mass);
}

RUN(run_sample, call_data *d,
    wk_cpu_truncated_normal_sample(d->rows, d->dims, d->raw, &d->draws, d->y, pool))
RUN(run_sample_backward, call_data *d,
    wk_cpu_truncated_normal_sample_backward(d->rows, d->dims, d->raw, &d->draws, WK_SAMPLE_EXACT,
                                            d->dy, d->draw, pool))
RUN(run_entropy, call_data *d,
    wk_cpu_truncated_normal_entropy(d->rows, d->dims, d->raw, d->y, pool))
RUN(run_entropy_backward, call_data *d,
    wk_cpu_truncated_normal_entropy_backward(d->rows, d->dims, d->raw, d->dy, d->draw, pool))

static double sample_loss(void *context)
{
    const call_data *d = context;
    double loss = 0;
    for (size_t i = 0; i < d->rows * d->dims; i++) {
        truncated t = distribution(d, i);
        loss += d->dy[i] * sample(&t, d->u[i]);
    }
    return loss;
}
static double entropy_loss(void *context)
{
    const call_data *d = context;
    double loss = 0;
    for (size_t i = 0; i < d->rows * d->dims; i++) {
        truncated t = distribution(d, i);
        loss += d->dy[i / d->dims] * entropy(&t);
    }
    return loss;
}

static const size_t shapes[][2] = {{1, 1}, {5, 3}, {11, 6}, {29, 2}, {0, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// Raw outputs up to +-`range`: 3 is what actors give, 12 is far into both tails.
static call_data make_call(arrays *a, const size_t *shape, double range, uint64_t key)
{
    call_data d = {.rows = shape[0], .dims = shape[1], .draws = {key, 1, 7}};
    size_t n = d.rows * d.dims;
    d.raw = new_input(a, 2 * n, -range, range), d.dy = new_input(a, n, -1, 1);
    d.y = new_output(a, n), d.draw = new_output(a, 2 * n);
    d.exact_raw = exact_of(a, d.raw, 2 * n);
    float *u = new_output(a, n);
    wk_cpu_uniform(n, &d.draws, 0, 1, u, NULL);
    d.u = exact_of(a, u, n);
    return d;
}

TEST_CASE(samples_are_the_quantiles_of_their_uniform_numbers)
{
    for (int k = 0; k < 3 * SHAPES; k++) {
        arrays a = arrays_new(1 + (uint64_t)k);
        double ranges[] = {1, 3, 12};
        call_data d = make_call(&a, shapes[k / 3], ranges[k % 3], 10 + (uint64_t)k);
        size_t n = d.rows * d.dims;
        kernel_call call = {run_sample, &d, {{d.y, n}}};
        run_on_all_threads(&call);
        for (size_t i = 0; i < n; i++) {
            truncated t = distribution(&d, i);
            double exact = fmax(-0.999999, fmin(0.999999, sample(&t, d.u[i])));
            assert_near(d.y[i], exact, 2e-6);
        }
        call = (kernel_call){run_sample_backward, &d, {{d.draw, 2 * n}}};
        run_on_all_threads(&call);
        check_gradient("raw", sample_loss, &d, d.exact_raw, 2 * n, d.draw, 3e-5, 1e-4);
        arrays_release(&a);
    }
}

TEST_CASE(entropy_matches_its_formula_and_gradient)
{
    for (int k = 0; k < 3 * SHAPES; k++) {
        arrays a = arrays_new(30 + (uint64_t)k);
        double ranges[] = {1, 3, 12};
        call_data d = make_call(&a, shapes[k / 3], ranges[k % 3], 1);
        size_t n = d.rows * d.dims;
        kernel_call call = {run_entropy, &d, {{d.y, d.rows}}};
        run_on_all_threads(&call);
        double *expected = exact_of(&a, d.dy, d.rows);
        memset(expected, 0, d.rows * sizeof *expected);
        for (size_t i = 0; i < n; i++) {
            truncated t = distribution(&d, i);
            expected[i / d.dims] += entropy(&t);
        }
        check_close("y", d.rows, d.y, expected, 5e-6, 1e-6);
        call = (kernel_call){run_entropy_backward, &d, {{d.draw, 2 * n}}};
        run_on_all_threads(&call);
        check_gradient("raw", entropy_loss, &d, d.exact_raw, 2 * n, d.draw, 5e-6, 1e-5);
        arrays_release(&a);
    }
}

TEST_CASE(everything_stays_finite_and_inside_at_the_extremes)
{
    enum { ROWS = 4000 };
    arrays a = arrays_new(91);
    float *raw = new_output(&a, 2 * ROWS), *y = new_output(&a, ROWS),
          *draw = new_output(&a, 2 * ROWS);
    float *dy = new_output(&a, ROWS);
    const float extremes[] = {-1e4f, -30.0f, 0.0f, 30.0f, 1e4f};
    for (size_t r = 0; r < ROWS; r++) {
        raw[2 * r] = extremes[r % 5], raw[2 * r + 1] = extremes[r / 5 % 5];
        dy[r] = 1;
    }
    wk_draws draws = {4, 0, 0};
    wk_cpu_truncated_normal_sample(ROWS, 1, raw, &draws, y, NULL);
    for (size_t r = 0; r < ROWS; r++)
        assert_true(fabsf(y[r]) <= 0.999999f);
    wk_cpu_truncated_normal_sample_backward(ROWS, 1, raw, &draws, WK_SAMPLE_EXACT, dy, draw, NULL);
    assert_int_equal(wk_cpu_count_nonfinite(2 * ROWS, draw, NULL), 0);
    wk_cpu_truncated_normal_entropy(ROWS, 1, raw, y, NULL);
    assert_int_equal(wk_cpu_count_nonfinite(ROWS, y, NULL), 0);
    wk_cpu_truncated_normal_entropy_backward(ROWS, 1, raw, y, draw, NULL);
    assert_int_equal(wk_cpu_count_nonfinite(2 * ROWS, draw, NULL), 0);
    arrays_release(&a);
}

TEST_CASE(the_mode_is_the_clipped_mean)
{
    float raw[] = {0.5f, -2.0f, 1, 1, 20.0f, -20.0f, 0, 0}, y[4];
    wk_cpu_truncated_normal_mode(2, 2, raw, y, NULL);
    assert_near(y[0], tanh(0.5), 2e-7);
    assert_near(y[1], tanh(-2.0), 2e-7);
    assert_true(y[2] == 0.999999f && y[3] == -0.999999f);
}

TEST_MAIN(NULL, NULL)
