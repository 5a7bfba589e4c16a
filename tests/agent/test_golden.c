// Whole updates of the learner against an independent PyTorch model (tools/reference/learner.py)
// that draws the same random bits: losses, gradients, parameters after Adam, error estimates, five
// updates in a row. The reference computes in double precision; ours in float32, so relative errors
// up to 1e-4 of a tensor's largest element are rounding; in bf16 support/precision.h says how much.
#include "agent/learner.h"
#include "agent/learner_parts.h"
#include "support/backend.h"
#include "support/check.h"
#include "support/learner.h"
#include "support/precision.h"
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 8, UPDATES = 5 };
static const double TOLERANCE = 1e-4;

typedef struct fixture {
    wk_pool *pool;
    wk_backend *backend;
    wk_learner *learner;
    wk_safetensors *golden;
} fixture;

// Names of the sets in the reference's file.
static const char *const reference_names[WK_NETWORKS] = {
    [WK_NETWORK_MODEL] = "",
    [WK_NETWORK_ENSEMBLE] = "ensemble/",
    [WK_NETWORK_EXPLORE_ACTOR] = "explore/actor/",
    [WK_NETWORK_EXPLORE_CRITIC] = "explore/critic/",
    [WK_NETWORK_REWARD] = "reward/",
    [WK_NETWORK_TASK_ACTOR] = "task/actor/",
    [WK_NETWORK_TASK_CRITIC] = "task/critic/",
};

// The numbers of a golden tensor, malloc'd.
static float *golden_floats(const fixture *f, const char *name, size_t *count)
{
    wk_error err = {0};
    const wk_safetensors_spec *spec = wk_safetensors_find(f->golden, name);
    if (!spec) fail_msg("the golden file has no '%s'", name);
    size_t bytes = wk_safetensors_spec_bytes(spec);
    float *values = malloc(bytes);
    assert_non_null(values);
    assert_ok(wk_safetensors_read(f->golden, spec, values, &err));
    if (count) *count = bytes / sizeof(float);
    return values;
}

static void compare(const char *what, const float *ours, const float *truth, size_t count)
{
    double largest = 1e-6, worst = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs((double)truth[i]));
    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs((double)ours[i] - truth[i]));
    if (!(worst <= TOLERANCE * largest))
        fail_msg("%s: off by %.3g where the largest is %.3g", what, worst, largest);
}

// Compares numbers behind so many products.
static void compare_golden(const fixture *f, int products, const float *ours, size_t count,
                           const char *format, ...)
{
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    size_t expected;
    float *truth = golden_floats(f, name, &expected);
    assert_int_equal(count, expected);
    if (test_rounds())
        test_expect_near(name, ours, truth, count, products);
    else
        compare(name, ours, truth, count);
    free(truth);
}

// Name of weight `param` of a network in the reference's file: our MLPs call their layers
// "mlp/...".
static void reference_weight(wk_network_id network, const char *param, char *out, size_t size)
{
    const char *tail = strncmp(param, "mlp/", 4) == 0 ? param + 4 : param;
    snprintf(out, size, "%s%s", reference_names[network], tail);
}

static void load_initial(const fixture *f)
{
    wk_error err = {0};
    for (int network = 0; network < WK_NETWORKS; network++) {
        if (!reference_names[network]) continue;
        const wk_params *params = f->learner->params[network];
        for (size_t i = 0; i < params->weights.count; i++) {
            char tail[96], name[128];
            reference_weight(network, params->weights.items[i].name, tail, sizeof tail);
            snprintf(name, sizeof name, "init/%s", tail);
            size_t count;
            float *values = golden_floats(f, name, &count);
            assert_int_equal(count, params->weights.items[i].count);
            assert_ok(wk_buffer_upload(params->buffer, params->weights.items[i].offset, values,
                                       count * sizeof *values, &err));
            free(values);
        }
    }
    assert_ok(wk_params_copy(f->learner->params[WK_NETWORK_EXPLORE_SLOW],
                             f->learner->params[WK_NETWORK_EXPLORE_CRITIC], &err));
    assert_ok(wk_params_copy(f->learner->params[WK_NETWORK_TASK_SLOW],
                             f->learner->params[WK_NETWORK_TASK_CRITIC], &err));
}

static wk_learner_config tiny(void)
{
    wk_learner_config c = wk_learner_config_default();
    c.depth = 2, c.deter = 6, c.hidden = 5, c.stoch = 3, c.classes = 4, c.units = 7, c.layers = 2;
    c.ensemble = 3, c.batch = 2, c.length = 4, c.horizon = 3, c.action_size = 2, c.tasks = 2;
    c.slow_period = 2, c.kl_scale = 1.5f, c.free_nats = 0.01f, c.entropy_scale = 1e-2f;
    c.seed = SEED;
    return c;
}

static int set_up(void **state)
{
    wk_error err = {0};
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_ok(wk_pool_create(2, &f->pool, &err));
    assert_ok(test_backend_create(f->pool, &f->backend, &err));
    wk_learner_config config = tiny();
    assert_ok(wk_learner_create(WK_LEARNER_UPDATES | WK_LEARNER_OBSERVES, &config, f->backend,
                                &f->learner, &err));
    assert_ok(wk_safetensors_open(WAKER_SOURCE_DIR "/tests/agent/golden/learner.safetensors",
                                  &f->golden, &err));
    load_initial(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    wk_safetensors_close(f->golden);
    wk_learner_destroy(f->learner);
    wk_backend_destroy(f->backend);
    wk_pool_destroy(f->pool);
    free(f);
    return 0;
}

typedef struct golden_batch {
    uint8_t *images, *first;
    float *actions, *rewards;
    wk_learner_batch view;
} golden_batch;

static golden_batch load_batch(const fixture *f)
{
    golden_batch b = {0};
    size_t rows;
    float *first = golden_floats(f, "batch/first", &rows);
    b.first = malloc(rows);
    assert_non_null(b.first);
    for (size_t i = 0; i < rows; i++)
        b.first[i] = first[i] != 0;
    free(first);
    b.images = (uint8_t *)golden_floats(f, "batch/image", NULL);
    b.actions = golden_floats(f, "batch/action", NULL);
    b.rewards = golden_floats(f, "batch/reward", NULL);
    b.view = (wk_learner_batch){
        .images = b.images, .actions = b.actions, .first = b.first, .rewards = b.rewards};
    return b;
}

static void free_batch(golden_batch *b)
{
    free(b->images);
    free(b->first);
    free(b->actions);
    free(b->rewards);
}

// Products behind a tensor of the world model's graph.
static int modelled(const fixture *f, wk_tensor x)
{
    return test_products(f->learner->model.graph, x);
}

// Products behind a tensor of the graphs that begin with the posterior states: the update's, and
// that of tasks.
static int learned(const fixture *f, wk_tensor x)
{
    return modelled(f, f->learner->model_t.losses.kl) + test_products(f->learner->update.graph, x);
}

static int tasked(const fixture *f, wk_tensor x)
{
    return modelled(f, f->learner->model_t.losses.kl) + test_products(f->learner->tasks.graph, x);
}

static void check_losses(const fixture *f, int n, const wk_learner_metrics *m, const float *delta)
{
    const wk_model_tensors *model = &f->learner->model_t;
    const wk_update_tensors *t = &f->learner->update_t;
    const struct {
        int products;
        const float *ours;
        size_t count;
        const char *name;
    } figures[] = {
        {modelled(f, model->losses.total), &m->model_loss, 1, "loss/model"},
        {modelled(f, model->losses.observed.image), &m->image_loss, 1, "loss/image"},
        {modelled(f, model->losses.kl), &m->kl, 1, "loss/kl"},
        {learned(f, t->actor_loss), &m->explore.actor_loss, 1, "loss/explore/actor"},
        {learned(f, t->critic_loss), &m->explore.critic_loss, 1, "loss/explore/critic"},
        {modelled(f, model->norm), &m->model_norm, 1, "norm/model"},
        {learned(f, t->actor_norm), &m->explore.actor_norm, 1, "norm/explore/actor"},
        {learned(f, t->critic_norm), &m->explore.critic_norm, 1, "norm/explore/critic"},
        {learned(f, t->delta), delta, 8, "delta"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        compare_golden(f, figures[i].products, figures[i].ours, figures[i].count, "%d/%s", n,
                       figures[i].name);
}

static void check_task_losses(const fixture *f, int n, const wk_task_metrics *m)
{
    const wk_task_tensors *t = &f->learner->task_t;
    float actor[2] = {m->policy[0].actor_loss, m->policy[1].actor_loss};
    float critic[2] = {m->policy[0].critic_loss, m->policy[1].critic_loss};
    float norms[2] = {m->policy[0].actor_norm, m->policy[1].actor_norm};
    compare_golden(f, tasked(f, t->reward_loss), m->reward_loss, 2, "%d/loss/reward", n);
    compare_golden(f, tasked(f, t->reward_norm), m->reward_norm, 2, "%d/norm/reward", n);
    compare_golden(f, tasked(f, t->actor_loss), actor, 2, "%d/loss/task/actor", n);
    compare_golden(f, tasked(f, t->critic_loss), critic, 2, "%d/loss/task/critic", n);
    compare_golden(f, tasked(f, t->actor_norm), norms, 2, "%d/norm/task/actor", n);
}

// What a store leaves in the place of a persistent tensor, in the world model's graph.
static wk_tensor stored_at(const fixture *f, const wk_buffer *buffer, size_t offset)
{
    const wk_graph *g = f->learner->model.graph;
    for (size_t k = 0; k < g->nodes.count; k++) {
        const wk_node *node = &g->nodes.items[k];
        if (node->op != WK_OP_store) continue;
        const wk_tensor_info *to = wk_info(g, wk_node_inputs(g, node)[0]);
        if (to->buffer == buffer && to->place == offset)
            return (wk_tensor){wk_node_inputs(g, node)[1]};
    }
    fail_msg("nothing is stored at %zu", offset);
    return (wk_tensor){0};
}

static int behind_model_gradient(const fixture *f, size_t i)
{
    const wk_optimizer *optimizer = f->learner->optimizers[WK_NETWORK_MODEL];
    size_t offset = wk_optimizer_handoff_offset(optimizer) +
                    f->learner->params[WK_NETWORK_MODEL]->weights.items[i].offset;
    return modelled(f, stored_at(f, optimizer->buffer, offset));
}

// Products behind the gradient of weight i of a network, in the graph that makes it.
static int behind_gradient(const fixture *f, wk_network_id network, size_t i)
{
    if (network == WK_NETWORK_MODEL) return behind_model_gradient(f, i);
    bool task = network >= WK_NETWORK_REWARD;
    const wk_compiled_graph *unit = task ? &f->learner->tasks : &f->learner->update;
    int weight = unit->scope[network]->tensors.items[i].id;
    for (size_t k = 0; k < unit->graph->nodes.count; k++) {
        const wk_node *node = &unit->graph->nodes.items[k];
        if (node->op != WK_OP_adam || wk_node_inputs(unit->graph, node)[0] != weight) continue;
        wk_tensor gradient = {wk_node_inputs(unit->graph, node)[3]};
        return task ? tasked(f, gradient) : learned(f, gradient);
    }
    fail_msg("nothing trains weight %zu of %s", i, wk_network_name(network));
    return 0;
}

// After the first Adam step the moment m is a tenth of the clipped gradient.
static void check_gradients(const fixture *f, wk_network_id network)
{
    wk_error err = {0};
    static const char *const groups[WK_NETWORKS] = {
        "model",       "ensemble", "explore/actor", "explore/critic", NULL, "reward", "task/actor",
        "task/critic", NULL};
    const wk_params *params = f->learner->params[network];
    char name[160], tail[96];
    snprintf(name, sizeof name, "0/norm/%s", groups[network]);
    size_t members;
    float *norm = golden_floats(f, name, &members);
    for (size_t i = 0; i < params->weights.count; i++) {
        size_t count = params->weights.items[i].count;
        float *moment = malloc(count * sizeof *moment);
        assert_non_null(moment);
        assert_ok(wk_buffer_download(f->learner->optimizers[network]->buffer,
                                     params->weights.items[i].offset, moment,
                                     count * sizeof *moment, &err));
        for (size_t k = 0; k < count; k++) {
            float member_norm = norm[k * members / count];
            moment[k] *= 10 * fmaxf(1, member_norm / 100);
        }
        reference_weight(network, params->weights.items[i].name, tail, sizeof tail);
        compare_golden(f, behind_gradient(f, network, i), moment, count, "0/grad/%s/%s",
                       groups[network], tail);
        free(moment);
    }
    free(norm);
}

// Adam divides a gradient by its own size, so that of elements near zero only the sign is left:
// where gradients are off by a share d, about a share d of the steps may be off by twice their
// size, which is 2 sqrt(d) in the norm.
static void check_change(const fixture *f, wk_network_id network, size_t i, int n, const char *tail,
                         float *values)
{
    char before[128], after[128];
    size_t count;
    snprintf(before, sizeof before, "init/%s", tail);
    snprintf(after, sizeof after, "%d/param/%s", n, tail);
    float *start = golden_floats(f, before, &count), *end = golden_floats(f, after, &count);
    for (size_t k = 0; k < count; k++) {
        values[k] -= start[k];
        end[k] -= start[k];
    }
    double d = test_distance(values, end, count);
    double allowed = 2 * sqrt(test_allowance(behind_gradient(f, network, i), count));
    if (getenv("WAKER_GOLDEN_SHOW"))
        print_message("%-40s %7zu numbers, change: %.2g off, %.2g allowed\n", after, count, d,
                      allowed);
    if (!(d <= allowed)) fail_msg("the change of %s is %g off, %g is allowed", after, d, allowed);
    free(start);
    free(end);
}

static void check_parameters(const fixture *f, int n)
{
    wk_error err = {0};
    for (int network = 0; network < WK_NETWORKS; network++) {
        if (!reference_names[network]) continue;
        const wk_params *params = f->learner->params[network];
        for (size_t i = 0; i < params->weights.count; i++) {
            size_t count = params->weights.items[i].count;
            float *values = malloc(count * sizeof *values);
            assert_non_null(values);
            char tail[96];
            reference_weight(network, params->weights.items[i].name, tail, sizeof tail);
            assert_ok(wk_buffer_download(params->buffer, params->weights.items[i].offset, values,
                                         count * sizeof *values, &err));
            if (test_rounds())
                check_change(f, network, i, n, tail, values);
            else
                compare_golden(f, 0, values, count, "%d/param/%s", n, tail);
            free(values);
        }
    }
}

TEST_CASE(five_updates_match_the_reference)
{
    fixture *f = *state;
    wk_error err = {0};
    golden_batch batch = load_batch(f);
    for (int n = 0; n < UPDATES; n++) {
        wk_learner_metrics metrics;
        wk_task_metrics tasks;
        float delta[8];
        assert_ok(learner_update(f->learner, &batch.view, &metrics, delta, &err));
        assert_ok(wk_learner_update_tasks(f->learner, &batch.view, &tasks, &err));
        check_losses(f, n, &metrics, delta);
        check_task_losses(f, n, &tasks);
        for (int network = 0; n == 0 && network < WK_NETWORKS; network++)
            if (reference_names[network]) check_gradients(f, network);
        if (n == 0 || n == UPDATES - 1) check_parameters(f, n);
    }
    free_batch(&batch);
}

TEST_MAIN_EACH(set_up, tear_down)
