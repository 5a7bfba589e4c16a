// Finding the unrolled recurrence in the learner's own graphs: if the model is recorded in another
// way, this fails before anybody wonders why the GPU became slow. Needs no GPU.
#include "agent/learner_parts.h"
#include "support/check.h"
#include "tensor/cuda/passes/recurrence.h"
#include "tensor/plan.h"

#include <stdlib.h>

// The quick preset's recurrence, with little around it.
static wk_learner_config small_config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.depth = 2, c.units = 16, c.layers = 1;
    c.ensemble = 2, c.batch = 3, c.length = 5, c.horizon = 2, c.action_size = 2;
    return c;
}

typedef struct found {
    int forward, backward, steps;
} found;

// All recurrences of a plan; what they hold must not overlap.
static found find_all(const wk_plan *plan)
{
    found f = {0};
    int *last_use = malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *r = malloc(sizeof *r);
    assert_true(last_use && r);
    wk_recurrence_last_use(plan, last_use);
    for (int step = 0; step < (int)plan->node_count; step++) {
        if (!wk_recurrence_find(plan, last_use, step, r)) continue;
        f.forward += !r->backward;
        f.backward += r->backward;
        f.steps += r->count;
        assert_int_equal(r->rows, 3);
        assert_int_equal(r->hidden, 128);
        assert_int_equal(r->variables * r->classes, 256);
        step += r->nodes - 1;
    }
    free(r);
    free(last_use);
    return f;
}

TEST_CASE(the_learner_s_graphs_hold_the_recurrence)
{
    wk_error err = {0};
    wk_backend *backend;
    wk_learner *learner;
    wk_learner_config c = small_config();
    assert_ok(wk_backend_cpu_create(NULL, &backend, &err));
    assert_ok(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err));
    found model = find_all(learner->model.program->plan);
    assert_int_equal(model.forward, 1);
    assert_int_equal(model.backward, 1);
    assert_int_equal(model.steps, 2 * c.length);
    found observe = find_all(learner->observe.program->plan);
    assert_int_equal(observe.forward, 1);
    assert_int_equal(observe.backward, 0);
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
}

TEST_CASE(a_recurrence_whose_inside_is_read_elsewhere_is_left_alone)
{
    wk_error err = {0};
    wk_backend *backend;
    wk_learner *learner;
    wk_learner_config c = small_config();
    assert_ok(wk_backend_cpu_create(NULL, &backend, &err));
    assert_ok(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err));
    const wk_plan *plan = learner->observe.program->plan;
    int *last_use = malloc(plan->graph->tensors.count * sizeof *last_use);
    wk_recurrence *r = malloc(sizeof *r);
    assert_true(last_use && r);
    wk_recurrence_last_use(plan, last_use);
    int begin = 0;
    while (!wk_recurrence_find(plan, last_use, begin, r))
        begin++;
    // As if somebody read the first step's product with the state after the recurrence.
    last_use[r->step[0].tensor[WK_ROLE_INNER]] = begin + r->nodes;
    assert_false(wk_recurrence_find(plan, last_use, begin, r));
    free(r);
    free(last_use);
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
}

TEST_MAIN(NULL, NULL)
