// Times of the CPU kernels at the presets' shapes, each next to what bounds it: a bare OpenBLAS
// call for matrix products, a copy of the same bytes for what memory bounds. The two are measured
// interleaved and the minimum of several rounds is kept, so that a busy machine disturbs both
// alike.
//
// usage: bench_kernels conv DEPTH BATCH THREADS [ROUNDS]
//        bench_kernels dense THREADS [ROUNDS]
//        bench_kernels memory THREADS [ROUNDS [NAME]]   only kernels whose name begins with NAME
#include "base/machine.h"
#include "base/pool.h"
#include "tensor/cpu/kernels.h"
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double seconds(const wk_pool *pool)
{
    return wk_pool_threads(pool) == 1 ? wk_clock_thread_seconds() : wk_clock_seconds();
}

static void fill(size_t n, float *x)
{
    wk_draws draws = {.key = n, .substream = 1};
    wk_cpu_uniform(n, &draws, -0.1f, 0.1f, x, NULL);
}

static float *numbers(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
    if (!x) {
        fprintf(stderr, "no memory for %zu numbers\n", n);
        exit(1);
    }
    fill(n, x);
    return x;
}

// One convolution or transposed convolution layer with all its arrays.
typedef struct layer {
    wk_conv p;
    bool transposed, first, last;
    float *in, *out, *din, *dout, *w, *dw, *bias, *dbias;
    size_t in_count, out_count;
} layer;

static size_t out_channels(const layer *l)
{
    return l->transposed ? l->p.large_c : l->p.small_c;
}

static layer make_layer(wk_conv p, bool transposed, float *in, float *din)
{
    size_t s = wk_conv_small(&p), large = p.batch * p.large * p.large * p.large_c;
    size_t small = p.batch * s * s * p.small_c;
    layer l = {.p = p, .transposed = transposed, .in = in, .din = din};
    l.in_count = transposed ? small : large;
    l.out_count = transposed ? large : small;
    if (!in) l.in = numbers(l.in_count), l.din = numbers(l.in_count);
    l.out = numbers(l.out_count);
    l.dout = numbers(l.out_count);
    size_t weights = p.kernel * p.kernel * p.large_c * p.small_c;
    l.w = numbers(weights), l.dw = numbers(weights);
    l.bias = numbers(out_channels(&l)), l.dbias = numbers(out_channels(&l));
    return l;
}

static void forward(const layer *l, void *workspace, wk_pool *pool)
{
    wk_activation act = l->last ? WK_IDENTITY : WK_ELU;
    (l->transposed ? wk_cpu_conv_transposed : wk_cpu_conv)(&l->p, l->in, l->w, l->bias, act, l->out,
                                                           workspace, pool);
}

static void backward(const layer *l, void *workspace, wk_pool *pool)
{
    size_t c = out_channels(l);
    wk_bias_act shape = {1, l->out_count / c, c, 0, l->last ? WK_IDENTITY : WK_ELU};
    wk_cpu_bias_act_backward(&shape, l->out, l->dout, l->dout, l->dbias, pool);
    const float *large = l->transposed ? l->dout : l->in, *small = l->transposed ? l->in : l->dout;
    wk_cpu_conv_weights(&l->p, large, small, l->dw, workspace, pool);
    if (l->first) return;
    (l->transposed ? wk_cpu_conv : wk_cpu_conv_transposed)(&l->p, l->dout, l->w, NULL, WK_IDENTITY,
                                                           l->din, workspace, pool);
}

static void release_layer(layer *l, bool owns_input)
{
    if (owns_input) free(l->in), free(l->din);
    free(l->out), free(l->dout), free(l->w), free(l->dw), free(l->bias), free(l->dbias);
}

// Forward and backward of four layers; prints milliseconds of the whole and of each layer.
static void time_stack(const char *name, layer *layers, int rounds, wk_pool *pool)
{
    size_t bytes = 0;
    for (int i = 0; i < 4; i++) {
        size_t b = wk_cpu_conv_workspace(&layers[i].p, wk_pool_threads(pool));
        bytes = b > bytes ? b : bytes;
    }
    void *workspace = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!workspace) exit(1);
    double best = 1e30, each[4][2];
    for (int i = 0; i < 4; i++)
        each[i][0] = each[i][1] = 1e30;
    for (int r = 0; r < rounds; r++) {
        double start = seconds(pool);
        for (int i = 0; i < 4; i++) {
            double t = seconds(pool);
            forward(&layers[i], workspace, pool);
            t = seconds(pool) - t;
            each[i][0] = t < each[i][0] ? t : each[i][0];
        }
        for (int i = 3; i >= 0; i--) {
            double t = seconds(pool);
            backward(&layers[i], workspace, pool);
            t = seconds(pool) - t;
            each[i][1] = t < each[i][1] ? t : each[i][1];
        }
        double t = seconds(pool) - start;
        best = t < best ? t : best;
    }
    printf("%s %.3f ms  layers (forward backward):", name, best * 1e3);
    for (int i = 0; i < 4; i++)
        printf("  %.2f %.2f", each[i][0] * 1e3, each[i][1] * 1e3);
    printf("\n");
    free(workspace);
}

static void bench_conv(size_t depth, size_t batch, int rounds, wk_pool *pool)
{
    layer layers[4];
    size_t large[] = {64, 31, 14, 6};
    size_t channels[] = {3, depth, 2 * depth, 4 * depth, 8 * depth};
    for (int i = 0; i < 4; i++) {
        wk_conv p = {batch, large[i], channels[i], channels[i + 1], 4, 2};
        layers[i] =
            make_layer(p, false, i ? layers[i - 1].out : NULL, i ? layers[i - 1].dout : NULL);
    }
    layers[0].first = true; // nobody wants the gradient of the image
    time_stack("encoder", layers, rounds, pool);
    for (int i = 0; i < 4; i++)
        release_layer(&layers[i], i == 0);

    size_t out[] = {5, 13, 30, 64}, kernel[] = {5, 5, 6, 6};
    size_t width[] = {32 * depth, 4 * depth, 2 * depth, depth, 3};
    for (int i = 0; i < 4; i++) {
        wk_conv p = {batch, out[i], width[i + 1], width[i], kernel[i], 2};
        layers[i] =
            make_layer(p, true, i ? layers[i - 1].out : NULL, i ? layers[i - 1].dout : NULL);
    }
    layers[3].last = true;
    time_stack("decoder", layers, rounds, pool);
    for (int i = 0; i < 4; i++)
        release_layer(&layers[i], i == 0);
}

static double min(double a, double b)
{
    return a < b ? a : b;
}

// A dense layer's product as the models have it.
typedef struct shape {
    const char *name;
    wk_matmul p;
} shape;

static void bare_product(const wk_matmul *p, const float *a, const float *b, float *c)
{
    size_t na = p->m * p->k, nb = p->n * p->k, nc = p->m * p->n;
    for (size_t s = 0; s < p->stacks; s++)
        cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                    p->transpose_b ? CblasTrans : CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, 1,
                    a + (p->stride_a ? s * na : 0), (int)(p->transpose_a ? p->m : p->k),
                    b + (p->stride_b ? s * nb : 0), (int)(p->transpose_b ? p->k : p->n), 0,
                    c + s * nc, (int)p->n);
}

static void time_product(const shape *x, int rounds, wk_pool *pool)
{
    const wk_matmul *p = &x->p;
    size_t na = p->stacks * p->m * p->k, nb = p->stacks * p->n * p->k;
    float *a = numbers(na), *b = numbers(nb), *c = numbers(p->stacks * p->m * p->n);
    double flops = 2.0 * (double)(p->stacks * p->m) * (double)p->n * (double)p->k;
    int calls = rounds * ((int)(1e8 / flops) + 1);
    double ours = 1e30, bare = 1e30;
    for (int i = 0; i < calls; i++) {
        openblas_set_num_threads(wk_pool_threads(pool));
        double t = seconds(pool);
        bare_product(p, a, b, c);
        bare = min(bare, seconds(pool) - t);
        openblas_set_num_threads(1);
        t = seconds(pool);
        wk_cpu_matmul(p, a, b, c, pool);
        ours = min(ours, seconds(pool) - t);
    }
    printf("%-28s %zu x [%zu,%zu,%zu]%s%s: %.3f ms, %.1f GFLOP/s; bare %.3f ms; %.0f %% of bare\n",
           x->name, p->stacks, p->m, p->n, p->k, p->transpose_a ? " TN" : "",
           p->transpose_b ? " NT" : "", ours * 1e3, flops / ours * 1e-9, bare * 1e3,
           100 * bare / ours);
    fflush(stdout);
    free(a), free(b), free(c);
}

static void bench_dense(int rounds, wk_pool *pool)
{
    wk_matmul warm = {.stacks = 1, .m = 1, .n = 1, .k = 1};
    float one[3] = {1, 1, 1};
    wk_cpu_matmul(&warm, one, one + 1, one + 2, pool);
    const shape shapes[] = {
        {"paper gru, one step", {.stacks = 1, .m = 16, .n = 1800, .k = 1200}},
        {"paper posterior, one step", {.stacks = 1, .m = 16, .n = 600, .k = 2136}},
        {"paper gru gradient, one step", {1, 16, 1200, 1800, .transpose_b = true}},
        {"paper gru weights, one step", {1, 1200, 1800, 16, .transpose_a = true}},
        {"paper gru, imagined", {.stacks = 1, .m = 800, .n = 1800, .k = 1200}},
        {"paper actor", {.stacks = 1, .m = 800, .n = 400, .k = 1624}},
        {"paper critic", {.stacks = 1, .m = 12000, .n = 400, .k = 1624}},
        {"paper critic weights", {1, 1624, 400, 12000, .transpose_a = true}},
        {"paper critic gradient", {1, 12000, 1624, 400, .transpose_b = true}},
        {"paper value head", {.stacks = 1, .m = 12000, .n = 1, .k = 400}},
        {"paper value head weights", {1, 400, 1, 12000, .transpose_a = true}},
        {"paper value head gradient", {1, 12000, 400, 1, .transpose_b = true}},
        {"paper ensemble",
         {10, 800, 400, 400, .stride_a = 800 * 400, .stride_b = 400 * 400, .stride_c = 800 * 400}},
        {"small gru, one step", {.stacks = 1, .m = 16, .n = 768, .k = 512}},
        {"small actor", {.stacks = 1, .m = 512, .n = 256, .k = 832}},
        {"small ensemble",
         {7, 512, 256, 256, .stride_a = 512 * 256, .stride_b = 256 * 256, .stride_c = 512 * 256}},
        {"quick gru, one step", {.stacks = 1, .m = 8, .n = 384, .k = 256}},
        {"quick actor", {.stacks = 1, .m = 128, .n = 128, .k = 384}},
        {"quick actor weights", {1, 384, 128, 128, .transpose_a = true}},
        {"quick ensemble",
         {5, 128, 128, 128, .stride_a = 128 * 128, .stride_b = 128 * 128, .stride_c = 128 * 128}},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        time_product(&shapes[i], rounds, pool);
}

// Six large arrays that the memory-bound kernels share.
enum { NUMBERS = 6 << 20, HIDDEN = 600, CLASSES = 32, MEMBERS = 10, FEATURES = 1624 };

typedef struct arena {
    float *x[6];
    uint8_t *bytes;
    void *workspace;
    wk_pool *pool;
} arena;

static void do_add(arena *a)
{
    wk_cpu_add(NUMBERS, a->x[0], a->x[1], a->x[2], a->pool);
}
static void activation(arena *a, wk_activation act, bool backward_pass)
{
    wk_bias_act p = {1, NUMBERS / 512, 512, 0, act};
    if (backward_pass)
        wk_cpu_bias_act_backward(&p, a->x[0], a->x[1], a->x[2], a->x[3], a->pool);
    else
        wk_cpu_bias_act(&p, a->x[0], a->x[3], a->x[1], a->pool);
}
static void do_elu(arena *a)
{
    activation(a, WK_ELU, false);
}
static void do_elu_backward(arena *a)
{
    activation(a, WK_ELU, true);
}
static void do_tanh(arena *a)
{
    activation(a, WK_TANH, false);
}
static void do_sigmoid(arena *a)
{
    activation(a, WK_SIGMOID, false);
}
static const wk_gru gru_shape = {1, NUMBERS / 1800, HIDDEN, 0, 1e-3f, -1};
static void do_gru(arena *a)
{
    wk_gru_params params = {a->x[3], a->x[3], a->x[3]};
    wk_cpu_gru(&gru_shape, a->x[0], &params, a->x[1], a->x[2], a->x[4], a->x[5], a->pool);
}
static void do_gru_backward(arena *a)
{
    wk_gru_params params = {a->x[3], a->x[3], a->x[3]};
    wk_gru_grads grads = {a->x[3] + 2000, a->x[3] + 4000, a->x[3] + 6000};
    wk_cpu_gru_backward(&gru_shape, a->x[0], &params, a->x[1], a->x[4], a->x[5], a->x[1], a->x[2],
                        a->x[3] + 10000, &grads, a->workspace, a->pool);
}
static const wk_draws bench_draws = {1, 2, 3};
static void do_sample(arena *a)
{
    wk_cpu_sample_onehot(NUMBERS / CLASSES, CLASSES, a->x[0], &bench_draws, a->x[1], a->x[2],
                         a->pool);
}
static void do_sample_backward(arena *a)
{
    wk_cpu_softmax_backward(NUMBERS / CLASSES, CLASSES, a->x[0], a->x[1], a->x[2], a->pool);
}
static void do_kl(arena *a)
{
    wk_cpu_kl(NUMBERS / CLASSES / CLASSES, CLASSES, CLASSES, a->x[0], a->x[1], a->x[2], a->pool);
}
static void do_kl_backward(arena *a)
{
    wk_cpu_kl_backward(NUMBERS / CLASSES / CLASSES, CLASSES, CLASSES, a->x[0], a->x[1], a->x[4],
                       a->x[2], a->x[3], a->pool);
}
static void do_uniform(arena *a)
{
    wk_cpu_uniform(NUMBERS, &bench_draws, 0, 1, a->x[0], a->pool);
}
static void do_truncnorm(arena *a)
{
    wk_cpu_truncated_normal_sample(NUMBERS / 12 / 8, 6, a->x[1], &bench_draws, a->x[2], a->pool);
}
static void do_truncnorm_backward(arena *a)
{
    wk_cpu_truncated_normal_sample_backward(NUMBERS / 12 / 8, 6, a->x[1], &bench_draws,
                                            WK_SAMPLE_EXACT, a->x[2], a->x[3], a->pool);
}
static void do_loss(arena *a)
{
    wk_cpu_half_squared_error(1, NUMBERS / 12288, 12288, a->x[0], a->x[1], 0, a->x[2], a->pool);
}
static void do_loss_backward(arena *a)
{
    wk_cpu_half_squared_error_backward(1, NUMBERS / 12288, 12288, a->x[0], a->x[1], 0, a->x[4],
                                       a->x[2], a->pool);
}
static void do_disagreement(arena *a)
{
    wk_cpu_disagreement(WK_DISAGREEMENT_STD, MEMBERS, NUMBERS / MEMBERS / FEATURES, FEATURES, 50,
                        a->x[0], a->x[1], a->pool);
}
static void do_disagreement_backward(arena *a)
{
    wk_cpu_disagreement_backward(WK_DISAGREEMENT_STD, MEMBERS, NUMBERS / MEMBERS / FEATURES,
                                 FEATURES, 50, a->x[0], a->x[1], a->x[2], a->pool);
}
static void do_return(arena *a)
{
    wk_lambda_return p = {1, 15, NUMBERS / 16, 0.99f, 0.95f};
    wk_cpu_lambda_return(&p, a->x[0], a->x[1], a->x[2], a->pool);
}
static void do_norm_of_gradient(arena *a)
{
    wk_span span = {a->x[0], NUMBERS};
    wk_cpu_global_norm(1, &span, a->x[5], a->pool);
}
static void do_adam(arena *a)
{
    wk_adam p = {3e-4, 0.9, 0.999, 1e-5, 1e-6, 0, 1};
    wk_cpu_adam(&p, NUMBERS, NULL, a->x[0], a->x[1], a->x[2], a->x[4], a->pool);
}
static void do_image(arena *a)
{
    wk_cpu_image_normalise(NUMBERS, a->bytes, a->x[0], a->pool);
}
static void do_column_sums(arena *a)
{
    wk_cpu_column_sums(NUMBERS / 400, 400, 1, a->x[0], a->x[1], a->pool);
}

// A kernel and the bytes it must move, in units of NUMBERS floats.
static const struct {
    const char *name;
    void (*run)(arena *);
    double arrays;
} memory_kernels[] = {
    {"add", do_add, 3},
    {"bias + ELU", do_elu, 2},
    {"bias + ELU backward", do_elu_backward, 3},
    {"bias + tanh", do_tanh, 2},
    {"bias + sigmoid", do_sigmoid, 2},
    {"GRU cell", do_gru, 5.0 / 3},
    {"GRU cell backward", do_gru_backward, 3},
    {"one-hot sample", do_sample, 3},
    {"one-hot sample backward", do_sample_backward, 3},
    {"KL", do_kl, 2},
    {"KL backward", do_kl_backward, 4},
    {"Gaussian loss", do_loss, 2},
    {"Gaussian loss backward", do_loss_backward, 3},
    {"disagreement", do_disagreement, 1},
    {"disagreement backward", do_disagreement_backward, 2},
    {"lambda return", do_return, 3.0 * 15 / 16},
    {"global norm", do_norm_of_gradient, 1},
    {"Adam", do_adam, 7},
    {"image to floats", do_image, 1.25},
    {"column sums", do_column_sums, 1},
    {"uniform fill", do_uniform, 1},
    {"truncated normal sample", do_truncnorm, 3.0 / 16},
    {"truncated normal backward", do_truncnorm_backward, 5.0 / 16},
};

static void bench_memory(int rounds, const char *only, wk_pool *pool)
{
    arena a = {.pool = pool, .bytes = calloc(NUMBERS, 1), .workspace = numbers(1 << 20)};
    if (!a.bytes) exit(1);
    for (int i = 0; i < 6; i++)
        a.x[i] = numbers(NUMBERS);
    float *from = numbers(NUMBERS), *to = numbers(NUMBERS);
    for (size_t k = 0; k < sizeof memory_kernels / sizeof *memory_kernels; k++) {
        if (strncmp(memory_kernels[k].name, only, strlen(only)) != 0) continue;
        for (int i = 0; i < 6; i++) // what a kernel left behind may make the next one's numbers odd
            fill(NUMBERS, a.x[i]);
        double ours = 1e30, copy = 1e30;
        for (int r = 0; r < rounds; r++) {
            double t = seconds(pool);
            wk_cpu_copy(NUMBERS, from, to, pool);
            copy = min(copy, seconds(pool) - t);
            t = seconds(pool);
            memory_kernels[k].run(&a);
            ours = min(ours, seconds(pool) - t);
        }
        double bytes = memory_kernels[k].arrays * NUMBERS * sizeof(float);
        double same = copy * memory_kernels[k].arrays / 2;
        printf("%-26s %.2f ms, %.1f GB/s; a copy of the same bytes %.2f ms; %.2f times\n",
               memory_kernels[k].name, ours * 1e3, bytes / ours * 1e-9, same * 1e3, ours / same);
        fflush(stdout);
    }
    for (int i = 0; i < 6; i++)
        free(a.x[i]);
    free(from), free(to), free(a.bytes), free(a.workspace);
}

int main(int argc, char **argv)
{
    bool conv = argc >= 5 && !strcmp(argv[1], "conv");
    bool dense = argc >= 3 && !strcmp(argv[1], "dense");
    bool memory = argc >= 3 && !strcmp(argv[1], "memory");
    if (!conv && !dense && !memory) {
        fprintf(stderr, "usage: bench_kernels conv DEPTH BATCH THREADS [ROUNDS]\n"
                        "       bench_kernels dense THREADS [ROUNDS]\n"
                        "       bench_kernels memory THREADS [ROUNDS [NAME]]\n");
        return 2;
    }
    int at = conv ? 4 : 2, rounds = argc > at + 1 ? atoi(argv[at + 1]) : 5;
    wk_pool *pool = NULL;
    wk_error err = {0};
    if (wk_pool_create(atoi(argv[at]), &pool, &err) != WK_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (conv) bench_conv((size_t)atoi(argv[2]), (size_t)atoi(argv[3]), rounds, pool);
    if (dense) bench_dense(rounds, pool);
    if (memory) bench_memory(rounds, argc > 4 ? argv[4] : "", pool);
    wk_pool_destroy(pool);
    return 0;
}
