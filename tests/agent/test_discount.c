// The discount head: the model learns when episodes end, and policies expect nothing after it.
#include "agent/behaviour.h"
#include "agent/fixture.h"

enum { S = 2, H = 3, N = 2 };

static void fill(wk_rng *rng, float *out, int count, double min, double max)
{
    for (int i = 0; i < count; i++)
        out[i] = (float)wk_rng_uniform(rng, min, max);
}

// G[t] = r[t] + d[t] ((1 - lambda) v[t+1] + lambda G[t+1]), G[H] = v[H], written down directly.
static double return_at(const float *r, const float *v, const float *d, double lambda, int s, int t,
                        int n)
{
    if (t == H) return (double)v[(s * (H + 1) + H) * N + n];
    int at = (s * H + t) * N + n;
    double next = (double)v[(s * (H + 1) + t + 1) * N + n];
    return (double)r[at] +
           (double)d[at] * ((1 - lambda) * next + lambda * return_at(r, v, d, lambda, s, t + 1, n));
}

typedef struct returns {
    float values[S * H * N], gradient[S * H * N]; // of the sum, by the discounts
} returns;

static returns compute_returns(const wk_learner_config *c, const float *r, const float *v,
                               const float *d)
{
    returns out;
    fixture f = {0};
    wk_graph *g;
    wk_program *program;
    assert_ok(wk_pool_create(1, &f.pool, &err));
    assert_ok(test_backend_create(f.pool, &f.backend, &err));
    assert_ok(wk_graph_create(&g, &err));
    wk_tensor discount = wk_graph_input(g, WK_F32, WK_SHAPE(S, H, N), "discount");
    wk_rollout rollout = {.stack = S, .starts = N, .discount = discount};
    wk_tensor got = wk_rollout_returns(g, c, &rollout, wk_graph_constant(g, WK_SHAPE(S, H, N), r),
                                       wk_graph_constant(g, WK_SHAPE(S, H + 1, N), v));
    wk_tensor gradient;
    wk_graph_gradients(g, wk_graph_sum_all(g, got), &discount, 1, &gradient);
    wk_graph_output(g, got);
    wk_graph_output(g, gradient);
    assert_ok(wk_program_create(g, f.backend, &program, &err));
    assert_ok(wk_program_upload(program, discount, d, sizeof out.values, &err));
    assert_ok(wk_program_run(program, &err));
    assert_ok(wk_program_download(program, got, out.values, sizeof out.values, &err));
    assert_ok(wk_program_download(program, gradient, out.gradient, sizeof out.gradient, &err));
    wk_program_destroy(program);
    wk_graph_destroy(g);
    wk_backend_destroy(f.backend);
    wk_pool_destroy(f.pool);
    return out;
}

static double sum_of_returns(const float *r, const float *v, const float *d, double lambda)
{
    double sum = 0;
    for (int i = 0; i < S * H * N; i++)
        sum += return_at(r, v, d, lambda, i / (H * N), i / N % H, i % N);
    return sum;
}

TEST_CASE(returns_use_the_discount_of_every_state)
{
    wk_learner_config c = tiny(0);
    c.horizon = H;
    float r[S * H * N], v[S * (H + 1) * N], d[S * H * N];
    wk_rng rng = wk_rng_stream(1, "discounts", 0);
    fill(&rng, r, S * H * N, -1, 1);
    fill(&rng, v, S * (H + 1) * N, -1, 1);
    fill(&rng, d, S * H * N, 0, 1);
    d[3] = 0; // an end: nothing after it counts
    returns got = compute_returns(&c, r, v, d);
    for (int i = 0; i < S * H * N; i++) {
        double expected = return_at(r, v, d, (double)c.lambda, i / (H * N), i / N % H, i % N);
        assert_float_equal(got.values[i], expected, 1e-5);
        float saved = d[i];
        d[i] = saved + 1e-2f;
        double above = sum_of_returns(r, v, d, (double)c.lambda);
        d[i] = saved - 1e-2f;
        double below = sum_of_returns(r, v, d, (double)c.lambda);
        d[i] = saved;
        assert_float_equal(got.gradient[i], (above - below) / 2e-2, 1e-4);
    }
}

static wk_learner_config with_head(int tasks)
{
    wk_learner_config c = tiny(tasks);
    c.discount_head = true;
    return c;
}

// Episodes end where the image is white.
static batch *make_ending_batch(uint64_t number, uint8_t ends[ROWS])
{
    batch *b = make_batch(number);
    for (int i = 0; i < ROWS; i++) {
        ends[i] = i >= ROWS - B && (i + (int)number) % 2 == 0;
        memset(b->images + (size_t)i * PIXELS, ends[i] ? 255 : 40, PIXELS);
    }
    return b;
}

static float train_on(fixture *f, uint64_t number)
{
    uint8_t ends[ROWS];
    batch *b = make_ending_batch(number, ends);
    wk_learner_batch v = view(b);
    v.ends = ends;
    wk_learner_metrics m;
    assert_ok(learner_update(f->learner, &v, &m, NULL, &err));
    free(b);
    return m.discount_loss;
}

TEST_CASE(the_model_learns_when_episodes_end)
{
    fixture f = open_fixture(with_head(0), 1);
    float first = train_on(&f, 0), last = first;
    for (uint64_t i = 1; i < 150; i++)
        last = train_on(&f, i);
    if (!(last < 0.1f * first)) fail_msg("discount loss %g, then %g", first, last);
    close_fixture(&f);
}

// Nothing follows any start, so there is nothing to learn from imagination.
TEST_CASE(starts_at_an_end_have_no_weight)
{
    fixture f = open_fixture(with_head(TASKS), 1);
    batch *b = make_batch(1);
    uint8_t ends[ROWS];
    memset(ends, 1, sizeof ends);
    wk_learner_batch v = view(b);
    v.ends = ends;
    wk_learner_metrics m;
    wk_task_metrics t;
    assert_ok(learner_update(f.learner, &v, &m, NULL, &err));
    assert_ok(wk_learner_update_tasks(f.learner, &v, &t, &err));
    assert_true(m.explore.actor_loss == 0 && m.explore.critic_loss == 0);
    assert_true(m.explore.actor_norm == 0 && m.explore.critic_norm == 0);
    assert_true(t.policy[1].actor_loss == 0 && t.policy[1].critic_loss == 0);
    v.ends = NULL;
    assert_ok(learner_update(f.learner, &v, &m, NULL, &err));
    assert_true(m.explore.actor_norm > 0 && m.explore.critic_norm > 0);
    free(b);
    close_fixture(&f);
}

TEST_CASE(without_a_head_ends_change_nothing)
{
    fixture one = open_fixture(tiny(0), 1), other = open_fixture(tiny(0), 1);
    uint8_t ends[ROWS];
    batch *b = make_ending_batch(0, ends);
    wk_learner_batch v = view(b);
    wk_learner_metrics m, n;
    memset(&m, 0, sizeof m);
    memset(&n, 0, sizeof n);
    assert_ok(learner_update(one.learner, &v, &m, NULL, &err));
    v.ends = ends;
    assert_ok(learner_update(other.learner, &v, &n, NULL, &err));
    assert_memory_equal(&m, &n, sizeof m);
    free(b);
    close_fixture(&one);
    close_fixture(&other);
}

TEST_MAIN(NULL, NULL)
