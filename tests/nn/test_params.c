// Parameter sets: initial values, sharing between graphs, slow copies.
#include "base/random.h"
#include "nn/layers.h"
#include "support/check.h"
#include "tensor/program.h"
#include <stdlib.h>

static wk_params *new_set(const char *name, int stack, uint64_t seed)
{
    wk_error err = {0};
    wk_params *params = NULL;
    assert_ok(wk_params_create(&(wk_params_config){name, stack, seed}, &params, &err));
    return params;
}

static float *initial(const wk_params *params, size_t index)
{
    float *values = malloc(params->weights.items[index].count * sizeof *values);
    assert_non_null(values);
    wk_params_initial(params, index, values);
    return values;
}

// Keras: limit sqrt(6 / (fan_in + fan_out)); a uniform on +-limit has variance limit^2 / 3.
TEST_CASE(glorot_weights_have_the_keras_spread)
{
    wk_params *params = new_set("net", 0, 3);
    wk_params_declare(params, "w", WK_SHAPE(200, 300), (wk_init){WK_INIT_GLOROT, 200, 300});
    float *w = initial(params, 0);
    double limit = sqrt(6.0 / 500), sum = 0, square = 0, most = 0;
    for (int i = 0; i < 60000; i++) {
        sum += w[i];
        square += (double)w[i] * w[i];
        most = fmax(most, fabs((double)w[i]));
    }
    assert_near(sum / 60000, 0, 5 * limit / sqrt(3 * 60000.0));
    assert_near(square / 60000, limit * limit / 3, 0.02 * limit * limit);
    assert_true(most < limit && most > 0.999 * limit);
    free(w);
    wk_params_destroy(params);
}

TEST_CASE(zeros_and_ones_start_as_named)
{
    wk_params *params = new_set("net", 2, 3);
    wk_params_declare(params, "b", WK_SHAPE(3), (wk_init){.kind = WK_INIT_ZEROS});
    wk_params_declare(params, "gain", WK_SHAPE(3), (wk_init){.kind = WK_INIT_ONES});
    float *b = initial(params, 0), *gain = initial(params, 1);
    for (int i = 0; i < 6; i++)
        assert_true(b[i] == 0 && gain[i] == 1);
    free(b);
    free(gain);
    wk_params_destroy(params);
}

TEST_CASE(initial_values_come_from_the_named_stream)
{
    wk_params *params = new_set("net", 2, 9);
    wk_params_declare(params, "w", WK_SHAPE(3, 2), (wk_init){WK_INIT_GLOROT, 3, 2});
    float *w = initial(params, 0);
    uint64_t key = wk_rng_key(9, "init/net/w");
    for (int member = 0; member < 2; member++)
        for (int i = 0; i < 6; i++) {
            uint32_t word = wk_philox_at(key, (uint64_t)member, (uint64_t)i / 4).v[i % 4];
            double expected = sqrt(6.0 / 5) * (2 * (double)wk_unit_float(word) - 1);
            assert_near(w[member * 6 + i], expected, 1e-6);
        }
    free(w);
    wk_params_destroy(params);
}

// Records the layers of every kind and returns the fans that were declared for "name/w".
TEST_CASE(fans_follow_keras)
{
    wk_error err = {0};
    wk_graph *g = NULL;
    wk_scope *scope = NULL;
    wk_params *params = new_set("net", 0, 0);
    assert_ok(wk_graph_create(&g, &err));
    assert_ok(wk_scope_create(params, g, &scope, &err));
    wk_tensor image = wk_graph_input(g, WK_F32, WK_SHAPE(2, 8, 8, 3), "image");
    wk_tensor row = wk_graph_input(g, WK_F32, WK_SHAPE(2, 10), "row");
    wk_nn_dense(scope, "dense", row, 7, WK_ELU);
    wk_nn_conv(scope, "conv", image, &(wk_conv_config){5, 4, 2, WK_ELU});
    wk_nn_deconv(scope, "deconv", image, &(wk_conv_config){5, 4, 2, WK_ELU});
    const struct {
        const char *name;
        int fans; // in + out
    } expected[] = {{"dense/w", 17}, {"conv/w", 16 * 8}, {"deconv/w", 16 * 8}};
    for (size_t i = 0; i < 3; i++) {
        const wk_weight *param = &params->weights.items[2 * i];
        assert_string_equal(param->name, expected[i].name);
        assert_int_equal(param->init.fan_in + param->init.fan_out, expected[i].fans);
    }
    assert_int_equal(params->weights.items[2].init.fan_in, 16 * 3);
    wk_scope_destroy(scope);
    wk_graph_destroy(g);
    wk_params_destroy(params);
}

TEST_CASE(sets_members_and_seeds_start_differently)
{
    const wk_init init = {WK_INIT_GLOROT, 4, 4};
    wk_params *a = new_set("actor", 2, 1), *b = new_set("critic", 2, 1),
              *c = new_set("actor", 2, 2);
    wk_params *sets[] = {a, b, c};
    float *w[3];
    for (int i = 0; i < 3; i++) {
        wk_params_declare(sets[i], "w", WK_SHAPE(4, 4), init);
        w[i] = initial(sets[i], 0);
    }
    assert_true(w[0][0] != w[0][16]);
    assert_true(w[0][0] != w[1][0]);
    assert_true(w[0][0] != w[2][0]);
    for (int i = 0; i < 3; i++) {
        free(w[i]);
        wk_params_destroy(sets[i]);
    }
}

// One graph of one dense layer without bias effect: y = x w.
typedef struct net {
    wk_graph *g;
    wk_scope *scope;
    wk_tensor x, y;
} net;

static net record(wk_params *params)
{
    wk_error err = {0};
    net n = {0};
    assert_ok(wk_graph_create(&n.g, &err));
    assert_ok(wk_scope_create(params, n.g, &n.scope, &err));
    n.x = wk_graph_input(n.g, WK_F32, WK_SHAPE(1, 3), "x");
    n.y = wk_nn_dense(n.scope, "layer", n.x, 2, WK_IDENTITY);
    return n;
}

static void release(net *n)
{
    wk_scope_destroy(n->scope);
    wk_graph_destroy(n->g);
}

TEST_CASE(graphs_that_use_one_set_share_its_weights)
{
    wk_error err = {0};
    wk_backend *backend = NULL;
    assert_ok(wk_backend_cpu_create(NULL, &backend, &err));
    wk_params *params = new_set("net", 0, 4);
    net first = record(params);
    assert_ok(wk_scope_bind(first.scope, backend, &err));
    // The first graph overwrites the weight; the second reads it.
    wk_tensor nines = wk_graph_fill(first.g, WK_SHAPE(3, 2), 9);
    wk_graph_store(first.g, first.scope->tensors.items[0], nines);
    net second = record(params);
    assert_int_equal(params->weights.count, 2);
    assert_ok(wk_scope_bind(second.scope, backend, &err));
    wk_graph_output(second.g, second.y);
    wk_program *writer = NULL, *reader = NULL;
    assert_ok(wk_program_create(first.g, backend, &writer, &err));
    assert_ok(wk_program_create(second.g, backend, &reader, &err));
    assert_ok(wk_program_run(writer, &err));
    const float x[] = {1, 2, 3};
    float y[2];
    assert_ok(wk_program_upload(reader, second.x, x, sizeof x, &err));
    assert_ok(wk_program_run(reader, &err));
    assert_ok(wk_program_download(reader, second.y, y, sizeof y, &err));
    assert_true(y[0] == 54 && y[1] == 54);
    wk_program_destroy(writer);
    wk_program_destroy(reader);
    release(&first);
    release(&second);
    wk_params_destroy(params);
    wk_backend_destroy(backend);
}

TEST_CASE(a_slow_copy_starts_equal_and_follows_every_period)
{
    wk_error err = {0};
    wk_backend *backend = NULL;
    assert_ok(wk_backend_cpu_create(NULL, &backend, &err));
    wk_params *fast = new_set("critic", 0, 4), *slow = new_set("critic_slow", 0, 4);
    wk_graph *g = NULL;
    wk_scope *fast_scope = NULL, *slow_scope = NULL;
    assert_ok(wk_graph_create(&g, &err));
    assert_ok(wk_scope_create(fast, g, &fast_scope, &err));
    assert_ok(wk_scope_create(slow, g, &slow_scope, &err));
    const wk_init init = {WK_INIT_GLOROT, 2, 2};
    wk_tensor w = wk_scope_weight(fast_scope, "l", "w", WK_SHAPE(2, 2), init);
    wk_tensor copy = wk_scope_weight(slow_scope, "l", "w", WK_SHAPE(2, 2), init);
    wk_tensor counter = wk_graph_persistent(g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    wk_graph_store(g, w, wk_graph_affine(g, w, 1, 1));
    wk_graph_count(g, counter, 1);
    wk_scope_copy_every(slow_scope, fast_scope, counter, 3);
    assert_ok(wk_scope_bind(fast_scope, backend, &err));
    assert_ok(wk_scope_bind(slow_scope, backend, &err));
    assert_ok(wk_params_copy(slow, fast, &err));
    wk_program *program = NULL;
    assert_ok(wk_program_create(g, backend, &program, &err));
    float start[4], now[4], old[4];
    assert_ok(wk_program_download(program, w, start, sizeof start, &err));
    for (int run = 1; run <= 7; run++) {
        assert_ok(wk_program_run(program, &err));
        assert_ok(wk_program_download(program, w, now, sizeof now, &err));
        assert_ok(wk_program_download(program, copy, old, sizeof old, &err));
        assert_near(now[1], start[1] + (double)run, 1e-6);
        assert_near(old[1], start[1] + (double)(run / 3 * 3), 1e-6);
    }
    wk_program_destroy(program);
    wk_scope_destroy(fast_scope);
    wk_scope_destroy(slow_scope);
    wk_graph_destroy(g);
    wk_params_destroy(fast);
    wk_params_destroy(slow);
    wk_backend_destroy(backend);
}

TEST_MAIN(NULL, NULL)
