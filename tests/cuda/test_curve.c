// Training in bf16 against training in float32, both on the GPU: the same first weights, the same
// random bits and the same 200 batches, each drawn anew from episodes of the toy domain. The two
// drift apart because a rounding can turn a sample, and so does float32 from itself when anything
// is rounded otherwise: a third training, in float32 with a learning rate 1e-5 larger, shows how
// far. In the mean over a window of updates bf16 may be 2 % off, or twice as far as that one.
#include "agent/toy_training.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/learner.h"
#include <stdlib.h>

enum { UPDATES = 200, WINDOW = 20, ROUNDS = 8, LENGTH = 16, BATCH = 16, SEED = 3 };

static const double CLOSE = 0.02;

static wk_error err;

typedef struct curve {
    float model[UPDATES], image[UPDATES], ensemble[UPDATES];
} curve;

// The sizes of the preset "quick", for which the recurrence has a kernel.
static wk_learner_config sizes(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 12, c.deter = 128, c.hidden = 128, c.stoch = 16, c.classes = 16, c.units = 128;
    c.layers = 2, c.ensemble = 5, c.batch = BATCH, c.length = LENGTH, c.horizon = 8;
    c.action_size = TOY_ACTIONS, c.seed = SEED;
    return c;
}

static void train(bool bf16, float rate, const toy_data *data, curve *out)
{
    wk_backend *backend = NULL;
    wk_learner *learner = NULL;
    wk_learner_config config = sizes();
    config.model_rate *= rate;
    assert_ok(test_cuda_create(bf16, &backend, &err));
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config, backend,
                                &learner, &err));
    toy_data_batch batch = toy_data_batch_open(LENGTH, BATCH);
    wk_rng rng = wk_rng_stream(SEED, "batches", 0);
    for (int i = 0; i < UPDATES; i++) {
        wk_learner_metrics m;
        toy_data_batch_draw(&batch, data, &rng);
        assert_ok(learner_update(learner, &batch.view, &m, NULL, &err));
        assert_null(wk_learner_metrics_nonfinite(&m));
        out->model[i] = m.model_loss;
        out->image[i] = m.image_loss;
        out->ensemble[i] = m.ensemble_loss;
    }
    toy_data_batch_close(&batch);
    wk_learner_destroy(learner);
    wk_backend_destroy(backend);
}

static double mean_of(const float *values)
{
    double sum = 0;
    for (int i = 0; i < WINDOW; i++)
        sum += values[i];
    return sum / WINDOW;
}

// The largest difference of the means over a window, relative to those of `truth`.
static double apart(const float *values, const float *truth)
{
    double worst = 0;
    for (int i = 0; i + WINDOW <= UPDATES; i++)
        worst = fmax(worst, fabs(mean_of(values + i) / mean_of(truth + i) - 1));
    return worst;
}

static void expect_close(const char *what, const float *bf16, const float *other, const float *f32)
{
    double off = apart(bf16, f32), drift = apart(other, f32);
    print_message("%s: from %g to %g; bf16 at most %.2f %% off, float32 %.2f %%\n", what,
                  mean_of(f32), mean_of(f32 + UPDATES - WINDOW), 100 * off, 100 * drift);
    if (!(off <= fmax(CLOSE, 2 * drift)))
        fail_msg("%s: bf16 is %g off float32, which is %g off itself", what, off, drift);
}

TEST_CASE(bf16_learns_as_float32_does)
{
    toy_data data = toy_data_open(SEED);
    for (int i = 0; i < ROUNDS; i++)
        toy_data_collect(&data, toy_data_random, 0, 1);
    curve f32, other, bf16;
    train(false, 1, &data, &f32);
    train(false, 1.00001f, &data, &other);
    train(true, 1, &data, &bf16);
    expect_close("model loss", bf16.model, other.model, f32.model);
    expect_close("image loss", bf16.image, other.image, f32.image);
    expect_close("ensemble loss", bf16.ensemble, other.ensemble, f32.ensemble);
    assert_true(mean_of(f32.model + UPDATES - WINDOW) < mean_of(f32.model) / 2); // it learned
    toy_data_close(&data);
}

TEST_MAIN(NULL, NULL)
