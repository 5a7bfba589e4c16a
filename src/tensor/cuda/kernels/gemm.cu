// Matrix products by cuBLAS. Matrices are row-major here and column-major there, so every product
// is computed as its transpose: out' = b' a'.
#include "tensor/cuda/runtime/stream_context.cuh"

static void round_to_bf16(const wk_cuda_call *c, size_t n, wk_ptr<const float> x,
                          wk_ptr<__nv_bfloat16> y)
{
    bool aligned = (uintptr_t)x % 16 == 0 && (uintptr_t)y % 8 == 0 && n % 4 == 0;
    if (!aligned) {
        wk_cuda_each(c, n, [=] __device__(unsigned i) { y[i] = __float2bfloat16_rn(x[i]); });
        return;
    }
    wk_ptr<const float4> x4 = x.as<const float4>();
    wk_ptr<uint2> y4 = y.as<uint2>();
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
    wk_ptr<const void> x;
    wk_in from; // before it is rounded
    size_t matrices, rows, cols, row, stride;
} operand;

// Rows that are no multiple of 16 bytes keep the tensor cores' loads from being whole: such rows
// are padded with zeros, in scratch memory.
static size_t padded(size_t n)
{
    return (n + WK_ROW_UNIT - 1) / WK_ROW_UNIT * WK_ROW_UNIT;
}

static bool is_dense(const operand *m)
{
    return m->stride == 0 || m->stride == m->rows * m->cols;
}

static wk_ptr<__nv_bfloat16> bf16_scratch(const wk_cuda_call *c, size_t n)
{
    return wk_cuda_scratch_of<__nv_bfloat16>(c, n);
}

static void round_padded(const wk_cuda_call *c, operand *m)
{
    wk_ptr<const float> x = m->from.x;
    unsigned cols = (unsigned)m->cols, row = (unsigned)padded(m->cols);
    size_t rows = m->matrices * m->rows;
    wk_ptr<__nv_bfloat16> y = bf16_scratch(c, rows * row);
    wk_divisor by_units = wk_divisor_of(row / WK_ROW_UNIT);
    wk_cuda_each(c, rows * row / WK_ROW_UNIT, [=] __device__(unsigned i) {
        unsigned r = wk_quotient(i, by_units), at = (i - r * by_units.value) * WK_ROW_UNIT;
        const float *from = x.at() + (size_t)r * cols;
        unsigned word[WK_ROW_UNIT / 2];
#pragma unroll
        for (unsigned k = 0; k < WK_ROW_UNIT / 2; k++) {
            unsigned first = at + 2 * k;
            word[k] = wk_pack_bf16(first < cols ? from[first] : 0.0f,
                                   first + 1 < cols ? from[first + 1] : 0.0f);
        }
        y.at<uint4>()[i] = make_uint4(word[0], word[1], word[2], word[3]);
    });
    m->x = y;
    m->row = row;
    m->stride = m->stride ? m->rows * row : 0;
}

// Replaces floats by their bf16 copy: in its own place, where it may be up to date already (which
// depends on what was enqueued before), or in scratch memory where there is none. What exists in
// bf16 alone has rows of whole 16 bytes.
static void round_operand(const wk_cuda_call *c, operand *m)
{
    wk_ptr<const float> x = m->from.x;
    size_t n = m->matrices * m->rows * m->cols;
    wk_ptr<__nv_bfloat16> y = m->from.bf16.as<__nv_bfloat16>();
    if (!x) {
        m->row = padded(m->cols);
        m->stride = m->stride ? m->rows * m->row : 0;
    } else if (m->cols % WK_ROW_UNIT != 0 && is_dense(m)) {
        round_padded(c, m);
        return;
    } else if (!y) {
        y = bf16_scratch(c, n);
        round_to_bf16(c, n, x, y);
    } else if (!wk_cuda_is_fresh(c->context, {y.base, y.base + n})) {
        round_to_bf16(c, n, x, y);
        wk_cuda_refreshed(c->context, {y.base, y.base + n});
    }
    m->x = y;
}

// Adds rows of zeros to every matrix, up to a multiple of 8, in scratch memory.
static void pad_rows(const wk_cuda_call *c, operand *m)
{
    unsigned from = (unsigned)(m->rows * m->row / WK_ROW_UNIT);
    unsigned to = (unsigned)(padded(m->rows) * m->row / WK_ROW_UNIT);
    wk_ptr<const uint4> x = m->x.as<const uint4>();
    wk_ptr<uint4> y = bf16_scratch(c, m->matrices * to * WK_ROW_UNIT).as<uint4>();
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
    return m->row % WK_ROW_UNIT == 0 && (uintptr_t)m->x % 16 == 0 &&
           (m->stride == 0 || m->stride == m->rows * m->row);
}

// WK_FORM_PADDED_TERMS: the terms' columns in one operand were padded already, their rows in the
// other are padded here.
static void pad_terms(const wk_cuda_call *c, wk_cuda_product *p, const operand *a, operand *b)
{
    assert(a->row == padded(p->k) && is_whole(b));
    pad_rows(c, b);
    p->k = padded(p->k);
}

// [stacks,rows,cols] as [height,stacks*cols]; rows beyond those that are there are zeros.
static void interleave(const wk_cuda_call *c, size_t stacks, size_t height, operand *m)
{
    unsigned cols = (unsigned)(m->cols / WK_ROW_UNIT), width = (unsigned)stacks * cols;
    unsigned rows = (unsigned)m->rows;
    size_t stride = m->stride / WK_ROW_UNIT;
    wk_ptr<const uint4> x = m->x.as<const uint4>();
    wk_ptr<uint4> y = bf16_scratch(c, height * width * WK_ROW_UNIT).as<uint4>();
    wk_divisor by_width = wk_divisor_of(width), by_cols = wk_divisor_of(cols);
    wk_cuda_each(c, height * width, [=] __device__(unsigned i) {
        unsigned row = wk_quotient(i, by_width), at = i - row * width;
        unsigned stack = wk_quotient(at, by_cols);
        y[i] = row < rows ? x[stack * stride + (size_t)row * cols + (at - stack * cols)]
                          : make_uint4(0, 0, 0, 0);
    });
    m->x = y;
    m->matrices = 1;
    m->rows = height;
    m->cols = m->row = stacks * m->cols;
    m->stride = 0;
}

// WK_FORM_JOINED_SUM: a[s] b[s]', added up. A ragged number of columns is made whole on the way.
static void join_sum(const wk_cuda_call *c, wk_cuda_product *p, operand *a, operand *b)
{
    assert(is_whole(a) && is_whole(b));
    if (!p->accumulate && !p->bf16_c) p->n = padded(p->n);
    interleave(c, p->stacks, p->m, a);
    interleave(c, p->stacks, p->n, b);
    p->k *= p->stacks;
    p->stacks = 1;
}

wk_ptr<const __nv_bfloat16> wk_cuda_bf16_rows(const wk_cuda_call *c, wk_in x, size_t rows,
                                              size_t cols, size_t *row)
{
    operand m = {NULL, x, 1, rows, cols, cols, 0};
    round_operand(c, &m);
    *row = m.row;
    return m.x.as<const __nv_bfloat16>();
}

wk_ptr<const __nv_bfloat16> wk_cuda_bf16_copy(const wk_cuda_call *c, wk_in x, size_t n)
{
    return wk_cuda_bf16_rows(c, x, 1, n, &n);
}

// Descriptions of one product for cublasLt.
typedef struct lt_product {
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulPreference_t preference;
} lt_product;

static cublasLtMatrixLayout_t layout_of(cudaDataType type, size_t rows, size_t cols, size_t row,
                                        size_t stride, size_t batch)
{
    cublasLtMatrixLayout_t layout = NULL;
    int32_t count = (int32_t)batch;
    int64_t step = (int64_t)stride;
    if (cublasLtMatrixLayoutCreate(&layout, type, rows, cols, (int64_t)row)) return NULL;
    (void)cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                           sizeof count);
    (void)cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                           &step, sizeof step);
    return layout;
}

template <class T> static void set(lt_product *l, cublasLtMatmulDescAttributes_t name, T value)
{
    (void)cublasLtMatmulDescSetAttribute(l->product, name, &value, sizeof value);
}

// The library assumes 256-byte alignment unless it is set.
static void set_alignment(lt_product *l, cublasLtMatmulPreferenceAttributes_t name,
                          wk_ptr<const void> x)
{
    uint32_t bytes = 16;
    while (bytes < 256 && (uintptr_t)x % (4 * bytes) == 0)
        bytes *= 2;
    (void)cublasLtMatmulPreferenceSetAttribute(l->preference, name, &bytes, sizeof bytes);
}

static bool describe(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                     const operand *b, wk_ptr<const void> result, lt_product *l)
{
    cudaDataType in = c->precision == WK_CUDA_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    cudaDataType out = p->bf16_c ? CUDA_R_16BF : CUDA_R_32F;
    if (cublasLtMatmulDescCreate(&l->product, CUBLAS_COMPUTE_32F, CUDA_R_32F)) return false;
    set(l, CUBLASLT_MATMUL_DESC_TRANSA, (int32_t)(p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(l, CUBLASLT_MATMUL_DESC_TRANSB, (int32_t)(p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N));
    set(l, CUBLASLT_MATMUL_DESC_EPILOGUE, (uint32_t)CUBLASLT_EPILOGUE_BIAS);
    set(l, CUBLASLT_MATMUL_DESC_BIAS_POINTER, p->bias);
    set(l, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, (int32_t)out);
    if (p->stacks > 1) set(l, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, (int64_t)p->stride_bias);
    // Row-major here is column-major there.
    l->a = layout_of(in, b->cols, b->rows, b->row, b->stride, p->stacks);
    l->b = layout_of(in, a->cols, a->rows, a->row, a->stride, p->stacks);
    l->c = layout_of(out, p->n, p->m, p->n, p->stride_c, p->stacks);
    if (cublasLtMatmulPreferenceCreate(&l->preference)) return false;
    (void)cublasLtMatmulPreferenceSetAttribute(l->preference,
                                               CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &c->context->workspace_size, sizeof(size_t));
    set_alignment(l, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b->x);
    set_alignment(l, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a->x);
    set_alignment(l, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, result);
    set_alignment(l, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, result);
    return l->a && l->b && l->c;
}

static void destroy_lt_product(lt_product *l)
{
    if (l->preference) (void)cublasLtMatmulPreferenceDestroy(l->preference);
    if (l->a) (void)cublasLtMatrixLayoutDestroy(l->a);
    if (l->b) (void)cublasLtMatrixLayoutDestroy(l->b);
    if (l->c) (void)cublasLtMatrixLayoutDestroy(l->c);
    if (l->product) (void)cublasLtMatmulDescDestroy(l->product);
}

// The product and its bias in one kernel, if cublasLt has one.
static bool multiply_lt(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                        const operand *b, wk_ptr<void> out)
{
    const float one = 1, zero = 0;
    lt_product l = {};
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    bool done = describe(c, p, a, b, out, &l) &&
                !cublasLtMatmulAlgoGetHeuristic(c->context->cublas_lt, l.product, l.a, l.b, l.c,
                                                l.c, l.preference, 1, &found, &count) &&
                count > 0 &&
                !cublasLtMatmul(c->context->cublas_lt, l.product, &one, b->x.base, l.a, a->x.base,
                                l.b, &zero, out.base, l.c, out.base, l.c, &found.algo,
                                c->context->workspace, c->context->workspace_size, c->stream);
    destroy_lt_product(&l);
    return done;
}

// A population's products. The library takes batches with one stride: of members and stack the
// longer is the batch of a launch, and the launches go along the other.
typedef struct batches {
    wk_cuda_product p;
    operand a, b;
    wk_ptr<void> out;
    int batch, launches;
    size_t step_a, step_b, step_out, step_bias; // bytes from launch to launch
} batches;

static size_t operand_width(const wk_cuda_call *c)
{
    return c->precision == WK_CUDA_BF16 ? sizeof(__nv_bfloat16) : sizeof(float);
}

static size_t result_width(const wk_cuda_product *p)
{
    return p->bf16_c ? sizeof(__nv_bfloat16) : sizeof(float);
}

// A launch for each member, with the stack as its batch.
static batches by_members(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                          const operand *b, wk_ptr<void> out, int stacks)
{
    return {*p,
            *a,
            *b,
            out,
            stacks,
            c->members,
            WK_MEMBER_STRIDE,
            WK_MEMBER_STRIDE,
            WK_MEMBER_STRIDE,
            WK_MEMBER_STRIDE};
}

static batches batches_of(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                          const operand *b, wk_ptr<void> out, int stacks)
{
    batches all = by_members(c, p, a, b, out, stacks);
    if (c->members == 1 || c->members < stacks) return all;
    size_t width = operand_width(c), result = result_width(p);
    all.batch = c->members;
    all.launches = stacks;
    all.step_a = a->stride * width, all.step_b = b->stride * width;
    all.step_out = p->stride_c * result, all.step_bias = p->stride_bias * result;
    all.a.stride = all.b.stride = WK_MEMBER_STRIDE / width;
    all.p.stride_c = all.p.stride_bias = WK_MEMBER_STRIDE / result;
    return all;
}

static void next_launch(batches *all)
{
    all->a.x.base = (const char *)all->a.x.base + all->step_a;
    all->b.x.base = (const char *)all->b.x.base + all->step_b;
    all->out.base = (char *)all->out.base + all->step_out;
    if (all->p.bias) all->p.bias = (const char *)all->p.bias + all->step_bias;
}

static void multiply(const wk_cuda_call *c, const wk_cuda_product *given, const operand *given_a,
                     const operand *given_b, wk_ptr<void> out, int batch, float beta)
{
    const float one = 1;
    cudaDataType type = c->precision == WK_CUDA_BF16 ? CUDA_R_16BF : CUDA_R_32F;
    batches all = batches_of(c, given, given_a, given_b, out, batch);
    const wk_cuda_product *p = &all.p;
    const operand *a = &all.a, *b = &all.b;
    for (int i = 0; i < all.launches; i++, next_launch(&all)) {
        cublasStatus_t status = cublasGemmStridedBatchedEx(
            c->context->cublas, p->transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N,
            p->transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N, (int)p->n, (int)p->m, (int)p->k, &one,
            b->x.base, type, (int)b->row, (long long)b->stride, a->x.base, type, (int)a->row,
            (long long)a->stride, &beta, all.out.base, p->bf16_c ? CUDA_R_16BF : CUDA_R_32F,
            (int)p->n, (long long)p->stride_c, all.batch, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
        if (!c->context->status) c->context->status = status;
    }
}

static bool multiply_lt_batches(const wk_cuda_call *c, batches all)
{
    bool done = true;
    all.p.stacks = (size_t)all.batch;
    for (int i = 0; done && i < all.launches; i++, next_launch(&all))
        done = multiply_lt(c, &all.p, &all.a, &all.b, all.out);
    return done;
}

// The product and its bias for all members, if cublasLt has it: with members as a batch, or one by
// one.
static bool multiply_biased(const wk_cuda_call *c, const wk_cuda_product *p, const operand *a,
                            const operand *b, wk_ptr<void> out)
{
    batches alone = by_members(c, p, a, b, out, (int)p->stacks);
    return multiply_lt_batches(c, batches_of(c, p, a, b, out, (int)p->stacks)) ||
           (c->members > 1 && multiply_lt_batches(c, alone));
}

static operand operand_of(wk_in x, size_t stacks, size_t stride, bool transposed, size_t rows,
                          size_t cols)
{
    wk_ptr<const void> as_is = x.bf16;
    if (x.x) as_is = x.x;
    operand m = {as_is, x, stride ? stacks : 1, rows, cols, cols, stride};
    if (transposed) {
        m.rows = cols;
        m.cols = m.row = rows;
    }
    return m;
}

// The products of a stack, added up one after the other.
static void add_products(const wk_cuda_call *c, const wk_cuda_product *p, operand a, operand b,
                         wk_ptr<void> out, float beta)
{
    size_t width = operand_width(c);
    for (size_t s = 0; s < p->stacks; s++, beta = 1) {
        multiply(c, p, &a, &b, out, 1, beta);
        a.x = a.x.as<const char>() + a.stride * width;
        b.x = b.x.as<const char>() + b.stride * width;
    }
}

// [rows,stacks*cols] as [stacks,rows,cols]; cols is a multiple of 4.
static void split_stacks(const wk_cuda_call *c, size_t stacks, size_t rows, size_t cols,
                         wk_ptr<const float> x, wk_ptr<float> y)
{
    unsigned quads = (unsigned)(cols / 4), matrix = (unsigned)rows * quads;
    unsigned width = (unsigned)stacks * quads;
    wk_divisor by_matrix = wk_divisor_of(matrix), by_quads = wk_divisor_of(quads);
    wk_cuda_each(c, stacks * matrix, [=] __device__(unsigned i) {
        unsigned stack = wk_quotient(i, by_matrix), at = i - stack * matrix;
        unsigned row = wk_quotient(at, by_quads), quad = at - row * quads;
        y.at<float4>()[i] = x.at<const float4>()[(size_t)row * width + stack * quads + quad];
    });
}

// WK_FORM_SIDE_BY_SIDE: a' b[s], as the gradients of an ensemble's weights on shared inputs.
static void multiply_side_by_side(const wk_cuda_call *c, const wk_cuda_product *given,
                                  const operand *a, operand b, wk_ptr<float> out)
{
    wk_cuda_product p = *given;
    assert(is_whole(&b) && (uintptr_t)out % sizeof(float4) == 0);
    interleave(c, p.stacks, p.k, &b);
    p.n *= p.stacks;
    p.stacks = 1;
    // With a ragged number of rows the library would load single numbers: it makes those of a's
    // padding too.
    if (a->row == padded(p.m)) p.m = a->row;
    wk_ptr<float> wide = wk_cuda_scratch_of<float>(c, p.m * p.n);
    multiply(c, &p, a, &b, wide, 1, 0);
    split_stacks(c, given->stacks, given->m, given->n, wide, out);
}

// The first `cols` of every `row` columns, where `row` is even.
static void drop_padding(const wk_cuda_call *c, size_t rows, size_t row, size_t cols,
                         wk_ptr<const float> x, wk_ptr<float> y)
{
    unsigned from = (unsigned)row, to = (unsigned)cols;
    if (cols % 2 == 0 && (uintptr_t)y % sizeof(float2) == 0) {
        wk_divisor by_pairs = wk_divisor_of(to / 2);
        wk_cuda_each(c, rows * cols / 2, [=] __device__(unsigned i) {
            unsigned r = wk_quotient(i, by_pairs);
            size_t at = (size_t)r * (from / 2) + (i - r * by_pairs.value);
            y.at<float2>()[i] = x.at<const float2>()[at];
        });
        return;
    }
    wk_cuda_each(c, rows * cols, [=] __device__(unsigned i) {
        unsigned r = i / to;
        y[i] = x[(size_t)r * from + (i - r * to)];
    });
}

bool wk_cuda_gemm(const wk_cuda_call *c, const wk_cuda_product *given, wk_in x, wk_in y,
                  wk_ptr<void> out)
{
    wk_cuda_product p = wk_product_joined(*given);
    operand a = operand_of(x, p.stacks, p.stride_a, p.transpose_a, p.m, p.k);
    operand b = operand_of(y, p.stacks, p.stride_b, p.transpose_b, p.k, p.n);
    if (c->precision == WK_CUDA_BF16) {
        if (!p.bf16_a) round_operand(c, &a);
        if (!p.bf16_b) round_operand(c, &b);
    }
    if (c->form == WK_FORM_PADDED_TERMS) pad_terms(c, &p, &a, &b);
    if (c->form == WK_FORM_JOINED_SUM) join_sum(c, &p, &a, &b);
    float beta = p.accumulate ? 1 : 0;
    if (p.bias) return multiply_biased(c, &p, &a, &b, out);
    if (c->form == WK_FORM_SIDE_BY_SIDE) {
        multiply_side_by_side(c, &p, &a, b, out.as<float>());
    } else if (p.n != given->n) {
        wk_ptr<float> wide = wk_cuda_scratch_of<float>(c, p.m * p.n);
        multiply(c, &p, &a, &b, wide, 1, 0);
        drop_padding(c, p.m, p.n, given->n, wide, out.as<float>());
    } else if (p.stride_c || p.stacks == 1) {
        multiply(c, &p, &a, &b, out, (int)p.stacks, beta);
    } else {
        add_products(c, &p, a, b, out, beta);
    }
    return true;
}

static wk_cuda_product product_of(const wk_cuda_call *c)
{
    return wk_product_of(c->g, c->node);
}

// The product together with the bias of the next call; false where cublasLt has none.
static bool multiply_layer(const wk_cuda_call *c)
{
    const wk_cuda_call *layer = c + 1;
    wk_cuda_product p = product_of(c);
    wk_shape bias = wk_call_input_shape(layer, 1);
    p.bias = wk_call_in(layer, 1).base;
    p.stride_bias = wk_shape_count(bias) > p.n ? p.n : 0;
    wk_ptr<void> out = c->out[0];
    if (!(layer->f32_outputs & 1)) {
        p.bf16_c = true;
        p.bias = wk_cuda_bf16_copy(c, wk_call_operand(layer, 1), wk_shape_count(bias)).base;
        out = c->out_bf16[0];
    }
    if (!wk_cuda_gemm(c, &p, wk_call_operand(c, 0), wk_call_operand(c, 1), out)) return false;
    if (p.bf16_c) (void)wk_call_store(layer, 0); // says that the copy is there
    return true;
}

// Which products the library has with a bias it alone knows, and only where there is a GPU: this
// choice cannot be part of the plan. Without one, the bias is another pass.
void wk_cuda_gemm_biased(const wk_cuda_call *c)
{
    if (multiply_layer(c)) return;
    wk_cuda_call_matmul(c);
    c->context->emitted = 0; // of the result without its bias
    wk_cuda_call_bias_act(c + 1);
}

void wk_cuda_begin_sum(const wk_cuda_call *c)
{
    if (c->node->input_count > 2 && c->in[2].base != c->out[0].base)
        wk_cuda_copy(c, wk_call_count(c), wk_call_in(c, 2), wk_call_out(c, 0));
}

void wk_cuda_call_matmul(const wk_cuda_call *c)
{
    wk_cuda_product p = product_of(c);
    wk_cuda_begin_sum(c);
    wk_ptr<void> out = c->out[0];
    if (!(c->f32_outputs & 1) && c->precision == WK_CUDA_BF16) {
        p.bf16_c = true;
        out = wk_call_store(c, 0).bf16;
    }
    (void)wk_cuda_gemm(c, &p, wk_call_operand(c, 0), wk_call_operand(c, 1), out);
}
