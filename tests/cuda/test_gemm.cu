// The products of gemm.cuh against sums taken one by one: stacks, ragged sizes, all that happens
// to a result, every shape of tile. Nothing outside the result is written, and a second run and
// every other shape give the same bytes. Exit code 77 (skipped) on anything but compute
// capability 9.0.
//
//     test_cuda_product [PART]    # only checks whose names have this part
#include "support/device_memory.cuh"
#include "tensor/cuda/hopper/gemm.cuh"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

typedef struct check {
    const char *name;
    size_t stacks, m, n, k, k2;
    bool transpose_b, reduce, shared_a, shared_b;
    bool bias, add, elu, slope, slope_in_bf16;
    bool f32, bf16; // formats of the result
} check;

// Every part at once, then sizes at the edges.
static const check CHECKS[] = {
    {"stack with bias and elu", 3, 300, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"shared rows, ragged sum", 4, 1000, 400, 1630, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1},
    {"wide with bias", 2, 700, 1624, 400, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1},
    {"slope of bf16", 3, 777, 400, 400, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"slope of float, both forms", 1, 801, 600, 1024, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1},
    {"summed over the stack, ragged", 10, 500, 1630, 400, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"summed, with slope", 5, 500, 608, 400, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"two terms", 1, 800, 1800, 600, 200, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
    {"two terms and an addend", 2, 90, 96, 600, 1624, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1},
    {"elu in both forms", 1, 800, 600, 600, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1},
    {"many tiles", 2, 12000, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"many tiles of shared weights", 1, 20000, 400, 80, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0},
    {"one row", 1, 1, 8, 8, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0},
    {"one row more than a tile", 1, 65, 88, 72, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1},
    {"two columns", 1, 129, 2, 64, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"256 columns, elu", 7, 1500, 256, 256, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"256 columns, slope", 7, 1500, 256, 256, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"256 columns, bias, shared rows", 7, 1500, 256, 838, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1},
    {"256 columns, float32, an addend", 3, 6001, 256, 100, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0},
    {"256 columns, slope of float", 3, 1500, 256, 256, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1},
    {"838 columns, summed", 7, 1500, 838, 256, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0},
    {"264 columns, elu", 2, 257, 264, 72, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"264 columns, slope, one block", 2, 257, 264, 40, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"120 columns, bias, transposed", 5, 3001, 120, 65, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1},
    {"136 columns, slope", 9, 3001, 136, 130, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"stays, one tile", 1, 40, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, one tile, slope", 1, 64, 400, 400, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"stays, one number", 1, 1, 8, 8, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, fewer tiles than clusters", 3, 777, 400, 400, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1},
    {"stays, two tiles a cluster", 1, 8001, 416, 400, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, a member a tile", 170, 33, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, a member a tile, slope", 170, 33, 400, 400, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"stays, two tiles a member", 100, 100, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, members change", 10, 1999, 400, 400, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, members change, slope", 7, 3001, 400, 400, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"stays, whole blocks of terms", 3, 2000, 400, 384, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, 350 terms", 5, 1500, 328, 350, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1},
    {"stays, 350 terms, slope", 5, 1500, 328, 350, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1},
    {"stays, 363 terms", 5, 1500, 216, 363, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, 363 terms, transposed", 5, 1500, 216, 363, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1},
    {"stays, 70 terms, shared weights", 9, 1234, 64, 70, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 1},
    {"stays, 33 terms, shared rows", 4, 5000, 200, 33, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1},
};

static __device__ double product_at(wk_hopper_term t, bool transposed, size_t s, size_t row,
                                    size_t col)
{
    const __nv_bfloat16 *a = t.a + s * t.stride_a + row * t.row_a, *b = t.b + s * t.stride_b;
    double sum = 0;
    for (size_t i = 0; i < t.k; i++)
        sum += (double)__bfloat162float(a[i]) *
               (double)__bfloat162float(transposed ? b[col * t.row_b + i] : b[i * t.row_b + col]);
    return sum;
}

__global__ void expect(wk_hopper_product p, float *out)
{
    size_t stacks = p.reduce ? 1 : p.stacks, count = stacks * p.m * p.n;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
         i += gridDim.x * blockDim.x) {
        size_t s = i / (p.m * p.n), row = i / p.n % p.m, col = i % p.n;
        double v = 0;
        for (int t = 0; t < p.terms; t++)
            for (size_t k = 0; k < (p.reduce ? p.stacks : 1); k++)
                v += product_at(p.term[t], p.transpose_b, p.reduce ? k : s, row, col);
        if (p.bias) v += p.bias[s * p.stride_bias + col];
        if (p.add) v += p.add[i];
        if (p.activation == WK_ELU && v < 0) v = expm1(v);
        if (p.slope == WK_ELU) {
            float y = p.y[i];
            v *= y > 0 ? 1 : y + 1;
        }
        out[i] = (float)v;
    }
}

static size_t whole_row(size_t n)
{
    return (n + 7) / 8 * 8;
}

static wk_hopper_term new_term(const check *k, size_t terms, unsigned seed)
{
    wk_hopper_term t = {};
    t.k = terms;
    t.row_a = whole_row(terms);
    t.row_b = whole_row(k->transpose_b ? terms : k->n);
    size_t a = k->m * t.row_a, b = (k->transpose_b ? k->n : terms) * t.row_b;
    t.stride_a = k->shared_a || k->stacks == 1 ? 0 : a;
    t.stride_b = k->shared_b || k->stacks == 1 ? 0 : b;
    t.a.base = new_bf16(k->stacks * a, seed);
    t.b.base = new_bf16(k->stacks * b, seed + 1);
    return t;
}

static wk_hopper_product new_product(const check *k)
{
    wk_hopper_product p = {};
    size_t stacks = k->reduce ? 1 : k->stacks, count = stacks * k->m * k->n;
    p.stacks = k->stacks;
    p.m = k->m;
    p.n = k->n;
    p.term[p.terms++] = new_term(k, k->k, 1);
    if (k->k2) p.term[p.terms++] = new_term(k, k->k2, 3);
    p.transpose_b = k->transpose_b;
    p.reduce = k->reduce;
    if (k->bias) {
        p.bias.base = new_float(stacks * k->n, 5);
        p.stride_bias = k->n;
    }
    if (k->add) p.add.base = new_float(count, 6);
    p.activation = k->elu ? WK_ELU : WK_IDENTITY;
    p.slope = k->slope ? WK_ELU : WK_IDENTITY;
    if (k->slope && k->slope_in_bf16) p.y.bf16.base = new_bf16(count, 7);
    if (k->slope && !k->slope_in_bf16) p.y.x.base = new_float(count, 7);
    return p;
}

static void delete_product(wk_hopper_product *p)
{
    for (int i = 0; i < p->terms; i++) {
        cudaFree((void *)p->term[i].a.base);
        cudaFree((void *)p->term[i].b.base);
    }
    cudaFree((void *)p->bias.base);
    cudaFree((void *)p->add.base);
    cudaFree((void *)p->y.x.base);
    cudaFree((void *)p->y.bf16.base);
}

static float as_float(const unsigned char *bytes, bool bf16)
{
    float v;
    unsigned bits = 0;
    if (bf16) {
        unsigned short low;
        memcpy(&low, bytes, 2);
        bits = (unsigned)low << 16;
        memcpy(&v, &bits, 4);
    } else {
        memcpy(&v, bytes, 4);
    }
    return v;
}

// The largest error against what rounding explains.
static double worst(const std::vector<float> &expected, const std::vector<unsigned char> &all,
                    bool bf16, double terms)
{
    double most = 0;
    for (size_t i = 0; i < expected.size(); i++) {
        float got = as_float(&all[GUARD + i * (bf16 ? 2 : 4)], bf16);
        double limit = 1e-5 * sqrt(terms) + fabs(expected[i]) * (bf16 ? 0.0045 : 1e-6);
        double error = fabs((double)got - expected[i]) / limit;
        if (!(error <= most)) most = error;
    }
    return most;
}

// Whether weights can stay in shared memory: the last shape, which is for nothing else.
static bool can_stay(const check *k)
{
    return k->k <= 400 && k->n <= 416 && k->n % 8 == 0 && !k->k2 && !k->reduce && !k->add &&
           !k->f32 && (!k->slope || (k->slope_in_bf16 && k->transpose_b && !k->bias));
}

typedef struct bytes {
    std::vector<unsigned char> of[2]; // float32 and bf16, with guards
} bytes;

// Whether columns can be summed too.
static bool can_sum(const check *k, int tile)
{
    return k->slope && k->slope_in_bf16 && k->transpose_b && k->bf16 && !k->f32 && !k->bias &&
           !k->add && !k->elu && !k->reduce && tile != WK_TILE_RESIDENT;
}

// The column sums of every sixteen rows, and the same result.
static bool sums_hold(const wk_cuda_call *call, const check *k, wk_hopper_product p,
                      guarded<__nv_bfloat16> &bf16, const std::vector<unsigned char> &result,
                      const std::vector<float> &expected)
{
    size_t chunks = (k->m + WK_HOPPER_SUMMED - 1) / WK_HOPPER_SUMMED;
    guarded<float> sums(k->stacks * chunks * k->n);
    sums.clear();
    bf16.clear();
    p.sums.base = sums.data();
    if (!wk_hopper_multiply(call, &p) || cudaDeviceSynchronize()) return false;
    std::vector<float> got(k->stacks * chunks * k->n);
    cudaMemcpy(got.data(), sums.data(), got.size() * 4, cudaMemcpyDeviceToHost);
    bool ok = bf16.read() == result && sums.guards_hold(sums.read());
    for (size_t i = 0; i < got.size(); i++) {
        size_t stack = i / k->n / chunks, first = i / k->n % chunks * WK_HOPPER_SUMMED;
        double sum = 0, most = 1;
        for (size_t row = first; row < first + WK_HOPPER_SUMMED && row < k->m; row++) {
            double v = (double)expected[(stack * k->m + row) * k->n + i % k->n];
            sum += v;
            most += fabs(v);
        }
        ok = ok && fabs((double)got[i] - sum) < 1e-4 * most;
    }
    return ok;
}

static int run(const wk_cuda_call *call, const check *k, int tile, bytes *others)
{
    wk_hopper_product p = new_product(k);
    size_t count = (k->reduce ? 1 : k->stacks) * k->m * k->n;
    guarded<float> f32(count), reference(count);
    guarded<__nv_bfloat16> bf16(count);
    expect<<<1024, 256>>>(p, reference.data());
    p.out.x.base = k->f32 ? f32.data() : NULL;
    p.out.bf16.base = k->bf16 ? bf16.data() : NULL;
    p.tile = (wk_gemm_tile)tile;
    std::vector<unsigned char> first[2];
    bool ok = true, same = true;
    for (int i = 0; i < 2; i++) {
        f32.clear();
        bf16.clear();
        ok = ok && wk_hopper_multiply(call, &p);
        cudaError_t error = cudaDeviceSynchronize();
        if (!ok || error) {
            printf("FAILED %s, tile %d: %s\n", k->name, tile,
                   ok ? cudaGetErrorString(error) : "refused");
            return 1;
        }
        std::vector<unsigned char> now[2] = {f32.read(), bf16.read()};
        if (i == 1) same = now[0] == first[0] && now[1] == first[1];
        first[0] = now[0];
        first[1] = now[1];
    }
    std::vector<float> expected(count);
    cudaMemcpy(expected.data(), reference.data(), count * 4, cudaMemcpyDeviceToHost);
    double terms = (double)(k->k + k->k2) * (k->reduce ? (double)k->stacks : 1), error = 0;
    if (k->f32) error = worst(expected, first[0], false, terms);
    if (k->bf16) error = fmax(error, worst(expected, first[1], true, terms));
    bool guards = f32.guards_hold(first[0]) && bf16.guards_hold(first[1]);
    bool sums = !can_sum(k, tile) || sums_hold(call, k, p, bf16, first[1], expected);
    delete_product(&p);
    if (others->of[0].empty()) {
        others->of[0] = first[0];
        others->of[1] = first[1];
    }
    bool equal = first[0] == others->of[0] && first[1] == others->of[1];
    bool good = error <= 1 && guards && same && equal && sums;
    printf("%s %s, tile %d: %.2f of the allowed error%s%s%s%s\n", good ? "ok" : "FAILED", k->name,
           tile, error, guards ? "" : ", wrote outside", same ? "" : ", not the same again",
           equal ? "" : ", not the same as other shapes", sums ? "" : ", other column sums");
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    wk_cuda_call call = {};
    if (!hopper_call(&call)) return 77;
    int failures = 0;
    for (const check &k : CHECKS) {
        bytes others;
        if (argc > 1 && !strstr(k.name, argv[1])) continue;
        for (int tile = WK_TILE_NONE + 1; tile < WK_TILE_COUNT; tile++)
            if (tile != WK_TILE_RESIDENT || can_stay(&k)) failures += run(&call, &k, tile, &others);
    }
    printf("%d failed\n", failures);
    return failures ? 1 : 0;
}
