// The kernel of every step: for each row of the fusion table graphs that it takes, and near misses
// that its guard refuses, with the reason. Needs no GPU.
#include "../../bench/sizes.h"
#include "agent/learner_parts.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/planning.h"
#include "tensor/cuda/passes/fusion.h"
#include "tensor/cuda/passes/plan_passes.h"
#include "tensor/cuda/passes/recurrence.h"
#include "tensor/plan.h"
#include "tensor/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 256 };

typedef struct fixture {
    engine e;
    wk_plan *plan;
    wk_fused *fused;
    wk_cuda_limits limits;
} fixture;

static fixture open_fixture(void)
{
    return (fixture){.e = engine_open(1), .limits = planning_limits};
}

static void close_fixture(fixture *f)
{
    free(f->fused);
    wk_plan_destroy(f->plan);
    engine_close(&f->e);
}

static void choose(fixture *f)
{
    wk_error err = {0};
    assert_ok(wk_plan_create(f->e.g, &planning_backend, &f->plan, &err));
    f->fused = malloc((f->plan->node_count + 1) * sizeof *f->fused);
    assert_non_null(f->fused);
    wk_fusion_choose(f->plan, &f->limits, f->fused);
}

// The step that makes a tensor.
static int step_of(const fixture *f, wk_tensor x)
{
    for (int step = 0; step < (int)f->plan->node_count; step++)
        if (f->e.g->nodes.items[f->plan->nodes[step]].outputs == x.id) return step;
    fail_msg("no step makes the tensor");
    return -1;
}

static const wk_fused *chosen(const fixture *f, wk_tensor x)
{
    return &f->fused[step_of(f, x)];
}

static void expect(const fixture *f, wk_tensor x, wk_kernel kernel)
{
    assert_string_equal(wk_kernel_names[chosen(f, x)->kernel], wk_kernel_names[kernel]);
}

static void expect_fused(const fixture *f, wk_tensor part, wk_tensor into)
{
    expect(f, part, WK_KERNEL_NONE);
    assert_int_equal(chosen(f, part)->fused_into, step_of(f, into));
}

// Plans, and checks that the first row of a kernel whose ops are there refuses, for this reason.
static void expect_refusal(fixture *f, wk_tensor x, wk_kernel kernel, const char *reason)
{
    choose(f);
    int step = step_of(f, x), seen = 0;
    for (int row = 0; row < wk_fusion_rows(); row++) {
        const char *why = wk_fusion_why_not(f->plan, &f->limits, f->fused, row, step);
        if (wk_fusion_row_kernel(row) != kernel || (why && !*why)) continue;
        assert_non_null(why);
        assert_string_equal(why, reason);
        seen = 1;
        break;
    }
    assert_int_equal(seen, 1);
    assert_int_not_equal(f->fused[step].kernel, kernel);
    close_fixture(f);
}

static wk_tensor weights(fixture *f, int rows, int cols)
{
    return engine_state(&f->e, WK_SHAPE(rows, cols));
}

// Read by a product, so that bf16 is enough.
static void read_by_product(fixture *f, wk_tensor x, int width)
{
    wk_graph_output(f->e.g, wk_graph_matmul(f->e.g, x, weights(f, width, 64)));
}

// act(x w + bias), and x w.
typedef struct layer {
    wk_tensor product, y;
} layer;

static layer make_layer(fixture *f, int terms, int width, wk_activation activation)
{
    layer l;
    l.product = wk_graph_matmul(f->e.g, weights(f, ROWS, terms), weights(f, terms, width));
    l.y = wk_graph_bias_act(f->e.g, l.product, engine_state(&f->e, WK_SHAPE(width)), activation);
    return l;
}

TEST_CASE(a_layer_of_elu_is_one_product)
{
    const struct {
        int processors;
        wk_gemm_tile tile;
    } devices[] = {{8, WK_TILE_RESIDENT}, {132, WK_TILE_64X80}};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        fixture f = open_fixture();
        f.limits.processors = devices[i].processors;
        layer l = make_layer(&f, 400, 400, WK_ELU);
        read_by_product(&f, l.y, 400);
        choose(&f);
        expect(&f, l.product, WK_KERNEL_WGMMA);
        expect_fused(&f, l.y, l.product);
        assert_int_equal(chosen(&f, l.product)->epilogue, step_of(&f, l.y));
        assert_int_equal(chosen(&f, l.product)->tile, devices[i].tile);
        close_fixture(&f);
    }
}

// At the presets' sizes alone, and in a population: a member's share of the multiprocessors.
TEST_CASE(tiles_suit_the_columns_and_the_processors)
{
    const struct {
        wk_gemm_sizes sizes;
        int processors;
        wk_gemm_tile tile;
    } cases[] = {
        {{10, 12000, 400, {400}, false, true}, 132, WK_TILE_RESIDENT},
        {{10, 12000, 1630, {400}, true, false}, 132, WK_TILE_128X208},
        {{10, 12000, 1624, {400}, false, true}, 132, WK_TILE_128X208},
        {{1, 800, 400, {400}, false, true}, 132, WK_TILE_64X80},
        {{1, 800, 400, {400}, false, true}, 132 / 8, WK_TILE_RESIDENT},
        {{1, 800, 600, {1024, 6}, false, true}, 132, WK_TILE_64X80},
        {{1, 800, 600, {1024, 6}, false, true}, 132 / 8, WK_TILE_128X208},
        {{7, 6144, 256, {256}, false, true}, 132, WK_TILE_128X256},
        {{7, 6144, 256, {838}, false, true}, 132, WK_TILE_128X256},
        {{7, 6144, 256, {838}, false, true}, 1, WK_TILE_128X256},
        {{7, 6144, 832, {256}, false, true}, 132, WK_TILE_128X208},
        {{7, 6144, 838, {256}, true, false}, 132, WK_TILE_128X208},
        {{1, 6144, 256, {256}, false, true}, 132, WK_TILE_128X128},
        {{1, 6144, 256, {256}, false, true}, 132 / 8, WK_TILE_128X256},
        {{1, 512, 256, {256}, false, true}, 132, WK_TILE_64X80},
        {{1, 512, 256, {256}, false, true}, 132 / 8, WK_TILE_64X128},
        {{5, 1024, 128, {128}, false, true}, 132, WK_TILE_64X128},
        {{5, 1024, 128, {128}, false, true}, 132 / 8, WK_TILE_128X128},
        {{1, 128, 128, {128}, false, true}, 132, WK_TILE_64X80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(wk_gemm_choose_tile(&cases[i].sizes, cases[i].processors), cases[i].tile);
}

TEST_CASE(what_a_layer_s_product_cannot_be)
{
    const struct {
        int terms, width, capability;
        wk_activation activation;
        const char *reason;
    } cases[] = {
        {400, 400, 80, WK_ELU, "the device has no wgmma"},
        {400, 400, 90, WK_TANH, "the epilogue is not of ELU"},
        {1032, 400, 90, WK_ELU, "more than 1024 terms"},
        {400, 404, 90, WK_ELU, "its columns are no multiple of 8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        f.limits.capability = cases[i].capability;
        layer l = make_layer(&f, cases[i].terms, cases[i].width, cases[i].activation);
        read_by_product(&f, l.y, cases[i].width);
        expect_refusal(&f, l.product, WK_KERNEL_WGMMA, cases[i].reason);
    }
}

TEST_CASE(a_product_that_is_read_twice_keeps_its_epilogue_apart)
{
    fixture f = open_fixture();
    layer l = make_layer(&f, 400, 400, WK_ELU);
    read_by_product(&f, l.y, 400);
    wk_graph_output(f.e.g, wk_graph_mean_all(f.e.g, l.product));
    expect_refusal(&f, l.product, WK_KERNEL_WGMMA,
                   "the epilogue does not take the product's place");
}

TEST_CASE(operands_that_begin_anywhere_are_left_to_the_library)
{
    fixture f = open_fixture();
    wk_tensor all = engine_state(&f.e, WK_SHAPE(402 * 400));
    wk_tensor w =
        wk_graph_reshape(f.e.g, wk_graph_slice(f.e.g, all, 0, 4, 400 * 400), WK_SHAPE(400, 400));
    wk_tensor product = wk_graph_matmul(f.e.g, weights(&f, ROWS, 400), w);
    wk_tensor y = wk_graph_bias_act(f.e.g, product, engine_state(&f.e, WK_SHAPE(400)), WK_ELU);
    read_by_product(&f, y, 400);
    expect_refusal(&f, product, WK_KERNEL_WGMMA, "an operand begins at no 16 bytes");
}

// d w' and the slope at y.
TEST_CASE(the_slope_of_a_layer_is_fused)
{
    fixture f = open_fixture();
    layer l = make_layer(&f, 64, 400, WK_ELU);
    read_by_product(&f, l.y, 400);
    wk_tensor product = wk_graph_matmul_general(
        f.e.g, weights(&f, ROWS, 400), weights(&f, 400, 400), false, true, false, (wk_tensor){0});
    wk_attrs elu = {.bias_act = {WK_ELU, 1}};
    wk_tensor d = WK_EMIT(f.e.g, act_grad, elu, product, l.y);
    read_by_product(&f, d, 400);
    choose(&f);
    expect(&f, product, WK_KERNEL_WGMMA);
    expect_fused(&f, d, product);
    close_fixture(&f);
}

// elu(x w + a v + bias), where a has few columns.
typedef struct sum {
    wk_tensor addend, product, y;
} sum;

static sum make_sum(fixture *f, int few)
{
    sum s;
    s.addend = wk_graph_matmul(f->e.g, weights(f, ROWS, few), weights(f, few, 400));
    s.product =
        wk_graph_matmul_add(f->e.g, weights(f, ROWS, 1024), weights(f, 1024, 400), s.addend);
    s.y = wk_graph_bias_act(f->e.g, s.product, engine_state(&f->e, WK_SHAPE(400)), WK_ELU);
    read_by_product(f, s.y, 400);
    return s;
}

TEST_CASE(two_products_and_their_layer_are_one)
{
    fixture f = open_fixture();
    sum s = make_sum(&f, 6);
    choose(&f);
    expect(&f, s.product, WK_KERNEL_WGMMA);
    expect_fused(&f, s.addend, s.product);
    expect_fused(&f, s.y, s.product);
    close_fixture(&f);
    // Of more terms, the first product is another kernel, and its result is added.
    f = open_fixture();
    s = make_sum(&f, 24);
    choose(&f);
    expect(&f, s.addend, WK_KERNEL_CUBLAS);
    expect(&f, s.product, WK_KERNEL_WGMMA);
    expect_fused(&f, s.y, s.product);
    close_fixture(&f);
    // In a population, where a member has a share of the processors, they are one launch.
    f = open_fixture();
    f.limits.processors = 13;
    s = make_sum(&f, 256);
    choose(&f);
    expect(&f, s.product, WK_KERNEL_WGMMA);
    expect_fused(&f, s.addend, s.product);
    close_fixture(&f);
}

static wk_learner *open_learner(const char *preset)
{
    wk_error err = {0};
    wk_learner *learner;
    wk_learner_config c = wk_learner_config_default();
    assert_true(bench_sizes(&c, preset));
    c.action_size = 6;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, &planning_backend,
                                &learner, &err));
    return learner;
}

// The gates of all imagined steps of preset small for ten runs.
TEST_CASE(the_gates_of_a_population_are_one_product)
{
    wk_learner *learner = open_learner("small");
    const wk_plan *plan = learner->update.program->plan;
    wk_fused *fused = malloc((plan->node_count + 1) * sizeof *fused);
    assert_non_null(fused);
    wk_cuda_limits share = planning_limits;
    share.processors /= 10;
    wk_fusion_choose(plan, &share, fused);
    int gates = 0;
    for (size_t i = 0; i < plan->node_count; i++) {
        const wk_node *node = &plan->graph->nodes.items[plan->nodes[i]];
        gates += fused[i].addend >= 0 &&
                 wk_shape_width(wk_info(plan->graph, node->outputs)->type.shape) == 768;
    }
    assert_int_equal(gates, 12);
    free(fused);
    wk_learner_destroy(learner);
}

static wk_tensor stack_product(fixture *f, int stack_b)
{
    wk_tensor a = engine_state(&f->e, WK_SHAPE(3, ROWS, 64));
    wk_tensor b = engine_state(&f->e, WK_SHAPE(stack_b, 400, 64));
    wk_tensor y = wk_graph_matmul_general(f->e.g, a, b, false, true, true, (wk_tensor){0});
    wk_graph_output(f->e.g, y);
    return y;
}

TEST_CASE(products_of_a_stack_are_summed_in_one)
{
    fixture f = open_fixture();
    wk_tensor y = stack_product(&f, 3);
    choose(&f);
    expect(&f, y, WK_KERNEL_WGMMA);
    close_fixture(&f);
    f = open_fixture();
    y = stack_product(&f, 1);
    expect_refusal(&f, y, WK_KERNEL_WGMMA, "a summed operand is shared");
}

// The head of an actor, and its action.
typedef struct head {
    layer layer;
    wk_tensor action;
} head;

static head make_head(fixture *f, int terms, int width, wk_activation activation, bool draws)
{
    head h = {.layer = make_layer(f, terms, width, activation)};
    wk_graph_output(f->e.g, h.layer.y);
    if (!draws) return h;
    wk_random random = {engine_counter(&f->e), 7};
    h.action = wk_graph_truncated_normal_sample(f->e.g, h.layer.y, random, WK_SAMPLE_EXACT);
    wk_graph_output(f->e.g, h.action);
    return h;
}

TEST_CASE(a_head_is_one_kernel)
{
    for (int draws = 0; draws < 2; draws++) {
        fixture f = open_fixture();
        head h = make_head(&f, 400, 12, WK_IDENTITY, draws);
        choose(&f);
        expect(&f, h.layer.product, draws ? WK_KERNEL_SKINNY_ACTION : WK_KERNEL_SKINNY_HEAD);
        expect_fused(&f, h.layer.y, h.layer.product);
        if (draws) expect_fused(&f, h.action, h.layer.product);
        close_fixture(&f);
    }
}

TEST_CASE(what_a_head_cannot_be)
{
    const struct {
        int terms, width;
        wk_activation activation;
        const char *reason;
    } cases[] = {
        {400, 18, WK_IDENTITY, "more than 16 results a row"},
        {648, 12, WK_IDENTITY, "its terms are no multiple of 8, or more than 640"},
        {404, 12, WK_IDENTITY, "its terms are no multiple of 8, or more than 640"},
        {400, 12, WK_TANH, "more, or less, than a bias follows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int draws = 0; draws < 2; draws++) {
            fixture f = open_fixture();
            head h = make_head(&f, cases[i].terms, cases[i].width, cases[i].activation, draws);
            expect_refusal(&f, h.layer.product,
                           draws ? WK_KERNEL_SKINNY_ACTION : WK_KERNEL_SKINNY_HEAD,
                           cases[i].reason);
        }
}

TEST_CASE(a_draw_on_another_stream_is_left_there)
{
    fixture f = open_fixture();
    head h = make_head(&f, 400, 12, WK_IDENTITY, false);
    wk_random random = {engine_counter(&f.e), 7};
    wk_tensor action = wk_graph_truncated_normal_sample(f.e.g, h.layer.y, random, WK_SAMPLE_EXACT);
    wk_graph_output(f.e.g, action);
    choose(&f);
    f.plan->streams[step_of(&f, action)] = 1;
    wk_fusion_choose(f.plan, &f.limits, f.fused);
    expect(&f, h.layer.product, WK_KERNEL_SKINNY_HEAD);
    expect(&f, action, WK_KERNEL_OP);
    close_fixture(&f);
}

// A product a b or a' b, as an output.
static wk_tensor plain_product(fixture *f, bool transposed, int m, int n, int k)
{
    wk_tensor a = transposed ? weights(f, k, m) : weights(f, m, k);
    wk_tensor y = wk_graph_matmul_general(f->e.g, a, weights(f, k, n), transposed, false, false,
                                          (wk_tensor){0});
    wk_graph_output(f->e.g, y);
    return y;
}

TEST_CASE(products_alone)
{
    const struct {
        bool transposed;
        int m, n, k;
        wk_kernel kernel, missed;
        const char *reason;
    } cases[] = {
        {false, ROWS, 12, 400, WK_KERNEL_SKINNY_N, WK_KERNEL_COUNT, NULL},
        {false, ROWS, 20, 400, WK_KERNEL_CUBLAS, WK_KERNEL_SKINNY_N, "more than 16 results a row"},
        {false, ROWS, 400, 6, WK_KERNEL_SKINNY_K, WK_KERNEL_COUNT, NULL},
        {false, ROWS, 402, 6, WK_KERNEL_CUBLAS, WK_KERNEL_SKINNY_K,
         "its results are no multiple of 4, or more than 640"},
        {false, ROWS, 400, 17, WK_KERNEL_CUBLAS, WK_KERNEL_SKINNY_K, "more than 16 terms"},
        {true, 400, 12, ROWS, WK_KERNEL_SKINNY_DW, WK_KERNEL_COUNT, NULL},
        {true, 400, 12, 32, WK_KERNEL_CUBLAS, WK_KERNEL_SKINNY_DW, "fewer than 64 terms"},
        {true, 648, 12, ROWS, WK_KERNEL_CUBLAS, WK_KERNEL_SKINNY_DW,
         "its rows are no multiple of 8, or more than 640"},
        {false, ROWS, 400, 400, WK_KERNEL_CUBLAS, WK_KERNEL_WGMMA, "there is nothing to fuse"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        wk_tensor y = plain_product(&f, cases[i].transposed, cases[i].m, cases[i].n, cases[i].k);
        if (cases[i].reason) {
            expect_refusal(&f, y, cases[i].missed, cases[i].reason);
            f = open_fixture();
            y = plain_product(&f, cases[i].transposed, cases[i].m, cases[i].n, cases[i].k);
        }
        choose(&f);
        expect(&f, y, cases[i].kernel);
        close_fixture(&f);
    }
}

TEST_CASE(a_bias_goes_with_the_library_s_product)
{
    fixture f = open_fixture();
    layer l = make_layer(&f, 400, 400, WK_IDENTITY);
    wk_graph_output(f.e.g, l.y);
    choose(&f);
    expect(&f, l.product, WK_KERNEL_CUBLASLT_BIAS);
    expect_fused(&f, l.y, l.product);
    close_fixture(&f);
    f = open_fixture();
    l = make_layer(&f, 400, 400, WK_IDENTITY);
    wk_graph_output(f.e.g, l.y);
    read_by_product(&f, l.y, 400);
    expect_refusal(&f, l.product, WK_KERNEL_CUBLASLT_BIAS, "the result exists in both formats");
}

// Two convolutions, or transposed ones, and their gradients; the gradient of the image between.
static wk_tensor conv_gradient(fixture *f, bool transposed, wk_activation activation)
{
    wk_graph *g = f->e.g;
    wk_tensor x = engine_state(&f->e, WK_SHAPE(32, 14, 14, 16)), params[4];
    for (int i = 0; i < 4; i += 2) {
        params[i] = engine_state(&f->e, WK_SHAPE(4, 4, 16, 16));
        params[i + 1] = engine_state(&f->e, WK_SHAPE(16));
        x = transposed ? wk_graph_deconv(g, x, params[i], params[i + 1], 2, activation)
                       : wk_graph_conv(g, x, params[i], params[i + 1], 2, activation);
    }
    wk_tensor gradients[4];
    wk_graph_gradients(g, wk_graph_mean_all(g, x), params, 4, gradients);
    for (int i = 0; i < 4; i++)
        wk_graph_store(g, engine_state(&f->e, wk_graph_shape(g, gradients[i])), gradients[i]);
    wk_op op = transposed ? WK_OP_deconv_dx : WK_OP_conv_dx;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i].op == op) return (wk_tensor){g->nodes.items[i].outputs};
    fail_msg("there is no gradient of an image");
    return (wk_tensor){0};
}

// A stack's products of few rows and a bias, on a member's share of the device.
static wk_kernel stack_kernel(int rows, int members)
{
    fixture f = open_fixture();
    f.limits.processors /= members;
    wk_tensor x = engine_state(&f.e, WK_SHAPE(5, rows, 128)),
              w = engine_state(&f.e, WK_SHAPE(5, 128, 384)),
              b = engine_state(&f.e, WK_SHAPE(5, 384));
    wk_tensor product = wk_graph_matmul(f.e.g, x, w);
    wk_tensor y = wk_graph_bias_act(f.e.g, product, b, WK_IDENTITY);
    wk_graph_output(f.e.g, wk_graph_matmul(f.e.g, y, engine_state(&f.e, WK_SHAPE(5, 384, 64))));
    choose(&f);
    wk_kernel kernel = chosen(&f, product)->kernel;
    close_fixture(&f);
    return kernel;
}

TEST_CASE(small_products_of_a_population_s_stacks_are_one_launch)
{
    assert_int_equal(stack_kernel(1024, 32), WK_KERNEL_WGMMA);
    assert_int_equal(stack_kernel(1032, 32), WK_KERNEL_CUBLASLT_BIAS);
    assert_int_equal(stack_kernel(1024, 1), WK_KERNEL_CUBLASLT_BIAS);
}

// Rows of a kernel whose ops are at the step that makes a tensor, and that refuse for a reason.
static int count_refusals(const fixture *f, wk_tensor x, wk_kernel kernel, const char *reason)
{
    int count = 0;
    for (int row = 0; row < wk_fusion_rows(); row++) {
        const char *why = wk_fusion_why_not(f->plan, &f->limits, f->fused, row, step_of(f, x));
        count += wk_fusion_row_kernel(row) == kernel && why && strcmp(why, reason) == 0;
    }
    return count;
}

// d w' and the gradients of a layer's product and bias, which has members.
static wk_tensor make_bias_gradient(fixture *f, int terms, int members, wk_activation activation)
{
    layer l = make_layer(f, 64, 400, activation);
    read_by_product(f, l.y, 400);
    wk_tensor product =
        wk_graph_matmul_general(f->e.g, weights(f, ROWS, terms), weights(f, 400, terms), false,
                                true, false, (wk_tensor){0});
    wk_attrs attrs = {.bias_act = {activation, members}};
    wk_tensor d = WK_EMIT(f->e.g, bias_act_grad, attrs, product, l.y);
    read_by_product(f, d, 400);
    wk_graph_output(f->e.g, (wk_tensor){d.id + 1});
    return product;
}

TEST_CASE(the_slope_and_the_bias_of_a_layer_are_fused)
{
    const struct {
        int terms, members;
        wk_activation activation;
        const char *reason;
    } misses[] = {{400, 1, WK_TANH, "the epilogue is not of ELU"},
                  {1032, 1, WK_ELU, "more than 1024 terms"},
                  {400, 2, WK_ELU, "the bias has another shape"}};
    fixture f = open_fixture();
    wk_tensor product = make_bias_gradient(&f, 400, 1, WK_ELU);
    choose(&f);
    expect(&f, product, WK_KERNEL_WGMMA);
    assert_int_equal(chosen(&f, product)->fused_next, 1);
    assert_int_not_equal(chosen(&f, product)->tile, WK_TILE_RESIDENT);
    close_fixture(&f);
    for (size_t i = 0; i < sizeof misses / sizeof *misses; i++) {
        f = open_fixture();
        product = make_bias_gradient(&f, misses[i].terms, misses[i].members, misses[i].activation);
        choose(&f);
        assert_int_equal(chosen(&f, product)->fused_next, 0);
        assert_int_equal(count_refusals(&f, product, WK_KERNEL_WGMMA, misses[i].reason), 1);
        close_fixture(&f);
    }
}

TEST_CASE(the_slope_of_the_layer_before_an_image_is_fused)
{
    for (int transposed = 0; transposed < 2; transposed++) {
        fixture f = open_fixture();
        wk_tensor d = conv_gradient(&f, transposed, WK_ELU);
        choose(&f);
        expect(&f, d, WK_KERNEL_CONV_PLANES);
        assert_int_equal(chosen(&f, d)->fused_next, 1);
        close_fixture(&f);
        f = open_fixture();
        d = conv_gradient(&f, transposed, WK_TANH);
        choose(&f);
        expect(&f, d, WK_KERNEL_CONV_PLANES);
        assert_int_equal(chosen(&f, d)->fused_next, 0);
        assert_int_equal(
            count_refusals(&f, d, WK_KERNEL_CONV_PLANES, "it is not the slope of one ELU layer"),
            1);
        close_fixture(&f);
    }
}

// A convolution of square images, large to small, as an output.
static wk_tensor convolve(fixture *f, wk_shape x, int kernel, int channels, int stride,
                          wk_activation activation)
{
    wk_shape w = x;
    w.dim[x.rank - 4] = w.dim[x.rank - 3] = kernel;
    w.dim[x.rank - 2] = x.dim[x.rank - 1], w.dim[x.rank - 1] = channels;
    wk_shape b = x.rank == 5 ? WK_SHAPE(x.dim[0], channels) : WK_SHAPE(channels);
    wk_tensor y = wk_graph_conv(f->e.g, engine_state(&f->e, x), engine_state(&f->e, w),
                                engine_state(&f->e, b), stride, activation);
    wk_graph_output(f->e.g, y);
    return y;
}

TEST_CASE(channels_may_be_an_odd_number_of_chunks)
{
    fixture f = open_fixture();
    f.limits.capability = 90;
    wk_tensor y = convolve(&f, WK_SHAPE(32, 14, 14, 24), 4, 16, 2, WK_IDENTITY);
    choose(&f);
    expect(&f, y, WK_KERNEL_CONV_PLANES);
    close_fixture(&f);
}

static wk_tensor weights_gradient(fixture *f, int large, int large_c, int small_c, int kernel)
{
    int small = (large - kernel) / 2 + 1;
    wk_tensor x = engine_state(&f->e, WK_SHAPE(32, large, large, large_c));
    wk_tensor w = engine_state(&f->e, WK_SHAPE(kernel, kernel, large_c, small_c)), dw;
    wk_tensor y = wk_graph_conv(f->e.g, x, w, (wk_tensor){0}, 2, WK_IDENTITY);
    wk_tensor weight = engine_state(&f->e, WK_SHAPE(32, small, small, small_c));
    wk_graph_gradients(f->e.g, wk_graph_sum_all(f->e.g, wk_graph_mul(f->e.g, y, weight)), &w, 1,
                       &dw);
    wk_graph_output(f->e.g, dw);
    return dw;
}

TEST_CASE(gradients_of_few_weights_are_summed_in_registers)
{
    const struct {
        int large, large_c, small_c, kernel, capability;
        wk_kernel chosen;
        const char *reason;
    } cases[] = {
        {64, 3, 24, 4, 90, WK_KERNEL_RGB_WEIGHTS, NULL},
        {32, 3, 24, 4, 90, WK_KERNEL_CONV_WEIGHTS, NULL},
        {30, 24, 48, 6, 90, WK_KERNEL_CONV_WEIGHTS, NULL},
        {31, 48, 48, 4, 80, WK_KERNEL_CONV_DIRECT, "the device has no wgmma"},
        {14, 48, 56, 4, 90, WK_KERNEL_CONV_DIRECT, "its small image has more than 48 channels"},
        {14, 176, 48, 4, 90, WK_KERNEL_CONV_DIRECT,
         "two tiles' parts of the images do not fit into shared memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        f.limits.capability = cases[i].capability;
        wk_tensor dw = weights_gradient(&f, cases[i].large, cases[i].large_c, cases[i].small_c,
                                        cases[i].kernel);
        choose(&f);
        expect(&f, dw, cases[i].chosen);
        if (cases[i].reason)
            assert_int_equal(count_refusals(&f, dw, WK_KERNEL_CONV_WEIGHTS, cases[i].reason), 1);
        close_fixture(&f);
    }
}

TEST_CASE(what_kernels_of_convolutions_refuse)
{
    const struct {
        wk_shape x;
        int kernel, channels, stride, capability;
        wk_activation activation;
        wk_kernel kernel_chosen, missed;
        const char *reason;
    } cases[] = {
        {WK_SHAPE(32, 14, 14, 16), 4, 16, 2, 80, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "the device has no wgmma"},
        {WK_SHAPE(2, 32, 14, 14, 16), 4, 16, 2, 90, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "it is a stack of images"},
        {WK_SHAPE(32, 14, 14, 16), 4, 16, 1, 90, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "its stride is not 2"},
        {WK_SHAPE(32, 15, 15, 24), 5, 16, 2, 90, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "its kernel is odd and its channels are no multiple of 16"},
        {WK_SHAPE(32, 14, 14, 16), 4, 10, 2, 90, WK_IDENTITY, WK_KERNEL_OP, WK_KERNEL_CONV_PLANES,
         "its channels are no multiple of 4"},
        {WK_SHAPE(32, 6, 6, 16), 4, 16, 2, 90, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "too many places are beyond the small image's edge"},
        {WK_SHAPE(32, 14, 14, 256), 4, 16, 2, 90, WK_IDENTITY, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "a tile's part of the images does not fit into shared memory"},
        {WK_SHAPE(32, 14, 14, 16), 4, 16, 2, 90, WK_TANH, WK_KERNEL_CONV_DIRECT,
         WK_KERNEL_CONV_PLANES, "its activation is not ELU, or its result is RGB"},
        {WK_SHAPE(32, 64, 64, 3), 4, 28, 2, 90, WK_ELU, WK_KERNEL_CONV_PLANES, WK_KERNEL_CONV_RGB,
         "its image is not RGB of a preset's sizes"},
        {WK_SHAPE(32, 4, 4, 16), 4, 16, 2, 90, WK_IDENTITY, WK_KERNEL_CONV_PRODUCT,
         WK_KERNEL_CONV_PLANES, "its images are no larger than its kernel"},
        {WK_SHAPE(32, 14, 14, 16), 4, 12, 2, 80, WK_IDENTITY, WK_KERNEL_OP, WK_KERNEL_CONV_DIRECT,
         "its sizes are not those of whole chunks"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        f.limits.capability = cases[i].capability;
        wk_tensor y = convolve(&f, cases[i].x, cases[i].kernel, cases[i].channels, cases[i].stride,
                               cases[i].activation);
        choose(&f);
        expect(&f, y, cases[i].kernel_chosen);
        assert_int_equal(count_refusals(&f, y, cases[i].missed, cases[i].reason), 1);
        close_fixture(&f);
    }
}

TEST_CASE(images_that_begin_anywhere_are_collected)
{
    fixture f = open_fixture();
    wk_tensor all = engine_state(&f.e, WK_SHAPE(32 * 14 * 14 * 16 + 4));
    wk_tensor x = wk_graph_reshape(f.e.g, wk_graph_slice(f.e.g, all, 0, 4, 32 * 14 * 14 * 16),
                                   WK_SHAPE(32, 14, 14, 16));
    wk_tensor y = wk_graph_conv(f.e.g, x, engine_state(&f.e, WK_SHAPE(4, 4, 16, 16)),
                                engine_state(&f.e, WK_SHAPE(16)), 2, WK_IDENTITY);
    wk_graph_output(f.e.g, y);
    choose(&f);
    expect(&f, y, WK_KERNEL_OP);
    assert_int_equal(
        count_refusals(&f, y, WK_KERNEL_CONV_DIRECT, "an operand begins at no 16 bytes"), 1);
    close_fixture(&f);
}

// Numbers of a state, `skip` numbers after its beginning.
static wk_tensor numbers(fixture *f, wk_shape shape, int skip)
{
    int count = (int)wk_shape_count(shape);
    wk_tensor all = engine_state(&f->e, WK_SHAPE(count + skip));
    return wk_graph_reshape(f->e.g, wk_graph_slice(f->e.g, all, 0, skip, count), shape);
}

TEST_CASE(rgb_images_of_a_preset_have_kernels_of_their_own)
{
    const struct {
        int skip;
        wk_kernel kernel;
    } cases[] = {{0, WK_KERNEL_CONV_RGB}, {2, WK_KERNEL_CONV_RGB}, {1, WK_KERNEL_CONV_PLANES}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        wk_tensor x = numbers(&f, WK_SHAPE(32, 64, 64, 3), cases[i].skip);
        wk_tensor y = wk_graph_conv(f.e.g, x, engine_state(&f.e, WK_SHAPE(4, 4, 3, 24)),
                                    engine_state(&f.e, WK_SHAPE(24)), 2, WK_ELU);
        wk_graph_output(f.e.g, y);
        choose(&f);
        expect(&f, y, cases[i].kernel);
        assert_int_equal(
            count_refusals(&f, y, WK_KERNEL_CONV_RGB, "its image begins at no pair of numbers"),
            cases[i].skip == 1);
        close_fixture(&f);
    }
}

static void expect_form(fixture *f, wk_tensor x, wk_kernel kernel, wk_product_form form)
{
    wk_graph_output(f->e.g, x);
    choose(f);
    expect(f, x, kernel);
    assert_int_equal(chosen(f, x)->form, form);
    close_fixture(f);
}

// A product of states, b after `skip` numbers, on a device without wgmma.
static wk_tensor general_product(fixture *f, wk_shape a, wk_shape b, int skip, const char *how)
{
    *f = open_fixture();
    f->limits.capability = 80;
    return wk_graph_matmul_general(f->e.g, engine_state(&f->e, a), numbers(f, b, skip),
                                   strchr(how, 'a'), strchr(how, 'b'), strchr(how, '+'),
                                   (wk_tensor){0});
}

TEST_CASE(products_get_the_form_that_the_library_is_fast_at)
{
    const struct {
        wk_shape a, b;
        int skip;
        const char *how; // a or b transposed, + summed over the stack
        wk_product_form form;
    } cases[] = {
        {WK_SHAPE(ROWS, 400), WK_SHAPE(400, 400), 0, "", WK_FORM_PLAIN},
        {WK_SHAPE(ROWS, 402), WK_SHAPE(402, 400), 0, "", WK_FORM_PADDED_TERMS},
        {WK_SHAPE(ROWS, 402), WK_SHAPE(402, 400), 4, "", WK_FORM_PLAIN},
        {WK_SHAPE(ROWS, 402), WK_SHAPE(402, 399), 4, "", WK_FORM_PADDED_TERMS}, // in scratch memory
        {WK_SHAPE(ROWS, 402), WK_SHAPE(400, 402), 0, "b", WK_FORM_PLAIN},
        {WK_SHAPE(3, ROWS, 64), WK_SHAPE(3, 400, 64), 0, "b+", WK_FORM_JOINED_SUM},
        {WK_SHAPE(3, ROWS, 64), WK_SHAPE(3, 400, 64), 4, "b+", WK_FORM_PLAIN},
        {WK_SHAPE(3, ROWS, 66), WK_SHAPE(3, 400, 66), 0, "b+", WK_FORM_PLAIN},
        {WK_SHAPE(3, ROWS, 64), WK_SHAPE(1, 400, 64), 0, "b+", WK_FORM_PLAIN},
        {WK_SHAPE(ROWS, 400), WK_SHAPE(5, ROWS, 400), 0, "a", WK_FORM_SIDE_BY_SIDE},
        {WK_SHAPE(ROWS, 400), WK_SHAPE(5, ROWS, 400), 4, "a", WK_FORM_PLAIN},
        {WK_SHAPE(ROWS, 400), WK_SHAPE(5, ROWS, 402), 0, "a", WK_FORM_PLAIN},
        {WK_SHAPE(5, ROWS, 400), WK_SHAPE(5, ROWS, 400), 0, "a", WK_FORM_PLAIN},
    };
    fixture f;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_tensor y = general_product(&f, cases[i].a, cases[i].b, cases[i].skip, cases[i].how);
        expect_form(&f, y, WK_KERNEL_CUBLAS, cases[i].form);
    }
    // A convolution of one place is a product over its patch.
    for (int channels = 5; channels <= 8; channels += 3) {
        f = open_fixture();
        wk_tensor y = convolve(&f, WK_SHAPE(32, 3, 3, channels), 3, 16, 2, WK_IDENTITY);
        expect_form(&f, y, WK_KERNEL_CONV_PRODUCT,
                    channels % 8 ? WK_FORM_PADDED_TERMS : WK_FORM_PLAIN);
    }
}

// Plans for products in bf16 and in float32, and expects a kernel, or a reason against it.
static void expect_choice(fixture *f, wk_tensor x, wk_kernel kernel, const char *reason)
{
    choose(f);
    expect(f, x, reason ? WK_KERNEL_OP : kernel);
    assert_int_equal(count_refusals(f, x, kernel, reason ? reason : "?"), reason ? 1 : 0);
    close_fixture(f);
}

TEST_CASE(classes_that_come_in_fours_are_taken_four_a_thread)
{
    const char *ragged = "its classes are no multiple of 4, or more than 128",
               *wide = "a row has more variables than a block",
               *anywhere = "what it reads or writes begins at no 16 bytes";
    const struct {
        int variables, classes, skip;
        const char *reason;
    } cases[] = {{32, 32, 0, NULL},   {20, 20, 0, NULL}, {5, 6, 0, ragged},
                 {4, 132, 0, ragged}, {33, 32, 0, wide}, {16, 16, 1, anywhere}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        wk_shape shape = WK_SHAPE(8, cases[i / 2].variables, cases[i / 2].classes);
        for (int kl = 0; kl < 2; kl++) {
            fixture f = open_fixture();
            f.limits.bf16 = i % 2;
            wk_tensor p = numbers(&f, shape, cases[i / 2].skip), q = engine_state(&f.e, shape);
            wk_tensor y = kl ? wk_graph_kl(f.e.g, p, q) : wk_graph_entropy(f.e.g, p);
            wk_graph_output(f.e.g, y);
            expect_choice(&f, y, WK_KERNEL_CLASS_QUADS, cases[i / 2].reason);
        }
    }
}

TEST_CASE(many_variables_are_drawn_by_a_thread_each)
{
    const struct {
        int rows, classes, members, skip;
        const char *reason;
    } cases[] = {
        {256, 16, 1, 0, NULL},
        {255, 16, 1, 0, "fewer variables than fill a device"},
        {128, 16, 2, 0, NULL},
        {256, 20, 1, 0, "no preset has as many classes"},
        {256, 16, 1, 1, "what it reads or writes begins at no 16 bytes"},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        f.limits.bf16 = i % 2;
        f.limits.members = cases[i / 2].members;
        wk_tensor x =
            numbers(&f, WK_SHAPE(cases[i / 2].rows, 16, cases[i / 2].classes), cases[i / 2].skip);
        wk_tensor y = wk_graph_sample_onehot(f.e.g, x, (wk_random){engine_counter(&f.e), 7});
        wk_graph_output(f.e.g, y);
        expect_choice(&f, y, WK_KERNEL_SAMPLE_MANY, cases[i / 2].reason);
    }
}

// A cell of a stack, and the gradient of its state, with that of its parameters or without.
typedef struct cell {
    wk_tensor y, gradient;
} cell;

static cell make_cell(fixture *f, int stack, int units, int skip, bool params)
{
    wk_graph *g = f->e.g;
    wk_tensor gates[3], of[2], d[2];
    for (int i = 0; i < 3; i++)
        gates[i] =
            engine_state(&f->e, stack > 1 ? WK_SHAPE(stack, 3 * units) : WK_SHAPE(3 * units));
    wk_tensor pre = numbers(f, WK_SHAPE(stack, 8, 3 * units), skip);
    of[0] = engine_state(&f->e, WK_SHAPE(stack, 8, units));
    of[1] = gates[1];
    cell c = {.y = wk_graph_gru(g, pre, gates[0], gates[1], gates[2], of[0], 1e-3f)};
    wk_graph_gradients(g, wk_graph_mean_all(g, c.y), of, params ? 2 : 1, d);
    for (int i = 0; i < (params ? 2 : 1); i++)
        wk_graph_output(g, d[i]);
    for (size_t i = 0; i < g->nodes.count; i++)
        if (g->nodes.items[i].op == WK_OP_gru_grad) c.gradient.id = g->nodes.items[i].outputs;
    return c;
}

TEST_CASE(cells_that_share_their_parameters_have_a_kernel_of_their_own)
{
    const char *sizes = "its units are no multiple of 4, or more than 1024",
               *anywhere = "what it reads or writes begins at no 16 bytes";
    const struct {
        int stack, units, skip;
        bool params;
        const char *forward, *backward;
    } cases[] = {
        {1, 128, 0, false, NULL, NULL},
        {1, 1024, 0, true, NULL, "the gradients of its parameters are wanted"},
        {1, 126, 0, false, sizes, sizes},
        {1, 1028, 0, false, sizes, sizes},
        {2, 128, 0, false, "it is a stack of cells", "it is a stack of cells"},
        {1, 128, 2, false, anywhere, anywhere},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        fixture f = open_fixture();
        cell c = make_cell(&f, cases[i / 2].stack, cases[i / 2].units, cases[i / 2].skip,
                           cases[i / 2].params);
        if (i % 2)
            expect_choice(&f, c.gradient, WK_KERNEL_GRU_CELL, cases[i / 2].backward);
        else
            expect_choice(&f, c.y, WK_KERNEL_GRU_CELL, cases[i / 2].forward);
    }
}

static wk_tensor begin_adam(fixture *f, wk_tensor gradient, wk_adam_config config)
{
    wk_tensor norm = wk_graph_global_norm(f->e.g, &gradient, 1, 1);
    wk_tensor state_of = wk_graph_persistent(f->e.g, WK_U64, WK_SHAPE(1, 2), "state", NULL, 0);
    return wk_graph_adam_begin(f->e.g, norm, engine_state(&f->e, WK_SHAPE(1)), state_of,
                               (wk_tensor){0}, config);
}

// Plans, and counts the launches of adam steps and those that they do besides.
static void expect_adam(fixture *f, int launches, int following)
{
    int seen = 0, besides = 0;
    choose(f);
    for (size_t i = 0; i < f->plan->node_count; i++) {
        if (f->fused[i].kernel != WK_KERNEL_ADAM) continue;
        seen++;
        besides += f->fused[i].fused_next;
        if (f->fused[i].fused_next) assert_int_equal(f->fused[i + 1].fused_into, (int)i);
    }
    assert_int_equal(seen, launches);
    assert_int_equal(besides, following);
    close_fixture(f);
}

TEST_CASE(steps_of_one_optimiser_are_one_kernel)
{
    const wk_adam_config config = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-5f};
    const int which[] = {0, 0, 1};
    fixture f = open_fixture();
    wk_tensor gradient = weights(&f, 8, 8);
    wk_tensor step[] = {begin_adam(&f, gradient, config), begin_adam(&f, gradient, config)};
    for (int i = 0; i < 3; i++)
        wk_graph_adam(f.e.g, weights(&f, 8, 8), weights(&f, 8, 8), weights(&f, 8, 8), gradient,
                      step[which[i]], config);
    expect_adam(&f, 2, 1);
}

// Four steps, of whose weights the first two are read.
TEST_CASE(steps_that_something_waits_for_are_another_kernel)
{
    const wk_adam_config config = {.beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-5f};
    fixture f = open_fixture();
    wk_tensor gradient = weights(&f, 8, 8), w[4], step = begin_adam(&f, gradient, config);
    for (int i = 0; i < 4; i++) {
        w[i] = weights(&f, 8, 8);
        wk_graph_adam(f.e.g, w[i], weights(&f, 8, 8), weights(&f, 8, 8), gradient, step, config);
    }
    wk_graph_output(f.e.g, wk_graph_matmul(f.e.g, w[0], w[1]));
    expect_adam(&f, 2, 2);
}

TEST_CASE(what_is_stored_in_its_place_runs_nothing)
{
    fixture f = open_fixture();
    wk_tensor y = wk_graph_matmul(f.e.g, weights(&f, 64, 64), weights(&f, 64, 64));
    wk_graph_store(f.e.g, weights(&f, 64, 64), y);
    choose(&f);
    assert_int_equal(f.fused[step_of(&f, y) + 1].kernel, WK_KERNEL_NONE);
    close_fixture(&f);
}

TEST_CASE(in_float32_every_op_runs_alone)
{
    fixture f = open_fixture();
    f.limits.bf16 = false;
    head h = make_head(&f, 400, 12, WK_IDENTITY, true);
    choose(&f);
    expect(&f, h.layer.product, WK_KERNEL_OP);
    expect(&f, h.layer.y, WK_KERNEL_OP);
    expect(&f, h.action, WK_KERNEL_OP);
    close_fixture(&f);
}

// The quick preset's sizes, with little around the recurrence.
static wk_learner_config quick_config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.depth = 12, c.units = 80;
    c.layers = 1, c.ensemble = 2, c.batch = 8, c.length = 5, c.horizon = 2, c.action_size = 2;
    return c;
}

// How many kernels of the recurrence the model's graph has, and what is slow.
static int observed(const wk_learner_config *c, char *slow_path)
{
    wk_error err = {0};
    wk_learner *learner;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, c, &planning_backend,
                                &learner, &err));
    const wk_plan *plan = learner->model.program->plan;
    wk_fused *fused = malloc((plan->node_count + 1) * sizeof *fused);
    assert_non_null(fused);
    wk_fusion_choose(plan, &planning_limits, fused);
    int count = 0;
    for (size_t i = 0; i < plan->node_count; i++)
        count += fused[i].kernel == WK_KERNEL_OBSERVE;
    const char *why = wk_program_slow_path(wk_learner_model_program(learner));
    strcpy(slow_path, *why ? why : wk_program_slow_path(wk_learner_update_program(learner)));
    free(fused);
    wk_learner_destroy(learner);
    return count;
}

TEST_CASE(sizes_that_are_a_preset_s_are_not_slow)
{
    char why[sizeof((wk_plan *)NULL)->slow_path];
    wk_learner_config c = quick_config();
    assert_int_equal(observed(&c, why), 2);
    assert_string_equal(why, "");
}

TEST_CASE(a_recurrence_without_a_kernel_says_why)
{
    char why[sizeof((wk_plan *)NULL)->slow_path];
    wk_learner_config deter = quick_config(), classes = deter, batch = deter;
    deter.deter = 512, classes.classes = 20, batch.batch = 24;
    assert_int_equal(observed(&deter, why), 0);
    assert_non_null(strstr(why, "512 deterministic"));
    assert_int_equal(observed(&classes, why), 0);
    assert_non_null(strstr(why, "16 x 20 classes"));
    assert_int_equal(observed(&batch, why), 0);
    assert_non_null(strstr(why, "16 sequences, not 24"));
}

TEST_CASE(a_sequence_longer_than_the_kernel_of_the_recurrence_takes_says_so)
{
    char why[sizeof((wk_plan *)NULL)->slow_path];
    wk_learner_config c = quick_config();
    c.batch = 2, c.length = WK_RECURRENCE_STEPS_MAX;
    assert_int_equal(observed(&c, why), 2);
    assert_string_equal(why, "");
    c.length++;
    assert_int_equal(observed(&c, why), 1);
    assert_non_null(strstr(why, "128 steps of a sequence"));
}

TEST_CASE(layers_of_ragged_rows_say_so)
{
    char why[sizeof((wk_plan *)NULL)->slow_path];
    wk_learner_config c = quick_config();
    c.units = 84;
    assert_int_equal(observed(&c, why), 2);
    assert_non_null(strstr(why, "84 units"));
}

// What is said of a model of these sizes on a device of a capability.
static void expect_slow(const wk_learner_config *c, int capability, bool bf16, const char *why)
{
    wk_error err = {0};
    wk_learner *learner;
    wk_cuda_limits limits = planning_limits;
    limits.capability = capability, limits.bf16 = bf16;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES, c, &planning_backend, &learner, &err));
    wk_plan *plan = learner->model.program->plan;
    assert_ok(wk_cuda_choose_formats(&limits, plan, &err));
    assert_string_equal(plan->slow_path, why);
    wk_learner_destroy(learner);
}

// Newer devices than those of the fastest kernels lack them as older ones do.
TEST_CASE(devices_without_the_fastest_kernels_say_so)
{
    wk_learner_config c = quick_config();
    const char *kernels =
        "the fastest kernels are those for compute capability 9.0, and this GPU has ";
    char why[256];
    c.depth = 16; // that every device has kernels for
    expect_slow(&c, 90, true, "");
    expect_slow(&c, 100, false, ""); // in float32 no device has others
    snprintf(why, sizeof why, "%s10.0", kernels);
    expect_slow(&c, 100, true, why);
    snprintf(why, sizeof why, "%s8.6", kernels);
    expect_slow(&c, 86, true, why);
    c.batch = 24;
    snprintf(why, sizeof why, "the kernel of the recurrence takes 16 sequences, not 24; %s12.1",
             kernels);
    expect_slow(&c, 121, true, why);
}

// 20 channels are a multiple of 4; 30 are not, and 2 are too few to matter.
TEST_CASE(convolutions_that_collect_patches_say_so)
{
    char why[sizeof((wk_plan *)NULL)->slow_path];
    wk_learner_config c = quick_config();
    c.depth = 20;
    (void)observed(&c, why);
    assert_string_equal(why, "");
    c.depth = 2;
    (void)observed(&c, why);
    assert_string_equal(why, "");
    c.depth = 30;
    (void)observed(&c, why);
    assert_non_null(strstr(why, "30 channels, no multiple of 4"));
}

// The kernels of a model's convolutions, in the order of the plan, with the slopes fused into them.
static void list_convolutions(const wk_plan *plan, wk_text *out)
{
    wk_fused *fused = malloc((plan->node_count + 1) * sizeof *fused);
    assert_non_null(fused);
    wk_fusion_choose(plan, &planning_limits, fused);
    for (size_t i = 0; i < plan->node_count; i++) {
        wk_op op = plan->graph->nodes.items[plan->nodes[i]].op;
        if (wk_op_is_conv(op))
            wk_text_printf(out, "%s %s%s\n", wk_op_table[op].name, wk_kernel_names[fused[i].kernel],
                           fused[i].fused_next ? " with slope" : "");
    }
    free(fused);
}

TEST_CASE(the_convolutions_of_the_paper_s_model)
{
    wk_learner *learner = open_learner("paper");
    wk_text text = {0};
    const wk_plan *plan = learner->model.program->plan;
    for (size_t i = 0; i < plan->node_count; i++) // they read the images' bytes
        assert_true(plan->graph->nodes.items[plan->nodes[i]].op != WK_OP_image ||
                    plan->lazy[plan->nodes[i]]);
    list_convolutions(plan, &text);
    assert_string_equal(wk_text_get(&text), "conv conv_rgb\n"
                                            "conv conv_planes\n"
                                            "conv conv_planes\n"
                                            "conv conv_direct\n"    // few places: 6x6 to 2x2
                                            "deconv conv_product\n" // one place
                                            "deconv conv_planes\n"
                                            "deconv conv_planes\n"
                                            "deconv conv_rgb\n"
                                            "conv_dw rgb_weights\n"
                                            "deconv_dx conv_rgb with slope\n"
                                            "conv_dw conv_direct\n"
                                            "deconv_dx conv_planes with slope\n"
                                            "conv_dw conv_direct\n"
                                            "deconv_dx conv_direct\n" // 13x13 to 5x5
                                            "conv_dw conv_product\n"
                                            "deconv_dx conv_product\n"
                                            "conv_dw conv_direct\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw conv_direct\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw conv_direct\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw rgb_weights\n");
    wk_text_free(&text);
    wk_learner_destroy(learner);
}

// Images of so many channels that exist in a format alone.
static int count_images(const wk_plan *plan, int channels, unsigned formats)
{
    int count = 0;
    for (size_t i = 0; i < plan->node_count; i++) {
        const wk_node *node = &plan->graph->nodes.items[plan->nodes[i]];
        wk_shape shape = wk_info(plan->graph, node->outputs)->type.shape;
        count += shape.rank == 4 && shape.dim[3] == channels && node->op != WK_OP_conv_dw &&
                 plan->formats[node->outputs] == formats;
    }
    return count;
}

// 12 channels, which are no whole chunks, are kept in bf16 alone between their layers too.
TEST_CASE(the_convolutions_of_the_quick_model)
{
    wk_learner *learner = open_learner("quick");
    wk_plan *plan = learner->model.program->plan;
    wk_error err = {0};
    wk_text text = {0};
    list_convolutions(plan, &text);
    assert_string_equal(wk_text_get(&text), "conv conv_rgb\n"
                                            "conv conv_planes\n"
                                            "conv conv_planes\n"
                                            "conv conv_direct\n"
                                            "deconv conv_product\n"
                                            "deconv conv_planes\n"
                                            "deconv conv_planes\n"
                                            "deconv conv_rgb\n"
                                            "conv_dw rgb_weights\n"
                                            "deconv_dx conv_rgb with slope\n"
                                            "conv_dw conv_weights\n"
                                            "deconv_dx conv_planes with slope\n"
                                            "conv_dw conv_weights\n"
                                            "deconv_dx conv_direct\n"
                                            "conv_dw conv_product\n"
                                            "deconv_dx conv_product\n"
                                            "conv_dw conv_direct\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw conv_weights\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw conv_weights\n"
                                            "conv_dx conv_planes with slope\n"
                                            "conv_dw rgb_weights\n");
    // Two layers' results, their gradients, and those times the slope.
    assert_int_equal(count_images(plan, 12, WK_FORMAT_BF16), 6);
    // The gradient of the image; the image itself is compared in float32.
    assert_int_equal(count_images(plan, 3, WK_FORMAT_BF16), 1);
    assert_int_equal(count_images(plan, 3, WK_FORMAT_F32), 2);
    wk_cuda_limits older = planning_limits;
    older.capability = 80;
    assert_ok(wk_cuda_choose_formats(&older, plan, &err));
    assert_int_equal(count_images(plan, 12, WK_FORMAT_BF16), 0);
    assert_int_equal(count_images(plan, 3, WK_FORMAT_BF16), 0);
    wk_text_free(&text);
    wk_learner_destroy(learner);
}

// Adds up how often each part serves an update of a preset when these are switched off.
static void count_parts(const char *preset, unsigned off, int *counts)
{
    planning_limits.off = off;
    wk_learner *learner = open_learner(preset);
    const wk_plan *plans[] = {learner->model.program->plan, learner->update.program->plan};
    for (int p = 0; p < 2; p++) {
        const wk_plan *plan = plans[p];
        wk_fused *fused = malloc((plan->node_count + 1) * sizeof *fused);
        assert_non_null(fused);
        wk_fusion_choose(plan, &planning_limits, fused);
        for (size_t i = 0; i < plan->node_count; i++) {
            int node = plan->nodes[i];
            counts[fused[i].kernel]++;
            counts[WK_PART_RESIDENT] +=
                fused[i].kernel == WK_KERNEL_WGMMA && fused[i].tile == WK_TILE_RESIDENT;
            counts[WK_PART_SCHEDULE] += plan->streams[i] != 0;
            counts[WK_PART_LAZY_TERMS] +=
                plan->lazy[node] && plan->graph->nodes.items[node].op != WK_OP_image;
        }
        free(fused);
    }
    wk_learner_destroy(learner);
    planning_limits.off = 0;
}

// What only one of the presets has is counted too.
TEST_CASE(a_part_that_is_switched_off_serves_no_step)
{
    static const char *const names[] = {
        "skinny_action", "skinny_head",  "wgmma",      "skinny_n",    "skinny_k",
        "skinny_dw",     "conv_rgb",     "cublas",     "conv_planes", "rgb_weights",
        "conv_weights",  "conv_product", "gru_cell",   "class_quads", "sample_many",
        "cublaslt_bias", "conv_direct",  "lazy_terms", "resident",    "schedule"};
    int with[WK_PART_COUNT] = {0};
    count_parts("quick", 0, with);
    count_parts("paper", 0, with);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int without[WK_PART_COUNT] = {0}, part = 0;
        wk_cuda_limits limits = {0};
        wk_error err = {0};
        assert_ok(wk_cuda_switch_off(names[i], &limits, &err));
        count_parts("quick", limits.off, without);
        count_parts("paper", limits.off, without);
        while (!wk_is_off(&limits, part))
            part++;
        if (with[part] == 0 || without[part] > 0)
            fail_msg("%s serves %d steps, and %d when it is off", names[i], with[part],
                     without[part]);
    }
}

// Patches are collected from images in float32, and written so.
static void check_patches(const wk_plan *plan)
{
    const wk_graph *g = plan->graph;
    wk_fused *fused = malloc((plan->node_count + 1) * sizeof *fused);
    assert_non_null(fused);
    wk_fusion_choose(plan, &planning_limits, fused);
    for (size_t i = 0; i < plan->node_count; i++) {
        const wk_node *node = &g->nodes.items[plan->nodes[i]];
        if (!wk_op_is_conv(node->op) || fused[i].kernel != WK_KERNEL_OP) continue;
        int image = wk_info(g, wk_node_inputs(g, node)[0])->root;
        assert_true(wk_info(g, image)->kind != WK_TEMPORARY ||
                    plan->formats[image] & WK_FORMAT_F32);
        assert_true(plan->formats[node->outputs] & WK_FORMAT_F32);
    }
    free(fused);
}

// What takes over finds every operand in a format it can read.
TEST_CASE(plans_without_a_part_keep_what_they_need)
{
    wk_learner_config c = quick_config();
    for (int part = WK_KERNEL_SKINNY_ACTION; part <= WK_PART_COUNT; part++) {
        wk_error err = {0};
        wk_learner *learner;
        const unsigned every = (1u << WK_PART_COUNT) - 1;
        planning_limits.off = part < WK_PART_COUNT ? 1u << part : every;
        assert_ok(wk_learner_create(WK_LEARNER_UPDATES, &c, &planning_backend, &learner, &err));
        const wk_plan *plans[] = {learner->model.program->plan, learner->update.program->plan};
        for (int i = 0; i < 2; i++) {
            planning_replay(plans[i]);
            check_patches(plans[i]);
        }
        wk_learner_destroy(learner);
    }
    planning_limits.off = 0;
}

// The kernels of one file are switched off together. Images are no longer read as bytes then.
TEST_CASE(several_parts_are_switched_off_together)
{
    wk_error err = {0};
    int counts[WK_PART_COUNT] = {0};
    assert_ok(wk_cuda_switch_off("conv_rgb,rgb_weights", &planning_limits, &err));
    wk_learner *learner = open_learner("paper");
    const wk_plan *plan = learner->model.program->plan;
    for (size_t i = 0; i < plan->node_count; i++)
        assert_true(plan->graph->nodes.items[plan->nodes[i]].op != WK_OP_image ||
                    !plan->lazy[plan->nodes[i]]);
    wk_learner_destroy(learner);
    count_parts("paper", planning_limits.off, counts);
    assert_int_equal(counts[WK_KERNEL_CONV_RGB] + counts[WK_KERNEL_RGB_WEIGHTS], 0);
    planning_limits.off = 0;
}

TEST_CASE(what_cannot_be_switched_off_is_named)
{
    wk_cuda_limits limits = {0};
    static const char *const names[] = {"gru_cell,observe", "gru_cell,", "observe", "gru", ","};
    static const char *const refused[] = {"'observe'", NULL, "'observe'", "'gru'", "''"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        wk_error err = {0};
        wk_status status = wk_cuda_switch_off(names[i], &limits, &err);
        assert_int_equal(status, refused[i] ? WK_E_INPUT : WK_OK);
        if (refused[i]) assert_non_null(strstr(err.message, refused[i]));
    }
}

TEST_MAIN(NULL, NULL)
