// Predictions of the model: what they mean, and that they repeat and train nothing.
#include "agent/fixture.h"
#include "agent/prediction.h"

typedef struct pictures {
    float images[(T - 1) * B * PIXELS], error[(T - 1) * B], disagreement[(T - 1) * B];
    float open_loop[T * B * PIXELS];
} pictures;

static pictures *predict(fixture *r, const batch *b, int context)
{
    pictures *out = malloc(sizeof *out);
    assert_non_null(out);
    wk_prediction *prediction;
    assert_ok(wk_prediction_create(r->learner, B, T, context, &prediction, &err));
    wk_learner_batch v = view(b);
    wk_predicted to = {.images = out->images,
                       .error = out->error,
                       .disagreement = out->disagreement,
                       .open_loop = out->open_loop};
    assert_ok(wk_prediction_run(prediction, &v, &to, &err));
    wk_prediction_destroy(prediction);
    return out;
}

TEST_CASE(the_one_step_error_is_the_mean_squared_error_of_the_images)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *p = predict(&r, b, 1);
    for (int i = 0; i < (T - 1) * B; i++) {
        double sum = 0;
        for (int k = 0; k < PIXELS; k++) {
            double truth = b->images[(size_t)(i + B) * PIXELS + (size_t)k] / 255.0 - 0.5;
            double error = p->images[(size_t)i * PIXELS + (size_t)k] - truth;
            sum += error * error;
        }
        assert_near(p->error[i], sum / PIXELS, 1e-5 * sum / PIXELS);
        assert_true(p->disagreement[i] > 0);
    }
    free(p);
    free(b);
    close_fixture(&r);
}

// With all of it as context, open loop is reconstruction; a shorter context has the same first
// frames.
TEST_CASE(open_loop_starts_with_the_reconstructed_context)
{
    fixture r = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *whole = predict(&r, b, T), *half = predict(&r, b, 2);
    size_t context = 2 * B * PIXELS;
    assert_memory_equal(whole->open_loop, half->open_loop, context * sizeof(float));
    assert_memory_not_equal(whole->open_loop + context, half->open_loop + context,
                            context * sizeof(float));
    // Frames after the context do not depend on images that were not to be seen.
    memset(b->images + context, 9, context);
    pictures *blind = predict(&r, b, 2);
    assert_memory_equal(half->open_loop, blind->open_loop, sizeof half->open_loop);
    free(whole);
    free(half);
    free(blind);
    free(b);
    close_fixture(&r);
}

TEST_CASE(predictions_repeat_and_train_nothing)
{
    fixture r = open_fixture(tiny(0), 1), twin = open_fixture(tiny(0), 1);
    batch *b = make_batch(0);
    pictures *x = predict(&r, b, 2), *y = predict(&r, b, 2);
    assert_memory_equal(x, y, sizeof *x);
    assert_same_weights(&r, &twin);
    free(x);
    free(y);
    free(b);
    close_fixture(&r);
    close_fixture(&twin);
}

TEST_CASE(a_prediction_without_room_is_refused)
{
    fixture r = open_fixture(tiny(0), 1);
    wk_prediction *prediction;
    assert_refused(wk_prediction_create(r.learner, 1, 4, 5, &prediction, &err), WK_E_INPUT,
                   "context within");
    assert_refused(wk_prediction_create(r.learner, 0, 4, 1, &prediction, &err), WK_E_INPUT,
                   "at least one sequence");
    close_fixture(&r);
}

TEST_MAIN(NULL, NULL)
