// The learner as its users see it: runs are repeatable to the bit, task policies change nothing
// else, snapshots continue, bad numbers and bad files do no harm, policies act, predictions have
// their shapes. That the numbers are right is test_golden's subject; that learning works is
// test_learning's.
#include "agent/acting.h"
#include "agent/learner_parts.h"
#include "agent/prediction.h"
#include "base/file.h"
#include "base/rng.h"
#include "support/backend.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH "test_learner.tmp.safetensors"
enum { T = 4, B = 3, ROWS = T * B, A = 2, TASKS = 2, PIXELS = 64 * 64 * 3, UPDATES = 3 };

static wk_error err;

static wk_learner_config tiny(int tasks)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 2, c.deter = 10, c.hidden = 9, c.stoch = 3, c.classes = 5, c.units = 8, c.layers = 2;
    c.ensemble = 3, c.batch = B, c.length = T, c.horizon = 3, c.action_size = A, c.tasks = tasks;
    c.slow_period = 2, c.model_rate = 1e-3f, c.seed = 5;
    return c;
}

typedef struct rig {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
} rig;

static rig open_rig(wk_learner_config config, int threads)
{
    rig r = {0};
    assert_ok(wk_pool_create(threads, &r.pool, &err));
    assert_ok(test_backend_create(r.pool, &r.backend, &err));
    assert_ok(wk_learner_create(&config, r.backend, &r.learner, &err));
    return r;
}

static void close_rig(rig *r)
{
    wk_learner_destroy(r->learner);
    wk_backend_destroy(r->backend);
    wk_pool_destroy(r->pool);
}

typedef struct batch {
    uint8_t images[ROWS * PIXELS], first[ROWS];
    float actions[ROWS * A], rewards[ROWS * TASKS];
} batch;

// Batch `number`: noise, with a sequence that begins in the middle of another.
static batch *make_batch(uint64_t number)
{
    batch *b = malloc(sizeof *b);
    assert_non_null(b);
    wk_rng rng = wk_rng_stream(3, "test batch", number);
    for (size_t i = 0; i < sizeof b->images; i++)
        b->images[i] = (uint8_t)wk_rng_uniform(&rng, 0, 256);
    for (int i = 0; i < ROWS; i++)
        b->first[i] = i < B || i == 2 * B + 1;
    for (int i = 0; i < ROWS * A; i++)
        b->actions[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (int i = 0; i < ROWS * TASKS; i++)
        b->rewards[i] = (float)wk_rng_uniform(&rng, 0, 1);
    return b;
}

static wk_learner_batch view(const batch *b)
{
    return (wk_learner_batch){b->images, b->actions, b->first, b->rewards, NULL};
}

// What updates report; compared as bytes, so it has no padding.
typedef struct record {
    wk_learner_metrics metrics;
    float delta[ROWS];
} record;

static record update(rig *r, uint64_t number)
{
    record out;
    memset(&out, 0, sizeof out);
    batch *b = make_batch(number);
    wk_learner_batch v = view(b);
    assert_ok(wk_learner_update(r->learner, &v, &out.metrics, out.delta, &err));
    if (r->learner->config.tasks > 0)
        assert_ok(wk_learner_update_tasks(r->learner, &v, &(wk_task_metrics){0}, &err));
    free(b);
    return out;
}

// All weights of a set, malloc'd.
static uint8_t *weights(const rig *r, wk_set_id set, size_t *size)
{
    wk_buffer *buffer = wk_params_buffer(r->learner->params[set]);
    uint8_t *bytes = malloc(buffer->size);
    assert_non_null(bytes);
    assert_ok(wk_buffer_download(buffer, 0, bytes, buffer->size, &err));
    *size = buffer->size;
    return bytes;
}

static void assert_same_weights(const rig *a, const rig *b)
{
    for (int set = 0; set < WK_SETS; set++) {
        if (!a->learner->params[set] || !b->learner->params[set]) continue;
        size_t size, other;
        uint8_t *x = weights(a, set, &size), *y = weights(b, set, &other);
        assert_int_equal(size, other);
        if (memcmp(x, y, size) != 0)
            fail_msg("the weights of '%s' differ", wk_params_name(a->learner->params[set]));
        free(x);
        free(y);
    }
}

static void assert_same_run(wk_learner_config config, int threads, wk_learner_config other,
                            int other_threads)
{
    rig a = open_rig(config, threads), b = open_rig(other, other_threads);
    for (uint64_t n = 0; n < UPDATES; n++) {
        record x = update(&a, n), y = update(&b, n);
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&a, &b);
    close_rig(&a);
    close_rig(&b);
}

static void the_same_seed_gives_the_same_bytes(void **state)
{
    (void)state;
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 1);
}

static void another_seed_gives_other_bytes(void **state)
{
    (void)state;
    wk_learner_config other = tiny(0);
    other.seed++;
    rig a = open_rig(tiny(0), 1), b = open_rig(other, 1);
    record x = update(&a, 0), y = update(&b, 0);
    assert_memory_not_equal(&x, &y, sizeof x);
    close_rig(&a);
    close_rig(&b);
}

static void task_policies_alongside_do_not_change_the_reward_free_run(void **state)
{
    (void)state;
    assert_same_run(tiny(0), 1, tiny(TASKS), 1);
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 2);
    assert_same_run(tiny(TASKS), 1, tiny(TASKS), 3);
}

static void a_restored_learner_continues_bit_for_bit(void **state)
{
    (void)state;
    wk_learner_config config = tiny(TASKS);
    rig a = open_rig(config, 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&a, n);
    assert_ok(wk_learner_save(a.learner, PATH, &err));
    config.seed = 5;
    rig b = open_rig(config, 1);
    update(&b, 77); // another past, to be forgotten
    assert_ok(wk_learner_restore(b.learner, PATH, &err));
    assert_same_weights(&a, &b);
    for (uint64_t n = UPDATES; n < 2 * UPDATES; n++) {
        record x = update(&a, n), y = update(&b, n);
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&a, &b);
    close_rig(&a);
    close_rig(&b);
    remove(PATH);
}

static void a_snapshot_of_another_size_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    wk_learner_config other = tiny(TASKS);
    other.deter++;
    rig big = open_rig(other, 1), a = open_rig(tiny(TASKS), 1), twin = open_rig(tiny(TASKS), 1);
    assert_ok(wk_learner_save(big.learner, PATH, &err));
    assert_refused(wk_learner_restore(a.learner, PATH, &err), WK_E_FORMAT, "model/");
    assert_same_weights(&a, &twin);
    record x = update(&a, 0), y = update(&twin, 0);
    assert_memory_equal(&x, &y, sizeof x);
    close_rig(&big);
    close_rig(&a);
    close_rig(&twin);
    remove(PATH);
}

static void a_truncated_snapshot_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    rig a = open_rig(tiny(0), 1), twin = open_rig(tiny(0), 1), other = open_rig(tiny(0), 1);
    update(&other, 0);
    assert_ok(wk_learner_save(other.learner, PATH, &err));
    char *bytes;
    size_t size;
    assert_ok(wk_file_read(PATH, 1 << 24, &bytes, &size, &err));
    free(bytes);
    const size_t cuts[] = {0, 7, 100, size / 2, size - 1};
    for (size_t i = sizeof cuts / sizeof *cuts; i-- > 0;) {
        assert_int_equal(truncate(PATH, (off_t)cuts[i]), 0);
        assert_int_not_equal(wk_learner_restore(a.learner, PATH, &err), WK_OK);
        assert_same_weights(&a, &twin);
    }
    assert_refused(wk_learner_restore(a.learner, "no such file", &err), WK_E_NOT_FOUND,
                   "no such file");
    close_rig(&a);
    close_rig(&twin);
    close_rig(&other);
    remove(PATH);
}

static void save_labelled(const rig *r)
{
    const wk_weights_label labels[] = {{"domain", "pond"}, {"step", "300"}};
    assert_ok(wk_learner_save_weights(r->learner, PATH, labels, 2, &err));
}

static bool same_set(const rig *a, const rig *b, wk_set_id set)
{
    size_t size, other;
    uint8_t *x = weights(a, set, &size), *y = weights(b, set, &other);
    bool same = size == other && memcmp(x, y, size) == 0;
    free(x);
    free(y);
    return same;
}

static void weights_are_restored_whole_or_in_parts(void **state)
{
    (void)state;
    rig a = open_rig(tiny(TASKS), 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&a, n);
    save_labelled(&a);
    rig whole = open_rig(tiny(TASKS), 1), world = open_rig(tiny(TASKS), 1);
    assert_ok(
        wk_learner_restore_weights(whole.learner, PATH, WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &whole);
    assert_ok(wk_learner_restore_weights(world.learner, PATH, WK_WEIGHTS_WORLD, &err));
    for (int set = 0; set < WK_SETS; set++)
        assert_int_equal(same_set(&a, &world, set), set < WK_SET_REWARD);
    assert_ok(wk_learner_restore_weights(world.learner, PATH, WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &world);
    close_rig(&a);
    close_rig(&whole);
    close_rig(&world);
    remove(PATH);
}

static void a_world_model_fits_learners_with_other_tasks(void **state)
{
    (void)state;
    rig a = open_rig(tiny(0), 1), b = open_rig(tiny(TASKS), 1), none = open_rig(tiny(0), 1);
    update(&a, 0);
    save_labelled(&a);
    assert_ok(wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD, &err));
    assert_same_weights(&a, &b);
    update(&b, 1);
    save_labelled(&b);
    assert_ok(wk_learner_restore_weights(none.learner, PATH, WK_WEIGHTS_WORLD, &err));
    assert_same_weights(&b, &none);
    close_rig(&a);
    close_rig(&b);
    close_rig(&none);
    remove(PATH);
}

static void weights_are_read_from_a_checkpoint_too(void **state)
{
    (void)state;
    rig a = open_rig(tiny(TASKS), 1), b = open_rig(tiny(TASKS), 1);
    update(&a, 0);
    assert_ok(wk_learner_save(a.learner, PATH, &err));
    assert_ok(
        wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, &err));
    assert_same_weights(&a, &b);
    uint64_t updates, skipped;
    assert_ok(wk_learner_counts(b.learner, &updates, &skipped, &err));
    assert_int_equal(updates, 0);
    close_rig(&a);
    close_rig(&b);
    remove(PATH);
}

// Saves weights of `other` and finds that a learner of `config` refuses them and stays as it was.
static void assert_foreign(wk_learner_config other, wk_learner_config config, unsigned parts,
                           const char *part)
{
    rig from = open_rig(other, 1), to = open_rig(config, 1), twin = open_rig(config, 1);
    update(&from, 0);
    save_labelled(&from);
    assert_refused(wk_learner_restore_weights(to.learner, PATH, parts, &err), WK_E_FORMAT, part);
    assert_non_null(strstr(err.message, "domain pond, step 300"));
    assert_same_weights(&to, &twin);
    close_rig(&from);
    close_rig(&to);
    close_rig(&twin);
    remove(PATH);
}

static void weights_that_do_not_fit_are_refused_and_name_their_run(void **state)
{
    (void)state;
    wk_learner_config other = tiny(TASKS);
    assert_foreign(tiny(0), tiny(TASKS), WK_WEIGHTS_WORLD | WK_WEIGHTS_TASKS, "missing: reward/");
    assert_foreign(tiny(1), tiny(TASKS), WK_WEIGHTS_TASKS, "different: reward/");
    other.layers++;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "unexpected: ensemble/");
    other = tiny(TASKS);
    other.hidden++;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "different: model/");
    other = tiny(TASKS);
    other.exploration = WK_EXPLORE_RANDOM;
    assert_foreign(other, tiny(TASKS), WK_WEIGHTS_WORLD, "missing: explore.actor/");
    assert_foreign(tiny(TASKS), other, WK_WEIGHTS_WORLD, "unexpected: explore.");
}

// One task's networks out of a file with several: what is left of each stack is that member.
static void a_single_task_is_taken_from_a_file_with_several(void **state)
{
    (void)state;
    rig all = open_rig(tiny(TASKS), 1), one = open_rig(tiny(1), 1), twin = open_rig(tiny(1), 1);
    for (uint64_t n = 0; n < UPDATES; n++)
        update(&all, n);
    save_labelled(&all);
    assert_refused(wk_learner_restore_task(one.learner, PATH, TASKS, &err), WK_E_FORMAT, "reward/");
    assert_same_weights(&one, &twin);
    assert_ok(wk_learner_restore_task(one.learner, PATH, 1, &err));
    for (int set = WK_SET_REWARD; set < WK_SETS; set++) {
        size_t size, other;
        uint8_t *x = weights(&all, set, &size), *y = weights(&one, set, &other);
        for (size_t i = 0; i < wk_params_count(one.learner->params[set]); i++) {
            const wk_weight *from = wk_params_at(all.learner->params[set], i),
                            *to = wk_params_at(one.learner->params[set], i);
            size_t bytes = to->count * sizeof(float);
            assert_int_equal(from->count, TASKS * to->count);
            assert_memory_equal(x + from->offset + bytes, y + to->offset, bytes);
        }
        free(x);
        free(y);
    }
    assert_true(same_set(&one, &twin, WK_SET_MODEL));
    close_rig(&all);
    close_rig(&one);
    close_rig(&twin);
    remove(PATH);
}

static void damaged_weights_are_refused_and_change_nothing(void **state)
{
    (void)state;
    rig a = open_rig(tiny(0), 1), b = open_rig(tiny(0), 1), twin = open_rig(tiny(0), 1);
    update(&a, 0);
    save_labelled(&a);
    FILE *file = fopen(PATH, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    int last = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_END), 0);
    fputc(last ^ 1, file);
    fclose(file);
    assert_refused(wk_learner_restore_weights(b.learner, PATH, WK_WEIGHTS_WORLD, &err), WK_E_FORMAT,
                   "damaged");
    assert_same_weights(&b, &twin);
    close_rig(&a);
    close_rig(&b);
    close_rig(&twin);
    remove(PATH);
}

// One step for each trained set, one per member of a stack.
static uint64_t steps_of_an_update(const rig *r)
{
    const wk_learner_config *c = &r->learner->config;
    return (uint64_t)(1 + c->ensemble + (c->exploration == WK_EXPLORE_PLAN2EXPLORE ? 2 : 0) +
                      3 * c->tasks);
}

static void assert_skips(float bad)
{
    wk_learner_config config = tiny(TASKS);
    config.slow_period = 1000; // the slow copies' refresh is no step
    rig a = open_rig(config, 1), twin = open_rig(config, 1);
    update(&a, 0);
    update(&twin, 0);
    batch *b = make_batch(1);
    b->actions[B * A] = bad;
    wk_learner_batch v = view(b);
    wk_learner_metrics metrics;
    float delta[ROWS];
    uint64_t updates, skipped;
    assert_ok(wk_learner_update(a.learner, &v, &metrics, delta, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, NULL, &err));
    free(b);
    assert_string_equal(wk_learner_metrics_fault(&metrics), "model_loss");
    assert_same_weights(&a, &twin);
    assert_ok(wk_learner_counts(a.learner, &updates, &skipped, &err));
    assert_int_equal(updates, 2);
    assert_int_equal(skipped, steps_of_an_update(&a));
    // Nothing bad was kept: the next update is a good one and can be saved.
    record next = update(&a, 2);
    assert_null(wk_learner_metrics_fault(&next.metrics));
    assert_ok(wk_learner_save(a.learner, PATH, &err));
    close_rig(&a);
    close_rig(&twin);
    remove(PATH);
}

// The next batch comes to the device while an update runs; it must not reach that update.
static void an_update_in_three_parts_is_the_same_update(void **state)
{
    (void)state;
    rig whole = open_rig(tiny(0), 1), parts = open_rig(tiny(0), 1);
    batch *b[UPDATES + 1];
    for (uint64_t n = 0; n <= UPDATES; n++)
        b[n] = make_batch(n);
    wk_learner_batch v = view(b[0]);
    assert_ok(wk_learner_stage(parts.learner, &v, &err));
    for (uint64_t n = 0; n < UPDATES; n++) {
        record x = update(&whole, n), y;
        memset(&y, 0, sizeof y);
        v = view(b[n + 1]);
        assert_ok(wk_learner_start(parts.learner, &err));
        assert_ok(wk_learner_stage(parts.learner, &v, &err));
        assert_ok(wk_learner_finish(parts.learner, &y.metrics, y.delta, &err));
        assert_memory_equal(&x, &y, sizeof x);
    }
    assert_same_weights(&whole, &parts);
    for (uint64_t n = 0; n <= UPDATES; n++)
        free(b[n]);
    close_rig(&whole);
    close_rig(&parts);
}

static void nan_in_a_batch_skips_counts_and_names_the_update(void **state)
{
    (void)state;
    assert_skips(NAN);
}

static void infinity_in_a_batch_skips_counts_and_names_the_update(void **state)
{
    (void)state;
    assert_skips(INFINITY);
}

static void a_bad_reward_skips_its_own_task_only(void **state)
{
    (void)state;
    rig a = open_rig(tiny(TASKS), 1);
    batch *b = make_batch(0);
    b->rewards[3 * TASKS + 1] = NAN;
    wk_learner_batch v = view(b);
    uint64_t updates, skipped;
    wk_task_metrics tasks;
    assert_ok(wk_learner_update(a.learner, &v, NULL, NULL, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, &tasks, &err));
    assert_ok(wk_learner_counts(a.learner, &updates, &skipped, &err));
    assert_int_equal(skipped, 1); // the reward head of task 1
    assert_true(isfinite(tasks.reward_loss[0]) && !isfinite(tasks.reward_loss[1]));
    free(b);
    close_rig(&a);
}

static void random_exploration_has_no_actor_and_still_estimates_errors(void **state)
{
    (void)state;
    wk_learner_config config = tiny(0);
    config.exploration = WK_EXPLORE_RANDOM;
    rig r = open_rig(config, 1);
    record out = update(&r, 0);
    assert_null(wk_learner_metrics_fault(&out.metrics));
    for (int i = 0; i < ROWS; i++)
        assert_true(out.delta[i] > 0);
    assert_true(out.metrics.explore.actor_loss == 0);
    assert_null(r.learner->params[WK_SET_EXPLORE_ACTOR]);
    wk_acting *acting;
    assert_refused(wk_acting_create(r.learner, WK_POLICY_EXPLORE, 1, &acting, &err), WK_E_INPUT,
                   "random actions");
    close_rig(&r);
}

// δ of a start is the mean over steps of what the metrics average over everything.
static void the_error_estimates_average_to_the_disagreement(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    record out = update(&r, 0);
    double sum = 0;
    for (int i = 0; i < ROWS; i++)
        sum += out.delta[i];
    assert_near(sum / ROWS, out.metrics.disagreement, 1e-5 * out.metrics.disagreement);
    close_rig(&r);
}

// Training the tasks on observed states changes the task networks and nothing else.
static void tasks_can_be_trained_from_a_snapshot(void **state)
{
    (void)state;
    rig a = open_rig(tiny(TASKS), 1), twin = open_rig(tiny(TASKS), 1);
    batch *b = make_batch(0);
    wk_learner_batch v = view(b);
    wk_task_metrics tasks;
    assert_ok(wk_learner_observe(a.learner, &v, &err));
    assert_ok(wk_learner_update_tasks(a.learner, &v, &tasks, &err));
    for (int k = 0; k < TASKS; k++)
        assert_true(tasks.reward_loss[k] > 0 && tasks.policy[k].actor_norm > 0);
    for (int set = 0; set < WK_SET_REWARD; set++) {
        size_t size;
        uint8_t *x = weights(&a, set, &size), *y = weights(&twin, set, &size);
        assert_memory_equal(x, y, size);
        free(x);
        free(y);
    }
    size_t size;
    uint8_t *x = weights(&a, WK_SET_TASK_ACTOR, &size),
            *y = weights(&twin, WK_SET_TASK_ACTOR, &size);
    assert_memory_not_equal(x, y, size);
    free(x);
    free(y);
    free(b);
    close_rig(&a);
    close_rig(&twin);
}

static void a_rate_of_zero_trains_nothing(void **state)
{
    (void)state;
    wk_learner_config config = tiny(0);
    config.policy_rate = 0;
    rig r = open_rig(config, 1);
    size_t size;
    uint8_t *before = weights(&r, WK_SET_EXPLORE_ACTOR, &size);
    update(&r, 0);
    uint8_t *after = weights(&r, WK_SET_EXPLORE_ACTOR, &size);
    const float *x = (const float *)before, *y = (const float *)after;
    for (size_t i = 0; i < size / sizeof *x; i++) // only the decay of 1e-6 acts
        assert_near(y[i], x[i], 2e-6 * fabs((double)x[i]));
    free(before);
    free(after);
    close_rig(&r);
}

static void bad_configs_are_refused_with_the_field_and_its_range(void **state)
{
    (void)state;
    wk_backend *backend;
    wk_learner *learner;
    assert_ok(test_backend_create(NULL, &backend, &err));
    wk_learner_config c = tiny(0);
    c.depth = 0;
    assert_refused(wk_learner_create(&c, backend, &learner, &err), WK_E_INPUT, "depth = 0");
    c = tiny(0), c.discount = NAN;
    assert_refused(wk_learner_create(&c, backend, &learner, &err), WK_E_INPUT, "discount");
    c = tiny(0), c.length = 1;
    assert_refused(wk_learner_create(&c, backend, &learner, &err), WK_E_INPUT, "2 to 1024");
    c = tiny(0), c.action_size = 0;
    assert_refused(wk_learner_create(&c, backend, &learner, &err), WK_E_INPUT, "action_size");
    c = tiny(17);
    assert_refused(wk_learner_create(&c, backend, &learner, &err), WK_E_INPUT, "tasks = 17");
    wk_backend_destroy(backend);
}

static void a_learner_without_tasks_has_no_task_updates(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_learner_batch v = view(b);
    wk_acting *acting;
    assert_refused(wk_learner_update_tasks(r.learner, &v, NULL, &err), WK_E_INPUT, "without tasks");
    assert_refused(wk_acting_create(r.learner, 0, 1, &acting, &err), WK_E_INPUT, "task 0");
    free(b);
    close_rig(&r);
}

// Three environments see the batch's rows as images of one step.
static void act(wk_acting *acting, const batch *b, int step, const uint8_t *first, wk_act_mode mode,
                float *actions)
{
    assert_ok(wk_acting_step(acting, b->images + (size_t)(step * B) * PIXELS,
                             b->actions + step * B * A, first, mode, actions, &err));
}

static wk_acting *open_acting(rig *r, int policy)
{
    wk_acting *acting;
    assert_ok(wk_acting_create(r->learner, policy, B, &acting, &err));
    return acting;
}

static const uint8_t none[B] = {0}, all[B] = {1, 1, 1};

static void actions_are_within_range_and_repeat_with_the_seed(void **state)
{
    (void)state;
    rig r = open_rig(tiny(TASKS), 1);
    batch *b = make_batch(0);
    for (int policy = WK_POLICY_EXPLORE; policy < TASKS; policy++) {
        wk_acting *one = open_acting(&r, policy), *two = open_acting(&r, policy);
        for (int t = 0; t < T; t++) {
            float x[B * A], y[B * A];
            act(one, b, t, t == 0 ? all : none, WK_ACT_SAMPLE, x);
            act(two, b, t, t == 0 ? all : none, WK_ACT_SAMPLE, y);
            assert_memory_equal(x, y, sizeof x);
            for (int i = 0; i < B * A; i++)
                assert_true(fabs((double)x[i]) <= 1);
        }
        wk_acting_destroy(one);
        wk_acting_destroy(two);
    }
    free(b);
    close_rig(&r);
}

static void a_first_flag_forgets_what_was_before(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *fresh = open_acting(&r, WK_POLICY_EXPLORE),
              *used = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(used, b, 1, all, WK_ACT_MODE, y);
    act(fresh, b, 2, all, WK_ACT_MODE, x); // one draw each, so that the counters agree
    act(fresh, b, 0, all, WK_ACT_MODE, x);
    act(used, b, 0, all, WK_ACT_MODE, y);
    assert_memory_equal(x, y, sizeof x);
    // Without the flag the past shows, in the one environment that keeps it.
    act(fresh, b, 1, all, WK_ACT_MODE, x);
    act(used, b, 1, (const uint8_t[B]){1, 0, 1}, WK_ACT_MODE, y);
    assert_memory_equal(x, y, A * sizeof *x);
    assert_memory_not_equal(x + A, y + A, A * sizeof *x);
    assert_memory_equal(x + 2 * A, y + 2 * A, A * sizeof *x);
    wk_acting_destroy(fresh);
    wk_acting_destroy(used);
    free(b);
    close_rig(&r);
}

static void beginning_makes_an_acting_policy_like_a_new_one(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *fresh = open_acting(&r, WK_POLICY_EXPLORE),
              *used = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    for (int t = 0; t < T; t++)
        act(used, b, t, none, WK_ACT_SAMPLE, y);
    for (uint64_t counter = 0; counter < 2; counter++) {
        assert_ok(wk_acting_begin(used, counter, &err));
        // The fresh one has drawn once before the second round.
        if (counter == 1) assert_ok(wk_acting_begin(fresh, 0, &err));
        if (counter == 1) act(fresh, b, 3, all, WK_ACT_SAMPLE, x);
        act(fresh, b, 0, counter ? all : none, WK_ACT_SAMPLE, x);
        act(used, b, 0, counter ? all : none, WK_ACT_SAMPLE, y);
        assert_memory_equal(x, y, sizeof x);
    }
    wk_acting_destroy(fresh);
    wk_acting_destroy(used);
    free(b);
    close_rig(&r);
}

static void samples_vary_around_the_mode(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *acting = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A], mode[B * A];
    act(acting, b, 0, all, WK_ACT_SAMPLE, x);
    act(acting, b, 0, all, WK_ACT_SAMPLE, y);
    assert_memory_not_equal(x, y, sizeof x);
    act(acting, b, 0, all, WK_ACT_MODE, mode);
    // An untrained actor's mode is near zero, where its samples are all over the range.
    for (int i = 0; i < B * A; i++)
        assert_true(fabs((double)mode[i]) < 0.9);
    wk_acting_destroy(acting);
    free(b);
    close_rig(&r);
}

static void a_saved_acting_state_continues_bit_for_bit(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *one = open_acting(&r, WK_POLICY_EXPLORE), *two = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(one, b, 0, all, WK_ACT_SAMPLE, x);
    act(one, b, 1, none, WK_ACT_SAMPLE, x);
    void *bytes = malloc(wk_acting_state_size(one));
    assert_non_null(bytes);
    assert_ok(wk_acting_save(one, bytes, &err));
    assert_ok(wk_acting_load(two, bytes, &err));
    for (int t = 2; t < T; t++) {
        act(one, b, t, none, WK_ACT_SAMPLE, x);
        act(two, b, t, none, WK_ACT_SAMPLE, y);
        assert_memory_equal(x, y, sizeof x);
    }
    free(bytes);
    wk_acting_destroy(one);
    wk_acting_destroy(two);
    free(b);
    close_rig(&r);
}

// Acting reads the weights in place: training changes what is done without making anything anew.
static void acting_follows_the_weights(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *acting = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(acting, b, 0, all, WK_ACT_MODE, x);
    update(&r, 0);
    act(acting, b, 0, all, WK_ACT_MODE, y);
    assert_memory_not_equal(x, y, sizeof x);
    wk_acting_destroy(acting);
    free(b);
    close_rig(&r);
}

typedef struct pictures {
    float images[(T - 1) * B * PIXELS], error[(T - 1) * B], disagreement[(T - 1) * B];
    float open_loop[T * B * PIXELS];
} pictures;

static pictures *predict(rig *r, const batch *b, int context)
{
    pictures *out = malloc(sizeof *out);
    assert_non_null(out);
    wk_prediction *prediction;
    assert_ok(wk_prediction_create(r->learner, B, T, context, &prediction, &err));
    wk_learner_batch v = view(b);
    wk_predicted to = {out->images, out->error, out->disagreement, out->open_loop};
    assert_ok(wk_prediction_run(prediction, &v, &to, &err));
    wk_prediction_destroy(prediction);
    return out;
}

static void the_one_step_error_is_the_mean_squared_error_of_the_images(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *p = predict(&r, b, 1);
    for (int i = 0; i < (T - 1) * B; i++) {
        double sum = 0;
        for (int k = 0; k < PIXELS; k++) {
            double truth = b->images[(size_t)(i + B) * PIXELS + (size_t)k] / 255.0 - 0.5;
            double error = p->images[(size_t)i * PIXELS + (size_t)k] - truth;
            sum += error * error;
        }
        assert_near(p->error[i], sum / PIXELS, 1e-5 * sum / PIXELS);
        assert_true(p->disagreement[i] > 0);
    }
    free(p);
    free(b);
    close_rig(&r);
}

// With all of it as context, open loop is reconstruction; a shorter context has the same first
// frames.
static void open_loop_starts_with_the_reconstructed_context(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *whole = predict(&r, b, T), *half = predict(&r, b, 2);
    size_t context = 2 * B * PIXELS;
    assert_memory_equal(whole->open_loop, half->open_loop, context * sizeof(float));
    assert_memory_not_equal(whole->open_loop + context, half->open_loop + context,
                            context * sizeof(float));
    // Frames after the context do not depend on images that were not to be seen.
    memset(b->images + context, 9, context);
    pictures *blind = predict(&r, b, 2);
    assert_memory_equal(half->open_loop, blind->open_loop, sizeof half->open_loop);
    free(whole);
    free(half);
    free(blind);
    free(b);
    close_rig(&r);
}

static void predictions_repeat_and_train_nothing(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1), twin = open_rig(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *x = predict(&r, b, 2), *y = predict(&r, b, 2);
    assert_memory_equal(x, y, sizeof *x);
    assert_same_weights(&r, &twin);
    free(x);
    free(y);
    free(b);
    close_rig(&r);
    close_rig(&twin);
}

static void a_prediction_without_room_is_refused(void **state)
{
    (void)state;
    rig r = open_rig(tiny(0), 1);
    wk_prediction *prediction;
    assert_refused(wk_prediction_create(r.learner, 1, 4, 5, &prediction, &err), WK_E_INPUT,
                   "context within");
    assert_refused(wk_prediction_create(r.learner, 0, 4, 1, &prediction, &err), WK_E_INPUT,
                   "at least one sequence");
    close_rig(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_bytes),
        cmocka_unit_test(another_seed_gives_other_bytes),
        cmocka_unit_test(task_policies_alongside_do_not_change_the_reward_free_run),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(a_restored_learner_continues_bit_for_bit),
        cmocka_unit_test(a_snapshot_of_another_size_is_refused_and_changes_nothing),
        cmocka_unit_test(a_truncated_snapshot_is_refused_and_changes_nothing),
        cmocka_unit_test(weights_are_restored_whole_or_in_parts),
        cmocka_unit_test(a_world_model_fits_learners_with_other_tasks),
        cmocka_unit_test(weights_are_read_from_a_checkpoint_too),
        cmocka_unit_test(weights_that_do_not_fit_are_refused_and_name_their_run),
        cmocka_unit_test(a_single_task_is_taken_from_a_file_with_several),
        cmocka_unit_test(damaged_weights_are_refused_and_change_nothing),
        cmocka_unit_test(an_update_in_three_parts_is_the_same_update),
        cmocka_unit_test(nan_in_a_batch_skips_counts_and_names_the_update),
        cmocka_unit_test(infinity_in_a_batch_skips_counts_and_names_the_update),
        cmocka_unit_test(a_bad_reward_skips_its_own_task_only),
        cmocka_unit_test(random_exploration_has_no_actor_and_still_estimates_errors),
        cmocka_unit_test(the_error_estimates_average_to_the_disagreement),
        cmocka_unit_test(tasks_can_be_trained_from_a_snapshot),
        cmocka_unit_test(a_rate_of_zero_trains_nothing),
        cmocka_unit_test(bad_configs_are_refused_with_the_field_and_its_range),
        cmocka_unit_test(a_learner_without_tasks_has_no_task_updates),
        cmocka_unit_test(actions_are_within_range_and_repeat_with_the_seed),
        cmocka_unit_test(a_first_flag_forgets_what_was_before),
        cmocka_unit_test(beginning_makes_an_acting_policy_like_a_new_one),
        cmocka_unit_test(samples_vary_around_the_mode),
        cmocka_unit_test(a_saved_acting_state_continues_bit_for_bit),
        cmocka_unit_test(acting_follows_the_weights),
        cmocka_unit_test(the_one_step_error_is_the_mean_squared_error_of_the_images),
        cmocka_unit_test(open_loop_starts_with_the_reconstructed_context),
        cmocka_unit_test(predictions_repeat_and_train_nothing),
        cmocka_unit_test(a_prediction_without_room_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
