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

static wk_env *make(const toy *from)
{
    wk_env *made = NULL;
    assert_ok(wk_env_create(&from->domain, NULL, &made, &err));
    return made;
}

// Two environments, sound ones where a test does not ask for others; `frame` shows `o`.
static toy t;
static wk_env *env, *other;
static observation o;
static const wk_frame nothing,
    frame = {.image = o.image, .rewards = o.rewards, .completion = o.completion, .flags = &o.flags};

static void open_toys(toy_fault fault)
{
    wk_env_destroy(env);
    wk_env_destroy(other);
    t = toy_make(fault);
    env = make(&t);
    other = make(&t);
}

static int open_two(void **state)
{
    env = other = NULL;
    open_toys(TOY_SOUND);
    return 0;
}

static int close_two(void **state)
{
    wk_env_destroy(env);
    wk_env_destroy(other);
    return toy_worlds();
}

static void reset(wk_env *which, observation *out)
{
    memset(&o, 0xEE, sizeof o); // what the other wrote must not pass for its own
    assert_ok(wk_env_reset(which, theta, 2, 7, 3, &frame, &err));
    if (out != &o) *out = o;
}

static void step(wk_env *which, observation *out)
{
    memset(&o, 0xEE, sizeof o);
    assert_ok(wk_env_step(which, push, &frame, &err));
    if (out != &o) *out = o;
}

TEST_CASE(an_episode_runs_from_first_to_the_time_limit)
{
    assert_ptr_equal(wk_env_domain(env), &t.domain);
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
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT, "ended after step 12");
}

TEST_CASE(outputs_that_are_null_are_left_out)
{
    assert_ok(wk_env_reset(env, theta, 2, 7, 3, &nothing, &err));
    assert_ok(wk_env_step(env, push, &nothing, &err));
    assert_int_equal(wk_env_steps(env), 1);
}

TEST_CASE(actions_are_clipped)
{
    const float actions[][TOY_ACTIONS] = {{5, -9}, {1, -1}, {-1e30f, 0}, {-1, 0}};
    float rewards[4];
    for (int i = 0; i < 4; i++) {
        reset(env, &o);
        assert_ok(wk_env_step(env, actions[i], &frame, &err));
        rewards[i] = o.rewards[0];
    }
    assert_true(rewards[0] == rewards[1] && rewards[2] == rewards[3] && rewards[0] != rewards[2]);
}

TEST_CASE(a_non_finite_action_moves_nothing)
{
    reset(env, &o);
    const float bad[][TOY_ACTIONS] = {{NAN, 0}, {0, INFINITY}};
    assert_refused(wk_env_step(env, bad[0], &frame, &err), WK_E_INPUT, "number 0 of the action");
    assert_refused(wk_env_step(env, bad[1], &frame, &err), WK_E_INPUT, "number 1 of the action");
    assert_int_equal(wk_env_steps(env), 0);
    step(env, &o);
    assert_near(o.rewards[0], toy_start(7, 3) + 0.1 * 1.125, 1e-6);
}

TEST_CASE(stepping_drawing_and_saving_need_a_reset)
{
    uint8_t pixel[3];
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "reset");
    assert_refused(wk_env_render(env, 1, 1, pixel, &err), WK_E_INPUT, "reset");
    assert_int_equal(wk_env_state_size(env), 0);
    assert_refused(wk_env_save(env, pixel, sizeof pixel, &err), WK_E_INPUT, "no episode to save");
}

TEST_CASE(a_bad_theta_is_refused_and_the_episode_goes_on)
{
    reset(env, &o);
    const double far[] = {0.2, 99}, together[] = {2, 3}, none[] = {NAN, 0};
    assert_refused(wk_env_reset(env, far, 2, 0, 0, &frame, &err), WK_E_INPUT, "'drift' = 99");
    assert_refused(wk_env_reset(env, none, 2, 0, 0, &frame, &err), WK_E_INPUT, "'gain' = nan");
    assert_refused(wk_env_reset(env, together, 2, 0, 0, &frame, &err), WK_E_INPUT, "at most 4.5");
    assert_refused(wk_env_reset(env, theta, 1, 0, 0, &frame, &err), WK_E_INPUT, "(gain, drift)");
    step(env, &o);
}

TEST_CASE(a_reset_to_the_own_params_works)
{
    reset(env, &o);
    assert_ok(wk_env_reset(env, wk_env_params(env), 2, 7, 4, &frame, &err));
    assert_memory_equal(wk_env_params(env), theta, sizeof theta);
}

TEST_CASE(options_are_checked_and_handed_over)
{
    wk_env *made;
    const int good[] = {1, 2}, high[] = {0, 3}, low[] = {-1, 0};
    assert_ok(wk_env_create(&t.domain, good, &made, &err));
    wk_env_destroy(made);
    assert_refused(wk_env_create(&t.domain, high, &made, &err), WK_E_INPUT, "'unused'");
    assert_refused(wk_env_create(&t.domain, low, &made, &err), WK_E_INPUT, "grey|inverted");
}

TEST_CASE(failures_of_the_domain_are_handed_on)
{
    static const struct {
        toy_fault fault;
        wk_status status;
        const char *message;
    } cases[] = {
        {TOY_CREATE_FAILS, WK_E_UNSUPPORTED, "the toy is broken"},
        {TOY_CREATE_SILENT, WK_E_MEMORY, "domain 'toy': create failed without a message"},
        {TOY_CREATE_NOTHING, WK_E_INPUT, "domain 'toy': create returns no world; set *env"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wk_env *made;
        toy faulty = toy_make(cases[i].fault);
        assert_refused(wk_env_create(&faulty.domain, NULL, &made, &err), cases[i].status,
                       cases[i].message);
        assert_int_equal(wk_env_create(&faulty.domain, NULL, &made, NULL), cases[i].status);
    }
    open_toys(TOY_RESET_FAILS);
    assert_refused(wk_env_reset(env, theta, 2, 0, 0, &nothing, &err), WK_E_UNSUPPORTED,
                   "no such place");
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "reset");
}

TEST_CASE(a_task_that_ends_sets_terminal_and_last)
{
    open_toys(TOY_TERMINAL);
    reset(env, &o);
    for (int i = 0; i < TOY_EVENT_STEP; i++)
        step(env, &o);
    assert_int_equal(o.flags, WK_IS_TERMINAL | WK_IS_LAST);
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT, "ended after step 3");
}

TEST_CASE(an_end_that_the_description_excludes_is_an_error)
{
    open_toys(TOY_TERMINAL_UNDECLARED);
    reset(env, &o);
    for (int i = 1; i < TOY_EVENT_STEP; i++)
        step(env, &o);
    assert_refused(wk_env_step(env, push, &frame, &err), WK_E_INPUT,
                   "ends an episode at step 3 although its description");
    assert_non_null(strstr(err.message, "ends_early = true"));
}

TEST_CASE(an_episode_that_is_over_at_its_reset_is_an_error)
{
    open_toys(TOY_TERMINAL_AT_RESET);
    assert_refused(wk_env_reset(env, theta, 2, 5, 7, &nothing, &err), WK_E_INPUT,
                   "domain 'toy' ends episode 7 of seed 5 at its reset");
    assert_refused(wk_env_step(env, push, &nothing, &err), WK_E_INPUT, "no episode is running");
}

// Numbers that are none are the same to us as a domain that says so itself.
TEST_CASE(a_broken_simulation_ends_the_episode_with_harmless_numbers)
{
    const toy_fault faults[] = {TOY_DIVERGES, TOY_NAN_REWARD, TOY_NAN_COMPLETION};
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        open_toys(faults[f]);
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
    }
}

TEST_CASE(a_reset_that_diverges_is_first_and_last)
{
    open_toys(TOY_DIVERGES_AT_RESET);
    reset(env, &o);
    assert_int_equal(o.flags, WK_IS_FIRST | WK_IS_LAST | WK_IS_DIVERGED);
}

TEST_CASE(completion_is_held_within_its_range)
{
    open_toys(TOY_BIG_COMPLETION);
    reset(env, &o);
    assert_true(o.completion[0] == 1);
    open_toys(TOY_UNDECLARED_COMPLETION);
    reset(env, &o);
    assert_true(o.completion[1] == 0);
}

TEST_CASE(drawing_takes_sizes_up_to_the_limit)
{
    reset(env, &o);
    uint8_t *big = malloc(4096 * 3);
    assert_non_null(big);
    assert_ok(wk_env_render(env, 4096, 1, big, &err));
    free(big);
    assert_refused(wk_env_render(env, 0, 5, NULL, &err), WK_E_INPUT, "0 x 5");
    assert_refused(wk_env_render(env, 5, 4097, NULL, &err), WK_E_INPUT, "1 to 4096");
}

/* ---- Saved states ---------------------------------------------------------------------------- */

// Plays `steps` steps and saves.
static void *saved_after(wk_env *from, int steps, size_t *size)
{
    reset(from, &o);
    for (int i = 0; i < steps; i++)
        step(from, &o);
    *size = wk_env_state_size(from);
    void *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_ok(wk_env_save(from, bytes, *size, &err));
    return bytes;
}

TEST_CASE(a_restored_environment_continues_bit_for_bit)
{
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
}

TEST_CASE(a_finished_episode_stays_finished_after_loading)
{
    const toy_fault faults[] = {TOY_TERMINAL, TOY_DIVERGES};
    for (size_t f = 0; f < 2; f++) {
        open_toys(faults[f]);
        size_t size;
        void *bytes = saved_after(env, TOY_EVENT_STEP, &size);
        assert_ok(wk_env_load(other, bytes, size, &err));
        assert_refused(wk_env_step(other, push, &nothing, &err), WK_E_INPUT, "ended after step 3");
        free(bytes);
    }
}

TEST_CASE(every_damaged_byte_is_noticed_and_changes_nothing)
{
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
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
}

TEST_CASE(every_truncated_state_is_refused)
{
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(wk_env_load(env, bytes, cut, &err), WK_E_FORMAT);
    assert_refused(wk_env_load(env, bytes, 10, &err), WK_E_FORMAT, "too few");
    assert_refused(wk_env_load(env, bytes, size - 1, &err), WK_E_FORMAT, "cut or mixed up");
    free(bytes);
}

TEST_CASE(damage_is_told_from_other_versions_and_other_files)
{
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
}

// Someone may also write a state with a right checksum and wrong content.
TEST_CASE(forged_states_are_refused_or_harmless)
{
    size_t size;
    uint8_t *bytes = saved_after(env, 4, &size);
    for (size_t i = 0; i < size - 4; i++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[i] ^= (uint8_t)(1 << bit);
            uint32_t sum = (uint32_t)crc32_z(0, bytes, size - 4);
            memcpy(bytes + size - 4, &sum, 4);
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
}

TEST_CASE(states_of_other_domains_and_options_are_refused)
{
    toy renamed = t, shorter = t;
    renamed.domain.name = "toy-two";
    shorter.domain.episode_steps = 2;
    const int inverted[] = {1, 0};
    wk_env *foreign = make(&renamed), *brief = make(&shorter), *optioned;
    assert_ok(wk_env_create(&t.domain, inverted, &optioned, &err));
    size_t size;
    void *bytes = saved_after(env, 4, &size);
    assert_refused(wk_env_load(foreign, bytes, size, &err), WK_E_INPUT, "by domain 'toy'");
    assert_refused(wk_env_load(optioned, bytes, size, &err), WK_E_INPUT, "'colour'");
    assert_refused(wk_env_load(brief, bytes, size, &err), WK_E_FORMAT, "beyond the episode's 2");
    free(bytes);
    wk_env_destroy(foreign);
    wk_env_destroy(brief);
    wk_env_destroy(optioned);
}

TEST_CASE(a_state_the_domain_refuses_leaves_no_episode_but_a_usable_environment)
{
    toy forgetful = toy_make(TOY_LOAD_REFUSES), growing = toy_make(TOY_STATE_GROWS);
    wk_env *refusing = make(&forgetful), *grown = make(&growing);
    size_t size;
    void *bytes = saved_after(env, 4, &size);
    reset(refusing, &o);
    assert_refused(wk_env_load(refusing, bytes, size, &err), WK_E_FORMAT, "the toy forgot");
    assert_refused(wk_env_step(refusing, push, &frame, &err), WK_E_INPUT, "reset");
    reset(refusing, &o);
    step(refusing, &o);
    free(bytes);

    bytes = saved_after(grown, 4, &size);
    assert_refused(wk_env_load(grown, bytes, size, &err), WK_E_FORMAT, "it needs");
    free(bytes);
    wk_env_destroy(refusing);
    wk_env_destroy(grown);
}

TEST_CASE(saving_wants_exactly_the_size_it_named)
{
    reset(env, &o);
    uint8_t byte;
    assert_refused(wk_env_save(env, &byte, 1, &err), WK_E_INPUT, "bytes, not 1");
    wk_env_destroy(NULL);
}

TEST_MAIN_EACH(open_two, close_two)
