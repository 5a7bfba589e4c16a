// The clean-up and combined domains as users meet them: described, run, saved and run in parallel
// through wk_env and wk_vec, and short of memory.
#include "env/domains/cleanup.h"
#include "env/domains/combined.h"
#include "env/plugins/plugin_check.h"
#include "support/check.h"
#include "support/faults.h"

static const wk_domain *const domains[] = {&wk_clean_up, &wk_car_clean_up, &wk_combined};
static const double worlds[][4] = {{2, 1, 1}, {1, 0, 1}, {1, 3, 2, 1}};
enum { DOMAINS = 3 };

static wk_env *make(int d)
{
    wk_error err = {0};
    wk_env *env = NULL;
    assert_ok(wk_env_create(domains[d], NULL, &env, &err));
    return env;
}

static void begin(wk_env *env, int d, const wk_frame *out)
{
    wk_error err = {0};
    assert_ok(wk_env_reset(env, worlds[d], (size_t)domains[d]->n_params, 31, 4, out, &err));
}

static void descriptions_are_sound(void **state)
{
    (void)state;
    wk_error err = {0};
    for (int d = 0; d < DOMAINS; d++)
        assert_ok(wk_domain_check(domains[d], &err));
}

static void impossible_worlds_are_refused_with_a_reason(void **state)
{
    (void)state;
    wk_error err = {0};
    assert_refused(wk_domain_check_params(&wk_clean_up, (double[]){3, 2, 2}, 3, &err), WK_E_INPUT,
                   "arena 3 holds at most 3");
    assert_refused(wk_domain_check_params(&wk_clean_up, (double[]){6, 0, 0}, 3, &err), WK_E_INPUT,
                   "arena");
    assert_refused(wk_domain_check_params(&wk_combined, (double[]){0, 1, 1}, 3, &err), WK_E_INPUT,
                   "4");
    int task = -1;
    assert_ok(wk_domain_task(&wk_car_clean_up, "sort-reversed", &task, &err));
    assert_int_equal(task, 1);
}

static void an_episode_ends_by_time_after_five_hundred_steps(void **state)
{
    (void)state;
    wk_error err = {0};
    const float still[6] = {0};
    for (int d = 0; d < DOMAINS; d++) {
        wk_env *env = make(d);
        uint8_t flags = 0;
        wk_frame out = {.flags = &flags};
        begin(env, d, &out);
        assert_int_equal(flags, WK_IS_FIRST);
        for (int i = 1; i <= 500; i++) {
            assert_ok(wk_env_step(env, still, &out, &err));
            assert_int_equal(flags, i == 500 ? WK_IS_LAST : 0);
        }
        assert_int_not_equal(wk_env_step(env, still, &out, &err), WK_OK);
        wk_env_destroy(env);
    }
}

static void a_saved_episode_goes_on_elsewhere_to_the_same_images(void **state)
{
    (void)state;
    static uint8_t bytes[1 << 16], images[2][WK_IMAGE_BYTES];
    wk_error err = {0};
    const float action[6] = {0.9f, 0.2f, -0.3f, 0.4f, 0.1f, -0.5f};
    for (int d = 0; d < DOMAINS; d++) {
        wk_env *env[2] = {make(d), make(d)};
        begin(env[0], d, &(wk_frame){0});
        for (int i = 0; i < 25; i++)
            assert_ok(wk_env_step(env[0], action, &(wk_frame){0}, &err));
        size_t size = wk_env_state_size(env[0]);
        assert_in_range(size, 1, sizeof bytes);
        assert_ok(wk_env_save(env[0], bytes, size, &err));
        assert_ok(wk_env_load(env[1], bytes, size, &err));
        assert_int_equal(wk_env_steps(env[1]), 25);
        for (int i = 0; i < 25; i++) {
            float rewards[2][WK_TASKS_MAX] = {{0}};
            for (int e = 0; e < 2; e++)
                assert_ok(wk_env_step(
                    env[e], action, &(wk_frame){.image = images[e], .rewards = rewards[e]}, &err));
            assert_memory_equal(images[0], images[1], WK_IMAGE_BYTES);
            assert_memory_equal(rewards[0], rewards[1], sizeof rewards[0]);
        }
        wk_env_destroy(env[0]);
        wk_env_destroy(env[1]);
    }
}

// Runs three environments that all compile their worlds at the same time; a checksum of all output.
static uint64_t parallel_run(int d, int threads)
{
    wk_error err = {0};
    wk_vec *vec = NULL;
    wk_space *space = NULL;
    assert_ok(wk_vec_create(domains[d], NULL, 3, threads, &vec, &err));
    assert_ok(wk_space_create(domains[d], false, &space, &err));
    float actions[3 * 6] = {0};
    uint64_t sum = 0;
    for (int t = 0; t < 40; t++) {
        double theta[WK_PARAMS_MAX];
        for (int i = 0; i < 3 && t % 10 == 0; i++) {
            wk_space_sample(space, 5, (uint64_t)(3 * t + i), theta);
            assert_ok(wk_vec_plan_reset(vec, i, theta, (size_t)domains[d]->n_params, 5, (uint64_t)t,
                                        &err));
        }
        for (int i = 0; i < 18; i++)
            actions[i] = (float)sin(0.3 * t + i);
        assert_ok(wk_vec_step(vec, actions, &err));
        const wk_batch *batch = wk_vec_batch(vec);
        for (int i = 0; i < 3 * WK_IMAGE_BYTES; i++)
            sum = sum * 31 + batch->images[i];
        for (size_t i = 0; i < 3 * (size_t)domains[d]->n_tasks * sizeof(float); i++)
            sum = sum * 31 + ((const uint8_t *)batch->rewards)[i];
    }
    wk_space_destroy(space);
    wk_vec_destroy(vec);
    return sum;
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    for (int d = 0; d < DOMAINS; d++)
        assert_true(parallel_run(d, 1) == parallel_run(d, 3));
}

static void count_fault(void *context, bool fault, const char *sentence)
{
    (void)context;
    if (fault) print_message("%s\n", sentence);
}

static void the_examination_for_plugins_finds_no_fault(void **state)
{
    (void)state;
    wk_error err = {0};
    int faults = -1;
    assert_ok(wk_plugin_check(&wk_clean_up, count_fault, NULL, &faults, &err));
    assert_int_equal(faults, 0);
}

static wk_status make_and_reset(int d, wk_error *err)
{
    const int options[WK_OPTIONS_MAX] = {0};
    void *env = NULL;
    wk_outcome out = {0};
    WK_TRY(domains[d]->create(domains[d], options, &env, err));
    wk_status status = domains[d]->reset(env, worlds[d], 1, 1, &out, err);
    domains[d]->destroy(env);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    (void)state;
    for (int d = 0; d < DOMAINS; d++) {
        int n = 0;
        for (;; n++) {
            wk_error err = {0};
            fault_arm(FAULT_ALLOC, n, ENOMEM);
            wk_status status = make_and_reset(d, &err);
            if (!fault_disarm(FAULT_ALLOC)) break;
            if (status != WK_E_MEMORY)
                fail_msg("%s, allocation %d: status '%s' (%s)", domains[d]->name, n,
                         wk_status_name(status), err.message);
        }
        assert_true(n >= 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptions_are_sound),
        cmocka_unit_test(impossible_worlds_are_refused_with_a_reason),
        cmocka_unit_test(an_episode_ends_by_time_after_five_hundred_steps),
        cmocka_unit_test(a_saved_episode_goes_on_elsewhere_to_the_same_images),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(the_examination_for_plugins_finds_no_fault),
        cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
