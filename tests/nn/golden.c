#include "nn/golden.h"

#include "nn/safetensors.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/precision.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 64, NAME = 64 };

// A tensor of the graph and the tensor of the file it belongs to.
typedef struct pair {
    wk_tensor tensor;
    char name[NAME];
    const float *values; // expected instead of the file's, or NULL
    double tolerance;
} pair;

struct golden {
    wk_safetensors *file;
    wk_graph *g;
    wk_backend *backend;
    pair given[ROOM], expected[ROOM];
    size_t given_count, expected_count;
    wk_tensor counter;
    uint64_t counter_value;
};

// "prefix/name", or just the name without a prefix.
static void join(char out[NAME], const char *prefix, const char *name)
{
    int length = snprintf(out, NAME, "%s%s%s", prefix, *prefix ? "/" : "", name);
    assert_true(length < NAME);
}

golden *golden_open(const char *name)
{
    wk_error err = {0};
    char path[1024];
    snprintf(path, sizeof path, "%s/tests/nn/golden/%s.safetensors", WAKER_SOURCE_DIR, name);
    golden *file = calloc(1, sizeof *file);
    assert_non_null(file);
    assert_ok(wk_safetensors_open(path, &file->file, &err));
    assert_ok(wk_graph_create(&file->g, &err));
    assert_ok(test_backend_create(NULL, &file->backend, &err));
    return file;
}

void golden_close(golden *file)
{
    wk_graph_destroy(file->g);
    wk_backend_destroy(file->backend);
    wk_safetensors_close(file->file);
    free(file);
}

wk_graph *golden_graph(golden *file)
{
    return file->g;
}

wk_backend *golden_backend(golden *file)
{
    return file->backend;
}

static const wk_safetensors_spec *find(const golden *file, const char *name)
{
    const wk_safetensors_spec *spec = wk_safetensors_find(file->file, name);
    if (!spec) fail_msg("the golden file has no tensor '%s'", name);
    return spec;
}

wk_shape golden_shape(const golden *file, const char *name)
{
    const wk_safetensors_spec *spec = find(file, name);
    wk_shape shape = {.rank = spec->rank};
    for (int i = 0; i < spec->rank; i++)
        shape.dim[i] = (int)spec->shape[i];
    return shape;
}

float *golden_values(const golden *file, const char *name)
{
    wk_error err = {0};
    const wk_safetensors_spec *spec = find(file, name);
    float *values = malloc(wk_safetensors_spec_bytes(spec));
    assert_non_null(values);
    assert_ok(wk_safetensors_read(file->file, spec, values, &err));
    return values;
}

static void give(golden *file, wk_tensor tensor, const char *name)
{
    assert_true(file->given_count < ROOM);
    pair *next = &file->given[file->given_count++];
    next->tensor = tensor;
    join(next->name, "", name);
}

wk_tensor golden_input(golden *file, const char *name)
{
    char full[NAME];
    join(full, "in", name);
    wk_tensor tensor = wk_graph_input(file->g, WK_F32, golden_shape(file, full), name);
    give(file, tensor, name);
    return tensor;
}

void golden_weight(golden *file, const wk_scope *scope, const char *layer_part, const char *name)
{
    for (size_t i = 0; i < scope->tensors.count; i++)
        if (strcmp(wk_scope_param(scope, i)->name, layer_part) == 0) {
            give(file, scope->tensors.items[i], name);
            return;
        }
    fail_msg("the scope has no weight '%s'", layer_part);
}

wk_tensor golden_counter(golden *file, uint64_t value)
{
    assert_false(wk_tensor_exists(file->counter));
    file->counter = wk_graph_input(file->g, WK_U64, WK_SHAPE(1), "counter");
    file->counter_value = value;
    return file->counter;
}

wk_tensor golden_weigh(golden *file, wk_tensor output, const char *weight)
{
    wk_tensor factor = golden_input(file, weight);
    return wk_graph_sum_all(file->g, wk_graph_mul(file->g, output, factor));
}

void golden_expect(golden *file, wk_tensor x, const char *name, double tolerance)
{
    assert_true(file->expected_count < ROOM);
    wk_graph_output(file->g, x);
    pair *next = &file->expected[file->expected_count++];
    next->tensor = x;
    next->tolerance = tolerance;
    join(next->name, "", name);
}

void golden_expect_values(golden *file, wk_tensor x, const char *name, const float *values,
                          double tolerance)
{
    golden_expect(file, x, name, tolerance);
    file->expected[file->expected_count - 1].values = values;
}

void golden_expect_gradients(golden *file, wk_tensor loss, const char *prefix, size_t count,
                             double tolerance)
{
    wk_tensor params[ROOM], grads[ROOM];
    char names[ROOM][NAME];
    size_t found = 0;
    for (size_t i = 0; i < file->given_count; i++) {
        join(names[found], prefix, file->given[i].name);
        if (wk_safetensors_find(file->file, names[found])) params[found++] = file->given[i].tensor;
    }
    assert_int_equal(found, count);
    wk_graph_gradients(file->g, loss, params, found, grads);
    for (size_t i = 0; i < found; i++)
        golden_expect(file, grads[i], names[i], tolerance);
}

static void upload(golden *file, wk_program *program, const pair *given)
{
    wk_error err = {0};
    char full[NAME];
    join(full, "in", given->name);
    float *values = golden_values(file, full);
    size_t bytes = wk_shape_count(golden_shape(file, full)) * sizeof *values;
    assert_int_equal(wk_shape_count(wk_graph_shape(file->g, given->tensor)) * sizeof *values,
                     bytes);
    assert_ok(wk_program_upload(program, given->tensor, values, bytes, &err));
    free(values);
}

static void compare_elements(const pair *expected, const float *got, const float *want,
                             size_t count)
{
    double largest = 0, worst = 0;
    size_t where = 0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        double off = fabs((double)got[i] - want[i]);
        if (off > worst || isnan(off)) worst = off, where = i;
    }
    if (getenv("WAKER_GOLDEN_SHOW"))
        print_message("%-24s error %.2g of the largest value\n", expected->name, worst / largest);
    if (!(worst <= expected->tolerance * largest))
        fail_msg("%s: element %zu is %.9g, expected %.9g; tolerance %g of %g", expected->name,
                 where, got[where], want[where], expected->tolerance, largest);
}

static void compare(golden *file, const wk_program *program, const pair *expected)
{
    wk_error err = {0};
    size_t count = wk_shape_count(wk_graph_shape(file->g, expected->tensor));
    if (!expected->values && wk_shape_count(golden_shape(file, expected->name)) != count)
        fail_msg("%s: the graph has %zu elements, the file another number", expected->name, count);
    float *want = expected->values ? NULL : golden_values(file, expected->name);
    float *got = malloc(count * sizeof *got);
    const float *right = expected->values ? expected->values : want;
    assert_non_null(got);
    assert_ok(wk_program_download(program, expected->tensor, got, count * sizeof *got, &err));
    int products = test_products(file->g, expected->tensor);
    if (test_rounds() && products > 0)
        test_expect_near(expected->name, got, right, count, products);
    else
        compare_elements(expected, got, right, count);
    free(want);
    free(got);
}

void golden_check(golden *file)
{
    wk_error err = {0};
    wk_program *program = NULL;
    assert_ok(wk_program_create(file->g, file->backend, &program, &err));
    for (size_t i = 0; i < file->given_count; i++)
        upload(file, program, &file->given[i]);
    if (wk_tensor_exists(file->counter))
        assert_ok(wk_program_upload(program, file->counter, &file->counter_value,
                                    sizeof file->counter_value, &err));
    assert_ok(wk_program_run(program, &err));
    for (size_t i = 0; i < file->expected_count; i++)
        compare(file, program, &file->expected[i]);
    wk_program_destroy(program);
}
