// Convolutions in bf16 as matrix products that never write their patches: a block of threads copies
// the tiles it multiplies straight from the images (implicit GEMM), four tiles deep, and multiplies
// them with tensor cores. One kernel serves three products:
//
//   FORWARD     small pixels by small_c, over a patch of the large image
//   TRANSPOSED  large pixels by large_c, over the small pixels that reach them: every class of
//               large pixels (their coordinates modulo the stride) is a product of its own, with
//               only the kernel's taps of that class. Where all classes have as many taps they
//               read the same small pixels, and are the columns of one product
//   WEIGHTS     patch by small_c, over all small pixels; these are cut into groups that are summed
//               apart, and the groups are added in order
//
// All sums are in float32 and in a fixed order.
#include "tensor/cuda/conv.cuh"

enum mode { FORWARD, TRANSPOSED, WEIGHTS };

enum { ROWS = 128, DEPTH = 32, STAGES = 4, THREADS = 256, CHUNK = 8 };

// A tile in shared memory; its rows are padded so that eight of them touch all banks.
enum { ROW_LEFT = DEPTH + 8, ROW_LEFT_TURNED = ROWS + 8 };

typedef struct conv_job {
    wk_conv_sizes z;
    const __nv_bfloat16 *left, *right; // images, and weights or the small side
    const float *bias;
    float *y;
    __nv_bfloat16 *half; // a bf16 copy of y, or NULL
    wk_activation act;
    unsigned pixels;     // rows of small pixels in all
    unsigned columns;    // of the product
    bool joined;         // TRANSPOSED: the classes are columns, large_c for each
    unsigned group;      // WEIGHTS: small pixels of a group, a multiple of DEPTH
    unsigned line, step; // large image: from row to row, from patch to patch
    wk_divisor by_run, by_small, by_small_c;
    wk_divisor by_large_c, by_class[2]; // pixels of a class in a line
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
        b.v = class_of(&j.z, blockIdx.z / j.z.stride);
        b.h = class_of(&j.z, blockIdx.z % j.z.stride);
        b.rows = j.z.batch * b.v.length * b.h.length;
        b.depth = b.v.taps * b.h.taps * j.z.small_c;
    } else {
        b.rows = j.z.patch;
        b.begin = blockIdx.z * j.group;
        b.depth = min(j.group, j.pixels - b.begin);
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
static __device__ void copy_chunk(__nv_bfloat16 *to, const __nv_bfloat16 *from, bool real)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(to);
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(from),
                 "r"(bytes));
}

// Where a thread's chunks come from. Its place along the sum moves on by DEPTH at every step, and
// with it offsets that are the same for all its chunks; what differs from chunk to chunk is fixed.
typedef struct source {
    // Along the sum: the thread's number there, and where that is in a run (FORWARD) or in the
    // channels of a tap (TRANSPOSED).
    unsigned k, at, down, right;
    int left_offset, right_offset;
    const __nv_bfloat16 *left[2], *right_side[2];
    bool left_real[2], right_real[2];
    unsigned row[2], column[2]; // TRANSPOSED: the pixel in its class
} source;

template <int MODE>
static __device__ void begin_left(const conv_job &j, const block_work &b, source *s)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        unsigned id = threadIdx.x + i * THREADS;
        if (MODE == WEIGHTS) {
            unsigned m = blockIdx.x * ROWS + id % (ROWS / CHUNK) * CHUNK;
            s->left_real[i] = m < b.rows;
            s->left[i] = j.left + (s->left_real[i] ? into_patch(j, m) : 0);
            continue;
        }
        unsigned m = blockIdx.x * ROWS + id / (DEPTH / CHUNK), image;
        s->left_real[i] = m < b.rows;
        if (!s->left_real[i]) m = 0;
        if (MODE == FORWARD) {
            s->left[i] = j.left + patch_at(j, m);
        } else {
            locate(m, j.by_class[b.h.first], b.v.length, j.by_class[b.v.first], &image, &s->row[i],
                   &s->column[i]);
            s->left[i] = j.left + image * j.z.small_count +
                         (s->row[i] * j.z.small + s->column[i]) * j.z.small_c;
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
    for (int i = 0; i < 2; i++) {
        unsigned id = threadIdx.x + i * THREADS;
        if (MODE == TRANSPOSED) {
            unsigned column = blockIdx.y * COLS + id / (DEPTH / CHUNK);
            s->right_real[i] = id < COLS * DEPTH / CHUNK && column < j.columns;
            class_column q = class_column_of(j, b, s->right_real[i] ? column : 0);
            size_t from = (size_t)(q.down * j.z.kernel + q.right) * j.z.large_c + q.channel;
            s->right_side[i] = j.right + from * j.z.small_c;
            continue;
        }
        unsigned at = id / (COLS / CHUNK), column = blockIdx.y * COLS + id % (COLS / CHUNK) * CHUNK;
        s->right_real[i] = id < COLS * DEPTH / CHUNK && column < j.columns;
        s->right_side[i] = j.right + (size_t)(b.begin + at) * j.columns + column;
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
        while (s->at >= j.z.small_c) {
            s->at -= j.z.small_c;
            if (++s->right == b.h.taps) {
                s->right = 0;
                s->down++;
            }
        }
        int tap = (int)((s->down * j.z.kernel + s->right) * j.z.stride * j.z.large_c * j.z.small_c);
        s->left_offset = (int)s->at - (int)((s->down * j.z.small + s->right) * j.z.small_c);
        s->right_offset = (int)s->at + tap;
    }
}

template <int MODE, int COLS>
static __device__ source source_of(const conv_job &j, const block_work &b)
{
    source s = {};
    begin_left<MODE>(j, b, &s);
    begin_right<MODE, COLS>(j, b, &s);
    if (MODE == WEIGHTS) return s;
    s.k = s.at = threadIdx.x % (DEPTH / CHUNK) * CHUNK;
    s.left_offset = (int)s.k;
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
    settle<MODE>(j, b, s);
}

// The left tile: [ROWS][DEPTH], or [DEPTH][ROWS] for WEIGHTS.
template <int MODE>
static __device__ void load_left(const conv_job &j, const block_work &b, const source &s,
                                 __nv_bfloat16 *tile)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        unsigned id = threadIdx.x + i * THREADS;
        if (MODE == WEIGHTS) {
            unsigned at = id / (ROWS / CHUNK), m = id % (ROWS / CHUNK) * CHUNK, k = s.k + at;
            bool real = s.left_real[i] && k < b.depth;
            size_t from = real ? patch_at(j, b.begin + k) : 0;
            copy_chunk(tile + at * ROW_LEFT_TURNED + m, s.left[i] + from, real);
            continue;
        }
        unsigned m = id / (DEPTH / CHUNK), at = id % (DEPTH / CHUNK) * CHUNK;
        bool real = s.left_real[i] && s.k < b.depth;
        if (MODE == TRANSPOSED) // wraps when outside
            real &= s.row[i] - s.down < j.z.small && s.column[i] - s.right < j.z.small;
        copy_chunk(tile + m * ROW_LEFT + at, s.left[i] + (real ? s.left_offset : 0), real);
    }
}

// The right tile: [DEPTH][COLS], or [COLS][DEPTH] for TRANSPOSED.
template <int MODE, int COLS>
static __device__ void load_right(const conv_job &j, const block_work &b, const source &s,
                                  unsigned step, __nv_bfloat16 *tile)
{
#pragma unroll
    for (int i = 0; i < (COLS * DEPTH / CHUNK + THREADS - 1) / THREADS; i++) {
        unsigned id = threadIdx.x + i * THREADS;
        if (id >= COLS * DEPTH / CHUNK) return;
        if (MODE == TRANSPOSED) {
            unsigned n = id / (DEPTH / CHUNK), at = id % (DEPTH / CHUNK) * CHUNK;
            bool real = s.right_real[i] && s.k < b.depth;
            copy_chunk(tile + n * ROW_LEFT + at, s.right_side[i] + (real ? s.right_offset : 0),
                       real);
            continue;
        }
        unsigned at = id / (COLS / CHUNK), n = id % (COLS / CHUNK) * CHUNK;
        bool real = s.right_real[i] && step * DEPTH + at < b.depth;
        size_t from = real ? (size_t)step * DEPTH * j.columns : 0;
        copy_chunk(tile + at * (COLS + 8) + n, s.right_side[i] + from, real);
    }
}

static __device__ void load_matrix4(unsigned (&r)[4], const __nv_bfloat16 *x, bool turned)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(x);
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
}

static __device__ void load_matrix2(unsigned (&r)[4], const __nv_bfloat16 *x, bool turned)
{
    unsigned place = (unsigned)__cvta_generic_to_shared(x);
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(place));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1])
                     : "r"(place));
}

static __device__ void multiply(float (&c)[4], const unsigned (&a)[4], const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Eight columns of the right tile (COUNT 2) or sixteen (COUNT 4) at depth k: lane `in` of a group
// of eight gives one row; `low` and `next` say whose of the matrices.
template <int MODE, int COLS, int COUNT>
static __device__ void load_columns(unsigned (&b)[4], const __nv_bfloat16 *right, unsigned column,
                                    unsigned k, unsigned in, unsigned low, unsigned next)
{
    const bool turned = MODE != TRANSPOSED;
    const __nv_bfloat16 *from = turned ? right + (k + in + low * 8) * (COLS + 8) + column + next * 8
                                       : right + (column + in + next * 8) * ROW_LEFT + k + low * 8;
    if (COUNT == 2)
        load_matrix2(b, from, turned);
    else
        load_matrix4(b, from, turned);
}

// The eight warps stand four high and two wide; each has 32 rows and half of the columns.
template <int COLS> struct sums {
    float v[2][COLS / 16][4];
};

template <int MODE, int COLS>
static __device__ void multiply_tiles(const __nv_bfloat16 *left, const __nv_bfloat16 *right,
                                      sums<COLS> &sum)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned m0 = warp / 2 * 32, n0 = warp % 2 * (COLS / 2);
    unsigned in = lane % 8, quarter = lane / 8;
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 16) {
        unsigned a[2][4];
#pragma unroll
        for (unsigned i = 0; i < 2; i++) {
            unsigned m = m0 + i * 16;
            if (MODE == WEIGHTS)
                load_matrix4(
                    a[i], left + (k + in + quarter / 2 * 8) * ROW_LEFT_TURNED + m + quarter % 2 * 8,
                    true);
            else
                load_matrix4(a[i],
                             left + (m + in + quarter % 2 * 8) * ROW_LEFT + k + quarter / 2 * 8,
                             false);
        }
#pragma unroll
        for (unsigned n = 0; n < COLS / 16; n += 2) {
            unsigned b[4], column = n0 + n * 8;
            if (n + 1 == COLS / 16)
                load_columns<MODE, COLS, 2>(b, right, column, k, in, quarter % 2, 0);
            else
                load_columns<MODE, COLS, 4>(b, right, column, k, in, quarter % 2, quarter / 2);
            for (int half = 0; half < 2 && n + half < COLS / 16; half++) {
                multiply(sum.v[0][n + half], a[0], b + 2 * half);
                multiply(sum.v[1][n + half], a[1], b + 2 * half);
            }
        }
    }
}

// A row of the result: FORWARD and WEIGHTS have its first number, TRANSPOSED a pixel of a class.
typedef struct result_row {
    size_t base;
    unsigned row, column;
} result_row;

template <int MODE>
static __device__ result_row result_row_of(const conv_job &j, const block_work &b, unsigned m)
{
    result_row r = {(size_t)m * j.columns, 0, 0};
    if (MODE == WEIGHTS) r.base += blockIdx.z * j.z.weights;
    if (MODE != TRANSPOSED) return r;
    unsigned image;
    locate(m, j.by_class[b.h.first], b.v.length, j.by_class[b.v.first], &image, &r.row, &r.column);
    r.base = image * j.z.large_count;
    return r;
}

// The place of a result in y; false where a class has no such pixel. `channel` receives its own.
template <int MODE>
static __device__ bool place_of(const conv_job &j, const block_work &b, const result_row &r,
                                unsigned column, size_t *place, unsigned *channel)
{
    *place = r.base + column;
    *channel = column;
    if (MODE != TRANSPOSED) return true;
    class_column q = class_column_of(j, b, column);
    unsigned y = r.row * j.z.stride + q.down, x = r.column * j.z.stride + q.right;
    *place = r.base + ((size_t)y * j.z.large + x) * j.z.large_c + q.channel;
    *channel = q.channel;
    return y < j.z.large && x < j.z.large;
}

static __device__ float finished(const conv_job &j, unsigned channel, float v)
{
    if (j.bias) v += j.bias[channel];
    return j.y ? wk_activate(j.act, v) : wk_activate_half(j.act, v);
}

static __device__ void put_pair(const conv_job &j, size_t place, unsigned channel, float2 v)
{
    v.x = finished(j, channel, v.x);
    v.y = finished(j, channel + 1, v.y);
    if (j.y) *(float2 *)(j.y + place) = v;
    if (j.half) *(__nv_bfloat162 *)(j.half + place) = __floats2bfloat162_rn(v.x, v.y);
}

static __device__ void put_one(const conv_job &j, size_t place, unsigned channel, float v)
{
    v = finished(j, channel, v);
    if (j.y) j.y[place] = v;
    if (j.half) j.half[place] = __float2bfloat16_rn(v);
}

template <int MODE, int COLS>
static __device__ void store(const conv_job &j, const block_work &b, const sums<COLS> &sum)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned first = blockIdx.y * COLS + warp % 2 * (COLS / 2) + lane % 4 * 2;
#pragma unroll
    for (unsigned i = 0; i < 4; i++) {
        unsigned m = blockIdx.x * ROWS + warp / 2 * 32 + i * 8 + lane / 4;
        if (m >= b.rows) continue;
        result_row r = result_row_of<MODE>(j, b, m);
#pragma unroll
        for (unsigned n = 0; n < COLS / 16; n++) {
            unsigned column = first + n * 8, channel;
            size_t place;
            float2 v = make_float2(sum.v[i / 2][n][i % 2 * 2], sum.v[i / 2][n][i % 2 * 2 + 1]);
            if (MODE == TRANSPOSED && j.z.large_c % 2) {
                if (column < j.columns && place_of<MODE>(j, b, r, column, &place, &channel))
                    put_one(j, place, channel, v.x);
                if (column + 1 < j.columns && place_of<MODE>(j, b, r, column + 1, &place, &channel))
                    put_one(j, place, channel, v.y);
            } else if (column < j.columns && place_of<MODE>(j, b, r, column, &place, &channel)) {
                put_pair(j, place, channel, v);
            }
        }
    }
}

template <int MODE, int COLS> struct tile_sizes {
    static const int left = MODE == WEIGHTS ? DEPTH * ROW_LEFT_TURNED : ROWS * ROW_LEFT;
    static const int right = MODE == TRANSPOSED ? COLS * ROW_LEFT : DEPTH * (COLS + 8);
    static const int stage = left + right;
    static const int bytes = STAGES * stage * (int)sizeof(__nv_bfloat16);
};

template <int MODE, int COLS>
static __global__ void __launch_bounds__(THREADS) conv_kernel(const conv_job j)
{
    extern __shared__ __align__(16) __nv_bfloat16 memory[];
    typedef tile_sizes<MODE, COLS> tiles;
    const block_work b = work_of<MODE>(j);
    if (blockIdx.x * ROWS >= b.rows) return; // the classes of TRANSPOSED differ in size
    source from = source_of<MODE, COLS>(j, b);
    unsigned steps = (b.depth + DEPTH - 1) / DEPTH;
    auto load = [&](unsigned step) {
        if (step < steps) {
            __nv_bfloat16 *stage = memory + step % STAGES * tiles::stage;
            load_left<MODE>(j, b, from, stage);
            load_right<MODE, COLS>(j, b, from, step, stage + tiles::left);
            advance<MODE>(j, b, &from);
        }
        asm volatile("cp.async.commit_group;");
    };
    sums<COLS> sum = {};
    for (unsigned step = 0; step < STAGES - 1; step++)
        load(step);
    for (unsigned step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads(); // the tiles are there, and nobody reads those that are copied over next
        load(step + STAGES - 1);
        const __nv_bfloat16 *stage = memory + step % STAGES * tiles::stage;
        multiply_tiles<MODE, COLS>(stage, stage + tiles::left, sum);
    }
    store<MODE, COLS>(j, b, sum);
}

template <int MODE, int COLS>
static void launch(const wk_cuda_call *c, const conv_job &j, unsigned rows, unsigned slices)
{
    const int bytes = tile_sizes<MODE, COLS>::bytes;
    // An error stays for cudaGetLastError.
    (void)cudaFuncSetAttribute(conv_kernel<MODE, COLS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               bytes);
    dim3 grid((rows + ROWS - 1) / ROWS, (j.columns + COLS - 1) / COLS, slices);
    conv_kernel<MODE, COLS><<<grid, THREADS, bytes, c->stream>>>(j);
}

template <int MODE>
static void launch_for(const wk_cuda_call *c, const conv_job &j, unsigned rows, unsigned slices)
{
    if (j.columns <= 16)
        launch<MODE, 16>(c, j, rows, slices);
    else if (j.columns <= 48)
        launch<MODE, 48>(c, j, rows, slices);
    else
        launch<MODE, 96>(c, j, rows, slices);
}

static bool aligned(const void *x)
{
    return (uintptr_t)x % 16 == 0;
}

// Images of three colours are read as of four, the last zero: runs then begin at whole chunks.
enum { COLOURS = 3 };

static wk_conv_sizes with_channels(const wk_conv_sizes *z, unsigned channels)
{
    wk_conv_sizes four = *z;
    four.large_c = channels;
    four.run = four.kernel * channels;
    four.patch = four.kernel * four.run;
    four.large_count = (size_t)four.large * four.large * channels;
    four.weights = (size_t)four.patch * four.small_c;
    return four;
}

static wk_conv_sizes as_read(const wk_conv_sizes *z)
{
    return z->large_c == COLOURS ? with_channels(z, COLOURS + 1) : *z;
}

// Chunks must not leave a run or a pixel, and a 1x1 small side is a plain product.
static bool sizes_suit(const wk_conv_sizes *z, bool transposed)
{
    if (z->large <= z->kernel || z->small_c % CHUNK || z->stride > 2 || z->kernel < z->stride ||
        z->batch * z->large_count >= (size_t)1 << 31)
        return false;
    wk_conv_sizes y = as_read(z);
    return transposed || (y.run % CHUNK == 0 && y.stride * y.large_c % CHUNK == 0 &&
                          y.large * y.large_c % CHUNK == 0);
}

bool wk_cuda_conv_suits(const wk_conv_sizes *z, bool transposed)
{
    return sizes_suit(z, transposed);
}

static bool suits(const wk_cuda_call *c, const wk_conv_sizes *z, bool transposed, const float *y)
{
    return c->precision == WK_CUDA_BF16 && sizes_suit(z, transposed) &&
           (uintptr_t)y % sizeof(float2) == 0;
}

// Pixels of three floats as four bf16, the last zero; `width` numbers a pixel and colour.
static const __nv_bfloat16 *add_colour(const wk_cuda_call *c, size_t pixels, unsigned width,
                                       const float *x)
{
    __nv_bfloat16 *y = (__nv_bfloat16 *)wk_cuda_scratch(c, pixels * width * 4 * sizeof *y);
    if (width == 1) {
        wk_cuda_each(c, pixels, [=] __device__(unsigned i) {
            const float *p = x + (size_t)i * 3;
            ((uint2 *)y)[i] = make_uint2(wk_two_halves(p[0], p[1]), wk_two_halves(p[2], 0.0f));
        });
        return y;
    }
    wk_cuda_each(c, pixels * width * 4, [=] __device__(unsigned i) {
        unsigned row = i / width, pixel = row / 4, colour = row % 4;
        float v = colour < 3 ? x[(size_t)(pixel * 3 + colour) * width + (i - row * width)] : 0.0f;
        y[i] = __float2bfloat16_rn(v);
    });
    return y;
}

static const __nv_bfloat16 *large_side(const wk_cuda_call *c, const wk_conv_sizes *z,
                                       const float *x)
{
    if (z->large_c != COLOURS) return wk_cuda_half(c, x, z->batch * z->large_count);
    return add_colour(c, (size_t)z->batch * z->large * z->large, 1, x);
}

static conv_job job_of(const wk_cuda_call *c, const wk_conv_sizes *z, const float *bias, float *y)
{
    conv_job j = {};
    j.z = *z;
    j.bias = bias;
    j.y = y;
    j.act = c->node->attrs.conv.activation;
    j.pixels = z->batch * z->pixels;
    j.line = z->large * z->large_c;
    j.step = z->stride * z->large_c;
    j.columns = z->small_c;
    j.by_run = wk_divisor_of(z->run);
    j.by_large_c = wk_divisor_of(z->large_c);
    j.by_small = wk_divisor_of(z->small);
    j.by_small_c = wk_divisor_of(z->small_c);
    for (unsigned i = 0; i < z->stride; i++) {
        j.by_class[i] = wk_divisor_of(class_of(z, i).length);
    }
    return j;
}

// Lets the kernel write the bf16 copy too, or alone, where it writes all of the output.
static void store_both(const wk_cuda_call *c, size_t count, conv_job *j)
{
    if (count != wk_call_count(c)) return;
    wk_out out = wk_call_store(c, 0);
    j->y = out.x;
    j->half = out.half;
}

bool wk_cuda_conv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *x,
                         const float *w, const float *bias, float *y)
{
    if (!suits(c, z, false, y)) return false;
    wk_conv_sizes read = as_read(z);
    conv_job j = job_of(c, &read, bias, y);
    j.left = large_side(c, z, x);
    j.right = z->large_c == COLOURS ? add_colour(c, (size_t)z->kernel * z->kernel, z->small_c, w)
                                    : wk_cuda_half(c, w, z->weights);
    if (!aligned(j.left) || !aligned(j.right)) return false;
    store_both(c, z->batch * z->small_count, &j);
    launch_for<FORWARD>(c, j, j.pixels, 1);
    return true;
}

bool wk_cuda_deconv_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *x,
                           const float *w, const float *bias, float *y)
{
    if (!suits(c, z, true, y)) return false;
    conv_job j = job_of(c, z, bias, y);
    j.left = wk_cuda_half(c, x, z->batch * z->small_count);
    j.right = wk_cuda_half(c, w, z->weights);
    if (!aligned(j.left) || !aligned(j.right)) return false;
    store_both(c, z->batch * z->large_count, &j);
    unsigned length = class_of(z, 0).length; // the first class is the largest
    unsigned classes = z->stride * z->stride;
    j.joined = z->stride == 2 && z->kernel % 2 == 0;
    j.columns = j.joined ? classes * z->large_c : z->large_c;
    launch_for<TRANSPOSED>(c, j, z->batch * length * length, j.joined ? 1 : classes);
    return true;
}

// The groups' sums [group][patch][small_c], where there are several, or the one, without a fourth
// colour.
static void finish_weights(const wk_cuda_call *c, const wk_conv_sizes *z, const wk_conv_sizes *read,
                           unsigned groups, const float *sums, float *dw)
{
    if (z->large_c != COLOURS) {
        if (groups > 1) wk_cuda_column_sums(c, 1, groups, z->weights, 1, sums, dw);
        return;
    }
    float *four = (float *)wk_cuda_scratch(c, read->weights * sizeof *four);
    wk_cuda_column_sums(c, 1, groups, read->weights, 1, sums, four);
    unsigned width = z->small_c;
    wk_cuda_each(c, z->weights, [=] __device__(unsigned i) {
        unsigned row = i / width, pixel = row / 3;
        dw[i] = four[(size_t)(row + pixel) * width + (i - row * width)];
    });
}

bool wk_cuda_conv_weights_direct(const wk_cuda_call *c, const wk_conv_sizes *z, const float *large,
                                 const float *small, float *dw)
{
    enum { BLOCKS = 528 }; // four for each multiprocessor of an H200
    if (!suits(c, z, false, dw)) return false;
    wk_conv_sizes read = as_read(z);
    conv_job j = job_of(c, &read, NULL, dw);
    j.act = WK_IDENTITY;
    j.left = large_side(c, z, large);
    j.right = wk_cuda_half(c, small, z->batch * z->small_count);
    if (!aligned(j.left) || !aligned(j.right)) return false;
    unsigned tiles = (read.patch + ROWS - 1) / ROWS * ((z->small_c + 95) / 96);
    unsigned groups = tiles < BLOCKS ? BLOCKS / tiles : 1, steps = (j.pixels + DEPTH - 1) / DEPTH;
    unsigned group_steps = (steps + groups - 1) / groups;
    j.group = group_steps * DEPTH;
    groups = (steps + group_steps - 1) / group_steps;
    if (groups > 1 || z->large_c == COLOURS)
        j.y = (float *)wk_cuda_scratch(c, groups * read.weights * sizeof(float));
    launch_for<WEIGHTS>(c, j, read.patch, groups);
    finish_weights(c, z, &read, groups, j.y, dw);
    return true;
}
