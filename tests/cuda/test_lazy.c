// Gradients of imagined features in bf16 against the CPU: they are sums of slices of what several
// heads give, of some steps or of all, and on a GPU nobody writes those sums and slices; nor the
// numbers of images that an encoder and an error read.
#include "base/random.h"
#include "support/check.h"
#include "tensor/cuda/cuda.h"
#include "tensor/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77, STEPS = 3, ROWS = 40, VARIABLES = 4, CLASSES = 16, HIDDEN = 24, UNITS = 16 };
enum { STOCH = VARIABLES * CLASSES, FEATURES = STOCH + HIDDEN, INPUTS = 7 + 3 * STEPS };

typedef struct imagined {
    wk_graph *g;
    int stack;
    wk_tensor inputs[INPUTS];
    size_t count;
    wk_tensor gradients[3 * STEPS];
} imagined;

static wk_tensor input(imagined *run, wk_shape shape)
{
    char name[32];
    snprintf(name, sizeof name, "x%zu", run->count);
    return run->inputs[run->count++] = wk_graph_input(run->g, WK_F32, shape, name);
}

// The features of one step from what it is given, which the gradients are for.
static wk_tensor step(imagined *run, const wk_tensor row[3], wk_tensor given[3])
{
    wk_graph *g = run->g;
    int stack = run->stack;
    given[0] = input(run, WK_SHAPE(stack, ROWS, STOCH));
    given[1] = input(run, WK_SHAPE(stack, ROWS, 3 * HIDDEN));
    given[2] = input(run, WK_SHAPE(stack, ROWS, HIDDEN));
    wk_shape variables = WK_SHAPE(stack * ROWS, VARIABLES, CLASSES);
    wk_tensor stoch =
        wk_graph_reshape(g, wk_graph_softmax(g, wk_graph_reshape(g, given[0], variables)),
                         WK_SHAPE(stack, ROWS, STOCH));
    wk_tensor deter = wk_graph_gru(g, given[1], row[0], row[1], row[2], given[2], 1e-3f);
    return wk_graph_concat(g, (wk_tensor[]){stoch, deter}, 2, 2);
}

// Two heads see the features of all steps, one those of the first two.
static void record(imagined *run)
{
    wk_graph *g = run->g;
    int stack = run->stack, all = STEPS * ROWS, some = 2 * ROWS;
    wk_tensor row[3], w[3], features[STEPS], given[3 * STEPS], losses[3];
    for (int i = 0; i < 3; i++)
        row[i] = input(run, WK_SHAPE(3 * HIDDEN));
    for (int i = 0; i < 3; i++)
        w[i] = input(run, WK_SHAPE(stack, FEATURES, UNITS));
    for (int t = 0; t < STEPS; t++)
        features[t] = step(run, row, given + 3 * t);
    wk_tensor joined = wk_graph_concat(g, features, STEPS, 1);
    wk_tensor weight = input(run, WK_SHAPE(stack, all, UNITS));
    for (int i = 0; i < 3; i++) {
        wk_tensor x = i == 2 ? wk_graph_slice(g, joined, 1, 0, some) : joined;
        wk_tensor y = wk_graph_bias_act(g, wk_graph_matmul(g, x, w[i]), (wk_tensor){0}, WK_ELU);
        wk_tensor scale = i == 2 ? wk_graph_slice(g, weight, 1, 0, some) : weight;
        losses[i] = wk_graph_sum_all(g, wk_graph_mul(g, y, scale));
    }
    wk_graph_gradients(g, wk_graph_add_n(g, losses, 3), given, 3 * STEPS, run->gradients);
    for (int i = 0; i < 3 * STEPS; i++)
        wk_graph_output(g, run->gradients[i]);
}

static void fill(wk_program *program, wk_tensor x, size_t count, uint64_t stream)
{
    wk_error err = {0};
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    wk_rng rng = wk_rng_stream(1, "lazy", stream);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((int)wk_rng_below(&rng, 255) - 127) / 128;
    assert_ok(wk_program_upload(program, x, values, count * sizeof *values, &err));
    free(values);
}

// All gradients one after the other, malloc'd.
static float *gradients_on(wk_backend *backend, int stack, size_t *total)
{
    wk_error err = {0};
    wk_program *program;
    imagined run = {.stack = stack};
    assert_ok(wk_graph_create(&run.g, &err));
    record(&run);
    assert_int_equal(run.count, INPUTS);
    assert_ok(wk_program_create(run.g, backend, &program, &err));
    for (size_t i = 0; i < run.count; i++)
        fill(program, run.inputs[i], wk_shape_count(wk_graph_shape(run.g, run.inputs[i])), i);
    for (int i = 0; i < 2; i++)
        assert_ok(wk_program_run(program, &err));
    *total = 0;
    float *values = NULL;
    for (int i = 0; i < 3 * STEPS; i++) {
        size_t count = wk_shape_count(wk_graph_shape(run.g, run.gradients[i]));
        values = realloc(values, (*total + count) * sizeof *values);
        assert_non_null(values);
        assert_ok(wk_program_download(program, run.gradients[i], values + *total,
                                      count * sizeof *values, &err));
        *total += count;
    }
    wk_program_destroy(program);
    wk_graph_destroy(run.g);
    return values;
}

// bf16 holds 8 bits of what goes into products: some errors of 2^-8 add up.
static void check_stack(int stack)
{
    wk_error err = {0};
    wk_backend *cpu, *gpu;
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(wk_backend_cuda_create(0, WK_CUDA_BF16, &gpu, &err));
    size_t count, same;
    float *truth = gradients_on(cpu, stack, &count), *ours = gradients_on(gpu, stack, &same);
    assert_int_equal(count, same);
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)truth[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)ours[i] - (double)truth[i]) <= 0.02 * largest))
            fail_msg("element %zu of %zu is %g, not %g", i, count, (double)ours[i],
                     (double)truth[i]);
    free(truth);
    free(ours);
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

TEST_CASE(gradients_of_one_policys_features_match_the_cpu)
{
    check_stack(1);
}

TEST_CASE(gradients_of_several_policies_features_match_the_cpu)
{
    check_stack(3);
}

enum { IMAGES = 5, SIDE = 64, CHANNELS = 24, NUMBERS = IMAGES * SIDE * SIDE * 3, SEEN = 3 };

// The gradient of an encoder's weights, the error of a prediction and its gradient.
static void see_on(wk_backend *backend, float *values[SEEN], size_t counts[SEEN])
{
    wk_error err = {0};
    wk_graph *g;
    wk_program *program;
    assert_ok(wk_graph_create(&g, &err));
    wk_tensor bytes = wk_graph_input(g, WK_U8, WK_SHAPE(IMAGES, SIDE, SIDE, 3), "bytes");
    wk_tensor w = wk_graph_input(g, WK_F32, WK_SHAPE(4, 4, 3, CHANNELS), "w");
    wk_tensor guess = wk_graph_input(g, WK_F32, WK_SHAPE(IMAGES, SIDE, SIDE, 3), "guess");
    wk_tensor image = wk_graph_image(g, bytes);
    wk_tensor y = wk_graph_conv(g, image, w, (wk_tensor){0}, 2, WK_ELU);
    wk_tensor error = wk_graph_half_squared_error(g, guess, image, 3), out[SEEN] = {error};
    wk_tensor losses[] = {wk_graph_sum_all(g, wk_graph_mul(g, y, y)), wk_graph_sum_all(g, error)};
    wk_graph_gradients(g, wk_graph_add_n(g, losses, 2), (wk_tensor[]){w, guess}, 2, out + 1);
    for (int i = 0; i < SEEN; i++)
        wk_graph_output(g, out[i]);
    assert_ok(wk_program_create(g, backend, &program, &err));
    static uint8_t pixels[NUMBERS];
    wk_rng rng = wk_rng_stream(1, "pixels", 0);
    for (size_t i = 0; i < NUMBERS; i++)
        pixels[i] = (uint8_t)wk_rng_below(&rng, 256);
    assert_ok(wk_program_upload(program, bytes, pixels, sizeof pixels, &err));
    fill(program, w, 4 * 4 * 3 * CHANNELS, 1);
    fill(program, guess, NUMBERS, 2);
    assert_ok(wk_program_run(program, &err));
    for (int i = 0; i < SEEN; i++) {
        counts[i] = wk_shape_count(wk_graph_shape(g, out[i]));
        values[i] = malloc(counts[i] * sizeof(float));
        assert_non_null(values[i]);
        assert_ok(wk_program_download(program, out[i], values[i], counts[i] * sizeof(float), &err));
    }
    wk_program_destroy(program);
    wk_graph_destroy(g);
}

TEST_CASE(what_is_made_of_images_matches_the_cpu)
{
    static const double tolerance[SEEN] = {1e-5, 0.02, 0};
    wk_error err = {0};
    wk_backend *cpu, *gpu;
    float *truth[SEEN], *ours[SEEN];
    size_t counts[SEEN];
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(wk_backend_cuda_create(0, WK_CUDA_BF16, &gpu, &err));
    see_on(cpu, truth, counts);
    see_on(gpu, ours, counts);
    for (int k = 0; k < SEEN; k++) {
        double largest = 0;
        for (size_t i = 0; i < counts[k]; i++)
            largest = fmax(largest, fabs((double)truth[k][i]));
        for (size_t i = 0; i < counts[k]; i++)
            if (!(fabs((double)ours[k][i] - (double)truth[k][i]) <= tolerance[k] * largest))
                fail_msg("element %zu of %zu of result %d is %g, not %g", i, counts[k], k,
                         (double)ours[k][i], (double)truth[k][i]);
        free(truth[k]);
        free(ours[k]);
    }
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

int main(void)
{
    if (wk_cuda_device_count() == 0) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    return run_all_tests(NULL, NULL);
}
