// Every op on the GPU against the CPU, at sizes that fill several blocks and divide by nothing. The
// small cases with independent references are those of tests/tensor, run with WAKER_TEST_DEVICE.
#include "support/backend.h"
#include "support/check.h"
#include "support/op_check.h"
#include "tensor/families.h"

// A random op draws from `r`, the others have no use for it.
BUILD(add, wk_graph_add(g, x[0], x[1]))
BUILD(mul, wk_graph_mul(g, x[0], x[1]))
BUILD(add_n, wk_graph_add_n(g, x, 3))
BUILD(affine, wk_graph_affine(g, x[0], -1.5f, 0.25f))
BUILD(clamp_min, wk_graph_clamp_min(g, x[0], 0.125f))
BUILD(scale_rows, wk_graph_scale_rows(g, x[0], wk_graph_stop_gradient(g, x[1])))
BUILD(mean_first, wk_graph_mean(g, x[0], 0))
BUILD(mean_middle, wk_graph_mean(g, x[0], 1))
BUILD(mean_last, wk_graph_mean(g, x[0], 2))
BUILD(mean_all, wk_graph_mean_all(g, x[0]))
BUILD(slice, wk_graph_slice(g, x[0], 1, 3, 57))
BUILD(concat_first, wk_graph_concat(g, x, 3, 0))
BUILD(concat_last, wk_graph_concat(g, x, 3, 1))
BUILD(repeat, wk_graph_repeat(g, x[0], 1, 13))
BUILD(reshape, wk_graph_reshape(g, x[0], WK_SHAPE(33, 35)))
BUILD(constant, wk_graph_mul(g, x[0], wk_graph_stop_gradient(g, x[1])))
BUILD(matmul, wk_graph_matmul(g, x[0], x[1]))
BUILD(bias_act, wk_graph_bias_act(g, x[0], x[1], WK_ELU))
BUILD(bias, wk_graph_bias_act(g, x[0], x[1], WK_IDENTITY))
BUILD(tanh, wk_graph_activate(g, x[0], WK_TANH))
BUILD(sigmoid, wk_graph_activate(g, x[0], WK_SIGMOID))
BUILD(conv, wk_graph_conv(g, x[0], x[1], x[2], 2, WK_ELU))
BUILD(conv_bare, wk_graph_conv(g, x[0], x[1], (wk_tensor){0}, 2, WK_IDENTITY))
BUILD(deconv, wk_graph_deconv(g, x[0], x[1], x[2], 2, WK_ELU))
BUILD(deconv_bare, wk_graph_deconv(g, x[0], x[1], (wk_tensor){0}, 2, WK_IDENTITY))
BUILD(gru, wk_graph_gru(g, x[0], x[1], x[2], x[3], x[4], 1e-3f))
BUILD(uniform, wk_graph_mul(g, x[0], wk_graph_uniform(g, wk_graph_shape(g, x[0]), r, -2, 3)))
BUILD(softmax, wk_graph_softmax(g, x[0]))
BUILD(sample, wk_graph_sample_onehot(g, x[0], r))
BUILD(mode, wk_graph_mode_onehot(g, x[0]))
BUILD(entropy, wk_graph_entropy(g, wk_graph_stop_gradient(g, x[0])))
BUILD(kl, wk_graph_kl(g, x[0], x[1]))
BUILD(action, wk_graph_truncated_normal_sample(g, x[0], r, WK_SAMPLE_EXACT))
BUILD(action_location_scale, wk_graph_truncated_normal_sample(g, x[0], r, WK_SAMPLE_LOCATION_SCALE))
BUILD(action_mode, wk_graph_truncated_normal_mode(g, x[0]))
BUILD(action_entropy, wk_graph_truncated_normal_entropy(g, x[0]))
BUILD(error, wk_graph_half_squared_error(g, x[0], x[1], 1))
BUILD(image_error, wk_graph_half_squared_error(g, x[0], x[1], 3))
BUILD(lambda_return, wk_graph_lambda_return(g, x[0], x[1], 0.99f, 0.95f))
BUILD(deviation, wk_graph_disagreement(g, x[0], WK_DISAGREEMENT_STD, 3))
BUILD(variance, wk_graph_disagreement(g, x[0], WK_DISAGREEMENT_VARIANCE, 3))
BUILD(product_variance,
      wk_graph_disagreement(g, wk_graph_matmul(g, x[0], x[1]), WK_DISAGREEMENT_VARIANCE, 3))

#define CASE(title, builder, ...)                                                                  \
    {                                                                                              \
        .name = (title), .build = build_##builder, __VA_ARGS__                                     \
    }
#define SAME .tolerance = -1

// A view that begins at an odd place: kernels must not take wide steps from there.
static wk_tensor build_odd_view(wk_graph *g, const wk_tensor *x, wk_random r)
{
    (void)r;
    wk_tensor rows = wk_graph_slice(g, x[0], 0, 1, 32);
    wk_tensor more = wk_graph_slice(g, x[0], 0, 3, 32);
    wk_tensor both = wk_graph_add(g, wk_graph_mul(g, rows, more), rows);
    return wk_graph_half_squared_error(g, both, wk_graph_affine(g, more, 2, 1), 1);
}

static const op_case plain_cases[] = {
    CASE("add", add, SAME, .shapes = {OP_SHAPE(131, 77), OP_SHAPE(131, 77)}),
    CASE("mul", mul, SAME, .shapes = {OP_SHAPE(3, 5, 7, 11, 13), OP_SHAPE(3, 5, 7, 11, 13)}),
    CASE("add_n", add_n, SAME, .shapes = {OP_SHAPE(999), OP_SHAPE(999), OP_SHAPE(999)}),
    CASE("affine", affine, SAME, .shapes = {OP_SHAPE(4099)}),
    CASE("at least", clamp_min, SAME, .shapes = {OP_SHAPE(4099)}),
    CASE("scale rows", scale_rows, SAME, .shapes = {OP_SHAPE(61, 35), OP_SHAPE(61)}),
    CASE("mean over the first axis", mean_first, .shapes = {OP_SHAPE(301, 7, 5)}),
    CASE("mean over the middle axis", mean_middle, .shapes = {OP_SHAPE(7, 301, 33)}),
    CASE("mean over the last axis", mean_last, .shapes = {OP_SHAPE(7, 33, 301)}),
    CASE("mean of all", mean_all, .shapes = {OP_SHAPE(20011)}, .low = 0, .high = 1),
    CASE("slice", slice, SAME, .shapes = {OP_SHAPE(31, 67, 5)}),
    CASE("concat of rows", concat_first, SAME,
         .shapes = {OP_SHAPE(3, 65), OP_SHAPE(1, 65), OP_SHAPE(9, 65)}),
    CASE("concat of columns", concat_last, SAME,
         .shapes = {OP_SHAPE(65, 3), OP_SHAPE(65, 64), OP_SHAPE(65, 9)}),
    CASE("repeat", repeat, SAME, .shapes = {OP_SHAPE(33, 65)}, .gradient_tolerance = 1e-6),
    CASE("reshape", reshape, SAME, .shapes = {OP_SHAPE(35, 33)}),
    CASE("stop gradient", constant, SAME, .shapes = {OP_SHAPE(99), OP_SHAPE(99)}),
    CASE("views at odd places", odd_view, .shapes = {OP_SHAPE(35, 33)}),
    CASE("views at odd places of wide rows", odd_view, .shapes = {OP_SHAPE(35, 1028)}),
};

static const op_case layer_cases[] = {
    CASE("matmul", matmul, .shapes = {OP_SHAPE(129, 67), OP_SHAPE(67, 131)}),
    CASE("matmul of few rows", matmul, .shapes = {OP_SHAPE(16, 203), OP_SHAPE(203, 601)}),
    CASE("matmul of stacks", matmul, .shapes = {OP_SHAPE(5, 33, 67), OP_SHAPE(5, 67, 31)}),
    CASE("matmul, left shared", matmul, .shapes = {OP_SHAPE(33, 67), OP_SHAPE(5, 67, 31)}),
    CASE("matmul, right shared", matmul, .shapes = {OP_SHAPE(5, 33, 67), OP_SHAPE(1, 67, 31)}),
    // In bf16 the products exist in that alone.
    CASE("variance of products", product_variance,
         .shapes = {OP_SHAPE(5, 57, 32), OP_SHAPE(5, 32, 384)}),
    CASE("variance of wide products", product_variance,
         .shapes = {OP_SHAPE(7, 33, 32), OP_SHAPE(7, 32, 1088)}),
    CASE("bias and ELU", bias_act, .shapes = {OP_SHAPE(257, 65), OP_SHAPE(65)}),
    CASE("bias and ELU, wide", bias_act, .shapes = {OP_SHAPE(300, 400), OP_SHAPE(400)}),
    CASE("bias of a stack", bias_act, .shapes = {OP_SHAPE(3, 57, 65), OP_SHAPE(3, 65)}),
    CASE("bias", bias, .shapes = {OP_SHAPE(1031, 12), OP_SHAPE(12)}),
    CASE("tanh", tanh, .shapes = {OP_SHAPE(2053)}, .low = -5, .high = 5),
    CASE("sigmoid", sigmoid, .shapes = {OP_SHAPE(2053)}, .low = -9, .high = 9),
    CASE("conv of three colours", conv,
         .shapes = {OP_SHAPE(5, 64, 64, 3), OP_SHAPE(4, 4, 3, 48), OP_SHAPE(48)}),
    CASE("conv", conv, .shapes = {OP_SHAPE(7, 31, 31, 16), OP_SHAPE(4, 4, 16, 24), OP_SHAPE(24)}),
    CASE("conv of odd channels", conv,
         .shapes = {OP_SHAPE(3, 14, 14, 7), OP_SHAPE(5, 5, 7, 9), OP_SHAPE(9)}),
    CASE("conv that leaves a rest", conv_bare,
         .shapes = {OP_SHAPE(9, 16, 16, 4), OP_SHAPE(5, 5, 4, 6)}),
    CASE("conv to one pixel", conv,
         .shapes = {OP_SHAPE(33, 4, 4, 12), OP_SHAPE(4, 4, 12, 40), OP_SHAPE(40)}),
    CASE("conv of a stack", conv,
         .shapes = {OP_SHAPE(2, 3, 14, 14, 8), OP_SHAPE(2, 4, 4, 8, 12), OP_SHAPE(2, 12)}),
    CASE("conv of many images", conv_bare,
         .shapes = {OP_SHAPE(301, 10, 10, 6), OP_SHAPE(4, 4, 6, 10)}),
    CASE("deconv of one pixel", deconv,
         .shapes = {OP_SHAPE(33, 1, 1, 70), OP_SHAPE(5, 5, 24, 70), OP_SHAPE(24)}),
    CASE("deconv", deconv, .shapes = {OP_SHAPE(7, 5, 5, 24), OP_SHAPE(5, 5, 16, 24), OP_SHAPE(16)}),
    CASE("deconv, kernel 6", deconv,
         .shapes = {OP_SHAPE(5, 13, 13, 16), OP_SHAPE(6, 6, 12, 16), OP_SHAPE(12)}),
    CASE("conv of many channels that leaves a rest", conv,
         .shapes = {OP_SHAPE(5, 14, 14, 40), OP_SHAPE(5, 5, 40, 104), OP_SHAPE(104)}),
    CASE("deconv of many channels", deconv,
         .shapes = {OP_SHAPE(5, 7, 7, 104), OP_SHAPE(6, 6, 40, 104), OP_SHAPE(40)}),
    CASE("deconv to many channels", deconv,
         .shapes = {OP_SHAPE(3, 5, 5, 40), OP_SHAPE(5, 5, 104, 40), OP_SHAPE(104)}),
    CASE("conv of a stack in eights", conv,
         .shapes = {OP_SHAPE(2, 3, 14, 14, 8), OP_SHAPE(2, 4, 4, 8, 16), OP_SHAPE(2, 16)}),
    CASE("deconv to three colours", deconv_bare,
         .shapes = {OP_SHAPE(3, 30, 30, 16), OP_SHAPE(6, 6, 3, 16)}),
    CASE("deconv of a stack", deconv,
         .shapes = {OP_SHAPE(2, 3, 5, 5, 8), OP_SHAPE(2, 5, 5, 6, 8), OP_SHAPE(2, 6)}),
    CASE("gru", gru,
         .shapes = {OP_SHAPE(16, 603), OP_SHAPE(603), OP_SHAPE(603), OP_SHAPE(603),
                    OP_SHAPE(16, 201)}),
    CASE("gru of a stack", gru,
         .shapes = {OP_SHAPE(2, 9, 99), OP_SHAPE(2, 99), OP_SHAPE(2, 99), OP_SHAPE(2, 99),
                    OP_SHAPE(2, 9, 33)}),
};

static const op_case distribution_cases[] = {
    CASE("uniform", uniform, SAME, .shapes = {OP_SHAPE(4099)}),
    CASE("softmax", softmax, .shapes = {OP_SHAPE(57, 31, 32)}, .low = -4, .high = 4),
    CASE("softmax of 24 classes", softmax, .shapes = {OP_SHAPE(57, 24, 24)}, .low = -4, .high = 4),
    CASE("softmax of 12 classes", softmax, .shapes = {OP_SHAPE(57, 7, 12)}, .low = -4, .high = 4),
    CASE("softmax of many classes", softmax, .shapes = {OP_SHAPE(33, 777)}, .low = -4, .high = 4),
    CASE("sample", sample, SAME, .shapes = {OP_SHAPE(257, 32, 32)}, .low = -4, .high = 4),
    CASE("sample of few classes", sample, SAME, .shapes = {OP_SHAPE(1001, 5)}, .low = -4,
         .high = 4),
    CASE("sample of many classes", sample, SAME, .shapes = {OP_SHAPE(331, 101)}, .low = -4,
         .high = 4),
    CASE("sample of certainties", sample, SAME, .shapes = {OP_SHAPE(331, 64)}, .low = -200,
         .high = 200),
    CASE("mode", mode, SAME, .shapes = {OP_SHAPE(57, 31, 32)}),
    CASE("mode of many classes", mode, SAME, .shapes = {OP_SHAPE(57, 99)}),
    CASE("entropy", entropy, .shapes = {OP_SHAPE(57, 31, 32)}, .low = -2, .high = 2),
    CASE("entropy of 24 classes", entropy, .shapes = {OP_SHAPE(57, 24, 24)}, .low = -2, .high = 2),
    CASE("entropy of one row", entropy, .shapes = {OP_SHAPE(5, 71)}),
    CASE("kl", kl, .shapes = {OP_SHAPE(57, 31, 32), OP_SHAPE(57, 31, 32)}, .low = -2, .high = 2),
    CASE("kl of 24 classes", kl, .shapes = {OP_SHAPE(57, 24, 24), OP_SHAPE(57, 24, 24)}, .low = -2,
         .high = 2),
    CASE("kl of 20 classes", kl, .shapes = {OP_SHAPE(57, 3, 20), OP_SHAPE(57, 3, 20)}, .low = -2,
         .high = 2),
    CASE("kl of many classes", kl, .shapes = {OP_SHAPE(3, 7, 71), OP_SHAPE(3, 7, 71)}, .low = -2,
         .high = 2),
    CASE("action", action, SAME, .shapes = {OP_SHAPE(1031, 12)}, .low = -3, .high = 3),
    CASE("action, location-scale", action_location_scale, SAME, .shapes = {OP_SHAPE(1031, 12)},
         .low = -3, .high = 3),
    CASE("action mode", action_mode, SAME, .shapes = {OP_SHAPE(131, 6)}),
    CASE("action entropy", action_entropy, SAME, .shapes = {OP_SHAPE(1031, 12)}, .low = -3,
         .high = 3),
};

static const op_case loss_cases[] = {
    CASE("squared error", error, .shapes = {OP_SHAPE(131, 65), OP_SHAPE(131, 65)}),
    CASE("squared error, shared target", error, .shapes = {OP_SHAPE(5, 31, 64), OP_SHAPE(31, 64)}),
    CASE("squared error of images", image_error,
         .shapes = {OP_SHAPE(7, 33, 33, 3), OP_SHAPE(7, 33, 33, 3)}),
    CASE("lambda return", lambda_return, SAME, .shapes = {OP_SHAPE(15, 801), OP_SHAPE(16, 801)}),
    CASE("lambda return of a stack", lambda_return, SAME,
         .shapes = {OP_SHAPE(3, 5, 33), OP_SHAPE(3, 6, 33)}),
    CASE("deviation of ten", deviation, .shapes = {OP_SHAPE(10, 131, 257)}),
    CASE("deviation of nineteen", deviation, .shapes = {OP_SHAPE(19, 31, 65)}),
    CASE("variance", variance, .shapes = {OP_SHAPE(10, 57, 3)}),
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

// The limits are for results of a thousand terms: 1e-5 of float32 rounding, 1e-2 of bf16's.
static void compare(const op_case *cases, size_t count, const wk_op *ops, size_t op_total,
                    bool bf16)
{
    wk_error err = {0};
    wk_backend *cpu = NULL, *gpu = NULL;
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(test_cuda_create(bf16, &gpu, &err));
    op_compare_all(cases, count, cpu, gpu, bf16 ? 1e-2 : 1e-5, ops, op_total);
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

TEST_CASE(shapes_and_arithmetic_agree_with_the_cpu)
{
    static const wk_op ops[] = {FAMILY_SHAPE(FAMILY_OP) FAMILY_ARITHMETIC(FAMILY_OP)};
    compare(plain_cases, COUNT(plain_cases), ops, COUNT(ops), false);
}

TEST_CASE(layers_agree_with_the_cpu)
{
    static const wk_op ops[] = {FAMILY_LAYER(FAMILY_OP)};
    compare(layer_cases, COUNT(layer_cases), ops, COUNT(ops), false);
}

TEST_CASE(distributions_agree_with_the_cpu_and_draws_are_the_same)
{
    static const wk_op ops[] = {FAMILY_DISTRIBUTION(FAMILY_OP)};
    compare(distribution_cases, COUNT(distribution_cases), ops, COUNT(ops), false);
}

TEST_CASE(losses_agree_with_the_cpu)
{
    static const wk_op ops[] = {FAMILY_LOSS(FAMILY_OP)};
    compare(loss_cases, COUNT(loss_cases), ops, COUNT(ops), false);
}

TEST_CASE(layers_in_bf16_stay_near_the_cpu)
{
    static const wk_op ops[] = {FAMILY_LAYER(FAMILY_OP)};
    compare(layer_cases, COUNT(layer_cases), ops, COUNT(ops), true);
}

TEST_MAIN(NULL, NULL)
