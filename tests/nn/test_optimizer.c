// Adam groups against PyTorch over six steps with clipping and decay, and what a group promises:
// steps with bad gradients are skipped and counted, members of a stack are independent.
#include "nn/golden.h"
#include "nn/optimizer.h"
#include "support/backend.h"
#include "support/check.h"
#include <stdio.h>
#include <stdlib.h>

// A set with the weights a [4,3] and b [5] whose loss has whatever gradient is uploaded.
typedef struct group {
    wk_params *params;
    wk_graph *g;
    wk_backend *backend;
    wk_scope *scope;
    wk_optimizer *optimizer;
    wk_program *program;
    wk_tensor weight[2], gradient[2], norm, flag;
} group;

static const wk_shape shapes[2] = {{2, {4, 3}}, {1, {5}}};
static const char *const parts[2] = {"a", "b"};

static wk_tensor linear_loss(group *p, int index)
{
    p->weight[index] = wk_scope_weight(p->scope, "layer", parts[index], shapes[index],
                                       (wk_init){.kind = WK_INIT_ONES});
    wk_shape shape = wk_graph_shape(p->g, p->weight[index]);
    p->gradient[index] = wk_graph_input(p->g, WK_F32, shape, parts[index]);
    return wk_graph_sum_all(p->g, wk_graph_mul(p->g, p->weight[index], p->gradient[index]));
}

static group open_group(int stack, float decay)
{
    wk_error err = {0};
    group p = {0};
    wk_optimizer_config config = {.rate = 3e-4f, .adam = wk_adam_config_default()};
    config.adam.decay = decay;
    assert_ok(
        wk_params_create(&(wk_params_config){.name = "set", .stack = stack}, &p.params, &err));
    assert_ok(wk_graph_create(&p.g, &err));
    assert_ok(test_backend_create(NULL, &p.backend, &err));
    assert_ok(wk_scope_create(p.params, p.g, &p.scope, &err));
    assert_ok(wk_optimizer_create(p.params, &config, &p.optimizer, &err));
    p.flag = wk_graph_input(p.g, WK_U64, WK_SHAPE(1), "flag");
    wk_tensor a = linear_loss(&p, 0), b = linear_loss(&p, 1);
    p.norm = wk_optimizer_record(p.optimizer, p.scope, wk_graph_add(p.g, a, b), p.flag);
    wk_graph_output(p.g, p.norm);
    assert_ok(wk_scope_bind(p.scope, p.backend, &err));
    assert_ok(wk_optimizer_bind(p.optimizer, p.backend, &err));
    assert_ok(wk_program_create(p.g, p.backend, &p.program, &err));
    uint64_t clear = 0;
    assert_ok(wk_program_upload(p.program, p.flag, &clear, sizeof clear, &err));
    return p;
}

static void close_group(group *p)
{
    wk_program_destroy(p->program);
    wk_optimizer_destroy(p->optimizer);
    wk_scope_destroy(p->scope);
    wk_params_destroy(p->params);
    wk_graph_destroy(p->g);
    wk_backend_destroy(p->backend);
}

static size_t floats(const group *p, wk_tensor x)
{
    return wk_shape_count(wk_graph_shape(p->g, x));
}

static void set(group *p, wk_tensor x, const float *values)
{
    wk_error err = {0};
    assert_ok(wk_program_upload(p->program, x, values, floats(p, x) * sizeof(float), &err));
}

static void get(const group *p, wk_tensor x, float *values)
{
    wk_error err = {0};
    assert_ok(wk_program_download(p->program, x, values, floats(p, x) * sizeof(float), &err));
}

static void run(group *p)
{
    wk_error err = {0};
    assert_ok(wk_program_run(p->program, &err));
}

static void fill(group *p, wk_tensor x, float value)
{
    float values[64];
    for (size_t i = 0; i < floats(p, x); i++)
        values[i] = value;
    set(p, x, values);
}

static wk_optimizer_counts counts_of(const group *p, int member)
{
    wk_error err = {0};
    wk_optimizer_counts counts;
    assert_ok(wk_optimizer_get_counts(p->optimizer, member, &counts, &err));
    return counts;
}

static void assert_all_near(const float *got, const float *want, size_t count, double tolerance,
                            const char *what)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)want[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)got[i] - want[i]) <= tolerance * largest))
            fail_msg("%s: element %zu is %.9g, expected %.9g", what, i, got[i], want[i]);
}

static void compare_with_file(const group *p, const golden *file, const char *name, wk_tensor x,
                              size_t row, double tolerance)
{
    float got[64], *want = golden_values(file, name);
    get(p, x, got);
    assert_all_near(got, want + row * floats(p, x), floats(p, x), tolerance, name);
    free(want);
}

// A step rounds a weight twice (decay, subtraction), each time by up to 6e-8 of it; six steps add
// up to 7e-7. The reference keeps its weights in double.
static void check_against_torch(const char *decay_name, float decay)
{
    golden *file = golden_open("adam");
    group p = open_group(0, decay);
    char name[64];
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "in/%s", parts[i]);
        float *start = golden_values(file, name);
        set(&p, p.weight[i], start);
        free(start);
    }
    for (size_t step = 0; step < 6; step++) {
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "in/gradient_%s", parts[i]);
            float *gradients = golden_values(file, name);
            set(&p, p.gradient[i], gradients + step * floats(&p, p.gradient[i]));
            free(gradients);
        }
        run(&p);
        compare_with_file(&p, file, "out/norm", p.norm, step, 1e-6);
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "out/%s_%s", decay_name, parts[i]);
            compare_with_file(&p, file, name, p.weight[i], step, 7e-7);
        }
    }
    close_group(&p);
    golden_close(file);
}

TEST_CASE(six_steps_match_torch_with_the_default_decay)
{
    check_against_torch("default", 1e-6f);
}

TEST_CASE(six_steps_match_torch_with_a_strong_decay)
{
    check_against_torch("strong", 1e-2f);
}

TEST_CASE(a_step_with_a_bad_gradient_is_skipped_and_counted)
{
    group p = open_group(0, 1e-6f);
    fill(&p, p.gradient[0], 1);
    fill(&p, p.gradient[1], 1);
    run(&p);
    float before[12], after[12];
    get(&p, p.weight[0], before);
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (int i = 0; i < 3; i++) {
        fill(&p, p.gradient[1], bad[i]);
        run(&p);
        get(&p, p.weight[0], after);
        assert_memory_equal(before, after, sizeof before);
    }
    assert_int_equal(counts_of(&p, 0).steps, 1);
    assert_int_equal(counts_of(&p, 0).skipped, 3);
    // The group recovers: the next good gradient moves the weights again.
    fill(&p, p.gradient[1], 1);
    run(&p);
    get(&p, p.weight[0], after);
    assert_true(before[0] - after[0] > 1e-4f);
    assert_int_equal(counts_of(&p, 0).steps, 2);
    close_group(&p);
}

TEST_CASE(a_set_flag_skips_the_step)
{
    wk_error err = {0};
    group p = open_group(0, 1e-6f);
    fill(&p, p.gradient[0], 1);
    fill(&p, p.gradient[1], 1);
    uint64_t raised = 1;
    assert_ok(wk_program_upload(p.program, p.flag, &raised, sizeof raised, &err));
    run(&p);
    float after[12];
    get(&p, p.weight[0], after);
    for (int i = 0; i < 12; i++)
        assert_true(after[i] == 1);
    assert_int_equal(counts_of(&p, 0).skipped, 1);
    close_group(&p);
}

// The first step of Adam moves by rate * g / (|g| + eps'), so its size tells whether the clip used
// the member's own norm: eps 1e-5 against a gradient clipped to a norm of 100 or left at 1e-4.
TEST_CASE(members_of_a_stack_clip_and_skip_on_their_own)
{
    group p = open_group(3, 0);
    float a[3 * 12], b[3 * 5] = {0}, after[3 * 12];
    for (int i = 0; i < 36; i++)
        a[i] = i < 12 ? 1e6f : i < 24 ? 1e-5f : NAN;
    set(&p, p.gradient[0], a);
    set(&p, p.gradient[1], b);
    run(&p);
    get(&p, p.weight[0], after);
    float norm[3];
    get(&p, p.norm, norm);
    assert_near(norm[0], 1e6 * sqrt(12), 1);
    assert_near(norm[1], 1e-5 * sqrt(12), 1e-10);
    assert_near(after[0], 1 - 3e-4, 2e-7);        // g >> eps
    assert_near(after[12], 1 - 3e-4 * 0.5, 2e-7); // g = eps: half a step
    assert_true(after[24] == 1);
    assert_int_equal(counts_of(&p, 0).steps, 1);
    assert_int_equal(counts_of(&p, 1).steps, 1);
    assert_int_equal(counts_of(&p, 2).steps, 0);
    assert_int_equal(counts_of(&p, 2).skipped, 1);
    close_group(&p);
}

// Two graphs over one set: gradients in one, the step in the other.
typedef struct two_graphs {
    wk_graph *g[2];
    wk_scope *scope[2];
    wk_program *program[2];
    group p; // what both share, and the tensors of the first
} two_graphs;

static two_graphs open_two_graphs(void)
{
    wk_error err = {0};
    two_graphs t = {0};
    group *p = &t.p;
    wk_optimizer_config config = {.rate = 3e-4f, .adam = wk_adam_config_default()};
    assert_ok(wk_params_create(&(wk_params_config){.name = "set"}, &p->params, &err));
    assert_ok(test_backend_create(NULL, &p->backend, &err));
    assert_ok(wk_optimizer_create(p->params, &config, &p->optimizer, &err));
    for (int i = 0; i < 2; i++) {
        assert_ok(wk_graph_create(&t.g[i], &err));
        assert_ok(wk_scope_create(p->params, t.g[i], &t.scope[i], &err));
    }
    p->g = t.g[0];
    p->scope = t.scope[0];
    wk_tensor a = linear_loss(p, 0), b = linear_loss(p, 1);
    p->norm = wk_optimizer_export_gradients(p->optimizer, p->scope, wk_graph_add(p->g, a, b));
    // The second graph meets the weights in another order.
    wk_scope_weight(t.scope[1], "layer", "b", shapes[1], (wk_init){.kind = WK_INIT_ONES});
    wk_optimizer_import_gradients(p->optimizer, t.scope[1]);
    wk_optimizer_step(p->optimizer, (wk_tensor){0});
    for (int i = 0; i < 2; i++)
        assert_ok(wk_scope_bind(t.scope[i], p->backend, &err));
    assert_ok(wk_optimizer_bind(p->optimizer, p->backend, &err));
    for (int i = 0; i < 2; i++)
        assert_ok(wk_program_create(t.g[i], p->backend, &t.program[i], &err));
    p->program = t.program[0];
    return t;
}

static void close_two_graphs(two_graphs *t)
{
    wk_program_destroy(t->program[1]);
    wk_scope_destroy(t->scope[1]);
    wk_graph_destroy(t->g[1]);
    close_group(&t->p);
}

static void assert_same_set(const group *x, const group *y)
{
    for (int i = 0; i < 2; i++) {
        float one[64], other[64];
        get(x, x->weight[i], one);
        get(y, y->weight[i], other);
        assert_memory_equal(one, other, floats(x, x->weight[i]) * sizeof(float));
    }
}

TEST_CASE(a_step_in_another_graph_is_the_same_step)
{
    wk_error err = {0};
    group whole = open_group(0, wk_adam_config_default().decay);
    two_graphs pair = open_two_graphs();
    for (int n = 0; n < 3; n++) {
        for (int i = 0; i < 2; i++) {
            fill(&whole, whole.gradient[i], 0.5f + (float)(n - i));
            fill(&pair.p, pair.p.gradient[i], 0.5f + (float)(n - i));
        }
        run(&whole);
        run(&pair.p);
        assert_ok(wk_program_run(pair.program[1], &err));
        assert_same_set(&whole, &pair.p);
    }
    assert_int_equal(counts_of(&pair.p, 0).steps, 3);
    close_group(&whole);
    close_two_graphs(&pair);
}

TEST_CASE(gradients_that_are_left_change_no_weight)
{
    group whole = open_group(0, 0);
    two_graphs pair = open_two_graphs();
    for (int i = 0; i < 2; i++)
        fill(&pair.p, pair.p.gradient[i], 1);
    run(&pair.p);
    run(&pair.p);
    assert_same_set(&whole, &pair.p); // as they began
    assert_int_equal(counts_of(&pair.p, 0).steps, 0);
    close_group(&whole);
    close_two_graphs(&pair);
}

TEST_MAIN(NULL, NULL)
