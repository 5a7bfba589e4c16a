// Times the own matrix products of src/tensor/cuda/hopper/gemm.cuh, bias and activation or slope
// included, in every shape of tile, against cuBLAS' bare products, at the sizes of the updates of
// `paper` and `small`.
//
//     bench_gemm [REPEATS [PART]]    # only products whose names have this part
#include "tensor/cuda/hopper/gemm.cuh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

typedef struct shape {
    const char *name;
    size_t stacks, m, n, k, k2;
    bool transpose_b, reduce, shared_a;
} shape;

static const shape SHAPES[] = {
    {"ensemble 1", 10, 12000, 400, 1632, 0, false, false, true},
    {"ensemble 2-4", 10, 12000, 400, 400, 0, false, false, false},
    {"ensemble 5", 10, 12000, 1624, 400, 0, false, false, false},
    {"ensemble 5 back", 10, 12000, 400, 1624, 0, true, false, false},
    {"ensemble 2-4 back", 10, 12000, 400, 400, 0, true, false, false},
    {"ensemble 1 back, summed", 10, 12000, 1632, 400, 0, true, true, false},
    {"actor 1, all steps", 1, 12000, 400, 1624, 0, false, false, false},
    {"actor 2, all steps", 1, 12000, 400, 400, 0, false, false, false},
    {"actor 2 back", 1, 12000, 400, 400, 0, true, false, false},
    {"critic 1 back", 1, 12800, 1624, 400, 0, true, false, false},
    {"five actors 2, all steps", 5, 12000, 400, 400, 0, false, false, false},
    {"five actors 2 back", 5, 12000, 400, 400, 0, true, false, false},
    {"actor 1, a step", 1, 800, 400, 1624, 0, false, false, false},
    {"actor 2, a step", 1, 800, 400, 400, 0, false, false, false},
    {"input, a step", 1, 800, 600, 1024, 0, false, false, false},
    {"gates, a step, two terms", 1, 800, 1800, 600, 600, false, false, false},
    {"prior 1, a step", 1, 800, 600, 600, 0, false, false, false},
    {"prior 2, a step", 1, 800, 1024, 600, 0, false, false, false},
    {"gates back, a step", 1, 800, 600, 1800, 0, true, false, false},
    {"prior 2 back, a step", 1, 800, 600, 1024, 0, true, false, false},
    {"input back, a step", 1, 800, 1024, 600, 0, true, false, false},
    {"five actors 1, a step", 5, 800, 400, 1624, 0, false, false, false},
    {"five actors 2, a step", 5, 800, 400, 400, 0, false, false, false},
    {"gates of five, two terms", 1, 4000, 1800, 600, 600, false, false, false},
    {"prior 1 of five", 1, 4000, 600, 600, 0, false, false, false},
    {"gates back of five", 1, 4000, 600, 1800, 0, true, false, false},
    {"ensemble training 2", 10, 784, 400, 400, 0, false, false, false},
    {"ensemble training 5", 10, 784, 1624, 400, 0, false, false, false},
    {"small ensemble 1", 7, 6144, 256, 840, 0, false, false, true},
    {"small ensemble 2-3", 7, 6144, 256, 256, 0, false, false, false},
    {"small ensemble 2-3 back", 7, 6144, 256, 256, 0, true, false, false},
    {"small ensemble 4 back", 7, 6144, 256, 832, 0, true, false, false},
    {"small ensemble 1 back, sum", 7, 6144, 840, 256, 0, true, true, false},
    {"small actor 1, all steps", 1, 6144, 256, 832, 0, false, false, false},
    {"small actor 2, all steps", 1, 6144, 256, 256, 0, false, false, false},
    {"small actor 1, a step", 1, 512, 256, 832, 0, false, false, false},
    {"small actor 2, a step", 1, 512, 256, 256, 0, false, false, false},
    {"small training 2", 7, 496, 256, 256, 0, false, false, false},
};

static __nv_bfloat16 *bf16_memory(size_t n)
{
    __nv_bfloat16 *x = NULL;
    cudaMalloc(&x, n * sizeof *x);
    cudaMemset(x, 0, n * sizeof *x);
    return x;
}

// Microseconds of one of `repeats` launches captured into a graph; negative on failure.
static double time_of(cudaStream_t stream, int repeats, const std::function<bool()> &launch)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    bool ok = true;
    for (int i = 0; i < repeats; i++)
        ok = launch() && ok;
    cudaStreamEndCapture(stream, &graph);
    if (!ok || cudaGraphInstantiate(&exec, graph, 0)) return -1;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    double best = 1e30;
    for (int i = 0; i < 5; i++) {
        cudaEventRecord(begin, stream);
        cudaGraphLaunch(exec, stream);
        cudaEventRecord(end, stream);
        if (cudaStreamSynchronize(stream)) return -1;
        float ms = 0;
        cudaEventElapsedTime(&ms, begin, end);
        if (ms * 1e3 / repeats < best) best = ms * 1e3 / repeats;
    }
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return best;
}

typedef struct data {
    __nv_bfloat16 *a, *b, *a2, *b2, *y, *out;
    float *bias;
} data;

static data make(const shape *s)
{
    data d = {};
    d.a = bf16_memory((s->shared_a ? 1 : s->stacks) * s->m * s->k);
    d.b = bf16_memory(s->stacks * s->k * s->n);
    d.a2 = bf16_memory(s->m * s->k2 + 8);
    d.b2 = bf16_memory(s->k2 * s->n + 8);
    d.y = bf16_memory(s->stacks * s->m * s->n);
    d.out = bf16_memory(2 * s->stacks * s->m * s->n);
    cudaMalloc(&d.bias, s->stacks * s->n * sizeof *d.bias);
    cudaMemset(d.bias, 0, s->stacks * s->n * sizeof *d.bias);
    return d;
}

static void forget(data *d)
{
    void *all[] = {d->a, d->b, d->a2, d->b2, d->y, d->out, d->bias};
    for (void *x : all)
        cudaFree(x);
}

static wk_hopper_product product_of(const shape *s, const data *d)
{
    wk_hopper_product p = {};
    size_t row_b = s->transpose_b ? s->k : s->n;
    bool stack = s->stacks > 1;
    p.stacks = s->stacks;
    p.m = s->m;
    p.n = s->n;
    p.transpose_b = s->transpose_b;
    p.reduce = s->reduce;
    p.term[p.terms++] = {wk_ptr<const __nv_bfloat16>(d->a),
                         wk_ptr<const __nv_bfloat16>(d->b),
                         s->k,
                         s->k,
                         row_b,
                         stack && !s->shared_a ? s->m * s->k : 0,
                         stack ? s->k * s->n : 0};
    if (s->k2)
        p.term[p.terms++] = {wk_ptr<const __nv_bfloat16>(d->a2),
                             wk_ptr<const __nv_bfloat16>(d->b2),
                             s->k2,
                             s->k2,
                             s->n,
                             0,
                             0};
    if (s->reduce || s->k2) {
        p.out.x.base = (float *)d->out;
        return p;
    }
    p.out.bf16.base = d->out;
    if (s->transpose_b) {
        p.slope = WK_ELU;
        p.y.bf16.base = d->y;
    } else {
        p.bias.base = d->bias;
        p.stride_bias = s->n;
        p.activation = WK_ELU;
    }
    return p;
}

static bool by_cublas(cublasHandle_t blas, const shape *s, const data *d)
{
    float one = 1, zero = 0;
    cudaDataType out = s->reduce || s->k2 ? CUDA_R_32F : CUDA_R_16BF;
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        blas, s->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, (int)s->n, (int)s->m,
        (int)s->k, &one, d->b, CUDA_R_16BF, (int)(s->transpose_b ? s->k : s->n),
        (long long)(s->k * s->n), d->a, CUDA_R_16BF, (int)s->k,
        (long long)(s->shared_a ? 0 : s->m * s->k), &zero, d->out, out, (int)s->n,
        (long long)(s->reduce ? 0 : s->m * s->n), (int)(s->reduce ? 1 : s->stacks),
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (!status && s->k2)
        status =
            cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, (int)s->n, (int)s->m, (int)s->k2, &one,
                         d->b2, CUDA_R_16BF, (int)s->n, d->a2, CUDA_R_16BF, (int)s->k2, &one,
                         d->out, out, (int)s->n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    return !status;
}

static void measure(const shape *s, int repeats, cudaStream_t stream, cublasHandle_t blas)
{
    data d = make(s);
    wk_cuda_call call = {};
    call.stream = stream;
    call.precision = WK_CUDA_BF16;
    call.programmatic = true;
    call.members = 1;
    (void)cudaDeviceGetAttribute(&call.processors, cudaDevAttrMultiProcessorCount, 0);
    double work = 2e-6 * (double)(s->stacks * s->m * s->n) * (double)(s->k + s->k2);
    printf("%-26s", s->name);
    bool small =
        s->k <= WK_RESIDENT_TERMS_MAX && s->n <= WK_RESIDENT_COLUMNS_MAX && !s->k2 && !s->reduce;
    const wk_gemm_sizes z = {s->stacks, s->m, s->n, {s->k, s->k2}, s->reduce, small};
    for (int tile = WK_TILE_NONE; tile < WK_TILE_COUNT; tile++) {
        wk_hopper_product p = product_of(s, &d);
        p.tile = tile ? (wk_gemm_tile)tile : wk_gemm_choose_tile(&z, call.processors);
        double us = -1;
        if (tile != WK_TILE_RESIDENT || small)
            us = time_of(stream, repeats, [&] { return wk_hopper_multiply(&call, &p); });
        if (us > 0)
            printf(" %8.2f (%3.0f)", us, work / us);
        else
            printf(" %14s", "-");
    }
    // A sum over a stack, as one product as large.
    shape plain = *s;
    if (s->reduce) {
        plain.k *= s->stacks;
        plain.stacks = 1;
    }
    double us = time_of(stream, repeats, [&] { return by_cublas(blas, &plain, &d); });
    printf(" | %8.2f (%3.0f)\n", us, work / us);
    forget(&d);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 20;
    cudaStream_t stream = NULL;
    cublasHandle_t blas = NULL;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) || cublasCreate(&blas) ||
        cublasSetStream(blas, stream)) {
        printf("no GPU can be used\n");
        return 1;
    }
    void *workspace = NULL;
    cudaMalloc(&workspace, 32 << 20);
    cublasSetWorkspace(blas, workspace, 32 << 20);
    const char *tiles[WK_TILE_COUNT] = {"chosen",  "128x208", "64x208", "64x80",
                                        "128x256", "128x128", "64x128", "stays"};
    printf("%-26s", "us (TFLOP/s)");
    for (const char *tile : tiles)
        printf(" %14s", tile);
    printf(" | %14s\n", "cuBLAS, bare");
    for (const shape &s : SHAPES)
        if (argc < 3 || strstr(s.name, argv[2])) measure(&s, repeats, stream, blas);
    return 0;
}
