// Programs of a population: each member ends up as it does alone, whatever the others do. Where
// every kernel is the library's own that means the same bytes; where cuBLAS multiplies it may
// choose another kernel for a batch, and on a GPU the numbers are near.
#include "base/random.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/precision.h"
#include "tensor/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMBERS = 3, RUNS = 3, STATES = 64, RESULTS = 8 };

// One member: a graph, its program, and what is in it.
typedef struct member {
    uint64_t seed;
    wk_graph *g;
    wk_backend *backend;
    wk_buffer *weights; // of all states, as the learner has them
    wk_program *program;
    wk_tensor state[STATES], weight[STATES], result[RESULTS], image, idle, counter, rate;
    int states, weights_count, results;
    size_t used; // bytes of `weights`
} member;

typedef void record_fn(member *m);

enum { WEIGHT_BYTES = 32 << 20 };

static wk_tensor state_of(member *m, wk_dtype dtype, wk_shape shape)
{
    size_t size = wk_shape_count(shape) * wk_dtype_size(dtype);
    wk_tensor x = wk_graph_persistent(m->g, dtype, shape, "state", m->weights, m->used);
    m->used += (size + 255) / 256 * 256;
    assert_true(m->used <= WEIGHT_BYTES && m->states < STATES);
    return m->state[m->states++] = x;
}

static wk_tensor weight_of(member *m, wk_shape shape)
{
    return m->weight[m->weights_count++] = state_of(m, WK_F32, shape);
}

static wk_random random_of(member *m, uint64_t stream)
{
    return (wk_random){m->counter, 1000 * m->seed + stream};
}

static void add_result(member *m, wk_tensor x)
{
    wk_graph_output(m->g, x);
    assert_true(m->results < RESULTS);
    m->result[m->results++] = x;
}

// An Adam step on weights, with a slow copy of the first.
static void learn(member *m, wk_tensor loss, const wk_tensor *weights, size_t count, int stack)
{
    wk_graph *g = m->g;
    wk_adam_config config = wk_adam_config_default();
    wk_tensor gradient[STATES], slow = state_of(m, WK_F32, wk_graph_shape(g, weights[0]));
    wk_graph_gradients(g, loss, weights, count, gradient);
    wk_tensor norm = wk_graph_global_norm(g, gradient, count, stack);
    wk_tensor steps = state_of(m, WK_U64, WK_SHAPE(stack, 2));
    wk_tensor step = wk_graph_adam_begin(g, norm, m->rate, steps, (wk_tensor){0}, config);
    for (size_t i = 0; i < count; i++) {
        wk_shape shape = wk_graph_shape(g, weights[i]);
        wk_tensor first = state_of(m, WK_F32, shape), second = state_of(m, WK_F32, shape);
        wk_graph_adam(g, weights[i], first, second, gradient[i], step, config);
    }
    wk_graph_store_every(g, slow, weights[0], m->counter, 2);
    add_result(m, loss);
    add_result(m, norm);
}

// Everything that is no product: the same bytes on any device.
static void record_own(member *m)
{
    enum { B = 8, D = 16, V = 4, C = 8 };
    wk_graph *g = m->g;
    wk_tensor pre = weight_of(m, WK_SHAPE(B, 3 * D)), h = weight_of(m, WK_SHAPE(B, D));
    wk_tensor gate = weight_of(m, WK_SHAPE(3 * D)), gain = weight_of(m, WK_SHAPE(3 * D));
    wk_tensor offset = weight_of(m, WK_SHAPE(3 * D)), logits = weight_of(m, WK_SHAPE(B, V, C));
    wk_tensor stacked = weight_of(m, WK_SHAPE(3, B, D));
    // Few draws for one member, many for all.
    add_result(m, wk_graph_sample_onehot(g, weight_of(m, WK_SHAPE(128, 16, 16)), random_of(m, 5)));
    wk_tensor y = wk_graph_gru(g, pre, gate, gain, offset, h, 1e-3f);
    wk_tensor noise = wk_graph_uniform(g, WK_SHAPE(B, D), random_of(m, 1), -0.1f, 0.1f);
    y = wk_graph_add(g, y, noise);
    wk_tensor drawn = wk_graph_sample_onehot(g, logits, random_of(m, 2));
    wk_tensor raw = wk_graph_slice(g, y, 1, 4, 6);
    wk_tensor action = wk_graph_truncated_normal_sample(g, raw, random_of(m, 3), WK_SAMPLE_EXACT);
    wk_tensor last = wk_graph_slice(g, y, 0, 0, 1), parts[] = {y, last};
    wk_tensor value = wk_graph_concat(g, parts, 2, 0);
    wk_tensor returns = wk_graph_lambda_return(g, y, value, 0.9f, 0.8f);
    wk_tensor picked = wk_graph_mul(g, drawn, wk_graph_softmax(g, logits));
    wk_tensor kl = wk_graph_kl(g, logits, wk_graph_affine(g, logits, 0.5f, 0.1f));
    wk_tensor losses[] = {
        wk_graph_mean_all(g, returns),
        wk_graph_mean_all(g, wk_graph_half_squared_error(g, y, noise, 1)),
        wk_graph_mean_all(g, picked),
        wk_graph_mean_all(g, kl),
        wk_graph_mean_all(g, action),
        wk_graph_mean_all(g, wk_graph_disagreement(g, stacked, WK_DISAGREEMENT_STD, 1)),
    };
    add_result(m, wk_graph_mean(g, drawn, 0));
    add_result(m, action);
    wk_tensor loss = wk_graph_add_n(g, losses, sizeof losses / sizeof *losses);
    wk_tensor weights[] = {pre, h, gate, gain, offset, logits, stacked};
    learn(m, loss, weights, sizeof weights / sizeof *weights, 1);
}

// Products of the sizes that the library's own kernels take in bf16, and of others.
static void record_products(member *m)
{
    enum { B = 4, ROWS = 512, HIDDEN = 320, S = 4 };
    wk_graph *g = m->g;
    m->image = wk_graph_input(g, WK_U8, WK_SHAPE(B, 64, 64, 3), "image");
    wk_tensor conv = weight_of(m, WK_SHAPE(4, 4, 3, 12)), conv_b = weight_of(m, WK_SHAPE(12));
    wk_tensor deeper = weight_of(m, WK_SHAPE(4, 4, 12, 32));
    wk_tensor up = weight_of(m, WK_SHAPE(5, 5, 16, 32)), up_b = weight_of(m, WK_SHAPE(16));
    wk_tensor in = weight_of(m, WK_SHAPE(40, HIDDEN)), in_b = weight_of(m, WK_SHAPE(HIDDEN));
    wk_tensor hidden = weight_of(m, WK_SHAPE(S, HIDDEN, HIDDEN));
    wk_tensor hidden_b = weight_of(m, WK_SHAPE(S, HIDDEN));
    wk_tensor again = weight_of(m, WK_SHAPE(S, HIDDEN, HIDDEN));
    wk_tensor head = weight_of(m, WK_SHAPE(HIDDEN, 4)), head_b = weight_of(m, WK_SHAPE(4));
    // A stack of fewer than there are members.
    wk_tensor pair = weight_of(m, WK_SHAPE(2, HIDDEN, 24)), pair_b = weight_of(m, WK_SHAPE(2, 24));
    wk_tensor pair_up = weight_of(m, WK_SHAPE(2, 24, 40));
    // Two products that are one in a population.
    wk_tensor from_x = weight_of(m, WK_SHAPE(40, 96)), from_y = weight_of(m, WK_SHAPE(HIDDEN, 96));
    wk_tensor x = weight_of(m, WK_SHAPE(ROWS, 40)), none = {0};
    wk_tensor image = wk_graph_conv(g, wk_graph_image(g, m->image), conv, conv_b, 2, WK_ELU);
    wk_tensor small = wk_graph_conv(g, image, deeper, none, 2, WK_ELU);
    wk_tensor large = wk_graph_deconv(g, small, up, up_b, 2, WK_IDENTITY);
    wk_tensor y = wk_graph_bias_act(g, wk_graph_matmul(g, x, in), in_b, WK_ELU);
    wk_tensor stack = wk_graph_bias_act(g, wk_graph_matmul(g, y, hidden), hidden_b, WK_ELU);
    wk_tensor deep = wk_graph_activate(g, wk_graph_matmul(g, stack, again), WK_ELU);
    wk_tensor raw = wk_graph_bias_act(g, wk_graph_matmul(g, y, head), head_b, WK_IDENTITY);
    wk_tensor action = wk_graph_truncated_normal_sample(g, raw, random_of(m, 4), WK_SAMPLE_EXACT);
    wk_tensor few = wk_graph_bias_act(g, wk_graph_matmul(g, y, pair), pair_b, WK_IDENTITY);
    wk_tensor wide = wk_graph_matmul(g, few, pair_up);
    wk_tensor sum = wk_graph_matmul_add(g, y, from_y, wk_graph_matmul(g, x, from_x));
    wk_tensor losses[] = {wk_graph_mean_all(g, wk_graph_mul(g, large, large)),
                          wk_graph_mean_all(g, wk_graph_mul(g, sum, sum)),
                          wk_graph_mean_all(g, wk_graph_mul(g, wide, wide)),
                          wk_graph_mean_all(g, wk_graph_mul(g, deep, deep)),
                          wk_graph_mean_all(g, wk_graph_mul(g, action, action))};
    add_result(m, action);
    wk_tensor loss = wk_graph_add_n(g, losses, sizeof losses / sizeof *losses);
    wk_tensor weights[] = {conv,  conv_b, deeper,   up,   up_b,   in,      in_b,   hidden, head,
                           again, head_b, hidden_b, pair, pair_b, pair_up, from_x, from_y};
    learn(m, loss, weights, sizeof weights / sizeof *weights, 1);
}

static void open_member(member *m, uint64_t seed, wk_backend *backend, record_fn *record)
{
    wk_error err = {0};
    *m = (member){.seed = seed, .backend = backend};
    assert_ok(wk_graph_create(&m->g, &err));
    assert_ok(wk_buffer_create(backend, WEIGHT_BYTES, &m->weights, &err));
    m->idle = state_of(m, WK_U64, WK_SHAPE(1));
    m->counter = state_of(m, WK_U64, WK_SHAPE(1));
    m->rate = state_of(m, WK_F32, WK_SHAPE(1));
    wk_graph_set_idle(m->g, m->idle);
    record(m);
    wk_graph_count(m->g, m->counter, 1);
}

static void close_member(member *m)
{
    wk_program_destroy(m->program);
    wk_buffer_destroy(m->weights);
    wk_graph_destroy(m->g);
}

static size_t size_of(const member *m, wk_tensor x)
{
    return wk_shape_count(wk_graph_shape(m->g, x)) * wk_dtype_size(wk_graph_dtype(m->g, x));
}

static void set(member *m, wk_tensor x, const void *bytes)
{
    wk_error err = {0};
    assert_ok(wk_program_upload(m->program, x, bytes, size_of(m, x), &err));
}

static void *get(const member *m, wk_tensor x)
{
    wk_error err = {0};
    void *bytes = malloc(size_of(m, x));
    assert_non_null(bytes);
    assert_ok(wk_program_download(m->program, x, bytes, size_of(m, x), &err));
    return bytes;
}

// Weights by the member's seed; moments and counters stay zero.
static void fill(member *m)
{
    wk_rng rng = wk_rng_stream(m->seed, "test/population", 0);
    for (int i = 0; i < m->weights_count; i++) {
        wk_tensor x = m->weight[i];
        size_t count = size_of(m, x) / sizeof(float);
        float *values = malloc(count * sizeof *values);
        for (size_t k = 0; k < count; k++)
            values[k] = (float)wk_rng_uniform(&rng, -0.1, 0.1);
        set(m, x, values);
        free(values);
    }
    set(m, m->rate, &(float){1e-3f * (float)m->seed});
    if (!wk_tensor_exists(m->image)) return;
    uint8_t *pixels = malloc(size_of(m, m->image));
    for (size_t i = 0; i < size_of(m, m->image); i++)
        pixels[i] = (uint8_t)wk_rng_u32(&rng);
    set(m, m->image, pixels);
    free(pixels);
}

static void run(const member *m)
{
    wk_error err = {0};
    assert_ok(wk_program_run(m->program, &err));
}

static void compile(member *m, int count)
{
    wk_error err = {0};
    wk_program *programs[MEMBERS] = {NULL};
    wk_buffer *temporaries[MEMBERS] = {NULL};
    for (int r = 0; r < count; r++) {
        assert_ok(wk_program_plan(m[r].g, m[r].backend, &m[r].program, &err));
        programs[r] = m[r].program;
    }
    assert_ok(wk_program_compile_population(programs, temporaries, count, &err));
    for (int r = 0; r < count; r++)
        fill(&m[r]);
}

static bool is_cpu(const member *m)
{
    return strcmp(wk_backend_name(m->backend), "cpu") == 0;
}

// The same bytes, or numbers that are as near as another order of sums leaves them.
static void compare(const member *got, const member *expected, wk_tensor x, bool exact,
                    const char *what, int i)
{
    void *a = get(got, x), *b = get(expected, x);
    size_t size = size_of(got, x);
    if (exact || is_cpu(got) || wk_graph_dtype(got->g, x) != WK_F32) {
        if (memcmp(a, b, size) != 0)
            fail_msg("member %d: %s %d differs from the run alone", (int)got->seed, what, i);
    } else {
        double far = test_distance(a, b, size / sizeof(float)), limit = test_rounds() ? 2e-2 : 1e-3;
        if (!(far <= limit))
            fail_msg("member %d: %s %d is %g from the run alone", (int)got->seed, what, i, far);
    }
    free(a);
    free(b);
}

static void compare_all(const member *got, const member *expected, bool exact, bool results)
{
    for (int i = 1; i < got->states; i++) // idle is the test's own
        compare(got, expected, got->state[i], exact, "state", i);
    for (int i = 0; results && i < got->results; i++)
        compare(got, expected, got->result[i], exact, "result", i);
}

// In the last run the second member is idle.
static int runs_of(int r)
{
    return r == 1 ? RUNS - 1 : RUNS;
}

static void expect_alone(const member *members, wk_pool *pool, record_fn *record, bool exact)
{
    wk_error err = {0};
    for (int r = 0; r < MEMBERS; r++) {
        wk_backend *backend;
        member alone;
        assert_ok(test_backend_create(pool, &backend, &err));
        open_member(&alone, members[r].seed, backend, record);
        compile(&alone, 1);
        for (int i = 0; i < runs_of(r); i++)
            run(&alone);
        compare_all(&members[r], &alone, exact, runs_of(r) == RUNS);
        close_member(&alone);
        wk_backend_destroy(backend);
    }
}

static void check_population(record_fn *record, bool exact)
{
    wk_error err = {0};
    wk_pool *pool;
    wk_backend *backends[MEMBERS];
    member members[MEMBERS];
    assert_ok(wk_pool_create(2, &pool, &err));
    assert_ok(test_population_create(pool, MEMBERS, backends, &err));
    for (int r = 0; r < MEMBERS; r++)
        open_member(&members[r], (uint64_t)r + 1, backends[r], record);
    compile(members, MEMBERS);
    for (int i = 0; i < RUNS; i++) {
        if (i == RUNS - 1) set(&members[1], members[1].idle, &(uint64_t){1});
        run(&members[0]);
    }
    expect_alone(members, pool, record, exact);
    for (int r = 0; r < MEMBERS; r++)
        close_member(&members[r]);
    test_population_destroy(backends, MEMBERS);
    wk_pool_destroy(pool);
}

TEST_CASE(members_give_the_bytes_of_running_alone)
{
    check_population(record_own, true);
}

TEST_CASE(products_of_members_are_those_of_running_alone)
{
    check_population(record_products, false);
}

// A program of one member beside those of the population, as evaluation has.
TEST_CASE(a_member_has_programs_of_its_own)
{
    wk_error err = {0};
    wk_pool *pool;
    wk_backend *backends[MEMBERS], *backend;
    member members[MEMBERS], single, alone;
    assert_ok(wk_pool_create(2, &pool, &err));
    assert_ok(test_population_create(pool, MEMBERS, backends, &err));
    assert_ok(test_backend_create(pool, &backend, &err));
    for (int r = 0; r < MEMBERS; r++)
        open_member(&members[r], (uint64_t)r + 1, backends[r], record_own);
    compile(members, MEMBERS);
    open_member(&single, 7, backends[2], record_own);
    compile(&single, 1);
    open_member(&alone, 7, backend, record_own);
    compile(&alone, 1);
    run(&members[0]);
    run(&single);
    run(&alone);
    compare_all(&single, &alone, true, true);
    close_member(&alone);
    for (int r = 0; r < MEMBERS; r++)
        close_member(&members[r]);
    run(&single);
    close_member(&single);
    wk_backend_destroy(backend);
    test_population_destroy(backends, MEMBERS);
    wk_pool_destroy(pool);
}

// Memory is freed for good: a population can be made again in the same places.
TEST_CASE(memory_is_used_again)
{
    wk_error err = {0};
    wk_pool *pool;
    wk_backend *backends[MEMBERS];
    size_t allocated[2];
    assert_ok(wk_pool_create(1, &pool, &err));
    assert_ok(test_population_create(pool, MEMBERS, backends, &err));
    for (int round = 0; round < 2; round++) {
        member members[MEMBERS];
        for (int r = 0; r < MEMBERS; r++)
            open_member(&members[r], (uint64_t)r + 1, backends[r], record_own);
        compile(members, MEMBERS);
        run(&members[0]);
        allocated[round] = wk_backend_allocated(backends[2]);
        for (int r = 0; r < MEMBERS; r++)
            close_member(&members[r]);
        assert_int_equal(wk_backend_allocated(backends[2]), 0);
    }
    assert_int_equal(allocated[0], allocated[1]);
    test_population_destroy(backends, MEMBERS);
    wk_pool_destroy(pool);
}

TEST_CASE(members_whose_memory_differs_are_refused)
{
    wk_error err = {0};
    wk_backend *backends[2];
    wk_buffer *more;
    member members[2];
    wk_buffer *temporaries[2] = {NULL};
    assert_ok(test_population_create(NULL, 2, backends, &err));
    assert_ok(wk_buffer_create(backends[1], WEIGHT_BYTES, &more, &err));
    wk_program *programs[2];
    for (int r = 0; r < 2; r++) {
        open_member(&members[r], (uint64_t)r + 1, backends[r], record_own);
        assert_ok(wk_program_plan(members[r].g, backends[r], &programs[r], &err));
        members[r].program = programs[r];
    }
    if (is_cpu(&members[0]))
        assert_ok(wk_program_compile_population(programs, temporaries, 2, &err));
    else
        assert_refused(wk_program_compile_population(programs, temporaries, 2, &err),
                       WK_E_UNSUPPORTED, "another order");
    for (int r = 0; r < 2; r++)
        close_member(&members[r]);
    wk_buffer_destroy(more);
    test_population_destroy(backends, 2);
}

TEST_MAIN(NULL, NULL)
