// Deferred weight gradients in the learner's own graphs: the order of whatever touches the same
// tensor stays, and recurrences stay whole. Needs no GPU.
#include "agent/learner_parts.h"
#include "support/check.h"
#include "support/planning.h"
#include "tensor/cuda/passes/recurrence.h"
#include "tensor/cuda/passes/side_stream.h"
#include "tensor/program_internal.h"

#include <stdlib.h>

enum { DEFERRED = WK_BRANCHES - 1 };
enum { MODEL, LEARN, TASKS }; // of wk_learner_compiled_graph

static wk_learner_config small_config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.depth = 2, c.units = 16, c.layers = 1;
    c.ensemble = 2, c.batch = 3, c.length = 5, c.horizon = 2, c.action_size = 2, c.tasks = 2;
    return c;
}

static wk_status group_and_put_aside(const wk_backend *backend, wk_plan *plan, wk_error *err)
{
    (void)backend;
    (void)err;
    planning_find_recurrences(plan);
    assert_true(wk_plan_defer_weight_grads(plan, DEFERRED) > 0);
    return WK_OK;
}

typedef struct fixture {
    wk_backend *backend;
    wk_learner *learner;
    wk_plan *plan;
} fixture;

static fixture open_fixture(int which)
{
    fixture f;
    wk_error err = {0};
    wk_learner_config c = small_config();
    assert_ok(wk_backend_cpu_create(NULL, &f.backend, &err));
    assert_ok(wk_learner_create(&c, f.backend, &f.learner, &err));
    const wk_backend_vtable vtable = {.name = "aside", .choose_groups = group_and_put_aside};
    const wk_backend aside = {.vtable = &vtable};
    const wk_compiled_graph *unit = wk_learner_compiled_graph(f.learner, which);
    assert_ok(wk_plan_create(unit->graph, &aside, &f.plan, &err));
    return f;
}

static void close_fixture(fixture *f)
{
    wk_plan_destroy(f->plan);
    wk_learner_destroy(f->learner);
    wk_backend_destroy(f->backend);
}

static const wk_node *step_node(const wk_plan *plan, int step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
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

static void what_touches_the_same_keeps_its_order(void **state)
{
    (void)state;
    for (int which = MODEL; which <= TASKS; which++) {
        fixture f = open_fixture(which);
        for (int root = 1; root < (int)f.plan->graph->tensors.count; root++)
            if (wk_info(f.plan->graph, root)->root == root) check_root(f.plan, root);
        close_fixture(&f);
    }
}

static void the_recurrences_stay_whole(void **state)
{
    (void)state;
    fixture f = open_fixture(MODEL);
    int *last_use = malloc(f.plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *r = malloc(sizeof *r);
    assert_true(last_use && r);
    wk_recurrence_last_use(f.plan, last_use);
    assert_int_equal(f.plan->groups.count, 2);
    for (size_t i = 0; i < 2; i++) {
        wk_group group = f.plan->groups.items[i];
        assert_true(wk_recurrence_find(f.plan, last_use, group.begin, r));
        assert_int_equal(r->end, group.end);
        assert_int_equal(r->backward, i == 1);
        for (int step = group.begin; step <= group.end; step++)
            assert_int_equal(f.plan->branches[step], 0);
    }
    free(r);
    free(last_use);
    close_fixture(&f);
}

// How often the branch changes between neighbouring steps of the optimiser.
static int changes(const wk_plan *plan, int *kinds)
{
    int count = 0;
    bool seen[2] = {false, false};
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (step_node(plan, step)->op != WK_OP_adam) continue;
        seen[plan->branches[step] == DEFERRED] = true;
        bool follows = step > 0 && step_node(plan, step - 1)->op == WK_OP_adam;
        count += follows && plan->branches[step] != plan->branches[step - 1];
    }
    *kinds = seen[0] + seen[1];
    return count;
}

// Imagination waits for the steps of the recurrence's weights, and for those alone.
static void the_optimiser_s_steps_are_parted_by_who_waits_for_them(void **state)
{
    (void)state;
    fixture f = open_fixture(LEARN);
    int kinds, step = 0;
    assert_int_equal(changes(f.plan, &kinds), 1);
    assert_int_equal(kinds, 2);
    while (step_node(f.plan, step)->op != WK_OP_adam)
        step++;
    assert_int_equal(f.plan->branches[step], 0);
    close_fixture(&f);
}

static void weight_gradients_of_convolutions_are_deferred(void **state)
{
    (void)state;
    fixture f = open_fixture(MODEL);
    int count = 0;
    for (int step = 0; step < (int)f.plan->node_count; step++) {
        if (step_node(f.plan, step)->op != WK_OP_conv_dw) continue;
        assert_int_equal(f.plan->branches[step], DEFERRED);
        count++;
    }
    assert_int_equal(count, 8);
    close_fixture(&f);
}

// What another graph's optimiser takes: nothing of this one waits for the copies.
static void exported_gradients_are_deferred(void **state)
{
    (void)state;
    fixture f = open_fixture(MODEL);
    const wk_graph *g = f.plan->graph;
    const wk_buffer *left = wk_optimizer_buffer(f.learner->optimizers[WK_SET_MODEL]);
    size_t count = 0;
    for (int step = 0; step < (int)f.plan->node_count; step++) {
        const wk_node *node = step_node(f.plan, step);
        if (node->op != WK_OP_store) continue;
        if (wk_info(g, wk_node_inputs(g, node)[0])->buffer != left) continue;
        assert_int_equal(f.plan->branches[step], DEFERRED);
        count++;
    }
    assert_int_equal(count, wk_params_count(f.learner->params[WK_SET_MODEL]) + 1); // and the norm
    close_fixture(&f);
}

static void the_step_of_a_weight_that_is_read_again_is_not_deferred(void **state)
{
    (void)state;
    fixture f = open_fixture(LEARN);
    int aside = 0, not_aside = 0;
    for (int step = 0; step < (int)f.plan->node_count; step++) {
        const wk_node *node = step_node(f.plan, step);
        if (node->op != WK_OP_adam) continue;
        int weight = wk_info(f.plan->graph, wk_node_inputs(f.plan->graph, node)[0])->root;
        bool again = false;
        for (int later = step + 1; later < (int)f.plan->node_count; later++) {
            const wk_node *other = step_node(f.plan, later);
            if (other->op == WK_OP_mark) continue; // nothing of the graph waits for it
            for (int i = 0; i < other->input_count; i++)
                again |= wk_node_inputs(f.plan->graph, other)[i] == weight;
        }
        if (again) assert_int_equal(f.plan->branches[step], 0);
        aside += f.plan->branches[step] == DEFERRED;
        not_aside += again;
    }
    assert_true(aside > 0 && not_aside > 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_touches_the_same_keeps_its_order),
        cmocka_unit_test(the_recurrences_stay_whole),
        cmocka_unit_test(the_optimiser_s_steps_are_parted_by_who_waits_for_them),
        cmocka_unit_test(weight_gradients_of_convolutions_are_deferred),
        cmocka_unit_test(exported_gradients_are_deferred),
        cmocka_unit_test(the_step_of_a_weight_that_is_read_again_is_not_deferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
