// The planner: nothing that is still needed is overwritten, nothing dead runs, little is wasted.
#include "base/random.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/planning.h"
#include "tensor/plan.h"

#include <stdlib.h>

static bool meet(const wk_block *a, const wk_block *b)
{
    bool in_time = a->begin <= b->end && b->begin <= a->end;
    bool in_space = a->offset < b->offset + b->size && b->offset < a->offset + a->size;
    return in_time && in_space;
}

TEST_CASE(random_blocks_never_meet_and_waste_little)
{
    enum { BLOCKS = 300, STEPS = 100, ROUNDS = 50 };
    double worst = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        wk_rng rng = wk_rng_stream(3, "blocks", round);
        wk_block blocks[BLOCKS];
        for (int i = 0; i < BLOCKS; i++) {
            int begin = (int)wk_rng_below(&rng, STEPS), length = (int)wk_rng_below(&rng, 20);
            size_t size = 64 * (1 + (size_t)wk_rng_below(&rng, 100));
            blocks[i] = (wk_block){size, begin, begin + length, 0};
        }
        size_t total, peak;
        assert_true(wk_place_blocks(blocks, BLOCKS, &total, &peak));
        for (int i = 0; i < BLOCKS; i++) {
            assert_true(blocks[i].offset % 64 == 0 && blocks[i].offset + blocks[i].size <= total);
            for (int j = 0; j < i; j++)
                assert_false(meet(&blocks[i], &blocks[j]));
        }
        assert_true(total >= peak);
        worst = fmax(worst, (double)total / (double)peak);
    }
    // Harder than any graph: training graphs free in reverse order, these at random.
    assert_true(worst < 1.15);
}

TEST_CASE(lifetimes_of_a_stack_are_placed_without_waste)
{
    // Forward activations freed in reverse order, as in every training graph.
    enum { DEPTH = 40 };
    wk_block blocks[DEPTH];
    size_t sum = 0;
    for (int i = 0; i < DEPTH; i++) {
        blocks[i] = (wk_block){64 * (size_t)(1 + i % 7), i, 2 * DEPTH - i, 0};
        sum += blocks[i].size;
    }
    size_t total, peak;
    assert_true(wk_place_blocks(blocks, DEPTH, &total, &peak));
    assert_int_equal(peak, sum);
    assert_int_equal(total, peak);
}

TEST_CASE(no_blocks_need_no_memory)
{
    size_t total = 1, peak = 1;
    assert_true(wk_place_blocks(NULL, 0, &total, &peak));
    assert_int_equal(total, 0);
    assert_int_equal(peak, 0);
}

// Random graphs over matrices. Two graphs of one seed are equal node by node.
enum { TENSORS = 60, WEIGHTS = 4 };

typedef struct random_graph {
    engine e;
    wk_rng rng;
    wk_tensor tensors[TENSORS];
    int count;
    wk_tensor weights[WEIGHTS], loss, grads[WEIGHTS];
} random_graph;

static int below(random_graph *r, int count)
{
    return (int)wk_rng_below(&r->rng, (uint64_t)count);
}

static wk_shape shape_of(const random_graph *r, wk_tensor x)
{
    return wk_graph_shape(r->e.g, x);
}

// A tensor with the same length on the axis, or x itself.
static wk_tensor partner(random_graph *r, wk_tensor x, bool rows, bool cols)
{
    for (int tries = 0; tries < 20; tries++) {
        wk_tensor y = r->tensors[below(r, r->count)];
        wk_shape a = shape_of(r, x), b = shape_of(r, y);
        if ((!rows || a.dim[0] == b.dim[0]) && (!cols || a.dim[1] == b.dim[1])) return y;
    }
    return x;
}

static wk_tensor random_slice(random_graph *r, wk_tensor x)
{
    int axis = below(r, 2), length = shape_of(r, x).dim[axis];
    int count = 1 + below(r, length);
    return wk_graph_slice(r->e.g, x, axis, below(r, length - count + 1), count);
}

static wk_tensor random_concat(random_graph *r, wk_tensor x)
{
    int axis = below(r, 2);
    if (shape_of(r, x).dim[axis] > 20) return random_slice(r, x);
    wk_tensor parts[] = {x, partner(r, x, axis == 1, axis == 0), x};
    return wk_graph_concat(r->e.g, parts, 2 + (size_t)below(r, 2), axis);
}

static wk_tensor random_node(random_graph *r)
{
    wk_graph *g = r->e.g;
    wk_tensor x = r->tensors[below(r, r->count)], w;
    wk_shape shape = shape_of(r, x);
    switch (below(r, 10)) {
    case 0:
        return wk_graph_add(g, x, partner(r, x, true, true));
    case 1:
        return wk_graph_mul(g, x, partner(r, x, true, true));
    case 2:
        return wk_graph_affine(g, x, 0.5f, 0.1f);
    case 3:
        return random_slice(r, x);
    case 4:
        return wk_graph_reshape(g, x, WK_SHAPE(shape.dim[1], shape.dim[0]));
    case 5:
        w = wk_graph_slice(g, r->weights[below(r, WEIGHTS)], 0, 0, shape.dim[1]);
        return wk_graph_matmul(g, x, w);
    case 6:
        return wk_graph_stop_gradient(g, x);
    case 7:
    case 8:
        return random_concat(r, x);
    default:
        return wk_graph_activate(g, x, WK_TANH);
    }
}

static random_graph random_graph_of(uint64_t seed, bool keep_all)
{
    random_graph r = {.e = engine_open(1), .rng = wk_rng_stream(4, "graph", seed)};
    for (int i = 0; i < WEIGHTS; i++)
        r.weights[i] = engine_state(&r.e, WK_SHAPE(64, 3 + i));
    for (r.count = 0; r.count < 3; r.count++)
        r.tensors[r.count] = engine_state(&r.e, WK_SHAPE(2 + r.count, 5));
    while (r.count < TENSORS) {
        wk_tensor x = random_node(&r);
        r.tensors[r.count++] = wk_graph_activate(r.e.g, x, WK_TANH);
    }
    wk_tensor terms[8];
    for (int i = 0; i < 8; i++)
        terms[i] = wk_graph_mean_all(r.e.g, r.tensors[TENSORS - 1 - i]);
    r.loss = wk_graph_add_n(r.e.g, terms, 8);
    wk_graph_gradients(r.e.g, r.loss, r.weights, WEIGHTS, r.grads);
    wk_graph_output(r.e.g, r.loss);
    for (int i = 0; i < WEIGHTS; i++)
        wk_graph_output(r.e.g, r.grads[i]);
    // Kept until the end, no two tensors can share memory over time.
    for (size_t i = 1; keep_all && i < r.e.g->tensors.count; i++)
        wk_graph_output(r.e.g, (wk_tensor){(int)i});
    return r;
}

static void run_random(random_graph *r)
{
    float values[64 * 8];
    wk_rng rng = wk_rng_stream(5, "values", 0);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (int i = 0; i < WEIGHTS; i++)
        engine_set(&r->e, r->weights[i], values);
    for (int i = 0; i < 3; i++)
        engine_set(&r->e, r->tensors[i], values + i);
    engine_run(&r->e);
    engine_run(&r->e);
}

TEST_CASE(sharing_memory_does_not_change_results_on_random_graphs)
{
    enum { GRAPHS = 200 };
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        random_graph shared = random_graph_of(seed, false), apart = random_graph_of(seed, true);
        run_random(&shared);
        run_random(&apart);
        float a[64 * 8], b[64 * 8];
        assert_true(engine_float(&shared.e, shared.loss) == engine_float(&apart.e, apart.loss));
        for (int i = 0; i < WEIGHTS; i++) {
            engine_get(&shared.e, shared.grads[i], a);
            engine_get(&apart.e, apart.grads[i], b);
            size_t count = wk_shape_count(shape_of(&shared, shared.grads[i]));
            if (memcmp(a, b, count * sizeof *a) != 0)
                fail_msg("seed %d: gradient %d differs", (int)seed, i);
        }
        wk_program_stats stats = wk_program_get_stats(shared.e.program);
        assert_true(stats.planned < wk_program_get_stats(apart.e.program).planned);
        assert_true((double)stats.planned <= 1.2 * (double)stats.live_peak);
        engine_close(&shared.e);
        engine_close(&apart.e);
    }
}

// A recurrence with a readout of every step, trained: the shape of the world model.
TEST_CASE(a_recurrent_training_graph_wastes_less_than_a_tenth)
{
    enum { STEPS = 30, B = 8, D = 48 };
    engine e = engine_open(1);
    wk_tensor weights[] = {
        engine_state(&e, WK_SHAPE(D, D)),         engine_state(&e, WK_SHAPE(D)),
        engine_state(&e, WK_SHAPE(2 * D, 3 * D)), engine_state(&e, WK_SHAPE(3 * D)),
        engine_state(&e, WK_SHAPE(3 * D)),        engine_state(&e, WK_SHAPE(3 * D)),
        engine_state(&e, WK_SHAPE(D, 7 * D))};
    wk_tensor h = wk_graph_fill(e.g, WK_SHAPE(B, D), 0), states[STEPS], grads[7];
    for (int t = 0; t < STEPS; t++) {
        wk_tensor x = wk_graph_matmul(e.g, h, weights[0]);
        wk_tensor both[] = {wk_graph_bias_act(e.g, x, weights[1], WK_ELU), h};
        wk_tensor pre = wk_graph_matmul(e.g, wk_graph_concat(e.g, both, 2, 1), weights[2]);
        states[t] = h = wk_graph_gru(e.g, pre, weights[3], weights[4], weights[5], h, 1e-3f);
    }
    wk_tensor all = wk_graph_concat(e.g, states, STEPS, 0);
    wk_tensor y = wk_graph_activate(e.g, wk_graph_matmul(e.g, all, weights[6]), WK_TANH);
    wk_graph_gradients(e.g, wk_graph_mean_all(e.g, wk_graph_mul(e.g, y, y)), weights, 7, grads);
    for (int i = 0; i < 7; i++)
        wk_graph_output(e.g, grads[i]);
    engine_compile(&e);
    wk_program_stats stats = wk_program_get_stats(e.program);
    assert_true((double)stats.planned <= 1.1 * (double)stats.live_peak);
    engine_close(&e);
}

TEST_CASE(nodes_that_nothing_needs_do_not_run)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(4));
    wk_tensor used = wk_graph_affine(e.g, x, 2, 0), unused = wk_graph_affine(e.g, x, 3, 0);
    wk_graph_activate(e.g, unused, WK_TANH);
    wk_graph_output(e.g, wk_graph_reshape(e.g, used, WK_SHAPE(2, 2)));
    engine_compile(&e);
    wk_program_stats stats = wk_program_get_stats(e.program);
    assert_int_equal(stats.nodes, 1);
    assert_int_equal(stats.recorded, 4);
    engine_close(&e);
}

static const wk_place *place_of(const wk_plan *plan, wk_tensor x)
{
    return &plan->places[x.id];
}

TEST_CASE(parts_of_a_stack_are_produced_in_their_place)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_tensor x = engine_state(&e, WK_SHAPE(2, 8)), parts[3];
    for (int i = 0; i < 3; i++)
        parts[i] = wk_graph_affine(e.g, x, (float)i, 1);
    wk_tensor all = wk_graph_stack(e.g, parts, 3);
    wk_graph_output(e.g, wk_graph_mean_all(e.g, all));
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(e.g, NULL, &plan, &err));
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(place_of(plan, parts[i])->offset, place_of(plan, all)->offset + 64 * i);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_CASE(an_elementwise_chain_stays_in_place)
{
    engine e = engine_open(1);
    wk_tensor x = wk_graph_input(e.g, WK_F32, WK_SHAPE(100), "x"),
              y = wk_graph_affine(e.g, x, 2, 0);
    for (int i = 0; i < 50; i++)
        y = wk_graph_activate(e.g, y, WK_TANH);
    wk_graph_output(e.g, y);
    engine_compile(&e);
    wk_program_stats stats = wk_program_get_stats(e.program);
    assert_int_equal(stats.temporaries, 1);
    assert_int_equal(stats.planned, 448);
    engine_close(&e);
}

TEST_CASE(an_operand_used_later_is_not_taken_in_place)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(3)), a = wk_graph_affine(e.g, x, 2, 0);
    wk_tensor b = wk_graph_affine(e.g, a, -1, 1), c = wk_graph_add(e.g, b, a);
    wk_graph_output(e.g, c);
    engine_set(&e, x, (float[]){5, 6, 7});
    engine_run(&e);
    float got[3];
    engine_get(&e, c, got);
    for (int i = 0; i < 3; i++)
        assert_near(got[i], 1, 0);
    engine_close(&e);
}

// A graph that stores `what`, a temporary, in `place`.
typedef struct storing {
    engine e;
    wk_tensor x, what, place;
} storing;

static storing open_storing(void)
{
    storing s = {.e = engine_open(1)};
    s.x = engine_state(&s.e, WK_SHAPE(2, 8));
    s.place = engine_state(&s.e, WK_SHAPE(16));
    s.what = wk_graph_activate(s.e.g, wk_graph_affine(s.e.g, s.x, 2, 1), WK_TANH);
    return s;
}

static void store_it(storing *s)
{
    wk_graph_store(s->e.g, s->place, wk_graph_reshape(s->e.g, s->what, WK_SHAPE(16)));
}

// Whether it is made where it is stored.
static bool is_made_there(storing *s)
{
    wk_error err = {0};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(s->e.g, NULL, &plan, &err));
    const wk_place *a = place_of(plan, s->what), *b = place_of(plan, s->place);
    bool there = a->region == b->region && a->offset == b->offset;
    assert_int_equal(a->of, there ? s->place.id : 0);
    wk_plan_destroy(plan);
    return there;
}

// Runs it twice, and looks at the place and at what else came out of it.
static void expect_stored(storing *s, wk_tensor other, float factor)
{
    float x[16], got[16], more[16];
    for (int i = 0; i < 16; i++)
        x[i] = 0.1f * (float)i - 0.8f;
    engine_set(&s->e, s->x, x);
    engine_run(&s->e);
    engine_run(&s->e);
    engine_get(&s->e, s->place, got);
    if (wk_tensor_exists(other)) engine_get(&s->e, other, more);
    for (int i = 0; i < 16; i++) {
        assert_near(got[i], tanhf(2 * x[i] + 1), 1e-6);
        if (wk_tensor_exists(other)) assert_near(more[i], factor * got[i], 1e-6);
    }
}

TEST_CASE(what_is_stored_is_made_where_it_is_stored)
{
    storing s = open_storing();
    store_it(&s);
    assert_true(is_made_there(&s));
    engine_compile(&s.e);
    assert_int_equal(wk_program_get_stats(s.e.program).temporaries, 0);
    expect_stored(&s, (wk_tensor){0}, 0);
    engine_close(&s.e);
}

TEST_CASE(what_is_read_after_it_was_stored_keeps_its_bytes)
{
    storing s = open_storing();
    store_it(&s);
    wk_tensor other = wk_graph_affine(s.e.g, s.what, 3, 0); // would take its place
    wk_graph_output(s.e.g, other);
    assert_true(is_made_there(&s));
    expect_stored(&s, other, 3);
    engine_close(&s.e);
}

TEST_CASE(a_place_that_is_read_too_is_stored_to_in_its_turn)
{
    storing s = open_storing();
    wk_tensor before = wk_graph_affine(s.e.g, s.place, 1, 0); // of the run before
    store_it(&s);
    wk_graph_output(s.e.g, before);
    assert_false(is_made_there(&s));
    expect_stored(&s, before, 1);
    engine_close(&s.e);
}

TEST_CASE(a_place_that_is_stored_to_twice_has_the_last)
{
    storing s = open_storing();
    wk_graph_store(s.e.g, s.place, wk_graph_affine(s.e.g, s.place, 0, 5));
    store_it(&s);
    assert_false(is_made_there(&s));
    expect_stored(&s, (wk_tensor){0}, 0);
    engine_close(&s.e);
}

TEST_CASE(a_place_that_has_two_names_is_stored_to_in_its_turn)
{
    wk_error err = {0};
    wk_buffer *buffer;
    storing s = {.e = engine_open(1)};
    assert_ok(wk_buffer_create(s.e.backend, 80, &buffer, &err));
    s.x = engine_state(&s.e, WK_SHAPE(2, 8));
    s.place = wk_graph_persistent(s.e.g, WK_F32, WK_SHAPE(16), "place", buffer, 0);
    wk_tensor again = wk_graph_persistent(s.e.g, WK_F32, WK_SHAPE(16), "again", buffer, 16);
    s.what = wk_graph_activate(s.e.g, wk_graph_affine(s.e.g, s.x, 2, 1), WK_TANH);
    wk_tensor before = wk_graph_affine(s.e.g, again, 1, 0);
    store_it(&s);
    wk_graph_output(s.e.g, before);
    assert_false(is_made_there(&s));
    expect_stored(&s, (wk_tensor){0}, 0);
    wk_buffer_destroy(buffer);
    engine_close(&s.e);
}

static wk_status group_steps_1_to_3(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    assert_true(wk_array_push(&plan->groups, ((wk_group){1, 3, NULL})));
    return WK_OK;
}

TEST_CASE(what_a_group_needs_is_kept_through_all_of_it)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_tensor chain[6];
    chain[0] = wk_graph_affine(e.g, engine_state(&e, WK_SHAPE(100)), 2, 0);
    for (int i = 1; i < 6; i++)
        chain[i] = wk_graph_activate(e.g, chain[i - 1], WK_TANH);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, chain[5]));
    const wk_backend_vtable vtable = {.name = "grouping", .choose_schedule = group_steps_1_to_3};
    const wk_backend backend = {.vtable = &vtable};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(e.g, &backend, &plan, &err));
    // Nodes outside take the place of their operand; what the group reads and makes is
    // apart.
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            assert_int_not_equal(place_of(plan, chain[i])->offset,
                                 place_of(plan, chain[k])->offset);
    assert_int_equal(place_of(plan, chain[5])->offset, place_of(plan, chain[4])->offset);
    wk_plan_destroy(plan);
    engine_close(&e);
}

static wk_status leave_sums_and_slices(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    for (size_t i = 0; i < plan->node_count; i++) {
        wk_op op = plan->graph->nodes.items[plan->nodes[i]].op;
        plan->lazy[plan->nodes[i]] = op == WK_OP_add_n || op == WK_OP_slice;
    }
    return WK_OK;
}

TEST_CASE(what_a_lazy_node_reads_is_kept_until_its_reader)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_tensor x = engine_state(&e, WK_SHAPE(16, 16)), later = x;
    wk_tensor terms[] = {wk_graph_matmul(e.g, x, x), wk_graph_matmul(e.g, x, x)};
    wk_tensor part = wk_graph_slice(e.g, wk_graph_add_n(e.g, terms, 2), 1, 4, 8);
    wk_tensor chain[4];
    for (int i = 0; i < 4; i++)
        later = chain[i] = wk_graph_matmul(e.g, later, x);
    wk_graph_output(e.g, wk_graph_matmul(e.g, later, part));
    const wk_backend_vtable vtable = {.name = "lazy", .choose_schedule = leave_sums_and_slices};
    const wk_backend backend = {.vtable = &vtable};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(e.g, &backend, &plan, &err));
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            assert_int_not_equal(place_of(plan, chain[i])->offset,
                                 place_of(plan, terms[k])->offset);
    // Two terms, two of the chain at a time, the result; and next to nothing for what is not
    // written.
    size_t matrix = 16 * 16 * sizeof(float);
    assert_true(plan->temporary_size < 5 * matrix);
    wk_plan_destroy(plan);
    engine_close(&e);
}

// A backend that chooses formats at random.
typedef struct random_forms {
    wk_backend base;
    uint64_t seed;
} random_forms;

static wk_status store_at_random(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)err;
    wk_rng rng = wk_rng_stream(6, "forms", ((const random_forms *)backend)->seed);
    for (size_t i = 1; i < plan->graph->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(plan->graph, (int)i);
        plan->formats[i] = (unsigned char)(1 + wk_rng_below(&rng, 3));
        if (info->output || info->kind != WK_TEMPORARY) plan->formats[i] |= WK_FORMAT_F32;
    }
    return WK_OK;
}

TEST_CASE(what_is_needed_keeps_its_bytes_in_every_form_on_random_graphs)
{
    enum { GRAPHS = 200 };
    const wk_backend_vtable vtable = {.name = "forms", .choose_formats = store_at_random};
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        random_graph r = random_graph_of(seed, false);
        random_forms backend = {{&vtable}, seed};
        wk_error err = {0};
        wk_plan *plan = NULL;
        assert_ok(wk_plan_create(r.e.g, &backend.base, &plan, &err));
        planning_replay(plan);
        wk_plan_destroy(plan);
        engine_close(&r.e);
    }
}

// A chain x -> a -> b -> c of 100 numbers each, of which none takes the place of another, and a
// backend that stores a, b and c in these formats.
typedef struct given_forms {
    wk_backend base;
    unsigned char formats[3];
    int first;
} given_forms;

static wk_status store_as_given(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    const given_forms *given = (const given_forms *)backend;
    (void)err;
    for (int i = 0; i < 3; i++)
        plan->formats[given->first + i] = given->formats[i];
    return WK_OK;
}

static wk_plan *plan_with_forms(engine *e, wk_tensor first, unsigned a, unsigned b, unsigned c)
{
    const wk_backend_vtable vtable = {.name = "given", .choose_formats = store_as_given};
    given_forms backend = {
        {&vtable}, {(unsigned char)a, (unsigned char)b, (unsigned char)c}, first.id};
    wk_error err = {0};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(e->g, &backend.base, &plan, &err));
    planning_replay(plan);
    return plan;
}

TEST_CASE(a_temporary_takes_the_memory_of_its_formats)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(10, 10)), a = wk_graph_matmul(e.g, x, x);
    wk_tensor b = wk_graph_matmul(e.g, a, a), c = wk_graph_matmul(e.g, a, b);
    wk_graph_output(e.g, c);
    // 400 bytes in float32 and 200 in bf16, in whole 64; parts begin at whole 256.
    const struct {
        unsigned a, b, c;
        size_t size;
    } cases[] = {
        {WK_FORMAT_F32, WK_FORMAT_F32, WK_FORMAT_F32, 3 * 448},
        {WK_FORMAT_BF16, WK_FORMAT_F32, WK_FORMAT_F32, 256 + 2 * 448},
        {WK_FORMAT_BF16, WK_FORMAT_BF16, WK_FORMAT_F32, 2 * 256 + 448},
        {WK_FORMAT_F32 | WK_FORMAT_BF16, WK_FORMAT_BF16, WK_FORMAT_F32, 512 + 256 + 256 + 448},
        {WK_FORMAT_PADDED_BF16, WK_FORMAT_F32, WK_FORMAT_F32, 320 + 2 * 448}, // 10 rows of 16
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_plan *plan = plan_with_forms(&e, a, cases[i].a, cases[i].b, cases[i].c);
        assert_int_equal(plan->temporary_size, cases[i].size);
        wk_plan_destroy(plan);
    }
    engine_close(&e);
}

TEST_CASE(bf16_and_float32_use_the_same_memory_in_turn)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(16, 16)), a = wk_graph_matmul(e.g, x, x);
    wk_tensor b = wk_graph_matmul(e.g, a, x), c = wk_graph_matmul(e.g, b, x);
    wk_graph_output(e.g, wk_graph_mean_all(e.g, c));
    wk_plan *plan = plan_with_forms(&e, a, WK_FORMAT_BF16, WK_FORMAT_F32, WK_FORMAT_BF16);
    // c lies where a was.
    assert_int_equal(place_of(plan, c)->offset, WK_NOWHERE);
    assert_int_equal(place_of(plan, c)->bf16, place_of(plan, a)->bf16);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_CASE(a_result_in_another_form_still_takes_its_operand_s_place)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(16, 16)), a = wk_graph_matmul(e.g, x, x);
    wk_tensor b = wk_graph_activate(e.g, a, WK_TANH), c = wk_graph_matmul(e.g, b, x);
    wk_graph_output(e.g, c);
    wk_plan *plan = plan_with_forms(&e, a, WK_FORMAT_BF16, WK_FORMAT_F32, WK_FORMAT_F32);
    assert_int_equal(place_of(plan, b)->region, WK_REGION_TEMPORARY);
    assert_int_equal(place_of(plan, a)->offset, place_of(plan, b)->offset);
    assert_int_equal(place_of(plan, a)->region, WK_REGION_TEMPORARY);
    assert_int_equal(plan->copied_size, 1024);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_CASE(every_format_has_a_place_of_its_own)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(16, 16)), a = wk_graph_matmul(e.g, x, x);
    wk_tensor b = wk_graph_matmul(e.g, a, a);
    wk_tensor rows = wk_graph_slice(e.g, b, 0, 3, 2), c = wk_graph_matmul(e.g, rows, a);
    wk_graph_output(e.g, c);
    wk_plan *plan = plan_with_forms(&e, a, WK_FORMAT_BF16, WK_FORMAT_BF16, WK_FORMAT_F32);
    const wk_place *in_a = place_of(plan, a), *in_b = place_of(plan, b);
    assert_true(in_a->offset == WK_NOWHERE && in_b->offset == WK_NOWHERE);
    assert_true(in_a->bf16 % 64 == 0 && in_b->bf16 % 64 == 0);
    assert_true(in_a->bf16 + 512 <= in_b->bf16 || in_b->bf16 + 512 <= in_a->bf16);
    assert_true(in_a->bf16 + 512 <= plan->temporary_size);
    assert_true(in_b->bf16 + 512 <= plan->temporary_size);
    assert_int_equal(place_of(plan, rows)->bf16, in_b->bf16 + 3 * 16 * 2);
    assert_int_equal(place_of(plan, c)->bf16, WK_NOWHERE);
    assert_int_equal(place_of(plan, x)->bf16, WK_NOWHERE);
    wk_plan_destroy(plan);
    plan = plan_with_forms(&e, a, WK_FORMAT_F32, WK_FORMAT_F32 | WK_FORMAT_BF16, WK_FORMAT_F32);
    in_b = place_of(plan, b);
    assert_true(in_b->offset + 1024 <= in_b->bf16);
    assert_int_equal(place_of(plan, rows)->offset, in_b->offset + 3 * 16 * 4);
    assert_int_equal(place_of(plan, rows)->bf16, in_b->bf16 + 3 * 16 * 2);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
