// Which product a block of conv_direct.cu works on, and where a thread's chunks of its two tiles
// come from.
#ifndef WK_TENSOR_CUDA_KERNELS_CONV_SOURCE_CUH
#define WK_TENSOR_CUDA_KERNELS_CONV_SOURCE_CUH

#include "tensor/cuda/kernels/conv.cuh"

enum mode { FORWARD, TRANSPOSED, WEIGHTS };

enum { ROWS = 128, DEPTH = 32, STAGES = 4, THREADS = 256, CHUNK = WK_CONV_CHUNK };

// A tile in shared memory; its rows are padded so that eight of them touch all banks.
enum { ROW_LEFT = DEPTH + 8, ROW_LEFT_TRANSPOSED = ROWS + 8 };

typedef struct conv_job {
    wk_conv_sizes z;
    wk_ptr<const __nv_bfloat16> left, right; // images, and weights or the small side
    wk_ptr<const float> bias;
    wk_ptr<float> y;
    wk_ptr<__nv_bfloat16> y_bf16; // a bf16 copy of y, or NULL
    bool chunks;                  // put_eight will do
    wk_activation act;
    unsigned pixels;       // rows of small pixels in all
    unsigned columns;      // of the product
    bool joined;           // TRANSPOSED: the classes are columns, large_c for each
    unsigned split_pixels; // WEIGHTS: small pixels of a split, a multiple of DEPTH
    unsigned line, step;   // large image: from row to row, from patch to patch
    wk_divisor by_run, by_small, by_small_c, by_blocks; // by_blocks: of columns
    wk_divisor by_large_c, by_class[2];                 // pixels of a class in a line
} conv_job;

// The taps and pixels of one class of large rows (or columns).
typedef struct axis_class {
    unsigned first, taps, length; // the class's residue, its kernel taps and its pixels
} axis_class;

static __host__ __device__ axis_class class_of(const wk_conv_sizes *z, unsigned residue)
{
    axis_class a = {residue, (z->kernel - residue + z->stride - 1) / z->stride,
                    (z->large - residue + z->stride - 1) / z->stride};
    return a;
}

// A block's slice of the product, a class of TRANSPOSED or a split of WEIGHTS (split-K), and its
// first column.
template <int MODE> static __device__ unsigned slice_of(const conv_job &j)
{
    return MODE == FORWARD ? 0 : wk_quotient(blockIdx.y, j.by_blocks);
}

template <int MODE, int COLS> static __device__ unsigned first_column(const conv_job &j)
{
    return (blockIdx.y - slice_of<MODE>(j) * j.by_blocks.value) * COLS;
}

// What a block works on.
typedef struct block_work {
    unsigned rows, depth, begin; // the product's size; WEIGHTS: its first small pixel
    axis_class v, h;             // TRANSPOSED
} block_work;

template <int MODE> static __device__ block_work work_of(const conv_job &j)
{
    block_work b = {};
    if (MODE == FORWARD) {
        b.rows = j.pixels;
        b.depth = j.z.patch;
    } else if (MODE == TRANSPOSED) {
        // Joined, the first class stands for all: none has more pixels.
        b.v = class_of(&j.z, slice_of<MODE>(j) / j.z.stride);
        b.h = class_of(&j.z, slice_of<MODE>(j) % j.z.stride);
        b.rows = j.z.batch * b.v.length * b.h.length;
        b.depth = b.v.taps * b.h.taps * j.z.small_c;
    } else {
        b.rows = j.z.patch;
        b.begin = slice_of<MODE>(j) * j.split_pixels;
        b.depth = min(j.split_pixels, j.pixels - b.begin);
    }
    return b;
}

// Where pixel `i` of images of `by`-long lines lies: image, row, column.
static __device__ void locate(unsigned i, wk_divisor width, unsigned height, wk_divisor by_height,
                              unsigned *image, unsigned *row, unsigned *column)
{
    unsigned line = wk_quotient(i, width);
    *column = i - line * width.value;
    *image = wk_quotient(line, by_height);
    *row = line - *image * height;
}

// The first number of the patch at small pixel `i`.
static __device__ size_t patch_at(const conv_job &j, unsigned i)
{
    unsigned image, row, column;
    locate(i, j.by_small, j.z.small, j.by_small, &image, &row, &column);
    return image * j.z.large_count + (size_t)row * j.z.stride * j.line + column * j.step;
}

// From the first number of a patch to number k of it.
static __device__ unsigned into_patch(const conv_job &j, unsigned k)
{
    unsigned row = wk_quotient(k, j.by_run);
    return row * j.line + (k - row * j.by_run.value);
}

// Copies 16 bytes, or zeros, to shared memory; done when the stage's copies were waited for.
static __device__ void copy_chunk(unsigned to, const __nv_bfloat16 *from, bool real)
{
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

// Where a thread's chunks come from. Its place along the sum moves on by DEPTH at every step, and
// with it offsets that are the same for all its chunks; what differs from chunk to chunk is fixed.
// Registers are scarce here: a third block per multiprocessor is worth more than anything else.
typedef struct source {
    // Along the sum: the thread's number there, and where that is in a run (FORWARD) or in the
    // channels of a tap (TRANSPOSED).
    unsigned k, at, tap, right;
    int left_offset, right_offset;
    unsigned left[2], right_side[2]; // numbers from the beginning
    unsigned left_to, right_to;      // places of the first chunks in their tiles, in bytes
    unsigned left_real[2];           // a bit for each tap, all the same but for TRANSPOSED
    bool right_real[2];
} source;

// The taps of a pixel of a class that lie inside of the small image.
static __device__ unsigned inside(const conv_job &j, const block_work &b, unsigned row,
                                  unsigned column)
{
    unsigned taps = 0;
    for (unsigned down = 0; down < b.v.taps; down++)
        for (unsigned right = 0; right < b.h.taps; right++)
            if (row - down < j.z.small && column - right < j.z.small) // wraps when outside
                taps |= 1u << (down * b.h.taps + right);
    return taps;
}

// A thread's chunks of the right tile: neighbouring threads have neighbouring chunks of DEPTH / 2
// rows, and every thread the same chunk of the other half; or, for TRANSPOSED, of all columns.
template <int COLS> static __device__ bool has_right(unsigned id)
{
    return id < COLS / CHUNK * (DEPTH / 2);
}

template <int MODE>
static __device__ void begin_left(const conv_job &j, const block_work &b, source *s)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        unsigned id = threadIdx.x + i * THREADS;
        if (MODE == WEIGHTS) {
            unsigned m = blockIdx.x * ROWS + id % (ROWS / CHUNK) * CHUNK;
            s->left_real[i] = m < b.rows ? ~0u : 0;
            s->left[i] = m < b.rows ? into_patch(j, m) : 0;
            continue;
        }
        unsigned m = blockIdx.x * ROWS + id / (DEPTH / CHUNK), image, row, column;
        s->left_real[i] = m < b.rows ? ~0u : 0;
        if (m >= b.rows) m = 0;
        if (MODE == FORWARD) {
            s->left[i] = (unsigned)patch_at(j, m);
        } else {
            locate(m, j.by_class[b.h.first], b.v.length, j.by_class[b.v.first], &image, &row,
                   &column);
            s->left[i] =
                image * (unsigned)j.z.small_count + (row * j.z.small + column) * j.z.small_c;
            s->left_real[i] &= inside(j, b, row, column);
        }
    }
}

// The class and the channel that a column of TRANSPOSED stands for.
typedef struct class_column {
    unsigned down, right, channel;
} class_column;

static __device__ class_column class_column_of(const conv_job &j, const block_work &b,
                                               unsigned column)
{
    class_column q = {b.v.first, b.h.first, column};
    if (!j.joined) return q;
    unsigned at = wk_quotient(column, j.by_large_c);
    q.channel = column - at * j.z.large_c;
    q.down = at / 2; // the stride is 2
    q.right = at % 2;
    return q;
}

template <int MODE, int COLS>
static __device__ void begin_right(const conv_job &j, const block_work &b, source *s)
{
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        if (MODE == TRANSPOSED) {
            unsigned id = threadIdx.x + i * THREADS;
            unsigned column = first_column<MODE, COLS>(j) + id / (DEPTH / CHUNK);
            s->right_real[i] = id < COLS * DEPTH / CHUNK && column < j.columns;
            class_column q = class_column_of(j, b, s->right_real[i] ? column : 0);
            unsigned from = (q.down * j.z.kernel + q.right) * j.z.large_c + q.channel;
            s->right_side[i] = from * j.z.small_c;
            continue;
        }
        unsigned at = threadIdx.x / (COLS / CHUNK) + i * (DEPTH / 2);
        unsigned column = first_column<MODE, COLS>(j) + threadIdx.x % (COLS / CHUNK) * CHUNK;
        s->right_real[i] = has_right<COLS>(threadIdx.x) && column < j.columns;
        s->right_side[i] = (b.begin + at) * j.columns + column;
    }
}

// After `k` or `at` changed: into the next run or tap, where they are not in this one any more.
template <int MODE> static __device__ void settle(const conv_job &j, const block_work &b, source *s)
{
    if constexpr (MODE == FORWARD) {
        while (s->at >= j.z.run) {
            s->at -= j.z.run;
            s->left_offset += (int)(j.line - j.z.run);
        }
    }
    if constexpr (MODE == TRANSPOSED) {
        int tap = (int)(j.z.stride * j.z.large_c * j.z.small_c);
        while (s->at >= j.z.small_c) {
            s->at -= j.z.small_c;
            s->tap++;
            s->left_offset -= 2 * (int)j.z.small_c;
            s->right_offset += tap - (int)j.z.small_c;
            if (++s->right < b.h.taps) continue;
            s->right = 0; // the first tap of the next line
            s->left_offset -= (int)((j.z.small - b.h.taps) * j.z.small_c);
            s->right_offset += (int)(j.z.kernel - b.h.taps) * tap;
        }
    }
}

template <int MODE, int COLS>
static __device__ source source_of(const conv_job &j, const block_work &b)
{
    const unsigned size = sizeof(__nv_bfloat16), id = threadIdx.x;
    source s = {};
    begin_left<MODE>(j, b, &s);
    begin_right<MODE, COLS>(j, b, &s);
    unsigned row = id / (DEPTH / CHUNK), at = id % (DEPTH / CHUNK) * CHUNK;
    s.left_to = s.right_to = (row * ROW_LEFT + at) * size;
    if (MODE == WEIGHTS)
        s.left_to =
            (id / (ROWS / CHUNK) * ROW_LEFT_TRANSPOSED + id % (ROWS / CHUNK) * CHUNK) * size;
    if (MODE != TRANSPOSED)
        s.right_to = (id / (COLS / CHUNK) * (COLS + 8) + id % (COLS / CHUNK) * CHUNK) * size;
    if (MODE == WEIGHTS) return s;
    s.k = s.at = at;
    s.left_offset = s.right_offset = (int)s.k;
    settle<MODE>(j, b, &s);
    return s;
}

template <int MODE>
static __device__ void advance(const conv_job &j, const block_work &b, source *s)
{
    s->k += DEPTH;
    if (MODE == WEIGHTS) return;
    s->at += DEPTH;
    s->left_offset += DEPTH;
    s->right_offset += DEPTH;
    settle<MODE>(j, b, s);
}

// The left tile: [ROWS][DEPTH], or [DEPTH][ROWS] for WEIGHTS.
template <int MODE>
static __device__ void load_left(const conv_job &j, const block_work &b, const source &s,
                                 unsigned tile)
{
    const unsigned size = sizeof(__nv_bfloat16);
    const unsigned further = MODE == WEIGHTS ? THREADS / (ROWS / CHUNK) * ROW_LEFT_TRANSPOSED * size
                                             : THREADS / (DEPTH / CHUNK) * ROW_LEFT * size;
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        bool real;
        unsigned from;
        if (MODE == WEIGHTS) {
            unsigned k = s.k + (threadIdx.x + i * THREADS) / (ROWS / CHUNK);
            real = s.left_real[i] && k < b.depth;
            from = real ? (unsigned)patch_at(j, b.begin + k) + s.left[i] : 0;
        } else {
            real = s.k < b.depth && s.left_real[i] >> (MODE == TRANSPOSED ? s.tap : 0) & 1;
            from = real ? s.left[i] + (unsigned)s.left_offset : 0;
        }
        copy_chunk(tile + s.left_to + i * further, j.left.at() + from, real);
    }
}

// The right tile: [DEPTH][COLS], or [COLS][DEPTH] for TRANSPOSED.
template <int MODE, int COLS>
static __device__ void load_right(const conv_job &j, const block_work &b, const source &s,
                                  unsigned step, unsigned tile)
{
    const unsigned size = sizeof(__nv_bfloat16);
    const unsigned further = MODE == TRANSPOSED ? THREADS / (DEPTH / CHUNK) * ROW_LEFT * size
                                                : DEPTH / 2 * (COLS + 8) * size;
    if (MODE != TRANSPOSED && !has_right<COLS>(threadIdx.x)) return;
#pragma unroll
    for (unsigned i = 0; i < 2; i++) {
        bool real;
        unsigned from;
        if (MODE == TRANSPOSED) {
            if (threadIdx.x + i * THREADS >= COLS * DEPTH / CHUNK) return;
            real = s.right_real[i] && s.k < b.depth;
            from = real ? s.right_side[i] + (unsigned)s.right_offset : 0;
        } else {
            unsigned k = step * DEPTH + threadIdx.x / (COLS / CHUNK) + i * (DEPTH / 2);
            real = s.right_real[i] && k < b.depth;
            from = real ? s.right_side[i] + step * DEPTH * j.columns : 0;
        }
        copy_chunk(tile + s.right_to + i * further, j.right.at() + from, real);
    }
}

#endif
