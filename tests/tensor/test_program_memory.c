// Running a program allocates nothing, whatever the ops in it.
#include "support/check.h"
#include "support/engine.h"

#include <stdlib.h>

static size_t allocations;

#define COUNTED(type, name, parameters, arguments)                                                 \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters                                                                  \
    {                                                                                              \
        allocations++;                                                                             \
        return __real_##name arguments;                                                            \
    }
COUNTED(void *, malloc, (size_t size), (size))
COUNTED(void *, calloc, (size_t count, size_t size), (count, size))
COUNTED(void *, realloc, (void *memory, size_t size), (memory, size))
COUNTED(void *, aligned_alloc, (size_t alignment, size_t size), (alignment, size))

// An update with an op of every family.
static void record(engine *e)
{
    wk_graph *g = e->g;
    wk_tensor none = {0}, counter = engine_counter(e), rate = engine_state(e, WK_SHAPE(1));
    wk_tensor image = wk_graph_image(g, wk_graph_input(g, WK_U8, WK_SHAPE(4, 9, 9, 3), "image"));
    wk_tensor weights[] = {
        engine_state(e, WK_SHAPE(5, 5, 3, 8)), engine_state(e, WK_SHAPE(72, 24)),
        engine_state(e, WK_SHAPE(24)),         engine_state(e, WK_SHAPE(24)),
        engine_state(e, WK_SHAPE(24)),         engine_state(e, WK_SHAPE(5, 5, 3, 8))};
    wk_tensor x = wk_graph_conv(g, image, weights[0], none, 2, WK_ELU), grads[6];
    wk_tensor pre = wk_graph_matmul(g, wk_graph_reshape(g, x, WK_SHAPE(4, 72)), weights[1]);
    wk_tensor h = wk_graph_gru(g, pre, weights[2], weights[3], weights[4],
                               wk_graph_fill(g, WK_SHAPE(4, 8), 0), 1e-3f);
    wk_tensor s = wk_graph_sample_onehot(g, h, (wk_random){counter, 1});
    wk_tensor small = wk_graph_reshape(g, wk_graph_add(g, s, h), WK_SHAPE(4, 1, 1, 8));
    wk_tensor y = wk_graph_deconv(g, small, weights[5], none, 2, WK_IDENTITY);
    wk_tensor loss = wk_graph_mean_all(g, wk_graph_mul(g, y, y));
    wk_graph_gradients(g, loss, weights, 6, grads);
    wk_tensor norm = wk_graph_global_norm(g, grads, 6, 1);
    wk_tensor state = wk_graph_persistent(g, WK_U64, WK_SHAPE(1, 2), "state", NULL, 0);
    wk_adam_config config = wk_adam_config_default();
    wk_tensor step = wk_graph_adam_begin(g, norm, rate, state, none, config);
    for (int i = 0; i < 6; i++) {
        wk_shape shape = wk_graph_shape(g, weights[i]);
        wk_graph_adam(g, weights[i], engine_state(e, shape), engine_state(e, shape), grads[i], step,
                      config);
    }
    wk_graph_count(g, counter, 1);
}

TEST_CASE(a_run_allocates_nothing)
{
    engine e = engine_open(2);
    record(&e);
    engine_compile(&e);
    assert_true(allocations > 0);
    allocations = 0;
    for (int i = 0; i < 3; i++)
        engine_run(&e);
    assert_int_equal(allocations, 0);
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
