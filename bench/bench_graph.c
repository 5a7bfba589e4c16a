// The graph engine on a whole update (world model, exploration policy in imagination, ensemble) at
// the presets' sizes: time to record, differentiate and plan; memory against its lower bound; time
// a run by op; and the engine's own share of it, from what a node costs that computes nothing.
//
// WAKER_TRACE=file.json also writes the trace of the runs.
//
// usage: bench_graph [quick|small|paper] [THREADS] [RUNS]    (0 runs: only the plan)
//        bench_graph nodes COUNT
#include "base/machine.h"
#include "base/random.h"
#include "tensor/program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct preset {
    const char *name;
    int depth, deter, hidden, variables, classes, units, layers, members, batch, length, horizon;
} preset;

static const preset presets[] = {
    {"quick", 12, 128, 128, 16, 16, 128, 2, 5, 8, 16, 8},
    {"small", 24, 256, 256, 24, 24, 256, 3, 7, 16, 32, 12},
    {"paper", 48, 600, 600, 32, 32, 400, 4, 10, 16, 50, 15},
};

enum { ACTIONS = 6, WEIGHTS_MAX = 256 };

// The weights of one network; a step trains several networks together.
typedef struct group {
    wk_tensor weights[WEIGHTS_MAX];
    size_t count;
} group;

typedef struct bench {
    const preset *p;
    wk_graph *g;
    wk_tensor counter, rate;
    uint64_t keys;
    wk_tensor image, action, first; // inputs
} bench;

static void check(wk_status status, const wk_error *err)
{
    if (status == WK_OK) return;
    fprintf(stderr, "bench_graph: %s\n", err->message);
    exit(1);
}

static wk_random fresh(bench *b)
{
    return (wk_random){b->counter, ++b->keys};
}

static wk_tensor weight(bench *b, group *n, wk_shape shape)
{
    if (n->count == WEIGHTS_MAX) abort();
    return n->weights[n->count++] = wk_graph_persistent(b->g, WK_F32, shape, "w", NULL, 0);
}

typedef struct dense {
    wk_tensor w, b;
} dense;

static dense make_dense(bench *b, group *n, int stack, int in, int out)
{
    if (stack > 1)
        return (dense){weight(b, n, WK_SHAPE(stack, in, out)), weight(b, n, WK_SHAPE(stack, out))};
    return (dense){weight(b, n, WK_SHAPE(in, out)), weight(b, n, WK_SHAPE(out))};
}

static wk_tensor apply(bench *b, dense d, wk_tensor x, wk_activation act)
{
    return wk_graph_bias_act(b->g, wk_graph_matmul(b->g, x, d.w), d.b, act);
}

typedef struct mlp {
    dense layers[6];
    int count;
} mlp;

static mlp make_mlp(bench *b, group *n, int stack, int in, int out)
{
    mlp m = {.count = b->p->layers + 1};
    for (int i = 0; i < m.count; i++)
        m.layers[i] =
            make_dense(b, n, stack, i ? b->p->units : in, i + 1 < m.count ? b->p->units : out);
    return m;
}

static wk_tensor apply_mlp(bench *b, const mlp *m, wk_tensor x)
{
    for (int i = 0; i < m->count; i++)
        x = apply(b, m->layers[i], x, i + 1 < m->count ? WK_ELU : WK_IDENTITY);
    return x;
}

typedef struct rssm {
    dense in, prior_hidden, prior_logits, post_hidden, post_logits;
    wk_tensor w, gate_bias, gain, bias;
} rssm;

static int stoch(const bench *b)
{
    return b->p->variables * b->p->classes;
}

static int features(const bench *b)
{
    return stoch(b) + b->p->deter;
}

static rssm make_rssm(bench *b, group *n)
{
    const preset *p = b->p;
    rssm r = {.in = make_dense(b, n, 1, stoch(b) + ACTIONS, p->hidden),
              .w = weight(b, n, WK_SHAPE(p->hidden + p->deter, 3 * p->deter)),
              .gate_bias = weight(b, n, WK_SHAPE(3 * p->deter)),
              .gain = weight(b, n, WK_SHAPE(3 * p->deter)),
              .bias = weight(b, n, WK_SHAPE(3 * p->deter)),
              .prior_hidden = make_dense(b, n, 1, p->deter, p->hidden),
              .prior_logits = make_dense(b, n, 1, p->hidden, stoch(b)),
              .post_hidden = make_dense(b, n, 1, p->deter + 32 * p->depth, p->hidden),
              .post_logits = make_dense(b, n, 1, p->hidden, stoch(b))};
    return r;
}

static wk_tensor join(bench *b, wk_tensor x, wk_tensor y)
{
    wk_tensor both[] = {x, y};
    return wk_graph_concat(b->g, both, 2, wk_graph_shape(b->g, x).rank - 1);
}

static wk_tensor next_deter(bench *b, const rssm *r, wk_tensor s, wk_tensor h, wk_tensor a)
{
    wk_tensor x = apply(b, r->in, join(b, s, a), WK_ELU);
    wk_tensor pre = wk_graph_matmul(b->g, join(b, x, h), r->w);
    return wk_graph_gru(b->g, pre, r->gate_bias, r->gain, r->bias, h, 1e-3f);
}

static wk_tensor as_logits(bench *b, wk_tensor x)
{
    int rows = wk_graph_shape(b->g, x).dim[0];
    return wk_graph_reshape(b->g, x, WK_SHAPE(rows, b->p->variables, b->p->classes));
}

static wk_tensor sample(bench *b, wk_tensor logits)
{
    wk_tensor s = wk_graph_sample_onehot(b->g, as_logits(b, logits), fresh(b));
    return wk_graph_reshape(b->g, s, wk_graph_shape(b->g, logits));
}

// Appends gradients, the global norm and Adam for a group.
static void train(bench *b, wk_tensor loss, const group *n)
{
    wk_tensor grads[WEIGHTS_MAX];
    wk_adam_config config = wk_adam_config_default();
    wk_graph_gradients(b->g, loss, n->weights, n->count, grads);
    wk_graph_section(b->g, "optimiser");
    wk_tensor state = wk_graph_persistent(b->g, WK_U64, WK_SHAPE(1, 2), "state", NULL, 0);
    wk_tensor norm = wk_graph_global_norm(b->g, grads, n->count, 1);
    wk_tensor step = wk_graph_adam_begin(b->g, norm, b->rate, state, (wk_tensor){0}, config);
    for (size_t i = 0; i < n->count; i++) {
        wk_shape shape = wk_graph_shape(b->g, n->weights[i]);
        wk_tensor m = wk_graph_persistent(b->g, WK_F32, shape, "m", NULL, 0);
        wk_tensor v = wk_graph_persistent(b->g, WK_F32, shape, "v", NULL, 0);
        wk_graph_adam(b->g, n->weights[i], m, v, grads[i], step, config);
    }
}

static wk_tensor encode(bench *b, group *n, wk_tensor x)
{
    int channels = 3, depth = b->p->depth;
    for (int i = 0; i < 4; i++, channels = depth, depth *= 2)
        x = wk_graph_conv(b->g, x, weight(b, n, WK_SHAPE(4, 4, channels, depth)),
                          weight(b, n, WK_SHAPE(depth)), 2, WK_ELU);
    return wk_graph_reshape(b->g, x, WK_SHAPE(b->p->length, b->p->batch, 32 * b->p->depth));
}

static wk_tensor decode(bench *b, group *n, wk_tensor feature)
{
    static const int kernels[] = {5, 5, 6, 6};
    int rows = wk_graph_shape(b->g, feature).dim[0], depth = b->p->depth;
    const int channels[] = {32 * depth, 4 * depth, 2 * depth, depth, 3};
    wk_tensor x = apply(b, make_dense(b, n, 1, features(b), 32 * depth), feature, WK_IDENTITY);
    x = wk_graph_reshape(b->g, x, WK_SHAPE(rows, 1, 1, 32 * depth));
    for (int i = 0; i < 4; i++)
        x = wk_graph_deconv(
            b->g, x, weight(b, n, WK_SHAPE(kernels[i], kernels[i], channels[i + 1], channels[i])),
            weight(b, n, WK_SHAPE(channels[i + 1])), 2, i < 3 ? WK_ELU : WK_IDENTITY);
    return x;
}

static wk_tensor step_of(bench *b, wk_tensor x, int t)
{
    wk_shape shape = wk_graph_shape(b->g, x);
    return wk_graph_reshape(b->g, wk_graph_slice(b->g, x, 0, t, 1),
                            WK_SHAPE(shape.dim[1], shape.dim[2]));
}

static wk_tensor kl_term(bench *b, wk_tensor p, wk_tensor q, float scale)
{
    wk_tensor kl = wk_graph_mean_all(b->g, wk_graph_kl(b->g, as_logits(b, p), as_logits(b, q)));
    return wk_graph_affine(b->g, wk_graph_clamp_min(b->g, kl, 1), scale, 0);
}

// The world model's loss; gives the posterior states [T*B,..].
static wk_tensor model_loss(bench *b, group *n, const rssm *r, wk_tensor *s, wk_tensor *h)
{
    const preset *p = b->p;
    enum { STEPS_MAX = 64 };
    wk_tensor ss[STEPS_MAX], hs[STEPS_MAX], ps[STEPS_MAX];
    wk_graph_section(b->g, "encoder");
    wk_tensor image = wk_graph_image(b->g, b->image), embed = encode(b, n, image);
    wk_graph_section(b->g, "recurrence");
    *s = wk_graph_fill(b->g, WK_SHAPE(p->batch, stoch(b)), 0);
    *h = wk_graph_fill(b->g, WK_SHAPE(p->batch, p->deter), 0);
    for (int t = 0; t < p->length; t++) {
        wk_tensor mask = wk_graph_affine(b->g, step_of(b, b->first, t), -1, 1);
        *s = wk_graph_scale_rows(b->g, *s, mask);
        *h = wk_graph_scale_rows(b->g, *h, mask);
        wk_tensor a = wk_graph_scale_rows(b->g, step_of(b, b->action, t), mask);
        hs[t] = *h = next_deter(b, r, *s, *h, a);
        wk_tensor x = apply(b, r->post_hidden, join(b, *h, step_of(b, embed, t)), WK_ELU);
        ps[t] = apply(b, r->post_logits, x, WK_IDENTITY);
        ss[t] = *s = sample(b, ps[t]);
    }
    *s = wk_graph_concat(b->g, ss, (size_t)p->length, 0);
    *h = wk_graph_concat(b->g, hs, (size_t)p->length, 0);
    wk_tensor post = wk_graph_concat(b->g, ps, (size_t)p->length, 0);
    wk_tensor prior = apply(b, r->prior_logits, apply(b, r->prior_hidden, *h, WK_ELU), WK_IDENTITY);
    wk_graph_section(b->g, "decoder");
    wk_tensor picture = decode(b, n, join(b, *s, *h));
    wk_tensor error = wk_graph_half_squared_error(b->g, picture, image, 3);
    wk_tensor terms[] = {kl_term(b, post, wk_graph_stop_gradient(b->g, prior), 0.2f),
                         kl_term(b, wk_graph_stop_gradient(b->g, post), prior, 0.8f),
                         wk_graph_mean_all(b->g, error)};
    return wk_graph_add_n(b->g, terms, 3);
}

static wk_tensor batched(bench *b, wk_tensor x)
{
    wk_shape shape = wk_graph_shape(b->g, x);
    return wk_graph_reshape(b->g, x, WK_SHAPE(1, shape.dim[0], shape.dim[1]));
}

static wk_tensor ensemble_loss(bench *b, const mlp *ensemble, wk_tensor feature)
{
    const preset *p = b->p;
    int rows = (p->length - 1) * p->batch;
    wk_tensor action = wk_graph_reshape(b->g, wk_graph_slice(b->g, b->action, 0, 1, p->length - 1),
                                        WK_SHAPE(rows, ACTIONS));
    wk_tensor now = wk_graph_slice(b->g, feature, 0, 0, rows);
    wk_tensor next = wk_graph_slice(b->g, feature, 0, p->batch, rows);
    wk_tensor guess = apply_mlp(b, ensemble, batched(b, join(b, now, action)));
    wk_tensor error = wk_graph_half_squared_error(b->g, guess, next, 1);
    return wk_graph_sum_all(b->g, wk_graph_mean(b->g, error, 1));
}

// Imagines from every state and gives the actor's and the critic's loss.
static void policy_losses(bench *b, const rssm *r, const mlp *ensemble, const mlp *actor,
                          const mlp *critic, const mlp *slow, wk_tensor s, wk_tensor h,
                          wk_tensor losses[2])
{
    enum { STEPS_MAX = 32 };
    int steps = b->p->horizon, rows = wk_graph_shape(b->g, s).dim[0];
    wk_tensor zs[STEPS_MAX], inputs[STEPS_MAX], entropies[STEPS_MAX];
    zs[0] = join(b, s, h);
    for (int t = 0; t < steps; t++) {
        wk_tensor raw = apply_mlp(b, actor, wk_graph_stop_gradient(b->g, zs[t]));
        wk_tensor a = wk_graph_truncated_normal_sample(b->g, raw, fresh(b), WK_SAMPLE_EXACT);
        entropies[t] = wk_graph_truncated_normal_entropy(b->g, raw);
        inputs[t] = join(b, zs[t], a);
        h = next_deter(b, r, s, h, a);
        s = sample(b, apply(b, r->prior_logits, apply(b, r->prior_hidden, h, WK_ELU), WK_IDENTITY));
        zs[t + 1] = join(b, s, h);
    }
    wk_tensor guess =
        apply_mlp(b, ensemble, batched(b, wk_graph_concat(b->g, inputs, (size_t)steps, 0)));
    wk_tensor reward = wk_graph_disagreement(b->g, guess, WK_DISAGREEMENT_STD, 50);
    wk_tensor z = wk_graph_concat(b->g, zs, (size_t)steps + 1, 0);
    wk_tensor value = wk_graph_reshape(b->g, apply_mlp(b, slow, z), WK_SHAPE(steps + 1, rows));
    wk_tensor target = wk_graph_lambda_return(
        b->g, wk_graph_reshape(b->g, reward, WK_SHAPE(steps, rows)), value, 0.99f, 0.95f);
    wk_tensor entropy = wk_graph_stack(b->g, entropies, (size_t)steps);
    wk_tensor gain = wk_graph_add(b->g, target, wk_graph_affine(b->g, entropy, 1e-4f, 0));
    losses[0] = wk_graph_affine(b->g, wk_graph_mean_all(b->g, gain), -1, 0);
    wk_tensor seen = wk_graph_stop_gradient(b->g, wk_graph_slice(b->g, z, 0, 0, steps * rows));
    wk_tensor flat = wk_graph_reshape(b->g, target, WK_SHAPE(steps * rows, 1));
    losses[1] =
        wk_graph_mean_all(b->g, wk_graph_half_squared_error(b->g, apply_mlp(b, critic, seen),
                                                            wk_graph_stop_gradient(b->g, flat), 1));
}

static void record_update(bench *b, group *all, wk_tensor *loss)
{
    const preset *p = b->p;
    group model = {0}, ensemble_group = {0}, actor_group = {0}, critic_group = {0},
          slow_group = {0};
    wk_tensor s, h, losses[2];
    rssm r = make_rssm(b, &model);
    *loss = model_loss(b, &model, &r, &s, &h);
    train(b, *loss, &model);
    s = wk_graph_stop_gradient(b->g, s);
    h = wk_graph_stop_gradient(b->g, h);
    mlp ensemble = make_mlp(b, &ensemble_group, p->members, features(b) + ACTIONS, features(b));
    mlp actor = make_mlp(b, &actor_group, 1, features(b), 2 * ACTIONS);
    mlp critic = make_mlp(b, &critic_group, 1, features(b), 1);
    mlp slow = make_mlp(b, &slow_group, 1, features(b), 1);
    wk_graph_section(b->g, "imagination");
    policy_losses(b, &r, &ensemble, &actor, &critic, &slow, s, h, losses);
    train(b, losses[0], &actor_group);
    wk_graph_section(b->g, "critic");
    train(b, losses[1], &critic_group);
    wk_graph_section(b->g, "ensemble");
    train(b, ensemble_loss(b, &ensemble, join(b, s, h)), &ensemble_group);
    for (size_t i = 0; i < slow_group.count; i++)
        wk_graph_store_every(b->g, slow_group.weights[i], critic_group.weights[i], b->counter, 100);
    wk_graph_count(b->g, b->counter, 1);
    wk_graph_output(b->g, *loss);
    const group *groups[] = {&model, &ensemble_group, &actor_group, &critic_group, &slow_group};
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        for (size_t i = 0; i < groups[k]->count; i++)
            all->weights[all->count++] = groups[k]->weights[i];
}

// Uniform numbers of the size Glorot's rule gives.
static void fill_weights(const bench *b, wk_program *program, const group *all)
{
    wk_error err = {0};
    for (size_t i = 0; i < all->count; i++) {
        wk_shape shape = wk_graph_shape(b->g, all->weights[i]);
        size_t count = wk_shape_count(shape);
        int in = shape.rank > 1 ? shape.dim[shape.rank - 2] : 0, out = shape.dim[shape.rank - 1];
        double limit = shape.rank > 1 ? sqrt(6.0 / (in + out)) : 0;
        wk_rng rng = wk_rng_stream(0, "bench", i);
        float *values = malloc(count * sizeof *values);
        if (!values) abort();
        for (size_t k = 0; k < count; k++)
            values[k] = (float)wk_rng_uniform(&rng, -limit, limit);
        check(wk_program_upload(program, all->weights[i], values, count * sizeof *values, &err),
              &err);
        free(values);
    }
    check(wk_program_upload(program, b->rate, &(float){3e-4f}, sizeof(float), &err), &err);
}

static double time_runs(wk_program *program, int runs)
{
    wk_error err = {0};
    double begin = wk_clock_seconds();
    for (int i = 0; i < runs; i++)
        check(wk_program_run(program, &err), &err);
    return (wk_clock_seconds() - begin) / runs;
}

// A chain of nodes on one element, differentiated: what the engine costs by itself, in seconds.
static double time_nodes(wk_backend *backend, int count, bool print)
{
    wk_error err = {0};
    wk_graph *g = NULL;
    wk_program *program = NULL;
    double begin = wk_clock_seconds();
    check(wk_graph_create(&g, &err), &err);
    wk_tensor x = wk_graph_persistent(g, WK_F32, WK_SHAPE(1), "x", NULL, 0), y = x, dx;
    for (int i = 0; i < count / 4; i++)
        y = wk_graph_mul(g, wk_graph_affine(g, y, 0.5f, 0.25f), x);
    double recorded = wk_clock_seconds();
    wk_graph_gradients(g, y, &x, 1, &dx);
    wk_graph_output(g, dx);
    double differentiated = wk_clock_seconds();
    check(wk_program_create(g, backend, &program, &err), &err);
    double planned = wk_clock_seconds();
    size_t nodes = wk_program_get_stats(program).nodes;
    time_runs(program, 1);
    double seconds = time_runs(program, 5) / (double)nodes;
    if (print)
        printf("%zu nodes: recorded in %.1f ms, differentiated in %.1f, planned in %.1f, "
               "total %.1f ms; %.0f ns a node to run\n",
               wk_graph_node_count(g), 1e3 * (recorded - begin), 1e3 * (differentiated - recorded),
               1e3 * (planned - differentiated), 1e3 * (planned - begin), 1e9 * seconds);
    wk_program_destroy(program);
    wk_graph_destroy(g);
    return seconds;
}

static void write_trace(const wk_program *program, const char *path)
{
    wk_text json = {0};
    wk_program_trace_json(program, &json);
    FILE *file = fopen(path, "w");
    if (!file || fputs(wk_text_get(&json), file) < 0 || fclose(file) != 0)
        fprintf(stderr, "bench_graph: cannot write %s\n", path);
    wk_text_free(&json);
}

static void bench_runs(const bench *b, wk_program *program, const group *all, wk_backend *backend,
                       wk_tensor loss, int runs)
{
    wk_error err = {0};
    fill_weights(b, program, all);
    time_runs(program, 2);
    double seconds = time_runs(program, runs);
    double engine = time_nodes(backend, 20000, false) * (double)wk_program_get_stats(program).nodes;
    printf("%.2f ms a run; the engine's share at most %.2f %%\n", 1e3 * seconds,
           100 * engine / seconds);
    check(wk_program_trace(program, true, &err), &err);
    time_runs(program, runs);
    wk_text table = {0};
    wk_program_trace_table(program, &table);
    fputs(wk_text_get(&table), stdout);
    wk_text_free(&table);
    const char *request = wk_trace_request();
    if (request && strcmp(request, "1") != 0) write_trace(program, request);
    float value;
    check(wk_program_download(program, loss, &value, sizeof value, &err), &err);
    printf("model loss %.1f\n", (double)value);
}

static void bench_update(const preset *p, wk_backend *backend, int runs)
{
    wk_error err = {0};
    bench b = {.p = p};
    group all = {0};
    wk_tensor loss;
    wk_program *program = NULL;
    double begin = wk_clock_seconds();
    check(wk_graph_create(&b.g, &err), &err);
    b.counter = wk_graph_persistent(b.g, WK_U64, WK_SHAPE(1), "counter", NULL, 0);
    b.rate = wk_graph_persistent(b.g, WK_F32, WK_SHAPE(1), "rate", NULL, 0);
    b.image = wk_graph_input(b.g, WK_U8, WK_SHAPE(p->length * p->batch, 64, 64, 3), "image");
    b.action = wk_graph_input(b.g, WK_F32, WK_SHAPE(p->length, p->batch, ACTIONS), "action");
    b.first = wk_graph_input(b.g, WK_F32, WK_SHAPE(p->length, p->batch, 1), "first");
    record_update(&b, &all, &loss);
    double recorded = wk_clock_seconds();
    check(wk_program_create(b.g, backend, &program, &err), &err);
    double planned = wk_clock_seconds();
    wk_program_stats stats = wk_program_get_stats(program);
    printf("%s: %zu nodes recorded and differentiated in %.1f ms, compiled in %.1f ms, %zu run\n",
           p->name, stats.recorded, 1e3 * (recorded - begin), 1e3 * (planned - recorded),
           stats.nodes);
    printf("temporaries: %.1f MiB planned, %.1f MiB live at most (%.1f %% above), %zu blocks\n",
           (double)stats.planned / 1048576, (double)stats.live_peak / 1048576,
           100.0 * (double)stats.planned / (double)stats.live_peak - 100, stats.temporaries);
    if (runs > 0) bench_runs(&b, program, &all, backend, loss, runs);
    wk_program_destroy(program);
    wk_graph_destroy(b.g);
}

int main(int argc, char **argv)
{
    wk_error err = {0};
    wk_pool *pool = NULL;
    wk_backend *backend = NULL;
    const char *what = argc > 1 ? argv[1] : "quick";
    int number = argc > 2 ? atoi(argv[2]) : 0, runs = argc > 3 ? atoi(argv[3]) : 5;
    bool nodes = strcmp(what, "nodes") == 0;
    check(wk_pool_create(nodes || number < 1 ? 1 : number, &pool, &err), &err);
    check(wk_backend_cpu_create(pool, &backend, &err), &err);
    if (nodes) time_nodes(backend, number > 0 ? number : 20000, true);
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(presets[i].name, what) == 0) bench_update(&presets[i], backend, runs);
    wk_backend_destroy(backend);
    wk_pool_destroy(pool);
    return 0;
}
