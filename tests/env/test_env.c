// One environment: what is checked before the domain is asked, how episodes end, and saved states.
#include "support/check.h"
#include "support/toy_domain.h"
#include <stdlib.h>
#include <zlib.h>

static const double theta[] = {0.25, 1};
static const float push[TOY_ACTIONS] = {0.5f, 0};
static wk_error err;

// Room for one observation.
typedef struct observation {
    uint8_t image[WK_IMAGE_BYTES];
    float rewards[2], completion[2];
    uint8_t flags;
} observation;

static wk_frame frame_of(observation *o)
{
    return (wk_frame){
        .image = o->image, .rewards = o->rewards, .completion = o->completion, .flags = &o->flags};
}

static wk_env *make(const toy *t)
{
    wk_env *env = NULL;
    assert_ok(wk_env_create(&t->domain, NULL, &env, &err));
    return env;
}

static void reset(wk_env *env, observation *o)
{
    wk_frame frame = frame_of(o);
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &frame, &err));
}

static void step(wk_env *env, observation *o)
{
    wk_frame frame = frame_of(o);
    assert_ok(wk_env_step(env, push, &frame, &err));
}

static void an_episode_runs_from_first_to_the_time_limit(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    assert_ptr_equal(wk_env_domain(env), &t.domain);
    observation o;
    reset(env, &o);
    assert_int_equal(o.flags, WK_IS_FIRST);
    assert_int_equal(wk_env_steps(env), 0);
    assert_true(o.rewards[0] == 0 && o.rewards[1] == 0);
    assert_memory_equal(wk_env_params(env), theta, sizeof theta);

    double x = toy_start(7, 3), v = 0;
    for (int i = 1; i <= TOY_STEPS; i++) {
        step(env, &o);
        v = 0.5 * v + 0.25 * 0.5 + 1;
        x += 0.1 * v;
        assert_true(o.rewards[0] == (float)x && o.rewards[1] == (float)-x);
        assert_near(o.completion[0], fmin(1, fabs(x)), 1e-6);
        assert_true(o.completion[1] == 0);
        assert_int_equal(o.flags, i == TOY_STEPS ? WK_IS_LAST : 0);
        assert_int_equal(wk_env_steps(env), i);
    }
    wk_frame frame = frame_of(&o);
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT, "ended after step 12");
    wk_env_destroy(env);
    assert_int_equal(toy_worlds(), 0);
}

static void the_image_is_what_the_domain_draws(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    step(env, &o);
    uint8_t drawn[WK_IMAGE_BYTES];
    assert_ok(wk_env_render(env, WK_IMAGE_SIDE, WK_IMAGE_SIDE, drawn, &err));
    assert_memory_equal(drawn, o.image, sizeof drawn);
    wk_env_destroy(env);
}

static void outputs_that_are_null_are_left_out(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    wk_frame nothing = {0};
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &nothing, &err));
    assert_ok(wk_env_step(env, push, &nothing, &err));
    assert_int_equal(wk_env_steps(env), 1);
    wk_env_destroy(env);
}

static void actions_are_clipped(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    wk_frame frame = frame_of(&o);
    const float actions[][TOY_ACTIONS] = {{5, -9}, {1, -1}, {-1e30f, 0}, {-1, 0}};
    float rewards[4];
    for (int i = 0; i < 4; i++) {
        reset(env, &o);
        assert_ok(wk_env_step(env, actions[i], &frame, &err));
        rewards[i] = o.rewards[0];
    }
    assert_true(rewards[0] == rewards[1] && rewards[2] == rewards[3] && rewards[0] != rewards[2]);
    wk_env_destroy(env);
}

static void a_non_finite_action_moves_nothing(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    wk_frame frame = frame_of(&o);
    const float bad[][TOY_ACTIONS] = {{NAN, 0}, {0, INFINITY}};
    assert_refused(wk_env_step(env, bad[0], &frame, &err), WK_E_INPUT, "number 0 of the action");
    assert_refused(wk_env_step(env, bad[1], &frame, &err), WK_E_INPUT, "number 1 of the action");
    assert_int_equal(wk_env_steps(env), 0);
    step(env, &o);
    assert_near(o.rewards[0], toy_start(7, 3) + 0.1 * 1.125, 1e-6);
    wk_env_destroy(env);
}

static void stepping_drawing_and_saving_need_a_reset(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    wk_frame nothing = {0};
    uint8_t pixel[3];
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "reset");
    assert_refused(wk_env_render(env, 1, 1, pixel, &err), WK_E_INPUT, "reset");
    assert_int_equal(wk_env_state_size(env), 0);
    assert_refused(wk_env_save(env, pixel, sizeof pixel, &err), WK_E_INPUT, "no episode to save");
    wk_env_destroy(env);
}

static void a_bad_theta_is_refused_and_the_episode_goes_on(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    wk_frame frame = frame_of(&o);
    const double far[] = {0.2, 99}, together[] = {2, 3}, none[] = {NAN, 0};
    assert_refused(wk_env_reset(env, far, 2, 0, 0, &frame, &err), WK_E_INPUT, "'drift' = 99");
    assert_refused(wk_env_reset(env, none, 2, 0, 0, &frame, &err), WK_E_INPUT, "'gain' = nan");
    assert_refused(wk_env_reset(env, together, 2, 0, 0, &frame, &err), WK_E_INPUT, "at most 4.5");
    assert_refused(wk_env_reset(env, theta, 1, 0, 0, &frame, &err), WK_E_INPUT, "(gain, drift)");
    step(env, &o);
    wk_env_destroy(env);
}

static void a_reset_to_the_own_params_works(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    wk_frame frame = frame_of(&o);
    assert_ok(wk_env_reset(env, wk_env_params(env), 2, 7, 4, &frame, &err));
    assert_memory_equal(wk_env_params(env), theta, sizeof theta);
    wk_env_destroy(env);
}

static void options_are_checked_and_handed_over(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env;
    const int good[] = {1, 2}, high[] = {0, 3}, low[] = {-1, 0};
    assert_ok(wk_env_create(&t.domain, good, &env, &err));
    wk_env_destroy(env);
    assert_refused(wk_env_create(&t.domain, high, &env, &err), WK_E_INPUT, "'unused'");
    assert_refused(wk_env_create(&t.domain, low, &env, &err), WK_E_INPUT, "grey|inverted");
}

static void a_bad_description_makes_no_environment(void **state)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.step = NULL;
    wk_env *env;
    assert_refused(wk_env_create(&t.domain, NULL, &env, &err), WK_E_INPUT, "step is NULL");
}

static void failures_of_the_domain_are_handed_on(void **state)
{
    wk_env *env;
    toy loud = toy_make(TOY_CREATE_FAILS), silent = toy_make(TOY_CREATE_SILENT);
    assert_refused(wk_env_create(&loud.domain, NULL, &env, &err), WK_E_UNSUPPORTED,
                   "the toy is broken");
    assert_refused(wk_env_create(&silent.domain, NULL, &env, &err), WK_E_MEMORY,
                   "domain 'toy': create failed without a message");
    assert_int_equal(wk_env_create(&loud.domain, NULL, &env, NULL), WK_E_UNSUPPORTED);
    toy nothing_made = toy_make(TOY_CREATE_NOTHING);
    assert_refused(wk_env_create(&nothing_made.domain, NULL, &env, &err), WK_E_INPUT,
                   "domain 'toy': create returns no world; set *env");

    toy t = toy_make(TOY_RESET_FAILS);
    env = make(&t);
    wk_frame nothing = {0};
    assert_refused(wk_env_reset(env, theta, 2, 0, 0, &nothing, &err), WK_E_UNSUPPORTED,
                   "no such place");
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "reset");
    wk_env_destroy(env);
}

static void a_task_that_ends_sets_terminal_and_last(void **state)
{
    toy t = toy_make(TOY_TERMINAL);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    for (int i = 0; i < TOY_EVENT_STEP; i++)
        step(env, &o);
    assert_int_equal(o.flags, WK_IS_TERMINAL | WK_IS_LAST);
    wk_frame frame = frame_of(&o);
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT, "ended after step 3");
    wk_env_destroy(env);
}

static void an_end_that_the_description_excludes_is_an_error(void **state)
{
    toy t = toy_make(TOY_TERMINAL_UNDECLARED);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    for (int i = 1; i < TOY_EVENT_STEP; i++)
        step(env, &o);
    wk_frame frame = frame_of(&o);
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT,
                   "ends an episode at step 3 although its description");
    assert_non_null(strstr(err.message, "ends_early = true"));
    wk_env_destroy(env);
}

static void an_episode_that_is_over_at_its_reset_is_an_error(void **state)
{
    toy t = toy_make(TOY_TERMINAL_AT_RESET);
    wk_env *env = make(&t);
    wk_frame nothing = {0};
    assert_refused(wk_env_reset(env, theta, 2, 5, 7, &nothing, &err), WK_E_INPUT,
                   "domain 'toy' ends episode 7 of seed 5 at its reset");
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "no episode is running");
    wk_env_destroy(env);
}

// Numbers that are none are the same to us as a domain that says so itself.
static void a_broken_simulation_ends_the_episode_with_harmless_numbers(void **state)
{
    const toy_fault faults[] = {TOY_DIVERGES, TOY_NAN_REWARD, TOY_NAN_COMPLETION};
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        toy t = toy_make(faults[f]);
        wk_env *env = make(&t);
        observation o;
        reset(env, &o);
        for (int i = 0; i < TOY_EVENT_STEP; i++)
            step(env, &o);
        assert_int_equal(o.flags, WK_IS_DIVERGED | WK_IS_LAST);
        for (int i = 0; i < 2; i++)
            assert_true(isfinite(o.rewards[i]) && isfinite(o.completion[i]));
        for (size_t i = 0; i < sizeof o.image; i++)
            assert_int_equal(o.image[i], 0);
        uint8_t pixel[3];
        assert_refused(wk_env_render(env, 1, 1, pixel, &err), WK_E_DIVERGED, "step 3");
        reset(env, &o);
        assert_int_equal(o.flags, WK_IS_FIRST);
        wk_env_destroy(env);
    }
}

static void a_reset_that_diverges_is_first_and_last(void **state)
{
    toy t = toy_make(TOY_DIVERGES_AT_RESET);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    assert_int_equal(o.flags, WK_IS_FIRST | WK_IS_LAST | WK_IS_DIVERGED);
    wk_env_destroy(env);
}

static void completion_is_held_within_its_range(void **state)
{
    toy t = toy_make(TOY_BIG_COMPLETION);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    assert_true(o.completion[0] == 1);
    wk_env_destroy(env);
    toy undeclared = toy_make(TOY_UNDECLARED_COMPLETION);
    env = make(&undeclared);
    reset(env, &o);
    assert_true(o.completion[1] == 0);
    wk_env_destroy(env);
}

static void drawing_takes_sizes_up_to_the_limit(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    uint8_t *big = malloc(4096 * 3);
    assert_non_null(big);
    assert_ok(wk_env_render(env, 4096, 1, big, &err));
    free(big);
    assert_refused(wk_env_render(env, 0, 5, NULL, &err), WK_E_INPUT, "0 x 5");
    assert_refused(wk_env_render(env, 5, 4097, NULL, &err), WK_E_INPUT, "1 to 4096");
    wk_env_destroy(env);
}

/* ---- Saved states ---------------------------------------------------------------------------- */

// Plays `steps` steps and saves.
static void *saved_after(wk_env *env, int steps, size_t *size)
{
    observation o;
    reset(env, &o);
    for (int i = 0; i < steps; i++)
        step(env, &o);
    *size = wk_env_state_size(env);
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(wk_env_save(env, bytes, *size, &err));
    return bytes;
}

static void a_restored_environment_continues_bit_for_bit(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t), *other = make(&t);
    size_t size;
    void *bytes = saved_after(env, 4, &size);
    assert_ok(wk_env_load(other, bytes, size, &err));
    assert_int_equal(wk_env_steps(other), 4);
    assert_memory_equal(wk_env_params(other), theta, sizeof theta);
    observation a = {0}, b = {0};
    for (int i = 4; i < TOY_STEPS; i++) {
        step(env, &a);
        step(other, &b);
        assert_memory_equal(&a, &b, sizeof a);
    }
    assert_int_equal(b.flags, WK_IS_LAST);
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(other);
}

static void saving_twice_gives_the_same_bytes(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t), *other = make(&t);
    size_t size, other_size;
    void *a = saved_after(env, 5, &size), *b = saved_after(other, 5, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
    wk_env_destroy(env);
    wk_env_destroy(other);
}

static void a_finished_episode_stays_finished_after_loading(void **state)
{
    const toy_fault faults[] = {TOY_TERMINAL, TOY_DIVERGES};
    for (size_t f = 0; f < 2; f++) {
        toy t = toy_make(faults[f]);
        wk_env *env = make(&t), *other = make(&t);
        size_t size;
        void *bytes = saved_after(env, TOY_EVENT_STEP, &size);
        assert_ok(wk_env_load(other, bytes, size, &err));
        wk_frame nothing = {0};
        assert_refused(wk_env_step(other, push, &nothing, &err), WK_E_INPUT, "ended after step 3");
        free(bytes);
        wk_env_destroy(env);
        wk_env_destroy(other);
    }
}

static void every_damaged_byte_is_noticed_and_changes_nothing(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t), *other = make(&t);
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    observation o;
    reset(other, &o);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 0x10;
        assert_int_not_equal(wk_env_load(other, bytes, size, &err), WK_OK);
        bytes[i] ^= 0x10;
        assert_int_equal(wk_env_steps(other), 0);
    }
    step(other, &o);
    assert_ok(wk_env_load(other, bytes, size, &err));
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(other);
}

static void every_truncated_state_is_refused(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(wk_env_load(env, bytes, cut, &err), WK_E_FORMAT);
    assert_refused(wk_env_load(env, bytes, 10, &err), WK_E_FORMAT, "too few");
    assert_refused(wk_env_load(env, bytes, size - 1, &err), WK_E_FORMAT, "cut or mixed up");
    free(bytes);
    wk_env_destroy(env);
}

static void damage_is_told_from_other_versions_and_other_files(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    bytes[0] ^= 1;
    assert_refused(wk_env_load(env, bytes, size, &err), WK_E_FORMAT, "not a saved environment");
    bytes[0] ^= 1;
    bytes[4] ^= 4;
    assert_refused(wk_env_load(env, bytes, size, &err), WK_E_UNSUPPORTED, "version 5");
    bytes[4] ^= 4;
    bytes[size - 6] ^= 1;
    assert_refused(wk_env_load(env, bytes, size, &err), WK_E_FORMAT, "checksum");
    free(bytes);
    wk_env_destroy(env);
}

// Someone may also write a state with a right checksum and wrong content.
static void forged_states_are_refused_or_harmless(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t), *other = make(&t);
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    observation o;
    for (size_t i = 0; i < size - 4; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            uint32_t sum = (uint32_t)crc32_z(0, bytes, size - 4);
            memcpy(bytes + size - 4, &sum, 4);
            wk_frame frame = frame_of(&o);
            if (wk_env_load(other, bytes, size, &err) == WK_OK)
                wk_env_step(other, push, &frame, &err);
            reset(other, &o);
            assert_int_equal(o.flags, WK_IS_FIRST);
            bytes[i] ^= (uint8_t)(1 << bit);
        }
    bytes[228] = 0x40; // the header's last word
    uint32_t sum = (uint32_t)crc32_z(0, bytes, size - 4);
    memcpy(bytes + size - 4, &sum, 4);
    assert_refused(wk_env_load(other, bytes, size, &err), WK_E_FORMAT, "unknown flags 0x40");
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(other);
}

static void states_of_other_domains_and_options_are_refused(void **state)
{
    toy t = toy_make(TOY_SOUND), renamed = t, shorter = t;
    renamed.domain.name = "toy-two";
    shorter.domain.episode_steps = 2;
    const int inverted[] = {1, 0};
    wk_env *env = make(&t), *other = make(&renamed), *brief = make(&shorter), *optioned;
    assert_ok(wk_env_create(&t.domain, inverted, &optioned, &err));
    size_t size;
    void *bytes = saved_after(env, 4, &size);
    assert_refused(wk_env_load(other, bytes, size, &err), WK_E_INPUT, "by domain 'toy'");
    assert_refused(wk_env_load(optioned, bytes, size, &err), WK_E_INPUT, "'colour'");
    assert_refused(wk_env_load(brief, bytes, size, &err), WK_E_FORMAT, "beyond the episode's 2");
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(other);
    wk_env_destroy(brief);
    wk_env_destroy(optioned);
}

static void a_state_the_domain_refuses_leaves_no_episode_but_a_usable_environment(void **state)
{
    toy sound = toy_make(TOY_SOUND), forgetful = toy_make(TOY_LOAD_REFUSES),
        growing = toy_make(TOY_STATE_GROWS);
    wk_env *env = make(&sound), *refusing = make(&forgetful), *grown = make(&growing);
    size_t size;
    void *bytes = saved_after(env, 4, &size);
    observation o;
    wk_frame frame = frame_of(&o);
    reset(refusing, &o);
    assert_refused(wk_env_load(refusing, bytes, size, &err), WK_E_FORMAT, "the toy forgot");
    assert_refused(wk_env_step(refusing, push, &frame, &err), WK_E_INPUT, "reset");
    reset(refusing, &o);
    step(refusing, &o);
    free(bytes);

    bytes = saved_after(grown, 4, &size);
    assert_refused(wk_env_load(grown, bytes, size, &err), WK_E_FORMAT, "it needs");
    free(bytes);
    wk_env_destroy(env);
    wk_env_destroy(refusing);
    wk_env_destroy(grown);
}

static void saving_wants_exactly_the_size_it_named(void **state)
{
    toy t = toy_make(TOY_SOUND);
    wk_env *env = make(&t);
    observation o;
    reset(env, &o);
    uint8_t byte;
    assert_refused(wk_env_save(env, &byte, 1, &err), WK_E_INPUT, "bytes, not 1");
    wk_env_destroy(env);
    wk_env_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_episode_runs_from_first_to_the_time_limit),
        cmocka_unit_test(the_image_is_what_the_domain_draws),
        cmocka_unit_test(outputs_that_are_null_are_left_out),
        cmocka_unit_test(actions_are_clipped),
        cmocka_unit_test(a_non_finite_action_moves_nothing),
        cmocka_unit_test(stepping_drawing_and_saving_need_a_reset),
        cmocka_unit_test(a_bad_theta_is_refused_and_the_episode_goes_on),
        cmocka_unit_test(a_reset_to_the_own_params_works),
        cmocka_unit_test(options_are_checked_and_handed_over),
        cmocka_unit_test(a_bad_description_makes_no_environment),
        cmocka_unit_test(failures_of_the_domain_are_handed_on),
        cmocka_unit_test(a_task_that_ends_sets_terminal_and_last),
        cmocka_unit_test(an_end_that_the_description_excludes_is_an_error),
        cmocka_unit_test(an_episode_that_is_over_at_its_reset_is_an_error),
        cmocka_unit_test(a_broken_simulation_ends_the_episode_with_harmless_numbers),
        cmocka_unit_test(a_reset_that_diverges_is_first_and_last),
        cmocka_unit_test(completion_is_held_within_its_range),
        cmocka_unit_test(drawing_takes_sizes_up_to_the_limit),
        cmocka_unit_test(a_restored_environment_continues_bit_for_bit),
        cmocka_unit_test(saving_twice_gives_the_same_bytes),
        cmocka_unit_test(a_finished_episode_stays_finished_after_loading),
        cmocka_unit_test(every_damaged_byte_is_noticed_and_changes_nothing),
        cmocka_unit_test(every_truncated_state_is_refused),
        cmocka_unit_test(damage_is_told_from_other_versions_and_other_files),
        cmocka_unit_test(forged_states_are_refused_or_harmless),
        cmocka_unit_test(states_of_other_domains_and_options_are_refused),
        cmocka_unit_test(a_state_the_domain_refuses_leaves_no_episode_but_a_usable_environment),
        cmocka_unit_test(saving_wants_exactly_the_size_it_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
