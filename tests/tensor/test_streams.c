// The planner and streams: what may run at the same time shares no memory.
#include "base/random.h"
#include "support/check.h"
#include "support/engine.h"
#include "tensor/plan.h"

#include <string.h>

static const wk_place *place_of(const wk_plan *plan, wk_tensor x)
{
    return &plan->places[x.id];
}

// The stream of each node, and the node before which a node of a side stream should be done.
enum { NODES = 256 };
static int stream_of[NODES], done_before[NODES];

// Nodes recorded since the last call are on this stream.
static void on_stream(const wk_graph *g, int stream)
{
    static size_t recorded;
    if (recorded > wk_graph_node_count(g)) recorded = 0;
    for (; recorded < wk_graph_node_count(g); recorded++) {
        stream_of[recorded] = stream;
        done_before[recorded] = NODES;
    }
}

// All nodes recorded so far should be done here.
static void meet(const wk_graph *g)
{
    for (size_t i = 0; i < wk_graph_node_count(g); i++)
        if (done_before[i] == NODES) done_before[i] = (int)wk_graph_node_count(g);
}

static wk_status choose_streams(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    for (size_t step = 0; step < plan->node_count; step++) {
        plan->streams[step] = stream_of[plan->nodes[step]];
        size_t last = step;
        while (last + 1 < plan->node_count &&
               plan->nodes[last + 1] < done_before[plan->nodes[step]])
            last++;
        plan->finish_by[step] = (int)last;
    }
    return WK_OK;
}

static wk_plan *plan_streams(const wk_graph *g)
{
    wk_error err = {0};
    const wk_backend_vtable vtable = {.name = "streams", .choose_schedule = choose_streams};
    const wk_backend backend = {.vtable = &vtable};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(g, &backend, &plan, &err));
    return plan;
}

// Bytes of temporaries with a result recorded on `stream`, which a chain after it does not need.
static size_t planned(int stream, bool known)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_tensor x = engine_state(&e, WK_SHAPE(8, 8)), y = wk_graph_matmul(e.g, x, x);
    on_stream(e.g, 0);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, wk_graph_matmul(e.g, y, y)));
    on_stream(e.g, stream);
    for (int i = 0; i < 5; i++)
        y = wk_graph_matmul(e.g, y, x);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, y));
    on_stream(e.g, 0);
    wk_plan *plan = NULL;
    if (known)
        plan = plan_streams(e.g);
    else
        assert_ok(wk_plan_create(e.g, NULL, &plan, &err));
    size_t size = plan->temporary_size;
    wk_plan_destroy(plan);
    engine_close(&e);
    return size;
}

TEST_CASE(streams_mean_nothing_to_a_backend_without_them)
{
    assert_int_equal(planned(1, false), planned(0, false));
    // Where they overlap the chain, operand and result keep their memory through it.
    assert_int_equal(planned(1, true), planned(0, true) + 2 * 8 * 8 * sizeof(float));
}

// What is known of the steps of a random graph without the planner.
enum { RANDOM_STEPS = 60, RANDOM_GRAPHS = 60 };
typedef struct recorded {
    wk_tensor result[RANDOM_STEPS];
    int stream[RANDOM_STEPS];
    int run[RANDOM_STEPS];                  // first step of the unbroken run on the stream
    int meets[RANDOM_STEPS];                // how many there were before
    bool runs[RANDOM_STEPS];                // somebody needs it
    int uses[RANDOM_STEPS][2];              // steps it reads, or -1
    bool after[RANDOM_STEPS][RANDOM_STEPS]; // [a][b]: b is done when a is
} recorded;

static void record(recorded *r, wk_graph *g, wk_tensor x, uint64_t seed)
{
    wk_rng rng = wk_rng_stream(seed, "branches", 0);
    int meets = 0, last[2] = {-1, -1};
    for (int i = 0; i < RANDOM_STEPS; i++) {
        int stream = i > 0 && wk_rng_uniform(&rng, 0, 1) < 0.7 ? r->stream[i - 1]
                                                               : wk_rng_uniform(&rng, 0, 1) < 0.4;
        if (wk_rng_uniform(&rng, 0, 1) < 0.08) {
            meet(g);
            meets++;
        }
        wk_tensor in[2];
        memset(r->after[i], 0, sizeof r->after[i]);
        for (int k = 0; k < 2; k++) {
            int from = i > 0 ? (int)wk_rng_uniform(&rng, i > 8 ? i - 8 : 0, i) : -1;
            r->uses[i][k] = from;
            in[k] = from < 0 ? x : r->result[from];
            for (int s = 0; from >= 0 && s <= from; s++)
                r->after[i][s] |= s == from || r->after[from][s];
        }
        for (int s = 0; s <= last[stream]; s++)
            r->after[i][s] |= s == last[stream] || r->after[last[stream]][s];
        r->result[i] = wk_graph_matmul(g, in[0], in[1]);
        on_stream(g, stream);
        r->stream[i] = stream;
        r->run[i] = i > 0 && r->stream[i - 1] == stream ? r->run[i - 1] : i;
        r->meets[i] = meets;
        last[stream] = i;
    }
    for (int i = 0; i < RANDOM_STEPS; i++)
        if (i + 8 >= RANDOM_STEPS || i % 7 == 0) wk_graph_output(g, r->result[i]);
}

// Whether step b, recorded later, begins when a is done, or the plan may take it for so.
static bool is_later(const recorded *r, int a, int b)
{
    return a < b &&
           (r->after[b][a] || r->meets[b] > r->meets[a] || (r->stream[b] && r->run[b] > a));
}

static bool uses(const recorded *r, int step, int tensor)
{
    return r->runs[step] &&
           (step == tensor || r->uses[step][0] == tensor || r->uses[step][1] == tensor);
}

// Whether every step that uses one tensor comes before every step that uses the other.
static bool is_over_before(const recorded *r, int first, int second)
{
    for (int a = 0; a < RANDOM_STEPS; a++)
        for (int b = 0; b < RANDOM_STEPS; b++)
            if (uses(r, a, first) && uses(r, b, second) && !is_later(r, a, b)) return false;
    return true;
}

TEST_CASE(streams_share_no_memory_with_what_overlaps_them)
{
    static recorded r;
    int shared = 0;
    for (uint64_t seed = 0; seed < RANDOM_GRAPHS; seed++) {
        engine e = engine_open(1);
        record(&r, e.g, engine_state(&e, WK_SHAPE(8, 8)), seed);
        wk_plan *plan = plan_streams(e.g);
        for (int i = 0; i < RANDOM_STEPS; i++)
            r.runs[i] = place_of(plan, r.result[i])->region != WK_REGION_NONE;
        for (int a = 0; a < RANDOM_STEPS; a++)
            for (int b = 0; b < a; b++) {
                if (!r.runs[a] || !r.runs[b]) continue;
                const wk_place *x = place_of(plan, r.result[a]), *y = place_of(plan, r.result[b]);
                if (x->offset != y->offset) continue;
                assert_true(is_over_before(&r, b, a) || is_over_before(&r, a, b));
                shared++;
            }
        wk_plan_destroy(plan);
        engine_close(&e);
    }
    assert_true(shared > RANDOM_GRAPHS);
}

TEST_CASE(a_stream_does_not_wait_for_memory_that_was_just_in_use)
{
    engine e = engine_open(1);
    wk_tensor x = engine_state(&e, WK_SHAPE(8, 8)), a = wk_graph_matmul(e.g, x, x);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, a));
    on_stream(e.g, 0);
    wk_tensor b = wk_graph_matmul(e.g, x, x);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, b));
    on_stream(e.g, 1);
    wk_plan *plan = plan_streams(e.g);
    assert_int_not_equal(place_of(plan, a)->offset, place_of(plan, b)->offset);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_MAIN(NULL, NULL)
