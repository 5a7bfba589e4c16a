// Learners of a population: updated together, each ends where it would end alone. On the CPU that
// is the same bytes, also on devices that do their work at the worst moments; on a GPU, where
// products of several members may be summed in another order, nearly the same numbers.
#include "agent/acting.h"
#include "agent/fixture.h"
#include <math.h>

enum { MEMBERS = 3, ENVS = 2 };

typedef struct population {
    wk_pool *pool;
    wk_backend *backends[MEMBERS];
    wk_learner *learners[MEMBERS];
    wk_acting *acting[MEMBERS];
} population;

static wk_learner_config member_config(int r, int tasks)
{
    wk_learner_config c = tiny(tasks);
    c.seed += (uint64_t)r;
    c.policy_rate *= (float)(r + 1);
    return c;
}

// Mode -1 is the CPU itself.
static population open_population(int tasks, int mode)
{
    population p = {0};
    wk_learner_config configs[MEMBERS];
    for (int r = 0; r < MEMBERS; r++)
        configs[r] = member_config(r, tasks);
    assert_ok(wk_pool_create(2, &p.pool, &err));
    assert_ok(test_population_create(p.pool, MEMBERS, p.backends, &err));
    if (mode >= 0 && !on_gpu()) async_device_make(p.backends[0], (async_mode)mode);
    async_device_set_memory(0, INT_MAX);
    assert_ok(wk_learner_create_population(WK_LEARNER_UPDATES, configs, p.backends, MEMBERS,
                                           p.learners, &err));
    assert_ok(
        wk_acting_create_population(p.learners, MEMBERS, WK_POLICY_EXPLORE, ENVS, p.acting, &err));
    for (int r = 0; r < MEMBERS; r++)
        assert_ok(wk_acting_begin(p.acting[r], 0, &err));
    return p;
}

static void close_population(population *p)
{
    for (int r = 0; r < MEMBERS; r++)
        wk_acting_destroy(p->acting[r]);
    for (int r = 0; r < MEMBERS; r++)
        wk_learner_destroy(p->learners[r]);
    test_population_destroy(p->backends, MEMBERS);
    wk_pool_destroy(p->pool);
}

static void assert_agree(const void *a, const void *b, size_t bytes, const char *what)
{
    if (!on_gpu()) {
        if (memcmp(a, b, bytes) != 0) fail_msg("%s differ", what);
        return;
    }
    const float *x = a, *y = b;
    double difference = 0, size = 0;
    for (size_t i = 0; i < bytes / sizeof *x; i++) {
        difference += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
        size += (double)x[i] * (double)x[i];
    }
    if (!(sqrt(difference) <= 5e-3 * sqrt(size) + 1e-6))
        fail_msg("%s differ by %g of %g", what, sqrt(difference), sqrt(size));
}

// Which members have a batch in update n: all, then two, then one, then all again.
static bool has_batch(int n, int r)
{
    return n == 0 || n > 3 || r == 0 || (n == 1 && r == 2);
}

static batch *batch_of(int n, int r)
{
    return make_batch((uint64_t)(10 * n + r));
}

enum { ALL_UPDATES = 6 };

// What a member comes to.
typedef struct outcome {
    float actions[ENVS * A];
    wk_learner_metrics metrics;
    wk_task_metrics tasks;
    float delta[ROWS];
    uint64_t updates, skipped;
} outcome;

static void act_alone(wk_acting *acting, const batch *b, outcome *out)
{
    const uint8_t first[ENVS] = {0};
    assert_ok(wk_acting_step(
        acting,
        &(wk_acting_rows){
            .images = b->images, .previous = out->actions, .first = first, .actions = out->actions},
        WK_ACT_SAMPLE, &err));
}

// The same updates of one member by itself.
static outcome run_alone(fixture *f, int r)
{
    outcome out;
    wk_acting *acting;
    memset(&out, 0, sizeof out);
    assert_ok(wk_acting_create(f->learner, WK_POLICY_EXPLORE, ENVS, &acting, &err));
    assert_ok(wk_acting_begin(acting, 0, &err));
    for (int n = 0; n < ALL_UPDATES; n++) {
        if (!has_batch(n, r)) continue;
        batch *b = batch_of(n, r);
        wk_learner_batch v = view(b);
        assert_ok(wk_learner_stage(f->learner, &v, &err));
        assert_ok(wk_learner_start(f->learner, &err));
        act_alone(acting, b, &out);
        assert_ok(wk_learner_start_tasks(f->learner, &err));
        assert_ok(wk_learner_finish(f->learner, &out.metrics, out.delta, &err));
        wk_learner_read_tasks(f->learner, &out.tasks);
        free(b);
    }
    assert_ok(wk_learner_counts(f->learner, &out.updates, &out.skipped, &err));
    wk_acting_destroy(acting);
    return out;
}

// Update n of all members; the batches of the next are staged while it is in flight.
static void stage_all(population *p, int n, batch *b[MEMBERS])
{
    wk_learner_batch views[MEMBERS] = {0};
    for (int r = 0; r < MEMBERS; r++) {
        free(b[r]);
        b[r] = batch_of(n, r);
        if (n < ALL_UPDATES && has_batch(n, r)) views[r] = view(b[r]);
    }
    assert_ok(wk_learner_stage(p->learners[0], views, &err));
}

static void run_together(population *p, outcome out[MEMBERS])
{
    const uint8_t first[ENVS] = {0};
    batch *b[2][MEMBERS] = {{NULL}};
    wk_learner_metrics metrics[MEMBERS];
    float delta[MEMBERS][ROWS];
    memset(out, 0, MEMBERS * sizeof *out);
    stage_all(p, 0, b[0]);
    for (int n = 0; n < ALL_UPDATES; n++) {
        wk_acting_rows rows[MEMBERS] = {0};
        assert_ok(wk_learner_start(p->learners[0], &err));
        for (int r = 0; r < MEMBERS; r++)
            if (has_batch(n, r))
                rows[r] = (wk_acting_rows){.images = b[n % 2][r]->images,
                                           .previous = out[r].actions,
                                           .first = first,
                                           .actions = out[r].actions};
        assert_ok(wk_acting_step_population(p->acting[0], rows, WK_ACT_SAMPLE, &err));
        assert_ok(wk_learner_start_tasks(p->learners[0], &err));
        stage_all(p, n + 1, b[(n + 1) % 2]);
        assert_ok(wk_learner_finish(p->learners[0], metrics, delta[0], &err));
        for (int r = 0; r < MEMBERS; r++) {
            if (!has_batch(n, r)) continue;
            out[r].metrics = metrics[r];
            memcpy(out[r].delta, delta[r], sizeof delta[r]);
            wk_learner_read_tasks(p->learners[r], &out[r].tasks);
        }
    }
    for (int r = 0; r < MEMBERS; r++) {
        assert_ok(wk_learner_counts(p->learners[r], &out[r].updates, &out[r].skipped, &err));
        free(b[0][r]);
        free(b[1][r]);
    }
}

static void assert_same_member(const fixture *alone, const outcome *x, population *p, int r,
                               const outcome *y)
{
    fixture together = {.learner = p->learners[r]};
    assert_int_equal(x->updates, y->updates);
    assert_int_equal(x->skipped, y->skipped);
    assert_agree(x->actions, y->actions, sizeof x->actions, "actions");
    assert_agree(&x->metrics, &y->metrics, sizeof x->metrics, "metrics");
    assert_agree(&x->tasks, &y->tasks, sizeof x->tasks, "metrics of tasks");
    assert_agree(x->delta, y->delta, sizeof x->delta, "error estimates");
    for (int network = 0; network < WK_NETWORKS; network++) {
        if (!alone->learner->params[network]) continue;
        size_t size, other;
        uint8_t *a = weights(alone, network, &size), *b = weights(&together, network, &other);
        assert_int_equal(size, other);
        assert_agree(a, b, size, wk_network_name(network));
        free(a);
        free(b);
    }
}

static void compare_with_alone(int tasks, int mode)
{
    population p = open_population(tasks, mode);
    outcome together[MEMBERS];
    run_together(&p, together);
    for (int r = 0; r < MEMBERS; r++) {
        // Acting reads the weights from before the update where the device is async.
        wk_learner_config config = member_config(r, tasks);
        fixture f = mode < 0 ? open_fixture(config, 1) : open_beside(config, (async_mode)mode);
        outcome alone = run_alone(&f, r);
        assert_same_member(&f, &alone, &p, r, &together[r]);
        close_fixture(&f);
    }
    close_population(&p);
}

static int last_mode(void)
{
    return on_gpu() ? -1 : ASYNC_EAGER;
}

TEST_CASE(each_member_ends_as_it_would_alone)
{
    for (int mode = -1; mode <= last_mode(); mode++)
        compare_with_alone(0, mode);
}

TEST_CASE(and_so_do_its_task_policies)
{
    for (int mode = -1; mode <= last_mode(); mode++)
        compare_with_alone(TASKS, mode);
}

// What a member saves is what a learner alone saves, and restoring it leaves the others alone.
TEST_CASE(members_save_and_restore_by_themselves)
{
    population p = open_population(TASKS, -1);
    outcome together[MEMBERS];
    run_together(&p, together);
    assert_ok(wk_learner_save(p.learners[1], NULL, own_file(0), NULL, 0, &err));
    fixture f = open_rig_for(WK_LEARNER_UPDATES, member_config(1, TASKS), 1);
    assert_ok(wk_learner_restore(f.learner, NULL, own_file(0), &err));
    fixture one = {.learner = p.learners[1]}, two = {.learner = p.learners[2]};
    assert_same_weights(&f, &one);
    size_t size, other;
    uint8_t *before = weights(&two, WK_NETWORK_MODEL, &size);
    assert_ok(wk_learner_restore(p.learners[0], NULL, own_file(0), &err));
    uint8_t *after = weights(&two, WK_NETWORK_MODEL, &other);
    assert_memory_equal(before, after, size);
    fixture zero = {.learner = p.learners[0]};
    assert_same_weights(&f, &zero);
    free(before);
    free(after);
    close_fixture(&f);
    close_population(&p);
    remove(own_file(0));
}

TEST_CASE(learners_that_differ_in_shape_are_refused)
{
    wk_learner_config configs[2] = {tiny(0), tiny(0)};
    wk_learner *out[2];
    wk_pool *pool;
    wk_backend *backends[2];
    configs[1].kl_scale = 2;
    assert_ok(wk_pool_create(1, &pool, &err));
    assert_ok(test_population_create(pool, 2, backends, &err));
    assert_int_equal(
        wk_learner_create_population(WK_LEARNER_UPDATES, configs, backends, 2, out, &err),
        WK_E_INPUT);
    assert_non_null(strstr(err.message, "seed and learning rates"));
    test_population_destroy(backends, 2);
    wk_pool_destroy(pool);
}

TEST_MAIN(NULL, NULL)
