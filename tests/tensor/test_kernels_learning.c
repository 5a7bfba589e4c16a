// Losses, λ-returns, ensemble disagreement, the global norm and Adam, against their formulas in
// double and central differences.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

typedef struct loss_call {
    size_t stacks, rows, cols, target_stride;
    const float *x, *target, *dy;
    float *y, *dx;
    double *exact_x;
} loss_call;

RUN(run_loss, loss_call *l,
    wk_cpu_half_squared_error(l->stacks, l->rows, l->cols, l->x, l->target, l->target_stride, l->y,
                              pool))
RUN(run_loss_backward, loss_call *l,
    wk_cpu_half_squared_error_backward(l->stacks, l->rows, l->cols, l->x, l->target,
                                       l->target_stride, l->dy, l->dx, pool))

static double row_loss(const loss_call *l, size_t row)
{
    double sum = 0;
    const float *target = l->target + row / l->rows * l->target_stride + row % l->rows * l->cols;
    for (size_t c = 0; c < l->cols; c++)
        sum += 0.5 * pow(l->exact_x[row * l->cols + c] - target[c], 2);
    return sum;
}

static double total_loss(void *context)
{
    const loss_call *l = context;
    double sum = 0;
    for (size_t r = 0; r < l->stacks * l->rows; r++)
        sum += l->dy[r] * row_loss(l, r);
    return sum;
}

TEST_CASE(gaussian_loss_matches_its_formula_and_gradient)
{
    size_t shapes[][3] = {{1, 1, 1}, {2, 3, 7}, {1, 5, 67}, {3, 2, 33}, {2, 0, 3}};
    for (int k = 0; k < 10; k++) {
        arrays a = arrays_new(1 + (uint64_t)k);
        size_t *s = shapes[k / 2], n = s[0] * s[1] * s[2], rows = s[0] * s[1];
        loss_call l = {
            .stacks = s[0], .rows = s[1], .cols = s[2], .target_stride = k % 2 ? s[1] * s[2] : 0};
        l.x = new_input(&a, n, -1, 1), l.dy = new_input(&a, rows, -1, 1);
        l.target = new_input(&a, k % 2 ? n : s[1] * s[2], -1, 1);
        l.y = new_output(&a, rows), l.dx = new_output(&a, n), l.exact_x = exact_of(&a, l.x, n);
        kernel_call call = {run_loss, &l, {{l.y, rows}}};
        run_on_all_threads(&call);
        for (size_t r = 0; r < rows; r++)
            assert_near(l.y[r], row_loss(&l, r), 1e-6 * (1 + (double)s[2]));
        call = (kernel_call){run_loss_backward, &l, {{l.dx, n}}};
        run_on_all_threads(&call);
        check_gradient("x", total_loss, &l, l.exact_x, n, l.dx, 1e-6, 1e-6);
        arrays_release(&a);
    }
}

typedef struct return_call {
    wk_lambda_return p;
    const float *reward, *value, *dy;
    float *y, *dreward, *dvalue;
    double *exact_reward, *exact_value, *expected;
} return_call;

RUN(run_return, return_call *l, wk_cpu_lambda_return(&l->p, l->reward, l->value, l->y, pool))
RUN(run_return_backward, return_call *l,
    wk_cpu_lambda_return_backward(&l->p, l->dy, l->dreward, l->dvalue, pool))

// The return of step t as the weighted sum of n-step returns: (1 - λ) Σ λ^(n-1) G^(n), the last
// one with all the remaining weight. Independent of the recursion the kernel uses.
static double return_of(const return_call *l, size_t stack, size_t t, size_t row)
{
    size_t T = l->p.steps, R = l->p.rows;
    double total = 0, rewards = 0, discount = 1, weight = 1;
    for (size_t n = 1; t + n <= T; n++) {
        rewards += discount * l->exact_reward[(stack * T + t + n - 1) * R + row];
        discount *= l->p.discount;
        double n_step = rewards + discount * l->exact_value[(stack * (T + 1) + t + n) * R + row];
        bool last = t + n == T;
        total += (last ? weight : weight * (1 - l->p.lambda)) * n_step;
        weight *= l->p.lambda;
    }
    return total;
}

static void all_returns(return_call *l)
{
    size_t T = l->p.steps, R = l->p.rows;
    for (size_t i = 0; i < l->p.stacks * T * R; i++)
        l->expected[i] = return_of(l, i / (T * R), i / R % T, i % R);
}

static double return_loss(void *context)
{
    return_call *l = context;
    double sum = 0;
    all_returns(l);
    for (size_t i = 0; i < l->p.stacks * l->p.steps * l->p.rows; i++)
        sum += l->dy[i] * l->expected[i];
    return sum;
}

TEST_CASE(lambda_returns_match_the_sum_of_n_step_returns)
{
    wk_lambda_return shapes[] = {{1, 1, 1, 0.99f, 0.95f}, {1, 15, 3, 0.99f, 0.95f},
                                 {2, 4, 5, 0.9f, 0.5f},   {1, 3, 2, 0.99f, 0.0f},
                                 {1, 3, 2, 0.99f, 1.0f},  {1, 2, 3001, 0.99f, 0.95f},
                                 {1, 2, 0, 0.99f, 0.95f}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        arrays a = arrays_new(20 + k);
        return_call l = {.p = shapes[k]};
        size_t n = l.p.stacks * l.p.steps * l.p.rows,
               values = l.p.stacks * (l.p.steps + 1) * l.p.rows;
        l.reward = new_input(&a, n, -1, 1), l.value = new_input(&a, values, -1, 1);
        l.dy = new_input(&a, n, -1, 1), l.y = new_output(&a, n), l.dreward = new_output(&a, n);
        l.dvalue = new_output(&a, values), l.exact_reward = exact_of(&a, l.reward, n);
        l.exact_value = exact_of(&a, l.value, values), l.expected = exact_of(&a, l.reward, n);
        kernel_call call = {run_return, &l, {{l.y, n}}};
        run_on_all_threads(&call);
        all_returns(&l);
        check_close("y", n, l.y, l.expected, 2e-6, 1e-6);
        call = (kernel_call){run_return_backward, &l, {{l.dreward, n}, {l.dvalue, values}}};
        run_on_all_threads(&call);
        if (n < 1000) {
            check_gradient("reward", return_loss, &l, l.exact_reward, n, l.dreward, 3e-6, 1e-6);
            check_gradient("value", return_loss, &l, l.exact_value, values, l.dvalue, 3e-6, 1e-6);
        }
        arrays_release(&a);
    }
}

typedef struct spread_call {
    wk_disagreement kind;
    size_t stacks, rows, cols;
    float scale;
    const float *x, *dy;
    float *y, *dx;
    double *exact_x;
} spread_call;

RUN(run_spread, spread_call *d,
    wk_cpu_disagreement(d->kind, d->stacks, d->rows, d->cols, d->scale, d->x, d->y, pool))
RUN(run_spread_backward, spread_call *d,
    wk_cpu_disagreement_backward(d->kind, d->stacks, d->rows, d->cols, d->scale, d->x, d->dy, d->dx,
                                 pool))

static double row_spread(const spread_call *d, size_t r)
{
    double total = 0;
    for (size_t c = 0; c < d->cols; c++) {
        double mean = 0, square = 0;
        for (size_t s = 0; s < d->stacks; s++)
            mean += d->exact_x[(s * d->rows + r) * d->cols + c] / (double)d->stacks;
        for (size_t s = 0; s < d->stacks; s++)
            square +=
                pow(d->exact_x[(s * d->rows + r) * d->cols + c] - mean, 2) / (double)d->stacks;
        total += d->kind == WK_DISAGREEMENT_STD ? sqrt(square) : square;
    }
    return d->scale * total / (double)d->cols;
}

static double spread_loss(void *context)
{
    const spread_call *d = context;
    double sum = 0;
    for (size_t r = 0; r < d->rows; r++)
        sum += d->dy[r] * row_spread(d, r);
    return sum;
}

TEST_CASE(disagreement_matches_its_formula_and_gradient)
{
    size_t shapes[][3] = {{2, 1, 1}, {5, 3, 7}, {10, 2, 300}, {3, 4, 37}, {4, 0, 3}};
    for (int k = 0; k < 10; k++) {
        arrays a = arrays_new(40 + (uint64_t)k);
        size_t *s = shapes[k / 2], n = s[0] * s[1] * s[2];
        spread_call d = {.kind = k % 2 ? WK_DISAGREEMENT_VARIANCE : WK_DISAGREEMENT_STD,
                         .stacks = s[0],
                         .rows = s[1],
                         .cols = s[2],
                         .scale = 50};
        d.x = new_input(&a, n, -1, 1), d.dy = new_input(&a, s[1], -1, 1);
        d.y = new_output(&a, s[1]), d.dx = new_output(&a, n), d.exact_x = exact_of(&a, d.x, n);
        kernel_call call = {run_spread, &d, {{d.y, s[1]}}};
        run_on_all_threads(&call);
        for (size_t r = 0; r < s[1]; r++)
            assert_near(d.y[r], row_spread(&d, r), 2e-5);
        call = (kernel_call){run_spread_backward, &d, {{d.dx, n}}};
        run_on_all_threads(&call);
        check_gradient("x", spread_loss, &d, d.exact_x, n, d.dx, 5e-5, 1e-5);
        arrays_release(&a);
    }
}

TEST_CASE(equal_members_disagree_by_zero_with_zero_gradient)
{
    float x[] = {1.5f, -2, 1.5f, -2, 1.5f, -2}, y, dy = 1, dx[6];
    wk_cpu_disagreement(WK_DISAGREEMENT_STD, 3, 1, 2, 50, x, &y, NULL);
    wk_cpu_disagreement_backward(WK_DISAGREEMENT_STD, 3, 1, 2, 50, x, &dy, dx, NULL);
    assert_true(y == 0);
    for (int i = 0; i < 6; i++)
        assert_true(dx[i] == 0);
}

TEST_CASE(stacks_are_summed_in_order)
{
    float x[] = {1, 2, 3, 10, 20, 30}, y[3] = {100, 200, 300};
    wk_cpu_stack_sum(2, 3, x, y, NULL);
    assert_memory_equal(y, ((float[]){11, 22, 33}), sizeof y);
}

typedef struct norm_call {
    wk_span spans[3];
    float *norm;
} norm_call;

RUN(run_global_norm, norm_call *n, wk_cpu_global_norm(3, n->spans, n->norm, pool))

TEST_CASE(global_norm_is_that_of_all_spans_together)
{
    arrays a = arrays_new(60);
    size_t counts[] = {300001, 0, 17};
    norm_call n = {.norm = new_output(&a, 1)};
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        n.spans[i] = (wk_span){new_input(&a, counts[i], -1, 1), counts[i]};
        for (size_t k = 0; k < counts[i]; k++)
            sum += (double)n.spans[i].data[k] * n.spans[i].data[k];
    }
    kernel_call call = {run_global_norm, &n, {{n.norm, 1}}};
    run_on_all_threads(&call);
    assert_near(*n.norm / sqrt(sum), 1, 2e-7);
    arrays_release(&a);
}

typedef struct adam_call {
    wk_adam p;
    size_t n;
    const float *norm, *grad;
    float *weight, *m, *v;
} adam_call;

RUN(run_adam, adam_call *c, wk_cpu_adam(&c->p, c->n, c->norm, c->grad, c->weight, c->m, c->v, pool))

// One weight through the textbook algorithm, in double.
static void reference_step(const wk_adam *p, double g, double *w, double *m, double *v)
{
    *w *= 1 - p->decay;
    *m = p->beta1 * *m + (1 - p->beta1) * g;
    *v = p->beta2 * *v + (1 - p->beta2) * g * g;
    double m_hat = *m / (1 - pow(p->beta1, (double)p->step));
    double v_hat = *v / (1 - pow(p->beta2, (double)p->step));
    *w -= p->rate * m_hat / (sqrt(v_hat) + p->eps);
}

static void check_adam(double clip, float norm, size_t n, uint64_t seed)
{
    arrays a = arrays_new(seed);
    adam_call c = {.p = {3e-4, 0.9, 0.999, 1e-5, 1e-6, clip, 0}, .n = n, .norm = &norm};
    float *grad = new_input(&a, n, -1, 1);
    c.grad = grad, c.weight = new_input(&a, n, -1, 1);
    c.m = new_input(&a, n, 0, 0), c.v = new_input(&a, n, 0, 0);
    double *w = exact_of(&a, c.weight, n), *m = exact_of(&a, c.m, n), *v = exact_of(&a, c.v, n);
    for (uint64_t step = 1; step <= 5; step++) {
        c.p.step = step;
        for (size_t i = 0; i < n; i++) {
            grad[i] = (float)wk_rng_uniform(&a.rng, -1, 1);
            double scale = clip > 0 && norm > clip ? clip / norm : 1;
            reference_step(&c.p, grad[i] * scale, &w[i], &m[i], &v[i]);
        }
        kernel_call call = {run_adam, &c, {{c.weight, n}, {c.m, n}, {c.v, n}}};
        run_on_all_threads(&call);
    }
    check_close("weight", n, c.weight, w, 4e-7, 0);
    check_close("m", n, c.m, m, 1e-7, 1e-6);
    check_close("v", n, c.v, v, 1e-9, 1e-6);
    arrays_release(&a);
}

TEST_CASE(adam_follows_the_textbook_with_clipping_and_decay)
{
    check_adam(100, 50, 37, 70);
    check_adam(100, 400, 37, 71);
    check_adam(0, 400, 1, 72);
    check_adam(100, 101, 40001, 73);
    check_adam(100, 101, 0, 74);
}

TEST_CASE(decay_alone_shrinks_every_weight)
{
    float w[] = {1, -2}, m[2] = {0}, v[2] = {0}, grad[2] = {0}, norm = 0;
    wk_adam p = {1e-3, 0.9, 0.999, 1e-5, 0.25, 100, 1};
    wk_cpu_adam(&p, 2, &norm, grad, w, m, v, NULL);
    assert_true(w[0] == 0.75f && w[1] == -1.5f);
}

TEST_CASE(a_norm_that_is_not_finite_changes_nothing)
{
    float w = 1, m = 2, v = 3, grad = 4, norms[] = {NAN, INFINITY};
    wk_adam p = {1e-3, 0.9, 0.999, 1e-5, 1e-6, 100, 1};
    for (int i = 0; i < 2; i++)
        wk_cpu_adam(&p, 1, &norms[i], &grad, &w, &m, &v, NULL);
    assert_true(w == 1 && m == 2 && v == 3);
}

TEST_MAIN(NULL, NULL)
