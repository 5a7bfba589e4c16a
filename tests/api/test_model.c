// World models of saved runs through the public API: what they predict is what `waker openloop`
// draws, and nothing is kept between calls.
#include "agent/prediction.h"
#include "cli/long_runs.h"
#include "run/saved_run.h"
#include "waker/model.h"

enum { N = 3, T = 6, PIXELS = WK_IMAGE_BYTES };

static wk_error err;
static char run[512];
static uint8_t images[T][N][PIXELS];
static float actions[T][N][2];
static const uint8_t first[T][N] = {{1, 1, 1}};

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir run " TINY_OPTIONS));
    inside("run", run);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < PIXELS; k++)
                images[t][i][k] = (uint8_t)((t * 7 + i * 31 + k) % 256);
            actions[t][i][0] = t ? 0.25f * (float)(i - 1) : 0;
            actions[t][i][1] = t ? 0.1f * (float)t : 0;
        }
    return 0;
}

static wk_model *open_model(bool sample, uint64_t seed)
{
    wk_model *model;
    wk_model_config config = wk_model_config_default();
    config.run = run, config.sample = sample, config.seed = seed;
    assert_ok(wk_model_create(&config, &model, &err));
    return model;
}

enum { FLAT_MAX = 64, DETER_MAX = 64 };
typedef struct latents {
    float stoch[N * FLAT_MAX], deter[N * DETER_MAX];
} latents;

static wk_model_latents of(latents *l)
{
    return (wk_model_latents){l->stoch, l->deter};
}

static void observe(wk_model *model, latents *l, int t)
{
    assert_ok(
        wk_model_observe(model, N, of(l), &images[t][0][0], &actions[t][0][0], first[t], &err));
}

// Open loop of one frame of context: [T,N,PIXELS].
static void run_open_loop(float *out)
{
    wk_saved_run saved = {0};
    const wk_weights_choice choice = {.kind = WK_WEIGHTS_SNAPSHOT, .step = WK_STEP_LAST};
    const wk_learner_batch batch = {
        .images = &images[0][0][0], .actions = &actions[0][0][0], .first = &first[0][0]};
    wk_prediction *prediction;
    assert_ok(wk_saved_run_open(run, &(wk_saved_run_options){.weights = &choice}, &saved, &err));
    assert_ok(wk_prediction_create(saved.weights.learner, N, T, 1, &prediction, &err));
    assert_ok(wk_prediction_run(prediction, &batch, &(wk_predicted){.open_loop = out}, &err));
    wk_prediction_destroy(prediction);
    wk_saved_run_close(&saved);
}

static bool images_agree(const float *a, const float *b)
{
    for (int k = 0; k < PIXELS; k++)
        if (fabsf(a[k] - b[k]) > 1e-6f) return false;
    return true;
}

// An open loop samples the stochastic part of its context, which has 27 values here; one of them
// must look like its first frame, and go on like the others.
static void imagined_images_are_those_of_an_open_loop(void **state)
{
    (void)state;
    enum { VALUES = 27, FLAT = 9, DETER = 6 };
    static float expected[T][N][PIXELS], drawn[VALUES][PIXELS];
    float stoch[VALUES][FLAT] = {{0}}, deter[VALUES][DETER];
    const wk_model_latents all = {&stoch[0][0], &deter[0][0]};
    run_open_loop(&expected[0][0][0]);
    wk_model *model = open_model(false, 0);
    latents begun = {{0}, {0}};
    observe(model, &begun, 0);
    for (int v = 0, digits = 0; v < VALUES; digits = ++v) {
        memcpy(deter[v], begun.deter, sizeof deter[v]);
        for (int k = 0; k < 3; k++, digits /= 3)
            stoch[v][3 * k + digits % 3] = 1;
    }
    assert_ok(wk_model_decode(model, VALUES, all, &drawn[0][0], &err));
    int found = 0;
    while (found < VALUES && !images_agree(drawn[found], expected[0][0]))
        found++;
    assert_true(found < VALUES);
    for (int t = 1; t < T; t++) {
        float same_action[VALUES][2];
        for (int v = 0; v < VALUES; v++)
            memcpy(same_action[v], actions[t][0], sizeof same_action[v]);
        assert_ok(wk_model_imagine(model, VALUES, all, &same_action[0][0], &err));
        assert_ok(wk_model_decode(model, VALUES, all, &drawn[0][0], &err));
        assert_true(images_agree(drawn[found], expected[t][0]));
    }
    wk_model_destroy(model);
}

static void draws_come_from_the_seed(void **state)
{
    (void)state;
    latents drawn[3] = {{{0}, {0}}, {{0}, {0}}, {{0}, {0}}};
    const uint64_t seeds[3] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        wk_model *model = open_model(true, seeds[i]);
        for (int t = 0; t < T; t++)
            observe(model, &drawn[i], t);
        wk_model_destroy(model);
    }
    assert_memory_equal(&drawn[0], &drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(&drawn[0], &drawn[2], sizeof drawn[0]);
}

static void nothing_is_kept_between_calls(void **state)
{
    (void)state;
    wk_model *model = open_model(false, 0);
    const wk_model_sizes sizes = wk_model_get_sizes(model);
    assert_int_equal(sizes.stoch * sizes.classes, 9);
    assert_int_equal(sizes.deter, 6);
    assert_int_equal(sizes.action, 2);
    assert_string_equal(wk_model_domain(model)->name, "toy");
    assert_int_equal(wk_model_step(model), newest_step(run));
    latents one = {{0}, {0}}, again = {{0}, {0}}, kept;
    observe(model, &one, 0);
    kept = one;
    observe(model, &one, 1);
    observe(model, &again, 0);
    assert_memory_equal(&again, &kept, sizeof kept);
    // The first image of an episode ignores the state before it.
    observe(model, &one, 0);
    assert_memory_equal(&one, &kept, sizeof kept);
    wk_model_destroy(model);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    wk_model *model;
    wk_model_config config = wk_model_config_default();
    assert_refused(wk_model_create(&config, &model, &err), WK_E_INPUT, "run:");
    config.run = place;
    assert_refused(wk_model_create(&config, &model, &err), WK_E_NOT_FOUND, "holds no run");
    config.run = run, config.step = 7;
    assert_refused(wk_model_create(&config, &model, &err), WK_E_NOT_FOUND, "402");
    model = open_model(false, 0);
    latents l = {{0}, {0}};
    assert_refused(wk_model_imagine(model, 0, of(&l), &actions[0][0][0], &err), WK_E_INPUT,
                   "0 sequences");
    wk_model_destroy(model);
    wk_model_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imagined_images_are_those_of_an_open_loop),
        cmocka_unit_test(draws_come_from_the_seed),
        cmocka_unit_test(nothing_is_kept_between_calls),
        cmocka_unit_test(what_is_wrong_is_said),
    };
    return cmocka_run_group_tests(tests, setup_run, teardown);
}
