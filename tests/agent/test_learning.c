// Learning as a whole, on the toy domain: one reward-free run with Plan2Explore on calm ponds, then
// task policies from its data in imagination only. Each test looks at one promise of the method.
// The margins are far from what a broken learner reaches and leave room for another machine's
// rounding.
#include "agent/prediction.h"
#include "agent/toy_training.h"
#include "support/check.h"
#include "support/learner.h"
#include <stdio.h>
#include <stdlib.h>

enum {
    SEED = 1,
    PREFILL_ROUNDS = 4, // of SCHOOL_PONDS episodes each, by random actions
    CYCLES = 24,        // of UPDATES updates, then ROUNDS rounds by Plan2Explore
    UPDATES = 50,
    ROUNDS = 2,
    ADAPT_UPDATES = 450, // of the task policies, from the data as it is then
    EVALUATION_ROUNDS = 4,
    CELLS = 12,       // the pond is seen as CELLS x CELLS cells
    PREDICTED = 16,   // rows of the sequences that are predicted
    TURBULENCES = 11, // 0, 0.1, ... 1
    TRAINED = 5,      // of them, the first, occur in training
};
static const double CALM = 0.4; // largest turbulence in training

static const double IMAGE_LOSS_FACTOR = 8; // first image loss to the last, at least
static const double COPY_SHARE = 0.95;     // one-step error to that of copying, at most
static const double UNSEEN_FACTOR = 1.03;  // disagreement on unseen to that on trained, at least
static const double CORRELATION_MIN = 0.5; // of disagreement and one-step error over turbulence
static const double COVERAGE_FACTOR = 1.2; // cells of Plan2Explore to those of chance, at least
// Of the way from random actions to an expert who sees the whole state, for each task, and in the
// mean.
static const double SHARE_MIN = 0.3, MEAN_SHARE_MIN = 0.4;

static wk_error err;

typedef struct fixture {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    wk_acting *explorer;
    toy_data data;
    double first_loss, last_loss; // image losses: the first, and the mean of the last round
} fixture;

static wk_learner_config config(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 8, c.deter = 64, c.hidden = 64, c.stoch = 8, c.classes = 8, c.units = 64;
    c.layers = 2, c.ensemble = 4, c.batch = 6, c.length = 8, c.horizon = 8;
    c.action_size = TOY_ACTIONS, c.tasks = TOY_TASKS, c.slow_period = 20;
    c.model_rate = 2e-3f, c.ensemble_rate = 7e-4f, c.policy_rate = 3e-4f;
    c.discount = 0.95f, c.entropy_scale = 0.6f, c.seed = SEED;
    return c;
}

static void explore(fixture *f, toy_data_batch *batch, wk_rng *rng)
{
    for (int i = 0; i < PREFILL_ROUNDS; i++)
        toy_data_collect(&f->data, toy_data_random, 0, CALM);
    for (int i = 0; i < CYCLES; i++) {
        f->last_loss = 0;
        for (int k = 0; k < UPDATES; k++) {
            wk_learner_metrics metrics;
            toy_data_batch_draw(batch, &f->data, rng);
            assert_ok(learner_update(f->learner, &batch->view, &metrics, NULL, &err));
            assert_null(wk_learner_metrics_nonfinite(&metrics));
            if (i + k == 0) f->first_loss = metrics.image_loss;
            f->last_loss += metrics.image_loss / UPDATES;
        }
        toy_data_rower explorer = {.acting = f->explorer, .mode = WK_ACT_SAMPLE};
        for (int k = 0; k < ROUNDS; k++)
            toy_data_collect(&f->data, explorer, 0, CALM);
    }
}

static void adapt(fixture *f, toy_data_batch *batch, wk_rng *rng)
{
    for (int i = 0; i < ADAPT_UPDATES; i++) {
        toy_data_batch_draw(batch, &f->data, rng);
        assert_ok(wk_learner_observe(f->learner, &batch->view, &err));
        assert_ok(wk_learner_update_tasks(f->learner, &batch->view, NULL, &err));
    }
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    wk_learner_config c = config();
    assert_ok(wk_pool_create(1, &f->pool, &err));
    assert_ok(wk_backend_cpu_create(f->pool, &f->backend, &err));
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &c, f->backend,
                                &f->learner, &err));
    assert_ok(wk_acting_create(f->learner, WK_POLICY_EXPLORE, TOY_PONDS, &f->explorer, &err));
    f->data = toy_data_open(SEED);
    toy_data_batch batch = toy_data_batch_open(c.length, c.batch);
    wk_rng rng = wk_rng_stream(SEED, "school batches", 0);
    explore(f, &batch, &rng);
    adapt(f, &batch, &rng);
    toy_data_batch_close(&batch);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    toy_data_close(&f->data);
    wk_acting_destroy(f->explorer);
    wk_learner_destroy(f->learner);
    wk_backend_destroy(f->backend);
    wk_pool_destroy(f->pool);
    free(f);
    return 0;
}

TEST_CASE(the_reconstruction_loss_falls)
{
    const fixture *f = *state;
    print_message("image loss %.1f -> %.1f\n", f->first_loss, f->last_loss);
    assert_true(f->last_loss * IMAGE_LOSS_FACTOR < f->first_loss);
}

// Mean over sequences of random actions on ponds of one turbulence.
typedef struct foresight {
    double error, disagreement, copying;
} foresight;

static double copying_error(const toy_data_batch *b)
{
    double sum = 0;
    size_t count = (size_t)((b->length - 1) * b->size) * WK_IMAGE_BYTES;
    for (size_t i = 0; i < count; i++) {
        double change = (b->images[i + (size_t)b->size * WK_IMAGE_BYTES] - b->images[i]) / 255.0;
        sum += change * change;
    }
    return sum / (double)count;
}

static foresight foresee(wk_prediction *prediction, double turbulence)
{
    enum { COUNT = (PREDICTED - 1) * TOY_PONDS };
    float error[COUNT], disagreement[COUNT];
    foresight out = {0};
    toy_data s = toy_data_open(SEED + 1);
    toy_data_batch b = toy_data_batch_open(PREDICTED, TOY_PONDS);
    toy_data_collect(&s, toy_data_random, turbulence, turbulence);
    toy_data_batch_take(&b, &s, 0);
    wk_predicted to = {.error = error, .disagreement = disagreement};
    assert_ok(wk_prediction_run(prediction, &b.view, &to, &err));
    for (int i = 0; i < COUNT; i++) {
        out.error += error[i] / COUNT;
        out.disagreement += disagreement[i] / COUNT;
    }
    out.copying = copying_error(&b);
    toy_data_batch_close(&b);
    toy_data_close(&s);
    return out;
}

static void foresee_all(const fixture *f, foresight *all)
{
    wk_prediction *prediction;
    assert_ok(wk_prediction_create(f->learner, TOY_PONDS, PREDICTED, 1, &prediction, &err));
    for (int i = 0; i < TURBULENCES; i++)
        all[i] = foresee(prediction, 0.1 * i);
    wk_prediction_destroy(prediction);
}

TEST_CASE(one_step_predictions_beat_copying_the_last_frame)
{
    foresight all[TURBULENCES];
    foresee_all(*state, all);
    double error = 0, copying = 0;
    for (int i = 0; i < TRAINED; i++) {
        error += all[i].error / TRAINED;
        copying += all[i].copying / TRAINED;
    }
    print_message("one-step error %.5f, copying %.5f\n", error, copying);
    assert_true(error < COPY_SHARE * copying);
}

static double rank(const double *values, int i)
{
    double below = 0;
    for (int k = 0; k < TURBULENCES; k++)
        below += values[k] < values[i];
    return below;
}

// Spearman's coefficient for values without ties.
static double rank_correlation(const double *x, const double *y)
{
    double sum = 0;
    for (int i = 0; i < TURBULENCES; i++) {
        double gap = rank(x, i) - rank(y, i);
        sum += gap * gap;
    }
    return 1 - 6 * sum / (TURBULENCES * (TURBULENCES * TURBULENCES - 1.0));
}

TEST_CASE(the_ensemble_disagrees_more_where_the_model_is_wrong)
{
    foresight all[TURBULENCES];
    foresee_all(*state, all);
    double error[TURBULENCES], disagreement[TURBULENCES], trained = 0, unseen = 0;
    for (int i = 0; i < TURBULENCES; i++) {
        error[i] = all[i].error;
        disagreement[i] = all[i].disagreement;
        if (i < TRAINED) trained += all[i].disagreement / TRAINED;
        if (i > TRAINED) unseen += all[i].disagreement / (TURBULENCES - TRAINED - 1);
    }
    double correlation = rank_correlation(error, disagreement);
    print_message("disagreement %.3f on trained and %.3f on unseen turbulence; rank correlation "
                  "with the one-step error %.2f\n",
                  trained, unseen, correlation);
    assert_true(unseen > UNSEEN_FACTOR * trained);
    assert_true(correlation > CORRELATION_MIN);
}

// Over the whole run: the episodes after the prefill, compared with as many of random actions.
TEST_CASE(plan2explore_visits_more_of_the_pond_than_random_actions)
{
    const fixture *f = *state;
    toy_data random = toy_data_open(SEED);
    while (random.count < f->data.count)
        toy_data_collect(&random, toy_data_random, 0, CALM);
    int prefill = PREFILL_ROUNDS * TOY_PONDS;
    int cells = toy_data_cells(&f->data, prefill, CELLS);
    int random_cells = toy_data_cells(&random, prefill, CELLS);
    toy_data_close(&random);
    print_message("cells visited: %d by Plan2Explore, %d at random\n", cells, random_cells);
    assert_true(cells > COVERAGE_FACTOR * random_cells);
}

static double score(toy_data_rower rower, int task)
{
    toy_data s = toy_data_open(SEED + 3);
    for (int i = 0; i < EVALUATION_ROUNDS; i++)
        toy_data_collect(&s, rower, 0, CALM);
    double mean = toy_data_score(&s, 0, task);
    toy_data_close(&s);
    return mean;
}

// The policy has never acted in a pond before.
TEST_CASE(policies_from_imagination_solve_their_tasks)
{
    const fixture *f = *state;
    double mean = 0;
    for (int task = 0; task < TOY_TASKS; task++) {
        wk_acting *acting;
        assert_ok(wk_acting_create(f->learner, task, TOY_PONDS, &acting, &err));
        double policy = score((toy_data_rower){.acting = acting, .mode = WK_ACT_MODE}, task);
        double random = score(toy_data_random, task);
        double expert = score((toy_data_rower){.expert_task = task}, task);
        wk_acting_destroy(acting);
        double share = (policy - random) / (expert - random);
        print_message("%s: reward %.3f a step, random %.3f, expert %.3f: share %.2f\n",
                      wk_toy.tasks[task].name, policy, random, expert, share);
        assert_true(share > SHARE_MIN);
        mean += share / TOY_TASKS;
    }
    assert_true(mean > MEAN_SHARE_MIN);
}

TEST_MAIN(set_up, tear_down)
