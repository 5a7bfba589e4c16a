// The formats of results, on small graphs and on the learner's own. Needs no GPU.
#include "agent/learner_parts.h"
#include "support/check.h"
#include "support/engine.h"
#include "support/planning.h"
#include "tensor/plan.h"

enum { BOTH = WK_FORMAT_F32 | WK_FORMAT_BF16 };

static wk_plan *plan_of(const engine *e)
{
    wk_error err = {0};
    wk_plan *plan = NULL;
    assert_ok(wk_plan_create(e->g, &planning_backend, &plan, &err));
    planning_replay(plan);
    return plan;
}

// Compares the form of x and lets the plan go.
static void expect_form(engine *e, wk_tensor x, unsigned form)
{
    wk_plan *plan = plan_of(e);
    assert_int_equal(plan->formats[wk_info(e->g, x.id)->root], form);
    wk_plan_destroy(plan);
    engine_close(e);
}

typedef struct layer {
    engine e;
    wk_tensor x, w, bias, y;
} layer;

// y = elu(x w + bias), rows of `width`.
static layer open_layer(int width)
{
    layer l = {.e = engine_open(1)};
    l.x = engine_state(&l.e, WK_SHAPE(32, width));
    l.w = engine_state(&l.e, WK_SHAPE(width, width));
    l.bias = engine_state(&l.e, WK_SHAPE(width));
    l.y = wk_graph_bias_act(l.e.g, wk_graph_matmul(l.e.g, l.x, l.w), l.bias, WK_ELU);
    return l;
}

TEST_CASE(what_only_a_product_reads_exists_in_bf16_alone)
{
    layer l = open_layer(64);
    wk_graph_output(l.e.g, wk_graph_matmul(l.e.g, l.y, l.w));
    expect_form(&l.e, l.y, WK_FORMAT_BF16);
}

TEST_CASE(an_output_exists_in_float32)
{
    layer l = open_layer(64);
    wk_graph_output(l.e.g, l.y);
    expect_form(&l.e, l.y, WK_FORMAT_F32);
}

TEST_CASE(what_a_product_and_another_kernel_read_exists_in_both)
{
    layer l = open_layer(64);
    wk_graph_output(l.e.g, wk_graph_matmul(l.e.g, l.y, l.w));
    wk_graph_output(l.e.g, wk_graph_mul(l.e.g, l.y, l.y));
    expect_form(&l.e, l.y, BOTH);
}

TEST_CASE(rows_that_are_not_whole_exist_in_float32)
{
    layer l = open_layer(6);
    wk_graph_output(l.e.g, wk_graph_matmul(l.e.g, l.y, l.w));
    expect_form(&l.e, l.y, WK_FORMAT_F32);
}

// An encoder's layer and an error read an image; something else may.
static bool writes_image(int channels, bool squared)
{
    engine e = engine_open(1);
    wk_tensor bytes = wk_graph_input(e.g, WK_U8, WK_SHAPE(2, 64, 64, 3), "bytes");
    wk_tensor image = wk_graph_image(e.g, bytes), guess = engine_state(&e, WK_SHAPE(2, 64, 64, 3));
    wk_tensor w = engine_state(&e, WK_SHAPE(4, 4, 3, channels));
    wk_graph_output(e.g, wk_graph_conv(e.g, image, w, (wk_tensor){0}, 2, WK_ELU));
    wk_graph_output(e.g, wk_graph_half_squared_error(e.g, guess, image, 3));
    if (squared) wk_graph_output(e.g, wk_graph_mul(e.g, image, image));
    wk_plan *plan = plan_of(&e);
    bool lazy = plan->lazy[wk_info(e.g, image.id)->producer];
    wk_plan_destroy(plan);
    engine_close(&e);
    return !lazy;
}

TEST_CASE(an_image_is_written_for_what_reads_no_bytes)
{
    assert_false(writes_image(24, false));
    assert_true(writes_image(24, true));
    assert_true(writes_image(20, false));
}

TEST_CASE(kernels_that_write_float32_always_are_not_asked_for_less)
{
    engine e = engine_open(1);
    wk_tensor w = engine_state(&e, WK_SHAPE(64, 64));
    wk_tensor x = wk_graph_softmax(e.g, engine_state(&e, WK_SHAPE(32, 64)));
    wk_graph_output(e.g, wk_graph_matmul(e.g, x, w));
    expect_form(&e, x, BOTH);
}

TEST_CASE(long_ragged_rows_for_products_are_laid_out_filled_up)
{
    for (int other = 0; other < 2; other++) {
        engine e = engine_open(1);
        wk_tensor parts[] = {engine_state(&e, WK_SHAPE(32, 60)),
                             engine_state(&e, WK_SHAPE(32, 10))};
        wk_tensor rows = wk_graph_concat(e.g, parts, 2, 1);
        wk_tensor w = engine_state(&e, WK_SHAPE(70, 64));
        wk_graph_output(e.g, wk_graph_matmul(e.g, rows, w));
        if (other) wk_graph_output(e.g, wk_graph_mean_all(e.g, rows));
        expect_form(&e, rows, other ? WK_FORMAT_F32 : WK_FORMAT_PADDED_BF16);
    }
}

// A stack of layers' results, or of products, that a product reads.
typedef struct join {
    engine e;
    wk_tensor w, parts[3], all;
} join;

static wk_tensor join_part(join *j, wk_tensor x, bool activated)
{
    wk_tensor product = wk_graph_matmul(j->e.g, x, j->w);
    return activated ? wk_graph_activate(j->e.g, product, WK_TANH) : product;
}

static join open_join(bool layers, bool twice)
{
    join j = {.e = engine_open(1)};
    j.w = engine_state(&j.e, WK_SHAPE(64, 64));
    for (int i = 0; i < 3; i++)
        j.parts[i] = join_part(&j, engine_state(&j.e, WK_SHAPE(16, 64)), layers);
    if (twice) j.parts[2] = j.parts[0];
    j.all = wk_graph_concat(j.e.g, j.parts, 3, 0);
    wk_graph_output(j.e.g, wk_graph_matmul(j.e.g, j.all, j.w));
    return j;
}

TEST_CASE(a_join_exists_as_its_parts_do)
{
    for (int layers = 0; layers < 2; layers++) {
        join j = open_join(layers, false);
        wk_plan *plan = plan_of(&j.e);
        assert_int_equal(plan->formats[j.all.id], WK_FORMAT_BF16);
        assert_int_equal(plan->places[j.all.id].offset, WK_NOWHERE);
        for (int i = 0; i < 3; i++)
            assert_int_equal(plan->formats[j.parts[i].id], WK_FORMAT_BF16);
        wk_plan_destroy(plan);
        engine_close(&j.e);
    }
}

TEST_CASE(a_join_that_has_to_copy_a_part_has_all_of_them_in_float32)
{
    join j = open_join(true, true);
    wk_plan *plan = plan_of(&j.e);
    assert_true(plan->formats[j.all.id] & WK_FORMAT_F32);
    for (int i = 0; i < 3; i++)
        assert_true(plan->formats[j.parts[i].id] & WK_FORMAT_F32);
    wk_plan_destroy(plan);
    engine_close(&j.e);
}

// A product writes float32 where that is needed, and leaves the rounding to its readers: of the
// whole join, then.
TEST_CASE(a_join_with_a_product_in_both_formats_has_all_parts_in_float32)
{
    join j = open_join(false, false);
    wk_graph_output(j.e.g, wk_graph_mul(j.e.g, j.parts[1], j.parts[1]));
    wk_plan *plan = plan_of(&j.e);
    assert_int_equal(plan->formats[j.all.id], BOTH);
    for (int i = 0; i < 3; i++)
        assert_int_equal(plan->formats[j.parts[i].id], BOTH);
    wk_plan_destroy(plan);
    engine_close(&j.e);
}

TEST_CASE(a_join_with_a_layer_in_both_formats_stays_in_bf16)
{
    join j = open_join(true, false);
    wk_graph_output(j.e.g, wk_graph_mul(j.e.g, j.parts[1], j.parts[1]));
    wk_plan *plan = plan_of(&j.e);
    assert_int_equal(plan->formats[j.all.id], WK_FORMAT_BF16);
    assert_int_equal(plan->formats[j.parts[0].id], WK_FORMAT_BF16);
    assert_int_equal(plan->formats[j.parts[1].id], BOTH);
    wk_plan_destroy(plan);
    engine_close(&j.e);
}

// The quick preset's sizes, with channels in whole eights as the larger presets have them.
static wk_learner_config quick_config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 16, c.deter = c.hidden = 128, c.stoch = c.classes = 16, c.units = 128, c.layers = 2;
    c.ensemble = 5, c.batch = 8, c.length = 16, c.horizon = 8, c.action_size = 6, c.tasks = 2;
    return c;
}

static wk_learner *open_learner(wk_backend *backend)
{
    wk_error err = {0};
    wk_learner *learner;
    wk_learner_config c = quick_config();
    assert_ok(
        wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, backend, &learner, &err));
    return learner;
}

TEST_CASE(the_learner_s_graphs_keep_what_they_need)
{
    wk_learner *learner = open_learner(&planning_backend);
    for (int i = 0; i < WK_COMPILED_GRAPHS; i++)
        planning_replay(wk_learner_compiled_graph(learner, i)->program->plan);
    wk_learner_destroy(learner);
}

// Bytes as float32 of the temporaries of a form.
static double bytes_in(const wk_plan *plan, unsigned form)
{
    double sum = 0;
    for (size_t i = 1; i < plan->graph->tensors.count; i++) {
        const wk_tensor_info *info = wk_info(plan->graph, (int)i);
        if (info->root != (int)i || info->kind != WK_TEMPORARY) continue;
        if (plan->places[i].region == WK_REGION_NONE || plan->lazy[info->producer]) continue;
        if (plan->formats[i] == form) sum += (double)wk_type_size(info->type);
    }
    return sum;
}

TEST_CASE(most_of_the_learner_exists_in_bf16_alone)
{
    wk_error err = {0};
    wk_backend_vtable without_forms = *planning_backend.vtable;
    without_forms.choose_formats = NULL;
    const wk_backend in_float32 = {.vtable = &without_forms};
    wk_learner *learner = open_learner(&planning_backend);
    const wk_compiled_graph *units[] = {&learner->model, &learner->update, &learner->tasks};
    for (int i = 0; i < 3; i++) {
        const wk_plan *plan = units[i]->program->plan;
        double bf16 = bytes_in(plan, WK_FORMAT_BF16), both = bytes_in(plan, BOTH);
        double rest = bytes_in(plan, WK_FORMAT_F32) + bytes_in(plan, WK_FORMAT_PADDED_BF16);
        assert_true(bf16 > 2 * (both + rest));
        // Less than half of floats with copies of all of them, and little more than what is live.
        wk_plan *floats = NULL;
        assert_ok(wk_plan_create(units[i]->graph, &in_float32, &floats, &err));
        assert_true((double)plan->temporary_size < 0.5 * 1.5 * (double)floats->temporary_size);
        assert_true((double)plan->temporary_size < 1.05 * (double)plan->live_peak);
        wk_plan_destroy(floats);
    }
    wk_learner_destroy(learner);
}

TEST_MAIN(NULL, NULL)
