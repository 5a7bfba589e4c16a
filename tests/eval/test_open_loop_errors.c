// Errors of imagination along a policy's episodes: the same as those of the pictures that openloop
// draws, whatever is played besides, and of every row that there is.
#include "eval/fixture.h"
#include "eval/open_loop.h"
#include <stdlib.h>

enum { EPISODES = WK_OPEN_LOOP_ERRORS_EPISODES, CONTEXT = WK_OPEN_LOOP_ERRORS_CONTEXT, TASK = 1 };

static wk_error err;

// Errors, and a set of pictures of the same frames.
typedef struct judge {
    wk_open_loop_errors *errors;
    wk_open_loop *pictures; // NULL: none
} judge;

static wk_status take_row(void *context, const wk_eval_row *row, wk_error *error)
{
    judge *j = context;
    bool shown = j->pictures && row->case_index == 0 && row->episode < EPISODES;
    if (shown)
        wk_sequences_set(wk_open_loop_input(j->pictures), row->step, row->episode, row,
                         row->step == 0);
    return wk_open_loop_errors_add(j->errors, row, error);
}

// Plays `count` episodes of dr and some of a case.
static wk_open_loop_error_curve play(const toy *t, fixture *f, int count, int threads, judge *j)
{
    wk_eval_case cases[] = {{WK_EVAL_DR, NULL, count}, {"far", &t->domain.cases[0], 4}};
    wk_eval_episode *episodes = calloc((size_t)count + 4, sizeof *episodes);
    wk_eval_config config = {.domain = &t->domain,
                             .learner = f->learner,
                             .task = TASK,
                             .policy = TASK,
                             .mode = WK_ACT_MODE,
                             .cases = cases,
                             .n_cases = 2,
                             .seed = 3,
                             .threads = threads,
                             .on_row = take_row,
                             .context = j};
    assert_ok(wk_open_loop_errors_create(f->learner, &t->domain, TASK, TASK, &j->errors, &err));
    assert_ok(wk_evaluate(&config, episodes, &err));
    wk_open_loop_error_curve curve = wk_open_loop_errors_curve(j->errors, 0);
    assert_true(wk_open_loop_errors_curve(j->errors, 1).steps == curve.steps);
    wk_open_loop_errors_destroy(j->errors);
    free(episodes);
    return curve;
}

static double picture_error(const wk_open_loop *pictures, int step, int sequence)
{
    static uint8_t parts[WK_OPEN_LOOP_PARTS][WK_IMAGE_BYTES];
    double sum = 0;
    wk_open_loop_show(pictures, step, sequence, parts);
    for (int i = 0; i < WK_IMAGE_BYTES; i++) {
        double off = ((double)parts[1][i] - (double)parts[0][i]) / 255;
        sum += off * off / WK_IMAGE_BYTES;
    }
    return sum;
}

TEST_CASE(errors_are_those_of_the_pictures)
{
    toy t = toy_make(TOY_SOUND);
    fixture f = open_fixture(1);
    judge j = {0};
    int rows = TOY_STEPS + 1;
    assert_ok(wk_open_loop_create(f.learner, EPISODES, rows, CONTEXT, &j.pictures, &err));
    wk_open_loop_error_curve curve = play(&t, &f, 30, 1, &j);
    assert_int_equal(curve.steps, rows - CONTEXT);
    assert_ok(wk_open_loop_run(j.pictures, &err));
    double mean = 0;
    for (int ahead = 0; ahead < curve.steps; ahead++) {
        double expected = 0;
        for (int b = 0; b < EPISODES; b++)
            expected += picture_error(j.pictures, CONTEXT + ahead, b) / EPISODES;
        assert_near(curve.image[ahead], expected, 2e-3 * expected + 1e-5); // pictures are of bytes
        assert_true(curve.reward[ahead] > 0 && isfinite(curve.reward[ahead]));
        mean += curve.image[ahead] / curve.steps;
    }
    assert_near(curve.mean_image, mean, 1e-12);
    wk_open_loop_destroy(j.pictures);
    close_fixture(&f);
}

TEST_CASE(what_else_is_played_does_not_matter)
{
    toy t = toy_make(TOY_SOUND);
    fixture f = open_fixture(2);
    judge j = {0};
    wk_open_loop_error_curve few = play(&t, &f, EPISODES, 1, &j), many = play(&t, &f, 60, 2, &j);
    assert_memory_equal(&few, &many, sizeof few);
    close_fixture(&f);
}

// Episodes that end early are judged as far as they go; a broken simulation's last row is not.
TEST_CASE(episodes_that_end_early_are_judged_up_to_there)
{
    static const struct {
        toy_fault fault;
        int steps;
    } cases[] = {{TOY_TERMINAL, 0}, {TOY_DIVERGES_LATE, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        toy t = toy_make(cases[i].fault);
        fixture f = open_fixture(1);
        judge j = {0};
        wk_open_loop_error_curve curve = play(&t, &f, 10, 1, &j);
        if (cases[i].steps >= 0) assert_int_equal(curve.steps, cases[i].steps); // before the fifth
        assert_true(curve.steps < TOY_STEPS + 1 - CONTEXT || cases[i].steps < 0);
        assert_true((curve.steps > 0) == isfinite(curve.mean_reward));
        close_fixture(&f);
    }
}

// 120 steps are three windows, the last one cut.
TEST_CASE(long_episodes_are_judged_to_their_end)
{
    toy t = toy_make(TOY_SOUND);
    t.domain.episode_steps = 120;
    fixture f = open_fixture(1);
    judge j = {0};
    wk_open_loop_error_curve curve = play(&t, &f, 3, 1, &j);
    assert_int_equal(curve.steps, WK_OPEN_LOOP_ERRORS_STEPS);
    for (int i = 0; i < curve.steps; i++)
        assert_true(curve.image[i] > 0 && isfinite(curve.reward[i]));
    close_fixture(&f);
}

TEST_MAIN(NULL, NULL)
