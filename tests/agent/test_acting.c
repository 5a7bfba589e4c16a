// Policies that act: their range, their memory, and that they repeat and follow the weights.
#include "agent/acting.h"
#include "agent/fixture.h"

// Three environments see the batch's rows as images of one step.
static void act(wk_acting *acting, const batch *b, int step, const uint8_t *first, wk_act_mode mode,
                float *actions)
{
    wk_acting_rows rows = {.images = b->images + (size_t)(step * B) * PIXELS,
                           .previous = b->actions + step * B * A,
                           .first = first,
                           .actions = actions};
    assert_ok(wk_acting_step(acting, &rows, mode, &err));
}

static wk_acting *open_acting(fixture *r, int policy)
{
    wk_acting *acting;
    assert_ok(wk_acting_create(r->learner, policy, B, &acting, &err));
    return acting;
}

static const uint8_t none[B] = {0}, all[B] = {1, 1, 1};

TEST_CASE(actions_are_within_range_and_repeat_with_the_seed)
{
    fixture r = open_fixture(tiny(TASKS), 1);
    batch *b = make_batch(0);
    for (int policy = WK_POLICY_EXPLORE; policy < TASKS; policy++) {
        wk_acting *one = open_acting(&r, policy), *two = open_acting(&r, policy);
        for (int t = 0; t < T; t++) {
            float x[B * A], y[B * A];
            act(one, b, t, t == 0 ? all : none, WK_ACT_SAMPLE, x);
            act(two, b, t, t == 0 ? all : none, WK_ACT_SAMPLE, y);
            assert_memory_equal(x, y, sizeof x);
            for (int i = 0; i < B * A; i++)
                assert_true(fabs((double)x[i]) <= 1);
        }
        wk_acting_destroy(one);
        wk_acting_destroy(two);
    }
    free(b);
    close_fixture(&r);
}

TEST_CASE(a_first_flag_forgets_what_was_before)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *fresh = open_acting(&r, WK_POLICY_EXPLORE),
              *used = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(used, b, 1, all, WK_ACT_MODE, y);
    act(fresh, b, 2, all, WK_ACT_MODE, x); // one draw each, so that the counters agree
    act(fresh, b, 0, all, WK_ACT_MODE, x);
    act(used, b, 0, all, WK_ACT_MODE, y);
    assert_memory_equal(x, y, sizeof x);
    // Without the flag the past shows, in the one environment that keeps it.
    act(fresh, b, 1, all, WK_ACT_MODE, x);
    act(used, b, 1, (const uint8_t[B]){1, 0, 1}, WK_ACT_MODE, y);
    assert_memory_equal(x, y, A * sizeof *x);
    assert_memory_not_equal(x + A, y + A, A * sizeof *x);
    assert_memory_equal(x + 2 * A, y + 2 * A, A * sizeof *x);
    wk_acting_destroy(fresh);
    wk_acting_destroy(used);
    free(b);
    close_fixture(&r);
}

TEST_CASE(beginning_makes_an_acting_policy_like_a_new_one)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *fresh = open_acting(&r, WK_POLICY_EXPLORE),
              *used = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    for (int t = 0; t < T; t++)
        act(used, b, t, none, WK_ACT_SAMPLE, y);
    for (uint64_t counter = 0; counter < 2; counter++) {
        assert_ok(wk_acting_begin(used, counter, &err));
        // The fresh one has drawn once before the second round.
        if (counter == 1) assert_ok(wk_acting_begin(fresh, 0, &err));
        if (counter == 1) act(fresh, b, 3, all, WK_ACT_SAMPLE, x);
        act(fresh, b, 0, counter ? all : none, WK_ACT_SAMPLE, x);
        act(used, b, 0, counter ? all : none, WK_ACT_SAMPLE, y);
        assert_memory_equal(x, y, sizeof x);
    }
    wk_acting_destroy(fresh);
    wk_acting_destroy(used);
    free(b);
    close_fixture(&r);
}

TEST_CASE(samples_vary_around_the_mode)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *acting = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A], mode[B * A];
    act(acting, b, 0, all, WK_ACT_SAMPLE, x);
    act(acting, b, 0, all, WK_ACT_SAMPLE, y);
    assert_memory_not_equal(x, y, sizeof x);
    act(acting, b, 0, all, WK_ACT_MODE, mode);
    // An untrained actor's mode is near zero, where its samples are all over the range.
    for (int i = 0; i < B * A; i++)
        assert_true(fabs((double)mode[i]) < 0.9);
    wk_acting_destroy(acting);
    free(b);
    close_fixture(&r);
}

TEST_CASE(a_saved_acting_state_continues_bit_for_bit)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *one = open_acting(&r, WK_POLICY_EXPLORE), *two = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(one, b, 0, all, WK_ACT_SAMPLE, x);
    act(one, b, 1, none, WK_ACT_SAMPLE, x);
    void *bytes = malloc(wk_acting_state_size(one));
    assert_non_null(bytes);
    assert_ok(wk_acting_save(one, bytes, &err));
    assert_ok(wk_acting_load(two, bytes, &err));
    for (int t = 2; t < T; t++) {
        act(one, b, t, none, WK_ACT_SAMPLE, x);
        act(two, b, t, none, WK_ACT_SAMPLE, y);
        assert_memory_equal(x, y, sizeof x);
    }
    free(bytes);
    wk_acting_destroy(one);
    wk_acting_destroy(two);
    free(b);
    close_fixture(&r);
}

// Acting reads the weights in place: training changes what is done without making anything anew.
TEST_CASE(acting_follows_the_weights)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    wk_acting *acting = open_acting(&r, WK_POLICY_EXPLORE);
    float x[B * A], y[B * A];
    act(acting, b, 0, all, WK_ACT_MODE, x);
    update(&r, 0);
    act(acting, b, 0, all, WK_ACT_MODE, y);
    assert_memory_not_equal(x, y, sizeof x);
    wk_acting_destroy(acting);
    free(b);
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
