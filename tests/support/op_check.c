#include "support/op_check.h"
#include "base/pool.h"
#include "base/random.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/precision.h"
#include "tensor/program.h"

#include <stdio.h>
#include <stdlib.h>

enum { GUARD = 64, GUARD_BYTE = 0xA5, RUNS = 4 };

size_t op_count(const op_case *c, int i)
{
    return wk_shape_count(c->shapes[i]);
}

int op_dim(const op_case *c, int i, int axis)
{
    return c->shapes[i].dim[axis];
}

static int input_count(const op_case *c)
{
    int count = 0;
    while (count < OP_CHECK_INPUTS && c->shapes[count].rank)
        count++;
    return count;
}

// A case with its inputs, recorded once and run in several ways.
typedef struct setup {
    const op_case *c;
    int inputs;
    double *x[OP_CHECK_INPUTS]; // exactly representable as float
    double *weight;             // of the result in the loss
    wk_graph *g;
    wk_tensor tensors[OP_CHECK_INPUTS], grads[OP_CHECK_INPUTS], y;
    size_t places[OP_CHECK_INPUTS], buffer_size, y_count;
    float *results[RUNS]; // y, then every gradient
    size_t result_count;
} setup;

static float *floats(const double *x, size_t count)
{
    float *copy = malloc((count ? count : 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = (float)x[i];
    return copy;
}

static double *draw(size_t count, const char *name, uint64_t stream, double low, double high)
{
    wk_rng rng = wk_rng_stream(1, name, stream);
    double *x = malloc((count ? count : 1) * sizeof *x);
    for (size_t i = 0; i < count; i++)
        x[i] = (float)wk_rng_uniform(&rng, low, high);
    return x;
}

static void draw_inputs(setup *s)
{
    const op_case *c = s->c;
    bool given = c->low != 0 || c->high != 0;
    s->inputs = input_count(c);
    s->buffer_size = GUARD;
    for (int i = 0; i < s->inputs; i++) {
        s->x[i] =
            draw(op_count(c, i), c->name, (uint64_t)i, given ? c->low : -1, given ? c->high : 1);
        s->places[i] = s->buffer_size;
        s->buffer_size += op_count(c, i) * sizeof(float) + GUARD;
    }
}

// loss = sum of weight * y, so that every element of y has a gradient of its own.
static void record(setup *s)
{
    wk_error err = {0};
    assert_ok(wk_graph_create(&s->g, &err));
    for (int i = 0; i < s->inputs; i++)
        s->tensors[i] = wk_graph_persistent(s->g, WK_F32, s->c->shapes[i], "x", NULL, 0);
    wk_tensor counter = wk_graph_persistent(s->g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    s->y = s->c->build(s->g, s->tensors, (wk_random){counter, OP_CHECK_KEY});
    wk_shape shape = wk_graph_shape(s->g, s->y);
    s->y_count = wk_shape_count(shape);
    s->weight = draw(s->y_count, "weight", 0, -1, 1);
    float *weight = floats(s->weight, s->y_count);
    wk_tensor weighted = wk_graph_mul(s->g, s->y, wk_graph_constant(s->g, shape, weight));
    free(weight);
    wk_tensor loss = wk_graph_sum_all(s->g, weighted);
    wk_graph_gradients(s->g, loss, s->tensors, (size_t)s->inputs, s->grads);
    wk_graph_output(s->g, s->y);
    s->result_count = s->y_count;
    for (int i = 0; i < s->inputs; i++) {
        wk_graph_output(s->g, s->grads[i]);
        s->result_count += op_count(s->c, i);
    }
}

static void check_guards(const setup *s, const wk_buffer *buffer)
{
    wk_error err = {0};
    unsigned char *bytes = malloc(s->buffer_size);
    assert_ok(wk_buffer_download(buffer, 0, bytes, s->buffer_size, &err));
    for (int i = -1; i < s->inputs; i++) {
        size_t end = i < 0 ? 0 : s->places[i] + op_count(s->c, i) * sizeof(float);
        for (size_t k = 0; k < GUARD; k++)
            if (bytes[end + k] != GUARD_BYTE)
                fail_msg("%s: a guard byte after input %d was written", s->c->name, i);
    }
    free(bytes);
}

static void fill_buffer(const setup *s, wk_buffer *buffer)
{
    wk_error err = {0};
    char *bytes = malloc(s->buffer_size);
    memset(bytes, GUARD_BYTE, s->buffer_size);
    for (int i = 0; i < s->inputs; i++) {
        float *values = floats(s->x[i], op_count(s->c, i));
        memcpy(bytes + s->places[i], values, op_count(s->c, i) * sizeof(float));
        free(values);
    }
    assert_ok(wk_buffer_upload(buffer, 0, bytes, s->buffer_size, &err));
    free(bytes);
}

static void fetch(const setup *s, wk_program *program, float *out)
{
    wk_error err = {0};
    assert_ok(wk_program_download(program, s->y, out, s->y_count * sizeof *out, &err));
    out += s->y_count;
    for (int i = 0; i < s->inputs; i++) {
        size_t count = op_count(s->c, i);
        assert_ok(wk_program_download(program, s->grads[i], out, count * sizeof *out, &err));
        out += count;
    }
}

// Runs the graph on a backend, `runs` times over, and keeps the last results.
static void run_on(setup *s, wk_backend *backend, int runs, float **results)
{
    wk_error err = {0};
    wk_buffer *buffer = NULL;
    wk_program *program = NULL;
    assert_ok(wk_buffer_create(backend, s->buffer_size, &buffer, &err));
    fill_buffer(s, buffer);
    for (int i = 0; i < s->inputs; i++)
        wk_graph_bind(s->g, s->tensors[i], buffer, s->places[i]);
    assert_ok(wk_program_create(s->g, backend, &program, &err));
    wk_tensor counter = {s->tensors[s->inputs - 1].id + 1};
    const uint64_t at = OP_CHECK_COUNTER;
    assert_ok(wk_program_upload(program, counter, &at, sizeof at, &err));
    for (int i = 0; i < runs; i++)
        assert_ok(wk_program_run(program, &err));
    *results = malloc(s->result_count * sizeof **results);
    fetch(s, program, *results);
    check_guards(s, buffer);
    wk_program_destroy(program);
    wk_buffer_destroy(buffer);
}

// The same on the device that the tests run on, with so many threads where that means something.
static void run_on_threads(setup *s, int threads, int runs, float **results)
{
    wk_error err = {0};
    wk_pool *pool = NULL;
    wk_backend *backend = NULL;
    assert_ok(wk_pool_create(threads, &pool, &err));
    assert_ok(test_backend_create(pool, &backend, &err));
    run_on(s, backend, runs, results);
    wk_backend_destroy(backend);
    wk_pool_destroy(pool);
}

static double largest(const double *x, size_t count)
{
    double most = 1e-3;
    for (size_t i = 0; i < count; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

static void compare_rounded(const setup *s, const char *what, wk_tensor x, const float *got,
                            const double *expected, size_t count)
{
    char name[160];
    snprintf(name, sizeof name, "%s: %s", s->c->name, what);
    float *rounded = floats(expected, count);
    test_expect_near(name, got, rounded, count, test_products(s->g, x));
    free(rounded);
}

// Numbers of tensor x.
static void compare(const setup *s, const char *what, wk_tensor x, const float *got,
                    const double *expected, size_t count, double tolerance)
{
    if (test_rounds() && test_products(s->g, x) > 0) {
        compare_rounded(s, what, x, got, expected, count);
        return;
    }
    double scale = largest(expected, count);
    for (size_t i = 0; i < count; i++)
        if (!(fabs(got[i] - expected[i]) <= tolerance * scale))
            fail_msg("%s: %s[%zu] is %.9g, expected %.9g (tolerance %g of %g)", s->c->name, what, i,
                     got[i], expected[i], tolerance, scale);
}

static void check_forward(const setup *s)
{
    double *expected = calloc(s->y_count, sizeof *expected);
    s->c->reference(s->c, (const double *const *)s->x, expected);
    compare(s, "y", s->y, s->results[0], expected, s->y_count,
            s->c->tolerance > 0 ? s->c->tolerance : 2e-5);
    free(expected);
}

static double loss_of(const setup *s, double *y)
{
    op_reference *reference = s->c->smooth ? s->c->smooth : s->c->reference;
    memset(y, 0, s->y_count * sizeof *y);
    reference(s->c, (const double *const *)s->x, y);
    double loss = 0;
    for (size_t i = 0; i < s->y_count; i++)
        loss += s->weight[i] * y[i];
    return loss;
}

static void check_gradient(setup *s, int input, const float *got)
{
    const double h = 1e-5;
    size_t count = op_count(s->c, input);
    double *y = malloc(s->y_count * sizeof *y), *expected = calloc(count, sizeof *expected);
    for (size_t i = 0; i < count && !(s->c->constants >> input & 1); i++) {
        double x = s->x[input][i];
        s->x[input][i] = x + h;
        double above = loss_of(s, y);
        s->x[input][i] = x - h;
        expected[i] = (above - loss_of(s, y)) / (2 * h);
        s->x[input][i] = x;
    }
    char what[32];
    snprintf(what, sizeof what, "gradient %d", input);
    compare(s, what, s->grads[input], got, expected, count,
            s->c->gradient_tolerance > 0 ? s->c->gradient_tolerance : 1e-3);
    free(y);
    free(expected);
}

static void release(setup *s)
{
    for (int i = 0; i < RUNS; i++)
        free(s->results[i]);
    for (int i = 0; i < s->inputs; i++)
        free(s->x[i]);
    free(s->weight);
    wk_graph_destroy(s->g);
}

static void note_covered(const setup *s, bool covered[WK_OP_COUNT])
{
    for (size_t i = 0; i < s->g->nodes.count; i++)
        covered[s->g->nodes.items[i].op] = true;
}

static void check_case(const op_case *c, bool covered[WK_OP_COUNT])
{
    setup s = {.c = c};
    draw_inputs(&s);
    record(&s);
    const int threads[RUNS] = {1, 1, 2, 3}, runs[RUNS] = {1, 2, 1, 1};
    for (int i = 0; i < RUNS; i++) {
        run_on_threads(&s, threads[i], runs[i], &s.results[i]);
        if (memcmp(s.results[0], s.results[i], s.result_count * sizeof(float)) != 0)
            fail_msg("%s: run %d on %d threads differs from the first", c->name, runs[i],
                     threads[i]);
    }
    check_forward(&s);
    const float *gradient = s.results[0] + s.y_count;
    for (int i = 0; i < s.inputs; i++) {
        check_gradient(&s, i, gradient);
        gradient += op_count(c, i);
    }
    note_covered(&s, covered);
    release(&s);
}

static void check_coverage(const bool covered[WK_OP_COUNT], const wk_op *ops, size_t op_total)
{
    for (size_t i = 0; i < op_total; i++)
        if (!covered[ops[i]]) fail_msg("no case covers the op %s", wk_op_table[ops[i]].name);
}

void op_check_all(const op_case *cases, size_t count, const wk_op *ops, size_t op_total)
{
    bool covered[WK_OP_COUNT] = {false};
    for (size_t i = 0; i < count; i++)
        check_case(&cases[i], covered);
    check_coverage(covered, ops, op_total);
}

static void compare_backends(const op_case *c, wk_backend *expected, wk_backend *got,
                             double tolerance, bool covered[WK_OP_COUNT])
{
    setup s = {.c = c};
    draw_inputs(&s);
    record(&s);
    run_on(&s, expected, 1, &s.results[0]);
    run_on(&s, got, 1, &s.results[1]);
    run_on(&s, got, 3, &s.results[2]);
    if (memcmp(s.results[1], s.results[2], s.result_count * sizeof(float)) != 0)
        fail_msg("%s: the third run differs from the first", c->name);
    size_t at = 0, count = s.y_count;
    for (int part = 0; part <= s.inputs; part++) {
        bool gradient = part > 0;
        double limit = gradient ? c->gradient_tolerance : c->tolerance;
        double d = test_distance(s.results[1] + at, s.results[0] + at, count);
        limit = limit < 0 ? 0 : limit > 0 ? limit : tolerance;
        if (!(d <= limit))
            fail_msg("%s: %s %d is %g off, %g is allowed", c->name, gradient ? "gradient" : "y",
                     part - 1, d, limit);
        at += count;
        count = part < s.inputs ? op_count(c, part) : 0;
    }
    note_covered(&s, covered);
    release(&s);
}

void op_compare_all(const op_case *cases, size_t count, wk_backend *expected, wk_backend *got,
                    double tolerance, const wk_op *ops, size_t op_total)
{
    bool covered[WK_OP_COUNT] = {false};
    for (size_t i = 0; i < count; i++)
        compare_backends(&cases[i], expected, got, tolerance, covered);
    check_coverage(covered, ops, op_total);
}
