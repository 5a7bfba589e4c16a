// What every kernel test needs: arrays between guard words, inputs that are the same numbers in
// float and double, runs on 1, 2 and 3 threads that must agree to the bit, and central differences
// of a double-precision reference.
#ifndef WK_TESTS_KERNEL_CHECK_H
#define WK_TESTS_KERNEL_CHECK_H

#include "base/pool.h"
#include "base/random.h"
#include "support/check.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { GUARD_WORDS = 16, ARRAYS_MAX = 64, OUTPUTS_MAX = 8 };
static const uint32_t GUARD_BITS = 0x7fa5a5a5u; // a NaN: reading past an end shows

/// Arrays of one test; freed and checked by arrays_release.
typedef struct arrays {
    float *start[ARRAYS_MAX];
    size_t count[ARRAYS_MAX];
    double *exact[ARRAYS_MAX];
    int used;
    wk_rng rng;
} arrays;

static inline arrays arrays_new(uint64_t seed)
{
    return (arrays){.rng = wk_rng_stream(seed, "kernel test", 0)};
}

/// n floats between guards, holding the guard value.
__attribute__((noinline, unused)) static float *new_output(arrays *a, size_t n)
{
    assert_true(a->used < ARRAYS_MAX);
    size_t total = n + 2 * GUARD_WORDS;
    uint32_t *words = malloc(total * sizeof *words);
    assert_non_null(words);
    for (size_t i = 0; i < total; i++)
        words[i] = GUARD_BITS;
    a->start[a->used] = (float *)words;
    a->count[a->used++] = n;
    return (float *)words + GUARD_WORDS;
}

/// n uniform floats in [low, high).
static inline float *new_input(arrays *a, size_t n, double low, double high)
{
    float *x = new_output(a, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)wk_rng_uniform(&a->rng, low, high);
    return x;
}

/// The same numbers in double, for a reference to change at will.
__attribute__((noinline, unused)) static double *exact_of(arrays *a, const float *x, size_t n)
{
    double *y = malloc((n + 1) * sizeof *y);
    assert_non_null(y);
    for (size_t i = 0; i < n; i++)
        y[i] = x[i];
    for (int i = 0; i < ARRAYS_MAX; i++)
        if (!a->exact[i]) {
            a->exact[i] = y;
            return y;
        }
    fail_msg("too many arrays");
    return NULL;
}

static inline void check_guards(const arrays *a)
{
    for (int i = 0; i < a->used; i++) {
        const uint32_t *words = (const uint32_t *)(const void *)a->start[i];
        for (size_t k = 0; k < GUARD_WORDS; k++)
            if (words[k] != GUARD_BITS || words[GUARD_WORDS + a->count[i] + k] != GUARD_BITS)
                fail_msg("array %d of %zu numbers: written outside", i, a->count[i]);
    }
}

static inline void arrays_release(arrays *a)
{
    check_guards(a);
    for (int i = 0; i < a->used; i++)
        free(a->start[i]);
    for (int i = 0; i < ARRAYS_MAX; i++)
        free(a->exact[i]);
}

/// A kernel call to repeat, with its outputs.
typedef struct kernel_call {
    void (*run)(void *context, wk_pool *pool);
    void *context;
    struct {
        float *data;
        size_t n;
    } out[OUTPUTS_MAX];
} kernel_call;

/// A kernel_call.run that makes one call with its context, declared as `data`, and `pool`.
#define RUN(name, data, ...)                                                                       \
    static void name(void *context, wk_pool *pool)                                                 \
    {                                                                                              \
        data = context;                                                                            \
        __VA_ARGS__;                                                                               \
    }

static inline void save_outputs(const kernel_call *call, float **saved)
{
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        saved[i] = malloc((call->out[i].n + 1) * sizeof(float));
        assert_non_null(saved[i]);
        if (call->out[i].n) memcpy(saved[i], call->out[i].data, call->out[i].n * sizeof(float));
    }
}

/// Runs the kernel without a pool and on 1, 2 and 3 threads from the same starting outputs; all
/// must leave the same bytes.
static inline void run_on_all_threads(kernel_call *call)
{
    float *before[OUTPUTS_MAX], *expected[OUTPUTS_MAX];
    save_outputs(call, before);
    call->run(call->context, NULL);
    save_outputs(call, expected);
    for (int threads = 1; threads <= 3; threads++) {
        wk_error err = {0};
        wk_pool *pool = NULL;
        assert_ok(wk_pool_create(threads, &pool, &err));
        for (int i = 0; i < OUTPUTS_MAX; i++)
            if (call->out[i].n)
                memcpy(call->out[i].data, before[i], call->out[i].n * sizeof(float));
        call->run(call->context, pool);
        wk_pool_destroy(pool);
        for (int i = 0; i < OUTPUTS_MAX; i++)
            if (call->out[i].n &&
                memcmp(call->out[i].data, expected[i], call->out[i].n * sizeof(float)) != 0)
                fail_msg("output %d differs on %d threads", i, threads);
    }
    for (int i = 0; i < OUTPUTS_MAX; i++) {
        free(before[i]);
        free(expected[i]);
    }
}

/// Fails unless every y is within absolute + relative * |expected|.
static inline void check_close(const char *what, size_t n, const float *y, const double *expected,
                               double absolute, double relative)
{
    for (size_t i = 0; i < n; i++) {
        double error = fabs(y[i] - expected[i]);
        if (!(error <= absolute + relative * fabs(expected[i])))
            fail_msg("%s[%zu] = %.9g, expected %.9g (error %.3g)", what, i, (double)y[i],
                     expected[i], error);
    }
}

/// Fails unless `gradient` is that of `loss` to each of the n numbers at x, by central differences
/// with a step of 1e-5.
static inline void check_gradient(const char *what, double (*loss)(void *), void *context,
                                  double *x, size_t n, const float *gradient, double absolute,
                                  double relative)
{
    const double step = 1e-5;
    for (size_t i = 0; i < n; i++) {
        double kept = x[i];
        x[i] = kept + step;
        double above = loss(context);
        x[i] = kept - step;
        double below = loss(context);
        x[i] = kept;
        double expected = (above - below) / (2 * step);
        double error = fabs(gradient[i] - expected);
        if (!(error <= absolute + relative * fabs(expected)))
            fail_msg("d%s[%zu] = %.9g, expected %.9g (error %.3g)", what, i, (double)gradient[i],
                     expected, error);
    }
}

#endif
