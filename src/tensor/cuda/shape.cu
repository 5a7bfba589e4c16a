// Ops that move elements.
#include "tensor/cuda/lane.cuh"

// Rows of `width` from rows of `row`, eight numbers of bf16 or four of float32 a thread.
static void slice_wide(const wk_cuda_call *c, size_t bytes, size_t width, size_t row, const void *x,
                       void *y)
{
    unsigned units = (unsigned)(width * bytes / sizeof(uint4));
    size_t from = row * bytes / sizeof(uint4);
    wk_divisor by_units = wk_divisor_of(units);
    wk_cuda_each(c, wk_call_count(c) * bytes / sizeof(uint4), [=] __device__(unsigned i) {
        unsigned r = wk_quotient(i, by_units);
        ((uint4 *)y)[i] = ((const uint4 *)x)[r * from + (i - r * units)];
    });
}

static bool whole_units(size_t bytes, size_t width, size_t row, const void *x, const void *y)
{
    return width * bytes % sizeof(uint4) == 0 && row * bytes % sizeof(uint4) == 0 &&
           ((uintptr_t)x | (uintptr_t)y) % sizeof(uint4) == 0;
}

// The bf16 copy of input 0 if it is up to date.
static const __nv_bfloat16 *fresh_half(const wk_cuda_call *c)
{
    const char *x = (const char *)c->in[0];
    size_t size = wk_shape_count(wk_call_input_shape(c, 0)) * sizeof(float);
    const __nv_bfloat16 *half = wk_cuda_shadow(c->lane, (const float *)x);
    return half && wk_cuda_is_fresh(c->lane, {x, x + size}) ? half : NULL;
}

void wk_cuda_call_slice(const wk_cuda_call *c)
{
    wk_split from = wk_shape_split(wk_call_input_shape(c, 0), c->node->attrs.slice.axis, 1);
    size_t start = (size_t)c->node->attrs.slice.start * from.inner;
    size_t wide = (size_t)c->node->attrs.slice.count * from.inner, whole = from.length * from.inner;
    const float *x = wk_call_in(c, 0) + start;
    wk_out y = wk_call_store(c, 0);
    const __nv_bfloat16 *half = y.x ? NULL : fresh_half(c);
    if (half && whole_units(sizeof *half, wide, whole, half + start, y.half)) {
        slice_wide(c, sizeof *half, wide, whole, half + start, y.half);
        return;
    }
    if (!y.half && whole_units(sizeof *x, wide, whole, x, y.x)) {
        slice_wide(c, sizeof *x, wide, whole, x, y.x);
        return;
    }
    unsigned width = (unsigned)wide, row = (unsigned)whole;
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        unsigned r = i / width;
        y[i] = x[(size_t)r * row + (i - r * width)];
    });
}

// What goes into one place of every row of a concatenation: columns of a tensor, or zeros.
typedef struct piece {
    const float *x; // NULL for zeros
    size_t begin, width;
} piece;

enum { PIECES = 64 };
typedef struct pieces {
    unsigned count;
    piece item[PIECES];
} pieces;

static __global__ void lay_kernel(pieces p, unsigned rows, size_t row, wk_out y)
{
    wk_begin();
    piece q = p.item[blockIdx.y];
    unsigned step = gridDim.x * blockDim.x, count = (unsigned)(rows * q.width);
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned r = i / (unsigned)q.width;
        y[r * row + q.begin + (i - r * (unsigned)q.width)] = q.x ? q.x[i] : 0.0f;
    }
}

// The same with all lengths in fours.
static __global__ void lay4_kernel(pieces p, unsigned rows, size_t row, wk_out y)
{
    wk_begin();
    piece q = p.item[blockIdx.y];
    unsigned step = gridDim.x * blockDim.x, width = (unsigned)q.width, count = rows * width;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned r = i / width;
        float4 v = q.x ? ((const float4 *)q.x)[i] : make_float4(0, 0, 0, 0);
        y.put4(r * row + q.begin + (i - r * width), v);
    }
}

// Lays fours, if everything comes in fours; else nothing.
static bool lay4(const wk_cuda_call *c, const pieces *p, wk_split to, wk_out y)
{
    bool fits = y.aligned4() && to.length * to.inner % 4 == 0;
    size_t widest = 0;
    pieces fours = *p;
    for (unsigned i = 0; i < p->count && fits; i++) {
        piece *q = &fours.item[i];
        fits = q->begin % 4 == 0 && q->width % 4 == 0 && (uintptr_t)q->x % 16 == 0;
        q->begin /= 4;
        q->width /= 4;
        if (q->width > widest) widest = q->width;
    }
    if (!fits) return false;
    size_t blocks = (widest * to.outer + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    if (blocks > 132 * 16) blocks = 132 * 16;
    wk_launch(c, lay4_kernel, dim3((unsigned)blocks, p->count), WK_CUDA_THREADS, fours,
              (unsigned)to.outer, to.length * to.inner / 4, y);
    return true;
}

static void lay(const wk_cuda_call *c, pieces *p, wk_split to, wk_out y)
{
    if (p->count == 0) return;
    if (lay4(c, p, to, y)) {
        p->count = 0;
        return;
    }
    size_t widest = 0;
    for (unsigned i = 0; i < p->count; i++)
        if (p->item[i].width > widest) widest = p->item[i].width;
    size_t blocks = (widest * to.outer + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    if (blocks > 1024) blocks = 1024;
    wk_launch(c, lay_kernel, dim3((unsigned)blocks, p->count), WK_CUDA_THREADS, *p,
              (unsigned)to.outer, to.length * to.inner, y);
    p->count = 0;
}

static void add_piece(const wk_cuda_call *c, pieces *p, wk_split to, wk_out y, piece q)
{
    // An input that the plan put in its place is there already.
    bool in_place = to.outer == 1 && q.x == wk_call_out(c, 0) + q.begin;
    if (q.width == 0 || in_place) return;
    p->item[p->count++] = q;
    if (p->count == PIECES) lay(c, p, to, y);
}

void wk_cuda_call_concat(const wk_cuda_call *c)
{
    int axis = c->node->attrs.concat.axis;
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), axis, 1);
    // Where inputs lie in place already nothing writes them here, and bf16 copies stay theirs.
    wk_out y = to.outer == 1 ? wk_out{wk_call_out(c, 0), NULL} : wk_call_store(c, 0);
    pieces p = {};
    size_t covered = 0;
    for (int i = 0; i < c->node->input_count; i++) {
        size_t begin = (size_t)starts[i] * to.inner;
        size_t width = (size_t)wk_call_input_shape(c, i).dim[axis] * to.inner;
        if (begin > covered) add_piece(c, &p, to, y, {NULL, covered, begin - covered});
        add_piece(c, &p, to, y, {wk_call_in(c, i), begin, width});
        covered = begin + width;
    }
    if (to.length * to.inner > covered)
        add_piece(c, &p, to, y, {NULL, covered, to.length * to.inner - covered});
    lay(c, &p, to, y);
}

void wk_cuda_call_repeat(const wk_cuda_call *c)
{
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), c->node->attrs.repeat.axis, 1);
    float scale = c->node->attrs.repeat.scale;
    unsigned inner = (unsigned)to.inner, block = (unsigned)(to.length * to.inner);
    const float *x = wk_call_in(c, 0);
    float *y = wk_call_out(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        y[i] = scale * x[(size_t)(i / block) * inner + i % inner];
    });
}

void wk_cuda_call_swap_axes(const wk_cuda_call *c)
{
    wk_shape shape = wk_call_input_shape(c, 0);
    unsigned a = (unsigned)shape.dim[0], b = (unsigned)shape.dim[1];
    unsigned inner = (unsigned)(wk_shape_count(shape) / a / b);
    const float *x = wk_call_in(c, 0);
    float *y = wk_call_out(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        unsigned row = i / inner;
        y[i] = x[((size_t)(row % a) * b + row / a) * inner + i % inner];
    });
}

void wk_cuda_call_gather(const wk_cuda_call *c)
{
    unsigned width = (unsigned)(wk_call_count(c) / (size_t)wk_call_output_shape(c, 0).dim[0]);
    const float *x = wk_call_in(c, 0);
    const int32_t *index = (const int32_t *)c->in[1];
    float *y = wk_call_out(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        y[i] = x[(size_t)index[i / width] * width + i % width];
    });
}

// Every row looks for those that were taken from it, in order.
void wk_cuda_call_gather_grad(const wk_cuda_call *c)
{
    int count = wk_call_input_shape(c, 0).dim[0];
    unsigned width = (unsigned)(wk_shape_count(wk_call_input_shape(c, 0)) / (size_t)count);
    const float *dy = wk_call_in(c, 0);
    const int32_t *index = (const int32_t *)c->in[1];
    float *dx = wk_call_out(c, 0);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        int row = (int)(i / width);
        float sum = 0;
        for (int k = 0; k < count; k++)
            if (index[k] == row) sum += dy[(size_t)k * width + i % width];
        dx[i] = sum;
    });
}
