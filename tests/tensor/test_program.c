// Programs: what a run promises, where persistent tensors live, randomness, timing and dumps.
#include "support/check.h"
#include "support/engine.h"
#include "tensor/node.h"
#include "tensor/program.h"

#include <stdlib.h>

// A small training step with everything that changes between runs: random numbers, a recurrence,
// Adam. Returns the loss.
typedef struct training {
    wk_tensor w, m, v, rate, state, counter, loss;
} training;

static training record_training(engine *e)
{
    enum { B = 4, D = 6, STEPS = 5 };
    training t = {.w = engine_state(e, WK_SHAPE(D, D)),
                  .m = engine_state(e, WK_SHAPE(D, D)),
                  .v = engine_state(e, WK_SHAPE(D, D)),
                  .rate = engine_state(e, WK_SHAPE(1)),
                  .state = wk_graph_persistent(e->g, WK_U64, WK_SHAPE(1, 2), "state", NULL, 0),
                  .counter = engine_counter(e)};
    wk_tensor h = wk_graph_fill(e->g, WK_SHAPE(B, D), 0.1f), dw;
    for (uint64_t step = 0; step < STEPS; step++) {
        wk_tensor x = wk_graph_activate(e->g, wk_graph_matmul(e->g, h, t.w), WK_TANH);
        wk_tensor noise =
            wk_graph_uniform(e->g, WK_SHAPE(B, D), (wk_random){t.counter, step}, -1, 1);
        h = wk_graph_add(e->g, x, noise);
    }
    t.loss = wk_graph_mean_all(e->g, wk_graph_mul(e->g, h, h));
    wk_graph_gradients(e->g, t.loss, &t.w, 1, &dw);
    wk_adam_config config = wk_adam_config_default();
    wk_tensor norm = wk_graph_global_norm(e->g, &dw, 1, 1);
    wk_tensor step = wk_graph_adam_begin(e->g, norm, t.rate, t.state, (wk_tensor){0}, config);
    wk_graph_adam(e->g, t.w, t.m, t.v, dw, step, config);
    wk_graph_count(e->g, t.counter, 1);
    wk_graph_output(e->g, t.loss);
    return t;
}

enum { RUNS = 12 };

static void train(int threads, float losses[RUNS], float weights[36])
{
    engine e = engine_open(threads);
    training t = record_training(&e);
    float start[36];
    for (int i = 0; i < 36; i++)
        start[i] = 0.1f * (float)(i % 7) - 0.3f;
    engine_set(&e, t.w, start);
    engine_set(&e, t.rate, &(float){0.05f});
    for (int i = 0; i < RUNS; i++) {
        engine_run(&e);
        losses[i] = engine_float(&e, t.loss);
    }
    engine_get(&e, t.w, weights);
    engine_close(&e);
}

TEST_CASE(training_gives_the_same_bytes_on_any_number_of_threads)
{
    float losses[3][RUNS], weights[3][36];
    for (int i = 0; i < 3; i++)
        train(i + 1, losses[i], weights[i]);
    for (int i = 1; i < 3; i++) {
        assert_memory_equal(losses[0], losses[i], sizeof losses[0]);
        assert_memory_equal(weights[0], weights[i], sizeof weights[0]);
    }
    // The noise alone gives 1/3: training removes most of the rest.
    assert_true(losses[0][RUNS - 1] < losses[0][0]);
}

TEST_CASE(a_run_at_the_same_counter_draws_the_same_bits)
{
    engine e = engine_open(2);
    wk_tensor counter = engine_counter(&e);
    wk_tensor x = wk_graph_uniform(e.g, WK_SHAPE(5), (wk_random){counter, 3}, 0, 1);
    wk_graph_output(e.g, x);
    wk_graph_count(e.g, counter, 1);
    float first[5], second[5], again[5];
    engine_run(&e);
    engine_get(&e, x, first);
    engine_run(&e);
    engine_get(&e, x, second);
    engine_set(&e, counter, &(uint64_t){0});
    engine_run(&e);
    engine_get(&e, x, again);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, second, sizeof first);
    engine_close(&e);
}

TEST_CASE(two_programs_share_a_bound_buffer)
{
    wk_error err = {0};
    engine writer = engine_open(1), reader = engine_open(1);
    wk_buffer *buffer = NULL;
    assert_ok(wk_buffer_create(writer.backend, 256, &buffer, &err));
    wk_tensor a = wk_graph_persistent(writer.g, WK_F32, WK_SHAPE(3), "w", buffer, 64);
    wk_tensor x = wk_graph_input(writer.g, WK_F32, WK_SHAPE(3), "x");
    wk_graph_store(writer.g, a, x);
    wk_backend_destroy(reader.backend);
    reader.backend = writer.backend;
    wk_tensor b = wk_graph_persistent(reader.g, WK_F32, WK_SHAPE(3), "w", buffer, 64);
    wk_tensor sum = wk_graph_sum_all(reader.g, b);
    wk_graph_output(reader.g, sum);
    engine_set(&writer, x, (float[]){1, 2, 4});
    engine_run(&writer);
    engine_run(&reader);
    assert_near(engine_float(&reader, sum), 7, 0);
    float direct[3];
    assert_ok(wk_buffer_download(buffer, 64, direct, sizeof direct, &err));
    assert_near(direct[2], 4, 0);
    reader.backend = NULL;
    engine_close(&reader);
    wk_program_destroy(writer.program);
    writer.program = NULL;
    wk_buffer_destroy(buffer);
    engine_close(&writer);
}

TEST_CASE(writes_are_seen_by_later_nodes_only)
{
    engine e = engine_open(1);
    wk_tensor s = engine_state(&e, WK_SHAPE(1)), before = wk_graph_affine(e.g, s, 1, 0);
    wk_graph_store(e.g, s, wk_graph_affine(e.g, s, 1, 10));
    wk_tensor after = wk_graph_affine(e.g, s, 1, 0);
    wk_graph_output(e.g, before);
    wk_graph_output(e.g, after);
    engine_set(&e, s, &(float){5});
    engine_run(&e);
    assert_near(engine_float(&e, before), 5, 0);
    assert_near(engine_float(&e, after), 15, 0);
    engine_run(&e);
    assert_near(engine_float(&e, before), 15, 0);
    engine_close(&e);
}

TEST_CASE(inputs_keep_their_content_between_runs)
{
    engine e = engine_open(1);
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(2), "x");
    wk_tensor y = wk_graph_activate(e.g, wk_graph_affine(e.g, x, 2, 0), WK_TANH);
    wk_graph_output(e.g, y);
    engine_set(&e, x, (float[]){0.5f, 1});
    engine_run(&e);
    float first = engine_float(&e, y);
    engine_run(&e);
    assert_true(engine_float(&e, y) == first);
    engine_close(&e);
}

TEST_CASE(constants_and_views_can_be_read)
{
    engine e = engine_open(1);
    wk_tensor c = wk_graph_constant(e.g, WK_SHAPE(2, 2), (float[]){1, 2, 3, 4});
    wk_tensor row = wk_graph_slice(e.g, wk_graph_affine(e.g, c, 10, 0), 0, 1, 1);
    wk_graph_output(e.g, row);
    engine_run(&e);
    float values[4];
    engine_get(&e, c, values);
    assert_near(values[3], 4, 0);
    engine_get(&e, row, values);
    assert_near(values[0], 30, 0);
    assert_near(values[1], 40, 0);
    engine_close(&e);
}

TEST_CASE(tracing_counts_every_node_and_changes_nothing)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_graph_section(e.g, "part one");
    training t = record_training(&e);
    engine_set(&e, t.rate, &(float){0.05f});
    assert_ok(wk_program_trace(e.program, true, &err));
    engine_run(&e);
    wk_text table = {0}, json = {0};
    wk_program_trace_table(e.program, &table);
    wk_program_trace_json(e.program, &json);
    assert_non_null(strstr(wk_text_get(&table), "matmul"));
    assert_non_null(strstr(wk_text_get(&table), "part one"));
    size_t events = 0;
    for (const char *at = wk_text_get(&json); (at = strstr(at, "\"dur\"")); at++)
        events++;
    assert_int_equal(events, wk_program_get_stats(e.program).nodes);
    wk_text_free(&table);
    wk_text_free(&json);
    assert_ok(wk_program_trace(e.program, false, &err));
    wk_program_trace_table(e.program, &table);
    assert_string_equal(wk_text_get(&table), "");
    engine_close(&e);
}

TEST_CASE(the_environment_asks_for_a_trace)
{
    unsetenv("WAKER_TRACE");
    assert_null(wk_trace_request());
    setenv("WAKER_TRACE", "0", 1);
    assert_null(wk_trace_request());
    setenv("WAKER_TRACE", "trace.json", 1);
    assert_string_equal(wk_trace_request(), "trace.json");
    unsetenv("WAKER_TRACE");
}

enum { MANY = 1000 };

// A program of the sum of c x (c x + x) over x, in the given memory.
typedef struct scaled {
    wk_graph *g;
    wk_program *program;
    wk_tensor x, y;
} scaled;

static scaled plan_scaled(wk_backend *backend, float scale)
{
    wk_error err = {0};
    scaled s;
    assert_ok(wk_graph_create(&s.g, &err));
    s.x = wk_graph_input(s.g, WK_F32, WK_SHAPE(MANY), "x");
    wk_tensor part = wk_graph_affine(s.g, s.x, scale, 0);
    s.y = wk_graph_sum_all(s.g, wk_graph_mul(s.g, part, wk_graph_add(s.g, part, s.x)));
    wk_graph_output(s.g, s.y);
    assert_ok(wk_program_plan(s.g, backend, &s.program, &err));
    return s;
}

static float run_scaled(scaled *s, const wk_buffer *from, size_t offset)
{
    wk_error err = {0};
    float sum;
    wk_queue *queue;
    wk_location to = wk_program_locate(s->program, s->x);
    wk_copy copy = {to.buffer, from, to.offset, offset, to.size};
    assert_ok(wk_queue_create(from->backend, false, &queue, &err));
    assert_ok(wk_queue_copy(queue, &copy, 1, &err));
    assert_ok(wk_program_enqueue(s->program, queue, &err));
    wk_queue_destroy(queue);
    assert_ok(wk_program_download(s->program, s->y, &sum, sizeof sum, &err));
    return sum;
}

TEST_CASE(programs_share_memory_and_take_inputs_from_buffers)
{
    enum { AT = 64 };
    wk_error err = {0};
    engine e = engine_open(1);
    scaled s[2] = {plan_scaled(e.backend, 2), plan_scaled(e.backend, 3)};
    wk_buffer *shared, *source;
    size_t size = wk_program_get_stats(s[0].program).planned;
    assert_int_equal(wk_program_get_stats(s[1].program).planned, size);
    assert_ok(wk_buffer_create(e.backend, size, &shared, &err));
    assert_ok(wk_buffer_create(e.backend, AT + MANY * sizeof(float), &source, &err));
    float ones[MANY];
    for (int i = 0; i < MANY; i++)
        ones[i] = 1;
    assert_ok(wk_buffer_upload(source, AT, ones, sizeof ones, &err));
    for (int i = 0; i < 2; i++)
        assert_ok(wk_program_compile(s[i].program, shared, &err));
    assert_float_equal(run_scaled(&s[0], source, AT), 6 * MANY, 1e-3);
    assert_float_equal(run_scaled(&s[1], source, AT), 12 * MANY, 1e-3);
    assert_float_equal(run_scaled(&s[0], source, AT), 6 * MANY, 1e-3);
    for (int i = 0; i < 2; i++) {
        wk_program_destroy(s[i].program);
        wk_graph_destroy(s[i].g);
    }
    wk_buffer_destroy(shared);
    wk_buffer_destroy(source);
    engine_close(&e);
}

TEST_CASE(a_graph_that_ran_out_of_memory_makes_no_program)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_program *program = NULL;
    wk_tensor x = engine_state(&e, WK_SHAPE(2, 2)), grad;
    e.g->failed = true;
    // Recording goes on harmlessly after the failure.
    wk_tensor y = wk_graph_matmul(e.g, x, x), parts[] = {y, y};
    y = wk_graph_slice(e.g, wk_graph_concat(e.g, parts, 2, 0), 0, 0, 1);
    wk_graph_gradients(e.g, wk_graph_mean_all(e.g, y), &x, 1, &grad);
    wk_graph_output(e.g, grad);
    assert_refused(wk_program_create(e.g, e.backend, &program, &err), WK_E_MEMORY, "memory");
    assert_null(program);
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
