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
    bool chunks;         // put_eight will do
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
static __device__ void copy_chunk(unsigned to, const __nv_bfloat16 *from, bool real)
{
    int bytes = real ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}

// Where a thread's chunks come from. Its place along the sum moves on by DEPTH at every step, and
// with it offsets that are the same for all its chunks; what differs from chunk to chunk is fixed.
// Registers are short here: a third block on a multiprocessor is worth more than anything else.
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
            unsigned column = blockIdx.y * COLS + id / (DEPTH / CHUNK);
            s->right_real[i] = id < COLS * DEPTH / CHUNK && column < j.columns;
            class_column q = class_column_of(j, b, s->right_real[i] ? column : 0);
            unsigned from = (q.down * j.z.kernel + q.right) * j.z.large_c + q.channel;
            s->right_side[i] = from * j.z.small_c;
            continue;
        }
        unsigned at = threadIdx.x / (COLS / CHUNK) + i * (DEPTH / 2);
        unsigned column = blockIdx.y * COLS + threadIdx.x % (COLS / CHUNK) * CHUNK;
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
        s.left_to = (id / (ROWS / CHUNK) * ROW_LEFT_TURNED + id % (ROWS / CHUNK) * CHUNK) * size;
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
    const unsigned further = MODE == WEIGHTS ? THREADS / (ROWS / CHUNK) * ROW_LEFT_TURNED * size
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
        copy_chunk(tile + s.left_to + i * further, j.left + from, real);
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
        copy_chunk(tile + s.right_to + i * further, j.right + from, real);
    }
}

static __device__ void load_matrix4(unsigned (&r)[4], unsigned place, bool turned)
{
    if (turned)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(place));
}

static __device__ void load_matrix2(unsigned (&r)[4], unsigned place, bool turned)
{
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

// The eight warps stand four high and two wide; each has 32 rows and half of the columns.
template <int COLS> struct sums {
    float v[2][COLS / 16][4];
};

// Where a lane begins to read in the tiles, in bytes. A quarter of the lanes gives the rows of one
// of the four 8x8 matrices that a load brings: for the left two below one another and the same at
// the next depth, for the right two depths of eight columns and of the next eight.
template <int MODE, int COLS> static __device__ void lane_places(unsigned *left, unsigned *right)
{
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, in = lane % 8, quarter = lane / 8;
    unsigned m = warp / 2 * 32 + quarter % 2 * 8, k = quarter / 2 * 8;
    *left = MODE == WEIGHTS ? (k + in) * ROW_LEFT_TURNED + m : (m + in) * ROW_LEFT + k;
    unsigned n = warp % 2 * (COLS / 2) + quarter / 2 * 8;
    k = quarter % 2 * 8;
    *right = MODE == TRANSPOSED ? (n + in) * ROW_LEFT + k : (k + in) * (COLS + 8) + n;
    *left *= sizeof(__nv_bfloat16);
    *right *= sizeof(__nv_bfloat16);
}

template <int MODE, int COLS>
static __device__ void multiply_tiles(unsigned left, unsigned right, sums<COLS> &sum)
{
    const unsigned size = sizeof(__nv_bfloat16);
    const unsigned left_m = MODE == WEIGHTS ? size : ROW_LEFT * size;
    const unsigned left_k = MODE == WEIGHTS ? ROW_LEFT_TURNED * size : size;
    const unsigned right_n = MODE == TRANSPOSED ? ROW_LEFT * size : size;
    const unsigned right_k = MODE == TRANSPOSED ? size : (COLS + 8) * size;
#pragma unroll
    for (unsigned k = 0; k < DEPTH; k += 16) {
        unsigned a[2][4];
#pragma unroll
        for (unsigned i = 0; i < 2; i++)
            load_matrix4(a[i], left + i * 16 * left_m + k * left_k, MODE == WEIGHTS);
#pragma unroll
        for (unsigned n = 0; n < COLS / 16; n += 2) {
            unsigned b[4], place = right + n * 8 * right_n + k * right_k;
            if (n + 1 == COLS / 16) // the lanes of the next eight columns are not asked
                load_matrix2(b, place, MODE != TRANSPOSED);
            else
                load_matrix4(b, place, MODE != TRANSPOSED);
#pragma unroll
            for (unsigned half = 0; half < 2 && n + half < COLS / 16; half++) {
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

static __device__ void put_one(const conv_job &j, size_t place, unsigned channel, float v)
{
    if (j.bias) v += j.bias[channel];
    v = j.y ? wk_activate(j.act, v) : wk_activate_half(j.act, v);
    if (j.y) j.y[place] = v;
    if (j.half) j.half[place] = __float2bfloat16_rn(v);
}

// Eight channels; the activation is none, or ELU for a result in bf16 alone.
static __device__ void put_eight(const conv_job &j, size_t place, unsigned channel, const float *x)
{
    float v[CHUNK];
#pragma unroll
    for (int i = 0; i < CHUNK; i++) {
        v[i] = x[i] + (j.bias ? j.bias[channel + i] : 0.0f);
        if (j.act == WK_ELU) v[i] = wk_activate_half(WK_ELU, v[i]);
    }
    wk_eight eight = {make_float4(v[0], v[1], v[2], v[3]), make_float4(v[4], v[5], v[6], v[7])};
    wk_out{j.y, j.half}.put8(place / CHUNK, eight);
}

// Results are collected in shared memory and leave it in chunks: memory takes parts of its 32-byte
// sectors slowly, and the code that finishes a number stands here once and not for each of a
// thread's, which the instruction cache would not hold.
template <int MODE, int COLS>
static __device__ void store(const conv_job &j, const block_work &b, const sums<COLS> &sum,
                             float *tile)
{
    const unsigned line = COLS + 4;
    unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned m0 = warp / 2 * 32 + lane / 4, n0 = warp % 2 * (COLS / 2) + lane % 4 * 2;
    __syncthreads(); // nobody reads the last tiles any more
#pragma unroll
    for (unsigned n = 0; n < COLS / 16; n++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++)
            *(float2 *)(tile + (m0 + i * 8) * line + n0 + n * 8) =
                make_float2(sum.v[i / 2][n][i % 2 * 2], sum.v[i / 2][n][i % 2 * 2 + 1]);
    __syncthreads();
#pragma unroll 1
    for (unsigned id = threadIdx.x; id < ROWS * COLS / CHUNK; id += THREADS) {
        unsigned row = id / (COLS / CHUNK), at = id % (COLS / CHUNK) * CHUNK, channel;
        unsigned m = blockIdx.x * ROWS + row, column = blockIdx.y * COLS + at;
        const float *from = tile + row * line + at;
        size_t place;
        if (m >= b.rows || column >= j.columns) continue;
        result_row r = result_row_of<MODE>(j, b, m);
        if (j.chunks) {
            if (place_of<MODE>(j, b, r, column, &place, &channel))
                put_eight(j, place, channel, from);
            continue;
        }
#pragma unroll 1
        for (unsigned k = 0; k < CHUNK && column + k < j.columns; k++)
            if (place_of<MODE>(j, b, r, column + k, &place, &channel))
                put_one(j, place, channel, from[k]);
    }
}

template <int MODE, int COLS> struct tile_sizes {
    static const int left = MODE == WEIGHTS ? DEPTH * ROW_LEFT_TURNED : ROWS * ROW_LEFT;
    static const int right = MODE == TRANSPOSED ? COLS * ROW_LEFT : DEPTH * (COLS + 8);
    static const int stage = left + right;
    static const int bytes = STAGES * stage * (int)sizeof(__nv_bfloat16);
};

template <int MODE, int COLS>
static __global__ void __launch_bounds__(THREADS, 3) conv_kernel(const conv_job j)
{
    extern __shared__ __align__(16) __nv_bfloat16 memory[];
    typedef tile_sizes<MODE, COLS> tiles;
    const block_work b = work_of<MODE>(j);
    if (blockIdx.x * ROWS >= b.rows) return; // the classes of TRANSPOSED differ in size
    source from = source_of<MODE, COLS>(j, b);
    unsigned steps = (b.depth + DEPTH - 1) / DEPTH;
    unsigned base = (unsigned)__cvta_generic_to_shared(memory), left, right;
    const unsigned stage = tiles::stage * sizeof(__nv_bfloat16);
    const unsigned behind = tiles::left * sizeof(__nv_bfloat16);
    lane_places<MODE, COLS>(&left, &right);
    unsigned filled = base; // the stage that is loaded next
    auto load = [&](unsigned step) {
        if (step < steps) {
            load_left<MODE>(j, b, from, filled);
            load_right<MODE, COLS>(j, b, from, step, filled + behind);
            advance<MODE>(j, b, &from);
            filled = filled == base + (STAGES - 1) * stage ? base : filled + stage;
        }
        asm volatile("cp.async.commit_group;");
    };
    sums<COLS> sum = {};
    for (unsigned step = 0; step < STAGES - 1; step++)
        load(step);
    unsigned used = base;
    for (unsigned step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
        __syncthreads(); // the tiles are there, and nobody reads those that are copied over next
        load(step + STAGES - 1);
        multiply_tiles<MODE, COLS>(used + left, used + behind + right, sum);
        used = used == base + (STAGES - 1) * stage ? base : used + stage;
    }
    store<MODE, COLS>(j, b, sum, (float *)memory);
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
    unsigned taps = class_of(z, 0).taps;
    if (taps * taps > 32) return false; // a bit for each
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

// Whether whole chunks of `channels` can be stored at once.
static void choose_store(conv_job *j, unsigned channels)
{
    bool quick = j->act == WK_IDENTITY || (j->act == WK_ELU && !j->y);
    j->chunks = quick && channels % CHUNK == 0 && aligned(j->y) && aligned(j->half);
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
    choose_store(&j, z->small_c);
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
    choose_store(&j, z->large_c);
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
    choose_store(&j, z->small_c);
    launch_for<WEIGHTS>(c, j, read.patch, groups);
    finish_weights(c, z, &read, groups, j.y, dw);
    return true;
}
