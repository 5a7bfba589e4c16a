// Learners of discrete actions and of vectors, besides or instead of images: the distribution of
// a one-hot actor and its gradients, that whole updates repeat to the bit on any device, that
// policies choose one action, and what predictions are of.
#include "agent/acting.h"
#include "agent/behaviour.h"
#include "agent/fixture.h"
#include "agent/prediction.h"
#include "support/engine.h"
#include <math.h>

enum { V = 7, KINDS = 3 };

// Of numbers that are computed by formulas too.
static double tolerance(void)
{
    return on_gpu() ? 5e-4 : 1e-5;
}

/* ---- The actor's distribution ---------------------------------------------------------------- */

enum { CASES = 4 };
static const float logits[CASES * KINDS] = {0, 0, 0, 1, -2, 0.5f, -30, 3, 2.5f, 8, 8, -9};
static const float taken[CASES * KINDS] = {1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1};

static void softmax(const float *x, double *p)
{
    double sum = 0;
    for (int i = 0; i < KINDS; i++)
        sum += p[i] = exp((double)x[i]);
    for (int i = 0; i < KINDS; i++)
        p[i] /= sum;
}

static wk_learner_config three_kinds(void)
{
    wk_learner_config c = tiny(0);
    c.action_size = KINDS;
    c.discrete = true;
    return c;
}

typedef wk_tensor measure(wk_graph *g, const wk_learner_config *c, wk_tensor raw);

static wk_tensor surprise(wk_graph *g, const wk_learner_config *c, wk_tensor raw)
{
    return wk_actor_neg_log_prob(g, c, raw, wk_graph_constant(g, WK_SHAPE(1, CASES, KINDS), taken));
}

// The measure of each row, and the gradient of its sum by the logits.
static void compute(measure *of, float values[CASES], float gradient[CASES * KINDS])
{
    engine e = engine_open(1);
    const wk_learner_config c = three_kinds();
    wk_tensor raw = wk_graph_input(e.g, WK_F32, WK_SHAPE(1, CASES, KINDS), "raw"), d;
    wk_tensor y = of(e.g, &c, raw);
    wk_graph_gradients(e.g, wk_graph_sum_all(e.g, y), &raw, 1, &d);
    wk_graph_output(e.g, y);
    wk_graph_output(e.g, d);
    engine_set(&e, raw, logits);
    engine_run(&e);
    engine_get(&e, y, values);
    engine_get(&e, d, gradient);
    engine_close(&e);
}

TEST_CASE(the_surprise_is_minus_the_log_probability)
{
    float values[CASES], gradient[CASES * KINDS];
    compute(surprise, values, gradient);
    for (int n = 0; n < CASES; n++) {
        double p[KINDS], probability = 0;
        softmax(logits + n * KINDS, p);
        for (int i = 0; i < KINDS; i++) {
            bool chosen = taken[n * KINDS + i] == 1;
            probability += chosen ? p[i] : 0;
            assert_float_equal(gradient[n * KINDS + i], p[i] - chosen, tolerance());
        }
        assert_float_equal(values[n], -log(probability), 10 * tolerance());
    }
}

TEST_CASE(the_entropy_and_its_gradient_are_those_of_the_categorical)
{
    float values[CASES], gradient[CASES * KINDS];
    compute(wk_actor_entropy, values, gradient);
    for (int n = 0; n < CASES; n++) {
        double p[KINDS], entropy = 0;
        softmax(logits + n * KINDS, p);
        for (int i = 0; i < KINDS; i++)
            entropy -= p[i] * log(p[i]);
        assert_float_equal(values[n], entropy, tolerance());
        for (int i = 0; i < KINDS; i++)
            assert_float_equal(gradient[n * KINDS + i], -p[i] * (log(p[i]) + entropy), tolerance());
    }
}

/* ---- Whole learners -------------------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    bool discrete;
    wk_observation_spec observation;
    wk_exploration exploration;
    bool ends; // episodes can end early
} kind;

static const kind kinds[] = {
    {"discrete, pictures", true, {0}, WK_EXPLORE_PLAN2EXPLORE, false},
    {"discrete, a vector", true, {V, true}, WK_EXPLORE_PLAN2EXPLORE, false},
    {"discrete, both, at random", true, {V, false}, WK_EXPLORE_RANDOM, false},
    {"continuous, both", false, {V, false}, WK_EXPLORE_PLAN2EXPLORE, false},
    {"continuous, a vector", false, {V, true}, WK_EXPLORE_PLAN2EXPLORE, false},
    {"continuous, ends", false, {V, false}, WK_EXPLORE_PLAN2EXPLORE, true},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static wk_learner_config config_of(const kind *k)
{
    wk_learner_config c = tiny(TASKS);
    c.discrete = k->discrete;
    c.observation = k->observation;
    c.exploration = k->exploration;
    c.discount_head = k->ends;
    return c;
}

// Batch `number` of the fixture with vectors, and with one-hot actions where they are discrete.
typedef struct seen_batch {
    batch *plain;
    float vectors[ROWS * V];
    uint8_t ends[ROWS];
    wk_learner_batch view;
} seen_batch;

static seen_batch *make_seen(const wk_learner_config *c, uint64_t number)
{
    seen_batch *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->plain = make_batch(number);
    wk_rng rng = wk_rng_stream(3, "test vectors", number);
    for (int i = 0; i < ROWS * V; i++)
        b->vectors[i] = (float)wk_rng_uniform(&rng, -2, 2);
    for (int i = 0; c->discrete && i < ROWS; i++)
        for (int k = 0; k < A; k++)
            b->plain->actions[i * A + k] = k == i % A;
    b->view = view(b->plain);
    b->view.vectors = b->vectors;
    b->view.ends = b->ends;
    for (int i = ROWS - B; c->discount_head && i < ROWS; i++)
        b->ends[i] = (i + (int)number) % 2 == 0;
    if (c->observation.no_image) b->view.images = NULL;
    return b;
}

static void free_seen(seen_batch *b)
{
    free(b->plain);
    free(b);
}

static record update_seen(fixture *f, uint64_t number, wk_task_metrics *tasks)
{
    record out;
    memset(&out, 0, sizeof out);
    seen_batch *b = make_seen(&f->learner->config, number);
    assert_ok(wk_learner_stage(f->learner, &b->view, &err));
    assert_ok(wk_learner_start(f->learner, &err));
    assert_ok(wk_learner_start_tasks(f->learner, &err));
    assert_ok(wk_learner_finish(f->learner, &out.metrics, out.delta, &err));
    wk_learner_read_tasks(f->learner, tasks);
    free_seen(b);
    return out;
}

static void assert_metrics(const wk_learner_config *c, const wk_learner_metrics *m,
                           const wk_task_metrics *tasks)
{
    assert_null(wk_learner_metrics_nonfinite(m));
    assert_null(wk_task_metrics_nonfinite(tasks, TASKS));
    assert_true(c->observation.no_image == (m->image_loss == 0));
    assert_true((c->observation.vector > 0) == (m->vector_loss > 0));
    for (int k = 0; c->discrete && k < TASKS; k++) {
        float entropy = tasks->policy[k].entropy;
        assert_true(entropy > 0 && entropy <= logf((float)A) + 1e-5f);
    }
}

// gamma^t (pi - a_t) (G_t - v(z_t)) / (H N): what the logits of step t and start n get.
TEST_CASE(reinforce_weighs_choices_by_what_they_brought_beyond_the_critic)
{
    enum { H = 3, N = 4, STATES = (H + 1) * N, CHOICES = H * N };
    static const wk_network_id sets[] = {WK_NETWORK_TASK_ACTOR, WK_NETWORK_TASK_CRITIC,
                                         WK_NETWORK_TASK_SLOW};
    const wk_learner_config c = config_of(&kinds[2]);
    const int width = wk_config_features(&c);
    fixture f = open_fixture(c, 1);
    wk_compiled_graph compiled = {0};
    assert_ok(wk_compiled_graph_begin(&compiled, f.learner, sets, 3, &err));
    wk_graph *g = compiled.graph;
    static float features[TASKS * STATES * 64], actions[TASKS * CHOICES * A], r[TASKS * CHOICES];
    assert_true(c.horizon == H && width <= 64);
    wk_rng rng = wk_rng_stream(1, "reinforce", 0);
    for (int i = 0; i < TASKS * STATES * width; i++)
        features[i] = (float)wk_rng_uniform(&rng, -1, 1);
    for (int i = 0; i < TASKS * CHOICES; i++) {
        r[i] = (float)wk_rng_uniform(&rng, -1, 1);
        actions[i * A + (int)wk_rng_below(&rng, A)] = 1;
    }
    const wk_rollout rollout = {
        .stack = TASKS,
        .starts = N,
        .features = wk_graph_constant(g, WK_SHAPE(TASKS, STATES, width), features),
        .actions = wk_graph_constant(g, WK_SHAPE(TASKS, CHOICES, A), actions)};
    const wk_policy_scopes policy = {compiled.scope[WK_NETWORK_TASK_ACTOR],
                                     compiled.scope[WK_NETWORK_TASK_CRITIC],
                                     compiled.scope[WK_NETWORK_TASK_SLOW]};
    wk_behaviour b =
        wk_behaviour_record(&policy, &c, &rollout, wk_graph_constant(g, WK_SHAPE(TASKS, H, N), r));
    wk_tensor value = wk_scalar_head(policy.slow, &c, rollout.features), d;
    wk_graph_gradients(g, wk_graph_sum_all(g, b.return_loss), &b.action_params, 1, &d);
    const wk_tensor read[] = {b.returns, value, b.action_params, d};
    for (int i = 0; i < 4; i++)
        wk_graph_output(g, read[i]);
    assert_ok(wk_compiled_graph_finish(&compiled, f.learner, &err));
    assert_ok(wk_program_run(compiled.program, &err));
    float G[TASKS * CHOICES], v[TASKS * STATES], raw[TASKS * CHOICES * A], got[TASKS * CHOICES * A];
    float *const to[] = {G, v, raw, got};
    const size_t sizes[] = {sizeof G, sizeof v, sizeof raw, sizeof got};
    for (int i = 0; i < 4; i++)
        assert_ok(wk_program_download(compiled.program, read[i], to[i], sizes[i], &err));
    for (int s = 0; s < TASKS; s++)
        for (int i = 0; i < CHOICES; i++) {
            int at = s * CHOICES + i;
            double weight = pow((double)c.discount, i / N) / CHOICES;
            double beyond = (double)G[at] - (double)v[s * STATES + i];
            double odds = 1 / (1 + exp((double)raw[at * A + 1] - (double)raw[at * A]));
            double expected = weight * beyond * (odds - (double)actions[at * A]);
            assert_float_equal(got[at * A], expected, tolerance());
            assert_float_equal(got[at * A + 1], -expected, tolerance());
        }
    wk_compiled_graph_free(&compiled);
    close_fixture(&f);
}

TEST_CASE(updates_repeat_to_the_bit_on_any_device)
{
    for (int i = 0; i < N_KINDS; i++) {
        const wk_learner_config c = config_of(&kinds[i]);
        fixture plain = open_fixture(c, 1), threads = open_fixture(c, 3);
        fixture late = open_beside(c, ASYNC_LATE), eager = open_beside(c, ASYNC_EAGER);
        fixture *const others[] = {&threads, &late, &eager};
        wk_task_metrics tasks;
        for (uint64_t n = 0; n < UPDATES; n++) {
            record x = update_seen(&plain, n, &tasks);
            assert_metrics(&c, &x.metrics, &tasks);
            for (int k = 0; k < 3; k++) {
                record y = update_seen(others[k], n, &tasks);
                if (!on_gpu() && memcmp(&x, &y, sizeof x) != 0)
                    fail_msg("%s: %d differs", kinds[i].name, k);
            }
        }
        for (int k = 0; k < 3; k++) {
            if (!on_gpu()) assert_same_weights(&plain, others[k]);
            close_fixture(others[k]);
        }
        close_fixture(&plain);
    }
}

TEST_CASE(saved_learners_go_on_alike)
{
    for (int i = 0; i < N_KINDS; i++) {
        const wk_learner_config c = config_of(&kinds[i]);
        fixture a = open_fixture(c, 1), b = open_fixture(c, 1);
        wk_task_metrics tasks;
        update_seen(&a, 0, &tasks);
        assert_ok(wk_learner_save(a.learner, NULL, own_file(0), NULL, 0, &err));
        assert_ok(wk_learner_restore(b.learner, NULL, own_file(0), &err));
        record x = update_seen(&a, 1, &tasks), y = update_seen(&b, 1, &tasks);
        if (!on_gpu()) assert_memory_equal(&x, &y, sizeof x);
        unlink(own_file(0));
        close_fixture(&a);
        close_fixture(&b);
    }
}

// Weights of one kind of observation are refused by a learner of another.
TEST_CASE(weights_of_other_observations_are_refused)
{
    fixture a = open_fixture(config_of(&kinds[0]), 1), b = open_fixture(config_of(&kinds[2]), 1);
    assert_ok(wk_learner_save(a.learner, NULL, own_file(0), NULL, 0, &err));
    assert_int_not_equal(wk_learner_restore(b.learner, NULL, own_file(0), &err), WK_OK);
    assert_non_null(strstr(err.message, "encoder/"));
    unlink(own_file(0));
    close_fixture(&a);
    close_fixture(&b);
}

TEST_CASE(policies_choose_one_action)
{
    for (int i = 0; i < N_KINDS; i++) {
        const wk_learner_config c = config_of(&kinds[i]);
        if (!c.discrete) continue;
        fixture f = open_fixture(c, 1);
        seen_batch *b = make_seen(&c, 0);
        int counts[2][A] = {{0}};
        for (int mode = WK_ACT_SAMPLE; mode <= WK_ACT_MODE; mode++) {
            wk_acting *acting;
            float actions[B * A];
            assert_ok(wk_acting_create(f.learner, 0, B, &acting, &err));
            assert_ok(wk_acting_begin(acting, 1, &err));
            wk_acting_rows rows = {b->view.images, b->vectors, b->view.actions, b->view.first,
                                   actions};
            for (int step = 0; step < 20; step++) {
                assert_ok(wk_acting_step(acting, &rows, (wk_act_mode)mode, &err));
                for (int n = 0; n < B; n++) {
                    assert_true(actions[n * A] + actions[n * A + 1] == 1);
                    assert_true(actions[n * A] == 0 || actions[n * A] == 1);
                    for (int k = 0; k < A; k++)
                        counts[mode][k] += actions[n * A + k] == 1;
                }
            }
            wk_acting_destroy(acting);
        }
        // New actors are near uniform: samples vary, and do so more than modes.
        assert_true(counts[0][0] > 5 && counts[0][1] > 5);
        free_seen(b);
        close_fixture(&f);
    }
}

TEST_CASE(vectors_are_predicted)
{
    for (int i = 2; i < N_KINDS; i++) {
        const wk_learner_config c = config_of(&kinds[i]);
        fixture f = open_fixture(c, 1);
        wk_prediction *p;
        static float error[ROWS], images[ROWS * PIXELS], vectors[ROWS * V];
        seen_batch *b = make_seen(&c, 0);
        wk_task_metrics tasks;
        double before = 0, after = 0;
        assert_ok(wk_prediction_create(f.learner, B, T, 2, &p, &err));
        const wk_predicted out = {.error = error, .open_loop = images, .open_vectors = vectors};
        memset(images, 0, sizeof images);
        assert_ok(wk_prediction_run(p, &b->view, &out, &err));
        assert_true(c.observation.no_image == (images[PIXELS / 2] == 0));
        for (int k = 0; k < (T - 1) * B; k++)
            assert_true(error[k] > 0);
        // Reconstructions of the context become those of this batch. Images of noise take longer.
        for (int k = 0; k < B * V; k++)
            before += fabs((double)vectors[k] - (double)b->vectors[k]);
        for (int n = 0; c.observation.no_image && n < 100; n++)
            update_seen(&f, 0, &tasks);
        assert_ok(wk_prediction_run(p, &b->view, &out, &err));
        for (int k = 0; k < B * V; k++)
            after += fabs((double)vectors[k] - (double)b->vectors[k]);
        if (c.observation.no_image && !(after < 0.9 * before))
            fail_msg("%s: %g, then %g", kinds[i].name, before, after);
        wk_prediction_destroy(p);
        free_seen(b);
        close_fixture(&f);
    }
}

TEST_CASE(configs_that_make_no_sense_are_refused)
{
    wk_learner_config c = tiny(0);
    c.discrete = true;
    assert_ok(wk_learner_config_check(&c, &err));
    c.observation.no_image = true;
    assert_refused(wk_learner_config_check(&c, &err), WK_E_INPUT, "observation.vector = 0");
    c.observation.vector = V;
    assert_ok(wk_learner_config_check(&c, &err));
    wk_learner_config other = c;
    other.observation.vector++;
    assert_false(wk_learner_config_is_alike(&c, &other));
    other = c;
    other.discrete = false;
    assert_false(wk_learner_config_is_alike(&c, &other));
}

TEST_MAIN(NULL, NULL)
