// Matrix products and convolutions in bf16 against the CPU on inputs that bf16 holds exactly: what
// is left is the order of float32 sums, so every way a product can be put together (few rows,
// ragged rows and sums, stacks, shared operands, gradients) is held to the tolerance of float32.
#include "base/random.h"
#include "support/check.h"
#include "tensor/cuda/cuda.h"
#include "tensor/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

// y = a b: [stack_a,m,k] x [stack_b,k,n], where a stack of 0 is no stack axis; or a convolution of
// images [batch,large,large,large_c] and its transpose from [batch,small,small,small_c].
typedef enum kind { PRODUCT, CONV, DECONV } kind;
typedef struct product_case {
    kind kind;
    int stack_a, stack_b, m, k, n;
    int batch, large, large_c, small_c, kernel, stride;
} product_case;

typedef struct results {
    size_t count;
    float *values; // y, da, db
} results;

// Random numbers with 8 significant bits.
static float *draw(size_t count, uint64_t stream)
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    wk_rng rng = wk_rng_stream(1, "bf16", stream);
    for (size_t i = 0; i < count; i++)
        values[i] = (float)((int)wk_rng_below(&rng, 255) - 127) / 128;
    return values;
}

static wk_shape shape_of(int stack, int rows, int cols)
{
    return stack ? WK_SHAPE(stack, rows, cols) : WK_SHAPE(rows, cols);
}

static void fill(wk_program *program, wk_tensor x, size_t count, uint64_t stream)
{
    wk_error err = {0};
    float *values = draw(count, stream);
    assert_ok(wk_program_upload(program, x, values, count * sizeof *values, &err));
    free(values);
}

static wk_tensor record(wk_graph *g, const product_case *c, wk_tensor x[2])
{
    if (c->kind == PRODUCT) {
        x[0] = wk_graph_input(g, WK_F32, shape_of(c->stack_a, c->m, c->k), "a");
        x[1] = wk_graph_input(g, WK_F32, shape_of(c->stack_b, c->k, c->n), "b");
        return wk_graph_matmul(g, x[0], x[1]);
    }
    int small = (c->large - c->kernel) / c->stride + 1;
    wk_shape images = WK_SHAPE(c->batch, c->large, c->large, c->large_c);
    if (c->kind == DECONV) images = WK_SHAPE(c->batch, small, small, c->small_c);
    x[0] = wk_graph_input(g, WK_F32, images, "images");
    x[1] = wk_graph_input(g, WK_F32, WK_SHAPE(c->kernel, c->kernel, c->large_c, c->small_c), "w");
    wk_tensor none = {0};
    return c->kind == CONV ? wk_graph_conv(g, x[0], x[1], none, c->stride, WK_IDENTITY)
                           : wk_graph_deconv(g, x[0], x[1], none, c->stride, WK_IDENTITY);
}

// y and the gradients of sum(weight * y), run twice on a backend.
static results run_on(wk_backend *backend, const product_case *c)
{
    wk_error err = {0};
    wk_graph *g;
    wk_program *program;
    assert_ok(wk_graph_create(&g, &err));
    wk_tensor x[2], y = record(g, c, x);
    wk_tensor weight = wk_graph_input(g, WK_F32, wk_graph_shape(g, y), "weight");
    wk_tensor out[3] = {y};
    wk_graph_gradients(g, wk_graph_sum_all(g, wk_graph_mul(g, y, weight)), x, 2, out + 1);
    results r = {0};
    size_t counts[3];
    for (int i = 0; i < 3; i++) {
        wk_graph_output(g, out[i]);
        counts[i] = wk_shape_count(wk_graph_shape(g, out[i]));
        r.count += counts[i];
    }
    assert_ok(wk_program_create(g, backend, &program, &err));
    fill(program, x[0], counts[1], 0);
    fill(program, x[1], counts[2], 1);
    fill(program, weight, counts[0], 2);
    for (int i = 0; i < 2; i++)
        assert_ok(wk_program_run(program, &err));
    float *at = r.values = malloc(r.count * sizeof *r.values);
    for (int i = 0; i < 3; at += counts[i++])
        assert_ok(wk_program_download(program, out[i], at, counts[i] * sizeof *at, &err));
    wk_program_destroy(program);
    wk_graph_destroy(g);
    return r;
}

static void check_case(wk_backend *cpu, wk_backend *gpu, const product_case *c)
{
    results truth = run_on(cpu, c), ours = run_on(gpu, c), again = run_on(gpu, c);
    double largest = 0;
    for (size_t i = 0; i < truth.count; i++)
        largest = fmax(largest, fabs((double)truth.values[i]));
    for (size_t i = 0; i < truth.count; i++)
        if (!(fabs((double)ours.values[i] - (double)truth.values[i]) <= 1e-5 * largest))
            fail_msg(
                "[%d,%d,%d] x [%d,%d,%d], or image %d of %d with kernel %d: element %zu of %zu is "
                "%g, not %g",
                c->stack_a, c->m, c->k, c->stack_b, c->k, c->n, c->large, c->large_c, c->kernel, i,
                truth.count, (double)ours.values[i], (double)truth.values[i]);
    assert_memory_equal(ours.values, again.values, ours.count * sizeof *ours.values);
    free(truth.values);
    free(ours.values);
    free(again.values);
}

static void check_cases(const product_case *cases, size_t count)
{
    wk_error err = {0};
    wk_backend *cpu, *gpu;
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(wk_backend_cuda_create(0, WK_CUDA_BF16, &gpu, &err));
    for (size_t i = 0; i < count; i++)
        check_case(cpu, gpu, &cases[i]);
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

#define P(...)                                                                                     \
    {                                                                                              \
        PRODUCT, __VA_ARGS__, 0, 0, 0, 0, 0, 0                                                     \
    }
static void products_match_the_cpu_on_exact_inputs(void **state)
{
    static const product_case cases[] = {
        P(0, 0, 16, 600, 1800), P(0, 0, 13, 64, 40),  P(0, 0, 1, 24, 8),   P(0, 0, 8, 40, 16),
        P(3, 3, 16, 72, 24),    P(0, 0, 50, 163, 24), P(0, 0, 50, 6, 24),  P(0, 0, 700, 16, 1630),
        P(0, 3, 200, 38, 24),   P(0, 3, 200, 32, 24), P(1, 3, 48, 64, 30), P(4, 0, 100, 32, 16),
        P(4, 4, 100, 31, 17),   P(0, 0, 7, 5, 3),     P(2, 2, 1, 1, 1),    P(0, 0, 800, 1024, 600),
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

// Heads of actors and critics, and the numbers of an action: forward few results or few terms, and
// so are their gradients.
static void products_of_few_match_the_cpu_on_exact_inputs(void **state)
{
    static const product_case cases[] = {
        P(0, 0, 800, 400, 12),  P(5, 5, 900, 400, 12), P(5, 5, 1500, 400, 1), P(0, 0, 800, 6, 600),
        P(3, 0, 130, 6, 600),   P(2, 2, 77, 1, 64),    P(0, 0, 5, 640, 16),   P(1, 4, 100, 48, 7),
        P(0, 0, 4000, 600, 16), P(1, 1, 333, 24, 3),   P(2, 2, 640, 12, 40),  P(0, 0, 3, 8, 1),
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

#define C(...)                                                                                     \
    {                                                                                              \
        CONV, 0, 0, 0, 0, 0, __VA_ARGS__                                                           \
    }
#define D(...)                                                                                     \
    {                                                                                              \
        DECONV, 0, 0, 0, 0, 0, __VA_ARGS__                                                         \
    }

// Several tests of lists of cases, so that a tool that slows them down can have them side by side.
typedef struct case_list {
    const char *name;
    const product_case *cases;
    size_t count;
} case_list;

#define LIST(name, ...)                                                                            \
    static const product_case name##_cases[] = {__VA_ARGS__};                                      \
    static case_list name = {#name, name##_cases, sizeof name##_cases / sizeof *name##_cases};

LIST(convolutions_of_an_encoder, C(2, 64, 3, 48, 4, 2), C(3, 31, 48, 96, 4, 2),
     C(5, 14, 96, 192, 4, 2), C(40, 6, 192, 384, 4, 2), C(2, 64, 3, 24, 4, 2),
     C(17, 31, 24, 48, 4, 2), C(2, 64, 3, 12, 4, 2), C(17, 31, 12, 24, 4, 2))
LIST(convolutions_of_a_decoder, D(2, 64, 3, 48, 6, 2), D(3, 30, 48, 96, 6, 2),
     D(5, 13, 96, 192, 5, 2), D(3, 5, 16, 32, 5, 2), D(2, 64, 3, 24, 6, 2), D(11, 30, 24, 48, 6, 2),
     D(2, 64, 3, 12, 6, 2), D(11, 30, 12, 24, 6, 2))
LIST(convolutions_of_few_channels_forward, C(3, 9, 8, 8, 3, 1), C(3, 9, 8, 24, 3, 2),
     C(4, 6, 16, 24, 6, 2), C(3, 11, 3, 5, 4, 2))
LIST(convolutions_of_few_channels_transposed, D(3, 9, 8, 8, 3, 1), D(2, 15, 3, 16, 5, 2),
     D(3, 11, 24, 40, 4, 2), D(4, 31, 16, 32, 3, 2))
// More tiles than blocks of the kernels for RGB images on 132 multiprocessors.
LIST(convolutions_of_many_rgb_images, C(90, 64, 3, 12, 4, 2), C(90, 64, 3, 24, 6, 2),
     C(60, 64, 3, 48, 4, 2), D(90, 64, 3, 12, 6, 2), D(90, 64, 3, 24, 6, 2), D(60, 64, 3, 48, 6, 2))
LIST(convolutions_of_many_images, C(17, 31, 48, 96, 4, 2), D(11, 30, 48, 96, 6, 2))
LIST(convolutions_of_other_sizes_forward, C(7, 13, 96, 192, 5, 2), C(3, 20, 32, 64, 4, 2),
     C(5, 30, 3, 200, 6, 2), C(3, 20, 8, 40, 4, 2), C(3, 22, 56, 16, 6, 2))
LIST(convolutions_of_other_sizes_transposed, D(7, 12, 64, 16, 2, 2), D(9, 22, 104, 48, 4, 2),
     D(3, 13, 24, 40, 5, 2), D(3, 13, 40, 24, 5, 2))
LIST(convolutions_of_channels_in_fours, C(3, 20, 20, 36, 4, 2), C(5, 15, 28, 4, 5, 2),
     C(3, 22, 4, 108, 6, 2), D(3, 13, 12, 20, 5, 2), D(5, 12, 36, 28, 4, 2), D(3, 31, 20, 12, 3, 2))

static void a_list_matches_the_cpu_on_exact_inputs(void **state)
{
    const case_list *list = *state;
    check_cases(list->cases, list->count);
}

static struct CMUnitTest test_of(case_list *list)
{
    return (struct CMUnitTest){.name = list->name,
                               .test_func = a_list_matches_the_cpu_on_exact_inputs,
                               .initial_state = list};
}

// Two layers with bias and ELU, forward or transposed, whose results and gradients between them are
// kept in bf16. The shapes are those of the first layer; the second has the same kernel and stride.
typedef struct layers_case {
    bool transposed;
    int batch, side, channels[3], kernel;
} layers_case;

enum { INPUTS = 5 }; // images, and weights and bias of both layers

static wk_tensor add_layer(wk_graph *g, const layers_case *c, int i, wk_tensor x, wk_tensor *made)
{
    int from = c->channels[i], to = c->channels[i + 1];
    wk_shape shape = c->transposed ? WK_SHAPE(c->kernel, c->kernel, to, from)
                                   : WK_SHAPE(c->kernel, c->kernel, from, to);
    made[0] = wk_graph_input(g, WK_F32, shape, "w");
    made[1] = wk_graph_input(g, WK_F32, WK_SHAPE(to), "b");
    // Small weights keep ELU at both sides of zero.
    wk_tensor w = wk_graph_affine(g, made[0], 1.0f / 16, 0);
    return c->transposed ? wk_graph_deconv(g, x, w, made[1], 2, WK_ELU)
                         : wk_graph_conv(g, x, w, made[1], 2, WK_ELU);
}

// The gradients of sum(weight * y), one after the other, with their counts.
static float *run_layers(wk_backend *backend, const layers_case *c, size_t counts[INPUTS])
{
    wk_error err = {0};
    wk_graph *g;
    wk_program *program;
    assert_ok(wk_graph_create(&g, &err));
    wk_tensor x[INPUTS], dx[INPUTS];
    x[0] = wk_graph_input(g, WK_F32, WK_SHAPE(c->batch, c->side, c->side, c->channels[0]), "x");
    wk_tensor y = add_layer(g, c, 0, x[0], x + 1);
    y = add_layer(g, c, 1, y, x + 3);
    wk_tensor weight = wk_graph_input(g, WK_F32, wk_graph_shape(g, y), "weight");
    wk_graph_gradients(g, wk_graph_sum_all(g, wk_graph_mul(g, y, weight)), x, INPUTS, dx);
    size_t total = 0;
    for (int i = 0; i < INPUTS; i++) {
        wk_graph_output(g, dx[i]);
        total += counts[i] = wk_shape_count(wk_graph_shape(g, dx[i]));
    }
    assert_ok(wk_program_create(g, backend, &program, &err));
    for (int i = 0; i < INPUTS; i++)
        fill(program, x[i], counts[i], (uint64_t)i);
    fill(program, weight, wk_shape_count(wk_graph_shape(g, y)), INPUTS);
    for (int i = 0; i < 2; i++)
        assert_ok(wk_program_run(program, &err));
    float *values = malloc(total * sizeof *values), *at = values;
    assert_non_null(values);
    for (int i = 0; i < INPUTS; at += counts[i++])
        assert_ok(wk_program_download(program, dx[i], at, counts[i] * sizeof *at, &err));
    wk_program_destroy(program);
    wk_graph_destroy(g);
    return values;
}

// The root of the mean squared difference over that of the values.
static double difference(const float *truth, const float *ours, size_t count)
{
    double apart = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)ours[i] - (double)truth[i];
        apart += d * d;
        size += (double)truth[i] * (double)truth[i];
    }
    return sqrt(apart / size);
}

static void gradients_through_two_layers_are_within_the_rounding_of_bf16(void **state)
{
    static const layers_case cases[] = {
        {false, 3, 31, {48, 96, 192}, 4}, {false, 5, 14, {96, 192, 384}, 4},
        {false, 2, 64, {3, 48, 96}, 4},   {true, 3, 13, {96, 48, 3}, 6},
        {true, 3, 5, {192, 96, 48}, 5},   {true, 2, 7, {32, 16, 8}, 6},
        {false, 2, 64, {3, 24, 48}, 4},   {true, 3, 13, {48, 24, 3}, 6},
        {false, 2, 64, {3, 12, 24}, 4},   {true, 3, 13, {24, 12, 3}, 6},
        {false, 3, 31, {20, 12, 36}, 4},  {true, 3, 5, {48, 20, 12}, 5},
    };
    wk_error err = {0};
    wk_backend *cpu, *gpu;
    assert_ok(wk_backend_cpu_create(NULL, &cpu, &err));
    assert_ok(wk_backend_cuda_create(0, WK_CUDA_BF16, &gpu, &err));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t counts[INPUTS], at = 0;
        float *truth = run_layers(cpu, &cases[k], counts),
              *ours = run_layers(gpu, &cases[k], counts);
        float *again = run_layers(gpu, &cases[k], counts);
        for (int i = 0; i < INPUTS; at += counts[i++]) {
            double d = difference(truth + at, ours + at, counts[i]);
            if (!(d < 0.005)) fail_msg("case %zu: gradient %d is off by %g", k, i, d);
        }
        assert_memory_equal(ours, again, at * sizeof *ours);
        free(truth);
        free(ours);
        free(again);
    }
    wk_backend_destroy(gpu);
    wk_backend_destroy(cpu);
}

// usage: test_cuda_bf16 [PATTERN]; with a pattern only the tests it fits, for tools that slow
// kernels
int main(int argc, char **argv)
{
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (wk_cuda_device_count() == 0) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_match_the_cpu_on_exact_inputs),
        cmocka_unit_test(products_of_few_match_the_cpu_on_exact_inputs),
        test_of(&convolutions_of_an_encoder),
        test_of(&convolutions_of_a_decoder),
        test_of(&convolutions_of_few_channels_forward),
        test_of(&convolutions_of_few_channels_transposed),
        test_of(&convolutions_of_many_rgb_images),
        test_of(&convolutions_of_many_images),
        test_of(&convolutions_of_other_sizes_forward),
        test_of(&convolutions_of_other_sizes_transposed),
        test_of(&convolutions_of_channels_in_fours),
        cmocka_unit_test(gradients_through_two_layers_are_within_the_rounding_of_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
