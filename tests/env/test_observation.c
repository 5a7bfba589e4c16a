// What an agent sees besides the image, and actions that are chosen from a list: what the host
// makes of a domain that has them, and what it refuses.
#include "env/domain.h"
#include "support/findings.h"
#include "support/toy_domain.h"
#include <math.h>
#include <stdlib.h>

#define PLUGINS WAKER_BINARY_DIR "/tests/plugins/"

enum { NUMBERS = 3, STEPS = 5 };

static wk_error err;
static const double theta[] = {1, 0};
static const float stay[] = {1, 0}, go[] = {0, 1};

// The toy's state as it is saved begins with its position.
static double position_of(void *world, const wk_domain *domain)
{
    char bytes[256];
    double x;
    assert_true(domain->state_size(world) <= sizeof bytes);
    domain->save(world, bytes);
    memcpy(&x, bytes, sizeof x);
    return x;
}

static toy sound;

static void observe(void *world, float *vector)
{
    for (int i = 0; i < NUMBERS; i++)
        vector[i] = (float)position_of(world, &sound.domain) + (float)i;
}

static toy with_vector(void)
{
    sound = toy_make(TOY_SOUND);
    toy t = sound;
    t.domain.observation.vector = NUMBERS;
    t.domain.observe = observe;
    return t;
}

/* ---- Vectors --------------------------------------------------------------------------------- */

TEST_CASE(a_step_gives_the_vector_of_the_state_it_leads_to)
{
    toy t = with_vector();
    wk_env *env;
    float vector[NUMBERS] = {0}, before;
    assert_ok(wk_env_create(&t.domain, NULL, &env, &err));
    const wk_frame frame = {.vector = vector};
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &frame, &err));
    assert_float_equal(vector[0], toy_start(7, 3), 1e-6);
    before = vector[0];
    assert_ok(wk_env_step(env, (const float[]){1, 0}, &frame, &err));
    assert_float_equal(vector[0], before + 0.1f, 1e-5);
    assert_float_equal(vector[2], vector[0] + 2, 1e-6);
    wk_env_destroy(env);
}

TEST_CASE(a_batch_has_a_row_of_numbers_for_every_environment)
{
    enum { N = 3 };
    toy t = with_vector();
    wk_vec *vec;
    const float still[N * TOY_ACTIONS] = {0};
    t.domain.observation.no_image = true;
    t.domain.render = NULL;
    assert_ok(wk_vec_create(&t.domain, NULL, N, 2, &vec, &err));
    for (int i = 0; i < N; i++)
        assert_ok(wk_vec_plan_reset(vec, i, theta, 2, 7, (uint64_t)i, &err));
    assert_ok(wk_vec_step(vec, still, &err));
    assert_null(wk_vec_batch(vec)->images);
    for (int i = 0; i < N; i++)
        assert_float_equal(wk_vec_batch(vec)->vectors[i * NUMBERS], toy_start(7, (uint64_t)i),
                           1e-6);
    wk_vec_destroy(vec);
}

static int calls;

static void break_down(void *world, float *vector)
{
    observe(world, vector);
    if (++calls == STEPS) vector[1] = NAN;
}

// Whether anybody asks for the vector must not change what happens.
TEST_CASE(a_vector_that_is_not_finite_ends_the_episode)
{
    for (int asked = 0; asked < 2; asked++) {
        toy t = with_vector();
        wk_env *env;
        float vector[NUMBERS];
        uint8_t flags = 0;
        int steps = 0;
        t.domain.observe = break_down;
        calls = 0;
        const wk_frame frame = {.vector = asked ? vector : NULL, .flags = &flags};
        assert_ok(wk_env_create(&t.domain, NULL, &env, &err));
        assert_ok(wk_env_reset(env, theta, 2, 7, 3, &frame, &err));
        for (; !(flags & WK_IS_LAST); steps++)
            assert_ok(wk_env_step(env, stay, &frame, &err));
        assert_int_equal(steps, STEPS - 1);
        assert_int_equal(flags, WK_IS_LAST | WK_IS_DIVERGED);
        for (int i = 0; asked && i < NUMBERS; i++)
            assert_float_equal(vector[i], 0, 0);
        wk_env_destroy(env);
    }
}

TEST_CASE(what_draws_nothing_is_not_drawn)
{
    toy t = with_vector();
    wk_env *env;
    static uint8_t image[WK_IMAGE_BYTES];
    t.domain.observation.no_image = true;
    t.domain.render = NULL;
    assert_ok(wk_env_create(&t.domain, NULL, &env, &err));
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &(wk_frame){0}, &err));
    const char *message = "domain 'toy' draws no images: its agent sees 3 numbers";
    const wk_frame frame = {.image = image};
    assert_refused(wk_env_render(env, 8, 8, image, &err), WK_E_UNSUPPORTED, message);
    assert_refused(wk_env_step(env, stay, &frame, &err), WK_E_UNSUPPORTED, message);
    assert_refused(wk_env_reset(env, theta, 2, 7, 3, &frame, &err), WK_E_UNSUPPORTED, message);
    wk_env_destroy(env);
}

/* ---- Discrete actions ------------------------------------------------------------------------ */

TEST_CASE(a_discrete_action_is_one_of_them)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env;
    t.domain.discrete = true;
    assert_ok(wk_env_create(&t.domain, NULL, &env, &err));
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &(wk_frame){0}, &err));
    const float wrong[][2] = {{0, 0}, {1, 1}, {0.5f, 0.5f}, {-1, 1}, {2, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(wk_env_step(env, wrong[i], &(wk_frame){0}, &err), WK_E_INPUT,
                       "takes one of 2 actions: 1 at its place and 0 at the others");
    assert_int_equal(wk_env_steps(env), 0);
    assert_ok(wk_env_step(env, stay, &(wk_frame){0}, &err));
    assert_ok(wk_env_step(env, go, &(wk_frame){0}, &err));
    wk_env_destroy(env);
}

TEST_CASE(random_actions_choose_each_alike)
{
    enum { KINDS = 5, DRAWS = 5000 };
    wk_domain domain = {.action_size = KINDS, .discrete = true};
    wk_rng rng = wk_rng_stream(1, "random", 0);
    int counts[KINDS] = {0};
    for (int i = 0; i < DRAWS; i++) {
        float action[KINDS];
        int ones = 0;
        wk_domain_random_action(&domain, &rng, action);
        for (int k = 0; k < KINDS; k++) {
            assert_true(action[k] == 0 || action[k] == 1);
            ones += action[k] == 1;
            counts[k] += action[k] == 1;
        }
        assert_int_equal(ones, 1);
    }
    for (int k = 0; k < KINDS; k++)
        assert_true(abs(counts[k] - DRAWS / KINDS) < 150); // five standard deviations
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

#define assert_faulty(t, part)                                                                     \
    assert_refused(wk_domain_check(&(t).domain, &err), WK_E_INPUT, (part))

TEST_CASE(faulty_descriptions_are_refused)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.discrete = true;
    t.domain.action_size = 1;
    assert_faulty(t, "action_size is 1; it must lie in 2 to 32");
    t = toy_make(TOY_SOUND);
    t.domain.observation.no_image = true;
    assert_faulty(t, "the agent sees nothing");
    t = toy_make(TOY_SOUND);
    t.domain.observation.vector = NUMBERS;
    assert_faulty(t, "observe is NULL although observation.vector is 3");
    t = with_vector();
    t.domain.observation.vector = 0;
    assert_faulty(t, "observe is given although observation.vector is 0");
    t = with_vector();
    t.domain.observation.vector = WK_VECTOR_MAX + 1;
    assert_faulty(t, "observation.vector is 4097; it must lie in 0 to 4096");
    t = with_vector();
    t.domain.render = NULL;
    assert_faulty(t, "the function render is NULL");
}

/* ---- Examining ------------------------------------------------------------------------------- */

static void observe_outside(void *world, float *vector)
{
    observe(world, vector);
    vector[NUMBERS] = 1;
}

static void observe_holes(void *world, float *vector)
{
    observe(world, vector);
    memcpy(vector + 2, vector + NUMBERS, sizeof *vector); // the guard's filling
}

static void observe_still(void *world, float *vector)
{
    for (int i = 0; i < NUMBERS; i++)
        vector[i] = 1;
}

TEST_CASE(the_examination_finds_faults_of_observe)
{
    toy t = with_vector();
    t.domain.observe = observe_outside;
    assert_found(&t.domain, "fault: observe writes outside the 3 numbers of observation.vector", 1);
    t.domain.observe = observe_holes;
    assert_found(&t.domain, "fault: observe writes two different vectors of one state", 1);
    t.domain.observe = observe_still;
    assert_found(&t.domain, "fault: the vector of θ", 1);
}

TEST_CASE(the_examples_are_sound)
{
    static const char *const files[] = {PLUGINS "grid.so", PLUGINS "grid_both.so"};
    static const char SHORT[] = "advice: episodes have at most 41 rows ";
    for (int i = 0; i < 2; i++) {
        wk_plugin *plugin;
        int faults;
        assert_ok(wk_plugin_load(files[i], &plugin, &err));
        wk_text found = examine(wk_plugin_domain(plugin), &faults);
        // They are shorter than a sequence by default; nothing else is said of them.
        if (faults > 0 || strncmp(wk_text_get(&found), SHORT, strlen(SHORT)) != 0 ||
            strchr(wk_text_get(&found), '\n') != wk_text_get(&found) + found.length - 1)
            fail_msg("%s: %s", files[i], wk_text_get(&found));
        wk_text_free(&found);
        wk_plugin_unload(plugin);
    }
}

TEST_MAIN(NULL, NULL)
