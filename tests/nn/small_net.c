#include "nn/small_net.h"
#include "nn/gru.h"
#include "support/backend.h"

#include "nn/layers.h"

enum { ROWS = 4, WIDTH = 3, SIZE = 5 };

static wk_tensor record_loss(small_net *net)
{
    wk_graph *g = net->g;
    int stack = net->scope->params->stack;
    net->x = wk_graph_input(g, WK_F32, WK_SHAPE(ROWS, WIDTH), "x");
    wk_tensor hidden = wk_nn_dense(net->scope, "in", net->x, SIZE, WK_ELU);
    wk_tensor h = wk_graph_fill(g, wk_graph_shape(g, hidden), 0.1f);
    h = gru_step(net->scope, hidden, h);
    h = gru_step(net->scope, hidden, h);
    wk_tensor y = wk_nn_dense(net->scope, "out", h, WIDTH, WK_IDENTITY);
    wk_tensor target = wk_graph_affine(g, net->x, -2, 0.5f);
    if (stack > 0) target = wk_graph_reshape(g, target, WK_SHAPE(1, ROWS, WIDTH));
    return wk_graph_sum_all(g, wk_graph_half_squared_error(g, y, target, 1));
}

static wk_status record(small_net *net, int stack, uint64_t seed, wk_error *err)
{
    const wk_params_config params = {"net", stack, seed};
    const wk_optimizer_config optimizer = {.rate = 1e-2f, .adam = wk_adam_config_default()};
    WK_TRY(test_backend_create(NULL, &net->backend, err));
    WK_TRY(wk_graph_create(&net->g, err));
    WK_TRY(wk_params_create(&params, &net->params, err));
    WK_TRY(wk_scope_create(net->params, net->g, &net->scope, err));
    WK_TRY(wk_optimizer_create(net->params, &optimizer, &net->optimizer, err));
    net->loss = record_loss(net);
    wk_graph_output(net->g, net->loss);
    wk_optimizer_record(net->optimizer, net->scope, net->loss, (wk_tensor){0});
    return WK_OK;
}

static wk_status place(small_net *net, wk_error *err)
{
    WK_TRY(wk_scope_bind(net->scope, net->backend, err));
    WK_TRY(wk_optimizer_bind(net->optimizer, net->backend, err));
    WK_TRY(wk_state_create(&net->state, err));
    WK_TRY(wk_state_add_params(net->state, net->params, err));
    WK_TRY(wk_state_add_optimizer(net->state, net->optimizer, err));
    WK_TRY(wk_program_create(net->g, net->backend, &net->program, err));
    float x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i % 5) * 0.3f - 0.6f;
    return wk_program_upload(net->program, net->x, x, sizeof x, err);
}

wk_status small_net_open(small_net *net, int stack, uint64_t seed, wk_error *err)
{
    *net = (small_net){0};
    wk_status status = record(net, stack, seed, err);
    if (status == WK_OK) status = place(net, err);
    if (status != WK_OK) small_net_close(net);
    return status;
}

void small_net_close(small_net *net)
{
    wk_state_destroy(net->state);
    wk_program_destroy(net->program);
    wk_optimizer_destroy(net->optimizer);
    wk_scope_destroy(net->scope);
    wk_params_destroy(net->params);
    wk_graph_destroy(net->g);
    wk_backend_destroy(net->backend);
    *net = (small_net){0};
}

wk_status small_net_step(small_net *net, float *loss, wk_error *err)
{
    WK_TRY(wk_program_run(net->program, err));
    return wk_program_download(net->program, net->loss, loss, sizeof *loss, err);
}
