// Playing episodes: what is counted, what watchers see, and that nothing depends on threads, on the
// number of episodes, or on what was played before.
#include "base/hash.h"
#include "eval/episodes.h"
#include "eval/fixture.h"
#include "support/check.h"
#include "support/toy_domain.h"
#include <stdlib.h>

enum { EPISODES = 60, SETS = 2, FAR = 4, ALL = EPISODES + FAR }; // three waves, and a set of 4

static wk_error err;

static toy t;
static wk_eval_case cases[SETS];
static wk_eval_episode episodes[ALL];

// Both cases of a toy, played at random.
static wk_eval_config config_of(toy_fault fault)
{
    t = toy_make(fault);
    cases[0] = (wk_eval_case){WK_EVAL_DR, NULL, EPISODES};
    cases[1] = (wk_eval_case){"far", &t.domain.cases[0], FAR};
    return (wk_eval_config){
        .domain = &t.domain, .cases = cases, .n_cases = SETS, .seed = 3, .threads = 1};
}

// What a watcher takes down about each episode.
typedef struct seen {
    int rows;
    double right;      // sum of the rewards of task 0
    double x, v;       // after the last row
    uint32_t checksum; // of images, actions, rewards, flags
    uint8_t flags;     // of the last row
    float completion;
} seen;

typedef struct witness {
    const toy *toy;
    seen episodes[SETS][EPISODES];
} witness;

// Checks a row against the toy's equations of motion.
static void check_motion(const seen *s, const wk_eval_row *row)
{
    double push = row->theta[0] * (double)row->action[0] + row->theta[1];
    double x = (double)row->rewards[0];
    if (row->step == 1) return; // where it started is known to the toy alone
    double v = row->step == 2 ? (x - s->x) / 0.1 : 0.5 * s->v + push;
    assert_near(x, s->x + 0.1 * v, 1e-6);
    assert_near((double)row->completion[0], fmin(1, fabs(x)), 1e-6);
}

static wk_status take_down(void *context, const wk_eval_row *row, wk_error *error)
{
    (void)error;
    witness *w = context;
    seen *s = &w->episodes[row->case_index][row->episode];
    assert_int_equal(row->step, s->rows);
    assert_int_equal(!!(row->flags & WK_IS_FIRST), row->step == 0);
    for (int i = 0; i < TOY_ACTIONS; i++)
        assert_true(row->step > 0 ? fabsf(row->action[i]) <= 1 : row->action[i] == 0);
    if (row->step > 0) {
        check_motion(s, row);
        double x = (double)row->rewards[0];
        s->v = row->step > 1 ? (x - s->x) / 0.1 : 0;
        s->x = x;
        s->right += x;
    }
    s->checksum = wk_crc32c(s->checksum, row->image, WK_IMAGE_BYTES);
    s->checksum = wk_crc32c(s->checksum, row->action, TOY_ACTIONS * sizeof(float));
    s->checksum = wk_crc32c(s->checksum, row->rewards, 2 * sizeof(float));
    s->checksum = wk_crc32c(s->checksum, &row->flags, 1);
    s->flags = row->flags;
    s->completion = row->completion[0];
    s->rows++;
    return WK_OK;
}

TEST_CASE(returns_are_the_rewards_that_a_watcher_sees)
{
    wk_eval_config config = config_of(TOY_SOUND);
    static witness w;
    w = (witness){.toy = &t};
    config.on_row = take_down;
    config.context = &w;
    assert_ok(wk_evaluate(&config, episodes, &err));
    for (int i = 0; i < ALL; i++) {
        const wk_eval_episode *e = &episodes[i];
        const seen *s = i < EPISODES ? &w.episodes[0][i] : &w.episodes[1][i - EPISODES];
        assert_int_equal(e->steps, TOY_STEPS);
        assert_int_equal(s->rows, TOY_STEPS + 1);
        assert_true(s->flags & WK_IS_LAST);
        assert_true(e->returns[0] == s->right && e->returns[1] == -s->right);
        assert_true(e->completion[0] == s->completion && e->completion[1] == 0);
        assert_false(e->diverged);
        if (i >= EPISODES) // the two worlds of the set in turn
            assert_true(e->theta[0] == (i % 2 ? 2 : 1) && e->theta[1] == (i % 2 ? -3 : 3));
    }
    assert_int_equal(toy_worlds(), 0);
}

static void play(const wk_eval_config *config, wk_eval_episode *out)
{
    memset(out, 0xAA, ALL * sizeof *out); // also what is not a member
    assert_ok(wk_evaluate(config, out, &err));
}

static void assert_same(const wk_eval_episode *a, const wk_eval_episode *b, int count)
{
    for (int i = 0; i < count; i++) {
        assert_memory_equal(a[i].theta, b[i].theta, sizeof a->theta);
        assert_memory_equal(a[i].returns, b[i].returns, sizeof a->returns);
        assert_memory_equal(a[i].completion, b[i].completion, sizeof a->completion);
        assert_int_equal(a[i].steps, b[i].steps);
        assert_int_equal(a[i].diverged, b[i].diverged);
    }
}

TEST_CASE(results_do_not_depend_on_threads)
{
    wk_eval_config config = config_of(TOY_SOUND);
    for (int acting = 0; acting < 2; acting++) {
        wk_eval_episode found[4][ALL];
        for (int threads = 1; threads <= 4; threads++) {
            fixture r = open_fixture(threads);
            config.learner = acting ? r.learner : NULL;
            config.policy = 1;
            config.mode = WK_ACT_MODE;
            config.threads = threads;
            play(&config, found[threads - 1]);
            assert_same(found[threads - 1], found[0], ALL);
            close_fixture(&r);
        }
    }
}

TEST_CASE(an_episode_depends_on_its_number_and_case_alone)
{
    fixture r = open_fixture(1);
    wk_eval_config config = config_of(TOY_SOUND);
    wk_eval_episode all[ALL], some[ALL];
    config.learner = r.learner;
    config.mode = WK_ACT_MODE;
    play(&config, all);
    // Fewer episodes, and after the learner has been used for others.
    cases[0].episodes = 31;
    config.n_cases = 1;
    play(&config, some);
    assert_same(some, all, 31);
    // The other case alone.
    config.cases = &cases[1];
    play(&config, some);
    assert_same(some, all + EPISODES, FAR);
    close_fixture(&r);
}

TEST_CASE(seed_case_and_policy_make_a_difference)
{
    fixture r = open_fixture(1);
    wk_eval_config config = config_of(TOY_SOUND);
    wk_eval_episode random[ALL], first[ALL], second[ALL], other[ALL];
    play(&config, random);
    config.learner = r.learner;
    config.mode = WK_ACT_MODE;
    play(&config, first);
    config.policy = 1;
    play(&config, second);
    config.seed++;
    play(&config, other);
    // The same worlds for every policy, other returns; other worlds for another seed.
    int same_worlds = 0;
    for (int i = 0; i < EPISODES; i++) {
        assert_memory_equal(random[i].theta, first[i].theta, 2 * sizeof(double));
        assert_memory_equal(random[i].theta, second[i].theta, 2 * sizeof(double));
        assert_true(random[i].returns[0] != first[i].returns[0]);
        assert_true(first[i].returns[0] != second[i].returns[0]);
        same_worlds += memcmp(other[i].theta, second[i].theta, 2 * sizeof(double)) == 0;
    }
    assert_true(same_worlds < EPISODES / 2);
    close_fixture(&r);
}

// Each frees nobody else's place, and is scored up to its end.
TEST_CASE(episodes_end_early_by_themselves_by_divergence_or_when_cut)
{
    static const struct {
        toy_fault fault;
        int cut, steps;
    } ends[] = {
        {TOY_TERMINAL, 0, TOY_EVENT_STEP}, {TOY_DIVERGES, 0, TOY_EVENT_STEP}, {TOY_SOUND, 5, 5}};
    for (size_t k = 0; k < sizeof ends / sizeof *ends; k++) {
        wk_eval_config config = config_of(ends[k].fault);
        static witness w;
        w = (witness){.toy = &t};
        config.steps = ends[k].cut;
        if (ends[k].cut) config.on_row = take_down;
        config.context = &w;
        play(&config, episodes);
        for (int i = 0; i < ALL; i++) {
            assert_int_equal(episodes[i].steps, ends[k].steps);
            assert_int_equal(episodes[i].diverged, ends[k].fault == TOY_DIVERGES);
            assert_true(isfinite(episodes[i].returns[0]));
            if (ends[k].cut && i < EPISODES) assert_true(w.episodes[0][i].flags & WK_IS_LAST);
        }
    }
}

TEST_CASE(an_episode_shown_again_has_the_same_rows)
{
    fixture r = open_fixture(1);
    wk_eval_config config = config_of(TOY_SOUND);
    static witness before, again;
    before = again = (witness){.toy = &t};
    static float actions[ALL][TOY_STEPS][TOY_ACTIONS];
    config.learner = r.learner;
    config.mode = WK_ACT_MODE;
    config.actions = &actions[0][0][0];
    config.on_row = take_down;
    config.context = &before;
    assert_int_equal(wk_eval_steps(&config), TOY_STEPS);
    play(&config, episodes);
    config.context = &again;
    static const int chosen[][2] = {{0, 0}, {0, 59}, {1, 3}};
    for (int i = 0; i < 3; i++) {
        int set = chosen[i][0], number = chosen[i][1], at = set * EPISODES + number;
        assert_ok(wk_eval_replay(&config, set, number, &episodes[at], &actions[at][0][0], &err));
        assert_int_equal(again.episodes[set][number].rows, TOY_STEPS + 1);
        assert_int_equal(again.episodes[set][number].checksum,
                         before.episodes[set][number].checksum);
    }
    close_fixture(&r);
}

static wk_status object_to_the_third(void *context, const wk_eval_row *row, wk_error *error)
{
    (void)context;
    return row->step == 3 ? wk_fail(error, WK_E_INPUT, "seen enough") : WK_OK;
}

TEST_CASE(what_a_watcher_fails_with_ends_the_evaluation)
{
    wk_eval_config config = config_of(TOY_SOUND);
    config.on_row = object_to_the_third;
    assert_refused(wk_evaluate(&config, episodes, &err), WK_E_INPUT, "seen enough");
    assert_int_equal(toy_worlds(), 0);
}

// Sums the rewards of task 0 in the first world as the policy's discount has it.
typedef struct ledger {
    double discount, weight, sum;
} ledger;

static wk_status enter(void *context, const wk_eval_row *row, wk_error *error)
{
    (void)error;
    ledger *l = context;
    if (row->case_index > 0 || row->episode > 0 || row->step == 0) return WK_OK;
    l->sum += l->weight * (double)row->rewards[0];
    l->weight *= l->discount;
    return WK_OK;
}

TEST_CASE(a_policy_says_what_it_expects_beside_what_it_gets)
{
    wk_eval_config config = config_of(TOY_SOUND);
    play(&config, episodes);
    assert_true(isnan(episodes[0].calibration.value) && isnan(episodes[0].calibration.discounted));
    fixture r = open_fixture(1);
    config.learner = r.learner;
    ledger l = {.discount = (double)wk_learner_get_config(config.learner)->discount, .weight = 1};
    config.on_row = enter;
    config.context = &l;
    play(&config, episodes);
    const wk_calibration *f = &episodes[0].calibration;
    assert_true(isfinite(f->value) && f->reward_error > 0 && isfinite(f->reward_error));
    assert_near(f->discounted, l.sum, 1e-9);
    // The critic looks at the image of the start, which differs with the world.
    assert_true(episodes[1].calibration.value != f->value);
    config.policy = WK_POLICY_EXPLORE; // has a critic, but not for a task's reward
    play(&config, episodes);
    assert_true(isnan(f->value) && isnan(f->reward_error));
    close_fixture(&r);
}

TEST_CASE(a_world_that_cannot_be_made_is_an_error)
{
    wk_eval_config config = config_of(TOY_CREATE_FAILS);
    assert_refused(wk_evaluate(&config, episodes, &err), WK_E_UNSUPPORTED, "broken");
    config = config_of(TOY_RESET_FAILS);
    assert_refused(wk_evaluate(&config, episodes, &err), WK_E_UNSUPPORTED, "no such place");
    assert_int_equal(toy_worlds(), 0);
}

TEST_MAIN(NULL, NULL)
