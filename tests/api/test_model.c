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

// Runs of a domain that is observed by vectors, without and with images besides.
enum { V = 6, CHOICES = 5 };
#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"
static const char *const seeing_vectors[2] = {"vector", "both"};
static float vectors[T][N][V], choices[T][N][CHOICES];

static int setup_run(void **state)
{
    if (setup(state) != 0) return -1;
    program_expect_success(program_run("train --quiet --logdir run " TINY_OPTIONS));
    program_expect_success(program_run("train --quiet --logdir vector --plugin " PLUGINS
                                       "grid.so " TINY_OPTIONS " --steps 100"));
    program_expect_success(program_run("train --quiet --logdir both --plugin " PLUGINS
                                       "grid_both.so " TINY_OPTIONS " --steps 100"));
    inside("run", run);
    for (int t = 0; t < T; t++)
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < PIXELS; k++)
                images[t][i][k] = (uint8_t)((t * 7 + i * 31 + k) % 256);
            actions[t][i][0] = t ? 0.25f * (float)(i - 1) : 0;
            actions[t][i][1] = t ? 0.1f * (float)t : 0;
            for (int k = 0; k < V; k++)
                vectors[t][i][k] = (float)((t * 3 + i * 5 + k) % 7) - 3;
            if (t) choices[t][i][(t + i) % CHOICES] = 1;
        }
    return 0;
}

static wk_model *open_model_of(const char *directory, bool sample, uint64_t seed)
{
    wk_model *model;
    wk_model_config config = wk_model_config_default();
    config.run = directory, config.sample = sample, config.seed = seed;
    assert_ok(wk_model_create(&config, &model, &err));
    return model;
}

static wk_model *open_model(bool sample, uint64_t seed)
{
    return open_model_of(run, sample, seed);
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

// Open loop of one frame of context.
static void run_open_loop(const char *directory, const float *moves, const wk_predicted *out)
{
    wk_saved_run saved = {0};
    const wk_weights_choice choice = {.kind = WK_WEIGHTS_SNAPSHOT, .step = WK_STEP_LAST};
    const wk_learner_batch batch = {.images = &images[0][0][0],
                                    .vectors = &vectors[0][0][0],
                                    .actions = moves,
                                    .first = &first[0][0]};
    wk_prediction *prediction;
    assert_ok(
        wk_saved_run_open(directory, &(wk_saved_run_options){.weights = &choice}, &saved, &err));
    assert_ok(wk_prediction_create(saved.weights.learner, N, T, 1, &prediction, &err));
    assert_ok(wk_prediction_run(prediction, &batch, out, &err));
    wk_prediction_destroy(prediction);
    wk_saved_run_close(&saved);
}

static bool numbers_agree(const float *a, const float *b, int count)
{
    for (int k = 0; k < count; k++)
        if (fabsf(a[k] - b[k]) > 1e-6f) return false;
    return true;
}

enum { VALUES = 27, FLAT = 9, DETER = 6 };

// Every value of the stochastic part, with the same recurrent part.
static void make_values(const float *deter_of_all, float stoch[VALUES][FLAT],
                        float deter[VALUES][DETER])
{
    memset(stoch, 0, VALUES * sizeof *stoch);
    for (int v = 0, digits = 0; v < VALUES; digits = ++v) {
        memcpy(deter[v], deter_of_all, sizeof deter[v]);
        for (int k = 0; k < 3; k++, digits /= 3)
            stoch[v][3 * k + digits % 3] = 1;
    }
}

static wk_batch what_is_seen(const char *directory, int t)
{
    static uint8_t flags[N];
    for (int i = 0; i < N; i++)
        flags[i] = first[t][i] ? WK_IS_FIRST : 0;
    return (wk_batch){.images = strcmp(directory, "vector") != 0 ? images[t][0] : NULL,
                      .vectors = strcmp(directory, "run") != 0 ? vectors[t][0] : NULL,
                      .flags = flags};
}

static float expected[T][N][PIXELS], expected_vectors[T][N][V]; // of an open loop
static float drawn[VALUES][PIXELS], told[VALUES][V];            // decoded

// Whether value v looks like the first sequence of the open loop at step t.
static bool agrees(int v, size_t t, bool images_too, bool vectors_too)
{
    return (!images_too || numbers_agree(drawn[v], expected[t][0], PIXELS)) &&
           (!vectors_too || numbers_agree(told[v], expected_vectors[t][0], V));
}

// An open loop samples the stochastic part of its context, which has 27 values here; one of them
// must look like its first frame, and go on like the others. With images, vectors, and both.
TEST_CASE(what_is_imagined_is_that_of_an_open_loop)
{
    static const char *const names[] = {"run", "vector", "both"};
    float stoch[VALUES][FLAT], deter[VALUES][DETER], same_action[VALUES * CHOICES];
    const wk_model_latents all = {&stoch[0][0], &deter[0][0]};
    for (int d = 0; d < 3; d++) {
        char directory[512];
        const wk_batch seen = what_is_seen(names[d], 0);
        size_t width = d == 0 ? 2 : CHOICES;
        const float *moves = d == 0 ? actions[0][0] : choices[0][0];
        float *pixels = seen.images ? drawn[0] : NULL, *numbers = seen.vectors ? told[0] : NULL;
        inside(names[d], directory);
        run_open_loop(directory, moves,
                      &(wk_predicted){.open_loop = pixels ? expected[0][0] : NULL,
                                      .open_vectors = numbers ? expected_vectors[0][0] : NULL});
        wk_model *model = open_model_of(directory, false, 0);
        latents begun = {{0}, {0}};
        assert_ok(wk_model_observe_batch(model, N, of(&begun), &seen, moves, &err));
        make_values(begun.deter, stoch, deter);
        int found = 0;
        for (size_t t = 0; t < T; t++) {
            for (size_t v = 0; v < VALUES; v++)
                memcpy(same_action + v * width, moves + t * N * width, width * sizeof *moves);
            if (t > 0) assert_ok(wk_model_imagine(model, VALUES, all, same_action, &err));
            assert_ok(
                d == 0 ? wk_model_decode(model, VALUES, all, pixels, &err)
                       : wk_model_decode_observations(model, VALUES, all, pixels, numbers, &err));
            while (t == 0 && found < VALUES && !agrees(found, t, pixels, numbers))
                found++;
            assert_true(found < VALUES && agrees(found, t, pixels, numbers));
        }
        wk_model_destroy(model);
    }
}

// What a state has become must depend on every number that was seen.
TEST_CASE(vectors_and_images_change_the_posterior)
{
    for (int d = 0; d < 2; d++) {
        char directory[512];
        inside(seeing_vectors[d], directory);
        int changed[2] = {0, 0};
        for (uint64_t seed = 0; seed < 20; seed++) {
            wk_model *model;
            latents after[3] = {{{0}, {0}}, {{0}, {0}}, {{0}, {0}}};
            for (int i = 0; i < 3; i++) {
                wk_batch seen = what_is_seen(seeing_vectors[d], 0);
                if (i == 1) seen.vectors = vectors[1][0];
                if (i == 2 && seen.images) seen.images = images[3][0];
                model = open_model_of(directory, true, seed);
                assert_ok(
                    wk_model_observe_batch(model, N, of(&after[i]), &seen, choices[0][0], &err));
                wk_model_destroy(model);
                if (i > 0) changed[i - 1] += memcmp(&after[i], &after[0], sizeof after[0]) != 0;
            }
        }
        assert_true(changed[0] > 0);
        assert_true(d == 0 ? changed[1] == 0 : changed[1] > 0);
    }
}

TEST_CASE(missing_parts_and_numbers_that_are_not_finite_are_refused)
{
    char directory[512];
    latents l = {{0}, {0}};
    static float pixels[N * PIXELS];
    inside("vector", directory);
    wk_model *model = open_model_of(directory, false, 0);
    assert_refused(wk_model_observe(model, N, of(&l), images[0][0], choices[0][0], first[0], &err),
                   WK_E_INPUT, "observed by a vector: give vectors");
    assert_refused(wk_model_decode(model, N, of(&l), pixels, &err), WK_E_INPUT, "give vectors");
    float wrong[N][V] = {{0}};
    wrong[1][2] = NAN;
    wk_batch seen = what_is_seen("vector", 0);
    seen.vectors = wrong[0];
    assert_refused(wk_model_observe_batch(model, N, of(&l), &seen, choices[0][0], &err), WK_E_INPUT,
                   "number 2 of vector 1 is not finite");
    wk_model_destroy(model);
    inside("both", directory);
    model = open_model_of(directory, false, 0);
    assert_refused(wk_model_observe(model, N, of(&l), images[0][0], choices[0][0], first[0], &err),
                   WK_E_INPUT, "observed by an image and a vector: give vectors");
    seen = what_is_seen("vector", 0);
    assert_refused(wk_model_observe_batch(model, N, of(&l), &seen, choices[0][0], &err), WK_E_INPUT,
                   "give images");
    wk_model_destroy(model);
    model = open_model(false, 0);
    float move[N][2] = {{0}};
    move[2][1] = INFINITY;
    assert_refused(wk_model_observe(model, N, of(&l), images[0][0], move[0], first[0], &err),
                   WK_E_INPUT, "number 1 of action 2 is not finite");
    move[2][1] = NAN;
    assert_refused(wk_model_imagine(model, N, of(&l), move[0], &err), WK_E_INPUT,
                   "number 1 of action 2 is not finite");
    latents untouched = {{0}, {0}};
    assert_memory_equal(&l, &untouched, sizeof l);
    wk_model_destroy(model);
}

TEST_CASE(draws_come_from_the_seed)
{
    latents after[3] = {{{0}, {0}}, {{0}, {0}}, {{0}, {0}}};
    const uint64_t seeds[3] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        wk_model *model = open_model(true, seeds[i]);
        for (int t = 0; t < T; t++)
            observe(model, &after[i], t);
        wk_model_destroy(model);
    }
    assert_memory_equal(&after[0], &after[1], sizeof after[0]);
    assert_memory_not_equal(&after[0], &after[2], sizeof after[0]);
}

TEST_CASE(nothing_is_kept_between_calls)
{
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

TEST_CASE(what_is_wrong_is_said)
{
    wk_model *model;
    wk_model_config config = wk_model_config_default();
    assert_refused(wk_model_create(&config, &model, &err), WK_E_INPUT, "run:");
    config.run = place, config.threads = -3;
    assert_refused(wk_model_create(&config, &model, &err), WK_E_INPUT, "threads: cannot use -3");
    config.threads = 0;
    assert_refused(wk_model_create(&config, &model, &err), WK_E_NOT_FOUND, "holds no run");
    config.run = run, config.step = 7;
    assert_refused(wk_model_create(&config, &model, &err), WK_E_NOT_FOUND, "402");
    model = open_model(false, 0);
    latents l = {{0}, {0}};
    assert_refused(wk_model_imagine(model, 0, of(&l), &actions[0][0][0], &err), WK_E_INPUT,
                   "0 sequences");
    static float pixels[N * WK_IMAGE_BYTES];
    l.deter[1] = NAN;
    assert_refused(wk_model_imagine(model, N, of(&l), &actions[0][0][0], &err), WK_E_INPUT,
                   "number 1 of deter 0 is not finite");
    l.deter[1] = 0, l.stoch[2] = INFINITY;
    assert_refused(wk_model_decode(model, N, of(&l), pixels, &err), WK_E_INPUT,
                   "number 2 of stoch 0 is not finite");
    wk_model_destroy(model);
    wk_model_destroy(NULL);
}

TEST_MAIN(setup_run, teardown)
