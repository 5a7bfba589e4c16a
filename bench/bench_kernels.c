// Times of the CPU kernels at the presets' shapes, each beside what bounds it: a bare OpenBLAS call
// for matrix products, a copy of the same bytes for what memory bounds. The two are measured
// interleaved and the minimum of several rounds is kept, so that a busy machine disturbs both
// alike.
//
// usage: bench_kernels conv DEPTH BATCH THREADS | dense THREADS | memory THREADS
#include "base/clock.h"
#include "base/pool.h"
#include "tensor/cpu/kernels.h"
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *numbers(size_t n)
{
    float *x = aligned_alloc(64, (n * sizeof *x + 63) / 64 * 64);
    if (!x) {
        fprintf(stderr, "no memory for %zu numbers\n", n);
        exit(1);
    }
    wk_draws draws = {.key = n, .substream = 1};
    wk_cpu_uniform(n, &draws, -0.1f, 0.1f, x, NULL);
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
    wk_cpu_bias_act_backward(&shape, l->out, l->dout, l->dout, l->dbias, false, pool);
    const float *large = l->transposed ? l->dout : l->in, *small = l->transposed ? l->in : l->dout;
    wk_cpu_conv_weights(&l->p, large, small, l->dw, false, workspace, pool);
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
        double start = wk_clock_seconds();
        for (int i = 0; i < 4; i++) {
            double t = wk_clock_seconds();
            forward(&layers[i], workspace, pool);
            t = wk_clock_seconds() - t;
            each[i][0] = t < each[i][0] ? t : each[i][0];
        }
        for (int i = 3; i >= 0; i--) {
            double t = wk_clock_seconds();
            backward(&layers[i], workspace, pool);
            t = wk_clock_seconds() - t;
            each[i][1] = t < each[i][1] ? t : each[i][1];
        }
        double t = wk_clock_seconds() - start;
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

int main(int argc, char **argv)
{
    wk_pool *pool = NULL;
    wk_error err = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: bench_kernels conv DEPTH BATCH THREADS [ROUNDS]\n");
        return 2;
    }
    if (!strcmp(argv[1], "conv") && argc >= 5) {
        if (wk_pool_create(atoi(argv[4]), &pool, &err) != WK_OK) return 1;
        bench_conv((size_t)atoi(argv[2]), (size_t)atoi(argv[3]), argc > 5 ? atoi(argv[5]) : 5,
                   pool);
    }
    wk_pool_destroy(pool);
    return 0;
}
