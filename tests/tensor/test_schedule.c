// Streams inferred for small graphs and for the learner's own: what overlaps what, and the order of
// whatever touches the same memory. Needs no GPU.
#include "../../bench/sizes.h"
#include "agent/learner_parts.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/planning.h"
#include "tensor/cost.h"
#include "tensor/cuda/passes/recurrence.h"
#include "tensor/plan.h"
#include "tensor/schedule.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL, LEARN, TASKS, GRAPHS }; // of wk_learner_compiled_graph

static const wk_node *step_node(const wk_plan *plan, int step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

static int step_of(const wk_plan *plan, wk_tensor x)
{
    int step = 0;
    while (plan->nodes[step] != wk_info(plan->graph, x.id)->producer)
        step++;
    return step;
}

static wk_plan *plan_of(const wk_graph *g)
{
    wk_error err = {0};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(g, &planning_backend, &plan, &err));
    return plan;
}

static int stream_of(const wk_plan *plan, wk_tensor x)
{
    return plan->streams[step_of(plan, x)];
}

static wk_tensor layers(wk_graph *g, wk_tensor x, wk_tensor w, int count)
{
    for (int i = 0; i < count; i++)
        x = wk_graph_activate(g, wk_graph_matmul(g, x, w), WK_TANH);
    return x;
}

// A chain of layers over `rows`, and one half as long that it does not need, recorded after it.
typedef struct two_chains {
    engine e;
    wk_tensor y, other;
    wk_plan *plan;
} two_chains;

static two_chains open_chains(int rows)
{
    two_chains c = {.e = engine_open(1)};
    wk_tensor w = engine_state(&c.e, WK_SHAPE(512, 512));
    wk_tensor x = engine_state(&c.e, WK_SHAPE(rows, 512));
    c.y = layers(c.e.g, x, w, 20);
    c.other = layers(c.e.g, x, w, 10);
    wk_graph_output(c.e.g, wk_graph_sum_all(c.e.g, c.y));
    wk_graph_output(c.e.g, wk_graph_sum_all(c.e.g, c.other));
    c.plan = plan_of(c.e.g);
    return c;
}

static void close_chains(two_chains *c)
{
    wk_plan_destroy(c->plan);
    engine_close(&c->e);
}

TEST_CASE(what_the_longest_chain_does_not_need_overlaps_it)
{
    two_chains c = open_chains(256);
    assert_int_equal(stream_of(c.plan, c.y), 0);
    assert_true(stream_of(c.plan, c.other) > 0);
    // It was recorded after the chain, and has to run before its end to overlap it.
    assert_true(step_of(c.plan, c.other) < step_of(c.plan, c.y));
    planning_replay(c.plan);
    close_chains(&c);
}

static double in_sequence(const wk_plan *plan)
{
    int *streams = malloc(plan->node_count * sizeof *streams);
    assert_non_null(streams);
    memcpy(streams, plan->streams, plan->node_count * sizeof *streams);
    memset(plan->streams, 0, plan->node_count * sizeof *streams);
    double time = planning_estimate(plan);
    memcpy(plan->streams, streams, plan->node_count * sizeof *streams);
    free(streams);
    return time;
}

TEST_CASE(overlap_saves_what_small_kernels_leave_idle)
{
    two_chains small = open_chains(256), large = open_chains(65536);
    assert_true(planning_estimate(small.plan) < 0.75 * in_sequence(small.plan));
    // Where every kernel fills the device there is little to save.
    assert_true(planning_estimate(large.plan) > 0.9 * in_sequence(large.plan));
    close_chains(&small);
    close_chains(&large);
}

// A short chain beside a longer one, both of which the next step needs; then again.
TEST_CASE(a_chain_that_is_needed_soon_goes_to_the_urgent_stream)
{
    engine e = engine_open(1);
    wk_tensor w = engine_state(&e, WK_SHAPE(512, 512)), x = engine_state(&e, WK_SHAPE(256, 512));
    wk_tensor side[4];
    for (int i = 0; i < 4; i++) {
        side[i] = wk_graph_matmul(e.g, x, w);
        x = wk_graph_mul(e.g, layers(e.g, x, w, 3), side[i]);
    }
    x = layers(e.g, x, w, 3);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, x));
    wk_plan *plan = plan_of(e.g);
    for (int i = 0; i < 4; i++)
        assert_int_equal(stream_of(plan, side[i]), WK_URGENT_STREAM);
    assert_int_equal(stream_of(plan, x), 0);
    planning_replay(plan);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_CASE(a_product_stays_with_the_one_that_adds_to_it)
{
    engine e = engine_open(1);
    wk_tensor w = engine_state(&e, WK_SHAPE(512, 512)), x = engine_state(&e, WK_SHAPE(256, 512));
    wk_tensor first = wk_graph_matmul(e.g, x, w);
    wk_tensor sum = wk_graph_matmul_add(e.g, layers(e.g, x, w, 8), w, first);
    wk_graph_output(e.g, wk_graph_sum_all(e.g, sum));
    wk_plan *plan = plan_of(e.g);
    assert_int_equal(stream_of(plan, first), 0);
    wk_plan_destroy(plan);
    engine_close(&e);
}

TEST_CASE(persistent_tensors_that_share_memory_keep_their_order)
{
    engine e = engine_open(1);
    wk_error err = {0};
    wk_buffer *buffer;
    assert_ok(wk_buffer_create(&planning_backend, 4096, &buffer, &err));
    wk_tensor a = wk_graph_persistent(e.g, WK_F32, WK_SHAPE(512), "a", buffer, 0);
    wk_tensor b = wk_graph_persistent(e.g, WK_F32, WK_SHAPE(512), "b", buffer, 1024);
    wk_graph_store(e.g, a, wk_graph_fill(e.g, WK_SHAPE(512), 1));
    wk_graph_output(e.g, wk_graph_affine(e.g, b, 2, 0));
    wk_plan *plan = plan_of(e.g);
    wk_dependencies needs;
    assert_true(wk_dependencies_find(plan, &needs));
    assert_int_equal(needs.begin[2] - needs.begin[1], 1);
    assert_int_equal(needs.steps.items[needs.begin[1]], 0);
    wk_dependencies_free(&needs);
    wk_plan_destroy(plan);
    wk_buffer_destroy(buffer);
    engine_close(&e);
}

// The learner.

static wk_learner_config small_config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.depth = 2, c.units = 16, c.layers = 1;
    c.ensemble = 2, c.batch = 3, c.length = 5, c.horizon = 2, c.action_size = 2, c.tasks = 2;
    return c;
}

static wk_learner *open_learner(wk_learner_config c)
{
    wk_error err = {0};
    wk_learner *learner;
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, &planning_backend,
                                &learner, &err));
    return learner;
}

static wk_learner *open_preset(const char *name, int tasks)
{
    wk_learner_config c = wk_learner_config_default();
    assert_true(bench_sizes(&c, name));
    c.action_size = 6;
    c.tasks = tasks;
    return open_learner(c);
}

static const wk_plan *learner_plan(const wk_learner *learner, int which)
{
    return wk_learner_compiled_graph(learner, which)->program->plan;
}

// Nodes that touch a root, in the order of the plan: writers in recorded order, and every reader
// between the same writers as in the recording.
static void check_root(const wk_plan *plan, int root)
{
    const wk_graph *g = plan->graph;
    int latest = -1, writer = wk_info(g, root)->producer;
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        int index = plan->nodes[step];
        bool reads = false, writes = index == wk_info(g, root)->producer;
        for (int i = 0; i < node->input_count; i++) {
            if (wk_info(g, wk_node_inputs(g, node)[i])->root != root) continue;
            reads = true;
            writes |= wk_op_writes_input(node->op, i);
        }
        if (!reads && !writes) continue;
        // Recorded after the last writer that ran; a writer after all that ran.
        assert_true(index >= writer);
        if (writes) {
            assert_true(index > latest || latest < 0);
            writer = index;
        }
        if (index > latest) latest = index;
    }
}

static void check_order(const wk_learner *learner)
{
    for (int which = MODEL; which < GRAPHS; which++) {
        if (!wk_learner_compiled_graph(learner, which)->program) continue;
        const wk_plan *plan = learner_plan(learner, which);
        for (int root = 1; root < (int)plan->graph->tensors.count; root++)
            if (wk_info(plan->graph, root)->root == root) check_root(plan, root);
    }
}

TEST_CASE(what_touches_the_same_keeps_its_order)
{
    wk_learner *learner = open_learner(small_config());
    check_order(learner);
    wk_learner_destroy(learner);
    for (int i = 0; i < BENCH_PRESETS; i++) {
        learner = open_preset(bench_presets[i].name, 1);
        check_order(learner);
        wk_learner_destroy(learner);
    }
}

// What was found before steps moved is what is there after.
TEST_CASE(the_recurrences_stay_whole)
{
    wk_learner *learner = open_learner(small_config());
    const wk_plan *plan = learner_plan(learner, MODEL);
    int *last_use = malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *r = malloc(sizeof *r);
    assert_true(last_use && r);
    wk_recurrence_last_use(plan, last_use);
    assert_int_equal(plan->groups.count, 2);
    for (size_t i = 0; i < 2; i++) {
        wk_group group = plan->groups.items[i];
        const wk_recurrence *kept = group.what;
        assert_true(wk_recurrence_find(plan, last_use, group.begin, r));
        assert_int_equal(r->nodes, group.end - group.begin + 1);
        assert_int_equal(kept->nodes, r->nodes);
        assert_int_equal(kept->count, r->count);
        assert_memory_equal(kept->step, r->step, (size_t)r->count * sizeof *r->step);
        assert_int_equal(r->backward, i == 1);
        for (int step = group.begin; step <= group.end; step++)
            assert_int_equal(plan->streams[step], 0);
    }
    free(r);
    free(last_use);
    wk_learner_destroy(learner);
}

// Whether something after a step reads the weight that it writes.
static bool is_read_again(const wk_plan *plan, int step)
{
    int weight = wk_node_inputs(plan->graph, step_node(plan, step))[0];
    for (int later = step + 1; later < (int)plan->node_count; later++) {
        const wk_node *other = step_node(plan, later);
        for (int i = 0; other->op != WK_OP_mark && i < other->input_count; i++)
            if (wk_info(plan->graph, wk_node_inputs(plan->graph, other)[i])->root == weight)
                return true;
    }
    return false;
}

// Imagination waits for the steps of the recurrence's weights, and for those alone.
TEST_CASE(the_optimiser_s_steps_are_parted_by_who_waits_for_them)
{
    wk_learner *learner = open_preset("paper", 0);
    const wk_plan *plan = learner_plan(learner, LEARN);
    int step = 0, needed = 0, others = 0;
    while (step_node(plan, step)->op != WK_OP_adam)
        step++;
    for (; step_node(plan, step)->op == WK_OP_adam; step++) {
        bool again = is_read_again(plan, step);
        assert_false(again && others > 0);
        needed += again;
        others += !again;
        if (!again) assert_int_equal(plan->streams[step], WK_URGENT_STREAM);
    }
    assert_int_equal(needed, 10);
    assert_int_equal(needed + others, learner->params[WK_NETWORK_MODEL]->weights.count);
    wk_learner_destroy(learner);
}

TEST_CASE(weight_gradients_of_convolutions_are_deferred)
{
    wk_learner *learner = open_preset("paper", 0);
    const wk_plan *plan = learner_plan(learner, MODEL);
    int count = 0;
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (step_node(plan, step)->op != WK_OP_conv_dw) continue;
        assert_int_equal(plan->streams[step], WK_URGENT_STREAM);
        count++;
    }
    assert_int_equal(count, 8);
    wk_learner_destroy(learner);
}

// What another graph's optimiser takes: nothing of this one waits for the copies.
TEST_CASE(exported_gradients_are_deferred)
{
    wk_learner *learner = open_learner(small_config());
    const wk_plan *plan = learner_plan(learner, MODEL);
    const wk_graph *g = plan->graph;
    const wk_buffer *left = learner->optimizers[WK_NETWORK_MODEL]->buffer;
    size_t count = 0;
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        if (node->op != WK_OP_store) continue;
        if (wk_info(g, wk_node_inputs(g, node)[0])->buffer != left) continue;
        assert_true(plan->streams[step] > 0);
        count++;
    }
    assert_int_equal(count, learner->params[WK_NETWORK_MODEL]->weights.count + 1); // and the norm
    wk_learner_destroy(learner);
}

// Counts the matrix products of a section by stream.
static void count_products(const wk_plan *plan, const char *section, int counts[WK_STREAMS_MAX])
{
    memset(counts, 0, WK_STREAMS_MAX * sizeof *counts);
    for (int step = 0; step < (int)plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        if (node->op != WK_OP_matmul) continue;
        if (strcmp(plan->graph->sections.items[node->section], section) == 0)
            counts[plan->streams[step]]++;
    }
}

// At the paper's sizes: the ensemble learns while trajectories are imagined, which leaves the GPU
// half idle; its reward, which fills the GPU, does not overlap; and of a step back, the gradients
// that the step before it does not need at once are on other streams: the state's through the
// gates, the action's.
TEST_CASE(the_ensemble_and_gradients_of_steps_overlap_the_imagination)
{
    wk_learner *learner = open_preset("paper", 0);
    const wk_plan *plan = learner_plan(learner, LEARN);
    int counts[WK_STREAMS_MAX];
    count_products(plan, "ensemble", counts);
    assert_int_equal(counts[0] + counts[WK_URGENT_STREAM], 0);
    assert_true(counts[1] + counts[2] >= 14); // 5 layers forward, 4 back, 5 weights
    count_products(plan, "ensemble reward", counts);
    assert_int_equal(counts[1] + counts[2] + counts[3], 0);
    count_products(plan, "imagination", counts);
    assert_int_equal(counts[WK_URGENT_STREAM], 14 + 1); // of the state; of the last action but one
    assert_int_equal(counts[1] + counts[2], 13);        // of the other actions
    // It was recorded last and runs first.
    int ensemble = 0, reward = 0;
    while (strcmp(plan->graph->sections.items[step_node(plan, ensemble)->section], "ensemble") != 0)
        ensemble++;
    while (strcmp(plan->graph->sections.items[step_node(plan, reward)->section],
                  "ensemble reward") != 0)
        reward++;
    assert_true(ensemble < reward);
    wk_learner_destroy(learner);
}

// The ensemble and the critic run on streams of low priority. Were their memory reused before the
// end, stream 0 would wait for them.
TEST_CASE(nothing_waits_for_the_memory_of_side_streams)
{
    for (int i = 0; i < BENCH_PRESETS; i++) {
        wk_learner *learner = open_preset(bench_presets[i].name, 0);
        const wk_plan *plan = learner_plan(learner, LEARN);
        int count = 0;
        for (int step = 0; step < (int)plan->node_count; step++) {
            if (plan->streams[step] == 0) continue;
            assert_int_equal(plan->finish_by[step], (int)plan->node_count);
            count++;
        }
        assert_true(count > 0);
        wk_learner_destroy(learner);
    }
}

// tools/update_floor.py counts the least from the networks' sizes; the graphs do little more.
TEST_CASE(the_arithmetic_of_an_update_is_that_of_its_networks)
{
    const struct {
        const char *preset;
        double gflops;
    } floors[] = {{"paper", 1735.4}, {"small", 228.1}};
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        wk_learner *learner = open_preset(floors[i].preset, 0);
        double gflops = (wk_plan_flops(learner_plan(learner, MODEL)) +
                         wk_plan_flops(learner_plan(learner, LEARN))) /
                        1e9;
        if (gflops < floors[i].gflops || gflops > 1.03 * floors[i].gflops)
            fail_msg("%s: %.1f GFLOP, not %.1f", floors[i].preset, gflops, floors[i].gflops);
        wk_learner_destroy(learner);
    }
}

// Planned bytes of all graphs of an update (MB) and their estimated times (microseconds) with the
// streams that were chosen by hand before they were inferred; those without waits for memory.
typedef struct by_hand {
    const char *preset;
    int tasks;
    double bytes, time[GRAPHS];
} by_hand;
static const by_hand presets[] = {
    {"paper", 0, 2338.1, {2573, 7225}},        {"paper", 1, 2750.9, {2573, 7225, 3744}},
    {"paper", 5, 4444.9, {2573, 7225, 10494}}, {"small", 0, 554.7, {1133, 2478}},
    {"small", 1, 658.2, {1133, 2478, 1960}},   {"small", 5, 1080.3, {1133, 2478, 3211}},
    {"quick", 0, 70.9, {542, 1058}},           {"quick", 1, 79.1, {542, 1058, 1011}},
    {"quick", 5, 112.9, {542, 1058, 1078}},
};

TEST_CASE(presets_are_as_fast_and_as_small_as_with_streams_chosen_by_hand)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        const by_hand *p = &presets[i];
        wk_learner *learner = open_preset(p->preset, p->tasks);
        double bytes = 0;
        for (int which = MODEL; which < (p->tasks ? GRAPHS : TASKS); which++) {
            const wk_plan *plan = learner_plan(learner, which);
            double time = planning_estimate(plan), sequence = in_sequence(plan);
            bytes += (double)plan->temporary_size / 1e6;
            if (time > 1.02 * p->time[which] || time > 0.98 * sequence)
                fail_msg("%s, %d tasks, graph %d: %.0f us, in sequence %.0f us", p->preset,
                         p->tasks, which, time, sequence);
        }
        if (bytes > 1.06 * p->bytes) fail_msg("%s, %d tasks: %.1f MB", p->preset, p->tasks, bytes);
        wk_learner_destroy(learner);
    }
}

TEST_MAIN(NULL, NULL)
