// The perceptron of hopper_layers.cuh against layers taken one by one, and its actions against the
// formula at its own choices: presets' sizes, stacks, ragged rows, one layer. Nothing outside the
// results is written, and a second run gives the same bytes. Exit code 77 (skipped) on anything but
// compute capability 9.0.
#include "support/device_memory.cuh"
#include "tensor/cuda/hopper_layers.cuh"
#include "tensor/truncated.h"

#include <cmath>
#include <cstdio>
#include <cstring>

typedef struct check {
    const char *name;
    size_t stacks, m, k, units;
    int layers;
    size_t results;
    bool shared_x, action, known;
} check;

static const check CHECKS[] = {
    {"paper's actor", 1, 800, 1624, 400, 4, 12, false, true, true},
    {"paper's actor, weights not known", 1, 800, 1624, 400, 4, 12, false, true, false},
    {"small's actor", 1, 400, 1224, 256, 3, 12, false, true, true},
    {"quick's actor", 1, 100, 328, 128, 2, 12, false, true, true},
    {"three policies of the same rows", 3, 130, 1624, 400, 4, 16, true, true, true},
    {"two policies", 2, 65, 600, 400, 3, 8, false, true, false},
    {"a value, one layer", 1, 63, 72, 400, 1, 1, false, false, true},
    {"one row, one block", 1, 1, 8, 16, 2, 2, false, true, true},
    {"more terms than the ring, ragged", 1, 64, 1000, 80, 4, 5, false, false, true},
};

enum { MOST_RESULTS = 16 };

// A layer of the reference, rounded as its results are; the head is not.
__global__ void reference_layer(size_t stacks, size_t m, size_t k, size_t n, const float *x,
                                size_t stride_x, const float *w, const float *bias, bool head,
                                float *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < stacks * m * n;
         i += gridDim.x * blockDim.x) {
        size_t s = i / (m * n), row = i / n % m, col = i % n;
        double sum = bias[s * n + col];
        for (size_t t = 0; t < k; t++)
            sum += (double)x[s * stride_x + row * k + t] *
                   (double)__bfloat162float(__float2bfloat16_rn(w[(s * k + t) * n + col]));
        if (!head) sum = __bfloat162float(__float2bfloat16_rn((float)(sum > 0 ? sum : expm1(sum))));
        out[i] = (float)sum;
    }
}

__global__ void round_all(const float *x, size_t n, __nv_bfloat16 *half, float *rounded)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x) {
        half[i] = __float2bfloat16_rn(x[i]);
        rounded[i] = __bfloat162float(half[i]);
    }
}

// Keeps the size of results about the same from layer to layer.
__global__ void scale_all(float *x, size_t n, float by)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        x[i] *= by;
}

__global__ void reference_actions(size_t count, size_t dims, const float *choice, uint64_t key,
                                  const uint64_t *counter, float *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        const float *of = choice + i / dims * 2 * dims + i % dims;
        uint32_t word = wk_random_word(key, *counter, (unsigned)i);
        out[i] = wk_truncated_sample(wk_truncated_of(of[0], of[dims]), wk_unit_float(word));
    }
}

// What a check allocates.
static std::vector<void *> allocated;

template <class T> static T *keep(T *x)
{
    allocated.push_back((void *)x);
    return x;
}

template <class T> static T *memory(size_t n)
{
    T *x = NULL;
    cudaMalloc(&x, n * sizeof *x);
    return keep(x);
}

static float *scaled(size_t n, float by, unsigned seed)
{
    float *x = keep(new_float(n, seed));
    scale_all<<<256, 256>>>(x, n, by);
    return x;
}

// Weights in both forms.
static const __nv_bfloat16 *halves_of(const float *x, size_t n, float **rounded)
{
    __nv_bfloat16 *half = memory<__nv_bfloat16>(n);
    *rounded = memory<float>(n);
    round_all<<<256, 256>>>(x, n, half, *rounded);
    return half;
}

// Fills in the layers, and the choices they must give.
static wk_hopper_layers new_layers(const check *k, float *expected)
{
    wk_hopper_layers l = {};
    l.stacks = k->stacks;
    l.m = k->m;
    l.k = l.row_x = k->k;
    l.units = k->units;
    l.count = k->layers;
    l.results = k->results;
    size_t rows = (k->shared_x ? 1 : k->stacks) * k->m, terms = k->k;
    float *x = NULL;
    l.x = halves_of(keep(new_float(rows * k->k, 1)), rows * k->k, &x);
    size_t stride = k->shared_x ? 0 : k->m * k->k;
    l.stride_x = k->stacks > 1 ? stride : 0;
    for (int i = 0; i <= k->layers; i++) {
        bool head = i == k->layers;
        size_t n = head ? k->results : k->units;
        float *w = scaled(k->stacks * terms * n, sqrtf(3.0f / (float)terms), 10 + (unsigned)i);
        float *bias = scaled(k->stacks * n, 0.5f, 20 + (unsigned)i), *rounded = NULL;
        float *out = head ? expected : memory<float>(k->stacks * k->m * n);
        reference_layer<<<1024, 256>>>(k->stacks, k->m, terms, n, x, stride, w, bias, head, out);
        if (head) {
            l.head = w;
            l.head_bias = bias;
            l.stride_head = terms * n;
            l.stride_head_bias = n;
        } else {
            l.layer[i] = {halves_of(w, k->stacks * terms * n, &rounded), n,
                          k->stacks > 1 ? terms * n : 0, bias, n};
        }
        x = out;
        terms = n;
        stride = k->m * n;
    }
    return l;
}

// The kernel's ELU is within 5e-4, an eighth of a rounding step, so one unit in eight may fall on
// the other side of a boundary and be 2^-8 of itself off. Units are about 0.7 and weights
// 1 / sqrt(units): a layer adds 2^-8 * 0.7 / sqrt(8) = 0.001 to a choice, four layers twice that,
// and the worst of ten thousand is four times as far off. Choices are about 1.
static const double ALLOWED = 0.008;

// The reference's multiplications and additions may round together.
static const double ALLOWED_ACTION = 1e-5;

static double worst(const std::vector<unsigned char> &all, const float *reference, size_t n)
{
    std::vector<float> expected(n), got(n);
    cudaMemcpy(expected.data(), reference, n * sizeof(float), cudaMemcpyDeviceToHost);
    memcpy(got.data(), all.data() + GUARD, n * sizeof(float));
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - expected[i]);
        if (!(error <= most)) most = error;
    }
    return most;
}

static int run(const wk_cuda_call *call, const check *k)
{
    size_t choices = k->stacks * k->m * k->results, actions = k->action ? choices / 2 : 0;
    guarded<float> choice(choices), action(actions);
    float *expected = memory<float>(choices), *drawn = memory<float>(actions + 1);
    wk_hopper_layers l = new_layers(k, expected);
    uint64_t number = 12345;
    uint64_t *counter = memory<uint64_t>(1);
    cudaMemcpy(counter, &number, sizeof number, cudaMemcpyHostToDevice);
    l.choice = choice.data();
    l.action = k->action ? action.data() : NULL;
    l.key = 0x1234567890abcdefu;
    l.counter = counter;
    l.known = k->known;
    cudaDeviceSynchronize();
    std::vector<unsigned char> first[2];
    bool same = true;
    for (int i = 0; i < 2; i++) {
        choice.clear();
        action.clear();
        bool ok = wk_hopper_run_layers(call, &l);
        cudaError_t error = cudaDeviceSynchronize();
        if (!ok || error) {
            printf("FAILED %s: %s\n", k->name, ok ? cudaGetErrorString(error) : "refused");
            return 1;
        }
        std::vector<unsigned char> now[2] = {choice.read(), action.read()};
        if (i == 1) same = now[0] == first[0] && now[1] == first[1];
        first[0] = now[0];
        first[1] = now[1];
    }
    if (k->action)
        reference_actions<<<256, 256>>>(actions, k->results / 2, choice.data(), l.key, counter,
                                        drawn);
    double error = worst(first[0], expected, choices), off = worst(first[1], drawn, actions);
    bool guards = choice.guards_hold(first[0]) && action.guards_hold(first[1]);
    for (void *x : allocated)
        cudaFree(x);
    allocated.clear();
    bool good = error <= ALLOWED && off <= ALLOWED_ACTION && guards && same;
    printf("%s %s: choices off by %.5f of %.5f, actions by %g%s%s\n", good ? "ok" : "FAILED",
           k->name, error, ALLOWED, off, guards ? "" : ", wrote outside",
           same ? "" : ", not the same again");
    return good ? 0 : 1;
}

int main(void)
{
    wk_cuda_call call = {};
    if (!hopper_call(&call)) return 77;
    int failures = 0;
    for (const check &k : CHECKS)
        failures += run(&call, &k);
    printf("%d failed\n", failures);
    return failures ? 1 : 0;
}
