// Layers against PyTorch: outputs and every gradient of stacks of dense, convolution, transposed
// convolution and GRU layers.
//
// The files are exact to float32 rounding, so a tolerance (relative to the largest value of a
// tensor) only covers our float32 arithmetic: n products summed err by about sqrt(n) to n roundings
// of 6e-8, and layers add their errors up.
#include "nn/golden.h"
#include "nn/gru.h"
#include "nn/layers.h"
#include "support/check.h"
#include <stdio.h>

typedef struct net {
    golden *file;
    wk_params *params;
    wk_scope *scope;
} net;

static net open_net(const char *name, int stack)
{
    wk_error err = {0};
    net n = {.file = golden_open(name)};
    assert_ok(wk_params_create(&(wk_params_config){.name = name, .stack = stack}, &n.params, &err));
    assert_ok(wk_scope_create(n.params, golden_graph(n.file), &n.scope, &err));
    return n;
}

// "0/w" gets "w0" and "0/b" gets "b0".
static void give_layer(net *n, int layer)
{
    char weight[16], name[16];
    for (const char *part = "wb"; *part; part++) {
        snprintf(weight, sizeof weight, "%d/%c", layer, *part);
        snprintf(name, sizeof name, "%c%d", *part, layer);
        golden_weight(n->file, n->scope, weight, name);
    }
}

static void check_net(net *n)
{
    wk_error err = {0};
    assert_ok(wk_scope_bind(n->scope, golden_backend(n->file), &err));
    golden_check(n->file);
    wk_scope_destroy(n->scope);
    wk_params_destroy(n->params);
    golden_close(n->file);
}

// Sums of at most 2 * 17 products through three layers.
TEST_CASE(a_stack_of_dense_networks_matches)
{
    net n = open_net("dense", 2);
    wk_tensor x = golden_input(n.file, "x");
    wk_tensor y = wk_nn_dense(n.scope, "0", x, 17, WK_ELU);
    y = wk_nn_dense(n.scope, "1", y, 13, WK_ELU);
    y = wk_nn_dense(n.scope, "2", y, 5, WK_IDENTITY);
    for (int layer = 0; layer < 3; layer++)
        give_layer(&n, layer);
    golden_expect(n.file, y, "out/y", 1e-6);
    golden_expect_gradients(n.file, golden_weigh(n.file, y, "weight0"), "grad", 7, 1e-6);
    check_net(&n);
}

// Weight gradients sum over 2 * 14 * 14 places.
TEST_CASE(convolutions_match)
{
    net n = open_net("conv", 0);
    const int channels[] = {4, 6, 8};
    wk_tensor y = golden_input(n.file, "x");
    for (int layer = 0; layer < 3; layer++) {
        char name[8];
        snprintf(name, sizeof name, "%d", layer);
        y = wk_nn_conv(n.scope, name, y, &(wk_conv_config){channels[layer], 4, 2, WK_ELU});
        give_layer(&n, layer);
    }
    golden_expect(n.file, y, "out/y", 2e-6);
    golden_expect_gradients(n.file, golden_weigh(n.file, y, "weight0"), "grad", 7, 3e-6);
    check_net(&n);
}

// Weight gradients sum over 2 * 30 * 30 places.
TEST_CASE(transposed_convolutions_match)
{
    net n = open_net("deconv", 0);
    const wk_conv_config layers[] = {{8, 5, 2, WK_ELU}, {6, 5, 2, WK_ELU}, {3, 6, 2, WK_IDENTITY}};
    wk_tensor y = golden_input(n.file, "x");
    for (int layer = 0; layer < 3; layer++) {
        char name[8];
        snprintf(name, sizeof name, "%d", layer);
        y = wk_nn_deconv(n.scope, name, y, &layers[layer]);
        give_layer(&n, layer);
    }
    golden_expect(n.file, y, "out/y", 2e-6);
    golden_expect_gradients(n.file, golden_weigh(n.file, y, "weight0"), "grad", 7, 4e-6);
    check_net(&n);
}

// Five steps, each with a layer norm whose division by a small deviation magnifies errors.
TEST_CASE(the_gru_cell_matches_over_five_steps)
{
    net n = open_net("gru", 0);
    wk_graph *g = golden_graph(n.file);
    wk_tensor h = golden_input(n.file, "h"), x = golden_input(n.file, "x"), states[5];
    for (int step = 0; step < 5; step++) {
        wk_tensor now = wk_graph_slice(g, x, 0, step, 1);
        now = wk_graph_reshape(g, now, WK_SHAPE(3, 5));
        states[step] = h = gru_step(n.scope, now, h);
    }
    golden_weight(n.file, n.scope, "gru/w", "w");
    golden_weight(n.file, n.scope, "gru/b", "gate_bias");
    golden_weight(n.file, n.scope, "gru/gain", "gain");
    golden_weight(n.file, n.scope, "gru/bias", "bias");
    wk_tensor all = wk_graph_stack(g, states, 5);
    golden_expect(n.file, all, "out/h", 2e-6);
    golden_expect_gradients(n.file, golden_weigh(n.file, all, "weight0"), "grad", 6, 4e-6);
    check_net(&n);
}

TEST_MAIN(NULL, NULL)
