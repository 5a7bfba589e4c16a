// Recording: shapes of results, views, and the bugs of callers that are caught while recording.
#include "support/abort.h"
#include "support/check.h"
#include "support/engine.h"
#include "tensor/graph.h"
#include "tensor/node.h"

static void assert_shape(const engine *e, wk_tensor x, wk_shape expected)
{
    assert_true(wk_shape_equal(wk_graph_shape(e->g, x), expected));
}

static wk_tensor leaf(engine *e, wk_shape shape)
{
    return engine_state(e, shape);
}

TEST_CASE(results_have_the_documented_shapes)
{
    engine e = engine_open(1);
    wk_graph *g = e.g;
    wk_tensor flat = leaf(&e, WK_SHAPE(4, 6)), stack = leaf(&e, WK_SHAPE(3, 6, 5));
    wk_tensor image = leaf(&e, WK_SHAPE(2, 64, 64, 3)), w = leaf(&e, WK_SHAPE(4, 4, 3, 8));
    wk_tensor small = leaf(&e, WK_SHAPE(2, 1, 1, 7)), v = leaf(&e, WK_SHAPE(5, 5, 9, 7));
    wk_tensor none = {0};
    assert_shape(&e, wk_graph_matmul(g, flat, stack), WK_SHAPE(3, 4, 5));
    assert_shape(&e, wk_graph_conv(g, image, w, none, 2, WK_ELU), WK_SHAPE(2, 31, 31, 8));
    assert_shape(&e, wk_graph_deconv(g, small, v, none, 2, WK_ELU), WK_SHAPE(2, 5, 5, 9));
    assert_shape(&e, wk_graph_kl(g, stack, stack), WK_SHAPE(3));
    assert_shape(&e, wk_graph_entropy(g, flat), WK_SHAPE(1));
    assert_shape(&e, wk_graph_disagreement(g, stack, WK_DISAGREEMENT_STD, 1), WK_SHAPE(6));
    assert_shape(&e, wk_graph_half_squared_error(g, image, image, 3), WK_SHAPE(2));
    assert_shape(&e, wk_graph_half_squared_error(g, flat, flat, 2), WK_SHAPE(1));
    assert_shape(&e, wk_graph_truncated_normal_entropy(g, flat), WK_SHAPE(4));
    assert_shape(&e, wk_graph_truncated_normal_mode(g, flat), WK_SHAPE(4, 3));
    assert_shape(&e, wk_graph_repeat(g, flat, 1, 7), WK_SHAPE(4, 7, 6));
    assert_shape(&e, wk_graph_mean(g, stack, 1), WK_SHAPE(3, 5));
    assert_shape(&e, wk_graph_sum_all(g, stack), WK_SHAPE(1));
    engine_close(&e);
}

static bool is_view(const engine *e, wk_tensor x)
{
    return wk_info(e->g, x.id)->root != x.id;
}

TEST_CASE(reshapes_and_leading_slices_are_views)
{
    engine e = engine_open(1);
    wk_tensor x = leaf(&e, WK_SHAPE(4, 3, 2));
    wk_tensor middle = wk_graph_slice(e.g, x, 0, 1, 2), row = wk_graph_slice(e.g, middle, 0, 1, 1);
    wk_tensor part = wk_graph_slice(e.g, row, 1, 2, 1);
    assert_true(is_view(&e, middle) && is_view(&e, row) && is_view(&e, part));
    assert_int_equal(wk_info(e.g, part.id)->root, x.id);
    assert_int_equal(wk_info(e.g, part.id)->offset, 2 * 6 + 2 * 2);
    assert_true(is_view(&e, wk_graph_reshape(e.g, x, WK_SHAPE(24))));
    assert_true(is_view(&e, wk_graph_stop_gradient(e.g, x)));
    assert_false(is_view(&e, wk_graph_slice(e.g, x, 1, 0, 1)));
    engine_close(&e);
}

TEST_CASE(nothing_is_recorded_for_what_changes_nothing)
{
    engine e = engine_open(1);
    wk_tensor x = leaf(&e, WK_SHAPE(4, 3));
    assert_int_equal(wk_graph_reshape(e.g, x, WK_SHAPE(4, 3)).id, x.id);
    assert_int_equal(wk_graph_slice(e.g, x, 1, 0, 3).id, x.id);
    assert_int_equal(wk_graph_concat(e.g, &x, 1, 0).id, x.id);
    assert_int_equal(wk_graph_add_n(e.g, &x, 1).id, x.id);
    assert_int_equal(wk_graph_activate(e.g, x, WK_IDENTITY).id, x.id);
    assert_int_equal(wk_graph_node_count(e.g), 0);
    engine_close(&e);
}

static void add_of_different_shapes(void *context)
{
    engine *e = context;
    wk_graph_add(e->g, leaf(e, WK_SHAPE(2, 3)), leaf(e, WK_SHAPE(3, 2)));
}

static void matmul_of_different_inner_lengths(void *context)
{
    engine *e = context;
    wk_graph_matmul(e->g, leaf(e, WK_SHAPE(2, 3)), leaf(e, WK_SHAPE(2, 3)));
}

static void write_of_a_temporary(void *context)
{
    engine *e = context;
    wk_tensor x = leaf(e, WK_SHAPE(2));
    wk_graph_store(e->g, wk_graph_affine(e->g, x, 1, 0), x);
}

static void gradient_of_a_vector(void *context)
{
    engine *e = context;
    wk_tensor x = leaf(e, WK_SHAPE(2)), dx;
    wk_graph_gradients(e->g, wk_graph_affine(e->g, x, 1, 0), &x, 1, &dx);
}

// The weight that the gradient needs is no longer the one that the loss was computed with.
static void gradient_through_a_written_weight(void *context)
{
    engine *e = context;
    wk_tensor x = leaf(e, WK_SHAPE(1)), w = leaf(e, WK_SHAPE(1)), dx;
    wk_tensor loss = wk_graph_mul(e->g, x, w);
    wk_graph_store(e->g, w, x);
    wk_graph_gradients(e->g, loss, &x, 1, &dx);
}

static void gradient_of_an_entropy(void *context)
{
    engine *e = context;
    wk_tensor x = leaf(e, WK_SHAPE(2, 3)), dx;
    wk_graph_gradients(e->g, wk_graph_entropy(e->g, x), &x, 1, &dx);
}

static void gradient_of_a_row_weight(void *context)
{
    engine *e = context;
    wk_tensor x = leaf(e, WK_SHAPE(1, 1)), weight = leaf(e, WK_SHAPE(1)), dweight;
    wk_graph_gradients(e->g, wk_graph_scale_rows(e->g, x, weight), &weight, 1, &dweight);
}

static void download_of_a_temporary(void *context)
{
    engine *e = context;
    wk_tensor y = wk_graph_affine(e->g, leaf(e, WK_SHAPE(1)), 1, 0);
    wk_graph_output(e->g, wk_graph_affine(e->g, y, 1, 0));
    engine_run(e);
    engine_float(e, y);
}

TEST_CASE(mistakes_of_the_caller_are_caught)
{
    void (*const mistakes[])(void *) = {add_of_different_shapes,
                                        matmul_of_different_inner_lengths,
                                        write_of_a_temporary,
                                        gradient_of_a_vector,
                                        gradient_through_a_written_weight,
                                        gradient_of_an_entropy,
                                        gradient_of_a_row_weight,
                                        download_of_a_temporary};
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        engine e = engine_open(1);
        if (!aborts(mistakes[i], &e)) fail_msg("mistake %zu was not caught", i);
        engine_close(&e);
    }
}

TEST_MAIN(NULL, NULL)
