// Ops on other element types and ops that write: images, the optimiser, copies, counters.
#include "support/check.h"
#include "support/engine.h"
#include "tensor/families.h"
#include "tensor/node.h"

#include <stdlib.h>

static bool covered[WK_OP_COUNT];
static wk_error err;

static void close_covering(engine *e)
{
    for (size_t i = 0; i < e->g->nodes.count; i++)
        covered[e->g->nodes.items[i].op] = true;
    engine_close(e);
}

TEST_CASE(image_maps_bytes_to_plus_minus_half)
{
    engine e = engine_open(1);
    wk_tensor x = wk_graph_input(e.g, WK_U8, WK_SHAPE(3), "image"), y = wk_graph_image(e.g, x);
    wk_graph_output(e.g, y);
    engine_set(&e, x, (uint8_t[]){0, 51, 255});
    engine_run(&e);
    float got[3];
    engine_get(&e, y, got);
    assert_near(got[0], -0.5, 1e-7);
    assert_near(got[1], -0.3, 1e-7);
    assert_near(got[2], 0.5, 1e-7);
    close_covering(&e);
}

TEST_CASE(global_norm_covers_all_tensors_or_each_member)
{
    engine e = engine_open(2);
    wk_tensor x[] = {engine_state(&e, WK_SHAPE(2, 2)), engine_state(&e, WK_SHAPE(2))};
    wk_tensor all = wk_graph_global_norm(e.g, x, 2, 1), each = wk_graph_global_norm(e.g, x, 2, 2);
    wk_graph_output(e.g, all);
    wk_graph_output(e.g, each);
    engine_set(&e, x[0], (float[]){1, 2, 3, 4});
    engine_set(&e, x[1], (float[]){5, 6});
    engine_run(&e);
    float got[2];
    engine_get(&e, each, got);
    assert_near(engine_float(&e, all), sqrt(91), 1e-5);
    assert_near(got[0], sqrt(30), 1e-5);
    assert_near(got[1], sqrt(61), 1e-5);
    close_covering(&e);
}

// More tensors than one launch takes, among them two that are cut into as many pieces as there may
// be, one of whole vectors; every element counts once.
TEST_CASE(global_norm_covers_many_tensors_of_any_length)
{
    enum { COUNT = 70, STACK = 2, LONG = 1100004 };
    engine e = engine_open(2);
    wk_tensor x[COUNT];
    float *values = malloc(STACK * LONG * sizeof *values);
    double squares[STACK] = {0};
    assert_non_null(values);
    for (int i = 0; i < COUNT; i++)
        x[i] = engine_state(&e, WK_SHAPE(STACK, i == 66 || i == 67 ? LONG - i % 2 : 1 + 61 * i));
    wk_tensor norm = wk_graph_global_norm(e.g, x, COUNT, STACK);
    wk_graph_output(e.g, norm);
    for (int i = 0; i < COUNT; i++) {
        int length = wk_graph_shape(e.g, x[i]).dim[1];
        for (int k = 0; k < STACK * length; k++) {
            values[k] = (float)(1 + (k + i) % 7);
            squares[k / length] += (double)values[k] * (double)values[k];
        }
        engine_set(&e, x[i], values);
    }
    engine_run(&e);
    float got[STACK];
    engine_get(&e, norm, got);
    for (int s = 0; s < STACK; s++)
        assert_near(got[s] / sqrt(squares[s]), 1, 1e-6);
    free(values);
    close_covering(&e);
}

// One parameter group of a single weight [S,N] with the gradient as an input.
typedef struct adam_group {
    wk_tensor weight, m, v, gradient, rate, state, flag;
} adam_group;

static adam_group adam_group_of(engine *e, int stack, int n, wk_adam_config config)
{
    wk_shape shape = WK_SHAPE(stack, n);
    adam_group a = {.weight = engine_state(e, shape),
                    .m = engine_state(e, shape),
                    .v = engine_state(e, shape),
                    .gradient = wk_graph_input(e->g, WK_F32, shape, "gradient"),
                    .rate = engine_state(e, WK_SHAPE(1)),
                    .state =
                        wk_graph_persistent(e->g, WK_U64, WK_SHAPE(stack, 2), "state", NULL, 0),
                    .flag = engine_counter(e)};
    wk_tensor norm = wk_graph_global_norm(e->g, &a.gradient, 1, stack);
    wk_graph_check_finite(e->g, a.gradient, a.flag);
    wk_tensor step = wk_graph_adam_begin(e->g, norm, a.rate, a.state,
                                         stack == 1 ? a.flag : (wk_tensor){0}, config);
    wk_graph_adam(e->g, a.weight, a.m, a.v, a.gradient, step, config);
    return a;
}

// The formula of the facts in double precision: decay, clip, then Adam with bias correction.
static void adam_reference(double *w, double *m, double *v, const float *gradient, int n,
                           double rate, int step, wk_adam_config config)
{
    double norm = 0;
    for (int i = 0; i < n; i++)
        norm += (double)gradient[i] * gradient[i];
    norm = sqrt(norm);
    double scale = norm > config.clip ? config.clip / norm : 1;
    for (int i = 0; i < n; i++) {
        double g = scale * gradient[i];
        m[i] = config.beta1 * m[i] + (1 - config.beta1) * g;
        v[i] = config.beta2 * v[i] + (1 - config.beta2) * g * g;
        double m_hat = m[i] / (1 - pow(config.beta1, step));
        double v_hat = v[i] / (1 - pow(config.beta2, step));
        w[i] = w[i] * (1 - config.decay) - rate * m_hat / (sqrt(v_hat) + config.epsilon);
    }
}

TEST_CASE(adam_follows_its_formula_over_several_steps)
{
    enum { N = 5, STEPS = 4 };
    wk_adam_config config = wk_adam_config_default();
    config.clip = 3;
    config.decay = 1e-3f;
    engine e = engine_open(3);
    adam_group a = adam_group_of(&e, 1, N, config);
    float start[N] = {1, -2, 3, 0.5f, 0}, gradient[N], got[N];
    double w[N] = {1, -2, 3, 0.5, 0}, m[N] = {0}, v[N] = {0};
    engine_set(&e, a.weight, start);
    engine_set(&e, a.rate, &(float){0.01f});
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < N; i++)
            gradient[i] = (float)((i - 2) * step) / 2;
        engine_set(&e, a.gradient, gradient);
        engine_run(&e);
        adam_reference(w, m, v, gradient, N, 0.01f, step, config);
    }
    engine_get(&e, a.weight, got);
    for (int i = 0; i < N; i++)
        assert_near(got[i], w[i], 2e-6);
    uint64_t counts[2];
    engine_get(&e, a.state, counts);
    assert_int_equal(counts[0], STEPS);
    assert_int_equal(counts[1], 0);
    close_covering(&e);
}

TEST_CASE(adam_skips_a_step_that_is_not_finite)
{
    engine e = engine_open(1);
    adam_group a = adam_group_of(&e, 1, 2, wk_adam_config_default());
    float before[2] = {1, 2}, after[2], m[2];
    engine_set(&e, a.weight, before);
    engine_set(&e, a.rate, &(float){0.1f});
    engine_set(&e, a.gradient, (float[]){1, NAN});
    engine_run(&e);
    engine_get(&e, a.weight, after);
    engine_get(&e, a.m, m);
    assert_memory_equal(after, before, sizeof before);
    assert_true(m[0] == 0 && m[1] == 0);
    uint64_t counts[2];
    engine_get(&e, a.state, counts);
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[1], 1);
    assert_int_equal(engine_u64(&e, a.flag), 1);

    // The flag stays set until the user clears it, and alone is a reason to skip.
    engine_set(&e, a.gradient, (float[]){1, 1});
    engine_run(&e);
    engine_get(&e, a.weight, after);
    assert_memory_equal(after, before, sizeof before);
    engine_set(&e, a.flag, &(uint64_t){0});
    engine_run(&e);
    engine_get(&e, a.weight, after);
    assert_true(after[0] < before[0]);
    close_covering(&e);
}

TEST_CASE(adam_members_of_a_stack_clip_and_skip_by_themselves)
{
    wk_adam_config config = wk_adam_config_default();
    config.clip = 1;
    engine e = engine_open(1);
    adam_group a = adam_group_of(&e, 3, 2, config);
    float start[6] = {1, 1, 1, 1, 1, 1}, gradient[6] = {0.3f, 0.4f, INFINITY, 0, 30, 40}, got[6];
    engine_set(&e, a.weight, start);
    engine_set(&e, a.rate, &(float){0.01f});
    engine_set(&e, a.gradient, gradient);
    engine_run(&e);
    engine_get(&e, a.m, got);
    assert_near(got[0], 0.03, 1e-7);
    assert_near(got[1], 0.04, 1e-7);
    assert_true(got[2] == 0 && got[3] == 0);
    assert_near(got[4], 0.06, 1e-7); // the direction of (30, 40) at norm 1
    assert_near(got[5], 0.08, 1e-7);
    uint64_t counts[6], expected[6] = {1, 0, 0, 1, 1, 0};
    engine_get(&e, a.state, counts);
    assert_memory_equal(counts, expected, sizeof expected);
    close_covering(&e);
}

// The formula as Keras documents it: the rate is corrected, the root of v is not.
TEST_CASE(adam_with_epsilon_in_keras_place_follows_its_formula)
{
    wk_adam_config config = wk_adam_config_default();
    config.keras_epsilon = true;
    config.epsilon = 0.01f;
    config.decay = 0;
    engine e = engine_open(1);
    adam_group a = adam_group_of(&e, 1, 2, config);
    engine_set(&e, a.weight, (float[]){1, 1});
    engine_set(&e, a.rate, &(float){0.1f});
    const float gradients[3][2] = {{0.5f, -0.02f}, {0.1f, 0.3f}, {-2, 0.004f}};
    float got[2];
    double w[2] = {1, 1}, m[2] = {0}, v[2] = {0};
    for (int t = 1; t <= 3; t++) {
        engine_set(&e, a.gradient, gradients[t - 1]);
        engine_run(&e);
        double rate = 0.1 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));
        for (int i = 0; i < 2; i++) {
            double g = gradients[t - 1][i];
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            w[i] -= rate * m[i] / (sqrt(v[i]) + 0.01);
        }
    }
    engine_get(&e, a.weight, got);
    assert_near(got[0], w[0], 1e-6);
    assert_near(got[1], w[1], 1e-6);
    close_covering(&e);
}

// Norms 5 and 12 of two members are 13 together, which the clip of 6.5 halves.
TEST_CASE(adam_members_of_a_stack_can_clip_and_skip_together)
{
    wk_adam_config config = wk_adam_config_default();
    config.clip = 6.5f;
    config.joint_clip = true;
    engine e = engine_open(1);
    adam_group a = adam_group_of(&e, 2, 2, config);
    engine_set(&e, a.weight, (float[]){1, 1, 1, 1});
    engine_set(&e, a.rate, &(float){0.01f});
    engine_set(&e, a.gradient, (float[]){3, 4, 12, 0});
    engine_run(&e);
    float got[4], want[4] = {0.15f, 0.2f, 0.6f, 0};
    engine_get(&e, a.m, got);
    for (int i = 0; i < 4; i++)
        assert_near(got[i], want[i], 1e-6);
    engine_set(&e, a.gradient, (float[]){3, 4, NAN, 0});
    engine_run(&e);
    float after[4];
    engine_get(&e, a.m, after);
    assert_memory_equal(after, got, sizeof got);
    uint64_t counts[4], expected[4] = {1, 1, 1, 1};
    engine_get(&e, a.state, counts);
    assert_memory_equal(counts, expected, sizeof expected);
    close_covering(&e);
}

TEST_CASE(store_copies_now_and_store_every_at_multiples)
{
    engine e = engine_open(1);
    wk_tensor counter = engine_counter(&e), now = engine_state(&e, WK_SHAPE(2));
    wk_tensor slow = engine_state(&e, WK_SHAPE(2));
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(2), "x");
    wk_graph_store(e.g, now, wk_graph_affine(e.g, x, 2, 0));
    wk_graph_store_every(e.g, slow, now, counter, 3);
    wk_graph_count(e.g, counter, 1);
    const float slow_expected[] = {2, 2, 2, 8, 8, 8, 14};
    for (int i = 0; i < 7; i++) {
        engine_set(&e, x, (float[]){(float)(i + 1), 0});
        engine_run(&e);
        assert_near(engine_float(&e, now), 2 * (i + 1), 0);
        assert_near(engine_float(&e, slow), slow_expected[i], 0);
        assert_int_equal(engine_u64(&e, counter), i + 1);
    }
    close_covering(&e);
}

TEST_CASE(check_finite_finds_nan_and_infinity_and_nothing_else)
{
    engine e = engine_open(1);
    wk_tensor flag = engine_counter(&e), x = wk_graph_input(e.g, WK_F32, WK_SHAPE(3), "x");
    wk_graph_check_finite(e.g, x, flag);
    const float values[][3] = {{1, -3e38f, 1e-45f}, {0, NAN, 0}, {-INFINITY, 0, 0}};
    for (int i = 0; i < 3; i++) {
        engine_set(&e, flag, &(uint64_t){0});
        engine_set(&e, x, values[i]);
        engine_run(&e);
        assert_int_equal(engine_u64(&e, flag), i > 0);
    }
    close_covering(&e);
}

// Numbers on a device that is slow to get them.
enum { LARGE = 1 << 20, ROUNDS = 20 };

static void fill(float *values, int round)
{
    for (int i = 0; i < LARGE; i++)
        values[i] = (float)(i % 1000 + round);
}

static float *open_host(engine *e)
{
    void *memory;
    assert_ok(wk_pinned_create(e->backend, LARGE * sizeof(float), &memory, &err));
    return memory;
}

TEST_CASE(another_queue_reads_what_was_recorded_before_a_mark)
{
    engine e = engine_open(1);
    wk_queue *runs, *reads;
    wk_event *ready, *done;
    assert_ok(wk_queue_create(e.backend, false, &runs, &err));
    assert_ok(wk_queue_create(e.backend, true, &reads, &err));
    assert_ok(wk_event_create(e.backend, &ready, &err));
    assert_ok(wk_event_create(e.backend, &done, &err));
    wk_tensor x = engine_state(&e, WK_SHAPE(LARGE)), kept = engine_state(&e, WK_SHAPE(LARGE));
    wk_tensor other = engine_state(&e, WK_SHAPE(LARGE));
    wk_graph_store(e.g, kept, wk_graph_affine(e.g, x, 2, 1));
    int at = (int)wk_graph_node_count(e.g);
    wk_graph_store(e.g, other, wk_graph_affine(e.g, kept, -1, 0));
    wk_graph_mark(e.g, at, &kept, 1, ready);
    engine_compile(&e);
    wk_location from = wk_program_locate(e.program, x), to = wk_program_locate(e.program, kept);
    float *in = open_host(&e), *out = open_host(&e);
    for (int round = 0; round < ROUNDS; round++) {
        fill(in, round);
        assert_ok(wk_queue_upload(runs, from.buffer, from.offset, in, from.size, &err));
        assert_ok(wk_program_enqueue(e.program, runs, &err));
        assert_ok(wk_queue_wait_event(reads, ready, &err));
        assert_ok(wk_queue_download(reads, to.buffer, to.offset, out, to.size, &err));
        assert_ok(wk_queue_record_event(reads, done, &err));
        assert_ok(wk_event_wait(done, &err));
        for (int i = 0; i < LARGE; i++)
            if (out[i] != 2 * in[i] + 1) fail_msg("round %d: %g at %d", round, (double)out[i], i);
    }
    wk_queue_destroy(runs);
    wk_queue_destroy(reads);
    wk_pinned_destroy(e.backend, in);
    wk_pinned_destroy(e.backend, out);
    // Programs go before their events.
    wk_program_destroy(e.program);
    e.program = NULL;
    wk_event_destroy(ready);
    wk_event_destroy(done);
    close_covering(&e);
}

TEST_CASE(these_tests_cover_their_family)
{
    static const wk_op ops[] = {FAMILY_STATE(FAMILY_OP)};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!covered[ops[i]]) fail_msg("no test covers the op %s", wk_op_table[ops[i]].name);
}

TEST_MAIN(NULL, NULL)
