// Model errors: the figures of hand-made environments, the errors of a small model against ones
// worked out from its images, and that an environment's figures depend on nothing but itself.
#include "agent/prediction.h"
#include "eval/fixture.h"
#include "eval/model_error.h"
#include <stdlib.h>

static wk_error err;

static wk_model_error at(double theta, double error, double estimate)
{
    return (wk_model_error){.theta = {theta}, .error = error, .estimate = estimate, .steps = 5};
}

TEST_CASE(the_worst_tenth_is_the_largest_errors)
{
    wk_model_error all[20];
    for (int i = 0; i < 20; i++)
        all[i] = at(i, (i * 7) % 20, 2 * ((i * 7) % 20) + 1);
    wk_model_error_summary s;
    assert_ok(wk_model_error_summarise(all, 20, &s, &err));
    assert_int_equal(s.environments, 20);
    assert_int_equal(s.thetas, 20);
    assert_near(s.mean, 9.5, 1e-12);
    assert_near(s.cvar, 18.5, 1e-12); // of 19 and 18
    assert_near(s.estimate_mean, 20, 1e-12);
    assert_near(s.correlation, 1, 1e-12);
    assert_near(s.theta_correlation, 1, 1e-12);
}

TEST_CASE(environments_of_one_theta_count_together_for_the_second_correlation)
{
    // Within a θ the estimate goes the wrong way, between them the right one.
    const wk_model_error all[] = {at(0, 1, 4), at(2, 8, 12), at(0, 2, 3),
                                  at(1, 5, 7), at(1, 4, 8),  at(2, 9, 11)};
    wk_model_error_summary s;
    assert_ok(wk_model_error_summarise(all, 6, &s, &err));
    assert_int_equal(s.thetas, 3);
    assert_near(s.theta_correlation, 1, 1e-12);
    // Ranks 1 5 2 4 3 6 and 2 6 1 3 4 5: 1 - 6 (1+1+1+1+1+1) / (6 * 35).
    assert_near(s.correlation, 1 - 36.0 / 210, 1e-12);
}

TEST_CASE(what_has_no_order_has_no_correlation)
{
    const wk_model_error same[] = {at(0, 1, 3), at(1, 2, 3)};
    wk_model_error_summary s;
    assert_ok(wk_model_error_summarise(same, 2, &s, &err));
    assert_true(isnan(s.correlation) && isnan(s.theta_correlation));
    assert_ok(wk_model_error_summarise(same, 1, &s, &err));
    assert_true(isnan(s.correlation));
    assert_near(s.mean, 1, 0);
    assert_near(s.cvar, 1, 0);
}

TEST_CASE(environments_without_pictures_are_left_out)
{
    wk_model_error all[] = {at(0, 1, 1), at(1, NAN, NAN), at(2, 3, 2)};
    all[1].steps = 0;
    wk_model_error_summary s;
    assert_ok(wk_model_error_summarise(all, 3, &s, &err));
    assert_int_equal(s.environments, 2);
    assert_near(s.mean, 2, 0);
    assert_refused(wk_model_error_summarise(&all[1], 1, &s, &err), WK_E_DIVERGED,
                   "diverged before");
}

static wk_model_error_config config_of(const toy *t, const fixture *r, int environments)
{
    return (wk_model_error_config){.domain = &t->domain,
                                   .learner = r->learner,
                                   .random = true,
                                   .plan = {.environments = environments, .seed = 4},
                                   .threads = 1};
}

TEST_CASE(trajectories_share_the_environment_and_nothing_else)
{
    toy t = toy_make(TOY_SOUND);
    fixture r = open_fixture(1);
    wk_model_error one[5], same[5], three[5];
    wk_model_error_config config = config_of(&t, &r, 5);
    assert_ok(wk_model_error_measure(&config, one, &err));
    config.plan.trajectories = 1;
    assert_ok(wk_model_error_measure(&config, same, &err));
    assert_memory_equal(one, same, sizeof one);
    config.plan.trajectories = 3;
    assert_ok(wk_model_error_measure(&config, three, &err));
    int differ = 0;
    for (int i = 0; i < 5; i++) {
        assert_memory_equal(one[i].theta, three[i].theta, sizeof one[i].theta);
        assert_true(three[i].steps > one[i].steps && isfinite(three[i].error));
        differ += one[i].error != three[i].error;
    }
    assert_int_equal(differ, 5);
    close_fixture(&r);
}

// A batch as the measurement makes it, of eight episodes, with the images and actions of one in its
// place; samples of the posterior depend on the place.
enum { LANES = 8, SHOWN = 1 };
typedef struct film {
    uint8_t images[TOY_STEPS + 1][LANES][WK_IMAGE_BYTES], first[TOY_STEPS + 1][LANES];
    float actions[TOY_STEPS + 1][LANES][TOY_ACTIONS];
    int rows;
} film;

static wk_status take_film(void *context, const wk_eval_row *row, wk_error *ignored)
{
    (void)ignored;
    film *f = context;
    if (row->episode != SHOWN) return WK_OK;
    memcpy(f->images[row->step][SHOWN], row->image, WK_IMAGE_BYTES);
    memcpy(f->actions[row->step][SHOWN], row->action, sizeof f->actions[0][0]);
    f->first[row->step][SHOWN] = row->step == 0;
    f->rows++;
    return WK_OK;
}

// Mean squared difference between the model's images of an episode and what was filmed.
static double error_by_hand(const fixture *r, const film *f)
{
    float *images = calloc(TOY_STEPS * LANES, WK_IMAGE_BYTES * sizeof *images);
    assert_non_null(images);
    wk_prediction *prediction;
    assert_ok(wk_prediction_create(r->learner, LANES, TOY_STEPS + 1, 1, &prediction, &err));
    wk_learner_batch batch = {
        .images = f->images[0][0], .actions = f->actions[0][0], .first = f->first[0]};
    assert_ok(wk_prediction_run(prediction, &batch, &(wk_predicted){.images = images}, &err));
    double sum = 0;
    for (size_t t = 0; t < TOY_STEPS; t++)
        for (size_t i = 0; i < WK_IMAGE_BYTES; i++) {
            double truth = f->images[t + 1][SHOWN][i] / 255.0 - 0.5;
            double model = (double)images[(t * LANES + SHOWN) * WK_IMAGE_BYTES + i];
            sum += (model - truth) * (model - truth);
        }
    wk_prediction_destroy(prediction);
    free(images);
    return sum / TOY_STEPS / WK_IMAGE_BYTES;
}

TEST_CASE(the_error_is_that_of_the_models_images)
{
    toy t = toy_make(TOY_SOUND);
    fixture r = open_fixture(1);
    enum { COUNT = 3 };
    wk_model_error found[COUNT];
    wk_model_error_config config = config_of(&t, &r, COUNT);
    assert_ok(wk_model_error_measure(&config, found, &err));
    static film f;
    memset(&f, 0, sizeof f);
    wk_eval_case set = {WK_EVAL_DR, NULL, COUNT};
    wk_eval_config play = {.domain = &t.domain,
                           .task = WK_EVAL_ANY_TASK,
                           .cases = &set,
                           .n_cases = 1,
                           .seed = 4,
                           .threads = 1,
                           .on_row = take_film,
                           .context = &f};
    wk_eval_episode episodes[COUNT];
    assert_ok(wk_evaluate(&play, episodes, &err));
    assert_int_equal(f.rows, TOY_STEPS + 1);
    assert_near(found[SHOWN].error, error_by_hand(&r, &f), 1e-6);
    assert_int_equal(found[SHOWN].steps, TOY_STEPS);
    assert_memory_equal(found[SHOWN].theta, episodes[SHOWN].theta, sizeof found[SHOWN].theta);
    assert_true(found[SHOWN].estimate > 0);
    close_fixture(&r);
}

TEST_CASE(numbers_do_not_depend_on_threads_or_on_how_many_are_requested)
{
    toy t = toy_make(TOY_SOUND);
    fixture r = open_fixture(1);
    enum { MANY = 30, FEW = 11 };
    static wk_model_error many[MANY], few[FEW];
    wk_model_error_config config = config_of(&t, &r, MANY);
    assert_ok(wk_model_error_measure(&config, many, &err));
    config.plan.environments = FEW;
    config.threads = 3;
    assert_ok(wk_model_error_measure(&config, few, &err));
    assert_memory_equal(many, few, sizeof few);
    config.plan.seed++;
    assert_ok(wk_model_error_measure(&config, few, &err));
    assert_memory_not_equal(many, few, sizeof few);
    close_fixture(&r);
}

TEST_CASE(a_task_policy_is_measured_in_the_same_worlds)
{
    toy t = toy_make(TOY_SOUND);
    fixture r = open_fixture(1);
    wk_model_error random[9], task[9];
    wk_model_error_config config = config_of(&t, &r, 9);
    config.plan.steps = 5;
    assert_ok(wk_model_error_measure(&config, random, &err));
    config.random = false, config.task = 1, config.policy = 1;
    assert_ok(wk_model_error_measure(&config, task, &err));
    int other = 0;
    for (int i = 0; i < 9; i++) {
        assert_memory_equal(random[i].theta, task[i].theta, sizeof task->theta);
        assert_int_equal(task[i].steps, 5);
        other += random[i].error != task[i].error;
    }
    assert_true(other > 0);
    close_fixture(&r);
}

TEST_CASE(a_world_that_breaks_down_is_measured_up_to_there)
{
    toy t = toy_make(TOY_DIVERGES);
    fixture r = open_fixture(1);
    wk_model_error found[2];
    wk_model_error_config config = config_of(&t, &r, 2);
    assert_ok(wk_model_error_measure(&config, found, &err));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(found[i].steps, TOY_EVENT_STEP - 1);
        assert_true(isfinite(found[i].error) && isfinite(found[i].estimate));
    }
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
