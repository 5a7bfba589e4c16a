// The time left: true to a factor of 1.5 from the first minute of updates, whatever prefill,
// updates and pauses cost; unknown before.
#include "log/speed.h"
#include "support/check.h"
#include <math.h>

// A run on a pretended clock.
typedef struct pretended {
    int64_t prefill, total;
    double step, update, pause; // seconds
    int64_t train_every, pause_every;
} pretended;

static double length_of(const pretended *r, int64_t from)
{
    double seconds = 0;
    for (int64_t s = from + 1; s <= r->total; s++) {
        seconds += r->step;
        if (s > r->prefill && s % r->train_every == 0) seconds += r->update;
        if (s > r->prefill && s % r->pause_every == 0) seconds += r->pause;
    }
    return seconds;
}

static void expect_near(double shown, double truth, int64_t step)
{
    if (!(shown < 1.5 * truth && shown > truth / 1.5))
        fail_msg("step %lld: %g s shown for %g s", (long long)step, shown, truth);
}

static void play(const pretended *r)
{
    wk_speed speed;
    wk_speed_point now = {0};
    wk_speed_start(&speed, &now);
    while ((int64_t)now.steps < r->total) {
        bool prefilling = (int64_t)now.steps < r->prefill;
        now.steps++;
        now.time += r->step;
        bool learns = (int64_t)now.steps > r->prefill;
        if (learns && (int64_t)now.steps % r->train_every == 0) {
            now.time += r->update * (now.updates == 0 ? 20 : 1); // the first is slow
            now.updates++;
        }
        wk_speed_observe(&speed, &now, prefilling);
        if (learns && (int64_t)now.steps % r->pause_every == 0) {
            now.time += r->pause;
            now.paused += r->pause;
        }
        if (now.updates < 2) assert_true(isnan(wk_speed_left(&speed, r->prefill, r->total)));
        if (now.updates < 2 || now.time < 60 || now.steps % 97 != 0) continue;
        double truth = length_of(r, (int64_t)now.steps);
        if (truth > 60)
            expect_near(wk_speed_left(&speed, r->prefill, r->total), truth, (int64_t)now.steps);
    }
    assert_float_equal(wk_speed_left(&speed, r->prefill, r->total), 0, 1e-9);
    assert_float_equal(wk_speed_updates(&speed) * (r->step * (double)r->train_every + r->update), 1,
                       0.1);
}

TEST_CASE(the_time_left_is_true_from_the_first_minute)
{
    play(&(pretended){5000, 20000, 0.1, 2, 0, 8, 1000000}); // much slower updates
    play(&(pretended){5000, 20000, 0.1, 0.1, 20, 8, 400});  // pauses of a third of the time
    play(&(pretended){0, 5000, 0.01, 1, 0, 4, 1000000});    // no prefill
}

TEST_CASE(nothing_is_claimed_that_is_not_known)
{
    wk_speed speed;
    wk_speed_start(&speed, &(wk_speed_point){0});
    assert_true(isnan(wk_speed_left(&speed, 100, 1000)));
    wk_speed_observe(&speed, &(wk_speed_point){.time = 5, .steps = 50}, true);
    assert_true(isnan(wk_speed_left(&speed, 100, 1000)));
    assert_true(isnan(wk_speed_updates(&speed)));
    assert_float_equal(wk_speed_left(&speed, 100, 100), 5, 1e-9);
    assert_float_equal(wk_speed_steps(&speed), 10, 1e-9);
}

TEST_CASE(rates_are_those_of_late)
{
    wk_speed speed;
    wk_speed_point now = {0};
    wk_speed_start(&speed, &now);
    for (int i = 0; i < 1200; i++) {
        now.time += i < 600 ? 1 : 0.25; // four times as fast after ten minutes
        now.steps++, now.updates++;
        wk_speed_observe(&speed, &now, false);
    }
    assert_float_equal(wk_speed_updates(&speed), 4, 0.4);
}

TEST_MAIN(NULL, NULL)
