// Matrix products by cuBLAS. Matrices are row-major here and column-major there, so every product
// is handed over as its transpose: out' = b' a'.
#include "tensor/cuda/lane.cuh"

static wk_cuda_region *find_region(wk_cuda_lane *lane, const void *x)
{
    for (size_t i = 0; i < lane->regions.count; i++) {
        wk_cuda_region *region = &lane->regions.items[i];
        if ((const char *)x >= region->base && (const char *)x < region->base + region->size)
            return region;
    }
    return NULL;
}

static bool is_fresh(const wk_cuda_lane *lane, wk_cuda_span span)
{
    for (size_t i = 0; i < lane->fresh.count; i++)
        if (lane->fresh.items[i].begin <= span.begin && lane->fresh.items[i].end >= span.end)
            return true;
    return false;
}

static void round_to_half(const wk_cuda_call *c, size_t n, const float *x, __nv_bfloat16 *y)
{
    bool aligned = (uintptr_t)x % 16 == 0 && (uintptr_t)y % 8 == 0 && n % 4 == 0;
    if (!aligned) {
        wk_cuda_each(c, n, [=] __device__(unsigned i) { y[i] = __float2bfloat16_rn(x[i]); });
        return;
    }
    const float4 *x4 = (const float4 *)x;
    uint2 *y4 = (uint2 *)y;
    wk_cuda_each(c, n / 4, [=] __device__(unsigned i) {
        float4 v = x4[i];
        __nv_bfloat162 low = __floats2bfloat162_rn(v.x, v.y);
        __nv_bfloat162 high = __floats2bfloat162_rn(v.z, v.w);
        y4[i] = make_uint2(*(unsigned *)&low, *(unsigned *)&high);
    });
}

// The bf16 copy of n floats: in the shadow of their buffer, where it may be up to date already, or
// in scratch memory if they lie there themselves.
static const __nv_bfloat16 *half_of(const wk_cuda_call *c, const float *x, size_t n)
{
    wk_cuda_lane *lane = c->lane;
    wk_cuda_region *region = find_region(lane, x);
    if (!region) {
        __nv_bfloat16 *y = (__nv_bfloat16 *)wk_cuda_scratch(c, n * sizeof *y);
        round_to_half(c, n, x, y);
        return y;
    }
    region->wanted = true;
    size_t offset = (size_t)((const char *)x - region->base);
    char *shadow = region->shadow ? region->shadow : (char *)(uintptr_t)256;
    __nv_bfloat16 *y = (__nv_bfloat16 *)(shadow + offset / 2);
    wk_cuda_span span = {(const char *)x, (const char *)(x + n)};
    if (!is_fresh(lane, span)) {
        round_to_half(c, n, x, y);
        if (!wk_array_push(&lane->fresh, span)) lane->failed = true;
    }
    return y;
}

const __nv_bfloat16 *wk_cuda_half(const wk_cuda_call *c, const float *x, size_t n)
{
    return half_of(c, x, n);
}

// Joins a stack into one product where the operands lie so that they make one: along the rows when
// b is shared, along the sum when the products are added up.
static wk_cuda_product joined(wk_cuda_product p)
{
    if (p.stacks <= 1) return p;
    if (p.stride_b == 0 && p.stride_a == p.m * p.k && !p.transpose_a && p.stride_c == p.m * p.n) {
        p.m *= p.stacks;
        p.stacks = 1;
    } else if (p.stride_c == 0 && p.transpose_a && !p.transpose_b && p.stride_a == p.m * p.k &&
               p.stride_b == p.k * p.n) {
        p.k *= p.stacks;
        p.stacks = 1;
    }
    return p;
}

static void multiply(const wk_cuda_call *c, const wk_cuda_product *p, cudaDataType type,
                     const void *a, const void *b, float *out, int batch, float beta)
{
    const float one = 1;
    int lda = (int)(p->transpose_a ? p->m : p->k), ldb = (int)(p->transpose_b ? p->k : p->n);
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        c->lane->blas, p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k, &one, b, type,
        ldb, (long long)p->stride_b, a, type, lda, (long long)p->stride_a, &beta, out, CUDA_R_32F,
        (int)p->n, (long long)p->stride_c, batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (!c->lane->status) c->lane->status = status;
}

void wk_cuda_gemm(const wk_cuda_call *c, const wk_cuda_product *given, const void *a, const void *b,
                  float *out)
{
    wk_cuda_product p = joined(*given);
    size_t width = sizeof(float);
    cudaDataType type = CUDA_R_32F;
    if (c->precision == WK_CUDA_BF16) {
        size_t count_a = p.m * p.k * (p.stride_a ? p.stacks : 1);
        size_t count_b = p.k * p.n * (p.stride_b ? p.stacks : 1);
        if (!p.half_a) a = half_of(c, (const float *)a, count_a);
        if (!p.half_b) b = half_of(c, (const float *)b, count_b);
        width = sizeof(__nv_bfloat16);
        type = CUDA_R_16BF;
    }
    float beta = p.accumulate ? 1 : 0;
    if (p.stride_c || p.stacks == 1) {
        multiply(c, &p, type, a, b, out, (int)p.stacks, beta);
        return;
    }
    for (size_t s = 0; s < p.stacks; s++, beta = 1)
        multiply(c, &p, type, (const char *)a + s * p.stride_a * width,
                 (const char *)b + s * p.stride_b * width, out, 1, beta);
}

void wk_cuda_call_matmul(const wk_cuda_call *c)
{
    bool transpose_a = c->node->attrs.matmul.transpose_a;
    bool transpose_b = c->node->attrs.matmul.transpose_b;
    wk_matmul_sizes z = wk_matmul_measure(wk_call_input_shape(c, 0), wk_call_input_shape(c, 1),
                                          transpose_a, transpose_b);
    wk_cuda_product p = {};
    p.stacks = (size_t)z.stack;
    p.m = (size_t)z.m;
    p.n = (size_t)z.n;
    p.k = (size_t)z.k;
    p.transpose_a = transpose_a;
    p.transpose_b = transpose_b;
    p.stride_a = z.shared_a ? 0 : p.m * p.k;
    p.stride_b = z.shared_b ? 0 : p.k * p.n;
    p.stride_c = c->node->attrs.matmul.reduce ? 0 : p.m * p.n;
    p.accumulate = c->node->input_count > 2;
    if (p.accumulate && c->in[2] != c->out[0])
        wk_cuda_copy(c, wk_call_count(c), wk_call_in(c, 2), wk_call_out(c, 0));
    wk_cuda_gemm(c, &p, c->in[0], c->in[1], wk_call_out(c, 0));
}
