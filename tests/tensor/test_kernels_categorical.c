// Softmax, sampling, entropy and KL: values against formulas in double, gradients against central
// differences, samples against the stated rule and the probabilities.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"
#include "tensor/vmath.h"
#include <pthread.h>

typedef struct call_data {
    size_t rows, variables, classes; // variables of one row
    const float *x, *prior, *dy;
    float *y, *dx, *dprior, *probs;
    wk_draws draws;
    double *exact_x, *exact_prior;
} call_data;

static size_t all_variables(const call_data *d)
{
    return d->rows * d->variables;
}

static void probabilities(size_t n, const double *x, double *p)
{
    double max = x[0], sum = 0;
    for (size_t c = 1; c < n; c++)
        max = fmax(max, x[c]);
    for (size_t c = 0; c < n; c++)
        sum += exp(x[c] - max);
    for (size_t c = 0; c < n; c++)
        p[c] = exp(x[c] - max) / sum;
}

RUN(run_softmax, call_data *d, wk_cpu_softmax(all_variables(d), d->classes, d->x, d->y, pool))
RUN(run_softmax_backward, call_data *d,
    wk_cpu_softmax_backward(all_variables(d), d->classes, d->y, d->dy, d->dx, pool))
RUN(run_entropy, call_data *d, wk_cpu_entropy(d->rows, d->variables, d->classes, d->x, d->y, pool))
RUN(run_kl, call_data *d, wk_cpu_kl(d->rows, d->variables, d->classes, d->x, d->prior, d->y, pool))
RUN(run_kl_backward, call_data *d,
    wk_cpu_kl_backward(d->rows, d->variables, d->classes, d->x, d->prior, d->dy, d->dx, d->dprior,
                       pool))
RUN(run_sample, call_data *d,
    wk_cpu_sample_onehot(all_variables(d), d->classes, d->x, &d->draws, d->y, d->probs, pool))

enum { CLASSES_MAX = 260 };

static void softmax_of_all(const call_data *d, double *y)
{
    for (size_t g = 0; g < all_variables(d); g++)
        probabilities(d->classes, d->exact_x + g * d->classes, y + g * d->classes);
}

static double softmax_loss(void *context)
{
    const call_data *d = context;
    double p[CLASSES_MAX], loss = 0;
    for (size_t g = 0; g < all_variables(d); g++) {
        probabilities(d->classes, d->exact_x + g * d->classes, p);
        for (size_t c = 0; c < d->classes; c++)
            loss += d->dy[g * d->classes + c] * p[c];
    }
    return loss;
}

static double row_entropy(const call_data *d, size_t r)
{
    double p[CLASSES_MAX], sum = 0;
    for (size_t g = r * d->variables; g < (r + 1) * d->variables; g++) {
        probabilities(d->classes, d->exact_x + g * d->classes, p);
        for (size_t c = 0; c < d->classes; c++)
            sum -= p[c] * log(p[c]);
    }
    return sum;
}
static double row_kl(const call_data *d, size_t r)
{
    double p[CLASSES_MAX], q[CLASSES_MAX], sum = 0;
    for (size_t g = r * d->variables; g < (r + 1) * d->variables; g++) {
        probabilities(d->classes, d->exact_x + g * d->classes, p);
        probabilities(d->classes, d->exact_prior + g * d->classes, q);
        for (size_t c = 0; c < d->classes; c++)
            sum += p[c] * (log(p[c]) - log(q[c]));
    }
    return sum;
}
static double kl_loss(void *context)
{
    const call_data *d = context;
    double loss = 0;
    for (size_t r = 0; r < d->rows; r++)
        loss += d->dy[r] * row_kl(d, r);
    return loss;
}

static const size_t shapes[][3] = {{1, 1, 1},  {3, 2, 5},   {2, 3, 32},  {5, 1, 24},
                                   {2, 7, 37}, {2, 5, 100}, {1, 3, 260}, {0, 3, 4}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// Logits of spread up to 8, as a trained model has.
static call_data make_call(arrays *a, const size_t *shape)
{
    call_data d = {.rows = shape[0], .variables = shape[1], .classes = shape[2]};
    size_t n = all_variables(&d) * d.classes;
    d.x = new_input(a, n, -4, 4), d.prior = new_input(a, n, -4, 4), d.dy = new_input(a, n, -1, 1);
    d.y = new_output(a, n), d.dx = new_output(a, n), d.dprior = new_output(a, n);
    d.probs = new_output(a, n);
    d.exact_x = exact_of(a, d.x, n), d.exact_prior = exact_of(a, d.prior, n);
    return d;
}

static void softmax_matches_its_formula_and_gradient(void **state)
{
    for (int k = 0; k < SHAPES; k++) {
        arrays a = arrays_new(1 + (uint64_t)k);
        call_data d = make_call(&a, shapes[k]);
        size_t n = all_variables(&d) * d.classes;
        kernel_call call = {run_softmax, &d, {{d.y, n}}};
        run_on_all_threads(&call);
        double *expected = exact_of(&a, d.x, n);
        softmax_of_all(&d, expected);
        // A weight's error grows with its distance from the largest, here up to 8.
        check_close("y", n, d.y, expected, 0, 2e-6);
        call = (kernel_call){run_softmax_backward, &d, {{d.dx, n}}};
        run_on_all_threads(&call);
        check_gradient("x", softmax_loss, &d, d.exact_x, n, d.dx, 2e-6, 1e-5);
        arrays_release(&a);
    }
}

static void entropy_matches_its_formula(void **state)
{
    for (int k = 0; k < SHAPES; k++) {
        arrays a = arrays_new(20 + (uint64_t)k);
        call_data d = make_call(&a, shapes[k]);
        kernel_call call = {run_entropy, &d, {{d.y, d.rows}}};
        run_on_all_threads(&call);
        for (size_t r = 0; r < d.rows; r++)
            assert_near(d.y[r], row_entropy(&d, r), 3e-6 * (double)d.variables);
        arrays_release(&a);
    }
}

static void kl_matches_its_formula_and_both_gradients(void **state)
{
    for (int k = 0; k < SHAPES; k++) {
        arrays a = arrays_new(40 + (uint64_t)k);
        call_data d = make_call(&a, shapes[k]);
        size_t n = all_variables(&d) * d.classes;
        kernel_call call = {run_kl, &d, {{d.y, d.rows}}};
        run_on_all_threads(&call);
        for (size_t r = 0; r < d.rows; r++)
            assert_near(d.y[r], row_kl(&d, r), 5e-6 * (double)d.variables);
        call = (kernel_call){run_kl_backward, &d, {{d.dx, n}, {d.dprior, n}}};
        run_on_all_threads(&call);
        check_gradient("post", kl_loss, &d, d.exact_x, n, d.dx, 3e-6, 1e-5);
        check_gradient("prior", kl_loss, &d, d.exact_prior, n, d.dprior, 2e-6, 1e-5);
        arrays_release(&a);
    }
}

static void kl_gradients_skip_the_unwanted_side(void **state)
{
    arrays a = arrays_new(60);
    call_data d = make_call(&a, (size_t[]){2, 3, 8});
    run_kl_backward(&d, NULL);
    float *post = new_output(&a, 48), *prior = new_output(&a, 48);
    wk_cpu_kl_backward(2, 3, 8, d.x, d.prior, d.dy, post, NULL, NULL);
    wk_cpu_kl_backward(2, 3, 8, d.x, d.prior, d.dy, NULL, prior, NULL);
    for (int i = 0; i < 48; i++) {
        assert_true(post[i] == d.dx[i]);
        assert_true(prior[i] == d.dprior[i]);
    }
    arrays_release(&a);
}

// The class of a variable by the rule as stated, in plain scalar code.
static size_t class_by_rule(size_t n, const float *x, float u)
{
    float max = x[0], sum = 0, running = 0;
    for (size_t c = 1; c < n; c++)
        max = x[c] > max ? x[c] : max;
    for (size_t c = 0; c < n; c++)
        sum += wk_weightf(x[c] - max);
    size_t below = 0;
    for (size_t c = 0; c < n; c++) {
        running += wk_weightf(x[c] - max);
        below += running <= u * sum;
    }
    return below;
}

static void samples_follow_the_stated_rule_bit_for_bit(void **state)
{
    size_t many[][3] = {{1, 1, 1},    {1, 3, 2},   {200, 32, 32}, {100, 16, 16},
                        {30, 24, 24}, {11, 7, 37}, {1, 37, 300},  {3, 3, 1024}};
    for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
        arrays a = arrays_new(70 + k);
        call_data d = make_call(&a, many[k]);
        d.draws = (wk_draws){0xfeedu + k, 3, 1000};
        size_t n = all_variables(&d) * d.classes;
        kernel_call call = {run_sample, &d, {{d.y, n}, {d.probs, n}}};
        run_on_all_threads(&call);
        for (size_t g = 0; g < all_variables(&d); g++) {
            wk_u32x4 words = wk_philox_at(d.draws.key, d.draws.substream, d.draws.block + g / 4);
            float u = wk_unit_float(words.v[g % 4]);
            size_t class = class_by_rule(d.classes, d.x + g * d.classes, u);
            assert_true(class < d.classes);
            for (size_t c = 0; c < d.classes; c++)
                assert_true(d.y[g * d.classes + c] == (c == class ? 1.0f : 0.0f));
        }
        double *expected = exact_of(&a, d.x, n);
        softmax_of_all(&d, expected);
        check_close("probs", n, d.probs, expected, 0, 2e-6);
        arrays_release(&a);
    }
}

static void samples_have_the_frequencies_of_the_probabilities(void **state)
{
    enum { VARIABLES = 40000, CLASSES = 5 };
    arrays a = arrays_new(80);
    float *x = new_output(&a, VARIABLES * CLASSES), *y = new_output(&a, VARIABLES * CLASSES);
    float *probs = new_output(&a, VARIABLES * CLASSES);
    const float logits[CLASSES] = {0.5f, -1.0f, 2.0f, 0.0f, -3.0f};
    for (size_t i = 0; i < VARIABLES * CLASSES; i++)
        x[i] = logits[i % CLASSES];
    wk_draws draws = {5, 0, 0};
    wk_cpu_sample_onehot(VARIABLES, CLASSES, x, &draws, y, probs, NULL);
    for (size_t c = 0; c < CLASSES; c++) {
        double count = 0, p = probs[c];
        for (size_t g = 0; g < VARIABLES; g++)
            count += y[g * CLASSES + c];
        assert_near(count / VARIABLES, p, 5 * sqrt(p * (1 - p) / VARIABLES));
    }
    arrays_release(&a);
}

static void classes_of_no_weight_are_never_drawn_and_a_sure_one_always(void **state)
{
    enum { VARIABLES = 10000 };
    arrays a = arrays_new(90);
    float *x = new_output(&a, VARIABLES * 3), *y = new_output(&a, VARIABLES * 3);
    float *probs = new_output(&a, VARIABLES * 3);
    for (size_t g = 0; g < VARIABLES; g++) {
        x[3 * g + g % 3] = 30.0f; // one sure class, in every place
        x[3 * g + (g + 1) % 3] = -80.0f;
        x[3 * g + (g + 2) % 3] = -INFINITY;
    }
    wk_draws draws = {6, 0, 0};
    wk_cpu_sample_onehot(VARIABLES, 3, x, &draws, y, probs, NULL);
    for (size_t g = 0; g < VARIABLES; g++)
        assert_true(y[3 * g + g % 3] == 1.0f);
    arrays_release(&a);
}

static void the_mode_is_the_first_largest_logit(void **state)
{
    float x[] = {1, 3, 3, -1, -2, -3}, y[6];
    wk_cpu_mode_onehot(2, 3, x, y, NULL);
    const float expected[] = {0, 1, 0, 1, 0, 0};
    assert_memory_equal(y, expected, sizeof expected);
}

#ifndef __SANITIZE_ADDRESS__ // which puts more on the stack
// Everything that a model of the paper's size needs, on one thread.
static void *run_all(void *context)
{
    enum { HIDDEN = 600 };
    call_data *d = context;
    run_softmax(d, NULL);
    run_softmax_backward(d, NULL);
    run_entropy(d, NULL);
    run_kl(d, NULL);
    run_kl_backward(d, NULL);
    run_sample(d, NULL);
    const wk_gru gru = {1, 1, HIDDEN, 0, 1e-3f, -1};
    const float *some = d->prior;
    float mean, rstd;
    wk_cpu_gru(&gru, d->x, &(wk_gru_params){some, some, some}, d->x, d->y, &mean, &rstd, NULL);
    return d;
}

static void a_small_stack_is_enough(void **state)
{
    arrays a = arrays_new(77);
    call_data d = make_call(&a, (size_t[]){4, 32, 32});
    pthread_attr_t attributes;
    pthread_t thread;
    void *done = NULL;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)96 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_all, &d), 0);
    assert_int_equal(pthread_join(thread, &done), 0);
    assert_ptr_equal(done, &d);
    pthread_attr_destroy(&attributes);
    arrays_release(&a);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_matches_its_formula_and_gradient),
        cmocka_unit_test(entropy_matches_its_formula),
        cmocka_unit_test(kl_matches_its_formula_and_both_gradients),
        cmocka_unit_test(kl_gradients_skip_the_unwanted_side),
        cmocka_unit_test(samples_follow_the_stated_rule_bit_for_bit),
        cmocka_unit_test(samples_have_the_frequencies_of_the_probabilities),
        cmocka_unit_test(classes_of_no_weight_are_never_drawn_and_a_sure_one_always),
        cmocka_unit_test(the_mode_is_the_first_largest_logit),
#ifndef __SANITIZE_ADDRESS__
        cmocka_unit_test(a_small_stack_is_enough),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
