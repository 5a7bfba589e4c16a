// The prefetched world model: on an async device it runs on a batch from when the batch is staged,
// and nothing but time shows it. Each test compares with a learner that does everything in turn, on
// devices that do their work at the worst moments.
#include "agent/acting.h"
#include "agent/fixture.h"
#include "tensor/node.h"
#include "tensor/plan.h"
#include "tensor/shape.h"
#include <stdio.h>

#define PATH own_file(0)
#define OTHER own_file(1)

static void stage(fixture *r, const batch *b)
{
    wk_learner_batch v = view(b);
    assert_ok(wk_learner_stage(r->learner, &v, &err));
}

// The staged batch, without scalars.
static void learn(fixture *r)
{
    assert_ok(wk_learner_start(r->learner, &err));
    assert_ok(wk_learner_finish(r->learner, NULL, NULL, &err));
}

typedef struct pair {
    fixture turn, prefetches;
    batch *b[4];
} pair;

static pair open_pair(wk_learner_config config, int mode)
{
    unsigned all = WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES;
    pair p = {open_rig_for(all | WK_LEARNER_NO_PREFETCH, config, 1),
              open_beside(config, (async_mode)mode),
              {NULL}};
    assert_true(p.prefetches.learner->prefetches);
    for (uint64_t n = 0; n < 4; n++)
        p.b[n] = make_batch(n);
    return p;
}

static void close_pair(pair *p)
{
    close_fixture(&p->turn);
    close_fixture(&p->prefetches);
    for (int n = 0; n < 4; n++)
        free(p->b[n]);
}

static void assert_same_learners(const pair *p)
{
    uint64_t updates[2], skipped[2];
    assert_same_weights(&p->turn, &p->prefetches);
    assert_ok(wk_learner_counts(p->turn.learner, &updates[0], &skipped[0], &err));
    assert_ok(wk_learner_counts(p->prefetches.learner, &updates[1], &skipped[1], &err));
    assert_int_equal(updates[0], updates[1]);
    assert_int_equal(skipped[0], skipped[1]);
}

// A GPU is one, and works when it likes.
static int last_mode(void)
{
    return getenv("WAKER_TEST_DEVICE") ? ASYNC_LATE : ASYNC_EAGER;
}

#define FOR_ALL_DEVICES for (int mode = ASYNC_LATE; mode <= last_mode(); mode++)

// On an eager device the next batch's world model is done before this update's scalars are read.
TEST_CASE(an_update_reports_its_own_world_model)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(0), mode);
        stage(&p.prefetches, p.b[0]);
        for (int n = 0; n < 3; n++) {
            record x = {0}, y = {0};
            wk_learner_batch v = view(p.b[n]);
            assert_ok(learner_update(p.turn.learner, &v, &x.metrics, x.delta, &err));
            assert_ok(wk_learner_start(p.prefetches.learner, &err));
            stage(&p.prefetches, p.b[n + 1]);
            assert_ok(wk_learner_finish(p.prefetches.learner, &y.metrics, y.delta, &err));
            assert_memory_equal(&x, &y, sizeof x);
            assert_same_learners(&p);
        }
        close_pair(&p);
    }
}

// Task updates with the states of the last batch, when the next one's have been found already.
TEST_CASE(a_task_update_reads_the_states_of_its_own_batch)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(TASKS), mode);
        stage(&p.turn, p.b[0]);
        stage(&p.prefetches, p.b[0]);
        for (int n = 0; n < 3; n++) {
            wk_learner_batch v = view(p.b[n]);
            learn(&p.turn);
            assert_ok(wk_learner_update_tasks(p.turn.learner, &v, NULL, &err));
            stage(&p.turn, p.b[n + 1]);
            learn(&p.prefetches);
            stage(&p.prefetches, p.b[n + 1]);
            assert_ok(wk_learner_update_tasks(p.prefetches.learner, &v, NULL, &err));
            assert_same_learners(&p);
        }
        close_pair(&p);
    }
}

TEST_CASE(a_batch_that_is_staged_in_place_of_another_is_the_one_learned_from)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(0), mode);
        stage(&p.turn, p.b[0]);
        learn(&p.turn);
        stage(&p.turn, p.b[2]);
        learn(&p.turn);
        stage(&p.prefetches, p.b[0]);
        assert_ok(wk_learner_start(p.prefetches.learner, &err));
        stage(&p.prefetches, p.b[1]);
        assert_ok(wk_learner_finish(p.prefetches.learner, NULL, NULL, &err));
        stage(&p.prefetches, p.b[3]);
        stage(&p.prefetches, p.b[2]);
        learn(&p.prefetches);
        assert_same_learners(&p);
        close_pair(&p);
    }
}

static void assert_same_files(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    assert_true(x && y);
    int c, d;
    do {
        c = fgetc(x);
        d = fgetc(y);
        assert_int_equal(c, d);
    } while (c != EOF);
    fclose(x);
    fclose(y);
}

// A run that ends, or is saved, has staged a batch that it does not learn from. The bad numbers in
// it stay its own too.
TEST_CASE(a_batch_that_is_never_learned_from_changes_nothing)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(TASKS), mode);
        p.b[1]->actions[B * A] = NAN;
        stage(&p.turn, p.b[0]);
        learn(&p.turn);
        stage(&p.prefetches, p.b[0]);
        assert_ok(wk_learner_start(p.prefetches.learner, &err));
        stage(&p.prefetches, p.b[1]);
        assert_ok(wk_learner_finish(p.prefetches.learner, NULL, NULL, &err));
        assert_ok(wk_queue_drain(p.prefetches.learner->model_queue, &err));
        assert_same_learners(&p);
        assert_ok(wk_learner_save(p.turn.learner, NULL, PATH, NULL, 0, &err));
        assert_ok(wk_learner_save(p.prefetches.learner, NULL, OTHER, NULL, 0, &err));
        assert_same_files(PATH, OTHER);
        close_pair(&p);
        remove(PATH);
        remove(OTHER);
    }
}

TEST_CASE(a_bad_prefetched_batch_skips_its_own_update_alone)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(0), mode);
        p.b[1]->actions[B * A] = NAN;
        stage(&p.prefetches, p.b[0]);
        for (int n = 0; n < 3; n++) {
            record x = {0}, y = {0};
            wk_learner_batch v = view(p.b[n]);
            assert_ok(learner_update(p.turn.learner, &v, &x.metrics, x.delta, &err));
            assert_ok(wk_learner_start(p.prefetches.learner, &err));
            stage(&p.prefetches, p.b[n + 1]);
            assert_ok(wk_learner_finish(p.prefetches.learner, &y.metrics, y.delta, &err));
            assert_int_equal(isfinite(y.metrics.model_loss), n != 1);
            assert_same_learners(&p);
        }
        close_pair(&p);
    }
}

// Files of a learner with another past, with one task too.
static void save_another(int tasks)
{
    fixture other = open_fixture(tiny(tasks), 1);
    update(&other, 71);
    update(&other, 72);
    assert_ok(wk_learner_save(other.learner, NULL, PATH, NULL, 0, &err));
    close_fixture(&other);
}

typedef wk_status restoring(wk_learner *learner);

static wk_status restore_all(wk_learner *learner)
{
    return wk_learner_restore(learner, NULL, PATH, &err);
}

static wk_status restore_world(wk_learner *learner)
{
    return wk_learner_restore_weights(learner, PATH, WK_WEIGHTS_WORLD, &err);
}

static wk_status restore_tasks(wk_learner *learner)
{
    return wk_learner_restore_weights(learner, PATH, WK_WEIGHTS_TASKS, &err);
}

static wk_status restore_task(wk_learner *learner)
{
    return wk_learner_restore_task(learner, PATH, 0, &err);
}

static wk_status restore_from_nowhere(wk_learner *learner)
{
    assert_int_not_equal(wk_learner_restore(learner, NULL, "no such file", &err), WK_OK);
    return WK_OK;
}

static wk_status observe(wk_learner *learner)
{
    batch *b = make_batch(9);
    wk_learner_batch v = view(b);
    wk_status status = wk_learner_observe(learner, &v, &err);
    free(b);
    return status;
}

// Something happens to a learner while a batch is staged.
static void compare_with_something_between(restoring *happen, int tasks)
{
    save_another(tasks);
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(tasks), mode);
        fixture *both[] = {&p.turn, &p.prefetches};
        for (int i = 0; i < 2; i++) {
            stage(both[i], p.b[0]);
            assert_ok(wk_learner_start(both[i]->learner, &err));
            stage(both[i], p.b[1]);
            assert_ok(wk_learner_finish(both[i]->learner, NULL, NULL, &err));
            assert_ok(happen(both[i]->learner));
            learn(both[i]);
            stage(both[i], p.b[2]);
            learn(both[i]);
        }
        assert_same_learners(&p);
        close_pair(&p);
    }
    remove(PATH);
}

TEST_CASE(a_checkpoint_restored_is_what_a_staged_batch_is_learned_with)
{
    compare_with_something_between(restore_all, TASKS);
}

TEST_CASE(a_snapshot_restored_is_too)
{
    compare_with_something_between(restore_world, TASKS);
    compare_with_something_between(restore_tasks, TASKS);
}

TEST_CASE(a_task_restored_leaves_the_staged_batch_alone)
{
    compare_with_something_between(restore_task, 1);
}

TEST_CASE(a_failed_restore_leaves_the_staged_batch_alone)
{
    compare_with_something_between(restore_from_nowhere, 0);
}

TEST_CASE(an_observation_leaves_the_staged_batch_alone)
{
    compare_with_something_between(observe, TASKS);
}

// Environments act on the weights of the last finished update, whatever is prefetched.
TEST_CASE(acting_during_a_prefetch_reads_finished_weights)
{
    FOR_ALL_DEVICES
    {
        pair p = open_pair(tiny(0), mode);
        fixture *both[] = {&p.turn, &p.prefetches};
        float chosen[2][2 * A];
        for (int i = 0; i < 2; i++) {
            wk_acting *acting;
            float before[2 * A] = {0};
            assert_ok(wk_acting_create(both[i]->learner, WK_POLICY_EXPLORE, 2, &acting, &err));
            stage(both[i], p.b[0]);
            learn(both[i]);
            stage(both[i], p.b[1]);
            if (i == 1) assert_ok(wk_learner_start(both[i]->learner, &err));
            if (i == 1) stage(both[i], p.b[2]);
            wk_acting_rows rows = {.images = p.b[3]->images,
                                   .previous = before,
                                   .first = p.b[3]->first,
                                   .actions = chosen[i]};
            assert_ok(wk_acting_step(acting, &rows, WK_ACT_SAMPLE, &err));
            if (i == 1) assert_ok(wk_learner_finish(both[i]->learner, NULL, NULL, &err));
            wk_acting_destroy(acting);
        }
        assert_memory_equal(chosen[0], chosen[1], sizeof chosen[0]);
        close_pair(&p);
    }
}

// Other scalars in the world model's handoff come out of the update: they were there before it was
// started, and nobody made them again.
TEST_CASE(the_world_model_has_run_when_its_update_is_started)
{
    pair p = open_pair(tiny(0), ASYNC_EAGER);
    const float other = 1234;
    wk_learner_metrics metrics;
    stage(&p.prefetches, p.b[0]);
    assert_ok(wk_queue_drain(p.prefetches.learner->model_queue, &err));
    size_t scalars = (size_t)wk_model_scalar_count(&p.prefetches.learner->config);
    size_t place = p.prefetches.learner->handoff->size - scalars * sizeof(float);
    assert_ok(wk_buffer_upload(p.prefetches.learner->handoff, place, &other, sizeof other, &err));
    assert_ok(wk_learner_start(p.prefetches.learner, &err));
    assert_ok(wk_learner_finish(p.prefetches.learner, &metrics, NULL, &err));
    assert_true(metrics.model_loss == other);
    close_pair(&p);
}

TEST_CASE(a_learner_can_be_made_without_prefetch)
{
    fixture r = open_beside(tiny(0), ASYNC_LATE);
    wk_learner *turn;
    unsigned uses = WK_LEARNER_UPDATES | WK_LEARNER_NO_PREFETCH;
    wk_learner_config config = tiny(0);
    assert_ok(wk_learner_create(uses, &config, r.backend, &turn, &err));
    assert_true(r.learner->prefetches && !turn->prefetches && !turn->prefetch_scratch);
    wk_learner_destroy(turn);
    close_fixture(&r);
}

// The device of these tests does a whole run before what it marks, so that it cannot show what the
// run does behind the mark. That is read from the recording.

static const wk_node *step_node(const wk_plan *plan, size_t step)
{
    return &plan->graph->nodes.items[plan->nodes[step]];
}

static int root_of(const wk_plan *plan, const wk_node *node, int i)
{
    return wk_info(plan->graph, wk_node_inputs(plan->graph, node)[i])->root;
}

// Whether a step touches a root; and whether it writes it, or makes it.
static bool touches(const wk_plan *plan, size_t step, int root, bool *writes)
{
    const wk_node *node = step_node(plan, step);
    bool found = *writes = root >= node->outputs && root < node->outputs + node->output_count;
    for (int i = 0; i < node->input_count; i++) {
        if (root_of(plan, node, i) != root) continue;
        found = true;
        *writes |= wk_op_writes_input(node->op, i);
    }
    return found;
}

// Whether a step has to wait for an earlier one, because of what both touch and one writes.
static bool waits_for(const wk_plan *plan, size_t step, size_t earlier)
{
    const wk_node *node = step_node(plan, step);
    for (int i = 0; i < node->input_count; i++) {
        bool writes;
        int root = root_of(plan, node, i);
        if (!root || !touches(plan, earlier, root, &writes)) continue;
        if (writes || wk_op_writes_input(node->op, i)) return true;
    }
    return false;
}

// By step: whether it is done when the event is reached.
static bool *done_at_the_mark(const wk_plan *plan)
{
    bool *done = calloc(plan->node_count, sizeof *done);
    assert_non_null(done);
    size_t mark = 0;
    while (step_node(plan, mark)->op != WK_OP_mark)
        mark++;
    done[mark] = true;
    for (size_t step = mark + 1; step-- > 0;)
        for (size_t earlier = 0; done[step] && earlier < step; earlier++)
            if (waits_for(plan, step, earlier)) done[earlier] = true;
    return done;
}

// What the world model's graph leaves, and what it reads that updates write.
static bool is_left(const wk_learner *l, const wk_tensor_info *x)
{
    const wk_optimizer *optimizer = l->optimizers[WK_NETWORK_MODEL];
    return x->buffer &&
           (x->buffer == l->handoff ||
            (x->buffer == optimizer->buffer && x->place >= wk_optimizer_handoff_offset(optimizer)));
}

static bool is_read(const wk_learner *l, const wk_tensor_info *x)
{
    return x->buffer &&
           (x->buffer == l->params[WK_NETWORK_MODEL]->buffer ||
            (x->buffer == l->counters && x->place == WK_COUNT_UPDATES * sizeof(uint64_t)));
}

// Counts the steps that touch what is left, or write what is read; those not done at the mark fail.
static int check_steps(const wk_learner *l, const wk_plan *plan, const bool *done)
{
    int count = 0;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        for (int i = 0; node->op != WK_OP_mark && i < node->input_count; i++) {
            const wk_tensor_info *x = wk_info(plan->graph, root_of(plan, node, i));
            bool writes = wk_op_writes_input(node->op, i);
            if (!is_left(l, x) && !(writes && is_read(l, x))) continue;
            if (!done[step]) fail_msg("step %zu touches '%s' behind the mark", step, x->name);
            count++;
        }
    }
    return count;
}

TEST_CASE(an_update_writes_what_a_prefetched_world_model_reads_before_the_event)
{
    fixture r = open_fixture(tiny(TASKS), 1);
    const wk_plan *plan = r.learner->update.program->plan;
    bool *done = done_at_the_mark(plan);
    int weights_of_the_model = (int)r.learner->params[WK_NETWORK_MODEL]->weights.count;
    // Gradients imported and weights written, norm and flag, states and scalars imported, the
    // counter.
    assert_int_equal(check_steps(r.learner, plan, done), 2 * weights_of_the_model + 2 + 3 + 1);
    bool later = false;
    for (size_t step = 0; step < plan->node_count; step++)
        later |= !done[step];
    assert_true(later);
    free(done);
    close_fixture(&r);
}

TEST_CASE(a_task_update_leaves_a_prefetched_world_model_alone)
{
    fixture r = open_fixture(tiny(TASKS), 1);
    const wk_plan *plan = r.learner->tasks.program->plan;
    bool *none = calloc(plan->node_count, sizeof *none);
    assert_non_null(none);
    assert_int_equal(check_steps(r.learner, plan, none), 0);
    free(none);
    close_fixture(&r);
}

TEST_CASE(the_world_model_s_graph_writes_only_what_it_leaves)
{
    fixture r = open_fixture(tiny(TASKS), 1);
    const wk_plan *plan = r.learner->model.program->plan;
    int count = 0;
    for (size_t step = 0; step < plan->node_count; step++) {
        const wk_node *node = step_node(plan, step);
        for (int i = 0; i < node->input_count; i++) {
            if (!wk_op_writes_input(node->op, i)) continue;
            assert_true(is_left(r.learner, wk_info(plan->graph, root_of(plan, node, i))));
            count++;
        }
    }
    assert_true(count > (int)r.learner->params[WK_NETWORK_MODEL]->weights.count);
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
