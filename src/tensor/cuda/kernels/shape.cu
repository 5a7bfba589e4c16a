// Ops that move elements.
#include "tensor/cuda/runtime/stream_context.cuh"

// Rows of `width` from rows of `row`, eight numbers of bf16 or four of float32 a thread.
static void slice_wide(const wk_cuda_call *c, size_t bytes, size_t width, size_t row,
                       wk_ptr<const void> x, wk_ptr<void> y)
{
    unsigned units = (unsigned)(width * bytes / sizeof(uint4));
    size_t from = row * bytes / sizeof(uint4);
    wk_divisor by_units = wk_divisor_of(units);
    wk_cuda_each(c, wk_call_count(c) * bytes / sizeof(uint4), [=] __device__(unsigned i) {
        unsigned r = wk_quotient(i, by_units);
        y.at<uint4>()[i] = x.at<const uint4>()[r * from + (i - r * units)];
    });
}

static bool whole_units(size_t bytes, size_t width, size_t row, wk_ptr<const void> x,
                        wk_ptr<const void> y)
{
    return width * bytes % sizeof(uint4) == 0 && row * bytes % sizeof(uint4) == 0 &&
           ((uintptr_t)x | (uintptr_t)y) % sizeof(uint4) == 0;
}

// Input 0 in bf16 if it exists so alone, or if that copy is up to date and all that is requested.
static wk_in load_for(const wk_cuda_call *c, wk_out y)
{
    wk_in in = wk_call_load(c, 0);
    if (in.bf16 || y.x) return in;
    wk_ptr<const __nv_bfloat16> bf16 = c->in_bf16[0];
    size_t count = wk_shape_count(wk_call_input_shape(c, 0));
    return bf16 && wk_cuda_is_fresh(c->context, {bf16.base, bf16.base + count}) ? wk_in{NULL, bf16}
                                                                                : in;
}

// Rows of `width` from rows of `row`, four numbers a thread.
static void slice4(const wk_cuda_call *c, size_t width, size_t row, wk_in x, wk_out y)
{
    wk_divisor by_quads = wk_divisor_of((unsigned)width / 4);
    size_t from = row / 4;
    wk_cuda_each(c, wk_call_count(c) / 4, [=] __device__(unsigned i) {
        unsigned r = wk_quotient(i, by_quads);
        y.put4(i, x.get4(r * from + (i - r * by_quads.value)));
    });
}

void wk_cuda_call_slice(const wk_cuda_call *c)
{
    wk_split from = wk_shape_split(wk_call_input_shape(c, 0), c->node->attrs.slice.axis, 1);
    size_t start = (size_t)c->node->attrs.slice.start * from.inner;
    size_t wide = (size_t)c->node->attrs.slice.count * from.inner, whole = from.length * from.inner;
    wk_out y = wk_call_store(c, 0);
    wk_in all = load_for(c, y);
    wk_in x = {all.x ? all.x + start : NULL, all.bf16 ? all.bf16 + start : NULL};
    if (x.bf16 && !y.x && whole_units(sizeof(__nv_bfloat16), wide, whole, x.bf16, y.bf16)) {
        slice_wide(c, sizeof(__nv_bfloat16), wide, whole, x.bf16, y.bf16);
        return;
    }
    if (x.x && !y.bf16 && whole_units(sizeof(float), wide, whole, x.x, y.x)) {
        slice_wide(c, sizeof(float), wide, whole, x.x, y.x);
        return;
    }
    if (wide % 4 == 0 && whole % 4 == 0 && x.aligned4() && y.aligned4()) {
        slice4(c, wide, whole, x, y);
        return;
    }
    wk_divisor by_width = wk_divisor_of((unsigned)wide);
    wk_cuda_each(c, wk_call_count(c), [=] __device__(unsigned i) {
        unsigned r = wk_quotient(i, by_width);
        y[i] = x[(size_t)r * whole + (i - r * by_width.value)];
    });
}

// What goes into one place of every row of a concatenation: columns of a tensor, or zeros.
typedef struct piece {
    wk_in x; // nothing for zeros
    size_t begin, width;

    __host__ __device__ bool is_zero() const
    {
        return !x.x && !x.bf16;
    }
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
        y[r * row + q.begin + (i - r * (unsigned)q.width)] = q.is_zero() ? 0.0f : q.x[i];
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
        float4 v = q.is_zero() ? make_float4(0, 0, 0, 0) : q.x.get4(i);
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
        fits = q->begin % 4 == 0 && q->width % 4 == 0 && q->x.aligned4();
        q->begin /= 4;
        q->width /= 4;
        if (q->width > widest) widest = q->width;
    }
    if (!fits) return false;
    size_t blocks = (widest * to.outer + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    wk_launch(c, lay4_kernel, dim3(wk_cuda_grid(c, blocks, 16), p->count), WK_CUDA_THREADS, fours,
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
    if (q.width == 0) return;
    p->item[p->count++] = q;
    if (p->count == PIECES) lay(c, p, to, y);
}

// Row r's elements first ... first+7 of a concatenation; beyond the last piece there are zeros.
static __device__ uint4 lay_unit(const pieces &p, unsigned r, unsigned first)
{
    float v[8] = {};
    for (unsigned k = 0; k < p.count; k++) {
        const piece &q = p.item[k];
        size_t row = (size_t)r * q.width;
        if (q.begin >= first + 8 || q.begin + q.width <= first) continue;
        bool inside = q.begin <= first && q.begin + q.width >= first + 8;
        const __nv_bfloat16 *bf16 = q.x.bf16.at() + row + (first - q.begin);
        if (inside && q.x.bf16 && (uintptr_t)bf16 % 16 == 0) return *(const uint4 *)bf16;
#pragma unroll
        for (unsigned i = 0; i < 8; i++)
            if (first + i >= q.begin && first + i < q.begin + q.width && !q.is_zero())
                v[i] = q.x[row + (first + i - q.begin)];
    }
    return make_uint4(wk_pack_bf16(v[0], v[1]), wk_pack_bf16(v[2], v[3]), wk_pack_bf16(v[4], v[5]),
                      wk_pack_bf16(v[6], v[7]));
}

static __global__ void lay_padded_kernel(const __grid_constant__ pieces p, unsigned count,
                                         wk_divisor by_units, wk_ptr<uint4> y)
{
    wk_begin();
    unsigned step = gridDim.x * blockDim.x;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        unsigned r = wk_quotient(i, by_units);
        y[i] = lay_unit(p, r, 8 * (i - r * by_units.value));
    }
}

// Rows of bf16 numbers in the place of the floats, each filled up to whole 16 bytes.
static void lay_padded(const wk_cuda_call *c)
{
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), c->node->attrs.concat.axis, 1);
    pieces p = {};
    for (int i = 0; i < c->node->input_count; i++) {
        size_t width = wk_shape_count(wk_call_input_shape(c, i)) / to.outer;
        p.item[p.count++] = {wk_call_load(c, i), (size_t)starts[i] * to.inner, width};
    }
    size_t units = (to.length * to.inner + 7) / 8, count = to.outer * units;
    size_t blocks = (count + WK_CUDA_THREADS - 1) / WK_CUDA_THREADS;
    wk_launch(c, lay_padded_kernel, wk_cuda_grid(c, blocks, 16), WK_CUDA_THREADS, p,
              (unsigned)count, wk_divisor_of((unsigned)units), c->out_bf16[0].as<uint4>());
}

void wk_cuda_call_concat(const wk_cuda_call *c)
{
    if (c->context->formats[c->node->outputs] == WK_FORMAT_PADDED_BF16) {
        lay_padded(c);
        return;
    }
    int axis = c->node->attrs.concat.axis;
    const int *starts = c->g->extents.items + c->node->attrs.concat.starts;
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), axis, 1);
    // Where inputs lie in place already nothing writes them here, and bf16 copies stay theirs.
    bool joined = to.outer == 1;
    wk_out y = joined ? wk_out{wk_call_out(c, 0), NULL} : wk_call_store(c, 0);
    pieces p = {};
    size_t covered = 0;
    for (int i = 0; i < c->node->input_count; i++) {
        size_t begin = (size_t)starts[i] * to.inner;
        size_t width = (size_t)wk_call_input_shape(c, i).dim[axis] * to.inner;
        if (begin > covered) add_piece(c, &p, to, y, {{}, covered, begin - covered});
        covered = begin + width;
        // An input that the plan put in its place is there already.
        if (joined && wk_call_lies_at(c, i, begin)) continue;
        wk_in x = joined ? wk_in{wk_call_in(c, i), NULL} : wk_call_load(c, i);
        add_piece(c, &p, to, y, {x, begin, width});
    }
    if (to.length * to.inner > covered)
        add_piece(c, &p, to, y, {{}, covered, to.length * to.inner - covered});
    lay(c, &p, to, y);
}

void wk_cuda_call_repeat(const wk_cuda_call *c)
{
    wk_split to = wk_shape_split(wk_call_output_shape(c, 0), c->node->attrs.repeat.axis, 1);
    float scale = c->node->attrs.repeat.scale;
    wk_ptr<const float> x = wk_call_in(c, 0);
    wk_out y = wk_call_store(c, 0);
    bool fours = to.inner % 4 == 0 && (uintptr_t)x % 16 == 0 && y.aligned4();
    unsigned unit = fours ? 4 : 1, inner = (unsigned)to.inner / unit;
    wk_divisor by_inner = wk_divisor_of(inner), by_copies = wk_divisor_of((unsigned)to.length);
    wk_cuda_each(c, wk_call_count(c) / unit, [=] __device__(unsigned i) {
        unsigned row = wk_quotient(i, by_inner), at = i - row * inner;
        size_t from = (size_t)wk_quotient(row, by_copies) * inner + at;
        if (unit == 1) {
            y[i] = scale * x[from];
            return;
        }
        float4 v = x.at<const float4>()[from];
        y.put4(i, make_float4(scale * v.x, scale * v.y, scale * v.z, scale * v.w));
    });
}
