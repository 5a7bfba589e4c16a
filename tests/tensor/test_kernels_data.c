// Copies, elementwise functions, reductions and random numbers against their definitions.
#include "kernel_check.h"
#include "tensor/cpu/kernels.h"

// A call described by plain numbers; each test fills what its kernel reads.
typedef struct call_data {
    size_t rows, cols, src_row, dst_row;
    float scale, shift;
    const float *a, *b;
    const uint8_t *bytes;
    wk_draws draws;
    float *y;
} call_data;

static void run_checked(void (*run)(void *, wk_pool *), call_data *d, size_t n)
{
    kernel_call call = {run, d, {{d->y, n}}};
    run_on_all_threads(&call);
}

RUN(run_columns, call_data *d,
    wk_cpu_copy_columns(d->rows, d->cols, d->a, d->src_row, d->y, d->dst_row, pool))

TEST_CASE(columns_are_copied_between_rows_of_different_length)
{
    size_t shapes[][4] = {{1, 1, 1, 1}, {5, 3, 7, 11}, {4001, 13, 13, 20}, {3, 0, 2, 2}};
    for (int k = 0; k < 4; k++) {
        size_t *s = shapes[k];
        arrays a = arrays_new(1 + (uint64_t)k);
        call_data d = {.rows = s[0], .cols = s[1], .src_row = s[2], .dst_row = s[3]};
        d.a = new_input(&a, s[0] * s[2], -1, 1), d.y = new_input(&a, s[0] * s[3], -1, 1);
        double *expected = exact_of(&a, d.y, s[0] * s[3]);
        for (size_t r = 0; r < s[0]; r++)
            for (size_t c = 0; c < s[1]; c++)
                expected[r * s[3] + c] = d.a[r * s[2] + c];
        run_checked(run_columns, &d, s[0] * s[3]);
        check_close("y", s[0] * s[3], d.y, expected, 1e-7, 1e-7);
        arrays_release(&a);
    }
}

RUN(run_add, call_data *d, wk_cpu_add(d->cols, d->a, d->b, d->y, pool))
RUN(run_mul, call_data *d, wk_cpu_mul(d->cols, d->a, d->b, d->y, pool))
RUN(run_affine, call_data *d, wk_cpu_affine(d->cols, d->scale, d->shift, d->a, d->y, pool))
RUN(run_floor, call_data *d, wk_cpu_clamp_min(d->cols, d->scale, d->a, d->y, pool))
RUN(run_floor_backward, call_data *d,
    wk_cpu_clamp_min_backward(d->cols, d->scale, d->a, d->b, d->y, pool))
RUN(run_copy, call_data *d, wk_cpu_copy(d->cols, d->a, d->y, pool))
RUN(run_fill, call_data *d, wk_cpu_fill(d->cols, d->scale, d->y, pool))

#define FORMULA(name, ...)                                                                         \
    static double name(const call_data *d, double a, double b)                                     \
    {                                                                                              \
        (void)d, (void)a, (void)b;                                                                 \
        return __VA_ARGS__;                                                                        \
    }
FORMULA(add, a + b)
FORMULA(mul, a *b)
FORMULA(affine, d->scale *a + d->shift)
FORMULA(floor_at, fmax(a, d->scale))
FORMULA(floor_slope, a >= d->scale ? b : 0)
FORMULA(copy, a)
FORMULA(fill, d->scale)

TEST_CASE(elementwise_functions_match_their_formulas)
{
    struct {
        void (*run)(void *, wk_pool *);
        double (*formula)(const call_data *, double, double);
    } cases[] = {{run_add, add},
                 {run_mul, mul},
                 {run_affine, affine},
                 {run_floor, floor_at},
                 {run_floor_backward, floor_slope},
                 {run_copy, copy},
                 {run_fill, fill}};
    size_t lengths[] = {0, 1, 17, 70001};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (size_t l = 0; l < 4; l++) {
            size_t n = lengths[l];
            arrays a = arrays_new(40 + k);
            call_data d = {.cols = n, .scale = 0.25f, .shift = -1.5f};
            d.a = new_input(&a, n, -1, 1), d.b = new_input(&a, n, -1, 1);
            d.y = new_input(&a, n, -1, 1);
            double *expected = exact_of(&a, d.y, n);
            for (size_t i = 0; i < n; i++)
                expected[i] = cases[k].formula(&d, d.a[i], d.b[i]);
            run_checked(cases[k].run, &d, n);
            check_close("y", n, d.y, expected, 2e-7, 1e-7);
            arrays_release(&a);
        }
}

TEST_CASE(elementwise_functions_may_work_in_place)
{
    arrays a = arrays_new(60);
    float *x = new_input(&a, 1000, -1, 1), *b = new_input(&a, 1000, -1, 1);
    double *expected = exact_of(&a, x, 1000);
    wk_cpu_add(1000, x, b, x, NULL);
    wk_cpu_mul(1000, b, x, x, NULL);
    for (int i = 0; i < 1000; i++)
        expected[i] = (float)((float)expected[i] + b[i]) * (double)b[i];
    check_close("x", 1000, x, expected, 1e-7, 1e-7);
    arrays_release(&a);
}

RUN(run_scale_rows, call_data *d, wk_cpu_scale_rows(d->rows, d->cols, d->b, d->a, d->y, pool))
RUN(run_row_sums, call_data *d, wk_cpu_row_sums(d->rows, d->cols, d->scale, d->a, d->y, pool))
RUN(run_column_sums, call_data *d, wk_cpu_column_sums(d->rows, d->cols, d->scale, d->a, d->y, pool))
RUN(run_spread_rows, call_data *d,
    wk_cpu_broadcast_rows(d->rows, d->cols, d->scale, d->b, d->y, pool))
RUN(run_spread_columns, call_data *d,
    wk_cpu_broadcast_columns(d->rows, d->cols, d->scale, d->b, d->y, pool))
RUN(run_sum, call_data *d, wk_cpu_sum(d->rows * d->cols, d->scale, d->a, d->y, pool))

// What element (r, c) of a adds to output `at`, and where.
typedef enum kind { SCALE_ROWS, ROW_SUMS, COLUMN_SUMS, SPREAD_ROWS, SPREAD_COLUMNS, SUM } kind;

static void accumulate_element(kind k, const call_data *d, size_t r, size_t c, double *y)
{
    size_t i = r * d->cols + c;
    switch (k) {
    case SCALE_ROWS:
        y[i] += (double)d->a[i] * d->b[r];
        break;
    case ROW_SUMS:
        y[r] += (double)d->scale * d->a[i];
        break;
    case COLUMN_SUMS:
        y[c] += (double)d->scale * d->a[i];
        break;
    case SPREAD_ROWS:
        y[i] += (double)d->scale * d->b[r];
        break;
    case SPREAD_COLUMNS:
        y[i] += (double)d->scale * d->b[c];
        break;
    case SUM:
        y[0] += (double)d->scale * d->a[i];
        break;
    }
}

static void check_reduction(kind k, void (*run)(void *, wk_pool *), size_t rows, size_t cols)
{
    arrays a = arrays_new(70 + (uint64_t)k);
    size_t all = rows * cols, widest = rows > cols ? rows : cols;
    size_t outputs[] = {all, rows, cols, all, all, 1}, n = outputs[k];
    call_data d = {.rows = rows, .cols = cols, .scale = 0.5f};
    d.a = new_input(&a, all, -1, 1), d.b = new_input(&a, all > widest ? all : widest, -1, 1);
    d.y = new_input(&a, n, -1, 1);
    double *expected = exact_of(&a, d.y, n);
    for (size_t i = 0; i < n; i++)
        expected[i] = 0;
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < cols; c++)
            accumulate_element(k, &d, r, c, expected);
    run_checked(run, &d, n);
    check_close("y", n, d.y, expected, 1e-6 + 1e-6 * sqrt((double)(all / (n ? n : 1))), 1e-6);
    arrays_release(&a);
}

TEST_CASE(reductions_and_their_gradients_match_plain_sums)
{
    void (*runs[])(void *, wk_pool *) = {run_scale_rows,  run_row_sums,       run_column_sums,
                                         run_spread_rows, run_spread_columns, run_sum};
    size_t shapes[][2] = {{1, 1},     {3, 5},      {1, 9001}, {9001, 1}, {70001, 3},
                          {131, 517}, {513, 1030}, {0, 4},    {4, 0},    {1001, 37}};
    for (kind k = SCALE_ROWS; k <= SUM; k++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            check_reduction(k, runs[k], shapes[s][0], shapes[s][1]);
}

TEST_CASE(non_finite_numbers_are_counted_wherever_they_are)
{
    arrays a = arrays_new(80);
    enum { N = 100003 };
    float *x = new_input(&a, N, -1e30, 1e30);
    assert_int_equal(wk_cpu_count_nonfinite(N, x, NULL), 0);
    x[0] = NAN, x[N - 1] = INFINITY, x[50000] = -INFINITY;
    assert_int_equal(wk_cpu_count_nonfinite(N, x, NULL), 3);
    assert_int_equal(wk_cpu_count_nonfinite(0, x, NULL), 0);
    arrays_release(&a);
}

RUN(run_image, call_data *d, wk_cpu_image_normalise(d->cols, d->bytes, d->y, pool))

TEST_CASE(images_become_numbers_between_minus_and_plus_a_half)
{
    uint8_t bytes[256 * 3 + 1];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    arrays a = arrays_new(90);
    call_data d = {.cols = sizeof bytes, .bytes = bytes, .y = new_output(&a, sizeof bytes)};
    run_checked(run_image, &d, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        assert_near(d.y[i], bytes[i] / 255.0 - 0.5, 6e-8);
    assert_true(d.y[0] == -0.5f && d.y[255] == 0.5f);
    arrays_release(&a);
}

RUN(run_uniform, call_data *d, wk_cpu_uniform(d->cols, &d->draws, d->scale, d->shift, d->y, pool))

TEST_CASE(uniform_numbers_are_those_of_the_philox_blocks)
{
    size_t lengths[] = {0, 1, 4, 7, 20001};
    for (int k = 0; k < 5; k++) {
        arrays a = arrays_new(100);
        call_data d = {.cols = lengths[k],
                       .scale = 0,
                       .shift = 1,
                       .draws = {0x123456789abcdefu, 77, 0xfffffffeu}};
        d.y = new_output(&a, d.cols);
        run_checked(run_uniform, &d, d.cols);
        for (size_t i = 0; i < d.cols; i++) {
            wk_u32x4 words = wk_philox_at(d.draws.key, d.draws.substream, d.draws.block + i / 4);
            assert_true(d.y[i] == wk_unit_float(words.v[i % 4]));
        }
        d.scale = -1;
        run_checked(run_uniform, &d, d.cols);
        for (size_t i = 0; i < d.cols; i++)
            assert_true(d.y[i] > -1 && d.y[i] < 1);
        arrays_release(&a);
    }
}

TEST_MAIN(NULL, NULL)
