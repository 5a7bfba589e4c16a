// The penalty on saturated outputs of the exploration actor: its value and gradient by the formula,
// and that an actor which would be stuck without it goes on learning.
#include "agent/behaviour.h"
#include "agent/fixture.h"
#include "support/engine.h"
#include <math.h>

enum { STACK = 2, CHOICES = 3, OUTPUTS = STACK * CHOICES * 2 * A };
static const float outputs[OUTPUTS] = {
    0,     1.5f, -3,   7.9f, // mean, mean, deviation, deviation
    2.5f,  -4,   9,    -12,  //
    -2,    2,    -8,   8,    // at the bounds
    10,    -1,   0,    0,    // the second policy
    0,     0,    100,  0,    //
    -2.1f, 3,    0.5f, -8.4f,
};

// How far an output lies beyond its bound, with its sign, in units of the tanh.
static double excess(int at)
{
    double unit = at % (2 * A) < A ? 1 : 0.25, x = unit * (double)outputs[at];
    return x > 2 ? x - 2 : x < -2 ? x + 2 : 0;
}

TEST_CASE(the_penalty_is_the_square_of_what_lies_beyond_the_bounds)
{
    wk_learner_config c = tiny(0);
    c.saturation_scale = 0.7f;
    engine e = engine_open(1);
    wk_tensor raw = wk_graph_input(e.g, WK_F32, WK_SHAPE(STACK, CHOICES, 2 * A), "raw"), d;
    wk_behaviour b = {.action_params = raw, .actor_loss = wk_graph_fill(e.g, WK_SHAPE(STACK), 3)};
    wk_behaviour_add_saturation(e.g, &c, &b);
    wk_graph_gradients(e.g, wk_graph_sum_all(e.g, b.saturation_loss), &raw, 1, &d);
    wk_graph_output(e.g, b.actor_loss);
    wk_graph_output(e.g, d);
    engine_set(&e, raw, outputs);
    engine_run(&e);
    float loss[STACK], gradient[OUTPUTS];
    engine_get(&e, b.actor_loss, loss);
    engine_get(&e, d, gradient);
    const double tolerance = on_gpu() ? 5e-4 : 1e-5, weight = 0.7 / CHOICES;
    for (int s = 0; s < STACK; s++) {
        double sum = 0;
        for (int i = 0; i < OUTPUTS / STACK; i++) {
            int at = s * OUTPUTS / STACK + i;
            double unit = i % (2 * A) < A ? 1 : 0.25, expected = weight * 2 * excess(at) * unit;
            sum += excess(at) * excess(at);
            assert_float_equal(gradient[at], expected, tolerance * (1 + fabs(expected)));
        }
        assert_float_equal(loss[s], 3 + weight * sum, tolerance * (1 + weight * sum));
    }
    engine_close(&e);
}

// The norm of the exploration actor's gradient after updates at a rate that saturates it.
static double norm_after_saturation(float scale)
{
    wk_learner_config c = tiny(0);
    c.exploration_rate = 0.05f;
    c.saturation_scale = scale;
    fixture r = open_fixture(c, 1);
    double norm = 0;
    for (uint64_t n = 0; n < 300; n++)
        norm = (double)update(&r, n).metrics.explore.actor_norm;
    close_fixture(&r);
    return norm;
}

TEST_CASE(a_saturated_actor_keeps_a_gradient)
{
    assert_true(norm_after_saturation(0) < 1e-5);
    assert_true(norm_after_saturation(1) > 1e-3);
}

TEST_MAIN(NULL, NULL)
