// The elementary functions against the C library in double, over their whole range; and the
// vectorised versions against the plain ones, bit for bit.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"
#include "tensor/vmath.h"
#include <float.h>

// Units in the last place of `exact` as a float.
static double ulps(float y, double exact)
{
    float nearest = (float)exact;
    double unit = nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest);
    return fabs(y - exact) / unit;
}

static float evaluate_exp(float x)
{
    return wk_expf(x);
}
// exp(x) - 1 for x <= 0 from the parts that ELU is made of; -1 below -25.
static float evaluate_expm1(float x)
{
    float low = -25.0f;
    return wk_expm1_reconstruct(wk_reduce_natural(low > x ? low : x));
}
static float evaluate_weight(float x)
{
    return wk_weightf(x);
}
static float evaluate_log(float x)
{
    return wk_logf(x);
}
static float evaluate_tanh(float x)
{
    return wk_tanhf(x);
}
static float evaluate_sigmoid(float x)
{
    return wk_sigmoidf(x);
}
static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

// Every 97th float between low and high, a few million points each.
static void check_range(const char *name, float (*f)(float), double (*reference)(double), float low,
                        float high, double limit)
{
    double worst = 0;
    float at = 0;
    int32_t first = wk_bits_of_float(low), last = wk_bits_of_float(high);
    for (int64_t bits = first < last ? first : last; bits <= (first < last ? last : first);
         bits += 97) {
        float x = wk_float_of_bits((int32_t)bits);
        double error = ulps(f(x), reference(x));
        if (error > worst) worst = error, at = x;
    }
    print_message("%s on [%g, %g]: at most %.2f ulp (at %.9g)\n", name, (double)low, (double)high,
                  worst, (double)at);
    if (!(worst <= limit)) fail_msg("%s(%.9g): %.2f ulp", name, (double)at, worst);
}

TEST_CASE(functions_stay_within_a_few_ulp_of_the_exact_values)
{
    check_range("exp", evaluate_exp, exp, 1e-30f, 88.72f, 1.5);
    check_range("exp", evaluate_exp, exp, -1e-30f, -86.59f, 1.5);
    check_range("expm1", evaluate_expm1, expm1, -1e-30f, -30.0f, 2);
    check_range("log", evaluate_log, log, FLT_MIN, FLT_MAX, 1.5);
    check_range("tanh", evaluate_tanh, tanh, 1e-30f, 20.0f, 3);
    check_range("tanh", evaluate_tanh, tanh, -1e-30f, -20.0f, 3);
    check_range("sigmoid", evaluate_sigmoid, sigmoid, 1e-30f, 40.0f, 2.5);
    check_range("sigmoid", evaluate_sigmoid, sigmoid, -1e-30f, -1.0f, 3.5);
    check_range("weight", evaluate_weight, exp, -1e-30f, -1.0f, 3);
}

// The error may grow with the argument: |y - exact| <= 2^-24 (constant + 1.5 |x|) exact.
static void check_growth(const char *name, float (*f)(float), double (*reference)(double),
                         float low, double constant)
{
    double worst = 0;
    for (float x = -0.001f; x > low; x *= 1.0001f) {
        double exact = reference(x), error = fabs(f(x) - exact) / exact;
        double part = error * 0x1p24 / (constant + 1.5 * fabs((double)x));
        worst = part > worst ? part : worst;
    }
    print_message("%s down to %g: %.2f of the error allowed\n", name, (double)low, worst);
    if (!(worst <= 1)) fail_msg("%s: %.2f of the error allowed", name, worst);
}

TEST_CASE(errors_far_below_zero_grow_no_faster_than_the_argument)
{
    check_growth("weight", evaluate_weight, exp, -87.0f, 4);
    check_growth("sigmoid", evaluate_sigmoid, sigmoid, -86.6f, 6);
}

TEST_CASE(functions_treat_the_edges_as_documented)
{
    assert_true(wk_expf(0.0f) == 1.0f && wk_expf(-100.0f) == 0.0f && isinf(wk_expf(89.0f)));
    assert_true(wk_expf(-INFINITY) == 0.0f && isinf(wk_expf(INFINITY)) && isnan(wk_expf(NAN)));
    assert_true(wk_weightf(0.0f) == 1.0f && wk_weightf(-100.0f) == 0.0f);
    assert_true(wk_weightf(-INFINITY) == 0.0f && isnan(wk_weightf(NAN)));
    assert_true(evaluate_expm1(0.0f) == 0.0f && evaluate_expm1(-INFINITY) == -1.0f);
    assert_true(isnan(evaluate_expm1(NAN)));
    assert_true(wk_logf(0.0f) == -INFINITY && isnan(wk_logf(-1.0f)) && wk_logf(1.0f) == 0.0f);
    assert_true(wk_logf(INFINITY) == INFINITY && isnan(wk_logf(NAN)));
    assert_near(wk_logf(FLT_TRUE_MIN), log((double)FLT_TRUE_MIN), 1e-5);
    assert_true(wk_tanhf(100.0f) == 1.0f && wk_tanhf(-100.0f) == -1.0f && wk_tanhf(0.0f) == 0.0f);
    assert_true(wk_tanhf(INFINITY) == 1.0f && wk_tanhf(-INFINITY) == -1.0f && isnan(wk_tanhf(NAN)));
    assert_true(wk_sigmoidf(0.0f) == 0.5f && wk_sigmoidf(-INFINITY) < 3e-38f);
    assert_true(wk_sigmoidf(INFINITY) == 1.0f && isnan(wk_sigmoidf(NAN)));
}

TEST_CASE(normal_tail_is_accurate_relative_to_its_value)
{
    double worst = 0;
    for (double x = -12.8; x <= 12.8; x += 0.00137) {
        float rounded = (float)x;
        double exact = 0.5 * erfc(fabs((double)rounded) / sqrt(2.0));
        double error = fabs(wk_normal_tail(rounded) - exact) / exact;
        worst = error > worst ? error : worst;
    }
    print_message("normal tail: relative error at most %.2g\n", worst);
    assert_true(worst < 1e-6);
}

TEST_CASE(normal_quantile_undoes_the_tail)
{
    double worst = 0;
    for (double x = -6; x <= 0; x += 0.0007) {
        float tail = (float)(0.5 * erfc(-x / sqrt(2.0)));
        // The exact quantile of the rounded tail: one Newton step from x.
        double exact = x + (tail - 0.5 * erfc(-x / sqrt(2.0))) * sqrt(2 * M_PI) * exp(x * x / 2);
        double error = fabs(wk_normal_quantile(tail) - exact) / fmax(0.1, fabs(exact));
        worst = error > worst ? error : worst;
    }
    print_message("normal quantile: error at most %.2g\n", worst);
    assert_true(worst < 2e-6);
}

TEST_CASE(vectorised_loops_give_the_bits_of_the_plain_functions)
{
    enum { N = 4099 };
    arrays a = arrays_new(1);
    float *x = new_input(&a, N, -12, 12), *y = new_output(&a, N);
    struct {
        wk_activation act;
        float (*plain)(float);
    } cases[] = {{WK_TANH, evaluate_tanh}, {WK_SIGMOID, evaluate_sigmoid}};
    for (int k = 0; k < 2; k++) {
        wk_bias_act shape = {1, 1, N, 0, cases[k].act};
        wk_cpu_bias_act(&shape, x, NULL, y, NULL);
        for (int i = 0; i < N; i++) {
            float plain = cases[k].plain(x[i]);
            assert_memory_equal(&plain, &y[i], sizeof plain);
        }
    }
    wk_bias_act shape = {1, 1, N, 0, WK_ELU};
    wk_cpu_bias_act(&shape, x, NULL, y, NULL);
    for (int i = 0; i < N; i++) {
        float plain = x[i] > 0 ? x[i] : evaluate_expm1(x[i]);
        assert_memory_equal(&plain, &y[i], sizeof plain);
    }
    arrays_release(&a);
}

TEST_MAIN(NULL, NULL)
