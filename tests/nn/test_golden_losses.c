// Distributions, losses and returns against PyTorch: values and every gradient. Tolerances are
// relative to the largest value of a tensor; the files themselves are exact to float32 rounding.
#include "nn/golden.h"
#include "nn/layers.h"
#include "support/check.h"
#include "tensor/truncated.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// Sums of 4 variables of 5 classes. The near pair has a KL of some 0.04, the sum of 20 differences
// of logarithms near 1.6: roundings of 1e-7 each are up to 5e-5 of it.
TEST_CASE(kl_matches_far_from_and_below_the_free_nat)
{
    golden *file = golden_open("kl");
    wk_graph *g = golden_graph(file);
    const char *names[] = {"far", "near"};
    const wk_kl_config config = {.classes = 5, .balance = 0.8f, .free_nats = 1};
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s_post", names[i]);
        wk_tensor post = golden_input(file, name);
        snprintf(name, sizeof name, "%s_prior", names[i]);
        wk_tensor prior = golden_input(file, name);
        snprintf(name, sizeof name, "out/%s_kl", names[i]);
        golden_expect(file, wk_graph_kl(g, post, prior), name, i == 0 ? 1e-6 : 5e-5);
        wk_tensor flat[2] = {wk_graph_reshape(g, post, WK_SHAPE(6, 20)),
                             wk_graph_reshape(g, prior, WK_SHAPE(6, 20))};
        wk_tensor loss = wk_nn_balanced_kl(g, flat[0], flat[1], &config, NULL);
        snprintf(name, sizeof name, "out/%s_loss", names[i]);
        golden_expect(file, loss, name, 1e-6);
        // Each loss depends on its own two inputs; below the free nat the gradients are zero.
        wk_tensor grads[2];
        wk_graph_gradients(g, loss, (wk_tensor[]){post, prior}, 2, grads);
        snprintf(name, sizeof name, "grad/%s_post", names[i]);
        golden_expect(file, grads[0], name, 2e-6);
        snprintf(name, sizeof name, "grad/%s_prior", names[i]);
        golden_expect(file, grads[1], name, 2e-6);
    }
    golden_check(file);
    golden_close(file);
}

TEST_CASE(categorical_entropy_matches)
{
    golden *file = golden_open("kl");
    wk_tensor entropy = wk_graph_entropy(golden_graph(file), golden_input(file, "far_post"));
    golden_expect(file, entropy, "out/entropy", 1e-6);
    golden_check(file);
    golden_close(file);
}

// The inverse of the normal distribution function in float32: the argument carries 6e-8, which the
// slope of the inverse magnifies by up to 1/density, about 30 near the cut.
TEST_CASE(truncated_normal_samples_match)
{
    golden *file = golden_open("truncated_normal");
    wk_graph *g = golden_graph(file);
    wk_tensor raw = golden_input(file, "raw");
    // The substream and key that the reference used.
    wk_random random = {golden_counter(file, 42), 0x0123456789abcdefu};
    wk_tensor sample = wk_graph_truncated_normal_sample(g, raw, random, WK_SAMPLE_EXACT);
    wk_tensor loss = golden_weigh(file, sample, "weight_sample"), grad;
    wk_graph_gradients(g, loss, &raw, 1, &grad);
    wk_tensor uniform = wk_graph_uniform(g, WK_SHAPE(8, 3), random, 0, 1);
    golden_expect(file, uniform, "in/uniform", 1e-7);
    golden_expect(file, sample, "out/sample", 2e-6);
    golden_expect(file, grad, "grad_sample/raw", 5e-6);
    golden_expect(file, wk_graph_truncated_normal_mode(g, raw), "out/mode", 1e-6);
    golden_check(file);
    golden_close(file);
}

// With z = (sample - mean) / std held: d/dmean = 1 and d/dstd = z, through tanh and the sigmoid.
TEST_CASE(location_scale_gradients_are_those_of_a_held_sample)
{
    golden *file = golden_open("truncated_normal");
    wk_graph *g = golden_graph(file);
    wk_tensor raw = golden_input(file, "raw");
    wk_random random = {golden_counter(file, 42), 0x0123456789abcdefu};
    wk_tensor sample = wk_graph_truncated_normal_sample(g, raw, random, WK_SAMPLE_LOCATION_SCALE);
    wk_tensor loss = golden_weigh(file, sample, "weight_sample"), grad;
    wk_graph_gradients(g, loss, &raw, 1, &grad);
    golden_expect(file, sample, "out/sample", 2e-6);
    float *m = golden_values(file, "in/raw"), *a = golden_values(file, "out/sample"),
          *weight = golden_values(file, "in/weight_sample"), expected[48];
    for (int i = 0; i < 24; i++) {
        int at = i / 3 * 6 + i % 3;
        double mean = tanh(m[at]), gate = 1 / (1 + exp(-m[at + 3] / 2)), std = 2 * gate + 0.1;
        expected[at] = (float)(weight[i] * (1 - mean * mean));
        expected[at + 3] = (float)(weight[i] * (a[i] - mean) / std * gate * (1 - gate));
    }
    golden_expect_values(file, grad, "location-scale gradient", expected, 5e-6);
    golden_check(file);
    free(m), free(a), free(weight);
    golden_close(file);
}

// What its own sampler returned and TensorFlow differentiated (tools/reference/authors_sampler.py)
// for mean and std, which is what the backends' formula has to give for the same samples.
TEST_CASE(location_scale_gradients_are_those_of_tensorflow_probability)
{
    enum { DRAWS = 20, ROWS = 8, ACTIONS = 3 };
    golden *file = golden_open("authors_sampler");
    float *raw = golden_values(file, "raw"), *sample = golden_values(file, "sample"),
          *weight = golden_values(file, "weight"), *by_mean = golden_values(file, "grad/mean"),
          *by_std = golden_values(file, "grad/std");
    for (int i = 0; i < DRAWS * ROWS * ACTIONS; i++) {
        const float *m = raw + i / ACTIONS % ROWS * 2 * ACTIONS + i % ACTIONS;
        wk_truncated t = wk_truncated_of(m[0], m[ACTIONS]);
        wk_truncated_grad d =
            wk_truncated_location_scale_grad((sample[i] - t.mean) / t.std, weight[i]);
        assert_near(d.mean, by_mean[i], 1e-6);
        assert_near(d.std, by_std[i], 5e-6);
    }
    free(raw), free(sample), free(weight), free(by_mean), free(by_std);
    golden_close(file);
}

// The entropy subtracts terms of order 1 whose parts are ratios of densities and probabilities.
TEST_CASE(truncated_normal_entropy_matches)
{
    golden *file = golden_open("truncated_normal");
    wk_graph *g = golden_graph(file);
    wk_tensor raw = golden_input(file, "raw");
    wk_tensor entropy = wk_graph_truncated_normal_entropy(g, raw);
    golden_expect(file, entropy, "out/entropy", 3e-6);
    golden_expect_gradients(file, golden_weigh(file, entropy, "weight_entropy"), "grad_entropy", 1,
                            1e-5);
    golden_check(file);
    golden_close(file);
}

// Fifteen additions in a row.
TEST_CASE(lambda_returns_match)
{
    golden *file = golden_open("lambda_return");
    wk_tensor reward = golden_input(file, "reward"), value = golden_input(file, "value");
    wk_tensor returns = wk_graph_lambda_return(golden_graph(file), reward, value, 0.99f, 0.95f);
    golden_expect(file, returns, "out/returns", 1e-6);
    golden_expect_gradients(file, golden_weigh(file, returns, "weight0"), "grad", 2, 1e-6);
    golden_check(file);
    golden_close(file);
}

// Deviations from a mean of five: the subtraction of close numbers costs a digit.
TEST_CASE(disagreement_matches_by_deviation_and_by_variance)
{
    golden *file = golden_open("disagreement");
    wk_graph *g = golden_graph(file);
    wk_tensor x = golden_input(file, "x");
    wk_tensor std = wk_graph_disagreement(g, x, WK_DISAGREEMENT_STD, 50);
    wk_tensor variance = wk_graph_disagreement(g, x, WK_DISAGREEMENT_VARIANCE, 1);
    golden_expect(file, std, "out/std", 1e-6);
    golden_expect(file, variance, "out/variance", 1e-6);
    golden_expect_gradients(file, golden_weigh(file, std, "weight_std"), "grad_std", 1, 2e-6);
    golden_expect_gradients(file, golden_weigh(file, variance, "weight_variance"), "grad_variance",
                            1, 2e-6);
    golden_check(file);
    golden_close(file);
}

TEST_MAIN(NULL, NULL)
