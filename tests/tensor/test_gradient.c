// What reverse mode promises beyond the rule of each op: which paths it follows, how uses add up,
// and that losses keep to their own parameters.
#include "support/check.h"
#include "support/engine.h"
#include "tensor/node.h"

static size_t count_nodes(const wk_graph *g, size_t from, wk_op op)
{
    size_t count = 0;
    for (size_t i = from; i < g->nodes.count; i++)
        count += g->nodes.items[i].op == op;
    return count;
}

TEST_CASE(stop_gradient_cuts_one_path_and_leaves_the_other)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(1));
    // d/dx of x * stop(x) is x, not 2x.
    wk_tensor y = wk_graph_mul(e.g, x, wk_graph_stop_gradient(e.g, x)), dx;
    wk_graph_gradients(e.g, y, &x, 1, &dx);
    wk_graph_output(e.g, dx);
    engine_set(&e, x, &(float){3});
    engine_run(&e);
    assert_near(engine_float(&e, dx), 3, 0);
    engine_close(&e);
}

TEST_CASE(a_sample_passes_the_gradient_of_its_probabilities)
{
    engine e = engine_open(1);
    wk_tensor logits = engine_state(&e, WK_SHAPE(1, 3)), counter = engine_counter(&e);
    wk_tensor hot = wk_graph_sample_onehot(e.g, logits, (wk_random){counter, 9});
    wk_tensor soft = wk_graph_softmax(e.g, logits);
    const float weight[] = {1, -2, 5};
    wk_tensor w = wk_graph_constant(e.g, WK_SHAPE(1, 3), weight), through[2];
    wk_tensor losses[] = {wk_graph_sum_all(e.g, wk_graph_mul(e.g, hot, w)),
                          wk_graph_sum_all(e.g, wk_graph_mul(e.g, soft, w))};
    for (int i = 0; i < 2; i++) {
        wk_graph_gradients(e.g, losses[i], &logits, 1, &through[i]);
        wk_graph_output(e.g, through[i]);
    }
    engine_set(&e, logits, (float[]){0.5f, 1, -0.25f});
    engine_run(&e);
    float a[3], b[3];
    engine_get(&e, through[0], a);
    engine_get(&e, through[1], b);
    for (int i = 0; i < 3; i++)
        assert_near(a[i], b[i], 1e-6);
    assert_true(fabsf(a[0]) > 0.01f);
    engine_close(&e);
}

TEST_CASE(losses_keep_to_their_own_parameters)
{
    engine e = engine_open(1);
    wk_tensor a = engine_state(&e, WK_SHAPE(2, 2)), b = engine_state(&e, WK_SHAPE(2, 2));
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(3, 2), "x");
    wk_tensor hidden = wk_graph_matmul(e.g, x, a), y = wk_graph_matmul(e.g, hidden, b);
    wk_tensor loss = wk_graph_mean_all(e.g, wk_graph_mul(e.g, y, y)), db, none;
    size_t before = wk_graph_node_count(e.g);
    wk_graph_gradients(e.g, loss, &b, 1, &db);
    // Only the product for db: none that would lead back to a.
    assert_int_equal(count_nodes(e.g, before, WK_OP_matmul), 1);
    // A loss that does not depend on the parameter.
    wk_tensor other = wk_graph_mean_all(e.g, hidden);
    wk_graph_gradients(e.g, other, &b, 1, &none);
    wk_graph_output(e.g, none);
    wk_graph_output(e.g, db);
    engine_run(&e);
    float zeros[4] = {1, 1, 1, 1};
    engine_get(&e, none, zeros);
    for (int i = 0; i < 4; i++)
        assert_near(zeros[i], 0, 0);
    engine_close(&e);
}

TEST_CASE(a_loss_may_be_a_parameter_and_an_inner_tensor_too)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(1)), y = wk_graph_affine(e.g, x, 3, 0);
    wk_tensor z = wk_graph_mul(e.g, y, y), params[] = {z, y, x}, grads[3];
    wk_graph_gradients(e.g, z, params, 3, grads);
    for (int i = 0; i < 3; i++)
        wk_graph_output(e.g, grads[i]);
    engine_set(&e, x, &(float){2});
    engine_run(&e);
    assert_near(engine_float(&e, grads[0]), 1, 0);
    assert_near(engine_float(&e, grads[1]), 12, 0);
    assert_near(engine_float(&e, grads[2]), 36, 0);
    engine_close(&e);
}

// h = tanh(h W + b), unrolled.
static wk_tensor unroll(wk_graph *g, wk_tensor h, wk_tensor w, wk_tensor b, int steps)
{
    for (int t = 0; t < steps; t++)
        h = wk_graph_bias_act(g, wk_graph_matmul(g, h, w), b, WK_TANH);
    return h;
}

TEST_CASE(a_recurrence_over_few_rows_needs_one_weight_product)
{
    enum { STEPS = 20 };
    engine e = engine_open(1);
    wk_tensor w = engine_state(&e, WK_SHAPE(3, 3)), b = engine_state(&e, WK_SHAPE(3));
    wk_tensor h = wk_graph_input(e.g, WK_F32, WK_SHAPE(2, 3), "h"), params[] = {w, b}, grads[2];
    wk_tensor loss = wk_graph_mean_all(e.g, unroll(e.g, h, w, b, STEPS));
    size_t before = wk_graph_node_count(e.g);
    wk_graph_gradients(e.g, loss, params, 2, grads);
    // One product back through each step but the first, and one for the weight; the rows of dy are
    // joined once for weight and bias together, those of h once.
    assert_int_equal(count_nodes(e.g, before, WK_OP_matmul), STEPS - 1 + 1);
    assert_int_equal(count_nodes(e.g, before, WK_OP_concat), 2);
    assert_int_equal(count_nodes(e.g, before, WK_OP_column_sum), 1);
    engine_close(&e);
}

TEST_CASE(slices_of_an_input_sequence_are_joined_without_a_copy)
{
    engine e = engine_open(1);
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(4, 2, 3), "x");
    wk_tensor w = engine_state(&e, WK_SHAPE(3, 3)), parts[4], dw;
    for (int t = 0; t < 4; t++) {
        wk_tensor row = wk_graph_reshape(e.g, wk_graph_slice(e.g, x, 0, t, 1), WK_SHAPE(2, 3));
        parts[t] = wk_graph_activate(e.g, wk_graph_matmul(e.g, row, w), WK_TANH);
    }
    wk_tensor loss = wk_graph_mean_all(e.g, wk_graph_stack(e.g, parts, 4));
    size_t before = wk_graph_node_count(e.g);
    wk_graph_gradients(e.g, loss, &w, 1, &dw);
    // The rows of x lie in sequence; only those of dy are put together.
    assert_int_equal(count_nodes(e.g, before, WK_OP_concat), 1);
    engine_close(&e);
}

TEST_CASE(gradient_nodes_belong_to_the_section_of_their_origin)
{
    engine e = engine_open(1);
    wk_graph_section(e.g, "model");
    wk_tensor x = engine_state(&e, WK_SHAPE(2)), y = wk_graph_activate(e.g, x, WK_ELU), dx;
    wk_graph_section(e.g, "loss");
    wk_tensor loss = wk_graph_mean_all(e.g, y);
    wk_graph_gradients(e.g, loss, &x, 1, &dx);
    const wk_node *node = &e.g->nodes.items[wk_info(e.g, dx.id)->producer];
    assert_int_equal(node->op, WK_OP_act_grad);
    assert_string_equal(e.g->sections.items[node->section], "model");
    assert_string_equal(e.g->sections.items[e.g->section], "loss");
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
