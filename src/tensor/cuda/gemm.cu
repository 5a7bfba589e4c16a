// Matrix products by cuBLAS. Matrices are row-major here and column-major there, so every product
// is handed over as its transpose: out' = b' a'.
#include "tensor/cuda/lane.cuh"

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

// One operand as it is stored: matrices of rows x cols, `row` elements from row to row and `stride`
// from matrix to matrix (0 when there is one).
typedef struct operand {
    const void *x;
    size_t matrices, rows, cols, row, stride;
} operand;

// Rows that are no multiple of 16 bytes keep the tensor cores' loads from being whole: such rows
// are padded with zeros, in scratch memory.
enum { ROW_UNIT = 8 };

static size_t padded(size_t n)
{
    return (n + ROW_UNIT - 1) / ROW_UNIT * ROW_UNIT;
}

static bool is_dense(const operand *m)
{
    return m->stride == 0 || m->stride == m->rows * m->cols;
}

static __nv_bfloat16 *half_scratch(const wk_cuda_call *c, size_t n)
{
    return (__nv_bfloat16 *)wk_cuda_scratch(c, n * sizeof(__nv_bfloat16));
}

static void round_padded(const wk_cuda_call *c, operand *m)
{
    const float *x = (const float *)m->x;
    unsigned cols = (unsigned)m->cols, row = (unsigned)padded(m->cols);
    size_t rows = m->matrices * m->rows;
    __nv_bfloat16 *y = half_scratch(c, rows * row);
    wk_cuda_each(c, rows * row, [=] __device__(unsigned i) {
        unsigned r = i / row, at = i - r * row;
        y[i] = __float2bfloat16_rn(at < cols ? x[(size_t)r * cols + at] : 0.0f);
    });
    m->x = y;
    m->row = row;
    m->stride = m->stride ? m->rows * row : 0;
}

// Replaces floats by their bf16 copy: in the shadow of their buffer, where it may be up to date
// already, or in scratch memory if they lie there themselves.
static void round_operand(const wk_cuda_call *c, operand *m)
{
    if (m->cols % ROW_UNIT != 0 && is_dense(m)) {
        round_padded(c, m);
        return;
    }
    const float *x = (const float *)m->x;
    size_t n = m->matrices * m->rows * m->cols;
    __nv_bfloat16 *y = wk_cuda_shadow(c->lane, x);
    wk_cuda_span span = {(const char *)x, (const char *)(x + n)};
    if (!y) {
        y = half_scratch(c, n);
        round_to_half(c, n, x, y);
    } else if (!wk_cuda_is_fresh(c->lane, span)) {
        round_to_half(c, n, x, y);
        wk_cuda_refreshed(c->lane, span);
    }
    m->x = y;
}

// Adds rows of zeros to every matrix, up to a multiple of 8, in scratch memory.
static void pad_rows(const wk_cuda_call *c, operand *m)
{
    unsigned from = (unsigned)(m->rows * m->row / ROW_UNIT);
    unsigned to = (unsigned)(padded(m->rows) * m->row / ROW_UNIT);
    const uint4 *x = (const uint4 *)m->x;
    uint4 *y = (uint4 *)half_scratch(c, m->matrices * to * ROW_UNIT);
    wk_cuda_each(c, m->matrices * to, [=] __device__(unsigned i) {
        unsigned matrix = i / to, at = i - matrix * to;
        y[i] = at < from ? x[(size_t)matrix * from + at] : make_uint4(0, 0, 0, 0);
    });
    m->x = y;
    m->rows = padded(m->rows);
    m->stride = m->stride ? m->rows * m->row : 0;
}

static bool is_whole(const operand *m)
{
    return m->row % ROW_UNIT == 0 && (uintptr_t)m->x % 16 == 0 &&
           (m->stride == 0 || m->stride == m->rows * m->row);
}

// A sum over a ragged number of terms is made whole by adding zeros: its columns in one operand
// were padded already, its rows in the other are padded here.
static void pad_sum(const wk_cuda_call *c, wk_cuda_product *p, operand *a, operand *b)
{
    bool plain = !p->transpose_a && !p->transpose_b && a->row == padded(p->k);
    if (p->k % ROW_UNIT == 0 || p->half_a || p->half_b || !plain || !is_whole(b)) return;
    pad_rows(c, b);
    p->k = padded(p->k);
}

// [stacks,rows,cols] as [rows,stacks*cols].
static void interleave(const wk_cuda_call *c, size_t stacks, operand *m)
{
    unsigned cols = (unsigned)(m->cols / ROW_UNIT), width = (unsigned)stacks * cols;
    size_t stride = m->stride / ROW_UNIT;
    const uint4 *x = (const uint4 *)m->x;
    uint4 *y = (uint4 *)half_scratch(c, m->rows * width * ROW_UNIT);
    wk_cuda_each(c, m->rows * width, [=] __device__(unsigned i) {
        unsigned row = i / width, at = i - row * width, stack = at / cols;
        y[i] = x[stack * stride + (size_t)row * cols + (at - stack * cols)];
    });
    m->x = y;
    m->matrices = 1;
    m->cols = m->row = stacks * m->cols;
    m->stride = 0;
}

// Products a[s] b[s]' that are added up become one whose sum goes over the whole stack: moving the
// operands costs less than adding large results in memory.
static void join_sum(const wk_cuda_call *c, wk_cuda_product *p, operand *a, operand *b)
{
    bool fits = !p->transpose_a && p->transpose_b && p->k % ROW_UNIT == 0 && p->stride_a &&
                p->stride_b && is_whole(a) && is_whole(b);
    if (p->stride_c || p->stacks == 1 || !fits) return;
    interleave(c, p->stacks, a);
    interleave(c, p->stacks, b);
    p->k *= p->stacks;
    p->stacks = 1;
}

const __nv_bfloat16 *wk_cuda_half(const wk_cuda_call *c, const float *x, size_t n)
{
    operand m = {x, 1, 1, n, n, 0};
    round_operand(c, &m);
    return (const __nv_bfloat16 *)m.x;
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

static void multiply(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                     const operand *b, void *out, int batch, float beta)
{
    const float one = 1;
    cudaDataType type = c->precision == WK_CUDA_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    cublasStatus_t status = cublasGemmStridedBatchedEx(
        c->lane->blas, p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
        p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k, &one, b->x,
        type, (int)b->row, (long long)b->stride, a->x, type, (int)a->row, (long long)a->stride,
        &beta, out, p->half_c ? CUDA_R_16BF : CUDA_R_32F, (int)p->n, (long long)p->stride_c, batch,
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    if (!c->lane->status) c->lane->status = status;
}

static operand operand_of(const void *x, size_t stacks, size_t stride, bool transposed, size_t rows,
                          size_t cols)
{
    operand m = {x, stride ? stacks : 1, rows, cols, cols, stride};
    if (transposed) {
        m.rows = cols;
        m.cols = m.row = rows;
    }
    return m;
}

// The products of a stack, added up one after the other.
static void add_products(const wk_cuda_call *c, const wk_cuda_product *p, operand a, operand b,
                         void *out, float beta)
{
    size_t width = c->precision == WK_CUDA_BF16 ? sizeof(__nv_bfloat16) : sizeof(float);
    for (size_t s = 0; s < p->stacks; s++, beta = 1) {
        multiply(c, p, &a, &b, out, 1, beta);
        a.x = (const char *)a.x + a.stride * width;
        b.x = (const char *)b.x + b.stride * width;
    }
}

void wk_cuda_gemm(const wk_cuda_call *c, const wk_cuda_product *given, const void *x, const void *y,
                  void *out)
{
    wk_cuda_product p = joined(*given);
    operand a = operand_of(x, p.stacks, p.stride_a, p.transpose_a, p.m, p.k);
    operand b = operand_of(y, p.stacks, p.stride_b, p.transpose_b, p.k, p.n);
    if (c->precision == WK_CUDA_BF16) {
        if (!p.half_a) round_operand(c, &a);
        if (!p.half_b) round_operand(c, &b);
        pad_sum(c, &p, &a, &b);
        join_sum(c, &p, &a, &b);
    }
    float beta = p.accumulate ? 1 : 0;
    if (p.stride_c || p.stacks == 1)
        multiply(c, &p, &a, &b, out, (int)p.stacks, beta);
    else
        add_products(c, &p, a, b, out, beta);
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
    void *out = c->out[0];
    if (!(c->numbers & 1) && c->precision == WK_CUDA_BF16) {
        p.half_c = true;
        out = wk_call_store(c, 0).half;
    }
    wk_cuda_gemm(c, &p, c->in[0], c->in[1], out);
}
