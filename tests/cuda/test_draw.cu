// The layer, logits and sample of hopper_draw.cuh against sums taken one by one: the layer against
// its formula, probabilities and draws against those of the layer's own results. Nothing outside
// the results is written, and a second run gives the same bytes. Exit code 77 (skipped) on anything
// but compute capability 9.0.
#include "support/device_memory.cuh"
#include "tensor/cuda/hopper_draw.cuh"

#include <cmath>
#include <cstdio>
#include <cstring>

typedef struct check {
    const char *name;
    size_t m, k, units, groups;
    bool keep, features, known;
} check;

static const check CHECKS[] = {
    {"paper's prior", 800, 600, 600, 32, true, true, true},
    {"paper's prior, weights not known, nothing kept", 800, 600, 600, 32, false, false, false},
    {"one row", 1, 8, 8, 4, true, true, true},
    {"one row more than a tile", 65, 256, 128, 24, true, true, false},
    {"fewer blocks of the layer than of variables", 130, 72, 40, 32, true, false, true},
    {"fewer variables than blocks of the layer", 63, 1000, 600, 4, true, true, true},
};

enum { CLASSES = WK_DRAW_CLASSES };
static const uint64_t KEY = 0x1234567890abcdefu, COUNTER = 77;

__global__ void round_all(const float *x, size_t n, float by, __nv_bfloat16 *half)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += gridDim.x * blockDim.x)
        half[i] = __float2bfloat16_rn(x[i] * by);
}

// out = x w + bias of bf16 operands, ELU of it where asked for.
__global__ void reference(size_t m, size_t k, size_t n, const __nv_bfloat16 *x,
                          const __nv_bfloat16 *w, const float *bias, bool elu, float *out)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < m * n;
         i += gridDim.x * blockDim.x) {
        double sum = bias[i % n];
        for (size_t t = 0; t < k; t++)
            sum += (double)__bfloat162float(x[i / n * k + t]) *
                   (double)__bfloat162float(w[t * n + i % n]);
        out[i] = (float)(elu && sum < 0 ? expm1(sum) : sum);
    }
}

static const __nv_bfloat16 *noise_of(size_t n, float by, unsigned seed)
{
    float *x = new_float(n, seed);
    __nv_bfloat16 *half = new_half(n, seed);
    round_all<<<256, 256>>>(x, n, by, half);
    cudaFree(x);
    return half;
}

static float value(const unsigned char *bytes)
{
    unsigned short low;
    memcpy(&low, bytes, 2);
    unsigned bits = (unsigned)low << 16;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

// What a run leaves, guards included.
struct results {
    std::vector<unsigned char> y, onehot, probs, features;

    bool operator==(const results &o) const
    {
        return y == o.y && onehot == o.onehot && probs == o.probs && features == o.features;
    }
};

// The layer's results are rounded once, and its ELU is exact to 5e-4.
static int layer_errors(const check *k, const results &r, const float *device)
{
    std::vector<float> expected(k->m * k->units);
    cudaMemcpy(expected.data(), device, expected.size() * 4, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        double error = fabs((double)value(&r.y[GUARD + 2 * i]) - expected[i]);
        if (!(error <= 1e-5 * sqrt((double)k->k) + 0.0045 * fabs(expected[i]))) wrong++;
    }
    return wrong;
}

// A variable's probabilities and the class drawn from them. Sums of float32 leave 1e-5 open.
static bool variable_is_right(const float *logits, const unsigned char *probs,
                              const unsigned char *onehot, double u)
{
    double max = logits[0], total = 0, below = 0;
    for (int i = 1; i < CLASSES; i++)
        max = fmax(max, logits[i]);
    for (int i = 0; i < CLASSES; i++)
        total += exp(logits[i] - max);
    int ones = 0;
    for (int i = 0; i < CLASSES; i++) {
        float got;
        double p = exp(logits[i] - max) / total;
        memcpy(&got, probs + 4 * i, 4);
        if (!(fabs(got - p) <= 1e-5 + 1e-4 * p)) return false;
        float one = value(onehot + 2 * i);
        if (one != 0 && one != 1) return false;
        if (one == 1 && (u < below - 1e-4 || u > below + p + 1e-4)) return false;
        ones += one == 1;
        below += p;
    }
    return ones == 1;
}

static int draw_errors(const check *k, const results &r, const float *device)
{
    std::vector<float> logits(k->m * k->groups * CLASSES);
    cudaMemcpy(logits.data(), device, logits.size() * 4, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (size_t i = 0; i < k->m * k->groups; i++) {
        double u = wk_unit_float(wk_philox_at(KEY, COUNTER, i / 4).v[i % 4]);
        size_t at = i * CLASSES;
        wrong +=
            !variable_is_right(&logits[at], &r.probs[GUARD + 4 * at], &r.onehot[GUARD + 2 * at], u);
    }
    return wrong;
}

// Rows of the features are the sample and x.
static int feature_errors(const check *k, const results &r, const __nv_bfloat16 *x)
{
    std::vector<unsigned char> rows(k->m * k->k * 2);
    cudaMemcpy(rows.data(), x, rows.size(), cudaMemcpyDeviceToHost);
    size_t flat = k->groups * CLASSES * 2, wide = k->k * 2;
    int wrong = 0;
    for (size_t i = 0; i < k->m; i++) {
        const unsigned char *row = &r.features[GUARD + i * (flat + wide)];
        wrong += memcmp(row, &r.onehot[GUARD + i * flat], flat) != 0 ||
                 memcmp(row + flat, &rows[i * wide], wide) != 0;
    }
    return wrong;
}

// Operands and sizes; the results' places are the caller's.
static wk_hopper_draw new_draw(const check *k, const void *counter)
{
    size_t flat = k->groups * CLASSES;
    wk_hopper_draw p = {};
    p.m = k->m;
    p.k = p.row_x = k->k;
    p.units = k->units;
    p.groups = k->groups;
    p.x = noise_of(k->m * k->k, 1, 1);
    p.hidden = {noise_of(k->k * k->units, sqrtf(3.0f / (float)k->k), 2), k->units, 0,
                new_float(k->units, 3), 0};
    p.out = {noise_of(k->units * flat, 3 / sqrtf((float)k->units), 4), flat, 0, new_float(flat, 5),
             0};
    p.key = KEY;
    p.counter = counter;
    p.known = k->known;
    return p;
}

static void delete_draw(const wk_hopper_draw *p)
{
    for (const void *x :
         {(const void *)p->x, (const void *)p->hidden.w, (const void *)p->hidden.bias,
          (const void *)p->out.w, (const void *)p->out.bias, p->counter})
        cudaFree((void *)x);
}

static int run(const wk_cuda_call *call, const check *k)
{
    size_t flat = k->groups * CLASSES;
    guarded<__nv_bfloat16> y(k->m * k->units), onehot(k->m * flat), features(k->m * (flat + k->k));
    guarded<float> probs(k->m * flat), layer(k->m * k->units), logits(k->m * flat);
    uint64_t *counter = NULL;
    cudaMalloc(&counter, sizeof *counter);
    cudaMemcpy(counter, &COUNTER, sizeof COUNTER, cudaMemcpyHostToDevice);
    wk_hopper_draw p = new_draw(k, counter);
    p.y = k->keep ? y.data() : NULL;
    p.onehot = onehot.data();
    p.probs = probs.data();
    p.features = k->features ? features.data() : NULL;
    cudaDeviceSynchronize();
    results now[2];
    for (results &r : now) {
        y.clear();
        onehot.clear();
        features.clear();
        probs.clear();
        bool ok = wk_hopper_run_draw(call, &p);
        cudaError_t error = cudaDeviceSynchronize();
        if (!ok || error) {
            printf("FAILED %s: %s\n", k->name, ok ? cudaGetErrorString(error) : "refused");
            return 1;
        }
        r = {y.read(), onehot.read(), probs.read(), features.read()};
    }
    int layers = 0, draws = 0, copies = 0;
    reference<<<1024, 256>>>(k->m, k->k, k->units, p.x, p.hidden.w, p.hidden.bias, true,
                             layer.data());
    if (k->keep) {
        layers = layer_errors(k, now[0], layer.data());
        reference<<<1024, 256>>>(k->m, k->units, flat, p.y, p.out.w, p.out.bias, false,
                                 logits.data());
        draws = draw_errors(k, now[0], logits.data());
    }
    if (k->features) copies = feature_errors(k, now[0], p.x);
    bool guards = y.guards_hold(now[0].y) && onehot.guards_hold(now[0].onehot) &&
                  probs.guards_hold(now[0].probs) && features.guards_hold(now[0].features);
    bool same = now[0] == now[1], good = !layers && !draws && !copies && guards && same;
    printf("%s %s: wrong are %d of the layer, %d variables, %d rows of features%s%s\n",
           good ? "ok" : "FAILED", k->name, layers, draws, copies, guards ? "" : ", wrote outside",
           same ? "" : ", not the same again");
    delete_draw(&p);
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
