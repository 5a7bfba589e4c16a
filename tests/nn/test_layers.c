// Layers keep the leading axes of what they are given, share weights by name, and treat each member
// of a stack as a network of its own.
#include "nn/layers.h"
#include "support/backend.h"
#include "support/check.h"
#include "tensor/program.h"
#include <stdlib.h>

typedef struct bench {
    wk_backend *backend;
    wk_graph *g;
    wk_params *params;
    wk_scope *scope;
    wk_program *program;
} bench;

static bench open_bench(int stack)
{
    wk_error err = {0};
    bench b = {0};
    assert_ok(test_backend_create(NULL, &b.backend, &err));
    assert_ok(wk_graph_create(&b.g, &err));
    assert_ok(wk_params_create(&(wk_params_config){"net", stack, 11}, &b.params, &err));
    assert_ok(wk_scope_create(b.params, b.g, &b.scope, &err));
    return b;
}

static void start(bench *b)
{
    wk_error err = {0};
    assert_ok(wk_scope_bind(b->scope, b->backend, &err));
    assert_ok(wk_program_create(b->g, b->backend, &b->program, &err));
}

static void close_bench(bench *b)
{
    wk_program_destroy(b->program);
    wk_scope_destroy(b->scope);
    wk_params_destroy(b->params);
    wk_graph_destroy(b->g);
    wk_backend_destroy(b->backend);
}

static void run(bench *b)
{
    wk_error err = {0};
    assert_ok(wk_program_run(b->program, &err));
}

static void put(bench *b, wk_tensor x, const void *bytes, size_t size)
{
    wk_error err = {0};
    assert_ok(wk_program_upload(b->program, x, bytes, size, &err));
}

static void get(const bench *b, wk_tensor x, void *bytes, size_t size)
{
    wk_error err = {0};
    assert_ok(wk_program_download(b->program, x, bytes, size, &err));
}

static void assert_shape(const bench *b, wk_tensor x, wk_shape shape)
{
    assert_true(wk_shape_equal(wk_graph_shape(b->g, x), shape));
}

static wk_tensor input(bench *b, wk_shape shape)
{
    return wk_graph_input(b->g, WK_F32, shape, "x");
}

TEST_CASE(leading_axes_are_kept)
{
    bench b = open_bench(0);
    wk_tensor rows = input(&b, WK_SHAPE(5, 4, 6)), images = input(&b, WK_SHAPE(4, 8, 8, 3));
    wk_tensor small = input(&b, WK_SHAPE(4, 1, 1, 3));
    assert_shape(&b, wk_nn_dense(b.scope, "d", rows, 7, WK_ELU), WK_SHAPE(5, 4, 7));
    const wk_conv_config conv = {9, 4, 2, WK_ELU};
    assert_shape(&b, wk_nn_conv(b.scope, "c", images, &conv), WK_SHAPE(4, 3, 3, 9));
    assert_shape(&b, wk_nn_deconv(b.scope, "t", small, &conv), WK_SHAPE(4, 4, 4, 9));
    const wk_mlp_config mlp = {.layers = 4, .units = 10, .activation = WK_ELU, .outputs = 3};
    assert_shape(&b, wk_nn_mlp(b.scope, "m", rows, &mlp), WK_SHAPE(5, 4, 3));
    close_bench(&b);
}

TEST_CASE(a_stack_goes_in_front)
{
    bench b = open_bench(3);
    wk_tensor shared = input(&b, WK_SHAPE(4, 6)), one = input(&b, WK_SHAPE(1, 5, 4, 6));
    wk_tensor own = input(&b, WK_SHAPE(3, 5, 4, 6)), images = input(&b, WK_SHAPE(3, 2, 8, 8, 3));
    assert_shape(&b, wk_nn_dense(b.scope, "a", shared, 7, WK_ELU), WK_SHAPE(3, 4, 7));
    assert_shape(&b, wk_nn_dense(b.scope, "a", one, 7, WK_ELU), WK_SHAPE(3, 5, 4, 7));
    assert_shape(&b, wk_nn_dense(b.scope, "a", own, 7, WK_ELU), WK_SHAPE(3, 5, 4, 7));
    const wk_conv_config conv = {9, 4, 2, WK_ELU};
    assert_shape(&b, wk_nn_conv(b.scope, "c", images, &conv), WK_SHAPE(3, 2, 3, 3, 9));
    assert_int_equal(b.params->weights.count, 4);
    assert_true(wk_shape_equal(b.params->weights.items[0].shape, WK_SHAPE(3, 6, 7)));
    close_bench(&b);
}

// Member s of a stack of 2 on a shared input equals a network of its own with the same weights.
TEST_CASE(members_of_a_stack_are_separate_networks)
{
    const wk_mlp_config mlp = {.layers = 2, .units = 5, .activation = WK_ELU, .outputs = 3};
    const float rows[8] = {0.5f, -1, 2, 0.25f, -0.5f, 1, 1, -2};
    bench both = open_bench(2);
    wk_tensor x = input(&both, WK_SHAPE(2, 4));
    wk_tensor y = wk_nn_mlp(both.scope, "m", x, &mlp);
    wk_graph_output(both.g, y);
    start(&both);
    put(&both, x, rows, sizeof rows);
    run(&both);
    float stacked[12];
    get(&both, y, stacked, sizeof stacked);
    for (int member = 0; member < 2; member++) {
        bench one = open_bench(0);
        wk_tensor x1 = input(&one, WK_SHAPE(2, 4)), y1 = wk_nn_mlp(one.scope, "m", x1, &mlp);
        wk_graph_output(one.g, y1);
        start(&one);
        put(&one, x1, rows, sizeof rows);
        for (size_t i = 0; i < one.params->weights.count; i++) {
            size_t count = one.params->weights.items[i].count;
            float values[2 * 64];
            wk_params_initial(both.params, i, values);
            put(&one, one.scope->tensors.items[i], values + (size_t)member * count,
                count * sizeof *values);
        }
        run(&one);
        float alone[6];
        get(&one, y1, alone, sizeof alone);
        for (int i = 0; i < 6; i++)
            assert_near(stacked[member * 6 + i], alone[i], 1e-6);
        close_bench(&one);
    }
    close_bench(&both);
}

// Each variable of each row has one class, drawn with its probability; the gradient is that of the
// probabilities.
TEST_CASE(categorical_samples_are_one_hot_and_straight_through)
{
    enum { ROWS = 2000, VARIABLES = 2, CLASSES = 3, WIDTH = VARIABLES * CLASSES };
    bench b = open_bench(0);
    wk_tensor logits = input(&b, WK_SHAPE(ROWS, WIDTH)), weight = input(&b, WK_SHAPE(ROWS, WIDTH));
    wk_tensor counter = wk_graph_persistent(b.g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    wk_tensor sample =
        wk_nn_sample_categorical(b.g, logits, CLASSES, wk_nn_random(counter, 5, "sample", 0));
    wk_tensor loss = wk_graph_sum_all(b.g, wk_graph_mul(b.g, sample, weight)), grad;
    wk_graph_gradients(b.g, loss, &logits, 1, &grad);
    wk_graph_output(b.g, sample);
    wk_graph_output(b.g, grad);
    start(&b);
    static float values[ROWS * WIDTH], weights[ROWS * WIDTH], drawn[ROWS * WIDTH],
        grads[ROWS * WIDTH];
    const double p[WIDTH] = {0.2, 0.3, 0.5, 0.7, 0.2, 0.1}, w[WIDTH] = {1, -2, 3, 0.5, 4, -1};
    for (int i = 0; i < ROWS * WIDTH; i++) {
        values[i] = (float)log(p[i % WIDTH]);
        weights[i] = (float)w[i % WIDTH];
    }
    put(&b, logits, values, sizeof values);
    put(&b, weight, weights, sizeof weights);
    run(&b);
    get(&b, sample, drawn, sizeof drawn);
    get(&b, grad, grads, sizeof grads);
    double share[WIDTH] = {0};
    for (int i = 0; i < ROWS * WIDTH; i += CLASSES) {
        assert_true(drawn[i] + drawn[i + 1] + drawn[i + 2] == 1);
        for (int c = 0; c < CLASSES; c++)
            share[(i + c) % WIDTH] += drawn[i + c] / (double)ROWS;
    }
    for (int i = 0; i < WIDTH; i++) {
        int first = i / CLASSES * CLASSES;
        double mean = 0;
        for (int c = 0; c < CLASSES; c++)
            mean += p[first + c] * w[first + c];
        assert_near(share[i], p[i], 5 * sqrt(p[i] * (1 - p[i]) / ROWS));
        assert_near(grads[i], p[i] * (w[i] - mean), 1e-6);
    }
    close_bench(&b);
}

TEST_CASE(without_a_random_source_the_mode_is_taken)
{
    bench b = open_bench(0);
    wk_tensor logits = input(&b, WK_SHAPE(1, 6));
    wk_tensor mode = wk_nn_sample_categorical(b.g, logits, 3, (wk_random){0});
    wk_graph_output(b.g, mode);
    start(&b);
    const float values[] = {0, 2, 1, 5, 5, -1}, expected[] = {0, 1, 0, 1, 0, 0};
    float got[6];
    put(&b, logits, values, sizeof values);
    run(&b);
    get(&b, mode, got, sizeof got);
    assert_memory_equal(got, expected, sizeof got);
    close_bench(&b);
}

TEST_CASE(random_sources_differ_by_name_index_and_seed)
{
    const wk_tensor counter = {1};
    uint64_t keys[] = {wk_nn_random(counter, 1, "a", 0).key, wk_nn_random(counter, 1, "a", 1).key,
                       wk_nn_random(counter, 1, "b", 0).key, wk_nn_random(counter, 2, "a", 0).key};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_true(keys[i] != keys[j]);
}

TEST_MAIN(NULL, NULL)
