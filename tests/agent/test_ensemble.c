// What the ensemble is asked about: which action goes with a state, and which states make up the
// error of an imagined trajectory. Its members are set so that the answer to each question can be
// read from the number: member m predicts (2m + 1) (z_0 + 10 a_0 + 100) for every feature, so that
// the standard deviation over two members is z_0 + 10 a_0 + 100.
#include "agent/behaviour.h"
#include "support/backend.h"
#include "support/check.h"
#include "tensor/program.h"
#include <stdlib.h>
#include <string.h>

enum { N = 2, H = 3, FEATURES = 3, A = 2, MEMBERS = 2 };

static wk_error err;

static wk_learner_config config_of(int action, int states)
{
    wk_learner_config c = wk_learner_config_default();
    c.stoch = 1, c.classes = 2, c.deter = 1, c.units = 2, c.layers = 1, c.ensemble = MEMBERS;
    c.action_size = A, c.horizon = H, c.batch = N, c.length = H + 1;
    c.disagreement_scale = 1, c.ensemble_action = action, c.ensemble_states = states;
    return c;
}

typedef struct question {
    wk_learner_config config;
    wk_backend *backend;
    wk_graph *g;
    wk_params *params;
    wk_scope *scope;
    wk_program *program;
    wk_tensor features, actions, answer;
} question;

static question begin(int action, int states, wk_shape features, wk_shape actions)
{
    question q = {.config = config_of(action, states)};
    const wk_params_config set = {.name = "ensemble", .stack = MEMBERS};
    assert_ok(test_backend_create(NULL, &q.backend, &err));
    assert_ok(wk_graph_create(&q.g, &err));
    assert_ok(wk_params_create(&set, &q.params, &err));
    assert_ok(wk_scope_create(q.params, q.g, &q.scope, &err));
    q.features = wk_graph_input(q.g, WK_F32, features, "features");
    q.actions = wk_graph_input(q.g, WK_F32, actions, "actions");
    return q;
}

// Unit 0 is z_0 + 10 a_0 + 100; the other is not looked at.
static float weight_value(const char *name, int member, int row, int column)
{
    if (strcmp(name, "mlp/0/w") == 0 && column == 0) return row == 0 ? 1 : row == FEATURES ? 10 : 0;
    if (strcmp(name, "mlp/0/b") == 0) return 100;
    if (strcmp(name, "mlp/out/w") == 0 && row == 0) return (float)(2 * member + 1);
    return 0;
}

static void set_weight(const question *q, const wk_weight *weight)
{
    int rank = weight->shape.rank, columns = weight->shape.dim[rank - 1];
    int rows = (int)weight->count / MEMBERS / columns;
    float values[MEMBERS * 64];
    assert_true(weight->count <= sizeof values / sizeof *values);
    for (int i = 0; i < (int)weight->count; i++)
        values[i] =
            weight_value(weight->name, i / (rows * columns), i / columns % rows, i % columns);
    assert_ok(wk_buffer_upload(q->params->buffer, weight->offset, values,
                               weight->count * sizeof *values, &err));
}

static size_t ask(question *q, const float *features, const float *actions, float *answer)
{
    wk_graph_output(q->g, q->answer);
    assert_ok(wk_scope_bind(q->scope, q->backend, &err));
    for (size_t i = 0; i < q->scope->tensors.count; i++)
        set_weight(q, wk_scope_param(q->scope, i));
    assert_ok(wk_program_create(q->g, q->backend, &q->program, &err));
    size_t states = wk_shape_count(wk_graph_shape(q->g, q->features));
    size_t moves = wk_shape_count(wk_graph_shape(q->g, q->actions));
    size_t count = wk_shape_count(wk_graph_shape(q->g, q->answer));
    assert_ok(
        wk_program_upload(q->program, q->features, features, states * sizeof *features, &err));
    assert_ok(wk_program_upload(q->program, q->actions, actions, moves * sizeof *actions, &err));
    assert_ok(wk_program_run(q->program, &err));
    assert_ok(wk_program_download(q->program, q->answer, answer, count * sizeof *answer, &err));
    wk_program_destroy(q->program);
    wk_scope_destroy(q->scope);
    wk_params_destroy(q->params);
    wk_graph_destroy(q->g);
    wk_backend_destroy(q->backend);
    return count;
}

// z_0 of state t of trajectory n is 1 + t + 4n, a_0 of step t is (1 + t + 3n) / 10.
static void fill(float *features, int states, float *actions, int steps)
{
    memset(features, 0, (size_t)(states * N * FEATURES) * sizeof *features);
    memset(actions, 0, (size_t)(steps * N * A) * sizeof *actions);
    for (int t = 0; t < states; t++)
        for (int n = 0; n < N; n++)
            features[(t * N + n) * FEATURES] = (float)(1 + t + 4 * n);
    for (int t = 0; t < steps; t++)
        for (int n = 0; n < N; n++)
            actions[(t * N + n) * A] = (float)(1 + t + 3 * n) / 10;
}

static void assert_disagreements(int action, int states, const float *want, size_t wanted)
{
    float features[(H + 1) * N * FEATURES], actions[H * N * A], got[(H + 1) * N];
    fill(features, H + 1, actions, H);
    question q = begin(action, states, WK_SHAPE(1, (H + 1) * N, FEATURES), WK_SHAPE(1, H * N, A));
    wk_rollout rollout = {.stack = 1, .starts = N, .features = q.features, .actions = q.actions};
    q.answer = wk_rollout_disagreement(&rollout, q.scope, &q.config);
    assert_int_equal(ask(&q, features, actions, got), wanted);
    for (size_t i = 0; i < wanted; i++)
        assert_near(got[i], want[i], 1e-3);
}

// [H,N]: z_t + 10 a_t + 100.
TEST_CASE(a_state_goes_with_the_action_taken_there)
{
    const float want[] = {102, 109, 104, 111, 106, 113};
    assert_disagreements(WK_ACTION_TAKEN, WK_STATES_STEPS, want, 6);
}

// z_{t+1} + 10 a_t + 100.
TEST_CASE(or_with_the_action_that_led_there)
{
    const float want[] = {103, 110, 105, 112, 107, 114};
    assert_disagreements(WK_ACTION_ARRIVING, WK_STATES_STEPS, want, 6);
}

// z_0 + 100 comes first.
TEST_CASE(the_start_with_no_action_can_be_the_first_of_the_states)
{
    const float taken[] = {101, 105, 102, 109, 104, 111, 106, 113};
    const float arriving[] = {101, 105, 103, 110, 105, 112, 107, 114};
    assert_disagreements(WK_ACTION_TAKEN, WK_STATES_ALL, taken, 8);
    assert_disagreements(WK_ACTION_ARRIVING, WK_STATES_ALL, arriving, 8);
}

// A batch of one sequence [T,B]: rows 0 ... 3 with z_0 = 1 + t + 4n and the action (1 + t + 3n) /
// 10 that led there. The loss of a member is the mean over rows of the sum over features of
// (prediction - next)^2 / 2; of the next state only z_0 is not 0.
static void assert_loss(int action, int first)
{
    float features[(H + 1) * N * FEATURES], actions[(H + 1) * N * A], got[MEMBERS];
    fill(features, H + 1, actions, H + 1);
    question q =
        begin(action, WK_STATES_STEPS, WK_SHAPE(H + 1, N, FEATURES), WK_SHAPE(H + 1, N, A));
    q.answer = wk_ensemble_loss(q.scope, &q.config, q.features, q.actions);
    assert_int_equal(ask(&q, features, actions, got), MEMBERS);
    for (int m = 0; m < MEMBERS; m++) {
        double sum = 0;
        for (int t = 0; t < H; t++)
            for (int n = 0; n < N; n++) {
                double now = 1 + t + 4 * n, seen = 1 + t + first + 3 * n, next = now + 1;
                double guess = (2 * m + 1) * (now + seen + 100);
                sum += 0.5 * ((guess - next) * (guess - next) + (FEATURES - 1) * guess * guess);
            }
        assert_near(got[m], sum / (H * N), 1e-5 * sum);
    }
}

TEST_CASE(members_learn_with_the_action_they_are_asked_with)
{
    assert_loss(WK_ACTION_TAKEN, 1);
    assert_loss(WK_ACTION_ARRIVING, 0);
}

TEST_MAIN(NULL, NULL)
